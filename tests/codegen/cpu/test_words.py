# pyright: basic
# Tensors of torch.
"""Bytes of 32-bit words: vectors of one byte of each are loads of whole words, and none beyond the memory."""

import ctypes
import mmap

import numpy as np
import pytest
import torch

from prism_explore.codegen.cpu.compile import llvm_text
from prism_explore.codegen.cpu.load import load_plan
from prism_explore.codegen.cpu.loop_ir import Buffer, Place
from prism_explore.codegen.cpu.plan import plan
from prism_explore.frontend import trace
from prism_explore.pipeline.stages import Parameters

CODES = {
    "nibbles": lambda q, x: ((q.unsqueeze(1) >> torch.arange(0, 32, 4)[:, None]) & 15).to(x.dtype) * x,
    "their sum": lambda q, x: (((q.unsqueeze(1) >> torch.arange(0, 32, 4)[:, None]) & 15).to(x.dtype) * x).sum(0),
    "bytes": lambda q, x: ((q.unsqueeze(1) >> torch.arange(0, 32, 8)[:, None]) & 255).to(x.dtype).sum(1) - x[0],
    "the last byte": lambda q, x: ((q >> 24) & 255).to(x.dtype) * x[0],
    "the last nibble": lambda q, x: (((q >> 28) & 15).to(x.dtype) * x[:1]).sum(0),
    "with a sign": lambda q, x: (q >> 16).to(torch.int8).to(x.dtype) + x[0],
    "in two bytes": lambda q, x: ((q >> 6) & 7).to(x.dtype) + x[0],
}


def at_the_end_of_a_page(rows: int, columns: int) -> torch.Tensor:
    """Random words behind which no memory can be read."""
    page = mmap.PAGESIZE
    memory = mmap.mmap(-1, 4 * page)
    first = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    libc = ctypes.CDLL(None, use_errno=True)
    assert not libc.mprotect(ctypes.c_void_p(first + 3 * page), page, 0), ctypes.get_errno()
    start = 3 * page - 4 * rows * columns
    found = torch.frombuffer(memory, dtype=torch.int32, count=rows * columns, offset=start).reshape(rows, columns)
    found.copy_(torch.randint(-(2**31), 2**31 - 1, (rows, columns)))
    return found


@pytest.mark.parametrize("columns", [16, 37, 64])
@pytest.mark.parametrize("name", CODES)
def test_kernels_read_words_as_torch_does(name, columns):
    torch.manual_seed(columns)
    q, x = at_the_end_of_a_page(5, columns), torch.randn(8, columns)
    traced = trace(CODES[name], {"q": q, "x": x})
    made = plan(traced.program.graph, Parameters(()), {})
    assert not isinstance(made, str), made

    found = load_plan(made)(*traced.bind(q, x))

    np.testing.assert_allclose(found, CODES[name](q, x), rtol=1e-5, atol=1e-4)
    if name in ("their sum", "the last byte") and columns % made.host.lanes == 0:
        assert f"<{made.host.lanes} x i32>" in llvm_text(made.loops, made.schedule, made.host)[0]


@pytest.mark.parametrize(
    ("shape", "strides", "is_of_words"),
    [
        ((64, 4), (4, 1), True),
        ((64, 8), (4, 1), True),  # as of a tensor of which rows overlap
        ((3, 64, 4), (256, 4, 1), True),
        ((64, 3), (4, 1), False),  # the last word is not whole
        ((64, 1), (4, 1), False),
        ((3, 64, 4), (257, 4, 1), False),
        ((64, 4), (8, 1), False),
    ],
)
def test_only_whole_words_are_read(shape, strides, is_of_words):
    index = tuple(((("n", 1),) if n == 64 else ()) for n in shape)

    assert is_of_words == Place(Buffer("w", shape, strides, "input", dtype="u8"), index).is_byte_of_words("n")
    assert not Place(Buffer("w", shape, strides, "input", dtype="f32"), index).is_byte_of_words("n")
