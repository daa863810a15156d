"""Ranks against a slow twin that goes answer by answer."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from trifact.errors import TrifactError
from trifact.tensor import ranking
from trifact.tensor.models import MODELS, Model
from trifact.tensor.ranking import Allowed, Asked, Ranks, filtered_and_raw, ranks

N, P = 19, 3


def model_with_ties(name: str, *, rows: int = 2 * P) -> Model:
    """Factors of few whole values, so that many scores are exactly equal."""
    model = MODELS[name](N, rows, rank=3)
    generator = torch.Generator().manual_seed(11)
    for key, table in model.tables.items():
        model.tables[key] = torch.randint(-1, 2, table.shape, generator=generator).float()
    return model


def questions(queries: int = 14) -> Asked:
    """Queries with none, one and several answers, all but some of them known, and other known."""
    generator = torch.Generator().manual_seed(12)
    entities = torch.randint(0, N, (queries,), generator=generator)
    predicates = torch.randint(0, 2 * P, (queries,), generator=generator)
    answered = torch.rand(queries, N, generator=generator) < 0.15
    answered[3] = False
    known = answered & (torch.rand(queries, N, generator=generator) < 0.8)
    known |= torch.rand(queries, N, generator=generator) < 0.2
    return Asked(entities, predicates, *answered.nonzero().T, *known.nonzero().T)


def slow_ranks(model: Model, asked: Asked) -> list[tuple[int, int]]:
    found = []
    for row, answer in zip(asked.rows.tolist(), asked.answers.tolist(), strict=True):
        scores = model.scores(asked.entities[row : row + 1], asked.predicates[row : row + 1])[0]
        left_out = {answer, *asked.known[asked.known_rows == row].tolist()}
        if asked.allowed is not None:
            mask = asked.allowed.mask(asked.predicates[row : row + 1], N)[0]
            left_out |= set((~mask).nonzero()[:, 0].tolist())
        rivals = [float(scores[k]) for k in range(N) if k not in left_out]
        target = float(scores[answer])
        larger, equal = sum(s > target for s in rivals), sum(s == target for s in rivals)
        found.append((1 + larger, 1 + larger + equal))
    return found


def pairs(found: Ranks) -> list[tuple[int, int]]:
    return list(zip(found.optimistic.tolist(), found.pessimistic.tolist(), strict=True))


def raw(asked: Asked) -> Asked:
    nothing = torch.empty(0, dtype=torch.int64)
    return asked._replace(known_rows=nothing, known=nothing)


@pytest.mark.parametrize("rows", [P, 2 * P])
@pytest.mark.parametrize("budget", [1, 3 * 8 * N, 2**20])
@pytest.mark.parametrize("name", MODELS)
def test_ranks_are_those_of_the_slow_twin_within_any_budget(
    name: str, budget: int, rows: int
) -> None:
    model, asked = model_with_ties(name, rows=rows), questions()
    assert pairs(ranks(model, asked, budget=budget)) == slow_ranks(model, asked)
    assert pairs(ranks(model, raw(asked), budget=budget)) == slow_ranks(model, raw(asked))


def test_ties_are_between_the_two_and_realistic_is_their_mean() -> None:
    found = ranks(model_with_ties("distmult"), questions())
    assert (found.optimistic <= found.pessimistic).all()
    assert (found.optimistic < found.pessimistic).any()
    expected = [(low + high) / 2 for low, high in pairs(found)]
    assert found.realistic.tolist() == expected
    assert found.mrr() == pytest.approx(sum(1 / rank for rank in expected) / len(expected))


def test_scores_are_left_as_they_are_even_at_the_edge_of_their_range() -> None:
    """A target whose score is -inf or the smallest number still loses to its rivals only."""
    model = MODELS["distmult"](4, 2, rank=1)
    model.tables["predicate"].fill_(1.0)
    low = torch.finfo(torch.float32).min
    model.tables["entity"] = torch.tensor([[1.0], [low], [-torch.inf], [5.0]])
    zero, one = torch.tensor([0, 0]), torch.tensor([0])
    asked = Asked(one, one, zero, torch.tensor([1, 2]), one, torch.tensor([3]))
    assert pairs(ranks(model, asked)) == [(2, 2), (3, 3)]


def test_a_score_that_is_not_a_number_is_an_error() -> None:
    model = model_with_ties("cp")
    model.tables["object"][7] = torch.nan
    with pytest.raises(TrifactError, match="not a number"):
        ranks(model, questions())


def test_nothing_asked_is_nothing_found() -> None:
    none: Tensor = torch.empty(0, dtype=torch.int64)
    assert pairs(ranks(model_with_ties("cp"), Asked(none, none, none, none, none, none))) == []


def some_allowed() -> Allowed:
    """A third of the entities for each predicate, none for one of them, all for another."""
    mask = torch.rand(2 * P, N, generator=torch.Generator().manual_seed(13)) < 0.33
    mask[1], mask[4] = False, True
    offsets = torch.cat([torch.zeros(1, dtype=torch.int64), mask.sum(1).cumsum(0)])
    return Allowed(offsets, mask.nonzero()[:, 1])


@pytest.mark.parametrize("budget", [1, 3 * 8 * N, 2**20])
@pytest.mark.parametrize("name", MODELS)
def test_ranks_among_allowed_candidates_are_those_of_the_slow_twin(name: str, budget: int) -> None:
    model, asked = model_with_ties(name), questions()._replace(allowed=some_allowed())
    filtered, unfiltered = filtered_and_raw(model, asked, budget=budget)
    assert pairs(filtered) == slow_ranks(model, asked)
    assert pairs(unfiltered) == slow_ranks(model, raw(asked))


def test_an_answer_that_is_no_candidate_is_ranked_among_those_that_are() -> None:
    model = MODELS["distmult"](4, 1, rank=1)
    model.tables["predicate"].fill_(1.0)
    model.tables["entity"] = torch.tensor([[1.0], [2.0], [3.0], [2.0]])
    zero, none = torch.tensor([0]), torch.empty(0, dtype=torch.int64)
    asked = Asked(zero, zero, zero, torch.tensor([3]), none, none)
    assert pairs(ranks(model, asked)) == [(2, 3)]
    without = asked._replace(allowed=Allowed(torch.tensor([0, 2]), torch.tensor([0, 1])))
    assert pairs(ranks(model, without)) == [(1, 2)]


@pytest.mark.parametrize("rows", [P, 2 * P])
def test_whole_factors_and_float64_rank_alike_in_blocks_of_any_size(rows: int) -> None:
    whole, real = model_with_ties("complex", rows=rows), MODELS["complex"](N, rows, rank=8, scale=1)
    for model, double in ((whole, False), (real, True)):
        found = [
            pairs(ranks(model, questions(), budget=budget, double=double))
            for budget in (1, *(b * N * 16 for b in range(1, 16)), 2**20)
        ]
        assert all(one == found[0] for one in found)


def test_in_float32_the_size_of_a_block_changes_a_handful_of_ranks_at_most() -> None:
    size, queries = 3000, 400
    model = MODELS["complex"](size, 2, rank=40, scale=1.0)
    ids, none = torch.arange(queries), torch.empty(0, dtype=torch.int64)
    asked = Asked(ids, ids % 2, ids, ids + 7, none, none)
    exact = ranks(model, asked, double=True).optimistic
    for budget in (1, 2**17, 2**20, 2**25):
        found = ranks(model, asked, budget=budget).optimistic
        assert int((found != exact).sum()) <= 4  # of 400, among 3,000 candidates each
        assert int((found - exact).abs().max()) <= 1


def test_a_scorer_that_knows_the_answers_ranks_them_first() -> None:
    """One-hot entities and a permutation as CP: X[i, 0, k] is one for k = i + 1, else zero."""
    model = MODELS["cp"](N, 2, rank=N)
    model.tables["subject"] = torch.eye(N)
    model.tables["object"] = torch.eye(N).roll(1, 0)
    model.tables["predicate"] = torch.ones(2, N)
    ids, none = torch.arange(N), torch.empty(0, dtype=torch.int64)
    asked = Asked(ids, 0 * ids, ids, (ids + 1) % N, none, none)
    assert pairs(ranks(model, asked)) == [(1, 1)] * N
    wrong = ranks(model, asked._replace(answers=(ids + 2) % N))
    assert pairs(wrong) == [(2, N)] * N


def test_a_constant_scorer_has_all_ranks_between_the_first_and_the_last() -> None:
    model, asked = MODELS["complex"](N, 2 * P, rank=2, scale=0.0), questions()
    found = ranks(model, raw(asked))
    assert set(pairs(found)) == {(1, N)}
    assert set(found.realistic.tolist()) == {(N + 1) / 2}


def test_counts_that_float32_could_not_hold_are_made_in_float64(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model, asked, types = model_with_ties("cp"), questions(), set[torch.dtype]()
    total = ranking._total

    def watched(marks: Tensor, mask: Tensor | None) -> Tensor:
        types.add(marks.dtype)
        return total(marks, mask)

    monkeypatch.setattr(ranking, "_total", watched)
    for exact, dtype in ((N, torch.float32), (N - 1, torch.float64)):
        monkeypatch.setattr(ranking, "EXACT", exact)
        assert pairs(ranks(model, asked)) == slow_ranks(model, asked)
        assert types == {dtype}
        types.clear()


def test_float64_tells_apart_what_float32_does_not() -> None:
    model = MODELS["distmult"](3, 1, rank=2)
    model.tables["predicate"] = torch.ones(1, 2)
    model.tables["entity"] = torch.tensor([[1.0, 1.0], [1.0, 0.0], [1.0, 1e-8]])
    zero, none = torch.tensor([0]), torch.empty(0, dtype=torch.int64)
    asked = Asked(zero, zero, zero, torch.tensor([1]), none, none)
    assert pairs(ranks(model, asked)) == [(2, 3)]
    assert pairs(ranks(model, asked, double=True)) == [(3, 3)]


def test_progress_is_told_how_many_queries_are_done() -> None:
    said: list[tuple[str, int, int]] = []
    budget = 2 * 5 * 32 * 4  # five queries a block
    ranks(model_with_ties("cp"), questions(), budget=budget, progress=lambda *a: said.append(a))
    assert said == [("ranking", 0, 14), ("ranking", 5, 14), ("ranking", 10, 14)]
