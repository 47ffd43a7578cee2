# pyright: basic
# llvmlite ships no types.
"""Microbenchmarks that measure the roofline's ceilings: loops that only read memory, or only multiply and add.

A kernel can at best reach the rates of these loops. Bandwidth depends on the access pattern: a single stream per core
was 1.4 times slower than eight rows with the next rows prefetched into L2. So there are several read patterns, and the
fastest counts.

The loops are generated as LLVM IR. They run on torch's OpenMP thread pool if torch is installed, so that starting them
costs as much as starting a kernel.
"""

from __future__ import annotations

import ctypes
import importlib.util
import platform
import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

from prism_explore.targets.cpus import CpuModel, cores, host_cpu

ROW_FLOATS = 4096
"""Length of a row in the read patterns: 16 KB, as in a weight matrix of a language model."""

LINE_FLOATS = 16
"""Distance of what is flushed: the shortest cache line, 64 bytes."""

READ_PATTERNS: tuple[tuple[str, int, bool], ...] = (
    ("one stream per core", 1, False),
    ("4 rows, next rows prefetched", 4, True),
    ("8 rows", 8, False),
    ("8 rows, next rows prefetched", 8, True),
)
"""Name, number of rows read concurrently, whether the next rows are prefetched into L2."""


@dataclass(frozen=True, slots=True)
class CeilingLoop:
    """A compiled loop that runs on all cores and returns when it is done."""

    name: str
    _run: Callable[[int, int], None]
    _flops: int = 1
    """Of one iteration."""

    def read(self, buffer: np.ndarray) -> None:
        """Read every element of a contiguous float32 array; its size is a multiple of 8 rows per core."""
        self._run(buffer.ctypes.data, buffer.size)

    def compute(self, flops: float) -> None:
        """Execute at least `flops` floating-point operations, spread over the cores."""
        self._run(0, max(1, int(flops / self._flops)))


def core_wait_s() -> float:
    """Seconds that threads of this process have waited for a core so far; 0 if the system does not report it."""
    total = 0
    try:
        for task in Path("/proc/self/task").iterdir():
            try:
                total += int((task / "schedstat").read_text().split()[1])
            except (OSError, IndexError, ValueError):
                continue
    except OSError:
        return 0.0
    return total / 1e9


def read_loops(threads: int | None = None) -> tuple[CeilingLoop, ...]:
    """One loop per read pattern."""
    return tuple(
        CeilingLoop(f"read: {name}", _compiled(_read_ir(rows, prefetch, host_cpu()), threads or cores()))
        for name, rows, prefetch in READ_PATTERNS
    )


def fma_loop(threads: int | None = None) -> CeilingLoop:
    """Fused multiply-adds on registers."""
    cpu = host_cpu()
    return CeilingLoop("multiply-add", _compiled(_fma_ir(cpu), threads or cores()), 2 * cpu.lanes * _chains(cpu))


def bf16_loop(threads: int | None = None) -> CeilingLoop | None:
    """The fastest products of bfloat16 pairs with float32 accumulators; None if the CPU has no instruction for them.

    In tiles of AMX where this process may use them, else in vectors.
    """
    cpu = host_cpu()
    if cpu.has_amx_bf16:
        return CeilingLoop("tiles of bfloat16", _compiled(_tiles_ir(), threads or cores()), 4 * 2 * 16 * 16 * 32)
    if not cpu.bf16_dot:
        return None
    return CeilingLoop("pairs of bfloat16", _compiled(_pairs_ir(cpu), threads or cores()), 4 * cpu.lanes * _chains(cpu))


def empty_loop(threads: int | None = None) -> CeilingLoop:
    """No work: measures the launch cost."""
    return CeilingLoop("empty", _compiled(_EMPTY_IR, threads or cores()))


def flush_loop() -> CeilingLoop | None:
    """Removes what it is given to read from all caches, on one thread; None where no instruction is known for that."""
    instruction = _FLUSH.get(platform.machine().lower())
    return None if instruction is None else CeilingLoop("flush", _compiled(_flush_ir(instruction), 1))


# ---------------------------------------------------------------- the loops
_EMPTY_IR = """
define void @work(i64 %base, i64 %count, i64 %tid, i64 %threads) {
  ret void
}
"""


