"""What discovery finds of the facts that were held out, against guessing; records, page, figure.

python -m scripts.check_discovery RUN [RUN ...]     count, keep in results/discovery/, then the page
python -m scripts.check_discovery --page            only the page and the figure

A run without a calibration gets one. Lists leave out what was trained on and nothing else.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from scripts.pages import Part, table
from scripts.records import ROOT, records_in
from trifact.answer.calibration import calibrate, read_calibration
from trifact.answer.expectation import held_out, joined_in_train, lengths
from trifact.answer.leftout import LeftOut
from trifact.answer.options import DiscoverConfig
from trifact.answer.ordering import ByChance, ByScore, Order
from trifact.answer.pairs import Pairs
from trifact.answer.roles import likely, pairs_of
from trifact.answer.shortlist import Found, Shortlist
from trifact.answer.sweep import Sweep
from trifact.durable import replacing
from trifact.graph.graph import Graph
from trifact.graph.known import Ints
from trifact.paper.archive import Record, commit, write
from trifact.run import machine
from trifact.run.candidates import observed
from trifact.run.run import Run

RECORDS = ROOT / "results" / "discovery"
PART = Part("discovery.md", "check_discovery")
FIGURE = ROOT / "docs" / "discovery.png"
LONGEST, BUDGET = 100_000, 256 * 2**20
SHARES = (None, 0.9, 0.75, 0.5, 0.25)
SHOWN = (100, 1_000, 10_000, 100_000)
MORE = (("found_in_test", 10_000), ("joined", 1_000), ("predicates", 1_000))
LISTS = {
    "probability": "by probability",
    "answers": "by the probability of an answer",
    "score": "by score",
    "seconds": "by probability, second answers too",
    "observed": "the same, `--among observed`",
    "degrees": "degrees",
    "popular": "popular objects",
    "random": "random (expected)",
}
Guess = Callable[[Ints, Ints], NDArray[np.float64]]


def check(path: Path) -> Record:
    """The record of one run."""
    run, graph = Run(path), Run(path).graph()
    calibration = read_calibration(run)
    if calibration is None or "chances" not in calibration.record:
        calibration = calibrate(run)
    assert calibration.pairs is not None
    pairs, order = pairs_of(graph), ByChance(calibration.pairs, graph.known("train"))
    swept = _swept(run, graph, pairs, order)
    found = {
        "probability": swept.news.best(),
        "answers": _reordered(
            run, graph, swept, replace(order, chances=calibration.answers)
        ).news.best(),
        "score": _reordered(run, graph, swept, ByScore()).news.best(),
        "seconds": _swept(run, graph, _pairs(graph, DiscoverConfig.holders), order).news.best(),
        "observed": _swept(run, graph, _pairs(graph, None), order).news.best(),
        "degrees": _guessed(graph, pairs, _degrees),
        "popular": _guessed(graph, pairs, _popular),
    }
    held, epochs = held_out(graph, pairs.chosen), run.best_epoch
    reachable = int(pairs.contains(held).sum())
    density = reachable / _unknown(graph, pairs)
    return {
        "graph": graph.name,
        "commit": commit(),
        "machine": machine.describe(),
        "run": {"model": run.config.model, "rank": run.config.rank, "epochs": epochs,
                "mrr": run.metrics["mrr"]},
        "train": len(graph.train),
        "held_out": len(held),
        "held_out_joined": int(joined_in_train(graph, held).sum()),
        "queries": len(swept.entities),
        "pairs": pairs.count(),
        "reachable": reachable,
        "candidates": [_reach(graph, share) for share in SHARES],
        "n": lengths(LONGEST),
        "lists": {**{name: _counts(graph, those) for name, those in found.items()},
                  "random": {"found": [round(n * density, 3) for n in lengths(LONGEST)]}},
    }  # fmt: skip


def _pairs(graph: Graph, share: float | None) -> Pairs:
    """By roles, at some share, with second answers; None: only those observed."""
    candidates = observed(graph) if share is None else likely(graph, share)
    return Pairs(candidates, np.arange(len(graph.predicates)), len(graph.predicates))


def _swept(run: Run, graph: Graph, pairs: Pairs, order: Order) -> Sweep:
    """The list that leaves out train alone."""
    sweep = _sweep(run, graph, pairs, order)
    sweep.run(lambda step: None)
    return sweep


def _reordered(run: Run, graph: Graph, done: Sweep, order: Order) -> Sweep:
    """The same in another order, with the normalizers that are known already."""
    sweep = _sweep(run, graph, done.pairs, order)
    sweep.log_z.copy_(done.log_z)
    blocks = sweep.work.blocks(len(sweep.entities), sweep.model.table("object"))
    sweep.done = sum(1 for _ in blocks)
    sweep.run(lambda step: None)
    return sweep


def _sweep(run: Run, graph: Graph, pairs: Pairs, order: Order) -> Sweep:
    news, left_out = Shortlist(LONGEST), LeftOut.of(graph, ("train",))
    return Sweep(run.model(), pairs, left_out, order=order, news=news, budget=BUDGET)


def _degrees(subjects: Ints, objects: Ints) -> NDArray[np.float64]:
    """How often train has the subject with the predicate, times how often the object."""
    return np.outer(subjects, objects).astype(np.float64)


def _popular(subjects: Ints, objects: Ints) -> NDArray[np.float64]:
    """The share of the predicate's facts that have the object, whatever the subject."""
    return np.outer(np.ones(len(subjects)), objects / max(1, int(objects.sum())))


