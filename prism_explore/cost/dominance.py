"""Dominance: families whose cost is never below that of another family, in the model of `cost.work`.

Dominance is a statement about the cost model, not about time. Parameters are grid sizes and loop ranges.

A candidate *dominates* another if for every legal choice of the other's parameters it has a choice, at the same shapes,
with no more traffic, arithmetic, scratch and launches, as written, and with the same numbers of blocks: fewer blocks
would leave cores idle, and more may be illegal. A family dominates another if each candidate of the other is dominated
by one of its own candidates. The library chooses the number of blocks of a predefined operator, so these are not
compared.

A candidate *dominates another on a machine* if one choice of its parameters costs no more than any choice of the
other's. These parameters must fill the machine: each custom kernel has a block for every core, and its scratch fits. So
more blocks or less scratch would be no advantage of the other, and a split kernel may dominate one that is not split.
Idle cores in the last round of blocks are not counted, for either candidate.

Parameters are matched by axes: each takes the value of a parameter that partitions the same axis in the other
candidate, or 1. That is legal if every condition that results is trivial or a condition of the other candidate.

Costs are sums of products of symbols, so `a <= b` for all legal sizes is shown term by term: each negative term of
b - a is covered by positive terms that are never smaller. A product of symbols is at least c if it is c times a product
of symbols and conditions, all of which are at least 1. The method is sound but not complete: if it shows nothing, there
is no dominance.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import TypeAlias

from prism_explore.cost.work import least_scratch, work_of
from prism_explore.events.kinds import Reason
from prism_explore.ir.analysis.split_reduction import stores_shares
from prism_explore.ir.dims import ONE, ZERO, Dim, Monomial, dim, is_natural
from prism_explore.ir.graph import SGraph
from prism_explore.pipeline.stages import Candidate
from prism_explore.support.caches import memoize
from prism_explore.targets import Target

Assignment: TypeAlias = tuple[tuple[str, Dim], ...]
"""A value for each parameter of a candidate, in the parameters of another candidate."""


@dataclass(frozen=True, slots=True)
class Cost:
    """The symbolic cost of a candidate as written."""

    traffic: Dim
    """Bytes loaded and stored, over all kernels, blocks and iterations."""
    flops: Dim
    scratch: tuple[Dim, ...]
    """Per custom kernel, bytes of one block."""
    launches: int
    blocks: tuple[Dim, ...]
    """Per custom kernel, the number of blocks."""

    @property
    def predefined(self) -> int:
        """The number of predefined operators."""
        return self.launches - len(self.blocks)

    def assigned(self, numbers: Assignment) -> Cost:
        """The cost with values for its parameters."""
        return Cost(
            _substitute(self.traffic, numbers),
            _substitute(self.flops, numbers),
            tuple(_substitute(d, numbers) for d in self.scratch),
            self.launches,
            tuple(_substitute(d, numbers) for d in self.blocks),
        )


@dataclass(frozen=True, slots=True)
class Dominance:
    """One candidate never costs more than another."""

    better: Candidate
    worse: Candidate
    assignment: Assignment
    """The parameters of the better candidate, in those of the worse one."""
    costs: tuple[Cost, Cost]
    """The costs of both, in the parameters of the worse one."""


def cost_of(candidate: Candidate, staged: bool) -> Cost:
    """The cost of a candidate; `staged` is whether operands of products pass through scratch, as on a GPU."""
    return cost_of_graph(candidate.sgraph, staged)


def cost_of_graph(graph: SGraph, staged: bool) -> Cost:
    """The cost of an sGraph whose maps are chosen; `staged` as in `cost_of`."""
    types, works = graph.types(), work_of(graph)
    scratch = tuple(
        least_scratch(block, tuple(types[a] for a in graph.nodes[at].args), staged) for at, block in graph.customs
    )
    moved = (b for w in works for b in (w.store_bytes, *(load.bytes for load in w.loads)))
    customs = {at for at, _ in graph.customs}
    blocks = tuple(w.blocks for w in works if w.position in customs)
    return Cost(sum(moved, ZERO), sum((w.executed_flops for w in works), ZERO), scratch, len(works), blocks)


def find_dominated(candidates: Sequence[Candidate], staged: bool) -> dict[str, tuple[Dominance, ...]]:
    """The dominated families, each with the dominance of all its candidates by one family that is not dominated.

    Args:
        candidates: of families of one program; a family is assumed to have no other candidates.
        staged: as in `cost_of`.
    """
    families: dict[str, list[Candidate]] = {}
    for candidate in candidates:
        families.setdefault(candidate.family.id, []).append(candidate)
    costs = {c.id: cost_of(c, staged) for c in candidates}
    unpartitioned = {family: _unpartitioned_cost(of[0], costs[of[0].id]) for family, of in families.items()}
    assignments = _Assignments()
    shapes = {c.id: assignments.number(_shape(c, costs[c.id])) for c in candidates}

    @cache
    def dominance(worse: str, better: str) -> tuple[Dominance, ...] | None:
        # Where all parameters are 1 on one side, they are on the other: a fast test that rejects most pairs.
        if any(not never_above(x, y) for x, y in zip(unpartitioned[better], unpartitioned[worse], strict=True)):
            return None
        return _dominate_all(families[better], families[worse], costs, shapes, assignments)

    def dominating(worse: str) -> Iterator[str]:
        """The families that dominate one; of two that dominate each other, the earlier one."""
        order = list(families)
        for better in order:
            earlier = order.index(better) < order.index(worse)
            if better != worse and dominance(worse, better) and (earlier or not dominance(better, worse)):
                yield better

    dominated = {worse for worse in families if next(dominating(worse), None)}
    by = {worse: next((better for better in dominating(worse) if better not in dominated), None) for worse in families}
    return {worse: steps for worse, better in by.items() if better and (steps := dominance(worse, better))}


def dominance_reason(steps: Sequence[Dominance]) -> Reason:
    """The reason of a dominated family: the costs of its first candidate, and the choice of parameters."""
    first = steps[0]
    by, family = first.better.family.id, first.worse.family.id
    better, worse = first.costs
    chosen = ", ".join(f"{name}={size}" for name, size in first.assignment) or "none"
    return Reason(
        code="dominated.by",
        layer="tune",
        soundness="heuristic",
        rule="cost.dominance",
        sentence=f"Whatever its numbers, {by} has some with no more traffic, arithmetic, scratch and launches, and as "
        "many blocks: in the cost model, which is no proof about time.",
        formula=f"cost({by}) ≤ cost({family}) for all legal sizes",
        substitution={
            "dominated by": by,
            "candidates": ", ".join(f"{s.worse.id} by {s.better.id}" for s in steps),
            f"numbers of {first.better.id}": chosen,
            "traffic, B": f"{better.traffic} ≤ {worse.traffic}",
            "arithmetic, flops": f"{better.flops} ≤ {worse.flops}",
            "scratch of a block, B": f"{_listed(better.scratch)} ≤ {_listed(worse.scratch)}",
            "launches": f"{better.launches} ≤ {worse.launches}",
        },
        would_reopen_if=f"{by} were rejected, {family} were accepted, or dominated families were tuned like others",
    )


def _listed(sizes: Sequence[Dim]) -> str:
    return ", ".join(map(str, sizes)) or "0"


def _dominate_all(
    better: Sequence[Candidate],
    worse: Sequence[Candidate],
    costs: Mapping[str, Cost],
    shapes: Mapping[str, int],
    assignments: _Assignments,
) -> tuple[Dominance, ...] | None:
    def dominance(a: Candidate, b: Candidate) -> Dominance | None:
        return _compare(a, b, costs[a.id], costs[b.id], assignments.between(shapes[a.id], shapes[b.id]))

    steps: list[Dominance] = []
    for b in worse:
        step = next((d for a in better if (d := dominance(a, b))), None)
        if step is None:
            return None
        steps.append(step)
    return tuple(steps)


def compare(a: Candidate, b: Candidate, cost_a: Cost, cost_b: Cost) -> Dominance | None:
    """The dominance of a over b; None if it was not shown."""
    return _compare(a, b, cost_a, cost_b, _assignments(_shape(a, cost_a), _shape(b, cost_b)))


def _compare(
    a: Candidate, b: Candidate, cost_a: Cost, cost_b: Cost, assignments: Iterator[Assignment]
) -> Dominance | None:
    if cost_a.launches > cost_b.launches or cost_a.predefined > cost_b.predefined:
        return None
    conditions = _monomial_conditions(b)
    for assignment in assignments:
        cost = cost_a.assigned(assignment)
        if _costs_no_more(cost, cost_b, conditions):
            return Dominance(a, b, assignment, (cost, cost_b))
    return None


def compare_on_machine(
    a: Candidate, b: Candidate, cost_a: Cost, cost_b: Cost, sizes: Mapping[str, int], target: Target
) -> Dominance | None:
    """The dominance of a over b on one machine; None if it was not shown.

    Args:
        a: a candidate of the same program as b.
        b: any candidate, also one with predefined operators.
        cost_a: the cost of a, as in `cost_of`.
        cost_b: the cost of b.
        sizes: values for all parameters of a.
        target: the machine, which these values must fill.
    """
    conditions = _monomial_conditions(b)
    assignment = tuple((s, dim(sizes[s])) for s in a.sgraph.parameters)
    if not all(
        d in frozenset(b.conditions) or _is_positive(d) for d in (_substitute(c, assignment) for c in a.conditions)
    ):
        return None
    cost = cost_a.assigned(assignment)
    fills = all(never_above(dim(target.cores), d, conditions) for d in cost.blocks)
    fits = all(never_above(d, dim(target.shared_memory_bytes), conditions) for d in cost.scratch)
    if not (fills and fits and cost.launches <= cost_b.launches and cost.predefined <= cost_b.predefined):
        return None
    return Dominance(a, b, assignment, (cost, cost_b)) if _moves_no_more(cost, cost_b, conditions) else None


def _monomial_conditions(candidate: Candidate) -> tuple[Dim, ...]:
    """The conditions of a candidate that are products of symbols; each is at least 1."""
    return tuple(sorted(d for d in frozenset(candidate.conditions) if d.is_monomial))


def _moves_no_more(a: Cost, b: Cost, conditions: tuple[Dim, ...]) -> bool:
    return never_above(a.traffic, b.traffic, conditions) and never_above(a.flops, b.flops, conditions)


def _costs_no_more(a: Cost, b: Cost, conditions: tuple[Dim, ...]) -> bool:
    return _moves_no_more(a, b, conditions) and all(
        any(never_above(x, y, conditions) for y in b.scratch) for x in a.scratch
    )


@dataclass(frozen=True, slots=True)
class _Shape:
    """The properties of a candidate that decide how its parameters are matched; many candidates share them."""

    parameters: tuple[str, ...]
    partitions: tuple[tuple[Dim, frozenset[str]], ...]
    """The axes that each parameter, or product of parameters, partitions."""
    conditions: tuple[Dim, ...]
    blocks: tuple[Dim, ...]
    shares: bool
    """Whether it is split. A split costs more of everything and uses more cores, so it is compared with splits only."""


def _shape(candidate: Candidate, cost: Cost) -> _Shape:
    graph = candidate.sgraph
    partitioned = tuple(_partitioned_axes(candidate).items())
    return _Shape(graph.parameters, partitioned, candidate.conditions, cost.blocks, stores_shares(graph))


class _Assignments:
    """The assignments between candidates, computed once for all candidates of the same shapes."""

    def __init__(self) -> None:
        self._numbers: dict[_Shape, int] = {}
        self._forms: list[_Shape] = []
        self._found: dict[tuple[int, int], tuple[list[Assignment], Iterator[Assignment]]] = {}

    def number(self, form: _Shape) -> int:
        """The number of a shape, so that shapes are hashed and compared once."""
        if form not in self._numbers:
            self._numbers[form] = len(self._forms)
            self._forms.append(form)
        return self._numbers[form]

    def between(self, a: int, b: int) -> Iterator[Assignment]:
        """The legal assignments of a's parameters that give the blocks of b; values that share an axis come first."""
        if (a, b) not in self._found:
            self._found[a, b] = [], _assignments(self._forms[a], self._forms[b])
        known, rest = self._found[a, b]
        yield from known
        for assignment in rest:
            known.append(assignment)
            yield assignment


