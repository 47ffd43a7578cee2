"""Split the sums of a whole kernel over blocks, and let a second kernel add up the shares.

A kernel that sums over an axis becomes two. The first cuts the axis by a grid dim, so that each block sees one
part of it, and stores what its sums came to: partial results. The second adds these up, one share per
iteration of its loop, and does what linear operators alone could not do before. Run with a single part, the two
are the kernel they came from. So the programs of two kernels behind a split are found by splitting all programs
of one, in every way:

    axis      any that the kernel sums over
    results   which partial values are stored; everything behind them is done by the second kernel. A linear operator
              may stand on either side, a change of sign or scale by a constant stands behind.

What the second kernel needs and no sum made is computed there anew, from the inputs. A mean over the split axis is
a sum, then a product with one over the extent; a root mean square is the root of the mean of squares.

`ir.splits` says what a block has of each value, `ir.flow` what the loops of both kernels may do. Flash-decoding,
split-K products of matrices and split norms are all of this form.
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
from prism_explore.ir.graph import SGraph, block_types
from prism_explore.ir.ops import (
    Accumulate,
    AccumulateRescaled,
    Band,
    Binary,
    BlockGraph,
    Custom,
    Input,
    Load,
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
    """One way to split a whole kernel graph."""

    axis: str
    stored: tuple[int, ...]
    """Positions in the block graph that is split; of a mean, its sum is meant."""
    graph: SGraph
    """The two kernels."""
    first: Half
    second: Half
    partial: tuple[State, ...]
    """Of the stored results: the state of each in one block of the first kernel."""

    @property
    def label(self) -> str:
        """Its name, with the axis that tells it from its like."""
        return f"split {self.axis}"

    @property
    def text(self) -> str:
        """The step as it is noted."""
        return f"{self.label}({', '.join(f'%{p}' for p in self.stored)})"


def enumerate_splits(
    graph: SGraph,
    axes: Sequence[AxisNames],
    extents: Mapping[str, Dim],
    views: Views,
) -> Iterator[Split]:
    """Every way to split a kernel graph with one custom kernel; axes in order, then results.

    Args:
        graph: a complete kernel graph with open maps.
        axes: of its kernel-level tensors.
        extents: of the axes, in order.
        views: the axes of the program's views.
    """
    if len(graph.customs) != 1:
        return
    position, block = graph.customs[0]
    given = _block_axes(block, tuple(axes[a] for a in graph.nodes[position].args), views)
    if given is None:
        return
    for axis, extent in extents.items():
        inside = _means_as_sums(block, given, axis, extent.constant)
        if inside is None:
            continue
        states = split_states(inside.nodes, inside.axes, axis)
        for wanted, behind in _stored_choices(inside, states):
            shares = _combinations(inside, states, wanted)
            if shares is None:
                continue
            stored = tuple(shares)
            first = _half(inside, _below(inside, stored), stored, {})
            second = _half(inside, behind, (inside.output,), shares)
            both = _two_kernels(graph, position, first, second)
            positions = tuple(inside.origins[p] for p in stored)
            yield Split(axis, positions, both, first, second, tuple(states[p] for p in stored))


# ---------------------------------------------------------------- what is split
@dataclass(frozen=True, slots=True)
class _BlockBody:
    """The operators of a block graph without its store, means over the split axis written as sums."""

    nodes: tuple[Node, ...]
    axes: tuple[AxisNames, ...]
    origins: tuple[int, ...]
    """Per operator, the position that it came from."""
    output: int


def _block_axes(block: BlockGraph, operands: tuple[AxisNames, ...], views: Views) -> tuple[AxisNames, ...] | None:
    """The axes of a block's tensors; None where some operator's result has none that are known."""
    found: list[AxisNames] = []
    for node in block.nodes[: block.stores[0]]:
        match node.op:
            case Load(operand):
                made = operands[operand]
            case op:
                assert not isinstance(op, Input | Band | Custom | Result | Store), "stores come last"
                of = tuple(found[a] for a in node.args)
                made = views.get((op, of)) or compute_axes(op, of)
        if made is None:
            return None
        found.append(made)
    return tuple(found)


def _means_as_sums(block: BlockGraph, axes: tuple[AxisNames, ...], axis: str, extent: int | None) -> _BlockBody | None:
    """The operators of a block, means over the axis as sums; None where its extent is no number to divide by."""
    made: dict[Node, int] = {}
    kept: list[tuple[AxisNames, int]] = []
    at: list[int] = []

    def put(op: Op, args: tuple[int, ...], of: AxisNames) -> int:
        node = Node(op, args)
        if node not in made:
            made[node] = len(made)
            kept.append((of, len(at)))
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
                    put(Accumulate("max", op.dim), args, of)
                at.append(put(op, args, of))
                continue
        if extent is None:
            return None
        if fn == "rms":
            args = (put(Unary("square"), args, axes[node.args[0]]),)
        mean = put(Scalar("mul", Fraction(1, extent)), (put(total, args, of),), of)
        at.append(put(Unary("sqrt"), (mean,), of) if fn == "rms" else mean)
    return _BlockBody(tuple(made), tuple(a for a, _ in kept), tuple(p for _, p in kept), at[block.nodes[-1].args[0]])


def _stored_choices(inside: _BlockBody, states: Sequence[State]) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Which partial values are stored, and what is computed behind them; each choice once."""
    left = [(frozenset({inside.output}), frozenset[int](), frozenset[int]())]
    while left:
        needed, stored, behind = left.pop()
        if not needed:
            if stored:
                yield tuple(sorted(stored)), tuple(sorted(behind))
            continue
        top = max(needed)
        node, rest = inside.nodes[top], needed - {top}
        partial = _is_partial(states[top])
        sums = partial and not any(_is_partial(states[a]) for a in node.args)
        if not partial or not (sums or isinstance(node.op, Accumulate | AccumulateRescaled)):
            left.append((rest | frozenset(node.args), stored, behind | {top}))
        if partial and not isinstance(node.op, Unary | Scalar):
            left.append((rest, stored | {top}, behind))


