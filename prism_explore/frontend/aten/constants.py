"""Tensors known at compile time: constants, positions, and masks built from them.

Torch code writes a mask as `torch.ones(s, s).tril()`, as a comparison of `torch.arange`s, or as a sum with minus
infinity. All of these become a `MaskedConstant`: one number within a band of the last two dims, another outside. It
becomes a `Band` of the program only where it is combined with a computed tensor.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from math import inf, isfinite
from typing import Any, TypeAlias

from prism_explore.ir.dims import ZERO, Dim, dim
from prism_explore.ir.tensors import BYTE_INTEGERS, DTYPE_OF_NAME, INTEGERS, dtype_name

Number: TypeAlias = Fraction | None
"""A constant; None is minus infinity."""


@dataclass(frozen=True, slots=True)
class Ramp:
    """An affine integer tensor: `offset + sum over d of steps[d] * position along d`."""

    dims: tuple[Dim, ...]
    steps: tuple[int, ...]
    offset: Dim

    @property
    def bounds(self) -> tuple[int, int] | None:
        """The smallest and the largest number; None where a size is a symbol."""
        sizes = [d.constant for d in self.dims]
        if self.offset.constant is None or any(n is None for n in sizes):
            return None
        ends = [step * (n - 1) for step, n in zip(self.steps, sizes, strict=True) if n]
        first = int(self.offset.constant)
        return first + sum(min(e, 0) for e in ends), first + sum(max(e, 0) for e in ends)


@dataclass(frozen=True, slots=True)
class DiagonalBand:
    """Where `low <= column - row <= high` over the last two dims; None is no bound."""

    low: Dim | None
    high: Dim | None


@dataclass(frozen=True, slots=True)
class NonZero:
    """Where a tensor of the program is not 0."""

    tensor: int


Condition: TypeAlias = DiagonalBand | NonZero


@dataclass(frozen=True, slots=True)
class MaskedConstant:
    """One number where the condition holds and another elsewhere; a uniform constant if they are equal."""

    dims: tuple[Dim, ...]
    condition: Condition
    if_true: Number
    if_false: Number
    is_boolean: bool = False

    @property
    def is_uniform(self) -> bool:
        """Whether it is the same number everywhere."""
        return self.if_true == self.if_false


ConstantTensor: TypeAlias = Ramp | MaskedConstant


def constant(dims: tuple[Dim, ...], value: Number, boolean: bool = False) -> MaskedConstant:
    """The same number everywhere."""
    return MaskedConstant(dims, DiagonalBand(None, None), value, value, boolean)


def negated(c: MaskedConstant) -> MaskedConstant:
    """Logical not."""
    return replace(c, if_true=Fraction(not c.if_true), if_false=Fraction(not c.if_false))


def as_positive_mask(c: MaskedConstant) -> MaskedConstant | None:
    """The same mask with 1 where its condition holds; None if the complement of a two-sided band is needed."""
    if c.if_true or c.is_uniform:
        return c
    match c.condition:
        case DiagonalBand(None, high) if high is not None:
            return replace(c, condition=DiagonalBand(high + 1, None), if_true=c.if_false, if_false=c.if_true)
        case DiagonalBand(low, None) if low is not None:
            return replace(c, condition=DiagonalBand(None, low - 1), if_true=c.if_false, if_false=c.if_true)
        case _:
            return None


def conjunction(a: MaskedConstant, b: MaskedConstant, dims: tuple[Dim, ...]) -> MaskedConstant | None:
    """Logical and of two masks; None if the result is not a band."""
    for x, y in ((a, b), (b, a)):
        if x.is_uniform:
            return replace(y, dims=dims) if x.if_true else replace(x, dims=dims)
    left, right = as_positive_mask(a), as_positive_mask(b)
    if left is None or right is None:
        return None
    if not isinstance(left.condition, DiagonalBand) or not isinstance(right.condition, DiagonalBand):
        return None
    low = _tighter(left.condition.low, right.condition.low, smallest=False)
    high = _tighter(left.condition.high, right.condition.high, smallest=True)
    if isinstance(low, str) or isinstance(high, str):
        return None
    return MaskedConstant(dims, DiagonalBand(low, high), Fraction(1), Fraction(0), is_boolean=True)


def _tighter(a: Dim | None, b: Dim | None, smallest: bool) -> Dim | str | None:
    if a is None or b is None or a == b:
        return b if a is None else a
    difference = (a - b).constant
    if difference is None:
        return "which of the two binds depends on sizes"
    return a if (difference < 0) == smallest else b


def triangle(c: MaskedConstant, low: Dim | None, high: Dim | None) -> MaskedConstant | None:
    """tril or triu of a constant or of a mask that is 0 or 1: 0 outside the band; None where the rest is no band."""
    if c.is_uniform:
        return MaskedConstant(c.dims, DiagonalBand(low, high), c.if_true, Fraction(0), c.is_boolean)
    if {c.if_true, c.if_false} != {0, 1}:
        return None
    band = MaskedConstant(c.dims, DiagonalBand(low, high), Fraction(1), Fraction(0), c.is_boolean)
    both = conjunction(c, band, c.dims)
    return None if both is None else replace(both, is_boolean=c.is_boolean)


def ramp_sum(a: Ramp, b: Ramp, sign: int, dims: tuple[Dim, ...]) -> Ramp:
    """a + b or a - b, broadcast to `dims`."""
    rank = len(dims)
    left = (0,) * (rank - len(a.steps)) + a.steps
    right = (0,) * (rank - len(b.steps)) + b.steps
    offset = a.offset + b.offset if sign > 0 else a.offset - b.offset
    return Ramp(dims, tuple(x + sign * y for x, y in zip(left, right, strict=True)), offset)


def ramp_product(a: Ramp, b: Ramp, dims: tuple[Dim, ...]) -> Ramp | None:
    """a times b, broadcast to `dims`, where one of them is the same whole number everywhere; None for all else."""
    for positions, factor in ((a, b), (b, a)):
        number = factor.offset.constant
        if number is not None and not any(factor.steps):
            steps = (0,) * (len(dims) - len(positions.steps)) + positions.steps
            return Ramp(dims, tuple(number * step for step in steps), positions.offset * integer_dim(number))
    return None


def comparison_mask(name: str, difference: Ramp) -> MaskedConstant | None:
    """The mask `difference NAME 0`; None if it is not a band over the last two dims."""
    rank = len(difference.dims)
    if rank < 2 or any(difference.steps[:-2]):
        return None
    row, column = difference.steps[-2:]
    if (row, column) == (1, -1):
        flipped = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le"}
        opposite = Ramp(difference.dims, (*difference.steps[:-2], -1, 1), ZERO - difference.offset)
        return comparison_mask(flipped.get(name, name), opposite)
    if (row, column) != (-1, 1):
        return None
    # column - row + offset NAME 0
    bound = ZERO - difference.offset
    bounds: dict[str, tuple[Dim | None, Dim | None]] = {
        "ge": (bound, None),
        "gt": (bound + 1, None),
        "le": (None, bound),
        "lt": (None, bound - 1),
        "eq": (bound, bound),
        "ne": (bound, bound),
    }
    if_true = Fraction(name != "ne")
    return MaskedConstant(difference.dims, DiagonalBand(*bounds[name]), if_true, 1 - if_true, is_boolean=True)


def permuted(k: ConstantTensor, order: tuple[int, ...]) -> ConstantTensor | None:
    """Dims in another order; None if a mask's rows or columns would no longer be the last two dims."""
    dims = tuple(k.dims[d] for d in order)
    if isinstance(k, Ramp):
        return Ramp(dims, tuple(k.steps[d] for d in order), k.offset)
    rank = len(order)
    if k.is_uniform or order[-2:] == (rank - 2, rank - 1):
        return replace(k, dims=dims)
    if order[-2:] == (rank - 1, rank - 2) and isinstance(k.condition, DiagonalBand):
        low, high = k.condition.low, k.condition.high
        transposed = DiagonalBand(None if high is None else ZERO - high, None if low is None else ZERO - low)
        return replace(k, dims=dims, condition=transposed)
    return None


