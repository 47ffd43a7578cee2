"""The text of generated Triton source, and the sGraphs without one. Nothing is run here."""

import ast
import re
from typing import Any

import pytest

from prism_explore.codegen import emit
from prism_explore.codegen.triton.axes import tile_axes
from prism_explore.codegen.triton.emit import TritonModule, emit_triton, triton_module, write_triton
from prism_explore.codegen.triton.launcher_text import FOR_TMA
from prism_explore.codegen.triton.plan import Obstacle
from prism_explore.codegen.triton.python_text import Names
from prism_explore.errors import ShapeError
from prism_explore.ir.graph import SGraph
from prism_explore.ir.text import parse, show
from prism_explore.pipeline.stages import Infeasible, Kernel, Parameters
from prism_explore.targets import GPUS
from tests.codegen.triton import graphs
from tests.codegen.triton.graphs import verified
from tests.codegen.wider import CAUSAL_FLASH, LATEST, LORA_CONCAT, LORA_CONCAT_LOOP, MERGED_INSIDE

NO_SCHEDULE = Parameters(())


def source(graph: SGraph | str, schedule=(), **numbers: int) -> str:
    graph = parse(graph) if isinstance(graph, str) else graph
    module = write_triton(graph, numbers, Parameters((), schedule))
    assert isinstance(module, TritonModule), module
    ast.parse(module.source)
    return module.source


def obstacle(graph: SGraph | str, schedule=(), target=None, **numbers: int) -> str:
    graph = parse(graph) if isinstance(graph, str) else graph
    found = write_triton(graph, numbers, Parameters((), schedule), target)
    assert isinstance(found, Obstacle), found
    assert "tune.illegal" == found.code
    return found.reason


def lines_between(text: str, start: str, end: str) -> list[str]:
    lines = text.splitlines()
    first = next(i for i, line in enumerate(lines) if line.strip().startswith(start))
    last = next(i for i, line in enumerate(lines) if i > first and line.strip().startswith(end))
    return [line.strip() for line in lines[first:last]]


# ---------------------------------------------------------------- text
def test_the_fused_rmsnorm_reads_as_it_did(golden):
    graph = graphs.rmsnorm_linear(d=4096, n=4096, transposed=True)
    parameters = Parameters((("gx", 64), ("f", 32)), (("num_warps", 8), ("num_stages", 3)))
    kernel = emit_triton(verified(in_half(graph)), parameters, {"b": 8}, GPUS["h100"])
    assert isinstance(kernel, Kernel)

    golden("triton_rmsnorm_linear", kernel.source)


def in_half(graph: SGraph) -> SGraph:
    return parse(show(graph).replace("f32", "f16"))


def test_attention_reads_as_it_did(golden):
    golden("triton_attention", source(graphs.ATTENTION.replace("f32", "f16"), h=2, q=32, gy=2, f=2))


def test_two_kernels_and_what_torch_does_between_them_read_as_they_did(golden):
    golden("triton_two_kernels", source(graphs.SPLIT, b=6, gx=3, gy=2))


def test_what_kernels_hand_on_is_in_float32_unless_a_product_reads_it():
    partial, operand = source(graphs.PARTIAL_SUMS, s=4, gb=1), source(graphs.PRODUCT_OF_A_TEMPORARY, gb=1, gm=1)

    assert "t1 = torch.empty((4, 4), dtype=torch.float32" in partial
    assert "out = torch.empty((4, 1), dtype=torch.bfloat16" in partial
    assert "t2 = torch.empty((16, 512), dtype=torch.bfloat16" in operand


def test_online_softmax_reads_as_it_did(golden):
    golden("triton_causal_flash", source(CAUSAL_FLASH.replace("f32", "f16"), h=2, m=32, d=32, s=64, e=32, gy=2, f=4))


def test_the_sides_of_a_concat_of_what_is_loaded_are_loaded_where_they_stand():
    text = source(LORA_CONCAT, b=4, d=8, n=8, r=2, gx=2)

    assert "concat_4 = tl.where(first_4, part_4, part_4_2)" in text
    assert "mask=~first_4 & mask_" in text
    assert "tl.gather(" not in text


def test_a_tile_in_registers_is_sliced_by_lane_indices():
    assert 2 == source(LORA_CONCAT_LOOP, b=4, d=8, n=8, r=2, gx=2, f=2).count("tl.gather(")


