"""Arithmetic in prime fields: exact, with a bound, and silent where fields know nothing."""

from __future__ import annotations

import operator
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from prism_explore.ir.elementwise import UNARY
from prism_explore.ir.program import ProgramBuilder, TensorProgram
from prism_explore.ir.text import parse
from prism_explore.pipeline.stages import Counterexample
from prism_explore.verify.counterexample import exact_trials, prime_fields
from prism_explore.verify.counterexample.prime_fields import Field, Inconclusive, P, Q, Residue, error_bound
from prism_explore.verify.counterexample.refuter import Refuter, Survived, Untried, replay
from tests.verify.corpus import CASES, PROGRAMS
from tests.verify.workloads import ENTRIES, program_of, sgraph_of

FIELD = Field.draw(np.random.default_rng(1))
RELU, TANH, GELU = (UNARY[fn] for fn in ("relu", "tanh", "gelu"))
residues = st.tuples(st.integers(1, P - 1), st.integers(1, Q - 1)).map(lambda pq: Residue(FIELD, *pq, 1))


def number(value: Fraction | int) -> Residue:
    return Residue(FIELD, 0, 0) + value


# ---------------------------------------------------------------- the field
@pytest.mark.parametrize("n", [P, Q])
def test_both_moduli_are_prime_and_three_modulo_four(n):
    def is_prime(n: int) -> bool:
        d = n - 1
        s = (d & -d).bit_length() - 1
        for a in (2, 3, 5, 7, 11, 13):
            x = pow(a, d >> s, n)
            if x not in (1, n - 1) and all(pow(x, 1 << k, n) != n - 1 for k in range(1, s)):
                return False
        return True

    assert is_prime(n)
    assert 3 == n % 4
    assert 2 * Q + 1 == P


@given(residues, residues, residues)
def test_sums_products_and_quotients_are_those_of_a_field(a, b, c):
    assert a * (b + c) == a * b + a * c
    assert (a - b) + b == a
    assert (a / b) * b == a
    assert a / b / c == a / (b * c)
    assert 1 / (1 / a) == a


def test_a_zero_divisor_gives_zero_as_the_claim_has_it():
    assert number(0) == number(3) / number(0)


@given(residues, residues)
def test_an_exponential_of_a_sum_is_a_product_and_its_rate_is_random(a, b):
    assert (a + b).exp() == a.exp() * b.exp()
    assert (-a).exp() * a.exp() == number(1)
    assert a.exp() != number(1)
    assert FIELD.generator != Field.draw(np.random.default_rng(2)).generator


def test_rationals_are_exact():
    assert number(Fraction(1, 3)) * 3 == number(1)
    assert number(0) + 0.5 == number(Fraction(1, 2))


@given(residues)
def test_a_root_squares_to_its_radicand_or_does_not_exist(a):
    square = a * a
    assert square.sqrt() * square.sqrt() == square
    assert square.sqrt() in (a, -a) or square.sqrt() * square.sqrt() == square
    try:
        root = a.sqrt()
    except Inconclusive as stuck:
        assert "no square root in the fields" == stuck.reason
    else:
        assert root * root == a


def test_of_a_hashed_function_only_congruence_is_known():
    a, b = Residue(FIELD, 5, 7, 1), Residue(FIELD, 6, 7, 1)

    assert a.elementwise(RELU) == Residue(FIELD, 5, 7, 3).elementwise(RELU)
    assert a.elementwise(RELU) != b.elementwise(RELU)
    assert a.elementwise(RELU) != a.elementwise(TANH)
    assert (a + a).elementwise(RELU) != a.elementwise(RELU) + a.elementwise(RELU)
    assert a.elementwise(RELU) != Residue(Field.draw(np.random.default_rng(3)), 5, 7, 1).elementwise(RELU)


@pytest.mark.parametrize("act", [lambda e: e.exp(), lambda e: e.elementwise(RELU), lambda e: (e + 1).elementwise(GELU)])
def test_what_comes_behind_an_exponential_is_inconclusive(act):
    with pytest.raises(Inconclusive, match="of an exponential"):
        act(Residue(FIELD, 5, 7, 1).exp())


