"""Five thousand mutated sGraphs: none that differs from its program is ever called proved.

The judge is the block interpreter at the program's own extents, with numbers and inputs that the refuter does
not use. A hundred thousand by `make thorough`; with a table per kind, by `benchmarks/mutants.py`.
"""

from __future__ import annotations

import random

import pytest

from prism_explore.errors import ShapeError
from prism_explore.frontend import trace
from prism_explore.ir.graph import SGraph
from prism_explore.ir.program import TensorProgram
from prism_explore.ir.text import parse
from prism_explore.pipeline.stages import Candidate, Proof, Verified
from prism_explore.verify.prover import Prover
from tests.verify.candidates import Entry, row_of, sgraph_at, variant
from tests.verify.corpus import CASES, PROGRAMS
from tests.verify.counterexample.adversarial import Account, Base, decided, run
from tests.verify.mutate import TOLERANCE, Mutant, apply_kind, judge, judge_in_decimals, smaller, tidy
from tests.verify.mutations import KINDS
from tests.verify.workloads import ENTRIES, TEXTS, program_of, sgraph_of

MUTANTS = 5_000
ENOUGH = 8
"""Graphs that each kind of mutation is tried on."""
SMALL = {name: TensorProgram(name, smaller(p.graph)) for name, p in PROGRAMS.items()}
BASES = [
    *(Base(c.name, SMALL[c.program], smaller(c.sgraph)) for c in CASES),
    *(Base(e.name, program_of(e.workload, tiny=True), sgraph_of(e, tiny=True)) for e in ENTRIES),
]
"""Every candidate of the corpus and of the workloads, right and wrong ones."""


@pytest.mark.slow
@pytest.mark.mutants
def test_no_mutant_is_falsely_proved(request, capsys):
    wanted = request.config.getoption("--mutants") or MUTANTS

    # A mutant of a whole transformer block costs as much as fifty others; the benchmark has them.
    account = run([b for b in BASES if b.program.name != "transformer_block"], wanted, seed=20)

    with capsys.disabled():
        print(f"\n{dict(account.verdicts)}; unknown and equal: {account.missed_share:.2%} {dict(account.missed)}")
        print(f"unknown as their bases: {account.open_share:.2%} of {', '.join(account.open)}")
    assert [] == account.crashes
    assert [] == account.false
    assert [] == account.disagreements
    assert len(account.masked) <= wanted / 1000, account.masked
    assert account.legal > wanted * 0.98
    assert account.verdicts["proved"] > wanted / 20, "mutants that stay right are needed, or the test shows nothing"
    assert account.verdicts["refuted"] > wanted / 2
    assert account.missed_share < 0.01, "\n".join(account.examples[:5])
    assert account.open_share < 0.05, account.open


def test_a_mutant_that_divides_by_0_everywhere_counts_as_one_without_numbers():
    times_zero = parse("sgraph\n  x = input f32[n, 6]\n  %1 = mul_scalar(x, 0)\n  return %1\n")
    divided = parse("sgraph\n  x = input f32[n, 6]\n  %1 = sub(x, x)\n  %2 = div(x, %1)\n  return %2\n")
    program, account = TensorProgram("p", times_zero), Account()

    word = decided(Prover(program, saturation=None), Base("b", program, times_zero), Mutant(divided, ()), account)

    assert word == "unknown, no number in floats"
    assert not account.missed


# ---------------------------------------------------------------- what is proved and floats have no number for
class Believer(Prover):
    """Proves everything."""

    def verify(self, candidate: Candidate, *_: object) -> Verified:
        return Verified(candidate, Proof("belief", "equal for all sizes", ()), ())


def online_by_the_inverse(**lines: str) -> tuple[TensorProgram, SGraph]:
    """Grouped attention, online, rescaled by the inverse of the running maximum: its exponentials overflow."""
    text = variant(TEXTS["grouped_attention-R10"], m="recip(running_max($s, dim=3))", **lines)
    row = row_of("grouped_attention").resized(h=4, g=2, s=6, d=2, t=4)
    program = trace(row.code, row.inputs, "grouped_attention").program
    return program, sgraph_at(Entry("grouped_attention", "R10", text, True), row, program)


def test_a_proof_of_what_overflows_in_floats_is_judged_in_numbers_that_do_not():
    program, graph = online_by_the_inverse()
    account = Account()

    assert judge(program, graph).missing
    word = decided(Prover(program, saturation=None), Base("b", program, graph), Mutant(graph, ()), account)

    assert "proved, no number in floats" == word
    assert not account.false


@pytest.mark.parametrize(
    ("wrong", "shows_in_floats"),
    [
        ({"den": "accum_sum($e, dim=3)"}, True),
        ({"den": "add(accum_rescaled($e, $m, dim=3), accum(relu(add_scalar(abs($m), -700))))"}, False),
    ],
    ids=["a sum that is not rescaled", "wrong only where floats have no number"],
)
def test_a_wrong_proof_of_what_overflows_in_floats_is_called_wrong(wrong, shows_in_floats):
    program, graph = online_by_the_inverse(**wrong)
    account, truth = Account(), judge(program, graph)

    assert truth.missing
    assert shows_in_floats == (truth.worst > TOLERANCE)
    assert judge_in_decimals(program, graph) > 1e-3
    assert "proved, wrongly" == decided(Believer(program), Base("b", program, graph), Mutant(graph, ()), account)
    assert 1 == len(account.false)


def test_decimals_do_not_tell_where_their_rounding_may_be_all_of_the_difference():
    times_three = parse("sgraph\n  x = input f32[n, 6]\n  %1 = mul_scalar(x, 3)\n  return %1\n")
    detour = parse(
        f"sgraph\n  x = input f32[n, 6]\n  %1 = add_scalar(x, {7**99})\n  %2 = add_scalar(%1, -{7**99})\n"
        "  %3 = mul_scalar(%2, 3)\n  return %3\n"
    )

    assert judge_in_decimals(TensorProgram("p", times_three), detour) is None
    assert judge_in_decimals(TensorProgram("p", times_three), times_three) == 0.0


def test_there_are_more_than_forty_kinds_and_each_has_a_name():
    assert len(KINDS) >= 40
    assert len(KINDS) == len({k.name for k in KINDS})


@pytest.mark.parametrize("kind", KINDS, ids=lambda k: k.name)
def test_a_kind_finds_something_to_edit_in_the_corpus_and_another_spelling_stays_equal(kind):
    r = random.Random(3)
    applied = 0
    for base in r.sample(BASES, len(BASES)):
        try:
            graph = apply_kind(base.sgraph, kind, r)
            if graph is None:
                continue
            applied += 1
            graph.types()
        except ShapeError:
            continue
        if kind.spelling:
            assert judge(base.program, base.sgraph).equal == judge(base.program, tidy(graph)).equal, base.name
        if applied == ENOUGH:
            break

    assert applied
