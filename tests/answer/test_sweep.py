"""A sweep finds what a slow search finds, whatever the blocks."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.run.test_evaluation import graph_of
from tests.tensor.conftest import score_tensor
from trifact.answer.chances import Chances
from trifact.answer.leftout import LeftOut
from trifact.answer.options import DiscoverConfig
from trifact.answer.ordering import ByChance, ByScore, Order
from trifact.answer.pairs import Pairs
from trifact.answer.platt import Maps, logit
from trifact.answer.roles import likely
from trifact.answer.shortlist import Shortlist
from trifact.answer.single import single_sides, unanswered
from trifact.answer.sweep import Sweep
from trifact.graph.graph import Graph
from trifact.run.candidates import Candidates, observed
from trifact.tensor.models import MODELS, Model

SPLITS = ("train", "valid", "test")


def a_model(name: str, graph: Graph, *, setting: str = "reciprocal", seed: int = 0) -> Model:
    """Random factors of order one in float64."""
    sides = 2 if setting == "reciprocal" else 1
    sizes = len(graph.entities), sides * len(graph.predicates)
    model = MODELS[name](*sizes, rank=3, scale=1.0, seed=seed)
    model.tables = {key: table.double() for key, table in model.tables.items()}
    return model


def some_chances(predicates: int, seed: int = 0) -> Chances:
    """Maps that differ so much between predicates, and counts so heavy, that they change it all."""
    random = np.random.default_rng(seed)
    own = np.stack([random.uniform(0.2, 3, predicates), random.normal(0, 3, predicates)], axis=1)
    return Chances(np.array([1.5, 0.7, -0.9]), Maps(own.mean(axis=0), own), np.arange(predicates))


def every_score(model: Model, predicates: int) -> torch.Tensor:
    """The score of every fact by its definition: (N, P, N)."""
    x = score_tensor(model, model.tables)
    forward, p = x[:, :predicates].log_softmax(2), predicates
    if model.predicates == predicates:
        return (forward + x.log_softmax(0)) / 2
    return (forward + x[:, p:].log_softmax(2).permute(2, 1, 0)) / 2


SINGLE = (0.7, 2)
"""Two questions of which 0.7 have one answer make a direction single: for graphs this small."""


def slow_key(score: float, fact: tuple[int, int, int], graph: Graph, order: Order) -> float:
    """By the definition: evidence, then the map of the predicate."""
    if not isinstance(order, ByChance):
        return score
    s, p, o = fact
    train = {tuple(f) for f in graph.train.tolist()}
    ends = [sum(f[:2] == (s, p) for f in train), sum(f[1:] == (p, o) for f in train)]
    measures = [score, *(math.log(1 + count) for count in ends)]
    evidence = sum(w * m for w, m in zip(order.chances.weights.tolist(), measures, strict=True))
    slope, intercept = order.chances.maps.own[p].tolist()
    return float(slope * evidence + intercept)


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
                found.append((slow_key(score, (s, p, o), graph, order), score, s, p, o))
    found.sort(key=lambda row: (-row[0], -row[1], *row[2:]))
    if config.min_probability is not None:
        found = [row for row in found if row[0] >= logit(config.min_probability)]
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
    floor = -math.inf if config.min_probability is None else logit(config.min_probability)
    news = Shortlist(config.top, each=config.per_predicate, floor=floor)
    left_out = LeftOut.of(graph, config.filter, single=single)
    return Sweep(model, pairs, left_out, order=order, news=news, budget=budget)


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
    order: Order = ByScore()
    if calibrated:
        order = ByChance(some_chances(len(graph.predicates)), graph.known("train"))
    config = data.draw(requests(calibrated=calibrated))
    scores = every_score(model, len(graph.predicates))
    done = swept(model, graph, config, order=order, budget=budget)
    # the list itself, and the list had only train been known
    for found, known in ((done.news.best(), config.filter), (done.unfiltered(), ("train",))):
        slow = slow_search(scores, graph, config.replace(filter=known), order)
        assert found.facts.tolist() == [list(row[2:]) for row in slow]
        assert found.scores == pytest.approx([row[1] for row in slow], rel=1e-9)
        assert found.keys == pytest.approx([row[0] for row in slow], rel=1e-9, abs=1e-9)


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
