"""What a caller can get wrong: five exceptions, one base.

Outcomes of a search (a cut, a verdict, an infeasible kernel) are values, never exceptions. An
exception from here says what was found, what was expected, where, and what to do next.
"""


class PrismError(Exception):
    """Base of everything this package raises on purpose."""


class ShapeError(PrismError):
    """Dims, maps or arguments do not fit together; fix the program or the inputs."""


class ParseError(PrismError):
    """A text is not in the form that `prism_explore.ir.text` prints."""


class UnsupportedOperator(PrismError):
    """A torch operator has no counterpart here; the message lists those that have."""


class TargetUnavailable(PrismError):
    """The named machine is unknown, or cannot run kernels from this process."""


class JournalVersionError(PrismError):
    """A saved search was written in a form that this version does not read."""
