"""Every lemma of every right candidate is replayed by egglog from axioms alone, and the checker agrees.

Here a sample that has every operator; `benchmarks/certificates.py` goes over all of them.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import pytest

from prism_explore.events.journal import Journal
from prism_explore.ir.graph import SGraph, walk
from prism_explore.ir.ops import Op, op_name
from prism_explore.ir.program import TensorProgram
from prism_explore.ir.text import parse, show
from prism_explore.pipeline.stages import Proof, Verified
from prism_explore.verify.certificate.certify import certify
from prism_explore.verify.checker.check import check
from prism_explore.verify.prover import Prover
from tests.verify.corpus import CASES, PROGRAMS, candidate
from tests.verify.normal_form.test_rules import graph
from tests.verify.workloads import RIGHT, program_of, sgraph_of


@cache
def graphs() -> dict[str, tuple[TensorProgram, SGraph]]:
    """Right candidates of the corpus and the workloads, with their programs."""
    found = {f"corpus-{c.name}": (PROGRAMS[c.program], c.sgraph) for c in CASES if c.right}
    return found | {e.name: (program_of(e.workload), sgraph_of(e)) for e in RIGHT}


def operators(name: str) -> set[str]:
    """The words for all operators that occur in a candidate or its program."""

    def words(graph: SGraph) -> set[str]:
        ops: list[Op] = [node.op for _, node in walk(graph)]
        return {op_name(op) for op in ops}

    program, sgraph = graphs()[name]
    return words(sgraph) | words(program.graph)


def sample() -> list[str]:
    """Candidates that have an operator which none before them had, and the hardest kinds."""
    met: set[str] = set()
    chosen: list[str] = []
    for name in graphs():
        if name.startswith("transformer_block"):
            continue
        mine = operators(name)
        if not mine <= met:
            chosen.append(name)
            met |= mine
    return list(dict.fromkeys((*chosen, *HARD)))


HARD = [
    "corpus-ntrans_one_kernel",  # a square of a sum of three terms under a mean
    "corpus-mlp_silu_spelled_with_exp",  # renamed copies in a product of sums
    "sigmoid-one-minus",  # a common denominator
    "maximum-by-relu",
    "causal_attention-R7-split",  # masks, maxima by blocks, several results
    "lora-R4-concat-kernels",  # a sum over blocks of a concatenated dim
    "rotary_scores-split",  # sums over halves are a sum over the whole
    "grouped_attention-R6-heads-in-the-block",  # digits that are read off because tiles are whole
    "mlp_relu-by-absolute-value",
]


@pytest.mark.parametrize("name", sample())
def test_every_lemma_is_replayed_and_checked(name: str) -> None:
    program, sgraph = graphs()[name]
    verified = Verified(candidate(program, sgraph), Proof("normal form", "", ()), ())

    lemmas = certify(verified, Journal()).proof.lemmas

    assert [] == [(x.tensor, x.operation, x.note) for x in lemmas if not x.replayed]


def test_the_sample_has_every_operator() -> None:
    every = set[str]().union(*(operators(name) for name in graphs()))

    assert every == set[str]().union(*(operators(name) for name in sample()))


def no_egglog(facts: str, left: str, right: str) -> str:
    """Steps are followed without it."""
    return "not asked"


def test_relu_by_an_absolute_value_in_a_graph_that_is_cut_has_a_certificate() -> None:
    program, sgraph = graphs()["transformer_block-five-kernels-silu-by-definition"]
    relu = TensorProgram("relu_block", parse(show(program.graph).replace("silu(", "relu(")))
    text = show(sgraph)
    start, end = text.index("    %15 = mul(%11, %14)"), text.index("    %20 = store(%19, omap=[0, 2])")
    ways = {
        "absolute value": ("abs(%11)", "add(%11, %15)", "mul_scalar(%16, 1/2)", "mul(%17, %14)", "mul_scalar(%18, 1)"),
        "maximum": ("mul_scalar(%11, 0)", "neg(%11)", "max(%16, %15)", "add(%11, %17)", "mul(%18, %14)"),
    }
    for way, lines in ways.items():
        body = "".join(f"    %{15 + n} = {line}\n" for n, line in enumerate(lines))
        graph = parse(text[:start] + body + text[end:])
        assert isinstance(Prover(relu).verify(candidate(relu, graph), Journal()), Verified), way
        lemmas = certify(Verified(candidate(relu, graph), Proof("normal form", "", ()), ()), Journal()).proof.lemmas

        assert [] == [(x.tensor, x.operation, x.note) for x in lemmas if not x.replayed], way


def test_where_graphs_were_cut_a_tensor_has_one_name_in_all_lemmas() -> None:
    program, sgraph = graphs()["transformer_block-five-kernels"]
    verified = Verified(candidate(program, sgraph), Proof("normal form", "", ()), ())

    lemmas = certify(verified, Journal()).proof.lemmas

    assert [] == [(x.tensor, x.operation, x.note) for x in lemmas if not x.replayed]
    named = [x for x in lemmas if "(named " in x.statement]
    assert {x.tensor[:1] for x in named} == {"p", "k"}

    wrong = tuple(
        replace(x, statement=x.statement.replace("(named (at %21 ", "(named (at %18 ")) if x.tensor[:1] == "k" else x
        for x in lemmas
    )
    assert wrong != lemmas
    assert not check(program, sgraph, wrong, no_egglog).accepted


WEIGHTS = {
    "over two axes": ("square(y)", "x"),
    "read the other way": ("permute(square(permute(y, order=[1, 0])), order=[1, 0])", "x"),
    "of a function of sums": ("relu(y)", "tanh(sum(z, dim=1))"),
}


@pytest.mark.parametrize("name", WEIGHTS)
def test_what_weights_weigh_is_0_where_they_add_up_to_0(name: str) -> None:
    weight, value = WEIGHTS[name]
    total = f"sum(sum(mul({weight}, {value}), dim=1), dim=0)"
    alone = f"sum(sum({weight}, dim=0), dim=1)"
    program, sgraph = TensorProgram("weights", graph(f"div(mul({total}, {alone}), {alone})")), graph(total)

    verdict = Prover(program).verify(candidate(program, sgraph), Journal())

    assert isinstance(verdict, Verified)
    lemmas = certify(verdict, Journal()).proof.lemmas
    assert [] == [(x.tensor, x.operation, x.note) for x in lemmas if not x.replayed]
    assert any("weights" in x.axioms for x in lemmas)
