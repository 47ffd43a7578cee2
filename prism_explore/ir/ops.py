"""The operators: what each takes, gives, costs, and means.

A closed union of few node kinds; elementwise functions are rows of a table. What an operator
*is* lives here; how a stage treats it is a `match` in that stage, so adding one makes the type
checker list the places that owe it a case.

Reductions keep their dim with size 1. Division is the field's: the verifier's convention for a
zero divisor is stated in `verify`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from prism_explore.errors import ShapeError
from prism_explore.ir.dims import Dim, dim
from prism_explore.ir.tensors import TensorType, broadcast

if TYPE_CHECKING:
    from prism_explore.ir.sgraph import BlockGraph

UnaryFn: TypeAlias = Literal["exp", "square", "sqrt", "rsqrt", "recip", "neg", "silu", "sigmoid", "relu", "tanh"]
BinaryFn: TypeAlias = Literal["add", "sub", "mul", "div"]
ReduceFn: TypeAlias = Literal["sum", "mean", "rms"]


@dataclass(frozen=True, slots=True)
class Elementwise:
    """One row: a function of one or two numbers, its NumPy meaning, its cost."""

    name: str
    numpy: Callable[..., Any]
    flops: int
    """Floating-point operations per element, transcendental functions counted as one call."""


def _sigmoid(x: Any) -> Any:
    return 1.0 / (1.0 + np.exp(-x))


def _silu(x: Any) -> Any:
    return x * _sigmoid(x)


def _recip(x: Any) -> Any:
    return 1.0 / x


def _rsqrt(x: Any) -> Any:
    return 1.0 / np.sqrt(x)


def _relu(x: Any) -> Any:
    return np.maximum(x, 0.0)


UNARY: dict[str, Elementwise] = {
    row.name: row
    for row in (
        Elementwise("exp", np.exp, 1),
        Elementwise("square", np.square, 1),
        Elementwise("sqrt", np.sqrt, 1),
        Elementwise("rsqrt", _rsqrt, 2),
        Elementwise("recip", _recip, 1),
        Elementwise("neg", np.negative, 1),
        Elementwise("silu", _silu, 4),
        Elementwise("sigmoid", _sigmoid, 3),
        Elementwise("relu", _relu, 1),
        Elementwise("tanh", np.tanh, 1),
    )
}

BINARY: dict[str, Elementwise] = {
    row.name: row
    for row in (
        Elementwise("add", np.add, 1),
        Elementwise("sub", np.subtract, 1),
        Elementwise("mul", np.multiply, 1),
        Elementwise("div", np.divide, 1),
    )
}

COMMUTATIVE = frozenset({"add", "mul"})


@dataclass(frozen=True, slots=True)
class Input:
    """A tensor given by the caller."""

    name: str
    type: TensorType


@dataclass(frozen=True, slots=True)
class Unary:
    """An elementwise function of one tensor: `* -> *`."""

    fn: UnaryFn


@dataclass(frozen=True, slots=True)
class Scalar:
    """`x + value` or `x * value` with an exact rational constant: `* -> *`."""

    fn: Literal["add", "mul"]
    value: Fraction


@dataclass(frozen=True, slots=True)
class Binary:
    """An elementwise function of two tensors that broadcast: `*, * -> *`."""

    fn: BinaryFn


@dataclass(frozen=True, slots=True)
class MatMul:
    """Batched matrix product: `* m k, * k n -> * m n`."""


@dataclass(frozen=True, slots=True)
class Reduce:
    """Sum, mean or root mean square over one dim, which stays with size 1."""

    fn: ReduceFn
    dim: int


@dataclass(frozen=True, slots=True)
class Load:
    """A block's tile of a kernel-level tensor.

    `imap[p]` is the dim that grid dim p cuts, None where every block gets all of it; `fmap` is
    the dim that the for-loop cuts, None where each iteration sees the same tile. Where both cut
    one dim, the grid cuts first. `imap` itself None: the maps are still open.
    """

    operand: int
    """Position among the kernel-level operands of the custom kernel."""
    imap: tuple[int | None, ...] | None = None
    fmap: int | None = None


@dataclass(frozen=True, slots=True)
class Accumulate:
    """What survives the for-loop: a sum over iterations, after reducing the tile's `dim` if one is given.

    fn      over the loop and `dim` together
    sum     sum
    mean    sum / (iterations * tile size of dim)
    rms     sqrt(sum of squares / (iterations * tile size of dim))

    `mean` and `rms` need a dim. Without a loop there is one iteration.
    """

    fn: ReduceFn
    dim: int | None = None

    def __post_init__(self) -> None:
        if self.dim is None and self.fn != "sum":
            raise ShapeError(f"accumulate {self.fn} needs a dim; only sum goes without")


@dataclass(frozen=True, slots=True)
class Store:
    """Blocks' tiles laid side by side: `omap[p]` is the dim along which grid dim p concatenates.

    None in `omap`: all blocks along p write the same value to the same place. `omap` itself None:
    still open.
    """

    omap: tuple[int | None, ...] | None = None


@dataclass(frozen=True, slots=True)
class Custom:
    """A custom kernel: an operator whose meaning is a block graph."""

    block: BlockGraph


ComputeOp: TypeAlias = Unary | Scalar | Binary | MatMul | Reduce
KernelOp: TypeAlias = Input | ComputeOp | Custom
BlockOp: TypeAlias = Load | ComputeOp | Accumulate | Store
Op: TypeAlias = Input | ComputeOp | Custom | Load | Accumulate | Store


@dataclass(frozen=True, slots=True)
class Node:
    """An operator applied to earlier tensors of the same graph, named by their positions."""

    op: Op
    args: tuple[int, ...] = ()


def arity(op: Op) -> int | None:
    """How many operands; None where the operator itself does not say (a custom kernel)."""
    match op:
        case Input() | Load():
            return 0
        case Unary() | Scalar() | Reduce() | Accumulate() | Store():
            return 1
        case Binary() | MatMul():
            return 2
        case Custom():
            return None


def op_name(op: Op) -> str:
    """The word that stands for it in text, pictures and messages."""
    match op:
        case Unary(fn) | Binary(fn):
            return fn
        case Scalar(fn, _):
            return f"{fn}_scalar"
        case MatMul():
            return "matmul"
        case Reduce(fn, _):
            return fn
        case Accumulate(fn, along):
            return "accum" if along is None else f"accum_{fn}"
        case Input():
            return "input"
        case Load():
            return "load"
        case Store():
            return "store"
        case Custom():
            return "custom"


def compute_dims(op: ComputeOp, operands: tuple[tuple[Dim, ...], ...], where: str = "") -> tuple[Dim, ...]:
    """Dims of the result.

    Raises:
        ShapeError: operands do not fit; `where` is put in front of the message.
    """
    at = f"{where}: " if where else ""
    match op:
        case Unary() | Scalar():
            return operands[0]
        case Binary(fn):
            return broadcast(operands[0], operands[1], f"{at}{fn}")
        case MatMul():
            a, b = operands
            if len(a) < 2 or len(b) < 2:
                raise ShapeError(f"{at}matmul needs two dims on each side, found {len(a)} and {len(b)}")
            if a[-1] != b[-2]:
                shown = f"({', '.join(map(str, a))}) and ({', '.join(map(str, b))})"
                raise ShapeError(f"{at}matmul: inner dims differ, {a[-1]} against {b[-2]} in {shown}")
            return (*broadcast(a[:-2], b[:-2], f"{at}matmul"), a[-2], b[-1])
        case Reduce(fn, along):
            dims = operands[0]
            if not 0 <= along < len(dims):
                raise ShapeError(f"{at}{fn} over dim {along} of a tensor with {len(dims)} dims")
            return (*dims[:along], dim(1), *dims[along + 1 :])
