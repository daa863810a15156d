"""Discovery finds what a slow search finds, whatever the blocks, and survives its own end."""

from __future__ import annotations

import json
import math
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import duckdb
import numpy as np
import pytest
import torch
import typer
from hypothesis import given, settings
from hypothesis import strategies as st
from scripts import check_discovery
from typer.testing import CliRunner

import trifact
from tests.run.conftest import KeepRun, keep
from tests.run.test_evaluation import graph_of
from tests.tensor.conftest import score_tensor
from trifact.answer import discovery, pausing
from trifact.answer.calibration import Calibration, calibrate
from trifact.answer.discovery import Interrupted, discover
from trifact.answer.expectation import lengths
from trifact.answer.leftout import LeftOut
from trifact.answer.options import DiscoverConfig
from trifact.answer.ordering import ByProbability, ByScore, Order
from trifact.answer.pairs import Pairs
from trifact.answer.platt import Maps
from trifact.answer.roles import likely
from trifact.answer.shortlist import Found, Shortlist, best_of
from trifact.answer.single import single_sides, unanswered
from trifact.answer.sweep import Sweep
from trifact.cli.discover import discover as command
from trifact.errors import ConfigError, InputError, OutputError, TrifactError
from trifact.graph.graph import Graph
from trifact.run.candidates import Candidates, observed
from trifact.run.run import Run
from trifact.tensor.models import MODELS, Model

SPLITS = ("train", "valid", "test")


def a_model(name: str, graph: Graph, *, setting: str = "reciprocal", seed: int = 0) -> Model:
    """Random factors of order one in float64."""
    sides = 2 if setting == "reciprocal" else 1
    sizes = len(graph.entities), sides * len(graph.predicates)
    model = MODELS[name](*sizes, rank=3, scale=1.0, seed=seed)
    model.tables = {key: table.double() for key, table in model.tables.items()}
    return model


def a_calibration(predicates: int, seed: int = 0) -> Calibration:
    """Maps that differ so much between predicates that they change the order."""
    random = np.random.default_rng(seed)
    own = np.stack([random.uniform(0.2, 3, predicates), random.normal(0, 3, predicates)], axis=1)
    return Calibration(Maps(own.mean(axis=0), own), 0.5, {})


def every_score(model: Model, predicates: int) -> torch.Tensor:
    """The score of every fact by its definition: (N, P, N)."""
    x = score_tensor(model, model.tables)
    forward, p = x[:, :predicates].log_softmax(2), predicates
    if model.predicates == predicates:
        return (forward + x.log_softmax(0)) / 2
    return (forward + x[:, p:].log_softmax(2).permute(2, 1, 0)) / 2


SINGLE = (0.7, 2)
"""Two questions of which 0.7 have one answer make a direction single: for graphs this small."""


def slow_search(
    scores: torch.Tensor, graph: Graph, config: DiscoverConfig, order: Order
) -> list[tuple[float, float, int, int, int]]:
    """Pair by pair, in plain Python: key, score and fact, best first."""
    candidates = who_makes_sense(graph, config)
    train = {tuple(f) for f in graph.train.tolist()}
    known = {tuple(f) for split in config.filter for f in graph.splits[split].tolist()}
    found = []
    for p in range(len(graph.predicates)):
        its = {(s, o) for s, q, o in train if p == q}
        answered = [{f[side] for f in known if p == f[1]} for side in (0, 2)]
        ended = [
            answered[side] if config.single and has_one_answer(its, side) else set()
            for side in (0, 1)
        ]
        for s in {*candidates.of(p + len(graph.predicates)).tolist()} - ended[0]:
            for o in {*candidates.of(p).tolist()} - ended[1]:
                if (s, p, o) in known or (s == o and not any(a == b for a, b in its)):
                    continue
                score = float(scores[s, p, o])
                found.append((float(order.keys(np.array([score]), p)[0]), score, s, p, o))
    found.sort(key=lambda row: (-row[0], -row[1], *row[2:]))
    if config.min_probability is not None:
        found = [row for row in found if row[0] >= config.min_probability]
    counts: dict[int, int] = {}
    kept = []
    for row in found:
        counts[row[3]] = counts.get(row[3], 0) + 1
        if config.per_predicate is None or counts[row[3]] <= config.per_predicate:
            kept.append(row)
    return kept[: config.top]


