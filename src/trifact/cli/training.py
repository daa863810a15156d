"""The work behind `trifact train`."""

from __future__ import annotations

import math
import shlex
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trifact.answer.calibration import Calibration, adopt, calibrate_new, origin, read_calibration
from trifact.cli.screen import heading, say, screen, watching
from trifact.config import line_of, read_toml
from trifact.errors import ConfigError, InputError, OutputError
from trifact.graph.graph import Graph
from trifact.graph.loading import load
from trifact.graph.options import LoadConfig
from trifact.progress import Progress
from trifact.run import training
from trifact.run.durations import seconds
from trifact.run.folder import (
    NotSavedError,
    go_on,
    name_for,
    read_config,
    refuse_full,
    unused_folder,
)
from trifact.run.history import Epoch
from trifact.run.options import TrainConfig
from trifact.run.preparation import check_refit
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
        said = read_toml(self.config)
        kept = {*self.settings, *TrainConfig.idle(said)}  # but what the options made idle may rest
        values = TrainConfig.effective({**said, **self.settings}, but=kept)
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
    try:
        _run(asked)
    except NotSavedError as error:
        raise OutputError(f"{error}; {go_on(error.run)}") from None


def _run(asked: Request) -> None:
    with watching() as progress:
        run = _trained(asked, progress)
        calibration = _calibrated(run, asked, progress)
    mrr, epoch = run.metrics["mrr"], run.metrics["epoch"]
    found = f"validation MRR {mrr:.4f}" if mrr is not None else "not validated"
    _conclude(run, f"{found} in epoch {epoch}; ended: {run.ended}")
    if asked.refit:
        say(f"training on all facts for {run.best_epoch} epochs")
        with watching() as progress:
            again = training.refit(run, on_epoch=Lines(), progress=progress)
        if calibration is not None:
            adopt(calibration, again)
        _conclude(again, f"the same, trained on all {len(again.graph().train):,} facts")


def _conclude(run: Run, what: str) -> None:
    screen().print(heading(str(run.path), f"  {what}"), soft_wrap=True)


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
        check_refit(config)
    limit = seconds(asked.tune) if asked.tune else 0.0
    graph = load(asked.graph, LoadConfig.from_values(asked.loading), progress=progress)
    if config.warm_start:
        graph = apart(graph, Run(Path(config.warm_start).resolve()))
    say(*graph.notes)
    if limit:
        return _tuned(asked, graph, given, limit, progress)
    return training.train(graph, config, out=asked.out, on_epoch=Lines(), progress=progress)


def _tuned(
    asked: Request, graph: Graph, given: dict[str, Any], limit: float, progress: Progress
) -> Run:
    """Train with the best settings that were found in the time; what was tried stays beside it."""
    from trifact.trials.tuning import Watch, tune

    name = name_for(graph.name, TrainConfig.from_values(given).model, "tuned")
    if asked.out:
        refuse_full(asked.out)  # before the time is spent
    within = (asked.out or unused_folder(name)).parent
    found = tune(graph, given, seconds=limit, within=within, watch=Watch(say, progress))
    say(found.verdict)
    return training.train(
        graph,
        found.config,
        out=asked.out or unused_folder(name),  # others may have been made meanwhile
        tuning=found.to_jsonl(),
        on_epoch=Lines(),
        progress=progress,
    )


def _resume(asked: Request, progress: Progress) -> Run:
    assert asked.resume is not None
    for name in (*(["out"] if asked.out else []), *asked.loading):
        flag = name.replace("_", "-")
        raise ConfigError(f"--{flag} cannot change when a run goes on; leave it out")
    if asked.refit:
        check_refit(read_config(asked.resume))
    run = training.resume(asked.resume, on_epoch=Lines(), progress=progress, **asked.given)
    parent = origin(run)
    if parent is not run and (calibration := read_calibration(parent)) is not None:
        adopt(calibration, run)
    return run


@dataclass
class Lines:
    """A line an epoch; where epochs are short, those with a validation and one a second."""

    last: float = -math.inf

    def __call__(self, epoch: Epoch) -> None:
        now = time.perf_counter()
        if epoch.mrr is not None or now >= self.last + 1:
            self.last = now
            show(epoch)


def show(epoch: Epoch) -> None:
    """The line of an epoch."""
    mrr = "" if epoch.mrr is None else f"  validation MRR {epoch.mrr:.4f}"
    say(
        f"epoch {epoch.epoch:3}  loss {epoch.loss:.4f}  {epoch.seconds:6.1f} s  "
        f"{epoch.queries_per_second:7,.0f} queries/s  {epoch.matmul_share:4.0%} of peak{mrr}"
    )
