"""Workloads people care about, as a person would write them in torch.

Each row is a function, its arguments' types, and where the workload is published. torch is imported
when a program is called, not before. A function's keyword arguments (a number of heads, a window) are
sizes of its row.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from prism_explore.errors import ShapeError
from prism_explore.ir.tensors import TensorType
from prism_explore.ir.tensors import tensor as T


@dataclass(frozen=True, slots=True)
class Workload:
    """A named program with the shapes it is published with."""

    name: str
    says: str
    code: Callable[..., Any]
    inputs: Mapping[str, TensorType]
    at: Mapping[str, int]
    """Numbers for its symbols where none are given."""
    source: str
    shapes: Mapping[str, str] = field(default_factory=dict[str, str])
    """Per argument its dims by name, such as `b d`; a dim without a size is a symbol."""
    sizes: Mapping[str, int] = field(default_factory=dict[str, int])
    """Numbers for the named dims, and for the function's keyword arguments."""

    def resized(self, **sizes: int) -> Workload:
        """The same workload with other numbers for some named sizes.

        Raises:
            ShapeError: a name is none of its sizes.
        """
        unknown = [s for s in sizes if s not in self.sizes]
        if unknown:
            raise ShapeError(f"{self.name} has no size {unknown[0]!r}; it has {', '.join(self.sizes) or 'none'}")
        bare = getattr(self.code, "func", self.code)
        return _resized(replace(self, code=bare), {**self.sizes, **sizes})


def _resized(row: Workload, sizes: Mapping[str, int]) -> Workload:
    keywords = [p.name for p in inspect.signature(row.code).parameters.values() if p.kind is p.KEYWORD_ONLY]
    inputs = {name: T(*(sizes.get(d, d) for d in dims.split())) for name, dims in row.shapes.items()}
    code = partial(row.code, **{k: sizes[k] for k in keywords}) if keywords else row.code
    return replace(row, code=code, inputs=inputs, sizes=dict(sizes))


def _row(
    code: Callable[..., Any],
    says: str,
    source: str,
    shapes: Mapping[str, str],
    sizes: Mapping[str, int],
    at: Mapping[str, int],
    name: str = "",
) -> Workload:
    return _resized(Workload(name or code.__name__, says, code, {}, at, source, shapes), sizes)


# ---------------------------------------------------------------- norms and linear layers
def rmsnorm_linear(x: Any, g: Any, w: Any) -> Any:
    """RMSNorm with weight and eps, then a linear layer: `b d, d, d n -> b n`."""
    import torch

    return torch.nn.functional.rms_norm(x, (x.shape[-1],), g, eps=1e-6) @ w


def rmsnorm_linear_bare(x: Any, w: Any) -> Any:
    """The papers' form, without weight and eps: `b d, d n -> b n`."""
    return rms(x) @ w


def rms(x: Any) -> Any:
    """Rows over their root mean square: `* d -> * d`."""
    import torch

    return x / torch.sqrt(torch.mean(torch.square(x), -1, keepdim=True))


def rmsnorm_mlp(x: Any, up: Any, gate: Any) -> Any:
    """Two linear layers of one normalised input, multiplied: `b d, d n, d n -> b n`."""
    y = rms(x)
    return (y @ up) * (y @ gate)


def layernorm_linear(x: Any, g: Any, h: Any, w: Any) -> Any:
    """LayerNorm with weight and bias, then a linear layer: `b d, d, d, d n -> b n`."""
    import torch

    return torch.nn.functional.layer_norm(x, (x.shape[-1],), g, h, eps=1e-5) @ w


def residual_rmsnorm_linear(x: Any, r: Any, g: Any, w: Any) -> Any:
    """A residual is added before the norm: `b d, b d, d, d n -> b n`."""
    import torch

    return torch.nn.functional.rms_norm(x + r, (x.shape[-1],), g, eps=1e-6) @ w


def linear_residual_rmsnorm(x: Any, w: Any, r: Any) -> Any:
    """The norm of a linear layer plus a residual: `b d, d n, b n -> b n`."""
    return rms(x @ w + r)


# ---------------------------------------------------------------- MLPs
def swiglu(x: Any, gate: Any, up: Any) -> Any:
    """silu of one linear layer times another: `b d, d n, d n -> b n`."""
    import torch

    return torch.nn.functional.silu(x @ gate) * (x @ up)


