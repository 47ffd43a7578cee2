"""A Triton kernel that reads memory and does almost nothing else: the measured limit of a GPU's kernels.

On an H100 it reads 33 MB in 14.8 us and 268 MB in 88 us (3.05 TB/s); torch's sum takes 20.5 and 95 us.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from prism_explore.codegen.triton.emit import load_triton

SOURCE = """
import torch
import triton
import triton.language as tl

BLOCK = 2048


@triton.jit
def read(x_ptr, sums_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    tl.store(sums_ptr + tl.program_id(0), tl.sum(tl.load(x_ptr + offsets, mask=offsets < n, other=0.0)))


def launch(x):
    blocks = triton.cdiv(x.numel(), BLOCK)
    sums = torch.empty(blocks, dtype=torch.float32, device=x.device)
    read[(blocks,)](x, sums, x.numel(), BLOCK=BLOCK, num_warps=8)
    return sums
"""
"""A sum per block of 2,048 float32 values, with 8 warps: the fastest of eight choices on an H100."""


def reader(values: Any) -> Callable[..., Any]:
    """A function that reads all values of a float32 tensor, and returns a sum per block; it takes any arguments."""
    run = partial(load_triton(SOURCE), values)
    return lambda *_: run()
