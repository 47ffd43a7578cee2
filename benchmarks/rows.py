"""What `kernel_time.py` measures, as data: functions, their inputs, and a library call that competes.

Weights lie as nn.Linear stores them, `[n, d]`. The group `reported` are the rows by which CPU kernels are
judged; the other groups are the papers' published shapes and sweeps over batch, width and cache.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import prism_explore as px
from prism_explore.ir.tensors import TensorType
from prism_explore.ir.tensors import tensor as T

Group = Literal["reported", "published", "batch", "cache"]


@dataclass(frozen=True, slots=True)
class Row:
    """One shape of one workload."""

    name: str
    code: Callable[..., Any]
    inputs: Mapping[str, TensorType]
    at: Mapping[str, int]
    group: Group
    rival: Callable[..., Any] | None = None
    """One library call of torch that does the same, timed beside `code` in its modes."""


# ---------------------------------------------------------------- functions
def w1(x: Any, g: Any, w: Any) -> Any:
    """RMSNorm and a linear layer: `b d, d, n d -> b n`."""
    import torch.nn.functional as F

    return F.linear(F.rms_norm(x, (x.shape[-1],), g, eps=1e-5), w)


def w2(x: Any, gate: Any, up: Any) -> Any:
    """A gated MLP's first half: `b d, n d, n d -> b n`."""
    import torch.nn.functional as F

    return F.silu(F.linear(x, gate)) * F.linear(x, up)


def w2n(x: Any, g: Any, gate: Any, up: Any) -> Any:
    """The same behind RMSNorm: `b d, d, n d, n d -> b n`."""
    import torch.nn.functional as F

    return w2(F.rms_norm(x, (x.shape[-1],), g, eps=1e-5), gate, up)


def w3(q: Any, k: Any, v: Any) -> Any:
    """Decode attention, query heads sharing key heads: `b h s d, b g t d, b g t d -> b h s d`."""
    import torch

    b, h, s, d = q.shape
    g = k.shape[1]
    scores = q.reshape(b, g, h // g * s, d) @ k.transpose(-1, -2) * d**-0.5
    return (torch.softmax(scores, -1) @ v).reshape(b, h, s, d)


def w3_sdpa(q: Any, k: Any, v: Any) -> Any:
    """The same by torch's scaled_dot_product_attention."""
    import torch

    return torch.nn.functional.scaled_dot_product_attention(q, k, v, enable_gqa=True)


def w4(q: Any, k: Any, v: Any, gq: Any, gk: Any) -> Any:
    """The same with normalised queries and keys: `b h s d, b g t d, b g t d, d, d -> b h s d`."""
    import torch.nn.functional as F

    width = (q.shape[-1],)
    return w3(F.rms_norm(q, width, gq, eps=1e-5), F.rms_norm(k, width, gk, eps=1e-5), v)


def w4_sdpa(q: Any, k: Any, v: Any, gq: Any, gk: Any) -> Any:
    """The same by torch's scaled_dot_product_attention."""
    import torch.nn.functional as F

    width = (q.shape[-1],)
    return w3_sdpa(F.rms_norm(q, width, gq, eps=1e-5), F.rms_norm(k, width, gk, eps=1e-5), v)


def w5(x: Any, w: Any, a: Any, c: Any) -> Any:
    """A linear layer with a low-rank update: `b d, n d, r d, n r -> b n`."""
    import torch.nn.functional as F

    return F.linear(x, w) + F.linear(F.linear(x, a), c)


# ---------------------------------------------------------------- shapes
def linear(kind: str, b: int, d: int = 4096, n: int = 0, group: Group = "reported", name: str = "") -> Row:
    """A row of W1, W2, W2n or W5, in float32, or in bfloat16 for W1bf."""
    n, dtype = n or d, "bf16" if kind.endswith("bf") else "f32"
    x, g, w = T("b", d, dtype=dtype), T(d, dtype=dtype), T(n, d, dtype=dtype)
    code, inputs = {
        "W1": (w1, {"x": x, "g": g, "w": w}),
        "W2": (w2, {"x": x, "gate": w, "up": w}),
        "W2n": (w2n, {"x": x, "g": g, "gate": w, "up": w}),
        "W5": (w5, {"x": x, "w": w, "a": T(16, d, dtype=dtype), "c": T(n, 16, dtype=dtype)}),
    }[kind.removesuffix("bf")]
    return Row(name or f"{kind}.{b}", code, inputs, {"b": b}, group)


def decode(kind: str, b: int, t: int, group: Group = "reported", name: str = "") -> Row:
    """A row of W3 or W4: Llama-3-8B's heads, a cache of `t`."""
    q, k = T("b", 32, 1, 128), T("b", 8, t, 128)
    inputs, code, rival = {"q": q, "k": k, "v": k}, w3, w3_sdpa
    if kind == "W4":
        inputs, code, rival = {**inputs, "gq": T(128), "gk": T(128)}, w4, w4_sdpa
    return Row(name or f"{kind}.{b}.{t}", code, inputs, {"b": b}, group, rival)


def _rows() -> Iterator[Row]:
    yield from (linear("W1", b) for b in (1, 8, 16, 64))
    yield linear("W2", 1)
    yield linear("W2", 1, n=11008, name="W2.1.11008")
    yield linear("W2n", 1)
    yield from (linear("W2", b) for b in (8, 16))
    yield from (decode(kind, b, t) for kind, b, t in (("W3", 1, 8192), ("W3", 8, 2048)))
    yield from (decode(kind, b, t) for kind, b, t in (("W4", 1, 4096), ("W4", 8, 2048)))
    yield from (linear("W5", b) for b in (1, 8, 16))
    yield from (linear("W1bf", b) for b in (1, 8, 16))
    for name in PUBLISHED:
        found = px.workload(name)
        yield Row(f"P.{name}", found.code, found.inputs, found.at, "published")
    for kind in ("W1", "W2", "W5"):
        for d in (1024, 4096):
            for b in (1, 4, 8, 16, 64):
                yield linear(kind, b, d, group="batch", name=f"B.{kind}.{b}.{d}")
    for kind in ("W3", "W4"):
        for b in (1, 8):
            for t in (1024, 2048, 4096, 8192):
                yield decode(kind, b, t, group="cache", name=f"C.{kind}.{b}.{t}")


PUBLISHED = (
    "rmsnorm_linear_bare", "rmsnorm", "rmsnorm_mlp", "swiglu", "gated_mlp", "attention", "qk_norm_attention",
    "gqa", "mha", "mqa", "qknorm", "lora", "ntrans",
)  # fmt: skip
"""Prism's and Mirage's shapes, as `prism-explore list` has them."""

ROWS: tuple[Row, ...] = tuple(_rows())


def chosen(names: Sequence[str]) -> tuple[Row, ...]:
    """The rows of these names, or whose names begin with them and a dot; a group's name chooses the group.

    Raises:
        ValueError: a name that chooses nothing.
    """
    for name in names:
        if not any(_is(row, name) for row in ROWS):
            raise ValueError(f"no row {name!r}; there are {', '.join(row.name for row in ROWS)}")
    return tuple(row for row in ROWS if any(_is(row, name) for name in names))


def _is(row: Row, name: str) -> bool:
    return name in (row.name, row.group) or row.name.startswith(f"{name}.")