def mlp_gelu(x: Any, w1: Any, b1: Any, w2: Any, b2: Any) -> Any:
    """Linear, bias, GELU, linear, bias; weights as nn.Linear holds them: `b d, n d, n, d n, d -> b d`."""
    import torch.nn.functional as F

    return F.linear(F.gelu(F.linear(x, w1, b1)), w2, b2)


def mlp_relu(x: Any, w1: Any, b1: Any, w2: Any, b2: Any) -> Any:
    """Linear, bias, ReLU, linear, bias: `b d, n d, n, d n, d -> b d`."""
    import torch.nn.functional as F

    return F.linear(F.relu(F.linear(x, w1, b1)), w2, b2)


def mlp_silu(x: Any, w1: Any, b1: Any, w2: Any, b2: Any) -> Any:
    """Linear, bias, SiLU, linear, bias: `b d, n d, n, d n, d -> b d`."""
    import torch.nn.functional as F

    return F.linear(F.silu(F.linear(x, w1, b1)), w2, b2)


def llama_mlp(x: Any, gate: Any, up: Any, down: Any) -> Any:
    """down(silu(gate(x)) * up(x)), weights as nn.Linear holds them: `b d, n d, n d, d n -> b d`."""
    import torch.nn.functional as F

    return F.linear(F.silu(F.linear(x, gate)) * F.linear(x, up), down)


def lora(x: Any, w: Any, a: Any, c: Any) -> Any:
    """A linear layer with a low-rank update: `b d, d n, d r, r n -> b n`."""
    return x @ w + (x @ a) @ c


def ntrans(h: Any, x: Any, alpha: Any) -> Any:
    """nGPT's update as Mirage codes it: `b d, b d, b d -> b d`."""
    return rms(x + alpha * (rms(h) + x))


def moe_gating(x: Any, route: Any, experts: Any) -> Any:
    """Linear experts, weighted by a softmax over a fixed routing matrix: `b d, d e, e d n -> b n`."""
    import torch

    weights = torch.softmax(x @ route, -1)
    return (weights.t().unsqueeze(-1) * (x @ experts)).sum(0)


def moe_routed(x: Any, route: Any, up: Any, down: Any) -> Any:
    """Experts of two layers on tokens whose weights are given: `b d, b e, e d n, e n d -> b d`."""
    import torch

    y = torch.nn.functional.silu(x @ up) @ down
    return (route.t().unsqueeze(-1) * y).sum(0)


# ---------------------------------------------------------------- softmax and attention
def softmax(x: Any) -> Any:
    """Rows to probabilities: `b n -> b n`."""
    import torch

    return torch.softmax(x, -1)


def attention(q: Any, k: Any, v: Any) -> Any:
    """Softmax without maximum and scale: `b s d, b d t, b t d -> b s d`."""
    import torch

    e = torch.exp(q @ k)
    return (e / e.sum(-1, keepdim=True)) @ v


def qk_norm_attention(q: Any, k: Any, v: Any) -> Any:
    """Prism's form: queries normalised over their channels: `b s d, b d t, b t d -> b s d`."""
    return attention(rms(q), k, v)


def qknorm(q: Any, k: Any, v: Any) -> Any:
    """Mirage's form: queries and values normalised over their channels: `b s d, b d t, b t d -> b s d`."""
    return attention(rms(q), k, rms(v))


def grouped_attention(q: Any, k: Any, v: Any) -> Any:
    """Per head, scaled, query heads sharing key heads; no maximum: `b h s d, b g t d, b g t d -> b h s d`."""
    import torch

    b, h, s, d = q.shape
    g = k.shape[1]
    scores = q.reshape(b, g, h // g * s, d) @ k.transpose(-1, -2) * d**-0.5
    e = torch.exp(scores)
    return ((e / e.sum(-1, keepdim=True)) @ v).reshape(b, h, s, d)


def safe_attention(q: Any, k: Any, v: Any) -> Any:
    """torch's own, whose softmax takes off the maximum: `b h s d, b h t d, b h t d -> b h s d`."""
    import torch

    return torch.nn.functional.scaled_dot_product_attention(q, k, v)


def safe_grouped_attention(q: Any, k: Any, v: Any) -> Any:
    """The same with query heads sharing key heads: `b h s d, b g t d, b g t d -> b h s d`."""
    import torch

    return torch.nn.functional.scaled_dot_product_attention(q, k, v, enable_gqa=True)


def causal_attention(q: Any, k: Any, v: Any) -> Any:
    """No position sees a later one: `b h s d, b h s d, b h s d -> b h s d`."""
    import torch

    return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)


