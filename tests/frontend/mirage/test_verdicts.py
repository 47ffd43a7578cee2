"""Every graph of every file is proved or refuted as expected."""

import numpy as np
import pytest
import torch

import prism_explore as px
from prism_explore.codegen import emit
from prism_explore.codegen.load import load
from prism_explore.diagnose.check import differs_at_own_sizes, fit_to_program
from prism_explore.errors import ShapeError
from prism_explore.ir.interpreter.reference import evaluate
from prism_explore.pipeline.stages import Counterexample, Kernel, Parameters, Refuted, Verified
from prism_explore.targets import target
from prism_explore.verify.counterexample.refuter import replay
from tests.frontend.mirage import references
from tests.frontend.mirage.references import FILES, path, program, reference
from tests.frontend.mirage.written import Block, Written, save

WRONG = "qknorm_gqa_bs8_first24_wrong"


def checked(name: str) -> tuple[px.CheckResult, ...]:
    build, _ = FILES[name]
    return px.check_mirage(path(name), reference(build, px.load_mirage(path(name))[0]))


@pytest.mark.parametrize("name", [n for n in FILES if n != WRONG])
def test_every_graph_that_mirage_found_is_proved_for_all_sizes(name):
    for found in checked(name):
        assert isinstance(found.verdict, Verified), str(found)
        assert found.verdict.candidate.sgraph.data_symbols, "the shapes are part of the family"


def test_every_wrong_graph_is_refuted_by_a_reproducible_counterexample():
    for found in checked(WRONG):
        verdict = found.verdict
        assert isinstance(verdict, Refuted), str(found)
        assert verdict.counterexample.relative_error > 1e-3
        candidate = verdict.candidate
        again = replay(verdict.counterexample, candidate.family.program, candidate.sgraph)
        assert isinstance(again, Counterexample)
        assert verdict.counterexample == again


def test_a_graph_can_be_checked_at_its_own_sizes():
    for name, wrong in ((WRONG, True), ("lora_bs8", False)):
        graph, goal = fit_to_program(reference(FILES[name][0], first := px.load_mirage(path(name))[0]), first)
        assert wrong == differs_at_own_sizes(goal, graph)


def test_a_verdict_has_a_text():
    (first, *_) = checked("lora_bs8")
    claim = "for all positive integers d, gx, k, m, n that make k/gx a positive integer"
    assert str(first).startswith(f"lora_bs8[0]: proved, {claim}")


def test_a_graph_of_the_file_runs_like_one_of_ours():
    graph = px.load_mirage(path("lora_bs8"))[0]
    rng = np.random.default_rng(3)
    inputs = {i.name: rng.uniform(-1, 1, [d.value({}) for d in i.type.dims]) for i in graph.inputs}
    x, w, a, b = inputs.values()
    np.testing.assert_allclose(x @ w + x @ a @ b, evaluate(graph, inputs))


@pytest.mark.parametrize("name", ["gqa_bs8", "gated_mlp_bs8"])
def test_a_proved_graph_compiles_and_runs(name):
    build, _ = FILES[name]
    graph = px.load_mirage(path(name), dtype="f32")[0]
    verdict = px.check(reference(build, graph), graph).verdict
    assert isinstance(verdict, Verified)
    family, goal = verdict.candidate.sgraph, verdict.candidate.family.program
    data = dict(zip(family.data_symbols, (4, 8, 16, 32, 16), strict=False))
    cuts = dict.fromkeys(family.parameters, 2)
    made = emit(verdict, Parameters(tuple(cuts.items())), data, target("cpu"))
    assert isinstance(made, Kernel), made
    rng = np.random.default_rng(5)
    inputs = {i.name: rng.uniform(0.1, 0.6, [d.value(data) for d in i.type.dims]) for i in goal.inputs}
    found = load(made)(*[torch.tensor(a, dtype=torch.float32) for a in inputs.values()])
    np.testing.assert_allclose(evaluate(goal, inputs), found.numpy(), rtol=1e-4)


# ---------------------------------------------------------------- which input is which
def test_a_program_with_symbolic_dims_is_checked_at_the_files_sizes():
    build = references.lora
    symbolic = program(build, (("b", 256), (256, "n"), (256, "r"), ("r", "n")), dtype="f32")
    assert isinstance(px.check(symbolic, px.load_mirage(path("lora_bs8"))[0]).verdict, Verified)


def test_inputs_are_matched_by_dims_where_the_order_is_another():
    b = px.ProgramBuilder("linear_rmsnorm")
    w, x = b.input("w", 4096, 6144), b.input("x", 2, 4096)
    swapped = b.build(references.rmsnorm(b, x, w))
    assert isinstance(px.check(swapped, px.load_mirage(path("rmsnorm_bs1"))[0]).verdict, Verified)


