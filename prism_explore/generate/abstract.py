"""What a partial graph computes, sizes forgotten; and whether it can still be part of the result.

An abstract expression is a polynomial with natural coefficients. Its monomials are products of

    sums      Σd, μd: formal scalars, one per reduced axis, for a sum and for a mean over it
    atoms     inputs, constants, opaque functions of polynomials such as silu(p)
    exp(p)    at most one, since exp(p)*exp(q) = exp(p + q)
    √p        at most one, since √p*√q = √(p*q)
    1/p       at most one denominator, since (x/p)/q = x/(p*q)

Two tensors are equal by A_eq exactly when these forms are. A_eq is the published list: + and * associate
and commute, * and / distribute over +, x*(y/z) = (x*y)/z, (x/y)/z = x/(y*z), sums are linear and commute,
the two laws above; and here x*recip(y) = x/y, square(x) = x*x, x - y = x + (-1)*y, rms = √(μ x*x). There is
no cancellation (x*y/y is not x) and √x*√x is not x: else everything would be part of everything.

Axes have names, so one published law gets its side condition back: Σd(x*y) = (Σd x)*y needs a y that does
not vary along d. An input remembers which of its axes a sum has *bound*, and how many roots, exponents,
denominators or functions lie between it and that sum, since no law moves a sum across one. So mean(x*x)
and mean(x)*x differ, and so do x/√mean(x*x) and x/√(mean(x)*x) below a further sum.

`Goal.reaches(e)` decides whether the result is C[e] for some context C of operators, up to A_eq. With u
running over monomials: u*e is a part of some polynomial of the result, coefficient by coefficient. It is
exact for A_eq without axes (tested against rewriting by brute force) and never says no wrongly with them;
there is no e-graph and there are no limits.

Source: Mirage, arXiv 2405.05751, table 2, for the axioms; the normal form is this project's.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple, TypeAlias, TypeVar

from prism_explore.ir.axes import AxisNames
from prism_explore.ir.ops import Accumulate, Binary, ComputeOp, MatMul, Reduce, Scalar, Unary

_T = TypeVar("_T")

Binding: TypeAlias = tuple[str, int]
"""A bound axis, and how many function boundaries lie between the input and the sum."""


class Leaf(NamedTuple):
    """An input or a constant, and which of its axes no sum has bound yet."""

    kind: int
    """0 for an input, 2 for a constant: atoms of different kinds never compare further."""
    name: str
    free: tuple[str, ...]
    bound: tuple[Binding, ...]


class Call(NamedTuple):
    """A function that the algebra knows nothing about."""

    kind: int
    fn: str
    argument: Poly


Atom: TypeAlias = "Leaf | Call"


class Mono(NamedTuple):
    """A monomial. Named tuples, not dataclasses: they are hashed and sorted all day."""

    sums: tuple[tuple[str, int], ...] = ()
    atoms: tuple[tuple[Atom, int], ...] = ()
    power: Poly = ()
    """The exponent of e; empty for none."""
    root: Poly = ()
    """What stands under the root; empty for none."""
    den: Poly = ()
    """The denominator; empty for none."""


Poly: TypeAlias = "tuple[tuple[Mono, int], ...]"
"""Monomials in order with their coefficients, which are at least 1."""

ONE: Poly = ((Mono(), 1),)


def leaf(name: str, axes: Iterable[str | None] = ()) -> Poly:
    """An input whose dims have these axes."""
    return ((Mono(atoms=((Leaf(0, name, tuple(sorted({a for a in axes if a})), ()), 1),)), 1),)


@lru_cache(1024)
def constant(value: Fraction) -> Poly:
    """A number, as an atom: scalars are not computed with."""
    return ((Mono(atoms=((Leaf(2, str(value), (), ()), 1),)), 1),)


def add(p: Poly, q: Poly) -> Poly:
    """p + q."""
    return _collect((*p, *q))


@lru_cache(65536)
def mul(p: Poly, q: Poly) -> Poly:
    """p * q, multiplied out."""
    return _collect((_times(a, b), m * n) for a, m in p for b, n in q)


@lru_cache(65536)
def div(p: Poly, q: Poly) -> Poly:
    """p / q: every monomial of p over q and over its own denominator."""
    return _collect((m._replace(den=_product(m.den, q)), n) for m, n in p)


def exp(p: Poly) -> Poly:
    """e to the p."""
    return ((Mono(power=p), 1),)


def sqrt(p: Poly) -> Poly:
    """The root of p."""
    return ((Mono(root=p), 1),)


def call(fn: str, p: Poly) -> Poly:
    """An opaque function of p."""
    return ((Mono(atoms=((Call(1, fn, p), 1),)), 1),)


def scaled(p: Poly, scalar: str) -> Poly:
    """p times a formal scalar."""
    return mul(p, ((Mono(sums=((scalar, 1),)), 1),))


@lru_cache(65536)
def bind(p: Poly, axis: str, level: int = 0) -> Poly:
    """p below a sum over `axis`, `level` boundaries away: no input in it varies along that axis any more."""
    return _collect((_bind(m, axis, level), n) for m, n in p)


def _bind(m: Mono, axis: str, level: int) -> Mono:
    atoms: list[tuple[Atom, int]] = []
    for atom, n in m.atoms:
        if isinstance(atom, Call):
            atoms.append((Call(1, atom.fn, bind(atom.argument, axis, level + 1)), n))
        elif axis in atom.free:
            free = tuple(a for a in atom.free if a != axis)
            bound = tuple(sorted((*atom.bound, (axis, level))))
            atoms.append((Leaf(0, atom.name, free, bound), n))
        else:
            atoms.append((atom, n))
    power, root, den = (bind(p, axis, level + 1) for p in (m.power, m.root, m.den))
    return Mono(m.sums, _merge((), tuple(atoms)), power, root, den)


def _collect(terms: Iterable[tuple[Mono, int]]) -> Poly:
    total: dict[Mono, int] = {}
    for m, n in terms:
        total[m] = total.get(m, 0) + n
    return tuple(sorted(total.items()))


def _product(p: Poly, q: Poly) -> Poly:
    """A product where empty stands for one."""
    return mul(p, q) if p and q else p or q


def _merge(a: tuple[tuple[Atom, int], ...], b: tuple[tuple[Atom, int], ...]) -> tuple[tuple[Atom, int], ...]:
    total: dict[Atom, int] = {}
    for atom, n in (*a, *b):
        total[atom] = total.get(atom, 0) + n
    return tuple(sorted(total.items()))


def _times(a: Mono, b: Mono) -> Mono:
    sums = dict(a.sums)
    for s, n in b.sums:
        sums[s] = sums.get(s, 0) + n
    return Mono(
        tuple(sorted(sums.items())),
        _merge(a.atoms, b.atoms),
        add(a.power, b.power),
        _product(a.root, b.root),
        _product(a.den, b.den),
    )


# ---------------------------------------------------------------- exact division
@lru_cache(65536)
def quotient(t: Mono, e: Mono) -> Mono | None:
    """The monomial u with u * e = t, or None; there is at most one."""
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


@lru_cache(65536)
def poly_quotient(p: Poly, q: Poly) -> Poly | None:
    """The polynomial r with natural coefficients and r * q = p, or None; there is at most one.

    Nothing cancels, so r's monomials are among those u with u * q inside p; coefficients follow by
    looking at products that arise in one way only, of which there is always one left.
    """
    if q == ONE or p == q:
        return p if q == ONE else ONE
    have = dict(p)
    lead = q[0][0]
    support = [u for m, _ in p if (u := quotient(m, lead)) is not None]
    support = [u for u in support if all(_times(u, m) in have for m, _ in q)]
    sources: dict[Mono, list[tuple[Mono, int]]] = {}
    for u in support:
        for m, n in q:
            sources.setdefault(_times(u, m), []).append((u, n))
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


# ---------------------------------------------------------------- operators
@dataclass(frozen=True, slots=True)
class Theory:
    """How operators become expressions in one search."""

    marked: frozenset[str] = frozenset()
    """Axes whose binding is tracked; one that occurs twice in a tensor cannot be."""
    reciprocals: tuple[tuple[str, Fraction], ...] = ()
    """Axes whose mean is a sum times this number, because the program multiplies by it somewhere."""
    silu_is_product: bool = False
    """Whether silu(x) is read as x * sigmoid(x)."""

    def apply(self, op: ComputeOp | Accumulate, args: tuple[Poly, ...], axes: tuple[AxisNames, ...]) -> Poly:
        """The expression of an operator's result, at full extents: a plain accumulator changes nothing."""
        match op:
            case Unary(fn):
                return self._unary(fn, args[0])
            case Scalar("add", value):
                return add(args[0], constant(value))
            case Scalar(_, value):
                return mul(args[0], constant(value))
            case Binary(fn):
                a, b = args
                match fn:
                    case "add":
                        return add(a, b)
                    case "sub":
                        return add(a, scaled(b, "−"))
                    case "mul":
                        return mul(a, b)
                    case "div":
                        return div(a, b)
            case MatMul():
                axis = axes[0][-1]
                a, b = (self._bound(p, axis) for p in args)
                return self._reduced("sum", mul(a, b), axis)
            case Reduce(fn, along):
                return self._reduced(fn, args[0], axes[0][along])
            case Accumulate(fn, along):
                return args[0] if along is None else self._reduced(fn, args[0], axes[0][along])

    def _unary(self, fn: str, x: Poly) -> Poly:
        match fn:
            case "exp":
                return exp(x)
            case "square":
                return mul(x, x)
            case "sqrt":
                return sqrt(x)
            case "recip":
                return div(ONE, x)
            case "rsqrt":
                return div(ONE, sqrt(x))
            case "neg":
                return scaled(x, "−")
            case "silu" if self.silu_is_product:
                return mul(x, call("sigmoid", x))
            case _:
                return call(fn, x)

    def _reduced(self, fn: str, x: Poly, axis: str | None) -> Poly:
        if fn == "rms":
            return sqrt(self._reduced("mean", mul(x, x), axis))
        if axis is None:
            return x
        total = self._bound(x, axis)
        if fn == "sum":
            return scaled(total, f"Σ{axis}")
        for name, value in self.reciprocals:
            if name == axis:
                return mul(scaled(total, f"Σ{axis}"), constant(value))
        return scaled(total, f"μ{axis}")

    def _bound(self, x: Poly, axis: str | None) -> Poly:
        return x if axis is None or axis not in self.marked else bind(x, axis)


