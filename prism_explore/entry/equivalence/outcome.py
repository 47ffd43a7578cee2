"""The answer of a check, as data, and the rows in which it is printed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

import numpy as np

from prism_explore.entry.equivalence.parting import BOX, Parting
from prism_explore.entry.equivalence.rows import Row, as_html, as_text
from prism_explore.errors import PrismError
from prism_explore.events.format import count_text
from prism_explore.ir.interpreter.reference import Array
from prism_explore.pipeline.stages import Verdict

Outcome: TypeAlias = Literal["proved", "refuted", "up to constants", "unknown"]
"""`up to constants`: different functions, whose formulas are the same but for constants that are nearly equal."""


@dataclass(frozen=True, slots=True)
class Witness:
    """Inputs at which the two sides differ.

    Example:
        >>> import torch
        >>> import prism_explore as px
        >>> found = px.check(lambda x: x.abs(), lambda x: x, x=px.T("b"))
        >>> witness = found.witness
        >>> witness.values[0] == abs(float(witness.inputs["x"][witness.index]))
        True
    """

    sizes: tuple[tuple[str, int], ...]
    """Of the declared symbols, such as `(("b", 2),)`."""
    drawn: str
    """The distribution of the inputs and the seed."""
    inputs: Mapping[str, Array] = field(repr=False, hash=False)
    """An array per variable, exact in float32."""
    index: tuple[int, ...]
    """The position of the largest difference in the result."""
    values: tuple[float, float]
    """What each side has there."""
    relative: float
    """The difference over the largest absolute value of the results; infinite where one side is no finite number."""
    arithmetic: str
    """Such as `torch in float64`."""
    agreeing: tuple[str, ...] = ()
    """Sizes at which no trial differed, such as `b=2, n=2`."""


@dataclass(frozen=True, slots=True)
class ResultCheck:
    """The answer for one result of the two sides.

    Example:
        >>> import torch
        >>> import prism_explore as px
        >>> found = px.check(lambda x: (x + x, -x), lambda x: (2 * x, x), x=px.T("b"))
        >>> [(r.place, r.outcome) for r in found.results]
        [('[0]', 'proved'), ('[1]', 'refuted')]
    """

    place: str
    """Where it stands in the results, such as `[1]`; empty for a single tensor."""
    outcome: Outcome
    """`proved`, `refuted`, `up to constants` or `unknown`."""
    reason: str
    """The claim that was proved, how the sides differ, or what was not decided; a sentence."""
    verdict: Verdict | None = None
    """The prover's; None where a side has no program."""
    witness: Witness | None = None
    """Inputs at which the sides differ."""
    parting: Parting | None = None
    """The smallest differing subterms, where both sides have a normal form and these differ."""
    lines: tuple[str, str] = ("", "")
    """The line of code of the first value on each side that the other side lacks."""
    matched: tuple[str, ...] = ()
    """The last values that both sides compute."""
    advice: str = ""
    """What would decide it."""


@dataclass(frozen=True, slots=True)
class FloatComparison:
    """How far the results of the two sides differ in the declared dtype, on random inputs: measured, not proved.

    Example:
        >>> import torch
        >>> import prism_explore as px
        >>> found = px.check(lambda x: x.sum(0), lambda x: x.mean(0) * 64, x=px.T(64, "n"))
        >>> found.floats[0].dtype, found.floats[0].difference < 1e-5
        ('float32', True)
    """

    dtype: str
    """Such as `float32`."""
    drawn: str
    """The distribution of the inputs."""
    sizes: tuple[tuple[str, int], ...]
    """Of the declared symbols."""
    difference: float
    """The largest difference where both sides are finite, over the largest absolute value."""
    errors: tuple[float, float]
    """The same of each side from its own result in float64."""
    not_finite: tuple[int, int]
    """How many elements of each side are NaN or infinite where its result in float64 is finite."""


