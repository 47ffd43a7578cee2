"""Equal forms: expressions that equal a program's result although A_eq does not prove it.

A_eq has no cancellation, because with cancellation every value would be a part of every other. One case is useful:
exponents that numerator and denominator share. exp(x - m) / Σ exp(x - m) = exp(x) / Σ exp(x) for every m, because no
exponential is 0. So a softmax without its maximum is equal in real arithmetic, though not in floating point.

Input: a program. Output: for each value the expression as written, and its other forms. Method: every quotient of the
program gives one more form, without the shared exponents. The enumeration extends a graph while all of its values may
be parts of one form of the result. The form as written is one of them, so no program is lost.

A shared exponent must have the same value in numerator and denominator. In exp(x) / Σ exp(x) a sum of the denominator
binds an axis of x, so x has another value there, although it is written the same.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import product

from prism_explore.generate.abstract_expr.polynomial import Call, Leaf, Mono, Poly, div
from prism_explore.generate.abstract_expr.subexpression import ExpressionBuilder
from prism_explore.ir.axes import AxisNames
from prism_explore.ir.graph import SGraph
from prism_explore.ir.ops import (
    Accumulate,
    AccumulateRescaled,
    Band,
    Binary,
    Custom,
    Input,
    Load,
    Lookup,
    Result,
    RunningMax,
    Store,
)

MOST_FORMS = 4
"""The most forms of one value that are kept, in order of appearance."""


def equal_forms(
    graph: SGraph,
    named: tuple[AxisNames, ...],
    builder: ExpressionBuilder,
    known: Mapping[int, Poly],
    core: Iterable[int],
) -> dict[int, tuple[Poly, ...]]:
    """The forms of each tensor, by position; the form as written comes first.

    Args:
        graph: the program.
        named: the axes of its tensors.
        builder: computes expressions of operators.
        known: the expressions of inputs and bands, by position.
        core: the positions of the tensors to compute, in order; known ones are skipped.
    """
    values: dict[int, tuple[Poly, ...]] = {position: (p,) for position, p in known.items()}
    for position in core:
        if position in known:
            continue
        node = graph.nodes[position]
        match node.op:
            case Input() | Band() | Lookup() | Custom() | Result() | Load() | Store():
                raise AssertionError("the core has compute operators only")
            case Accumulate() | AccumulateRescaled() | RunningMax():
                raise AssertionError("a program has no loops")
            case op:
                axes = tuple(named[a] for a in node.args)
                forms: dict[Poly, None] = {}
                for args in product(*(values[a] for a in node.args)):
                    forms.setdefault(builder.apply(op, args, axes, named[position]))
                if op == Binary("div"):
                    for p, q in product(*(values[a] for a in node.args)):
                        forms.setdefault(div(*without_shared_exponents(p, q)))
                values[position] = tuple(forms)[:MOST_FORMS]
    return values


def without_shared_exponents(p: Poly, q: Poly) -> tuple[Poly, Poly]:
    """Numerator and denominator without the exponents that all of their monomials share."""
    powers = [Counter(dict(m.power)) for m, _ in (*p, *q)]
    shared = powers[0]
    for other in powers[1:]:
        shared &= other
    shared = Counter({term: n for term, n in shared.items() if not _is_bound_outside(term)})
    if not shared:
        return p, q
    return _remove_exponents(p, shared), _remove_exponents(q, shared)


def _remove_exponents(p: Poly, shared: Counter[Mono]) -> Poly:
    out: dict[Mono, int] = {}
    for m, n in p:
        left = {term: k - shared[term] for term, k in m.power}
        power = tuple((term, k) for term, k in left.items() if k)
        plain = Mono(m.sums, m.atoms, power, m.root, m.den)
        out[plain] = out.get(plain, 0) + n
    return tuple(sorted(out.items()))


def _is_bound_outside(m: Mono, depth: int = 1) -> bool:
    """Whether a sum outside of a monomial, at least `depth` functions away, binds an input in it."""
    if any(isinstance(a, Leaf) and any(level >= depth for _, level in a.bound) for a, _ in m.atoms):
        return True
    inner = [*(p for p in (m.power, m.root, m.den) if p), *(a.argument for a, _ in m.atoms if isinstance(a, Call))]
    return any(_is_bound_outside(k, depth + 1) for p in inner for k, _ in p)
