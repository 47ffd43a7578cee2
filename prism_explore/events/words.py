"""Facts and figures in words, the same in every table, picture and sentence."""

from __future__ import annotations

from prism_explore.events.kinds import VerdictReached


def verdict_text(event: VerdictReached) -> str:
    """The verdict and how it came about, such as `proved by normal form`."""
    return f"{event.verdict} by {event.method}" if event.method else event.verdict


def seconds_text(seconds: float) -> str:
    """A time with three digits and its unit.

    >>> seconds_text(0.000312)
    '312 µs'
    """
    units = ((1.0, "s"), (1e3, "ms"), (1e6, "µs"), (1e9, "ns"))
    factor, unit = next((u for u in units if seconds * u[0] >= 0.9995), units[-1])
    value = seconds * factor
    return f"{value:.0f} {unit}" if value >= 99.95 else f"{value:.3g} {unit}"