@dataclass(frozen=True, slots=True)
class Equivalence:
    """What `check` found out about two sides; prints as text, and as a page in a notebook.

    Example:
        >>> import torch
        >>> import prism_explore as px
        >>> found = px.check(lambda x: torch.softmax(x, -1), lambda x: x.exp() / x.exp().sum(-1, True), x=px.T("b", 64))
        >>> found.outcome, found.witness
        ('proved', None)
    """

    names: tuple[str, str]
    """Of the two sides."""
    over: tuple[str, ...]
    """The variables with their types, such as `x f32[b, 64]`."""
    symbols: tuple[str, ...]
    """The sizes for all values of which the sides were judged."""
    results: tuple[ResultCheck, ...]
    """One per result."""
    trials: int = 0
    """How many random trials of the two sides were run, beside those of the prover."""
    floats: tuple[FloatComparison, ...] = ()
    """How far floats differ; empty for refuted sides, graphs, and results without floats."""
    notes: tuple[str, ...] = ()
    """What else is to be known, such as how arguments were matched."""

    @property
    def outcome(self) -> Outcome:
        """`refuted` if one result is, else `unknown` or `up to constants` if one is, else `proved`."""
        found = {r.outcome for r in self.results}
        order: tuple[Outcome, ...] = ("refuted", "unknown", "up to constants", "proved")
        return next(word for word in order if word in found)

    @property
    def decisive(self) -> ResultCheck:
        """The first result with this outcome."""
        return next(r for r in self.results if r.outcome == self.outcome)

    @property
    def witness(self) -> Witness | None:
        """Inputs at which the sides differ; None where none were found."""
        return self.decisive.witness

    @property
    def verdict(self) -> Verdict:
        """The prover's verdict on `decisive`, for `px.collect_evidence` and `px.certify`.

        Raises:
            PrismError: a side could not be translated, so the prover had nothing to decide.
        """
        if self.decisive.verdict is None:
            raise PrismError(f"the prover decided nothing: {self.decisive.reason}")
        return self.decisive.verdict

    def __bool__(self) -> bool:
        raise TypeError("a check has four outcomes, so it is neither true nor false; ask found.outcome == 'proved'")

    @property
    def headline(self) -> str:
        """The outcome and what it is about, such as `proved: f = g for all b`."""
        left, right = self.names
        scope = f"for all {', '.join(self.symbols)}" if self.symbols else "at the given sizes"
        match self.outcome:
            case "proved":
                return f"proved: {left} = {right} {scope}"
            case "refuted":
                return f"refuted: {left} and {right} differ"
            case "up to constants":
                return f"up to constants: {left} = {right} {scope}, if nearly equal constants are read as equal"
            case "unknown":
                return f"unknown: whether {left} = {right} {scope} is not decided"

    def __str__(self) -> str:
        return as_text(self.headline, tuple(_rows(self)))

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return as_html(self.headline, tuple(_rows(self)))

    @property
    def as_data(self) -> dict[str, Any]:
        """The answer as a JSON object."""
        return {
            "outcome": self.outcome,
            "sides": list(self.names),
            "over": list(self.over),
            "results": [
                {
                    "place": r.place,
                    "outcome": r.outcome,
                    "reason": r.reason,
                    "advice": r.advice,
                    "witness": None
                    if r.witness is None
                    else {
                        "sizes": dict(r.witness.sizes),
                        "drawn": r.witness.drawn,
                        "inputs": {k: v.tolist() for k, v in r.witness.inputs.items() if v.size <= 1000},
                        "index": list(r.witness.index),
                        "values": [repr(v) for v in r.witness.values],
                    },
                    "parting": None
                    if r.parting is None
                    else {"context": r.parting.context, "sides": [r.parting.left, r.parting.right]},
                }
                for r in self.results
            ],
            "floats": [
                {"dtype": f.dtype, "drawn": f.drawn, "difference": f.difference, "not_finite": list(f.not_finite)}
                for f in self.floats
            ],
            "notes": list(self.notes),
        }


