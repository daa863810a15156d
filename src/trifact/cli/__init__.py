"""The command line: thin commands, and the door where errors become one sentence."""

from __future__ import annotations

import io
import os
import signal
import sys

import typer

import trifact
from trifact.cli import data
from trifact.cli.calibrate import calibrate
from trifact.cli.discover import discover
from trifact.cli.evaluate import classify, compare, evaluate
from trifact.cli.explain import explain
from trifact.cli.export import export
from trifact.cli.predict import predict, score
from trifact.cli.report import report
from trifact.cli.reproduce import reproduce
from trifact.cli.search import search
from trifact.cli.similar import similar
from trifact.cli.train import train
from trifact.errors import TrifactError, memory_ran_out
from trifact.wording import typed

app = typer.Typer(
    name="trifact",
    help="Complete a knowledge base: from a file of facts to the facts that are missing.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for command in (
    train,
    predict,
    score,
    discover,
    explain,
    similar,
    calibrate,
    evaluate,
    compare,
    classify,
    report,
    export,
    search,
    reproduce,
):
    app.command()(command)
app.add_typer(data.app, name="data")


SPINS = "2000"
NO_MEMORY = "the memory of this machine does not suffice; lower --rank or the memory options"


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"trifact {trifact.__version__}")
        raise typer.Exit


@app.callback()
def trifact_command(
    context: typer.Context,
    *,
    version: bool = typer.Option(
        False, "--version", help="Show the version.", callback=_version, is_eager=True
    ),
) -> None:
    """Complete a knowledge base: from a file of facts to the facts that are missing."""
    context.with_resource(typed())


def main() -> None:
    """Run the command; what a user or a machine did wrong is one sentence, not a traceback."""
    _wait_briefly()
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))  # tidy up first
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        app()
    except TrifactError as error:
        _stop(str(error), error.exit_code)
    except SystemExit as end:
        if end.code == 130:  # typer's own end of a Ctrl-C, which says nothing
            typer.echo("trifact: interrupted", err=True)
        raise
    except BrokenPipeError:
        sys.stderr.close()  # whoever read us has gone: there is nobody to tell
        sys.exit(141)
    except (MemoryError, RuntimeError) as error:
        if not memory_ran_out(error):
            raise
        _stop(NO_MEMORY, 1)
    except OSError as error:
        _stop(f"{error.filename or 'the system'}: {error.strerror or error}", 1)


def _wait_briefly() -> None:
    """Threads of torch (by GNU OpenMP) that wait for one another soon leave the processor.

    They would spin for milliseconds. On a processor with other work the one that is waited for
    may be the one that is kept out, and an epoch of seconds takes a minute.
    """
    if not {"GOMP_SPINCOUNT", "OMP_WAIT_POLICY"} & os.environ.keys():
        os.environ["GOMP_SPINCOUNT"] = SPINS  # read when torch is imported, which is later


def _stop(sentence: str, code: int) -> None:
    from trifact.graph.sources import one_line

    typer.echo(f"trifact: {one_line(sentence)}", err=True)
    sys.exit(code)
