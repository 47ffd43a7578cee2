"""Small sizes are found for whatever ties extents together, and say what they are."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from prism_explore.diagnose.check import Checker
from prism_explore.ir.dims import dim
from prism_explore.ir.graph import SGraph
from prism_explore.ir.interpreter.reference import run
from prism_explore.ir.ops import Band, Reshape, Slice
from prism_explore.ir.program import ProgramBuilder, TensorProgram
from prism_explore.ir.text import parse, parse_program
from prism_explore.pipeline.stages import Counterexample, Refuted, Verified
from prism_explore.verify.counterexample.inputs import draw_inputs
from prism_explore.verify.counterexample.refuter import Refuter, Survived, Untried
from prism_explore.verify.shapes.concretize import MAX_ELEMENTS, MAX_STEPS, TINY, Extents
from prism_explore.verify.shapes.instance import Instance
from prism_explore.verify.shapes.solver import Solver
from tests.verify.corpus import CASES, PROGRAMS, graph_of
from tests.verify.workloads import ENTRIES, program_of, sgraph_of


def instance(program: TensorProgram, graph: SGraph, n: int = 0, **fixed: int) -> Instance:
    extents = Extents(program)
    pair = extents.pair(graph)
    assert not isinstance(pair, str), pair
    found = extents.instance(pair, n, fixed)
    assert isinstance(found, Instance), found
    return found


def only(op: type, graph: SGraph) -> object:
    return next(n.op for n in graph.nodes if isinstance(n.op, op))


# ---------------------------------------------------------------- views
def heads() -> TensorProgram:
    """Heads of a row: a dim that is split, and a bias per head."""
    b = ProgramBuilder("heads")
    x, c = b.input("x", "b", 4096), b.input("c", 32, 128)
    return b.build(b.reduce("sum", b.binary("add", b.reshape(x, "b", 32, 128), c), 2))


def test_a_dim_that_is_split_is_the_product_of_its_parts():
    found = instance(heads(), heads().graph)
    sizes = dict(found.sizes)
    b, d, h, e = (sizes[name] for name in ("b", "d", "n", "k"))

    assert (d, True) == (h * e, min(sizes.values()) >= 2)
    assert len(set(sizes.values())) == len(sizes)
    assert (("x", (b, d)), ("c", (h, e))) == found.shapes
    assert str(only(Reshape, found.program)) == str(
        parse(f"""sgraph
  x = input f32[{b}, {d}]
  %1 = reshape(x, dims=[{b}, {h}, {e}])
  return %1""")
        .nodes[1]
        .op
    )


def test_a_split_of_a_tile_has_the_borders_of_the_whole():
    """Heads are cut by the grid before the row is split: both splits must take the same 128."""
    sgraph = parse(
        """sgraph
  x = input f32[b, 4096]
  c = input f32[32, 128]
  %2 = custom(x, c) grid[x=gx]
    %0 = load(0, imap=[1])
    %1 = load(1, imap=[0])
    %2 = reshape(%0, dims=[b, 32/gx, 128])
    %3 = add(%2, %1)
    %4 = sum(%3, dim=2)
    %5 = store(%4, omap=[1])
  return %2"""
    )
    outcome = Refuter(heads()).attempt(sgraph, 0)

    assert isinstance(outcome, Survived)
    assert all(dict(t.sizes)["n"] % dict(t.sizes)["gx"] == 0 for t in outcome.trials)


def test_dims_that_are_merged_and_split_again_are_the_same_dims():
    """Tiles of two equally long axes: nothing but where they meet says which is which."""
    b = ProgramBuilder("halves")
    program = b.build(b.scalar("mul", b.input("x", "b", 12, 12), Fraction(1, 2)))
    graph = parse(
        """sgraph
  x = input f32[b, 12, 12]
  %1 = custom(x) grid[x=gb, y=c]
    %0 = load(0, imap=[0, 1])
    %1 = reshape(%0, dims=[12*b/(c*gb), 12])
    %2 = reshape(%1, dims=[b/gb, 12/c, 12])
    %3 = mul_scalar(%2, 1/2)
    %4 = reshape(%3, dims=[144*b/(c*gb)])
    %5 = reshape(%4, dims=[b/gb, 12/c, 12])
    %6 = store(%5, omap=[0, 1])
  return %1"""
    )
    for n in (*range(6), TINY):
        found = instance(program, graph, n)
        sizes = dict(found.sizes)
        b_, c, d, e = (sizes["b"] // sizes["gb"], sizes["c"], sizes["d"], sizes["n"])
        shapes = [
            [str(s) for s in node.op.dims]
            for node in found.candidate.customs[0][1].nodes
            if isinstance(node.op, Reshape)
        ]
        parts = [str(b_), str(d // c), str(e)]

        assert [[str(b_ * d // c), str(e)], parts, [str(b_ * d // c * e)], parts] == shapes


def pieces() -> TensorProgram:
    b = ProgramBuilder("pieces")
    x, y = b.input("x", "b", 96), b.input("y", "b", 32)
    whole = b.concat(x, y, 1)
    return b.build(b.binary("mul", b.slice(whole, 1, 96, 128), b.slice(x, 1, 0, 32)))


def test_a_concatenation_is_cut_where_its_pieces_meet():
    found = instance(pieces(), pieces().graph)
    x, y = dict(found.shapes)["x"][1], dict(found.shapes)["y"][1]
    cut = only(Slice, found.program)

    assert x > y >= 2
    assert isinstance(cut, Slice)
    assert (str(x), str(x + y)) == (str(cut.start), str(cut.stop))


def test_literal_positions_and_lengths_of_one_stay():
    """A shift by one is a shift by one at all extents."""
    b = ProgramBuilder("shift")
    x = b.input("x", "b", 64)
    program = b.build(b.concat(b.slice(x, 1, 1, 64), b.slice(x, 1, 0, 1), 1))
    found = instance(program, program.graph)
    cuts = [n.op for n in found.program.nodes if isinstance(n.op, Slice)]

    assert ["1", "0"] == [str(c.start) for c in cuts]
    assert "1" == str(cuts[1].stop)


def test_a_slice_of_a_tile_that_is_as_long_as_the_dim_allows_a_cut_of_one_only():
    b = ProgramBuilder("halves_exchanged")
    x = b.input("x", "b", 64)
    program = b.build(b.concat(b.slice(x, 1, 32, 64), b.slice(x, 1, 0, 32), 1))
    text = """sgraph
  x = input f32[b, 64]
  %1 = custom(x) grid[x=gx, y=gy]
    %0 = load(0, imap=[1, 0])
    %1 = slice(%0, dim=1, start=32, stop=64)
    %2 = slice(%0, dim=1, start=0, stop=32)
    %3 = concat(%1, %2, dim=1)
    %4 = store(%3, omap=[-, 0])
  return %1"""
    right, wrong = parse(text), parse(text.replace("concat(%1, %2", "concat(%2, %1"))

    outcome = Refuter(program).attempt(right, 0)
    assert isinstance(outcome, Survived)
    assert {1} == {dict(t.sizes)["gx"] for t in outcome.trials}
    assert all(dict(t.sizes)["gy"] > 1 for t in outcome.trials)
    assert isinstance(Refuter(program).attempt(wrong, 0), Counterexample)


def masked(low: int | None, high: int) -> TensorProgram:
    b = ProgramBuilder("masked")
    x = b.input("x", 64, 64)
    return b.build(b.unary("exp", b.binary("mask", x, b.band(64, 64, None if low is None else str(low), str(high)))))


@pytest.mark.parametrize(("low", "high"), [(None, 0), (-16, 0), (-1, 1), (-31, 16)])
def test_in_a_band_every_row_keeps_an_entry_and_windows_of_different_width_stay_different(low, high):
    for n in range(3):
        found = instance(masked(low, high), masked(low, high).graph, n)
        band = only(Band, found.program)
        assert isinstance(band, Band)
        rows, columns = int(band.rows.rational({})), int(band.columns.rational({}))
        least = -rows if band.low is None else int(band.low.rational({}))
        most = int(band.high.rational({})) if band.high is not None else columns
        assert rows != columns
        assert all(any(least <= c - r <= most for c in range(columns)) for r in range(rows))
    if (low, high) == (-31, 16):
        assert 3 == len({abs(least), most, 0})


def test_a_mask_that_is_one_off_is_refuted_a_mask_that_is_lost_too():
    program = masked(-16, 0)
    for wrong in (masked(-17, 0), masked(-16, -1), masked(None, 0)):
        assert not isinstance(Refuter(program).attempt(wrong.graph, 0), Survived | Untried)
    b = ProgramBuilder("bare")
    assert not isinstance(Refuter(program).attempt(b.build(b.unary("exp", b.input("x", 64, 64))).graph, 0), Survived)


def test_an_input_that_says_what_is_kept_is_zero_at_places_but_not_in_whole_rows():
    b = ProgramBuilder("kept")
    x, keep = b.input("x", "b", 64), b.input("keep", "b", 64)
    program = b.build(b.unary("exp", b.binary("mask", x, keep)))
    drawn = draw_inputs((("x", (5, 4)), ("keep", (5, 4))), 1, masks=frozenset({"keep"}))["keep"]
    lost = parse("sgraph\n  x = input f32[b, 64]\n  keep = input f32[b, 64]\n  %2 = exp(x)\n  return %2")
    factor = parse(
        "sgraph\n  x = input f32[b, 64]\n  keep = input f32[b, 64]\n  %2 = exp(x)\n  %3 = mul(%2, keep)\n  return %3"
    )

    assert (drawn == 0).any() and (drawn != 0).any(axis=1).all()
    assert isinstance(Refuter(program).attempt(program.graph, 0), Survived)
    assert not isinstance(Refuter(program).attempt(lost, 0), Survived)
    assert not isinstance(Refuter(program).attempt(factor, 0), Survived), "what is kept need not be 1"


# ---------------------------------------------------------------- all workloads
@pytest.mark.parametrize("workload", sorted({e.workload for e in ENTRIES}))
def test_every_candidate_of_a_workload_runs_at_small_sizes(workload):
    extents = Extents(program_of(workload))
    for entry in ENTRIES:
        if entry.workload != workload:
            continue
        pair = extents.pair(sgraph_of(entry))
        assert not isinstance(pair, str), pair
        for n in (0, 1, TINY):
            found = extents.instance(pair, n)
            assert isinstance(found, Instance), (entry.name, n, found)
            assert all(number >= 2 for _, number in found.sizes), entry.name
            assert found.steps <= MAX_STEPS
            inputs = draw_inputs(found.shapes, 0)
            with np.errstate(all="ignore"):
                ours = run(found.program, inputs, found.symbols)[found.program.output]
                theirs = run(found.candidate, inputs, found.symbols)[found.candidate.output]
            assert ours.shape == theirs.shape


def test_axes_of_inputs_are_pairwise_different_in_float_trials():
    for case in CASES:
        if case.right:
            sizes = instance(PROGRAMS[case.program], case.sgraph).sizes
            assert len({number for _, number in sizes}) == len(sizes), case.name


def test_the_smallest_instance_is_no_larger_than_the_usual_one():
    case = next(c for c in CASES if c.name == "attention_one_kernel")
    small, usual = (dict(instance(PROGRAMS["attention"], case.sgraph, n).sizes) for n in (TINY, 0))

    assert 2 == small["t"]
    assert all(small[name] <= usual[name] for name in usual)


def test_what_operators_go_through_counts_blocks_and_iterations_in_which_it_is_not_the_same():
    graph = graph_of(
        "matmul",
        """
  %2 = custom(x, w) grid[x=gx] loop[i=f]
    %0 = load(0, imap=[-], fmap=1)
    %1 = load(1, imap=[1], fmap=0)
    %2 = exp(%0)
    %3 = matmul(%2, %1)
    %4 = accum(%3)
    %5 = neg(%4)
    %6 = store(%5, omap=[1])
  return %2""",
    )
    extents = Extents(PROGRAMS["matmul"])
    pair = extents.pair(graph)
    assert not isinstance(pair, str)
    found = extents.instance(pair)
    assert isinstance(found, Instance)

    b, d, n, gx, f = (dict(found.sizes)[s] for s in ("b", "d", "n", "gx", "f"))
    assert len({b, d, n, gx, f}) == 5
    own = [(type(op).__name__, numbers) for op, numbers in found.work[1:]]
    assert own == [("Unary", b * d), ("MatMul", b * d * n), ("Accumulate", b * n * f), ("Unary", b * n)]


# ---------------------------------------------------------------- given numbers, and none
def test_an_axis_can_be_as_long_as_given_while_the_others_are_small():
    case = next(c for c in CASES if c.name == "rms_fused_sum_then_scale")
    extents = Extents(PROGRAMS["rms_full"])
    pair = extents.pair(case.sgraph)
    assert not isinstance(pair, str)

    assert {"d": 4096, "n": 4096} == extents.constant_extents(pair)
    assert extents.constant_may_be_extent(case.sgraph)
    found = extents.instance(pair, 0, {"d": 4096})
    assert isinstance(found, Instance)
    sizes = dict(found.sizes)
    assert (4096, 0, True) == (sizes["d"], 4096 % sizes["f"], sizes["n"] < 50)


def test_a_constant_with_a_foreign_prime_factor_speaks_of_no_extent():
    assert not Extents(PROGRAMS["rms_bare"]).constant_may_be_extent(PROGRAMS["rms_full"].graph), (
        "1/1000000 has a factor 5"
    )


def test_a_grid_of_a_number_that_no_extent_allows_has_no_sizes():
    graph = graph_of(
        "matmul",
        """
  %2 = custom(x, w) grid[x=gx]
    $x = load(0, imap=[-])
    $w = load(1, imap=[1])
    $xw = matmul($x, $w)
    $row = sum($xw, dim=0)
    $out = store($xw, omap=[1])
  return %2
