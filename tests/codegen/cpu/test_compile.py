"""Compiled kernels, compared with the block-by-block interpreter in float64 at every vector width."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from prism_explore.codegen import emit
from prism_explore.codegen.cpu.compile import compile_program
from prism_explore.codegen.cpu.emit_prefetch import PanelPrefetch
from prism_explore.codegen.cpu.llvm.builder import Memory
from prism_explore.codegen.cpu.load import load_plan
from prism_explore.codegen.cpu.matmul_tiling import MatmulShape, balanced_blocks
from prism_explore.codegen.cpu.plan import Plan, choices_of, plan
from prism_explore.codegen.cpu.schedule import schedule_space
from prism_explore.ir.elementwise import CASTS, REAL, UNARY
from prism_explore.ir.interpreter.reference import evaluate
from prism_explore.ir.program import ProgramBuilder
from prism_explore.ir.tensors import WHOLE_NUMBERS
from prism_explore.ir.text import parse
from prism_explore.pipeline.stages import Infeasible, Kernel, Parameters
from prism_explore.targets import GPUS
from prism_explore.targets.cpus import host_cpu
from prism_explore.tune.runner.correctness import TOLERANCE as STORED
from tests.codegen.corpus import CASES, RMS_EPS, filled, parameters, reference, relative_error, verified
from tests.codegen.wider import CAUSAL_FLASH, WIDER, legal

BY_NAME = {c.name: c for c in CASES}
CPU = GPUS["a100"].replace(name="cpu", kind="cpu")
TOLERANCE = 1e-5

COUNT = st.integers(1, 4)
EXTENT = st.integers(1, 40)
ROWS = st.sampled_from((1, 2, 3, 5, 8, 9, 16, 17, 21))


def planned(graph, sizes: dict[str, int], lanes: int | None = None, **schedule: int) -> Plan:
    own, shapes = parameters(graph, sizes, **schedule)
    made = plan(graph, own, shapes, lanes)
    assert isinstance(made, Plan), made
    return made


def error_of(graph, sizes: dict[str, int], lanes: int | None = None, **schedule: int) -> float:
    inputs = filled(graph, sizes)
    kernel = load_plan(planned(graph, sizes, lanes, **schedule))
    return relative_error(reference(graph, inputs, sizes), kernel(*inputs.values()))


def drawn_sizes(case, data) -> dict[str, int]:
    numbers = {}
    for symbol in case.free:
        kind = COUNT if symbol in ("gx", "gy", "gz", "ge", "f", "h") else ROWS if symbol == "b" else EXTENT
        numbers[symbol] = data.draw(kind, symbol)
    return case.sizes(numbers)


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
@settings(max_examples=7, deadline=None)
@given(data=st.data())
def test_a_kernel_computes_what_its_sgraph_means(case, data) -> None:
    sizes = drawn_sizes(case, data)
    lanes = data.draw(st.sampled_from((16, 8, 4)), "lanes")

    error = error_of(case.graph, sizes, lanes)
    assert error < TOLERANCE or error < 2 * plain_error(case.graph, sizes)


@pytest.mark.parametrize("lanes", [16, 4])
@pytest.mark.parametrize("rows", [1, 16])
@pytest.mark.parametrize("order", [(0, 1), (1, 0)], ids=["along n", "along k"])
def test_long_sums_round_less_than_a_chain_of_additions(order, rows, lanes) -> None:
    b = ProgramBuilder("product")
    graph = b.build(b.matmul(b.input("x", rows, 1024), b.input("w", 1024, 256, order=order))).graph
    inputs = filled(graph, {})
    exact = reference(graph, inputs, {})
    chain = np.add.accumulate(inputs["x"][:, :, None] * inputs["w"], axis=1)[:, -1]
    found = load_plan(planned(graph, {}, lanes))(*inputs.values())

    assert np.std(found - exact) < 0.6 * np.std(chain - exact)


@pytest.mark.parametrize("case", WIDER, ids=lambda c: c.name)
@settings(max_examples=5, deadline=None)
@given(data=st.data())
def test_a_kernel_with_views_masks_or_running_maxima_equals_its_sgraph(case, data) -> None:
    sizes = drawn_sizes(case, data)
    assume(legal(case, sizes))
    lanes = data.draw(st.sampled_from((16, 8, 4)), "lanes")

    hoist = data.draw(st.sampled_from((1, 0)), "hoist")
    assert error_of(case.graph, sizes, lanes, hoist=hoist) < TOLERANCE + 8 * plain_error(case.graph, sizes)


def test_a_division_by_a_root_has_the_same_infinities_though_it_is_a_product() -> None:
    case = BY_NAME["rms_plain_nk"]
    sizes = case.sizes({"b": 6, "f": 2, "ks": 8, "gx": 1, "tn": 24})
    inputs = filled(case.graph, sizes)
    rows = np.array([0, 1e-30, 1e-21, 1e30, np.inf, 1], np.float32)[:, None]
    with np.errstate(all="ignore"):
        x, w = inputs["x"] * rows, inputs["w"]
        wanted = (x @ w) / np.sqrt(np.square(x).mean(axis=1, dtype=np.float32, keepdims=True))
    made = planned(case.graph, sizes)
    found = load_plan(made)(*(x if name == "x" else given for name, given in inputs.items()))

    assert "1 / sqrt" in made.source
    assert all(map(np.isnan, wanted[0]))
    assert all(map(np.isinf, wanted[1]))
    assert not wanted[3].any()
    # A square that is hardly a number any more has few digits.
    np.testing.assert_allclose(found, wanted, rtol=2e-2)
    np.testing.assert_allclose(found[3:], wanted[3:], rtol=1e-4, atol=1e-6)


def plain_error(graph, sizes: dict[str, int]) -> float:
    """What NumPy errs in float32: exp magnifies large logits for everybody. The tuner forgives 8 times that."""
    inputs = filled(graph, sizes)
    return relative_error(reference(graph, inputs, sizes), evaluate(graph, inputs, sizes))


def test_a_running_maximum_keeps_large_logits_finite() -> None:
    case = next(c for c in WIDER if c.name == "causal_flash")
    sizes = case.sizes({"h": 2, "gy": 2, "tb": 5, "d": 8, "f": 5, "ks": 4, "e": 9})
    inputs = {name: 30 * x for name, x in filled(case.graph, sizes).items()}
    kernel = load_plan(planned(case.graph, sizes))
    found = kernel(*inputs.values())

    assert np.isfinite(found).all()
    assert relative_error(reference(case.graph, inputs, sizes), found) < 1e-3


def test_a_completely_masked_tile_is_harmless() -> None:
    """The first tiles of the keys are hidden from the first rows: their maxima are placeholders to be replaced."""
    text = CAUSAL_FLASH.replace("low=-1*s, high=s-1*m", "low=8, high=20")
    sizes = {"h": 1, "m": 4, "d": 8, "s": 24, "e": 8, "gy": 1, "f": 6}

    assert error_of(parse(text), sizes) < TOLERANCE


def test_a_band_is_never_stored() -> None:
    case = next(c for c in WIDER if c.name == "causal_flash")
    made = planned(case.graph, case.sizes({"h": 2, "gy": 2, "tb": 5, "d": 8, "f": 5, "ks": 4, "e": 9}))

    assert ["q", "k", "v"] == [b.name for b in made.loops.inputs]
    assert () == made.loops.temporaries


@pytest.mark.parametrize("views", ["merge", "turn", "turn and merge", "merge and split"])
def test_a_result_that_is_a_view_is_written_where_it_lies(views) -> None:
    b = ProgramBuilder("views")
    x, y = b.input("x", 3, 4, 5), b.input("y", 5, 6)
    made = b.matmul(x, y)
    match views:
        case "merge":
            made = b.reshape(made, 12, 6)
        case "turn":
            made = b.permute(made, 1, 0, 2)
        case "turn and merge":
            made = b.reshape(b.permute(made, 1, 0, 2), 12, 6)
        case _:
            made = b.reshape(b.reshape(made, 72), 2, 36)
    graph = b.build(made).graph

    assert 1 == len(planned(graph, {}).loops.nests)
    assert error_of(graph, {}) < TOLERANCE


@pytest.mark.parametrize("computed", [False, True])
def test_a_result_that_merges_dims_of_a_part_is_written_also_where_that_part_could_be_read_in_place(computed) -> None:
    b = ProgramBuilder("views")
    x = b.input("x", 3, 8)
    part = b.slice(b.unary("exp", x) if computed else x, 1, 2, 6)
    graph = b.build(b.reshape(b.reshape(part, 12), 4, 3)).graph

    assert error_of(graph, {}) < TOLERANCE


def test_views_between_kernels_are_not_copied_if_strides_express_them() -> None:
    case = next(c for c in WIDER if c.name == "heads")
    made = planned(case.graph, case.sizes({"b": 3, "d": 8, "h": 2, "e": 5}))
    copied = [n.name for n in made.loops.nests if "custom" not in n.name and "matmul" not in n.name]

    assert ["k5: add"] == copied


@pytest.mark.parametrize("name", ["rms_eps", "rms_eps_nk", "gated_mixed", "attention"])
@settings(max_examples=6, deadline=None)
@given(data=st.data())
def test_no_choice_of_the_schedule_changes_the_result(name, data) -> None:
    case = BY_NAME[name]
    sizes = drawn_sizes(case, data)
    space = schedule_space(planned(case.graph, sizes).loops, host_cpu())
    schedule = {c.name: data.draw(st.sampled_from(c.values), c.name) for c in space}

    assert error_of(case.graph, sizes, **schedule) < TOLERANCE


@pytest.mark.parametrize("rows", [1, 3, 8, 16, 19])
@pytest.mark.parametrize("name", ["rms_eps", "rms_eps_nk", "lora"])
def test_long_sums_stay_accurate(name, rows) -> None:
    case = BY_NAME[name]
    sizes = case.sizes({"b": rows, "f": 4, "ks": 1024, "gx": 2, "tn": 72, "r": 16})

    assert error_of(case.graph, sizes) < TOLERANCE


@pytest.mark.parametrize("panel", [1, 0, 2])
@pytest.mark.parametrize("kc", [512, 1024])
def test_blocks_of_k_change_only_the_order_of_additions(kc, panel) -> None:
    case = BY_NAME["rms_eps_nk"]
    sizes = case.sizes({"b": 9, "f": 2, "ks": 2048, "gx": 2, "tn": 72})

    assert f"k in blocks of {kc}" in planned(case.graph, sizes, kc=kc).source
    assert error_of(case.graph, sizes, kc=kc, panel=panel) < TOLERANCE


# ---------------------------------------------------------------- every operator, on its own
def one(build, *shapes: tuple[int, ...]):
    b = ProgramBuilder("one")
    inputs = [b.input(f"x{i}", *shape) for i, shape in enumerate(shapes)]
    return b.build(build(b, *inputs)).graph


@pytest.mark.parametrize("fn", [row.name for row in UNARY.values() if row.domain == REAL])
@pytest.mark.parametrize("shape", [(7,), (3, 33), (2, 3, 16)])
def test_every_function_of_one_tensor(fn, shape) -> None:
    def of(b, x):
        if (cast := CASTS.get(fn)) in ("i8", "u8"):  # of whole numbers that fit
            low, high = WHOLE_NUMBERS[cast]
            x = b.scalar("min", b.scalar("max", b.unary("round", b.scalar("mul", x, 90)), low), high)
        return b.unary(fn, x)

    graph = one(of, shape)

    assert error_of(graph, {}) < max(TOLERANCE, STORED[graph.output_type.dtype])


@pytest.mark.parametrize("fn", [row.name for row in UNARY.values() if row.domain != REAL])
def test_every_function_of_tensors_inside_its_domain(fn) -> None:
    def inside(b, x):
        return b.unary("tanh", x) if UNARY[fn].domain.high == 1 else b.scalar("add", b.unary("square", x), "1/10")

    assert error_of(one(lambda b, x: b.unary(fn, inside(b, x)), (5, 21)), {}) < TOLERANCE


@pytest.mark.parametrize("fn", ["add", "sub", "mul", "div", "max", "min"])
@pytest.mark.parametrize(
    "shapes", [((4, 9), (4, 9)), ((4, 9), (9,)), ((4, 1), (1, 9)), ((1,), (3, 2, 17)), ((3, 1, 5), (2, 1))]
)
def test_every_function_of_two_tensors_broadcasts(fn, shapes) -> None:
    assert error_of(one(lambda b, x, y: b.binary(fn, x, y), *shapes), {}) < TOLERANCE


@pytest.mark.parametrize("fn", ["sum", "mean", "rms", "max"])
@pytest.mark.parametrize("shape", [(1,), (37,), (1, 5), (6, 50), (2, 3, 19), (70, 3, 2)])
def test_every_reduction_over_every_dim(fn, shape) -> None:
    for along in range(len(shape)):
        assert error_of(one(lambda b, x, along=along: b.reduce(fn, x, along), shape), {}) < TOLERANCE


@pytest.mark.parametrize("orders", ["", "left", "right", "both"])
@pytest.mark.parametrize(
    "shapes",
    [
        ((1, 1), (1, 1)), ((1, 40), (40, 1)), ((5, 17), (17, 23)), ((33, 4), (4, 600)), ((3, 2, 9), (3, 9, 21)),
        ((3, 2, 9), (9, 5)), ((2, 9), (4, 9, 16)), ((2, 1, 4, 6), (3, 6, 8)),
    ],
)  # fmt: skip
def test_products_of_any_batch_and_memory_order(shapes, orders) -> None:
    b = ProgramBuilder("product")
    at = []
    for name, shape in zip(("left", "right"), shapes, strict=True):
        turned = (*range(len(shape) - 2), len(shape) - 1, len(shape) - 2)
        at.append(b.input(name, *shape, order=turned if orders in (name, "both") else ()))

    assert error_of(b.build(b.matmul(*at)).graph, {}) < TOLERANCE


def test_a_product_whose_operands_lie_along_the_batch() -> None:
    b = ProgramBuilder("product")
    left = b.input("left", 4, 5, 19, order=(1, 2, 0))
    right = b.input("right", 4, 19, 33, order=(2, 1, 0))

    assert error_of(b.build(b.matmul(left, right)).graph, {}) < TOLERANCE


def test_scalars_are_exact_rationals() -> None:
    graph = one(lambda b, x: b.scalar("mul", b.scalar("add", x, "1/3"), -7), (4, 30))

    assert error_of(graph, {}) < TOLERANCE


@pytest.mark.parametrize(("fn", "value"), [("pow", "3"), ("pow", "-2"), ("max", "1/3"), ("min", "-1/3")])
def test_other_scalars(fn, value) -> None:
    assert error_of(one(lambda b, x: b.scalar(fn, b.scalar("add", b.unary("square", x), 1), value), (4, 30)), {}) < 1e-5


RESHAPES = [
    ((4, 6), (24,)), ((24,), (4, 6)), ((4, 6), (6, 4)), ((2, 3, 8), (6, 8)), ((6, 8), (2, 3, 8)),
    ((5, 1, 7), (5, 7)), ((5, 7), (1, 5, 1, 7, 1)), ((4, 6, 10), (8, 30)), ((12, 10), (3, 4, 2, 5)),
    ((2, 6, 35), (12, 5, 7)), ((1, 1), (1,)),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new"), RESHAPES)
@pytest.mark.parametrize("around", ["plain", "turned", "between"])
def test_any_reshape(old, new, around) -> None:
    """A view alone, a view of a tensor with another storage order, and a view between two operators."""

    def build(b, x):
        if around == "turned":
            x = b.permute(x, *reversed(range(len(old))))
        elif around == "between":
            x = b.unary("square", x)
        x = b.reshape(x, *new)
        return b.unary("neg", x) if around == "between" else x

    given_shape = tuple(reversed(old)) if around == "turned" else old
    assert error_of(one(build, given_shape), {}) < TOLERANCE


# ---------------------------------------------------------------- emit
SIZES = {"b": 8, "d": 64, "n": 96, "gx": 2, "f": 4}


def emitted(text: str = RMS_EPS, schedule: tuple[tuple[str, int], ...] = (), **changes: int):
    sizes = {**SIZES, **changes}
    graph = parse(text)
    own = Parameters(tuple((s, sizes[s]) for s in graph.parameters), schedule)
    return emit(verified(graph), own, {s: sizes[s] for s in graph.data_symbols}, CPU)


def test_the_source_is_the_loops_and_the_schedule(golden) -> None:
    kernel = emitted(schedule=(("threads", 2),))

    assert isinstance(kernel, Kernel)
    assert kernel.backend == "cpu"
    _, loops = kernel.source.split("\n", 1)
    golden("codegen/kernel_source", loops)


def test_equal_sizes_give_equal_sources_and_other_sizes_other_ones() -> None:
    assert emitted().source == emitted().source
    assert len({emitted().source, emitted(f=2).source, emitted(schedule=(("ku", 4),)).source}) == 3


def test_another_dtype_is_infeasible_with_the_reason() -> None:
    found = emitted(RMS_EPS.replace("f32", "f64"))

    assert isinstance(found, Infeasible)
    assert found.code == "tune.illegal"
    assert found.reason == "x is f64; the CPU backend computes in float32 and stores f32, bf16 and f16"


@pytest.mark.parametrize(
    ("changes", "schedule", "reason"),
    [
        ({"gx": 5}, (), "a tile extent is 96/5, not an integer"),
        ({}, (("warps", 4),), "schedule warps=4: this kernel's choices are threads, hoist, pack"),
        ({}, (("ku", 7),), "schedule ku=7: .* the values are 8, 4, 16"),
        ({}, (("threads", 0),), "schedule threads=0"),
    ],
)
def test_an_impossible_choice_is_infeasible_with_the_reason(changes, schedule, reason) -> None:
    found = emitted(schedule=schedule, **changes)

    assert isinstance(found, Infeasible)
    assert re.match(reason, found.reason), found.reason


def test_scratch_beyond_the_limit_is_infeasible() -> None:
    found = emitted(RMS_EPS, b=100_000, d=4096, f=1)

    assert isinstance(found, Infeasible)
    assert "MiB of scratch per thread" in found.reason


def test_the_offered_choices_are_accepted_and_begin_with_the_default() -> None:
    graph = parse(RMS_EPS)
    own, shapes = parameters(graph, SIZES)
    offered = choices_of(graph, own, shapes)
    first = tuple((c.name, c.values[0]) for c in offered)

    assert plan(graph, Parameters(own.sizes, first), shapes) == plan(graph, own, shapes)
    for c in offered:
        for value in c.values:
            assert isinstance(plan(graph, Parameters(own.sizes, ((c.name, value),)), shapes), Plan)


def test_illegal_sizes_offer_no_choices() -> None:
    graph = parse(RMS_EPS)

    assert choices_of(graph, *parameters(graph, {**SIZES, "gx": 7})) == ()


def test_one_kernel_is_compiled_once() -> None:
    graph = parse(RMS_EPS)
    first, second = (planned(graph, {**SIZES, "n": 48}) for _ in range(2))

    assert compile_program(first.loops, first.schedule, first.host) is compile_program(
        second.loops, second.schedule, second.host
    )


@pytest.mark.parametrize(("extent", "limit"), [(16, 6), (1, 8), (7, 7), (19, 4), (64, 6)])
def test_blocks_of_rows_are_balanced_and_cover(extent, limit) -> None:
    rows, sizes = [], []
    for start, size, count in balanced_blocks(extent, limit):
        rows += range(start, start + size * count)
        sizes += [size] * count

    assert rows == list(range(extent))
    assert max(sizes) <= limit
    assert max(sizes) - min(sizes) <= 1


class RecordingBuilder:
    """A builder of code with constant indices: it records what a kernel would prefetch."""

    def __init__(self) -> None:
        self.prefetched = []

    def index_sum(self, *terms):
        return sum(terms)

    def index_product(self, x, factor):
        return x * factor

    def index_divmod(self, x, by):
        return divmod(x, by)

    def line_elements(self, memory):
        return 16

    def prefetch(self, memory, place, level):
        self.prefetched.append(place)


@given(st.integers(1, 8), st.integers(1, 12), st.sampled_from([48, 1024, 1040]), st.sampled_from([0, 16]))
def test_the_passes_over_the_rows_prefetch_all_of_the_next_panel(width, passes, depth, gap) -> None:
    builder, stride, start = RecordingBuilder(), depth + gap, 3 * width
    shape = MatmulShape(m=6 * passes, n=64, k=depth, target_m=64, left_m=depth, left_k=1, right_k=1, right_n=stride)
    for this_pass in range(passes):
        panel = PanelPrefetch(builder, shape, Memory(None), 2, start, width, this_pass, passes)
        for k in range(0, depth, 16):
            panel.emit(k, 0)

    lines = {(start + column) * stride + k for column in range(width) for k in range(0, depth, 16)}
    assert set(builder.prefetched) >= lines
    assert len(builder.prefetched) < len(lines) + passes * depth / 16
    assert max(builder.prefetched) < (start + width) * stride + 16 * width
