"""Padding: a program at a larger size of a symbol, on extended inputs, has the results of a smaller one."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prism_explore.ir.analysis.padding import MASKED as SMALL
from prism_explore.ir.analysis.padding import padding_of
from prism_explore.ir.interpreter.reference import evaluate
from prism_explore.ir.text import parse_program

MLP = """program mlp
  x = input f32[n, 6]
  g = input f32[6]
  w = input f32[6, 4]
  %3 = square(x)
  %4 = mean(%3, dim=1)
  %5 = add_scalar(%4, 1/1000)
  %6 = rsqrt(%5)
  %7 = mul(x, %6)
  %8 = mul(g, %7)
  %9 = matmul(%8, w)
  return %9"""

HEADS = """program heads
  x = input f32[2, n, 6]
  %1 = reshape(x, dims=[2, n, 2, 3])
  %2 = permute(%1, order=[0, 2, 1, 3])
  %3 = slice(%2, dim=3, start=0, stop=1)
  %4 = slice(%2, dim=3, start=1, stop=3)
  %5 = neg(%4)
  %6 = concat(%5, %3, dim=3)
  return %6"""

ROWS_OF_A_TABLE = """program rows_of_a_table
  i = input i64[2, n]
  t = input f32[5, 3]
  %2 = lookup(t, i, dim=0)
  return %2"""

RUNNING_SUM = """program running_sum
  x = input f32[3, n]
  %1 = cumsum(x, dim=1)
  return %1"""

ATTENTION = """program attention
  q = input f32[2, n, 3]
  k = input f32[2, n, 3]
  v = input f32[2, n, 4]
  m = input bool[1, n, n]
  %4 = permute(k, order=[0, 2, 1])
  %5 = matmul(q, %4)
  %6 = mul_scalar(%5, 1/2)
  {masked}
  %8 = max(%7, dim=2)
  %9 = sub(%7, %8)
  %10 = exp(%9)
  %11 = sum(%10, dim=2)
  %12 = div(%10, %11)
  %13 = matmul(%12, v)
  return %13"""
MASKED = ATTENTION.format(masked="%7 = mask(%6, m)")
BIASED = ATTENTION.replace("bool[1, n, n]", "f32[1, n, n]").format(masked="%7 = add(%6, m)")
CAUSAL = """program causal
  q = input f32[2, n, 3]
  k = input f32[2, n, 3]
  v = input f32[2, n, 4]
  %3 = permute(k, order=[0, 2, 1])
  %4 = matmul(q, %3)
  %5 = band(rows=n, columns=n, high=0, dtype=f32)
  %6 = mask(%4, %5)
  %7 = max(%6, dim=2)
  %8 = sub(%6, %7)
  %9 = exp(%8)
  %10 = sum(%9, dim=2)
  %11 = div(%10, %10)
  %12 = div(%9, %10)
  %13 = matmul(%12, v)
  %14 = mul(%13, %11)
  return %14"""
CAN = (MLP, HEADS, ROWS_OF_A_TABLE, RUNNING_SUM, MASKED, BIASED, CAUSAL)


def drawn(program, n, seed):
    """Inputs at a size, where a mask keeps an element of every row."""
    rng = np.random.default_rng(seed)
    found = {}
    for i in program.inputs:
        shape = tuple(d.value({"n": n}) for d in i.type.dims)
        if i.type.dtype == "bool":
            found[i.name] = rng.random(shape) < 0.5
            found[i.name][..., 0] = True
        else:
            found[i.name] = rng.integers(0, 5, shape) if i.type.dtype == "i64" else rng.normal(size=shape)
    return found


def extended(inputs, fills, more):
    """The plain meaning of an answer of `padding_of`."""
    found = {}
    for name, x in inputs.items():
        for d, fill in fills.get(name, {}).items():
            last = np.take(x, [-1], axis=d)
            element = last if fill == "copy" else np.full_like(last, {"zero": 0, "masked": SMALL}[fill])
            added = np.repeat(element, more, axis=d)
            x = np.concatenate([x, added], axis=d)
        found[name] = x
    return found


def cut(result, t, n):
    for d, size in enumerate(t.dims):
        if size.symbol == "n":
            result = np.take(result, range(n), axis=d)
    return result


@pytest.mark.parametrize("text", CAN, ids=[f"{t.split()[1]}{n}" for n, t in enumerate(CAN)])
def test_a_padded_program_has_the_results_of_the_smaller_one(text):
    program = parse_program(text)
    fills = padding_of(program.graph, "n")
    assert not isinstance(fills, str), fills

    @settings(max_examples=25, deadline=None)
    @given(n=st.integers(1, 7), more=st.integers(1, 5), seed=st.integers(0, 9))
    def agrees(n, more, seed):
        inputs = drawn(program, n, seed)
        with np.errstate(all="ignore"):  # added rows may hold no numbers
            padded = evaluate(program, extended(inputs, fills, more), {"n": n + more})
        found = cut(padded, program.graph.output_types[0], n)
        np.testing.assert_allclose(found, evaluate(program, inputs, {"n": n}), rtol=1e-12, atol=1e-12)

    agrees()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("x = input f32[4, n]\n  %1 = sum(x, dim=1)\n  return %1", "a sum over n reads every element"),
        ("x = input f32[4, n]\n  %1 = mean(x, dim=1)\n  return %1", "a mean over n reads every element"),
        ("x = input f32[n, 4]\n  w = input f32[n, 3]\n  %2 = permute(x, order=[1, 0])\n  %3 = matmul(%2, w)\n"
         "  return %3", "a product over n reads every element"),
        ("x = input f32[n, 4]\n  %1 = reshape(x, dims=[4*n])\n  %2 = neg(%1)\n  return %2", "part of a size"),
        ("x = input f32[2, n]\n  %1 = reshape(x, dims=[n, 2])\n  %2 = neg(%1)\n  return %2", "part of another dim"),
        ("x = input f32[n, 2]\n  %1 = slice(x, dim=0, start=1, stop=n)\n  return %1", "part of"),
        ("x = input f32[n, 2]\n  %1 = concat(x, x, dim=0)\n  return %1", "part of a size"),
        ("x = input f32[n, 2]\n  i = input i64[3]\n  %2 = lookup(x, i, dim=0)\n  return %2", "a table with n"),
        ("x = input f32[3, n]\n  %1 = reverse_cumsum(x, dim=1)\n  return %1", "a reverse_cumsum over n"),
        ("x = input f32[n, n]\n  %1 = band(rows=n, columns=n, high=1, dtype=f32)\n  %2 = square(x)\n"
         "  %3 = mask(%2, %1)\n  %4 = exp(%3)\n  %5 = sum(%4, dim=1)\n  return %5", "a sum over n reads every element"),
    ],
)  # fmt: skip
def test_what_reads_an_added_element_cannot_be_padded(text, said):
    found = padding_of(parse_program(f"program p\n  {text}").graph, "n")

    assert isinstance(found, str)
    assert said in found


def test_a_mask_that_is_added_to_scores_is_extended_by_minus_infinity_and_other_operands_are_not():
    graph = parse_program(BIASED).graph
    copies = {1: "copy"}
    assert {"q": copies, "k": copies, "v": copies, "m": {1: "copy", 2: "masked"}} == padding_of(graph, "n")

    scaled = parse_program(BIASED.replace("%7 = add(%6, m)", "%7 = mul(%6, m)")).graph
    assert "a max over n reads every element" == padding_of(scaled, "n")
    narrow = parse_program(BIASED.replace("f32[1, n, n]", "f16[1, n, n]")).graph
    assert "a max over n reads every element" == padding_of(narrow, "n")


def test_attention_without_a_mask_cannot_be_padded_and_one_over_other_keys_only_along_the_queries():
    whole = parse_program(ATTENTION.format(masked="%7 = mul(%6, m)")).graph
    assert "a max over n reads every element" == padding_of(whole, "n")

    other_keys = MASKED.replace("k = input f32[2, n", "k = input f32[2, c").replace(
        "v = input f32[2, n", "v = input f32[2, c"
    )
    other_keys = other_keys.replace("bool[1, n, n]", "bool[1, n, c]")
    graph = parse_program(other_keys).graph
    assert {"q": {1: "copy"}, "m": {1: "copy"}} == padding_of(graph, "n")
    assert {"k": {1: "copy"}, "v": {1: "copy"}, "m": {2: "zero"}} == padding_of(graph, "c")