""",
    )
    extents = Extents(PROGRAMS["matmul"])
    pair = extents.pair(graph)
    assert not isinstance(pair, str)

    assert "no small sizes meet its conditions" == extents.instance(pair, 0, {"n": 7, "gx": 3})


@pytest.mark.parametrize(("size", "runs"), [("gx + 1", True), ("2*gx + b", True), ("b - 1", True), ("1/gx + 1", False)])
def test_a_grid_size_that_is_a_sum_of_whole_sizes_runs_another_one_is_said(size, runs):
    """Only a grid whose blocks all do the same can be one."""
    text = """
  %2 = custom(x, y) grid[x=gx]
    $x = load(0, imap=[-])
    $y = load(1, imap=[-])
    $q = div($x, $y)
    $out = store($q, omap=[-])
  return %2
"""
    graph = graph_of("quotient", text).substitute({"gx": size})
    outcome = Refuter(PROGRAMS["quotient"]).attempt(graph, 0)

    if runs:
        assert isinstance(outcome, Survived)
    else:
        assert Untried(f"a grid size or loop range is the sum {dim(size)}") == outcome


def indented(text: str) -> str:
    return "\n".join(f"  {line}" for line in text.strip().splitlines())


def pair_of(inputs: str, program: str, candidate: str) -> tuple[TensorProgram, SGraph]:
    given = indented("\n".join(line.strip() for line in inputs.split(";")))
    return (
        parse_program(f"program f\n{given}\n{indented(program)}"),
        parse(f"sgraph\n{given}\n{indented(candidate)}"),
    )


MAXIMA_OF_PIECES = (
    "x = input f32[b, {whole}]",
    "%1 = reshape(x, dims=[b, {pieces}, {length}])\n%2 = max(%1, dim=2)\n%3 = sum(%2, dim=1)\nreturn %3",
    """%1 = custom(x) grid[x=gb] loop[i={pieces}]
  %0 = load(0, imap=[0], fmap=1)
  %1 = max(%0, dim=1)
  %2 = accum(%1)
  %3 = store(%2, omap=[0])
