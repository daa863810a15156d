"""Durations are read as people write them, and shown as they say them."""

from __future__ import annotations

import pytest

from trifact.errors import ConfigError
from trifact.run.durations import seconds, shown


@pytest.mark.parametrize(
    ("text", "length"),
    [("90s", 90), ("20m", 1200), ("2h", 7200), ("1h30m", 5400), ("0.5 h", 1800), ("1d", 86400)],
)
def test_durations_are_read_as_people_write_them(text: str, length: float) -> None:
    assert seconds(text) == length


@pytest.mark.parametrize("text", ["", "20", "m", "-5m", "0s", "30m1h", "2 weeks", "inf", "1e9s"])
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="is not a duration; write it like 90s"):
        seconds(text)


def test_durations_are_shown_in_the_unit_that_suits() -> None:
    assert [shown(length) for length in (5.4, 119, 120, 5399, 5400)] == [
        "5 s",
        "119 s",
        "2 min",
        "90 min",
        "1.5 h",
    ]
