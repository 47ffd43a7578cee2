"""A table of torch's fused library calls: input and result dims, and a function that makes the call.

`prism_explore/search/library_calls.py` finds the calls that a program equals. torch is imported inside functions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

from prism_explore.frontend.traced_program import Traced
from prism_explore.ir.ops import Band, Binary, Op, Reduce, Unary


@dataclass(frozen=True, slots=True)
class LibraryCall:
    """Other torch code with the same result, to be timed as a baseline."""

    call_text: str
    """The call as source text; empty for code from the user."""
    traced: Traced
    """The program with this code as its reference."""

    def in_place_of(self, traced: Traced) -> Callable[..., Any]:
        """The call as a function of the tensors among the arguments; it returns the structure of the user's code."""
        if traced.form is None:
            return self.traced.reference

        def call(*args: Any) -> Any:
            computed = traced.computed(self.traced.reference(*args))
            return replace(traced.signature, call=None).results(computed, args, {}, traced.parameters)

        return call


Number: TypeAlias = Literal["none", "scale", "eps"]
"""The scalar argument of a call: none, the scale of scores, or the epsilon of a norm."""


@dataclass(frozen=True, slots=True)
class Call:
    """One library call of torch."""

    torch: str
    """The call as source text."""
    dims: str
    """Dims of the inputs and the result, as letters; `*` is any number of equal leading dims."""
    requires: Callable[[Op], bool]
    """Whether an operator is required for this call; a filter applied before the comparison."""
    make: Callable[[float], Callable[..., Any]]
    """From the scalar argument to a function of the tensors."""
    number: Number = "none"


def _exponential(op: Op) -> bool:
    return op == Unary("exp")


def _masked(op: Op) -> bool:
    return isinstance(op, Band)


def _sum(op: Op) -> bool:
    return isinstance(op, Reduce)


def _bias(op: Op) -> bool:
    return op == Binary("add")


def _attention(
    *, transposed: bool = False, causal: bool = False, grouped: bool = False
) -> Callable[[float], Callable[..., Any]]:
    def make(scale: float) -> Callable[..., Any]:
        def attention(q: Any, k: Any, v: Any) -> Any:
            import torch.nn.functional as F

            keys = k.transpose(-1, -2) if transposed else k
            return F.scaled_dot_product_attention(q, keys, v, scale=scale, is_causal=causal, enable_gqa=grouped)

        return attention

    return make


def _linear(_: float) -> Callable[..., Any]:
    def linear(x: Any, w: Any, b: Any) -> Any:
        import torch.nn.functional as F

        return F.linear(x, w, b)

    return linear


def _addmm(_: float) -> Callable[..., Any]:
    def addmm(x: Any, w: Any, b: Any) -> Any:
        import torch

        return torch.addmm(b, x, w)

    return addmm


def _softmax(_: float) -> Callable[..., Any]:
    def softmax(x: Any) -> Any:
        import torch

        return torch.softmax(x, -1)

    return softmax


def _rms_norm(eps: float) -> Callable[..., Any]:
    def rms_norm(x: Any, g: Any) -> Any:
        import torch.nn.functional as F

        return F.rms_norm(x, g.shape, g, eps=eps)

    return rms_norm


def _layer_norm(eps: float) -> Callable[..., Any]:
    def layer_norm(x: Any, g: Any, h: Any) -> Any:
        import torch.nn.functional as F

        return F.layer_norm(x, g.shape, g, h, eps=eps)

    return layer_norm


_SDPA = "scaled_dot_product_attention"
CALLS: tuple[Call, ...] = (
    Call(f"{_SDPA}(q, k, v)", "* s d, * t d, * t e -> * s e", _exponential, _attention(), "scale"),
    Call(f"{_SDPA}(q, kᵀ, v)", "* s d, * d t, * t e -> * s e", _exponential, _attention(transposed=True), "scale"),
    Call(
        f"{_SDPA}(q, k, v, enable_gqa=True)",
        "b h s d, b g t d, b g t e -> b h s e",
        _exponential,
        _attention(grouped=True),
        "scale",
    ),
    Call(
        f"{_SDPA}(q, k, v, is_causal=True)",
        "* s d, * t d, * t e -> * s e",
        _masked,
        _attention(causal=True),
        "scale",
    ),
    Call(
        f"{_SDPA}(q, k, v, is_causal=True, enable_gqa=True)",
        "b h s d, b g t d, b g t e -> b h s e",
        _masked,
        _attention(causal=True, grouped=True),
        "scale",
    ),
    Call("linear(x, w, b)", "* d, n d, n -> * n", _bias, _linear),
    Call("addmm(b, x, w)", "m d, d n, n -> m n", _bias, _addmm),
    Call("addmm(b, x, w)", "m d, d n, m n -> m n", _bias, _addmm),
    Call("softmax(x, -1)", "* d -> * d", _exponential, _softmax),
    Call("rms_norm(x, d, g, eps)", "* d, d -> * d", _sum, _rms_norm, "eps"),
    Call("layer_norm(x, d, g, h, eps)", "* d, d, d -> * d", _sum, _layer_norm, "eps"),
)


def with_arguments(traced: Traced, call: Callable[..., Any], order: Sequence[str]) -> Traced:
    """The call as code with the user's arguments; a module's parameters are renamed to `held.<name>`."""
    import torch

    constants = {name: traced.parameters[name] for name in traced.constants}
    parameters = {name: tensor for name, tensor in traced.parameters.items() if name not in constants}
    if not parameters:

        def code(*args: Any) -> Any:
            tensors = constants | dict(zip(traced.arguments, args, strict=True))
            return call(*(tensors[s] for s in order))

        return replace(traced, reference=code)

    class CallModule(torch.nn.Module):
        def __init__(self, held: Any) -> None:
            super().__init__()
            self.held = held

        def forward(self, *args: Any) -> Any:
            own = dict(self.held.named_parameters()) | dict(self.held.named_buffers()) | constants
            tensors = own | dict(zip(traced.arguments, args, strict=True))
            return call(*(tensors[s] for s in order))

    bindings = (replace(b, source=f"held.{b.source}") if b.source in parameters else b for b in traced.bindings)
    renamed = {f"held.{name}": tensor for name, tensor in parameters.items()} | constants
    return replace(traced, reference=CallModule(traced.module), bindings=tuple(bindings), parameters=renamed, call=None)
