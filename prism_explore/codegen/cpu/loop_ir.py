"""Loop IR: a kernel as explicit tiles and loops, independent of the machine.

A `LoopProgram` is a sequence of loop nests, one per kernel-level operator. A nest runs its blocks (the points of its
grid) in any order. Each block runs `before`, then `body` for every iteration of the loop, then `after`. `once` holds
what does not depend on the inner grid dims: a thread runs it when its outer grid coordinates change, and keeps the
result.

A place is a buffer with one affine index per dim, over loop variables: `w[8*i + k, 512*bx + n]`. So a load is a view,
and so is what a program permutes, repeats or slices: a buffer within another. Tiles with memory of their own are
scratch. There are five statements: `Map` (elementwise), `Fold` (a sum or maximum over some variables), `PrefixSum`,
`Gather` (a lookup) and `Contract` (a matrix product). `lower_graph.py` makes a program from an sGraph, `loop_text.py`
prints it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from math import prod
from typing import ClassVar, Literal, TypeAlias, assert_never

from prism_explore.ir.tensors import BYTE_INTEGERS, BYTES, DType

Affine: TypeAlias = tuple[tuple[str, int], ...]
"""A sum of variables with integer factors; the variable `ONE` is the constant 1; empty is 0."""

ONE = ""

WORD = 4
"""Bytes of a 32-bit word: what code reads of each, such as codes of weights, is in bytes as far apart."""

Join: TypeAlias = Literal["sum", "max"]
"""How values are combined: by a fold, and where a statement `adds` to its target."""


LOWEST = Fraction(2**104 - 2**128)
"""The most negative float32, below the number used as minus infinity: the initial value of a maximum."""


@dataclass(frozen=True, slots=True)
class Range:
    """A loop variable, from 0 to `extent` - 1."""

    name: str
    extent: int


@dataclass(frozen=True, slots=True)
class Buffer:
    """Memory with a shape. Strides are in elements; scratch belongs to one thread."""

    name: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    where: Literal["input", "output", "temporary", "scratch"]
    parent: Buffer | None = None
    """The buffer that it is a part of, if it has no memory of its own."""
    start: int = 0
    """Its first element in the parent."""
    dtype: DType = "f32"
    """Of the stored elements; all arithmetic is in float32."""

    @property
    def bytes(self) -> int:
        """The memory that it spans."""
        return self.elements * BYTES[self.dtype]

    @property
    def root(self) -> Buffer:
        """The buffer that owns the memory."""
        return self.parent or self

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
        """The distance in elements for a step of `variable`."""
        return sum(
            factor * step
            for affine, step in zip(self.index, self.buffer.strides, strict=True)
            for name, factor in affine
            if name == variable
        )

    def is_byte_of_words(self, variable: str) -> bool:
        """Whether it is an 8-bit integer of a 32-bit word, and steps of `variable` are from a word to the next one.

        The memory then consists of whole words, so that each of them can be read.
        """
        root = self.buffer.root
        if root.dtype not in BYTE_INTEGERS or self.stride(variable) != WORD:
            return False
        inner = [n for n, step in zip(root.shape, root.strides, strict=True) if n > 1 and step % WORD]
        return len(inner) == 1 and inner[0] % WORD == 0 and 1 in root.strides

    @property
    def variables(self) -> tuple[str, ...]:
        """The loop variables that it depends on, each once, in order of appearance."""
        return tuple(dict.fromkeys(name for affine in self.index for name, _ in affine if name))

    @property
    def offset(self) -> int:
        """In elements, where all variables are 0."""
        return self.stride(ONE)

    def renamed(self, names: dict[str, str]) -> Place:
        """The same place with other names for some variables."""
        return Place(self.buffer, tuple(tuple((names.get(v, v), f) for v, f in a) for a in self.index))

    def __str__(self) -> str:
        return f"{self.buffer.name}[{', '.join(affine_text(a) for a in self.index)}]"


@dataclass(frozen=True, slots=True)
class Read:
    """The element at a place."""

    place: Place


@dataclass(frozen=True, slots=True)
class Constant:
    """An exact rational number."""

    value: Fraction


@dataclass(frozen=True, slots=True)
class RangeTest:
    """1 where `low <= index <= high`, else 0; None is no bound. A band is such a test; it is never stored."""

    index: Affine
    low: int | None
    high: int | None

    def stride(self, variable: str) -> int:
        """The change of the index for a step of `variable`."""
        return sum(factor for name, factor in self.index if name == variable)

    @property
    def variables(self) -> tuple[str, ...]:
        """The loop variables that it depends on."""
        return tuple(dict.fromkeys(name for name, _ in self.index if name))


@dataclass(frozen=True, slots=True)
class Apply:
    """A row of `ir.elementwise.UNARY` or `BINARY` applied to one or two expressions, or `pow` of one and a constant."""

    fn: str
    args: tuple[Expression, ...]


Expression: TypeAlias = Read | Constant | RangeTest | Apply


@dataclass(frozen=True, slots=True)
class Map:
    """`target = value`, or `target += value`, or their maximum, for every point of the domain."""

    domain: tuple[Range, ...]
    target: Place
    value: Expression
    accumulates: bool = False
    join: Join = "sum"


@dataclass(frozen=True, slots=True)
class Fold:
    """`target = sum (or maximum) of value over the variables along`, or `+=`; the others of the domain stay."""

    domain: tuple[Range, ...]
    along: tuple[str, ...]
    target: Place
    value: Expression
    accumulates: bool = False
    join: Join = "sum"


@dataclass(frozen=True, slots=True)
class PrefixSum:
    """`target = sum of value over all points up to this one along a variable`, or from this one on if `reverse`."""

    domain: tuple[Range, ...]
    along: str
    target: Place
    value: Expression
    reverse: bool = False
    accumulates: ClassVar[bool] = False
    join: ClassVar[Join] = "sum"


@dataclass(frozen=True, slots=True)
class Gather:
    """`target = value` for every point of the domain, where `variable` is the integer at `positions`.

    The value is a place in a table, with the variable as its index along one dim.
    """

    domain: tuple[Range, ...]
    positions: Place
    variable: str
    target: Place
    value: Read
    accumulates: ClassVar[bool] = False
    join: ClassVar[Join] = "sum"

    @property
    def limit(self) -> int:
        """The size of the dim that the positions index."""
        place = self.value.place
        return next(n for n, a in zip(place.buffer.shape, place.index, strict=True) if (self.variable, 1) in a)


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
    accumulates: bool = False


Statement: TypeAlias = Map | Fold | PrefixSum | Gather | Contract


@dataclass(frozen=True, slots=True)
class LoopNest:
    """One kernel-level operator: its grid, its loop, and the statements of each section."""

    name: str
    grid: tuple[Range, ...]
    """Outermost first; blocks are numbered with the last one fastest."""
    outer: int
    """The number of leading grid dims that `once` depends on."""
    loop: Range | None
    scratch: tuple[Buffer, ...]
    once: tuple[Statement, ...]
    before: tuple[Statement, ...]
    body: tuple[Statement, ...]
    after: tuple[Statement, ...]
    predicate: RangeTest | None = None
    """Predicate of the iterations that run, where the others change nothing; None for all."""
    kernel: int = field(default=-1, compare=False)
    """Position of the kernel-level operator in its sGraph."""
    nodes: tuple[tuple[str, int], ...] = field(default=(), compare=False)
    """Per buffer that it writes, the position of the block node whose value the buffer has."""

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
    """Loop nests in order, and the buffers that they share."""

    inputs: tuple[Buffer, ...]
    temporaries: tuple[Buffer, ...]
    outputs: tuple[Buffer, ...]
    nests: tuple[LoopNest, ...]
    views: tuple[Buffer, ...] = ()
    """Buffers that are part of others."""


def places_read(expression: Expression) -> Iterator[Place]:
    """Every place that an expression reads, in order."""
    match expression:
        case Read(place):
            yield place
        case Constant() | RangeTest():
            return
        case Apply(_, args):
            for a in args:
                yield from places_read(a)
        case _:
            assert_never(expression)


def range_tests(expression: Expression) -> Iterator[RangeTest]:
    """Every band in an expression, in order."""
    match expression:
        case RangeTest():
            yield expression
        case Apply(_, args):
            for a in args:
                yield from range_tests(a)
        case Read() | Constant():
            return
        case _:
            assert_never(expression)


def substitute(expression: Expression, by: Mapping[str, Affine]) -> Expression:
    """The expression with affine expressions for some of its variables, all at once."""
    match expression:
        case Read(place):
            return Read(Place(place.buffer, tuple(_substitute_affine(a, by) for a in place.index)))
        case Constant():
            return expression
        case RangeTest(at, low, high):
            return RangeTest(_substitute_affine(at, by), low, high)
        case Apply(fn, args):
            return Apply(fn, tuple(substitute(a, by) for a in args))
        case _:
            assert_never(expression)


def _substitute_affine(affine: Affine, by: Mapping[str, Affine]) -> Affine:
    out: list[tuple[str, int]] = []
    for name, factor in affine:
        out += [(v, f * factor) for v, f in by[name]] if name in by else [(name, factor)]
    constant = sum(f for v, f in out if v == ONE)
    return (*((v, f) for v, f in out if v != ONE), *(((ONE, constant),) if constant else ()))


def places_accessed(statement: Statement) -> tuple[Place, ...]:
    """The target, then what is read."""
    if isinstance(statement, Contract):
        return (statement.target, statement.left, statement.right)
    return (statement.target, *places_read(statement.value))


def positions_of(program: LoopProgram) -> dict[str, int]:
    """Per integer input, the number of positions that it may have: the size of the smallest dim that it looks up."""
    found: dict[str, int] = {}
    for s in (s for nest in program.nests for s in nest.statements if isinstance(s, Gather)):
        name = s.positions.buffer.name
        found[name] = min(s.limit, found.get(name, s.limit))
    return found


def affine_text(affine: Affine) -> str:
    """A sum of variables, such as `8*i + k`."""
    parts = [str(f) if v == ONE else {1: v, -1: f"-{v}"}.get(f, f"{f}*{v}") for v, f in affine]
    return " + ".join(parts).replace("+ -", "- ") or "0"
