"""One self-contained page about one run or several: works offline, in light and in dark."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from itertools import accumulate
from typing import Any

import numpy as np

from trifact.graph.graph import Graph
from trifact.graph.known import Ints, place_among_equals
from trifact.run.durations import shown
from trifact.run.evaluation import Evaluation
from trifact.run.history import Epoch
from trifact.run.markup import cards, document, figure, paragraph, section, side_by_side, table
from trifact.run.pictures import Series, bar_chart, histogram, legend, line_chart
from trifact.run.portrait import portrait
from trifact.run.ranktable import SIDES, Floats
from trifact.run.reliability import reliability
from trifact.run.run import Run

MOST_PREDICATES = 20
MOST_FACTS = 12
RANK_BINS = (1, 3, 10, 30, 100, 300, 1000)  # the last rank of each


@dataclass(frozen=True)
class Subject:
    """A run to report on: what it was, and its evaluation, where there are facts to test on."""

    name: str
    run: Run
    graph: Graph
    evaluation: Evaluation | None


def page(subjects: Sequence[Subject]) -> str:
    """The whole page."""
    title = " · ".join(subject.name for subject in subjects)
    graphs = {subject.graph.content_hash: subject.graph for subject in subjects}
    parts = [
        f"<h1>{escape(' · '.join(graph.name for graph in graphs.values()))}</h1>",
        paragraph(title),
        "".join(_cards(subject, named=len(subjects) > 1) for subject in subjects),
        section("How training went", _curves(subjects)),
    ]
    for subject in subjects:
        suffix = f": {subject.name}" if len(subjects) > 1 else ""
        if subject.evaluation is not None:
            parts.append(section(f"Evaluation{suffix}", _evaluation(subject)))
        if probabilities := reliability(subject.run):
            parts.append(section(f"Probabilities{suffix}", probabilities))
        parts.append(section(f"Settings and speed{suffix}", _settings(subject)))
    for graph in graphs.values():
        suffix = f": {graph.name}" if len(graphs) > 1 else ""
        parts.append(section(f"The graph{suffix}", portrait(graph)))
    return document(title, *parts)


def _cards(subject: Subject, *, named: bool) -> str:
    config, history = subject.run.config, subject.run.history
    facts = [(config.model, "model"), (f"{config.rank:,}", "rank")]
    best = subject.run.metrics
    if best["mrr"] is not None:
        facts.append((f"{best['mrr']:.4f}", f"validation MRR, epoch {best['epoch']}"))
    if subject.evaluation is not None:
        overall = subject.evaluation.metrics["filtered"]["overall"]
        facts.append((f"{overall['mrr']:.4f}", f"test MRR{_interval(overall)}"))
        facts += [(f"{overall[key]:.3f}", f"test {key}") for key in overall if key == "hits@10"]
    facts.append((shown(sum(epoch.seconds for epoch in history)), f"{len(history)} epochs"))
    name = f"<h3>{escape(subject.name)}</h3>" if named else ""
    return name + cards(facts)


def _interval(metrics: dict[str, dict[str, list[float]]]) -> str:
    if "interval" not in metrics:
        return ""
    low, high = metrics["interval"]["mrr"]
    return f" ({low:.3f} to {high:.3f})"


def _curves(subjects: Sequence[Subject]) -> str:
    """Loss and validation MRR, by epoch and by time."""
    histories = [(subject.name, subject.run.history) for subject in subjects]
    longest = max(sum(epoch.seconds for epoch in history) for _, history in histories)
    unit, length = ("seconds", 1.0) if longest < 120 else ("minutes", 60.0)
    charts = []
    for what, y, field in (
        ("Loss", "mean loss of an example", "loss"),
        ("Validation MRR", "MRR", "mrr"),
    ):
        by_epoch = [Series(name, _points(history, field)) for name, history in histories]
        by_time = [Series(name, _points(history, field, length)) for name, history in histories]
        charts.append(figure(f"{what} by epoch", line_chart(by_epoch, x="epoch", y=y)))
        charts.append(figure(f"{what} by time", line_chart(by_time, x=f"{unit} of training", y=y)))
    settings = {subject.run.config.setting for subject in subjects}
    both = "In the standard setting an example has two losses, so its curve lies higher."
    note = paragraph(both) if len(settings) > 1 else ""
    return legend([name for name, _ in histories]) + note + side_by_side(*charts)


def _points(history: list[Epoch], field: str, length: float = 0) -> list[tuple[float, float]]:
    """A field of the epochs where it is known, by epoch or (with the length of a unit) by time."""
    times = accumulate(epoch.seconds for epoch in history)
    places = [s / length for s in times] if length else [epoch.epoch for epoch in history]
    values = (getattr(epoch, field) for epoch in history)
    return [(x, y) for x, y in zip(places, values, strict=True) if y is not None]


def _evaluation(subject: Subject) -> str:
    assert subject.evaluation is not None
    record = subject.evaluation.metrics
    found = record["filtered"]
    filtered = ", ".join(record["protocol"]["filter"])
    about = f"Test facts, ranked among {record['protocol']['candidates']} candidates, "
    about += f"filtered by {filtered}; ties {record['protocol']['ties']}."
    categories = [(name, part["mrr"]) for name, part in found["by_category"].items()]
    by_size = sorted(found["by_predicate"], key=lambda row: -row["both"]["queries"])
    predicates = [(row["label"], row["both"]["mrr"]) for row in by_size[:MOST_PREDICATES]]
    largest = "MRR of the predicates with most test facts"
    charts = [
        figure("Ranks", histogram(_rank_counts(subject.evaluation), x="filtered rank, up to")),
        figure(largest, bar_chart(predicates, unit="MRR"), tall=True),
        figure("MRR by kind of predicate", bar_chart(categories, unit="MRR")),
    ]
    tables = _metrics_table(found) + side_by_side(*charts)
    return paragraph(about) + tables + _notable_facts(subject)


def _metrics_table(found: dict[str, Any]) -> str:
    rows: dict[str, dict[str, float]] = {"overall": found["overall"]}
    rows |= {f"towards {side}s": found["by_side"][side] for side in SIDES}
    rows |= found["by_category"]
    rows |= {f"facts with {key} names": found[key] for key in ("seen", "unseen") if key in found}
    names = [name for name in found["overall"] if name in ("mrr", "mr") or "hits@" in name]
    cells = [
        [label, f"{part['queries']:,}", *(_number(part[name]) for name in names)]
        for label, part in rows.items()
    ]
    titles = (name.upper() if name in ("mrr", "mr") else name.title() for name in names)
    return table(["", "queries", *titles], cells)


def _number(value: float) -> str:
    return f"{value:.4f}" if value <= 1 else f"{value:,.1f}"


def _rank_counts(evaluation: Evaluation) -> list[tuple[str, int]]:
    """Queries by rank, each bin under the largest rank in it."""
    edges = [0.5, *(last + 0.5 for last in RANK_BINS), np.inf]
    counts, _ = np.histogram(evaluation.ranks.filtered.realistic, bins=edges)
    return list(zip([*(f"{last:,}" for last in RANK_BINS), "more"], counts.tolist(), strict=True))


def _notable_facts(subject: Subject) -> str:
    """The facts that the model would never have doubted, and those it would never have found."""
    assert subject.evaluation is not None
    ranks = subject.evaluation.ranks
    both = ranks.filtered.realistic  # (n, 2)
    order = _by_rank(both.mean(axis=1), ranks.facts[:, 1])
    header = ["subject", "predicate", "object", "rank of object", "rank of subject"]
    parts = []
    for title, chosen in (("Hardest", order[::-1][:MOST_FACTS]), ("Easiest", order[:MOST_FACTS])):
        rows = [
            [*_named(subject.graph, ranks.facts[i]), *(f"{rank:,g}" for rank in both[i])]
            for i in chosen
        ]
        parts.append(f"<h3>{title} test facts</h3>{table(header, rows, text=3)}")
    return "".join(parts)


def _by_rank(ranks: Floats, predicates: Ints) -> Ints:
    """The order of facts by rank; among equals, of every predicate one before a second of any."""
    return np.lexsort((place_among_equals(predicates), ranks))


def _named(graph: Graph, fact: Sequence[int]) -> list[str]:
    subject, predicate, obj = (int(part) for part in fact)
    names = graph.entity_label(subject), graph.predicate_label(predicate), graph.entity_label(obj)
    return list(names)


def _settings(subject: Subject) -> str:
    run, history = subject.run, subject.run.history
    speed = [
        ["seconds an epoch (median)", f"{np.median([e.seconds for e in history] or [0]):.2f}"],
        ["queries a second", f"{np.median([e.queries_per_second for e in history] or [0]):,.0f}"],
        ["share of the products", f"{np.median([e.matmul_share for e in history] or [0]):.0%}"],
        *([key, str(value)] for key, value in run.machine.items()),
    ]
    settings = [[key, str(value)] for key, value in vars(run.config).items() if value is not None]
    speeds = table(["speed and machine", ""], speed)
    return side_by_side(table(["setting", "value"], settings), speeds)
