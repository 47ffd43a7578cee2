"""Callables: accepted and rejected arguments, error messages, re-entrant calls."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from prism_explore.codegen import emit
from prism_explore.codegen.cpu.thread_pool import thread_team
from prism_explore.codegen.load import load
from prism_explore.errors import ShapeError, TargetUnavailable
from prism_explore.ir.text import parse
from prism_explore.pipeline.stages import Kernel, Parameters
from prism_explore.targets import GPUS
from tests.codegen.corpus import RMS_EPS, TWO_KERNELS, filled, reference, relative_error, verified
from tests.codegen.cpu.test_compile import drawn_sizes
from tests.codegen.wider import CAUSAL_FLASH, FLASH, WIDER, legal

CPU = GPUS["a100"].replace(name="cpu", kind="cpu")
SIZES = {"b": 5, "d": 64, "n": 96, "gx": 6, "f": 4}
TRANSPOSED = RMS_EPS.replace("[d, n]", "[d, n] order(1, 0)")


def kernel_of(text: str, sizes: dict[str, int], **schedule: int) -> Kernel:
    graph = parse(text)
    own = Parameters(tuple((s, sizes[s]) for s in graph.parameters), tuple(schedule.items()))
    made = emit(verified(graph), own, {s: sizes[s] for s in graph.data_symbols}, CPU)
    assert isinstance(made, Kernel), made
    return made


def test_the_pool_of_a_process_without_torch_is_the_one_that_torch_will_run_on() -> None:
    code = (
        "import sys\n"
        "from prism_explore.codegen.cpu import thread_pool\n"
        "found = thread_pool._torch_openmp()\n"
        "thread_pool.thread_team()\n"
        "was_imported = 'torch' in sys.modules\n"
        "import torch\n"
        "thread_pool._torch_openmp.cache_clear()\n"
        "pools = {l.split()[-1] for l in open('/proc/self/maps') if 'libgomp' in l} if found else set()\n"
        "print(was_imported, found == thread_pool._torch_openmp(), len(pools))\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=True)

    assert said.stdout.split() in (["False", "True", "1"], ["True", "True", "0"])  # none where torch brings none


@pytest.fixture
def norm():
    """The fused norm and linear, its inputs, and the truth."""
    inputs = filled(parse(RMS_EPS), SIZES)
    return load(kernel_of(RMS_EPS, SIZES)), inputs, reference(parse(RMS_EPS), inputs, SIZES)


def test_numpy_in_numpy_out(norm) -> None:
    kernel, inputs, expected = norm
    found = kernel(*inputs.values())

    assert isinstance(found, np.ndarray)
    assert relative_error(expected, found) < 1e-5


def test_torch_in_torch_out(norm) -> None:
    kernel, inputs, expected = norm
    found = kernel(*(torch.from_numpy(x) for x in inputs.values()))

    assert isinstance(found, torch.Tensor)
    assert relative_error(expected, found.numpy()) < 1e-5


def test_a_transposed_weight_is_read_where_it_lies() -> None:
    kernel = load(kernel_of(TRANSPOSED, SIZES))
    inputs = filled(parse(TRANSPOSED), SIZES)
    weight = torch.from_numpy(np.ascontiguousarray(inputs["w"].T))
    found = kernel(torch.from_numpy(inputs["x"]), torch.from_numpy(inputs["g"]), weight.T)

    assert relative_error(reference(parse(TRANSPOSED), inputs, SIZES), found.numpy()) < 1e-5


def test_out_is_written_and_returned(norm) -> None:
    kernel, inputs, expected = norm
    out = np.full(expected.shape, np.nan, np.float32)

    assert kernel(*inputs.values(), out=out) is out
    assert relative_error(expected, out) < 1e-5


def test_the_result_belongs_to_the_caller(norm) -> None:
    kernel, inputs, expected = norm
    first = kernel(*inputs.values())
    kernel(*(2 * x for x in inputs.values()))

    assert relative_error(expected, first) < 1e-5


@pytest.mark.parametrize("pool", ["openmp", "python"])
@pytest.mark.parametrize("threads", [1, 2, 3, 16])
def test_the_number_of_threads_does_not_change_the_result(pool, threads) -> None:
    inputs = filled(parse(RMS_EPS), SIZES)
    alone = load(kernel_of(RMS_EPS, SIZES, threads=1), "python")(*inputs.values())
    found = load(kernel_of(RMS_EPS, SIZES, threads=threads), pool)(*inputs.values())

    np.testing.assert_array_equal(alone, found)


ATTENTION_SIZES = {"h": 3, "gy": 2, "tb": 4, "d": 32, "f": 5, "ks": 33, "e": 40, "m": 8, "s": 165}


@pytest.mark.parametrize("threads", [2, 3, 16])
@pytest.mark.parametrize("text", [FLASH, CAUSAL_FLASH], ids=["online", "causal"])
def test_attention_does_not_depend_on_the_number_of_threads_at_all(text, threads) -> None:
    inputs = filled(parse(text), ATTENTION_SIZES)
    alone = load(kernel_of(text, ATTENTION_SIZES, threads=1))(*inputs.values())
    found = load(kernel_of(text, ATTENTION_SIZES, threads=threads))(*inputs.values())

    np.testing.assert_array_equal(alone, found)


@pytest.mark.parametrize("threads", [2, 3, 16])
def test_keys_split_over_blocks_do_not_depend_on_the_number_of_threads_at_all(threads) -> None:
    case = next(c for c in WIDER if c.name == "split_kv")
    sizes = case.sizes({s: 2 if s.startswith("g") else 5 for s in case.free})
    inputs = filled(case.graph, sizes)
    alone = load(kernel_of(case.text, sizes, threads=1))(*inputs.values())
    found = load(kernel_of(case.text, sizes, threads=threads))(*inputs.values())

    np.testing.assert_array_equal(alone, found)


@pytest.mark.parametrize("case", WIDER, ids=lambda c: c.name)
@settings(max_examples=3, deadline=None)
@given(data=st.data())
def test_no_bit_of_any_form_depends_on_the_number_of_threads(case, data) -> None:
    sizes = drawn_sizes(case, data)
    assume(legal(case, sizes))
    inputs, threads = filled(case.graph, sizes), data.draw(st.sampled_from((2, 3, 16)), "threads")
    alone, found = (load(kernel_of(case.text, sizes, threads=n))(*inputs.values()) for n in (1, threads))

    np.testing.assert_array_equal(alone, found)


def test_torch_brings_a_pool_here() -> None:
    assert thread_team("auto") is thread_team("openmp")


# ---------------------------------------------------------------- refusals
def broken(inputs: dict[str, np.ndarray], name: str, value) -> list:
    return [value if k == name else x for k, x in inputs.items()]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda x: x[:4], r"'x' must have shape \(5, 64\), found \(4, 64\)"),
        (lambda x: x.astype(np.float64), "'x' must be float32, found float64; convert it first"),
        (lambda x: np.asfortranarray(x), r"'x' must have strides \(64, 1\).* found \(1, 5\); pass x.contiguous"),
        (lambda x: np.repeat(x, 2, axis=1)[:, ::2], r"found \(128, 2\)"),
        (lambda x: x.tolist(), "'x' must be a torch tensor or a NumPy array, found list"),
        (lambda x: torch.from_numpy(x).half(), "found float16"),
        (lambda x: torch.empty(x.shape, device="meta"), "'x' must be in main memory, found it on meta"),
    ],
)
def test_an_unfit_input_is_named_with_what_was_expected(norm, change, message) -> None:
    kernel, inputs, _ = norm
    with pytest.raises(ShapeError, match=message):
        kernel(*broken(inputs, "x", change(inputs["x"])))


def test_a_row_major_weight_is_refused_where_columns_are_expected() -> None:
    kernel = load(kernel_of(TRANSPOSED, SIZES))
    inputs = filled(parse(RMS_EPS), SIZES)
    with pytest.raises(ShapeError, match=r"strides \(1, 64\).* found \(96, 1\); pass the transpose"):
        kernel(*inputs.values())


def test_strides_of_dims_of_size_one_do_not_matter() -> None:
    sizes = {**SIZES, "b": 1}
    inputs = filled(parse(RMS_EPS), sizes)
    kernel = load(kernel_of(RMS_EPS, sizes))
    odd = np.lib.stride_tricks.as_strided(inputs["x"], (1, 64), (4, 4))

    np.testing.assert_array_equal(kernel(*inputs.values()), kernel(*broken(inputs, "x", odd)))


def test_a_wrong_number_of_inputs_is_refused(norm) -> None:
    kernel, inputs, _ = norm
    with pytest.raises(ShapeError, match=r"takes 3 inputs \(x, g, w\), found 2"):
        kernel(*list(inputs.values())[:2])


def test_out_over_an_input_is_refused() -> None:
    sizes = {**SIZES, "n": 64, "gx": 4}
    inputs = filled(parse(RMS_EPS), sizes)
    with pytest.raises(ShapeError, match="out shares memory with input 'x'"):
        load(kernel_of(RMS_EPS, sizes))(*inputs.values(), out=inputs["x"])


def test_a_read_only_out_is_refused(norm) -> None:
    kernel, inputs, expected = norm
    out = np.zeros(expected.shape, np.float32)
    out.setflags(write=False)
    with pytest.raises(ShapeError, match="read-only"):
        kernel(*inputs.values(), out=out)


def test_a_kernel_for_a_gpu_is_refused() -> None:
    with pytest.raises(TargetUnavailable, match="needs a GPU"):
        load(replace(kernel_of(RMS_EPS, SIZES), backend="triton"))


# ---------------------------------------------------------------- calls at the same time
@pytest.mark.parametrize("pool", ["openmp", "python"])
def test_calls_from_many_threads_do_not_disturb_one_another(pool) -> None:
    sizes = {"gy": 4, "tb": 8, "d": 32, "gx": 8, "tn": 16, "ge": 4, "te": 24, "b": 32, "n": 128, "e": 96}
    graph = parse(TWO_KERNELS)
    kernel = load(kernel_of(TWO_KERNELS, sizes, threads=2), pool)
    cases = [filled(graph, sizes, seed) for seed in range(4)]
    expected = [reference(graph, inputs, sizes) for inputs in cases]
    start = threading.Barrier(4)

    def many(which: int) -> float:
        start.wait()
        return max(relative_error(expected[which], kernel(*cases[which].values())) for _ in range(50))

    with ThreadPoolExecutor(4) as callers:
        assert max(callers.map(many, range(4))) < 1e-5


def test_calls_of_attention_from_many_threads_do_not_disturb_one_another() -> None:
    graph = parse(FLASH)
    kernel = load(kernel_of(FLASH, ATTENTION_SIZES, threads=2))
    cases = [filled(graph, ATTENTION_SIZES, seed) for seed in range(4)]
    expected = [kernel(*inputs.values()) for inputs in cases]
    start = threading.Barrier(4)

    def many(which: int) -> bool:
        start.wait()
        return all(np.array_equal(expected[which], kernel(*cases[which].values())) for _ in range(30))

    with ThreadPoolExecutor(4) as callers:
        assert all(callers.map(many, range(4)))


def test_a_view_with_gaps_between_its_elements_is_refused(norm) -> None:
    kernel, inputs = norm[:2]
    packed = np.zeros(inputs["x"].size, dtype=np.dtype([("a", "f4"), ("b", "i1")]))
    x = packed["a"].reshape(inputs["x"].shape)
    with pytest.raises(ShapeError, match="gaps"):
        kernel(x, *[v.astype(np.float32) for k, v in inputs.items() if k != "x"])


def looked_up(dtype: str, kind: str):
    text = f"sgraph\n  x = input {dtype}[7, 19]\n  i = input {kind}[n]\n  %2 = lookup(x, i, dim=0)\n  return %2"
    made = emit(verified(parse(text)), Parameters(()), {"n": 5}, CPU)
    assert isinstance(made, Kernel), made
    return load(made)


@pytest.mark.parametrize("kind", ["i64", "i32"])
@pytest.mark.parametrize("dtype", ["f32", "bf16"])
def test_a_lookup_copies_the_rows_at_the_positions(dtype, kind):
    x = torch.randn(7, 19).to(torch.float32 if dtype == "f32" else torch.bfloat16)
    i = torch.tensor([6, 0, 3, 3, 1], dtype=torch.int64 if kind == "i64" else torch.int32)

    assert torch.equal(looked_up(dtype, kind)(x, i), x[i.long()])


@pytest.mark.parametrize("wrong", [-1, 7, 1 << 40])
def test_a_position_outside_of_the_table_is_refused_before_anything_is_read(wrong):
    kernel, x = looked_up("f32", "i64"), torch.randn(7, 19)

    for positions in (torch.tensor([0, wrong, 1, 2, 3]), np.array([0, wrong, 1, 2, 3])):
        with pytest.raises(ShapeError, match=rf"'i' has the position {wrong}; .* positions 0 to 6"):
            kernel(x if isinstance(positions, torch.Tensor) else x.numpy(), positions)
