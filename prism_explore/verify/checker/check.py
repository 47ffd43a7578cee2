"""Independent check of certificates.

Input is the text of a certificate; output is a report of all errors. The checker has its own parser. It shares with the
prover only the graphs and the table of axioms, and for a lemma without steps also the egglog process.

A report without errors establishes:

1.  There is exactly one lemma for every tensor that program and candidate compute, in order, and a last one for each
    pair of results. (By counting.)
2.  left = right follows from the listed axioms. Where the lemma has steps, each is an instance of its axiom, side
    conditions included, and together they lead from left to right (`replay`, without egglog). Where it has none,
    egglog derives the equation again, with axes, digits, extents and independence computed from the text by this
    module. Where no axiom is listed, left and right are the same text.
    (A proof for all sizes and inputs, if the axioms and this module, or egglog, are correct.)
3.  The left side is the operator applied to the values in the lemmas of its operands, and the right side is the value
    that later lemmas use. This is checked symbol by symbol (`definition_check`) and by evaluation in double precision
    (`numeric_check`), at a few random points and two random choices of sizes that meet the conditions.
    (A test: a wrong definition of an operator or a captured name shows at almost every point where it matters.)

It establishes nothing about rounding or overflow, nor that egglog has no bug. Values are real numbers with x/0 = 0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from prism_explore.errors import PrismError
from prism_explore.ir import ops
from prism_explore.ir.dims import Dim
from prism_explore.ir.graph import SGraph
from prism_explore.ir.program import TensorProgram
from prism_explore.ir.tensors import TensorType
from prism_explore.pipeline.stages import Lemma
from prism_explore.verify import axioms
from prism_explore.verify.axioms import SIGNATURE, number
from prism_explore.verify.checker.definition_check import DefinitionCheck, check_equal_values, check_result
from prism_explore.verify.checker.evaluation import MINUS_INFINITY, TOO_LARGE, Evaluation, Numbers
from prism_explore.verify.checker.numeric_check import Computation, TensorValues, computations, evaluate_operator
from prism_explore.verify.checker.parser import CertificateError, ParsedLemma, Tree, parse, show
from prism_explore.verify.checker.replay import check_steps
from prism_explore.verify.checker.side_conditions import check_renamings
from prism_explore.verify.checker.sizes import is_count

Replay: TypeAlias = Callable[[str, str, str], str]
"""Runs an egglog program with a left and a right side; returns why they are not equal, or an empty text."""

_READ_ERRORS = (CertificateError, PrismError, ValueError, ZeroDivisionError, RecursionError)
"""The exceptions that a text which is no certificate may cause."""
SIZE_ATTEMPTS = 30
"""Choices of sizes among which the one with the fewest extents that are 1 or equal is taken."""
TRIAL_SIZES = (1, 2, 3, 4, 5, 6, 8, 12, 16, 24)
TOLERANCE = 1e-7
"""The relative difference up to which values are equal; sums have up to a few thousand terms."""


def goal_name(number: int) -> str:
    """The name of the lemma that both sides of a result are equal: goal, goal1, ...; results count from 0."""
    return "goal" if not number else f"goal{number}"


def is_goal(tensor: str) -> bool:
    """Whether a lemma is about two results instead of a tensor."""
    return tensor.startswith("goal")


@dataclass(frozen=True, slots=True)
class Report:
    """The errors in a certificate, by tensor; the certificate is accepted if there are none."""

    errors: tuple[tuple[str, str], ...]
    sizes: tuple[tuple[tuple[str, int], ...], ...]
    """The sizes at which the lemmas were evaluated."""

    @property
    def accepted(self) -> bool:
        """Whether there are no errors."""
        return not self.errors


def check(
    program: TensorProgram, candidate: SGraph, lemmas: tuple[Lemma, ...], replay: Replay, seed: int = 0
) -> Report:
    """All errors in a certificate.

    Args:
        program: the program.
        candidate: the graph that should equal it.
        lemmas: the certificate, in the order of the graphs.
        replay: runs egglog.
        seed: of the sizes, the points and the inputs.
    """
    tensors = (*computations(program.graph, "program.%"), *computations(candidate, "k"))
    computed = tuple(c for c in tensors if not isinstance(c.op, ops.Input))
    goals = {
        goal_name(n): (f"k{a}", f"program.%{b}")
        for n, (a, b) in enumerate(zip(candidate.outputs, program.graph.outputs, strict=True))
    }
    wanted = [*(c.tensor for c in computed), *goals]
    covered = [lemma.tensor for lemma in lemmas]
    if covered != wanted:
        missing = [t for t in wanted if t not in covered] or ["none"]
        return Report((("goal", f"lemmas do not cover the graphs in order; missing: {', '.join(missing)}"),), ())
    parsed, errors = _check_derivations(lemmas, (*candidate.conditions(), *program.graph.conditions()), replay)
    random = np.random.default_rng(seed)
    inputs = {c.tensor: c.op for c in tensors if isinstance(c.op, ops.Input)}
    inputs_by_name = {op.name: op for op in inputs.values()}
    shapes = {c.tensor: c.shape for c in tensors}
    masks = any(c.op == ops.Binary("mask") for c in tensors)
    names: dict[str, str] = {}
    for c in computed:
        named = parsed[c.tensor].named if c.tensor in parsed else ""
        if named:
            inputs_by_name.setdefault(str(named[1]), ops.Input(str(named[1]), TensorType(c.shape, "f32")))
            names.setdefault(str(named[1]), c.tensor)
    drawn: list[tuple[tuple[str, int], ...]] = []
    for trial in range(2):
        sizes = _choose_sizes(candidate, random, avoid=drawn)
        if sizes is None:
            break
        drawn.append(tuple(sorted(sizes.items())))
        evaluation = Evaluation(sizes, seed + trial, random, parsed, inputs_by_name)
        values = TensorValues(evaluation, inputs, masks, shapes)
        wrong = {tensor for tensor, _ in errors}
        for lemma, computation in zip(lemmas, (*computed, *(None for _ in goals)), strict=True):
            if lemma.tensor not in wrong:
                try:
                    with np.errstate(all="ignore"):
                        _check_lemma(lemma, computation, values, goals.get(lemma.tensor, ("", "")))
                        _check_name(lemma.tensor, names, values)
                except _READ_ERRORS as error:
                    errors.append((lemma.tensor, str(error)))
    if not drawn:
        errors.append(("goal", "no small sizes meet the conditions, so nothing was evaluated"))
    return Report(tuple(errors), tuple(drawn))


def _check_derivations(
    lemmas: tuple[Lemma, ...], integers: tuple[Dim, ...], replay: Replay
) -> tuple[dict[str, ParsedLemma], list[tuple[str, str]]]:
    """The lemmas that can be parsed, by tensor, and the errors in texts and derivations."""
    parsed: dict[str, ParsedLemma] = {}
    errors: list[tuple[str, str]] = []
    for lemma in lemmas:
        try:
            parsed[lemma.tensor] = ParsedLemma(parse(lemma.statement), integers)
            _check_axes(parsed[lemma.tensor])
            _check_derivation(parsed[lemma.tensor], lemma.axioms, replay)
        except _READ_ERRORS as error:
            errors.append((lemma.tensor, str(error)))
    return parsed, errors


# ---------------------------------------------------------------- sizes
def _choose_sizes(
    graph: SGraph, random: np.random.Generator, avoid: list[tuple[tuple[str, int], ...]]
) -> dict[str, int] | None:
    """Small sizes that make every extent an integer, and if possible all extents different and above 1."""
    symbols = (*graph.data_symbols, *graph.parameters)
    conditions = graph.conditions()

    def integer_extents(sizes: dict[str, int]) -> list[int] | None:
        """All extents, if they are positive integers."""
        extents = [d.rational(sizes) for d in conditions]
        return [int(e) for e in extents] if all(e.denominator == 1 and e > 0 for e in extents) else None

    best: tuple[int, dict[str, int]] | None = None
    for _ in range(SIZE_ATTEMPTS):
        sizes = dict.fromkeys(symbols, 1)
        for s in random.permutation(len(symbols)):
            for n in random.permutation(TRIAL_SIZES):
                if integer_extents({**sizes, symbols[s]: int(n)}) is not None:
                    sizes[symbols[s]] = int(n)
                    break
        extents = integer_extents(sizes)
        if extents is None or tuple(sorted(sizes.items())) in avoid:
            continue
        values = (*sizes.values(), *extents)
        score = sum(v == 1 for v in values) * 10 + len(values) - len(set(values))
        if best is None or score < best[0]:
            best = score, sizes
    return best[1] if best else None


# ---------------------------------------------------------------- the derivation
def _check_axes(parsed: ParsedLemma) -> None:
    """Check that every axis has values: its extent is a positive integer wherever the claim's conditions hold."""
    for axis, size in parsed.extents.items():
        if not is_count(size, parsed.integers):
            raise CertificateError(
                f"axis {axis} may have no value: no condition says that {size} is a positive integer"
            )


