"""A normal form means what the program does: evaluated at every point against the interpreter.

Thousands of arbitrary programs, right and wrong. Comparing verdicts alone would be weak: a wrong normal form
rarely equals the goal, so it would go unnoticed. Each kernel-level tensor that has a form is compared, not the
result alone.
"""

from __future__ import annotations

import random
from collections import Counter
from functools import cache, partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prism_explore.errors import ShapeError
from prism_explore.frontend import trace
from prism_explore.frontend.workloads import Workload
from prism_explore.ir.graph import SGraph
from prism_explore.ir.interpreter.reference import evaluate, evaluate_all
from prism_explore.ir.ops import Band, Binary, Input, Op, RunningMax, Scalar
from prism_explore.ir.program import TensorProgram
from prism_explore.ir.text import parse, show
from prism_explore.verify.normal_form.algebra import Algebra, NoNormalForm
from prism_explore.verify.normal_form.forms import NormalForm
from prism_explore.verify.normal_form.lower_graph import lower
from tests.strategies import programs
from tests.verify.candidates import Entry, constants_of, row_of, spelled
from tests.verify.corpus import CASES, PROGRAMS
from tests.verify.mutate import mutate, smaller
from tests.verify.pointwise import Array, Meaning, TooLong, other_bottoms, total_functions
from tests.verify.programs import arbitrary, draw_inputs, sizes_of
from tests.verify.workloads import ENTRIES

PROGRAMS_IN_ALL = 2_500
"""A hundred thousand by `make thorough`."""
LARGEST_ERROR = 1e-6
LARGEST_VALUE = 1e9
SMALLEST_DIFFERENCE = 1e-7
"""About the root of a float's last digit: what a root of a difference of equal numbers may be."""
ALGEBRAS = (Algebra, Algebra, partial(Algebra, expand_definitions=True), partial(Algebra, by_order=True))
"""Half of all forms know functions by name."""


def disagreement(graph: SGraph, r: random.Random, algebra: Algebra | None = None) -> float | str:
    """The largest relative difference at any point of any tensor that has a form, or why there is none."""
    algebra = algebra or Algebra()
    algebra.restart()
    try:
        forms = lower(graph, algebra).values
    except NoNormalForm as stuck:
        return stuck.limit.split(":")[0]
    worst, compared = 0.0, 0
    scans = any(masks(graph))
    choices = sizes_of(graph, 16)
    for sizes in r.sample(choices, min(len(choices), 2)):
        if scans and any(_leaves_a_row_empty(node.op, sizes) for node in graph.nodes):
            continue
        inputs = draw_inputs(graph, sizes, r, coarse=0.0 if scans else 0.4)
        meaning = Meaning(sizes, inputs)
        with np.errstate(all="ignore"), total_functions():
            truths = limits(graph, inputs, sizes)
            for n, (node, truth) in enumerate(zip(graph.nodes, truths, strict=True)):
                if isinstance(node.op, Input):
                    continue
                try:
                    error = _largest(truth, meaning.tensor(forms[n], truth.shape))
                except TooLong:
                    continue
                if error > LARGEST_ERROR and _shaky(graph, n, forms[n], inputs, sizes):
                    continue
                worst = max(worst, error)
                compared += 1
    return worst if compared else "nothing to compare"


def _leaves_a_row_empty(op: Op, sizes: dict[str, int]) -> bool:
    """Whether a band keeps nothing of some row: a softmax of it has no limit, and nothing is claimed of it."""
    if not isinstance(op, Band):
        return False
    low, high = (d and d.rational(sizes) for d in (op.low, op.high))
    columns = range(op.columns.value(sizes))
    return not all(
        any((low is None or low <= j - i) and (high is None or j - i <= high) for j in columns)
        for i in range(op.rows.value(sizes))
    )


def limits(graph: SGraph, inputs: dict[str, Array], sizes: dict[str, int]) -> tuple[Array, ...]:
    """Every kernel-level tensor; no number where what is masked has no limit, of which nothing is claimed."""
    truths = evaluate_all(graph, inputs, sizes)
    scanned = masks(graph)
    if not scanned:
        return truths
    # A scan's first tile may be masked as a whole; there minus infinity itself would be no number.
    for seed in (1, 2, 3, 4) if all(scanned) else (1, None):
        with other_bottoms(seed):
            others = evaluate_all(graph, inputs, sizes)
        truths = tuple(
            np.where(np.isclose(t, o, rtol=1e-9, atol=1e-12), t, np.nan) for t, o in zip(truths, others, strict=True)
        )
    return truths


