"""Polynomials with natural coefficients over sums, atoms, exponents, roots and denominators.

They are the normal form of abstract expressions (`subexpression`): two expressions are equal by A_eq if and only if
their polynomials are equal as data. A monomial is a product of

    sums      Σd, μd: formal scalars for a sum and for a mean over an axis, each with the inputs that it binds
    atoms     inputs, constants, opaque functions of polynomials such as silu(p) or max(p, q)
    exp(p)    at most one, because exp(p)*exp(q) = exp(p + q)
    √p        at most one, because √p*√q = √(p*q)
    1/p       at most one denominator, because (x/p)/q = x/(p*q)

Coefficients are natural numbers and nothing cancels, so quotients are unique and exact.

A sum stores the inputs that it binds in its monomial. So Σd⟨x w⟩ Σd⟨x v⟩ is a product of two contractions, and
differs from Σd⟨x x⟩ Σd⟨w v⟩. Inputs under a root, in an exponent or in another function are not stored there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction
from threading import Lock
from typing import NamedTuple, TypeAlias, TypeVar
from weakref import WeakValueDictionary

from prism_explore.support.caches import memoize

_T = TypeVar("_T")

Binding: TypeAlias = tuple[str, int]
"""A bound axis, and the number of functions between the input and the sum."""


class Sum(NamedTuple):
    """A formal scalar: a sum, a mean, or the sign of a negative."""

    label: str
    """Σd, μd or −; ∨d inside a maximum over d; ≤d or ≥d of prefix sums along d."""
    over: tuple[tuple[str, int], ...] = ()
    """The inputs that it binds, with their powers; `UNTRACKED` if they are not tracked."""

    @property
    def axis(self) -> str:
        """The axis that it runs over."""
        return self.label[1:]


UNTRACKED: tuple[tuple[str, int], ...] = (("?", 1),)


class Leaf(NamedTuple):
    """An input or a constant."""

    kind: int
    """0 for an input, 2 for a constant, that of a `prefix_sum` included. Kinds are compared first, so only atoms of one
    kind compare other fields."""
    name: str
    free: tuple[str, ...]
    """The axes that no sum binds."""
    bound: tuple[Binding, ...]


class Call(NamedTuple):
    """An opaque function."""

    kind: int
    """Always 1."""
    fn: str
    argument: Poly


Atom: TypeAlias = "Leaf | Call"


class Mono:
    """A monomial. Equal monomials are one object, so comparing and hashing take constant time at any depth."""

    __slots__ = ("__weakref__", "atoms", "den", "parts", "power", "root", "sums")

    sums: tuple[tuple[Sum, int], ...]
    atoms: tuple[tuple[Atom, int], ...]
    power: Poly
    """The exponent of e; empty for none."""
    root: Poly
    """The polynomial under the root; empty for none."""
    den: Poly
    """The denominator; empty for none."""
    parts: _Parts
    """All fields; monomials are ordered by them."""

    def __new__(
        cls,
        sums: tuple[tuple[Sum, int], ...] = (),
        atoms: tuple[tuple[Atom, int], ...] = (),
        power: Poly = (),
        root: Poly = (),
        den: Poly = (),
    ) -> Mono:
        """The monomial with these fields."""
        parts = (sums, atoms, power, root, den)
        found = _INTERNED.get(parts)
        if found is None:
            with _INTERN_LOCK:
                found = _INTERNED.get(parts)
                if found is None:
                    found = super().__new__(cls)
                    found.sums, found.atoms, found.power, found.root, found.den = found.parts = parts
                    _INTERNED[parts] = found
        return found

    def __reduce__(self) -> tuple[type[Mono], _Parts]:
        """Unpickling returns the interned monomial of the other process."""
        return Mono, self.parts

    def __lt__(self, other: Mono) -> bool:
        """The order of the fields, which is the same in every process."""
        return self.parts < other.parts

    def __repr__(self) -> str:
        return f"Mono{self.parts}"


Poly: TypeAlias = "tuple[tuple[Mono, int], ...]"
"""Monomials in order with their coefficients, which are at least 1."""

_Parts: TypeAlias = "tuple[tuple[tuple[Sum, int], ...], tuple[tuple[Atom, int], ...], Poly, Poly, Poly]"
_INTERNED: WeakValueDictionary[_Parts, Mono] = WeakValueDictionary()
"""All monomials that are referenced."""
_INTERN_LOCK = Lock()

ONE: Poly = ((Mono(), 1),)


def leaf(name: str, axes: Iterable[str | None] = ()) -> Poly:
    """An input with these axes."""
    return ((Mono(atoms=((Leaf(0, name, tuple(sorted({a for a in axes if a})), ()), 1),)), 1),)


@memoize(1024)
def constant(value: Fraction) -> Poly:
    """A number as an atom; there is no arithmetic on numbers."""
    return ((Mono(atoms=((Leaf(2, str(value), (), ()), 1),)), 1),)


def add(p: Poly, q: Poly) -> Poly:
    """p + q."""
    return _collect((*p, *q))


@memoize(65536)
def mul(p: Poly, q: Poly) -> Poly:
    """p * q, expanded."""
    return _collect((times(a, b), m * n) for a, m in p for b, n in q)


@memoize(65536)
def div(p: Poly, q: Poly) -> Poly:
    """p / q: q is multiplied into the denominator of every monomial of p."""
    return _collect((Mono(m.sums, m.atoms, m.power, m.root, _product(m.den, q)), n) for m, n in p)


def exp(p: Poly) -> Poly:
    """e to the p."""
    return ((Mono(power=p), 1),)


def sqrt(p: Poly) -> Poly:
    """The root of p."""
    return ((Mono(root=p), 1),)


def call(fn: str, p: Poly) -> Poly:
    """An opaque function of p."""
    return ((Mono(atoms=((Call(1, fn, p), 1),)), 1),)


def joint_call(fn: str, *args: Poly) -> Poly:
    """An opaque function of several arguments; their order does not matter if it is in `SYMMETRIC`.

    It is represented as a call of a sum of tagged arguments, so that each argument is nested in it.
    """
    tags = [""] * len(args) if fn in SYMMETRIC else ["'" * n for n in range(len(args))]
    parts: Poly = ()
    for tag, p in zip(tags, args, strict=True):
        parts = add(parts, call(tag, p))
    return call(f"{fn},", parts)


SYMMETRIC = ("max", "min")
"""Functions of two arguments that commute."""


def is_joint(fn: str) -> bool:
    """Whether a call's name is a function of several arguments, or the tag of an argument."""
    return fn.endswith(",") or not fn.strip("'")


