"""The search space: operators, limits, budgets, and the pruning rules that are on.

The space or a named rule excludes every graph that a search does not consider. `Space.describe` states the space as
text; the first event of a search stores it, because the claim "the best of the stated space" refers to it.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, fields, replace
from typing import Literal, TypeAlias

from prism_explore.errors import ShapeError
from prism_explore.events.kinds import FAMILY_BUDGET, MISSING_OPERATORS
from prism_explore.ir.axes import axes_of
from prism_explore.ir.elementwise import BinaryFn, UnaryFn
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
    ReduceFn,
    Reshape,
    Result,
    RunningMax,
    Scalar,
    Scan,
    ScanFn,
    Slice,
    Store,
    Unary,
    ViewOp,
    op_name,
)
from prism_explore.ir.program import TensorProgram
from prism_explore.ir.tensors import BYTE_INTEGERS
from prism_explore.ir.transforms.boundary_views import split_boundary_views
from prism_explore.ir.transforms.duplicate_inputs import duplicate_inputs

Level: TypeAlias = Literal["kernel", "block", "split"]
"""Where the search adds an operator: in a kernel graph or a block graph; `split` partitions a complete one."""

Accumulator: TypeAlias = Literal["plain", "sum", "mean", "rms", "max", "rescaled"]
"""`plain` adds up the tiles of the iterations; the others also reduce one dim of the tile.

