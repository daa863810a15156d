"""The work behind `trifact report`."""

from __future__ import annotations

from pathlib import Path

from trifact.cli.screen import say, watching
from trifact.durable import write_text
from trifact.progress import Progress
from trifact.run.evaluation import evaluate, is_current, read_evaluation
from trifact.run.protocol import EvaluateConfig
from trifact.run.report import Subject, page
from trifact.run.run import Run


def write_report(paths: list[Path], out: Path | None) -> None:
    """One page about all runs; each is evaluated on its test facts first, if it was not."""
    target = out or paths[0] / "report.html"
    with watching() as progress:
        subjects = [_subject(Run(path), progress) for path in paths]
    write_text(target, page(subjects))
    say(f"written to {target}")


def _subject(run: Run, progress: Progress) -> Subject:
    graph = run.graph()
    if not len(graph.test):
        return Subject(run, graph, None)
    kept = run.evaluations.get("test")
    if kept is not None and is_current(run, kept):
        return Subject(run, graph, read_evaluation(run, "test"))
    return Subject(run, graph, evaluate(run, EvaluateConfig(), progress=progress))
