"""Time zones: where they hold, and what time they keep."""

from __future__ import annotations

import datetime as dt
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from zoneinfo import ZoneInfo

from babel import Locale
from babel.core import get_global

from scripts.world.choices import AS_OF, MIN_STATE_ZONE_SHARE
from scripts.world.cities import City
from scripts.world.countries import US
from scripts.world.spelling import spell_out


def country_zones(country: str) -> Sequence[str]:
    """The time zones of a country, according to CLDR."""
    zones: Mapping[str, Sequence[str]] = get_global("territory_zones")
    return zones.get(country, ())


def state_zones(cities: Iterable[City]) -> dict[str, list[str]]:
    """The time zones of each US state, without those that a stray record would add."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for city in cities:
        if city.country == US:
            counts[city.state][city.zone] += 1
    return {
        state: [z for z, n in zones.items() if n >= MIN_STATE_ZONE_SHARE * zones.total()]
        for state, zones in counts.items()
    }


def zones_that_matter(countries: Iterable[str], cities: Iterable[City]) -> set[str]:
    """Those of the cities, and those of countries with a single one."""
    listed = map(country_zones, countries)
    return {city.zone for city in cities} | {zones[0] for zones in listed if len(zones) == 1}


def standard_offset(zone: str) -> str:
    """The offset of a time zone from UTC outside summer time, as in "UTC+05:30"."""
    info = ZoneInfo(zone)
    moments = (dt.datetime(AS_OF.year, month, 1, 12, tzinfo=info) for month in (1, 7))
    minutes = min((m.utcoffset() or dt.timedelta()) // dt.timedelta(minutes=1) for m in moments)
    hours, rest = divmod(abs(minutes), 60)
    return f"UTC{'-' if minutes < 0 else '+'}{hours:02d}:{rest:02d}"


def standard_name(zone: str, english: Locale) -> str:
    """What the time of a zone is called in English, such as "Central European Time"."""
    meta_zones: Mapping[str, str] = get_global("meta_zones")
    aliases: Mapping[str, str] = get_global("zone_aliases")
    former = sorted(alias for alias, current in aliases.items() if current == zone)
    meta = next((meta_zones[name] for name in [zone, *former] if name in meta_zones), "")
    names = english.meta_zones.get(meta, {}).get("long", {})
    return spell_out(names.get("generic") or names.get("standard") or "")
