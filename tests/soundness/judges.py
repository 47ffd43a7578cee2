"""Three judges of whether a candidate equals its program, and what contradicts what.

judge        looks at                                                         shares with the others
prover       normal forms, and the refuter's trials                           the graphs
exact        residues or rationals (`numbers.py`, `plain_evaluator.py`)       the graphs, definitions of functions
floats       torch in float64, the compiled kernel in float32, and bounds     the graphs; `plain_evaluator.py` for the
             of their rounding (`intervals.py`)                               width of a bound only
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import inf, isfinite
from typing import Any, Literal

import numpy as np

from prism_explore.codegen.cpu.load import load_plan
from prism_explore.codegen.cpu.plan import plan
from prism_explore.events.journal import Journal
from prism_explore.ir.graph import SGraph
from prism_explore.ir.ops import Binary, Input, Reduce
from prism_explore.ir.program import TensorProgram
from prism_explore.ir.tensors import INTEGERS, NAMES, WHOLE_NUMBERS
from prism_explore.ir.text import parse, parse_program, show
from prism_explore.pipeline.stages import Cause, Parameters, Refuted, Unknown, Verified
from prism_explore.verify.prover import Prover
from tests.soundness.intervals import FLOAT32, FLOAT64, Intervals, Rounding, exact, widened
from tests.soundness.numbers import (
    NoValue,
    Rationals,
    Residue,
    Residues,
    has_logarithm,
    has_root_of_positive,
    needs_order,
)
from tests.soundness.numbers import P as LARGE_PRIME
from tests.soundness.numbers import Q as SMALL_PRIME
from tests.soundness.plain_evaluator import Race, Values, as_it_is, evaluate, operators_of
from tests.soundness.programs import DRAWINGS, drawn_inputs, position_limits
from tests.soundness.torch_meaning import in_torch
from tests.verify.corpus import candidate
from tests.verify.exact import Exact, Inexact
from tests.verify.programs import sizes_of

Word = Literal["equal", "different", "cannot say"]
TRIALS, DRAWS = 3, 10
"""Exact trials of a pair, and inputs that are drawn for them at most."""
RATIONALS = (-2, -1, -1, -0.5, 0, 0, 0.5, 1, 1, 2, 3)
STORED = {"bf16": Rounding(2.0**-8, 2.0**-134, 3e38), "f16": Rounding(2.0**-11, 2.0**-25, 65504.0)}
"""What storing a result adds; float32 is what kernels compute in."""
DRAWINGS_EACH = 2
"""Kinds of inputs that one kernel runs on; the next seed has others."""
LOOSE = 0.05
"""A bound says little that is wider than this share of the result."""
HUGE = 1e100
"""Beyond it a float64 stands for an infinity: torch has no minus infinity for what is masked."""


@dataclass(frozen=True)
class Pair:
    """A program and a graph that may equal it."""

    program: TensorProgram
    graph: SGraph

    def __str__(self) -> str:
        return f"{show(self.program)}\n{show(self.graph)}"


@dataclass(frozen=True)
class Judged:
    """What the judges say of a pair."""

    verdict: Literal["proved", "refuted", "unknown"]
    exact: Word = "cannot say"
    elements: int = 0
    """Elements of kernels' results that lay within a bound that says something."""
    contradictions: tuple[str, ...] = ()


def read_pair(text: str) -> Pair:
    """The pair of a case's text: lines of what was wrong, an empty line, the program and the sGraph."""
    program, _, graph = text[text.index("\nprogram ") + 1 :].partition("\nsgraph\n")
    return Pair(parse_program(program), parse(f"sgraph\n{graph}"))


def show_case(pair: Pair, contradictions: Sequence[str]) -> str:
    """The text of a case; `read_pair` reads it."""
    return "\n".join((*(line.replace("\n", " ") for line in contradictions), "", str(pair))) + "\n"


