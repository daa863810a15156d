"""The work behind `trifact search`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trifact.cli.screen import Grid, count, say, screen, short, table, watching
from trifact.errors import ConfigError, TrainingError
from trifact.graph.loading import load
from trifact.graph.options import LoadConfig
from trifact.progress import Progress
from trifact.run.durations import shown
from trifact.trials.folder import BEST, REPORT
from trifact.trials.options import SearchConfig
from trifact.trials.pruning import first_cut
from trifact.trials.search import Search, begin, reopen
from trifact.trials.space import read_space
from trifact.trials.trial import Trial, best_first, best_of, cells, described

SHOWN = 20
ALWAYS = ("trial", "state", "MRR", "epochs", "time")
CELL = 14  # characters of a value


@dataclass(frozen=True)
class Request:
    """What the user asked for."""

    space: str
    graph: str
    out: Path | None
    resume: Path | None
    search: dict[str, Any]
    settings: dict[str, Any]
    loading: dict[str, Any]


def run_search(asked: Request) -> None:
    """Search or go on, show how it goes, and what was found."""
    if bool(asked.space) == bool(asked.resume):
        raise ConfigError("give a space and a --graph, or a search to --resume (and not both)")
    with watching() as progress:
        search = _reopened(asked) if asked.resume else _begun(asked, progress)
        say(_plan(search))
        search.run(on_trial=show, progress=progress)
    trials = search.trials()
    grid, left_out = results(list(search.space.searched), trials, screen().width)
    screen().print(grid)
    if left_out:
        say(f"no room for {', '.join(left_out)}; trials.csv has all settings")
    say(*_ending(search, trials))
    if best_of(trials) is None and all(trial.ended for trial in trials):
        raise TrainingError("no trial left a model; trials.csv has the reasons")


def _begun(asked: Request, progress: Progress) -> Search:
    if not asked.graph:
        raise ConfigError("say for which graph: --graph NAME, or a file or folder")
    space, given = read_space(asked.space)
    config = SearchConfig.from_values({**given, **asked.search})
    space = space.fixing(asked.settings)
    space.check()  # before a large graph is read
    graph = load(asked.graph, LoadConfig.from_values(asked.loading), progress=progress)
    say(*graph.notes)
    return begin(graph, space, config, out=asked.out)


def _reopened(asked: Request) -> Search:
    given = [name for name, value in (("graph", asked.graph), ("out", asked.out)) if value]
    for name in (*given, *asked.settings, *asked.loading):
        flag = name.replace("_", "-")
        raise ConfigError(f"--{flag} cannot change when a search goes on; leave it out")
    assert asked.resume is not None
    return reopen(asked.resume, **asked.search)


def _plan(search: Search) -> str:
    config, trials = search.config, search.trials()
    how = "a grid" if config.sampler == "grid" else "chosen by TPE"
    left = sum(not trial.ended for trial in trials)
    first = first_cut(search.space, config)
    pruned = "none pruned" if first is None else f"hopeless ones pruned from epoch {first} on"
    within = f", within {shown(config.seconds)}" if config.timeout else ""
    return (
        f"{search.path}: {count(len(trials), 'trial')} over {', '.join(search.space.searched)}, "
        f"{how}, {pruned}; {left} to do with {count(config.workers, 'worker')}{within}"
    )


def show(trial: Trial) -> None:
    """One line a trial."""
    mrr = "" if trial.mrr is None else f"MRR {trial.mrr:.4f}  "
    words = f"trial {trial.number:3}  {trial.state:8}  {mrr}epoch {trial.epochs:3}"
    say(f"{words}  {described(trial.settings)}")
    if trial.state in ("failed", "diverged"):
        say(f"           {trial.reason}")


def results(
    names: Sequence[str], trials: Sequence[Trial], width: int
) -> tuple[Grid, Sequence[str]]:
    """The best trials, with as many settings as the screen is wide; and those left out."""
    started = [trial for trial in best_first(trials) if trial.state != "waiting"]
    rows = [[short(cell, CELL) for cell in cells(trial, names)] for trial in started[:SHOWN]]
    header = [*ALWAYS, *(short(name, CELL) for name in names)]
    fitting = _fitting([header, *rows], width)
    grid = table(*header[:fitting], text=2)
    for row in rows:
        grid.add_row(*row[:fitting])
    return grid, names[fitting - len(ALWAYS) :]


def _fitting(rows: Sequence[Sequence[str]], room: int) -> int:
    """How many columns the screen has room for; each has a blank on both sides."""
    for columns, column in enumerate(zip(*rows, strict=True)):
        room -= 2 + max(map(len, column))
        if room < 0:
            return columns
    return len(rows[0])


def _ending(search: Search, trials: Sequence[Trial]) -> list[str]:
    best, left = best_of(trials), sum(not trial.ended for trial in trials)
    lines = [f"all trials, with pictures: {search.path / REPORT}; as a table: trials.csv beside it"]
    if best is not None:
        elsewhere = f"{best.folder} in another folder of this search, on {best.machine}"
        where = search.folder_of_best(trials) or elsewhere
        lines.append(
            f"the best settings: {search.path / BEST} (trifact train GRAPH --config FILE); "
            f"its run: {where}"
        )
    if left:
        lines.append(f"the time is up with {search.standing()}, {search.way_on}")
    return lines
