"""A program that no kernel holds: kernels in a row, proved apart and as a whole, and one callable."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
import torch

import prism_explore as px
from prism_explore.events.journal import Journal
from prism_explore.events.ledger import ledger
from prism_explore.generate.abstract_expr.size_estimate import fits
from prism_explore.generate.event_log import PrunedSequence
from prism_explore.generate.explain_excluded import explain_excluded
from prism_explore.instantiate import instantiate
from prism_explore.ir.interpreter.reference import evaluate
from prism_explore.ir.ops import Accumulate, Custom, Load, MatMul, Store, Unary
from prism_explore.ir.program import ProgramBuilder
from prism_explore.ir.text import show
from prism_explore.pipeline.search_space import Operators, Space
from prism_explore.pipeline.stages import KernelSequence, Verified
from prism_explore.search import kernel_sequence
from prism_explore.search.explore import Progress, Steering, Task, explore
from prism_explore.search.kernel_sequence import kernel_sequences
from tests.search.test_worker_pool import Here
from tests.session.test_session import QUICK
from tests.strategies import random_inputs

TINY = {"s": 4, "d": 16, "m": 8, "c": 4, "n": 24, "heads": 4, "kv_heads": 2}


def block(target: str = "h100", **more) -> px.Session:
    row = px.workload("transformer_block").resized(**TINY)
    return px.Session(row.code, name=row.name, inputs=row.inputs, target=target, at=row.at, **more)


def rows_of(session: px.Session, space: Space) -> list[KernelSequence]:
    found = kernel_sequences(session.program, space, session.task.target, 0, lambda: False)
    return [row for row in found if isinstance(row, KernelSequence)]


@dataclass
class Searched:
    task: Task
    journal: Journal
    proved: list[Verified]


def searched_on(session: px.Session) -> Searched:
    journal, progress = Journal(clock=lambda: 0.0), Progress()
    for _ in explore(session.task, journal, Steering, progress):
        pass
    session.close()
    return Searched(session.task, journal, progress.proved)


@pytest.fixture(scope="module")
def searched() -> Searched:
    return searched_on(block())


def test_a_whole_transformer_block_is_proved_as_kernels_in_a_row(searched):
    book = ledger(searched.journal.events)

    assert 3 <= len(searched.proved[0].candidate.sgraph.customs)
    assert book.funnel.proved == book.funnel.candidates > 1
    assert book.space_breakdown is not None
    assert book.space_breakdown.adds_up
    assert "kernels in a row" in searched.task.space.describe(searched.task.program)


def test_what_is_proved_computes_the_block_at_other_numbers(searched):
    for verified in searched.proved:
        graph = verified.candidate.sgraph
        sizes = {"b": 2} | dict.fromkeys(graph.parameters, 2)
        inputs = random_inputs(graph, sizes)
        np.testing.assert_allclose(evaluate(searched.task.program, inputs), evaluate(graph, inputs, sizes), rtol=1e-9)


def test_the_same_search_notes_the_same_facts_with_an_executor_too(searched):
    assert [*searched.journal.events] == [*searched_on(block(executor=Here())).journal.events]


def test_a_space_may_do_without_kernels_in_a_row():
    session = block()
    found = searched_on(block(space=replace(session.task.space, rows=0)))
    session.close()

    assert not found.proved
    assert "none" == found.task.space.describe()["kernels in a row"]


def test_a_program_that_one_kernel_holds_is_not_cut_into_parts():
    row = px.workload("swiglu")
    found = searched_on(px.Session(row.code, name=row.name, inputs=row.inputs, at=row.at, target="h100"))

    assert found.proved
    assert all(v.candidate.family.sequence is None for v in found.proved)


def test_latent_attention_never_makes_its_keys():
    row = px.workload("latent_attention")
    session = px.Session(row.code, name=row.name, inputs=row.inputs, at=row.at, target="h100")
    rows = rows_of(session, session.task.space)
    graphs = [r.full_graph({n: f.sgraph for n, f in r.families}) for r in rows]
    session.close()

    assert rows
    largest = session.program.graph.types()
    keys = max(t.bytes.value({"b": 1}) for t in largest)
    for graph in graphs:
        assert max(t.bytes.value({"b": 1}) for t in graph.types()) < keys


def normalised(q, k, v, gq, gk):
    """One query over cached keys, both normalised: `b h 1 d, b g t d, b g t d, d, d -> b h 1 d`."""
    f = torch.nn.functional
    q, k = f.rms_norm(q, (8,), gq, eps=1e-5), f.rms_norm(k, (8,), gk, eps=1e-5)
    scores = q.reshape(q.shape[0], 2, 2, 8) @ k.transpose(-1, -2) * 8**-0.5
    return (torch.softmax(scores, -1) @ v).reshape(q.shape)


def test_keys_and_values_are_multiplied_as_they_are_cached():
    """Norms stand before the transposed keys; they, and the sum of weights, meet fewer elements behind the product."""
    shapes = {"q": px.T("b", 4, 1, 8), "k": px.T("b", 2, 64, 8), "v": px.T("b", 2, 64, 8), "gq": px.T(8), "gk": px.T(8)}
    found = searched_on(px.Session(normalised, inputs=shapes, target="h100", at={"b": 2}))

    assert found.proved
    for verified in found.proved:
        graph = verified.candidate.sgraph
        blocks = [block for _, block in graph.customs]
        factors = [b.nodes[n.args[1]].op for b in blocks for n in b.nodes if n.op == MatMul()]
        assert [Load, Load] == [*map(type, factors)], str(graph)
        sizes = {"b": 2} | dict.fromkeys(graph.parameters, 2)
        inputs = random_inputs(graph, sizes)
        np.testing.assert_allclose(evaluate(found.task.program, inputs), evaluate(graph, inputs, sizes), rtol=1e-9)


def test_a_budget_of_time_ends_the_search_for_kernels_in_a_row_and_it_is_told_once():
    session = block()
    found = [
        r for r in kernel_sequences(session.program, session.task.space, session.task.target, 0, lambda: True) if r
    ]
    session.close()

    assert ["budget.time"] == [f.reason.code for f in found if isinstance(f, PrunedSequence)]
    assert 1 == len(found)


def softmax_twice(x, a, b, c):
    y = torch.softmax(x @ a, -1) @ b
    return torch.softmax(y, -1) @ c


@pytest.fixture(scope="module")
def small():
    """A session of a program that needs two kernels in a row, of which each has a loop."""
    shapes = {"x": px.T("b", 8), "a": px.T(8, 16), "b": px.T(16, 8), "c": px.T(8, 8)}
    with px.Session(softmax_twice, inputs=shapes, target="h100", at={"b": 4}) as session:
        yield session


def blocks_of(rows):
    graphs = [r.full_graph({n: f.sgraph for n, f in r.families}) for r in rows]
    return [n.op.block.nodes for g in graphs for n in g.nodes if isinstance(n.op, Custom)]


def counts(nodes):
    return {
        "block_ops": sum(not isinstance(n.op, Store) for n in nodes),
        "block_inputs": len({n.op.operand for n in nodes if isinstance(n.op, Load)}),
        "accumulators": sum(isinstance(n.op, Accumulate) for n in nodes),
    }


@pytest.mark.parametrize(("name", "limit"), [("block_ops", 3), ("block_inputs", 1), ("accumulators", 0)])
def test_limits_that_were_set_lower_hold_for_kernels_in_a_row(small, name, limit):
    space = small.task.space

    assert any(counts(nodes)[name] > limit for nodes in blocks_of(rows_of(small, space)))
    assert all(counts(nodes)[name] <= limit for nodes in blocks_of(rows_of(small, replace(space, **{name: limit}))))


def test_parts_of_three_operators_are_in_no_row_where_two_are_the_most():
    session = block()
    rows = rows_of(session, replace(session.task.space, kernel_ops=2))
    session.close()

    assert not rows


def test_an_operator_that_the_space_was_denied_is_in_no_kernel_of_a_row(small):
    space = small.task.space
    denied = rows_of(small, replace(space, block=space.block.without(Operators(unary=("exp",)))))

    def with_exp(rows):
        return [n for nodes in blocks_of(rows) for n in nodes if n.op == Unary("exp")]

    assert denied
    assert with_exp(rows_of(small, space))
    assert not with_exp(denied)


def test_each_candidate_of_a_row_varies_one_kernel(searched):
    family = searched.proved[0].candidate.family
    found = list(instantiate(family, searched.task.space, searched.task.target, Journal()))
    kernels = [[n.op.block for n in c.sgraph.nodes if isinstance(n.op, Custom)] for c in found]

    assert len(found) > 1
    for row in kernels[1:]:
        assert 1 == sum(a != b for a, b in zip(kernels[0], row, strict=True))


def test_it_is_said_to_be_outside_the_space_of_single_kernels(searched):
    family = searched.proved[0].candidate.family

    assert explain_excluded(searched.task.program, searched.task.space, searched.task.target, family.sgraph)


def test_on_a_cpu_it_is_one_callable_checked_as_a_whole():
    torch = pytest.importorskip("torch")

    def layers(x, *weights):
        for w in weights:
            x = torch.nn.functional.silu(x @ w)
        return x

    def eight(x, a, b, c, d, e, f, g, h):
        return layers(x, a, b, c, d, e, f, g, h)

    weights = {name: px.T(8, 8) for name in "abcdefgh"}
    session = px.Session(eight, x=px.T("b", 8), **weights, at={"b": 4}, budget=QUICK, baselines=())
    session.run()
    best = session.best()
    session.close()
    drawn = torch.Generator().manual_seed(0)
    given = [torch.randn(shape, generator=drawn) for shape in ((4, 8), *[(8, 8)] * 8)]

    torch.testing.assert_close(eight(*given), best(*given), rtol=1e-4, atol=1e-4)
    assert 2 <= len(session.chosen.candidate.sgraph.customs)


GROUPED = """program grouped
  x = input f32[1, 4, 8]
  w = input f32[8, 4]
  k = input f32[1, 2, 4, 2]
  q = input f32[1, 4, 4, 2]
  %4 = matmul(x, w)
  %5 = reshape(%4, dims=[1, 4, 2, 2])
  %6 = permute(%5, order=[0, 2, 1, 3])
  %7 = reshape(k, dims=[1, 2, 1, 4, 2])
  %8 = expand(%7, dim=2, size=2)
  %9 = reshape(%8, dims=[1, 4, 4, 2])
  %10 = reshape(%6, dims=[1, 2, 1, 4, 2])
  %11 = expand(%10, dim=2, size=2)
  %12 = reshape(%11, dims=[1, 4, 4, 2])
  %13 = permute(%9, order=[0, 1, 3, 2])
  %14 = matmul(q, %13)
  %15 = exp(%14)
  %16 = sum(%15, dim=3)
  %17 = div(%15, %16)
  %18 = matmul(%17, %12)
  %19 = permute(%18, order=[0, 2, 1, 3])
  return %19"""


def test_parts_that_differ_only_in_views_of_inputs_and_of_the_result_are_not_searched_twice_in_vain(monkeypatch):
    program = px.parse_program(GROUPED)
    space, target = replace(px.default_space(program), row_nodes=12, rows=1), px.target("h100")
    searches = []
    one_by_one = kernel_sequence._families

    def counted(part, *more):
        searches.append(part)
        return one_by_one(part, *more)

    monkeypatch.setattr(kernel_sequence, "_families", counted)

    def found():
        searches.clear()
        return [x for x in kernel_sequences(program, space, target, 0, lambda: False) if x is not None]

    shared = found()
    fewer = len(searches)
    monkeypatch.setattr(kernel_sequence, "_core_text", lambda part: part.name)

    assert shared == found()
    assert 0 < fewer < len(searches)


def test_rows_change_no_family_then_one_then_two_and_leave_none_out():
    rows = [*kernel_sequence._rows({"a": 2, "b": 3, "c": 1})]

    assert [{}, {"a": 1}, {"b": 1}, {"b": 2}, {"a": 1, "b": 1}, {"a": 1, "b": 2}] == rows
    assert [{}] == [*kernel_sequence._rows({"a": 1})] == [*kernel_sequence._rows({})]


def test_kinds_of_parts_with_one_family_are_no_choices():
    kinds = {f"only{n}": 1 for n in range(60)}
    assert [*kernel_sequence._rows(kinds)] == [{}]
    assert [*kernel_sequence._rows(kinds | {"b": 3})] == [{}, {"b": 1}, {"b": 2}]


def steps_on_slices(count: int = 4) -> px.TensorProgram:
    """A loop of which each step reads other rows of x: h = max_j (h_j + t_j·) + x_k, as Viterbi's."""
    b = ProgramBuilder("steps")
    x, t = b.input("x", 24, "b", 4), b.input("t", 4, 4)
    h = b.reshape(b.slice(x, 0, 0, 1), "b", 4)
    for k in range(1, count + 1):
        wide = b.binary("add", b.reshape(h, "b", 4, 1), b.reshape(t, 1, 4, 4))
        best = b.reshape(b.reduce("max", b.unary("tanh", wide), 1), "b", 4)
        h = b.binary("add", b.unary("exp", best), b.reshape(b.slice(x, 0, 3 * k, 3 * k + 1), "b", 4))
    return b.build(h)


def test_steps_that_read_other_slices_are_searched_once_and_as_each_alone(monkeypatch):
    program, searches = steps_on_slices(), []
    plain = kernel_sequence._families

    def counted(*args):
        searches.append(args[0].name)
        return plain(*args)

    def sequences() -> list[KernelSequence]:
        searches.clear()
        monkeypatch.setattr(kernel_sequence, "fits", lambda part: len(part.graph.nodes) <= 14 and fits(part))
        found = kernel_sequences(program, px.default_space(program), px.target("h100"), 0, lambda: False)
        return [row for row in found if isinstance(row, KernelSequence)]

    monkeypatch.setattr(kernel_sequence, "_families", counted)
    once = sequences()
    count = len(searches)
    monkeypatch.setattr(kernel_sequence, "_moved", lambda *_: None)
    each = sequences()

    graphs = [[show(r.full_graph({n: f.sgraph for n, f in r.families})) for r in rows] for rows in (once, each)]
    assert count < len(searches)
    assert graphs[0] == graphs[1]
    assert graphs[0]