_FLUSH = {
    "x86_64": "clflush ($0)",
    "amd64": "clflush ($0)",
    "aarch64": "dc civac, $0",
}
"""The instruction that removes a line from all caches, by the name of the architecture."""


def _flush_ir(instruction: str) -> str:
    return f"""
define void @work(i64 %base, i64 %count, i64 %tid, i64 %threads) {{
entry:
  %start = inttoptr i64 %base to ptr
  br label %lines
lines:
  %i = phi i64 [ 0, %entry ], [ %next, %lines ]
  %here = getelementptr float, ptr %start, i64 %i
  call void asm sideeffect "{instruction}", "r,~{{memory}}"(ptr %here)
  %next = add i64 %i, {LINE_FLOATS}
  %more = icmp ult i64 %next, %count
  br i1 %more, label %lines, label %finish
finish:
  fence seq_cst
  ret void
}}
"""


def _read_ir(rows: int, prefetch: bool, cpu: CpuModel) -> str:
    """Each thread reads panels of `rows` rows; within a panel all rows advance together, by a cache line."""
    width, line = cpu.lanes, cpu.line_elements(4)
    vec = f"<{width} x float>"
    body: list[str] = []
    for r in range(rows):
        body += [
            f"  %at{r} = add i64 %column, {r * ROW_FLOATS}",
            f"  %here{r} = getelementptr float, ptr %panel, i64 %at{r}",
        ]
        sums = [f"%sum{r}", *(f"%sum{r}_{start}" for start in range(width, line, width)), f"%next{r}"]
        for start, old, new in zip(range(0, line, width), sums, sums[1:], strict=False):
            body += [
                f"  %place{r}_{start} = getelementptr float, ptr %here{r}, i64 {start}",
                f"  %load{r}_{start} = load {vec}, ptr %place{r}_{start}, align 4",
                f"  {new} = fadd fast {vec} {old}, %load{r}_{start}",
            ]
        if prefetch:
            body += [
                f"  %following{r} = getelementptr float, ptr %here{r}, i64 {rows * ROW_FLOATS}",
                f"  call void @llvm.prefetch.p0(ptr %following{r}, i32 0, i32 2, i32 1)",
            ]
    carried = [f"  %sum{r} = phi {vec} [ %keep{r}, %panels ], [ %next{r}, %columns ]" for r in range(rows)]
    kept = [f"  %keep{r} = phi {vec} [ zeroinitializer, %entry ], [ %next{r}, %done ]" for r in range(rows)]
    total, folds = "%keep0", []
    for r in range(1, rows):
        folds.append(f"  %fold{r} = fadd fast {vec} {total}, %keep{r}")
        total = f"%fold{r}"
    lines = [
        "declare void @llvm.prefetch.p0(ptr, i32, i32, i32)",
        "define void @work(i64 %base, i64 %count, i64 %tid, i64 %threads) {",
        "entry:",
        "  %start = inttoptr i64 %base to ptr",
        f"  %all = udiv i64 %count, {rows * ROW_FLOATS}",
        "  %low0 = mul i64 %all, %tid",
        "  %low = udiv i64 %low0, %threads",
        "  %more = add i64 %tid, 1",
        "  %high0 = mul i64 %all, %more",
        "  %high = udiv i64 %high0, %threads",
        "  br label %panels",
        "panels:",
        "  %p = phi i64 [ %low, %entry ], [ %p1, %done ]",
        *kept,
        "  %left = icmp ult i64 %p, %high",
        "  br i1 %left, label %columns, label %finish",
        "columns:",
        "  %column = phi i64 [ 0, %panels ], [ %column1, %columns ]",
        *carried,
        f"  %offset = mul i64 %p, {rows * ROW_FLOATS}",
        "  %panel = getelementptr float, ptr %start, i64 %offset",
        *body,
        f"  %column1 = add i64 %column, {line}",
        f"  %inside = icmp ult i64 %column1, {ROW_FLOATS}",
        "  br i1 %inside, label %columns, label %done",
        "done:",
        "  %p1 = add i64 %p, 1",
        "  br label %panels",
        "finish:",
        *folds,
        *_sink(vec, total),
        "  ret void",
        "}",
    ]
    return "\n".join(lines)


