"""`trifact search`: the best settings for a graph, by trying many."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from trifact.cli.options import takes
from trifact.graph.options import LoadConfig
from trifact.run.options import TrainConfig
from trifact.trials.options import SearchConfig


@takes(search=SearchConfig, settings=TrainConfig, loading=LoadConfig)
def search(
    space: Annotated[
        str,
        typer.Argument(
            metavar="SPACE",
            help="TOML file of settings with lists and ranges, or the name of a shipped one "
            "(paper-complex-n3, ...); not with --resume.",
        ),
    ] = "",
    *,
    graph: Annotated[str, typer.Option(help="A benchmark's name, a file or a folder.")] = "",
    out: Annotated[
        Path | None, typer.Option(help="Folder of the search; a new one in runs/ if not given.")
    ] = None,
    resume: Annotated[
        Path | None, typer.Option(help="Go on with the search in this folder.")
    ] = None,
    search: dict[str, Any],
    settings: dict[str, Any],
    loading: dict[str, Any],
) -> None:
    """Train over a space of settings, prune what is hopeless, and show what was best.

    Options of training fix what the space leaves open or lists.
    """
    from trifact.cli.searching import Request, run_search

    run_search(
        Request(
            space=space,
            graph=graph,
            out=out,
            resume=resume,
            search=search,
            settings=settings,
            loading=loading,
        )
    )
