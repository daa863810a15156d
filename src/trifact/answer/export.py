"""The factors of a run for other programs: NumPy, safetensors, Parquet, word2vec, TensorBoard.

Whatever the format, the same tables leave, each with a row a name:

- `entities`, (N, D); of CP, which has two rows an entity, `subjects` and `objects`
- `predicates`, (P, D), and in the reciprocal setting `reciprocals`, (P, D): the row of predicate
  j in it asks j the other way round

A row of ComplEx is [re | im], D = 2R. Files are written all or none.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.torch import save_file
from torch import Tensor

from trifact.answer.similarity import entity_tables, predicate_tables
from trifact.durable import refuse_existing, replacing_all, writing
from trifact.errors import ConfigError, OutputError
from trifact.graph.duck import connected, quoted
from trifact.graph.graph import Graph
from trifact.graph.vocabulary import Vocabulary
from trifact.run.run import Run
from trifact.tensor.models import Model
from trifact.wording import setting

FILES = {"numpy": ".npz", "safetensors": ".safetensors"}
FOLDERS = {
    "parquet": (".parquet",),
    "word2vec": (".txt",),
    "projector": ("-vectors.tsv", "-metadata.tsv"),
}
ENDINGS = (*FILES.values(), ".parquet", ".txt", ".tsv")  # of files, never of a folder
TABLES = ("entities", "subjects", "objects", "predicates", "reciprocals")
PROJECTOR = "projector_config.pbtxt"  # the name that TensorBoard looks for
DIGITS = "%.9g"  # as many as tell one float32 from another
LINES = 2**20  # numbers that are written as text at a time
GROUP = 2**21  # numbers of a row group of Parquet
MOST_LETTERS = 2**28  # of all names in a NumPy array, each as wide as the longest
MOST_HEADER = 90 * 10**6  # bytes; readers of safetensors stop at 100 million


@dataclass(frozen=True)
class Table:
    """Factors by name: a row each."""

    names: Vocabulary
    labels: Mapping[int, str]
    rows: Tensor  # (n, D)

    def blocks(self) -> Iterator[tuple[list[str], list[list[float]]]]:
        """Names and rows, some at a time."""
        size = max(1, LINES // self.rows.shape[1])
        for start in range(0, len(self.names), size):
            block = slice(start, start + size)
            yield self.names[block], self.rows[block].tolist()


Tables = Mapping[str, Table]
Parts = Mapping[str, Path]


def export(
    run: Run, to: Path, *, form: str, checkpoint: str = "best", overwrite: bool = False
) -> list[Path]:
    """Write the factors of a run to a file or folder; returns the files."""
    if form not in WRITERS:
        raise ConfigError(f"format must be one of {', '.join(WRITERS)}, not {form!r}")
    _check_target(to, form)
    graph, digest = run.graph(), run.factors_hash(checkpoint)
    model = run.model(checkpoint)
    run.refuse_change(digest, checkpoint)
    tables = factor_tables(model, graph)
    paths = [to] if form in FILES else [to / name for name in _names_in_folder(tables, form)]
    others = [] if form in FILES else [to / name for name in _names_in_folder(TABLES, form)]
    stale = [path for path in others if path not in paths and path.exists()]  # of another model
    refuse_existing(*paths, *stale, overwrite=overwrite)
    with writing(to), replacing_all(paths) as parts:
        by_name = {path.name: part for path, part in parts.items()}
        WRITERS[form](tables, _about(run, graph, checkpoint) | {"factors_sha256": digest}, by_name)
    for path in stale:
        path.unlink(missing_ok=True)
    return paths


def factor_tables(model: Model, graph: Graph) -> dict[str, Table]:
    """The tables that leave, by name."""
    rows = predicate_tables(model, len(graph.predicates))
    parts = entity_tables(model)
    entities = zip(TABLES[:1] if len(parts) == 1 else TABLES[1:3], parts, strict=True)
    predicates = zip(TABLES[3:], rows, strict=False)
    tables = {n: Table(graph.entities, graph.entity_labels, part) for n, part in entities}
    return tables | {
        n: Table(graph.predicates, graph.predicate_labels, part) for n, part in predicates
    }


def _about(run: Run, graph: Graph, checkpoint: str) -> dict[str, str]:
    """What the numbers are, in plain text."""
    return {
        "graph": graph.name,
        "content_hash": graph.content_hash,
        "model": run.config.model,
        "setting": run.config.setting,
        "rank": str(run.config.rank),
        "row": "[re | im]" if run.config.model == "complex" else "real",
        "checkpoint": checkpoint,
    }


def _check_target(to: Path, form: str) -> None:
    if form in FILES and to.suffix.lower() != FILES[form]:
        raise OutputError(f"{to}: {form} is one file; end its name in {FILES[form]}")
    if form in FILES and to.is_dir():
        raise OutputError(f"{to}: it exists and is not a file; give another name")
    if form in FOLDERS and to.exists() and not to.is_dir():
        raise OutputError(f"{to}: {form} is a folder of files, and this is a file")
    if form in FOLDERS and to.suffix.lower() in ENDINGS and not to.exists():
        raise OutputError(f"{to}: {form} is a folder of files; leave out {to.suffix}")


def _names_in_folder(tables: Iterable[str], form: str) -> list[str]:
    names = [f"{table}{ending}" for table in tables for ending in FOLDERS[form]]
    return [*names, *([PROJECTOR] if form == "projector" else []), _about_name(form)]


def _about_name(form: str) -> str:
    """By the format, so that several of them share a folder and each says what it is."""
    return f"about-{form}.json"


def _write_numpy(tables: Tables, about: Mapping[str, str], parts: Parts) -> None:
    (part,) = parts.values()
    arrays: dict[str, Any] = {"about": np.array(json.dumps(about))}
    for name, table in tables.items():
        arrays[name] = table.rows.numpy()
        kind = _kind(name)
        arrays[f"{kind}_names"] = _letters([*table.names])
        arrays[f"{kind}_labels"] = _letters(_labels(table))
    with part.open("wb") as file:  # by its name alone, NumPy would add an ending
        np.savez(file, **arrays)


def _kind(table: str) -> str:
    return "predicate" if table in ("predicates", "reciprocals") else "entity"


def _letters(names: list[str]) -> NDArray[np.str_]:
    """Names as an array without pickle: each is as wide as the longest."""
    longest = max(map(len, names))
    if longest * len(names) > MOST_LETTERS:
        raise OutputError(
            f"a name of {longest:,} letters makes every name of a NumPy array as wide; "
            f"use {setting('format', 'parquet')}"
        )
    return np.array(names)


def _labels(table: Table) -> list[str]:
    return [table.labels.get(i, "") for i in range(len(table.names))]


def _write_safetensors(tables: Tables, about: Mapping[str, str], parts: Parts) -> None:
    """Names and labels are lists in JSON, in the metadata of the file."""
    (part,) = parts.values()
    header = dict(about)
    for name, table in tables.items():
        header[f"{_kind(name)}_names"] = json.dumps([*table.names], ensure_ascii=False)
        header[f"{_kind(name)}_labels"] = json.dumps(_labels(table), ensure_ascii=False)
    if sum(len(text.encode()) for text in header.values()) > MOST_HEADER:
        hint = f"use {setting('format', 'parquet')}"
        raise OutputError(f"safetensors cannot hold so many names; {hint}")
    # copies of the predicates: the two halves of one table may not share memory
    tensors = {n: t.rows if _kind(n) == "entity" else t.rows.clone() for n, t in tables.items()}
    try:
        save_file(tensors, part, metadata=header)
    except SafetensorError as error:  # also what the disk says
        raise OutputError(f"the factors cannot be written as safetensors ({error})") from None


def _write_parquet(tables: Tables, about: Mapping[str, str], parts: Parts) -> None:
    """Columns name, label and vector, a list of float32."""
    for name, table in tables.items():
        vectors = np.empty(len(table.names), dtype=object)
        vectors[:] = list(table.rows.numpy())  # views
        columns = {
            "name": np.array([*table.names], dtype=object),
            "label": np.array(_labels(table), dtype=object),
            "vector": vectors,
        }
        _copy(columns, parts[f"{name}.parquet"], rows=GROUP // table.rows.shape[1])
    _write_about(about, parts[_about_name("parquet")])


def _copy(columns: Mapping[str, NDArray[np.object_]], part: Path, *, rows: int) -> None:
    """One thread and small groups: what is held beside the factors is a few megabytes."""
    where = quoted(part.resolve())
    groups = f"row_group_size {max(2048, rows)}"
    form = f"format parquet, compression zstd, use_tmp_file false, {groups}"
    with connected(threads=1) as base:
        base.register("columns", columns)
        typed = "name, nullif(label, '') as label, vector::float[] as vector"
        try:
            base.execute(f"copy (select {typed} from columns) to {where} ({form})")
        except duckdb.Error as error:
            why = str(error).partition("\n")[0]
            raise OutputError(f"the factors cannot be written as Parquet ({why})") from None


def _write_word2vec(tables: Tables, about: Mapping[str, str], parts: Parts) -> None:
    """A line with the number of rows and their width, then a name and its numbers a line."""
    for name, table in tables.items():
        _check_words(table.names)
        line = " ".join(["%s", *[DIGITS] * table.rows.shape[1]]) + "\n"
        with parts[f"{name}.txt"].open("w", encoding="utf-8", newline="\n") as file:
            file.write(f"{len(table.names)} {table.rows.shape[1]}\n")
            for names, rows in table.blocks():
                pairs = zip(map(word, names), rows, strict=True)
                file.writelines(line % (token, *row) for token, row in pairs)
    _write_about(about, parts[_about_name("word2vec")])


def word(name: str) -> str:
    """A name as word2vec can hold it: what is blank becomes _.

    >>> word("New York")
    'New_York'
    """
    return re.sub(r"\s", "_", name)


def _check_words(names: Vocabulary) -> None:
    seen = dict[str, str]()
    for name in names:
        other = seen.setdefault(word(name), name)
        if other != name:
            raise OutputError(
                f"{other!r} and {name!r} would both be {word(name)!r} in word2vec's text; "
                "use another format"
            )


def _write_projector(tables: Tables, about: Mapping[str, str], parts: Parts) -> None:
    """Vectors, labels with names, and the file by which TensorBoard finds them."""
    for name, table in tables.items():
        line = "\t".join([DIGITS] * table.rows.shape[1]) + "\n"
        with parts[f"{name}-vectors.tsv"].open("w", encoding="utf-8", newline="\n") as file:
            for _, rows in table.blocks():
                file.writelines(line % (*row,) for row in rows)
        shown = (table.labels.get(i) or text for i, text in enumerate(table.names))
        with parts[f"{name}-metadata.tsv"].open("w", encoding="utf-8", newline="\n") as file:
            file.write("label\tname\n")
            file.writelines(
                f"{_cell(label)}\t{_cell(text)}\n"
                for label, text in zip(shown, table.names, strict=True)
            )
    with parts[PROJECTOR].open("w", encoding="utf-8", newline="\n") as file:
        for name in tables:
            places = f'tensor_path: "{name}-vectors.tsv" metadata_path: "{name}-metadata.tsv"'
            file.write(f'embeddings {{ tensor_name: "{name}" {places} }}\n')
    _write_about(about, parts[_about_name("projector")])


def _cell(text: str) -> str:
    """One cell of a line, whatever is in it."""
    return " ".join(text.split()) or "?"


def _write_about(about: Mapping[str, str], part: Path) -> None:
    text = json.dumps(about, indent=1, ensure_ascii=False) + "\n"
    part.write_text(text, encoding="utf-8")


WRITERS: dict[str, Callable[[Tables, Mapping[str, str], Parts], None]] = {
    "numpy": _write_numpy,
    "safetensors": _write_safetensors,
    "parquet": _write_parquet,
    "word2vec": _write_word2vec,
    "projector": _write_projector,
}
