"""Names find the right folder, and only files that are what they should be are used."""

from __future__ import annotations

import gzip
import hashlib
import os
import tarfile
import threading
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

import trifact
from trifact.errors import BenchmarkError, DownloadError
from trifact.graph import benchmarks, download
from trifact.graph.benchmarks import cache_folder, find, locate, text_sha256, verify
from trifact.graph.catalogue import BENCHMARKS, Benchmark
from trifact.graph.splitting import SPLITS
from trifact.progress import Progress, silent

DATA = os.environ.get("TRIFACT_DATA")
TEXTS = {"train": b"a\tp\tb\n", "valid": b"b\tp\tc\n", "test": b"c\tp\ta\n"}
SUMS = [hashlib.sha256(text).hexdigest() for text in TEXTS.values()]
TOY = Benchmark(
    name="Toy-1",
    entities=3,
    predicates=1,
    train=1,
    valid=1,
    test=1,
    licence="none",
    source="this test",
    urls=("http://127.0.0.1:1/", "http://127.0.0.1:1/", "http://127.0.0.1:1/"),
    checksums=(SUMS[0], SUMS[1], SUMS[2]),
)


def located(name: str, progress: Progress = silent) -> Path:
    """Located and checked, as loading does it."""
    folder, benchmark = locate(name, progress), find(name)
    assert benchmark is not None
    verify(benchmark, folder)
    return folder


class QuietHandler(SimpleHTTPRequestHandler):
    asked: list[str]

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        pass

    def do_GET(self) -> None:
        self.asked.append(self.path)
        super().do_GET()


