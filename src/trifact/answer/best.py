"""The best candidates of many questions: exact, in blocks, those that are hidden left out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from trifact.errors import RunError
from trifact.graph.known import Ints, KnownAnswers
from trifact.run.ranktable import Bools
from trifact.tensor.models import Model
from trifact.tensor.workspace import Workspace


@dataclass(frozen=True)
class Best:
    """Flat, by question and then by score, best first; ties in the order of the ids."""

    rows: Ints
    answers: Ints
    scores: NDArray[np.float64]

    @classmethod
    def joined(cls, parts: Sequence[Best]) -> Best:
        """One after the other."""
        columns = zip(*(vars(part).values() for part in parts), strict=True)
        return cls(*(np.concatenate(column) for column in columns))


def best(
    model: Model,
    asked: Ints,
    k: int,
    *,
    allowed: dict[int, Ints] | None = None,
    hidden: KnownAnswers | None = None,
    itself: Bools | None = None,
    budget: int = 64 * 2**20,
) -> Best:
    """The k best answers of questions (n, 2): entity, predicate (reciprocal id).

    Scores are log p(answer | question), normalized over all entities whatever is left out.
    `allowed` are the candidates of each predicate; the answers that `hidden` knows are left out.
    `itself` (n,) are the questions that the entity which asks may answer; if not given, all are.
    Scores are held in blocks: with their places they are within `budget` bytes.
    """
    work, found = Workspace(budget // 8), list[Best]()
    for block in work.blocks(len(asked), model.table("object")):
        questions = asked[block]
        buffer = work.logits(len(questions), model.table("object"))[:, : model.entities]
        scores = model.scores(*torch.from_numpy(questions.T.copy()), out=buffer)
        offsets = scores.logsumexp(1)
        if not bool(offsets.isfinite().all()):
            raise RunError("the factors of this run are no finite numbers; train it again")
        _leave_out(scores, questions, allowed, hidden)
        if itself is not None:
            rows = np.flatnonzero(~itself[block])
            scores[torch.from_numpy(rows), torch.from_numpy(questions[rows, 0])] = -torch.inf
        rows, answers, values = largest(scores, k)
        found.append(Best(rows + block.start, answers, values - offsets.double().numpy()[rows]))
    return Best.joined(found)


def _leave_out(
    scores: Tensor, questions: Ints, allowed: dict[int, Ints] | None, hidden: KnownAnswers | None
) -> None:
    """What is no candidate or hidden scores -inf, which nothing else can."""
    if allowed is not None:
        for row, predicate in enumerate(questions[:, 1].tolist()):
            kept = torch.from_numpy(allowed[predicate])
            values = scores[row, kept]
            scores[row] = -torch.inf
            scores[row, kept] = values
    if hidden is not None:
        rows, answers = hidden.lookup(*questions.T)
        scores[torch.from_numpy(rows), torch.from_numpy(answers)] = -torch.inf


def largest(scores: Tensor, k: int) -> tuple[Ints, Ints, NDArray[np.float64]]:
    """Rows, columns and values of the k largest of each row, best first; -inf is none of them.

    Of those that tie for the last place, the first columns.
    """
    bar = scores.topk(min(k, scores.shape[1])).values[:, -1:]
    places = ((scores >= bar) & (scores > -torch.inf)).nonzero()
    rows, columns = places.T.numpy()
    values = scores[places[:, 0], places[:, 1]].double().numpy()
    order = np.lexsort((columns, -values, rows))
    before = np.searchsorted(rows, rows)  # rows are ascending, before and after
    order = order[np.arange(len(rows)) - before < k]
    return rows[order], columns[order], values[order]


def as_facts(asked: Ints, answers: Ints, predicates: int) -> Ints:
    """Questions (n, 2) with reciprocal ids and their answers (n,) as facts (n, 3)."""
    forward = np.column_stack([asked, answers])
    backward = np.column_stack([answers, asked[:, 1] - predicates, asked[:, 0]])
    return np.where((asked[:, 1] < predicates)[:, None], forward, backward)
