"""Work that is done once it is worth it: what is free, what has to be earned, what is forgotten, and threads."""

import pytest

from prism_explore.support.earned_work import EarnedWork, Waiting


class Clock:
    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now

    def takes(self, seconds, value):
        def make():
            self.now += seconds
            return value

        return make


def test_the_first_values_are_made_at_once_and_others_when_what_runs_instead_took_as_long():
    clock = Clock()
    table = EarnedWork(most=8, free=1, first_s=1.0, clock=clock)

    assert "a" == table.find("a", clock.takes(3.0, "a"))
    assert Waiting(0.0, 3.0) == table.find("b", clock.takes(2.0, "b"))
    table.spent("b", 2.5)
    assert Waiting(2.5, 3.0) == table.find("b", clock.takes(2.0, "b"))
    table.spent("b", 0.5)
    assert "b" == table.find("b", clock.takes(2.0, "b"))
    assert Waiting(0.0, 2.0) == table.find("c", clock.takes(2.0, "c"))
    assert ("a", "b") == table.values


def test_what_may_not_be_free_is_earned_also_when_nothing_was_made_yet():
    table = EarnedWork(most=8, free=5, first_s=1.0)

    assert isinstance(table.find("a", lambda: "a", may_be_free=False), Waiting)
    table.spent("a", 1.0)
    assert "a" == table.find("a", lambda: "a", may_be_free=False)


def test_what_was_not_used_for_longest_is_forgotten_and_has_to_be_earned_again():
    clock = Clock()
    table = EarnedWork(most=2, free=3, first_s=1.0, clock=clock)
    for key in "abac":
        table.find(key, clock.takes(1.0, key))

    assert ("a", "c") == table.values
    assert isinstance(table.find("b", clock.takes(1.0, "b")), Waiting)


def test_a_failure_is_the_caller_s_and_counts_as_work():
    clock = Clock()
    table = EarnedWork(most=2, free=1, first_s=1.0, clock=clock)

    def fails():
        clock.now += 2.0
        raise KeyError("no")

    with pytest.raises(KeyError):
        table.find("a", fails)
    assert Waiting(0.0, 2.0) == table.find("a", lambda: "a")


def test_what_is_made_later_is_waited_for_by_nobody_and_started_once():
    jobs, made = [], []
    table = EarnedWork(most=4, free=2, first_s=1.0, start=jobs.append)
    for key in "aabc":
        found = table.find(key, lambda key=key: made.append(key) or key)
        assert isinstance(found, Waiting)
        assert (key != "c") == found.is_being_made

    assert ("a", "b") == table.being_made
    for job in jobs:
        job()
    assert ["a", "b"] == made == [table.find(key, pytest.fail) for key in "ab"]
    assert () == table.being_made


def test_a_forked_process_makes_what_no_thread_makes_there():
    table = EarnedWork(most=4, free=2, first_s=1.0, start=lambda job: None)
    table.find("a", lambda: "a")
    table.after_fork()

    assert () == table.being_made
    assert table.find("a", lambda: "a").is_being_made
