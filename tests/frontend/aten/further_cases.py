"""Cases for the rows of formulas, reductions, norms, rearrangements and pooling, and for decomposed operators."""

from __future__ import annotations

import torch
import torch.nn.functional as F

X = ("b 4 6",)
XY = ("b 4 6", "b 4 6")
IMAGE = ("b 3 8 9",)


def in_place(x):
    """In-place code on what the function made itself."""
    y = torch.zeros(x.shape[0], 4, 6, dtype=x.dtype)
    y[:, 1:3] = x[:, :2] * 2
    y[:, 3] = x[:, 0]
    y += 1
    return (x * 2).relu_().add_(y)


def filled_in_place(x):
    """Parts set to numbers, and to a tensor without dims."""
    y = x.masked_fill(x > 1, float("-inf"))
    y[:, 0] = 0.0
    y[:, 1, 2:].fill_(3)
    y[:, 2].fill_(x[0, 0, 0])
    return y.softmax(-1)


def memory_in_parts(x):
    """Memory like that of a tensor, written in rows."""
    y = x.new_empty(x.shape)
    y[:, 3] = x[:, 0]
    y[:, :3] = x[:, 1:] * 2
    return y * x


SCALES, ZERO_POINTS = torch.arange(1, 7) / 8, torch.arange(6, dtype=torch.int32) % 2
POSITIONS = torch.arange(8).view(1, 8)
"""As models keep them, to take those of the tokens at hand."""


def rotated(x, angles):
    """Neighbours as complex numbers, turned by angles, as in Llama's first code."""
    pairs = torch.view_as_complex(x.reshape(*x.shape[:-1], -1, 2))
    turned = pairs * torch.polar(torch.ones_like(angles), angles)
    return torch.view_as_real(turned).flatten(-2).type_as(x)


def complex_arithmetic(x, y):
    a, b = torch.complex(x, y), torch.complex(y, x + 3)
    c = (a * b - a / b + 2 * a.conj() - torch.conj_physical(b).square() * 1j) / 4 + (1 / b + -a * y + x) ** 2
    return torch.view_as_real(c).sum(-1) + c.abs() * c.angle() + torch.exp(1j * x).imag + a.real.angle()


def complex_products(x):
    a = torch.complex(x, x * x - 1)
    real = x.to(a.dtype)
    b = torch.cat((a.mT @ a.transpose(1, 2).conj().mT, real.mT @ a, (a.mT @ real).to(a.dtype)), 1)[:, 2:].cumsum(-1)
    c = torch.stack((b.flip(1).sum(1), b.roll(1, 1)[:, torch.tensor([1, 3])].mean(1).conj()), 1).diagonal(0, 1, 2)
    parts = torch.view_as_real(c - a.mean(1)[:, None, :1].squeeze(1).conj().resolve_conj())
    return parts @ parts.mT + b.index_select(1, torch.arange(2)).real[..., :2]


def interleaved(x):
    """Memory that is written in parts, none of which is all of it."""
    runs, halves, rows = torch.empty_like(x), torch.empty_like(x), torch.empty(4, x.shape[0], 6, dtype=x.dtype)
    runs[..., ::2], runs[..., 1::2] = x[..., 1::2] * 2, -x[..., ::2]
    halves[:, 2:], halves[:, :1], halves[:, 1] = x[:, 1:3], x[:, 3:], x[:, 0] + 1
    for n in range(4):
        rows[n] = x[:, n] * n
    return runs * halves + rows.transpose(0, 1)


def written_at_positions(x):
    cache, part = x.clone(), x[:, 1:3] * 2
    cache[:, torch.tensor([2, 0])] = part
    cache[..., torch.tensor([1, 3, 5])] += x[..., :3]
    cache[x > 0.3] = 0.5
    cache[cache.sum((1, 2)) > 0] = x[0, 0] + 1
    cache[:, :, 1:5:3] = x[:, :, 4:]
    rows = x.transpose(0, 1).index_put((torch.tensor([1]),), x[0, 0], accumulate=True)
    put = rows.transpose(0, 1).index_copy(1, torch.tensor([3, 1]), part)
    number = x.sum().index_add(0, torch.tensor([0]), x[0, 0, 0]).index_fill(0, torch.tensor(0), 2.0)
    return (
        cache
        + number.index_copy(0, torch.tensor([0]), x[0, 0, 1])
        + put.index_fill(2, torch.arange(0, 6, 2), 3.0) * x.index_add(2, torch.arange(2), x[..., 1:3], alpha=2)
    )


