"""Static rules for float safety: what a candidate's graph shows about its arithmetic without running it.

Every tensor gets a *key*, a term for its value that ignores tiling and constant factors, merges nested maxima, and
treats products, quotients and matrix products as sets of factors. Keys are coarse on purpose: they only show whether a
candidate takes an exp or divides where the program does not.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import inf
from typing import TypeAlias

from prism_explore.ir.elementwise import UNARY
from prism_explore.ir.formulas import evaluate, formula
from prism_explore.ir.graph import SGraph, block_types
from prism_explore.ir.ops import (
    Accumulate,
    AccumulateRescaled,
    Band,
    Binary,
    Concat,
    Custom,
    Expand,
    Input,
    Load,
    Lookup,
    MatMul,
    Op,
    Permute,
    Reduce,
    Reshape,
    Result,
    RunningMax,
    Scalar,
    Scan,
    Slice,
    Store,
    Unary,
)
from prism_explore.ir.program import TensorProgram
from prism_explore.ir.tensors import TensorType

Key: TypeAlias = tuple["str | Key", ...]


@dataclass(frozen=True, slots=True)
class Concern:
    """One finding: the rule, the tensor, and a sentence."""

    rule: str
    tensor: str
    """k3 for a kernel-level tensor, k3.b7 for a block tensor."""
    sentence: str
    is_decisive: bool
    """Whether a candidate with it is never called safe, even if no input shows harm."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One row of the static rules."""

    rule: str
    sentence: str
    source: str
    is_decisive: bool


FINDINGS: tuple[Finding, ...] = (
    Finding(
        "exp without its maximum",
        "the argument of an exp is neither one of the program's nor relative to a maximum, so it can overflow",
        "online softmax, arXiv 1805.02867",
        True,
    ),
    Finding(
        "scale that is no maximum",
        "a rescaled accumulator moves with a scale that is no running maximum, so exp(before - now) can overflow",
        "online softmax, arXiv 1805.02867",
        True,
    ),
    Finding(
        "variance by difference",
        "a variance is computed as E[x²] - E[x]², which cancels where the mean is large",
        "Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., 1.9",
        True,
    ),
    Finding(
        "new divisor",
        "it divides by what the program does not divide by, which may vanish where the program's divisor does not",
        "verification notes on x/0 = 0",
        False,
    ),
)
_ROWS = {row.rule: row for row in FINDINGS}


@dataclass(frozen=True, slots=True)
class _Value:
    """A tensor at either level."""

    name: str
    op: Op
    args: tuple[int, ...]
    """Positions among all values of both levels."""
    key: Key


def find_concerns(program: TensorProgram, candidate: SGraph) -> tuple[Concern, ...]:
    """All findings on a candidate, in order of its tensors."""
    of_program = tuple(_values(program.graph))
    own = tuple(_values(candidate))
    exps = {key for v in of_program for key in _exps(v, of_program)}
    divisors = {d for v in of_program for d in _divisors(v, of_program)}
    differences = {v.key for v in of_program if _is_variance(v.key)}
    found: list[Concern] = []

    def add(rule: str, v: _Value) -> None:
        row = _ROWS[rule]
        found.append(Concern(rule, v.name, row.sentence, row.is_decisive))

    for v in own:
        if _is(v.op, "exp") and v.key not in exps and not _is_bounded(v.key):
            add("exp without its maximum", v)
        if isinstance(v.op, AccumulateRescaled) and own[v.args[1]].key[0] != "max":
            add("scale that is no maximum", v)
        if _is_variance(v.key) and v.key not in differences and not isinstance(v.op, _MOVES):
            add("variance by difference", v)
        if any(d not in divisors for d in _divisors(v, own)):
            add("new divisor", v)
    return tuple(found)


_MOVES = (Load, Store, Custom, Result, Permute, Reshape, Expand, Slice)


def _is(op: Op, fn: str) -> bool:
    return isinstance(op, Unary) and op.fn == fn


def _exps(v: _Value, among: tuple[_Value, ...]) -> Iterator[Key]:
    """The exponentials in an operator or in its definition."""
    match v.op:
        case Unary("exp"):
            yield v.key
        case Unary(fn) if UNARY[fn].lowering == "transparent":
            yield from _in_definition(fn, among[v.args[0]].key)[0]
        case _:
            return


