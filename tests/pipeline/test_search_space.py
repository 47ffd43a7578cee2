"""The stated space: what is in it by default, and that it says so."""

from fractions import Fraction

import pytest

from prism_explore.generate.abstract_expr.size_estimate import fits
from prism_explore.ir.program import ProgramBuilder
from prism_explore.pipeline.search_space import (
    LARGEST_OPS,
    default_space,
    fused_ops,
    limited_ops,
    why_no_single_kernel,
)
from tests.verify.workloads import program_of


@pytest.mark.parametrize(
    ("workload", "operators"),
    [
        ("rmsnorm_linear", 11),
        ("qk_norm_attention", 11),
        ("qknorm", 13),
        ("residual_rmsnorm_linear", 13),
        ("moe_gating", 16),
    ],
)
def test_a_program_in_one_kernel_has_its_loads_its_operators_and_accumulators(workload, operators):
    program = program_of(workload)

    assert operators == fused_ops(program)
    assert operators == default_space(program).block_ops


def test_small_programs_get_the_published_limit():
    program = program_of("swiglu")

    assert fused_ops(program) < 11
    assert 11 == default_space(program).block_ops


def test_a_program_too_large_for_one_kernel_gets_the_published_limit_and_says_what_it_takes():
    b = ProgramBuilder("long")
    value = b.input("x", "b", 4)
    for _ in range(LARGEST_OPS):
        value = b.unary("exp", value)
    program = b.build(value)
    space = default_space(program)

    assert 11 == space.block_ops
    assert space.describe(program)["block graph"].endswith(f"the program itself takes {LARGEST_OPS + 1}")


def test_a_space_says_what_the_program_takes_without_a_loop_and_with_one():
    program = program_of("rmsnorm_linear")
    said = default_space(program).describe(program)["block graph"]

    assert fused_ops(program) == fused_ops(program, with_loop=False) + 1
    assert said.endswith("the program itself takes 10, and 11 with a loop")


def test_a_root_of_a_mean_of_squares_that_is_used_elsewhere_is_not_one_operator():
    b = ProgramBuilder("both")
    x = b.input("x", "b", 4)
    squares = b.unary("square", x)
    root = b.unary("sqrt", b.reduce("mean", squares, 1))

    assert 6 == fused_ops(b.build(b.binary("div", squares, root)))


def test_operators_that_only_unpack_bytes_do_not_count_against_the_limit():
    b = ProgramBuilder("ternary")
    x, q = b.input("x", "b", 64), b.input("q", 64, dtype="u8")
    bits = q
    for _ in range(LARGEST_OPS):
        bits = b.unary("floor", b.scalar("mul", bits, Fraction(1, 2)))
    program = b.build(b.binary("mul", x, bits))

    assert 2 + 2 * LARGEST_OPS + 1 == fused_ops(program) == default_space(program).block_ops
    assert 3 == limited_ops(program)
    assert "" == why_no_single_kernel(program)
    assert fits(program)
