"""Sentences call settings as their readers say them: flags on the command line, names in Python."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import trifact
from tests.cli.test_commands import run
from tests.test_layers import FILES, SOURCE, floor_of
from trifact.errors import ConfigError, InputError, OutputError
from trifact.wording import setting, typed

FLAG = re.compile(r"(?<![\w-])(?<!var\()--[a-z]")
COMMAND = "trifact "  # one to type, which Python has not
BELOW = [path for path in FILES if floor_of(path) not in ("cli", "paper", "")]


def sentences(path: Path) -> Iterator[str]:
    """The texts of a file but for its docstrings."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    docs = {node.value for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in docs:
            yield node.value


@pytest.mark.parametrize("path", BELOW, ids=lambda path: str(path.relative_to(SOURCE)))
def test_below_the_doors_no_flag_is_written_out(path: Path) -> None:
    flags = [text for text in sentences(path) if FLAG.search(text) and COMMAND not in text]
    assert not flags


def test_a_setting_is_called_as_it_is_said() -> None:
    assert [setting("overwrite", True), setting("columns")] == ["overwrite=True", "columns"]
    with typed():
        assert setting("skip_bad_lines", True) == "--skip-bad-lines"
        assert setting("format", "parquet") == "--format parquet"
    assert setting("format", "parquet") == "format='parquet'"


def test_python_and_the_command_say_the_same_in_their_own_words(tmp_path: Path) -> None:
    (tmp_path / "wide.csv").write_text("1,a,b,c\n2,d,e,f\n")
    with pytest.raises(InputError, match=r"found 4; choose three with columns$"):
        trifact.load(tmp_path / "wide.csv")
    shown = run("data", "describe", "wide.csv", cwd=tmp_path)
    assert shown.stderr.endswith("found 4; choose three with --columns\n")


def test_what_exists_and_what_belongs_together_in_python(tmp_path: Path) -> None:
    from trifact.answer.options import PredictConfig
    from trifact.durable import refuse_existing

    with pytest.raises(OutputError, match="say overwrite=True to replace it"):
        refuse_existing(tmp_path, overwrite=False)
    with pytest.raises(ConfigError, match=r"^among='types' and types go together"):
        PredictConfig(among="types")
