"""Independent check of certificates.

Input is a certificate's text; output is a report of everything that is wrong. The checker has its own parser and shares
with the prover only the graphs and the table of axioms; for a lemma without steps also the egglog process.

If the report is empty:

1.  There is exactly one lemma for every tensor that program and candidate compute, in order, and a last
    one about the two results. (By counting.)
2.  left = right follows from the listed axioms alone. Where the certificate has steps, each is an instance
    of its axiom, side conditions included, and they lead from left to right (`replay`, without
    egglog). Where it has none, egglog derives it again, with axes, digits, extents and independence read off the
    text by this module. Where no axiom is listed, left and right are the same text.
    (A derivation, for all sizes and inputs; it stands as far as the axioms and this module or egglog stand.)
3.  The left side is the operator applied to the values in the lemmas of its operands, the right side is the
    value that later lemmas use, and both are equal: at a few random points, for two random
    choices of sizes that meet the conditions, in double precision. (A test: a wrong reading of an operator
    or a captured name shows up here, not with certainty but at every point where it matters.)

What it does not establish: anything about rounding or overflow; that the reading tested in 3 is right for
the sizes not drawn; that egglog has no bug. Values are those of real arithmetic with x/0 = 0.
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
from prism_explore.verify.checker.definition_check import Meaning, same_definition, same_result
from prism_explore.verify.checker.evaluation import LOW, TOO_LARGE, Evaluation, Numbers
from prism_explore.verify.checker.numeric_check import Step, Tensors, applied, steps
from prism_explore.verify.checker.parser import CertificateError, ParsedLemma, Tree, parse, show
from prism_explore.verify.checker.replay import follow
from prism_explore.verify.checker.side_conditions import check_renamings
from prism_explore.verify.checker.sizes import is_count

Replay: TypeAlias = Callable[[str, str, str], str]
"""Runs a program of egglog with a left and a right side; says why they are not equal, or nothing."""

_BAD_TEXT = (CertificateError, PrismError, ValueError, ZeroDivisionError, RecursionError)
"""What a text that is no certificate can lead to."""
ATTEMPTS = 30
"""How many choices of sizes are looked at for one where few extents are 1 or alike."""
NUMBERS = (1, 2, 3, 4, 5, 6, 8, 12, 16, 24)
CLOSE = 1e-7
"""Relative difference that counts as equal; sums have up to some thousand terms here."""


@dataclass(frozen=True, slots=True)
class Report:
    """Complaints by tensor; none means that the certificate was accepted."""

    complaints: tuple[tuple[str, str], ...]
    sizes: tuple[tuple[tuple[str, int], ...], ...]
    """The sizes at which the lemmas were evaluated."""

    @property
    def accepted(self) -> bool:
        """Whether nothing was found."""
        return not self.complaints


def check(
    program: TensorProgram, candidate: SGraph, lemmas: tuple[Lemma, ...], replay: Replay, seed: int = 0
) -> Report:
    """Every complaint about a certificate.

    Args:
        program: what was to be computed.
        candidate: what computes it.
        lemmas: the certificate, in the order of the graphs.
        replay: an egglog.
        seed: for the sizes, the points and the inputs.
    """
    complaints: list[tuple[str, str]] = []
    every = (*steps(program.graph, "program.%"), *steps(candidate, "k"))
    made = tuple(s for s in every if not isinstance(s.op, ops.Input))
    wanted = [*(s.tensor for s in made), "goal"]
    covered = [lemma.tensor for lemma in lemmas]
    if covered != wanted:
        missing = [t for t in wanted if t not in covered] or ["none"]
        complaints.append(("goal", f"lemmas do not cover the graphs in order; missing: {', '.join(missing)}"))
        return Report(tuple(complaints), ())
    readings: dict[str, ParsedLemma] = {}
    known = (*candidate.conditions(), *program.graph.conditions())
    for lemma in lemmas:
        try:
            readings[lemma.tensor] = ParsedLemma(parse(lemma.statement), known)
            _check_axes(readings[lemma.tensor])
            _derive(readings[lemma.tensor], lemma.axioms, replay)
        except _BAD_TEXT as complaint:
            complaints.append((lemma.tensor, str(complaint)))
    random = np.random.default_rng(seed)
    given = {s.tensor: s.op for s in every if isinstance(s.op, ops.Input)}
    inputs = {op.name: op for op in given.values()}
    shapes = {s.tensor: s.shape for s in every}
    masks = any(s.op == ops.Binary("mask") for s in every)
    names: dict[str, str] = {}
    for s in made:
        named = readings[s.tensor].named if s.tensor in readings else ""
        if named:
            inputs.setdefault(str(named[1]), ops.Input(str(named[1]), TensorType(s.shape, "f32")))
            names.setdefault(str(named[1]), s.tensor)
    results = f"k{candidate.output}", f"program.%{program.graph.output}"
    drawn: list[tuple[tuple[str, int], ...]] = []
    for trial in range(2):
        sizes = _sizes(candidate, random, avoid=drawn)
        if sizes is None:
            break
        drawn.append(tuple(sorted(sizes.items())))
        tensors = Tensors(Evaluation(sizes, seed + trial, random, readings, inputs), given, masks, shapes)
        found = {tensor for tensor, _ in complaints}
        for lemma, step in zip(lemmas, (*made, None), strict=True):
            if lemma.tensor not in found:
                try:
                    with np.errstate(all="ignore"):
                        _test(lemma, step, tensors, results)
                        _check_name(lemma.tensor, names, tensors)
                except _BAD_TEXT as complaint:
                    complaints.append((lemma.tensor, str(complaint)))
    if not drawn:
        complaints.append(("goal", "no small sizes meet the conditions, so nothing was evaluated"))
    return Report(tuple(complaints), tuple(drawn))


# ---------------------------------------------------------------- the graphs
def _sizes(
    graph: SGraph, random: np.random.Generator, avoid: list[tuple[tuple[str, int], ...]]
) -> dict[str, int] | None:
    """Small numbers for all symbols that make every extent whole, different and above 1 if possible."""
    symbols = (*graph.data_symbols, *graph.parameters)
    conditions = graph.conditions()

    def whole(sizes: dict[str, int]) -> list[int] | None:
        """All extents, if they are whole and above 0."""
        extents = [d.rational(sizes) for d in conditions]
        return [int(e) for e in extents] if all(e.denominator == 1 and e > 0 for e in extents) else None

    best: tuple[int, dict[str, int]] | None = None
    for _ in range(ATTEMPTS):
        sizes = dict.fromkeys(symbols, 1)
        for s in random.permutation(len(symbols)):
            for n in random.permutation(NUMBERS):
                if whole({**sizes, symbols[s]: int(n)}) is not None:
                    sizes[symbols[s]] = int(n)
                    break
        extents = whole(sizes)
        if extents is None or tuple(sorted(sizes.items())) in avoid:
            continue
        values = (*sizes.values(), *extents)
        score = sum(v == 1 for v in values) * 10 + len(values) - len(set(values))
        if best is None or score < best[0]:
            best = score, sizes
    return best[1] if best else None


# ---------------------------------------------------------------- the derivation
def _check_axes(reading: ParsedLemma) -> None:
    """That every axis has values: its extent is a positive integer wherever the claim's conditions are met."""
    for axis, size in reading.extents.items():
        if not is_count(size, reading.integers):
            raise CertificateError(
                f"axis {axis} may have no value: no condition says that {size} is a positive integer"
            )