`rescaled` stands for running maxima along each dim, and for sums relative to them, with or without reducing a dim."""

MATCH_BY_AXIS = "shape.mismatch"
"""The pruning rule by which dims match; all rules are listed in `generate.pruning.rules`."""


@dataclass(frozen=True, slots=True)
class Operators:
    """The operators of one level, in the order in which they are tried."""

    unary: tuple[UnaryFn, ...] = ()
    scalars: tuple[Scalar, ...] = ()
    """Only the constants that the program itself uses."""
    binary: tuple[BinaryFn, ...] = ()
    matmul: bool = False
    reductions: tuple[ReduceFn, ...] = ()
    """Along every dim that is not of literal size 1."""
    accumulators: tuple[Accumulator, ...] = ()
    views: tuple[ViewOp, ...] = ()
    """Only views of the program, applied to tensors with the same axes as in the program."""
    scans: tuple[ScanFn, ...] = ()
    """Only those of the program, along every dim that is not of literal size 1."""

    def has(self, op: Op) -> bool:
        """Whether an operator of a program is included; inputs and bands always are."""
        match op:
            case Unary(fn):
                return fn in self.unary
            case Scalar():
                return op in self.scalars
            case Binary(fn):
                return fn in self.binary
            case MatMul():
                return self.matmul
            case Reduce(fn, _):
                return fn in self.reductions
            case Scan(fn, _):
                return fn in self.scans
            case Permute() | Reshape() | Expand() | Slice() | Concat():
                return op in self.views
            case Lookup():
                return False
            case Input() | Band():
                return True
            case Load() | Store() | Accumulate() | AccumulateRescaled() | RunningMax() | Custom() | Result():
                raise AssertionError("a tensor program has compute operators only")

    def without(self, other: Operators) -> Operators:
        """The operators that `other` lacks."""
        return Operators(
            tuple(x for x in self.unary if x not in other.unary),
            tuple(x for x in self.scalars if x not in other.scalars),
            tuple(x for x in self.binary if x not in other.binary),
            self.matmul and not other.matmul,
            tuple(x for x in self.reductions if x not in other.reductions),
            tuple(x for x in self.accumulators if x not in other.accumulators),
            tuple(x for x in self.views if x not in other.views),
            tuple(x for x in self.scans if x not in other.scans),
        )

    def __str__(self) -> str:
        names = [
            *self.unary,
            *(f"{s.fn}_scalar {s.value}" for s in self.scalars),
            *self.binary,
            *(["matmul"] if self.matmul else []),
            *self.reductions,
            *self.scans,
            *("accum" if a == "plain" else f"accum_{a}" for a in self.accumulators),
            *(["running_max"] if "rescaled" in self.accumulators else []),
            *dict.fromkeys(map(op_name, self.views)),
        ]
        return " ".join(names) or "none"


NO_LIMIT = 10**9
"""A budget that no search spends."""


@dataclass(frozen=True, slots=True)
class Space:
    """The sGraphs that a search considers.

    Example:
        >>> from dataclasses import replace
        >>> import prism_explore as px
        >>> program = px.parse_program('''program twice
        ...   x = input f32[b, 8]
        ...   %1 = add(x, x)
        ...   return %1''')
        >>> replace(px.default_space(program), block_ops=9).block_ops
        9
    """

    kernel: Operators
    """Predefined operators of the kernel graph, each a kernel of its own."""
    block: Operators
    """Operators inside a custom kernel's block graph."""
    kernel_ops: int = 5
    """Largest number of kernel-level operators, custom ones included."""
    predefined_kernels: int = 0
    """Largest number of predefined operators among them, before or after the custom kernels."""
    custom_kernels: int = 1
    """Largest number of custom kernels among them; at least one is custom."""
    block_ops: int = 11
    """Largest number of operators in a block graph; loads count, the store does not."""
    block_inputs: int = 3
    """Largest number of tensors that a custom kernel reads. Each is loaded once; a tensor that the program reads along
    several axes counts, and is loaded, once for each (`ir.transforms.duplicate_inputs`)."""
    accumulators: int = 3
    """Largest number of accumulators in a block graph, running maxima not counted; a tensor is accumulated at most
    once."""
    grid_dims: int = 3
    """Largest number of grid dims of a custom kernel: 1 to 3."""
    results: int = 3
    """Largest number of partial results of a kernel that is split over an axis; 0: no kernel is split.

    A kernel that sums over an axis may be split into two, see `generate.split_kernels`. The second kernel does not
    count for `custom_kernels`.
    """
    rows: int = 3
    """Largest number of kernel sequences ("kernels in a row"), which have one kernel for each part of the program, see
    `search.kernel_sequence`. They are searched only where no single kernel is proved; 0: never."""
    row_kernels: int = 2
    """Largest number of kernels for one part of a kernel sequence: the first ones that are proved."""
    row_maps: int = 3
    """Largest number of candidates of one kernel sequence."""
    row_nodes: int = 150
    """Budget: the number of partial sGraphs that are expanded for one part of a kernel sequence."""
    nodes: int = 6_000
    """Budget: the number of partial sGraphs that are expanded."""
    patience: int = 1_000
    """Budget: the number of them that are expanded without finding a family. Graphs close to the program are expanded
    first; most workloads find their first family within a hundred."""
    nodes_after_family: int = NO_LIMIT
    """Budget: the number of partial sGraphs that are expanded after the last family without finding another one."""
    families: int = 6_000
    """Budget: the number of families, and again of those whose kernels are split. Those most like the program come
    first. To instantiate, verify and assess one takes as long as to expand many partial sGraphs."""
    time_s: float = 300.0
    """Budget: seconds for the enumeration, the same again for proofs, and again for float assessments; pauses and
    tuning do not count."""
    rules_off: frozenset[str] = frozenset()
    """Names of pruning rules, and of definitions that the rule `dup.canonical` applies, that are switched off, for
    ablations and audits."""

    def __post_init__(self) -> None:
        if not 1 <= self.grid_dims <= 3:
            raise ShapeError(f"a grid has 1 to 3 dims, found grid_dims={self.grid_dims}")
        for field in fields(self):
            value = getattr(self, field.name)
            counts = field.type in (int, "int")
            if (counts and type(value) is not int) or (isinstance(value, int | float) and value < 0):
                raise ShapeError(f"{field.name} is a number from 0 on; found {value!r}")

    def active(self, rule: str) -> bool:
        """Whether a pruning rule is on.

        Args:
            rule: the name of the rule.

        Returns:
            False if it is in `rules_off`.
        """
        return rule not in self.rules_off

    @property
    def matches_by_axis(self) -> bool:
        """Whether dims match only where they are the same index axis; otherwise equal sizes suffice."""
        return self.active(MATCH_BY_AXIS)

    def lacks(self, program: TensorProgram) -> tuple[str, ...]:
        """The names of the operators of a program that no level of the space has; views at its boundary do not count.

        A family may not need one, as a product does not need an `expand`; if every family needs it, none is found.

        Args:
            program: the program.

        Returns:
            The names of the operators.
        """
        levels = (self.block, self.kernel) if self.predefined_kernels else (self.block,)
        graph = duplicate_inputs(program).program.graph
        core = (graph.nodes[p].op for p in split_boundary_views(graph).core)
        missing = (op for op in core if not any(level.has(op) for level in levels))
        return tuple(dict.fromkeys(map(op_name, missing)))

    def describe(self, program: TensorProgram | None = None) -> dict[str, str]:
        """The space as text, for people and for the first event of a search.

        Args:
            program: if not None, the operators of it that the space lacks are listed, too.

        Returns:
            Per aspect of the space, one or more sentences.
        """
        lacking = self.lacks(program) if program is not None else ()
        copies = duplicate_inputs(program).copies if program is not None else dict[str, str]()
        several = program is not None and bool(program.graph.further)
        where = (
            "for the several results, of which a part stores those that are computed on the way to its last"
            if several
            else "where no kernel of these is proved"
        )
        return {
            "kernel graph": f"at most {self.kernel_ops} operators: 1 to {self.custom_kernels} custom kernels, "
            f"at most {self.predefined_kernels} predefined operators"
            + ("; no two custom kernels read exactly the same tensors" if self.custom_kernels > 1 else ""),
            "predefined operators": str(self.kernel) if self.predefined_kernels else "none",
            "block graph": f"at most {self.block_ops} operators, loads included; one output"
            + (f"; the program itself takes {_fused_text(program)}" if program is not None else ""),
            "block operators": str(self.block),
            "split kernels": "one custom kernel alone may be split in two, by an axis that it sums over: grid dims of "
            f"the first cut it, and of each of up to {self.results} sums its blocks store their shares, side by side; "
            "the second adds up the shares, one per iteration of its loop or all at once; of sums relative to a "
            "running maximum the maxima are stored, too. Linear operators stand on either side, other ones behind; run "
            "with one share, the two are a kernel as stated here. A mean is split as a sum, times one over the extent"
            if self.results
            else "none",
            "kernels in a row": f"{where}: parts of the program, consecutive operators each, "
            "products of matrices grouped in the cheaper order before; custom kernels for parts, predefined operators "
            "for the rest. As many operators as may be are in custom kernels, and these are as few as may be. Each "
            "part has limits of its own, as has the number of kernels, but where they were set lower than the "
            f"program's default; of each the first {self.row_kernels} proved kernels count. Rows change one kernel, "
            f"then two, then the parts: up to {self.rows} families, each with at most {self.row_maps} choices of maps, "
            "which change one kernel"
            if self.rows
            else "none",
            "views": "of inputs before every kernel and of the result behind all, as the program has them; inside "
            "a block those in between, of tensors with the axes that they have there",
            "block inputs": f"at most {self.block_inputs}, each loaded once"
            + (f"; {', '.join(dict.fromkeys(copies.values()))} once more, along other axes" if copies else ""),
            "accumulators": f"at most {self.accumulators}, at most one of each tensor",
            "maps": f"at most {self.grid_dims} grid dims and one for-loop; each index axis is cut the same "
            "way in all tensors of a kernel",
            "shapes": "dims match when they are the same index axis, not when their sizes happen to agree"
            if self.matches_by_axis
            else "dims match when their sizes agree; index axes that an operator matches are cut alike in that graph",
            "equalities": "those that follow from the axioms of equality on named axes; no cancellation such as "
            "x*y/y = x, but of exponents that the program's own numerators and denominators share",
            "node budget": f"{self.nodes}, {min(self.nodes, self.patience)} of them before a first family"
            + (f", {self.nodes_after_family} after the last one" if self.nodes_after_family < self.nodes else "")
            + (f"; {self.row_nodes} for each part of a row" if self.rows else ""),
            **({FAMILY_BUDGET: f"{self.families}, and again for split kernels"} if self.families < self.nodes else {}),
            "time budget": f"{self.time_s:g} s for growing graphs, {self.time_s:g} s for proofs, "
            f"{self.time_s:g} s for trying families in floating point",
            "rules switched off": " ".join(sorted(self.rules_off)) or "none",
            **({MISSING_OPERATORS: ", ".join(lacking)} if lacking else {}),
        }


