"""A recipe comes to the same record however often it is cut off, and to no other's."""

from __future__ import annotations

import json
import os
import shutil
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch

import trifact
from trifact.errors import DownloadError, RunError, TrainingError
from trifact.graph import loading
from trifact.paper import archive, reproduction, session, studies
from trifact.paper.beyond import beyond
from trifact.paper.claims import claims, wilcoxon
from trifact.paper.contests import keep_contest
from trifact.paper.pace import seconds_a_step
from trifact.paper.plan import Wish
from trifact.paper.recipes import Choice, Recipe
from trifact.paper.reproduction import Workshop, reproduce
from trifact.paper.session import Session
from trifact.paper.symmetry import Tree, must_fail
from trifact.paper.tables import Findings, appendix, runs, table1, table2, table3
from trifact.run import training
from trifact.run.evaluation import evaluate
from trifact.run.options import TrainConfig
from trifact.run.run import Run
from trifact.tensor.descent import Objective

TRAIN = TrainConfig(
    rank=4, batch=30, epochs=5, validate_every=1, patience=9, precision="float32", lr=0.2
)
RECIPE = Recipe(
    "Toy", "complex-n3-reciprocal", "small", TRAIN, Choice(values=(0.01, 0.1), epochs=2)
)
STEPS = 5  # of an epoch: about 140 queries, 30 a step


@pytest.fixture(scope="module")
def library_of_graphs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A graph that is known by name: numbers, their successors and their parity."""
    facts = [(f"n{i:02}", "next", f"n{(i + 1) % 60:02}") for i in range(60)]
    facts += [(f"n{i:02}", "parity", ("even", "odd")[i % 2]) for i in range(60)]
    order = np.random.default_rng(0).permutation(len(facts))
    lines = ["\t".join(facts[i]) + "\n" for i in order]
    data = tmp_path_factory.mktemp("data")
    (data / "Toy").mkdir()
    for split, part in (("train", lines[24:]), ("valid", lines[:12]), ("test", lines[12:24])):
        (data / "Toy" / f"{split}.txt").write_text("".join(part))
    return data


@pytest.fixture(scope="module", autouse=True)
def known_by_name(
    library_of_graphs: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TRIFACT_DATA", str(library_of_graphs))
        patch.setenv("TRIFACT_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture
def shop(tmp_path: Path) -> Workshop:
    return Workshop(tmp_path / "runs", tmp_path / "results")


class Whole(NamedTuple):
    """The recipe, done without a break."""

    shop: Workshop
    record: dict[str, Any]


@pytest.fixture(scope="module")
def whole(known_by_name: None, tmp_path_factory: pytest.TempPathFactory) -> Whole:
    place = tmp_path_factory.mktemp("whole")
    shop = Workshop(place / "runs", place / "results")
    return Whole(shop, reproduce(RECIPE, shop))


@pytest.fixture
def done(whole: Whole, tmp_path: Path) -> Whole:
    """A copy of it, to work on."""
    shutil.copytree(whole.shop.runs, tmp_path / "runs")
    shutil.copytree(whole.shop.results, tmp_path / "results")
    return Whole(Workshop(tmp_path / "runs", tmp_path / "results"), whole.record)


def timeless(record: dict[str, Any]) -> dict[str, Any]:
    """A record without what two runs of the same cannot have in common: times."""
    kept: dict[str, Any] = json.loads(json.dumps(record))
    histories = [kept["history"], *(trial["history"] for trial in kept["choice"].get("tried", []))]
    for history in histories:
        for epoch in history:
            for key in ("seconds", "queries_per_second", "matmul_share"):
                del epoch[key]
    return kept


def counted(monkeypatch: pytest.MonkeyPatch, at: int, act: Callable[[], None]) -> list[int]:
    """Do something at a step; the list holds how many there were."""
    steps, original = [0], Objective.step

    def step(self: Objective, *args: object) -> object:
        steps[0] += 1
        if steps[0] == at:
            act()
        return original(self, *args)  # type: ignore[arg-type]

    monkeypatch.setattr(Objective, "step", step)
    return steps


def ctrl_c() -> None:
    os.kill(os.getpid(), signal.SIGTERM)  # SIGINT may be ignored by whoever runs the tests


def test_the_best_trial_goes_on_to_the_end_and_is_tested(whole: Whole) -> None:
    shop, record = whole
    choice, tried = record["choice"], record["choice"]["tried"]
    assert [trial["value"] for trial in tried] == [0.01, 0.1]
    assert all(len(trial["history"]) == 2 for trial in tried)
    best = max(tried, key=lambda trial: trial["mrr"])
    assert choice["chosen"] == best["value"] == record["config"]["reg"]
    assert best["mrr"] == max(epoch["mrr"] for epoch in best["history"])
    assert len(record["history"]) == 5
    assert record["history"][:2] == best["history"]
    run = Run(shop.runs / record["run"])
    assert record["run"] == f"{RECIPE.name}-reg{choice['chosen']:g}"
    assert run.metrics == record["metrics"]
    assert record["metrics"]["test"] == record["evaluation"]["filtered"]["overall"]
    assert record["graph"]["content_hash"] == trifact.load("Toy").content_hash
    assert record["evaluation"]["run"]["factors_sha256"] == run.factors_hash()
    assert "by_predicate" not in record["evaluation"]["filtered"]
    assert archive.read(shop.results / f"{RECIPE.name}.json") == record


def test_the_winner_is_as_if_it_had_been_trained_at_once(whole: Whole, shop: Workshop) -> None:
    record = whole.record
    straight = reproduce(RECIPE.settled(record["choice"]["chosen"]), shop)
    assert straight["choice"] == {}
    assert straight["metrics"] == record["metrics"]
    ours, theirs = (Run(s.runs / r["run"]).factors("last")
                    for s, r in (whole, (shop, straight)))  # fmt: skip
    assert all(torch.equal(ours[key], theirs[key]) for key in ours)


@pytest.mark.parametrize("at", [1, STEPS, 2 * STEPS + 1, 3 * STEPS, 4 * STEPS + 2, 6 * STEPS])
def test_a_recipe_that_was_stopped_goes_on_where_it_was(
    shop: Workshop, whole: Whole, monkeypatch: pytest.MonkeyPatch, at: int
) -> None:
    """In the first trial, between trials, in the second, in the winner's last epochs."""
    with monkeypatch.context() as patch:
        steps = counted(patch, at, ctrl_c)
        with pytest.raises(training.Interrupted):
            reproduce(RECIPE, shop)
        assert steps[0] == at
    assert not (shop.results / f"{RECIPE.name}.json").exists()
    assert timeless(reproduce(RECIPE, shop)) == timeless(whole.record)


