"""The text in Triton of operations with a constant and of the end of a reduction; functions are in `ir.elementwise`."""

from __future__ import annotations

from fractions import Fraction

from prism_explore.ir.ops import ReduceFn, ScalarFn
from prism_explore.ir.tensors import DType

TRITON_DTYPE: dict[DType, str] = {
    "f64": "tl.float64",
    "f32": "tl.float32",
    "bf16": "tl.bfloat16",
    "f16": "tl.float16",
    "bool": "tl.int1",
    "i8": "tl.int8",
    "u8": "tl.uint8",
    "w64": "tl.int64",
    "w32": "tl.int32",
}

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
