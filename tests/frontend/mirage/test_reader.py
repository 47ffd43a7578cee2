"""Mirage's files become sGraphs with the values that Mirage defines."""

import json
import warnings
from collections.abc import Callable
from math import erf

import numpy as np
import pytest

import prism_explore as px
from prism_explore.errors import ParseError, ShapeError, UnsupportedOperator
from prism_explore.ir.interpreter.reference import evaluate
from prism_explore.ir.ops import AccumulateRescaled, Custom, RunningMax
from prism_explore.widgets.views.graph import sgraph_scene
from tests.frontend.mirage.references import FILES, path
from tests.frontend.mirage.written import Block, Written, save

RNG = np.random.default_rng(7)
A = RNG.uniform(-1, 1, (4, 6))
B = RNG.uniform(-1, 1, (4, 6))
COLUMN = RNG.uniform(0.5, 1, (4, 1))


@pytest.mark.parametrize("name", FILES)
def test_every_graph_of_every_file_is_read(name):
    graphs = px.load_mirage(path(name))
    assert FILES[name][1] == len(graphs)
    assert len(set(graphs)) == len(graphs)
    assert {"f16"} == {i.type.dtype for g in graphs for i in g.inputs}


def test_a_split_kernel_reads_as_text(golden):
    golden("mirage/gqa", px.show(px.load_mirage(path("gqa_bs8"))[0]))


def test_an_imported_graph_prints_parses_and_is_drawn():
    graph = px.load_mirage(path("mha_bs1"))[5]
    assert graph == px.parse(px.show(graph))
    assert sgraph_scene(graph).shapes


def test_a_graph_is_named_after_its_place_in_the_file():
    assert ["lora_bs8[0]", "lora_bs8[1]", "lora_bs8[2]", "lora_bs8[3]"] == [
        g.name for g in px.read_mirage(path("lora_bs8")).graphs
    ]


# ---------------------------------------------------------------- operators of the kernel graph
def kernel(op_type: str, *arrays: np.ndarray, dims: tuple[int, ...], **more: object) -> list:
    w = Written()
    return w.output(w.op(op_type, *[w.input(*a.shape) for a in arrays], dims=dims, **more))


def silu(x: np.ndarray) -> np.ndarray:
    return x / (1 + np.exp(-x))


def gelu(x: np.ndarray) -> np.ndarray:
    return x / 2 * (1 + np.vectorize(erf)(x / np.sqrt(2)))


def by_rms(x: np.ndarray) -> np.ndarray:
    return x / np.sqrt(np.mean(x * x, axis=-1, keepdims=True))


ELEMENTWISE: dict[str, tuple[Callable[..., np.ndarray], tuple[np.ndarray, ...], dict]] = {
    "exp": (np.exp, (A,), {}),
    "square": (np.square, (A,), {}),
    "sqrt": (np.sqrt, (A * A,), {}),
    "silu": (silu, (A,), {}),
    "sigmoid": (lambda x: 1 / (1 + np.exp(-x)), (A,), {}),
    "gelu": (gelu, (A,), {}),
    "relu": (lambda x: np.maximum(x, 0), (A,), {}),
    "clamp": (lambda x: np.clip(x, -0.25, 0.5), (A,), {"min_val": -0.25, "max_val": 0.5}),
    "mul_scalar": (lambda x: x * 0.125, (A,), {"scalar": 0.125}),
    "rms_norm": (by_rms, (A,), {}),
    "add": (np.add, (A, COLUMN), {}),
    "sub": (np.subtract, (COLUMN, A), {}),
    "mul": (np.multiply, (A, B), {}),
    "div": (np.divide, (A, COLUMN), {}),
}


