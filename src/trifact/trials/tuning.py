"""A short search before training: many short trials, few long ones, within a given time.

Successive halving (Jamieson and Talwalkar 2016) with runs that go on: a trial is trained for a
few epochs, and a third of the trials, the best, for three times as many, and so on. The settings
of the default rule are the first trial and climb as high as any other, so that it can be said
whether tuning beat them: by validation MRR at equal epochs.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from shutil import rmtree
from tempfile import TemporaryDirectory
from typing import Any

import optuna
from optuna.samplers import TPESampler

from trifact.errors import ConfigError, DivergedError, OutputError, TrifactError, memory_ran_out
from trifact.graph.graph import Graph
from trifact.progress import Progress, silent
from trifact.run import training
from trifact.run.durations import shown
from trifact.run.folder import LOCK, NotSavedError, locked
from trifact.run.options import TrainConfig, resolved
from trifact.run.preparation import check_device, with_precision
from trifact.run.run import Run
from trifact.trials.queue import distribution
from trifact.trials.space import Choice, Range
from trifact.trials.trial import described
from trifact.wording import setting

REDUCTION = 3
WANTED = 18  # trials of the first rung, where the time allows one of several epochs
STARTUP = 6  # random trials before TPE has something to learn from
SHARES = (1 / 3, 2 / 3, 1.0)  # of the time: until when the first rung, the second, all others last
ASKED = 100  # times, for settings that are new
RULE = 0  # the number of the rule's own trial
TUNED = ("rank", "reg", "lr", "batch")
SCRATCH = ".tuning-"


@dataclass(frozen=True)
class Watch:
    """Who watches: lines to read, how far it is, and the time."""

    say: Callable[[str], None] = lambda line: None
    progress: Progress = silent
    clock: Callable[[], float] = time.monotonic


class _LateError(Exception):
    """The time was up in the middle of a trial, of which nothing is needed any more."""


class TuningInterrupted(TrifactError):  # noqa: N818 - it is no error
    """Somebody asked to stop while settings were tried."""

    exit_code = 130


@dataclass
class Candidate:
    """Settings that are tried, and how far they came."""

    number: int
    settings: dict[str, Any]
    epochs: int = 0
    seconds: float = 0.0
    """Trained so far, with everything around it."""
    mrrs: dict[int, float] = field(default_factory=dict)
    """The best validation MRR within so many epochs, by rung."""
    converged: bool = False
    """Whether it ended because MRR rose no more, as the final run would; it is done."""

    def __str__(self) -> str:
        return described(self.settings)

    @property
    def found(self) -> float:
        """The MRR that the sampler learns from; zero if it diverged."""
        return max(self.mrrs.values(), default=0.0)

    def needs(self, epochs: int) -> float:
        """Seconds until it has so many epochs, at the pace that it had."""
        return 0.0 if self.converged else (epochs - self.epochs) * self.seconds / self.epochs


@dataclass(frozen=True)
class Tuned:
    """What tuning found."""

    config: TrainConfig
    """The best settings: those of a candidate, or those of the rule."""
    candidates: tuple[Candidate, ...]
    best: Candidate
    epochs: int
    """The epochs after which the best is the best; 0 if there was no time for a comparison."""

    @property
    def verdict(self) -> str:
        """Whether it beat the rule, in one sentence."""
        if not self.epochs:
            return "the time did not suffice to try anything but the rule's settings; they are kept"
        rule, when = self.candidates[RULE].mrrs[self.epochs], f"at epoch {self.epochs}"
        early = REDUCTION * self.epochs < self.config.epochs
        guess = f"; of {self.config.epochs} epochs that is early, so it is a guess" if early else ""
        if self.best.number == RULE:
            others = [c.mrrs[self.epochs] for c in self.candidates[1:] if self.epochs in c.mrrs]
            return (
                f"{when} the rule was best: {rule:.4f} against {max(others):.4f} tuned; "
                f"its settings are kept{guess}"
            )
        tuned = self.best.mrrs[self.epochs]
        return f"{when}: tuned {tuned:.4f} against {rule:.4f} by the rule{guess}"

    def to_jsonl(self) -> str:
        """One line a candidate, for the folder of the run."""
        return "".join(
            json.dumps(asdict(c) | {"chosen": c.number == self.best.number}) + "\n"
            for c in self.candidates
        )


def tune(
    graph: Graph,
    settings: dict[str, Any],
    *,
    seconds: float,
    within: Path = Path(),
    watch: Watch | None = None,
) -> Tuned:
    """The best settings that were found in so many seconds; those that were given stay.

    Trials are trained in a temporary folder in `within`, and nothing of them is kept.
    """
    config = TrainConfig.from_values(settings)
    if not len(graph.valid) or not config.validate_every:
        raise ConfigError("tuning compares validation MRR, but there is nothing to validate on")
    check_device(config.device)
    rule = with_precision(resolved(config, graph), graph)
    choices = around(rule, queries=len(graph.queries("train")), given=tuple(settings))
    with _scratch(within) as folder:
        tuning = Tuning(graph, rule, choices, folder, seconds, watch or Watch())
        try:
            epochs = tuning.run()
        except (training.Interrupted, KeyboardInterrupt):
            raise TuningInterrupted(tuning.so_far()) from None
        except NotSavedError as error:  # the folder that it would go on in goes, too
            raise OutputError(f"{error.problem}; nothing of the tuning is kept") from None
        except DivergedError:
            lower = f"give a lower {setting('lr')} (now {rule.lr:g})"
            raise DivergedError(f"by the rule training diverges at once; {lower}") from None
    best = tuning.best(epochs)
    chosen = {} if best.number == RULE else dict(best.settings)
    chosen["precision"] = rule.precision  # that of all trials
    return Tuned(config.replace(**chosen), tuple(tuning.candidates), best, epochs)


@contextmanager
def _scratch(within: Path) -> Iterator[Path]:
    """A folder for trials; first those go that a kill has left behind."""
    within.mkdir(parents=True, exist_ok=True)
    for lock in within.glob(f"{SCRATCH}*/{LOCK}"):
        with suppress(TrifactError, OSError), locked(lock.parent):  # it is alive, or another's
            rmtree(lock.parent)
    with TemporaryDirectory(dir=within, prefix=SCRATCH) as folder, locked(Path(folder)):
        yield Path(folder)


def around(rule: TrainConfig, *, queries: int, given: Sequence[str]) -> dict[str, Choice]:
    """What is searched around the settings of the rule."""
    assert rule.rank is not None
    assert rule.batch is not None
    batches = (rule.batch // 4, rule.batch // 2, rule.batch, 2 * rule.batch, 4 * rule.batch)
    choices: dict[str, Choice] = {
        "rank": tuple(sorted({max(rule.rank // 4, 1), max(rule.rank // 2, 1), rule.rank,
                              2 * rule.rank})),
        "reg": Range(rule.reg / 30, rule.reg * 10, log=True) if rule.reg else (0.0,),
        "lr": Range(rule.lr / 5, rule.lr * 5, log=True),
        "batch": tuple(sorted({rule.batch, *(b for b in batches if 10 <= b <= queries)})),
    }  # fmt: skip
    left = {key: c for key, c in choices.items() if key not in given}
    left = {key: c for key, c in left.items() if isinstance(c, Range) or len(c) > 1}
    if not left:
        raise ConfigError(f"{', '.join(TUNED)} are all given; nothing is left to tune")
    return left


@dataclass
class Tuning:
    """Candidates on their way up the rungs."""

    graph: Graph
    rule: TrainConfig
    choices: dict[str, Choice]
    folder: Path
    seconds: float
    watch: Watch
    candidates: list[Candidate] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._began = self.watch.clock()
        sampler = TPESampler(seed=self.rule.seed, n_startup_trials=STARTUP)
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        self._study = optuna.create_study(direction="maximize", sampler=sampler)
        self._study.enqueue_trial({key: getattr(self.rule, key) for key in self.choices})
        self._kinds = {key: distribution(choice) for key, choice in self.choices.items()}

    def run(self) -> int:
        """All rungs there is time for; the epochs of the highest that has a rival of the rule."""
        try:
            epochs = self._widen()
        except _LateError:  # in the very first epoch
            return 0
        rivals = [c for c in self.candidates[1:] if epochs in c.mrrs]
        compared = epochs if rivals else 0
        rung = 1
        while rivals and REDUCTION * epochs <= self.rule.epochs:
            epochs *= REDUCTION
            rivals = self._climb(promoted(rivals, compared), epochs, rung)
            compared, rung = (epochs, rung + 1) if rivals else (compared, rung)
        return compared

    def best(self, epochs: int) -> Candidate:
        """The best after so many epochs; the rule, if nothing is better."""
        able = [c for c in self.candidates if epochs in c.mrrs]
        return max(able, key=lambda c: c.mrrs[epochs], default=self.candidates[RULE])

    def so_far(self) -> str:
        """What is known when somebody asks to stop."""
        compared = max((e for c in self.candidates[1:] for e in c.mrrs), default=0)
        if not compared:
            return "stopped while tuning, before anything was compared; nothing was written"
        best = self.best(compared)
        options = " ".join(f"--{key} {value}" for key, value in best.settings.items())
        return (
            f"stopped while tuning, nothing was written; best so far, with MRR "
            f"{best.mrrs[compared]:.4f} at epoch {compared}: {options}"
        )

    def _widen(self) -> int:
        """The first rung: the rule, then as many others as fit; returns its epochs."""
        candidate = self._next()
        assert candidate is not None, "nothing was tried before the rule"
        setup, pace = self._time(candidate)
        epochs = first_epochs(self.seconds * SHARES[0], setup, pace, most=self.rule.epochs)
        self.watch.say(
            f"tuning {', '.join(self.choices)} for {shown(self.seconds)}; an epoch takes about "
            f"{pace:.2g} s by the rule, so trials go to epoch {epochs} first"
        )
        while candidate is not None:
            self._train(candidate, epochs)
            self._study.tell(self._asked, candidate.found)
            candidate = self._next()
            if candidate and not self._fits(setup + pace * epochs * self._size(candidate), 0):
                self.candidates.pop()
                break
        return epochs

    def _climb(self, chosen: Sequence[Candidate], epochs: int, rung: int) -> list[Candidate]:
        """Train the rule and the chosen ones on; those that made it in time, if the rule did."""
        for candidate in self.candidates[1:]:
            if candidate not in chosen:
                rmtree(self._path(candidate), ignore_errors=True)
        rule = self.candidates[RULE]
        if not self._fits(rule.needs(epochs) + chosen[0].needs(epochs), rung):
            return []
        self.watch.say(f"the best {len(chosen)} and the rule go on to epoch {epochs}")
        made_it = [
            candidate
            for candidate in (rule, *chosen)
            if self._fits(candidate.needs(epochs), rung) and self._train(candidate, epochs)
        ]
        return [c for c in made_it if c is not rule] if epochs in rule.mrrs else []

    def _fits(self, needed: float, rung: int) -> bool:
        until = self._began + self.seconds * SHARES[min(rung, len(SHARES) - 1)]
        return self.watch.clock() + needed <= until

    def _next(self) -> Candidate | None:
        """The rule first, then what TPE wants to know and is not known; None if all seems to be."""
        for _ in range(ASKED):
            self._asked = self._study.ask(self._kinds)
            settings = self._asked.params
            known = next((c for c in self.candidates if c.settings == settings), None)
            if known is None:
                self.candidates.append(Candidate(len(self.candidates), settings))
                return self.candidates[-1]
            self._study.tell(self._asked, known.found)
        return None

    def _time(self, candidate: Candidate) -> tuple[float, float]:
        """Train for one epoch: the seconds around a training, and those of an epoch."""
        start = self.watch.clock()
        run = self._trained(candidate, 1)
        candidate.epochs, candidate.seconds = 1, self.watch.clock() - start
        pace = run.history[0].seconds
        return candidate.seconds - pace, pace

    def _train(self, candidate: Candidate, epochs: int) -> bool:
        """Up to so many epochs; whether it got there, and did not diverge on the way."""
        start = self.watch.clock()
        try:
            run = self._trained(candidate, epochs)
        except _LateError:
            return False
        except (DivergedError, MemoryError, RuntimeError) as error:
            if not isinstance(error, DivergedError) and not memory_ran_out(error):
                raise
            if candidate.number == RULE:
                candidate.mrrs[epochs] = 0.0  # so that others can be compared with it
            return False
        candidate.epochs = run.history[-1].epoch
        candidate.seconds += self.watch.clock() - start
        candidate.converged = candidate.epochs < epochs
        candidate.mrrs[epochs] = run.metrics["mrr"]
        rule = " (the rule)" if candidate.number == RULE else ""
        mrr = candidate.mrrs[epochs]
        self.watch.say(f"trial {candidate.number:3}  MRR {mrr:.4f}  {candidate}{rule}")
        return True

    def _trained(self, candidate: Candidate, epochs: int) -> Run:
        every = min(self.rule.validate_every, epochs)
        changes: dict[str, Any] = {"epochs": epochs, "validate_every": every}
        path = self._path(candidate)

        def show(what: str, done: int, total: int) -> None:
            self.watch.progress(f"tuning, trial {candidate.number}: {what}", done, total)
            if self.watch.clock() > self._began + self.seconds:
                raise _LateError

        if candidate.epochs:
            return training.resume(path, progress=show, **changes)
        config = self.rule.replace(**candidate.settings, **changes)
        return training.train(self.graph, config, out=path, progress=show)

    def _size(self, candidate: Candidate) -> float:
        """How many times as long an epoch takes as by the rule, at least."""
        assert self.rule.rank is not None
        return max(1.0, float(candidate.settings.get("rank", 0)) / self.rule.rank)

    def _path(self, candidate: Candidate) -> Path:
        return self.folder / str(candidate.number)


def first_epochs(seconds: float, setup: float, pace: float, *, most: int) -> int:
    """The epochs of the first rung: so that enough trials fit, and two more rungs can follow."""
    room = (seconds / WANTED - setup) / pace
    return max(1, min(math.floor(room), most // REDUCTION**2))


def promoted(rivals: Sequence[Candidate], epochs: int) -> list[Candidate]:
    """The best third after so many epochs, and at least one."""
    order = sorted(rivals, key=lambda c: (-c.mrrs[epochs], c.number))
    return order[: math.ceil(len(order) / REDUCTION)]