def has_one_answer(pairs: set[tuple[int, int]], side: int) -> bool:
    """Whether those who ask, on this side of the pairs, mostly have one answer."""
    askers = [pair[side] for pair in pairs]
    counts = [askers.count(asker) for asker in set(askers)]
    return len(counts) >= SINGLE[1] and counts.count(1) >= SINGLE[0] * len(counts)


def who_makes_sense(graph: Graph, config: DiscoverConfig) -> Candidates:
    """Candidates, before those with an answer are taken out."""
    return observed(graph) if config.among == "observed" else likely(graph, 0.4)


def a_sweep(
    model: Model, graph: Graph, config: DiscoverConfig, *, order: Order, budget: int
) -> Sweep:
    """A sweep over all pairs that make sense, with a budget in bytes."""
    train = graph.known("train")
    single = single_sides(train, *SINGLE) & config.single
    candidates = unanswered(who_makes_sense(graph, config), train, single)
    pairs = Pairs(candidates, np.arange(len(graph.predicates)), len(graph.predicates))
    least = config.min_probability if config.min_probability is not None else -math.inf
    news = Shortlist(config.top, order, each=config.per_predicate, least=least)
    left_out = LeftOut.of(graph, config.filter, single=single)
    return Sweep(model, pairs, left_out, news=news, budget=budget)


def swept(
    model: Model, graph: Graph, config: DiscoverConfig, *, order: Order, budget: int
) -> Sweep:
    """The same, to its end."""
    sweep = a_sweep(model, graph, config, order=order, budget=budget)
    sweep.run(lambda step: None)
    assert sweep.spent == sweep.cost
    return sweep


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    n, p = draw(st.integers(2, 8)), draw(st.integers(1, 4))
    ids = st.tuples(st.integers(0, n - 1), st.integers(0, p - 1), st.integers(0, n - 1))
    train = draw(st.lists(ids, min_size=1, max_size=20))
    valid, test = (draw(st.lists(ids, max_size=6)) for _ in range(2))
    return graph_of(train, valid, test, size=n)


@st.composite
def requests(draw: st.DrawFn, *, calibrated: bool) -> DiscoverConfig:
    return DiscoverConfig(
        top=draw(st.sampled_from([1, 3, 10, 1000])),
        per_predicate=draw(st.sampled_from([None, 1, 2, 5])),
        min_probability=draw(st.sampled_from([None, 0.2, 0.9])) if calibrated else None,
        among=draw(st.sampled_from(["observed", "roles"])),
        single=draw(st.booleans()),
        filter=draw(st.sampled_from([SPLITS, ("train",), ("train", "test")])),
    )


@settings(max_examples=100, deadline=None)
@given(
    graph=graphs(),
    kind=st.sampled_from(
        # DistMult of the standard setting scores (s, p, o) and (o, p, s) alike: see the ties below
        [("cp", "reciprocal"), ("cp", "standard"), ("complex", "reciprocal"),
         ("complex", "standard"), ("distmult", "reciprocal")]
    ),
    budget=st.sampled_from([1, 2000, 2**20]),
    calibrated=st.booleans(),
    data=st.data(),
)  # fmt: skip
def test_a_sweep_finds_what_a_search_pair_by_pair_finds(
    graph: Graph, kind: tuple[str, str], budget: int, calibrated: bool, data: st.DataObject
) -> None:
    model = a_model(kind[0], graph, setting=kind[1], seed=len(graph.train))
    order = ByProbability(a_calibration(len(graph.predicates))) if calibrated else ByScore()
    config = data.draw(requests(calibrated=calibrated))
    scores = every_score(model, len(graph.predicates))
    done = swept(model, graph, config, order=order, budget=budget)
    # the list itself, and the list had only train been known
    for found, known in ((done.news.best(), config.filter), (done.unfiltered(), ("train",))):
        slow = slow_search(scores, graph, config.replace(filter=known), order)
        assert found.facts.tolist() == [list(row[2:]) for row in slow]
        assert found.scores == pytest.approx([row[1] for row in slow], rel=1e-9)


