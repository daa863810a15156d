"""What is shown fits the screen, is whole where it counts, and steers no terminal."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from trifact.cli.screen import Grid, Screen, heading, say, screen, short, table

NAME = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=200)


def printed(grid: Grid, width: int = 80) -> str:
    console = Screen()
    console.width = width
    with console.capture() as shown:
        console.print(grid)
    return shown.get()


@given(NAME, NAME, NAME, st.floats(-1e6, 1e6))
def test_names_give_way_and_never_numbers(first: str, second: str, third: str, n: float) -> None:
    grid, number = table("subject", "predicate", "object", "score", "known", text=3), f"{n:.3f}"
    grid.add_row(first, second, third, number, "new")
    header, row = printed(grid).splitlines()
    assert row.split()[-2:] == [number, "new"]
    assert header.split() == ["subject", "predicate", "object", "score", "known"]
    assert max(cell_len(header), cell_len(row)) <= 80


def test_a_name_has_the_room_that_others_leave() -> None:
    grid = table("a", "b", "n", text=2)
    grid.add_row("short", "x" * 200, "1")
    assert printed(grid).splitlines()[1] == f" short  {'x' * 22}…{'x' * 45}  1 "
    assert "x" * 200 in printed(grid, width=230)


def test_blanks_in_a_name_stay_and_what_steers_a_terminal_is_shown(
    capsys: pytest.CaptureFixture[str],
) -> None:
    grid = table("name", "n", title="of \x1b[31mred")
    grid.add_row("two  blanks\x1b[2J\tand\na line", "1")
    shown = printed(grid)
    assert "two  blanks\\x1b[2J\\tand\\na line" in shown
    assert "of \\x1b[31mred" in shown
    screen().print("a \x1b[31mname\nand \u202emore", heading("title\x9b", "\x07"))
    say("a note \x1b]0;about\x07")
    found = capsys.readouterr()
    assert found.out == "a \\x1b[31mname\nand \\u202emore title\\x9b\\x07\n"
    assert found.err == "a note \\x1b]0;about\\x07\n"


def test_what_is_said_beside_a_bar_stands_above_it() -> None:
    """On a terminal, which this one is asked to be: the bar is drawn below once more."""
    ours, theirs = pty.openpty()
    child = subprocess.Popen(
        [sys.executable, "-c", BESIDE_A_BAR], stderr=theirs, env={**os.environ, "TERM": "xterm"}
    )
    os.close(theirs)
    shown = b""
    with suppress(OSError):  # the other end is closed
        while some := os.read(ours, 2**16):
            shown += some
    assert child.wait() == 0
    line = next(line for line in shown.split(b"\n") if b"a note" in line)
    before = line[: line.index(b"a note")]
    assert b"at work" not in before.rpartition(b"\x1b[2K")[2]  # since the line was last cleared


BESIDE_A_BAR = """
import time
from trifact.cli.screen import say, watching
with watching() as progress:
    progress("at work", 1, 3)
    time.sleep(0.3)
    say("a note")
    progress("at work", 0, 0)
"""


def test_letters_of_all_scripts_are_no_controls() -> None:
    for name in ("می\u200cخواهم", "👩\u200d👩\u200d👧", "e\u0301", "a\u00a0b", "東京"):
        assert short(name) == name
    assert cell_len(short("東京" * 40, 20)) <= 20


def test_a_narrow_terminal_wraps_a_line_rather_than_cut_a_number(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "30")
    grid = table("name", "one", "two", "three")
    grid.add_row("name", "123,456.789", "123,456.789", "123,456.789")
    screen().print(grid)
    assert capsys.readouterr().out.count("123,456.789") == 3
