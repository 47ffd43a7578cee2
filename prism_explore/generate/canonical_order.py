"""Canonical order: one representative for graphs that differ only in the order or the naming of their operators.

Operators are appended in strictly increasing *rank*:

    rank = (operand indices sorted decreasing, operand list, operator type)

Every set of operators has exactly one increasing order. Existence: an operator that uses tensor n ranks above every
operator that was possible before n existed, so taking the smallest available operator at every step increases.
Uniqueness: the smallest available operator cannot be taken later, so it must be taken now. Comparing operand lists as
written, without sorting, loses programs such as A@(B@C).

Two operators may also compute the same value under different names (`mul(x, x)` and `square(x)`); `Expressions` gives
equal values equal numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeAlias, TypeVar

from prism_explore.ir.elementwise import COMMUTATIVE
from prism_explore.ir.graph import SGraph
from prism_explore.ir.ops import Accumulate, AccumulateRescaled, Binary, Custom, Input, Load, Op, Reduce, Result, Unary
from prism_explore.support.caches import memoize

Args: TypeAlias = tuple[int, ...]
Rank: TypeAlias = tuple[Args, Args, int]


class OperatorType(Protocol):
    """The properties of an operator type that the order depends on."""

    @property
    def arity(self) -> int:
        """One or two operands."""
        ...

    @property
    def commutative(self) -> bool:
        """Whether the operands may be swapped; only one order is tried then."""
        ...


@dataclass(frozen=True, slots=True)
class UninterpretedOperator:
    """An uninterpreted operator type, for counting."""

    name: str
    arity: int
    commutative: bool = False


@dataclass(frozen=True, slots=True)
class Application:
    """An operator type applied to operands."""

    args: Args
    kind: int
    """Position in the operator set."""

    @property
    def rank(self) -> Rank:
        """Its rank in the canonical order."""
        return rank(self.args, self.kind)


def rank(args: Args, kind: int) -> Rank:
    """The rank of an operator in the canonical order.

    >>> rank((0, 3), 2) > rank((2, 1), 5)
    True
    """
    return tuple(sorted(args, reverse=True)), args, kind


_L = TypeVar("_L", bound=OperatorType)


class OperatorSet(Generic[_L]):
    """Operator types in a fixed order, and their applications in canonical order."""

    def __init__(self, entries: Iterable[_L]) -> None:
        self.entries = tuple(entries)
        numbered = tuple(enumerate(self.entries))
        self._unary = tuple(n for n, k in numbered if k.arity == 1)
        self._binary = tuple(n for n, k in numbered if k.arity == 2)
        self._ordered = tuple(n for n, k in numbered if k.arity == 2 and not k.commutative)
        self._application_count: dict[int, int] = {}
        self._operands: dict[int, tuple[tuple[Args, tuple[int, ...]], ...]] = {}

    def application_count(self, tensors: int) -> int:
        """The number of applications to `tensors` tensors."""
        found = self._application_count.get(tensors)
        if found is None:
            ordered, symmetric = len(self._ordered), len(self._binary) - len(self._ordered)
            found = len(self._unary) * tensors + symmetric * tensors * (tensors + 1) // 2 + ordered * tensors * tensors
            self._application_count[tensors] = found
        return found

    def new_application_count(self, tensors: int) -> int:
        """The number of applications that use the next tensor."""
        return self.application_count(tensors + 1) - self.application_count(tensors)

    def operands(self, top: int) -> tuple[tuple[Args, tuple[int, ...]], ...]:
        """The operand lists whose largest member is `top`, in canonical order, and the operator types of each."""
        found = self._operands.get(top)
        if found is None:
            lists: list[tuple[Args, tuple[int, ...]]] = [((top,), self._unary)]
            for low in range(top):
                lists += [((low, top), self._binary), ((top, low), self._ordered)]
            lists.append(((top, top), self._binary))
            found = self._operands[top] = tuple((args, kinds) for args, kinds in lists if kinds)
        return found

    def applications(self, tensors: int, after: Rank | None) -> Iterator[Application]:
        """Every application to the first `tensors` tensors that ranks above `after`, in increasing order."""
        for top in range(after[0][0] if after else 0, tensors):
            for args, kinds in self.operands(top):
                for kind in kinds:
                    if after is None or rank(args, kind) > after:
                        yield Application(args, kind)

    def sequences(self, tensors: int, ops: int) -> Iterator[tuple[tuple[int, Args], ...]]:
        """Every program of exactly `ops` operators over `tensors` inputs, as its canonical sequence."""

        def extend(program: tuple[tuple[int, Args], ...], last: Rank | None) -> Iterator[tuple[tuple[int, Args], ...]]:
            if len(program) == ops:
                yield program
                return
            for a in self.applications(tensors + len(program), last):
                yield from extend((*program, (a.kind, a.args)), a.rank)

        yield from extend((), None)


class ProgramCounter:
    """The number of programs that extend a partial program, if every operator fits every operand.

    This is the recursion of `OperatorSet.sequences` in closed form. Of the applications that rank above the last one,
    applying one leaves those that rank above it, and adds those that use the new tensor. Shapes and loop phases are
    ignored, so the number is an upper estimate. For uninterpreted operators it is exact.
    """

    def __init__(self, operator_set: OperatorSet[Any]) -> None:
        self._operators = operator_set
        self._sums: dict[tuple[int, int, bool], list[int]] = {}

    def of_length(self, tensors: int, ops: int) -> int:
        """Programs of exactly `ops` operators over `tensors` inputs."""
        return self._sum(tensors, ops, False)[self._operators.application_count(tensors)]

    def up_to_length(self, tensors: int, ops: int) -> int:
        """Programs of at most `ops` operators over `tensors` inputs, the empty one included."""
        return self._sum(tensors, ops, True)[self._operators.application_count(tensors)]

    def following(self, tensors: int, ops: int) -> list[int]:
        """Programs of at most `ops` more operators, per number of applications that are possible first.

        Only the number matters: leaving one application out, here and in all larger programs, is the same as having
        one application less at the start.
        """
        return self._sum(tensors, ops, True)

    def _sum(self, tensors: int, ops: int, shorter: bool) -> list[int]:
        """The number of programs, per number of applications above the last one; `shorter` counts prefixes, too."""
        key = (tensors, ops, shorter)
        if key not in self._sums:
            length = self._operators.application_count(tensors) + 1
            if ops == 0:
                self._sums[key] = [1] * length
            else:
                deeper = self._sum(tensors + 1, ops - 1, shorter)
                opened = len(deeper) - length
                sums = [1 if shorter else 0]
                for above in range(length - 1):
                    sums.append(sums[-1] + deeper[above + opened])
                self._sums[key] = sums
        return self._sums[key]


@memoize(256)
def _is_commutative(op: Op) -> bool:
    return isinstance(op, Binary) and op.fn in COMMUTATIVE


Key: TypeAlias = tuple[Op, Args]

ACCUMULATED_SUM = "definition.accumulated_sum"
RESCALED_SUM = "definition.rescaled_sum"


@dataclass(frozen=True, slots=True, eq=False)
class Definition:
    """One row of `DEFINITIONS`: an operator that others define; it is applied from left to right."""

    name: str
    """Used in `Space.rules_off`, as the names of pruning rules are."""
    equations: tuple[str, ...]
    """The definition in words of the graph text."""
    types: tuple[type[Op], ...]
    """Types of the outermost operator on the left."""
    apply: Callable[[ExpressionNumbers, Op, Args], Key | None]
    """The right side for an operator and its numbered operands; None if they are no left side."""


class ExpressionNumbers:
    """Numbers of expressions; expressions that are equal by renaming or by definitions have the same number."""

    def __init__(self, off: Collection[str] = ()) -> None:
        """Begin without expressions.

        Args:
            off: names of rows of `DEFINITIONS` that are not applied.
        """
        self._numbers: dict[Key, int] = {}
        self._keys: list[Key] = []
        self._definitions: dict[type[Op], list[Definition]] = {}
        for definition in DEFINITIONS:
            if definition.name not in off:
                for kind in definition.types:
                    self._definitions.setdefault(kind, []).append(definition)

    def number(self, op: Op, args: Args) -> int:
        """The number of an operator applied to numbered expressions."""
        return self._intern(*self.by_definitions(op, args))

    def key(self, number: int) -> Key:
        """The operator and the operands that have a number."""
        return self._keys[number]

    def by_definitions(self, op: Op, args: Args) -> Key:
        """The operator and its operands after the definitions are applied; operands that commute are sorted."""
        if _is_commutative(op):
            args = tuple(sorted(args))
        for definition in self._definitions.get(type(op), ()):
            if (found := definition.apply(self, op, args)) is not None:
                return found
        return op, args

    def number_graph(self, graph: SGraph) -> tuple[int, ...]:
        """The numbers of a graph's results; graphs that differ only in naming have the same numbers."""
        numbers: list[int] = []
        results: dict[int, tuple[int, ...]] = {}
        for position, node in enumerate(graph.nodes):
            args = tuple(numbers[a] for a in node.args)
            match node.op:
                case Custom(block):
                    inside: list[int] = []
                    for inner in block.nodes:
                        if isinstance(inner.op, Load):
                            inside.append(self._intern(Load(0), (args[inner.op.operand],)))
                        else:
                            inside.append(self.number(inner.op, tuple(inside[a] for a in inner.args)))
                    results[position] = tuple(inside[s] for s in block.stores)
                    numbers.append(results[position][0])
                case Result(index):
                    numbers.append(results[node.args[0]][index])
                case Input():
                    numbers.append(self._intern(node.op, ()))
                case op:
                    numbers.append(self.number(op, args))
        return tuple(numbers[n] for n in graph.outputs)

    def _intern(self, op: Op, args: Args) -> int:
        key = (op, args)
        found = self._numbers.get(key)
        if found is None:
            found = self._numbers[key] = len(self._keys)
            self._keys.append(key)
        return found


