"""Where a long discovery stands, kept beside its result until that is written.

One safetensors file, replaced as a whole: a kill at any moment leaves the old standing or the new
one. It names the request it belongs to, and goes on with no other.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from trifact.durable import replacing
from trifact.errors import OutputError
from trifact.wording import setting

FORMAT = 2
Request = dict[str, Any]


@dataclass(frozen=True)
class Standing:
    """How many steps are done, and all that they came to."""

    done: int
    tensors: dict[str, Tensor]


def beside(out: Path) -> Path:
    """The file of the standing of a result."""
    return out.with_name(f".{out.name}.discovery")


def keep(path: Path, request: Request, standing: Standing) -> None:
    """Keep where a request stands."""
    about = {"format": str(FORMAT), "request": _text(request), "done": str(standing.done)}
    tensors = {name: tensor.contiguous() for name, tensor in standing.tensors.items()}
    with replacing(path) as part:
        try:
            save_file(tensors, part, metadata=about)
        except SafetensorError as error:  # also what the disk says
            raise OutputError(f"{path}: cannot be written ({error})") from None


def read(path: Path, request: Request, *, anew: bool) -> Standing | None:
    """Where the request stands; None if it has not begun.

    What another request left there is refused, or, if it may begin `anew`, not used.
    """
    if not path.exists():
        return None
    try:
        with safe_open(path, framework="pt") as file:
            about = file.metadata() or {}
            if about.get("request") == _text(request) and about.get("format") == str(FORMAT):
                tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
                return Standing(int(about["done"]), tensors)
        problem = "another discovery stopped here"
    except (OSError, SafetensorError, KeyError, ValueError) as error:
        problem = f"where a discovery stopped cannot be read ({error})"
    if anew:
        return None
    other = f"give another {setting('out')}, or say {setting('overwrite', True)} to begin anew"
    raise OutputError(f"{path}: {problem}; repeat it as it was to finish it, {other}")


def _text(request: Request) -> str:
    return json.dumps(request, sort_keys=True)
