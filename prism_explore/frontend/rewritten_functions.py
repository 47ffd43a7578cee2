# pyright: basic
# torch's function modes are untyped.
"""Functions of torch that are traced as other code: what torch cannot trace, and what tables of numbers say better.

The own code of some asks for a size as a number, or for an element of a tensor in a check of the arguments, or has no
form for tensors without data. Others compare classes with each number: a table of these that is read at the classes
is a lookup, which kernels do. What a function computes stays the same for all arguments that it accepts. Parameters
have torch's names, by which they may be passed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import prod
from types import EllipsisType
from typing import Any


def _take_along_dim(input: Any, indices: Any, dim: int | None = None) -> Any:
    if dim is None:
        return input.reshape(-1).gather(0, indices.reshape(-1))
    if input.dim() != indices.dim():
        return NotImplemented
    along = dim % input.dim()
    pairs = [(1, 1) if d == along else (a, b) for d, (a, b) in enumerate(zip(input.shape, indices.shape, strict=True))]
    sizes = [-1 if (a, b) == (1, 1) else b if a == 1 else a for a, b in pairs]
    return input.expand(sizes).gather(along, indices.expand(sizes))


def _cdist(x1: Any, x2: Any, p: float = 2.0, compute_mode: str | None = None) -> Any:
    """Without the choice of a way by the number of rows; all ways compute the same numbers, but for rounding."""
    import torch

    return torch.ops.aten._cdist_forward(x1, x2, float(p), None)


def _gaussian_nll_loss(
    input: Any, target: Any, var: Any, full: bool = False, eps: float = 1e-6, reduction: str = "mean"
) -> Any:
    """Without the check that the variances are not negative."""
    if not hasattr(var, "clamp") or reduction not in ("none", "mean", "sum"):
        return NotImplemented
    if var.dim() < input.dim():
        var = var.unsqueeze(-1)
    var = var.clamp(min=eps)
    loss = 0.5 * (var.log() + (input - target) ** 2 / var) + (0.9189385332046727 if full else 0.0)
    return loss if reduction == "none" else loss.mean() if reduction == "mean" else loss.sum()


def _multilabel_margin_loss(
    input: Any, target: Any, size_average: Any = None, reduce: Any = None, reduction: str = "mean"
) -> Any:
    """Of one sample as of a batch of one: torch's trace of the loss has a dim that the loss has not."""
    import torch

    if input.dim() != 1 or size_average is not None or reduce is not None or reduction != "none":
        return NotImplemented
    return torch.nn.functional.multilabel_margin_loss(input[None], target[None], reduction="none")[0]


def _fake_quantized(input: Any, scale: Any, zero_point: Any, quant_min: int, quant_max: int) -> Any:
    """torch multiplies by the reciprocal of the scale."""
    rounded = (input * (1.0 / scale)).round() + zero_point
    return (rounded.clamp(quant_min, quant_max) - zero_point) * scale


def _fake_quantized_per_channel(
    input: Any, scale: Any, zero_point: Any, axis: int, quant_min: int, quant_max: int
) -> Any:
    import torch

    shape = [-1 if d == axis else 1 for d in range(input.dim())]
    dtype = torch.promote_types(input.dtype, scale.dtype)
    scale, zero_point = (x.to(dtype).reshape(shape) for x in (scale, zero_point))
    return _fake_quantized(input.to(dtype), scale, zero_point, quant_min, quant_max).to(input.dtype)


def _of_one(x: Any, index: Any) -> tuple[tuple[Any, ...], int] | None:
    """An index of one integer tensor without dims as one of a tensor of one element, and the number of dims after it.

    Returns:
        None for any other index.
    """
    import torch

    items = index if isinstance(index, tuple) else (index,)
    places = [n for n, i in enumerate(items) if isinstance(i, torch.Tensor)]
    if len(places) != 1 or not all(isinstance(i, torch.Tensor | slice | int | EllipsisType | None) for i in items):
        return None
    (at,) = places
    if items[at].dim() or items[at].dtype == torch.bool or any(isinstance(i, bool) for i in items):
        return None
    left = x.dim() - sum(isinstance(i, torch.Tensor | slice | int) for i in items)
    is_before = any(i is ... for i in items[:at])
    after = sum(i is None or isinstance(i, slice) for i in items[at + 1 :]) + (0 if is_before else left)
    return (*items[:at], items[at].reshape(1), *items[at + 1 :]), after


def _set_item(self: Any, index: Any, value: Any) -> Any:
    """At a position that is a tensor, which torch would read as a number."""
    import torch

    found = _of_one(self, index)
    if found is None:
        return NotImplemented
    items, after = found
    is_wide = isinstance(value, torch.Tensor) and value.dim() > after
    self[items] = value.unsqueeze(-1 - after) if is_wide else value
    return None


MOST_CLASSES = 1024
"""Of a table that has a row per class."""


MOST_BITS = 2**16
"""Of positions, in a choice of the largest or the least."""


