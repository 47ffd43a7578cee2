"""Written files can be read, by this package and, as far as the format is known, by Mirage."""

import gzip
import json

import pytest

import prism_explore as px
from prism_explore.errors import ShapeError, UnsupportedOperator
from tests.frontend.mirage import test_reader as written
from tests.frontend.mirage.references import FILES, path
from tests.frontend.mirage.written import Block, Written, save

NOT_CARRIED = {"guid", "smem_offset"}


def bare(value: object) -> object:
    if isinstance(value, dict):
        return {k: bare(v) for k, v in value.items() if k not in NOT_CARRIED}
    return [bare(v) for v in value] if isinstance(value, list) else value


@pytest.mark.parametrize("name", FILES)
def test_a_file_comes_back_as_it_was_but_for_the_names_of_tensors(tmp_path, name):
    graphs = px.load_mirage(path(name))
    file = px.save_mirage(graphs, tmp_path / "again.json")
    assert graphs == px.load_mirage(file)
    original = json.loads(gzip.decompress(path(name).read_bytes()))
    assert bare(original) == bare(json.loads(file.read_text(encoding="utf-8")))


@pytest.mark.parametrize("word", written.ELEMENTWISE)
def test_every_elementwise_operator_goes_there_and_back(tmp_path, word):
    _, arrays, more = written.ELEMENTWISE[word]
    ops = written.kernel(f"kn_{word}_op", *arrays, dims=(4, 6), **more)
    graphs = px.load_mirage(save(tmp_path / "g.json", ops))
    assert graphs == px.load_mirage(px.save_mirage(graphs, tmp_path / "again.json.gz"))
    assert b"\x1f\x8b" == (tmp_path / "again.json.gz").read_bytes()[:2]


@pytest.mark.parametrize(
    ("word", "columns"),
    [
        ("nored", 12),
        ("red_ld_sum", 1),
        ("red_ld_mean", 1),
        ("red_ld_rms", 1),
        ("max", 12),
        ("redtox_ld_sum", 4),
    ],
)
def test_every_accumulator_goes_there_and_back(tmp_path, word, columns):
    ops = written.accumulated(f"forloop_accum_{word}", (2, 12), (2, columns))
    graphs = px.load_mirage(save(tmp_path / "g.json", ops))
    file = px.save_mirage(graphs, tmp_path / "again.json")
    assert graphs == px.load_mirage(file)
    assert f"tb_forloop_accum_{word}_op" in file.read_text(encoding="utf-8")


def test_slices_and_reductions_survive_a_round_trip(tmp_path):
    w = Written()
    x = w.input(4, 6)
    left, right = w.ops("kn_split_1_op", x, dims=((4, 2), (4, 4)), split_dim=1, split_size=2)
    first, second, third = w.ops("kn_chunk_1_op", x, dims=((4, 2),) * 3, chunk_size=3)
    both = w.op("kn_concat_1_op", right, w.op("kn_add_op", left, first, dims=(4, 2)), dims=(4, 6))
    block = Block(w, grid=(2,), loop=3)
    tile = block.load(both, (0,), 1, (2, 2))
    other = block.load(w_mul := w.op("kn_mul_op", second, third, dims=(4, 2)), (0,), -1, (2, 2))
    kept = block.op("tb_reduction_1_to_dimx_op", other, dims=(2, 1))
    total = block.op("tb_reduction_0_op", block.op("tb_mul_op", tile, kept, dims=(2, 2)), dims=(1, 2))
    block.store(block.op("tb_forloop_accum_nored_op", total, dims=(1, 2)), (0,), (2, 2))
    graphs = px.load_mirage(save(tmp_path / "g.json", w.output(w.custom(block, both, w_mul)[0])))
    assert graphs == px.load_mirage(px.save_mirage(graphs, tmp_path / "again.json"))


def test_a_reduction_that_drops_its_dim_goes_there_and_back(tmp_path):
    w = Written()
    total = w.op("kn_reduction_1_op", w.input(4, 6), dims=(4,))
    graphs = px.load_mirage(save(tmp_path / "g.json", w.output(w.op("kn_exp_op", total, dims=(4,)))))
    assert graphs == px.load_mirage(px.save_mirage(graphs, tmp_path / "again.json"))


OURS = """
sgraph
  x = input f32[b, 4096]
  w = input f32[4096, 4096]
  %2 = custom(x, w) grid[x=gx] loop[i=f]
    %0 = load(0, imap=[-], fmap=1)
    %1 = load(1, imap=[1], fmap=0)
    %2 = matmul(%0, %1)
    %3 = accum(%2)
    %4 = accum_rms(%0, dim=1)
    %5 = div(%3, %4)
    %6 = store(%5, omap=[1])
  return %2
"""


def test_a_graph_with_symbols_is_saved_at_sizes(tmp_path):
    graph = px.parse(OURS)
    sizes = {"b": 8, "gx": 64, "f": 16}
    file = px.save_mirage(graph, tmp_path / "ours.json", sizes=sizes)
    (again,) = px.load_mirage(file)
    assert [i.type for i in graph.substitute(sizes).inputs] == [i.type for i in again.inputs]
    assert [k.op for k in graph.substitute(sizes).nodes[2:]] == [k.op for k in again.nodes[2:]]


def test_a_symbol_without_a_number_is_named(tmp_path):
    with pytest.raises(ShapeError, match=r"graph 0: gx, f have no sizes; pass sizes=\{'gx': \.\.\.\}"):
        px.save_mirage(px.parse(OURS), tmp_path / "ours.json", sizes={"b": 8})


def test_open_maps_are_refused(tmp_path):
    with pytest.raises(ShapeError, match="maps are open"):
        px.save_mirage(px.parse(OURS.replace("imap=[1]", "imap=?").replace(", fmap=0", "")), tmp_path / "ours.json")


@pytest.mark.parametrize(
    ("line", "named"),
    [
        ("add_scalar(x, 1/1000)", r"graph 0: kernel node %1 \(add_scalar\): Mirage has no add_scalar"),
        ("tanh(x)", r"kernel node %1 \(tanh\)"),
        ("max(x, dim=1)", r"kernel node %1 \(max\)"),
        ("permute(x, order=[0, 2, 1])", r"kernel node %1 \(permute\)"),
        ("slice(x, dim=1, start=0, stop=2)", r"kernel node %1 \(slice\).*splits a tensor completely"),
        ("reshape(x, dims=[4, 60])", r"kernel node %1 \(reshape\)"),
    ],
)
def test_an_operator_that_mirage_lacks_is_rejected_by_name(tmp_path, line, named):
    graph = px.parse(f"sgraph\n  x = input f32[4, 6, 10]\n  %1 = {line}\n  return %1\n")
    with pytest.raises(UnsupportedOperator, match=named):
        px.save_mirage(graph, tmp_path / "ours.json")
    assert not (tmp_path / "ours.json").exists()


def test_a_mean_is_saved_as_a_sum_and_a_factor_with_the_same_value(tmp_path):
    graph = px.parse("sgraph\n  x = input f32[4, 6]\n  %1 = mean(x, dim=1)\n  return %1\n")
    (again,) = px.load_mirage(px.save_mirage(graph, tmp_path / "ours.json"))
    assert ["sum", "mul"] == [n.op.fn for n in again.nodes[1:]]