DENSE = graph_of(
    train=[(s, p, (s * 5 + p * 3 + k) % 12) for s in range(12) for p in range(8) for k in range(3)],
    valid=[(s, s % 8, (s * 7 + 5) % 12) for s in range(12)],
    test=[(s, (s + 3) % 8, (s * 11 + 4) % 12) for s in range(12)],
    size=14,
)
"""12 entities in 8 predicates, and two that train does not have."""


@pytest.mark.parametrize("name", ["cp", "distmult", "complex"])
@pytest.mark.parametrize("setting", ["reciprocal", "standard"])
def test_where_all_is_tied_the_ids_decide(name: str, setting: str) -> None:
    model = a_model(name, DENSE, setting=setting)
    model.tables = {key: torch.zeros_like(table) for key, table in model.tables.items()}
    config = DiscoverConfig(top=50)
    slow = slow_search(every_score(model, 8), DENSE, config, ByScore())
    for budget in (1, 3000, 2**20):
        found = swept(model, DENSE, config, order=ByScore(), budget=budget).news.best()
        assert found.facts.tolist() == [list(row[2:]) for row in slow]
        assert found.scores.tolist() == pytest.approx([-math.log(14)] * 50)


def test_blocks_change_nothing_but_the_last_bits() -> None:
    model, config = a_model("complex", DENSE), DiscoverConfig(top=100)
    whole = swept(model, DENSE, config, order=ByScore(), budget=2**30)
    small = swept(model, DENSE, config, order=ByScore(), budget=1)
    assert small.done > whole.done + 100  # it did go in blocks
    for one, other in (
        (whole.news.best(), small.news.best()),
        (whole.unfiltered(), small.unfiltered()),
    ):
        assert one.facts.tolist() == other.facts.tolist()
        assert one.scores == pytest.approx(other.scores, rel=1e-13)


def test_float32_scores_are_those_of_facts(keep_run: KeepRun) -> None:
    run = keep_run(DENSE)
    found = discover(run, DiscoverConfig(top=40))
    exact = run.model()
    exact.tables = {key: table.double() for key, table in exact.tables.items()}
    slow = every_score(exact, 8)
    scores = [float(slow[s, p, o]) for s, p, o in found.facts.tolist()]
    assert found.columns["score"] == pytest.approx(scores, abs=1e-5)


def test_known_facts_are_never_listed_and_self_loops_only_where_train_has_one() -> None:
    train = [(0, 0, 1), (1, 0, 2), (2, 0, 0), (0, 1, 0), (1, 1, 2), (2, 1, 1), (3, 2, 4)]
    graph = graph_of(train, valid=[(0, 0, 2)], test=[(1, 1, 1)])
    config = DiscoverConfig(top=1000, among="observed", single=False)
    sweep = swept(a_model("cp", graph), graph, config, order=ByScore(), budget=2**20)
    found = {tuple(fact) for fact in sweep.news.best().facts.tolist()}
    assert found == {(1, 0, 0), (2, 0, 1), (0, 1, 1), (0, 1, 2), (1, 1, 0), (2, 1, 0), (2, 1, 2)}
    assert not any(p == 2 for _, p, _ in found)  # one fact, and so no other pair
    held = {tuple(fact) for fact in sweep.held.best().facts.tolist()}
    assert held == {(0, 0, 2), (1, 1, 1)}


