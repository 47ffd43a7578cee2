"""A kernel as a callable on torch tensors or NumPy arrays, without copies, on a team of threads.

Calls are re-entrant: scratch and intermediate tensors belong to a call. The team is torch's own OpenMP
pool where torch brings libgomp, so a kernel and torch never fight for cores; elsewhere it is a pool of
Python threads, which is enough because compiled code runs without the interpreter lock.
"""

from __future__ import annotations

import ctypes
import importlib.util
import os
import sys
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, Protocol, TypeAlias, cast

import numpy as np

from prism_explore.codegen.cpu.emit import Compiled, compile_program
from prism_explore.codegen.cpu.llvm.jit import JitModule, host_cpu
from prism_explore.codegen.cpu.loop_ir import Buffer
from prism_explore.codegen.cpu.passes.prefetch import LINE_BYTES
from prism_explore.codegen.cpu.plan import Plan, plan
from prism_explore.errors import ShapeError, TargetUnavailable
from prism_explore.ir.tensors import NAMES, numpy_dtype
from prism_explore.pipeline.stages import Kernel

Array: TypeAlias = Any
"""A torch.Tensor or a numpy.ndarray."""

Words: TypeAlias = "ctypes.Array[ctypes.c_int64]"
"""How many functions there are, their addresses, and the arguments that each of them gets."""

Team: TypeAlias = Callable[[Words, int], None]
"""Runs the functions one after another, each on so many threads, and waits."""


class Loaded(Protocol):
    """A kernel that can be called with the program's inputs in their order."""

    @property
    def source(self) -> str:
        """The kernel for people."""
        ...

    def __call__(self, *inputs: Array) -> Array:
        """The result, a new tensor of the inputs' library."""
        ...

    def check(self, *inputs: Array) -> None:
        """Raise what a call with these inputs would raise for them, and compute nothing."""
        ...


def load(kernel: Kernel, pool: Literal["auto", "openmp", "python"] = "auto") -> Loaded:
    """The callable of a kernel; one for the CPU is compiled at once, one for a GPU at its first call.

    Args:
        kernel: made by `emit`.
        pool: whose threads a CPU kernel runs on; auto takes torch's OpenMP pool where there is one.

    Raises:
        TargetUnavailable: the kernel is for a GPU and none is here, or no OpenMP pool was found though asked for.
        ShapeError: the kernel's numbers do not fit its sGraph.
    """
    if kernel.backend == "triton":
        from prism_explore.codegen.triton import launch

        return launch.load(kernel)
    return load_cpu(kernel, pool)


def load_cpu(kernel: Kernel, pool: Literal["auto", "openmp", "python"] = "auto") -> LoadedKernel:
    """The callable of a CPU kernel; see `load`."""
    made = plan(kernel.verified.candidate.sgraph, kernel.parameters, dict(kernel.shapes))
    if isinstance(made, str):
        raise ShapeError(made)
    return load_plan(made, pool)


def load_plan(made: Plan, pool: Literal["auto", "openmp", "python"] = "auto") -> LoadedKernel:
    """The callable of a plan; see `load`."""
    return LoadedKernel(made, compile_program(made.loops, made.schedule, made.host), team(pool))


