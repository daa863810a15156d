"""DuckDB hears Ctrl-C as the rest of Python does."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest

from trifact.graph.duck import connected, hearing_ctrl_c


@pytest.fixture
def alarm_is_ctrl_c() -> Iterator[None]:
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    yield
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


@pytest.mark.usefixtures("alarm_is_ctrl_c")
def test_ctrl_c_within_a_query_is_ctrl_c() -> None:
    endless = "select sum(hash(a.range + b.range)) from range(10000000) a, range(10000000) b"
    with pytest.raises(KeyboardInterrupt), connected(threads=1) as base:
        signal.setitimer(signal.ITIMER_REAL, 0.1)
        base.execute(endless).fetchall()


def test_other_errors_stay_what_they_are() -> None:
    with pytest.raises(RuntimeError, match="another"), hearing_ctrl_c():
        raise RuntimeError("another")
