"""`trifact data`: what graphs there are, what is in one, and one format into another."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from trifact.cli.options import takes
from trifact.graph.options import LoadConfig

app = typer.Typer(no_args_is_help=True, help="Look at graphs and convert them.")

GraphArgument = Annotated[
    str, typer.Argument(metavar="GRAPH", help="A benchmark's name, a file or a folder.")
]


@app.command(name="list")
def list_graphs(
    name: Annotated[str, typer.Argument(help="One benchmark, to see all about it.")] = "",
) -> None:
    """List the graphs that are known by name, their sizes and where they are."""
    from trifact.cli.listing import show_benchmark, show_benchmarks

    show_benchmark(name) if name else show_benchmarks()


@app.command()
@takes(settings=LoadConfig)
def describe(
    graph: GraphArgument,
    *,
    plot: Annotated[
        Path | None, typer.Option(help="Also draw a picture: a .png, .svg or .pdf file.")
    ] = None,
    all_predicates: Annotated[
        bool, typer.Option("--all", help="List every predicate, not the 15 largest.")
    ] = False,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace a picture that is there.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print it as JSON instead.")] = False,
    settings: dict[str, Any],
) -> None:
    """Show what is in a graph and what is wrong with it: sizes, degrees, leakage."""
    from trifact.cli.describing import as_dict, draw, show
    from trifact.cli.screen import print_json, say, watching
    from trifact.durable import refuse_existing
    from trifact.graph.description import describe as look_at
    from trifact.graph.loading import load

    if plot is not None:
        refuse_existing(plot, overwrite=overwrite)
    with watching() as progress:
        loaded = load(graph, LoadConfig.from_values(settings), progress=progress)
        progress("describing it", 0, 0)
        found = look_at(loaded)
    say(*loaded.notes)
    if as_json:
        print_json(as_dict(loaded, found))
    else:
        show(loaded, found, all_predicates=all_predicates)
    if plot is not None:
        draw(loaded, found, plot)
        say(f"drawn to {plot}")


@app.command()
@takes(settings=LoadConfig)
def convert(
    source: GraphArgument,
    target: Annotated[
        Path, typer.Argument(help="A .tsv, .csv, .parquet or .nt file (.gz, .zst), or a folder.")
    ],
    *,
    to: Annotated[
        str,
        typer.Option(help="Format of a folder's files: tsv (default) | csv | parquet | ntriples."),
    ] = "",
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace what is there.")] = False,
    settings: dict[str, Any],
) -> None:
    """Write a graph in another format: all facts to one file, or its splits to a folder."""
    from trifact.cli.converting import convert_graph

    convert_graph(source, target, to=to, overwrite=overwrite, settings=settings)
