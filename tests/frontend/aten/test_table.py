"""Every row of the operator table: the traced program equals eager torch at two batch sizes."""

from __future__ import annotations

import inspect
import math
from functools import cache
from operator import attrgetter

import numpy as np
import pytest
import torch
import torch.ao.quantization.fx._decomposed  # registers `torch.ops.quantized_decomposed`
import torch.nn.functional as F

from prism_explore.errors import UnsupportedOperator
from prism_explore.frontend import export, trace
from prism_explore.frontend.aten.table import ROWS
from prism_explore.frontend.lower_aten import Row
from prism_explore.ir.elementwise import BITS, CASTS, COMPOSITE, REAL, UNARY, Interval
from prism_explore.ir.interpreter.reference import evaluate
from prism_explore.ir.ops import Band, Input, Permute, Reshape
from prism_explore.ir.tensors import NAMES
from prism_explore.ir.tensors import tensor as T
from prism_explore.ir.text import show
from tests.frontend.aten.further_cases import FURTHER_CASES

X = ("b 4 6",)
XY = ("b 4 6", "b 4 6")
INF = float("inf")


def causal(x):
    s = x.shape[-1]
    return torch.ones(s, s, dtype=torch.bool).tril()


def positions(x):
    return torch.arange(x.shape[-2])[:, None], torch.arange(x.shape[-1])[None, :]


def gqa(mask):
    def f(q, k, v):
        return F.scaled_dot_product_attention(q, k, v, attn_mask=mask(q, k), enable_gqa=True)

    return f


