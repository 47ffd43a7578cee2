"""Correctness check and timing on a fake clock, independent of the load of the machine."""

from __future__ import annotations

import random
from collections.abc import Callable
from statistics import median
from typing import Any

import numpy as np
import pytest

from prism_explore.ir.interpreter.reference import Array, evaluate
from prism_explore.ir.program import ProgramBuilder, TensorProgram
from prism_explore.ir.tensors import DType, numpy_dtype
from prism_explore.targets.cpus import cores
from prism_explore.tune.runner import inputs
from prism_explore.tune.runner.bench import CheckPassed, Failure, Run, Samples
from prism_explore.tune.runner.correctness import TOLERANCE, check_results, reference_cases, row_error
from prism_explore.tune.runner.inputs import InputRing, random_inputs
from prism_explore.tune.runner.local_bench import LocalBench
from prism_explore.tune.runner.timing import WAKING_S, InterleavedTimer, counted_rounds, quantile, ratios
from tests.tune.toys import NAN, NO_COMPILE, NO_EPS, RAISES, TOY, WRONG, fused, kernel, load, rmsnorm_linear

SIZES = (("gx", 2), ("f", 4))
PROGRAM = rmsnorm_linear()


@pytest.mark.parametrize("dtype", ["f16", "bf16"])
def test_the_tolerance_of_a_16_bit_dtype_is_twice_its_storage_error(dtype: DType) -> None:
    numbers = np.random.default_rng(0).uniform(1, 2, 100_000)
    stored = numbers.astype(numpy_dtype(dtype)).astype(np.float64)
    costs = float((np.abs(stored - numbers) / numbers).max())

    assert 1.99 < TOLERANCE[dtype] / costs < 2.02


class Clock:
    """Time that passes only when somebody works or sleeps."""

    def __init__(self) -> None:
        self.now = 0.0
        self.slept: list[float] = []

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)

    def work(self, seconds: float) -> Callable[..., None]:
        def run(*_: Any) -> None:
            self.now += seconds

        return run


def plain(program: TensorProgram) -> Run:
    """The program in NumPy, of its inputs in their order."""

    def run(*arrays: Array) -> Array:
        return evaluate(program, {i.name: a for i, a in zip(program.inputs, arrays, strict=True)})

    return run


def bench(clock: Clock | None = None) -> LocalBench:
    watch = InterleavedTimer(clock=clock, sleep=clock.sleep) if clock else InterleavedTimer(sleep=lambda _: None)
    return LocalBench(PROGRAM, {"b": 4}, TOY, load, timer=watch)


def ring_of_one_row() -> InputRing:
    return InputRing(PROGRAM, {"b": 1}, 0, cold_bytes=1)


# ---------------------------------------------------------------- the ring
def test_the_ring_is_larger_than_the_cache_and_turns() -> None:
    ring = InputRing(PROGRAM, {"b": 4}, 0, cold_bytes=50_000)
    each = 4 * (4 * 16 + 16 + 16 * 24)
    seen = [ring.next()[2].ctypes.data for _ in range(ring.slots)]

    assert ring.is_cold
    assert ring.slots * each >= 50_000
    assert ring.slots == len(set(seen))
    assert seen[0] == ring.next()[2].ctypes.data


def test_a_ring_without_memory_for_a_cold_cache_is_not_cold() -> None:
    ring = InputRing(PROGRAM, {"b": 4}, 0, cold_bytes=50_000, most_bytes=10_000)

    assert not ring.is_cold
    assert 5 == ring.slots


def test_large_inputs_repeat_their_values_but_no_row_is_that_of_another(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inputs, "PERIOD", 1021)
    b = ProgramBuilder("large")
    program = b.build(b.matmul(b.input("x", 96, 64), b.input("w", 64, 48)))
    ring = InputRing(program, {}, 7, cold_bytes=1)
    alone = random_inputs(program, {}, 7)
    x = ring.drawn["x"]

    assert all((alone[name] == drawn).all() for name, drawn in ring.drawn.items())
    assert (x.reshape(-1)[1021:] == x.reshape(-1)[:-1021]).all()
    assert len(np.unique(x.reshape(-1)[:1021])) == 1021
    assert len(np.unique(x, axis=0)) == 96
    assert abs(x.mean()) < 0.1 < 0.9 < x.std() < 1.1
    assert not (x.reshape(-1)[:1021] == ring.drawn["w"].reshape(-1)[:1021]).any()


