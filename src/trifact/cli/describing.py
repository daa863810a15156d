"""A description of a graph: on the screen, as JSON, as a picture."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from trifact.cli.screen import bars, count, heading, screen, share, table
from trifact.durable import replacing
from trifact.errors import OutputError
from trifact.graph.description import Description, PredicateRow
from trifact.graph.graph import Graph
from trifact.graph.sources import one_line

SHOWN = 15
EXAMPLES = 3


def show(graph: Graph, found: Description, *, all_predicates: bool) -> None:
    """Print all tables, the most important first."""
    out = screen()
    entities = count(len(graph.entities), "entity", "entities")
    things = f"{entities}, {count(len(graph.predicates), 'predicate')}"
    out.print(heading(graph.name, f"  {things}, {count(sum(found.sizes.values()), 'fact')}\n"))
    out.print(_splits(found))
    out.print(_queries(found))
    rows = found.predicates if all_predicates else found.predicates[:SHOWN]
    out.print(_predicates(graph, rows, len(found.predicates)))
    out.print(_categories(found), "")
    out.print(heading("Facts of an entity in train"))
    out.print(bars(_degree_counts(found)), "")
    _print_leakage(graph, found)


def _splits(found: Description) -> object:
    grid = table("split", "facts", "repeated", "with an entity or predicate that train lacks")
    for split, facts in found.sizes.items():
        unseen = found.unseen_facts.get(split)
        grid.add_row(
            split,
            f"{facts:,}",
            f"{found.duplicates[split]:,}",
            "" if unseen is None else f"{unseen:,}",
        )
    return grid


def _queries(found: Description) -> str:
    shared = [f"{pair} share {n:,} facts" for pair, n in found.overlaps.items() if n]
    queries = count(found.distinct_queries, "distinct query", "distinct queries")
    lines = [
        f"train lacks {count(found.unseen_entities, 'entity', 'entities')} "
        f"and {count(found.unseen_predicates, 'predicate')}",
        f"{count(found.self_loops, 'fact')} from an entity to itself",
        "; ".join(shared) if shared else "no fact is in two splits",
        f"asked from both sides, train has {queries} with {count(found.questions, 'answer')}:\n"
        f"{found.grouping_ratio:.2f} answers a query, {found.most_answers:,} at most",
    ]
    if found.spelled_alike:
        examples = (" and ".join(map(repr, names[:2])) for names in found.spelled_alike[:EXAMPLES])
        alike = sum(len(names) - 1 for names in found.spelled_alike)
        lines.append(f"spelled like another: {count(alike, 'name')}, such as {', '.join(examples)}")
    return "\n".join(["", *lines, ""])


def _predicates(graph: Graph, rows: list[PredicateRow], total: int) -> object:
    title = (
        f"The {len(rows)} largest of {total:,} predicates" if len(rows) < total else "Predicates"
    )
    grid = table("predicate", "facts", "subjects", "objects", "out", "in", "kind", title=title)
    for row in rows:
        grid.add_row(
            graph.predicate_label(row.predicate),
            *(f"{count:,}" for count in (row.facts, row.subjects, row.objects)),
            *(f"{degree:.1f}" for degree in (row.out_degree, row.in_degree)),
            row.category or "-",
        )
    return grid


def _categories(found: Description) -> object:
    kinds = found.by_category
    total = sum(facts for _, facts in kinds.values())
    grid = table("kind", "predicates", "facts", "share", title="\nPredicates by kind")
    for category, (predicates, facts) in kinds.items():
        grid.add_row(category, f"{predicates:,}", f"{facts:,}", share(facts, total))
    return grid


def _degree_counts(found: Description) -> list[tuple[str, int]]:
    return [
        (
            f"{degrees.start:,}" if len(degrees) == 1 else f"{degrees.start:,}-{degrees[-1]:,}",
            entities,
        )
        for degrees, entities in found.by_degree
    ]


def _print_leakage(graph: Graph, found: Description) -> None:
    leakage, tests, out = found.leakage, found.sizes["test"], screen()
    given, back = leakage.test_facts_given_away, leakage.test_facts_reversed
    about = (
        "  Pairs of predicates that are (nearly) inverse or duplicates of\n"
        f"each other: {len(leakage.pairs):,}. They give away {given:,} of {tests:,} test facts "
        f"({share(given, tests)})."
    )
    out.print(heading("Leakage", about))
    out.print(
        f"Predicates that are (nearly) symmetric: {len(leakage.symmetric):,}. Train has "
        f"{back:,} test facts of these\nthe other way round ({share(back, tests)})."
    )
    if leakage.pairs:
        grid = table("predicate", "", "predicate", "shared", "overlap", text=3)
        for pair in leakage.pairs[:SHOWN]:
            first, second = (graph.predicate_label(p) for p in (pair.first, pair.second))
            sign = "inverse of" if pair.kind == "inverse" else "same as"
            grid.add_row(first, sign, second, f"{pair.shared:,}", f"{pair.overlap:.2f}")
        out.print("", grid)


def as_dict(graph: Graph, found: Description) -> dict[str, Any]:
    """The description in plain values, names instead of ids."""
    names = graph.predicates
    leakage = found.leakage
    return {
        "name": graph.name,
        "content_hash": graph.content_hash,
        "entities": len(graph.entities),
        "predicates": len(graph.predicates),
        "facts": found.sizes,
        "duplicates": found.duplicates,
        "overlaps": found.overlaps,
        "self_loops": found.self_loops,
        "unseen": {
            "entities": found.unseen_entities,
            "predicates": found.unseen_predicates,
            "facts": found.unseen_facts,
        },
        "queries": {
            "facts": found.questions,
            "distinct": found.distinct_queries,
            "ratio": found.grouping_ratio,
            "most_answers": found.most_answers,
        },
        "by_predicate": [
            {
                "predicate": names[row.predicate],
                "facts": row.facts,
                "subjects": row.subjects,
                "objects": row.objects,
                "category": row.category or None,
            }
            for row in found.predicates
        ],
        "degrees": dict(_degree_counts(found)),
        "leakage": {
            "test_facts_given_away": leakage.test_facts_given_away,
            "test_facts_reversed": leakage.test_facts_reversed,
            "symmetric": [names[p] for p in leakage.symmetric],
            "pairs": [
                {
                    "predicates": [names[pair.first], names[pair.second]],
                    "kind": pair.kind,
                    "shared": pair.shared,
                    "overlap": pair.overlap,
                }
                for pair in leakage.pairs
            ],
        },
        "spelled_alike": found.spelled_alike,
        "notes": graph.notes,
    }


def draw(graph: Graph, found: Description, path: Path) -> None:
    """A picture of degrees, predicates and categories."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    figure, (left, middle, right) = plt.subplots(1, 3, figsize=(13, 4), layout="constrained")
    title = f"{graph.name}: {sum(found.sizes.values()):,} facts"
    figure.suptitle(title, fontweight="bold", parse_math=False)
    labels, counts = zip(*_degree_counts(found), strict=True)
    left.bar(labels, counts, color="#3b6ea5")
    left.set(title="Entities by number of facts", xlabel="facts in train", ylabel="entities")
    left.tick_params(axis="x", rotation=60)
    sizes = [row.facts for row in found.predicates if row.facts]
    middle.plot(range(1, len(sizes) + 1), sizes, ".-", color="#3b6ea5")
    middle.set(title="Facts by predicate", xlabel="predicate, largest first", ylabel="facts")
    middle.set(xscale="log", yscale="log")
    right.bar([*found.by_category], [n for _, n in found.by_category.values()], color="#c8553d")
    right.set(title="Facts by kind of predicate", ylabel="facts")
    for axes in (left, middle, right):
        axes.spines[["top", "right"]].set_visible(False)
    try:
        with replacing(path) as part:
            figure.savefig(part, dpi=130, format=path.suffix.removeprefix(".") or "png")
    except ValueError as error:
        raise OutputError(f"{path}: cannot be drawn ({one_line(str(error))})") from None
    finally:
        plt.close(figure)
