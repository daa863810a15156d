"""The page is whole, stands alone, and shows what the records say."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

import trifact
from trifact.cli.reporting import write_report
from trifact.errors import OutputError
from trifact.graph.description import describe
from trifact.graph.leakage import leakage_of
from trifact.run import training
from trifact.run.options import TrainConfig
from trifact.run.pictures import (
    BOTTOM,
    HEIGHT,
    LEFT,
    RIGHT,
    TOP,
    WIDTH,
    Axis,
    Series,
    bar_chart,
    histogram,
    line_chart,
)
from trifact.run.portrait import portrait
from trifact.run.report import _by_rank

VOID = {"meta", "line", "polyline", "circle", "wbr"}


class Balanced(HTMLParser):
    """Fails where a tag is not closed."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self.open.pop() == tag


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    facts = [(f"<n{i}>", "next & on", f"<n{(i + 1) % 30}>") for i in range(30)]
    facts += [(f"<n{i}>", "parity", str(i % 2)) for i in range(30)]
    graph = trifact.load(facts, valid=0.1, test=0.1)
    config = TrainConfig(rank=4, epochs=4, validate_every=1, batch=20, precision="float32")
    folder = tmp_path_factory.mktemp("runs")
    made = [
        training.train(graph, config.replace(model=model), out=folder / model)
        for model in ("cp", "complex")
    ]
    return [run.path for run in made]


def test_one_run_gets_a_page_with_everything_in_it(runs: list[Path]) -> None:
    write_report(runs[:1], None)
    page = (runs[0] / "report.html").read_text(encoding="utf-8")
    found = trifact.load_run(runs[0]).metrics
    assert f"{found['mrr']:.4f}" in page
    assert f"{found['test']['mrr']:.4f}" in page
    for part in ("How training went", "Evaluation", "Hardest test facts", "Settings and speed"):
        assert part in page
    assert page.count("<svg") == 10


def test_the_graph_is_shown_as_it_is_described(runs: list[Path], tmp_path: Path) -> None:
    write_report(runs, tmp_path / "both.html")
    page = (tmp_path / "both.html").read_text(encoding="utf-8")
    part = page[page.index("<h2>The graph</h2>") :]
    found = describe(trifact.load_run(runs[0]).graph())
    assert page.count("<h2>The graph") == 1  # both runs are of one graph
    for row in found.predicates:
        cells = [f"{n:,}" for n in (row.facts, row.subjects, row.objects)]
        cells += [f"{row.out_degree:.1f}", f"{row.in_degree:.1f}", row.category]
        assert "".join(f"<td>{cell}</td>" for cell in cells) in part
    for degrees, entities in found.by_degree:
        assert f"<title>{degrees.start}: {entities}</title>" in part
    for kind, (_, facts) in found.by_category.items():
        assert f"<title>{kind}: {facts}</title>" in part
    assert f"<td>{found.distinct_queries:,}</td>" in part


def test_what_gives_test_facts_away_is_shown() -> None:
    pairs = [(f"p{i}", f"c{i}") for i in range(20)]
    facts = [(a, "parent of", b) for a, b in pairs] + [(b, "child of", a) for a, b in pairs]
    facts += [(a, "knows", b) for a, b in pairs] + [(b, "knows", a) for a, b in pairs]
    graph = trifact.load(facts, valid=0.1, test=0.2)
    found, shown, tests = leakage_of(graph), portrait(graph), len(graph.test)
    assert found.test_facts_given_away and found.test_facts_reversed
    assert f"They give away {found.test_facts_given_away} of {tests} test facts" in shown
    assert f"train has {found.test_facts_reversed} of {tests} test facts" in shown
    assert re.search(r"child of</td><td class=.text.>inverse of</td>.*parent of", shown)
    assert '<td class="text">knows</td>' in shown[shown.index("symmetric predicate") :]