def masks(graph: SGraph) -> list[bool]:
    """For each masked value, whether a running maximum is taken of it."""
    found: list[bool] = []
    for nodes in (graph.nodes, *(block.nodes for _, block in graph.customs)):
        for mask in (n for n, node in enumerate(nodes) if isinstance(node.op, Binary) and node.op.fn == "mask"):
            low = {mask}
            for n, node in enumerate(nodes):
                match node.op:
                    case Binary("sub") | Scalar("add" | "mul") | RunningMax() if node.args[0] in low:
                        low.add(n)
                    case _:
                        pass
            found.append(any(isinstance(nodes[n].op, RunningMax) for n in low))
    return found


def _largest(truth: Array, found: Array, most: float = LARGEST_VALUE) -> float:
    """The largest relative difference where both are numbers of some use: an exponential may overflow."""
    usable = np.isfinite(truth) & (np.abs(truth) < most) & np.isfinite(found)
    apart = np.abs(truth - found)[usable]
    error = np.where(apart < SMALLEST_DIFFERENCE, 0.0, apart) / (np.abs(truth[usable]) + 1e-3)
    return float(error.max(initial=0.0))


def _shaky(graph: SGraph, n: int, form: NormalForm, inputs: dict[str, Array], sizes: dict[str, int]) -> bool:
    """Whether rounding alone moves a side: a quotient of what should be 0, a difference of large numbers."""
    rng = np.random.default_rng(0)
    truth = evaluate_all(graph, inputs, sizes)[n]
    value = Meaning(sizes, inputs).tensor(form, truth.shape)
    for _ in range(4):
        moved = {name: x * (1 + 1e-12 * rng.uniform(-1, 1, x.shape)) for name, x in inputs.items()}
        other = evaluate_all(graph, moved, sizes)[n], Meaning(sizes, moved).tensor(form, truth.shape)
        # A value as large as the inverse of what rounding leaves of 0 is no number of use, and moves all the same.
        if max(_largest(truth, other[0]), _largest(value, other[1], most=np.inf)) > LARGEST_ERROR / 100:
            return True
    return False


@pytest.mark.slow
@pytest.mark.mutants
def test_the_normal_forms_of_arbitrary_graphs_mean_what_the_graphs_compute(request):
    wanted = (request.config.getoption("--mutants") or PROGRAMS_IN_ALL) * 3 // 5
    r = random.Random(7)
    tally: Counter[str] = Counter()
    while tally["compared"] < wanted:
        graph = arbitrary(r)
        outcome = disagreement(graph, r, r.choice(ALGEBRAS)())
        if isinstance(outcome, str):
            tally[outcome] += 1
            continue
        assert outcome < LARGEST_ERROR, show(graph)
        tally["compared"] += 1
    print(dict(tally))


TINY = {"b": 2, "d": 4, "n": 6, "s": 4, "t": 6, "h": 4, "g": 2, "r": 2, "e": 2, "window": 3}
TINY_BLOCK = {"s": 4, "d": 8, "m": 4, "c": 2, "n": 6, "heads": 4, "kv_heads": 2}


def tiny(entry: Entry) -> SGraph:
    """A workload's candidate at sizes where its form can be evaluated at every point."""
    row, inputs = tiny_row(entry.workload)
    return parse(spelled(entry.text.format_map(constants_of(row.sizes)), inputs))


@cache
def tiny_row(name: str) -> tuple[Workload, list[tuple[str, str]]]:
    row = row_of(name)
    sizes = TINY_BLOCK if "heads" in row.sizes else TINY
    row = row.resized(**{k: n for k, n in sizes.items() if k in row.sizes}) if row.shapes else row
    return row, [(i.name, str(i.type)) for i in trace(row.code, row.inputs, name).program.inputs]


@pytest.mark.slow
@pytest.mark.mutants
def test_the_normal_forms_of_mutants_mean_what_the_mutants_compute(request):
    wanted = (request.config.getoption("--mutants") or PROGRAMS_IN_ALL) * 2 // 5
    r = random.Random(11)
    # A whole transformer block takes as long as fifty others, and has nothing that they have not.
    bases = [smaller(c.sgraph) for c in CASES]
    bases += [tiny(e) for e in ENTRIES if e.workload != "transformer_block"]
    # What one graph leaves behind in the memory must be as true for the next.
    algebras = [make() for make in ALGEBRAS]
    tally: Counter[str] = Counter()
    while tally["compared"] < wanted:
        graph = r.choice(bases)
        try:
            for _ in range(r.choice((0, 1, 2, 3, 4))):
                graph = mutate(graph, r)
            graph.conditions()
        except ShapeError:
            continue
        outcome = disagreement(graph, r, r.choice(algebras))
        if isinstance(outcome, str):
            tally[outcome] += 1
            continue
        assert outcome < LARGEST_ERROR, show(graph)
        tally["compared"] += 1
    print(dict(tally))


