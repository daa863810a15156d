"""One self-contained page about one run or several: works offline, in light and in dark."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np

from trifact.graph.graph import Graph
from trifact.run.evaluation import Evaluation
from trifact.run.pictures import Series, bar_chart, histogram, legend, line_chart
from trifact.run.ranktable import SIDES
from trifact.run.run import Run

STYLE = Path(__file__).with_name("report.css")
MOST_PREDICATES = 20
MOST_FACTS = 12
RANK_BINS = (1, 2, 4, 11, 31, 101, 301, 1001)


@dataclass(frozen=True)
class Subject:
    """A run to report on: what it was, and its evaluation, where there are facts to test on."""

    run: Run
    graph: Graph
    evaluation: Evaluation | None

    @property
    def name(self) -> str:
        """What the page calls it."""
        return self.run.path.name


def page(subjects: Sequence[Subject]) -> str:
    """The whole page."""
    first, title = subjects[0], " · ".join(subject.name for subject in subjects)
    parts = [
        f"<h1>{escape(first.graph.name)}</h1><p>{escape(title)}</p>",
        "".join(_cards(subject, named=len(subjects) > 1) for subject in subjects),
        _section("How training went", _curves(subjects)),
    ]
    for subject in subjects:
        suffix = f": {subject.name}" if len(subjects) > 1 else ""
        if subject.evaluation is not None:
            parts.append(_section(f"Evaluation{suffix}", _evaluation(subject)))
        parts.append(_section(f"Settings and speed{suffix}", _settings(subject)))
    parts.append(_section("The graph", _graph(first.graph)))
    style = STYLE.read_text(encoding="utf-8")
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{style}</style></head>"
        f"<body>{''.join(parts)}</body></html>\n"
    )


def _section(title: str, body: str) -> str:
    return f"<h2>{escape(title)}</h2>{body}"


def _figure(title: str, chart: str) -> str:
    return f"<figure><h3>{escape(title)}</h3>{chart}</figure>" if chart else ""


def _table(header: Sequence[str], rows: Sequence[Sequence[str]], *, text: int = 1) -> str:
    """A table whose first `text` columns are text."""

    def cells(row: Sequence[str], tag: str) -> str:
        return "".join(
            f"<{tag}{' class=text' if i < text else ''}>{escape(cell)}</{tag}>"
            for i, cell in enumerate(row)
        )

    lines = "".join(f"<tr>{cells(row, 'td')}</tr>" for row in rows)
    return f'<div class="scroll"><table><tr>{cells(header, "th")}</tr>{lines}</table></div>'


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
    facts.append((_time(sum(epoch.seconds for epoch in history)), f"{len(history)} epochs"))
    cards = "".join(f'<div class="card"><b>{b}</b><span>{s}</span></div>' for b, s in facts)
    name = f"<h3>{escape(subject.name)}</h3>" if named else ""
    return f'{name}<div class="cards">{cards}</div>'


def _interval(metrics: dict[str, dict[str, list[float]]]) -> str:
    if "interval" not in metrics:
        return ""
    low, high = metrics["interval"]["mrr"]
    return f" ({low:.3f} to {high:.3f})"


def _time(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"


def _curves(subjects: Sequence[Subject]) -> str:
    """Loss and validation MRR, by epoch and by time."""
    loss, by_epoch, by_time = list[Series](), list[Series](), list[Series]()
    for subject in subjects:
        history = subject.run.history
        minutes = [s / 60 for s in accumulate(epoch.seconds for epoch in history)]
        loss.append(Series(subject.name, [(e.epoch, e.loss) for e in history]))
        valid = [(e.epoch, t, e.mrr) for e, t in zip(history, minutes, strict=True) if e.mrr]
        by_epoch.append(Series(subject.name, [(epoch, mrr) for epoch, _, mrr in valid]))
        by_time.append(Series(subject.name, [(t, mrr) for _, t, mrr in valid]))
    charts = [
        _figure("Loss", line_chart(loss, x="epoch", y="mean loss of a fact")),
        _figure("Validation MRR by epoch", line_chart(by_epoch, x="epoch", y="MRR")),
        _figure("Validation MRR by time", line_chart(by_time, x="minutes of training", y="MRR")),
    ]
    names = legend([subject.name for subject in subjects])
    return f'{names}<div class="charts">{"".join(charts)}</div>'


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
    charts = [
        _figure("MRR by kind of predicate", bar_chart(categories, unit="MRR")),
        _figure("Ranks", histogram(_rank_counts(subject.evaluation), x="filtered rank")),
        _figure(
            "MRR of the predicates with most test facts",
            bar_chart(predicates, unit="MRR"),
        ),
    ]
    tables = _metrics_table(found) + f'<div class="charts">{"".join(charts)}</div>'
    return f"<p>{escape(about)}</p>{tables}{_notable_facts(subject)}"


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
    return _table(["", "queries", *(name.upper() for name in names)], cells)


def _number(value: float) -> str:
    return f"{value:.4f}" if value <= 1 else f"{value:,.1f}"


def _rank_counts(evaluation: Evaluation) -> list[tuple[str, int]]:
    edges = [*RANK_BINS, np.inf]
    counts, _ = np.histogram(evaluation.ranks.filtered.realistic, bins=edges)
    labels = [f"{low}-{high - 1:g}" for low, high in zip(RANK_BINS[1:], edges[2:], strict=True)]
    labels[-1] = f">{RANK_BINS[-1] - 1}"
    return list(zip(["1", *labels], counts.tolist(), strict=True))


def _notable_facts(subject: Subject) -> str:
    """The facts that the model would never have doubted, and those it would never have found."""
    assert subject.evaluation is not None
    table = subject.evaluation.ranks
    worst = table.filtered.realistic.mean(axis=1)
    order = np.argsort(worst, kind="stable")
    shown = {"Hardest": order[::-1][:MOST_FACTS], "Easiest": order[:MOST_FACTS]}
    parts = []
    for title, chosen in shown.items():
        rows = [
            [
                *_named(subject.graph, table.facts[i]),
                *(f"{r:g}" for r in table.filtered.realistic[i]),
            ]
            for i in chosen
        ]
        header = ["subject", "predicate", "object", "rank of object", "rank of subject"]
        parts.append(f"<h3>{title} test facts</h3>{_table(header, rows, text=3)}")
    return "".join(parts)


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
    tables = f"{_table(['setting', 'value'], settings)}{_table(['speed and machine', ''], speed)}"
    return f'<div class="charts">{tables}</div>'


def _graph(graph: Graph) -> str:
    rows = [["entities", f"{len(graph.entities):,}"], ["predicates", f"{len(graph.predicates):,}"]]
    rows += [[split, f"{len(facts):,}"] for split, facts in graph.splits.items()]
    rows.append(["content hash", graph.content_hash[:16]])
    notes = "".join(f"<p>{escape(note)}</p>" for note in graph.notes)
    return _table(["", ""], rows) + notes
