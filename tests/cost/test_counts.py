"""No bound is above what is exactly counted, and what is counted as written is exact."""

from hypothesis import given, settings
from hypothesis import strategies as st

from prism_explore.cost.work import least_scratch, total_of, work_of
from tests.cost.counting import Case, cases, counted

some_case = st.deferred(lambda: st.sampled_from(cases()))


def test_there_are_enough_candidates_to_count():
    assert len(cases()) > 60
    assert len({c.candidate.family.program.name for c in cases()}) == 6


@settings(max_examples=150, deadline=None)
@given(some_case, st.data())
def test_what_is_said_as_written_is_what_the_interpreter_does(case: Case, data):
    sizes = data.draw(st.sampled_from(case.sizes))
    work = work_of(case.candidate.sgraph)
    tally = counted(case.candidate.sgraph, sizes, case.shapes)
    numbers = {**case.shapes, **sizes}

    assert tally.flops == total_of(w.executed for w in work).rational(numbers)
    assert tally.loaded == total_of(load.bytes for w in work for load in w.loads).rational(numbers)
    assert tally.stored == total_of(w.store_bytes for w in work).rational(numbers)
    assert len(tally.held) == total_of(w.blocks for w in work).rational(numbers)


@settings(max_examples=150, deadline=None)
@given(some_case, st.data())
def test_no_least_figure_is_above_what_is_counted(case: Case, data):
    sizes = data.draw(st.sampled_from(case.sizes))
    graph = case.candidate.sgraph
    tally = counted(graph, sizes, case.shapes)
    numbers = {**case.shapes, **sizes}
    ((position, block),) = graph.customs
    operands = tuple(graph.types()[a] for a in graph.nodes[position].args)
    (work,) = work_of(graph)

    assert 0 < work.flops.rational(numbers) <= tally.flops
    assert 0 < total_of(load.least for load in work.loads).rational(numbers) <= tally.loaded
    assert 0 < work.written.rational(numbers) <= tally.stored
    for staged in (False, True):
        assert least_scratch(block, operands, staged).rational(numbers) <= min(tally.held)