def _guessed(graph: Graph, pairs: Pairs, guess: Guess) -> Found:
    """The best pairs by what counts alone say; ties in the order of the ids."""
    found, left_out = Shortlist(LONGEST), LeftOut.of(graph, ("train",))
    for predicate in pairs.chosen.tolist():
        its, size = graph.train[graph.train[:, 1] == predicate], len(graph.entities)
        as_subject, as_object = (np.bincount(its[:, i], minlength=size) for i in (0, 2))
        for subjects, objects in _pieces(pairs, predicate):
            scores = guess(as_subject[subjects], as_object[objects])
            scores[left_out.mask(predicate, subjects, objects)] = -1
            s, o = np.nonzero(scores >= max(0.0, found.floor))
            facts = np.stack([subjects[s], np.full_like(s, predicate), objects[o]], axis=1)
            found.add(Found(facts, scores[s, o], scores[s, o]))
    return found.best()


def _unknown(graph: Graph, pairs: Pairs) -> int:
    """The pairs from which a list can choose: neither known nor self-loops."""
    left_out = LeftOut.of(graph, ("train",))
    return sum(
        int((~left_out.mask(predicate, *piece)).sum())
        for predicate in pairs.chosen.tolist()
        for piece in _pieces(pairs, predicate)
    )


def _pieces(pairs: Pairs, predicate: int) -> Iterator[tuple[Ints, Ints]]:
    """The pairs of a predicate, a million at a time: some subjects, all objects."""
    subjects, objects = pairs.subjects(predicate), pairs.objects(predicate)
    rows = max(1, 2**20 // max(1, len(objects)))
    for start in range(0, len(subjects), rows):
        yield subjects[start : start + rows], objects


def _counts(graph: Graph, found: Found) -> dict[str, list[int]]:
    """Held-out facts among the first n, those of test, pairs that train joins, predicates."""
    marks = {
        "found": graph.known("valid", "test").contains(found.facts),
        "found_in_test": graph.known("test").contains(found.facts),
        "joined": joined_in_train(graph, found.facts),
    }
    counts = {name: [int(mark[:n].sum()) for n in lengths(LONGEST)] for name, mark in marks.items()}
    predicates = found.facts[:, 1]
    counts["predicates"] = [len(np.unique(predicates[:n])) for n in lengths(LONGEST)]
    return counts


def _reach(graph: Graph, share: float | None) -> Record:
    """What candidates by roles cost and hold, at another share; second answers too."""
    pairs = _pairs(graph, share)
    held = held_out(graph, pairs.chosen)
    return {"share": share, "queries": len(pairs.queries()[0]), "pairs": pairs.count(),
            "reachable": int(pairs.contains(held).sum())}  # fmt: skip


def records() -> list[Record]:
    """Those that are kept, small graphs first."""
    return sorted(records_in(RECORDS), key=lambda record: int(record["train"]))


def made() -> str:
    """The tables of the page."""
    kept = records()
    return "\n".join([*_sizes(kept), *_found(kept), *_candidates(kept)])


def _sizes(kept: list[Record]) -> list[str]:
    sizes = {
        "trained on": "train",
        "held out": "held_out",
        "joined in train": "held_out_joined",
        "among the pairs": "reachable",
        "pairs": "pairs",
    }
    rows = []
    for r in kept:
        model = "{model}, rank {rank}, {epochs} epochs".format(**r["run"])
        counts = (f"{r[key]:,}" for key in sizes.values())
        rows.append((r["graph"], *counts, model, f"{r['run']['mrr']:.3f}"))
    return table(("graph", *sizes, "model", "validation MRR"), rows)


def _found(kept: list[Record]) -> list[str]:
    firsts = (f"first {n:,}" for n in SHOWN)
    more = ("in test, of first 10,000", "joined, of first 1,000", "predicates, in first 1,000")
    rows = []
    for r in kept:
        for name, shown in LISTS.items():
            counts, at = r["lists"][name], r["n"].index
            cells = [_cell(counts["found"][at(n)]) for n in SHOWN]
            cells += [_cell(counts[key][at(n)]) if key in counts else "" for key, n in MORE]
            rows.append((r["graph"], shown, *cells))
    return table(("graph", "list", *firsts, *more), rows)


def _cell(number: float) -> str:
    return f"{number:,}" if isinstance(number, int) else f"{number:,.1f}"


def _candidates(kept: list[Record]) -> list[str]:
    rows = []
    for r in kept:
        for row in r["candidates"]:
            share = "observed only" if row["share"] is None else f"{row['share']:g}"
            bold = "**" if row["share"] == DiscoverConfig.holders else ""
            reach = f"{bold}{100 * row['reachable'] / r['held_out']:.1f} %{bold}"
            counts = (f"{row[key]:,}" for key in ("queries", "pairs"))
            rows.append((r["graph"], f"{bold}{share}{bold}", *counts, reach))
    head = ("graph", "share of holders", "queries", "pairs", "held-out facts among them")
    title = "By the share of holders, second answers included (`--no-single`):"
    return [title, "", *table(head, rows)]


def draw() -> None:
    """Held-out facts found, by the length of the list, one panel a graph."""
    from matplotlib.figure import Figure

    kept = records()
    figure = Figure(figsize=(4 * len(kept), 4), layout="constrained")
    styles = {"probability": ("C0", "-"), "answers": ("C0", "--"), "degrees": ("C1", "-"),
              "popular": ("C2", "-"), "random": ("0.5", ":")}  # fmt: skip
    for axes, record in zip(figure.subplots(1, len(kept), squeeze=False)[0], kept, strict=True):
        n = np.array(record["n"])
        for name, (colour, line) in styles.items():
            found = np.array(record["lists"][name]["found"], dtype=float)
            some = found > 0
            axes.plot(n[some], found[some], line, color=colour, label=LISTS[name])
        most = [n[0], min(record["held_out"], n[-1]), n[-1]]
        bound = np.minimum(most, record["held_out"])
        axes.plot(most, bound, color="0.85", zorder=0, label="as many as there can be")
        axes.set(xscale="log", yscale="log", title=record["graph"], xlabel="length of the list")
        axes.set_ylim(0.5, 1.5 * record["held_out"])
        axes.spines[["top", "right"]].set_visible(False)
    figure.axes[0].set_ylabel("held-out facts in it")
    handles, labels = figure.axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), frameon=False)
    with replacing(FIGURE) as part:
        figure.savefig(part, format="png", dpi=130)


def main() -> None:
    parser = argparse.ArgumentParser(description="What discovery finds of held-out facts.")
    parser.add_argument("runs", nargs="*", type=Path)
    parser.add_argument("--page", action="store_true", help="only make the page and the figure")
    options = parser.parse_args()
    for path in [] if options.page else options.runs:
        record = check(path)
        write(RECORDS / f"{record['graph']}.json", record)
        print(f"{record['graph']}: {record['lists']['probability']['found']}", flush=True)
    PART.write(made())
    draw()


if __name__ == "__main__":
    main()