def _one_hot(tensor: Any, num_classes: int = -1) -> Any:
    """Rows of the identity."""
    if not isinstance(num_classes, int) or not 0 < num_classes <= MOST_CLASSES:
        return NotImplemented
    return _bits(tensor, num_classes).long()


def _bits(classes: Any, count: int) -> Any:
    import torch

    return torch.nn.functional.embedding(classes, torch.eye(count, dtype=torch.bool, device=classes.device))


def _scatter(input: Any, dim: Any, index: Any, src: Any = None, *, value: Any = None, reduce: Any = None) -> Any:
    """Of one position per row: a choice by the bits of the positions."""
    import torch

    if not input.is_floating_point() or reduce is not None or index.dim() != input.dim() or not index.dim():
        return NotImplemented
    along, written = dim % input.dim(), value if src is None else src
    count, rest = input.shape[along], [d for d in range(input.dim()) if d != along]
    is_one = index.shape[along] == 1 and all(input.shape[d] == index.shape[d] for d in rest)
    if not is_one or not isinstance(count, int) or count > MOST_CLASSES:
        return NotImplemented
    if isinstance(written, torch.Tensor) and written.dim() and written.shape != index.shape:
        return NotImplemented
    return torch.where(_bits(index.squeeze(along), count).movedim(-1, along), written, input)


def _scatter_reduce(
    input: Any, dim: Any, index: Any, src: Any, reduce: Any = None, *, include_self: bool = True
) -> Any:
    """Sums and means as sums at positions; the largest and the least over a choice by the bits of the positions."""
    import torch

    is_known = reduce in ("sum", "mean", "amax", "amin") and input.is_floating_point() and input.dim() == index.dim()
    if not is_known or not index.dim() or src.shape != index.shape:
        return NotImplemented
    along = dim % input.dim()
    count, rest = input.shape[along], [d for d in range(input.dim()) if d != along]
    if any(input.shape[d] != index.shape[d] for d in rest):
        return NotImplemented
    if reduce in ("sum", "mean"):
        start = input if include_self else torch.zeros_like(input)
        found = start.scatter_add(along, index, src)
        if include_self and reduce == "sum":
            return found
        number = torch.full_like(input, float(include_self)).scatter_add(along, index, torch.ones_like(src))
        found = found / number.clamp(min=1.0) if reduce == "mean" else found
        return found if include_self else torch.where(number > 0.0, found, input)
    sizes = (count, *index.shape)
    if not all(isinstance(n, int) for n in sizes) or prod(sizes) > MOST_BITS:
        return NotImplemented
    sign = 1.0 if reduce == "amax" else -1.0
    bits = _bits(index, count)
    found = sign * torch.where(bits, sign * src[..., None], -torch.inf).amax(along).movedim(-1, along)
    if include_self:
        return torch.maximum(input, found) if reduce == "amax" else torch.minimum(input, found)
    return torch.where(bits.any(along).movedim(-1, along), found, input)


def _bucketize(input: Any, boundaries: Any, *, out_int32: bool = False, right: bool = False) -> Any:
    """The number of boundaries before each element; all are before what is no number."""
    import torch

    if not isinstance(input, torch.Tensor) or not input.is_floating_point() or boundaries.dim() != 1:
        return NotImplemented
    wide = input[..., None]
    after = boundaries > wide if right else boundaries >= wide
    count = (~after).sum(-1)
    return count.int() if out_int32 else count


def _of_classes(table: Any, classes: Any) -> Any:
    """The elements of a table at classes, also at one class without a dim."""
    return table[classes] if classes.dim() else table.index_select(0, classes.reshape(1)).reshape(())


def _are_kept(target: Any, classes: int, ignored: int) -> Any:
    """Which targets are not the class that is ignored."""
    import torch

    return _of_classes(torch.arange(classes, device=target.device) != ignored, target)


def _total_weight(kept: Any, target: Any, weight: Any, dtype: Any) -> Any:
    """The sum of the weights of the kept targets, which are 1 where none are given."""
    import torch

    weights = kept.to(dtype) if weight is None else torch.where(kept, _of_classes(weight, target), 0.0)
    return weights.sum()


def _nll_loss(
    input: Any,
    target: Any,
    weight: Any = None,
    size_average: Any = None,
    ignore_index: int = -100,
    reduce: Any = None,
    reduction: str = "mean",
) -> Any:
    """Of classes some of which are ignored."""
    import torch

    functional, along = torch.nn.functional, 1 if input.dim() > 1 else 0
    classes = input.shape[along]
    if not isinstance(classes, int) or not 0 <= ignore_index < classes or (size_average, reduce) != (None, None):
        return NotImplemented
    kept = _are_kept(target, classes, ignore_index)
    losses = torch.where(kept, functional.nll_loss(input, target, weight, reduction="none"), 0.0)
    if reduction == "none":
        return losses
    if reduction == "sum":
        return losses.sum()
    return losses.sum() / _total_weight(kept, target, weight, input.dtype)


