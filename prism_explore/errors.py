"""Exceptions of the package, with one base.

Outcomes of a search (a pruned region, a verdict, an infeasible kernel) are values, never exceptions. The message of an
exception says what was found, what was expected, where, and what to do next.
"""


class PrismError(Exception):
    """Base of all exceptions that this package raises on purpose.

    Example:
        >>> import prism_explore as px
        >>> issubclass(px.ShapeError, px.PrismError)
        True
    """


class ShapeError(PrismError):
    """Dims, maps or arguments do not fit together; fix the program or the inputs.

    Example:
        >>> import prism_explore as px
        >>> px.T("b", -1)
        Traceback (most recent call last):
            ...
        prism_explore.errors.ShapeError: ...
    """


class PositionError(ShapeError):
    """An integer is no position in the dim that a kernel looks up, or too large a number for it.

    Calls with torch code run that instead.
    """


class ParseError(PrismError):
    """A text is not in the form that `prism_explore.ir.text` prints.

    Example:
        >>> import prism_explore as px
        >>> px.parse("no graph")
        Traceback (most recent call last):
            ...
        prism_explore.errors.ParseError: ...
    """


class UnsupportedOperator(PrismError):
    """A torch operator is not supported; the message says where it is used, and what leaves it to torch.

    Example:
        >>> import torch
        >>> import prism_explore as px
        >>> px.Session(lambda x: torch.fft.fft(x), x=px.T("b", 8))
        Traceback (most recent call last):
            ...
        prism_explore.errors.UnsupportedOperator: ...
    """


class TargetUnavailable(PrismError):
    """The named machine is unknown, or cannot run kernels from this process.

    Example:
        >>> import prism_explore as px
        >>> px.target("abacus")
        Traceback (most recent call last):
            ...
        prism_explore.errors.TargetUnavailable: ...
    """


class JournalVersionError(PrismError):
    """A saved search was written in a form that this version does not read.

    Example:
        >>> import prism_explore as px
        >>> px.load("/dev/null")
        Traceback (most recent call last):
            ...
        prism_explore.errors.JournalVersionError: ...
    """
