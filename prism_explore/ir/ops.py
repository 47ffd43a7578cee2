"""The operators, the nodes that apply them, and the block graphs of custom kernels.

Operators are a closed union of a few classes; elementwise functions are rows of a table (`elementwise.py`). Each stage
handles operators by an exhaustive `match`, so after a new operator is added, the type checker lists the missing cases.

Reductions keep their dim with size 1. `verify` states the convention for division by zero.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import prod
from typing import Literal, TypeAlias, cast, get_args

from prism_explore.errors import ShapeError
from prism_explore.ir.dims import Dim, dim, is_negative
from prism_explore.ir.elementwise import BITS, CASTS, BinaryFn, UnaryFn
from prism_explore.ir.tabulated import function_label
from prism_explore.ir.tensors import WHOLE_NUMBERS, DType, TensorType, broadcast, promoted

ScalarFn: TypeAlias = Literal["add", "mul", "pow", "max", "min"]
ReduceFn: TypeAlias = Literal["sum", "mean", "rms", "max"]
ScanFn: TypeAlias = Literal["cumsum", "reverse_cumsum"]
SCALAR_FNS: tuple[str, ...] = get_args(ScalarFn)
REDUCE_FNS: tuple[str, ...] = get_args(ReduceFn)
SCAN_FNS: tuple[str, ...] = get_args(ScanFn)


@dataclass(frozen=True, slots=True)
class Input:
    """A tensor given by the caller."""

    name: str
    type: TensorType


@dataclass(frozen=True, slots=True)
class Band:
    """A constant matrix for causal and sliding-window masks: `-> rows columns`.

    An element is 1 if `low <= column - row <= high`, else 0; None is no bound. Kernels compute it in place.
    """

    rows: Dim
    columns: Dim
    low: Dim | None
    high: Dim | None
    dtype: DType = "f32"


@dataclass(frozen=True, slots=True)
class Unary:
    """An elementwise function of one tensor: `* -> *`."""

    fn: UnaryFn


@dataclass(frozen=True, slots=True)
class Scalar:
    """`x + c`, `x * c`, `x ^ c`, `max(x, c)` or `min(x, c)` with an exact rational constant: `* -> *`."""

    fn: ScalarFn
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
    """Sum, mean, root mean square or maximum over one dim, which stays with size 1."""

    fn: ReduceFn
    dim: int


@dataclass(frozen=True, slots=True)
class Scan:
    """The sum of each element and all before it along one dim, or in reverse of all after it: `* -> *`.

    fn              element i
    cumsum          sum of x[k] over k <= i
    reverse_cumsum  sum of x[k] over k >= i
    """

    fn: ScanFn
    dim: int


@dataclass(frozen=True, slots=True)
class Lookup:
    """Elements of a table at positions that an integer input has: `s.. a.. V b.., s.. i.. -> s.. a.. i.. b..`.

    The first `batch` dims of both operands are the same ones; the other dims of the integers replace dim `dim` of the
    table, which is the first operand. The integers are an input of the graph, which may be permuted, and each is a
    position in that dim, from 0 to its size - 1; a call with others is refused. It belongs to kernel graphs only.
    """

    dim: int
    batch: int = 0
    """The number of leading dims that the table and the integers share; at most `dim`."""


@dataclass(frozen=True, slots=True)
class Permute:
    """A permutation of dims: dim d of the result is dim `order[d]` of the operand."""

    order: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Reshape:
    """The same elements, in row-major order, with other dims of the same product."""

    dims: tuple[Dim, ...]


@dataclass(frozen=True, slots=True)
class Expand:
    """A dim of literal size 1 repeated: `* 1 * -> * size *`."""

    dim: int
    size: Dim


@dataclass(frozen=True, slots=True)
class Slice:
    """Positions `start .. stop - 1` of one dim."""

    dim: int
    start: Dim
    stop: Dim


@dataclass(frozen=True, slots=True)
class Concat:
    """Two tensors concatenated along one dim."""

    dim: int


@dataclass(frozen=True, slots=True)
class Load:
    """A block's tile of a kernel-level tensor.

    `imap[p]` is the dim that grid dim p partitions; None if all blocks along p load the same. `fmap` is the dim that
    the for-loop partitions; None if all iterations load the same. If both partition one dim, the grid does first. If
    `imap` is None, the maps are open.
    """

    operand: int
    """Position among the kernel-level operands of the custom kernel."""
    imap: tuple[int | None, ...] | None = None
    fmap: int | None = None


@dataclass(frozen=True, slots=True)
class Accumulate:
    """An accumulator over the for-loop: a sum over iterations, after reducing the tile's `dim` if one is given.

    fn      over the loop and `dim` together
    sum     sum
    mean    sum / (iterations * tile size of dim)
    rms     sqrt(sum of squares / (iterations * tile size of dim))
    max     maximum

    `mean` and `rms` need a dim. Without a loop there is one iteration.
    """

    fn: ReduceFn
    dim: int | None = None

    def __post_init__(self) -> None:
        if self.dim is None and self.fn not in ("sum", "max"):
            raise ShapeError(f"accumulate {self.fn} needs a dim; only sum and max go without")


@dataclass(frozen=True, slots=True)
class RunningMax:
    """The maximum over all iterations so far, after reducing the tile's `dim` if one is given.

    It has one value per iteration. `Accumulate("max")` is the last of them, after the loop.
    """

    dim: int | None = None


@dataclass(frozen=True, slots=True)
class AccumulateRescaled:
    """A sum over iterations whose terms are relative to a scale that changes: `v, m -> *`.

        total = total * exp(previous m - m) + v, after reducing v's `dim` if one is given

    After the loop it is exp(-last m) times the sum of v * exp(m). m is a value in the loop that broadcasts to v; if
    `dim` is given, m has size 1 there. Without a loop the result is v.

    Source: online softmax, arXiv 1805.02867.
    """

    dim: int | None = None


@dataclass(frozen=True, slots=True)
class Store:
    """The concatenated tiles of all blocks: `omap[p]` is the dim along which grid dim p concatenates.

    If `omap[p]` is None, all blocks along p write the same values to the same elements. If `omap` is None, it is open.
    """

    omap: tuple[int | None, ...] | None = None


@dataclass(frozen=True, slots=True)
class Custom:
    """A custom kernel: an operator that a block graph defines."""

    block: BlockGraph


@dataclass(frozen=True, slots=True)
class Result:
    """A further result of a custom kernel, written by its store number `index`; the kernel itself is result 0."""

    index: int


ViewOp: TypeAlias = Permute | Reshape | Expand | Slice | Concat
"""Operators that move elements and compute nothing."""
ComputeOp: TypeAlias = Unary | Scalar | Binary | MatMul | Reduce | Scan | ViewOp
AccumulateOp: TypeAlias = Accumulate | AccumulateRescaled
LoopOp: TypeAlias = RunningMax | AccumulateOp
"""Operators that carry a value from one iteration to the next."""
KernelOp: TypeAlias = Input | Band | ComputeOp | Lookup | Custom | Result
BlockOp: TypeAlias = Load | ComputeOp | LoopOp | Store
Op: TypeAlias = KernelOp | BlockOp


@dataclass(frozen=True, slots=True)
class Node:
    """An operator applied to earlier tensors of the same graph, named by their positions."""

    op: Op
    args: tuple[int, ...] = ()


def arity(op: Op) -> int | None:
    """The number of operands; None for a custom kernel, which may have any number."""
    match op:
        case Input() | Band() | Load():
            return 0
        case Unary() | Scalar() | Reduce() | Scan() | Permute() | Reshape() | Expand() | Slice():
            return 1
        case Accumulate() | RunningMax() | Store() | Result():
            return 1
        case Binary() | MatMul() | Lookup() | Concat() | AccumulateRescaled():
            return 2
        case Custom():
            return None


def op_name(op: Op) -> str:
    """The name of an operator in text, pictures and messages."""
    match op:
        case Unary(fn) | Binary(fn):
            return fn
        case Scalar(fn, _):
            return f"{fn}_scalar"
        case Reduce(fn, _) | Scan(fn, _):
            return fn
        case Accumulate(fn, along):
            return "accum" if along is None and fn == "sum" else f"accum_{fn}"
        case AccumulateRescaled():
            return "accum_rescaled"
        case RunningMax():
            return "running_max"
        case MatMul() | Lookup() | Permute() | Reshape() | Expand() | Slice() | Concat():
            return type(op).__name__.lower()
        case Input() | Band() | Load() | Store() | Custom() | Result():
            return type(op).__name__.lower()


def op_label(op: Op) -> str:
    """The name of an operator for readers: that of a long table says only how many entries it has."""
    return function_label(op_name(op))


@dataclass(frozen=True, slots=True)
class ParallelDim:
    """A grid dim or the for-loop: its name and its symbolic size."""

    name: str
    size: Dim


@dataclass(frozen=True, slots=True)
class BlockGraph:
    """The graph of one block of a custom kernel; its last nodes are its stores, one per result."""

    grid: tuple[ParallelDim, ...]
    loop: ParallelDim | None
    nodes: tuple[Node, ...]
    _hash: int | None = field(default=None, init=False, compare=False, repr=False)
    """Cached, because graphs are keys of caches and have many nodes."""

    def __hash__(self) -> int:
        if self._hash is None:
            object.__setattr__(self, "_hash", hash((self.grid, self.loop, self.nodes)))
        return cast(int, self._hash)

    def __reduce__(self) -> tuple[type[BlockGraph], tuple[object, ...]]:
        return BlockGraph, (self.grid, self.loop, self.nodes)

    def __post_init__(self) -> None:
        names = [p.name for p in self.parallel]
        if len(set(names)) != len(names):
            raise ShapeError(f"parallel dims must have different names, found {', '.join(names)}")
        if not self.nodes or not isinstance(self.nodes[-1].op, Store):
            raise ShapeError("the last node of a block graph must be a store")
        first = self.stores[0]
        for position, node in enumerate(self.nodes):
            where = f"block node %{position}"
            if any(first <= x < position for x in node.args):
                raise ShapeError(f"{where}: it reads a store; the result of a store exists outside of the block only")
            match node.op:
                case Input() | Band() | Lookup() | Custom() | Result():
                    raise ShapeError(f"{where}: {op_name(node.op)} belongs to a kernel graph")
                case Store() if position < first:
                    raise ShapeError(f"{where}: stores come last")
                case RunningMax() if self.loop is None and not self.is_open:
                    raise ShapeError(f"{where}: a running maximum without a for-loop")
                case Load(_, imap, fmap):
                    if imap is not None and len(imap) != len(self.grid):
                        raise ShapeError(f"{where}: imap names {len(imap)} grid dims, the grid has {len(self.grid)}")
                    if fmap is not None and self.loop is None:
                        raise ShapeError(f"{where}: fmap {fmap} without a for-loop")
                case Store(omap):
                    if omap is not None and len(omap) != len(self.grid):
                        raise ShapeError(f"{where}: omap names {len(omap)} grid dims, the grid has {len(self.grid)}")
                case _:
                    pass
            check_args(node, position, where)

    @property
    def stores(self) -> tuple[int, ...]:
        """Positions of the stores, one per result, in order."""
        first = len(self.nodes)
        while first and isinstance(self.nodes[first - 1].op, Store):
            first -= 1
        return tuple(range(first, len(self.nodes)))

    @property
    def parallel(self) -> tuple[ParallelDim, ...]:
        """Grid dims in order, then the loop if there is one."""
        return (*self.grid, self.loop) if self.loop else self.grid

    @property
    def is_open(self) -> bool:
        """Whether some map is open."""
        return any(
            (isinstance(n.op, Load) and n.op.imap is None) or (isinstance(n.op, Store) and n.op.omap is None)
            for n in self.nodes
        )


def check_args(node: Node, position: int, where: str) -> None:
    """Check a node's operands.

    Raises:
        ShapeError: the number of operands is wrong, or one is no earlier node.
    """
    wanted = arity(node.op)
    if wanted is not None and len(node.args) != wanted:
        raise ShapeError(f"{where}: {op_name(node.op)} takes {wanted} operands, found {len(node.args)}")
    for a in node.args:
        if not 0 <= a < position:
            raise ShapeError(f"{where}: operand %{a} is not an earlier node")


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
        case Reduce(_, along):
            return without_dim(operands[0], along, f"{at}{op_name(op)}")
        case Scan(fn, along):
            _in_range(along, operands[0], f"{at}{fn}")
            return operands[0]
        case Permute() | Reshape() | Expand() | Slice() | Concat():
            return _view_dims(op, operands, f"{at}{op_name(op)}")


def lookup_dims(op: Lookup, table: tuple[Dim, ...], integers: tuple[Dim, ...], where: str = "") -> tuple[Dim, ...]:
    """Dims of a lookup's result.

    Raises:
        ShapeError: the table has no such dim, or the shared dims differ; `where` is put in front of the message.
    """
    at = f"{where}: lookup" if where else "lookup"
    _in_range(op.dim, table, at)
    shared = table[: op.batch], integers[: op.batch]
    if not 0 <= op.batch <= op.dim or len(shared[1]) < op.batch or shared[0] != shared[1]:
        shown = f"({', '.join(map(str, table))}) and ({', '.join(map(str, integers))})"
        raise ShapeError(f"{at} over dim {op.dim} of {shown}: the first {op.batch} dims are to be equal, and before it")
    return (*table[: op.dim], *integers[op.batch :], *table[op.dim + 1 :])


def result_dtype(op: Op, operands: Sequence[DType]) -> DType | None:
    """The dtype of an operator's result; None where float64 meets a narrower float.

    What loads and views make of whole numbers has their dtype, and what logic makes of bool tensors is bool; a kernel
    computes it as numbers.
    """
    match op:
        case Load() | Permute() | Reshape() | Expand() | Slice() | Concat():
            kept = set(WHOLE_NUMBERS)
        case Binary("mul" | "max" | "min"):
            kept = {"bool"}
        case Unary(fn) if fn in CASTS:
            return CASTS[fn]
        case Unary(fn):
            kept = {"bool"} if fn in BITS else set[DType]()
        case _:
            kept = set[DType]()
    return operands[0] if kept.issuperset(operands[:1]) and len(set(operands)) == 1 else promoted(operands)


def without_dim(dims: tuple[Dim, ...], along: int | None, where: str) -> tuple[Dim, ...]:
    """Dims after one was reduced to size 1; unchanged if `along` is None.

    Raises:
        ShapeError: there is no such dim.
    """
    if along is None:
        return dims
    _in_range(along, dims, where)
    return (*dims[:along], dim(1), *dims[along + 1 :])


def check_extents(dims: tuple[Dim, ...], where: str) -> None:
    """Refuse dims that are positive at no values of their symbols.

    Args:
        dims: sizes from outside.
        where: they are, for the message.

    Raises:
        ShapeError: a size is zero, or evidently negative.
    """
    for d in dims:
        if is_negative(d) or d.constant == 0:
            raise ShapeError(f"{where}: a dim has size {d}, which is never a positive integer")


def _in_range(along: int, dims: tuple[Dim, ...], where: str) -> None:
    if not 0 <= along < len(dims):
        raise ShapeError(f"{where} over dim {along} of a tensor with {len(dims)} dims")


def _view_dims(op: ViewOp, operands: tuple[tuple[Dim, ...], ...], at: str) -> tuple[Dim, ...]:
    dims = operands[0]
    match op:
        case Permute(order):
            if sorted(order) != list(range(len(dims))):
                raise ShapeError(f"{at}: ({', '.join(map(str, order))}) is no order of {len(dims)} dims")
            return tuple(dims[d] for d in order)
        case Reshape(wanted):
            if prod(dims, start=dim(1)) != prod(wanted, start=dim(1)):
                shown = f"({', '.join(map(str, dims))}) to ({', '.join(map(str, wanted))})"
                raise ShapeError(f"{at}: {shown} changes the number of elements")
            check_extents(wanted, at)
            return wanted
        case Expand(along, size):
            _in_range(along, dims, at)
            if not dims[along].is_one:
                raise ShapeError(f"{at}: dim {along} has size {dims[along]}; only a literal 1 can be repeated")
            check_extents((size,), at)
            return (*dims[:along], size, *dims[along + 1 :])
        case Slice(along, start, stop):
            _in_range(along, dims, at)
            length, left = stop - start, dims[along] - stop
            if any(map(is_negative, (start, length, left))) or length.constant == 0:
                raise ShapeError(f"{at}: {start} to {stop} of dim {along}, which has size {dims[along]}")
            return (*dims[:along], length, *dims[along + 1 :])
        case Concat(along):
            other = operands[1]
            _in_range(along, dims, at)
            if len(other) != len(dims) or any(
                a != b for d, (a, b) in enumerate(zip(dims, other, strict=True)) if d != along
            ):
                shown = f"({', '.join(map(str, dims))}) and ({', '.join(map(str, other))})"
                raise ShapeError(f"{at}: {shown} differ in more than dim {along}")
            return (*dims[:along], dims[along] + other[along], *dims[along + 1 :])
