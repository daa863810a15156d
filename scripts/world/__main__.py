"""The command `python -m scripts.world [--out PATH]`, from the root of the repository."""

from __future__ import annotations

import argparse
import zoneinfo
from pathlib import Path

from scripts.world.checks import check
from scripts.world.facts import make_facts
from scripts.world.header import header
from scripts.world.report import report
from scripts.world.world import load_world
from trifact.durable import write_text

DEFAULT_OUT = Path(__file__).parents[2] / "src" / "trifact" / "graph" / "world.tsv"


def main() -> None:
    """Make the graph, check it, write it and say what is in it."""
    parser = argparse.ArgumentParser(description="Make the graph World that ships with trifact.")
    parser.add_argument("--out", type=Path, default=DEFAULT_OUT, help="file to write")
    out: Path = parser.parse_args().out
    zoneinfo.reset_tzpath(to=[])  # the tzdata package, not whatever the system has
    world = load_world()
    facts = make_facts(world)
    check(facts)
    write_text(out, header(facts) + "".join("\t".join(fact) + "\n" for fact in facts))
    report(facts, world.registry)


if __name__ == "__main__":
    main()