# ---------------------------------------------------------------- the bound
def test_the_bound_follows_degrees_denominators_exponentials_and_roots():
    x, y, z = (Residue(FIELD, 3 + n, 5 + n, 1) for n in range(3))

    assert 1 / Q == error_bound(x + y, y + x)
    assert 3 / Q == error_bound(x * y * z, z)
    assert 3 / Q == pytest.approx(error_bound(x / y + z / y, (x + z) / y))
    assert 5 / Q == pytest.approx(error_bound(x / y + x / z, x))
    assert 8 * 2 / Q == error_bound((x * x).sqrt(), x)
    one = x.exp() / x.exp()
    assert 9 / Q == pytest.approx(error_bound(one, one))
    two = x.exp() + y.exp()
    assert 8 * 2**4 / Q + Q ** (-1 / 4) == pytest.approx(error_bound(two, two))
    assert 3 == len((two / z * (x.exp() + y.exp())).exponents)
    assert 2 * (8 * 2**4 / Q + Q ** (-1 / 4)) == pytest.approx(error_bound(two / two, number(1)))


def test_what_was_divided_by_counts_though_it_cancels():
    """At a zero of y the two are alike, as x/0 is 0; at a zero of 1 + y, the inverse of a quotient is."""
    x, y = (Residue(FIELD, 3 + n, 5 + n, 1) for n in range(2))

    assert 2 / Q == pytest.approx(error_bound(y / x, number(0)))
    assert 3 / Q == pytest.approx(error_bound(1 / (1 + 1 / y), number(1)))
    assert 8 * (4 + 1) / Q == pytest.approx(error_bound(((x / y) * (x / y)).sqrt(), number(1)))
    assert 2 / Q == pytest.approx(error_bound(x.elementwise(RELU), y))
    assert 3 / Q == pytest.approx(error_bound((x * x).elementwise(RELU), y))


SMALL = 11
"""Elements of a field that is small enough to count in."""
Polynomial = dict[tuple[int, int], int]
"""In x and y: coefficients by exponents, none of them 0."""


def plus(a: Polynomial, b: Polynomial) -> Polynomial:
    sums = {m: (a.get(m, 0) + b.get(m, 0)) % SMALL for m in {*a, *b}}
    return {m: c for m, c in sums.items() if c}


def times(a: Polynomial, b: Polynomial) -> Polynomial:
    total: Polynomial = {}
    for (i, j), c in a.items():
        for (k, m), d in b.items():
            total = plus(total, {(i + k, j + m): c * d % SMALL})
    return total


class Quotient:
    """A rational function over the small field, as its letters say, with 1/0 = 0."""

    def __init__(self, above: Polynomial, below: Polynomial) -> None:
        self.above, self.below = above, below

    def __add__(self, o: Quotient) -> Quotient:
        above = plus(times(self.above, o.below), times(o.above, self.below))
        return Quotient(above, times(self.below, o.below))

    def __mul__(self, o: Quotient) -> Quotient:
        return Quotient(times(self.above, o.above), times(self.below, o.below))

    def __truediv__(self, o: Quotient) -> Quotient:
        return self * Quotient(o.below, o.above) if o.above else Quotient({}, {(0, 0): 1})

    def differs(self, o: Quotient) -> bool:
        return bool(plus(times(self.above, o.below), times(times(o.above, self.below), {(0, 0): SMALL - 1})))


letters = st.sampled_from(["x", "y", 1, 2])
expressions = st.recursive(
    letters, lambda inner: st.tuples(st.sampled_from(["add", "mul", "truediv"]), inner, inner), max_leaves=5
)


def valued(expression, values):
    match expression:
        case (name, a, b):
            return getattr(operator, name)(valued(a, values), valued(b, values))
        case letter:
            return values[letter]


