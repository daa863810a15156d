"""`trifact discover`: the most probable facts that a graph lacks."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from trifact.answer.options import DiscoverConfig
from trifact.cli.evaluate import RunArgument
from trifact.cli.options import takes


@takes(settings=DiscoverConfig)
def discover(
    run: RunArgument,
    *,
    out: Annotated[
        Path | None,
        typer.Option(help="Write all of them to this .parquet, .tsv, .csv, .json or .nt."),
    ] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace what is there, or begin anew.")
    ] = False,
    settings: dict[str, Any],
) -> None:
    """Find the most probable missing facts of the whole graph.

    With --out it can be stopped, even killed: the same command goes on where it was.
    """
    from trifact.cli.discovering import run_discovery

    run_discovery(run, DiscoverConfig.from_values(settings), out=out, overwrite=overwrite)
