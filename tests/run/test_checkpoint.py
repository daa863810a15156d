"""A checkpoint is there whole, is what was saved, and is refused if it is not."""

from __future__ import annotations

import json
import os
import pickle
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch

from tests.run.test_training import QUICK, numbers
from trifact.errors import RunError
from trifact.run import checkpoint, history, training
from trifact.run.folder import NotSavedError
from trifact.run.history import Epoch


def tensors(value: float) -> checkpoint.Parts:
    return {"factors": {"entity": torch.full((50, 4), value), "predicate": torch.zeros(2, 4)}}


def test_what_was_saved_is_loaded(tmp_path: Path) -> None:
    checkpoint.save(tmp_path, "last", tensors(1.5), {"epoch": 3, "rate": 0.1})
    parts, state = checkpoint.load(tmp_path, "last", "factors")
    assert torch.equal(parts["factors"]["entity"], torch.full((50, 4), 1.5))
    assert state == {"epoch": 3, "rate": 0.1}


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no full disk here")
def test_a_history_that_cannot_be_written_says_which_and_that_the_run_can_go_on() -> None:
    with pytest.raises(
        NotSavedError, match=r"/dev/full: cannot be written \(No space left"
    ) as full:
        history.append(Path("/dev/full"), Epoch(1, 1.0, 0.0, 0.1, 0.4, 10.0, 0.5, None))
    assert full.value.run == Path("/dev")


def test_only_files_that_a_manifest_names_stay(tmp_path: Path) -> None:
    for value in (1.0, 2.0, 3.0):
        checkpoint.save(tmp_path, "last", tensors(value), {})
    checkpoint.save(tmp_path, "best", tensors(3.0), {})
    assert len(list(tmp_path.glob("*.safetensors"))) == 1
    assert sorted(path.name for path in tmp_path.glob("*.json")) == ["best.json", "last.json"]
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]


def test_what_others_leave_beside_a_manifest_is_no_manifest(tmp_path: Path) -> None:
    """Such as a Mac's own notes about a file, and what a shared folder does with conflicts."""
    for name in ("._last.json", "last (conflicted copy).json"):
        (tmp_path / name).write_text("{")
    checkpoint.save(tmp_path, "last", tensors(1.0), {})
    assert checkpoint.load(tmp_path, "last", "factors")


def test_a_file_that_two_checkpoints_name_stays_until_neither_does(tmp_path: Path) -> None:
    files = checkpoint.save(tmp_path, "best", tensors(1.0), {})
    checkpoint.save(tmp_path, "last", tensors(1.0), {"epoch": 1}, saved=files)
    assert len(list(tmp_path.glob("*.safetensors"))) == 1
    checkpoint.save(tmp_path, "best", tensors(2.0), {})
    parts, state = checkpoint.load(tmp_path, "last", "factors")
    assert (float(parts["factors"]["entity"][0, 0]), state) == (1.0, {"epoch": 1})
    checkpoint.save(tmp_path, "last", tensors(2.0), {})
    assert len(list(tmp_path.glob("*.safetensors"))) == 1


def test_what_a_kill_left_half_written_goes_with_the_next_save(tmp_path: Path) -> None:
    checkpoint.save(tmp_path, "last", tensors(1.0), {})
    (tmp_path / ".factors.safetensors.1.part").write_bytes(b"half")
    checkpoint.save(tmp_path, "last", tensors(2.0), {})
    assert not list(tmp_path.glob(".*"))


def test_one_that_is_replaced_while_it_is_read_is_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkpoint.save(tmp_path, "best", tensors(1.0), {"epoch": 1})
    hashed, replaced = checkpoint._sha256, list[Path]()

    def overtaken(path: Path) -> str:
        if not replaced and path.parent == tmp_path and path.suffix == ".safetensors":
            replaced.append(path)
            checkpoint.save(tmp_path, "best", tensors(2.0), {"epoch": 2})
        return hashed(path)

    monkeypatch.setattr(checkpoint, "_sha256", overtaken)
    parts, state = checkpoint.load(tmp_path, "best", "factors")
    assert state == {"epoch": 2}
    assert float(parts["factors"]["entity"][0, 0]) == 2.0


def only_file(folder: Path) -> Path:
    (path,) = folder.glob("*.safetensors")
    return path


def test_a_cut_off_file_is_refused_by_name(tmp_path: Path) -> None:
    checkpoint.save(tmp_path, "last", tensors(1.0), {})
    path = only_file(tmp_path)
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(RunError, match=f"{path.name}.*has changed.*copy the run"):
        checkpoint.load(tmp_path, "last", "factors")


def test_an_altered_file_is_refused_by_name(tmp_path: Path) -> None:
    checkpoint.save(tmp_path, "last", tensors(1.0), {})
    path = only_file(tmp_path)
    content = bytearray(path.read_bytes())
    content[-5] ^= 1
    path.write_bytes(content)
    with pytest.raises(RunError, match=f"{path.name}.*has changed"):
        checkpoint.load(tmp_path, "last", "factors")


def test_a_missing_file_is_refused_by_name(tmp_path: Path) -> None:
    checkpoint.save(tmp_path, "last", tensors(1.0), {})
    path = only_file(tmp_path)
    path.unlink()
    with pytest.raises(RunError, match=f"{path.name}: it is missing; copy the run"):
        checkpoint.load(tmp_path, "last", "factors")


