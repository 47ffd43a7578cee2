"""The function builder: loads and stores, reductions across lanes, loops, and function attributes."""

from __future__ import annotations

import ctypes
from dataclasses import replace

import ml_dtypes
import numpy as np
import pytest

from prism_explore.codegen.cpu.llvm.builder import FunctionBuilder, Memory, module_text, new_module
from prism_explore.codegen.cpu.llvm.jit import JitModule
from prism_explore.targets.cpus import host_cpu

WIDTHS = (16, 8, 4)


def call(write, arrays: list[np.ndarray], lanes: int) -> None:
    """Compile `write(function, *pointers)` and run it once on these arrays."""
    module = new_module()
    cpu = replace(host_cpu(), lanes=lanes)
    builder = FunctionBuilder(module, "f", len(arrays), cpu)
    write(builder, *map(Memory, builder.arguments))
    builder.finish()
    machine = JitModule(module_text(module, lanes), cpu)
    code = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)(machine.address("f"))
    pointers = (ctypes.c_int64 * len(arrays))(*(a.ctypes.data for a in arrays))
    code(ctypes.addressof(pointers), 0, 1)


@pytest.mark.parametrize("lanes", [0, 1, 5, 16])
@pytest.mark.parametrize("step", [-3, 0, 1, 4])
def test_a_band_is_one_between_its_bounds(lanes, step) -> None:
    out = np.full(16, 9, np.float32)

    call(lambda builder, b: builder.store(builder.in_range(2, step, -5, 12, lanes), b, 0), [out], 16)

    width = max(lanes, 1)
    expected = [float(-5 <= 2 + step * lane <= 12) for lane in range(width)]
    np.testing.assert_array_equal(expected, out[:width])


@pytest.mark.parametrize("lanes", [1, 3, 4, 11, 16])
def test_a_vector_has_a_largest_number(lanes) -> None:
    x = np.random.default_rng(0).standard_normal(16).astype(np.float32)
    out = np.zeros(1, np.float32)

    call(lambda builder, a, b: builder.store(builder.reduce_max(builder.load(a, 0, lanes)), b, 0), [x, out], 16)

    assert out[0] == x[:lanes].max()


@pytest.mark.parametrize("lanes", [1, 3, 4, 16])
def test_a_vector_with_something_that_is_no_number_has_no_largest_number(lanes) -> None:
    for lane in range(lanes):
        x = np.arange(16, dtype=np.float32)
        x[lane] = np.nan
        out = np.zeros(1, np.float32)
        call(lambda builder, a, b: builder.store(builder.reduce_max(builder.load(a, 0, lanes)), b, 0), [x, out], 16)

        assert np.isnan(out[0])


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("lanes", range(1, 16))
def test_a_ragged_vector_touches_only_its_lanes(width, lanes) -> None:
    if lanes >= width:
        return
    x = np.arange(1, 33, dtype=np.float32)
    out = np.zeros(32, np.float32)

    call(lambda builder, a, b: builder.store(builder.load(a, 3, lanes), b, 5), [x, out], width)

    expected = np.zeros(32, np.float32)
    expected[5 : 5 + lanes] = x[3 : 3 + lanes]
    np.testing.assert_array_equal(expected, out)


@pytest.mark.parametrize("stride", [0, 2, 7])
def test_strided_lanes_are_gathered_and_scattered(stride) -> None:
    x = np.arange(64, dtype=np.float32)
    out = np.zeros(64, np.float32)

    call(lambda builder, a, b: builder.store(builder.load(a, 1, 8, stride), b, 2, 3), [x, out], 8)

    expected = np.zeros(64, np.float32)
    expected[2 : 2 + 24 : 3] = x[1 + stride * np.arange(8)]
    np.testing.assert_array_equal(expected, out)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("count", [1, 2, 3, 4, 7, 8, 13, 16])
def test_the_sums_of_many_vectors_come_out_in_order(width, count) -> None:
    if count > width:
        return
    x = np.random.default_rng(0).integers(-99, 99, (count, width)).astype(np.float32)
    out = np.zeros(count, np.float32)

    call(
        lambda builder, a, b: builder.store(
            builder.reduce_sums([builder.load(a, v * width, width) for v in range(count)]), b, 0
        ),
        [x, out],
        width,
    )

    np.testing.assert_array_equal(x.sum(axis=1), out)


@pytest.mark.parametrize("lanes", [1, 3, 4, 11, 16])
def test_a_vector_adds_up_to_a_number(lanes) -> None:
    x = np.arange(1, 17, dtype=np.float32)
    out = np.zeros(1, np.float32)

    call(lambda builder, a, b: builder.store(builder.reduce_sum(builder.load(a, 0, lanes)), b, 0), [x, out], 16)

    assert out[0] == lanes * (lanes + 1) / 2


@pytest.mark.parametrize(("start", "stop", "step"), [(0, 1, 1), (2, 11, 3), (0, 4, 4), (5, 6, 9)])
def test_a_loop_visits_what_range_does(start, stop, step) -> None:
    out = np.zeros(16, np.float32)

    def write(builder: FunctionBuilder, target) -> None:
        with builder.loop(start, stop, step) as i:
            builder.store(builder.add(builder.load(target, i, 0), builder.constant(1.0, 0)), target, i)

    call(write, [out], 4)

    assert [i for i in range(16) for _ in range(int(out[i]))] == list(range(start, stop, step))


def test_vector_widths_are_function_attributes() -> None:
    module = new_module()
    FunctionBuilder(module, "f", 0, host_cpu()).finish()

    assert '"min-legal-vector-width"="512"' in module_text(module, 16)


@pytest.mark.parametrize("lanes", [16, 8, 4, 5])
def test_an_operand_of_pairs_is_rounded_to_bfloat16_or_zero_where_it_is_subnormal(lanes: int) -> None:
    x = np.array([1.0, -1.00390625, 3.14159, 1e38, -1e-30, np.inf, np.nan, 1e-39, -2e-39, 0.0], np.float32)
    x, out = np.resize(x, 80), np.zeros(80, np.uint16)

    def write(builder: FunctionBuilder, target: Memory, source: Memory) -> None:
        for i in range(0, 80, lanes):
            builder.store_bf16_operand(builder.load(source, i, lanes), Memory(target.pointer, "bf16"), i)

    call(write, [out, x], lanes if lanes != 5 else 8)
    found = (out.astype(np.uint32) << 16).view(np.float32)
    wanted = x.astype(ml_dtypes.bfloat16).astype(np.float32)
    subnormal = np.abs(wanted) < np.finfo(np.float32).tiny
    np.testing.assert_array_equal(wanted[~subnormal], found[~subnormal])
    assert set(found[subnormal]) <= {0.0, *wanted[subnormal]}
