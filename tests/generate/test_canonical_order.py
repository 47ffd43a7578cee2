"""The canonical order is complete and free of duplicates, and equal graphs get equal numbers."""

from itertools import product

import pytest

from prism_explore.generate.canonical_order import (
    DEFINITIONS,
    ExpressionNumbers,
    OperatorSet,
    ProgramCounter,
    UninterpretedOperator,
    rank,
)
from prism_explore.ir.ops import Accumulate, AccumulateRescaled, Binary, Input, Reduce, Unary
from prism_explore.ir.tensors import tensor
from prism_explore.ir.text import parse

ALPHABET = OperatorSet(
    (UninterpretedOperator("f", 1), UninterpretedOperator("g", 2), UninterpretedOperator("h", 2, commutative=True))
)


def programs_by_brute_force(inputs: int, ops: int) -> set[frozenset]:
    """Sets of computed expressions, found by trying every operator at every step, in any order."""
    leaves = [("input", i) for i in range(inputs)]
    found: set[frozenset] = {frozenset()}
    for _ in range(ops):
        longer = set()
        for program in found:
            tensors = [*leaves, *program]
            for x, y in product(tensors, tensors):
                h = ("h", *sorted((x, y), key=repr))
                for made in (("f", x), ("g", x, y), h):
                    if made not in program:
                        longer.add(program | {made})
        found = longer
    return found


@pytest.mark.parametrize(("inputs", "ops", "count"), [(2, 2, 117), (2, 3, 2136), (3, 3, 9375)])
def test_every_program_has_exactly_one_canonical_sequence(inputs, ops, count):
    sequences = list(ALPHABET.sequences(inputs, ops))
    computed = set()
    for sequence in sequences:
        values = [("input", i) for i in range(inputs)]
        for kind, args in sequence:
            operands = [values[a] for a in args]
            name = "fgh"[kind]
            values.append((name, *(sorted(operands, key=repr) if name == "h" else operands)))
        computed.add(frozenset(values[inputs:]))

    assert count == len(sequences)
    assert count == len(computed)
    assert programs_by_brute_force(inputs, ops) == computed


@pytest.mark.parametrize(("inputs", "ops", "count"), [(2, 2, 117), (2, 3, 2136), (3, 3, 9375)])
def test_the_counter_counts_without_enumerating(inputs, ops, count):
    assert count == ProgramCounter(ALPHABET).of_length(inputs, ops)


def test_programs_of_all_lengths_add_up():
    counter = ProgramCounter(ALPHABET)

    assert counter.up_to_length(2, 3) == sum(counter.of_length(2, n) for n in range(4))
    assert counter.up_to_length(2, 3) == counter.following(2, 3)[ALPHABET.application_count(2)]


@pytest.mark.parametrize("gone", [(0,), (3,), (1, 4), (0, 1, 2, 5)])
def test_to_leave_applications_out_for_good_is_to_begin_with_fewer(gone):
    steps = [(a.kind, a.args) for a in ALPHABET.applications(2, None)]
    without = {steps[n] for n in gone}
    programs = [p for length in range(4) for p in ALPHABET.sequences(2, length) if not without & {*p}]

    assert len(programs) == ProgramCounter(ALPHABET).following(2, 3)[len(steps) - len(gone)]


def test_applications_come_in_increasing_rank():
    steps = list(ALPHABET.applications(4, None))

    assert sorted(s.rank for s in steps) == [s.rank for s in steps]
    assert steps[7:] == list(ALPHABET.applications(4, steps[6].rank))


def test_the_largest_operand_index_decides_first():
    assert rank((0, 3), 0) > rank((2, 2), 9)


EQUATED = [
    ("definition.square", (Binary("mul"), "x", "x"), (Unary("square"), "x")),
    ("definition.quotient", (Binary("mul"), "x", (Unary("recip"), "y")), (Binary("div"), "x", "y")),
    ("definition.quotient", (Binary("mul"), (Unary("rsqrt"), "y"), "x"), (Binary("div"), "x", (Unary("sqrt"), "y"))),
    ("definition.rms", (Unary("sqrt"), (Reduce("mean", 1), (Unary("square"), "x"))), (Reduce("rms", 1), "x")),
    ("definition.rms", (Unary("sqrt"), (Accumulate("mean", 1), (Unary("square"), "x"))), (Accumulate("rms", 1), "x")),
    ("definition.accumulated_sum", (Accumulate("sum"), (Reduce("sum", 1), "x")), (Accumulate("sum", 1), "x")),
    ("definition.accumulated_sum", (Reduce("sum", 1), (Accumulate("sum"), "x")), (Accumulate("sum", 1), "x")),
    (
        "definition.rescaled_sum",
        (AccumulateRescaled(), (Reduce("sum", 1), "x"), "y"),
        (AccumulateRescaled(1), "x", "y"),
    ),
    (
        "definition.rescaled_sum",
        (Reduce("sum", 1), (AccumulateRescaled(), "x", "y")),
        (AccumulateRescaled(1), "x", "y"),
    ),
]


@pytest.mark.parametrize(("definition", "one", "other"), EQUATED)
def test_what_a_definition_equates_has_one_number_unless_it_is_off(definition, one, other):
    others = {row.name for row in DEFINITIONS} - {definition}
    for off, equal in (((), True), (others, True), ({definition}, False)):
        table = ExpressionNumbers(off)
        assert (number(table, one) == number(table, other)) == equal


def test_each_definition_is_tried():
    assert {row.name for row in DEFINITIONS} == {name for name, _, _ in EQUATED}


def test_operands_that_commute_are_sorted():
    table = ExpressionNumbers()

    assert number(table, (Binary("add"), "x", "y")) == number(table, (Binary("add"), "y", "x"))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ((Binary("div"), "x", "y"), (Binary("div"), "y", "x")),
        ((Accumulate("sum"), (Reduce("mean", 1), "x")), (Accumulate("mean", 1), "x")),
        ((Unary("sqrt"), (Accumulate("mean", 1), "x")), (Accumulate("rms", 1), "x")),
        ((Reduce("sum", 0), "x"), (Reduce("sum", 1), "x")),
    ],
)
def test_what_differs_has_two_numbers(one, other):
    table = ExpressionNumbers()

    assert number(table, one) != number(table, other)


def number(table: ExpressionNumbers, term) -> int:
    if isinstance(term, str):
        return table.number(Input(term, tensor("b", 4)), ())
    op, *args = term
    return table.number(op, tuple(number(table, a) for a in args))


def test_graphs_that_differ_in_naming_only_have_one_number():
    one = parse("""sgraph
      x = input f32[b, 4]
      y = input f32[b, 4]
      %2 = custom(x, y) grid[]
        %0 = load(0, imap=?)
        %1 = load(1, imap=?)
        %2 = exp(%0)
        %3 = exp(%1)
        %4 = add(%2, %3)
        %5 = store(%4, omap=?)
      return %2""")
    other = parse("""sgraph
      x = input f32[b, 4]
      y = input f32[b, 4]
      %2 = custom(y, x) grid[]
        %0 = load(0, imap=?)
        %1 = load(1, imap=?)
        %2 = exp(%1)
        %3 = exp(%0)
        %4 = add(%3, %2)
        %5 = store(%4, omap=?)
      return %2""")
    table = ExpressionNumbers()

    assert table.number_graph(one) == table.number_graph(other)
