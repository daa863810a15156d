"""Gradients of factor tables: whole where the softmax reaches every row, else by touched rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import torch
from torch import Tensor

from trifact.tensor.workspace import Workspace


class Rows(NamedTuple):
    """A gradient that is zero but on some rows: distinct ids (U,) and their values (U, D)."""

    ids: Tensor
    values: Tensor

    @classmethod
    def summed(cls, ids: Tensor, values: Tensor) -> Rows:
        """Of ids that may repeat: their values are summed."""
        distinct, place = torch.unique(ids, return_inverse=True)
        sums = values.new_zeros(len(distinct), values.shape[1])
        return cls(distinct, sums.index_add_(0, place, values))

    def whole(self, table: Tensor) -> Tensor:
        """As the gradient of the whole table."""
        return torch.zeros_like(table).index_copy_(0, self.ids, self.values)


Gradient = Tensor | Rows


class Found:
    """The gradients of tables while a step collects them, and how often it touched their rows."""

    def __init__(self, tables: dict[str, Tensor], work: Workspace) -> None:
        self._tables, self._work = tables, work
        self._whole: dict[str, Tensor] = {}
        self._rows: dict[str, list[tuple[Tensor, Tensor]]] = {}
        self._counts: dict[str, Tensor] = {}

    def whole(self, name: str) -> Tensor:
        """The gradient of a whole table, zero at first, to add to; it lives in the workspace."""
        return self._whole[name] if name in self._whole else self.unwritten(name).zero_()

    def unwritten(self, name: str) -> Tensor:
        """The same before anything is in it: whoever asks for it writes all of it first."""
        assert name not in self._whole
        table = self._tables[name]
        array = self._work.array(f"d.{name}", len(table), table.shape[1], like=table)
        self._whole[name] = array
        return array

    def add(self, name: str, ids: Tensor, values: Tensor) -> None:
        """Adds values (n, D) to the gradient of rows (n,), which may repeat."""
        if name in self._whole:
            self._whole[name].index_add_(0, ids, values)
            return
        self._rows.setdefault(name, []).append((ids, values))

    def touch(self, name: str, ids: Tensor, counts: Tensor) -> None:
        """Counts rows (n,), which may repeat, as touched so often (n,)."""
        if name not in self._counts:
            self._counts[name] = counts.new_zeros(len(self._tables[name]))
        self._counts[name].index_add_(0, ids, counts)

    def touched(self) -> Iterator[tuple[str, Tensor, Tensor]]:
        """Every table with its touched rows (U,) and how often each was touched (U,)."""
        for name, counts in self._counts.items():
            ids = counts.nonzero().squeeze(1)
            yield name, ids, counts[ids]

    def joined(self) -> dict[str, Gradient]:
        """One gradient a table: whole where anything needed the whole of it."""
        joined: dict[str, Gradient] = dict(self._whole)
        for name, pieces in self._rows.items():
            if name in self._whole:
                for ids, values in pieces:
                    self._whole[name].index_add_(0, ids, values)
            else:
                ids, values = (torch.cat(side) for side in zip(*pieces, strict=True))
                joined[name] = Rows.summed(ids, values)
        return joined
