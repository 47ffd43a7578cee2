"""Small programs, a small machine, and a code generator whose kernels misbehave on request."""

from __future__ import annotations

import ctypes
import os
import signal
import time
from collections.abc import Callable, Mapping
from fractions import Fraction
from itertools import count
from typing import Any

import numpy as np

from prism_explore.codegen.cpu.compile import compile_program
from prism_explore.codegen.cpu.load import LoadedKernel
from prism_explore.codegen.cpu.plan import Plan, plan
from prism_explore.codegen.cpu.thread_pool import thread_team
from prism_explore.ir.axis_maps import AxisUse
from prism_explore.ir.interpreter.reference import evaluate
from prism_explore.ir.program import ProgramBuilder, TensorProgram
from prism_explore.ir.text import parse
from prism_explore.pipeline.stages import Candidate, Family, Infeasible, Kernel, Parameters, Proof, Verified
from prism_explore.targets import Target
from prism_explore.tune.runner.backend import Backend
from prism_explore.tune.space.parameters import Choices
from prism_explore.tune.space.size_table import Sizes

TOY = Target(
    name="toy",
    kind="cpu",
    peak_flops_per_s=1e9,
    peak_half_flops_per_s=2e9,
    dram_bytes_per_s=1e8,
    shared_memory_bytes=4096,
    caches_bytes=(512, 4096, 16384),
    cores=2,
    max_blocks=64,
    max_threads=1,
    launch_s=1e-6,
    source="made up",
    measured=False,
)


def rmsnorm_linear(k: int = 16, n: int = 24) -> TensorProgram:
    b = ProgramBuilder("rmsnorm_linear")
    x, g, w = b.input("x", "b", k), b.input("g", k), b.input("w", k, n)
    mean = b.reduce("mean", b.unary("square", x), 1)
    root = b.unary("sqrt", b.scalar("add", mean, Fraction(1, 10**6)))
    return b.build(b.matmul(b.binary("mul", b.binary("div", x, root), g), w))


def fused(k: int = 16, n: int = 24, rows: bool = False) -> Verified:
    """One kernel: the norm's sum and the product in one loop; `rows` cuts the batch as well."""
    y = ", y=gy" if rows else ""
    graph = parse(f"""sgraph
  x = input f32[b, {k}]
  g = input f32[{k}]
  w = input f32[{k}, {n}]
  %3 = custom(x, g, w) grid[x=gx{y}] loop[i=f]
    %0 = load(0, imap=[-{", 0" if rows else ""}], fmap=1)
    %1 = load(1, imap=[-{", -" if rows else ""}], fmap=0)
    %2 = load(2, imap=[1{", -" if rows else ""}], fmap=0)
    %3 = square(%0)
    %4 = accum_mean(%3, dim=1)
    %5 = mul(%0, %1)
    %6 = matmul(%5, %2)
    %7 = accum(%6)
    %8 = add_scalar(%4, 1/1000000)
    %9 = sqrt(%8)
    %10 = div(%7, %9)
    %11 = store(%10, omap=[1{", 0" if rows else ""}])
  return %3
""")
    uses = (AxisUse("n", 0), AxisUse("d", None, True), *((AxisUse("b", 1),) if rows else ()))
    return _verified("f2.c1" if rows else "f1.c1", rmsnorm_linear(k, n), graph, uses)


def split(k: int = 16, n: int = 24) -> Verified:
    """Two kernels: the norm, written to memory, then a product of torch's kind."""
    graph = parse(f"""sgraph
  x = input f32[b, {k}]
  g = input f32[{k}]
  w = input f32[{k}, {n}]
  %3 = custom(x, g) grid[x=gb]
    %0 = load(0, imap=[0])
    %1 = load(1, imap=[-])
    %2 = square(%0)
    %3 = mean(%2, dim=1)
    %4 = add_scalar(%3, 1/1000000)
    %5 = sqrt(%4)
    %6 = div(%0, %5)
    %7 = mul(%6, %1)
    %8 = store(%7, omap=[0])
  %4 = matmul(%3, w)
  return %4
""")
    return _verified("f3.c1", rmsnorm_linear(k, n), graph, (AxisUse("b", 0),))


def _verified(name: str, program: TensorProgram, graph: Any, uses: tuple[AxisUse, ...]) -> Verified:
    family = Family(name.split(".")[0], program, graph)
    candidate = Candidate(name, family, graph, (uses,), graph.conditions())
    return Verified(candidate, Proof("normal form", "equal for all sizes", ("16/f",)), ())


# ---------------------------------------------------------------- a code generator
FINE, SEGFAULT, HANG, NAN, WRONG, NO_EPS, NO_COMPILE, HOG, CHATTY, EXIT, REFUSED, RAISES = range(12)
READ_AFTER, READ_BEFORE, WRITE_INPUT, LATE_AFTER, LATE_BEFORE, RESULT_AFTER, RESULT_BEFORE = range(12, 19)
LATE_RESULT_AFTER, LATE_RESULT_BEFORE, SCRATCH_AFTER, LATE_SCRATCH_AFTER, LATE_SCRATCH_BEFORE = range(19, 24)
CHECKS = 3
"""Calls by which a bench compares a kernel, before it times it."""


