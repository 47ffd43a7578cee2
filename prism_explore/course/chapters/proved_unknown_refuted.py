"""Exercises of notebook 06: a wrong kernel that passes a test, and the inputs that tell."""

from __future__ import annotations

from typing import Any

import numpy as np

from prism_explore.course.exercise import Exercise, Judgement, Mistake
from prism_explore.entry.equivalence.check import check
from prism_explore.errors import PrismError
from prism_explore.ir.graph import SGraph
from prism_explore.ir.interpreter.reference import Array, evaluate
from prism_explore.ir.text import parse, parse_program

PROGRAM = parse_program("""program rms_linear
  x = input f32[b, 64]
  w = input f32[64, 64]
  %2 = rms(x, dim=1)
  %3 = div(x, %2)
  %4 = matmul(%3, w)
  return %4""")
RIGHT = """sgraph
  x = input f32[b, 64]
  w = input f32[64, 64]
  %2 = custom(x, w) grid[x=gx] loop[i=f]
    %0 = load(0, imap=[-], fmap=1)
    %1 = load(1, imap=[1], fmap=0)
    %2 = matmul(%0, %1)
    %3 = accum(%2)
    %4 = accum_rms(%0, dim=1)
    %5 = div(%3, %4)
    %6 = store(%5, omap=[1])
  return %2"""
WRONG = RIGHT.replace("accum_rms", "accum_mean")


def difference(kernel: str | SGraph, x: Array) -> float:
    """The largest difference between a kernel and the program, over the largest value of the program's result.

    Args:
        kernel: an sGraph with the symbols gx and f, or its text.
        x: rows of 64 numbers.
    """
    graph = parse(kernel) if isinstance(kernel, str) else kernel
    inputs = {"x": x, "w": np.random.default_rng(0).normal(size=(64, 64))}
    sizes = {"b": len(x), "gx": 4, "f": 8}
    with np.errstate(divide="ignore", invalid="ignore"):  # a mean may be 0
        expected, found = (evaluate(g, inputs, sizes) for g in (PROGRAM.graph, graph))
    return float(np.abs(found - expected).max() / np.abs(expected).max())


def _judge_wrong(answer: Any) -> Judgement:
    if not isinstance(answer, str):
        raise PrismError(f"an answer is the text of an sGraph, found {type(answer).__name__}")
    passes = difference(answer, np.ones((8, 64))) < 1e-6
    outcome = check(PROGRAM, parse(answer)).outcome
    text = f"it {'passes' if passes else 'fails'} the test with x = 1 everywhere, and is {outcome} for all inputs"
    return Judgement(passes and outcome == "refuted" and "accum_rms" in answer, text, {})


def _is_right(answer: Any) -> bool:
    return check(PROGRAM, parse(answer)).outcome == "proved"


def _fails_the_test(answer: Any) -> bool:
    return difference(answer, np.ones((8, 64))) >= 1e-6


def _is_of_the_picture(answer: Any) -> bool:
    return "accum_rms" not in answer and not _fails_the_test(answer)


def _row(answer: Any) -> Array:
    row = np.asarray(answer, dtype=float)
    if row.shape != (64,) or not np.isfinite(row).all():
        raise PrismError(f"an answer is a row of 64 finite numbers, found an array of shape {row.shape}")
    return row


def _judge_witness(answer: Any) -> Judgement:
    row = _row(answer)
    if not row.any():
        return Judgement(False, "the norm divides 0 by 0 there, about which the program says nothing", {})
    far = difference(WRONG, row[None, :])
    mean, rms = row.mean(), np.sqrt((row**2).mean())
    text = f"the results differ by {far:.3g} of the largest value; the mean is {mean:.3g}, the rms {rms:.3g}"
    return Judgement(far > 1e-6, text, {})


def _is_constant(answer: Any) -> bool:
    row = _row(answer)
    return bool(row.any()) and bool((row == row[0]).all())


EXERCISES = (
    Exercise(
        "06-a",
        "Keep accum_rms, and change another word so that the kernel is wrong and passes a test with x = 1 everywhere.",
        "the text of an sGraph with accum_rms that agrees with the program where x is 1, and is refuted",
        _judge_wrong,
        (
            Mistake(RIGHT, "This one is right: it is proved. Which operator has no effect with a 1?", _is_right),
            Mistake(
                WRONG,
                "The picture has this one. Keep accum_rms, which is 1 where x is 1: what is done with it afterwards?",
                _is_of_the_picture,
            ),
            Mistake(
                RIGHT.replace("div(", "sub("),
                "The test finds this one: where x is 1, its result is another. Which operator has no effect with a 1?",
                _fails_the_test,
            ),
        ),
        ("Where x is 1, the root mean square is 1, too. What is done with it?", "x / 1 is x. What else is?"),
        "tests/verify/mutations.py makes such kernels by the thousand",
    ),
    Exercise(
        "06-b",
        "The kernel takes the mean of x instead of its root mean square. Give a row of x that shows it.",
        "a row of 64 numbers, such as [1.0] * 64",
        _judge_witness,
        (
            Mistake([1.0] * 64, "The mean and the root mean square of a positive constant are the same.", _is_constant),
            Mistake([0.0] * 64, "At 0 both are 0/0. Take numbers that differ.", lambda answer: not _row(answer).any()),
        ),
        ("The root mean square of a row is never negative.", "What is the mean of 1, -1, 1, -1, ...?"),
        "prism_explore.verify.counterexample.refuter draws such inputs",
    ),
)  # fmt: skip
