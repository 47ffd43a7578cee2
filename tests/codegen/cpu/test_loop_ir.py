"""Loop IR: the lowered text, and its result in a plain interpreter compared with the sGraph."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from prism_explore.codegen.cpu.block_analysis import LoweringOptions
from prism_explore.codegen.cpu.loop_ir import (
    ONE,
    Apply,
    Buffer,
    Constant,
    Contract,
    Fold,
    Gather,
    LoopNest,
    LoopProgram,
    Map,
    Place,
    PrefixSum,
    RangeTest,
    Read,
    positions_of,
)
from prism_explore.codegen.cpu.loop_text import show_expression, show_loops
from prism_explore.codegen.cpu.lower_block import MAX_HOISTED_BYTES
from prism_explore.codegen.cpu.lower_graph import lower_graph
from prism_explore.errors import ShapeError
from prism_explore.ir.elementwise import BINARY, UNARY
from prism_explore.ir.text import parse
from tests.codegen.corpus import CASES, RMS_EPS, RMS_PLAIN, filled, reference, relative_error
from tests.codegen.wider import WIDER, legal

BY_NAME = {c.name: c for c in (*CASES, *WIDER)}


# ---------------------------------------------------------------- loops, executed one number at a time
def run(program: LoopProgram, inputs: dict[str, np.ndarray]) -> np.ndarray:
    """The meaning of loops in a page of Python, in float64; unwritten memory is NaN."""
    memory: dict[Buffer, np.ndarray] = {}
    for b in program.inputs:
        memory[b] = np.full(b.elements, np.nan)
        np.lib.stride_tricks.as_strided(memory[b], b.shape, [8 * s for s in b.strides])[...] = inputs[b.name]
    for b in (*program.temporaries, *program.outputs):
        memory[b] = np.full(b.elements, np.nan)
    for nest in program.nests:
        _run_nest(nest, memory)
    (out,) = program.outputs
    return np.lib.stride_tricks.as_strided(memory[out], out.shape, [8 * s for s in out.strides])


JOINS = {"sum": lambda a, b: a + b, "max": np.maximum}


def _run_nest(nest: LoopNest, memory: dict[Buffer, np.ndarray]) -> None:
    entered: tuple[int, ...] | None = None
    for point in product(*(range(r.extent) for r in nest.grid)):
        at = {r.name: i for r, i in zip(nest.grid, point, strict=True)}
        if entered != point[: nest.outer]:
            entered = point[: nest.outer]
            memory.update({b: np.full(b.elements, np.nan) for b in nest.scratch})
            for s in nest.once:
                _run_statement(s, at, memory)
        for s in nest.before:
            _run_statement(s, at, memory)
        for i in range(nest.loop.extent if nest.loop else 1):
            inside = {**at, nest.loop.name: i} if nest.loop else at
            for s in nest.body if nest.predicate is None or _number(nest.predicate, inside, memory) else ():
                _run_statement(s, inside, memory)
        for s in nest.after:
            _run_statement(s, at, memory)


def _run_statement(s, at: dict[str, int], memory: dict[Buffer, np.ndarray]) -> None:
    if isinstance(s, Contract):
        value = Apply("mul", (Read(s.left), Read(s.right)))
        domain = (*s.batch, s.m, s.n, *s.k)
        s = Fold(domain, tuple(r.name for r in s.k), s.target, value, s.accumulates)
    if isinstance(s, PrefixSum):
        _run_prefix_sum(s, at, memory)
        return
    row = s.positions if isinstance(s, Gather) else None
    along = s.along if isinstance(s, Fold) else ()
    fresh = set()
    for point in product(*(range(r.extent) for r in s.domain)):
        here = {**at, **{r.name: i for r, i in zip(s.domain, point, strict=True)}}
        if row is not None:
            here[s.variable] = int(memory[row.buffer.root][_offset(row, here)])
        element = _offset(s.target, here)
        number = _number(s.value, here, memory)
        if s.accumulates or (along and element in fresh):
            number = JOINS[s.join](number, memory[s.target.buffer.root][element])
        else:
            assert element not in fresh, f"{s.target} is written twice"
        fresh.add(element)
        memory[s.target.buffer.root][element] = number


def _run_prefix_sum(s: PrefixSum, at: dict[str, int], memory: dict[Buffer, np.ndarray]) -> None:
    axis = next(r for r in s.domain if r.name == s.along)
    others = [r for r in s.domain if r != axis]
    for point in product(*(range(r.extent) for r in others)):
        here = {**at, **{r.name: i for r, i in zip(others, point, strict=True)}}
        total = 0.0
        for i in reversed(range(axis.extent)) if s.reverse else range(axis.extent):
            total += _number(s.value, {**here, s.along: i}, memory)
            memory[s.target.buffer.root][_offset(s.target, {**here, s.along: i})] = total


def _offset(p: Place, at: dict[str, int]) -> int:
    indices = [_index(a, at) for a in p.index]
    assert all(0 <= i < n for i, n in zip(indices, p.buffer.shape, strict=True)), f"{p} leaves its buffer at {at}"
    return p.buffer.start + sum(i * s for i, s in zip(indices, p.buffer.strides, strict=True))


def _index(affine, at: dict[str, int]) -> int:
    return sum(f * (1 if v == ONE else at[v]) for v, f in affine)


def _number(e, at: dict[str, int], memory: dict[Buffer, np.ndarray]) -> float:
    match e:
        case Read(place):
            return memory[place.buffer.root][_offset(place, at)]
        case Constant(value):
            return float(value)
        case RangeTest(affine, low, high):
            x = _index(affine, at)
            return np.float64((low is None or low <= x) and (high is None or x <= high))
        case Apply("pow", (x, Constant(value))):
            return np.power(_number(x, at, memory), float(value))
        case Apply(fn, args):
            row = UNARY.get(fn) or BINARY[fn]
            return row.numpy(*(_number(a, at, memory) for a in args))


SMALL = st.integers(1, 3)


@pytest.mark.parametrize("case", (*CASES, *WIDER), ids=lambda c: c.name)
@settings(max_examples=6, deadline=None)
@given(data=st.data())
def test_loops_mean_what_the_sgraph_means(case, data) -> None:
    sizes = case.sizes({symbol: data.draw(SMALL, symbol) for symbol in case.free})
    if "b" in case.free:
        sizes["b"] = data.draw(st.sampled_from((1, 2, 5)), "b")
    assume(legal(case, sizes))
    choices = LoweringOptions(hoist=data.draw(st.booleans(), "hoist"), pack=data.draw(st.booleans(), "pack"))
    graph = case.graph
    inputs = filled(graph, sizes)
    expected = reference(graph, inputs, sizes)
    with np.errstate(all="ignore"):
        found = run(lower_graph(graph.substitute(sizes), choices), inputs)

    assert relative_error(expected, found) < 1e-9


# ---------------------------------------------------------------- text
def r1(sizes: dict[str, int], text: str = RMS_EPS, choices: LoweringOptions | None = None) -> LoopProgram:
    return lower_graph(parse(text).substitute(sizes), choices or LoweringOptions())


FULL = {"b": 8, "d": 4096, "n": 4096, "gx": 8, "f": 512}


def test_the_text_of_the_fused_norm_and_linear(golden) -> None:
    golden("codegen/rms_eps", show_loops(r1(FULL)))


def test_the_text_with_a_transposed_weight(golden) -> None:
    transposed = RMS_PLAIN.replace("[d, n]", "[d, n] order(1, 0)")
    golden("codegen/rms_plain_nk", show_loops(r1({**FULL, "gx": 64, "f": 1}, transposed)))


@pytest.mark.parametrize(
    "name",
    ["gated", "lora", "attention", "two_kernels", "flat", "rms_two_grid", "causal_flash", "split_kv", "rope", "heads"],
)
def test_the_text_of_other_kernels(golden, name) -> None:
    case = BY_NAME[name]
    sizes = case.sizes({s: 4 + 4 * (i % 3) for i, s in enumerate(case.free)})
    golden(f"codegen/{name}", show_loops(lower_graph(case.graph.substitute(sizes))))


def test_row_statistics_are_done_once_per_thread() -> None:
    (nest,) = r1(FULL).nests
    inside = (*nest.before, *nest.body, *nest.after)

    assert any(isinstance(s, Fold) for s in nest.once)
    assert not any(isinstance(s, Fold) for s in inside)


def test_without_hoisting_everything_is_done_in_its_block() -> None:
    (nest,) = r1(FULL, choices=LoweringOptions(hoist=False)).nests

    assert nest.once == ()
    assert any(isinstance(s, Map) and isinstance(s.value, Apply) for s in nest.body)


def test_what_would_not_fit_is_not_kept() -> None:
    rows = MAX_HOISTED_BYTES // (4 * 4096) + 1
    (nest,) = r1({**FULL, "b": rows}).nests

    assert nest.once == ()


def test_a_load_is_a_view_unless_packed() -> None:
    (nest,) = r1(FULL, RMS_PLAIN, LoweringOptions(pack=False)).nests
    product_ = next(s for s in nest.body if isinstance(s, Contract))

    assert product_.left.buffer.where == "input"
    assert product_.right.buffer.where == "input"


@pytest.mark.parametrize("k", [128, 256, 512, 1024, 4096, 11008])
@pytest.mark.parametrize("bytes_each", [4, 2])
def test_packed_rows_begin_on_cache_lines_in_sets_of_their_own(k, bytes_each) -> None:
    text = f"""sgraph
  x = input f32[8, {k}]
  w = input f32[{k}, 64] order(1, 0)
  %2 = custom(x, w) grid[x=gx]
    %0 = load(0, imap=[-])
    %1 = load(1, imap=[1])
    %2 = matmul(%0, %1)
    %3 = store(%2, omap=[1])
  return %2
