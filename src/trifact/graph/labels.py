"""Names for people: the label of an entity or predicate, from a file beside the facts."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from trifact.errors import InputError
from trifact.graph.formats import COMPRESSED
from trifact.graph.options import LoadConfig
from trifact.graph.sources import BadLines, Source, shown, text_lines, without_end
from trifact.graph.vocabulary import Vocabulary

LABEL_FILES = ("labels.tsv", "relation_labels.tsv")
Labels = dict[int, str]


def labels_for(
    path: Path | None, names: Sequence[Vocabulary], config: LoadConfig
) -> tuple[list[Labels], list[str]]:
    """Labels by id of the names of each kind, and what to say of them.

    They are those of the file asked for, which must be right, or of those beside the facts. One
    that was only found may not be meant: it is left alone if it is not what its name says.
    """
    labels, notes = [Labels() for _ in names], list[str]()
    files = [Path(config.labels)] if config.labels else _beside(path) if path else []
    places = [{name: i for i, name in enumerate(its)} for its in names] if files else []
    for file in files:
        try:
            found, said = _read(file, places, config)
        except InputError as error:
            if config.labels:
                raise
            notes.append(f"{shown(file)} beside the facts is not used: {error}")
            continue
        for kept, new in zip(labels, found, strict=True):
            kept.update(new)
        notes += said
    return labels, notes


def _beside(path: Path) -> list[Path]:
    folder = path if path.is_dir() else path.parent
    files = (folder / f"{stem}{ending}" for stem in LABEL_FILES for ending in ("", *COMPRESSED))
    return [file for file in files if file.is_file() and file != path]


def _read(
    path: Path, places: Sequence[dict[str, int]], config: LoadConfig
) -> tuple[list[Labels], list[str]]:
    """The labels of a file for names that have a place; others, which may be many, are let go."""
    source, bad = Source.at(path, cap=config.cap), BadLines(path, config.skip_bad_lines)
    labels = [Labels() for _ in places]
    with source.open() as stream:
        for number, line in text_lines(stream, bad):
            cells = without_end(line).split("\t")
            if len(cells) == 2:
                for kind, its in zip(labels, places, strict=True):
                    if cells[0] in its:
                        kind[its[cells[0]]] = cells[1]
            elif cells != [""]:
                problem = f"expected a name, a TAB and its label, found {len(cells)} columns"
                bad.report(number, problem)
    count = sum(map(len, labels))
    said = f"{count:,} label{'s' * (count > 1)}" if count else "no label of a name in this graph"
    dropped = [f"{shown(path)}: {bad.said}"] if bad.said else []
    return labels, [f"{shown(path)}: {said}", *dropped]