def test_a_side_of_a_concat_that_was_computed_is_gathered():
    text = """sgraph
      x = input f32[b, 6]
      %1 = custom(x) grid[x=gx]
        %0 = load(0, imap=[0])
        %1 = mul(%0, %0)
        %2 = exp(%0)
        %3 = concat(%1, %2, dim=1)
        %4 = store(%3, omap=[0])
      return %1"""

    assert 1 == source(text, b=4, gx=2).count("tl.gather(")


def test_a_reshape_that_padding_breaks_is_made_element_by_element():
    assert "tl.gather(" not in source(MERGED_INSIDE, b=32, t=4, d=8, n=32, gx=2, gy=2)
    assert "place_3 = tl.minimum(" in source(MERGED_INSIDE, b=6, t=3, d=8, n=8, gx=1, gy=2)


def test_a_reshape_of_what_is_loaded_is_loaded_as_it_is_wanted():
    text = """sgraph
      x = input f32[b, 30]
      %1 = custom(x) grid[x=gx]
        %0 = load(0, imap=[0])
        %1 = reshape(%0, dims=[b/gx, 3, 10])
        %2 = sum(%1, dim=1)
        %3 = reshape(%2, dims=[b/gx, 10])
        %4 = store(%3, omap=[0])
      return %1"""

    assert "tl.gather(" not in source(text, b=4, gx=2)


def test_a_power_that_is_no_root_is_an_exponential():
    text = source(LATEST.replace("gelu_tanh(%4)", "pow_scalar(%4, 1/3)"), b=4, d=8, gx=2, f=2)

    assert "pow_scalar_5 = tl.exp(0.3333333333333333 * tl.log(acc_4))" in text


def test_a_band_is_computed_in_its_kernel_and_never_passed():
    text = source(CAUSAL_FLASH, h=2, m=32, d=32, s=64, e=32, gy=2, f=4)

    assert "band_ptr" not in text
    assert "def launch(q, k, v):" in text


def test_the_same_sizes_give_the_same_source():
    first, second = (source(graphs.LORA, b=4, gx=2, f=2) for _ in range(2))

    assert first == second


def test_a_tile_that_is_the_same_in_every_iteration_is_loaded_in_front_of_the_loop():
    text = source(graphs.LORA, b=4, gx=2, f=2)

    assert any(line.startswith("B = tl.load(") for line in lines_between(text, "pid_x", "for i in"))


def test_a_tile_that_only_the_end_reads_is_loaded_after_the_loop():
    text = source(graphs.BIAS, b=4, gx=2, f=2)

    assert any(line.startswith("c = tl.load(") for line in lines_between(text, "acc_4 = tl.dot", "tl.store("))


def test_a_loop_of_one_iteration_is_no_loop():
    assert "for i" not in source(graphs.BIAS, b=4, gx=2, f=1)


def test_products_that_fill_a_tensor_core_use_it_and_others_are_written_out():
    dot = 'tl.dot(x, w, acc_4, input_precision="ieee")'

    assert dot in source(graphs.BIAS, b=16, gx=1, f=1).replace("x, w, inp", "x, w, acc_4, inp")
    assert dot in source(graphs.BIAS, b=5, gx=3, f=2)
    assert "tl.sum(x[:, :, None] * w[None, :, :], axis=1)" in source(graphs.BIAS, b=1, gx=3, f=2)


def test_padding_up_to_a_tensor_core_shows_in_the_constants():
    text = source(graphs.BIAS, b=5, gx=3, f=2)

    assert "TILE_B=5, PADDED_B=16, TILE_D=12, PADDED_D=16, TILE_N=12, PADDED_N=16, LOOP=2" in text


def test_lanes_of_the_padding_are_masked_before_a_sum_that_would_see_them():
    text = source(graphs.REDUCTIONS.replace("FN", "sum").replace("DIM", "2"), b=4, gx=2)

    assert "sum_1 = tl.sum(x, axis=2, keep_dims=True)" in text
    assert "mul_3_masked = tl.where(mask_n[None, None, :], mul_3, 0.0)" in text


def test_tensors_beyond_two_to_the_31_are_indexed_with_64_bits():
    text = "sgraph\n  x = input f32[b, 4096]\n  %1 = custom(x) grid[x=gx]\n    %0 = load(0, imap=[0])\n"
    text += "    %1 = neg(%0)\n    %2 = store(%1, omap=[0])\n  return %1"

    assert ".to(tl.int64)" not in source(text, b=1 << 18, gx=1 << 17)
    assert 2 == source(text, b=1 << 19, gx=1 << 18).count(".to(tl.int64)")


