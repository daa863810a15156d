"""New entities: told by name, solved from their facts, and part of the graph afterwards."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from scripts import check_folding

import trifact
from tests.run.conftest import keep
from tests.run.test_evaluation import graph_of
from trifact.answer.folding import fold
from trifact.answer.predictor import Predictor
from trifact.answer.run import Run as AnsweringRun
from trifact.errors import InputError
from trifact.graph.graph import Graph
from trifact.graph.options import LoadConfig
from trifact.run import training
from trifact.run.options import TrainConfig
from trifact.run.run import Run
from trifact.tensor.models import MODELS

KeepRun = Callable[..., Run]
NEW = [("aa", "p0", "e03"), ("e05", "p1", "aa"), ("zz", "p2", "e01"), ("ee", "p0", "e03")]


@pytest.fixture(scope="module")
def parity(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Numbers with their parity and their neighbours by two, trained to the end."""
    facts = [(f"n{i:02}", "parity", ("even", "odd")[i % 2]) for i in range(40)]
    facts += [(f"n{i:02}", "twin", f"n{(i + step) % 40:02}") for i in range(40) for step in (2, 4)]
    config = TrainConfig(rank=16, epochs=150, validate_every=0, reg=0.02, precision="float32")
    graph = trifact.load(facts, valid=0.0, test=0.0)
    return training.train(graph, config, out=tmp_path_factory.mktemp("parity") / "run")


def test_a_new_number_is_even_if_its_twins_are(parity: Run) -> None:
    facts = [("six", "twin", "n08"), ("six", "twin", "n10"), ("n04", "twin", "six")]
    facts += [("seven", "twin", "n09"), ("seven", "twin", "n11"), ("n05", "twin", "seven")]
    new = fold(parity, facts)
    notes, predictor = new.notes, Predictor(new.graph, new.model)
    assert [row["object"] for row in predictor.objects("six", "parity", k=1)] == ["even"]
    assert [row["object"] for row in predictor.objects("seven", "parity", k=1)] == ["odd"]
    assert notes == ("the facts: 6 facts (tuples)", "2 new entities, solved from 6 facts")


def test_a_trained_entity_that_is_folded_in_again_answers_as_it_did(parity: Run) -> None:
    graph, model = parity.graph(), parity.model()
    name, place = "n17", graph.entities.find("n17")
    mine = (graph.train[:, [0, 2]] == place).any(axis=1)
    facts = [
        (graph.entities[s], graph.predicates[p], graph.entities[o])
        for s, p, o in graph.train[mine].tolist()
    ]
    again = [tuple("again" if part == name else part for part in fact) for fact in facts]
    both = fold(parity, again)
    wider, folded = both.graph, both.model
    new = wider.entities.find("again")
    trained = model.scores(*torch.tensor([[place] * 4, range(4)]))
    solved = folded.scores(*torch.tensor([[new] * 4, range(4)]))
    old = torch.tensor([i for i, name in enumerate(wider.entities) if name != "again"])
    for before, after in zip(trained, solved[:, old], strict=True):
        assert float(torch.corrcoef(torch.stack([before, after]))[0, 1]) > 0.97


@pytest.mark.parametrize("setting", ["reciprocal", "standard"])
@pytest.mark.parametrize("name", sorted(MODELS))
def test_the_old_ones_stay_as_they_are(
    name: str, setting: str, towns: Graph, tmp_path: Path
) -> None:
    sides = 2 if setting == "reciprocal" else 1
    sizes = len(towns.entities), sides * len(towns.predicates)
    run = keep(tmp_path / "run", towns, MODELS[name](*sizes, rank=4, scale=1.0), name=name)
    config = run.config.replace(setting=setting)
    (run.path / "config.toml").write_text(config.to_toml())
    run, before = Run(run.path), run.model()
    folded = fold(run, NEW)
    wider, after = folded.graph, folded.model
    assert [entity.name for entity in folded.entities] == ["aa", "ee", "zz"]
    assert list(wider.entities) == sorted([*towns.entities, "aa", "ee", "zz"])
    for split, facts in towns.splits.items():
        told = {_told(towns, fact) for fact in facts.tolist()}
        assert told <= {_told(wider, fact) for fact in wider.splits[split].tolist()}
    assert {_told(wider, fact) for fact in wider.train.tolist()} >= set(NEW)
    assert len(wider.train) == len(towns.train) + len(NEW)
    for i, old in enumerate(towns.entities):
        place = wider.entities.find(old)
        assert place is not None
        assert wider.entity_label(place) == towns.entity_label(i)
        for table in {*before.roles.values()} - {"predicate"}:
            assert after.tables[table][place].equal(before.tables[table][i])
    assert after.tables["predicate"].equal(before.tables["predicate"])
    again = fold(run, list(reversed(NEW)))
    assert all(again.model.tables[t].equal(table) for t, table in after.tables.items())


