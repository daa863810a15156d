"""What people decided case by case; `curated.toml` has the lists and the reasons."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

_LISTS: Mapping[str, Any] = tomllib.loads(
    Path(__file__).with_name("curated.toml").read_text(encoding="utf-8")
)

RENAMED_CITIES: Mapping[str, Mapping[str, str]] = _LISTS["renamed_cities"]
RENAMED_CAPITALS: Mapping[str, str] = _LISTS["renamed_capitals"]
EXCLUDED_CITIES: Mapping[str, Sequence[str]] = _LISTS["excluded_cities"]
EXCLUDED_BORDERS: Sequence[Sequence[str]] = _LISTS["excluded_borders"]
