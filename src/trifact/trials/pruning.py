"""When hopeless trials end: asynchronous successive halving (Li et al. 2020) over epochs."""

from __future__ import annotations

import math

from optuna.pruners import BasePruner, NopPruner, SuccessiveHalvingPruner

from trifact.trials.options import SearchConfig
from trifact.trials.space import Space


def pruner(space: Space, config: SearchConfig) -> BasePruner:
    """What judges trials by their MRR after an epoch, against those that came as far."""
    if first_cut(space, config) is None:
        return NopPruner()
    least = _least(space, config)
    return SuccessiveHalvingPruner(min_resource=least, reduction_factor=config.reduction)


def first_cut(space: Space, config: SearchConfig) -> int | None:
    """The first epoch in which trials are judged; None if there is none before the last."""
    every, epochs = space.highest("validate_every"), space.highest("epochs")
    due: int = every * math.ceil(_least(space, config) / every)
    return due if config.prune and due < epochs else None


def _least(space: Space, config: SearchConfig) -> int:
    """Epochs before a trial is judged; by rule so many that three more cuts fit after them."""
    every, epochs = space.highest("validate_every"), space.highest("epochs")
    least: int = max(every, config.min_epochs or math.ceil(epochs / config.reduction**3))
    return least
