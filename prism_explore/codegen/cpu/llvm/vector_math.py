# pyright: basic
# It writes llvmlite values, which have no types.
"""Elementwise operators on float32 vectors: exp, log, erf, tanh, powers and what is made of them.

Input: a `FunctionBuilder` and values of one type. Output: the value of the operator, with no branches and no calls.
Accuracy: a few units in the last place of float32. NaN stays NaN; a result overflows to infinity where the exact
result is too large.

Method: argument reduction and a polynomial. Source of the coefficients: Moshier, Cephes Mathematical Library, expf.c,
tanhf.c, logf.c and ndtrf.c.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import factorial, floor, pi
from typing import Any

import numpy as np
from llvmlite import ir

from prism_explore.codegen.cpu.llvm.builder import I32, NO_SIGNED_ZEROS, FunctionBuilder, constant_of, lane_count
from prism_explore.ir.elementwise import (
    ATAN,
    ERFC_MIDDLE,
    ERFC_TAIL,
    ERFINV_NEAR,
    ERFINV_TAIL,
    UNARY,
    masked_value,
)
from prism_explore.ir.formulas import evaluate, formula

F64 = ir.DoubleType()
_TWO_OVER_PI = tuple(
    float(Fraction(int(digits, 16), 1 << 28 * (n + 1)))
    for n, digits in enumerate(("a2f9836", "e4e4415", "29fc275", "7d1f534", "ddc0db6", "295993c", "439041f"))
)
"""2/pi in parts of 28 bits."""

LARGEST_POWER = 64
"""Larger exponents are computed by exp and log instead of repeated multiplication."""

_LOG = (
    7.0376836292e-2, -1.1514610310e-1, 1.1676998740e-1, -1.2420140846e-1, 1.4249322787e-1,
    -1.6668057665e-1, 2.0000714765e-1, -2.4999993993e-1, 3.3333331174e-1,
)  # fmt: skip
_ERF_NEAR = (
    7.853861353153693e-5, -8.010193625184903e-4, 5.188327685732524e-3, -2.685381193529856e-2,
    1.128358514861418e-1, -3.761262582423300e-1, 1.128379165726710e0,
)  # fmt: skip


def apply(builder: FunctionBuilder, fn: str, args: list):
    """A row of `ir.elementwise.UNARY` or `BINARY` applied to values."""
    if fn not in UNARY:
        return OPERATIONS[fn](builder, *args)
    row = UNARY[fn]
    (x,) = args
    if row.entries:
        return builder.entry_nearest(row.entries, x)
    constants = _constants(builder, x)

    def operation(name: str, operands: tuple):
        return OPERATIONS[name](builder, *operands) if name in OPERATIONS else apply(builder, name, list(operands))

    return evaluate(formula(row.llvm), {"x": x}, lambda value: constants(float(value)), operation)


def power(builder: FunctionBuilder, x, exponent: Fraction):
    """x to an exact power: products and square roots where the exponent is a multiple of 1/4, else exp(c log x).

    The relative error of exp(c log x) grows with |c log x|, as float32 has it.
    """
    if exponent < 0:
        return _recip(builder, power(builder, x, -exponent))
    if exponent.denominator in (2, 4) and exponent <= LARGEST_POWER:
        integer, fraction = Fraction(floor(exponent)), exponent - floor(exponent)
        half = builder.sqrt(x)
        quarter = builder.sqrt(half)
        root = {1: quarter, 2: half, 3: builder.mul(half, quarter)}[int(fraction * 4)]
        return builder.mul(root, power(builder, x, integer)) if integer else root
    if exponent.denominator == 1 and exponent <= LARGEST_POWER:
        result, square, n = None, x, int(exponent)
        while n:
            if n % 2:
                result = square if result is None else builder.mul(result, square)
            square, n = builder.mul(square, square), n // 2
        return builder.constant(1.0, lane_count(x)) if result is None else result
    return _exp(builder, builder.mul(_log(builder, x), _constants(builder, x)(float(exponent))))


def _constants(builder: FunctionBuilder, x) -> Callable[[float], ir.Constant]:
    """Makes constants of the type of x."""
    lanes = lane_count(x)
    return lambda value: builder.constant(value, lanes)


def _polynomial(builder: FunctionBuilder, x, coefficients: tuple[float, ...]):
    """A polynomial by Horner's rule, the highest coefficient first."""
    c = _constants(builder, x)
    p = c(coefficients[0])
    for a in coefficients[1:]:
        p = builder.fma(p, x, c(a))
    return p