# ---------------------------------------------------------------- parts of the result
@lru_cache(65536)
def free_axes(p: Poly) -> frozenset[str]:
    """Axes that some input in p still varies along."""
    found: set[str] = set()
    for m, _ in p:
        for atom, _ in m.atoms:
            found |= set(atom.free) if isinstance(atom, Leaf) else free_axes(atom.argument)
        for inner in (m.power, m.root, m.den):
            found |= free_axes(inner)
    return frozenset(found)


def _nested(m: Mono) -> Iterator[Poly]:
    yield from (p for p in (m.power, m.root, m.den) if p)
    yield from (a.argument for a, _ in m.atoms if isinstance(a, Call))


def _summed(m: Mono) -> frozenset[str]:
    return frozenset(s[1:] for s, _ in m.sums)


@lru_cache(65536)
def _sums(p: Poly) -> frozenset[str]:
    return frozenset(axis for m, _ in p for axis in _summed(m))


Levels: TypeAlias = tuple[frozenset[str], ...]
"""Axes summed in the monomial at hand, in the one around it, and so on outwards."""


@lru_cache(65536)
def _bindings(p: Poly, levels: Levels) -> tuple[tuple[frozenset[Binding], Poly], ...]:
    """p as it stands below sums, over some of its axes, at some of the levels."""
    out: list[tuple[frozenset[Binding], Poly]] = [(frozenset(), p)]
    for axis in sorted(free_axes(p)):
        for level, summed in enumerate(levels):
            if axis in summed:
                out += [
                    (done | {(axis, level)}, bind(q, axis, level)) for done, q in out if all(a != axis for a, _ in done)
                ]
    return tuple(out)


