"""What is alike: as a plain twin finds it, and predicates as they were planted."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
import torch

import trifact
from tests.run.conftest import KeepRun, random_model, with_ties
from trifact.answer.inversion import directions, inverses
from trifact.answer.options import SimilarConfig
from trifact.answer.similarity import (
    Vectors,
    entity_tables,
    nearest,
    predicate_tables,
    similar_entities,
    similar_predicates,
)
from trifact.cli.resembling import run_relations, run_similarity
from trifact.errors import ConfigError, InputError, RunError
from trifact.graph.graph import Graph
from trifact.graph.leakage import leakage_of
from trifact.run.options import TrainConfig
from trifact.run.training import train
from trifact.tensor.models import MODELS, Model

Rows = torch.Tensor


def standard_model(name: str, entities: int, predicates: int, *, seed: int = 0) -> Model:
    model = MODELS[name](entities, predicates, rank=4, scale=1.0, seed=seed)
    model.tables = {name: table.double() for name, table in model.tables.items()}
    return model


def plain(rows: Rows, asked: int, *, k: int, measure: str) -> list[tuple[int, float]]:
    """One by one, in Python's own numbers."""
    vectors = rows.double().tolist()

    def product(x: list[float], y: list[float]) -> float:
        return sum(a * b for a, b in zip(x, y, strict=True))

    def value(other: int) -> float:
        inner = product(vectors[asked], vectors[other])
        if measure == "inner" or not inner:
            return inner
        square = product(vectors[asked], vectors[asked]) * product(vectors[other], vectors[other])
        return inner / math.sqrt(square)

    others = [other for other in range(len(vectors)) if other != asked]
    return [(i, value(i)) for i in sorted(others, key=lambda i: (-round(value(i), 6), i))[:k]]


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("measure", ["cosine", "inner"])
@pytest.mark.parametrize("role", ["both", "subject", "object"])
@pytest.mark.parametrize("name", MODELS)
def test_entities_are_those_of_the_plain_twin(
    towns: Graph, name: str, role: str, measure: str, ties: bool
) -> None:
    model = random_model(name, towns)
    model = with_ties(model) if ties else model
    if role != "both" and name != "cp":
        with pytest.raises(ConfigError, match="only in CP"):
            entity_tables(model, role)
        return
    rows = torch.cat(entity_tables(model, role), 1)
    assert rows.shape[1] == (8 if name == "complex" or (name, role) == ("cp", "both") else 4)
    config = SimilarConfig(k=5, measure=measure, role=role)
    for asked in range(len(towns.entities)):
        found = similar_entities(model, towns, towns.entities[asked], config)
        wanted = plain(rows, asked, k=5, measure=measure)
        assert [row["similar"] for row in found] == [towns.entities[i] for i, _ in wanted]
        values = [value for _, value in wanted]
        assert list(found.columns[measure]) == pytest.approx(values, abs=1e-5)


@pytest.mark.parametrize("setting", ["reciprocal", "standard"])
@pytest.mark.parametrize("name", MODELS)
def test_predicates_are_compared_both_ways_round_where_they_have_two_rows(
    towns: Graph, name: str, setting: str
) -> None:
    count = len(towns.predicates)
    sizes = len(towns.entities), count * (2 if setting == "reciprocal" else 1)
    model = MODELS[name](*sizes, rank=4, scale=1.0)
    table = model.table("predicate")
    rows = torch.cat([table[:count], table[count:]], 1) if setting == "reciprocal" else table
    found = similar_predicates(model, towns, "likes", SimilarConfig(k=9))
    wanted = plain(rows, 0, k=9, measure="cosine")
    assert [row["similar"] for row in found] == [towns.predicates[i] for i, _ in wanted]


@pytest.mark.parametrize("budget", [1, 1000, 2**20])
@pytest.mark.parametrize("k", [1, 3, 1000])
def test_blocks_do_not_matter_and_ties_go_to_the_first(towns: Graph, budget: int, k: int) -> None:
    """Whole numbers: every product is exact, and many are equal."""
    vectors = Vectors.of(entity_tables(with_ties(random_model("cp", towns))))
    asked = np.arange(len(vectors))[::-1].copy()
    found = nearest(vectors, asked, k=k, budget=budget)
    whole = nearest(vectors, asked, k=len(vectors) - 1, budget=2**30)
    chosen = [np.flatnonzero(whole.rows == row)[:k] for row in range(len(asked))]
    kept = np.concatenate(chosen)
    for mine, theirs in ((found.rows, whole.rows), (found.answers, whole.answers)):
        np.testing.assert_array_equal(mine, theirs[kept])
    np.testing.assert_array_equal(found.scores, whole.scores[kept])
    tied = (np.diff(whole.scores) == 0) & (np.diff(whole.rows) == 0)
    assert tied.any()
    assert (np.diff(whole.answers)[tied] > 0).all()


