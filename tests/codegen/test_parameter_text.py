"""Every tuning parameter that a search can propose has a sentence that says what it does."""

from __future__ import annotations

import ast
import inspect
from pathlib import Path

import pytest

from prism_explore.codegen.cpu import schedule
from prism_explore.codegen.parameter_text import SCHEDULE_TEXT, describe_parameter, describe_values
from prism_explore.codegen.triton import heuristics, plan
from prism_explore.events.journal import Journal
from prism_explore.events.kinds import ParametersProposed
from prism_explore.ir.dims import dim

SAVED = Path(__file__).parent.parent / "data" / "saved" / "relu_double.prism"


def constants(function: object, of: str) -> set[str]:
    """The first arguments of the calls of `of` in the source of a function."""
    tree = ast.parse(inspect.getsource(function))  # type: ignore[arg-type]
    calls = (n for n in ast.walk(tree) if isinstance(n, ast.Call) and isinstance(n.func, ast.Name) and n.func.id == of)
    return {c.args[0].value for c in calls if isinstance(c.args[0], ast.Constant) and isinstance(c.args[0].value, str)}


def test_every_schedule_choice_has_a_row_and_no_row_is_left_over() -> None:
    cpu = constants(schedule.schedule_space, "Choice")
    gpu = set(heuristics.CHOICES)

    assert len(cpu) >= 14
    assert gpu == set(plan.SCHEDULE)
    assert cpu | gpu == set(SCHEDULE_TEXT)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("gz", "number of blocks along grid dim z"),
        ("gx2", "number of blocks along grid dim x of custom kernel 2"),
        ("gx_", "number of blocks along grid dim x"),
        ("f3_", "number of iterations of the loop over i of custom kernel 3; more iterations mean smaller tiles"),
    ],
)
def test_sizes_are_described_by_their_grid_dim_and_kernel(name: str, text: str) -> None:
    assert str(dim(name)) == name
    assert describe_parameter(name) == text


def test_another_name_has_no_description() -> None:
    assert [describe_parameter(name) for name in ("", "b", "ga", "xgx", "threads2")] == [""] * 5


def test_every_parameter_of_a_saved_search_is_described() -> None:
    proposed = [e for e in Journal.load(SAVED).events if isinstance(e, ParametersProposed)]
    described = {value: text for e in proposed for value, text in describe_values(e.parameters)}

    assert described
    assert all(described.values()), described
