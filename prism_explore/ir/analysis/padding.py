"""Padding analysis: whether a program for a larger size of a symbol computes the results for a smaller one.

A dim whose size is the symbol is extended: its last element is repeated, or, of a mask of keys, zeros are added, or, of
a mask that is added to scores, minus infinity (`MASKED`). The elements of every tensor at positions that existed before
must not change. What a tensor holds at an added position of
one dim, and at earlier positions of all others, is

    copy       what it holds at the last earlier position
    zero       0
    masked     minus infinity
    unknown    something else, possibly no number

A sum over the dim needs zeros, a maximum masked elements, and a product zeros on one side and copies or zeros on the
other one. So rows of a norm or of a product may be added, and keys of an attention with a causal or a given mask. A row
of which a mask keeps nothing is another one with added keys, so it is excluded (`runtime/padded.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from fractions import Fraction
from math import prod
from typing import Literal, TypeAlias, assert_never

from prism_explore.ir.dims import ONE, Dim, dim
from prism_explore.ir.graph import SGraph
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
from prism_explore.ir.tensors import TensorType

Fill: TypeAlias = Literal["copy", "zero", "masked"]
"""What an input holds at the added positions of a dim."""
Added: TypeAlias = Literal["copy", "zero", "masked", "unknown"]
_States: TypeAlias = Mapping[int, Added]
"""By the dims of a tensor whose size is the symbol."""


_NEUTRAL: Mapping[str, Added] = {"sum": "zero", "max": "masked", "reverse_cumsum": "zero"}
"""What a reduction may read at added positions."""
MASKED = -1e30
"""What is added to the scores of added keys, instead of minus infinity: sums with scores stay as small, and finite."""
_FLOAT_MASKS = ("f32", "bf16")
"""Dtypes of masks that are added to scores and can hold `MASKED`."""
SMALLEST_SCALE = Fraction(1, 1024)
"""Scores that are scaled by less are not followed."""


class _CannotPad(Exception):
    """With the reason."""


def padding_of(graph: SGraph, symbol: str) -> Mapping[str, Mapping[int, Fill]] | str:
    """How the inputs of a program are extended along a symbol, or why they cannot be.

    Args:
        graph: of a program.
        symbol: the size that becomes larger.

    Returns:
        By input and dim, what it holds at the added positions; or the reason as text.

    Example:
        >>> from prism_explore.ir.text import parse_program
        >>> program = parse_program('''program scores
        ...   x = input f32[n, 8]
        ...   w = input f32[8, 4]
        ...   %2 = matmul(x, w)
        ...   return %2''')
        >>> padding_of(program.graph, "n")
        {'x': {0: 'copy'}}
        >>> padding_of(parse_program('''program total
        ...   x = input f32[4, n]
        ...   %1 = sum(x, dim=1)
        ...   return %1''').graph, "n")
        'a sum over n reads every element'
    """
    reason = ""
    added = [i.name for i in graph.inputs if i.type.dtype in _FLOAT_MASKS and i.type.dims[-1:] == (dim(symbol),)]
    for masks in (None, (), *((name,) for name in added)):
        fills = {i.name: _fills(i, symbol, masks) for i in graph.inputs}
        try:
            _check(graph, symbol, fills)
        except _CannotPad as refused:
            reason = reason or str(refused)
        else:
            return {name: fill for name, fill in fills.items() if fill}
    return reason


def _fills(given: Input, symbol: str, masks: Collection[str] | None) -> dict[int, Fill]:
    """Copies; along the last dim of a mask, which is that of the keys, what masks."""
    t = given.type

    def fill(d: int) -> Fill:
        if masks is None or d != t.rank - 1:
            return "copy"
        return "zero" if t.dtype == "bool" else "masked" if given.name in masks else "copy"

    return {d: fill(d) for d, n in enumerate(t.dims) if n.symbol == symbol}


def _check(graph: SGraph, symbol: str, fills: Mapping[str, Mapping[int, Fill]]) -> None:
    """Follow the added positions through a graph.

    Raises:
        _CannotPad: an earlier position of some tensor would change.
    """
    types = graph.types()
    found: list[_States] = []
    for position, node in enumerate(graph.nodes):
        t = types[position]
        own = [d for d, n in enumerate(t.dims) if n.symbol == symbol]
        if any(symbol in n.symbols for d, n in enumerate(t.dims) if d not in own):
            raise _CannotPad(f"a tensor has {symbol} as a part of a size, in {t}")
        if isinstance(node.op, Input):
            if not own and any(symbol in stride.symbols for stride in t.strides):
                raise _CannotPad(f"{node.op.name} has gaps that depend on {symbol}")
            found.append(dict(fills[node.op.name]))
            continue
        operands = [_Operand(types[a], found[a]) for a in node.args]
        states = _states(node.op, operands, t, symbol)
        found.append({d: states.get(d, "copy") for d in own})


class _Operand:
    def __init__(self, t: TensorType, states: _States) -> None:
        self.dims, self.rank, self.states = t.dims, t.rank, states

    def from_last(self, distance: int) -> Added:
        """The state of a dim by its distance from the last one; an operand without it is read again."""
        return self.states.get(self.rank - 1 - distance, "copy")


def _states(op: Op, operands: Sequence[_Operand], t: TensorType, symbol: str) -> _States:
    """Of a result, by its dims of the symbol; dims that are left out hold copies."""
    match op:
        case Unary(fn):
            return _mapped(operands[0], lambda s: _unary(fn, s))
        case Scalar(fn, value):
            return _mapped(operands[0], lambda s: s if _keeps(fn, s, value) else "unknown")
        case Binary(fn):
            a, b = operands
            last = t.rank - 1
            return {d: _binary(fn, a.from_last(last - d), b.from_last(last - d)) for d in range(t.rank)}
        case MatMul():
            return _product(operands[0], operands[1], t, symbol)
        case Reduce(fn, dim):
            _check_reduced(operands[0].states.get(dim), _NEUTRAL.get(fn), fn, symbol)
            return _mapped(operands[0], lambda s: s if s == "copy" else "unknown")
        case Scan(fn, dim):
            if fn != "cumsum":
                _check_reduced(operands[0].states.get(dim), _NEUTRAL.get(fn), fn, symbol)
            return {d: "copy" if s == "copy" and d != dim else "unknown" for d, s in operands[0].states.items()}
        case Permute(order):
            return {d: operands[0].states[s] for d, s in enumerate(order) if s in operands[0].states}
        case Reshape():
            return _reshaped(operands[0], t, symbol)
        case Expand():
            return operands[0].states  # the dim that is repeated holds copies
        case Slice(dim, start, stop):
            if dim in operands[0].states or symbol in (*start.symbols, *stop.symbols):
                raise _CannotPad(f"a part of {symbol} is taken")
            return operands[0].states
        case Concat(dim):
            if any(dim in o.states for o in operands):
                raise _CannotPad(f"tensors are put together along {symbol}")
            a, b = (o.states for o in operands)
            return {d: s if b.get(d) == s else "unknown" for d, s in a.items()}
        case Lookup(dim, batch):
            table, positions = operands
            if table.states or any(d < batch for d in positions.states):
                raise _CannotPad(f"elements of a table with {symbol} are looked up")
            return {dim + d - batch: s if s == "copy" else "unknown" for d, s in positions.states.items()}
        case Band(_, _, low, high):
            if any(symbol in bound.symbols for bound in (low, high) if bound is not None):
                raise _CannotPad(f"a mask of positions depends on {symbol}")
            # Of a square mask, an added column is behind every earlier row.
            ends = high is not None and (high.constant or 0) <= 0 and high.constant is not None
            is_square = t.dims[0].symbol == t.dims[1].symbol == symbol
            return {0: "unknown", 1: "zero" if ends and is_square else "unknown"}
        case Input() | Custom() | Result() | Load() | RunningMax() | Accumulate() | AccumulateRescaled() | Store():
            raise AssertionError(f"no operator of a program: {op}")
        case _:
            assert_never(op)


def _mapped(operand: _Operand, change: Callable[[Added], Added]) -> _States:
    return {d: change(s) for d, s in operand.states.items()}


def _unary(fn: str, state: Added) -> Added:
    if state == "copy":
        return "copy"
    if fn == "exp" and state == "masked":
        return "zero"
    return "zero" if fn in ("neg", "square") and state == "zero" else "unknown"


def _keeps(fn: str, state: Added, value: Fraction) -> bool:
    """Whether an operation with a constant changes nothing of a state."""
    match state:
        case "copy":
            return True
        case "zero":
            return fn == "mul"
        case "masked":  # a masked number is finite, and has to stay large
            return fn == "add" or (fn == "mul" and value >= SMALLEST_SCALE)
        case "unknown":
            return False


def _binary(fn: str, a: Added, b: Added) -> Added:
    match fn, a, b:
        case (_, "copy", "copy"):
            return "copy"
        case ("mul", "zero", "copy" | "zero") | ("mul", "copy", "zero") | ("div", "zero", "copy"):
            return "zero"
        case ("keep" | "drop", "zero", _) | ("keep", _, "zero") | ("add" | "sub", "zero", "zero"):
            return "zero"
        case ("mask", "masked", _) | ("mask", _, "zero"):
            return "masked"
        case ("add", "masked", "copy") | ("add", "copy", "masked") | ("sub", "masked", "copy"):
            return "masked"
        case _:
            return "unknown"


def _product(a: _Operand, b: _Operand, t: TensorType, symbol: str) -> _States:
    along = {a.states.get(a.rank - 1), b.states.get(b.rank - 2)} if a.dims[-1].symbol == symbol else set[Added]()
    if along and not ("zero" in along and along <= {"zero", "copy"}):
        raise _CannotPad(f"a product over {symbol} reads every element")
    found: dict[int, Added] = {}
    for d in range(t.rank):
        distance = t.rank - 1 - d
        left = a.from_last(distance) if distance != 0 else "copy"
        right = b.from_last(distance) if distance != 1 else "copy"
        found[d] = "copy" if left == right == "copy" else "unknown"
    return found


def _check_reduced(state: Added | None, needed: Added | None, fn: str, symbol: str) -> None:
    if state is not None and state != needed:
        raise _CannotPad(f"a {fn} over {symbol} reads every element")


def _reshaped(operand: _Operand, t: TensorType, symbol: str) -> _States:
    """A dim of the symbol has to stay a dim, with as many elements before it."""
    before, after = _before(operand.dims, symbol), _before(t.dims, symbol)
    if list(before) != list(after):
        raise _CannotPad(f"{symbol} becomes a part of another dim")
    return {after[elements]: operand.states[d] for elements, d in before.items()}


def _before(dims: Sequence[Dim], symbol: str) -> dict[Dim, int]:
    """The dims of the symbol by the number of elements of all dims before them."""
    return {prod(dims[:d], start=ONE): d for d, n in enumerate(dims) if n.symbol == symbol}
