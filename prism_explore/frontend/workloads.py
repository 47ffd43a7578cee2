"""The workloads: a table of published programs with their shapes, one row each.

A row has a torch function (see `workload_programs.py`), the dims of its arguments by name, sizes for the named dims,
and where the workload is published. A dim without a size is a symbol of the program, usually the batch.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from prism_explore.errors import ShapeError
from prism_explore.frontend import workload_programs as programs
from prism_explore.ir.tensors import TensorType
from prism_explore.ir.tensors import tensor as T


@dataclass(frozen=True, slots=True)
class Workload:
    """A torch function with the shapes of its arguments."""

    name: str
    description: str
    code: Callable[..., Any]
    """The torch function, with its keyword arguments bound."""
    inputs: Mapping[str, TensorType]
    at: Mapping[str, int]
    """Default sizes of its symbols."""
    source: str
    """Where it is published."""
    shapes: Mapping[str, str] = field(default_factory=dict[str, str])
    """Per argument the names of its dims, such as `b d`; a dim without a size is a symbol."""
    sizes: Mapping[str, int] = field(default_factory=dict[str, int])
    """Sizes of the named dims, and values of the function's keyword arguments."""

    def resized(self, **sizes: int) -> Workload:
        """Return the workload with other sizes.

        Args:
            **sizes: new values of some entries of `sizes`.

        Returns:
            The same workload with these sizes; the others are unchanged.

        Raises:
            ShapeError: the workload has no size of one of these names.
        """
        unknown = [s for s in sizes if s not in self.sizes]
        if unknown:
            raise ShapeError(f"{self.name} has no size {unknown[0]!r}; it has {', '.join(self.sizes) or 'none'}")
        unbound = getattr(self.code, "func", self.code)
        return _with_sizes(replace(self, code=unbound), {**self.sizes, **sizes})


def _with_sizes(row: Workload, sizes: Mapping[str, int]) -> Workload:
    """The workload with inputs and keyword arguments of these sizes; its code has no bound arguments yet."""
    keywords = [p.name for p in inspect.signature(row.code).parameters.values() if p.kind is p.KEYWORD_ONLY]
    inputs = {name: T(*(sizes.get(d, d) for d in dims.split())) for name, dims in row.shapes.items()}
    code = partial(row.code, **{k: sizes[k] for k in keywords}) if keywords else row.code
    return replace(row, code=code, inputs=inputs, sizes=dict(sizes))


def _row(
    *,
    name: str,
    program: Callable[..., Any],
    description: str,
    source: str,
    shapes: Mapping[str, str],
    sizes: Mapping[str, int],
    at: Mapping[str, int],
) -> Workload:
    return _with_sizes(Workload(name, description, program, {}, at, source, shapes), sizes)


_ONE_MATRIX = {"x": "b d", "w": "d n"}
_FOLDED = {"q": "b s d", "k": "b d t", "v": "b t d"}
_HEADS = {"q": "b h s d", "k": "b h t d", "v": "b h t d"}
_GROUPS = {"q": "b h s d", "k": "b g t d", "v": "b g t d"}
_SELF = {"q": "b h s d", "k": "b h s d", "v": "b h s d"}
_BIASED = {"x": "b d", "w1": "n d", "b1": "n", "w2": "d n", "b2": "d"}
_LLAMA_3_8B = {"h": 32, "g": 8, "s": 1, "t": 4096, "d": 128}

