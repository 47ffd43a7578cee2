"""Formulas that differ only in constants that are nearly equal, such as 0.70710678 and 1/√2.

Over the real numbers these are different functions, so nothing is proved. The two normal forms are compared with their
numbers taken out; where the rest is the same, the numbers are compared one by one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from importlib import import_module
from typing import Any, TypeAlias

from prism_explore.ir.graph import SGraph
from prism_explore.ir.ops import Scalar
from prism_explore.verify.normal_form.algebra import Algebra
from prism_explore.verify.normal_form.bound_names import NoNormalForm
from prism_explore.verify.normal_form.forms import (
    Bottom,
    Exp,
    Group,
    Max,
    NormalForm,
    Number,
    Opaque,
    Prime,
    Running,
    Term,
)
from prism_explore.verify.normal_form.lower_graph import lower
from prism_explore.verify.normal_form.order import is_step

NEARLY_EQUAL = 1e-6
"""Relative: constants that are written with seven digits differ by less."""
DIGITS = 50
MAX_DENOMINATOR = 1000
"""A constant with a larger denominator counts as rounded."""
SMALL = 12
"""The largest denominator under the roots that are recognized."""

_Value: TypeAlias = Any
"""A number of mpmath, which is untyped."""
_Part: TypeAlias = tuple[str, _Value, tuple[_Value, ...]]
"""A summand: its text without numbers, its coefficient, and the numbers inside of it."""


@dataclass(frozen=True, slots=True)
class NearlyEqual:
    """Two formulas that are the same but for constants."""

    difference: float
    """The largest relative difference of two constants."""
    constants: tuple[tuple[str, ...], tuple[str, ...]]
    """The rounded constants of each side, and what they are near to, such as `0.70710678 (near 1/√2)`."""


def compare_constants(left: SGraph, right: SGraph) -> NearlyEqual | None:
    """Whether two graphs compute the same but for constants; None where they do not, or a form is missing."""
    mp: Any = import_module("mpmath").mp
    for algebra in (Algebra(), Algebra(expand_definitions=True), Algebra(by_order=True)):
        try:
            forms: list[NormalForm] = []
            for graph in (left, right):
                algebra.restart()
                forms.append(lower(graph, algebra).values[graph.output])
        except (NoNormalForm, RecursionError):
            continue
        with mp.workdps(DIGITS):
            (text, a), (other, b) = (_flat(_parts(form, mp)) for form in forms)
            if text != other or len(a) != len(b):
                continue
            worst = max((abs(x - y) / max(abs(x), abs(y)) for x, y in zip(a, b, strict=True)), default=0)
            if worst < NEARLY_EQUAL:
                return NearlyEqual(float(worst), (_rounded(left), _rounded(right)))
    return None


# ---------------------------------------------------------------- forms without numbers
def _parts(n: NormalForm, mp: Any) -> list[_Part]:
    """The summands of a form, in an order that does not depend on the last digits of numbers."""
    return sorted((_part(t, c, mp) for t, c in n.terms), key=lambda p: (p[0], p[1], p[2]))


def _flat(parts: Sequence[_Part]) -> tuple[str, tuple[_Value, ...]]:
    return "+".join(text for text, _, _ in parts), tuple(x for _, c, inside in parts for x in (c, *inside))


def _part(t: Term, coefficient: Number, mp: Any) -> _Part:
    """A summand; what a number multiplies in it is taken out of powers, so that it stands in one place."""
    value = _value(coefficient, mp)
    factors: list[tuple[str, tuple[_Value, ...]]] = []
    for a, e in t.factors:
        match a:
            case Prime(p):
                value *= mp.mpf(p) ** _value(e, mp)
            case Exp(term):
                text, c, inside = _part(term, e, mp)
                factors.append((f"exp({text})", (c, *inside)))
            case Group(inner):
                scale, (text, numbers) = _scaled(inner, mp)
                value *= scale ** _value(e, mp)
                factors.append((f"({text})^{e}", numbers))
            case Opaque(name, (n,)) if is_step(a):
                _, (text, numbers) = _scaled(n, mp)
                factors.append((f"{name}({text})^{e}", numbers))
            case Opaque(name, args):
                factors.append(_joined(name, args, e, mp))
            case Bottom(keep):
                factors.append(_joined("bottom", (keep,), e, mp))
            case Max(operands):
                inside = sorted(_joined(_bound(p.bound), (p.inner,), 1, mp) for p in operands)
                factors.append((f"max({';'.join(x for x, _ in inside)})^{e}", tuple(y for _, ys in inside for y in ys)))
            case Running(v, inner, at):
                factors.append(_joined(f"running {v.key} {at.key}", (inner,), e, mp))
            case _:
                factors.append((f"{a.key}^{e}", ()))
    factors.sort()
    text = _bound(t.bound) + "*".join(text for text, _ in factors)
    return text, value, tuple(x for _, numbers in factors for x in numbers)


def _joined(name: str, args: Iterable[NormalForm], e: Number, mp: Any) -> tuple[str, tuple[_Value, ...]]:
    flat = [_flat(_parts(n, mp)) for n in args]
    return f"{name}({';'.join(text for text, _ in flat)})^{e}", tuple(x for _, numbers in flat for x in numbers)


def _scaled(n: NormalForm, mp: Any) -> tuple[_Value, tuple[str, tuple[_Value, ...]]]:
    """A positive number and the form divided by it: the common factor of rounded numbers means nothing."""
    parts = _parts(n, mp)
    scale = abs(parts[0][1])
    return scale, _flat([(text, c / scale, inside) for text, c, inside in parts])


def _bound(bound: Iterable[Any]) -> str:
    return f"[{','.join(v.key for v in bound)}]"


def _value(x: Number, mp: Any) -> _Value:
    return mp.mpf(x.numerator) / x.denominator


# ---------------------------------------------------------------- constants of a graph
def _rounded(graph: SGraph) -> tuple[str, ...]:
    """The constants of a graph that look rounded, each with what it is near to."""
    values = dict.fromkeys(node.op.value for node in graph.nodes if isinstance(node.op, Scalar))
    return tuple(f"{float(x)!r}{_near(x)}" for x in values if x.denominator > MAX_DENOMINATOR)


def _near(x: Fraction) -> str:
    """The simple number that a constant is near to: a root of a fraction, of a fraction by π, or a multiple of π."""
    mp: Any = import_module("mpmath").mp
    with mp.workdps(DIGITS):
        value = mp.mpf(x.numerator) / x.denominator
        for square, shown in ((value**2, "√{}"), (value**2 * mp.pi, "√({}/π)"), (value / mp.pi, "{}·π")):
            found = Fraction(str(mp.nstr(square, 30))).limit_denominator(SMALL)
            if found.numerator and abs(square - _value(found, mp)) < abs(square) * NEARLY_EQUAL:
                sign = "-" if value < 0 and shown[0] == "√" else ""
                text = f"({found})" if shown == "√{}" and found.denominator > 1 else str(found)
                return f" (near {sign}{shown.format(text)})"
    return ""
