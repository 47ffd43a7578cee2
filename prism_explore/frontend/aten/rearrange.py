"""ATen operators that pick, reorder or surround elements: step slices, flips, rolls, padding, diagonals, windows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import reduce, wraps
from math import prod
from typing import Any, cast

from prism_explore.frontend.aten import constants
from prism_explore.frontend.aten.constants import DiagonalBand, MaskedConstant, Ramp
from prism_explore.frontend.aten.views import drop_dims, slice_bound
from prism_explore.frontend.lower_aten import (
    Flipped,
    Integers,
    Operand,
    Row,
    Translation,
    Unwritten,
    Value,
    operator_name,
)
from prism_explore.ir.dims import ONE, ZERO, Dim
from prism_explore.ir.tensors import broadcast

MOST_PIECES = 64
"""The largest number of slices that one dim is taken apart into."""


# ---------------------------------------------------------------- step slices
def stepped(t: Translation, value: Value, along: int, start: Dim, count: Dim, step: int) -> Value:
    """Positions `start, start + step, ...` of one dim, `count` in all."""
    if step == 1:
        return t.sliced(value, along, start, start + count)
    extent, one = t.dims_of(value)[along], constants.integer_dim(step)
    if is_at_most(start + count * one, extent):
        return _column(t, value, along, start, count, step, 0)
    before = start - (step - 1)
    if is_at_most(ZERO, before):
        return _column(t, value, along, before, count, step, step - 1)
    last = start + (count - 1) * one
    single = t.at(t.sliced(value, along, last, last + 1))
    if count.is_one:
        return single
    return t.concatenated([t.at(stepped(t, value, along, start, count - 1, step)), single], along)


def _column(t: Translation, value: Value, along: int, start: Dim, count: Dim, step: int, column: int) -> Value:
    """One position of each run of `step` elements."""
    size = constants.integer_dim(step)
    part = t.sliced(value, along, start, start + count * size)
    dims = t.dims_of(part)
    runs = t.reshaped(part, (*dims[:along], count, size, *dims[along + 1 :]))
    picked = t.sliced(runs, along + 1, ZERO + column, ZERO + (column + 1))
    return drop_dims(t, picked, [along + 1])


def is_at_most(a: Dim, b: Dim) -> bool:
    """Whether a <= b is known."""
    difference = (b - a).constant
    return difference is not None and difference >= 0


def steps_in(t: Translation, length: Dim, step: int) -> Dim:
    """The number of multiples of `step` below a length."""
    for missing in range(step):
        quotient = (length + missing) / step
        if is_whole(quotient):
            return quotient
    raise t.unsupported(f"a step of {step} over a dim of {length}", "give the dim a number")


def _slice(t: Translation, x: Any, d: Any = 0, start: Any = None, stop: Any = None, step: Any = 1) -> Value:
    along = t.axis(x, d)
    first, end = slice_bound(t, x, along, start, ZERO), slice_bound(t, x, along, stop, t.dims(x)[along])
    return stepped(t, t.value(x), along, first, steps_in(t, end - first, int(step)), int(step))


# ---------------------------------------------------------------- flips and rolls
def _prime_factors(n: int) -> list[int]:
    for p in range(2, n + 1):
        if n % p == 0:
            return [p, *_prime_factors(n // p)]
    return []


def flipped(t: Translation, value: Value, along: int) -> Value:
    """One dim in reverse order: its prime factors as dims, each reversed."""
    dims = t.dims_of(value)
    length = dims[along].constant
    factors = _prime_factors(length) if length else []
    if length is None or sum(factors) > MOST_PIECES:
        raise t.unsupported(f"a flip of a dim of {dims[along]}", "a number with small prime factors is supported")
    value = t.reshaped(value, (*dims[:along], *map(constants.integer_dim, factors), *dims[along + 1 :]))
    for d, p in enumerate(factors, along):
        parts = [t.at(t.sliced(value, d, ZERO + i, ZERO + (i + 1))) for i in reversed(range(p))]
        value = t.concatenated(parts, d)
    return t.reshaped(value, dims)


def _flip(t: Translation, x: Any, dims: Any) -> Value:
    along, value = frozenset(t.axes(x, dims)) if dims else frozenset[int](), t.value(x)
    if isinstance(value, Flipped):
        assert value.along == along, "the row of the first flip has seen this one"
        return value.tensor
    if along and all(_scans_between_flips(t, user, along) for user in t.node.users):
        return Flipped(t.tensor(x), along)
    return reduce(lambda value, along: flipped(t, value, along), t.axes(x, dims) if dims else [], t.value(x))


def _scans_between_flips(t: Translation, node: Any, along: frozenset[int]) -> bool:
    """Whether a node that reads a flipped tensor is a cumulative sum along a flipped dim, and is flipped back."""
    return (
        operator_name(node.target) == "cumsum"
        and t.axis(t.node.args[0], node.args[1]) in along
        and all(
            operator_name(user.target) == "flip" and frozenset(t.axes(t.node.args[0], user.args[1])) == along
            for user in node.users
        )
    )


def _rolled(t: Translation, value: Value, along: int, shift: int) -> Value:
    extent = t.dims_of(value)[along]
    if extent.constant is not None:
        shift %= extent.constant
    if not shift:
        return value
    cut = extent - shift if shift > 0 else ZERO + -shift
    head, tail = (t.at(t.sliced(value, along, *bounds)) for bounds in ((ZERO, cut), (cut, extent)))
    return t.concatenated([tail, head], along)


def _roll(t: Translation, x: Any, shifts: Any, dims: Any = ()) -> Value:
    amounts = [shifts] if isinstance(shifts, int) else list(shifts)
    if not dims:
        flat = t.reshaped(t.value(x), (prod(t.dims(x), start=ONE),))
        return t.reshaped(_rolled(t, flat, 0, amounts[0]), t.dims(x))
    value = t.value(x)
    for along, amount in zip(t.axes_in_order(x, dims), amounts, strict=True):
        value = _rolled(t, value, along, amount)
    return value


# ---------------------------------------------------------------- padding
def padded(t: Translation, value: Value, along: int, before: int, after: int, fill: Fraction) -> Value:
    """One dim with a constant before and after it; a negative number of elements is cut off."""
    extent = t.dims_of(value)[along]
    value = t.sliced(value, along, ZERO + max(0, -before), extent - max(0, -after))

    def surrounding(count: int) -> list[int]:
        if count <= 0:
            return []
        dims = t.dims_of(value)
        return [t.at(constants.constant((*dims[:along], ZERO + count, *dims[along + 1 :]), fill))]

    first = surrounding(before)
    parts = [*first, t.at(value), *(first if after == before else surrounding(after))]
    return t.concatenated(parts, along) if len(parts) > 1 else value


def _constant_pad(t: Translation, x: Any, pads: Sequence[int], fill: Any = 0) -> Value:
    number = t.number(fill)
    if number is None:
        raise t.unsupported(f"padding with {fill}", "a finite number is supported")
    value, rank = t.value(x), len(t.dims(x))
    for n in range(len(pads) // 2):
        value = padded(t, value, rank - 1 - n, int(pads[2 * n]), int(pads[2 * n + 1]), number)
    return value


def _edge(t: Translation, value: Value, along: int, count: int, mode: str, is_left: bool) -> list[int]:
    """What a padding mode puts on one side of a dim."""
    extent = t.dims_of(value)[along]
    if count <= 0:
        return []
    size = ZERO + count
    bounds = {
        "reflect": (ONE, size + 1) if is_left else (extent - size - 1, extent - 1),
        "circular": (extent - size, extent) if is_left else (ZERO, size),
        "replicate": (ZERO, ONE) if is_left else (extent - 1, extent),
    }[mode]
    part = t.sliced(value, along, *bounds)
    if mode == "reflect":
        part = flipped(t, part, along)
    elif mode == "replicate":
        dims = t.dims_of(part)
        part = t.expanded(part, (*dims[:along], size, *dims[along + 1 :]))
    return [t.at(part)]


def _pad(t: Translation, x: Any, pads: Sequence[int], mode: str = "constant", fill: Any = None) -> Value:
    if mode == "constant":
        return _constant_pad(t, x, pads, 0.0 if fill is None else fill)
    value, rank = t.value(x), len(t.dims(x))
    for n in range(len(pads) // 2):
        before, after, along = int(pads[2 * n]), int(pads[2 * n + 1]), rank - 1 - n
        if before < 0 or after < 0:
            value = padded(t, value, along, min(before, 0), min(after, 0), Fraction(0))
        sides = [_edge(t, value, along, c, mode, is_left) for c, is_left in ((before, True), (after, False))]
        parts = [*sides[0], t.at(value), *sides[1]]
        value = t.concatenated(parts, along) if len(parts) > 1 else value
    return value


# ---------------------------------------------------------------- diagonals, parts of a tensor written anew
def _diagonal(t: Translation, x: Any, offset: int = 0, first: int = 0, second: int = 1) -> Value:
    """Of a square, its rows one after another and cut anew, one longer: the diagonal is the first column."""
    dims = t.dims(x)
    a, b = t.axis(x, first), t.axis(x, second)
    value = t.permuted(t.value(x), [*(d for d in range(len(dims)) if d not in (a, b)), a, b])
    *rest, rows, columns = t.dims_of(value)
    rank = len(dims)
    value = t.sliced(value, rank - 2, ZERO + max(0, -offset), rows)
    value = t.sliced(value, rank - 1, ZERO + max(0, offset), columns)
    rows, columns = t.dims_of(value)[-2:]
    size = rows if is_at_most(rows, columns) else columns
    if not is_at_most(size, rows):
        raise t.unsupported(f"a diagonal of {rows} x {columns}", "give one of the dims a number")
    value = t.sliced(t.sliced(value, rank - 2, ZERO, size), rank - 1, ZERO, size)
    if size.is_one:
        return t.reshaped(value, (*rest, size))
    known = constants.diagonal(value) if isinstance(value, MaskedConstant) else None
    if known is not None:
        return known
    flat = t.reshaped(value, (*rest, size * size))
    along = rank - 2
    longer = t.concatenated([t.at(flat), t.at(t.sliced(flat, along, ZERO, size))], along)
    columns_first = t.reshaped(longer, (*rest, size, size + 1))
    return drop_dims(t, t.sliced(columns_first, rank - 1, ZERO, ONE), [rank - 1])


def on_diagonal(t: Translation, x: int, offset: int, first: int, second: int) -> Value:
    """The last dim on a diagonal of a square of two dims."""
    *rest, size = t.dims_of(x)
    rank, shift = len(rest) + 2, int(offset)
    wide = t.expanded(t.reshaped(x, (*rest, size, ONE)), (*rest, size, size))
    diagonal = MaskedConstant((size, size), DiagonalBand(ZERO, ZERO), Fraction(1), Fraction(0), is_boolean=True)
    value: Value = t.filled(t.at(wide), diagonal, Fraction(0), where=False)
    value = padded(t, value, rank - 2, max(0, -shift), max(0, shift), Fraction(0))
    value = padded(t, value, rank - 1, max(0, shift), max(0, -shift), Fraction(0))
    places = [int(first) % rank, int(second) % rank]
    others = iter(range(rank - 2))
    order = [rank - 2 + places.index(d) if d in places else next(others) for d in range(rank)]
    return t.permuted(value, order)


def _diag_embed(t: Translation, x: Any, offset: int = 0, first: int = -2, second: int = -1) -> Value:
    return on_diagonal(t, t.tensor(x), offset, first, second)


def _diagflat(t: Translation, x: Any, offset: int = 0) -> Value:
    return on_diagonal(t, t.at(t.reshaped(t.tensor(x), (prod(t.dims(x), start=ONE),))), offset, 0, 1)


def _block_diag(t: Translation, parts: Sequence[Any]) -> Value:
    """Matrices on the diagonal of one; a vector is a row."""
    matrices = [t.reshaped(t.tensor(p), ((ONE, ONE, *t.dims(p))[-2:])) for p in parts]
    widths = [t.dims_of(m)[1].constant for m in matrices]
    if None in widths:
        raise t.unsupported("block_diag of a symbolic number of columns", "give the dim a number")
    before = [sum(w or 0 for w in widths[:n]) for n in range(len(widths) + 1)]
    rows = [t.at(padded(t, m, 1, before[n], before[-1] - before[n + 1], Fraction(0))) for n, m in enumerate(matrices)]
    return t.concatenated(rows, 0)


def _cross(t: Translation, x: Any, y: Any, *, dim: Any = -1) -> Value:
    """x1 y2 - x2 y1 and so on, by rolls of the dim of 3."""
    dims = broadcast(t.dims(x), t.dims(y), t.line)
    along = int(dim) % len(dims)
    a, b = (t.at(t.expanded(t.tensor(v), dims)) for v in (x, y))

    def product(shift_a: int, shift_b: int) -> int:
        left, right = (t.at(_rolled(t, v, along, s)) for v, s in ((a, shift_a), (b, shift_b)))
        return t.build.binary("mul", left, right, t.line)

    return t.build.binary("sub", product(-1, -2), product(-2, -1), t.line)


def _slice_scatter(
    t: Translation, x: Any, part: Any, d: Any = 0, start: Any = None, stop: Any = None, step: Any = 1
) -> Value:
    along = t.axis(x, d)
    first = slice_bound(t, x, along, start, ZERO)
    return written(t, t.value(x), t.value(part), along, first, int(step))


def _select_scatter(t: Translation, x: Any, part: Any, d: Any, position: Any) -> Value:
    along = t.axis(x, d)
    dims = t.dims(x)
    first = slice_bound(t, x, along, position, ZERO)
    return written(t, t.value(x), t.reshaped(t.value(part), (*dims[:along], ONE, *dims[along + 1 :])), along, first)


def written(t: Translation, x: Value, part: Value, along: int, first: Dim, step: int = 1) -> Value:
    """x with a part in place of the positions `first, first + step, ...` of one dim."""
    dims, count = t.dims_of(x), t.dims_of(part)[along]
    extent = dims[along]
    if count.is_one:
        step = 1
    if count == extent:
        return part
    if step == 1:
        return _written_in_runs(t, x, part, along, extent, 1, first, first + count)
    runs = extent / step
    if runs == count and first.constant is not None and is_whole(runs):
        return _written_in_runs(t, x, part, along, runs, step, first, first + 1)
    size = constants.integer_dim(step)
    start, stop = (first.constant, (first + count * size).constant)
    if start is None or stop is None or stop - start > MOST_PIECES * step:
        raise t.unsupported(f"writing a slice with step {step} of a dim of {extent}", "a number of positions is")
    for n, place in enumerate(range(start, stop, step)):
        one = t.sliced(part, along, ZERO + n, ZERO + (n + 1))
        x = written(t, x, one, along, ZERO + place)
    return x


def is_whole(d: Dim) -> bool:
    """Whether a size is a polynomial with whole coefficients."""
    return all(coefficient.denominator == 1 for _, coefficient in d.terms)


def _written_in_runs(
    t: Translation, x: Value, part: Value, along: int, runs: Dim, step: int, first: Dim, end: Dim
) -> Value:
    """x with a part at the same positions of each run of `step` elements; with step 1 the whole dim is one run."""
    dims = t.dims_of(x)
    if isinstance(x, Unwritten):
        return _into_unwritten(t, x, part, along, step, first, end)
    if step == 1:
        return _joined(t, [(ZERO, first, None), (first, end, part), (end, dims[along], None)], x, along)
    size = constants.integer_dim(step)
    folded = t.reshaped(x, (*dims[:along], runs, size, *dims[along + 1 :]))
    column = t.reshaped(part, (*dims[:along], runs, ONE, *dims[along + 1 :]))
    pieces = [(ZERO, first, None), (first, end, column), (end, size, None)]
    return t.reshaped(_joined(t, pieces, folded, along + 1), dims)


def _joined(t: Translation, pieces: Sequence[tuple[Dim, Dim, Value | None]], x: Value, along: int) -> Value:
    """Pieces of one dim from start to end, of x where they are None."""
    parts = [t.sliced(x, along, a, b) if v is None else v for a, b, v in pieces if a != b]
    return t.concatenated([t.at(p) for p in parts], along) if len(parts) > 1 else parts[0]


def _into_unwritten(t: Translation, x: Unwritten, part: Value, along: int, step: int, first: Dim, end: Dim) -> Value:
    """Memory with one more part; the tensor, once all parts are written."""
    if x.parts and (x.along, x.step) != (along, step):
        raise t.unsupported("memory that is written in two ways", "write into zeros instead")
    extent = x.dims[along] if step == 1 else constants.integer_dim(step)
    later = [n for n, (start, _, _) in enumerate(x.parts) if is_at_most(end, start)]
    at = later[0] if later else len(x.parts)
    if not all(is_at_most(stop, first) for _, stop, _ in x.parts[:at]):
        raise t.unsupported("memory that is written twice", "write into zeros instead")
    parts = (*x.parts[:at], (first, end, part), *x.parts[at:])
    starts, ends = [start for start, _, _ in parts], [stop for _, stop, _ in parts]
    if [ZERO, *ends] != [*starts, extent]:
        return Unwritten(x.dims, along, step, parts)
    if step == 1:
        return _joined(t, parts, x, along)
    dims = (*x.dims[:along], x.dims[along] / step, ONE, *x.dims[along + 1 :])
    columns = [(a, b, t.reshaped(v, dims)) for a, b, v in parts]
    return t.reshaped(_joined(t, columns, x, along + 1), x.dims)


# ---------------------------------------------------------------- writes at positions
MOST_WRITES = 8
"""The most positions of an integer argument that are written, each a choice over the whole tensor."""


def _at_integers(t: Translation, x: Value, along: int, integers: Integers, part: Value, *, adds: bool = False) -> Value:
    """x with a part at the positions of one dim that an integer argument has, in its order; `adds` adds the part."""
    count, size = prod(integers.dims, start=ONE), t.dims_of(x)[along]
    if count.constant is None or count.constant > MOST_WRITES:
        raise t.unsupported(f"a write at {count} positions of an argument", f"up to {MOST_WRITES} are supported")
    places = t.tensor_of(Ramp((size,), (1,), ZERO))
    wanted = t.at(t.reshaped(t.tensor_of(integers), (count,)))
    shape = [size if d == along else ONE for d in range(len(t.dims_of(x)))]
    for n in range(count.constant):
        distance = t.build.binary("sub", places, t.at(t.sliced(wanted, 0, ZERO + n, ZERO + (n + 1))), t.line)
        one = t.sliced(part, along, ZERO + n, ZERO + (n + 1))
        is_written = t.nonzero_mask(t.at(t.reshaped(distance, shape)), if_true=False)
        if adds:
            wide = t.at(t.expanded(t.tensor_of(one), t.dims_of(x)))
            kept = t.filled(wide, is_written, Fraction(0), where=False)
            x = t.build.binary("add", t.tensor_of(x), kept, t.line)
        else:
            x = t.lowered_by("where", Operand(is_written), Operand(one), Operand(x))
    return x


def _write_at(t: Translation, x: Value, along: int, index: Any, part: Value) -> Value:
    """x with a part at positions of one dim, which are evenly spaced or those of an argument."""
    at, size = t.value(index), t.dims_of(x)[along]
    if (integers := t.integers(at)) is not None:
        return _at_integers(t, x, along, integers, part)
    match at:
        case Ramp((count,), (step,), offset):
            pass
        case Ramp((), (), offset):
            count, step = ONE, 1
        case MaskedConstant(dims, _, Fraction() as number) if at.is_uniform and prod(dims, start=ONE).is_one:
            count, step, offset = ONE, 1, constants.integer_dim(int(number))
        case _:
            raise t.unsupported(
                "a write at positions that are computed", "evenly spaced numbers, and masks of the whole tensor, are"
            )
    step = 1 if count.is_one else step
    if step == 0:
        raise t.unsupported("two writes at one position", "the order of them is not defined")
    if step < 0:
        part, offset, step = flipped(t, part, along), offset + (count - 1) * constants.integer_dim(step), -step
    if is_at_most(offset, ZERO - 1):
        offset = offset + size
    return written(t, x, part, along, offset, step)


def _also_of_a_number(lower: Callable[..., Value]) -> Callable[..., Value]:
    """The row, which treats a tensor without dims as one of a dim of size 1."""

    @wraps(lower)
    def row(t: Translation, x: Any, d: Any, *args: Any, **kwargs: Any) -> Value:
        if t.dims(x):
            return lower(t, x, d, *args, **kwargs)
        return t.reshaped(lower(t, Operand(t.reshaped(t.value(x), (ONE,))), 0, *args, **kwargs), ())

    return row


def _index_copy(t: Translation, x: Any, d: Any, index: Any, source: Any) -> Value:
    along, dims = t.axis(x, d), t.dims(x)
    return _write_at(t, t.value(x), along, index, t.reshaped(t.value(source), _part_dims(t, dims, along, index)))


def _part_dims(t: Translation, dims: Sequence[Dim], along: int, index: Any) -> tuple[Dim, ...]:
    return (*dims[:along], prod(t.dims(index), start=ONE), *dims[along + 1 :])


def _index_add(t: Translation, x: Any, d: Any, index: Any, source: Any, *, alpha: Any = 1) -> Value:
    along, dims = t.axis(x, d), t.dims(x)
    factor = t.number(alpha)
    if factor is None:
        raise t.unsupported(f"index_add with alpha={alpha}")
    part = t.reshaped(t.value(source), _part_dims(t, dims, along, index))
    return _added_at(t, x, along, index, part if factor == 1 else t.build.scalar("mul", t.at(part), factor))


def _added_at(t: Translation, x: Any, along: int, index: Any, part: Value) -> Value:
    """x plus a part at positions of one dim."""
    if (integers := t.integers(t.value(index))) is not None:
        count = prod(integers.dims, start=ONE)
        if t.may_leave or (count.constant is not None and count.constant <= MOST_WRITES):
            return _at_integers(t, t.value(x), along, integers, part, adds=True)
        flat = t.integers(t.reshaped(integers, (count,)))
        assert flat is not None, "dims of an argument in its order are merged"
        rank = len(t.dims(x))
        bits = t.reshaped(_is_at(t, flat, t.dims(x)[along]), (count, t.dims(x)[along], *[ONE] * (rank - along - 1)))
        return t.build.binary("add", t.tensor(x), _sums(t, part, bits, along), t.line)
    zeros = constants.constant(t.dims(x), Fraction(0))
    return t.build.binary("add", t.tensor(x), t.at(_write_at(t, zeros, along, index, part)), t.line)


def _is_at(t: Translation, positions: Integers, size: Dim) -> Value:
    """1 where a position is that of a further last dim, else 0.

    In a proof it is a row of the identity per position, as in code that has classes as bits; a kernel compares.
    """
    if t.of_reals:
        identity = MaskedConstant((size, size), DiagonalBand(ZERO, ZERO), Fraction(1), Fraction(0))
        return t.lowered_by("embedding", Operand(identity), Operand(positions))
    wide = t.at(t.reshaped(t.tensor_of(positions), (*positions.dims, ONE)))
    return t.build.unary("is_zero", t.build.binary("sub", wide, t.tensor_of(Ramp((size,), (1,), ZERO)), t.line))


def _sums(t: Translation, part: Value, bits: Value, along: int) -> int:
    """Over one dim of a part, the sums of its elements at each place of the dim after it, where the bits say so."""
    dims = t.dims_of(part)
    wide = t.at(t.reshaped(part, (*dims[: along + 1], ONE, *dims[along + 1 :])))
    kept = t.filled(wide, t.nonzero_mask(t.at(bits)), Fraction(0), where=False)
    return t.at(drop_dims(t, t.build.reduce("sum", kept, along, t.line), [along]))


def _scatter_add(t: Translation, x: Any, d: Any, index: Any, source: Any) -> Value:
    """x plus elements of a source, each at the position along one dim that an index of its place has."""
    along, integers = t.axis(x, d), t.integers(t.value(index))
    if integers is None or not integers.dims:
        raise t.unsupported("a sum at positions that are computed", "an integer argument is supported")
    dims, part = t.dims(x), t.value(source)
    for n, size in enumerate(integers.dims):
        part = t.sliced(part, n, ZERO, size)
        if n != along and size != dims[n]:
            raise t.unsupported("a sum at positions of some rows", "positions of all rows are supported")
    if not any(group for n, group in enumerate(integers.groups) if n != along):
        own = Integers(integers.placeholder, (integers.groups[along],), (integers.dims[along],), integers.offset)
        return _added_at(t, x, along, Operand(own), part)
    if t.may_leave:
        raise t.unsupported(f"a sum at {prod(integers.dims, start=ONE)} positions", "torch adds one after another")
    bits = t.permuted(_is_at(t, integers, dims[along]), [*range(along + 1), len(dims), *range(along + 1, len(dims))])
    return t.build.binary("add", t.tensor(x), _sums(t, part, bits, along), t.line)


def _index_fill(t: Translation, x: Any, d: Any, index: Any, value: Any) -> Value:
    along, dims = t.axis(x, d), t.dims(x)
    number = t.constant_of(value)
    filling = t.value(value) if number is None else number
    return _write_at(t, t.value(x), along, index, t.expanded(filling, _part_dims(t, dims, along, index)))


def _index_put(t: Translation, x: Any, positions: Sequence[Any], values: Any, accumulate: bool = False) -> Value:
    """`x[:, i] = values`, for a mask over the first dims, or for evenly spaced positions of one dim."""
    given = {d: index for d, index in enumerate(positions) if index is not None}
    dims, value = t.dims(x), t.value(values)
    if len(given) != 1:
        raise t.unsupported("a write at positions in several dims", "positions of one dim are supported")
    (along, index), *_ = given.items()
    if t.traced_dtype(index) == "bool":
        mask = t.truth_of(index)
        over = (*dims[:along], *mask.dims)
        if over != dims[: len(over)] or len(t.dims_of(value)) > len(dims) - len(over) or accumulate:
            raise t.unsupported("a write at a mask's positions of values of their own", "torch.where is supported")
        shape = (*mask.dims, *(ONE for _ in dims[len(over) :]))
        mask = t.mask_of(t.reshaped(mask, shape))
        assert mask is not None, "a view of a mask is one"
        number = t.constant_of(values)
        if number is not None:
            return t.filled(t.tensor(x), mask, number.if_true, where=True)
        kept = t.filled(t.tensor(x), mask, Fraction(0), where=True)
        return t.build.binary("add", kept, t.filled(t.at(t.expanded(value, dims)), mask, Fraction(0), where=False))
    part = t.expanded(value, (*dims[:along], *t.dims(index), *dims[along + 1 :]))
    part = t.reshaped(part, _part_dims(t, dims, along, index))
    if not accumulate:
        return _write_at(t, t.value(x), along, index, part)
    return _added_at(t, x, along, index, part)


def _diagonal_scatter(t: Translation, x: Any, part: Any, offset: int = 0, first: int = 0, second: int = 1) -> Value:
    """x without a diagonal of two dims, plus a tensor that has the part there and 0 elsewhere."""
    a, b = t.axis(x, first), t.axis(x, second)
    rows, columns = t.dims(x)[a], t.dims(x)[b]
    if rows != columns:
        raise t.unsupported(f"diagonal_scatter of {rows} x {columns}", "a diagonal of a square is supported")
    around, written = t.value(x), t.value(part)
    if isinstance(around, MaskedConstant) and isinstance(written, MaskedConstant):
        rank, shift = len(around.dims), constants.integer_dim(int(offset))
        if (a, b) == (rank - 2, rank - 1) and around.is_uniform and written.is_uniform:
            if rows.is_one and not offset:
                return replace(around, if_true=written.if_true, if_false=written.if_true)
            band = DiagonalBand(shift, shift)
            return MaskedConstant(around.dims, band, written.if_true, around.if_true, around.is_boolean)
    placed = t.at(on_diagonal(t, t.tensor(part), offset, a, b))
    ones = t.at(constants.constant(t.dims(part), Fraction(1)))
    is_written = t.at(on_diagonal(t, ones, offset, a, b))
    return t.build.binary("add", t.build.binary("drop", t.tensor(x), is_written, t.line), placed, t.line)


def _unfold(t: Translation, x: Any, d: Any, size: int, step: int) -> Value:
    """Windows of one dim as a new last dim."""
    if not t.dims(x):
        return t.reshaped(t.value(x), (ONE,))
    along = t.axis(x, d)
    parts = windows(t, t.value(x), along, int(size), int(step))
    shape = t.dims_of(parts[0])
    stacked = [t.at(t.reshaped(p, (*shape, ONE))) for p in parts]
    return t.concatenated(stacked, len(shape))


def windows(t: Translation, value: Value, along: int, size: int, step: int, gap: int = 1) -> list[Value]:
    """Per position in a window, the elements of all windows at that position; whole windows only."""
    if size > MOST_PIECES:
        raise t.unsupported(f"windows of {size} elements", f"up to {MOST_PIECES} are supported")
    reach = gap * (size - 1)
    count = steps_in(t, t.dims_of(value)[along] - reach, step)
    return [stepped(t, value, along, ZERO + gap * i, count, step) for i in range(size)]


def per_dim(given: Any, rank: int) -> list[int]:
    """One number per spatial dim, from a number or a list."""
    listed = [int(n) for n in cast("Sequence[Any]", given)] if isinstance(given, Sequence) else [int(given)]
    return listed if len(listed) == rank else listed * rank


# ---------------------------------------------------------------- copies and constants
def _copy(t: Translation, x: Any, source: Any, *_: Any) -> Value:
    return t.expanded(t.value(source), t.dims(x))


def _fill(t: Translation, x: Any, value: Any) -> Value:
    known = t.constant_of(float(value) if isinstance(value, bool) else value)
    if known is None and not hasattr(value, "op"):
        raise t.unsupported(f"a tensor filled with {value}")
    return t.expanded(t.value(value) if known is None else known, t.dims(x))


def _eye(t: Translation, rows: Any, columns: Any = None, **_: Any) -> Value:
    dims = (t.size(rows), t.size(columns if isinstance(columns, int) or hasattr(columns, "op") else rows))
    return MaskedConstant(dims, DiagonalBand(ZERO, ZERO), Fraction(1), Fraction(0))


def _scalar_tensor(t: Translation, value: Any, **_: Any) -> Value:
    number = t.number(value)
    if number is None and not t.is_minus_infinity(value):
        raise t.unsupported(f"a tensor of {value}")
    return constants.constant((), number)


def _empty(t: Translation, sizes: Any, *_: Any, **__: Any) -> Value:
    return Unwritten(tuple(t.size(s) for s in sizes))


def _new_empty(t: Translation, x: Any, sizes: Any, *_: Any, **__: Any) -> Value:
    return _empty(t, sizes)


def _empty_like(t: Translation, x: Any, *_: Any, **__: Any) -> Value:
    return Unwritten(t.dims(x))


def _same(t: Translation, x: Any, *_: Any, **__: Any) -> Value:
    return t.value(x)


def _rows(lower: Callable[..., Value], torch: str, *aten: str) -> tuple[Row, ...]:
    return tuple(Row(name, torch, lower) for name in aten or (torch,))


REARRANGE_ROWS: tuple[Row, ...] = (
    *_rows(_slice, "x[a:b]", "slice"),
    *_rows(_flip, "flip"),
    *_rows(_roll, "roll"),
    *_rows(_pad, "nn.functional.pad", "pad"),
    *_rows(_constant_pad, "nn.functional.pad", "constant_pad_nd"),
    *_rows(_diagonal, "diagonal"),
    *_rows(_diag_embed, "diag_embed"),
    *_rows(_diagflat, "diagflat"),
    *_rows(_block_diag, "block_diag"),
    *_rows(_cross, "linalg.cross", "linalg_cross"),
    *_rows(_empty, "empty"),
    *_rows(_empty_like, "empty_like"),
    *_rows(_new_empty, "new_empty"),
    *_rows(_slice_scatter, "slice_scatter"),
    *_rows(_select_scatter, "select_scatter"),
    *_rows(_diagonal_scatter, "diagonal_scatter"),
    *_rows(_scatter_add, "scatter_add"),
    *_rows(_also_of_a_number(_index_copy), "index_copy"),
    *_rows(_also_of_a_number(_index_add), "index_add"),
    *_rows(_also_of_a_number(_index_fill), "index_fill"),
    *_rows(_index_put, "x[i] = y", "index_put"),
    *_rows(_unfold, "Tensor.unfold", "unfold"),
    *_rows(_copy, "copy_", "copy"),
    *_rows(_fill, "fill_", "fill"),
    *_rows(_eye, "eye"),
    *_rows(_scalar_tensor, "scalar_tensor"),
    *_rows(_same, "clone", "clone", "alias", "lift_fresh_copy"),
)