def _told(graph: Graph, fact: list[int]) -> tuple[str, str, str]:
    return graph.entities[fact[0]], graph.predicates[fact[1]], graph.entities[fact[2]]


def test_a_file_with_labels_loops_and_facts_among_the_new(
    towns: Graph, keep_run: KeepRun, tmp_path: Path
) -> None:
    lines = [
        "new1\tp0\te03",
        "new2\tlikes\te04",
        "new1\tp1\tnew2",
        "new1\tp1\tnew1",
        "e01\tp0\te02",
    ]
    path = tmp_path / "facts.tsv"
    path.write_text("\n".join(lines) + "\n")
    (tmp_path / "labels.tsv").write_text("new1\tThe first\ne03\tanother label\n")
    folded = fold(keep_run(towns), path)
    graph, model = folded.graph, folded.model
    assert folded.notes == (
        "facts.tsv: 5 facts (TSV by name)",
        "labels.tsv: 2 labels",
        "2 new entities, solved from 2 facts",
        "1 fact between new entities: known now, not used to solve them",
        "1 fact of an entity with itself: known now, not used to solve it",
    )
    assert folded.doubts == ("1 fact without a new entity: left out",)
    place = graph.entities.find("new1")
    assert place is not None
    assert graph.entity_label(place) == "The first"
    old = graph.entities.find("e03")
    assert old is not None
    assert graph.entity_label(old) == towns.entity_label(3)
    assert len(graph.train) == len(towns.train) + 4
    assert model.entities == len(towns.entities) + 2
    known = graph.known("train").contains(np.array([[place, 1, place]]))
    assert known.all()


@pytest.mark.parametrize(
    ("lines", "problem"),
    [
        ("x\tp0\te03\nx\tp00\te01\n", r"facts.tsv:2: there is no predicate 'p00'; did you mean"),
        ("e01\tp0\te03\n", r"facts.tsv: there is no new entity in it"),
        ("x\tp0\te03\ny\tp0\tx\n", r"facts.tsv:2: 'y' is new, and has no fact with a predicate"),
        ("x\tp0\tx\n", r"facts.tsv:1: 'x' is new, and has no fact with a predicate"),
        ("", r"facts.tsv: .*"),
        ("x\tp0\n", r"facts.tsv:1: expected 3 columns"),
    ],
)
def test_what_cannot_be_solved_is_said_with_its_place(
    lines: str, problem: str, towns: Graph, keep_run: KeepRun, tmp_path: Path
) -> None:
    path = tmp_path / "facts.tsv"
    path.write_text(lines)
    with pytest.raises(InputError, match=problem):
        fold(keep_run(towns), path)


def test_what_cannot_be_solved_can_be_skipped(towns: Graph, keep_run: KeepRun) -> None:
    good = [("x", "p0", "e03"), ("x", "p1", "y"), ("y", "p0", "e01")]
    bad = [("x", "p9", "e01"), ("x", "p0", "lonely"), ("lonely", "p1", "lonely")]
    bad += [("only", "p9", "e01")]
    skip = LoadConfig(skip_bad_lines=True)
    with_bad, without = (fold(keep_run(towns, f"{i}"), facts, reading=skip)
                         for i, facts in enumerate((good + bad, good)))  # fmt: skip
    assert with_bad.doubts[0].startswith("4 facts left out: ")
    assert without.doubts == ()
    assert [*with_bad.graph.entities] == [*without.graph.entities]
    assert with_bad.graph.content_hash == without.graph.content_hash
    for name, table in with_bad.model.tables.items():
        assert torch.equal(table, without.model.tables[name])
    with pytest.raises(InputError, match="'only' is new, and has no fact with"):
        fold(keep_run(towns, "3"), bad[3:], reading=skip)