def test_one_that_is_not_there_yet_is_waited_for(tmp_path: Path) -> None:
    run = tmp_path / "my run"
    checkpoint.save(run / "checkpoints", "last", tensors(1.0), {})
    with pytest.raises(RunError, match=f"no checkpoint best yet; .* --resume '{run}'"):
        checkpoint.load(run / "checkpoints", "best", "factors")


def test_everybody_may_read_it_whom_the_umask_lets(tmp_path: Path) -> None:
    checkpoint.save(tmp_path, "last", tensors(1.0), {})
    assert only_file(tmp_path).stat().st_mode == (tmp_path / "last.json").stat().st_mode


class Trap:
    """A pickle that would make a file if anybody unpickled it."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[object, tuple[object, ...]]:
        return os.mkdir, (str(self.path),)


def test_a_pickle_is_refused_and_not_run(tmp_path: Path) -> None:
    checkpoint.save(tmp_path, "last", tensors(1.0), {})
    path, trap = only_file(tmp_path), tmp_path / "sprung"
    path.write_bytes(pickle.dumps(Trap(trap)))
    manifest = json.loads((tmp_path / "last.json").read_text())
    manifest["files"]["factors"]["sha256"] = checkpoint._sha256(path)
    (tmp_path / "last.json").write_text(json.dumps(manifest))
    with pytest.raises(RunError, match=path.name):
        checkpoint.load(tmp_path, "last", "factors")
    assert not trap.exists()


def test_a_newer_format_is_refused_naming_both(tmp_path: Path) -> None:
    checkpoint.save(tmp_path, "last", tensors(1.0), {})
    manifest = json.loads((tmp_path / "last.json").read_text())
    (tmp_path / "last.json").write_text(json.dumps({**manifest, "format": 7}))
    with pytest.raises(RunError, match="format is 7, this trifact reads up to 1"):
        checkpoint.load(tmp_path, "last", "factors")


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"format": "x"}', '{"format": 1}', '{"format": 1e999}', "null"]
)
def test_a_damaged_manifest_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "last.json").write_text(text)
    with pytest.raises(RunError, match=r"last\.json"):
        checkpoint.load(tmp_path, "last", "factors")


def test_a_name_in_a_manifest_never_leads_out_of_the_folder(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    checkpoint.save(folder, "last", tensors(1.0), {})
    outside = tmp_path / only_file(folder).name
    only_file(folder).replace(outside)
    manifest = json.loads((folder / "last.json").read_text())
    manifest["files"]["factors"]["name"] = f"../{outside.name}"
    (folder / "last.json").write_text(json.dumps(manifest))
    with pytest.raises(RunError):
        checkpoint.load(folder, "last", "factors")


SAVING = """
import sys, torch
from pathlib import Path
from trifact.run import checkpoint
folder, number = Path(sys.argv[1]), 0
while True:
    number += 1
    table = torch.full((2000, 100), float(number))
    checkpoint.save(folder, "last", {"factors": {"entity": table}}, {"number": number})
    print(number, flush=True)
"""


@pytest.mark.parametrize("delay", [0.0, 0.003, 0.007, 0.012, 0.02])
def test_a_kill_at_any_moment_leaves_a_whole_checkpoint(tmp_path: Path, delay: float) -> None:
    command = [sys.executable, "-c", SAVING, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "1\n"
        time.sleep(delay)
        child.send_signal(signal.SIGKILL)
        printed = child.stdout.read().split()
    parts, state = checkpoint.load(tmp_path, "last", "factors")
    number = state["number"]
    assert number >= int(printed[-1] if printed else 1)
    assert bool((parts["factors"]["entity"] == number).all())


FILLING = """
import resource, sys, torch
from pathlib import Path
from trifact.errors import OutputError
from trifact.graph.storage import write_parquet
from trifact.run import checkpoint
folder = Path(sys.argv[1])
checkpoint.save(folder, "last", {"factors": {"entity": torch.ones(10, 10)}}, {"number": 1})
resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
for write in (
    lambda: checkpoint.save(folder, "last", {"factors": {"entity": torch.ones(999, 99)}}, {}),
    lambda: write_parquet(folder / "x.parquet", {"a": torch.randint(2**60, (9999,)).numpy()}),
):
    try:
        write()
    except OutputError as error:
        print(error)
"""


def test_a_full_disk_is_one_sentence_and_leaves_the_old_checkpoint(tmp_path: Path) -> None:
    command = [sys.executable, "-c", FILLING, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.count("cannot be written") == 2
    assert done.stdout.count("what was saved before is kept") == 1
    assert done.stderr == ""
    assert checkpoint.load(tmp_path, "last", "factors")[1] == {"number": 1}
    assert len(list(tmp_path.iterdir())) == 2


def test_a_run_that_has_lost_its_last_checkpoint_is_not_begun_anew(tmp_path: Path) -> None:
    """Its best factors would be replaced by those of a first epoch."""
    run = training.train(numbers(), QUICK.replace(validate_every=1), out=tmp_path / "run")
    assert run.best_epoch > 1
    (run.path / "checkpoints" / "last.json").unlink()
    before = run.factors_hash()
    with pytest.raises(RunError, match="its checkpoint last is missing, but the best is of epoch"):
        training.resume(run.path, epochs=9)
    assert run.factors_hash() == before
    assert len(run.history) == QUICK.epochs
