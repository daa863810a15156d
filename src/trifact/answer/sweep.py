"""One pass over all pairs that make sense, in steps: normalizers first, then tiles of scores.

After every step all that has been done is in `standing`, and a sweep that is given one goes on
from there; what it finds is the same to the last bit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from trifact.answer.leftout import LeftOut
from trifact.answer.ordering import Order
from trifact.answer.pairs import Pairs, PairScores, Tile, log_normalizers
from trifact.answer.pausing import Standing
from trifact.answer.shortlist import Found, Shortlist, best_of
from trifact.errors import TrifactError
from trifact.graph.known import Ints
from trifact.run.ranktable import Floats
from trifact.tensor.models import Model
from trifact.tensor.workspace import Workspace


class Step(NamedTuple):
    """A piece of work: what it is, what it costs (in scores), and the doing of it."""

    what: str
    cost: int
    do: Callable[[], None]


class Sweep:
    """A model's best new facts, and those that are no news because they were held out."""

    def __init__(
        self,
        model: Model,
        pairs: Pairs,
        left_out: LeftOut,
        *,
        order: Order,
        news: Shortlist,
        budget: int,
    ) -> None:
        self.model, self.pairs, self.left_out, self.budget = model, pairs, left_out, budget
        self.order, self.news = order, news
        self.held = Shortlist(news.size, each=news.each, floor=news.floor)
        self.done = self.spent = 0
        self.work = Workspace(budget // 2)
        self.entities, self.predicates = pairs.queries()
        self.log_z = model.table("object").new_zeros(len(self.entities))
        self.scores = PairScores(model, pairs, self.log_z, self.work)
        self.cost = len(self.entities) * model.entities + self._sides * pairs.count()
        """That of all steps."""

    def run(self, after: Callable[[Step], None]) -> None:
        """Do all steps that are left; `after` is called when one is done."""
        for number, step in enumerate(self._steps()):
            self.spent += step.cost
            if number >= self.done:
                step.do()
                self.done = number + 1
                after(step)

    def unfiltered(self) -> Found:
        """The list as it would be had only train been known: with the held-out facts in it."""
        both = Found.joined(self.news.best(), self.held.best())
        return best_of(both, self.news.size, each=self.news.each)

    def standing(self) -> Standing:
        """All that has been done."""
        found = {"news": self.news.best(), "held": self.held.best()}
        lists = {
            f"{name}.{column}": torch.from_numpy(array)
            for name, those in found.items()
            for column, array in vars(those).items()
        }
        return Standing(self.done, {"log_z": self.log_z, **lists})

    def go_on(self, standing: Standing) -> None:
        """Stand where another sweep of the same kind stood."""
        self.done = standing.done
        self.log_z.copy_(standing.tensors["log_z"])
        for name, shortlist in {"news": self.news, "held": self.held}.items():
            columns = (standing.tensors[f"{name}.{c}"].numpy() for c in ("facts", "scores", "keys"))
            shortlist.restore(Found(*columns))

    @property
    def _sides(self) -> int:
        """Products that the score of a pair takes: one in the standard setting."""
        return 1 if self.model.predicates == self.pairs.predicates else 2

    def _steps(self) -> Iterator[Step]:
        for block in self.work.blocks(len(self.entities), self.model.table("object")):
            cost = len(self.entities[block]) * self.model.entities
            yield Step("scoring queries", cost, partial(self._normalize, block))
        for tile in self.pairs.tiles(self.model, self.budget):
            yield Step("comparing pairs", self._sides * tile.pairs, partial(self._compare, tile))

    def _normalize(self, block: slice) -> None:
        entities, predicates = self.entities[block], self.predicates[block]
        found = log_normalizers(self.model, entities, predicates, self.work)
        if not bool(found.isfinite().all()):
            raise TrifactError("a score of this model is not a number; its training has diverged")
        self.log_z[block] = found

    def _compare(self, tile: Tile) -> None:
        """Add a tile's facts to the lists, where they may matter."""
        predicate = tile.predicate
        subjects = self.pairs.subjects(predicate)[tile.subjects]
        objects = self.pairs.objects(predicate)[tile.objects]
        scores = self.scores.of(tile)
        known = torch.from_numpy(self.left_out.mask(predicate, subjects, objects))
        scores.masked_fill_(known, -torch.inf)
        keys = self.order.keys(scores, predicate, subjects, objects)
        rows, columns = _reaching(keys, self.news.floor)
        facts = np.stack([subjects[rows], np.full_like(rows, predicate), objects[columns]], axis=1)
        found = Found(facts, _at(scores, rows, columns), _at(keys, rows, columns))
        old = self.left_out.known_to_others(facts)
        self.held.add(found[np.flatnonzero(old)])
        self.news.add(found[np.flatnonzero(~old)])


def _reaching(keys: Tensor, bar: float) -> tuple[Ints, Ints]:
    """Rows and columns of the keys that reach the bar; never of those left out."""
    rows, columns = torch.nonzero(keys >= max(bar, torch.finfo(keys.dtype).min)).T
    return rows.numpy(), columns.numpy()


def _at(values: Tensor, rows: Ints, columns: Ints) -> Floats:
    found = values[torch.from_numpy(rows), torch.from_numpy(columns)]
    return np.asarray(found.double().numpy())
