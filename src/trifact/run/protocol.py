"""The settings of an evaluation: what is ranked, among what, and what is measured."""

from __future__ import annotations

from dataclasses import dataclass

from trifact.config import Config, option
from trifact.errors import ConfigError

SPLITS = ("train", "valid", "test")
FEWEST_RESAMPLES = 20  # with fewer, some may lack a whole group of facts, and bounds mean little


@dataclass(frozen=True)
class EvaluateConfig(Config):
    """How a run is evaluated; all of it is recorded with the result."""

    split: str = option("test", "which facts", choices=SPLITS)
    graph: str = option("", "facts of another graph, matched by name: a name, a file or a folder")
    filter: tuple[str, ...] = option(
        SPLITS, "splits whose facts, but the one asked for, are left out of the candidates"
    )
    raw: bool = option(False, "also rank among all candidates, with nothing left out")
    type_constrained: bool = option(
        False, "candidates are the subjects or objects that train has with the predicate"
    )
    types: str = option(
        "", "file of entity TAB type; candidates share a type with those that train has"
    )
    k: tuple[int, ...] = option((1, 3, 10), "the k of Hits@k")
    bootstrap: int = option(1000, "resamples of the 95 % intervals (0: none)", low=0)
    seed: int = option(0, "seed of the resamples", low=0)
    double: bool = option(False, "score in float64")
    checkpoint: str = option("best", "which factors", choices=("best", "last"))
    budget_mb: int = option(256, "memory for scores, in MB", low=1)
    label: str = option("", "name of the result's folder; made from the settings if not given")

    def __post_init__(self) -> None:
        super().__post_init__()
        unknown = [split for split in self.filter if split not in SPLITS]
        if unknown or not self.filter:
            named = ", ".join(unknown) or "none"
            raise ConfigError(f"filter takes some of {', '.join(SPLITS)}, not {named}")
        object.__setattr__(self, "filter", tuple(s for s in SPLITS if s in self.filter))
        if self.type_constrained and self.types:
            raise ConfigError("type_constrained and types exclude each other; give one of them")
        if not self.k or min(self.k) < 1:
            raise ConfigError("k must be whole numbers from 1 on")
        if 0 < self.bootstrap < FEWEST_RESAMPLES:
            raise ConfigError(f"bootstrap must be at least {FEWEST_RESAMPLES}, or 0 for none")
        if self.label in (".", "..") or "/" in self.label or "\\" in self.label:
            raise ConfigError(f"label must be the name of a folder, not {self.label!r}")
        if self.label in SPLITS and (self.graph or self.label != self._usual(self.split)):
            raise ConfigError(f"label {self.label} is for the {self.label} facts, ranked as usual")

    @property
    def candidates(self) -> str:
        """What the candidates are: all, type-constrained or types."""
        if self.type_constrained:
            return "type-constrained"
        return "types" if self.types else "all"

    def folder(self, split: str, source: str = "") -> str:
        """The label, or the split and whatever is not as usual; `source` is another graph."""
        return self.label or self._usual(split, source)

    def _usual(self, split: str, source: str = "") -> str:
        filtered = "" if set(self.filter) == set(SPLITS) else f"filter-{'-'.join(self.filter)}"
        parts = [
            split,
            f"of-{source}".replace("/", "-") if source else "",
            "" if self.candidates == "all" else self.candidates,
            filtered,
            "float64" if self.double else "",
            "" if self.checkpoint == "best" else self.checkpoint,
        ]
        return "-".join(filter(None, parts))