def _in_definition(fn: str, x: Key) -> tuple[tuple[Key, ...], tuple[Key, ...]]:
    """The exps that a function's definition takes, and what it divides by."""
    exps: list[Key] = []
    divisors: list[Key] = []

    def operation(name: str, args: tuple[Key, ...]) -> Key:
        match name, args:
            case "add" | "sub" | "mul", (a, b):
                return _binary(name, a, b)
            case "div", (a, b):
                divisors.append(b)
                return _binary(name, a, b)
            case "neg", (a,):
                return _negated(a)
            case "exp", (a,):
                exps.append(("exp", a))
                return exps[-1]
            case _, (a,):
                if UNARY[name].lowering == "transparent":
                    inner_exps, inner_divisors = _in_definition(name, a)
                    exps.extend(inner_exps)
                    divisors.extend(inner_divisors)
                return (name, a)
            case _:
                return (name, *args)

    def literal(value: Fraction) -> Key:
        return ("one",) if value == 1 else ("number", str(value))

    evaluate(formula(UNARY[fn].definition), {"x": x}, literal, operation)
    return tuple(exps), tuple(divisors)


def _is_bounded(key: Key) -> bool:
    """Whether an exp's argument is x - max(x), a difference of maxima, or minus a square."""
    inner = key[1]
    assert isinstance(inner, tuple), "an exp has an argument"
    match inner:
        case ("sub", first, ("max", full)):
            return first == full or first == ("max", full)
        case ("neg", ("square", _)):
            return True
        case (str(fn), _) if fn in UNARY:
            return UNARY[fn].range.high < inf
        case _:
            return False


def _is_variance(key: Key) -> bool:
    match key:
        case ("sub", ("sum", ("square", x)), ("square", ("sum", y))):
            return x == y
        case _:
            return False


def _divisors(v: _Value, among: tuple[_Value, ...]) -> Iterator[Key]:
    match v.op:
        case Binary("div"):
            yield among[v.args[1]].key
        case Unary("recip"):
            yield among[v.args[0]].key
        case Unary("rsqrt"):
            yield ("sqrt", among[v.args[0]].key)
        case Unary(fn) if UNARY[fn].lowering == "transparent":
            yield from _in_definition(fn, among[v.args[0]].key)[1]
        case Scalar("pow", exponent) if exponent < 0:
            key = among[v.args[0]].key
            yield ("sqrt", key) if exponent.denominator == 2 else key
        case _:
            return


# ---------------------------------------------------------------- keys
def _values(graph: SGraph) -> Iterator[_Value]:
    """Every tensor of both levels, operands first."""
    out: list[_Value] = []
    kernel: list[int] = []
    stores: dict[int, list[int]] = {}

    def append(name: str, op: Op, args: tuple[int, ...]) -> int:
        out.append(_Value(name, op, args, _key(op, tuple(out[a].key for a in args))))
        return len(out) - 1

    for n, node in enumerate(graph.nodes):
        args = tuple(kernel[a] for a in node.args)
        match node.op:
            case Custom(block):
                inside: list[int] = []
                for m, inner in enumerate(block.nodes):
                    match inner.op:
                        case Load(operand, _, _):
                            sources: tuple[int, ...] = (args[operand],)
                        case _:
                            sources = tuple(inside[a] for a in inner.args)
                    inside.append(append(f"k{n}.b{m}", inner.op, sources))
                stores[n] = [inside[s] for s in block.stores]
                kernel.append(append(f"k{n}", node.op, (stores[n][0],)))
            case Result(index):
                kernel.append(append(f"k{n}", node.op, (stores[node.args[0]][index],)))
            case op:
                kernel.append(append(f"k{n}", op, args))
    yield from out


def _key(op: Op, args: tuple[Key, ...]) -> Key:
    match op:
        case Input(name, _):
            return ("input", name)
        case Band():
            return ("band", str(op))
        case Load() | Store() | Custom() | Result() | Permute() | Reshape() | Expand() | Slice():
            return args[0]
        case Scalar("mul", value) if value == 0:
            return ("zero",)
        case Scalar("mul", value):
            return _negated(args[0]) if value < 0 else args[0]
        case Scalar("pow", value) if value == 2:
            return _product((args[0], 2))
        case Scalar("pow", value) if abs(value.numerator) == 1 and value.denominator == 2:
            return _product((("sqrt", args[0]), value.numerator))
        case Scalar("add", value) if value == 1:
            return _binary("add", args[0], ("one",))
        case Scalar(fn, value):
            return (fn, str(value), args[0])
        case Unary("neg"):
            return _negated(args[0])
        case Unary("rsqrt"):
            return _product((("sqrt", args[0]), -1))
        case Unary("recip"):
            return _product((args[0], -1))
        case Unary("square"):
            return _product((args[0], 2))
        case Unary(fn):
            return (fn, args[0])
        case Binary(fn):
            return _binary(fn, args[0], args[1])
        case MatMul():
            return _total(_product((args[0], 1), (args[1], 1)))
        case Concat():
            return args[0] if args[0] == args[1] else ("concat", *args)
        case Lookup():
            return ("lookup", str(op), *args)
        case Reduce("max", _) | Accumulate("max", _) | RunningMax():
            return args[0] if args[0][0] == "max" else ("max", args[0])
        case Reduce("rms", _) | Accumulate("rms", _):
            return ("sqrt", _total(_product((args[0], 2))))
        case Reduce() | Accumulate():
            return _total(args[0])
        case Scan(fn, _):
            return (fn, args[0])
        case AccumulateRescaled():
            return _total(args[0])


