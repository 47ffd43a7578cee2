"""Functions that are tables: their names, their values in every stage, and proofs about them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mp

from prism_explore.codegen.cpu.load import load_plan
from prism_explore.codegen.cpu.plan import plan
from prism_explore.errors import ParseError
from prism_explore.events.journal import Journal
from prism_explore.ir.elementwise import UNARY, high_precision
from prism_explore.ir.interpreter.reference import evaluate_results
from prism_explore.ir.ops import Unary, op_label
from prism_explore.ir.tabulated import FLOAT8, entries_of, function_label, table_name
from prism_explore.ir.text import parse, parse_program, show
from prism_explore.pipeline.stages import Parameters, Refuted, Verified
from prism_explore.verify.prover import Prover
from tests.codegen.cpu.llvm.test_vector_math import mapped
from tests.verify.corpus import candidate

NUMBERS = st.floats(width=32) | st.sampled_from([0.0, -0.0, 0.5, -1.0]) | st.floats()
TABLES = st.lists(NUMBERS, min_size=1, max_size=256)
PROGRAM = """program coded
  x = input f32[b, 12]
  w = input u8[12, 8]
  %2 = mul_scalar(w, 1/16)
  %3 = floor(%2)
  %4 = TABLE(%3)
  %5 = matmul(x, %4)
  return %5"""
CANDIDATE = """sgraph
  x = input f32[b, 12]
  w = input u8[12, 8]
  %2 = custom(x, w) grid[x=gx] loop[i=f]
    %0 = load(0, imap=[-], fmap=1)
    %1 = load(1, imap=[1], fmap=0)
    %2 = mul_scalar(%1, 1/16)
    %3 = floor(%2)
    %4 = TABLE(%3)
    %5 = matmul(%0, %4)
    %6 = accum(%5)
    %7 = store(%6, omap=[1])
  return %2"""


def random_table(entries: int, seed: int = 0) -> str:
    return table_name(np.random.default_rng(seed).normal(size=entries).astype(np.float32))


@given(TABLES)
def test_a_name_says_all_numbers(numbers):
    entries = entries_of(table_name(numbers))

    assert entries is not None
    np.testing.assert_array_equal(entries, numbers)
    zero = np.equal(numbers, 0)
    np.testing.assert_array_equal(np.signbit(entries[zero]), np.signbit(np.array(numbers)[zero]))
    assert table_name(entries) == table_name(numbers)


@pytest.mark.parametrize(
    "name",
    [
        *("table16_", "table16_3f", "table16_3F80", "table24_3f8000", "table16_" + "0000" * 257),
        "table32_3f800000",  # 1.0 is a number of bfloat16
        "table16_7fc1",  # there is one NaN
        *("table16_3f80(", "from_float8_e3m4", "table16_3f80\n"),
    ],
)
def test_any_other_name_is_refused(name):
    assert entries_of(name) is None
    assert name not in UNARY
    with pytest.raises(KeyError):
        UNARY[name]
    with pytest.raises(ParseError):
        parse_program(PROGRAM.replace("TABLE", name))


def test_a_long_name_has_a_short_form_for_readers():
    assert function_label(random_table(256)) == "table_of_256"
    assert function_label("from_float8_e5m2") == "from_float8_e5m2"
    assert function_label("exp") == "exp"
    assert op_label(Unary(random_table(256))) == "table_of_256"


@pytest.mark.parametrize("name", FLOAT8)
def test_an_8_bit_float_is_what_torch_reads(name):
    torch = pytest.importorskip("torch")
    bits = torch.arange(256).to(torch.uint8)

    np.testing.assert_array_equal(entries_of(name), bits.view(getattr(torch, FLOAT8[name])).double().numpy())


@pytest.mark.parametrize("size", [1, 2, 15, 16, 200, 256])
def test_every_stage_has_the_same_values(size):
    torch = pytest.importorskip("torch")
    row = UNARY[random_table(size)]
    rng = np.random.default_rng(1)
    between = rng.uniform(-5, size + 5, 400)
    between = between[np.abs(between - np.floor(between) - 0.5) > 1e-3][: 301 - size]
    x = np.concatenate([np.arange(size), between, [np.nan, np.inf, -np.inf]]).astype(np.float32)
    wanted = row.numpy(x)

    np.testing.assert_array_equal(wanted[:size], np.array(row.entries, np.float32))
    found = eval(row.torch.format("x"), {"torch": torch, "x": torch.tensor(x)})
    np.testing.assert_array_equal(found.numpy(), wanted)
    for lanes in (0, 4, 8, 16):
        np.testing.assert_array_equal(mapped(row.name, [x], lanes, max(4, lanes)), wanted)
    finite = np.isfinite(x)
    found = [float(high_precision(row, mp.mpf(float(v)))) for v in x[finite]]
    np.testing.assert_array_equal(np.array(found, np.float32), wanted[finite])
    triton = eval(row.triton.format("x"), {"tl": np, "x": x[finite]})
    np.testing.assert_array_equal(np.float32(triton), wanted[finite])


@pytest.mark.parametrize("name", [random_table(16), random_table(256), *FLOAT8])
def test_a_table_prints_proves_and_runs(name):
    program, text = parse_program(PROGRAM.replace("TABLE", name)), CANDIDATE.replace("TABLE", name)
    if entries_of(name).size == 256:  # of the byte itself
        program = parse_program(show(program).replace("mul_scalar(w, 1/16)", "mul_scalar(w, 1)"))
        text = text.replace("mul_scalar(%1, 1/16)", "mul_scalar(%1, 1)")
    graph = parse(text)

    assert show(graph) == text
    assert isinstance(Prover(program).verify(candidate(program, graph), Journal()), Verified)
    kernel = load_plan(plan(graph, Parameters((("gx", 2), ("f", 3))), {"b": 2}))
    finite = np.flatnonzero(np.isfinite(entries_of(name)))
    rng = np.random.default_rng(0)
    w = rng.choice(finite if len(finite) > 16 else 256, (12, 8)).astype(np.uint8)
    x = rng.normal(size=(2, 12)).astype(np.float32)
    (wanted,) = evaluate_results(program, {"x": x.astype(float), "w": w.astype(float)})
    np.testing.assert_allclose(kernel(x, w), wanted, rtol=1e-5, atol=1e-5 * np.abs(wanted).max())


@settings(max_examples=16, deadline=None)
@given(st.integers(0, 15), st.sampled_from([2.0**-10, 0.5, 4.0]))
def test_a_table_with_one_other_entry_is_refuted(at, change):
    name = random_table(16)
    entries = [*UNARY[name].entries]
    entries[at] += change
    program = parse_program(PROGRAM.replace("TABLE", name))

    verdict = Prover(program).verify(
        candidate(program, parse(CANDIDATE.replace("TABLE", table_name(np.float32(entries))))), Journal()
    )

    assert isinstance(verdict, Refuted)