@pytest.fixture(autouse=True)
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty $TRIFACT_DATA and an empty cache, so that no test sees the user's own."""
    monkeypatch.setenv("TRIFACT_DATA", str(tmp_path / "library"))
    monkeypatch.setenv("TRIFACT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.setattr(download, "PAUSE", 0.0)
    monkeypatch.setitem(BENCHMARKS, TOY.name, TOY)
    (tmp_path / "library").mkdir()
    return tmp_path / "library"


@pytest.fixture
def cached(tmp_path: Path) -> Path:
    return tmp_path / "cache" / "benchmarks" / TOY.name


@pytest.fixture
def served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder on a local server that Toy-1 is downloaded from."""
    folder = write_splits(tmp_path / "served")
    monkeypatch.setattr(QuietHandler, "asked", [], raising=False)
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(QuietHandler, directory=str(folder)))
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    site = f"http://127.0.0.1:{server.server_port}"
    here = replace(TOY, urls=(f"{site}/train.txt", f"{site}/valid.txt", f"{site}/test.txt"))
    monkeypatch.setitem(BENCHMARKS, TOY.name, here)
    yield folder
    server.shutdown()
    server.server_close()
    thread.join()


def write_splits(folder: Path, ending: str = ".txt") -> Path:
    folder.mkdir(parents=True)
    for split, text in TEXTS.items():
        packed = gzip.compress(text) if ending.endswith(".gz") else text
        (folder / f"{split}{ending}").write_bytes(packed)
    return folder


def without_checksums(monkeypatch: pytest.MonkeyPatch) -> None:
    unknown = replace(BENCHMARKS[TOY.name], checksums=(None, None, None))
    monkeypatch.setitem(BENCHMARKS, TOY.name, unknown)


def test_the_benchmarks_of_the_field_are_known() -> None:
    assert set(BENCHMARKS) - {TOY.name} == {
        *("WN18", "WN18RR", "FB15K", "FB15K-237", "YAGO3-10", "CoDEx-S", "CoDEx-M", "CoDEx-L"),
        *("Nations", "Kinship", "UMLS"),
    }


def test_every_benchmark_has_safe_names_secure_urls_and_whole_checksums() -> None:
    for name, benchmark in BENCHMARKS.items():
        assert benchmark.name == name
        assert benchmarks.SAFE_NAME.fullmatch(name)
        assert all(sum_ is None or len(bytes.fromhex(sum_)) == 32 for sum_ in benchmark.checksums)
        if benchmark is not TOY:
            assert all(url.startswith("https://") for url in benchmark.urls)


@pytest.mark.skipif(DATA is None, reason="TRIFACT_DATA is not set")
@pytest.mark.parametrize("name", sorted(BENCHMARKS))
def test_sizes_and_checksums_are_those_of_the_files(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRIFACT_DATA", DATA or "")
    if not Path(DATA or "", name).is_dir():
        pytest.skip(f"{name} is not in $TRIFACT_DATA")
    folder, benchmark = located(name), BENCHMARKS[name]
    entities, predicates, sizes = set[str](), set[str](), []
    for split in SPLITS:
        file = benchmarks.split_file(folder, split)
        assert file is not None
        text = b"".join(benchmarks._blocks(file)).decode()
        facts = [line.split("\t") for line in text.removesuffix("\n").split("\n")]
        entities |= {name for subject, _, obj in facts for name in (subject, obj)}
        predicates |= {predicate for _, predicate, _ in facts}
        sizes.append(len(facts))
    assert sizes == [benchmark.train, benchmark.valid, benchmark.test]
    assert (len(entities), len(predicates)) == (benchmark.entities, benchmark.predicates)


def test_a_benchmark_is_downloaded_into_the_cache(served: Path, cached: Path) -> None:
    assert located(TOY.name) == cached
    assert {path.name for path in cached.iterdir()} == {"train.txt", "valid.txt", "test.txt"}


def test_the_cache_is_preferred_to_the_network(cached: Path) -> None:
    write_splits(cached)
    assert located(TOY.name) == cached


def test_the_library_is_preferred_to_the_cache(library: Path, cached: Path) -> None:
    write_splits(cached)
    write_splits(library / TOY.name)
    assert located(TOY.name) == library / TOY.name


def test_a_library_folder_that_lacks_a_split_is_passed_over(library: Path, cached: Path) -> None:
    write_splits(cached)
    (write_splits(library / TOY.name) / "test.txt").unlink()
    assert located(TOY.name) == cached


def test_only_what_the_cache_lacks_is_downloaded(served: Path, cached: Path) -> None:
    (write_splits(cached, ".txt.gz") / "valid.txt.gz").unlink()
    located(TOY.name)
    assert QuietHandler.asked == ["/valid.txt"]


def test_two_at_once_download_everything_once(served: Path, cached: Path) -> None:
    found: list[Path] = []
    threads = [threading.Thread(target=lambda: found.append(located(TOY.name))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [cached] * 4
    assert sorted(QuietHandler.asked) == ["/test.txt", "/train.txt", "/valid.txt"]


@pytest.mark.parametrize("spelling", ["toy-1", "TOY-1", "Toy-1"])
def test_case_does_not_matter(spelling: str, library: Path) -> None:
    folder = write_splits(library / "tOY-1")
    assert locate(spelling) == folder


def test_fb15k_may_be_spelled_with_a_small_k() -> None:
    assert find("FB15k-237") is BENCHMARKS["FB15K-237"]


def test_a_folder_of_ones_own_is_found_by_name(library: Path) -> None:
    (library / "my.graph_2").mkdir()
    assert locate("my.graph_2") == library / "my.graph_2"


def test_of_two_folders_the_one_spelled_alike_is_taken(library: Path) -> None:
    for name in ("Mine", "mine", "MINE"):
        (library / name).mkdir(exist_ok=True)
    assert locate("mine").name == "mine"


@pytest.mark.parametrize(
    "name", ["../x", "..", ".", "", "/etc", "a/b", "a\\b", "x/..", "~", "a\0b", "a..b", "a" * 65]
)
def test_a_name_never_becomes_a_path(name: str, library: Path) -> None:
    for path in (library.parent / "x", library / "a" / "b", library / "a..b", library / ("a" * 65)):
        path.mkdir(parents=True)
    with pytest.raises(BenchmarkError, match="no graph is called"):
        locate(name)


def test_an_unknown_name_lists_the_known_and_the_nearest() -> None:
    with pytest.raises(BenchmarkError) as caught:
        locate("fb15-k237")
    assert "did you mean FB15K-237?" in str(caught.value)
    assert all(name in str(caught.value) for name in BENCHMARKS)


def test_a_library_that_does_not_exist_holds_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRIFACT_DATA", "/nowhere/at/all")
    with pytest.raises(BenchmarkError, match="no graph is called"):
        locate("mine")


@pytest.mark.parametrize("ending", benchmarks.ENDINGS)
def test_a_split_is_checked_under_every_ending(ending: str, tmp_path: Path) -> None:
    verify(TOY, write_splits(tmp_path / "toy", ending))


def test_a_wrong_file_is_named_with_both_checksums(library: Path) -> None:
    wrong = write_splits(library / TOY.name) / "valid.txt"
    wrong.write_bytes(b"changed\n")
    with pytest.raises(BenchmarkError) as caught:
        located(TOY.name)
    assert caught.value.path == wrong
    assert SUMS[1][:16] in str(caught.value)
    assert hashlib.sha256(b"changed\n").hexdigest()[:16] in str(caught.value)
    assert "delete the file" in str(caught.value)


def test_a_wrong_download_is_refused(served: Path) -> None:
    (served / "test.txt").write_bytes(b"<html>please log in</html>")
    with pytest.raises(BenchmarkError, match="this is not test of Toy-1"):
        located(TOY.name)


def test_a_wrong_download_is_fetched_again_once_deleted(served: Path, cached: Path) -> None:
    (served / "test.txt").write_bytes(b"<html>please log in</html>")
    with pytest.raises(BenchmarkError):
        located(TOY.name)
    (served / "test.txt").write_bytes(TEXTS["test"])
    (cached / "test.txt").unlink()
    assert located(TOY.name) == cached


def test_a_checksum_nobody_knows_is_recorded_and_said(
    served: Path, cached: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_checksums(monkeypatch)
    said: list[str] = []
    located(TOY.name, lambda what, done, total: said.append(what))
    assert "Toy-1: no checksum is known, recorded that of this download" in said
    assert benchmarks._read_record(cached) == dict(zip(SPLITS, SUMS, strict=True))


def test_a_recorded_checksum_is_enforced_from_then_on(
    served: Path, cached: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_checksums(monkeypatch)
    located(TOY.name)
    (cached / "train.txt").write_bytes(b"changed\n")
    with pytest.raises(BenchmarkError, match="this is not train of Toy-1"):
        located(TOY.name)


@pytest.mark.parametrize("content", [b"{", b"[]", b'{"train": 1}', b"\xff", b"[" * 100_000])
def test_a_spoilt_record_is_a_benchmark_error(content: bytes, tmp_path: Path) -> None:
    folder = write_splits(tmp_path / "toy")
    (folder / benchmarks.RECORD).write_bytes(content)
    with pytest.raises(BenchmarkError, match="delete it"):
        verify(TOY, folder)


def test_the_archive_stands_in_for_missing_files(
    served: Path, cached: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with tarfile.open(served / "toy.tar.gz", "w:gz") as tar:
        for split in SPLITS:
            tar.add(served / f"{split}.txt", f"toy/{split}.txt")
    here = BENCHMARKS[TOY.name]
    archive = here.urls[0].replace("train.txt", "toy.tar.gz")
    monkeypatch.setitem(BENCHMARKS, TOY.name, replace(here, archive=archive))
    (served / "train.txt").unlink()
    assert located(TOY.name) == cached
    assert {path.name for path in cached.iterdir() if ".part" not in path.name} == {
        f"{split}.txt" for split in SPLITS
    }


def test_when_files_and_archive_both_fail_the_files_failure_is_told(
    served: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = replace(BENCHMARKS[TOY.name], archive="http://127.0.0.1:1/toy.tar.gz")
    monkeypatch.setitem(BENCHMARKS, TOY.name, here)
    (served / "train.txt").unlink()
    with pytest.raises(DownloadError, match=r"train\.txt.*404.*\$TRIFACT_DATA/Toy-1"):
        located(TOY.name, silent)


def test_line_ends_do_not_change_a_checksum(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text, file = b"a\tp\tb\nc\rd\te\tf\n\r\r", tmp_path / "file.txt"
    file.write_bytes(text.replace(b"\n", b"\r\n"))
    for block in range(1, 9):  # so that CR and LF fall into different blocks
        monkeypatch.setattr(benchmarks, "BLOCK", block)
        assert text_sha256(file) == hashlib.sha256(text).hexdigest()


@pytest.mark.parametrize("content", [b"no gzip", gzip.compress(b"x" * 1000, mtime=0)[:-9], b""])
def test_a_damaged_gzip_is_a_benchmark_error(content: bytes, tmp_path: Path) -> None:
    folder = write_splits(tmp_path / "toy", ".txt.gz")
    (folder / "train.txt.gz").write_bytes(content)
    with pytest.raises(BenchmarkError, match="train"):
        verify(TOY, folder)


def test_a_file_that_expands_beyond_the_cap_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(benchmarks, "MAX_BYTES", 3)
    with pytest.raises(BenchmarkError, match="expands beyond 3 bytes"):
        verify(TOY, write_splits(tmp_path / "toy", ".txt.gz"))


def test_the_cache_follows_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "/xdg")
    monkeypatch.setenv("HOME", "/home/someone")
    monkeypatch.setenv("TRIFACT_CACHE", "/chosen")
    assert cache_folder() == Path("/chosen")
    monkeypatch.setenv("TRIFACT_CACHE", "")
    assert cache_folder() == Path("/xdg/trifact")
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert cache_folder() == Path("/home/someone/.cache/trifact")


def test_only_what_was_verified_is_read(library: Path) -> None:
    folder = write_splits(library / TOY.name)
    genuine = trifact.load(TOY.name)
    (folder / "train.del").write_text("0\t0\t1\n")
    (folder / "entity_ids.del").write_text("0\tx\n1\ty\n")
    (folder / "relation_ids.del").write_text("0\tr\n")
    (folder / "entities.dict").write_text("0\tx\n1\ty\n")
    assert trifact.load(TOY.name, cache=False).content_hash == genuine.content_hash


def test_a_name_with_a_dot_may_be_in_the_library_and_a_path_never_is(
    library: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for place, text in ((library, "in\tthe\tlibrary\n"), (tmp_path, "in\tthis\tfolder\n")):
        (place / "my.graph").mkdir()
        (place / "my.graph" / "train.txt").write_text(text)
    monkeypatch.chdir(tmp_path)
    assert list(trifact.load("my.graph").predicates) == ["the"]
    for path in ("./my.graph", Path("my.graph"), Path("./my.graph")):
        assert list(trifact.load(path).predicates) == ["this"]
