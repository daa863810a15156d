"""Every command explains itself, starts at once, and ends in one sentence."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import tomllib
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import pytest
import typer.main

import trifact
from trifact import cli
from trifact.__main__ import main
from trifact.cli import app

ROOT = Path(__file__).parents[2]


def tree(command: Any, name: str = "trifact") -> list[tuple[str, Any]]:
    found = [(name, command)]
    for word, child in getattr(command, "commands", {}).items():
        found += tree(child, f"{name} {word}")
    return found


COMMANDS = tree(typer.main.get_command(app))
LEAVES = [name for name, command in COMMANDS if not hasattr(command, "commands")]


def run(*words: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """The command, from its door on, in this process: a new one would import torch each time."""
    out, err, code = io.StringIO(), io.StringIO(), 0
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
        patch.setattr(sys, "argv", ["trifact", *words])
        patch.setenv("GOMP_SPINCOUNT", "1000")  # which the door would set for good
        patch.chdir(cwd or Path.cwd())
        try:
            main()
        except SystemExit as end:
            code = int(end.code or 0)
    return subprocess.CompletedProcess(words, code, out.getvalue(), err.getvalue())


@pytest.mark.parametrize(("name", "command"), COMMANDS, ids=[name for name, _ in COMMANDS])
def test_every_command_and_option_has_help(name: str, command: Any) -> None:
    assert command.help
    for parameter in command.params:
        assert getattr(parameter, "help", None), f"{name}: {parameter.name} has no help"


@pytest.mark.parametrize("name", LEAVES)
def test_every_command_is_in_the_docs(name: str) -> None:
    assert f"## {name}\n" in (ROOT / "docs/cli.md").read_text(encoding="utf-8")


MODULES = """
import sys
sys.argv = ["trifact", {words}]
try:
    from trifact.cli import main
    main()
except SystemExit:
    pass
