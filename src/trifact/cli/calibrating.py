"""The work behind `trifact calibrate`: what was fitted, and how far it can be trusted."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

from trifact.answer.calibration import fitted, judge, keep
from trifact.answer.options import CalibrateConfig
from trifact.cli.classifying import say_what_was_left_out
from trifact.cli.facts import as_said, facts_of
from trifact.cli.screen import heading, print_json, say, screen, table, watching
from trifact.errors import ConfigError, RunError
from trifact.run.reliability import FILE, read_kept, summary
from trifact.run.run import Run

SHOWN = 5
ENOUGH = 10  # facts of a predicate that is shown as one of the best or worst
WIDTH = 30  # characters of the longest bar


def run_calibration(
    path: Path,
    config: CalibrateConfig,
    *,
    negatives: tuple[Path | None, Path | None],
    reading: dict[str, Any],
    as_json: bool,
) -> None:
    """Calibrate, and show it; `negatives` are false facts to fit on, and to judge on test with."""
    if negatives[1] and not negatives[0]:
        raise ConfigError("--test-negatives judges what --negatives fitted; give both")
    run, judged = Run(path), None
    said = as_said(reading, of=any(negatives), flag="--negatives")
    with watching() as progress:
        false, of_test = (facts_of(f, said, progress) if f else None for f in negatives)
        before = _kept(run)
        found = fitted(run, config, negatives=false, progress=progress)
        if of_test is not None:
            judged = judge(run, found, config, negatives=of_test, progress=progress)
        keep(run, found)
    made = found.record["fitted"]
    if made["left_out"]:
        say_what_was_left_out(made["negatives"], made["left_out"])
    if of_test is not None and judged is not None:
        say_what_was_left_out(of_test.name, judged["left_out"])
    if as_json:
        shown = {**found.record, **({} if judged is None else {"test": judged})}
        print_json(shown)
    else:
        show(run, found.record, judged)
    replaced = before is not None and before["fitted"]["negatives"] != made["negatives"]
    instead = "; what was fitted on other facts is replaced" if replaced else ""
    say(f"kept in {run.path / FILE}{instead}")


def _kept(run: Run) -> dict[str, Any] | None:
    """The calibration until now; one that is damaged is none."""
    with suppress(RunError):
        return read_kept(run)
    return None


def show(run: Run, record: dict[str, Any], judged: dict[str, Any] | None) -> None:
    """The maps, the measures, said against true, and the predicates at both ends."""
    out = screen()
    out.print(heading(run.graph().name, f"  {run.config.model}, rank {run.config.rank}"))
    out.print(summary(record) + "\n", style="dim")
    out.print(f"prior {record['prior']:.4f}; {_evidence(record)}\n")
    out.print(_measures(record, judged), "")
    out.print(_said_and_true(record["reliability"]["bins"]), "")
    out.print(_predicates(record["by_predicate"]))
    if without := record["predicates"] - len(record["by_predicate"]):
        had = "1 predicate has" if without == 1 else f"{without:,} predicates have"
        out.print(f"\n{had} no fact to fit a map on; there the one of all is taken", style="dim")
    out.print(f"\n{_of_pairs(record['chances'])}", style="dim")


def _of_pairs(chances: dict[str, Any] | None) -> str:
    """What discovery goes by, in a sentence."""
    if chances is None:
        return "Pairs: too few validation facts among them; discover goes by scores."
    error = chances["reliability"]["ece"]
    return f"Pairs, for discover: {_evidence(chances)}; expected calibration error {error:.4f}."


def _evidence(chances: dict[str, Any]) -> str:
    """What speaks for a fact, in a formula."""
    score, subject, object_ = chances["weights"].values()
    return (
        f"evidence = {score:.2f} * score {subject:+.2f} * log(1 + answers of the subject) "
        f"{object_:+.2f} * log(1 + those of the object), then a map for each predicate"
    )


def _measures(record: dict[str, Any], judged: dict[str, Any] | None) -> object:
    grid = table("", "facts", "true", "ECE", "by mass", "Brier", "log-loss")
    rows = {
        "a map for each predicate": record["reliability"],
        "one map for all": record["reliability_of_whole"],
    }
    rows |= {} if judged is None else {"test facts, by predicate": judged}
    for name, row in rows.items():
        measures = (f"{row[key]:.4f}" for key in ("ece", "ece_by_mass", "brier", "log_loss"))
        grid.add_row(name, f"{row['weight']:,.0f}", f"{row['share_true']:.1%}", *measures)
    return grid


def _said_and_true(bins: list[dict[str, Any]]) -> object:
    """Ten lines: what was said, how often, and how much of it is true, as a bar."""
    grid = table("probability", "facts", "said", "true", "", title="Cross-validated")
    grid.justify[-1] = "left"
    for row in bins:
        shares = [f"{row[key]:.3f}" if row["weight"] else "-" for key in ("said", "true")]
        name = f"{row['low']:.1f} to {row['high']:.1f}"
        bar = "█" * round(WIDTH * (row["true"] or 0.0))
        grid.add_row(name, f"{row['weight']:,.0f}", *shares, bar)
    return grid


def _predicates(rows: list[dict[str, Any]]) -> object:
    """Those whose probabilities are nearest to the truth and farthest from it; all, if few."""
    best = sorted(rows, key=lambda row: row["brier"])
    few = len(best) <= 2 * SHOWN
    title = "Predicates"
    if not few:
        best = [row for row in best if row["true"] + row["false"] >= ENOUGH]
        few = len(best) <= 2 * SHOWN
        title = f"The surest and the least sure of {len(rows):,} predicates"
    grid = table("predicate", "true", "false", "said", "is true", "Brier", title=title)
    for place, row in enumerate(best if few else best[:SHOWN] + best[-SHOWN:]):
        if place == SHOWN and not few:
            grid.add_row("...")
        share = row["true"] / (row["true"] + row["false"])
        measures = (f"{value:.3f}" for value in (row["said"], share, row["brier"]))
        counts = f"{row['true']:,.0f}", f"{row['false']:,.0f}"
        grid.add_row(row["label"], *counts, *measures)
    return grid
