"""What a path holds: one file, a folder of splits, or a toolkit's folder of names and ids."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from trifact.errors import InputError
from trifact.graph.facttable import Row
from trifact.graph.formats import COMPRESSED, SUFFIXES, stem_and_format, without_compression
from trifact.graph.sources import BadLines, Source, readable, shown, text_lines, without_end
from trifact.graph.splitting import SPLITS
from trifact.wording import setting

STEMS = {
    "train": ("train",),
    "valid": ("valid", "validation", "val", "dev"),
    "test": ("test",),
}
BY_ID = {
    "del": ("{}.del", "entity_ids.del", "relation_ids.del"),
    "openke": ("{}2id.txt", "entity2id.txt", "relation2id.txt"),
}
ID = re.compile("[0-9]{1,18}")


@dataclass(frozen=True)
class Layout:
    """Where the facts of each split lie, and the files that list the names, if any.

    `kind` is "file", "folder" or "dict" (facts by name), "del" or "openke" (facts by id).
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
    with readable(path):
        if not path.exists():
            raise InputError("there is no such file or folder; check the path", path=path)
        if not path.is_dir():
            return Layout("file", {"train": path})
        files = {file.name: file for file in sorted(path.iterdir()) if file.is_file()}
    layout = _by_id(files, path) or _by_name(files, path)
    if "train" not in layout.facts:
        problem = "the folder has no train split"
        raise InputError(f"{problem}; name a file of it train.txt, train.csv, ...", path=path)
    return layout


def _by_id(files: dict[str, Path], folder: Path) -> Layout | None:
    for kind, (facts, entities, predicates) in BY_ID.items():
        found = {split: _packed_or_not(facts.format(split), files) for split in SPLITS}
        lists = [_packed_or_not(name, files) for name in (entities, predicates)]
        if found["train"] or lists[0]:
            if not all(lists):
                problem = f"the folder has facts by id but lacks {entities} or {predicates}"
                raise InputError(problem, path=folder)
            if not found["train"]:
                problem = f"the folder lists ids but has no facts by id in {facts.format('train')}"
                advice = f"give its train file by itself, if need be with {setting('columns')}"
                raise InputError(f"{problem}; {advice}", path=folder)
            return Layout(kind, {s: file for s, file in found.items() if file}, *lists)
    return None


def _by_name(files: dict[str, Path], folder: Path) -> Layout:
    found = {split: _file_of(split, list(files.values()), folder) for split in SPLITS}
    facts = {split: file for split, file in found.items() if file}
    lists = [_packed_or_not(name, files) for name in ("entities.dict", "relations.dict")]
    return Layout("dict" if any(lists) else "folder", facts, *lists)


def _packed_or_not(name: str, files: dict[str, Path]) -> Path | None:
    return next((files[name + end] for end in ("", *COMPRESSED) if name + end in files), None)


def files_of(split: str, files: Iterable[Path]) -> list[Path]:
    """The files that would be read as a split, facts by name."""
    readable_endings = {*SUFFIXES, ".txt", ""}
    return [
        file
        for file in files
        if stem_and_format(file)[0].lower() in STEMS[split]
        and without_compression(file).suffix.lower() in readable_endings
    ]


def _file_of(split: str, files: list[Path], folder: Path) -> Path | None:
    found = files_of(split, files)
    if len(found) > 1:
        names = " and ".join(map(shown, found))
        raise InputError(f"{names} could each be the {split} split; keep one", path=folder)
    return found[0] if found else None


def listed_names(source: Source, kind: str) -> list[str]:
    """The names of `*_ids.del`, `*.dict` (id TAB name) or `*2id.txt` (count; name TAB id) by id."""
    bad, names, seen = BadLines(source.path, skip=False), dict[int, str](), set[str]()
    with source.open() as stream:
        for number, line in _entries(text_lines(stream, bad), kind, bad):
            cells = without_end(line).split("\t")
            name, key = cells if kind == "openke" and len(cells) == 2 else (*cells[::-1], "")[:2]
            if len(cells) != 2 or not ID.fullmatch(key.strip()) or not name:
                bad.report(number, "expected a name and its id, separated by a TAB")
            if int(key) in names or name in seen:
                bad.report(number, f"id {int(key)} or its name stands here a second time")
            names[int(key)] = name
            seen.add(name)
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
            if len(cells) != 3 or not all(ID.fullmatch(cell) for cell in cells):
                bad.report(number, f"expected 3 ids, found {line.strip()[:80]!r}")
                continue
            subject, predicate, obj = map(int, cells)
            if kind == "openke":
                predicate, obj = obj, predicate
            if max(subject, obj) >= len(entities) or predicate >= len(predicates):
                there = f"{len(entities):,} entities and {len(predicates):,} predicates"
                bad.report(number, f"an id is out of range; there are {there}")
                continue
            yield entities[subject], predicates[predicate], entities[obj]


def _entries(
    lines: Iterator[tuple[int, str]], kind: str, bad: BadLines
) -> Iterator[tuple[int, str]]:
    """The lines that are not empty; OpenKE's files begin with how many these are."""
    promised, seen = "", 0
    for number, line in lines:
        if not line.strip():
            continue
        if kind == "openke" and not promised:
            promised = line.strip()
            continue
        seen += 1
        yield number, line
    if promised and (not ID.fullmatch(promised) or (int(promised) != seen and not bad.skip)):
        bad.report(1, f"the first line must be the number of lines after it, {seen:,}")