def negative(p: Poly) -> Poly:
    """-p; two signs do not cancel."""
    return mul(p, ((Mono(sums=((Sum("−"), 1),)), 1),))


@memoize(65536)
def formal_sum(p: Poly, kind: str, axis: str, tracked: bool = True) -> Poly:
    """p summed (Σ) or averaged (μ) over an axis; `tracked` is False if some tensor has the axis twice."""
    if not tracked:
        return mul(p, ((Mono(sums=((Sum(kind + axis, UNTRACKED), 1),)), 1),))
    return _collect(
        (times(bind_monomial(m, axis), Mono(sums=((Sum(kind + axis, inputs_along(m, axis)), 1),))), n) for m, n in p
    )


PREFIX_SUMS = {"cumsum": "≤", "reverse_cumsum": "≥"}
"""Per function, the kind of its prefix sums."""
_FUNCTION_OF = {kind: fn for fn, kind in PREFIX_SUMS.items()}


def prefix_sum(p: Poly, kind: str, axis: str, tracked: bool = True) -> Poly:
    """The sums of p up to (≤) or from (≥) each position of an axis.

    A prefix sum is the product with a triangle of ones, summed over the axis: a formal sum that binds the inputs, and a
    constant that varies along the axis. So it has the laws of a sum, and no other operator makes that constant.
    """
    triangle = Leaf(2, kind + axis, (axis,) if tracked else (), ())
    return mul(formal_sum(p, kind, axis, tracked), ((Mono(atoms=((triangle, 1),)), 1),))


def inputs_along(m: Mono, axis: str) -> tuple[tuple[str, int], ...]:
    """The inputs in a monomial that vary along an axis, with their powers."""
    found: dict[str, int] = {}
    for atom, n in m.atoms:
        if isinstance(atom, Leaf) and axis in atom.free:
            found[atom.name] = found.get(atom.name, 0) + n
    return tuple(sorted(found.items()))


@memoize(65536)
def untracked(p: Poly) -> Poly:
    """p with the inputs that sums bind left out."""
    terms: list[tuple[Mono, int]] = []
    for m, n in p:  # comprehensions are calls of their own, which would halve the depth that Python's limit allows
        terms.append((_untracked_monomial(m), n))
    return _collect(terms)


