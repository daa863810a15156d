"""One JSON line an epoch: what happened, for tables and figures."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from trifact.durable import synced, write_text
from trifact.errors import RunError
from trifact.run.folder import NotSavedError


@dataclass(frozen=True)
class Epoch:
    """What one epoch came to."""

    epoch: int
    loss: float
    """Mean log-loss of an example, the second loss included, without the regularizer.

    In the standard setting an example is a fact with both of its losses.
    """
    penalty: float
    rate: float
    seconds: float
    """Of training in this epoch, validation not counted."""
    queries_per_second: float
    matmul_share: float
    """Time of the bare matrix products at the machine's measured peak, as a share of the whole."""
    mrr: float | None
    """Filtered MRR on validation, where it was measured."""


def append(path: Path, epoch: Epoch) -> None:
    """Add a line."""
    with _kept(path), path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(asdict(epoch)) + "\n")


def settle(path: Path) -> None:
    """What was added is on the disk when this returns."""
    with _kept(path):
        synced(path)


@contextmanager
def _kept(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise NotSavedError(f"{path}: cannot be written ({error.strerror})", path.parent) from None


def read(path: Path) -> list[Epoch]:
    """All epochs; a line that was cut off by a kill is left out if it is the last."""
    if not path.exists():
        return []
    try:
        lines, epochs = path.read_text(encoding="utf-8").splitlines(), list[Epoch]()
    except UnicodeDecodeError:
        raise RunError(f"{path}: this is not a history") from None
    for number, line in enumerate(lines, 1):
        try:
            epochs.append(Epoch(**json.loads(line)))
        except (ValueError, TypeError, RecursionError):
            if number < len(lines):
                raise RunError(f"{path}:{number}: this is not a line of a history") from None
    return epochs


def keep_until(path: Path, last: int) -> list[Epoch]:
    """Forget what came after epoch `last`: it will be trained anew."""
    epochs = [epoch for epoch in read(path) if epoch.epoch <= last]
    write_text(path, "".join(json.dumps(asdict(epoch)) + "\n" for epoch in epochs))
    return epochs
