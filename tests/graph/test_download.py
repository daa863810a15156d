"""Downloads arrive whole or continue; archives give up three files and nothing else."""

from __future__ import annotations

import io
import tarfile
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from trifact.errors import DownloadError
from trifact.graph import download
from trifact.graph.download import fetch, locked, splits_from_tar

BODY = bytes(range(256)) * 40
THREE = {"train.txt": b"a\tp\tb\n", "valid.txt": b"b\tp\tc\n", "test.txt": b"c\tp\ta\n"}


@dataclass
class Site:
    """What the server does, and what it was asked."""

    url: str = ""
    body: bytes = BODY
    tag: str = '"one"'
    status: int = 200
    ranges: bool = True
    skew: int = 0
    """How far from the place asked for a resumed answer starts."""
    cuts: list[int] = field(default_factory=list)
    """The n-th answer ends after so many bytes, although more were promised."""
    asked: list[Message] = field(default_factory=list)

    def start_of(self, headers: Message) -> int:
        wanted = headers.get("Range", "bytes=0-").removeprefix("bytes=").rstrip("-")
        fits = headers.get("If-Range", self.tag) == self.tag
        return int(wanted) if self.ranges and fits else 0


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    site = Site()

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            pass

        def do_GET(self) -> None:
            site.asked.append(self.headers)
            start = site.start_of(self.headers)
            if site.status != 200 or start > len(site.body):
                return self.send_error(site.status if site.status != 200 else 416)
            return self.answer(start)

        def answer(self, start: int) -> None:
            rest = site.body[start:]
            self.send_response(206 if start else 200)
            if start:
                place = start + site.skew
                self.send_header("Content-Range", f"bytes {place}-/{len(site.body)}")
            self.send_header("Content-Length", str(len(rest)))
            self.send_header("ETag", site.tag)
            self.end_headers()
            self.wfile.write(rest[: site.cuts.pop(0) if site.cuts else None])

    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.setattr(download, "PAUSE", 0.0)
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    site.url = f"http://127.0.0.1:{server.server_port}/file"
    yield site
    server.shutdown()
    server.server_close()
    thread.join()


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_file_arrives_whole_and_alone(site: Site, tmp_path: Path) -> None:
    fetch(site.url, tmp_path / "new" / "file")
    assert (tmp_path / "new" / "file").read_bytes() == BODY
    assert names(tmp_path / "new") == ["file"]


def test_progress_ends_at_the_full_size(site: Site, tmp_path: Path) -> None:
    seen: list[tuple[str, int, int]] = []
    fetch(site.url, tmp_path / "file", lambda *step: seen.append(step), name="G")
    assert seen[-1] == ("G: file", len(BODY), len(BODY))


def test_a_file_that_is_there_is_not_asked_for(site: Site, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"mine")
    fetch(site.url, tmp_path / "file")
    assert (tmp_path / "file").read_bytes() == b"mine"
    assert site.asked == []


def test_a_cut_connection_is_resumed_where_it_broke(site: Site, tmp_path: Path) -> None:
    site.cuts = [1000, 500]
    fetch(site.url, tmp_path / "file")
    assert (tmp_path / "file").read_bytes() == BODY
    assert [headers.get("Range") for headers in site.asked] == [None, "bytes=1000-", "bytes=1500-"]
    assert site.asked[1]["If-Range"] == '"one"'


def test_what_arrived_before_giving_up_is_continued_next_time(site: Site, tmp_path: Path) -> None:
    site.cuts = [100] * download.ATTEMPTS
    with pytest.raises(DownloadError, match=r"ended after 400 of 10,240 bytes"):
        fetch(site.url, tmp_path / "file")
    assert not (tmp_path / "file").exists()
    fetch(site.url, tmp_path / "file")
    assert site.asked[-1]["Range"] == "bytes=400-"
    assert (tmp_path / "file").read_bytes() == BODY


