"""The input of a search: a tensor program, and a builder to write one by hand.

A program is a flat kernel graph with a name. For each node it keeps the line of the user's code that the node comes
from. `ProgramBuilder` builds a program operator by operator; `frontend` traces torch code.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TypeVar, cast, get_args

from prism_explore.errors import ShapeError
from prism_explore.ir.dims import DimLike, dim
from prism_explore.ir.elementwise import UNARY, BinaryFn, UnaryFn
from prism_explore.ir.graph import SGraph, check_input_names, needed_by, next_type
from prism_explore.ir.ops import (
    REDUCE_FNS,
    SCALAR_FNS,
    SCAN_FNS,
    Band,
    Binary,
    Concat,
    Custom,
    Expand,
    Input,
    KernelOp,
    Lookup,
    MatMul,
    Node,
    Permute,
    Reduce,
    ReduceFn,
    Reshape,
    Scalar,
    ScalarFn,
    Scan,
    ScanFn,
    Slice,
    Unary,
)
from prism_explore.ir.tensors import DType, TensorType, tensor


@dataclass(frozen=True, slots=True)
class TensorProgram:
    """The program that a search optimizes: a name and a kernel graph without custom kernels.

    Example:
        >>> import prism_explore as px
        >>> program = px.parse_program('''program twice
        ...   x = input f32[b, 8]
        ...   %1 = add(x, x)
        ...   return %1''')
        >>> program.graph.data_symbols
        ('b',)
    """

    name: str
    """Letters, digits and `_`."""
    graph: SGraph
    """Its operators, by position, and which of them are the results."""
    lines: tuple[str, ...] = field(default=(), compare=False)
    """For each node, the line of the user's code that it comes from; empty if unknown."""

    def __post_init__(self) -> None:
        _check_program_name(self.name)
        if any(isinstance(n.op, Custom) for n in self.graph.nodes):
            raise ShapeError(f"{self.name}: a tensor program has no custom kernels; the search adds them")
        self.graph.types()

    @property
    def inputs(self) -> tuple[Input, ...]:
        """The inputs in the order of the user's arguments."""
        return self.graph.inputs

    def source(self, position: int) -> str:
        """The line of the user's code that a node comes from.

        Args:
            position: the position of the node.

        Returns:
            The line without its file and number; empty if unknown.
        """
        return self.lines[position].partition(": ")[2] if self.lines else ""


def _check_program_name(name: str) -> None:
    """The text of a program holds names of this form only."""
    if not re.fullmatch(r"\w+", name):
        raise ShapeError(f"a program's name is made of letters, digits and _, such as width_64; found {name!r}")


