# pyright: basic
# Tensors of torch are typed only in part.
"""A kernel for larger sizes that computes results for smaller ones: arguments are padded, and results cut."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

from prism_explore.codegen.load import Loaded
from prism_explore.errors import ShapeError
from prism_explore.ir.analysis.padding import MASKED, Fill
from prism_explore.ir.program import TensorProgram
from prism_explore.ir.symbol_ranges import sizes_of
from prism_explore.ir.tensors import NAMES, TensorType, dtype_name


class PaddedKernel:
    """A kernel at the sizes of a bucket, as a kernel for all sizes up to those; it takes tensors of torch only."""

    def __init__(
        self,
        kernel: Loaded,
        program: TensorProgram,
        fills: Mapping[str, Mapping[int, Fill]],
        largest: Mapping[str, int],
        masked: Sequence[str] = (),
    ) -> None:
        """Nothing is padded yet.

        Args:
            kernel: compiled for the sizes `largest`.
            program: that it computes.
            fills: by input and dim, what an argument holds at the added positions; see `ir/analysis/padding.py`.
            largest: the values of all symbols.
            masked: the sizes of the kernel's masks, its last inputs, which are not the program's; they keep the
                positions of the call (`runtime/kept_positions.py`).
        """
        self._kernel, self._masked, self._largest = kernel, tuple(masked), largest
        types = [i.type for i in program.inputs]
        self._fills = tuple(dict(sorted(fills[i.name].items())) for i in program.inputs)
        self._forms = tuple((t.shape_at(largest), t.strides_at(largest)) for t in types)
        self._outputs = program.graph.output_types
        self._expected = Forms(program, fills)

    @property
    def source(self) -> str:
        """The kernel's text."""
        return self._kernel.source

    def __call__(self, *inputs: Any) -> Any:
        """The result, a new tensor.

        Raises:
            ShapeError: as for the kernel, except that sizes may be smaller; or a mask that is added to scores keeps
                nothing of a row, and keys are added to it.
        """
        sizes = self._expected.sizes(inputs)
        for x, fills, (shape, _) in zip(inputs, self._fills, self._forms, strict=True):
            if x.shape[-1:] != shape[-1:] and fills.get(x.dim() - 1) == "masked" and _has_masked_row(x):
                raise ShapeError("a mask keeps nothing of a row, whose result is another one with added keys")
        found = self._kernel(*self._padded(inputs), *self._masks(sizes))
        results = found if isinstance(found, tuple) else (found,)
        cut = tuple(_cut(r, t, sizes) for r, t in zip(results, self._outputs, strict=True))
        return cut if isinstance(found, tuple) else cut[0]

    def check(self, *inputs: Any) -> None:
        """Raise ShapeError where a call with these inputs would, without computing."""
        sizes = self._expected.sizes(inputs)
        self._kernel.check(*self._padded(inputs), *self._masks(sizes))

    def _padded(self, inputs: Sequence[Any]) -> list[Any]:
        return [
            x if not fills or (x.shape, x.stride()) == (shape, strides) else _padded(x, fills, shape, strides)
            for x, fills, (shape, strides) in zip(inputs, self._fills, self._forms, strict=True)
        ]

    def _masks(self, sizes: Mapping[str, int]) -> list[Any]:
        torch = sys.modules["torch"]  # whose tensors a call has
        return [torch.arange(self._largest[symbol]) < sizes[symbol] for symbol in self._masked]


LEAST_KEPT = MASKED * 1e-6
"""A score above this is not changed by added keys: their exponentials are 0 beside its own, whatever the scale."""
MOST_FORMS = 256
"""Forms of arguments that are kept with their sizes."""


class Forms:
    """The forms of tensors that a program takes: shapes that fit its types at some sizes, dtypes, and strides."""

    def __init__(self, program: TensorProgram, fills: Mapping[str, Mapping[int, Fill]]) -> None:
        """No form is known yet.

        Args:
            program: it.
            fills: see `PaddedKernel`. The strides of an input that is padded, and so copied, are not looked at.
        """
        self._program, self._fills = program, fills
        self._types = tuple(i.type for i in program.inputs)
        self._known: dict[Any, dict[str, int]] = {}

    def sizes(self, inputs: Sequence[Any]) -> dict[str, int]:
        """The sizes of a call with tensors in main memory.

        Args:
            inputs: the program's inputs in their order.

        Raises:
            ShapeError: a tensor does not fit.
        """
        torch = sys.modules.get("torch")
        if torch is None or not all(isinstance(x, torch.Tensor) and x.is_cpu for x in inputs):
            raise ShapeError(f"{self._program.name} takes tensors of torch in main memory")
        form = tuple([(x.shape, x.stride(), x.dtype) for x in inputs])
        known = self._known.get(form)
        if known is None:
            known = self._checked(inputs)
            if len(self._known) >= MOST_FORMS:
                self._known.clear()
            self._known[form] = known
        return known

    def _checked(self, inputs: Sequence[Any]) -> dict[str, int]:
        program, types = self._program, self._types
        sizes = sizes_of(types, (tuple(x.shape) for x in inputs))
        if len(inputs) != len(types) or any(s not in sizes for s in program.graph.data_symbols):
            raise ShapeError(f"{program.name} takes {', '.join(f'{i.name}: {i.type}' for i in program.inputs)}")
        for given, x in zip(program.inputs, inputs, strict=True):
            if 0 in x.shape:
                raise ShapeError(f"{given.name!r} has no elements, its shape is {tuple(x.shape)}")
            shape = given.type.shape_at(sizes)
            if tuple(x.shape) != shape:
                raise ShapeError(f"{given.name!r} must have the shape {shape}, found {tuple(x.shape)}")
            wanted, found = NAMES[given.type.dtype], dtype_name(x.dtype)
            if found != wanted:
                raise ShapeError(f"{given.name!r} must be {wanted}, found {found}; convert it first")
            strides = given.type.strides_at(sizes)
            if not self._fills[given.name] and any(
                n > 1 and a != b for n, a, b in zip(shape, x.stride(), strides, strict=True)
            ):
                raise ShapeError(f"{given.name!r} must have strides {strides} (in elements), found {x.stride()}")
        return sizes


def _padded(x: Any, fills: Mapping[int, Fill], shape: Sequence[int], strides: Sequence[int]) -> Any:
    """A copy with a larger shape, in the kernel's strides."""
    found = x.new_empty_strided(shape, strides)
    inner = found
    for d in fills:
        inner = inner.narrow(d, 0, x.shape[d])
    inner.copy_(x)
    for d, fill in fills.items():
        # Dims before this one are complete by now, later ones are not.
        part = found
        for later in (later for later in fills if later > d):
            part = part.narrow(later, 0, x.shape[later])
        n = x.shape[d]
        added = part.narrow(d, n, shape[d] - n)
        match fill:
            case "zero":
                added.zero_()
            case "masked":
                added.fill_(MASKED)
            case "copy":
                added.copy_(part.narrow(d, n - 1, 1).expand_as(added))
    return found


def _has_masked_row(x: Any) -> bool:
    """Whether some row of a mask that is added to scores has no element that stays above those of added keys."""
    return bool((x.amax(-1) <= LEAST_KEPT).any())


def _cut(found: Any, t: TensorType, sizes: Mapping[str, int]) -> Any:
    """The part of a result at these sizes, dense as the kernel's own results are."""
    for d, size in enumerate(t.dims):
        if size.symbol is not None:
            found = found.narrow(d, 0, sizes[size.symbol])
    return found.contiguous()
