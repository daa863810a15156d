"""An evaluation is what a slow one says, whatever the graph, and says what it was."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import trifact
from tests.run.conftest import KeepRun, random_model, with_ties
from trifact.errors import ConfigError, InputError, RunError, TrifactError
from trifact.graph.graph import Graph
from trifact.graph.known import Ints, in_order
from trifact.run import history, training
from trifact.run.candidates import of_types
from trifact.run.evaluation import by_fact, evaluate, is_current, read_evaluation
from trifact.run.options import TrainConfig
from trifact.run.protocol import EvaluateConfig
from trifact.run.questions import Questions
from trifact.run.ranktable import Ranked
from trifact.run.run import Run
from trifact.tensor.models import Model
from trifact.tensor.ranking import filtered_and_raw

CPU = torch.device("cpu")
Facts = list[tuple[int, int, int]]
Candidates = dict[int, set[int]] | None


def graph_of(train: Facts, valid: Facts = [], test: Facts = [], *, size: int = 0) -> Graph:  # noqa: B006
    """A graph of numbered names; `size` entities, or as many as the facts have."""
    everything = train + valid + test
    entities = size or 1 + max(max(s, o) for s, _, o in everything)
    predicates = 1 + max(p for _, p, _ in everything)
    names = [(f"e{i:02}", "p0", f"e{i:02}") for i in range(entities)]
    names += [("e00", f"p{i}", "e00") for i in range(predicates)]
    shell = trifact.load(names, valid=0.0, test=0.0)
    a, b, c = (
        in_order(np.array(facts, dtype=np.int64).reshape(-1, 3)) for facts in (train, valid, test)
    )
    return Graph("numbers", shell.entities, shell.predicates, a, b, c)


def brute_force(
    scores: Ints, graph: Graph, facts: Ints, *, known: Facts, allowed: Candidates = None
) -> list[list[int]]:
    """One rank after the other, in a dozen lines: scores (2P, N, N) by predicate and entity."""
    found, p_all, n = [], len(graph.predicates), len(graph.entities)
    left_out = {*known} | {(o, p + p_all, s) for s, p, o in known}
    for s, p, o in facts.tolist():
        row = []
        for entity, predicate, answer in [(s, p, o), (o, p + p_all, s)]:
            mine = scores[predicate, entity]
            candidates = range(n) if allowed is None else allowed.get(predicate, set())
            rivals = [k for k in candidates if k != answer]
            rivals = [k for k in rivals if (entity, predicate, k) not in left_out]
            row.append(1 + sum(mine[k] > mine[answer] for k in rivals))
            row.append(1 + sum(mine[k] >= mine[answer] for k in rivals))
        found.append(row)
    return found


def all_facts(graph: Graph, *splits: str) -> Facts:
    """The facts of some splits, of all if none is named."""
    return [(s, p, o) for split in splits or graph.splits for s, p, o in graph.splits[split]]


def all_scores(model: Model, graph: Graph) -> Ints:
    """The score of every question."""
    n, p = len(graph.entities), 2 * len(graph.predicates)
    entities, predicates = torch.arange(n).repeat(p), torch.arange(p).repeat_interleave(n)
    return model.scores(entities, predicates).view(p, n, n).long().numpy()


def as_rows(ranked: Ranked) -> list[list[int]]:
    """Optimistic and pessimistic towards objects, then towards subjects."""
    columns = (ranked.optimistic, ranked.pessimistic)
    return [[int(c[i, side]) for side in (0, 1) for c in columns] for i in range(len(columns[0]))]


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    n, p = draw(st.integers(1, 7)), draw(st.integers(1, 3))
    ids = st.tuples(st.integers(0, n - 1), st.integers(0, p - 1), st.integers(0, n - 1))
    train, valid, test = (draw(st.lists(ids, min_size=1, max_size=12)) for _ in range(3))
    return graph_of(train, valid, test, size=n)


@settings(max_examples=60, deadline=None)
@given(graphs(), st.integers(0, 1000), st.sampled_from([1, 400, 2**20]))
def test_ranks_are_those_of_a_brute_force_evaluator(graph: Graph, seed: int, budget: int) -> None:
    model = with_ties(random_model("complex", graph, rank=2, seed=seed))
    questions = Questions.of(graph.test, graph.known(), device=CPU)
    both = {(s, p) for s, p, _ in graph.reciprocal("test").tolist()}
    assert len(questions.asked.entities) == len(both)  # each query is scored once
    found = filtered_and_raw(model, questions.asked, budget=budget)
    scores = all_scores(model, graph)
    for ranks, known in zip(found, (all_facts(graph), []), strict=True):
        expected = brute_force(scores, graph, graph.test, known=known)
        assert as_rows(by_fact(questions, ranks)) == expected


SMALL = graph_of(
    train=[(0, 0, 1), (1, 0, 2), (2, 1, 3), (3, 1, 0), (4, 0, 1)],
    valid=[(0, 0, 2), (1, 1, 3)],
    test=[(0, 0, 3), (0, 0, 4), (0, 0, 4), (2, 2, 1), (5, 0, 1)],
)


def test_a_fact_that_repeats_is_ranked_as_often_and_never_filters_itself(keep_run: KeepRun) -> None:
    found = evaluate(keep_run(SMALL, ties=True))
    assert found.ranks.facts.tolist() == SMALL.test.tolist()
    assert as_rows(found.ranks.filtered)[1] == as_rows(found.ranks.filtered)[2]
    assert found.metrics["facts"]["queries"] == 10
    assert found.metrics["facts"]["distinct_queries"] == 7


def test_unseen_names_are_counted_and_reported_with_and_without(keep_run: KeepRun) -> None:
    found = evaluate(keep_run(SMALL))
    assert found.metrics["facts"]["unseen"] == {"facts": 2, "entities": 1, "predicates": 1}
    assert found.ranks.seen.tolist() == [True, True, True, False, False]
    section, ranks = found.metrics["filtered"], found.ranks.filtered.realistic
    assert section["seen"]["mrr"] == pytest.approx((1 / ranks[:3]).mean())
    assert section["unseen"]["mrr"] == pytest.approx((1 / ranks[3:]).mean())
    assert section["overall"]["queries"] == 10


@pytest.mark.parametrize("splits", [("train",), ("train", "valid"), ("train", "valid", "test")])
def test_the_filter_is_the_one_asked_for_and_recorded(
    keep_run: KeepRun, splits: tuple[str, ...]
) -> None:
    run = keep_run(SMALL, ties=True)
    found = evaluate(run, EvaluateConfig(split="valid", filter=splits, raw=True))
    known = all_facts(SMALL, *splits)
    scores = all_scores(run.model(), SMALL)
    assert as_rows(found.ranks.filtered) == brute_force(scores, SMALL, SMALL.valid, known=known)
    assert found.ranks.raw is not None
    assert as_rows(found.ranks.raw) == brute_force(scores, SMALL, SMALL.valid, known=[])
    assert found.metrics["protocol"]["filter"] == [*splits]


def among(run: Run, allowed: dict[int, set[int]]) -> list[list[int]]:
    """Filtered ranks of the test facts of SMALL among some candidates."""
    scores = all_scores(run.model(), SMALL)
    return brute_force(scores, SMALL, SMALL.test, known=all_facts(SMALL), allowed=allowed)


OBSERVED = {0: {1, 2}, 3: {0, 1, 4}, 1: {3, 0}, 4: {2, 3}}  # towards subjects: predicate + 3


def test_type_constrained_candidates_are_those_of_train_and_labelled(keep_run: KeepRun) -> None:
    run = keep_run(SMALL, ties=True)
    found = evaluate(run, EvaluateConfig(type_constrained=True))
    assert as_rows(found.ranks.filtered) == among(run, OBSERVED)
    assert found.path.name == "test-type-constrained"
    assert found.metrics["protocol"]["candidates"] == "type-constrained"
    # (0, 0, 3), (0, 0, 4) twice towards objects; (5, 0, 1) and (2, 2, 1) towards both or one
    assert found.metrics["protocol"]["answers_that_are_no_candidates"] == 6


def test_candidates_by_type_share_one_with_those_of_train(
    keep_run: KeepRun, tmp_path: Path
) -> None:
    types = tmp_path / "types.tsv"
    types.write_text("e01\tcity\ne03\tcity; port\ne05\tport\ne04\tstar\nsomebody\telse\n")
    allowed = {0: {1, 2, 3}, 3: {0, 1, 4, 3}, 1: {3, 0, 1, 5}, 4: {2, 3, 1, 5}}
    candidates = of_types(SMALL, types)
    assert {p: set(candidates.of(p)) for p in allowed} == allowed  # also those without a type
    run = keep_run(SMALL, ties=True)
    found = evaluate(run, EvaluateConfig(types=str(types)))
    assert as_rows(found.ranks.filtered) == among(run, allowed)
    assert found.metrics["protocol"]["types"] == "types.tsv"


def test_a_file_of_types_may_call_entities_by_label(tmp_path: Path) -> None:
    by_name, by_label = tmp_path / "names.tsv", tmp_path / "labels.tsv"
    by_name.write_text("e01\tcity\ne03\tcity\n")
    by_label.write_text("Rome\tcity\ne03\tcity\nTwin\tcity\n")  # two are called Twin
    labelled = replace(SMALL, entity_labels={1: "Rome", 4: "Twin", 5: "Twin"})
    found, expected = of_types(labelled, by_label), of_types(SMALL, by_name)
    assert found.entities.tolist() == expected.entities.tolist()
    assert 3 in found.of(0).tolist()  # of the type of Rome, which train has there


@pytest.mark.parametrize(
    ("text", "problem"),
    [("e01\n", r"types.tsv:1: expected an entity"), ("x\ty\n", "for none of the graph's")],
)
def test_a_wrong_file_of_types_gets_one_sentence(
    keep_run: KeepRun, tmp_path: Path, text: str, problem: str
) -> None:
    (tmp_path / "types.tsv").write_text(text)
    with pytest.raises(InputError, match=problem):
        evaluate(keep_run(SMALL), EvaluateConfig(types=str(tmp_path / "types.tsv")))


def test_facts_of_another_graph_are_matched_by_name_and_the_rest_counted(
    keep_run: KeepRun, tmp_path: Path
) -> None:
    lines = ["e03\tp0\te02", "e00\tp0\te01", "e03\tp0\tnew", "e03\tunheard\te02", "new\tp1\te01"]
    (tmp_path / "more.tsv").write_text("\n".join(lines))
    found = evaluate(keep_run(SMALL), EvaluateConfig(graph=str(tmp_path / "more.tsv")))
    assert found.ranks.facts.tolist() == [[0, 0, 1], [3, 0, 2]]
    assert found.metrics["facts"]["left_out"] == {"facts": 3, "entities": 1, "predicates": 1}
    assert found.metrics["facts"]["in_train"] == 1
    assert found.metrics["facts"]["split"] == "all"
    assert found.path.name == "all-of-more.tsv"


def test_a_graph_whose_splits_were_drawn_is_ranked_whole_like_its_file(
    keep_run: KeepRun, tmp_path: Path
) -> None:
    path = tmp_path / "more.tsv"
    path.write_text("".join(f"e0{i}\tp0\te0{j}\n" for i in range(4) for j in range(4)))
    run, drawn = keep_run(SMALL), trifact.load(path, valid=0.2, test=0.2)
    assert len(drawn.test)
    by_file = evaluate(run, EvaluateConfig(graph=str(path)))
    by_graph = evaluate(run, other=drawn)
    assert by_graph.path.name == "all-of-more.tsv"
    assert sorted(by_graph.ranks.facts.tolist()) == sorted(by_file.ranks.facts.tolist())
    assert by_graph.metrics["filtered"]["overall"] == by_file.metrics["filtered"]["overall"]


def test_facts_nobody_knows_are_an_error_not_an_empty_table(
    keep_run: KeepRun, tmp_path: Path
) -> None:
    (tmp_path / "other.tsv").write_text("a\tb\tc\n")
    with pytest.raises(RunError, match="the names of none of its 1 facts"):
        evaluate(keep_run(SMALL), EvaluateConfig(graph=str(tmp_path / "other.tsv")))


def test_an_empty_split_is_an_error(keep_run: KeepRun) -> None:
    with pytest.raises(RunError, match="there is no fact to rank in its split test"):
        evaluate(keep_run(graph_of([(0, 0, 1)])))


def test_one_entity_and_one_predicate_have_rank_one(keep_run: KeepRun) -> None:
    run = keep_run(graph_of([(0, 0, 0)], test=[(0, 0, 0)]))
    for config in (EvaluateConfig(), EvaluateConfig(filter=("train",)), EvaluateConfig(raw=True)):
        overall = evaluate(run, config).metrics["filtered"]["overall"]
        assert (overall["mrr"], overall["mr"], overall["hits@1"]) == (1.0, 1.0, 1.0)


def test_a_score_that_is_not_a_number_is_an_error(poisoned: Callable[[Graph], Run]) -> None:
    with pytest.raises(TrifactError, match="not a number"):
        evaluate(poisoned(SMALL))


def test_what_was_kept_is_read_back(keep_run: KeepRun) -> None:
    run = keep_run(SMALL)
    made = evaluate(run, EvaluateConfig(raw=True, double=True, label="mine"))
    kept = read_evaluation(run, "mine")
    assert kept.metrics == made.metrics == json.loads((made.path / "metrics.json").read_text())
    assert kept.ranks.raw is not None
    assert made.ranks.raw is not None
    for a, b in zip(
        (*made.ranks.filtered, *made.ranks.raw, made.ranks.facts, made.ranks.seen),
        (*kept.ranks.filtered, *kept.ranks.raw, kept.ranks.facts, kept.ranks.seen),
        strict=True,
    ):
        assert np.array_equal(a, b)


def test_the_metrics_of_a_run_have_those_of_its_test_facts(keep_run: KeepRun) -> None:
    run = keep_run(SMALL)
    assert run.metrics == {"epoch": 1, "mrr": None}
    found = evaluate(run)
    assert run.metrics["test"] == found.metrics["filtered"]["overall"]
    assert [*run.evaluations] == ["test"]
    assert is_current(run, found.metrics)
    again = keep_run(SMALL, seed=1)  # other factors in the same folder
    assert not is_current(again, found.metrics)
    assert again.metrics == {"epoch": 1, "mrr": None}


@pytest.mark.parametrize("name", ["metrics.json", "ranks.parquet"])
def test_files_that_were_altered_are_refused(keep_run: KeepRun, name: str) -> None:
    run = keep_run(SMALL)
    (evaluate(run).path / name).write_bytes(b"{}")
    with pytest.raises(RunError, match=f"{name}.*evaluate again"):
        read_evaluation(run, "test")


def test_a_newer_format_is_refused_naming_both(keep_run: KeepRun) -> None:
    run = keep_run(SMALL)
    path = evaluate(run).path / "metrics.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "format": 9}))
    with pytest.raises(RunError, match="format is 9, this trifact reads up to 1"):
        read_evaluation(run, "test")


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"filter": ("train", "tests")}, "filter takes some of train, valid, test, not tests"),
        ({"filter": ()}, "filter takes some of"),
        ({"type_constrained": True, "types": "t.tsv"}, "exclude each other"),
        ({"k": (0,)}, "whole numbers from 1 on"),
        ({"label": "../out"}, "must be the name of a folder"),
        ({"split": "dev"}, "split must be one of"),
    ],
)
def test_wrong_settings_get_one_sentence(changes: dict[str, object], sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence):
        EvaluateConfig.from_values(changes)


def test_the_label_of_a_split_is_for_that_split() -> None:
    for changes in (
        {"split": "valid"},
        {"graph": "UMLS"},
        {"double": True},
        {"filter": ("train",)},
    ):
        with pytest.raises(ConfigError, match="label test is for the test facts, ranked as usual"):
            EvaluateConfig.from_values({"label": "test", **changes})
    assert EvaluateConfig(label="test").folder("test") == "test"


def test_factors_that_change_meanwhile_do_not_get_the_ranks_of_others(
    keep_run: KeepRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = graph_of([(0, 0, 1), (1, 0, 2)], test=[(0, 0, 2)])
    run, load_model = keep_run(graph), Run.model

    def trained_on(self: Run, which: str) -> Model:
        found = load_model(self, which)
        keep_run(graph, seed=1)  # the same folder
        return found

    monkeypatch.setattr(Run, "model", trained_on)
    with pytest.raises(RunError, match="it is being trained, and its factors changed; try again"):
        evaluate(run)
    assert not (run.path / "evaluation").exists()


def test_the_epoch_of_the_last_checkpoint_is_its_own(
    graph_that_trains: Graph, tmp_path: Path
) -> None:
    config = TrainConfig(rank=4, epochs=3, validate_every=1, precision="float32")
    run = training.train(graph_that_trains, config, out=tmp_path / "run")
    history.append(run.path / "history.jsonl", replace(run.history[-1], epoch=4))  # not saved
    assert evaluate(run, EvaluateConfig(checkpoint="last")).metrics["run"]["epoch"] == 3


@pytest.fixture
def graph_that_trains() -> Graph:
    facts = [(i, 0, (i + 1) % 8) for i in range(8)]
    return graph_of(facts, valid=[(0, 0, 2)], test=[(1, 0, 3)])