@settings(max_examples=100, deadline=None)
@given(st.data(), st.integers(1, 30), st.sampled_from([None, 1, 4]))
def test_a_shortlist_is_the_best_of_all_that_came_by(
    data: st.DataObject, size: int, each: int | None
) -> None:
    random = np.random.default_rng(data.draw(st.integers(0, 100)))
    order = ByProbability(a_calibration(3))
    shortlist, everything = Shortlist(size, order, each=each, least=0.1), Found.nothing()
    for _ in range(data.draw(st.integers(0, 12))):
        count, predicate = int(random.integers(0, 40)), int(random.integers(3))
        facts = random.integers(0, 50, (count, 3))
        facts[:, 1] = predicate
        scores = -random.integers(0, 12, count) / 4  # many are equal
        everything = Found.joined(everything, Found(facts, scores, order.keys(scores, predicate)))
        useful = scores >= shortlist.bar(predicate)
        shortlist.add(facts[useful], scores[useful])
    enough = everything[np.flatnonzero(everything.keys >= 0.1)]
    wanted = best_of(enough, size, each=each)
    found = shortlist.best()
    assert found.facts.tolist() == wanted.facts.tolist()
    assert found.keys.tolist() == wanted.keys.tolist()
    again = Shortlist(size, order, each=each, least=0.1)
    again.restore(found)
    assert again.best().facts.tolist() == wanted.facts.tolist()


@settings(max_examples=200, deadline=None)
@given(st.floats(0.01, 20), st.floats(-30, 30), st.floats(1e-9, 1))
def test_a_bar_is_where_the_probability_is_reached(a: float, b: float, key: float) -> None:
    order = ByProbability(Calibration(Maps(np.ones(2), np.array([[a, b]])), 0.5, {}))
    bar = order.bar(key, 0)
    if bar == math.inf:  # not even a certain answer is enough
        assert order.keys(np.zeros(1), 0)[0] < key
        return
    assert order.keys(np.array([bar]), 0)[0] < key
    slightly = 1e-5 * max(1.0, -bar)
    assert order.keys(np.array([bar + slightly]), 0)[0] >= key


@settings(max_examples=40, deadline=None)
@given(graphs(), st.sampled_from([0.3, 0.5, 0.75, 1.0]))
def test_roles_are_those_that_a_loop_over_entities_finds(graph: Graph, share: float) -> None:
    p, train = len(graph.predicates), graph.reciprocal("train").tolist()
    # who answers a predicate, reciprocal ids: the same as `observed` gives
    holders = [{o for _, q, o in train if q == role} for role in range(2 * p)]
    found = likely(graph, share)
    for role, mine in enumerate(holders):
        going_with = [h for h in holders if h and len(h & mine) >= share * len(h)]
        assert found.of(role).tolist() == sorted(set().union(mine, *going_with))


def test_the_subject_that_lacks_its_only_object_is_found_by_its_roles(tmp_path: Path) -> None:
    cities = [(f"c{i}", "lies in", f"land{i % 3}") for i in range(9)]
    zones = [(f"c{i}", "has zone", f"zone{i % 3}") for i in range(8)]  # and not the last one
    graph = trifact.load(cities + zones, valid=0.0, test=0.0)
    run = keep(tmp_path / "run", graph, a_model("complex", graph))
    for among, there in (("observed", False), ("roles", True)):
        found = discover(run, DiscoverConfig(top=1000, among=among, single=False))
        rows = zip(found.columns["subject"], found.columns["predicate"], strict=True)
        assert (("c8", "has zone") in set(rows)) == there


