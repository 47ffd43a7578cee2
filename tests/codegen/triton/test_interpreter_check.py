"""Generated Triton in Triton's interpreter, compared with the reference interpreter of sGraphs."""

import contextlib
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from prism_explore.codegen.triton.emit import TritonModule, write_triton
from prism_explore.codegen.triton.interpreter_check import (
    NUMPY_DTYPE,
    TOLERANCE,
    Interpreter,
    InterpreterCheck,
    NoInterpreterCheck,
    check_graph,
)
from prism_explore.codegen.triton.worker_process import Failure
from prism_explore.errors import ShapeError
from prism_explore.ir.dims import dim
from prism_explore.ir.elementwise import BINARY, UNARY
from prism_explore.ir.graph import SGraph, block_types, phases
from prism_explore.ir.interpreter.reference import evaluate
from prism_explore.ir.ops import (
    Accumulate,
    Binary,
    BlockGraph,
    Custom,
    Input,
    Load,
    MatMul,
    Node,
    ParallelDim,
    Reduce,
    Scalar,
    Store,
    Unary,
)
from prism_explore.ir.tensors import tensor
from prism_explore.ir.text import parse, show
from prism_explore.pipeline.stages import Parameters
from tests import strategies
from tests.codegen.triton import graphs
from tests.codegen.wider import CAUSAL_FLASH, MERGED_INSIDE, SPLIT_KV, WIDER, legal

pytest.importorskip("triton")

NO_SCHEDULE = Parameters(())


@pytest.fixture(scope="module")
def interpreter():
    with Interpreter() as running:
        yield running


def agrees(graph, numbers, interpreter, seed=0):
    found = check_graph(graph, numbers, NO_SCHEDULE, interpreter, seed)

    assert isinstance(found, InterpreterCheck), found
    assert found.agrees, found


@pytest.mark.parametrize("dtype", ["i8", "u8"])
@pytest.mark.parametrize("b", [5, 32])
def test_integers_of_8_bits_are_numbers(interpreter, dtype, b):
    agrees(parse(graphs.WHOLE_NUMBERS.replace("i8", dtype)), {"b": b, "gx": 2, "f": 2}, interpreter)


# ---------------------------------------------------------------- the programs of the search
@pytest.mark.parametrize("weight", [True, False])
@pytest.mark.parametrize("eps", [True, False])
@pytest.mark.parametrize("transposed", [True, False])
@pytest.mark.parametrize("sizes", [(1, 1, 1), (5, 3, 4), (8, 2, 1), (6, 12, 8)])
def test_the_fused_rmsnorm_is_right(interpreter, weight, eps, transposed, sizes):
    b, gx, f = sizes
    graph = graphs.rmsnorm_linear(weight=weight, eps=eps, transposed=transposed)

    agrees(graph, {"b": b, "gx": gx, "f": f}, interpreter)


@pytest.mark.parametrize("sizes", [(6, 3, 2, 4), (4, 4, 4, 1), (10, 2, 1, 3)])
def test_the_fused_rmsnorm_is_right_on_a_grid_of_two_dims(interpreter, sizes):
    b, gx, gy, f = sizes
    graph = graphs.rmsnorm_linear(rows=True)

    agrees(graph, {"b": b, "gx": gx, "gy": gy, "f": f}, interpreter)


@pytest.mark.parametrize("dtype", ["f16", "f64", "bf16"])
@pytest.mark.parametrize("text", [graphs.GATED_MLP, graphs.LORA, graphs.BIAS])
@pytest.mark.parametrize("f", [1, 2])
def test_other_dtypes_are_right(interpreter, dtype, text, f):
    agrees(parse(text.replace("f32", dtype)), {"b": 5, "gx": 2, "f": f}, interpreter)


@pytest.mark.parametrize("text", [graphs.GATED_MLP, graphs.LORA, graphs.BIAS])
@pytest.mark.parametrize("sizes", [(1, 1, 1), (7, 3, 4), (16, 2, 1)])
def test_linear_layers_are_right(interpreter, text, sizes):
    b, gx, f = sizes

    agrees(parse(text), {"b": b, "gx": gx, "f": f}, interpreter)


