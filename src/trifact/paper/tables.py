"""The paper's tables with our numbers beside its own: texts, a pure function of the records."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from statistics import median

from trifact.paper import printed
from trifact.paper.archive import Record
from trifact.paper.printed import Published
from trifact.run.options import TrainConfig

NOT_RUN, NO_DATA, NONE = "not run", "no data", "-"


@dataclass(frozen=True)
class Sheet:
    """A table of texts: what the command shows and the page prints.

    The first `text` columns are words, the others numbers; a row that has only its first cell
    begins a part.
    """

    title: str
    header: tuple[str, ...]
    rows: list[tuple[str, ...]]
    notes: list[str] = field(default_factory=list)
    text: int = 1


@dataclass(frozen=True)
class Findings:
    """The records by name, the recipes that there are, and the graphs of which there is no data."""

    records: Mapping[str, Record]
    recipes: Collection[str]
    missing: Collection[str] = ()

    def graphs(self, study: str) -> dict[str, Record | None]:
        """What a study found of each graph."""
        found: dict[str, Record | None] = self.records.get(study, {}).get("graphs", {})
        return found

    def without_data(self) -> set[str]:
        """Graphs that were looked for and are not there."""
        looked = {name for name, found in self.graphs("table1").items() if found is None}
        trained = {r["recipe"]["dataset"] for r in self.records.values() if "recipe" in r}
        return (looked - trained) | set(self.missing)

    def lack(self, dataset: str, recipe: str) -> str:
        """Why there is no number of a recipe."""
        if recipe not in self.recipes:
            return NONE
        return NO_DATA if dataset in self.without_data() else NOT_RUN


def number(value: float, digits: int = 3) -> str:
    """A share without its leading zero, as in the paper."""
    text = f"{value:.{digits}f}"
    return text.replace("0.", ".", 1) if abs(float(text)) < 1 else text


def percent(share: float, digits: int = 1) -> str:
    """A share in percent."""
    return f"{100 * share:.{digits}f} %"


def table1(findings: Findings, datasets: Iterable[str]) -> Sheet:
    """Sizes of the graphs; the paper's in thousands."""
    rows, columns = list[tuple[str, ...]](), ("entities", "predicates", "train", "valid", "test")
    graphs = findings.graphs("table1")
    for name in datasets:
        rows.append((name, "paper", *printed.SIZES.get(name, [NONE] * len(columns))))
        found = graphs.get(name)
        lack = NO_DATA if name in graphs else NOT_RUN
        rows.append(("", "ours", *(f"{found[c]:,}" if found else lack for c in columns)))
    return Sheet("Table 1: the graphs", ("", "", *columns), rows, text=2)


def table2(findings: Findings, datasets: Iterable[str], sizes: Iterable[str]) -> Sheet:
    """MRR/Hits@10 of every row of the paper, and ours at each size that has recipes of it."""
    datasets, sizes = [*datasets], [*sizes]
    rows: list[tuple[str, ...]] = [(printed.PAST,)]
    rows += [(row.model, "", *_published(row.found, datasets)) for row in printed.QUOTED]
    part = printed.PAST
    for key, row in printed.ROWS.items():
        if row.part != part:
            part = row.part
            rows.append((part,))
        rows.append((row.model, "published", *_published(row.found, datasets)))
        ours = {size: _ours(findings, datasets, key, size) for size in sizes}
        rows += [("", size, *cells) for size, cells in ours.items() if {*cells} != {NONE}]
    notes = [*printed.REFERENCES, *_rates(findings, datasets), *_seeds(findings)]
    title = "Table 2: filtered MRR/Hits@10 on test facts"
    return Sheet(title, ("", "", *datasets), rows, notes, text=2)


def _published(found: Mapping[str, Published], datasets: Iterable[str]) -> list[str]:
    return [
        f"{number(pair.mrr, 2)}/{number(pair.hits10, 2)}" if (pair := found.get(name)) else NONE
        for name in datasets
    ]


def _ours(findings: Findings, datasets: Iterable[str], row: str, size: str) -> list[str]:
    names = {dataset: f"{dataset}-{row}-{size}" for dataset in datasets}
    return [
        _cell(findings.records[name]) if name in findings.records else findings.lack(dataset, name)
        for dataset, name in names.items()
    ]


def _cell(record: Record) -> str:
    test = record["metrics"]["test"]
    return f"{number(test['mrr'])}/{number(test['hits@10'])}"


def _rates(findings: Findings, datasets: Iterable[str]) -> list[str]:
    """A note for each recipe of the tables that was trained with another rate than the rest."""
    found = {
        name: record["config"]["lr"]
        for name, record in findings.records.items()
        if (recipe := record.get("recipe"))
        and recipe["dataset"] in datasets
        and recipe["row"] in printed.ROWS
    }
    usual = TrainConfig.lr
    return [
        f"{name}: trained with a rate of {number(rate, 2)}, the others with {number(usual, 1)}"
        for name, rate in found.items()
        if rate != usual
    ]


