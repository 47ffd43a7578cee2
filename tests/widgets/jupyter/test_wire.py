"""The wire: nothing is lost for long, no message is too large, none comes too soon, one thread sends."""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prism_explore.support.thread_switches import UNINTERRUPTED_S
from prism_explore.widgets.jupyter.wire import MESSAGE_BYTES, PERIOD_S, Outbox, Publisher, RenderRequest, split_section

Message = dict[str, Any]


class Browser:
    """The other end, as wire.ts is: takes a message if it has what must come before, else asks."""

    def __init__(self) -> None:
        self.have = 0
        self.sections: dict[str, Any] = {}
        self.parts: dict[str, list[str | None]] = {}

    def receive(self, message: Message) -> bool:
        if self.have < message["after"]:
            return False
        self.have = message["seq"]
        for section, index, of, text in message["chunks"]:
            if index == 0:
                self.parts[section] = [None] * of
            self.parts[section][index] = text
            if None not in self.parts[section]:
                self.sections[section] = json.loads("".join(str(p) for p in self.parts[section]))
        return True


def size(message: Message) -> int:
    return len(json.dumps(message, ensure_ascii=False).encode("utf-8", "surrogatepass"))


# ---------------------------------------------------------------- the outbox
def test_only_what_changed_is_sent() -> None:
    outbox = Outbox()
    outbox.messages(outbox.store({"a": 1, "b": [2]}))

    assert outbox.store({"a": 1, "b": [2]}) == ()
    assert outbox.store({"a": 1, "b": [3]}) == ("b",)


def test_a_message_says_its_number_and_what_must_come_before() -> None:
    outbox = Outbox()
    first = outbox.messages(outbox.store({"a": 1}))
    second = outbox.messages(outbox.store({"a": 2}))

    assert [(1, 0)] == [(m["seq"], m["after"]) for m in first]
    assert [(2, 1)] == [(m["seq"], m["after"]) for m in second]


def test_what_a_browser_lacks_is_what_changed_since() -> None:
    outbox = Outbox()
    outbox.messages(outbox.store({"a": 1, "b": 1}))
    outbox.messages(outbox.store({"a": 2, "b": 1}))

    assert outbox.since(0) == ("a", "b")
    assert outbox.since(1) == ("a",)
    assert outbox.since(2) == ()


def test_a_browser_from_another_life_gets_everything() -> None:
    outbox = Outbox()
    outbox.messages(outbox.store({"a": 1}))

    assert outbox.since(50) == ("a",)


def test_small_sections_share_a_message() -> None:
    outbox = Outbox()

    assert len(outbox.messages(outbox.store({str(i): i for i in range(50)}))) == 1


@given(st.text(max_size=4000), st.integers(900, 3000))
def test_no_message_is_larger_than_the_limit(text: str, limit: int) -> None:
    outbox = Outbox(limit=limit)
    browser = Browser()
    for message in outbox.messages(outbox.store({"a": text, "b": text[::-1], "c": 1})):
        assert size(message) <= limit
        assert browser.receive(message)

    assert browser.sections == {"a": text, "b": text[::-1], "c": 1}


def test_a_long_section_is_cut_at_the_real_limit() -> None:
    text = json.dumps('é"\\' * 200_000)
    chunks = split_section("map", text)

    assert len(chunks) > 1
    assert "".join(p.text for p in chunks) == text
    assert all(p.size < MESSAGE_BYTES for p in chunks)


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 9), st.booleans()), max_size=30))
def test_whatever_is_dropped_a_browser_that_asks_catches_up(steps: list[tuple[str, int, bool]]) -> None:
    outbox, browser = Outbox(), Browser()
    now: dict[str, int] = {}
    for section, value, arrives in steps:
        now[section] = value
        for message in outbox.messages(outbox.store(now)):
            if arrives and not browser.receive(message):
                for again in outbox.messages(outbox.since(browser.have), browser.have):
                    assert browser.receive(again)
                assert browser.sections == now
    for message in outbox.messages(outbox.since(browser.have), browser.have):
        assert browser.receive(message)

    assert browser.sections == now


def test_the_kept_picture_leaves_out_what_does_not_fit_and_says_so() -> None:
    outbox = Outbox()
    outbox.messages(outbox.store({"small": "x", "large": "x" * 5000, "last": "y"}))
    kept = outbox.snapshot(limit=1000)

    assert {"small": '"x"', "last": '"y"'} == kept["texts"]
    assert ["large"] == kept["left_out"]
    assert kept["seq"] == 1


