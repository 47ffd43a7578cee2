"""`mem.smem`: tiles that exceed the shared memory of a block, however finely grid and loop partition them."""

from __future__ import annotations

from prism_explore.generate.pruning.rule import Checks, Failure, PruningRule
from prism_explore.generate.pruning.steps import BlockStep
from prism_explore.ir.ops import Binary, Scalar, Unary, ViewOp
from prism_explore.ir.tensors import BYTES


def _fits(step: BlockStep) -> Failure | None:
    """Whether the smallest tiles fit under some choice of looped axes; reduces the legal choices.

    Only the new operator is tested, unless it changes which axes can be partitioned: then all operators are.
    """
    state, reduced, limit_bytes = step.state, step.reduced, step.facts.target.shared_memory_bytes
    first = 0 if reduced != state.reduced or state is not step.before else len(state.tensors)
    fits: set[int] = set()
    worst = (0, "")
    for c in sorted(step.legal):
        unpartitioned = reduced - state.choices[c]
        largest = max(_tiles_at(step, i, unpartitioned) for i in range(first, len(step.tensors)))
        if largest[0] <= limit_bytes:
            fits.add(c)
        worst = max(worst, largest)
    if step.legal and not fits:
        common = {"largest tiles": worst[1], "shared memory": f"{limit_bytes} B"}
        return Failure("e ≤ shared memory", f"{worst[0]} B", shared_symbols=common)
    step.legal = frozenset(fits)
    return None


def _tiles_at(step: BlockStep, position: int, unpartitioned: frozenset[str]) -> tuple[int, str]:
    """The bytes of the two largest tiles of an operator, each partitioned as much as possible, and their positions."""
    tensors, extents = step.tensors, step.facts.extents
    node = tensors[position].node
    needed = set(node.args)
    if not isinstance(node.op, Unary | Scalar | Binary | ViewOp):
        needed.add(position)
    tiles: list[tuple[int, int]] = []
    for i in sorted(needed):
        size_bytes = BYTES[tensors[i].dtype]
        for a in tensors[i].axes:
            if a in unpartitioned:
                size_bytes *= extents[a].constant or 1
        tiles.append((size_bytes, i))
    top = sorted(tiles, reverse=True)[:2]
    return sum(size_bytes for size_bytes, _ in top), " and ".join(f"%{i}" for _, i in top)


SHARED_MEMORY = PruningRule(
    "mem.smem",
    "Two tiles that are needed at once exceed the shared memory, however finely grid and loop cut.",
    "A lower bound: a block's tensors are in shared memory, and a reduced axis that the loop does not partition is "
    "complete in every block.",
    "the target had more shared memory",
    checks=Checks(block=_fits),
    restricts="maps",
)
