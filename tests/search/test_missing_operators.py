"""Programs with operators that a search lacks: it ends, says what it lacks, and never says no wrongly on the way."""

from dataclasses import replace

import pytest

import prism_explore as px
from prism_explore.events.claim import claim
from prism_explore.events.journal import Journal
from prism_explore.events.kinds import ExplorationFinished, ExplorationStarted
from prism_explore.generate import generate
from prism_explore.generate.abstract_expr.polynomial import features, leaf, show
from prism_explore.generate.abstract_expr.subexpression import ExpressionBuilder, Goal
from prism_explore.instantiate import instantiate
from prism_explore.ir.axes import axes_of
from prism_explore.ir.ops import Accumulate, Band, Binary, Input, MatMul, ViewOp, op_name
from prism_explore.ir.program import ProgramBuilder, TensorProgram
from prism_explore.ir.text import parse_program
from prism_explore.pipeline.search_space import Space, default_space
from tests.generate.programs import MACHINE

ROPE = parse_program("""program rope
  x = input f32[b, 64]
  c = input f32[b, 64]
  s = input f32[b, 64]
  w = input f32[64, 32]
  %4 = slice(x, dim=1, start=0, stop=32)
  %5 = slice(x, dim=1, start=32, stop=64)
  %6 = neg(%5)
  %7 = concat(%6, %4, dim=1)
  %8 = mul(x, c)
  %9 = mul(%7, s)
  %10 = add(%8, %9)
  %11 = matmul(%10, w)
  return %11""")

CAUSAL = parse_program("""program causal
  q = input f32[s, 32]
  k = input f32[32, t]
  v = input f32[t, 32]
  %3 = matmul(q, k)
  %4 = band(rows=s, columns=t, high=0, dtype=f32)
  %5 = mask(%3, %4)
  %6 = max(%5, dim=1)
  %7 = sub(%5, %6)
  %8 = exp(%7)
  %9 = sum(%8, dim=1)
  %10 = div(%8, %9)
  %11 = matmul(%10, v)
  return %11""")

HEADS = parse_program("""program heads
  x = input f32[b, 64]
  w = input f32[64, 64]
  %2 = matmul(x, w)
  %3 = reshape(%2, dims=[b, 4, 16])
  %4 = permute(%3, order=[1, 0, 2])
  %5 = sum(%4, dim=2)
  return %5""")

CLAMPED = parse_program("""program clamped
  x = input f32[b, 64]
  y = input f32[b, 64]
  %2 = max(x, y)
  %3 = max(%2, x)
  %4 = min_scalar(%3, 6)
  %5 = pow_scalar(%4, 3)
  %6 = pow_scalar(%5, -1/2)
  %7 = gelu(%6)
  %8 = max(%7, dim=1)
  %9 = mul(%7, %8)
  %10 = sum(%9, dim=1)
  return %10""")

PROGRAMS = (ROPE, CAUSAL, HEADS, CLAMPED)


def values_of(program):
    """The abstract expression of every tensor of a program, as a search sees it."""
    graph = program.graph
    table = axes_of(graph)
    theory = ExpressionBuilder(frozenset(a.name for a in table.axes))
    values = []
    for position, node in enumerate(graph.nodes):
        if isinstance(node.op, Input | Band):
            name = node.op.name if isinstance(node.op, Input) else "band"
            values.append(leaf(name, table.of[position]))
        else:
            args = tuple(values[a] for a in node.args)
            values.append(theory.apply(node.op, args, tuple(table.of[a] for a in node.args)))
    return values


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.name)
def test_every_tensor_of_a_program_is_part_of_its_result(program):
    values = values_of(program)
    goal = Goal(values[program.graph.output])

    assert [] == [f"%{i}" for i, value in enumerate(values) if not goal.reaches(value)]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.name)
def test_two_operands_of_one_operator_never_exclude_each_other(program):
    values = values_of(program)
    goal = Goal(values[program.graph.output])
    pairs = [n.args for n in program.graph.nodes if len(n.args) == 2]

    assert [] == [pair for pair in pairs if not goal.reaches_both(*(values[a] for a in pair))]


def test_an_operator_with_two_operands_is_no_missing_function_of_one():
    b = ProgramBuilder("largest")
    program = b.build(b.binary("max", b.input("x", 4, 8), b.input("y", 4, 8)))

    assert frozenset() == features(values_of(program)[program.graph.output])


def test_maxima_commute_and_masks_do_not():
    x, y, z = (leaf(name) for name in "xyz")
    theory = ExpressionBuilder()

    def made(fn, a, b):
        return theory.apply(Binary(fn), (a, b), ((), ()))

    assert made("max", x, y) == made("max", y, x)
    assert made("max", x, y) != made("min", x, y)
    assert made("mask", x, y) != made("mask", y, x)
    assert "max(z, max(x, y))" == show(made("max", z, made("max", y, x)))
    assert "mask(y, x)" == show(made("mask", y, x))


