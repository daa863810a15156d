"""Measure the probabilities of a run: on held-out facts, against other ways to get some.

    python -m scripts.check_calibration RUN [--negatives FOLDER]    measure, and keep the record
    python -m scripts.check_calibration                             only the tables of the page

The record is results/calibration/GRAPH.json; the tables in docs/probabilities.md are made of all
records. Everything is fitted on validation, and test is looked at once. FOLDER has false facts,
`valid_negatives.txt.gz` and `test_negatives.txt.gz`; without it only the model's own answers are
measured. The run's calibration is made anew, and stays the one on its own answers.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch

from scripts.pages import Part, table
from scripts.records import ROOT, about, records_in
from trifact.answer.calibration import Calibration, calibrate
from trifact.answer.chances import fit_chances, measures
from trifact.answer.options import CalibrateConfig
from trifact.answer.platt import Maps, Sample, fit, sigmoid
from trifact.answer.pool import Pool, pool_of, pool_with, questions
from trifact.answer.reliability import brier, measured
from trifact.graph.graph import Graph
from trifact.graph.known import Ints, KnownAnswers
from trifact.graph.loading import load
from trifact.graph.options import LoadConfig
from trifact.paper.archive import Record, write
from trifact.run.questions import asked_of
from trifact.run.ranktable import Floats
from trifact.run.run import Run
from trifact.tensor.ranking import ranks
from trifact.tensor.scoring import fact_scores

RECORDS = ROOT / "results" / "calibration"
PART = Part("probabilities.md", "check_calibration")
RESAMPLES, SEED = 1000, 0
BANDS = (1, 10, 50)
OURS = "score and counts, a map for each predicate"
SCORE, WHOLE = "the score alone, a map for each predicate", "score and counts, one map for all"
PLATT = "the score alone, one map for all (Platt)"


def measure(run: Run, negatives: Path | None) -> Record:
    """The record of a run."""
    return {
        **about(run),
        "given": None if negatives is None else _given(run, negatives),
        "answers": _answers(run),
    }


def _given(run: Run, folder: Path) -> Record:
    """Fitted on valid and false facts, judged on test and other false facts."""
    false, of_test = (
        load(folder / f"{split}_negatives.txt.gz", LoadConfig(valid=0.0, test=0.0))
        for split in ("valid", "test")
    )
    found, graph, model = calibrate(run, negatives=false), run.graph(), run.model()
    valid = pool_with(graph, model, CalibrateConfig(), false)
    test = pool_with(graph, model, CalibrateConfig(), of_test, split="test")
    said = _ways(graph, found, valid, test)
    said["sigmoid of X"] = sigmoid(_raw_scores(run, test.facts))
    said["exp of the score"] = np.exp(test.sample.scores)
    return {"prior": found.prior, "valid": _validated(found), "test": _judged(said, test.sample)}


def _answers(run: Run) -> Record:
    """Fitted on the answers to the questions of valid, judged on those to the questions of test."""
    seconds = _seconds(run)
    found, graph, model = calibrate(run), run.graph(), run.model()
    valid = pool_of(graph, model, CalibrateConfig())
    test = pool_of(graph, model, CalibrateConfig(), split="test")
    said = _ways(graph, found, valid, test)
    said["with every held-out fact as true"] = _with_every_fact(run, test)
    return {
        "prior": found.prior,
        "questions": found.record["fitted"]["questions"],
        "k": found.record["fitted"]["k"],
        "seconds": seconds,
        "valid": _validated(found),
        "test": _judged(said, test.sample),
        "by_place": _by_place(run, found),
    }


def _validated(found: Calibration) -> Record:
    kept = found.record
    return {OURS: kept["reliability"], WHOLE: _without_bins(kept["reliability_of_whole"])}


def _ways(graph: Graph, found: Calibration, valid: Pool, test: Pool) -> dict[str, Floats]:
    """Ours, and what is left of it without counts, without a map for each predicate, or both."""
    sample, train = test.sample, graph.known("train")
    by_score = fit(valid.sample, len(graph.predicates))
    evidence = measures(test.facts, sample.scores, train) @ found.answers.weights
    return {
        OURS: found.probabilities(test.facts, sample.scores, train),
        SCORE: by_score.probabilities(sample.scores, sample.predicates),
        WHOLE: _by_one(found.answers.maps, evidence),
        PLATT: _by_one(by_score, sample.scores),
    }


def _by_one(maps: Maps, measured: Floats) -> Floats:
    slope, intercept = maps.whole
    return sigmoid(slope * measured + intercept)


def _judged(said: dict[str, Floats], sample: Sample) -> Record:
    """The measures of each way, and how much worse its Brier score is than ours, resampled."""
    random = np.random.default_rng(SEED)
    drawn = [random.integers(len(sample), size=len(sample)) for _ in range(RESAMPLES)]
    result = Record()
    for name, probabilities in said.items():
        kept = measured(probabilities, sample.true, sample.weights)
        errors = (probabilities - sample.true) ** 2 - (said[OURS] - sample.true) ** 2
        worse = [np.average(errors[rows], weights=sample.weights[rows]) for rows in drawn]
        interval = np.percentile(worse, [2.5, 97.5]).tolist()
        result[name] = {**_without_bins(kept), "brier_less_ours": interval}
    result[OURS]["bins"] = measured(said[OURS], sample.true, sample.weights)["bins"]
    return result


def _without_bins(kept: Record) -> Record:
    return {key: value for key, value in kept.items() if key != "bins"}


def _raw_scores(run: Run, facts: Ints) -> Floats:
    """The mean of X over the two sides: (n, 3) -> (n,)."""
    model, back = run.model(), facts[:, ::-1] + np.array([0, len(run.graph().predicates), 0])
    asked = torch.from_numpy(np.concatenate([facts, back]))
    found = list[torch.Tensor]()
    for start in range(0, len(asked), 500):
        entities, predicates, answers = asked[start : start + 500].T
        found.append(model.scores(entities, predicates).gather(1, answers[:, None])[:, 0])
    return np.asarray(torch.cat(found).double().view(2, -1).mean(0).numpy())


def _with_every_fact(run: Run, test: Pool) -> Floats:
    """What one gets if validation facts are true ones also where they are not among the k best."""
    graph, model, config = run.graph(), run.model(), CalibrateConfig()
    answers, facts = pool_of(graph, model, config), graph.valid
    asked, _ = questions(graph, "valid", most=config.questions, seed=config.seed)
    both_sides = graph.reciprocal("valid")[:, :2] @ [2 * len(graph.predicates), 1]
    times = np.isin(both_sides, asked @ [2 * len(graph.predicates), 1]).reshape(2, -1).sum(axis=0)
    is_false = ~answers.sample.true
    false = answers.sample.part(is_false)
    both = Sample(
        np.concatenate([false.scores, _fact_scores(run, facts)]),
        np.concatenate([false.predicates, facts[:, 1]]),
        np.concatenate([false.true, np.ones(len(facts), dtype=bool)]),
        np.concatenate([false.weights, times.astype(float)]),  # the questions that it answers
    )
    pool = Pool(np.concatenate([answers.facts[is_false], facts]), both, {})
    chances, _ = fit_chances(graph, pool)
    return chances.probabilities(test.facts, test.sample.scores, graph.known("train"))


def _fact_scores(run: Run, facts: Ints) -> Floats:
    predicates = len(run.graph().predicates)
    scores = fact_scores(run.model(), torch.from_numpy(facts), predicates=predicates)
    return np.asarray(scores.double().numpy())


def _by_place(run: Run, found: Calibration) -> list[Record]:
    """What was said of first answers, of those up to the tenth, and of those beyond."""
    graph, model = run.graph(), run.model()
    seen, rows = KnownAnswers.of(graph.train[:0], predicates=len(graph.predicates)), []
    for first, last in zip((0, *BANDS), BANDS, strict=False):
        config = CalibrateConfig(k=last, questions=2000)
        pool = pool_of(graph, model, config, split="test")
        fresh = ~seen.contains(pool.facts)
        sample = pool.sample.part(fresh)
        said = found.probabilities(pool.facts[fresh], sample.scores, graph.known("train"))
        rows.append(
            {
                "from": first + 1,
                "to": last,
                "said": float(np.average(said, weights=sample.weights)),
                "true": float(np.average(sample.true, weights=sample.weights)),
                "brier": brier(said, sample.true, sample.weights),
            }
        )
        seen = KnownAnswers.of(pool.facts, predicates=len(graph.predicates))
    return rows


def _seconds(run: Run) -> dict[str, float]:
    """Of one processor, for a calibration and for one pass of validation; medians, alternately."""
    torch.set_num_threads(1)
    asked, model = asked_of(run.graph(), "valid", device=torch.device("cpu")), run.model()
    budget = CalibrateConfig().budget_mb * 2**20
    times: dict[str, list[float]] = {"calibrate": [], "validation": []}
    for _ in range(3):
        times["validation"].append(_timed(lambda: ranks(model, asked, budget=budget)))
        times["calibrate"].append(_timed(lambda: calibrate(run)))
    return {name: round(float(np.median(found)), 2) for name, found in times.items()}


def _timed(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def made() -> str:
    """The tables of the page, of all records that there are."""
    kept = records_in(RECORDS)
    given = [_measures(record, "given", "facts") for record in kept if record["given"]]
    answers = [_measures(record, "answers", "answers") for record in kept]
    parts = [
        "\n### With given false facts\n\nFitted on valid and the false facts of valid, judged once "
        "on test and the false facts of test.\n",
        *given,
        "### With the model's own answers\n\nFitted on the answers to the questions of valid, "
        "judged on those to the questions of test.\n",
        *answers,
        _places(kept),
        _times(kept),
    ]
    return "\n".join(parts)


def _measures(record: Record, which: str, things: str) -> str:
    part, config, mrr = record[which], record["config"], record["metrics"]["mrr"]
    first = part["test"][OURS]
    title = (
        f"{record['graph']['name']}, {config['model']}, rank {config['rank']} (validation MRR "
        f"{mrr:.3f}): {first['weight']:,.0f} {things}, {first['share_true']:.1%} of them true"
    )
    ways = {f"{OURS}, cross-validated on valid": part["valid"][OURS], **part["test"]}
    rows = [_way(name, way) for name, way in ways.items()]
    rows.append(
        ("always the share of true facts", "", "", f"{first['brier_of_share']:.4f}", "", "")
    )
    head = ("", "ECE", "by mass", "Brier", "less ours, 95 %", "log-loss")
    return "\n".join([f"**{title}**\n", *table(head, rows)])


def _way(name: str, way: Record) -> tuple[str, ...]:
    low, high = way.get("brier_less_ours", (0, 0))
    less = f"{low:.4f} to {high:.4f}" if high else ""
    ece, mass, brier, loss = (
        f"{way[measure]:.4f}" for measure in ("ece", "ece_by_mass", "brier", "log_loss")
    )
    return f"**{name}**" if name == OURS else name, ece, mass, brier, less, loss


def _places(kept: list[Record]) -> str:
    rows = []
    for record in kept:
        for row in record["answers"]["by_place"]:
            place = f"{row['from']} to {row['to']}" if row["to"] > row["from"] else row["to"]
            name = record["graph"]["name"]
            rows.append((name, place, f"{row['said']:.3f}", f"{row['true']:.3f}"))
    title = "**By the place of an answer**, questions of test\n"
    return "\n".join([title, *table(("graph", "place", "said", "true"), rows)])


def _times(kept: list[Record]) -> str:
    rows = []
    for record in kept:
        asked, seconds = record["answers"]["questions"], record["answers"]["seconds"]
        times = seconds["calibrate"] / seconds["validation"]
        shown = (f"{seconds[key]:.1f} s" for key in ("calibrate", "validation"))
        few = f"{asked['asked']:,} of {asked['of']:,}"
        rows.append((record["graph"]["name"], few, *shown, f"{times:.2f}"))
    title = "**Time** of one processor, against one pass of validation, which ranks all its facts\n"
    head = ("graph", "questions", "calibrate", "validation", "times")
    return "\n".join([title, *table(head, rows)])


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure the probabilities of a run.")
    parser.add_argument("run", nargs="?", type=Path)
    parser.add_argument("--negatives", type=Path, help="folder with files of false facts")
    options = parser.parse_args()
    if options.run is not None:
        record = measure(Run(options.run), options.negatives)
        write(RECORDS / f"{record['graph']['name']}.json", record)
    PART.write(made())


if __name__ == "__main__":
    main()
