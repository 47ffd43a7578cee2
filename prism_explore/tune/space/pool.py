"""The tuning space of all candidates: every legal choice of sizes and schedule, ranked by the time model.

Strategies draw their proposals from it.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from heapq import heappop, heappush, heapreplace
from typing import TypeAlias

from prism_explore.cost.roofline import TimeBound, time_bound_of
from prism_explore.pipeline.stages import Parameters, Verified
from prism_explore.targets import Target
from prism_explore.tune.space.parameters import Choices, ChoicesOf, Schedule, schedules
from prism_explore.tune.space.ranked_sizes import ranked_sizes
from prism_explore.tune.space.size_table import RankedSizes, Sizes
from prism_explore.tune.space.time_model import model_of

MOST_SIZES = 60_000
"""Of all candidates together; a larger space is sampled, and `Pool.is_complete` is False."""
FEWEST_SIZES = 256
"""Of each candidate, however many candidates there are."""
DEFERRED_SIZES = 64
"""Of each deferred candidate."""
DISTINCT_RATIO = 1.002
"""Two modelled times with a smaller ratio are considered equal."""

ROUNDING = 1e-9
"""Relative difference by which a modelled time may be below the lower bound that equals it."""

Key: TypeAlias = tuple[str, tuple[tuple[str, int], ...]]
"""A candidate's id, and all sizes and schedule choices: what the journal stores of a proposal."""

Ranked: TypeAlias = tuple[RankedSizes, bool]
"""Modelled seconds and sizes, fastest first; and whether these are all legal sizes."""

RankSizes: TypeAlias = Callable[[Sequence[Verified], Mapping[str, int], Target], Sequence[Ranked]]
"""Ranks legal sizes of each candidate at given shapes, by a code generator's own model."""

_Row: TypeAlias = tuple[float, bool, int, Sizes]
"""Modelled seconds, whether the candidate is deferred, its index, its sizes."""


@dataclass(frozen=True, slots=True)
class Point:
    """One legal choice of sizes and schedule for one candidate."""

    verified: Verified
    parameters: Parameters
    modelled_s: float

    @property
    def key(self) -> Key:
        """What identifies the point."""
        return self.verified.candidate.id, (*self.parameters.sizes, *self.parameters.schedule)


@dataclass(eq=False)
class PoolCandidate:
    """A proved candidate with its lower bound and its legal sizes, which are ranked when they are first read.

    A candidate that is dropped because of its bound is not ranked, nor are those of a tuning run that is replayed.
    """

    verified: Verified
    bound: TimeBound
    rank: Callable[[], Ranked]
    deferred: bool = False
    """Whether equally fast candidates are proposed first."""
    least_s: float = 0.0
    """No modelled time of it is less, as far as is known before it is ranked."""
    choices: dict[Sizes, Choices] = field(default_factory=dict[Sizes, Choices])
    """Schedule choices by sizes, filled on demand."""

    @cached_property
    def ranked(self) -> Ranked:
        """What `rank` returns."""
        return self.rank()

    @property
    def sizes(self) -> RankedSizes:
        """Modelled seconds and sizes, fastest first."""
        return self.ranked[0]

    @property
    def id(self) -> str:
        """The candidate's id."""
        return self.verified.candidate.id

    @property
    def family(self) -> str:
        """The id of the candidate's family."""
        return self.verified.candidate.family.id


