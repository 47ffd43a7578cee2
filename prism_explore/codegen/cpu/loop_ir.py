"""Loops: a kernel as explicit tiles and loops, free of any backend.

A `LoopProgram` is a sequence of nests, one per kernel-level operator. A nest runs its blocks (the
points of its grid) in any order; each block runs `before`, then `body` for every iteration of the
loop, then `after`. What does not depend on the inner grid dims stands in `once`: a thread does it
when it enters new outer coordinates, and keeps the result.

A place is a buffer with one affine expression per dim, over named variables: `w[8*i + k, 512*bx + n]`.
A load is therefore a view; so is what a program permutes, repeats or slices, as a buffer that lies in
another. Tiles that have memory of their own are listed as scratch. Three statements say everything:
`Map` (elementwise), `Fold` (a sum or a maximum over some variables) and `Contract` (a matrix product).
`show_loops` prints a program for people; `lower.py` makes one from an sGraph.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import prod
from typing import Literal, TypeAlias, assert_never

from prism_explore.ir.tensors import BYTES, DType

Affine: TypeAlias = tuple[tuple[str, int], ...]
"""A sum of variables with integer factors, the variable `ONE` standing for 1; empty is 0."""

ONE = ""

Join: TypeAlias = Literal["sum", "max"]
"""What `adds` does, and what a fold is."""


LOWEST = Fraction(2**104 - 2**128)
"""The most negative float32, below what stands for minus infinity: where a maximum starts."""


@dataclass(frozen=True, slots=True)
class Range:
    """A loop variable and how many values it takes, from 0 on."""

    name: str
    extent: int


@dataclass(frozen=True, slots=True)
class Buffer:
    """Memory with a shape. Strides are in elements; scratch belongs to one thread."""

    name: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    where: Literal["input", "output", "temporary", "scratch"]
    of: Buffer | None = None
    """The buffer that it lies in, where it has no memory of its own."""
    start: int = 0
    """Its first element there."""
    dtype: DType = "f32"
    """As it is stored; all arithmetic is in float32."""

    @property
    def bytes(self) -> int:
        """What it spans."""
        return self.elements * BYTES[self.dtype]

    @property
    def root(self) -> Buffer:
        """The buffer that has the memory."""
        return self.of or self

    @property
    def elements(self) -> int:
        """How many elements it spans, padding included."""
        return 1 + sum((n - 1) * s for n, s in zip(self.shape, self.strides, strict=True))


@dataclass(frozen=True, slots=True)
class Place:
    """A buffer's element, as a function of loop variables."""

    buffer: Buffer
    index: tuple[Affine, ...]

    def stride(self, variable: str) -> int:
        """By how many elements a step of `variable` moves it."""
        return sum(
            factor * step
            for affine, step in zip(self.index, self.buffer.strides, strict=True)
            for name, factor in affine
            if name == variable
        )

    @property
    def variables(self) -> tuple[str, ...]:
        """The loop variables that move it, each once, in order of appearance."""
        return tuple(dict.fromkeys(name for affine in self.index for name, _ in affine if name))

    @property
    def offset(self) -> int:
        """In elements, where all variables are 0."""
        return self.stride(ONE)

    def renamed(self, names: dict[str, str]) -> Place:
        """The same place with other names for some variables."""
        return Place(self.buffer, tuple(tuple((names.get(v, v), f) for v, f in a) for a in self.index))

    def __str__(self) -> str:
        return f"{self.buffer.name}[{', '.join(_affine_text(a) for a in self.index)}]"


@dataclass(frozen=True, slots=True)
class Read:
    """The number at a place."""

    place: Place


@dataclass(frozen=True, slots=True)
class Constant:
    """An exact rational number."""

    value: Fraction


@dataclass(frozen=True, slots=True)
class Within:
    """1 where `low <= at <= high`, else 0; None is no bound. A band, computed where it is read."""

    at: Affine
    low: int | None
    high: int | None

    def stride(self, variable: str) -> int:
        """By how much a step of `variable` moves it."""
        return sum(factor for name, factor in self.at if name == variable)

    @property
    def variables(self) -> tuple[str, ...]:
        """The loop variables that move it."""
        return tuple(dict.fromkeys(name for name, _ in self.at if name))


@dataclass(frozen=True, slots=True)
class Apply:
    """A row of `ir.ops.UNARY` or `ir.ops.BINARY` applied to one or two expressions, or `pow` of one and a constant."""

    fn: str
    args: tuple[Expression, ...]


Expression: TypeAlias = Read | Constant | Within | Apply


