"""An upper bound on the size of a program's abstract expression, computed before the expression is built.

The number of terms of a product is the product of the numbers of terms. So the expression of a deep program, such as
a block of layers with residual sums, does not fit in memory. The estimate follows the operations of `polynomial` but
ignores that equal terms merge.
"""

from __future__ import annotations

from prism_explore.ir.graph import integer_input
from prism_explore.ir.ops import (
    Band,
    Binary,
    Expand,
    Input,
    Lookup,
    MatMul,
    Permute,
    Reduce,
    Scalar,
    Scan,
    Unary,
    ViewOp,
)
from prism_explore.ir.program import TensorProgram
from prism_explore.ir.transforms.boundary_views import split_boundary_views
from prism_explore.ir.transforms.duplicate_inputs import duplicate_inputs
from prism_explore.ir.transforms.hoist_lookups import is_given
from prism_explore.pipeline.search_space import LARGEST_OPS, limited_ops

LARGEST_EXPRESSION = 100_000
"""The most factors in all terms, nested terms included. The workloads stay below a thousand; at this size one
operator takes seconds."""


_UNCOUNTED = 10**18
"""Larger figures are not computed: those of a loop's last step have thousands of digits."""


def expression_size(program: TensorProgram) -> int:
    """An upper bound on the factors in the abstract expression of any tensor of a program, or 1e18 if it is larger."""
    sizes: list[tuple[int, int]] = []  # terms, and factors in all terms
    for node in program.graph.nodes:
        args = [sizes[a] for a in node.args]
        match node.op:
            case Input() | Band():
                estimate = 1, 1
            case Binary("add" | "sub"):
                (terms, size), (other_terms, other_size) = args
                estimate = terms + other_terms, size + other_size
            case Binary("mul") | MatMul():
                estimate = _product(*args)
            case Unary("square"):
                estimate = _product(args[0], args[0])
            case Binary("div"):
                (terms, size), (_, denominator_size) = args
                estimate = terms, size + terms * denominator_size
            case Reduce("sum" | "mean", _) | Scalar("mul", _):
                terms, size = args[0]
                estimate = terms, size + terms
            case Scan():
                terms, size = args[0]
                estimate = terms, size + 2 * terms
            case Scalar("add", _):
                terms, size = args[0]
                estimate = terms + 1, size + 1
            case Reduce("rms", _):
                estimate = 1, 1 + _product(args[0], args[0])[1]
            case _:
                estimate = 1, 1 + sum(size for _, size in args)
        sizes.append((min(estimate[0], _UNCOUNTED), min(estimate[1], _UNCOUNTED)))
    return max(size for _, size in sizes)


def _product(a: tuple[int, int], b: tuple[int, int]) -> tuple[int, int]:
    return a[0] * b[0], a[1] * b[0] + b[1] * a[0]


DEEPEST_EXPRESSION = 80
"""The most functions of functions of a tensor. With 80, operations on the expression nest up to 700 calls of the 1,000
that Python allows."""


def expression_depth(program: TensorProgram) -> int:
    """How many functions are applied to one another in a program; sums and products count as none."""
    depths: list[int] = []
    for node in program.graph.nodes:
        match node.op:
            case Unary("square") | Scalar("add" | "mul", _) | Binary("add" | "sub" | "mul") | Reduce("sum" | "mean", _):
                nested = 0
            case Unary() | Scalar() | Binary() | Reduce() | Scan():
                nested = 1
            case _:
                nested = 0
        depths.append(nested + max((depths[a] for a in node.args), default=0))
    return max(depths)


LARGEST_RANK = 6
"""The grid or the loop may partition each dim: there are about 600 choices of maps with 6 dims, 30,000 with 9."""


def why_no_search(program: TensorProgram) -> str:
    """Why one search does not take a program, such as its size; empty if it does."""
    types = program.graph.types()
    worst = max(range(len(types)), key=lambda n: types[n].rank)
    if types[worst].rank > LARGEST_RANK:
        return (
            f"{program.name}: %{worst} has {types[worst].rank} dims, {types[worst]}; a search takes {LARGEST_RANK} at "
            "most. Merge dims that are always used together with a reshape; px.WholeProgram(...) of torch code "
            "searches the parts that have fewer dims, and leaves the others to torch"
        )
    count, size, found = sum(bool(n.args) for n in program.graph.nodes), expression_size(program), ""
    if size > LARGEST_EXPRESSION:
        factors = f"up to {size:.1e} factors" if size < _UNCOUNTED else f"perhaps more than {size:.0e} factors"
        found = f"one expression of {factors}; a search takes {LARGEST_EXPRESSION:,} at most"
    elif (depth := expression_depth(program)) > DEEPEST_EXPRESSION:
        found = f"one expression of {depth:,} functions of one another; a search takes {DEEPEST_EXPRESSION} at most"
    if found:
        return (
            f"{program.name}: {count} operators make {found}. px.WholeProgram(...) of torch code, with the same "
            "arguments, searches it in parts, of a loop each different step once; so does px.LargeProgram(...) of a "
            "tensor program, without regard to loops"
        )
    nodes = program.graph.nodes
    permuted = (integer_input(nodes, p) for p, n in enumerate(nodes) if isinstance(n.op, Permute))
    if (integers := next((i for i in permuted if i is not None), None)) is not None:
        return f"{program.name}: {integers.name!r} has integers and is permuted; declare it with its dims in that order"
    graph = duplicate_inputs(program).program.graph
    looked_up = [p for p in split_boundary_views(graph).core if isinstance(graph.nodes[p].op, Lookup)]
    if any(is_given(graph.nodes, p) for p in looked_up):
        return f"{program.name} returns what a lookup reads, and computes nothing of it; torch does that in one call"
    if looked_up:
        return (
            f"{program.name}: a lookup reads a computed tensor, and cannot be done before what computes it; "
            "px.WholeProgram(...), with the same arguments, searches the parts before and after it"
        )
    return ""


MOST_PART_INPUTS = 5
"""The most tensors that a part may read: with more, one kernel for it has too many graphs."""
LARGEST_PART_EXPRESSION = 1_000
"""The most factors in the expression of a part; published workloads have less than a hundred."""


def fits(part: TensorProgram, largest: int = LARGEST_OPS) -> bool:
    """Whether a part of a program is small enough to be searched as one kernel; cheap tests come first."""
    nodes = part.graph.nodes
    if isinstance(nodes[part.graph.output].op, Expand):
        return False  # a kernel stores each element of its result once, so it cannot repeat them

    return (
        sum(isinstance(n.op, Input | Band) for n in nodes) <= MOST_PART_INPUTS
        and max(t.rank for t in part.graph.types()) <= LARGEST_RANK
        and expression_size(part) <= LARGEST_PART_EXPRESSION
        and not all(isinstance(nodes[p].op, ViewOp) for p in split_boundary_views(part.graph).core)
        and not is_given(nodes, part.graph.output)
        and limited_ops(part) <= largest
    )
