"""A session does what is missing: rows, seeds, contests, paces."""

from __future__ import annotations

import shutil
from dataclasses import replace
from typing import Any

import duckdb
import pytest
import torch

import trifact
from tests.paper.conftest import RECIPE, STEPS, TRAIN, library
from trifact.errors import ConfigError, DownloadError, RunError
from trifact.graph import loading
from trifact.paper import archive, cost, reproduction, session
from trifact.paper.beyond import beyond
from trifact.paper.claims import wilcoxon
from trifact.paper.contests import keep_contest
from trifact.paper.cost import ahead, epochs_left, undone
from trifact.paper.pace import seconds_a_step
from trifact.paper.plan import Wish
from trifact.paper.recipes import Choice
from trifact.paper.reproduction import Workshop, reproduce
from trifact.paper.session import Session
from trifact.paper.tables import Findings, table2
from trifact.run import machine
from trifact.run.comparison import Contestant, compare
from trifact.run.evaluation import evaluate
from trifact.run.folder import locked
from trifact.run.history import Epoch
from trifact.run.run import Run
from trifact.run.training import Interrupted
from trifact.tensor.descent import Objective

pytestmark = pytest.mark.usefixtures("known_by_name")


def test_a_session_does_what_is_missing_and_leaves_out_what_has_no_data(
    shop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    recipes = library("complex-n3-reciprocal", "cp-n3-standard")
    recipes |= {
        name.replace("Toy", "Gone"): replace(r, dataset="Gone") for name, r in recipes.items()
    }
    original, notes, asked = loading.load, list[str](), list[str]()

    def load(name: str, **more: Any) -> object:
        asked.append(name)
        if name == "Gone":
            raise DownloadError("no network")
        return original(name, **more)

    for room in (session, reproduction):
        monkeypatch.setattr(room, "load", load)
    wish = Wish("table2", datasets=("Gone", "Toy"))
    missing = Session(recipes, replace(shop, say=notes.append)).fulfil(wish)
    assert missing == {"Gone"}
    assert asked == ["Gone", "Toy", "Toy", "Toy"]
    assert notes[0] == "Gone is left out: no network"
    assert notes[1].startswith("at most 14 epochs are ahead")
    kept = archive.read_all(shop.results)
    assert sorted(kept) == ["Toy-complex-n3-reciprocal-small", "Toy-cp-n3-standard-small"]
    sheet = table2(Findings(kept, recipes, missing), ["Toy", "Gone"], ["small"])
    by_model = {
        row[0] or above[0]: row for above, row in zip(sheet.rows, sheet.rows[1:], strict=False)
    }
    cell = kept["Toy-complex-n3-reciprocal-small"]["metrics"]["test"]
    shown = f"{cell['mrr']:.3f}/{cell['hits@10']:.3f}".replace("0.", ".")
    assert by_model["ComplEx-N3"][2:] == (shown, "no data")
    assert by_model["ComplEx-FRO"] == ("ComplEx-FRO", "published", "-", "-")  # of ours is none


def test_a_recipe_that_diverges_keeps_nothing_else_up(shop: Workshop) -> None:
    recipes, notes = library("complex-n3-reciprocal", "cp-n3-reciprocal"), list[str]()
    wild = recipes["Toy-complex-n3-reciprocal-small"]
    train = wild.train.replace(optimizer="sgd", lr=1e30)
    recipes[wild.name] = replace(wild, train=train)
    session = Session(recipes, replace(shop, say=notes.append))
    session.fulfil(Wish("table2", datasets=("Toy",)))
    assert session.diverged == {wild.name}
    assert any(f"{wild.name}: " in note and "diverge" in note for note in notes)
    assert [*archive.read_all(shop.results)] == ["Toy-cp-n3-reciprocal-small"]


def test_a_contest_with_what_diverges_is_not_tried(shop: Workshop) -> None:
    recipes, notes = library("cp-fro-reciprocal", "cp-n3-reciprocal"), list[str]()
    wild = recipes["Toy-cp-n3-reciprocal-small"]
    train = wild.train.replace(optimizer="sgd", lr=1e30)
    recipes[wild.name] = replace(wild, train=train)
    session = Session(recipes, replace(shop, say=notes.append))
    session.fulfil(Wish("wilcoxon", datasets=("Toy",)))
    assert session.diverged == {wild.name}
    assert not any("contest-n3-over-fro" in note for note in notes)


@pytest.mark.parametrize(
    ("wish", "problem"),
    [
        ({"what": "appendix", "datasets": ("WN18",)}, "appendix needs no graph"),
        ({"what": "table3", "rows": ("distmult-n3-standard",)}, "table3 has no row"),
    ],
)
def test_what_a_table_does_not_have_is_refused(wish: dict[str, Any], problem: str) -> None:
    with pytest.raises(ConfigError, match=problem):
        Wish(**wish)


def test_what_is_ahead_becomes_less_epoch_by_epoch(shop: Workshop) -> None:
    recipes, seen = library("complex-n3-reciprocal"), list[int]()
    recipe = recipes["Toy-complex-n3-reciprocal-small"]

    def look(epoch: Epoch) -> None:
        seen.append(sum(epochs_left(one, shop) for one in undone(recipe, 3, shop)))

    wish = Wish("table2", datasets=("Toy",), seeds=3)
    Session(recipes, replace(shop, on_epoch=look)).fulfil(wish)
    assert seen == [*range(16, -1, -1)]  # two trials, the better one to its end, two other seeds
    assert list(undone(recipe, 3, shop)) == []
    assert [one.name for one in undone(recipe, 4, shop)] == [f"{recipe.name}-seed3"]


def test_an_epoch_takes_as_long_as_its_products(
    shop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cost, "probed_flops", lambda *about: 1e6)
    toy = trifact.load("Toy")
    entities, facts, queries = 62, 96, len(toy.queries("train"))
    capped = replace(RECIPE, train=TRAIN.replace(rank=8, cap=1))
    flop = 3 * 2 * queries * entities * 2 * 4 + 3 * 2 * 2 * facts * entities * 2 * 8
    epochs, length = ahead([RECIPE, capped], toy, shop)
    assert epochs == 2 * (5 + 2)  # all of one value, and two of the other
    assert length == pytest.approx((5 + 2) * flop / 1e6)


def test_the_machine_is_measured_once_for_recipes_of_one_shape(
    shop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    measured, toy = list[tuple[object, ...]](), trifact.load("Toy")

    def measure(*about: object, repeats: int) -> float:
        measured.append((about[0], *about[2:]))
        return 1e6

    machine._probed_flops.cache_clear()
    monkeypatch.setattr(machine, "peak_flops", measure)
    train = TRAIN.replace(precision="auto")
    recipes = [replace(RECIPE, train=train.replace(reg=reg, lr=reg)) for reg in (0.1, 0.2, 0.3)]
    ahead([*recipes, replace(RECIPE, train=train.replace(rank=7))], toy, shop)
    machine._probed_flops.cache_clear()
    turns = [torch.bfloat16, torch.float32] * machine.TURNS
    assert measured == [(dtype, 62, width) for width in (8, 14) for dtype in turns]


def test_other_seeds_take_the_choice_of_the_first(shop: Workshop) -> None:
    recipes = library("complex-n3-reciprocal")
    Session(recipes, shop).fulfil(Wish("table2", datasets=("Toy",), seeds=3))
    kept = archive.read_all(shop.results)
    name = "Toy-complex-n3-reciprocal-small"
    assert sorted(kept) == [name, f"{name}-seed1", f"{name}-seed2"]
    for seed in (1, 2):
        record = kept[f"{name}-seed{seed}"]
        assert record["config"]["reg"] == kept[name]["choice"]["chosen"]
        assert record["config"]["seed"] == seed
        assert len(record["history"]) == 5
    notes = table2(Findings(kept, recipes), ["Toy"], ["small"]).notes
    assert any(note.startswith(f"{name}: MRR of the other seeds .") for note in notes)


def test_a_contest_is_that_of_the_runs_and_needs_only_their_records(shop: Workshop) -> None:
    recipes = library("cp-fro-reciprocal", "cp-n3-reciprocal")
    wish = Wish("wilcoxon", datasets=("Toy",))
    Session(recipes, shop).fulfil(wish)
    kept = archive.read_all(shop.results)
    found = kept["contest-n3-over-fro-Toy-small"]
    before, after = (kept[f"Toy-cp-{norm}-reciprocal-small"] for norm in ("fro", "n3"))
    row = found["overall"]["mrr"]
    assert row["first"] == pytest.approx(before["metrics"]["test"]["mrr"])
    assert row["first"] + row["difference"] == pytest.approx(after["metrics"]["test"]["mrr"])
    assert found["wilcoxon"]["mrr_by_fact"]["pairs"] == 12
    runs = [Run(shop.runs / record["run"]) for record in (before, after)]
    contestants = [Contestant(run.path.name, run.graph(), evaluate(run)) for run in runs]
    assert found["wilcoxon"] == compare(*contestants)["wilcoxon"]
    shutil.rmtree(shop.runs)
    (shop.results / "contest-n3-over-fro-Toy-small.json").unlink()
    Session(recipes, shop).fulfil(wish)
    assert archive.read_all(shop.results) == kept
    sheet = wilcoxon(Findings(kept, recipes), ["Toy"], ["small"])
    assert [row[1] for row in sheet.rows] == ["ranks, queries", "MRR, facts"]


def test_ranks_that_are_not_those_of_their_record_are_refused(shop: Workshop) -> None:
    recipes = library("cp-fro-reciprocal", "cp-n3-reciprocal")
    first, second = (reproduce(recipe, shop) for recipe in recipes.values())
    path = shop.results / first["evaluation"]["ranks"]["file"]
    with duckdb.connect() as base:
        columns = base.execute(f"describe from read_parquet('{path}')").fetchall()
    assert [column[0] for column in columns] == ["optimistic", "pessimistic"]
    ranks, other = path.read_bytes(), dict(first, graph={"name": "Toy", "content_hash": "0"})
    with pytest.raises(RunError, match="they are of other facts than those of Toy now"):
        keep_contest("contest-x", [(second, other)], shop=shop)
    others = (shop.results / second["evaluation"]["ranks"]["file"]).read_bytes()
    for make in (lambda: path.write_bytes(others), path.unlink):
        make()
        with pytest.raises(RunError, match="the ranks of this record are needed and not here"):
            keep_contest("contest-x", [(first, second)], shop=shop)
    path.write_bytes(ranks)
    assert keep_contest("contest-x", [(first, second)], shop=shop)["runs"] == [*recipes]


def test_a_contest_of_fewer_seeds_leaves_that_of_more(shop: Workshop) -> None:
    recipes = library("cp-fro-reciprocal", "cp-n3-reciprocal")
    for seeds in (2, 1, 3):
        Session(recipes, shop).fulfil(Wish("wilcoxon", datasets=("Toy",), seeds=seeds))
        kept = archive.read(shop.results / "contest-n3-over-fro-Toy-small.json")
        assert kept is not None
        assert kept["pooled"]["pairs"] == max(2, seeds)
    place = shop.results / "Toy-cp-n3-reciprocal-small-seed2.json"
    changed = archive.read(place)
    assert changed is not None
    changed["evaluation"]["run"]["factors_sha256"] = "another"
    archive.write(place, changed)
    Session(recipes, shop).fulfil(Wish("wilcoxon", datasets=("Toy",)))
    kept = archive.read(shop.results / "contest-n3-over-fro-Toy-small.json")
    assert kept is not None
    assert kept["pooled"]["pairs"] == 1  # the third was of a record that is no more


def test_what_has_no_ranks_is_made_anew_for_a_contest_alone(shop: Workshop) -> None:
    """Its run is there, so nothing is trained."""
    recipes, notes = library("cp-fro-reciprocal", "cp-n3-reciprocal"), list[str]()
    for recipe in recipes.values():
        record = reproduce(recipe, shop)
        (shop.results / record["evaluation"]["ranks"]["file"]).unlink()
        assert list(undone(recipe, 1, shop)) == []
    told = replace(shop, say=notes.append, on_epoch=lambda epoch: pytest.fail("it is trained"))
    Session(recipes, told).fulfil(Wish("wilcoxon", datasets=("Toy",)))
    assert (shop.results / "contest-n3-over-fro-Toy-small.json").exists()


def test_what_another_process_trains_is_left_to_it(shop: Workshop) -> None:
    recipes, notes = library("cp-fro-reciprocal", "cp-n3-reciprocal"), list[str]()
    busy, free = recipes.values()
    folder = reproduction.run_folder(busy, shop, 0.01)
    folder.mkdir(parents=True)
    session = Session(recipes, replace(shop, say=notes.append))
    with locked(folder):
        session.fulfil(Wish("wilcoxon", datasets=("Toy",)))
    assert f"{busy.name}: another process is at work on it; left to that" in notes
    assert sorted(archive.read_all(shop.results)) == [free.name]
    session.fulfil(Wish("wilcoxon", datasets=("Toy",)))
    assert len(archive.read_all(shop.results)) == 3


def test_a_record_is_of_the_code_at_the_beginning(
    shop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archive, "commit", lambda: pytest.fail("it is asked for too late"))
    record = reproduce(RECIPE, replace(shop, code="begun"))
    assert record["commit"] == "begun"


def test_a_record_is_of_all_code_that_trained_its_run_and_of_no_other(shop: Workshop) -> None:
    def stop(epoch: Epoch) -> None:
        raise Interrupted(f"after epoch {epoch.epoch}")

    recipe = replace(RECIPE, choice=None, train=TRAIN.replace(reg=0.1))
    with pytest.raises(Interrupted):
        reproduce(recipe, replace(shop, code="one", on_epoch=stop))
    assert reproduce(recipe, replace(shop, code="two"))["commit"] == "one, two"
    (shop.results / f"{recipe.name}.json").unlink()
    assert reproduce(recipe, replace(shop, code="three"))["commit"] == "one, two"


def test_what_came_later_is_compared_seed_by_seed_and_over_all(shop: Workshop) -> None:
    recipes = library("complex-n3-reciprocal", "complex-dura-reciprocal")
    second = replace(RECIPE, row="complex-n3-reciprocal-relations", train=TRAIN.replace(reg=0.1))
    second = replace(second, choice=Choice(setting="relations", values=(0.1, 1.0), epochs=2))
    recipes[second.name] = second
    Session(recipes, shop).fulfil(Wish("beyond", datasets=("Toy",), seeds=2))
    kept = archive.read_all(shop.results)
    for contest, row in (("relations", second.row), ("dura", "complex-dura-reciprocal")):
        found = kept[f"contest-{contest}-Toy-small"]["pooled"]
        gains = [
            kept[f"Toy-{row}-small{seed}"]["metrics"]["test"]["mrr"]
            - kept[f"Toy-complex-n3-reciprocal-small{seed}"]["metrics"]["test"]["mrr"]
            for seed in ("", "-seed1")
        ]
        assert found["pairs"] == 2
        assert found["differences"] == pytest.approx(gains)
        assert found["difference"] == pytest.approx(sum(gains) / 2)
        low, high = found["interval"]
        assert low <= found["difference"] <= high
        assert found["mrr_by_fact"]["pairs"] == 12
    assert kept[second.name]["config"]["relations"] in (0.1, 1.0)
    sheet = beyond(Findings(kept, recipes), ["Toy", "Other"], ["small"])
    assert [len(row) for row in sheet.rows] == [1, 2, 7, 7, 1, 2, 2, 2]
    assert sheet.rows[-1][-1] == "-"


def test_the_nuclear_2_norm_is_also_timed(shop: Workshop) -> None:
    recipes = library("cp-n3-reciprocal", "cp-nuc2-reciprocal")
    Session(recipes, shop).fulfil(Wish("claims", datasets=("Toy",)))
    pace = archive.read(shop.results / "pace-nuc2-Toy-small.json")
    assert pace is not None
    assert pace["ratio"] == pace["seconds"][1] / pace["seconds"][0] > 0
    assert (shop.results / "contest-nuc2-Toy-small.json").exists()


def test_steps_take_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    order, original = list[int](), Objective.step

    def step(self: Objective, *args: object) -> object:
        order.append(self.model.rank)
        return original(self, *args)  # type: ignore[arg-type]

    monkeypatch.setattr(Objective, "step", step)
    configs = [TRAIN.replace(rank=rank, reg=0.1) for rank in (2, 3)]
    found = seconds_a_step(trifact.load("Toy"), *configs, steps=10)  # more than an epoch has
    assert len(found) == 2
    assert order == [2, 3] * (len(order) // 2)
    assert len(order) > 2 * STEPS