def _check_derivation(parsed: ParsedLemma, names: tuple[str, ...], replay: Replay) -> None:
    """Check that the named axioms prove the lemma."""
    if not names:
        if parsed.left != parsed.right:
            raise CertificateError("no axiom is listed and the two sides are not the same text")
        return
    rows = {a.name: a for a in axioms.AXIOMS}
    if unknown := [name for name in names if name not in rows]:
        raise CertificateError(f"no axiom is called {', '.join(unknown)}")
    if parsed.steps:
        if unlisted := [name for name in check_steps(parsed) if name not in names]:
            raise CertificateError(f"the listed axioms do not give it again: its steps use {', '.join(unlisted)}")
        return
    check_renamings(parsed)
    rules = "\n".join((*(c.rule() for c in axioms.CONDITIONS), *(rows[name].rules() for name in names)))
    facts = "\n".join(_egglog_facts(parsed))
    signature = " ".join(SIGNATURE.split())  # on one line, because egglog's engine parses line by line
    reason = replay(f"{signature}\n{rules}\n{facts}", _to_egglog(parsed.left), _to_egglog(parsed.right))
    if reason:
        raise CertificateError(f"the listed axioms do not give it again: {reason}")


def _egglog_facts(parsed: ParsedLemma) -> Iterator[str]:
    """The facts of a lemma without steps, for egglog."""
    for name, size in parsed.extents.items():
        yield f'(axis "{name}")'
        yield f'(extent "{name}" {_dim_to_egglog(size)})'
        yield f'(inhabited "{name}")'
    for name, (outer, inner) in parsed.digits.items():
        yield f'(digits "{name}" "{outer}" "{inner}")'
    expressions = [parsed.left, parsed.right, *parsed.hints, *(e for p in parsed.renamed for e in p)]
    for leaf in dict.fromkeys(leaf for e in expressions for leaf in leaves(e)):
        dependencies = {c for w in parsed.axis_names(leaf) for c in parsed.coordinates(w)}
        for name in parsed.extents:
            if not dependencies & set(parsed.coordinates(name)):
                yield f'(independent {_to_egglog(leaf)} "{name}")'
    for a, b in parsed.renamed:
        yield f"(renamed {_to_egglog(a)} {_to_egglog(b)})"
    for n, e in enumerate(parsed.hints):
        yield f"(let $hint{n} {_to_egglog(e)})"


