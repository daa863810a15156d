"""The settings of a search: how the space is gone through, not what is in it."""

from __future__ import annotations

from dataclasses import dataclass

from trifact.config import Config, option
from trifact.errors import ConfigError
from trifact.run.durations import seconds


@dataclass(frozen=True)
class SearchConfig(Config):
    """How trials are chosen, pruned, spread and kept; a space may say these in [search]."""

    sampler: str = option(
        "auto", "how trials are chosen; a grid if all is lists", choices=("auto", "grid", "tpe")
    )
    trials: int = option(50, "trials of tpe; a grid has as many as it has points", low=1)
    sampler_seed: int = option(0, "seed of the order of a grid, and of tpe", low=0)
    prune: bool = option(True, "end hopeless trials early, by successive halving")
    min_epochs: int | None = option(
        None, "epochs before a trial may be pruned; by rule if not given", low=1
    )
    reduction: int = option(3, "one of so many trials goes on at each halving", low=2)
    timeout: str = option("", "stop after so long, such as 90s, 20m, 2h; all is saved")
    workers: int = option(1, "processes that train at the same time", low=1)
    storage: str = option("", "postgresql:// or sqlite:/// URL, if not a file in the folder")
    name: str = option("", "the search's name in the storage; by graph and space")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.timeout:
            try:
                seconds(self.timeout)
            except ConfigError as error:
                raise ConfigError(f"timeout: {error}") from None

        if not self.prune and (self.min_epochs or self.reduction != SearchConfig.reduction):
            raise ConfigError("nothing is pruned; leave min_epochs and reduction out")

    @property
    def seconds(self) -> float:
        """The time there is; without end if none was said."""
        return seconds(self.timeout) if self.timeout else float("inf")