@pytest.mark.parametrize("side", ["subject", "object"])
def test_who_has_the_one_answer_is_not_asked_again(tmp_path: Path, side: str) -> None:
    cities = [(f"c{i:02}", "lies in", f"land{i % 3}") for i in range(13)]
    zones = [(f"c{i:02}", "has zone", f"zone{i % 3}") for i in range(12)]  # and not the last one
    twins = [(f"c{i:02}", "twin of", f"c{(i + k) % 13:02}") for i in range(13) for k in (1, 2)]
    facts, missing = cities + zones + twins, (12, 0, "zone1")
    if side == "object":  # the same, said the other way round
        facts = [(o, p, s) for s, p, o in facts]
    graph = trifact.load(facts, valid=0.0, test=0.0)
    run = keep(tmp_path / "run", graph, a_model("complex", graph))
    found = discover(run, DiscoverConfig(top=1000))
    rows = {(row[side], row["predicate"]) for row in found}
    assert {row for row in rows if row[1] != "twin of"} == {("c12", "has zone")}
    assert len(rows) == 14  # a town may have another twin

    test = np.array([[missing[0], missing[1], graph.entities.find(missing[2])]])
    held = replace(graph, test=test if side == "subject" else test[:, ::-1])
    run = keep(tmp_path / "held", held, a_model("complex", held))
    found = discover(run, DiscoverConfig(top=1000))
    assert {row["predicate"] for row in found} == {"twin of"}  # test has the answer
    assert found.expected is not None
    assert found.expected["at"][-1]["found"] == 1
    found = discover(run, DiscoverConfig(top=1000, filter=("train",)))
    assert sum(row["predicate"] == "has zone" for row in found) == 3


def test_the_estimate_is_what_the_list_without_the_held_out_facts_finds(keep_run: KeepRun) -> None:
    run = keep_run(DENSE)
    calibrate(run)
    listed = discover(run, DiscoverConfig(top=300))
    before = discover(run, DiscoverConfig(top=300, filter=("train",)))
    assert listed.expected is not None
    held = {tuple(f) for f in [*DENSE.valid.tolist(), *DENSE.test.tolist()]}
    held -= {tuple(f) for f in DENSE.train.tolist()}
    assert listed.expected["held_out"] == len(held)
    rows = [tuple(f) for f in before.facts.tolist()]
    for at in listed.expected["at"]:
        assert at["found"] == sum(row in held for row in rows[: at["n"]])
        assert at["at_least"] == pytest.approx(at["found"] / at["n"])
    assert listed.expected["at"][-1]["found"] > 0
    assert not held & {tuple(f) for f in listed.facts.tolist()}
    means = {at["n"]: at["calibrated"] for at in listed.expected["at"]}
    chances = np.array(listed.columns["probability"], dtype=float)
    assert means[10] == pytest.approx(chances[:10].mean())
    assert before.expected is not None
    counts = [[row[key] for row in e["at"] for key in ("n", "found", "found_in_test", "joined")]
              for e in (listed.expected, before.expected)]  # fmt: skip
    assert counts[0] == counts[1]


def test_where_nothing_was_held_out_there_is_no_estimate(keep_run: KeepRun) -> None:
    assert discover(keep_run(DENSE.all_in_train())).expected is None
    assert lengths(42) == [10, 30, 42]
    assert lengths(0) == []


def test_facts_that_train_joins_already_are_counted(keep_run: KeepRun) -> None:
    graph = graph_of([(0, 0, 1), (2, 0, 3), (3, 1, 0), (1, 1, 2)], test=[(0, 0, 3), (2, 0, 1)])
    found = discover(keep_run(graph), DiscoverConfig(top=1000, among="observed"))
    assert found.expected is not None
    assert found.expected["held_out_joined"] == 2  # 3 and 0, 1 and 2: the other way round
    assert found.expected["at"][-1]["joined"] >= 2


