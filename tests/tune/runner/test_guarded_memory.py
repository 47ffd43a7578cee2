"""Tensors of a trial lie between pages without access, one call at their end and another at their start."""

from __future__ import annotations

import ctypes
from pathlib import Path

import numpy as np
import pytest

from prism_explore.codegen.cpu.arguments import ExpectedArgument
from prism_explore.codegen.cpu.load import Allocate, LoadedKernel, load
from prism_explore.codegen.cpu.loop_ir import Buffer
from prism_explore.ir.tensors import numpy_dtype
from prism_explore.tune.runner import guarded_memory
from prism_explore.tune.runner.guarded_memory import Guarded, GuardedRun
from tests.tune.runner.test_worker import GOOD

pytestmark = pytest.mark.skipif(not guarded_memory.IS_SUPPORTED, reason="mprotect is tried on Linux only")


def is_accessible(address: int) -> bool:
    """What the system says about a byte of this process."""
    for line in Path("/proc/self/maps").read_text().splitlines():
        bounds, rights, *_ = line.split()
        low, high = (int(bound, 16) for bound in bounds.split("-"))
        if low <= address < high:
            return rights.startswith("rw")
    return False


@pytest.mark.parametrize("size", [1, 4, 4095, 4096, 4097, 100_000])
@pytest.mark.parametrize("at_end", [False, True])
def test_all_of_the_memory_can_be_written_and_the_byte_beyond_cannot(size: int, at_end: bool) -> None:
    made = Guarded.new(size, at_end=at_end)
    made.memory[:] = 7
    first = made.memory.ctypes.data

    assert made.is_intact
    assert is_accessible(first) and is_accessible(first + size - 1)
    assert not is_accessible(first + size if at_end else first - 1)
    made.forbid_writing()
    assert not is_accessible(first) and not is_accessible(first + size - 1)
    assert (made.memory == 7).all()


@pytest.mark.parametrize("at_end", [False, True])
def test_a_byte_that_is_written_at_the_other_end_is_found(at_end: bool) -> None:
    made = Guarded.new(100, at_end=at_end)
    ctypes.memset(made.memory.ctypes.data + (-1 if at_end else 100), 0, 1)

    assert not made.is_intact


def good() -> tuple[LoadedKernel, list[np.ndarray]]:
    run = load(GOOD)
    assert isinstance(run, LoadedKernel)
    program = GOOD.verified.candidate.family.program
    shapes = dict(GOOD.shapes)
    return run, [
        np.ones([d.value(shapes) for d in i.type.dims], dtype=numpy_dtype(i.type.dtype)) for i in program.inputs
    ]


def test_results_touch_the_page_after_them_and_the_one_before_them_in_turn() -> None:
    run, inputs = good()
    guarded = GuardedRun(run)
    late, early = guarded(*inputs), guarded(*inputs)

    assert not is_accessible(late.ctypes.data + late.nbytes)
    assert not is_accessible(early.ctypes.data - 1)
    np.testing.assert_array_equal(late, run(*inputs))
    np.testing.assert_array_equal(early, late)


def test_elements_that_a_kernel_does_not_write_are_nan() -> None:
    _, inputs = good()

    def writes_nothing(*_: np.ndarray, allocate: Allocate) -> np.ndarray:
        return allocate(ExpectedArgument.for_buffer(Buffer("y", (4, 8), (8, 1), "output")), inputs[0])[0]

    assert np.isnan(GuardedRun(writes_nothing)(*inputs)).all()
