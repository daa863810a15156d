"""The house stands: a file imports only from its own floor or from floors below."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "trifact"
GROUND = {"errors", "config", "progress", "durable", "wording"}
BELOW = {
    "graph": GROUND,
    "tensor": GROUND,
    "run": GROUND | {"graph", "tensor"},
    "answer": GROUND | {"graph", "tensor", "run"},
    "paper": GROUND | {"graph", "tensor", "run"},
    "trials": GROUND | {"graph", "tensor", "run"},
    "cli": GROUND | {"graph", "tensor", "run", "answer", "paper", "trials", ""},
    "": GROUND | {"graph", "run", "answer", "trials", "cli"},
}
FILES = sorted(SOURCE.rglob("*.py"))


def floor_of(path: Path) -> str:
    """The folder of a file, or its own name where it stands on the ground."""
    parts = path.relative_to(SOURCE).parts
    if len(parts) > 1:
        return parts[0]
    return "" if path.stem.startswith("__") else path.stem


def imported_floors(tree: ast.AST) -> set[str]:
    modules = set[str]()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            modules |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute here"
            modules |= {f"{node.module}.{alias.name}" for alias in node.names}
    ours = [f"{module}.".split(".") for module in modules if module.split(".")[0] == "trifact"]
    return {name if name in {*BELOW, *GROUND} else "" for _, name, *_ in ours}


def roots(tree: ast.AST) -> set[str]:
    """The packages that a file imports, wherever it does."""
    modules = set[str]()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            modules |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            modules.add(node.module or "")
    return {module.split(".")[0] for module in modules}


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_a_file_imports_only_from_its_floor_or_below(path: Path) -> None:
    floor = floor_of(path)
    allowed = GROUND if floor in GROUND else BELOW[floor] | {floor}
    assert imported_floors(ast.parse(path.read_text(encoding="utf-8"))) <= allowed


def test_the_graph_floor_does_not_know_torch_and_the_tensor_floor_knows_no_files() -> None:
    for path in FILES:
        names = {"graph": {"torch", "safetensors"}, "tensor": {"pathlib", "os", "io", "json"}}
        tree = ast.parse(path.read_text(encoding="utf-8"))
        assert not roots(tree) & names.get(floor_of(path), set()), path


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_no_file_is_too_long_and_none_is_called_after_nothing(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) < 400
    assert path.stem not in {"utils", "util", "common", "helpers", "manager", "misc"}
