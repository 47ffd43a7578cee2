"""Graphs of other workloads in Mirage's JSON, written operator by operator, with what each of them computes.

Grids, loop ranges and sizes differ from those of the published files, and so does the number of kernels. Each
workload has ways that are right and ways that are wrong, the latter as a search without a verifier might find them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from prism_explore.ir.program import ProgramBuilder
from tests.frontend.mirage import references
from tests.frontend.mirage.written import Block, Tensor, Written

Graph = list[dict[str, Any]]


# ---------------------------------------------------------------- softmax over rows
def softmax(b: ProgramBuilder, x: int) -> int:
    e = b.unary("exp", x)
    return b.binary("div", e, b.reduce("sum", e, -1))


def softmax_in_a_kernel(rows: bool = True, along: int = 1) -> Graph:
    """Each block has complete rows; or (wrong) parts of rows, or sums over columns."""
    w = Written()
    x = w.input(12, 24)
    dims = (3, 24) if rows else (12, 6)
    block = Block(w, grid=(4,))
    e = block.op("tb_exp_op", block.load(x, (0 if rows else 1,), -1, dims), dims=dims)
    total = block.op(f"tb_reduction_{along}_op", e, dims=(dims[0], 1) if along else (1, dims[1]))
    block.store(block.op("tb_div_op", e, total, dims=dims), (0 if rows else 1,), (12, 24))
    return w.output(w.custom(block, x)[0])


def softmax_sums_first(accumulate: str = "sum") -> Graph:
    """One kernel sums in a loop over columns, operators of the kernel graph do the rest."""
    w = Written()
    x = w.input(12, 24)
    block = Block(w, grid=(2,), loop=6)
    e = block.op("tb_exp_op", block.load(x, (0,), 1, (6, 4)), dims=(6, 4))
    block.store(block.op(f"tb_forloop_accum_red_ld_{accumulate}_op", e, dims=(6, 1)), (0,), (12, 1))
    (total,) = w.custom(block, x)
    return w.output(w.op("kn_div_op", w.op("kn_exp_op", x, dims=(12, 24)), total, dims=(12, 24)))


# ---------------------------------------------------------------- LayerNorm, its gain and bias included
def layernorm(b: ProgramBuilder, x: int, g: int, c: int) -> int:
    away = b.binary("sub", x, b.reduce("mean", x, -1))
    spread = b.unary("sqrt", b.reduce("mean", b.unary("square", away), -1))
    return b.binary("add", b.binary("mul", b.binary("div", away, spread), g), c)


def layernorm_in_two_passes(scalar: float = 1 / 24) -> Graph:
    """Sums over complete rows, with factors that depend on their length."""
    w = Written()
    x, g, c = w.input(12, 24), w.input(1, 24), w.input(1, 24)
    block = Block(w, grid=(4,))
    tile = block.load(x, (0,), -1, (3, 24))
    gain, bias = block.load(g, (-1,), -1, (1, 24)), block.load(c, (-1,), -1, (1, 24))

    def mean(t: Tensor) -> Tensor:
        return block.op("tb_mul_scalar_op", block.op("tb_reduction_1_op", t, dims=(3, 1)), dims=(3, 1), scalar=scalar)

    away = block.op("tb_sub_op", tile, mean(tile), dims=(3, 24))
    spread = block.op("tb_sqrt_op", mean(block.op("tb_square_op", away, dims=(3, 24))), dims=(3, 1))
    scaled = block.op("tb_mul_op", block.op("tb_div_op", away, spread, dims=(3, 24)), gain, dims=(3, 24))
    block.store(block.op("tb_add_op", scaled, bias, dims=(3, 24)), (0,), (12, 24))
    return w.output(w.custom(block, x, g, c)[0])


def layernorm_in_one_pass(square: bool = True) -> Graph:
    """E[x^2] - E[x]^2 by two accumulators, stored as two results; the wrong one forgets a square."""
    w = Written()
    x, g, c = w.input(12, 24), w.input(1, 24), w.input(1, 24)
    block = Block(w, grid=(3,), loop=4)
    tile = block.load(x, (0,), 1, (4, 6))
    squares = block.op("tb_square_op", tile, dims=(4, 6))
    mean, second = (block.op("tb_forloop_accum_red_ld_mean_op", t, dims=(4, 1)) for t in (tile, squares))
    taken = block.op("tb_square_op", mean, dims=(4, 1)) if square else mean
    spread = block.op("tb_sqrt_op", block.op("tb_sub_op", second, taken, dims=(4, 1)), dims=(4, 1))
    block.store(mean, (0,), (12, 1))
    block.store(spread, (0,), (12, 1))
    centre, wide = w.custom(block, x)
    away = w.op("kn_sub_op", x, centre, dims=(12, 24))
    scaled = w.op("kn_mul_op", w.op("kn_div_op", away, wide, dims=(12, 24)), g, dims=(12, 24))
    return w.output(w.op("kn_add_op", scaled, c, dims=(12, 24)))


# ---------------------------------------------------------------- RMSNorm of a residual, and a linear layer
def residual_rmsnorm_linear(b: ProgramBuilder, x: int, r: int, w: int) -> int:
    return b.matmul(references.rms_norm(b, b.binary("add", x, r)), w)


def residual_normed_last(of: str = "sum") -> Graph:
    """The norm divides after the product; the wrong one is the norm of x alone."""
    w = Written()
    x, r, m = w.input(8, 24), w.input(8, 24), w.input(24, 10)
    block = Block(w, grid=(5,), loop=3)
    tx, tr = block.load(x, (-1,), 1, (8, 8)), block.load(r, (-1,), 1, (8, 8))
    both = block.op("tb_add_op", tx, tr, dims=(8, 8))
    rms = block.op("tb_forloop_accum_red_ld_rms_op", both if of == "sum" else tx, dims=(8, 1))
    product = block.op("tb_matmul_op", both, block.load(m, (1,), 0, (8, 2)), dims=(8, 2))
    total = block.op("tb_forloop_accum_nored_op", product, dims=(8, 2))
    block.store(block.op("tb_div_op", total, rms, dims=(8, 2)), (1,), (8, 10))
    return w.output(w.custom(block, x, r, m)[0])


def residual_normed_first(tile: bool = False) -> Graph:
    """A kernel for the sum, Mirage's own norm, a kernel for the product; or (wrong) the norm of a tile."""
    w = Written()
    x, r, m = w.input(8, 24), w.input(8, 24), w.input(24, 10)
    first = Block(w, grid=(2, 3))
    tx, tr = first.load(x, (0, 1), -1, (4, 8)), first.load(r, (0, 1), -1, (4, 8))
    first.store(first.op("tb_add_op", tx, tr, dims=(4, 8)), (0, 1), (8, 24))
    (both,) = w.custom(first, x, r)
    if not tile:
        both = w.op("kn_rms_norm_op", both, dims=(8, 24))
    second = Block(w, grid=(4,), loop=6)
    rows = second.load(both, (0,), 1, (2, 4))
    if tile:
        rows = second.op("tb_rms_norm_op", rows, dims=(2, 4))
    product = second.op("tb_matmul_op", rows, second.load(m, (-1,), 0, (4, 10)), dims=(2, 10))
    second.store(second.op("tb_forloop_accum_nored_op", product, dims=(2, 10)), (0,), (8, 10))
    return w.output(w.custom(second, both, m)[0])


