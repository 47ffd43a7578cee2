"""Builder of one level of a graph (kernel or block) from a file: nodes, their dims, and the node of each guid.

One operator of Mirage can be several nodes here. Each expansion is written once, for both levels. The dims of a node
are computed when it is added, and compared with the dims that the file declares; a contradiction is a ShapeError that
names the place.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from prism_explore.errors import ParseError, ShapeError, UnsupportedOperator
from prism_explore.frontend.mirage.json_cursor import Cursor
from prism_explore.frontend.mirage.names import ACCUMULATORS, BINARIES, REDTOX, RESCALED, UNARIES, WITHOUT_COUNTERPART
from prism_explore.ir.dims import Dim, dim
from prism_explore.ir.ops import (
    Binary,
    ComputeOp,
    Concat,
    MatMul,
    Node,
    Op,
    Permute,
    Reduce,
    Reshape,
    Scalar,
    Slice,
    Unary,
    compute_dims,
)
from prism_explore.ir.tensors import DType

MOST_DIMS = 8
_DIM_OPERATOR = re.compile(r"(reduction|concat|split|chunk)_(\d)(_to_dimx|_max)?\Z")


@dataclass(frozen=True, slots=True)
class Operator:
    """One operator of a file: its name, the positions of its operands, and the tensors it declares."""

    name: str
    args: tuple[int, ...]
    declared: tuple[Cursor, ...]
    source: Cursor

    @property
    def where(self) -> str:
        """The position in the file."""
        return self.source.where


def declared_dims(tensor: Cursor) -> tuple[Dim, ...]:
    """The dims that a file declares for a tensor; unused entries are 0.

    Raises:
        ParseError: they are not positive integers, or fewer than `num_dims`.
    """
    rank = tensor.at("num_dims").integer(0, MOST_DIMS)
    sizes = tensor.at("dim").items()
    if len(sizes) < rank:
        raise tensor.fail(f"{len(sizes)} dims", f"num_dims = {rank} of them")
    return tuple(dim(size.integer(1)) for size in sizes[:rank])


class LevelBuilder:
    """Builds the nodes of a kernel graph or a block graph."""

    def __init__(self, codes: Mapping[int, DType], constants: Mapping[str, Fraction]) -> None:
        self.nodes: list[Node] = []
        self.dims: list[tuple[Dim, ...]] = []
        self.after_loop: list[bool] = []
        """Whether the value exists only after the loop."""
        self._codes = codes
        self._constants = constants
        self._positions: dict[int, int] = {}

    # ------------------------------------------------------------ nodes and tensors
    def append(self, op: Op, args: tuple[int, ...], dims: tuple[Dim, ...], after_loop: bool = False) -> int:
        """Append a node with known dims; return its position."""
        self.nodes.append(Node(op, args))
        self.dims.append(dims)
        self.after_loop.append(after_loop or any(self.after_loop[a] for a in args))
        return len(self.nodes) - 1

    def add(self, op: ComputeOp, *args: int) -> int:
        """Append a compute node; return its position."""
        return self.append(op, args, compute_dims(op, tuple(self.dims[a] for a in args)))

    def find(self, tensor: Cursor) -> int:
        """The position of the node that computes a tensor.

        Raises:
            ParseError: no node does.
        """
        guid = tensor.at("guid").integer(-(1 << 63), 1 << 64)
        if guid not in self._positions:
            raise tensor.fail(f"guid {guid}, which no earlier operator computes", "a tensor of an earlier operator")
        return self._positions[guid]

    def dtype(self, tensor: Cursor) -> DType:
        """The dtype of a tensor.

        Raises:
            ShapeError: the dtype is not supported here.
        """
        code = tensor.at("data_type").integer(0)
        if code not in self._codes:
            known = ", ".join(f"{c} ({t})" for c, t in self._codes.items())
            raise ShapeError(f"{tensor.where}: data_type {code} is not supported here; supported are {known}")
        return self._codes[code]

    def bind(self, tensor: Cursor, position: int) -> None:
        """Record the node that computes a tensor.

        Raises:
            ParseError: another node computes it too.
            ShapeError: its declared dims differ from those of the node.
        """
        guid = tensor.at("guid").integer(-(1 << 63), 1 << 64)
        if guid in self._positions:
            raise tensor.fail(f"guid {guid} a second time", "a new guid for every tensor")
        declared = declared_dims(tensor)
        if declared != self.dims[position]:
            raise ShapeError(
                f"{tensor.where}: guid {guid} is declared {_dims_text(declared)}, "
                f"its operator computes {_dims_text(self.dims[position])}; the file contradicts itself"
            )
        self.dtype(tensor)
        self._positions[guid] = position

    # ------------------------------------------------------------ operators of both levels
    def compute(self, op: Operator) -> None:
        """Append the nodes of an operator that both levels can have, and bind its tensors.

        Raises:
            UnsupportedOperator: the operator is not supported here.
            ShapeError: its operands do not fit.
            ParseError: a field is missing.
        """
        try:
            positions = self._compute(op)
        except ShapeError as error:
            raise ShapeError(f"{op.where}: {error}; the file contradicts itself") from error
        if len(positions) != len(op.declared):
            raise op.source.fail(f"{len(op.declared)} output tensors", str(len(positions)))
        for tensor, position in zip(op.declared, positions, strict=True):
            declared = declared_dims(tensor)
            if _without_ones(declared) == _without_ones(self.dims[position]) and declared != self.dims[position]:
                position = self.add(Reshape(declared), position)
            self.bind(tensor, position)

    def _compute(self, op: Operator) -> tuple[int, ...]:
        name, args = op.name, op.args
        if name in UNARIES:
            return (self.add(Unary(UNARIES[name]), *_require_args(1, op)),)
        if name in BINARIES:
            return (self.add(Binary(BINARIES[name]), *_require_args(2, op)),)
        along = _DIM_OPERATOR.match(name)
        if along is not None:
            return self._reduce_or_split(op, along.group(1), int(along.group(2)), along.group(3) or "")
        match name:
            case "matmul":
                return (self.add(MatMul(), *_require_args(2, op)),)
            case "mul_scalar":
                return (self.add(Scalar("mul", self._constant(op, "scalar")), *_require_args(1, op)),)
            case "clamp":
                low, high = self._constant(op, "min_val"), self._constant(op, "max_val")
                return (self.add(Scalar("min", high), self.add(Scalar("max", low), *_require_args(1, op))),)
            case "rms_norm":
                (x,) = _require_args(1, op)
                return (self.add(Binary("div"), x, self.add(Reduce("rms", self._last(x, op)), x)),)
            case "concat_then_matmul":
                a, b, c, d = _require_args(4, op)
                left, below = self.add(Concat(self._last(a, op)), a, b), self._last(c, op) - 1
                return (self.add(MatMul(), left, self.add(Concat(below), c, d)),)
            case "transpose_01":
                (x,) = _require_args(1, op)
                return (self.add(Permute((1, 0, *range(2, len(self.dims[x])))), x),)
            case _:
                raise unsupported(op.source, name, len(args))

    def _reduce_or_split(self, op: Operator, what: str, along: int, suffix: str) -> tuple[int, ...]:
        if what == "concat":
            return (self.add(Concat(along), *_require_args(2, op)),)
        (x,) = _require_args(1, op)
        rank = len(self.dims[x])
        if along >= rank:
            raise ShapeError(f"{op.name} of a tensor with {rank} dims")
        match what, suffix:
            case "reduction", "":
                return (self.add(Reduce("sum", along), x),)
            case "reduction", "_max":
                return (self.add(Reduce("max", along), x),)
            case "reduction", _:
                split = self.split_dim(x, along, declared_dims(op.declared[0])[along] if op.declared else dim(1))
                return (self.merge_dims(self.add(Reduce("sum", along), split), along),)
            case _:
                return self._slices(op, x, along)

    def _slices(self, op: Operator, x: int, along: int) -> tuple[int, ...]:
        """Split and chunk: consecutive slices with the declared sizes of the outputs."""
        slices: list[int] = []
        start = dim(0)
        for tensor in op.declared:
            sizes = declared_dims(tensor)
            if along >= len(sizes):
                raise tensor.fail(f"{len(sizes)} dims", f"at least {along + 1}")
            slices.append(self.add(Slice(along, start, start + sizes[along]), x))
            start = start + sizes[along]
        if start != self.dims[x][along]:
            raise ShapeError(f"the outputs have {start} in total, dim {along} has {self.dims[x][along]}")
        return tuple(slices)

    def split_dim(self, x: int, along: int, kept: Dim) -> int:
        """Split dim `along` of size n into n/kept and kept: `[.., n, ..] -> [.., n/kept, kept, ..]`."""
        dims = self.dims[x]
        size, keep = dims[along].constant or 0, kept.constant or 0
        if not keep or size % keep:
            raise ShapeError(f"dim {along} of size {size} cannot be reduced to {keep}, which does not divide it")
        return self.add(Reshape((*dims[:along], dim(size // keep), kept, *dims[along + 1 :])), x)

    def merge_dims(self, x: int, along: int) -> int:
        """After a reduction of the outer part, reshape the two dims back to one."""
        dims = self.dims[x]
        return self.add(Reshape((*dims[:along], *dims[along + 1 :])), x)

    def _last(self, x: int, op: Operator) -> int:
        if not self.dims[x]:
            raise ShapeError(f"{op.name} of a tensor without dims")
        return len(self.dims[x]) - 1

    def _constant(self, op: Operator, name: str) -> Fraction:
        if op.source.has(name):
            return op.source.at(name).number()
        if name in self._constants:
            return self._constants[name]
        raise ParseError(
            f"{op.where}: {op.name} needs {name!r}, which most versions of Mirage do not save; "
            f"add it to the file, or pass constants={{{name!r}: ...}}"
        )


def unsupported(source: Cursor, name: str, operands: int) -> UnsupportedOperator:
    """The error for an operator that is not supported here."""
    why = WITHOUT_COUNTERPART.get(name, "not a known operator of Mirage")
    known = [
        *UNARIES,
        *BINARIES,
        *ACCUMULATORS,
        *RESCALED,
        REDTOX,
        "matmul rms_norm clamp mul_scalar reduction_0..2 concat_0..2 split_0..2 chunk_0..2 concat_then_matmul",
    ]
    return UnsupportedOperator(
        f"{source.where}: {name} of {operands} operands: {why}; supported are {', '.join(known)}. "
        "Pass skip=True to read the other graphs"
    )


def _require_args(count: int, op: Operator) -> tuple[int, ...]:
    if len(op.args) != count:
        raise op.source.fail(f"{len(op.args)} input tensors", str(count))
    return op.args


def _without_ones(dims: tuple[Dim, ...]) -> tuple[Dim, ...]:
    return tuple(d for d in dims if not d.is_one)


def _dims_text(dims: tuple[Dim, ...]) -> str:
    return f"({', '.join(map(str, dims))})"
