"""What a program's result may be read as: equal expressions that A_eq does not join.

A_eq knows no cancellation, or else everything would be part of everything. One is worth having: exponents that
numerator and denominator share. exp(x - m) / Σ exp(x - m) = exp(x) / Σ exp(x) whatever m is, since no exponential
is 0; so a softmax without its maximum is the same in real arithmetic, if not in floating point. It is cancelled
once, in the program, where a quotient is made: what comes of that is another *reading* of the result. A graph is
grown while all of its values may be parts of one and the same reading, so nothing is lost that was found before.

What is shared must be the same in both: if a sum of the denominator binds something in it, as in exp(x) / Σ exp(x),
then it is another value there, however it is spelled.
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
    Result,
    RunningMax,
    Store,
)

MOST_FORMS = 4
"""How many readings of one value are kept, in order of appearance."""


def equal_forms(
    graph: SGraph,
    named: tuple[AxisNames, ...],
    theory: ExpressionBuilder,
    given: Mapping[int, Poly],
    core: Iterable[int],
) -> dict[int, tuple[Poly, ...]]:
    """The expressions of each tensor that is asked for, as it is written first.

    Args:
        graph: the program.
        named: the axes of its tensors.
        theory: how operators become expressions.
        given: the expressions of what is not computed.
        core: the positions of what is, in order; they may name what is given, too.
    """
    values: dict[int, tuple[Poly, ...]] = {position: (p,) for position, p in given.items()}
    for position in core:
        if position in given:
            continue
        node = graph.nodes[position]
        match node.op:
            case Input() | Band() | Custom() | Result() | Load() | Store():
                raise AssertionError("what is computed has compute operators only")
            case Accumulate() | AccumulateRescaled() | RunningMax():
                raise AssertionError("a program has no loops")
            case op:
                axes = tuple(named[a] for a in node.args)
                made: dict[Poly, None] = {}
                for args in product(*(values[a] for a in node.args)):
                    made.setdefault(theory.apply(op, args, axes, named[position]))
                if op == Binary("div"):
                    for p, q in product(*(values[a] for a in node.args)):
                        made.setdefault(div(*without_shared_exponents(p, q)))
                values[position] = tuple(made)[:MOST_FORMS]
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
    """Whether a sum that stands outside of a monomial, nested so deep, binds an input in it."""
    if any(isinstance(a, Leaf) and any(level >= depth for _, level in a.bound) for a, _ in m.atoms):
        return True
    inner = [*(p for p in (m.power, m.root, m.den) if p), *(a.argument for a, _ in m.atoms if isinstance(a, Call))]
    return any(_is_bound_outside(k, depth + 1) for p in inner for k, _ in p)
