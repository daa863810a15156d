"""Factors of one run as the beginning of another, and a run trained once more on all facts."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest
import torch

import trifact
from tests.run.test_training import QUICK, numbers, same
from trifact.errors import ConfigError, RunError, TrainingError
from trifact.graph.graph import Graph
from trifact.graph.storage import seen_facts
from trifact.graph.vocabulary import Vocabulary
from trifact.run import training
from trifact.run.evaluation import evaluate
from trifact.run.folder import CHECKPOINTS, DIVERGED
from trifact.run.matching import places
from trifact.run.options import resolved
from trifact.run.run import Run


@pytest.fixture(scope="module")
def graph() -> Graph:
    return numbers()


def test_refit_trains_on_all_facts_for_the_best_epochs(graph: Graph, tmp_path: Path) -> None:
    run = training.train(graph, QUICK, out=tmp_path / "run")
    again = training.refit(run)
    assert again.path == tmp_path / "run" / "refit"
    assert len(again.history) == run.best_epoch
    refitted = again.graph()
    assert len(refitted.train) == sum(len(facts) for facts in graph.splits.values())
    assert len(refitted.valid) == len(refitted.test) == 0


def test_a_refit_does_not_say_that_facts_are_held_out(tmp_path: Path) -> None:
    facts = [(f"e{i}", "p", f"e{j}") for i in range(6) for j in range(6)]
    graph = trifact.load(facts, valid=0.2, test=0.2)
    run = training.train(graph, QUICK.replace(epochs=1), out=tmp_path / "run")
    notes = training.refit(run).graph().notes
    assert notes == (graph.notes[0], "all facts are in train")


def test_few_names_are_found_as_many_are() -> None:
    many = Vocabulary.of(f"e{i}" for i in range(100))
    few = Vocabulary.of(["", "e07", "e7", "e99", "f"])
    assert places(few, many).tolist() == [-1, -1, many.find("e7"), 99, -1]
    more = Vocabulary.of([*few, *many])
    found = dict(zip(more, places(more, many).tolist(), strict=True))
    assert [found[name] for name in few] == places(few, many).tolist()


def test_a_warm_start_takes_the_rows_of_names_that_both_know(graph: Graph, tmp_path: Path) -> None:
    old = training.train(graph, QUICK, out=tmp_path / "old")
    larger = trifact.load(
        [(f"n{i:02}", "next", f"n{(i + 1) % 62:02}") for i in range(62)]
        + [("n00", "brand new", "n61"), ("n61", "parity", "odd")],
        valid=0.0,
        test=0.0,
    )
    config = QUICK.replace(epochs=0)
    warm = config.replace(warm_start=str(old.path))
    new = training.train(larger, warm, out=tmp_path / "new")
    cold = training.train(larger, config, out=tmp_path / "cold")
    for kind, table in (("entities", "entity"), ("predicates", "predicate")):
        ours, theirs = getattr(larger, kind), getattr(graph, kind)
        sides = 2 if table == "predicate" else 1
        for i, name in enumerate(ours):
            j = theirs.find(name)
            for side in range(sides):
                row = new.factors()[table][i + side * len(ours)]
                source = cold if j is None else old
                k = i + side * len(ours) if j is None else j + side * len(theirs)
                assert torch.equal(row, source.factors()[table][k])


def test_a_warm_start_needs_the_same_kind_of_model(graph: Graph, tmp_path: Path) -> None:
    old = training.train(graph, QUICK, out=tmp_path / "old")
    config = QUICK.replace(rank=4, warm_start=str(old.path))
    with pytest.raises(RunError, match="its rank is 8, not 4"):
        training.train(graph, config, out=tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_a_run_does_not_begin_with_itself(graph: Graph, tmp_path: Path) -> None:
    """A folder that diverged could be used again, but for the factors that are wanted."""
    run = training.train(graph, QUICK, out=tmp_path / "run")
    (run.path / DIVERGED).touch()
    config = QUICK.replace(warm_start=str(run.path))
    with pytest.raises(RunError, match="a run cannot begin with itself; give another out"):
        training.train(graph, config, out=run.path)
    assert run.best_epoch


def test_a_warm_start_is_not_forgotten(
    graph: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = training.train(graph, QUICK, out=tmp_path / "old")
    monkeypatch.chdir(tmp_path)
    config = QUICK.replace(warm_start="old")
    whole = training.train(graph, config, out=tmp_path / "whole")
    with monkeypatch.context() as patch:  # killed before there is anything to go on with
        patch.setattr(training.Training, "run", lambda *_: None)
        training.train(graph, config, out=tmp_path / "killed")
    monkeypatch.chdir(tmp_path / "old")
    assert same(training.resume(tmp_path / "killed"), whole)
    assert whole.history[0].loss < old.history[0].loss
    again = training.refit(whole)
    assert again.history[0].loss < old.history[0].loss


def test_a_refit_that_was_cut_off_goes_on(graph: Graph, tmp_path: Path) -> None:
    run = training.train(graph, QUICK, out=tmp_path / "run")
    whole = training.refit(run)
    shutil.move(whole.path, tmp_path / "whole")
    with pytest.raises(KeyboardInterrupt):
        training.refit(run, on_epoch=interrupted)
    assert same(training.refit(run), Run(tmp_path / "whole"))
    assert training.refit(run).factors_hash() == Run(tmp_path / "whole").factors_hash()
    training.resume(run.path, threads=1, budget_mb=50)
    assert same(training.refit(Run(run.path)), Run(tmp_path / "whole"))
    assert training.resume(run.path, epochs=5 * QUICK.epochs).best_epoch > run.epoch("last") // 5
    with pytest.raises(RunError, match="of other settings or epochs than the run now"):
        training.refit(Run(run.path))


def interrupted(_: object) -> None:
    raise KeyboardInterrupt


def test_a_refit_cannot_follow_validation(graph: Graph, tmp_path: Path) -> None:
    run = training.train(graph, QUICK.replace(schedule="plateau"), out=tmp_path / "run")
    with pytest.raises(ConfigError, match="goes by validation, which a refit has not"):
        training.refit(run)


def grown() -> list[tuple[str, str, str]]:
    """The facts of `numbers`, and those of ten numbers more."""
    facts = [(f"n{i:02}", "next", f"n{(i + 1) % 60:02}") for i in range(60)]
    facts += [(f"n{i:02}", "parity", ("even", "odd")[i % 2]) for i in range(70)]
    return facts + [(f"n{i:02}", "plus two", f"n{(i + 2) % 60:02}") for i in range(70)]


def names_of(graph: Graph, *splits: str) -> set[tuple[str, str, str]]:
    facts = (fact for split in splits for fact in graph.splits[split].tolist())
    return {(graph.entities[s], graph.predicates[p], graph.entities[o]) for s, p, o in facts}


def test_what_the_other_run_was_trained_on_is_not_held_out(graph: Graph, tmp_path: Path) -> None:
    old = training.train(graph, QUICK, out=tmp_path / "old")
    larger = trifact.load(grown(), valid=0.1, test=0.1)
    assert names_of(larger, "valid", "test") & names_of(graph, "train")
    new = training.train(larger, QUICK.replace(warm_start=str(old.path)), out=tmp_path / "new")
    kept = new.graph()
    assert names_of(kept, "train", "valid", "test") == set(grown())
    assert not names_of(kept, "valid", "test") & names_of(graph, "train")
    unseen = set(grown()) - names_of(graph, "train")
    assert len(unseen) // 3 < len(kept.valid) + len(kept.test) <= len(unseen) // 2
    assert f"train {len(kept.train)}, valid {len(kept.valid)}" in " ".join(kept.notes)
    assert "knows 62 of 72 entities and 3 of 3 predicates" in kept.notes[-1]


def test_what_a_run_began_with_is_not_forgotten_over_generations(
    graph: Graph, tmp_path: Path
) -> None:
    """The second run lacks facts of the first, whose folder goes; the third has them again."""
    first = training.train(graph, QUICK, out=tmp_path / "first")
    some = [fact for fact in grown() if fact[1] != "plus two" or fact[0] < "n20"]
    begun = QUICK.replace(warm_start=str(first.path))
    second = training.train(trifact.load(some, valid=0.1, test=0.1), begun, out=tmp_path / "second")
    assert names_of(graph, "train") - names_of(second.graph(), "train")
    shutil.rmtree(first.path)
    of_first = evaluate(second, other=graph).metrics["facts"]
    known = names_of(graph, "train") | names_of(second.graph(), "train")
    assert of_first["in_train"] == len(names_of(graph, "train", "valid", "test") & known)
    whole = trifact.load(grown(), valid=0.1, test=0.1)
    seen = names_of(graph, "train") | names_of(second.graph(), "train")
    assert names_of(whole, "valid", "test") & (seen - names_of(second.graph(), "train"))
    begun = QUICK.replace(warm_start=str(second.path))
    third = training.train(whole, begun, out=tmp_path / "third")
    assert not names_of(third.graph(), "valid", "test") & seen
    given = replace(whole, draw=None)
    held_out = len(names_of(whole, "valid", "test") & seen)
    with pytest.raises(RunError, match=f"it was trained on {held_out} of the"):
        training.train(given, begun, out=tmp_path / "fourth")


def test_splits_of_ones_own_are_not_drawn_anew(graph: Graph, tmp_path: Path) -> None:
    """Though they were made of a graph whose splits were drawn."""
    old = training.train(graph, QUICK, out=tmp_path / "old")
    own = replace(graph, train=graph.train[8:], valid=graph.valid, test=graph.train[:8])
    with pytest.raises(RunError, match="it was trained on 8 of the"):
        training.train(own, QUICK.replace(warm_start=str(old.path)), out=tmp_path / "new")
    assert len(evaluate(old, other=own).ranks.facts) == 8


def test_what_is_left_open_goes_by_the_facts_that_are_trained_on(tmp_path: Path) -> None:
    """They are more than before the held-out facts were drawn once more."""
    facts = [(f"n{i % 20:02}", "meets", f"n{(7 * i + i // 20) % 20:02}") for i in range(104)]
    old = training.train(trifact.load(facts[:100], valid=0, test=0), QUICK, out=tmp_path / "old")
    config, grown = (
        QUICK.replace(warm_start=str(old.path)),
        trifact.load(facts, valid=0.2, test=0.2),
    )
    new = training.train(grown, config, out=tmp_path / "new")
    assert new.config.reg == resolved(config, new.graph()).reg != resolved(config, grown).reg


def test_where_nothing_new_can_be_held_out_that_is_said(graph: Graph, tmp_path: Path) -> None:
    everything = training.refit(training.train(graph, QUICK, out=tmp_path / "old"))
    config = QUICK.replace(epochs=1, warm_start=str(everything.path))
    new = training.train(graph, config, out=tmp_path / "new")
    assert len(new.graph().valid) == 0
    assert "too few facts are new to the run that it begins with" in " ".join(new.graph().notes)
    with pytest.raises(TrainingError, match="no validation facts, by which plateau goes"):
        training.train(graph, config.replace(schedule="plateau"), out=tmp_path / "other")
    assert not (tmp_path / "other").exists()


def test_a_run_without_factors_is_no_beginning(graph: Graph, tmp_path: Path) -> None:
    old = training.train(graph, QUICK, out=tmp_path / "old")
    shutil.rmtree(old.path / CHECKPOINTS)
    with pytest.raises(RunError, match="no checkpoint best yet"):
        training.train(graph, QUICK.replace(warm_start=str(old.path)), out=tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_a_run_keeps_no_more_than_it_has_to(graph: Graph, tmp_path: Path) -> None:
    first = training.train(graph, QUICK, out=tmp_path / "first")
    begun = QUICK.replace(warm_start=str(first.path))
    second = training.train(trifact.load(grown(), valid=0.1), begun, out=tmp_path / "second")
    assert len(seen_facts(first.path)) == len(seen_facts(second.path)) == 0


def test_splits_that_came_with_the_graph_are_refused_rather_than_changed(
    graph: Graph, tmp_path: Path
) -> None:
    everything = training.refit(training.train(graph, QUICK, out=tmp_path / "old"))
    given = replace(graph, draw=None)
    config = QUICK.replace(warm_start=str(everything.path))
    held_out = len(graph.valid) + len(graph.test)
    with pytest.raises(RunError, match=f"trained on {held_out} of the {held_out} held-out facts"):
        training.train(given, config, out=tmp_path / "new")
    stranger = trifact.load([("a", "next", "b"), ("b", "next", "c")])
    with pytest.raises(RunError, match="it knows no entity of facts"):
        training.train(stranger, config, out=tmp_path / "new")
    assert not (tmp_path / "new").exists()
