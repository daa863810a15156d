"""A run that can be asked: what `trifact.train` and `trifact.load_run` give."""

from __future__ import annotations

import os
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trifact.errors import ConfigError, OutputError
from trifact.run import run

if TYPE_CHECKING:
    from trifact.answer.answers import Answers
    from trifact.answer.calibration import Calibration
    from trifact.answer.discovery import Discovery
    from trifact.answer.explanation import Explanation
    from trifact.answer.names import Name, Several
    from trifact.answer.newcomers import Facts
    from trifact.answer.predictor import Predictor
    from trifact.graph.graph import Graph
    from trifact.run.evaluation import Evaluation


class Run(run.Run):
    """The run in a folder, with what the floor of answers makes of it."""

    def predictor(self, facts: Facts | None = None, **reading: Any) -> Predictor:  # noqa: ANN401
        """Answers by name; `facts` (a file, a graph, or tuples) may be about new entities.

        What of them was left out is a warning. `reading` are fields of `LoadConfig`, where the
        file needs some.
        """
        from trifact.answer.predictor import Predictor
        from trifact.graph.graph import Graph

        if reading and (facts is None or isinstance(facts, Graph)):
            raise ConfigError(f"{next(iter(reading))} is about reading facts; give some to read")
        if facts is None:
            return Predictor.of(self)
        from trifact.answer.folding import fold
        from trifact.graph.options import DRAWING, LoadConfig

        for name in sorted(reading.keys() & set(DRAWING)):
            raise ConfigError(f"{name} is about splitting, and here nothing is split; leave it out")
        new = fold(self, facts, reading=LoadConfig.from_values(reading))
        for doubt in new.doubts:
            warnings.warn(doubt, stacklevel=2)
        return Predictor.with_new(self, new)

    def evaluate(self, graph: Graph | str | os.PathLike[str] = "", **settings: Any) -> Evaluation:  # noqa: ANN401
        """Rank the test facts, or those of another graph, by name or as `trifact.load` gave it.

        `settings` are the fields of `EvaluateConfig`. It is kept with the run; one that cannot be
        written to is evaluated with a warning.
        """
        from trifact.graph.loading import loaded
        from trifact.run.evaluation import measure
        from trifact.run.protocol import EvaluateConfig

        other = None if isinstance(graph, str) else loaded(graph)
        named = {"graph": graph if other is None else other.name, **settings}
        found = measure(self, EvaluateConfig.from_values(named), other=other)
        try:
            return found.kept()
        except OutputError as error:
            warnings.warn(f"not kept: {error}", stacklevel=2)
            return found

    def calibrate(
        self,
        negatives: Graph | str | os.PathLike[str] | None = None,
        **settings: Any,  # noqa: ANN401
    ) -> Calibration:
        """Fit probabilities and keep them; `settings` are the fields of `CalibrateConfig`.

        `negatives` are false facts, as `trifact.load` takes or gives them.
        """
        from trifact.answer.calibration import calibrate
        from trifact.answer.options import CalibrateConfig
        from trifact.graph.loading import loaded

        if negatives is not None and settings.keys() & {"k", "questions"}:
            raise ConfigError("k and questions are for answers of its own; leave out negatives")
        false = None if negatives is None else loaded(negatives)
        return calibrate(self, CalibrateConfig.from_values(settings), negatives=false)

    def discover(
        self,
        out: str | os.PathLike[str] | None = None,
        *,
        overwrite: bool = False,
        **settings: Any,  # noqa: ANN401
    ) -> Discovery:
        """The most probable missing facts; `settings` are the fields of `DiscoverConfig`.

        With `out`, Ctrl-C keeps where it stands, and the same call goes on from there.
        """
        from trifact.answer.discovery import discover
        from trifact.answer.options import DiscoverConfig
        from trifact.run.signals import for_python

        place = None if out is None else Path(out)
        config = DiscoverConfig.from_values(settings)
        with for_python():
            return discover(self, config, out=place, overwrite=overwrite)

    def explain(self, subject: Name, predicate: Name, object: Name, **settings: Any) -> Explanation:  # noqa: A002, ANN401
        """What the probability of a fact rests on; `settings`: those of `ExplainConfig`."""
        from trifact.answer.explanation import explain
        from trifact.answer.names import as_text
        from trifact.answer.options import ExplainConfig

        fact = as_text(subject), as_text(predicate), as_text(object)
        return explain(self, fact, ExplainConfig.from_values(settings))

    def similar(
        self,
        names: Several,
        *,
        predicate: bool = False,
        **settings: Any,  # noqa: ANN401
    ) -> Answers:
        """The entities most like one or each of several, or the predicates.

        `settings` are the fields of `SimilarConfig`.
        """
        from trifact.answer.options import SimilarConfig
        from trifact.answer.similarity import similar_entities, similar_predicates

        find = similar_predicates if predicate else similar_entities
        config = SimilarConfig.from_values(settings)
        return find(self.model(), self.graph(), names, config)

    def export(
        self,
        to: str | os.PathLike[str],
        *,
        format: str,  # noqa: A002 - as the option is called
        checkpoint: str = "best",
        overwrite: bool = False,
    ) -> list[Path]:
        """Write the factors for other programs; returns the files."""
        from trifact.answer.export import export

        return export(self, Path(to), form=format, checkpoint=checkpoint, overwrite=overwrite)
