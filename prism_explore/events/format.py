"""Verdicts and times as text, the same in every table, picture and sentence."""

from __future__ import annotations

from prism_explore.events.kinds import SearchForked, TuningEnded, VerdictReached


def count_text(count: int, one: str, several: str) -> str:
    """A number with its noun.

    >>> count_text(1, "family", "families"), count_text(1200, "family", "families")
    ('1 family', '1,200 families')
    """
    return f"{count:,} {one if count == 1 else several}"


def programs_text(count: float) -> str:
    """A number of programs: exact below a million, else with three digits, because most of these are estimates.

    The text does not depend on the rounding of logarithms, so that the browser makes the same.

    >>> programs_text(12_345.0), programs_text(3_826_790_610_178_433_089_536.0)
    ('12,345', '3.83·10²¹')
    """
    if not 999_500 <= count < float("inf"):
        return f"{count:,.0f}"
    exponent = len(str(int(count))) - 1
    digits = round(count / float(f"1e{exponent - 2}"))
    if digits == 1000:
        digits, exponent = 100, exponent + 1
    return f"{digits // 100}.{digits % 100:02d}·10{str(exponent).translate(_SUPERSCRIPTS)}"


def factor_text(factor: float) -> str:
    """A factor with three digits, or all digits before the point.

    >>> factor_text(1.978), factor_text(1081.2)
    ('1.98×', '1,081×')
    """
    return f"{factor:,.0f}×" if factor >= 999.5 else f"{factor:.3g}×"


def definition_text(symbol: str, value: str) -> str:
    """A symbol of a reason with its value, in which the symbol may be named already.

    >>> definition_text("e", "e = x, e' = y")
    "e = x, e' = y"
    >>> definition_text("add(%0, %1)", "e = x, e' = y")
    "add(%0, %1): e = x, e' = y"
    >>> definition_text("budget", "4")
    'budget = 4'
    """
    if value.startswith("e = "):
        return value if symbol == "e" else f"{symbol}: {value}"
    return f"{symbol} = {value}"


def verdict_text(event: VerdictReached) -> str:
    """The verdict and the method that decided it, such as `proved by normal form`."""
    return f"{event.verdict} by {event.method}" if event.method else event.verdict


def seconds_text(seconds: float) -> str:
    """A time with three digits and its unit.

    >>> seconds_text(0.000312)
    '312 µs'
    """
    factor, unit = next((u for u in _UNITS if seconds * u[0] >= 0.9995), _UNITS[-1])
    value = seconds * factor
    return f"{value:.0f} {unit}" if value >= 99.95 else f"{value:.3g} {unit}"


def parse_seconds(text: str) -> float:
    """The inverse of `seconds_text`, to its three digits.

    It reads the bound of a pruned region, which events store as text only.

    >>> parse_seconds("312 µs")
    0.000312
    """
    value, unit = text.split()
    return float(value) / next(factor for factor, name in _UNITS if name == unit)


_SUPERSCRIPTS = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
_UNITS = ((1.0, "s"), (1e3, "ms"), (1e6, "µs"), (1e9, "ns"))


def fork_text(event: SearchForked) -> str:
    """Where a search was forked, as a sentence."""
    if not event.at:
        changes = ", ".join(event.changes)
        return f"{event.fork} searches the program of {event.parent} with other settings: {changes}"
    moved = f" (event {event.requested:,} lies within a step)" if event.requested else ""
    note = f": {event.note}" if event.note else ""
    return f"{event.fork} was forked from {event.parent} at event {event.at:,}{moved}{note}"


def why_tuning_ended(ended: TuningEnded) -> str:
    """Why a run of trials ended, as a clause.

    Args:
        ended: the event.

    Example:
        >>> why_tuning_ended(TuningEnded("patience", 7, 6, gain=0.02))
        '6 trials in a row gained less than 2 %'
    """
    match ended.why:
        case "trials":
            return f"{count_text(int(ended.limit), 'trial was', 'trials were')} allowed"
        case "seconds":
            return f"{ended.limit:g} s were over"
        case "bound":
            return f"the best was within {ended.limit * 100:.0f} % of the lower bound"
        case "limit":
            return f"the best was within {ended.limit * 100:.0f} % of the machine's limit, measured in the same rounds"
        case "patience":
            return f"{count_text(int(ended.limit), 'trial', 'trials')} in a row gained less than {ended.gain * 100:g} %"
