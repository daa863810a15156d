"""What leaves is what the run holds: every format read back, and nothing written by half."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import duckdb
import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from safetensors import safe_open

import trifact
from tests.run.conftest import keep
from trifact.answer import export as room
from trifact.answer.export import FILES, FOLDERS, WRITERS, export
from trifact.cli.export import export as command
from trifact.errors import ConfigError, OutputError, RunError
from trifact.graph.graph import Graph
from trifact.run import checkpoint
from trifact.run.folder import CHECKPOINTS
from trifact.run.run import Run
from trifact.tensor.models import MODELS

Back = dict[str, NDArray[np.float32]]
OTHERS = {"parquet": "complex", "word2vec": "distmult", "projector": "cp"}
KINDS = {"entities": "entity", "subjects": "entity", "objects": "entity"}


def kept(path: Path, graph: Graph, name: str = "complex", *, setting: str = "reciprocal") -> Run:
    """A run of random factors."""
    predicates = len(graph.predicates) * (2 if setting == "reciprocal" else 1)
    model = MODELS[name](len(graph.entities), predicates, rank=3, scale=1.0)
    return keep(path / "run", graph, model, name=name)


def wanted(run: Run) -> Back:
    """The tables by name, from the checkpoint itself."""
    factors, graph = run.factors(), run.graph()
    names = {"entity": "entities", "subject": "subjects", "object": "objects"}
    tables = {names[n]: t.numpy() for n, t in factors.items() if n != "predicate"}
    rows, count = factors["predicate"].numpy(), len(graph.predicates)
    halves = zip(("predicates", "reciprocals"), (rows[:count], rows[count:]), strict=True)
    return tables | {name: half for name, half in halves if len(half)}


def texts(graph: Graph, table: str) -> tuple[list[str], list[str]]:
    """Names and labels ("" where there is none) of the rows of a table."""
    names, labels = (
        (graph.entities, graph.entity_labels)
        if table in KINDS
        else (graph.predicates, graph.predicate_labels)
    )
    return [*names], [labels.get(i, "") for i in range(len(names))]


def from_numpy(path: Path, graph: Graph) -> Back:
    with np.load(path, allow_pickle=False) as arrays:
        tables = {n: arrays[n] for n in arrays if "_" not in n and n != "about"}
        for table in tables:
            kind = KINDS.get(table, "predicate")
            held = arrays[f"{kind}_names"].tolist(), arrays[f"{kind}_labels"].tolist()
            assert held == texts(graph, table)
        assert json.loads(str(arrays["about"]))["graph"] == graph.name
    return tables


def from_safetensors(path: Path, graph: Graph) -> Back:
    with safe_open(path, framework="np") as file:
        tables: Back = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        about = file.metadata()
    for table in tables:
        kind = KINDS.get(table, "predicate")
        held = json.loads(about[f"{kind}_names"]), json.loads(about[f"{kind}_labels"])
        assert held == texts(graph, table)
    assert about["graph"] == graph.name
    return tables


def from_parquet(path: Path, graph: Graph) -> Back:
    tables: Back = {}
    for file in sorted(path.glob("*.parquet")):
        with duckdb.connect() as base:
            found = base.execute("select * from read_parquet(?)", [str(file)]).fetchall()
        names, labels, vectors = zip(*found, strict=True)
        assert ([*names], [label or "" for label in labels]) == texts(graph, file.stem)
        tables[file.stem] = np.array(vectors, dtype=np.float32)
    return tables


def from_word2vec(path: Path, graph: Graph) -> Back:
    tables: Back = {}
    for file in sorted(path.glob("*.txt")):
        first, *lines = file.read_text(encoding="utf-8").split("\n")[:-1]
        rows = [line.split(" ") for line in lines]
        tables[file.stem] = np.array([row[1:] for row in rows], dtype=np.float32)
        assert tuple(map(int, first.split(" "))) == tables[file.stem].shape
        words = [name.replace(" ", "_").replace("\t", "_") for name in texts(graph, file.stem)[0]]
        assert [row[0] for row in rows] == words
    return tables


def from_projector(path: Path, graph: Graph) -> Back:
    """As TensorBoard does: the config says which files belong to a table."""
    tables: Back = {}
    pattern = r'tensor_name: "(.*?)" tensor_path: "(.*?)" metadata_path: "(.*?)"'
    config = (path / "projector_config.pbtxt").read_text(encoding="utf-8")
    for table, vectors, metadata in re.findall(pattern, config):
        lines = (path / vectors).read_text(encoding="utf-8").splitlines()
        tables[table] = np.array([line.split("\t") for line in lines], dtype=np.float32)
        header, *rest = (path / metadata).read_text(encoding="utf-8").split("\n")[:-1]
        assert header == "label\tname"
        names, labels = texts(graph, table)
        shown = [(label or name, name) for name, label in zip(names, labels, strict=True)]
        assert [tuple(line.split("\t")) for line in rest] == [
            tuple(" ".join(text.split()) for text in pair) for pair in shown
        ]
    return tables


READERS: dict[str, Callable[[Path, Graph], Back]] = {
    "numpy": from_numpy,
    "safetensors": from_safetensors,
    "parquet": from_parquet,
    "word2vec": from_word2vec,
    "projector": from_projector,
}


def target(folder: Path, form: str) -> Path:
    return folder / f"out{FILES.get(form, '')}"


@pytest.fixture
def odd() -> Graph:
    """Names with blanks, quotes, tabs and other scripts, and a label that comes late."""
    names = ["New York", 'a "quoted" name', "tab\there", "Ωmega", "日本", "x'y", "%s"]
    facts = [(a, "is near", b) for a, b in pairwise(names)]
    facts += [(f"town {i:04}", "is in", "New York") for i in range(3000)]
    graph = trifact.load(facts, valid=0.0, test=0.0)
    late = len(graph.entities) - 1
    return replace(graph, entity_labels={late: "the last"}, predicate_labels={1: "near to"})


@pytest.mark.parametrize("form", WRITERS)
def test_what_is_written_a_little_at_a_time_reads_back_too(
    odd: Graph, tmp_path: Path, form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(room, "LINES", 50)
    monkeypatch.setattr(room, "GROUP", 1)
    run, to = kept(tmp_path, odd), target(tmp_path, form)
    export(run, to, form=form)
    found = READERS[form](to, odd)
    for table, rows in wanted(run).items():
        np.testing.assert_array_equal(found[table], rows)


def test_the_factors_are_those_of_the_checkpoint(odd: Graph, tmp_path: Path) -> None:
    run = kept(tmp_path, odd)
    other = {name: table + 1 for name, table in run.factors().items()}
    checkpoint.save(run.path / CHECKPOINTS, "last", {"factors": other}, {"epoch": 2})
    for which in ("best", "last"):
        to = tmp_path / f"{which}.npz"
        export(run, to, form="numpy", checkpoint=which)
        with np.load(to) as found:
            assert np.array_equal(found["entities"], run.factors(which)["entity"])


@pytest.mark.parametrize("form", WRITERS)
@pytest.mark.parametrize(
    ("name", "setting"), [("complex", "reciprocal"), ("distmult", "standard"), ("cp", "reciprocal")]
)
def test_every_format_reads_back_to_the_bit(
    odd: Graph, tmp_path: Path, name: str, setting: str, form: str
) -> None:
    run = kept(tmp_path, odd, name, setting=setting)
    to = target(tmp_path, form)
    files = export(run, to, form=form)
    assert all(file.is_file() for file in files)
    found, held = READERS[form](to, odd), wanted(run)
    assert found.keys() == held.keys()
    for table, rows in held.items():
        assert found[table].dtype == np.float32
        np.testing.assert_array_equal(found[table], rows)
    assert not list(tmp_path.rglob("*.part"))


@pytest.mark.parametrize("form", FOLDERS)
def test_a_folder_says_what_its_numbers_are(odd: Graph, tmp_path: Path, form: str) -> None:
    run = kept(tmp_path, odd)
    export(run, tmp_path / "out", form=form)
    about = json.loads((tmp_path / "out" / f"about-{form}.json").read_text(encoding="utf-8"))
    assert about["factors_sha256"] == run.factors_hash()
    assert (about["model"], about["rank"], about["row"]) == ("complex", "3", "[re | im]")


@pytest.mark.parametrize("form", WRITERS)
def test_what_is_there_is_kept_unless_asked(odd: Graph, tmp_path: Path, form: str) -> None:
    run, to = kept(tmp_path, odd), target(tmp_path, form)
    files = export(run, to, form=form)
    files[0].write_text("precious")
    with pytest.raises(OutputError, match="it exists already; say overwrite=True"):
        export(run, to, form=form)
    assert files[0].read_text() == "precious"
    export(run, to, form=form, overwrite=True)
    assert READERS[form](to, odd).keys() == wanted(run).keys()


@pytest.mark.parametrize("form", FOLDERS)
def test_a_failure_leaves_nothing(
    odd: Graph, tmp_path: Path, form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The disk is full when the last file is written."""

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(room, "_write_about", full)
    with pytest.raises(OutputError, match="No space left on device"):
        export(kept(tmp_path, odd), tmp_path / "new" / "out", form=form)
    assert not (tmp_path / "new" / "out").exists()