# ---------------------------------------------------------------- definitions of operators
def _square(_: ExpressionNumbers, op: Op, args: Args) -> Key | None:
    match op:
        case Binary("mul") if args[0] == args[1]:
            return Unary("square"), args[:1]
        case _:
            return None


def _quotient(table: ExpressionNumbers, op: Op, args: Args) -> Key | None:
    if op == Binary("mul"):
        for x, y in (args, args[::-1]):
            match table.key(y):
                case Unary("recip"), inner:
                    return Binary("div"), (x, inner[0])
                case Unary("rsqrt"), inner:
                    return Binary("div"), (x, table.number(Unary("sqrt"), inner))
                case _:
                    pass
    return None


def _root_mean_square(table: ExpressionNumbers, op: Op, args: Args) -> Key | None:
    if op == Unary("sqrt"):
        match table.key(args[0]):
            case (Reduce("mean", _) | Accumulate("mean", _)) as mean, (square,):
                match table.key(square):
                    case Unary("square"), inner:
                        along = mean.dim
                        if isinstance(mean, Accumulate) or along is None:
                            return Accumulate("rms", along), inner
                        return Reduce("rms", along), inner
                    case _:
                        pass
            case _:
                pass
    return None


def _accumulated_sum(table: ExpressionNumbers, op: Op, args: Args) -> Key | None:
    match op, table.key(args[0]):
        case Accumulate("sum", None), (Reduce("sum", along), inner):
            return Accumulate("sum", along), inner
        case Reduce("sum", along), (Accumulate("sum", None), inner):
            return Accumulate("sum", along), inner
        case _:
            return None


