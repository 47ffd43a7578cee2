"""The micro-kernel with rows of the target in the lanes: results, choices, and assembly."""

from __future__ import annotations

import re
from dataclasses import replace
from math import prod

import pytest

from prism_explore.codegen.cpu.compile import cross_compile
from prism_explore.codegen.cpu.outer_microkernel import elements_per_iteration
from prism_explore.codegen.cpu.schedule import complete_schedule, schedule_space
from prism_explore.ir.program import ProgramBuilder
from prism_explore.ir.text import parse
from prism_explore.targets.cpus import host_cpu
from tests.codegen.cpu.test_compile import BY_NAME, TOLERANCE, error_of, planned
from tests.codegen.cpu.test_register_blocks import CPUS, MULTIPLY, ON_STACK, TEXT


def product(m: int, k: int, n: int):
    b = ProgramBuilder("product")
    return b.build(b.matmul(b.input("x", m, k), b.input("w", k, n, order=(1, 0)))).graph


@pytest.mark.parametrize("lanes", [16, 8, 4])
@pytest.mark.parametrize(
    ("m", "k", "n"), [(16, 64, 32), (9, 37, 19), (17, 16, 8), (64, 48, 13), (70, 33, 21), (130, 20, 6), (16, 15, 3)]
)
def test_a_product_of_any_shape_is_right(m, k, n, lanes) -> None:
    space = schedule_space(planned(product(m, k, n), {}, lanes).loops, replace(host_cpu(), lanes=lanes))
    vectors = max(next((c.values for c in space if c.name == "outer"), (0,)))
    if not vectors:
        pytest.skip("this CPU has too few vector registers")

    assert "outer" in planned(product(m, k, n), {}, lanes, outer=vectors).source
    assert error_of(product(m, k, n), {}, lanes, outer=vectors) < TOLERANCE


@pytest.mark.parametrize("name", ["rms_eps_nk", "lora", "gated_mixed"])
@pytest.mark.parametrize("oc", [4, 6, 8])
def test_kernels_with_loops_and_several_products_are_right(name, oc) -> None:
    case = BY_NAME[name]
    sizes = case.sizes(dict.fromkeys(case.free, 2) | {"b": 19, "ks": 40, "tn": 24, "r": 16, "d": 24})
    space = {c.name: c.values for c in schedule_space(planned(case.graph, sizes).loops, host_cpu())}
    if "outer" not in space:
        pytest.skip("the main product of this kernel does not have rows of k, or this CPU too few registers")

    assert error_of(case.graph, sizes, outer=max(space["outer"]), oc=oc) < TOLERANCE


def test_long_sums_stay_accurate() -> None:
    space = {c.name: c.values for c in schedule_space(planned(product(32, 8192, 16), {}).loops, host_cpu())}
    chosen = {"outer": max(space["outer"])} if "outer" in space else {}

    assert error_of(product(32, 8192, 16), {}, **chosen) < TOLERANCE


@pytest.mark.parametrize("m", [16, 32, 48, 64])
@pytest.mark.parametrize("name", ["znver4", "sapphirerapids", "neoverse-v1"])
def test_the_inner_loop_keeps_all_sums_in_registers_and_takes_none_across_lanes(name, m) -> None:
    cpu, triple = CPUS[name]
    made = replace(planned(parse(TEXT.format(m=m, dtype="f32")), {}, cpu.lanes), host=cpu)
    space = {c.name: c.values for c in schedule_space(made.loops, cpu)}
    schedule = complete_schedule(made.loops, cpu, {"outer": max(space["outer"])})
    assembly = cross_compile(made.loops, schedule, cpu, triple)
    blocks = re.split(r"^(\.LBB\w+):.*$", assembly, flags=re.MULTILINE)
    bodies = [re.split(rf"\s{re.escape(at)}$", body, flags=re.MULTILINE)[0]
              for at, body in zip(blocks[1::2], blocks[2::2], strict=True)]  # fmt: skip
    inner = max(bodies, key=lambda body: len(re.findall(MULTIPLY, body)))

    block = max(space["outer"]), space["oc"][0]
    assert elements_per_iteration(*block) * prod(block) == len(re.findall(MULTIPLY, inner)) >= 32
    assert not re.search(ON_STACK, inner)


def test_rows_in_the_lanes_come_first_where_two_wide_multiply_adds_start_per_cycle() -> None:
    cpu, _ = CPUS["sapphirerapids"]
    two = replace(cpu, has_two_wide_fmas=True)

    def values(m: int, there, dtype: str = "f32") -> dict[str, tuple[int, ...]]:
        made = planned(parse(TEXT.format(m=m, dtype=dtype)), {}, cpu.lanes)
        return {c.name: c.values for c in schedule_space(made.loops, there)}

    assert (1, 0) == values(16, two)["outer"]
    assert (2, 0) == values(32, two)["outer"]
    assert (0, 1) == values(16, cpu)["outer"]
    assert (0, 1) == values(12, two)["outer"]
    assert "outer" not in values(8, two)
    assert "outer" not in values(16, two, "bf16")


def test_a_kernel_saved_before_the_choice_existed_stays_a_dot() -> None:
    cpu = replace(CPUS["sapphirerapids"][0], has_two_wide_fmas=True)
    made = planned(parse(TEXT.format(m=16, dtype="f32")), {}, cpu.lanes)

    assert 0 == dict(complete_schedule(made.loops, cpu, {"mr": 6, "nr": 4}))["outer"]
    assert 1 == dict(complete_schedule(made.loops, cpu, {}))["outer"]