QUICK_NODES, QUICK_FAMILIES = 2_000, 40
"""Budgets of a quick search. In the benchmark `time_to_kernel` each best kernel was of one of the first 40 families."""


def quick_space(program: TensorProgram) -> Space:
    """The default space with the budgets of a quick search, which ends among the families most like the program."""
    return replace(default_space(program), nodes=QUICK_NODES, families=QUICK_FAMILIES)


LIMITS: tuple[str, ...] = tuple(f.name for f in fields(Space) if f.type in (int, "int"))
"""The names of the fields of a space that are integers."""

CLASSIC_UNARY: tuple[UnaryFn, ...] = ("exp", "square", "sqrt", "silu")
CLASSIC_BINARY: tuple[BinaryFn, ...] = ("add", "mul", "div")
CLASSIC_REDUCTIONS: tuple[ReduceFn, ...] = ("sum", "mean", "rms")

CLASSIC_OPS = 11
LARGEST_OPS = 23
"""A program that needs more operators in one kernel is cut into parts of at most as many. With 28, a GRU cell is one
kernel, which is slower than its two; attention over normalised keys is one that does not multiply them as they are
stored; and the regions of transformers models take 1.1 to 1.9 times the CPU time to search."""


def _fused_text(program: TensorProgram) -> str:
    alone, looped = fused_ops(program, with_loop=False), fused_ops(program)
    return str(alone) if alone == looped else f"{alone}, and {looped} with a loop"