def _untracked_monomial(m: Mono) -> Mono:
    sums: dict[Sum, int] = {}
    for s, n in m.sums:
        plain = s if s.label == "−" else Sum(s.label, UNTRACKED)
        sums[plain] = sums.get(plain, 0) + n
    atoms: list[tuple[Atom, int]] = []
    for a, n in m.atoms:
        atoms.append((Call(1, a.fn, untracked(a.argument)) if isinstance(a, Call) else a, n))
    power, root, den = untracked(m.power), untracked(m.root), untracked(m.den)
    return Mono(tuple(sorted(sums.items())), _merge((), tuple(atoms)), power, root, den)


@memoize(65536)
def bind(p: Poly, axis: str, level: int = 0) -> Poly:
    """p inside a sum over `axis`, with `level` functions between: no input in it varies along that axis."""
    return _collect((bind_monomial(m, axis, level), n) for m, n in p)


@memoize(65536)
def bind_monomial(m: Mono, axis: str, level: int = 0) -> Mono:
    """A monomial inside a sum over `axis`, without the sum."""
    if axis not in _free(m):
        return m
    atoms: list[tuple[Atom, int]] = []
    for atom, n in m.atoms:
        if isinstance(atom, Call):
            atoms.append((Call(1, atom.fn, bind(atom.argument, axis, level + 1)), n))
        elif axis in atom.free:
            free = tuple(a for a in atom.free if a != axis)
            bound = tuple(sorted((*atom.bound, (axis, level))))
            atoms.append((atom._replace(free=free, bound=bound), n))
        else:
            atoms.append((atom, n))
    power, root, den = (bind(p, axis, level + 1) for p in (m.power, m.root, m.den))
    return Mono(m.sums, _merge((), tuple(atoms)), power, root, den)


def _collect(terms: Iterable[tuple[Mono, int]]) -> Poly:
    total: dict[Mono, int] = {}
    for m, n in terms:
        total[m] = total.get(m, 0) + n
    return tuple(sorted(total.items(), key=_parts)) if len(total) > 1 else tuple(total.items())


def _parts(term: tuple[Mono, int]) -> _Parts:
    return term[0].parts


def _product(p: Poly, q: Poly) -> Poly:
    """A product of polynomials; the empty polynomial means 1."""
    return mul(p, q) if p and q else p or q


def _merge(a: tuple[tuple[_T, int], ...], b: tuple[tuple[_T, int], ...]) -> tuple[tuple[_T, int], ...]:
    total: dict[_T, int] = {}
    for x, n in (*a, *b):
        total[x] = total.get(x, 0) + n
    return tuple(sorted(total.items()))


@memoize(65536)
def times(a: Mono, b: Mono) -> Mono:
    """The product of two monomials."""
    return Mono(
        _merge(a.sums, b.sums) if a.sums and b.sums else a.sums or b.sums,
        _merge(a.atoms, b.atoms) if a.atoms and b.atoms else a.atoms or b.atoms,
        add(a.power, b.power) if a.power and b.power else a.power or b.power,
        _product(a.root, b.root),
        _product(a.den, b.den),
    )


# ---------------------------------------------------------------- exact division
@memoize(65536)
def quotient(t: Mono, e: Mono) -> Mono | None:
    """The monomial u with u * e = t; None if there is none. There is at most one."""
    if e.power and not t.power:
        return None
    sums = _minus(t.sums, e.sums)
    if sums is None:
        return None
    atoms = _minus(t.atoms, e.atoms)
    if atoms is None:
        return None
    power = _minus(t.power, e.power)
    if power is None:
        return None
    root = poly_quotient(t.root or ONE, e.root or ONE)
    if root is None:
        return None
    den = poly_quotient(t.den or ONE, e.den or ONE)
    if den is None:
        return None
    return Mono(sums, atoms, power, () if root == ONE else root, () if den == ONE else den)


def _minus(a: tuple[tuple[_T, int], ...], b: tuple[tuple[_T, int], ...]) -> tuple[tuple[_T, int], ...] | None:
    if not b:
        return a
    left = dict(a)
    for x, n in b:
        rest = left.get(x, 0) - n
        if rest < 0:
            return None
        left[x] = rest
    return tuple((x, n) for x, n in left.items() if n)


