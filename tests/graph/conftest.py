"""What the tests of reading and writing share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from trifact.graph.facttable import FactTable


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of the test's own, empty: no test sees what another one read."""
    folder = tmp_path / "cache-of-this-test"
    monkeypatch.setenv("TRIFACT_CACHE", str(folder))
    return folder


@pytest.fixture
def file(tmp_path: Path) -> Callable[[str, bytes | str], Path]:
    """Makes a file of a name and a content."""

    def make(name: str, content: bytes | str) -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return make


@pytest.fixture(scope="session")
def table() -> Iterator[FactTable]:
    """One table for all examples of property tests: to open one takes longer than to fill it."""
    with FactTable(memory_mb=500, disk_gb=1) as shared:
        yield shared
