"""The work behind `trifact evaluate`: an evaluation as tables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from trifact.cli.facts import as_said, facts_of
from trifact.cli.screen import count, heading, keeping, print_json, screen, table, watching
from trifact.progress import Progress
from trifact.run.evaluation import Evaluation, measure
from trifact.run.protocol import EvaluateConfig
from trifact.run.run import Run

SHOWN = 5
HITS = 3  # as many as fit the screen beside MRR and MR
CANDIDATES = {
    "all": "all entities are candidates",
    "type-constrained": "TYPE-CONSTRAINED: candidates are those that train has with the predicate",
    "types": "TYPE-CONSTRAINED: candidates share a type with those that train has",
}


def run_evaluation(
    path: Path, config: EvaluateConfig, *, reading: dict[str, Any], as_json: bool
) -> None:
    """Evaluate, and show it."""
    run, said = Run(path), as_said(reading, of=config.graph, flag="--graph")
    with watching() as progress:
        other = facts_of(config.graph, said, progress) if config.graph else None
        found = measure(run, config, other=other, progress=progress)
    if not as_json:
        show(found)
    with keeping(found.path):
        found = found.kept()  # its record then names the file of ranks
    if as_json:
        print_json(found.metrics)


def evaluated(run: Run, config: EvaluateConfig, progress: Progress) -> Evaluation:
    """A new evaluation, kept with the run if it can be."""
    found = measure(run, config, progress=progress)
    with keeping(found.path):
        found.kept()
    return found


def show(found: Evaluation) -> None:
    """All tables, the most important first."""
    record, out = found.metrics, screen()
    about, facts, run = record["protocol"], record["facts"], record["run"]
    source = f" of {facts['source']}" if facts["source"] else ""
    ranked = (
        f"  {run['model']}, rank {run['rank']}, {run['setting']}, epoch {run['epoch']}: "
        f"{facts['split']}{source}, {count(facts['facts'], 'fact')}"
    )
    out.print(heading(record["graph"]["name"], ranked))
    out.print("; ".join(_notes(record)) + "\n", style="dim")
    for name, title in (("filtered", f"Filtered by {', '.join(about['filter'])}"), ("raw", "Raw")):
        if name in record:
            out.print(groups(record[name], about["k"], title=title), "")
    filtered = record["filtered"]
    ties = [filtered["overall"][kind]["mrr"] for kind in ("optimistic", "pessimistic")]
    if ties[0] != ties[1]:
        out.print(f"ties: MRR {ties[0]:.4f} optimistic, {ties[1]:.4f} pessimistic\n")
    out.print(_predicates(filtered["by_predicate"]))


def _notes(record: dict[str, Any]) -> list[str]:
    about, facts = record["protocol"], record["facts"]
    notes = [CANDIDATES[about["candidates"]]]
    if about["answers_that_are_no_candidates"]:
        lacking = count(about["answers_that_are_no_candidates"], "answer")
        notes.append(f"{lacking} outside them, ranked among them all the same")
    if facts["left_out"] and facts["left_out"]["facts"]:
        left = facts["left_out"]
        notes.append(
            f"{count(left['facts'], 'fact')} left out: the run does not know "
            f"{count(left['entities'], 'entity', 'entities')} "
            f"and {count(left['predicates'], 'predicate')}"
        )
    if facts["source"] and facts["in_train"]:
        notes.append(f"it was trained on {count(facts['in_train'], 'fact')} of them")
    if facts["unseen"]["facts"]:
        unseen = count(facts["unseen"]["facts"], "fact")
        notes.append(f"{unseen} with a name that train lacks")
    return notes


def groups(section: dict[str, Any], k: list[int], *, title: str) -> object:
    """Overall, sides, categories, seen and unseen facts, and the mean over predicates."""
    cuts, bounds = k[:HITS], "interval" in section["overall"]
    columns = ["queries", "MRR", *(["95 %"] if bounds else []), "MR", *(f"H@{cut}" for cut in cuts)]
    grid = table("", *columns, title=title)
    rows = {"overall": section["overall"]}
    rows |= {f"towards {side}s": row for side, row in section["by_side"].items()}
    rows |= section["by_category"]
    rows |= {name: section[name] for name in ("seen", "unseen") if name in section}
    for name, row in rows.items():
        low, high = row["interval"]["mrr"] if bounds else (0, 0)
        middle = [f"{low:.3f}-{high:.3f}"] if bounds else []
        grid.add_row(name, f"{row['queries']:,}", f"{row['mrr']:.4f}", *middle, *_rest(row, cuts))
    macro = section["macro"]
    blank = [""] if bounds else []
    grid.add_row("mean predicate", "", f"{macro['mrr']:.4f}", *blank, *_rest(macro, cuts))
    for cut in k[HITS:]:
        grid.add_row(f"Hits@{cut}", "", f"{section['overall'][f'hits@{cut}']:.4f}")
    return grid


def _rest(row: dict[str, Any], cuts: list[int]) -> list[str]:
    return [f"{row['mr']:,.1f}", *(f"{row[f'hits@{cut}']:.3f}" for cut in cuts)]


def _predicates(rows: list[dict[str, Any]]) -> object:
    """The best and the worst by MRR; all, if they are few."""
    best = sorted(rows, key=lambda row: -row["both"]["mrr"])
    few = len(best) <= 2 * SHOWN
    title = "Predicates" if few else f"The {SHOWN} best and worst of {len(best):,} predicates"
    grid = table("predicate", "kind", "facts", "MRR", "objects", "subjects", title=title)
    for place, row in enumerate(best if few else best[:SHOWN] + best[-SHOWN:]):
        if place == SHOWN and not few:
            grid.add_row("...")
        sides = (row[side]["mrr"] for side in ("both", "object", "subject"))
        grid.add_row(
            row["label"],
            row["category"] or "-",
            f"{row['object']['queries']:,}",
            *(f"{mrr:.3f}" for mrr in sides),
        )
    return grid
