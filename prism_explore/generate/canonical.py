"""One representative for graphs that differ only in the order or the naming of their operators.

Operators are appended in strictly increasing *rank*:

    rank = (operand indices sorted decreasing, operand list, operator type)

Every set of operators has exactly one increasing order. Existence: an operator that uses tensor n ranks
above every operator that was possible before n existed, so taking the smallest available operator at
every step increases. Uniqueness: the smallest available operator cannot be taken later, so it must be
taken now. Comparing operand lists as written, without sorting, loses programs such as A@(B@C).

Two operators may also compute the same thing under different names (`mul(x, x)` and `square(x)`);
`Expressions` gives equal ones equal numbers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol, TypeAlias

from prism_explore.ir.ops import COMMUTATIVE, Accumulate, Binary, Custom, Input, Load, Node, Op, Reduce, Unary
from prism_explore.ir.sgraph import SGraph

Args: TypeAlias = tuple[int, ...]
Rank: TypeAlias = tuple[Args, Args, int]


class Kind(Protocol):
    """An operator type: what the order needs to know about it."""

    @property
    def arity(self) -> int:
        """One or two operands."""
        ...

    @property
    def commutative(self) -> bool:
        """Whether the operands may be swapped; only one order is tried then."""
        ...


@dataclass(frozen=True, slots=True)
class Symbol:
    """An uninterpreted operator type, for counting."""

    name: str
    arity: int
    commutative: bool = False


@dataclass(frozen=True, slots=True)
class Application:
    """An operator type applied to operands, and how many applications rank above it right now."""

    args: Args
    kind: int
    """Position in the alphabet."""
    above: int

    @property
    def rank(self) -> Rank:
        """Its place in the canonical order."""
        return rank(self.args, self.kind)


def rank(args: Args, kind: int) -> Rank:
    """The place of an operator in the canonical order.

    >>> rank((0, 3), 2) > rank((2, 1), 5)
    True
    """
    return tuple(sorted(args, reverse=True)), args, kind


def applications(tensors: int, alphabet: Sequence[Kind], after: Rank | None) -> Iterator[Application]:
    """Every application to the first `tensors` tensors that ranks above `after`, in increasing order."""
    total = possible(tensors, alphabet)
    start = after[0][0] if after else 0
    position = possible(start, alphabet)
    for top in range(start, tensors):
        operands: list[Args] = [(top,)]
        for low in range(top + 1):
            operands += [(top, top)] if low == top else [(low, top), (top, low)]
        for args in operands:
            swapped = len(args) == 2 and args[0] > args[1]
            for number, kind in enumerate(alphabet):
                if kind.arity != len(args) or (swapped and kind.commutative):
                    continue
                position += 1
                if after is None or rank(args, number) > after:
                    yield Application(args, number, total - position)


def possible(tensors: int, alphabet: Sequence[Kind]) -> int:
    """How many applications there are to `tensors` tensors."""
    unary = sum(k.arity == 1 for k in alphabet)
    symmetric = sum(k.arity == 2 and k.commutative for k in alphabet)
    ordered = sum(k.arity == 2 and not k.commutative for k in alphabet)
    return unary * tensors + symmetric * tensors * (tensors + 1) // 2 + ordered * tensors * tensors


def sequences(tensors: int, ops: int, alphabet: Sequence[Kind]) -> Iterator[tuple[tuple[int, Args], ...]]:
    """Every program of exactly `ops` operators over `tensors` inputs, as its canonical sequence."""

    def grow(made: tuple[tuple[int, Args], ...], last: Rank | None) -> Iterator[tuple[tuple[int, Args], ...]]:
        if len(made) == ops:
            yield made
            return
        for a in applications(tensors + len(made), alphabet, last):
            yield from grow((*made, (a.kind, a.args)), a.rank)

    yield from grow((), None)


class Counter:
    """How many programs a partial one stands for, if every operator fitted every operand.

    The recursion of `sequences` summed in closed form: with `a` applications still above the last one,
    taking the i-th leaves i of them and opens those that use the new tensor. Shapes and phases are
    ignored, so the number is an upper estimate; for an uninterpreted alphabet it is exact.
    """

    def __init__(self, alphabet: Sequence[Kind]) -> None:
        self._alphabet = tuple(alphabet)
        self._sums: dict[tuple[int, int, bool], list[int]] = {}

    def of_length(self, tensors: int, ops: int) -> int:
        """Programs of exactly `ops` operators over `tensors` inputs."""
        return self._sum(tensors, ops, False)[possible(tensors, self._alphabet)]

    def up_to(self, above: int, tensors: int, ops: int) -> int:
        """Programs that extend one by at most `ops` operators, itself included.

        Args:
            above: applications to the present tensors that rank above the last operator.
            tensors: tensors present now.
            ops: operators that may still be added.
        """
        return self._sum(tensors, ops, True)[above]

    def _sum(self, tensors: int, ops: int, shorter: bool) -> list[int]:
        key = (tensors, ops, shorter)
        if key not in self._sums:
            length = possible(tensors, self._alphabet) + 1
            if ops == 0:
                self._sums[key] = [1] * length
            else:
                deeper = self._sum(tensors + 1, ops - 1, shorter)
                opened = len(deeper) - length
                sums = [1 if shorter else 0]
                for i in range(length - 1):
                    sums.append(sums[-1] + deeper[i + opened])
                self._sums[key] = sums
        return self._sums[key]


@lru_cache(256)
def _swaps(op: Op) -> bool:
    return isinstance(op, Binary) and op.fn in COMMUTATIVE


Key: TypeAlias = tuple[Op, Args]


class Expressions:
    """Numbers for computed expressions; two that are equal by renaming or by definition share one.

    Definitions read from left to right:

        mul(x, x)                      square(x)
        mul(x, recip(y))               div(x, y)
        mul(x, rsqrt(y))               div(x, sqrt(y))
        sqrt(mean(square(x), d))       rms(x, d), and the same for accumulators
        accum(sum(x, d))               accum_sum(x, d)
        sum(accum(x), d)               accum_sum(x, d)
    """

    def __init__(self) -> None:
        self._numbers: dict[Key, int] = {}
        self._keys: list[Key] = []

    def number(self, op: Op, args: Args) -> int:
        """The number of an operator applied to numbered expressions."""
        return self._intern(*self.reduced(op, args))

    def reduced(self, op: Op, args: Args) -> Key:
        """The definition's left side turned into its right side, operands in order."""
        match op:
            case Binary("mul"):
                a, b = sorted(args)
                if a == b:
                    return Unary("square"), (a,)
                for x, y in ((a, b), (b, a)):
                    match self._keys[y]:
                        case Unary("recip"), inner:
                            return Binary("div"), (x, inner[0])
                        case Unary("rsqrt"), inner:
                            return Binary("div"), (x, self.number(Unary("sqrt"), inner))
                        case _:
                            pass
                return op, (a, b)
            case Unary("sqrt"):
                match self._keys[args[0]]:
                    case (Reduce("mean", _) | Accumulate("mean", _)) as mean, (square,):
                        match self._keys[square]:
                            case Unary("square"), inner:
                                along = mean.dim
                                if isinstance(mean, Accumulate) or along is None:
                                    return Accumulate("rms", along), inner
                                return Reduce("rms", along), inner
                            case _:
                                pass
                    case _:
                        pass
            case Accumulate("sum", None):
                match self._keys[args[0]]:
                    case Reduce("sum", along), inner:
                        return Accumulate("sum", along), inner
                    case _:
                        pass
            case Reduce("sum", along):
                match self._keys[args[0]]:
                    case Accumulate("sum", None), inner:
                        return Accumulate("sum", along), inner
                    case _:
                        pass
            case _:
                pass
        return op, tuple(sorted(args)) if _swaps(op) else args

    def of_graph(self, graph: SGraph) -> int:
        """The number of a graph's result; graphs that differ in naming only have the same."""
        numbers: list[int] = []
        for node in graph.nodes:
            args = tuple(numbers[a] for a in node.args)
            match node.op:
                case Custom(block):
                    inside: list[int] = []
                    for inner in block.nodes:
                        if isinstance(inner.op, Load):
                            inside.append(self._intern(Load(0), (args[inner.op.operand],)))
                        else:
                            inside.append(self.number(inner.op, tuple(inside[a] for a in inner.args)))
                    numbers.append(inside[-1])
                case Input():
                    numbers.append(self._intern(node.op, ()))
                case op:
                    numbers.append(self.number(op, args))
        return numbers[graph.output]

    def _intern(self, op: Op, args: Args) -> int:
        key = (op, args)
        found = self._numbers.get(key)
        if found is None:
            found = self._numbers[key] = len(self._keys)
            self._keys.append(key)
        return found


def node_key(node: Node, numbers: Sequence[int]) -> Key:
    """A node with its operands replaced by the numbers of their expressions."""
    return node.op, tuple(numbers[a] for a in node.args)