@pytest.mark.parametrize("word", ELEMENTWISE)
def test_an_elementwise_operator_of_the_kernel_graph_equals_mirages_definition(tmp_path, word):
    meaning, arrays, more = ELEMENTWISE[word]
    (graph,) = px.load_mirage(save(tmp_path / "g.json", kernel(f"kn_{word}_op", *arrays, dims=(4, 6), **more)))
    np.testing.assert_allclose(meaning(*arrays), run(graph, *arrays))


@pytest.mark.parametrize("word", ELEMENTWISE)
def test_and_of_the_block_graph(tmp_path, word):
    meaning, arrays, more = ELEMENTWISE[word]
    w = Written()
    inputs = [w.input(*a.shape) for a in arrays]
    block = Block(w, grid=(2,))
    tiles = [block.load(t, (0,), -1, (2, a.shape[1])) for t, a in zip(inputs, arrays, strict=True)]
    made = block.op(f"tb_{word}_op", *tiles, dims=(2, 6), **more)
    block.store(block.op("tb_forloop_accum_nored_op", made, dims=(2, 6)), (0,), (4, 6))
    (graph,) = px.load_mirage(save(tmp_path / "g.json", w.output(w.custom(block, *inputs)[0])))
    np.testing.assert_allclose(meaning(*arrays), run(graph, *arrays))


def run(graph: px.TensorProgram, *arrays: np.ndarray) -> np.ndarray:
    return evaluate(graph, {f"x{n}": a for n, a in enumerate(arrays)})


@pytest.mark.parametrize(
    ("op_type", "dims", "expected"),
    [
        ("kn_reduction_0_op", (1, 6), A.sum(0, keepdims=True)),
        ("kn_reduction_1_op", (4, 1), A.sum(1, keepdims=True)),
        ("kn_reduction_1_op", (4,), A.sum(1)),
        ("kn_transpose_01_op", (6, 4), A.T),
    ],
)
def test_reductions_keep_or_drop_their_dim_as_declared_and_a_transpose_swaps(tmp_path, op_type, dims, expected):
    (graph,) = px.load_mirage(save(tmp_path / "g.json", kernel(op_type, A, dims=dims)))
    np.testing.assert_allclose(expected, run(graph, A))


def test_split_chunk_and_concat_equal_mirages_definitions(tmp_path):
    w = Written()
    x = w.input(4, 6)
    left, right = w.ops("kn_split_1_op", x, dims=((4, 2), (4, 4)), split_dim=1, split_size=2)
    first, second, third = w.ops("kn_chunk_1_op", x, dims=((4, 2),) * 3, chunk_size=3)
    both = w.op("kn_concat_1_op", right, left, dims=(4, 6))
    parts = w.op("kn_concat_first_op_id", w.op("kn_mul_op", first, third, dims=(4, 2)), second, dims=(8, 2))
    product = w.op("kn_matmul_op", parts, w.op("kn_transpose_01_op", left, dims=(2, 4)), dims=(8, 4))
    (graph,) = px.load_mirage(save(tmp_path / "g.json", w.output(w.op("kn_matmul_op", product, both, dims=(8, 6)))))
    rows = np.concatenate((A[:, :2] * A[:, 4:], A[:, 2:4]))
    np.testing.assert_allclose(rows @ A[:, :2].T @ np.concatenate((A[:, 2:], A[:, :2]), axis=1), run(graph, A))


# ---------------------------------------------------------------- block graphs
X = RNG.uniform(-1, 1, (4, 24))


def accumulated(word: str, tile: tuple[int, int], result: tuple[int, int], *, loop: int = 2) -> list:
    w = Written()
    x = w.input(4, 24)
    block = Block(w, grid=(2,), loop=loop)
    made = block.op(f"tb_{word}_op", block.load(x, (0,), 1, tile), dims=result)
    block.store(made, (0,), (4, result[1]))
    return w.output(w.custom(block, x)[0])


