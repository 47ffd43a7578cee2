"""Split reductions: split the sums of a kernel over blocks, and add the shares in a second kernel.

A kernel that sums over an axis becomes two kernels. A grid dim of the first partitions the axis, so that each block
has one chunk of it, and the block stores its partial sums, the shares. The second kernel adds the shares, one per
iteration of its loop, and computes what follows. With a single share the two kernels compute the same as the
original. So all pairs of such kernels are found by splitting every single kernel in every way:

    axis      any axis that the kernel sums over
    results   which partial values are stored; the second kernel computes what follows them. A linear operator may be
              in either kernel; a change of sign and a product with a constant are in the second.

The second kernel computes again, from the inputs, other values that it needs. A mean over the split axis becomes a sum
and a product with 1 / extent; a root mean square becomes the root of a mean of squares.

`ir.analysis.split_reduction` decides which part of each value a block has, and `ir.analysis.loop_flow` decides which
loops are legal. Flash-decoding, split-K matrix products and split norms have this form.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations
from typing import Literal, TypeAlias

from prism_explore.ir.analysis.loop_flow import Flow
from prism_explore.ir.analysis.split_reduction import (
    Pair,
    State,
    find_split_pair,
    loop_states,
    second_kernel_states,
    split_states,
)
from prism_explore.ir.axes import AxisNames, AxisTable, compute_axes
from prism_explore.ir.dims import Dim
from prism_explore.ir.graph import SGraph, block_types, needed_by
from prism_explore.ir.ops import (
    Accumulate,
    AccumulateRescaled,
    Band,
    Binary,
    BlockGraph,
    Custom,
    Input,
    Load,
    Lookup,
    Node,
    Op,
    Reduce,
    Result,
    RunningMax,
    Scalar,
    Store,
    Unary,
)
from prism_explore.pipeline.search_space import Operators

Views: TypeAlias = Mapping[tuple[Op, tuple[AxisNames, ...]], AxisNames]


@dataclass(frozen=True, slots=True)
class Split:
    """One way to split a kernel graph into two kernels."""

    axis: str
    stored: tuple[int, ...]
    """Positions of the stored values in the block graph that is split; for a mean, its sum is stored."""
    graph: SGraph
    """The two kernels."""
    first: Half
    second: Half
    partial: tuple[State, ...]
    """The state of each stored result in one block of the first kernel."""

    @property
    def label(self) -> str:
        """Its name with the axis."""
        return f"split {self.axis}"

    @property
    def text(self) -> str:
        """The step as the event has it."""
        return f"{self.label}({', '.join(f'%{p}' for p in self.stored)})"


def enumerate_splits(
    graph: SGraph,
    axes: Sequence[AxisNames],
    extents: Mapping[str, Dim],
    views: Views,
) -> Iterator[Split]:
    """Every split of a kernel graph with one custom kernel, ordered by axis, then by results.

    Args:
        graph: a complete kernel graph with open maps.
        axes: of its kernel-level tensors.
        extents: of the axes, in order.
        views: the axes of the program's views.
    """
    if len(graph.customs) != 1:
        return
    position, block = graph.customs[0]
    block_axes = _block_axes(block, tuple(axes[a] for a in graph.nodes[position].args), views)
    if block_axes is None:
        return
    for axis, extent in extents.items():
        body = _means_as_sums(block, block_axes, axis, extent.constant)
        if body is None:
            continue
        states = split_states(body.nodes, body.axes, axis)
        for partial, after in _stored_choices(body, states):
            shares = _combinations(body, states, partial)
            if shares is None:
                continue
            stored = tuple(shares)
            first = _half(body, sorted(needed_by(body.nodes, stored)), stored, {})
            second = _half(body, after, (body.output,), shares)
            both = _two_kernels(graph, position, first, second)
            positions = tuple(body.origins[p] for p in stored)
            yield Split(axis, positions, both, first, second, tuple(states[p] for p in stored))


# ---------------------------------------------------------------- the kernel that is split
@dataclass(frozen=True, slots=True)
class _BlockBody:
    """The operators of a block graph without its store, with means over the split axis as sums."""

    nodes: tuple[Node, ...]
    axes: tuple[AxisNames, ...]
    origins: tuple[int, ...]
    """The position of each operator in the block graph; for new operators, that of the mean."""
    output: int


def _block_axes(block: BlockGraph, operands: tuple[AxisNames, ...], views: Views) -> tuple[AxisNames, ...] | None:
    """The axes of a block's tensors; None if the axes of some result are unknown."""
    found: list[AxisNames] = []
    for node in block.nodes[: block.stores[0]]:
        match node.op:
            case Load(operand):
                result = operands[operand]
            case op:
                assert not isinstance(op, Input | Band | Lookup | Custom | Result | Store), "stores come last"
                operand_axes = tuple(found[a] for a in node.args)
                result = views.get((op, operand_axes)) or compute_axes(op, operand_axes)
        if result is None:
            return None
        found.append(result)
    return tuple(found)