# ---------------------------------------------------------------- the publisher
class Wire:
    """Collects what is sent, and on which thread, and when."""

    def __init__(self) -> None:
        self.sections: dict[str, Any] = {"a": 0}
        self.sent: list[Message] = []
        self.threads: set[int] = set()
        self.at: list[float] = []
        self.kept: list[Message] = []
        self.extents: list[str] = []

    def render(self, request: RenderRequest) -> dict[str, Any] | None:
        self.extents.append(request.extent)
        self.threads.add(threading.get_ident())
        return dict(self.sections)

    def send(self, message: Message) -> None:
        self.threads.add(threading.get_ident())
        self.sent.append(message)
        self.at.append(time.monotonic())


def until(true: Callable[[], bool], patience_s: float = 5.0) -> None:
    deadline = time.monotonic() + patience_s
    while not true():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.005)


@pytest.fixture
def wire() -> Wire:
    return Wire()


def publisher(wire: Wire, **more: Any) -> Publisher:
    return Publisher(wire.render, wire.send, wire.kept.append, **more)


def test_nobody_looks_so_nothing_is_computed(wire: Wire) -> None:
    p = publisher(wire)
    p.notify()
    time.sleep(0.05)
    p.close()

    assert wire.threads == set()


def test_one_thread_computes_and_sends(wire: Wire) -> None:
    p = publisher(wire, period_s=0.001)
    p.start()
    wire.threads.clear()  # the first picture is computed where it is asked for, before the thread begins
    p.hello(1)
    for i in range(20):
        wire.sections["a"] = i + 1
        threading.Thread(target=p.notify).start()
        time.sleep(0.002)
    until(lambda: any("20" in str(m["chunks"]) for m in wire.sent))
    p.close()

    assert len(wire.threads) == 1
    assert threading.get_ident() not in wire.threads


def test_marks_and_hellos_return_at_once_while_a_picture_is_computed(wire: Wire) -> None:
    free = threading.Event()
    p = publisher(wire, period_s=0.001)
    p.start()
    wire.render = lambda _: (free.wait(5), {"a": 1})[1]  # type: ignore[method-assign]
    p._render = wire.render  # type: ignore[attr-defined]
    p.hello(0)
    time.sleep(0.05)
    began = time.monotonic()
    for _ in range(1000):
        p.notify()
        p.hello(0)
        p.reply({"event_id": "x", "ok": True})
    took = time.monotonic() - began
    free.set()
    p.close()

    assert took < 1.0


def test_at_most_ten_messages_a_second(wire: Wire) -> None:
    p = publisher(wire)
    p.start()
    p.hello(0)
    deadline = time.monotonic() + 1.0
    while time.monotonic() < deadline:
        wire.sections["a"] += 1
        p.notify()
        time.sleep(0.002)
    p.close()

    assert 2 <= len(wire.at) <= 11
    assert all(b - a > 0.9 * PERIOD_S for a, b in zip(wire.at, wire.at[1:], strict=False))


def test_publishing_takes_a_fifth_of_the_time_at_most(wire: Wire) -> None:
    def slow(_: RenderRequest) -> dict[str, Any]:
        time.sleep(0.05)
        return {"a": time.monotonic()}

    p = Publisher(slow, wire.send, period_s=0.0)
    p.start()
    deadline = time.monotonic() + 1.0
    while time.monotonic() < deadline:
        p.notify()
        time.sleep(0.005)
    p.close()

    assert 1 <= len(wire.at) <= 5


@pytest.mark.parametrize(
    "request_of_a_user",
    [
        lambda p: p.reply({"event_id": "x", "ok": True}),
        lambda p: p.hello(1),
        lambda p: p.notify_awaited(),
    ],
    ids=["reply", "hello", "look"],
)
def test_what_a_user_waits_for_is_sent_without_a_delay(
    wire: Wire, request_of_a_user: Callable[[Publisher], None]
) -> None:
    p = publisher(wire, period_s=600.0)
    p.hello(0)
    until(lambda: len(wire.sent) == 1)
    wire.sections["a"] += 1
    p.notify()
    time.sleep(0.05)
    assert len(wire.sent) == 1, "without a user the period is kept"

    request_of_a_user(p)
    until(lambda: len(wire.sent) == 2)
    p.close()


def test_replies_travel_with_the_next_message(wire: Wire) -> None:
    p = publisher(wire, period_s=0.001)
    p.start()
    p.reply({"event_id": "c1", "ok": True, "python": "sess.step()"})
    until(lambda: bool(wire.sent))
    p.close()

    assert [{"event_id": "c1", "ok": True, "python": "sess.step()"}] == wire.sent[0]["replies"]
    assert wire.sent[0]["chunks"] == []


