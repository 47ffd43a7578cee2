"""`px.check` and `px.assert_equivalent`."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from prism_explore.diagnose.check import fit_to_program
from prism_explore.entry.equivalence.decide import decide, with_difference
from prism_explore.entry.equivalence.draws import near_numbers_of
from prism_explore.entry.equivalence.execution import Leaf, one_thread
from prism_explore.entry.equivalence.outcome import Equivalence, ResultCheck
from prism_explore.entry.equivalence.programs import Programs, TracedSide, TracedSides
from prism_explore.entry.equivalence.sides import Code, Graph, Side, Sides, match_sides
from prism_explore.entry.equivalence.trials import TrialLog, Trials
from prism_explore.errors import PrismError
from prism_explore.ir.graph import SGraph
from prism_explore.ir.program import TensorProgram
from prism_explore.ir.tensors import TensorType
from prism_explore.verify.counterexample.inputs import compared_inputs, masks_of

MAX_TRIAL_ELEMENTS = 1 << 20
"""A graph whose tensors have more elements is judged by the prover and its own trials only."""


def check(
    f: Any, g: Any, /, *, inputs: Mapping[str, Any] | None = None, seed: int = 0, **more_inputs: Any
) -> Equivalence:
    """Decide whether two torch functions, modules or graphs compute the same, for all values of the declared symbols.

    What is compared: functions of real numbers, for all inputs and all sizes that were declared symbolic; other sizes
    are as declared. Rounding, overflow and NaN are no part of a proof. They are measured instead: `floats` says how
    much the results differ in the declared dtype on random inputs. Parameters of modules are variables that both sides
    share, so an answer holds for all values of them. A proof divides by x/0 = 0 and lists its conditions.

    A side is a torch function, a module, a `TensorProgram`, an sGraph, the text of one, or the path of a file with such
    a text or with one graph of Mirage. Arguments are matched by name, else by position, and a note says so.

    Args:
        f: the first side.
        g: the second side.
        inputs: per argument `T(...)` or an example tensor; for arguments named `inputs` or `seed`.
        seed: of the random inputs.
        more_inputs: the same as keywords. Two graphs need none.

    Returns:
        `outcome` is `proved`, `refuted` (with a `witness`: sizes, inputs, both values), `up to constants` (the same
        formula but for constants that differ by less than 1e-6, such as 0.70710678 and 1/√2), or `unknown` (with
        `parting`, the smallest subterms that differ, and `advice`, what would decide it).

    Raises:
        ShapeError: arguments or parameters cannot be matched, or the code runs at no sizes.
        ParseError: a text or a file is in no known form.

    Example:
        >>> import torch
        >>> import prism_explore as px
        >>> def stable(x):
        ...     shifted = (x - x.amax(-1, keepdim=True)).exp()
        ...     return shifted / shifted.sum(-1, keepdim=True)
        >>> px.check(lambda x: torch.softmax(x, -1), stable, x=px.T("b", 64)).outcome
        'proved'
        >>> found = px.check(lambda x: x.mean(0), lambda x: x.sum(0) / 8, x=px.T("b", 64))
        >>> found.outcome, found.witness.sizes
        ('refuted', (('b', 1),))
    """
    sides = match_sides(f, g, {**(inputs or {}), **more_inputs})
    with one_thread():
        if isinstance(sides.left, Code) and isinstance(sides.right, Code):
            return _check_codes(sides, seed)
        return _check_graphs(sides, seed)


def assert_equivalent(
    f: Any,
    g: Any,
    /,
    *,
    inputs: Mapping[str, Any] | None = None,
    seed: int = 0,
    accept_tested: bool = False,
    **more_inputs: Any,
) -> Equivalence:
    """Fail unless `check` proves that two sides compute the same; for pytest.

    Args:
        f: the first side; see `check`.
        g: the second side.
        inputs: per argument `T(...)` or an example tensor.
        seed: of the random inputs.
        accept_tested: accept `unknown` where random trials ran and found no difference, and `up to constants`, with a
            warning. This is a test, not a proof.
        more_inputs: the same as `inputs`, as keywords.

    Returns:
        What `check` found.

    Raises:
        AssertionError: the sides differ, or it was not decided. The two messages begin differently.
        ShapeError: as `check`.
        ParseError: as `check`.

    Example:
        >>> import torch
        >>> import prism_explore as px
        >>> px.assert_equivalent(lambda x: x + x, lambda x: 2 * x, x=px.T("b", 64)).outcome
        'proved'
    """
    __tracebackhide__ = True
    found = check(f, g, inputs=inputs, seed=seed, **more_inputs)
    match found.outcome:
        case "proved":
            return found
        case "refuted":
            raise AssertionError(f"{found.names[0]} and {found.names[1]} are not equivalent\n\n{found}")
        case "up to constants":
            text = (
                f"{found.names[0]} and {found.names[1]} are equivalent only if nearly equal constants are read as equal"
            )
            if not accept_tested:
                raise AssertionError(f"{text}\n\n{found}")
            warnings.warn(text, stacklevel=2)
            return found
        case "unknown":
            tested = found.trials > 0 and all(r.witness is None for r in found.results)
            if accept_tested and tested:
                text = f"{found.names[0]} and {found.names[1]} are accepted by {found.trials} random trials, not proved"
                warnings.warn(text, stacklevel=2)
                return found
            hint = "" if accept_tested or not tested else "accept_tested=True accepts random trials instead of a proof."
            raise AssertionError(
                f"it is not decided whether {found.names[0]} and {found.names[1]} are equivalent\n\n{found}\n\n{hint}"
            )


# ---------------------------------------------------------------- two sides of torch code
def _check_codes(sides: Sides, seed: int) -> Equivalence:
    assert isinstance(sides.left, Code) and isinstance(sides.right, Code)
    traced = TracedSides((sides.left, sides.right), sides.variables, seed)
    translated = [side.program().graph for side in traced.each if side.results is not None]
    masks = frozenset[str]().union(*map(_masks, translated))
    trials = Trials(sides, seed, masks)
    log = trials.run()
    if log.random:
        results: tuple[ResultCheck, ...] = (_random(log.random),)
    elif log.mismatch:
        results = (_mismatch(log),)
    else:
        results = tuple(_decide_leaf(sides, log, n, leaf, traced, seed) for n, leaf in enumerate(log.leaves))
        near = near_numbers_of(translated)
        if near is not None and any(r.outcome == "unknown" and r.witness is None for r in results):
            trials.run_with(near)
            results = tuple(
                with_difference(r, traced.of_result(n), log.differences.get(n)) for n, r in enumerate(results)
            )
    if not results:
        raise PrismError(f"{sides.left.name} returns no tensor; there is nothing to compare")
    refuted = any(r.outcome == "refuted" for r in results)
    return Equivalence(
        (sides.left.name, sides.right.name),
        _shown(sides.variables),
        trials.symbols,
        results,
        log.count,
        () if refuted or log.random else trials.measure_floats(),
        (*sides.notes, *log.notes),
    )


def _random(name: str) -> ResultCheck:
    return ResultCheck(
        "",
        "unknown",
        f"{name} gives different results for equal inputs: it draws random numbers",
        advice="Call .eval() on a module with dropout, or pass the random numbers as an argument.",
    )


def _mismatch(log: TrialLog) -> ResultCheck:
    equal = f". They are equal in all trials at {'; '.join(log.agreeing)}" if log.agreeing else ""
    return ResultCheck("", "refuted", f"{log.mismatch}{equal}")


def _decide_leaf(sides: Sides, log: TrialLog, number: int, leaf: Leaf, traced: TracedSides, seed: int) -> ResultCheck:
    difference = log.differences.get(number)
    if difference is not None:
        witness = replace(difference.witness, agreeing=tuple(log.agreeing))
        difference = replace(difference, witness=witness)
    return decide(leaf.place, traced.of_result(number), sides, difference, log.count, seed)


# ---------------------------------------------------------------- a graph on a side
def _check_graphs(sides: Sides, seed: int) -> Equivalence:
    """A graph is judged at its own sizes; inputs are matched by `fit_to_program`."""
    left, right = (_graph_of(side, sides.variables) for side in (sides.left, sides.right))
    flipped = not _is_program(left)
    program, graph = (right, left) if flipped else (left, right)
    if not _is_program(program):
        raise PrismError("both graphs have custom kernels; give what they should compute as a program or as torch code")
    program = program if isinstance(program, TensorProgram) else TensorProgram("program", program)
    fitted, program = fit_to_program(program, graph.graph if isinstance(graph, TensorProgram) else graph)
    variables = {i.name: TensorType(i.type.dims, i.type.dtype) for i in program.inputs}
    both = (fitted, program) if flipped else (program, fitted)
    names = (sides.left.name, sides.right.name)
    used = Sides(
        sides.left if isinstance(sides.left, Code) else Graph(names[0], both[0]),
        sides.right if isinstance(sides.right, Code) else Graph(names[1], both[1]),
        variables,
    )
    log = TrialLog()
    trials = Trials(used, seed, _masks(program.graph))
    if _has_code(used) and _can_run(fitted):
        log = trials.run()
    if log.random:
        results: tuple[ResultCheck, ...] = (_random(log.random),)
    elif log.mismatch:
        results = (_mismatch(log),)
    else:
        results = _decide_graphs(both, used, log, seed)
    notes = (*sides.notes, *log.notes, "floats are not compared, since a graph runs in float64 here")
    return Equivalence(names, _shown(variables), program.graph.data_symbols, results, log.count, (), notes)


def _decide_graphs(
    both: tuple[TensorProgram | SGraph, TensorProgram | SGraph], used: Sides, log: TrialLog, seed: int
) -> tuple[ResultCheck, ...]:
    """The answer for each result of two graphs."""
    counts = [len((side.graph if isinstance(side, TensorProgram) else side).outputs) for side in both]
    if counts[0] != counts[1]:
        raise PrismError(f"one graph has {counts[0]} results, the other {counts[1]}")
    lines = tuple(side.lines if isinstance(side, TensorProgram) else () for side in both)

    def one(side: TensorProgram | SGraph, number: int) -> TensorProgram | SGraph:
        if isinstance(side, SGraph):
            return side.for_result(number)
        return replace(side, graph=side.graph.for_result(number))

    return tuple(
        decide(
            f"[{n}]" if counts[0] > 1 else "",
            Programs(one(both[0], n), one(both[1], n), (lines[0], lines[1])),
            used,
            log.differences.get(n),
            log.count,
            seed,
        )
        for n in range(counts[0])
    )


def _graph_of(side: Side, variables: Mapping[str, TensorType]) -> TensorProgram | SGraph:
    if isinstance(side, Graph):
        return side.graph
    traced = TracedSide(side, variables)
    if traced.failure:
        raise PrismError(f"{side.name} is not translated, so it cannot be compared with a graph: {traced.failure}")
    return traced.program()


def _masks(graph: SGraph) -> frozenset[str]:
    """Inputs of which about half should be 0."""
    return masks_of(graph) | compared_inputs(graph)


def _is_program(graph: TensorProgram | SGraph) -> bool:
    return isinstance(graph, TensorProgram) or not graph.customs


def _has_code(sides: Sides) -> bool:
    return isinstance(sides.left, Code) or isinstance(sides.right, Code)


def _can_run(graph: SGraph) -> bool:
    """Whether the interpreter can run a graph: its grid has numbers, and its tensors are small enough."""
    sizes = [t.elements.constant for t in graph.types()]
    return not graph.parameters and sum(n or 0 for n in sizes) <= MAX_TRIAL_ELEMENTS


def _shown(variables: Mapping[str, TensorType]) -> tuple[str, ...]:
    return tuple(f"{name} {t}" for name, t in variables.items())
