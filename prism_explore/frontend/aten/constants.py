"""Tensors known at compile time: constants, positions, and masks built from them.

Torch code writes a mask as `torch.ones(s, s).tril()`, as a comparison of `torch.arange`s, or as a sum with minus
infinity. All of these become a `Choice`: one number within a band of the last two dims, another outside. A `Choice`
becomes a `Band` of the program only where it is combined with a computed tensor.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TypeAlias

from prism_explore.ir.dims import ZERO, Dim, dim

Number: TypeAlias = Fraction | None
"""A constant; None is minus infinity."""


@dataclass(frozen=True, slots=True)
class Ramp:
    """An affine integer tensor: `offset + sum over d of steps[d] * position along d`."""

    dims: tuple[Dim, ...]
    steps: tuple[int, ...]
    offset: Dim


@dataclass(frozen=True, slots=True)
class Within:
    """Where `low <= column - row <= high` over the last two dims; None is no bound."""

    low: Dim | None
    high: Dim | None


@dataclass(frozen=True, slots=True)
class NonZero:
    """Where a tensor of the program is not 0."""

    tensor: int


Truth: TypeAlias = Within | NonZero


@dataclass(frozen=True, slots=True)
class Choice:
    """`yes` where the truth holds, `no` elsewhere; the same number everywhere where they are equal."""

    dims: tuple[Dim, ...]
    truth: Truth
    yes: Number
    no: Number
    boolean: bool = False

    @property
    def constant(self) -> bool:
        """Whether it is one number everywhere."""
        return self.yes == self.no


ConstantTensor: TypeAlias = Ramp | Choice


def constant(dims: tuple[Dim, ...], value: Number, boolean: bool = False) -> Choice:
    """The same number everywhere."""
    return Choice(dims, Within(None, None), value, value, boolean)


def negated(c: Choice) -> Choice:
    """Logical not."""
    return replace(c, yes=Fraction(not c.yes), no=Fraction(not c.no))


def positive(c: Choice) -> Choice | None:
    """The same mask so that `truth` is where it holds; None where a two-sided band has no such form."""
    if c.yes or c.constant:
        return c
    match c.truth:
        case Within(None, high) if high is not None:
            return replace(c, truth=Within(high + 1, None), yes=c.no, no=c.yes)
        case Within(low, None) if low is not None:
            return replace(c, truth=Within(None, low - 1), yes=c.no, no=c.yes)
        case _:
            return None


def conjunction(a: Choice, b: Choice, dims: tuple[Dim, ...]) -> Choice | None:
    """Logical and of two masks; None where it is no band."""
    for x, y in ((a, b), (b, a)):
        if x.constant:
            return replace(y, dims=dims) if x.yes else replace(x, dims=dims)
    left, right = positive(a), positive(b)
    if left is None or right is None:
        return None
    if not isinstance(left.truth, Within) or not isinstance(right.truth, Within):
        return None
    low = _tighter(left.truth.low, right.truth.low, smallest=False)
    high = _tighter(left.truth.high, right.truth.high, smallest=True)
    if isinstance(low, str) or isinstance(high, str):
        return None
    return Choice(dims, Within(low, high), Fraction(1), Fraction(0), boolean=True)


def _tighter(a: Dim | None, b: Dim | None, smallest: bool) -> Dim | str | None:
    if a is None or b is None or a == b:
        return b if a is None else a
    difference = (a - b).constant
    if difference is None:
        return "which of the two binds depends on sizes"
    return a if (difference < 0) == smallest else b


def triangle(c: Choice, low: Dim | None, high: Dim | None) -> Choice | None:
    """tril or triu of a constant: 0 outside the band."""
    if not c.constant:
        return None
    return Choice(c.dims, Within(low, high), c.yes, Fraction(0), c.boolean)


def ramp_sum(a: Ramp, b: Ramp, sign: int, dims: tuple[Dim, ...]) -> Ramp:
    """a + b or a - b, broadcast to `dims`."""
    rank = len(dims)
    left = (0,) * (rank - len(a.steps)) + a.steps
    right = (0,) * (rank - len(b.steps)) + b.steps
    offset = a.offset + b.offset if sign > 0 else a.offset - b.offset
    return Ramp(dims, tuple(x + sign * y for x, y in zip(left, right, strict=True)), offset)


def number_ramp(value: Dim) -> Ramp:
    """A number as a ramp that broadcasts."""
    return Ramp((), (), value)


def comparison_mask(name: str, difference: Ramp) -> Choice | None:
    """The mask `difference NAME 0`; None where it is no band over the last two dims."""
    rank = len(difference.dims)
    if rank < 2 or any(difference.steps[:-2]):
        return None
    row, column = difference.steps[-2:]
    if (row, column) == (1, -1):
        flipped = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le"}
        turned = Ramp(difference.dims, (*difference.steps[:-2], -1, 1), ZERO - difference.offset)
        return comparison_mask(flipped.get(name, name), turned)
    if (row, column) != (-1, 1):
        return None
    # column - row + offset NAME 0
    border = ZERO - difference.offset
    bounds: dict[str, tuple[Dim | None, Dim | None]] = {
        "ge": (border, None),
        "gt": (border + 1, None),
        "le": (None, border),
        "lt": (None, border - 1),
        "eq": (border, border),
        "ne": (border, border),
    }
    hit = Fraction(name != "ne")
    return Choice(difference.dims, Within(*bounds[name]), hit, 1 - hit, boolean=True)


def permuted(k: ConstantTensor, order: tuple[int, ...]) -> ConstantTensor | None:
    """Dims in another order; None where a mask's rows or columns would leave their place."""
    dims = tuple(k.dims[d] for d in order)
    if isinstance(k, Ramp):
        return Ramp(dims, tuple(k.steps[d] for d in order), k.offset)
    rank = len(order)
    if k.constant or order[-2:] == (rank - 2, rank - 1):
        return replace(k, dims=dims)
    if order[-2:] == (rank - 1, rank - 2) and isinstance(k.truth, Within):
        low, high = k.truth.low, k.truth.high
        turned = Within(None if high is None else ZERO - high, None if low is None else ZERO - low)
        return replace(k, dims=dims, truth=turned)
    return None


