"""`trifact export`: the factors of a run for other programs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from trifact.cli.evaluate import RunArgument


def export(
    run: RunArgument,
    *,
    to: Annotated[
        Path, typer.Option(help="A .npz or .safetensors file; a folder for the other formats.")
    ],
    form: Annotated[
        Literal["numpy", "safetensors", "parquet", "word2vec", "projector"],
        typer.Option("--format", help="What to write; projector is that of TensorBoard."),
    ],
    checkpoint: Annotated[
        Literal["best", "last"], typer.Option(help="Which factors of the run.")
    ] = "best",
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace what is there.")] = False,
) -> None:
    """Write the factors of a run, with names and labels, in a format of other programs."""
    from trifact.answer.export import export as write
    from trifact.cli.screen import say, watching
    from trifact.run.run import Run

    with watching() as progress:
        progress(f"writing {to.name}", 0, 0)
        files = write(Run(run), to, form=form, checkpoint=checkpoint, overwrite=overwrite)
    say(*(f"written: {file}" for file in files))
