"""Code for a candidate that was derived from a proved one, after a proof of its own."""

from __future__ import annotations

from collections.abc import Mapping

from prism_explore.codegen import emit_cpu
from prism_explore.events.journal import Journal
from prism_explore.pipeline.stages import Candidate, Kernel, Parameters, Verified
from prism_explore.verify.prover import Prover


def proved_kernel(candidate: Candidate, parameters: Parameters, shapes: Mapping[str, int], seed: int) -> Kernel | None:
    """The kernel of a candidate; None where it is not proved, or no code is possible.

    Args:
        candidate: with closed maps.
        parameters: sizes and schedule of the kernel.
        shapes: values of the program's own symbols.
        seed: of the refuter.
    """
    verdict = Prover(candidate.family.program).verify(candidate, Journal(), seed)
    if not isinstance(verdict, Verified):
        return None
    made = emit_cpu(verdict, parameters, shapes)
    return made if isinstance(made, Kernel) else None