def _exp(builder: FunctionBuilder, x):
    """2^n * p(r) with n = round(x / ln 2), |r| <= ln 2 / 2; scaling in two steps reaches 0 and infinity."""
    llvm, c, lanes = builder.llvm, _constants(builder, x), lane_count(x)
    x = llvm.select(llvm.fcmp_ordered("<", x, c(-104.0)), c(-104.0), x)
    x = llvm.select(llvm.fcmp_ordered(">", x, c(89.0)), c(89.0), x)
    magic = c(12582912.0)  # 1.5 * 2^23: adding it leaves the rounded integer in the low bits
    shifted = builder.fma(x, c(1.44269504088896341), magic)
    n = llvm.fsub(shifted, magic)
    r = builder.fma(n, c(-0.693359375), x)
    r = builder.fma(n, c(2.12194440e-4), r)
    p = c(1.9875691500e-4)
    for a in (1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1, 5.0000001201e-1):
        p = builder.fma(p, r, c(a))
    p = builder.fma(p, builder.mul(r, r), builder.add(r, c(1.0)))
    bits = ir.VectorType(I32, lanes) if lanes else I32
    exponent = llvm.sub(llvm.bitcast(shifted, bits), llvm.bitcast(magic, bits))
    half = llvm.ashr(exponent, constant_of(I32, 1, lanes))
    for step in (half, llvm.sub(exponent, half)):
        biased = llvm.shl(llvm.add(step, constant_of(I32, 127, lanes)), constant_of(I32, 23, lanes))
        p = builder.mul(p, llvm.bitcast(biased, x.type))
    return p


def _log(builder: FunctionBuilder, x):
    """e * ln 2 + p(m - 1) with x = m * 2^e and m between the roots of 1/2 and 2; NaN below 0."""
    llvm, c, lanes = builder.llvm, _constants(builder, x), lane_count(x)
    subnormal = llvm.fcmp_ordered("<", x, c(2.0**-126))
    scaled = llvm.select(subnormal, builder.mul(x, c(2.0**24)), x)
    bits = llvm.bitcast(scaled, ir.VectorType(I32, lanes) if lanes else I32)
    shifted = llvm.sub(bits, constant_of(I32, 0x3F3504F3, lanes))
    exponent = llvm.ashr(shifted, constant_of(I32, 23, lanes))
    m = llvm.bitcast(llvm.sub(bits, llvm.shl(exponent, constant_of(I32, 23, lanes))), x.type)
    e = llvm.fsub(llvm.sitofp(exponent, x.type), llvm.select(subnormal, c(24.0), c(0.0)))
    r = llvm.fsub(m, c(1.0))
    square = builder.mul(r, r)
    p = builder.mul(_polynomial(builder, r, _LOG), builder.mul(r, square))
    p = builder.fma(e, c(-2.12194440e-4), p)
    p = builder.fma(square, c(-0.5), p)
    result = builder.fma(e, c(0.693359375), builder.add(r, p))
    result = llvm.select(llvm.fcmp_ordered("==", x, c(float("inf"))), x, result)
    result = llvm.select(llvm.fcmp_ordered("==", x, c(0.0)), c(float("-inf")), result)
    return llvm.select(llvm.fcmp_unordered("<", x, c(0.0)), c(float("nan")), result)


def _tanh(builder: FunctionBuilder, x):
    """An odd polynomial below 0.625, 1 - 2 / (exp(2|x|) + 1) above."""
    llvm, c = builder.llvm, _constants(builder, x)
    size = builder.intrinsic("llvm.fabs", x)
    far = llvm.fsub(c(1.0), llvm.fdiv(c(2.0), builder.add(_exp(builder, builder.add(size, size)), c(1.0))))
    far = builder.intrinsic("llvm.copysign", far, x)
    square = builder.mul(x, x)
    p = c(-5.70498872745e-3)
    for a in (2.06390887954e-2, -5.37397155531e-2, 1.33314422036e-1, -3.33332819422e-1):
        p = builder.fma(p, square, c(a))
    near = builder.fma(builder.mul(p, square), x, x)
    return llvm.select(llvm.fcmp_ordered("<", size, c(0.625)), near, far)


