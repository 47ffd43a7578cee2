# pyright: basic
# Graphs of torch are untyped.
"""Windows that overlap, as views of a tensor: depthwise convolutions and pools as products and reductions of them.

The frontend reads windows as one slice per position, of which one kernel does not hold those of 3 x 3 positions. In a
graph of torch `Tensor.unfold` makes windows without copying, and a region reads them as a tensor whose elements
overlap in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from prism_explore.entry.torch_nodes import sizes_of, translation_of, value_of
from prism_explore.frontend.aten.pooling import strides
from prism_explore.frontend.aten.rearrange import per_dim


def _depthwise(
    input: Any,
    weight: Any,
    bias: Any = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
    *,
    rank: int,
) -> Any:
    """A convolution each of whose results reads one channel; its result lies in memory as what it reads."""
    import torch

    kernel, ones = value_of(weight.node).shape[2:], [1] * rank
    read = _windows(_padded(input, padding, rank, 0.0), kernel, per_dim(stride, rank), per_dim(dilation, rank))
    found = (read * weight.reshape(groups, *ones, *kernel)).sum(_last(rank))
    found = found if bias is None else found + bias.reshape(groups, *ones)
    given = value_of(input.node)
    is_channels_last = rank == 2 == given.dim() - 2 and given.is_contiguous(memory_format=torch.channels_last)
    if given.is_contiguous() or not is_channels_last:
        return found
    return found.contiguous(memory_format=torch.channels_last)


def _avg_pool(
    input: Any,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
    *,
    rank: int,
) -> Any:
    """The mean of windows, by the number of their elements that are no padding where padding does not count."""
    sizes, pads = per_dim(kernel_size, rank), per_dim(padding, rank)
    steps = strides(stride, sizes)
    read = _windows(_padded(input, padding, rank, 0.0), sizes, steps, [1] * rank)
    if divisor_override:
        return read.sum(_last(rank)) * (1.0 / divisor_override)
    if count_include_pad or not any(pads):
        return read.mean(_last(rank))
    found, extents = read.sum(_last(rank)), value_of(input.node).shape[-rank:]
    for n, (extent, size, step, pad) in enumerate(zip(extents, sizes, steps, pads, strict=True)):
        count = (extent + 2 * pad - size) // step + 1
        found = found / _elements(input, count, extent, size, step, pad).reshape(count, *[1] * (rank - n - 1))
    return found


def _elements(input: Any, count: int, extent: int, size: int, step: int, pad: int) -> Any:
    """The number of elements of each window along a dim that are no padding."""
    import torch

    given = value_of(input.node)
    first = input.tracer.create_proxy("call_function", torch.arange, (count,), {"device": given.device}) * step - pad
    return ((first + size).clamp(max=extent) - first.clamp(min=0)).to(given.dtype)


def _max_pool(
    input: Any,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
    *,
    rank: int,
) -> Any:
    """The maxima of windows; padding is the least number, as kernels store no infinite ones."""
    import torch

    sizes = per_dim(kernel_size, rank)
    steps = strides(stride, sizes)
    least = torch.finfo(value_of(input.node).dtype).min
    return _windows(_padded(input, padding, rank, least), sizes, steps, per_dim(dilation, rank)).amax(_last(rank))


def _padded(x: Any, padding: Any, rank: int, value: float) -> Any:
    import torch

    pads = per_dim(padding, rank)
    both = [n for pad in reversed(pads) for n in (pad, pad)]
    return torch.nn.functional.pad(x, both, "constant", value) if any(pads) else x


def _windows(x: Any, sizes: Sequence[int], steps: Sequence[int], gaps: Sequence[int]) -> Any:
    """The windows of the last dims of a tensor; the positions within them are dims behind all others."""
    rank = len(sizes)
    for size, step, gap in zip(sizes, steps, gaps, strict=True):
        x = x.unfold(-rank, gap * (size - 1) + 1, step)  # the dims before the new one move by one
        x = x[..., ::gap] if gap > 1 else x
    return x


def _last(rank: int) -> list[int]:
    return list(range(-rank, 0))


def is_of_windows(node: Any, given: Mapping[str, Any]) -> bool:
    """Whether no region holds an operator of windows, and other operators compute as it does."""
    import torch

    x = value_of(given["input"])
    if given.get("ceil_mode") or given.get("return_indices") or isinstance(given.get("padding"), str):
        return False
    if "weight" in given:
        results, per_group, *kernel = sizes_of(given["weight"])
        channels = {results, x.shape[-len(kernel) - 1], given.get("groups", 1)}
        if len(channels) > 1 or per_group != 1 or x.dtype != torch.float32:
            return False
    return all(isinstance(n, int) for n in x.shape) and bool(translation_of(node).obstacle)


WINDOWS: Mapping[str, Callable[..., Any]] = {
    **{f"conv{n}d": partial(_depthwise, rank=n) for n in (1, 2)},
    **{f"avg_pool{n}d": partial(_avg_pool, rank=n) for n in (1, 2)},
    **{f"max_pool{n}d": partial(_max_pool, rank=n) for n in (1, 2)},
}
"""By the name of the function, the operators that it is made of."""