# ---------------------------------------------------------------- MLPs
def normed_gated_mlp(b: ProgramBuilder, x: int, u: int, v: int) -> int:
    y = references.rms_norm(b, x)
    return b.binary("mul", b.unary("silu", b.matmul(y, u)), b.matmul(y, v))


def gated_behind_the_norm(inside: bool = True) -> Graph:
    """One kernel; the norm divides both products, before silu; the wrong one divides silu of the product."""
    w = Written()
    x, u, v = w.input(8, 24), w.input(24, 12), w.input(24, 12)
    block = Block(w, grid=(3,), loop=6)
    tx = block.load(x, (-1,), 1, (8, 4))
    rms = block.op("tb_forloop_accum_red_ld_rms_op", tx, dims=(8, 1))
    one, other = (
        block.op(
            "tb_forloop_accum_nored_op",
            block.op("tb_matmul_op", tx, block.load(m, (1,), 0, (4, 4)), dims=(8, 4)),
            dims=(8, 4),
        )
        for m in (u, v)
    )

    def normed(t: Tensor) -> Tensor:
        return block.op("tb_div_op", t, rms, dims=(8, 4))

    if inside:
        gate = block.op("tb_silu_op", normed(one), dims=(8, 4))
    else:
        gate = normed(block.op("tb_silu_op", one, dims=(8, 4)))
    block.store(block.op("tb_mul_op", gate, normed(other), dims=(8, 4)), (1,), (8, 12))
    return w.output(w.custom(block, x, u, v)[0])