def _rescaled_sum(table: ExpressionNumbers, op: Op, args: Args) -> Key | None:
    match op, table.key(args[0]):
        case AccumulateRescaled(None), (Reduce("sum", along), inner):
            return AccumulateRescaled(along), (*inner, args[1])
        case Reduce("sum", along), (AccumulateRescaled(None), inner):
            return AccumulateRescaled(along), inner
        case _:
            return None


DEFINITIONS: tuple[Definition, ...] = (
    Definition("definition.square", ("mul(x, x) = square(x)",), (Binary,), _square),
    Definition(
        "definition.quotient",
        ("mul(x, recip(y)) = div(x, y)", "mul(x, rsqrt(y)) = div(x, sqrt(y))"),
        (Binary,),
        _quotient,
    ),
    Definition(
        "definition.rms",
        ("sqrt(mean(square(x), d)) = rms(x, d)", "sqrt(accum_mean(square(x), d)) = accum_rms(x, d)"),
        (Unary,),
        _root_mean_square,
    ),
    Definition(
        ACCUMULATED_SUM,
        ("accum(sum(x, d)) = accum_sum(x, d)", "sum(accum(x), d) = accum_sum(x, d)"),
        (Accumulate, Reduce),
        _accumulated_sum,
    ),
    Definition(
        RESCALED_SUM,
        (
            "accum_rescaled(sum(x, d), m) = accum_rescaled(x, m, d)",
            "sum(accum_rescaled(x, m), d) = accum_rescaled(x, m, d)",
        ),
        (AccumulateRescaled, Reduce),
        _rescaled_sum,
    ),
)
"""The definitions of operators by others, in the order in which they are tried."""
