"""Concrete sizes for a program and its candidates: small ones, at which the interpreter runs both.

A trial represents a family of shapes, so each axis gets its own small extent, while constants in formulas stay. Where a
constant depends on a given extent, its axis keeps this extent, and the others are small.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import combinations, count
from math import gcd, prod
from types import MappingProxyType
from typing import TypeAlias

from prism_explore.ir.axes import axes_of
from prism_explore.ir.axis_typing import reduced_axis
from prism_explore.ir.dims import ONE, Dim, dim
from prism_explore.ir.graph import SGraph
from prism_explore.ir.ops import Custom, Input, Load, Op, Scalar, Slice
from prism_explore.ir.program import TensorProgram
from prism_explore.verify.shapes.constraints import Slots, UnsupportedSizes, Variables
from prism_explore.verify.shapes.instance import (
    Instance,
    every_row_has_an_entry,
    excludes_something,
    largest_tensor,
    make_instance,
)
from prism_explore.verify.shapes.pair import BoundNear, FixedBound, Pair
from prism_explore.verify.shapes.read_graph import Reader
from prism_explore.verify.shapes.solver import Solver

TINY = -1
"""The number of the choice with the fewest elements; its sizes may be equal."""
MAX_EXTENT = 4096
"""The largest extent that is chosen for a trial; fixed extents may be larger."""
FEW_STEPS = 1_000
"""Operators that the interpreter runs in one trial, over all blocks and iterations: about 2 ms. Where different grid
sizes and loop ranges take more, the sizes 2 and 3 alternate."""
MAX_DIFFERENT = 8
"""The largest number of grid sizes and loop ranges that must all differ."""
MAX_STEPS = 20_000
"""The largest number of steps of a trial: about 50 ms."""
MAX_ELEMENTS = 1 << 18
"""The largest number of elements of a tensor, 2 MiB; where different sizes take more, the smallest sizes are used."""
MAX_ELEMENTS_FIXED = 1 << 20
"""The same if some sizes are fixed."""
LEAST_SCANNED = 3
"""The least extent of a dim with prefix sums: of two elements, the sum before or after one has no two terms."""
CACHED_SOLUTIONS = 2048
"""The number of cached solutions."""
Fixed: TypeAlias = Mapping[str, int] | Mapping[str | int, int]
"""Fixed sizes, by name or by variable."""
NOTHING_FIXED: Fixed = MappingProxyType({})
DIVISIBLE_EXTENTS = (
    (((10, 12, 18, 20, 14), (16, 24, 20, 30)), ((6, 20, 16, 18, 14), (24, 12, 18, 30))),
    (((4, 6, 10, 9, 14), (12, 18, 20)), ((6, 4, 10, 9, 14), (18, 12, 20))),
)
"""Extents with many divisors for two trials, and smaller ones for two more. Each is a pair: for axes that are not
reduced, and for reduced axes, which a grid and a loop may both tile."""
MAX_SHARED_ELEMENTS = 11_000
"""The largest number of elements of a tensor at such extents: NumPy's overhead per call takes as long."""
MAX_SHARED_ELEMENTS_SMALL = 40_000
"""The same at the smaller extents; trials at sizes of a candidate's own would take even longer."""


