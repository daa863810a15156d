"""The command line with bfloat16 products where the processor has no units for them.

torch multiplies bfloat16 matrices there too, but many times slower than float32 ones. The same
numbers (but for the order of sums) come through float32: factors are exact in it, such units keep
their sums in it too, and the result is rounded. So what bfloat16 does to quality can be seen on
any machine; what it does to time cannot.

    python -m scripts.bfloat16 train FB15K-237 --precision bfloat16 ...
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

from trifact.cli import main


class ThroughFloat32(TorchFunctionMode):
    """`torch.mm` of bfloat16 matrices is made in float32, and rounded."""

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Iterable[type],
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:  # noqa: ANN401
        if func is torch.mm and args[0].dtype == torch.bfloat16:
            return _rounded_product(*args, **(kwargs or {}))
        return func(*args, **(kwargs or {}))


def _rounded_product(left: Tensor, right: Tensor, *, out: Tensor | None = None) -> Tensor:
    product = torch.mm(left.float(), right.float())
    return product.bfloat16() if out is None else out.copy_(product)


if __name__ == "__main__":
    with ThroughFloat32():
        main()