@pytest.mark.parametrize(
    ("word", "columns", "expected"),
    [
        ("forloop_accum_nored", 12, X[:, :12] + X[:, 12:]),
        ("accum_nored", 12, X[:, :12] + X[:, 12:]),
        ("forloop_accum_no_red", 12, X[:, :12] + X[:, 12:]),
        ("forloop_accum_red_ld_sum", 1, X.sum(1, keepdims=True)),
        ("forloop_accum_red_ld_mean", 1, X.mean(1, keepdims=True)),
        ("forloop_accum_red_ld_rms", 1, np.sqrt((X * X).mean(1, keepdims=True))),
        ("forloop_accum_max", 12, np.maximum(X[:, :12], X[:, 12:])),
        ("forloop_accum_redtox_ld_sum", 4, X.reshape(4, 6, 4).sum(1)),
        ("accum_redtox_ld_sum", 4, X.reshape(4, 6, 4).sum(1)),
    ],
)
def test_an_accumulator_equals_mirages_definition_by_old_and_new_names(tmp_path, word, columns, expected):
    (graph,) = px.load_mirage(save(tmp_path / "g.json", accumulated(word, (2, 12), (2, columns))))
    np.testing.assert_allclose(expected, run(graph, X))


@pytest.mark.parametrize(
    ("word", "dims", "expected"),
    [
        ("reduction_0", (1, 24), X[:2].sum(0) + 0 * X[:1]),
        ("reduction_1", (2, 1), X[:2].sum(1, keepdims=True)),
        ("reduction_1_to_dimx", (2, 4), X[:2].reshape(2, 6, 4).sum(1)),
        ("reduction_0_to_dimx", (1, 24), X[:2].sum(0, keepdims=True)),
        ("reduction_1_max", (2, 1), X[:2].max(1, keepdims=True)),
    ],
)
def test_a_reduction_in_a_block_equals_mirages_definition(tmp_path, word, dims, expected):
    w = Written()
    x = w.input(2, 24)
    block = Block(w)
    made = block.op(f"tb_{word}_op", block.load(x, (), -1, (2, 24)), dims=dims)
    block.store(block.op("tb_forloop_accum_nored_op", made, dims=dims), (), dims)
    (graph,) = px.load_mirage(save(tmp_path / "g.json", w.output(w.custom(block, x)[0])))
    np.testing.assert_allclose(expected, run(graph, X[:2]))


def test_a_running_maximum_and_rescaled_accumulators_are_online_softmax(tmp_path):
    w = Written()
    x, v = w.input(4, 24), w.input(24, 5)
    block = Block(w, grid=(2,), loop=3)
    tile, values = block.load(x, (0,), 1, (2, 8)), block.load(v, (-1,), 0, (8, 5))
    highest, change = block.ops("tb_reduction_1_max_op", tile, dims=((2, 1), (2, 1)))
    factor = block.op("tb_exp_op", change, dims=(2, 1))
    e = block.op("tb_exp_op", block.op("tb_sub_op", tile, highest, dims=(2, 8)), dims=(2, 8))
    total = block.op("tb_forloop_accum_red_ld_sum_rescale_op", e, factor, dims=(2, 1))
    product = block.op("tb_matmul_op", e, values, dims=(2, 5))
    weighted = block.op("tb_forloop_accum_nored_rescale_op", product, factor, dims=(2, 5))
    block.store(block.op("tb_div_op", weighted, total, dims=(2, 5)), (0,), (4, 5))
    (graph,) = px.load_mirage(save(tmp_path / "g.json", w.output(w.custom(block, x, v)[0])))
    kinds = {type(n.op) for k in graph.nodes if isinstance(k.op, Custom) for n in k.op.block.nodes}
    assert {RunningMax, AccumulateRescaled} <= kinds
    weights, other = np.exp(X), RNG.uniform(-1, 1, (24, 5))
    np.testing.assert_allclose(weights / weights.sum(1, keepdims=True) @ other, run(graph, X, other))


