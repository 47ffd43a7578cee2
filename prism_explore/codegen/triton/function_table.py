"""The text of each operator in Triton: elementwise functions, operations with a constant, the end of a reduction."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from prism_explore.ir.ops import BinaryFn, ReduceFn, ScalarFn
from prism_explore.ir.tensors import DType

TRITON_DTYPE: dict[DType, str] = {"f64": "tl.float64", "f32": "tl.float32", "bf16": "tl.bfloat16", "f16": "tl.float16"}


@dataclass(frozen=True, slots=True)
class UnaryText:
    """One row: how Triton spells a function, and whether it maps 0 to 0."""

    name: str
    text: str
    keeps_zero: bool


UNARY_TEXT: dict[str, UnaryText] = {
    row.name: row
    for row in (
        UnaryText("exp", "tl.exp({0})", False),
        UnaryText("square", "{0} * {0}", True),
        UnaryText("sqrt", "tl.sqrt({0})", True),
        UnaryText("rsqrt", "tl.rsqrt({0})", False),
        UnaryText("recip", "1.0 / {0}", False),
        UnaryText("neg", "-{0}", True),
        UnaryText("silu", "{0} * tl.sigmoid({0})", True),
        UnaryText("sigmoid", "tl.sigmoid({0})", False),
        UnaryText("relu", "tl.maximum({0}, 0.0)", True),
        UnaryText("tanh", "2.0 * tl.sigmoid(2.0 * {0}) - 1.0", True),
        UnaryText("abs", "tl.abs({0})", True),
        UnaryText("erf", "tl.erf({0})", True),
        UnaryText("gelu", "0.5 * {0} * (1.0 + tl.erf({0} * 0.7071067811865476))", True),
        UnaryText("gelu_tanh", "{0} * tl.sigmoid(1.5957691216057308 * ({0} + 0.044715 * {0} * {0} * {0}))", True),
    )
}

BINARY_TEXT: dict[BinaryFn, str] = {
    "add": "{0} + {1}",
    "sub": "{0} - {1}",
    "mul": "{0} * {1}",
    "div": "{0} / {1}",
    "max": "tl.maximum({0}, {1})",
    "min": "tl.minimum({0}, {1})",
    "mask": "tl.where({1}, {0}, {2})",
}
"""The third argument stands for minus infinity."""

LARGEST_POWER = 8
"""Powers up to here are products and square roots. Others are exp(c log x), so x must be positive."""


def scalar_text(fn: ScalarFn, x: str, value: Fraction) -> str:
    """The text of an operation with a constant."""
    match fn:
        case "add":
            return f"{x} + {float(value)!r}"
        case "mul":
            return f"{x} * {float(value)!r}"
        case "max":
            return f"tl.maximum({x}, {float(value)!r})"
        case "min":
            return f"tl.minimum({x}, {float(value)!r})"
        case "pow":
            integer, fraction = divmod(abs(value), 1)
            if fraction not in (0, Fraction(1, 2)) or integer > LARGEST_POWER:
                return f"tl.exp({float(value)!r} * tl.log({x}))"
            text = " * ".join([x] * int(integer) + ([f"tl.sqrt({x})"] if fraction else [])) or "1.0"
            return text if value > 0 else f"1.0 / ({text})" if value else f"{x} * 0.0 + 1.0"


def finish_reduction(fn: ReduceFn, total: str, count: int) -> str:
    """The text of a reduction's result, from its sum (of squares for rms) or maximum over `count` elements."""
    match fn:
        case "mean":
            return f"{total} / {count}"
        case "rms":
            return f"tl.sqrt({total} / {count})"
        case "sum" | "max":
            return total
