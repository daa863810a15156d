"""Files are whole or not there, and read only if they are what they should be."""

from __future__ import annotations

from pathlib import Path

import pytest

from trifact import durable
from trifact.durable import read_json, replacing, replacing_all, write_text
from trifact.errors import OutputError, RunError


def test_a_block_that_fails_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "kept.txt"
    write_text(path, "old")
    with pytest.raises(ZeroDivisionError), replacing(path) as part:
        part.write_text("half of the n")
        _ = 1 / 0
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_is_for_whom_the_umask_says_whoever_writes_it(tmp_path: Path) -> None:
    (tmp_path / "usual").touch()
    with replacing(tmp_path / "own") as part:
        part.unlink()
        part.touch(mode=0o600)
    assert (tmp_path / "own").stat().st_mode == (tmp_path / "usual").stat().st_mode


def test_who_may_read_a_file_stays_and_a_link_stays_one(tmp_path: Path) -> None:
    write_text(tmp_path / "elsewhere" / "file", "old")
    (tmp_path / "elsewhere" / "file").chmod(0o600)
    (tmp_path / "link").symlink_to("elsewhere/file")
    write_text(tmp_path / "link", "new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "elsewhere" / "file").read_text() == "new"
    assert (tmp_path / "elsewhere" / "file").stat().st_mode & 0o777 == 0o600


def test_no_file_is_replaced_before_all_are_on_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = [tmp_path / name for name in ("first", "second", "third")]
    for path in paths:
        write_text(path, "old")

    def sync(path: Path) -> None:
        if "second" in path.name:
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(durable, "synced", sync)
    with (
        pytest.raises(OutputError, match=r"second: .*No space left"),
        replacing_all(paths) as parts,
    ):
        for part in parts.values():
            part.write_text("new")
    assert [path.read_text() for path in paths] == ["old"] * 3
    assert sorted(tmp_path.iterdir()) == sorted(paths)


def test_a_block_that_fails_leaves_no_folder_that_was_made_for_it(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), replacing(tmp_path / "new" / "below" / "file"):
        _ = 1 / 0
    assert list(tmp_path.iterdir()) == []
    write_text(tmp_path / "new" / "file", "")
    with pytest.raises(ZeroDivisionError), replacing(tmp_path / "new" / "other"):
        _ = 1 / 0
    assert [file.name for file in (tmp_path / "new").iterdir()] == ["file"]


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    write_text(tmp_path / "file", "")
    with pytest.raises(OutputError, match=r"file/below: cannot be written"):
        write_text(tmp_path / "file" / "below", "text")


def read(path: Path) -> dict[str, object] | None:
    return read_json(path, what="map", newest=2, parts=("scale",), advice="draw it again")


def test_a_file_of_ours_comes_back_and_none_is_none(tmp_path: Path) -> None:
    path = tmp_path / "map.json"
    assert read(path) is None
    write_text(path, '{"format": 1, "scale": 3}')
    assert read(path) == {"format": 1, "scale": 3}


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", r"this is no map \(.*\); draw it again"),
        ("[1]", r"this is no map \(.*\); draw it again"),
        ('{"scale": 3}', r"this is no map \('format'\); draw it again"),
        ('{"format": "x", "scale": 3}', r"this is no map \(.*\); draw it again"),
        ('{"format": 1}', r"this is no map \(it has no 'scale'\); draw it again"),
        ("[" * 100_000, r"this is no map \(.*\); draw it again"),
        ('{"format": 3}', "its format is 3, this trifact reads up to 2; update trifact"),
    ],
)
def test_another_file_is_refused_in_one_sentence(tmp_path: Path, text: str, sentence: str) -> None:
    path = tmp_path / "map.json"
    path.write_text(text)
    with pytest.raises(RunError, match=f"map.json: {sentence}"):
        read(path)


def test_bytes_and_folders_are_refused_too(tmp_path: Path) -> None:
    (tmp_path / "map.json").write_bytes(b"\xff\xfe\x00")
    (tmp_path / "folder.json").mkdir()
    for name in ("map.json", "folder.json"):
        with pytest.raises(RunError, match=f"{name}: this is no map"):
            read(tmp_path / name)
