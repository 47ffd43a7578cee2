"""Jobs beside the caller: in order, one at a time, ended with the process, and none in a forked process."""

import os
import subprocess
import sys
import threading

import pytest

from prism_explore.support.background import Background


def test_jobs_run_one_after_another_and_a_failure_is_kept():
    done, running = [], threading.Lock()
    jobs = Background("test")

    def job(n):
        assert running.acquire(blocking=False)
        done.append(n)
        running.release()
        if n == 1:
            raise KeyError("one")

    for n in range(3):
        jobs(lambda n=n: job(n))

    assert jobs.wait(10)
    assert [0, 1, 2] == done
    assert isinstance(jobs.last_failure, KeyError)


def test_stop_drops_what_has_not_begun_and_tells_what_runs():
    jobs, begun, done = Background("test"), threading.Event(), []

    def first():
        begun.set()
        while not jobs.is_stopped:
            pass
        done.append("first")

    jobs(first)
    jobs(lambda: done.append("second"))
    assert begun.wait(10)
    jobs.stop()
    jobs(lambda: done.append("third"))

    assert jobs.wait(10)
    assert ["first"] == done


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_forked_process_has_no_job_of_its_parent_and_runs_its_own():
    jobs, end = Background("test"), threading.Event()
    jobs(lambda: end.wait(10))
    pid = os.fork()
    if pid == 0:
        done = []
        jobs(lambda: done.append(1))
        os._exit(0 if jobs.wait(5) and done == [1] else 1)
    _, status = os.waitpid(pid, 0)
    end.set()

    assert 0 == status
    assert jobs.wait(10)


def test_a_process_ends_while_a_job_runs():
    code = """
import threading
from prism_explore.support.background import Background
jobs, begun = Background("test"), threading.Event()
def job():
    begun.set()
    while not jobs.is_stopped:
        pass
    print("ended")
jobs(job)
jobs(lambda: print("second"))
begun.wait()
"""
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert "ended\n" == ran.stdout