class Pool:
    """All points that may be tried, of candidates in the order of their lower bounds."""

    def __init__(
        self,
        verifieds: Sequence[Verified],
        shapes: Mapping[str, int],
        target: Target,
        choices: ChoicesOf,
        most_sizes: int | None = None,
        deferred: Collection[str] = (),
        ranges: Mapping[str, tuple[int, int]] | None = None,
        rank_sizes: RankSizes | None = None,
    ) -> None:
        """Bound all candidates; their legal sizes are ranked later.

        Args:
            verifieds: the candidates.
            shapes: values of the program's own symbols.
            target: the machine.
            choices: schedule choices of the code generator.
            most_sizes: limit per candidate; if None, an equal share of `MOST_SIZES`, and fewer for deferred candidates.
            deferred: ids of candidates that are proposed after others with the same modelled time.
            ranges: least and largest value of parameters, by name; other sizes are left out.
            rank_sizes: ranks sizes in place of the time model, if the code generator has a model of its own.

        Raises:
            ShapeError: a data symbol has no value in `shapes`.
        """
        self._shapes, self._target, self._choices = dict(shapes), target, choices
        share = max(FEWEST_SIZES, MOST_SIZES // max(1, sum(v.candidate.id not in deferred for v in verifieds)))
        self._rank_sizes, self._verifieds, self._ranges = rank_sizes, tuple(verifieds), dict(ranges or {})
        candidates: list[PoolCandidate] = []
        for verified in verifieds:
            is_deferred = verified.candidate.id in deferred
            most = most_sizes or (DEFERRED_SIZES if is_deferred else share)
            bound = time_bound_of(verified.candidate, shapes, target)
            n = len(candidates)
            rank = (
                partial(self._ranked, verified, most) if rank_sizes is None else partial(self._ranked_by_generator, n)
            )
            least_s = bound.time_s * (1 - ROUNDING) if rank_sizes is None else 0.0  # the time model is not below it
            candidates.append(PoolCandidate(verified, bound, rank, is_deferred, least_s))
        self.candidates = sorted(candidates, key=lambda c: (c.bound.time_s, c.deferred))

    @cached_property
    def _all_ranked(self) -> Sequence[Ranked]:
        """What the code generator's own model finds, of all candidates at once."""
        assert self._rank_sizes is not None, "read by candidates that are ranked so"
        return self._rank_sizes(self._verifieds, self._shapes, self._target)

    def _ranked_by_generator(self, n: int) -> Ranked:
        return self._in_ranges(self._all_ranked[n])

    def _ranked(self, verified: Verified, most: int) -> Ranked:
        """At most about `most` legal sizes of a candidate, by the time model."""
        model = model_of(verified.candidate, self._shapes, self._target)
        return self._in_ranges(ranked_sizes(verified.candidate, self._shapes, self._target, model, most))

    def _in_ranges(self, found: Ranked) -> Ranked:
        ranked, is_complete = found
        return ranked.within(self._ranges), is_complete

    @property
    def is_complete(self) -> bool:
        """Whether the candidates have all their legal sizes, not a sample."""
        return all(candidate.ranked[1] for candidate in self.candidates)

    def drop(self, candidate: PoolCandidate) -> None:
        """Never propose a candidate again."""
        self.candidates.remove(candidate)

    def find(self, candidate_id: str) -> PoolCandidate | None:
        """The candidate with this id; None if it is not in the pool."""
        return next((c for c in self.candidates if c.id == candidate_id), None)

    def contains(self, point: Point) -> bool:
        """Whether the point's candidate is in the pool."""
        return any(c.verified is point.verified for c in self.candidates)

    def choices_of(self, candidate: PoolCandidate, sizes: Sizes) -> Choices:
        """The code generator's schedule choices at these sizes."""
        if sizes not in candidate.choices:
            candidate.choices[sizes] = self._choices(candidate.verified, sizes, self._shapes, self._target)
        return candidate.choices[sizes]

    def in_lexicographic_order(self) -> Iterator[Point]:
        """Every point: candidates by lower bound, sizes lexicographically, schedules by distance from the usual one."""
        for candidate in tuple(self.candidates):
            for modelled_s, sizes in sorted(candidate.sizes, key=lambda row: row[1]):
                for schedule in schedules(self.choices_of(candidate, sizes)):
                    yield _point(candidate, modelled_s, sizes, schedule)

    def in_model_order(self, family: str | None = None) -> Iterator[Point]:
        """Every point, of one family or of all: each size with its usual schedule, fastest first, then the others.

        Sizes of a candidate whose modelled time equals that of earlier ones come after all that are distinct: sizes of
        a kernel that takes almost no time, or equal blocks along another dim.
        """
        candidates = tuple(c for c in self.candidates if family in (None, c.family))
        remaining: list[tuple[float, PoolCandidate, Sizes, Iterator[Schedule]]] = []
        for modelled_s, _, n, sizes in _distinct_first(candidates):
            offered = schedules(self.choices_of(candidates[n], sizes))
            yield _point(candidates[n], modelled_s, sizes, next(offered))
            remaining.append((modelled_s, candidates[n], sizes, offered))
        while remaining:
            still_open: list[tuple[float, PoolCandidate, Sizes, Iterator[Schedule]]] = []
            for row in remaining:
                modelled_s, candidate, sizes, offered = row
                schedule = next(offered, None)
                if schedule is not None:
                    yield _point(candidate, modelled_s, sizes, schedule)
                    still_open.append(row)
            remaining = still_open

    def random_point(self, rng: random.Random) -> Point | None:
        """A random candidate with random sizes and a random schedule; None if nothing is legal."""
        candidates = [c for c in self.candidates if c.sizes]
        if not candidates:
            return None
        candidate = rng.choice(candidates)
        modelled_s, sizes = rng.choice(candidate.sizes)
        schedule = tuple((name, rng.choice(values)) for name, values in self.choices_of(candidate, sizes))
        return _point(candidate, modelled_s, sizes, schedule)

    def neighbours(self, point: Point) -> Iterator[Point]:
        """Points that differ in one value: a size one step up or down, or one schedule choice."""
        candidate = next((c for c in self.candidates if c.verified is point.verified), None)
        if candidate is None:
            return
        own = point.parameters
        for name, values in self.choices_of(candidate, own.sizes):
            for value in values:
                schedule = tuple((n, value if n == name else v) for n, v in own.schedule)
                if schedule != own.schedule:
                    yield _point(candidate, point.modelled_s, own.sizes, schedule)
        for modelled_s, sizes in candidate.sizes.nearest(own.sizes):
            yield _point(candidate, modelled_s, sizes, self._legal_schedule(candidate, sizes, own.schedule))

    def _legal_schedule(self, candidate: PoolCandidate, sizes: Sizes, schedule: Schedule) -> Schedule:
        """The same schedule if it is offered at these sizes; else the usual one."""
        offered = self.choices_of(candidate, sizes)
        chosen = dict(schedule)
        if [n for n, _ in offered] == list(chosen) and all(chosen[n] in values for n, values in offered):
            return schedule
        return next(schedules(offered))


def _distinct_first(candidates: Sequence[PoolCandidate]) -> Iterator[_Row]:
    """The sizes of all candidates, fastest first; those of a modelled time that an earlier one has come last."""
    equal, last = list[_Row](), dict[int, float]()
    for row in _merged(candidates):
        modelled_s, _, n, _ = row
        if modelled_s >= last.get(n, 0.0) * DISTINCT_RATIO:
            last[n] = modelled_s
            yield row
        else:
            equal.append(row)
    yield from equal


def _merged(candidates: Sequence[PoolCandidate]) -> Iterator[_Row]:
    """The sizes of all candidates, fastest first.

    A search reads a few of tens of thousands. So they are merged as far as they are read, and a candidate is ranked
    when the modelled times have come to its `least_s`.
    """

    def rows_of(n: int, candidate: PoolCandidate) -> Iterator[_Row]:
        return ((modelled_s, candidate.deferred, n, sizes) for modelled_s, sizes in candidate.sizes)

    unranked = deque(sorted((c.least_s, n) for n, c in enumerate(candidates)))
    heads: list[tuple[_Row, Iterator[_Row]]] = []  # no two rows are equal, so iterators are never compared
    while heads or unranked:
        while unranked and (not heads or unranked[0][0] <= heads[0][0][0]):
            _, n = unranked.popleft()
            rows = rows_of(n, candidates[n])
            if (first := next(rows, None)) is not None:
                heappush(heads, (first, rows))
        if heads:
            row, rows = heads[0]
            yield row
            following = next(rows, None)
            if following is None:
                heappop(heads)
            else:
                heapreplace(heads, (following, rows))


def within(values: Iterable[tuple[str, int]], ranges: Mapping[str, tuple[int, int]]) -> bool:
    """Whether every value that has a range is in it."""
    return all(ranges[name][0] <= value <= ranges[name][1] for name, value in values if name in ranges)


def _point(candidate: PoolCandidate, modelled_s: float, sizes: Sizes, schedule: Schedule) -> Point:
    return Point(candidate.verified, Parameters(sizes, schedule), modelled_s)