def _cross_entropy(
    input: Any,
    target: Any,
    weight: Any = None,
    size_average: Any = None,
    ignore_index: int = -100,
    reduce: Any = None,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Any:
    """Of classes some of which are ignored; smoothing mixes in the mean over the classes."""
    import torch

    along = 1 if input.dim() > 1 else 0
    classes = input.shape[along]
    is_known = isinstance(classes, int) and (size_average, reduce) == (None, None)
    if not is_known or target.is_floating_point():
        return NotImplemented
    if label_smoothing and weight is None and ignore_index < 0 and reduction in ("none", "mean", "sum"):
        # A negative number is no class: calls with it are outside of what is proved.
        scores = torch.nn.functional.log_softmax(input, along)
        loss, rest = torch.nn.functional.nll_loss(scores, target, reduction=reduction), -scores.sum(along)
        rest = rest if reduction == "none" else rest.mean() if reduction == "mean" else rest.sum()
        return (1 - label_smoothing) * loss + label_smoothing / classes * rest
    if not 0 <= ignore_index < classes:
        return NotImplemented
    scores = torch.nn.functional.log_softmax(input, along)
    loss = _nll_loss(scores, target, weight, None, ignore_index, None, reduction)
    if not label_smoothing:
        return loss
    every = scores if weight is None else scores * weight.reshape(-1, *[1] * (input.dim() - along - 1))
    kept = _are_kept(target, classes, ignore_index)
    rest = torch.where(kept, -every.sum(along), 0.0)
    if reduction == "sum":
        rest = rest.sum()
    elif reduction == "mean":
        rest = rest.sum() / _total_weight(kept, target, weight, input.dtype)
    return (1 - label_smoothing) * loss + label_smoothing / classes * rest


def _embedding_bag(
    input: Any,
    weight: Any,
    offsets: Any = None,
    max_norm: Any = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    mode: str = "mean",
    sparse: bool = False,
    per_sample_weights: Any = None,
    include_last_offset: bool = False,
    padding_idx: Any = None,
) -> Any:
    """Of bags of equal sizes."""
    import torch

    if input.dim() != 2 or (offsets, max_norm, padding_idx) != (None, None, None):
        return NotImplemented
    rows = torch.nn.functional.embedding(input, weight)
    if per_sample_weights is not None:
        rows = rows * per_sample_weights[..., None]
    return {"sum": rows.sum, "mean": rows.mean, "max": rows.amax}[mode](1)


def _attention(
    query: Any,
    key: Any,
    value: Any,
    attn_mask: Any = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Any:
    """Without a mask that may exclude all keys of a query, for which torch has a value of its own."""
    import torch

    if attn_mask is not None or dropout_p:
        return NotImplemented
    if enable_gqa:
        key, value = (x.repeat_interleave(query.shape[-3] // x.shape[-3], -3) for x in (key, value))
    scores = query @ key.transpose(-2, -1) * (query.shape[-1] ** -0.5 if scale is None else scale)
    if is_causal:
        later = torch.ones(scores.shape[-2:], dtype=torch.bool, device=query.device).tril().logical_not()
        scores = scores.masked_fill(later, float("-inf"))
    return scores.softmax(-1) @ value


def rewritten_functions(*, differentiable: bool = False) -> Any:
    """A context in which calls of these functions run what they are rewritten to.

    Args:
        differentiable: whether functions that have rows, but derivatives without rows, are rewritten, too.
    """
    import torch
    from torch.overrides import TorchFunctionMode

    rewritten: Mapping[Any, Callable[..., Any]] = {
        torch.take_along_dim: _take_along_dim,
        torch.Tensor.take_along_dim: _take_along_dim,
        torch.cdist: _cdist,
        torch.nn.functional.gaussian_nll_loss: _gaussian_nll_loss,
        torch.nn.functional.multilabel_margin_loss: _multilabel_margin_loss,
        torch.nn.functional.one_hot: _one_hot,
        torch.nn.functional.embedding_bag: _embedding_bag,
        torch.bucketize: _bucketize,
        torch.Tensor.__setitem__: _set_item,
        torch.scatter: _scatter,
        torch.Tensor.scatter: _scatter,
        torch.scatter_reduce: _scatter_reduce,
        torch.Tensor.scatter_reduce: _scatter_reduce,
        torch.nn.functional.nll_loss: _nll_loss,
        torch.nn.functional.cross_entropy: _cross_entropy,
        torch.fake_quantize_per_tensor_affine: _fake_quantized,
        torch.fake_quantize_per_channel_affine: _fake_quantized_per_channel,
        **({torch.nn.functional.scaled_dot_product_attention: _attention} if differentiable else {}),
    }

    class RewrittenFunctions(TorchFunctionMode):
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            found = rewritten[func](*args, **(kwargs or {})) if func in rewritten else NotImplemented
            return func(*args, **(kwargs or {})) if found is NotImplemented else found

    return RewrittenFunctions()
