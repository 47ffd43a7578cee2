"""The normal form decides A_eq, and the sub-expression test is exact; both against brute-force rewriting.

The rewriting here shares nothing with the polynomials: terms are tuples, the axioms are the published
list read in both directions, and the closure is a breadth-first search.
"""

import pickle
import weakref
from fractions import Fraction
from itertools import product

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from prism_explore.generate.abstract_expr.polynomial import (
    ONE,
    Poly,
    add,
    constant,
    div,
    exp,
    features,
    formal_sum,
    free_axes,
    leaf,
    mul,
    poly_quotient,
    show,
    sqrt,
    times,
)
from prism_explore.generate.abstract_expr.subexpression import ExpressionBuilder, Goal, ResultPart, bindings_within
from prism_explore.ir.ops import Accumulate, Binary, MatMul, Reduce, Scalar, Scan, Unary

# ---------------------------------------------------------------- brute force
LEAVES = ("a", "b", "c")


def rewrites(t):
    """Every term that one axiom, applied once anywhere, makes of t."""
    match t:
        case ("+" | "*" as op, x, y):
            yield (op, y, x)
            if y[0] == op:
                yield (op, (op, x, y[1]), y[2])
        case ("sqrt", ("*", x, y)):
            yield ("*", ("sqrt", x), ("sqrt", y))
        case ("exp", ("+", x, y)):
            yield ("*", ("exp", x), ("exp", y))
    match t:
        case ("*", x, ("+", y, z)):
            yield ("+", ("*", x, y), ("*", x, z))
        case ("+", ("*", x, y), ("*", u, z)) if x == u:
            yield ("*", x, ("+", y, z))
    match t:
        case ("/", ("+", x, y), z):
            yield ("+", ("/", x, z), ("/", y, z))
        case ("+", ("/", x, u), ("/", y, z)) if u == z:
            yield ("/", ("+", x, y), z)
    match t:
        case ("*", x, ("/", y, z)):
            yield ("/", ("*", x, y), z)
        case ("/", ("*", x, y), z):
            yield ("*", x, ("/", y, z))
    match t:
        case ("/", ("/", x, y), z):
            yield ("/", x, ("*", y, z))
        case ("/", x, ("*", y, z)):
            yield ("/", ("/", x, y), z)
    match t:
        case ("/", x, y):
            yield ("*", x, ("1/", y))
        case ("1/", ("*", x, y)):
            yield ("/", ("1/", x), y)
        case ("*", x, ("1/", y)):
            yield ("/", x, y)
    match t:
        case ("/", ("1/", x), y):
            yield ("1/", ("*", x, y))
    match t:
        case ("sum", i, ("sum", j, x)):
            yield ("sum", j, ("sum", i, x))
        case ("sum", i, ("+", x, y)):
            yield ("+", ("sum", i, x), ("sum", i, y))
        case ("sum", i, ("*", x, y)):
            yield ("*", ("sum", i, x), y)
        case ("sum", i, ("/", x, y)):
            yield ("/", ("sum", i, x), y)
        case ("+", ("sum", i, x), ("sum", j, y)) if i == j:
            yield ("sum", i, ("+", x, y))
    match t:
        case ("*", ("sum", i, x), y):
            yield ("sum", i, ("*", x, y))
        case ("/", ("sum", i, x), y):
            yield ("sum", i, ("/", x, y))
        case ("*", ("exp", x), ("exp", y)):
            yield ("exp", ("+", x, y))
        case ("*", ("sqrt", x), ("sqrt", y)):
            yield ("sqrt", ("*", x, y))
    for position, part in enumerate(t):
        if isinstance(part, tuple):
            for changed in rewrites(part):
                yield (*t[:position], changed, *t[position + 1 :])


def size(t) -> int:
    return 1 + sum(size(part) for part in t if isinstance(part, tuple))


def closure(t, largest_size: int, most: int):
    """Terms equal to t, and whether they are all that are no larger than `largest_size`."""
    seen, todo = {t}, [t]
    while todo and len(seen) <= most:
        for other in rewrites(todo.pop()):
            if other not in seen and size(other) <= largest_size:
                seen.add(other)
                todo.append(other)
    return seen, not todo


def parts(t):
    yield t
    for part in t:
        if isinstance(part, tuple):
            yield from parts(part)


def polynomial(t) -> Poly:
    match t:
        case ("+", x, y):
            return add(polynomial(x), polynomial(y))
        case ("*", x, y):
            return mul(polynomial(x), polynomial(y))
        case ("/", x, y):
            return div(polynomial(x), polynomial(y))
        case ("1/", x):
            return div(ONE, polynomial(x))
        case ("exp", x):
            return exp(polynomial(x))
        case ("sqrt", x):
            return sqrt(polynomial(x))
        case ("sum", i, x):
            return formal_sum(polynomial(x), "Σ", i, tracked=False)
        case (name,):
            return leaf(name)
    raise AssertionError(t)


