"""Generalization of saved graphs to families."""

import pytest

import prism_explore as px
from prism_explore.frontend.mirage import generalize
from tests.frontend.mirage.references import FILES, path
from tests.frontend.mirage.written import Block, Written, save


@pytest.mark.parametrize("name", FILES)
def test_the_graph_itself_is_the_family_at_the_files_sizes(name):
    for graph in px.load_mirage(path(name)):
        general = generalize(graph)
        assert general.sgraph.parameters
        assert graph.types() == general.sgraph.substitute(dict(general.sizes)).types()
        assert graph == general.sgraph.substitute(dict(general.sizes))


def test_graphs_that_differ_in_sizes_alone_become_one_family():
    assert 18 == len(set(px.load_mirage(path("rmsnorm_bs1"))))
    assert 3 == len(set(px.load_mirage(path("rmsnorm_bs1"), general=True)))


def test_the_second_kernel_reduces_as_many_parts_as_the_first_one_made(golden):
    golden("mirage/gqa_family", px.show(generalize(px.load_mirage(path("gqa_bs8"))[1]).sgraph))


def test_a_size_that_fits_by_accident_stays_with_a_note(tmp_path):
    """A column of 4 that is cut into 4 parts broadcasts, and would not if it were cut into 2."""
    w = Written()
    x, y = w.input(4, 6), w.input(8, 6)
    block = Block(w, grid=(4,))
    tiles = block.load(x, (0,), -1, (1, 6)), block.load(y, (0,), -1, (2, 6))
    made = block.op("tb_mul_op", *tiles, dims=(2, 6))
    block.store(block.op("tb_forloop_accum_nored_op", made, dims=(2, 6)), (0,), (8, 6))
    (graph,) = px.load_mirage(save(tmp_path / "g.json", w.output(w.custom(block, x, y)[0])))
    general = generalize(graph)
    assert graph == general.sgraph
    assert ("gx is 4: 4/gx must be 1",) == general.notes


def test_kernels_whose_tiles_meet_share_their_symbol(tmp_path):
    """The second kernel multiplies partials by a tensor that is cut as often as the first kernel's grid."""
    w = Written()
    x, y = w.input(8, 12), w.input(8, 2)
    first = Block(w, grid=(4,), loop=1)
    tile = first.load(x, (1,), -1, (8, 3))
    first.store(first.op("tb_forloop_accum_red_ld_sum_op", tile, dims=(8, 1)), (1,), (8, 4))
    (partials,) = w.custom(first, x)
    second = Block(w, grid=(4,))
    parts, other = second.load(partials, (1,), -1, (8, 1)), second.load(y, (-1,), -1, (8, 2))
    made = second.op("tb_mul_op", parts, other, dims=(8, 2))
    second.store(second.op("tb_forloop_accum_nored_op", made, dims=(8, 2)), (1,), (8, 8))
    (graph,) = px.load_mirage(save(tmp_path / "g.json", w.output(w.custom(second, partials, y)[0])))
    general = generalize(graph)
    assert ("gx1",) == general.sgraph.parameters
    assert ("gx2 is gx1: gx1/gx2 must be 1",) == general.notes


def test_what_has_symbols_is_left_alone():
    graph = px.load_mirage(path("lora_bs8"), general=True)[0]
    assert graph == generalize(graph).sgraph
