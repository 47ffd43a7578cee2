"""The table of elementwise functions: one row each, read by every stage.

A row is plain data. Formulas are texts such as `x * sigmoid(x)`, parsed by `formula`. Each stage evaluates them with
its own operators: expressions in the prover, instructions in the LLVM code generator, tensors in the frontend, numbers
of high precision in tests and in the refuter.

To add a function, add a row: see README.md in this folder. `tests/ir/test_elementwise.py` tests every field of a row.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from importlib import import_module
from math import copysign, erf, erfc, inf, isfinite, nan, pi, sqrt
from math import exp as math_exp
from statistics import NormalDist
from typing import Any, Literal, TypeAlias

import numpy as np

from prism_explore.ir.formulas import Formula, evaluate, formula
from prism_explore.ir.tabulated import entries_of, looked_up
from prism_explore.support.caches import memoize

UnaryFn: TypeAlias = str
"""The name of a row of `UNARY`, or of a tabulated function."""
BinaryFn: TypeAlias = Literal["add", "sub", "mul", "div", "max", "min", "mask", "keep", "drop"]


@dataclass(frozen=True, slots=True)
class Interval:
    """The real numbers from `low` to `high`, with or without each bound."""

    low: float = -inf
    high: float = inf
    has_low: bool = False
    has_high: bool = False

    def __contains__(self, x: object) -> bool:
        assert isinstance(x, int | float), "an interval of real numbers"
        return (self.low < x or (self.has_low and x == self.low)) and (
            x < self.high or (self.has_high and x == self.high)
        )


REAL = Interval()
POSITIVE = Interval(0.0)
NONNEGATIVE = Interval(0.0, has_low=True)
BIT = Interval(0.0, 1.0, True, True)

Lowering: TypeAlias = Literal["primitive", "inline", "transparent", "named"]
"""How the prover treats a function.

primitive    it has a constructor of its own
inline       it is replaced by its definition at once
transparent  a function symbol; prime fields and the float rules use its definition, proofs where the symbol fails
named        a function symbol; proofs use its definition, if it has one, where the symbol fails
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class ElementwiseFunction:
    """One row: a function of one argument."""

    name: str
    numpy: Callable[..., Any]
    """Its NumPy function, for arrays of any float dtype and for object arrays with their own arithmetic."""
    torch: str
    """Its call in torch, with {0} for the argument."""
    triton: str
    """Its text in Triton, with {0} for the argument."""
    llvm: str
    """Its formula in the operations of `codegen.cpu.llvm.vector_math`, accurate in float32."""
    flops: int
    """Floating-point operations per element, transcendental functions counted as one call."""
    aten: tuple[str, ...] = ()
    """ATen operators that are this function of their one tensor."""
    mirage_name: str = ""
    """Its name in Mirage's saved graphs."""
    exact: str = ""
    """Its formula for high precision, in functions of mpmath; if empty, its definition or mpmath's function `name`."""
    definition: str = ""
    """Its formula over the reals, in other rows and `max`; it holds for all arguments if x/0 = 0."""
    definition_is_a_theorem: str = ""
    """A proof of the definition, if the function is not defined by it."""
    lowering: Lowering = "named"
    domain: Interval = REAL
    range: Interval = REAL
    """An interval that contains its values; a proof may use the sign that follows."""
    parity: Literal["", "odd", "even"] = ""
    parity_argument: str = "The definition says so."
    zero_at_zero: bool = False
    monotone: Literal["", "increasing", "decreasing"] = ""
    degree: Fraction | None = None
    """d if f(a b) = f(a) f(b) up to a sign, so that f(c^n) is c^(d n)."""
    is_step: bool = False
    """Whether its values are integers, and constant between jumps."""
    derivative: str = ""
    """Its derivative as a formula in mpmath's functions; empty if it is not differentiable or not known."""
    entries: tuple[float, ...] = ()
    """Of a tabulated function (`ir.tabulated`): its values at 0, 1, 2, ..; its texts are then made from these."""

    @property
    def sign(self) -> Literal["", "nonnegative", "positive"]:
        """The sign of its values for every argument, if it is known."""
        if self.domain != REAL or self.range.low < 0:
            return ""
        return "nonnegative" if 0.0 in self.range else "positive"

    @property
    def torch_name(self) -> str:
        """Its name in torch, such as `nn.functional.silu`."""
        return self.torch.removeprefix("torch.").partition("(")[0]

    @property
    def is_symbol(self) -> bool:
        """Whether it is a function symbol in the prover."""
        return self.lowering in ("transparent", "named")

    @property
    def high_precision(self) -> Formula:
        """Its formula in functions of mpmath, `max` and `abs`."""
        return formula(self.exact or self.definition or f"{self.name}(x)")


