# pyright: basic
# It speaks to torch all day, which pyright only half understands.
"""Gradients of a kernel: its result forwards, the torch code that it replaces backwards.

The kernel has no derivative of its own. Its program is equal to the torch code, so the code's derivative, taken
where the kernel was called, is the right one; the code is run once more for it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any


def wants_gradient(inputs: Sequence[Any]) -> bool:
    """Whether torch records gradients just now and one of the inputs requires one."""
    torch = sys.modules.get("torch")
    return torch is not None and torch.is_grad_enabled() and any(getattr(x, "requires_grad", False) for x in inputs)


def differentiable(run: Callable[..., Any], code: Callable[..., Any], inputs: Sequence[Any]) -> Any:
    """The kernel's result, with the gradient of the torch code.

    Args:
        run: the kernel.
        code: what it is equal to, in torch, of the same inputs in the same order.
        inputs: torch tensors.
    """
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
            wanted = ctx.needs_input_grad[2:]
            inputs = [x.detach().requires_grad_(w) for x, w in zip(ctx.saved_tensors, wanted, strict=True)]
            with torch.enable_grad():
                result = ctx.code(*inputs)
            sought = [x for x, w in zip(inputs, wanted, strict=True) if w]
            found = iter(torch.autograd.grad(result, sought, grads[0], allow_unused=True))
            return (None, None, *(next(found) if w else None for w in wanted))

    return Replaced