def judge(pair: Pair, seed: int, prover: Prover, *, is_right: bool = False, with_kernel: bool = True) -> Judged:
    """Ask all judges.

    Args:
        pair: the program and the graph.
        seed: of the judges' inputs.
        prover: of the program.
        is_right: whether the graph is equal by construction.
        with_kernel: whether a proved graph is compiled and run.
    """
    verdict = prover.verify(candidate(pair.program, pair.graph), Journal(clock=lambda: 0.0), seed)
    match verdict:
        case Verified():
            found = exactly(pair, seed)
            contradictions = ["proved, and exact arithmetic differs"] if found == "different" else []
            elements = 0
            if with_kernel:
                elements, more = in_floats(pair, seed)
                contradictions += more
            return Judged("proved", found, elements, tuple(contradictions))
        case Refuted(counterexample=c):
            found = exactly(pair, seed, wanted=6)
            contradictions = []
            if is_right:
                contradictions.append(f"refuted, and equal by construction: {c}")
            elif found == "equal" and not needs_order(pair.graph) and not needs_order(pair.program.graph):
                contradictions.append(f"refuted, and equal in exact arithmetic: {c}")
            return Judged("refuted", found, 0, tuple(contradictions))
        case Unknown(cause=cause, case=case):
            found = exactly(pair, seed)
            told = cause is Cause.DISAGREEMENT and found != "different"
            return Judged("unknown", found, 0, (f"prover and refuter disagree: {case}",) if told else ())


# ---------------------------------------------------------------- exact arithmetic
def exactly(pair: Pair, seed: int, wanted: int = 2) -> Word:
    """Whether both sides are equal at random exact numbers, at several choices of sizes."""
    r = random.Random(seed)
    program, graph = pair.program.graph, pair.graph
    if graph.output_type.dtype in INTEGERS:  # a program's result is none: lookups give numbers
        return "different"
    compares = any(f(g) for f in (needs_order, has_logarithm, has_root_of_positive) for g in (program, graph))
    has_masks = any(node.op == Binary("mask") for node in (*operators_of(program), *operators_of(graph)))
    choices = small_sizes(graph, wanted)
    done = 0
    for n in range(DRAWS if choices else 0):
        sizes = choices[n % len(choices)]
        numbers: Any = Rationals(has_masks) if compares else _residues(r)
        limits = position_limits((program, graph), sizes)
        inputs = {i.name: _drawn(i, sizes, limits, r, compares) for i in program.inputs}
        checked = partial(_no_row_of_masked, program) if has_masks else as_it_is
        try:
            expected = evaluate(program, inputs, sizes, numbers, checked)
            found = evaluate(graph, inputs, sizes, numbers)
        except (NoValue, Inexact):
            continue
        except Race:
            return "different"
        if not all(map(numbers.agree, expected.flat, found.flat)):
            return "different"
        done += 1
        if done == max(TRIALS, len(choices)):
            break
    return "equal" if done >= len(choices) > 0 else "cannot say"


def small_sizes(graph: SGraph, wanted: int) -> list[dict[str, int]]:
    """Different choices of numbers, small ones first, at which every tile is whole and where possible no size is 1."""
    found = {tuple(sizes.items()): sizes for sizes in sizes_of(graph, 12)}.values()
    return sorted(found, key=lambda s: (1 in s.values(), sum(s.values())))[:wanted]


def _residues(r: random.Random) -> Residues:
    return Residues(pow(r.randrange(2, LARGE_PRIME), 2, LARGE_PRIME), r.randbytes(16))


def _drawn(
    given: Input, sizes: Mapping[str, int], limits: Mapping[str, int], r: random.Random, compares: bool
) -> Values:
    out = np.empty([d.value(sizes) for d in given.type.dims], object)
    for at in np.ndindex(*out.shape):
        if given.name in limits:
            out[at] = r.randrange(limits[given.name])
        elif given.type.dtype in WHOLE_NUMBERS:
            low, high = WHOLE_NUMBERS[given.type.dtype]
            number = r.randint(low, high)
            out[at] = Exact(number) if compares else Residue(number % LARGE_PRIME, number % SMALL_PRIME)
        elif compares:
            out[at] = Exact(r.choice(RATIONALS))
        else:
            out[at] = Residue(r.randrange(LARGE_PRIME), r.randrange(SMALL_PRIME))
    return out


def _no_row_of_masked(program: SGraph, position: int, value: Values) -> Values:
    """No claim is about a maximum of nothing but masked entries."""
    op = program.nodes[position].op
    if isinstance(op, Reduce) and op.fn == "max" and any(x.low > 0 for x in value.flat):
        raise NoValue("a row of masked entries")
    return value


