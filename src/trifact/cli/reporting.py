"""The work behind `trifact report`."""

from __future__ import annotations

from pathlib import Path

from trifact.cli.evaluating import evaluated
from trifact.cli.screen import say, watching
from trifact.durable import refuse_existing, write_text
from trifact.errors import ConfigError, OutputError, RunError
from trifact.progress import Progress
from trifact.run.evaluation import is_current, read_evaluation
from trifact.run.folder import CONFIG, told_apart
from trifact.run.protocol import EvaluateConfig
from trifact.run.report import Subject, page
from trifact.run.run import Run
from trifact.trials.folder import RECORD, REPORT, is_search


def write_report(
    paths: list[Path], out: Path | None, *, overwrite: bool = False, storage: str = ""
) -> None:
    """One page about all runs, or about one search, whose storage may have to be said."""
    if out is not None:
        refuse_existing(out, overwrite=overwrite)
    searches = [path for path in paths if is_search(path)]
    if searches and len(paths) > 1:
        raise ConfigError(f"{searches[0]}: this is a search; its page is about nothing else")
    if storage and not searches:
        raise ConfigError("--storage is for the page of a search; leave it out")
    page_of_all = _of_search(searches[0], storage) if searches else _of_runs(paths)
    target = out or paths[0] / REPORT
    try:
        write_text(target, page_of_all)
    except OutputError as error:
        hint = "" if out else "; give another place: --out FILE"
        raise OutputError(f"{error}{hint}") from None
    say(f"written to {target}")


def _of_search(path: Path, storage: str) -> str:
    """Its trials as they are now, be it done or under way."""
    from trifact.trials.search import look_into  # Optuna, for this alone

    search = look_into(path, storage=storage)
    return search.page(search.trials())


def _of_runs(paths: list[Path]) -> str:
    """Each is evaluated on its test facts first, if it was not."""
    for path in paths:
        if not (path / CONFIG).is_file():
            raise RunError(
                f"{path}: this is neither a run (no {CONFIG}) nor a search (no {RECORD})"
            )
    with watching() as progress:
        named = zip(told_apart(paths), paths, strict=True)
        return page([_subject(name, Run(path), progress) for name, path in named])


def _subject(name: str, run: Run, progress: Progress) -> Subject:
    graph = run.graph()
    if not len(graph.test):
        return Subject(name, run, graph, None)
    kept = run.evaluations.get("test")
    if kept is not None and is_current(run, kept):
        return Subject(name, run, graph, read_evaluation(run, "test"))
    return Subject(name, run, graph, evaluated(run, EvaluateConfig(), progress))
