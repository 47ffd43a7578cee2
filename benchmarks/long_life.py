"""A hundred searches in one process: memory, open files, threads and child processes, after each ten.

    .venv/bin/python benchmarks/long_life.py
    .venv/bin/python benchmarks/long_life.py --searches 20 --traced --json figures.json

A search is a whole one: enumeration, proofs, tuning of two trials in a worker process, the explorer's widget, and
`close`. By default the program is a text; with `--traced` it is torch code, a new function each time, of which
`torch.export` keeps about 0.3 MB for good (`tests/session/test_memory.py`).

On 2026-11-26, on 2 vCPUs of an Intel Xeon with other work beside it: 11 files, 1 thread and 2 processes in each row,
and 0.26 MB more per search, from 179 MB after ten to 202 MB after a hundred, with as many Python objects. A run of
LLVM's passes keeps memory: llvmlite's pass manager does not free all of it, 0.06 MB for a module of one instruction.
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import json
import os
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import prism_explore as px
from prism_explore.support import caches

PROGRAM = """program rmsnorm_linear
  x = input f32[b, 64]
  g = input f32[64]
  w = input f32[64, 96]
  %3 = rms(x, dim=1)
  %4 = div(x, %3)
  %5 = mul(%4, g)
  %6 = matmul(%5, w)
  return %6"""


@dataclass(frozen=True, slots=True)
class Held:
    """What this process holds after some searches."""

    searches: int
    resident_mb: float
    objects: int
    """Python objects that the garbage collector knows."""
    files: int
    threads: int
    children: int
    """Processes below this one, of all generations."""


def held(searches: int) -> Held:
    """What this process holds now, freed memory given back."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return Held(
        searches,
        pages * os.sysconf("SC_PAGE_SIZE") / 1e6,
        len(gc.get_objects()),
        len(list(Path("/proc/self/fd").iterdir())),
        threading.active_count(),
        len(_below(os.getpid())),
    )


def _below(pid: int) -> list[int]:
    found: list[int] = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        for child in (task / "children").read_text(encoding="ascii").split():
            found += [int(child), *_below(int(child))]
    return found


def search_program(number: int, target: str | px.Target = "cpu") -> None:
    """One search of the program's text, another one for each number."""
    _search(px.parse_program(PROGRAM), number, {}, target)


def search_traced(number: int) -> None:
    """One search of torch code, a new function for each number."""
    import torch

    def rmsnorm_linear(x: Any, g: Any, w: Any) -> Any:
        return torch.nn.functional.rms_norm(x, (x.shape[-1],), g, eps=1e-6) @ w

    _search(rmsnorm_linear, number, {"x": px.T("b", 64), "g": px.T(64), "w": px.T(64, 96)})


def _search(code: Any, number: int, shapes: dict[str, Any], target: str | px.Target = "cpu") -> None:
    budget = px.Budget(trials=2, seconds=2)
    sess = px.Session(code, **shapes, target=target, at={"b": 5}, budget=budget, baselines=(), seed=number)
    sess.best()
    sess.widget.close()
    sess.close()
    while caches.open_leases():  # the engine's thread ends its step first
        time.sleep(0.01)


def measured(count: int, search: Callable[[int], None], every: int) -> list[Held]:
    """What the process holds after each `every` of so many searches."""
    found: list[Held] = []
    for number in range(count):
        search(number)
        if (number + 1) % every == 0:
            found.append(held(number + 1))
            print("{searches:8} {resident_mb:10.1f} {objects:10,} {files:8} {threads:8} {children:10}".format(
                **asdict(found[-1])), flush=True)  # fmt: skip
    return found


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="What a process holds after a hundred searches.")
    parser.add_argument("--searches", type=int, default=100)
    parser.add_argument("--every", type=int, default=10, help="searches between two rows")
    parser.add_argument("--traced", action="store_true", help="torch code instead of a program's text")
    parser.add_argument("--json", type=Path, help="write the rows there")
    args = parser.parse_args(argv)
    os.environ["PRISM_EXPLORE_CACHE"] = "off"
    print("searches     RSS MB    objects    files  threads  processes")
    rows = measured(args.searches, search_traced if args.traced else search_program, args.every)
    if args.json is not None:
        args.json.write_text(json.dumps([asdict(row) for row in rows], indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
