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
from itertools import combinations, islice, product
from math import gcd, lcm, prod
from typing import TypeAlias

from prism_explore.cost.work import least_scratch
from prism_explore.ir.dims import ONE, Dim
from prism_explore.ir.graph import SGraph
from prism_explore.pipeline.stages import Candidate, Verified
from prism_explore.support.caches import memoize
from prism_explore.targets import Target

Sizes: TypeAlias = tuple[tuple[str, int], ...]
"""Values of an sGraph's own symbols, in the order of `SGraph.parameters`."""

Schedule: TypeAlias = tuple[tuple[str, int], ...]
"""Choices of the code generator that do not change the sGraph."""

Choices: TypeAlias = tuple[tuple[str, tuple[int, ...]], ...]
"""Schedule choices: names, and values with the best guess first."""

ChoicesOf: TypeAlias = Callable[[Verified, Sizes, Mapping[str, int], Target], Choices]
"""The choices that a code generator offers for a candidate at given sizes and shapes."""

_Condition: TypeAlias = Callable[[Sequence[int]], bool]
_Loops: TypeAlias = Callable[[list[int], Sequence[Sequence[int]]], Iterator[tuple[int, ...]]]


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
    return _enumerate_sizes(limits, target, [symbol_values(symbol, limits) for symbol in limits.symbols])


def some_sizes(
    candidate: Candidate, shapes: Mapping[str, int], target: Target, most: int
) -> tuple[tuple[Sizes, ...], bool]:
    """All legal choices of sizes and True; if there are more than `most`, an even sample of them and False.

    Every second value of the longest domain is left out, except its ends, until few enough choices are left.
    """
    return sample_sizes(limits_of(candidate, shapes, target), target, most)


@memoize(4096)
def sample_sizes(limits: Limits, target: Target, most: int) -> tuple[tuple[Sizes, ...], bool]:
    """As `some_sizes`, cached: candidates of many families have the same limits."""
    domains = [symbol_values(symbol, limits) for symbol in limits.symbols]
    found, is_complete = tuple(islice(_enumerate_sizes(limits, target, domains), most + 1)), True
    while len(found) > most and max(map(len, domains)) > 2:
        longest = max(range(len(domains)), key=lambda i: len(domains[i]))
        domains[longest] = tuple(dict.fromkeys((*domains[longest][:-1:2], domains[longest][-1])))
        is_complete = False
        if not (fewer := tuple(islice(_enumerate_sizes(limits, target, domains), most + 1))):
            break  # the legal choices are between the values that are left
        found = fewer
    return found[:most], is_complete and len(found) <= most


def _enumerate_sizes(limits: Limits, target: Target, domains: Sequence[tuple[int, ...]]) -> Iterator[Sizes]:
    """The legal choices with values from these domains; each limit is tested as soon as its symbols have values."""
    conditions: list[list[str]] = [[] for _ in range(len(domains) + 1)]
    rows = ((limits.integers, None), (limits.blocks, target.max_blocks), (limits.scratch, target.shared_memory_bytes))
    for dims, most in rows:
        for d in dims:
            depth = max((1 + limits.symbols.index(s) for s in d.symbols), default=0)
            conditions[depth].append(condition_text(d, limits.symbols, most))
    of_no_symbol, *of_symbols = map(_joined, conditions)
    if not _compiled(of_no_symbol)([]):
        return iter(())
    if not domains:
        return iter(((),))
    found = _compiled_loops(tuple(of_symbols))([0] * len(domains), domains)
    return (tuple(zip(limits.symbols, values, strict=True)) for values in found)


def condition_text(d: Dim, symbols: Sequence[str], most: int | None) -> str:
    """A test of a size in integers, as a Python expression of the list `v` of the symbols' values, which are positive.

    It runs a hundred thousand times before the first kernel is timed. With fractions that takes four times as long.

    Args:
        d: the size.
        symbols: all that occur in it, and maybe others, in the order of their values.
        most: the largest size, which may then be a fraction; None if it has to be a positive integer.

    Returns:
        Such as `8*v[0]*v[1] <= 4096*v[2]`.
    """
    powers = [dict(monomial) for monomial, _ in d.terms]
    down = {s: max(0, *(-p.get(s, 0) for p in powers)) for s in d.symbols}
    scale = lcm(*(coefficient.denominator for _, coefficient in d.terms))

    def product_text(coefficient: int, exponents: Mapping[str, int]) -> str:
        return "*".join(
            [f"{coefficient:d}", *(f"v[{symbols.index(s)}]" for s, e in exponents.items() for _ in range(e))]
        )

    terms = [
        product_text(int(coefficient * scale), {s: own.get(s, 0) + e for s, e in down.items()})
        for own, (_, coefficient) in zip(powers, d.terms, strict=True)
    ]
    above = "+".join(terms) or "0"
    below = product_text(scale if most is None else scale * most, down)
    return f"{above} <= {below}" if most is not None else f"{above} >= {below} and ({above}) % ({below}) == 0"


def _joined(texts: Sequence[str]) -> str:
    """The condition that all of these hold."""
    return " and ".join(dict.fromkeys(texts)) or "True"


@memoize(1024)
def _compiled_loops(conditions: tuple[str, ...]) -> _Loops:
    """Nested loops, one per condition, each over the values of a symbol for which its condition holds.

    A function that calls itself per symbol takes three times as long.

    Returns:
        A generator function of a list for the values, which the conditions read, and of the values to try per symbol.
    """
    loops = (f"for v[{n}] in domains[{n}] if {condition}" for n, condition in enumerate(conditions))
    found: _Loops = eval(f"lambda v, domains: (tuple(v) {' '.join(loops)})", {"__builtins__": {"tuple": tuple}})
    return found


@memoize(1024)
def _compiled(text: str) -> _Condition:
    test: _Condition = eval(f"lambda v: {text}", {"__builtins__": {}})  # of numbers and places alone
    return test


def compiled_condition(texts: Sequence[str]) -> _Condition:
    """Whether all of these conditions hold.

    Args:
        texts: as of `condition_text`.

    Returns:
        A function of the list of the symbols' values.
    """
    return _compiled(_joined(texts))


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