def _is_partial(state: State) -> bool:
    return isinstance(state, Flow) and state.partial


@dataclass(frozen=True, slots=True)
class _Combination:
    """How shares become whole."""

    fn: Literal["sum", "max"] | None
    """What accumulates them; None where nothing is made of them but what others are scaled by."""
    scale: int | None = None
    """The position of the maximum that sums are relative to."""


def _combinations(inside: _BlockBody, states: Sequence[State], wanted: Sequence[int]) -> dict[int, _Combination] | None:
    """What is stored so that some partial values are known behind, in order; None where scaling cannot join them."""
    found: dict[int, _Combination] = {}
    for position in wanted:
        state = states[position]
        assert isinstance(state, Flow), "what is partial is legal"
        if state.depends_on_max is None:
            found[position] = _Combination("max" if state.largest else "sum")
            continue
        if not state.depends_on_max.factor or state.depends_on_max.degree != -1:
            return None
        running = inside.nodes[state.depends_on_max.name]
        assert isinstance(running.op, RunningMax), "values move with running maxima"
        scale = inside.nodes.index(Node(Accumulate("max", running.op.dim), running.args))
        found.setdefault(scale, _Combination("max" if scale in wanted else None))
        found[position] = _Combination("sum", scale)
    return dict(sorted(found.items()))


def _below(inside: _BlockBody, stored: tuple[int, ...]) -> tuple[int, ...]:
    """What some operators are computed from, themselves included."""
    found = set(stored)
    for position in range(max(stored), -1, -1):
        if position in found:
            found.update(inside.nodes[position].args)
    return tuple(sorted(found))


# ---------------------------------------------------------------- the two halves
@dataclass(frozen=True, slots=True)
class Half:
    """One of the two block graphs, without its stores."""

    nodes: tuple[Node, ...]
    axes: tuple[AxisNames, ...]
    outputs: tuple[int, ...]
    loads: tuple[int, ...]
    """What it loads behind the partial results: operands of the kernel that is split."""

    @property
    def block(self) -> BlockGraph:
        """With its stores, maps open."""
        return BlockGraph((), None, (*self.nodes, *(Node(Store(), (p,)) for p in self.outputs)))


def _half(
    inside: _BlockBody, positions: Sequence[int], outputs: Sequence[int], shares: Mapping[int, _Combination]
) -> Half:
    """Some of the operators as a block graph of their own; `shares` are loaded and joined, not computed."""
    given = [p for p in positions if isinstance(inside.nodes[p].op, Load)]
    loads = [op.operand for p in given if isinstance(op := inside.nodes[p].op, Load)]
    nodes = [Node(Load(k)) for k in range(len(shares) + len(given))]
    axes = [inside.axes[p] for p in (*shares, *given)]
    at = {position: k for k, position in enumerate(given, len(shares))}
    loaded = {position: k for k, position in enumerate(shares)}

    def put(op: Op, args: tuple[int, ...], like: int) -> int:
        nodes.append(Node(op, args))
        axes.append(inside.axes[like])
        return len(nodes) - 1

    factors: dict[int, tuple[int, int]] = {}
    for scale in dict.fromkeys(join.scale for join in shares.values() if join.scale is not None):
        largest = loaded[scale]
        running = put(RunningMax(), (largest,), scale)
        relative = put(Binary("sub"), (largest, running), scale)
        factors[scale] = running, put(Unary("exp"), (relative,), scale)
    for position, join in shares.items():
        if join.scale is not None:
            running, factor = factors[join.scale]
            scaled = put(Binary("mul"), (loaded[position], factor), position)
            at[position] = put(AccumulateRescaled(), (scaled, running), position)
        elif join.fn is not None:
            at[position] = put(Accumulate(join.fn), (loaded[position],), position)
    for position in positions:
        if position not in at:
            node = inside.nodes[position]
            at[position] = put(node.op, tuple(at[a] for a in node.args), position)
    return Half(tuple(nodes), tuple(axes), tuple(at[p] for p in outputs), tuple(loads))


