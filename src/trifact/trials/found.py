"""What a search found: what `trifact.search` gives."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

from trifact.run.run import Run
from trifact.trials.trial import Trial, rows

R = TypeVar("R", bound=Run)


@dataclass(frozen=True, repr=False)
class Found(Generic[R]):
    """The trials of a search, best first, and the run of the best."""

    path: Path
    """The folder of the search."""
    trials: tuple[Trial, ...]
    best: R | None
    """None if no trial left a model, or if the best was trained on another machine."""

    def rows(self) -> list[dict[str, Any]]:
        """One flat row a trial, as tables want them; they are those of `trials.csv`."""
        return rows(self.trials)

    def __repr__(self) -> str:
        ended = sum(trial.ended for trial in self.trials)
        best = "" if self.best is None else f", the best is {self.best.path.name}"
        return f"Found({self.path}: {ended} of {len(self.trials)} trials done{best})"