# ---------------------------------------------------------------- printing
MAX_SHOWN_ELEMENTS, MAX_SHOWN_PLACES = 32, 8
"""Larger inputs of a witness are described: their shape, and up to so many elements that are not 0."""


def _rows(found: Equivalence) -> Iterator[Row]:
    yield Row("over", ", ".join(found.over))
    for result in found.results:
        if len(found.results) > 1:
            yield Row("result", f"{result.place}: {result.outcome}")
        yield from _result_rows(result, found.names)
    for comparison in found.floats:
        yield Row("floats", _float_sentence(comparison, found.names))
    if found.trials:
        yield Row("trials", f"{found.trials} on random inputs in torch, in addition to those of the prover")
    for note in found.notes:
        yield Row("note", note)


def _result_rows(result: ResultCheck, names: tuple[str, str]) -> Iterator[Row]:
    yield Row("claim" if result.outcome == "proved" else "reason", result.reason)
    if result.witness is not None:
        yield from _witness_rows(result.witness, names)
    if result.parting is not None:
        if result.parting.context != BOX:
            yield Row("both are", f", where {BOX} is", result.parting.context)
        yield Row(f"{BOX} is" if result.parting.context != BOX else "result", f" in {names[0]}", result.parting.left)
        yield Row("and", f" in {names[1]}", result.parting.right)
    for name, line in zip(names, result.lines, strict=True):
        if line:
            yield Row("code", f"{name} parts at {line}")
    for term in result.matched:
        yield Row("matched", "", term)
    if result.advice:
        yield Row("next", result.advice)


def _witness_rows(witness: Witness, names: tuple[str, str]) -> Iterator[Row]:
    if witness.sizes:
        yield Row("at", ", ".join(f"{s}={n}" for s, n in witness.sizes))
    for name, value in witness.inputs.items():
        yield Row("input", f"{name} = {_show_array(value)}")
    yield Row("drawn", f"{witness.drawn}; found.witness.inputs has the arrays")
    place = f"[{', '.join(map(str, witness.index))}]" if witness.index else "the result"
    yield Row("differ at", f"{place}: {witness.values[0]:.9g} in {names[0]}, {witness.values[1]:.9g} in {names[1]}")
    yield Row("computed", f"by {witness.arithmetic}")
    if witness.agreeing:
        yield Row("but equal", f"in all trials at {'; '.join(witness.agreeing)}")


def _show_array(value: Array) -> str:
    """A small array with 6 digits; of a larger one the elements that are not 0, or the shape."""
    if value.size <= MAX_SHOWN_ELEMENTS:
        return np.array2string(
            value, separator=", ", max_line_width=10_000, formatter={"float_kind": lambda x: f"{x:.6g}"}
        ).replace("\n", "")
    places = np.argwhere(value != 0)
    if not len(places):
        return f"0, of shape {value.shape}"
    if len(places) <= MAX_SHOWN_PLACES:
        listed = ", ".join(f"[{', '.join(map(str, p))}] = {float(value[tuple(p)]):.6g}" for p in places)
        return f"0, of shape {value.shape}, except {listed}"
    return f"array of shape {value.shape}"


def _float_sentence(found: FloatComparison, names: tuple[str, str]) -> str:
    """How far two sides differ in floats, as a sentence."""
    sizes = ", ".join(f"{s}={n}" for s, n in found.sizes)
    text = (
        f"{found.dtype}, {found.drawn}{f', {sizes}' if sizes else ''}: the results differ by {found.difference:.1e} of "
        f"the largest value; from float64 {names[0]} by {found.errors[0]:.1e}, {names[1]} by {found.errors[1]:.1e}"
    )
    lost = [
        f"{count_text(n, 'element', 'elements')} of {name}"
        for n, name in zip(found.not_finite, names, strict=True)
        if n
    ]
    return text + (f"; NaN or infinite by overflow: {', '.join(lost)}" if lost else "")
