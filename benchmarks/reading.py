"""Reading against DuckDB: names to ids, the same file, in one run.

The baseline is DuckDB's plain two-pass query with its own defaults: one pass over the file
collects the names in order, another joins every fact with its ids. Ours also checks every byte,
bounds its memory, and gives the facts in order. Each measurement is a process of its own, so that
its peak memory is its own; the two alternate, and medians are compared.

    python benchmarks/reading.py [--quick] [--facts N] [--repeats R]
"""

from __future__ import annotations

import argparse
import gzip
import json
import multiprocessing
import os
import resource
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import duckdb
import numpy as np

from trifact.graph.loading import load
from trifact.graph.options import LoadConfig

PREDICATES = 1_000
CSV = (
    "read_csv('{path}', delim = '\t', quote = '', escape = '', header = false, "
    "auto_detect = false, columns = {{'s': 'varchar', 'p': 'varchar', 'o': 'varchar'}})"
)


def write_facts(path: Path, count: int) -> None:
    """About 106 bytes a fact, ten facts an entity, popular entities first."""
    random, entities = np.random.default_rng(0), max(count // 10, 1)
    with path.open("w", encoding="utf-8") as file:
        for start in range(0, count, 250_000):
            size = min(250_000, count - start)
            ends = (entities * random.random((2, size)) ** 2).astype(int).tolist()
            predicates = random.integers(0, PREDICATES, size).tolist()
            facts = zip(ends[0], predicates, ends[1], strict=True)
            file.writelines(
                f"http://example.org/entity/Q{s:08d}\thttp://example.org/property/P{p:04d}"
                f"\thttp://example.org/entity/Q{o:08d}\n"
                for s, p, o in facts
            )


def plain_duckdb(path: Path) -> int:
    """The baseline."""
    base = duckdb.connect()
    base.execute("set enable_progress_bar = false")
    csv = CSV.format(path=path)
    for table, names in (
        ("entity", f"select s from {csv} union select o from {csv}"),
        ("predicate", f"select distinct p from {csv}"),
    ):
        base.execute(
            f"create table {table} as select name, row_number() over (order by name) - 1 as id "
            f"from ({names}) as names(name)"
        )
    ids = base.execute(
        f"select a.id as s, b.id as p, c.id as o from {csv} join entity a on s = a.name "
        "join predicate b on p = b.name join entity c on o = c.name"
    ).fetchnumpy()
    return len(ids["s"])


def ours(path: Path) -> int:
    """Reading without the cache."""
    return len(load(path, LoadConfig(cache=False, valid=0.0, test=0.0)).train)


def ours_again(path: Path) -> int:
    """Reading what was read before."""
    return len(load(path, LoadConfig(valid=0.0, test=0.0)).train)


def measure(read: Callable[[Path], int], path: Path) -> dict[str, float]:
    """Seconds and peak memory of one reading, in a process of its own."""
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as process:
        return process.submit(_measured, read, path).result()


def _measured(read: Callable[[Path], int], path: Path) -> dict[str, float]:
    start = time.perf_counter()
    facts = read(path)
    seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"facts": facts, "seconds": seconds, "peak_mb": peak}


def compare(path: Path, repeats: int) -> dict[str, float]:
    """Medians of alternating measurements."""
    runs: dict[str, list[dict[str, float]]] = {"duckdb": [], "ours": [], "again": []}
    measure(ours_again, path)  # fills the cache; not in this process, whose peak others inherit
    for _ in range(repeats):
        for name, read in (("duckdb", plain_duckdb), ("ours", ours), ("again", ours_again)):
            runs[name].append(measure(read, path))
    assert len({run["facts"] for results in runs.values() for run in results}) == 1
    seconds = {name: statistics.median(r["seconds"] for r in runs[name]) for name in runs}
    return {
        "facts": runs["ours"][0]["facts"],
        "duckdb_seconds": round(seconds["duckdb"], 2),
        "seconds": round(seconds["ours"], 2),
        "cached_seconds": round(seconds["again"], 2),
        "ratio_to_duckdb": round(seconds["ours"] / seconds["duckdb"], 3),
        "duckdb_peak_mb": round(max(r["peak_mb"] for r in runs["duckdb"])),
        "peak_mb": round(max(r["peak_mb"] for r in runs["ours"])),
    }


def debian(folder: Path, repeats: int) -> dict[str, float] | None:
    """The same for the train facts of DEBIAN12, where $TRIFACT_DATA has it."""
    there = Path(os.environ.get("TRIFACT_DATA", ""), "DEBIAN12", "train.txt.gz")
    if not there.exists():
        return None
    plain = folder / "debian12.tsv"
    with gzip.open(there, "rb") as packed, plain.open("wb") as file:
        shutil.copyfileobj(packed, file)
    return compare(plain, repeats)


def main() -> None:
    parser = argparse.ArgumentParser(description="Reading against DuckDB.")
    parser.add_argument("--quick", action="store_true", help="1 M facts, within 50 seconds")
    parser.add_argument("--facts", type=int, help="how many facts to make (10 M)")
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    count = options.facts or (1_000_000 if options.quick else 10_000_000)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        os.environ["TRIFACT_CACHE"] = str(folder / "cache")
        path = folder / "facts.tsv"
        write_facts(path, count)
        print(f"{count:,} facts, {path.stat().st_size / 1e6:,.0f} MB")
        result: dict[str, object] = {**compare(path, options.repeats)}
        path.unlink()
        if not options.quick:
            result["debian12"] = debian(folder, options.repeats)
    print(json.dumps(result))


if __name__ == "__main__":
    main()
