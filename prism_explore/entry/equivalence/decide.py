"""One verdict per result, from the prover and the trials.

The prover decides about real numbers: its proof stands even if floats differ, provided that torch agrees with the
translated programs. A difference in torch refutes, unless 60 digits show that it is rounding. A counterexample of the
prover that torch does not reproduce refutes nothing: the answer is then unknown. Where the two formulas differ only in
nearly equal constants, the answer is `up to constants`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from math import inf

import numpy as np

from prism_explore.diagnose.check import Checker
from prism_explore.entry.equivalence.constants import compare_constants
from prism_explore.entry.equivalence.draws import NORMAL, draw, sizes_to_try
from prism_explore.entry.equivalence.execution import Ran, largest_value, run_side
from prism_explore.entry.equivalence.outcome import ResultCheck, Witness
from prism_explore.entry.equivalence.parting import Parting, part
from prism_explore.entry.equivalence.programs import Programs
from prism_explore.entry.equivalence.sides import Graph, Sides
from prism_explore.entry.equivalence.trials import Difference, largest_difference
from prism_explore.errors import ShapeError
from prism_explore.frontend.opaque import assumption
from prism_explore.ir.analysis.table_inputs import drawn_numbers
from prism_explore.ir.axes import axes_of
from prism_explore.ir.interpreter.reference import Array
from prism_explore.ir.ops import Input
from prism_explore.ir.program import TensorProgram
from prism_explore.ir.tensors import INTEGERS, NAMES, WHOLE_NUMBERS, DType, TensorType
from prism_explore.pipeline.stages import Cause, Counterexample, Refuted, Unknown, Verified
from prism_explore.verify.counterexample.float_errors import UNBOUNDED, contains, is_mask
from prism_explore.verify.counterexample.high_precision import BothResults, NotReal, run_both
from prism_explore.verify.counterexample.inputs import compared_inputs, draw_inputs, masks_of
from prism_explore.verify.normal_form.algebra import Algebra
from prism_explore.verify.normal_form.bound_names import NoNormalForm
from prism_explore.verify.normal_form.lower_graph import lower
from prism_explore.verify.proof import RESULT_EQUALS

REAL_DIFFERENCE = 1e-9
"""Relative; two equal programs differ by less in 60 digits."""
MAX_PRECISE_ELEMENTS = 20_000
"""Inputs of a run in 60 digits, which takes a second at most."""
AGREEING = 1e-40
"""Relative: constants of nearly equal formulas, compared in 50 digits."""
AGREES = 1e-6
"""Relative: torch and the interpreter compute the same program in float64."""
CANCELLED = 1e-13
"""Relative to the largest value of any tensor: in float64, what is left where values cancel is rounding."""


def decide(
    place: str, programs: Programs, sides: Sides, difference: Difference | None, trials: int, seed: int
) -> ResultCheck:
    """The answer for one result.

    Args:
        place: where it stands in the results.
        programs: both sides as graphs.
        sides: both sides as code.
        difference: what the trials found.
        trials: how many trials of the sides were run.
        seed: for the prover's trials.
    """
    left, right = programs.left, programs.right
    if isinstance(left, str) or isinstance(right, str):
        failures = [
            f"{side.name} is not translated: {text}"
            for side, text in ((sides.left, left), (sides.right, right))
            if isinstance(text, str)
        ]
        if difference is not None:
            return ResultCheck(place, "refuted", _differ(difference), None, difference.witness)
        advice = f"Write it with supported operators; {_no_difference(trials)}."
        return ResultCheck(place, "unknown", ". ".join(failures), None, advice=advice)
    flipped = not isinstance(left, TensorProgram)
    program, graph = (right, left) if flipped else (left, right)
    if not isinstance(program, TensorProgram):
        program = TensorProgram("program", program)
    verdict = Checker(program).check(graph.graph if isinstance(graph, TensorProgram) else graph, seed)
    if isinstance(verdict, Unknown) and verdict.cause is Cause.EQUAL_AXES and isinstance(graph, TensorProgram):
        # The program's operators may join two axes that the other side keeps apart, and not the other way round.
        swapped = Checker(graph).check(program.graph, seed)
        verdict = swapped if isinstance(swapped, Verified) else verdict
    match verdict:
        case Verified():
            return _proved(place, programs, sides, verdict, difference)
        case Refuted(_, counterexample):
            return _refuted(place, programs, program, sides, verdict, counterexample, difference, flipped)
        case Unknown():
            if difference is not None and not _is_rounding(programs, difference):
                return ResultCheck(place, "refuted", _differ(difference), verdict, difference.witness)
            return _up_to_constants(place, programs, sides, verdict) or _unknown(
                place, programs, verdict, trials, flipped
            )


def with_difference(found: ResultCheck, programs: Programs, difference: Difference | None) -> ResultCheck:
    """The answer for a result that was unknown, with a difference that later trials found."""
    if difference is None or found.outcome != "unknown" or _is_rounding(programs, difference):
        return found
    return ResultCheck(found.place, "refuted", _differ(difference), found.verdict, difference.witness)


def _up_to_constants(place: str, programs: Programs, sides: Sides, verdict: Refuted | Unknown) -> ResultCheck | None:
    """The answer for formulas that differ in nearly equal constants only; None for all others."""
    left, right = (p.graph if isinstance(p, TensorProgram) else p for p in (programs.left, programs.right))
    assert not isinstance(left, str) and not isinstance(right, str), "decided before"
    found = None if programs.opaque else compare_constants(left, right)
    if found is None or (not found.difference and not any(found.constants)):
        return None  # where no constant differs, the verdict says what is missing
    constants = [
        f"{', '.join(texts)} in {side.name}"
        for texts, side in zip(found.constants, (sides.left, sides.right), strict=True)
        if texts
    ]
    reason = (
        f"Both sides are the same formula but for constants, which differ by at most {found.difference:.1e}, relative. "
        "Over the real numbers they are different functions, so this is no proof"
        if found.difference > AGREEING
        else "Both sides are the same formula, and 40 digits of their constants agree. This is no proof that all do"
    )
    return ResultCheck(
        place,
        "up to constants",
        f"{reason}. Rounded constants: {'; '.join(constants)}" if constants else reason,
        verdict,
        advice="Write both constants in the same way, such as 1 / 2**0.5, and the sides can be proved equal.",
    )


def _no_difference(trials: int) -> str:
    return f"{trials} random trials in torch found no difference" if trials else "no random trial was run"


def _differ(difference: Difference) -> str:
    if difference.kind == "not finite":
        return "One side has a finite number where the other has NaN or infinity"
    return f"The results differ by {difference.witness.relative:.3g} of the largest value"


# ---------------------------------------------------------------- proved
def _proved(
    place: str, programs: Programs, sides: Sides, verdict: Verified, difference: Difference | None
) -> ResultCheck:
    names = (sides.left.name, sides.right.name)
    of_candidate = RESULT_EQUALS.format(verdict.candidate.family.program.name)
    claim = verdict.proof.claim.replace(of_candidate, f"the results of {names[0]} and {names[1]} are equal")
    if programs.opaque:
        conditions = f" Conditions of equal arguments: {'; '.join(programs.opaque_conditions)}."
        text = assumption(programs.opaque) + (conditions if programs.opaque_conditions else "")
        claim = f"{claim}. {text.removesuffix('.')}"
    if difference is None:
        return ResultCheck(place, "proved", claim, verdict)
    witness = difference.witness
    if difference.kind == "value" and not _torch_agrees_with_programs(programs, sides, witness, place):
        return ResultCheck(
            place,
            "unknown",
            "The two translated programs are proved equal, but torch differs from what its code was translated to",
            verdict,
            witness,
            advice="This is an error of the translation; please report both functions and the witness.",
        )
    values = " and ".join(f"{v:.6g}" for v in witness.values)
    where = f"at {', '.join(f'{s}={n}' for s, n in witness.sizes) or 'the given sizes'}, {witness.drawn}"
    kind = "by rounding" if difference.kind == "value" else "where a value is undefined or overflows"
    reason = f"{claim}; in floating point they differ {kind}: {values} {where}"
    return ResultCheck(place, "proved", reason, verdict)


def _torch_agrees_with_programs(programs: Programs, sides: Sides, witness: Witness, place: str) -> bool:
    """Whether each side gives what the interpreter computes from its program, on the inputs of the witness."""
    inputs = programs.inputs_from(witness.inputs)
    if programs.opaque or inputs is None:
        return False  # the interpreter has no numbers for the results of opaque operators
    for side, program in ((sides.left, programs.left), (sides.right, programs.right)):
        if isinstance(side, Graph) or isinstance(program, str):
            continue
        ran, meant = run_side(side, witness.inputs), run_side(Graph("", program), inputs)
        if not isinstance(ran, Ran) or not isinstance(meant, Ran):
            return False
        found = next((leaf.value for leaf in ran.leaves if leaf.place == place), None)
        if found is None:
            return False
        expected = meant.leaves[0].value.reshape(found.shape)
        worst = largest_difference(found, expected)
        if worst is not None and worst[1] > AGREES:
            rounding = CANCELLED * largest_value(Graph("", program), inputs)
            if not np.abs(found - expected).max() <= rounding:
                return False
    return True


# ---------------------------------------------------------------- refuted
def _refuted(
    place: str,
    programs: Programs,
    program: TensorProgram,
    sides: Sides,
    verdict: Refuted,
    counterexample: Counterexample,
    difference: Difference | None,
    flipped: bool,
) -> ResultCheck:
    if difference is not None:
        return ResultCheck(place, "refuted", _differ(difference), verdict, difference.witness)
    witness = _witness_of(program, counterexample, flipped)
    reason = f"The results differ by {counterexample.relative_error:.3g} of the largest value"
    if isinstance(sides.left, Graph) or isinstance(sides.right, Graph):
        return ResultCheck(place, "refuted", reason, verdict, witness)
    nearly = _up_to_constants(place, programs, sides, verdict)
    if nearly is not None:
        return nearly
    again = _in_torch(sides, witness, place) if witness is not None else None
    if again is not None:
        return ResultCheck(place, "refuted", reason, verdict, again)
    if programs.opaque:
        return ResultCheck(
            place,
            "unknown",
            f"The two sides differ for some results of opaque operators ({', '.join(programs.opaque)}), "
            "which these may never compute; no trial in torch differs",
            advice="Only calls with equal attributes and with operands that are proved equal have equal results.",
        )
    precise = _at_declared_sizes(programs, sides, counterexample.seed)
    if precise is not None:
        reason = (
            f"The results differ by {precise.relative:.3g} of the largest value, which is less than torch's rounding"
        )
        return ResultCheck(place, "refuted", reason, verdict, precise)
    sizes = ", ".join(f"{s}={n}" for s, n in counterexample.sizes)
    return ResultCheck(
        place,
        "unknown",
        f"As formulas over tensors of any extents the two sides differ, at {sizes}; "
        "at the declared sizes no trial in torch differs",
        verdict,
        advice="Declare the sizes that the code does not fix as symbols, such as px.T('b', 'n').",
    )


def _witness_of(program: TensorProgram, found: Counterexample, flipped: bool) -> Witness | None:
    """The counterexample of the prover with its inputs; None for exact arithmetic in a finite field and lookups."""
    if found.arithmetic == "prime fields" or program.graph.index_limits:  # positions depend on both sides' dims
        return None
    sizes = dict(found.sizes)
    axes = axes_of(program.graph)
    shapes: list[tuple[str, tuple[int, ...]]] = []
    for n, node in enumerate(program.graph.nodes):
        if isinstance(node.op, Input):
            dims = [1 if axis is None else sizes.get(axis) for axis in axes.of[n]]
            if None in dims:
                return None
            shapes.append((node.op.name, tuple(d or 1 for d in dims)))
    inputs = draw_inputs(
        tuple(shapes),
        found.seed,
        found.input_range,
        masks_of(program.graph),
        drawn_numbers(program.graph),
        compared_inputs(program.graph),
    )
    values = (found.found, found.expected) if flipped else (found.expected, found.found)
    low, high = found.input_range
    return Witness(
        found.sizes,
        f"uniform from {low:g} to {high:g}, seed {found.seed}",
        inputs,
        found.index,
        values,
        found.relative_error,
        "60 digits" if found.arithmetic == "decimals" else "the interpreter in float64",
    )


def _in_torch(sides: Sides, witness: Witness, place: str) -> Witness | None:
    """The same inputs in torch; None where their shapes are not as declared, or torch shows no difference."""
    sizes = _declared_sizes(sides.variables, witness.inputs)
    if sizes is None:
        return None
    given = {k: x for k, x in witness.inputs.items() if k in sides.variables}
    kinds = {*WHOLE_NUMBERS, *INTEGERS}
    whole: dict[str, DType] = {k: t.dtype for k, t in sides.variables.items() if t.dtype in kinds}
    inputs = {k: x.astype(NAMES[whole[k]]) if k in whole else x for k, x in given.items()}
    both = [run_side(side, inputs) for side in (sides.left, sides.right)]
    values = [leaf.value for ran in both if isinstance(ran, Ran) for leaf in ran.leaves if leaf.place == place]
    if len(values) != 2 or values[0].shape != values[1].shape:
        return None
    found = largest_difference(values[0], values[1])
    if found is None or found[1] <= REAL_DIFFERENCE:
        return None
    index, relative = found
    pair = (float(values[0][index]), float(values[1][index]))
    return Witness(tuple(sizes.items()), witness.drawn, inputs, index, pair, relative, "torch in float64")


def _declared_sizes(variables: Mapping[str, TensorType], inputs: Mapping[str, Array]) -> dict[str, int] | None:
    sizes: dict[str, int] = {}
    for name, t in variables.items():
        shape = inputs[name].shape if name in inputs else ()
        if len(shape) != t.rank:
            return None
        for d, n in zip(t.dims, shape, strict=True):
            if (d.constant is not None and d.constant != n) or (d.symbols and sizes.setdefault(str(d), n) != n):
                return None
    return sizes


def _at_declared_sizes(programs: Programs, sides: Sides, seed: int) -> Witness | None:
    """Inputs at which the two programs differ in 60 digits, where torch rounds more than they differ by."""
    symbols = tuple(dict.fromkeys(s for t in sides.variables.values() for d in t.dims for s in d.symbols))
    sizes = next(sizes_to_try(symbols))
    inputs = draw(sides.variables, sizes, NORMAL, seed)
    try:
        both = _in_digits(programs, inputs, sizes)
    except ShapeError:  # an integer is no position of what the code looks up
        return None
    if both is None:
        return None
    scale = _scale(both)
    error = np.where(np.isfinite(both.difference), both.difference, 0.0) / scale
    if error.max(initial=0.0) <= REAL_DIFFERENCE:
        return None
    index = tuple(int(i) for i in np.unravel_index(int(np.argmax(error)), error.shape))
    values = (float(both.expected[index]), float(both.found[index]))
    drawn = f"{NORMAL.name}, seed {seed}"
    return Witness(tuple(sizes.items()), drawn, inputs, index, values, float(error[index]), "60 digits")


def _is_rounding(programs: Programs, difference: Difference) -> bool:
    """Whether 60 digits show that the two programs agree on the inputs of a difference in torch."""
    if difference.kind != "value":
        return False
    both = _in_digits(programs, difference.witness.inputs, difference.sizes)
    return both is not None and float(np.abs(both.difference).max(initial=0.0)) <= REAL_DIFFERENCE * _scale(both)


def _in_digits(programs: Programs, given: Mapping[str, Array], sizes: Mapping[str, int]) -> BothResults | None:
    """Both programs in 60 digits; None where they cannot be run so."""
    left, right = (p.graph if isinstance(p, TensorProgram) else p for p in (programs.left, programs.right))
    inputs = None if programs.opaque else programs.inputs_from(given)
    if isinstance(left, str) or isinstance(right, str) or inputs is None:
        return None
    if sum(x.size for x in inputs.values()) > MAX_PRECISE_ELEMENTS:
        return None
    try:
        with np.errstate(all="ignore"):
            limit = UNBOUNDED if any(contains(graph, is_mask) for graph in (left, right)) else inf
            return run_both(left, right, inputs, sizes, limit)
    except (NotReal, ArithmeticError, ValueError):
        return None


def _scale(both: BothResults) -> float:
    return float(np.abs(both.expected[np.isfinite(both.expected)]).max(initial=0.0)) or 1.0


# ---------------------------------------------------------------- unknown
def _unknown(place: str, programs: Programs, verdict: Unknown, trials: int, flipped: bool) -> ResultCheck:
    parting = part_programs(programs)
    lines = _lines(programs, verdict, flipped)
    matched = tuple(dict.fromkeys(s.term for s in verdict.shared if not _IS_INPUT.fullmatch(s.term)))
    advice = [_what_decides(verdict.cause, parting), f"{_no_difference(trials)[0].upper()}{_no_difference(trials)[1:]}"]
    reason = f"Not decided: {verdict.limit}"
    return ResultCheck(place, "unknown", reason, verdict, None, parting, lines, matched, ". ".join(advice) + ".")


_IS_INPUT = re.compile(r"\w+\[[^]]*\]")
"""The form of an input: that both sides have it says nothing."""


def part_programs(programs: Programs) -> Parting | None:
    """The smallest differing subterms of both sides; None where a side has no normal form."""
    left, right = (p.graph if isinstance(p, TensorProgram) else p for p in (programs.left, programs.right))
    if isinstance(left, str) or isinstance(right, str):
        return None
    algebra = Algebra()
    try:
        a = lower(left, algebra).values[left.output]
        algebra.restart()
        b = lower(right, algebra).values[right.output]
    except (NoNormalForm, RecursionError):
        return None
    return part(a, b) if a.key != b.key else None


def _lines(programs: Programs, verdict: Unknown, flipped: bool) -> tuple[str, str]:
    """The lines of code of the first values without an equal one on the other side: left, right."""
    found = {"program": "", "k": ""}
    program, graph = (1, 0) if flipped else (0, 1)
    for tensor, _ in verdict.unmatched:
        own = tensor.startswith("program.%")
        number = tensor.removeprefix("program.%") if own else tensor.removeprefix("k")
        lines = programs.lines[program if own else graph]
        if number.isdecimal() and int(number) < len(lines):
            found["program" if own else "k"] = lines[int(number)]
    return (found["k"], found["program"]) if flipped else (found["program"], found["k"])


_DECISIONS: Mapping[Cause, str] = {
    Cause.EQUAL_AXES: "Declare the two axes with one symbol, such as px.T('n', 'n'), if they are meant to be equal",
    Cause.OTHER_DIMS: "Give both results the same shape",
    Cause.DISAGREEMENT: "Prover and trials disagree, which is a bug; please report both functions",
    Cause.BUDGET: "Check the parts one by one, up to a value that both sides share",
}
"""What to do about a limit."""


def _what_decides(cause: Cause, parting: Parting | None) -> str:
    if cause in _DECISIONS:
        return _DECISIONS[cause]
    if parting is not None:
        return "What would decide it: a law that makes the two subterms equal (a row of verify/axioms), or a witness"
    return "A normal form of both sides would decide it"
