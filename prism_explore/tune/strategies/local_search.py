"""Orders in which to try: what the tuner proposes next.

All strategies draw from one `Pool`: every legal point of every candidate, ranked by the model
but cut by nothing. `Exhaustive` takes them as they come. `Ranked` follows the model, with a seeded
random share, because a model that was always right would need no measuring. `Climbing` also looks
next to the incumbent: one number changed at a time. `Halving` gives every family a few trials, the better
half of them twice as many, and so on. What is proposed depends on the seed and on what the trials before it
gave, never on the clock.

How a trial is raced against the incumbent is in `rounds.py`.
"""

from __future__ import annotations

import math
import random
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias

from prism_explore.cost.roofline import TimeBound, time_bound_of
from prism_explore.pipeline.stages import Outcome, Parameters, Timed, Verified
from prism_explore.targets import Target
from prism_explore.tune.space.parameters import Choices, ChoicesOf, Schedule, Sizes, schedules
from prism_explore.tune.space.ranked_sizes import likely_sizes
from prism_explore.tune.space.time_model import model_of

MOST_SIZES = 60_000
"""Of all candidates together; of a larger space a part from everywhere is searched, and `Pool.is_whole` says so."""
FEWEST_SIZES = 256
"""Of each candidate, however many there are."""
LATER_SIZES = 64
"""Of each candidate that is proposed behind others."""
TELLING = 1.002
"""Of two modelled times, a ratio that says something."""

Key: TypeAlias = tuple[str, tuple[tuple[str, int], ...]]
"""A candidate's id and all numbers: what the journal holds of a proposal."""

_Ranked: TypeAlias = tuple[float, bool, int, Sizes]
"""Modelled seconds, whether others that are as likely come first, which candidate, and its sizes."""


@dataclass(frozen=True, slots=True)
class Point:
    """One legal choice of numbers for one candidate."""

    verified: Verified
    parameters: Parameters
    modelled_s: float

    @property
    def key(self) -> Key:
        """What makes it this point and no other."""
        return self.verified.candidate.id, (*self.parameters.sizes, *self.parameters.schedule)


@dataclass(slots=True)
class Entrant:
    """A proved candidate in the tuner's pool."""

    verified: Verified
    floor: TimeBound
    sizes: tuple[tuple[float, Sizes], ...]
    """Modelled seconds and sizes, best first."""
    later: bool = False
    """Whether others that are as likely are proposed first."""
    choices: dict[Sizes, Choices] = field(default_factory=dict[Sizes, Choices])


