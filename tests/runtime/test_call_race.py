"""Races in which each call of a user is one turn: who runs, what is counted, and when it is over."""

from itertools import pairwise

from prism_explore.runtime.call_race import FEW_ROUNDS, LEAST_ROUNDS, ROUNDS, CallRace


def raced(seconds, calls=200):
    race, ran = CallRace(tuple(seconds)), []
    for _ in range(calls):
        if race.is_over:
            break
        ran.append(race.turn())
        race.took(ran[-1], seconds[ran[-1]])
    return race, ran


def test_ways_take_turns_and_the_first_turn_of_each_is_not_counted():
    race, ran = raced({"a": 1e-3, "b": 1.5e-3})

    assert {ROUNDS} == {len(times) for times in race.times.values()}
    assert 2 * (ROUNDS + 1) == len(ran)
    assert all(a != b for a, b in pairwise(ran))


def test_slow_calls_have_fewer_turns_and_a_way_that_is_far_slower_is_left_out():
    race, ran = raced({"a": 0.1, "b": 0.15, "c": 0.3})

    assert race.is_over
    assert {"a": LEAST_ROUNDS, "b": LEAST_ROUNDS, "c": FEW_ROUNDS} == {w: len(t) for w, t in race.times.items()}
    assert FEW_ROUNDS + 1 == ran.count("c")


def test_the_best_two_stay_so_that_the_noise_between_them_is_known():
    race, _ = raced({"a": 0.1, "b": 0.3, "c": 0.4})

    assert {"a": LEAST_ROUNDS, "b": LEAST_ROUNDS, "c": FEW_ROUNDS} == {w: len(t) for w, t in race.times.items()}


def test_a_disturbed_round_leaves_out_no_way():
    race = CallRace(("a", "b", "c"))
    for number in range(3 * (FEW_ROUNDS + 1)):
        way = race.turn()
        race.took(way, {"a": 0.01, "b": 0.015, "c": 0.03}[way] * (2 if number == 5 else 1))

    assert {"a", "b", "c"} == set(race.running)


def test_a_way_that_fails_is_left_out():
    race = CallRace(("a", "b", "c"))
    race.fail("b")
    assert {"a", "c"} == {race.turn() for _ in range(6)}
    assert not race.is_over
    race.fail("c")
    assert race.is_over
    assert CallRace(("a",)).is_over
