"""What a path holds: one file, a folder of splits, or a toolkit's folder of names and ids."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from trifact.errors import InputError
from trifact.graph.facttable import Row
from trifact.graph.formats import COMPRESSED, SUFFIXES, stem_and_format
from trifact.graph.sources import BadLines, Source, text_lines

STEMS = {
    "train": ("train",),
    "valid": ("valid", "validation", "val", "dev"),
    "test": ("test",),
}


@dataclass(frozen=True)
class Layout:
    """Where the facts of each split lie, and the files that list the names, if any.

    `kind` is "file", "folder" (facts by name), "del" or "openke" (facts by id).
    """

    kind: str
    facts: dict[str, Path]
    entities: Path | None = None
    predicates: Path | None = None

    @property
    def files(self) -> list[Path]:
        """All files that make up the graph."""
        return [*self.facts.values(), *filter(None, (self.entities, self.predicates))]


def layout_of(path: Path) -> Layout:
    """What lies at the path; a folder must have at least a train split."""
    if path.is_file():
        return Layout("file", {"train": path})
    if not path.is_dir():
        known = "a benchmark's name, a file or a folder"
        raise InputError(f"there is no such file or folder; give {known}", path=path)
    try:
        files = sorted(file for file in path.iterdir() if file.is_file())
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror})", path=path) from None
    for kind, suffix, lists in (
        ("del", "{}.del", ("entity_ids.del", "relation_ids.del")),
        ("openke", "{}2id.txt", ("entity2id.txt", "relation2id.txt")),
    ):
        if (path / lists[0]).exists() or (path / suffix.format("train")).exists():
            facts = {s: f for s in STEMS if (f := path / suffix.format(s)).exists()}
            return _with_train(Layout(kind, facts, path / lists[0], path / lists[1]), path)
    named = {split: _file_of(split, files, path) for split in STEMS}
    facts = {split: file for split, file in named.items() if file is not None}
    entities, predicates = path / "entities.dict", path / "relations.dict"
    dicts = entities if entities.exists() else None, predicates if predicates.exists() else None
    return _with_train(Layout("folder", facts, *dicts), path)


def _with_train(layout: Layout, path: Path) -> Layout:
    if "train" not in layout.facts:
        problem = "the folder has no train split"
        raise InputError(f"{problem}; name a file of it train.txt, train.csv, ...", path=path)
    return layout


def _file_of(split: str, files: list[Path], folder: Path) -> Path | None:
    readable = {*SUFFIXES, ".txt", ""}
    found = [
        file
        for file in files
        if stem_and_format(file)[0].lower() in STEMS[split]
        and (file.with_suffix("") if file.suffix in COMPRESSED else file).suffix in readable
    ]
    if len(found) > 1:
        names = " and ".join(file.name for file in found)
        raise InputError(f"{names} could both be the {split} split; keep one", path=folder)
    return found[0] if found else None


def listed_names(source: Source, kind: str) -> list[str]:
    """The names of `*_ids.del`, `*.dict` (id TAB name) or `*2id.txt` (count; name TAB id) by id."""
    bad, names = BadLines(source.path, skip=False), dict[int, str]()
    with source.open() as stream:
        for number, line in _entries(text_lines(stream, bad), kind, bad):
            cells = line.rstrip("\r\n").split("\t")
            key, name = (
                (cells if kind != "openke" else cells[::-1])[:2] if len(cells) == 2 else ("",) * 2
            )
            if not key.strip().isdecimal() or not name:
                bad.report(number, "expected a name and its id, separated by a TAB")
            if int(key) in names:
                bad.report(number, f"id {int(key)} stands here a second time")
            names[int(key)] = name
    if not names or max(names) >= len(names):
        raise InputError("its ids must run from 0 without a gap", path=source.path)
    return [names[key] for key in range(len(names))]


def rows_by_id(
    source: Source, kind: str, names: tuple[list[str], list[str]], bad: BadLines
) -> Iterator[Row]:
    """The facts of an id layout by name; OpenKE's columns are subject, object, predicate."""
    entities, predicates = names
    with source.open() as stream:
        for number, line in _entries(text_lines(stream, bad), kind, bad):
            cells = line.split()
            if len(cells) != 3 or not all(cell.isdecimal() for cell in cells):
                bad.report(number, f"expected 3 ids, found {line.strip()[:80]!r}")
                continue
            subject, predicate, obj = map(int, cells)
            if kind == "openke":
                predicate, obj = obj, predicate
            if max(subject, obj) >= len(entities) or predicate >= len(predicates):
                there = f"{len(entities)} entities and {len(predicates)} predicates"
                bad.report(number, f"an id is out of range; there are {there}")
                continue
            yield entities[subject], predicates[predicate], entities[obj]


def _entries(
    lines: Iterator[tuple[int, str]], kind: str, bad: BadLines
) -> Iterator[tuple[int, str]]:
    """The lines that are not empty; OpenKE's files begin with how many these are."""
    promised, seen = None, 0
    for number, line in lines:
        if not line.strip():
            continue
        if kind == "openke" and promised is None:
            promised = line.strip()
            continue
        seen += 1
        yield number, line
    if promised is not None and promised != str(seen):
        bad.report(1, f"the first line must be the number of lines after it, {seen}")
