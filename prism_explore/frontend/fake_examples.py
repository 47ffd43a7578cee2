# pyright: basic
# torch and its tensors are untyped throughout.
"""Tensors without data, on which torch runs code to trace it, and the sizes that symbols have in them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from prism_explore.ir.dims import Dim
from prism_explore.ir.tensors import NAMES, TensorType

EXAMPLE_SIZES = (7, 11, 13, 17, 19, 23, 29, 31)
"""Sizes of symbols while tracing: different primes, so that torch does not identify two of them."""


def examples_of(types: Sequence[TensorType], symbols: Mapping[str, int], device: Any) -> tuple[Any, ...]:
    """Tensors without data.

    Fake tensors take no memory; unlike meta tensors they can be combined with masks that the user makes on the CPU.
    """
    import torch
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode(allow_non_fake_inputs=True):
        return tuple(
            torch.empty_strided(
                t.shape_at(symbols),
                t.strides_at(symbols),
                dtype=getattr(torch, NAMES[t.dtype]),
                device=device,
            )
            for t in types
        )


def linear_in(d: Dim) -> tuple[str, int, int] | None:
    """The symbol of a size, by which positive integer it is multiplied, and what is added; None for other sizes."""
    if len(d.symbols) != 1:
        return None
    numbers = dict(d.terms)
    factor, added = numbers.pop(((d.symbols[0], 1),), 0), numbers.pop((), 0)
    is_linear = not numbers and factor > 0 and int(factor) == factor and int(added) == added
    return (d.symbols[0], int(factor), int(added)) if is_linear else None