class Extents:
    """Finds small sizes for a program and its candidates; solutions are cached."""

    def __init__(self, program: TensorProgram) -> None:
        self.program = program.graph
        self._parameters = program.graph.parameters
        self._constants = _constants(program.graph)
        table = axes_of(program.graph)
        self._variables = Variables()
        self._axes: dict[str, int] = {}
        self._inputs: dict[str, Slots] = {}
        extents = {a.name: a.extent for a in table.axes}
        self._extent_product = prod(e.constant or 1 for e in extents.values())
        self._program_names_extents = any(self._is_made_of_extents(c) for c in self._constants)
        for node, axes in zip(program.graph.nodes, table.of, strict=True):
            if isinstance(node.op, Input):
                for name in axes:
                    if name is not None and name not in self._axes:
                        self._axes[name] = self._variables.new(extents[name])
                self._inputs[node.op.name] = tuple(0 if a is None else self._axes[a] for a in axes)
        self._given = frozenset(self._axes)
        reader = Reader(self._variables)
        self._error = ""
        self._values: list[Slots] = [()] * len(program.graph.nodes)
        try:
            self._values = reader.read(program.graph, self._inputs)
        except UnsupportedSizes as error:
            self._error = str(error)
        for axes, slots in zip(table.of, self._values, strict=True):
            for name, slot in zip(axes, slots, strict=False):
                if name is not None and slot:
                    self._axes.setdefault(name, slot)
        self._views, self._work, self._limits = tuple(reader.views), tuple(reader.work), tuple(reader.limits)
        self._output = self._values[program.graph.output]
        self._summed = frozenset[int]() if self._error else _summed(program.graph, self._values)
        """The variables of reduced dims."""
        self._variables.close()
        self._solved: dict[tuple[object, ...], dict[int, int] | None] = {}

    def pair(self, candidate: SGraph) -> Pair | str:
        """The size equations of both graphs, which have equal inputs and result dims, or why there are none."""
        found = self._pair(candidate)
        if (
            isinstance(found, Pair)
            and any(isinstance(v.op, Slice) for v in found.views[1])
            and (ones := forced_ones(candidate))
        ):
            found = self._pair(candidate.substitute(ones))
            return replace(found, ones=tuple(ones)) if isinstance(found, Pair) else found
        return found

    def _pair(self, candidate: SGraph) -> Pair | str:
        if self._error:
            return self._error
        variables = self._variables.copy()
        reader = Reader(variables)
        cuts = candidate.parameters
        try:
            for symbol in (*self._parameters, *cuts):
                variables.size(dim(symbol))
            values = reader.read(candidate, self._inputs)
        except UnsupportedSizes as error:
            return str(error)
        for a, b in zip(self._output, values[candidate.output], strict=True):
            variables.merge(a, b)
        equations = variables.close()
        symbols = {s: variables.find(slot) for s, slot in variables.symbols.items()}
        roots: dict[int, list[str]] = {}
        for name, slot in self._axes.items():
            roots.setdefault(variables.find(slot), []).append(name)
        for name, root in symbols.items():
            if root not in roots and name not in cuts:
                roots[root] = [name]
        axes = {next(s for s in _name_variants(called[0]) if s not in cuts): root for root, called in roots.items()}
        representative = self._variables.find
        of_inputs = [[name for name in called if name in self._given] for called in roots.values()]
        together = [
            n for called in of_inputs if len({representative(self._axes[n]) for n in called}) > 1 for n in called
        ]
        return Pair(
            self.program,
            candidate,
            variables,
            equations,
            tuple((s, symbols[s]) for s in cuts),
            tuple(axes.items()),
            tuple(self._inputs.items()),
            (*self._values, *values),
            (self._views, tuple(reader.views)),
            (*self._work, *reader.work),
            tuple(together),
            limits=(*self._limits, *reader.limits),
        )

    def instance(self, pair: Pair, n: int = 0, fixed: Fixed = NOTHING_FIXED) -> Instance | str:
        """The n-th choice of sizes, with some fixed by name or variable; or why there is none.

        Where different sizes are too expensive, grid sizes and loop ranges may be equal; and then all sizes.
        """
        too_large = ""
        choices = [(n, True), (n, False), (TINY, False)] if not fixed else [(n, True), (n, False)]
        for which, differ in choices[len(pair.tiling_sizes) > MAX_DIFFERENT :]:
            numbers = self._solve_cached(pair, which, fixed, differ)
            if numbers is None:
                continue
            most = MAX_ELEMENTS_FIXED if fixed else MAX_ELEMENTS
            if largest_tensor(pair, numbers) > most:
                too_large = f"a trial would have tensors of more than {most:,} elements"
                continue
            instance = make_instance(pair, numbers)
            if instance.steps <= (FEW_STEPS if differ and not fixed else MAX_STEPS):
                return instance
            too_large = f"a trial would take more than {MAX_STEPS:,} steps"
        return too_large or "no small sizes meet its conditions"

    def shared_instance(self, turn: int) -> Instance | str:
        """The program at extents with many divisors, whose order `turn` chooses; or why there are none."""
        pair = self._pair(self.program)
        if isinstance(pair, str):
            return pair
        find, axes = pair.variables.find, [root for _, root in pair.axes]
        summed = frozenset(map(find, self._summed))
        for turns in DIVISIBLE_EXTENTS:
            others, inner = turns[turn % len(turns)]
            extents = {root: (*(inner if root in summed else others), *range(2, 40)) for root in axes}
            numbers = _solve(pair, 0, {}, True, extents)
            if numbers is None or len({numbers[root] for root in axes}) < len(axes):
                continue
            if largest_tensor(pair, numbers) <= (
                MAX_SHARED_ELEMENTS_SMALL if turns is DIVISIBLE_EXTENTS[-1] else MAX_SHARED_ELEMENTS
            ):
                return make_instance(pair, numbers)
        return "extents with many divisors are too large"

    def tiny_fixed_sizes(self, candidate: SGraph) -> Mapping[str, int]:
        """The smallest extent of each axis that a candidate tiles by both grid and loop."""
        found: dict[str, int] = {}
        names = {slot: name for name, slot in reversed(self._axes.items())}
        for node in candidate.nodes:
            if isinstance(node.op, Custom):
                for load in (n.op for n in node.op.block.nodes if isinstance(n.op, Load)):
                    source = candidate.nodes[node.args[load.operand]].op
                    if load.fmap is not None and isinstance(source, Input) and load.fmap in (load.imap or ()):
                        name = names.get(self._inputs[source.name][load.fmap])
                        if name is not None:
                            found[name] = 4
        return found

    def _solve_cached(self, pair: Pair, n: int, fixed: Fixed, differ: bool) -> dict[int, int] | None:
        key = (pair.system_key, n, differ, tuple(fixed.items()))
        if key not in self._solved:
            if len(self._solved) >= CACHED_SOLUTIONS:
                self._solved.clear()
            self._solved[key] = _solve(pair, n, fixed, differ)
        return self._solved[key]

    def constant_may_be_extent(self, candidate: SGraph) -> bool:
        """Whether all prime factors of some constant above 1 in program or candidate are those of given extents."""
        return self._program_names_extents or any(self._is_made_of_extents(c) for c in _constants(candidate))

    def _is_made_of_extents(self, number: int) -> bool:
        while (common := gcd(number, self._extent_product)) > 1:
            number //= common
        return number == 1

    def constant_extents(self, pair: Pair) -> dict[str, int]:
        """The axes, with their given extents, whose extent may be a constant in either graph, such as 1/4096 in a mean.

        The constant may also be the extent of a tile (1/2048 where two blocks tile the axis), the product of two
        extents (a mean over two axes), or one of two constants whose product is the extent.
        """
        constants = self._constants | _constants(pair.candidate)
        constants |= {a * b for a in constants for b in (*constants, *pair.variables.numbers.values())}
        found: dict[str, int] = {}
        for name, root in pair.axes:
            extent = pair.variables.given_extents[root].constant
            if extent is not None and extent in constants:
                found[name] = extent
        given = pair.given_axes
        for one, other in combinations(given, 2):
            if given[one] * given[other] in constants:
                found |= {one: given[one], other: given[other]}
        return found

    def is_doubtful(self, pair: Pair) -> bool:
        """Whether a trial at other extents may prove nothing, because constants or views depend on the given ones."""
        return bool(self.constant_extents(pair)) or not self._are_faithful(pair)

    def _are_faithful(self, pair: Pair) -> bool:
        if not pair.named:
            return True
        instances = [self.instance(pair, n) for n in range(2)]
        return all(instance.faithful for instance in instances if isinstance(instance, Instance))

    def fixed_choices(self, pair: Pair) -> tuple[dict[str | int, int], ...]:
        """Choices of fixed sizes at which the graphs have the meaning of the given sizes; empty if none is needed.

        Each choice fixes all numbers in views, if small numbers do not have the same relations, and one axis whose
        extent may be a constant. The last choice fixes all of these axes.
        """
        views: dict[str | int, int] = {} if self._are_faithful(pair) else {**pair.named}
        tied = self.constant_extents(pair)
        single = [{**views, name: extent} for name, extent in tied.items()]
        if len(single) > 1:
            return (*single, {**views, **tied})
        return (*single, views)[:1] if views or single else ()

    def has_one_constant(self, pair: Pair) -> bool:
        """Whether at most one constant of each graph may be a factor of a given extent."""
        product = prod(self.constant_extents(pair).values())

        def is_factor(op: Op) -> bool:
            return isinstance(op, Scalar) and any(
                abs(n) > 1 and product % n == 0 for n in op.value.as_integer_ratio() if n
            )

        return all(sum(map(is_factor, _operators(graph))) < 2 for graph in (pair.program, pair.candidate))

    def given_sizes(self, pair: Pair) -> dict[str | int, int]:
        """The given extents of all axes and of all numbers in views."""
        return {**pair.named, **pair.given_axes}