def fused_ops(program: TensorProgram, *, with_loop: bool = True) -> int:
    """The number of operators of a block graph that computes a program operator by operator.

    It counts loads, operators and accumulators. The accumulator of a reduction replaces the reduction. Matrix products
    that sum over the axis of the loop have one accumulator each; the loop is over the axis that most of them sum over.
    Repetitions and views at the boundary do not count, and √ of the mean of squares counts as one operator.

    Args:
        program: the program.
        with_loop: whether the block has a loop, and so accumulators.
    """
    graph = duplicate_inputs(program).program.graph
    nodes = graph.nodes
    uses = [a for n in nodes for a in n.args]
    peeled = split_boundary_views(graph)
    count = len(peeled.viewed_inputs) + sum(not isinstance(nodes[p].op, Expand) for p in peeled.core)
    for root in nodes:
        mean = nodes[root.args[0]] if root.op == Unary("sqrt") else None
        if mean is not None and isinstance(mean.op, Reduce) and mean.op.fn == "mean":
            inner = (root.args[0], mean.args[0])
            if nodes[inner[1]].op == Unary("square") and all(uses.count(a) == 1 for a in inner):
                count -= 2
    if not with_loop:
        return count
    named = axes_of(graph).of
    summed = Counter(named[n.args[0]][-1] for n in nodes if isinstance(n.op, MatMul))
    return count + max(summed.values(), default=int(any(isinstance(n.op, Reduce) for n in nodes)))


def limited_ops(program: TensorProgram) -> int:
    """Of `fused_ops`, those that count against `LARGEST_OPS`: not those that only unpack bytes.

    A kernel of its own for the bits of quantized weights would write at least four bytes for each byte that it reads.
    """
    return fused_ops(program) - _unpacking_ops(program)


