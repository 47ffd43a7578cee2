"""The tree of a search without rules, counted without being grown; and rows of the ledger that add up to it."""

from dataclasses import replace
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prism_explore.events.journal import Journal
from prism_explore.events.ledger import ledger
from prism_explore.generate import generate
from prism_explore.generate.canonical_order import rank
from prism_explore.generate.program_count import ProgramCounts
from prism_explore.generate.pruning.rules import RULE_NAMES
from prism_explore.generate.state import KernelState, operator_set
from prism_explore.ir.ops import Input, Node
from prism_explore.pipeline.search_space import Operators, Space, default_space
from tests.generate.programs import MACHINE, common_factor, gate, row_dot, scaled_linear, softmax

BLOCK = Operators(("exp",), (), ("mul",), True, (), ("plain",))
KERNEL = Operators(("exp",), (), ("div",), False, ())


# ---------------------------------------------------------------- by hand
def walked(space: Space, tensors: int) -> int:
    """Every graph of an operator_set, one by one, in the order that the search takes."""
    blocks, kernels = operator_set(space.block, 2), operator_set(space.kernel, 2)

    def block(n: int, last, behind: int) -> int:
        if n >= space.block_ops:
            return 0
        return sum(1 + behind + block(n + 1, a.rank, behind) for a in blocks.applications(n, last))

    def kernel(n: int, last, predefined: int, customs: int) -> int:
        if predefined + customs >= space.kernel_ops:
            return 0
        total = 0
        if predefined < space.predefined_kernels:
            total += sum(1 + kernel(n + 1, a.rank, predefined + 1, customs) for a in kernels.applications(n, last))
        if customs < space.custom_kernels:
            for size in range(1, space.block_inputs + 1):
                for operands in combinations(range(n), size):
                    place = rank(operands, len(kernels.entries))
                    if last is None or place > last:
                        total += 1 + block(size, None, kernel(n + 1, place, predefined, customs + 1))
        return total

    return kernel(tensors, None, 0, 0)


@pytest.mark.parametrize("tensors", [1, 2, 3])
@pytest.mark.parametrize(
    ("predefined", "customs", "kernel_ops"), [(0, 1, 5), (1, 1, 5), (1, 1, 1), (0, 2, 5), (1, 2, 2), (2, 1, 3)]
)
def test_the_tree_is_counted_as_it_would_be_walked(tensors, predefined, customs, kernel_ops):
    limits = {"predefined_kernels": predefined, "custom_kernels": customs, "kernel_ops": kernel_ops}
    space = Space(KERNEL, BLOCK, block_ops=3, block_inputs=2, **limits)
    tree = ProgramCounts(operator_set(KERNEL, 2), operator_set(BLOCK, 2), space)
    given_ = tuple(gate_input(i) for i in range(tensors))

    assert walked(space, tensors) == tree.extensions(KernelState("", given_, frozenset()))


def gate_input(i: int):
    return Node(Input(f"x{i}", None))  # type: ignore[arg-type] - only counted


# ---------------------------------------------------------------- the ledger
PROGRAMS = (row_dot(), scaled_linear(), softmax(), gate(), common_factor())


@st.composite
def spaces(draw: st.DrawFn):
    """A program and a small space for it, with any rules off."""
    program = draw(st.sampled_from(PROGRAMS))
    space = default_space(program)
    given = len(program.inputs)
    kernels = draw(st.sampled_from([(0, 1), (0, 1), (1, 1), (0, 2)]))
    return program, replace(
        space,
        block_ops=given + draw(st.integers(0, 2)),
        block_inputs=draw(st.integers(1, 3)),
        predefined_kernels=kernels[0],
        custom_kernels=kernels[1],
        kernel_ops=draw(st.integers(1, 3)),
        accumulators=draw(st.integers(0, 3)),
        nodes=draw(st.sampled_from([1, 2, 5, 20, 100, 400])),
        rules_off=frozenset(draw(st.lists(st.sampled_from(RULE_NAMES), max_size=4))),
    )


@settings(max_examples=120, deadline=None)
@given(spaces())
def test_cuts_families_and_what_budgets_left_add_up_to_the_whole(case):
    program, space = case
    journal = Journal(clock=lambda: 0.0)
    families = [f for f in generate(program, space, MACHINE, journal) if f is not None]
    account = ledger(journal.events).space_breakdown

    assert account is not None
    assert len(families) == account.families
    assert (
        account.total
        == account.pruned + account.out_of_budget + account.families + account.unfinished + account.invalid
    )
    assert account.adds_up


def test_a_default_space_adds_up_too_though_its_numbers_are_rounded():
    journal = Journal(clock=lambda: 0.0)
    list(generate(scaled_linear(), default_space(scaled_linear()), MACHINE, journal))
    account = ledger(journal.events).space_breakdown

    assert account is not None
    assert account.total > 1e12
    assert account.adds_up


def test_what_is_cut_as_a_whole_and_extended_by_nothing_is_counted_exactly():
    journal = Journal(clock=lambda: 0.0)
    list(generate(row_dot(), default_space(row_dot()), MACHINE, journal))

    assert {"exact"} == {e.counted for e in journal.events if getattr(e, "operator", "") == "whole block graph"}


def test_while_it_grows_there_is_no_account():
    journal = Journal(clock=lambda: 0.0)
    growing = generate(row_dot(), default_space(row_dot()), MACHINE, journal)
    next(growing)

    assert ledger(journal.events).space_breakdown is None