def terms(depth: int) -> st.SearchStrategy:
    leaves = st.sampled_from([(x,) for x in LEAVES])
    if depth == 0:
        return leaves
    inner = terms(depth - 1)
    return st.one_of(
        leaves,
        st.tuples(st.sampled_from(["+", "*", "*", "/"]), inner, inner),
        st.tuples(st.sampled_from(["exp", "sqrt", "1/"]), inner),
        st.tuples(st.just("sum"), st.sampled_from(["i", "j"]), inner),
    )


SMALL = [(x,) for x in LEAVES]
SMALL += [
    *((op, x, y) for op in "+*/" for x, y in product(SMALL, SMALL)),
    *((fn, x) for fn in ("exp", "sqrt", "1/") for x in SMALL),
    *(("sum", i, x) for i in "ij" for x in SMALL),
]


@settings(max_examples=150, deadline=None)
@given(terms(3))
def test_terms_that_the_axioms_equate_have_one_normal_form_and_reach_the_whole(t):
    equal, _ = closure(t, size(t) + 4, 150)
    whole = polynomial(t)
    goal = Goal(whole)

    for other in equal:
        assert whole == polynomial(other)
        for part in parts(other):
            assert goal.reaches(polynomial(part)), (part, other)


@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.filter_too_much])
@given(terms(2))
def test_what_is_said_to_be_a_part_is_found_inside_an_equal_term(t):
    equal, complete = closure(t, size(t) + 8, 3000)
    assume(complete)
    inside = {polynomial(part) for other in equal for part in parts(other)}
    goal = Goal(polynomial(t))

    for e in SMALL:
        assert goal.reaches(polynomial(e)) == (polynomial(e) in inside), (show(polynomial(e)), t)


@settings(max_examples=120, deadline=None)
@given(terms(2), st.data())
def test_two_parts_of_one_term_are_never_said_to_exclude_each_other(t, data):
    equal, _ = closure(t, size(t) + 4, 60)
    goal = Goal(polynomial(t))
    other = data.draw(st.sampled_from(sorted(equal, key=repr)))

    def disjoint(u):
        for at, x in enumerate(u):
            if isinstance(x, tuple):
                yield from disjoint(x)
                for y in u[at + 1 :]:
                    if isinstance(y, tuple):
                        yield from ((p, q) for p in parts(x) for q in parts(y))

    for p, q in disjoint(other):
        assert goal.reaches_both(polynomial(p), polynomial(q)), (p, q, other)


@settings(max_examples=150, deadline=None)
@given(terms(2), terms(2))
def test_a_quotient_undoes_a_product(p, q):
    one, other = polynomial(p), polynomial(q)

    assert other == poly_quotient(mul(one, other), one)


# ---------------------------------------------------------------- goals
AXES = {"x": ("b", "d"), "y": ("b", "d"), "g": ("d",), "w": ("d", "n")}
THEORY = ExpressionBuilder(tracked_axes=frozenset("bdn"))
EPS = Fraction(1, 10**6)


class T:
    """A typed expression, written with operators."""

    def __init__(self, p: Poly, axes: tuple) -> None:
        self.p, self.axes = p, axes

    def __mul__(self, other):
        return self._binary("mul", other)

    def __truediv__(self, other):
        return self._binary("div", other)

    def __add__(self, other):
        if isinstance(other, Fraction):
            return T(THEORY.apply(Scalar("add", other), (self.p,), (self.axes,)), self.axes)
        return self._binary("add", other)

    def __sub__(self, other):
        return self._binary("sub", other)

    def __matmul__(self, other):
        p = THEORY.apply(MatMul(), (self.p, other.p), (self.axes, other.axes))
        return T(p, (self.axes[0], other.axes[1]))

    def _binary(self, fn, other):
        axes = max(self.axes, other.axes, key=lambda a: (len(a), sum(x is not None for x in a)))
        return T(THEORY.apply(Binary(fn), (self.p, other.p), (self.axes, other.axes)), axes)


def u(fn, x):
    return T(THEORY.apply(Unary(fn), (x.p,), (x.axes,)), x.axes)


def over(fn, x, dim=1):
    axes = (*x.axes[:dim], None, *x.axes[dim + 1 :])
    return T(THEORY.apply(Reduce(fn, dim), (x.p,), (x.axes,)), axes)