class Pool:
    """Every point that may be tried, cheapest bound first."""

    def __init__(
        self,
        verifieds: Sequence[Verified],
        shapes: Mapping[str, int],
        target: Target,
        choices: ChoicesOf,
        most_sizes: int | None = None,
        later: Collection[str] = (),
    ) -> None:
        """Rank all legal sizes of all candidates; those whose ids are in `later` come behind others that are as likely.

        Args:
            verifieds: the candidates.
            shapes: numbers for the program's own symbols.
            target: the machine.
            choices: what the code generator offers.
            most_sizes: of each candidate; a fair share of `MOST_SIZES` if not given, and few of those that come later.
            later: ids of candidates.

        Raises:
            ShapeError: a data symbol has no number in `shapes`.
        """
        self._shapes, self._target, self._choices = dict(shapes), target, choices
        self.is_whole = True
        first = max(FEWEST_SIZES, MOST_SIZES // max(1, sum(v.candidate.id not in later for v in verifieds)))
        entrants: list[Entrant] = []
        for verified in verifieds:
            model = model_of(verified.candidate, shapes, target)
            most = most_sizes or (LATER_SIZES if verified.candidate.id in later else first)
            ranked, whole = likely_sizes(verified.candidate, shapes, target, model, most)
            self.is_whole &= whole
            floor = time_bound_of(verified.candidate, shapes, target)
            entrants.append(Entrant(verified, floor, ranked, verified.candidate.id in later))
        self.entrants = sorted(entrants, key=lambda e: (e.floor.time_s, e.later))

    def drop(self, entrant: Entrant) -> None:
        """Never propose a candidate again."""
        self.entrants.remove(entrant)

    def choices_of(self, entrant: Entrant, sizes: Sizes) -> Choices:
        """What the code generator offers at these sizes, asked once."""
        if sizes not in entrant.choices:
            entrant.choices[sizes] = self._choices(entrant.verified, sizes, self._shapes, self._target)
        return entrant.choices[sizes]

    def point(self, entrant: Entrant, modelled_s: float, sizes: Sizes, schedule: Schedule) -> Point:
        """A point from its parts."""
        return Point(entrant.verified, Parameters(sizes, schedule), modelled_s)

    def in_order(self) -> Iterator[Point]:
        """Every point: candidates by bound, sizes in lexicographic order, schedules by distance."""
        for entrant in tuple(self.entrants):
            for modelled_s, sizes in sorted(entrant.sizes, key=lambda row: row[1]):
                for schedule in schedules(self.choices_of(entrant, sizes)):
                    yield self.point(entrant, modelled_s, sizes, schedule)

    def by_model(self, family: str | None = None) -> Iterator[Point]:
        """Every point, of a family or of all: each size with its usual schedule, best first, then with another, ...

        Sizes of a candidate that the model can hardly tell from one before them come behind all that it can: numbers
        of a kernel that takes next to no time, or the same blocks along another dim.
        """
        entrants = tuple(e for e in self.entrants if family in (None, e.verified.candidate.family.id))
        ranked = sorted((s, e.later, i, sizes) for i, e in enumerate(entrants) for s, sizes in e.sizes)
        told, alike = list[_Ranked](), list[_Ranked]()
        last: dict[int, float] = {}
        for row in ranked:
            modelled_s, _, i, _ = row
            is_told = modelled_s >= last.get(i, 0.0) * TELLING
            (told if is_told else alike).append(row)
            last[i] = modelled_s if is_told else last[i]
        open_rows: list[tuple[float, Entrant, Sizes, Iterator[Schedule]]] = []
        for modelled_s, _, i, sizes in (*told, *alike):
            offered = schedules(self.choices_of(entrants[i], sizes))
            yield self.point(entrants[i], modelled_s, sizes, next(offered))
            open_rows.append((modelled_s, entrants[i], sizes, offered))
        while open_rows:
            still_open: list[tuple[float, Entrant, Sizes, Iterator[Schedule]]] = []
            for row in open_rows:
                modelled_s, entrant, sizes, offered = row
                schedule = next(offered, None)
                if schedule is not None:
                    yield self.point(entrant, modelled_s, sizes, schedule)
                    still_open.append(row)
            open_rows = still_open

    def any(self, rng: random.Random) -> Point | None:
        """A random candidate at random sizes with a random schedule; None where nothing is legal."""
        entrants = [e for e in self.entrants if e.sizes]
        if not entrants:
            return None
        entrant = rng.choice(entrants)
        modelled_s, sizes = rng.choice(entrant.sizes)
        schedule = tuple((name, rng.choice(values)) for name, values in self.choices_of(entrant, sizes))
        return self.point(entrant, modelled_s, sizes, schedule)

    def around(self, point: Point) -> Iterator[Point]:
        """Points that differ in one number: a size one step up or down, or one choice of the schedule."""
        entrant = next((e for e in self.entrants if e.verified is point.verified), None)
        if entrant is None:
            return
        here = point.parameters
        for name, values in self.choices_of(entrant, here.sizes):
            for value in values:
                schedule = tuple((n, value if n == name else v) for n, v in here.schedule)
                if schedule != here.schedule:
                    yield self.point(entrant, point.modelled_s, here.sizes, schedule)
        modelled = {sizes: s for s, sizes in entrant.sizes}
        for position, (_, number) in enumerate(here.sizes):
            along = [s for s in modelled if _apart(s, here.sizes) == 1 and s[position][1] != number]
            along.sort(key=lambda sizes: sizes[position][1])
            above = [s for s in along if s[position][1] > number][:1]
            below = [s for s in along if s[position][1] < number][-1:]
            for sizes in (*above, *below):
                yield self.point(entrant, modelled[sizes], sizes, self._kept(entrant, sizes, here.schedule))

    def _kept(self, entrant: Entrant, sizes: Sizes, schedule: Schedule) -> Schedule:
        """The same schedule at other sizes, where it is offered there; the usual one otherwise."""
        offered = self.choices_of(entrant, sizes)
        chosen = dict(schedule)
        if [n for n, _ in offered] == list(chosen) and all(chosen[n] in values for n, values in offered):
            return schedule
        return next(schedules(offered))


def _apart(a: Sequence[tuple[str, int]], b: Sequence[tuple[str, int]]) -> int:
    """In how many numbers two choices differ."""
    left, right = dict(a), dict(b)
    return sum(left.get(name) != right.get(name) for name in {**left, **right})


# ---------------------------------------------------------------- strategies
class Strategy(Protocol):
    """Says what to try next."""

    def propose(self, pool: Pool, tried: set[Key], best: Point | None) -> Point | None:
        """A point that was not tried; None when there is none left."""
        ...

    def hear(self, pool: Pool, point: Point, outcome: Outcome) -> None:
        """What came of a point, whoever proposed it."""
        ...


class Exhaustive:
    """Everything, in a stable order."""

    def __init__(self) -> None:
        self._points: Iterator[Point] | None = None

    def propose(self, pool: Pool, tried: set[Key], best: Point | None) -> Point | None:
        """The next point that is still open."""
        if self._points is None:
            self._points = pool.in_order()
        return _next_open(self._points, pool, tried)

    def hear(self, pool: Pool, point: Point, outcome: Outcome) -> None:
        """Nothing changes its order."""


class Ranked:
    """The model's order, with a share of uniformly random points."""

    def __init__(self, seed: int, random_share: float = 0.2) -> None:
        self._rng = random.Random(seed)
        self._share = random_share
        self._points: Iterator[Point] | None = None

    def propose(self, pool: Pool, tried: set[Key], best: Point | None) -> Point | None:
        """The most promising open point, or now and then any."""
        if self._points is None:
            self._points = pool.by_model()
        if self._rng.random() < self._share:
            found = pool.any(self._rng)
            if found is not None and found.key not in tried:
                return found
        return _next_open(self._points, pool, tried)

    def hear(self, pool: Pool, point: Point, outcome: Outcome) -> None:
        """The model is not taught."""


class Climbing:
    """After a start, every other proposal is a neighbour of the incumbent."""

    def __init__(self, first: Strategy, seed: int, start: int = 8) -> None:
        self._first = first
        self._rng = random.Random(seed)
        self._left = start
        self._turn = False

    def propose(self, pool: Pool, tried: set[Key], best: Point | None) -> Point | None:
        """A neighbour of the incumbent where one is open and it is its turn; else what `first` says."""
        self._left -= 1
        self._turn = not self._turn
        if best is not None and self._left < 0 and self._turn:
            near = [p for p in pool.around(best) if p.key not in tried]
            if near:
                return self._rng.choice(near)
        found = self._first.propose(pool, tried, best)
        if found is None and best is not None:
            return next((p for p in pool.around(best) if p.key not in tried), None)
        return found

    def hear(self, pool: Pool, point: Point, outcome: Outcome) -> None:
        """Pass it on: the incumbent, next to which it looks, comes with every question."""
        self._first.hear(pool, point, outcome)


class Halving:
    """Successive halving across families: few trials for each, twice as many for the better half, until one is left.

    Families compete in brackets of `width`, those that the model likes best first. A family's trials are its most
    likely points, and from its second round on also neighbours of its own fastest. A family whose candidates were
    all dropped, for their bounds are above the incumbent, is out at once, and its trials go to the others; that is
    the only way to be out for good: behind the last bracket another strategy goes on with all that is left.

    Source: Jamieson and Talwalkar, "Non-stochastic best arm identification", AISTATS 2016.
    """

    def __init__(self, then: Strategy, seed: int, start: int = 2, width: int = 8) -> None:
        self._then = then
        self._rng = random.Random(seed)
        self._start, self._width = start, width
        self._waiting: list[str] | None = None
        self._round: list[str] = []
        """Families of the present bracket that have not lost."""
        self._each = 0
        """Trials that each of them has in this round."""
        self._used: dict[str, int] = {}
        self._fastest: dict[str, tuple[float, Point]] = {}
        self._ranked: dict[str, Iterator[Point]] = {}

    def propose(self, pool: Pool, tried: set[Key], best: Point | None) -> Point | None:
        """A point of the family whose turn it is; None when no family has any left."""
        if self._waiting is None:
            likely = sorted((e for e in pool.entrants if e.sizes), key=lambda e: (e.sizes[0][0], e.later))
            self._waiting = list(dict.fromkeys(e.verified.candidate.family.id for e in likely))
            self._ranked = {family: pool.by_model(family) for family in self._waiting}
        while True:
            alive = {e.verified.candidate.family.id for e in pool.entrants}
            self._round = [f for f in self._round if f in alive]
            unspent = [f for f in self._round if self._used[f] < self._each]
            if not unspent:
                if not self._next_round(alive, self._waiting):
                    return self._then.propose(pool, tried, best)
                continue
            family = min(unspent, key=lambda f: self._used[f])
            point = self._of_family(family, pool, tried)
            if point is not None:
                self._used[family] += 1
                return point
            self._used[family] = self._each  # it has no other points

    def hear(self, pool: Pool, point: Point, outcome: Outcome) -> None:
        """Remember the fastest of its family, and pass it on."""
        family = point.verified.candidate.family.id
        if isinstance(outcome, Timed) and outcome.time_s < self._fastest.get(family, (math.inf, point))[0]:
            self._fastest[family] = outcome.time_s, point
        self._then.hear(pool, point, outcome)

    def _next_round(self, alive: Collection[str], waiting: list[str]) -> bool:
        """The better half goes on with twice the trials; behind a bracket's last round begins the next bracket."""
        if len(self._round) > 1:
            order = sorted(self._round, key=lambda f: self._fastest[f][0] if f in self._fastest else math.inf)
            self._round, self._each = order[: math.ceil(len(order) / 2)], 2 * self._each
        else:
            entering = [f for f in waiting if f in alive][: self._width]
            waiting[:] = [f for f in waiting if f not in entering]
            self._round, self._each = [*self._round, *entering] if entering else [], self._start
        self._used = dict.fromkeys(self._round, 0)
        return bool(self._round)

    def _of_family(self, family: str, pool: Pool, tried: set[Key]) -> Point | None:
        if family in self._fastest and self._each > self._start and self._used[family] % 2 == 0:
            near = [p for p in pool.around(self._fastest[family][1]) if p.key not in tried]
            if near:
                return self._rng.choice(near)
        return _next_open(self._ranked[family], pool, tried)


class Recalled:
    """Points that were good before, then what another strategy says."""

    def __init__(self, points: Sequence[Point], then: Strategy) -> None:
        self._points = iter(points)
        self._then = then

    def propose(self, pool: Pool, tried: set[Key], best: Point | None) -> Point | None:
        """The next of the points that is still open; behind them, what the other strategy proposes."""
        return _next_open(self._points, pool, tried) or self._then.propose(pool, tried, best)

    def hear(self, pool: Pool, point: Point, outcome: Outcome) -> None:
        """Pass it on."""
        self._then.hear(pool, point, outcome)


def _next_open(points: Iterator[Point], pool: Pool, tried: set[Key]) -> Point | None:
    for point in points:
        if point.key not in tried and any(e.verified is point.verified for e in pool.entrants):
            return point
    return None