def _summed(graph: SGraph, values: Sequence[Slots]) -> frozenset[int]:
    """The variables of the dims that kernel-level operators reduce."""
    reduced = (reduced_axis(node.op, tuple(values[a] for a in node.args)) for node in graph.nodes)
    return frozenset(slot for slot in reduced if slot is not None)


def _constants(graph: SGraph) -> set[int]:
    """Numerators and denominators above 1 of the numbers in formulas."""
    found = {n for op in _operators(graph) if isinstance(op, Scalar) for n in op.value.as_integer_ratio()}
    return {abs(n) for n in found if abs(n) > 1}


def _operators(graph: SGraph) -> Iterator[Op]:
    for node in graph.nodes:
        yield node.op
        if isinstance(node.op, Custom):
            yield from (inner.op for inner in node.op.block.nodes)


def forced_ones(graph: SGraph) -> dict[str, Dim]:
    """The symbols that the conditions of a graph force to be 1: for example g, if `12/g - 11` is a positive integer.

    A slice of a tile that is as long as the full dim has such a condition.
    """
    found: dict[str, Dim] = {}
    for condition in graph.conditions():
        parts = dict(condition.terms)
        taken = -parts.pop((), Fraction(0))
        for powers, whole in parts.items() if len(parts) == 1 else ():
            if len(powers) == 1 and powers[0][1] == -1 and 0 < whole < 2 * (taken + 1):
                found[powers[0][0]] = ONE
    return found