%2 = reshape(%1, dims=[b, 1, 1])
return %2""",
)
"""A loop whose range the program's own shapes say: it is no number that may be chosen."""


@pytest.mark.parametrize(
    ("whole", "pieces", "length"),
    [
        ("f*n", "f", "n"),
        ("f*n", "n", "f"),
        ("f^2*n", "f", "f*n"),
        ("f^2*n", "f*n", "f"),
        ("f*m*n", "f*n", "m"),
        ("4*f*n", "f", "4*n"),
        ("4*f*n", "4*f", "n"),
        ("n", "f", "n/f"),
        ("n", "n/f", "f"),
        ("b*n", "b", "n"),
        ("f*n*gb", "f*gb", "n"),
        ("4096", "f", "4096/f"),
    ],
)
def test_a_symbol_is_one_size_wherever_it_stands(whole, pieces, length):
    program, right = pair_of(*(t.format(whole=whole, pieces=pieces, length=length) for t in MAXIMA_OF_PIECES))
    _, wrong = pair_of(*(t.format(whole=whole, pieces=length, length=pieces) for t in MAXIMA_OF_PIECES))

    assert isinstance(Checker(program).check(right), Verified)
    assert isinstance(Checker(program).check(wrong), Refuted)


@pytest.mark.parametrize(("weight", "right"), [("1/2", True), ("1/3", False)])
def test_half_of_a_symbol_is_half_of_it(weight, right):
    """Where a slice ends in the middle, no other place would do for the mean of both halves' means."""
    program, graph = pair_of(
        "x = input f32[b, d]",
        "%1 = mean(x, dim=1)\nreturn %1",
        f"""%1 = slice(x, dim=1, start=0, stop=d/2)
%2 = slice(x, dim=1, start=d/2, stop=d)
%3 = mean(%1, dim=1)
%4 = mean(%2, dim=1)
%5 = add(%3, %4)
%6 = mul_scalar(%5, {weight})
return %6""",
    )
    outcome = Refuter(program).attempt(graph, 0)

    assert isinstance(outcome, Survived if right else Counterexample)
    assert isinstance(Checker(program).check(graph), Verified if right else Refuted)


