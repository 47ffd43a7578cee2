"""What is equal at the given extents is not refuted at others, and what differs at the given ones is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest
import torch

import prism_explore as px
from prism_explore.events.journal import Journal
from prism_explore.frontend import trace
from prism_explore.ir.text import parse, show
from prism_explore.pipeline.stages import Refuted, Unknown, Verified
from prism_explore.verify.counterexample.refuter import Refuter, Survived, UncertainDifference
from prism_explore.verify.prover import DIFFERS_AT_OTHER_SIZES, DISAGREE, Prover
from tests.verify.corpus import CASES, PROGRAMS, candidate

Code = Callable[[torch.Tensor], torch.Tensor]


@dataclass(frozen=True, slots=True)
class Row:
    """A program of x[64, 64], another that is equal to it there, and one that is not."""

    name: str
    program: Code
    same: Code
    other: Code


def window(x: torch.Tensor) -> torch.Tensor:
    rows, columns = torch.arange(64)[:, None], torch.arange(64)[None, :]
    seen = x.masked_fill((columns > rows) | (rows - columns >= 16), float("-inf"))
    return torch.exp(seen).sum(1, keepdim=True)[63:64]


def largest(x: torch.Tensor, *cuts: int) -> torch.Tensor:
    parts = [x[:, a:b].amax(1, keepdim=True) for a, b in zip((0, *cuts), (*cuts, 64), strict=True)]
    return torch.stack(parts).sum(0)


ROWS = (
    Row(
        "a slice, and a digit of a reshape",
        lambda x: x[:, :16].sum(1, keepdim=True),
        lambda x: x.reshape(64, 4, 16)[:, 0:1, :].reshape(64, 16).sum(1, keepdim=True),
        lambda x: x.reshape(64, 8, 8)[:, 0:1, :].reshape(64, 8).sum(1, keepdim=True),
    ),
    Row(
        "maxima of slices, and of a reshape",
        lambda x: largest(x, 16, 32, 48),
        lambda x: x.reshape(64, 4, 16).amax(2).sum(1, keepdim=True),
        lambda x: x.reshape(64, 4, 16).amax(1).sum(1, keepdim=True),
    ),
    Row(
        "a window's last row, and a slice",
        window,
        lambda x: torch.exp(x[63:64, 48:64]).sum(1, keepdim=True),
        lambda x: torch.exp(x[63:64, 47:64]).sum(1, keepdim=True),
    ),
    Row(
        "a mean and its number, in an equality that is not proved",
        lambda x: (x * x).amax(1, keepdim=True) * x.mean(1, keepdim=True),
        lambda x: x.abs().amax(1, keepdim=True) ** 2 * x.sum(1, keepdim=True) * (1 / 64),
        lambda x: x.abs().amax(1, keepdim=True) ** 2 * x.sum(1, keepdim=True) * (1 / 32),
    ),
    Row(
        "two means, and the number of both",
        lambda x: (x * x).amax(1, keepdim=True).mean(0, keepdim=True) * x.mean(1, keepdim=True),
        lambda x: (x.abs().amax(1, keepdim=True) ** 2).sum(0, keepdim=True) * x.sum(1, keepdim=True) * (1 / 4096),
        lambda x: (x.abs().amax(1, keepdim=True) ** 2).sum(0, keepdim=True) * x.sum(1, keepdim=True) * (1 / 2048),
    ),
)


def traced(code: Code) -> px.TensorProgram:
    return trace(code, {"x": px.T(64, 64)}, "code").program


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_equal_as_given_is_not_refuted_and_another_number_is(row):
    program = traced(row.program)
    x = torch.rand(64, 64, dtype=torch.float64)
    assert torch.allclose(row.program(x), row.same(x))
    assert not torch.allclose(row.program(x), row.other(x))

    assert isinstance(px.check(program, traced(row.same).graph).verdict, Verified | Unknown)
    other = traced(row.other).graph
    verdict = px.check(program, other).verdict
    assert isinstance(verdict, Refuted)


def test_a_difference_at_other_extents_than_those_that_a_view_needs_is_no_counterexample():
    program, same = traced(ROWS[0].program), traced(ROWS[0].same).graph
    refuter = Refuter(program)

    assert isinstance(refuter.attempt(same, 0), UncertainDifference)
    assert isinstance(refuter.attempt_at_given_sizes(same, 0), Survived)


def test_where_one_of_two_axes_that_a_number_may_speak_of_was_not_tried_nothing_is_refuted():
    """4096 columns are needed for the slices and 4096 rows for the mean: too many for a trial."""
    fused = next(c for c in CASES if c.name == "rms_fused_sum_then_scale")
    program, last = PROGRAMS[fused.program], fused.sgraph.output
    halves = parse(
        show(fused.sgraph).replace(
            f"  return %{last}",
            f"""  %{last + 1} = slice(%{last}, dim=1, start=0, stop=2048)
  %{last + 2} = slice(%{last}, dim=1, start=2048, stop=4096)
  %{last + 3} = concat(%{last + 1}, %{last + 2}, dim=1)
  return %{last + 3}""",
        )
    )
    verdict = Prover(program).verify(candidate(program, halves), Journal())

    assert isinstance(verdict, Unknown)
    assert DISAGREE not in verdict.limit
    assert verdict.limit.startswith(DIFFERS_AT_OTHER_SIZES)
