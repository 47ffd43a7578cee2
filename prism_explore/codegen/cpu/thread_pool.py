"""Thread teams that run compiled functions: torch's OpenMP pool, or a pool of Python threads.

The OpenMP team is torch's own libgomp, so that a kernel and torch share one set of threads. Without libgomp, Python
threads run the same code; compiled code does not hold the interpreter lock.
"""

from __future__ import annotations

import ctypes
import importlib.util
import os
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from pathlib import Path
from typing import Literal, TypeAlias

from prism_explore.codegen.cpu.llvm.jit import JitModule
from prism_explore.errors import TargetUnavailable
from prism_explore.targets.cpus import host_cpu

CallFrame: TypeAlias = "ctypes.Array[ctypes.c_int64]"
"""The number of functions, their addresses, and the arguments that each of them gets."""

ThreadTeam: TypeAlias = Callable[[CallFrame, int], None]
"""Runs the functions one after another, each on this number of threads, and waits."""

PoolKind: TypeAlias = Literal["auto", "openmp", "python"]


def thread_team(kind: PoolKind = "auto") -> ThreadTeam:
    """The team of a pool.

    Raises:
        TargetUnavailable: OpenMP is required and torch has no libgomp.
    """
    if kind != "python":
        path = _torch_openmp()
        if path is not None:
            return _openmp_team(path)
        if kind == "openmp":
            raise TargetUnavailable("no OpenMP pool: torch is missing or does not use libgomp; take pool='python'")
    return _python_team()


@lru_cache(1)
def _torch_openmp() -> str | None:
    """The path of the libgomp that torch uses, if there is one.

    torch is not imported where its package contains libgomp: a worker that times kernels needs nothing else of it.
    """
    if "torch" not in sys.modules and (found := importlib.util.find_spec("torch")) is not None and found.origin:
        own = sorted(Path(found.origin).parent.glob("lib/libgomp*.so*"))
        if len(own) == 1:
            return str(own[0].resolve())  # the path that the dynamic loader uses
    try:
        import torch
    except ImportError:
        return None
    maps = Path("/proc/self/maps")
    if maps.exists():
        for line in maps.read_text(encoding="utf-8").splitlines():
            path = line.split(maxsplit=5)[-1]
            if "libgomp" in Path(path).name:
                return path
        return None
    return next((str(p) for p in Path(torch.__file__).parent.glob("lib/libgomp*.so*")), None)


_TRAMPOLINE = """
declare i32 @omp_get_thread_num()
declare i32 @omp_get_num_threads()
declare void @GOMP_barrier()
define void @enter(ptr %words) {
entry:
  %count = load i64, ptr %words
  %first = add i64 %count, 1
  %arguments = getelementptr i64, ptr %words, i64 %first
  %t = call i32 @omp_get_thread_num()
  %n = call i32 @omp_get_num_threads()
  %thread = sext i32 %t to i64
  %threads = sext i32 %n to i64
  br label %run
run:
  %at = phi i64 [ 1, %entry ], [ %next, %wait ]
  %place = getelementptr i64, ptr %words, i64 %at
  %function = load ptr, ptr %place
  call void %function(ptr %arguments, i64 %thread, i64 %threads)
  %next = add i64 %at, 1
  %last = icmp eq i64 %at, %count
  br i1 %last, label %done, label %wait
wait:
  call void @GOMP_barrier()
  br label %run
done:
  ret void
}
"""


class _OpenMPTeam:
    """A parallel region of libgomp per call; each thread runs all functions, with a barrier between two."""

    def __init__(self, path: str) -> None:
        library = ctypes.CDLL(path)
        symbols: dict[str, int] = {}
        for name in ("omp_get_thread_num", "omp_get_num_threads", "GOMP_barrier"):
            symbols[name] = ctypes.cast(getattr(library, name), ctypes.c_void_p).value or 0
        self._module = JitModule(_TRAMPOLINE, host_cpu(), symbols)
        self._enter = self._module.address("enter")
        self._parallel = library.GOMP_parallel
        self._parallel.argtypes = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint, ctypes.c_uint)
        self._parallel.restype = None

    def __call__(self, frame: CallFrame, threads: int) -> None:
        self._parallel(self._enter, ctypes.addressof(frame), threads, 0)


@lru_cache(4)
def _openmp_team(path: str) -> ThreadTeam:
    return _OpenMPTeam(path)


@lru_cache(1)
def _python_team() -> ThreadTeam:
    kind = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
    executor = ThreadPoolExecutor(max(1, (os.cpu_count() or 1) - 1), "kernel")

    def run(frame: CallFrame, threads: int) -> None:
        count = frame[0]
        arguments = ctypes.addressof(frame) + (1 + count) * ctypes.sizeof(ctypes.c_int64)
        for function in frame[1 : 1 + count]:
            code = kind(function)
            others = [executor.submit(code, arguments, t, threads) for t in range(1, threads)]
            code(arguments, 0, threads)
            for other in others:
                other.result()

    return run
