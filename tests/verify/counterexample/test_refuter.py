"""The refuter finds what is wrong at small sizes, and its counterexamples can be run again."""

from __future__ import annotations

from math import inf, isnan

import numpy as np

from prism_explore.ir.graph import SGraph
from prism_explore.ir.interpreter.reference import evaluate
from prism_explore.ir.ops import Input, Node
from prism_explore.ir.program import ProgramBuilder
from prism_explore.ir.tensors import tensor
from prism_explore.ir.text import parse
from prism_explore.pipeline.stages import Counterexample
from prism_explore.verify.counterexample.inputs import draw_inputs
from prism_explore.verify.counterexample.refuter import Refuter, Survived, Untried, replay
from tests.verify.corpus import CASES, PROGRAMS

BY_NAME = {c.name: c for c in CASES}


def attempt(name: str, seed: int = 0):
    case = BY_NAME[name]
    return Refuter(PROGRAMS[case.program]).attempt(case.sgraph, seed)


def test_sizes_are_small_pairwise_different_and_at_least_two():
    for case in CASES:
        if not case.right or case.name == "rms_fused_sum_then_scale":
            continue
        outcome = attempt(case.name)
        assert isinstance(outcome, Survived), case.name
        assert 2 == len(outcome.trials)
        for trial in outcome.trials:
            numbers = [n for _, n in trial.sizes]
            assert len(numbers) == len(set(numbers))
            assert 2 <= min(numbers) and max(numbers) <= 60
        assert outcome.trials[0].sizes != outcome.trials[1].sizes


def test_equal_extents_of_the_program_are_different_in_a_trial():
    outcome = attempt("matmul_split")

    assert isinstance(outcome, Survived)
    sizes = dict(outcome.trials[0].sizes)
    assert sizes["d"] != sizes["n"]
    assert () == outcome.coinciding


def test_a_counterexample_holds_when_run_by_hand():
    case = BY_NAME["rms_of_a_tile"]
    counterexample = attempt("rms_of_a_tile")
    assert isinstance(counterexample, Counterexample)
    sizes = dict(counterexample.sizes)

    def at(graph: SGraph) -> SGraph:
        """4096 occurs as d and as n; here they are put apart by hand."""
        x, w, *rest = graph.nodes
        new = [Node(Input("x", tensor("b", "d"))), Node(Input("w", tensor("d", "n")))]
        assert [n.op.name for n in (x, w)] == [n.op.name for n in new]
        return SGraph((*new, *rest), graph.output)

    program, candidate = at(PROGRAMS["rms_bare"].graph), at(case.sgraph)
    shapes = tuple((i.name, tuple(d.value(sizes) for d in i.type.dims)) for i in program.inputs)
    inputs = draw_inputs(shapes, counterexample.seed)

    assert counterexample.expected == evaluate(program, inputs, sizes)[counterexample.index]
    assert counterexample.found == evaluate(candidate, inputs, sizes)[counterexample.index]


def test_a_counterexample_replays_and_a_survivor_does_not_become_one():
    case = BY_NAME["rms_swapped_division"]
    counterexample = attempt("rms_swapped_division")

    assert isinstance(counterexample, Counterexample)
    assert counterexample == replay(counterexample, PROGRAMS[case.program], case.sgraph)
    assert isinstance(replay(counterexample, PROGRAMS[case.program], BY_NAME["rms_fused"].sgraph), Survived)
    assert isinstance(replay(counterexample, PROGRAMS["quotient"], BY_NAME["quotient_in_blocks"].sgraph), Untried)


def test_a_race_is_a_counterexample_with_nan():
    counterexample = attempt("rms_race")

    assert isinstance(counterexample, Counterexample)
    assert isnan(counterexample.found)
    assert inf == counterexample.relative_error


def test_axes_that_must_coincide_are_named_and_a_difference_is_still_found():
    counterexample = attempt("division_moved_through_a_matmul_U2")

    assert isinstance(counterexample, Counterexample)
    assert {"b", "d", "gx", "f"} == {s for s, _ in counterexample.sizes}


def test_a_program_under_a_root_is_tried_on_positive_inputs():
    b = ProgramBuilder("root")
    program = b.build(b.reduce("sum", b.unary("sqrt", b.input("x", "b", 64)), 1))
    outcome = Refuter(program).attempt(program.graph, 0)

    assert isinstance(outcome, Survived)
    assert {(0.05, 0.75)} == {t.input_range for t in outcome.trials}


def test_a_program_without_finite_values_leaves_it_untried():
    b = ProgramBuilder("nothing")
    x = b.input("x", "b", 4)
    program = b.build(b.unary("recip", b.binary("sub", x, x)))

    assert Untried("the program has no finite value on random inputs") == Refuter(program).attempt(program.graph, 0)


def test_tiles_of_numbers_in_the_grid_are_whole_too():
    b = ProgramBuilder("cut_by_three")
    x = b.input("x", "b", 12)
    program = b.build(b.unary("tanh", x))
    sgraph = parse(
        """sgraph
  x = input f32[b, 12]
  %1 = custom(x) grid[x=3]
    %0 = load(0, imap=[1])
    %1 = tanh(%0)
    %2 = store(%1, omap=[1])
  return %1"""
    )
    outcome = Refuter(program).attempt(sgraph, 0)

    assert isinstance(outcome, Survived)
    assert all(dict(t.sizes)["d"] % 3 == 0 for t in outcome.trials)


def test_an_axis_and_a_parameter_of_one_name_stay_apart():
    program = PROGRAMS["matmul"]
    renamed = BY_NAME["matmul_split"].sgraph.substitute({"gx": "d", "f": "n"})
    outcome = Refuter(program).attempt(renamed, 0)

    assert isinstance(outcome, Survived)
    assert ["b", "d_1", "n_1", "d", "n"] == [s for s, _ in outcome.trials[0].sizes]


def test_inputs_are_the_same_for_the_same_seed():
    shapes = (("x", (3, 64)), ("y", (3, 64)))
    one, same, other = (draw_inputs(shapes, seed) for seed in (5, 5, 6))

    assert (one["x"] == same["x"]).all()
    assert not np.allclose(one["x"], other["x"])
    assert (one["x"] != one["y"]).any()
