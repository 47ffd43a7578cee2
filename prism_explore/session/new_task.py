"""The task of a new session: its options checked against the program, defaults filled in."""

from __future__ import annotations

import platform
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

from prism_explore.errors import ShapeError
from prism_explore.frontend import Traced, data_sizes
from prism_explore.generate.abstract_expr.size_estimate import why_too_large
from prism_explore.ir.program import TensorProgram
from prism_explore.ir.symbol_ranges import parse_ranges
from prism_explore.pipeline.search_space import Space, default_space
from prism_explore.search.explore import Task
from prism_explore.session.options import baseline_names, database_at, library_of, machine_of, time_to_beat
from prism_explore.targets import Target
from prism_explore.tune import Budget

Dominated: TypeAlias = Literal["later", "left out"]

TUNED_AT = 8
"""The value of a symbol while tuning, if the caller names none."""

_PACKAGES = ("prism-explore", "torch", "triton", "egglog", "llvmlite", "numpy")


def check_dominated(value: str) -> None:
    """Refuse another way to treat dominated families than there are.

    Raises:
        ShapeError: it is none.
    """
    if value not in get_args(Dominated):
        raise ShapeError(f"dominated= is one of {', '.join(map(repr, get_args(Dominated)))}; found {value!r}")


def new_task(
    program: TensorProgram,
    traced: Traced | None,
    *,
    target: str | Target,
    at: Mapping[str, int],
    seed: int,
    budget: Budget | None,
    space: Space | None,
    baselines: Sequence[str],
    allow_unsafe: bool,
    database: str | Path | None,
    ranges: Mapping[str, tuple[int, int]],
    time_to_beat_s: float | Literal["baselines"] | None,
    library: Callable[..., Any] | None,
    dominated: Dominated,
    executor: Executor | None,
) -> Task:
    """The task over a program; the options are those of `Session`.

    Raises:
        ShapeError: the program is too large, or options do not fit it.
        TargetUnavailable: no such machine.
        JournalVersionError: the database is damaged, or of a later version.
    """
    names = baseline_names(baselines)
    if reason := why_too_large(program):
        raise ShapeError(reason)
    symbols = program.graph.data_symbols
    bounds = parse_ranges(ranges, symbols, program.name)
    usual = {**dict.fromkeys(symbols, TUNED_AT), **{s: min(max(TUNED_AT, low), n) for s, low, n in bounds.bounds}}
    shapes = data_sizes(program, {**usual, **at})
    also = library_of(library, traced, names, program.name)
    bounds.check(shapes, f"at={dict(at)}")
    machine = machine_of(target)
    return Task(
        program=program,
        space=space or default_space(program),
        target=machine,
        shapes=shapes,
        seed=seed,
        budget=budget or Budget(),
        reference=traced,
        baselines=names,
        versions=_versions(),
        allow_unsafe=allow_unsafe,
        ranges=bounds,
        executor=executor,
        database=None if database is None else database_at(database),
        time_to_beat_s=time_to_beat(time_to_beat_s, traced, machine, names, also),
        also=also,
        dominated=dominated,
    )


def _versions() -> tuple[tuple[str, str], ...]:
    found: list[tuple[str, str]] = [("python", platform.python_version())]
    for package in _PACKAGES:
        try:
            found.append((package, version(package)))
        except PackageNotFoundError:
            continue
    return tuple(found)
