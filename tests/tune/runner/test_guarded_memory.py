"""Tensors of a trial lie between pages without access, one call at their end and another at their start."""

from __future__ import annotations

import ctypes
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from prism_explore.codegen.cpu.arguments import ExpectedArgument
from prism_explore.codegen.cpu.load import Allocate, LoadedKernel, load
from prism_explore.codegen.cpu.loop_ir import Buffer
from prism_explore.ir.tensors import numpy_dtype
from prism_explore.pipeline.stages import Verified
from prism_explore.tune.runner import guarded_memory
from prism_explore.tune.runner.guarded_memory import BEYOND_OWN, CanaryRun, Guarded, GuardedRun, WroteOutside
from tests.tune.toys import fused, kernel, rmsnorm_linear, split

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


def good(verified: Verified | None = None) -> tuple[LoadedKernel, list[np.ndarray]]:
    run = load(kernel(fused() if verified is None else verified, (("gx", 2), ("f", 4), ("gb", 2)), threads=1))
    inputs = rmsnorm_linear().inputs
    shapes = [[d.value({"b": 4}) for d in i.type.dims] for i in inputs]
    return run, [np.ones(shape, numpy_dtype(i.type.dtype)) for shape, i in zip(shapes, inputs, strict=True)]


def test_results_touch_the_page_after_them_and_the_one_before_them_in_turn() -> None:
    run, inputs = good()
    guarded = GuardedRun(run)
    late, early = guarded(*inputs), guarded(*inputs)

    assert not is_accessible(late.ctypes.data + late.nbytes)
    assert not is_accessible(early.ctypes.data - 1)
    np.testing.assert_array_equal(late, run(*inputs))
    np.testing.assert_array_equal(early, late)


class Noting(LoadedKernel):
    """Notes where the memory of its last call begins and ends."""

    def __call__(self, *inputs: np.ndarray, **options: Any) -> np.ndarray:
        found = super().__call__(*inputs, **options)
        memory = self._idle[-1].memory
        NOTED[:] = memory.ctypes.data, memory.ctypes.data + memory.nbytes
        return found


NOTED = [0, 0]


def test_intermediate_tensors_and_scratch_touch_one_page_and_the_other_in_turn() -> None:
    run, inputs = good(split())
    run.__class__ = Noting
    guarded, sides = GuardedRun(run), list[tuple[bool, bool]]()
    for _ in range(2):
        guarded(*inputs)
        first, last = NOTED
        assert is_accessible(first) and is_accessible(last - 1)
        assert first % run.plan.host.line_bytes == 0
        sides.append((is_accessible(first - 1), is_accessible(last)))

    assert sorted(sides) == [(False, True), (True, False)]


def test_elements_that_a_kernel_does_not_write_are_nan() -> None:
    class WritesNothing(LoadedKernel):
        def __call__(self, *inputs: np.ndarray, allocate: Allocate = ExpectedArgument.allocate_like, **_: Any) -> Any:
            return allocate(ExpectedArgument.for_buffer(Buffer("y", (4, 8), (8, 1), "output")), inputs[0])[0]

    run, inputs = good()
    run.__class__ = WritesNothing

    assert np.isnan(GuardedRun(run)(*inputs)).all()


# ---------------------------------------------------------------- machine code that needs more than its plan says
def shorter(b: Buffer) -> Buffer:
    """A buffer without its last element."""
    return replace(b, shape=(*b.shape[:-1], b.shape[-1] - 1))


def crafted(what: str) -> tuple[LoadedKernel, list[np.ndarray]]:
    """A compiled kernel whose memory is too small for its code."""
    run, inputs = good(split())
    loops, compiled = run.plan.loops, run._compiled
    match what:
        case "result":
            loops = replace(loops, outputs=tuple(map(shorter, loops.outputs)))
        case "intermediate tensor":
            loops = replace(loops, temporaries=(shorter(loops.temporaries[0]), *loops.temporaries[1:]))
        case _:
            compiled = replace(compiled, scratch_bytes=compiled.scratch_bytes - run.plan.host.line_bytes)
    return LoadedKernel(replace(run.plan, loops=loops), compiled, run._team), inputs


@pytest.mark.parametrize(
    ("what", "said"),
    [("intermediate tensor", BEYOND_OWN), ("scratch", BEYOND_OWN), ("result", "wrote after result 0")],
)
def test_machine_code_that_writes_beyond_its_memory_is_found_beside_timed_calls(what: str, said: str) -> None:
    run, inputs = crafted(what)
    try:
        CanaryRun(run)(*inputs)
        found = "" if run.is_memory_intact else BEYOND_OWN
    except WroteOutside as error:
        found = str(error)

    assert said in found


@pytest.mark.parametrize("what", ["intermediate tensor", "scratch"])
def test_machine_code_that_writes_beyond_its_own_memory_is_found_when_it_is_checked(what: str) -> None:
    run, inputs = crafted(what)
    guarded = GuardedRun(run)
    for _ in range(2):
        with pytest.raises(WroteOutside, match=BEYOND_OWN):
            guarded(*inputs)


@pytest.mark.parametrize("verified", [fused(), split()], ids=["fused", "split"])
def test_a_call_with_canaries_gives_the_result_of_one_without(verified: Verified) -> None:
    run, inputs = good(verified)

    np.testing.assert_array_equal(CanaryRun(run)(*inputs), run(*inputs))
    assert run.is_memory_intact
