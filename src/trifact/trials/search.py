"""A search: many trainings over a space of settings, judged by validation MRR.

One process leads: it takes trials from the queue, lets workers train them, and prunes those that
are hopeless by successive halving. Everything is in the folder of the search and in its storage;
a search that was stopped or killed goes on where it was.
"""

from __future__ import annotations

import json
import random
import shlex
import time
import uuid
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from shutil import rmtree
from typing import Any

from trifact.durable import write_text
from trifact.errors import ConfigError, OutputError, RunError, TrifactError
from trifact.graph.graph import Graph
from trifact.graph.storage import save_graph
from trifact.progress import Progress, silent
from trifact.run.folder import clear_failed, locked, name_for, new_folder, unused_folder
from trifact.run.history import Epoch
from trifact.run.options import resolved
from trifact.run.signals import Interrupt, interruptible
from trifact.trials.database import HIDDEN, Database, StorageError
from trifact.trials.folder import BEST, REPORT, STORAGE, folder_of, read_record, write_record
from trifact.trials.options import SearchConfig
from trifact.trials.pruning import pruner
from trifact.trials.queue import TrialQueue
from trifact.trials.report import page
from trifact.trials.space import Space
from trifact.trials.trial import Trial, best_of, write_trials
from trifact.trials.workers import Job, Outcome, Pool, measured
from trifact.wording import setting

TICK = 0.5  # seconds between two looks at the clock
DEATHS = 3  # a trial whose process died so often is given up
OF_SEARCH = ("sampler", "sampler_seed", "prune", "min_epochs", "reduction")
MAY_CHANGE = ("trials", "timeout", "workers", "storage")

OnTrial = Callable[[Trial], None]


class SearchInterrupted(TrifactError):  # noqa: N818 - it is no error
    """Somebody asked to stop; everything is saved."""

    exit_code = 130


@dataclass(frozen=True)
class Search:
    """A search in its folder."""

    path: Path
    space: Space
    config: SearchConfig
    queue: TrialQueue

    def trials(self) -> list[Trial]:
        """All trials, by number, with those of other machines."""
        with self.queue.database.answering():
            return self.queue.trials()

    def run(self, *, on_trial: OnTrial = lambda trial: None, progress: Progress = silent) -> None:
        """All trials that are left, or as many as the time allows; ends with everything saved."""
        try:
            with locked(self.path), self.queue.database.answering():
                self.queue.recover()
                leading = Leading(self, on_trial, progress)
                try:
                    leading.lead()
                except TrifactError:
                    with suppress(OutputError):  # on a full disk, say: the first says it better
                        self.save()
                    raise
                self.save()
        except StorageError as error:
            raise StorageError(f"{error}; {self.way_on}") from None
        if leading.interrupt.asked:
            raise SearchInterrupted(f"stopped with {self.standing()}, {self.way_on}")

    def save(self) -> None:
        """The table of trials, the report, and the settings of the best."""
        trials = self.queue.trials()
        write_trials(trials, self.path)
        write_text(self.path / REPORT, self.page(trials))
        if best := best_of(trials):
            write_text(self.path / BEST, self.space.config(best.settings).to_toml())

    def folder_of_best(self, trials: Sequence[Trial]) -> Path | None:
        """The run of the best trial, if there is one, and if it was trained here."""
        best = best_of(trials)
        if best is None or best.place != self.queue.place:
            return None
        return self.path / best.folder

    def page(self, trials: Sequence[Trial]) -> str:
        """The report about its trials."""
        return page(self.config.name, self.space, trials)

    def standing(self) -> str:
        """How far it is, in words."""
        trials = self.trials()
        return f"{sum(trial.ended for trial in trials)} of {len(trials)} trials done"

    @property
    def way_on(self) -> str:
        """What to type to go on."""
        folder = shlex.quote(str(self.path))
        if HIDDEN in str(self.queue.database):  # the password is not kept
            return f"all is saved; go on with: trifact search --storage URL --resume {folder}"
        return f"all is saved; go on with: trifact search --resume {folder}"


