"""trifact completes knowledge bases: from facts to the facts that are missing.

>>> import trifact
>>> graph = trifact.load([("France", "has capital", "Paris"), ("Paris", "located in", "France")])
>>> graph.entities[:], len(graph.train)
(['France', 'Paris'], 2)

Everything here is imported when it is first used, so `import trifact` is instant.
"""

from __future__ import annotations

import dataclasses
import importlib
import os
import sys
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0.dev0"

if sys.platform == "win32":
    raise ImportError("trifact needs Linux or macOS; on Windows it works in WSL")

if TYPE_CHECKING:
    from trifact.answer.run import Run as Run
    from trifact.config import Config as Config
    from trifact.errors import TrifactError as TrifactError
    from trifact.graph.graph import Graph as Graph
    from trifact.graph.options import LoadConfig as LoadConfig
    from trifact.run.evaluation import Evaluation as Evaluation
    from trifact.run.history import Epoch
    from trifact.run.options import TrainConfig as TrainConfig
    from trifact.run.protocol import EvaluateConfig as EvaluateConfig
    from trifact.trials.found import Found as Found
    from trifact.trials.options import SearchConfig as SearchConfig

_ROOMS = {
    "Config": "trifact.config",
    "EvaluateConfig": "trifact.run.protocol",
    "Evaluation": "trifact.run.evaluation",
    "Found": "trifact.trials.found",
    "Graph": "trifact.graph.graph",
    "LoadConfig": "trifact.graph.options",
    "Run": "trifact.answer.run",
    "SearchConfig": "trifact.trials.options",
    "TrainConfig": "trifact.run.options",
    "TrifactError": "trifact.errors",
}
__all__ = [
    "Config",
    "EvaluateConfig",
    "Evaluation",
    "Found",
    "Graph",
    "LoadConfig",
    "Run",
    "SearchConfig",
    "TrainConfig",
    "TrifactError",
    "evaluate",
    "load",
    "load_run",
    "search",
    "train",
]


def load(source: object, **settings: Any) -> Graph:  # noqa: ANN401
    """The graph of a benchmark's name, a file, a folder, a table or tuples.

    `settings` are the fields of `LoadConfig`; a table is one of pandas, polars or Arrow.
    """
    from trifact.graph.loading import load as load_graph
    from trifact.graph.options import LoadConfig

    return load_graph(source, LoadConfig.from_values(settings))


def train(
    graph: object,
    *,
    out: str | os.PathLike[str] | None = None,
    on_epoch: Callable[[Epoch], str | None] = lambda epoch: None,
    **settings: Any,  # noqa: ANN401
) -> Run:
    """Train a model on a graph, and calibrate it on the validation facts, if there are some.

    The graph is one that `load` gave, or whatever it takes.
    `settings` are the fields of `TrainConfig`. `on_epoch` is called after each epoch, with what
    it came to (`print` shows that); if it says a text, training ends there for that reason.
    """
    from trifact.answer.calibration import calibrate_new
    from trifact.answer.run import Run
    from trifact.graph.loading import loaded
    from trifact.run.options import TrainConfig
    from trifact.run.signals import for_python
    from trifact.run.training import train as train_model

    folder = None if out is None else Path(out)
    config = TrainConfig.from_values(settings)
    with for_python():
        run = Run(train_model(loaded(graph), config, out=folder, on_epoch=on_epoch).path)
    try:
        calibrate_new(run, say=warnings.warn)
    except KeyboardInterrupt:
        done = f"{run.path} is trained; its probabilities are made by load_run(...).calibrate()"
        raise KeyboardInterrupt(done) from None
    return run


def search(
    graph: object,
    space: str | os.PathLike[str] | Mapping[str, Any],
    *,
    out: str | os.PathLike[str] | None = None,
    **settings: Any,  # noqa: ANN401
) -> Found[Run]:
    """Train over a space of settings: a file's, one by name, or values as a file has them.

    The graph is one that `load` gave, or whatever it takes.
    `settings` are the fields of `SearchConfig`, and those of `TrainConfig`, which fix a setting
    whatever the space says. Trials are trained in processes of their own, so a script calls this
    below `if __name__ == "__main__":`.
    """
    from trifact.graph.loading import loaded
    from trifact.run.options import TrainConfig
    from trifact.run.signals import for_python
    from trifact.trials.found import Found
    from trifact.trials.options import SearchConfig
    from trifact.trials.search import begin
    from trifact.trials.space import read_space
    from trifact.trials.trial import best_first

    chosen, given = read_space(space)
    training = {field.name for field in dataclasses.fields(TrainConfig)}
    fixed = {name: settings.pop(name) for name in training & settings.keys()}
    config = SearchConfig.from_values({**given, **settings})
    made = begin(
        loaded(graph), chosen.fixing(fixed), config, out=None if out is None else Path(out)
    )
    with for_python():
        made.run()
    trials = best_first(made.trials())
    best = made.folder_of_best(trials)
    return Found(made.path, tuple(trials), None if best is None else load_run(best))


def evaluate(run: Run, *, graph: Graph | str = "", **settings: Any) -> Evaluation:  # noqa: ANN401
    """Rank the test facts of a run, or those of another graph, by name or as `load` gave it.

    `settings` are the fields of `EvaluateConfig`.
    """
    return run.evaluate(graph, **settings)


def load_run(path: str | os.PathLike[str]) -> Run:
    """The run in a folder."""
    from trifact.answer.run import Run

    return Run(path)


def __getattr__(name: str) -> object:
    if name not in _ROOMS:
        raise AttributeError(f"module 'trifact' has no attribute {name!r}")
    return getattr(importlib.import_module(_ROOMS[name]), name)


def __dir__() -> list[str]:
    return __all__
