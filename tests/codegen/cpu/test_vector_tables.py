"""Tables in vector registers: which expressions have one, and results with and without it, bit for bit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from math import floor
from operator import add, mul, sub

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prism_explore.codegen.cpu.compile import llvm_text
from prism_explore.codegen.cpu.load import load_plan
from prism_explore.codegen.cpu.loop_ir import Apply, Buffer, Constant, Expression, Place, Read
from prism_explore.codegen.cpu.plan import plan
from prism_explore.codegen.cpu.vector_tables import bit_field, tabulated
from prism_explore.ir.text import parse
from prism_explore.pipeline.stages import Parameters
from prism_explore.targets.cpus import host_cpu


def read(dtype: str = "u8", along: str = "k", stride: int = 1) -> Read:
    buffer = Buffer("w", (64, 4), (stride, 1), "input", dtype=dtype)  # pyright: ignore[reportArgumentType]
    return Read(Place(buffer, (((along, 1),), ())))


def number(x: float) -> Constant:
    return Constant(Fraction(x))


def floor_div(e: Expression, by: int) -> Expression:
    return Apply("floor", (Apply("mul", (e, Constant(Fraction(1, by)))),))


def remainder(e: Expression, by: int) -> Expression:
    return Apply("sub", (e, Apply("mul", (floor_div(e, by), number(by)))))


W, SIGNED = read(), read("i8")


@pytest.mark.parametrize(
    ("expression", "shift", "values"),
    [
        (floor_div(W, 16), 4, range(16)),
        (remainder(W, 16), 0, range(16)),
        (Apply("sub", (remainder(W, 16), number(8))), 0, range(-8, 8)),
        (floor_div(SIGNED, 16), 4, (*range(8), *range(-8, 0))),
        (remainder(floor_div(W, 4), 4), 0, (0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3)),
        (Apply("max", (remainder(W, 8), number(3))), 0, (3, 3, 3, 3, 4, 5, 6, 7) * 2),
    ],
    ids=["high", "low", "low less 8", "signed high", "two bits in the middle", "clamped"],
)
def test_what_depends_on_four_bits_is_a_function_of_them(
    expression: Expression, shift: int, values: Sequence[int]
) -> None:
    field = bit_field(expression, 16)

    assert field is not None
    assert (shift, tuple(values)) == (field.shift, field.values)


@pytest.mark.parametrize(
    "expression",
    [
        W,
        floor_div(W, 8),
        remainder(W, 32),
        Apply("add", (floor_div(W, 16), remainder(W, 16))),
        Apply("mul", (remainder(W, 16), Constant(Fraction(1, 3)))),  # float32 rounds it
        Apply("exp", (remainder(W, 16),)),
        floor_div(read("f32"), 16),
    ],
    ids=["8 bits", "high 5", "low 5", "both halves", "rounded", "exp", "float32"],
)
def test_what_needs_more_bits_or_is_rounded_is_no_field(expression: Expression) -> None:
    assert bit_field(expression, 16) is None


@st.composite
def expressions(draw: st.DrawFn, depth: int = 4) -> Expression:
    if depth == 0 or draw(st.integers(0, 3)) == 0:
        return draw(st.sampled_from([W, number(16), number(2), Constant(Fraction(1, 4)), number(-3)]))
    fn = draw(st.sampled_from(["add", "sub", "mul", "max", "min", "floor"]))
    parts = expressions(depth=depth - 1)  # pyright: ignore[reportCallIssue]
    return Apply(fn, tuple(draw(parts) for _ in range(1 if fn == "floor" else 2)))


def value(e: Expression, byte: int) -> Fraction:
    """An expression's exact value."""
    match e:
        case Read():
            return Fraction(byte)
        case Constant(x):
            return x
        case Apply("floor", (a,)):
            return Fraction(floor(value(a, byte)))
        case Apply(fn, (a, b)):
            operations = {"add": add, "max": max, "min": min, "mul": mul, "sub": sub}
            return operations[fn](value(a, byte), value(b, byte))
        case _:
            raise AssertionError(e)


@settings(max_examples=200, deadline=None)
@given(e=st.one_of(expressions(), expressions().map(lambda e: remainder(e, 4))))  # pyright: ignore[reportCallIssue]
def test_a_field_gives_the_exact_value_for_each_byte(e: Expression) -> None:
    field = bit_field(e, 16)

    if field is not None:
        assert [value(e, b) for b in range(256)] == [field.values[b >> field.shift & 15] for b in range(256)]


