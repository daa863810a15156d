"""`load`: a benchmark's name, a file, a folder, a table or tuples become a Graph."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from trifact.errors import InputError
from trifact.graph import benchmarks, cache
from trifact.graph.catalogue import Benchmark
from trifact.graph.formats import refuse_idle
from trifact.graph.graph import Graph
from trifact.graph.known import starts_of_runs
from trifact.graph.labels import labels_for
from trifact.graph.layouts import Layout, layout_of
from trifact.graph.options import DRAWING, LoadConfig
from trifact.graph.readers import Reading, read_layout, read_table, read_tuples
from trifact.graph.sources import readable, shown
from trifact.graph.splitting import Draw
from trifact.progress import Progress, silent

WORLD = Path(__file__).with_name("world.tsv")


class Place(NamedTuple):
    """What a graph is called, and where it lies."""

    name: str
    path: Path
    benchmark: Benchmark | None = None

    @classmethod
    def at(cls, path: Path) -> Place:
        """A path, called as it is."""
        return cls(shown(path.absolute()), path)

    def layout(self) -> Layout:
        """The files that make up the graph."""
        return layout_of(self.path) if self.benchmark is None else benchmarks.layout(self.path)


def load(source: object, config: LoadConfig | None = None, *, progress: Progress = silent) -> Graph:
    """The graph of a source: a name, a path, a table of columns, or tuples of names."""
    config = config or LoadConfig()
    if isinstance(source, str):
        place = place_of(source, progress)
        return _load(
            place, config.replace(comment="#") if place.path == WORLD else config, progress
        )
    if isinstance(source, os.PathLike):
        return _load(Place.at(Path(os.fsdecode(source))), config, progress)
    if _is_table(source):
        return _graph("table", read_table(source, config), config)
    if isinstance(source, Iterable):
        return _graph("facts", read_tuples(source, config), config)
    raise InputError(f"a graph is a name, a path, a table or tuples, not {type(source).__name__}")


def _is_table(source: object) -> bool:
    """Asked of the type: some tables warn if their columns are touched."""
    marks = ("columns", "__arrow_c_stream__", "__arrow_c_array__")
    return any(hasattr(type(source), mark) for mark in marks)


def place_of(name: str, progress: Progress = silent) -> Place:
    """World, a benchmark or a folder of $TRIFACT_DATA by name; else a path.

    A name wins over a file that happens to be called so; `./NAME`, or a Path, means the file.
    """
    if name.casefold() == "world":
        return Place("World", WORLD)
    benchmark = benchmarks.find(name)
    if os.sep in name or (name and benchmark is None and _is_path(name)):
        return Place.at(Path(name))
    folder = benchmarks.locate(name, progress)
    return Place(benchmark.name if benchmark else folder.name, folder, benchmark)


def _is_path(name: str) -> bool:
    """Whether this, which is no benchmark, is no folder of $TRIFACT_DATA but may be a path."""
    with readable(Path(name)):
        there = bool(Path(name).suffix) or Path(name).exists()
    return there and benchmarks.library_folder(name) is None


def _load(place: Place, config: LoadConfig, progress: Progress) -> Graph:
    name, path, benchmark = place
    layout = place.layout()
    progress(f"looking at {name}", 0, 0)
    before = cache.stamps(layout)
    key = cache.key_of(layout, config, benchmark=benchmark.name if benchmark else "")
    reading = cache.load(key) if key else None
    if reading is None:
        if benchmark is not None:  # what is in the cache came from checked files
            benchmarks.verify(benchmark, path)
        reading = read_layout(layout, config, progress)
        if key and cache.stamps(layout) == before:  # else it may not be what the key says
            cache.keep(key, reading)
    return _graph(name, reading, config, path=path, whole=set(layout.facts) == {"train"})


def loaded(graph: object) -> Graph:
    """A graph as it is, or that of whatever `load` takes."""
    return graph if isinstance(graph, Graph) else load(graph)


def _graph(
    name: str,
    reading: Reading,
    config: LoadConfig,
    *,
    path: Path | None = None,
    whole: bool = True,
) -> Graph:
    """The graph of what was read: labels are looked for beside `path`, what is whole is split."""
    names = reading.entities, reading.predicates
    (of_entities, of_predicates), label_notes = labels_for(path, names, config)
    splits, notes, draw = reading.splits, (*reading.notes, *label_notes), None
    repeated = sum(len(facts) - len(starts_of_runs(*facts.T)) for facts in splits.values())
    if repeated:
        facts = "1 fact repeats" if repeated == 1 else f"{repeated:,} facts repeat"
        notes = (*notes, f"{facts} another one; each counts as often as it stands there")
    if not whole:
        refuse_idle(Path(name), config, DRAWING, what="a graph that comes split")
    elif config.valid or config.test:
        draw = Draw(config.valid, config.test, config.split_seed)
        splits = draw.split(splits["train"])
        notes = (*notes, draw.note(splits))
    return Graph(
        name=name,
        entities=reading.entities,
        predicates=reading.predicates,
        entity_labels={**reading.entity_labels, **of_entities},
        predicate_labels={**reading.predicate_labels, **of_predicates},
        notes=notes,
        draw=draw,
        **splits,
    )