def _means_as_sums(block: BlockGraph, axes: tuple[AxisNames, ...], axis: str, extent: int | None) -> _BlockBody | None:
    """The operators of a block with means over the axis as sums; None if there is a mean and the extent is unknown."""
    made: dict[Node, int] = {}
    appended: list[tuple[AxisNames, int]] = []
    at: list[int] = []

    def append(op: Op, args: tuple[int, ...], of: AxisNames) -> int:
        node = Node(op, args)
        if node not in made:
            made[node] = len(made)
            appended.append((of, len(at)))
        return made[node]

    for node, of in zip(block.nodes, axes, strict=False):
        args = tuple(at[a] for a in node.args)
        match node.op:
            case Reduce("mean" | "rms" as fn, along) if axes[node.args[0]][along] == axis:
                total: Op = Reduce("sum", along)
            case Accumulate("mean" | "rms" as fn, int() as along) if axes[node.args[0]][along] == axis:
                total = Accumulate("sum", along)
            case op:
                if isinstance(op, RunningMax):
                    append(Accumulate("max", op.dim), args, of)
                at.append(append(op, args, of))
                continue
        if extent is None:
            return None
        if fn == "rms":
            args = (append(Unary("square"), args, axes[node.args[0]]),)
        mean = append(Scalar("mul", Fraction(1, extent)), (append(total, args, of),), of)
        at.append(append(Unary("sqrt"), (mean,), of) if fn == "rms" else mean)
    return _BlockBody(
        tuple(made), tuple(a for a, _ in appended), tuple(p for _, p in appended), at[block.nodes[-1].args[0]]
    )


