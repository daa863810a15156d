"""Tables and claims are those of the records; symmetry and the tree are counted by hand."""

from __future__ import annotations

import pytest

import trifact
from tests.paper.conftest import library
from trifact.errors import DownloadError
from trifact.paper import archive, studies
from trifact.paper.claims import claims
from trifact.paper.plan import Wish
from trifact.paper.reproduction import Workshop
from trifact.paper.session import Session
from trifact.paper.symmetry import Tree, must_fail
from trifact.paper.tables import Findings, appendix, runs, table1, table3

pytestmark = pytest.mark.usefixtures("known_by_name")


def test_sizes_are_counted_and_missing_graphs_stay_missing(
    shop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(studies, "load", no_network)
    Session({}, shop).fulfil(Wish("table1", datasets=("Toy",)))
    found = archive.read_all(shop.results)
    assert found["table1"]["graphs"] == {"Toy": None}
    assert table1(Findings(found, {}), ["Toy", "Else"]).rows[1][2] == "no data"
    assert table1(Findings(found, {}), ["Toy", "Else"]).rows[3][2] == "not run"
    assert Findings(found, {}).without_data() == {"Toy"}
    found["one"] = {"recipe": {"dataset": "Toy"}}  # since then it has come
    assert Findings(found, {}).without_data() == set()


def no_network(*_: object, **__: object) -> None:
    raise DownloadError("no network")


def test_a_size_that_is_known_is_not_forgotten(
    shop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    Session({}, shop).fulfil(Wish("table1", datasets=("Toy",)))
    monkeypatch.setattr(studies, "load", no_network)
    Session({}, shop).fulfil(Wish("table1", datasets=("Toy",)))
    found = archive.read_all(shop.results)
    assert found["table1"]["graphs"]["Toy"]["train"] == 96
    assert table1(Findings(found, {}), ["Toy"]).rows[1][2:] == ("62", "2", "96", "12", "12")


def test_symmetric_models_must_fail_where_an_entity_is_on_both_sides() -> None:
    """By hand, and one fact at a time."""
    graph = trifact.load("World")
    known = {tuple(fact) for facts in graph.splits.values() for fact in facts.tolist()}
    subjects, objects = {f[:2] for f in known}, {f[:0:-1] for f in known}
    expected = [
        (k, j, i) not in known and ((i, j) in objects or (k, j) in subjects)
        for i, j, k in graph.test.tolist()
    ]
    assert 0 < sum(expected) < len(expected)
    assert must_fail(graph).tolist() == expected


@pytest.mark.parametrize("tree", [Tree(2, 3), Tree(3, 2), Tree(4, 3)])
def test_the_tree_has_the_mrr_of_the_appendix(tree: Tree) -> None:
    assert len(tree.facts()) == tree.nodes - 1 == tree.leaves + tree.internal
    assert tree.mrr() == pytest.approx(tree.expected_mrr(), rel=1e-12)


def test_the_appendix_is_kept_and_shown(shop: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(studies, "TREES", (Tree(2, 2),))
    Session({}, shop).fulfil(Wish("appendix"))
    found = Findings(archive.read_all(shop.results), {})
    assert appendix(found).rows == [("2", "2", "7", "12", "0.8888888889", "0.8888888889")]


def test_every_claim_can_be_said_with_records_and_without(shop: Workshop) -> None:
    assert all("not run" in claim.ours for claim in claims(Findings({}, {})))
    recipes = library("cp-n3-standard", "cp-n3-reciprocal")
    Session(recipes, shop).fulfil(Wish("table3", datasets=("Toy",)))
    kept = archive.read_all(shop.results)
    fb15k = {name.replace("Toy", "FB15K"): record for name, record in kept.items()}
    said = {claim.says: claim.ours for claim in claims(Findings(fb15k, {}))}
    assert said["The best MRR is reached within 25 epochs"] == "not run"  # they have no more
    for record in fb15k.values():
        record["config"]["epochs"] = 26
    said = {claim.says: claim.ours for claim in claims(Findings(fb15k, {}))}
    assert said["The best MRR is reached within 25 epochs"] == "in all 2 runs"
    both = [kept[f"Toy-cp-n3-{s}-small"]["metrics"]["test"]["mrr"]
            for s in ("standard", "reciprocal")]  # fmt: skip
    shown = " to ".join(f"{mrr:.3f}"[1:] for mrr in both)
    assert said["The gains of Reciprocal are largest for CP"].endswith(f"FB15K {shown}")
    assert said["They come mostly from 1-m and m-m (FB15K)"].startswith("CP: 1-1 ")
    sheet = table3(Findings(kept, recipes), ["Toy"], ["small"])[0]
    assert sheet.rows[1][:2] == ("", "small")
    assert len(runs(Findings(kept, recipes)).rows) == 2
