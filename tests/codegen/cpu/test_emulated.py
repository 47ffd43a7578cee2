"""Kernels for AArch64 run in an emulator: the corpus, the micro-kernels, 16-bit storage, cache lines of 128 bytes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from prism_explore.codegen.cpu.passes.bf16_operands import with_bf16_operands
from prism_explore.codegen.cpu.schedule import complete_schedule, schedule_space
from prism_explore.ir.tensors import numpy_dtype
from prism_explore.ir.text import parse
from prism_explore.targets.cpus import CpuModel, cpu_model
from tests.codegen.corpus import filled, reference, relative_error
from tests.codegen.cpu.emulated_arm import emulator_lacking, run_on_arm
from tests.codegen.cpu.test_compile import planned
from tests.codegen.cpu.test_other_cpus import ARM, EVERY, planned_for

pytestmark = pytest.mark.skipif(emulator_lacking() is not None, reason=str(emulator_lacking()))

PAIRS = cpu_model("neoverse-v1", "+neon,+bf16", "aarch64", 2)
APPLE = cpu_model("apple-m1", "+neon", "aarch64", 2)
PRODUCT = """sgraph
  x = input {dtype}[{m}, {k}]
  w = input {dtype}[{k}, {n}]{order}
  %2 = matmul(x, w)
  return %2
"""
COLUMNS, ROWS = " order(1, 0)", ""
"""What of the right operand is contiguous: its columns, as an nn.Linear stores it, or its rows."""


def error_on_arm(name: str, there: CpuModel, folder) -> float:
    case = EVERY[name]
    made, sizes = planned_for(case, there)
    graph = parse(case.text)
    inputs = filled(graph, sizes)
    wanted = reference(graph, inputs, sizes)
    found = run_on_arm(made, list(inputs.values()), folder)
    several = wanted if isinstance(wanted, tuple) else (wanted,)
    return max(relative_error(w, f) for w, f in zip(several, found, strict=True))


@pytest.mark.parametrize("name", EVERY)
def test_the_kernel_for_arm_is_right(name, tmp_path) -> None:
    assert error_on_arm(name, ARM, tmp_path) < 1e-5


@pytest.mark.parametrize("name", ["rms_eps", "gated", "lora", "attention", "flash"])
def test_with_cache_lines_of_128_bytes_the_kernel_is_right(name, tmp_path) -> None:
    assert 128 == APPLE.line_bytes
    assert error_on_arm(name, APPLE, tmp_path) < 1e-5


def product_on_arm(there: CpuModel, m: int, dtype: str, order: str, folder, **schedule: int):
    """Operands and result of a product whose extents have tails of vectors, of lines and of register blocks."""
    graph = parse(PRODUCT.format(m=m, k=150, n=37, dtype=dtype, order=order))
    loops = planned(graph, {}, there.lanes).loops
    if there.bf16_dot:
        loops = with_bf16_operands(loops)
    made = replace(planned(graph, {}, there.lanes), loops=loops, host=there)
    made = replace(made, schedule=complete_schedule(loops, there, schedule))
    rng = np.random.default_rng(m)
    x, w = (rng.standard_normal(shape).astype(numpy_dtype(dtype)) for shape in ((m, 150), (150, 37)))
    return made, x.astype(np.float64), w.astype(np.float64), run_on_arm(made, [x, w], folder)[0].astype(np.float64)


@pytest.mark.parametrize("there", [ARM, APPLE], ids=["lines of 64 bytes", "lines of 128 bytes"])
@pytest.mark.parametrize("order", [COLUMNS, ROWS], ids=["columns", "rows"])
@pytest.mark.parametrize("m", [1, 8, 19])
def test_products_with_tails_are_right(m, order, there, tmp_path) -> None:
    _, x, w, found = product_on_arm(there, m, "f32", order, tmp_path)

    assert relative_error(x @ w, found) < 1e-6


def test_rows_in_the_lanes_are_offered_and_right(tmp_path) -> None:
    made, *_ = product_on_arm(ARM, 19, "f32", COLUMNS, tmp_path)
    vectors = max(next(c.values for c in schedule_space(made.loops, ARM) if c.name == "outer"))
    made, x, w, found = product_on_arm(ARM, 19, "f32", COLUMNS, tmp_path, outer=vectors)

    assert "outer:" in made.source
    assert relative_error(x @ w, found) < 1e-6


@pytest.mark.parametrize("m", [1, 8, 19])
def test_bfloat16_is_multiplied_in_pairs_where_the_cpu_does(m, tmp_path) -> None:
    made, x, w, found = product_on_arm(PAIRS, m, "bf16", COLUMNS, tmp_path)

    assert "bfloat16 in pairs" in made.source
    assert "bfdot" in (tmp_path / "k.s").read_text()
    assert (np.abs(found - x @ w) <= 2.0**-8 * np.abs(x @ w) + 2e-6 * (np.abs(x) @ np.abs(w))).all()


@pytest.mark.parametrize("dtype", ["bf16", "f16"])
def test_16_bits_are_only_storage_elsewhere(dtype, tmp_path) -> None:
    _, x, w, found = product_on_arm(ARM, 8, dtype, COLUMNS, tmp_path)

    unit = {"bf16": 2.0**-8, "f16": 2.0**-11}[dtype]
    assert "bfdot" not in (tmp_path / "k.s").read_text()
    assert (np.abs(found - x @ w) <= unit * np.abs(x @ w) + 2e-6 * (np.abs(x) @ np.abs(w))).all()
