"""What this machine is and how fast it multiplies: precision is chosen by measuring."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import torch

from trifact.tensor.workspace import Workspace

MOST_ROWS = 20_000
PROBE = 2**20  # entries of the table that precisions are compared on: emulated products crawl
TURNS = 3  # so that what disturbs one precision disturbs the other, too
WORTH_IT = 1.2  # bfloat16 must be so much faster than float32 to be taken


def describe() -> dict[str, Any]:
    """The machine of a record."""
    return {
        "processor": _processor(),
        "instructions": torch.backends.cpu.get_cpu_capability(),
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "system": platform.system(),
        "python": platform.python_version(),
        "torch": torch.__version__,
    }


@contextmanager
def denormals_flushed() -> Iterator[None]:
    """Numbers next to zero are zero while this lasts: shares that underflow are slow otherwise.

    It is a setting of the processor that the rest of the program does not expect to change.
    """
    torch.set_flush_denormal(True)
    try:
        yield
    finally:
        torch.set_flush_denormal(False)


def _processor() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:  # noqa: PTH123
            return next(line.split(":", 1)[1].strip() for line in file if "model name" in line)
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def peak_flops(
    dtype: torch.dtype, device: torch.device, rows: int, width: int, *, repeats: int = 5
) -> float:
    """Flop a second of queries (512, width) times candidates (rows, width), at its best.

    The best of some repeats and not their median: it is the machine's peak that is asked for.
    """
    queries = torch.randn(512, width).to(device, dtype)
    candidates = torch.randn(min(rows, MOST_ROWS), width).to(device, dtype)
    product = Workspace().logits(len(queries), candidates)[:, : len(candidates)]
    torch.mm(queries, candidates.T, out=product)  # the memory is touched before it is timed
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        torch.mm(queries, candidates.T, out=product)
        product[0, 0].item()  # waits for a GPU
        seconds.append(time.perf_counter() - start)
    return 2 * queries.numel() * len(candidates) / min(seconds)


def flop_of_products(queries: int, rows: int, width: int) -> int:
    """Of training on queries against candidates (rows, width): one product forth, two back."""
    return 6 * queries * rows * width


def faster_precision(device: torch.device, rows: int, width: int) -> str:
    """bfloat16 where its products are clearly faster than those of float32, else float32."""
    half, single = (probed_flops(t, device, rows, width) for t in (torch.bfloat16, torch.float32))
    return "bfloat16" if half > WORTH_IT * single else "float32"


def probed_flops(dtype: torch.dtype, device: torch.device, rows: int, width: int) -> float:
    """The peak with a part of a table (rows, width); a process measures it once for a shape."""
    return _probed_flops(device, min(rows, max(1, PROBE // width)), width)[dtype]


@cache
def _probed_flops(device: torch.device, rows: int, width: int) -> dict[torch.dtype, float]:
    found = {torch.bfloat16: 0.0, torch.float32: 0.0}
    for dtype in [*found] * TURNS:
        found[dtype] = max(found[dtype], peak_flops(dtype, device, rows, width, repeats=2))
    return found
