"""Runs a kernel for AArch64 in an emulator: cross-compiled, linked with a few instructions that call it, under QEMU.

The program needs no C library. It maps its standard input, a file with the call frame, the inputs, the results and the
scratch, at a fixed address, and calls each function of the kernel once per thread. The results are then in the file.
"""

from __future__ import annotations

import functools
import shutil
import subprocess
from pathlib import Path

import numpy as np

from prism_explore.codegen.cpu.compile import cross_compile, llvm_text
from prism_explore.codegen.cpu.plan import Plan
from prism_explore.ir.tensors import numpy_dtype

TRIPLE = "aarch64-unknown-linux-gnu"
TOOLS = ("qemu-aarch64", "aarch64-linux-gnu-as", "aarch64-linux-gnu-ld")
BASE = 1 << 32
"""Where the file is mapped."""
LINE_BYTES = 128
THREADS = 2

_PROGRAM = """
.globl _start
.globl memset
.globl memcpy
_start:
  ldr x0, ={base}
  ldr x1, ={size}
  mov x2, #3        // read and write
  mov x3, #17       // shared, at this address
  mov x4, #0        // standard input
  mov x5, #0
  mov x8, #222      // mmap
  svc #0
  ldr x9, ={base}
  cmp x0, x9
  b.ne failed
{calls}
  mov x0, #0
  mov x8, #94       // exit_group
  svc #0
failed:
  mov x0, #1
  mov x8, #94
  svc #0
memset:
  mov x3, x0
1:
  cbz x2, 2f
  strb w1, [x3], #1
  sub x2, x2, #1
  b 1b
2:
  ret
memcpy:
  mov x3, x0
1:
  cbz x2, 2f
  ldrb w4, [x1], #1
  strb w4, [x3], #1
  sub x2, x2, #1
  b 1b
2:
  ret
"""
_CALL = """
  ldr x0, ={base}
  mov x1, #{thread}
  mov x2, #{threads}
  bl nest{number}
"""


@functools.cache
def emulator_lacking() -> str | None:
    """The reason why no kernel for AArch64 can run here, or None."""
    missing = [tool for tool in TOOLS if shutil.which(tool) is None]
    packages = "on Debian, apt-get install qemu-user binutils-aarch64-linux-gnu"
    return f"no {', '.join(missing)}: {packages}" if missing else None


def run_on_arm(made: Plan, inputs: list[np.ndarray], folder: Path) -> list[np.ndarray]:
    """The results of a kernel whose plan is for a CPU with AArch64.

    Args:
        made: the plan.
        inputs: the inputs, in the memory order that the plan expects.
        folder: for intermediate files.

    Returns:
        The results, in order.
    """
    loops = made.loops
    _, scratch_floats = llvm_text(loops, made.schedule, made.host, TRIPLE)
    buffers = (*loops.inputs, *loops.temporaries, *loops.outputs)
    starts, size = [], LINE_BYTES * -(-8 * (len(buffers) + 1) // LINE_BYTES)
    for span in (*(b.bytes for b in buffers), THREADS * 4 * scratch_floats):
        starts.append(size)
        size += LINE_BYTES * -(-span // LINE_BYTES)
    image = np.zeros(size, np.uint8)
    image[: 8 * len(starts)] = np.frombuffer(np.array([BASE + s for s in starts], np.int64).tobytes(), np.uint8)
    views = [_view(image, b, start) for b, start in zip(buffers, starts, strict=False)]
    for view, given in zip(views, inputs, strict=False):
        view[...] = given
    _call(cross_compile(loops, made.schedule, made.host, TRIPLE), len(loops.nests), image, folder)
    return [view.copy() for view in views[len(buffers) - len(loops.outputs) :]]


def _view(image: np.ndarray, b, start: int) -> np.ndarray:
    dtype = numpy_dtype(b.dtype)
    flat = image[start : start + b.bytes].view(dtype)
    return np.lib.stride_tricks.as_strided(flat, b.shape, [s * dtype.itemsize for s in b.strides])


def _call(assembly: str, nests: int, image: np.ndarray, folder: Path) -> None:
    """Run the functions on the image, in place."""
    calls = [
        _CALL.format(base=BASE, thread=thread, threads=THREADS, number=number)
        for number in range(nests)
        for thread in range(THREADS)
    ]
    program = _PROGRAM.format(base=BASE, size=image.size, calls="".join(calls))
    source, unlinked, executable, memory = (folder / name for name in ("k.s", "k.o", "k", "memory"))
    source.write_text(f"{assembly}\n.text\n{program}", encoding="utf-8")
    memory.write_bytes(image.tobytes())
    _, assembler, linker = TOOLS
    _run([assembler, "-march=armv8.6-a+sve", source, "-o", unlinked])
    _run([linker, unlinked, "-o", executable])
    with memory.open("r+b") as opened:
        _run([TOOLS[0], "-cpu", "max", executable], stdin=opened)
    image[:] = np.frombuffer(memory.read_bytes(), np.uint8)


def _run(command: list, **options) -> None:
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, **options)
    assert done.returncode == 0, f"{command[0]} ended with {done.returncode}: {done.stderr[:2000]}"
