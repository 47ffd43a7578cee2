"""One thread pulls a search; stepping, pausing and cancelling lose nothing."""

import asyncio
import gc
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from prism_explore.session.engine import Engine, Job, wait

pytestmark = pytest.mark.serial


class Counter:
    """A search that counts, slowly enough to be caught in the act."""

    def __init__(self, end=10**9, pause_s=0.0):
        self.end, self.pause_s = end, pause_s
        self.count = 0
        self.threads = set()
        self.opened = 0

    def open(self):
        self.opened += 1
        while self.count < self.end:
            self.threads.add(threading.get_ident())
            self.count += 1
            time.sleep(self.pause_s)
            yield


@pytest.fixture
def engine_of():
    made = []

    def make(search, changed=lambda: None):
        engine = Engine(search.open, changed)
        made.append(engine)
        return engine

    yield make
    for engine in made:
        engine.close(lambda: None)


def run_cell(cell):
    """Run a coroutine as a notebook does, on a loop of its own: another test may have left one running here."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(lambda: asyncio.run(cell)).result()


def until(condition, timeout_s=5.0):
    end = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < end, "waited too long"
        time.sleep(0.002)


def test_pulling_stops_as_soon_as_it_is_enough(engine_of):
    search = Counter()
    engine = engine_of(search)

    wait(engine.advance(lambda: search.count >= 3))

    assert (3, "paused") == (search.count, engine.state)


def test_all_work_happens_on_one_thread_that_is_not_the_callers(engine_of):
    search = Counter()
    engine = engine_of(search)

    for n in (1, 2, 3):
        wait(engine.advance(lambda n=n: search.count >= n))

    assert 1 == len(search.threads)
    assert threading.get_ident() not in search.threads


def test_a_search_that_ends_is_finished_and_pulling_again_returns_at_once(engine_of):
    search = Counter(end=5)
    engine = engine_of(search)

    wait(engine.advance(lambda: False))
    wait(engine.advance(lambda: False))

    assert (5, "finished") == (search.count, engine.state)


def test_pause_and_resume_lose_no_step(engine_of):
    search = Counter(pause_s=0.001)
    engine = engine_of(search)
    job = Job(engine, engine.advance(lambda: False), lambda: engine.advance(lambda: False))
    until(lambda: search.count > 3)

    job.pause()
    until(lambda: job.done)
    held = search.count
    time.sleep(0.02)

    assert (held, "paused") == (search.count, engine.state)
    job.resume()
    until(lambda: search.count > held)
    job.cancel()
    until(lambda: engine.state == "cancelled")
    assert 1 == search.opened


def test_cancelling_before_the_first_step_ends_the_search(engine_of):
    engine = engine_of(Counter())

    engine.cancel()

    assert "cancelled" == engine.state
    assert engine.advance(lambda: False).done()


def test_a_finished_search_that_is_reopened_goes_on(engine_of):
    search = Counter(end=2)
    engine = engine_of(search)
    wait(engine.advance(lambda: False))

    search.end = 4
    engine.reopen()
    wait(engine.advance(lambda: False))

    assert (4, "finished", 2) == (search.count, engine.state, search.opened)


def test_what_the_search_raises_reaches_the_caller_and_a_panic_does_not_kill_the_thread_silently(engine_of):
    class Panic(BaseException):
        pass

    class Broken(Counter):
        def open(self):
            yield
            raise Panic("library fell over")

    engine = engine_of(Broken())

    with pytest.raises(Panic, match="fell over"):
        wait(engine.advance(lambda: False))
    assert "failed" == engine.state
    assert isinstance(engine.failure, Panic)


def test_a_job_can_be_awaited_while_the_loop_lives(engine_of):
    search = Counter(end=20, pause_s=0.005)
    engine = engine_of(search)
    ticks = 0

    async def cell():
        nonlocal ticks
        job = Job(engine, engine.advance(lambda: False), lambda: engine.advance(lambda: False))

        async def tick():
            nonlocal ticks
            while not job.done:
                ticks += 1
                await asyncio.sleep(0.01)

        await asyncio.gather(tick(), job)

    run_cell(cell())

    assert 20 == search.count
    assert ticks > 2


def test_a_cell_that_is_interrupted_while_awaiting_pauses_the_search(engine_of):
    search = Counter(pause_s=0.001)
    engine = engine_of(search)

    async def cell():
        job = Job(engine, engine.advance(lambda: False), lambda: engine.advance(lambda: False))

        async def waiting():
            await job

        task = asyncio.create_task(waiting())
        await asyncio.sleep(0.05)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    run_cell(cell())
    until(lambda: engine.state == "paused")


def test_every_change_of_state_is_told(engine_of):
    heard = []
    search = Counter(end=1)
    engine = engine_of(search, lambda: heard.append(engine.state))

    wait(engine.advance(lambda: False))

    assert ["running", "finished"] == heard


def test_a_cancel_is_not_undone_by_a_pull_that_comes_right_behind_it(engine_of):
    search = Counter(pause_s=0.001)
    engine = engine_of(search)
    engine.advance(lambda: False)
    until(lambda: search.count > 3)

    engine.cancel()
    wait(engine.advance(lambda: False), 5)

    assert "cancelled" == engine.state


def test_pulling_after_closing_returns_and_does_not_hang(engine_of):
    search = Counter()
    engine = engine_of(search)
    wait(engine.advance(lambda: True))

    engine.close(lambda: None)

    assert wait(engine.advance(lambda: False), 5)
    assert (1, "cancelled") == (search.count, engine.state)


def test_closing_ends_a_paused_search(engine_of):
    ended = threading.Event()

    class Holding(Counter):
        def open(self):
            try:
                yield from super().open()
            finally:
                ended.set()

    engine = engine_of(Holding())
    wait(engine.advance(lambda: True))
    engine.close(lambda: None)

    assert ended.wait(5)


def test_an_idle_thread_ends_and_the_next_command_goes_on(engine_of, monkeypatch):
    monkeypatch.setattr("prism_explore.session.engine.IDLE_S", 0.01)
    search = Counter()
    engine = engine_of(search)
    wait(engine.advance(lambda: True))
    until(lambda: not any(t.ident in search.threads for t in threading.enumerate()))

    wait(engine.advance(lambda: True))

    assert (2, 1) == (search.count, search.opened)


def test_a_paused_search_that_nobody_holds_is_ended(monkeypatch):
    monkeypatch.setattr("prism_explore.session.engine.IDLE_S", 0.01)
    ended = threading.Event()

    def search():
        try:
            while True:
                yield
        finally:
            ended.set()

    engine = Engine(search, lambda: None)
    wait(engine.advance(lambda: True))
    del engine

    def is_ended():
        gc.collect()
        return ended.is_set()

    until(is_ended)