def _erf(builder: FunctionBuilder, x):
    """An odd polynomial up to 1, 1 - erfc beyond."""
    llvm, c = builder.llvm, _constants(builder, x)
    near, size = _erf_near(builder, x), builder.intrinsic("llvm.fabs", x)
    rest = builder.mul(_exp(builder, llvm.fneg(builder.mul(size, size))), _scaled_erfc(builder, size))
    far = builder.intrinsic("llvm.copysign", llvm.fsub(c(1.0), rest), x)
    return llvm.select(llvm.fcmp_ordered(">", size, c(1.0)), far, near)


def _erf_near(builder: FunctionBuilder, x):
    return builder.mul(x, _polynomial(builder, builder.mul(x, x), _ERF_NEAR))


def _scaled_erfc(builder: FunctionBuilder, x):
    """exp(x^2) erfc(x) for x from 1 on: p(1/x^2) / x."""
    inverse = _recip(builder, x)
    square = builder.mul(inverse, inverse)
    middle, tail = (_polynomial(builder, square, p) for p in (ERFC_MIDDLE, ERFC_TAIL))
    is_middle = builder.llvm.fcmp_ordered("<", x, _constants(builder, x)(2.0))
    return builder.mul(inverse, builder.llvm.select(is_middle, middle, tail))


def _erfc(builder: FunctionBuilder, x):
    """1 - erf up to 1; beyond, x^2 is h^2 + (x - h)(x + h) with 12 bits in h, so that no digit of it is lost."""
    llvm, c, lanes = builder.llvm, _constants(builder, x), lane_count(x)
    bits = ir.VectorType(I32, lanes) if lanes else I32
    size = builder.intrinsic("llvm.fabs", x)
    h = llvm.bitcast(llvm.and_(llvm.bitcast(size, bits), constant_of(I32, 0xFFFFF000, lanes)), x.type)
    rest = builder.mul(llvm.fsub(size, h), builder.add(size, h))
    power = builder.mul(_exp(builder, llvm.fneg(builder.mul(h, h))), _exp(builder, llvm.fneg(rest)))
    far = builder.mul(power, _scaled_erfc(builder, size))
    far = llvm.select(llvm.fcmp_ordered("==", size, c(float("inf"))), c(0.0), far)
    far = llvm.select(llvm.fcmp_ordered("<", x, c(0.0)), llvm.fsub(c(2.0), far), far)
    return llvm.select(llvm.fcmp_ordered(">", size, c(1.0)), far, llvm.fsub(c(1.0), _erf_near(builder, x)))


def _erfinv(builder: FunctionBuilder, x):
    """x times a polynomial in w = -log(1 - x^2), or in its root in the tails."""
    llvm, c = builder.llvm, _constants(builder, x)
    one = c(1.0)
    w = llvm.fneg(_log(builder, builder.mul(llvm.fsub(one, x), builder.add(one, x))))
    near = _polynomial(builder, llvm.fsub(w, c(2.5)), ERFINV_NEAR)
    tail = _polynomial(builder, llvm.fsub(builder.sqrt(w), c(3.0)), ERFINV_TAIL)
    tail = llvm.select(llvm.fcmp_ordered("==", w, c(float("inf"))), w, tail)
    return builder.mul(x, llvm.select(llvm.fcmp_ordered("<", w, c(5.0)), near, tail))


