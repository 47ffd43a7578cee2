"""Trials at sizes that candidates share: what they give is what the interpreter gives, block by block."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest

from prism_explore.errors import ShapeError
from prism_explore.events.journal import Journal
from prism_explore.generate import generate
from prism_explore.instantiate import instantiate
from prism_explore.ir.graph import SGraph
from prism_explore.ir.interpreter.memoized import MemoizedInterpreter
from prism_explore.ir.interpreter.reference import Array, run
from prism_explore.ir.text import parse, parse_program, show
from prism_explore.pipeline.search_space import default_space
from prism_explore.pipeline.stages import Verified
from prism_explore.verify.counterexample.inputs import draw_inputs
from prism_explore.verify.counterexample.refuter import Counterexample, Refuter, Survived
from prism_explore.verify.counterexample.shared_trials import EQUAL_FLOATS, SharedTrial, TilingSizes
from prism_explore.verify.prover import Prover
from prism_explore.verify.shapes.concretize import Extents
from prism_explore.verify.shapes.instance import Instance
from tests.generate.programs import MACHINE
from tests.verify.mutate import mutants
from tests.verify.workloads import ENTRIES, program_of, sgraph_of

BY_WORKLOAD = {e.workload: [f for f in ENTRIES if f.workload == e.workload] for e in ENTRIES}
COMMON = {"attention", "gqa", "gated_mlp", "rmsnorm_linear", "lora", "layernorm_linear", "causal_attention"}
MATMUL = """program p
  x = input f32[b, 4096]
  w = input f32[4096, 64]
  %2 = matmul(x, w)
  return %2"""
SPLIT = """sgraph
  x = input f32[b, 4096]
  w = input f32[4096, 64]
  %2 = custom(x, w) grid[x=gx, y=gy] loop[i=f]
    %0 = load(0, imap=[0, -], fmap=1)
    %1 = load(1, imap=[-, 1], fmap=0)
    %2 = matmul(%0, %1)
    %3 = accum(%2)
    %4 = store(%3, omap=[0, 1])
  return %2"""


def found(common: SharedTrial, graph: SGraph) -> tuple[dict[str, int], Array] | None:
    """The sizes at which a graph ran, and its result."""
    results: list[Array] = []

    def judge(value: Array) -> float:
        results.append(value)
        return 0.0

    common._shared.caller_cache.clear()  # what is known would not be shown again
    judged = common.compare(graph, judge)
    return None if judged is None or not results else (dict(judged[0]), results[0])


def begun(extents: Extents, turn: int, most: int = 1 << 20) -> tuple[SharedTrial, Instance, dict[str, Array]]:
    instance = extents.shared_instance(turn)
    assert isinstance(instance, Instance), instance
    inputs = draw_inputs(instance.shapes, 3, (0.05, 0.75))
    values = run(instance.program, inputs, instance.symbols)
    return SharedTrial(extents.program, instance, values, most, turn, EQUAL_FLOATS), instance, inputs


@pytest.mark.parametrize("name", sorted(BY_WORKLOAD))
def test_shared_values_are_those_of_the_interpreter_for_right_graphs_and_wrong_ones(name: str):
    """Also where nothing is kept, in the second turn."""
    program, r, ran = program_of(name), random.Random(11), 0
    extents = Extents(program)
    if isinstance(extents.shared_instance(0), str):
        pytest.skip("its tensors are too large at extents with many divisors")
    graphs = [sgraph_of(e) for e in BY_WORKLOAD[name]]
    graphs += [m for _ in range(24) if (m := mutants(r.choice(graphs), program, r)) is not None]
    for turn in (0, 1):
        if isinstance(extents.shared_instance(turn), str):
            continue
        with np.errstate(all="ignore"):
            common, instance, inputs = begun(extents, turn, most=0 if turn else 1 << 20)
            for graph in graphs:
                got = found(common, graph)
                pair = extents.pair(graph)
                if got is None or isinstance(pair, str) or pair.coinciding or any("_" in s for s in got[0]):
                    continue
                own = extents.instance(pair, 0, got[0])
                assert isinstance(own, Instance), own
                assert own.shapes == instance.shapes
                plain = run(own.candidate, inputs, own.symbols)[own.candidate.output]
                np.testing.assert_allclose(got[1], plain, rtol=1e-8, atol=1e-10)
                ran += 1
    assert ran or name not in COMMON
    if not ran:
        pytest.skip("none of them runs at shared sizes")


def test_numbers_divide_what_they_cut_and_all_differ():
    refuter = Refuter(parse_program(MATMUL))

    outcome = refuter.attempt(parse(SPLIT), 0)

    assert isinstance(outcome, Survived)
    for trial in outcome.trials:
        sizes = dict(trial.sizes)
        assert set(sizes) == {"b", "d", "n", "gx", "gy", "f"}
        assert len(set(sizes.values())) == 6
        assert min(sizes.values()) >= 2
        for axis, cut in (("b", "gx"), ("n", "gy"), ("d", "f")):
            assert sizes[axis] % sizes[cut] == 0
            assert sizes[axis] // sizes[cut] >= 2
    assert outcome.trials[0].sizes != outcome.trials[1].sizes


def test_a_wrong_candidate_is_refuted_at_sizes_of_its_own():
    refuter = Refuter(parse_program(MATMUL))

    outcome = refuter.attempt(parse(SPLIT.replace("accum(%2)", "accum_max(%2)")), 0)

    assert isinstance(outcome, Counterexample)
    assert isinstance(refuter.replay(outcome, parse(SPLIT.replace("accum(%2)", "accum_max(%2)"))), Counterexample)


def test_extents_that_nothing_cuts_and_operators_with_numbers_are_left_to_others():
    taken = TilingSizes({"b": 7}, (7, 5), {}, 0)
    with pytest.raises(ShapeError, match="no numbers cut"):
        taken(parse(SPLIT).customs[0][1], [(7, 5), (5, 11)])
    program = parse_program(MATMUL).graph
    values = run(program, {"x": np.ones((6, 4)), "w": np.ones((4, 9))}, {})
    shared = MemoizedInterpreter(program, program, values, {"b": 6}, 100, EQUAL_FLOATS)
    sliced = SPLIT.split("  %2")[0] + "  %2 = slice(x, dim=1, start=0, stop=2048)\n  return %2"
    with pytest.raises(ShapeError, match="extents as numbers"):
        shared.run(parse(sliced), lambda block, shapes: {})


@pytest.mark.parametrize("name", sorted(BY_WORKLOAD))
def test_extents_that_candidates_share_are_small_and_all_different(name: str):
    extents = Extents(program_of(name))

    for turn in (0, 1):
        instance = extents.shared_instance(turn)
        if isinstance(instance, Instance):
            numbers = [number for _, number in instance.sizes]
            assert len(set(numbers)) == len(numbers)
            assert min(numbers) >= 2


def test_an_axis_that_is_summed_over_can_be_split_and_looped_over_within_each_part():
    """One kernel for the parts, one for their sum, whichever of the axes the grids cut."""
    extents = Extents(program_of("safe_attention"))

    for turn in (0, 1):
        instance = extents.shared_instance(turn)
        assert isinstance(instance, Instance)
        shapes = dict(instance.shapes)
        for inner in (shapes["q"][3], shapes["k"][3]):
            assert inner % 6 == 0
            assert inner > 6, "2 parts of 3 tiles, of more than an element each"


@pytest.mark.filterwarnings("error")
def test_infinities_are_equal_to_themselves_without_a_warning() -> None:
    one = np.array([np.inf, -np.inf, 1.0])

    assert EQUAL_FLOATS.same(one, one.copy())
    assert not EQUAL_FLOATS.same(one, -one)
    assert not EQUAL_FLOATS.same(np.array([np.nan]), np.array([np.nan]))


GROUPED = """program grouped
  q = input f32[2, 2, 2, 12, 8]
  k = input f32[2, 2, 1, 8, 12]
  v = input f32[2, 2, 1, 12, 8]
  %3 = matmul(q, k)
  %4 = exp(%3)
  %5 = matmul(%4, v)
  return %5"""


def test_candidates_of_a_program_with_many_small_axes_run_at_shared_sizes_and_wrong_ones_are_refuted():
    """Also where no different numbers fit: then grid sizes may equal one another, or an extent."""
    program = parse_program(GROUPED)
    refuter, prover, space, journal = Refuter(program), Prover(program), default_space(program), Journal()
    families = [f for f in generate(program, space, MACHINE, Journal()) if f is not None]
    candidates = [c for f in families[:4] for c in instantiate(f, space, MACHINE, journal)]

    right = [c for c in candidates if isinstance(prover.verify(c, journal), Verified)]
    shared = [c for c in right if refuter._shared_trial(c.sgraph, 0, 0) and refuter._shared_trial(c.sgraph, 1, 1)]

    assert len(shared) > 0.9 * len(right) > 100
    r, refuted = random.Random(3), 0
    for candidate in r.sample(right, 60):
        wrong = mutants(candidate.sgraph, program, r)
        if wrong is None or prover.prove(replace(candidate, sgraph=wrong), journal) == "normal form":
            continue
        assert not isinstance(refuter.attempt(wrong, 0), Survived), show(wrong)
        refuted += 1
    assert refuted > 10
