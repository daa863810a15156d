"""`trifact calibrate`: probabilities for the answers of a run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from trifact.answer.options import CalibrateConfig
from trifact.cli.evaluate import JsonOption, RunArgument
from trifact.cli.options import FACTS, takes
from trifact.errors import ConfigError


@takes(settings=CalibrateConfig, reading=FACTS)
def calibrate(
    run: RunArgument,
    *,
    negatives: Annotated[
        Path | None,
        typer.Option(help="File of false facts; else false are its best answers unknown to us."),
    ] = None,
    test_negatives: Annotated[
        Path | None, typer.Option(help="File of false facts; judges with them on the test facts.")
    ] = None,
    as_json: JsonOption = False,
    settings: dict[str, Any],
    reading: dict[str, Any],
) -> None:
    """Fit the probability that a fact is true to its score, on facts that were held out."""
    from trifact.cli.calibrating import run_calibration

    if negatives is not None and settings.keys() & {"k", "questions"}:
        raise ConfigError("k and questions are for answers of its own; leave out --negatives")
    config, false = CalibrateConfig.from_values(settings), (negatives, test_negatives)
    run_calibration(run, config, negatives=false, reading=reading, as_json=as_json)