def reshaped(k: ConstantTensor, dims: tuple[Dim, ...]) -> ConstantTensor | None:
    """Insert or remove dims of size 1; None for any other reshape of what is not the same everywhere."""
    if isinstance(k, MaskedConstant) and k.is_uniform:
        return replace(k, dims=dims)
    kept, wanted = [d for d in k.dims if not d.is_one], [d for d in dims if not d.is_one]
    if kept != wanted:
        return None
    if isinstance(k, Ramp):
        steps = iter([s for s, d in zip(k.steps, k.dims, strict=True) if not d.is_one])
        return Ramp(dims, tuple(0 if d.is_one else next(steps) for d in dims), k.offset)
    return replace(k, dims=dims) if dims[-2:] == k.dims[-2:] else None


def expanded(k: ConstantTensor, dims: tuple[Dim, ...]) -> ConstantTensor | None:
    """Dims of size 1 repeated; None if those are a mask's rows or columns."""
    added = len(dims) - len(k.dims)
    if isinstance(k, Ramp):
        return Ramp(dims, (0,) * added + k.steps, k.offset)
    return replace(k, dims=dims) if k.is_uniform or dims[-2:] == k.dims[-2:] else None


def sliced(k: ConstantTensor, along: int, start: Dim, stop: Dim) -> ConstantTensor:
    """Positions `start .. stop - 1` of one dim."""
    dims = (*k.dims[:along], stop - start, *k.dims[along + 1 :])
    if isinstance(k, Ramp):
        return Ramp(dims, k.steps, k.offset + start * integer_dim(k.steps[along]))
    if k.is_uniform or along < len(dims) - 2 or not isinstance(k.condition, DiagonalBand):
        return replace(k, dims=dims)
    # Row r of the slice is row r + start; column c is column c + start.
    shift = start if along == len(dims) - 2 else ZERO - start
    low, high = (None if d is None else d + shift for d in (k.condition.low, k.condition.high))
    return replace(k, dims=dims, condition=DiagonalBand(low, high))


