"""The page is whole, stands alone, and shows what the records say."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

import trifact
from trifact.cli.reporting import write_report
from trifact.run import training
from trifact.run.options import TrainConfig
from trifact.run.pictures import Axis, Series, bar_chart, histogram, line_chart


class Balanced(HTMLParser):
    """Fails where a tag is not closed."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in {"meta", "line", "polyline", "circle"}:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in {"meta", "line", "polyline", "circle"}:
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
    assert page.count("<svg") == 6


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