def test_copies_are_equal_aligned_and_lie_in_their_storage_order() -> None:
    b = ProgramBuilder("linear")
    x, w = b.input("x", "b", 16), b.input("w", 16, 24, order=(1, 0))
    program = b.build(b.matmul(x, w))
    wanted = random_inputs(program, {"b": 3}, 7)
    ring = InputRing(program, {"b": 3}, 7, cold_bytes=1)
    for found in ring.all:
        np.testing.assert_array_equal(wanted["x"], found[0])
        np.testing.assert_array_equal(wanted["w"], found[1])

        assert found[0].flags.c_contiguous
        assert found[1].flags.f_contiguous
        assert [0, 0] == [a.ctypes.data % 64 for a in found]


def laid_out_inputs() -> TensorProgram:
    """A program whose inputs are stored in another order, with gaps, expanded, in 16 bits, and as bits."""
    b = ProgramBuilder("layouts")
    x, w, g = b.input("x", "b", 16), b.input("w", 16, 24, order=(1, 0)), b.input("g", 16, 24, strides=(32, 1))
    h = b.input("h", 16, 24, dtype="bf16", strides=(0, 1))
    return b.build(b.matmul(x, b.binary("add", b.binary("mul", w, g), h)))


@pytest.mark.parametrize("is_filled_soon", [False, True])
def test_reference_cases_are_the_same_in_the_memory_of_a_ring(is_filled_soon: bool) -> None:
    program, shapes = laid_out_inputs(), {"b": 3}
    ring = InputRing(program, shapes, 7, cold_bytes=1 << 20, is_filled_soon=is_filled_soon)
    in_ring, alone = reference_cases(program, shapes, 7, ring), reference_cases(program, shapes, 7)

    for found, wanted in zip(in_ring, alone, strict=True):
        assert all(map(np.array_equal, wanted.inputs, found.inputs))
        assert [a.strides for a in wanted.inputs] == [a.strides for a in found.inputs]
        assert np.array_equal(wanted.results[0].expected, found.results[0].expected)
        assert wanted.results[0].tolerance == found.results[0].tolerance
    assert ring.slots >= 3
    for copy in ring.all:
        assert all(map(np.array_equal, alone[0].inputs, copy))


def test_an_input_that_is_another_one_transposed_has_its_values_in_every_case() -> None:
    b = ProgramBuilder("gram")
    x, y, z = b.input("x", 3, 4, 5), b.input("y", 4, 5, 3, order=(2, 0, 1)), b.input("z", 3, 4, 5, strides=(40, 10, 1))
    program = b.build(b.binary("add", b.binary("add", x, z), b.permute(y, 2, 0, 1)))
    transposed = {"y": ("x", (1, 2, 0)), "z": ("x", (0, 1, 2))}
    ring = InputRing(program, {}, 7, cold_bytes=1 << 20, transposed=transposed)
    cases = reference_cases(program, {}, 7, ring, is_guarded=True, transposed=transposed)

    assert 3 == len(cases)
    for found in (*ring.all, *(case.inputs for case in cases)):
        np.testing.assert_array_equal(found[0].transpose(1, 2, 0), found[1])
        np.testing.assert_array_equal(found[0], found[2])
        assert not np.shares_memory(found[0], found[2])


def test_a_result_that_is_a_view_of_an_input_is_kept_when_the_next_case_is_computed() -> None:
    b = ProgramBuilder("view")
    program = b.build(b.permute(b.input("x", "b", 4), 1, 0))
    for case in reference_cases(program, {"b": 3}, 0, InputRing(program, {"b": 3}, 0, cold_bytes=1)):
        np.testing.assert_array_equal(case.inputs[0].T, case.results[0].expected)


def test_bfloat16_inputs_are_drawn_like_others() -> None:
    b = ProgramBuilder("half")
    program = b.build(b.unary("exp", b.input("x", "b", 4, dtype="bf16")))
    x = random_inputs(program, {"b": 3}, 0)["x"]
    assert (3, 4) == x.shape
    assert "bfloat16" == str(x.dtype)


# ---------------------------------------------------------------- comparing
def test_a_right_kernel_passes_on_every_case() -> None:
    found = check_results(load(kernel(fused(), SIZES)), reference_cases(PROGRAM, {"b": 4}, 0))

    assert isinstance(found, CheckPassed)
    assert 0 < found.error < 1e-5


@pytest.mark.parametrize(
    ("behave", "case"),
    [(WRONG, "random"), (NAN, "random: the result holds NaN"), (NO_EPS, "rows of very different magnitude")],
)
def test_a_wrong_kernel_is_caught(behave: int, case: str) -> None:
    found = check_results(load(kernel(fused(), SIZES, behave=behave)), reference_cases(PROGRAM, {"b": 4}, 0))

    assert isinstance(found, Failure)
    assert "tune.wrong" == found.code
    assert found.reason.startswith(case)


