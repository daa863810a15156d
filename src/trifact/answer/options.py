"""Settings of the floor; nothing heavy is imported here, because the command line reads them."""

from __future__ import annotations

from dataclasses import dataclass

from trifact.config import Config, option
from trifact.errors import ConfigError
from trifact.wording import setting

SPLITS = ("train", "valid", "test")


@dataclass(frozen=True)
class PredictConfig(Config):
    """Which answers are wanted."""

    k: int = option(10, "how many answers", low=1, high=10_000)
    known: bool = option(False, "show answers that are known already, too, and mark them")
    among: str = option(
        "all",
        "candidates: all entities, those that train has with the predicate, those of their types",
        choices=("all", "observed", "types"),
    )
    types: str | None = option(None, "a file of entities and their types, for among = types")
    budget_mb: int = option(64, "memory for blocks of scores, MB", low=1)

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_types(self)


@dataclass(frozen=True)
class CalibrateConfig(Config):
    """What probabilities are fitted on; all of it is kept with them. See docs/probabilities.md."""

    k: int = option(10, "answers to each question, where no false facts are given", low=1)
    questions: int = option(5_000, "at most so many questions are asked, drawn by the seed", low=1)
    seed: int = option(0, "seed of the questions and of the parts for cross-validation", low=0)
    budget_mb: int = option(64, "memory for scores, in MB", low=1)


@dataclass(frozen=True)
class SimilarConfig(Config):
    """What is alike, and how many of them are wanted."""

    k: int = option(10, "how many", low=1, high=10_000)
    measure: str = option(
        "cosine", "cosine of two rows, or their inner product", choices=("cosine", "inner")
    )
    role: str = option(
        "both",
        "which rows of an entity, where it has two (CP)",
        choices=("both", "subject", "object"),
    )
    budget_mb: int = option(64, "memory for blocks of similarities, MB", low=1)


@dataclass(frozen=True)
class ExplainConfig(Config):
    """What is explained, and how far."""

    side: str = option(
        "subject", "whose facts are left out, one at a time", choices=("subject", "object")
    )
    k: int = option(10, "how many facts to show", low=1, high=10_000)
    tries: int = option(
        30, "facts to leave out, those with the largest estimated effect", low=1, high=100_000
    )


@dataclass(frozen=True)
class DiscoverConfig(Config):
    """Which of the missing facts are wanted."""

    top: int = option(10_000, "how many facts at most", low=1, high=1_000_000)
    min_probability: float | None = option(
        None, "only facts that are at least so probable; needs a calibration", low=0, high=1
    )
    predicates: tuple[str, ...] = option(
        (),
        "only these predicates, by name or label, between commas; quotes keep commas and blanks",
    )
    per_predicate: int | None = option(None, "at most so many facts of one predicate", low=1)
    among: str = option(
        "roles",
        "who may be subject or object: by roles that go together, only whom train has, by types",
        choices=("roles", "observed", "types"),
    )
    types: str | None = option(None, "a file of entities and their types, for among = types")
    holders: float = option(
        0.75,
        "for among = roles: who has a role is asked for another that so many of its holders have",
        low=0,
        high=1,
    )
    single: bool = option(True, "no second answer where nearly every question has only one")
    filter: tuple[str, ...] = option(SPLITS, "splits whose facts are known and left out")
    budget_mb: int = option(256, "memory for scores, in MB", low=1)

    def __post_init__(self) -> None:
        super().__post_init__()
        unknown = [split for split in self.filter if split not in SPLITS]
        if unknown:
            raise ConfigError(f"filter takes some of {', '.join(SPLITS)}, not {', '.join(unknown)}")
        if "train" not in self.filter:
            raise ConfigError("filter must name train: what a model was trained on is not new")
        _check_types(self)
        if self.among != "roles" and self.holders != DiscoverConfig.holders:
            raise ConfigError(f"holders is for among = roles, not for {self.among}; leave it out")


def _check_types(config: PredictConfig | DiscoverConfig) -> None:
    if (config.among == "types") != bool(config.types):
        both = f"{setting('among', 'types')} and {setting('types')}"
        raise ConfigError(f"{both} go together; give both or none")
