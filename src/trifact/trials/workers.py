"""Processes that train trials: each does one after the other, and asks after every epoch.

A worker knows nothing of searches. It gets jobs and sends epochs; each is answered with why to
end there, or with nothing. It ends with its parent, whatever happens to that.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing import connection, resource_tracker
from multiprocessing.connection import Connection
from pathlib import Path
from shutil import rmtree
from typing import TYPE_CHECKING, Any

from trifact.errors import (
    ConfigError,
    DivergedError,
    OutputError,
    RunError,
    TrainingError,
    TrifactError,
    memory_ran_out,
)
from trifact.graph.graph import Graph
from trifact.graph.storage import open_graph
from trifact.run import history
from trifact.run.folder import CHECKPOINTS, HISTORY, BusyError, locked
from trifact.run.history import Epoch
from trifact.run.options import TrainConfig

if TYPE_CHECKING:  # only the workers need torch
    from trifact.run.run import Run
    from trifact.run.training import OnEpoch

SPAWN = multiprocessing.get_context("spawn")
LETTING_GO = 30.0  # seconds to wait for a folder that another process trains in


@dataclass(frozen=True)
class Job:
    """A trial to train, or to go on with where its folder holds a part of it."""

    number: int
    folder: Path
    settings: dict[str, Any]
    verdict: str = ""
    """Why it is to end where it is: it was cut off after that was said, and before it was heard."""


@dataclass(frozen=True)
class Outcome:
    """How a job ended."""

    kind: str
    """done, pruned, diverged, failed (no memory, or wrong settings), stopped, died; refused, or
    unwritten (the disk), which ends the search."""
    reason: str = ""
    mrr: float | None = None
    """The best on validation, and its epoch."""
    best_epoch: int | None = None
    epochs: int = 0
    seconds: float = 0.0


class Pool:
    """At most so many workers, started when they are needed."""

    def __init__(self, folder: Path, size: int) -> None:
        self.folder, self.size = folder, size
        self._workers = list[_Worker]()

    @property
    def jobs(self) -> list[Job]:
        """What is being trained."""
        return [worker.job for worker in self._workers if worker.job is not None]

    @property
    def has_room(self) -> bool:
        """Whether one more job could begin at once."""
        return len(self.jobs) < self.size

    def begin(self, job: Job) -> None:
        """Give a job to an idle worker, or to a new one."""
        idle = [worker for worker in self._workers if worker.job is None]
        if not idle:
            idle = [_Worker(self.folder, self.size)]
            self._workers += idle
        idle[0].job = job
        with suppress(OSError):  # it has died meanwhile, which is the next event
            idle[0].pipe.send(job)

    def events(self, timeout: float) -> Iterator[tuple[Job, Epoch | Outcome]]:
        """What has happened; waits at most so long. Every epoch wants an `answer`."""
        ready = connection.wait([worker.pipe for worker in self._workers], timeout)
        for worker in [worker for worker in self._workers if worker.pipe in ready]:
            job, message = worker.job, worker.receive()
            if message is None:
                self._workers.remove(worker)
                message = worker.death()
            if job is None or isinstance(message, str):
                continue  # it is ready, or was idle
            if isinstance(message, Outcome):
                worker.job = None
            yield job, message

    def answer(self, job: Job, reason: str) -> None:
        """Let a job go on, or end it for a reason."""
        next(worker for worker in self._workers if worker.job == job).answer(reason)

    def stop(self) -> None:
        """Ask all to save and stop; a second call changes nothing."""
        for worker in self._workers:
            worker.stop()

    def close(self) -> None:
        """No worker is left; one that still trains is given some time to save."""
        self.stop()
        end = time.monotonic() + LETTING_GO
        while self.jobs and time.monotonic() < end:
            for worker in self._workers:
                if worker.asks:
                    worker.answer("")
            for _ in self.events(timeout=0.1):
                pass
        for worker in self._workers:
            worker.close()
        self._workers.clear()


class _Worker:
    """One process, seen from outside."""

    def __init__(self, folder: Path, among: int) -> None:
        self.job: Job | None = None
        self.asks = self._ready = self._stopped = False
        self.pipe, theirs = SPAWN.Pipe()
        self.process = SPAWN.Process(target=work, args=(theirs, folder, among), daemon=True)
        with _deaf_to_ctrl_c():
            self.process.start()
        theirs.close()

    def receive(self) -> Epoch | Outcome | str | None:
        """The next message; None if the process is gone."""
        try:
            message: Epoch | Outcome | str = self.pipe.recv()
        except (EOFError, OSError):
            return None
        self._ready, self.asks = True, isinstance(message, Epoch)
        return message

    def answer(self, reason: str) -> None:
        self.asks = False
        with suppress(OSError):  # it has died meanwhile, which is the next event
            self.pipe.send(reason)

    def death(self) -> Outcome:
        """What to say of a process that is gone; one that never began is not tried again."""
        self.process.join()
        code = self.process.exitcode or 0
        how = f"by signal {-code}" if code < 0 else f"with code {code}"
        if not self._ready and not self._stopped:
            return Outcome(
                "refused",
                f"a process that should train ended at once, {how}; see its words above (a script "
                "of one's own must search below: if __name__ == '__main__')",
            )
        return Outcome("stopped" if self._stopped else "died", f"its process ended {how}")

    def stop(self) -> None:
        if self.job is not None and not self._stopped:
            self._stopped = True
            self.process.terminate()

    def close(self) -> None:
        self.process.kill()
        self.process.join()
        self.pipe.close()


@contextmanager
def _deaf_to_ctrl_c() -> Iterator[None]:
    """A process that is started here never hears Ctrl-C: it is for the parent, who then stops it.

    The signal is held back, and reaches the parent afterwards; the child inherits that for good.
    """
    resource_tracker.ensure_running()  # it lets all signals through when it begins
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def work(pipe: Connection, folder: Path, among: int) -> None:
    """The life of a worker: one job after the other, until it is killed."""
    os.setsid()  # other signals to the group are for the parent, too
    import torch

    threading.Thread(target=_end_with_parent, daemon=True).start()
    torch.set_num_threads(max(1, torch.get_num_threads() // among))
    graph = open_graph(folder)
    pipe.send("ready")
    while True:
        pipe.send(_outcome(pipe.recv(), graph, pipe))


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)  # a kill at any moment leaves a whole checkpoint


def _outcome(job: Job, graph: Graph, pipe: Connection) -> Outcome:
    """Train a job, and say how it went."""
    from trifact.run.training import Interrupted

    if job.verdict:
        return Outcome("pruned", job.verdict, **measured(job.folder))
    told = ""

    def ask(epoch: Epoch) -> str:
        nonlocal told
        pipe.send(epoch)
        told = str(pipe.recv())
        return told

    try:
        run = _trained(job, graph, ask)
    except Interrupted as stop:
        if told:  # it ended before it was stopped, and would train on if it were taken again
            return Outcome("pruned", told, **measured(job.folder))
        return Outcome("stopped", str(stop))
    except DivergedError as error:
        return Outcome("diverged", str(error), **measured(job.folder))
    except (ConfigError, RunError, TrainingError) as error:
        if isinstance(error, BusyError):
            return Outcome("refused", str(error))
        # settings or a folder of this trial alone
        return Outcome("failed", str(error), **measured(job.folder))
    except OutputError as error:
        return Outcome("unwritten", str(error))
    except TrifactError as error:
        return Outcome("refused", str(error))
    except OSError as error:
        return Outcome("unwritten", f"{error.filename or job.folder}: {error.strerror or error}")
    except (MemoryError, RuntimeError) as error:
        if not memory_ran_out(error):
            raise
        problem = "the memory of the machine did not suffice"
        return Outcome("failed", problem, **measured(job.folder))
    best = {"mrr": run.metrics["mrr"], "best_epoch": run.best_epoch}
    return Outcome("pruned" if told else "done", told, **{**measured(job.folder), **best})


def _trained(job: Job, graph: Graph, ask: OnEpoch) -> Run:
    from trifact.run import training

    _wait_for(job.folder)
    if (job.folder / CHECKPOINTS / "last.json").exists():
        return training.resume(job.folder, on_epoch=ask)
    if job.folder.exists():  # cut off before anything was saved
        rmtree(job.folder)
    config = TrainConfig.from_values(job.settings)
    return training.train(graph, config, out=job.folder, on_epoch=ask)


def _wait_for(folder: Path) -> None:
    """A process that was killed with its search may still be about to let go of the folder."""
    end = time.monotonic() + LETTING_GO
    while folder.is_dir() and time.monotonic() < end:
        try:
            with locked(folder):
                return
        except BusyError:
            time.sleep(0.1)


def measured(folder: Path) -> dict[str, Any]:
    """What an outcome says of the epochs that were trained in a folder, if it can be read."""
    try:
        epochs = history.read(folder / HISTORY)
    except RunError:
        epochs = []
    best = max((e for e in epochs if e.mrr is not None), key=lambda e: e.mrr or 0, default=None)
    return {
        "mrr": best.mrr if best else None,
        "best_epoch": best.epoch if best else None,
        "epochs": len(epochs),
        "seconds": sum(epoch.seconds for epoch in epochs),
    }
