"""What the paper says of its graphs and norms that needs no training: sizes, symmetry, a tree."""

from __future__ import annotations

from contextlib import suppress

from trifact.errors import DownloadError
from trifact.graph.graph import Graph
from trifact.graph.loading import load
from trifact.paper import archive
from trifact.paper.archive import Record
from trifact.paper.pace import seconds_a_step
from trifact.paper.recipes import Recipe
from trifact.paper.reproduction import Workshop
from trifact.paper.symmetry import Tree, must_fail
from trifact.run import machine

TREES = (Tree(2, 8), Tree(3, 5), Tree(4, 4), Tree(5, 4), Tree(10, 3))


def sizes(graph: Graph) -> Record:
    """Table 1: what a graph holds."""
    return {
        "entities": len(graph.entities),
        "predicates": len(graph.predicates),
        **{split: len(facts) for split, facts in graph.splits.items()},
        "content_hash": graph.content_hash,
    }


def symmetry(graph: Graph) -> Record:
    """Test facts on which a symmetric model must fail on one of two queries."""
    return {
        "test": len(graph.test),
        "must_fail": int(must_fail(graph).sum()),
        "content_hash": graph.content_hash,
    }


OF_GRAPHS = {"table1": sizes, "symmetry": symmetry}


def appendix() -> list[Record]:
    """The filtered MRR of the symmetric scorer on trees, beside the appendix's formula."""
    return [
        {
            "n": tree.n,
            "depth": tree.depth,
            "nodes": tree.nodes,
            "queries": 2 * (tree.nodes - 1),
            "mrr": tree.mrr(),
            "formula": tree.expected_mrr(),
        }
        for tree in TREES
    ]


def keep_study(name: str, datasets: tuple[str, ...], *, shop: Workshop) -> None:
    """Make a study anew and keep its record: it costs seconds, and the data may have come.

    What is known of a graph whose data cannot be had any more stays; None, if nothing is.
    """
    path, found = shop.results / f"{name}.json", archive.begun(name, code=shop.code)
    if name == "appendix":
        found["trees"] = appendix()
    else:
        found["graphs"] = (archive.read(path) or {}).get("graphs", {})
        for dataset in datasets:
            found["graphs"].setdefault(dataset, None)
            with suppress(DownloadError):
                graph = load(dataset, progress=shop.progress)
                found["graphs"][dataset] = OF_GRAPHS[name](graph)
    archive.write(path, found)


def keep_pace(name: str, first: Recipe, second: Recipe, *, shop: Workshop) -> None:
    """How much slower the steps of the second recipe are; timed once."""
    path = shop.results / f"{name}.json"
    if archive.read(path) is not None:
        return
    shop.check_time()
    shop.say(f"{name}: timing steps")
    graph = load(first.dataset, progress=shop.progress)
    seconds = seconds_a_step(graph, *(recipe.example.train for recipe in (first, second)))
    found = archive.begun(name, code=shop.code)
    found |= {"machine": machine.describe(), "rows": [first.row, second.row]}
    found |= {"dataset": first.dataset, "seconds": seconds, "ratio": seconds[1] / seconds[0]}
    archive.write(path, found)
