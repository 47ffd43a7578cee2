"""Analysis of a block graph before it is lowered: live nodes, dependences on grid dims, loop-invariant code to hoist.

Input: a block graph at given sizes and the lowering options. Output: a `BlockAnalysis`; it is not changed afterwards.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import TypeAlias

from prism_explore.codegen.cpu.layout import concrete_dims
from prism_explore.errors import ShapeError
from prism_explore.ir.graph import block_types, consumers, needed_by, phases
from prism_explore.ir.ops import (
    AccumulateRescaled,
    BlockGraph,
    Concat,
    Expand,
    Load,
    MatMul,
    ParallelDim,
    Permute,
    Reshape,
    RunningMax,
    Slice,
    Store,
)
from prism_explore.ir.tensors import TensorType

PACK_ROWS = 4
"""The left tile of a product with at least this number of rows is packed: copied into the order of its reads."""

View: TypeAlias = Permute | Reshape | Expand | Slice | Concat


@dataclass(frozen=True, slots=True)
class LoweringOptions:
    """Schedule choices that change the loops, not the result."""

    hoist: bool = True
    """Hoist what does not depend on the inner grid dims: once per thread."""
    pack: bool = True
    """Pack the left operand of a product, where the copy is hoisted."""


class BlockAnalysis:
    """Properties of one block graph; nodes and grid dims are named by position."""

    def __init__(
        self, block: BlockGraph, types: tuple[TensorType, ...], stores: Collection[int], options: LoweringOptions
    ) -> None:
        self.block, self.options = block, options
        self.dims = tuple(concrete_dims(t, f"block node %{i}") for i, t in enumerate(block_types(block, types)))
        self.phases = phases(block)
        self.readers = consumers(block.nodes)
        self.needed = needed_by(block.nodes, stores)
        self.iterations = self.size(block.loop) if block.loop else 1
        self.live_grid = tuple(
            p
            for p, g in enumerate(block.grid)
            if self.size(g) > 1 and any(self.omap(store)[p] is not None for store in stores)
        )
        """Grid dims that some store names. Of the others, one point is enough."""
        self.depends = self._dependences()
        """Per node, the live grid dims that it depends on."""
        self.loop_carried = self._loop_carried_nodes()
        self.outer = self._hoisting_dims()

    def is_packable_left(self, position: int) -> bool:
        """Whether a tile is the left operand of a product, with enough rows to be packed."""
        return self.options.pack and any(
            isinstance(self.block.nodes[c].op, MatMul)
            and self.block.nodes[c].args[0] == position
            and self.dims[position][-2] >= PACK_ROWS
            for c in self.readers[position]
        )

    def is_hoisted(self, position: int) -> bool:
        """Whether a thread computes it once for all points of the inner grid dims."""
        return self.outer is not None and self.depends[position] <= self.outer and position not in self.loop_carried

    def omap(self, store: int) -> tuple[int | None, ...]:
        """Per grid dim, the dim of the result that it partitions."""
        op = self.block.nodes[store].op
        assert isinstance(op, Store), "BlockGraph ends with its stores"
        return op.omap or ()

    @staticmethod
    def size(p: ParallelDim) -> int:
        """How many points a grid dim or a loop has."""
        if not p.size.constant:
            raise ShapeError(f"{p.name} has size {p.size}; give every symbol a number")
        return p.size.constant

    def _dependences(self) -> list[frozenset[int]]:
        depends: list[frozenset[int]] = []
        for node in self.block.nodes:
            if isinstance(node.op, Load):
                imap = node.op.imap or ()
                depends.append(frozenset(p for p in self.live_grid if imap[p] is not None))
            elif isinstance(node.op, Store):
                depends.append(frozenset(self.live_grid))
            else:
                depends.append(frozenset[int]().union(*(depends[a] for a in node.args)))
        return depends

    def _loop_carried_nodes(self) -> frozenset[int]:
        """Nodes whose value depends on the previous iteration: they cannot be computed for all iterations at once."""
        found: set[int] = set()
        for position, node in enumerate(self.block.nodes):
            if isinstance(node.op, RunningMax | AccumulateRescaled) or found & set(node.args):
                found.add(position)
        return frozenset(found if self.iterations > 1 else ())

    def _hoisting_dims(self) -> frozenset[int] | None:
        """The grid dims on which hoisted nodes depend; None where none is hoisted."""
        if not self.options.hoist:
            return None
        candidates = [
            self.depends[position]
            for position, node in enumerate(self.block.nodes)
            if position in self.needed
            and position not in self.loop_carried
            and (not isinstance(node.op, Load | Store | View) or self.is_packable_left(position))
            and self.depends[position] < frozenset(self.live_grid)
        ]
        if not candidates:
            return None
        return max(
            sorted(set(candidates), key=lambda s: (len(s), sorted(s))),
            key=lambda s: sum(c <= s for c in candidates),
        )