def test_the_order_is_by_probability_where_there_is_one(keep_run: KeepRun) -> None:
    run = keep_run(DENSE)
    by_score = discover(run, DiscoverConfig(top=200))
    assert by_score.about["order"] == "score"
    assert set(by_score.columns["probability"]) == {None}
    scores = np.array(by_score.columns["score"], dtype=float)
    assert (np.diff(scores) <= 0).all()
    calibration = calibrate(run)
    found = discover(run, DiscoverConfig(top=200))
    chances = np.array(found.columns["probability"], dtype=float)
    assert found.about["order"] == "probability"
    assert (np.diff(chances) <= 0).all()
    mine = np.array(found.columns["score"], dtype=float)
    assert (calibration.probabilities(mine, found.facts[:, 1]) == chances).all()
    least = float(chances[20])
    few = discover(run, DiscoverConfig(top=200, min_probability=least))
    assert few.facts.tolist() == found.facts[chances >= least].tolist()
    assert len(discover(run, DiscoverConfig(min_probability=1.0))) == 0


def test_only_the_predicates_asked_for_by_name_or_label(keep_run: KeepRun) -> None:
    graph = replace(DENSE, predicate_labels={5: "likes"})
    run = keep_run(graph)
    everything = discover(run, DiscoverConfig(top=10_000))
    found = discover(run, DiscoverConfig(top=10_000, predicates=("p2", "likes", "p2")))
    assert set(found.facts[:, 1].tolist()) == {2, 5}
    both = np.isin(everything.facts[:, 1], [2, 5])
    assert found.facts.tolist() == everything.facts[both].tolist()
    one = discover(run, DiscoverConfig(top=10_000, per_predicate=3))
    assert np.bincount(one.facts[:, 1]).tolist() == [3] * 8
    with pytest.raises(InputError, match="there is no predicate 'like'"):
        discover(run, DiscoverConfig(predicates=("like",)))
    with pytest.raises(InputError, match="there is no predicate ''"):
        discover(run, DiscoverConfig(predicates=("",)))


def test_a_predicate_that_train_lacks_has_nothing_new(keep_run: KeepRun) -> None:
    graph = graph_of([(0, 0, 1), (1, 0, 2)], valid=[(0, 1, 2)])
    found = discover(keep_run(graph), DiscoverConfig(predicates=("p1",)))
    assert len(found) == 0
    assert found.expected is not None
    assert (found.expected["held_out"], found.expected["reachable"]) == (1, 0)


def test_candidates_by_types(keep_run: KeepRun, tmp_path: Path) -> None:
    types = tmp_path / "types.tsv"
    types.write_text("".join(f"e{i:02}\t{'odd' if i % 2 else 'even'}\n" for i in range(14)))
    config = DiscoverConfig(top=10_000, among="types", types=str(types))
    found = discover(keep_run(DENSE), config)
    assert {12, 13} <= set(found.facts[:, 0].tolist())  # train does not have them
    for bad in ({"among": "types"}, {"types": str(types)}):
        with pytest.raises(ConfigError, match="go together"):
            DiscoverConfig.from_values(bad)


def kept(run: Run, out: Path, **more: object) -> bytes:
    """What is written, to the last byte."""
    discover(run, DiscoverConfig(top=30), out=out, **more)  # type: ignore[arg-type]
    assert not pausing.beside(out).exists()
    return out.read_bytes()


@pytest.fixture
def run(keep_run: KeepRun, monkeypatch: pytest.MonkeyPatch) -> Run:
    """A run with probabilities, whose discovery is kept after every step."""
    monkeypatch.setattr(discovery, "SAVE_SECONDS", 0.0)
    run = keep_run(DENSE)
    calibrate(run)
    return run


class Killed(BaseException):
    """As sudden as a kill: nothing of ours catches it."""


def after(steps: int, do: Callable[[], None]) -> Callable[[str, int, int], None]:
    """A progress that does something when so many steps are done."""
    left = [steps]

    def show(what: str, done: int, total: int) -> None:
        assert 0 < done <= total
        left[0] -= 1
        if left[0] == 0:
            do()

    return show


def die() -> None:
    raise Killed