@pytest.mark.parametrize("dtype", ["f32", "f16"])
@pytest.mark.parametrize("sizes", [(2, 6, 2, 4), (3, 16, 1, 1), (1, 9, 3, 5)])
def test_attention_without_a_running_maximum_is_right(interpreter, dtype, sizes):
    h, q, gy, f = sizes

    agrees(parse(graphs.ATTENTION.replace("f32", dtype)), {"h": h, "q": q, "gy": gy, "f": f}, interpreter)


@pytest.mark.parametrize("dtype", ["f32", "f16"])
@pytest.mark.parametrize("sizes", [(6, 6, 2, 2, 4), (4, 32, 1, 1, 1)])
def test_batched_products_are_right(interpreter, dtype, sizes):
    numbers = dict(zip(("h", "q", "gx", "gy", "f"), sizes, strict=True))

    agrees(parse(graphs.SEVERAL_HEADS.replace("f32", dtype)), numbers, interpreter)


@pytest.mark.parametrize(
    ("text", "sizes"), [(graphs.PARTIAL_SUMS, {"s": 32, "gb": 1}), (graphs.PRODUCT_OF_A_TEMPORARY, {"gb": 4, "gm": 1})]
)
def test_16_bit_programs_in_two_kernels_are_right(interpreter, text, sizes):
    agrees(parse(text), sizes, interpreter)


# ---------------------------------------------------------------- tensor descriptors
@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        (show(graphs.rmsnorm_linear(d=64, n=48)), {"b": 5, "gx": 3, "f": 4}),
        (show(graphs.rmsnorm_linear(d=64, n=36, transposed=True)), {"b": 17, "gx": 1, "f": 2}),
        (graphs.GATED_MLP.replace("24", "32").replace("36", "40"), {"b": 7, "gx": 1, "f": 2}),
        (graphs.SEVERAL_HEADS.replace("40", "64"), {"h": 6, "q": 9, "gx": 3, "gy": 1, "f": 2}),
        (graphs.WHOLE_NUMBERS, {"b": 3, "gx": 2, "f": 2}),
        (CAUSAL_FLASH, {"h": 2, "m": 12, "d": 24, "s": 64, "e": 40, "gy": 2, "f": 4}),
        (SPLIT_KV, {"m": 5, "d": 16, "s": 128, "e": 24, "gx": 2, "f": 2, "gy": 1}),
    ],
    ids=["rmsnorm", "transposed", "gated_mlp", "several_heads", "integers", "causal_flash", "split_kv"],
)
@pytest.mark.parametrize("dtype", ["f32", "f16"])
def test_tiles_by_descriptors_are_those_by_pointers(interpreter, text, numbers, dtype):
    graph, by_tma = parse(text.replace("f32", dtype)), Parameters((), (("tma", 1),))
    rng, types = np.random.default_rng(0), {i.name: i.type for i in graph.inputs}
    whole = {n: rng.integers(-8, 9, t.shape_at(numbers)) for n, t in types.items()}
    inputs = {n: (a if types[n].dtype == "i8" else a / 8).astype(NUMPY_DTYPE[types[n].dtype]) for n, a in whole.items()}
    modules = [write_triton(graph, numbers, chosen) for chosen in (NO_SCHEDULE, by_tma)]
    assert all(isinstance(m, TritonModule) for m in modules), modules

    pointers, descriptors = (interpreter.run(m, inputs, types) for m in modules)

    assert "tl.make_tensor_descriptor(" in modules[1].source
    assert isinstance(pointers, tuple) and isinstance(descriptors, tuple), (pointers, descriptors)
    for p, d in zip(pointers, descriptors, strict=True):
        assert np.abs(p - d).max() <= TOLERANCE[dtype] * np.abs(p).max()


