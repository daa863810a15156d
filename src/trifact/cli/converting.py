"""The work behind `trifact data convert`."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Any

import numpy as np

from trifact.cli.screen import say, watching
from trifact.durable import refuse_existing
from trifact.errors import ConfigError, OutputError
from trifact.graph.layouts import files_of
from trifact.graph.loading import Place, load, place_of
from trifact.graph.options import LoadConfig
from trifact.graph.splitting import SPLITS
from trifact.graph.writers import WRITABLE, format_to_write, write_facts


def convert_graph(
    source: str, target: Path, *, to: str, overwrite: bool, settings: dict[str, Any]
) -> None:
    """All facts to one file, or each split to a file of a folder."""
    to_folder = target.is_dir() or not target.suffix
    to = to or ("tsv" if to_folder else format_to_write(target))  # before reading, not after
    if to not in WRITABLE:
        raise OutputError(f"--to must be one of {', '.join(WRITABLE)}, not {to!r}")
    if not to_folder and to != format_to_write(target):
        raise OutputError(f"{target}: the ending of a file says its format; leave --to out")
    if not to_folder:
        for name in {"valid", "test", "split_seed"} & settings.keys():
            flag = name.replace("_", "-")
            raise ConfigError(f"--{flag} splits, but all facts go to one file; name a folder")
        settings = {**settings, "valid": 0.0, "test": 0.0}
    config = LoadConfig.from_values(settings)
    with watching() as progress:
        graph = load(source, config, progress=progress)
        splits = {s: facts for s, facts in graph.splits.items() if len(facts)}
        files = {target / f"{s}{WRITABLE[to]}": facts for s, facts in splits.items()}
        if not to_folder:
            files = {target: np.concatenate(list(splits.values()))}
        stale = _other_splits(target, files) if to_folder and target.is_dir() else []
        _refuse_source(place_of(source), target, {*files, *stale})
        refuse_existing(*files, *stale, overwrite=overwrite)
        progress(f"writing {target.name}", 0, 0)
        literals = config.literals == "keep"
        write_facts(graph, files, overwrite=overwrite, literals=literals)
        for path in stale:
            path.unlink(missing_ok=True)
    say(*graph.notes, *(f"{path}: {len(facts):,} facts written" for path, facts in files.items()))
    if not to_folder and len(splits) > 1:
        say(f"{' and '.join(splits)} are together in one file; name a folder to keep them apart")


def _refuse_source(source: Place, target: Path, changed: Collection[Path]) -> None:
    """Refuse to write over what is read, or beside it where that is a folder."""
    read = {path.resolve() for path in (source.path, *source.layout().files)}
    written = {path.resolve() for path in changed}
    if (read & {target.resolve(), *written}) or any(path.parent in read for path in written):
        raise OutputError(f"{target}: the graph is read from there; give another place")


def _other_splits(folder: Path, files: Collection[Path]) -> list[Path]:
    """Files that would be read together with those, or instead of them."""
    there = [file for file in folder.iterdir() if file.is_file()]
    return [f for split in SPLITS for f in files_of(split, there) if f not in files]