def whole_mlp(b: ProgramBuilder, x: int, u: int, v: int, d: int) -> int:
    gate = b.unary("gelu", b.matmul(x, u))
    return b.matmul(b.binary("mul", gate, b.matmul(x, v)), d)


def mlp_in_two_kernels(where: str = "behind", order: int = 1) -> Graph:
    """A gated product, then the way down, looped over channels; wrong: gelu of each tile, or the wrong gate."""
    w = Written()
    x, u, v, d = w.input(8, 24), w.input(24, 20), w.input(24, 20), w.input(20, 6)
    first = Block(w, grid=(2, 5), loop=4)
    tx = first.load(x, (0, -1), 1, (4, 6))
    one, other = (
        first.op("tb_matmul_op", tx, first.load(m, (-1, 1), 0, (6, 4)), dims=(4, 4)) for m in ((u, v)[::order])
    )
    if where == "before":
        one = first.op("tb_gelu_op", one, dims=(4, 4))
    one, other = (first.op("tb_forloop_accum_nored_op", t, dims=(4, 4)) for t in (one, other))
    if where == "behind":
        one = first.op("tb_gelu_op", one, dims=(4, 4))
    first.store(first.op("tb_mul_op", one, other, dims=(4, 4)), (0, 1), (8, 20))
    (hidden,) = w.custom(first, x, u, v)
    second = Block(w, grid=(4, 3), loop=10)
    th, td = second.load(hidden, (0, -1), 1, (2, 2)), second.load(d, (-1, 1), 0, (2, 2))
    product = second.op("tb_matmul_op", th, td, dims=(2, 2))
    second.store(second.op("tb_forloop_accum_nored_op", product, dims=(2, 2)), (0, 1), (8, 6))
    return w.output(w.custom(second, hidden, d)[0])


def squared_relu(b: ProgramBuilder, x: int, u: int, d: int) -> int:
    return b.matmul(b.unary("square", b.unary("relu", b.matmul(x, u))), d)


def squared_relu_split(sums: bool = True) -> Graph:
    """Channels are partitioned between blocks, and the partial sums added; or (wrong) only the first one is kept."""
    w = Written()
    x, u, d = w.input(8, 12), w.input(12, 20), w.input(20, 6)
    block = Block(w, grid=(4,))
    hidden = block.op("tb_matmul_op", block.load(x, (-1,), -1, (8, 12)), block.load(u, (1,), -1, (12, 5)), dims=(8, 5))
    hidden = block.op("tb_square_op", block.op("tb_relu_op", hidden, dims=(8, 5)), dims=(8, 5))
    block.store(block.op("tb_matmul_op", hidden, block.load(d, (0,), -1, (5, 6)), dims=(8, 6)), (1,), (8, 24))
    (shares,) = w.custom(block, x, u, d)
    if sums:
        return w.output(w.op("kn_reduction_1_to_dimx_op", shares, dims=(8, 6)))
    return w.output(w.ops("kn_split_1_op", shares, dims=((8, 6), (8, 18)))[0])


# ---------------------------------------------------------------- LoRA
def scaled_lora(b: ProgramBuilder, x: int, w: int, a: int, c: int) -> int:
    return b.binary("add", b.matmul(x, w), b.scalar("mul", b.matmul(b.matmul(x, a), c), "1/4"))


