"""Float safety: tests whether a candidate that equals its program over the reals is as accurate in floating point.

It runs tests and static rules, and proves nothing. See README.md.
"""

from prism_explore.floats.assess import Assessment, Assessor, Evidence, Safe, Unassessed, Unsafe, assess, explain

__all__ = ["Assessment", "Assessor", "Evidence", "Safe", "Unassessed", "Unsafe", "assess", "explain"]
