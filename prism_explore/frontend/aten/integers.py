"""Integers of torch: their bits, shifts, and numbers beside them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from prism_explore.frontend.aten.constants import Ramp
from prism_explore.frontend.lower_aten import INTEGER_RANGES, Translation, Value
from prism_explore.ir.dims import ONE
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


def low_bits(t: Translation, x: Any, size: Fraction) -> Value:
    """The integer from 0 to `size` - 1, a power of two, that differs from x by a multiple of it."""
    tensor = t.tensor(x)
    least, most = t.range_of(tensor)
    if 0 <= least <= most < size:
        return tensor
    return t.residue(tensor, size)


def shifted(t: Translation, x: Any, bits: Any, *, to_right: bool) -> Value:
    """An integer times a power of two, rounded down; one of each amount where these are evenly spaced along a dim."""
    amounts, uniform = t.value(bits), t.constant_of(bits)
    count = None if uniform is None else uniform.if_true
    if isinstance(amounts, Ramp) and (found := _shifted_along(t, x, amounts, to_right=to_right)) is not None:
        return found
    if count is None or count < 0:
        raise t.unsupported("a shift by a tensor", "shift by a number")
    factor = Fraction(2 ** int(count))
    found = (
        t.rounded_product("floor", t.tensor(x), 1 / factor)
        if to_right
        else t.build.scalar("mul", t.tensor(x), factor, t.line)
    )
    return t.broadcast_with(found, t.dims(bits)) if hasattr(bits, "op") else found


def _shifted_along(t: Translation, x: Any, amounts: Ramp, *, to_right: bool) -> Value | None:
    """Shifts by numbers that change along one dim, in which x does not; None for all else."""
    changing = [d for d, step in enumerate(amounts.steps) if step]
    dims, first = t.dims(x), amounts.offset.constant
    if len(changing) != 1 or first is None or any(e != ONE for d, e in enumerate(amounts.dims) if d not in changing):
        return None
    (d,) = changing
    count, along = amounts.dims[d].constant, len(dims) - len(amounts.dims) + d
    if count is None or along < 0 or dims[along] != ONE:
        return None
    numbers = [first + amounts.steps[d] * i for i in range(count)]
    if min(numbers) < 0:
        return None
    return t.concatenated([t.at(shifted(t, x, n, to_right=to_right)) for n in numbers], along)
