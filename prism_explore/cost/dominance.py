"""Dominance: families that another one never exceeds in cost, in the model of `cost.work`; no proof about time.

A candidate *dominates* another if for every legal choice of the other's numbers it has one, at the same shapes, with
no more traffic, arithmetic, scratch and launches, as written, and with as many blocks: fewer would leave cores idle
and more may be illegal. A family dominates another if each of the other's candidates is dominated by one of its own.
How many blocks a predefined operator has is its library's choice, so none are compared with those.

On one machine a candidate *outdoes* another if one choice of its numbers costs no more than any of the other's. These
numbers fill the machine: every core has a block of each custom kernel, and a block's scratch is there. So neither
more blocks nor less scratch are a gain of the other's, and a kernel that is split may outdo one that is not. What a
last round of blocks leaves idle is not counted, here as there.

Numbers are matched by axes: a grid size or loop range takes the value of one that cuts the same axis in the other
candidate, or 1. That is legal where every condition it leads to is a condition of the other candidate, or trivial.

Costs are sums of products of symbols, so `a <= b` for all legal sizes is shown term by term: each term of a that is
left over in b - a is paid by terms of b that are never smaller. A product of symbols is never below a number c if it
is c times a product of symbols, which are at least 1, and of conditions, which are at least 1 as well. That is sound
and not complete: where it shows nothing, there is no dominance.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import TypeAlias

from prism_explore.cost.work import least_scratch, total_of, work_of
from prism_explore.events.kinds import Reason
from prism_explore.ir.analysis.split_reduction import stores_shares
from prism_explore.ir.dims import ONE, Dim, Monomial, dim
from prism_explore.ir.graph import SGraph
from prism_explore.pipeline.stages import Candidate
from prism_explore.support.caches import memoize
from prism_explore.targets import Target

Assignment: TypeAlias = tuple[tuple[str, Dim], ...]
"""What each of one candidate's numbers becomes, in those of another."""


@dataclass(frozen=True, slots=True)
class Cost:
    """What a candidate costs as written, for any sizes."""

    traffic: Dim
    """Bytes loaded and stored, over all kernels, blocks and iterations."""
    flops: Dim
    scratch: tuple[Dim, ...]
    """Per custom kernel, bytes of one block."""
    launches: int
    blocks: tuple[Dim, ...]
    """Per custom kernel."""

    @property
    def predefined(self) -> int:
        """Predefined operators."""
        return self.launches - len(self.blocks)

    def assigned(self, numbers: Assignment) -> Cost:
        """With its numbers chosen."""
        return Cost(
            _substitute(self.traffic, numbers),
            _substitute(self.flops, numbers),
            tuple(_substitute(d, numbers) for d in self.scratch),
            self.launches,
            tuple(_substitute(d, numbers) for d in self.blocks),
        )


@dataclass(frozen=True, slots=True)
class Dominance:
    """One candidate is never dearer than another."""

    better: Candidate
    worse: Candidate
    assignment: Assignment
    """What the better one's numbers are, in the worse one's."""
    costs: tuple[Cost, Cost]
    """Of both, in the worse one's numbers."""


def cost_of(candidate: Candidate, staged: bool) -> Cost:
    """The cost of a candidate; `staged` is whether operands of products pass through scratch, as on a GPU."""
    return cost_of_graph(candidate.sgraph, staged)


def cost_of_graph(graph: SGraph, staged: bool) -> Cost:
    """The cost of any sGraph whose maps are chosen."""
    types, works = graph.types(), work_of(graph)
    scratch = tuple(
        least_scratch(block, tuple(types[a] for a in graph.nodes[at].args), staged) for at, block in graph.customs
    )
    moved = (b for w in works for b in (w.store_bytes, *(load.bytes for load in w.loads)))
    customs = {at for at, _ in graph.customs}
    blocks = tuple(w.blocks for w in works if w.position in customs)
    return Cost(total_of(moved), total_of(w.executed_flops for w in works), scratch, len(works), blocks)


