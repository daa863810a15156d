"""The work behind `trifact discover`: new facts as a table, and how true they may be."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from trifact.answer.calibration import read_calibration
from trifact.answer.discovery import Discovery, discover, why_by_score
from trifact.answer.options import DiscoverConfig
from trifact.cli.screen import count, heading, say, screen, share, table, watching
from trifact.run.run import Run

SHOWN = 20
NAMES = ("subject", "predicate", "object")


def run_discovery(path: Path, config: DiscoverConfig, *, out: Path | None, overwrite: bool) -> None:
    """Discover, and show or write it."""
    run = Run(path)
    with watching() as progress:
        found = discover(run, config, out=out, overwrite=overwrite, progress=progress, say=say)
    about = found.about
    gone_through = f"of {count(about['pairs'], 'pair')} that make sense"
    screen().print(heading(count(len(found), "new fact"), f" {gone_through}\n"))
    if out is None and len(found):
        screen().print(listed(found), "")
    if found.expected is not None and len(found):
        held = count(found.expected["held_out"], "held-out fact")
        were = "were" if found.expected["held_out"] != 1 else "was"
        tested = f" A second list, made as if the {held} {were} unknown:"
        screen().print(heading("How true?", tested))
        screen().print(expected(found.expected), "")
    if not len(found):
        say(_why_nothing(config, about["pairs"]))
    say(*_notes(found, run, config))
    if out is not None:
        say(f"{out}: {count(len(found), 'fact')} written")
    elif len(found) > SHOWN:
        say(f"{len(found) - SHOWN:,} more; all of them: --out FILE")


def listed(found: Discovery) -> object:
    """The first facts, with labels where there are some."""
    number = found.about["order"]
    grid = table(*NAMES, number, text=3)
    for row in (found[place] for place in range(min(SHOWN, len(found)))):
        cells = (str(row[f"{name}_label"] or row[name]) for name in NAMES)
        grid.add_row(*cells, f"{row[number]:.3f}")
    return grid


def expected(about: dict[str, Any]) -> object:
    """How many held-out facts stand among the first n, and what that says."""
    grid = table("its first", "held out", "so true at least", "of all held out", text=0)
    for row in about["at"]:
        found = share(row["found"], row["n"]), share(row["found"], about["held_out"])
        grid.add_row(f"{row['n']:,}", f"{row['found']:,}", *found)
    return grid


def _why_nothing(config: DiscoverConfig, pairs: int) -> str:
    """What to do about a list with nothing in it."""
    if pairs:
        low = ", or less probable than --min-probability" if config.min_probability else ""
        second = ", second answers (--no-single lists them)" if config.single else ""
        return f"all of these pairs are known, entities with themselves{second}{low}"
    again = "who has the one answer of a predicate is not asked again (--no-single asks them all); "
    more = f"--holders 0.5, say, asks more of those who have none (now {config.holders:g})"
    if config.among != "roles":
        more = "--among roles asks more of those who have none"
    return f"{again if config.single else ''}{more}"


def _doubts(found: Discovery, run: Run) -> list[str]:
    """Of the probabilities."""
    calibration = read_calibration(run)
    assert calibration is not None
    return calibration.doubts_of_pairs(found.facts[:, 1])


def _notes(found: Discovery, run: Run, config: DiscoverConfig) -> list[str]:
    """What to know about the list, one sentence each."""
    about, notes = found.expected, list[str]()
    if found.about["order"] == "score":
        unlike = "which mean different things under different predicates"
        notes.append(f"in the order of scores, {unlike}: {why_by_score(run)}")
    elif len(found):
        mean = sum(found.columns["probability"]) / len(found)  # type: ignore[arg-type]
        notes.append(f"mean probability of the new facts: {mean:.3f}")
        notes += _doubts(found, run)
    if about is None:
        of = " of these predicates" if config.predicates else ""
        return [*notes, f"no fact{of} was held out, so the list has no estimate of its own"]
    if about["reachable"] < about["held_out"]:
        reach = f"{about['reachable']:,} of {count(about['held_out'], 'held-out fact')}"
        notes.append(f"{reach} are among the pairs; no such list can find the others")
    joined = about["at"][-1]["joined"] if about["at"] and len(found) else 0
    if joined and not about["held_out_joined"]:
        notes.append(
            f"{count(joined, 'fact')} of the second list join entities that train joins already; "
            "no held-out fact does, so they say nothing about these"
        )
    return notes
