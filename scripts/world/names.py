"""What things are called in the graph: as in English text, and no two alike."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence

from scripts.world.cities import City
from scripts.world.countries import US, Country
from scripts.world.curated import RENAMED_CITIES
from scripts.world.spelling import fold_strictly, strip_accents, tidy

KEEP_APOSTROPHE = frozenset({"CN", "TD"})
"""Non-Latin countries where an apostrophe belongs to the usual English name (Xi'an, N'Djamena);
elsewhere it only marks a sound of the transliteration (Ryazan', Ta'if)."""

SUFFIXES = {"KR": "-si", "KP": "-si", "JP": "-shi"}
"""Words for "city" that GeoNames keeps on some names and not on others."""


def usual_name(city: City, romanised: bool) -> str:
    """The name of a city as English text usually has it, before it is made unique."""
    renamed = RENAMED_CITIES.get(city.country, {}).get(city.name)
    if renamed is None:
        name = _plain(city) if romanised else tidy(city.name)
        return name.removesuffix(SUFFIXES.get(city.country, ""))
    if renamed not in city.alternates:
        raise SystemExit(f"{renamed} is no alternate name of {city.name} in GeoNames")
    return renamed


def _plain(city: City) -> str:
    name = tidy(strip_accents(tidy(city.name)))
    return name if city.country in KEEP_APOSTROPHE else name.replace("'", "")


def folded(names: Iterable[str]) -> set[str]:
    """The names in the form in which `qualify` and `qualify_cities` compare them."""
    return {fold_strictly(name) for name in names}


def qualify(name: str, kind: str, taken: Container[str]) -> str:
    """The name with the kind of thing if something else has it too: "Georgia (state)"."""
    return f"{name} ({kind})" if fold_strictly(name) in taken else name


def qualify_cities(
    cities: Sequence[City],
    countries: Mapping[str, Country],
    states: Mapping[str, str],
) -> None:
    """Add to each ambiguous city name what tells it apart: its country, its state, or "city".

    All cities of one name are qualified, the famous one too, since a bare name beside a qualified
    one would look like a different kind of thing.
    """
    taken = folded([c.name for c in countries.values()] + list(states.values()))
    counts = Counter(fold_strictly(city.name) for city in cities)
    for city in cities:
        name = fold_strictly(city.name)
        if counts[name] > 1 or name in taken:
            city.name += f" ({_qualifier(city, countries[city.country].name, states)})"


def _qualifier(city: City, country: str, states: Mapping[str, str]) -> str:
    if fold_strictly(city.name) == fold_strictly(country):
        return "city"
    return states[city.state] if city.country == US else country