def leaves(e: Tree) -> Iterator[Tree]:
    """The elements of inputs, intervals and bands in an expression."""
    if isinstance(e, tuple):
        if e[0] in ("at", "within", "near"):
            yield e
        else:
            for x in e[1:]:
                yield from leaves(x)


def _to_egglog(e: Tree) -> str:
    match e:
        case ("at" | "within" | "near" as op, *words):
            return f'({op.capitalize()} "{" ".join(map(show, words)).replace(chr(34), "_")}")'
        case ("num", str(value)):
            above, _, below = value.partition("/")
            return f"(Num {number(int(above), int(below or 1))})"
        case ("size", str(symbol)):
            return f'(Size "{symbol}")'
        case ("call", str(fn), a):
            return f'(Call "{fn}" {_to_egglog(a)})'
        case ("sum" | "most" | "rescaled" as op, str(axis), *parts):
            return f'({op.capitalize()} "{axis}" {" ".join(map(_to_egglog, parts))})'
        case ("upto", str(axis), at, a):
            return f'(Upto "{axis}" "{show(at).replace(chr(34), "_")}" {_to_egglog(a)})'
        case (str(op), *parts):
            return f"({op.capitalize()} {' '.join(map(_to_egglog, parts))})"
        case _:
            raise CertificateError(f"cannot read {show(e)}")


def _dim_to_egglog(size: Dim) -> str:
    out = f"(Num {number(0)})"
    for monomial, coefficient in size.terms:
        term = f"(Num {number(coefficient.numerator, coefficient.denominator)})"
        for symbol, exponent in monomial:
            factor = f'(Size "{symbol}")' if exponent > 0 else f'(Inv (Size "{symbol}"))'
            for _ in range(abs(exponent)):
                term = f"(Mul {term} {factor})"
        out = term if len(size.terms) == 1 else f"(Add {out} {term})"
    return out


