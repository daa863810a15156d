"""The names that are given away."""

from __future__ import annotations

from collections import Counter

from scripts.world.spelling import fold_strictly, tidy

ODDITIES = frozenset('\t\n\r"“”«»’‘')


class Registry:
    """Hands out names and makes sure that no name ever stands for two things."""

    def __init__(self) -> None:
        self._owners: dict[str, tuple[str, str]] = {}

    def add(self, kind: str, name: str, key: str = "") -> str:
        """The name, which from now on stands for one thing; it may not stand for another."""
        if not name or name != tidy(name) or name.startswith("#") or ODDITIES & set(name):
            raise SystemExit(f"bad name for {kind} {key}: {name!r}")
        claim = kind, key or name
        owner = self._owners.setdefault(fold_strictly(name), claim)
        if owner != claim:
            raise SystemExit(f"{name!r} stands for both {owner} and {claim}")
        return name

    def kinds(self) -> Counter[str]:
        """How many names there are of each kind."""
        return Counter(kind for kind, _ in self._owners.values())
