"""Folders: splits in any format, and the layouts of the toolkits."""

from __future__ import annotations

import gzip
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import trifact
from trifact.errors import InputError
from trifact.graph.graph import Graph
from trifact.graph.layouts import layout_of

Make = Callable[[str, bytes | str], Path]
Folder = Callable[..., Path]


@pytest.fixture
def folder(file: Make, tmp_path: Path) -> Folder:
    """Makes a folder of some files; a name's underscores before the ending are dots."""

    def make(**files: bytes | str) -> Path:
        for name, content in files.items():
            file(f"g/{name.replace('__', '.')}", content)
        return tmp_path / "g"

    return make


def named(graph: Graph, split: str = "train") -> set[tuple[str, str, str]]:
    e, p = graph.entities, graph.predicates
    return {(e[s], p[r], e[o]) for s, r, o in graph.splits[split].tolist()}


DEL = {
    "entity_ids__del": "0\tFrance\n1\tParis\n2\tAtlantis\n",
    "relation_ids__del": "0\thas capital\n",
    "train__del": "0\t0\t1\n",
}
OPENKE = {
    "entity2id__txt": "3\nFrance\t0\nParis\t1\nAtlantis\t2\n",
    "relation2id__txt": "2\nhas capital\t0\nin\t1\n",
    "train2id__txt": "2\n0 1 0\n1 0 1\n",
}
DICT = {
    "entities__dict": "0\tFrance\n1\tParis\n2\tAtlantis\n",
    "relations__dict": "0\thas capital\n",
    "train__txt": "France\thas capital\tParis\n",
}


@pytest.mark.parametrize(
    ("ending", "valid"),
    [
        *(("txt", "valid"), ("tsv", "dev"), ("csv", "val"), ("nt", "VALIDATION")),
        *(("TSV.GZ", "Dev"), ("", "valid")),
    ],
)
def test_splits_are_found_by_name(ending: str, valid: str, file: Make) -> None:
    sep = "," if ending == "csv" else "\t"
    text = sep.join(("x:a", "x:p", "x:b")) + "\n"
    text = "<x:a> <x:p> <x:b> .\n" if ending == "nt" else text
    content = gzip.compress(text.encode()) if ending.endswith("GZ") else text.encode()
    for stem in ("train", valid, "test"):
        file(f"g/{stem}.{ending}".rstrip("."), content)
    path = file("g/README.md", "train valid test").parent
    graph = trifact.load(path)
    assert all(named(graph, split) == {("x:a", "x:p", "x:b")} for split in graph.splits)
    assert "README" not in " ".join(graph.notes)


def test_a_folder_may_lack_valid_and_its_splits_stay(folder: Folder) -> None:
    graph = trifact.load(folder(train__tsv="a\tp\tb\n" * 3, test__tsv="a\tp\tb\n"))
    assert [len(facts) for facts in graph.splits.values()] == [3, 0, 1]


@pytest.mark.parametrize("idle", ["valid", "test", "split_seed"])
def test_nothing_is_drawn_from_a_graph_that_comes_split(folder: Folder, idle: str) -> None:
    path = folder(train__tsv="a\tp\tb\n" * 3, test__tsv="a\tp\tb\n")
    with pytest.raises(InputError, match=f"{idle} cannot be given for a graph that comes split"):
        trifact.load(path, **{idle: 0.1 if idle != "split_seed" else 7})
    assert len(trifact.load(path, valid=0, test=0).test) == 1


def test_a_folder_of_train_alone_is_split(folder: Folder) -> None:
    facts = "".join(f"e{i}\tp\te{j}\n" for i in range(5) for j in range(5))
    graph = trifact.load(folder(train__tsv=facts))
    assert len(graph.valid) == len(graph.test) == 1
    assert "split with seed 0" in graph.notes[-1]


