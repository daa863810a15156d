"""Graphs by name: the benchmarks of the field, and folders of the user's own.

A name is looked for in `$TRIFACT_DATA`, then in the user's cache, then downloaded. Nothing is
used unchecked: every benchmark has the SHA-256 of its splits, or gets it at its first download.
"""

from __future__ import annotations

import difflib
import gzip
import hashlib
import json
import os
import re
import zlib
from collections.abc import Iterator
from pathlib import Path

from trifact.durable import write_text
from trifact.errors import BenchmarkError, DownloadError, OutputError
from trifact.graph.catalogue import BENCHMARKS, Benchmark
from trifact.graph.download import BLOCK, MAX_BYTES, fetch, locked, splits_from_tar
from trifact.graph.layouts import Layout
from trifact.graph.splitting import SPLITS
from trifact.progress import Progress, silent

ENDINGS = (".txt", ".txt.gz", ".tsv", ".tsv.gz")
RECORD = "checksums.json"
SAFE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


def find(name: str) -> Benchmark | None:
    """The benchmark of that name, however it is capitalised."""
    return next((b for b in BENCHMARKS.values() if b.name.casefold() == name.casefold()), None)


def locate(name: str, progress: Progress = silent) -> Path:
    """The folder that holds the graph called `name`, downloaded if need be; see `verify`."""
    benchmark, own = find(name), library_folder(name)
    if benchmark is None:
        if own is None:
            raise unknown(name)
        return own
    return own if own is not None and is_complete(own) else _cached(benchmark, progress)


def whereabouts(benchmark: Benchmark) -> str:
    """Where a benchmark would come from, for people."""
    own = library_folder(benchmark.name)
    if own is not None and is_complete(own):
        return "$TRIFACT_DATA"
    return "cache" if is_complete(_cache_of(benchmark)) else "to download"


def cache_folder() -> Path:
    """Where downloads are kept: $TRIFACT_CACHE, else trifact in the user's cache folder."""
    if chosen := os.environ.get("TRIFACT_CACHE"):
        return Path(chosen)
    shared = Path(os.environ.get("XDG_CACHE_HOME", ""))
    if shared.is_absolute():  # the XDG specification says to ignore a relative one
        return shared / "trifact"
    try:
        return Path.home() / ".cache" / "trifact"
    except RuntimeError as error:
        raise BenchmarkError("no home folder is known; set TRIFACT_CACHE to a folder") from error


def split_file(folder: Path, split: str) -> Path | None:
    """The file of a split in a folder, under any of the endings that benchmarks come with."""
    files = (folder / f"{split}{ending}" for ending in ENDINGS)
    try:
        return next((file for file in files if file.is_file()), None)
    except OSError as error:
        why = f"cannot be read ({error.strerror or error})"
        raise BenchmarkError(why, path=folder) from error


def layout(folder: Path) -> Layout:
    """The files that `verify` looks at, and no others that may lie beside them."""
    found = {split: split_file(folder, split) for split in SPLITS}
    return Layout("folder", {split: file for split, file in found.items() if file is not None})


def is_complete(folder: Path) -> bool:
    """Whether all three splits are there."""
    return all(split_file(folder, split) is not None for split in SPLITS)


def verify(benchmark: Benchmark, folder: Path) -> None:
    """Raises BenchmarkError unless each split is the benchmark's own, byte for byte."""
    recorded = _read_record(folder)
    for split, published in zip(SPLITS, benchmark.checksums, strict=True):
        file, expected = split_file(folder, split), published or recorded.get(split)
        if file is None:
            raise BenchmarkError(f"there is no {split}.txt of {benchmark.name}", path=folder)
        if expected is not None and (found := text_sha256(file)) != expected:
            raise BenchmarkError(
                f"this is not {split} of {benchmark.name}: expected SHA-256 {expected[:16]}..., "
                f"found {found[:16]}...; delete the file and it is downloaded again, "
                "or give it as a path to use it as it is",
                path=file,
            )


def text_sha256(file: Path) -> str:
    """SHA-256 of a text, decompressed and with LF line ends, a block at a time."""
    digest, held = hashlib.sha256(), b""
    for block in _blocks(file):
        text = held + block
        held = text[-1:] if text.endswith(b"\r") else b""  # its LF may start the next block
        digest.update(text.removesuffix(b"\r").replace(b"\r\n", b"\n"))
    digest.update(held)
    return digest.hexdigest()


