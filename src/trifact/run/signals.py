"""Ctrl-C and SIGTERM while training: the first asks to stop, the second does not ask."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType

STOPPING = (signal.SIGINT, signal.SIGTERM)


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