@memoize(65536)
def poly_quotient(p: Poly, q: Poly) -> Poly | None:
    """The polynomial r with natural coefficients and r * q = p; None if there is none. There is at most one.

    Nothing cancels, so each monomial u of r has u * q inside p. The coefficients are found one by one: there is always
    a monomial of p that is a product in one way only among those whose coefficient is unknown.
    """
    if q == ONE or p == q:
        return p if q == ONE else ONE
    have = dict(p)
    lead = q[0][0]
    support = [u for m, _ in p if (u := quotient(m, lead)) is not None]
    support = [u for u in support if all(times(u, m) in have for m, _ in q)]
    sources: dict[Mono, list[tuple[Mono, int]]] = {}
    for u in support:
        for m, n in q:
            sources.setdefault(times(u, m), []).append((u, n))
    if len(sources) != len(have):
        return None
    found: dict[Mono, int] = {}
    while len(found) < len(support):
        for target, ways in sources.items():
            open_ways = [(u, n) for u, n in ways if u not in found]
            if len(open_ways) != 1:
                continue
            u, n = open_ways[0]
            rest = have[target] - sum(found[v] * k for v, k in ways if v in found)
            if rest < 0 or rest % n:
                return None
            found[u] = rest // n
            break
        else:
            return None
    result = _collect((u, n) for u, n in found.items() if n)
    return result if result and mul(result, q) == p else None


# ---------------------------------------------------------------- properties
@memoize(65536)
def free_axes(p: Poly) -> frozenset[str]:
    """Axes of inputs in p that no sum binds."""
    return frozenset[str]().union(*(_free(m) for m, _ in p))


@memoize(65536)
def _free(m: Mono) -> frozenset[str]:
    own = (a for atom, _ in m.atoms if isinstance(atom, Leaf) for a in atom.free)
    return frozenset(own).union(*map(free_axes, nested(m)))


@memoize(65536)
def nested(m: Mono) -> tuple[Poly, ...]:
    """The polynomials directly inside a monomial: exponent, root, denominator, arguments of calls."""
    return (
        *(p for p in (m.power, m.root, m.den) if p),
        *(a.argument for a, _ in m.atoms if isinstance(a, Call)),
    )


def innermost_first(p: Poly) -> Iterator[Poly]:
    """p and every polynomial inside it, each once and after those inside it; not recursive, however deep p is."""
    seen: set[Poly] = set()
    todo = [(p, False)]
    while todo:
        q, is_open = todo.pop()
        if is_open:
            yield q
        elif q not in seen:
            seen.add(q)
            todo.append((q, True))
            todo.extend((inner, False) for m, _ in q for inner in nested(m))


@memoize(65536)
def names_in(p: Poly) -> frozenset[str]:
    """The names of inputs, constants and functions in p, at any depth; only cancellation could remove one."""
    own = (a.name if isinstance(a, Leaf) else a.fn for m, _ in p for a, _ in m.atoms)
    return frozenset(own).union(*(names_in(q) for m, _ in p for q in nested(m)))


@memoize(65536)
def leaves_in(p: Poly) -> frozenset[tuple[int, Leaf]]:
    """The inputs and constants in p, each with the number of functions, roots, exponents or denominators around it."""
    own = ((0, a) for m, _ in p for a, _ in m.atoms if isinstance(a, Leaf))
    inner = ((depth + 1, a) for m, _ in p for q in nested(m) for depth, a in leaves_in(q))
    return frozenset(own).union(inner)


@memoize(65536)
def summed_axes(m: Mono) -> frozenset[str]:
    """Axes of the monomial's own sums and means."""
    return frozenset(s.axis for s, _ in m.sums)


@memoize(65536)
def features(p: Poly) -> frozenset[str]:
    """The parts of p that only an operator with one operand makes: roots, exponentials, calls, constants, means."""
    found: set[str] = set()
    for m, _ in p:
        found.update(s.label for s, _ in m.sums if s.label.startswith("μ"))
        if m.power:
            found.add("exp")
        if m.root:
            found.add("√")
        for atom, _ in m.atoms:
            if isinstance(atom, Call):
                if not is_joint(atom.fn):
                    found.add(f"{atom.fn}()")
            elif atom.kind == 2:
                found.add(atom.name)
        for inner in nested(m):
            found |= features(inner)
    return frozenset(found)


# ---------------------------------------------------------------- text
_SUPERSCRIPT = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


