"""`trifact report`: one page about runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def report(
    runs: Annotated[
        list[Path], typer.Argument(metavar="RUN [RUN...]", help="The folders of runs.")
    ],
    *,
    out: Annotated[
        Path | None, typer.Option(help="The page; report.html of the first run if not given.")
    ] = None,
) -> None:
    """Write one self-contained HTML page: curves, metrics, ranks, settings, machine."""
    from trifact.cli.reporting import write_report

    write_report(runs, out)
