"""What was read, kept by content: the same bytes read with the same settings load at once."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import numpy as np

from trifact.graph.benchmarks import cache_folder
from trifact.graph.facttable import SPLITS
from trifact.graph.layouts import Layout
from trifact.graph.options import LoadConfig
from trifact.graph.readers import Reading
from trifact.graph.sources import Source
from trifact.graph.vocabulary import Vocabulary

VERSION = 1
MOST_BYTES = 4_000_000_000
NOT_ABOUT_READING = ("labels", "valid", "test", "seed", "memory_mb", "max_expanded_gb", "cache")


def key_of(layout: Layout, config: LoadConfig) -> str:
    """The hash of all that decides what is read: the files' content and names, the settings."""
    digest = hashlib.sha256(f"{VERSION} {layout.kind}".encode())
    settings = {k: v for k, v in vars(config).items() if k not in NOT_ABOUT_READING}
    digest.update(repr(sorted(settings.items())).encode())
    for path in layout.files:
        digest.update(f"{path.name} {Source.at(path, cap=0).digest()}".encode())
    return digest.hexdigest()


def load(key: str) -> Reading | None:
    """What was kept under the key; None if nothing was, or it cannot be read any more."""
    path = _path(key)
    try:
        with np.load(path, allow_pickle=False) as kept:
            entities = Vocabulary(kept["entity_text"], kept["entity_ends"])
            predicates = Vocabulary(kept["predicate_text"], kept["predicate_ends"])
            splits = {split: kept[split].astype(np.int64) for split in SPLITS}
            notes = tuple(str(note) for note in kept["notes"])
        os.utime(path)
    except (OSError, ValueError, KeyError, EOFError):
        return None
    return Reading(entities, predicates, splits, notes)


def keep(key: str, reading: Reading) -> None:
    """Keep what was read, and forget the longest unused if all takes more than 4 GB.

    A disk that is full or read-only is no reason to fail: the graph is there all the same.
    """
    path, part = _path(key), _path(f"{key}.{os.getpid()}")
    arrays = {split: facts.astype(np.int32) for split, facts in reading.splits.items()}
    for kind, names in (("entity", reading.entities), ("predicate", reading.predicates)):
        arrays |= {f"{kind}_text": names.text, f"{kind}_ends": names.ends}
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        np.savez(part, allow_pickle=False, notes=np.array(reading.notes), **arrays)  # type: ignore[arg-type]
        part.replace(path)
        _forget_beyond(MOST_BYTES)
    except OSError:
        part.unlink(missing_ok=True)


def _path(key: str) -> Path:
    return cache_folder() / "graphs" / f"{key}.npz"


def _forget_beyond(most: int) -> None:
    kept = sorted((cache_folder() / "graphs").glob("*.npz"), key=lambda p: -p.stat().st_mtime)
    sizes = np.cumsum([path.stat().st_size for path in kept])
    for path, size in zip(kept, sizes, strict=True):
        if size > most:
            path.unlink(missing_ok=True)
