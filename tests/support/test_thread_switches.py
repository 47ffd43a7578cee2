"""Threads take turns quickly inside a block, and as before after it."""

from __future__ import annotations

import pytest

from prism_explore.support import thread_switches
from prism_explore.support.thread_switches import INTERVAL_S, UNINTERRUPTED_S, quick_switches, uninterrupted


class Interpreter:
    """Has a switch interval of its own, because other tests can have an explorer open."""

    def __init__(self, interval_s: float) -> None:
        self.interval_s = interval_s

    def getswitchinterval(self) -> float:
        return self.interval_s

    def setswitchinterval(self, interval_s: float) -> None:
        self.interval_s = interval_s


@pytest.fixture
def interpreter(monkeypatch: pytest.MonkeyPatch) -> Interpreter:
    found = Interpreter(0.005)
    monkeypatch.setattr(thread_switches, "sys", found)
    monkeypatch.setattr(thread_switches, "_blocks", 0)
    return found


def test_the_last_of_several_blocks_restores_the_interval(interpreter: Interpreter) -> None:
    with quick_switches():
        with quick_switches():
            assert interpreter.interval_s == INTERVAL_S
        assert interpreter.interval_s == INTERVAL_S

    assert interpreter.interval_s == 0.005


def test_a_shorter_interval_is_kept(interpreter: Interpreter) -> None:
    interpreter.interval_s = 0.0001
    with quick_switches():
        assert interpreter.interval_s == 0.0001

    assert interpreter.interval_s == 0.0001


def test_what_a_user_sets_inside_a_block_is_kept(interpreter: Interpreter) -> None:
    with quick_switches():
        interpreter.interval_s = 0.002

    assert interpreter.interval_s == 0.002


@pytest.mark.parametrize("ends_first", [0, 1])
def test_what_a_user_waits_for_is_computed_without_switches_and_quick_ones_follow(
    interpreter: Interpreter, ends_first: int
) -> None:
    with quick_switches():
        blocks = [uninterrupted(), uninterrupted()]
        for block in blocks:
            block.__enter__()
        assert interpreter.interval_s == UNINTERRUPTED_S
        for block in blocks if ends_first == 0 else reversed(blocks):
            block.__exit__(None, None, None)

        assert interpreter.interval_s == INTERVAL_S
    assert interpreter.interval_s == 0.005