# ---------------------------------------------------------------- views, masks, running maxima
@pytest.mark.parametrize("case", WIDER, ids=lambda c: c.name)
@pytest.mark.parametrize("seed", range(3))
def test_views_masks_and_running_maxima_are_right(interpreter, case, seed):
    rng = np.random.default_rng([seed, len(case.name)])
    counts = ("gx", "gy", "f", "h")
    extents = (1, 2, 3, 5, 8, 16)
    while True:
        sizes = case.sizes({s: int(rng.integers(1, 4) if s in counts else rng.choice(extents)) for s in case.free})
        if legal(case, sizes):
            break

    agrees(case.graph, sizes, interpreter, seed)


@pytest.mark.parametrize("sizes", [(2, 32, 4, 8, 2, 32), (2, 6, 3, 5, 1, 7)], ids=["whole", "padded"])
def test_dims_split_and_merge_with_padding_and_without(interpreter, sizes):
    agrees(parse(MERGED_INSIDE), dict(zip(("gy", "b", "t", "d", "gx", "n"), sizes, strict=True)), interpreter)


@pytest.mark.parametrize("dtype", ["f32", "f16"])
@pytest.mark.parametrize("sides", ["%1, %2", "%2, %1", "%2, %0", "%0, %1"])
def test_sides_of_a_concat_are_right_computed_or_loaded(interpreter, sides, dtype):
    text = f"""sgraph
      x = input {dtype}[b, 6]
      y = input {dtype}[12, 10]
      %2 = custom(x, y) grid[x=gx]
        %0 = load(0, imap=[0])
        %1 = mul(%0, %0)
        %2 = exp(%0)
        %3 = concat({sides}, dim=1)
        %4 = load(1, imap=[-])
        %5 = matmul(%3, %4)
        %6 = store(%5, omap=[0])
      return %2"""

    agrees(parse(text), {"b": 6, "gx": 2}, interpreter)


@pytest.mark.parametrize("dtype", ["f16", "f64", "bf16"])
def test_online_softmax_is_right_in_other_dtypes(interpreter, dtype):
    numbers = {"h": 2, "m": 10, "gy": 2, "d": 5, "s": 24, "f": 3, "e": 7}

    agrees(parse(CAUSAL_FLASH.replace("f32", dtype)), numbers, interpreter)


def test_a_completely_masked_tile_is_harmless(interpreter):
    text = CAUSAL_FLASH.replace("low=-1*s, high=s-1*m", "low=8, high=20")

    agrees(parse(text), {"h": 1, "m": 4, "d": 8, "s": 24, "e": 8, "gy": 1, "f": 6}, interpreter)


@pytest.mark.parametrize(
    "text", ["pow_scalar(%2, 3)", "pow_scalar(%2, -5/2)", "max_scalar(%2, 1/3)", "min_scalar(%2, 1/3)"]
)
def test_other_scalars_are_right(interpreter, text):
    agrees(
        parse(graphs.EVERY_FUNCTION.replace("FN(%2)", text).replace("OP", "add")),
        {"b": 5, "gx": 1, "f": 2},
        interpreter,
    )


@pytest.mark.parametrize("fn", ["sum", "mean", "rms", "max"])
@pytest.mark.parametrize("along", [0, 1, 2])
@pytest.mark.parametrize("sizes", [(6, 2), (3, 3)])
def test_reductions_over_any_dim_are_right(interpreter, fn, along, sizes):
    text = graphs.REDUCTIONS.replace("FN", fn).replace("DIM", str(along))

    agrees(parse(text), {"b": sizes[0], "gx": sizes[1]}, interpreter)


NOT_FINITE = set(product(("div", "mask"), ("is_zero", "is_nan", "floor", "round", "trunc")))
"""These functions are 0 for some or all random numbers: the one divides by 0, and the other masks a whole row."""


@pytest.mark.parametrize(("op", "fn"), sorted(set(product(BINARY, UNARY)) - NOT_FINITE))
def test_every_function_is_right(interpreter, op, fn):
    text = graphs.EVERY_FUNCTION.replace("FN", fn).replace("OP", op)

    agrees(parse(text), {"b": 6, "gx": 2, "f": 2}, interpreter)


