"""Ctrl-C and SIGTERM in long work: the first asks to stop, the second does not ask."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType

from trifact.errors import TrifactError

STOPPING = (signal.SIGINT, signal.SIGTERM)
STOPPED = 128 + signal.SIGINT
"""The exit code of errors that are none: somebody asked to stop, and everything is kept."""


@dataclass
class Interrupt:
    """Whether somebody asked to stop."""

    asked: bool = False

    def handle(self, number: int, frame: FrameType | None) -> None:
        """The handler of the signals."""
        if self.asked:
            os._exit(128 + number)
        self.asked = True


@contextmanager
def interruptible() -> Iterator[Interrupt]:
    """Signals set a flag while this lasts; in a thread that cannot have them nothing changes."""
    interrupt = Interrupt()
    if threading.current_thread() is not threading.main_thread():
        yield interrupt
        return
    before = {number: signal.signal(number, interrupt.handle) for number in STOPPING}
    try:
        yield interrupt
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def for_python() -> Iterator[None]:
    """Who stops work in Python stops the script: that it was stopped is a KeyboardInterrupt.

    No `except TrifactError` or `except Exception` around it takes it for a failure.
    """
    try:
        yield
    except TrifactError as error:
        if error.exit_code != STOPPED:
            raise
        raise KeyboardInterrupt(str(error)) from None
