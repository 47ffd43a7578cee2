"""The number of operators that must still come is never put too high, and is seldom put too low."""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

import pytest

from prism_explore.events.journal import Journal
from prism_explore.events.kinds import NodeExpanded, RegionPruned
from prism_explore.generate import generate
from prism_explore.generate.abstract_expr.operator_lower_bound import OperatorLowerBound, Parts
from prism_explore.generate.abstract_expr.polynomial import (
    ONE,
    add,
    call,
    constant,
    div,
    exp,
    formal_sum,
    leaf,
    mul,
    sqrt,
)
from prism_explore.generate.abstract_expr.subexpression import Goal
from prism_explore.ir.program import ProgramBuilder, TensorProgram
from prism_explore.ir.text import show
from prism_explore.pipeline.search_space import Operators, default_space
from tests.generate.programs import MACHINE, attention, chain, common_factor, gate, rms_linear_small, softmax

X, W, V = leaf("x", ("b", "d")), leaf("w", ("d", "n")), leaf("v", ("d", "n"))


def product(x, w):
    return formal_sum(mul(x, w), "Σ", "d")


def rms(x):
    return sqrt(formal_sum(mul(x, x), "μ", "d"))


def least(result, joins, *made, **options):
    needs, have = asked(result, *made, **options)
    return needs.needed(joins, have)


def asked(result, *made, **options):
    needs = OperatorLowerBound(Goal(result), **{"rms": True, "quotients": True, **options})
    have = Parts()
    for p in made:
        have |= needs.parts_of(p)
    return needs, have


# ---------------------------------------------------------------- what is counted
def test_each_contraction_costs_an_operator():
    both = mul(product(X, W), product(X, V))

    assert 2 == least(both, 0, X, W, V)
    assert 1 == least(both, 0, product(X, W), V)
    assert 0 == least(both, 0, product(X, W), product(X, V))


def test_contractions_in_a_sum_may_be_one():
    assert 0 == least(add(product(X, W), product(X, V)), 0, X, W, V)


def test_joins_and_contractions_may_be_the_same_operators():
    both = mul(product(X, W), product(X, V))

    assert 2 == least(both, 2, X, W, V)
    assert 3 == least(both, 3, X, W, V)


def test_a_root_and_a_mean_are_one_operator_only_where_rms_is_known():
    result = div(X, rms(X))

    assert 2 == least(result, 0, X)
    assert 3 == least(result, 0, X, rms=False)
    assert 1 == least(result, 0, X, rms(X))
    assert 0 == least(result, 0, div(X, rms(X)))


def test_quotients_are_not_counted_where_a_reciprocal_may_stand_for_one():
    assert 1 == least(div(X, rms(X)), 0, X, quotients=False)


def test_roots_of_different_inputs_are_different_and_a_merged_root_is_none_more():
    assert 4 == least(mul(exp(sqrt(X)), call("f", sqrt(W))), 0, X, W)
    assert 1 == least(mul(sqrt(X), sqrt(W)), 0, X, W)
    assert 0 == least(mul(sqrt(X), sqrt(W)), 0, sqrt(X), sqrt(W))


def test_functions_of_the_same_inputs_count_once_and_of_others_again():
    assert 1 == least(mul(call("silu", X), call("silu", mul(X, X))), 0, X)
    assert 2 == least(mul(call("silu", X), call("silu", W)), 0, X)


def test_a_mean_that_is_a_sum_times_a_constant_is_not_counted_twice():
    quarter = constant(Fraction(1, 4))
    result = sqrt(mul(formal_sum(mul(X, X), "Σ", "d"), quarter))

    assert 3 == least(result, 0, X)
    assert 1 == least(result, 0, X, reciprocals=[("d", "1/4")])


def test_a_finished_result_needs_nothing():
    result = div(mul(product(X, W), exp(X)), add(ONE, rms(X)))

    assert 0 == least(result, 0, result)


# ---------------------------------------------------------------- additions and products
Y, Z = leaf("y", ("b", "d")), leaf("z", ("b", "d"))


def with_terms(result, joins, *made, **options):
    needs, have = asked(result, *made, **options)
    return needs.needed_with_terms(joins, have)


def test_terms_that_no_product_of_sums_can_have_made_cost_an_addition_each():
    result = add(add(X, Y), mul(Y, Z))

    assert 2 == with_terms(result, 0, X, Y, mul(Y, Z))
    assert 1 == with_terms(result, 0, add(X, Y), mul(Y, Z))
    assert 0 == with_terms(result, 0, result)


