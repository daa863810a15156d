"""Tensors on disk, whole and checked: safetensors, and a manifest that names and hashes them.

A checkpoint is `NAME.json`. It lists its files with their SHA-256, and is replaced last: a kill
at any moment leaves the old manifest with the old files, or the new one with the new. Files that
no manifest names are removed afterwards. There is no pickle, neither written nor read.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from trifact.durable import read_json, replacing, write_text, writing
from trifact.errors import ConfigError, OutputError, RunError
from trifact.run.folder import NotSavedError, go_on

FORMAT = 1
NAMES = ("best", "last")
Parts = dict[str, dict[str, Tensor]]
Files = dict[str, dict[str, str]]
"""By part: the name of its file, and the SHA-256 of that."""


def save(
    folder: Path, name: str, parts: Parts, state: dict[str, Any], *, saved: Files | None = None
) -> Files:
    """Save parts (each a file of named tensors) and plain state as checkpoint `name`.

    Parts that another checkpoint here has as they are, in files `saved`, are not written again.
    """
    have = saved or {}
    try:
        files = {part: have.get(part) or _save_part(folder, part, parts[part]) for part in parts}
        manifest = {"format": FORMAT, "files": files, "state": state}
        write_text(folder / f"{name}.json", json.dumps(manifest, indent=2) + "\n")
    except OutputError as error:
        raise NotSavedError(str(error), folder.parent) from None
    _remove_unnamed(folder)
    return files


def load(folder: Path, name: str, *parts: str) -> tuple[Parts, dict[str, Any]]:
    """The tensors of some parts of a checkpoint, mapped into memory, and its state.

    A file is used only if its content is what was saved.
    """
    manifest = read_manifest(folder, name)
    try:
        loaded = {part: _load_part(folder, manifest["files"][part]) for part in parts}
    except RunError:
        if read_manifest(folder, name) == manifest:
            raise
        return load(folder, name, *parts)  # it is being trained: there are newer ones now
    return loaded, manifest["state"]


def read_manifest(folder: Path, name: str) -> dict[str, Any]:
    """The manifest of a checkpoint; a damaged one or one of a newer format is refused."""
    if name not in NAMES:
        raise ConfigError(f"checkpoint must be one of {', '.join(NAMES)}, not {name!r}")
    path = folder / f"{name}.json"
    manifest = read_json(
        path,
        what="manifest of a checkpoint",
        newest=FORMAT,
        parts=("files", "state"),
        advice="train again",
    )
    if manifest is None:
        advice = f"wait for it, or {go_on(folder.parent)}"
        raise RunError(f"{folder.parent}: it has no checkpoint {name} yet; {advice}")
    return manifest


def refuse_best_alone(folder: Path, *, first: int) -> None:
    """Where there is no last, refuse a best of any but the first validation."""
    if not (folder / "best.json").exists():
        return
    best = int(read_manifest(folder, "best")["state"]["epoch"])
    if 0 < first < best:
        problem = f"its checkpoint last is missing, but the best is of epoch {best}"
        advice = "copy the run whole, or train into another folder"
        raise RunError(f"{folder.parent}: {problem}; {advice}")


def _save_part(folder: Path, part: str, tensors: dict[str, Tensor]) -> dict[str, str]:
    """Write one file, named after its content."""
    path = folder / f"{part}.safetensors"
    with replacing(path) as temporary:
        try:
            save_file({key: t.contiguous() for key, t in tensors.items()}, temporary)
        except SafetensorError as error:  # also what the disk says
            raise OutputError(f"{path}: cannot be written ({error})") from None
        digest = _sha256(temporary)
        named = folder / f"{part}-{digest[:16]}.safetensors"
    with writing(named):
        path.replace(named)
    return {"name": named.name, "sha256": digest}


def _load_part(folder: Path, file: dict[str, str]) -> dict[str, Tensor]:
    path = folder / Path(file["name"]).name
    try:
        if _sha256(path) == file["sha256"]:
            return load_file(path)
        problem = "its content has changed since it was saved"
    except FileNotFoundError:
        problem = "it is missing"
    except (OSError, SafetensorError) as error:
        raise RunError(f"{path}: cannot be read ({error})") from None
    raise RunError(f"{path}: {problem}; copy the run from where it is whole, or train again")


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _remove_unnamed(folder: Path) -> None:
    there = (name for name in NAMES if (folder / f"{name}.json").exists())
    manifests = [read_manifest(folder, name) for name in there]
    named = {file["name"] for manifest in manifests for file in manifest["files"].values()}
    for path in folder.glob("*.safetensors"):
        if path.name not in named:
            path.unlink(missing_ok=True)
    for part in folder.glob(".*.part"):  # of one that was killed
        part.unlink(missing_ok=True)