MAX_TEXT = 20_000
"""The most characters that are shown of a part of an expression. A shared part is written as often as it is used: the
text of 200 operators may have half a billion."""


@memoize(65536)
def show(p: Poly) -> str:
    """The expression on one line, such as `Σd g·w·x/√(μd x² + 1/1000000)`; each part is cut after `MAX_TEXT`."""
    known: dict[Mono, str] = {}
    for inner in innermost_first(p):
        for m, _ in inner:
            if m not in known:
                known[m] = _clipped(_write(m, known))
    return _show_sum(p, known)


def _show_sum(p: Poly, known: dict[Mono, str]) -> str:
    """The same; `known` has the texts of its monomials."""
    return _clipped(" + ".join((f"{n}·" if n > 1 else "") + known[m] for m, n in p) or "0")


class _Factor(NamedTuple):
    text: str
    exponent: int
    bound: frozenset[str]
    """The axes of the sums that bind an input in it."""
    name: str = ""
    """Of an input or constant."""


def _clipped(text: str) -> str:
    return text if len(text) <= MAX_TEXT else f"{text[:MAX_TEXT]}…"


def _write(m: Mono, known: dict[Mono, str]) -> str:
    """The text of a monomial; `known` has the texts of those inside it."""
    factors = [
        _Factor(a.name, n, _bound_axes(a), a.name)
        if isinstance(a, Leaf)
        else _Factor(_show_call(a, known), n, _bound_axes(a))
        for a, n in m.atoms
        if not (isinstance(a, Leaf) and a.name[0] in _FUNCTION_OF)
    ]
    for name, inner in (("exp", m.power), ("√", m.root)):
        if inner:
            factors.append(_Factor(f"{name}({_show_sum(inner, known)})", 1, _bound_in(inner)))
    labels: dict[str, int] = {}
    for s, n in m.sums:
        if s.label[0] in _FUNCTION_OF:
            factors = _in_prefix_sum(s, n, factors)
        else:
            labels[s.label] = labels.get(s.label, 0) + n
    above = "·".join(_power_text(f.text, f.exponent) for f in factors) or "1"
    sums = "".join(_power_text(label, n) + " " for label, n in labels.items())
    if not m.den:
        return f"{sums}{above}"
    below = _show_sum(m.den, known)
    simple = (len(m.den) == 1 and m.den[0][1] == 1 and not any(c in below for c in " ·/")) or _is_root(m.den)
    return f"{sums}{above}/{below if simple else f'({below})'}"


def _in_prefix_sum(s: Sum, n: int, factors: list[_Factor]) -> list[_Factor]:
    """The factors of a monomial, those that a prefix sum binds in a call of it."""
    inside = [f for f in factors if s.axis in f.bound and f.name in ("", *dict(s.over))]
    each = n if all(f.exponent % n == 0 for f in inside) else 1
    text = "·".join(_power_text(f.text, f.exponent // each) for f in inside) or "1"
    called = _Factor(f"{_FUNCTION_OF[s.label[0]]}_{s.axis}({text})", n, frozenset().union(*(f.bound for f in inside)))
    return [*(f for f in factors if f not in inside), called]


def _bound_axes(a: Atom) -> frozenset[str]:
    return frozenset(axis for axis, _ in a.bound) if isinstance(a, Leaf) else _bound_in(a.argument)


@memoize(65536)
def _bound_in(p: Poly) -> frozenset[str]:
    """The axes that some sum binds in a polynomial, at any depth."""
    own = (_bound_axes(a) for m, _ in p for a, _ in m.atoms)
    return frozenset[str]().union(*own, *(_bound_in(q) for m, _ in p for q in (m.power, m.root, m.den) if q))


def _show_call(a: Call, known: dict[Mono, str]) -> str:
    if not a.fn.strip("'"):
        return _show_sum(a.argument, known)
    if not a.fn.endswith(","):
        return f"{a.fn}({_show_sum(a.argument, known)})"
    order = sorted(a.argument, key=lambda part: [c.fn for c, _ in part[0].atoms if isinstance(c, Call)])
    return f"{a.fn[:-1]}({', '.join(known[m] for m, n in order for _ in range(n))})"


def _is_root(p: Poly) -> bool:
    return len(p) == 1 and p[0] == (Mono(root=p[0][0].root), 1)


def _power_text(text: str, n: int) -> str:
    return text if n == 1 else text + str(n).translate(_SUPERSCRIPT)
