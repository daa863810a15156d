"""The settings of training, and the rule that fills in what a user left open."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from trifact.config import Config, Idle, option
from trifact.errors import ConfigError

if TYPE_CHECKING:  # the command line knows these settings without numpy
    from trifact.graph.graph import Graph

NORMS = ("none", "n3", "fro", "nuc2", "dura")
OF_TABLES = Idle("regularizer", ("none", "dura"))  # which goes by facts, with one lambda


@dataclass(frozen=True)
class TrainConfig(Config):
    """How a model is trained; `resolved` replaces every "by rule" for a given graph."""

    title = "Training"

    model: str = option("complex", "which model", choices=("cp", "distmult", "complex"))
    rank: int | None = option(
        None, "number of terms of the decomposition; by rule if not given", low=1, high=1_000_000
    )
    setting: str = option(
        "reciprocal", "how subjects are asked for", choices=("reciprocal", "standard")
    )
    regularizer: str = option("n3", "which norm", choices=NORMS)
    reg: float | None = option(
        None,
        "lambda, in Omega with its 1/3; by rule if not given",
        low=0,
        idle=Idle("regularizer", ("none",), rest=0.0),
    )
    reg_predicates: float | None = option(
        None, "lambda of predicates, if not that of reg", low=0, idle=OF_TABLES
    )
    weighting: str = option(
        "frequency", "weights of the norm", choices=("frequency", "none"), idle=OF_TABLES
    )
    relations: float = option(0.0, "weight of a second loss, that of predicates", low=0)
    optimizer: str = option("adagrad", "which optimizer", choices=("adagrad", "adam", "sgd"))
    lr: float = option(0.1, "learning rate", low=0)
    schedule: str = option("constant", "how the rate changes", choices=("constant", "plateau"))
    batch: int | None = option(None, "queries a step; by rule if not given", low=1)
    cap: int = option(0, "answers of one query in a step; more are dealt out (0: no cap)", low=0)
    epochs: int = option(100, "at most so many epochs", low=0)
    validate_every: int = option(3, "epochs between two validations (0: never)", low=0)
    patience: int = option(
        5,
        "validations without a better MRR before it stops",
        low=1,
        idle=Idle("validate_every", (0,)),
    )
    warm_start: str = option("", "begin with the factors of the run in this folder")
    init_scale: float = option(1e-3, "standard deviation of the first factors", low=0)
    seed: int = option(0, "seed of factors and batches", low=0, high=2**32 - 1)
    precision: str = option("auto", "type of the products", choices=("auto", "float32", "bfloat16"))
    device: str = option("cpu", "where to compute", choices=("cpu", "cuda", "mps"))
    threads: int | None = option(
        None, "threads of the CPU; as torch chooses if not given", low=1, high=1024
    )
    budget_mb: int = option(
        256, "memory of a step beside its tables, in MB; a large batch may take more", low=1
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("lr", "init_scale"):
            if not getattr(self, name):
                raise ConfigError(f"{name} must be over 0, or nothing is ever learned")
        if self.schedule == "plateau" and not self.validate_every:
            raise ConfigError("the schedule plateau goes by validation; validate_every is 0")


def resolved(config: TrainConfig, graph: Graph) -> TrainConfig:
    """The settings with rank, lambda and batch filled in where they were left open.

    The rule: 200 terms up to 20,000 entities and 100 beyond; lambda 0.05, and 0.15 where there
    are less than five distinct facts for each entity, and 0 without a norm; as many queries a step
    as make about 100 steps an epoch, at least 50 and at most 1000.
    """
    from trifact.graph.known import starts_of_runs

    entities, facts = len(graph.entities), len(starts_of_runs(*graph.train.T))
    rank = 200 if entities <= 20_000 else 100
    reg = 0.0 if config.regularizer == "none" else 0.15 if facts < 5 * entities else 0.05
    return config.replace(
        rank=config.rank or rank,
        reg=reg if config.reg is None else config.reg,
        batch=config.batch or min(max(len(graph.queries("train")) // 100, 50), 1000),
    )