def without_views(program: TensorProgram) -> Space:
    """The default space, as it was before it had views."""
    space = default_space(program)
    return replace(space, block=replace(space.block, views=()), nodes=300)


@pytest.mark.parametrize(
    ("program", "lacking"),
    [(ROPE, ("slice", "concat")), (HEADS, ("reshape", "permute")), (CAUSAL, ()), (CLAMPED, ())],
    ids=lambda p: getattr(p, "name", ""),
)
def test_a_search_ends_and_claims_what_it_lacked(program, lacking):
    space = without_views(program)
    journal = Journal(clock=lambda: 0.0)
    journal.append(ExplorationStarted(program.name, "toy", 0, space.describe(program), ()))
    for family in generate(program, space, MACHINE, journal):
        if family is not None:
            list(instantiate(family, space, MACHINE, journal))

    says = claim(journal.events, "exhausted")
    assert lacking == space.lacks(program)
    for name in lacking:
        assert name in says
    assert ("families that need it were not searched" in says) == bool(lacking)


def test_a_default_search_lacks_nothing():
    assert [()] * len(PROGRAMS) == [default_space(p).lacks(p) for p in PROGRAMS]


def test_the_lack_counts_as_no_limit_of_the_space():
    stated = without_views(ROPE).describe()
    lacking = without_views(ROPE).describe(ROPE)

    assert set(lacking) - set(stated) == {"operators of the program that it lacks"}
    assert f"({len(stated)} limits)" in claim([ExplorationStarted("rope", "toy", 0, lacking, ())])


def test_a_band_is_given_to_kernels_like_an_input():
    """A masked product: the search loads the band and finds the fused kernel."""
    program = parse_program("""program masked
      q = input f32[s, 32]
      k = input f32[32, t]
      %2 = matmul(q, k)
      %3 = band(rows=s, columns=t, high=0, dtype=f32)
      %4 = mask(%2, %3)
      %5 = exp(%4)
      return %5""")
    space = default_space(program)
    journal = Journal(clock=lambda: 0.0)
    families = [f for f in generate(program, space, MACHINE, journal) if f is not None]
    graphs = [c.sgraph for f in families for c in instantiate(f, space, MACHINE, journal)]

    assert families
    assert all(any(isinstance(n.op, Band) for n in g.nodes) for g in graphs)
    assert any(isinstance(n.op, MatMul) for g in graphs for _, b in g.customs for n in b.nodes)
    assert all("mask" in [op_name(n.op) for _, b in g.customs for n in b.nodes] for g in graphs)


def test_a_maximum_over_the_loop_is_found_where_the_program_takes_one():
    program = parse_program("""program largest
      x = input f32[b, 64]
      w = input f32[64, 96]
      %2 = matmul(x, w)
      %3 = max(x, dim=1)
      %4 = sub(%2, %3)
      return %4""")
    space = default_space(program)
    journal = Journal(clock=lambda: 0.0)
    families = [f for f in generate(program, space, MACHINE, journal) if f is not None]
    graphs = [c.sgraph for f in families for c in instantiate(f, space, MACHINE, journal)]
    blocks = [b for g in graphs for _, b in g.customs if b.loop]
    accumulators = [{n.op for n in b.nodes if isinstance(n.op, Accumulate)} for b in blocks]

    assert "max" not in default_space(ROPE).block.accumulators
    assert {Accumulate("sum"), Accumulate("max", 1)} in accumulators


@pytest.mark.parametrize("program", [ROPE, CAUSAL, HEADS], ids=lambda p: p.name)
def test_a_session_over_such_a_program_finishes_with_an_honest_claim(program):
    at = dict.fromkeys(program.graph.data_symbols, 64)
    session = px.Session(program, target="h100", at=at, space=replace(without_views(program), rows=0))
    session.run()

    assert "finished" == session.state, session.failure
    assert isinstance(session.journal.events[-1], ExplorationFinished)
    lacking = session.task.space.lacks(program)
    assert all(name in session.claim for name in lacking)
    assert bool(lacking) == ("No family found within the stated space" in session.claim)
    session.close()


@pytest.mark.parametrize("program", [ROPE, HEADS], ids=lambda p: p.name)
def test_kernels_in_a_row_leave_such_operators_outside_of_kernels(program):
    space = without_views(program)
    session = px.Session(program, target="h100", at=dict.fromkeys(program.graph.data_symbols, 64), space=space)
    session.run()
    session.close()

    assert len(session.families)
    for handle in session.families.values():
        for _, block in handle.graph.customs:
            assert not [n for n in block.nodes if isinstance(n.op, ViewOp)]
