"""The exception tree: everything a user, a file or a machine can do wrong.

A message is one sentence that names the place and says what to do. The command line prints it
and exits with `exit_code`; a traceback is a bug of ours.
"""

from __future__ import annotations

from pathlib import Path


class TrifactError(Exception):
    """The root: catch this to catch all that trifact raises on purpose."""

    exit_code = 2


class ConfigError(TrifactError):
    """A setting that does not exist, has the wrong type or a value out of range."""


class InputError(TrifactError):
    """Facts, labels or names that cannot be read as they are.

    >>> print(InputError("expected 3 columns, found 2", path="facts.tsv", line=17))
    facts.tsv:17: expected 3 columns, found 2
    """

    def __init__(
        self, problem: str, *, path: str | Path | None = None, line: int | None = None
    ) -> None:
        self.problem, self.path, self.line = problem, path, line
        shown = str(path).replace("\n", "\\n")
        place = "" if path is None else f"{shown}: " if line is None else f"{shown}:{line}: "
        super().__init__(place + problem)


class BenchmarkError(InputError):
    """A named graph that is unknown, or whose files are not what they should be."""


class DownloadError(TrifactError):
    """A file that could not be fetched; what has arrived is kept and continued next time."""

    exit_code = 1


class OutputError(TrifactError):
    """A result that cannot be written; nothing half-written stays."""

    exit_code = 1


class RunError(TrifactError):
    """A run folder that is not one, is in use, damaged, or of another version."""


class TrainingError(TrifactError):
    """Training that cannot go on: it diverged, or there is nothing to train on."""

    exit_code = 1


def memory_ran_out(error: BaseException) -> bool:
    """Whether this is how Python or torch says that there is no memory left."""
    return isinstance(error, MemoryError) or "allocate" in str(error)


class DivergedError(TrainingError):
    """Factors that grew without bound: a loss or a score is no finite number."""