def _seeds(findings: Findings) -> list[str]:
    """A note for each recipe that was trained with several seeds."""
    found = dict[str, list[str]]()
    for name, record in findings.records.items():
        base, mark, _ = name.rpartition("-seed")
        if mark and record["recipe"]["row"] in printed.ROWS:
            found.setdefault(base, []).append(number(record["metrics"]["test"]["mrr"], 4))
    return [f"{name}: MRR of the other seeds {', '.join(others)}" for name, others in found.items()]


def table3(findings: Findings, datasets: Iterable[str], sizes: Iterable[str]) -> list[Sheet]:
    """MRR by category, a sheet a graph; the paper's numbers are those of FB15K."""
    return [_table3(findings, dataset, [*sizes]) for dataset in datasets]


def _table3(findings: Findings, dataset: str, sizes: list[str]) -> Sheet:
    rows = list[tuple[str, ...]]()
    for row, (label, published) in printed.CATEGORIES.items():
        theirs = published if dataset == "FB15K" else None
        cells = [number(mrr, 2) for mrr in theirs] if theirs else [NONE] * 4
        rows.append((label, "published", *cells))
        rows += [("", size, *_by_category(findings, dataset, row, size)) for size in sizes]
    return Sheet(
        f"Table 3: MRR by category of the predicate on {dataset}",
        ("", "", *printed.BY_CATEGORY),
        rows,
        _rates(findings, [dataset]),
        text=2,
    )


def _by_category(findings: Findings, dataset: str, row: str, size: str) -> list[str]:
    name = f"{dataset}-{row}-{size}"
    if name not in findings.records:
        return [findings.lack(dataset, name)] * len(printed.BY_CATEGORY)
    found = findings.records[name]["evaluation"]["filtered"]["by_category"]
    return [number(found[c]["mrr"]) if c in found else NONE for c in printed.BY_CATEGORY]


def symmetry(findings: Findings, datasets: Iterable[str]) -> Sheet:
    """Test facts on which a symmetric model must fail on one of two queries."""
    rows, graphs = list[tuple[str, ...]](), findings.graphs("symmetry")
    for name in datasets:
        theirs = percent(printed.MUST_FAIL[name], 0) if name in printed.MUST_FAIL else NONE
        lack = NO_DATA if name in graphs else NOT_RUN
        found = graphs.get(name)
        ours = (lack,) * 3
        if found:
            share = found["must_fail"] / found["test"]
            ours = (percent(share), f"{found['must_fail']:,}", f"{found['test']:,}")
        rows.append((name, theirs, *ours))
    notes = [
        "Facts (i, j, k) whose reverse (k, j, i) is not known, and one of whose entities stands "
        "on the other side of j in some known fact: two queries that have the same ranking ask "
        "for different answers."
    ]
    header = ("", "paper", "ours", "facts", "of test")
    return Sheet("Facts on which a symmetric model must fail", header, rows, notes)


def appendix(findings: Findings) -> Sheet:
    """The symmetric scorer on trees, and the formula."""
    trees = findings.records.get("appendix", {}).get("trees", [])
    rows: list[tuple[str, ...]] = [
        (
            *(f"{tree[key]:,}" for key in ("n", "depth", "nodes", "queries")),
            *(f"{tree[key]:.10f}" for key in ("formula", "mrr")),
        )
        for tree in trees
    ]
    header = ("n", "depth", "nodes", "queries", "formula", "measured")
    notes = ["Filtered MRR of a symmetric model (DistMult) on all links of an n-ary tree."]
    return Sheet("Appendix: DistMult on a tree", header, rows or [(NOT_RUN,)], notes, text=0)


def runs(findings: Findings) -> Sheet:
    """Every run that a record is of: what was chosen, and what it came to."""
    rows = [_run(name, r) for name, r in findings.records.items() if "recipe" in r]
    header = ("recipe", "chosen", "valid", "epoch", "test MRR", "95 %")
    speed = ("products", "threads", "s/epoch", "commit")
    notes = [
        "Chosen: the value in brackets, by the best validation MRR of a few epochs. Products: "
        "the type of the matrix products while training; ranks are always made in float32."
    ]
    return Sheet("Runs", header + speed, rows or [("none yet",)], notes, text=2)


def _run(name: str, record: Record) -> tuple[str, ...]:
    metrics, history = record["metrics"], record["history"]
    low, high = metrics["test"]["interval"]["mrr"]
    seconds = median(epoch["seconds"] for epoch in history)
    return (
        name,
        _choice(record),
        number(metrics["mrr"], 4),
        f"{metrics['epoch']} of {len(history)}",
        number(metrics["test"]["mrr"], 4),
        f"{number(low)}-{number(high)}",
        record["config"]["precision"],
        str(record["machine"]["threads"]),
        f"{seconds:.0f}",
        record["commit"],
    )


def _choice(record: Record) -> str:
    choice, config = record["choice"], record["config"]
    rate = [f"lr {config['lr']:g}"] if config["lr"] != TrainConfig.lr else []
    if not choice:
        fixed = {key: config[key] for key in ("reg", "relations")}
        return " ".join([*(f"{key} {value:g}" for key, value in fixed.items() if value), *rate])
    values = [trial["value"] for trial in choice["tried"]]
    shown = (f"[{v:g}]" if v == choice["chosen"] else f"{v:g}" for v in values)
    return " ".join([choice["setting"], *shown, *(rate if choice["setting"] != "lr" else [])])
