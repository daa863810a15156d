"""What belongs to each table, figure and claim of the paper, and in what order it is done;
and what came after it.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from trifact.errors import ConfigError
from trifact.paper import printed
from trifact.paper.contests import CONTESTS
from trifact.paper.recipes import Recipe

FOUR, LARGE = ("WN18RR", "FB15K-237", "FB15K", "WN18"), ("YAGO3-10",)
ORDER = (
    *("complex-n3-reciprocal", "cp-n3-reciprocal", "cp-n3-standard", "cp-fro-reciprocal"),
    *("complex-n3-standard", "complex-fro-reciprocal", "distmult-n3-standard"),
)
"""Of the work: what tells most comes first, the large graph last."""
BATCHES = tuple(f"batch{n}-{s}" for s in ("standard", "reciprocal") for n in (100, 400))


class Target(NamedTuple):
    """A part of the paper: the rows that are trained for it, on which graphs, at which size."""

    about: str
    rows: tuple[str, ...] = ()
    datasets: tuple[str, ...] = ()
    sizes: tuple[str, ...] = ("small",)
    contests: tuple[str, ...] = ()
    seeds: int = 1


def _contested(*names: str) -> tuple[str, ...]:
    """The rows of contests, each once."""
    rows = [row for name in names for row in CONTESTS[name][1:]]
    return tuple(dict.fromkeys(rows))


BEYOND = ("relations", "dura")
CLAIMS = ("fro-standard-cp", "fro-standard-complex", "nuc2", "adam", "unweighted")
TARGETS = {
    "table1": Target("sizes of the graphs", datasets=printed.DATASETS),
    "table2": Target(
        "MRR and Hits@10 of all models",
        rows=ORDER,
        datasets=FOUR + LARGE,
    ),
    "table3": Target("MRR by category", rows=tuple(printed.CATEGORIES), datasets=("FB15K",)),
    "figure-batch": Target(
        "the effect of the batch size", rows=BATCHES, datasets=("FB15K-237",), sizes=("figure",)
    ),
    "wilcoxon": Target(
        "N3 against FRO, the signed-rank test",
        rows=_contested("n3-over-fro"),
        datasets=FOUR,
        contests=("n3-over-fro",),
    ),
    "symmetry": Target("facts on which symmetric models fail", datasets=printed.DATASETS),
    "appendix": Target("the tree of the appendix"),
    "claims": Target(
        "what else the paper says",
        rows=_contested(*CLAIMS),
        datasets=("FB15K-237",),
        contests=CLAIMS,
    ),
    "beyond": Target(
        "what came after the paper",
        rows=_contested(*BEYOND),
        datasets=("FB15K-237", "WN18RR"),
        contests=BEYOND,
        seeds=3,
    ),
}


@dataclass(frozen=True)
class Wish:
    """What of a target is asked for; what is empty is as the target says."""

    what: str
    datasets: tuple[str, ...] = ()
    rows: tuple[str, ...] = ()
    sizes: tuple[str, ...] = ()
    seeds: int = 0

    def __post_init__(self) -> None:
        if self.what not in TARGETS:
            raise ConfigError(f"there is no {self.what!r} here; known: {', '.join(TARGETS)}")
        if not TARGETS[self.what].rows and (self.rows or self.sizes or self.seeds):
            raise ConfigError(f"{self.what} trains nothing; leave out rows, size and seeds")
        if not TARGETS[self.what].datasets and self.datasets:
            raise ConfigError(f"{self.what} needs no graph; leave out datasets")
        for row in self.rows:
            if row not in (known := TARGETS[self.what].rows):
                raise ConfigError(f"{self.what} has no row {row!r}; near: {_near(row, known)}")

    @property
    def target(self) -> Target:
        """What it is a wish for, narrowed to what is asked for."""
        target = TARGETS[self.what]
        return target._replace(
            rows=self.rows or target.rows,
            datasets=self.datasets or target.datasets,
            sizes=self.sizes or target.sizes,
            seeds=self.seeds or target.seeds,
        )

    def recipes(self, library: dict[str, Recipe]) -> list[Recipe]:
        """The recipes, in the order of work; a wish that no recipe fulfils is refused."""
        target = self.target
        if not target.rows:
            return []
        self._check_names(library)
        groups = [[d for d in target.datasets if (d in LARGE) == large] for large in (False, True)]
        wanted = [
            f"{dataset}-{row}-{size}"
            for size in target.sizes
            for group in groups
            for row in target.rows
            for dataset in group
        ]
        found = [library[name] for name in wanted if name in library]
        if not found:
            raise ConfigError(f"there is no recipe {wanted[0]}; near: {_near(wanted[0], library)}")
        if target.contests:
            found = _paired(found, target.contests)
        if not found:
            raise ConfigError(f"{self.what} compares pairs of rows, of which these hold none whole")
        return found

    def _check_names(self, library: dict[str, Recipe]) -> None:
        for kind, given in (("dataset", self.datasets), ("size", self.sizes)):
            known = {getattr(recipe, kind) for recipe in library.values()}
            for name in given:
                if name not in known:
                    raise ConfigError(
                        f"no recipe has the {kind} {name!r}; near: {_near(name, known)}"
                    )


def _paired(recipes: list[Recipe], contests: Iterable[str]) -> list[Recipe]:
    """Those that some contest compares with another of them."""
    there = {(recipe.dataset, recipe.size, recipe.row) for recipe in recipes}
    pairs = [set(CONTESTS[name][1:]) for name in contests]
    return [
        recipe
        for recipe in recipes
        if any(
            recipe.row in pair and all((recipe.dataset, recipe.size, row) in there for row in pair)
            for pair in pairs
        )
    ]


def _near(name: str, known: Iterable[str]) -> str:
    return ", ".join(difflib.get_close_matches(name, list(known), n=3, cutoff=0.0))