class LoadedKernel:
    """Machine code with the manners of a Python function.

    `kernel(x, g, w)` takes the program's inputs in order and returns a new tensor of the same
    library; `out=` writes into a given one instead.
    """

    def __init__(self, made: Plan, compiled: Compiled, run: Team) -> None:
        self.plan = made
        self.threads = dict(made.schedule)["threads"]
        self._compiled = compiled
        self._run = run
        self._inputs = tuple(_Expected.of(b) for b in made.loops.inputs)
        self._output = _Expected.of(made.loops.output)
        first = 1 + len(compiled.entries)
        self._given = slice(first, first + len(self._inputs))
        """Where the addresses of the inputs are among the words."""
        self._idle: deque[_Call] = deque()
        """What no call uses at the moment."""

    @property
    def source(self) -> str:
        """The loops, for people."""
        return self.plan.source

    def __call__(self, *inputs: Array, out: Array | None = None) -> Array:
        """The result for these inputs.

        Raises:
            ShapeError: a wrong number of inputs, a wrong shape, dtype or memory order, or an `out` that
                shares memory with an input.
        """
        pointers = self._pointers(inputs)
        if out is None:
            result, target = self._output.made_for(inputs[0])
        else:
            result, target = out, self._output.pointer(out)
            if isinstance(out, np.ndarray) and not out.flags.writeable:
                raise ShapeError("out is a read-only array; give it memory that may be written")
            for e, start in zip(self._inputs, pointers, strict=True):
                if start < target + self._output.buffer.bytes and target < start + e.buffer.bytes:
                    raise ShapeError(f"out shares memory with input {e.buffer.name!r}; give it memory of its own")
        try:
            call = self._idle.pop()
        except IndexError:
            call = self._new_call()
        call.words[self._given] = pointers
        call.words[-2] = target
        self._run(call.words, self.threads)
        self._idle.append(call)
        return result

    def _new_call(self) -> _Call:
        starts: list[int] = []
        total = 0
        for b in self.plan.loops.temporaries:
            starts.append(total)
            total += -(-b.bytes // LINE_BYTES) * LINE_BYTES
        memory = np.empty(total + self.threads * self._compiled.scratch_bytes + LINE_BYTES, dtype=np.uint8)
        base = -(-_address(memory) // LINE_BYTES) * LINE_BYTES
        entries, inputs = self._compiled.entries, [0] * len(self._inputs)
        words = (len(entries), *entries, *inputs, *(base + s for s in starts), 0, base + total)
        return _Call(memory, (ctypes.c_int64 * len(words))(*words))

    def check(self, *inputs: Array) -> None:
        """Raise ShapeError where a call with these inputs would; nothing is computed."""
        self._pointers(inputs)

    def _pointers(self, inputs: Sequence[Array]) -> list[int]:
        if len(inputs) != len(self._inputs):
            names = ", ".join(e.buffer.name for e in self._inputs)
            raise ShapeError(f"this kernel takes {len(self._inputs)} inputs ({names}), found {len(inputs)}")
        return [e.pointer(x) for e, x in zip(self._inputs, inputs, strict=True)]


@dataclass(frozen=True, slots=True)
class _Call:
    """What belongs to one call at a time."""

    memory: np.ndarray[Any, np.dtype[np.uint8]]
    """What passes between kernels, and the scratch of all threads."""
    words: Words
    """Complete but for the addresses of the inputs and, last but one, of the result."""


@dataclass(frozen=True, slots=True)
class _Expected:
    """What an argument must look like."""

    buffer: Buffer
    steps: tuple[int, ...]
    """Its strides in bytes."""
    dtype: np.dtype[Any]

    @classmethod
    def of(cls, b: Buffer) -> _Expected:
        dtype = numpy_dtype(b.dtype)
        return cls(b, tuple(s * dtype.itemsize for s in b.strides), dtype)

    def pointer(self, x: Array) -> int:
        """The address of its first element, once everything about it is as expected."""
        b = self.buffer
        # The usual cases first, and short: many kernels take no longer than what follows.
        given: Any = x
        if isinstance(x, np.ndarray):
            if (given.shape, given.strides, given.dtype) == (b.shape, self.steps, self.dtype):
                return _address(x)
        elif getattr(x, "is_cpu", False):
            found = (given.shape, given.stride(), _name(given.dtype))
            if found == (b.shape, b.strides, NAMES[b.dtype]):
                return given.data_ptr()
        return self._looked_at(x)

    def made_for(self, x: Array) -> tuple[Array, int]:
        """A new one of the library of `x`, and the address of its first element."""
        b = self.buffer
        if isinstance(x, np.ndarray):
            made: Any = np.empty(b.shape, dtype=self.dtype)
            return made, _address(made)
        made = x.new_empty(b.shape, dtype=_torch_dtype(NAMES[b.dtype]))
        return made, made.data_ptr()

    def _looked_at(self, x: Array) -> int:
        b = self.buffer
        shape: tuple[int, ...]
        if isinstance(x, np.ndarray):
            given = cast("np.ndarray[Any, np.dtype[Any]]", x)
            shape, dtype = given.shape, str(given.dtype)
            if any(n > 1 and s % given.itemsize for n, s in zip(shape, given.strides, strict=True)):
                raise ShapeError(f"{b.name!r} is a view with gaps between its elements; pass a copy")
            strides = tuple(s // given.itemsize for s in given.strides)
            address, place = _address(given), "cpu"
        elif hasattr(x, "data_ptr"):
            shape, dtype = tuple(x.shape), _name(x.dtype)
            strides, address, place = tuple(x.stride()), x.data_ptr(), x.device.type
        else:
            raise ShapeError(f"{b.name!r} must be a torch tensor or a NumPy array, found {type(x).__name__}")
        if shape != b.shape:
            raise ShapeError(f"{b.name!r} must have shape {b.shape}, found {shape}")
        if dtype != NAMES[b.dtype]:
            raise ShapeError(f"{b.name!r} must be {NAMES[b.dtype]}, found {dtype}; convert it first")
        if place != "cpu":
            raise ShapeError(f"{b.name!r} must be in main memory, found it on {place}")
        if any(n > 1 and s != w for n, s, w in zip(shape, strides, b.strides, strict=True)):
            raise ShapeError(
                f"{b.name!r} must have strides {b.strides} (in elements) for its shape {b.shape}, found {strides}; "
                + ("pass x.contiguous()" if _is_row_major(b) else "pass the transpose of contiguous memory")
            )
        return int(address)


DATA_AT = object.__basicsize__
"""Where an array's C struct has the address of its data: first behind the head of every object."""


def _has_data_there() -> bool:
    """Whether it is so in this interpreter."""
    if sys.implementation.name != "cpython":
        return False
    probe = np.zeros(1)
    return ctypes.c_size_t.from_address(id(probe) + DATA_AT).value == probe.__array_interface__["data"][0]


def _address(x: Array) -> int:
    # The public way writes a whole description of the array first: 1 us for each input of every call.
    return ctypes.c_size_t.from_address(id(x) + DATA_AT).value if _IS_THERE else x.__array_interface__["data"][0]


_IS_THERE = _has_data_there()


@lru_cache(64)
def _name(dtype: object) -> str:
    """A torch dtype's name."""
    return str(dtype).removeprefix("torch.")


def _is_row_major(b: Buffer) -> bool:
    return list(b.strides) == sorted(b.strides, reverse=True)


@lru_cache(8)
def _torch_dtype(name: str) -> Any:
    import torch

    return getattr(torch, name)


# ---------------------------------------------------------------- teams of threads
def team(kind: Literal["auto", "openmp", "python"] = "auto") -> Team:
    """A way to run a function on several threads.

    Raises:
        TargetUnavailable: OpenMP was asked for and torch brings no libgomp.
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
    """The libgomp that torch runs on, if torch is here and runs on one.

    torch itself is not imported where it brings its own: a worker that only times kernels needs no more of it.
    """
    if "torch" not in sys.modules and (found := importlib.util.find_spec("torch")) is not None and found.origin:
        own = sorted(Path(found.origin).parent.glob("lib/libgomp*.so*"))
        if len(own) == 1:
            return str(own[0].resolve())  # as the system will name it
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


class _OpenMP:
    """The team of a libgomp."""

    def __init__(self, path: str) -> None:
        library = ctypes.CDLL(path)
        symbols: dict[str, int] = {}
        for name in ("omp_get_thread_num", "omp_get_num_threads", "GOMP_barrier"):
            symbols[name] = ctypes.cast(getattr(library, name), ctypes.c_void_p).value or 0
        self._machine = JitModule(_TRAMPOLINE, host_cpu(), symbols)
        self._enter = self._machine.address("enter")
        self._parallel = library.GOMP_parallel
        self._parallel.argtypes = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint, ctypes.c_uint)
        self._parallel.restype = None

    def __call__(self, words: Words, threads: int) -> None:
        self._parallel(self._enter, ctypes.addressof(words), threads, 0)


@lru_cache(4)
def _openmp_team(path: str) -> Team:
    return _OpenMP(path)


@lru_cache(1)
def _python_team() -> Team:
    kind = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
    executor = ThreadPoolExecutor(max(1, (os.cpu_count() or 1) - 1), "kernel")

    def run(words: Words, threads: int) -> None:
        count = words[0]
        arguments = ctypes.addressof(words) + (1 + count) * ctypes.sizeof(ctypes.c_int64)
        for function in words[1 : 1 + count]:
            code = kind(function)
            others = [executor.submit(code, arguments, t, threads) for t in range(1, threads)]
            code(arguments, 0, threads)
            for other in others:
                other.result()

    return run
