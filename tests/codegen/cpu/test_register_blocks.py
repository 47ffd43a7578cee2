"""Register blocks of the dot micro-kernel: those that fit the rule need no stack and no moves."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import product

import pytest

from prism_explore.codegen.cpu.compile import cross_compile
from prism_explore.codegen.cpu.schedule import (
    COLUMNS,
    ROWS,
    complete_schedule,
    fits_registers,
    register_block,
    schedule_space,
)
from prism_explore.ir.text import parse
from prism_explore.targets.cpus import cpu_model
from tests.codegen.cpu.test_compile import planned

LINUX = "x86_64-unknown-linux-gnu"
WIDE = "+avx512f,+avx512vl,+avx512bw,+avx512dq,+avx512bf16,+fma,+f16c"
CPUS = {
    "znver4": (cpu_model("znver4", WIDE, "x86_64", 2), LINUX),
    "sapphirerapids": (cpu_model("sapphirerapids", WIDE, "x86_64", 2), LINUX),
    "haswell": (cpu_model("haswell", "+avx2,+fma,+f16c", "x86_64", 2), LINUX),
    "neoverse-v1": (cpu_model("neoverse-v1", "+neon,+bf16", "aarch64", 2), "aarch64-unknown-linux-gnu"),
    "apple-m1": (cpu_model("apple-m1", "+neon", "aarch64", 2), "aarch64-unknown-linux-gnu"),
}
MULTIPLY = r"\b(?:vfmadd\w+|vdpbf16ps|bfdot|fmla)\s"
ON_STACK = r"[xyz]mm\d+, -?\d*\(%rsp\)|\(%rsp\), %[xyz]mm|\b(?:ldr|str|ldp|stp)\s+q\d+.*\[sp"
MOVED = r"^\s+(?:vmov\w+\s+%[xyz]mm\d+, %[xyz]mm\d+$|mov\s+v\d+\.16b)"
TEXT = """sgraph
  x = input {dtype}[{m}, 4096]
  w = input {dtype}[4096, 480] order(1, 0)
  %2 = matmul(x, w)
  return %2
"""


def inner_loop(name: str, rows: int, columns: int, dtype: str = "f32") -> str:
    """The loop with the most products, from its label to the jump back."""
    cpu, triple = CPUS[name]
    made = replace(planned(parse(TEXT.format(m=rows, dtype=dtype)), {}, cpu.lanes), host=cpu)
    schedule = complete_schedule(made.loops, cpu, {"mr": rows, "nr": columns})
    blocks = re.split(r"^(\.LBB\w+):.*$", cross_compile(made.loops, schedule, cpu, triple), flags=re.MULTILINE)
    ends = [
        (body, re.search(rf"\s{re.escape(label)}$", body, re.MULTILINE))
        for label, body in zip(blocks[1::2], blocks[2::2], strict=True)
    ]
    loops = [body[: end.end()] for body, end in ends if end]
    return max(loops, key=lambda body: len(re.findall(MULTIPLY, body)))


@pytest.mark.parametrize("name", CPUS)
def test_a_block_that_fits_keeps_all_vectors_in_registers(name) -> None:
    cpu, _ = CPUS[name]
    blocks = [b for b in product(ROWS, COLUMNS) if fits_registers(*b, cpu.vector_registers)]
    loops = {(rows, columns): inner_loop(name, rows, columns) for rows, columns in blocks}

    assert {b: rows * columns for b in blocks for rows, columns in [b]} == {
        b: len(re.findall(MULTIPLY, loop)) for b, loop in loops.items()
    }
    assert [] == [b for b, loop in loops.items() if re.search(ON_STACK, loop) or re.search(MOVED, loop, re.MULTILINE)]


@pytest.mark.parametrize(("name", "multiply"), [("sapphirerapids", "vdpbf16ps"), ("neoverse-v1", "bfdot")])
def test_the_usual_blocks_of_bfloat16_pairs_fit_too(name, multiply) -> None:
    for m in (1, 2, 4, 6, 8):
        rows, columns = register_block(m, 32)
        loop = inner_loop(name, rows, columns, "bf16")

        assert rows * columns == loop.count(multiply)
        assert not re.search(ON_STACK, loop)


def test_a_block_that_does_not_fit_spills() -> None:
    loop = inner_loop("sapphirerapids", 8, 4)

    assert not fits_registers(8, 4, 32)
    assert re.search(ON_STACK, loop)


@pytest.mark.parametrize("registers", [16, 32])
def test_the_usual_block_fits_for_any_number_of_rows(registers) -> None:
    assert all(fits_registers(*register_block(m, registers), registers) for m in range(1, 40))
    assert (8, 3) == register_block(8, 32)
    assert (6, 4) == register_block(16, 32)
    assert (4, 3) == register_block(16, 16)


def test_blocks_that_do_not_fit_stay_legal_for_kernels_that_were_saved_with_them() -> None:
    cpu, _ = CPUS["znver4"]
    made = planned(parse(TEXT.format(m=8, dtype="f32")), {}, cpu.lanes)
    old = {"mr": 8, "nr": 4, "kv": 1, "panel": 1}

    complete = dict(complete_schedule(made.loops, cpu, old))
    assert old.items() <= complete.items()
    assert 0 == complete["kc"], "without the later choice the kernel is the same as before"
    assert {c.name: c.values[0] for c in schedule_space(made.loops, cpu)}.items() >= {"mr": 8, "nr": 3}.items()