def _derive(reading: ParsedLemma, names: tuple[str, ...], replay: Replay) -> None:
    if not names:
        if reading.left != reading.right:
            raise CertificateError("no axiom is listed and the two sides are not the same text")
        return
    rows = {a.name: a for a in axioms.AXIOMS}
    if unknown := [name for name in names if name not in rows]:
        raise CertificateError(f"no axiom is called {', '.join(unknown)}")
    if reading.steps:
        if unlisted := [name for name in follow(reading) if name not in names]:
            raise CertificateError(f"the listed axioms do not give it again: its steps use {', '.join(unlisted)}")
        return
    check_renamings(reading)
    rules = "\n".join((*(c.rule() for c in axioms.CONDITIONS), *(rows[name].rules() for name in names)))
    facts = "\n".join(_facts(reading))
    signature = " ".join(SIGNATURE.split())  # each command on a line
    why = replay(f"{signature}\n{rules}\n{facts}", _egglog(reading.left), _egglog(reading.right))
    if why:
        raise CertificateError(f"the listed axioms do not give it again: {why}")


def _facts(reading: ParsedLemma) -> Iterator[str]:
    for name, size in reading.extents.items():
        yield f'(axis "{name}")'
        yield f'(extent "{name}" {_egglog_dim(size)})'
        yield f'(inhabited "{name}")'
    for name, (outer, inner) in reading.digits.items():
        yield f'(digits "{name}" "{outer}" "{inner}")'
    whole = [reading.left, reading.right, *reading.hints, *(e for p in reading.renamed for e in p)]
    for leaf in dict.fromkeys(leaf for e in whole for leaf in leaves(e)):
        met = {c for w in reading.axis_names(leaf) for c in reading.coordinates(w)}
        for name in reading.extents:
            if not met & set(reading.coordinates(name)):
                yield f'(independent {_egglog(leaf)} "{name}")'
    for a, b in reading.renamed:
        yield f"(renamed {_egglog(a)} {_egglog(b)})"
    for n, e in enumerate(reading.hints):
        yield f"(let $at_hand{n} {_egglog(e)})"


