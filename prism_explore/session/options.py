"""Checks of the options of a session, with messages that say what each option takes."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, cast

from prism_explore.errors import ShapeError
from prism_explore.events.fastest import LIBRARY
from prism_explore.frontend import LibraryCall, Traced
from prism_explore.ir.program import TensorProgram
from prism_explore.pipeline.search_space import LIMITS, Space, default_space, quick_space
from prism_explore.search.explore import Task
from prism_explore.search.library_calls import Library
from prism_explore.targets import Target, target
from prism_explore.tune import Budget, Database
from prism_explore.tune.budget import BUDGETS, BudgetName
from prism_explore.tune.runner.baseline_table import BASELINES

OPTION_TYPES: Mapping[str, tuple[tuple[type, ...], str]] = {
    "target": ((str, Target), "the name of a machine, such as 'cpu' or 'h100', or a px.Target"),
    "at": ((Mapping,), "a number per symbol, such as at={'b': 8}"),
    "seed": ((int,), "a whole number from 0"),
    "budget": ((Budget, str), "a px.Budget, such as px.Budget(trials=64, seconds=60), or 'quick' or 'thorough'"),
    "space": ((Space,), "a px.Space, such as dataclasses.replace(px.default_space(program), block_ops=9)"),
    "name": ((str,), "a text"),
    "database": ((str, Path), "the path of a file"),
    "ranges": (
        (Mapping, str, list, tuple),
        "two numbers per symbol or constraints, such as ranges={'b': (1, 64)} or 'b <= 64'",
    ),
    "executor": ((Executor,), "a concurrent.futures.Executor, such as ProcessPoolExecutor() or a Dask client's"),
    "inputs": ((Mapping,), "a type or an example tensor per argument, such as inputs={'x': px.T('b', 64)}"),
}
"""Per option of a session, its types, and a description with an example."""


def check_options(**options: object) -> None:
    """Check the types of options; None means that an option is left out.

    Raises:
        ShapeError: a value has another type, or the seed is negative.
    """
    for name, value in options.items():
        types, takes = OPTION_TYPES[name]
        if value is not None and (not isinstance(value, types) or isinstance(value, bool)):
            raise ShapeError(f"{name}= takes {takes}; found {value!r}, a {type(value).__name__}")
    if isinstance(seed := options.get("seed"), int) and seed < 0:
        raise ShapeError(f"seed= takes {OPTION_TYPES['seed'][1]}; found {seed}")


def budget_of(budget: Budget | BudgetName | None) -> Budget:
    """The budget of this name; a Budget is returned unchanged.

    Raises:
        ShapeError: no such name.
    """
    if not isinstance(budget, str):
        return budget or Budget()
    if budget not in BUDGETS:
        raise ShapeError(f"budget={budget!r}: no budget has this name; there are {', '.join(BUDGETS)}, or a px.Budget")
    return BUDGETS[budget]


def usual_space(program: TensorProgram, budget: Budget | BudgetName | None) -> Space:
    """The space of a search whose caller names none: `quick_space` where the budget of tuning is quick.

    Raises:
        ShapeError: no such budget.
    """
    check_options(budget=budget)
    return (quick_space if budget_of(budget).is_quick else default_space)(program)


def machine_of(machine: str | Target) -> Target:
    """The machine of this name; a Target is returned unchanged."""
    return machine if isinstance(machine, Target) else target(machine)


def changed_limits(
    task: Task, machine: str | Target | None, space: Space | None, limits: Mapping[str, int]
) -> tuple[Target, Space]:
    """The target and the space of a what-if question; see `Session.what_if`.

    Raises:
        ShapeError: no such limit.
        TargetUnavailable: no such machine.
    """
    changed = task.target if machine in (None, task.target.name) else machine_of(machine)
    of_space = dict(limits)
    if (memory := of_space.pop("shared_memory_bytes", None)) is not None:
        changed = changed.replace(shared_memory_bytes=memory)
    if unknown := sorted(set(of_space) - set(LIMITS)):
        raise ShapeError(f"no limit {', '.join(unknown)}; there are {', '.join((*LIMITS, 'shared_memory_bytes'))}")
    return changed, replace(space or task.space, **of_space)


def baseline_names(names: Sequence[str]) -> tuple[str, ...]:
    """The names of baselines.

    Raises:
        ShapeError: one is unknown, or `names` is a text instead of a sequence of texts.
    """
    known = (*(m.name for m in BASELINES), LIBRARY)
    if isinstance(names, str) or any(name not in known for name in names):
        raise ShapeError(
            f"baselines= takes names out of {', '.join(map(repr, known))}, such as baselines=({known[0]!r},); "
            f"found {names!r}"
        )
    return tuple(names)


def check_time_to_beat(
    time_s: float | Literal["baselines"] | None,
    traced: Traced | None,
    machine: Target,
    baselines: Sequence[str],
    also: Library,
) -> float | Literal["baselines"] | None:
    """The time to beat.

    Raises:
        ShapeError: not a time, or the baselines cannot be timed.
    """
    if time_s is None:
        return None
    if time_s == "baselines":
        has_baseline = any(name != LIBRARY for name in baselines) or (LIBRARY in baselines and also.call is not None)
        missing = {
            "torch code, and this is a program": traced is None,
            f"this machine as the target, such as cpu, and the target is {machine.name}": machine.kind != "cpu",
            "a baseline, and baselines=() names none": not has_baseline,
        }
        for requirement, is_missing in missing.items():
            if is_missing:
                raise ShapeError(
                    f"time_to_beat_s='baselines' measures torch and needs {requirement}; give a number of seconds "
                    "instead"
                )
        return time_s
    number: Any = time_s
    if not isinstance(number, int | float) or isinstance(number, bool) or not number > 0:
        raise ShapeError(f"time_to_beat_s takes seconds above 0 or 'baselines', found {time_s!r}")
    return float(time_s)


def library_of(
    code: Callable[..., Any] | None,
    traced: Traced | None,
    baselines: Sequence[str],
    name: str,
    timed: Collection[str] = (),
) -> Library:
    """The library call that is a baseline: the caller's code, or one that the search looks for and proves equal.

    Args:
        code: the caller's code, if any.
        traced: the torch code with the same arguments.
        baselines: the search looks for a call if these names include the library call.
        name: of the program.
        timed: the library calls that a saved search timed, as text; see `Library`.

    Raises:
        ShapeError: `code` is no function or takes other arguments, or there is no torch code with the same arguments.
    """
    if code is None:
        return Library(traced=traced if LIBRARY in baselines else None, saved_texts=frozenset(timed))
    if traced is None:
        raise ShapeError(
            f"library= is compared with torch code, and {name} is a program without it. Pass both: "
            "px.Session(code, library=...) or px.Session.load(path, code, library=...)"
        )
    if not callable(code):
        raise ShapeError(f"library= takes a torch function of ({', '.join(traced.arguments)}), found {code!r}")
    try:
        inspect.signature(code).bind(*traced.arguments)
    except TypeError as problem:
        raise ShapeError(
            f"library= is called with the arguments of {name} in their order, {', '.join(traced.arguments)}: {problem}"
        ) from None
    except ValueError:  # some builtins have no signature
        pass
    return Library(LibraryCall("", replace(traced, reference=code)))


def open_database(path: str | Path) -> Database:
    """The database at a path; it is read once, so that a damaged file is reported before the search."""
    found = Database(path)
    found.contents()
    return found


def one_symbol(program: TensorProgram, values: Mapping[str, Sequence[int]]) -> tuple[str, list[int]]:
    """The symbol to tune for, and its values in order.

    Raises:
        ShapeError: not one symbol of the program, or invalid values.
    """
    symbols = program.graph.data_symbols
    if len(values) != 1 or next(iter(values)) not in symbols:
        raise ShapeError(
            f"name one symbol of {program.name} and its values, such as b=(1, 8, 64); "
            f"there are {', '.join(symbols) or 'none'}, found {', '.join(values) or 'none'}"
        )
    ((symbol, points),) = values.items()
    several = () if isinstance(points, str) else cast("Sequence[Any]", points)
    is_several = isinstance(several, Sequence)  # pyright: ignore[reportUnnecessaryIsInstance]
    if not is_several or not several or any(not isinstance(n, int) or isinstance(n, bool) or n < 1 for n in several):
        raise ShapeError(f"{symbol} takes whole numbers from 1 on, such as {symbol}=(1, 8, 64); found {points!r}")
    return symbol, sorted(set(points))
