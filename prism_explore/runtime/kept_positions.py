"""A proved kernel with one more input, a mask of the positions of a dim that its maxima read.

An attention without a mask computes something else where keys are added, whatever these hold. So its kernel for larger
sizes has a mask (`ir/transforms/kept_positions.py`), which is made in the call and keeps the keys of the call. It is
proved equal to the program with the mask, of which the program without one is the instance that keeps all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from prism_explore.errors import PrismError
from prism_explore.ir.analysis.padding import padding_of
from prism_explore.ir.transforms.kept_positions import with_kept_positions
from prism_explore.pipeline.stages import Candidate, Family, Kernel
from prism_explore.runtime.proved_kernel import proved_kernel


def with_masks(kernel: Kernel, symbols: Sequence[str], seed: int = 0) -> tuple[Kernel, tuple[str, ...]]:
    """A kernel of a program, with masks along those of its symbols along which it can then be padded.

    Args:
        kernel: of the program.
        symbols: along which the program cannot be padded without a mask.
        seed: of the refuter.

    Returns:
        The kernel of the program with masks, proved, and the sizes of the masks, which are its last inputs; the kernel
        itself and no sizes where there is none.
    """
    made, along = kernel, list[str]()
    for symbol in symbols:
        masked = _with_mask(made, symbol, seed)
        if masked is not None:
            made, along = masked, [*along, symbol]
    return made, tuple(along)


def _with_mask(kernel: Kernel, symbol: str, seed: int) -> Kernel | None:
    candidate, program = kernel.verified.candidate, kernel.verified.candidate.family.program
    masked = with_kept_positions(program.graph, symbol)
    if masked is None or isinstance(padding_of(masked, symbol), str):
        return None
    try:
        open_graph = with_kept_positions(candidate.family.sgraph, symbol)
        graph = with_kept_positions(candidate.sgraph, symbol)
        if open_graph is None or graph is None:
            return None
        own = replace(program, graph=masked, lines=())
        found = Candidate(
            candidate.id, Family(candidate.family.id, own, open_graph), graph, candidate.uses, graph.conditions()
        )
        return proved_kernel(found, kernel.parameters, dict(kernel.shapes), seed)
    except PrismError:  # a tile of the mask does not fit
        return None
