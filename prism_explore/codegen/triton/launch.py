# pyright: basic
# It speaks to torch, which pyright only half understands.
"""A Triton kernel as a callable on tensors of a GPU, compiled at its first call.

Any strides will do, for the launcher passes them on. NumPy arrays are copied to the device, and the result
back, so that what checks kernels for the CPU checks these.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from prism_explore.codegen.triton.emit import TritonModule, load_triton, triton_module
from prism_explore.errors import ShapeError, TargetUnavailable
from prism_explore.ir.tensors import NAMES
from prism_explore.pipeline.stages import Kernel

NARROW = 1 << 31
"""Offsets of elements below this are kept in 32 bits."""


def load(kernel: Kernel, device: str = "cuda") -> LoadedTriton:
    """The callable of a Triton kernel.

    Args:
        kernel: made by `emit`.
        device: where its tensors are.

    Raises:
        TargetUnavailable: torch finds no such device here.
    """
    import torch

    if device == "cuda" and not torch.cuda.is_available():
        raise TargetUnavailable("a triton kernel needs a GPU, and torch finds none here; `on_gpu` shows its source")
    return LoadedTriton(kernel, device)


@dataclass
class LoadedTriton:
    """A launcher with the manners of a Python function: `kernel(x, g, w)` gives a new tensor."""

    kernel: Kernel
    device: str
    _module: TritonModule = field(init=False)

    def __post_init__(self) -> None:
        self._module = triton_module(self.kernel)
        self._launch = load_triton(self.kernel.source)
        self._inputs = self.kernel.verified.candidate.family.program.inputs
        self._sizes = dict(self.kernel.shapes)

    @property
    def source(self) -> str:
        """The Triton source."""
        return self.kernel.source

    def __call__(self, *inputs: Any) -> Any:
        """The result for these inputs, in the order of the program's.

        Raises:
            ShapeError: a wrong number of inputs, a wrong shape or dtype, a tensor elsewhere or too far apart.
            TargetUnavailable: the kernel asks for more than this GPU has.
        """
        import torch

        where = torch.cuda.device if self.device == "cuda" else nullcontext
        given = self._given(inputs)
        try:
            with where(given[0].device):
                found = self._launch(*given)
        except Exception as failure:
            if type(failure).__name__ == "OutOfResources":
                raise TargetUnavailable(f"this kernel was made for another GPU: {failure}") from failure
            raise
        return found if isinstance(inputs[0], torch.Tensor) else _array(found)

    def check(self, *inputs: Any) -> None:
        """Raise ShapeError where a call with these inputs would; nothing is computed."""
        self._given(inputs)

    def _given(self, inputs: Sequence[Any]) -> list[Any]:
        if len(inputs) != len(self._inputs):
            names = ", ".join(i.name for i in self._inputs)
            raise ShapeError(f"this kernel takes {len(self._inputs)} inputs ({names}), found {len(inputs)}")
        return [self._tensor(i.name, i.type, x) for i, x in zip(self._inputs, inputs, strict=True)]

    def _tensor(self, name: str, wanted: Any, x: Any) -> Any:
        import torch

        if isinstance(x, np.ndarray):
            x = tensor_of(x).to(self.device)
        if not isinstance(x, torch.Tensor):
            raise ShapeError(f"{name!r} must be a torch tensor or a NumPy array, found {type(x).__name__}")
        shape = tuple(d.value(self._sizes) for d in wanted.dims)
        if tuple(x.shape) != shape:
            raise ShapeError(f"{name!r} must have shape {shape}, found {tuple(x.shape)}")
        if x.dtype != getattr(torch, NAMES[wanted.dtype]):
            raise ShapeError(f"{name!r} must be {NAMES[wanted.dtype]}, found {str(x.dtype).removeprefix('torch.')}")
        if x.device.type != self.device:
            raise ShapeError(f"{name!r} must be on {self.device}, found it on {x.device.type}; move it there first")
        last = sum((n - 1) * s for n, s in zip(x.shape, x.stride(), strict=True))
        if last >= NARROW and not any(k.wide_index for k in self._module.kernels):
            raise ShapeError(f"{name!r} spans {last + 1:,} elements of memory, this kernel counts to 2**31; copy it")
        return x


def tensor_of(array: Any) -> Any:
    """Torch's view of an array; NumPy's bfloat16 is a stranger to it, but not its bits."""
    import torch

    if isinstance(array, torch.Tensor):
        return array
    if str(array.dtype) == "bfloat16":
        return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(array)


def _array(tensor: Any) -> Any:
    import torch

    tensor = tensor.cpu()
    return (tensor.float() if tensor.dtype == torch.bfloat16 else tensor).numpy()