def lora_in_two_kernels(scalar: float = 0.25, grid: int = 4) -> Graph:
    """The low rank first, then everything else; x's tiles are loaded by both."""
    w = Written()
    x, m, a, c = w.input(8, 24), w.input(24, 16), w.input(24, 4), w.input(4, 16)
    first = Block(w, grid=(2,), loop=3)
    product = first.op("tb_matmul_op", first.load(x, (0,), 1, (4, 8)), first.load(a, (-1,), 0, (8, 4)), dims=(4, 4))
    low = first.op("tb_forloop_accum_nored_op", product, dims=(4, 4))
    first.store(first.op("tb_mul_scalar_op", low, dims=(4, 4), scalar=scalar), (0,), (8, 4))
    (rank,) = w.custom(first, x, a)
    n = 16 // grid
    second = Block(w, grid=(grid,), loop=12)
    tile = second.op("tb_matmul_op", second.load(x, (-1,), 1, (8, 2)), second.load(m, (1,), 0, (2, n)), dims=(8, n))
    main = second.op("tb_forloop_accum_nored_op", tile, dims=(8, n))
    added = second.op(
        "tb_matmul_op", second.load(rank, (-1,), -1, (8, 4)), second.load(c, (1,), -1, (4, n)), dims=(8, n)
    )
    second.store(second.op("tb_add_op", main, added, dims=(8, n)), (1,), (8, 16))
    return w.output(w.custom(second, x, m, rank, c)[0])


def lora_inside_the_loop(each: bool = True) -> Graph:
    """Each tile of x takes part in the low rank too; or (wrong) all of x does so in every iteration."""
    w = Written()
    x, m, a, c = w.input(8, 24), w.input(24, 16), w.input(24, 4), w.input(4, 16)
    block = Block(w, grid=(2,), loop=3)
    tx, tm = block.load(x, (-1,), 1, (8, 8)), block.load(m, (1,), 0, (8, 8))
    whole, ta = tx, block.load(a, (-1,), 0, (8, 4))
    if not each:
        whole, ta = block.load(x, (-1,), -1, (8, 24)), block.load(a, (-1,), -1, (24, 4))
    low = block.op("tb_matmul_op", whole, ta, dims=(8, 4))
    added = block.op("tb_matmul_op", low, block.load(c, (1,), -1, (4, 8)), dims=(8, 8))
    small = block.op("tb_mul_scalar_op", added, dims=(8, 8), scalar=0.25)
    both = block.op("tb_add_op", block.op("tb_matmul_op", tx, tm, dims=(8, 8)), small, dims=(8, 8))
    block.store(block.op("tb_forloop_accum_nored_op", both, dims=(8, 8)), (1,), (8, 16))
    return w.output(w.custom(block, x, m, a, c)[0])


# ---------------------------------------------------------------- attention
def scaled_attention(b: ProgramBuilder, q: int, k: int, v: int) -> int:
    return references.attention(b, b.scalar("mul", q, "1/2"), k, v)


def heads_in_the_grid(scale: str = "scores", total: str = "behind") -> Graph:
    """Heads and rows of queries in the grid, keys in the loop; wrong: exp is scaled, or each tile divided alone."""
    w = Written()
    q, k, v = w.input(4, 6, 4), w.input(4, 4, 24), w.input(4, 24, 5)
    block = Block(w, grid=(4, 3), loop=8)
    tq, tk = block.load(q, (0, 1), -1, (1, 2, 4)), block.load(k, (0, -1), 2, (1, 4, 3))
    tv = block.load(v, (0, -1), 1, (1, 3, 5))
    scores = block.op("tb_matmul_op", tq, tk, dims=(1, 2, 3))
    if scale == "scores":
        scores = block.op("tb_mul_scalar_op", scores, dims=(1, 2, 3), scalar=0.5)
    e = block.op("tb_exp_op", scores, dims=(1, 2, 3))
    if scale == "weights":
        e = block.op("tb_mul_scalar_op", e, dims=(1, 2, 3), scalar=0.5)
    if total == "behind":
        weighted = block.op(
            "tb_forloop_accum_nored_op", block.op("tb_matmul_op", e, tv, dims=(1, 2, 5)), dims=(1, 2, 5)
        )
        below = block.op("tb_forloop_accum_red_ld_sum_op", e, dims=(1, 2, 1))
        made = block.op("tb_div_op", weighted, below, dims=(1, 2, 5))
    else:
        share = block.op("tb_div_op", e, block.op("tb_reduction_2_op", e, dims=(1, 2, 1)), dims=(1, 2, 3))
        made = block.op(
            "tb_forloop_accum_nored_op", block.op("tb_matmul_op", share, tv, dims=(1, 2, 5)), dims=(1, 2, 5)
        )
    block.store(made, (0, 1), (4, 6, 5))
    return w.output(w.custom(block, q, k, v)[0])


