"""The work behind `trifact compare`: runs on the same queries, as tables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from trifact.cli.evaluating import evaluated
from trifact.cli.screen import heading, print_json, say, screen, table, watching
from trifact.errors import ConfigError, RunError
from trifact.progress import Progress
from trifact.run.comparison import Contestant, compare
from trifact.run.evaluation import Evaluation, is_current, read_evaluation
from trifact.run.folder import told_apart
from trifact.run.protocol import SPLITS, EvaluateConfig
from trifact.run.run import Run

SHOWN = 5
TESTS = {
    "ranks_by_query": "rank pairs of queries",
    "mrr_by_fact": "mean reciprocal rank of facts",
}


def run_comparison(
    paths: list[Path], *, label: str, bootstrap: int, seed: int, as_json: bool
) -> None:
    """Compare every run with the first."""
    if len(paths) < 2:
        raise ConfigError("give two runs or more to compare")
    with watching() as progress:
        named = zip(told_apart(paths), paths, strict=True)
        found = [_contestant(name, Run(path), label, progress) for name, path in named]
        progress("comparing", 0, 0)
        results = [compare(found[0], c, resamples=bootstrap, seed=seed) for c in found[1:]]
    if as_json:
        print_json(results)
        return
    for result in results:
        show(result)


def _contestant(name: str, run: Run, label: str, progress: Progress) -> Contestant:
    graph = run.graph()
    if label in SPLITS and not len(graph.splits[label]):
        raise RunError(f"{run.path}: its split {label} is empty; choose another --label")
    return Contestant(name, graph, _evaluation(run, label, progress))


def _evaluation(run: Run, label: str, progress: Progress) -> Evaluation:
    """The evaluation that was kept, or a new one where there is none of the present factors."""
    kept = run.evaluations.get(label)
    current = kept is not None and is_current(run, kept)
    if not current and label in SPLITS:
        say(f"{run.path}: evaluating {label}")
        return evaluated(run, EvaluateConfig(split=label), progress)
    if kept is not None and not current:
        raise RunError(f"{run.path}: its evaluation {label} is of older factors; evaluate again")
    return read_evaluation(run, label)


def show(result: dict[str, Any]) -> None:
    """Two runs: the metrics, the tests, and where the difference comes from."""
    out, (first, second) = screen(), result["runs"]
    overall, graph = result["overall"], result["graph"]["name"]
    out.print(heading(graph, f", {result['label']}, {overall['queries']:,} queries"))
    out.print(f"a  {first}\nb  {second}\n", style="dim")
    out.print(_metrics(overall), "")
    out.print(_tests(result["wilcoxon"]), "")
    out.print(_groups(result), "")
    out.print(_predicates(result["by_predicate"]))


def _metrics(overall: dict[str, Any]) -> object:
    grid = table("", "a", "b", "b - a", "95 % interval", title="Metrics")
    for name, row in overall.items():
        if name != "queries":
            digits = 1 if name == "mr" else 4
            low, high = row["interval"]
            grid.add_row(
                name.upper() if name.startswith("m") else name.title(),
                f"{row['first']:,.{digits}f}",
                f"{row['first'] + row['difference']:,.{digits}f}",
                f"{row['difference']:+,.{digits}f}",
                f"{low:+,.{digits}f} to {high:+,.{digits}f}",
            )
    return grid


def _tests(found: dict[str, Any]) -> object:
    title = f"Wilcoxon signed-rank, two-sided, zeros as by {found['zeros'].title()}"
    grid = table("pairs", "b better", "a better", "equal", "p", title=title)
    for name, shown in TESTS.items():
        row = found[name]
        counts = (f"{row[key]:,}" for key in ("better", "worse", "equal"))
        grid.add_row(shown, *counts, f"{row['p']:.2g}")
    return grid


def _groups(result: dict[str, Any]) -> object:
    title = "MRR by side and category"
    grid = table("", "queries", "a", "b - a", "95 % interval", "adds", title=title)
    rows = {f"towards {side}s": row for side, row in result["by_side"].items()}
    rows |= result["by_category"]
    rows |= {name: result[name] for name in ("seen", "unseen") if name in result}
    for name, row in rows.items():
        mrr, (low, high) = row["mrr"], row["mrr"]["interval"]
        grid.add_row(
            name,
            f"{row['queries']:,}",
            f"{mrr['first']:.4f}",
            f"{mrr['difference']:+.4f}",
            f"{low:+.4f} to {high:+.4f}",
            f"{row['adds']:+.4f}" if "adds" in row else "",
        )
    return grid


def _predicates(rows: list[dict[str, Any]]) -> object:
    """What adds most and takes most, in the order of what they add."""
    few = len(rows) <= 2 * SHOWN
    title = "Predicates, by what they add to the difference"
    grid = table("predicate", "queries", "MRR a", "b - a", "adds", title=title)
    for place, row in enumerate(rows if few else rows[:SHOWN] + rows[-SHOWN:]):
        if place == SHOWN and not few:
            grid.add_row("...")
        grid.add_row(
            row["label"],
            f"{row['queries']:,}",
            f"{row['first']:.3f}",
            f"{row['difference']:+.3f}",
            f"{row['adds']:+.4f}",
        )
    return grid
