"""Fetching a file over HTTP: resumed where it broke off, and never half there.

A file arrives as `NAME.part` and takes its name only when it is whole. Beside the part lies
`NAME.part.from`: the URL and what the server calls this version of the file, so that a resumed
download never glues two versions together.
"""

from __future__ import annotations

import fcntl
import gzip
import http.client
import os
import shutil
import tarfile
import tempfile
import time
import urllib.error
import urllib.request
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path, PurePosixPath
from typing import IO, BinaryIO

from trifact.errors import DownloadError
from trifact.graph.splitting import SPLITS
from trifact.progress import Progress, silent

MAX_BYTES = 2 * 1024**3
"""No file is fetched, and no archive unpacked, beyond this: 2 GB."""
ATTEMPTS = 4
PAUSE = 0.5  # seconds before the second attempt, doubled before each one after it
TIMEOUT = 30.0  # seconds without a single byte
BLOCK = 1 << 18
SPLIT_FILES = tuple(f"{split}.txt" for split in SPLITS)

# 416: what has arrived does not fit the file of today. The others: the server may recover.
TRY_AGAIN = {408, 416, 425, 429, 500, 502, 503, 504}
DAMAGE = (tarfile.TarError, gzip.BadGzipFile, zlib.error, EOFError, ValueError)


class _BrokenError(Exception):
    """The connection failed. What has arrived is good: try again."""


class _RefusedError(Exception):
    """Trying again would give the same answer."""


def fetch(url: str, target: Path, progress: Progress = silent, *, name: str = "NAME") -> None:
    """Puts what `url` serves at `target`; does nothing if that is there already.

    `name` is the graph's, for the messages. One process at a time: see `locked`.
    """
    if not url.lower().startswith(("http://", "https://")):
        raise _failure(url, "only http and https are fetched", name)
    try:
        if not target.exists():
            _fetch_part(url, target, progress, f"{name}: {target.name}")
    except (_BrokenError, _RefusedError) as error:
        raise _failure(url, str(error), name) from error
    except OSError as error:
        why = f"{target} cannot be written ({error.strerror or error})"
        raise _failure(url, why, name) from error


def _failure(url: str, problem: str, name: str) -> DownloadError:
    return DownloadError(
        f"{url}: {problem}; try again (what has arrived is kept), "
        f"or put the files in $TRIFACT_DATA/{name} by hand"
    )


def _fetch_part(url: str, target: Path, progress: Progress, what: str) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    part = _beside(target, ".part")
    with part.open("ab") as file:
        _persist(url, file, progress, what)
        _sync(file)
    publish(part, target)
    _origin(part).unlink(missing_ok=True)


def _beside(path: Path, suffix: str) -> Path:
    return path.with_name(path.name + suffix)


def _origin(part: Path) -> Path:
    return _beside(part, ".from")


def _persist(url: str, file: BinaryIO, progress: Progress, what: str) -> None:
    for attempt in range(ATTEMPTS - 1):
        try:
            return _attempt(url, file, progress, what)
        except _BrokenError:
            time.sleep(PAUSE * 2**attempt)
    return _attempt(url, file, progress, what)


def _attempt(url: str, file: BinaryIO, progress: Progress, what: str) -> None:
    arrived = file.seek(0, os.SEEK_END)
    with _open(url, file, arrived) as response:
        start, total = _extent(response)
        if start != arrived:  # the server ignored Range, or has another version by now
            file.truncate(0)
        if start not in (0, arrived):
            raise _BrokenError("the server resumed at the wrong place")
        if total > MAX_BYTES:
            raise _RefusedError(f"{total:,} bytes are more than the {MAX_BYTES:,} allowed")
        if start == 0:
            _write_origin(url, Path(file.name), response)
        _copy(response, file, total, lambda done: progress(what, done, total))


def _open(url: str, file: BinaryIO, arrived: int) -> http.client.HTTPResponse:
    request = urllib.request.Request(url, headers=_headers(url, Path(file.name), arrived))
    try:
        response: http.client.HTTPResponse = _opener().open(request, timeout=TIMEOUT)
    except urllib.error.HTTPError as error:
        error.close()
        if error.code == 416:
            file.truncate(0)
        kind = _BrokenError if error.code in TRY_AGAIN else _RefusedError
        raise kind(f"the server answered {error.code} ({error.reason})") from error
    except (OSError, http.client.HTTPException) as error:
        raise _BrokenError(f"the server cannot be reached ({_reason(error)})") from error
    return response


def _opener() -> urllib.request.OpenerDirector:
    """HTTP and HTTPS alone: the default opener would follow a redirect to ftp."""
    opener = urllib.request.OpenerDirector()
    for handler in (
        urllib.request.ProxyHandler,
        urllib.request.HTTPHandler,
        urllib.request.HTTPSHandler,
        urllib.request.HTTPRedirectHandler,
        urllib.request.HTTPDefaultErrorHandler,
        urllib.request.HTTPErrorProcessor,
        urllib.request.UnknownHandler,
    ):
        opener.add_handler(handler())
    return opener


def _reason(error: Exception) -> str:
    return str(getattr(error, "reason", "") or error or type(error).__name__)


