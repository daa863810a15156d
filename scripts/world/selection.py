"""Which cities are in the graph."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from scripts.world.choices import (
    COUNTRY_LIMITS,
    LIMITS,
    SAME_PLACE_KM,
    SUBURB_KM,
    SUBURB_RATIO,
)
from scripts.world.cities import City, largest_first, within
from scripts.world.countries import US
from scripts.world.curated import EXCLUDED_CITIES
from scripts.world.spelling import fold


def choose_cities(cities: Sequence[City]) -> list[City]:
    """The capitals, the known large cities and the largest city of each US state.

    An excluded place still counts as one that others may be a part of: the Bronx hides its own
    quarters.
    """
    leaders = _state_leaders(cities)
    chosen: list[City] = []
    for city in cities:
        always = city.is_capital or city.key in leaders
        if always or (_is_known(city) and not _is_part_of_another(city, chosen)):
            chosen.append(city)
    return [city for city in chosen if city.name not in EXCLUDED_CITIES.get(city.country, ())]


def _state_leaders(cities: Sequence[City]) -> set[int]:
    smallest_first = reversed([city for city in cities if city.country == US])
    return set({city.state: city.key for city in smallest_first}.values())


def _is_known(city: City) -> bool:
    """Whether a city is large and known enough for people to judge facts about it."""
    limits = COUNTRY_LIMITS.get(city.country, LIMITS)
    enough_names = len(city.alternates) >= limits.alternate_names
    return city.population >= limits.population and enough_names


def _is_part_of_another(city: City, larger: Iterable[City]) -> bool:
    """Whether a place is a borough or suburb of one of the `larger` cities."""
    neighbours = (other for other in larger if other.country == city.country)
    return any(within(city, other, _reach(other, city)) for other in neighbours)


def _reach(larger: City, city: City) -> float:
    dominant = larger.population >= SUBURB_RATIO * city.population
    return SUBURB_KM if dominant else SAME_PLACE_KM


def drop_unclear(cities: Iterable[City]) -> list[City]:
    """Without lists of names, and without the smaller of two cities of one name in one country.

    Cities of the United States stay, since their state tells them apart.
    """
    kept: dict[tuple[str, str, str], City] = {}
    for city in sorted(largest_first(cities), key=lambda c: not c.is_capital):
        if city.is_capital or not set(city.name) & set(",/()"):
            state = city.state if city.country == US else ""
            kept.setdefault((fold(city.name), city.country, state), city)
    return largest_first(kept.values())
