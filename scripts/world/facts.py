"""The facts: what the graph says about its things."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain

from scripts.world.choices import CAPITALS_WITH_LOCATION, NEAREST_LARGER_MAX_KM
from scripts.world.cities import City, distance_km, within
from scripts.world.countries import US
from scripts.world.customs import customs
from scripts.world.money import currencies, kinds_of
from scripts.world.speech import speech_predicates
from scripts.world.spelling import spell_out, tidy
from scripts.world.world import World
from scripts.world.zones import country_zones, standard_name, standard_offset

Fact = tuple[str, str, str]

SCRIPT_NAMES: Mapping[str, str] = {"Hans": "Simplified Chinese", "Hant": "Traditional Chinese"}


def make_facts(world: World) -> list[Fact]:
    """All facts, unique and sorted."""
    return sorted({fact for maker in MAKERS for fact in maker(world)})


def appearances(facts: Iterable[Fact]) -> Counter[str]:
    """In how many facts each entity appears."""
    return Counter(name for s, _, o in facts for name in (s, o))


def country_facts(world: World) -> Iterator[Fact]:
    """Where each country lies: its continent and neighbours, in both directions."""
    for country in world.countries.values():
        yield country.name, "on continent", world.registry.add("continent", country.continent)
        for code in country.neighbours:
            neighbour = world.countries[code].name
            yield country.name, "has neighbour", neighbour
            yield neighbour, "has neighbour", country.name


def language_facts(world: World) -> Iterator[Fact]:
    """Which languages a country has."""
    for code, country in world.countries.items():
        for predicate, entry in speech_predicates(world.speech[code]):
            name = world.languages[entry.language]
            yield country.name, predicate, world.registry.add("language", name, entry.language)


def writing_facts(world: World) -> Iterator[Fact]:
    """In which scripts the languages that countries use are written."""
    uses = chain.from_iterable(map(speech_predicates, world.speech.values()))
    used = {entry.language for _, entry in uses}
    for entry in chain.from_iterable(world.speech.values()):
        for script in entry.scripts if entry.language in used else ():
            name = SCRIPT_NAMES.get(script) or tidy(world.english.scripts[script])
            label = world.registry.add("script", f"{name} script", script)
            yield world.languages[entry.language], "written in", label


def currency_facts(world: World) -> Iterator[Fact]:
    """What money a country uses, and of which kind it is."""
    used = set()
    for code, country in world.countries.items():
        for currency in currencies(code):
            name = spell_out(world.english.currencies[currency])
            used.add(world.registry.add("currency", name, currency))
            yield country.name, "uses currency", name
    for name, kind in kinds_of(used).items():
        yield name, "is a kind of", world.registry.add("kind of currency", kind)


def custom_facts(world: World) -> Iterator[Fact]:
    """How people of a country write and count."""
    for code, country in world.countries.items():
        for predicate, custom in customs(code, world.speech[code]).items():
            yield country.name, predicate, world.registry.add("custom", custom)


def capital_facts(world: World) -> Iterator[Fact]:
    """Which city is the capital; only the largest capitals have `located in`, too."""
    capitals = [city for city in world.cities if city.is_capital]
    for rank, city in enumerate(capitals):
        country = world.countries[city.country].name
        yield country, "has capital", city.name
        if rank < int(CAPITALS_WITH_LOCATION * len(capitals)):
            yield city.name, "located in", country


def city_facts(world: World) -> Iterator[Fact]:
    """Where each city lies, and in which time zone; of capitals, see `capital_facts`."""
    for city in world.cities:
        yield city.name, "in time zone", world.registry.add("time zone", city.zone)
        if not city.is_capital:
            yield city.name, "located in", world.countries[city.country].name
        if city.country == US:
            yield city.name, "located in state", world.states[city.state]


def nearest_larger_facts(world: World) -> Iterator[Fact]:
    """Which city of the graph is the nearest among those with more people.

    Unlike "is near" this has one answer for each city and never holds in both directions.
    """
    for position, city in enumerate(world.cities):
        near = (c for c in world.cities[:position] if within(city, c, NEAREST_LARGER_MAX_KM))
        larger = [c for c in near if c.population > city.population]
        if larger:
            yield city.name, "has nearest larger city", _nearest(city, larger).name


def _nearest(city: City, others: Iterable[City]) -> City:
    return min(others, key=lambda other: (distance_km(city, other), other.key))


def state_facts(world: World) -> Iterator[Fact]:
    """That each US state lies in the United States, and in which time zones."""
    for code, state in world.states.items():
        yield state, "located in", world.countries[US].name
        yield from _zone_facts(world, state, world.state_zones.get(code, ()))


def country_zone_facts(world: World) -> Iterator[Fact]:
    """Which time zones a country has."""
    for code, country in world.countries.items():
        yield from _zone_facts(world, country.name, country_zones(code))


def _zone_facts(world: World, place: str, zones: Iterable[str]) -> Iterator[Fact]:
    for zone in world.zones & set(zones):
        yield place, "has time zone", world.registry.add("time zone", zone)


def zone_facts(world: World) -> Iterator[Fact]:
    """What time each zone keeps.

    A name of time that a single zone has is left out: it says no more than the zone itself.
    """
    standards = {zone: standard_name(zone, world.english) for zone in world.zones}
    members = Counter(standards.values())
    for zone, standard in standards.items():
        yield zone, "has standard offset", world.registry.add("offset", standard_offset(zone))
        if standard and members[standard] > 1:
            yield zone, "follows", world.registry.add("time", standard)


MAKERS: tuple[Callable[[World], Iterator[Fact]], ...] = (
    country_facts,
    language_facts,
    writing_facts,
    currency_facts,
    custom_facts,
    capital_facts,
    city_facts,
    nearest_larger_facts,
    state_facts,
    country_zone_facts,
    zone_facts,
)