WORKLOADS: tuple[Workload, ...] = (
    _row(
        name="rmsnorm_linear",
        program=programs.rmsnorm_linear,
        description="RMSNorm with weight and eps, then a linear layer, as in every Llama block",
        source="Prism, rms_norm, largest published shape; weight and eps as in torch.nn.RMSNorm",
        shapes={"x": "b d", "g": "d", "w": "d n"},
        sizes={"d": 4096, "n": 4096},
        at={"b": 8},
    ),
    _row(
        name="rmsnorm_linear_bare",
        program=programs.rmsnorm_linear_bare,
        description="RMSNorm without weight and eps, then a linear layer",
        source="Prism, rms_norm (n, d) = (8, 4096)",
        shapes=_ONE_MATRIX,
        sizes={"d": 4096, "n": 4096},
        at={"b": 8},
    ),
    _row(
        name="rmsnorm",
        program=programs.rmsnorm_linear_bare,
        description="RMSNorm, then the query, key and value layer of Llama-2-7B in one matrix",
        source="Mirage, RMSNorm: X[2b, 4096], W[4096, 6144]; b here is 2b there",
        shapes=_ONE_MATRIX,
        sizes={"d": 4096, "n": 6144},
        at={"b": 16},
    ),
    _row(
        name="rmsnorm_mlp",
        program=programs.rmsnorm_mlp,
        description="RMSNorm, then two linear layers, multiplied",
        source="Prism, rmsnorm_mlp (n, d) = (8, 4096)",
        shapes={"x": "b d", "up": "d n", "gate": "d n"},
        sizes={"d": 4096, "n": 4096},
        at={"b": 8},
    ),
    _row(
        name="swiglu",
        program=programs.swiglu,
        description="two linear layers, multiplied, with silu on one",
        source="Prism, swiglu (n, d) = (16, 1024)",
        shapes={"x": "b d", "gate": "d n", "up": "d n"},
        sizes={"d": 1024, "n": 1024},
        at={"b": 16},
    ),
    _row(
        name="gated_mlp",
        program=programs.swiglu,
        description="two linear layers, multiplied, with silu on one, at the size of Falcon-7B",
        source="Mirage, GatedMLP: X[8, 4096], W[4096, 4096]",
        shapes={"x": "b d", "gate": "d n", "up": "d n"},
        sizes={"d": 4096, "n": 4096},
        at={"b": 8},
    ),
    _row(
        name="attention",
        program=programs.attention,
        description="attention as published by Prism: heads folded into queries and keys, no scale, no maximum",
        source="Prism, attention (b, h, q, kv, d) = (2, 8, 1, 1024, 128), which is 8 rows and 8192 keys",
        shapes=_FOLDED,
        sizes={"s": 8, "d": 128, "t": 8192},
        at={"b": 2},
    ),
    _row(
        name="grouped_attention",
        program=programs.grouped_attention,
        description="attention per head with scale and grouped key heads, no maximum",
        source="the unfolded form of Prism's attention, with the heads of Llama-3-8B",
        shapes=_GROUPS,
        sizes=_LLAMA_3_8B,
        at={"b": 2},
    ),
    _row(
        name="qk_norm_attention",
        program=programs.qk_norm_attention,
        description="attention with normalised queries",
        source="Prism, qk_norm_attention (b, h, q, kv, d) = (2, 8, 1, 1024, 128)",
        shapes=_FOLDED,
        sizes={"s": 8, "d": 128, "t": 8192},
        at={"b": 2},
    ),
    _row(
        name="gqa",
        program=programs.attention,
        description="grouped-query attention of Llama-3-70B on one of four GPUs",
        source="Mirage, GQA: Q[2b, 256, 64], K[2b, 64, 4096], V[2b, 4096, 64]; b here is 2b there",
        shapes=_FOLDED,
        sizes={"s": 256, "d": 64, "t": 4096},
        at={"b": 2},
    ),
    _row(
        name="mha",
        program=programs.attention,
        description="multi-head attention",
        source="Mirage, MHA: Q[32b, 16, 64]; b here is 32b there",
        shapes=_FOLDED,
        sizes={"s": 16, "d": 64, "t": 4096},
        at={"b": 32},
    ),
    _row(
        name="mqa",
        program=programs.attention,
        description="multi-query attention",
        source="Mirage, MQA: Q[b, 1024, 64]",
        shapes=_FOLDED,
        sizes={"s": 1024, "d": 64, "t": 4096},
        at={"b": 1},
    ),
    _row(
        name="qknorm",
        program=programs.qknorm,
        description="grouped-query attention of Chameleon-7B with normalised queries and values",
        source="Mirage, QKNorm: shapes as GQA; its code normalises V, not K",
        shapes=_FOLDED,
        sizes={"s": 256, "d": 64, "t": 4096},
        at={"b": 2},
    ),
    _row(
        name="lora",
        program=programs.lora,
        description="a linear layer with a low-rank update",
        source="Mirage, LoRA: X[16, 256], W[256, 4096], A[256, 16], B[16, 4096]",
        shapes={"x": "b d", "w": "d n", "a": "d r", "c": "r n"},
        sizes={"d": 256, "n": 4096, "r": 16},
        at={"b": 16},
    ),
    _row(
        name="ntrans",
        program=programs.ntrans,
        description="the normalised update of nGPT-1B",
        source="Mirage, nTrans: H, X, alpha [b, 4096]",
        shapes={"h": "b d", "x": "b d", "alpha": "b d"},
        sizes={"d": 4096},
        at={"b": 8},
    ),
    _row(
        name="layernorm_linear",
        program=programs.layernorm_linear,
        description="LayerNorm with weight and bias, then a linear layer",
        source="GPT-2 small, its query, key and value layer",
        shapes={"x": "b d", "g": "d", "h": "d", "w": "d n"},
        sizes={"d": 768, "n": 2304},
        at={"b": 8},
    ),
    _row(
        name="residual_rmsnorm_linear",
        program=programs.residual_rmsnorm_linear,
        description="a residual, RMSNorm, a linear layer",
        source="Llama-2-7B, second half of a block up to its MLP",
        shapes={"x": "b d", "r": "b d", "g": "d", "w": "d n"},
        sizes={"d": 4096, "n": 11008},
        at={"b": 8},
    ),
    _row(
        name="linear_residual_rmsnorm",
        program=programs.linear_residual_rmsnorm,
        description="the norm of a linear layer plus a residual",
        source="Prism, dropped from its published set: rmsnorm(X W + R)",
        shapes={"x": "b d", "w": "d n", "r": "b n"},
        sizes={"d": 4096, "n": 4096},
        at={"b": 8},
    ),
    _row(
        name="mlp_gelu",
        program=programs.mlp_gelu,
        description="two linear layers with bias, GELU between",
        source="GPT-2 small, its MLP",
        shapes=_BIASED,
        sizes={"d": 768, "n": 3072},
        at={"b": 8},
    ),
    _row(
        name="mlp_relu",
        program=programs.mlp_relu,
        description="two linear layers with bias, ReLU between",
        source="Transformer (arXiv 1706.03762), its feed-forward layers",
        shapes=_BIASED,
        sizes={"d": 512, "n": 2048},
        at={"b": 8},
    ),
    _row(
        name="mlp_silu",
        program=programs.mlp_silu,
        description="two linear layers with bias, SiLU between",
        source="the time embedding of Stable Diffusion's U-Net",
        shapes=_BIASED,
        sizes={"d": 1280, "n": 5120},
        at={"b": 8},
    ),
    _row(
        name="llama_mlp",
        program=programs.llama_mlp,
        description="down(silu(gate(x)) * up(x))",
        source="Llama-2-7B, its MLP",
        shapes={"x": "b d", "gate": "n d", "up": "n d", "down": "d n"},
        sizes={"d": 4096, "n": 11008},
        at={"b": 8},
    ),
    _row(
        name="moe_gating",
        program=programs.moe_gating,
        description="linear experts weighted by a softmax over a fixed routing matrix",
        source="Mirage, MoE: X[8, 8, 4096], with its experts as weights",
        shapes={"x": "b d", "route": "d e", "experts": "e d n"},
        sizes={"d": 4096, "e": 8, "n": 4096},
        at={"b": 8},
    ),
    _row(
        name="moe_routed",
        program=programs.moe_routed,
        description="experts of two layers, weighted by a routing matrix that is an input",
        source="Mixtral-8x7B, with dense routing and without gates",
        shapes={"x": "b d", "route": "b e", "up": "e d n", "down": "e n d"},
        sizes={"d": 4096, "e": 8, "n": 14336},
        at={"b": 8},
    ),
    _row(
        name="softmax",
        program=programs.softmax,
        description="softmax over rows",
        source="Triton's tutorial on fused softmax",
        shapes={"x": "b n"},
        sizes={"n": 4096},
        at={"b": 64},
    ),
    _row(
        name="safe_attention",
        program=programs.safe_attention,
        description="scaled_dot_product_attention: scale, and a softmax that subtracts the maximum",
        source="torch.nn.functional, with the heads of Llama-2-7B",
        shapes=_HEADS,
        sizes={"h": 32, "s": 128, "t": 4096, "d": 128},
        at={"b": 1},
    ),
    _row(
        name="safe_grouped_attention",
        program=programs.safe_grouped_attention,
        description="scaled_dot_product_attention with grouped key heads, one query row as in decoding",
        source="torch.nn.functional, with the heads of Llama-3-8B",
        shapes=_GROUPS,
        sizes=_LLAMA_3_8B,
        at={"b": 2},
    ),
    _row(
        name="causal_attention",
        program=programs.causal_attention,
        description="scaled_dot_product_attention with a causal mask",
        source="torch.nn.functional, with the heads of Llama-2-7B",
        shapes=_SELF,
        sizes={"h": 32, "s": 2048, "d": 128},
        at={"b": 1},
    ),
    _row(
        name="sliding_window_attention",
        program=programs.sliding_window_attention,
        description="attention to a sliding window, with a mask computed from positions",
        source="the heads of Mistral-7B; its window of 4096 and the sequence are halved",
        shapes=_SELF,
        sizes={"h": 32, "s": 4096, "d": 128, "window": 2048},
        at={"b": 1},
    ),
    _row(
        name="rotary_scores",
        program=programs.rotary_scores,
        description="rotary embedding of queries and keys by halves, and their products",
        source="RoFormer (arXiv 2104.09864) as in Llama, with the heads of Llama-2-7B",
        shapes={"q": "b h s d", "k": "b h s d", "cos": "s d", "sin": "s d"},
        sizes={"h": 32, "s": 2048, "d": 128},
        at={"b": 1},
    ),
    _row(
        name="latent_attention",
        program=programs.latent_attention,
        description="attention whose keys and values come from one low-rank cache",
        source="DeepSeek-V2's latent attention (arXiv 2405.04434), without its rotary part",
        shapes={"q": "b h d", "c": "b t r", "uk": "h r d", "uv": "h r d"},
        sizes={"h": 128, "d": 128, "t": 4096, "r": 512},
        at={"b": 8},
    ),
    _row(
        name="transformer_block",
        program=programs.transformer_block,
        description="a full Llama block: norms, rotary causal grouped attention, gated MLP, residuals",
        source="Llama-3-8B",
        shapes={
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
        sizes={"s": 128, "d": 4096, "m": 1024, "c": 128, "n": 14336, "heads": 32, "kv_heads": 8},
        at={"b": 1},
    ),
)


def workload(name: str) -> Workload:
    """Find a workload by its name.

    Args:
        name: the name of a row of `WORKLOADS`.

    Returns:
        The workload at its published sizes.

    Raises:
        ShapeError: there is no such workload; the message lists all.

    Example:
        >>> workload("lora").shapes["w"], workload("lora").sizes["r"]
        ('d n', 16)
    """
    for row in WORKLOADS:
        if row.name == name:
            return row
    raise ShapeError(f"no workload {name!r}; there are {', '.join(w.name for w in WORKLOADS)}")
