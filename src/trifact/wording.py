"""What a setting is called in a sentence: as whoever reads it says it, in Python or in a shell."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_typed = ContextVar("typed", default=False)


def setting(name: str, value: str | float | bool | None = None) -> str:
    """A setting, and the value to give it.

    >>> setting("memory_mb"), setting("overwrite", True), setting("header", "yes")
    ('memory_mb', 'overwrite=True', "header='yes'")
    >>> with typed():
    ...     setting("memory_mb"), setting("overwrite", True), setting("header", "yes")
    ('--memory-mb', '--overwrite', '--header yes')
    """
    if not _typed.get():
        return name if value is None else f"{name}={value!r}"
    flag = f"--{name.replace('_', '-')}"
    return flag if value is None or isinstance(value, bool) else f"{flag} {shlex.quote(str(value))}"


@contextmanager
def typed() -> Iterator[None]:
    """While this lasts sentences are for the command line."""
    before = _typed.set(True)
    try:
        yield
    finally:
        _typed.reset(before)