def test_what_is_twice_as_long_as_two_axes_makes_them_equally_long():
    """Rotary tables of half a head, each put behind itself: the program itself says that they are equally long."""
    program, graph = pair_of(
        "x = input f32[s, 64]; c = input f32[s, 32]; t = input f32[s, 32]",
        """%3 = concat(c, c, dim=1)
%4 = concat(t, t, dim=1)
%5 = mul(x, %3)
%6 = add(%5, %4)
return %6""",
        """%3 = slice(x, dim=1, start=0, stop=32)
%4 = slice(x, dim=1, start=32, stop=64)
%5 = mul(%3, c)
%6 = add(%5, t)
%7 = mul(%4, c)
%8 = add(%7, t)
%9 = concat(%6, %8, dim=1)
return %9""",
    )
    outcome = Refuter(program).attempt(graph, 0)

    assert isinstance(outcome, Survived) and not outcome.coinciding
    assert isinstance(Checker(program).check(graph), Verified)


def test_the_last_dim_of_a_split_has_the_borders_of_what_was_split():
    """Heads of a group and rows are merged at once, a mask's rows beside them: where both rows end is one place."""
    inputs = "q = input f32[4*g, 24]; t = input f32[24]"
    program, graph = pair_of(
        inputs,
        """%2 = reshape(q, dims=[g, 4, 24])
%3 = band(rows=24, columns=24, high=0, dtype=f32)
%4 = mul(%3, t)
%5 = sum(%4, dim=1)
%6 = reshape(%5, dims=[1, 1, 24])
%7 = mul(%2, %6)
%8 = reshape(%7, dims=[4*g, 24])
return %8""",
        """%2 = reshape(q, dims=[g, 96])
%3 = band(rows=24, columns=24, high=0, dtype=f32)
%4 = mul(%3, t)
%5 = sum(%4, dim=1)
%6 = reshape(%5, dims=[1, 24])
%7 = expand(%6, dim=0, size=4)
%8 = reshape(%7, dims=[1, 96])
%9 = mul(%2, %8)
%10 = reshape(%9, dims=[4*g, 24])
return %10""",
    )

    assert isinstance(Refuter(program).attempt(graph, 0), Survived)
    assert isinstance(Checker(program).check(graph), Verified)


