"""Candidates for every workload, right ones in the best known forms and wrong ones that look like them.

R1 to R10 are the forms that others found or wrote by hand: RMSNorm and linear R1, its MLP R2, gated MLP R3,
LoRA R4, nTrans R5, attention in one kernel R6, split over keys in two R7, normalised queries R8, a norm
behind a contraction R9, online softmax R10.
"""

from dataclasses import replace

from tests.verify import workloads_attention, workloads_laws, workloads_linear
from tests.verify.workloads_base import Entry, program_of, sgraph_of

OPEN: dict[str, tuple[str, str]] = {}
"""Right candidates that are still unknown: the limit that is given, and what it would take."""

ENTRIES: tuple[Entry, ...] = tuple(
    replace(e, needs=OPEN[e.name][0]) if e.name in OPEN else e
    for e in (*workloads_linear.ENTRIES, *workloads_attention.ENTRIES, *workloads_laws.ENTRIES)
)
RIGHT = tuple(e for e in ENTRIES if e.right)
WRONG = tuple(e for e in ENTRIES if not e.right)

__all__ = ["ENTRIES", "OPEN", "RIGHT", "WRONG", "Entry", "program_of", "sgraph_of"]