def _assignments(a: _Shape, b: _Shape) -> Iterator[Assignment]:
    """As `_Assignments.between`."""
    axes, numbers = dict(a.partitions), a.parameters
    choices = [[*(size for size, partitioned in b.partitions if partitioned & axes[dim(s)]), ONE] for s in numbers]
    allowed, blocks = frozenset(b.conditions), frozenset(b.blocks)

    def when_decided(sizes: Sequence[Dim]) -> list[list[Dim]]:
        found: list[list[Dim]] = [[] for _ in range(len(numbers) + 1)]
        for d in sizes:
            found[max((1 + numbers.index(s) for s in d.symbols if s in numbers), default=0)].append(d)
        return found

    conditions, counts = when_decided(a.conditions), when_decided(a.blocks)

    def choose(chosen: Assignment) -> Iterator[Assignment]:
        depth = len(chosen)
        if not all(_substitute(d, chosen) in blocks for d in counts[depth]):
            return
        if not all(d in allowed or _is_positive(d) for d in (_substitute(c, chosen) for c in conditions[depth])):
            return
        if depth == len(numbers):
            yield chosen
            return
        for size in choices[depth]:
            yield from choose((*chosen, (numbers[depth], size)))

    return choose(()) if a.shares == b.shares else iter(())


def _substitute(d: Dim, numbers: Assignment) -> Dim:
    """A size in another candidate's parameters; only its own symbols are part of the cache key."""
    own = _symbols(d)
    return _substitute_memoized(d, tuple(row for row in numbers if row[0] in own))


