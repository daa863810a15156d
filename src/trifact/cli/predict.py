"""`trifact predict` and `score`: what a run answers, and what it thinks of given facts."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from trifact.answer.options import PredictConfig
from trifact.cli.evaluate import MemoryOption, RunArgument
from trifact.cli.options import FACTS, takes
from trifact.errors import ConfigError

ENTITY = "An entity: name, label or end of an IRI."
PREDICATE = "A predicate: name, label or end of an IRI."
FormatOption = Annotated[
    Literal["table", "tsv", "json"], typer.Option("--format", help="How to print the answers.")
]

WithOption = Annotated[
    Path | None, typer.Option("--with", help="File of facts about entities that are new.")
]


@takes(settings=PredictConfig, reading=FACTS)
def predict(
    run: RunArgument,
    name: Annotated[str, typer.Argument(metavar="SUBJECT", help=ENTITY)],
    other: Annotated[str, typer.Argument(metavar="PREDICATE", help=PREDICATE)],
    *,
    is_object: Annotated[
        bool, typer.Option("--object", help="SUBJECT is the object: ask for subjects.")
    ] = False,
    predicate: Annotated[
        bool, typer.Option("--predicate", help="SUBJECT and OBJECT are given: ask for predicates.")
    ] = False,
    candidates: Annotated[
        Path | None, typer.Option(help="File of the entities to choose from, one a line.")
    ] = None,
    with_facts: WithOption = None,
    form: FormatOption = "table",
    settings: dict[str, Any],
    reading: dict[str, Any],
) -> None:
    """Ask a run: the objects of a subject and a predicate, best first."""
    from trifact.cli.predicting import Question, run_prediction

    if predicate and is_object:
        raise ConfigError("--object asks for subjects, --predicate for predicates; give one")
    wanted = "predicate" if predicate else "subject" if is_object else "object"
    question = Question(name, other, wanted, candidates, settings)
    run_prediction(run, question, with_facts=with_facts, reading=reading, form=form)


@takes(reading=FACTS)
def score(
    run: RunArgument,
    facts: Annotated[Path, typer.Argument(metavar="FACTS", help="File of facts, any format.")],
    *,
    with_facts: WithOption = None,
    out: Annotated[
        Path | None, typer.Option(help="Write all of them to this .tsv, .csv, .json or .parquet.")
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace what is there.")] = False,
    budget_mb: MemoryOption = 64,
    form: FormatOption = "table",
    reading: dict[str, Any],
) -> None:
    """Score the facts of a file, one for each line: how probable it is, and whether it is known."""
    from trifact.cli.predicting import Output, run_scoring

    output, config = Output(out, form, overwrite=overwrite), PredictConfig(budget_mb=budget_mb)
    run_scoring(run, facts, output, config, with_facts=with_facts, reading=reading)
