"""Run the commands that a page shows, in their order, and put what they print under them.

A block that begins with ```console holds commands after `$ `, and their output. All blocks of a
page share one new folder, so a run that one of them trains is there for the next.

python -m scripts.transcripts README.md docs/tutorial.md
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from trifact.durable import write_text

BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
WIDTH = "80"


def commands(page: str) -> list[str]:
    """All commands of a page, in order."""
    lines = (line for block in BLOCK.findall(page) for line in block.splitlines())
    return [line.removeprefix("$ ") for line in lines if line.startswith("$ ")]


def output(command: str, folder: Path) -> str:
    """What a command prints, errors too, as a terminal of 80 columns would show it."""
    words = re.sub(r"(^|\| )trifact ", rf"\1{sys.executable} -m trifact ", command)
    done = subprocess.run(
        words,
        shell=True,  # pipes and quotes are what a reader would type
        cwd=folder,
        env={**os.environ, "COLUMNS": WIDTH},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    lines = [line.rstrip() for line in done.stdout.splitlines()]
    return "\n".join(lines).strip("\n")


def filled(page: str, folder: Path) -> str:
    """The page with the output of each command."""

    def run(block: re.Match[str]) -> str:
        parts = []
        for command in commands(block.group(0)):
            print(f"$ {command}", flush=True)
            printed = output(command, folder)
            parts.append(f"$ {command}\n{printed}\n" if printed else f"$ {command}\n")
        return "```console\n" + "\n".join(parts) + "```"

    return BLOCK.sub(run, page)


def main() -> None:
    parser = argparse.ArgumentParser(description="Fill in what the commands of pages print.")
    parser.add_argument("pages", nargs="+", type=Path)
    for path in parser.parse_args().pages:
        with tempfile.TemporaryDirectory() as folder:
            write_text(path, filled(path.read_text(encoding="utf-8"), Path(folder)))


if __name__ == "__main__":
    main()
