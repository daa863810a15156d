"""The tables of `trifact data list`."""

from __future__ import annotations

import shlex
from itertools import takewhile

from trifact.cli.screen import heading, screen, table
from trifact.graph import benchmarks
from trifact.graph.catalogue import BENCHMARKS
from trifact.graph.loading import WORLD, load
from trifact.graph.splitting import SPLITS


def show_benchmarks() -> None:
    """All graphs known by name, and where each is."""
    grid = table("graph", "entities", "predicates", "train", "valid", "test", "where")
    for benchmark in BENCHMARKS.values():
        sizes = (benchmark.entities, benchmark.predicates, *benchmark.sizes)
        grid.add_row(benchmark.name, *(f"{n:,}" for n in sizes), benchmarks.whereabouts(benchmark))
    world = load("World")
    parts = (world.entities, world.predicates, *world.splits.values())
    grid.add_row(world.name, *(f"{len(part):,}" for part in parts), "bundled")
    for folder in benchmarks.library():
        if benchmarks.find(folder.name) is None:
            grid.add_row(folder.name, "", "", "", "", "", "$TRIFACT_DATA")
    screen().print(grid)
    screen().print("\ntrifact data list NAME shows source, licence and checksums.", style="dim")


def show_benchmark(name: str) -> None:
    """One benchmark: source, licence, files and checksums."""
    benchmark, out = benchmarks.find(name), screen()
    if benchmark is None:
        folder = WORLD if name.casefold() == "world" else benchmarks.library_folder(name)
        if folder is None:
            raise benchmarks.unknown(name)
        where = "bundled" if folder == WORLD else "in $TRIFACT_DATA"
        out.print(heading(name, f"  {where}: {folder}"), soft_wrap=True)
        if folder == WORLD:
            with WORLD.open(encoding="utf-8") as lines:  # its comments say what it is made from
                about = takewhile(lambda line: line.startswith("#"), lines)
                out.print("".join(line.removeprefix("#").removeprefix(" ") for line in about))
        out.print(f"trifact data describe {shlex.quote(name)} shows what is in it.", style="dim")
        return
    out.print(heading(benchmark.name, f"  {benchmark.source}"))
    out.print(f"licence   {benchmark.licence}")
    out.print(f"where     {benchmarks.whereabouts(benchmark)}")
    for split, url, checksum in zip(SPLITS, benchmark.urls, benchmark.checksums, strict=True):
        out.print(f"{split:9} {url}", soft_wrap=True)
        out.print(
            f"          SHA-256 {checksum or 'not known; recorded at the first download'}",
            soft_wrap=True,
        )
