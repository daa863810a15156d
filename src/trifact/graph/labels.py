"""Names for people: the label of an entity or predicate, from a file beside the facts."""

from __future__ import annotations

from pathlib import Path

from trifact.errors import InputError
from trifact.graph.formats import COMPRESSED
from trifact.graph.options import LoadConfig
from trifact.graph.sources import BadLines, Source, shown, text_lines, without_end

LABEL_FILES = ("labels.tsv", "relation_labels.tsv")


def labels_for(path: Path | None, config: LoadConfig) -> tuple[dict[str, str], list[str]]:
    """Labels by name, from the file asked for or from those beside the facts, and what to say.

    The file asked for must be right. One that was only found may not be meant: it is left alone
    if it is not what its name says.
    """
    if config.labels:
        return _read(Path(config.labels), config)
    labels, notes = dict[str, str](), list[str]()
    for file in _beside(path) if path else []:
        try:
            found, said = _read(file, config)
        except InputError as error:
            said = [f"{shown(file)} beside the facts is not used: {error}"]
        else:
            labels |= found
        notes += said
    return labels, notes


def _beside(path: Path) -> list[Path]:
    folder = path if path.is_dir() else path.parent
    files = (folder / f"{stem}{ending}" for stem in LABEL_FILES for ending in ("", *COMPRESSED))
    return [file for file in files if file.is_file() and file != path]


def _read(path: Path, config: LoadConfig) -> tuple[dict[str, str], list[str]]:
    source = Source.at(path, cap=config.cap)
    bad, labels = BadLines(path, config.skip_bad_lines), dict[str, str]()
    with source.open() as stream:
        for number, line in text_lines(stream, bad):
            cells = without_end(line).split("\t")
            if len(cells) == 2:
                labels[cells[0]] = cells[1]
            elif cells != [""]:
                problem = f"expected a name, a TAB and its label, found {len(cells)} columns"
                bad.report(number, problem)
    dropped = [f"{shown(path)}: {bad.said}"] if bad.said else []
    return labels, [f"{shown(path)}: {len(labels):,} labels", *dropped]
