"""The task of a new session: the traced program, with checked options and defaults filled in."""

from __future__ import annotations

import platform
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from pathlib import Path
from typing import Any, Literal, TypeAlias, cast, get_args

from prism_explore.errors import ShapeError
from prism_explore.frontend import Traced, data_sizes, trace
from prism_explore.generate.abstract_expr.size_estimate import why_no_search
from prism_explore.ir.program import TensorProgram
from prism_explore.ir.symbol_ranges import parse_ranges
from prism_explore.pipeline.search_space import Space
from prism_explore.search.early_start import start_fork_servers_early
from prism_explore.search.explore import Task
from prism_explore.session.code_digest import version_of
from prism_explore.session.constraints import ranges_from_text
from prism_explore.session.options import (
    baseline_names,
    budget_of,
    check_options,
    check_time_to_beat,
    library_of,
    machine_of,
    open_database,
    usual_space,
)
from prism_explore.session.trace_cache import TraceCache
from prism_explore.support.gc_pause import gc_paused
from prism_explore.targets import Target
from prism_explore.tune import Budget
from prism_explore.tune.budget import BudgetName
from prism_explore.tune.runner.machine_lock import open_machine_lock

Dominated: TypeAlias = Literal["later", "left out"]

TUNED_AT = 8
"""The value of a symbol while tuning, if the caller names none."""

_PACKAGES = ("prism-explore", "torch", "triton", "egglog", "llvmlite", "numpy")


def new_task(
    code: Callable[..., Any] | TensorProgram | Traced,
    *,
    target: str | Target,
    at: Mapping[str, int] | None,
    seed: int,
    budget: Budget | BudgetName | None,
    space: Space | None,
    name: str | None,
    baselines: Sequence[str],
    allow_unsafe: bool,
    database: str | Path | None,
    ranges: Mapping[str, tuple[int, int]] | str | Sequence[str] | None,
    time_to_beat_s: float | Literal["baselines"] | None,
    library: Callable[..., Any] | None,
    dominated: Dominated,
    executor: Executor | None,
    inputs: Mapping[str, Any] | None,
    more_inputs: Mapping[str, Any],
    traces: TraceCache | None = None,
) -> Task:
    """The task of searching a program; arguments and errors are those of `Session`.

    A function is traced unless `traces` has its trace.
    """
    check_options(
        target=target,
        at=at,
        seed=seed,
        budget=budget,
        space=space,
        name=name,
        database=database,
        ranges=ranges,
        executor=executor,
        inputs=inputs,
    )
    limits = budget_of(budget)
    if executor is not None and limits.at_once > 1:
        open_machine_lock()  # an error here comes before the search, not after it
    names = baseline_names(baselines)
    machine = machine_of(target)  # where it is measured, nothing else runs yet
    if dominated not in get_args(Dominated):
        raise ShapeError(f"dominated= is one of {', '.join(map(repr, get_args(Dominated)))}; found {dominated!r}")
    match code:
        case TensorProgram():
            traced = None
        case Traced():
            traced = code
        case _:
            given = {**(inputs or {}), **more_inputs}
            traced = _traced(code, given, name, traces, lambda: start_fork_servers_early(machine, limits, names))
    program = traced.program if traced is not None else cast(TensorProgram, code)
    if reason := why_no_search(program):
        raise ShapeError(reason)
    if machine.kind == "cpu" and (wide := [i.name for i in program.inputs if i.type.dtype == "f64"]):
        raise ShapeError(
            f"{', '.join(wide)} is float64, and CPU kernels compute in float32, so half of the digits would be lost; "
            "give float32 (x.float()), search for a GPU target, or take px.WholeProgram(...), which leaves it to torch"
        )
    sizes = dict(at or {})
    bounds = parse_ranges(
        ranges if isinstance(ranges, Mapping) else ranges_from_text(ranges or ()),
        program.graph.data_symbols,
        program.name,
    )
    defaults = dict.fromkeys(program.graph.data_symbols, TUNED_AT)
    defaults |= {s: min(max(TUNED_AT, low), high) for s, low, high in bounds.bounds}
    shapes = data_sizes(program, {**defaults, **sizes})
    also = library_of(library, traced, names, program.name)
    bounds.check(shapes, f"at={sizes}")
    return Task(
        program=program,
        space=space or usual_space(program, limits),
        target=machine,
        shapes=shapes,
        seed=seed,
        budget=limits,
        reference=traced,
        baselines=names,
        versions=package_versions(),
        allow_unsafe=allow_unsafe,
        ranges=bounds,
        executor=executor,
        database=None if database is None else open_database(database),
        time_to_beat_s=check_time_to_beat(time_to_beat_s, traced, machine, names, also),
        library=also,
        dominated=dominated,
    )


def _traced(
    code: Callable[..., Any],
    inputs: Mapping[str, Any],
    name: str | None,
    traces: TraceCache | None,
    before: Callable[[], None],
) -> Traced:
    """The stored trace of a function, or a new one, which is stored; `before` is called before a new one is made."""
    stored = None if traces is None else traces.find(code, inputs, name)
    if stored is not None:
        return stored
    before()
    with gc_paused():  # it imports most of torch, and collecting among the modules takes a fifth of the time
        traced = trace(code, inputs, name)
    if traces is not None:
        traces.store(traced, code, inputs, name)
    return traced


def package_versions() -> tuple[tuple[str, str], ...]:
    """The versions of Python and of the packages that searches depend on."""
    found = {package: version_of(package) for package in _PACKAGES}
    return (("python", platform.python_version()), *((p, v) for p, v in found.items() if v is not None))