def test_a_kernel_keeps_its_ancestry_and_can_be_written_again():
    kernel = emit_triton(verified(graphs.rmsnorm_linear()), Parameters((("gx", 3), ("f", 4))), {"b": 5})

    assert isinstance(kernel, Kernel)
    assert "triton" == kernel.backend
    assert (("b", 5),) == kernel.shapes
    assert kernel.source == triton_module(kernel).source
    assert "rmsnorm_linear, candidate f1.c1, at b=5, gx=3, f=4." in kernel.source


def test_a_gpu_target_leads_to_triton():
    given = verified(graphs.rmsnorm_linear(d=4096, n=4096))

    kernel = emit(given, Parameters((("gx", 64), ("f", 32))), {"b": 8}, GPUS["a100"])

    assert isinstance(kernel, Kernel)
    assert "triton" == kernel.backend


# ---------------------------------------------------------------- names
def test_names_are_legal_and_differ():
    names = Names(("tl",))

    given = ("x", "x", "tl", "for", "a b", "2", "", "naïve", "x" * 90)
    handed = [names.fresh(n) for n in given]

    assert len(set(handed)) == len(given)
    assert all(re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", n) for n in handed)
    assert ["x", "x_2", "tl_2", "for_", "a_b"] == handed[:5]


def test_the_axes_of_a_block_are_named_after_those_of_the_program():
    graph = parse(graphs.ATTENTION)

    assert ((None, "q", "d"), (None, "d", "n"), (None, "n", "k")) == tile_axes(graph, 3)[:3]
    assert ("h", "d", "n") == tile_axes(parse(graphs.SEVERAL_HEADS), 3)[1]


def test_two_tiles_of_one_axis_that_never_meet_have_two_names():
    text = """sgraph
      x = input f32[b, b]
      %1 = custom(x, x) grid[x=gx] loop[i=f]
        %0 = load(0, imap=[0], fmap=1)
        %1 = load(1, imap=[-], fmap=0)
        %2 = matmul(%0, %1)
        %3 = accum(%2)
        %4 = store(%3, omap=[0])
      return %1"""

    assert (("b", "b2"), ("b2", "b3"), ("b", "b3"), ("b", "b3")) == tile_axes(parse(text), 1)


# ---------------------------------------------------------------- sGraphs without a kernel
def test_an_extent_that_is_not_divisible_is_named():
    assert "size 36/gx is 36/5 at gx=5; it must be a positive integer" == obstacle(
        graphs.rmsnorm_linear(), b=2, gx=5, f=1
    )


def test_a_tile_larger_than_the_shared_memory_is_named():
    big = {"target": GPUS["a100"], "b": 16, "gx": 32, "f": 1}

    reason = obstacle(graphs.rmsnorm_linear(weight=False, d=4096, n=4096), schedule=(("num_warps", 32),), **big)

    assert "kernel %2: tile %1 of 4096 x 128 takes 2097152 bytes of shared memory, a100 has 166912" in reason


def test_a_tile_larger_than_the_registers_by_far_is_named():
    assert "kernel %2: tile %0 of 16 x 16384 is 2048 numbers per thread at num_warps=4, the limit is 1024" == (
        obstacle(graphs.rmsnorm_linear(weight=False, d=16384, n=64), b=16, gx=1, f=1)
    )


def test_a_tile_beyond_tritons_own_limit_is_named():
    text = graphs.EVERY_FUNCTION.replace("FN", "neg").replace("OP", "add").replace("[b, 6]", "[b, 4096]")

    assert "has 2097152 elements, Triton takes 1048576" in obstacle(text, b=512, gx=1, f=1)


def test_grids_that_no_gpu_has_are_named():
    small = graphs.rmsnorm_linear(rows=True)

    assert "kernel %3: 65536 blocks along y; at most 65535" == obstacle(small, b=65536, gx=1, gy=65536, f=1)
    assert "4 grid dims; a GPU has 3" in obstacle(
        graphs.REDUCTIONS.replace("FN", "sum")
        .replace("DIM", "2")
        .replace("grid[x=gx]", "grid[x=gx, y=1, z=1, u=1]")
        .replace("[0]", "[0, -, -, -]"),
        b=4,
        gx=2,
    )


@pytest.mark.parametrize(
    ("schedule", "reason"),
    [
        ((("num_warps", 3),), "num_warps=3; it must be a power of two, at most 32"),
        ((("num_warps", 64),), "num_warps=64; it must be a power of two, at most 32"),
        ((("num_stages", 0),), "num_stages=0; it must be at least 1"),
        ((("tma", 2),), "tma=2; it must be 0 or 1"),
    ],
)
def test_schedules_that_triton_refuses_are_named(schedule, reason):
    assert reason == obstacle(graphs.BIAS, schedule=schedule, b=4, gx=2, f=2)


WIDE = show(graphs.rmsnorm_linear(d=32, n=64))


@pytest.mark.parametrize(
    ("old", "new", "numbers", "reason"),
    [
        ("", "", {"b": 4, "gx": 2, "f": 1}, "not loaded in a loop"),
        ("64", "63", {"b": 4, "gx": 1, "f": 2}, "rows are 252 bytes apart, no multiple of 16"),
        ("64", "96", {"b": 4, "gx": 2, "f": 2}, "48 of 96 n are padded to 64"),
        ("[32, 64]", "[32, 64] strides(128, 2)", {"b": 4, "gx": 2, "f": 2}, "elements of a row are 2 apart"),
        ("w = input f32", "w = input bool", {"b": 4, "gx": 2, "f": 2}, "a tensor of 2 dims of bool"),
    ],
)
def test_where_no_tile_can_be_read_by_tma_the_reason_is_named(old, new, numbers, reason):
    assert f"tma=1: %2 of kernel %3: {reason}" == obstacle(WIDE.replace(old, new), (("tma", 1),), **numbers)


def test_an_architecture_without_tma_is_named():
    sizes = {"b": 4, "gx": 2, "f": 2}

    assert "tl.make_tensor_descriptor(" in source(WIDE, (("tma", 1),), **sizes)
    assert "tma=1: sm_80 has no TMA" == obstacle(WIDE, (("tma", 1),), GPUS["a100"], **sizes)


def test_inputs_that_tma_cannot_read_are_copied():
    torch = pytest.importorskip("torch")
    names: dict[str, Any] = {"torch": torch}
    exec(FOR_TMA, names)
    stored = torch.arange(64 * 33.0)
    fine = stored[: 64 * 32].view(64, 32)
    others = (
        stored[1 : 64 * 32 + 1].view(64, 32),
        stored.view(64, 33)[:, :32],
        fine.T.contiguous().T,
        fine[:1].expand(64, 32),
    )

    assert names["for_tma"](fine, (32, 1)) is fine
    assert names["for_tma"](fine.T, (1, 32)).data_ptr() == fine.data_ptr()
    for t in others:
        copied = names["for_tma"](t, (32, 1))
        assert copied.data_ptr() != t.data_ptr() and copied.data_ptr() % 16 == 0
        assert (32, 1) == copied.stride() and torch.equal(t, copied)


def test_choices_of_another_backend_are_no_concern():
    assert source(graphs.BIAS, b=4, gx=2, f=2) == source(graphs.BIAS, schedule=(("mr", 8),), b=4, gx=2, f=2)


def test_a_constant_beyond_float64_is_named():
    text = graphs.EVERY_FUNCTION.replace("FN", "neg").replace("OP", "add").replace("-7/3", "1" + "0" * 400)

    assert "a constant of the program is beyond float64" == obstacle(text, b=4, gx=2, f=2)


def test_an_obstacle_becomes_an_infeasible_with_its_candidate():
    given = verified(graphs.rmsnorm_linear())
    parameters = Parameters((("gx", 5), ("f", 1)))

    found = emit_triton(given, parameters, {"b": 2})

    assert (
        Infeasible(
            given.candidate, parameters, "tune.illegal", "size 36/gx is 36/5 at gx=5; it must be a positive integer"
        )
        == found
    )


def test_missing_sizes_and_open_maps_are_the_callers_mistakes():
    with pytest.raises(ShapeError, match="no number for f; given are b, gx"):
        write_triton(graphs.rmsnorm_linear(), {"b": 2, "gx": 1}, NO_SCHEDULE)
    with pytest.raises(ShapeError, match="still open"):
        write_triton(parse(graphs.BIAS.replace("omap=[1]", "omap=?")), {"b": 2, "gx": 1, "f": 1}, NO_SCHEDULE)
