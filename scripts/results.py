"""Make docs/results.md and its figures from the records in results/paper/.

python -m scripts.results               the page, and the figures that are not current
python -m scripts.results --figure1     also train the small models of figure 1 anew
"""

from __future__ import annotations

import argparse
from pathlib import Path

from scripts import tensor_picture
from scripts.pages import table
from scripts.records import ROOT
from scripts.result_figures import Picture, hash_in, pictures
from trifact.durable import write_text
from trifact.paper import archive, claims, printed, tables
from trifact.paper.archive import Record
from trifact.paper.beyond import beyond
from trifact.paper.plan import TARGETS
from trifact.paper.recipes import read_recipes
from trifact.paper.tables import Findings, Sheet

RECORDS = ROOT / "results" / "paper"
DOCS = ROOT / "docs"
PAGE = DOCS / "results.md"
SIZES = ("small", "large", "paper")
TOP = """# Results: the paper, measured again

Made by `python -m scripts.results` from the records in `results/paper/`; every number of ours is \
in one of them, those of trained models with configuration, seed, commit, machine and history. \
`trifact reproduce table2` (and the other parts) runs what is missing at *small*, `--size large` \
and `--size paper` the rest. A cell says *not run* where \
there is no record yet, *no data* where the graph could not be had, and a dash where there is \
nothing to run.

*small* has 400 reals in a row (ComplEx rank 200, CP and DistMult rank 400; CP has two rows for \
each entity), *large* 2000, *paper* the paper's own ranks (ComplEx 2000, the others 4000; on \
YAGO3-10 1000). At *small* coefficients are chosen by validation, at other sizes fixed beforehand. \
Validation decides, and test facts are ranked when a run is done; which rows were trained anew \
after that, where coefficients come from and what did not go as it should is in [the log](log.md).
"""
OF_RATES = """All three have the same rate. What a higher one gives N3 alone on WN18RR is in \
[the log](log.md#complex-n3-on-wn18rr-at-ranks-200-and-1000).
"""


def page(records: dict[str, Record]) -> str:
    """The whole page: a pure function of the records and the recipes' names."""
    findings = Findings(records, read_recipes().keys())
    drawn = {picture.name: picture for picture in pictures(records)}
    parts = [TOP, _markdown(_table2(findings)), _figure(drawn.get("results-mrr.png"))]
    parts += [_markdown(sheet) for sheet in _table3(findings)]
    parts += [_markdown(claims.wilcoxon(findings, TARGETS["wilcoxon"].datasets, ["small"]))]
    parts += [_claims(findings)]
    parts += [_markdown(claims.batches(findings, ["FB15K-237"]))]
    parts += [_figure(drawn.get("results-batch.png"))]
    parts += [_markdown(beyond(findings, *_beyond(records))), OF_RATES]
    parts += [_markdown(tables.symmetry(findings, printed.DATASETS))]
    parts += [_markdown(tables.appendix(findings))]
    parts += [_markdown(tables.table1(findings, printed.DATASETS))]
    parts += ["## Figure 1", _figure(drawn.get("results-tensors.png"))]
    parts += [_markdown(tables.runs(findings))]
    return "\n\n".join(part.strip("\n") for part in parts if part) + "\n"


def _sizes(records: dict[str, Record]) -> list[str]:
    """Small, and the others of which there is something."""
    found = {record["recipe"]["size"] for record in records.values() if "recipe" in record}
    return [size for size in SIZES if size in found | {"small"}]


def _table2(findings: Findings) -> Sheet:
    return tables.table2(findings, printed.DATASETS, _sizes(dict(findings.records)))


def _beyond(records: dict[str, Record]) -> tuple[tuple[str, ...], list[str]]:
    sizes = [size for size in _sizes(records) if size != "paper"]
    return TARGETS["beyond"].datasets, sizes


def _table3(findings: Findings) -> list[Sheet]:
    sizes = [size for size in _sizes(dict(findings.records)) if size != "large"]
    return tables.table3(findings, ["FB15K"], sizes)


def _markdown(sheet: Sheet) -> str:
    """A sheet as a table under its title, its notes below."""
    width = len(sheet.header)
    rows = (_bold(row) if len(row) == 1 else row for row in sheet.rows)
    full = ((*row, *[""] * (width - len(row))) for row in rows)
    lines = [f"## {sheet.title}", "", *table(sheet.header, full, text=sheet.text)]
    return "\n".join([*lines, "  \n".join(sheet.notes)])


def _bold(row: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(f"**{cell}**" for cell in row)


def _claims(findings: Findings) -> str:
    rows = [tuple(claim) for claim in claims.claims(findings)]
    header = ("", "paper", "ours")
    notes = [
        "At *small*, but for the batch size. Differences are of test MRR on the same queries, with "
        "95 % intervals over facts; p is that of the signed-rank test by fact. One seed says "
        "nothing about others."
    ]
    return _markdown(Sheet("What the paper says in words", header, rows, notes, text=3))


def _figure(picture: Picture | None) -> str:
    if picture is None:
        return ""
    return f"![{picture.title}]({picture.name})\n\n{picture.caption}"


def stale(records: dict[str, Record], docs: Path = DOCS) -> list[Picture]:
    """The figures that are not there, or were drawn from other records."""
    return [
        picture
        for picture in pictures(records)
        if not (path := docs / picture.name).exists() or hash_in(path) != picture.hash
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description="Make docs/results.md and its figures.")
    parser.add_argument("--figure1", action="store_true", help="train the models of figure 1 anew")
    options = parser.parse_args()
    if options.figure1 or not (RECORDS / "figure1.json").exists():
        archive.write(RECORDS / "figure1.json", tensor_picture.record())
    records = archive.read_all(RECORDS)
    for picture in stale(records):
        picture.save(DOCS)
        print(f"drawn: {picture.name}")
    write_text(PAGE, page(records))


if __name__ == "__main__":
    main()
