"""Strategies: deterministic, seeded, and exhaustive in the end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise

from prism_explore.pipeline.stages import Infeasible, Kernel, Outcome, Timed, Verified
from prism_explore.tune.space.pool import Key, Point, Pool
from prism_explore.tune.strategies.local_search import LocalSearch
from prism_explore.tune.strategies.ranked import Exhaustive, ModelOrder
from prism_explore.tune.strategies.strategy import Strategy
from prism_explore.tune.strategies.successive_halving import SuccessiveHalving
from tests.tune.toys import TOY, choices, fused, split


def pool(*verifieds: Verified, most_sizes: int = 1000) -> Pool:
    return Pool(verifieds or (fused(), split()), {"b": 4}, TOY, choices, most_sizes)


def drain(strategy: Strategy, there: Pool, most: int = 10_000, best: Point | None = None) -> list[Point]:
    tried: set[Key] = set()
    found: list[Point] = []
    while len(found) < most and (point := strategy.propose(there, tried, best)) is not None:
        assert point.key not in tried

        tried.add(point.key)
        found.append(point)
    return found


def test_the_pool_is_in_the_order_of_the_lower_bounds() -> None:
    tiny = TOY.replace(caches_bytes=(64,))
    there = Pool((split(), fused()), {"b": 64}, tiny, choices)

    assert ["f1.c1", "f3.c1"] == [e.verified.candidate.id for e in there.candidates]


def test_exhaustive_takes_every_point_once_in_a_stable_order() -> None:
    first, again = drain(Exhaustive(), pool()), drain(Exhaustive(), pool())

    assert [p.key for p in first] == [p.key for p in again]
    assert sum(3 * len(e.sizes) for e in pool().candidates) == len(first)


def test_every_strategy_gets_around_to_everything() -> None:
    everything = {p.key for p in drain(Exhaustive(), pool())}

    assert everything == {p.key for p in drain(ModelOrder(0), pool())}
    assert everything == {p.key for p in drain(LocalSearch(ModelOrder(0), 0), pool())}
    assert everything == {
        p.key for p in drain(LocalSearch(ModelOrder(0), 0), pool(), best=drain(Exhaustive(), pool())[3])
    }
    assert everything == {p.key for p in drain(halving(), pool())}


def test_without_chance_the_model_decides() -> None:
    found = drain(ModelOrder(0, random_share=0.0), pool())
    usual = found[: sum(len(e.sizes) for e in pool().candidates)]

    assert sorted(p.modelled_s for p in usual) == [p.modelled_s for p in usual]
    assert {(("behave", 0), ("unroll", 1))} == {p.parameters.schedule for p in usual}


def test_the_same_seed_proposes_the_same_and_another_one_does_not() -> None:
    def keys(seed: int) -> list[Key]:
        return [p.key for p in drain(ModelOrder(seed, random_share=0.5), pool(), 20)]

    assert keys(1) == keys(1)
    assert keys(1) != keys(2)


def test_a_share_of_the_proposals_is_random() -> None:
    ranked = [p.key for p in drain(ModelOrder(0, random_share=0.0), pool(), 20)]
    mixed = [p.key for p in drain(ModelOrder(0, random_share=0.3), pool(), 20)]

    assert 3 <= len(set(ranked) - set(mixed)) <= 17


def test_neighbours_differ_in_one_number() -> None:
    there = pool(fused())
    here = drain(Exhaustive(), there)[20]
    before = dict((*here.parameters.sizes, *here.parameters.schedule))
    near = list(there.neighbours(here))

    assert near
    for point in near:
        after = dict((*point.parameters.sizes, *point.parameters.schedule))

        assert 1 == sum(before[name] != after[name] for name in before)


def test_climbing_looks_around_the_incumbent_every_other_time() -> None:
    there = pool(fused())
    best = drain(Exhaustive(), there)[20]
    near = {p.key for p in there.neighbours(best)}
    found = drain(LocalSearch(Exhaustive(), 0, start=0), there, 6, best)

    assert 3 <= sum(p.key in near for p in found)


def test_what_was_dropped_is_not_proposed_any_more() -> None:
    there = pool()
    strategy = ModelOrder(0)
    tried: set[Key] = set()
    for _ in range(4):
        point = strategy.propose(there, tried, None)
        assert point is not None
        tried.add(point.key)
    (gone,) = [e for e in there.candidates if e.verified.candidate.id == "f1.c1"]
    there.drop(gone)
    rest = drain(strategy, there)

    assert rest
    assert {"f3.c1"} == {p.verified.candidate.id for p in rest}


def test_a_sampled_pool_is_not_complete() -> None:
    assert pool().is_complete
    assert not pool(most_sizes=3).is_complete
    assert 0 < len(pool(fused(), most_sizes=3).candidates[0].sizes) <= 3


def test_deferred_candidates_follow_equally_fast_ones_and_none_is_lost() -> None:
    there = Pool((fused(), fused(rows=True)), {"b": 4}, TOY, choices, deferred={"f1.c1"})
    found = drain(ModelOrder(0, random_share=0.0), there)[: sum(len(e.sizes) for e in there.candidates)]
    ties = [(p.modelled_s, q.modelled_s, p, q) for p, q in pairwise(found) if p.modelled_s == q.modelled_s]

    assert {("f2.c1", "f1.c1")} <= {(p.verified.candidate.id, q.verified.candidate.id) for _, _, p, q in ties}
    assert ("f1.c1", "f2.c1") not in {(p.verified.candidate.id, q.verified.candidate.id) for _, _, p, q in ties}
    for strategy in (Exhaustive(), ModelOrder(0), LocalSearch(ModelOrder(0), 0)):
        every = {p.key for p in drain(strategy, Pool((fused(), split()), {"b": 4}, TOY, choices, deferred={"f1.c1"}))}

        assert {p.key for p in drain(Exhaustive(), pool())} == every


def test_sizes_with_equal_modelled_times_follow_distinct_ones() -> None:
    there = Pool((fused(),), {"b": 4}, TOY, choices)
    entrant = there.candidates[0]
    close = tuple(
        (s * (1 + n * 1e-4), sizes) for n, (s, sizes) in enumerate([entrant.sizes[0]] * 3 + [entrant.sizes[-1]])
    )
    named = tuple((s, (*sizes, ("n", n))) for n, (s, sizes) in enumerate(close))
    there.candidates = [replace(entrant, rank=lambda: (named, True))]
    found = [p for p, _ in zip(there.in_model_order(), named, strict=False)]

    assert [0, 3, 1, 2] == [dict(p.parameters.sizes)["n"] for p in found]
    assert [p.modelled_s for p in found[:2]] == sorted(p.modelled_s for p in found[:2])


def test_candidates_are_ranked_when_the_modelled_times_come_to_their_bounds() -> None:
    slow = replace(fused(4096, 4096), candidate=replace(fused(4096, 4096).candidate, id="f2.c1"))
    there, every = (Pool((fused(), slow, split()), {"b": 4}, TOY, choices, 1000) for _ in range(2))
    points = there.in_model_order()
    first = next(points)
    ranked = {c.id for c in there.candidates if "ranked" in vars(c)}
    expected = sorted(
        (modelled_s, c.deferred, n, sizes) for n, c in enumerate(every.candidates) for modelled_s, sizes in c.sizes
    )
    found = list(dict.fromkeys((p.modelled_s, p.verified.candidate.id, p.parameters.sizes) for p in (first, *points)))

    assert "f2.c1" not in ranked
    assert first.verified.candidate.id in ranked
    assert sorted(found) == sorted((s, every.candidates[n].id, sizes) for s, _, n, sizes in expected)
    assert found[0][0] == expected[0][0]


# ---------------------------------------------------------------- across families
def halving(start: int = 2, width: int = 8) -> SuccessiveHalving:
    return SuccessiveHalving(ModelOrder(0, random_share=0.0), 0, start, width)


def named(name: str) -> Verified:
    """The fused kernel as one of another family; only their times differ here."""
    verified = fused()
    family = replace(verified.candidate.family, id=name)
    return replace(verified, candidate=replace(verified.candidate, id=f"{name}.c1", family=family))


def outcome(point: Point, time_s: float | None) -> Outcome:
    candidate = point.verified.candidate
    if time_s is None:
        return Infeasible(candidate, point.parameters, "tune.crash", "on request")
    return Timed(Kernel(point.verified, point.parameters, (), "cpu", ""), time_s, time_s, time_s, 1, 0.0, 0.0)


def spent(
    strategy: SuccessiveHalving,
    there: Pool,
    trials: int,
    seconds: Mapping[str, float | None],
    until: Mapping[str, int] | None = None,
) -> Counter[str]:
    """The number of trials of each family; a family of `until` is dropped after that many trials of all."""
    tried: set[Key] = set()
    found = Counter[str]()
    for number in range(trials):
        for family, last in (until or {}).items():
            for entrant in [e for e in there.candidates if e.verified.candidate.family.id == family and number == last]:
                there.drop(entrant)
        point = strategy.propose(there, tried, None)
        assert point is not None
        tried.add(point.key)
        family = point.verified.candidate.family.id
        found[family] += 1
        strategy.observe(there, point, outcome(point, seconds[family]))
    return found


FAMILIES = ("fa", "fb", "fc", "fd")
TIMES: Mapping[str, float | None] = {"fa": 4.0, "fb": 1.0, "fc": 3.0, "fd": 2.0}


def test_the_better_half_of_the_families_has_twice_the_trials_of_the_round_before() -> None:
    there = Pool([named(f) for f in FAMILIES], {"b": 4}, TOY, choices)

    assert {"fa": 2, "fb": 2, "fc": 2, "fd": 2} == spent(halving(), there, 8, TIMES)
    assert {"fa": 2, "fb": 6, "fc": 2, "fd": 6} == spent(halving(), there, 16, TIMES)
    assert {"fa": 2, "fb": 14, "fc": 2, "fd": 6} == spent(halving(), there, 24, TIMES)


def test_a_family_whose_bound_is_above_the_incumbent_is_stopped_and_its_trials_go_to_the_others() -> None:
    there = Pool([named(f) for f in FAMILIES], {"b": 4}, TOY, choices)

    assert {"fa": 2, "fb": 2, "fc": 6, "fd": 6} == spent(halving(), there, 16, TIMES, until={"fb": 8})


def test_a_family_that_only_fails_is_not_among_the_better_half() -> None:
    there = Pool([named(f) for f in FAMILIES], {"b": 4}, TOY, choices)
    found = spent(halving(), there, 16, {**TIMES, "fb": None, "fd": None})

    assert {"fa": 6, "fb": 2, "fc": 6, "fd": 2} == found


def test_families_beyond_the_width_of_a_bracket_meet_its_winner_in_the_next_one() -> None:
    there = Pool([named(f) for f in FAMILIES], {"b": 4}, TOY, choices)
    likely = [e.verified.candidate.family.id for e in there.candidates]
    first = spent(halving(width=2), there, 8, dict.fromkeys(FAMILIES, 1.0) | {likely[0]: 0.5})

    assert {likely[0]: 6, likely[1]: 2} == first
    both = spent(halving(width=2), there, 14, dict.fromkeys(FAMILIES, 1.0) | {likely[0]: 0.5})

    assert {likely[0]: 8, likely[1]: 2, likely[2]: 2, likely[3]: 2} == both
