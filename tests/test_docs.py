"""The docs are true: generated pages are current, and their examples run."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest
from PIL import Image
from scripts import benchmarks, make_cli_docs, quality

ROOT = Path(__file__).parents[1]
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
CODE = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
CHECKS = sorted(path.stem for path in (ROOT / "scripts").glob("check_*.py"))
LINK = re.compile(r"\]\((?!https?:|#)([^)#]+)")


def test_the_page_of_commands_is_current() -> None:
    page = make_cli_docs.PAGE.read_text(encoding="utf-8")
    assert page == make_cli_docs.page(), "run `make docs`"


def test_the_page_of_performance_is_that_of_the_records() -> None:
    page = benchmarks.PAGE.read_text(encoding="utf-8")
    assert page == benchmarks.page(), "run `python -m scripts.benchmarks --page`"


@pytest.mark.parametrize("name", CHECKS)
def test_the_part_of_a_page_that_a_script_makes_is_that_of_its_records(name: str) -> None:
    script = importlib.import_module(f"scripts.{name}")
    page = script.PART.path.read_text(encoding="utf-8")
    assert page == script.PART.around(script.made()), f"scripts/{name}.py says how to make it anew"
    assert "| ---" in script.made()


def test_the_figure_of_quality_is_that_of_the_records() -> None:
    with Image.open(quality.PICTURE) as picture:
        found = picture.info["Curves"]
    expected = quality.digest(quality.drawn(quality.curves()))
    assert found == expected, "run `python -m scripts.quality`"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_python_examples_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": "__main__"}  # as a script
    for example in CODE.findall(page.read_text(encoding="utf-8")):
        exec(compile(example, str(page), "exec"), names)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_within_the_docs_lead_somewhere(page: Path) -> None:
    for target in LINK.findall(page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), f"{page.name} links to {target}"