class Leading:
    """The leader at work: trials to workers, and what they say to the queue."""

    def __init__(self, search: Search, on_trial: OnTrial, progress: Progress) -> None:
        self.search, self.queue = search, search.queue
        self.on_trial, self.progress = on_trial, progress
        self.pool = Pool(search.path, search.config.workers)
        self.interrupt = Interrupt()
        self._deadline = time.monotonic() + search.config.seconds
        self._refused: Outcome | None = None
        self._trials = self.queue.trials()
        self._epochs = dict[int, int]()  # of the trials under way here

    def lead(self) -> None:
        """Until all is done, or somebody or the clock says stop."""
        with interruptible() as self.interrupt:
            try:
                while self._work_is_left():
                    for job, message in self.pool.events(TICK):
                        self._hear(job, message)
                    self.queue.beat()
                    if self._stopping:
                        self.pool.stop()
            finally:
                self.pool.close()
        if self._refused is not None and not self.interrupt.asked:
            problem = f"{self._refused.reason}; {self.search.way_on}"
            raise (OutputError if self._refused.kind == "unwritten" else RunError)(problem)

    @property
    def _stopping(self) -> bool:
        late = time.monotonic() >= self._deadline
        return late or self.interrupt.asked or self._refused is not None

    def _work_is_left(self) -> bool:
        """Hand out what waits; whether something is under way, here or on other machines."""
        while not self._stopping and self.pool.has_room and (taken := self.queue.take()):
            number, point = taken
            settings = vars(self.search.space.config(point))
            folder, verdict = self.search.path / folder_of(number), self.queue.verdict(number)
            self.pool.begin(Job(number, folder, settings, verdict))
            self._epochs[number] = 0
        self._show()
        if self.pool.jobs or self._stopping:
            return bool(self.pool.jobs)
        if others := self.queue.elsewhere():  # what is cut off there comes to us
            time.sleep(TICK)
        return bool(others)

    def _hear(self, job: Job, message: Epoch | Outcome) -> None:
        if isinstance(message, Epoch):
            self._epochs[job.number] = message.epoch
            self.pool.answer(job, self._judged(job, message))
            return
        del self._epochs[job.number]
        if message.kind in ("stopped", "refused", "unwritten"):
            self.queue.give_back(job.number)
            if message.kind != "stopped":
                self._refused = self._refused or message
            return
        if message.kind == "died" and self.queue.count_death(job.number) < DEATHS:
            self.queue.give_back(job.number)
        else:
            if message.kind == "died":
                message = replace(message, kind="failed", **measured(job.folder))
            self.queue.finish(job.number, message)
        self._tell(job.number)

    def _tell(self, number: int) -> None:
        """A trial has ended, or was cut off."""
        self._trials = self.queue.trials()
        self.on_trial(self._trials[number])

    def _judged(self, job: Job, epoch: Epoch) -> str:
        """Why a trial had better end after this epoch, or nothing."""
        if epoch.mrr is None:
            return ""
        last = epoch.epoch >= job.settings["epochs"]
        return self.queue.report(job.number, epoch.epoch, epoch.mrr, last=last)

    def _show(self) -> None:
        best, ended = best_of(self._trials), sum(trial.ended for trial in self._trials)
        found = f"best MRR {best.mrr:.4f} (trial {best.number})  " if best else ""
        doing = ", ".join(f"trial {n} epoch {epoch}" for n, epoch in self._epochs.items())
        self.progress(found + (doing or "waiting for other machines"), ended, len(self._trials))


def begin(
    graph: Graph, space: Space, config: SearchConfig | None = None, *, out: Path | None = None
) -> Search:
    """A new search in a new folder; with a storage that has it already, one more place of it."""
    config = config or SearchConfig()
    space.check()
    if not len(graph.valid):
        raise ConfigError(
            f"{graph.name}: it has no validation facts, by which trials are judged; hold some out, "
            f"such as {setting('valid', 0.1)}, or add a file valid where the graph comes split"
        )
    _check_devices(space)
    graph, space = _warmed(graph, space)
    name = config.name or name_for(graph.name, space.name)
    path = out or unused_folder(f"search-{name}")
    database = Database.of(config.storage) if config.storage else Database.in_file(path / STORAGE)
    sampler = config.sampler if config.sampler != "auto" else ("grid" if space.is_grid else "tpe")
    if sampler == "grid" and config.trials != SearchConfig.trials:
        raise ConfigError(
            f"a grid has all its points; leave trials out, or say {setting('sampler', 'tpe')}"
        )
    config = config.replace(name=name, sampler=sampler)
    for point in _points(space, config):  # what is refused is so before anything is written
        space.config(point)
    with locked(new_folder(path)):
        made = None
        clear_failed(path)
        try:
            made = _set_up(path, graph, space, config, database)
        finally:
            if made is None:  # nothing half-made stays
                rmtree(path, ignore_errors=True)  # a link, say; why it failed matters more
    return made


def _check_devices(space: Space) -> None:
    from trifact.run.preparation import check_device  # torch

    for device in space.possible("device"):
        check_device(device)


def _warmed(graph: Graph, space: Space) -> tuple[Graph, Space]:
    """Nothing is held out that the run was trained on with which all trials begin."""
    from trifact.run.run import Run  # torch
    from trifact.run.warmstart import apart

    if "warm_start" in space.searched:
        raise ConfigError("warm_start is the same for all trials; give one run")
    if not space.fixed.get("warm_start"):
        return graph, space
    run = Run(Path(space.fixed["warm_start"]).resolve())
    return apart(graph, run), space.fixing({"warm_start": str(run.path)})


