"""Ranks by fact and side, and the file that keeps them: everything else derives from it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import duckdb
import numpy as np
from numpy.typing import NDArray

from trifact.errors import RunError
from trifact.graph.duck import connected, parquet, quoted_path
from trifact.graph.known import Ints
from trifact.graph.storage import write_parquet

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
SIDES = ("object", "subject")
FACT = ("subject", "predicate", "object")


class Ranked(NamedTuple):
    """Ranks of n facts, (n, 2): towards the object and towards the subject."""

    optimistic: Ints
    pessimistic: Ints

    @property
    def realistic(self) -> Floats:
        """The mean of the two: the expected rank if ties are broken at random."""
        return np.add(*self) / 2

    def save(self, path: Path) -> None:
        """The ranks alone, as Parquet: towards all objects, then towards all subjects."""
        write_parquet(path, _flat(self, ""))

    def under(self, ties: str) -> Floats:
        """The ranks with ties as asked for: realistic, optimistic or pessimistic."""
        return np.asarray(getattr(self, ties), dtype=np.float64)


@dataclass(frozen=True)
class RankTable:
    """The facts that were ranked, whether train has all their names, and their ranks."""

    split: str
    facts: Ints  # (n, 3)
    seen: Bools  # (n,)
    filtered: Ranked
    raw: Ranked | None = None

    def save(self, path: Path) -> None:
        """As Parquet, one row a query: first all facts towards objects, then towards subjects."""
        columns = {name: np.tile(ids, 2) for name, ids in zip(FACT, self.facts.T, strict=True)}
        columns["side"] = np.repeat(np.array([0, 1]), len(self.facts))
        columns |= _flat(self.filtered, "") | (_flat(self.raw, "raw_") if self.raw else {})
        columns["seen"] = np.tile(self.seen, 2)
        ids, ranks = ", ".join(FACT), ", ".join([*columns][4:])
        side = f"case side when 0 then '{SIDES[0]}' else '{SIDES[1]}' end as side"
        select = f"select '{self.split}' as split, {ids}, {side}, {ranks} from columns"
        write_parquet(path, columns, select)


def read_ranks(path: Path) -> RankTable:
    """The table that was saved; refused if it is no such table."""
    with _refusing(path):
        found = _columns(path)
        n = len(found["side"]) // 2
        sides = np.repeat(np.array(SIDES, dtype=object), n)
        facts = np.stack([found[name].astype(np.int64) for name in FACT], axis=1)
        if not (n and (found["side"] == sides).all() and (facts[:n] == facts[n:]).all()):
            raise ValueError("its rows are not both sides of facts")
        raw = _ranked(found, "raw_") if "raw_optimistic" in found else None
        seen = found["seen"][:n].astype(bool)
        return RankTable(str(found["split"][0]), facts[:n], seen, _ranked(found, ""), raw)


def read_ranked(path: Path) -> Ranked:
    """The ranks that `Ranked.save` kept; refused if they are none."""
    with _refusing(path):
        return _ranked(_columns(path), "")


@contextmanager
def _refusing(path: Path) -> Iterator[None]:
    """What cannot be read becomes one sentence."""
    try:
        yield
    except (duckdb.Error, KeyError, ValueError) as error:
        why = str(error).partition("\n")[0]
        raise RunError(f"{path}: this is no table of ranks ({why}); evaluate again") from None


def _columns(path: Path) -> dict[str, np.ndarray]:
    with connected() as base:
        return base.execute(f"from {parquet(quoted_path(path))}").fetchnumpy()


def _flat(ranked: Ranked, prefix: str) -> dict[str, Ints]:
    return {f"{prefix}{name}": ranks.T.ravel() for name, ranks in ranked._asdict().items()}


def _ranked(found: dict[str, np.ndarray], prefix: str) -> Ranked:
    columns = (found[f"{prefix}{name}"].astype(np.int64) for name in Ranked._fields)
    return Ranked(*(column.reshape(2, -1).T for column in columns))
