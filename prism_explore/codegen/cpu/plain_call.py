# pyright: basic
# torch is only partly typed.
"""Calls of a CPU kernel with torch tensors, which need no views and one comparison for each input.

A small kernel takes no longer than Python takes to bind its arguments. So the usual call is compared with what the
kernel expects in the order of dims that the user's tensors have, and only its addresses are handed over. Any other call
is bound, checked and explained by `SavedKernel`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from prism_explore.codegen.cpu.arguments import NAMES
from prism_explore.codegen.cpu.load import LoadedKernel
from prism_explore.ir.tensors import WORDS


class PlainCall:
    """Calls a kernel where all inputs are torch tensors as it expects them, and no gradient is recorded."""

    def __init__(
        self,
        kernel: LoadedKernel,
        arguments: int,
        sources: Sequence[tuple[int | str, Sequence[int], str]],
        parameters: Mapping[str, Any],
        changed: Callable[[], bool] = lambda: False,
    ) -> None:
        """Prepare the comparison.

        Args:
            kernel: whose inputs have no bounds.
            arguments: their number.
            sources: per input of the kernel, the position of an argument or the name of a parameter, the order in
                which the kernel has its dims, empty where that is its own, and the dtype whose bits the kernel reads,
                empty where it reads its own.
            parameters: tensors by name.
            changed: whether other tensors have changed that the kernel depends on; such a call is not plain.
        """
        import torch

        self._torch, self._kernel, self._parameters = torch, kernel, parameters
        self._plain_types = (torch.Tensor, torch.nn.Parameter)
        self._arguments, self._changed = arguments, changed
        self._inputs: tuple[tuple[Any, tuple[int, ...], tuple[int, ...], Any], ...] = tuple(
            (
                source,
                *_in_user_order(e.buffer.shape, e.buffer.strides, order, WORDS.get(bits, 0)),
                getattr(torch, bits or NAMES[e.buffer.dtype]),
            )
            for (source, order, bits), e in zip(sources, kernel.inputs, strict=True)
        )
        """Per input of the kernel, its argument or parameter, its shape, strides and dtype."""

    def __call__(self, args: Sequence[Any]) -> Any:
        """The result, or None for a call that is not plain."""
        if len(args) != self._arguments or self._changed():
            return None
        records, addresses = self._torch.is_grad_enabled(), []
        for source, shape, strides, dtype in self._inputs:
            x = args[source] if type(source) is int else self._parameters[source]
            if type(x) not in self._plain_types or x.shape != shape or x.dtype is not dtype or x.stride() != strides:
                return None
            if not x.is_cpu or (records and x.requires_grad):
                return None
            addresses.append(x.data_ptr())
        return self._kernel.at_addresses(addresses, x)


def _in_user_order(
    shape: Sequence[int], strides: Sequence[int], permute: Sequence[int], word: int
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The shape and strides of the tensor of which a permutation has these; of integers of `word` bytes, if not 0."""
    inverse = [permute.index(d) for d in range(len(permute))] if permute else range(len(shape))
    shape, strides = tuple(shape[d] for d in inverse), tuple(strides[d] for d in inverse)
    return (shape[:-1], tuple(s // word for s in strides[:-1])) if word else (shape, strides)
