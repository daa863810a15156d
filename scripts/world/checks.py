"""What no reader of the file should stumble over, and nothing should give away."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Set
from itertools import permutations

from scripts.world.facts import Fact

Pairs = Set[tuple[str, str]]

MOST_SHARED = 1 / 3


def check(facts: Iterable[Fact]) -> None:
    """Stop at a fact that is none, or at a predicate that answers questions about another."""
    pairs: dict[str, set[tuple[str, str]]] = defaultdict(set)
    for s, p, o in facts:
        if s == o or not all((s, p, o)) or set("\t\n\r") & set(s + p + o):
            raise SystemExit(f"bad fact: {(s, p, o)}")
        pairs[p].add((s, o))
    for a, b in permutations(pairs, 2):
        _check_unlike(a, pairs[a], b, pairs[b])


def _check_unlike(a: str, pairs: Pairs, b: str, others: Pairs) -> None:
    same = len(pairs & others) / len(pairs)
    back = len(pairs & {(o, s) for s, o in others}) / len(pairs)
    if max(same, back) > MOST_SHARED:
        raise SystemExit(f"{a!r} is too much like {b!r}: {same:.0%} same, {back:.0%} back")
