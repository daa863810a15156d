"""Files that are there whole or not at all, and are read only if they are what they should be."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from trifact.errors import OutputError, RunError
from trifact.wording import setting


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A temporary name beside `path`, which takes its place once all is written.

    The file is synced before the rename and the folder after it, so a kill at any moment leaves
    the old file or the new one. If the block fails nothing of it stays, nor a folder made for it.
    """
    with writing(path), replacing_all([path]) as parts:
        yield parts[path]


@contextmanager
def replacing_all(paths: Iterable[Path]) -> Iterator[dict[Path, Path]]:
    """Temporary names by path, which take their places once all of them are written and synced.

    Only a kill between two of the renames at the end leaves some of them old.
    """
    with ExitStack() as stack:
        files = {path: Path(os.path.realpath(path)) for path in paths}  # a link stays one
        parts = {path: stack.enter_context(_part(path, file)) for path, file in files.items()}
        modes = {path: _mode(files[path], part) for path, part in parts.items()}
        yield parts
        for path, part in parts.items():
            with writing(path):
                part.chmod(modes[path])
                synced(part)
        for path, part in parts.items():
            with writing(path):
                part.replace(files[path])
                synced(files[path].parent)


@contextmanager
def alone(path: Path) -> Iterator[None]:
    """Nobody else writes `path` while this lasts: a second process or thread is refused at once.

    The lock is a file beside it, and goes at the end; what a kill leaves of it locks nothing.
    """
    file = Path(os.path.realpath(path))
    lock = file.with_name(f".{file.name}.lock")
    with _folder(path, file), ExitStack() as stack:
        with writing(path):
            held = stack.enter_context(lock.open("a"))
            if not _locks(held, lock):
                busy = "another process is writing here; wait for it, or give another name"
                raise OutputError(f"{path}: {busy}")
        try:
            yield
        finally:
            with suppress(OSError):
                lock.unlink()


def _locks(file: IO[str], path: Path) -> bool:
    """Whether an open file is locked now, and still is the one at `path`."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return os.path.samestat(os.fstat(file.fileno()), path.stat())
    except (BlockingIOError, FileNotFoundError):
        return False


@contextmanager
def _part(path: Path, file: Path) -> Iterator[Path]:
    """An empty file beside `file`, which `path` leads to; what is left of it at the end goes."""
    part = file.with_name(f".{file.name}.{os.getpid()}.part")
    with _folder(path, file):
        try:
            with writing(path):
                part.touch()
            yield part
        finally:
            with suppress(OSError):
                part.unlink(missing_ok=True)


@contextmanager
def _folder(path: Path, file: Path) -> Iterator[None]:
    """The folder of `file`, which `path` leads to; if it was made for this, it goes when empty."""
    made = [folder for folder in file.parents if not os.path.exists(folder)]  # noqa: PTH110 - never raises
    try:
        with writing(path):
            file.parent.mkdir(parents=True, exist_ok=True)
        yield
    finally:
        with suppress(OSError):
            for folder in made:
                folder.rmdir()  # which a file in it, such as the one just written, forbids


def _mode(path: Path, part: Path) -> int:
    """Who may read it: as until now, or as the umask says of a new file.

    safetensors gives its files to their owner alone.
    """
    return (path if path.exists() else part).stat().st_mode & 0o7777


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """What the system says against it is one sentence about the path."""
    try:
        yield
    except OSError as error:
        raise OutputError(f"{path}: cannot be written ({error.strerror or error})") from None


def refuse_existing(*paths: Path, overwrite: bool) -> None:
    """Refuse to write where something is, unless it is said to be replaced."""
    for path in [] if overwrite else filter(Path.exists, paths):
        advice = f"say {setting('overwrite', True)} to replace it"
        raise OutputError(f"{path}: it exists already; {advice}")


def refuse_no_file(path: Path) -> None:
    """Refuse a folder or a device where a file is to be."""
    with writing(path):
        if path.exists() and not path.is_file():
            raise OutputError(f"{path}: it exists and is not a file; give another name")


def write_text(path: Path, text: str) -> None:
    """Write a text file, whole or not at all."""
    with replacing(path) as part:
        part.write_text(text, encoding="utf-8")


def read_json(
    path: Path, *, what: str, newest: int, parts: tuple[str, ...] = (), advice: str
) -> dict[str, Any] | None:
    """An object that says its format, None where there is no such file.

    One that is damaged, lacks one of `parts` or has a format over `newest` is refused: it is no
    `what`, and `advice` says what to do.
    """
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        version = int(found["format"])
        lacking = [part for part in parts if part not in found]
        if lacking and version <= newest:
            raise ValueError(f"it has no {lacking[0]!r}")
    except FileNotFoundError:
        return None
    except PermissionError as error:
        raise RunError(f"{path}: cannot be read ({error.strerror})") from None
    except (OSError, ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
        raise RunError(f"{path}: this is no {what} ({error}); {advice}") from None
    if version > newest:
        raise RunError(
            f"{path}: its format is {version}, this trifact reads up to {newest}; update trifact"
        )
    assert isinstance(found, dict)
    return found


def synced(path: Path) -> None:
    """What was written to a file or folder is on the disk when this returns."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
