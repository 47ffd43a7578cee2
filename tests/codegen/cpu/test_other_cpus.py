"""Code for other CPUs: the assembly of vector code for Arm; code for older x86 CPUs, run here."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from prism_explore.codegen.cpu.compile import cross_compile
from prism_explore.codegen.cpu.load import load_plan
from prism_explore.codegen.cpu.plan import Plan
from prism_explore.codegen.cpu.schedule import complete_schedule
from prism_explore.ir.text import parse
from prism_explore.targets.cpus import CpuModel, cpu_model, host_cpu
from tests.codegen.corpus import CASES, filled, reference, relative_error
from tests.codegen.cpu.test_compile import planned
from tests.codegen.wider import WIDER

ARM = cpu_model("neoverse-n1", "+neon", "aarch64", 2)
TRIPLE = "aarch64-unknown-linux-gnu"
PLAIN = cpu_model("x86-64", "", "x86_64", 2)
"""The first 64-bit x86: SSE2, no fused multiply-add."""
HASWELL = cpu_model("haswell", "+avx2,+fma,+f16c,+bmi,+bmi2", "x86_64", 2)
"""AVX2: 16 registers of 8 lanes, no mask registers."""
EIGHT_ROWS = """sgraph
  x = input f32[8, 4096]
  w = input f32[4096, 64] order(1, 0)
  %2 = matmul(x, w)
  return %2
"""
"""A block of 8 x 4 sums with its operands needs more vectors than there are registers."""
NUMBERS = dict.fromkeys(("gx", "gy", "gz", "ge", "f", "h"), 2) | {"b": 5, "tb": 3, "ks": 24, "tn": 40, "d": 24}
EVERY = {c.name: c for c in (*CASES, *WIDER)}


def planned_for(case, there: CpuModel) -> tuple[Plan, dict[str, int]]:
    sizes = case.sizes({symbol: NUMBERS.get(symbol, 8) for symbol in case.free})
    here = planned(parse(case.text), sizes, there.lanes)
    return replace(here, host=there, schedule=complete_schedule(here.loops, there, {})), sizes


def lacking(there: CpuModel) -> str | None:
    """The reason why code for an x86 cannot run here, or None."""
    here = set(host_cpu().features.split(","))
    if "+sse2" not in here:
        return "this CPU is no x86-64"
    missing = [feature for feature in there.features.split(",") if feature and feature not in here]
    return f"this CPU lacks {', '.join(missing)}" if missing else None


def arm(case) -> str:
    made, _ = planned_for(case, ARM)
    return cross_compile(made.loops, made.schedule, ARM, TRIPLE)


def loops(assembly: str) -> list[str]:
    """What lies between a label and a jump back to it, without loops inside."""
    blocks = re.split(r"^(\.LBB\w+):.*$", assembly, flags=re.MULTILINE)
    found = []
    for label, body in zip(blocks[1::2], blocks[2::2], strict=True):
        if re.search(rf"\b(?:b\.\w+|cbnz|tbnz|tbz|cbz)\s+(?:\w+,\s*)*{re.escape(label)}\b", body):
            found.append(body)
    return found


@pytest.mark.parametrize("name", ["rms_eps", "rms_eps_nk", "gated", "lora", "attention"])
def test_the_inner_loop_of_a_product_on_arm_is_fused_vector_multiply_adds(name) -> None:
    assembly = arm(EVERY[name])
    inner = max(loops(assembly), key=lambda body: body.count("fmla"))

    assert re.search(r"fmla\s+v\d+\.4s, v\d+\.4s", inner)
    assert re.search(r"\bld[rp]\s+q\d+|ld1\s+\{ ?v\d+\.4s", inner)
    assert " xmm" not in assembly


@pytest.mark.parametrize("name", EVERY)
def test_every_kernel_compiles_for_arm_and_calls_no_mathematics_of_others(name) -> None:
    called = set(re.findall(r"^\s+bl\s+(\w+)", arm(EVERY[name]), re.MULTILINE))

    assert called <= {"memcpy", "memset", "memmove"}


@pytest.mark.parametrize(
    ("there", "vector"),
    [
        (cpu_model("skylake-avx512", "+avx512f,+avx512vl,+avx512bw,+avx512dq,+fma", "x86_64", 2), "zmm"),
        (HASWELL, "ymm"),
    ],
)
def test_a_vector_that_finds_no_register_lies_in_one_cache_line(there, vector) -> None:
    made = planned(parse(EIGHT_ROWS), {}, there.lanes)
    schedule = complete_schedule(made.loops, there, {"mr": 8, "nr": 4})
    assembly = cross_compile(made.loops, schedule, there, "x86_64-unknown-linux-gnu")

    assert re.search(rf"%{vector}\d+, -?\d*\(%rsp\)", assembly)
    assert f"andq\t$-{4 * there.lanes}, %rsp" in assembly


@pytest.mark.parametrize("there", [PLAIN, HASWELL], ids=["first x86-64", "haswell"])
@pytest.mark.parametrize("name", EVERY)
def test_the_same_kernel_for_an_older_x86_is_right(name, there) -> None:
    if missing := lacking(there):
        pytest.skip(missing)
    case = EVERY[name]
    made, sizes = planned_for(case, there)
    graph = parse(case.text)
    inputs = filled(graph, sizes)

    assert relative_error(reference(graph, inputs, sizes), load_plan(made)(*inputs.values())) < 1e-5


@pytest.mark.parametrize("name", ["gated", "attention", "causal_flash"])
def test_code_for_avx2_has_vectors_of_eight_and_no_instruction_of_avx512(name) -> None:
    made, _ = planned_for(EVERY[name], HASWELL)
    assembly = cross_compile(made.loops, made.schedule, HASWELL, "x86_64-unknown-linux-gnu")

    assert re.search(r"vfmadd\w+ps.*%ymm", assembly)
    assert not re.search(r"%zmm|%k[0-7]|%[xy]mm(?:1[6-9]|[23]\d)", assembly)


def test_float16_without_its_instructions_is_refused_and_bfloat16_is_not() -> None:
    from unittest.mock import patch

    from prism_explore.codegen.cpu.plan import plan
    from prism_explore.pipeline.stages import Parameters

    text = "sgraph\n  x = input {}[4, 8]\n  %1 = square(x)\n  return %1\n"
    with patch("prism_explore.codegen.cpu.plan.host_cpu", lambda: replace(host_cpu(), converts_f16=False)):
        refused = plan(parse(text.format("f16")), Parameters(()), {})
        taken = plan(parse(text.format("bf16")), Parameters(()), {})

    assert "x is f16, which this CPU does not convert; take bf16 or f32" == refused
    assert isinstance(taken, Plan)
