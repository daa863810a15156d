"""`trifact evaluate`, `compare` and `classify`: how good a run is, and against another."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from trifact.cli.options import FACTS, takes
from trifact.run.protocol import FEWEST_RESAMPLES, EvaluateConfig

RunArgument = Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a run.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print it as JSON instead.")]
MemoryOption = Annotated[int, typer.Option(help="Memory for scores, in MB.", min=1)]


@takes(settings=EvaluateConfig, reading=FACTS)
def evaluate(
    run: RunArgument,
    *,
    as_json: JsonOption = False,
    settings: dict[str, Any],
    reading: dict[str, Any],
) -> None:
    """Rank the facts that were held out, on both sides, and show what the ranks come to."""
    from trifact.cli.evaluating import run_evaluation

    config = EvaluateConfig.from_values(settings)
    run_evaluation(run, config, reading=reading, as_json=as_json)


def compare(
    runs: Annotated[
        list[Path], typer.Argument(metavar="RUN RUN [RUN...]", help="Two runs or more.")
    ],
    *,
    label: Annotated[
        str, typer.Option(help="Which evaluation; train, valid and test are made if missing.")
    ] = "test",
    bootstrap: Annotated[
        int, typer.Option(help="Resamples of the 95 % intervals.", min=FEWEST_RESAMPLES)
    ] = 1000,
    seed: Annotated[int, typer.Option(help="Seed of the resamples.", min=0)] = 0,
    as_json: JsonOption = False,
) -> None:
    """Compare runs on the same queries: differences, significance, and where they come from."""
    from trifact.cli.comparing import run_comparison

    run_comparison(runs, label=label, bootstrap=bootstrap, seed=seed, as_json=as_json)


@takes(reading=FACTS)
def classify(
    run: RunArgument,
    valid_negatives: Annotated[
        Path, typer.Argument(help="File of false facts to choose thresholds with.")
    ],
    test_negatives: Annotated[Path, typer.Argument(help="File of false facts to judge with.")],
    *,
    budget_mb: MemoryOption = 256,
    as_json: JsonOption = False,
    reading: dict[str, Any],
) -> None:
    """Tell true facts from false ones by a threshold for each predicate: accuracy and F1."""
    from trifact.cli.classifying import run_classification

    negatives = {"valid": valid_negatives, "test": test_negatives}
    run_classification(run, negatives, reading=reading, budget_mb=budget_mb, as_json=as_json)
