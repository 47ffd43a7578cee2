"""The parameter space of a candidate: every legal choice of its sizes and schedule on a target.

There is no list of usual tile sizes. A choice is legal if every condition of the candidate (the extent of some tile) is
a positive integer, the number of blocks does not exceed the target's limit, and the least scratch memory of a block
fits. So the values of a symbol are the divisors of what it must divide: 4096 has 13, 11008 has 18, a prime has two.

These conditions are necessary; the code generator may still reject a choice, with an `Infeasible`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations, product
from math import gcd, lcm, prod
from typing import TypeAlias

import numpy as np

from prism_explore.cost.work import least_scratch
from prism_explore.ir.dims import ONE, Dim
from prism_explore.ir.graph import SGraph
from prism_explore.pipeline.stages import Candidate, Verified
from prism_explore.support.caches import memoize
from prism_explore.targets import Target
from prism_explore.tune.space.size_table import Condition, Sizes, SizeTable, Values, enumerated

Schedule: TypeAlias = tuple[tuple[str, int], ...]
"""Choices of the code generator that do not change the sGraph."""

Choices: TypeAlias = tuple[tuple[str, tuple[int, ...]], ...]
"""Schedule choices: names, and values with the best guess first."""

ChoicesOf: TypeAlias = Callable[[Verified, Sizes, Mapping[str, int], Target], Choices]
"""The choices that a code generator offers for a candidate at given sizes and shapes."""


@dataclass(frozen=True, slots=True)
class Limits:
    """The conditions on the sizes of one candidate at given shapes."""

    symbols: tuple[str, ...]
    integers: tuple[Dim, ...]
    """Must be positive integers."""
    blocks: tuple[Dim, ...]
    """Per custom kernel, the number of blocks."""
    scratch: tuple[Dim, ...]
    """Per custom kernel, the least scratch bytes of one block."""
    kernels: tuple[tuple[str, ...], ...]
    """Per custom kernel, the symbols of its grid and its loop."""

    def substitute(self, shapes: Mapping[str, int]) -> Limits:
        """The conditions with values for some symbols."""
        integers, blocks, scratch = (
            tuple(d.substitute(shapes) for d in dims) for dims in (self.integers, self.blocks, self.scratch)
        )
        return Limits(self.symbols, tuple(dict.fromkeys(integers)), blocks, scratch, self.kernels)


def limits_of(candidate: Candidate, shapes: Mapping[str, int], target: Target) -> Limits:
    """The conditions on a candidate's sizes.

    Raises:
        ShapeError: two of the caller's shapes contradict each other, or a tensor's own dims are not integers.
    """
    graph = candidate.sgraph
    for t in graph.types():
        for d in t.dims:
            if not set(d.symbols) & set(graph.parameters):
                d.value(shapes)
    return symbolic_limits(graph, candidate.conditions, target).substitute(shapes)


def symbolic_limits(graph: SGraph, conditions: Sequence[Dim], target: Target) -> Limits:
    """The conditions on the sizes of an sGraph, in its own symbols and those of its inputs.

    Args:
        graph: its maps may be open.
        conditions: further dims that must be positive integers.
        target: the machine.
    """
    types = graph.types()
    blocks: list[Dim] = []
    scratch: list[Dim] = []
    kernels: list[tuple[str, ...]] = []
    for position, block in graph.customs:
        operands = tuple(types[a] for a in graph.nodes[position].args)
        blocks.append(prod((p.size for p in block.grid), start=ONE))
        scratch.append(least_scratch(block, operands, target.kind == "gpu"))
        own = (s for p in block.parallel for s in p.size.symbols if s in graph.parameters)
        kernels.append(tuple(dict.fromkeys(own)))
    integers = tuple(dict.fromkeys((*conditions, *graph.conditions())))
    return Limits(graph.parameters, integers, tuple(blocks), tuple(scratch), tuple(kernels))


def independent_groups(limits: Limits) -> tuple[Limits, ...]:
    """The limits of independent groups of symbols: no kernel and no condition links two groups.

    Every combination of legal choices of the groups is legal.
    """
    groups: list[set[str]] = [{symbol} for symbol in limits.symbols]
    dims = (*limits.integers, *limits.blocks, *limits.scratch)
    for symbols in (*(d.symbols for d in dims), *limits.kernels):
        met = [g for g in groups if g.intersection(symbols)]
        groups = [g for g in groups if g not in met] + ([set[str]().union(*met)] if met else [])
    groups.sort(key=lambda g: min(map(limits.symbols.index, g)))

    def part(group: set[str]) -> Limits:
        def own(dims: tuple[Dim, ...]) -> tuple[Dim, ...]:
            return tuple(d for d in dims if group.issuperset(d.symbols))

        symbols = tuple(s for s in limits.symbols if s in group)
        kernels = tuple(k for k in limits.kernels if group.issuperset(k))
        return Limits(symbols, own(limits.integers), own(limits.blocks), own(limits.scratch), kernels)

    return tuple(map(part, groups)) or (limits,)


def legal_sizes(candidate: Candidate, shapes: Mapping[str, int], target: Target) -> Iterator[Sizes]:
    """Every legal choice of sizes, in lexicographic order, one at a time."""
    limits = limits_of(candidate, shapes, target)
    found = _enumerate_sizes(limits, target, [symbol_values(symbol, limits) for symbol in limits.symbols])
    return (sizes for values in found for sizes in SizeTable(limits.symbols, values))


def some_sizes(
    candidate: Candidate, shapes: Mapping[str, int], target: Target, most: int
) -> tuple[Sequence[Sizes], bool]:
    """All legal choices of sizes and True; if there are more than `most`, an even sample of them and False.

    Every second value of the longest domain is left out, except its ends, until few enough choices are left.
    """
    return sample_sizes(limits_of(candidate, shapes, target), target, most)


@memoize(4096)
def sample_sizes(limits: Limits, target: Target, most: int) -> tuple[SizeTable, bool]:
    """As `some_sizes`, cached: candidates of many families have the same limits."""
    domains = [symbol_values(symbol, limits) for symbol in limits.symbols]
    found, is_complete = _first_sizes(limits, target, domains, most + 1), True
    while len(found) > most and max(map(len, domains)) > 2:
        longest = max(range(len(domains)), key=lambda i: len(domains[i]))
        domains[longest] = tuple(dict.fromkeys((*domains[longest][:-1:2], domains[longest][-1])))
        is_complete = False
        if not (fewer := _first_sizes(limits, target, domains, most + 1)):
            break  # the legal choices are between the values that are left
        found = fewer
    return found[:most], is_complete and len(found) <= most


def _first_sizes(limits: Limits, target: Target, domains: Sequence[tuple[int, ...]], most: int) -> SizeTable:
    parts, number = [np.zeros((len(limits.symbols), 0), np.int64)], 0
    for values in _enumerate_sizes(limits, target, domains):
        parts.append(values)
        number += values.shape[1]
        if number >= most:
            break
    return SizeTable(limits.symbols, np.concatenate(parts, axis=1)[:, :most])


def _enumerate_sizes(limits: Limits, target: Target, domains: Sequence[tuple[int, ...]]) -> Iterator[Values]:
    """The legal choices with values from these domains; each limit is tested as soon as its symbols have values."""
    conditions: list[list[InIntegers]] = [[] for _ in range(len(domains) + 1)]
    rows = ((limits.integers, None), (limits.blocks, target.max_blocks), (limits.scratch, target.shared_memory_bytes))
    for dims, most in rows:
        for d in dims:
            depth = max((1 + limits.symbols.index(s) for s in d.symbols), default=0)
            conditions[depth].append(InIntegers.of(d, limits.symbols, most))
    of_no_symbol, *of_symbols = ([c.text for c in at_depth] for at_depth in conditions)
    if not compiled_condition(of_no_symbol)(np.zeros((0, 1))):
        return iter(())
    greatest = [max(domain, default=1) for domain in domains]
    largest = max((c.largest(greatest) for at_depth in conditions for c in at_depth), default=1)
    return enumerated(domains, [compiled_condition(texts) for texts in of_symbols], largest)


_Product: TypeAlias = tuple[int, tuple[int, ...]]
"""A coefficient, and the places of symbols that it is multiplied by."""


@dataclass(frozen=True, slots=True)
class InIntegers:
    """A test of a size in integers: a hundred thousand choices are tested before the first kernel is timed."""

    above: tuple[_Product, ...]
    """Their sum is the size times `below`, without its limit."""
    below: _Product
    """Positive."""
    is_limit: bool
    """Whether the size must not exceed a number, which is in `below`; else it has to be a positive integer."""

    @classmethod
    def of(cls, d: Dim, symbols: Sequence[str], most: int | None) -> InIntegers:
        """The test of a size.

        Args:
            d: the size.
            symbols: all that occur in it, and maybe others, in the order of their values, which are positive.
            most: the largest size, which may then be a fraction; None if it has to be a positive integer.
        """
        powers = [dict(monomial) for monomial, _ in d.terms]
        down = {s: max(0, *(-p.get(s, 0) for p in powers)) for s in d.symbols}
        scale = lcm(*(coefficient.denominator for _, coefficient in d.terms))

        def multiplied(coefficient: int, exponents: Mapping[str, int]) -> _Product:
            return coefficient, tuple(symbols.index(s) for s, e in exponents.items() for _ in range(e))

        above = tuple(
            multiplied(int(coefficient * scale), {s: own.get(s, 0) + e for s, e in down.items()})
            for own, (_, coefficient) in zip(powers, d.terms, strict=True)
        )
        return cls(above, multiplied(scale if most is None else scale * most, down), most is not None)

    @property
    def text(self) -> str:
        """A Python expression of the list `v` of the symbols' values, each a number or a column of them."""

        def product_text(factors: _Product) -> str:
            coefficient, places = factors
            return "*".join([f"{coefficient:d}", *(f"v[{place}]" for place in places)])

        above = "+".join(map(product_text, self.above)) or "0"
        below = product_text(self.below)
        return f"{above} <= {below}" if self.is_limit else f"({above} >= {below}) & (({above}) % ({below}) == 0)"

    def largest(self, values: Sequence[int]) -> int:
        """An upper bound of the numbers that the test computes.

        Args:
            values: the greatest of each symbol.
        """
        above, below = (
            sum(abs(coefficient) * prod(values[place] for place in places) for coefficient, places in side)
            for side in (self.above, (self.below,))
        )
        return max(above, below)