def _chains(cpu: CpuModel) -> int:
    """Independent accumulators: enough to hide the latency of multiply-adds, four pipelines of four cycles on Arm."""
    return 3 * cpu.vector_registers // 4


def _fma_ir(cpu: CpuModel) -> str:
    width = cpu.lanes
    vec = f"<{width} x float>"
    half, fma = f"{vec} {_all(width, 'float 0.5')}", f"@llvm.fma.v{width}f32"
    return _chains_ir(
        cpu,
        f"declare {vec} {fma}({vec}, {vec}, {vec})",
        lambda c: f"call {vec} {fma}({vec} %sum{c}, {half}, {half})",
    )


def _pairs_ir(cpu: CpuModel) -> str:
    width = cpu.lanes
    vec, short, dot = f"<{width} x float>", f"<{2 * width} x bfloat>", f"@{cpu.bf16_dot.format(bits=32 * width)}"
    half = f"{short} {_all(2 * width, 'bfloat 0.5')}"
    return _chains_ir(
        cpu,
        f"declare {vec} {dot}({vec}, {short}, {short})",
        lambda c: f"call {vec} {dot}({vec} %sum{c}, {half}, {half})",
    )


def _tiles_ir() -> str:
    """Four sums of products of two tiles with two, which are read from the first cache: what a block of 2 x 2 does."""
    shape, operands = "i16 16, i16 64", ("a0", "a1", "b0", "b1")
    totals = [(f"s{r}{c}", f"a{r}", f"b{c}") for r in range(2) for c in range(2)]
    lines = [
        "declare x86_amx @llvm.x86.tilezero.internal(i16, i16)",
        "declare x86_amx @llvm.x86.tileloadd64.internal(i16, i16, ptr, i64)",
        "declare void @llvm.x86.tilestored64.internal(i16, i16, ptr, i64, x86_amx)",
        "declare x86_amx @llvm.x86.tdpbf16ps.internal(i16, i16, i16, x86_amx, x86_amx, x86_amx)",
        "define void @work(i64 %base, i64 %count, i64 %tid, i64 %threads) {",
        "entry:",
        *(f"  %{name} = alloca [1024 x i8], align 64" for name in operands),
        *(f"  store [1024 x i8] zeroinitializer, ptr %{name}" for name in operands),
        "  %up = add i64 %count, %threads",
        "  %share = udiv i64 %up, %threads",
        *(f"  %zero_{t} = call x86_amx @llvm.x86.tilezero.internal({shape})" for t, _, _ in totals),
        "  br label %again",
        "again:",
        "  %i = phi i64 [ 0, %entry ], [ %i1, %again ]",
        *(f"  %{t} = phi x86_amx [ %zero_{t}, %entry ], [ %next_{t}, %again ]" for t, _, _ in totals),
        *(f"  %tile_{o} = call x86_amx @llvm.x86.tileloadd64.internal({shape}, ptr %{o}, i64 64)" for o in operands),
        *(
            f"  %next_{t} = call x86_amx @llvm.x86.tdpbf16ps.internal({shape}, i16 64, x86_amx %{t}, "
            f"x86_amx %tile_{a}, x86_amx %tile_{b})"
            for t, a, b in totals
        ),
        "  %i1 = add i64 %i, 1",
        "  %more = icmp ule i64 %i1, %share",
        "  br i1 %more, label %again, label %finish",
        "finish:",
        *(
            f"  call void @llvm.x86.tilestored64.internal({shape}, ptr %a0, i64 64, x86_amx %next_{t})"
            for t, _, _ in totals
        ),
        "  ret void",
        "}",
    ]
    return "\n".join(lines)


def _all(width: int, number: str) -> str:
    return "<" + ", ".join([number] * width) + ">"


