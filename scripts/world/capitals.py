"""Which of the cities are capitals."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import chain

from scripts.world.cities import City
from scripts.world.countries import Country
from scripts.world.curated import RENAMED_CAPITALS
from scripts.world.spelling import fold


def mark_capitals(cities: Sequence[City], countries: Mapping[str, Country]) -> None:
    """Mark the city record of each capital, and call it what the country calls it."""
    by_country: dict[str, list[City]] = defaultdict(list)
    for city in cities:
        by_country[city.country].append(city)
    for code, country in countries.items():
        if country.capital:
            capital = _capital(country, by_country[code])
            capital.is_capital = True
            capital.name = RENAMED_CAPITALS.get(code) or _name(capital, country)


def _capital(country: Country, cities: Sequence[City]) -> City:
    """The largest city of the name; else of the alternate name; else of a longer name."""
    wanted = fold(country.capital)
    named = (c for c in cities if fold(c.name) == wanted)
    called = (c for c in cities if wanted in map(fold, c.alternates))
    longer = (c for c in cities if fold(c.name).startswith(wanted))
    for city in chain(named, called, longer):
        return city
    raise SystemExit(f"no city record for {country.capital}, capital of {country.name}")


def _name(capital: City, country: Country) -> str:
    """The city's own spelling where it is the same name."""
    same = fold(capital.name) == fold(country.capital)
    return capital.name if same else country.capital
