"""Exercises of notebook 11: a row with a false claim, scales of quantized weights, and integers that wrap around.

A claim of a row says how the function can be computed in another way. It is false where that curve parts from the
function's. `tests/ir/test_elementwise.py` tests the engine's own rows with 60 digits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np

from prism_explore.course.exercise import Exercise, Judgement, Mistake
from prism_explore.entry.equivalence.check import check
from prism_explore.errors import PrismError
from prism_explore.ir.elementwise import NONNEGATIVE, ElementwiseFunction, Interval, in_mpmath
from prism_explore.ir.formulas import formula
from prism_explore.ir.tensors import tensor
from prism_explore.widgets.drawing.charts import Chart, Series
from prism_explore.widgets.scene import Scene

Values: TypeAlias = Any
"""A NumPy array of float64."""

FARTHEST = 6.0
"""Claims are tried from -6 to 6."""
POINTS = 600
TOLERANCE = 2e-3
"""Difference of two curves that is still rounding and the sum of trapezoids, as a share of the largest value."""


def _in_formula(text: str, x: Values) -> Values:
    return np.array([float(in_mpmath(formula(text), {"x": value})) for value in x.tolist()])


def _integrated(row: ElementwiseFunction, x: Values) -> Values:
    """The value at the first point, and from there on what the derivative adds, by trapezoids."""
    slope = _in_formula(row.derivative, x)
    added = np.cumsum((slope[1:] + slope[:-1]) / 2 * np.diff(x))
    return row.numpy(x[:1]) + np.concatenate([[0.0], added])


def _without_falls(row: ElementwiseFunction, x: Values) -> Values:
    up = 1.0 if row.monotone == "increasing" else -1.0
    return up * np.maximum.accumulate(up * row.numpy(x))


@dataclass(frozen=True, slots=True)
class Claim:
    """A field of a row."""

    stated: Callable[[ElementwiseFunction], bool]
    """Whether a row states it."""
    curve: Callable[[ElementwiseFunction, Values], Values]
    """What the values at ascending points would be if it were true."""


CLAIMS: Mapping[str, Claim] = {
    "definition": Claim(lambda row: bool(row.definition), lambda row, x: _in_formula(row.definition, x)),
    "derivative": Claim(lambda row: bool(row.derivative), _integrated),
    "monotone": Claim(lambda row: bool(row.monotone), _without_falls),
    "parity": Claim(
        lambda row: bool(row.parity), lambda row, x: (-1.0 if row.parity == "odd" else 1.0) * row.numpy(-x)
    ),
    "range": Claim(lambda row: True, lambda row, x: np.clip(row.numpy(x), row.range.low, row.range.high)),
    "zero_at_zero": Claim(lambda row: row.zero_at_zero, lambda row, x: row.numpy(x) - row.numpy(np.zeros(1))),
}
"""The claims that are tried, by the fields of a row."""


def random_points(seed: int = 0) -> Values:
    """Ascending points.

    Args:
        seed: of the generator.
    """
    return np.sort(np.random.default_rng(seed).uniform(-FARTHEST, FARTHEST, POINTS))


def false_claims(row: ElementwiseFunction, seed: int = 0) -> tuple[str, ...]:
    """The claims of a row that random points refute; none found is no proof.

    Args:
        row: a function of all real numbers.
        seed: of the points.
    """
    x = random_points(seed)
    y = row.numpy(x)
    limit = TOLERANCE * max(1.0, float(np.abs(y).max()))
    return tuple(
        name
        for name, claim in CLAIMS.items()
        if claim.stated(row) and not np.allclose(claim.curve(row, x), y, rtol=0.0, atol=limit)
    )


def claim_scene(row: ElementwiseFunction, name: str) -> Scene:
    """Draw a function, and what it would be if one of its claims were true.

    Args:
        row: the function.
        name: a key of `CLAIMS`.
    """
    x = np.linspace(-FARTHEST, FARTHEST, 121)
    y, claimed = row.numpy(x), CLAIMS[name].curve(row, x)
    shown = np.concatenate([y, claimed])
    verdict = "is false" if name in false_claims(row) else "held at all points"
    chart = Chart(560, 300, "x", "", right=30)
    chart.x_range(-FARTHEST, FARTHEST)
    chart.y_range(float(np.floor(shown.min())), float(np.ceil(shown.max())))
    chart.axes()
    chart.line(Series(row.name, "curve", tuple(zip(x.tolist(), y.tolist(), strict=True))))
    chart.line(Series(f"if {name} were true", "curve-2", tuple(zip(x.tolist(), claimed.tolist(), strict=True))))
    desc = f"{row.name}, and what it would be if its {name} were true. The claim {verdict}."
    return chart.scene("claim", f"{name} of {row.name} {verdict}", desc)


def _row(name: str, numpy: Callable[[Any], Any], **claims: Any) -> ElementwiseFunction:
    """A row of which only the mathematics is tried."""
    return ElementwiseFunction(name=name, numpy=numpy, torch="", triton="", llvm="", flops=1, **claims)


PROPOSED: Mapping[str, ElementwiseFunction] = {
    "A": _row(
        "x exp(-x²)",
        lambda x: x * np.exp(-x * x),
        definition="x * exp(-x * x)",
        derivative="(1 - 2 * x * x) * exp(-x * x)",
        range=Interval(-0.43, 0.43),
        parity="odd",
        zero_at_zero=True,
        monotone="increasing",
    ),
    "B": _row(
        "x - tanh(x)",
        lambda x: x - np.tanh(x),
        definition="x - tanh(x)",
        derivative="tanh(x) * tanh(x)",
        range=NONNEGATIVE,
        parity="odd",
        zero_at_zero=True,
        monotone="increasing",
    ),
    "C": _row(
        "log((exp(x) + exp(-x)) / 2)",
        lambda x: np.logaddexp(x, -x) - np.log(2.0),
        definition="log(exp(x) + exp(-x))",
        derivative="tanh(x)",
        range=NONNEGATIVE,
        parity="even",
        zero_at_zero=True,
    ),
    "D": _row(
        "sqrt(1 + x²)",
        lambda x: np.sqrt(1.0 + x * x),
        definition="sqrt(1 + x * x)",
        derivative="x / sqrt(1 + x * x)",
        range=NONNEGATIVE,
        parity="even",
        zero_at_zero=True,
    ),
    "E": _row(
        "x / (1 + |x|)",
        lambda x: x / (1.0 + np.abs(x)),
        definition="x / (1 + abs(x))",
        derivative="1 / (1 + abs(x))",
        range=Interval(-1.0, 1.0),
        parity="odd",
        zero_at_zero=True,
        monotone="increasing",
    ),
}
"""Rows that were proposed, each with one false claim."""


def dequantized_first(x: Any, q: Any, s: Any) -> Any:
    """The product with weights that are scaled, row by row, before they are used."""
    return x @ (q.float() * s[:, None]).T


PLACEMENTS: Mapping[str, tuple[str, Callable[[Any, Any, Any], Any]]] = {
    "A": ("(x @ q.float().T) * s", lambda x, q, s: (x @ q.float().T) * s),
    "B": ("(x * s) @ q.float().T", lambda x, q, s: (x * s) @ q.float().T),
    "C": ("x @ (q.float() * s).T", lambda x, q, s: x @ (q.float() * s).T),
    "D": ("x @ (s * q.float().T)", lambda x, q, s: x @ (s * q.float().T)),
    "E": ("(2 * x @ q.float().T) * s / 2", lambda x, q, s: (2 * x @ q.float().T) * s / 2),
}
"""Where a scale per output can be put, as text and as code; the weights are square, so all shapes fit."""
WIDTH = 32


def _is_proved(code: Callable[..., Any], types: Mapping[str, Any]) -> bool:
    return check(dequantized_first, code, **types).outcome == "proved"


@lru_cache(1)
def placements_that_are_equal() -> frozenset[str]:
    """The letters of the placements that are proved equal to `dequantized_first`."""
    types = {"x": tensor("b", WIDTH), "q": tensor(WIDTH, WIDTH, dtype="i8"), "s": tensor(WIDTH)}
    return frozenset(a for a, (_, code) in PLACEMENTS.items() if _is_proved(code, types))


PACKED: Mapping[str, tuple[str, Callable[[Any], Any]]] = {
    "A": ("(q & 15) + (q >> 4)", lambda q: ((q & 15) + (q >> 4)).float()),
    "B": ("(q & 15) - 8", lambda q: ((q & 15) - 8).float()),
    "C": ("(q >> 4) * 17", lambda q: ((q >> 4) * 17).float()),
    "D": ("(q >> 4) * 18", lambda q: ((q >> 4) * 18).float()),
    "E": ("q + 1", lambda q: (q + 1).float()),
    "F": ("(q >> 1) + (q >> 1)", lambda q: ((q >> 1) + (q >> 1)).float()),
}
"""Arithmetic of unsigned integers of 8 bits, as text and as code."""


@lru_cache(1)
def wrapping() -> frozenset[str]:
    """The letters of `PACKED` that differ from the same arithmetic of wider integers, which `px.check` refutes."""

    def wider(code: Callable[[Any], Any]) -> Callable[[Any], Any]:
        return lambda q: code(q.int())

    q = tensor("n", 8, dtype="u8")
    outcomes = {letter: check(code, wider(code), q=q).outcome for letter, (_, code) in PACKED.items()}
    return frozenset(letter for letter, outcome in outcomes.items() if outcome == "refuted")


def _proposals(answer: Any) -> Mapping[str, str]:
    if not isinstance(answer, dict) or set(answer) != set(PROPOSED) or not set(answer.values()) <= set(CLAIMS):  # pyright: ignore[reportUnknownArgumentType]
        raise PrismError(
            f"an answer is a dict from each of {', '.join(PROPOSED)} to one of {', '.join(CLAIMS)}; found {answer!r}"
        )
    return answer  # pyright: ignore[reportUnknownVariableType]


def _judge_claims(answer: Any) -> Judgement:
    given = _proposals(answer)
    wrong = [letter for letter, row in PROPOSED.items() if (given[letter],) != false_claims(row)]
    text = f"another claim is false in {', '.join(wrong)}" if wrong else "each of these claims is refuted by a number"
    return Judgement(not wrong, text, {"points tried per claim": POINTS})


def _letters(answer: Any, of: Iterable[str]) -> frozenset[str]:
    given, letters = frozenset(answer), tuple(of)
    if not given or not given <= set(letters):
        raise PrismError(f"an answer is a set of letters from A to {letters[-1]}, found {answer!r}")
    return given


def _judge_placements(answer: Any) -> Judgement:
    given, equal = _letters(answer, PLACEMENTS), placements_that_are_equal()
    wrong = len(given ^ equal)
    text = f"{wrong} of {len(PLACEMENTS)} letters are in the wrong set" if wrong else "exactly these are proved equal"
    return Judgement(not wrong, text, {"proved equal": len(given & equal)})


def _judge_packed(answer: Any) -> Judgement:
    wrong = len(_letters(answer, PACKED) ^ wrapping())
    text = f"{wrong} of {len(PACKED)} letters are in the wrong set" if wrong else "exactly these wrap around"
    return Judgement(not wrong, text, {})


def _names(letter: str, claim: str) -> Callable[[Any], bool]:
    return lambda answer: _proposals(answer)[letter] == claim


def _has(letter: str, of: Iterable[str]) -> Callable[[Any], bool]:
    return lambda answer: letter in _letters(answer, of)


def _lacks(letter: str, of: Iterable[str]) -> Callable[[Any], bool]:
    return lambda answer: letter not in _letters(answer, of)


EXERCISES = (
    Exercise(
        "11-a",
        "Which claim of each proposed row is false?",
        'a dict such as {"A": "parity", ...}, with a claim for each letter from A to E',
        _judge_claims,
        (
            Mistake(
                {"A": "range", "B": "range", "C": "definition", "D": "zero_at_zero", "E": "derivative"},
                "x exp(-x²) is largest at 1/√2, where it is 0.429. So the range holds. What does it do after that?",
                _names("A", "range"),
            ),
            Mistake(
                {"A": "monotone", "B": "monotone", "C": "definition", "D": "zero_at_zero", "E": "derivative"},
                "The derivative of x - tanh(x) is tanh(x)², which is never negative. So it never falls.",
                _names("B", "monotone"),
            ),
            Mistake(
                {"A": "monotone", "B": "range", "C": "zero_at_zero", "D": "zero_at_zero", "E": "derivative"},
                "The function of C is 0 at 0. Is its definition, too?",
                _names("C", "zero_at_zero"),
            ),
            Mistake(
                {"A": "monotone", "B": "range", "C": "definition", "D": "range", "E": "derivative"},
                "sqrt(1 + x²) is at least 1, so it is nonnegative: a range may be wider than needed. What is it at 0?",
                _names("D", "range"),
            ),
            Mistake(
                {"A": "monotone", "B": "range", "C": "definition", "D": "zero_at_zero", "E": "range"},
                "x / (1 + |x|) comes near 1 and never reaches it. Compute its slope at 1.",
                _names("E", "range"),
            ),
        ),
        (
            'Draw a claim: claim_scene(PROPOSED["A"], "monotone").',
            "false_claims(row) tries all claims of a row at random points.",
        ),
        "tests/ir/test_elementwise.py tries each claim of each row with 60 digits",
    ),
    Exercise(
        "11-b",
        "Which placements of the scale equal weights that are dequantized first?",
        'a set of letters, such as {"A", "B"}',
        _judge_placements,
        (
            Mistake(
                {"A", "B", "D", "E"},
                "In B the scale of output i multiplies input i. The shapes fit only because the weights are square.",
                _has("B", PLACEMENTS),
            ),
            Mistake(
                {"A", "C", "D", "E"},
                "Without [:, None] the scales run along the inputs, the last dim of q.",
                _has("C", PLACEMENTS),
            ),
            Mistake(
                {"D", "E"},
                "Each output is a sum in which every term has the same scale. May it be taken out of the sum?",
                _lacks("A", PLACEMENTS),
            ),
            Mistake(
                {"A", "E"},
                "q.float().T has the outputs as its last dim, and s runs along the last dim.",
                _lacks("D", PLACEMENTS),
            ),
            Mistake(
                {"A", "D"},
                "Over the reals a factor 2 and a division by 2 cancel. The claim is about real numbers.",
                _lacks("E", PLACEMENTS),
            ),
        ),
        ("Write each as a sum over the inputs. Which index does the scale have?", "px.check decides each of them."),
        "prism_explore.verify.prover proves them by a normal form of sums",
    ),
    Exercise(
        "11-c",
        "q has unsigned integers of 8 bits, from 0 to 255. Which expressions wrap around for some q?",
        'a set of letters, such as {"A", "B"}',
        _judge_packed,
        (
            Mistake(
                {"D", "E"},
                "The results of B are from -8 to 7, and an unsigned integer has no negative values.",
                _lacks("B", PACKED),
            ),
            Mistake({"B", "E"}, "15 · 18 = 270, which is more than 255.", _lacks("D", PACKED)),
            Mistake({"B", "D"}, "255 + 1 wraps around to 0.", _lacks("E", PACKED)),
            Mistake({"A", "B", "D", "E"}, "Two numbers of 4 bits have a sum of at most 30.", _has("A", PACKED)),
            Mistake({"B", "C", "D", "E"}, "15 · 17 = 255, which fits exactly.", _has("C", PACKED)),
            Mistake({"B", "D", "E", "F"}, "q >> 1 is at most 127, and twice that is 254.", _has("F", PACKED)),
        ),
        (
            "Write the least and the largest value of each expression.",
            "px.check compares each with the same arithmetic of q.int().",
        ),
        "prism_explore.frontend.lower_aten computes the range of each integer tensor, and takes off multiples of 256",
    ),
)