def test_a_result_of_another_shape_is_wrong_and_not_broadcast() -> None:
    found = check_results(lambda *_: np.float32(0.0), reference_cases(PROGRAM, {"b": 4}, 0))

    assert Failure("tune.wrong", "random: shape (), expected (4, 24)") == found


def test_where_the_program_itself_has_no_value_nothing_is_compared() -> None:
    b = ProgramBuilder("bare")
    x, w = b.input("x", "b", 16), b.input("w", 16, 24)
    program = b.build(b.matmul(b.binary("div", x, b.reduce("rms", x, 1)), w))
    zeros = reference_cases(program, {"b": 4}, 0)[2]

    assert [False, True, False, True] == [bool(row.all()) for row in zeros.results[0].is_finite]
    with np.errstate(all="ignore"):
        assert isinstance(check_results(plain(program), [zeros]), CheckPassed)


def test_a_float16_result_may_be_as_coarse_as_its_smallest_numbers_and_no_coarser() -> None:
    b = ProgramBuilder("cubes")
    x = b.input("x", "b", 32, dtype="f16")
    cases = reference_cases(b.build(b.binary("mul", b.binary("mul", x, x), x)), {"b": 16}, 0)

    def outcome(by: float) -> CheckPassed | Failure:
        with np.errstate(over="ignore"):  # where nothing is compared
            stored = iter([case.results[0].expected.astype(np.float16) for case in cases])
        return check_results(lambda *_: (next(stored) + np.float16(by)).astype(float), cases)

    assert isinstance(outcome(0.0), CheckPassed)
    assert "rows of very different magnitude" in str(outcome(2.0**-22))


def test_a_row_is_measured_against_its_own_magnitude() -> None:
    wanted = np.array([[1e6, 1e6], [1.0, 1.0], [0.0, 0.0]])
    everywhere = np.ones_like(wanted, dtype=bool)

    def off(row: int, by: float) -> float:
        found = wanted.copy()
        found[row, 0] += by
        return row_error(found, wanted, everywhere)

    assert 0.5 == off(1, 0.5)
    assert 5e-7 == off(0, 0.5)
    assert 1.0 == off(2, 1e6)
    assert np.inf == off(1, np.nan)
    assert 0.0 == row_error(wanted * np.nan, wanted, ~everywhere)


def test_the_tolerance_includes_the_float32_error_of_the_program() -> None:
    """Cancellation: the plain program errs by far more than the tolerance, and so may a kernel."""
    b = ProgramBuilder("cancel")
    x = b.input("x", "b", 4)
    program = b.build(b.reduce("sum", b.scalar("add", b.scalar("add", x, 10**6), -(10**6)), 1))
    found = check_results(plain(program), reference_cases(program, {"b": 4}, 0))

    assert isinstance(found, CheckPassed)
    assert found.error > 1e-4


# ---------------------------------------------------------------- timing
def test_every_round_times_everybody_once_after_an_untimed_call() -> None:
    clock = Clock()
    ring = InputRing(PROGRAM, {"b": 4}, 0, cold_bytes=50_000)
    found = InterleavedTimer(clock, clock.sleep, gap_s=0.004).time(
        {"slow": clock.work(3.0), "fast": clock.work(2.0)}, ring, 5, random.Random(0)
    )

    assert {"slow": (3.0,) * 5, "fast": (2.0,) * 5} == found.times_s
    assert 2 * 2 * 5 * 2.5 == clock.now
    assert [0.004] * 10 == clock.slept
    assert 20 == ring.position


@pytest.mark.parametrize(("queued_s", "waited"), [(0.0, 0.0), (WAKING_S, 0.0), (WAKING_S + 1e-4, 1.0)])
def test_threads_that_queue_for_longer_than_waking_takes_were_disturbed(queued_s: float, waited: float) -> None:
    clock, queued = Clock(), 0.0

    def run(*_: Any) -> None:
        nonlocal queued
        clock.now += 1e-4
        queued += queued_s

    watch = InterleavedTimer(clock, clock.sleep, core_wait_s=lambda: queued)
    found = watch.time({"a": run}, ring_of_one_row(), 3, random.Random(0))

    assert found.waits == pytest.approx((waited / cores(),) * 3)


