"""`load` finds what is meant, splits what is whole, and labels what has labels."""

from __future__ import annotations

import gzip
import os
from collections.abc import Callable
from pathlib import Path

import pytest

import trifact
from trifact.errors import ConfigError, InputError

Make = Callable[[str, bytes | str], Path]
SQUARE = "".join(f"e{i}\tp\te{j}\n" for i in range(10) for j in range(10))


def test_strings_and_paths_are_the_same(file: Make) -> None:
    path = file("f.tsv", SQUARE)
    assert trifact.load(path).content_hash == trifact.load(str(path)).content_hash
    assert trifact.load(path).name == "f.tsv"


def test_relative_paths_and_links_are_followed(
    file: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = file("real/f.tsv", SQUARE)
    (tmp_path / "link.tsv").symlink_to(path)
    monkeypatch.chdir(tmp_path)
    hashes = {
        trifact.load(p).content_hash for p in ("real/f.tsv", "link.tsv", "./real/../link.tsv")
    }
    assert len(hashes) == 1


@pytest.mark.parametrize(
    "name", ["it's [x].tsv", "a*b?.tsv", "{a,b}.tsv", " \n.tsv", 'é".tsv', "-x%41\\.tsv"]
)
def test_paths_are_never_patterns(name: str, file: Make) -> None:
    for content in (SQUARE, gzip.compress(SQUARE.encode())):
        assert len(trifact.load(file(name, content), valid=0.0, test=0.0).train) == 100


def test_names_of_files_need_not_be_text(tmp_path: Path) -> None:
    path = tmp_path / os.fsdecode(b"caf\xe9.tsv")
    path.write_text(SQUARE)
    graph = trifact.load(path)
    assert graph.name == "caf\ufffd.tsv"
    assert "\n".join(graph.notes).encode()
    path.write_text("oops")
    with pytest.raises(InputError, match=":1: "):
        trifact.load(path)


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("", "no graph is called ''"),
        ("no-such-graph", "no graph is called 'no-such-graph'.*FB15K-237.*World"),
        ("./no-such-graph", "there is no such file or folder"),
        ("nowhere/f.tsv", "there is no such file or folder"),
        ("a\0b.tsv", "there is no such file or folder"),
        ("x" * 5000, "cannot be read"),
        ("x/" * 5000 + "f.tsv", "cannot be read"),
    ],
)
def test_what_is_not_there(name: str, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        trifact.load(name)


def test_loops_pipes_and_devices_are_refused(tmp_path: Path) -> None:
    (tmp_path / "loop.tsv").symlink_to(tmp_path / "loop.tsv")
    os.mkfifo(tmp_path / "pipe.tsv")
    for path in (tmp_path / "loop.tsv", tmp_path / "pipe.tsv", Path("/dev/null")):
        with pytest.raises(InputError):
            trifact.load(path)


def test_one_file_is_split_and_it_is_said(file: Make) -> None:
    graph = trifact.load(file("f.tsv", SQUARE))
    assert [len(facts) for facts in graph.splits.values()] == [90, 5, 5]
    assert graph.notes[-1] == (
        "split with seed 0: train 90, valid 5, test 5; every entity and predicate stays in train"
    )
    assert set(graph.train[:, [0, 2]].ravel()) == set(range(10))


def test_the_world_is_there() -> None:
    graph = trifact.load("World")
    assert graph.name == trifact.load("world").name == "World"
    assert "France" in graph.entities


def test_labels_beside_the_facts_are_found(file: Make) -> None:
    path = file("g/f.tsv", SQUARE)
    file("g/labels.tsv.gz", gzip.compress(b"e0\tNull\r\ne1\tEins\nx\ty\n\n"))
    file("g/relation_labels.tsv", "p\tknows\n")
    graph = trifact.load(path)
    assert [graph.entity_label(i) for i in range(3)] == ["Null", "Eins", "e2"]
    assert graph.predicate_label(0) == "knows"
    assert {"labels.tsv.gz: 2 labels", "relation_labels.tsv: 1 label"} <= set(graph.notes)


def test_labels_of_other_names_are_not_kept(file: Make) -> None:
    path, labels = file("f.tsv", SQUARE), file("names", "x\ty\nz\tw\n")
    graph = trifact.load(path, labels=str(labels))
    assert not graph.entity_labels
    assert "names: no label of a name in this graph" in graph.notes


def test_labels_that_are_asked_for_win(file: Make) -> None:
    path, labels = file("g/f.tsv", SQUARE), file("names", "e0\tzero\n")
    file("g/labels.tsv", "e0\tNull\n")
    assert trifact.load(path, labels=str(labels)).entity_label(0) == "zero"
    assert trifact.load([("e0", "p", "e1")], labels=str(labels)).entity_label(0) == "zero"


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"e0\tzero\ne1\n", ":2: expected a name, a TAB and its label, found 1 columns"),
        (b"e0\tzero\tnull\n", ":1: expected a name, a TAB and its label, found 3 columns"),
        (b"e0\t\xff\n", ":1: .*UTF-8"),
        (gzip.compress(b"e0\tzero\n", mtime=0)[:-6], "damaged or cut short"),
    ],
)
def test_bad_labels(content: bytes, problem: str, file: Make) -> None:
    path, labels = file("f.tsv", SQUARE), file("names", content)
    with pytest.raises(InputError, match=f"names{problem}|names: is {problem}"):
        trifact.load(path, labels=str(labels))
    file("g/f.tsv", SQUARE)
    found = file("g/labels.tsv", content).parent / "f.tsv"
    graph = trifact.load(found)  # found, not asked for: it may be somebody else's
    assert not graph.entity_labels
    assert any("labels.tsv beside the facts is not used: " in note for note in graph.notes)


def test_labels_that_are_not_there(file: Make) -> None:
    with pytest.raises(InputError, match="No such file"):
        trifact.load(file("f.tsv", SQUARE), labels="./nowhere")


def test_bad_labels_are_skipped_if_asked(file: Make) -> None:
    labels = file("names", "e0\tzero\noops\ne1\tone\n")
    graph = trifact.load(file("f.tsv", SQUARE), labels=str(labels), skip_bad_lines=True)
    assert [graph.entity_label(i) for i in range(2)] == ["zero", "one"]
    assert any("names: 1 bad line dropped: names:2" in note for note in graph.notes)


@pytest.mark.parametrize(
    "settings",
    [
        {"format": "xlsx"},
        {"memory_mb": 0},
        {"memory_mb": 10**30},
        {"max_expanded_gb": 1e300},
        {"max_expanded_gb": float("inf")},
        {"valid": -1.0},
        {"split_seed": -1},
        {"colums": ("a", "b", "c")},
    ],
)
def test_settings_out_of_range_are_refused(settings: dict[str, object], file: Make) -> None:
    with pytest.raises(ConfigError):
        trifact.load(file("f.tsv", SQUARE), **settings)


@pytest.mark.parametrize("nothing", ["", "\n\n", "# none\n"])
def test_a_split_without_facts_is_one_whatever_else_is_in_it(nothing: str, file: Make) -> None:
    file("g/valid.tsv", nothing)
    file("g/test.tsv", "a\tp\tb\n")
    folder = file("g/train.tsv", "a\tp\tb\nb\tp\ta\n").parent
    graph = trifact.load(folder, comment="#")
    assert (len(graph.valid), len(graph.test)) == (0, 1)
    assert any("valid.tsv" in note and "0 facts" in note for note in graph.notes)
    (folder / "train.tsv").write_text("\n")
    with pytest.raises(InputError, match="there is no fact in it"):
        trifact.load(folder)