def test_several_names_and_labels_are_answered_at_once(towns: Graph) -> None:
    model = random_model("cp", towns)
    both = similar_entities(model, towns, ["Town 2", "e05"], SimilarConfig(k=3))
    alone = similar_entities(model, towns, "e05", SimilarConfig(k=3))
    assert both.columns["name"] == ["e02"] * 3 + ["e05"] * 3
    assert both.columns["similar"][3:] == alone.columns["similar"]
    assert list(both.columns["cosine"][3:]) == pytest.approx(list(alone.columns["cosine"]))
    labels = [
        towns.entity_labels.get(towns.entities.index(str(n))) for n in alone.columns["similar"]
    ]
    assert alone.columns["label"] == labels


def test_a_row_of_zeros_is_like_nothing(towns: Graph) -> None:
    model = random_model("distmult", towns)
    model.tables["entity"][3] = 0
    found = similar_entities(model, towns, "e03", SimilarConfig(k=100))
    assert found.columns["cosine"] == [0.0] * (len(towns.entities) - 1)


def test_a_graph_of_one_entity_has_nothing_to_compare() -> None:
    graph = trifact.load([("a", "p", "a")], valid=0.0, test=0.0)
    model = random_model("complex", graph)
    assert len(similar_entities(model, graph, "a")) == 0
    (row,) = inverses(model, graph)
    assert (row["inverse"], row["similarity"]) == (None, None)


def test_bad_input_is_one_sentence(towns: Graph) -> None:
    model = random_model("complex", towns)
    with pytest.raises(InputError, match="there is no entity 'e99'; did you mean"):
        similar_entities(model, towns, "e99")
    with pytest.raises(InputError, match="there is no predicate 'e01'"):
        similar_predicates(model, towns, "e01")
    with pytest.raises(ConfigError, match="a predicate has no role"):
        similar_predicates(model, towns, "likes", SimilarConfig(role="subject"))
    with pytest.raises(ConfigError, match="give a name, or several"):
        similar_entities(model, towns, [])
    for k in (0, 10**9):
        with pytest.raises(ConfigError, match="k must be at"):
            SimilarConfig(k=k)
    model.tables["entity"][0, 0] = torch.nan
    with pytest.raises(RunError, match="no finite numbers"):
        similar_entities(model, towns, "e01")


def scores(model: Model) -> torch.Tensor:
    """X[j, i, k] of the standard setting, for all: (P, N, N)."""
    everyone = torch.arange(model.entities)
    rows = [model.scores(everyone, torch.full_like(everyone, j)) for j in range(model.predicates)]
    return torch.stack(rows)


def cosine(x: torch.Tensor, y: torch.Tensor) -> float:
    return float((x * y).sum() / x.norm() / y.norm())


@pytest.mark.parametrize("name", MODELS)
def test_in_the_standard_setting_the_ends_of_the_scale_are_those_of_the_scores(name: str) -> None:
    """Where the factors say symmetric, antisymmetric or inverse, the scores are exactly that."""
    model = standard_model(name, 7, 4)
    rows = model.table("predicate")
    if name == "complex":
        rows[0, 4:] = 0  # real
        rows[1, :4] = 0  # imaginary
        rows[3] = torch.cat([rows[2, :4], -rows[2, 4:]])  # the conjugate
    forwards, backwards = directions(model, 4)
    found = {
        (j, k): sum(
            float(mine[j] @ theirs[k])
            for mine, theirs in zip(forwards.parts, backwards.parts, strict=True)
        )
        / float(forwards.lengths[j] * backwards.lengths[k])
        for j in range(4)
        for k in range(4)
    }
    x = scores(model)
    if name == "complex":
        assert found[0, 0] == pytest.approx(1) and torch.allclose(x[0], x[0].T)
        assert found[1, 1] == pytest.approx(-1) and torch.allclose(x[1], -x[1].T)
        assert found[2, 3] == pytest.approx(1) and torch.allclose(x[2], x[3].T)
        assert abs(found[2, 2]) < 0.99 and abs(found[0, 1]) < 0.99
    elif name == "distmult":
        assert [found[j, j] for j in range(4)] == pytest.approx([1] * 4)
        assert torch.allclose(x, x.transpose(1, 2))
    else:  # CP: the cosine of the scores themselves
        for (j, k), value in found.items():
            assert value == pytest.approx(cosine(x[j], x[k].T))