"""
    (nest,) = lower_graph(parse(text).substitute({"gx": 2})).nests
    packed = next(b for b in nest.scratch if b.shape == (8, k))
    lines = [r * packed.strides[0] * bytes_each / 64 for r in range(8)]
    apart = [min((a - b) % 64, (b - a) % 64) for a in lines for b in lines if a != b]

    assert all(line.is_integer() for line in lines)
    assert min(apart) >= 1
    assert 4 <= (lines[1] - lines[0]) % 64 <= 60


def test_a_grid_dim_that_the_store_does_not_name_runs_once() -> None:
    case = BY_NAME["same_tile_twice"]
    (nest,) = lower_graph(case.graph.substitute(case.sizes({"gx": 2, "f": 3, "u": 2, "gz": 7}))).nests

    assert [r.extent for r in nest.grid] == [2]


def test_grid_and_tile_variables_never_share_a_name() -> None:
    text = RMS_PLAIN.replace("grid[x=gx]", "grid[c=gx]").replace("loop[i=f]", "loop[k=f]")
    (nest,) = r1({**FULL, "b": 3}, text).nests
    bound = [r.name for r in (*nest.grid, nest.loop)]
    for s in (*nest.body, *nest.after):
        inner = (s.m, s.n, *s.k) if isinstance(s, Contract) else s.domain

        assert not {r.name for r in inner} & set(bound)


def test_an_expression_prints_with_the_parentheses_it_needs() -> None:
    x = Read(Place(Buffer("x", (4,), (1,), "input"), ((("c", 1),),)))
    half = Apply("mul", (Apply("add", (x, x)), Constant(Fraction(1, 2))))

    assert show_expression(half) == "(x[c] + x[c]) * (1/2)"


# ---------------------------------------------------------------- callers' mistakes
def test_an_open_graph_is_refused() -> None:
    with pytest.raises(ShapeError, match="maps are still open"):
        lower_graph(parse(RMS_PLAIN.replace("omap=[1]", "omap=?")).substitute(FULL))


def test_a_missing_number_is_named() -> None:
    with pytest.raises(ShapeError, match="give every symbol a number"):
        lower_graph(parse(RMS_PLAIN).substitute({k: v for k, v in FULL.items() if k != "b"}))


def test_an_extent_that_is_not_divisible_is_rejected() -> None:
    with pytest.raises(ShapeError, match="not an integer"):
        r1({**FULL, "gx": 3})


def test_an_input_as_the_result_is_refused() -> None:
    with pytest.raises(ShapeError, match="nothing to compile"):
        lower_graph(parse("sgraph\n  x = input f32[4]\n  return x"))


LOOKUPS = parse("""sgraph
  x = input f32[3, v, 5]
  i = input i64[2, 4]
  w = input f32[5, 6]
  %3 = lookup(x, i, dim=1)
  %4 = matmul(%3, w)
  return %4""")


def test_loops_of_a_lookup_read_the_row_at_each_position():
    rng = np.random.default_rng(0)
    given = {"x": rng.random((3, 7, 5)), "i": rng.integers(7, size=(2, 4)), "w": rng.random((5, 6))}
    program = lower_graph(LOOKUPS.substitute({"v": 7}))

    assert {"i": 7} == positions_of(program)
    assert "k3[d0, d1, d2, d3] = x[d0, row, d3] where row = i[d1, d2]  for d1<2, d2<4, d3<5" in show_loops(program)
    np.testing.assert_allclose(run(program, given), np.take(given["x"], given["i"], axis=1) @ given["w"])