# ---------------------------------------------------------------- definitions
def _check_lemma(
    lemma: Lemma, computation: Computation | None, tensors: TensorValues, results: tuple[str, str]
) -> None:
    """Check the left side of a lemma against its operator; `computation` is None for the lemma about the results."""
    evaluation, parsed = tensors.evaluation, tensors.evaluation.lemmas[lemma.tensor]
    try:
        _check_values(lemma, computation, tensors, results)
    except CertificateError as error:
        if str(error) != TOO_LARGE:
            raise
    if computation is None:
        for side, tensor in zip((parsed.left, parsed.right), results, strict=True):
            check_result(evaluation, side, parsed, tensor, tensors.shapes[tensor], tensors.inputs)
        return
    at = evaluation.draw_points(_position_axes(computation))
    definition = DefinitionCheck(
        computation.op,
        computation.operands,
        computation.shapes,
        computation.shape,
        computation.block,
        evaluation,
        tensors.inputs,
    )
    definition.compare(definition.definition(), parsed.left, parsed, at, at)
    if tensors.masks:
        _check_divisor(computation, tensors)


def _check_name(tensor: str, names: Mapping[str, str], tensors: TensorValues) -> None:
    """Check that a name denotes one value, and that this value does not depend on the name or a later one."""
    parsed = tensors.evaluation.lemmas[tensor]
    order = list(names)
    if not parsed.named:
        return
    name = str(parsed.named[1])
    first = names[name]
    if first != tensor:
        check_equal_values(tensors.evaluation, parsed, tensors.evaluation.lemmas[first], tensors.shapes[tensor])
        return
    used = {str(e[1]) for e in leaves(parsed.right) if e[0] == "at"} & set(order[order.index(name) :])
    if used:
        raise CertificateError(f"{name} is made of {', '.join(sorted(used))}")


def _check_divisor(computation: Computation, tensors: TensorValues) -> None:
    """Check that a divisor is not masked as a whole: no factor of it is an indicator that is not summed over."""
    match computation.op:
        case ops.Unary("recip" | "rsqrt") | ops.Binary("div"):
            divisor = tensors.evaluation.lemmas.get(computation.operands[-1])
        case ops.Scalar("pow", value) if value < 0:
            divisor = tensors.evaluation.lemmas.get(computation.operands[0])
        case _:
            return
    pending = [divisor.value] if divisor is not None else []
    while pending:
        e = pending.pop()
        match e:
            case ("near", *_) | ("mul", _, ("inv", _)) if e[0] == "near" or e[1] == e[2][1]:
                raise CertificateError(
                    f"{computation.operation} divides by what may be masked as a whole: {show(e)} is a factor of it"
                )
            case ("mul", a, b):
                pending += (a, b)
            case _:
                pass


def _position_axes(computation: Computation) -> dict[str, Dim]:
    """The free axes of a lemma: position, block coordinates and iteration."""
    axes = {f"p{d}": size for d, size in enumerate(computation.shape)}
    block = computation.block
    if block is not None:
        axes |= {f"g{n}": p.size for n, p in enumerate(block.grid)}
        axes |= {"l": block.loop.size} if block.loop else {}
    return axes


def _check_values(
    lemma: Lemma, computation: Computation | None, tensors: TensorValues, results: tuple[str, str]
) -> None:
    """Check that both sides have the operator's value at a few random points."""
    evaluation, parsed = tensors.evaluation, tensors.evaluation.lemmas[lemma.tensor]
    if computation is None:
        if lemma.operation != f"{results[0]} = {results[1]}":
            raise CertificateError(f"the last lemma is about {lemma.operation}, not about the two results")
        axes = {f"p{d}": size for d, size in enumerate(tensors.shapes[results[0]])}
        at = evaluation.draw_points(axes)
        position = [at[name] for name in axes]
        wanted = tensors.value(results[0], position, at, 1)
        _compare("the candidate's result", wanted, evaluation.value(parsed.left, parsed, at))
        _compare("the program's result", tensors.value(results[1], position, at, 1), wanted)
    else:
        if lemma.operation != computation.operation:
            raise CertificateError(f"the graph says {computation.operation}, the lemma {lemma.operation}")
        at = evaluation.draw_points(_position_axes(computation))
        position = [at[f"p{d}"] for d in range(len(computation.shape))]
        wanted = evaluate_operator(computation, tensors, position, at)
        _compare("the left side", wanted, evaluation.value(parsed.left, parsed, at))
    _compare("the right side", wanted, evaluation.value(parsed.right, parsed, at))


def _compare(side: str, wanted: Numbers, found: Numbers) -> None:
    a, b = (np.where(x < MINUS_INFINITY * 1e-9, -np.inf, x) for x in np.broadcast_arrays(wanted, found))
    if not np.allclose(a, b, rtol=TOLERANCE, atol=TOLERANCE * 1e-3, equal_nan=True):
        raise CertificateError(f"{side} is {b.flat[0]:.9g} where the operator gives {a.flat[0]:.9g}")
