"""Enumeration with sizes and maps fixed up front, as Mirage does it: the baseline of symbolic search.

For every custom kernel, the enumeration first fixes a size of each grid dim, a loop range, and for each input the dims
that these partition (imap, fmap). For each such choice it enumerates operators, and chooses the output's map (omap) at
the end. Operators, canonical order, abstract expressions and all other rules are those of the symbolic search, so the
comparison isolates the effect of fixing sizes and maps first.

The baseline is stronger than the original. Maps that partition one axis differently in two tensors are counted in
closed form and not enumerated, since some operator would have tiles that do not fit; the same holds for grid dims on an
axis that the result lacks. A search that enumerates the maps of each tensor visits more states.

Source: Mirage, arXiv 2405.05751, section 4, with its loop ranges; grid sizes as in its saved graphs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import combinations, permutations, product
from math import prod

from prism_explore.errors import ShapeError
from prism_explore.events.journal import Journal
from prism_explore.generate.enumerator import Enumerator
from prism_explore.generate.pruning.facts import Machine
from prism_explore.generate.state import BlockState, KernelState
from prism_explore.ir.axes import AxisNames, axes_of
from prism_explore.ir.axis_maps import AxisUse, grid_map, loop_map
from prism_explore.ir.dims import DimLike, dim
from prism_explore.ir.graph import SGraph
from prism_explore.ir.ops import BlockGraph, Custom, Load, Node, ParallelDim, Store
from prism_explore.ir.program import TensorProgram
from prism_explore.pipeline.search_space import Space

_GRID = "xyz"


@dataclass(frozen=True, slots=True)
class ConcreteSizes:
    """The sizes to try."""

    grid: tuple[int, ...] = (16, 64, 256)
    """Sizes of each grid dim."""
    loop: tuple[int, ...] = (4, 16, 64)

    def __post_init__(self) -> None:
        if any(n < 2 for n in (*self.grid, *self.loop)):
            raise ShapeError(f"sizes start at 2, since a size of 1 partitions nothing; found {self}")


@dataclass(slots=True)
class Counts:
    """Counters of an enumeration, updated while it runs."""

    maps: int = 0
    """All choices of grid sizes, loop range, imaps and fmaps; counted in closed form."""
    searched: int = 0
    """Choices that partition each axis alike in all tensors; operators were enumerated for these."""
    kept: int = 0
    """Operators that were kept, over all choices."""
    omaps: int = 0
    """Output maps that were tried at complete graphs."""
    graphs: int = 0
    """Complete graphs that may compute the program."""
    families: dict[tuple[int, ...], SGraph] = field(default_factory=dict[tuple[int, ...], SGraph])
    """One graph per structure (maps and sizes removed), by canonical number; see `canonical_order.Expressions`."""
    out_of_budget: bool = False
    """Whether a budget ended it."""

    @property
    def states(self) -> int:
        """All visited states; choices that were only counted are excluded."""
        return self.searched + self.kept + self.omaps


def enumerate_concrete(
    program: TensorProgram,
    space: Space,
    target: Machine,
    at: Mapping[str, DimLike],
    sizes: ConcreteSizes,
    counts: Counts,
    *,
    states: int = 1_000_000,
    is_over: Callable[[], bool] = lambda: False,
) -> Iterator[SGraph | None]:
    """Every graph of one custom kernel with the given sizes whose abstract expression equals the program's (A_eq).

    Args:
        program: what is searched.
        space: operators and limits; its budgets of nodes and time are ignored.
        target: the machine.
        at: sizes of the program's symbols.
        sizes: the sizes to try.
        counts: the counters to update.
        states: budget of visited states.
        is_over: whether the time is over.

    Yields:
        A graph with its sizes; None after other steps.

    Raises:
        ShapeError: a symbol has no size, or the space has predefined operators, several custom kernels, or dims that
            match by size: maps are fixed first here, and two axes that are unified later would have two maps.
    """
    if not space.matches_by_axis:
        raise ShapeError("concrete enumeration matches dims by axis; leave the rule shape.mismatch on")
    if space.predefined_kernels or space.custom_kernels != 1:
        raise ShapeError("concrete enumeration takes a space with one custom kernel and no predefined ones")
    graph = program.graph.substitute(at)
    if graph.data_symbols:
        raise ShapeError(f"{program.name}: {', '.join(graph.data_symbols)} has no size; give one for each symbol")
    concrete = replace(program, graph=graph)
    yield from _Enumeration(concrete, space, target, sizes, counts, states, is_over).run()


@dataclass(frozen=True, slots=True)
class _Choice:
    """Grid dims with their sizes and axes, and the loop with its range and axes."""

    grid: tuple[tuple[str, int], ...]
    looped: frozenset[str]
    loop: int


class _Enumeration:
    def __init__(
        self,
        program: TensorProgram,
        space: Space,
        target: Machine,
        sizes: ConcreteSizes,
        counts: Counts,
        states: int,
        is_over: Callable[[], bool],
    ) -> None:
        self.space, self.sizes, self.counts = space, sizes, counts
        self.states, self.is_over = states, is_over
        self.enumerator = Enumerator(program, space, target, Journal())
        self.extents = {
            a.name: a.extent.constant or 1 for a in axes_of(self.enumerator.facts.duplicated.program.graph).axes
        }
        self.result = self.enumerator.facts.output_axes

    def run(self) -> Iterator[SGraph | None]:
        kernel = self.enumerator.facts.start("")
        for operands in self.enumerator.kernel_steps(kernel):
            if not isinstance(operands, tuple):
                continue
            axes = tuple(kernel.tensors[i].axes for i in operands)
            if not isinstance(self.enumerator.expander.open_kernel(kernel, operands), BlockState):
                continue
            self.counts.maps += self.all_maps(axes)
            for choice in self.consistent(axes):
                if self.is_spent():
                    return
                self.counts.searched += 1
                block = self.enumerator.expander.open_kernel(kernel, operands, choice.looped)
                if isinstance(block, BlockState):
                    yield from self.block(kernel, block, choice)

    def is_spent(self) -> bool:
        self.counts.out_of_budget = self.counts.out_of_budget or self.counts.states >= self.states or self.is_over()
        return self.counts.out_of_budget

    # ------------------------------------------------------------ maps
    def all_maps(self, axes: tuple[AxisNames, ...]) -> int:
        """Number of choices of sizes, imaps and fmaps, independent for each tensor, whose sizes divide the dims."""
        total = 0
        for rank in range(1, self.space.grid_dims + 1):
            for sizes in product(self.sizes.grid, repeat=rank):
                for loop in (1, *self.sizes.loop):
                    total += prod(self.of_tensor(a, sizes, loop) for a in axes)
        return total

    def of_tensor(self, axes: AxisNames, sizes: tuple[int, ...], loop: int) -> int:
        """Number of maps of one tensor: each grid dim on a distinct dim or none, the loop on one or none."""
        dims = [self.extents[a] if a else 1 for a in axes]
        found = 0
        for chosen in product(*[(None, *range(len(dims)))] * len(sizes)):
            used = [d for d in chosen if d is not None]
            if len(used) == len(set(used)) and all(
                d is None or dims[d] % s == 0 for d, s in zip(chosen, sizes, strict=True)
            ):
                found += 1
                if loop > 1:
                    left = [
                        n // prod(s for d, s in zip(chosen, sizes, strict=True) if d == k) for k, n in enumerate(dims)
                    ]
                    found += sum(n % loop == 0 for n in left)
        return found

    def consistent(self, axes: tuple[AxisNames, ...]) -> Iterator[_Choice]:
        """The choices that partition each axis alike in all tensors, smallest first."""
        names = list(dict.fromkeys(a for tensor in axes for a in tensor if a))
        for count in range(len(names) + 1):
            for looped in combinations(names, count):
                if any(sum(a in looped for a in tensor) > 1 for tensor in axes):
                    continue
                for loop in self.sizes.loop if looped else (1,):
                    if any(self.extents[a] % loop for a in looped):
                        continue
                    for rank in range(1, self.space.grid_dims + 1):
                        for axes_of_grid in permutations(
                            [a for a in names if a in self.result and a not in looped], rank
                        ):
                            for sizes in product(self.sizes.grid, repeat=rank):
                                grid = tuple(zip(axes_of_grid, sizes, strict=True))
                                if all(self.extents[a] % s == 0 for a, s in grid):
                                    yield _Choice(grid, frozenset(looped), loop)

    # ------------------------------------------------------------ operators
    def block(self, kernel: KernelState, state: BlockState, choice: _Choice) -> Iterator[SGraph | None]:
        if len(state.tensors) >= self.space.block_ops:
            return
        partitioned = {a for a, _ in choice.grid}
        for kept in self.enumerator.try_block_steps(state)[1]:
            if self.is_spent():
                return
            child = kept.state
            if child.reduced & partitioned:
                continue
            self.counts.kept += 1
            yield None
            if self.enumerator.may_close(child) and not self.enumerator.expander.finish_block(child):
                yield from self.close_block(kernel, child, choice)
            yield from self.block(kernel, child, choice)

    def close_block(self, kernel: KernelState, state: BlockState, choice: _Choice) -> Iterator[SGraph]:
        """The complete graph, where an output map fits; all placements of the grid dims on result dims are tried."""
        stored = state.tensors[-1].axes
        self.counts.omaps += prod(range(len(stored), len(stored) - len(choice.grid), -1))
        closed = self.enumerator.close_block(kernel, state)
        if not self.enumerator.facts.is_complete(closed):
            return
        graph = SGraph(tuple(t.node for t in closed.tensors), len(closed.tensors) - 1)
        self.counts.graphs += 1
        self.counts.families.setdefault(self.enumerator.facts.expressions.number_graph(graph), graph)
        yield _with_sizes(graph, state, choice)


def _with_sizes(graph: SGraph, state: BlockState, choice: _Choice) -> SGraph:
    names = dict.fromkeys(a for t in state.tensors for a in t.axes if a)
    grid_dims = {a: n for n, (a, _) in enumerate(choice.grid)}
    uses = tuple(AxisUse(a, grid_dims.get(a), a in choice.looped) for a in names)
    rank = len(choice.grid)
    nodes: list[Node] = []
    for tensor in state.tensors:
        match tensor.node.op:
            case Load(operand):
                load = Load(operand, grid_map(uses, tensor.axes, rank), loop_map(uses, tensor.axes))
                nodes.append(Node(load, tensor.node.args))
            case _:
                nodes.append(tensor.node)
    newest = len(state.tensors) - 1
    nodes.append(Node(Store(grid_map(uses, state.tensors[-1].axes, rank)), (newest,)))
    grid = tuple(ParallelDim(_GRID[n], dim(size)) for n, (_, size) in enumerate(choice.grid))
    loop = ParallelDim("i", dim(choice.loop)) if choice.looped else None
    block = BlockGraph(grid, loop, tuple(nodes))
    last = graph.nodes[-1]
    return SGraph((*graph.nodes[:-1], Node(Custom(block), last.args)), graph.output)
