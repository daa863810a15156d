"""What was read, kept by content: the same bytes read with the same settings load at once."""

from __future__ import annotations

import hashlib
import os
import time
import zipfile
import zlib
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from trifact.durable import replacing
from trifact.errors import InputError, OutputError
from trifact.graph.benchmarks import cache_folder
from trifact.graph.layouts import Layout
from trifact.graph.options import LoadConfig
from trifact.graph.readers import Reading
from trifact.graph.sources import Source, readable
from trifact.graph.splitting import SPLITS
from trifact.graph.vocabulary import Vocabulary

VERSION = 4
MOST_BYTES = 4_000_000_000
LEAST_BYTES = 1_000_000
ABANDONED = 3600  # seconds after which a part that nobody finished is left by a kill
NOT_ABOUT_READING = (
    "labels",
    "valid",
    "test",
    "split_seed",
    "memory_mb",
    "max_expanded_gb",
    "cache",
)
DAMAGE = (OSError, ValueError, KeyError, EOFError, RuntimeError, zipfile.BadZipFile, zlib.error)


def key_of(layout: Layout, config: LoadConfig, *, benchmark: str = "") -> str:
    """The hash of all that decides what is read: the files' content and names, the settings.

    A `benchmark` has entries of its own: only those come from files that were checked. Empty, if
    caching is off, there is nowhere to keep anything, or the files are small.
    """
    if (
        not config.cache
        or _folder() is None
        or sum(size for _, size, _ in stamps(layout)) < LEAST_BYTES
    ):
        return ""
    settings = {k: v for k, v in vars(config).items() if k not in NOT_ABOUT_READING}
    files = [(os.fsencode(path.name), Source.at(path, cap=0).digest()) for path in layout.files]
    parts = VERSION, layout.kind, benchmark, sorted(settings.items()), list(layout.facts), files
    return hashlib.sha256(repr(parts).encode()).hexdigest()


def load(key: str) -> Reading | None:
    """What was kept under the key; None if nothing was, or it cannot be read any more."""
    path = _path(key)
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as kept:
            reading = _unpacked(kept)
    except DAMAGE:
        return None
    with suppress(OSError):  # somebody else's is as good to read
        os.utime(path)
    return reading


def keep(key: str, reading: Reading) -> None:
    """Keep what was read, and forget the longest unused if all takes more than 4 GB.

    A disk that is full or read-only is no reason to fail: the graph is there all the same.
    """
    with suppress(OutputError, OSError):
        path = _path(key)
        with replacing(path) as part, part.open("wb") as file:
            np.savez(file, allow_pickle=False, **_packed(reading))
        _forget(path.parent)


def _packed(reading: Reading) -> dict[str, Any]:
    arrays: dict[str, Any] = {s: facts.astype(np.int32) for s, facts in reading.splits.items()}
    for kind, names in (("entity", reading.entities), ("predicate", reading.predicates)):
        arrays |= {f"{kind}_text": names.text, f"{kind}_ends": names.ends}
    for kind, labels in (
        ("entity", reading.entity_labels),
        ("predicate", reading.predicate_labels),
    ):
        text = "\n".join(labels.values()).encode()  # a label is one line
        arrays[f"{kind}_label_text"] = np.frombuffer(text, dtype=np.uint8)
        arrays[f"{kind}_label_ids"] = np.fromiter(labels, dtype=np.int32, count=len(labels))
    return arrays | {"notes": np.array(reading.notes)}


def _unpacked(kept: Any) -> Reading:  # noqa: ANN401 - numpy's archive
    """What was packed; a ValueError if it does not fit together."""
    entities = Vocabulary(kept["entity_text"], kept["entity_ends"])
    predicates = Vocabulary(kept["predicate_text"], kept["predicate_ends"])
    splits = {split: kept[split].astype(np.int64) for split in SPLITS}
    sizes = [len(entities), len(predicates), len(entities)]
    for facts in splits.values():
        if facts.shape[1:] != (3,) or (facts.max(axis=0, initial=-1) >= sizes).any():
            raise ValueError("ids without names")
    labels = _labels(kept, "entity", entities), _labels(kept, "predicate", predicates)
    return Reading(entities, predicates, splits, tuple(map(str, kept["notes"])), *labels)


def _labels(kept: Any, kind: str, names: Vocabulary) -> dict[int, str]:  # noqa: ANN401
    ids, text = kept[f"{kind}_label_ids"], kept[f"{kind}_label_text"].tobytes().decode()
    if ids.max(initial=-1) >= len(names):
        raise ValueError("labels without names")
    return dict(zip(ids.tolist(), text.split("\n") if text else [], strict=True))


def _folder() -> Path | None:
    try:
        return cache_folder() / "graphs"
    except InputError:  # no home: then nothing is kept
        return None


def _path(key: str) -> Path:
    folder = _folder()
    assert folder is not None, "there is a key only where there is a folder"
    return folder / f"{key}.npz"


def stamps(layout: Layout) -> list[tuple[int, int, int]]:
    """By file its number, size and time: they stay while nobody writes to it."""
    found = []
    for path in layout.files:
        with readable(path):
            about = path.stat()
        found.append((about.st_ino, about.st_size, about.st_mtime_ns))
    return found


def _forget(folder: Path) -> None:
    """What killed processes left, and the longest unused beyond the bound."""
    for part in folder.glob(".*.part"):
        if time.time() - part.stat().st_mtime > ABANDONED:
            part.unlink(missing_ok=True)
    kept = sorted(folder.glob("*.npz"), key=lambda path: -path.stat().st_mtime)
    sizes = np.cumsum([path.stat().st_size for path in kept])
    for path, size in zip(kept, sizes, strict=True):
        if size > MOST_BYTES:
            path.unlink(missing_ok=True)
