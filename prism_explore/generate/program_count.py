"""The number of partial graphs in a search without pruning rules, in total and after each step.

The size of a subtree depends on few values: at a kernel graph on the number of tensors, the last operator's rank and
the kernels that are left; in a block graph also on its operators. So it is computed without enumeration. Shapes and
loop phases are ignored: every operator is assumed to fit every operand. So a count is an upper estimate of programs.
The counts of all branches of a node add up exactly to the node's own count, and the rows of the ledger to the count
of the space.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from itertools import combinations
from math import comb

from prism_explore.generate.canonical_order import Application, Args, OperatorSet, ProgramCounter, Rank, rank
from prism_explore.generate.state import KernelState, OperatorEntry
from prism_explore.pipeline.search_space import Space

Key = tuple[int, int, int]
"""Of a kernel graph: tensors, predefined operators, custom kernels."""


class ProgramCounts:
    """Counts in the tree of a search without rules."""

    def __init__(self, kernels: OperatorSet[OperatorEntry], blocks: OperatorSet[OperatorEntry], space: Space) -> None:
        self._kernels, self._space = kernels, space
        self._blocks = ProgramCounter(blocks)
        self._ranks: dict[int, tuple[list[Rank], list[Args | None]]] = {}
        self._sums: dict[Key, list[int]] = {}

    def custom_rank(self, operands: Args) -> Rank:
        """The rank of a custom kernel, which is above the predefined operators on the same operands."""
        return rank(operands, len(self._kernels.entries))

    def operand_sets(self, tensors: int) -> Iterator[Args]:
        """Every set of operands of a custom kernel, given the number of tensors."""
        for size in range(1, self._space.block_inputs + 1):
            yield from combinations(range(tensors), size)

    # ------------------------------------------------------------ extensions of a graph
    def extensions(self, state: KernelState) -> int:
        """Graphs that extend a kernel graph, the graph itself not counted."""
        return self._extensions((len(state.tensors), state.predefined, state.customs), state.last)

    def extensions_after_kernel(self, state: KernelState, operands: Args) -> int:
        """Graphs that extend a kernel graph by more than a custom kernel that reads these tensors."""
        return self._extensions(
            (len(state.tensors) + 1, state.predefined, state.customs + 1), self.custom_rank(operands)
        )

    # ------------------------------------------------------------ graphs that begin with a step
    def with_predefined(self, state: KernelState, step: Application) -> int:
        """Graphs that begin with a predefined operator, the shortest included."""
        return 1 + self._extensions((len(state.tensors) + 1, state.predefined + 1, state.customs), step.rank)

    def with_kernel(self, state: KernelState, operands: Args) -> int:
        """Graphs that begin with a custom kernel on these tensors, empty ones included."""
        return self._with_kernel((len(state.tensors), state.predefined, state.customs), operands)

    def block_extensions(self, count: int) -> list[int]:
        """Block graphs that extend one of `count` tensors, itself included, per number of applications possible first.

        An application that is left out is left out of all larger graphs, too.
        """
        return self._blocks.following(count, self._space.block_ops - count)

    # ------------------------------------------------------------ the recursion
    def _with_kernel(self, key: Key, operands: Args) -> int:
        tensors, predefined, customs = key
        blocks = self._blocks.up_to_length(len(operands), max(self._space.block_ops - len(operands), 0))
        behind = (
            self._extensions((tensors + 1, predefined, customs + 1), self.custom_rank(operands)) if blocks > 1 else 0
        )
        return 1 + (blocks - 1) * (1 + behind)

    def _extensions(self, key: Key, last: Rank | None) -> int:
        tensors, predefined, customs = key
        space = self._space
        no_predefined = predefined >= space.predefined_kernels
        if predefined + customs >= space.kernel_ops or (no_predefined and customs >= space.custom_kernels):
            return 0
        if last is None and no_predefined and customs + 1 == space.custom_kernels:
            return self._last_kernels(tensors)
        ranks, _ = self._steps(key[0])
        return self._suffixes(key)[bisect_right(ranks, last) if last is not None else 0]

    def _last_kernels(self, tensors: int) -> int:
        """The custom kernels on `tensors` tensors, where nothing follows a kernel, so that only its loads count.

        Its operand sets are not listed: with 17 tensors there are 131,071.
        """
        return sum(
            comb(tensors, loads) * self._blocks.up_to_length(loads, max(self._space.block_ops - loads, 0))
            for loads in range(1, self._space.block_inputs + 1)
        )

    def _suffixes(self, key: Key) -> list[int]:
        """Per step at such a graph, the number of graphs that begin with it or with a later step."""
        if key not in self._sums:
            tensors, predefined, customs = key
            space = self._space
            more = predefined + customs < space.kernel_ops
            ranks, reads = self._steps(tensors)
            sums = [0] * (len(ranks) + 1)
            for i in range(len(ranks) - 1, -1, -1):
                here, operands = 0, reads[i]
                if more and operands is None and predefined < space.predefined_kernels:
                    here = 1 + self._extensions((tensors + 1, predefined + 1, customs), ranks[i])
                elif more and operands is not None and customs < space.custom_kernels:
                    here = self._with_kernel(key, operands)
                sums[i] = here + sums[i + 1]
            self._sums[key] = sums
        return self._sums[key]

    def _steps(self, tensors: int) -> tuple[list[Rank], list[Args | None]]:
        """The ranks of all steps at a graph of `tensors` tensors, in order, and the operands of custom kernels."""
        if tensors not in self._ranks:
            steps: list[tuple[Rank, Args | None]] = []
            if self._space.predefined_kernels:
                steps += [(a.rank, None) for a in self._kernels.applications(tensors, None)]
            steps += [(self.custom_rank(s), s) for s in self.operand_sets(tensors)]
            steps.sort(key=lambda step: step[0])
            self._ranks[tensors] = [r for r, _ in steps], [s for _, s in steps]
        return self._ranks[tensors]
