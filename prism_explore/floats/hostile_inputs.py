"""Hostile inputs: distributions on which floating-point programs fail, one row each.

A case is a row, the input that it makes hostile, and for some rows a dim. The other inputs are ordinary, because a
program with only extreme inputs overflows in every form. A case, the sizes and a seed determine the numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from prism_explore.floats.precision import Precision, representable
from prism_explore.ir.graph import SGraph
from prism_explore.ir.interpreter.reference import Array
from prism_explore.ir.interpreter.whole_numbers import Drawn, draw_for_trial
from prism_explore.ir.tensors import FLOATS
from prism_explore.verify.counterexample.inputs import NO_LIMITS, NO_WHOLE

Rng: TypeAlias = np.random.Generator
Shape: TypeAlias = tuple[int, ...]
Maker: TypeAlias = Callable[[Rng, Shape, Precision, int], Array]
"""Draws an array of a shape; the last argument is the dim, for rows that have one."""

LARGE = 1000.0
"""exp overflows float32 beyond 88 and float16 beyond 11, and is 0 below -104 and -17."""
SIDE = 400.0


@dataclass(frozen=True, slots=True)
class Hostile:
    """One row: how to fill the hostile input and the other inputs."""

    name: str
    sentence: str
    generator: Maker
    others: Maker
    along_dims: bool = False
    """Whether there is a case per dim of the input."""
    grows: bool = False
    """Whether it is run with a long reduction, too, because rounding errors accumulate."""


@dataclass(frozen=True, slots=True)
class Case:
    """A row applied to one input."""

    hostile: str
    tensor: str
    """The input that is hostile; empty where none is."""
    dim: int = 0

    def __str__(self) -> str:
        return f"{self.hostile} in {self.tensor}" if self.tensor else self.hostile


def _ordinary(rng: Rng, shape: Shape, _: Precision, __: int) -> Array:
    return rng.standard_normal(shape)


def _one_sign(rng: Rng, shape: Shape, _: Precision, __: int) -> Array:
    return np.abs(rng.standard_normal(shape)) + 0.5


def _near_one(rng: Rng, shape: Shape, _: Precision, __: int) -> Array:
    return 1.0 + 0.01 * rng.standard_normal(shape)


def _large(rng: Rng, shape: Shape, _: Precision, __: int) -> Array:
    return LARGE * rng.standard_normal(shape)


def _far_negative(rng: Rng, shape: Shape, working: Precision, along: int) -> Array:
    return -LARGE * _one_sign(rng, shape, working, along)


def _two_camps(rng: Rng, shape: Shape, working: Precision, along: int) -> Array:
    factor = np.where(np.arange(shape[along]) * 2 < shape[along], 1.0, -SIDE)
    factor = factor.reshape([-1 if d == along else 1 for d in range(len(shape))])
    return _one_sign(rng, shape, working, along) * factor


def _offset(rng: Rng, shape: Shape, working: Precision, _: int) -> Array:
    return 2.0 ** (working.digits // 2 - 2) + rng.standard_normal(shape)


def _cancelling(rng: Rng, shape: Shape, _: Precision, __: int) -> Array:
    parity = np.indices(shape).sum(axis=0) % 2 if shape else np.zeros(shape)
    return (100.0 + rng.standard_normal(shape)) * (1.0 - 2.0 * parity)


def _denormal(rng: Rng, shape: Shape, working: Precision, _: int) -> Array:
    return rng.standard_normal(shape) * working.smallest / 16.0


def _just_fits(rng: Rng, shape: Shape, working: Precision, _: int) -> Array:
    room = 64.0 * working.headroom * max(shape, default=1)
    return np.clip(rng.standard_normal(shape), -4.0, 4.0) * np.sqrt(working.largest / room)


def _zero(_: Rng, shape: Shape, __: Precision, ___: int) -> Array:
    return np.zeros(shape)


def _constant(_: Rng, shape: Shape, working: Precision, __: int) -> Array:
    return np.full(shape, 2.0 ** (working.digits // 2 - 2) + 0.1)


def _mixed(rng: Rng, shape: Shape, working: Precision, _: int) -> Array:
    decades = 0.1 * working.digits + 1.0
    return rng.standard_normal(shape) * 10.0 ** rng.uniform(-decades, decades, shape)


HOSTILE: tuple[Hostile, ...] = (
    Hostile("ordinary numbers", "standard normal numbers", _ordinary, _ordinary, grows=True),
    Hostile("large values", "a thousand times ordinary: logits whose exp overflows", _large, _ordinary),
    Hostile(
        "far negative values",
        "a thousand below zero: logits whose exp is 0, then 0/0",
        _far_negative,
        _one_sign,
    ),
    Hostile(
        "two camps",
        "half of a dim is ordinary, half far below zero: parts of a sum of exps vanish as a whole",
        _two_camps,
        _one_sign,
        along_dims=True,
    ),
    Hostile(
        "an offset",
        "a small spread about a large mean: E[x²] - E[x]² loses the digits that a centred sum keeps",
        _offset,
        _ordinary,
        grows=True,
    ),
    Hostile(
        "cancelling sums",
        "neighbours cancel: a sum far smaller than its terms",
        _cancelling,
        _near_one,
        grows=True,
    ),
    Hostile("denormals", "below the smallest normal number: squares are 0, digits are few", _denormal, _ordinary),
    Hostile("huge norms", "as large as a sum of squares still fits with room to spare", _just_fits, _ordinary),
    Hostile("zeros", "all zero: 0/0 in a norm without epsilon", _zero, _ordinary),
    Hostile("constant rows", "all equal, and no round number: a variance that is 0", _constant, _ordinary),
    Hostile("mixed magnitudes", "numbers of very different size side by side", _mixed, _ordinary),
)
"""Sources: Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., 1.9 and 27; arXiv 1805.02867."""

ROWS: Mapping[str, Hostile] = {row.name: row for row in HOSTILE}


def cases(graph: SGraph, growing_only: bool = False) -> Iterator[Case]:
    """Every row applied to every input; the first row has no hostile input."""
    first, *rest = HOSTILE
    yield Case(first.name, "")
    for row in rest:
        if growing_only and not row.grows:
            continue
        for given in (i for i in graph.inputs if i.type.dtype in FLOATS):
            dims = [d for d, size in enumerate(given.type.dims) if not size.is_one] if row.along_dims else [0]
            yield from (Case(row.name, given.name, d) for d in dims)


def draw(
    shapes: Iterable[tuple[str, Shape]],
    case: Case,
    working: Precision,
    seed: int,
    whole: Mapping[str, Drawn] = NO_WHOLE,
    limits: Mapping[str, int] = NO_LIMITS,
) -> dict[str, Array]:
    """The inputs of a case.

    Args:
        shapes: name and shape of each input, in the program's order.
        case: the row and the hostile input.
        working: the working precision.
        seed: equal seeds give equal numbers.
        whole: how to draw the inputs that are whole numbers, which are never hostile.
        limits: per integer input, the number of its values, from 0 on; they are not hostile either.

    Returns:
        Numbers of the working precision, as float64 arrays; integers as they are.
    """
    row = ROWS[case.hostile]
    rng = np.random.default_rng(seed)
    out: dict[str, Array] = {}
    for name, shape in shapes:
        if name in whole:
            out[name] = draw_for_trial(rng, shape, whole[name])
            continue
        if name in limits:
            out[name] = rng.integers(limits[name], size=shape)
            continue
        make = row.generator if name == case.tensor else row.others
        out[name] = representable(make(rng, shape, working, case.dim), working)
    return out
