"""The work behind `trifact export`."""

from __future__ import annotations

from pathlib import Path

from trifact.answer.export import export
from trifact.cli.screen import say, watching
from trifact.run.run import Run


def run_export(path: Path, to: Path, *, form: str, checkpoint: str, overwrite: bool) -> None:
    """Write the files, and say which."""
    with watching() as progress:
        progress(f"writing {to.name}", 0, 0)
        files = export(Run(path), to, form=form, checkpoint=checkpoint, overwrite=overwrite)
    say(*(f"written: {file}" for file in files))
