"""The work behind `trifact search`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.table import Table

from trifact.cli.screen import count, say, screen, short, table, watching
from trifact.errors import ConfigError
from trifact.graph.loading import load
from trifact.graph.options import LoadConfig
from trifact.progress import Progress
from trifact.run.durations import shown
from trifact.trials.options import SearchConfig
from trifact.trials.report import setting
from trifact.trials.search import BEST, REPORT, Search, begin, reopen
from trifact.trials.space import read_space
from trifact.trials.trial import Trial, best_first, best_of

SHOWN = 20
WIDTH = 80
CELL = 14  # characters of a setting's value


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
    screen().print(results(list(search.space.searched), trials))
    say(*_ending(search, trials))


def _begun(asked: Request, progress: Progress) -> Search:
    if not asked.graph:
        raise ConfigError("say for which graph: --graph NAME, or a file or folder")
    space, given = read_space(asked.space)
    config = SearchConfig.from_values({**given, **asked.search})
    space = space.fixing(asked.settings)
    graph = load(asked.graph, LoadConfig.from_values(asked.loading), progress=progress)
    say(*graph.notes)
    return begin(graph, space, config, out=asked.out)


def _reopened(asked: Request) -> Search:
    given = {"--graph": asked.graph, "--out": asked.out, **asked.settings, **asked.loading}
    for name in (name for name, value in given.items() if value):
        raise ConfigError(f"{name} cannot change when a search goes on; leave it out")
    assert asked.resume is not None
    return reopen(asked.resume, **asked.search)


def _plan(search: Search) -> str:
    config, trials = search.config, search.trials()
    how = "a grid" if config.sampler == "grid" else "chosen by TPE"
    left = sum(not trial.ended for trial in trials)
    pruned = "hopeless ones pruned" if config.prune else "none pruned"
    within = f", within {shown(config.seconds)}" if config.timeout else ""
    return (
        f"{search.path}: {count(len(trials), 'trial')} over {', '.join(search.space.searched)}, "
        f"{how}, {pruned}; {left} to do with {count(config.workers, 'worker')}{within}"
    )


def show(trial: Trial) -> None:
    """One line a trial."""
    mrr = "" if trial.mrr is None else f"MRR {trial.mrr:.4f}  "
    settings = ", ".join(f"{key} {setting(value)}" for key, value in trial.settings.items())
    say(f"trial {trial.number:3}  {trial.state:8}  {mrr}epoch {trial.epochs:3}  {settings}")
    if trial.state in ("failed", "diverged"):
        say(f"           {trial.reason}")


def results(names: Sequence[str], trials: Sequence[Trial]) -> Table:
    """The best trials, with as many settings as the screen is wide."""
    started = [trial for trial in best_first(trials) if trial.state != "waiting"]
    rows = [
        [
            str(trial.number),
            trial.state,
            "" if trial.mrr is None else f"{trial.mrr:.4f}",
            str(trial.epochs),
            shown(trial.seconds),
            *(short(setting(trial.settings.get(name, "")), CELL) for name in names),
        ]
        for trial in started[:SHOWN]
    ]
    header = ["trial", "state", "MRR", "epochs", "time", *(short(name, CELL) for name in names)]
    fitting = _fitting([header, *rows])
    grid = table(*header[:fitting], text=2)
    for row in rows:
        grid.add_row(*row[:fitting])
    return grid


def _fitting(rows: Sequence[Sequence[str]]) -> int:
    """How many columns the screen has room for; each has a blank on both sides."""
    room, columns = WIDTH, 0
    for cells in zip(*rows, strict=True):
        room -= 2 + max(map(len, cells))
        if room < 0:
            break
        columns += 1
    return columns


def _ending(search: Search, trials: Sequence[Trial]) -> list[str]:
    best, left = best_of(trials), sum(not trial.ended for trial in trials)
    lines = [f"all trials, with pictures: {search.path / REPORT}; as a table: trials.csv beside it"]
    if best is not None:
        lines.append(
            f"the best settings: {search.path / BEST} (trifact train GRAPH --config FILE); "
            f"its run: {search.path / best.folder}"
        )
    if left:
        lines.append(f"the time is up with {search.standing()}, {search.way_on}")
    return lines
