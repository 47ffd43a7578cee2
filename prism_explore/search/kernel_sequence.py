"""Kernel sequences: one kernel for each part of a program that no single kernel of the space computes.

Input: a program, its space and target. Output: kernel sequences (families of the parts), and cuts. Method: partition
the program into runs of consecutive operators, as few as possible, each of which looks like one kernel
(`generate.abstract_expr.size_estimate.fits`). Search each part on its own for proved families; a part without one is
partitioned again. Operators in no part stay predefined. The first sequence takes the first family of every part; then
one part has another family, then two, and so on; then come other partitions into as few parts. Every candidate of a
sequence is proved once more as a full program.

Before, views are moved to the inputs (`ir.transforms.hoist_views`) and products of matrices are reassociated where
that is cheaper (`ir.transforms.reassociate_matmuls`).

With a time to beat, the partial graphs of a part are bounded by the share that the other parts leave
(`cost.sequence_budget`), and a sequence with no candidate below it is cut. Such cuts, and parts whose budget ran out,
are regions of the journal.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations, islice, product

from prism_explore.cost.dominance import never_above
from prism_explore.cost.roofline import TimeToBeat, rates_of, time_bound_of
from prism_explore.cost.sequence_budget import is_looser, times_to_beat_of_parts
from prism_explore.events.format import seconds_text
from prism_explore.events.journal import Journal
from prism_explore.events.kinds import TIME_SPENT, Reason, RegionPruned
from prism_explore.generate import generate
from prism_explore.generate.abstract_expr.size_estimate import fits
from prism_explore.generate.budgets import time_spent
from prism_explore.generate.event_log import PrunedSequence, sequence_text
from prism_explore.generate.pruning.rule import Cut, Failure, reason
from prism_explore.generate.pruning.time_bound import TIME_BOUND
from prism_explore.instantiate import instantiate
from prism_explore.ir.graph import SGraph
from prism_explore.ir.ops import Band, Input, Node, Result, ViewOp
from prism_explore.ir.program import TensorProgram
from prism_explore.ir.transforms.boundary_views import split_boundary_views
from prism_explore.ir.transforms.duplicate_inputs import duplicate_inputs
from prism_explore.ir.transforms.further_results import store_further_results
from prism_explore.ir.transforms.hoist_views import hoist_views
from prism_explore.ir.transforms.partition import (
    Form,
    Part,
    Partitioner,
    canonical_text,
    form_of,
    move_slices,
    rename_inputs,
)
from prism_explore.ir.transforms.reassociate_matmuls import reassociate_matmuls
from prism_explore.pipeline.search_space import LIMITS, Space, default_space
from prism_explore.pipeline.stages import Family, KernelSequence, Verified
from prism_explore.targets import Target
from prism_explore.verify.prover import Prover


@dataclass(frozen=True, slots=True)
class SequenceTimeToBeat:
    """The time that a kernel sequence has to beat, at some shapes."""

    time_s: float
    shapes: Mapping[str, int]


@dataclass(slots=True)
class _Search:
    """The search for kernels of one part, with one time to beat."""

    time_to_beat: TimeToBeat | None
    families: list[Family] = field(default_factory=list[Family])
    too_slow: list[RegionPruned] = field(default_factory=list[RegionPruned])
    """Regions that were pruned because of the time to beat."""
    out_of_budget: list[RegionPruned] = field(default_factory=list[RegionPruned])
    """Regions that were not searched because the node budget was spent."""


def kernel_sequences(
    program: TensorProgram,
    space: Space,
    target: Target,
    seed: int,
    over: Callable[[], bool],
    to_beat: SequenceTimeToBeat | None = None,
) -> Iterator[KernelSequence | PrunedSequence | None]:
    """Kernel sequences for a program's parts; None after every step; none where no part has a kernel.

    Args:
        program: the full program.
        space: of its search; the operators of a part are those of the part.
        target: the machine.
        seed: of proofs.
        over: whether the time for the enumeration is spent.
        to_beat: the time that the sequence has to beat.
    """
    limit = to_beat if space.active(TIME_BOUND.name) else None
    allowed = space.kernel_ops if space.kernel_ops < default_space(program).kernel_ops else None
    cheaper = reassociate_matmuls(hoist_views(program), never_above)
    for same in dict.fromkeys((cheaper, program)):
        count = 0
        for found in _covered(same, space, target, seed, over, limit):
            if not isinstance(found, _Covered):
                yield found
                if found is not None and found.reason.code == TIME_SPENT:
                    return
                continue
            for row in islice(_rows_of(found), space.rows - count):
                count += 1
                if allowed is None or _kernels(row) <= allowed:
                    yield (_too_slow(row, program, space, target, limit) if limit else None) or row
            if count == space.rows:
                return
        if count:
            return


@dataclass(frozen=True, slots=True)
class _Covered:
    """A partitioned program, with proved families of each part that is searched."""

    program: TensorProgram
    parts: tuple[Part, ...]
    families: Mapping[str, Sequence[Family]]
    """By the key that equal parts share."""


def _rows_of(covered: _Covered) -> Iterator[KernelSequence]:
    """Every kernel sequence for the parts, the first families first."""
    parts, found = covered.parts, covered.families
    searched = [n for n, part in enumerate(parts) if part.searched]
    by_size = sorted(searched, key=lambda n: -len(parts[n].positions))
    kinds = {key: len(found[key]) for key in dict.fromkeys(canonical_text(parts[n].program) for n in by_size)}
    for others in _rows(kinds) if searched else ():
        families: list[tuple[int, Family]] = []
        for n in searched:
            part, key = parts[n].program, canonical_text(parts[n].program)
            family = found[key][others.get(key, 0)]
            families.append((n, Family(family.id, part, rename_inputs(family.sgraph, part))))
        yield KernelSequence(covered.program, parts, tuple(families))


def _rows(kinds: Mapping[str, int]) -> Iterator[Mapping[str, int]]:
    """Every choice of families other than the first, per kind of parts: for no kind, for one, for two, and so on.

    >>> [*_rows({"a": 2, "b": 3})]
    [{}, {'a': 1}, {'b': 1}, {'b': 2}, {'a': 1, 'b': 1}, {'a': 1, 'b': 2}]
    """
    # A kind with one family has no other: with 28 of them there are 2^28 sets of keys without a choice.
    several = [key for key, count in kinds.items() if count > 1]
    for changed in range(len(several) + 1):
        for keys in combinations(several, changed):
            for numbers in product(*(range(1, kinds[key]) for key in keys)):
                yield dict(zip(keys, numbers, strict=True))


def _too_slow(
    row: KernelSequence, program: TensorProgram, space: Space, target: Target, limit: SequenceTimeToBeat
) -> PrunedSequence | None:
    """The event that prunes a sequence without a candidate below the time to beat; None where there is one."""
    graph = row.full_graph({number: family.sgraph for number, family in row.families})
    candidates = instantiate(Family("f0", program, graph, row), space, target, Journal())
    least_s = min((time_bound_of(c, limit.shapes, target).time_s for c in candidates), default=0.0)
    if least_s < limit.time_s:
        return None
    detail = f"{rates_of(target)} This is the least of the row's choices of maps."
    return PrunedSequence(sequence_text(row.parts), _slower(seconds_text(least_s), limit, target, detail), 1.0)


def _slower(bound: str, limit: SequenceTimeToBeat, target: Target, detail: str) -> Reason:
    common = {"time to beat": seconds_text(limit.time_s), "machine": target.name}
    failure = Failure("e < time to beat", bound, detail, heuristic=target.measured)
    return reason(Cut(TIME_BOUND, failure), {"e": bound, **common})


def _covered(
    program: TensorProgram,
    space: Space,
    target: Target,
    seed: int,
    over: Callable[[], bool],
    limit: SequenceTimeToBeat | None,
) -> Iterator[_Covered | PrunedSequence | None]:
    """The partitions of a program where each searched part has a proved family, with the families; best first."""
    found: dict[str, _Search] = {}
    without: dict[str, _Search] = {}
    """By the core of a part, a search that found nothing, though no time to beat stopped it."""
    searched: dict[str, tuple[Form, _Search]] = {}
    """The first search of each form, and the form with its slices."""
    partitioner = Partitioner(program, fits)
    yielded: set[tuple[Part, ...]] = set()
    choices = partitioner.best(space.rows)
    while True:
        yield None
        parts = next((choice for choice in choices if choice not in yielded), None)
        if parts is None:
            return
        times_to_beat = times_to_beat_of_parts(program, parts, limit.time_s, limit.shapes, target) if limit else {}
        is_complete = True
        for part in parts:
            key = canonical_text(part.program)
            time_to_beat = times_to_beat.get(key)
            form = form_of(part.program) if part.searched else None
            if form is not None and key not in found and (first := searched.get(form.text)):
                found |= {key: moved} if (moved := _moved(*first, form)) else {}
            known = found.get(key)
            if (
                part.searched
                and (known is None or (known.too_slow and is_looser(known.time_to_beat, time_to_beat)))
                and not over()
            ):
                core = _core_text(part.program)
                known = without.get(core) or (
                    yield from _families(part.program, program, space, target, seed, over, time_to_beat)
                )
                found[key] = known
                if not over() and form is not None:
                    searched.setdefault(form.text, (form, known))
                    if not (known.families or known.too_slow):
                        without[core] = known
                    yield from _not_searched(parts, part, known, limit, target)
            if over():
                # Events do not store at which part the time was spent, so that a replayed search has the same events.
                yield PrunedSequence(sequence_text(parts), time_spent(space.time_s), 1.0)
                return
            if part.searched and not (known and known.families):
                is_complete = False
                # Elsewhere the other parts may leave more of the time to beat.
                partitioner.exclude(part, here_only=bool(known and known.too_slow))
                choices = partitioner.best(space.rows)
                break
        if is_complete:
            yielded.add(parts)
            yield _Covered(program, parts, {key: search.families for key, search in found.items()})


def _moved(form: Form, search: _Search, other: Form) -> _Search | None:
    """The result of a search for a part of equal form; None where that needs a search of its own."""
    graphs = [move_slices(family.sgraph, form, other) for family in search.families]
    if None in graphs or not graphs:
        return None
    families = [replace(f, sgraph=g) for f, g in zip(search.families, graphs, strict=True) if g is not None]
    return replace(search, families=families)


def _core_text(part: TensorProgram) -> str:
    """The text of a part without its boundary views, which do not change a search; inputs are renamed in order."""
    boundary = split_boundary_views(duplicate_inputs(part).program.graph)
    nodes = list(boundary.inputs)
    place = {p: n for n, viewed in enumerate(boundary.viewed_inputs) for p in viewed.at}
    for p in boundary.core:
        place[p] = len(nodes)
        node = boundary.graph.nodes[p]
        nodes.append(Node(node.op, tuple(place[a] for a in node.args)))
    core = SGraph(tuple(nodes), place[boundary.result])
    return canonical_text(replace(part, graph=core)) if not part.graph.further else canonical_text(part)


def _not_searched(
    parts: Sequence[Part], part: Part, search: _Search, limit: SequenceTimeToBeat | None, target: Target
) -> Iterator[PrunedSequence]:
    """The regions that were not searched for kernels of a part."""
    if search.too_slow and limit:
        yield _slow_graphs(parts, part, search, limit, target)
    if search.out_of_budget:
        text, weight = sequence_text(parts, part), sum(e.stood_for for e in search.out_of_budget)
        yield PrunedSequence(text, search.out_of_budget[0].reason, weight)


def _slow_graphs(
    parts: Sequence[Part], part: Part, search: _Search, limit: SequenceTimeToBeat, target: Target
) -> PrunedSequence:
    """The regions that the time to beat pruned during the search of a part, as one region."""
    first = search.too_slow[0]
    bound = first.reason.substitution.get("e", next(iter(first.reason.substitution.values())))
    count = len(search.too_slow)
    detail = (
        f"{rates_of(target)} While a kernel for %{part.result} grew, {count:,} regions were cut, the first "
        f"at {first.operator}; e is of that one, with what the rest of the row takes at least."
    )
    return PrunedSequence(
        sequence_text(parts, part), _slower(bound, limit, target, detail), sum(e.stood_for for e in search.too_slow)
    )


def _families(
    part: TensorProgram,
    program: TensorProgram,
    space: Space,
    target: Target,
    seed: int,
    over: Callable[[], bool],
    time_to_beat: TimeToBeat | None,
) -> Generator[None, None, _Search]:
    """The first families of a part that are proved for some choice of maps.

    Of a part with several results, the last one is searched; the others are stored on the way to it.
    """
    own = _own_space(part, program, space)
    prover, journal, enumeration = Prover(part), Journal(), Journal()
    search = _Search(time_to_beat)
    last = replace(part, graph=part.graph.for_result(0))
    for family in generate(last, own, target, enumeration, over, time_to_beat):
        graphs = store_further_results(family.sgraph, part.graph) if family is not None else iter(())
        for graph in graphs:
            assert family is not None, "there are no graphs without one"
            first = next(instantiate(replace(family, program=part, sgraph=graph), own, target, journal), None)
            if first is not None and isinstance(prover.verify(first, journal, seed), Verified):
                search.families.append(first.family)
                break
        if len(search.families) == space.row_kernels:
            break
        yield None
    pruned = [e for e in enumeration.events if isinstance(e, RegionPruned)]
    search.too_slow = [e for e in pruned if e.reason.rule == TIME_BOUND.name]
    search.out_of_budget = [e for e in pruned if e.reason.code == "budget.nodes"]
    return search


def _own_space(part: TensorProgram, program: TensorProgram, space: Space) -> Space:
    """A part's default space, with the limits and operators that the full program's space lowers or lacks."""
    usual, own = default_space(program), default_space(part)
    lowered = {n: getattr(space, n) for n in LIMITS if getattr(space, n) < min(getattr(usual, n), getattr(own, n))}
    fixed = {"results": 0, "nodes": space.row_nodes, "patience": space.row_nodes, "rules_off": space.rules_off}
    block = own.block.without(usual.block.without(space.block))
    return replace(own, block=block, **(lowered | fixed))


def _kernels(row: KernelSequence) -> int:
    """The number of kernel-level operators, views not counted."""
    graph = row.full_graph({number: family.sgraph for number, family in row.families})
    return sum(not isinstance(n.op, Input | Band | Result | ViewOp) for n in graph.nodes)