print(len(sys.modules), *sorted({{name.split(".")[0] for name in sys.modules}}), file=sys.stderr)
"""


@pytest.mark.parametrize("words", ['"--help"', '"--version"', '"data", "convert", "--help"'])
def test_help_and_version_import_nothing_heavy(words: str) -> None:
    code = MODULES.format(words=words)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    count, *names = done.stderr.splitlines()[-1].split()
    heavy = {"torch", "numpy", "scipy", "duckdb", "pyoxigraph", "matplotlib", "zstandard"}
    assert not heavy & set(names)
    assert int(count) < 600


def test_importing_trifact_imports_next_to_nothing() -> None:
    code = "import sys; old = set(sys.modules); import trifact; print(*set(sys.modules) - old)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert [name for name in done.stdout.split() if name.startswith("trifact")] == ["trifact"]
    assert "numpy" not in done.stdout.split()


@pytest.mark.parametrize(
    ("said", "spins"),
    [({}, "2000"), ({"GOMP_SPINCOUNT": "7"}, "7"), ({"OMP_WAIT_POLICY": "passive"}, "0")],
)
def test_threads_leave_a_busy_processor_soon(said: dict[str, str], spins: str) -> None:
    command = [sys.executable, "-m", "trifact", "predict", "no-such-run", "Ada", "knows"]
    unsaid = {k: v for k, v in os.environ.items() if k not in ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY")}
    settings = unsaid | {"OMP_DISPLAY_ENV": "verbose"} | said
    done = subprocess.run(command, capture_output=True, text=True, env=settings, check=False)
    if "OPENMP DISPLAY" not in done.stderr:
        pytest.skip("torch does not use GNU OpenMP here")
    assert f"GOMP_SPINCOUNT = '{spins}'" in done.stderr


def test_the_version_is_shown() -> None:
    assert run("--version").stdout == f"trifact {trifact.__version__}\n"


def test_a_graph_is_described_as_text_and_as_json(tmp_path: Path) -> None:
    picture = tmp_path / "world.png"
    shown = run("data", "describe", "World", "--plot", str(picture))
    assert shown.returncode == 0
    assert "3,287 entities, 20 predicates" in shown.stdout
    assert "has capital" in shown.stdout
    assert "every entity and predicate stays in train" in shown.stderr
    assert picture.read_bytes().startswith(b"\x89PNG")
    again = run("data", "describe", "World", "--plot", str(picture))
    assert "it exists already; say --overwrite to replace it" in again.stderr
    plain = json.loads(run("data", "describe", "World", "--json").stdout)
    assert plain["entities"] == 3287
    assert plain["leakage"]["test_facts_given_away"] == 0


def test_a_graph_is_converted_and_comes_back(tmp_path: Path) -> None:
    first, second = tmp_path / "world.nt.gz", tmp_path / "world.parquet"
    assert run("data", "convert", "World", str(first)).returncode == 0
    assert run("data", "convert", str(first), str(second)).returncode == 0
    world = trifact.load("World", valid=0.0, test=0.0)
    assert trifact.load(str(second), valid=0.0, test=0.0).content_hash == world.content_hash


def test_a_folder_keeps_the_splits(tmp_path: Path) -> None:
    assert run("data", "convert", "World", str(tmp_path / "out"), "--to", "csv").returncode == 0
    assert sorted(file.name for file in (tmp_path / "out").iterdir()) == [
        "test.csv",
        "train.csv",
        "valid.csv",
    ]
    assert trifact.load(tmp_path / "out").content_hash == trifact.load("World").content_hash


def test_what_exists_is_not_overwritten_unless_asked(tmp_path: Path) -> None:
    target = tmp_path / "facts.tsv"
    target.write_text("precious")
    refused = run("data", "convert", "World", str(target))
    assert refused.returncode != 0
    assert "--overwrite" in refused.stderr
    assert target.read_text() == "precious"
    assert run("data", "convert", "World", str(target), "--overwrite").returncode == 0
    assert target.read_text().count("\n") == 10_624


def test_splits_of_another_graph_do_not_stay_in_a_folder(tmp_path: Path) -> None:
    out, small = tmp_path / "out", tmp_path / "small.tsv"
    small.write_text("a\tp\tb\n")
    assert run("data", "convert", "World", str(out)).returncode == 0
    (out / "mine.md").write_text("kept")
    whole = ("data", "convert", str(small), str(out), "--valid", "0", "--test", "0", "--to", "csv")
    refused = run(*whole)
    assert "it exists already; say --overwrite" in refused.stderr
    assert len(trifact.load(out).valid)
    assert run(*whole, "--overwrite").returncode == 0
    assert sorted(file.name for file in out.iterdir()) == ["mine.md", "train.csv"]
    for source in (out, out / "train.csv"):  # its own files are not removed either
        refused = run("data", "convert", str(source), str(out), "--to", "tsv", "--overwrite")
        assert "the graph is read from there" in refused.stderr


def test_a_graph_is_not_converted_onto_or_beside_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRIFACT_DATA", str(tmp_path))
    own = tmp_path / "own"
    assert run("data", "convert", "World", str(own)).returncode == 0
    before = {file: file.read_bytes() for file in own.iterdir()}
    for source, target in (("own", own), ("own", own / "train.tsv"), (str(own), own / "all.csv")):
        refused = run("data", "convert", source, str(target), "--overwrite")
        assert "the graph is read from there; give another place" in refused.stderr
    assert {file: file.read_bytes() for file in own.iterdir()} == before
    assert run("data", "convert", "own", str(own / "copy"), "--to", "csv").returncode == 0


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("all.tsv", "--to", "parquet"), "the ending of a file says its format; leave --to out"),
        (("all.tsv", "--valid", "0.3"), "--valid splits, but all facts go to one file"),
        (("all", "--to", "xml"), "--to must be one of tsv, csv"),
    ],
)
def test_what_a_conversion_could_not_do_is_refused(
    tmp_path: Path, words: tuple[str, ...], sentence: str
) -> None:
    done = run("data", "convert", "World", *words, cwd=tmp_path)
    assert done.returncode != 0
    assert sentence in done.stderr
    assert not [*tmp_path.iterdir()]


@pytest.mark.parametrize("form", ["--all", "--json"])
def test_whoever_reads_may_go(form: str) -> None:
    words = [sys.executable, "-m", "trifact", "data", "describe", "World", form]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child:
        assert child.stdout is not None and child.stderr is not None
        child.stdout.close()
        said = child.stderr.read().decode()
    assert child.returncode == 141
    assert "Traceback" not in said


def test_nobody_may_read_from_the_beginning() -> None:
    words = f"{sys.executable} -m trifact data describe World --json >&-"
    done = subprocess.run(words, shell=True, stderr=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, "Traceback" in done.stderr) == (0, False)


def test_names_are_shown_on_a_screen_without_their_letters(tmp_path: Path) -> None:
    (tmp_path / "f.tsv").write_text("Coruña\testá en\tEspaña\n", encoding="utf-8")
    plain = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    words = [sys.executable, "-m", "trifact", "data", "describe", "./f.tsv", "--all"]
    done = subprocess.run(
        words, cwd=tmp_path, env=plain, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "est\\xe1 en" in done.stdout


def test_what_is_terminated_tidies_up(tmp_path: Path) -> None:
    long = "with FactTable(memory_mb=200, disk_gb=1): print('reading', flush=True), time.sleep(99)"
    code = f"""import time
