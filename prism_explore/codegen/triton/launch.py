# pyright: basic
# torch is only partly typed.
"""A Triton kernel as a callable on GPU tensors, compiled at its first call.

Inputs may have any strides: the launcher passes them on. NumPy arrays are copied to the device and the result back, so
that checks written for CPU kernels apply to these.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from prism_explore.codegen.triton.emit import TritonModule, load_triton, triton_module
from prism_explore.errors import PositionError, ShapeError, TargetUnavailable
from prism_explore.ir.tensors import INTEGER_NUMBERS, NAMES, WHOLE_NUMBERS
from prism_explore.pipeline.stages import Kernel

NARROW_OFFSETS = 1 << 31
"""Element offsets below this are 32-bit."""


def load(kernel: Kernel, device: str = "cuda") -> LoadedTriton:
    """The callable of a Triton kernel.

    Args:
        kernel: made by `emit`.
        device: of its tensors.

    Raises:
        TargetUnavailable: torch finds no such device here.
    """
    import torch

    if device == "cuda" and not torch.cuda.is_available():
        raise TargetUnavailable("a triton kernel needs a GPU, and torch finds none here; `on_gpu` shows its source")
    return LoadedTriton(kernel, device)


@dataclass
class LoadedTriton:
    """A launcher as a function: `kernel(x, g, w)` returns a new tensor."""

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
        """The result for these inputs, in the order of the program's inputs.

        Raises:
            ShapeError: a wrong number of inputs, a wrong shape, dtype or device, or strides too large for 32 bits.
            TargetUnavailable: the kernel needs more than this GPU has.
        """
        import torch

        where = torch.cuda.device if self.device == "cuda" else nullcontext
        tensors = self._as_tensors(inputs)
        try:
            with where(tensors[0].device):
                found = self._launch(*tensors)
        except Exception as failure:
            if type(failure).__name__ == "OutOfResources":
                raise TargetUnavailable(f"this kernel was made for another GPU: {failure}") from failure
            raise
        if isinstance(inputs[0], torch.Tensor):
            return found
        return tuple(map(_array, found)) if isinstance(found, tuple) else _array(found)

    def check(self, *inputs: Any) -> None:
        """Raise ShapeError where a call with these inputs would, without a launch."""
        self._as_tensors(inputs)

    def _as_tensors(self, inputs: Sequence[Any]) -> list[Any]:
        if len(inputs) != len(self._inputs):
            names = ", ".join(i.name for i in self._inputs)
            raise ShapeError(f"this kernel takes {len(self._inputs)} inputs ({names}), found {len(inputs)}")
        return [self._tensor(i.name, i.type, x) for i, x in zip(self._inputs, inputs, strict=True)]

    def _tensor(self, name: str, expected: Any, x: Any) -> Any:
        import torch

        if isinstance(x, np.ndarray):
            x = tensor_of(x).to(self.device)
        if not isinstance(x, torch.Tensor):
            raise ShapeError(f"{name!r} must be a torch tensor or a NumPy array, found {type(x).__name__}")
        shape = expected.shape_at(self._sizes)
        if tuple(x.shape) != shape:
            raise ShapeError(f"{name!r} must have shape {shape}, found {tuple(x.shape)}")
        if x.dtype != getattr(torch, NAMES[expected.dtype]):
            raise ShapeError(f"{name!r} must be {NAMES[expected.dtype]}, found {str(x.dtype).removeprefix('torch.')}")
        if expected.dtype in INTEGER_NUMBERS:
            (low, high), least, most = WHOLE_NUMBERS[expected.dtype], int(x.min()), int(x.max())
            if least < low or most > high:
                found = least if least < low else most
                raise PositionError(f"{name!r} has the number {found}; kernels read integers from {low} to {high}")
        if x.device.type != self.device:
            raise ShapeError(f"{name!r} must be on {self.device}, found it on {x.device.type}; move it there first")
        last = sum((n - 1) * s for n, s in zip(x.shape, x.stride(), strict=True))
        if last >= NARROW_OFFSETS and not any(k.wide_index for k in self._module.kernels):
            raise ShapeError(f"{name!r} spans {last + 1:,} elements of memory, this kernel counts to 2**31; copy it")
        return x


def tensor_of(array: Any) -> Any:
    """A torch tensor that shares an array's memory; bfloat16 arrays are reinterpreted, as torch does not know them."""
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
