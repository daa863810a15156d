"""The trials of a search as a table: best first, for the screen, for files and for the report."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from optuna.trial import FrozenTrial, TrialState

from trifact.durable import write_text
from trifact.run.durations import shown
from trifact.trials.folder import folder_of

STATES = {
    TrialState.COMPLETE: "done",
    TrialState.PRUNED: "pruned",
    TrialState.FAIL: "failed",
    TrialState.RUNNING: "under way",
    TrialState.WAITING: "waiting",
}


@dataclass(frozen=True)
class Trial:
    """What is known of one trial."""

    number: int
    state: str
    """done, pruned, diverged, failed, under way, waiting, or cut off (waiting to go on)."""
    mrr: float | None
    """The best on validation so far, and its epoch."""
    best_epoch: int | None
    epochs: int
    """Trained so far."""
    seconds: float
    """Of training, validation not counted."""
    settings: dict[str, Any]
    """Those that are searched."""
    course: dict[int, float]
    """Validation MRR by epoch."""
    machine: str
    place: str
    """Where it was trained: the id of one of the folders of the search."""
    folder: str
    reason: str
    began: datetime | None

    @classmethod
    def of(cls, trial: FrozenTrial) -> Trial:
        """From how Optuna keeps it."""
        course, ended = trial.intermediate_values, trial.state.is_finished()
        about = trial.user_attrs.get("outcome", {}) if ended else {}  # it is written first
        pulse = trial.user_attrs.get("pulse", {})
        best = max(course, key=lambda epoch: course[epoch], default=None)
        cut_off = trial.state == TrialState.WAITING and bool(trial.params)
        return cls(
            number=trial.number,
            state=about.get("kind", "cut off" if cut_off else STATES[trial.state]),
            mrr=about.get("mrr", course[best] if best is not None else None),
            best_epoch=about.get("best_epoch", best),
            epochs=about.get("epochs", max(course, default=0)),
            seconds=about.get("seconds", 0.0),
            settings=trial.params or trial.system_attrs.get("fixed_params", {}),
            course=dict(sorted(course.items())),
            machine=pulse.get("machine", ""),
            place=pulse.get("place", ""),
            folder=folder_of(trial.number) if trial.params else "",
            reason=about.get("reason", ""),
            began=trial.datetime_start,
        )

    def mrr_within(self, epochs: int) -> float | None:
        """The best MRR of the first so many epochs."""
        return max((mrr for epoch, mrr in self.course.items() if epoch <= epochs), default=None)

    @property
    def left_a_model(self) -> bool:
        """Whether it ended well, be it early, and was validated."""
        return self.state in ("done", "pruned") and self.mrr is not None

    @property
    def ended(self) -> bool:
        """Whether nothing more will come of it."""
        return self.state in ("done", "pruned", "diverged", "failed")


def best_first(trials: Sequence[Trial]) -> list[Trial]:
    """By validation MRR, as far as they were trained; those that left no model come last."""
    return sorted(trials, key=lambda t: (not t.left_a_model, -(t.mrr or 0.0), t.number))


def best_of(trials: Sequence[Trial]) -> Trial | None:
    """The best of all that left a model."""
    return next((trial for trial in best_first(trials) if trial.left_a_model), None)


def write_trials(trials: Sequence[Trial], folder: Path) -> None:
    """`trials.jsonl` with all that is known, and `trials.csv` for a spreadsheet."""
    lines = (
        json.dumps(_measured(trial) | {"settings": trial.settings, "course": trial.course})
        for trial in trials
    )
    write_text(folder / "trials.jsonl", "".join(f"{line}\n" for line in lines))
    flat, table = rows(trials), io.StringIO()
    names = dict.fromkeys(name for row in flat for name in row)
    writer = csv.DictWriter(table, list(names), lineterminator="\n")
    writer.writeheader()
    writer.writerows(flat)
    write_text(folder / "trials.csv", table.getvalue())


def rows(trials: Sequence[Trial]) -> list[dict[str, Any]]:
    """What is known of trials, flat: what was measured, then their settings by name."""
    return [_measured(trial) | trial.settings for trial in trials]


def cells(trial: Trial, names: Sequence[str]) -> list[str]:
    """A row of a table for people: number, state, MRR, epochs, time, and these settings."""
    return [
        str(trial.number),
        trial.state,
        "" if trial.mrr is None else f"{trial.mrr:.4f}",
        str(trial.epochs),
        shown(trial.seconds) if trial.ended else "",
        *(value(trial.settings.get(name, "")) for name in names),
    ]


def described(settings: dict[str, Any]) -> str:
    """Settings in one line.

    >>> described({"rank": 200, "reg": 0.0123456})
    'rank 200, reg 0.01235'
    """
    return ", ".join(f"{name} {value(found)}" for name, found in settings.items())


def value(found: Any) -> str:  # noqa: ANN401 - of any setting
    """A setting's value as people want to see it: four digits are enough to tell trials apart."""
    return f"{found:.4g}" if isinstance(found, float) else str(found)


def _measured(trial: Trial) -> dict[str, Any]:
    """All but the settings; none of these is called as a setting is."""
    return {
        "trial": trial.number,
        "state": trial.state,
        "mrr": trial.mrr,
        "best_epoch": trial.best_epoch,
        "trained": trial.epochs,
        "seconds": trial.seconds,
        "began": trial.began.isoformat(timespec="seconds") if trial.began else None,
        "machine": trial.machine,
        "folder": trial.folder,
        "reason": trial.reason,
    }