def test_a_grid_may_be_a_symbol_of_the_data_too():
    text = """%1 = custom(x) grid[x=m, y=n] loop[i=f]
  %0 = load(0, imap=[0, 1], fmap=1)
  %1 = max(%0, dim=1)
  %2 = accum(%1)
  %3 = store(%2, omap=[0, 1])
return %1"""
    inputs = "x = input f32[m*k, f*n]"
    goal = """%1 = reshape(x, dims=[m*k, {dims}])
%2 = sum(%1, dim={along})
%3 = reshape(%2, dims=[m*k, n])
return %3"""
    program, right = pair_of(inputs, goal.format(dims="n, f", along=2), text)
    other, _ = pair_of(inputs, goal.format(dims="f, n", along=1), text)

    assert isinstance(Checker(program).check(right), Verified)
    assert isinstance(Checker(other).check(right), Refuted)


def test_inputs_that_name_one_symbol_are_equally_long():
    program, right = pair_of(
        "x = input f32[n]; y = input f32[n]",
        "%2 = sum(x, dim=0)\n%3 = sum(y, dim=0)\n%4 = add(%2, %3)\nreturn %4",
        "%2 = add(x, y)\n%3 = sum(%2, dim=0)\nreturn %3",
    )
    verdict = Checker(program).check(right)

    assert isinstance(verdict, Verified)
    assert verdict.proof.claim.startswith("for all positive integers n,")


