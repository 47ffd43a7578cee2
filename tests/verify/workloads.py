"""Candidates for every workload, right ones in the best known forms and wrong ones that look like them.

R1 to R10 are the forms that others found or wrote by hand: RMSNorm and linear R1, its MLP R2, gated MLP R3,
LoRA R4, nTrans R5, attention in one kernel R6, split over keys in two R7, normalised queries R8, a norm
behind a contraction R9, online softmax R10.
"""

from tests.verify.candidate_files import read
from tests.verify.candidates import Entry, program_of, sgraph_of

OPEN: dict[str, tuple[str, str]] = {}
"""Right candidates that are still unknown: the limit that is given, and what it would take."""

ENTRIES: tuple[Entry, ...] = tuple(
    Entry(program, s.form, s.text, s.right, OPEN.get(f"{program}-{s.form}", ("",))[0])
    for name in ("linear", "attention", "laws")
    for s in read(name)
    for program in s.programs
)
RIGHT = tuple(e for e in ENTRIES if e.right)
WRONG = tuple(e for e in ENTRIES if not e.right)
TEXTS = {e.name: e.text for e in ENTRIES}

__all__ = ["ENTRIES", "OPEN", "RIGHT", "TEXTS", "WRONG", "Entry", "program_of", "sgraph_of"]
