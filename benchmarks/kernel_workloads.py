"""The workloads of `kernel_time.py`: functions, input shapes, and a library call to compare with.

Weights have the layout of nn.Linear, `[n, d]`. The group `reported` has the rows of the table in the README, the group
`quantized` linear layers whose weights have 8 or 4 bits. The other groups have the shapes published in the papers, and
sweeps over batch size, width and cache length.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import prism_explore as px
from prism_explore.ir.tensors import TensorType
from prism_explore.ir.tensors import tensor as T

Group = Literal["reported", "quantized", "published", "batch", "cache"]


@dataclass(frozen=True, slots=True)
class Row:
    """One workload at one shape."""

    name: str
    code: Callable[..., Any]
    inputs: Mapping[str, TensorType]
    at: Mapping[str, int]
    group: Group
    library_call: Callable[..., Any] | None = None
    """One library call of torch that computes the same; it is a baseline."""


# ---------------------------------------------------------------- functions
def rmsnorm_linear(x: Any, g: Any, w: Any) -> Any:
    """RMSNorm and a linear layer: `b d, d, n d -> b n`."""
    import torch.nn.functional as F

    return F.linear(F.rms_norm(x, (x.shape[-1],), g, eps=1e-5), w)


def gated_mlp(x: Any, gate: Any, up: Any) -> Any:
    """The first half of a gated MLP: `b d, n d, n d -> b n`."""
    import torch.nn.functional as F

    return F.silu(F.linear(x, gate)) * F.linear(x, up)


def rmsnorm_gated_mlp(x: Any, g: Any, gate: Any, up: Any) -> Any:
    """RMSNorm, then the first half of a gated MLP: `b d, d, n d, n d -> b n`."""
    import torch.nn.functional as F

    return gated_mlp(F.rms_norm(x, (x.shape[-1],), g, eps=1e-5), gate, up)


def decode_attention(q: Any, k: Any, v: Any) -> Any:
    """Decode attention with grouped query heads: `b h s d, b g t d, b g t d -> b h s d`."""
    import torch

    b, h, s, d = q.shape
    g = k.shape[1]
    scores = q.reshape(b, g, h // g * s, d) @ k.transpose(-1, -2) * d**-0.5
    return (torch.softmax(scores, -1) @ v).reshape(b, h, s, d)


def decode_attention_sdpa(q: Any, k: Any, v: Any) -> Any:
    """Decode attention as one call of torch's scaled_dot_product_attention."""
    import torch

    return torch.nn.functional.scaled_dot_product_attention(q, k, v, enable_gqa=True)


def normalized_attention(q: Any, k: Any, v: Any, gq: Any, gk: Any) -> Any:
    """Decode attention with normalized queries and keys: `b h s d, b g t d, b g t d, d, d -> b h s d`."""
    import torch.nn.functional as F

    width = (q.shape[-1],)
    return decode_attention(F.rms_norm(q, width, gq, eps=1e-5), F.rms_norm(k, width, gk, eps=1e-5), v)


def normalized_attention_sdpa(q: Any, k: Any, v: Any, gq: Any, gk: Any) -> Any:
    """Normalized queries and keys, then one call of torch's scaled_dot_product_attention."""
    import torch.nn.functional as F

    width = (q.shape[-1],)
    return decode_attention_sdpa(F.rms_norm(q, width, gq, eps=1e-5), F.rms_norm(k, width, gk, eps=1e-5), v)


def lora(x: Any, w: Any, a: Any, c: Any) -> Any:
    """A linear layer with a low-rank update: `b d, n d, r d, n r -> b n`."""
    import torch.nn.functional as F

    return F.linear(x, w) + F.linear(F.linear(x, a), c)


def int8_linear(x: Any, w: Any, s: Any) -> Any:
    """A linear layer whose weight has 8 bits and a scale per row: `b d, n d, n -> b n`."""
    import torch.nn.functional as F

    return F.linear(x, w.to(x.dtype)) * s


def int8_linear_packed(x: Any, w: Any, s: Any) -> Any:
    """The same as one call of torch."""
    import torch

    return torch._weight_int8pack_mm(x, w, s)


def grouped_int8_linear(x: Any, w: Any, s: Any) -> Any:
    """A linear layer whose weight has 8 bits and a scale per group of a row: `b d, n d, n d/64 -> b n`."""
    import torch.nn.functional as F

    n, groups = s.shape
    return F.linear(x, (w.reshape(n, groups, -1).to(x.dtype) * s[..., None]).reshape(n, -1))


def int4_linear(x: Any, w: Any, s: Any, z: Any) -> Any:
    """Two weights of 4 bits in a byte, scales and zero points per group: `b d, n d/2, n d/64, n d/64 -> b n`."""
    import torch
    import torch.nn.functional as F

    n, groups = s.shape
    q = torch.stack([w & 15, w >> 4], -1).reshape(n, groups, -1).to(x.dtype)
    return F.linear(x, ((q - z[..., None].to(x.dtype)) * s[..., None]).reshape(n, -1))