def test_inputs_that_do_not_match_are_listed_for_both_sides():
    with pytest.raises(ShapeError, match=r"the graph has inputs x0 f16\[16, 256\].*lora has in0 f16\[7, 256\]"):
        px.check(
            program(references.lora, ((7, 256), (256, 4096), (256, 16), (16, 4096))),
            px.load_mirage(path("lora_bs8"))[0],
        )


def test_open_maps_are_no_graph_to_check():
    graph = px.parse("sgraph\n  x = input f16[4]\n  %1 = custom(x) grid[x=gx]\n    %0 = load(0, imap=?)\n"
                     "    %1 = exp(%0)\n    %2 = store(%1, omap=?)\n  return %1\n")  # fmt: skip
    b = px.ProgramBuilder("exp")
    with pytest.raises(ShapeError, match="maps are still open"):
        px.check(b.build(b.unary("exp", b.input("x", 4, dtype="f16"))), graph)


# ---------------------------------------------------------------- operators that the seven files do not have
def gelu_of_concatenation(right: bool) -> list:
    """gelu([x, xa] @ [w; b]), concatenated, or (wrong) with the two halves of one side swapped."""
    w = Written()
    x, big, a, b = w.input(6, 12), w.input(12, 8), w.input(12, 12), w.input(12, 8)
    block = Block(w, grid=(2,))
    tx, tw = block.load(x, (-1,), -1, (6, 12)), block.load(big, (1,), -1, (12, 4))
    ta, tb = block.load(a, (-1,), -1, (12, 12)), block.load(b, (1,), -1, (12, 4))
    low = block.op("tb_matmul_op", tx, ta, dims=(6, 12))
    left = block.op("tb_concat_1_op", tx, low, dims=(6, 24))
    below = block.op("tb_concat_first_op_id", *((tw, tb) if right else (tb, tw)), dims=(24, 4))
    total = block.op("tb_forloop_accum_nored_op", block.op("tb_matmul_op", left, below, dims=(6, 4)), dims=(6, 4))
    block.store(block.op("tb_gelu_op", total, dims=(6, 4)), (1,), (6, 8))
    return w.output(w.custom(block, x, big, a, b)[0])


def gelu_lora(b: px.ProgramBuilder, x: int, w: int, a: int, c: int) -> int:
    return b.unary("gelu", references.lora(b, x, w, a, c))


def clamped_mean(right: bool) -> list:
    """The mean over rows of clamped values, by sums and a factor, looped over rows."""
    w = Written()
    x = w.input(24, 6)
    block = Block(w, grid=(2,), loop=3)
    tile = block.op("tb_clamp_op", block.load(x, (1,), 0, (8, 3)), dims=(8, 3), min_val=-0.5, max_val=0.25)
    rows = block.op("tb_reduction_0_op", tile, dims=(1, 3))
    total = block.op("tb_forloop_accum_nored_op", rows, dims=(1, 3))
    made = block.op("tb_mul_scalar_op", total, dims=(1, 3), scalar=1 / 24 if right else 1 / 8)
    block.store(made, (1,), (1, 6))
    return w.output(w.custom(block, x)[0])


def clamped_sum(b: px.ProgramBuilder, x: int) -> int:
    inside = b.scalar("min", b.scalar("max", x, "-1/2"), "1/4")
    return b.scalar("mul", b.reduce("sum", inside, 0), "0.041666666666666664")


def online_softmax(right: bool) -> list:
    """Attention with a running maximum; the wrong one forgets to rescale the denominator."""
    w = Written()
    q, k, v = w.input(6, 4), w.input(4, 24), w.input(24, 5)
    block = Block(w, grid=(3,), loop=4)
    tq, tk, tv = block.load(q, (0,), -1, (2, 4)), block.load(k, (-1,), 1, (4, 6)), block.load(v, (-1,), 0, (6, 5))
    scores = block.op("tb_matmul_op", tq, tk, dims=(2, 6))
    highest, change = block.ops("tb_reduction_1_max_op", scores, dims=((2, 1), (2, 1)))
    factor = block.op("tb_exp_op", change, dims=(2, 1))
    e = block.op("tb_exp_op", block.op("tb_sub_op", scores, highest, dims=(2, 6)), dims=(2, 6))
    if right:
        total = block.op("tb_forloop_accum_red_ld_sum_rescale_op", e, factor, dims=(2, 1))
    else:
        total = block.op("tb_forloop_accum_red_ld_sum_op", e, dims=(2, 1))
    product = block.op("tb_matmul_op", e, tv, dims=(2, 5))
    weighted = block.op("tb_forloop_accum_nored_rescale_op", product, factor, dims=(2, 5))
    block.store(block.op("tb_div_op", weighted, total, dims=(2, 5)), (0,), (6, 5))
    return w.output(w.custom(block, q, k, v)[0])