def test_what_cannot_stand_in_the_sum_saves_no_addition():
    result = div(add(X, Y), rms(add(X, Y)))

    assert 2 == with_terms(result, 0, add(X, Z), Y, quotients=False)
    assert 1 == with_terms(result, 0, add(X, Y), quotients=False)


def test_a_product_of_sums_may_have_made_several_terms_at_once():
    both = add(X, Y)

    assert 1 == with_terms(mul(both, both), 0, X, Y)
    assert 0 == with_terms(mul(both, both), 0, both)
    assert 1 == with_terms(mul(both, add(Z, W)), 0, X, Y, mul(Z, X))


def test_factors_of_one_name_count_each_for_itself():
    """Both sums have a function of the same name: their product's last term has it twice."""
    one, other = (add(p, call("f", p)) for p in (X, Y))

    assert 0 == with_terms(mul(one, other), 0, X, one, other)


def test_terms_with_a_constant_are_not_counted_because_an_operator_with_one_operand_adds_them():
    assert 1 == with_terms(add(X, constant(Fraction(2))), 0, X)


def test_inputs_that_are_multiplied_cost_a_product_each_after_the_first():
    result = mul(mul(X, Y), Z)

    assert 2 == with_terms(result, 0, X, Y, Z)
    assert 1 == with_terms(result, 0, X, Y, mul(Y, Z))
    assert 0 == with_terms(result, 0, result)


def test_a_product_of_matrices_is_a_product_as_well():
    assert 1 == with_terms(product(X, W), 0, X, W)
    assert 2 == with_terms(product(mul(X, Y), W), 0, X, Y, W)


# ---------------------------------------------------------------- against exhaustive search
def rsqrt_linear() -> TensorProgram:
    b = ProgramBuilder("rsqrt_linear")
    x, w = b.input("x", "b", 4), b.input("w", 4, 8)
    root = b.unary("rsqrt", b.scalar("add", b.reduce("mean", b.unary("square", x), 1), "1/100"))
    return b.build(b.matmul(b.binary("mul", x, root), w))


def mean_by_sum() -> TensorProgram:
    b = ProgramBuilder("mean_by_sum")
    x = b.input("x", "b", 4)
    mean = b.scalar("mul", b.reduce("sum", b.unary("square", x), 1), "1/4")
    return b.build(b.binary("div", x, b.unary("sqrt", mean)))


def two_gates() -> TensorProgram:
    b = ProgramBuilder("two_gates")
    x, y = b.input("x", "b", 4), b.input("y", "b", 4)
    return b.build(b.binary("mul", b.unary("silu", x), b.unary("silu", b.binary("add", x, y))))


def product_of_norms() -> TensorProgram:
    b = ProgramBuilder("product_of_norms")
    x, y = b.input("x", "b", 4), b.input("y", "b", 4)
    return b.build(b.binary("div", x, b.binary("mul", b.reduce("rms", x, 1), b.reduce("rms", y, 1))))


def exponents() -> TensorProgram:
    b = ProgramBuilder("exponents")
    x, y = b.input("x", "b", 4), b.input("y", "b", 4)
    return b.build(b.reduce("sum", b.unary("exp", b.binary("add", x, y)), 1))


def low_rank() -> TensorProgram:
    b = ProgramBuilder("low_rank")
    x, w, u = b.input("x", "b", 4), b.input("w", 4, 8), b.input("u", 4, 8)
    return b.build(b.binary("add", b.matmul(x, w), b.matmul(x, u)))


def of_two(result: Callable[[ProgramBuilder, int, int], int]) -> Callable[[], TensorProgram]:
    """A program of two inputs of one shape."""

    def make() -> TensorProgram:
        b = ProgramBuilder("of_two")
        return b.build(result(b, b.input("x", "b", 4), b.input("y", "b", 4)))

    return make


def of_three(result: Callable[[ProgramBuilder, int, int, int], int]) -> Callable[[], TensorProgram]:
    """A program of three inputs of one shape."""

    def make() -> TensorProgram:
        b = ProgramBuilder("of_three")
        return b.build(result(b, *(b.input(name, "b", 4) for name in "xyz")))

    return make


def square_of_sum(b: ProgramBuilder, x: int, y: int) -> int:
    return b.unary("square", b.binary("add", x, y))


def square_and_more(b: ProgramBuilder, x: int, y: int) -> int:
    return b.binary("add", square_of_sum(b, x, y), y)


