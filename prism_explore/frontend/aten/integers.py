"""Integers of torch: their bits, shifts, and numbers beside them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, Literal

from numpy import float64
from numpy.typing import NDArray

from prism_explore.frontend.aten.small_tables import numbers_of
from prism_explore.frontend.lower_aten import INTEGER_RANGES, LARGEST_EXACT, Translation, Value, wrapped_number
from prism_explore.ir.dims import ONE
from prism_explore.ir.ops import Scalar, Unary
from prism_explore.ir.tensors import dtype_name

CONVERTED = frozenset(
    {
        *("eq", "ne", "lt", "le", "gt", "ge", "clamp", "clamp_min", "clamp_max", "maximum", "minimum", "max", "min"),
        *("div", "floor_divide", "remainder", "fmod", "where", "masked_fill"),
    }
)
"""Operators whose numbers torch converts to the dtype of the integers beside them, which shows in the result. Sums and
products wrap around in any case."""


def check_numbers(t: Translation, name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
    """Refuse what torch would change: a number that the dtype of the integers beside it has not.

    Args:
        t: the translation.
        name: of an operator of `CONVERTED`.
        args: its traced arguments by position.
        kwargs: those by name.

    Raises:
        UnsupportedOperator: there is one.
    """
    if name == "div" and kwargs.get("rounding_mode") is None:
        return
    given = (*args, *kwargs.values())
    tensors = [x.meta["val"] for x in given if hasattr(getattr(x, "meta", {}).get("val"), "dtype")]
    kinds = {dtype_name(x.dtype): max(x.dim() for y in tensors if y.dtype == x.dtype) for x in tensors}
    kinds.pop("bool", None)
    if not kinds or not INTEGER_RANGES.keys() >= kinds.keys():
        return
    rank = max(kinds.values())
    ranges = [INTEGER_RANGES[kind] for kind, dims in kinds.items() if dims or not rank]
    low, high = min(least for least, _ in ranges), max(most for _, most in ranges)
    numbers = [x for x in given if isinstance(x, int) and not isinstance(x, bool)]
    numbers += [n for kind, dims in kinds.items() if rank and not dims for n in INTEGER_RANGES[kind]]
    if beyond := next((n for n in numbers if not low <= n <= high), None):
        shown = ", ".join(sorted(kinds))
        raise t.unsupported(f"{name} of {shown} and the number {beyond}, which is no {shown}", "convert to int32 first")


def with_number(t: Translation, op: Literal["and", "or", "xor"], x: Any, y: Any) -> Value | None:
    """A bitwise operator on integers and a number, in either order; None for others."""
    kind = dtype_name(t.node.meta["val"].dtype)
    if t.constant_of(y) is None:
        x, y = y, x
    uniform = t.constant_of(y)
    if kind not in INTEGER_RANGES or uniform is None or t.constant_of(x) is not None:
        return None
    ones = wrapped_number(uniform.if_true, kind)
    if ones is None:
        return None
    number, tensor = int(ones), t.tensor(x)
    common = bits(t, tensor, number)
    if op == "and":
        return t.broadcast_with(common, uniform.dims)
    least, most = t.range_of(tensor)
    rest = t.build.binary("sub", tensor, common, t.line)
    if op == "xor":  # a | b is a + b without what both have, and a ^ b is so twice
        rest = t.build.binary("sub", rest, common, t.line)
    found = t.build.scalar("add", rest, number, t.line)
    if 0 <= least <= most <= LARGEST_EXACT and number >= 0:
        t.known_ranges[found] = (0.0, float((1 << (int(most) | number).bit_length()) - 1))
    return t.broadcast_with(found, uniform.dims)


def bits(t: Translation, tensor: int, number: int) -> int:
    """The bits of an integer where a number has ones, in two's complement: a negative one has ones up to any height.

    Each run of ones is a remainder by a power of two, without its own remainder by a smaller one.
    """
    parts, start, left = list[int](), 0, number
    while left:
        zeros = (left & -left).bit_length() - 1
        start, left = start + zeros, left >> zeros
        ones = None if left == -1 else (~left & (left + 1)).bit_length() - 1
        part = tensor if ones is None else low_bits(t, tensor, Fraction(2 ** (start + ones)))
        if start:
            high = t.rounded_product("floor", part, Fraction(1, 2**start))
            part = t.build.scalar("mul", high, Fraction(2**start), t.line)
        parts.append(part)
        start, left = (start, 0) if ones is None else (start + ones, left >> ones)
    if not parts:
        return t.build.scalar("mul", tensor, Fraction(0), t.line)
    found = parts[0]
    for part in parts[1:]:
        found = t.build.binary("add", found, part, t.line)
    if number > 0:
        t.known_ranges.setdefault(found, (0.0, float(number)))
    return found


def low_bits(t: Translation, tensor: int, size: Fraction) -> int:
    """The integer from 0 to `size` - 1, a power of two, that differs from another by a multiple of it."""
    least, most = t.range_of(tensor)
    return tensor if 0 <= least <= most < size else t.residue(tensor, size)


def shifted(t: Translation, x: Any, amount: Any, *, to_right: bool) -> Value:
    """An integer times a power of two, rounded down; one of each amount where these change along a dim."""
    uniform = t.constant_of(amount)
    count = None if uniform is None else uniform.if_true
    if count is None and hasattr(amount, "op") and (amounts := numbers_of(t, t.value(amount))) is not None:
        found = _shifted_along(t, x, amounts, to_right=to_right)
        if found is not None:
            return found
    if count is None or count < 0:
        raise t.unsupported("a shift by a tensor", "shift by a number, or by constants that change along one dim")
    factor = Fraction(2 ** int(count))
    found = _shifted_right(t, t.tensor(x), factor) if to_right else t.build.scalar("mul", t.tensor(x), factor, t.line)
    return t.broadcast_with(found, t.dims(amount)) if hasattr(amount, "op") else found


def moved(t: Translation, tensor: int, places: int) -> int:
    """An integer times a power of two, or over it and rounded down."""
    factor = Fraction(2 ** abs(places))
    if places < 0:
        return _shifted_right(t, tensor, factor)
    return t.build.scalar("mul", tensor, factor, t.line) if places else tensor


def _shifted_right(t: Translation, tensor: int, factor: Fraction) -> int:
    """A whole number over a power of two, rounded down: of a multiple, as in `(x & 12) >> 2`, what it is a multiple of.

    What is multiplied may be no whole number, so that only a rounded one counts.
    """
    nodes, node = t.build.nodes, t.build.nodes[tensor]
    match node.op:
        case Scalar("mul", multiple) if (multiple / factor).denominator == 1 and nodes[node.args[0]].op == Unary(
            "floor"
        ):
            whole = node.args[0]
            return whole if multiple == factor else t.build.scalar("mul", whole, multiple / factor, t.line)
        case _:
            return t.rounded_product("floor", tensor, 1 / factor)


def _shifted_along(t: Translation, x: Any, amounts: NDArray[float64], *, to_right: bool) -> Value | None:
    """Shifts by numbers that change along one dim, in which x does not; None for all else."""
    changing = [d for d, size in enumerate(amounts.shape) if size > 1]
    dims = t.dims(x)
    if len(changing) > 1 or amounts.min() < 0:
        return None
    (d,) = changing or (amounts.ndim - 1,)
    along = len(dims) - amounts.ndim + d
    if along < 0 or dims[along] != ONE:
        return None
    return t.concatenated([t.at(shifted(t, x, int(n), to_right=to_right)) for n in amounts.reshape(-1)], along)