def _name_variants(name: str) -> Iterator[str]:
    yield name
    yield from (f"{name}_{n}" for n in count(1))


def _solve(
    pair: Pair,
    n: int,
    fixed: Fixed,
    differ: bool,
    extents: Mapping[int, Sequence[int]] = MappingProxyType({}),
) -> dict[int, int] | None:
    """Values of all variables, or None where there are none.

    An axis gets one of its `extents`, if there are any. Without `differ`, grid sizes and loop ranges may be equal.
    """
    find, named = pair.variables.find, dict(pair.names)
    constants = {find(s): number for s, number in pair.variables.numbers.items()}
    if any(constants[find(s)] != number for s, number in pair.variables.numbers.items()):
        return None
    given = {named.get(k, 0) if isinstance(k, str) else k: number for k, number in fixed.items()}
    given.pop(0, None)
    cuts, axes = pair.tiling_sizes, pair.axes
    others = sorted({find(s) for s in pair.variables.classes} - set(named.values()) - set(constants))
    order: list[tuple[int, Sequence[int]]] = []
    for k, (_, root) in enumerate(cuts):
        first = 2 if n == TINY else 2 + (k + n) % (max(len(cuts), 2) if differ else 2)
        order.append((root, (first, *(m for m in range(2, 10) if m != first), 1)))
    roots = {root for _, root in axes}
    made = {left[0] for _, left, right in pair.equations if len(left) == 1 and roots.issuperset(right)}
    numbers = range(1, 40) if n == TINY else (*range(2 + n, 40), *range(2, 2 + n), 1)
    order += [(root, extents.get(root, numbers)) for _, root in sorted(axes, key=lambda axis: axis[1] in made)]
    order += [(root, range(1, 40)) for root in others]
    free = {find(s) for s in pair.variables.may_be_one}
    relaxed = {**dict.fromkeys(named.values(), 2), **dict.fromkeys(others, 1), find(0): 1}
    for scanned in pair.variables.scanned:
        whole = pair.variables.given_extents[scanned].constant or LEAST_SCANNED
        relaxed[find(scanned)] = min(LEAST_SCANNED, int(whole))
    strict = {**relaxed, **{r: 2 for r in others if r not in free}}
    for place in pair.bands:
        extents_of = (place.rows, place.band.rows), (place.columns, place.band.columns)
        for bound, (root, extent) in zip((place.low, place.high), extents_of, strict=True):
            if isinstance(bound, FixedBound) and excludes_something(bound, extent):
                strict[root] = max(strict.get(root, 1), abs(bound.small) + 2)
            elif isinstance(bound, BoundNear):
                strict[bound.root] = max(strict.get(bound.root, 1), 3 - bound.offset)
    distinct = frozenset(root for _, root in (pair.names if differ else axes)) - {*given, find(0)}

    loose = {*constants, *(root for _, root in cuts)}

    def accepts(values: Mapping[int, int]) -> bool:
        return every_row_has_an_entry(pair, values)

    demands = ((strict, distinct), (relaxed, distinct), (relaxed, frozenset[int]()))
    for least, different in demands[2:] if n == TINY else demands:
        solver = Solver(pair.equations, least, different, loose, max(MAX_EXTENT, *given.values(), 0), accepts)
        if solver.assign_all((*constants.items(), *given.items())) and solver.solve(order):
            return solver.values
    return None