from trifact import cli
from trifact.graph.facttable import FactTable
def command():
    {long}
cli.app = command
cli.main()"""
    place = {**os.environ, "TMPDIR": str(tmp_path)}
    with subprocess.Popen(
        [sys.executable, "-c", code], env=place, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"reading\n"
        assert list(tmp_path.iterdir())
        process.terminate()
        assert process.wait(60) == 143
    assert not list(tmp_path.iterdir())


def test_a_picture_is_where_it_is_said_to_be(tmp_path: Path) -> None:
    (tmp_path / "a$_{$b.tsv").write_text("a\tp\tb\nb\tp\tc\n")
    words = ("data", "describe", "./a$_{$b.tsv", "--plot")
    assert run(*words, "picture", cwd=tmp_path).returncode == 0
    assert (tmp_path / "picture").read_bytes().startswith(b"\x89PNG")
    refused = run(*words, "picture.doc", cwd=tmp_path)
    assert "picture.doc: cannot be drawn" in refused.stderr
    assert sorted(file.name for file in tmp_path.iterdir()) == ["a$_{$b.tsv", "picture"]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("data", "describe", "no-such-graph"), "no graph is called 'no-such-graph'"),
        (("data", "describe", "./nowhere.tsv"), "there is no such file or folder"),
        (("data", "list", "fb15"), "did you mean FB15K"),
        (("data", "convert", "World", "x.docx"), "end the name in one of these"),
        (("data", "describe", "World", "--valid", "7"), "valid must be at most 0.5"),
        (("data", "describe", "World", "--columns", "a\nb"), "columns must be three, not 1"),
    ],
)
def test_a_mistake_gets_one_sentence(words: tuple[str, ...], sentence: str, tmp_path: Path) -> None:
    done = run(*words, cwd=tmp_path)
    assert done.returncode in (1, 2)
    assert sentence in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stderr.count("\n") == 1
    assert not list(tmp_path.iterdir())


def test_the_list_names_every_benchmark() -> None:
    shown = run("data", "list").stdout
    assert all(name in shown for name in ("WN18RR", "YAGO3-10", "CoDEx-L", "World"))
    assert "SHA-256" in run("data", "list", "umls").stdout
    about = run("data", "list", "World").stdout
    assert "bundled" in about
    assert "GeoNames, https://www.geonames.org, licensed under CC BY 4.0" in about
    assert max(map(len, about.splitlines()[1:])) <= 80


def test_a_ctrl_c_before_the_command_is_there_is_no_traceback(tmp_path: Path) -> None:
    (tmp_path / "typer.py").write_text("raise KeyboardInterrupt")
    paths = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])}
    command = [sys.executable, "-m", "trifact", "data", "list"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=paths)
    assert (done.returncode, done.stderr) == (130, "trifact: interrupted\n")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["scripts"]["trifact"] == "trifact.__main__:main"


def test_memory_that_does_not_suffice_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> None:
        raise RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 9 TB")

    monkeypatch.setattr(cli, "app", fail)
    done = run("data", "list")
    assert (done.returncode, done.stderr) == (1, f"trifact: {cli.NO_MEMORY}\n")
    monkeypatch.setattr(cli, "app", lambda: int("no number"))
    with pytest.raises(ValueError, match="no number"):
        run("data", "list")


def test_a_reader_that_goes_away_is_no_error() -> None:
    line = f"{sys.executable} -m trifact data describe World --json | head -n 1"
    done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=True)
    assert done.stdout == "{\n"
    assert "Traceback" not in done.stderr
