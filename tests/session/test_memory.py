"""A closed or dropped session gives its memory back, and many sessions in one process need no more than a few.

Each test measures a process of its own; `benchmarks/long_life.py` measures a hundred whole searches. A session over
torch code is not measured a hundred times: `torch.export` keeps about 0.3 MB for good per function that it traced, in
guards that torch registers for every object it looked at.
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent

HEAD = """
import ctypes, gc, json, time
from pathlib import Path
import torch
import prism_explore as px
from prism_explore.support import caches
from tests.session.test_session import machine, rmsnorm_linear

def resident_mb():
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)  # glibc keeps freed memory; what is measured is what Python still holds
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096 / 1e6

def closed(sess):
    sess.close()
    while caches.open_leases():  # the engine's thread ends its step first
        time.sleep(0.01)
"""

ONE_SEARCH = """
def search():
    shapes = {"x": px.T("b", 64), "g": px.T(64), "w": px.T(64, 96)}
    budget = px.Budget(trials=2, seconds=2)
    sess = px.Session(rmsnorm_linear, **shapes, target=machine(), at={"b": 5}, budget=budget, baselines=())
    sess.best()
    sess.text("families")
    open_mb = resident_mb()
    closed(sess)
    return open_mb

search()
before_mb = resident_mb()
open_mb = search()
print(json.dumps({"before_mb": before_mb, "open_mb": open_mb, "after_mb": resident_mb()}))
"""

HUNDRED_SESSIONS = '''
from dataclasses import asdict
from benchmarks.long_life import held

PROGRAM = px.parse_program("""program relu_twice
  x = input f32[b, 64]
  %1 = relu(x)
  %2 = add(%1, %1)
  return %2""")
shown = []
for number in range(100):
    sess = px.Session(PROGRAM, target=machine(), at={"b": 4}, seed=number)
    sess.step(1, "candidate")
    if number in (18, 98):  # dropped, not closed
        del sess
        while caches.open_leases():
            gc.collect()
            time.sleep(0.05)
        continue
    sess.widget
    sess.widget.close()
    closed(sess)
    del sess
    if number in (19, 99):
        shown.append(asdict(held(number + 1)))
print(json.dumps(shown))
'''

WHOLE_SEARCHES = """
from dataclasses import asdict
from benchmarks.long_life import measured, search_program

rows = measured(4, lambda number: search_program(number, machine()), every=2)
print(json.dumps([asdict(row) for row in rows]))
"""


def measured(script: str) -> dict:
    ran = subprocess.run([sys.executable, "-c", HEAD + script], cwd=ROOT, capture_output=True, text=True, timeout=500)
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout.splitlines()[-1])


pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc and calls glibc's malloc_trim"),
]


def test_a_closed_session_gives_its_memory_back():
    found = measured(ONE_SEARCH)

    assert found["after_mb"] - found["before_mb"] < 20, found


def test_a_hundred_sessions_need_no_more_memory_than_twenty():
    few, many = found = measured(HUNDRED_SESSIONS)

    assert many["resident_mb"] - few["resident_mb"] < 5, found
    assert many["objects"] - few["objects"] < 1000, found
    for what in ("files", "threads", "children"):
        assert many[what] <= few[what], found


def test_whole_searches_leave_no_memory_file_thread_or_process_behind():
    few, many = measured(WHOLE_SEARCHES)

    assert many["resident_mb"] - few["resident_mb"] < 8, (few, many)
    for what in ("files", "threads", "children"):
        assert many[what] <= few[what], (few, many)
