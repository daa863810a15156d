"""What the paper says in words, and what our records say to it: a pure function of the records."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import NamedTuple

from trifact.paper import printed
from trifact.paper.archive import Record
from trifact.paper.contests import CONTESTS, name_of
from trifact.paper.plan import BATCHES
from trifact.paper.tables import NOT_RUN, Findings, Sheet, number, percent

SETTINGS = ("standard", "reciprocal")


class Claim(NamedTuple):
    """A sentence of the paper, its numbers, and ours."""

    says: str
    paper: str
    ours: str


def wilcoxon(findings: Findings, datasets: Iterable[str], sizes: Iterable[str]) -> Sheet:
    """The signed-rank test of N3 against FRO."""
    rows, notes, sizes = list[tuple[str, ...]](), list[str](), [*sizes]
    names = {(d, s): name_of("n3-over-fro", s, d) for d in datasets for s in sizes}
    for (dataset, size), name in names.items():
        found = findings.records.get(name)
        if found is None:
            rows.append((f"{dataset}, {size}", NOT_RUN))
            continue
        for pairs, shown in (("ranks_by_query", "ranks, queries"), ("mrr_by_fact", "MRR, facts")):
            test = found["wilcoxon"][pairs]
            counts = (f"{test[key]:,}" for key in ("better", "worse", "equal"))
            rows.append((f"{dataset}, {size}", shown, *counts, p_of(test)))
        notes.append(f"{dataset}, {size}: N3 less FRO, {_gain(found)}")
    header = ("CP", "pairs", "N3 better", "FRO better", "equal", "p")
    notes.append("The paper: the gain of N3 over FRO on WN18RR is significant by this test.")
    return Sheet("Wilcoxon's signed-rank test, CP-N3 against CP-FRO", header, rows, notes, text=2)


def batches(findings: Findings, datasets: Iterable[str]) -> Sheet:
    """The best validation MRR by batch size, and its epoch."""
    rows = [
        (f"{dataset}, {row.partition('-')[2]}", *_batch(findings, f"{dataset}-{row}-figure", row))
        for dataset in datasets
        for row in BATCHES
    ]
    header = ("", "facts a step", "after 5 epochs", "best", "in epoch")
    notes = ["Validation MRR of ComplEx-N3; steps of facts as in the paper, nothing grouped."]
    return Sheet("The effect of the batch size", header, rows, notes)


def _batch(findings: Findings, name: str, row: str) -> tuple[str, ...]:
    facts = row.partition("-")[0].removeprefix("batch")
    if name not in findings.records:
        return facts, *[NOT_RUN] * 3
    record = findings.records[name]
    best = record["metrics"]
    return facts, number(_best_within(record, 5)), number(best["mrr"]), str(best["epoch"])


def claims(findings: Findings, size: str = "small") -> list[Claim]:
    """All that can be checked, in the order of the paper."""
    said, no_numbers = partial(_contest, findings, size), "no numbers"
    norms = f"CP: {said('fro-standard-cp')}; ComplEx: {said('fro-standard-complex')}"
    within = printed.WITHIN_EPOCHS
    return [
        _must_fail(findings),
        Claim(
            "The gains of Reciprocal are largest for CP",
            _rescues(_published()),
            _rescues(_mrr(findings, size)),
        ),
        Claim(
            "They come mostly from 1-m and m-m (FB15K)",
            _gains(*(_published_categories(f"cp-n3-{s}") for s in SETTINGS)),
            _where(findings, size),
        ),
        Claim(
            "N3 is better than FRO for CP on WN18RR, significantly",
            "from .46 to .47",
            said("n3-over-fro"),
        ),
        Claim(
            "FRO and N3 do not differ in the Standard setting", no_numbers, f"FRO less N3, {norms}"
        ),
        Claim(
            "The nuclear 2-norm is no better than N3, and slower for CP",
            f"{printed.NUC2_SLOWER} times slower, on FB15K",
            f"{said('nuc2')}; {_pace(findings, size)}",
        ),
        Claim("Adam is no better than Adagrad", no_numbers, said("adam")),
        Claim(
            "Weights by frequency may help", no_numbers, f"without weights: {said('unweighted')}"
        ),
        Claim(
            f"The best MRR is reached within {within} epochs",
            f"{within} of 100 epochs",
            _within(findings, size),
        ),
        Claim("The batch size matters, and differently by setting", "up to .1", _apart(findings)),
    ]


def _must_fail(findings: Findings) -> Claim:
    found, ours = findings.graphs("symmetry"), list[str]()
    for name in printed.MUST_FAIL:
        row = found.get(name)
        ours.append(f"{name} {percent(row['must_fail'] / row['test']) if row else NOT_RUN}")
    theirs = ", ".join(f"{name} {percent(share, 0)}" for name, share in printed.MUST_FAIL.items())
    return Claim("On some test facts a symmetric model must fail", theirs, ", ".join(ours))


def _mrr(findings: Findings, size: str) -> dict[str, float]:
    """Test MRR by dataset-row."""
    return {
        name.removesuffix(f"-{size}"): record["metrics"]["test"]["mrr"]
        for name, record in findings.records.items()
        if "recipe" in record and name.endswith(f"-{size}")
    }


def _published() -> dict[str, float]:
    """The same of the paper."""
    return {
        f"{dataset}-{key}": pair.mrr
        for key, row in printed.ROWS.items()
        for dataset, pair in row.found.items()
    }


def _published_categories(row: str) -> dict[str, float]:
    return dict(zip(printed.BY_CATEGORY, printed.CATEGORIES[row][1], strict=True))


def _rescues(test: dict[str, float]) -> str:
    return "; ".join(_rescue(test, dataset) for dataset in ("WN18", "FB15K"))


def _rescue(test: dict[str, float], dataset: str) -> str:
    both = [test.get(f"{dataset}-cp-n3-{setting}") for setting in SETTINGS]
    shown = [number(mrr) for mrr in both if mrr is not None]
    return f"{dataset} {' to '.join(shown) if len(shown) == 2 else NOT_RUN}"


def _where(findings: Findings, size: str) -> str:
    """How much more each category gets in the reciprocal setting, for CP on FB15K."""
    names = [f"FB15K-cp-n3-{setting}-{size}" for setting in SETTINGS]
    if not all(name in findings.records for name in names):
        return NOT_RUN
    return _gains(*(_categories(findings.records[name]) for name in names))


def _gains(before: dict[str, float], after: dict[str, float]) -> str:
    gains = (f"{c} {_signed(after[c] - before[c])}" for c in printed.BY_CATEGORY if c in before)
    return f"CP: {', '.join(gains)}"


def _categories(record: Record) -> dict[str, float]:
    found = record["evaluation"]["filtered"]["by_category"]
    return {name: table["mrr"] for name, table in found.items()}


def _signed(value: float) -> str:
    """A difference, with its sign."""
    return f"{'-' if value < 0 else '+'}{number(abs(value))}"


def _contest(findings: Findings, size: str, contest: str) -> str:
    """The difference of MRR, its interval and the test by fact."""
    found = findings.records.get(name_of(contest, size))
    if found is None:
        return NOT_RUN
    return f"{_gain(found)} ({CONTESTS[contest].dataset})"


def _gain(found: Record) -> str:
    pool = found["pooled"]
    low, high = (_signed(bound) for bound in pool["interval"])
    seeds = f", mean of {pool['pairs']} seeds" if pool["pairs"] > 1 else ""
    types = " and ".join(found["precisions"])
    mixed = f", trained in {types}" if len(found["precisions"]) > 1 else ""
    gain = f"MRR {_signed(pool['difference'])} ({low} to {high}){seeds}{mixed}"
    return f"{gain}, {_chance(pool['mrr_by_fact'])}"


def _chance(test: Record) -> str:
    """The p of a signed-rank test by fact, and which way it points: a mean may point another."""
    return f"p {p_of(test)} ({test['better']:,} facts better, {test['worse']:,} worse)"


def p_of(test: Record) -> str:
    """The p of a test, with one digit."""
    return f"{test['p']:.1g}" if test["p"] else "< 1e-300"


def _pace(findings: Findings, size: str) -> str:
    found = findings.records.get(name_of("nuc2", size).replace("contest", "pace"))
    return NOT_RUN if found is None else f"a step takes {found['ratio']:.2f} times as long"


def _within(findings: Findings, size: str) -> str:
    """Over the runs of Table 2 that may be longer: when they were best, what came after."""
    records = [
        r
        for r in findings.records.values()
        if r.get("recipe", {}).get("row") in printed.ROWS
        and r["recipe"]["size"] == size
        and r["config"]["epochs"] > printed.WITHIN_EPOCHS
        and not r["config"]["seed"]
    ]
    if not records:
        return NOT_RUN
    late = [_gain_after(r) for r in records if r["metrics"]["epoch"] > printed.WITHIN_EPOCHS]
    if not late:
        return f"in all {len(records)} runs"
    early = len(records) - len(late)
    return f"in {early} of {len(records)} runs; later epochs add at most {number(max(late))}"


def _gain_after(record: Record) -> float:
    return float(record["metrics"]["mrr"]) - _best_within(record, printed.WITHIN_EPOCHS)


def _apart(findings: Findings) -> str:
    """The largest distance of the two batch sizes in one epoch, by setting."""
    found = list[str]()
    for setting in SETTINGS:
        names = [f"FB15K-237-batch{facts}-{setting}-figure" for facts in (100, 400)]
        if not all(name in findings.records for name in names):
            return NOT_RUN
        small, large = (_curve(findings.records[name]) for name in names)
        gaps = [small[epoch] - large[epoch] for epoch in sorted(small.keys() & large.keys())]
        widest = max(gaps, key=abs)
        found.append(f"{setting}: up to {_signed(widest)}, at the end {_signed(gaps[-1])}")
    return f"MRR of 100 less 400 facts a step, {'; '.join(found)}"


def _best_within(record: Record, epochs: int) -> float:
    return max(mrr for epoch, mrr in _curve(record).items() if epoch <= epochs)


def _curve(record: Record) -> dict[int, float]:
    return {e["epoch"]: e["mrr"] for e in record["history"] if e["mrr"] is not None}
