"""What cannot be searched is one sentence, and nothing half-made stays."""

from __future__ import annotations

import copy
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.trials.test_search import ALL, GRID, PLAIN, children
from trifact.errors import ConfigError, OutputError, RunError, TrifactError
from trifact.graph.graph import Graph
from trifact.run.folder import locked
from trifact.run.run import Run
from trifact.trials.database import Database
from trifact.trials.options import SearchConfig
from trifact.trials.search import Leading, Search, begin, reopen
from trifact.trials.space import Space

NO_CUDA = pytest.mark.skipif(torch.cuda.is_available(), reason="there is such a device here")


@pytest.mark.parametrize(
    ("values", "config", "problem"),
    [
        pytest.param({"device": ["cpu", "cuda"]}, {}, "torch finds no cuda device", marks=NO_CUDA),
        ({"reg": [0.01, 0.1]}, {"trials": 3}, "a grid has all its points"),
    ],
)
def test_what_no_trial_can_have_is_refused_at_once(
    graph: Graph, tmp_path: Path, values: dict[str, Any], config: dict[str, Any], problem: str
) -> None:
    space = Space.from_values({**PLAIN, **values})
    with pytest.raises(ConfigError, match=problem):
        begin(graph, space, SearchConfig(**config), out=tmp_path / "s")
    assert not (tmp_path / "s").exists()


def test_a_storage_that_does_not_answer_is_one_sentence(graph: Graph, tmp_path: Path) -> None:
    pytest.importorskip("psycopg", reason="PostgreSQL's driver is not installed")
    url = f"postgresql://me:secret@/x?host={tmp_path}"
    with pytest.raises(RunError, match="the storage of the trials does not work") as caught:
        begin(graph, GRID, ALL.replace(storage=url), out=tmp_path / "s")
    assert "secret" not in str(caught.value)
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "s").exists()


def test_what_cannot_be_searched_is_refused(graph: Graph, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no validation facts"):
        begin(graph.all_in_train(), GRID, out=tmp_path / "s")
    ranged = Space.from_values({**PLAIN, "lr": {"low": 0.1, "high": 0.2}})
    with pytest.raises(ConfigError, match="lr is a range; a grid needs a list"):
        begin(graph, ranged, SearchConfig(sampler="grid"), out=tmp_path / "s")
    with pytest.raises(RunError, match="this is not the folder of a search"):
        reopen(tmp_path)
    with pytest.raises(RunError, match="sampler cannot change when a search goes on"):
        reopen(tmp_path, sampler="tpe")
    (tmp_path / "search.json").write_text('{"format": 99, "name": "", "place": "", "storage": ""}')
    with pytest.raises(RunError, match="its format is 99"):
        reopen(tmp_path)
    (tmp_path / "search.json").write_text("{}")
    with pytest.raises(RunError, match="this is no record of a search"):
        reopen(tmp_path)
    (tmp_path / "search.json").write_text("[]")
    with pytest.raises(RunError, match="this is no record of a search"):
        reopen(tmp_path)
    hidden = {"name": "x", "place": "y", "storage": "postgresql://me:***@there/x", "workers": 1}
    (tmp_path / "search.json").write_text(json.dumps({"format": 1, **hidden}))
    with pytest.raises(ConfigError, match=r"password .* is not kept; give .* storage='URL'"):
        reopen(tmp_path)
    (tmp_path / "search.json").write_text(json.dumps({"format": 1, **hidden, "storage": ""}))
    with pytest.raises(RunError, match=r"trials\.db: the storage of this search is gone"):
        reopen(tmp_path)
    assert not (tmp_path / "trials.db").exists()
    assert not (tmp_path / "s").exists()


def test_an_error_of_the_machine_ends_the_search_with_its_sentence(
    graph: Graph, tmp_path: Path
) -> None:
    running = begin(graph, GRID, ALL, out=tmp_path / "s")
    (tmp_path / "s" / "trial-0000").write_text("a file where a folder should be")
    with pytest.raises(TrifactError, match="trial-0000"):
        running.run()
    assert [trial.state for trial in running.trials()][:1] == ["cut off"]
    assert not children()


def test_what_has_no_effect_at_any_point_is_refused(graph: Graph, tmp_path: Path) -> None:
    space = Space.from_values({**PLAIN, "reg": [0.0, 0.1]}).fixing({"regularizer": "none"})
    with pytest.raises(ConfigError, match="reg has no effect with regularizer none"):
        begin(graph, space, ALL, out=tmp_path / "s")
    assert not (tmp_path / "s").exists()


def test_what_has_no_effect_at_one_point_rests_there(graph: Graph, tmp_path: Path) -> None:
    values = {**PLAIN, "epochs": 1, "regularizer": ["n3", "none"], "reg": [0.01, 0.1]}
    search = begin(graph, Space.from_values(values), ALL, out=tmp_path / "s")
    search.run()
    assert {trial.state for trial in search.trials()} == {"done"}
    for trial in search.trials():
        drawn = trial.settings["reg"] if trial.settings["regularizer"] == "n3" else 0.0
        assert Run(tmp_path / "s" / trial.folder).config.reg == drawn


def test_a_folder_that_somebody_works_in_is_left_alone(graph: Graph, tmp_path: Path) -> None:
    path = tmp_path / "s"
    path.mkdir()
    with locked(path), pytest.raises(RunError, match="another process is training here"):
        begin(graph, GRID, ALL, out=path)
    assert path.exists()


def test_the_way_on_names_a_storage_whose_password_is_not_kept(
    graph: Graph, tmp_path: Path
) -> None:
    running = begin(graph, GRID, ALL, out=tmp_path / "s")
    assert running.way_on.endswith(f"--resume {running.path}")
    queue = copy.copy(running.queue)
    queue.database = Database.of("postgresql://me:secret@there/x")
    hidden = replace(running, queue=queue).way_on
    assert hidden.endswith(f"trifact search --storage URL --resume {running.path}")


def test_the_first_sentence_of_a_full_disk_is_the_one_that_is_said(
    graph: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    running = begin(graph, GRID, ALL, out=tmp_path / "s")

    def lead(_: Leading) -> None:
        raise OutputError("first")

    def save(_: Search) -> None:
        raise OutputError("second")

    monkeypatch.setattr(Leading, "lead", lead)
    monkeypatch.setattr(Search, "save", save)
    with pytest.raises(OutputError, match="first"):
        running.run()