def test_the_order_is_shuffled_but_the_same_for_the_same_seed() -> None:
    def order(seed: int) -> list[str]:
        seen: list[str] = []
        clock = Clock()

        def noting(key: str) -> Run:
            def run(*_: Any) -> None:
                seen.append(key)

            return run

        runs = {key: noting(key) for key in "abc"}
        InterleavedTimer(clock, clock.sleep).time(runs, ring_of_one_row(), 8, random.Random(seed))
        return seen[::2]

    assert order(1) == order(1)
    assert order(1) != order(2)
    assert order(1) != ["a", "b", "c"] * 8


def test_a_drifting_machine_does_not_decide_a_race() -> None:
    """Each round is slower than the last; the ratio of a round is not."""
    clock = Clock()
    slowness = [1.0]

    def work(seconds: float) -> Callable[..., None]:
        def run(*_: Any) -> None:
            clock.now += seconds * slowness[0]
            slowness[0] *= 1.001

        return run

    found = InterleavedTimer(clock, clock.sleep).time(
        {"a": work(1.0), "b": work(0.9)},
        ring_of_one_row(),
        20,
        random.Random(0),
    )

    assert 0.9 == pytest.approx(median(ratios(found.times_s["b"], found.times_s["a"])), rel=0.01)
    assert found.times_s["b"][-1] > found.times_s["a"][0] * 0.93


def test_on_a_quiet_machine_every_round_counts() -> None:
    assert [0, 1, 2, 3] == counted_rounds([0.0, 0.01, 0.0, 0.02])


def test_disturbed_rounds_do_not_count_where_enough_others_were_quiet() -> None:
    assert [0, 2, 4] == counted_rounds([0.0, 0.5, 0.0, 0.3, 0.01, 0.9])


def test_where_all_are_disturbed_the_least_disturbed_third_counts() -> None:
    waits = [0.9, 0.3, 0.8, 0.2, 0.7, 0.1, 0.6, 0.5, 0.4, 0.9, 0.9, 0.9]

    assert [1, 3, 5, 8] == counted_rounds(waits)
    assert [0] == counted_rounds([0.9])


def test_of_very_many_rounds_ten_quiet_ones_are_enough() -> None:
    assert list(range(0, 200, 20)) == counted_rounds([0.0 if i % 20 == 0 else 0.8 for i in range(200)])


def test_a_neighbour_that_takes_the_cores_now_and_then_does_not_decide_a_race() -> None:
    """Twelve rounds of twenty were disturbed, always while b ran; the others know that b is faster."""
    a = [1.0] * 20
    b = [0.9] * 8 + [3.0] * 12
    counted = counted_rounds([0.0] * 8 + [0.6] * 12)

    assert 0.9 == median([ratios(b, a)[i] for i in counted])
    assert 3.0 == median(ratios(b, a))


def test_quantiles_and_ratios() -> None:
    assert 3.0 == median([5.0, 1.0, 3.0])
    assert (1.0, 3.0) == (quantile([1.0, 2.0, 3.0], 0.0), quantile([1.0, 2.0, 3.0], 1.0))
    assert (0.5, 2.0) == ratios([1.0, 4.0], [2.0, 2.0])


# ---------------------------------------------------------------- a bench
def test_a_bench_times_what_it_checked() -> None:
    there = bench(Clock())

    assert isinstance(there.check("u1", kernel(fused(), SIZES)), CheckPassed)
    assert Samples({"u1": (0.0,) * 3}, (0.0,) * 3) == there.time(["u1"], 3)


@pytest.mark.parametrize("behave", [WRONG, NAN, NO_COMPILE, RAISES])
def test_what_was_not_found_right_is_never_timed(behave: int) -> None:
    there = bench()
    found = there.check("u1", kernel(fused(), SIZES, behave=behave))

    assert isinstance(found, Failure)
    with pytest.raises(AssertionError, match="never checked: u1"):
        there.time(["u1"], 3)


def test_foreign_exceptions_become_reasons() -> None:
    there = bench()

    assert Failure("tune.compile", "ValueError: register 33 of 32") == there.check(
        "u1", kernel(fused(), SIZES, behave=NO_COMPILE)
    )
    assert Failure("tune.crash", "RuntimeError: the kernel's own words") == there.check(
        "u1", kernel(fused(), SIZES, behave=RAISES)
    )


def test_dropped_is_forgotten() -> None:
    there = bench()
    there.check("u1", kernel(fused(), SIZES))
    there.drop("u1")

    with pytest.raises(AssertionError, match="never checked"):
        there.time(["u1"], 1)


def test_weights_are_the_inputs_without_symbols() -> None:
    assert (1, 2) == bench().weights