def test_names_that_word2vec_would_confuse_are_refused(tmp_path: Path) -> None:
    graph = trifact.load([("New York", "is", "New_York")], valid=0.0, test=0.0)
    with pytest.raises(OutputError, match="'New York' and 'New_York' would both be 'New_York'"):
        export(kept(tmp_path, graph), tmp_path / "out", form="word2vec")
    assert not (tmp_path / "out").exists()


def test_names_that_a_format_cannot_hold_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = kept(tmp_path, trifact.load([("a", "is", "b" * 100)], valid=0.0, test=0.0))
    monkeypatch.setattr(room, "MOST_LETTERS", 150)
    with pytest.raises(OutputError, match="100 letters makes every name"):
        export(run, tmp_path / "out.npz", form="numpy")
    monkeypatch.setattr(room, "MOST_HEADER", 150)
    with pytest.raises(OutputError, match="cannot hold so many names"):
        export(run, tmp_path / "out.safetensors", form="safetensors")
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


@pytest.mark.parametrize(
    ("to", "form", "sentence"),
    [
        ("out.txt", "numpy", "numpy is one file; end its name in .npz"),
        ("folder.npz", "numpy", "it exists and is not a file"),
        ("file", "parquet", "parquet is a folder of files, and this is a file"),
        ("out.npz", "parquet", "parquet is a folder of files; leave out .npz"),
    ],
)
def test_a_wrong_target_is_one_sentence(
    odd: Graph, tmp_path: Path, to: str, form: str, sentence: str
) -> None:
    (tmp_path / "folder.npz").mkdir()
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match=re.escape(sentence)):
        export(kept(tmp_path, odd), tmp_path / to, form=form)


