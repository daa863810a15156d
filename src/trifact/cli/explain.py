"""`trifact explain`: why a run says so."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import typer

from trifact.answer.options import ExplainConfig
from trifact.cli.evaluate import RunArgument
from trifact.cli.options import takes
from trifact.cli.predict import ENTITY, PREDICATE


@takes(settings=ExplainConfig)
def explain(
    run: RunArgument,
    subject: Annotated[str, typer.Argument(metavar="SUBJECT", help=ENTITY)],
    predicate: Annotated[str, typer.Argument(metavar="PREDICATE", help=PREDICATE)],
    object_: Annotated[str, typer.Argument(metavar="OBJECT", help=ENTITY)],
    *,
    form: Annotated[
        Literal["table", "json"], typer.Option("--format", help="How to print it.")
    ] = "table",
    settings: dict[str, Any],
) -> None:
    """Show what a fact's probability rests on: facts without which it drops, and similar ones."""
    from trifact.cli.explaining import run_explanation

    run_explanation(run, (subject, predicate, object_), settings=settings, form=form)
