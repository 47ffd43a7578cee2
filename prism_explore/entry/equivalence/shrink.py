"""Simplifies the inputs of a witness: elements become 0 as long as the two sides still differ."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from time import perf_counter

from prism_explore.ir.interpreter.reference import Array

MAX_RUNS = 300
TIME_LIMIT_S = 1.0


def zero_elements(inputs: Mapping[str, Array], still_differ: Callable[[Mapping[str, Array]], bool]) -> dict[str, Array]:
    """Inputs with as many zeros as were found within the limits; larger parts of a tensor are tried first."""
    current = {name: value.copy() for name, value in inputs.items()}
    start, runs = perf_counter(), 0
    for name, value in inputs.items():
        step = value.size
        while step >= 1:
            for begin in range(0, value.size, step):
                if not current[name].reshape(-1)[begin : begin + step].any():
                    continue
                if runs >= MAX_RUNS or perf_counter() - start > TIME_LIMIT_S:
                    return current
                runs += 1
                fewer = current[name].copy()
                fewer.reshape(-1)[begin : begin + step] = 0.0
                simpler = {**current, name: fewer}
                if still_differ(simpler):
                    current = simpler
            step //= 2
    return current
