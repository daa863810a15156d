"""What `trifact train` refuses, keeps and says."""

from __future__ import annotations

import json
import resource
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import trifact
from tests.cli.test_commands import run
from trifact.answer.calibration import read_calibration
from trifact.cli import training as work
from trifact.cli.training import Request, run_training
from trifact.errors import ConfigError, OutputError, TrifactError
from trifact.graph.writers import write_facts
from trifact.run import training
from trifact.run.history import Epoch
from trifact.run.run import Run

QUICK: dict[str, Any] = {"rank": 4, "epochs": 2, "validate_every": 1, "precision": "float32"}


@pytest.fixture
def facts(tmp_path: Path) -> str:
    """Eighty facts in a file; what they name looks like styles and emoji."""
    kinds = [(f"n{i:02} [bold]", "is [kg]", (":cat:", "odd [/b]")[i % 2]) for i in range(40)]
    rows = [(f"n{i:02} [bold]", "next", f"n{(i + 1) % 40:02} [bold]") for i in range(40)]
    graph = trifact.load(kinds + rows, valid=0.0, test=0.0)
    write_facts(graph, {tmp_path / "facts.tsv": graph.train})
    return str(tmp_path / "facts.tsv")


def asked(graph: str = "", **more: Any) -> Request:
    nothing = {"out": None, "config": None, "resume": None, "tune": "", "refit": False}
    return Request(graph, **{**nothing, "settings": QUICK, "loading": {}, **more})


def on_a_small_disk(*words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """The command where no file can be larger than 200 kB."""
    command = [sys.executable, "-m", "trifact", *words]

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))

    return subprocess.run(
        command, cwd=cwd, capture_output=True, text=True, check=False, preexec_fn=limit
    )


def test_a_full_disk_says_how_to_go_on(facts: str, tmp_path: Path) -> None:
    words = ("--rank", "3000", "--epochs", "2", "--precision", "float32")
    done = on_a_small_disk("train", facts, *words, "--out", "run", cwd=tmp_path)
    assert done.returncode == 1
    last = done.stderr.splitlines()[-1]
    assert "cannot be written" in last
    assert last.endswith("what was saved before is kept; go on with: trifact train --resume run")
    (tmp_path / "space.toml").write_text("rank = [3000, 3001]\nepochs = 2\nvalidate_every = 1\n")
    search = ("search", "space.toml", "--graph", facts, "--precision", "float32", "--out", "s")
    done = on_a_small_disk(*search, cwd=tmp_path)
    assert done.returncode == 1
    last = done.stderr.splitlines()[-1]
    assert "cannot be written" in last
    assert last.endswith("all is saved; go on with: trifact search --resume s")


def test_names_are_printed_to_the_letter(facts: str, tmp_path: Path) -> None:
    folder = "run [v2] of a graph, in a folder with a long name that does not fit on one line [/b]"
    words = ("--rank", "4", "--epochs", "2", "--out", folder)
    done = run("train", facts, *words, cwd=tmp_path)
    assert done.stdout.startswith(folder), done.stderr
    shown = run("predict", folder, "n03 [bold]", "is [kg]", "--known", cwd=tmp_path).stdout
    assert "n03 [bold] · is [kg] · ?" in shown
    assert ":cat:" in shown
    assert "odd [/b]" in shown
    assert "is [kg]" in run("evaluate", folder, cwd=tmp_path).stdout
    assert "is [kg]" in run("data", "describe", facts, cwd=tmp_path).stdout


@pytest.mark.parametrize(
    ("text", "options", "problem"),
    [
        ("# mine\nrank = 4\nlearning = 1\n", {}, r"^\S*my.toml:3: there is no setting 'learning'"),
        ('rank = 4\nlr = "x"\n', {}, r"^\S*my.toml:2: lr must be float"),
        ("rank = 0\n", {"lr": -1.0}, r"^\S*my.toml:1: rank must be at least 1"),
        ("lr = -1.0\n", {"lr": -2.0}, r"^lr must be at least 0, not -2"),
        (
            'reg_predicates = 0.1\nregularizer = "dura"\n',
            {},
            r"^\S*my.toml:1: reg_predicates has no effect with regularizer dura; leave it out",
        ),
        ("patience = 9\nvalidate_every = 0\n", {}, r"^\S*my.toml:1: patience has no effect"),
        ("validate_every = 0\n", {"patience": 9}, r"^\S*my.toml:1: patience has no effect"),
    ],
)
def test_a_wrong_setting_of_a_file_is_said_with_its_line(
    text: str, options: dict[str, Any], problem: str, tmp_path: Path
) -> None:
    path = tmp_path / "my.toml"
    path.write_text(text)
    with pytest.raises(TrifactError, match=problem):
        run_training(asked("World", config=path, settings=options))