@dataclass(frozen=True, slots=True)
class Map:
    """`target = value`, or `target += value`, or their maximum, for every point of the domain."""

    domain: tuple[Range, ...]
    target: Place
    value: Expression
    adds: bool = False
    join: Join = "sum"


@dataclass(frozen=True, slots=True)
class Fold:
    """`target = sum (or maximum) of value over the variables along`, or `+=`; the others of the domain stay."""

    domain: tuple[Range, ...]
    along: tuple[str, ...]
    target: Place
    value: Expression
    adds: bool = False
    join: Join = "sum"


@dataclass(frozen=True, slots=True)
class Contract:
    """`target[m, n] = sum over k of left[m, k] * right[k, n]`, or `+=`, for every point of the batch.

    Shapes: `* m k, * k n -> * m n`
    """

    batch: tuple[Range, ...]
    m: Range
    n: Range
    k: tuple[Range, ...]
    target: Place
    left: Place
    right: Place
    adds: bool = False


Statement: TypeAlias = Map | Fold | Contract


@dataclass(frozen=True, slots=True)
class Nest:
    """One kernel-level operator: its blocks, its loop, and what happens when."""

    name: str
    grid: tuple[Range, ...]
    """Outermost first; blocks are numbered with the last one fastest."""
    outer: int
    """`once` depends on this many leading grid dims only."""
    loop: Range | None
    scratch: tuple[Buffer, ...]
    once: tuple[Statement, ...]
    before: tuple[Statement, ...]
    body: tuple[Statement, ...]
    after: tuple[Statement, ...]
    needed: Within | None = None
    """The iterations that run, where the others would change nothing; None for all."""

    @property
    def blocks(self) -> int:
        """How many points the grid has."""
        return prod(r.extent for r in self.grid)

    @property
    def statements(self) -> tuple[Statement, ...]:
        """All of them in order."""
        return (*self.once, *self.before, *self.body, *self.after)


@dataclass(frozen=True, slots=True)
class LoopProgram:
    """Nests in order, and the memory that they share."""

    inputs: tuple[Buffer, ...]
    temporaries: tuple[Buffer, ...]
    output: Buffer
    nests: tuple[Nest, ...]
    views: tuple[Buffer, ...] = ()
    """Buffers that lie in others."""


def reads(expression: Expression) -> Iterator[Place]:
    """Every place that an expression reads, in order."""
    match expression:
        case Read(place):
            yield place
        case Constant() | Within():
            return
        case Apply(_, args):
            for a in args:
                yield from reads(a)
        case _:
            assert_never(expression)


def withins(expression: Expression) -> Iterator[Within]:
    """Every band in an expression, in order."""
    match expression:
        case Within():
            yield expression
        case Apply(_, args):
            for a in args:
                yield from withins(a)
        case Read() | Constant():
            return
        case _:
            assert_never(expression)


def substituted(expression: Expression, by: Mapping[str, Affine]) -> Expression:
    """The expression with sums of other variables for some of its variables, all at once."""
    match expression:
        case Read(place):
            return Read(Place(place.buffer, tuple(_put(a, by) for a in place.index)))
        case Constant():
            return expression
        case Within(at, low, high):
            return Within(_put(at, by), low, high)
        case Apply(fn, args):
            return Apply(fn, tuple(substituted(a, by) for a in args))
        case _:
            assert_never(expression)


def _put(affine: Affine, by: Mapping[str, Affine]) -> Affine:
    out: list[tuple[str, int]] = []
    for name, factor in affine:
        out += [(v, f * factor) for v, f in by[name]] if name in by else [(name, factor)]
    constant = sum(f for v, f in out if v == ONE)
    return (*((v, f) for v, f in out if v != ONE), *(((ONE, constant),) if constant else ()))


def places(statement: Statement) -> tuple[Place, ...]:
    """The target, then what is read."""
    if isinstance(statement, Contract):
        return (statement.target, statement.left, statement.right)
    return (statement.target, *reads(statement.value))


# ---------------------------------------------------------------- text
Remark: TypeAlias = Callable[[Statement], str]


def show_loops(program: LoopProgram, remark: Remark | None = None) -> str:
    """The program as pseudo-code, without a trailing newline.

    Args:
        program: what to print.
        remark: what a backend has to say on a statement, such as its register tile; empty for nothing.
    """
    lines = [f"{_declared(program.output)} <- {', '.join(_declared(b) for b in program.inputs)}"]
    for b in program.temporaries:
        lines.append(f"between kernels: {_declared(b)}")
    for b in program.views:
        lines.append(f"view: {_declared(b)} of {b.root.name}{f' from element {b.start} on' if b.start else ''}")
    for nest in program.nests:
        lines += ["", *_nest_lines(nest, remark or (lambda _: ""))]
    return "\n".join(lines)