def test_loras_concatenated_form_is_one_product(tmp_path):
    w = Written()
    sizes = {"x": (4, 6), "w": (6, 8), "a": (6, 3), "b": (3, 8)}
    x, big, a, b = (w.input(*dims) for dims in sizes.values())
    block = Block(w, grid=(2,))
    tiles = [
        block.load(t, imap, -1, dims)
        for t, imap, dims in ((x, (-1,), (4, 6)), (big, (1,), (6, 4)), (a, (-1,), (6, 3)), (b, (1,), (3, 4)))
    ]
    low = block.op("tb_matmul_op", tiles[0], tiles[2], dims=(4, 3))
    both = block.op("tb_concat_then_matmul_op", tiles[0], low, tiles[1], tiles[3], dims=(4, 4))
    block.store(block.op("tb_forloop_accum_nored_op", both, dims=(4, 4)), (1,), (4, 8))
    (graph,) = px.load_mirage(save(tmp_path / "g.json", w.output(w.custom(block, x, big, a, b)[0])))
    xs, ws, small, bs = (RNG.uniform(-1, 1, dims) for dims in sizes.values())
    np.testing.assert_allclose(xs @ ws + xs @ small @ bs, run(graph, xs, ws, small, bs))


# ---------------------------------------------------------------- older files
def test_an_old_file_accumulates_in_its_output_operator_and_has_none_for_the_result(tmp_path):
    w = Written(dtype=921)
    x = w.input(4, 24)
    block = Block(w, grid=(2,), loop=3)
    squares = block.op("tb_square_op", block.load(x, (0,), 1, (2, 8)), dims=(2, 8))
    block.store(squares, (0,), (4, 8), outputs=[block.tensor((2, 8))])
    w.custom(block, x)
    (graph,) = px.load_mirage(save(tmp_path / "g.json", w.operators))
    np.testing.assert_allclose((X * X).reshape(4, 3, 8).sum(1), run(graph, X))
    assert "f16" == graph.inputs[0].type.dtype


def test_a_search_checkpoint_holds_a_list_of_graphs_and_a_file_may_hold_one_alone(tmp_path):
    graph = kernel("kn_exp_op", A, dims=(4, 6))
    for content in ({"generated_graphs": [graph], "config": {"fmap_to_explore": [-1]}}, graph, [graph]):
        (tmp_path / "g.json").write_text(json.dumps(content), encoding="utf-8")
        assert 1 == len(px.load_mirage(tmp_path / "g.json"))


@pytest.mark.parametrize(
    ("code", "name", "dtype"),
    [(940, "exp", "bf16"), (941, "exp", "f16"), (950, "exp", "f32"), (960, "exp", "f64"), (921, "exp", "f16")],
)
def test_dtypes_are_identified_by_their_codes(tmp_path, code, name, dtype):
    w = Written(dtype=code)
    (graph,) = px.load_mirage(save(tmp_path / "g.json", w.output(w.op(f"kn_{name}_op", w.input(4), dims=(4,)))))
    assert dtype == graph.output_type.dtype


def test_a_column_major_input_keeps_its_layout(tmp_path):
    w = Written()
    x = w.input(4, 6, input_strides=[1, 4])
    (graph,) = px.load_mirage(save(tmp_path / "g.json", w.output(w.op("kn_exp_op", x, dims=(4, 6)))))
    assert (1, 0) == graph.inputs[0].type.order


# ---------------------------------------------------------------- rejected files
def test_an_operator_without_counterpart_is_named_and_its_graph_can_be_left_out(tmp_path):
    file = save(tmp_path / "two.json", kernel("kn_log_op", A, dims=(4, 6)), kernel("kn_exp_op", A, dims=(4, 6)))
    with pytest.raises(UnsupportedOperator, match=r"two\.json, graph 0, operator 1 \(kn_log_op\).*no logarithm"):
        px.load_mirage(file)
    with pytest.warns(UserWarning, match=r"graph 0 is left out: .*no logarithm"):
        assert 1 == len(px.load_mirage(file, skip=True))
    content = px.read_mirage(file, skip=True)
    assert [(0, True)] == [(s.index, "no logarithm" in s.reason) for s in content.skipped]
    assert [1] == [g.index for g in content.graphs]