@pytest.mark.parametrize(
    ("files", "problem"),
    [
        ({}, "the folder has no train split"),
        ({"test__tsv": "a\tp\tb\n"}, "the folder has no train split"),
        ({"train__tsv": "", "train__csv": ""}, "train.csv and train.tsv could each be the train"),
        ({"train__tsv": "a\tp\tb\n", "test__tsv": "a\tp\n"}, r"test\.tsv:1: expected 3 columns"),
        ({"train__tsv": "\n"}, r"train\.tsv: there is no fact"),
        ({"entity_ids__del": "0\ta\n"}, "lacks entity_ids.del or relation_ids.del"),
        ({"train2id__txt": "0\n"}, "lacks entity2id.txt or relation2id.txt"),
    ],
)
def test_folders_that_are_no_graph(
    files: dict[str, str], problem: str, folder: Folder, tmp_path: Path
) -> None:
    (tmp_path / "g").mkdir()
    with pytest.raises(InputError, match=problem):
        trifact.load(folder(**files) if files else tmp_path / "g")


def test_libkge(folder: Folder) -> None:
    graph = trifact.load(folder(**DEL))
    assert named(graph) == {("France", "has capital", "Paris")}
    assert list(graph.entities) == ["Atlantis", "France", "Paris"]  # listed, though in no fact
    assert graph.notes[0] == "train.del: 1 fact (facts by id)"


def test_openke_has_the_object_before_the_predicate(folder: Folder) -> None:
    graph = trifact.load(folder(**OPENKE))
    assert named(graph) == {("France", "has capital", "Paris"), ("Paris", "in", "France")}
    assert "OpenKE: subject, object, predicate" in graph.notes[0]


@pytest.mark.parametrize(
    "given", [{"columns": ("1", "3", "2")}, {"header": "yes"}, {"format": "csv"}, {"comment": "#"}]
)
def test_facts_by_id_have_their_own_columns(folder: Folder, given: dict[str, Any]) -> None:
    (name,) = given
    with pytest.raises(InputError, match=rf"{name}=?.* cannot be given for facts by id"):
        trifact.load(folder(**OPENKE), **given)


def test_names_in_dicts(folder: Folder) -> None:
    graph = trifact.load(folder(**DICT))
    assert named(graph) == {("France", "has capital", "Paris")}
    assert len(graph.entities) == 3


def test_layouts_may_be_compressed(file: Make, tmp_path: Path) -> None:
    for name, content in DEL.items():
        file(f"g/{name.replace('__', '.')}.gz", gzip.compress(content.encode()))
    graph = trifact.load(tmp_path / "g")
    assert named(graph) == {("France", "has capital", "Paris")}
    assert graph.notes[0].endswith("(facts by id, gzip)")


