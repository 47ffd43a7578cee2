"""Graphs that run on the same inputs, one after the other: what several compute alike is computed once.

A value is known by how it is made: by its operator and the values that it takes, inside a kernel also by the numbers
that grid and loop have there. So two candidates whose kernels load, multiply or reduce the same tiles share the arrays,
whatever else they do. Values mean what `together` says; what is kept is bounded.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial
from math import prod
from typing import TypeAlias

from prism_explore.errors import ShapeError
from prism_explore.ir.dims import ONE, Dim, in_symbols
from prism_explore.ir.evaluate import Array, apply
from prism_explore.ir.ops import (
    Accumulate,
    AccumulateRescaled,
    Band,
    ComputeOp,
    Custom,
    Expand,
    Input,
    Load,
    LoopOp,
    Reshape,
    Result,
    RunningMax,
    Slice,
    Store,
)
from prism_explore.ir.sgraph import BlockGraph, SGraph, block_types, op_sizes
from prism_explore.ir.tensors import TensorType
from prism_explore.ir.together import Lanes, lanes_of, overlaps

Numbers: TypeAlias = Callable[[BlockGraph, Sequence[tuple[int, ...]]], Mapping[str, int]]
"""Numbers for all symbols of a block graph, by the shapes of its kernel's operands."""


class Shared:
    """The values of graphs on the same inputs, each once."""

    def __init__(
        self, program: SGraph, numbered: SGraph, values: Sequence[Array], sizes: Mapping[str, int], most: int
    ) -> None:
        """Begin with what a program gives.

        Args:
            program: a graph without custom kernels, as it was written.
            numbered: the same graph at the extents that its tensors have here, which need not be those.
            values: every one of these tensors.
            sizes: numbers for the symbols in its dims.
            most: so many elements are kept beside the program's.
        """
        self._sizes, self._most, self._elements = sizes, most, 0
        self._ids: dict[tuple[object, ...], int] = {}
        self.values: list[Array] = []
        self._inputs: dict[str, int] = {}
        self._numbered: dict[tuple[object, ...], ComputeOp] = {}
        """What an operator that names extents is here, by the shape of what it takes."""
        ids: list[int] = []
        for node, here, value in zip(program.nodes, numbered.nodes, values, strict=True):
            if isinstance(here.op, Reshape | Expand | Slice):
                self._numbered[node.op, self.values[ids[node.args[0]]].shape] = here.op
            key = node.op, *(ids[a] for a in node.args)
            if key not in self._ids:
                self._ids[key] = len(self.values)
                self.values.append(value)
            ids.append(self._ids[key])
            if isinstance(node.op, Input):
                self._inputs[node.op.name] = ids[-1]
        self.program = ids[program.output]
        """The value that is the program's result."""
        self._first = len(self.values)
        self.judged: dict[int, float] = {}
        """What the caller found out about a value; forgotten with it."""

    def run(self, graph: SGraph, numbers: Numbers) -> int:
        """The value that is a graph's result.

        Raises:
            ShapeError: a tile is not whole, maps are open, tiles fall on one another, or an operator names extents in
                numbers, which are not those of these inputs.
            ValueError: extents do not fit each other.
        """
        if self._elements > self._most:
            self._forget()
        ids: list[int] = []
        results: dict[int, list[int]] = {}
        for position, node in enumerate(graph.nodes):
            match node.op:
                case Input(name, _):
                    ids.append(self._inputs[name])
                case Custom(block):
                    args = [ids[a] for a in node.args]
                    known = numbers(block, [self.values[a].shape for a in args])
                    types = partial(_types, graph, position, block)
                    results[position] = self._block(block, args, lanes_of(block, known), types)
                    ids.append(results[position][0])
                case Result(index):
                    ids.append(results[node.args[0]][index])
                case Load() | Store() | Accumulate() | AccumulateRescaled() | RunningMax():
                    raise AssertionError("SGraph refuses block-level operators")
                case op:
                    ids.append(self._kernel_level(op, [ids[a] for a in node.args]))
        return ids[graph.output]

    def _kernel_level(self, op: Band | ComputeOp, args: list[int]) -> int:
        key = op, *args
        known = self._ids.get(key)
        if known is not None:
            return known
        if isinstance(op, Band):
            raise ShapeError("a band that the program does not have")
        values = [self.values[a] for a in args]
        here = self._numbered.get((op, values[0].shape))
        if here is None:
            _sizes(op, self._sizes)
        return self._keep(key, apply(here or op, values, self._sizes))

    def _block(
        self, block: BlockGraph, operands: list[int], lanes: Lanes, types: Callable[[], tuple[TensorType, ...]]
    ) -> list[int]:
        """The values that a block graph's stores give; its types are asked where it names extents in numbers."""
        values, find = self.values, self._ids.get
        typed: tuple[TensorType, ...] = ()
        ids: list[int] = []
        stored: list[int] = []
        for node in block.nodes:
            match node.op:
                case Load(operand, imap, fmap) as load:
                    if imap is None:
                        raise ShapeError("this sGraph's maps are still open; evaluate one of its candidates")
                    source = operands[operand]
                    key: tuple[object, ...] = imap, fmap, lanes.grid, lanes.iterations, source
                    if (known := find(key)) is None:
                        known = self._keep(key, lanes.tile(load, values[source]))
                case Store() as store:
                    if overlaps(store):
                        raise ShapeError("tiles fall on one another")
                    (source,) = node.args
                    key = store, lanes.grid, ids[source]
                    if (known := find(key)) is None:
                        known = self._keep(key, lanes.laid(store, values[ids[source]]))
                    stored.append(known)
                case Input() | Band() | Custom() | Result():
                    raise AssertionError("no kernel-level operator in a block")
                case Reshape() as op:
                    (source,) = node.args
                    value = values[ids[source]]
                    typed = typed or types()
                    wanted = _dims(op, typed, source, value.shape[lanes.lead :], lanes.sizes)
                    key = Reshape, ids[source], *wanted
                    if (known := find(key)) is None:
                        known = self._keep(key, value.reshape((*value.shape[: lanes.lead], *wanted)))
                case op:
                    args = [ids[a] for a in node.args]
                    key = op, *args, *_sizes(op, lanes.sizes)
                    if (known := find(key)) is None:
                        known = self._keep(key, lanes.apply(op, [values[a] for a in args]))
            ids.append(known)
        return stored

    def _keep(self, key: tuple[object, ...], value: Array) -> int:
        self._ids[key] = len(self.values)
        self.values.append(value)
        self._elements += value.size if value.base is None else 0
        return self._ids[key]

    def _forget(self) -> None:
        """All but the program's values."""
        self._elements = 0
        del self.values[self._first :]
        self._ids = {key: n for key, n in self._ids.items() if n < self._first}
        self.judged.clear()


