"""Options of a session, checked before the program is traced."""

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
from prism_explore.pipeline.search_space import Space
from prism_explore.search.library_calls import Library
from prism_explore.targets import Target, target
from prism_explore.tune import Budget, Database
from prism_explore.tune.runner.baseline_table import BASELINES
from prism_explore.tune.runner.machine_lock import open_machine_lock

TAKES: Mapping[str, tuple[tuple[type, ...], str]] = {
    "target": ((str, Target), "the name of a machine, such as 'cpu' or 'h100', or a px.Target"),
    "at": ((Mapping,), "a number per symbol, such as at={'b': 8}"),
    "seed": ((int,), "a whole number"),
    "budget": ((Budget,), "a px.Budget, such as px.Budget(trials=64, seconds=60)"),
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
"""Per option of a session, what it may be and an example."""


def check_options(**given: object) -> None:
    """Check the types of options; None means that an option is left out.

    Raises:
        ShapeError: with the option, what was found, and what it takes.
    """
    for name, value in given.items():
        types, takes = TAKES[name]
        if value is not None and (not isinstance(value, types) or isinstance(value, bool)):
            raise ShapeError(f"{name}= takes {takes}; found {value!r}, a {type(value).__name__}")


def check_turns(executor: Executor | None, budget: Budget | None) -> None:
    """Refuse trials that workers would time without turns before a search, and not behind it.

    Raises:
        TargetUnavailable: see `open_machine_lock`.
    """
    if executor is not None and budget is not None and budget.at_once > 1:
        open_machine_lock()


def machine_of(given: str | Target) -> Target:
    """The machine, by its name or as it is."""
    return given if isinstance(given, Target) else target(given)


def baseline_names(given: Sequence[str]) -> tuple[str, ...]:
    """The names of rivals.

    Raises:
        ShapeError: one is unknown, or it is a text and no sequence of them.
    """
    known = (*(m.name for m in BASELINES), LIBRARY)
    if isinstance(given, str) or any(name not in known for name in given):
        raise ShapeError(
            f"baselines= takes names out of {', '.join(map(repr, known))}, such as baselines=({known[0]!r},); "
            f"found {given!r}"
        )
    return tuple(given)


def time_to_beat(
    given: float | Literal["baselines"] | None,
    traced: Traced | None,
    machine: Target,
    baselines: Sequence[str],
    also: Library,
) -> float | Literal["baselines"] | None:
    """The time to beat.

    Raises:
        ShapeError: it is none, or cannot be measured.
    """
    if given is None:
        return None
    if given == "baselines":
        missing = {
            "torch code, and this is a program": traced is None,
            f"a machine that is here, such as cpu, and this is {machine.name}": machine.kind != "cpu",
            "a baseline, and baselines=() names none": not (
                any(name != LIBRARY for name in baselines) or (LIBRARY in baselines and also.call is not None)
            ),
        }
        for what, is_missing in missing.items():
            if is_missing:
                raise ShapeError(
                    f"time_to_beat_s='baselines' measures torch and needs {what}; give a number of seconds instead"
                )
        return given
    number: Any = given
    if not isinstance(number, int | float) or isinstance(number, bool) or not number > 0:
        raise ShapeError(f"time_to_beat_s takes seconds above 0 or 'baselines', found {given!r}")
    return float(given)


def library_of(
    code: Callable[..., Any] | None,
    traced: Traced | None,
    baselines: Sequence[str],
    name: str,
    raced: Collection[str] = (),
) -> Library:
    """A rival's code on the same arguments: given, and compared when it is timed, or to be found and proved.

    Args:
        code: what was given.
        traced: the code that it is a rival of.
        baselines: a call is looked for where they name one.
        name: of the program.
        raced: how a saved race spells its call, see `Library`.

    Raises:
        ShapeError: it is no function or takes other arguments, or there is no torch code whose arguments it shares.
    """
    if code is None:
        return Library(sought=traced if LIBRARY in baselines else None, raced=frozenset(raced))
    if traced is None:
        raise ShapeError(
            f"library= is a rival of torch code, and none was given, {name} being a program: nothing is raced. "
            "px.Session(code, library=...) and px.Session.load(path, code, library=...) take both"
        )
    if not callable(code):
        raise ShapeError(f"library= takes a torch function of ({', '.join(traced.arguments)}), found {code!r}")
    try:
        inspect.signature(code).bind(*traced.arguments)
    except TypeError as problem:
        raise ShapeError(
            f"library= is called with the arguments of {name} in their order, {', '.join(traced.arguments)}: {problem}"
        ) from None
    except ValueError:  # a builtin may not tell its arguments
        pass
    return Library(LibraryCall("", replace(traced, reference=code)))


def database_at(path: str | Path) -> Database:
    """The database at a path, read once, so that a damaged one is said before a search and not behind it."""
    found = Database(path)
    found.contents()
    return found


def one_symbol(program: TensorProgram, values: Mapping[str, Sequence[int]]) -> tuple[str, list[int]]:
    """The symbol that was named, and its values in order.

    Raises:
        ShapeError: not one symbol of the program, or values that are none.
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
