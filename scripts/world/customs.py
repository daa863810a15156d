"""How people of a country write times, dates and numbers, and when their week begins."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from babel import Locale, UnknownLocaleError

from scripts.world.speech import Speech, official_speech

WELL_COVERED = 200
DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
DECIMALS = {".": "decimal point", ",": "decimal comma", "٫": "Arabic decimal mark"}
DATE_PARTS = {"d": "day", "M": "month", "y": "year"}


def customs(territory: str, speech: Sequence[Speech]) -> dict[str, str]:
    """Predicate and custom, in the main official language; nothing where CLDR says too little."""
    for locale in _locales(territory, speech):
        return {
            "week starts on": DAYS[locale.first_week_day],
            "uses clock": _clock(locale),
            "writes dates as": _date_order(locale),
            "writes decimals with": DECIMALS[_decimal_mark(locale)],
        }
    return {}


def _locales(territory: str, speech: Sequence[Speech]) -> Iterator[Locale]:
    """The locales of a country's official languages that CLDR covers well.

    A thinly covered language inherits its formats from the root locale, which say nothing about
    the country; coverage shows in how many territories the language has names for.
    """
    for entry in official_speech(speech):
        try:
            locale = Locale.parse(f"{entry.language}_{territory}")
        except (UnknownLocaleError, ValueError):
            continue
        if len(locale.territories) >= WELL_COVERED:
            yield locale


def _clock(locale: Locale) -> str:
    twelve = set(locale.time_formats["short"].pattern) & set("hK")
    return "12-hour clock" if twelve else "24-hour clock"


def _date_order(locale: Locale) -> str:
    pattern = dict.fromkeys(locale.date_formats["short"].pattern)
    return "-".join(DATE_PARTS[letter] for letter in pattern if letter in DATE_PARTS)


def _decimal_mark(locale: Locale) -> str:
    symbols = locale.number_symbols
    usual = symbols.get(locale.default_numbering_system, {})
    return str(usual.get("decimal") or symbols["latn"]["decimal"])