def scanned(fn, x, dim=1):
    return T(THEORY.apply(Scan(fn, dim), (x.p,), (x.axes,)), x.axes)


def accumulated(fn, x, dim=None):
    return T(THEORY.apply(Accumulate(fn, dim), (x.p,), (x.axes,)), x.axes)


x, y, g, w = (T(leaf(name, axes), axes) for name, axes in AXES.items())
r = u("sqrt", over("mean", u("square", x)) + EPS)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ((x / r * g) @ w, ((x * g) @ w) / r),
        ((x / r * g) @ w, (x * (g / r)) @ w),
        (x * u("rsqrt", over("mean", x * x) + EPS), x / r),
        (over("rms", x), u("sqrt", over("mean", u("square", x)))),
        (over("rms", x), accumulated("rms", x, 1)),
        (over("sum", x * y + x), over("sum", x) + over("sum", y * x)),
        (over("sum", x * over("sum", y)), over("sum", x) * over("sum", y)),
        (x * u("recip", y), x / y),
        (u("exp", x - y), u("exp", x) * u("exp", u("neg", y))),
        (accumulated("sum", x), x),
        (scanned("cumsum", x * y + x), scanned("cumsum", x) + scanned("cumsum", y * x)),
        (scanned("cumsum", x * r), scanned("cumsum", x) * r),
        (scanned("cumsum", scanned("reverse_cumsum", x, 0)), scanned("reverse_cumsum", scanned("cumsum", x), 0)),
        (over("sum", scanned("cumsum", x, 0)), scanned("cumsum", over("sum", x), 0)),
    ],
)
def test_equal_by_the_axioms(one, other):
    assert show(one.p) == show(other.p)
    assert one.p == other.p


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (x * y / y, x),
        (u("sqrt", x) * u("sqrt", x), x),
        (over("mean", x * x), over("mean", x) * x),
        (scanned("cumsum", x * x), scanned("cumsum", x) * x),
        (scanned("cumsum", x), scanned("reverse_cumsum", x)),
        (scanned("cumsum", x), scanned("cumsum", x, 0)),
        (scanned("cumsum", x) * over("sum", y), over("sum", x) * scanned("cumsum", y)),
        (over("sum", scanned("cumsum", x)), over("sum", x)),
        (over("sum", x), over("mean", x)),
        ((x / y) @ w, (x @ w) / over("sum", y)),
        ((x * x) @ w, (x @ w) * over("sum", x)),
        ((x * g / u("sqrt", over("mean", x) * x)) @ w, (x * g / over("rms", x)) @ w),
        (over("sum", x * x) * over("sum", y * y), over("sum", x * y) * over("sum", x * y)),
    ],
)
def test_not_equal_by_the_axioms(one, other):
    assert one.p != other.p


@pytest.mark.parametrize("part", [x, g, w, x * g, (x * g) @ w, r, over("mean", x * x), g / r, x / r * g])
def test_parts_of_rmsnorm_linear(part):
    assert Goal(((x / r * g) @ w).p).reaches(part.p)


@pytest.mark.parametrize(
    "part", [x @ w, over("sum", x), over("mean", x), u("exp", x), over("rms", x), x * x * g, x + x, r * r]
)
def test_what_is_no_part_of_rmsnorm_linear(part):
    assert not Goal(((x / r * g) @ w).p).reaches(part.p)


def test_two_values_that_compete_for_one_factor_exclude_each_other():
    goal = Goal(((x / r * g) @ w).p)

    assert not goal.reaches_both((x * g).p, g.p)
    assert goal.reaches_both((x * g).p, r.p)


def test_an_expression_is_printed_on_one_line():
    assert "Σd g·w·x/√(1/1000000 + μd x²)" == show(((x / r * g) @ w).p)
    assert {"√", "μd", "1/1000000"} == features((x / r).p)
    assert "Σd y·cumsum_d(x²)/√(1/1000000 + μd x²)" == show(over("sum", scanned("cumsum", x * x) * y / r).p)
    assert "reverse_cumsum_b(tanh(x))²" == show(u("square", scanned("reverse_cumsum", u("tanh", x), 0)).p)


def test_a_mean_is_a_sum_times_a_constant_where_the_program_says_so():
    theory = ExpressionBuilder(frozenset("bd"), reciprocals=(("d", Fraction(1, 8)),))
    mean = theory.apply(Reduce("mean", 1), (x.p,), (x.axes,))
    by_hand = theory.apply(Scalar("mul", Fraction(1, 8)), (theory.apply(Reduce("sum", 1), (x.p,), (x.axes,)),), ())

    assert mean == by_hand
    assert constant(Fraction(1, 8)) != constant(Fraction(1, 9))