def twice(b: ProgramBuilder, x: int, y: int) -> int:
    return b.binary("mul", b.binary("add", x, x), b.binary("add", y, y))


def shifted(b: ProgramBuilder, x: int, y: int) -> int:
    return b.binary("mul", b.scalar("add", x, 1), b.scalar("add", y, 2))


def step(b: ProgramBuilder, x: int, y: int, z: int) -> int:
    return b.binary("add", x, b.binary("mul", z, b.binary("sub", y, x)))


def cube(b: ProgramBuilder, x: int, y: int, z: int) -> int:
    return b.binary("mul", z, b.binary("mul", x, y))


def shared_sum(b: ProgramBuilder, x: int, y: int, z: int) -> int:
    both = b.binary("add", x, y)
    return b.binary("add", b.binary("mul", both, z), both)


def normalised_sum(b: ProgramBuilder, x: int, y: int, z: int) -> int:
    both = b.binary("add", x, b.binary("mul", y, z))
    return b.binary("div", both, b.reduce("rms", both, 1))


CASES: dict[str, tuple[Callable[[], TensorProgram], int]] = {
    "square of a sum": (of_two(square_of_sum), 6),
    "square of a sum, and more": (of_two(square_and_more), 6),
    "twice a product": (of_two(twice), 5),
    "shifted by constants": (of_two(shifted), 5),
    "a step from one to another": (of_three(step), 7),
    "product of three": (of_three(cube), 6),
    "a sum used twice": (of_three(shared_sum), 7),
    "a normalised sum": (of_three(normalised_sum), 7),
    "rmsnorm and linear": (rms_linear_small, 8),
    "softmax": (softmax, 7),
    "common factor": (common_factor, 6),
    "chain": (chain, 8),
    "gate": (gate, 6),
    "attention": (attention, 9),
    "rsqrt and linear": (rsqrt_linear, 8),
    "mean by sum": (mean_by_sum, 6),
    "two gates": (two_gates, 6),
    "product of norms": (product_of_norms, 7),
    "exponents": (exponents, 6),
    "low rank": (low_rank, 8),
}


def searched(program: TensorProgram, ops: int, off: frozenset[str]) -> tuple[set[str], Journal]:
    journal = Journal(clock=lambda: 0.0)
    space = replace(default_space(program), block_ops=ops, rules_off=off, nodes=10**6)
    return {show(f.sgraph) for f in generate(program, space, MACHINE, journal) if f}, journal


@pytest.mark.parametrize("name", CASES)
def test_no_family_is_lost_however_few_operators_there_are(name):
    make, largest = CASES[name]
    program = make()
    found = 0
    for ops in range(len(program.inputs) + 1, largest + 1):
        with_rules, _ = searched(program, ops, frozenset())
        without, _ = searched(program, ops, frozenset({"limit.needed", "limit.terms"}))
        found += len(without)
        assert without == with_rules

    assert found


def test_no_family_is_lost_where_no_other_rule_knows_better():
    """Without the abstract expression, which is what the bound is read off, all but the bound is switched off."""
    program = softmax()
    small = Operators(("exp",), (), ("add", "div"), False, ("sum",), ("plain", "sum"))
    space = replace(default_space(program), block=small, nodes=10**6)
    for ops in range(2, 6):
        others = frozenset({"limit.ops", "expr.apart", "mem.smem", "limit.accumulators"})
        off = replace(space, block_ops=ops, rules_off=others)
        bare = replace(off, rules_off=others | {"limit.needed", "limit.terms"})
        journal = Journal(clock=lambda: 0.0)
        one, other = ({show(f.sgraph) for f in generate(program, s, MACHINE, journal) if f} for s in (off, bare))
        assert other == one


@pytest.mark.parametrize(
    ("rule", "make", "ops"), [("limit.needed", attention, 9), ("limit.terms", of_three(normalised_sum), 7)]
)
def test_a_bound_cuts_what_no_other_rule_does(rule, make, ops):
    others = frozenset({"limit.needed", "limit.terms"} - {rule})
    _, on = searched(make(), ops, others)
    _, off = searched(make(), ops, others | {rule})

    def grown(journal):
        return sum(isinstance(e, NodeExpanded) for e in journal.events)

    cuts = [e.reason for e in on.events if isinstance(e, RegionPruned) and e.reason.rule == rule]
    assert grown(on) < grown(off)
    assert cuts
    assert {("limit.ops", "sound")} == {(c.code, c.soundness) for c in cuts}
