"""Durations as people write them: 90s, 20m, 2h, 1h30m.

>>> seconds("1h30m")
5400.0
>>> seconds("1.5 h")
5400.0
>>> shown(5400)
'1.5 h'
"""

from __future__ import annotations

import re

from trifact.errors import ConfigError

LENGTHS = {"d": 86_400, "h": 3_600, "m": 60, "s": 1}
PART = r"(\d{1,6}(?:\.\d{1,6})?)\s*%s"
FORM = re.compile("".join(rf"(?:{PART % unit}\s*)?" for unit in LENGTHS))


def seconds(text: str) -> float:
    """The seconds of a duration; one that is none, or nothing, is refused."""
    found = FORM.fullmatch(text.strip().lower())
    parts = [float(part or 0) for part in found.groups()] if found else []
    total = sum(part * length for part, length in zip(parts, LENGTHS.values(), strict=bool(parts)))
    if not total:
        raise ConfigError(f"{text!r} is not a duration; write it like 90s, 20m, 2h or 1h30m")
    return total


def shown(length: float) -> str:
    """Seconds as a short text, in the unit that suits."""
    if length < 120:
        return f"{length:.0f} s"
    return f"{length / 60:.0f} min" if length < 5_400 else f"{length / 3_600:.1f} h"
