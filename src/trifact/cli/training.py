"""The work behind `trifact train`."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trifact.answer.calibration import Calibration, adopt, calibrate_new, read_calibration
from trifact.cli.screen import heading, say, screen, watching
from trifact.config import line_of, read_toml
from trifact.durable import write_text
from trifact.errors import ConfigError, InputError
from trifact.graph.graph import Graph
from trifact.graph.loading import load
from trifact.graph.options import LoadConfig
from trifact.progress import Progress
from trifact.run import training
from trifact.run.durations import seconds
from trifact.run.folder import CONFIG, read_config, refuse_full, unused_folder
from trifact.run.history import Epoch
from trifact.run.options import TrainConfig
from trifact.run.run import Run
from trifact.run.warmstart import apart


@dataclass(frozen=True)
class Request:
    """What the user asked for."""

    graph: str
    out: Path | None
    config: Path | None
    resume: Path | None
    tune: str
    refit: bool
    settings: dict[str, Any]
    loading: dict[str, Any]

    @property
    def given(self) -> dict[str, Any]:
        """The settings of the file, and of the options, which override them."""
        if self.config is None:
            return self.settings
        values = {**read_toml(self.config), **self.settings}
        try:
            TrainConfig.from_values(values)
        except ConfigError as error:
            line = line_of(self.config, str(error), but=self.settings)
            if line is None:  # it is about an option
                raise
            raise InputError(str(error), path=self.config, line=line) from None
        return values


def run_training(asked: Request) -> None:
    """Train or go on, show how it goes, say where the run is."""
    if bool(asked.graph) == bool(asked.resume):
        raise ConfigError("give a graph to train on, or a run to --resume (and not both)")
    if asked.tune and (asked.resume or asked.given.get("warm_start")):
        raise ConfigError("--tune begins anew: leave out --resume and --warm-start")
    with watching() as progress:
        run = _trained(asked, progress)
        calibration = _calibrated(run, asked, progress)
        if asked.refit:
            say(f"training on all facts for {run.best_epoch} epochs")
            again = training.refit(run, on_epoch=show, progress=progress)
            if calibration is not None:
                adopt(calibration, again)
    mrr, epoch = run.metrics["mrr"], run.metrics["epoch"]
    found = f"validation MRR {mrr:.4f}" if mrr is not None else "not validated"
    screen().print(heading(str(run.path), f"  {found} in epoch {epoch}"), soft_wrap=True)


def _trained(asked: Request, progress: Progress) -> Run:
    """The run; who interrupts it is told the command that also comes to the refit."""
    try:
        return _resume(asked, progress) if asked.resume else _train(asked, progress)
    except training.Interrupted as stopped:  # what it says ends in the command to go on with
        raise training.Interrupted(f"{stopped}{' --refit' if asked.refit else ''}") from None


def _calibrated(run: Run, asked: Request, progress: Progress) -> Calibration | None:
    try:
        return calibrate_new(run, say=say, progress=progress)
    except KeyboardInterrupt:
        path = shlex.quote(str(run.path))
        rest = f"train --resume {path} --refit" if asked.refit else f"calibrate {path}"
        raise training.Interrupted(
            f"interrupted; {run.path} is trained, the rest is made by: trifact {rest}"
        ) from None


def _train(asked: Request, progress: Progress) -> Run:
    given = asked.given
    config = TrainConfig.from_values(given)
    if asked.refit:
        training.check_refit(config)
    time = seconds(asked.tune) if asked.tune else 0.0
    graph = load(asked.graph, LoadConfig.from_values(asked.loading), progress=progress)
    if config.warm_start:
        graph = apart(graph, Run(Path(config.warm_start).resolve()))
    say(*graph.notes)
    if time:
        return _tuned(asked, graph, given, time, progress)
    return training.train(graph, config, out=asked.out, on_epoch=show, progress=progress)


def _tuned(
    asked: Request, graph: Graph, given: dict[str, Any], time: float, progress: Progress
) -> Run:
    """Train with the best settings that were found in the time; what was tried stays beside it."""
    from trifact.trials.tuning import Watch, tune

    model = TrainConfig.from_values(given).model
    out = asked.out or unused_folder(f"{graph.name}-{model}-tuned".replace("/", "-"))
    refuse_full(out)  # before the time is spent
    found = tune(graph, given, seconds=time, within=out.parent, watch=Watch(say, progress))
    say(found.verdict)
    try:
        return training.train(graph, found.config, out=out, on_epoch=show, progress=progress)
    finally:
        if out.exists():
            write_text(out / "tuning.jsonl", found.to_jsonl())


def _resume(asked: Request, progress: Progress) -> Run:
    assert asked.resume is not None
    for name in (*(["out"] if asked.out else []), *asked.loading):
        flag = name.replace("_", "-")
        raise ConfigError(f"--{flag} cannot change when a run goes on; leave it out")
    if asked.refit:
        training.check_refit(read_config(asked.resume))
    run = training.resume(asked.resume, on_epoch=show, progress=progress, **asked.given)
    if run.path.name == training.REFIT and (run.path.parent / CONFIG).exists():
        calibration = read_calibration(Run(run.path.parent))
        if calibration is not None:
            adopt(calibration, run)
    return run


def show(epoch: Epoch) -> None:
    """One line an epoch."""
    mrr = "" if epoch.mrr is None else f"  validation MRR {epoch.mrr:.4f}"
    say(
        f"epoch {epoch.epoch:3}  loss {epoch.loss:.4f}  {epoch.seconds:6.1f} s  "
        f"{epoch.queries_per_second:7,.0f} queries/s  {epoch.matmul_share:4.0%} of peak{mrr}"
    )
