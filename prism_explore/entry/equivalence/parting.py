"""The smallest differing subterms of two normal forms, and the context that they share.

Equal summands and equal factors are left out on both sides. Where one summand, one factor or one argument differs, the
search goes on inside it; the place is a box in the context.

    x[p0,p1] □ + x[p0,p1]     with □ = tanh(x[p0,p1]) on one side, erf(x[p0,p1]) on the other
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from prism_explore.verify.normal_form.forms import (
    UNIT,
    Atom,
    Exp,
    Factor,
    Group,
    Max,
    MaxOperand,
    NormalForm,
    Number,
    Opaque,
    Size,
    Term,
    show,
    single,
)

BOX = "□"
_HOLE = Size(BOX)


@dataclass(frozen=True, slots=True)
class Parting:
    """Where two normal forms part, as text."""

    context: str
    """What both sides share, with a box for the rest; the box alone where they share nothing."""
    left: str
    right: str


@dataclass(frozen=True, slots=True)
class _Found:
    """The two subterms, and the context as a function of what stands in the box."""

    left: NormalForm
    right: NormalForm
    around: Callable[[NormalForm], NormalForm]


def part(left: NormalForm, right: NormalForm) -> Parting:
    """The smallest differing subterms of two different normal forms."""
    found = _part_sums(left, right)
    return Parting(show(found.around(single(_HOLE))), show(found.left), show(found.right))


def _part_sums(left: NormalForm, right: NormalForm) -> _Found:
    of_right = {(t.key, c) for t, c in right.terms}
    common = tuple((t, c) for t, c in left.terms if (t.key, c) in of_right)
    shared = {(t.key, c) for t, c in common}
    a = tuple((t, c) for t, c in left.terms if (t.key, c) not in shared)
    b = tuple((t, c) for t, c in right.terms if (t.key, c) not in shared)

    def around(inside: NormalForm) -> NormalForm:
        return NormalForm((*common, *inside.terms))

    if len(a) == len(b) == 1:
        inner = _part_terms(*a[0], *b[0])
        if inner is not None:
            return _inside(around, inner)
    return _Found(NormalForm(a), NormalForm(b), around)


def _inside(around: Callable[[NormalForm], NormalForm], inner: _Found) -> _Found:
    return _Found(inner.left, inner.right, lambda x: around(inner.around(x)))


def _part_terms(left: Term, a: Number, right: Term, b: Number) -> _Found | None:
    """The parts of two products; None where their bound indices or more than one factor differ."""
    if [v.key for v in left.bound] != [v.key for v in right.bound]:
        return None
    of_right = {(f.key, e) for f, e in right.factors}
    common = tuple((f, e) for f, e in left.factors if (f.key, e) in of_right)
    shared = {(f.key, e) for f, e in common}
    own = tuple((f, e) for f, e in left.factors if (f.key, e) not in shared)
    other = tuple((f, e) for f, e in right.factors if (f.key, e) not in shared)
    if not own and not other:
        # Only the coefficients differ; they stand before the sum over the bound indices.
        return _Found(NormalForm(((UNIT, a),)), NormalForm(((UNIT, b),)), _product(left.bound, common, 1))
    if a == b and len(own) == len(other) == 1 and own[0][1] == other[0][1]:
        inner = _part_atoms(own[0][0], other[0][0])
        if inner is not None:
            exponent = own[0][1]

            def around(inside: NormalForm) -> NormalForm:
                [(term, _)] = inside.terms
                return NormalForm(((Term(left.bound, (*common, (term.factors[0][0], exponent))), a),))

            return _inside(around, inner)
    coefficient_shared = a if a == b else 1
    rest_a, rest_b = (1, 1) if a == b else (a, b)
    if not common and not left.bound:
        return None
    return _Found(
        NormalForm(((Term((), own), rest_a),)),
        NormalForm(((Term((), other), rest_b),)),
        _product(left.bound, common, coefficient_shared),
    )


def _product(
    bound: tuple[object, ...], common: tuple[Factor, ...], coefficient: Number
) -> Callable[[NormalForm], NormalForm]:
    def around(inside: NormalForm) -> NormalForm:
        [(term, _)] = inside.terms
        return NormalForm(((Term(bound, (*common, *term.factors)), coefficient),))  # pyright: ignore[reportArgumentType]

    return around


def _part_atoms(left: Atom, right: Atom) -> _Found | None:
    """The parts of two atoms of one kind; each context is one atom."""
    match left, right:
        case Group(a), Group(b):
            return _inside(lambda x: single(Group(x)), _part_sums(a, b))
        case Exp(a), Exp(b):
            inner = _part_sums(NormalForm(((a, 1),)), NormalForm(((b, 1),)))
            return _inside(lambda x: single(_exp_of(x)), inner)
        case Opaque(f, xs), Opaque(g, ys) if f == g and len(xs) == len(ys):
            differing = [n for n, (x, y) in enumerate(zip(xs, ys, strict=True)) if x.key != y.key]
            if len(differing) == 1:
                [n] = differing
                return _inside(lambda x: single(Opaque(f, (*xs[:n], x, *xs[n + 1 :]))), _part_sums(xs[n], ys[n]))
            return None
        case Max((a,)), Max((b,)) if [v.key for v in a.bound] == [v.key for v in b.bound]:
            return _inside(lambda x: single(Max((MaxOperand(a.bound, x),))), _part_sums(a.inner, b.inner))
        case _:
            return None


def _exp_of(inside: NormalForm) -> Atom:
    [(term, coefficient)] = inside.terms
    return Exp(term) if coefficient == 1 else Opaque("exp", (inside,))