def _images(e: Poly, below: frozenset[Binding], t: Poly, outer: Levels) -> Iterator[dict[Mono, int]]:
    """Each u * e inside t, where the sums over `below` and over what u binds are u's own or outer ones."""
    have = dict(t)
    lead = e[0][0]
    for m in have:
        u = quotient(m, lead)
        if u is None:
            continue
        needed = set(below)
        for atom, _ in u.atoms:
            if isinstance(atom, Leaf):
                needed.update(atom.bound)
        levels = (_summed(u), *outer)
        if any(axis not in levels[level] for axis, level in needed):
            continue
        image = {_times(u, k): n for k, n in e}
        if all(have.get(k, 0) >= n for k, n in image.items()):
            yield image


class Goal:
    """The abstract expression of the program's result, asked again and again what it is made of."""

    def __init__(self, result: Poly) -> None:
        self.result = result
        self._reaches: dict[tuple[Poly, Poly, Levels], bool] = {}
        self._together: dict[tuple[Poly, Poly, Poly, Levels], bool] = {}

    def reaches(self, e: Poly) -> bool:
        """Whether the result is C[e] for some context C, up to A_eq."""
        return self._part(e, self.result, ())

    def joins(self, a: Poly, b: Poly) -> bool:
        """Whether the result can be C[a, b]: both used, each at least once.

        A necessary condition, looked for at the lowest operator that has both below it: a product
        (u*a*b is a part), a sum (u*a + v*b is), a quotient or an exponent on one side, or two different
        arguments.
        """
        return self._pair(*sorted((a, b)), self.result, ())

    def _part(self, e: Poly, t: Poly, outer: Levels) -> bool:
        key = (e, t, outer)
        found = self._reaches.get(key)
        if found is None:
            found = self._reaches[key] = self._top(e, t, outer) or self._inside(e, t, outer)
        return found

    def _top(self, e: Poly, t: Poly, outer: Levels) -> bool:
        levels = (_sums(t), *outer)
        return any(True for below, q in _bindings(e, levels) for _ in _images(q, below, t, outer))

    def _inside(self, e: Poly, t: Poly, outer: Levels) -> bool:
        return any(self._part(e, p, (_summed(m), *outer)) for m, _ in t for p in _nested(m))

    def _pair(self, a: Poly, b: Poly, t: Poly, outer: Levels) -> bool:
        key = (a, b, t, outer)
        found = self._together.get(key)
        if found is None:
            found = self._together[key] = self._pair_anew(a, b, t, outer)
        return found

    def _pair_anew(self, a: Poly, b: Poly, t: Poly, outer: Levels) -> bool:
        if not self._part(a, t, outer) or not self._part(b, t, outer):
            return False
        top_a, top_b = self._top(a, t, outer), self._top(b, t, outer)
        if (top_a and self._inside(b, t, outer)) or (top_b and self._inside(a, t, outer)):
            return True
        levels = (_sums(t), *outer)
        if top_a and top_b:
            for below_a, p in _bindings(a, levels):
                for below_b, q in _bindings(b, levels):
                    if any(True for _ in _images(mul(p, q), below_a | below_b, t, outer)):
                        return True
            have = dict(t)
            if sum(have.values()) > 1:
                ones = [i for w, p in _bindings(a, levels) for i in _images(p, w, t, outer)]
                others = [i for w, q in _bindings(b, levels) for i in _images(q, w, t, outer)]
                for one in ones:
                    for other in others:
                        if all(have[m] >= one.get(m, 0) + other.get(m, 0) for m in {*one, *other}):
                            return True
        slots = [(p, (_summed(m), *outer)) for m, _ in t for p in _nested(m)]
        for i, (p, seen) in enumerate(slots):
            if self._pair(a, b, p, seen):
                return True
            for q, seen_too in slots[i + 1 :]:
                if (self._part(a, p, seen) and self._part(b, q, seen_too)) or (
                    self._part(b, p, seen) and self._part(a, q, seen_too)
                ):
                    return True
        return False


