"""What a search found can be used at once, and its page made anew."""

from __future__ import annotations

from pathlib import Path

import pytest

import trifact
from trifact.cli.reporting import write_report
from trifact.errors import ConfigError, RunError
from trifact.trials.found import Found

SPACE = {
    "lr": [0.1, 1e-9],
    "rank": 4,
    "batch": 20,
    "epochs": 2,
    "validate_every": 1,
    "precision": "float32",
    "search": {"prune": False, "workers": 2},
}


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Found[trifact.Run]:
    facts = [(f"n{i}", "next", f"n{(i + 1) % 12}") for i in range(12)]
    facts += [(f"n{i}", "parity", str(i % 2)) for i in range(12)]
    graph = trifact.load(facts, valid=0.2, test=0.0)
    return trifact.search(graph, SPACE, out=tmp_path_factory.mktemp("found") / "s", workers=1)


def test_the_best_is_a_run_that_can_be_asked(found: Found[trifact.Run]) -> None:
    assert isinstance(found.best, trifact.Run)
    best, other = found.trials
    assert found.best.metrics["mrr"] == best.mrr
    assert (best.mrr or 0) >= (other.mrr or 0)
    assert found.best.config.lr == best.settings["lr"]
    assert len(found.best.predictor().objects("n1", "next", k=3)) == 3
    assert [row["trial"] for row in found.rows()] == [best.number, other.number]
    assert {row["lr"] for row in found.rows()} == {0.1, 1e-9}
    where = f"{found.path}: 2 of 2 trials done, the best is {found.best.path.name}"
    assert repr(found) == f"Found({where})"


def test_its_page_is_made_anew(found: Found[trifact.Run], tmp_path: Path) -> None:
    page = found.path / "report.html"
    before = page.read_text(encoding="utf-8")
    page.unlink()
    write_report([found.path], None)
    assert page.read_text(encoding="utf-8") == before
    write_report([found.path], tmp_path / "elsewhere.html")
    assert (tmp_path / "elsewhere.html").read_text(encoding="utf-8") == before


def test_what_has_no_page_is_refused(found: Found[trifact.Run], tmp_path: Path) -> None:
    with pytest.raises(RunError, match=r"neither a run \(no config\.toml\) nor a search"):
        write_report([tmp_path], None)
    with pytest.raises(ConfigError, match="this is a search; its page is about nothing else"):
        write_report([found.path / "trial-0000", found.path], None)
    assert not list(tmp_path.iterdir())


def test_settings_of_training_fix_those_of_the_space(tmp_path: Path) -> None:
    facts = [(f"n{i}", "next", f"n{(i + 1) % 12}") for i in range(12)]
    graph = trifact.load(facts, valid=0.2, test=0.0)
    found = trifact.search(graph, SPACE, out=tmp_path / "s", rank=2, epochs=1, workers=1)
    assert sorted(row["lr"] for row in found.rows()) == [1e-9, 0.1]
    assert found.best is not None
    assert found.best.config.rank == 2
    assert all(trial.epochs == 1 for trial in found.trials)
