"""Small programs for single algebraic laws; their candidates are in `tests/data/candidates/laws.txt`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from prism_explore.frontend.workloads import Workload
from prism_explore.ir.tensors import tensor


def _exp(x: Any) -> Any:
    import torch

    return torch.exp(x)


def _product_of_exps(x: Any, y: Any) -> Any:
    return _exp(x) * _exp(y)


def _quotient_of_quotients(x: Any, y: Any, z: Any) -> Any:
    return x / y / z


def _product_with_quotient(x: Any, y: Any, z: Any) -> Any:
    return x * (y / z)


def _inverse_root(x: Any) -> Any:
    import torch

    return torch.rsqrt(x * x + 1)


def _cube(x: Any) -> Any:
    return x**3


def _sigmoid(x: Any) -> Any:
    import torch

    return torch.sigmoid(x)


def _tanh(x: Any) -> Any:
    import torch

    return torch.tanh(x)


def _silu(x: Any) -> Any:
    import torch

    return torch.nn.functional.silu(x)


def _largest(x: Any, y: Any) -> Any:
    import torch

    return torch.maximum(x, y)


def _variance(x: Any) -> Any:
    return x.var(-1, unbiased=False, keepdim=True)


def _square_of_a_sum(x: Any, y: Any) -> Any:
    return (x + y) ** 2


def _causal_groups(q: Any, k: Any, v: Any) -> Any:
    import torch

    (b, g, s, d), at = k.shape, torch.arange(18)
    scores = q.reshape(b, g, 4, s, d) @ k.reshape(b, g, 1, s, d).transpose(-1, -2)
    seen = torch.softmax(scores.masked_fill(~(at[:, None] - at[None, :] >= 0), float("-inf")), -1)
    return (seen @ v.reshape(b, g, 1, s, d)).reshape(b, 4 * g, s, d)


def law(name: str, code: Callable[..., object], **shapes: str) -> Workload:
    """A program that is no workload; its dims are all symbolic."""
    return Workload(name, "", code, {a: tensor(*dims.split()) for a, dims in shapes.items()}, {}, "")


_ROWS = (
    law("causal_groups", _causal_groups, q="b 24 18 5", k="b 6 18 5", v="b 6 18 5"),
    law("exp_times_exp", _product_of_exps, x="b d", y="b d"),
    law("div_div", _quotient_of_quotients, x="b d", y="b d", z="b d"),
    law("mul_div", _product_with_quotient, x="b d", y="b d", z="b d"),
    law("rsqrt", _inverse_root, x="b d"),
    law("cube", _cube, x="b d"),
    law("sigmoid", _sigmoid, x="b d"),
    law("tanh", _tanh, x="b d"),
    law("silu", _silu, x="b d"),
    law("maximum", _largest, x="b d", y="b d"),
    law("variance", _variance, x="b d"),
    law("square_of_a_sum", _square_of_a_sum, x="b d", y="b d"),
)
LAWS = {row.name: row for row in _ROWS}