def test_silu_opens_up_where_sigmoid_is_an_operator():
    closed, opened = ExpressionBuilder(), ExpressionBuilder(silu_is_product=True)
    by_hand = mul(x.p, opened.apply(Unary("sigmoid"), (x.p,), (x.axes,)))

    assert by_hand == opened.apply(Unary("silu"), (x.p,), (x.axes,))
    assert by_hand != closed.apply(Unary("silu"), (x.p,), (x.axes,))


def test_a_value_with_terms_that_vary_differently_is_found_below_a_sum():
    theory = ExpressionBuilder(frozenset("bdn"))
    mean = theory.apply(Reduce("mean", 1), (x.p,), (x.axes,))
    centred = theory.apply(Binary("sub"), (x.p, mean), ((), ()))
    goal = Goal(theory.sum_along(mul(centred, w.p), "d"), negatives=False)

    assert goal.reaches(centred)
    assert goal.reaches(mul(centred, w.p))
    assert not goal.reaches(add(x.p, mean))


def test_a_monomial_is_one_object_here_and_in_another_process():
    value = div(exp(mul(x.p, y.p)), sqrt(add(x.p, ONE)))
    again = div(exp(mul(y.p, x.p)), sqrt(add(ONE, x.p)))

    assert [m for m, _ in value] == [m for m, _ in again]
    assert all(m is k for (m, _), (k, _) in zip(value, again, strict=True))
    assert pickle.loads(pickle.dumps(value))[0][0] is value[0][0]


def test_monomials_that_nobody_holds_are_forgotten():
    held = mul(leaf("nobody", ("b",)), leaf("nobody", ("b",)))
    one = weakref.ref(held[0][0])
    mul.cache_clear()
    times.cache_clear()
    del held

    assert one() is None


# ---------------------------------------------------------------- the fast paths against the plain definition
def every_binding(p: Poly, part: ResultPart) -> list[frozenset[tuple[str, int]]]:
    """The plain truth of `bindings_within`: every way to bind some axes at the levels of a part."""
    found: list[frozenset[tuple[str, int]]] = [frozenset()]
    for axis in sorted(free_axes(p)):
        bindings = [(axis, n) for n, available in enumerate(part.levels) if axis in available]
        found += [others | {binding} for binding in bindings for others in found]
    return found


def every_level(p: Poly, outer: tuple[frozenset[str], ...]) -> tuple[frozenset[str], ...]:
    """The plain truth of `_binding_levels`: all axes of all sums around a part."""
    return outer


def iterated(steps: int) -> list[T]:
    """The values of an iteration in the logarithms of a matrix: x - log Σ exp x, over rows and columns in turn."""
    values = [x]
    for step in range(steps):
        e = u("exp", values[-1])
        total = over("sum", e, step % 2)
        log = u("log", total)
        values += [e, total, log, values[-1] - log]
    return values


@pytest.mark.parametrize(
    "goals",
    [[iterated(2)[-1], iterated(3)[-1]], [(x / r * g) @ w, x / r * g + x], [(x * x + y) @ w, over("sum", x * y)]],
)
def test_only_bindings_that_may_give_a_multiple_are_tried(goals, monkeypatch):
    values = [*iterated(3), x @ w, (x * g) @ w, r, x / r, over("sum", y), x * y, over("mean", x), x + y, (x * x) @ w]

    def answers() -> list[bool]:
        found = [Goal(goal.p) for goal in goals]
        single = [goal.reaches(v.p) for goal in found for v in values]
        return single + [goal.reaches_both(a.p, b.p) for goal in found for a in values for b in values]

    fast = answers()
    module = "prism_explore.generate.abstract_expr.subexpression"
    monkeypatch.setattr(f"{module}.bindings_within", every_binding)
    monkeypatch.setattr(f"{module}._binding_levels", every_level)

    assert fast == answers()
    assert {*fast} == {True, False}


def test_the_parts_of_an_iteration_are_as_many_as_its_values():
    def count(steps: int) -> int:
        known: dict[object, ResultPart] = {}
        ResultPart(iterated(steps)[-1].p, (), known)
        return len(known)

    assert count(9) - count(8) == count(8) - count(7)  # with all axes of all levels the number doubles


def test_bindings_give_the_leaves_of_the_part():
    part = ResultPart((x @ w).p, (), {})

    assert [*bindings_within(x.p, part)] == [frozenset({("d", 0)})]
    assert [*bindings_within(leaf("x", ("d", "o")), part)] == []
    assert len(every_binding(x.p, part)) == 2