# ---------------------------------------------------------------- shapes
def linear_row(kind: str, b: int, d: int = 4096, n: int = 0, group: Group = "reported", name: str = "") -> Row:
    """A row with linear layers: W1 (RMSNorm and linear), W2 (gated MLP), W2n (RMSNorm and gated MLP), W5 (LoRA).

    Args:
        kind: W1, W2, W2n or W5 for float32; with the suffix `bf` for bfloat16.
        b: batch size.
        d: input width.
        n: output width; by default `d`.
        group: the group of the row.
        name: name of the row; by default the kind and the batch size.
    """
    n, dtype = n or d, "bf16" if kind.endswith("bf") else "f32"
    x, g, w = T("b", d, dtype=dtype), T(d, dtype=dtype), T(n, d, dtype=dtype)
    code, inputs = {
        "W1": (rmsnorm_linear, {"x": x, "g": g, "w": w}),
        "W2": (gated_mlp, {"x": x, "gate": w, "up": w}),
        "W2n": (rmsnorm_gated_mlp, {"x": x, "g": g, "gate": w, "up": w}),
        "W5": (lora, {"x": x, "w": w, "a": T(16, d, dtype=dtype), "c": T(n, 16, dtype=dtype)}),
    }[kind.removesuffix("bf")]
    return Row(name or f"{kind}.{b}", code, inputs, {"b": b}, group)


def decode_row(kind: str, b: int, t: int, group: Group = "reported", name: str = "") -> Row:
    """A row with attention: W3 (decode attention), W4 (normalized queries and keys), with the heads of Llama-3-8B.

    Args:
        kind: W3 or W4.
        b: batch size.
        t: number of cached keys.
        group: the group of the row.
        name: name of the row; by default the kind, the batch size and the number of keys.
    """
    q, k = T("b", 32, 1, 128), T("b", 8, t, 128)
    inputs, code, library_call = {"q": q, "k": k, "v": k}, decode_attention, decode_attention_sdpa
    if kind == "W4":
        inputs = {**inputs, "gq": T(128), "gk": T(128)}
        code, library_call = normalized_attention, normalized_attention_sdpa
    return Row(name or f"{kind}.{b}.{t}", code, inputs, {"b": b}, group, library_call)


GROUP_SIZE = 64
"""Weights of a quantized layer that share a scale."""


def quantized_row(kind: str, b: int, d: int = 4096) -> Row:
    """A row with a quantized linear layer: Q8 (8 bits, a scale per row), Q8g (per group of a row), Q4 (4 bits).

    Args:
        kind: Q8, Q8g or Q4 for float32 inputs and scales; with the suffix `bf` for bfloat16.
        b: batch size.
        d: width.
    """
    dtype = "bf16" if kind.endswith("bf") else "f32"
    x, w = T("b", d, dtype=dtype), T(d, d, dtype="i8")
    scales, zeros = T(d, d // GROUP_SIZE, dtype=dtype), T(d, d // GROUP_SIZE, dtype="u8")
    name, at = f"{kind}.{b}", {"b": b}
    match kind.removesuffix("bf"):
        case "Q8":
            inputs = {"x": x, "w": w, "s": T(d, dtype=dtype)}
            return Row(name, int8_linear, inputs, at, "quantized", int8_linear_packed)
        case "Q8g":
            return Row(name, grouped_int8_linear, {"x": x, "w": w, "s": scales}, at, "quantized")
        case "Q4":
            inputs = {"x": x, "w": T(d, d // 2, dtype="u8"), "s": scales, "z": zeros}
            return Row(name, int4_linear, inputs, at, "quantized")
        case _:
            raise ValueError(f"no kind {kind!r} of quantized rows; there are Q8, Q8g, Q4, and with the suffix bf")


def _rows() -> Iterator[Row]:
    yield from (linear_row("W1", b) for b in (1, 8, 16, 64))
    yield linear_row("W2", 1)
    yield linear_row("W2", 1, n=11008, name="W2.1.11008")
    yield linear_row("W2n", 1)
    yield from (linear_row("W2", b) for b in (8, 16))
    yield from (decode_row(kind, b, t) for kind, b, t in (("W3", 1, 8192), ("W3", 8, 2048)))
    yield from (decode_row(kind, b, t) for kind, b, t in (("W4", 1, 4096), ("W4", 8, 2048)))
    yield from (linear_row("W5", b) for b in (1, 8, 16))
    yield from (linear_row("W1bf", b) for b in (1, 8, 16))
    yield from (quantized_row(f"{kind}{bf}", b) for kind in ("Q8", "Q8g", "Q4") for bf in ("", "bf") for b in (1, 8))
    for name in PUBLISHED:
        found = px.workload(name)
        yield Row(f"P.{name}", found.code, found.inputs, found.at, "published")
    for kind in ("W1", "W2", "W5"):
        for d in (1024, 4096):
            for b in (1, 4, 8, 16, 64):
                yield linear_row(kind, b, d, group="batch", name=f"B.{kind}.{b}.{d}")
    for kind in ("W3", "W4"):
        for b in (1, 8):
            for t in (1024, 2048, 4096, 8192):
                yield decode_row(kind, b, t, group="cache", name=f"C.{kind}.{b}.{t}")


PUBLISHED = (
    "rmsnorm_linear_bare", "rmsnorm", "rmsnorm_mlp", "swiglu", "gated_mlp", "attention", "qk_norm_attention",
    "gqa", "mha", "mqa", "qknorm", "lora", "ntrans",
)  # fmt: skip
"""Workloads of `prism-explore list` with the shapes published by Prism and Mirage."""

ROWS: tuple[Row, ...] = tuple(_rows())


def select_rows(names: Sequence[str]) -> tuple[Row, ...]:
    """Return the rows that the names select.

    Args:
        names: names of rows, beginnings of names before a dot, or names of groups.

    Raises:
        ValueError: a name selects no row.
    """
    for name in names:
        if not any(_matches(row, name) for row in ROWS):
            raise ValueError(f"no row {name!r}; there are {', '.join(row.name for row in ROWS)}")
    return tuple(row for row in ROWS if any(_matches(row, name) for name in names))


def _matches(row: Row, name: str) -> bool:
    return name in (row.name, row.group) or row.name.startswith(f"{name}.")