def test_steps_that_were_done_are_not_done_again(
    shop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = counted(monkeypatch, 2 * STEPS + 3, ctrl_c)
    with pytest.raises(training.Interrupted):
        reproduce(RECIPE, shop)
    reproduce(RECIPE, shop)
    assert done[0] == (2 + 2 + 3) * STEPS
    reproduce(RECIPE, shop)
    assert done[0] == (2 + 2 + 3) * STEPS


def killed(*_: object, **__: object) -> None:
    raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("where", "name"),
    [
        (training, "save_config"),  # a graph is kept, and no run yet
        (training.Training, "restore"),  # before the winner goes on
        (reproduction, "evaluate"),  # trained, and not tested
        (archive, "write"),  # tested, and no record yet
    ],
)
def test_a_kill_between_two_stages_loses_nothing_that_was_done(
    shop: Workshop, whole: Whole, monkeypatch: pytest.MonkeyPatch, where: Any, name: str
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(where, name, killed)
        with pytest.raises(KeyboardInterrupt):
            reproduce(RECIPE, shop)
    assert timeless(reproduce(RECIPE, shop)) == timeless(whole.record)


def test_test_facts_are_ranked_once(shop: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
    calls, original = list[str](), evaluate

    def listed(run: Run, **more: Any) -> object:
        calls.append(run.path.name)
        return original(run, **more)

    monkeypatch.setattr(reproduction, "evaluate", listed)
    with monkeypatch.context() as patch:
        patch.setattr(archive, "write", killed)
        with pytest.raises(KeyboardInterrupt):
            reproduce(RECIPE, shop)
    record = reproduce(RECIPE, shop)
    reproduce(RECIPE, shop)
    assert calls == [record["run"]]


def test_the_choice_is_the_same_when_a_value_has_been_trained_for_more(done: Whole) -> None:
    shop, first = done
    loser = next(
        t["value"] for t in first["choice"]["tried"] if t["value"] != first["config"]["reg"]
    )
    longer = shop.runs / f"{RECIPE.name}-reg{loser:g}"
    training.resume(longer, epochs=60)
    (shop.results / f"{RECIPE.name}.json").unlink()
    again = reproduce(RECIPE, shop)
    assert again["choice"] == first["choice"]
    assert again["metrics"] == first["metrics"]


def test_a_run_or_record_of_another_configuration_is_refused(done: Whole) -> None:
    shop, other = done.shop, replace(RECIPE, train=TRAIN.replace(rank=5))
    with pytest.raises(RunError, match=r"small\.json: its rank is 4, the recipe says 5; move it"):
        reproduce(other, shop)
    shutil.rmtree(shop.results)
    with pytest.raises(RunError, match=r"reg0\.01: its rank is 4, the recipe says 5"):
        reproduce(other, shop)
    assert not shop.results.exists()


def test_a_run_on_other_facts_is_refused(
    done: Whole, library_of_graphs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.rmtree(done.shop.results)
    shutil.copytree(library_of_graphs, tmp_path / "data")
    with (tmp_path / "data" / "Toy" / "train.txt").open("a") as file:
        file.write("n00\tnext\tn31\n")
    monkeypatch.setenv("TRIFACT_DATA", str(tmp_path / "data"))
    with pytest.raises(RunError, match="trained on other facts than those of Toy now"):
        reproduce(RECIPE, done.shop)


def test_more_epochs_in_a_recipe_go_on_with_its_run(done: Whole) -> None:
    more = replace(RECIPE, train=TRAIN.replace(epochs=8))
    longer = reproduce(more, done.shop)
    assert timeless(longer)["history"][:5] == timeless(done.record)["history"]
    assert len(longer["history"]) == 8
    assert longer["choice"] == done.record["choice"]


def test_another_value_in_a_recipe_is_tried_and_the_others_are_not_again(
    done: Whole, monkeypatch: pytest.MonkeyPatch
) -> None:
    choice = Choice(values=(0.01, 0.1, 50.0), epochs=2)  # so strong that it cannot win
    steps = counted(monkeypatch, 0, ctrl_c)
    record = reproduce(replace(RECIPE, choice=choice), done.shop)
    assert steps[0] == 2 * STEPS
    assert record["choice"]["tried"][:2] == done.record["choice"]["tried"]
    assert record["metrics"] == done.record["metrics"]


def test_what_is_no_record_is_refused(shop: Workshop) -> None:
    path = shop.results / f"{RECIPE.name}.json"
    path.parent.mkdir()
    path.write_text("{")
    with pytest.raises(RunError, match="this is no record"):
        reproduce(RECIPE, shop)
    path.write_text('{"format": 99}')
    with pytest.raises(RunError, match="its format is 99"):
        reproduce(RECIPE, shop)
    path.write_text('{"format": 1, "config": {"rnk": 3}}')
    with pytest.raises(RunError, match="no record of a run"):
        reproduce(RECIPE, shop)


def test_a_folder_that_holds_something_else_is_not_touched(shop: Workshop) -> None:
    folder = shop.runs / f"{RECIPE.name}-reg0.01"
    folder.mkdir(parents=True)
    (folder / "precious.txt").write_text("mine")
    with pytest.raises(trifact.TrifactError, match="it is not empty"):
        reproduce(RECIPE, shop)
    assert (folder / "precious.txt").read_text() == "mine"


def test_a_value_that_diverges_has_lost(shop: Workshop) -> None:
    wild = replace(RECIPE, train=TRAIN.replace(optimizer="sgd", reg=0.01),
                   choice=Choice(setting="lr", values=(0.2, 1e30), epochs=2))  # fmt: skip
    record = reproduce(wild, shop)
    assert record["choice"]["chosen"] == 0.2
    assert record["choice"]["tried"][1]["mrr"] == -1
    hopeless = replace(wild, size="x", choice=Choice(setting="lr", values=(1e30, 1e31), epochs=2))
    with pytest.raises(TrainingError, match="every lr of the recipe diverges"):
        reproduce(hopeless, shop)


def test_when_the_time_is_over_everything_is_saved(
    shop: Workshop, whole: Whole, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = 0.0
    monkeypatch.setattr(time, "monotonic", lambda: clock)

    def later() -> None:
        nonlocal clock
        clock = 2.0

    with monkeypatch.context() as patch:
        steps = counted(patch, STEPS + 2, later)
        with pytest.raises(training.Interrupted):
            reproduce(RECIPE, replace(shop, until=1.0))
        assert steps[0] == STEPS + 2
        with pytest.raises(training.Interrupted, match="the time is over"):
            reproduce(RECIPE, replace(shop, until=1.0))
        assert steps[0] == STEPS + 2  # nothing is begun any more
    assert timeless(reproduce(RECIPE, shop)) == timeless(whole.record)


def library(*rows: str) -> dict[str, Recipe]:
    """Recipes of some rows on Toy, each as it is called."""
    found = dict[str, Recipe]()
    for row in rows:
        model, norm, setting = row.split("-")
        train = TRAIN.replace(model=model, regularizer=norm, setting=setting)
        recipe = replace(RECIPE, row=row, train=train)
        found[recipe.name] = recipe
    return found


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

    monkeypatch.setattr(reproduction, "load", load)
    wish = Wish("table2", datasets=("Gone", "Toy"))
    missing = Session(recipes, replace(shop, say=notes.append)).fulfil(wish)
    assert missing == {"Gone"}
    assert asked == ["Gone", "Toy", "Toy"]
    assert "Gone is left out: no network" in notes
    kept = archive.read_all(shop.results)
    assert sorted(kept) == ["Toy-complex-n3-reciprocal-small", "Toy-cp-n3-standard-small"]
    sheet = table2(Findings(kept, recipes, missing), ["Toy", "Gone"], ["small"])
    by_model = {
        row[0] or above[0]: row for above, row in zip(sheet.rows, sheet.rows[1:], strict=False)
    }
    cell = kept["Toy-complex-n3-reciprocal-small"]["metrics"]["test"]
    shown = f"{cell['mrr']:.3f}/{cell['hits@10']:.3f}".replace("0.", ".")
    assert by_model["ComplEx-N3"][2:] == (shown, "no data")
    assert by_model["ComplEx-FRO"][2:] == ("-", "-")


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


def test_a_contest_is_that_of_the_runs_and_is_made_once(
    shop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
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
    shutil.rmtree(shop.runs)  # nothing of them is needed any more
    Session(recipes, shop).fulfil(wish)
    assert archive.read_all(shop.results) == kept
    sheet = wilcoxon(Findings(kept, recipes), ["Toy"], ["small"])
    assert [row[1] for row in sheet.rows] == ["ranks, queries", "MRR, facts"]
    (shop.results / "contest-n3-over-fro-Toy-small.json").unlink()
    with pytest.raises(RunError, match="the ranks of this run are needed and it is gone"):
        keep_contest("contest-x", [(before, after)], shop=shop)


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
    assert [len(row) for row in sheet.rows] == [1, 2, 5, 5, 1, 2, 2, 2]
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


def test_sizes_are_counted_and_missing_graphs_stay_missing(
    shop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(studies, "load", no_network)
    Session({}, shop).fulfil(Wish("table1", datasets=("Toy",)))
    found = archive.read_all(shop.results)
    assert found["table1"]["graphs"] == {"Toy": None}
    assert table1(Findings(found, {}), ["Toy", "Else"]).rows[1][2] == "no data"
    assert table1(Findings(found, {}), ["Toy", "Else"]).rows[3][2] == "not run"


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
    monkeypatch.setattr(studies.appendix, "__defaults__", ((Tree(2, 2),),))
    session.Session({}, shop).fulfil(Wish("appendix"))
    found = Findings(archive.read_all(shop.results), {})
    assert appendix(found).rows == [("2", "2", "7", "12", "0.8888888889", "0.8888888889")]


def test_every_claim_can_be_said_with_records_and_without(shop: Workshop) -> None:
    assert all("not run" in claim.ours for claim in claims(Findings({}, {})))
    recipes = library("cp-n3-standard", "cp-n3-reciprocal")
    Session(recipes, shop).fulfil(Wish("table3", datasets=("Toy",)))
    kept = archive.read_all(shop.results)
    fb15k = {name.replace("Toy", "FB15K"): record for name, record in kept.items()}
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
