"""Ways to spell a name, and to compare names that two sources spell differently."""

from __future__ import annotations

import re
import unicodedata

PLAIN_APOSTROPHE = str.maketrans(dict.fromkeys("’‘ʼʻ`´ʿʾ", "'"))


def tidy(name: str) -> str:
    """The name in one spelling of blanks and apostrophes, so that it fits a column."""
    return " ".join(unicodedata.normalize("NFC", name).translate(PLAIN_APOSTROPHE).split())


def spell_out(name: str) -> str:
    """A CLDR name without its abbreviations, as GeoNames has it."""
    return tidy(name.replace("&", "and").replace("St. ", "Saint "))


def strip_accents(name: str) -> str:
    """The name without the marks of scholarly transliteration, as in English usage."""
    parts = unicodedata.normalize("NFKD", name)
    return "".join(c for c in parts if not unicodedata.combining(c))


def fold(name: str) -> str:
    """What remains the same of a name across spellings, to compare the two sources."""
    text = name.casefold().replace("&", "and")
    text = re.sub(r"^st\.? ", "saint ", text).removeprefix("the ")
    return "".join(c for c in unicodedata.normalize("NFKD", text) if c.isalnum())


def fold_strictly(name: str) -> str:
    """What is the same for two names that differ only in case or accents."""
    return strip_accents(name).casefold()
