"""Where the large arrays of a step live, and how large they may be."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import torch
from torch import Tensor

ALIGNMENT = 64  # bytes: where rows of logits begin there, Q C^T is up to 1.7 times faster
BLOCK = 2**20  # entries of a table that are worked on at a time


def alone(log_z: Tensor) -> Tensor:
    """The join of one process, whose range of candidates is everything."""
    return log_z


@dataclass
class Workspace:
    """Arrays that are made once and used at every step: fresh memory costs more than its use.

    `budget` bounds the bytes of logits held at a time (one row at least). `dtype` is the type
    of the products, None that of the tables: bfloat16 rounds logits and shares; losses,
    gradients and all that is accumulated keep the type of the tables.

    Where several processes hold a range of the candidates each, `join` makes the logZ of all of
    one's own, block by block, and `widest` is the largest range: all go by it and so in step.
    """

    budget: int = 64 * 2**20
    dtype: torch.dtype | None = None
    join: Callable[[Tensor], Tensor] = alone
    widest: int = 0
    _kept: dict[str, Tensor] = field(default_factory=dict, repr=False)

    def array(self, name: str, rows: int, columns: int, *, like: Tensor) -> Tensor:
        """An array (rows, columns) that holds whatever it last held."""
        kept = self._kept.get(name)
        if kept is None or kept.numel() < rows * columns or not _alike(kept, like):
            kept = self._kept[name] = like.new_empty(rows * columns)
        return kept[: rows * columns].view(rows, columns)

    def cast(self, table: Tensor) -> Tensor:
        """The table in the type of the products; no copy where it is that already."""
        if self.dtype is None or self.dtype == table.dtype:
            return table
        example = table.new_empty(0, dtype=self.dtype)
        return self.array("cast", len(table), table.shape[1], like=example).copy_(table)

    def logits(self, queries: int, candidates: Tensor) -> Tensor:
        """The buffer of a block of logits, its rows padded to begin at ALIGNMENT: (b, N + pad)."""
        columns = _padded(len(candidates), candidates)
        return self.array("logits", queries, columns, like=candidates)

    def blocks(self, queries: int, candidates: Tensor) -> Iterator[slice]:
        """Slices of the queries, near equal, whose logits stay within the budget."""
        columns = _padded(max(len(candidates), self.widest), candidates)
        most = max(1, self.budget // (columns * candidates.itemsize))
        size = max(1, -(-queries // max(1, -(-queries // most))))
        return (slice(start, start + size) for start in range(0, queries, size))


def row_blocks(table: Tensor) -> Iterator[slice]:
    """Slices of the rows of a table, of about BLOCK entries, few enough for a cache."""
    size = rows_at_a_time(table)
    return (slice(start, start + size) for start in range(0, len(table), size))


def rows_at_a_time(table: Tensor) -> int:
    """How many rows of a table have about BLOCK entries.

    Many are a multiple of ALIGNMENT: then the columns of logits that belong to a block of
    candidates begin there too, and S^T Q, made block by block, is up to a seventh faster.
    """
    rows = max(1, BLOCK // table.shape[1])
    return rows - rows % ALIGNMENT if rows > ALIGNMENT else rows


def _padded(columns: int, like: Tensor) -> int:
    step = ALIGNMENT // like.itemsize
    return -(-columns // step) * step


def _alike(x: Tensor, y: Tensor) -> bool:
    return x.dtype == y.dtype and x.device == y.device