@settings(max_examples=80, deadline=None)
@given(programs(), st.integers(0, 1000))
def test_the_normal_forms_of_arbitrary_programs_mean_what_they_compute(program: TensorProgram, seed: int):
    outcome = disagreement(program.graph, random.Random(seed))

    assert isinstance(outcome, str) or outcome < LARGEST_ERROR


@pytest.mark.parametrize("name", sorted(PROGRAMS))
def test_the_programs_themselves_mean_what_they_compute(name):
    outcome = disagreement(smaller(PROGRAMS[name].graph), random.Random(0))

    assert isinstance(outcome, float)
    assert outcome < 1e-9


def test_the_comparison_would_notice_a_wrong_form():
    graph = smaller(PROGRAMS["rms_bare"].graph)
    algebra = Algebra()
    form = lower(graph, algebra).values[graph.output]
    sizes = {"b": 2}
    rng = np.random.default_rng(0)
    inputs = {i.name: rng.uniform(-1.0, 1.0, [d.value(sizes) for d in i.type.dims]) for i in graph.inputs}
    truth = evaluate(graph, inputs)[1, 3]

    assert Meaning(sizes, inputs).form(form, {"p0": 1, "p1": 3}) == pytest.approx(truth, rel=1e-12)
    assert Meaning(sizes, inputs).form(form, {"p0": 0, "p1": 3}) != pytest.approx(truth, rel=1e-3)
    wrong = algebra.scale(form, 2)
    assert Meaning(sizes, inputs).form(wrong, {"p0": 1, "p1": 3}) != pytest.approx(truth, rel=1e-3)


def test_a_maximum_of_what_is_masked_and_numbers_is_found():
    """It was looked for without end: the maximum with 0 and relu each asked for the other."""
    graph = parse(
        """sgraph
  x = input f32[6, 6]
  %1 = band(rows=6, columns=6, high=0, dtype=f32)
  %2 = mask(x, %1)
  %3 = max_scalar(%2, -2)
  %4 = relu(%3)
  return %4"""
    )

    outcome = disagreement(graph, random.Random(0))

    assert isinstance(outcome, float) and outcome < LARGEST_ERROR


def test_a_size_that_is_whole_for_one_choice_only_is_no_reason_to_fall():
    """1/gx is whole where gx is 1: a border came before the place where its window began."""
    graph = parse(
        """sgraph
  x = input f32[6, 6]
  %1 = custom(x) grid[] loop[i=gx]
    %0 = load(0, imap=[], fmap=1)
    %1 = accum(%0)
    %2 = reshape(%1, dims=[6, 2/gx, 3])
    %3 = square(%2)
    %4 = store(%3, omap=[])
  %2 = reshape(%1, dims=[6, 2, 1/gx, 3])
  %3 = permute(%2, order=[0, 2, 1, 3])
  %4 = reshape(%3, dims=[6, 2/gx, 3])
  return %4"""
    )

    outcome = disagreement(graph, random.Random(0))

    assert isinstance(outcome, float) and outcome < LARGEST_ERROR


SHORT = (
    "max(slice(concat(x, mul_scalar(y, 0), dim=0), dim=0, start=0, stop=a+b-1), dim=0)",
    "sum(slice(concat(x, mul_scalar(y, 0), dim=0), dim=0, start=0, stop=d), dim=0)",
    "mean(slice(concat(mul_scalar(x, 0), exp(y), dim=0), dim=0, start=0, stop=a+b-1), dim=0)",
)


@pytest.mark.parametrize("text", SHORT)
def test_pieces_that_may_be_empty_or_longer_than_their_dim_keep_their_meaning(text: str):
    """A sum over a piece counted its places, also those that were not there."""
    graph = parse(spelled(f"  $r = {text}\n  return $r", [("x", "f32[a]"), ("y", "f32[b]"), ("z", "f32[d]")]))

    for seed in range(20):
        outcome = disagreement(graph, random.Random(seed))
        assert isinstance(outcome, float) and outcome < LARGEST_ERROR
