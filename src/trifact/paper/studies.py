"""What the paper says of its graphs and norms that needs no training: sizes, symmetry, a tree."""

from __future__ import annotations

from collections.abc import Iterator

from trifact.errors import DownloadError
from trifact.graph.graph import Graph
from trifact.graph.loading import load
from trifact.paper import archive
from trifact.paper.archive import FORMAT, Record
from trifact.paper.pace import seconds_a_step
from trifact.paper.recipes import Recipe
from trifact.paper.reproduction import Workshop
from trifact.paper.symmetry import Tree, must_fail
from trifact.progress import Progress
from trifact.run import machine

TREES = (Tree(2, 8), Tree(3, 5), Tree(4, 4), Tree(5, 4), Tree(10, 3))


def sizes(datasets: tuple[str, ...], progress: Progress) -> Record:
    """Table 1: what each graph holds; None where there is no data."""
    return {
        name: None
        if graph is None
        else {
            "entities": len(graph.entities),
            "predicates": len(graph.predicates),
            **{split: len(facts) for split, facts in graph.splits.items()},
            "content_hash": graph.content_hash,
        }
        for name, graph in _graphs(datasets, progress)
    }


def symmetry(datasets: tuple[str, ...], progress: Progress) -> Record:
    """Test facts on which a symmetric model must fail on one of two queries."""
    return {
        name: None
        if graph is None
        else {
            "test": len(graph.test),
            "must_fail": int(must_fail(graph).sum()),
            "content_hash": graph.content_hash,
        }
        for name, graph in _graphs(datasets, progress)
    }


def _graphs(datasets: tuple[str, ...], progress: Progress) -> Iterator[tuple[str, Graph | None]]:
    for name in datasets:
        try:
            yield name, load(name, progress=progress)
        except DownloadError:
            yield name, None


def appendix(trees: tuple[Tree, ...] = TREES) -> list[Record]:
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
        for tree in trees
    ]


def keep_study(name: str, datasets: tuple[str, ...], *, shop: Workshop) -> Record:
    """Make a study anew and keep its record: it costs seconds, and the data may have come."""
    found: Record = {"format": FORMAT, "name": name, "commit": shop.code}
    if name == "appendix":
        found["trees"] = appendix()
    else:
        study = sizes if name == "table1" else symmetry
        known = (archive.read(shop.results / f"{name}.json") or {}).get("graphs", {})
        made = study(datasets, shop.progress)
        found["graphs"] = known | {graph: row or known.get(graph) for graph, row in made.items()}
    archive.write(shop.results / f"{name}.json", found)
    return found


def keep_pace(name: str, first: Recipe, second: Recipe, *, shop: Workshop) -> Record:
    """How much slower the steps of the second recipe are; timed once."""
    path = shop.results / f"{name}.json"
    if (kept := archive.read(path)) is not None:
        return kept
    shop.check_time()
    shop.say(f"{name}: timing steps")
    graph = load(first.dataset, progress=shop.progress)
    configs = [
        r.settled(r.choice.values[0]).train if r.choice else r.train for r in (first, second)
    ]
    seconds = seconds_a_step(graph, *configs)
    found: Record = {"format": FORMAT, "name": name, "commit": shop.code}
    found |= {"machine": machine.describe(), "rows": [first.row, second.row]}
    found |= {"dataset": first.dataset, "seconds": seconds, "ratio": seconds[1] / seconds[0]}
    archive.write(path, found)
    return found