def leaves(e: Tree) -> Iterator[Tree]:
    """Elements, intervals and bands in an expression."""
    if isinstance(e, tuple):
        if e[0] in ("at", "within", "near"):
            yield e
        else:
            for x in e[1:]:
                yield from leaves(x)


def _egglog(e: Tree) -> str:
    match e:
        case ("at" | "within" | "near" as op, *words):
            return f'({op.capitalize()} "{" ".join(map(show, words)).replace(chr(34), "_")}")'
        case ("num", str(value)):
            above, _, below = value.partition("/")
            return f"(Num {number(int(above), int(below or 1))})"
        case ("size", str(symbol)):
            return f'(Size "{symbol}")'
        case ("call", str(fn), a):
            return f'(Call "{fn}" {_egglog(a)})'
        case ("sum" | "most" | "rescaled" as op, str(axis), *parts):
            return f'({op.capitalize()} "{axis}" {" ".join(map(_egglog, parts))})'
        case ("upto", str(axis), at, a):
            return f'(Upto "{axis}" "{show(at).replace(chr(34), "_")}" {_egglog(a)})'
        case (str(op), *parts):
            return f"({op.capitalize()} {' '.join(map(_egglog, parts))})"
        case _:
            raise CertificateError(f"cannot read {show(e)}")


def _egglog_dim(size: Dim) -> str:
    out = f"(Num {number(0)})"
    for monomial, coefficient in size.terms:
        term = f"(Num {number(coefficient.numerator, coefficient.denominator)})"
        for symbol, exponent in monomial:
            factor = f'(Size "{symbol}")' if exponent > 0 else f'(Inv (Size "{symbol}"))'
            for _ in range(abs(exponent)):
                term = f"(Mul {term} {factor})"
        out = term if len(size.terms) == 1 else f"(Add {out} {term})"
    return out


# ---------------------------------------------------------------- the test
def _test(lemma: Lemma, step: Step | None, tensors: Tensors, results: tuple[str, str]) -> None:
    """That a lemma says what its operator does: as it is spelled, and as numbers where that is not too many."""
    point, reading = tensors.point, tensors.point.readings[lemma.tensor]
    try:
        _evaluate(lemma, step, tensors, results)
    except CertificateError as complaint:
        if str(complaint) != TOO_LARGE:
            raise
    if step is None:
        for side, tensor in zip((reading.left, reading.right), results, strict=True):
            same_result(point, side, reading, tensor, tensors.shapes[tensor], tensors.given)
        return
    at = point.points(_axes(step))
    meaning = Meaning(step.op, step.operands, step.shapes, step.shape, step.block, point, tensors.given)
    meaning.compare(meaning.wanted(), reading.left, reading, at, at)
    if tensors.masks:
        _check_divisor(step, tensors)


