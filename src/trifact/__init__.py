"""trifact completes knowledge bases: from facts to the facts that are missing.

>>> import trifact
>>> graph = trifact.load([("France", "has capital", "Paris"), ("Paris", "located in", "France")])
>>> graph.entities[:], len(graph.train)
(['France', 'Paris'], 2)

Everything here is imported when it is first used, so `import trifact` is instant.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0.dev0"

if TYPE_CHECKING:
    from trifact.config import Config as Config
    from trifact.errors import TrifactError as TrifactError
    from trifact.graph.graph import Graph as Graph
    from trifact.graph.options import LoadConfig as LoadConfig

_ROOMS = {
    "Config": "trifact.config",
    "Graph": "trifact.graph.graph",
    "LoadConfig": "trifact.graph.options",
    "TrifactError": "trifact.errors",
}
__all__ = ["Config", "Graph", "LoadConfig", "TrifactError", "load"]


def load(source: object, **settings: Any) -> Graph:  # noqa: ANN401
    """The graph of a benchmark's name, a file, a folder, a table or tuples.

    `settings` are the fields of `LoadConfig`; a table is one of pandas, polars or Arrow.
    """
    from trifact.graph.loading import load as load_graph
    from trifact.graph.options import LoadConfig

    return load_graph(source, LoadConfig.from_values(settings))


def __getattr__(name: str) -> object:
    if name not in _ROOMS:
        raise AttributeError(f"module 'trifact' has no attribute {name!r}")
    return getattr(importlib.import_module(_ROOMS[name]), name)