def _product(*factors: tuple[Key, int]) -> Key:
    """The factors of a product with their exponents, ordered; factors that cancel are dropped."""
    powers: Counter[Key] = Counter()
    for key, exponent in factors:
        match key:
            case ("product", *inner):
                for factor in inner:
                    assert isinstance(factor, tuple), "a product has factors"
                    base, times = factor
                    assert isinstance(base, tuple) and isinstance(times, str), "a factor is a key and its exponent"
                    powers[base] += exponent * int(times)
            case ("square", tuple() as base):
                powers[base] += 2 * exponent
            case _:
                powers[key] += exponent
    left = [(key, n) for key, n in powers.items() if n]
    if len(left) == 1 and left[0][1] in (1, 2):
        key, n = left[0]
        return key if n == 1 else ("square", key)
    return ("product", *sorted(((key, str(n)) for key, n in left), key=repr))


def _total(key: Key) -> Key:
    """A sum; a sum of a product has the product's key."""
    return key if key[0] in ("sum", "product") else ("sum", key)


def _negated(key: Key) -> Key:
    match key:
        case ("neg", tuple() as inner):
            return inner
        case ("sub", a, b):
            return ("sub", b, a)
        case _:
            return ("neg", key)


def _binary(fn: str, a: Key, b: Key) -> Key:
    match fn:
        case "mul":
            return _product((a, 1), (b, 1))
        case "div":
            return _product((a, 1), (b, -1))
        case "add" if b[0] == "neg":
            return ("sub", a, b[1])
        case "max" if a[0] == b[0] == "max" and a == b:
            return a
        case "add" | "max" | "min":
            return (fn, *sorted((a, b), key=repr))
        case _:
            return (fn, a, b)


# ---------------------------------------------------------------- the modelled bound
def longest_rounding_chain(graph: SGraph, parameters: Mapping[str, int], data_size: int) -> float:
    """The number of successive roundings on the longest path to the result, with sums counted term by term.

    Times the unit roundoff it bounds the relative error of sums without cancellation. It is a model: machines add in
    trees and in wider registers.

    Args:
        graph: with its own extents; these need not be multiples of the tiles.
        parameters: values of grid sizes and loop ranges.
        data_size: the value of every other symbol.

    Source: Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., 3.1 and 4.2.
    """
    types = graph.types()
    data = dict.fromkeys(graph.data_symbols, data_size)
    sizes = {**dict.fromkeys(graph.parameters, 1), **parameters, **data}
    lengths: list[float] = []
    results: dict[int, tuple[float, ...]] = {}
    for n, node in enumerate(graph.nodes):
        before = [lengths[a] for a in node.args]
        match node.op:
            case Custom(block):
                operands = tuple(types[a] for a in node.args)
                tiles = block_types(block, operands)
                iterations = float(block.loop.size.rational(sizes)) if block.loop else 1
                inside: list[float] = []
                for inner in block.nodes:
                    match inner.op:
                        case Load(operand, _, _):
                            inside.append(before[operand])
                        case op:
                            shapes = tuple(tiles[a] for a in inner.args)
                            longest = max((inside[a] for a in inner.args), default=0)
                            inside.append(longest + _roundings(op, shapes, sizes, iterations))
                results[n] = tuple(inside[s] for s in block.stores)
                lengths.append(results[n][0])
            case Result(index):
                lengths.append(results[node.args[0]][index])
            case op:
                shapes = tuple(types[a] for a in node.args)
                lengths.append(max(before, default=0) + _roundings(op, shapes, sizes, 1))
    return lengths[graph.output]


def _roundings(op: Op, operands: tuple[TensorType, ...], sizes: Mapping[str, int], iterations: float) -> float:
    match op:
        case Input() | Band() | Load() | Store() | Custom() | Result():
            return 0
        case Lookup() | Permute() | Reshape() | Expand() | Slice() | Concat() | RunningMax():
            return 0
        case Reduce("max", _) | Accumulate("max", _):
            return 0
        case MatMul():
            return float(operands[0].dims[-1].rational(sizes))
        case Reduce(_, along) | Scan(_, along):
            return float(operands[0].dims[along].rational(sizes))
        case Accumulate(_, along) | AccumulateRescaled(along):
            tile = float(operands[0].dims[along].rational(sizes)) if along is not None else 1
            steps = 3 * iterations if isinstance(op, AccumulateRescaled) else iterations
            return tile + steps - 1
        case Unary() | Scalar() | Binary():
            return 1