def keys_split(rows: bool = True) -> Graph:
    """Keys are partitioned by the grid, and the partial sums added; the wrong one adds quotients of the parts."""
    w = Written()
    q, k, v = w.input(4, 6, 4), w.input(4, 4, 24), w.input(4, 24, 5)
    block = Block(w, grid=(2, 3), loop=2)
    tq = block.op("tb_mul_scalar_op", block.load(q, (0, -1), -1, (2, 6, 4)), dims=(2, 6, 4), scalar=0.5)
    tk, tv = block.load(k, (0, 2), 2, (2, 4, 4)), block.load(v, (0, 1), 1, (2, 4, 5))
    e = block.op("tb_exp_op", block.op("tb_matmul_op", tq, tk, dims=(2, 6, 4)), dims=(2, 6, 4))
    weighted = block.op("tb_forloop_accum_nored_op", block.op("tb_matmul_op", e, tv, dims=(2, 6, 5)), dims=(2, 6, 5))
    below = block.op("tb_forloop_accum_red_ld_sum_op", e, dims=(2, 6, 1))
    if not rows:
        block.store(block.op("tb_div_op", weighted, below, dims=(2, 6, 5)), (0, 2), (4, 6, 15))
        return w.output(w.op("kn_reduction_2_to_dimx_op", w.custom(block, q, k, v)[0], dims=(4, 6, 5)))
    block.store(weighted, (0, 2), (4, 6, 15))
    block.store(below, (0, 2), (4, 6, 3))
    above, sums = w.custom(block, q, k, v)
    above = w.op("kn_reduction_2_to_dimx_op", above, dims=(4, 6, 5))
    return w.output(w.op("kn_div_op", above, w.op("kn_reduction_2_op", sums, dims=(4, 6, 1)), dims=(4, 6, 5)))


def projected_attention(b: ProgramBuilder, x: int, w: int) -> int:
    every = b.matmul(x, w)
    third = b.type_of(every).dims[1] / 3
    q, k, v = (b.slice(every, 1, third * n, third * (n + 1)) for n in range(3))
    return references.attention(b, q, b.permute(k, 1, 0), v)


def chunks_of_one_product(order: tuple[int, int, int] = (0, 1, 2)) -> Graph:
    """Queries, keys and values are one product, cut in three; the wrong one confuses keys and values."""
    w = Written()
    x, m = w.input(6, 8), w.input(8, 12)
    block = Block(w, grid=(3,), loop=4)
    product = block.op("tb_matmul_op", block.load(x, (-1,), 1, (6, 2)), block.load(m, (1,), 0, (2, 4)), dims=(6, 4))
    block.store(block.op("tb_forloop_accum_nored_op", product, dims=(6, 4)), (1,), (6, 12))
    pieces = w.ops("kn_chunk_1_op", w.custom(block, x, m)[0], dims=((6, 4),) * 3)
    q, k, v = (pieces[n] for n in order)
    turned = w.op("kn_transpose_01_op", k, dims=(4, 6))
    second = Block(w, grid=(2,))
    tq, tk, tv = (
        second.load(q, (0,), -1, (3, 4)),
        second.load(turned, (-1,), -1, (4, 6)),
        second.load(v, (-1,), -1, (6, 4)),
    )
    e = second.op("tb_exp_op", second.op("tb_matmul_op", tq, tk, dims=(3, 6)), dims=(3, 6))
    above = second.op("tb_matmul_op", e, tv, dims=(3, 4))
    below = second.op("tb_reduction_1_op", e, dims=(3, 1))
    second.store(second.op("tb_div_op", above, below, dims=(3, 4)), (0,), (6, 4))
    return w.output(w.custom(second, q, turned, v)[0])


# ---------------------------------------------------------------- the cosine of rows
def cosines(b: ProgramBuilder, x: int, y: int) -> int:
    def normed(t: int, along: int) -> int:
        return b.binary("div", t, b.unary("sqrt", b.reduce("sum", b.unary("square", t), along)))

    return b.matmul(normed(x, 1), normed(y, 0))


