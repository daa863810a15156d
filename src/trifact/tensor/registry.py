"""Registries are plain dicts; this is how one is asked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from trifact.errors import ConfigError

T = TypeVar("T")


def choose(registry: Mapping[str, T], name: str, *, kind: str) -> T:
    """The entry called `name`; an unknown name lists the known ones."""
    if name not in registry:
        raise ConfigError(f"there is no {kind} {name!r}; known: {', '.join(registry)}")
    return registry[name]