def choices(verified: Verified, sizes: Sizes, shapes: Mapping[str, int], target: Target) -> Choices:
    return (("behave", (FINE,)), ("unroll", (1, 2, 4)))


def emit(verified: Verified, parameters: Parameters, shapes: Mapping[str, int], target: Target) -> Kernel | Infeasible:
    if dict(parameters.schedule).get("behave") == REFUSED:
        return Infeasible(verified.candidate, parameters, "tune.illegal", "refused on request")
    source = f"{verified.candidate.id}: {parameters}"
    return Kernel(verified, parameters, tuple(sorted(shapes.items())), "cpu", source)


def load(kernel: Kernel) -> Callable[..., Any]:
    """The interpreter as a kernel; the schedule choice `behave` takes effect when it is called."""
    behave = dict(kernel.parameters.schedule).get("behave", FINE)
    if behave == NO_COMPILE:
        raise ValueError("register 33 of 32\nand more that nobody reads")
    if behave >= RESULT_AFTER:
        return Overrunning.of(kernel, behave)
    program = kernel.verified.candidate.family.program
    names = [i.name for i in program.inputs]
    calls = count(1)

    def run(*arrays: Any) -> Any:
        given = dict(zip(names, (np.asarray(a) for a in arrays), strict=True))
        match behave:
            case 1:
                os.kill(os.getpid(), signal.SIGSEGV)
            case 2:
                time.sleep(3600)
            case 7:
                hog = [np.empty(1 << 28) for _ in range(1 << 16)]  # address space only; nothing is touched
                return hog[0]
            case 8:
                print('{"error": 0.0}', flush=True)
                os.system("echo noise")
            case 9:
                os._exit(3)
            case 12:
                ctypes.string_at(arrays[0].ctypes.data + arrays[0].nbytes, 1)
            case 13:
                ctypes.string_at(arrays[0].ctypes.data - 1, 1)
            case 14:
                ctypes.memset(arrays[0].ctypes.data, 0, 4)
            case 15 | 16 if next(calls) > CHECKS:
                ctypes.memset(arrays[0].ctypes.data + (arrays[0].nbytes if behave == LATE_AFTER else -4), 0, 4)
            case 11:
                raise RuntimeError("the kernel's own words")
            case _:
                pass
        out = evaluate(kernel.verified.candidate.sgraph, given, kernel.parameters.numbers)
        match behave:
            case 3:
                out = out.copy()
                out[-1, -1] = np.nan
            case 4:
                out = out * np.float32(1.01)
            case 5:
                x, g, w = arrays
                out = (x / np.sqrt(np.mean(x * x, 1, keepdims=True)) * g) @ w
            case _:
                pass
        return out

    return run


class Overrunning(LoadedKernel):
    """A compiled kernel that writes four bytes after or before its result, or its scratch."""

    behave: int
    calls: count[int]

    @classmethod
    def of(cls, kernel: Kernel, behave: int) -> Overrunning:
        made = plan(kernel.verified.candidate.sgraph, Parameters(kernel.parameters.sizes, ()), dict(kernel.shapes))
        assert isinstance(made, Plan)
        found = cls(made, compile_program(made.loops, made.schedule, made.host), thread_team("auto"))
        found.behave, found.calls = behave, count(1)
        return found

    def __call__(self, *inputs: Any, **options: Any) -> Any:
        result = super().__call__(*inputs, **options)
        if next(self.calls) > CHECKS or self.behave in (RESULT_AFTER, RESULT_BEFORE, SCRATCH_AFTER):
            ctypes.memset(self._beyond(result), 0, 4)
        return result

    def _beyond(self, result: np.ndarray) -> int:
        """The address of four bytes that it may not write."""
        (call,) = self._idle
        scratch, line_bytes = call.frame[-1], self.plan.host.line_bytes
        match self.behave:
            case 17 | 19:
                return result.ctypes.data + result.nbytes
            case 18 | 20:
                return result.ctypes.data - 4
            case 21 | 22:
                return scratch + self._compiled.scratch_bytes - line_bytes
            case _:
                return scratch - 4


def as_exported(exported: Any) -> Callable[..., Any]:
    """A compiler that is none: the exported program itself."""
    module = exported.module()
    return lambda *tensors: module(*tensors)


def no_such_operator(exported: Any) -> Callable[..., Any]:
    """A compiler that cannot."""
    raise NotImplementedError("rms_norm is not supported\nand more that nobody reads")


BACKEND = Backend(emit, choices, "tests.tune.toys:load")


def kernel(verified: Verified, sizes: Sizes, batch: int = 4, **schedule: int) -> Kernel:
    made = emit(verified, Parameters(sizes, tuple(schedule.items())), {"b": batch}, TOY)
    assert isinstance(made, Kernel)
    return made