def sliding_window_attention(q: Any, k: Any, v: Any, *, window: int) -> Any:
    """Each position sees itself and the ones before it, `window` in all: `b h s d, b h s d, b h s d -> b h s d`."""
    import torch

    at = torch.arange(q.shape[-2], device=q.device)
    back = at[:, None] - at[None, :]
    mask = (back >= 0) & (back < window)
    scores = (q @ k.transpose(-1, -2) * q.shape[-1] ** -0.5).masked_fill(~mask, float("-inf"))
    return torch.softmax(scores, -1) @ v


def rotate(x: Any, cos: Any, sin: Any) -> Any:
    """Rotary embedding by halves: `* s d, s d, s d -> * s d`."""
    import torch

    left, right = x.chunk(2, -1)
    return x * cos + torch.cat((-right, left), -1) * sin


def rotary_scores(q: Any, k: Any, cos: Any, sin: Any) -> Any:
    """Products of rotated queries and keys: `b h s d, b h s d, s d, s d -> b h s s`."""
    return rotate(q, cos, sin) @ rotate(k, cos, sin).transpose(-1, -2)


def latent_attention(q: Any, c: Any, uk: Any, uv: Any) -> Any:
    """Keys and values from one low-rank cache, one query per head: `b h d, b t r, h r d, h r d -> b h d`."""
    import torch

    keys, values = c.unsqueeze(1) @ uk, c.unsqueeze(1) @ uv
    return torch.nn.functional.scaled_dot_product_attention(q.unsqueeze(2), keys, values).squeeze(2)


