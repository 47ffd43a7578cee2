"""ATen operators on complex tensors, each of which is a pair of real ones: rotary embeddings as products of numbers.

A complex tensor is no tensor of the program. Its real and its imaginary parts are. Views and sums apply to both parts;
products, quotients, absolute values and angles are formulas of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any, TypeAlias, cast

from prism_explore.frontend.aten import constants
from prism_explore.frontend.aten.constants import MaskedConstant
from prism_explore.frontend.aten.formula_rows import FORMULAS, PI, expressed
from prism_explore.frontend.aten.views import drop_dims
from prism_explore.frontend.lower_aten import ComplexPair, Operand, Row, Translation, Value
from prism_explore.ir.dims import ONE, ZERO
from prism_explore.ir.elementwise import BinaryFn
from prism_explore.ir.tensors import broadcast

_FORMULA_OF: Mapping[str, str] = {row.aten: row.formula for row in FORMULAS}
Product: TypeAlias = Callable[[Value, Value], Value]
"""A product of two real values: of elements, or of matrices."""


def pair_of(t: Translation, x: Any) -> ComplexPair:
    """A traced value or a Python number as a complex number; of a real one, the imaginary part is 0."""
    if isinstance(x, complex):
        real, imaginary = (constants.constant((), t.number(part)) for part in (x.real, x.imag))
        return ComplexPair(real, imaginary)
    value = t.value(x)
    return value if isinstance(value, ComplexPair) else ComplexPair(value, constants.constant((), Fraction(0)))


def is_complex(t: Translation, args: Any) -> bool:
    """Whether there is a complex tensor or number among traced arguments."""
    if isinstance(args, list | tuple):
        return any(is_complex(t, a) for a in cast("Sequence[Any]", args))
    return isinstance(args, complex) or (hasattr(args, "op") and isinstance(t.value(args), ComplexPair))


def _number(value: Value) -> Fraction | None:
    """The number that a value is everywhere; None for all else."""
    is_uniform = isinstance(value, MaskedConstant) and value.is_uniform
    return value.if_true if is_uniform and isinstance(value, MaskedConstant) else None


# ---------------------------------------------------------------- arithmetic of the parts
def _times(t: Translation, x: Value, y: Value) -> Value:
    """x y; nothing is computed for 0 and 1."""
    a, b = _number(x), _number(y)
    dims = broadcast(t.dims_of(x), t.dims_of(y), t.line)
    if a is not None and b is not None:
        return constants.constant(dims, a * b)
    if 0 in (a, b):
        return constants.constant(dims, Fraction(0))
    if a is None and b is None:
        return t.build.binary("mul", t.tensor_of(x), t.tensor_of(y), t.line)
    factor, other = (b, x) if a is None else (a, y)
    return t.expanded(other if factor == 1 else t.build.scalar("mul", t.tensor_of(other), factor or 0, t.line), dims)


def _plus(t: Translation, x: Value, y: Value, fn: BinaryFn = "add") -> Value:
    """x + y or x - y; nothing is computed for 0."""
    a, b = _number(x), _number(y)
    dims = broadcast(t.dims_of(x), t.dims_of(y), t.line)
    if a is not None and b is not None:
        return constants.constant(dims, a + b if fn == "add" else a - b)
    if b == 0:
        return t.expanded(x, dims)
    if a == 0:
        return t.expanded(y if fn == "add" else _minus(t, y), dims)
    return t.build.binary(fn, t.tensor_of(x), t.tensor_of(y), t.line)


def _minus(t: Translation, x: Value) -> Value:
    number = _number(x)
    if number is not None:
        return constants.constant(t.dims_of(x), -number)
    return t.build.unary("neg", t.tensor_of(x), t.line)


def _multiplied(t: Translation, x: ComplexPair, y: ComplexPair, product: Product) -> ComplexPair:
    a, b, c, d = x.real, x.imaginary, y.real, y.imaginary
    return ComplexPair(
        _plus(t, product(a, c), product(b, d), "sub"),
        _plus(t, product(a, d), product(b, c)),
    )


def _mul(t: Translation, x: Any, y: Any) -> Value:
    return _multiplied(t, pair_of(t, x), pair_of(t, y), lambda a, b: _times(t, a, b))


def _square(t: Translation, x: Any) -> Value:
    return _mul(t, x, x)


def _power(t: Translation, x: Any, exponent: Any) -> Value:
    if exponent != 2:
        raise t.unsupported(f"a complex tensor to the power of {exponent}", "2 is supported")
    return _mul(t, x, x)


def _matmul(t: Translation, x: Any, y: Any) -> Value:
    def product(a: Value, b: Value) -> Value:
        if 0 in (_number(a), _number(b)):
            return constants.constant((), Fraction(0))
        return t.lowered_by("matmul", Operand(a), Operand(b))

    return _multiplied(t, pair_of(t, x), pair_of(t, y), product)


def _sum(fn: BinaryFn) -> Callable[..., Value]:
    def lower(t: Translation, x: Any, y: Any, *, alpha: Any = 1) -> Value:
        left, right = pair_of(t, x), pair_of(t, y)
        if alpha != 1:
            factor = constants.constant((), t.number(alpha))
            right = ComplexPair(_times(t, right.real, factor), _times(t, right.imaginary, factor))
        return ComplexPair(_plus(t, left.real, right.real, fn), _plus(t, left.imaginary, right.imaginary, fn))

    return lower


def _neg(t: Translation, x: Any) -> Value:
    pair = pair_of(t, x)
    return ComplexPair(_minus(t, pair.real), _minus(t, pair.imaginary))


def _conjugate(t: Translation, x: Any) -> Value:
    value = t.value(x)
    return ComplexPair(value.real, _minus(t, value.imaginary)) if isinstance(value, ComplexPair) else value


def _reciprocal(t: Translation, x: Any) -> Value:
    pair = pair_of(t, x)
    if _number(pair.imaginary) == 0:
        return ComplexPair(t.build.unary("recip", t.tensor_of(pair.real), t.line), pair.imaginary)
    a, b = t.tensor_of(pair.real), t.tensor_of(pair.imaginary)
    size = expressed(t, "1 / (square(a) + square(b))", {"a": a, "b": b})
    return ComplexPair(_times(t, a, size), _times(t, _minus(t, b), size))


def _div(t: Translation, x: Any, y: Any) -> Value:
    top, number = pair_of(t, x), t.number(y)
    if number:
        factor = constants.constant((), 1 / number)
        return ComplexPair(_times(t, top.real, factor), _times(t, top.imaginary, factor))
    inverse = _reciprocal(t, y)
    assert isinstance(inverse, ComplexPair), "a reciprocal is one"
    return _multiplied(t, top, inverse, lambda a, b: _times(t, a, b))


def _abs(t: Translation, x: Any) -> Value:
    pair = pair_of(t, x)
    return expressed(t, _FORMULA_OF["hypot"], {"x": t.tensor_of(pair.real), "y": t.tensor_of(pair.imaginary)})


def _exp(t: Translation, x: Any) -> Value:
    pair = pair_of(t, x)
    angle = t.tensor_of(pair.imaginary)
    size: Value = constants.constant((), Fraction(1))
    if _number(pair.real) != 0:
        size = t.build.unary("exp", t.tensor_of(pair.real), t.line)
    return _of_size_and_angle(t, size, angle)


# ---------------------------------------------------------------- between real and complex tensors
def _of_size_and_angle(t: Translation, size: Value, angle: int) -> ComplexPair:
    cos, sin = (t.build.unary(fn, angle, t.line) for fn in ("cos", "sin"))
    return ComplexPair(_times(t, size, cos), _times(t, size, sin))


def _polar(t: Translation, size: Any, angle: Any) -> Value:
    return _of_size_and_angle(t, t.value(size), t.tensor(angle))


def _complex(t: Translation, real: Any, imaginary: Any) -> Value:
    dims = broadcast(t.dims(real), t.dims(imaginary), t.line)
    return ComplexPair(*(t.expanded(t.value(x), dims) for x in (real, imaginary)))


def complex_of(t: Translation, pairs: Value) -> ComplexPair:
    """The complex tensor whose real and imaginary parts are along the last dim."""
    along = len(t.dims_of(pairs)) - 1

    def part(place: int) -> Value:
        return drop_dims(t, t.sliced(pairs, along, ZERO + place, ZERO + (place + 1)), [along])

    return ComplexPair(part(0), part(1))


def _view_as_complex(t: Translation, x: Any) -> Value:
    return complex_of(t, t.value(x))


def _view_as_real(t: Translation, x: Any) -> Value:
    pair = pair_of(t, x)
    dims = broadcast(t.dims_of(pair.real), t.dims_of(pair.imaginary), t.line)
    parts = (t.reshaped(t.expanded(v, dims), (*dims, ONE)) for v in (pair.real, pair.imaginary))
    return t.concatenated([t.tensor_of(v) for v in parts], len(dims))


def _real(t: Translation, x: Any) -> Value:
    value = t.value(x)
    return value.real if isinstance(value, ComplexPair) else value


def _imaginary(t: Translation, x: Any) -> Value:
    value = t.value(x)
    if not isinstance(value, ComplexPair):
        raise t.unsupported("the imaginary part of real numbers")
    return t.expanded(value.imaginary, t.dims_of(value))


def _angle(t: Translation, x: Any) -> Value:
    value = t.value(x)
    if isinstance(value, ComplexPair):
        operands = {"x": t.tensor_of(value.real), "y": t.tensor_of(value.imaginary)}
        return expressed(t, _FORMULA_OF["atan2"], operands)
    return expressed(t, f"{PI} * positive(-x)", {"x": t.tensor(x)})


# ---------------------------------------------------------------- what applies to both parts
def _of_both_parts(name: str) -> Callable[..., Value]:
    """An operator that is linear over the reals, or moves elements, on the real and on the imaginary parts."""

    def lower(t: Translation, x: Any, *more: Any, **named: Any) -> Value:
        listed = list(cast("Sequence[Any]", x)) if isinstance(x, Sequence) else [x]
        pairs = [pair_of(t, one) for one in listed]

        def part(values: Sequence[Value]) -> Value:
            operands = [Operand(v) for v in values]
            return t.lowered_by(name, operands if isinstance(x, Sequence) else operands[0], *more, **named)

        real, imaginary = part([p.real for p in pairs]), part([t.expanded(p.imaginary, t.dims_of(p)) for p in pairs])
        if isinstance(real, tuple) and isinstance(imaginary, tuple):
            return tuple(ComplexPair(a, b) for a, b in zip(real, imaginary, strict=True))
        return ComplexPair(real, imaginary)

    return lower


def _copied(t: Translation, x: Any, *more: Any, dtype: Any = None, **_: Any) -> Value:
    """A cast among complex dtypes, which leaves no operator; a cast to a real one has the real parts."""
    named = [str(a) for a in (*more, dtype) if str(a).startswith("torch.")]
    return t.value(x) if not named or "complex" in named[0] else _real(t, x)


ON_COMPLEX: Mapping[str, Callable[..., Value]] = {
    **{"mul": _mul, "square": _square, "pow": _power, "add": _sum("add"), "sub": _sum("sub"), "neg": _neg},
    **{"div": _div, "reciprocal": _reciprocal, "abs": _abs, "exp": _exp},
    **dict.fromkeys(("matmul", "mm", "bmm", "mv"), _matmul),
    **dict.fromkeys(("to", "prims::convert_element_type"), _copied),
    **{
        name: _of_both_parts(name) for name in ("sum", "mean", "cumsum", "cat", "stack", "flip", "roll", "index_select")
    },
    **{name: _of_both_parts(name) for name in ("index", "repeat", "repeat_interleave", "diagonal", "embedding")},
}
"""Operators of other tables, where an operand is complex; views apply to both parts by themselves."""
COMPLEX_ROWS: tuple[Row, ...] = (
    Row("view_as_complex", "view_as_complex", _view_as_complex),
    Row("view_as_real", "view_as_real", _view_as_real),
    Row("complex", "complex", _complex),
    Row("polar", "polar", _polar),
    Row("real", "real", _real),
    Row("imag", "imag", _imaginary),
    Row("angle", "angle", _angle),
    *(Row(name, "conj", _conjugate) for name in ("_conj", "conj_physical")),
)