def test_a_second_page_gets_everything_and_the_first_one_loses_nothing(wire: Wire) -> None:
    p = publisher(wire, period_s=0.001)
    first, second = Browser(), Browser()
    p.hello(0)
    until(lambda: len(wire.sent) >= 1)
    wire.sections["a"] = 5
    p.notify()
    until(lambda: len(wire.sent) >= 2)
    p.hello(0)
    until(lambda: len(wire.sent) >= 3)
    p.close()
    assert all(first.receive(m) for m in wire.sent)
    assert not second.receive(wire.sent[1]) or second.have
    assert second.receive(wire.sent[2])

    assert first.sections == second.sections == {"a": 5, "error": None}


def test_a_section_that_cannot_be_computed_is_told_and_publishing_goes_on(
    wire: Wire, caplog: pytest.LogCaptureFixture
) -> None:
    p = publisher(wire, period_s=0.001)
    p.start()
    wire.sections["a"] = object()
    p._render = lambda _: 1 / 0  # type: ignore[attr-defined, assignment, return-value]
    p.hello(0)
    until(lambda: any("ZeroDivisionError" in str(m["chunks"]) for m in wire.sent))
    p._render = lambda _: {"a": "better"}  # type: ignore[attr-defined]
    p.notify()
    until(lambda: any("better" in str(m["chunks"]) for m in wire.sent))
    p.close()

    assert "a section could not be computed" in caplog.text


def test_the_picture_is_kept_once_it_has_settled(wire: Wire) -> None:
    p = publisher(wire, period_s=0.001, idle_s=0.05)
    p.start()
    assert len(wire.kept) == 1
    assert wire.kept[0]["seq"] == 1
    wire.sections["a"] = 9
    p.notify()
    until(lambda: len(wire.kept) == 2)
    p.close()

    assert wire.kept[1]["texts"]["a"] == "9"


def test_what_is_not_shown_is_computed_at_the_start_and_when_nothing_else_happens(wire: Wire) -> None:
    p = publisher(wire, period_s=0.001, idle_s=0.05)
    p.start()
    for _ in range(3):
        wire.sections["a"] += 1
        p.notify_awaited()
        time.sleep(0.01)
    busy = list(wire.extents)
    until(lambda: len(wire.kept) == 2)
    p.close()

    assert busy[0] == "all" and len(busy) > 1 and "all" not in busy[1:]
    assert wire.extents[-1] == "all"


def test_what_a_user_waits_for_stops_a_rendering_and_is_followed_by_what_is_new(wire: Wire) -> None:
    began, stopped = threading.Event(), threading.Event()

    def render(request: RenderRequest) -> dict[str, Any] | None:
        if request.extent == "shown" and not stopped.is_set():
            began.set()
            until(request.is_stopped)
            stopped.set()
            return None
        return wire.render(request)

    p = Publisher(render, wire.send, period_s=0.001)
    p.start()
    p.notify()
    assert began.wait(5)
    wire.sections["a"] = 1
    p.reply({"event_id": "c1", "ok": True})
    until(lambda: len(wire.extents) == 3)
    p.close()

    assert wire.extents == ["all", "asked", "shown"]
    assert [len(m["replies"]) for m in wire.sent] == [1]


def test_only_what_a_user_waits_for_is_rendered_without_switches_of_threads(wire: Wire) -> None:
    intervals_s: dict[str, float] = {}

    def render(request: RenderRequest) -> dict[str, Any] | None:
        intervals_s[request.extent] = sys.getswitchinterval()
        return wire.render(request)

    p = Publisher(render, wire.send, period_s=0.001)
    p.start()
    p.notify_awaited()
    until(lambda: len(intervals_s) == 3)
    p.close()

    assert intervals_s["asked"] == pytest.approx(UNINTERRUPTED_S)
    assert max(intervals_s["shown"], intervals_s["all"]) < UNINTERRUPTED_S / 2


def test_a_picture_that_browsers_wait_for_is_sent_before_they_ask(wire: Wire) -> None:
    p = publisher(wire)
    p.start(send_all=True)
    late, early = Browser(), Browser()
    assert all(early.receive(message) for message in wire.sent)
    p.hello(0)
    until(lambda: len(wire.sent) == 2)
    p.close()

    assert late.receive(wire.sent[-1])
    assert late.sections == early.sections and late.sections["a"] == 0
    assert wire.kept[0]["seq"] == early.have


def test_the_same_object_is_not_written_again(monkeypatch: pytest.MonkeyPatch) -> None:
    outbox = Outbox()
    payload = {"rows": [1, 2, 3]}
    outbox.store({"a": payload})
    monkeypatch.setattr(json, "dumps", lambda *_, **__: 1 / 0)

    assert outbox.store({"a": payload}) == ()


def test_a_closed_publisher_sends_no_more(wire: Wire) -> None:
    p = publisher(wire, period_s=0.001)
    p.start()
    p.close()
    p.hello(0)
    p.notify()
    time.sleep(0.05)

    assert wire.sent == []
