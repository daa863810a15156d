"""Discovery: the most probable facts that a graph lacks, of all that make sense."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from trifact.answer import files, pausing
from trifact.answer.answers import Answers, Cell
from trifact.answer.calibration import advice, read_calibration
from trifact.answer.expectation import expectation
from trifact.answer.leftout import LeftOut
from trifact.answer.names import Names
from trifact.answer.options import DiscoverConfig
from trifact.answer.ordering import ByChance, ByScore, Order
from trifact.answer.pairs import Pairs
from trifact.answer.platt import logit, sigmoid
from trifact.answer.roles import likely
from trifact.answer.shortlist import Found, Shortlist
from trifact.answer.single import single_sides, unanswered
from trifact.answer.sweep import Step, Sweep
from trifact.durable import alone
from trifact.errors import ConfigError, OutputError, TrifactError
from trifact.graph.graph import Graph
from trifact.graph.known import Ints
from trifact.graph.writers import write_facts
from trifact.progress import Progress, silent
from trifact.run.candidates import Candidates, observed, of_types
from trifact.run.ranktable import Bools, Floats
from trifact.run.record import sha256
from trifact.run.reliability import FILE as CALIBRATION
from trifact.run.run import Run
from trifact.run.signals import Interrupt, interruptible

SAVE_SECONDS = 30.0
ENDINGS = (*files.ENDINGS, ".nt")


class Interrupted(TrifactError):  # noqa: N818 - it is no error
    """Somebody asked to stop; where the discovery stands is kept."""

    exit_code = 130


@dataclass(frozen=True, eq=False, repr=False)
class Discovery(Answers):
    """New facts as a table, best first, and by id; how they were found, and how true they are."""

    facts: Ints  # (n, 3)
    about: dict[str, Any]
    """Counts of what was gone through, and the order: "probability" or "score"."""
    expected: dict[str, Any] | None
    """The precision to expect (see docs/discovery.md); None where nothing was held out."""


def discover(
    run: Run,
    config: DiscoverConfig | None = None,
    *,
    out: Path | None = None,
    overwrite: bool = False,
    progress: Progress = silent,
    say: Callable[[str], None] = warnings.warn,
) -> Discovery:
    """The best facts that the graph of a run lacks, among all pairs that make sense.

    They are written to `out`, if given; until then where the discovery stands is kept beside it
    every half minute, and the same call goes on from there, however the first one ended. If that
    cannot be kept, this is said once, and the discovery goes on.
    """
    config, graph = config or DiscoverConfig(), run.graph()
    if out is not None:
        files.check_free(out, overwrite=overwrite, endings=ENDINGS)
    with nullcontext() if out is None else alone(out):
        factors, order = run.factors_hash(), _order(run, graph, config)
        sweep = _sweep(run, graph, config, order)
        run.refuse_change(factors)
        pace = _Pace(sweep, progress, say)
        if out is not None:
            pace.keep_beside(out, _request(run, graph, config, factors), anew=overwrite)
        pace.run()
        found = _discovery(graph, sweep)
        if out is not None:
            _write(found, graph, out, overwrite=overwrite)
            pausing.beside(out).unlink(missing_ok=True)
    return found


class _Pace:
    """The way through a sweep: shown, kept from time to time, and stopped when asked to."""

    def __init__(self, sweep: Sweep, progress: Progress, say: Callable[[str], None]) -> None:
        self.sweep, self.progress, self.saved = sweep, progress, time.perf_counter()
        self.path: Path | None = None
        self.request: pausing.Request = {}
        self.interrupt = Interrupt()
        self.say, self.said = say, False

    def keep_beside(self, out: Path, request: pausing.Request, *, anew: bool) -> None:
        """Keep where the sweep stands beside a file, and begin where it stood."""
        self.path, self.request = pausing.beside(out), request
        standing = pausing.read(self.path, request, anew=anew)
        if standing is not None:
            self.sweep.go_on(standing)
        self._keep()  # a place that cannot be written to is found before the work

    def run(self) -> None:
        """To the end, or until somebody asks to stop."""
        stopping = nullcontext(self.interrupt) if self.path is None else interruptible()
        with stopping as self.interrupt:
            self.sweep.run(self._after)

    def _after(self, step: Step) -> None:
        self.progress(step.what, self.sweep.spent, self.sweep.cost)
        if self.path is None:
            return
        if self.interrupt.asked:
            raise self._stopped()
        if time.perf_counter() - self.saved >= SAVE_SECONDS:
            self._keep_if_possible()

    def _stopped(self) -> Interrupted:
        done, again = f"stopped after {self.sweep.spent / self.sweep.cost:.0%}", "the same command"
        try:
            self._keep()
        except OutputError as error:
            return Interrupted(f"{done}, which could not be kept: {error}; {again} or call goes on "
                               "from where it was kept before")  # fmt: skip
        return Interrupted(f"{done}, all is kept in {self.path}; go on with {again} or call")

    def _keep_if_possible(self) -> None:
        try:
            self._keep()
        except OutputError as error:
            if not self.said:
                self.say(f"{error}; the discovery goes on, but if it is stopped it can be resumed "
                         "only from where it was kept before")  # fmt: skip
            self.said = True

    def _keep(self) -> None:
        assert self.path is not None
        try:
            pausing.keep(self.path, self.request, self.sweep.standing())
        finally:
            self.saved = time.perf_counter()


def _sweep(run: Run, graph: Graph, config: DiscoverConfig, order: Order) -> Sweep:
    """All that is to be done."""
    single = single_sides(graph.known("train")) & config.single
    candidates = _candidates(graph, config, single)
    floor = -np.inf if config.min_probability is None else logit(config.min_probability)
    return Sweep(
        run.model(),
        Pairs(candidates, _chosen(graph, config), len(graph.predicates)),
        LeftOut.of(graph, config.filter, single=single),
        order=order,
        news=Shortlist(config.top, each=config.per_predicate, floor=floor),
        budget=config.budget_mb * 2**20,
    )


def _order(run: Run, graph: Graph, config: DiscoverConfig) -> Order:
    calibration = read_calibration(run)
    if calibration is not None and calibration.pairs is not None:
        return ByChance(calibration.pairs, graph.known("train"))
    if config.min_probability is not None:
        raise ConfigError(f"min_probability needs probabilities; {why_by_score(run)}")
    return ByScore()


def why_by_score(run: Run) -> str:
    """Why there are no chances to go by, and what to do about it."""
    calibration = read_calibration(run)
    if calibration is None:
        return f"the run has no calibration; {advice(run)}"
    if "chances" not in calibration.record:
        return f"the run's calibration was made by an older version; {advice(run)}"
    return "too few validation facts are among the pairs that make sense; hold more of them out"


def _candidates(graph: Graph, config: DiscoverConfig, single: Bools) -> Candidates:
    """By predicate who may be an answer, but for those who have theirs."""
    if config.types is not None:
        found = of_types(graph, Path(config.types))
    else:
        by_role = config.among == "roles"
        found = likely(graph, config.holders) if by_role else observed(graph)
    return unanswered(found, graph.known("train"), single)


def _chosen(graph: Graph, config: DiscoverConfig) -> Ints:
    """The predicates that are asked for, ascending."""
    if not config.predicates:
        return np.arange(len(graph.predicates))
    names = Names(graph)
    return np.unique([names.predicate(name) for name in config.predicates])


def _request(run: Run, graph: Graph, config: DiscoverConfig, factors: str) -> pausing.Request:
    """All that decides what is found: a standing of anything else is of no use."""
    given = [run.path / CALIBRATION, *([Path(config.types)] if config.types else [])]
    return {
        "factors": factors,
        "graph": graph.content_hash,
        "settings": {name: value for name, value in asdict(config).items() if value is not None},
        "files": [sha256(path) for path in given if path.exists()],
    }


def _discovery(graph: Graph, sweep: Sweep) -> Discovery:
    """What the sweep has found, by name."""
    news, calibrated = sweep.news.best(), isinstance(sweep.order, ByChance)
    probabilities = sigmoid(news.keys) if calibrated else None
    return Discovery(
        columns=_columns(graph, news, probabilities),
        facts=news.facts,
        about={
            "order": "probability" if calibrated else "score",
            "pairs": sweep.pairs.count(),
            "queries": len(sweep.entities),
            "predicates": len(sweep.pairs.chosen),
        },
        expected=expectation(graph, sweep, probabilities),
    )


def _columns(graph: Graph, found: Found, probabilities: Floats | None) -> dict[str, Sequence[Cell]]:
    """Names, labels where there are some, and numbers."""
    subjects, predicates, objects = found.facts.T.tolist()
    empty: list[Cell] = [None] * len(found)
    return {
        "subject": [graph.entities[i] for i in subjects],
        "subject_label": [graph.entity_labels.get(i) for i in subjects],
        "predicate": [graph.predicates[j] for j in predicates],
        "predicate_label": [graph.predicate_labels.get(j) for j in predicates],
        "object": [graph.entities[i] for i in objects],
        "object_label": [graph.entity_labels.get(i) for i in objects],
        "score": found.scores.tolist(),
        "probability": empty if probabilities is None else probabilities.tolist(),
    }


def _write(found: Discovery, graph: Graph, out: Path, *, overwrite: bool) -> None:
    if out.suffix.lower() == ".nt":
        write_facts(graph, {out: found.facts}, overwrite=overwrite, literals=True)
    else:
        files.write_answers(found, out, overwrite=overwrite)