def find_dominated(candidates: Sequence[Candidate], staged: bool) -> dict[str, tuple[Dominance, ...]]:
    """Per dominated family, how each of its candidates is dominated by one undominated family; in order of birth.

    Args:
        candidates: of any families of one program; a family is taken to have these and no others.
        staged: as in `cost_of`.
    """
    families: dict[str, list[Candidate]] = {}
    for candidate in candidates:
        families.setdefault(candidate.family.id, []).append(candidate)
    costs = {c.id: cost_of(c, staged) for c in candidates}
    uncut = {family: _unpartitioned_cost(of[0], costs[of[0].id]) for family, of in families.items()}

    ways = _Assignments()
    forms = {c.id: ways.number(_shape(c, costs[c.id])) for c in candidates}

    @cache
    def beaten(worse: str, better: str) -> tuple[Dominance, ...] | None:
        """Numbers of 1 come from numbers of 1, so a quick look at those spares most comparisons."""
        if any(not never_above(x, y) for x, y in zip(uncut[better], uncut[worse], strict=True)):
            return None
        return _dominate_all(families[better], families[worse], costs, forms, ways)

    def rivals(worse: str) -> Iterator[str]:
        """Families that dominate one; of two that dominate each other the first-born stays."""
        born = list(families)
        for better in born:
            earlier = born.index(better) < born.index(worse)
            if better != worse and beaten(worse, better) and (earlier or not beaten(better, worse)):
                yield better

    out = {worse for worse in families if next(rivals(worse), None)}
    by = {worse: next((better for better in rivals(worse) if better not in out), None) for worse in families}
    return {worse: steps for worse, better in by.items() if better and (steps := beaten(worse, better))}


def dominance_reason(steps: Sequence[Dominance]) -> Reason:
    """The reason card of a dominated family: the costs of its first candidate, and how numbers were chosen."""
    first = steps[0]
    by, family = first.better.family.id, first.worse.family.id
    ours, theirs = first.costs
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
            "traffic, B": f"{ours.traffic} ≤ {theirs.traffic}",
            "arithmetic, flops": f"{ours.flops} ≤ {theirs.flops}",
            "scratch of a block, B": f"{_listed(ours.scratch)} ≤ {_listed(theirs.scratch)}",
            "launches": f"{ours.launches} ≤ {theirs.launches}",
        },
        would_reopen_if=f"{by} were rejected, {family} were accepted, or dominated families were tuned like others",
    )


def _listed(sizes: Sequence[Dim]) -> str:
    return ", ".join(map(str, sizes)) or "0"


def _dominate_all(
    better: Sequence[Candidate],
    worse: Sequence[Candidate],
    costs: Mapping[str, Cost],
    forms: Mapping[str, int],
    ways: _Assignments,
) -> tuple[Dominance, ...] | None:
    def one(a: Candidate, b: Candidate) -> Dominance | None:
        return _compare(a, b, costs[a.id], costs[b.id], ways.between(forms[a.id], forms[b.id]))

    steps: list[Dominance] = []
    for b in worse:
        step = next((d for a in better if (d := one(a, b))), None)
        if step is None:
            return None
        steps.append(step)
    return tuple(steps)


def compare(a: Candidate, b: Candidate, cost_a: Cost, cost_b: Cost) -> Dominance | None:
    """How a is never dearer than b; None where that was not shown."""
    return _compare(a, b, cost_a, cost_b, _assignments(_shape(a, cost_a), _shape(b, cost_b)))


def _compare(
    a: Candidate, b: Candidate, cost_a: Cost, cost_b: Cost, renamings: Iterator[Assignment]
) -> Dominance | None:
    if cost_a.launches > cost_b.launches or cost_a.predefined > cost_b.predefined:
        return None
    conditions = _monomial_conditions(b)
    for numbers in renamings:
        here = cost_a.assigned(numbers)
        if _costs_no_more(here, cost_b, conditions):
            return Dominance(a, b, numbers, (here, cost_b))
    return None


