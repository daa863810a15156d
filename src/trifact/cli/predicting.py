"""The work behind `trifact predict` and `score`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from trifact.answer.answers import Answers, Cell, written
from trifact.answer.calibration import advice
from trifact.answer.files import check_free, write_answers
from trifact.answer.folding import fold
from trifact.answer.names import Names
from trifact.answer.options import PredictConfig
from trifact.answer.predictor import Predictor
from trifact.answer.scorefile import score_file
from trifact.cli.facts import as_said
from trifact.cli.screen import count, put, say, screen, table, watching
from trifact.errors import ConfigError, InputError
from trifact.graph.options import LoadConfig
from trifact.graph.sources import BadLines, Source, one_line, text_lines, without_end
from trifact.run.matching import Called
from trifact.run.run import Run

LARGEST = 10**9  # bytes of a file of candidates
SHOWN = 20


@dataclass(frozen=True)
class Question:
    """Two names and what is `wanted` of them: "object", "subject" or "predicate"."""

    name: str
    other: str
    wanted: str
    candidates: Path | None
    settings: dict[str, Any]


@dataclass(frozen=True)
class Output:
    """Where answers go: to a file, or to the screen in some form."""

    file: Path | None
    form: str
    overwrite: bool


def run_prediction(
    path: Path,
    question: Question,
    *,
    with_facts: Path | None,
    reading: dict[str, Any],
    form: str,
) -> None:
    """Answer, and show it."""
    run = Run(path)
    predictor = _predictor(run, with_facts, as_said(reading, of=with_facts, flag="--with"))
    found = _answered(predictor, question)
    if not print_for_programs(found, form):
        _show_answers(found, question, predictor)
    say_doubts(run, _doubts(found, predictor))


def _predictor(run: Run, with_facts: Path | None, reading: LoadConfig) -> Predictor:
    if with_facts is None:
        return Predictor.of(run)
    with watching() as progress:
        new = fold(run, with_facts, reading=reading, progress=progress)
    say(*new.notes, *new.doubts)
    return Predictor.with_new(run, new)


def _answered(predictor: Predictor, question: Question) -> Answers:
    names = question.name, question.other
    if question.wanted == "predicate":
        if question.candidates is not None or "among" in question.settings:
            raise ConfigError("candidates are entities; they cannot be given with --predicate")
        return predictor.predicates(*names, **question.settings)
    candidates = None
    if question.candidates is not None:
        candidates = _names_in(question.candidates, predictor.names)
    settings = {"candidates": candidates, **question.settings}
    if question.wanted == "subject":
        return predictor.subjects(question.other, question.name, **settings)
    return predictor.objects(*names, **settings)


def _names_in(path: Path, known: Names) -> list[str]:
    """The names that the lines of a file mean; each but an empty one must mean one."""
    bad, names = BadLines(path, skip=False), list[str]()
    with Source.at(path, cap=LARGEST).open() as stream:
        for number, line in text_lines(stream, bad):
            if name := without_end(line):
                try:
                    names.append(known.graph.entities[known.entity(name)])
                except InputError as error:
                    bad.report(number, error.problem)
    if not names:
        raise InputError("there is no name in it; put one candidate on a line", path=path)
    return names


def run_scoring(
    path: Path,
    facts: Path,
    output: Output,
    config: PredictConfig,
    *,
    with_facts: Path | None,
    reading: dict[str, Any],
) -> None:
    """Score the facts of a file, and show or write them."""
    said = as_said(reading, of=facts)
    if output.file is not None:
        if output.form != "table":
            raise ConfigError("the ending of --out says the format; leave --format out")
        check_free(output.file, overwrite=output.overwrite)
    run = Run(path)
    predictor = _predictor(run, with_facts, said)
    with watching() as progress:
        found, notes = score_file(predictor, facts, config, reading=said, progress=progress)
    say(*notes)
    say_doubts(run, _doubts(found, predictor))
    if output.file is not None:
        write_answers(found, output.file, overwrite=output.overwrite)
        say(f"{output.file}: {count(len(found), 'fact')} written")
    elif not print_for_programs(found, output.form):
        _show_facts(found)


def print_for_programs(found: Answers, form: str) -> bool:
    """Print it for programs, if that is asked for."""
    if form != "table":
        put(found.to_json() + "\n" if form == "json" else found.to_tsv())
    return form != "table"


def _show_answers(found: Answers, question: Question, predictor: Predictor) -> None:
    """The answers of one question, under the question."""
    columns: dict[str, Sequence[Cell]] = {question.wanted: found.columns[question.wanted]}
    columns |= {name: found.columns[name] for name in ("label", "probability", "score", "known")}
    first, middle, last = _asked(question, predictor)
    screen().print(one_line(f"{first} · {middle} · {last}") + "\n")
    if not len(found):
        known = question.settings.get("known")
        say("there is no candidate" + ("" if known else " that is not known; --known shows all"))
        return
    if not question.settings.get("known"):
        del columns["known"]
    screen().print(_grid(columns))
    if question.wanted != "predicate":
        say(*_hints(question, predictor))


def say_doubts(run: Run, doubts: Sequence[str] | None) -> None:
    """Say what to know about probabilities; None if there are none, and then why."""
    if doubts is None:
        doubts = [f"no probabilities: the run has no calibration; {advice(run)}"]
    say(*doubts)


def _doubts(found: Answers, predictor: Predictor) -> list[str] | None:
    """What to know about the probabilities among the answers; None without a calibration."""
    if predictor.calibration is None:
        return None
    pairs = zip(found.columns["predicate"], found.columns["probability"], strict=True)
    names = [str(name) for name, probability in pairs if probability is not None]
    called = Called(predictor.graph.predicates, predictor.graph.predicate_labels)
    ids = {name: called.find(name) for name in set(names)}
    return predictor.calibration.doubts(np.array([ids[name] for name in names], dtype=np.int64))


def _hints(question: Question, predictor: Predictor) -> Iterator[str]:
    """How many answers are known and not shown; or that only the other way round there are some."""
    names, predicates = predictor.names, len(predictor.graph.predicates)
    ways = names.predicate(question.other) + np.array([0, predicates])  # for objects, for subjects
    rows, _ = predictor.known.lookup(np.full(2, names.entity(question.name)), ways)
    objects, subjects = np.bincount(rows, minlength=2).tolist()
    asked, other = (objects, subjects) if question.wanted == "object" else (subjects, objects)
    anyone = question.candidates is None and "among" not in question.settings
    if asked and anyone and not question.settings.get("known"):
        yield f"{count(asked, 'known answer')} not shown; --known shows all"
    if other and not asked:
        role, turn = ("object", "ask with") if subjects else ("subject", "ask without")
        only = f"{question.name!r} only as {role} of {question.other!r}"
        yield f"the graph has {only}; {turn} --object"


def _asked(question: Question, predictor: Predictor) -> tuple[str, str, str]:
    """The question as people read it, with labels where there are some."""
    graph, names = predictor.graph, predictor.names
    entity = graph.entity_label(names.entity(question.name))
    if question.wanted == "predicate":
        return entity, "?", graph.entity_label(names.entity(question.other))
    predicate = graph.predicate_label(names.predicate(question.other))
    return ("?", predicate, entity) if question.wanted == "subject" else (entity, predicate, "?")


def _show_facts(found: Answers) -> None:
    """The first facts of many."""
    few = {name: column[:SHOWN] for name, column in found.columns.items()}
    screen().print(_grid(few, text=3))
    if len(found) > SHOWN:
        say(f"{len(found) - SHOWN:,} more; all of them: --out FILE, or --format tsv")


def _grid(columns: Mapping[str, Sequence[Cell]], *, text: int = 0) -> object:
    """A table of cells; columns in which nothing stands are left out."""
    kept = {name: c for name, c in columns.items() if any(cell is not None for cell in c)}
    first = text or sum(any(isinstance(cell, str) for cell in c) for c in kept.values())
    grid = table(*kept, text=first)
    for row in zip(*kept.values(), strict=True):
        grid.add_row(*(cell if isinstance(cell, str) else written(cell) for cell in row))
    return grid
