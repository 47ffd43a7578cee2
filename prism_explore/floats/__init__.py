"""Floats are not reals: whether what was proved equal over the reals may be trusted in a machine's arithmetic.

See README.md. The stage tests and audits; it proves nothing, and the prover knows nothing of it.
"""

from prism_explore.floats.assess import Assessment, Assessor, Evidence, Safe, Unassessed, Unsafe, assess, explain

__all__ = ["Assessment", "Assessor", "Evidence", "Safe", "Unassessed", "Unsafe", "assess", "explain"]
