"""`trifact train`: from a graph to a run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from trifact.cli.options import takes
from trifact.graph.options import LoadConfig
from trifact.run.options import TrainConfig


@takes(settings=TrainConfig, loading=LoadConfig)
def train(
    graph: Annotated[
        str,
        typer.Argument(
            metavar="GRAPH", help="A benchmark's name, a file or a folder; not with --resume."
        ),
    ] = "",
    *,
    out: Annotated[
        Path | None, typer.Option(help="Folder of the run; a new one in runs/ if not given.")
    ] = None,
    config: Annotated[
        Path | None, typer.Option(help="TOML file of settings; options override it.")
    ] = None,
    resume: Annotated[Path | None, typer.Option(help="Go on with the run in this folder.")] = None,
    tune: Annotated[
        str,
        typer.Option(help="First look for better settings for so long, such as 90s, 20m, 2h."),
    ] = "",
    refit: Annotated[
        bool,
        typer.Option("--refit", help="Then train on all facts, for as many epochs, to deploy it."),
    ] = False,
    settings: dict[str, Any],
    loading: dict[str, Any],
) -> None:
    """Train a model on a graph, and keep the best by validation."""
    from trifact.cli.training import Request, run_training

    run_training(
        Request(
            graph=graph,
            out=out,
            config=config,
            resume=resume,
            tune=tune,
            refit=refit,
            settings=settings,
            loading=loading,
        )
    )