def _stored_choices(body: _BlockBody, states: Sequence[State]) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Every choice of partial values to store, with the operators after them."""
    left = [(frozenset({body.output}), frozenset[int](), frozenset[int]())]
    while left:
        needed, stored, after = left.pop()
        if not needed:
            if stored:
                yield tuple(sorted(stored)), tuple(sorted(after))
            continue
        top = max(needed)
        node, rest = body.nodes[top], needed - {top}
        partial = _is_partial(states[top])
        sums = partial and not any(_is_partial(states[a]) for a in node.args)
        if not partial or not (sums or isinstance(node.op, Accumulate | AccumulateRescaled)):
            left.append((rest | frozenset(node.args), stored, after | {top}))
        if partial and not isinstance(node.op, Unary | Scalar):
            left.append((rest, stored | {top}, after))


def _is_partial(state: State) -> bool:
    return isinstance(state, Flow) and state.partial


@dataclass(frozen=True, slots=True)
class _Combination:
    """How the second kernel combines the shares of a value."""

    fn: Literal["sum", "max"] | None
    """The accumulator; None for a maximum that is only used to scale other shares."""
    scale: int | None = None
    """The position of the maximum that sums are relative to."""


def _combinations(body: _BlockBody, states: Sequence[State], partial: Sequence[int]) -> dict[int, _Combination] | None:
    """The values to store so that the second kernel has some partial values, and how it combines them.

    None if rescaling cannot combine them.
    """
    found: dict[int, _Combination] = {}
    for position in partial:
        state = states[position]
        assert isinstance(state, Flow), "what is partial is legal"
        if state.depends_on_max is None:
            found[position] = _Combination("max" if state.largest else "sum")
            continue
        if not state.depends_on_max.factor or state.depends_on_max.degree != -1:
            return None
        running = body.nodes[state.depends_on_max.name]
        assert isinstance(running.op, RunningMax), "values move with running maxima"
        scale = body.nodes.index(Node(Accumulate("max", running.op.dim), running.args))
        found.setdefault(scale, _Combination("max" if scale in partial else None))
        found[position] = _Combination("sum", scale)
    return dict(sorted(found.items()))


# ---------------------------------------------------------------- the two kernels
@dataclass(frozen=True, slots=True)
class Half:
    """One of the two block graphs, without its stores."""

    nodes: tuple[Node, ...]
    axes: tuple[AxisNames, ...]
    outputs: tuple[int, ...]
    loads: tuple[int, ...]
    """The operands of the original kernel that it loads, after the partial results."""

    @property
    def block(self) -> BlockGraph:
        """The block graph with its stores and open maps."""
        return BlockGraph((), None, (*self.nodes, *(Node(Store(), (p,)) for p in self.outputs)))


def _half(
    body: _BlockBody, positions: Sequence[int], outputs: Sequence[int], shares: Mapping[int, _Combination]
) -> Half:
    """A block graph of some of the operators; values in `shares` are loaded and combined, not computed."""
    own_loads = [p for p in positions if isinstance(body.nodes[p].op, Load)]
    loads = [op.operand for p in own_loads if isinstance(op := body.nodes[p].op, Load)]
    nodes = [Node(Load(k)) for k in range(len(shares) + len(own_loads))]
    axes = [body.axes[p] for p in (*shares, *own_loads)]
    at = {position: k for k, position in enumerate(own_loads, len(shares))}
    loaded = {position: k for k, position in enumerate(shares)}

    def append(op: Op, args: tuple[int, ...], like: int) -> int:
        nodes.append(Node(op, args))
        axes.append(body.axes[like])
        return len(nodes) - 1

    factors: dict[int, tuple[int, int]] = {}
    for scale in dict.fromkeys(join.scale for join in shares.values() if join.scale is not None):
        largest = loaded[scale]
        running = append(RunningMax(), (largest,), scale)
        relative = append(Binary("sub"), (largest, running), scale)
        factors[scale] = running, append(Unary("exp"), (relative,), scale)
    for position, join in shares.items():
        if join.scale is not None:
            running, factor = factors[join.scale]
            scaled = append(Binary("mul"), (loaded[position], factor), position)
            at[position] = append(AccumulateRescaled(), (scaled, running), position)
        elif join.fn is not None:
            at[position] = append(Accumulate(join.fn), (loaded[position],), position)
    for position in positions:
        if position not in at:
            node = body.nodes[position]
            at[position] = append(node.op, tuple(at[a] for a in node.args), position)
    return Half(tuple(nodes), tuple(axes), tuple(at[p] for p in outputs), tuple(loads))


def illegal_first_loop(split: Split) -> str:
    """Why no choice of looped axes is legal in the first kernel; empty if some choice is legal."""
    half = split.first
    axes = sorted({a for of in half.axes for a in of if a})
    stores = half.block.nodes
    typed = (*half.axes, *(half.axes[p] for p in half.outputs))
    broken: dict[str, None] = {}
    for looped in (c for size in range(len(axes) + 1) for c in combinations(axes, size)):
        rules = [s for s in loop_states(stores, typed, looped) if not isinstance(s, Flow)]
        if not rules:
            return ""
        broken.setdefault(f"{{{', '.join(looped)}}}: {rules[0]}")
    return "; ".join(broken)


def illegal_second_loop(split: Split) -> str:
    """Why the second kernel's loop over the shares is illegal; empty if it is legal."""
    pair, half = find_split_pair(split.graph), split.second
    assert pair is not None, "two kernels behind a split are a pair"
    typed = (*half.axes, *(half.axes[p] for p in half.outputs))
    partial = [s for s in split.partial if isinstance(s, Flow)]
    for at, state in enumerate(second_kernel_states(half.block.nodes, typed, pair.shares, partial, split.axis)):
        if not isinstance(state, Flow):
            return f"%{at} of the second kernel: {state}"
    return ""


def _two_kernels(graph: SGraph, position: int, first: Half, second: Half) -> SGraph:
    """The kernel graph with one kernel replaced by two."""
    nodes = list(graph.nodes[:position])
    operands = graph.nodes[position].args
    nodes.append(Node(Custom(first.block), tuple(operands[k] for k in first.loads)))
    nodes += [Node(Result(k), (position,)) for k in range(1, len(first.outputs))]
    shares = tuple(range(position, len(nodes)))
    nodes.append(Node(Custom(second.block), (*shares, *(operands[k] for k in second.loads))))
    more = len(nodes) - 1 - position
    for node in graph.nodes[position + 1 :]:
        nodes.append(Node(node.op, tuple(a + more if a >= position else a for a in node.args)))
    return SGraph(tuple(nodes), graph.output + more if graph.output >= position else graph.output)