def test_infinities_in_the_padding_never_reach_a_sum(interpreter):
    text = """sgraph
      x = input f32[b, 6]
      %1 = custom(x) grid[x=gx]
        %0 = load(0, imap=[0])
        %1 = recip(%0)
        %2 = mul(%0, %1)
        %3 = sum(%2, dim=1)
        %4 = store(%3, omap=[0])
      return %1"""

    agrees(parse(text), {"b": 4, "gx": 2}, interpreter)


@pytest.mark.parametrize("along", [0, 1])
def test_a_product_of_tiles_whose_padding_is_not_zero_has_none_that_is(interpreter, along):
    text = f"""sgraph
      x = input f32[b, 12]
      w = input f32[12, 10]
      %2 = custom(x, w) grid[]
        %0 = load(0, imap=[])
        %1 = load(1, imap=[])
        %2 = exp(%0)
        %3 = exp(%1)
        %4 = matmul(%2, %3)
        %5 = sum(%4, dim={along})
        %6 = store(%5, omap=[])
      return %2"""

    agrees(parse(text), {"b": 5}, interpreter)


@pytest.mark.parametrize("sizes", [(6, 3, 2), (4, 1, 1)])
def test_operators_between_kernels_are_right(interpreter, sizes):
    b, gx, gy = sizes

    agrees(parse(graphs.SPLIT), {"b": b, "gx": gx, "gy": gy}, interpreter)


def test_a_tensor_loaded_twice_with_different_maps_is_right(interpreter):
    text = """sgraph
      x = input f32[b, b]
      %1 = custom(x, x) grid[x=gx] loop[i=f]
        %0 = load(0, imap=[0], fmap=1)
        %1 = load(1, imap=[-], fmap=0)
        %2 = matmul(%0, %1)
        %3 = accum(%2)
        %4 = load(1, imap=[0])
        %5 = sub(%3, %4)
        %6 = store(%5, omap=[0])
      return %1"""

    agrees(parse(text), {"b": 12, "gx": 2, "f": 4}, interpreter)


def test_a_dim_cut_by_the_grid_first_and_then_by_the_loop_is_right(interpreter):
    text = """sgraph
      x = input f32[24, 4]
      %1 = custom(x) grid[x=gx] loop[i=f]
        %0 = load(0, imap=[0], fmap=0)
        %1 = accum(%0)
        %2 = store(%1, omap=[0])
      return %1"""

    agrees(parse(text), {"gx": 4, "f": 2}, interpreter)


def test_accumulating_an_invariant_tile_multiplies_it_here_too(interpreter):
    text = graphs.BIAS.replace("%5 = add(%4, %2)", "%5 = accum(%2)").replace("relu(%5)", "add(%4, %5)")

    agrees(parse(text), {"b": 3, "gx": 2, "f": 3}, interpreter)


@pytest.mark.parametrize(
    "names",
    [("for", "lambda", "None"), ("tl", "triton", "torch"), ("pid_x", "out", "acc_5"), ("launch", "range", "i")],
)
def test_names_that_python_or_triton_know_are_no_trouble(interpreter, names):
    graph = graphs.rmsnorm_linear()
    x, g, w = names
    inputs = tuple(Node(Input(n, node.op.type)) for n, node in zip((x, g, w), graph.nodes, strict=False))

    agrees(SGraph((*inputs, *graph.nodes[3:]), graph.output), {"b": 3, "gx": 2, "f": 2}, interpreter)


def test_a_name_that_is_code_stays_a_name(interpreter):
    graph = graphs.rmsnorm_linear(weight=False)
    hostile = ('x\nraise SystemExit("ran")', '"""; raise SystemExit("ran") #')
    inputs = tuple(Node(Input(n, node.op.type)) for n, node in zip(hostile, graph.nodes, strict=False))

    agrees(SGraph((*inputs, *graph.nodes[2:]), graph.output), {"b": 3, "gx": 2, "f": 2}, interpreter)