def compare_on_machine(
    a: Candidate, b: Candidate, cost_a: Cost, cost_b: Cost, sizes: Mapping[str, int], target: Target
) -> Dominance | None:
    """How a with some numbers is never dearer than b with any on one machine; None where that was not shown.

    Args:
        a: of the same program as b.
        b: any candidate, also one with predefined operators.
        cost_a: of a, as in `cost_of`.
        cost_b: of b.
        sizes: for all of a's own symbols.
        target: the machine that they are to fill.
    """
    conditions = _monomial_conditions(b)
    numbers = tuple((s, dim(sizes[s])) for s in a.sgraph.parameters)
    if not all(d in frozenset(b.conditions) or _is_natural(d) for d in (_substitute(c, numbers) for c in a.conditions)):
        return None
    here = cost_a.assigned(numbers)
    full = all(never_above(dim(target.cores), d, conditions) for d in here.blocks)
    fits = all(never_above(d, dim(target.shared_memory_bytes), conditions) for d in here.scratch)
    if not (full and fits and here.launches <= cost_b.launches and here.predefined <= cost_b.predefined):
        return None
    return Dominance(a, b, numbers, (here, cost_b)) if _moves_no_more(here, cost_b, conditions) else None


def _monomial_conditions(candidate: Candidate) -> tuple[Dim, ...]:
    """The conditions of a candidate that are products, each at least 1."""
    return tuple(sorted(d for d in frozenset(candidate.conditions) if d.is_monomial))


def _moves_no_more(a: Cost, b: Cost, conditions: tuple[Dim, ...]) -> bool:
    return never_above(a.traffic, b.traffic, conditions) and never_above(a.flops, b.flops, conditions)


def _costs_no_more(a: Cost, b: Cost, conditions: tuple[Dim, ...]) -> bool:
    return _moves_no_more(a, b, conditions) and all(
        any(never_above(x, y, conditions) for y in b.scratch) for x in a.scratch
    )


@dataclass(frozen=True, slots=True)
class _Shape:
    """All of a candidate that says which of its numbers may be chosen by another's; families share many forms."""

    numbers: tuple[str, ...]
    cuts: tuple[tuple[Dim, frozenset[str]], ...]
    conditions: tuple[Dim, ...]
    blocks: tuple[Dim, ...]
    shares: bool
    """Whether it is a split: that costs more of everything and fills more cores."""


def _shape(candidate: Candidate, cost: Cost) -> _Shape:
    graph = candidate.sgraph
    cuts = tuple(_partitioned_axes(candidate).items())
    return _Shape(graph.parameters, cuts, candidate.conditions, cost.blocks, stores_shares(graph))


class _Assignments:
    """Ways to choose one candidate's numbers by another's, found once for all candidates of the same forms."""

    def __init__(self) -> None:
        self._numbers: dict[_Shape, int] = {}
        self._forms: list[_Shape] = []
        self._found: dict[tuple[int, int], tuple[list[Assignment], Iterator[Assignment]]] = {}

    def number(self, form: _Shape) -> int:
        """What a form is called here; it is compared as a whole once."""
        if form not in self._numbers:
            self._numbers[form] = len(self._forms)
            self._forms.append(form)
        return self._numbers[form]

    def between(self, a: int, b: int) -> Iterator[Assignment]:
        """Legal ways to choose a's numbers by b's with b's blocks, those that cut most alike first."""
        if (a, b) not in self._found:
            self._found[a, b] = [], _assignments(self._forms[a], self._forms[b])
        had, more = self._found[a, b]
        yield from had
        for way in more:
            had.append(way)
            yield way