def test_what_options_make_idle_in_a_file_rests(tmp_path: Path) -> None:
    path = tmp_path / "my.toml"
    path.write_text("reg = 0.1\npatience = 9\nrank = 4\n")
    settings = {"regularizer": "none", "validate_every": 0}
    given = asked("World", config=path, settings=settings).given
    assert given == {**settings, "reg": 0.0, "patience": 5, "rank": 4}


def test_settings_are_called_as_they_were_typed(tmp_path: Path) -> None:
    words = ("--regularizer", "dura", "--reg-predicates", "0.1", "--reg", "1")
    done = run("train", "World", *words, cwd=tmp_path)
    sentence = "--reg-predicates has no effect with regularizer dura; leave it out"
    assert done.stderr == f"trifact: {sentence}\n"
    idle = run("train", "World", "--validate-every", "0", "--patience", "9", cwd=tmp_path)
    sentence = "--patience has no effect with --validate-every 0; leave it out"
    assert idle.stderr == f"trifact: {sentence}\n"
    refused = run("train", "World", "--valid", "7", "--test", "0", cwd=tmp_path)
    assert refused.stderr == "trifact: --valid must be at most 0.5, not 7\n"


def test_a_run_that_goes_on_takes_no_other_place_or_facts(facts: str, tmp_path: Path) -> None:
    run_training(asked(facts, out=tmp_path / "run"))
    place = tmp_path / "run"
    with pytest.raises(ConfigError, match="--out cannot change when a run goes on"):
        run_training(asked(resume=place, settings={}, out=tmp_path))
    with pytest.raises(ConfigError, match="--split-seed cannot change when a run goes on"):
        run_training(asked(resume=place, settings={}, loading={"split_seed": 3}))
    with pytest.raises(ConfigError, match="goes by validation"):
        run_training(asked(facts, refit=True, settings={**QUICK, "schedule": "plateau"}))