def _set_up(
    path: Path, graph: Graph, space: Space, config: SearchConfig, database: Database
) -> Search:
    """The folder and the queue of a new search; its record last, which says that all is there."""
    save_graph(graph, path)
    place = uuid.uuid4().hex
    queue = TrialQueue(database, config.name, place)
    with database.answering():
        about = queue.about or queue.describe(_about(graph, space, config))
        _check_same(about, _identity(graph, space, config), config.name)
        queue.fill(_points(space, config))
    storage = str(database) if config.storage else ""
    write_record(path, name=config.name, place=place, storage=storage, workers=config.workers)
    return _search(path, queue, config)


def reopen(path: Path, **changes: Any) -> Search:  # noqa: ANN401
    """The search of a folder, to go on with it; only some settings may change."""
    for name in changes:
        if name not in MAY_CHANGE:
            allowed = ", ".join(MAY_CHANGE)
            raise RunError(f"{name} cannot change when a search goes on; only {allowed} can")
    search = look_into(path, **changes)
    with locked(path), search.queue.database.answering():
        if "trials" in changes:
            _check_more(search, changes["trials"])
        search.queue.fill(_points(search.space, search.config))
    return search


def _check_more(search: Search, trials: int) -> None:
    """Refuse a number of trials that would change nothing."""
    if search.config.sampler == "grid":
        raise ConfigError("a grid has all its points; leave trials out")
    if trials < (there := len(search.queue.trials())):
        raise ConfigError(f"it has {there} trials already; {setting('timeout')} ends it sooner")


def look_into(path: Path, **changes: Any) -> Search:  # noqa: ANN401
    """The search of a folder as it stands; nothing is added to it."""
    record = read_record(path)
    database = _storage_of(path, changes.get("storage") or record["storage"])
    queue = TrialQueue(database, record["name"], record["place"], begun=True)
    with database.answering():
        about = queue.about
    own = {key: record[key] for key in ("name", "workers")}
    kept = {**about["config"], "trials": about["trials"], **own}
    return _search(path, queue, SearchConfig.from_values({**kept, **changes}))


def _storage_of(path: Path, storage: str) -> Database:
    """The database of a search that was begun."""
    if HIDDEN in storage:
        raise ConfigError(
            f"{path}: the password of its storage is not kept; give the whole address: "
            f"{setting('storage', 'URL')}"
        )
    database = Database.of(storage) if storage else Database.in_file(path / STORAGE)
    if database.is_missing:
        raise RunError(f"{database}: the storage of this search is gone; begin a new one")
    return database


def _search(path: Path, queue: TrialQueue, config: SearchConfig) -> Search:
    """With the space as the search's first machine wrote it, so that all have the same."""
    space = Space.from_values(queue.about["space"])
    queue.use(space, pruner(space, config), seed=config.sampler_seed)
    return Search(path, space, config, queue)


def _about(graph: Graph, space: Space, config: SearchConfig) -> dict[str, Any]:
    """What a search is, for all machines that work on it and for good."""
    identity = _identity(graph, space, config)
    return {
        "given": identity,
        "space": _with_precision(space, graph).values(),
        "graph": graph.name,
        "trials": config.trials,
        "config": identity["search"],
    }


def _identity(graph: Graph, space: Space, config: SearchConfig) -> dict[str, Any]:
    """What must be equal on all machines, as JSON gives it back."""
    search = {key: getattr(config, key) for key in OF_SEARCH}
    identity = {"graph": graph.content_hash, "space": space.values(), "search": search}
    plain: dict[str, Any] = json.loads(json.dumps(identity))
    return plain


def _check_same(about: dict[str, Any], identity: dict[str, Any], name: str) -> None:
    for what, value in identity.items():
        if about["given"][what] != value:
            raise ConfigError(
                f"the storage has a search {name} already, with another {what}; give another "
                f"{setting('name')}"
            )


def _with_precision(space: Space, graph: Graph) -> Space:
    """One precision for all trials, so that they can be compared: what pays at the largest rank."""
    from trifact.run.preparation import with_precision  # torch, for this alone

    if "precision" in space.searched:
        return space
    largest = space.config({}).replace(rank=space.highest("rank"))
    precision = with_precision(resolved(largest, graph), graph).precision
    return space.fixing({"precision": precision})


def _points(space: Space, config: SearchConfig) -> list[dict[str, Any]]:
    """The trials of the queue: a grid in random order, or as many of TPE's as were asked for."""
    if config.sampler == "tpe":
        return [{} for _ in range(config.trials)]
    points = space.points()
    random.Random(config.sampler_seed).shuffle(points)
    return points
