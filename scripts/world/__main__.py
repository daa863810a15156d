"""The command `python -m scripts.world [--out PATH]`, from the root of the repository."""

from __future__ import annotations

import argparse
import zoneinfo
from collections.abc import Sequence
from pathlib import Path

from scripts.world.checks import check
from scripts.world.facts import Fact, make_facts
from scripts.world.header import header
from scripts.world.report import report
from scripts.world.world import load_world

DEFAULT_OUT = Path(__file__).parents[2] / "src" / "trifact" / "graph" / "world.tsv"


def write(path: Path, facts: Sequence[Fact]) -> None:
    """Under another name first, so that a reader never sees half of the file."""
    text = header(facts) + "".join("\t".join(fact) + "\n" for fact in facts)
    temporary = path.with_name(f".{path.name}.tmp")
    temporary.write_text(text, encoding="utf-8", newline="\n")
    temporary.replace(path)


def main() -> None:
    """Make the graph, check it, write it and say what is in it."""
    parser = argparse.ArgumentParser(description="Make the graph World that ships with trifact.")
    parser.add_argument("--out", type=Path, default=DEFAULT_OUT, help="file to write")
    out: Path = parser.parse_args().out
    zoneinfo.reset_tzpath(to=[])  # the tzdata package, not whatever the system has
    world = load_world()
    facts = make_facts(world)
    check(facts)
    write(out, facts)
    report(facts, world.registry)


if __name__ == "__main__":
    main()