def test_a_table_holds_what_varies_by_one_field_only() -> None:
    scale, zero, x = (Read(Place(Buffer(n, (4,), (1,), "input"), ((("g", 1),),))) for n in "szx")
    varying = Read(Place(Buffer("x", (64,), (1,), "input"), ((("k", 1),),)))
    weight = Apply("mul", (scale, Apply("sub", (remainder(W, 16), zero))))

    (table,) = tabulated(Apply("mul", (varying, weight)), "k", 16)
    assert (weight, 0) == (table.expression, table.shift)
    assert [remainder(W, 16)] == [part for part, _ in table.fields]
    two = Apply("add", (weight, Apply("mul", (x, floor_div(W, 16)))))
    assert [(0, weight), (4, two.args[1])] == [(t.shift, t.expression) for t in tabulated(two, "k", 16)]
    assert not [*tabulated(weight, "g", 16)], "the integers do not vary over the groups"
    assert not [*tabulated(remainder(read(stride=8), 16), "k", 16)], "they are not adjacent in memory"
    assert [*tabulated(remainder(read(stride=4), 16), "k", 16)], "they are bytes of adjacent words"


def quantized(rows: int, bits: int, shift: int) -> str:
    """A linear layer whose weight is some bits of each byte, with a scale and a zero point for each 48 of a row."""
    products = ["mul(%0, %13)", "sum(%14, dim=1)", "permute(%15, order=[1, 0])"]
    if rows > 1:
        products = ["permute(%13, order=[1, 0])", "matmul(%0, %14)"]
    lines = [
        "load(0, imap=[-])",
        "load(1, imap=[0])",
        "load(2, imap=[0])",
        "load(3, imap=[0])",
        f"mul_scalar(%1, {Fraction(1, 1 << shift)})",
        "floor(%4)",
        f"mul_scalar(%1, {Fraction(1, 1 << shift + bits)})",
        "floor(%6)",
        f"mul_scalar(%7, {1 << bits})",
        "sub(%5, %8)",
        "reshape(%9, dims=[8/gx, 2, 48])",
        "sub(%10, %3)",
        "mul(%2, %11)",
        "reshape(%12, dims=[8/gx, 96])",
        *products,
    ]
    lines.append(f"store(%{len(lines) - 1}, omap=[1])")
    body = "\n".join(f"    %{n} = {line}" for n, line in enumerate(lines))
    return f"""sgraph
  x = input f32[{rows}, 96]
  w = input u8[8, 96]
  s = input f32[8, 2, 1]
  z = input u8[8, 2, 1]
  %4 = custom(x, w, s, z) grid[x=gx]
{body}
  return %4
"""


@pytest.mark.parametrize("rows", [1, 3])
@pytest.mark.parametrize(("lanes", "bits", "shift"), [(16, 4, 0), (16, 4, 4), (16, 2, 4), (8, 2, 2), (8, 3, 5)])
def test_a_kernel_with_tables_gives_the_same_bits_as_one_without(lanes: int, bits: int, shift: int, rows: int) -> None:
    if lanes not in dict(host_cpu().table_lookups):
        pytest.skip(f"this CPU has no tables of {lanes} entries")
    made = plan(parse(quantized(rows, bits, shift)), Parameters((("gx", 2),)), {}, lanes)
    assert not isinstance(made, str)
    plain = replace(made, host=replace(made.host, table_lookups=()))
    names = dict(host_cpu().table_lookups)
    assert names[lanes] in llvm_text(made.loops, made.schedule, made.host)[0]
    assert names[lanes] not in llvm_text(plain.loops, plain.schedule, plain.host)[0]

    rng = np.random.default_rng(0)
    x, s = (rng.normal(size=shape).astype(np.float32) for shape in ((rows, 96), (8, 2, 1)))
    w, z = (rng.integers(0, 256, shape).astype(np.uint8) for shape in ((8, 96), (8, 2, 1)))
    found = load_plan(made)(x, w, s, z)
    np.testing.assert_array_equal(load_plan(plain)(x, w, s, z), found)
    numbers = (w >> shift & (1 << bits) - 1).reshape(8, 2, 48) - z.astype(np.float64)
    np.testing.assert_allclose(x @ (numbers * s).reshape(8, 96).T, found, rtol=1e-4, atol=1e-3)


def test_a_table_may_be_of_the_bits_alone() -> None:
    scale = Read(Place(Buffer("s", (64,), (1,), "input"), ((("k", 1),),)))
    weight = Apply("mul", (scale, Apply("sub", (remainder(W, 16), number(8)))))

    (table,) = tabulated(weight, "k", 16, alone=True)

    assert weight.args[1] == table.expression
    by_group = Read(Place(Buffer("z", (4,), (1,), "input"), ((("g", 1),),)))
    (table,) = tabulated(Apply("sub", (remainder(W, 16), by_group)), "k", 16, alone=True)
    assert remainder(W, 16) == table.expression