def _check_name(tensor: str, names: Mapping[str, str], tensors: Tensors) -> None:
    """That a name stands for one thing, and for nothing that is made of it."""
    reading = tensors.point.readings[tensor]
    order = list(names)
    if not reading.named:
        return
    name = str(reading.named[1])
    first = names[name]
    if first != tensor:
        same_definition(tensors.point, reading, tensors.point.readings[first], tensors.shapes[tensor])
        return
    used = {str(e[1]) for e in leaves(reading.right) if e[0] == "at"} & set(order[order.index(name) :])
    if used:
        raise CertificateError(f"{name} is made of {', '.join(sorted(used))}")


def _check_divisor(step: Step, tensors: Tensors) -> None:
    """That a divisor keeps an entry by the claim's condition: what may be masked in it is summed over."""
    match step.op:
        case ops.Unary("recip" | "rsqrt") | ops.Binary("div"):
            below = tensors.point.readings.get(step.operands[-1])
        case ops.Scalar("pow", value) if value < 0:
            below = tensors.point.readings.get(step.operands[0])
        case _:
            return
    pending = [below.value] if below is not None else []
    while pending:
        e = pending.pop()
        match e:
            case ("near", *_) | ("mul", _, ("inv", _)) if e[0] == "near" or e[1] == e[2][1]:
                raise CertificateError(
                    f"{step.operation} divides by what may be masked as a whole: {show(e)} is a factor of it"
                )
            case ("mul", a, b):
                pending += (a, b)
            case _:
                pass


def _axes(step: Step) -> dict[str, Dim]:
    """The names that a lemma about a step has for places."""
    axes = {f"p{d}": size for d, size in enumerate(step.shape)}
    if step.block is not None:
        axes |= {f"g{n}": p.size for n, p in enumerate(step.block.grid)}
        axes |= {"l": step.block.loop.size} if step.block.loop else {}
    return axes


def _evaluate(lemma: Lemma, step: Step | None, tensors: Tensors, results: tuple[str, str]) -> None:
    """That both sides are what the operator gives, at a few random points."""
    point, reading = tensors.point, tensors.point.readings[lemma.tensor]
    if step is None:
        if lemma.operation != f"{results[0]} = {results[1]}":
            raise CertificateError(f"the last lemma is about {lemma.operation}, not about the two results")
        axes = {f"p{d}": size for d, size in enumerate(tensors.shapes[results[0]])}
        at = point.points(axes)
        place = [at[name] for name in axes]
        wanted = tensors.value(results[0], place, at, 1)
        _compare("the candidate's result", wanted, point.side(reading.left, reading, at))
        _compare("the program's result", tensors.value(results[1], place, at, 1), wanted)
    else:
        if lemma.operation != step.operation:
            raise CertificateError(f"the graph says {step.operation}, the lemma {lemma.operation}")
        at = point.points(_axes(step))
        wanted = applied(step, tensors, [at[f"p{d}"] for d in range(len(step.shape))], at)
        _compare("the left side", wanted, point.side(reading.left, reading, at))
    _compare("the right side", wanted, point.side(reading.right, reading, at))


def _compare(what: str, wanted: Numbers, found: Numbers) -> None:
    a, b = (np.where(x < LOW * 1e-9, -np.inf, x) for x in np.broadcast_arrays(wanted, found))
    if not np.allclose(a, b, rtol=CLOSE, atol=CLOSE * 1e-3, equal_nan=True):
        raise CertificateError(f"{what} is {b.flat[0]:.9g} where the operator gives {a.flat[0]:.9g}")