def transformer_block(
    x: Any,
    g1: Any,
    wq: Any,
    wk: Any,
    wv: Any,
    wo: Any,
    cos: Any,
    sin: Any,
    g2: Any,
    gate: Any,
    up: Any,
    down: Any,
    *,
    heads: int,
    kv_heads: int,
) -> Any:
    """One Llama block: norm, rotary causal grouped attention, residual, norm, gated MLP, residual: `b s d -> b s d`."""
    import torch.nn.functional as F

    b, s, d = x.shape
    y = F.rms_norm(x, (d,), g1, eps=1e-5)
    q = F.linear(y, wq).view(b, s, heads, d // heads).transpose(1, 2)
    k = F.linear(y, wk).view(b, s, kv_heads, d // heads).transpose(1, 2)
    v = F.linear(y, wv).view(b, s, kv_heads, d // heads).transpose(1, 2)
    q, k = rotate(q, cos, sin), rotate(k, cos, sin)
    a = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
    x = x + F.linear(a.transpose(1, 2).reshape(b, s, d), wo)
    return x + llama_mlp(F.rms_norm(x, (d,), g2, eps=1e-5), gate, up, down)


_ONE_MATRIX = {"x": "b d", "w": "d n"}
_FOLDED = {"q": "b s d", "k": "b d t", "v": "b t d"}
_HEADS = {"q": "b h s d", "k": "b h t d", "v": "b h t d"}
_GROUPS = {"q": "b h s d", "k": "b g t d", "v": "b g t d"}
_SELF = {"q": "b h s d", "k": "b h s d", "v": "b h s d"}
_BIASED = {"x": "b d", "w1": "n d", "b1": "n", "w2": "d n", "b2": "d"}
_LLAMA_3_8B = {"h": 32, "g": 8, "s": 1, "t": 4096, "d": 128}

WORKLOADS: tuple[Workload, ...] = (
    _row(
        rmsnorm_linear,
        "RMSNorm with weight and eps, then a linear layer, as in every Llama block",
        "Prism, rms_norm, largest published shape; weight and eps as in torch.nn.RMSNorm",
        {"x": "b d", "g": "d", "w": "d n"},
        {"d": 4096, "n": 4096},
        {"b": 8},
    ),
    _row(
        rmsnorm_linear_bare,
        "RMSNorm without weight and eps, then a linear layer",
        "Prism, rms_norm (n, d) = (8, 4096)",
        _ONE_MATRIX,
        {"d": 4096, "n": 4096},
        {"b": 8},
    ),
    _row(
        rmsnorm_linear_bare,
        "RMSNorm, then Llama-2-7B's query, key and value layer in one matrix",
        "Mirage, RMSNorm: X[2b, 4096], W[4096, 6144]; our b is its 2b",
        _ONE_MATRIX,
        {"d": 4096, "n": 6144},
        {"b": 16},
        name="rmsnorm",
    ),
    _row(
        rmsnorm_mlp,
        "RMSNorm, then two linear layers, multiplied",
        "Prism, rmsnorm_mlp (n, d) = (8, 4096)",
        {"x": "b d", "up": "d n", "gate": "d n"},
        {"d": 4096, "n": 4096},
        {"b": 8},
    ),
    _row(
        swiglu,
        "silu of one linear layer times another",
        "Prism, swiglu (n, d) = (16, 1024)",
        {"x": "b d", "gate": "d n", "up": "d n"},
        {"d": 1024, "n": 1024},
        {"b": 16},
    ),
    _row(
        swiglu,
        "silu of one linear layer times another, at Falcon-7B's size",
        "Mirage, GatedMLP: X[8, 4096], W[4096, 4096]",
        {"x": "b d", "gate": "d n", "up": "d n"},
        {"d": 4096, "n": 4096},
        {"b": 8},
        name="gated_mlp",
    ),
    _row(
        attention,
        "attention as Prism publishes it: heads folded into queries and keys, no scale, no maximum",
        "Prism, attention (b, h, q, kv, d) = (2, 8, 1, 1024, 128), so that 8 rows meet 8192 keys",
        _FOLDED,
        {"s": 8, "d": 128, "t": 8192},
        {"b": 2},
    ),
    _row(
        grouped_attention,
        "attention per head with scale and grouped key heads, no maximum",
        "the honest form of Prism's attention, at Llama-3-8B's heads",
        _GROUPS,
        _LLAMA_3_8B,
        {"b": 2},
    ),
    _row(
        qk_norm_attention,
        "attention with normalised queries",
        "Prism, qk_norm_attention (b, h, q, kv, d) = (2, 8, 1, 1024, 128)",
        _FOLDED,
        {"s": 8, "d": 128, "t": 8192},
        {"b": 2},
    ),
    _row(
        attention,
        "grouped-query attention of Llama-3-70B on one of four GPUs",
        "Mirage, GQA: Q[2b, 256, 64], K[2b, 64, 4096], V[2b, 4096, 64]; our b is its 2b",
        _FOLDED,
        {"s": 256, "d": 64, "t": 4096},
        {"b": 2},
        name="gqa",
    ),
    _row(
        attention,
        "multi-head attention",
        "Mirage, MHA: Q[32b, 16, 64]; our b is its 32b",
        _FOLDED,
        {"s": 16, "d": 64, "t": 4096},
        {"b": 32},
        name="mha",
    ),
    _row(
        attention,
        "multi-query attention",
        "Mirage, MQA: Q[b, 1024, 64]",
        _FOLDED,
        {"s": 1024, "d": 64, "t": 4096},
        {"b": 1},
        name="mqa",
    ),
    _row(
        qknorm,
        "grouped-query attention of Chameleon-7B with normalised queries and values",
        "Mirage, QKNorm: shapes as GQA; its code normalises V, not K",
        _FOLDED,
        {"s": 256, "d": 64, "t": 4096},
        {"b": 2},
    ),
    _row(
        lora,
        "a linear layer with a low-rank update",
        "Mirage, LoRA: X[16, 256], W[256, 4096], A[256, 16], B[16, 4096]",
        {"x": "b d", "w": "d n", "a": "d r", "c": "r n"},
        {"d": 256, "n": 4096, "r": 16},
        {"b": 16},
    ),
    _row(
        ntrans,
        "the normalised update of nGPT-1B",
        "Mirage, nTrans: H, X, alpha [b, 4096]",
        {"h": "b d", "x": "b d", "alpha": "b d"},
        {"d": 4096},
        {"b": 8},
    ),
    _row(
        layernorm_linear,
        "LayerNorm with weight and bias, then a linear layer",
        "GPT-2 small, its query, key and value layer",
        {"x": "b d", "g": "d", "h": "d", "w": "d n"},
        {"d": 768, "n": 2304},
        {"b": 8},
    ),
    _row(
        residual_rmsnorm_linear,
        "a residual, RMSNorm, a linear layer",
        "Llama-2-7B, second half of a block up to its MLP",
        {"x": "b d", "r": "b d", "g": "d", "w": "d n"},
        {"d": 4096, "n": 11008},
        {"b": 8},
    ),
    _row(
        linear_residual_rmsnorm,
        "the norm of a linear layer plus a residual",
        "Prism, dropped from its published set: rmsnorm(X W + R)",
        {"x": "b d", "w": "d n", "r": "b n"},
        {"d": 4096, "n": 4096},
        {"b": 8},
    ),
    _row(
        mlp_gelu,
        "two linear layers with bias, GELU between",
        "GPT-2 small, its MLP",
        _BIASED,
        {"d": 768, "n": 3072},
        {"b": 8},
    ),
    _row(
        mlp_relu,
        "two linear layers with bias, ReLU between",
        "Transformer (arXiv 1706.03762), its feed-forward layers",
        _BIASED,
        {"d": 512, "n": 2048},
        {"b": 8},
    ),
    _row(
        mlp_silu,
        "two linear layers with bias, SiLU between",
        "the time embedding of Stable Diffusion's U-Net",
        _BIASED,
        {"d": 1280, "n": 5120},
        {"b": 8},
    ),
    _row(
        llama_mlp,
        "down(silu(gate(x)) * up(x))",
        "Llama-2-7B, its MLP",
        {"x": "b d", "gate": "n d", "up": "n d", "down": "d n"},
        {"d": 4096, "n": 11008},
        {"b": 8},
    ),
    _row(
        moe_gating,
        "linear experts weighted by a softmax over a fixed routing matrix",
        "Mirage, MoE: X[8, 8, 4096], with its experts as weights",
        {"x": "b d", "route": "d e", "experts": "e d n"},
        {"d": 4096, "e": 8, "n": 4096},
        {"b": 8},
    ),
    _row(
        moe_routed,
        "experts of two layers, weighted by a given routing matrix",
        "Mixtral-8x7B, with dense routing and without gates",
        {"x": "b d", "route": "b e", "up": "e d n", "down": "e n d"},
        {"d": 4096, "e": 8, "n": 14336},
        {"b": 8},
    ),
    _row(softmax, "softmax over rows", "Triton's tutorial on fused softmax", {"x": "b n"}, {"n": 4096}, {"b": 64}),
    _row(
        safe_attention,
        "scaled_dot_product_attention: scale, and a softmax that takes off the maximum",
        "torch.nn.functional, at Llama-2-7B's heads",
        _HEADS,
        {"h": 32, "s": 128, "t": 4096, "d": 128},
        {"b": 1},
    ),
    _row(
        safe_grouped_attention,
        "scaled_dot_product_attention with grouped key heads, one query row as in decoding",
        "torch.nn.functional, at Llama-3-8B's heads",
        _GROUPS,
        _LLAMA_3_8B,
        {"b": 2},
    ),
    _row(
        causal_attention,
        "scaled_dot_product_attention under a causal mask",
        "torch.nn.functional, at Llama-2-7B's heads",
        _SELF,
        {"h": 32, "s": 2048, "d": 128},
        {"b": 1},
    ),
    _row(
        sliding_window_attention,
        "attention under a sliding window, its mask made of positions",
        "Mistral-7B's heads; its window of 4096 halved with the sequence",
        _SELF,
        {"h": 32, "s": 4096, "d": 128, "window": 2048},
        {"b": 1},
    ),
    _row(
        rotary_scores,
        "rotary embedding of queries and keys by halves, and their products",
        "RoFormer (arXiv 2104.09864) as Llama spells it, at Llama-2-7B's heads",
        {"q": "b h s d", "k": "b h s d", "cos": "s d", "sin": "s d"},
        {"h": 32, "s": 2048, "d": 128},
        {"b": 1},
    ),
    _row(
        latent_attention,
        "attention whose keys and values come from one low-rank cache",
        "DeepSeek-V2's latent attention (arXiv 2405.04434), without its rotary part",
        {"q": "b h d", "c": "b t r", "uk": "h r d", "uv": "h r d"},
        {"h": 128, "d": 128, "t": 4096, "r": 512},
        {"b": 8},
    ),
    _row(
        transformer_block,
        "a whole Llama block: norms, rotary causal grouped attention, gated MLP, residuals",
        "Llama-3-8B",
        {
            "x": "b s d",
            "g1": "d",
            "wq": "d d",
            "wk": "m d",
            "wv": "m d",
            "wo": "d d",
            "cos": "s c",
            "sin": "s c",
            "g2": "d",
            "gate": "n d",
            "up": "n d",
            "down": "d n",
        },
        {"s": 128, "d": 4096, "m": 1024, "c": 128, "n": 14336, "heads": 32, "kv_heads": 8},
        {"b": 1},
    ),
)


def workload(name: str) -> Workload:
    """The row of that name.

    Raises:
        ShapeError: no such workload; the message lists them.
    """
    for row in WORKLOADS:
        if row.name == name:
            return row
    raise ShapeError(f"no workload {name!r}; there are {', '.join(w.name for w in WORKLOADS)}")
