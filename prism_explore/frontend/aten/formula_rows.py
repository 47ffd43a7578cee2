"""ATen operators that are a formula of their tensors and numbers, in operators of the program."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from prism_explore.frontend.aten import constants
from prism_explore.frontend.lower_aten import Row, Translation, Value
from prism_explore.ir.elementwise import COMPOSITE, CompositeFunction
from prism_explore.ir.formulas import evaluate, formula


@dataclass(frozen=True, slots=True)
class FormulaRow:
    """An operator of several tensors or numbers, each named in its formula.

    The formula is exact over the reals and does not overflow where the function does not.
    """

    aten: str
    formula: str
    operands: tuple[str, ...] = ("x",)
    """ATen's positional arguments in order; each may be a tensor or a number."""
    defaults: Mapping[str, Fraction] = field(default_factory=dict[str, Fraction])
    """Default values of arguments by name."""
    torch: str = ""
    """Its name in torch; if empty, its name in ATen."""


LOG2 = "0.69314718055994530941723212145817656808"
SINH_HALF, COSH_HALF = "(expm1(x * 0.5) - expm1(x * -0.5))", "(exp(x * 0.5) + exp(x * -0.5))"
ASINH = "log1p({0} + {0} / (1 / {0} + sqrt(1 / {0} * (1 / {0}) + 1)))"
"""The inverse hyperbolic sine of a number that is not negative; its square does not overflow."""
LARGER, SMALLER = "max(abs(x), abs(y))", "min(abs(x), abs(y))"
SLOPE = f"keep({SMALLER} / {LARGER}, {LARGER})"
"""The smaller one of two sizes over the larger, which cannot overflow; 0 where both are."""
PI = "3.1415926535897932384626433832795"
_ACUTE = f"(atan({SLOPE}) + keep({PI} / 2 - 2 * atan({SLOPE}), positive(abs(y) - abs(x))))"
ANGLE = f"({_ACUTE} + keep({PI} - 2 * {_ACUTE}, positive(-x)))"
"""The angle of (x, |y|), from 0 to a half turn."""
SOFTPLUS_BELOW_THRESHOLD = (
    "drop(softplus(x * beta) / beta, positive(x * beta - threshold)) + keep(x, positive(x * beta - threshold))"
)
"""torch's softplus is x beyond its threshold."""
GAP = "drop(abs(x - y), is_nan(x - y))"
"""The distance of two numbers; 0 for equal infinities, whose difference is no number."""
OTHER_IF_NAN = "(drop({0}, is_nan({0})) + keep({1}, is_nan({0})))"

FORMULAS: tuple[FormulaRow, ...] = (
    FormulaRow("lerp", "x + weight * (end - x)", ("x", "end", "weight")),
    FormulaRow("addcmul", "x + value * (y * z)", ("x", "y", "z"), {"value": Fraction(1)}),
    FormulaRow("addcdiv", "x + value * (y / z)", ("x", "y", "z"), {"value": Fraction(1)}),
    FormulaRow(
        "softshrink",
        "max(x - lambd, 0) - max(-x - lambd, 0)",
        ("x", "lambd"),
        {"lambd": Fraction(1, 2)},
        "nn.functional.softshrink",
    ),
    FormulaRow("logaddexp", f"max(x, y) + softplus(-{GAP})", ("x", "y")),
    FormulaRow("logaddexp2", f"max(x, y) + softplus(-{GAP} * {LOG2}) / {LOG2}", ("x", "y")),
    FormulaRow("log2", f"log(x) / {LOG2}"),
    FormulaRow("log10", "log(x) / 2.3025850929940456840179914546843642076"),
    FormulaRow("tan", "sin(x) / cos(x)"),
    FormulaRow("sinh", f"0.5 * ({SINH_HALF} * {COSH_HALF})"),
    FormulaRow("cosh", f"0.5 * ({COSH_HALF} * {COSH_HALF}) - 1"),
    FormulaRow("asinh", "sign(x) * " + ASINH.format("abs(x)")),
    FormulaRow("acosh", "2 * " + ASINH.format("sqrt(0.5 * (x - 1))")),
    FormulaRow("atanh", "0.5 * (sign(x) * log1p(2 * abs(x) / (1 - abs(x))))"),
    FormulaRow("sgn", "sign(x)"),
    FormulaRow("frac", "x - trunc(x)"),
    FormulaRow("asin", "2 * atan(x / (1 + sqrt((1 - x) * (1 + x))))"),
    FormulaRow("acos", "4 * atan(sqrt(1 - x) / (1.4142135623730950488 + sqrt(1 + x)))"),
    FormulaRow("atan2", f"{ANGLE} * (2 * nonnegative(y) - 1)", ("y", "x")),
    FormulaRow("hypot", f"{LARGER} * sqrt(1 + square({SLOPE}))", ("x", "y")),
    FormulaRow("copysign", "abs(x) * (2 * nonnegative(y) - 1)", ("x", "y")),
    FormulaRow("fmax", f"max({OTHER_IF_NAN.format('x', 'y')}, {OTHER_IF_NAN.format('y', 'x')})", ("x", "y")),
    FormulaRow("fmin", f"min({OTHER_IF_NAN.format('x', 'y')}, {OTHER_IF_NAN.format('y', 'x')})", ("x", "y")),
    FormulaRow("heaviside", "positive(x) + keep(values, is_zero(x))", ("x", "values")),
    FormulaRow("xlogy", "keep(x * log(y), x)", ("x", "y")),
    FormulaRow("special_xlog1py", "keep(x * log1p(y), x)", ("x", "y"), torch="special.xlog1py"),
    FormulaRow("special_entr", "keep(-x * log(max(x, 0)), x)", torch="special.entr"),
)