@lru_cache(65536)
def features(p: Poly) -> frozenset[str]:
    """What in p only an operator with one operand can have made: roots, exps, calls, constants, means."""
    found: set[str] = set()
    for m, _ in p:
        found.update(s for s, _ in m.sums if s.startswith("μ"))
        if m.power:
            found.add("exp")
        if m.root:
            found.add("√")
        for atom, _ in m.atoms:
            if isinstance(atom, Call):
                found.add(f"{atom.fn}()")
            elif atom.kind == 2:
                found.add(atom.name)
        for inner in _nested(m):
            found |= features(inner)
    return frozenset(found)


# ---------------------------------------------------------------- text
_SUPERSCRIPT = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


@lru_cache(65536)
def show(p: Poly) -> str:
    """The expression on one line, such as `Σd g·w·x/√(μd x² + 1/1000000)`."""
    return " + ".join((f"{n}·" if n > 1 else "") + _show(m) for m, n in p) or "0"


def _show(m: Mono) -> str:
    parts = [(a.name if isinstance(a, Leaf) else f"{a.fn}({show(a.argument)})", n) for a, n in m.atoms]
    if m.power:
        parts.append((f"exp({show(m.power)})", 1))
    if m.root:
        parts.append((f"√({show(m.root)})", 1))
    above = "·".join(_raise(text, n) for text, n in parts) or "1"
    sums = "".join(_raise(s, n) + " " for s, n in m.sums)
    if not m.den:
        return f"{sums}{above}"
    below = show(m.den)
    simple = (len(m.den) == 1 and m.den[0][1] == 1 and not any(c in below for c in " ·/")) or _is_root(m.den)
    return f"{sums}{above}/{below if simple else f'({below})'}"


def _is_root(p: Poly) -> bool:
    return len(p) == 1 and p[0] == (Mono(root=p[0][0].root), 1)


def _raise(text: str, n: int) -> str:
    return text if n == 1 else text + str(n).translate(_SUPERSCRIPT)
