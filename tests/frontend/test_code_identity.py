"""The identity of a torch function is known, and differs, where its graph may differ."""

from __future__ import annotations

import math
import time
from functools import partial
from typing import Any

import pytest
import torch

from prism_explore.frontend.code_identity import code_identity
from prism_explore.frontend.workloads import WORKLOADS

SCALE = 2.0
FACTORS = [1.0, 2.0]


def helper(x: Any) -> Any:
    return x * SCALE


def uses_helper(x: Any) -> Any:
    return torch.relu(helper(x))


def scaled(x: Any, *, by: float) -> Any:
    return x * by


def closed_over(by: object) -> Any:
    return lambda x: x * by


def test_every_function_of_the_workloads_has_an_identity_of_its_own() -> None:
    functions = {(getattr(row.code, "func", row.code), str(getattr(row.code, "keywords", ""))) for row in WORKLOADS}
    identities = {str(code_identity(row.code)) for row in WORKLOADS}

    assert "None" not in identities
    assert len(functions) == len(identities)


def test_functions_that_compute_the_same_from_other_lines_have_one_identity() -> None:
    assert code_identity(closed_over(2)) == code_identity(closed_over(2))
    assert code_identity(partial(scaled, by=2.0)) == code_identity(partial(scaled, by=2.0))


@pytest.mark.parametrize(("one", "other"), [(2, 3), (2, 2.0), (True, 1), ((1,), [1]), (torch.relu, torch.abs)])
def test_another_value_in_a_closure_is_another_identity(one: object, other: object) -> None:
    assert None is not code_identity(closed_over(one)) != code_identity(closed_over(other)) is not None


def test_a_global_that_a_called_function_reads_is_part_of_the_identity(monkeypatch: pytest.MonkeyPatch) -> None:
    before = code_identity(uses_helper)
    monkeypatch.setattr("tests.frontend.test_code_identity.SCALE", 3.0)
    assert None is not before != code_identity(uses_helper) is not None

    monkeypatch.setattr("tests.frontend.test_code_identity.helper", lambda x: x)
    assert before != code_identity(uses_helper)


def test_a_list_in_a_global_is_compared_by_its_content(monkeypatch: pytest.MonkeyPatch) -> None:
    def summed(x: Any) -> Any:
        return sum(x * f for f in FACTORS)

    before = code_identity(summed)
    monkeypatch.setattr("tests.frontend.test_code_identity.FACTORS", [1.0, 4.0])
    assert None is not before != code_identity(summed)


def test_a_function_that_calls_itself_has_an_identity() -> None:
    def power(x: Any, n: int = 2) -> Any:
        return x if n == 1 else x * power(x, n - 1)

    assert code_identity(power) is not None


def _writes(x: Any) -> Any:
    global SCALE
    SCALE = 5.0
    return x


def _imports(x: Any) -> Any:
    import random

    return x * random.random()


@pytest.mark.parametrize(
    "code",
    [
        torch.nn.Linear(2, 2),
        closed_over(torch.ones(2)),
        closed_over(object()),
        lambda x: x * time.time(),
        lambda x: x * len(input()),
        lambda x: x * not_defined_anywhere,  # noqa: F821  # pyright: ignore
        torch.no_grad()(helper),
        [].append,
        _writes,
        _imports,
    ],
)
def test_code_that_may_change_between_two_calls_has_no_identity(code: Any) -> None:
    assert code_identity(code) is None


def test_there_is_no_identity_where_torch_is_in_another_state() -> None:
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert code_identity(helper) is None
    with torch.device("meta"):
        assert code_identity(helper) is None
    torch.set_default_dtype(torch.float64)
    try:
        assert code_identity(helper) is None
    finally:
        torch.set_default_dtype(torch.float32)
    assert code_identity(helper) is not None


def test_math_is_known_by_name() -> None:
    assert code_identity(lambda x: x / math.sqrt(2)) is not None