FURTHER_CASES = {
    # functions that torch does not trace, or does with numbers for sizes only
    "distances of a symbolic number of rows": (
        lambda x, y: torch.cdist(x[:, 0], y[:, 1]) + torch.cdist(x, y).sum(),
        XY,
    ),
    "likelihoods of normal numbers": (
        lambda x, y: F.gaussian_nll_loss(x, y, x * x, full=True) + F.gaussian_nll_loss(x, y, y[..., 0] ** 2, eps=0.1),
        XY,
    ),
    "numbers as a quantized tensor would have them": (
        lambda x: (
            torch.fake_quantize_per_tensor_affine(x, scale=0.125, zero_point=3, quant_min=-8, quant_max=7)
            + torch.fake_quantize_per_channel_affine(x, SCALES, ZERO_POINTS, axis=2, quant_min=0, quant_max=9)
        ),
        X,
    ),
    "a part without elements": (lambda x: torch.cat((x[:, :0], x * 2, torch.empty(0, dtype=x.dtype)), 1), X),
    # writes
    "memory written in parts": (interleaved, X),
    "writes at known positions": (written_at_positions, X),
    "writes at given positions": (
        lambda x, i, j: (
            x.index_copy(2, i, x[..., :1])
            + x.index_add(2, j, x[..., 1:4], alpha=2) * x.transpose(0, 1).index_put((i,), x[:1, 0]).transpose(0, 1)
            - x.index_fill(1, j, 0.5).transpose(0, 2).index_put((j,), x[0, 0, :3, None, None], accumulate=True).mT.sum()
        ),
        ("b 4 6", "i64 1", "i64 3"),
    ),
    "elements at a given position": (lambda x, i: x[:, i, None] * x[..., i] + x[i][..., 1:].sum(), ("3 4 4", "i64")),
    # complex tensors as pairs of real ones
    "rotary embedding by complex numbers": (rotated, ("b 4 6", "4 3")),
    "complex arithmetic": (complex_arithmetic, XY),
    "complex products and views": (complex_products, X),
    # reads at known positions
    "embedding of positions": (
        lambda x: F.embedding(POSITIONS[:, 1:4], x[0]) + F.embedding(torch.arange(3), x[0]) * x[:, 1:],
        ("b 4 6",),
    ),
    "embedding of one kind": (lambda x: x * F.embedding(torch.ones(4, dtype=torch.int64), x[0]), ("b 4 6",)),
    "index_select at even positions": (
        lambda x: torch.index_select(x * 2, 2, torch.tensor([0, 2, 4])) + x.index_select(2, torch.arange(3)),
        ("b 4 6",),
    ),
    "index at known positions": (
        lambda x: x[:, torch.tensor([-1, -3])] + x[:, torch.arange(3, 0, -2)] * x[:, torch.tensor(2)][:, None],
        ("b 4 6",),
    ),
    "masks at known positions": (
        lambda x, m: x * m[:, torch.tensor([1, 3])].any(1)[:, None, None] + x * (x > 0)[:, torch.arange(3, -1, -1)],
        ("f32 b 4 6", "bool b 6"),
    ),
    "a bias by relative positions": (
        lambda x, t: (
            x * t[torch.arange(4)[:, None] - torch.arange(6) + 5, 1] + t[torch.arange(6)[:, None, None] * 0 + 2].sum()
        ),
        ("b 4 6", "9 2"),
    ),
    # reads at positions that are arguments
    "gather": (lambda x, i: x.gather(2, i) + torch.gather(x[..., :3], 1, i) * x[..., 3:], ("b 4 6", "i64 b 4 3")),
    "gather of fewer rows": (lambda x, i: torch.gather(x * 2, 1, i).exp(), ("b 4 6", "i64 b 2 3")),
    "gather by repeated positions": (
        lambda x, i: x.gather(1, i[:, None, None].expand(-1, 1, 6)) * x.gather(2, i.view(-1, 1, 1)),
        ("b 4 6", "i64 b"),
    ),
    "gather by merged positions": (
        lambda x, i: x.reshape(-1, 6).gather(1, i.reshape(-1, 1)).view(-1, 4) + x.sum(-1),
        ("b 4 6", "i64 b 4"),
    ),
    "an element per row": (
        lambda x, i: x[torch.arange(4), i] + x[:, i[None], torch.arange(4)[:, None]][0] + x[i, :, i],
        ("4 4 4", "i64 4"),
    ),
    "elements at pairs of positions": (
        lambda x, i, j: (
            x[i, j][..., :4] * x[i, :, j] * x[:, i.t(), j.t()].permute(2, 1, 0) + x[i[:, None], 0, j[:, :, None]].sum()
        ),
        ("4 4 6", "i64 b 6", "i64 b 6"),
    ),
    "cross entropy": (
        lambda x, i, w: F.cross_entropy(x, i) * F.cross_entropy(x, i, w) + F.nll_loss(x, i, reduction="none").sum(),
        ("b 4", "i64 b", "4"),
    ),
    "classes as bits": (
        lambda x, i: F.one_hot(i, 4).to(x.dtype) @ x + (F.one_hot(i, 6)[:, None] * x).sum(1) + F.one_hot(i, 3).sum(),
        ("f32 4 6", "i64 4"),
    ),
    "elements along a dim, broadcast": (
        lambda x, i: torch.take_along_dim(input=x, indices=i[..., None], dim=1) * x + x.take_along_dim(i[..., None], 2),
        ("b 4 6", "i64 b 4"),
    ),
    "buckets, of which values at a boundary are in either": (
        lambda x: (
            torch.bucketize(x.round(), torch.arange(-2.0, 3.0)) * x
            + torch.bucketize(x, torch.tensor([-0.5, 0.25, 0.5]), right=True, out_int32=True)
        ),
        ("f32 4 6",),
    ),
    "a number at its only position": (
        lambda x, i: x.sum().index_select(0, i * 0) + x,
        ("f32 4 6", "i64 1"),
    ),
    "one write per row": (
        lambda x, i: x.scatter(1, i[:, None], 0.9) * torch.scatter(x, -2, i[:, None], x[:, 1:2]),
        ("f32 b 4 6", "i64 b 6"),
    ),
    "sums and means at positions": (
        lambda x, i, w: (
            x.scatter_reduce(0, i[:, None].expand(-1, 6), w, "sum")
            * torch.scatter_reduce(x, 0, i[:, None].expand(-1, 6), w, "mean")
            - x.scatter_reduce(0, i[:, None].expand(-1, 6), w, "mean", include_self=False)
        ),
        ("4 6", "i64 b", "b 6"),
    ),
    "the largest and the least at positions": (
        lambda x, i, w: (
            x.scatter_reduce(0, i[:, None].expand(-1, 6), w, "amax")
            * x.scatter_reduce(0, i[:, None].expand(-1, 6), w, "amin", include_self=False)
        ),
        ("f32 4 6", "i64 5", "f32 5 6"),
    ),
    "bags of rows": (
        lambda x, i, w: (
            F.embedding_bag(i, x)
            + F.embedding_bag(i, x, mode="sum", per_sample_weights=w)
            - F.embedding_bag(i, x, mode="max")
        ),
        ("4 6", "i64 b 3", "b 3"),
    ),
    "a class that is ignored": (
        lambda x, i, w: (
            F.cross_entropy(x, i, ignore_index=1) * F.nll_loss(x, i, w, ignore_index=0)
            + F.cross_entropy(x, i, reduction="none", ignore_index=2).sum()
            - F.nll_loss(x, i, w, ignore_index=0, reduction="sum")
            + F.cross_entropy(x, i, w, ignore_index=1, label_smoothing=0.2)
            - F.cross_entropy(x, i, ignore_index=3, reduction="sum", label_smoothing=0.1)
        ),
        ("f32 6 4", "i64 6", "f32 4"),
    ),
    "sums of rows by their class": (
        lambda x, i, y, j: (
            (x.new_zeros(4, 6).index_add(0, i, x) * x.new_zeros(4, 6).scatter_add(0, i[:, None].expand(-1, 6), x)).sum()
            + y.scatter_add(1, j, y.exp()) * x.new_zeros(6, y.shape[0]).scatter_add(0, j.T, y.T).T
        ),
        ("9 6", "i64 9", "b 6", "i64 b 6"),
    ),
    "one class, which may be ignored": (
        lambda x, i: F.cross_entropy(x, i, ignore_index=1, label_smoothing=0.1, reduction="sum"),
        ("f32 4", "i64"),
    ),
    "smoothed labels": (
        lambda x, i: (
            F.cross_entropy(x, i, label_smoothing=0.2) * F.cross_entropy(x, i, label_smoothing=0.3, reduction="none")
            + F.cross_entropy(x, i, label_smoothing=0.1, reduction="sum")
        ),
        ("f32 6 4", "i64 6"),
    ),
    "cross entropy of images": (lambda x, i: F.cross_entropy(x, i, reduction="sum"), ("b 4 3 2", "i64 b 3 2")),
    "a contrastive loss": (lambda x: F.cross_entropy(x @ x.t(), torch.arange(x.shape[0])), ("b 4",)),
    # positions as numbers
    "positions times a tensor": (
        lambda x: x * torch.arange(x.shape[0] - 1, -1, -1)[:, None, None] + torch.arange(3, 9) * x,
        ("b 4 6",),
    ),
    "positions of a symbolic dim in formulas": (
        lambda x: torch.softmax(x - 0.5 * (torch.arange(x.shape[0])[:, None, None] - torch.arange(0, 12, 2)).abs(), -1),
        ("b 4 6",),
    ),
    "blocks of positions": (
        lambda x: x.masked_fill(
            torch.arange(x.shape[0])[:, None] // 2 != torch.arange(x.shape[1]) // 2, -torch.inf
        ).softmax(-1),
        ("b b",),
    ),
    "evenly spaced numbers of a dim": (lambda x: x * (torch.arange(x.shape[0]) < 2)[:, None, None], ("b 4 6",)),
    # formulas
    "lerp, addcmul, addcdiv": (
        lambda x, y: torch.lerp(x, y, 0.3) + torch.addcmul(x, x, y, value=2) + torch.addcdiv(x, y, y + 2),
        XY,
    ),
    "softshrink": (lambda x: F.softshrink(x, 0.1), X),
    "comparisons as a result": (lambda x, y: (x > y) | torch.isnan(x), XY),
    "computed exponents": (
        lambda x, y: (
            x.abs() ** y + torch.pow((x * 4).round() + 0.0, (y * 4).round()).nan_to_num() + torch.isnan(x**y) * x
        ),
        XY,
    ),
    "isin": (lambda x, y: x * torch.isin(x.round(), y[0, 0].round()) + torch.isin(x, y, invert=True), XY),
    "diagonal_scatter": (lambda x, y: torch.diagonal_scatter(x[:, :, :4], y[:, 0, :3], -1, 1, 2), XY),
    "logaddexp": (lambda x, y: torch.logaddexp(x * 100, y * 100) + torch.logaddexp2(x, y * 9), XY),
    "powers and logarithms of 2 and 10": (
        lambda x: torch.exp2(x) + torch.log2(x * x + 0.1) + torch.log10(x * x + 1) + 2.0**x,
        X,
    ),
    "hyperbolic functions": (
        lambda x: torch.sinh(x) + torch.cosh(x) * torch.tan(x) + torch.asinh(x * 9) + torch.acosh(x * x + 1),
        X,
    ),
    "atanh, sgn": (lambda x: torch.atanh(x * 0.9) * torch.sgn(x), X),
    "inverse trigonometric functions": (
        lambda x, y: torch.asin(torch.tanh(x)) + torch.acos(torch.tanh(y)) * torch.atan2(x, y) + torch.erfc(x),
        XY,
    ),
    "an angle at each axis": (
        lambda x: torch.atan2(x.round() + 0.0, x.flip(-1).round() + 0.0) + torch.hypot(x.round(), x.flip(-1).round()),
        X,
    ),
    "rounding": (
        lambda x: (
            torch.frac(x)
            + torch.fix(x * 3)
            + torch.round(x * 9)
            + torch.round(x, decimals=2)
            + torch.round(x * 99, decimals=-1)
        ),
        X,
    ),
    "quotients that are rounded": (
        lambda x, y: (
            torch.fmod(x, y)
            + torch.remainder(x, 0.3) * (x // y)
            + torch.div(x, y, rounding_mode="trunc")
            - torch.floor_divide(x, y)
            + x.round() % 49
        ),
        XY,
    ),
    "copysign, fmax, fmin, ldexp": (
        lambda x, y: torch.copysign(x, y) + torch.fmax(x, y) * torch.fmin(x, y) + torch.ldexp(x, y.round()),
        XY,
    ),
    "a number that is missing": (
        lambda x, y: torch.fmax(torch.log(x), y) + torch.fmin(x, torch.log(y)) + torch.nan_to_num(torch.log(x), 2.0),
        XY,
    ),
    "heaviside, xlogy, xlog1py, entr": (
        lambda x, y: (
            torch.heaviside(x.round(), y)
            + torch.xlogy(x.round(), y * y)
            + torch.xlogy(x, 2.0)
            + torch.special.xlog1py(x.round(), y * y)
            + torch.special.entr((x * x).round())
        ),
        XY,
    ),
    "rrelu, softplus with its threshold": (lambda x: F.rrelu(x, 0.1, 0.4) + F.softplus(x, 2, 1), X),
    "truth values of numbers": (
        lambda x: (
            torch.logical_xor(x.round(), x > 0.5).to(x.dtype)
            + ((x > 0) ^ (x > 1)).to(x.dtype)
            + (x[:, :, :1] > 0).__xor__(x > 1).to(x.dtype)
            + torch.bitwise_xor(x > 0, x < 1).to(x.dtype)
            + torch.logical_and(x.round(), x.flip(1).round()).to(x.dtype)
            + x.round().any(-1, keepdim=True).to(x.dtype) * (x > -1).all(1, keepdim=True).to(x.dtype)
        ),
        X,
    ),
    "means of what a mask keeps": (
        lambda x: (x * (x > 0)).sum(-1) / (x > -0.2).sum(-1, dtype=torch.int64) + (x > 0).sum(-1, dtype=torch.int32),
        X,
    ),
    "what is no finite number": (
        lambda x: (
            torch.where(torch.isnan(torch.log(x)), x, 1.0)
            + torch.where(torch.isinf(1 / x.round()), x, 2.0)
            + torch.isfinite(torch.log(x.round())).to(x.dtype)
            + torch.isposinf(1 / x.round().abs()).to(x.dtype) * torch.isneginf(torch.log(x.round().abs())).to(x.dtype)
        ),
        X,
    ),
    # reductions
    "variance and mean at once": (
        lambda x: torch.var_mean(x, -1, correction=1)[0] + torch.std_mean(x, (1,), keepdim=True)[1][:, 0, :4],
        X,
    ),
    "logarithms of sums": (
        lambda x: torch.logsumexp(x, (1, 2))[:, None, None] + F.log_softmax(x * 50, -1) + F.log_softmax(x, 1),
        X,
    ),
    "norms of vectors": (
        lambda x: sum(torch.linalg.vector_norm(x, p, dim=-1) for p in (0, 0.5, 1, 2, 3, 3.5, torch.inf, -torch.inf)),
        X,
    ),
    "a norm of all, and normalize": (lambda x: x.norm() * F.normalize(x, dim=-1) + F.normalize(x, 1.0, 1), X),
    "cosine similarity": (lambda x, y: F.cosine_similarity(x, y, -1) + F.cosine_similarity(x, y[:, :1], 2), XY),
    "distances": (lambda x, y: torch.cdist(x, y) + torch.ops.aten.cdist(x[0], y[0], 1.0, None) + torch.dist(x, y), XY),
    "distances within one set": (lambda x: F.pdist(x[0]) + F.pdist(x[1], 1.0), X),
    "products": (lambda x: torch.prod(x, -1) + x.prod(1, keepdim=True)[:, 0, :4], X),
    "prefixes": (
        lambda x: (
            x.cumsum(1) + x.cumsum(-1) + x.cumprod(-1) + torch.logcumsumexp(x, 1) + x.cummax(2)[0] * x.cummin(1)[0]
        ),
        X,
    ),
    "prefixes, reversed, exclusive and masked": (
        lambda x, m: (
            x.flip(1).cumsum(1).flip(1)
            + (x.flip(-1, 1).cumsum(-1).flip(1, 2) - x)
            + F.pad(x.cumsum(-1)[:, :, :-1], (1, 0))
            + (x * m).cumsum(0)
            + x[:, :1].cumsum(1)
            + x.flip(2).cumsum(2)
        ),
        ("2 4 6", "2 4 6"),
    ),
    # norms
    "group_norm": (lambda x, g, h: F.group_norm(x, 2, g, h) + F.group_norm(x, 4), ("b 4 6", "4", "4")),
    "batch_norm": (
        lambda x, m, v, g, h: F.batch_norm(x, m, v * v, g, h) + F.batch_norm(x, None, None, training=True),
        ("b 4 6", "4", "4", "4", "4"),
    ),
    "instance_norm": (lambda x, g, h: F.instance_norm(x, weight=g, bias=h), ("b 4 6", "4", "4")),
    "native norms": (
        lambda x: (
            torch.native_layer_norm(x, (6,), None, None, 1e-5)[2]
            * torch.native_group_norm(x, None, None, 2, 4, 6, 2, 0.1)[0]
        ),
        ("2 4 6",),
    ),
    # rearrangements
    "step slices": (lambda x: x[:, ::2] * x[:, 1::2] + x[:, ::3] + x[:, 1:4:2, 5::6] + x[:, 2::3], X),
    "flips and rolls": (
        lambda x: x.flip(1, -1) + x.roll(1, 1) + x.roll((2, -1), (1, 2)) * x[:, :, :1].flip(1) + x[0].roll(5),
        X,
    ),
    "padding": (
        lambda x: (
            F.pad(x, (1, 2, -1, 1), value=0.5)[:, :, 1:7]
            + F.pad(x, (2, 1), mode="reflect")[:, :, 3:]
            + F.pad(x, (1, 2), mode="circular")[:, :, 1:7] * F.pad(x, (2, 2), mode="replicate")[:, :, :6]
        ),
        X,
    ),
    "constant_pad_nd": (lambda x: torch.constant_pad_nd(x, (1, -1), 2.0), X),
    "diagonals": (
        lambda x: x.diagonal(0, 1, 2) + x.diagonal(2, -2, -1) + x.diagonal(-1, -1, 1)[:, :1] + torch.trace(x[0]),
        X,
    ),
    "minus infinity where a function makes 0 of it": (
        lambda x: (
            torch.relu(x.masked_fill(x.new_ones(4, 6).triu(1).bool(), float("-inf")))
            + torch.sigmoid(x.masked_fill(x > 1, float("-inf"))).sum(-1, keepdim=True)
        ),
        X,
    ),
    "diagonals of a mask": (
        lambda x: (
            x[0, 0, :4] * torch.ones(4, 4).triu(1).diagonal()
            + x.new_zeros(6, 6).diagonal(2)
            + x[0, 0, :4] * torch.eye(4).diagonal(1).sum()
        ),
        X,
    ),
    "a mask seen otherwise": (
        lambda x: (
            x[:, :3, :4].masked_fill(x.new_ones(4, 3).tril().bool().reshape(3, 4), 2.0)
            + (x[0].view(4, 2, 3) * x.new_ones(2, 3, 4).tril().permute(2, 0, 1)).flatten(1)[:3, :4]
        ),
        X,
    ),
    "a diagonal of ones": (
        lambda x: x[0, :, :3] @ torch.diagonal_scatter(x.new_zeros(3, 3), x.new_ones(2), 1),
        X,
    ),
    "diagonals from vectors": (
        lambda x: (
            torch.diag_embed(x[:, 0])
            + torch.diag_embed(x[:, 1, :5], 1)
            + torch.diag_embed(x[:, 2, :4], -2, 0, -1).transpose(0, 1)
            + torch.diagflat(x[0, :2, 3:])
        ),
        X,
    ),
    "blocks on a diagonal": (lambda x: torch.block_diag(x[0], x[0, 0], x[1, :, 2:3]) * 2, X),
    "cross products": (
        lambda x, y: (
            torch.linalg.cross(x[..., :3], y[..., 1:4]) + torch.cross(x[:, 1:], y[:, :3], 1)[:, :, :3].sum(1, True)
        ),
        XY,
    ),
    "a bilinear form": (lambda x, w, c: F.bilinear(x[:, 0], x[:, 1], w, c), ("b 2 6", "3 6 6", "3")),
    "memory without a value": (
        lambda x, y: torch.empty_like(x).fill_(2.0) * x + torch.empty(4, 6, dtype=x.dtype).copy_(y[0]) * 2,
        XY,
    ),
    "repetitions of each element": (lambda x: x[0].repeat_interleave(2) * 2, X),
    "a mask filled from a tensor": (lambda x, y: x.masked_fill(x > 0, y[0, 0, 0]) + x[:, :1].where(y > 0, 0.0), XY),
    "windows": (lambda x: x.unfold(2, 3, 2) * 2 + x.unfold(1, 2, 3)[:, :, :2, :1], X),
    "in-place code": (in_place, X),
    "parts filled in place": (filled_in_place, X),
    "parts written anew": (
        lambda x, y: x.slice_scatter(y[:, 1:3], 1, 1, 3) + x.select_scatter(y[:, 0], 1, -1),
        XY,
    ),
    "bounds without an effect": (
        lambda x: torch.clamp(x, 0.0, float("inf")) - torch.clamp(x, float("-inf"), 0.5) * x.clamp_min(float("-inf")),
        X,
    ),
    "memory of a tensor's dtype written in parts": (memory_in_parts, X),
    "a graph's neighbours and the node itself": (
        lambda x, y: ((x[:, :, :4] > 0).to(x.dtype) + torch.eye(4, dtype=x.dtype)) @ y,
        XY,
    ),
    "constants as tensors": (
        lambda x: torch.eye(4, dtype=x.dtype) @ x + torch.cat((x, x.new_ones(1, 4, 6).expand_as(x)), 1)[:, 2:6],
        X,
    ),
    "a filled tensor": (lambda x: torch.fill(x, 2.0) * x + torch.scalar_tensor(3.0, dtype=x.dtype), X),
    "aliases and other names": (
        lambda x: torch.ops.aten.lift_fresh_copy(torch.ops.aten.alias(x)) * torch.ops.aten._log_softmax(x, -1, False),
        X,
    ),
    "copies of views": (lambda x: torch.t_copy(x[0]) * torch.alias_copy(x[0]).T, ("b 4 4",)),
    "a cast to the same dtype": (lambda x: torch.ops.prims.convert_element_type(x, torch.float64) * 2, X),
    "maxima without their positions": (
        lambda x: F.max_pool2d(x, 2, return_indices=True)[0] + F.max_pool3d(x, (1, 2, 2), return_indices=True)[0],
        IMAGE,
    ),
    # pooling
    "max_pool": (
        lambda x: (
            F.max_pool2d(x, 2) + F.max_pool2d(x, 3, 2, 1)[..., :4] + F.max_pool2d(x, (2, 1), 2, ceil_mode=True)[..., :4]
        ),
        IMAGE,
    ),
    "max_pool, dilated": (
        lambda x: F.max_pool1d(x[:, 0], 3, 1, 1, dilation=2) + F.max_pool1d(x[:, 0], 3)[..., :1],
        IMAGE,
    ),
    "avg_pool": (
        lambda x: (
            F.avg_pool2d(x, 2)
            + F.avg_pool2d(x, 3, 2, 1)[..., :4]
            + F.avg_pool2d(x, 3, 2, 1, count_include_pad=False)[..., :4]
            + F.avg_pool2d(x, 3, 2, 1, ceil_mode=True)[..., :4, :4]
            + F.avg_pool2d(x, 2, divisor_override=3)
        ),
        IMAGE,
    ),
    "pooling in one and three dims": (
        lambda x: F.max_pool3d(x, 2) + F.avg_pool3d(x, 2) + F.avg_pool1d(x[:, 0], 2)[:, None, :3],
        ("b 4 6 8",),
    ),
    "adaptive pooling": (
        lambda x: F.adaptive_avg_pool2d(x, 1) + F.adaptive_avg_pool2d(x, (4, 5)) * F.adaptive_max_pool2d(x, (4, 1)),
        IMAGE,
    ),
    "adaptive pooling in one and three dims": (
        lambda x: (
            F.adaptive_avg_pool1d(x[:, 0], 3)[:, :, None]
            + F.adaptive_max_pool1d(x[:, 0], 2)[:, :1, None, :1] * F.adaptive_avg_pool3d(x, 2)[:, :1, :1, :1]
            + F.adaptive_max_pool3d(x, 1)
        ),
        ("b 6 6 6",),
    ),
    "upsampling": (
        lambda x: F.interpolate(x, scale_factor=2)[..., :9] + F.interpolate(x[:, 0], 18)[:, None, :1, :9],
        IMAGE,
    ),
    "patches": (lambda x: F.unfold(x, (2, 3), dilation=(2, 1), padding=1, stride=2) * 2, IMAGE),
    "resampling to the nearest": (
        lambda x: (
            F.interpolate(x, (5, 7))
            + F.interpolate(x, (5, 7), mode="nearest-exact")
            + F.interpolate(x[:, 0], 7)[:, None, :5]
            + F.interpolate(x[:, 0], scale_factor=0.8, mode="nearest-exact")[:, None, :5]
            + F.interpolate(x[:, None], (2, 5, 7), mode="nearest-exact")[:, 0, :1]
        ),
        IMAGE,
    ),
    "resampling linearly": (
        lambda x: (
            F.interpolate(x, (5, 7), mode="bilinear")
            + F.interpolate(x, (11, 7), mode="bilinear", align_corners=True)[:, :, :5]
            + F.interpolate(x[:, 0], 7, mode="linear")[:, None, :5]
            + F.interpolate(x[:, None], (2, 5, 7), mode="trilinear")[:, 0, :1]
            + F.interpolate(x, scale_factor=1.5, mode="bilinear")[:, :, :5, :7]
        ),
        IMAGE,
    ),
    "resampling by cubics": (
        lambda x: (
            F.interpolate(x, (5, 12), mode="bicubic") + F.interpolate(x, (5, 12), mode="bicubic", align_corners=True)
        ),
        IMAGE,
    ),
    "upsampling in three dims": (lambda x: F.interpolate(x[:, None], scale_factor=(1, 2, 1)), IMAGE),
    # convolution
    "convolution with strides, padding and dilation": (
        lambda x, w, c: (
            F.conv2d(x, w, c, padding=1)[..., :3, :3]
            + F.conv2d(x, w, stride=(1, 2), padding="valid")[..., :3, :3]
            + F.conv2d(x, w, stride=2, padding=(0, 2), dilation=(3, 2))[..., :3]
            + F.conv2d(x, w, padding="same", dilation=2)[..., 2:5, 2:5]
        ),
        (*IMAGE, "4 3 3 2", "4"),
    ),
    "convolution of patches and of single elements": (
        lambda x, w: F.conv2d(x, w, stride=(3, 2)) + F.conv2d(x, w[..., :1, :1], stride=(4, 2))[..., :4],
        (*IMAGE, "4 3 3 2"),
    ),
    "convolution by groups": (
        lambda x, w, v: (
            F.conv2d(x.repeat(1, 2, 1, 1), w, groups=2)
            + F.conv2d(x, v, groups=3)[:, 2:]
            + F.conv2d(x, v, stride=(3, 2), groups=3)[:, 2:, :1, :1]
            + F.conv2d(x.repeat(1, 2, 1, 1), w, stride=(3, 2), groups=2)[..., :1, :1]
        ),
        (*IMAGE, "4 3 3 2", "6 1 3 2"),
    ),
    "convolution in one and three dims": (
        lambda x, w: F.conv1d(x[:, :, 0], w[:, :, 0])[..., None, :] + F.conv3d(x[:, None], w[:, :1, None, :2])[:, :, 0],
        (*IMAGE, "4 3 2 3"),
    ),
    "convolution with a kernel of 11 x 11": (lambda x, w: F.conv2d(x, w, stride=4, padding=4), (*IMAGE, "2 3 11 11")),
    "transposed convolution": (
        lambda x, w, c, v: (
            F.conv_transpose2d(x, w, c, stride=(2, 3), padding=(1, 0), output_padding=1)[..., :7, :7]
            + F.conv_transpose2d(x, w, padding=2, dilation=2)[..., :7, :7]
            + F.conv_transpose2d(x.repeat(1, 2, 1, 1), v, groups=2)[..., :7, :7]
            + F.conv_transpose1d(x[:, :, 0], w[..., 0], stride=3)[:, :, None, :7]
        ),
        (*IMAGE, "3 4 3 2", "4", "6 2 2 2"),
    ),
    # decompositions
    "einsum": (lambda x, y: torch.einsum("bij,bkj->bik", x, y) + torch.einsum("bij,bij->i", x, y), ("b 4 4", "b 4 4")),
    "outer, dot, addr, addmv": (
        lambda x, y: (
            torch.outer(x[0], y[0]) * torch.dot(x[0], y[0])
            + torch.addbmm(x[:1].T @ y[:1], x[:, :, None], y[:, None])
            + torch.addr(x[:1].T @ y[:1], x[0], y[0], beta=2)
        ),
        ("b 4", "b 4"),
    ),
    "addmm with factors": (
        lambda x, w, c: torch.addmm(c, x, w, beta=0.5, alpha=2) + torch.addmm(c, x, w, beta=0, alpha=-1),
        ("b 6", "6 5", "5"),
    ),
    "sums with alpha": (
        lambda x, y: torch.add(x, y, alpha=2) - torch.sub(x, 3, alpha=0.5) + torch.rsub(x, y, alpha=2),
        XY,
    ),
    "losses": (
        lambda x, y: F.mse_loss(x, y) + F.l1_loss(x, y) + F.cross_entropy(x, y.softmax(1)) + F.poisson_nll_loss(x, y),
        XY,
    ),
    "losses of signs": (
        lambda x, y: F.hinge_embedding_loss(x, y.sign()) + F.cosine_embedding_loss(x[0], y[0], y[0, :, 0].sign(), 0.1),
        XY,
    ),
    "glu, softsign, tanhshrink": (lambda x: F.glu(x)[..., :1] + F.softsign(x) + F.tanhshrink(x), X),
    "several uses of parts": (lambda x: sum(torch.unbind(x, 1)) + torch.tile(x, (1, 1, 2))[:, 0, 6:], X),
    "pixel_shuffle": (lambda x: F.pixel_shuffle(x, 2), ("b 8 2 3",)),
    "meshgrid, broadcast_tensors": (
        lambda x: torch.meshgrid(x[0], x[1], indexing="ij")[0] + torch.broadcast_tensors(x[0], x[:, :1][:1])[1],
        ("b 4",),
    ),
}