def reshaped(k: ConstantTensor, dims: tuple[Dim, ...]) -> ConstantTensor | None:
    """Insert or remove dims of size 1; None for any other reshape."""
    kept, wanted = [d for d in k.dims if not d.is_one], [d for d in dims if not d.is_one]
    if kept != wanted:
        return None
    if isinstance(k, Ramp):
        steps = iter([s for s, d in zip(k.steps, k.dims, strict=True) if not d.is_one])
        return Ramp(dims, tuple(0 if d.is_one else next(steps) for d in dims), k.offset)
    if k.constant or dims[-2:] == k.dims[-2:]:
        return replace(k, dims=dims)
    return None


def expanded(k: ConstantTensor, dims: tuple[Dim, ...]) -> ConstantTensor | None:
    """Dims of size 1 repeated; None where a mask's rows or columns would be."""
    added = len(dims) - len(k.dims)
    if isinstance(k, Ramp):
        return Ramp(dims, (0,) * added + k.steps, k.offset)
    return replace(k, dims=dims) if k.constant or dims[-2:] == k.dims[-2:] else None


def sliced(k: ConstantTensor, along: int, start: Dim, stop: Dim) -> ConstantTensor:
    """Positions `start .. stop - 1` of one dim."""
    dims = (*k.dims[:along], stop - start, *k.dims[along + 1 :])
    if isinstance(k, Ramp):
        return Ramp(dims, k.steps, k.offset + start * integer_dim(k.steps[along]))
    if k.constant or along < len(dims) - 2 or not isinstance(k.truth, Within):
        return replace(k, dims=dims)
    # Row r of the slice is row r + start; column c is column c + start.
    move = start if along == len(dims) - 2 else ZERO - start
    low, high = (None if d is None else d + move for d in (k.truth.low, k.truth.high))
    return replace(k, dims=dims, truth=Within(low, high))


def integer_dim(n: int) -> Dim:
    """An integer, possibly negative, as a Dim."""
    return dim(n) if n >= 0 else ZERO - dim(-n)
