"""How long work reports how far it is, without knowing who watches."""

from __future__ import annotations

from collections.abc import Callable

Progress = Callable[[str, int, int], None]
"""Called with what is being done, how far it is, and of how much (0 where nobody knows)."""


def silent(what: str, done: int, total: int) -> None:
    """Nobody watches."""