class ProgramBuilder:
    """Builds a program operator by operator; every method returns the new tensor's position.

    Args:
        name: letters, digits and `_`.
        repeats: whether an operator on the same operands is a new tensor each time; otherwise it is the existing one.

    Raises:
        ShapeError: the name is not of this form.

    Example:
        >>> import prism_explore as px
        >>> b = px.ProgramBuilder("row_sums")
        >>> x = b.input("x", "b", 64)
        >>> b.build(b.reduce("sum", x, 1)).name
        'row_sums'
    """

    def __init__(self, name: str, *, repeats: bool = True) -> None:
        _check_program_name(name)
        self.name = name
        self._repeats = repeats
        self._positions: dict[Node, int] = {}
        self._nodes: list[Node] = []
        self._lines: list[str] = []
        self._types: list[TensorType] = []

    def add(self, op: KernelOp, *args: int, line: str = "") -> int:
        """Append an operator and type-check it, or find it where it is not to be repeated.

        Args:
            op: the operator.
            args: the positions of its operands.
            line: the line of the user's code that it comes from; empty if unknown.

        Returns:
            The position of the tensor.

        Raises:
            ShapeError: the operands do not fit.
        """
        node = Node(op, args)
        if not self._repeats and node in self._positions:
            return self._positions[node]
        if isinstance(op, Input):
            check_input_names([*(n.op.name for n in self._nodes if isinstance(n.op, Input)), op.name])
        self._types.append(next_type(self._nodes, self._types, node))
        self._positions[node] = len(self._nodes)
        self._nodes.append(node)
        self._lines.append(line)
        return len(self._nodes) - 1

    def type_of(self, x: int) -> TensorType:
        """The type of a tensor built so far.

        Args:
            x: the position of the tensor.

        Returns:
            Its dims, dtype and order.
        """
        return self._types[x]

    def input(
        self,
        name: str,
        *dims: DimLike,
        dtype: DType = "f32",
        order: tuple[int, ...] = (),
        strides: Sequence[DimLike] = (),
    ) -> int:
        """A tensor given by the caller.

        Args:
            name: letters, digits and `_`, a digit not first.
            dims: sizes: integers, names of symbols, or values of `Dim`.
            dtype: `f64`, `f32`, `bf16`, `f16`, `bool` for masks, or `i8` and `u8`.
            order: the dims from slowest to fastest in memory; empty for row-major.
            strides: per dim, the distance of neighbours in elements, for a tensor that is not dense.

        Returns:
            The position of the input.

        Raises:
            ShapeError: the name is not of this form or is taken, or the type is ill-formed.
        """
        if not re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII):
            raise ShapeError(
                f"an input's name is made of letters, digits and _, a digit not first, such as x_1; found {name!r}"
            )
        return self.add(Input(name, tensor(*dims, dtype=dtype, order=order, strides=strides)))

    def unary(self, fn: UnaryFn, x: int, line: str = "") -> int:
        """An elementwise function: `* -> *`.

        Args:
            fn: a name in `ir.elementwise.UNARY`.
            x: the position of the operand.
            line: the line of the user's code that it comes from; empty if unknown.

        Returns:
            The position of the new tensor.

        Raises:
            ShapeError: there is no such function.
        """
        return self.add(Unary(_known(fn, UNARY)), x, line=line)

    def scalar(self, fn: str, x: int, value: Fraction | int | str, line: str = "") -> int:
        """`x + value`, `x * value` and so on, for each name in `ir.ops.SCALAR_FNS`.

        Args:
            fn: a name in `ir.ops.SCALAR_FNS`.
            x: the position of the operand.
            value: the constant; it is kept as an exact fraction.
            line: the line of the user's code that it comes from; empty if unknown.

        Returns:
            The position of the new tensor.

        Raises:
            ShapeError: there is no such function.
        """
        if fn not in SCALAR_FNS:
            raise ShapeError(f"no operator {fn!r} with a constant; there are {', '.join(SCALAR_FNS)}")
        return self.add(Scalar(cast(ScalarFn, fn), Fraction(value)), x, line=line)

    def binary(self, fn: BinaryFn, x: int, y: int, line: str = "") -> int:
        """An elementwise function of two tensors that broadcast: `*, * -> *`.

        Args:
            fn: a name in `ir.elementwise.BinaryFn`.
            x: the position of the first operand.
            y: the position of the second operand.
            line: the line of the user's code that it comes from; empty if unknown.

        Returns:
            The position of the new tensor.

        Raises:
            ShapeError: there is no such function, or the dims do not broadcast.
        """
        return self.add(Binary(_known(fn, get_args(BinaryFn))), x, y, line=line)

    def matmul(self, x: int, y: int, line: str = "") -> int:
        """Matrix product: `* m k, * k n -> * m n`.

        Args:
            x: the position of the first operand.
            y: the position of the second operand.
            line: the line of the user's code that it comes from; empty if unknown.

        Returns:
            The position of the new tensor.

        Raises:
            ShapeError: the dims do not fit.
        """
        return self.add(MatMul(), x, y, line=line)

    def reduce(self, fn: ReduceFn, x: int, along: int, line: str = "") -> int:
        """Reduction over one dim, which stays with size 1.

        Args:
            fn: a name in `ir.ops.REDUCE_FNS`.
            x: the position of the operand.
            along: the dim; negative numbers count from the last.
            line: the line of the user's code that it comes from; empty if unknown.

        Returns:
            The position of the new tensor.

        Raises:
            ShapeError: there is no such function or no such dim.
        """
        return self.add(Reduce(_known(fn, REDUCE_FNS), self._from_front(x, along)), x, line=line)

    def scan(self, fn: ScanFn, x: int, along: int, line: str = "") -> int:
        """Prefix sums along one dim: `* -> *`.

        Args:
            fn: a name in `ir.ops.SCAN_FNS`.
            x: the position of the operand.
            along: the dim; negative numbers count from the last.
            line: the line of the user's code that it comes from; empty if unknown.

        Returns:
            The position of the new tensor.

        Raises:
            ShapeError: there is no such function or no such dim.
        """
        return self.add(Scan(_known(fn, SCAN_FNS), self._from_front(x, along)), x, line=line)

    def lookup(self, table: int, integers: int, along: int, line: str = "", *, batch: int = 0) -> int:
        """Elements of a table at positions that an integer input has: `s.. a.. V b.., s.. i.. -> s.. a.. i.. b..`.

        Args:
            table: the position of the table.
            integers: the position of the integer input; its dims replace the table's dim, but for shared ones.
            along: the dim of the table; negative numbers count from the last.
            line: the line of the user's code that it comes from; empty if unknown.
            batch: the number of leading dims that both share.

        Returns:
            The position of the new tensor.

        Raises:
            ShapeError: there is no such dim, shared dims differ, or the second operand is no integer input.
        """
        return self.add(Lookup(self._from_front(table, along), batch), table, integers, line=line)

    def permute(self, x: int, *order: int, line: str = "") -> int:
        """Dims in another order: dim d of the result is dim `order[d]` of x.

        Args:
            x: the position of the operand.
            order: a permutation of the dims of x.
            line: the line of the user's code that it comes from; empty if unknown.

        Returns:
            The position of the new tensor.

        Raises:
            ShapeError: it is no permutation.
        """
        return self.add(Permute(order), x, line=line)

    def reshape(self, x: int, *dims: DimLike, line: str = "") -> int:
        """The same elements in row-major order under other dims.

        Args:
            x: the position of the operand.
            dims: the new sizes; their product is that of the sizes of x.
            line: the line of the user's code that it comes from; empty if unknown.

        Returns:
            The position of the new tensor.

        Raises:
            ShapeError: the numbers of elements differ.
        """
        return self.add(Reshape(tuple(map(dim, dims))), x, line=line)

    def expand(self, x: int, along: int, size: DimLike, line: str = "") -> int:
        """Repetition along a dim of size 1.

        Args:
            x: the position of the operand.
            along: the dim.
            size: its new size.
            line: the line of the user's code that it comes from; empty if unknown.

        Returns:
            The position of the new tensor.

        Raises:
            ShapeError: there is no such dim, or its size is not a literal 1.
        """
        return self.add(Expand(along, dim(size)), x, line=line)

    def slice(self, x: int, along: int, start: DimLike, stop: DimLike, line: str = "") -> int:
        """Positions `start .. stop - 1` of one dim.

        Args:
            x: the position of the operand.
            along: the dim.
            start: the first position.
            stop: the position after the last.
            line: the line of the user's code that it comes from; empty if unknown.

        Returns:
            The position of the new tensor.

        Raises:
            ShapeError: there is no such dim, or the range is not inside it.
        """
        return self.add(Slice(along, dim(start), dim(stop)), x, line=line)

    def concat(self, x: int, y: int, along: int, line: str = "") -> int:
        """Concatenation of x and y along one dim.

        Args:
            x: the position of the first operand.
            y: the position of the second operand.
            along: the dim.
            line: the line of the user's code that it comes from; empty if unknown.

        Returns:
            The position of the new tensor.

        Raises:
            ShapeError: the other dims differ, or there is no such dim.
        """
        return self.add(Concat(along), x, y, line=line)

    def band(
        self, rows: DimLike, columns: DimLike, low: DimLike | None, high: DimLike | None, dtype: DType = "f32"
    ) -> int:
        """A constant matrix: 1 where `low <= column - row <= high`, else 0.

        Args:
            rows: the number of rows.
            columns: the number of columns.
            low: the lower limit; None for no limit.
            high: the upper limit; None for no limit.
            dtype: `f64`, `f32`, `bf16` or `f16`.

        Returns:
            The position of the new tensor.
        """
        least, most = (None if d is None else dim(d) for d in (low, high))
        return self.add(Band(dim(rows), dim(columns), least, most, dtype))

    def _from_front(self, x: int, along: int) -> int:
        """A dim counted from the front; unchanged where there is no such dim."""
        rank = self._types[x].rank if 0 <= x < len(self._types) else 0
        return along + rank if -rank <= along < 0 else along

    @property
    def nodes(self) -> tuple[Node, ...]:
        """The operators added so far."""
        return tuple(self._nodes)

    @property
    def lines(self) -> tuple[str, ...]:
        """Per operator the line of the user's code that it comes from; empty where unknown."""
        return tuple(self._lines)

    def needed_for(self, outputs: Iterable[int]) -> tuple[ProgramBuilder, Mapping[int, int]]:
        """The program so far without inputs and operators on which no result depends.

        Args:
            outputs: the positions of the results.

        Returns:
            A new builder, and per position that was kept the new one.
        """
        kept = ProgramBuilder(self.name)
        moved: dict[int, int] = {}
        for position in sorted(needed_by(self._nodes, outputs)):
            node = self._nodes[position]
            moved[position] = kept.add(
                cast(KernelOp, node.op), *(moved[a] for a in node.args), line=self._lines[position]
            )
        return kept, moved

    def build(self, output: int, *further: int) -> TensorProgram:
        """The finished program.

        Args:
            output: the position of the result.
            further: the positions of more results, each once.

        Returns:
            The program.

        Raises:
            ShapeError: the output does not depend on some input, or is an input itself.
        """
        graph = SGraph(tuple(self._nodes), output, further)
        needed = needed_by(self._nodes, graph.outputs)
        for position, node in enumerate(self._nodes):
            if isinstance(node.op, Input) and position not in needed:
                raise ShapeError(f"{self.name}: the result does not depend on input {node.op.name!r}; drop it")
        if any(isinstance(self._nodes[n].op, Input) for n in graph.outputs):
            raise ShapeError(f"{self.name}: the result is an input; there is nothing to search")

        return TensorProgram(self.name, graph, tuple(self._lines))


_Fn = TypeVar("_Fn", bound=str)


def _known(fn: _Fn, functions: Collection[str]) -> _Fn:
    if fn not in functions:
        raise ShapeError(f"no operator {fn!r}; there are {', '.join(functions)}")
    return fn