@memoize(1 << 18)
def _substitute_memoized(d: Dim, numbers: Assignment) -> Dim:
    return d.substitute(dict(numbers))


@memoize(65536)
def _symbols(d: Dim) -> frozenset[str]:
    return frozenset(d.symbols)


def _partitioned_axes(candidate: Candidate) -> dict[Dim, frozenset[str]]:
    """Per parameter of a candidate, or product of parameters, the axes that it partitions in any kernel.

    A parameter of a graph that was not enumerated may have no axes.
    """
    found: dict[Dim, frozenset[str]] = {dim(s): frozenset() for s in candidate.sgraph.parameters}
    for (_, block), uses in zip(candidate.sgraph.customs, candidate.uses, strict=False):
        partitions = [(cut.size, frozenset(u.axis for u in uses if u.grid == p)) for p, cut in enumerate(block.grid)]
        if block.loop:
            partitions.append((block.loop.size, frozenset(u.axis for u in uses if u.looped)))
        for size, axes in partitions:
            if size.constant is None:
                found[size] = found.get(size, frozenset()) | axes
    return found


def _unpartitioned_cost(candidate: Candidate, cost: Cost) -> tuple[Dim, Dim]:
    """The traffic and arithmetic with all parameters 1."""
    ones = dict.fromkeys(candidate.sgraph.parameters, 1)
    return cost.traffic.substitute(ones), cost.flops.substitute(ones)


