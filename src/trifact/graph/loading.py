"""`load`: a benchmark's name, a file, a folder, a table or tuples become a Graph."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from trifact.errors import InputError
from trifact.graph import benchmarks, cache
from trifact.graph.catalogue import Benchmark
from trifact.graph.formats import COMPRESSED
from trifact.graph.graph import Graph, split_facts
from trifact.graph.known import Ints
from trifact.graph.layouts import layout_of
from trifact.graph.options import LoadConfig
from trifact.graph.readers import Reading, read_layout, read_table, read_tuples
from trifact.graph.sources import BadLines, Source, text_lines
from trifact.progress import Progress, silent

WORLD = Path(__file__).with_name("world.tsv")
LABEL_FILES = ("labels.tsv", "relation_labels.tsv")


def load(source: object, config: LoadConfig | None = None, *, progress: Progress = silent) -> Graph:
    """The graph of a source: a name, a path, a table of columns, or tuples of names."""
    config = config or LoadConfig()
    if isinstance(source, str | os.PathLike):
        return _load_named(os.fspath(source), config, progress)
    if hasattr(source, "columns") or hasattr(source, "__arrow_c_stream__"):
        return _graph("table", read_table(source, config), config)
    if isinstance(source, Iterable):
        return _graph("facts", read_tuples(source, config), config)
    raise InputError(f"a graph is a name, a path, a table or tuples, not {type(source).__name__}")


def _load_named(name: str, config: LoadConfig, progress: Progress) -> Graph:
    """World, a benchmark or a folder of $TRIFACT_DATA by name; else a path.

    A name wins over a file that happens to be called so; `./NAME` means the file.
    """
    if name.casefold() == "world":
        return _load_path("World", WORLD, config.replace(comment="#"), progress)
    path, benchmark = Path(name), benchmarks.find(name)
    if benchmark is None and (path.exists() or len(path.parts) != 1 or path.suffix):
        return _load_path(path.resolve().name, path, config, progress)
    folder = benchmarks.locate(name, progress)
    graph_name = benchmark.name if benchmark else folder.name
    return _load_path(graph_name, folder, config, progress, benchmark=benchmark)


def _load_path(
    name: str,
    path: Path,
    config: LoadConfig,
    progress: Progress,
    *,
    benchmark: Benchmark | None = None,
) -> Graph:
    layout = layout_of(path)
    progress(f"looking at {name}", 0, 0)
    key = cache.key_of(layout, config) if config.cache else ""
    reading = cache.load(key) if key else None
    if reading is None:
        if benchmark is not None:  # what is in the cache came from checked files
            benchmarks.verify(benchmark, path)
        reading = read_layout(layout, config, progress)
        if key:
            cache.keep(key, reading)
    whole = set(layout.facts) == {"train"}
    return _graph(name, reading, config, labels=_labels(path, config), whole=whole)


def _graph(
    name: str,
    reading: Reading,
    config: LoadConfig,
    *,
    labels: dict[str, str] | None = None,
    whole: bool = True,
) -> Graph:
    splits, notes, labels = reading.splits, reading.notes, labels or {}
    if whole and (config.valid or config.test):
        parts = split_facts(splits["train"], (config.valid, config.test), config.seed)
        splits = dict(zip(splits, parts, strict=True))
        notes = (*notes, _split_note(splits, config))
    return Graph(
        name=name,
        entities=reading.entities,
        predicates=reading.predicates,
        entity_labels={i: labels[n] for i, n in enumerate(reading.entities) if n in labels},
        predicate_labels={i: labels[n] for i, n in enumerate(reading.predicates) if n in labels},
        notes=notes,
        **splits,
    )


def _split_note(splits: dict[str, Ints], config: LoadConfig) -> str:
    sizes = ", ".join(f"{split} {len(facts):,}" for split, facts in splits.items())
    if not len(splits["valid"]) + len(splits["test"]):
        return "not split: every fact is the only one of some entity or predicate"
    return f"split with seed {config.seed}: {sizes}; every entity and predicate stays in train"


def _labels(path: Path, config: LoadConfig) -> dict[str, str]:
    """Names to show, from the file asked for, or from those found beside the facts."""
    folder = path if path.is_dir() else path.parent
    found = [
        file
        for stem in LABEL_FILES
        for ending in ("", *COMPRESSED)
        if (file := folder / f"{stem}{ending}").is_file() and file != path
    ]
    labels = dict[str, str]()
    for file in [Path(config.labels)] if config.labels else found:
        labels |= _read_labels(Source.at(file, cap=int(config.max_expanded_gb * 1e9)), config)
    return labels


def _read_labels(source: Source, config: LoadConfig) -> dict[str, str]:
    bad, labels = BadLines(source.path, config.skip_bad_lines), dict[str, str]()
    with source.open() as stream:
        for number, line in text_lines(stream, bad):
            cells = line.rstrip("\r\n").split("\t")
            if len(cells) == 2:
                labels[cells[0]] = cells[1]
            elif line.strip():
                bad.report(
                    number, f"expected a name, a TAB and its label, found {len(cells)} columns"
                )
    return labels