# ---------------------------------------------------------------- any sGraph at all
TAME = ("square", "neg", "silu", "tanh", "relu", "sigmoid", "exp")
KINDS = ("unary", "scalar", "reduce", "accumulate", "accum", *("binary", "matmul") * 2)
SHAPES = {"x": ("b", 12), "w": (12, 10), "g": (12,), "v": ("b", 12), "t": (2, 12, 10)}


def multiply(a, b):
    return len(a) >= 2 and len(b) >= 2 and a[-1] == b[-2]


@st.composite
def arbitrary_kernels(draw):
    """Random well-typed sGraphs of one custom kernel with constant sizes."""
    numbers = {"b": draw(st.sampled_from((2, 6, 16))), "f": draw(st.sampled_from((1, 2, 3)))}
    numbers |= {s: draw(st.sampled_from((1, 2))) for s in ("gx", "gy")}
    dtype = draw(st.sampled_from(("f32", "f64")))
    operands = tuple(tensor(*dims, dtype=dtype) for dims in SHAPES.values())
    grid = tuple(ParallelDim(n, dim(f"g{n}")) for n in "xy"[: draw(st.integers(0, 2))])
    loop = ParallelDim("i", dim("f"))
    uncut = (None,) * len(grid)
    nodes = [Node(Load(draw(st.integers(0, 4)), uncut))]

    def typed(*more):
        block = BlockGraph(grid, loop, (*nodes, *more))
        types = block_types(block, operands)
        for d in (d for t in types for d in t.dims):
            d.value(numbers)
        return block, types

    def add(op, *args):
        """Append a node if the graph stays well-typed and its extents divisible."""
        with contextlib.suppress(ShapeError):
            typed(Node(op, args), Node(Store(uncut), (0,)))
            nodes.append(Node(op, args))

    def some(rank):
        return draw(st.one_of(st.none(), st.integers(0, rank - 1)))

    for _ in range(draw(st.integers(1, 3))):
        k = draw(st.integers(0, 4))
        rank = operands[k].rank
        add(Load(k, tuple(some(rank) for _ in grid), some(rank)))
    for _ in range(draw(st.integers(2, 8))):
        a, c = (draw(st.integers(0, len(nodes) - 1)) for _ in range(2))
        held = [t.dims for t in typed(Node(Store(uncut), (0,)))[1][:-1]]
        products = [(x, y) for x, p in enumerate(held) for y, q in enumerate(held) if multiply(p, q)]
        fn, along = draw(st.sampled_from(("sum", "mean", "rms"))), draw(st.integers(0, 2))
        kind = draw(st.sampled_from(KINDS))
        match kind:
            case "unary":
                add(Unary(draw(st.sampled_from(TAME))), a)
            case "binary":
                add(Binary(draw(st.sampled_from(("add", "sub", "mul", "div")))), a, c)
            case "matmul":
                add(MatMul(), *(draw(st.sampled_from(products)) if products else (a, c)))
            case "reduce":
                add(Reduce(fn, along), a)
            case "accumulate":
                add(Accumulate(fn, along), a)
            case "accum":
                add(Accumulate("sum"), a)
            case "scalar":
                add(Scalar(draw(st.sampled_from(("add", "mul"))), draw(st.fractions(-2, 2))), a)
    block, types = typed(Node(Store(uncut), (0,)))
    if phases(block)[len(nodes) - 1] == "loop":
        nodes.append(Node(Accumulate("sum"), (len(nodes) - 1,)))
        block, types = typed(Node(Store(uncut), (0,)))
    rank = types[-2].rank
    places = draw(st.permutations(range(max(rank, len(grid)))))
    omap = tuple(p if p < rank else None for p in places[: len(grid)])
    block, types = typed(Node(Store(omap), (len(nodes) - 1,)))
    inputs = tuple(Node(Input(name, t)) for name, t in zip(SHAPES, operands, strict=True))
    return SGraph((*inputs, Node(Custom(block), tuple(range(5)))), 5), numbers


