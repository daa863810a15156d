"""A run on disk: which file is where, and that only one process writes."""

from __future__ import annotations

import fcntl
import shlex
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from shutil import rmtree

from trifact.config import parse_toml
from trifact.durable import write_text, writing
from trifact.errors import ConfigError, DivergedError, OutputError, RunError
from trifact.graph.formats import stem_and_format
from trifact.run.options import TrainConfig
from trifact.wording import setting

CONFIG, HISTORY, CHECKPOINTS = "config.toml", "history.jsonl", "checkpoints"
MACHINE, TUNING, LOCK = "machine.json", "tuning.jsonl", ".lock"
DIVERGED = "diverged.txt"
SHOWN = 3  # runs that are named
BEGUN = (LOCK, MACHINE, TUNING, "graph.json", "facts.parquet", "vocabulary.parquet")
"""What a folder holds whose run was cut off before there was any; it is as good as empty."""
TRAINED = (*BEGUN, CONFIG, HISTORY, CHECKPOINTS, DIVERGED)
"""What training leaves; of a run that diverged it may go, if nobody made anything of it."""


class BusyError(RunError):
    """Another process is at work on a run."""


class NotSavedError(OutputError):
    """What training cannot write; the checkpoint before is whole, and `run` can go on."""

    def __init__(self, problem: str, run: Path) -> None:
        super().__init__(f"{problem}; what was saved before is kept")
        self.problem, self.run = problem, run


def new_folder(path: Path) -> Path:
    """A folder for a new run; one that holds anything but a failed one is refused."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"{path}: cannot be made ({error.strerror})") from None
    refuse_full(path)
    return path


def refuse_full(path: Path) -> None:
    """Refuse a folder that holds anything but a run of ours that never began, or diverged."""
    try:
        names = {entry.name for entry in path.iterdir()} if path.exists() else set[str]()
    except OSError as error:
        raise OutputError(f"{path}: cannot be made ({error.strerror})") from None
    ours = LOCK in names  # it is there before anything else
    failed = TRAINED if DIVERGED in names else BEGUN
    if not all(ours and (name in failed or name.endswith(".part")) for name in names):
        resume = f", or {go_on(path)}" if CONFIG in names and DIVERGED not in names else ""
        raise OutputError(f"{path}: it is not empty; give another {setting('out')}{resume}")


def go_on(run: Path) -> str:
    """What to type to go on with a run; one that diverged cannot."""
    if (run / DIVERGED).exists():
        return f"its training diverged; train anew with a lower {setting('lr')}"
    return f"go on with: trifact train --resume {shlex.quote(str(run))}"


def told_apart(paths: Sequence[Path]) -> list[str]:
    """What to call runs: by their folders, or by their paths where two are called the same."""
    names = [path.resolve().name for path in paths]
    return [
        name if names.count(name) == 1 else str(path)
        for path, name in zip(paths, names, strict=True)
    ]


def name_for(graph: str, *parts: object) -> str:
    """What a folder is called that is made from a graph: a file's ending is no part of it."""
    stem, kind = stem_and_format(Path(graph))
    name = stem if kind else graph.removesuffix(".txt")
    return "-".join(map(str, (name, *parts))).replace("/", "-")


def unused_folder(name: str, parent: Path = Path("runs")) -> Path:
    """runs/NAME, or runs/NAME-2, -3, ...: the first that is not there yet."""
    number = 1
    while (path := parent / (name if number == 1 else f"{name}-{number}")).exists():
        number += 1
    return path


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """The folder is ours while this lasts; a second process is refused at once."""
    with ExitStack() as stack:
        with writing(path):
            file = stack.enter_context((path / LOCK).open("a+"))
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            busy = "another process is training here; wait for it, or give another folder"
            raise BusyError(f"{path}: {busy}") from None
        except OSError as error:  # not every disk of a network has locks
            why = f"{path}: it cannot be locked ({error.strerror})"
            raise OutputError(f"{why}; give a folder on another disk") from None
        yield


def clear_parts(path: Path, name: str = "") -> None:
    """Remove what a kill left half-written, of all files or of the one that is named."""
    for part in path.glob(f".{name}*.part"):
        part.unlink(missing_ok=True)


def clear_failed(path: Path) -> None:
    """Remove what is left of a run that never began, or diverged; from now on this is no run.

    For whoever has the folder locked: what it holds may have become another run meanwhile.
    """
    refuse_full(path)
    for name in (CONFIG, HISTORY, TUNING):
        (path / name).unlink(missing_ok=True)
    if (path / CHECKPOINTS).exists():
        rmtree(path / CHECKPOINTS)
    clear_parts(path)
    (path / DIVERGED).unlink(missing_ok=True)  # last: after a kill all that is left may go


@contextmanager
def marking_divergence(path: Path) -> Iterator[None]:
    """A run that diverges here says so in its folder, which can then be used again."""
    try:
        yield
    except DivergedError as error:
        write_text(path / DIVERGED, f"{error}\n")
        raise


def _no_run(path: Path) -> RunError:
    """What a path is that is no run; in a folder of runs, such as a search, one can be chosen."""
    if not path.is_dir():
        return RunError(f"{path}: there is no such folder; give that of a run")
    inside = sorted(found.parent.name for found in path.glob(f"*/{CONFIG}"))
    more = f", and {len(inside) - SHOWN} more" if len(inside) > SHOWN else ""
    hint = f"; runs in it: {', '.join(inside[:SHOWN])}{more}" if inside else ""
    return RunError(f"{path}: this is not the folder of a run; it has no {CONFIG}{hint}")


def save_config(path: Path, config: TrainConfig) -> None:
    """Everything that made the run; from now on it is one, and has not diverged."""
    write_text(path / CONFIG, config.to_toml())
    (path / DIVERGED).unlink(missing_ok=True)


def read_config(path: Path) -> TrainConfig:
    """The settings of a run; a folder without them is no run."""
    try:
        text = (path / CONFIG).read_text(encoding="utf-8")
    except PermissionError as error:
        raise RunError(f"{path / CONFIG}: cannot be read ({error.strerror})") from None
    except (OSError, UnicodeDecodeError):
        raise _no_run(path) from None
    try:
        # those of earlier versions may have settings without effect
        config = TrainConfig.from_values(TrainConfig.effective(parse_toml(text)))
    except ConfigError as error:
        raise RunError(f"{path / CONFIG}: {error}") from None
    if None in (config.rank, config.reg, config.batch):  # a run has them all
        raise RunError(f"{path / CONFIG}: it is damaged, or not of a run; train it again")
    return config