def test_the_place_is_found_in_a_packed_file_and_left_out_of_a_folder(
    towns: Graph, keep_run: KeepRun, tmp_path: Path
) -> None:
    path = tmp_path / "facts.tsv.gz"
    path.write_bytes(gzip.compress(b"x\tp0\te03\nx\tp9\te03\n"))
    with pytest.raises(InputError, match=r"facts.tsv.gz:2: there is no predicate 'p9'"):
        fold(keep_run(towns), path)
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "train.txt").write_text("x\tp9\te03\n")
    with pytest.raises(InputError, match=r"folder: there is no predicate 'p9'"):
        fold(keep_run(towns, "two"), folder)
    with pytest.raises(InputError, match=r"^there is no predicate 'p9'"):
        fold(keep_run(towns, "three"), [("x", "p9", "e03")])


def test_the_entities_to_leave_out_have_facts_enough(towns: Graph, tmp_path: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(check_folding, "HELD", 2)
        patch.setattr(check_folding, "load", lambda name: towns)
        held = check_folding.held_out(towns)
        check_folding.write_graph(tmp_path)
    assert len(held) == 2
    for entity in held.tolist():
        assert (towns.train[:, [0, 2]] == entity).any(axis=1).sum() >= 5
        assert (towns.test[:, [0, 2]] == entity).any(axis=1).sum() >= 1
    rest = trifact.load(tmp_path)
    assert not {towns.entities[i] for i in held.tolist()} & set(rest.entities)


def test_a_label_of_an_old_entity_is_no_new_one(towns: Graph, keep_run: KeepRun) -> None:
    iris = replace(towns, entity_labels={3: "Roma"})
    run = keep_run(iris)
    with pytest.raises(InputError, match="'Roma' is the label, or the end, of 'e03'"):
        fold(run, [("Zoe", "p0", "Roma")])
    assert len(fold(run, [("Zoe", "p0", "e03")]).entities) == 1


def test_what_is_left_out_is_a_warning_in_python(towns: Graph, keep_run: KeepRun) -> None:
    run = AnsweringRun(keep_run(towns).path)
    with pytest.warns(UserWarning, match="1 fact without a new entity: left out"):
        run.predictor([("Zoe", "p0", "e03"), ("e01", "p0", "e02")])


def test_of_many_doubts_some_are_named(towns: Graph, tmp_path: Path) -> None:
    model = MODELS["cp"](len(towns.entities), len(towns.predicates), rank=2, scale=1.0, seed=0)
    run = keep(tmp_path / "run", towns, model, name="cp")
    (run.path / "config.toml").write_text(run.config.replace(setting="standard").to_toml())
    found = fold(run, [(f"new{i}", "p0", "e03") for i in range(8)])
    assert found.doubts[-1].endswith(": new0, new1, new2, new3, new4 and 3 more")


def test_a_newcomer_with_itself_lets_nobody_else_answer_itself(keep_run: KeepRun) -> None:
    train = [(s, p, (s + 1 + p) % 8) for s in range(8) for p in range(2)]
    run = trifact.load_run(keep_run(graph_of(train)).path)
    plain = run.predictor().objects("e03", "p0", k=100, known=True)
    asked = run.predictor([("new", "p0", "e01"), ("new", "p0", "new")])
    found = asked.objects("e03", "p0", k=100, known=True)
    assert "e03" not in plain.columns["object"]
    assert "e03" not in found.columns["object"]
    assert "new" in asked.objects("new", "p0", k=100, known=True).columns["object"]


@pytest.mark.parametrize(("setting", "half"), [("standard", True), ("reciprocal", False)])
def test_a_side_that_no_fact_reaches_is_doubted(
    towns: Graph, tmp_path: Path, setting: str, half: bool
) -> None:
    sides = len(towns.predicates) * (2 if setting == "reciprocal" else 1)
    model = MODELS["cp"](len(towns.entities), sides, rank=4, scale=1.0, seed=0)
    run = keep(tmp_path / "run", towns, model, name="cp")
    (run.path / "config.toml").write_text(run.config.replace(setting=setting).to_toml())
    doubts = fold(run, [("e03", "p0", "new"), ("both", "p0", "e03"), ("e03", "p0", "both")]).doubts
    said = "as subject or as object no fact has them, and answers on that side say nothing: new"
    assert (said in doubts) == half
