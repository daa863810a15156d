"""Settings are checked when made, and TOML keeps them."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trifact.config import Config, doc, option
from trifact.errors import ConfigError
from trifact.graph.options import LoadConfig


@dataclass(frozen=True)
class Sample(Config):
    kind: str = option("a", "which one", choices=("a", "b"))
    count: int = option(1, "how many", low=0, high=10)
    rate: float = option(0.5, "how fast", low=0)
    names: tuple[str, ...] = option((), "what they are called")
    limit: int | None = option(None, "at most so many", low=1)
    loud: bool = option(False, "whether it is heard")
    text: str = option("", "anything")


def test_numbers_of_numpy_and_paths_are_taken() -> None:
    made = Sample(count=np.int64(2), rate=np.float32(0.25), text=Path("a") / "b")  # type: ignore[arg-type]
    assert made == Sample(count=2, rate=0.25, text=str(Path("a/b")))
    with pytest.raises(ConfigError, match=r"count must be int, not 2\.0"):
        Sample(count=np.float64(2))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        ({"kind": "c"}, "kind must be one of a, b, not 'c'"),
        ({"count": -1}, "count must be at least 0, not -1"),
        ({"count": 11}, "count must be at most 10, not 11"),
        ({"count": True}, "count must be int, not True"),
        ({"count": "1"}, "count must be int, not '1'"),
        ({"rate": float("nan")}, "rate must be a finite number, not nan"),
        ({"names": "abc"}, "names must be"),
        ({"names": [1]}, "names must be"),
        ({"limit": 0}, "limit must be at least 1, not 0"),
        ({"loud": 1}, "loud must be bool, not 1"),
        ({"cuont": 1}, "there is no setting 'cuont'; did you mean count?"),
        ({"zzz": 1}, "there is no setting 'zzz'; known: kind, count"),
    ],
)
def test_a_wrong_value_is_refused_in_one_sentence(values: dict[str, object], problem: str) -> None:
    with pytest.raises(ConfigError, match=f"^{problem}".replace("?", r"\?")):
        Sample.from_values(values)


def test_whole_numbers_are_fine_where_fractions_are_and_lists_where_tuples_are() -> None:
    made = Sample.from_values({"rate": 2, "names": ["x"]})
    assert (made.rate, made.names) == (2.0, ("x",))
    made = Sample.from_values({"kind": np.str_("a"), "loud": np.True_, "names": [np.str_("x")]})
    assert (made.kind, made.loud, made.names) == ("a", True, ("x",))
    with pytest.raises(ConfigError, match=r"^names must be str, not 5$"):
        Sample.from_values({"names": ["x", 5]})


def test_settings_cannot_be_changed_but_replaced() -> None:
    made = Sample()
    with pytest.raises(dataclasses.FrozenInstanceError):
        made.count = 2  # type: ignore[misc]
    assert made.replace(count=2) == Sample(count=2)


@given(
    st.builds(
        Sample,
        kind=st.sampled_from(["a", "b"]),
        count=st.integers(0, 10),
        rate=st.floats(0, 1e300),
        names=st.lists(st.text(st.characters(codec="utf-8"))).map(tuple),
        limit=st.none() | st.integers(1, 2**60),
        loud=st.booleans(),
        text=st.text(st.characters(codec="utf-8")),
    )
)
def test_toml_keeps_every_setting(made: Sample) -> None:
    assert Sample.from_toml(made.to_toml()) == made


def test_text_that_is_not_toml_is_refused() -> None:
    with pytest.raises(ConfigError, match="this is not TOML"):
        Sample.from_toml("a = = 1")


@pytest.mark.parametrize("config", [LoadConfig])
def test_every_field_has_a_doc_line(config: type[Config]) -> None:
    for field in dataclasses.fields(config):
        line = doc(config, field.name)
        assert 10 < len(line) < 120
        assert "\n" not in line
