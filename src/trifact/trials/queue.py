"""The queue of a search's trials, shared by all machines that work on it.

It is filled once. Whoever has room takes the first trial that waits; a trial that was cut off
waits again, so every one is done exactly once. Filling, taking and giving back happen alone in
the database, so there is nothing to race for.
"""

from __future__ import annotations

import platform
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import optuna
from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)
from optuna.pruners import BasePruner
from optuna.samplers import TPESampler
from optuna.trial import FrozenTrial, TrialState

from trifact.errors import RunError
from trifact.trials.database import Database
from trifact.trials.space import Choice, Range, Space
from trifact.trials.trial import Trial
from trifact.trials.workers import Outcome

BEAT = 15.0  # seconds between two signs of life
SILENCE = 120.0  # without any for so long, a trial on another machine counts as cut off
ENDS = {
    "done": TrialState.COMPLETE,
    "pruned": TrialState.PRUNED,
    "diverged": TrialState.PRUNED,  # so that TPE learns from it
    "failed": TrialState.FAIL,
}


class TrialQueue:
    """The trials of one search, taken by those who train at one place (a search's folder)."""

    def __init__(self, database: Database, name: str, place: str, *, begun: bool = False) -> None:
        """Makes the queue if nobody has; one that should have `begun` already must be there."""
        self.database, self.place = database, place
        self._storage = database.open()
        with database.answering(), database.alone():
            if begun and name not in optuna.get_all_study_names(self._storage):
                raise RunError(f"{database}: it has no search {name}; begin a new one")
            self._study = optuna.create_study(
                study_name=name, storage=self._storage, direction="maximize", load_if_exists=True
            )
            self._id = self._storage.get_study_id_from_name(name)
        self._distributions, self._seed = dict[str, BaseDistribution](), 0
        self._taken = dict[int, optuna.Trial]()
        self._lost = set[int]()  # of these: another machine went on with them
        self._beats, self._last_beat = 0, time.monotonic()
        self._heard = dict[int, tuple[object, float]]()  # of trials elsewhere: sign of life, when

    @property
    def about(self) -> dict[str, Any]:
        """What the search is, as its first machine wrote it; empty if that is still to be done."""
        found: dict[str, Any] = self._study.user_attrs.get("about", {})
        return found

    def describe(self, about: dict[str, Any]) -> dict[str, Any]:
        """Say what the search is, unless it was said; returns what holds."""
        with self.database.alone():
            if not self.about:
                self._study.set_user_attr("about", about)
            return self.about

    def fill(self, points: Sequence[dict[str, Any]]) -> None:
        """See to it that the queue has these trials; those it has already are not added again."""
        with self.database.alone():
            for point in points[len(self._study.get_trials(deepcopy=False)) :]:
                self._study.enqueue_trial(point)

    def use(self, space: Space, pruner: BasePruner, *, seed: int) -> None:
        """How trials are chosen and judged from now on."""
        self._distributions = {key: distribution(c) for key, c in space.searched.items()}
        self._study.pruner, self._seed = pruner, seed

    def take(self) -> tuple[int, dict[str, Any]] | None:
        """The first trial that waits, with its settings; None if none waits.

        One that is still trained here, after others let it wait, is not begun a second time.
        """
        with self.database.alone():
            waiting = self._with_state(TrialState.WAITING)
            if not waiting or waiting[0].number in self._taken:
                return None
            self._study.sampler = self._sampler(waiting[0].number)
            trial = self._study.ask(self._distributions)
            trial.set_user_attr("pulse", self._pulse)
        self._taken[trial.number] = trial
        return trial.number, trial.params

    def report(self, number: int, epoch: int, mrr: float, *, last: bool = False) -> str:
        """Keep the MRR of an epoch; returns why the trial had better end here, or nothing.

        After its last epoch it is done, whatever it came to.
        """
        trial = self._taken[number]
        if not self._holds(number):
            self._lost.add(number)  # for good: its training here ends now
            return "another machine went on with it"
        if epoch in self._kept(number).intermediate_values:
            return ""  # judged before it was cut off; an epoch may be trained once more
        trial.report(mrr, epoch)
        pruned = trial.should_prune()  # which also notes its rung, for the others
        if last or not pruned:
            return ""
        verdict = f"pruned by the search in epoch {epoch}"
        trial.set_user_attr("verdict", verdict)
        return verdict

    def verdict(self, number: int) -> str:
        """Why a trial is to end that was taken, if that was said before it was cut off."""
        return str(self._kept(number).user_attrs.get("verdict", ""))

    def finish(self, number: int, outcome: Outcome) -> None:
        """A trial has ended for good."""
        if self._holds(number):
            self._taken[number].set_user_attr("outcome", vars(outcome))
            state = ENDS[outcome.kind]
            mrr = outcome.mrr if state == TrialState.COMPLETE else None
            self._study.tell(self._taken[number], mrr, state)
        self._let_go(number)

    def give_back(self, number: int) -> None:
        """A trial was cut off: it waits to go on."""
        with self.database.alone():
            if number not in self._lost and self._is_ours(self._kept(number)):
                self._requeue(number)
        self._let_go(number)

    def count_death(self, number: int) -> int:
        """The process that trained it has died; returns how often that happened."""
        deaths = int(self._kept(number).user_attrs.get("deaths", 0)) + 1
        if self._holds(number):
            self._taken[number].set_user_attr("deaths", deaths)
        return deaths

    def recover(self) -> int:
        """Trials of this place that nobody trains any more wait again; how many they were.

        For a process that has the folder of the search to itself, just after it began.
        """
        with self.database.alone():
            mine = [
                trial
                for trial in self._with_state(TrialState.RUNNING)
                if self._place_of(trial) == self.place
            ]
            for trial in mine:
                self._requeue(trial.number)
        return len(mine)

    def beat(self) -> None:
        """A sign of life for all that is being trained here, from time to time."""
        now = time.monotonic()
        if now - self._last_beat < BEAT:
            return
        self._beats, self._last_beat = self._beats + 1, now
        for number, trial in self._taken.items():
            if self._holds(number):
                trial.set_user_attr("pulse", self._pulse)

    def elsewhere(self) -> int:
        """How many trials others have, or have just let wait: those that fell silent wait again."""
        now, left = time.monotonic(), self._with_state(TrialState.RUNNING, TrialState.WAITING)
        others = [trial for trial in left if trial.number not in self._taken]
        running = [trial for trial in others if trial.state == TrialState.RUNNING]
        for trial in running:
            sign = trial.user_attrs.get("pulse")  # none, if it was killed while it took it
            if trial.number not in self._heard or self._heard[trial.number][0] != sign:
                self._heard[trial.number] = sign, now
        for trial in running:
            if now - self._heard[trial.number][1] > SILENCE:
                self._take_over(trial.number)
        return len(others)

    def trials(self) -> list[Trial]:
        """All trials, by number."""
        return [Trial.of(trial) for trial in self._study.get_trials(deepcopy=False)]

    def _take_over(self, number: int) -> None:
        """Let a silent trial wait again, if it is still as silent now that we are alone."""
        sign, _ = self._heard.pop(number)
        with self.database.alone():
            kept = self._kept(number)
            if kept.state == TrialState.RUNNING and kept.user_attrs.get("pulse") == sign:
                self._requeue(number)

    @property
    def _pulse(self) -> dict[str, Any]:
        """The sign of life of a trial that is trained here."""
        return {"place": self.place, "machine": platform.node(), "beat": self._beats}

    def _requeue(self, number: int) -> None:
        self._storage.set_trial_state_values(self._key(number), TrialState.WAITING)

    def _key(self, number: int) -> int:
        return self._storage.get_trial_id_from_study_id_trial_number(self._id, number)

    def _let_go(self, number: int) -> None:
        del self._taken[number]
        self._lost.discard(number)

    def _holds(self, number: int) -> bool:
        """Whether a trial that was taken here is still ours, also after a long sleep.

        One that others let wait meanwhile, and that nobody has taken yet, is ours again.
        """
        if number in self._lost:
            return False
        if self._kept(number).state == TrialState.WAITING:
            with self.database.alone():
                self._take_back(number)
        return self._is_ours(self._kept(number))

    def _take_back(self, number: int) -> None:
        if self._kept(number).state == TrialState.WAITING:  # still, now that we are alone
            self._storage.set_trial_state_values(self._key(number), TrialState.RUNNING)
            self._taken[number].set_user_attr("pulse", self._pulse)

    def _is_ours(self, kept: FrozenTrial) -> bool:
        return kept.state == TrialState.RUNNING and self._place_of(kept) == self.place

    def _place_of(self, kept: FrozenTrial) -> str:
        """Where a trial was taken; ours, if nobody has said so: then whoever asks may have it."""
        return str(kept.user_attrs.get("pulse", self._pulse)["place"])

    def _kept(self, number: int) -> FrozenTrial:
        return self._storage.get_trial(self._key(number))

    def _with_state(self, *states: TrialState) -> list[FrozenTrial]:
        return self._study.get_trials(deepcopy=False, states=states)

    def _sampler(self, number: int) -> TPESampler:
        """TPE whose draws depend on the seed, the trial and those before it, and on nothing else:
        a search that goes on draws what it would have drawn."""
        seed = np.random.SeedSequence((self._seed, number)).generate_state(1)[0]
        return TPESampler(seed=int(seed))


def distribution(choice: Choice) -> BaseDistribution:
    """How Optuna says what a setting may be."""
    if not isinstance(choice, Range):
        return CategoricalDistribution(choice)
    if isinstance(choice.low, int) and isinstance(choice.high, int):
        return IntDistribution(choice.low, choice.high, log=choice.log)
    return FloatDistribution(choice.low, choice.high, log=choice.log)