def _headers(url: str, part: Path, arrived: int) -> dict[str, str]:
    headers = {"User-Agent": "trifact", "Accept-Encoding": "identity"}
    url_then, version = _read_origin(part)
    if arrived and url_then == url:
        headers["Range"] = f"bytes={arrived}-"
        if version:
            headers["If-Range"] = version
    return headers


def _read_origin(part: Path) -> tuple[str, str]:
    """(URL, version) of what has arrived; two empty strings if nobody noted it."""
    try:
        url, _, version = _origin(part).read_text(encoding="utf-8").partition("\n")
    except (OSError, UnicodeDecodeError):
        return "", ""
    return url, version


def _write_origin(url: str, part: Path, response: http.client.HTTPResponse) -> None:
    tag = response.headers.get("ETag", "")
    # A weak tag does not promise the same bytes, so If-Range must not carry one.
    version = tag if tag.startswith('"') else response.headers.get("Last-Modified", "")
    _origin(part).write_text(f"{url}\n{version}", encoding="utf-8")


def _extent(response: http.client.HTTPResponse) -> tuple[int, int]:
    """Where in the file this answer starts, and how long the file is (0: not told)."""
    if response.status not in (200, 206):
        raise _RefusedError(f"the server answered {response.status}")
    if response.status == 200:
        return 0, _number(response.headers.get("Content-Length", ""))
    place, _, total = response.headers.get("Content-Range", "").partition("/")
    first = place.removeprefix("bytes ").partition("-")[0]
    return (_number(first) if first.isdecimal() else -1), _number(total)


def _number(text: str) -> int:
    return int(text) if text.isdecimal() and len(text) < 20 else 0


def _copy(
    response: http.client.HTTPResponse, file: BinaryIO, total: int, tick: Callable[[int], None]
) -> None:
    done = file.seek(0, os.SEEK_END)
    while block := _read(response):
        file.write(block)
        done += len(block)
        if done > MAX_BYTES:
            file.truncate(0)
            raise _RefusedError(f"more than the {MAX_BYTES:,} bytes allowed arrived")
        tick(done)
    if total and done != total:
        raise _BrokenError(f"the connection ended after {done:,} of {total:,} bytes")


def _read(response: http.client.HTTPResponse) -> bytes:
    # Apart from the writing, because a full disk is an OSError too.
    try:
        return response.read1(BLOCK)
    except (OSError, http.client.HTTPException) as error:
        raise _BrokenError(f"the connection broke ({_reason(error)})") from error


def splits_from_tar(archive: Path, folder: Path) -> None:
    """Takes train.txt, valid.txt and test.txt out of a .tar.gz, all three or none.

    Only the last part of a member's name counts, and only regular files: no path, link or
    device of the archive ever reaches the disk. An archive that will not do is removed.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder, prefix=".unpacking-") as here:
            _unpack(archive, Path(here))
            for name in SPLIT_FILES:
                publish(Path(here, name), folder / name)
    except (*DAMAGE, _RefusedError) as error:
        archive.unlink(missing_ok=True)
        problem = f"{archive} is damaged or not what was expected ({error})"
        raise DownloadError(f"{problem}; it was removed, so try again") from error
    except OSError as error:
        raise DownloadError(f"{archive} cannot be unpacked into {folder} ({error})") from error


def _unpack(archive: Path, folder: Path) -> None:
    with gzip.open(archive) as plain, tarfile.open(fileobj=plain, mode="r:") as tar:
        size = 0
        for member in tar:
            size = _counted(size, tarfile.BLOCKSIZE + member.size)  # the skipped ones cost too
            name = PurePosixPath(member.name).name
            if member.isreg() and name in SPLIT_FILES:
                _take(tar, member, folder / name)
        while rest := plain.read(BLOCK):  # gzip's own checksum comes last
            size = _counted(size, len(rest))
    missing = [name for name in SPLIT_FILES if not (folder / name).exists()]
    if missing:
        raise _RefusedError(f"it has no {' and no '.join(missing)}")


def _counted(size: int, more: int) -> int:
    if size + more > MAX_BYTES:
        raise _RefusedError(f"it unpacks to more than {MAX_BYTES:,} bytes")
    return size + more


def _take(tar: tarfile.TarFile, member: tarfile.TarInfo, target: Path) -> None:
    if target.exists():
        raise _RefusedError(f"it has two files called {target.name}")
    source = tar.extractfile(member)
    assert source is not None, "regular files have contents"
    with source, target.open("wb") as file:
        shutil.copyfileobj(source, file, BLOCK)
        _sync(file)


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Holds the lock file `path`: other processes wait. It stays; removing it would be a race."""
    with ExitStack() as stack:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            file = stack.enter_context(path.open("ab"))
            fcntl.flock(file, fcntl.LOCK_EX)
        except OSError as error:
            why = f"{path} cannot be locked ({error.strerror or error})"
            raise DownloadError(f"{why}; set TRIFACT_CACHE to another folder") from error
        yield


def publish(part: Path, target: Path) -> None:
    """Gives a finished file its name: a crash leaves the old file or the new one."""
    part.replace(target)
    folder = os.open(target.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _sync(file: IO[bytes]) -> None:
    file.flush()
    os.fsync(file.fileno())
