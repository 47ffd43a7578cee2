"""What the block interpreter really loads, stores and computes, and real candidates to run it on."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from itertools import product
from typing import Any
from unittest.mock import patch

import numpy as np

from prism_explore.events.journal import Journal
from prism_explore.generate import generate
from prism_explore.instantiate import instantiate
from prism_explore.ir import evaluate as interpreter
from prism_explore.ir.program import ProgramBuilder, TensorProgram
from prism_explore.ir.sgraph import SGraph
from prism_explore.ir.space import default_space
from prism_explore.ir.stages import Candidate
from tests.generate.programs import MACHINE, attention, gate, rms_linear_small, scaled_linear, softmax


class Tally:
    """How much was done."""

    def __init__(self) -> None:
        self.flops = self.loaded = self.stored = 0
        self.held: list[int] = []
        """Bytes of everything that one block ever held, per block."""


class Counted:
    """A number that counts what is done to it."""

    def __init__(self, value: float, tally: Tally) -> None:
        self.value, self.tally = value, tally

    def _made(self, value: float, flops: int = 1) -> Counted:
        self.tally.flops += flops
        return Counted(value, self.tally)

    def __add__(self, other: Any) -> Counted:
        return self._made(self.value + _value(other))

    def __sub__(self, other: Any) -> Counted:
        return self._made(self.value - _value(other))

    def __mul__(self, other: Any) -> Counted:
        return self._made(self.value * _value(other))

    def __truediv__(self, other: Any) -> Counted:
        return self._made(self.value / _value(other))

    __radd__, __rmul__ = __add__, __mul__

    def sqrt(self) -> Counted:
        return self._made(abs(self.value) ** 0.5)

    def exp(self) -> Counted:
        return self._made(float(np.exp(min(self.value, 100.0))))

    def silu(self) -> Counted:
        return self._made(self.value / (1 + float(np.exp(min(-self.value, 100.0)))), 4)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Counted) and abs(self.value - other.value) <= 1e-9 * max(1.0, abs(self.value))


def _value(other: Any) -> float:
    return float(other.value if isinstance(other, Counted) else other)


def counted(graph: SGraph, sizes: dict[str, int], shapes: dict[str, int]) -> Tally:
    """Run a graph block by block and iteration by iteration, and count; tensors are float32."""
    tally = Tally()
    rng = np.random.default_rng(0)
    inputs = {}
    for i in graph.inputs:
        numbers = rng.uniform(0.5, 1.5, [d.value(shapes) for d in i.type.dims])
        inputs[i.name] = np.vectorize(lambda v: Counted(v, tally), otypes=[object])(numbers)
    tile_of, slices_of, block_of = interpreter._tile, interpreter._slices, interpreter._run_block

    def loading(*args: Any) -> Any:
        tile = tile_of(*args)
        tally.loaded += 4 * tile.size
        tally.held[-1] += 4 * tile.size
        return tile

    def storing(tile: tuple[int, ...], *args: Any) -> Any:
        tally.stored += 4 * int(np.prod(tile))
        return slices_of(tile, *args)

    def running(*args: Any) -> Any:
        tally.held.append(0)
        return block_of(*args)

    def holding(value: Any) -> Any:
        if tally.held:
            tally.held[-1] += 4 * value.size
        return value

    with (
        patch.object(interpreter, "_tile", loading),
        patch.object(interpreter, "_slices", storing),
        patch.object(interpreter, "_run_block", running),
    ):
        interpreter.evaluate(graph, inputs, sizes, holding)
    return tally


# ---------------------------------------------------------------- candidates
@dataclass(frozen=True)
class Case:
    """A candidate that a search made, right or wrong, and numbers at which to run it."""

    candidate: Candidate
    shapes: dict[str, int]
    sizes: tuple[dict[str, int], ...]


def two_products() -> TensorProgram:
    b = ProgramBuilder("two_products")
    x, v, w = b.input("x", "b", 4), b.input("v", 4, 6), b.input("w", 4, 6)
    return b.build(b.binary("mul", b.matmul(x, v), b.unary("square", b.matmul(x, w))))


PROGRAMS = (rms_linear_small(), scaled_linear(), softmax(), gate(), attention(), two_products())
BATCH = {"b": 2}


@cache
def cases() -> tuple[Case, ...]:
    """Every candidate of every family that small searches find."""
    found: list[Case] = []
    for program in PROGRAMS:
        journal = Journal(clock=lambda: 0.0)
        space = replace(default_space(program), results=0)
        for family in generate(program, space, MACHINE, journal):
            if family is not None:
                for candidate in instantiate(family, space, MACHINE, journal):
                    found.append(Case(candidate, BATCH, tuple(legal(candidate))))
    return tuple(case for case in found if case.sizes)


def legal(candidate: Candidate) -> list[dict[str, int]]:
    names = candidate.sgraph.parameters
    choices = (dict(zip(names, row, strict=True)) for row in product((1, 2, 3, 4), repeat=len(names)))
    return [s for s in choices if all(d.rational({**BATCH, **s}).denominator == 1 for d in candidate.conditions)]
