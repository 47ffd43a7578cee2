# pyright: basic
# Most values are objects of torch, which pyright types only in part.
"""An autograd function that runs a kernel forward and differentiates the torch code that it replaces.

A kernel has no derivative of its own. Its program equals the torch code, so the gradient of the torch code at the same
inputs is correct. The backward pass runs the torch code once more.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

from prism_explore.errors import ShapeError


def call_with_gradient(run: Callable[..., Any], code: Callable[..., Any] | None, inputs: Sequence[Any]) -> Any:
    """Run a kernel; where torch records gradients and an input requires one, attach the gradient of the torch code.

    Args:
        run: the kernel.
        code: equal torch code with the same inputs in the same order; None where there is none.
        inputs: torch tensors or NumPy arrays.

    Raises:
        ShapeError: a gradient is required and there is no torch code.
    """
    torch = sys.modules.get("torch")
    if torch is None or not torch.is_grad_enabled() or not any(getattr(x, "requires_grad", False) for x in inputs):
        return run(*inputs)
    if code is None:
        raise ShapeError(
            "an input requires a gradient and this kernel has no torch code to differentiate; "
            "call it under torch.no_grad() or with x.detach()"
        )
    return _function().apply(run, code, *inputs)


@lru_cache(1)
def _function() -> Any:
    import torch

    class Replaced(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, run: Callable[..., Any], code: Callable[..., Any], *inputs: Any) -> Any:
            ctx.code = code
            ctx.save_for_backward(*inputs)
            return run(*(x.detach() for x in inputs))

        @staticmethod
        @torch.autograd.function.once_differentiable
        def backward(ctx: Any, *grads: Any) -> Any:
            requires_grad = ctx.needs_input_grad[2:]
            inputs = [x.detach().requires_grad_(r) for x, r in zip(ctx.saved_tensors, requires_grad, strict=True)]
            with torch.enable_grad():
                result = ctx.code(*inputs)
            leaves = [x for x, r in zip(inputs, requires_grad, strict=True) if r]
            results = (result,) if isinstance(result, torch.Tensor) else result
            pairs = [(r, g) for r, g in zip(results, grads, strict=True) if r.requires_grad]
            followed, given = zip(*pairs, strict=True)
            gradients = iter(torch.autograd.grad(followed, leaves, given, allow_unused=True))
            return (None, None, *(next(gradients) if r else None for r in requires_grad))

    return Replaced
