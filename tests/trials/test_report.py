"""What a search shows: the best first, compared fairly, on a page that needs nothing else."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from trifact.cli.searching import results
from trifact.trials.coordinates import Line, Upright, parallel_coordinates
from trifact.trials.report import importances, judged_equally, page
from trifact.trials.space import Range, Space
from trifact.trials.trial import Trial, best_first, best_of, cells, write_trials


def trial(number: int, state: str, course: dict[int, float], **settings: Any) -> Trial:
    best = max(course, key=lambda epoch: course[epoch], default=None)
    return Trial(
        number=number,
        state=state,
        mrr=course[best] if best else None,
        best_epoch=best,
        epochs=max(course, default=0),
        seconds=1.0,
        settings=settings,
        course=course,
        machine="here",
        place="1",
        folder=f"trial-{number:04}",
        reason="",
        began=None,
    )


SPACE = Space.from_values(
    {"lr": {"low": 0.01, "high": 1.0, "log": True}, "model": ["cp", "complex"]}
)


def some_trials() -> list[Trial]:
    """The rate decides, the model does not; half of them were pruned after three epochs."""
    found = []
    for number in range(16):
        lr, model = 0.01 * 10 ** (number / 8), ("cp", "complex")[number % 2]
        early = number / 16
        course = {3: early, 6: early + 0.01} if number % 4 < 2 else {3: early}
        found.append(trial(number, "done" if 6 in course else "pruned", course, lr=lr, model=model))
    return found


def test_trials_are_shown_best_first_and_those_without_a_model_last() -> None:
    order = best_first(
        [trial(16, "failed", {}, lr=0.1), trial(17, "diverged", {1: 0.99}, lr=0.1), *some_trials()]
    )
    assert [t.number for t in order] == [*range(15, -1, -1), 17, 16]
    assert best_of(order) == order[0]  # pruned, but better than all others so far
    assert best_of(order[-2:]) is None


def test_pruned_trials_are_compared_at_the_epochs_that_all_have() -> None:
    judged, how = judged_equally(some_trials())
    assert [mrr for _, mrr in judged] == [number / 16 for number in range(16)]
    assert "up to epoch 3," in how
    done = [t for t in some_trials() if t.state == "done"]
    assert [mrr for _, mrr in judged_equally(done)[0]] == [t.course[6] for t in done]


def test_the_setting_that_decides_is_the_important_one() -> None:
    shares = importances(SPACE, judged_equally(some_trials())[0])
    assert sum(shares.values()) == pytest.approx(1)
    assert shares["lr"] > 0.8
    assert importances(SPACE, judged_equally(some_trials()[:5])[0]) == {}


def test_parallel_coordinates_go_through_the_settings_to_the_result() -> None:
    lines = [
        Line("a", {"lr": 0.01, "model": "cp"}, 0.1),
        Line("b", {"lr": 1.0, "model": "complex"}, 0.4),
    ]
    drawing = parallel_coordinates(SPACE.searched, lines, result="MRR")
    assert 'points="60.0,280.0 445.0,280.0 830.0,280.0"' in drawing  # all at the bottom
    assert 'points="60.0,34.0 445.0,34.0 830.0,34.0"' in drawing
    assert drawing.index("a: 0.1000") < drawing.index("b: 0.4000")  # the best is drawn last
    assert Upright("lr", Range(0.01, 1.0, log=True)).ticks() == pytest.approx([0.01, 0.1, 1])
    middle = Upright("lr", Range(0.01, 1.0, log=True)).height(0.1)
    assert middle == pytest.approx((280 + 34) / 2)
    assert parallel_coordinates(SPACE.searched, lines[:1], result="MRR") == ""


def test_the_report_holds_all_and_runs_nothing_from_elsewhere() -> None:
    text = page("<name>", SPACE, some_trials())
    assert "&lt;name&gt;" in text
    assert "<name>" not in text
    assert text.count("<polyline") == 16 + 6
    assert "Importance of the settings" in text
    assert "http" not in text
    assert "too few" in page("few", SPACE, some_trials()[:3])
    assert "0 of 0" in page("none", SPACE, [])


def test_a_searched_number_of_epochs_is_not_that_of_the_trained_ones(tmp_path: Path) -> None:
    write_trials([trial(0, "done", {1: 0.5, 2: 0.6}, epochs=9)], tmp_path)
    with (tmp_path / "trials.csv").open(encoding="utf-8") as file:
        (row,) = csv.DictReader(file)
    assert (row["trained"], row["epochs"]) == ("2", "9")
    kept = json.loads((tmp_path / "trials.jsonl").read_text(encoding="utf-8"))
    assert (kept["trained"], kept["settings"]) == (2, {"epochs": 9})


def test_no_time_is_shown_of_a_trial_that_has_not_ended() -> None:
    assert cells(trial(3, "cut off", {1: 0.5}, lr=0.12345), ["lr", "rank"]) == [
        "3", "cut off", "0.5000", "1", "", "0.1235", "",
    ]  # fmt: skip


def test_the_table_fits_the_screen(capsys: pytest.CaptureFixture[str]) -> None:
    names = [f"a_setting_with_a_long_name_{k}" for k in range(9)]
    many = [trial(k, "done", {1: 0.5}, **dict.fromkeys(names, 0.123456)) for k in range(30)]
    grid, left_out = results(names, many, 80)
    Console(width=200).print(grid)
    assert left_out == names[2:]
    assert results(names, many, 300)[1] == []
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    assert len(lines) == 21
    assert "0.1235" in lines[1]
