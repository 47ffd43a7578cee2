"""Searches beside one another: sessions in threads, one session used by threads, processes that share a database."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from prism_explore.events.kinds import Event
from prism_explore.tune.database import Database
from tests.session.test_autosave import session


def alone() -> tuple[Event, ...]:
    with session() as sess:
        sess.run()
        return sess.journal.events


def test_sessions_in_two_threads_have_the_events_of_one_alone() -> None:
    expected = alone()
    with ThreadPoolExecutor(2) as pool:
        assert [expected] * 4 == [f.result() for f in [pool.submit(alone) for _ in range(4)]]


def test_one_session_stepped_by_two_threads_has_the_same_events_each_once() -> None:
    expected = alone()
    with session() as sess, ThreadPoolExecutor(2) as pool:
        for stepped in [pool.submit(sess.step) for _ in range(8)]:
            stepped.result()
        assert sess.journal.events == expected[: len(sess.journal)]
        for ended in [pool.submit(sess.run) for _ in range(2)]:
            ended.result()

        assert sess.journal.events == expected


def test_two_processes_tune_with_one_database_and_lose_no_trial(tmp_path: Path) -> None:
    path = tmp_path / "trials.sqlite"
    code = (
        "import sys\n"
        "from tests.tune.test_database import Database, run, split, fused\n"
        "print(len(run(Database(sys.argv[1]), fused() if sys.argv[2] == '0' else split())))\n"
    )
    root = Path(__file__).parents[2]
    commands = [[sys.executable, "-c", code, str(path), str(n)] for n in range(2)]
    started = [subprocess.Popen(command, cwd=root, stdout=subprocess.PIPE, text=True) for command in commands]
    tried = [int(process.communicate(timeout=120)[0]) for process in started]

    assert min(tried) > 0
    assert [sum(tried)] == [group.timed + group.failed for group in Database(path).contents()]