@dataclass(frozen=True, slots=True)
class BinaryFunction:
    """One row: a function of two arguments."""

    name: BinaryFn
    numpy: Callable[..., Any]
    """Its NumPy function, as for `ElementwiseFunction`."""
    torch: str
    """Its call in torch, with {0} and {1} for the arguments."""
    triton: str
    """Its text in Triton, with {0} and {1} for the arguments; {2} is the value of masked elements."""
    flops: int = 1
    """Floating-point operations per element."""
    is_commutative: bool = False


@dataclass(frozen=True, slots=True)
class CompositeFunction:
    """One row: a function that the frontend replaces by its formula in existing operators.

    The formula is exact over the reals and does not overflow where the function does not.
    """

    name: str
    """Its name in ATen."""
    formula: str
    """In `x`, the parameters, rows of `UNARY`, `max` and `min`."""
    parameters: Mapping[str, Fraction] = field(default_factory=dict[str, Fraction])
    """Default values by ATen's names, in the order of its arguments."""
    torch: str = ""
    """Its name in torch; if empty, it is `nn.functional.` and the name in ATen."""


def high_precision(row: ElementwiseFunction, x: Any) -> Any:
    """The value of a function at an mpmath number, with mpmath's working precision.

    Source: mpmath, Johansson et al., https://mpmath.org.
    """
    if row.entries:
        mp: Any = import_module("mpmath").mp
        return mp.mpf(row.entries[int(min(max(mp.nint(x), 0), len(row.entries) - 1))])
    return in_mpmath(row.high_precision, {"x": x})


def in_mpmath(f: Formula, names: Mapping[str, Any]) -> Any:
    """The value of a formula of mpmath numbers, with mpmath's working precision."""
    mp: Any = import_module("mpmath").mp

    def number(value: Fraction) -> Any:
        return mp.mpf(value.numerator) / value.denominator

    def operation(fn: str, args: tuple[Any, ...]) -> Any:
        match fn, args:
            case "add", (a, b):
                return a + b
            case "sub", (a, b):
                return a - b
            case "mul", (a, b):
                return a * b
            case "div", (a, b):
                return a / b
            case "pow", (a, b):
                return a**b
            case "neg", (a,):
                return -a
            case "max" | "min", _:
                return max(args) if fn == "max" else min(args)
            case "abs", (a,):
                return abs(a)
            case "pi", ():
                return +mp.pi
            case _, (a,) if fn in UNARY and not hasattr(mp, fn):
                return high_precision(UNARY[fn], a)
            case _:
                return getattr(mp, fn)(*args)

    return evaluate(f, names, number, operation)


def _same(x: Any) -> Any:
    return x


def _sigmoid(x: Any) -> Any:
    return 1.0 / (1.0 + np.exp(-x))


def _silu(x: Any) -> Any:
    return x * _sigmoid(x)


def _recip(x: Any) -> Any:
    return 1.0 / x


def _rsqrt(x: Any) -> Any:
    return 1.0 / np.sqrt(x)


def _relu(x: Any) -> Any:
    return np.maximum(x, 0.0)


def _erf(x: Any) -> Any:
    return np.asarray(np.vectorize(erf, otypes=[np.float64])(x)).astype(x.dtype)


def _gelu(x: Any) -> Any:
    return 0.5 * x * (1.0 + _erf(x * sqrt(0.5)))


def _gelu_tanh(x: Any) -> Any:
    return 0.5 * x * (1.0 + np.tanh(sqrt(2.0 / pi) * (x + 0.044715 * x * x * x)))


def _erfc(x: Any) -> Any:
    return np.asarray(np.vectorize(erfc, otypes=[np.float64])(x)).astype(x.dtype)


def _erfinv_of_number(x: float) -> float:
    """Newton's method from the inverse of the normal distribution, which is near but not exact around 0."""
    if not -1.0 < x < 1.0:
        return copysign(inf, x) if abs(x) == 1.0 else nan
    y = -NormalDist().inv_cdf((1.0 - abs(x)) / 2.0) * sqrt(0.5) if abs(x) > 0.1 else abs(x) * sqrt(pi) / 2.0
    for _ in range(4):
        error = erf(y) - abs(x) if abs(x) < 0.5 else (1.0 - abs(x)) - erfc(y)
        y -= error * sqrt(pi) / 2.0 * math_exp(y * y)
    return copysign(y, x)


def _erfinv(x: Any) -> Any:
    return np.asarray(np.vectorize(_erfinv_of_number, otypes=[np.float64])(x)).astype(x.dtype)


def _softplus(x: Any) -> Any:
    return np.maximum(x, 0.0) + np.log1p(np.exp(-np.abs(x)))


def _mish(x: Any) -> Any:
    return x * np.tanh(_softplus(x))


def masked_value(dtype: np.dtype[Any]) -> float:
    """The value of masked elements: a quarter of the most negative number of a dtype, in place of minus infinity.

    It is finite, so that a tile in which all elements are masked has a finite maximum.
    """
    return float(np.finfo(dtype).min) / 4


