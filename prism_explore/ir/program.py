"""The input of a search: a tensor program, and how to write one by hand.

A program is a flat kernel graph with a name and, for each node, the place in the user's code that
it came from. `ProgramBuilder` writes one operator by operator; `frontend` traces torch code.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction

from prism_explore.errors import ShapeError
from prism_explore.ir.dims import DimLike
from prism_explore.ir.ops import (
    Binary,
    BinaryFn,
    Custom,
    Input,
    KernelOp,
    MatMul,
    Node,
    Reduce,
    ReduceFn,
    Scalar,
    Unary,
    UnaryFn,
)
from prism_explore.ir.sgraph import SGraph
from prism_explore.ir.tensors import DType, TensorType, tensor


@dataclass(frozen=True, slots=True)
class TensorProgram:
    """What the result must equal: a name and a kernel graph without custom kernels."""

    name: str
    graph: SGraph
    lines: tuple[str, ...] = field(default=(), compare=False)
    """For each node, where it comes from in the user's code; empty where unknown."""

    def __post_init__(self) -> None:
        if any(isinstance(n.op, Custom) for n in self.graph.nodes):
            raise ShapeError(f"{self.name}: a tensor program has no custom kernels; the search adds them")
        self.graph.types()

    @property
    def inputs(self) -> tuple[Input, ...]:
        """The inputs in the order of the user's arguments."""
        return self.graph.inputs


class ProgramBuilder:
    """Writes a program operator by operator; every method returns the new tensor's position.

    >>> b = ProgramBuilder("row_sums")
    >>> x = b.input("x", "b", 64)
    >>> b.build(b.reduce("sum", x, 1)).name
    'row_sums'
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self._nodes: list[Node] = []
        self._lines: list[str] = []
        self._types: list[TensorType] = []

    def add(self, op: KernelOp, *args: int, line: str = "") -> int:
        """Append an operator, checked against its operands at once."""
        node = Node(op, args)
        self._types = list(SGraph((*self._nodes, node), len(self._nodes)).types())
        self._nodes.append(node)
        self._lines.append(line)
        return len(self._nodes) - 1

    def type_of(self, x: int) -> TensorType:
        """The type of a tensor built so far."""
        return self._types[x]

    def input(self, name: str, *dims: DimLike, dtype: DType = "f32", order: tuple[int, ...] = ()) -> int:
        """A tensor given by the caller."""
        return self.add(Input(name, tensor(*dims, dtype=dtype, order=order)))

    def unary(self, fn: UnaryFn, x: int, line: str = "") -> int:
        """An elementwise function: `* -> *`."""
        return self.add(Unary(fn), x, line=line)

    def scalar(self, fn: str, x: int, value: Fraction | int | str, line: str = "") -> int:
        """`x + value` or `x * value`."""
        if fn not in ("add", "mul"):
            raise ShapeError(f"a scalar is added or multiplied, found {fn!r}")
        return self.add(Scalar("add" if fn == "add" else "mul", Fraction(value)), x, line=line)

    def binary(self, fn: BinaryFn, x: int, y: int, line: str = "") -> int:
        """An elementwise function of two tensors that broadcast: `*, * -> *`."""
        return self.add(Binary(fn), x, y, line=line)

    def matmul(self, x: int, y: int, line: str = "") -> int:
        """`* m k, * k n -> * m n`."""
        return self.add(MatMul(), x, y, line=line)

    def reduce(self, fn: ReduceFn, x: int, along: int, line: str = "") -> int:
        """Over one dim, which stays with size 1."""
        rank = self._types[x].rank
        return self.add(Reduce(fn, along % rank if rank else along), x, line=line)

    @property
    def nodes(self) -> tuple[Node, ...]:
        """The operators written so far."""
        return tuple(self._nodes)

    def build(self, output: int) -> TensorProgram:
        """The finished program.

        Raises:
            ShapeError: the output does not depend on some input, or is an input itself.
        """
        graph = SGraph(tuple(self._nodes), output)
        needed = {output}
        for position in range(output, -1, -1):
            if position in needed:
                needed.update(self._nodes[position].args)
        for position, node in enumerate(self._nodes):
            if isinstance(node.op, Input) and position not in needed:
                raise ShapeError(f"{self.name}: the result does not depend on input {node.op.name!r}; drop it")
        if isinstance(self._nodes[output].op, Input):
            raise ShapeError(f"{self.name}: the result is an input as it stands; there is nothing to search")
        return TensorProgram(self.name, graph, tuple(self._lines))