def _atan(builder: FunctionBuilder, x):
    """An odd polynomial of the smaller one of |x| and 1 / |x|, and a quarter turn minus it where |x| is larger."""
    llvm, c = builder.llvm, _constants(builder, x)
    size = builder.intrinsic("llvm.fabs", x)
    is_steep = llvm.fcmp_ordered(">", size, c(1.0))
    t = llvm.select(is_steep, _recip(builder, size), size)
    square = builder.mul(t, t)
    angle = builder.fma(builder.mul(t, square), _polynomial(builder, square, ATAN), t)
    angle = llvm.select(is_steep, llvm.fsub(c(pi / 2), angle), angle)
    return builder.intrinsic("llvm.copysign", angle, x)


def _log1p(builder: FunctionBuilder, x):
    """log(u) x / (u - 1) with u = 1 + x rounded; the quotient makes up for the rounding.

    Source: Goldberg, What Every Computer Scientist Should Know About Floating-Point Arithmetic, 1991, theorem 4.
    """
    llvm, c = builder.llvm, _constants(builder, x)
    u = builder.add(x, c(1.0))
    found = builder.mul(_log(builder, u), llvm.fdiv(x, llvm.fsub(u, c(1.0))))
    found = llvm.select(llvm.fcmp_ordered("==", u, c(1.0)), x, found)
    return llvm.select(llvm.fcmp_ordered("==", x, c(float("inf"))), x, found)


def _expm1(builder: FunctionBuilder, x):
    """The series up to 1, exp(x) - 1 beyond."""
    llvm, c = builder.llvm, _constants(builder, x)
    p = builder.mul(x, x)
    near = builder.fma(p, _polynomial(builder, x, tuple(1 / factorial(n) for n in range(12, 1, -1))), x)
    far = llvm.fsub(_exp(builder, x), c(1.0))
    return llvm.select(llvm.fcmp_ordered("<", builder.intrinsic("llvm.fabs", x), c(1.0)), near, far)


def _quarter_turns(builder: FunctionBuilder, x):
    """x as n quarter turns and a rest of at most half a quarter: n as float64, the rest in radians as float64.

    x times 2/pi is summed over parts of 28 bits of 2/pi, from the largest product on. Each product is exact in
    float64, and full turns are subtracted from each partial sum, so no digit is lost for any float32.

    Source: Payne and Hanek, Radian Reduction for Trigonometric Functions, 1983.
    """
    llvm, lanes = builder.llvm, lane_count(x)
    kind = ir.VectorType(F64, lanes) if lanes else F64
    wide = llvm.fpext(x, kind)
    turns = rest = constant_of(F64, 0.0, lanes)
    for part in _TWO_OVER_PI:
        product = llvm.fmul(wide, constant_of(F64, part, lanes))
        full_turns = builder.intrinsic("llvm.rint", llvm.fmul(product, constant_of(F64, 0.25, lanes)))
        product = builder.intrinsic("llvm.fma", full_turns, constant_of(F64, -4.0, lanes), product)
        rest = llvm.fadd(rest, product)
        quarter = builder.intrinsic("llvm.rint", rest)
        rest, turns = llvm.fsub(rest, quarter), llvm.fadd(turns, quarter)
    return turns, llvm.fmul(rest, constant_of(F64, pi / 2, lanes))


