# pyright: basic
# torch and its tensors are untyped throughout.
"""Formulas for the operators of torch that compute derivatives, in operators that have rows.

Most are torch's own decompositions. Those written here are of operators that torch does not decompose, or only into
writes at positions that are computed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any


@cache
def torch_formulas() -> Mapping[Any, Callable[..., Any]]:
    """By torch operator that computes derivatives, torch's own decomposition."""
    from torch._decomp import core_aten_decompositions

    return {op: formula for op, formula in core_aten_decompositions().items() if "backward" in op.name()}


@cache
def derivative_formulas() -> Mapping[Any, Callable[..., Any]]:
    """By torch operator that computes derivatives, a formula without writes; it may return `NotImplemented`.

    They are for search and proof. Run operator by operator, some take longer than what they stand for.
    """
    import torch

    aten = torch.ops.aten
    return {
        **torch_formulas(),
        aten.nll_loss_backward.default: _nll_loss,
        aten.nll_loss2d_backward.default: _nll_loss,
        aten.embedding_dense_backward.default: _embedding,
        aten.convolution_backward.default: _convolution,
        aten.avg_pool2d_backward.default: _avg_pool2d,
        aten.softplus_backward.default: _softplus,
    }


LEAST_THRESHOLD = 20
"""Beyond it, torch takes 1 for the slope of softplus, which differs by less than 3e-9."""


def _softplus(grad: Any, x: Any, beta: Any, threshold: Any) -> Any:
    import torch

    if threshold < LEAST_THRESHOLD:
        return torch_formulas()[torch.ops.aten.softplus_backward.default](grad, x, beta, threshold)
    return grad * torch.sigmoid(x * beta)


def _nll_loss(
    grad: Any, scores: Any, target: Any, weight: Any, reduction: int, ignore_index: int, total_weight: Any
) -> Any:
    import torch

    del total_weight  # computed again, so that the formula reads arguments only
    of_mean, dim = 1, min(1, scores.dim() - 1)
    classes = scores.shape[dim]
    # Rows of the identity: their sums are known to be 1.
    shares = torch.nn.functional.embedding(target, torch.eye(classes, dtype=scores.dtype)).movedim(-1, dim)
    if ignore_index >= 0:  # a negative one is no class: calls with it are outside of what is proved
        shares = shares * (target != ignore_index).to(scores.dtype).unsqueeze(dim)
    if weight is not None:
        shares = shares * weight.view(-1, *(1,) * (scores.dim() - 1 - dim))
    slope = grad.unsqueeze(dim) if grad.dim() else grad
    if reduction == of_mean:
        is_each_kept = weight is None and ignore_index < 0
        slope = slope / (target.numel() if is_each_kept else shares.sum())
    return -(slope * shares)


def _embedding(grad: Any, indices: Any, count: Any, padding_idx: int, scale_grad_by_freq: bool) -> Any:
    import torch

    if scale_grad_by_freq:
        return NotImplemented
    rows, positions = grad.flatten(0, -2), indices.flatten()
    is_read = (positions[:, None] == torch.arange(count)) & (positions != padding_idx)[:, None]
    return is_read.to(grad.dtype).T @ rows


def _convolution(
    grad: Any,
    x: Any,
    weight: Any,
    bias_sizes: Any,
    stride: Sequence[int],
    padding: Sequence[Any],
    dilation: Sequence[int],
    transposed: bool,
    output_padding: Sequence[int],
    groups: int,
    wanted: Sequence[bool],
) -> Any:
    import torch

    of_weight = wanted[1]
    if transposed or (of_weight and groups != 1):
        return NotImplemented
    convolution = torch.ops.aten.convolution.default
    to_x = to_weight = to_bias = None
    if wanted[0]:
        reached = [
            (n - 1) * s - 2 * p + d * (k - 1) + 1
            for n, s, p, d, k in zip(grad.shape[2:], stride, padding, dilation, weight.shape[2:], strict=True)
        ]
        rest = [n - r for n, r in zip(x.shape[2:], reached, strict=True)]
        to_x = convolution(grad, weight, None, stride, padding, dilation, True, rest, groups)
    if of_weight:
        # The kernel is the convolution of both, batch and channels exchanged: its steps are the gaps, and vice versa.
        no_rest = [0] * len(stride)
        found = convolution(
            x.transpose(0, 1), grad.transpose(0, 1), None, dilation, padding, stride, False, no_rest, 1
        ).transpose(0, 1)
        for n, k in enumerate(weight.shape[2:], start=2):
            found = found.narrow(n, 0, k)
        to_weight = found
    if wanted[2]:
        to_bias = grad.sum([0, *range(2, grad.dim())])
    return to_x, to_weight, to_bias


def _avg_pool2d(
    grad: Any,
    x: Any,
    window: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    ceil_mode: bool,
    count_include_pad: bool,
    divisor: int | None,
) -> Any:
    import torch

    if ceil_mode or (any(padding) and not count_include_pad and divisor is None):
        return NotImplemented
    height, width = x.shape[-2:]
    across, steps, edges = (tuple(of) * (2 // len(of)) for of in (window, stride or window, padding))
    sizes = zip((height, width), grad.shape[-2:], steps, edges, across, strict=True)
    rest = [size - ((n - 1) * s - 2 * p + k) for size, n, s, p, k in sizes]
    ones = grad.new_ones((1, 1, *across))
    planes = grad.reshape(-1, 1, *grad.shape[-2:]) / (divisor or across[0] * across[1])
    found = torch.ops.aten.convolution.default(planes, ones, None, steps, edges, (1, 1), True, rest, 1)
    return found.reshape(x.shape)
