"""Which languages people of a country speak, and how they write them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from babel.core import get_global

from scripts.world.choices import MIN_SPOKEN_PERCENT

STATUSES = ("", "official_regional", "de_facto_official", "official")
"""What CLDR calls the standing of a language, the highest last."""

MERGED = {"nb": "no"}
"""CLDR lists both Norwegian and its Bokmål standard for Norway; the two would be duplicates."""


@dataclass(frozen=True)
class Speech:
    """How one language stands in one country, according to CLDR."""

    language: str
    percent: float
    status: str
    scripts: frozenset[str]


def territory_speech(territory: str, named: Container[str]) -> list[Speech]:
    """The languages of a territory that have an English name, the most spoken first."""
    entries: Mapping[str, Mapping[str, Any]] = get_global("territory_languages").get(territory, {})
    by_language: dict[str, list[Speech]] = defaultdict(list)
    for tag, entry in entries.items():
        speech = _speech(territory, tag, entry)
        if speech.language in named and not _is_odd(tag, speech):
            by_language[speech.language].append(speech)
    merged = map(_merge, by_language.values())
    return sorted(merged, key=lambda s: (-s.percent, s.language))


def _speech(territory: str, tag: str, entry: Mapping[str, Any]) -> Speech:
    language, _, script = tag.partition("_")
    return Speech(
        language=MERGED.get(language, language),
        percent=float(entry["population_percent"]),
        status=entry["official_status"] or "",
        scripts=frozenset({script or _likely_script(language, territory)} - {""}),
    )


def _likely_script(language: str, territory: str) -> str:
    """The script in which CLDR expects a language to be written in a territory."""
    subtags: Mapping[str, str] = get_global("likely_subtags")
    likely = subtags.get(f"{language}_{territory}") or subtags.get(language, "")
    return next((part for part in likely.split("_") if len(part) == 4), "")


def _is_odd(tag: str, speech: Speech) -> bool:
    """Whether it is no language, or one in a rare script, as English in the Shavian alphabet."""
    rare = not speech.status and speech.percent < MIN_SPOKEN_PERCENT
    return speech.language == "und" or ("_" in tag and rare)


def _merge(entries: Sequence[Speech]) -> Speech:
    """One language out of its entries, one for each script, with the highest status and share."""
    return Speech(
        language=entries[0].language,
        percent=max(e.percent for e in entries),
        status=max((e.status for e in entries), key=STATUSES.index),
        scripts=frozenset().union(*(e.scripts for e in entries)),
    )


def official_speech(speech: Sequence[Speech]) -> list[Speech]:
    """The official languages of a country out of all that are spoken there.

    A language that is official only de facto counts when no official one has more speakers, as
    English in the United States; otherwise it is one of the other languages.
    """
    most = max((s.percent for s in speech if s.status == "official"), default=0.0)
    least = {"official": 0.0, "de_facto_official": most}
    return [s for s in speech if s.status in least and s.percent >= least[s.status]]


def speech_predicates(speech: Sequence[Speech]) -> Iterator[tuple[str, Speech]]:
    """What to say of a country and each of its languages; the predicates exclude each other."""
    official = official_speech(speech)
    for entry in speech:
        if entry in official:
            yield "has official language", entry
        elif entry.status == "official_regional":
            yield "has regional language", entry
        elif entry.percent >= MIN_SPOKEN_PERCENT:
            yield "also speaks", entry


def is_romanised(speech: Sequence[Speech]) -> bool:
    """Whether city names of a country are transliterations rather than native spellings."""
    return any("Latn" not in main.scripts for main in official_speech(speech)[:1])