def illegal_first_loop(split: Split) -> str:
    """Why no choice of looped axes is legal in the first kernel; empty where some choice is."""
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
    """Why the second kernel's loop over the shares is illegal; empty where it is legal."""
    pair, half = find_split_pair(split.graph), split.second
    assert pair is not None, "two kernels behind a split are a pair"
    typed = (*half.axes, *(half.axes[p] for p in half.outputs))
    partial = [s for s in split.partial if isinstance(s, Flow)]
    for at, state in enumerate(second_kernel_states(half.block.nodes, typed, pair.shares, partial, split.axis)):
        if not isinstance(state, Flow):
            return f"%{at} of the second kernel: {state}"
    return ""


def _two_kernels(graph: SGraph, position: int, first: Half, second: Half) -> SGraph:
    """The kernel graph with two kernels in one's place."""
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


# ---------------------------------------------------------------- and back
def fuse_split_kernels(graph: SGraph, pair: Pair) -> SGraph:
    """The one kernel that two behind a split are with a single share; a mean in it stays a sum and a product."""
    first, second = (graph.nodes[p] for p in (pair.first, pair.second))
    assert isinstance(first.op, Custom) and isinstance(second.op, Custom), "a pair is two custom kernels"
    reads = tuple(dict.fromkeys(a for a in (*first.args, *second.args) if a < pair.first))
    made = {Node(Load(k)): k for k in range(len(reads))}

    def put(kernel: Node, block: BlockGraph, at: dict[int, int], left_out: frozenset[int]) -> dict[int, int]:
        """Append a block's operators, but for stores and those that `at` knows; where each is."""
        for position, node in enumerate(block.nodes[: block.stores[0]]):
            if position not in at and position not in left_out:
                op = Load(reads.index(kernel.args[node.op.operand])) if isinstance(node.op, Load) else node.op
                at[position] = made.setdefault(Node(op, tuple(at[a] for a in node.args)), len(made))
        return at

    block, after = first.op.block, second.op.block
    at = put(first, block, {}, frozenset())
    given: dict[int, int] = {}
    for share in pair.shares:
        value = at[block.nodes[share.store].args[0]]
        given.update({share.load: value} if share.complete is None else {share.load: value, share.complete: value})
    joins = frozenset(p for share in pair.shares for p in share.between)
    output = put(second, after, given, joins)[after.nodes[-1].args[0]]
    kernel = Node(Custom(BlockGraph((), None, _without_unused((*made, Node(Store(), (output,)))))), reads)
    fewer = pair.second - pair.first
    nodes = [*graph.nodes[: pair.first], kernel]
    for node in graph.nodes[pair.second + 1 :]:
        nodes.append(Node(node.op, tuple(a - fewer if a >= pair.second else a for a in node.args)))
    return SGraph(tuple(nodes), graph.output - fewer)


def _without_unused(nodes: tuple[Node, ...]) -> tuple[Node, ...]:
    """A block graph's operators, but for those of which nothing is made, as of a maximum that only scaled shares."""
    used = {len(nodes) - 1}
    for position in range(len(nodes) - 1, -1, -1):
        if position in used or isinstance(nodes[position].op, Load):
            used |= {position, *nodes[position].args}
    at = {position: k for k, position in enumerate(sorted(used))}
    return tuple(Node(nodes[p].op, tuple(at[a] for a in nodes[p].args)) for p in sorted(used))


def unfold_means(operators: Operators, axes: AxisTable) -> Operators:
    """The operators, and those that take a mean's place where an axis is split."""
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
    """A kernel graph whose sums, times one over their extent, are means again, where the operators have them.

    The inverse of what a split makes of means; a sum that something else uses stays as well.
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
        """What a sum times one over its extent is; None where it is no such, or of what the operators have not."""
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