def test_in_the_reciprocal_setting_the_learned_rows_decide(towns: Graph) -> None:
    model = random_model("cp", towns)
    rows, count = model.table("predicate"), len(towns.predicates)
    rows[count] = rows[0]  # p0 is symmetric
    rows[1], rows[1 + count] = rows[2 + count].clone(), rows[2].clone()  # p1 and p2 are inverse
    found = {str(row["predicate"]): row for row in inverses(model, towns)}
    assert found["p0"]["symmetry"] == pytest.approx(1)
    for name, other in (("p1", "p2"), ("p2", "p1")):
        assert found[name]["inverse"] == other
        assert found[name]["similarity"] == pytest.approx(1)
    assert found["p0"]["label"] == "likes"
    assert len(predicate_tables(model, count)) == 2


@pytest.fixture(scope="module")
def ring() -> Graph:
    """A ring, walked both ways, across, and from many to one; nothing else is known."""
    n = 40
    facts = [(i, "next", (i + 1) % n) for i in range(n)]
    facts += [((i + 1) % n, "previous", i) for i in range(n)]
    facts += [(i, "across", (i + n // 2) % n) for i in range(n)]
    facts += [(i, "third", i % 3) for i in range(n)]
    named = [(f"n{s:02}", p, f"n{o:02}") for s, p, o in facts]
    return trifact.load(named, valid=0.0, test=0.0)


@pytest.mark.parametrize(
    ("name", "setting", "clear"),
    [
        ("cp", "reciprocal", 0.9),
        ("complex", "reciprocal", 0.9),
        ("complex", "standard", 0.9),
        ("cp", "standard", 0.2),  # its subjects and objects know little of each other
    ],
)
def test_planted_relations_are_found_in_trained_factors(
    ring: Graph, tmp_path: Path, name: str, setting: str, clear: float
) -> None:
    """They are those that the facts themselves show."""
    config = TrainConfig(model=name, setting=setting, rank=20, epochs=60, batch=40, reg=0.01)
    run = train(ring, config.replace(precision="float32"), out=tmp_path / "run")
    found = {str(row["predicate"]): row for row in inverses(run.model(), ring)}
    leakage = leakage_of(ring)
    (pair,) = leakage.pairs
    first, second = ring.predicates[pair.first], ring.predicates[pair.second]
    assert pair.kind == "inverse"
    assert found[first]["inverse"] == second and found[second]["inverse"] == first
    assert float(str(found[first]["similarity"])) > clear
    symmetry = {name: float(str(row["symmetry"])) for name, row in found.items()}
    (symmetric,) = (ring.predicates[p] for p in leakage.symmetric)
    own = symmetry.pop(symmetric)
    assert own > clear
    assert max(symmetry.values()) < own - 0.1


def test_the_command_prints_tables_and_text_for_programs(
    towns: Graph, keep_run: KeepRun, capsys: pytest.CaptureFixture[str]
) -> None:
    path = keep_run(towns).path
    run_similarity(path, "Town 2", predicate=False, settings={"k": 2}, form="table")
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["similar", "label", "cosine"]
    assert len(lines) == 3
    run_similarity(path, "likes", predicate=True, settings={"measure": "inner"}, form="json")
    rows = json.loads(capsys.readouterr().out)
    assert [row["name"] for row in rows] == ["p0", "p0"]
    run_relations(path, "", predicate=False, settings={}, form="tsv")
    header, *rest = capsys.readouterr().out.splitlines()
    assert header.split("\t")[:4] == ["predicate", "label", "facts", "symmetry"]
    assert len(rest) == len(towns.predicates)
    run_relations(path, "", predicate=False, settings={}, form="table")
    assert "nearest inverse" in capsys.readouterr().out
    with pytest.raises(ConfigError, match="give the name of an entity"):
        run_similarity(path, "", predicate=False, settings={}, form="table")
    with pytest.raises(ConfigError, match="leave 'e01' out"):
        run_relations(path, "e01", predicate=False, settings={}, form="table")
    with pytest.raises(ConfigError, match="leave '--predicate' out"):
        run_relations(path, "", predicate=True, settings={}, form="table")