@pytest.mark.parametrize("steps", range(1, 10))
def test_an_end_after_any_step_leaves_what_the_next_one_needs(
    run: Run, tmp_path: Path, steps: int
) -> None:
    whole, out = kept(run, tmp_path / "whole.tsv"), tmp_path / "new.tsv"
    with pytest.raises(Killed):
        kept(run, out, progress=after(steps, die))
    assert pausing.beside(out).exists()
    assert not out.exists()
    done = [0]

    def count(what: str, now: int, total: int) -> None:
        done[0] += 1

    assert kept(run, out, progress=count) == whole
    assert done[0] == 10 - steps  # nine steps, and the one that was not kept is done again


KILLED = """
import os, signal, sys
from pathlib import Path
from trifact.answer import discovery
from trifact.answer.options import DiscoverConfig
from trifact.run.run import Run

discovery.SAVE_SECONDS = 0.0
left = [int(sys.argv[3])]

def show(what, done, total):
    left[0] -= 1
    if not left[0]:
        os.kill(os.getpid(), signal.SIGKILL)

discovery.discover(Run(sys.argv[1]), DiscoverConfig(top=30), out=Path(sys.argv[2]), progress=show)
"""


def test_a_discovery_that_was_killed_twice_goes_on(run: Run, tmp_path: Path) -> None:
    whole, out = kept(run, tmp_path / "whole.parquet"), tmp_path / "new.parquet"
    for steps in (3, 4):
        words = [sys.executable, "-c", KILLED, str(run.path), str(out), str(steps)]
        ended = subprocess.run(words, check=False, env={**os.environ})
        assert ended.returncode == -signal.SIGKILL
    assert kept(run, out) == whole


def test_ctrl_c_keeps_where_it_stands(run: Run, tmp_path: Path) -> None:
    whole, out = kept(run, tmp_path / "whole.tsv"), tmp_path / "new.tsv"
    discovery.SAVE_SECONDS = 1000.0  # the fixture puts it back
    ask = after(4, lambda: os.kill(os.getpid(), signal.SIGINT))
    with pytest.raises(Interrupted, match="go on with the same command"):
        kept(run, out, progress=ask)
    assert kept(run, out) == whole


def test_another_request_does_not_go_on_with_what_is_there(run: Run, tmp_path: Path) -> None:
    out = tmp_path / "new.tsv"
    with pytest.raises(Killed):
        kept(run, out, progress=after(3, die))
    with pytest.raises(OutputError, match="another discovery stopped here"):
        discover(run, DiscoverConfig(top=31), out=out)
    assert len(discover(run, DiscoverConfig(top=31), out=out, overwrite=True)) == 31
    other = tmp_path / "other.tsv"
    with pytest.raises(Killed):
        kept(run, other, progress=after(3, die))
    record = json.loads((run.path / "calibration.json").read_text())
    record["by_predicate"][0]["slope"] *= 2
    (run.path / "calibration.json").write_text(json.dumps(record))
    with pytest.raises(OutputError, match="another discovery stopped here"):
        kept(run, other)


def test_a_standing_that_is_damaged_is_refused(run: Run, tmp_path: Path) -> None:
    out = tmp_path / "new.tsv"
    pausing.beside(out).write_bytes(b"\x07" * 50)
    with pytest.raises(OutputError, match=r"cannot be read .* --overwrite to begin anew"):
        kept(run, out)
    assert kept(run, out, overwrite=True)


def test_what_is_there_is_not_overwritten_unless_asked(run: Run, tmp_path: Path) -> None:
    out = tmp_path / "new.tsv"
    out.write_text("mine")
    with pytest.raises(OutputError, match="--overwrite"):
        kept(run, out)
    assert out.read_text() == "mine"
    assert kept(run, out, overwrite=True) != b"mine"
    with pytest.raises(OutputError, match=r"name it .tsv, .csv, .json, .parquet or .nt"):
        kept(run, tmp_path / "new.xlsx")
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="cannot be written"):
        kept(run, tmp_path / "file" / "new.tsv")


COLUMNS = ["subject", "subject_label", "predicate", "predicate_label", "object", "object_label",
           "score", "probability"]  # fmt: skip