def written_out(x):
    """Every row that moves elements."""
    b, s, d = x.shape
    heads = x.view(b, s, 3, d // 3).transpose(1, 2)
    left, right = heads.split([1, 1], -1)
    return torch.cat((-right, left), -1).transpose(1, 2).reshape(b, s, d)


def spelled(name: str, domain: Interval = REAL):
    """A function of torch by its name, of x or of a number of its domain."""
    inside = {-1.0: torch.tanh, 0.0: lambda x: x * x + 0.5}.get(domain.low, lambda x: x)
    return lambda x: attrgetter(name)(torch)(inside(x))


def of_a_wider_constant(function):
    """A function of x and of a constant with more dims and more elements than x has."""
    return lambda x: function(x, torch.full((3, 1, 1), 0.25, dtype=x.dtype))


WIDER = {
    "product": lambda x, c: c * x,
    "sum": lambda x, c: x + c,
    "difference": lambda x, c: c - x,
    "quotient": lambda x, c: c / (x * x + 1),
    "quotient of 1": lambda x, c: torch.ones_like(c) / (x * x + 1),
    "maximum": torch.maximum,
    "comparison": lambda x, c: torch.where(c < x, x, 2 * x),
    "comparison of a mask": lambda x, c: x[0] * (torch.ones(4, 4).tril() > c),
    "choice": lambda x, c: torch.where(x > 0, c, x),
    "choice of numbers": lambda x, c: torch.where(x > 0, c, 0.0) * x,
    "mask": lambda x, c: torch.where(c > 0, x[0] * 2, 0.0),
    "band": lambda x, c: x[0] * torch.ones(4, 4).tril() - c.expand(3, 4, 4).tril(),
}

DECOMPOSED = torch.ops.quantized_decomposed

CASES = {
    **FURTHER_CASES,
    **{
        f"row {row.name}": (spelled(row.torch_name, row.domain), X)
        for row in UNARY.values()
        if row.name not in BITS and row.name not in CASTS
    },
    **{f"row {name}": (spelled(row.torch or f"nn.functional.{name}"), X) for name, row in COMPOSITE.items()},
    "parameters": (lambda x: F.leaky_relu(x, 0.2) + F.elu(x, 0.7) * F.hardtanh(x, -0.5, 2.0) - F.softplus(x, 2), X),
    "minima": (lambda x, y: torch.min(x, y) + x.min(-1).values[..., None] * x.min() + torch.amin(x, 0), XY),
    # arithmetic
    "scalars on the right": (lambda x: (x + 2) * 3 - 1 / 4, X),
    "scalars on the left": (lambda x: 2 - x + 3 * x, X),
    "division by and of a scalar": (lambda x: x / 7 + 2 / (x * x + 1), X),
    "rsub": (lambda x, y: torch.rsub(x, y), XY),
    "sums and products broadcast": (lambda x, y: x * y[:, :1] + y[..., 2:3] - x, XY),
    "neg, abs, erf, tanh": (lambda x: torch.erf(-x).abs() + torch.tanh(x), X),
    "exp, sigmoid, relu, silu": (lambda x: torch.exp(x) * torch.sigmoid(x) + F.relu(x) + F.silu(x), X),
    "gelu, both": (lambda x: F.gelu(x) + F.gelu(x, approximate="tanh") * 2, X),
    "roots": (lambda x: torch.sqrt(x * x) + torch.rsqrt(x * x + 1) + torch.reciprocal(x * x + 1), X),
    "powers": (lambda x: x**2 + x**3 + (x * x + 1) ** 0.5 + (x * x + 1) ** -0.5 + (x * x + 1) ** 1.5, X),
    "square and power -1": (lambda x: torch.square(x) + (x * x + 1) ** -1, X),
    "maximum, minimum": (lambda x, y: torch.maximum(x, y) - torch.minimum(x, y * 2) + torch.max(x, y), XY),
    "clamp": (lambda x: x.clamp(-0.2, 0.3) + x.clamp(min=0) + x.clamp(max=0.1) + x.clamp_min(0.2) + x.clamp_max(0), X),
    "casts to its own type": (lambda x: x.to(torch.float64).type_as(x).contiguous().clone() * 2, X),
    "dropout that is off": (lambda x: F.dropout(x, 0.5, training=False) * 2, X),
    # reductions
    "sum and mean, kept or dropped": (
        lambda x: x.sum(-1) + x.mean(1, keepdim=True).squeeze(1)[:, :1] + x.sum(1)[:, :4],
        X,
    ),
    "over several dims": (lambda x: x.sum((1, 2)) + x.mean((-1, 1)), X),
    "over all dims": (lambda x: x.sum() * x.mean(), X),
    "maxima": (lambda x: x.amax(-1) + x.max(-1).values + x.amax((1, 2))[:, None] + x.max(), X),
    "minimum over a dim, kept": (lambda x: x.amin(-1, keepdim=True), X),
    "variances": (lambda x: x.var(-1) + x.var(-1, unbiased=False) + x.var((1, 2), correction=0)[:, None], X),
    "standard deviation": (lambda x: x.std(-1, keepdim=True) + x, X),
    # norms and softmax
    "layer_norm": (lambda x, g, h: F.layer_norm(x, (6,), g, h), ("b 4 6", "6", "6")),
    "layer_norm over two dims": (lambda x: F.layer_norm(x, (4, 6), eps=1e-3), X),
    "rms_norm": (lambda x, g: F.rms_norm(x, (6,), g, eps=1e-6), ("b 4 6", "6")),
    "rms_norm over two dims": (lambda x: F.rms_norm(x, (4, 6), eps=0.0), X),
    "softmax": (lambda x: torch.softmax(x, -1) + F.softmax(x, 1, dtype=torch.float64), X),
    # products
    "linear": (lambda x, w, c: F.linear(x, w, c), ("b 6", "5 6", "5")),
    "linear with a computed weight": (lambda x, w: F.linear(x, w * 2), ("b 6", "5 6")),
    "matmul with vectors": (lambda x, w, v: (x @ v)[:, None] + w @ x[0], ("b 6", "5 6", "6")),
    "matmul broadcasts": (lambda x, w: x @ w, ("b 1 4 6", "3 6 5")),
    "mm, bmm, mv, addmm": (
        lambda x, w, c: torch.addmm(c, x, w) + torch.mm(x, w) + torch.bmm(x[None], w[None])[0] + torch.mv(w.t(), x[0]),
        ("b 6", "6 5", "5"),
    ),
    # views
    "transposes of what was computed": (lambda x: (x * 2).transpose(1, 2) @ (x + 1).mT.permute(0, 2, 1), X),
    "t, T, movedim": (lambda x: (x * 2).t() + (x * 3).T + torch.movedim(x * 4, 0, 1), ("4 6",)),
    "view, flatten, unflatten": (lambda x: (x.view(-1, 24) * 2).unflatten(1, (4, -1)).flatten(1, 2), X),
    "squeeze, unsqueeze": (lambda x: (x.unsqueeze(1) * 2).squeeze(1) + x.unsqueeze(-1).squeeze(), X),
    "expand, expand_as": (lambda x, y: x[:, :1].expand(-1, 4, -1) * 2 + x[:, :1].expand_as(y) * y, XY),
    "expand in front": (lambda x: x.mean((1, 2)).expand(3, -1) * 2, X),
    "repeat, repeat_interleave": (lambda x: x.repeat(1, 2, 1) + x.repeat_interleave(2, 1), X),
    "slices": (lambda x: x[:, 1:3] + x[:, -2:] * x.narrow(1, 0, 2) + x[:, :-2], X),
    "select": (lambda x: x[:, 0] + x[:, -1] * x.select(1, 2), X),
    "chunk, split": (lambda x: x.chunk(2, -1)[1] * x.split(3, -1)[0] + x.split([3, 3], -1)[1], X),
    "cat, stack": (lambda x, y: torch.cat((x, y, x), 1)[:, 3:7] + torch.stack((x, y), 1)[:, 1], XY),
    "heads apart and together": (written_out, X),
    "other names": (
        lambda x: (
            torch.concat((x, x), 1)[:, :4]
            + torch.concatenate((x * 2, x), 1)[:, :4].detach()
            + (x * 2).swapaxes(1, 2).contiguous().swapdims(1, 2)
        ),
        X,
    ),
    # constants and masks
    "constants": (
        lambda x: (
            x * torch.ones_like(x)
            + torch.zeros_like(x)
            + torch.full_like(x, 3)
            + x.new_full((6,), 2.0)
            + x * x.new_ones(6)
            - x.new_zeros(4, 6)
            + torch.zeros(6, dtype=x.dtype)
        ),
        X,
    ),
    "logic": (
        lambda x: (
            x.masked_fill(torch.logical_not(torch.logical_and(causal(x), torch.logical_or(causal(x), causal(x)))), 0.5)
            + x.masked_fill(torch.bitwise_and(causal(x), causal(x)), 2.0)
            + x.masked_fill(
                torch.bitwise_or(positions(x)[0] > positions(x)[1], positions(x)[0] <= positions(x)[1] - 2), 1.0
            )
        ),
        ("b 6 6",),
    ),
    "masked_fill with a triangle": (lambda x: torch.softmax(x.masked_fill(~causal(x), -INF), -1), ("b 6 6",)),
    "masked_fill with a triangle of ones": (
        lambda x: torch.softmax(x.masked_fill(torch.ones(6, 6).tril() == 0, -INF), -1),
        ("b 6 6",),
    ),
    "masked_fill with a number": (lambda x: x.masked_fill(causal(x), 0.5), ("b 6 6",)),
    "masked_fill with the least number": (
        lambda x: torch.softmax(x.masked_fill(~causal(x), torch.finfo(x.dtype).min), -1),
        ("b 6 6",),
    ),
    "where": (lambda x: torch.where(causal(x), x, 0.0) + torch.where(causal(x), 1.0, x), ("b 6 6",)),
    "where of two tensors": (lambda x, y: torch.where(causal(x), x, y * 2), ("b 6 6", "b 6 6")),
    "where of two numbers": (lambda x: torch.softmax(x + torch.where(causal(x), 0.0, -INF), -1), ("b 6 6",)),
    "a sum with minus infinities": (lambda x: torch.softmax(x + torch.full((6, 6), -INF).triu(1), -1), ("b 6 6",)),
    "an arithmetic mask": (
        lambda x: torch.softmax(x + (1 - causal(x).to(x.dtype)) * torch.finfo(x.dtype).min, -1),
        ("b 6 6",),
    ),
    "a product with a triangle": (lambda x: x * torch.ones(6, 6, dtype=x.dtype).tril(1) - x, ("b 6 6",)),
    "triangles of a tensor": (lambda x: x.tril() * 2 + torch.triu(x, -1), ("b 6 6",)),
    "rows before columns": (
        lambda x: torch.softmax(x.masked_fill(positions(x)[0] < positions(x)[1] - 1, -INF), -1),
        ("b 4 6",),
    ),
    "columns within a window": (
        lambda x: torch.softmax(
            x.masked_fill(~((positions(x)[0] - positions(x)[1]).lt(3) & (positions(x)[0] >= positions(x)[1])), -INF), -1
        ),
        ("b 6 6",),
    ),
    "either side": (
        lambda x: torch.softmax(
            x.masked_fill((positions(x)[0] < positions(x)[1]) | (positions(x)[1] < positions(x)[0] - 2), -INF), -1
        ),
        ("b 6 6",),
    ),
    "queries behind a cache": (
        lambda x: torch.softmax(x.masked_fill(torch.arange(2, 6)[:, None] < torch.arange(6), -INF), -1),
        ("b 4 6",),
    ),
    "the diagonal": (lambda x: x.masked_fill(positions(x)[0] == positions(x)[1], 2.0), ("b 6 6",)),
    "a part of a triangle": (lambda x: torch.softmax(x.masked_fill(~causal(x)[2:6], -INF), -1)[:, :4], ("b 4 6",)),
    "a transposed triangle": (lambda x: torch.softmax(x.masked_fill(~causal(x).t(), -INF), -1), ("b 6 6",)),
    "a mask that is an argument": (
        lambda x, m: torch.softmax(x.masked_fill(m == 0, -INF), -1),
        ("b 4 6", "4 6"),
    ),
    "a mask that is an argument, as a truth": (
        lambda x, m: torch.softmax(torch.where(m.bool()[:, None], x, -INF), -1),
        ("b 4 6", "b 6"),
    ),
    # attention
    "attention": (lambda q, k, v: F.scaled_dot_product_attention(q, k, v), ("b 2 4 8", "b 2 6 8", "b 2 6 8")),
    "attention with a scale": (
        lambda q, k, v: F.scaled_dot_product_attention(q, k, v, scale=0.3),
        ("b 2 4 8", "b 2 6 8", "b 2 6 8"),
    ),
    "causal attention": (
        lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True),
        ("b 2 6 8", "b 2 6 8", "b 2 6 8"),
    ),
    "grouped attention": (gqa(lambda q, k: None), ("b 4 5 8", "b 2 6 8", "b 2 6 8")),
    "grouped attention with a band": (
        gqa(lambda q, k: torch.ones(5, 6, dtype=torch.bool).tril()),
        ("b 4 5 8", "b 2 6 8", "b 2 6 8"),
    ),
    "grouped attention with numbers to add": (
        lambda q, k, v, m: F.scaled_dot_product_attention(q, k, v, attn_mask=m, enable_gqa=True),
        ("b 4 5 8", "b 2 6 8", "b 2 6 8", "b 1 5 6"),
    ),
    # truth values
    "bools that are arguments": (
        lambda x, m, n: torch.where(m & ~n, x, 0.5) * (m | n) + x.masked_fill(m, 0.0).masked_fill(~n, 3.0),
        ("f32 b 6 6", "bool b 6 6", "bool 6 6"),
    ),
    "a bool as a number": (
        lambda x, m: (x * m).sum(-1) + (x * x + m).mean(-1) * m.to(x.dtype)[..., 0],
        ("b 6 6", "bool b 6 6"),
    ),
    "integers of 8 bits as numbers": (
        lambda x, q, z: (x @ (q.to(x.dtype) - z.float()) + q * 0.5) * (q >= z) + x.masked_fill(q == z, 3.0),
        ("f32 b 6 6", "i8 6 6", "i8 6 6"),
    ),
    "integers of 8 bits as wider integers": (
        lambda x, q, z: x * (q.int() * z.int() - (z.long() + 3)) + (q.int() % 7) + (-q.to(torch.int16)) // 5 + q.sum(0),
        ("f32 b 6 6", "u8 6 6", "i8 6 6"),
    ),
    "pairs of integers of 4 bits": (
        lambda x, q: x + torch.stack([(q & 15).to(torch.int8) - 8, (q >> 4).to(torch.int8) - 8], -1).reshape(6, 6),
        ("f32 b 6 6", "u8 6 3"),
    ),
    "whole multiples of powers of two": (
        lambda x, q: x % 0.25 + torch.fmod(x, 2) * torch.div(q, 16, rounding_mode="floor") + (q % 16) * (x // 4),
        ("f32 b 6 6", "u8 6 6"),
    ),
    "shifted integers": (
        lambda x, q: (
            x * (torch.bitwise_left_shift(q.int(), 3) + torch.bitwise_right_shift(q, 2) - ((q >> 1 << 1) & 127))
        ),
        ("f32 b 6 6", "i8 6 6"),
    ),
    "the bits of integers": (
        lambda x, q, z: (
            x * torch.cat([q & 3, (q & 12) >> 2, (q & 240) >> 4, q & 0])
            + torch.cat([z & -16, z | 5, z ^ -86, torch.tensor(97, dtype=torch.int8) & z])
        ),
        ("f32 24 6", "u8 6 6", "i8 6 6"),
    ),
    "the bits of positions": (lambda x: x * (torch.arange(x.shape[0])[:, None] & 5), ("f32 b 6",)),
    "a product of integers of 8 bits": (
        lambda x, q, z: (
            torch._int_mm(torch.round(x * 9).clamp(-128, 127).to(torch.int8), q.T) * x + torch._int_mm(q, z)
        ),
        ("f32 8 8", "i8 8 8", "i8 8 8"),
    ),
    "integers that wrap around": (
        lambda x, q, z: x * (q - 1) + (q << 4) + (z * z) + (z << 4 >> 4) + q.to(torch.int8) - (z + z).to(torch.uint8),
        ("f32 b 6 6", "u8 6 6", "i8 6 6"),
    ),
    "shifts by evenly spaced numbers": (
        lambda x, q: (
            x * ((q[:, :, None] >> torch.arange(0, 8, 2)) & 3).reshape(6, 8)
            + (q[:, None] >> torch.tensor([[4], [0]], dtype=torch.uint8)).sum(1).sum(1)[:, None]
        ),
        ("f32 b 6 8", "u8 6 2"),
    ),
    "numbers that are made integers": (
        lambda x: (x * 300).clamp(-128, 127).to(torch.int8) * x + (x * 9).round().clamp(0, 4).to(torch.uint8).int(),
        ("f32 b 6 6",),
    ),
    "a product with a quantized weight": (
        lambda x, q, s: torch._weight_int8pack_mm(x.float(), q, s.float()),
        ("f32 6 64", "i8 16 64", "f32 16"),
    ),
    "quantized per tensor": (
        lambda x, q: (
            x.float() @ DECOMPOSED.dequantize_per_tensor(q, 0.5, 3, -128, 127, torch.int8)
            + DECOMPOSED.quantize_per_tensor(x.float(), 0.25, 7, 0, 9, torch.uint8)
        ),
        ("f32 6 6", "i8 6 6"),
    ),
    "quantized per channel": (
        lambda x, q, s, z: (
            DECOMPOSED.dequantize_per_channel(q, s, z, 1, -128, 127, torch.int8)
            + DECOMPOSED.dequantize_per_channel(q, s, None, 0, -128, 127, torch.int8)
            + DECOMPOSED.quantize_per_channel(x.float(), s.abs() + 1, torch.zeros(6).long(), 0, -3, 3, torch.int8)
        ),
        ("f32 6 6", "i8 6 6", "f32 6", "f32 6"),
    ),
    "quantized per group": (
        lambda x, q, s, z: (
            x.float() @ DECOMPOSED.dequantize_per_channel_group(q, s, z, -8, 7, torch.int8, 3, torch.float32).t()
            + x.float()
            @ DECOMPOSED.dequantize_per_channel_group(q, s.flatten(), None, -8, 7, torch.int8, 3, torch.float32).t()
        ),
        ("f32 5 6", "i8 4 6", "f32 4 2", "f32 4 2"),
    ),
    "quantized per token": (
        lambda x, s, z: DECOMPOSED.dequantize_per_token(
            DECOMPOSED.quantize_per_token(x.float(), s.abs() + 1, z.round(), -8, 7, torch.int8),
            s.abs() + 1,
            z.round(),
            -8,
            7,
            torch.int8,
            torch.float32,
        ),
        ("f32 5 6", "f32 5 1", "f32 5 1"),
    ),
    "a bool mask with minus infinity": (lambda x, m: torch.exp(x.masked_fill(m, -INF)), ("b 6 6", "bool 6 6")),
    "attention with a bool mask": (
        lambda q, k, v, m: F.scaled_dot_product_attention(q, k, v, attn_mask=m),
        ("b 2 4 8", "b 2 6 8", "b 2 6 8", "bool b 1 4 6"),
    ),
    "attention with a bool mask and a triangle": (
        lambda q, k, v, m: F.scaled_dot_product_attention(q, k, v, attn_mask=m | torch.ones(6, 6).tril().bool()),
        ("b 2 6 8", "b 2 6 8", "b 2 6 8", "bool b 1 6 6"),
    ),
    "selection between tensors": (
        lambda x, y, m: torch.where(m, x / (x - x), y).masked_fill(m, 1.0) + torch.where(m.t(), y, x),
        ("b 6 6", "b 6 6", "bool 6 6"),
    ),
    "comparisons of numbers": (
        lambda x, y: torch.where(x > y, x, 2 * y) + (x <= 0.1).float() * y + torch.where((x >= y) & (y < 0), 1.0, x),
        ("b 6 6", "b 6 6"),
    ),
    "comparisons of equal numbers": (
        lambda x: (x == x.amax(-1, keepdim=True)).to(x.dtype) + (x != 0).double() + x.masked_fill(0 < x, -1.0),
        ("b 6 6",),
    ),
    "a relu, a clamp and a sign by where": (
        lambda x: torch.where(x > 0, x, 0) + torch.where(x > 0.3, 0.3, x) + torch.where(x < 0, -1.0, (x > 0).double()),
        ("b 6 6",),
    ),
    "attention with a mask that is an argument": (
        lambda q, k, v, m: F.scaled_dot_product_attention(q, k, v, attn_mask=m != 0),
        ("b 2 5 8", "b 2 6 8", "b 2 6 8", "5 6"),
    ),
    **{f"a wider constant: {name}": (of_a_wider_constant(function), ("b 4",)) for name, function in WIDER.items()},
    "attention by hand": (
        lambda q, k, v: torch.softmax(q @ k.transpose(-2, -1) / math.sqrt(8), dim=-1) @ v,
        ("b 2 4 8", "b 2 6 8", "b 2 6 8"),
    ),
}


DTYPES = ("bool", "f32", "i8", "u8", "i64")


def dims_of(shape):
    """The dims of a shape that may begin with a dtype."""
    return [d for d in shape.split() if d not in DTYPES]


def dtype_of(shape):
    return next((d for d in DTYPES if shape.startswith(d)), "f64")


def types_of(shapes):
    return [T(*(int(d) if d.isdigit() else d for d in dims_of(s)), dtype=dtype_of(s)) for s in shapes]


def traced(code, shapes):
    return trace(code, dict(zip(inspect.signature(code).parameters, types_of(shapes), strict=True)), name="f")


@pytest.mark.parametrize("name", CASES)
def test_a_row_means_what_torch_computes(name):
    code, shapes = CASES[name]
    made, _ = traced_case(name)
    for batch in (2, 3):
        draw = torch.Generator().manual_seed(batch)
        given = [
            torch.rand([batch if d == "b" else int(d) for d in dims_of(s)], generator=draw, dtype=torch.float64) - 0.4
            for s in shapes
        ]
        for n, shape in enumerate(shapes):
            match dtype_of(shape):
                case "bool":
                    given[n] = given[n] > 0
                case "i8":
                    given[n] = (given[n] * 200).to(torch.int8)
                case "u8":
                    given[n] = (given[n] * 400).abs().to(torch.uint8)
                case "i64":
                    given[n] = (given[n] > 0).long() + (given[n] > 0.3)
        if "argument" in name and "bool" not in name:
            # A mask of zeros and other values without an empty row.
            given[-1] = (given[-1] > 0) * given[-1]
            given[-1][..., 0] = 1.0
        wanted = code(*given).numpy()
        inputs = {b.name: t.numpy() for b, t in zip(made.bindings, made.bind(*given), strict=True)}
        found = evaluate(made.program, inputs)

        assert wanted.shape == found.shape
        # What only float32 can do in torch, as its quantized operators, is rounded there.
        bounds = {"rtol": 1e-5, "atol": 1e-5} if wanted.dtype == np.float32 else {"rtol": 1e-12, "atol": 1e-14}
        np.testing.assert_allclose(wanted, found, **bounds)


class Noted(dict[str, Row]):
    """The table of rows; records which are read."""

    def __init__(self, rows):
        super().__init__(rows)
        self.met = set()

    def get(self, name, otherwise=None):
        self.met.add(name)
        return super().get(name, otherwise)


@cache
def traced_case(name):
    """A case's program, and the ATen names that it went through."""
    noted = Noted(export.BY_NAME)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(export, "BY_NAME", noted)
        return traced(*CASES[name]), frozenset(noted.met)


def test_every_row_is_met_by_a_case():
    met = {name for case in CASES for name in traced_case(case)[1]}

    assert set() == {r.aten for r in ROWS} - met


@pytest.mark.parametrize(
    ("code", "shapes", "says"),
    [
        (lambda x: torch.sort(x, 0)[0], ("b 4",), "operator sort is not supported"),
        (lambda x: x.masked_fill(x > 0, INF), ("b 4",), "masked_fill with inf"),
        (lambda x: torch.where(x > -INF, x, 0.0), ("b 4",), "a comparison with minus infinity"),
        (lambda x: (x > 0).long(), ("b 4",), "a cast to torch.int64|a result of dtype int64"),
        (lambda x: F.dropout(x, 0.5), ("b 4",), "call module.eval"),
        (lambda q: F.scaled_dot_product_attention(q, q, q, dropout_p=0.1), ("b 2 4 8",), "dropout inside attention"),
        (lambda x: x.half() * 2, ("b 4",), "a cast to torch.float16"),
        (lambda x: x.long() * 2, ("b 4",), "a cast to torch.int64"),
        (
            lambda x: x * (torch.arange(x.shape[0])[:, None] & torch.arange(4)),
            ("b 4",),
            "a bitwise operator on integers",
        ),
        (lambda x: x.to(torch.uint8).float(), ("4 4",), "clamp from 0 to 255 first"),
        (lambda x: x * (torch.arange(len(x), dtype=torch.uint8) * 2)[:, None], ("b 4",), "positions of uint8, which"),
        (lambda q, n: (q >> n).float(), ("i8 4 4", "i8 4 4"), "a shift by a tensor"),
        (lambda x: x[:, torch.tensor([-1, 0])] * 2, ("b 4",), "positions on both sides of 0"),
        (lambda x: x.masked_fill(x > 0, -INF), ("b 4",), "may be infinite where a mask covers it"),
        (lambda x: x[::2] * 2, ("b 4",), "a step of 2 over a dim of b|could not trace"),
        (lambda x: x.max(-1).indices.to(x.dtype), ("b 4",), "the positions of a maximum"),
        (lambda x: x.mul_(2), ("b 4",), r"f writes into x at .*test_table\.py:\d+ in .*; return the new value"),
        (lambda x: F.batch_norm(x, x[0], x[0], training=True), ("b 4",), "updates its running mean"),
        (lambda x: x.prod(0), ("b 4",), "prod along a dim of b"),
        (lambda x: x.flip(0), ("b 4",), "a flip of a dim of b"),
        (lambda x: F.pad(x, (1, 1), value=INF), ("b 4",), "padding with inf"),
        (lambda x: F.interpolate(x[None], 65), ("b 4",), "resampling to 65 positions"),
        (lambda x: x.new_ones(3), ("b 4",), "returns a constant"),
        (lambda x: (-2.0) ** x, ("b 4",), "pow with the base -2"),
        (lambda x: x * x[x > 0].max(), ("b 4",), "operator index|operator nonzero"),
        (lambda x: x * x.sum().item(), ("b 4",), "item"),
        (lambda x: x + torch.full((4,), -INF), ("b 4",), "minus infinity everywhere"),
    ],
)
def test_the_error_without_a_row_has_the_line_and_an_alternative(code, shapes, says):
    with pytest.raises(UnsupportedOperator, match=says):
        traced(code, shapes)


# ---------------------------------------------------------------- text of programs
def test_a_transposed_argument_is_stored_in_another_order_and_never_moved():
    made = traced(lambda q, k, v: F.scaled_dot_product_attention(q, k, v), ("b 2 4 8", "b 2 6 8", "b 2 6 8"))

    assert "k = input f64[b, 2, 8, 6] order(0, 1, 3, 2)" in show(made.program)
    assert not any(isinstance(n.op, Permute) for n in made.program.graph.nodes)


def test_an_argument_seen_in_three_orders_is_three_inputs_over_one_tensor():
    made = traced(lambda x: x + x.permute(1, 2, 0) + x.permute(2, 0, 1), ("4 4 4",))

    assert ["x", "x_t", "x_t2"] == [i.name for i in made.program.inputs]
    assert {"x"} == {b.source for b in made.bindings}


def test_a_mask_becomes_one_band_also_if_it_is_used_twice():
    def twice(x):
        keep = causal(x)
        return x.masked_fill(~keep, -INF).exp() @ torch.where(keep, x, 0.0)

    bands = [n.op for n in traced(twice, ("b 6 6",)).program.graph.nodes if isinstance(n.op, Band)]
    assert [(None, "0")] == [(b.low, str(b.high)) for b in bands]


def test_sizes_stay_symbols_in_reshapes_and_masks():
    def f(x):
        b, s, d = x.shape
        keep = torch.ones(s, s, dtype=torch.bool).tril()
        h = x.view(b, s, 2, d // 2).transpose(1, 2)
        return torch.softmax((h @ h.mT).masked_fill(~keep, -INF), -1).reshape(b, 2 * s, s)

    program = traced(f, ("b s 6",)).program
    sizes = [str(d) for n in program.graph.nodes if isinstance(n.op, Reshape) for d in n.op.dims]
    assert {"b", "s", "2*s", "2", "3"} == set(sizes)
    assert ["s"] == [str(n.op.rows) for n in program.graph.nodes if isinstance(n.op, Band)]


def test_casts_between_floats_leave_no_operator():
    def rms_norm(x, w):
        wide = x.to(torch.float32)
        return w * (wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + 1e-6)).to(x.dtype)

    made = trace(rms_norm, {"x": T("b", 64, dtype="bf16"), "w": T(64, dtype="bf16")})

    assert {"bf16"} == {t.dtype for t in made.program.graph.types()}
    assert 8 == len(made.program.graph.nodes)
    x, w = torch.randn(3, 64, dtype=torch.bfloat16), torch.randn(64, dtype=torch.bfloat16)
    found = evaluate(made.program, {"x": x.double().numpy(), "w": w.double().numpy()})
    np.testing.assert_allclose(rms_norm(x.double(), w.double()).numpy(), found, rtol=1e-6)


def test_a_default_epsilon_is_that_of_the_dtype_in_torch():
    text = show(trace(lambda x: F.rms_norm(x.float(), (8,)).to(x.dtype), {"x": T(4, 8, dtype="bf16")}).program)

    assert "add_scalar(%2, 1/8388608)" in text


@pytest.mark.parametrize(
    ("code", "given", "stored"),
    [
        (lambda x: x.float() * 2, "bf16", "f32"),
        (lambda x: torch.softmax(x, -1).to(torch.bfloat16), "f32", "bf16"),
        (lambda x: (x.float() * 2).half(), "bf16", "f16"),
        (lambda x: x > x.mean(-1, keepdim=True), "f32", "bool"),
        (lambda x: ~(x > 0) | torch.isnan(x), "bf16", "bool"),
    ],
)
def test_a_result_is_stored_as_in_torch_by_a_cast_at_the_end(code, given, stored):
    made = trace(code, {"x": T(4, 8, dtype=given)})
    program, x = made.program, torch.randn(4, 8, dtype=getattr(torch, NAMES[given]))

    assert stored == program.graph.output_type.dtype
    assert f"Unary(fn='to_{stored}')" == str(program.graph.nodes[-1].op)
    found = evaluate(program, {"x": x.double().numpy()})
    np.testing.assert_allclose(found, code(x).double().numpy(), rtol=1e-2)


def test_logaddexp_of_equal_infinities_is_that_infinity():
    made = trace(torch.logaddexp, {"input": T(6), "other": T(6)})
    x, y = torch.tensor([[-INF, INF, -INF, 1.0, INF, 2.0], [-INF, INF, INF, -INF, 3.0, 2.0]], dtype=torch.float64)
    with np.errstate(all="ignore"):
        found = evaluate(made.program, {b.name: v.numpy() for b, v in zip(made.bindings, (x, y), strict=True)})

    np.testing.assert_allclose(found, torch.logaddexp(x, y).numpy(), rtol=1e-6)


def test_what_a_constant_mask_covers_in_an_argument_may_be_infinite():
    def code(x):
        return x.triu(1) + x.mT.tril() + x.masked_fill(torch.ones(4, 4).tril() > 0, 2.0)

    made, x = trace(code, {"x": T(4, 4)}), torch.full((4, 4), -INF, dtype=torch.float64).tril(-1)

    np.testing.assert_array_equal(evaluate(made.program, {"x": x.numpy(), "x_t": x.numpy().T}), code(x).numpy())


def test_what_a_row_computes_and_nothing_reads_leaves_no_trace():
    program = trace(lambda x: torch.relu(x.split(2, -1)[1]), {"x": T(4, 8)}).program

    assert ["Input", "Slice", "Unary"] == [type(n.op).__name__ for n in program.graph.nodes]


def test_dead_code_leaves_no_trace():
    def f(x, y):
        torch.exp(y)
        return x * 2

    assert ["x"] == [n.op.name for n in traced(f, ("b 4", "b 4")).program.graph.nodes if isinstance(n.op, Input)]