def _nest_lines(nest: Nest, remark: Remark) -> list[str]:
    lines = [f"kernel {nest.name}"]
    if nest.scratch:
        lines.append(f"  scratch of each thread: {', '.join(_declared(b) for b in nest.scratch)}")
    outer, inner = nest.grid[: nest.outer], nest.grid[nest.outer :]
    threads = "  # shared among threads"
    names = ", ".join(r.name for r in outer)
    indent = "  "
    if outer:
        lines.append(f"{indent}parallel for {_ranges(outer)}:{threads}")
        indent += "  "
    if nest.once:
        lines.append(f"{indent}once per thread:" if not outer else f"{indent}once per thread and {names}:")
        lines += [line for s in nest.once for line in _statement_lines(s, f"{indent}  ", remark)]
    if inner:
        lines.append(f"{indent}parallel for {_ranges(inner)}:{'' if outer else threads}")
        indent += "  "
    lines += [line for s in nest.before for line in _statement_lines(s, indent, remark)]
    if nest.body and nest.loop:
        where = f" where {show_expression(nest.needed)}" if nest.needed else ""
        lines.append(f"{indent}for {_ranges((nest.loop,))}{where}:")
    deeper = f"{indent}  " if nest.loop else indent
    lines += [line for s in nest.body for line in _statement_lines(s, deeper, remark)]
    lines += [line for s in nest.after for line in _statement_lines(s, indent, remark)]
    return lines


def _statement_lines(s: Statement, indent: str, remark: Remark) -> list[str]:
    text = show_statement(s)
    note = remark(s)
    return [f"{indent}{text}", *([f"{indent}    # {note}"] if note else [])]


def show_statement(s: Statement) -> str:
    """One statement, with the ranges of its variables behind it."""
    equals = "=" if not s.adds else "+=" if isinstance(s, Contract) or s.join == "sum" else "max="
    match s:
        case Map(domain, target, value):
            text, ranges = f"{target} {equals} {show_expression(value)}", domain
        case Fold(domain, along, target, value, _, join):
            summed = tuple(r for r in domain if r.name in along)
            text = f"{target} {equals} {join} over {_ranges(summed)} of {show_expression(value)}"
            ranges = tuple(r for r in domain if r.name not in along)
        case Contract(batch, m, n, k, target, left, right, _):
            text = f"{target} {equals} sum over {_ranges(k)} of {left} * {right}"
            ranges = (*batch, m, n)
        case _:
            assert_never(s)
    return f"{text}  for {_ranges(ranges)}" if ranges else text


def show_expression(e: Expression, tight: bool = False) -> str:
    """An expression in infix form; `tight` puts parentheses around sums and products."""
    signs = {"add": "+", "sub": "-", "mul": "*", "div": "/"}
    match e:
        case Read(place):
            return str(place)
        case Constant(value):
            if value == LOWEST:
                return "lowest"
            return str(value) if value.denominator == 1 or not tight else f"({value})"
        case Within(at, low, high):
            bounds = [str(low)] if low is not None else []
            bounds += [_affine_text(at), *([str(high)] if high is not None else [])]
            return f"({' <= '.join(bounds)})"
        case Apply(fn, (a, b)) if fn in signs:
            text = f"{show_expression(a, True)} {signs[fn]} {show_expression(b, True)}"
            return f"({text})" if tight else text
        case Apply(fn, args):
            return f"{fn}({', '.join(show_expression(a) for a in args)})"


def _declared(b: Buffer) -> str:
    row_major = b.strides == tuple(prod(b.shape[d + 1 :]) for d in range(len(b.shape)))
    strides = "" if row_major else f" strides({', '.join(map(str, b.strides))})"
    stored = "" if b.dtype == "f32" else f" {b.dtype}"
    return f"{b.name}[{', '.join(map(str, b.shape))}]{stored}{strides}"


def _ranges(ranges: tuple[Range, ...]) -> str:
    return ", ".join(f"{r.name}<{r.extent}" for r in ranges)


def _affine_text(affine: Affine) -> str:
    parts = [str(f) if v == ONE else {1: v, -1: f"-{v}"}.get(f, f"{f}*{v}") for v, f in affine]
    return " + ".join(parts).replace("+ -", "- ") or "0"
