"""Lines that name the columns: the sets of words by which subject, predicate and object are known.

A word alone never makes a header: all three must be there, and go together.
"""

from __future__ import annotations

import re

HEADERS = (
    ("subject", "predicate", "object"),
    ("s", "p", "o"),
    ("head", "relation", "tail"),
    ("h", "r", "t"),
    ("source", "relation", "target"),
)
ENDS = (
    ("subject", "object"),
    ("head", "tail"),
    ("source", "target"),
    ("src", "dst"),
    ("from", "to"),
    ("start", "end"),
    ("node1", "node2"),
    ("entity1", "entity2"),
    ("subject_id", "object_id"),
    ("source_id", "target_id"),
)
BETWEEN = ("predicate", "relation", "relationship", "rel", "edge", "interaction", "predicate_id")
IN_THREE = ("type", "label", "property")  # of what, is only clear if there is no other column
OTHERS = (
    (":start_id", ":type", ":end_id"),  # Neo4j, with a group such as (Person) or without
    ("node1", "label", "node2"),  # KGTK
    *((first, word, last) for first, last in ENDS for word in BETWEEN),
)
GROUP = re.compile(r"^(:\w+)\(.*\)$")


def plain(cell: str) -> str:
    """A cell of a header as it is compared."""
    return GROUP.sub(r"\1", cell.strip().lower())


def known_header(cells: list[str]) -> tuple[str, ...] | None:
    """The plain names of subject, predicate and object, if the cells hold a set that we know."""
    names = {plain(cell) for cell in cells}
    usual = next((header for header in HEADERS if set(header) <= names), None)
    others = [header for header in OTHERS if set(header) <= names]
    if len(cells) == 3:
        others += [(a, word, b) for a, b in ENDS for word in IN_THREE if {a, word, b} == names]
    return usual or (others[0] if len(set(others)) == 1 else None)