def test_the_end_says_why_it_came_and_where_the_runs_are(
    facts: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run_training(asked(facts, out=tmp_path / "run", refit=True, loading={"valid": 0.2}))
    first, second = capsys.readouterr().out.splitlines()
    assert first.startswith(f"{tmp_path / 'run'}  validation MRR 0.")
    assert "; ended: 2 epochs, with the loss of a model that knows nothing (" in first
    assert second == f"{tmp_path / 'run' / 'refit'}  the same, trained on all 80 facts"


def test_short_epochs_share_a_line_but_validations_do_not(monkeypatch: pytest.MonkeyPatch) -> None:
    shown, clock = list[int](), iter((0.0, 0.4, 0.8, 1.2, 1.9))
    monkeypatch.setattr(work, "show", lambda epoch: shown.append(epoch.epoch))
    monkeypatch.setattr(work, "time", SimpleNamespace(perf_counter=lambda: next(clock)))
    lines = work.Lines()
    for number, mrr in enumerate((None, None, 0.5, None, None), 1):
        lines(Epoch(number, 1.0, 0.0, 0.1, 0.4, 10.0, 0.5, mrr))
    assert shown == [1, 3, 5]


def test_a_refit_that_was_interrupted_gets_its_calibration(
    facts: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "run"
    with monkeypatch.context() as patch:
        patch.setattr(training, "refit", begun_only)
        with pytest.raises(KeyboardInterrupt):
            run_training(asked(facts, out=place, refit=True, loading={"valid": 0.2}))
    run_training(asked(resume=place / "refit", settings={}))
    adopted = read_calibration(Run(place / "refit"))
    assert adopted is not None
    assert adopted.record["fitted"]["note"] == "fitted before the refit"
    (place / "refit" / "calibration.json").unlink()
    run_training(asked(resume=place, refit=True, settings={}))  # the other way to go on
    assert read_calibration(Run(place / "refit")) is not None


REFIT = training.refit


def begun_only(run: Run, **_: object) -> Run:
    """A refit that is interrupted after its first epoch."""

    def stop(_: object) -> None:
        raise KeyboardInterrupt

    return REFIT(run, on_epoch=stop)


def test_a_ctrl_c_after_training_says_where_the_run_is(
    facts: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(work, "calibrate_new", interrupted)
    place = tmp_path / "my run"
    for refit, command in (
        (False, f"calibrate '{place}'"),
        (True, f"train --resume '{place}' --r"),
    ):
        with pytest.raises(training.Interrupted, match=f"is trained, .*: trifact {command}"):
            run_training(asked(facts, out=place, refit=refit))
        shutil.rmtree(place)


@pytest.mark.parametrize(("refit", "end"), [(False, ""), (True, " --refit")])
def test_a_ctrl_c_while_training_says_the_whole_command(
    facts: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refit: bool, end: str
) -> None:
    monkeypatch.setattr(work, "show", lambda _: signal.raise_signal(signal.SIGINT))
    place = tmp_path / "my run"
    with pytest.raises(training.Interrupted, match=f"trifact train --resume '{place}'{end}$"):
        run_training(asked(facts, out=place, refit=refit))


def test_a_folder_that_is_full_is_refused_before_tuning(
    facts: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    full = tmp_path / "full"
    full.mkdir()
    (full / "tuning.jsonl").write_text("precious")
    with pytest.raises(OutputError, match="it is not empty"):
        run_training(asked(facts, out=full, tune="2h"))
    assert (full / "tuning.jsonl").read_text() == "precious"


def test_a_tuned_run_has_its_tuning_before_it_is_trained(
    facts: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """And where another run took the name meanwhile, it takes the next."""
    monkeypatch.chdir(tmp_path)
    train, seen = training.train, list[Path]()
    taken, out = Path("runs/facts-complex-tuned"), Path("runs/facts-complex-tuned-2")

    def watched(*args: Any, **more: Any) -> Run:
        if not taken.exists():
            taken.mkdir()
            (taken / "tuning.jsonl").write_text("another's")
        return train(*args, **more)

    monkeypatch.setattr(training, "train", watched)
    monkeypatch.setattr(work, "show", lambda _: seen.extend(out.glob("tuning.jsonl")))
    run_training(asked(facts, tune="2s"))
    assert set(seen) == {out / "tuning.jsonl"}
    assert (taken / "tuning.jsonl").read_text() == "another's"
    rows = [json.loads(line) for line in seen[0].read_text().splitlines()]
    assert rows[0]["number"] == 0
    assert sum(row["chosen"] for row in rows) == 1
    assert Run(out).ended.startswith("2 epochs")  # learned little, if the rule was kept
    assert "the rule" in " ".join(capsys.readouterr().err.split())


def test_a_run_does_not_take_over_the_tuning_of_one_that_was_cut_off(
    facts: str, tmp_path: Path
) -> None:
    out = tmp_path / "run"
    out.mkdir()
    for name in (".lock", "tuning.jsonl"):
        (out / name).write_text("")
    run_training(asked(facts, out=out))
    assert not (out / "tuning.jsonl").exists()


def test_a_graph_whose_held_out_facts_say_nothing_is_trained_all_the_same(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "dense"
    folder.mkdir()
    (folder / "train.txt").write_text("a\tp\ta\na\tp\tb\nb\tp\ta\nb\tp\tb\n")
    for split in ("valid", "test"):
        (folder / f"{split}.txt").write_text("a\tp\tb\n")
    run_training(asked(str(folder), out=tmp_path / "run"))
    assert "no probabilities: " in " ".join(capsys.readouterr().err.split())
    assert read_calibration(Run(tmp_path / "run")) is None
    with pytest.warns(UserWarning, match="nothing to fit probabilities on"):
        trifact.train(trifact.load(folder), out=tmp_path / "again", **QUICK)


def test_the_file_of_settings_is_overridden_by_options(tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text('model = "cp"\nrank = 4\nepochs = 1\n')
    words = ("train", "World", "--config", "s.toml", "--rank", "6", "--out", "run")
    assert run(*words, cwd=tmp_path).returncode == 0
    assert (Run(tmp_path / "run").config.model, Run(tmp_path / "run").config.rank) == ("cp", 6)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ((), "give a graph to train on, or a run to --resume"),
        (("World", "--model", "transe"), "model must be one of cp, distmult, complex"),
        (("World", "--rank", "0"), "rank must be at least 1"),
        (("World", "--rank", "1000001"), "rank must be at most 1000000, not 1000001"),
        (("World", "--seed", str(2**64)), "seed must be at most 4294967295"),
        (("World", "--schedule", "plateau", "--validate-every", "0"), "goes by validation"),
        (("World", "--config", "nowhere.toml"), "nowhere.toml: cannot be read"),
        (("--resume", "."), "this is not the folder of a run"),
    ],
)
def test_a_wrong_request_gets_one_sentence(
    words: tuple[str, ...], sentence: str, tmp_path: Path
) -> None:
    done = run("train", *words, cwd=tmp_path)
    assert done.returncode == 2
    assert sentence in done.stderr
    assert done.stderr.count("\n") == 1
    assert not list(tmp_path.iterdir())
