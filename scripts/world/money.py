"""The currencies that countries use, and the kinds that they are of."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence

from babel.numbers import get_territory_currencies

from scripts.world.choices import AS_OF
from scripts.world.spelling import strip_accents


def currencies(country: str) -> Sequence[str]:
    """The codes of what is legal tender in a country."""
    codes: Sequence[str] = get_territory_currencies(country, AS_OF, AS_OF, tender=True)
    return codes


def kinds_of(names: Collection[str]) -> dict[str, str]:
    """Of which kind each currency is: a dollar, a franc, a peso.

    The kind is the last word of the name; a word that no other currency shares is not a kind.
    """
    kinds = {name: strip_accents(name.split()[-1]).casefold() for name in names}
    members = Counter(kinds.values())
    return {name: kind for name, kind in kinds.items() if members[kind] > 1}
