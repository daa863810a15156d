"""The same content is read once; anything else is read anew."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import trifact
from trifact.errors import BenchmarkError
from trifact.graph import cache, loading
from trifact.graph.catalogue import BENCHMARKS, Benchmark
from trifact.graph.graph import Graph
from trifact.graph.layouts import layout_of
from trifact.graph.options import LoadConfig
from trifact.graph.readers import read_layout
from trifact.graph.splitting import SPLITS
from trifact.progress import silent

Make = Callable[[str, bytes | str], Path]
TEXT = "".join(f"e{i % 7}\tp{i % 3}\te{i % 11}\n" for i in range(500))


@pytest.fixture(autouse=True)
def even_small_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "LEAST_BYTES", 0)


@pytest.fixture
def readings(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """Grows by one whenever files are really read."""
    found = list[object]()

    def counted(*arguments: Any) -> Any:
        found.append(arguments)
        return read_layout(*arguments)

    monkeypatch.setattr(loading, "read_layout", counted)
    return found


def same(a: Graph, b: Graph) -> bool:
    return a.content_hash == b.content_hash and a.notes == b.notes and a.name == b.name


def test_a_second_load_reads_nothing(file: Make, readings: list[object]) -> None:
    path = file("f.tsv", TEXT)
    first, second = trifact.load(path), trifact.load(path)
    assert len(readings) == 1
    assert same(first, second)
    os.utime(path, (1, 1))
    trifact.load(str(path))
    trifact.load(file("elsewhere/f.tsv", TEXT))
    assert len(readings) == 1


@pytest.mark.parametrize("labels", ["", '<x:b> <{}> "a B"@en .\n<x:p> <{}> "the P" .\n'])
def test_labels_of_the_rdf_are_kept(labels: str, file: Make, readings: list[object]) -> None:
    label = "http://www.w3.org/2000/01/rdf-schema#label"
    path = file("f.nt", "<x:a> <x:p> <x:b> .\n" + labels.format(label, label))
    for _ in range(2):
        graph = trifact.load(path)
        assert graph.entity_labels == ({1: "a B"} if labels else {})
        assert graph.predicate_labels == ({0: "the P"} if labels else {})
    assert len(readings) == 1


def test_a_file_that_changes_while_it_is_read_is_not_kept(
    file: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = file("f.tsv", TEXT)

    def overtaken(*arguments: Any) -> Any:
        path.write_text("other\tp\tcontent\n")
        return read_layout(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(loading, "read_layout", overtaken)
        assert len(trifact.load(path, valid=0, test=0).train) == 1
    path.write_text(TEXT)
    assert len(trifact.load(path, valid=0, test=0).train) > 1


def test_what_was_kept_is_immutable_too(file: Make) -> None:
    path = file("f.tsv", TEXT)
    trifact.load(path)
    with pytest.raises(ValueError, match="read-only"):
        trifact.load(path).train[0, 0] = 7


def test_changed_content_is_read_anew_though_size_and_time_are_the_same(
    file: Make, readings: list[object]
) -> None:
    path = file("f.tsv", TEXT)
    os.utime(path, (1, 1))
    trifact.load(path)
    path.write_text(TEXT.replace("e0", "e9"))
    os.utime(path, (1, 1))
    assert trifact.load(path, valid=0.0, test=0.0).entities.find("e0") is None
    assert len(readings) == 2


@pytest.mark.parametrize(
    "settings",
    [
        {"format": "csv", "delimiter": "\t"},
        {"columns": ("3", "2", "1")},
        {"header": "yes"},
        {"comment": "e1"},
        {"skip_bad_lines": True},
        {"literals": "keep"},
        {"cache": False},
    ],
)
def test_settings_that_matter_do_not_share(
    settings: dict[str, Any], file: Make, readings: list[object]
) -> None:
    path = file("f.tsv", TEXT)
    trifact.load(path)
    graph = trifact.load(path, **settings)
    assert len(readings) == 2
    assert same(graph, trifact.load(path, **{**settings, "cache": False}))


def test_settings_that_do_not_matter_share(file: Make, readings: list[object]) -> None:
    path = file("f.tsv", TEXT)
    labels = file("labels", "e0\tzero\n")
    trifact.load(path)
    other = trifact.load(path, valid=0.2, test=0.0, split_seed=7, memory_mb=300, labels=str(labels))
    assert len(readings) == 1
    assert len(other.valid) > len(other.test) == 0
    assert other.entity_label(0) == "zero"


def test_a_file_by_another_name_or_split_is_another_graph(
    file: Make, readings: list[object]
) -> None:
    for name in ("one/train.tsv", "two/train.csv", "two/../three/dev.tsv", "three/train.tsv"):
        file(name, TEXT.replace("\t", ",") if name.endswith("csv") else TEXT)
    folders = [trifact.load(file(f"{name}/x.md", "").parent) for name in ("one", "two", "three")]
    assert len(readings) == 3
    assert [len(graph.valid) > 100 for graph in folders] == [False, False, True]


def test_small_files_are_not_kept(
    file: Make, own_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cache, "LEAST_BYTES", len(TEXT) + 1)
    trifact.load(file("f.tsv", TEXT))
    assert not own_cache.exists()


def kept(own_cache: Path) -> Path:
    (found,) = own_cache.rglob("*.npz")
    return found


@pytest.mark.parametrize("damage", ["cut", "empty", "garbage", "flipped", "other", "folder", "ids"])
def test_a_damaged_entry_is_ignored_and_replaced(
    damage: str, file: Make, own_cache: Path, readings: list[object]
) -> None:
    path = file("f.tsv", TEXT)
    first = trifact.load(path)
    entry = kept(own_cache)
    content = bytearray(entry.read_bytes())
    if damage == "folder":
        entry.unlink()
        entry.mkdir()
    elif damage == "other":
        np.savez(entry, x=np.arange(3))
    elif damage == "ids":
        arrays = dict(np.load(entry))
        np.savez(entry, **{**arrays, "train": arrays["train"] + 1000})
    else:
        content[len(content) // 2] ^= 0x55
        entry.write_bytes(
            {
                "cut": bytes(content[: len(content) // 2]),
                "empty": b"",
                "garbage": b"PK\x03\x04" + bytes(range(256)),
                "flipped": bytes(content),
            }[damage]
        )
    assert same(trifact.load(path), first)
    assert len(readings) == 2
    if damage != "folder":
        assert same(trifact.load(path), first)
        assert len(readings) == 2


def test_no_damage_makes_an_exception_or_another_graph(file: Make, own_cache: Path) -> None:
    reading = read_layout(layout_of(file("f.tsv", TEXT)), LoadConfig(), silent)
    cache.keep("key", reading)
    entry = own_cache / "graphs" / "key.npz"
    content = entry.read_bytes()
    for place in range(0, len(content), 29):
        entry.write_bytes(content[:place] + bytes([content[place] ^ 0xFF]) + content[place + 1 :])
        found = cache.load("key")
        assert found is None or (
            found.entities == reading.entities
            and all((found.splits[s] == reading.splits[s]).all() for s in SPLITS)
        )


def test_a_cache_that_cannot_be_written_does_no_harm(
    file: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRIFACT_CACHE", str(file("in-the-way", "")))
    assert len(trifact.load(file("f.tsv", TEXT), valid=0.0, test=0.0).train) == 500
    monkeypatch.setenv("TRIFACT_CACHE", str(tmp_path / "full"))

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "savez", full)
    assert len(trifact.load(file("f.tsv", TEXT), valid=0.0, test=0.0).train) == 500
    assert not (tmp_path / "full").exists()


def test_a_cache_of_somebody_else_is_read(
    file: Make, readings: list[object], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    path = file("f.tsv", TEXT)
    first = trifact.load(path)
    monkeypatch.setattr(os, "utime", refused)
    assert same(first, trifact.load(path))
    assert len(readings) == 1


def test_an_interrupt_while_keeping_leaves_nothing(
    file: Make, own_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(np, "savez", interrupted)
    with pytest.raises(KeyboardInterrupt):
        trifact.load(file("f.tsv", TEXT))
    assert not own_cache.exists()


def test_without_a_home_nothing_is_kept(file: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    def homeless() -> Path:
        raise BenchmarkError("no home folder is known")

    monkeypatch.setattr(cache, "cache_folder", homeless)
    assert len(trifact.load(file("f.tsv", TEXT), valid=0.0, test=0.0).train) == 500


def test_the_longest_unused_is_forgotten(
    file: Make, own_cache: Path, monkeypatch: pytest.MonkeyPatch, readings: list[object]
) -> None:
    paths = [file(f"f{i}.tsv", TEXT + f"x{i}\tp\ty\n") for i in range(3)]
    for number, path in enumerate(paths):
        trifact.load(path)
        newest = max((own_cache / "graphs").iterdir(), key=lambda entry: entry.stat().st_mtime_ns)
        os.utime(newest, (number, number))
    size = newest.stat().st_size
    trifact.load(paths[0])  # used again: now the second is the oldest
    monkeypatch.setattr(cache, "MOST_BYTES", 3 * size + size // 2)
    trifact.load(file("f3.tsv", TEXT + "x3\tp\ty\n"))
    assert len(list((own_cache / "graphs").iterdir())) == 3
    assert len(readings) == 4
    trifact.load(paths[0])
    assert len(readings) == 4
    trifact.load(paths[1])
    assert len(readings) == 5


def test_a_benchmark_is_checked_though_the_same_files_were_read_as_a_path(
    file: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = file("library/Toy/train.txt", "a\tp\tb\n").parent
    for split in ("valid", "test"):
        file(f"library/Toy/{split}.txt", "a\tp\tb\n")
    toy = Benchmark("Toy", 2, 1, 1, 1, 1, licence="", source="", urls=("", "", ""),
                    checksums=("0" * 64,) * 3)  # fmt: skip
    monkeypatch.setitem(BENCHMARKS, "Toy", toy)
    monkeypatch.setenv("TRIFACT_DATA", str(tmp_path / "library"))
    assert len(trifact.load(folder).train) == 1
    with pytest.raises(BenchmarkError, match="this is not train of Toy"):
        trifact.load("Toy")


def test_what_a_killed_process_left_is_forgotten(file: Make, own_cache: Path) -> None:
    folder = own_cache / "graphs"
    folder.mkdir(parents=True)
    old, new = folder / ".a.npz.1.part", folder / ".b.npz.2.part"
    for part in (old, new):
        part.touch()
    os.utime(old, (0, 0))
    trifact.load(file("f.tsv", TEXT))
    assert new.exists()
    assert not old.exists()
