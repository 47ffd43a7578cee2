"""How large the abstract expression of a program gets, estimated before it is built.

A product multiplies numbers of terms, so the expression of a deep program, a block of layers with residual sums,
grows beyond any memory. The estimate counts as the operators of `polynomials` do, without what merges, and
takes no time; it is an upper bound.
"""

from __future__ import annotations

from prism_explore.ir.ops import Band, Binary, Expand, Input, MatMul, Reduce, Scalar, Unary, ViewOp
from prism_explore.ir.program import TensorProgram
from prism_explore.ir.transforms.boundary_views import split_boundary_views
from prism_explore.pipeline.search_space import LARGEST_OPS, fused_ops

LARGEST = 100_000
"""Factors in all terms, nested ones included. The workloads stay below a thousand; at this size one operator
takes seconds."""


def expression_size(program: TensorProgram) -> int:
    """At most so many factors has the abstract expression of some tensor of a program."""
    sizes: list[tuple[int, int]] = []
    for node in program.graph.nodes:
        args = [sizes[a] for a in node.args]
        match node.op:
            case Input() | Band():
                made = 1, 1
            case Binary("add" | "sub"):
                (terms, size), (more, size_too) = args
                made = terms + more, size + size_too
            case Binary("mul") | MatMul():
                made = _product(*args)
            case Unary("square"):
                made = _product(args[0], args[0])
            case Binary("div"):
                (terms, size), (_, below) = args
                made = terms, size + terms * below
            case Reduce("sum" | "mean", _) | Scalar("mul", _):
                terms, size = args[0]
                made = terms, size + terms
            case Scalar("add", _):
                terms, size = args[0]
                made = terms + 1, size + 1
            case Reduce("rms", _):
                made = 1, 1 + _product(args[0], args[0])[1]
            case _:
                made = 1, 1 + sum(size for _, size in args)
        sizes.append(made)
    return max(size for _, size in sizes)


def _product(a: tuple[int, int], b: tuple[int, int]) -> tuple[int, int]:
    return a[0] * b[0], a[1] * b[0] + b[1] * a[0]


LARGEST_RANK = 6
"""Each dim may be cut by the grid or by the loop: there are about 600 choices of maps with 6 dims, 30,000 with 9."""


def beyond(program: TensorProgram) -> str:
    """Why a program is not attempted as one; empty where it is."""
    types = program.graph.types()
    worst = max(range(len(types)), key=lambda n: types[n].rank)
    if types[worst].rank > LARGEST_RANK:
        return (
            f"{program.name}: %{worst} has {types[worst].rank} dims, {types[worst]}; a search takes {LARGEST_RANK} at "
            "most. Merge dims that are always used together with a reshape"
        )
    if (size := expression_size(program)) > LARGEST:
        count = sum(bool(n.args) for n in program.graph.nodes)
        return (
            f"{program.name}: {count} operators make one expression of up to {size:.1e} factors; a search takes "
            f"{LARGEST:,} at most. px.LargeProgram(...), with the same arguments, searches the parts that it can and "
            "covers the rest by predefined operators"
        )
    return ""


MOST_INPUTS = 5
"""A part reads at most so many tensors: with more, one kernel for it has too many graphs."""
LARGEST_EXPRESSION = 1_000
"""Of a part; those of published workloads are below a hundred."""


def fits(part: TensorProgram, largest: int = LARGEST_OPS) -> bool:
    """Whether a part of a program may be searched as one kernel; cheap questions first, for many parts are asked."""
    nodes = part.graph.nodes
    if isinstance(nodes[part.graph.output].op, Expand):
        return False  # a kernel writes its result as it is computed
    return (
        sum(isinstance(n.op, Input | Band) for n in nodes) <= MOST_INPUTS
        and max(t.rank for t in part.graph.types()) <= LARGEST_RANK
        and expression_size(part) <= LARGEST_EXPRESSION
        and not all(isinstance(nodes[p].op, ViewOp) for p in split_boundary_views(part.graph).core)
        and fused_ops(part) <= largest
    )
