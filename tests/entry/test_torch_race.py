"""The race of a whole graph: who wins, and that what a graph writes is restored between calls."""

import html as html_lib

import pytest
import torch

from prism_explore.entry.torch_race import choose, race, race_whole
from prism_explore.entry.torch_report import GraphOutcome, RegionOutcome, Report, WholeRace
from prism_explore.errors import ShapeError
from prism_explore.events.fastest import COMPILED, EAGER


def test_kernels_run_only_where_they_win_by_more_than_the_noise():
    eager, compiled = [10.0, 11.0, 10.0, 11.0], [8.0, 8.0, 9.0, 9.0]

    assert "kernels" == choose({EAGER: eager, COMPILED: compiled, "kernels": [4.0, 4.0, 5.0, 4.0]}).winner
    assert COMPILED == choose({EAGER: eager, COMPILED: compiled, "kernels": [7.9, 8.2, 8.9, 9.3]}).winner
    assert EAGER == choose({EAGER: [1.0] * 4, COMPILED: compiled, "kernels": [4.0] * 4}).winner


def test_a_race_says_times_and_what_was_in_the_noise():
    said = str(choose({EAGER: [1.0, 1.0, 1.0], "kernels": [0.9, 1.1, 1.0]}))

    assert "a call runs torch eager" in said
    assert "not faster by more than the noise" in said
    assert "kernels 1 s" in said


def raced(disturbed):
    """The race of kernels that take half the time of eager, on a machine that is busy in some of the calls."""
    now, waited, calls = [0.0], [0.0], [0]

    def way(seconds):
        def run(x):
            calls[0] += 1
            is_disturbed = disturbed(calls[0])
            now[0] += 0.1 if is_disturbed else seconds
            waited[0] += 0.1 if is_disturbed else 0.0

        return run

    ways = {EAGER: way(0.02), "kernels": way(0.01)}
    return race(lambda: (torch.zeros(3),), ways, lambda: now[0], core_wait_s=lambda: waited[0])


def test_rounds_in_which_threads_waited_for_a_core_do_not_count():
    alone, partly, always = raced(lambda n: False), raced(lambda n: n < 44), raced(lambda n: True)

    assert "kernels" == alone.winner == partly.winner
    for found in (alone, partly):
        assert {EAGER: 0.02, "kernels": 0.01} == pytest.approx(dict(found.seconds))
    assert not alone.is_disturbed
    assert "(25 rounds)" in alone.note
    assert EAGER == always.winner
    assert always.is_disturbed
    assert "other processes took cores from it: it is not kept" in always.note


def graph_that_writes():
    graph = torch.fx.Graph()
    x = graph.placeholder("x")
    graph.output(graph.call_method("add_", (x, 1.0)))
    return torch.fx.GraphModule(torch.nn.Module(), graph)


def test_tensors_that_a_graph_writes_are_restored_before_every_call():
    module, seen, x = graph_that_writes(), [], torch.zeros(3)

    def run(x):
        seen.append(float(x[0]))
        return x.add_(1.0)

    race_whole(module, (x,), {EAGER: run, "kernels": run})

    assert len(seen) > 10
    assert {0.0} == set(seen)
    assert 0.0 == float(x[0])


def test_a_way_that_fails_is_left_out_and_named():
    def fails(x):
        raise RuntimeError("no compiler here")

    found = race_whole(graph_that_writes(), (torch.zeros(3),), {EAGER: lambda x: x, COMPILED: fails, "kernels": fails})

    assert EAGER == found.winner
    assert "torch.compile failed: no compiler here" in found.note


def test_a_way_that_is_less_exact_than_twice_torch_eager_takes_no_part_and_is_named():
    module = torch.fx.symbolic_trace(lambda x: (x / 3.0) * 3.0)
    worse = {"kernels": lambda x: module(x) * (1 + 2.0**-20)}

    found = race_whole(module, (torch.rand(64),), {EAGER: module, **worse})

    assert [EAGER] == list(found.seconds)
    assert "kernels has an error of" in found.note
    assert "2 times that is allowed" in str(found)


def outcome(**more):
    return RegionOutcome("linear silu", True, "f1.c1 is 2.00x as fast as torch eager", "program", "f1.c1", 2.0, **more)


def test_a_report_is_a_table_as_text_and_as_html():
    errors = {EAGER: 2e-7, "kernels": 1e-7}
    race = WholeRace("kernels", {EAGER: 2e-3, "kernels": 1e-3}, "2.00x as fast as torch eager", errors)
    left = (("sort", "operator sort is not supported"),) * 2
    rows = (outcome(kernel_s=1e-3, torch_s={EAGER: 2e-3}, proof="proved over the reals", cut="cut at a modelled 1 ms"),)
    report = Report((GraphOutcome(rows, left, 4, 2, race, 12.0),))
    html = report._repr_html_()

    assert 0.5 == report.graphs[0].share
    for text in (str(report), html):
        assert "2 of 4 computing nodes in 1 searched regions; a call runs kernels" in text
        assert "2 sort: operator sort is not supported" in text
        assert "cut at a modelled 1 ms" in text
        assert "its error against float64 is 1.0e-07, 0.50 times torch eager's" in html_lib.unescape(text)
    assert html.count("<tr>") == 2
    assert "proved over the reals" in html


def test_a_report_opens_the_search_of_a_region():
    session = object()
    rows = (outcome(), outcome(search=lambda: session))
    report = Report((GraphOutcome(rows, (), 2, 2, WholeRace(EAGER, {}), 1.0),))

    assert session is report.session(2)
    with pytest.raises(ShapeError, match="there is no region 3; there are 1 to 2"):
        report.session(3)
    with pytest.raises(ShapeError, match="region 1 was not searched"):
        report.session(1)


def test_a_report_says_where_the_time_of_a_build_went_and_what_is_from_an_earlier_one():
    quick = outcome(effort="searched quickly, for 2.0% of the modelled time", spent_s=1.5)
    race = WholeRace("kernels", {EAGER: 2e-3, "kernels": 1e-3}, kept="2026-01-02")
    graph = GraphOutcome((quick, outcome(kept="2026-01-01")), (), 2, 2, race, 3.0, {"partition": 1.0, "tuning": 2.0})
    report = Report((graph,))

    assert "built in 3 s (partition 1 s, tuning 2 s)" in str(report)
    for text in (str(report), report._repr_html_()):
        assert "the decision of 2026-01-02 is kept" in text
        assert "; searched quickly, for 2.0% of the modelled time; in 1.5 s" in text
        assert "; found on 2026-01-01, proved again" in text