def _mask(x: Any, keep: Any) -> Any:
    if x.dtype == object:  # elements with their own arithmetic
        return np.where(keep != 0, x, np.asarray(x * 0 + masked_value(np.dtype(np.float64)), object))
    return np.where(keep != 0, x, np.asarray(masked_value(x.dtype), x.dtype))


def _keep(x: Any, where: Any) -> Any:
    return np.where(where != 0, x, x * 0 if x.dtype == object else np.zeros((), x.dtype))


def _drop(x: Any, where: Any) -> Any:
    return np.where(where != 0, x * 0 if x.dtype == object else np.zeros((), x.dtype), x)


def _bit(condition: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """1 where a condition on an array holds, else 0, in the dtype of the array."""

    def bit(x: Any) -> Any:
        return np.asarray(condition(x)).astype(x.dtype)

    return bit


_LOG1P = "tl.where(1.0 + ({0}) == 1.0, {0}, tl.log(1.0 + ({0})) * ({0}) / ((1.0 + ({0})) - 1.0))"
"""The quotient corrects the rounding of 1 + x. Source: Kahan; Goldberg 1991, theorem 4."""
_SINH = "({0} * (1.0 + {0} * {0} * (1.0 / 6.0 + {0} * {0} * (1.0 / 120.0 + {0} * {0} / 5040.0))))"
"""The series up to 1/4; exp(x) - 1 is 2 exp(x/2) sinh(x/2)."""
_SOFTPLUS = "tl.maximum({0}, 0.0) + " + _LOG1P.format("tl.exp(-tl.abs({0}))")


def _triton_polynomial(x: str, coefficients: tuple[float, ...]) -> str:
    """A polynomial by Horner's rule as a text in Triton, the highest coefficient first."""
    text = repr(coefficients[0])
    for a in coefficients[1:]:
        text = f"({text} * {x} + {a!r})"
    return text


ATAN = (
    0.0027856983, -0.0158660281, 0.0424722321, -0.0749753043, 0.1064487994, -0.1420703083, 0.1999345422, -0.3333314657,
)  # fmt: skip
"""(atan(t) / t - 1) / t² as a polynomial in t² for t up to 1."""
ERFC_MIDDLE = (
    2.326819970068386e-2, -1.387039388740657e-1, 3.687424674597105e-1, -5.824733027278666e-1,
    6.210004621745983e-1, -4.944515323274145e-1, 3.404879937665872e-1, -2.741127028184656e-1,
    5.638259427386472e-1,
)  # fmt: skip
ERFC_TAIL = (
    -1.047766399936249e1, 1.297719955372516e1, -7.495518717768503e0, 2.921019019210786e0,
    -1.015265279202700e0, 4.218463358204948e-1, -2.820767439740514e-1, 5.641895067754075e-1,
)  # fmt: skip
"""x exp(x²) erfc(x) as polynomials in 1/x² for x from 1 to 2, and beyond. Source: Moshier, Cephes, ndtrf.c."""
ERFINV_NEAR = (
    2.81022636e-08, 3.43273939e-07, -3.5233877e-06, -4.39150654e-06, 0.00021858087, -0.00125372503, -0.00417768164,
    0.246640727, 1.50140941,
)  # fmt: skip
ERFINV_TAIL = (
    -0.000200214257, 0.000100950558, 0.00134934322, -0.00367342844, 0.00573950773, -0.0076224613, 0.00943887047,
    1.00167406, 2.83297682,
)  # fmt: skip
"""erfinv(x) / x as polynomials in w - 2.5 for w = -log(1 - x²) below 5, and in sqrt(w) - 3 beyond.

Source: Giles, Approximating the erfinv Function, GPU Computing Gems, 2011.
"""
_SLOPE = "tl.where(tl.abs({0}) > 1.0, 1.0 / tl.abs({0}), tl.abs({0}))"
_ATAN_OF_SLOPE = f"({_SLOPE} + {_SLOPE} * {_SLOPE} * {_SLOPE} * {_triton_polynomial(f'({_SLOPE} * {_SLOPE})', ATAN)})"
_ATAN = (
    f"tl.where({{0}} < 0.0, -1.0, 1.0) * tl.where(tl.abs({{0}}) > 1.0, 1.5707963267948966 - {_ATAN_OF_SLOPE}, "
    f"{_ATAN_OF_SLOPE})"
)
_INVERSE = "(1.0 / ({0} * {0}))"
_ERFC = (
    "tl.where({0} > 1.0, tl.exp(-{0} * {0}) / {0} * tl.where({0} < 2.0, "
    f"{_triton_polynomial(_INVERSE, ERFC_MIDDLE)}, {_triton_polynomial(_INVERSE, ERFC_TAIL)}), 1.0 - tl.erf({{0}}))"
)
_W = "-tl.log((1.0 - {0}) * (1.0 + {0}))"
_ERFINV = (
    f"{{0}} * tl.where({_W} < 5.0, {_triton_polynomial(f'({_W} - 2.5)', ERFINV_NEAR)}, "
    f"{_triton_polynomial(f'(tl.sqrt({_W}) - 3.0)', ERFINV_TAIL)})"
)
CASTS: Mapping[str, Literal["f32", "bf16", "f16", "bool", "i8", "u8"]] = {
    **{"to_f32": "f32", "to_bf16": "bf16", "to_f16": "f16", "to_bool": "bool", "to_i8": "i8", "to_u8": "u8"}
}
"""Functions that change how a tensor is stored, each with the dtype of its result."""


def _cast(name: str, torch_name: str) -> ElementwiseFunction:
    """The identity over the reals; a kernel computes in float32 and rounds where it stores."""
    return ElementwiseFunction(
        name=name,
        numpy=_same,
        torch=f"{{0}}.to(torch.{torch_name})",
        triton="{0}",
        llvm="x",
        flops=0,
        exact="x",
        definition="x",
        lowering="inline",
        parity="odd",
        zero_at_zero=True,
        monotone="increasing",
    )


def _nonzero(name: str, torch: str) -> ElementwiseFunction:
    """[x is not 0], as a number or as a bool."""
    return ElementwiseFunction(
        name=name,
        numpy=_bit(lambda x: x != 0),
        torch=torch,
        triton="tl.where({0} != 0.0, 1.0, 0.0)",
        llvm="nonzero(x)",
        flops=1,
        exact="abs(sign(x))",
        definition="x / x",
        definition_is_a_theorem="x / x is 1 where x is not 0, and 0 / 0 is 0.",
        lowering="inline",
        range=BIT,
        parity="even",
        zero_at_zero=True,
    )


def _chosen(entries: tuple[float, ...], first: int = 0) -> str:
    """The text in Triton of a table: comparisons that halve it."""
    if len(entries) == 1:
        return f'float("{entries[0]!r}")'
    half = len(entries) // 2
    below, above = _chosen(entries[:half], first), _chosen(entries[half:], first + half)
    return f"tl.where({{0}} < {first + half - 0.5}, {below}, {above})"


@memoize(512)
def _tabulated(name: str) -> ElementwiseFunction | None:
    """The row of a tabulated function, an uninterpreted one in proofs; None for a name of none."""
    entries = entries_of(name)
    if entries is None:
        return None
    numbers = tuple(map(float, entries))
    listed = ", ".join(f'float("{value!r}")' for value in numbers)
    is_bounded = all(map(isfinite, numbers))
    return ElementwiseFunction(
        name=name,
        numpy=partial(looked_up, entries),
        torch=f"torch.tensor([{listed}], dtype={{0}}.dtype, device={{0}}.device)"
        f"[{{0}}.nan_to_num().round().clamp(0, {len(numbers) - 1}).long()]",
        triton=_chosen(numbers),
        llvm="x",
        flops=1,
        range=Interval(min(numbers), max(numbers), True, True) if is_bounded else REAL,
        zero_at_zero=numbers[0] == 0,
        entries=numbers,
    )


class _Functions(dict[str, ElementwiseFunction]):
    """Rows by name. Those of tabulated functions, one for each table, are made when they are asked for, not listed."""

    def __missing__(self, name: str) -> ElementwiseFunction:
        row = _tabulated(name)
        if row is None:
            raise KeyError(name)
        return row

    def __contains__(self, name: object) -> bool:
        return super().__contains__(name) or (isinstance(name, str) and _tabulated(name) is not None)

    def get(self, name: str, default: Any = None) -> Any:
        row = super().get(name) or _tabulated(name)
        return default if row is None else row


UNARY: dict[str, ElementwiseFunction] = _Functions(
    (row.name, row)
    for row in (
        ElementwiseFunction(
            name="exp",
            numpy=np.exp,
            torch="torch.exp({0})",
            triton="tl.exp({0})",
            llvm="exp(x)",
            flops=1,
            aten=("exp",),
            mirage_name="exp",
            lowering="primitive",
            range=POSITIVE,
            monotone="increasing",
            derivative="exp(x)",
        ),
        ElementwiseFunction(
            name="square",
            numpy=np.square,
            torch="torch.square({0})",
            triton="{0} * {0}",
            llvm="x * x",
            flops=1,
            aten=("square",),
            mirage_name="square",
            definition="x * x",
            lowering="inline",
            range=NONNEGATIVE,
            parity="even",
            zero_at_zero=True,
            degree=Fraction(2),
            derivative="2 * x",
        ),
        ElementwiseFunction(
            name="sqrt",
            numpy=np.sqrt,
            torch="torch.sqrt({0})",
            triton="tl.sqrt({0})",
            llvm="sqrt(x)",
            flops=1,
            aten=("sqrt",),
            mirage_name="sqrt",
            lowering="primitive",
            domain=NONNEGATIVE,
            range=NONNEGATIVE,
            zero_at_zero=True,
            monotone="increasing",
            degree=Fraction(1, 2),
            derivative="1 / (2 * sqrt(x))",
        ),
        ElementwiseFunction(
            name="rsqrt",
            numpy=_rsqrt,
            torch="torch.rsqrt({0})",
            triton="tl.rsqrt({0})",
            llvm="1 / sqrt(x)",
            flops=2,
            aten=("rsqrt",),
            definition="1 / sqrt(x)",
            lowering="inline",
            domain=POSITIVE,
            range=POSITIVE,
            monotone="decreasing",
            degree=Fraction(-1, 2),
            derivative="-1 / (2 * x * sqrt(x))",
        ),
        ElementwiseFunction(
            name="recip",
            numpy=_recip,
            torch="torch.reciprocal({0})",
            triton="1.0 / {0}",
            llvm="1 / x",
            flops=1,
            aten=("reciprocal",),
            definition="1 / x",
            lowering="inline",
            parity="odd",
            degree=Fraction(-1),
            derivative="-1 / (x * x)",
        ),
        ElementwiseFunction(
            name="neg",
            numpy=np.negative,
            torch="torch.neg({0})",
            triton="-{0}",
            llvm="-x",
            flops=1,
            aten=("neg",),
            definition="-x",
            lowering="inline",
            parity="odd",
            zero_at_zero=True,
            monotone="decreasing",
            degree=Fraction(1),
            derivative="-1",
        ),
        ElementwiseFunction(
            name="silu",
            numpy=_silu,
            torch="torch.nn.functional.silu({0})",
            triton="{0} * tl.sigmoid({0})",
            llvm="x / (exp(-x) + 1)",
            flops=4,
            aten=("silu",),
            mirage_name="silu",
            exact="x / (1 + exp(-x))",
            definition="x * sigmoid(x)",
            lowering="transparent",
            range=Interval(-0.2785),
            zero_at_zero=True,
            derivative="(1 + exp(-x) + x * exp(-x)) / (1 + exp(-x)) ** 2",
        ),
        ElementwiseFunction(
            name="sigmoid",
            numpy=_sigmoid,
            torch="torch.sigmoid({0})",
            triton="tl.sigmoid({0})",
            llvm="1 / (exp(-x) + 1)",
            flops=3,
            aten=("sigmoid",),
            mirage_name="sigmoid",
            definition="1 / (1 + exp(-x))",
            lowering="transparent",
            range=Interval(0.0, 1.0),
            monotone="increasing",
            derivative="exp(-x) / (1 + exp(-x)) ** 2",
        ),
        ElementwiseFunction(
            name="relu",
            numpy=_relu,
            torch="torch.relu({0})",
            triton="tl.maximum({0}, 0.0)",
            llvm="positive_part(x)",
            flops=1,
            aten=("relu",),
            mirage_name="relu",
            definition="max(x, 0)",
            range=NONNEGATIVE,
            zero_at_zero=True,
            monotone="increasing",
        ),
        ElementwiseFunction(
            name="tanh",
            numpy=np.tanh,
            torch="torch.tanh({0})",
            triton="2.0 * tl.sigmoid(2.0 * {0}) - 1.0",
            llvm="tanh(x)",
            flops=1,
            aten=("tanh",),
            exact="tanh(x)",
            definition="1 - 2 / (1 + exp(2 * x))",
            definition_is_a_theorem="(exp(a) − exp(−a)) / (exp(a) + exp(−a)), with both parts times exp(a), is "
            "1 − 2 / (exp(2 a) + 1).",
            range=Interval(-1.0, 1.0),
            parity="odd",
            parity_argument="The quotient of an odd and an even function is odd.",
            zero_at_zero=True,
            monotone="increasing",
            derivative="1 - tanh(x) ** 2",
        ),
        ElementwiseFunction(
            name="abs",
            numpy=np.abs,
            torch="torch.abs({0})",
            triton="tl.abs({0})",
            llvm="abs(x)",
            flops=1,
            aten=("abs",),
            exact="abs(x)",
            definition="max(x, -x)",
            range=NONNEGATIVE,
            parity="even",
            parity_argument="max(−a, a) = max(a, −a).",
            zero_at_zero=True,
            degree=Fraction(1),
            derivative="sign(x)",
        ),
        ElementwiseFunction(
            name="erf",
            numpy=_erf,
            torch="torch.erf({0})",
            triton="tl.erf({0})",
            llvm="erf(x)",
            flops=1,
            aten=("erf",),
            range=Interval(-1.0, 1.0),
            parity="odd",
            parity_argument="It is the integral of an even function from 0 on.",
            zero_at_zero=True,
            monotone="increasing",
            derivative="2 / sqrt(pi()) * exp(-x * x)",
        ),
        ElementwiseFunction(
            name="gelu",
            numpy=_gelu,
            torch="torch.nn.functional.gelu({0})",
            triton="0.5 * {0} * (1.0 + tl.erf({0} * 0.7071067811865476))",
            llvm="1/2 * x * (1 + erf(x * 0.7071067811865476))",
            flops=4,
            aten=("gelu",),
            mirage_name="gelu",
            exact="x * (1 + erf(x / sqrt(2))) / 2",
            definition="1/2 * (x * (1 + erf(x / sqrt(2))))",
            range=Interval(-0.17),
            zero_at_zero=True,
            derivative="(1 + erf(x / sqrt(2))) / 2 + x * exp(-x * x / 2) / sqrt(2 * pi())",
        ),
        ElementwiseFunction(
            # torch rounds sqrt(2 / pi) to this number.
            name="gelu_tanh",
            numpy=_gelu_tanh,
            torch='torch.nn.functional.gelu({0}, approximate="tanh")',
            triton="{0} * tl.sigmoid(1.5957691216057308 * ({0} + 0.044715 * {0} * {0} * {0}))",
            llvm="1/2 * x * (1 + tanh(0.7978845608028654 * fma(x * x * 0.044715, x, x)))",
            flops=8,
            definition="1/2 * (x * (1 + tanh(0.7978845608028654 * (x + 0.044715 * (x * x * x)))))",
            range=Interval(-0.17004),
            zero_at_zero=True,
        ),
        ElementwiseFunction(
            name="log",
            numpy=np.log,
            torch="torch.log({0})",
            triton="tl.log({0})",
            llvm="log(x)",
            flops=1,
            aten=("log",),
            domain=POSITIVE,
            monotone="increasing",
            derivative="1 / x",
        ),
        ElementwiseFunction(
            name="log1p",
            numpy=np.log1p,
            torch="torch.log1p({0})",
            triton=_LOG1P.format("{0}"),
            llvm="log1p(x)",
            flops=1,
            aten=("log1p",),
            exact="log1p(x)",
            definition="log(1 + x)",
            lowering="inline",
            domain=Interval(-1.0),
            zero_at_zero=True,
            monotone="increasing",
            derivative="1 / (1 + x)",
        ),
        ElementwiseFunction(
            name="expm1",
            numpy=np.expm1,
            torch="torch.expm1({0})",
            triton="tl.where(tl.abs({0}) < 0.5, 2.0 * tl.exp(0.5 * {0}) * "
            + _SINH.format("(0.5 * {0})")
            + ", tl.exp({0}) - 1.0)",
            llvm="expm1(x)",
            flops=1,
            aten=("expm1",),
            exact="expm1(x)",
            definition="exp(x) - 1",
            lowering="inline",
            range=Interval(-1.0),
            zero_at_zero=True,
            monotone="increasing",
            derivative="exp(x)",
        ),
        ElementwiseFunction(
            name="sin",
            numpy=np.sin,
            torch="torch.sin({0})",
            triton="tl.sin({0})",
            llvm="sin(x)",
            flops=1,
            aten=("sin",),
            range=Interval(-1.0, 1.0, True, True),
            parity="odd",
            parity_argument="Its series has odd powers only.",
            zero_at_zero=True,
            derivative="cos(x)",
        ),
        ElementwiseFunction(
            name="cos",
            numpy=np.cos,
            torch="torch.cos({0})",
            triton="tl.cos({0})",
            llvm="cos(x)",
            flops=1,
            aten=("cos",),
            range=Interval(-1.0, 1.0, True, True),
            parity="even",
            parity_argument="Its series has even powers only.",
            derivative="-sin(x)",
        ),
        ElementwiseFunction(
            name="atan",
            numpy=np.arctan,
            torch="torch.atan({0})",
            triton=_ATAN,
            llvm="atan(x)",
            flops=1,
            aten=("atan",),
            exact="atan(x)",
            range=Interval(-1.5707964, 1.5707964),
            parity="odd",
            parity_argument="It is the integral of an even function from 0 on.",
            zero_at_zero=True,
            monotone="increasing",
            derivative="1 / (1 + x * x)",
        ),
        ElementwiseFunction(
            name="floor",
            numpy=np.floor,
            torch="torch.floor({0})",
            triton="tl.floor({0})",
            llvm="floor(x)",
            flops=1,
            aten=("floor",),
            exact="floor(x)",
            zero_at_zero=True,
            monotone="increasing",
            is_step=True,
        ),
        ElementwiseFunction(
            name="ceil",
            numpy=np.ceil,
            torch="torch.ceil({0})",
            triton="tl.ceil({0})",
            llvm="-floor(-x)",
            flops=1,
            aten=("ceil",),
            exact="ceil(x)",
            definition="-floor(-x)",
            definition_is_a_theorem="The least integer above a is minus the greatest below −a.",
            zero_at_zero=True,
            monotone="increasing",
            is_step=True,
        ),
        ElementwiseFunction(
            name="trunc",
            numpy=np.trunc,
            torch="torch.trunc({0})",
            triton="tl.where({0} < 0.0, tl.ceil({0}), tl.floor({0}))",
            llvm="trunc(x)",
            flops=1,
            aten=("trunc", "fix"),
            definition="sign(x) * floor(abs(x))",
            parity="odd",
            zero_at_zero=True,
            monotone="increasing",
            is_step=True,
        ),
        ElementwiseFunction(
            name="round",
            numpy=np.round,
            torch="torch.round({0})",
            triton="tl.where(tl.abs({0}) < 4194304.0, ({0} + 12582912.0) - 12582912.0, {0})",
            llvm="round(x)",
            flops=1,
            exact="nint(x)",
            parity="odd",
            parity_argument="Halves are rounded to even numbers, on both sides of 0.",
            zero_at_zero=True,
            monotone="increasing",
            is_step=True,
        ),
        ElementwiseFunction(
            name="erfc",
            numpy=_erfc,
            torch="torch.erfc({0})",
            triton=_ERFC,
            llvm="erfc(x)",
            flops=1,
            aten=("erfc",),
            exact="erfc(x)",
            definition="1 - erf(x)",
            range=Interval(0.0, 2.0),
            monotone="decreasing",
            derivative="-2 / sqrt(pi()) * exp(-x * x)",
        ),
        ElementwiseFunction(
            name="erfinv",
            numpy=_erfinv,
            torch="torch.erfinv({0})",
            triton=_ERFINV,
            llvm="erfinv(x)",
            flops=1,
            aten=("erfinv",),
            exact="erfinv(x)",
            domain=Interval(-1.0, 1.0),
            zero_at_zero=True,
            monotone="increasing",
            derivative="sqrt(pi()) / 2 * exp(erfinv(x) ** 2)",
        ),
        ElementwiseFunction(
            name="is_nan",
            numpy=_bit(lambda x: x != x),
            torch="torch.isnan({0}).to({0}.dtype)",
            triton="tl.where({0} != {0}, 1.0, 0.0)",
            llvm="is_nan(x)",
            flops=1,
            exact="x - x",
            range=BIT,
            parity="even",
            parity_argument="No real number is a NaN.",
            zero_at_zero=True,
        ),
        ElementwiseFunction(
            name="sign",
            numpy=np.sign,
            torch="torch.sign({0})",
            triton="tl.where({0} > 0.0, 1.0, tl.where({0} < 0.0, -1.0, {0} * 0.0))",
            llvm="sign(x)",
            flops=1,
            aten=("sign",),
            exact="sign(x)",
            definition="x / abs(x)",
            definition_is_a_theorem="It is 1 above 0 and −1 below; at 0 it is 0 as x/0 = 0.",
            range=Interval(-1.0, 1.0, True, True),
            parity="odd",
            zero_at_zero=True,
            monotone="increasing",
        ),
        _nonzero("nonzero", torch="torch.ne({0}, 0).to({0}.dtype)"),
        ElementwiseFunction(
            name="is_zero",
            numpy=_bit(lambda x: x == 0),
            torch="torch.eq({0}, 0).to({0}.dtype)",
            triton="tl.where({0} == 0.0, 1.0, 0.0)",
            llvm="is_zero(x)",
            flops=1,
            exact="1 - abs(sign(x))",
            definition="1 - x / x",
            definition_is_a_theorem="x / x is 1 where x is not 0, and 0 / 0 is 0.",
            lowering="inline",
            range=BIT,
            parity="even",
        ),
        ElementwiseFunction(
            name="positive",
            numpy=_bit(lambda x: x > 0),
            torch="torch.gt({0}, 0).to({0}.dtype)",
            triton="tl.where({0} > 0.0, 1.0, 0.0)",
            llvm="positive(x)",
            flops=1,
            exact="max(sign(x), 0)",
            definition="relu(x) / relu(x)",
            definition_is_a_theorem="relu(x) is not 0 exactly where x > 0, and 0 / 0 is 0.",
            lowering="inline",
            range=BIT,
            zero_at_zero=True,
            monotone="increasing",
        ),
        ElementwiseFunction(
            name="nonnegative",
            numpy=_bit(lambda x: x >= 0),
            torch="torch.ge({0}, 0).to({0}.dtype)",
            triton="tl.where({0} >= 0.0, 1.0, 0.0)",
            llvm="nonnegative(x)",
            flops=1,
            exact="min(sign(x) + 1, 1)",
            definition="1 - relu(-x) / relu(-x)",
            definition_is_a_theorem="relu(−x) is not 0 exactly where x < 0, and 0 / 0 is 0.",
            lowering="inline",
            range=BIT,
            monotone="increasing",
        ),
        ElementwiseFunction(
            name="softplus",
            numpy=_softplus,
            torch="torch.nn.functional.softplus({0})",
            triton=_SOFTPLUS,
            llvm="positive_part(x) + log1p(exp(-abs(x)))",
            flops=5,
            exact="log1p(exp(x))",
            definition="log(1 + exp(x))",
            range=POSITIVE,
            monotone="increasing",
            derivative="1 / (1 + exp(-x))",
        ),
        ElementwiseFunction(
            name="mish",
            numpy=_mish,
            torch="torch.nn.functional.mish({0})",
            triton="{0} * (2.0 * tl.sigmoid(2.0 * (" + _SOFTPLUS + ")) - 1.0)",
            llvm="x * tanh(softplus(x))",
            flops=7,
            aten=("mish",),
            exact="x * tanh(log1p(exp(x)))",
            definition="x * tanh(softplus(x))",
            range=Interval(-0.3089),
            zero_at_zero=True,
        ),
        _cast("to_f32", "float32"),
        _cast("to_bf16", "bfloat16"),
        _cast("to_f16", "float16"),
        _nonzero("to_bool", torch="{0}.to(torch.bool)"),
        _cast("to_i8", "int8"),
        _cast("to_u8", "uint8"),
    )
)
"""Every elementwise function of one number, by name, in the order in which stages list them; also by the names of
tabulated functions, which are not listed."""

BITS = frozenset(row.name for row in UNARY.values() if row.range == BIT)
"""Functions whose values are 0 and 1: what a comparison with 0 says."""

COMPOSITE: dict[str, CompositeFunction] = {
    row.name: row
    for row in (
        CompositeFunction("leaky_relu", "max(x, 0) + negative_slope * min(x, 0)", {"negative_slope": Fraction(1, 100)}),
        CompositeFunction(
            "elu",
            "scale * (max(x, 0) + alpha * expm1(input_scale * min(x, 0)))",
            {"alpha": Fraction(1), "scale": Fraction(1), "input_scale": Fraction(1)},
        ),
        CompositeFunction("celu", "max(x, 0) + alpha * expm1(min(x, 0) / alpha)", {"alpha": Fraction(1)}),
        CompositeFunction(
            "selu",
            "1.0507009873554804934193349852946 * (max(x, 0) + 1.6732632423543772848170429916717 * expm1(min(x, 0)))",
        ),
        CompositeFunction(
            "hardtanh", "min(max(x, min_val), max_val)", {"min_val": Fraction(-1), "max_val": Fraction(1)}
        ),
        CompositeFunction("relu6", "min(max(x, 0), 6)"),
        CompositeFunction("hardsigmoid", "min(max(x + 3, 0), 6) / 6"),
        CompositeFunction("hardswish", "x * (min(max(x + 3, 0), 6) / 6)"),
        CompositeFunction("log_sigmoid", "-softplus(-x)", torch="nn.functional.logsigmoid"),
        CompositeFunction(
            "softplus",
            "softplus(x * beta) / beta",
            {"beta": Fraction(1), "threshold": Fraction(20)},
        ),
    )
}
"""ATen's functions of one tensor and numbers, by ATen's name.

torch computes softplus(x) as x beyond its threshold, which differs by less than 3e-9 there.
"""

BINARY: dict[str, BinaryFunction] = {
    row.name: row
    for row in (
        BinaryFunction(name="add", numpy=np.add, torch="torch.add({0}, {1})", triton="{0} + {1}", is_commutative=True),
        BinaryFunction(name="sub", numpy=np.subtract, torch="torch.sub({0}, {1})", triton="{0} - {1}"),
        BinaryFunction(
            name="mul", numpy=np.multiply, torch="torch.mul({0}, {1})", triton="{0} * {1}", is_commutative=True
        ),
        BinaryFunction(name="div", numpy=np.divide, torch="torch.div({0}, {1})", triton="{0} / {1}"),
        BinaryFunction(
            name="max",
            numpy=np.maximum,
            torch="torch.maximum({0}, {1})",
            triton="tl.maximum({0}, {1})",
            is_commutative=True,
        ),
        BinaryFunction(
            name="min",
            numpy=np.minimum,
            torch="torch.minimum({0}, {1})",
            triton="tl.minimum({0}, {1})",
            is_commutative=True,
        ),
        BinaryFunction(
            name="mask",
            numpy=_mask,
            torch="torch.where({1} != 0, {0}, torch.finfo({0}.dtype).min / 4)",
            triton="tl.where({1}, {0}, {2})",
        ),
        BinaryFunction(
            name="keep",
            numpy=_keep,
            torch="torch.where({1} != 0, {0}, 0)",
            triton="tl.where({1}, {0}, 0.0)",
        ),
        BinaryFunction(
            name="drop",
            numpy=_drop,
            torch="torch.where({1} != 0, 0, {0})",
            triton="tl.where({1}, 0.0, {0})",
        ),
    )
}
"""`mask(x, keep)` is x where keep is not 0, else `masked_value`, in place of minus infinity.

`keep(x, c)` is x where c is not 0, else 0, and `drop(x, c)` is the opposite. `where(c, x, y)` is
`keep(x, c) + drop(y, c)`, in which an infinity or NaN that is not selected has no effect.
"""

COMMUTATIVE = frozenset(row.name for row in BINARY.values() if row.is_commutative)
