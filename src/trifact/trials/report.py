"""One self-contained page about a search: its trials, what mattered, how they went."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from html import escape

import optuna
from optuna.importance import PedAnovaImportanceEvaluator, get_param_importances

from trifact.run.durations import shown
from trifact.run.markup import cards, document, figure, paragraph, section, side_by_side, table
from trifact.run.pictures import Series, bar_chart, legend, line_chart
from trifact.trials.coordinates import Line, parallel_coordinates
from trifact.trials.queue import distribution
from trifact.trials.space import Choice, Range, Space
from trifact.trials.trial import Trial, best_first, best_of, cells, described, value

MOST_TRIALS = 50
MOST_CURVES = 6
ENOUGH = 8  # trials, to say what mattered
TOP = 5  # so many of them, at least, are what it takes to be good


def page(name: str, space: Space, trials: Sequence[Trial]) -> str:
    """The whole page."""
    judged, how = judged_equally(trials)
    parts = [
        f"<h1>{escape(name)}</h1>",
        _cards(trials),
        section("Trials", _table(space, trials)),
        section("How they went, and what mattered", _mattered(space, judged, how, _curves(trials))),
        section("Settings", _settings(space)),
    ]
    return document(name, *parts)


def judged_equally(trials: Sequence[Trial]) -> tuple[list[tuple[Trial, float]], str]:
    """Trials with an MRR by which they can be compared, and how that was measured.

    If some were pruned, what counts is the best MRR of the epochs that all of them have: later
    epochs would make a trial good only because it was allowed to have them.
    """
    able = [trial for trial in trials if trial.left_a_model]
    if not any(trial.state == "pruned" for trial in able):
        judged = [(trial, trial.mrr_within(trial.epochs)) for trial in able]
        how = "Trials are judged by their best validation MRR."
    else:
        epochs = min(trial.epochs for trial in able)
        judged = [(trial, trial.mrr_within(epochs)) for trial in able]
        how = (
            f"Some trials were pruned, so all are judged here by their best validation MRR up to "
            f"epoch {epochs}, which all of them reached."
        )
    return [(trial, mrr) for trial, mrr in judged if mrr is not None], how


def importances(space: Space, judged: Sequence[tuple[Trial, float]]) -> dict[str, float]:
    """The share of each setting in what tells good trials from all (PED-ANOVA, Watanabe 2023)."""
    if len(judged) < ENOUGH or len({mrr for _, mrr in judged}) < 2:
        return {}
    study = optuna.create_study(direction="maximize")
    kinds = {key: distribution(choice) for key, choice in space.searched.items()}
    for trial, mrr in judged:
        made = optuna.create_trial(params=trial.settings, distributions=kinds, value=mrr)
        study.add_trial(made)
    top = max(0.1, min(0.5, TOP / len(judged)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        return get_param_importances(
            study, evaluator=PedAnovaImportanceEvaluator(target_quantile=top)
        )


def _cards(trials: Sequence[Trial]) -> str:
    best, ended = best_of(trials), [trial for trial in trials if trial.ended]
    pruned = sum(trial.state == "pruned" for trial in trials)
    facts = [
        (f"{len(ended)} of {len(trials)}", f"trials done, {pruned} of them pruned"),
        (shown(sum(trial.seconds for trial in trials)), "of training"),
    ]
    if best is not None:
        facts.insert(0, (f"{best.mrr:.4f}", f"best validation MRR, trial {best.number}"))
        facts.append((f"trial {best.number}", described(best.settings)))
    return cards(facts)


def _table(space: Space, trials: Sequence[Trial]) -> str:
    started = [trial for trial in best_first(trials) if trial.state != "waiting"]
    header = ["trial", "state", "validation MRR", "epochs", "time", *space.searched]
    rows = [cells(trial, list(space.searched)) for trial in started[:MOST_TRIALS]]
    left = len(started) - len(rows)
    return table(header, rows, text=2) + paragraph(f"{left} more in trials.csv" if left else "")


def _mattered(space: Space, judged: Sequence[tuple[Trial, float]], how: str, curves: str) -> str:
    """Which settings tell good trials from all, how the best went, and the settings of each."""
    shares = list(importances(space, judged).items())
    if not shares:
        how += f" {len(judged)} are too few, or too much alike, to say which setting matters most."
    bars = figure("Importance of the settings", bar_chart(shares, unit="importance", form=".2f"))
    lines = [Line(_name(trial), trial.settings, mrr) for trial, mrr in judged]
    drawing = parallel_coordinates(space.searched, lines, result="MRR")
    wide = drawing and f'<div class="scroll"><div style="min-width:42rem">{drawing}</div></div>'
    halves = side_by_side(curves, bars or "<div></div>")
    return paragraph(how) + halves + figure("Trials by setting; the best in orange", wide)


def _curves(trials: Sequence[Trial]) -> str:
    """The course of the best trials."""
    good = [trial for trial in best_first(trials) if trial.course][:MOST_CURVES]
    curves = [Series(_name(trial), list(trial.course.items())) for trial in good]
    chart = line_chart(curves, x="epoch", y="validation MRR")
    names = legend([line.name for line in curves])
    return figure(f"The best {len(good)} trials", chart and chart + names)


def _settings(space: Space) -> str:
    rows = [[key, value(found)] for key, found in space.fixed.items()]
    rows += [[key, _choice(choice)] for key, choice in space.searched.items()]
    return table(["setting", "value"], rows)


def _choice(choice: Choice) -> str:
    if not isinstance(choice, Range):
        return "one of " + ", ".join(map(value, choice))
    log = ", evenly in its logarithm" if choice.log else ""
    return f"from {value(choice.low)} to {value(choice.high)}{log}"


def _name(trial: Trial) -> str:
    return f"trial {trial.number}"
