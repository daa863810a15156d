"""The numbers that decide what is in the graph."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass

AS_OF = dt.date(2025, 7, 1)
"""The day for which currencies are current; fixed, so that the result does not depend on today."""

MIN_TERRITORY_POPULATION = 500
"""Leaves out Antarctica and other places without a settled population."""


@dataclass(frozen=True)
class Limits:
    """What a city must have to be in the graph without being a capital.

    A city with names in many languages is one that people know; districts and townships have few.
    """

    population: int
    alternate_names: int


LIMITS = Limits(200_000, 12)
COUNTRY_LIMITS = {"US": Limits(100_000, 5), "CN": Limits(500_000, 12)}
"""Lower limits in the United States, the one country whose first-level divisions have names here,
as `located in state` would otherwise have few facts; a higher one in China, where older ways to
romanise a name pass for many languages and the cities would be a seventh of all."""

SUBURB_KM = 15.0
SUBURB_RATIO = 2.0
SAME_PLACE_KM = 5.0
"""A place this close to a larger one is taken as a part of it, for GeoNames lists boroughs too."""

NEAREST_LARGER_MAX_KM = 500.0
MIN_SPOKEN_PERCENT = 5.0
MIN_STATE_ZONE_SHARE = 0.05
CAPITALS_WITH_LOCATION = 0.3
"""Share of capitals that also get `located in`: otherwise that predicate would hold the answer
to every question about `has capital`, and the other way round."""