def diagonal(k: MaskedConstant) -> MaskedConstant | None:
    """The diagonal of the last two dims, which are a square; None if what it has is not known."""
    dims = k.dims[:-1]
    match k.condition:
        case _ if k.is_uniform:
            return constant(dims, k.if_true, k.is_boolean)
        case DiagonalBand(low, high):
            least, most = (ZERO if d is None else d for d in (low, high))
            if least.constant is None or most.constant is None:
                return None
            inside = least.constant <= 0 <= most.constant
            return constant(dims, k.if_true if inside else k.if_false, k.is_boolean)
        case _:
            return None


def integer_dim(n: int) -> Dim:
    """An integer, possibly negative, as a Dim."""
    return dim(n) if n >= 0 else ZERO - dim(-n)


def is_minus_infinity(tensor: Any) -> bool:
    """Whether all elements of a tensor that is part of the code are minus infinity."""
    if tensor is None or not tensor.numel() or tensor.is_complex():
        return False
    return tensor.reshape(-1)[0].item() == -inf and bool((tensor == -inf).all())


def known_constant(tensor: Any, *, in_parts: bool = False) -> ConstantTensor | None:
    """A tensor that is part of the code, if all of its elements are the same number, or evenly spaced integers.

    Args:
        tensor: of the code.
        in_parts: whether torch may compute a part. Minus infinity is then no such number: what torch hands on may have
            it, while a masked element of a kernel is a large negative number.
    """
    if tensor is None or not tensor.numel() or tensor.is_complex():
        return None
    first = tensor.reshape(-1)[0].item()
    dims = tuple(dim(int(n)) for n in tensor.shape)
    if not in_parts and is_minus_infinity(tensor):
        return constant(dims, None)
    if isfinite(first) and bool((tensor == first).all()):
        return constant(dims, Fraction(repr(first) if isinstance(first, float) else int(first)), first is True)
    if DTYPE_OF_NAME.get(dtype_name(tensor.dtype)) not in INTEGERS | BYTE_INTEGERS:
        return None
    tensor = tensor.long()
    evenly, steps = tensor.new_full(tensor.shape, first), list[int]()
    for d, size in enumerate(tensor.shape):
        next_one = tensor.select(d, min(1, size - 1)).reshape(-1)[0].item()
        steps.append(int(next_one - first))
        evenly = evenly + steps[-1] * tensor.new_tensor(range(size)).reshape(-1, *[1] * (tensor.dim() - d - 1))
    return Ramp(dims, tuple(steps), integer_dim(int(first))) if bool((tensor == evenly).all()) else None