def _types(graph: SGraph, position: int, block: BlockGraph) -> tuple[TensorType, ...]:
    types = graph.types()
    return block_types(block, tuple(types[a] for a in graph.nodes[position].args))


def _sizes(op: ComputeOp | LoopOp, sizes: Mapping[str, int]) -> tuple[int, ...]:
    """The numbers of the sizes that an operator names, each of which must mean itself at all extents."""
    if not isinstance(op, Reshape | Expand | Slice):
        return ()
    if not all(_means_itself(d) for d in op_sizes(op)):
        raise ShapeError("extents are named in numbers")
    return tuple(d.value(sizes) for d in op_sizes(op))


def _means_itself(d: Dim) -> bool:
    return d.is_one or in_symbols(d)


def _dims(
    op: Reshape, types: tuple[TensorType, ...], source: int, shape: tuple[int, ...], sizes: Mapping[str, int]
) -> tuple[int, ...]:
    """The extents of a reshape's dims, by those of what it takes.

    Of several dims that belong together, those that name symbols mean themselves, and one more follows.
    """
    found: list[int] = []
    for ours, theirs in _groups(types[source].dims, op.dims):
        whole = prod(shape[n] for n in ours)
        numbers = [d.value(sizes) if of_symbols else 0 for d, of_symbols in theirs]
        if numbers.count(0) > 1:
            raise ShapeError("extents are named in numbers")
        rest, left = divmod(whole, prod(n for n in numbers if n))
        if left or (rest > 1 and 0 not in numbers):
            raise ShapeError(f"{whole} elements in dims of {numbers}")
        found += [n or rest for n in numbers]
    numbered = iter(found)
    return tuple(1 if d.is_one else next(numbered) for d in op.dims)


@lru_cache(4096)
def _groups(
    ours: tuple[Dim, ...], theirs: tuple[Dim, ...]
) -> tuple[tuple[tuple[int, ...], tuple[tuple[Dim, bool], ...]], ...]:
    """The fewest dims of both sides that have one product, from the first on: ours by position, without those of 1.

    With each of theirs comes whether it means itself, as a dim alone need not, which is the other.
    """
    open_ours = [(n, d) for n, d in enumerate(ours) if not d.is_one]
    open_theirs = [d for d in theirs if not d.is_one]
    groups: list[tuple[tuple[int, ...], tuple[tuple[Dim, bool], ...]]] = []
    while open_ours or open_theirs:
        taken, given = _together([d for _, d in open_ours], open_theirs)
        here = tuple((d, given > 1 and in_symbols(d)) for d in open_theirs[:given])
        groups.append((tuple(n for n, _ in open_ours[:taken]), here))
        open_ours, open_theirs = open_ours[taken:], open_theirs[given:]
    return tuple(groups)


def _together(ours: list[Dim], theirs: list[Dim]) -> tuple[int, int]:
    """How many dims of either side, from the first on, have one product; all where no fewer do."""
    products: dict[Dim, int] = {}
    product = ONE
    for n, d in enumerate(ours, 1):
        product = product * d
        products.setdefault(product, n)
    product = ONE
    for n, d in enumerate(theirs, 1):
        product = product * d
        if product in products:
            return products[product], n
    return len(ours), len(theirs)
