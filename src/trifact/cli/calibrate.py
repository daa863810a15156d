"""`trifact calibrate`: probabilities for the answers of a run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from trifact.answer.options import CalibrateConfig
from trifact.cli.evaluate import JsonOption, RunArgument
from trifact.cli.options import takes


@takes(settings=CalibrateConfig)
def calibrate(
    run: RunArgument,
    *,
    test_negatives: Annotated[
        Path | None, typer.Option(help="File of false facts; judges with them on the test facts.")
    ] = None,
    as_json: JsonOption = False,
    settings: dict[str, Any],
) -> None:
    """Fit the probability that a fact is true to its score, on facts that were held out."""
    from trifact.cli.calibrating import run_calibration

    config = CalibrateConfig.from_values(settings)
    run_calibration(run, config, test_negatives=test_negatives, as_json=as_json)
