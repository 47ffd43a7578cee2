"""The table of ATen operators with their lowering to the IR."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import partial, wraps
from math import inf, prod
from typing import Any

from prism_explore.frontend.aten import constants
from prism_explore.frontend.aten.attention import ATTENTION_ROWS
from prism_explore.frontend.aten.complex_numbers import COMPLEX_ROWS, ON_COMPLEX, is_complex
from prism_explore.frontend.aten.constants import MaskedConstant, Ramp
from prism_explore.frontend.aten.convolution import CONVOLUTION_ROWS
from prism_explore.frontend.aten.formula_rows import FORMULA_ROWS, expressed
from prism_explore.frontend.aten.integers import CONVERTED, check_numbers, shifted, with_number
from prism_explore.frontend.aten.lookups import LOOKUP_ROWS
from prism_explore.frontend.aten.norms import NORM_ROWS
from prism_explore.frontend.aten.packed_words import RIGHT_SHIFTS, shifted_right, with_ones
from prism_explore.frontend.aten.pooling import POOLING_ROWS
from prism_explore.frontend.aten.quantized import QUANTIZED_ROWS
from prism_explore.frontend.aten.rearrange import REARRANGE_ROWS, steps_in
from prism_explore.frontend.aten.reductions import REDUCTION_ROWS, minimum, reduced, reduction
from prism_explore.frontend.aten.resample import RESAMPLE_ROWS
from prism_explore.frontend.aten.small_tables import power_of_two
from prism_explore.frontend.aten.views import VIEW_ROWS, drop_dims, transpose_last_two
from prism_explore.frontend.lower_aten import (
    INTEGER_RANGES,
    LARGEST,
    TORCH_DTYPES,
    ComplexPair,
    Integers,
    Row,
    Translation,
    Unused,
    Value,
)
from prism_explore.ir.dims import ONE, ZERO, Dim
from prism_explore.ir.elementwise import UNARY, BinaryFn, UnaryFn
from prism_explore.ir.tabulated import FLOAT8_FORMATS
from prism_explore.ir.tensors import DType, broadcast, dtype_name


# ---------------------------------------------------------------- elementwise
def _unary(fn: UnaryFn) -> Callable[..., Value]:
    def lower(t: Translation, x: Any) -> Value:
        return t.unary(fn, t.tensor(x))

    return lower


def _neg(t: Translation, x: Any) -> Value:
    value = t.value(x)
    if isinstance(value, Ramp):
        return constants.ramp_sum(Ramp(value.dims, (0,) * len(value.steps), ZERO), value, -1, value.dims)
    return t.build.unary("neg", t.tensor(x), t.line)


def _binary(fn: BinaryFn) -> Callable[..., Value]:
    def lower(t: Translation, x: Any, y: Any, *, alpha: Any = 1, rounding_mode: Any = None) -> Value:
        if alpha != 1:
            return _scaled_sum(t, fn, x, y, alpha)
        if rounding_mode is not None:
            return _rounded_quotient(t, rounding_mode, x, y)
        ramp = _positions(t, fn, x, y) or _shifted_positions(t, fn, x, y)
        if ramp is not None:
            return ramp
        left, right = t.value(x), t.value(y)
        if isinstance(left, MaskedConstant) and isinstance(right, MaskedConstant):
            return _fold_constants(t, fn, left, right)
        if isinstance(right, MaskedConstant):
            return t.broadcast_with(_constant_right(t, fn, t.tensor(x), right), right.dims)
        if isinstance(left, MaskedConstant):
            return t.broadcast_with(_constant_left(t, fn, left, t.tensor(y)), left.dims)
        return t.build.binary(fn, t.tensor(x), t.tensor(y), t.line)

    return lower


def _rounded_quotient(t: Translation, rounding: UnaryFn, x: Any, y: Any) -> int:
    """x / y rounded to a whole number.

    The quotient is rounded once before: unless y is a power of two, a product with 1 / y may miss a whole number.
    """
    if (size := _power_of_two(t, y)) is not None:
        return t.rounded_product(rounding, t.tensor(x), 1 / size)
    return t.build.unary(rounding, t.build.binary("div", t.tensor(x), t.tensor(y), t.line), t.line)


def _power_of_two(t: Translation, y: Any) -> Fraction | None:
    """A number that is a power of two; None for others, and for tensors."""
    number = t.number(y)
    if number is None or number <= 0:
        return None
    found = Fraction(number)
    return found if (found.numerator * found.denominator).bit_count() == 1 else None


def _remainder(rounding: UnaryFn) -> Callable[..., Value]:
    """x minus a rounded quotient times y."""

    def lower(t: Translation, x: Any, y: Any) -> Value:
        whole, size = _rounded_quotient(t, rounding, x, y), _power_of_two(t, y)
        multiple = (
            t.build.binary("mul", whole, t.tensor(y), t.line)
            if size is None
            else t.build.scalar("mul", whole, size, t.line)
        )
        found = t.build.binary("sub", t.tensor(x), multiple, t.line)
        if rounding == "floor" and (divisor := t.number(y)) is not None and divisor > 0:
            t.known_ranges[found] = (0.0, float(divisor))
        return found

    return lower


def _floor_divide(t: Translation, x: Any, y: Any) -> Value:
    return _rounded_quotient(t, "floor", x, y)


def _round(t: Translation, x: Any, *, decimals: int = 0) -> Value:
    """Halves to even numbers; torch scales by a power of 10 for decimals."""
    scale, tensor = Fraction(10) ** abs(int(decimals)), t.tensor(x)
    if decimals > 0:
        return t.build.scalar("mul", t.build.unary("round", t.build.scalar("mul", tensor, scale), t.line), 1 / scale)
    if decimals < 0:
        return t.build.scalar("mul", t.build.unary("round", t.build.scalar("mul", tensor, 1 / scale), t.line), scale)
    return t.build.unary("round", tensor, t.line)


def _scaled_sum(t: Translation, fn: BinaryFn, x: Any, y: Any, alpha: Any) -> Value:
    """x + alpha y, or x - alpha y."""
    factor, number = t.number(alpha), t.number(y)
    if factor is None:
        raise t.unsupported(f"{fn} with alpha={alpha}")
    if number is not None:
        return t.build.scalar("add", t.tensor(x), number * factor * (1 if fn == "add" else -1), t.line)
    return t.build.binary(fn, t.tensor(x), t.build.scalar("mul", t.tensor(y), factor, t.line), t.line)


def _positions(t: Translation, fn: BinaryFn, x: Any, y: Any) -> Ramp | None:
    """Sums, differences and multiples of positions and whole numbers; None for all else."""
    if not any(isinstance(t.value(v), Ramp) for v in (x, y)):
        return None
    a, b = _as_ramp(t, x), _as_ramp(t, y)
    if a is None or b is None:
        return None
    dims = broadcast(a.dims, b.dims, t.line)
    match fn:
        case "add" | "sub":
            return constants.ramp_sum(a, b, 1 if fn == "add" else -1, dims)
        case "mul":
            return constants.ramp_product(a, b, dims)
        case _:
            return None


def _shifted_positions(t: Translation, fn: BinaryFn, x: Any, y: Any) -> Integers | None:
    """An integer argument plus a whole number that is positive; None for all else."""
    for value, other in ((x, y), (y, x)):
        integers, number = t.integers(t.value(value)), t.number(other)
        if fn == "add" and integers is not None and number is not None and number > 0 and number.denominator == 1:
            return replace(integers, offset=integers.offset + int(number))
    return None


def _as_ramp(t: Translation, x: Any) -> Ramp | None:
    """A value as positions; None for one that is not evenly spaced whole numbers."""
    value = t.value(x)
    match value:
        case Ramp():
            return value
        case Dim():
            return Ramp((), (), value)
        case MaskedConstant() if value.is_uniform and value.if_true is not None and value.if_true.denominator == 1:
            return Ramp(value.dims, (0,) * len(value.dims), constants.integer_dim(int(value.if_true)))
        case _:
            return None


def _constant_right(t: Translation, fn: BinaryFn, x: int, c: MaskedConstant) -> Value:
    b = t.build
    match fn:
        case "add":
            return t.with_constant(x, c, times=False)
        case "mul":
            return t.with_constant(x, c, times=True)
        case "sub" if c.if_true is not None and c.if_false is not None:
            return t.with_constant(x, MaskedConstant(c.dims, c.condition, -c.if_true, -c.if_false), times=False)
        case "div" if c.if_true and c.if_false:
            return t.with_constant(x, MaskedConstant(c.dims, c.condition, 1 / c.if_true, 1 / c.if_false), times=True)
        case "max" | "min" if c.is_uniform and c.if_true is not None:
            return b.scalar(fn, x, c.if_true, t.line)
        case _:
            raise t.unsupported(f"{fn} with this constant", "it is 0, infinite, or a mask")


def _constant_left(t: Translation, fn: BinaryFn, c: MaskedConstant, x: int) -> Value:
    match fn:
        case "add" | "mul" | "max" | "min":
            return _constant_right(t, fn, x, c)
        case "sub":
            return t.with_constant(t.build.unary("neg", x, t.line), c, times=False)
        case "div":
            recip = t.build.unary("recip", x, t.line)
            return recip if c.is_uniform and c.if_true == 1 else t.with_constant(recip, c, times=True)
        case "mask" | "keep" | "drop":
            raise AssertionError(f"no ATen operator is a {fn}")


def _fold_constants(t: Translation, fn: BinaryFn, a: MaskedConstant, b: MaskedConstant) -> Value:
    """Arithmetic on masks, such as `(1 - mask) * minimum`."""
    if not a.is_uniform and not b.is_uniform and a.condition != b.condition:
        return t.build.binary(fn, t.tensor_of(a), t.tensor_of(b), t.line)
    truth = b.condition if a.is_uniform else a.condition

    def result(x: constants.Number, y: constants.Number) -> constants.Number:
        if x is not None and y is not None:
            match fn:
                case "add":
                    return x + y
                case "sub":
                    return x - y
                case "mul":
                    # Arithmetic masks multiply by the dtype's minimum, which is used as minus infinity.
                    product = x * y
                    return None if product < -Fraction(LARGEST["f32"]) else product
                case "div" if y:
                    return x / y
                case _:
                    pass
        elif fn == "mul" and 0 in (x, y):
            return Fraction(0)
        elif fn == "mul" and 1 in (x, y):
            return None
        raise t.unsupported(f"{fn} of these constants")

    dims = broadcast(a.dims, b.dims, t.line)
    return MaskedConstant(dims, truth, result(a.if_true, b.if_true), result(a.if_false, b.if_false))


def _reversed_sub(t: Translation, x: Any, y: Any, alpha: Any = 1) -> Value:
    return _binary("sub")(t, y, x, alpha=alpha)


_IS_NEGATIVE, _FRACTION = "positive(-x)", "(y - floor(y))"
POWER = (
    f"exp(keep(y * log(abs(x)), y)) * (1 - 2 * keep(y - 2 * floor(0.5 * y), {_IS_NEGATIVE}))"
    f" + keep(log(x), {_IS_NEGATIVE} * nonzero({_FRACTION}))"
)
"""x to the power of y; odd powers have the sign of x, and fractional powers of negative numbers are no numbers."""


def _pow(t: Translation, x: Any, exponent: Any) -> Value:
    unary_powers: dict[Fraction, UnaryFn] = {
        Fraction(2): "square",
        Fraction(1, 2): "sqrt",
        Fraction(-1, 2): "rsqrt",
        Fraction(-1): "recip",
    }
    number, base = t.number(exponent), t.number(x)
    if base is not None:
        found = power_of_two(t, t.tensor(exponent)) if base == 2 else None
        return found if found is not None else _power_of_number(t, base, t.tensor(exponent))
    if number is None:
        return expressed(t, POWER, {"x": t.tensor(x), "y": t.tensor(exponent)})
    if number in unary_powers:
        return t.build.unary(unary_powers[number], t.tensor(x), t.line)
    return t.build.scalar("pow", t.tensor(x), number, t.line)


def _exp2(t: Translation, x: Any) -> Value:
    return _pow(t, 2, x)


def _ldexp(t: Translation, x: Any, exponent: Any) -> Value:
    return t.build.binary("mul", t.tensor(x), t.at(_exp2(t, exponent)), t.line)


def _power_of_number(t: Translation, base: Fraction, exponent: int) -> Value:
    """base ** exponent as exp(exponent log(base)), which is right for a positive base."""
    if base <= 0:
        raise t.unsupported(f"pow with the base {base}", "a positive base is supported")
    with localcontext() as context:
        context.prec = 40
        log = Fraction(Decimal(base.numerator).ln() - Decimal(base.denominator).ln())
    return t.build.unary("exp", t.build.scalar("mul", exponent, log, t.line), t.line)


def _clamp(t: Translation, x: Any, least: Any = None, most: Any = None) -> Value:
    out = t.tensor(x)
    for fn, bound, none in (("max", least, -inf), ("min", most, inf)):
        if bound is not None and bound != none:
            number = t.number(bound)
            if number is not None:
                out = t.build.scalar(fn, out, number, t.line)
            else:
                out = t.build.binary("max" if fn == "max" else "min", out, t.tensor(bound), t.line)
    return out


def _clamp_max(t: Translation, x: Any, most: Any) -> Value:
    return _clamp(t, x, None, most)


def _gelu(t: Translation, x: Any, *, approximate: str = "none") -> Value:
    return t.build.unary("gelu" if approximate == "none" else "gelu_tanh", t.tensor(x), t.line)


# ---------------------------------------------------------------- reductions
def _extremum(fn: BinaryFn, name: str, reduction: Callable[..., Value]) -> Callable[..., Value]:
    """torch.max or torch.min: of two tensors, of all elements, or along a dim together with the positions."""

    def lower(t: Translation, x: Any, y: Any = None, keepdim: bool = False) -> Value:
        if y is not None and not isinstance(y, int):
            return _binary(fn)(t, x, y)
        values = reduction(t, x, y, keepdim)
        return values if y is None else (values, Unused(f"the positions of a {name}"))

    return lower


# ---------------------------------------------------------------- products
def _linear(t: Translation, x: Any, weight: Any, bias: Any = None) -> Value:
    out = _product(t, t.value(x), transpose_last_two(t, weight))
    return out if bias is None else t.build.binary("add", t.at(out), t.tensor(bias), t.line)


def _matmul(t: Translation, x: Any, y: Any) -> Value:
    return _product(t, t.value(x), t.value(y))


def _product(t: Translation, x: Value, y: Value) -> Value:
    """A matrix product; a vector operand is treated as a matrix with one row or one column."""
    a, b = t.dims_of(x), t.dims_of(y)
    x = t.reshaped(x, (ONE, *a)) if len(a) == 1 else x
    y = t.reshaped(y, (*b, ONE)) if len(b) == 1 else y
    out = t.build.matmul(t.at(x), t.at(y), t.line)
    rank = len(t.dims_of(out))
    gone = [rank - 2] * (len(a) == 1) + [rank - 1] * (len(b) == 1)
    return drop_dims(t, out, gone) if gone else out


def _trilinear(
    t: Translation, x: Any, y: Any, z: Any, new_x: Any, new_y: Any, new_z: Any, summed: Any, *_: Any
) -> Value:
    """The product of three tensors with further dims of size 1, summed over some dims."""

    def wide(v: Any, added: Sequence[int]) -> int:
        dims = list(t.dims(v))
        for d in sorted(added):
            dims.insert(d, ONE)
        return t.at(t.reshaped(t.tensor(v), dims))

    b = t.build
    product = b.binary("mul", b.binary("mul", wide(x, new_x), wide(y, new_y), t.line), wide(z, new_z), t.line)
    return reduced(t, "sum", product, list(summed), keepdim=False)


def _addmm(t: Translation, bias: Any, x: Any, y: Any, *, beta: Any = 1, alpha: Any = 1) -> Value:
    return _scaled_bias(t, t.at(_matmul(t, x, y)), bias, beta, alpha)


def _addbmm(t: Translation, bias: Any, x: Any, y: Any, *, beta: Any = 1, alpha: Any = 1) -> Value:
    total = t.build.reduce("sum", t.at(_matmul(t, x, y)), 0, t.line)
    return _scaled_bias(t, t.at(drop_dims(t, total, [0])), bias, beta, alpha)


def _scaled_bias(t: Translation, product: int, bias: Any, beta: Any, alpha: Any) -> Value:
    """alpha product + beta bias; with beta = 0 torch does not read the bias."""
    factors = [t.number(factor) for factor in (alpha, beta)]
    if None in factors:
        raise t.unsupported(f"factors {alpha} and {beta}")
    out, added = product, None if beta == 0 else t.tensor(bias)
    out = out if alpha == 1 else t.build.scalar("mul", out, factors[0] or 0, t.line)
    if added is None:
        return out
    added = added if beta == 1 else t.build.scalar("mul", added, factors[1] or 0, t.line)
    return t.build.binary("add", out, added, t.line)


# ---------------------------------------------------------------- constants and masks
def _filled(value: int) -> Callable[..., Value]:
    def lower(t: Translation, sizes: Any, *, dtype: Any = None, **_: Any) -> Value:
        return _full(t, sizes, value, dtype=dtype)

    return lower


def _full(t: Translation, sizes: Any, value: Any, *, dtype: Any = None, **_: Any) -> Value:
    boolean = str(dtype) == "torch.bool" or isinstance(value, bool)
    number = Fraction(int(value)) if isinstance(value, bool) else t.number(value)
    if number is None and not t.is_minus_infinity(value):
        raise t.unsupported(f"a tensor filled with {value}")
    number = None if t.is_minus_infinity(value, "f32") else number
    return constants.constant(tuple(t.size(s) for s in sizes), number, boolean)


def _full_like(t: Translation, x: Any, value: Any, *, dtype: Any = None, **_: Any) -> Value:
    template = t.value(x)
    boolean = dtype is None and isinstance(template, MaskedConstant) and template.is_boolean
    result = _full(t, [], value, dtype=dtype)
    assert isinstance(result, MaskedConstant), "a full tensor is a uniform constant"
    return constants.constant(t.dims(x), result.if_true, result.is_boolean or boolean)


def _filled_like(value: int) -> Callable[..., Value]:
    def lower(t: Translation, x: Any, *, dtype: Any = None, **_: Any) -> Value:
        return _full_like(t, x, value, dtype=dtype)

    return lower


def _new_full(t: Translation, x: Any, sizes: Any, value: Any, **kwargs: Any) -> Value:
    return _full(t, sizes, value, **kwargs)


def _new_filled(value: int) -> Callable[..., Value]:
    def lower(t: Translation, x: Any, sizes: Any, **kwargs: Any) -> Value:
        return _full(t, sizes, value, **kwargs)

    return lower


def _arange(t: Translation, *bounds: Any, **_: Any) -> Value:
    *start_if_any, end = (t.size(int(b) if isinstance(b, float) and b.is_integer() else b) for b in bounds[:2])
    start, step = start_if_any[0] if start_if_any else ZERO, bounds[2] if len(bounds) > 2 else 1
    if not isinstance(step, int):
        raise t.unsupported(f"arange with step {step}", "a whole number is supported")
    length = end - start if step > 0 else start - end
    return Ramp((steps_in(t, length, abs(step)),), (step,), start)


def _comparison(fn: str) -> Callable[..., Value]:
    def lower(t: Translation, x: Any, y: Any) -> Value:
        left = t.mask(x) or t.value(x)
        if (difference := _positions(t, "sub", x, y)) is not None:
            band = constants.comparison_mask(fn, difference)
            return band if band is not None else _compare(t, fn, t.tensor_of(difference), Fraction(0))
        if t.constant_of(x) is not None and t.constant_of(y) is None:
            return _comparison(_MIRRORED.get(fn, fn))(t, y, x)
        number = t.constant_of(y)
        match left:
            case MaskedConstant(dims, condition, Fraction() as if_true, Fraction() as if_false) if number is not None:
                holds = [_holds(fn, v, number.if_true or Fraction(0)) for v in (if_true, if_false)]
                found = MaskedConstant(dims, condition, *map(Fraction, holds), is_boolean=True)
                return t.broadcast_with(found, number.dims)
            case _ if number is not None:
                return t.broadcast_with(_compare(t, fn, t.tensor(x), number.if_true), number.dims)
            case _:
                return _compare(t, fn, t.tensor(x), t.tensor(y))

    return lower


_MIRRORED = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le"}


def _compare(t: Translation, fn: str, x: int, y: int | Fraction | None) -> MaskedConstant:
    """Where a tensor compares so with a tensor or a number, by the sign of their difference."""
    if y is None:
        raise t.unsupported("a comparison with minus infinity")
    if fn in ("lt", "le"):
        x = t.build.unary("neg", x, t.line)
        y = t.build.unary("neg", y, t.line) if isinstance(y, int) else -y
    if isinstance(y, int):
        x = t.build.binary("sub", x, y, t.line)
    elif y:
        x = t.build.scalar("add", x, -y, t.line)
    if fn in ("eq", "ne"):
        return t.nonzero_mask(x, fn == "ne")
    return t.nonzero_mask(t.build.unary("positive" if fn in ("lt", "gt") else "nonnegative", x, t.line))


def _holds(fn: str, a: Fraction, b: Fraction) -> bool:
    return {"eq": a == b, "ne": a != b, "lt": a < b, "le": a <= b, "gt": a > b, "ge": a >= b}[fn]


def _truth(t: Translation, x: Any) -> MaskedConstant:
    """An operand of a logical operator, or of a bitwise one on truth values."""
    if t.traced_dtype(t.node) != "bool":
        raise t.unsupported("a bitwise operator on integers", "those of a tensor and a number are supported")
    return t.truth_of(x)


def _and(t: Translation, x: Any, y: Any) -> Value:
    if (of_integers := with_ones(t, x, y) or with_number(t, "and", x, y)) is not None:
        return of_integers
    a, b = _truth(t, x), _truth(t, y)
    result = constants.conjunction(a, b, broadcast(a.dims, b.dims, t.line))
    return result if result is not None else t.nonzero_mask(t.build.binary("mul", t.truth(a), t.truth(b), t.line))


def _or(t: Translation, x: Any, y: Any) -> Value:
    if (of_integers := with_number(t, "or", x, y)) is not None:
        return of_integers
    a, b = _truth(t, x), _truth(t, y)
    result = constants.conjunction(constants.negated(a), constants.negated(b), broadcast(a.dims, b.dims, t.line))
    if result is None:
        return t.nonzero_mask(t.build.binary("max", t.truth(a), t.truth(b), t.line))
    return constants.negated(result)


def _not(t: Translation, x: Any) -> Value:
    return constants.negated(_truth(t, x))


def _xor(t: Translation, x: Any, y: Any) -> Value:
    if (of_integers := with_number(t, "xor", x, y)) is not None:
        return of_integers
    difference = t.build.binary("sub", t.truth(_truth(t, x)), t.truth(_truth(t, y)), t.line)
    return t.nonzero_mask(difference)


def _is_nan(t: Translation, x: Any) -> Value:
    return t.nonzero_mask(t.build.unary("is_nan", t.tensor(x), t.line))


def _is_in(t: Translation, x: Any, values: Any, *, assume_unique: bool = False, invert: bool = False) -> Value:
    """Where an element equals one of some values: the largest of the comparisons with each."""
    rank, count = len(t.dims(x)), prod(t.dims(values), start=ONE)
    wide = t.at(t.reshaped(t.tensor(x), (*t.dims(x), ONE)))
    gap = t.build.binary("sub", wide, t.at(t.reshaped(t.tensor(values), (count,))), t.line)
    found = t.build.reduce("max", t.build.unary("is_zero", gap, t.line), rank, t.line)
    return t.nonzero_mask(t.at(drop_dims(t, found, [rank])), not invert)


_LARGEST_FINITE: Mapping[DType, Fraction] = {
    "f64": Fraction(2) ** 1024 - Fraction(2) ** 971,
    "f32": Fraction(2) ** 128 - Fraction(2) ** 104,
    "bf16": Fraction(2) ** 128 - Fraction(2) ** 120,
    "f16": Fraction(65504),
}


def _beyond(fn: str, absolute: bool = True) -> Callable[..., Value]:
    """Where a number, or its absolute value, compares so with the largest finite number, or the lowest for `lt`."""

    def lower(t: Translation, x: Any) -> Value:
        bound = _LARGEST_FINITE[t.traced_dtype(x) or "f32"] * (-1 if fn == "lt" else 1)
        return _compare(t, fn, t.build.unary("abs", t.tensor(x), t.line) if absolute else t.tensor(x), bound)

    return lower


def _nan_to_num(t: Translation, x: Any, nan: Any = None, most: Any = None, least: Any = None) -> Value:
    if most is not None or least is not None:
        raise t.unsupported("nan_to_num with numbers for infinities", "the largest float is what it puts there")
    largest = _LARGEST_FINITE[t.traced_dtype(x) or "f32"]
    operands = {"x": t.tensor(x), "most": largest, "nan": t.number(nan) or Fraction(0)}
    return expressed(t, "min(max(drop(x, is_nan(x)) + nan * is_nan(x), -most), most)", operands)


# ---------------------------------------------------------------- identities
def _to(t: Translation, x: Any, *args: Any, dtype: Any = None, **_: Any) -> Value:
    named = [a for a in (*args, dtype) if str(a).startswith("torch.")]
    value = t.mask(x) or t.value(x)
    if not named:
        return value
    kind = dtype_name(named[0])
    if (own := _float8_of(x)) and kind != own:
        if kind not in ("float32", "bfloat16", "float16"):
            raise t.unsupported(f"a cast of {own} to {named[0]}", "cast to torch.float32 first")
        return t.build.unary(f"from_{own}", t.at(value), t.line)
    match value:
        case MaskedConstant(dims, truth, yes, no):
            return MaskedConstant(dims, truth, yes, no, is_boolean=kind == "bool")
        case Ramp():
            return value
        case _ if kind == "bool":
            return t.nonzero_mask(t.tensor(x))
        case _ if kind in INTEGER_RANGES:
            return t.as_integer(x, kind)
        case _ if kind in TORCH_DTYPES:
            t.check_cast(x, named[0])
            return _as_number(t, value)
        case _ if kind.startswith("complex"):
            return ComplexPair(value, constants.constant((), Fraction(0)))
        case _:
            raise t.unsupported(f"a cast to {named[0]}")


def _float8_of(x: Any) -> str:
    """The format of a traced tensor of 8-bit floats; empty for any other."""
    kind = dtype_name(getattr(getattr(x, "meta", {}).get("val"), "dtype", ""))
    return kind if kind in FLOAT8_FORMATS else ""


def _like(t: Translation, x: Any, *_: Any, **__: Any) -> Value:
    return _as_number(t, t.value(x))


def _as_number(t: Translation, value: Value) -> Value:
    """The value, which no integer argument is: torch makes numbers of these, and kernels read them."""
    return value if t.integers(value) is None else t.at(value)


def _rrelu(t: Translation, x: Any, low: Any = 1 / 8, high: Any = 1 / 3, training: bool = False, *_: Any) -> Value:
    if training:
        raise t.unsupported("rrelu while training", "call module.eval() first")
    slope = ((t.number(low) or Fraction(0)) + (t.number(high) or Fraction(0))) / 2
    return expressed(t, "max(x, 0) + slope * min(x, 0)", {"x": t.tensor(x), "slope": slope})


def _dropout(t: Translation, x: Any, p: float, training: bool) -> Value:
    if training and p:
        raise t.unsupported("dropout while training", "call module.eval() first")
    return t.value(x)


COMPARISONS = {"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!="}
_REAL_ROWS: tuple[Row, ...] = (
    Row("linear", "nn.functional.linear", _linear),
    Row("matmul", "matmul", _matmul),
    Row("mm", "mm", _matmul),
    Row("_int_mm", "_int_mm", _matmul),
    Row("bmm", "bmm", _matmul),
    Row("mv", "mv", _matmul),
    Row("addmm", "addmm", _addmm),
    Row("addbmm", "addbmm", _addbmm),
    Row("add", "add", _binary("add")),
    Row("sub", "sub", _binary("sub")),
    Row("mul", "mul", _binary("mul")),
    Row("div", "div", _binary("div")),
    Row("rsub", "rsub", _reversed_sub),
    Row("maximum", "maximum", _binary("max")),
    Row("minimum", "minimum", _binary("min")),
    Row("clamp", "clamp", _clamp),
    Row("clamp_min", "clamp_min", _clamp),
    Row("clamp_max", "clamp_max", _clamp_max),
    Row("pow", "pow", _pow),
    Row("exp2", "exp2", _exp2),
    Row("ldexp", "ldexp", _ldexp),
    *FORMULA_ROWS,
    # a function of the table of elementwise functions replaces its formula
    *(Row(aten, row.torch_name, _unary(row.name)) for row in UNARY.values() for aten in row.aten),
    Row("neg", "neg", _neg),
    Row("remainder", "remainder", _remainder("floor")),
    Row("fmod", "fmod", _remainder("trunc")),
    Row("floor_divide", "floor_divide", _floor_divide),
    Row("round", "round", _round),
    Row("nan_to_num", "nan_to_num", _nan_to_num),
    Row("rrelu", "nn.functional.rrelu", _rrelu),
    Row("_trilinear", "nn.functional.bilinear", _trilinear),
    Row("gelu", "nn.functional.gelu", _gelu),
    Row("max", "max", _extremum("max", "maximum", reduction("max"))),
    Row("min", "min", _extremum("min", "minimum", minimum)),
    *REDUCTION_ROWS,
    *NORM_ROWS,
    *QUANTIZED_ROWS,
    *ATTENTION_ROWS,
    *VIEW_ROWS,
    *REARRANGE_ROWS,
    *LOOKUP_ROWS,
    *POOLING_ROWS,
    *RESAMPLE_ROWS,
    *CONVOLUTION_ROWS,
    Row("ones", "ones", _filled(1)),
    Row("zeros", "zeros", _filled(0)),
    Row("full", "full", _full),
    Row("ones_like", "ones_like", _filled_like(1)),
    Row("zeros_like", "zeros_like", _filled_like(0)),
    Row("full_like", "full_like", _full_like),
    Row("new_full", "new_full", _new_full),
    Row("new_ones", "new_ones", _new_filled(1)),
    Row("new_zeros", "new_zeros", _new_filled(0)),
    Row("arange", "arange", _arange),
    *(Row(fn, word, _comparison(fn)) for fn, word in COMPARISONS.items()),
    *(Row(fn, ">>", shifted_right) for fn in sorted(RIGHT_SHIFTS)),
    *(Row(fn, "<<", partial(shifted, to_right=False)) for fn in ("__lshift__", "bitwise_left_shift")),
    *(Row(fn, "&", _and) for fn in ("__and__", "bitwise_and", "logical_and")),
    *(Row(fn, "|", _or) for fn in ("__or__", "bitwise_or", "logical_or")),
    *(Row(fn, "~", _not) for fn in ("bitwise_not", "logical_not")),
    *(Row(fn, "^", _xor) for fn in ("__xor__", "bitwise_xor", "logical_xor")),
    Row("isnan", "isnan", _is_nan),
    Row("isin", "isin", _is_in),
    Row("isinf", "isinf", _beyond("gt")),
    Row("isfinite", "isfinite", _beyond("le")),
    Row("isposinf", "isposinf", _beyond("gt", absolute=False)),
    Row("isneginf", "isneginf", _beyond("lt", absolute=False)),
    Row("dropout", "nn.functional.dropout", _dropout),
    Row("to", "to", _to),
    Row("prims::convert_element_type", "to", _to),
    Row("type_as", "type_as", _like),
)


def _by_operands(row: Row) -> Row:
    """The row, with the lowering of complex operands where there is one, and a check of numbers beside integers."""
    if row.aten not in ON_COMPLEX and row.aten not in CONVERTED:
        return row

    @wraps(row.lower)
    def lower(t: Translation, *args: Any, **kwargs: Any) -> Value:
        if row.aten in CONVERTED:
            check_numbers(t, row.aten, args, kwargs)
        chosen = ON_COMPLEX[row.aten] if row.aten in ON_COMPLEX and is_complex(t, args) else row.lower
        return chosen(t, *args, **kwargs)

    return replace(row, lower=lower)


ROWS: tuple[Row, ...] = (*map(_by_operands, _REAL_ROWS), *COMPLEX_ROWS)
BY_NAME: dict[str, Row] = {r.aten: r for r in ROWS}
