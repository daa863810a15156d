"""`trifact similar`: what is alike, by the factors of a run."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from trifact.answer.options import SimilarConfig
from trifact.cli.evaluate import RunArgument
from trifact.cli.options import takes
from trifact.cli.predict import ENTITY, FormatOption


@takes(settings=SimilarConfig)
def similar(
    run: RunArgument,
    name: Annotated[
        str,
        typer.Argument(metavar="NAME", help=ENTITY, show_default=False),
    ] = "",
    *,
    predicate: Annotated[
        bool, typer.Option("--predicate", help="The name is that of a predicate.")
    ] = False,
    relations: Annotated[
        bool,
        typer.Option(
            "--relations", help="Instead: how symmetric each predicate is, and its inverse."
        ),
    ] = False,
    form: FormatOption = "table",
    settings: dict[str, Any],
) -> None:
    """Find what is like an entity or a predicate; or which predicates are inverse or symmetric."""
    from trifact.cli.resembling import run_relations, run_similarity

    if relations:
        run_relations(run, name, predicate=predicate, settings=settings, form=form)
    else:
        run_similarity(run, name, predicate=predicate, settings=settings, form=form)
