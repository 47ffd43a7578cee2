"""Correctness check before timing: a kernel's results against the program's float64 reference.

Inputs are random values, rows of very different magnitude, and rows of zeros. The tolerance is relative to the largest
magnitude of a row of the reference. It grows with the error of the program itself in plain NumPy of the same dtype.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from math import ceil, inf
from types import MappingProxyType
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from prism_explore.ir.interpreter.reference import Array, evaluate_results
from prism_explore.ir.program import TensorProgram
from prism_explore.ir.tensors import numpy_dtype
from prism_explore.tune.runner.bench import CheckPassed, Failure, Run
from prism_explore.tune.runner.inputs import ALIGNMENT, InputRing, Transposed, laid_out, random_inputs

TOLERANCE = {
    **{"f64": 1e-12, "f32": 1e-5, "f16": 2.0**-10, "bf16": 2.0**-7, "bool": 0.0},
    **{"i8": 2.0**-6, "u8": 2.0**-7, "w64": 0.0, "w32": 0.0},
}
"""Relative to the largest magnitude of a row of the result; for 16-bit dtypes twice the error of storing it."""

SPACING = {"f16": 2.0**-24}
"""Of the smallest numbers of a dtype, where inputs of normal magnitude have results as small: one is forgiven."""

RANDOM = "random"
"""The name of the case whose inputs a ring has, too."""

PLAIN_FACTOR = 8.0
"""A kernel may err this many times as much as the program itself does in plain NumPy of the same dtype."""


@dataclass(frozen=True, slots=True)
class ReferenceResult:
    """One result of the program in float64, and the tolerance."""

    expected: npt.NDArray[np.float64]
    is_finite: npt.NDArray[np.bool_]
    """Where the program has a finite value, in float64 and in its own dtype."""
    tolerance: float
    """Relative to the largest magnitude of a row."""
    spacing: float = 0.0
    """What a value may deviate by besides, as it cannot be stored more precisely."""


@dataclass(frozen=True, slots=True)
class ReferenceCase:
    """Inputs, and the reference results for them."""

    name: str
    inputs: tuple[Array, ...]
    results: tuple[ReferenceResult, ...]


def reference_cases(
    program: TensorProgram,
    shapes: Mapping[str, int],
    seed: int,
    ring: InputRing | None = None,
    *,
    is_guarded: bool = False,
    transposed: Transposed = MappingProxyType({}),
) -> tuple[ReferenceCase, ...]:
    """Random inputs, rows of very different magnitude, and rows of zeros.

    Magnitudes range from 1e-4 to 1e3. So an eps of 1e-6 under a root is decisive in some rows, and a sum that mixes
    rows is detected in others.

    Args:
        program: the program.
        shapes: values of its symbols.
        seed: of the inputs.
        ring: inputs of this program, shapes and seed, whose copies are not made yet. Its memory is used: to write
            memory for the first time takes most of the time here.
        is_guarded: whether pages without access follow the inputs of one case, and precede those of another, so that a
            kernel that reads beyond them ends its process. So does one that writes there, or into these inputs.
        transposed: inputs that have the values of others; those of the ring have.
    """
    drawn = random_inputs(program, shapes, seed, None, transposed) if ring is None else ring.drawn
    plain = laid_out(program, drawn, shapes) if ring is None else drawn
    wide = _float64_arrays(plain, np.zeros(0, np.uint8) if ring is None else ring.unfilled)

    def scale_rows(out: Array, array: Array) -> None:
        _scale_rows(out, array, np.random.default_rng(seed + 1))

    start, end = ("start", "end") if is_guarded else (None, None)
    with ThreadPoolExecutor(1) as other:  # writes new memory for the next cases while this thread computes one
        scaled = other.submit(laid_out, program, plain, shapes, scale_rows, end, transposed)
        zeroed = other.submit(laid_out, program, plain, shapes, _zero_rows, start, transposed)
        return (
            _case(RANDOM, program, plain, wide),
            _case("rows of very different magnitude", program, scaled.result(), wide),
            _case("rows of zeros", program, zeroed.result(), wide),
        )


def _scale_rows(out: Array, array: Array, rng: np.random.Generator) -> None:
    if array.ndim < 2 or array.dtype.kind in "biu":
        out[...] = array
        return
    powers = rng.uniform(-4, 3, size=(array.shape[0],) + (1,) * (array.ndim - 1))
    scales = (10.0**powers).astype(np.result_type(array.dtype, np.float32))  # weights in float64 take twice the memory
    np.multiply(array, scales, out=out, casting="unsafe")


def _zero_rows(out: Array, array: Array) -> None:
    out[...] = array
    if array.ndim >= 2 and array.dtype != np.bool_:
        out[::2] = 0


def _float64_arrays(inputs: Mapping[str, Array], memory: npt.NDArray[np.uint8]) -> dict[str, Array]:
    """A float64 or int64 array per input, stored in the same order of dims, in this memory as far as it goes."""
    found: dict[str, Array] = {}
    for name, array in inputs.items():
        order = sorted(range(array.ndim), key=lambda d: -array.strides[d])
        own, memory = memory[: 8 * array.size], memory[ceil(8 * array.size / ALIGNMENT) * ALIGNMENT :]
        dtype = np.int64 if array.dtype.kind == "i" else np.float64
        flat = own.view(dtype) if own.size == 8 * array.size else np.empty(array.size, dtype)
        found[name] = flat.reshape([array.shape[d] for d in order]).transpose(np.argsort(order))
    return found


def _case(name: str, program: TensorProgram, inputs: Mapping[str, Array], wide: Mapping[str, Array]) -> ReferenceCase:
    """A case with these inputs; `wide` is overwritten with them in float64."""
    results: list[ReferenceResult] = []
    with np.errstate(all="ignore"):
        for key, array in inputs.items():
            wide[key][...] = array
        exact = evaluate_results(program, wide)
        for wanted, plain, t in zip(exact, _plain_numpy(program, inputs), program.graph.output_types, strict=True):
            expected = np.array(wanted, dtype=np.float64)  # a copy: it may be a view of an input
            comparable = np.isfinite(expected) & np.isfinite(plain.astype(numpy_dtype(t.dtype)))
            tolerance = TOLERANCE[t.dtype] + PLAIN_FACTOR * row_error(plain, expected, comparable)
            results.append(ReferenceResult(expected, comparable, tolerance, SPACING.get(t.dtype, 0.0)))
    return ReferenceCase(name, tuple(inputs.values()), tuple(results))


def _plain_numpy(program: TensorProgram, inputs: Mapping[str, Array]) -> tuple[Array, ...]:
    """The program's results in NumPy, in the precision that kernels compute in: float32 for 16-bit inputs."""
    short = {i.name for i in program.inputs if i.type.dtype in ("f16", "bf16")}
    given = {k: a.astype(np.float32) if k in short else a for k, a in inputs.items()}
    return tuple(map(np.asarray, evaluate_results(program, given)))


