"""`trifact report`: one page about runs, or about a search."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def report(
    runs: Annotated[
        list[Path],
        typer.Argument(metavar="RUN [RUN...]", help="The folders of runs, or one of a search."),
    ],
    *,
    out: Annotated[
        Path | None, typer.Option(help="The page; report.html in the first folder if not given.")
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace what is there.")] = False,
    storage: Annotated[
        str, typer.Option(help="The URL of a search's storage, if it has a password.")
    ] = "",
) -> None:
    """Write one self-contained HTML page: curves, metrics, ranks, settings, machine.

    Of a search: its trials, what mattered, how the best went.
    """
    from trifact.cli.reporting import write_report

    write_report(runs, out, overwrite=overwrite, storage=storage)
