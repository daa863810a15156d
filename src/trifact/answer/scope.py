"""The settings of a discovery: where to look, how much is wanted, and how sure it must be."""

from __future__ import annotations

from dataclasses import dataclass

from trifact.config import Config, option
from trifact.errors import ConfigError

SPLITS = ("train", "valid", "test")


@dataclass(frozen=True)
class DiscoverConfig(Config):
    """Which of the missing facts are wanted."""

    top: int = option(10_000, "how many facts at most", low=1, high=1_000_000)
    min_probability: float | None = option(
        None, "only facts that are at least so probable; needs a calibration", low=0, high=1
    )
    predicates: tuple[str, ...] = option((), "only these predicates, by name or label")
    per_predicate: int | None = option(None, "at most so many facts of one predicate", low=1)
    among: str = option(
        "roles",
        "who may be subject or object: by roles that go together, only whom train has, by types",
        choices=("roles", "observed", "types"),
    )
    types: str | None = option(None, "a file of entities and their types, for among = types")
    single: bool = option(True, "no second answer where nearly every question has only one")
    filter: tuple[str, ...] = option(SPLITS, "splits whose facts are known and left out")
    budget_mb: int = option(256, "memory for scores, in MB", low=1)

    def __post_init__(self) -> None:
        super().__post_init__()
        unknown = [split for split in self.filter if split not in SPLITS]
        if unknown:
            raise ConfigError(f"filter takes some of {', '.join(SPLITS)}, not {', '.join(unknown)}")
        if (self.among == "types") != (self.types is not None):
            raise ConfigError("a file of types and among = types go together; give both or none")
        if "train" not in self.filter:
            raise ConfigError("filter must name train: what a model was trained on is not new")