@example(("truediv", "y", "x"), ("mul", 2, ("add", 1, ("mul", 2, ("add", 2, ("add", 1, 2))))))
@example(("truediv", 1, ("add", 1, ("truediv", 1, "y"))), 1)
@settings(max_examples=60, deadline=None)
@given(expressions, expressions)
def test_counted_over_a_small_field_different_functions_are_alike_at_most_as_often_as_the_bound_says(one, other):
    """Modulo q alone, and at every x and y there is; residues modulo p only tell denominators apart."""
    functions = {"x": {(1, 0): 1}, "y": {(0, 1): 1}, 1: {(0, 0): 1}, 2: {(0, 0): 2}}
    quotients = {k: Quotient(f, {(0, 0): 1}) for k, f in functions.items()}
    assume(valued(one, quotients).differs(valued(other, quotients)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(prime_fields, "Q", SMALL)
        alike, bound = 0, 1.0
        for x in range(SMALL):
            for y in range(SMALL):
                values = {"x": Residue(FIELD, 10007, x, 1), "y": Residue(FIELD, 20011, y, 1)}
                values |= {n: Residue(FIELD, 0, 0) + n for n in (1, 2)}
                a, b = valued(one, values), valued(other, values)
                alike += a.q == b.q
                bound = min(bound, error_bound(a, b))

    assert alike / SMALL**2 <= bound


# ---------------------------------------------------------------- programs
def exact(program: TensorProgram, text_or_graph: object, seed: int = 0):
    graph = parse(text_or_graph) if isinstance(text_or_graph, str) else text_or_graph
    return Refuter(program).attempt_exact(graph, seed)  # type: ignore[arg-type]


@pytest.mark.parametrize("case", [c for c in CASES if c.right], ids=lambda c: c.name)
def test_no_right_candidate_differs_in_prime_fields(case):
    outcome = exact(PROGRAMS[case.program], case.sgraph)

    assert not isinstance(outcome, Counterexample)
    if isinstance(outcome, Survived):
        assert all(t.error_bound is not None and t.error_bound <= 0.5 for t in outcome.trials)
        assert {"prime fields"} == {t.arithmetic for t in outcome.trials}


WRONG = [c for c in CASES if not c.right]


@pytest.mark.parametrize("case", WRONG, ids=lambda c: c.name)
def test_no_wrong_candidate_survives_prime_fields(case):
    assert not isinstance(exact(PROGRAMS[case.program], case.sgraph), Survived)


def test_most_wrong_candidates_without_roots_are_seen_and_can_be_run_again():
    seen = {c.name: exact(PROGRAMS[c.program], c.sgraph) for c in WRONG}
    counterexamples = {name: w for name, w in seen.items() if isinstance(w, Counterexample)}

    assert 12 <= len(counterexamples)
    for case in WRONG:
        if case.name in counterexamples:
            assert counterexamples[case.name] == replay(counterexamples[case.name], PROGRAMS[case.program], case.sgraph)


def test_roots_are_tried_where_they_exist():
    outcome = exact(PROGRAMS["rms_bare"], next(c.sgraph for c in CASES if c.name == "rms_fused"))

    assert isinstance(outcome, Survived)
    assert 1e-9 < outcome.trials[0].error_bound < 1e-6  # type: ignore[operator]


def test_two_keys_give_attention_a_bound_and_more_trials_a_better_one():
    entry = next(e for e in ENTRIES if e.name == "attention-R6")
    outcome = exact(program_of(entry.workload), sgraph_of(entry))

    assert isinstance(outcome, Survived)
    assert 3 == len(outcome.trials)
    assert 0.09 < outcome.trials[0].error_bound < 0.11  # type: ignore[operator]
    assert 3 == len({t.seed for t in outcome.trials})


def test_a_trial_that_errs_too_often_is_none():
    entry = next(e for e in ENTRIES if e.name == "attention-R7")
    outcome = exact(program_of(entry.workload), sgraph_of(entry))

    assert isinstance(outcome, Untried)
    assert "errs with probability up to" in outcome.reason


@pytest.mark.parametrize("name", ["max", "abs"])
def test_fields_have_no_order(name):
    b = ProgramBuilder("ordered")
    x = b.input("x", "b", 8)
    program = b.build(b.reduce("max", x, 1) if name == "max" else b.unary("abs", x))

    assert Untried(f"prime fields have no {name}") == exact(program, program.graph)


def test_a_law_that_fields_do_not_know_is_no_difference():
    """relu(3x) is 3 relu(x), but a hash knows nothing of it; and silu by its definition is exact."""
    b = ProgramBuilder("homogeneous")
    program = b.build(b.unary("relu", b.scalar("mul", b.input("x", "b", 8), 3)))
    outcome = exact(program, "sgraph\n  x = input f32[b, 8]\n  %1 = relu(x)\n  %2 = mul_scalar(%1, 3)\n  return %2")

    assert Untried("prime fields know too little of a function that occurs") == outcome


def test_inputs_are_uniform_and_independent_of_their_place():
    """Not the index of an element, as in the test that accepted wrong programs."""
    graph = PROGRAMS["quotient"].graph
    drawn = exact_trials.draw(graph, (("x", (3, 4)), ("y", (3, 4))), {}, 5)
    again = exact_trials.draw(graph, (("x", (3, 4)), ("y", (3, 4))), {}, 5)
    values = [e.p for name in ("x", "y") for e in drawn.inputs[name].flat]

    assert 24 == len(set(values))
    assert values == [e.p for name in ("x", "y") for e in again.inputs[name].flat]
    steps = {(b - a) % P for a, b in pairwise(values)}
    assert 23 == len(steps)
    assert 0.2 < np.mean(values) / P < 0.8
