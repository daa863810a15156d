"""Answers by name: the objects, subjects or predicates that fit best, and the scores of facts."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray

from trifact.answer.answers import Answers, Cell
from trifact.answer.best import as_facts, best
from trifact.answer.calibration import Calibration, read_calibration
from trifact.answer.leftout import with_loops
from trifact.answer.names import Name, Names, Several, listed
from trifact.answer.options import PredictConfig
from trifact.errors import ConfigError, InputError
from trifact.graph.graph import Graph
from trifact.graph.known import Ints, KnownAnswers
from trifact.run.candidates import Candidates, observed, of_types
from trifact.run.ranktable import Bools
from trifact.run.run import Run
from trifact.tensor.models import Model
from trifact.tensor.scoring import fact_scores, log_probabilities

if TYPE_CHECKING:
    from trifact.answer.folding import Folded

Fact = tuple[Name, Name, Name]


class Predictor:
    """A model that answers questions about its graph, by name or label.

    Answers come in the order of their score, log p(answer | question); the probability is that
    of the fact as a whole, by the run's calibration, and is None where the run has none.
    """

    def __init__(
        self,
        graph: Graph,
        model: Model,
        *,
        calibration: Calibration | None = None,
        loops: Bools | None = None,
    ) -> None:
        """`loops` are the predicates under which an entity may answer itself, if not by train."""
        self.graph, self.model, self.calibration = graph, model, calibration
        self.names, self._loops = Names(graph), with_loops(graph) if loops is None else loops

    @classmethod
    def of(cls, run: Run) -> Predictor:
        """That of a run."""
        return cls(run.graph(), run.model(), calibration=read_calibration(run))

    @classmethod
    def with_new(cls, run: Run, new: Folded) -> Predictor:
        """That of a run and the entities that were folded in."""
        loops = with_loops(run.graph())  # of what training saw
        return cls(new.graph, new.model, calibration=read_calibration(run), loops=loops)

    def objects(
        self,
        subject: Several,
        predicate: Several,
        k: int = 10,
        *,
        candidates: Several | None = None,
        **settings: Any,  # noqa: ANN401 - the fields of PredictConfig
    ) -> Answers:
        """The best objects of (subject, predicate, ?), for one question or for many.

        `candidates` are the names of those to choose from; `settings` the fields of PredictConfig.
        The subject is no answer to its own question, unless train has such facts of the predicate.
        """
        config = PredictConfig.from_values({"k": k, **settings})
        asked = self._questions(subject, predicate)
        return self._answered(asked, config, candidates)

    def subjects(
        self,
        predicate: Several,
        object: Several,  # noqa: A002 - what it is
        k: int = 10,
        *,
        candidates: Several | None = None,
        **settings: Any,  # noqa: ANN401
    ) -> Answers:
        """The best subjects of (?, predicate, object); as `objects`."""
        config = PredictConfig.from_values({"k": k, **settings})
        asked = self._questions(object, predicate) + np.array([0, len(self.graph.predicates)])
        return self._answered(asked, config, candidates)

    def predicates(
        self,
        subject: Name,
        object: Name,  # noqa: A002
        k: int = 10,
        **settings: Any,  # noqa: ANN401
    ) -> Answers:
        """The best predicates of (subject, ?, object), by the score of the fact."""
        config = _without_candidates({"k": k, **settings})
        count = len(self.graph.predicates)
        facts = np.empty((count, 3), dtype=np.int64)
        facts[:] = self.names.entity(subject), 0, self.names.entity(object)
        facts[:, 1] = np.arange(count)
        known = self.known.contains(facts)
        facts, known = (facts, known) if config.known else (facts[~known], known[~known])
        scores = self._fact_scores(facts, config)
        order = np.argsort(-scores, kind="stable")[: config.k]
        labels = [self.graph.predicate_labels.get(j) for j in facts[order, 1].tolist()]
        return self._table(facts[order], labels, scores[order], scores[order], known[order])

    def score(self, facts: Iterable[Fact], **settings: Any) -> Answers:  # noqa: ANN401
        """The scores of given facts, in their order: 1/2 (log p(o | s, p) + log p(s | p, o))."""
        for name in sorted(settings.keys() & {"k", "known"}):
            raise ConfigError(f"{name} is about answers, and here all facts are; leave it out")
        config, names = _without_candidates(settings), self.names
        triples = [_three(fact) for fact in facts]
        rows = [(names.entity(s), names.predicate(p), names.entity(o)) for s, p, o in triples]
        return self.score_ids(np.array(rows, dtype=np.int64).reshape(-1, 3), config)

    def score_ids(self, facts: Ints, config: PredictConfig) -> Answers:
        """The same for facts by id, (n, 3)."""
        scores = self._fact_scores(facts, config)
        return self._table(facts, None, scores, scores, self.known.contains(facts))

    def _questions(self, entity: Several, predicate: Several) -> Ints:
        """Pairs (entity, predicate) by id; one name stands for as many as there are others."""
        entities, predicates = listed(entity), listed(predicate)
        size = max(len(entities), len(predicates))
        if {len(entities), len(predicates)} - {1, size} or not size:
            counts = f"{len(entities)} entities and {len(predicates)} predicates"
            raise ConfigError(f"as many entities as predicates are needed, not {counts}")
        ids = {name: self.names.entity(name) for name in dict.fromkeys(entities)}
        rows = {name: self.names.predicate(name) for name in dict.fromkeys(predicates)}
        left, right = [ids[name] for name in entities], [rows[name] for name in predicates]
        pairs = zip(left * (size // len(left)), right * (size // len(right)), strict=True)
        return np.array(list(pairs), dtype=np.int64)

    def _answered(self, asked: Ints, config: PredictConfig, candidates: Several | None) -> Answers:
        """The best answers of questions (n, 2) with reciprocal ids, as facts."""
        budget, count = config.budget_mb * 2**20, len(self.graph.predicates)
        found = best(
            self.model,
            asked,
            config.k,
            allowed=self._allowed(asked[:, 1], config, candidates),
            hidden=None if config.known else self.known,
            itself=self._itself(asked, known=config.known),
            budget=budget,
        )
        entities, predicates = asked[found.rows].T
        back = np.stack([found.answers, (predicates + count) % (2 * count), entities], axis=1)
        other = log_probabilities(self.model, torch.from_numpy(back), budget=budget)
        facts = as_facts(asked[found.rows], found.answers, count)
        labels = [self.graph.entity_labels.get(i) for i in found.answers.tolist()]
        scores = (found.scores + other.double().numpy()) / 2
        return self._table(facts, labels, found.scores, scores, self.known.contains(facts))

    def _itself(self, asked: Ints, *, known: bool) -> Bools:
        """Which questions the entity that asks may answer: also known ones, if these are shown."""
        found = self._loops[asked[:, 1] % len(self._loops)]
        return found | self.known.contains(asked[:, [0, 1, 0]]) if known else found

    def _allowed(
        self, predicates: Ints, config: PredictConfig, names: Several | None
    ) -> dict[int, Ints] | None:
        """The candidates of each predicate that is asked for; None if all entities are."""
        chosen = np.unique(predicates).tolist()
        if names is not None and config.among != "all":
            raise ConfigError("candidates are given; leave out among")
        if names is not None:
            given = np.unique([self.names.entity(name) for name in listed(names)]).astype(np.int64)
            if not len(given):
                raise ConfigError("the list of candidates is empty; leave it out to ask all")
            return dict.fromkeys(chosen, given)
        if config.among == "all":
            return None
        lists = of_types(self.graph, Path(config.types)) if config.types else self._observed
        return {predicate: lists.of(predicate) for predicate in chosen}

    def _fact_scores(self, facts: Ints, config: PredictConfig) -> NDArray[np.float64]:
        scores = fact_scores(
            self.model,
            torch.from_numpy(facts),
            predicates=len(self.graph.predicates),
            budget=config.budget_mb * 2**20,
        )
        return scores.double().numpy()

    def _table(
        self,
        facts: Ints,
        labels: list[str | None] | None,
        shown: NDArray[np.float64],
        scores: NDArray[np.float64],
        known: NDArray[np.bool_],
    ) -> Answers:
        """Facts by name with what is `shown` as their score; `scores` are those of the facts."""
        probabilities: list[Cell] = [None] * len(facts)
        if self.calibration is not None:
            probabilities = self.calibration.probabilities(facts, scores, self.train).tolist()
        subjects, predicates, objects = facts.T.tolist()
        columns: dict[str, list[Cell]] = {
            "subject": [self.graph.entities[i] for i in subjects],
            "predicate": [self.graph.predicates[j] for j in predicates],
            "object": [self.graph.entities[i] for i in objects],
        }
        if labels is not None:
            columns["label"] = list(labels)
        return Answers(
            {
                **columns,
                "score": shown.tolist(),
                "probability": probabilities,
                "known": known.tolist(),
            }
        )

    @cached_property
    def known(self) -> KnownAnswers:
        """What is known: the facts of all splits."""
        return self.graph.known()

    @cached_property
    def train(self) -> KnownAnswers:
        """What the model was trained on."""
        return self.graph.known("train")

    @cached_property
    def _observed(self) -> Candidates:
        return observed(self.graph)


def _three(fact: Fact) -> tuple[Name, Name, Name]:
    """The names of a fact; whatever is none is refused."""
    try:
        subject, predicate, object_ = () if isinstance(fact, str | bytes) else fact
    except (TypeError, ValueError):
        problem = f"a fact is a subject, a predicate and an object, not {fact!r:.80}"
        raise InputError(problem) from None
    return subject, predicate, object_


def _without_candidates(settings: dict[str, Any]) -> PredictConfig:
    """The settings of a question that has no entities as candidates."""
    config = PredictConfig.from_values(settings)
    if config.among != "all":
        raise ConfigError("among says which entities may answer; here none does, leave it out")
    return config
