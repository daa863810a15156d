"""`load`: a benchmark's name, a file, a folder, a table or tuples become a Graph."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from trifact.errors import InputError
from trifact.graph import benchmarks, cache
from trifact.graph.catalogue import Benchmark
from trifact.graph.graph import Graph
from trifact.graph.labels import labels_for
from trifact.graph.layouts import layout_of
from trifact.graph.options import LoadConfig
from trifact.graph.readers import Reading, read_layout, read_table, read_tuples
from trifact.graph.sources import readable, shown
from trifact.graph.splitting import Draw
from trifact.graph.vocabulary import Vocabulary
from trifact.progress import Progress, silent

WORLD = Path(__file__).with_name("world.tsv")


def load(source: object, config: LoadConfig | None = None, *, progress: Progress = silent) -> Graph:
    """The graph of a source: a name, a path, a table of columns, or tuples of names."""
    config = config or LoadConfig()
    if isinstance(source, str):
        return _load_named(source, config, progress)
    if isinstance(source, os.PathLike):
        path = Path(os.fsdecode(source))
        return _load_path(shown(path.absolute()), path, config, progress)
    if _is_table(source):
        return _graph("table", read_table(source, config), config)
    if isinstance(source, Iterable):
        return _graph("facts", read_tuples(source, config), config)
    raise InputError(f"a graph is a name, a path, a table or tuples, not {type(source).__name__}")


def _is_table(source: object) -> bool:
    """Asked of the type: some tables warn if their columns are touched."""
    marks = ("columns", "__arrow_c_stream__", "__arrow_c_array__")
    return any(hasattr(type(source), mark) for mark in marks)


def _load_named(name: str, config: LoadConfig, progress: Progress) -> Graph:
    """World, a benchmark or a folder of $TRIFACT_DATA by name; else a path.

    A name wins over a file that happens to be called so; `./NAME`, or a Path, means the file.
    """
    if name.casefold() == "world":
        return _load_path("World", WORLD, config.replace(comment="#"), progress)
    path, benchmark = Path(name), benchmarks.find(name)
    known = benchmark is not None or benchmarks.library_folder(name) is not None
    if name and not known and _may_be_path(name):
        return _load_path(shown(path.absolute()), path, config, progress)
    folder = benchmarks.locate(name, progress)
    graph_name = benchmark.name if benchmark else folder.name
    return _load_path(graph_name, folder, config, progress, benchmark=benchmark)


def _may_be_path(name: str) -> bool:
    with readable(Path(name)):
        return os.sep in name or bool(Path(name).suffix) or Path(name).exists()


def _load_path(
    name: str,
    path: Path,
    config: LoadConfig,
    progress: Progress,
    *,
    benchmark: Benchmark | None = None,
) -> Graph:
    layout = layout_of(path) if benchmark is None else benchmarks.layout(path)
    progress(f"looking at {name}", 0, 0)
    key = cache.key_of(layout, config, benchmark=benchmark.name if benchmark else "")
    reading = cache.load(key) if key else None
    if reading is None:
        if benchmark is not None:  # what is in the cache came from checked files
            benchmarks.verify(benchmark, path)
        reading = read_layout(layout, config, progress)
        if key:
            cache.keep(key, reading)
    return _graph(name, reading, config, path=path, whole=set(layout.facts) == {"train"})


def _graph(
    name: str,
    reading: Reading,
    config: LoadConfig,
    *,
    path: Path | None = None,
    whole: bool = True,
) -> Graph:
    """The graph of what was read: labels are looked for beside `path`, what is whole is split."""
    labels, label_notes = labels_for(path, config)
    splits, notes, draw = reading.splits, (*reading.notes, *label_notes), None
    if whole and (config.valid or config.test):
        draw = Draw(config.valid, config.test, config.split_seed)
        splits = draw.split(splits["train"])
        notes = (*notes, draw.note(splits))
    return Graph(
        name=name,
        entities=reading.entities,
        predicates=reading.predicates,
        entity_labels={**reading.entity_labels, **_by_id(labels, reading.entities)},
        predicate_labels={**reading.predicate_labels, **_by_id(labels, reading.predicates)},
        notes=notes,
        draw=draw,
        **splits,
    )


def _by_id(labels: dict[str, str], names: Vocabulary) -> dict[int, str]:
    if not labels:
        return {}
    return {i: labels[name] for i, name in enumerate(names) if name in labels}