def test_an_interrupt_leaves_only_the_part_and_it_is_continued(site: Site, tmp_path: Path) -> None:
    def interrupt(what: str, done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fetch(site.url, tmp_path / "file", interrupt)
    assert names(tmp_path) == ["file.part", "file.part.from"]
    fetch(site.url, tmp_path / "file")
    assert "Range" in site.asked[-1]
    assert (tmp_path / "file").read_bytes() == BODY


def test_a_server_that_ignores_range_starts_anew(site: Site, tmp_path: Path) -> None:
    site.ranges, site.cuts = False, [1000]
    fetch(site.url, tmp_path / "file")
    assert site.asked[1]["Range"] == "bytes=1000-"
    assert (tmp_path / "file").read_bytes() == BODY


def test_a_file_that_changed_meanwhile_starts_anew(site: Site, tmp_path: Path) -> None:
    site.cuts = [100] * download.ATTEMPTS
    with pytest.raises(DownloadError):
        fetch(site.url, tmp_path / "file")
    site.body, site.tag = BODY[::-1], '"two"'
    fetch(site.url, tmp_path / "file")
    assert (tmp_path / "file").read_bytes() == BODY[::-1]


def test_a_part_longer_than_the_file_starts_anew(site: Site, tmp_path: Path) -> None:
    (tmp_path / "file.part").write_bytes(BODY + b"more")
    (tmp_path / "file.part.from").write_text(f"{site.url}\n")
    fetch(site.url, tmp_path / "file")
    assert (tmp_path / "file").read_bytes() == BODY
    assert [("Range" in headers) for headers in site.asked] == [True, False]


def test_a_part_of_unknown_origin_starts_anew(site: Site, tmp_path: Path) -> None:
    (tmp_path / "file.part").write_bytes(b"from elsewhere")
    fetch(site.url, tmp_path / "file")
    assert (tmp_path / "file").read_bytes() == BODY


def test_a_server_that_resumes_at_the_wrong_place_starts_anew(site: Site, tmp_path: Path) -> None:
    site.cuts, site.skew = [1000], 7
    fetch(site.url, tmp_path / "file")
    assert (tmp_path / "file").read_bytes() == BODY
    assert [("Range" in headers) for headers in site.asked] == [False, True, False]


def test_a_weak_tag_is_never_sent_back(site: Site, tmp_path: Path) -> None:
    site.tag, site.cuts = 'W/"one"', [1000]
    fetch(site.url, tmp_path / "file")
    assert "If-Range" not in site.asked[1]


def test_a_missing_file_fails_at_once_and_says_what_to_do(site: Site, tmp_path: Path) -> None:
    site.status = 404
    with pytest.raises(DownloadError) as caught:
        fetch(site.url, tmp_path / "file", name="WN18")
    assert site.url in str(caught.value)
    assert "404" in str(caught.value)
    assert "$TRIFACT_DATA/WN18" in str(caught.value)
    assert len(site.asked) == 1


def test_a_server_in_trouble_is_asked_again_a_few_times(site: Site, tmp_path: Path) -> None:
    site.status = 503
    with pytest.raises(DownloadError, match="503"):
        fetch(site.url, tmp_path / "file")
    assert len(site.asked) == download.ATTEMPTS


def test_a_file_over_the_cap_is_refused(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(download, "MAX_BYTES", len(BODY) - 1)
    with pytest.raises(DownloadError, match="10,240 bytes are more than the 10,239 allowed"):
        fetch(site.url, tmp_path / "file")


@pytest.mark.parametrize("url", ["file:///etc/hosts", "ftp://127.0.0.1/x", "data:,x", "x", ""])
def test_only_http_is_fetched(url: str, tmp_path: Path) -> None:
    with pytest.raises(DownloadError, match="only http and https"):
        fetch(url, tmp_path / "file")


def test_nobody_listening_is_a_download_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.setattr(download, "PAUSE", 0.0)
    with pytest.raises(DownloadError, match="cannot be reached"):
        fetch("http://127.0.0.1:1/file", tmp_path / "file")


def test_a_target_that_cannot_be_written_is_a_download_error(site: Site, tmp_path: Path) -> None:
    (tmp_path / "occupied").write_bytes(b"")
    with pytest.raises(DownloadError, match="cannot be written"):
        fetch(site.url, tmp_path / "occupied" / "file")


def test_a_lock_keeps_the_second_one_waiting(tmp_path: Path) -> None:
    order: list[str] = []

    def second() -> None:
        with locked(tmp_path / "lock"):
            order.append("second")

    with locked(tmp_path / "lock"):
        thread = threading.Thread(target=second)
        thread.start()
        thread.join(0.1)
        order.append("first")
    thread.join()
    assert order == ["first", "second"]


def archive_of(path: Path, members: list[tuple[str, bytes]]) -> Path:
    with tarfile.open(path, "w:gz") as tar:
        for name, content in members:
            member = tarfile.TarInfo(name)
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    return path


def test_the_three_splits_come_out_of_an_archive(tmp_path: Path) -> None:
    members = [("readme", b"x"), *((f"Graph/{name}", text) for name, text in THREE.items())]
    splits_from_tar(archive_of(tmp_path / "a.tar.gz", members), tmp_path / "out")
    assert {p.name: p.read_bytes() for p in (tmp_path / "out").iterdir()} == THREE


@pytest.mark.parametrize("prefix", ["../../", "/", "./x/../../"])
def test_a_hostile_path_in_an_archive_is_never_followed(prefix: str, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    members = [(prefix + name, text) for name, text in THREE.items()]
    splits_from_tar(archive_of(tmp_path / "in" / "a.tar.gz", members), tmp_path / "in" / "out")
    assert names(tmp_path) == ["in"]
    assert names(tmp_path / "in") == ["a.tar.gz", "out"]
    assert names(tmp_path / "in" / "out") == sorted(THREE)


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE])
def test_links_and_devices_are_no_splits(kind: bytes, tmp_path: Path) -> None:
    archive = tmp_path / "a.tar.gz"
    with tarfile.open(archive, "w:gz") as tar:
        for name in THREE:
            member = tarfile.TarInfo(name)
            member.type, member.linkname = kind, "/etc/hosts"
            tar.addfile(member)
    with pytest.raises(DownloadError, match=r"no train\.txt"):
        splits_from_tar(archive, tmp_path / "out")
    assert names(tmp_path) == ["out"]
    assert names(tmp_path / "out") == []


def test_an_archive_with_a_split_twice_is_refused(tmp_path: Path) -> None:
    members = [*THREE.items(), ("other/train.txt", b"x")]
    with pytest.raises(DownloadError, match=r"two files called train\.txt"):
        splits_from_tar(archive_of(tmp_path / "a.tar.gz", members), tmp_path / "out")
    assert names(tmp_path / "out") == []


@pytest.mark.parametrize("keep", [0, 5, 60, -30, -9])
def test_a_damaged_archive_is_removed_and_leaves_nothing(keep: int, tmp_path: Path) -> None:
    members = [(name, text * 5000) for name, text in THREE.items()]
    archive = archive_of(tmp_path / "a.tar.gz", members)
    archive.write_bytes(archive.read_bytes()[:keep])
    with pytest.raises(DownloadError, match="it was removed"):
        splits_from_tar(archive, tmp_path / "out")
    assert names(tmp_path) == ["out"]
    assert names(tmp_path / "out") == []


def test_a_flipped_bit_in_an_archive_is_noticed(tmp_path: Path) -> None:
    archive = archive_of(tmp_path / "a.tar.gz", list(THREE.items()))
    content = bytearray(archive.read_bytes())
    content[-6] ^= 1  # in gzip's own checksum
    archive.write_bytes(content)
    with pytest.raises(DownloadError, match="CRC"):
        splits_from_tar(archive, tmp_path / "out")


def test_an_archive_that_expands_beyond_the_cap_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive = archive_of(tmp_path / "a.tar.gz", [("zeros", bytes(100_000)), *THREE.items()])
    monkeypatch.setattr(download, "MAX_BYTES", 50_000)
    with pytest.raises(DownloadError, match="more than 50,000 bytes"):
        splits_from_tar(archive, tmp_path / "out")
    assert not archive.exists()