@memoize(1024)
def _compiled(text: str) -> Condition:
    test: Condition = eval(f"lambda v: {text}", {"__builtins__": {}})  # of numbers and places alone
    return test


def compiled_condition(texts: Sequence[str]) -> Condition:
    """Whether all of these conditions hold.

    Args:
        texts: as of `InIntegers`.

    Returns:
        A function of the list of the symbols' values, or of columns of them.
    """
    return _compiled(" & ".join(f"({text})" for text in dict.fromkeys(texts)) or "True")


def schedules(choices: Choices) -> Iterator[Schedule]:
    """Every schedule: the best guesses first, then those that differ in one value, in two, and so on."""
    for changed in range(len(choices) + 1):
        for positions in combinations(range(len(choices)), changed):
            values = [v[1:] if i in positions else v[:1] for i, (_, v) in enumerate(choices)]
            for chosen in product(*values):
                yield tuple((name, number) for (name, _), number in zip(choices, chosen, strict=True))


def symbol_values(symbol: str, limits: Limits) -> tuple[int, ...]:
    """Values to try for one symbol: the divisors of what it must divide by every condition.

    A symbol in no denominator of a condition partitions nothing; more than one block would repeat the same work, so its
    only value is 1.
    """
    divides = 0
    for d in limits.integers:
        if not d.is_monomial:
            continue
        monomial, coefficient = d.terms[0]
        exponents = dict(monomial)
        if exponents.get(symbol, 0) < 0 and all(e < 0 for e in exponents.values()):
            divides = gcd(divides, coefficient.numerator)
    return divisors(divides) if divides else (1,)


@lru_cache(256)
def divisors(n: int) -> tuple[int, ...]:
    """All positive divisors, ascending.

    >>> divisors(12)
    (1, 2, 3, 4, 6, 12)
    """
    below = [d for d in range(1, int(n**0.5) + 1) if n % d == 0]
    return tuple(sorted({*below, *(n // d for d in below)}))