def _assignments(a: _Shape, b: _Shape) -> Iterator[Assignment]:
    """As `_Ways.between`."""
    ours, numbers = dict(a.cuts), a.numbers
    ways = [[*(size for size, cut in b.cuts if cut & ours[dim(s)]), ONE] for s in numbers]
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
        if not all(d in allowed or _is_natural(d) for d in (_substitute(c, chosen) for c in conditions[depth])):
            return
        if depth == len(numbers):
            yield chosen
            return
        for size in ways[depth]:
            yield from choose((*chosen, (numbers[depth], size)))

    return choose(()) if a.shares == b.shares else iter(())


def _substitute(d: Dim, numbers: Assignment) -> Dim:
    """A size in another candidate's numbers; the same question is answered once."""
    own = _symbols(d)
    return _substitute_memoized(d, tuple(row for row in numbers if row[0] in own))


@memoize(1 << 18)
def _substitute_memoized(d: Dim, numbers: Assignment) -> Dim:
    return d.substitute(dict(numbers))


@memoize(65536)
def _symbols(d: Dim) -> frozenset[str]:
    return frozenset(d.symbols)


def _partitioned_axes(candidate: Candidate) -> dict[Dim, frozenset[str]]:
    """Per number of a candidate, or product of numbers, the axes that it cuts, in any of the kernels.

    A graph made by hand may have numbers that do not say.
    """
    found: dict[Dim, frozenset[str]] = {dim(s): frozenset() for s in candidate.sgraph.parameters}
    for (_, block), uses in zip(candidate.sgraph.customs, candidate.uses, strict=False):
        cuts = [(cut.size, frozenset(u.axis for u in uses if u.grid == p)) for p, cut in enumerate(block.grid)]
        if block.loop:
            cuts.append((block.loop.size, frozenset(u.axis for u in uses if u.looped)))
        for size, axes in cuts:
            if size.constant is None:
                found[size] = found.get(size, frozenset()) | axes
    return found


def _unpartitioned_cost(candidate: Candidate, cost: Cost) -> tuple[Dim, Dim]:
    """Traffic and arithmetic of one block in one iteration."""
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
    rest = large - small
    have = {m: c for m, c in rest.terms if c > 0}
    owed = {m: -c for m, c in rest.terms if c < 0}
    worth = {(m, p): at_least(_ratio(p, m), conditions) for m in owed for p in have}
    use = {p: sum(worth[m, p] > 0 for m in owed) for p in have}
    payers = {m: sorted((p for p in have if worth[m, p]), key=lambda p: (use[p], -worth[m, p], p)) for m in owed}
    for m in sorted(owed, key=lambda m: (len(payers[m]), m)):
        for p in payers[m]:
            paid = min(owed[m], have[p] * worth[m, p])
            have[p] -= paid / worth[m, p]
            owed[m] -= paid
        if owed[m]:
            return False
    return True


_DEPTH = 6
"""Conditions that are multiplied at most, to bound one product."""


@memoize(65536)
def at_least(product_: Monomial, conditions: tuple[Dim, ...], depth: int = _DEPTH) -> Fraction:
    """A number that a product of symbols is shown to be never below; 0 where there is none.

    >>> at_least((("b", 1), ("gx", -1)), (dim("4096/gx"),))
    Fraction(1, 4096)
    """
    short = next((s for s, e in product_ if e < 0), None)
    if short is None:
        return Fraction(1)
    best = Fraction(0)
    for condition in conditions if depth else ():
        ((powers, coefficient),) = condition.terms
        if dict(powers).get(short, 0) < 0:
            best = max(best, at_least(_ratio(product_, powers), conditions, depth - 1) / coefficient)
    return best


@memoize(65536)
def _ratio(above: Monomial, below: Monomial) -> Monomial:
    powers = dict(above)
    for s, e in below:
        powers[s] = powers.get(s, 0) - e
    return tuple(sorted((s, e) for s, e in powers.items() if e))


def _is_natural(d: Dim) -> bool:
    return bool(d.terms) and all(
        c > 0 and c.denominator == 1 and all(e > 0 for _, e in powers) for powers, c in d.terms
    )