def cosines_in_a_kernel(along: int = 0, root: bool = True) -> Graph:
    """The product over both norms; wrong: a norm over the other dim, or one without its root."""
    w = Written()
    x, y = w.input(12, 12), w.input(12, 12)
    block = Block(w, grid=(2, 3), loop=4)
    tx, ty = block.load(x, (0, -1), 1, (6, 3)), block.load(y, (-1, 1), 0, (3, 4))
    total = block.op("tb_forloop_accum_nored_op", block.op("tb_matmul_op", tx, ty, dims=(6, 4)), dims=(6, 4))
    left = block.op("tb_forloop_accum_red_ld_sum_op", block.op("tb_square_op", tx, dims=(6, 3)), dims=(6, 1))
    squares = block.op("tb_square_op", ty, dims=(3, 4))
    if along == 0:
        right = block.op("tb_forloop_accum_nored_op", block.op("tb_reduction_0_op", squares, dims=(1, 4)), dims=(1, 4))
    else:
        right = block.op("tb_forloop_accum_red_ld_sum_op", squares, dims=(3, 1))
        right = block.op("tb_reduction_0_op", right, dims=(1, 1))
    left = block.op("tb_sqrt_op", left, dims=(6, 1)) if root else left
    right = block.op("tb_sqrt_op", right, dims=right_dims(along))
    made = block.op("tb_div_op", block.op("tb_div_op", total, left, dims=(6, 4)), right, dims=(6, 4))
    block.store(made, (0, 1), (12, 12))
    return w.output(w.custom(block, x, y)[0])


def right_dims(along: int) -> tuple[int, int]:
    return (1, 4) if along == 0 else (1, 1)


Ways = dict[str, Callable[[], Graph]]
WORKLOADS: dict[str, tuple[Callable[..., int], Ways, Ways]] = {
    "softmax": (
        softmax,
        {"rows in blocks": softmax_in_a_kernel, "sums first": softmax_sums_first},
        {
            "pieces of rows": lambda: softmax_in_a_kernel(rows=False),
            "sums over columns": lambda: softmax_in_a_kernel(along=0),
            "means for sums": lambda: softmax_sums_first("mean"),
        },
    ),
    "LayerNorm": (
        layernorm,
        {"two passes": layernorm_in_two_passes, "one pass": layernorm_in_one_pass},
        {
            "a mean of too few": lambda: layernorm_in_two_passes(1 / 12),
            "mean not squared": lambda: layernorm_in_one_pass(square=False),
        },
    ),
    "residual, RMSNorm, linear": (
        residual_rmsnorm_linear,
        {"normed last": residual_normed_last, "normed first": residual_normed_first},
        {"norm of one": lambda: residual_normed_last("x"), "norm of a tile": lambda: residual_normed_first(tile=True)},
    ),
    "RMSNorm, gated MLP": (
        normed_gated_mlp,
        {"behind the products": gated_behind_the_norm},
        {"behind silu": lambda: gated_behind_the_norm(inside=False)},
    ),
    "a whole MLP": (
        whole_mlp,
        {"two kernels": mlp_in_two_kernels},
        {
            "gelu of tiles": lambda: mlp_in_two_kernels("before"),
            "no gelu": lambda: mlp_in_two_kernels("nowhere"),
            "the other gate": lambda: mlp_in_two_kernels(order=-1),
        },
    ),
    "squared relu": (
        squared_relu,
        {"channels split": squared_relu_split},
        {"one share": lambda: squared_relu_split(sums=False)},
    ),
    "scaled LoRA": (
        scaled_lora,
        {
            "two kernels": lora_in_two_kernels,
            "two kernels, other grid": lambda: lora_in_two_kernels(grid=8),
            "tile by tile": lora_inside_the_loop,
        },
        {"another scale": lambda: lora_in_two_kernels(0.5), "all in each": lambda: lora_inside_the_loop(each=False)},
    ),
    "scaled attention": (
        scaled_attention,
        {"heads in the grid": heads_in_the_grid, "keys split": keys_split},
        {
            "weights scaled": lambda: heads_in_the_grid("weights"),
            "not scaled": lambda: heads_in_the_grid("nowhere"),
            "tiles divided": lambda: heads_in_the_grid(total="tile"),
            "shares divided": lambda: keys_split(rows=False),
        },
    ),
    "attention of one product": (
        projected_attention,
        {"chunks": chunks_of_one_product},
        {"values for keys": lambda: chunks_of_one_product((0, 2, 1))},
    ),
    "cosines": (
        cosines,
        {"one kernel": cosines_in_a_kernel},
        {"no root": lambda: cosines_in_a_kernel(root=False), "norm of all": lambda: cosines_in_a_kernel(along=1)},
    ),
}
"""Per workload: the program, right graphs, and wrong graphs."""
