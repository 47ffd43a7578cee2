"""Programs with several results: text, partition, proof, floats, code, and what the user calls."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
import torch
from torch.utils import _pytree

import prism_explore as px
from prism_explore.codegen.cpu.load import load_plan
from prism_explore.codegen.cpu.plan import plan
from prism_explore.events.journal import Journal
from prism_explore.floats.assess import Assessor, Unsafe, assess
from prism_explore.frontend import trace
from prism_explore.ir.graph import SGraph
from prism_explore.ir.interpreter.reference import evaluate_results
from prism_explore.ir.ops import Node, Scalar
from prism_explore.ir.text import parse_program, show
from prism_explore.ir.transforms.further_results import store_further_results
from prism_explore.ir.transforms.partition import partition
from prism_explore.pipeline.stages import Candidate, Family, Parameters, Refuted, Verified
from prism_explore.tune.runner.bench import CheckPassed, Failure
from prism_explore.tune.runner.correctness import check_results, reference_cases
from prism_explore.verify.certificate.certify import certify, derivation
from prism_explore.verify.counterexample.case import read_counterexample, show_counterexample
from prism_explore.verify.counterexample.refuter import replay
from prism_explore.verify.normal_form.equalities import equalities
from prism_explore.verify.prover import verify
from prism_explore.widgets.refs import FrameRef, frame_ref, member_ref
from tests.session.test_session import QUICK, machine

B, D = 8, 32


def residual(x, r, g):
    h = x + r
    return h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + 1e-6) * g, h


PROGRAM = trace(residual, {"x": px.T("b", D), "r": px.T("b", D), "g": px.T(D)}).program


def as_candidate(graph: SGraph) -> Candidate:
    return Candidate("f1.c1", Family("f1", PROGRAM, graph), graph, (), graph.conditions())


def with_node(position: int, node: Node) -> SGraph:
    nodes = PROGRAM.graph.nodes
    return replace(PROGRAM.graph, nodes=(*nodes[:position], node, *nodes[position + 1 :]))


@pytest.fixture(scope="module")
def session():
    shapes = {"x": px.T("b", D), "r": px.T("b", D), "g": px.T(D)}
    sess = px.Session(residual, **shapes, target=machine(), at={"b": B}, budget=QUICK, baselines=())
    sess.run()
    yield sess
    sess.close()


@pytest.fixture
def given():
    torch.manual_seed(0)
    return torch.randn(B, D), torch.randn(B, D), torch.randn(D)


# ---------------------------------------------------------------- the graph
def test_the_text_of_a_graph_with_several_results_is_read_back():
    assert PROGRAM == parse_program(show(PROGRAM))
    assert show(PROGRAM).rstrip().endswith("return %9, %3")


def test_a_result_that_is_named_twice_or_missing_is_refused():
    with pytest.raises(px.ShapeError, match="a result is named twice: %3, %3; name each once"):
        SGraph(PROGRAM.graph.nodes, 3, (3,))
    with pytest.raises(px.ShapeError, match="output %99 is no node"):
        SGraph(PROGRAM.graph.nodes, 3, (99,))


def test_graphs_that_differ_only_in_a_further_result_are_not_equal():
    one = PROGRAM.graph.for_result(0)

    assert one != PROGRAM.graph
    assert (9,) == one.outputs
    assert len({PROGRAM.graph, one, PROGRAM.graph.for_result(1)}) == 3


@pytest.mark.parametrize("several", [True, False])
def test_every_result_is_the_result_of_a_part(several: bool):
    parts = partition(PROGRAM, lambda part: several or not part.graph.further)

    assert set(PROGRAM.graph.outputs) <= {n for p in parts for n in (p.result, *p.further)}
    assert several == any(p.further for p in parts)


# ---------------------------------------------------------------- proof
def test_each_result_is_proved_and_the_claim_counts_them():
    verdict = verify(PROGRAM, as_candidate(PROGRAM.graph), Journal())

    assert isinstance(verdict, Verified)
    assert "each of its 2 results equals that of residual" in verdict.proof.claim


@pytest.mark.parametrize(("position", "result"), [(3, 0), (9, 0)])
def test_a_wrong_result_is_refuted(position: int, result: int):
    args = PROGRAM.graph.nodes[position].args
    wrong = with_node(position, Node(Scalar("add", Fraction(1)), args[:1]))
    verdict = verify(PROGRAM, as_candidate(wrong), Journal())

    assert isinstance(verdict, Refuted)
    assert result == verdict.counterexample.result


def test_where_only_the_second_result_is_wrong_it_is_named_and_runs_again():
    nodes = PROGRAM.graph.nodes
    wrong = SGraph((*nodes, Node(Scalar("mul", Fraction(2)), (3,))), 9, (len(nodes),))
    verdict = verify(PROGRAM, as_candidate(wrong), Journal())

    assert isinstance(verdict, Refuted)
    found = verdict.counterexample
    assert 1 == found.result
    assert found == read_counterexample(show_counterexample(found))
    assert found == replay(found, PROGRAM, wrong)


def test_results_in_another_order_are_refuted():
    swapped = SGraph(PROGRAM.graph.nodes, 3, (9,))

    assert isinstance(verify(PROGRAM, as_candidate(swapped), Journal()), Refuted)


def test_a_candidate_with_fewer_results_is_refused():
    with pytest.raises(px.ShapeError, match=r"f1\.c1 has 1 results; residual has 2"):
        verify(PROGRAM, as_candidate(PROGRAM.graph.for_result(0)), Journal())


def test_a_certificate_has_a_lemma_per_result():
    proved = verify(PROGRAM, as_candidate(PROGRAM.graph), Journal())
    assert isinstance(proved, Verified)
    certified = certify(proved, Journal())
    goals = [x for x in certified.proof.lemmas if x.tensor.startswith("goal")]

    assert ["k9 = program.%9", "k3 = program.%3"] == [x.operation for x in goals]
    assert all(x.replayed for x in certified.proof.lemmas)
    assert "k3 = program.%3" in derivation(certified)
    assert ("goal", "goal1") == equalities(PROGRAM, PROGRAM.graph).tensors[-2:]
    assert FrameRef("f1.c1", "goal1", 0) == frame_ref(member_ref("f1.c1", "goal1"))


def test_the_worst_result_decides_in_floating_point():
    exp = parse_program("program f\n  x = input f32[b, 8]\n  %1 = exp(x)\n  %2 = neg(x)\n  return %2, %1")
    grown = parse_program(
        "program f\n  x = input f32[b, 8]\n  %1 = add_scalar(x, 100)\n  %2 = exp(%1)\n"
        "  %3 = add_scalar(x, -100)\n  %4 = exp(%3)\n  %5 = mul(%2, %4)\n  %6 = sqrt(%5)\n  %7 = neg(x)\n"
        "  return %7, %6"
    ).graph
    candidate = Candidate("f1.c1", Family("f1", exp, grown), grown, (), grown.conditions())
    verdict = verify(exp, candidate, Journal())
    assert isinstance(verdict, Verified)
    found = assess(verdict)

    assert isinstance(found, Unsafe)
    assert {1} == {e.result for e in found.evidence}
    assert "result 1, element" in str(found.evidence[0])
    assert found.evidence[0] == Assessor(exp).replay(found.evidence[0], grown)


# ---------------------------------------------------------------- code
def test_a_kernel_writes_every_result_and_none_is_taken_for_another():
    kernel_plan = plan(PROGRAM.graph, Parameters(()), {"b": B})
    assert not isinstance(kernel_plan, str)
    kernel = load_plan(kernel_plan)
    rng = np.random.default_rng(0)
    x, r, g = (rng.normal(size=s).astype(np.float32) for s in ((B, D), (B, D), (D,)))
    wanted = evaluate_results(PROGRAM, {"x": x, "r": r, "g": g})

    for found, expected in zip(kernel(x, r, g), wanted, strict=True):
        np.testing.assert_allclose(found, expected, rtol=2e-6, atol=1e-6)
    with pytest.raises(px.ShapeError, match="has 2 results; call it without out="):
        kernel(x, r, g, out=np.empty((B, D), np.float32))


def test_a_check_compares_every_result_and_says_which_is_wrong():
    cases = reference_cases(PROGRAM, {"b": B}, 0)

    def run(*inputs):
        return evaluate_results(PROGRAM, dict(zip(("x", "r", "g"), inputs, strict=True)))

    def wrong(*inputs):
        first, second = run(*inputs)
        return first, second * 1.01

    assert isinstance(check_results(run, cases), CheckPassed)
    found = check_results(wrong, cases)
    assert isinstance(found, Failure)
    assert found.reason.startswith("random, result 1: a row deviates")
    found = check_results(lambda *inputs: run(*inputs)[0], cases)
    assert Failure("tune.wrong", "random: 1 results, expected 2") == found


# ---------------------------------------------------------------- kernels with several stores
INTERMEDIATE = {
    "residual sum": (residual, {"x": px.T("b", D), "r": px.T("b", D), "g": px.T(D)}),
    "product": (lambda x, w: (torch.relu(y := x @ w), y), {"x": px.T("b", D), "w": px.T(D, D)}),
    "mean": (lambda x: ((x - (m := x.mean(-1, keepdim=True))).exp(), m), {"x": px.T("b", D)}),
}


@pytest.mark.parametrize("name", INTERMEDIATE)
def test_one_kernel_stores_a_result_that_is_computed_on_the_way_to_another(name: str):
    code, shapes = INTERMEDIATE[name]
    sess = px.Session(code, **shapes, target="h100", at={"b": B})
    sess.run()
    proved = [f for f in sess.families.values() if f.row.status == "proved"]
    assert sess.chosen is not None
    graph = sess.chosen.candidate.sgraph
    sess.close()

    assert proved
    ((_, block),) = graph.customs
    assert 2 == len(block.stores)


def test_a_graph_with_one_result_is_its_own_only_choice_of_stores():
    one = PROGRAM.graph.for_result(0)

    assert [one] == [*store_further_results(one, one)]


def test_keys_and_values_are_stored_by_the_kernel_of_the_attention_that_reads_them():
    def attention(x, wk, wv):
        k, v = x @ wk, x @ wv
        return torch.softmax(x @ k.transpose(-1, -2), -1) @ v, k, v

    program = trace(attention, {"x": px.T("b", D), "wk": px.T(D, D), "wv": px.T(D, D)}).program
    (part,) = partition(program, lambda _: True)

    assert 2 == len(part.further)
    assert program.graph.outputs == (part.result, *part.further)


# ---------------------------------------------------------------- the user's view
def test_the_kernel_returns_what_torch_returns(session, given):
    found, wanted = session.best()(*given), residual(*given)

    assert isinstance(found, tuple)
    for a, b in zip(found, wanted, strict=True):
        torch.testing.assert_close(a, b)


def test_gradients_of_several_results_are_torchs(session, given):
    ours, theirs = ([x.clone().requires_grad_() for x in given] for _ in range(2))
    for inputs, code in ((ours, session.best()), (theirs, residual)):
        y, h = code(*inputs)
        (y.sum() + (h * h).sum()).backward()

    for a, b in zip(ours, theirs, strict=True):
        torch.testing.assert_close(a.grad, b.grad)


def test_a_saved_kernel_returns_all_results(session, given, tmp_path):
    again = px.load_kernel(session.best().kernel.save(tmp_path / "residual.kernel"))

    for a, b in zip(again(*given), residual(*given), strict=True):
        torch.testing.assert_close(a, b)
    assert max(again.check(1)) < 1e-5


def test_a_saved_search_opens_with_all_results(session, tmp_path):
    again = px.Session.load(session.save(tmp_path / "residual.prism"))
    again.run()

    assert again.program.graph.outputs == session.program.graph.outputs
    assert "each of its 2 results" in again.best().verified.proof.claim
    again.close()


CODES = {
    "two sums": lambda x: (x.sum(0), x * 2),
    "dict": lambda x: {"a": x.exp(), "b": [x.relu(), x]},
    "views": lambda x: (x.exp().t(), x.exp()),
    "three": lambda x: (x.tanh(), x.sigmoid(), x.softmax(-1)),
}


@pytest.mark.parametrize("name", CODES)
def test_small_programs_are_proved_and_right(name: str):
    code, x = CODES[name], torch.randn(B, D)
    sess = px.Session(code, x=x, target=machine(), budget=QUICK, baselines=())
    found, wanted = sess.best().kernel(x), code(x)
    sess.close()

    assert _pytree.tree_structure(wanted) == _pytree.tree_structure(found)
    for a, b in zip(_pytree.tree_leaves(found), _pytree.tree_leaves(wanted), strict=True):
        torch.testing.assert_close(a, b)
