"""A recipe comes to the same record however often it is cut off, and to no other's."""

from __future__ import annotations

import itertools
import json
import os
import shutil
import signal
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import torch

import trifact
from tests.paper.conftest import RECIPE, STEPS, TRAIN
from trifact.errors import OutputError, RunError, TrainingError
from trifact.paper import archive, reproduction
from trifact.paper.recipes import Choice
from trifact.paper.reproduction import Workshop, reproduce
from trifact.run import machine, training
from trifact.run.evaluation import evaluate
from trifact.run.history import Epoch
from trifact.run.run import Run
from trifact.tensor.descent import Objective

pytestmark = pytest.mark.usefixtures("known_by_name")


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
    path.write_text('{"format": 1, "config": {"rnk": 3}, "choice": {}, "evaluation": {}}')
    with pytest.raises(RunError, match="no record of a run"):
        reproduce(RECIPE, shop)


@pytest.mark.parametrize("part", ["config", "choice", "evaluation"])
def test_a_record_that_lacks_a_part_is_refused(done: Whole, part: str) -> None:
    path = done.shop.results / f"{RECIPE.name}.json"
    archive.write(path, {key: value for key, value in done.record.items() if key != part})
    with pytest.raises(RunError, match=rf"small\.json: this is no record \(it has no '{part}'\)"):
        reproduce(RECIPE, replace(done.shop, ranked=True))


def test_ranks_that_cannot_be_kept_are_said(done: Whole) -> None:
    shutil.rmtree(done.shop.results)
    done.shop.results.mkdir()
    (done.shop.results / "ranks").write_text("in the way")
    with pytest.raises(OutputError, match=r"ranks/.*parquet: cannot be written"):
        reproduce(RECIPE, done.shop)


@pytest.mark.parametrize("graph", ["", "{", '{"format": 1}'])
def test_a_run_whose_graph_is_damaged_is_refused(done: Whole, graph: str) -> None:
    shutil.rmtree(done.shop.results)
    (done.shop.runs / f"{RECIPE.name}-reg0.01" / "graph.json").write_text(graph)
    with pytest.raises(RunError, match=r"reg0\.01/graph\.json: this is no graph of a run"):
        reproduce(RECIPE, done.shop)


def test_a_folder_that_holds_something_else_is_not_touched(shop: Workshop) -> None:
    folder = shop.runs / f"{RECIPE.name}-reg0.01"
    folder.mkdir(parents=True)
    (folder / "precious.txt").write_text("mine")
    with pytest.raises(trifact.TrifactError, match="it is not empty"):
        reproduce(RECIPE, shop)
    assert (folder / "precious.txt").read_text() == "mine"


def test_a_value_that_diverges_has_lost(shop: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
    wild = replace(RECIPE, train=TRAIN.replace(optimizer="sgd", reg=0.01),
                   choice=Choice(setting="lr", values=(0.2, 1e30), epochs=2))  # fmt: skip
    record = reproduce(wild, shop)
    assert record["choice"]["chosen"] == 0.2
    assert record["choice"]["tried"][1]["mrr"] == -1
    (shop.results / f"{wild.name}.json").unlink()  # as if it had been cut off after the choice
    monkeypatch.setattr(training, "resume", lambda path, **_: pytest.fail(f"{path} once more"))
    assert reproduce(wild, shop)["choice"] == record["choice"]
    hopeless = replace(wild, size="x", choice=Choice(setting="lr", values=(1e30, 1e31), epochs=2))
    with pytest.raises(TrainingError, match="every lr of the recipe diverges"):
        reproduce(hopeless, shop)


def test_all_values_of_a_recipe_have_one_precision(
    shop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = itertools.cycle(["float32", "bfloat16"])
    monkeypatch.setattr(machine, "faster_precision", lambda *about: next(found))
    recipe = replace(RECIPE, train=TRAIN.replace(precision="auto"))
    reproduce(recipe, shop)
    again = replace(recipe, choice=Choice(values=(0.01, 0.1, 0.3), epochs=2))
    reproduce(again, shop)
    assert {Run(path).config.precision for path in shop.runs.iterdir()} == {"float32"}
    assert len([*shop.runs.iterdir()]) == 3


def test_ctrl_c_at_the_end_of_a_value_is_heard(
    shop: Workshop, whole: Whole, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = counted(monkeypatch, at=-1, act=ctrl_c)
    asked = False

    def last(epoch: Epoch) -> None:
        nonlocal asked
        if epoch.epoch == 2 and not asked:
            asked = True
            ctrl_c()

    with pytest.raises(training.Interrupted, match=r"stopped at its end \(2 epochs\)"):
        reproduce(RECIPE, replace(shop, on_epoch=last))
    assert steps[0] == 2 * STEPS
    assert timeless(reproduce(RECIPE, shop)) == timeless(whole.record)


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