# ---------------------------------------------------------------- floats
def in_floats(pair: Pair, seed: int) -> tuple[int, list[str]]:
    """The compiled kernel, torch in float64 and the bounds of both, at every kind of inputs.

    Returns:
        How many elements were compared, and what contradicts what.
    """
    program, graph = pair.program.graph, pair.graph
    sizes = next(iter(small_sizes(graph, 1)), None)
    if sizes is None:
        return 0, []
    own = {s: sizes[s] for s in graph.parameters}
    shapes = {s: sizes[s] for s in graph.data_symbols}
    made = plan(graph, Parameters(tuple(own.items()), ()), shapes)
    if isinstance(made, str):
        return 0, []
    kernel = load_plan(made)
    limits = position_limits((program, graph), sizes)
    compared, contradictions = 0, []
    for n in range(DRAWINGS_EACH):
        drawing = DRAWINGS[(seed + n) % len(DRAWINGS)]
        given = drawn_inputs(pair.program, shapes, limits, drawing, seed + n)
        expected, found = _in_torch(pair.program, given, shapes, kernel)
        wide, narrow = (_bounds(side, given, sizes, floats) for side, floats in ((program, FLOAT64), (graph, FLOAT32)))
        if narrow is None:
            return compared, [*contradictions, f"a proved kernel whose blocks race, at {sizes}"]
        assert wide is not None, "a program has no blocks"
        where = f"{drawing.name}, seed {seed + n}, at {sizes}"
        if expected.shape != found.shape:
            return compared, [
                *contradictions,
                f"the kernel's shape is {found.shape}, torch's {expected.shape}: {where}",
            ]
        for at in np.ndindex(*expected.shape):
            a, b = wide[at], narrow[at]
            if a is None or b is None or not _tells(b):
                continue
            compared += 1
            what = _contradiction(float(expected[at]), a, float(found[at]), b)
            if what:
                contradictions.append(f"{what}, element {at}: {where}")
                break
    return compared, contradictions


def _in_torch(
    program: TensorProgram, given: Mapping[str, np.ndarray], shapes: Mapping[str, int], kernel: Callable[..., Any]
) -> tuple[np.ndarray, np.ndarray]:
    """The program by torch in float64, and the kernel's result."""
    import torch

    tensors = {name: torch.tensor(x) for name, x in given.items()}
    expected = in_torch(program.graph, tensors, shapes)
    found = kernel(*(tensors[i.name].to(getattr(torch, NAMES[i.type.dtype])) for i in program.inputs))
    return expected.double().numpy(), found.double().numpy()


def _bounds(
    graph: SGraph, given: Mapping[str, np.ndarray], sizes: Mapping[str, int], floats: Intervals
) -> Values | None:
    """The interval of every element; None where two blocks write intervals that do not meet."""
    dtypes = [t.dtype for t in graph.types()]

    def stored(position: int, value: Values) -> Values:
        rounding = STORED.get(dtypes[position])
        return _each(lambda b: widened(b, rounding), value) if rounding and floats is FLOAT32 else value

    inputs = {name: x if x.dtype == np.int64 else _each(exact, x.astype(object)) for name, x in given.items()}
    try:
        return evaluate(graph, inputs, sizes, floats, stored)
    except Race:
        return None


def _each(fn: Callable[[Any], Any], values: Values) -> Values:
    out = np.empty(values.shape, object)
    for at in np.ndindex(*values.shape):
        out[at] = fn(values[at])
    return out


def _tells(bounds: tuple[float, float]) -> bool:
    low, high = bounds
    return low == high or (high - low) <= LOOSE * max(abs(low), abs(high)) + 1e-3


def _contradiction(expected: float, wide: tuple[float, float], found: float, narrow: tuple[float, float]) -> str:
    """What is not as it should be; empty if nothing."""
    expected = expected if abs(expected) < HUGE else inf if expected > 0 else -inf
    if not (isfinite(wide[0]) and isfinite(narrow[0])):
        same = wide == narrow
        return "" if same else f"the program is within {wide}, the kernel within {narrow}"
    if not wide[0] <= expected <= wide[1]:
        return f"torch gives {expected!r}, and the program is within {wide}"
    if not narrow[0] <= found <= narrow[1]:
        return f"the kernel gives {found!r}, within {narrow} is right, torch gives {expected!r}"
    if wide[1] < narrow[0] or narrow[1] < wide[0]:
        return f"proved, and the program is within {wide}, the kernel within {narrow}"
    return ""