# ---------------------------------------------------------------- the inverse
def fuse_split_kernels(graph: SGraph, pair: Pair) -> SGraph:
    """The graph with the two kernels of a split fused into the original one; means stay sums and products."""
    first, second = (graph.nodes[p] for p in (pair.first, pair.second))
    assert isinstance(first.op, Custom) and isinstance(second.op, Custom), "a pair is two custom kernels"
    reads = tuple(dict.fromkeys(a for a in (*first.args, *second.args) if a < pair.first))
    made = {Node(Load(k)): k for k in range(len(reads))}

    def append(kernel: Node, block: BlockGraph, at: dict[int, int], left_out: frozenset[int]) -> dict[int, int]:
        """Append a block's operators, except stores and those in `at` or `left_out`; the position of each."""
        for position, node in enumerate(block.nodes[: block.stores[0]]):
            if position not in at and position not in left_out:
                op = Load(reads.index(kernel.args[node.op.operand])) if isinstance(node.op, Load) else node.op
                at[position] = made.setdefault(Node(op, tuple(at[a] for a in node.args)), len(made))
        return at

    block, after = first.op.block, second.op.block
    at = append(first, block, {}, frozenset())
    shares: dict[int, int] = {}
    for share in pair.shares:
        value = at[block.nodes[share.store].args[0]]
        shares.update({share.load: value} if share.complete is None else {share.load: value, share.complete: value})
    joins = frozenset(p for share in pair.shares for p in share.between)
    output = append(second, after, shares, joins)[after.nodes[-1].args[0]]
    kernel = Node(Custom(BlockGraph((), None, _without_unused((*made, Node(Store(), (output,)))))), reads)
    fewer = pair.second - pair.first
    nodes = [*graph.nodes[: pair.first], kernel]
    for node in graph.nodes[pair.second + 1 :]:
        nodes.append(Node(node.op, tuple(a - fewer if a >= pair.second else a for a in node.args)))
    return SGraph(tuple(nodes), graph.output - fewer)


def _without_unused(nodes: tuple[Node, ...]) -> tuple[Node, ...]:
    """A block graph's loads, and the operators that its store depends on."""
    loads = (position for position, node in enumerate(nodes) if isinstance(node.op, Load))
    used = sorted(needed_by(nodes, (len(nodes) - 1, *loads)))
    at = {position: k for k, position in enumerate(used)}
    return tuple(Node(nodes[p].op, tuple(at[a] for a in nodes[p].args)) for p in used)


def unfold_means(operators: Operators, axes: AxisTable) -> Operators:
    """The operators, with those that replace a mean when an axis is split."""
    means = {"mean", "rms"} & {*operators.reductions, *operators.accumulators}
    scales = (Scalar("mul", Fraction(1, n)) for a in axes.axes if (n := a.extent.constant))
    return replace(
        operators,
        unary=tuple(dict.fromkeys((*operators.unary, "square", "sqrt"))) if "rms" in means else operators.unary,
        scalars=tuple(dict.fromkeys((*operators.scalars, *scales))) if means else operators.scalars,
        reductions=tuple(dict.fromkeys((*operators.reductions, "sum"))) if means else operators.reductions,
        accumulators=tuple(dict.fromkeys((*operators.accumulators, "sum"))) if means else operators.accumulators,
    )


def fold_means(graph: SGraph, operators: Operators) -> SGraph:
    """The kernel graph with sums, times 1 / extent, replaced by means if the operators have them.

    The inverse of the replacement of means by a split. A sum that another operator uses stays, too.
    """
    types = graph.types()
    nodes = list(graph.nodes)
    for position, block in graph.customs:
        inside = block_types(block, tuple(types[a] for a in nodes[position].args))
        folded = _without_unused(_fold_means(block.nodes, [t.dims for t in inside], operators))
        nodes[position] = Node(Custom(BlockGraph(block.grid, block.loop, folded)), nodes[position].args)
    return SGraph(tuple(nodes), graph.output)


def _fold_means(nodes: tuple[Node, ...], dims: Sequence[tuple[Dim, ...]], operators: Operators) -> tuple[Node, ...]:
    def mean(position: int, fn: Literal["mean", "rms"]) -> Node | None:
        """The mean that equals a sum times 1 / extent; None if the node is no such product, or the space lacks it."""
        node = nodes[position]
        total = nodes[node.args[0]].op if node.args else None
        if not isinstance(node.op, Scalar) or node.op.fn != "mul" or not isinstance(total, Reduce | Accumulate):
            return None
        known = operators.accumulators if isinstance(total, Accumulate) else operators.reductions
        (source,) = nodes[node.args[0]].args
        extent = dims[source][total.dim].constant if total.dim is not None else None
        if total.fn != "sum" or fn not in known or extent is None or extent * node.op.value != 1:
            return None
        return Node(replace(total, fn=fn), (source,))

    made: list[Node] = []
    for position, node in enumerate(nodes):
        folded = mean(position, "mean")
        if node.op == Unary("sqrt") and (root := mean(node.args[0], "rms")) is not None:
            square = nodes[root.args[0]]
            folded = Node(root.op, square.args) if square.op == Unary("square") else None
        made.append(folded or node)
    return tuple(made)