def row_error(found: Array, expected: Array, comparable: npt.NDArray[np.bool_], spacing: float = 0.0) -> float:
    """Largest deviation in a row, divided by the row's largest magnitude; infinite if a value is not finite.

    A row runs along the last dim. The deviation in a row of zeros is divided by the largest magnitude of all rows.
    Deviations up to `spacing` are none.
    """
    with np.errstate(all="ignore"):
        gap = np.where(comparable, np.abs(found - expected), 0.0)
        gap = np.where(gap <= spacing, 0.0, gap)
    if not np.isfinite(gap).all():
        return inf
    size = np.where(comparable, np.abs(expected), 0.0)
    per_row = size.max(axis=-1, keepdims=True, initial=0.0)
    scale = np.where(per_row > 0, per_row, size.max(initial=0.0) or 1.0)
    return float((gap / scale).max(initial=0.0))


def check_results(
    run: Run, cases: Sequence[ReferenceCase], roundings: float = 1.0, *, may_overflow: bool = False
) -> CheckPassed | Failure:
    """Run a kernel on every case; stop at the first whose deviation exceeds its tolerance times `roundings`.

    The error that is reported is the largest of all results on random inputs.

    Args:
        run: the kernel.
        cases: inputs and reference results.
        roundings: how often it may round to its dtype.
        may_overflow: whether values that are not finite are left out in other cases than the random one: torch stores
            each intermediate value in 16 bits, so that code of the user's own may overflow on large inputs.
    """
    error = 0.0
    for case in cases:
        found = as_arrays(run(*case.inputs))
        if len(found) != len(case.results):
            return Failure("tune.wrong", f"{case.name}: {len(found)} results, expected {len(case.results)}")
        for number, (array, wanted) in enumerate(zip(found, case.results, strict=True)):
            where = case.name if len(found) == 1 else f"{case.name}, result {number}"
            if may_overflow and case.name != RANDOM and array.shape == wanted.is_finite.shape:
                wanted = replace(wanted, is_finite=wanted.is_finite & np.isfinite(array))
            if failure := _failure(array, wanted, roundings * wanted.tolerance, where):
                return Failure("tune.wrong", failure)
            if case.name == RANDOM:
                largest = float(np.abs(wanted.expected[wanted.is_finite]).max(initial=0.0)) or 1.0
                gap = np.abs(array - wanted.expected)[wanted.is_finite]
                error = max(error, float(gap.max(initial=0.0)) / largest)
    return CheckPassed(error)


def as_arrays(found: Any) -> tuple[npt.NDArray[np.float64], ...]:
    """What a kernel or torch code returned, as float64 arrays: one result, or a tuple of them."""
    results = cast("tuple[Any, ...]", found) if isinstance(found, tuple) else (found,)
    return tuple(
        np.array(r.detach().double().cpu().numpy() if hasattr(r, "double") else r, dtype=np.float64) for r in results
    )


def _failure(found: Array, wanted: ReferenceResult, tolerance: float, where: str) -> str:
    """Why a result is not the expected one; empty if it is."""
    if found.shape != wanted.expected.shape:
        return f"{where}: shape {found.shape}, expected {wanted.expected.shape}"
    deviation = row_error(found, wanted.expected, wanted.is_finite, wanted.spacing)
    if deviation <= tolerance:
        return ""
    if np.isnan(found[wanted.is_finite]).any():
        return f"{where}: the result holds NaN where the program has a number"
    return f"{where}: a row deviates by {deviation:.1e} of its magnitude, {tolerance:.1e} is forgiven"
