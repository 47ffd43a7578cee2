"""Workloads people care about, as a person would write them in torch.

Each row is a function, its arguments' types, and where the workload is published. torch is imported
when a program is called, not before.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
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


def rmsnorm_linear(x: Any, g: Any, w: Any) -> Any:
    """RMSNorm with weight and eps, then a linear layer: `b d, d, d n -> b n`."""
    import torch

    return torch.nn.functional.rms_norm(x, (x.shape[-1],), g, eps=1e-6) @ w


def rmsnorm_linear_bare(x: Any, w: Any) -> Any:
    """The papers' form, without weight and eps: `b d, d n -> b n`."""
    import torch

    return (x / torch.sqrt(torch.mean(torch.square(x), -1, keepdim=True))) @ w


WORKLOADS: tuple[Workload, ...] = (
    Workload(
        "rmsnorm_linear",
        "RMSNorm with weight and eps, then a linear layer, as in every Llama block",
        rmsnorm_linear,
        {"x": T("b", 4096), "g": T(4096), "w": T(4096, 4096)},
        {"b": 8},
        "Prism, rms_norm, largest published shape; weight and eps as in torch.nn.RMSNorm",
    ),
    Workload(
        "rmsnorm_linear_bare",
        "RMSNorm without weight and eps, then a linear layer",
        rmsnorm_linear_bare,
        {"x": T("b", 4096), "w": T(4096, 4096)},
        {"b": 8},
        "Prism, rms_norm (n, d) = (8, 4096)",
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