def test_every_format_is_read_back(keep_run: KeepRun, tmp_path: Path) -> None:
    run = keep_run(replace(DENSE, entity_labels={0: "nought"}, predicate_labels={3: "likes"}))
    calibrate(run)
    config = DiscoverConfig(top=50)
    found = discover(run, config)
    for ending in ("parquet", "tsv", "csv", "json", "nt"):
        discover(run, config, out=tmp_path / f"new.{ending}")
    rows = [tuple(row.values()) for row in found]
    table = duckdb.sql(f"from read_parquet('{tmp_path}/new.parquet')")
    assert table is not None
    assert table.columns == COLUMNS == list(found.columns)
    assert table.fetchall() == rows
    assert json.loads((tmp_path / "new.json").read_text()) == list(found)
    lines = (tmp_path / "new.tsv").read_text().splitlines()
    assert lines[0].split("\t") == COLUMNS
    assert [float(line.split("\t")[7]) for line in lines[1:]] == [row[7] for row in rows]
    names = {(row[0], row[2], row[4]) for row in rows}
    for ending in ("parquet", "tsv", "csv", "nt"):  # as facts, by name
        graph = trifact.load(tmp_path / f"new.{ending}", valid=0.0, test=0.0)
        facts = ((graph.entities[s], graph.predicates[p], graph.entities[o])
                 for s, p, o in graph.train.tolist())  # fmt: skip
        assert set(facts) == names


def test_a_minimal_probability_needs_a_calibration(keep_run: KeepRun) -> None:
    with pytest.raises(ConfigError, match="trifact calibrate"):
        discover(keep_run(DENSE), DiscoverConfig(min_probability=0.5))


def test_factors_that_are_no_numbers_are_refused(keep_run: KeepRun, tmp_path: Path) -> None:
    model = a_model("complex", DENSE)
    model.tables["entity"][3, 0] = torch.nan
    with pytest.raises(TrifactError, match="not a number"):
        discover(keep(tmp_path / "bad", DENSE, model))


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"top": 0}, "top must be at least 1"),
        ({"top": 10**9}, "top must be at most"),
        ({"min_probability": 1.5}, "at most 1"),
        ({"per_predicate": 0}, "at least 1"),
        ({"filter": ("test",)}, "must name train"),
        ({"filter": ("train", "rest")}, "not rest"),
        ({"among": "all"}, "one of roles, observed, types"),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings: dict[str, object], problem: str) -> None:
    with pytest.raises(ConfigError, match=problem):
        DiscoverConfig.from_values(settings)


def said(*words: str) -> str:
    """What the command prints."""
    app = typer.Typer()
    app.command()(command)
    done = CliRunner().invoke(app, [*words], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.output


def test_the_command_shows_the_first_and_what_to_expect(keep_run: KeepRun, tmp_path: Path) -> None:
    run = keep_run(replace(DENSE, entity_labels={1: "a name that is much longer than its column"}))
    shown = said(str(run.path), "--top", "100", "--predicates", "p1,p3")
    tables = shown.partition("in the order of scores")[0]  # notes are not wrapped
    assert max(map(len, tables.splitlines())) <= 80
    for words in ("100 new facts of", "How true?", "at least", "trifact calibrate", "80 more"):
        assert words in shown
    calibrate(run)
    out = tmp_path / "new.nt"
    shown = said(str(run.path), "--min-probability", "0.01", "--out", str(out))
    assert "mean probability" in shown
    assert f"{len(out.read_text().splitlines())} facts written" in " ".join(shown.split())


def test_the_command_says_where_there_is_no_estimate(keep_run: KeepRun) -> None:
    run = keep_run(DENSE.all_in_train())
    shown = " ".join(said(str(run.path)).split())
    assert "no fact was held out, so the list has no estimate of its own" in shown


def test_the_page_is_that_of_the_records() -> None:
    page = check_discovery.PAGE.read_text(encoding="utf-8")
    assert page == check_discovery.page(), "run `python -m scripts.check_discovery --page`"
