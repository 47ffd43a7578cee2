"""The torch functions of the workloads. A docstring has the dims of the inputs and of the result.

torch is imported when a function is called. Keyword arguments, such as a number of heads, are sizes of a workload.
"""

from __future__ import annotations

from typing import Any


# ---------------------------------------------------------------- norms and linear layers
def rmsnorm_linear(x: Any, g: Any, w: Any) -> Any:
    """RMSNorm with weight and eps, then a linear layer: `b d, d, d n -> b n`."""
    import torch

    return torch.nn.functional.rms_norm(x, (x.shape[-1],), g, eps=1e-6) @ w


def rmsnorm_linear_bare(x: Any, w: Any) -> Any:
    """RMSNorm as in the papers, without weight and eps, then a linear layer: `b d, d n -> b n`."""
    return rms(x) @ w


def rms(x: Any) -> Any:
    """Rows divided by their root mean square: `* d -> * d`."""
    import torch

    return x / torch.sqrt(torch.mean(torch.square(x), -1, keepdim=True))


def rmsnorm_mlp(x: Any, up: Any, gate: Any) -> Any:
    """The product of two linear layers of one normalised input: `b d, d n, d n -> b n`."""
    y = rms(x)
    return (y @ up) * (y @ gate)


def layernorm_linear(x: Any, g: Any, h: Any, w: Any) -> Any:
    """LayerNorm with weight and bias, then a linear layer: `b d, d, d, d n -> b n`."""
    import torch

    return torch.nn.functional.layer_norm(x, (x.shape[-1],), g, h, eps=1e-5) @ w


def residual_rmsnorm_linear(x: Any, r: Any, g: Any, w: Any) -> Any:
    """A residual, RMSNorm with weight and eps, then a linear layer: `b d, b d, d, d n -> b n`."""
    import torch

    return torch.nn.functional.rms_norm(x + r, (x.shape[-1],), g, eps=1e-6) @ w


def linear_residual_rmsnorm(x: Any, w: Any, r: Any) -> Any:
    """RMSNorm of a linear layer plus a residual: `b d, d n, b n -> b n`."""
    return rms(x @ w + r)


# ---------------------------------------------------------------- MLPs
def swiglu(x: Any, gate: Any, up: Any) -> Any:
    """silu of one linear layer times another: `b d, d n, d n -> b n`."""
    import torch

    return torch.nn.functional.silu(x @ gate) * (x @ up)


def mlp_gelu(x: Any, w1: Any, b1: Any, w2: Any, b2: Any) -> Any:
    """Linear, bias, GELU, linear, bias; weights in the layout of nn.Linear: `b d, n d, n, d n, d -> b d`."""
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
    """down(silu(gate(x)) * up(x)), weights in the layout of nn.Linear: `b d, n d, n d, d n -> b d`."""
    import torch.nn.functional as F

    return F.linear(F.silu(F.linear(x, gate)) * F.linear(x, up), down)


def lora(x: Any, w: Any, a: Any, c: Any) -> Any:
    """A linear layer with a low-rank update: `b d, d n, d r, r n -> b n`."""
    return x @ w + (x @ a) @ c


def ntrans(h: Any, x: Any, alpha: Any) -> Any:
    """The update of nGPT as in the code of Mirage: `b d, b d, b d -> b d`."""
    return rms(x + alpha * (rms(h) + x))


def moe_gating(x: Any, route: Any, experts: Any) -> Any:
    """Linear experts, weighted by a softmax over a fixed routing matrix: `b d, d e, e d n -> b n`."""
    import torch

    weights = torch.softmax(x @ route, -1)
    return (weights.t().unsqueeze(-1) * (x @ experts)).sum(0)


def moe_routed(x: Any, route: Any, up: Any, down: Any) -> Any:
    """Experts of two layers, with the routing weights as an input: `b d, b e, e d n, e n d -> b d`."""
    import torch

    y = torch.nn.functional.silu(x @ up) @ down
    return (route.t().unsqueeze(-1) * y).sum(0)


# ---------------------------------------------------------------- softmax and attention
def softmax(x: Any) -> Any:
    """Softmax over rows: `b n -> b n`."""
    import torch

    return torch.softmax(x, -1)


def attention(q: Any, k: Any, v: Any) -> Any:
    """Attention without scale and without the maximum of the softmax: `b s d, b d t, b t d -> b s d`."""
    import torch

    e = torch.exp(q @ k)
    return (e / e.sum(-1, keepdim=True)) @ v


def qk_norm_attention(q: Any, k: Any, v: Any) -> Any:
    """Attention with normalised queries, as in Prism: `b s d, b d t, b t d -> b s d`."""
    return attention(rms(q), k, v)


def qknorm(q: Any, k: Any, v: Any) -> Any:
    """Attention with normalised queries and values, as in Mirage: `b s d, b d t, b t d -> b s d`."""
    return attention(rms(q), k, rms(v))


def grouped_attention(q: Any, k: Any, v: Any) -> Any:
    """Grouped attention with scale, without the maximum of the softmax: `b h s d, b g t d, b g t d -> b h s d`."""
    import torch

    b, h, s, d = q.shape
    g = k.shape[1]
    scores = q.reshape(b, g, h // g * s, d) @ k.transpose(-1, -2) * d**-0.5
    e = torch.exp(scores)
    return ((e / e.sum(-1, keepdim=True)) @ v).reshape(b, h, s, d)


def safe_attention(q: Any, k: Any, v: Any) -> Any:
    """The attention of torch, whose softmax subtracts the maximum: `b h s d, b h t d, b h t d -> b h s d`."""
    import torch

    return torch.nn.functional.scaled_dot_product_attention(q, k, v)


def safe_grouped_attention(q: Any, k: Any, v: Any) -> Any:
    """The grouped attention of torch: `b h s d, b g t d, b g t d -> b h s d`."""
    import torch

    return torch.nn.functional.scaled_dot_product_attention(q, k, v, enable_gqa=True)


def causal_attention(q: Any, k: Any, v: Any) -> Any:
    """Attention with a causal mask: `b h s d, b h s d, b h s d -> b h s d`."""
    import torch

    return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)


def sliding_window_attention(q: Any, k: Any, v: Any, *, window: int) -> Any:
    """Attention to the last `window` positions: `b h s d, b h s d, b h s d -> b h s d`."""
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
