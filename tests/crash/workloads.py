"""What a process does while it is killed or interrupted: five uses of this package that write files."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import prism_explore as px
from prism_explore.session.session import Session
from tests.tune.toys import TOY

SAVED, OTHER, DATABASE = "run.prism", "saved.prism", "trials.sqlite"
"""The files of a workload, in its folder: saved while the search runs; by `save`; the database of trials."""

GATE = """program gate
  x = input f32[b, 16]
  w = input f32[16, 8]
  %2 = matmul(x, w)
  %3 = silu(%2)
  return %3
"""
NORM = """program norm
  x = input f32[b, 64]
  w = input f32[64, 32]
  %2 = square(x)
  %3 = mean(%2, dim=1)
  %4 = add_scalar(%3, 1/1000000)
  %5 = sqrt(%4)
  %6 = div(x, %5)
  %7 = matmul(%6, w)
  return %7
"""
HOST = TOY.replace(
    name="cpu", shared_memory_bytes=1 << 20, caches_bytes=(1 << 15, 1 << 20, 1 << 21), max_blocks=1 << 20
)
"""Made-up figures: nothing measures the machine, and copies of the inputs take little memory."""
BUDGET = px.Budget(trials=2, seconds=0.5)


@dataclass(frozen=True, slots=True)
class Workload:
    """One use of the package; each call of `work` after an interrupt continues, until the search has ended."""

    name: str
    start: Callable[[Path], Session]
    work: Callable[[Session, Path], None]
    has_workers: bool
    """Whether it compiles and times kernels in worker processes."""
    imports: tuple[str, ...] = ()
    """What is imported before the first instant: an interrupt within an import leaves modules of torch half made."""
    in_tests: bool = True
    """Whether it is quick enough for the tests."""


def _search(_: Path) -> Session:
    return px.Session(px.parse_program(NORM), target="h100", at={"b": 8})


def _tuning(folder: Path) -> Session:
    return px.Session(px.parse_program(GATE), target=HOST, at={"b": 4}, budget=BUDGET, database=folder / DATABASE)


def _gate(x: Any, w: Any) -> Any:
    import torch

    return torch.nn.functional.silu(x @ w)


def _timed(folder: Path, **options: Any) -> Session:
    inputs = {"x": px.T("b", 16), "w": px.T(16, 8)}
    common = {
        "target": HOST,
        "at": {"b": 4},
        "budget": BUDGET,
        "baselines": ("torch eager",),
        "database": folder / DATABASE,
    }
    return px.Session(_gate, inputs=inputs, **common, **options)


def _run(sess: Session, _: Path) -> None:
    sess.run()


def _save_each_step(sess: Session, folder: Path) -> None:
    while sess.state not in ("finished", "cancelled", "failed"):
        sess.step(20)
        sess.save(folder / OTHER)


def _best(sess: Session, _: Path) -> None:
    sess.best()


def _all_rivals(sess: Session, _: Path) -> None:
    sess.best("all rivals")


TORCH = ("torch.export", "torch._dynamo")
WORKLOADS = (
    Workload("search", _search, _run, has_workers=False),
    Workload("saving", _search, _save_each_step, has_workers=False, in_tests=False),
    Workload("tuning", _tuning, _run, has_workers=True),
    Workload("best", _timed, _best, has_workers=True, imports=TORCH, in_tests=False),
    Workload("rivals", lambda f: _timed(f, time_to_beat_s="baselines"), _all_rivals, True, TORCH, False),
)