# ---------------------------------------------------------------- inequalities
@memoize(65536)
def never_above(small: Dim, large: Dim, conditions: tuple[Dim, ...] = ()) -> bool:
    """Whether `small <= large` was shown for all symbols that are at least 1 and meet the conditions.

    Args:
        small: a sum of products of symbols.
        large: another.
        conditions: monomials that are at least 1, such as 4096/(gx*f).
    """
    difference = large - small
    positive = {m: c for m, c in difference.terms if c > 0}
    negative = {m: -c for m, c in difference.terms if c < 0}
    ratio = {(m, p): at_least(_ratio(p, m), conditions) for m in negative for p in positive}
    uses = {p: sum(ratio[m, p] > 0 for m in negative) for p in positive}
    covering = {
        m: sorted((p for p in positive if ratio[m, p]), key=lambda p: (uses[p], -ratio[m, p], p)) for m in negative
    }
    for m in sorted(negative, key=lambda m: (len(covering[m]), m)):
        for p in covering[m]:
            covered = min(negative[m], positive[p] * ratio[m, p])
            positive[p] -= covered / ratio[m, p]
            negative[m] -= covered
        if negative[m]:
            return False
    return True


_DEPTH = 6
"""The most conditions that are multiplied to bound one product."""


@memoize(65536)
def at_least(product_: Monomial, conditions: tuple[Dim, ...], depth: int = _DEPTH) -> Fraction:
    """A lower bound on a product of symbols; 0 if none was found.

    >>> at_least((("b", 1), ("gx", -1)), (dim("4096/gx"),))
    Fraction(1, 4096)
    """
    divisor = next((s for s, e in product_ if e < 0), None)
    if divisor is None:
        return Fraction(1)
    best = Fraction(0)
    for condition in conditions if depth else ():
        ((powers, coefficient),) = condition.terms
        if dict(powers).get(divisor, 0) < 0:
            best = max(best, at_least(_ratio(product_, powers), conditions, depth - 1) / coefficient)
    return best


@memoize(65536)
def _ratio(above: Monomial, below: Monomial) -> Monomial:
    powers = dict(above)
    for s, e in below:
        powers[s] = powers.get(s, 0) - e
    return tuple(sorted((s, e) for s, e in powers.items() if e))


def _is_positive(d: Dim) -> bool:
    return d != ZERO and is_natural(d)