@pytest.mark.parametrize("op_type", ["kn_pow_op", "kn_allreduce_op", "kn_conv2d_op", "kn_frobnicate_op"])
def test_every_unknown_operator_is_a_named_error(tmp_path, op_type):
    with pytest.raises(UnsupportedOperator, match=op_type):
        px.load_mirage(save(tmp_path / "g.json", kernel(op_type, A, dims=(4, 6))))


def test_a_constant_that_the_file_lacks_can_be_an_argument(tmp_path):
    file = save(tmp_path / "g.json", kernel("kn_mul_scalar_op", A, dims=(4, 6)))
    with pytest.raises(ParseError, match=r"mul_scalar needs 'scalar'.*constants="):
        px.load_mirage(file)
    (graph,) = px.load_mirage(file, constants={"scalar": 0.25})
    np.testing.assert_allclose(A / 4, run(graph, A))


def rmsnorm() -> list:
    w = Written()
    x, m = w.input(4, 24), w.input(24, 6)
    block = Block(w, grid=(3,), loop=2)
    tile, part = block.load(x, (-1,), 1, (4, 12)), block.load(m, (1,), 0, (12, 2))
    rms = block.op("tb_forloop_accum_red_ld_rms_op", tile, dims=(4, 1))
    total = block.op("tb_forloop_accum_nored_op", block.op("tb_matmul_op", tile, part, dims=(4, 2)), dims=(4, 2))
    block.store(block.op("tb_div_op", total, rms, dims=(4, 2)), (1,), (4, 6))
    return json.loads(json.dumps(w.output(w.custom(block, x, m)[0])))


def test_the_graph_that_is_damaged_below_is_sound(tmp_path):
    (graph,) = px.load_mirage(save(tmp_path / "g.json", rmsnorm()))
    other = RNG.uniform(-1, 1, (24, 6))
    np.testing.assert_allclose(by_rms(X) @ other, run(graph, X, other))


def drop(key: str) -> Callable[[list], None]:
    def damage(ops: list) -> None:
        del ops[2][key]

    return damage


def put(value: object, *keys: object) -> Callable[[list], None]:
    def damage(ops: list) -> None:
        place = ops
        for key in keys[:-1]:
            place = place[key]
        place[keys[-1]] = value

    return damage