def split_gate(right: bool) -> list:
    """silu(left half) * right half of x @ w, the halves taken at the kernel level."""
    w = Written()
    x, m = w.input(6, 12), w.input(12, 8)
    block = Block(w, grid=(2,), loop=3)
    product = block.op("tb_matmul_op", block.load(x, (0,), 1, (3, 4)), block.load(m, (-1,), 0, (4, 8)), dims=(3, 8))
    block.store(block.op("tb_accum_nored_op", product, dims=(3, 8)), (0,), (6, 8))
    (whole,) = w.custom(block, x, m)
    left, other = w.ops("kn_split_1_op", whole, dims=((6, 4), (6, 4)), split_dim=1, split_size=4)
    gate, value = (left, other) if right else (other, left)
    return w.output(w.op("kn_mul_op", w.op("kn_silu_op", gate, dims=(6, 4)), value, dims=(6, 4)))


def gated_halves(b: px.ProgramBuilder, x: int, w: int) -> int:
    whole = b.matmul(x, w)
    half = b.type_of(whole).dims[1] / 2
    gate, value = b.slice(whole, 1, 0, half), b.slice(whole, 1, half, half * 2)
    return b.binary("mul", b.unary("silu", gate), value)


def scaled_transpose(right: bool) -> list:
    """(x.T @ y) * s, the factor on one side."""
    w = Written()
    x, y = w.input(6, 8), w.input(6, 10)
    turned = w.op("kn_transpose_01_op", x, dims=(8, 6))
    block = Block(w, grid=(2,), loop=3)
    tile = block.op("tb_mul_scalar_op", block.load(turned, (0,), 1, (4, 2)), dims=(4, 2), scalar=0.125 if right else 8)
    product = block.op("tb_matmul_op", tile, block.load(y, (-1,), 0, (2, 10)), dims=(4, 10))
    block.store(block.op("tb_forloop_accum_nored_op", product, dims=(4, 10)), (0,), (8, 10))
    return w.output(w.custom(block, turned, y)[0])


def transposed_product(b: px.ProgramBuilder, x: int, y: int) -> int:
    return b.scalar("mul", b.matmul(b.permute(x, 1, 0), y), "1/8")


def means_by_factors(right: bool) -> list:
    """x / its root mean square: sums of squares, a factor per tile and one for all; both speak of these extents."""
    w = Written()
    x = w.input(6, 24)
    block = Block(w, grid=(2,), loop=3)
    tile = block.load(x, (0,), 1, (3, 8))
    total = block.op("tb_reduction_1_op", block.op("tb_square_op", tile, dims=(3, 8)), dims=(3, 1))
    scaled = block.op("tb_mul_scalar_op", total, dims=(3, 1), scalar=1 / 8 if right else 1 / 4)
    summed = block.op("tb_forloop_accum_red_ld_mean_op", scaled, dims=(3, 1))
    block.store(block.op("tb_sqrt_op", summed, dims=(3, 1)), (0,), (6, 1))
    return w.output(w.op("kn_div_op", x, w.custom(block, x)[0], dims=(6, 24)))


def means_in_kernels(right: bool) -> list:
    """The same, every operator a kernel."""
    w = Written()
    x = w.input(6, 16)
    total = w.op("kn_reduction_1_op", w.op("kn_square_op", x, dims=(6, 16)), dims=(6, 1))
    mean = w.op("kn_mul_scalar_op", total, dims=(6, 1), scalar=1 / 16 if right else 1 / 8)
    return w.output(w.op("kn_div_op", x, w.op("kn_sqrt_op", mean, dims=(6, 1)), dims=(6, 16)))


def normalised(b: px.ProgramBuilder, x: int) -> int:
    return b.binary("div", x, b.reduce("rms", x, 1))


MORE = {
    "means by factors": (means_by_factors, normalised),
    "means in kernels": (means_in_kernels, normalised),
    "gelu of a concatenated product": (gelu_of_concatenation, gelu_lora),
    "clamp, reduction and factor": (clamped_mean, clamped_sum),
    "online softmax": (online_softmax, references.attention),
    "gate of two halves": (split_gate, gated_halves),
    "transpose and factor": (scaled_transpose, transposed_product),
}


@pytest.mark.parametrize("what", MORE)
def test_operators_of_other_files_are_proved_where_right_and_refuted_where_wrong(tmp_path, what):
    write, build = MORE[what]
    right, wrong = px.load_mirage(save(tmp_path / "g.json", write(True), write(False)))
    assert isinstance(found := px.check(reference(build, right), right).verdict, Verified), str(
        px.CheckResult("right", found)
    )
    assert isinstance(found := px.check(reference(build, wrong), wrong).verdict, Refuted), str(
        px.CheckResult("wrong", found)
    )
