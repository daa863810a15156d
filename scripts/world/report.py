"""What is in the graph, in numbers for whoever makes it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from scripts.world.facts import Fact, appearances
from scripts.world.registry import Registry


def report(facts: Sequence[Fact], registry: Registry) -> None:
    """Print how many facts each predicate has, and what kinds of things there are."""
    print(f"{'predicate':<26}{'facts':>8}{'subjects':>10}{'objects':>9}")
    for predicate, count in Counter(p for _, p, _ in facts).most_common():
        subjects = {s for s, p, _ in facts if p == predicate}
        objects = {o for _, p, o in facts if p == predicate}
        print(f"{predicate:<26}{count:>8}{len(subjects):>10}{len(objects):>9}")
    print(f"{'all':<26}{len(facts):>8}\n")
    counts = list(appearances(facts).values())
    print(f"{len(counts)} entities; {counts.count(1)} of them appear in one fact only")
    print("names by kind:", ", ".join(f"{k} {n}" for k, n in registry.kinds().most_common()))