BLOCK = (2, "bgraph", "operators")
DAMAGES: dict[str, tuple[Callable[[list], None], type[Exception], str]] = {
    "no block graph": (drop("bgraph"), ParseError, r"operator 2 \(kn_customized_op\): expected the key 'bgraph'"),
    "no inputs": (drop("input_tensors"), ParseError, "expected the key 'input_tensors'"),
    "a text as range": (put("four", 2, "bgraph", "forloop_range"), ParseError, "forloop_range: expected an integer"),
    "a range of zero": (put(0, 2, "bgraph", "forloop_range"), ParseError, "integer from 1"),
    "a grid of a half": (put(0.5, 2, "bgraph", "grid_dim", "x"), ParseError, "grid_dim, x: expected an integer"),
    "a grid that does not divide": (
        put(5, 2, "bgraph", "grid_dim", "x"),
        ShapeError,
        "cannot be partitioned into 5 equal parts",
    ),
    "a loop that does not divide": (
        put(7, 2, "bgraph", "forloop_range"),
        ShapeError,
        "cannot be partitioned into 7 equal parts",
    ),
    "a negative dim": (put(-4, 0, "output_tensors", 0, "dim", 0), ParseError, "integer from 1"),
    "a true dim": (put(True, 0, "output_tensors", 0, "dim", 0), ParseError, "expected an integer"),
    "more dims than stated": (put(7, 0, "output_tensors", 0, "num_dims"), ParseError, "num_dims = 7"),
    "a wrong dim": (put(5, *BLOCK, 3, "output_tensors", 0, "dim", 1), ShapeError, r"tb_matmul_op.*declared \(4, 5\)"),
    "a foreign guid": (put(7, *BLOCK, 3, "input_tensors", 0, "guid"), ParseError, "guid 7, which no earlier"),
    "a guid made twice": (put(100, 1, "output_tensors", 0, "guid"), ParseError, "guid 100 a second time"),
    "a map beyond the dims": (put(2, *BLOCK, 1, "input_map", "x"), ParseError, "dim 2 of a tensor with 2 dims"),
    "an unknown operator": (put("tb_fold_op", *BLOCK, 3, "op_type"), UnsupportedOperator, "tb_fold_op"),
    "a number as operator": (put(7, *BLOCK, 3, "op_type"), ParseError, "op_type: expected a string"),
    "an unknown dtype": (put(935, 0, "output_tensors", 0, "data_type"), ShapeError, "data_type 935"),
    "two results": (lambda ops: ops.append(ops[3]), ParseError, "2 results"),
    "a string of operators": (put("all", *BLOCK), ParseError, "expected a list"),
    "no accumulator": (put("tb_exp_op", *BLOCK, 4, "op_type"), ShapeError, "loop"),
    "an output elsewhere": (put(7, *BLOCK, 6, "dtensor", "guid"), ParseError, "an output to guid 7"),
    "an input that is not given": (put([], 2, "input_tensors"), ParseError, "a tensor that is no input of the kernel"),
    "an operand too many": (
        lambda ops: ops[2]["bgraph"]["operators"][2]["input_tensors"].append(ops[0]["output_tensors"][0]),
        ParseError,
        "no earlier operator",
    ),
}


@pytest.mark.parametrize("what", DAMAGES)
def test_the_error_of_a_damaged_graph_names_place_and_value(tmp_path, what):
    damage, error, message = DAMAGES[what]
    ops = rmsnorm()
    damage(ops)
    with pytest.raises(error, match=message) as caught:
        px.load_mirage(save(tmp_path / "bad.json", ops))
    assert "bad.json, graph 0" in str(caught.value)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"null",
        b"7",
        b'"graphs"',
        b'{"graphs": []}',
        b"[7]",
        b"[[7]]",
        b'[[{"op_type": "kn_input_op"}]]',
        b"[[NaN]]",
        b"[[1e999]]",
        b"[" * 100_000,
        b"\x1f\x8b\x08damaged",
        b"\xff\xfe\x00",
        b"[[" + b"9" * 10_000 + b"]]",
        b"__import__('os').system('true')",
    ],
)
def test_what_is_no_file_of_mirages_is_a_parse_error(tmp_path, content):
    (tmp_path / "foreign.json").write_bytes(content)
    with pytest.raises(ParseError, match=r"foreign\.json"):
        px.load_mirage(tmp_path / "foreign.json")


def test_a_file_that_does_not_exist_is_named(tmp_path):
    with pytest.raises(ParseError, match=r"nowhere\.json"):
        px.load_mirage(tmp_path / "nowhere.json")


def test_any_single_change_of_a_file_is_read_or_refused_with_an_error_of_ours(tmp_path):
    """Every number and string of a sound graph is replaced in turn; nothing else than our errors comes out."""
    changes = 0
    for value in (0, 3, 10**30, "x", None, []):
        for keys in places(rmsnorm()):
            ops = rmsnorm()
            put(value, *keys)(ops)
            file = save(tmp_path / "changed.json", ops)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    px.load_mirage(file)
                except px.PrismError:
                    changes += 1
    assert changes > 500


def places(value: object, *keys: object) -> list[tuple[object, ...]]:
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [*([keys] if keys else []), *(p for key, inner in inside for p in places(inner, *keys, key))]
