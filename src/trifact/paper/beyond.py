"""What came after the paper, beside its own N3: a table, a pure function of the records."""

from __future__ import annotations

from collections.abc import Iterable

from trifact.paper.claims import p_of
from trifact.paper.contests import CONTESTS, name_of
from trifact.paper.tables import NO_DATA, NONE, NOT_RUN, Findings, Sheet, number, percent

LABELS = {"relations": "N3 + predicates", "dura": "DURA"}


def beyond(findings: Findings, datasets: Iterable[str], sizes: Iterable[str]) -> Sheet:
    """What a loss of predicates and DURA add over N3, by seed and over all seeds."""
    rows, mixed, sizes = list[tuple[str, ...]](), list[str](), [*sizes]
    for dataset, size in ((dataset, size) for dataset in datasets for size in sizes):
        rows += [(f"{dataset}, {size}",)]
        rows += [("N3", _mrr(findings, dataset, f"{dataset}-complex-n3-reciprocal-{size}"))]
        rows += [_added(findings, contest, dataset, size) for contest in LABELS]
        mixed += [note for contest in LABELS if (note := _mixed(findings, contest, dataset, size))]
    header = ("", "MRR", "added, by seed", "mean", "95 % interval", "p", "better")
    notes = [
        "Added: test MRR over that of N3 with the same seed, on the same queries; the interval is "
        "over facts. p is that of the signed-rank test by fact, whose gain is its mean over the "
        "seeds; better: of the facts whose gain is not zero, those that gain.",
        *mixed,
    ]
    title = "Beyond the paper: ComplEx with a loss of predicates, and with DURA"
    return Sheet(title, header, rows, notes)


def _added(findings: Findings, contest: str, dataset: str, size: str) -> tuple[str, ...]:
    mrr = _mrr(findings, dataset, f"{dataset}-{CONTESTS[contest].second}-{size}")
    found = findings.records.get(name_of(contest, size, dataset))
    if found is None:
        trained = mrr not in (NOT_RUN, NO_DATA, NONE)
        return LABELS[contest], mrr, *([NOT_RUN] if trained else [])
    pool = found["pooled"]
    test = pool["mrr_by_fact"]
    seeds = " ".join(number(difference) for difference in pool["differences"])
    interval = " to ".join(number(bound) for bound in pool["interval"])
    moved = test["better"] + test["worse"]
    better = percent(test["better"] / moved, 0) if moved else NONE
    return LABELS[contest], mrr, seeds, number(pool["difference"]), interval, p_of(test), better


def _mixed(findings: Findings, contest: str, dataset: str, size: str) -> str:
    """What to say where not all were trained with the same products."""
    types = findings.records.get(name_of(contest, size, dataset), {}).get("precisions", [])
    both = f"{dataset}, {size}, {LABELS[contest]}: trained in {' and '.join(types)}"
    return both if len(types) > 1 else ""


def _mrr(findings: Findings, dataset: str, name: str) -> str:
    record = findings.records.get(name)
    return number(record["metrics"]["test"]["mrr"]) if record else findings.lack(dataset, name)