def _chains_ir(cpu: CpuModel, declared: str, step: Callable[[int], str]) -> str:
    vec, constant, chains = f"<{cpu.lanes} x float>", _all(cpu.lanes, "float 0.5"), range(_chains(cpu))
    total, folds = "%next0", []
    for c in chains[1:]:
        folds.append(f"  %fold{c} = fadd fast {vec} {total}, %next{c}")
        total = f"%fold{c}"
    lines = [
        declared,
        "define void @work(i64 %base, i64 %count, i64 %tid, i64 %threads) {",
        "entry:",
        "  %up = add i64 %count, %threads",
        "  %share = udiv i64 %up, %threads",
        "  br label %again",
        "again:",
        "  %i = phi i64 [ 0, %entry ], [ %i1, %again ]",
        *(f"  %sum{c} = phi {vec} [ {constant}, %entry ], [ %next{c}, %again ]" for c in chains),
        *(f"  %next{c} = {step(c)}" for c in chains),
        "  %i1 = add i64 %i, 1",
        "  %more = icmp ule i64 %i1, %share",
        "  br i1 %more, label %again, label %finish",
        "finish:",
        *folds,
        *_sink(vec, total),
        "  ret void",
        "}",
    ]
    return "\n".join(lines)


def _sink(vec: str, value: str) -> list[str]:
    """A volatile store of the result, so that the optimizer does not remove the loop."""
    return [f"  %sink = alloca {vec}", f"  store volatile {vec} {value}, ptr %sink"]


# ---------------------------------------------------------------- compiling and running
@lru_cache(1)
def _llvm():
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    llvm.initialize_native_asmparser()  # for the instruction that flushes caches
    return llvm


@lru_cache(1)
def _openmp() -> ctypes.CDLL | None:
    """The OpenMP runtime in torch's installation, found without importing torch; None if there is none."""
    spec = importlib.util.find_spec("torch")
    if spec is None or spec.origin is None:
        return None
    for found in sorted((Path(spec.origin).parent / "lib").glob("libgomp*.so*")):
        try:
            library = ctypes.CDLL(str(found))
        except OSError:
            continue
        if hasattr(library, "GOMP_parallel"):
            return library
    return None


_ON_POOL = """
declare i32 @omp_get_thread_num()
declare i32 @omp_get_num_threads()
define void @on_pool(ptr %arguments) {
  %base = load i64, ptr %arguments
  %second = getelementptr i64, ptr %arguments, i64 1
  %count = load i64, ptr %second
  %tid32 = call i32 @omp_get_thread_num()
  %threads32 = call i32 @omp_get_num_threads()
  %tid = zext i32 %tid32 to i64
  %threads = zext i32 %threads32 to i64
  call void @work(i64 %base, i64 %count, i64 %tid, i64 %threads)
  ret void
}
"""


@lru_cache(32)
def _compiled(ir: str, threads: int) -> Callable[[int, int], None]:
    llvm = _llvm()
    pool = _openmp() if threads > 1 else None
    if pool is not None:
        for symbol in ("omp_get_thread_num", "omp_get_num_threads"):
            address = ctypes.cast(getattr(pool, symbol), ctypes.c_void_p).value
            llvm.add_symbol(symbol, address)
    module = llvm.parse_assembly(ir + (_ON_POOL if pool is not None else ""))
    module.verify()
    cpu = host_cpu()
    machine = llvm.Target.from_default_triple().create_target_machine(
        cpu=cpu.name,
        features=cpu.features,
        opt=3,
        codemodel="jitdefault",
    )
    engine = llvm.create_mcjit_compiler(module, machine)
    engine.finalize_object()
    if pool is not None:
        entry = ctypes.c_void_p(engine.get_function_address("on_pool"))

        def on_pool(base: int, count: int) -> None:
            assert engine, "keeps the engine, which owns the machine code, alive"
            arguments = (ctypes.c_int64 * 2)(base, count)
            pool.GOMP_parallel(entry, arguments, ctypes.c_uint(threads), ctypes.c_uint(0))

        return on_pool
    signature = ctypes.CFUNCTYPE(None, *[ctypes.c_int64] * 4)
    work = signature(engine.get_function_address("work"))

    def on_threads(base: int, count: int) -> None:
        assert engine, "keeps the engine, which owns the machine code, alive"
        others = [threading.Thread(target=work, args=(base, count, t, threads)) for t in range(1, threads)]
        for thread in others:
            thread.start()
        work(base, count, 0, threads)
        for thread in others:
            thread.join()

    return on_threads