def _sine(builder: FunctionBuilder, x, shift: float):
    """sin(x + shift quarter turns); within 0.51 units in the last place of float32, for every argument."""
    llvm, lanes = builder.llvm, lane_count(x)

    def c(value: float):
        return constant_of(F64, value, lanes)

    def series(start: int):
        p = c(0.0)
        for n in range(start + 12, start - 1, -2):
            p = builder.intrinsic("llvm.fma", p, square, c((-1) ** (n // 2) / factorial(n)))
        return p

    turns, r = _quarter_turns(builder, x)
    square = llvm.fmul(r, r)
    n = llvm.fadd(turns, c(shift))
    n = builder.intrinsic("llvm.fma", builder.intrinsic("llvm.floor", llvm.fmul(n, c(0.25))), c(-4.0), n)
    odd = llvm.or_(llvm.fcmp_ordered("==", n, c(1.0)), llvm.fcmp_ordered("==", n, c(3.0)))
    value = llvm.select(odd, series(0), llvm.fmul(r, series(1)))
    value = llvm.select(llvm.fcmp_ordered(">=", n, c(2.0)), llvm.fneg(value), value)
    return llvm.fptrunc(value, x.type)


def _sin(builder: FunctionBuilder, x):
    return _sine(builder, x, 0.0)


def _cos(builder: FunctionBuilder, x):
    return _sine(builder, x, 1.0)


def _sign(builder: FunctionBuilder, x):
    llvm, c = builder.llvm, _constants(builder, x)
    one = builder.intrinsic("llvm.copysign", c(1.0), x)
    return llvm.select(llvm.fcmp_unordered("!=", x, c(0.0)), llvm.select(llvm.fcmp_unordered("uno", x, x), x, one), x)


def _recip(builder: FunctionBuilder, x):
    return builder.llvm.fdiv(_constants(builder, x)(1.0), x)


def _positive_part(builder: FunctionBuilder, x):
    zero = _constants(builder, x)(0.0)
    return builder.llvm.select(builder.llvm.fcmp_ordered("<", x, zero), zero, x)  # NaN stays NaN


def _mask(builder: FunctionBuilder, x, keep):
    llvm, c = builder.llvm, _constants(builder, x)
    return llvm.select(llvm.fcmp_unordered("!=", keep, c(0.0)), x, c(masked_value(np.dtype(np.float32))))


def _keep(builder: FunctionBuilder, x, where):
    llvm, c = builder.llvm, _constants(builder, x)
    return llvm.select(llvm.fcmp_unordered("!=", where, c(0.0)), x, c(0.0))


def _drop(builder: FunctionBuilder, x, where):
    llvm, c = builder.llvm, _constants(builder, x)
    return llvm.select(llvm.fcmp_unordered("!=", where, c(0.0)), c(0.0), x)


def _bit(test: str, ordered: bool = True):
    """1 where a comparison with 0 holds, else 0; of NaN only `!=` holds."""

    def bit(builder: FunctionBuilder, x):
        llvm, c = builder.llvm, _constants(builder, x)
        compare = llvm.fcmp_ordered if ordered else llvm.fcmp_unordered
        return llvm.select(compare(test, x, c(0.0)), c(1.0), c(0.0))

    return bit


def _is_nan(builder: FunctionBuilder, x):
    c = _constants(builder, x)
    return builder.llvm.select(builder.llvm.fcmp_unordered("uno", x, x), c(1.0), c(0.0))


OPERATIONS: dict[str, Callable[..., Any]] = {
    "add": lambda builder, x, y: builder.llvm.fadd(x, y),
    "sub": lambda builder, x, y: builder.llvm.fsub(x, y),
    "mul": lambda builder, x, y: builder.llvm.fmul(x, y),
    "div": lambda builder, x, y: builder.llvm.fdiv(x, y),
    "neg": lambda builder, x: builder.llvm.fneg(x),
    "fma": lambda builder, x, y, z: builder.fma(x, y, z),
    "max": lambda builder, x, y: builder.maximum(x, y),
    "min": lambda builder, x, y: builder.intrinsic("llvm.minimum", x, y, fastmath=NO_SIGNED_ZEROS),
    "mask": _mask,
    "keep": _keep,
    "drop": _drop,
    "nonzero": _bit("!=", ordered=False),
    "is_zero": _bit("=="),
    "positive": _bit(">"),
    "nonnegative": _bit(">="),
    "abs": lambda builder, x: builder.intrinsic("llvm.fabs", x),
    "positive_part": _positive_part,
    "sqrt": lambda builder, x: builder.sqrt(x),
    "exp": _exp,
    "log": _log,
    "log1p": _log1p,
    "expm1": _expm1,
    "floor": lambda builder, x: builder.intrinsic("llvm.floor", x),
    "trunc": lambda builder, x: builder.intrinsic("llvm.trunc", x),
    "round": lambda builder, x: builder.intrinsic("llvm.rint", x),
    "is_nan": _is_nan,
    "sin": _sin,
    "cos": _cos,
    "sign": _sign,
    "tanh": _tanh,
    "erf": _erf,
    "erfc": _erfc,
    "erfinv": _erfinv,
    "atan": _atan,
}
"""What the LLVM formulas of `ir.elementwise.UNARY` are made of, and the code of every row of `BINARY`."""