def test_numbers_that_are_alike_are_no_one_size():
    """4096 and 4096 may be two extents of a family that happen to be equal."""
    program, same = pair_of(
        "x = input f32[4096]; y = input f32[4096]",
        "%2 = sum(x, dim=0)\n%3 = sum(y, dim=0)\n%4 = add(%2, %3)\nreturn %4",
        "%2 = add(x, y)\n%3 = sum(%2, dim=0)\nreturn %3",
    )
    outcome = Refuter(program).attempt(same, 0)

    assert isinstance(outcome, Survived) and outcome.coinciding


def test_what_only_one_can_divide_is_cut_by_one():
    """The grid of the partial sums is their number: every tile of it is one long, and no loop cuts that further."""
    inputs, goal = "x = input f32[b, s]", "%1 = exp(x)\nreturn %1"
    text = """%1 = custom(x) grid[x=s] loop[i=f]
  %0 = load(0, imap=[1], fmap=1)
  %1 = exp(%0)
  %2 = accum({})
  %3 = store(%2, omap=[1])
return %1"""
    program, right = pair_of(inputs, goal, text.format("%1"))
    _, wrong = pair_of(inputs, goal, text.format("%0"))
    outcome = Refuter(program).attempt(right, 0)

    assert isinstance(outcome, Survived)
    assert {1} == {dict(t.sizes)["f"] for t in outcome.trials}
    assert isinstance(Refuter(program).attempt(wrong, 0), Counterexample)


def test_where_products_of_many_sizes_grow_too_large_the_smallest_will_do():
    inputs, goal = "x = input f32[a*b*c*d, a*b*c*e]", "%1 = mul_scalar(x, 2)\nreturn %1"
    program, right = pair_of(inputs, goal, "%1 = add(x, x)\nreturn %1")
    extents = Extents(program)
    pair = extents.pair(right)
    assert not isinstance(pair, str)
    found = extents.instance(pair)

    assert isinstance(found, Instance)
    assert np.prod(found.shapes[0][1]) <= MAX_ELEMENTS
    assert isinstance(Checker(program).check(right), Verified)


def test_a_solver_gives_up_after_its_tries_and_says_no():
    equations = (("product", (1,), (2, 3)), ("sum", (1,), (2, 3)))
    yes = Solver(equations, {2: 2, 3: 2}, (), (), 100, lambda _: True)  # type: ignore[arg-type]
    assert yes.assign_all([(0, 1)]) and yes.solve([(2, range(2, 9)), (3, range(2, 9))])
    assert (4, 2, 2) == (yes.values[1], yes.values[2], yes.values[3])
    no = Solver(equations, {2: 3, 3: 3}, (), (), 100, lambda _: True)  # type: ignore[arg-type]
    assert not no.solve([(2, range(2, 9)), (3, range(2, 9))])


def test_a_band_whose_bound_speaks_of_a_symbol_means_that_very_size():
    program = parse_program(
        "program f\n  x = input f32[n, n]\n  %1 = band(rows=n, columns=n, high=n - 1, dtype=f32)\n"
        "  %2 = mul(x, %1)\n  return %2"
    )
    keeps_all = parse("sgraph\n  x = input f32[n, n]\n  %1 = mul_scalar(x, 1)\n  return %1")
    leaves_one_out = parse(
        "sgraph\n  x = input f32[n, n]\n  %1 = band(rows=n, columns=n, high=n - 2, dtype=f32)\n"
        "  %2 = mul(x, %1)\n  return %2"
    )

    assert isinstance(Checker(program).check(keeps_all), Verified)
    assert isinstance(Checker(program).check(leaves_one_out), Refuted)