@settings(max_examples=120, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(made=arbitrary_kernels(), seed=st.integers(0, 100))
def test_any_kernel_equals_the_block_interpreter(interpreter, made, seed):
    graph, numbers = made
    found = check_graph(graph, numbers, NO_SCHEDULE, interpreter, seed)
    if isinstance(found, NoInterpreterCheck):
        assert "not finite" in found.reason
        assume(False)

    assert found.agrees, (show(graph), numbers, found)


# ---------------------------------------------------------------- wrong kernels are detected
SEVERAL = """sgraph
  x = input f32[b, 24]
  g = input f32[24]
  %2 = custom(x, g) grid[x=gx]
    %0 = load(0, imap=[0])
    %1 = load(1, imap=[-])
    %2 = square(%0)
    %3 = mul(%2, %1)
    %4 = store(%3, omap=[0])
    %5 = store(%2, omap=[0])
  %3 = result(%2, index=1)
  %4 = exp(%3)
  return %4, %2, %3"""


def test_each_of_several_results_is_compared(interpreter):
    agrees(parse(SEVERAL), {"b": 6, "gx": 3}, interpreter)
    module = write_triton(parse(SEVERAL), {"b": 6, "gx": 3}, NO_SCHEDULE)
    types = {i.name: i.type for i in parse(SEVERAL).inputs}
    x, g = np.ones((6, 24), "float32"), np.full(24, 2, "float32")

    exponential, scaled, squared = interpreter.run(module, {"x": x, "g": g}, types)

    assert {1.0} == set(squared.flat)
    assert {2.0} == set(scaled.flat)
    np.testing.assert_allclose(exponential, np.e, rtol=1e-6)


def test_a_wrong_kernel_is_found(interpreter):
    graph = graphs.rmsnorm_linear()
    numbers = {"b": 5, "gx": 3, "f": 4}
    module = write_triton(graph, numbers, NO_SCHEDULE)
    wrong = replace(module, source=module.source.replace("acc_7 / 24", "acc_7 / 25"))
    inputs = strategies.random_inputs(graph, numbers)
    inputs = {name: array.astype("float32") for name, array in inputs.items()}
    types = {i.name: i.type for i in graph.inputs}

    (good,), (bad,) = (interpreter.run(m, inputs, types) for m in (module, wrong))

    wanted = evaluate(graph, inputs, {"gx": 3, "f": 4})
    np.testing.assert_allclose(wanted, good, rtol=1e-4, atol=1e-5)
    assert np.abs(wanted - bad).max() > 1e-3


# ---------------------------------------------------------------- failures are values
def test_an_argument_of_another_shape_or_dtype_is_refused_by_the_launcher(interpreter):
    graph = graphs.rmsnorm_linear(weight=False)
    module = write_triton(graph, {"b": 5, "gx": 3, "f": 4}, NO_SCHEDULE)
    types = {i.name: i.type for i in graph.inputs}
    w = np.ones((24, 36), "float32")

    for x in (np.ones((4, 24), "float32"), np.ones((5, 24), "float64")):
        found = interpreter.run(module, {"x": x, "w": w}, types)
        assert isinstance(found, Failure)
        assert f"x is {x.shape} torch.{x.dtype}" in found.reason


def test_after_a_crash_and_a_hang_the_interpreter_is_there_again():
    graph = graphs.rmsnorm_linear(weight=False)
    module = write_triton(graph, {"b": 5, "gx": 3, "f": 4}, NO_SCHEDULE)
    types = {i.name: i.type for i in graph.inputs}
    inputs = {n: a.astype("float32") for n, a in strategies.random_inputs(graph, {"b": 5}).items()}
    crash = replace(module, source=module.source + "\nimport os\nprint('farewell')\nos.abort()\n")
    hang = replace(module, source=module.source + "\nwhile True: pass\n")

    with Interpreter() as running:
        crashed = running.run(crash, inputs, types)
        hung = running.run(hang, inputs, types, timeout_s=0.5)
        (fine,) = running.run(module, inputs, types)

    assert "crash" == crashed.code and "SIGABRT" in crashed.reason
    assert Failure("hang", "no answer within 0.5 s; the process was ended") == hung
    np.testing.assert_allclose(evaluate(graph, inputs, {"gx": 3, "f": 4}), fine, rtol=1e-4, atol=1e-5)
