"""Which lines the compiled micro-kernels prefetch: calls of a recorder in place of the instructions."""

from __future__ import annotations

import ctypes
from collections import Counter
from dataclasses import replace

import ml_dtypes
import numpy as np
import pytest

from prism_explore.codegen.cpu.compile import CompiledProgram, llvm_text
from prism_explore.codegen.cpu.llvm.jit import JitModule
from prism_explore.codegen.cpu.load import LoadedKernel
from prism_explore.codegen.cpu.plan import Plan, plan
from prism_explore.codegen.cpu.thread_pool import thread_team
from prism_explore.ir.text import parse
from prism_explore.pipeline.stages import Parameters
from prism_explore.targets.cpus import host_cpu

TEXT = """sgraph
  x = input f32[{m}, {k}]
  w = input {dtype}[{k}, {n}]{order}
  %2 = matmul(x, w)
  return %2
"""
RECORDER = ctypes.CFUNCTYPE(None, ctypes.c_void_p, *[ctypes.c_int32] * 3)
DTYPES = {"f32": np.float32, "bf16": ml_dtypes.bfloat16}


def aligned(buffer) -> np.ndarray:
    """An input that begins with a cache line."""
    memory = np.zeros(buffer.bytes + 128, np.uint8)
    start = -memory.ctypes.data % 128
    flat = memory[start : start + buffer.bytes].view(DTYPES[buffer.dtype])
    return np.lib.stride_tricks.as_strided(flat, buffer.shape, [s * flat.itemsize for s in buffer.strides])


@pytest.fixture
def requested(monkeypatch):
    """How often a kernel requests each line of `w`, by the line's number, and how many lines there are."""

    def run(text: str, lanes: int, line_bytes: int, **schedule: int) -> tuple[Counter[int], int]:
        cpu = replace(host_cpu(), lanes=lanes, line_bytes=line_bytes)
        monkeypatch.setitem(plan.__globals__, "host_cpu", lambda: cpu)
        made = plan(parse(text), Parameters((), tuple({"threads": 1, **schedule}.items())), {})
        assert isinstance(made, Plan), made
        addresses: list[int] = []
        recorder = RECORDER(lambda address, *_: addresses.append(address))
        code, scratch = llvm_text(made.loops, made.schedule, made.host)
        symbols = {"recorder": ctypes.cast(recorder, ctypes.c_void_p).value or 0}
        module = JitModule(code.replace("llvm.prefetch.p0", "recorder"), cpu, symbols)
        entries = tuple(module.address(f"nest{n}") for n in range(len(made.loops.nests)))
        x, w = map(aligned, made.loops.inputs)
        LoadedKernel(made, CompiledProgram(module, entries, 4 * scratch), thread_team("python"))(x, w)
        lines = w.nbytes // line_bytes
        numbers = ((address - w.ctypes.data) // line_bytes for address in addresses)
        return Counter(n for n in numbers if 0 <= n < lines), lines

    return run


WIDTHS = [(16, 64), (8, 64), (4, 64), (4, 128)]
"""Lanes, and bytes of a line."""


@pytest.mark.parametrize(("lanes", "line_bytes"), WIDTHS)
@pytest.mark.parametrize("m", [1, 4, 8])
@pytest.mark.parametrize("kv", [1, 2])
def test_a_dot_requests_each_line_of_the_next_panel_once(requested, m, kv, lanes, line_bytes) -> None:
    text = TEXT.format(m=m, k=256, n=32, dtype="f32", order=" order(1, 0)")
    found, lines = requested(text, lanes, line_bytes, mr=4, nr=4, kv=kv, panel=1)

    assert dict.fromkeys(range(lines // 8, lines), 1) == found, "all but those of the first four columns"


@pytest.mark.parametrize(("lanes", "line_bytes"), WIDTHS)
@pytest.mark.parametrize("m", [4, 16])
def test_every_second_line_of_the_next_panel_is_requested_where_that_is_chosen(requested, m, lanes, line_bytes) -> None:
    text = TEXT.format(m=m, k=256, n=32, dtype="f32", order=" order(1, 0)")
    found, lines = requested(text, lanes, line_bytes, mr=4, nr=4, panel=2)

    assert set(found.values()) == {1}
    assert 7 * lines // 8 // 2 == len(found)


@pytest.mark.skipif(host_cpu().vector_registers < 32, reason="this CPU has too few vector registers")
@pytest.mark.parametrize(("lanes", "line_bytes"), WIDTHS)
def test_with_rows_in_the_lanes_each_line_is_requested_once(requested, lanes, line_bytes) -> None:
    text = TEXT.format(m=lanes, k=256, n=32, dtype="f32", order=" order(1, 0)")
    found, lines = requested(text, lanes, line_bytes, outer=1, oc=4, panel=1)

    assert dict.fromkeys(range(lines // 8, lines), 1) == found


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("lanes", "line_bytes"), WIDTHS)
@pytest.mark.parametrize("nv", [1, 2])
def test_a_stream_requests_each_line_of_the_rows_ahead_once(requested, nv, lanes, line_bytes, dtype) -> None:
    text = TEXT.format(m=2, k=32, n=128, dtype=dtype, order="")
    found, lines = requested(text, lanes, line_bytes, ku=8, nv=nv, ahead=8)

    assert dict.fromkeys(range(lines // 4, lines), 1) == found, "all but those of the first eight rows"


SUM = """sgraph
  x = input f32[1, {k}]
  w = input {dtype}[{n}, {k}]
  %2 = custom(x, w) grid[x=2]
    %0 = load(0, imap=[-])
    %1 = load(1, imap=[0])
    %2 = mul(%0, %1)
    %3 = sum(%2, dim=1)
    %4 = store(%3, omap=[0])
  return %2
"""


@pytest.mark.parametrize(("lanes", "line_bytes"), [(16, 64), (8, 64), (4, 128)])
@pytest.mark.parametrize("dtype", ["f32", "bf16"])
def test_a_sum_over_a_large_operand_requests_each_line_once_a_page_ahead(
    requested, lanes: int, line_bytes: int, dtype: str
) -> None:
    counts, lines = requested(SUM.format(n=64, k=2048, dtype=dtype), lanes, line_bytes)
    ahead = 4096 // line_bytes
    if 4 * lanes * np.dtype(DTYPES[dtype]).itemsize < line_bytes:
        assert not counts  # a step reads less than a line
    else:
        assert dict.fromkeys(range(ahead, lines), 1) == dict(counts)


def test_a_sum_over_rows_of_half_a_line_requests_each_line_twice(requested) -> None:
    text = (
        SUM.format(n=64, k=2048, dtype="bf16")
        .replace("[1, 2048]", "[1, 128, 16]")
        .replace("[64, 2048]", "[64, 128, 16]")
    )
    text = text.replace("%3 = sum(%2, dim=1)", "%3 = sum(%2, dim=2)").replace("omap=[0]", "omap=[0]")
    counts, lines = requested(text, 16, 64)

    assert dict.fromkeys(range(4096 // 64, lines), 2) == dict(counts)


def test_a_sum_over_a_small_operand_requests_nothing(requested) -> None:
    counts, _ = requested(SUM.format(n=2, k=256, dtype="f32"), 16, 64)

    assert not counts