def test_a_graph_without_held_out_facts_has_a_portrait() -> None:
    shown = portrait(trifact.load([("a", "p", "b")], valid=0.0, test=0.0))
    assert "They give away 0 of 0 test facts." in shown
    assert '<td class="text">train</td><td>1</td><td>0</td>' in shown


def test_the_easiest_facts_are_of_many_predicates() -> None:
    ranks, predicates = np.array([1.0, 1, 1, 2, 1]), np.array([5, 5, 5, 5, 2])
    assert _by_rank(ranks, predicates).tolist() == [0, 4, 1, 2, 3]


def test_a_file_of_somebody_else_is_not_replaced_by_a_page(
    runs: list[Path], tmp_path: Path
) -> None:
    (tmp_path / "mine.html").write_text("precious")
    with pytest.raises(OutputError, match="it exists already; say overwrite=True"):
        write_report(runs, tmp_path / "mine.html")
    assert (tmp_path / "mine.html").read_text() == "precious"
    write_report(runs, tmp_path / "mine.html", overwrite=True)
    assert (tmp_path / "mine.html").read_text() != "precious"


def test_the_page_needs_nothing_from_elsewhere(runs: list[Path], tmp_path: Path) -> None:
    write_report(runs, tmp_path / "both.html")
    page = (tmp_path / "both.html").read_text(encoding="utf-8")
    assert not re.search(r"(?:src|href)\s*=|url\(|@import|<script", page)
    assert "prefers-color-scheme: dark" in page
    assert "width=device-width" in page


def test_tags_are_closed_and_names_escaped(runs: list[Path], tmp_path: Path) -> None:
    write_report(runs, tmp_path / "both.html")
    page = (tmp_path / "both.html").read_text(encoding="utf-8")
    parser = Balanced()
    parser.feed(page)
    assert not parser.open
    assert "&lt;n1&gt;" in page or "&lt;n2&gt;" in page
    assert "<n1>" not in page
    assert "next &amp; on" in page


@pytest.mark.parametrize(("low", "high"), [(0, 1), (0.31, 0.36), (-5, 2000), (1e-9, 2e-9)])
def test_an_axis_has_a_few_round_ticks_within_it(low: float, high: float) -> None:
    axis = Axis.over([low, high], 0, 100)
    ticks = axis.ticks()
    assert 2 <= len(ticks) <= 7
    assert all(low <= tick <= high for tick in ticks)
    assert (axis(low), axis(high)) == (0, 100)


def test_charts_of_nothing_are_nothing_and_of_one_point_are_drawn() -> None:
    assert line_chart([Series("none", [])], x="x", y="y") == ""
    assert bar_chart([], unit="x") == ""
    assert histogram([], x="x") == ""
    assert "<circle" in line_chart([Series("one", [(1, 2.0)])], x="x", y="y")


def test_a_line_to_compare_with_widens_the_axes_and_is_no_chart_of_its_own() -> None:
    diagonal = [(0.0, 0.0), (1.0, 1.0)]
    dots = Series("found", [(0.2, 0.3), (0.4, 0.5)], dots=True)
    shown = line_chart([dots], x="predicted", y="observed", reference=diagonal)
    assert shown.count("<circle") == 2
    line = f"{LEFT:.1f},{HEIGHT - BOTTOM:.1f} {WIDTH - RIGHT:.1f},{TOP:.1f}"
    assert f'<polyline class="reference" points="{line}"/>' in shown
    assert line_chart([Series("none", [])], x="x", y="y", reference=diagonal) == ""


def test_ticks_of_whole_numbers_are_whole() -> None:
    assert Axis.over([3, 4], 0, 100).ticks() == [3, 4]
    assert Axis.over([3.0, 4.5], 0, 100).ticks() != [3, 4]


@pytest.mark.parametrize("bins", [3, 40])
def test_a_histogram_of_many_bins_names_some(bins: int) -> None:
    shown = histogram([(f"{2**i}", i) for i in range(bins)], x="x")
    assert shown.count("<rect") == bins
    assert shown.count('class="tick"') == (3 if bins == 3 else 4)
