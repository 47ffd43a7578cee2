"""Graphs of workloads for which Mirage published none: read, proved or refuted, written and read again."""

import pytest

import prism_explore as px
from prism_explore.pipeline.stages import Counterexample, Refuted, Verified
from prism_explore.verify.counterexample.refuter import replay
from tests.frontend.mirage.others import WORKLOADS, layernorm_in_two_passes
from tests.frontend.mirage.references import reference
from tests.frontend.mirage.written import save

RIGHT = [(name, way) for name, (_, right, _) in WORKLOADS.items() for way in right]
WRONG = [(name, way) for name, (_, _, wrong) in WORKLOADS.items() for way in wrong]
TIED = {("LayerNorm", "two passes")}
"""Their means are factors such as 1/24, which fit one extent."""


@pytest.mark.parametrize(("name", "way"), RIGHT, ids=lambda part: part)
def test_a_right_graph_is_proved_for_all_sizes_that_no_constant_depends_on(tmp_path, name, way):
    build, right, _ = WORKLOADS[name]
    (graph,) = px.load_mirage(save(tmp_path / "g.json", right[way]()))

    found = px.check(reference(build, graph), graph).verdict

    assert isinstance(found, Verified), str(px.CheckResult(way, found))
    if (name, way) not in TIED:
        assert found.candidate.sgraph.data_symbols, "the shapes are part of the family"


@pytest.mark.parametrize(("name", "way"), WRONG, ids=lambda part: part)
def test_a_wrong_graph_is_refuted_by_a_reproducible_counterexample(tmp_path, name, way):
    build, _, wrong = WORKLOADS[name]
    (graph,) = px.load_mirage(save(tmp_path / "g.json", wrong[way]()))

    found = px.check(reference(build, graph), graph).verdict

    assert isinstance(found, Refuted), str(px.CheckResult(way, found))
    again = replay(found.counterexample, found.candidate.family.program, found.candidate.sgraph)
    assert isinstance(again, Counterexample)
    assert again == found.counterexample


@pytest.mark.parametrize("name", WORKLOADS)
def test_what_is_exported_is_read_as_the_same(tmp_path, name):
    _, right, _ = WORKLOADS[name]
    graphs = px.load_mirage(save(tmp_path / "g.json", *(write() for write in right.values())))

    px.save_mirage(graphs, tmp_path / "again.json")

    assert px.load_mirage(tmp_path / "again.json") == graphs


def test_a_float_of_a_file_is_read_as_the_nearest_fraction_and_the_proof_notes_it(tmp_path):
    build, right, _ = WORKLOADS["LayerNorm"]
    (graph,) = px.load_mirage(save(tmp_path / "g.json", right["two passes"]()))

    found = px.check(reference(build, graph), graph).verdict

    assert isinstance(found, Verified)
    assert "0.041666666666666664 read as 1/24" in found.proof.conditions
    assert found.proof.broken_at({"gx": 4}) == ()


def test_a_float_that_is_near_no_simple_fraction_stays_what_it_is(tmp_path):
    build, _, _ = WORKLOADS["LayerNorm"]
    (graph,) = px.load_mirage(save(tmp_path / "g.json", layernorm_in_two_passes(0.04166666666)))

    assert isinstance(px.check(reference(build, graph), graph).verdict, Refuted)