def _blocks(file: Path) -> Iterator[bytes]:
    size = 0
    try:
        with gzip.open(file) if file.suffix == ".gz" else file.open("rb") as stream:
            while block := stream.read(BLOCK):
                size += len(block)
                if size > MAX_BYTES:
                    raise BenchmarkError(f"expands beyond {MAX_BYTES:,} bytes", path=file)
                yield block
    except (OSError, EOFError, zlib.error) as error:
        raise BenchmarkError(f"cannot be read ({error}); delete it", path=file) from error


def library() -> list[Path]:
    """The folders directly in $TRIFACT_DATA that have a safe name."""
    if not (data := os.environ.get("TRIFACT_DATA")):
        return []
    try:
        return sorted(entry for entry in Path(data).iterdir() if _is_graph(entry))
    except FileNotFoundError:
        return []
    except OSError as error:
        why = f"$TRIFACT_DATA cannot be read ({error.strerror or error})"
        raise BenchmarkError(why, path=data) from error


def _is_graph(entry: Path) -> bool:
    return _is_safe(entry.name) and entry.is_dir()


def _is_safe(name: str) -> bool:
    return SAFE_NAME.fullmatch(name) is not None and ".." not in name


def library_folder(name: str) -> Path | None:
    """The user's folder of that name. It is picked from a list: the name never makes a path."""
    alike = [folder for folder in library() if folder.name.casefold() == name.casefold()]
    exact = [folder for folder in alike if folder.name == name]
    return next(iter(exact + alike), None)


def unknown(name: str) -> BenchmarkError:
    """The error for a name that nothing is called by: it lists the known ones."""
    names = sorted({"World", *BENCHMARKS, *(folder.name for folder in library())}, key=str.casefold)
    folded = {known.casefold(): known for known in names}
    near = difflib.get_close_matches(name[:64].casefold(), folded, n=1)
    guess = f"did you mean {folded[near[0]]}? " if near else ""
    return BenchmarkError(f"no graph is called {name[:64]!r}; {guess}Known: {', '.join(names)}")


def _cache_of(benchmark: Benchmark) -> Path:
    return cache_folder() / "benchmarks" / benchmark.name


def _cached(benchmark: Benchmark, progress: Progress) -> Path:
    folder = _cache_of(benchmark)
    if not is_complete(folder) or _lacks_record(benchmark, folder):
        # Whoever waits here finds every file there afterwards, and fetches nothing.
        with locked(folder.with_name(f"{benchmark.name}.lock")):
            _download(benchmark, folder, progress)
            if _lacks_record(benchmark, folder):
                _record(benchmark, folder, progress)
    return folder


def _download(benchmark: Benchmark, folder: Path, progress: Progress) -> None:
    try:
        for split, url in zip(SPLITS, benchmark.urls, strict=True):
            if split_file(folder, split) is None:
                fetch(url, folder / f"{split}.txt", progress, name=benchmark.name)
    except DownloadError:
        if benchmark.archive is None or not _from_archive(benchmark, folder, progress):
            raise


def _from_archive(benchmark: Benchmark, folder: Path, progress: Progress) -> bool:
    archive = folder / "archive.tar.gz"
    try:
        fetch(benchmark.archive or "", archive, progress, name=benchmark.name)
        splits_from_tar(archive, folder)
    except DownloadError:
        return False  # the text files' own failure tells the user more
    archive.unlink(missing_ok=True)
    return True


def _lacks_record(benchmark: Benchmark, folder: Path) -> bool:
    return None in benchmark.checksums and not _read_record(folder)


def _record(benchmark: Benchmark, folder: Path, progress: Progress) -> None:
    """Notes the checksums that nobody published, so that later changes are noticed."""
    files = {split: split_file(folder, split) for split in SPLITS}
    found = {split: text_sha256(file) for split, file in files.items() if file is not None}
    try:
        write_text(folder / RECORD, json.dumps(found, indent=2) + "\n")
    except OutputError as error:
        raise DownloadError(str(error)) from None
    progress(f"{benchmark.name}: no checksum is known, recorded that of this download", 1, 1)


def _read_record(folder: Path) -> dict[str, str]:
    file = folder / RECORD
    try:
        record = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, RecursionError) as error:
        raise BenchmarkError(f"cannot be read ({error}); delete it", path=file) from error
    if not isinstance(record, dict) or not all(isinstance(v, str) for v in record.values()):
        raise BenchmarkError("is not a record of checksums; delete it", path=file)
    return record