def test_an_unknown_format_or_run_is_one_sentence(odd: Graph, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="format must be one of numpy, safetensors"):
        export(kept(tmp_path, odd), tmp_path / "out", form="csv")
    with pytest.raises(RunError, match="this is not the folder of a run"):
        command(tmp_path, to=tmp_path / "out.npz", form="numpy")


def test_the_command_says_what_it_wrote(
    odd: Graph, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = kept(tmp_path, odd).path
    to = tmp_path / "out.safetensors"
    command(path, to=to, form="safetensors")
    assert f"written: {to}" in capsys.readouterr().err
    torch.testing.assert_close(
        torch.from_numpy(from_safetensors(to, odd)["entities"]), Run(path).factors()["entity"]
    )


def test_every_format_in_a_folder_says_what_it_is(odd: Graph, tmp_path: Path) -> None:
    runs = {form: kept(tmp_path / form, odd, OTHERS[form]) for form in FOLDERS}
    for form, run in runs.items():
        export(run, tmp_path / "out", form=form)
    for form in FOLDERS:
        about = json.loads((tmp_path / "out" / f"about-{form}.json").read_text(encoding="utf-8"))
        assert about["model"] == OTHERS[form]
        READERS[form](tmp_path / "out", odd)


def test_files_of_another_model_do_not_stay(odd: Graph, tmp_path: Path) -> None:
    one, other = kept(tmp_path / "one", odd), kept(tmp_path / "other", odd, "cp")
    out = tmp_path / "out"
    export(one, out, form="parquet")
    (out / "mine.txt").write_text("kept")
    with pytest.raises(OutputError, match="it exists already"):
        export(other, out, form="parquet")
    export(other, out, form="parquet", overwrite=True)
    assert not (out / "entities.parquet").exists()
    assert (out / "subjects.parquet").exists()
    assert (out / "mine.txt").exists()
    export(one, out, form="parquet", overwrite=True)
    assert not (out / "subjects.parquet").exists()
