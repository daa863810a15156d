"""Training, from a graph and settings to a run on disk; and going on where it stopped."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch

from trifact.durable import write_text
from trifact.errors import DivergedError, RunError, TrainingError
from trifact.graph.graph import Graph
from trifact.graph.known import Ints
from trifact.graph.queries import Batch as GraphBatch
from trifact.graph.storage import open_graph, save_graph
from trifact.progress import Progress, silent
from trifact.run import checkpoint, history, machine
from trifact.run.folder import (
    CHECKPOINTS,
    CONFIG,
    HISTORY,
    MACHINE,
    TUNING,
    clear_failed,
    clear_parts,
    go_on,
    locked,
    marking_divergence,
    name_for,
    new_folder,
    read_config,
    save_config,
    unused_folder,
)
from trifact.run.history import Epoch
from trifact.run.options import TrainConfig, resolved
from trifact.run.preparation import (
    check_device,
    check_graph,
    check_refit,
    computing,
    new_model,
    objective_of,
    type_of_products,
    with_precision,
)
from trifact.run.questions import asked_of
from trifact.run.run import Run
from trifact.run.signals import Interrupt, interruptible
from trifact.run.warmstart import apart, check_parent, copy_factors, inherited
from trifact.tensor.batches import Batch
from trifact.tensor.optimizers import SCHEDULES, optimizer
from trifact.tensor.ranking import ranks
from trifact.wording import setting

OnEpoch = Callable[[Epoch], str | None]
"""Called after each epoch; whatever it says is why training ends here."""
MAY_CHANGE = ("epochs", "patience", "validate_every", "threads", "budget_mb", "device")
SAVE_SECONDS = 120.0  # without a checkpoint
SAVE_SHARE = 0.02  # of the time, that checkpoints may take at most
REFIT = "refit"
HOPELESS = 100.0  # times the loss of a model that knows nothing, in the mean of an epoch
IDLE = 0.99  # times that loss: nothing to speak of was learned


class Interrupted(TrainingError):  # noqa: N818 - it is no error
    """Somebody asked to stop; everything is saved."""

    exit_code = 130


@dataclass
class State:
    """Where training stands: all but tensors, in plain values."""

    epoch: int = 1
    """The epoch under way; those before it are done."""
    step: int = 0
    """Steps done of the epoch under way."""
    loss: float = 0.0
    """Sums over these steps."""
    penalty: float = 0.0
    seconds: float = 0.0
    rate: float = 0.0
    schedule: dict[str, Any] = field(default_factory=dict)
    best_mrr: float = -1.0
    best_epoch: int = 0
    waited: int = 0
    """Validations since the best one."""
    finished: str = ""
    """Why it ended; empty while it has not."""


def train(
    graph: Graph,
    config: TrainConfig | None = None,
    *,
    out: Path | None = None,
    tuning: str = "",
    on_epoch: OnEpoch = lambda epoch: None,
    progress: Progress = silent,
) -> Run:
    """Train a model on a graph; the run is in the folder `out` (by default a new one in runs/).

    `tuning` says what was tried before, and is kept in the run.
    """
    config, seen = config or TrainConfig(), None
    check_device(config.device)
    if config.warm_start:
        config = config.replace(warm_start=str(Path(config.warm_start).resolve()))
        check_parent(parent := Run(config.warm_start), resolved(config, graph), out)
        graph = apart(graph, parent)
        seen = inherited(graph, parent)
    config = resolved(config, graph)
    check_graph(graph, config)
    name = name_for(graph.name, config.model, config.rank)
    path = new_folder(out or unused_folder(name))
    with locked(path), marking_divergence(path), computing(config):
        config = with_precision(config, graph)
        clear_failed(path)
        save_graph(graph, path, seen=seen)
        write_text(path / MACHINE, json.dumps(machine.describe(), indent=2) + "\n")
        if tuning:
            write_text(path / TUNING, tuning)
        save_config(path, config)  # last: with it the folder is a run
        training = Training(graph, config, path, progress)
        training.begin()
        training.run(on_epoch)
    return Run(path)


def resume(
    path: Path,
    *,
    on_epoch: OnEpoch = lambda epoch: None,
    progress: Progress = silent,
    **changes: Any,  # noqa: ANN401
) -> Run:
    """Go on with a run where it was saved last; only some settings may change."""
    config = read_config(path)
    for name in changes:
        if name not in MAY_CHANGE:
            allowed = ", ".join(MAY_CHANGE)
            raise RunError(f"{name} cannot change when a run goes on; only {allowed} can")
    config = config.replace(**changes)
    check_device(config.device)
    with locked(path), marking_divergence(path), computing(config):
        clear_parts(path, HISTORY)
        training = Training(open_graph(path), config, path, progress)
        training.restore()
        save_config(path, config)
        training.run(on_epoch)
    return Run(path)


def refit(run: Run, *, on_epoch: OnEpoch = lambda epoch: None, progress: Progress = silent) -> Run:
    """Train once more on all facts, for the epochs that validation chose; into RUN/refit.

    One that was cut off goes on.
    """
    check_refit(run.config)
    config = run.config.replace(epochs=run.best_epoch, validate_every=0)
    out = run.path / REFIT
    if not (out / CONFIG).exists():
        everything = run.graph().all_in_train()
        return train(everything, config, out=out, on_epoch=on_epoch, progress=progress)
    changes = {name: getattr(config, name) for name in MAY_CHANGE if name != "epochs"}
    if read_config(out).replace(**changes) != config:
        raise RunError(f"{out}: it is of other settings or epochs than the run now; move it away")
    return resume(out, on_epoch=on_epoch, progress=progress, **changes)


class Training:
    """A model, its optimizer and its data, on the way through the epochs."""

    def __init__(self, graph: Graph, config: TrainConfig, path: Path, progress: Progress) -> None:
        self.graph, self.config, self.path, self.progress = graph, config, path, progress
        self.device = torch.device(config.device)
        self.model = new_model(graph, config)
        self.optimizer = optimizer(config.optimizer, rate=config.lr)
        self.schedule = SCHEDULES[config.schedule]()
        self.queries = graph.queries("train")
        self.state = State(rate=config.lr)
        self.asked = asked_of(graph, "valid", device=self.device) if len(graph.valid) else None
        self.objective = objective_of(graph, config, model=self.model, queries=self.queries)
        shape = self.model.table("object").shape
        self.peak = machine.peak_flops(type_of_products(config), self.device, *shape)
        self.save_at = time.perf_counter() + SAVE_SECONDS
        self.saved: checkpoint.Files = {}
        """The file of the factors as they are, if there is one since the last step."""

    def run(self, on_epoch: OnEpoch) -> None:
        """All epochs that are left; ends with everything saved, or raises with it saved."""
        with interruptible() as interrupt:
            while not self._ended():
                self._train_epoch(interrupt)
                epoch = self._close_epoch()
                history.append(self.path / HISTORY, epoch)
                said = on_epoch(epoch)  # a bar, say, may return anything
                self.state.finished = said if isinstance(said, str) else ""
                if epoch.mrr is not None and not self._ended():
                    self.save()
            if self.state.best_mrr < 0:  # nothing was validated: the last is the best
                self._save_best(self.state.epoch - 1, -1.0)
            self.save()
        if interrupt.asked:
            raise self._interrupted(f"stopped at its end ({self.state.finished})")

    def begin(self) -> None:
        """At the first epoch, with the factors of another run if the settings name one."""
        history.keep_until(self.path / HISTORY, 0)
        if self.config.warm_start:
            copy_factors(Run(self.config.warm_start), into=self.model, graph=self.graph)

    def restore(self) -> None:
        """Back to the last checkpoint; epochs after it are forgotten.

        A run that was killed before its first checkpoint begins anew.
        """
        folder = self.path / CHECKPOINTS
        if not (folder / "last.json").exists():
            checkpoint.refuse_best_alone(folder, first=self.config.validate_every)
            self.begin()
            return
        parts, state = checkpoint.load(folder, "last", "factors", "optimizer")
        for name, table in parts["factors"].items():
            self.model.tables[name].copy_(table)
        self.optimizer.state = {k: t.to(self.device) for k, t in parts["optimizer"].items()}
        self.state = State(**state)
        self.state.finished = ""
        if (begun := self.state.epoch - (not self.state.step)) > self.config.epochs:
            less = f"{setting('epochs')} cannot be less"
            raise RunError(f"{self.path}: it is in epoch {begun}; {less}")
        self.optimizer.rate = self.state.rate
        self.schedule = SCHEDULES[self.config.schedule](**self.state.schedule)
        history.keep_until(self.path / HISTORY, self.state.epoch - 1)

    def save(self) -> None:
        """The checkpoint `last`: factors, optimizer and where training stands."""
        start = time.perf_counter()
        self._check_finite()
        self.state.rate, self.state.schedule = self.optimizer.rate, asdict(self.schedule)
        parts = {"factors": self.model.tables, "optimizer": self.optimizer.state}
        folder, state = self.path / CHECKPOINTS, asdict(self.state)
        history.settle(self.path / HISTORY)  # before what counts on them
        checkpoint.save(folder, "last", parts, state, saved=self.saved)
        end = time.perf_counter()
        self.save_at = end + max(SAVE_SECONDS, (end - start) / SAVE_SHARE)

    def _ended(self) -> bool:
        state, config = self.state, self.config
        if state.epoch > config.epochs:
            state.finished = f"{config.epochs} epoch{'s' * (config.epochs != 1)}{self._doubt()}"
        elif config.validate_every and state.waited >= config.patience:
            state.finished = f"no better MRR for {config.patience} validations{self._doubt()}"
        return bool(state.finished)

    def _doubt(self) -> str:
        """What to say of a training that ends where it began."""
        epochs, nothing = history.read(self.path / HISTORY), self.objective.blank
        if not (epochs and 0 < IDLE * nothing < epochs[-1].loss):
            return ""
        less = f"less {setting('reg')} (now {self.config.reg:g}), " if self.config.reg else ""
        advice = f"try {less}another {setting('lr')} (now {self.config.lr:g}) or more epochs"
        return f", with the loss of a model that knows nothing ({nothing:.2f}); {advice}"

    def _train_epoch(self, interrupt: Interrupt) -> None:
        """The steps that are left of the epoch under way."""
        state, config = self.state, self.config
        assert config.batch is not None
        total = int(self.queries.chunks(config.cap).sum())
        batches = self.queries.batches(
            seed=config.seed, epoch=state.epoch, batch_size=config.batch, cap=config.cap
        )
        for number, batch in enumerate(batches):
            if number < state.step:
                continue
            start = time.perf_counter()
            self.saved = {}
            value = self.objective.step(self.tensors(batch), self.optimizer)
            state.loss += float(value.loss)
            state.penalty += float(value.penalty)
            state.seconds += time.perf_counter() - start
            state.step += 1
            if not math.isfinite(state.loss + state.penalty):
                raise self._diverged()
            done = min(state.step * config.batch, total)
            self.progress(self._doing(done, total), done, total)
            if interrupt.asked:
                self.save()
                when = f"in epoch {self.state.epoch} after {self.state.step} steps"
                raise self._interrupted(f"stopped {when}")
            if time.perf_counter() > self.save_at:
                self.save()

    def _close_epoch(self) -> Epoch:
        """Its sums as means, its validation, and on to the next."""
        state, queries = self.state, int(self.queries.chunks(self.config.cap).sum())
        scale = self.objective.answers / self.queries.facts
        if state.loss * scale > HOPELESS * max(1.0, self.objective.blank):
            raise self._diverged()
        due = self.config.validate_every and state.epoch % self.config.validate_every == 0
        due = due or (self.config.validate_every and state.epoch == self.config.epochs)
        epoch = Epoch(
            epoch=state.epoch,
            loss=state.loss * scale,
            penalty=state.penalty * scale,
            rate=self.optimizer.rate,
            seconds=state.seconds,
            queries_per_second=queries / state.seconds,
            matmul_share=self._share(queries, state.seconds),
            mrr=self._validate() if due and self.asked is not None else None,
        )
        state.epoch, state.step = state.epoch + 1, 0
        state.loss = state.penalty = state.seconds = 0.0
        return epoch

    def _validate(self) -> float:
        assert self.asked is not None
        self.progress("validating", 0, 0)
        try:
            mrr = ranks(self.model, self.asked, budget=self.config.budget_mb * 2**20).mrr()
        except DivergedError:  # of a score that is not a number
            raise self._diverged() from None
        if mrr > self.state.best_mrr:
            self._save_best(self.state.epoch, mrr)
        else:
            self.state.waited += 1
        self.optimizer.rate = self.schedule.after(self.optimizer.rate, mrr)
        return mrr

    def _save_best(self, epoch: int, mrr: float) -> None:
        self._check_finite()
        self.state.best_epoch, self.state.best_mrr, self.state.waited = epoch, mrr, 0
        about = {"epoch": epoch, "mrr": mrr if mrr >= 0 else None}
        parts = {"factors": self.model.tables}
        self.saved = checkpoint.save(self.path / CHECKPOINTS, "best", parts, about)

    def _interrupted(self, where: str) -> Interrupted:
        return Interrupted(f"{where}, all is saved; {go_on(self.path)}")

    def _check_finite(self) -> None:
        if not all(bool(table.isfinite().all()) for table in self.model.tables.values()):
            raise self._diverged()

    def _diverged(self) -> DivergedError:
        kept = (self.path / CHECKPOINTS / "last.json").exists()
        out = setting("out", str(self.path))
        until = ", where the last good state is kept until then" if kept else ""
        epoch = min(self.state.epoch, self.config.epochs)
        return DivergedError(
            f"training diverged in epoch {epoch} (its numbers grew without bound); train anew with "
            f"a lower {setting('lr')} (now {self.optimizer.rate:g}), also with {out}{until}"
        )

    def _doing(self, done: int, total: int) -> str:
        """What a progress bar shows: where training stands, how fast it is, how long it takes."""
        state, epochs = self.state, self.config.epochs
        mrr = f"  MRR {state.best_mrr:.3f}" if state.best_mrr >= 0 else ""
        speed = done / state.seconds
        left = ((epochs - state.epoch + 1) * total - done) / speed / 60
        return (
            f"epoch {state.epoch}/{epochs}  loss {state.loss / state.step:.3f}{mrr}  "
            f"{speed:,.0f} queries/s  {self._share(done, state.seconds):.0%} of peak  "
            f"{left:,.0f} min left"
        )

    def _share(self, queries: int, seconds: float) -> float:
        """The time of the bare products at the machine's peak, as a share of the time taken.

        Training that is faster than the measured peak was, as on a machine that was busy then, is
        the better measurement.
        """
        flop = machine.flop_of_products(queries, *self.model.table("object").shape)
        speed = flop / seconds
        self.peak = max(self.peak, speed)
        return speed / self.peak

    def tensors(self, batch: GraphBatch) -> Batch:
        def here(array: Ints) -> torch.Tensor:
            return torch.from_numpy(array).to(self.device)

        once = (batch.multiplicities == 1).all()
        return Batch(
            here(batch.entities),
            here(batch.predicates),
            here(batch.rows),
            here(batch.answers),
            weights=None if once else here(batch.multiplicities),
        )
