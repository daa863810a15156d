"""Probabilities of facts: fitted on facts that were held out, kept with the run, read again.

What the number means, and what it does not, is said in docs/probabilities.md.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from trifact.answer.chances import (
    SCORE_ALONE,
    Chances,
    chances_of,
    fit_chances,
    of_all,
    record_of,
)
from trifact.answer.options import CalibrateConfig
from trifact.answer.platt import Maps, Sample, cross_validated, logit
from trifact.answer.reliability import brier, measured
from trifact.durable import write_text
from trifact.errors import ConfigError, RunError
from trifact.graph.graph import Graph
from trifact.graph.known import Ints, KnownAnswers, distinct
from trifact.progress import Progress, silent
from trifact.run.folder import CONFIG
from trifact.run.ranktable import Floats
from trifact.run.reliability import FILE, FORMAT, is_current, read_kept
from trifact.run.run import Run
from trifact.wording import setting

if TYPE_CHECKING:
    from trifact.answer.pool import Pool
    from trifact.tensor.models import Model

FOLDS = 5
FEWEST = FOLDS  # true facts, and false ones: each fold of the cross-validation can have some
REFIT = "fitted before the refit"


@dataclass(frozen=True, repr=False)
class Calibration:
    """From a fact and its score to the probability that it is true."""

    answers: Chances
    """Those of answers to questions that have one."""
    prior: float
    """The share of true facts that the probabilities assume."""
    record: dict[str, Any]
    """The content of `calibration.json`; see docs/probabilities.md."""
    pairs: Chances | None = None
    """Those of pairs, which discovery goes by; None if there was too little to fit them on."""

    def __repr__(self) -> str:
        return f"Calibration({len(self.answers.maps.own):,} predicates, prior {self.prior:.3g})"

    def probabilities(self, facts: Ints, scores: Floats, train: KnownAnswers) -> Floats:
        """Of facts (n, 3) with their scores (n,), `train` being what the model was trained on.

        Strictly increasing in the score, all else being equal.
        """
        return self.answers.probabilities(facts, scores, train)

    def doubts(self, predicates: Ints) -> list[str]:
        """What to know about the probabilities of facts with these predicates: sentences."""
        doubts, negatives = list[str](), self.record["fitted"]["negatives"]
        if negatives is not None:
            doubts.append("these probabilities were fitted on true facts and the false ones of "
                          f"{negatives}, which answers of the model are not like")  # fmt: skip
        if which := self.answers.unsure(predicates):
            average = f"the probabilities of {which} are those of an average predicate, and may be"
            doubts.append(f"{average} far off: there was no held-out fact to fit their own on")
        return doubts

    def doubts_of_pairs(self, predicates: Ints) -> list[str]:
        """The same of what discovery goes by."""
        which = self.pairs.unsure(predicates) if self.pairs else ""
        return [f"the probabilities of {which} may be far off: no validation fact with their "
                "predicate was found among the pairs"] if which else []  # fmt: skip

    def with_prior(self, prior: float) -> Calibration:
        """The same where another share of the facts is true.

        Bayes: log-odds move by logit(prior) - logit(own prior), if true facts score as true ones
        did, and false as false ones, and only their share is another.
        """
        if not 0 < prior < 1:
            raise ConfigError(f"prior must lie between 0 and 1, not {prior:g}")
        shift = logit(prior) - logit(self.prior)
        return replace(self, answers=self.answers.shifted(shift), prior=prior)


def calibrate(
    run: Run,
    config: CalibrateConfig | None = None,
    *,
    negatives: Graph | None = None,
    progress: Progress = silent,
) -> Calibration:
    """Fit on the validation facts of a run, and keep it with the run.

    `negatives` are false facts; without them, false are answers of the model's own.
    """
    found = fitted(run, config, negatives=negatives, progress=progress)
    keep(run, found)
    return found


def fitted(
    run: Run,
    config: CalibrateConfig | None = None,
    *,
    negatives: Graph | None = None,
    progress: Progress = silent,
) -> Calibration:
    """The same, not kept yet."""
    config, graph = config or CalibrateConfig(), run.graph()
    factors, model = run.factors_hash(), run.model()
    pool = _pool(graph, model, config, split="valid", negatives=negatives, progress=progress)
    _refuse_few(graph, pool.sample)
    progress("fitting", 0, 0)
    chances = _chances(graph, model, config)
    run.refuse_change(factors)
    record = {
        "format": FORMAT,
        "factors_sha256": factors,
        "graph": graph.content_hash,
        "fitted": {**pool.about, "factors_sha256": factors, "note": ""},
        **_found(graph, pool, config.seed),
        "chances": chances,
    }
    return _calibration(record)


def _chances(graph: Graph, model: Model, config: CalibrateConfig) -> dict[str, Any] | None:
    """What is kept of the chances of pairs; None if there is too little to fit them on."""
    from trifact.answer.pool import pool_of_pairs
    from trifact.answer.roles import pairs_of

    pairs = pairs_of(graph)
    pool = pool_of_pairs(graph, model, config, pairs) if pairs.count() else None
    if pool is None or _is_too_little(pool.sample):
        return None
    return record_of(graph, pool, folds=FOLDS, seed=config.seed)


def advice(run: Run) -> str:
    """How a run without one comes to a calibration; a refit takes over that of its run."""
    parent = origin(run)
    graph = parent.graph()
    usable = int((~graph.known("train", "test").contains(distinct(graph.valid))).sum())
    if usable < FEWEST:
        needed = f"fitting one takes at least {FEWEST} validation facts"
        return f"{needed}, and there are {usable}; train with more of them (see {setting('valid')})"
    made = f"make one with: trifact calibrate {shlex.quote(str(parent.path))}"
    taken_over = f" && trifact train --resume {shlex.quote(str(run.path))}"
    return made if parent is run else made + taken_over


def origin(run: Run) -> Run:
    """The run that a refit was made from; any other run is its own."""
    from trifact.run import training  # who has a calibration needs no training

    path = run.path if run.path.name == training.REFIT else run.path.resolve()
    is_refit = path.name == training.REFIT and (path.parent / CONFIG).exists()
    return Run(path.parent) if is_refit else run


def calibrate_new(
    run: Run, *, say: Callable[[str], None], progress: Progress = silent
) -> Calibration | None:
    """What training ends with: a calibration, if the graph has facts to fit one on.

    One that was made for these factors stays, as somebody may have given it false facts.
    """
    from trifact.answer.pool import NothingToFitError

    if not len(run.graph().valid):
        return None
    with suppress(RunError):  # of other factors, or damaged: made anew
        if (kept := read_calibration(run)) is not None:
            return kept
    before = None
    with suppress(RunError):
        before = read_kept(run)
    try:
        found = calibrate(run, progress=progress)
        if before is not None and (given := before["fitted"]["negatives"]):
            say(
                f"the probabilities fitted on {given} were those of other factors; they are fitted "
                "anew, on the model's own answers (trifact calibrate takes false facts)"
            )
        return found
    except NothingToFitError as error:
        say(f"no probabilities: {error}")
        return None


def judge(
    run: Run,
    calibration: Calibration,
    config: CalibrateConfig,
    *,
    negatives: Graph | None = None,
    progress: Progress = silent,
) -> dict[str, Any]:
    """How far the probabilities can be trusted on the test facts; made as for fitting."""
    graph, model = run.graph(), run.model()
    pool = _pool(graph, model, config, split="test", negatives=negatives, progress=progress)
    said = calibration.probabilities(pool.facts, pool.sample.scores, graph.known("train"))
    found = measured(said, pool.sample.true, pool.sample.weights)
    return {**found, "left_out": pool.about["left_out"]}


def _pool(
    graph: Graph,
    model: Model,
    config: CalibrateConfig,
    *,
    split: str,
    negatives: Graph | None,
    progress: Progress,
) -> Pool:
    from trifact.answer.pool import pool_of, pool_with  # who only reads one needs no readers

    if negatives is not None:
        return pool_with(graph, model, config, negatives, split=split)
    return pool_of(graph, model, config, split=split, progress=progress)


def read_calibration(run: Run) -> Calibration | None:
    """The calibration of a run, None where there is none; one of other factors is refused."""
    kept = read_kept(run)
    if kept is None:
        return None
    if not is_current(run, kept):
        raise RunError(
            f"{run.path / FILE}: it was made for other factors than the run now has; {advice(run)}"
        )
    try:
        return _calibration(kept)
    except ValueError as error:
        why = str(error)
    except (KeyError, TypeError, IndexError):
        why = "a part is missing, or is something else"
    raise RunError(f"{run.path / FILE}: this is no calibration ({why}); calibrate again")


def adopt(calibration: Calibration, run: Run) -> Calibration:
    """Keep a calibration with the refit of its run, which has no facts left to fit one on.

    The new factors know more facts and score them alike; the record says where it is from.
    """
    graph, rows = run.graph(), calibration.record["by_predicate"]
    names = [graph.predicates[row["id"]] for row in rows if row["id"] < len(graph.predicates)]
    if names != [row["predicate"] for row in rows]:
        raise RunError(f"{run.path}: its predicates are not those of the calibration")
    record = {
        **calibration.record,
        "factors_sha256": run.factors_hash(),
        "graph": graph.content_hash,
        "fitted": {**calibration.record["fitted"], "note": REFIT},
    }
    found = _calibration(record)
    keep(run, found)
    return found


def keep(run: Run, calibration: Calibration) -> None:
    """Keep a calibration with its run, instead of the one it had."""
    text = json.dumps(calibration.record, indent=1, ensure_ascii=False, allow_nan=False)
    write_text(run.path / FILE, text + "\n")


def _refuse_few(graph: Graph, sample: Sample) -> None:
    from trifact.answer.pool import NothingToFitError

    if _is_too_little(sample):
        true = int(sample.true.sum())
        raise NothingToFitError(
            f"{graph.name}: {true:,} true and {len(sample) - true:,} false facts are too few to "
            f"fit probabilities on, at least {FEWEST} of either are needed; give more of them, "
            "or hold more facts out"
        )


def _is_too_little(sample: Sample) -> bool:
    true = int(sample.true.sum())
    return min(true, len(sample) - true) < FEWEST


def _found(graph: Graph, pool: Pool, seed: int) -> dict[str, Any]:
    """The chances, and what they come to on facts that they did not see."""
    predicates, (chances, sample) = len(graph.predicates), fit_chances(graph, pool)
    own, whole = cross_validated(sample, predicates, folds=FOLDS, seed=seed)
    kept = measured(own, sample.true, sample.weights)
    return {
        "prior": sample.prior,
        "predicates": predicates,
        **of_all(chances),
        "by_predicate": [
            _row(graph, int(j), chances.maps, sample.part(its), own[its])
            for j in np.unique(sample.predicates)
            for its in [sample.predicates == j]
        ],
        "reliability": {"folds": FOLDS, "seed": seed, **kept},
        "reliability_of_whole": measured(whole, sample.true, sample.weights),
    }


def _row(graph: Graph, predicate: int, maps: Maps, its: Sample, said: Floats) -> dict[str, Any]:
    """A predicate: its map, how many facts it has, and what was said of them unseen."""
    true, false = its.counts
    slope, intercept = maps.own[predicate].tolist()
    return {
        "id": predicate,
        "predicate": graph.predicates[predicate],
        "label": graph.predicate_label(predicate),
        "slope": slope,
        "intercept": intercept,
        "true": true,
        "false": false,
        "said": float(np.average(said, weights=its.weights)),
        "brier": brier(said, its.true, its.weights),
    }


def _calibration(record: dict[str, Any]) -> Calibration:
    """The calibration of a record; what cannot be one raises."""
    predicates, prior = int(record["predicates"]), float(record["prior"])
    if not 0 < prior < 1:
        raise ValueError("the prior is no share")
    of_answers = record if record["format"] > 1 else {**record, "weights": SCORE_ALONE}
    of_pairs = record.get("chances")
    pairs = None if of_pairs is None else chances_of(of_pairs, predicates)
    return Calibration(chances_of(of_answers, predicates), prior, record, pairs)
