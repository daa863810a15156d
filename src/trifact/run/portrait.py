"""The graph's part of the page: what `trifact data describe` shows of it."""

from __future__ import annotations

from trifact.graph.description import Description, describe
from trifact.graph.graph import Graph
from trifact.graph.leakage import Leakage
from trifact.run.markup import figure, paragraph, side_by_side, table
from trifact.run.pictures import bar_chart, histogram

MOST_PREDICATES = 15
MOST_PAIRS = 15
SIGNS = {"inverse": "inverse of", "duplicate": "same as"}


def portrait(graph: Graph) -> str:
    """Sizes, degrees, kinds of predicates, the largest of them, and what gives test facts away."""
    found = describe(graph)
    size = f"{len(graph.entities):,} entities, {len(graph.predicates):,} predicates, "
    size += f"{sum(found.sizes.values()):,} facts; content hash {graph.content_hash[:16]}."
    return "".join(
        [
            *map(paragraph, [size, *graph.notes]),
            side_by_side(_splits(found), _counts(found)),
            side_by_side(*_charts(found)),
            _predicates(graph, found),
            _leakage(graph, found),
        ]
    )


def _splits(found: Description) -> str:
    rows = [
        [split, f"{facts:,}", f"{found.duplicates[split]:,}", _unseen(found, split)]
        for split, facts in found.sizes.items()
    ]
    return table(["split", "facts", "repeated", "with unseen names"], rows)


def _unseen(found: Description, split: str) -> str:
    return f"{found.unseen_facts[split]:,}" if split in found.unseen_facts else ""


def _counts(found: Description) -> str:
    rows = {
        "entities that train lacks": f"{found.unseen_entities:,}",
        "predicates that train lacks": f"{found.unseen_predicates:,}",
        "facts from an entity to itself": f"{found.self_loops:,}",
        "facts that two splits share": f"{sum(found.overlaps.values()):,}",
        "distinct queries of train": f"{found.distinct_queries:,}",
        "answers of a query, mean": f"{found.grouping_ratio:.2f}",
        "answers of a query, most": f"{found.most_answers:,}",
    }
    return table(["", ""], [*map(list, rows.items())])


def _charts(found: Description) -> list[str]:
    degrees = [(f"{some.start:,}", entities) for some, entities in found.by_degree]
    kinds = [(kind, facts) for kind, (_, facts) in found.by_category.items()]
    predicates = [(kind, count) for kind, (count, _) in found.by_category.items()]
    about = "facts of an entity in train, from this many up to the next bar"
    return [
        figure("Entities by their facts", histogram(degrees, x=about), tall=True),
        figure("Facts by kind of predicate", bar_chart(kinds, unit="facts", form=",d")),
        figure("Predicates by kind", bar_chart(predicates, unit="predicates", form=",d")),
    ]


def _predicates(graph: Graph, found: Description) -> str:
    total, shown = len(found.predicates), found.predicates[:MOST_PREDICATES]
    few = total <= MOST_PREDICATES
    title = "Predicates in train" if few else f"The {len(shown)} largest of {total:,} predicates"
    rows = [
        [
            graph.predicate_label(row.predicate),
            *(f"{count:,}" for count in (row.facts, row.subjects, row.objects)),
            *(f"{degree:.1f}" for degree in (row.out_degree, row.in_degree)),
            row.category or "-",
        ]
        for row in shown
    ]
    header = ["predicate", "facts", "subjects", "objects", "out-degree", "in-degree", "kind"]
    return f"<h3>{title}</h3>{table(header, rows)}"


def _leakage(graph: Graph, found: Description) -> str:
    """Pairs that say the same, and symmetric predicates, which are a property of the world."""
    leakage, tests = found.leakage, found.sizes["test"]
    pairs = (
        f"Pairs of predicates that are (nearly) inverse or duplicates of each other: "
        f"{len(leakage.pairs):,}. They give away {_of(leakage.test_facts_given_away, tests)}."
    )
    symmetric = (
        f"Predicates that are (nearly) symmetric: {len(leakage.symmetric):,}. With these, train "
        f"has {_of(leakage.test_facts_reversed, tests)} the other way round."
    )
    shown = _pairs(graph, leakage) + paragraph(symmetric) + _symmetric(graph, found)
    return f"<h3>Leakage</h3>{paragraph(pairs)}{shown}"


def _of(facts: int, tests: int) -> str:
    share = f" ({facts / tests:.1%})" if tests else ""
    return f"{facts:,} of {tests:,} test facts{share}"


def _pairs(graph: Graph, leakage: Leakage) -> str:
    rows = [
        [
            graph.predicate_label(pair.first),
            SIGNS[pair.kind],
            graph.predicate_label(pair.second),
            f"{pair.shared:,}",
            f"{pair.overlap:.2f}",
        ]
        for pair in leakage.pairs[:MOST_PAIRS]
    ]
    header = ["predicate", "is", "predicate", "shared facts", "overlap"]
    return table(header, rows, text=3) if rows else ""


def _symmetric(graph: Graph, found: Description) -> str:
    facts = {row.predicate: row.facts for row in found.predicates}
    shown = found.leakage.symmetric[:MOST_PAIRS]
    rows = [[graph.predicate_label(p), f"{facts[p]:,}"] for p in shown]
    return table(["symmetric predicate", "facts in train"], rows) if rows else ""