def expressed(t: Translation, text: str, operands: Mapping[str, int | Fraction]) -> int:
    """A formula of tensors of the program and of numbers, as operators of the program."""
    out = evaluate(formula(text), operands, _identity, _Operation(t))
    if not isinstance(out, int):
        raise t.unsupported("a formula of numbers alone")
    return out


def _identity(value: Fraction) -> int | Fraction:
    return value


class _Operation:
    """Operators of formulas on tensors of the program (int positions) and on constants (Fraction).

    An operator of equal operands is computed once.
    """

    def __init__(self, t: Translation) -> None:
        self._t = t
        self._made: dict[tuple[str, tuple[int | Fraction, ...]], int | Fraction] = {}

    def __call__(self, fn: str, args: tuple[int | Fraction, ...]) -> int | Fraction:
        key = fn, args
        if key not in self._made:
            self._made[key] = self._apply(fn, args)
        return self._made[key]

    def _apply(self, fn: str, args: tuple[int | Fraction, ...]) -> int | Fraction:
        b, line = self._t.build, self._t.line
        match fn, args:
            case "neg", (int(a),):
                return b.unary("neg", a, line)
            case "neg", (Fraction() as c,):
                return -c
            case _, (int(a),):
                return b.unary(fn, a, line)
            case "add" | "sub" | "mul" | "div" | "max" | "min" | "keep" | "drop", (int(a), int(c)):
                return b.binary(fn, a, c, line)
            case "add" | "mul" | "max" | "min", (int(a), Fraction() as c):
                return a if (fn, c) in (("add", 0), ("mul", 1)) else b.scalar(fn, a, c, line)
            case "add" | "mul" | "max" | "min", (Fraction() as c, int(a)):
                return self(fn, (a, c))
            case "sub", (int(a), Fraction() as c):
                return self("add", (a, -c))
            case "sub", (Fraction() as c, int(a)):
                return self("add", (b.unary("neg", a, line), c))
            case "div", (int(a), Fraction() as c) if c:
                return self("mul", (a, 1 / c))
            case "div", (Fraction() as c, int(a)):
                return self("mul", (b.unary("recip", a, line), c))
            case "sub", (Fraction() as a, Fraction() as c):
                return a - c
            case _:
                return self(fn, tuple(map(self._tensor, args)))

    def _tensor(self, x: int | Fraction) -> int:
        return x if isinstance(x, int) else self._t.at(constants.constant((), x))


def _composite(row: CompositeFunction) -> Callable[..., Value]:
    """The row's formula, in operators of the program."""

    def lower(t: Translation, x: Any, *positional: Any, **by_name: Any) -> Value:
        parameters = {**row.parameters}
        for name, value in (*zip(row.parameters, positional, strict=False), *by_name.items()):
            number = t.number(value)
            if name not in parameters or number is None:
                raise t.unsupported(f"{row.name} with {name}={value}")
            parameters[name] = number
        least = row.parameters.get("threshold")
        if least is not None and parameters["threshold"] < least:
            return expressed(t, SOFTPLUS_BELOW_THRESHOLD, {"x": t.tensor(x), **parameters})
        return expressed(t, row.formula, {"x": t.tensor(x), **parameters})

    return lower


def _formula_row(row: FormulaRow) -> Callable[..., Value]:
    def lower(t: Translation, *positional: Any, **by_name: Any) -> Value:
        given = {**row.defaults, **dict(zip(row.operands, positional, strict=False)), **by_name}
        if unknown := [name for name in given if name not in row.operands and name not in row.defaults]:
            raise t.unsupported(f"{row.aten} with {', '.join(unknown)}")
        return expressed(t, row.formula, {name: _operand(t, value) for name, value in given.items()})

    return lower


def _operand(t: Translation, x: Any) -> int | Fraction:
    if isinstance(x, Fraction):
        return x
    number = t.number(x)
    return number if number is not None else t.tensor(x)


FORMULA_ROWS: tuple[Row, ...] = (
    *(Row(row.name, row.torch or f"nn.functional.{row.name}", _composite(row)) for row in COMPOSITE.values()),
    *(Row(row.aten, row.torch or row.aten, _formula_row(row)) for row in FORMULAS),
)
