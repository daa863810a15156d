"""`trifact reproduce`: the tables, figures and claims of the paper, measured again."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

PARTS = "table1 | table2 | table3 | figure-batch | wilcoxon | symmetry | appendix | claims | beyond"


def reproduce(
    what: Annotated[str, typer.Argument(metavar="WHAT", help=PARTS)],
    *,
    datasets: Annotated[str, typer.Option(help="Only these graphs, between commas.")] = "",
    rows: Annotated[
        str, typer.Option(help="Only these rows, such as complex-n3-reciprocal, between commas.")
    ] = "",
    size: Annotated[
        str,
        typer.Option(help="small (400 reals in a row; the default) | large | paper, or several."),
    ] = "",
    seeds: Annotated[
        int | None,
        typer.Option(help="How many seeds; default one, and three for beyond.", min=1, max=99),
    ] = None,
    runs: Annotated[Path, typer.Option(help="Folder of the runs.")] = Path("runs/paper"),
    results: Annotated[Path, typer.Option(help="Folder of the records.")] = Path("results/paper"),
    recipes: Annotated[
        Path | None, typer.Option(help="Folder of recipes to take instead of the package's.")
    ] = None,
    time: Annotated[
        str, typer.Option(help="Stop after so long, everything saved: 90m, 2h, 1h30m.")
    ] = "",
    show: Annotated[
        bool, typer.Option("--show", help="Run nothing; only show what the records say.")
    ] = False,
) -> None:
    """Reproduce a part of the paper: run what is missing, and show its numbers beside ours.

    Runs that were cut off go on, what is done is skipped. Ctrl-C leaves everything as it is.
    """
    from trifact.cli.reproducing import Request, run_reproduction

    asked = Request(
        what=what,
        datasets=datasets,
        rows=rows,
        sizes=size,
        seeds=seeds or 0,
        runs=runs,
        results=results,
        recipes=recipes,
        time=time,
    )
    run_reproduction(asked, only_show=show)