def _unpacking_ops(program: TensorProgram) -> int:
    """The operators of a block graph that are elementwise or views, and read nothing but bytes."""
    if not any(i.type.dtype in BYTE_INTEGERS for i in program.inputs):
        return 0
    graph = duplicate_inputs(program).program.graph
    unpacking = unpacking_nodes(graph)
    return sum(p in unpacking for p in split_boundary_views(graph).core)


def unpacking_nodes(graph: SGraph) -> frozenset[int]:
    """The positions of bytes, and of operators that are elementwise or views and read nothing but them."""
    types, unpacked = graph.types(), set[int]()
    for position, node in enumerate(graph.nodes):
        if isinstance(node.op, Input):
            is_unpacked = types[position].dtype in BYTE_INTEGERS
        else:
            is_elementwise = isinstance(node.op, Unary | Binary | Scalar | ViewOp)
            is_unpacked = is_elementwise and all(a in unpacked for a in node.args)
        if is_unpacked:
            unpacked.add(position)
    return frozenset(unpacked)


def why_no_single_kernel(program: TensorProgram) -> str:
    """Why the default space has no single kernel for a program; empty if it may have one."""
    operators = limited_ops(program)
    return f"{operators} operators in one kernel; the limit is {LARGEST_OPS}" if operators > LARGEST_OPS else ""


def default_space(program: TensorProgram) -> Space:
    """The published operators and limits, and the operators of the program.

    Scalar constants are those of the program; running maxima are included if the program has a maximum. A custom kernel
    may read as many tensors as the program has inputs and bands, and at least three. It may have as many operators as
    the program needs in one kernel (`fused_ops`), if at most `LARGEST_OPS` of them count (`limited_ops`).

    Args:
        program: the program.

    Returns:
        The space; change it with `dataclasses.replace`.

    Source: the published defaults, 11 block operators, 5 kernel operators, 1 custom kernel, 3 inputs.

    Example:
        >>> import prism_explore as px
        >>> program = px.parse_program('''program twice
        ...   x = input f32[b, 8]
        ...   %1 = add(x, x)
        ...   return %1''')
        >>> px.default_space(program).kernel.matmul
        True
    """
    unary: dict[UnaryFn, None] = dict.fromkeys(CLASSIC_UNARY)
    binary: dict[BinaryFn, None] = dict.fromkeys(CLASSIC_BINARY)
    reductions: dict[ReduceFn, None] = dict.fromkeys(CLASSIC_REDUCTIONS)
    scans: dict[ScanFn, None] = {}
    scalars: dict[Scalar, None] = {}
    for node in program.graph.nodes:
        match node.op:
            case Unary(fn):
                unary.setdefault(fn)
            case Binary(fn):
                binary.setdefault(fn)
            case Scalar() as scalar:
                scalars.setdefault(scalar)
            case Reduce(fn, _):
                reductions.setdefault(fn)
            case Scan(fn, _):
                scans.setdefault(fn)
            case _:
                pass
    graph = duplicate_inputs(program).program.graph
    inside = (graph.nodes[p].op for p in split_boundary_views(graph).core)
    views = tuple(dict.fromkeys(op for op in inside if isinstance(op, ViewOp)))
    kernel = Operators(tuple(unary), tuple(scalars), tuple(binary), True, tuple(reductions), scans=tuple(scans))
    accumulators: tuple[Accumulator, ...] = ("plain", "sum", "mean", "rms")
    if "max" in reductions:
        accumulators = (*accumulators, "max", "rescaled")
    block = replace(kernel, accumulators=accumulators, views=views)
    given = sum(isinstance(n.op, Input | Band) for n in graph.nodes) - len(graph.index_limits)
    fused = fused_ops(program)
    is_one_kernel = fused > CLASSIC_OPS and fused - _unpacking_ops(program) <= LARGEST_OPS
    block_ops = fused if is_one_kernel else CLASSIC_OPS
    return Space(kernel, block, block_ops=block_ops, block_inputs=max(3, given))
