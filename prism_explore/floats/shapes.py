"""The sizes at which a candidate is run: small ones, and some with one long reduction.

Sizes are chosen as for the refuter (`verify.shapes.concretize`): each axis gets a small extent of its own, except where
a constant depends on the given extent.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from prism_explore.ir.axes import axes_of
from prism_explore.ir.axis_typing import uncut_axis
from prism_explore.ir.graph import SGraph
from prism_explore.ir.program import TensorProgram
from prism_explore.verify.shapes.concretize import TINY, Extents
from prism_explore.verify.shapes.instance import Instance
from prism_explore.verify.shapes.pair import Pair

LONG = (1024, 1152, 960, 720)
"""Elements of the long reduction; the first that all tiles divide is used."""
MOST_ELEMENTS = 1 << 18
"""The largest total number of elements of all inputs."""


@dataclass(frozen=True, slots=True)
class Plan:
    """The choices of sizes for one candidate."""

    small: tuple[Instance, ...]
    """Tried in order; the first at which the two are equal is used for all cases."""
    long: Instance | None
    """With one long reduction, for the cases in which rounding errors accumulate."""

    @property
    def all(self) -> tuple[Instance, ...]:
        """Every instance."""
        return (*self.small, self.long) if self.long else self.small


class Planner:
    """Finds sizes for the candidates of one program."""

    def __init__(self, program: TensorProgram) -> None:
        self._extents = Extents(program)
        table = axes_of(program.graph)
        extents = {a.name: a.extent.constant for a in table.axes}
        # Longest reduced axes first; a symbol counts as long.
        self._reduced = sorted(_reduced(program, table.of), key=lambda name: -(extents[name] or LONG[0]))

    def plan(self, candidate: SGraph) -> Plan | str:
        """Sizes at which program and candidate can be run, or why there are none."""
        pair = self._extents.pair(candidate)
        if isinstance(pair, str):
            return pair
        small = self._extents.instance(pair)
        found = [] if isinstance(small, str) else [small]
        found += self._with_given_extents(pair)
        if not found:
            return str(small)
        return Plan(tuple(found), next(self._with_long_reduction(pair), None))

    def _with_given_extents(self, pair: Pair) -> Iterator[Instance]:
        """With the given extents of the axes that a constant may depend on: of all, then of each reduced one."""
        tied = self._extents.constant_extents(pair)
        one_by_one = [{name: tied[name]} for name in self._reduced if name in tied]
        for fixed in (tied, *one_by_one) if len(tied) > 1 else one_by_one:
            instance = self._extents.instance(pair, TINY, fixed)
            if isinstance(instance, Instance) and _fits(instance):
                yield instance

    def _with_long_reduction(self, pair: Pair) -> Iterator[Instance]:
        for name in self._reduced:
            if name not in dict(pair.names):
                continue
            for length in LONG:
                instance = self._extents.instance(pair, TINY, {name: length})
                if isinstance(instance, Instance) and _fits(instance):
                    yield instance


def _fits(instance: Instance) -> bool:
    return instance.elements <= MOST_ELEMENTS


def _reduced(program: TensorProgram, of: tuple[tuple[str | None, ...], ...]) -> tuple[str, ...]:
    """The axes that the program reduces, contracts or scans."""
    seen: dict[str, None] = {}
    for node in program.graph.nodes:
        axis = uncut_axis(node.op, tuple(of[a] for a in node.args))
        if axis is not None:
            seen.setdefault(axis)
    return tuple(seen)