@pytest.mark.parametrize(
    ("layout", "name", "content", "problem"),
    [
        (DEL, "train__del", "0\t0\t1\n0\t0\t3\n", r"train\.del:2: an id is out of range; .* 3"),
        (DEL, "train__del", "0\t1\t1\n", r"train\.del:1: an id is out of range"),
        (DEL, "train__del", "0\t0\n", r"train\.del:1: expected 3 ids, found '0\\t0'"),
        (DEL, "train__del", "0\t0\t-1\n", r"train\.del:1: expected 3 ids"),
        (DEL, "train__del", "0\t0\t٣\n", r"train\.del:1: expected 3 ids"),
        (DEL, "train__del", f"0\t0\t{'9' * 5000}\n", r"train\.del:1: expected 3 ids"),
        (DEL, "train__del", "0\t0\t1.0\n", r"train\.del:1: expected 3 ids"),
        (DEL, "train__del", b"0\t0\t1\n\xff\n", r"train\.del:2: byte 1 .*UTF-8"),
        (DEL, "train__del", "\n", r"train\.del: there is no fact"),
        (DEL, "entity_ids__del", "0\ta\n2\tb\n", r"entity_ids\.del: its ids must run from 0"),
        (DEL, "entity_ids__del", "0\ta\n0\tb\n", r"entity_ids\.del:2: id 0 or its name .* second"),
        (DEL, "entity_ids__del", "0\ta\n1\ta\n", r"entity_ids\.del:2: id 1 or its name .* second"),
        (DEL, "entity_ids__del", "0\t\n", r"entity_ids\.del:1: expected a name and its id"),
        (DEL, "entity_ids__del", "a\n", r"entity_ids\.del:1: expected a name and its id"),
        (DEL, "entity_ids__del", f"{'9' * 5000}\ta\n", r"entity_ids\.del:1: expected a name"),
        (DEL, "entity_ids__del", "", r"entity_ids\.del: its ids must run from 0"),
        (OPENKE, "train2id__txt", "3\n0 1 0\n", r"train2id\.txt:1: .*number of lines after it, 1"),
        (OPENKE, "train2id__txt", "0 1 0\n1 0 1\n", r"train2id\.txt:1: .*number of lines after it"),
        (OPENKE, "train2id__txt", "1\n0 0 2\n", r"train2id\.txt:2: an id is out of range"),
        (OPENKE, "entity2id__txt", "1\n0\tFrance\n", r"entity2id\.txt:2: expected a name"),
        (OPENKE, "entity2id__txt", "9\nFrance\t0\n", r"entity2id\.txt:1: .*number of lines"),
        (DICT, "train__txt", "France\thas capital\tParis\nFrance\thas capital\tRome\n",
         r"train\.txt:2: 'Rome' is not in entities\.dict"),
        (DICT, "train__txt", "France\tborders\tParis\n",
         r"train\.txt:1: 'borders' is not in relations\.dict"),
        (DICT, "train__txt", "<x:a> <x:p> <x:b> .\n", r"train\.txt: .*must be TSV or CSV"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_layout(
    layout: dict[str, str], name: str, content: str, problem: str, folder: Folder
) -> None:
    with pytest.raises(InputError, match=problem):
        trifact.load(folder(**{**layout, name: content}))


@pytest.mark.parametrize(
    ("layout", "name", "content", "count"),
    [
        (DEL, "train__del", b"0\t0\t1\n0\t0\t9\nx\n\0\n", 3),
        (OPENKE, "train2id__txt", "99\n0 1 0\n7 7 7\n", 1),
        (OPENKE, "train2id__txt", "0 1 0\n0 1 0\n", 1),
        (DICT, "train__txt", "France\thas capital\tParis\nRome\tp\tx\n", 1),
    ],
)
def test_bad_lines_of_layouts_are_skipped_if_asked(
    layout: dict[str, Any], name: str, content: str, count: int, folder: Folder
) -> None:
    graph = trifact.load(folder(**{**layout, name: content}), skip_bad_lines=True)
    assert named(graph) == {("France", "has capital", "Paris")}
    lines = "1 bad line" if count == 1 else f"{count} bad lines"
    assert f"{lines} dropped: " in " ".join(graph.notes)


def test_names_that_are_listed_wrongly_are_never_skipped(folder: Folder) -> None:
    path = folder(**{**DEL, "entity_ids__del": "0\ta\nnonsense\n1\tb\n"})
    with pytest.raises(InputError, match=r"entity_ids\.del:2"):
        trifact.load(path, skip_bad_lines=True)


def test_pipes_in_a_folder_are_not_files(folder: Folder) -> None:
    path = folder(train__tsv="a\tp\tb\n")
    os.mkfifo(path / "test.tsv")
    assert set(layout_of(path).facts) == {"train"}


def test_a_folder_that_may_not_be_read(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: Path) -> None:
        raise PermissionError(13, "Permission denied")

    path = folder(train__tsv="a\tp\tb\n")
    monkeypatch.setattr(Path, "iterdir", refuse)
    with pytest.raises(InputError, match=r"cannot be read \(Permission denied\)"):
        layout_of(path)


def test_lists_of_ids_beside_facts_by_name_are_not_guessed_at(folder: Folder) -> None:
    """The order of the columns of such folders is not the usual one."""
    lists = {name: text for name, text in OPENKE.items() if name != "train2id__txt"}
    path = folder(**lists, train__txt="France\tParis\thas capital\n")
    with pytest.raises(InputError, match=r"lists ids but has no facts by id in train2id\.txt"):
        trifact.load(path)
    graph = trifact.load(path / "train.txt", columns=("1", "3", "2"))
    assert named(graph) == {("France", "has capital", "Paris")}


def test_a_split_may_be_an_empty_file_but_train(folder: Folder) -> None:
    path = folder(train__txt="a\tp\tb\n", valid__txt="", test__txt="b\tp\ta\n")
    graph = trifact.load(path)
    assert [len(facts) for facts in graph.splits.values()] == [1, 0, 1]
    assert "valid.txt: an empty file, 0 facts" in graph.notes
    (path / "train.txt").write_text("")
    with pytest.raises(InputError, match="the file is empty"):
        trifact.load(path)
