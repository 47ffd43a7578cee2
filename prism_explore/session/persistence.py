"""The task of a search as data, so that a saved search can continue in another process.

The program is a text and everything else plain values; nothing in a file is run or imported. The file has no torch
code, so the caller passes it again to time kernels against it. It has no database of trials, which is a separate file.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal, TypeAlias, cast

from prism_explore.codegen import emit
from prism_explore.errors import JournalVersionError, PrismError, ShapeError
from prism_explore.events.fastest import LIBRARY
from prism_explore.events.journal import LONGEST_S, Journal, StoredEvents, read_events
from prism_explore.events.kinds import BaselineMeasured, CertificateReplayed, Event, RivalTimed
from prism_explore.frontend import Traced
from prism_explore.ir.dims import Dim, Monomial, dim
from prism_explore.ir.symbol_ranges import UNBOUNDED, Ranges
from prism_explore.ir.text import parse_program, show
from prism_explore.pipeline.search_space import Space
from prism_explore.pipeline.stages import Kernel, Lemma, Verified
from prism_explore.search.explore import Task
from prism_explore.support.plain_data import Hook, PlainData
from prism_explore.targets import Target
from prism_explore.tune import Budget
from prism_explore.tune.runner.baselines import why_not_equal
from prism_explore.verify.certificate.certify import certify
from prism_explore.verify.prover import Prover

_DECIDING = ("prism-explore", "egglog")
"""Packages whose versions determine the events of a search."""

_OLD_NAMES: Mapping[str, str] = {"rivals": "baselines", "beat_s": "time_to_beat_s"}
"""Former names of options, and of values of `time_to_beat_s`, with their present names."""


TimeToBeat: TypeAlias = float | Literal["baselines"] | None


@dataclass(frozen=True, slots=True)
class _Saved:
    """A task as it is stored in a file."""

    program: str
    space: Space
    target: Target
    shapes: Mapping[str, int]
    seed: int
    budget: Budget
    baselines: tuple[str, ...]
    versions: tuple[tuple[str, str], ...]
    allow_unsafe: bool
    time_to_beat_s: TimeToBeat = None
    ranges: Ranges = UNBOUNDED
    dominated: Literal["later", "left out"] = "later"


def task_to_plain(task: Task) -> dict[str, Any]:
    """A task as JSON-ready data, without its torch code."""
    saved = _Saved(
        show(task.program),
        task.space,
        task.target,
        dict(task.shapes),
        task.seed,
        task.budget,
        task.baselines,
        task.versions,
        task.allow_unsafe,
        task.time_to_beat_s,
        task.ranges,
        task.dominated,
    )
    return _plain_data().write(saved)


def manifest_of(task: Task) -> dict[str, Any]:
    """The manifest of the file of a search."""
    return {"program": task.program.name, "versions": dict(task.versions), "task": task_to_plain(task)}


def read_search(path: str | Path, reference: Traced | None = None) -> tuple[Task, Journal]:
    """The task of a saved search, see `task_of`, and its journal."""
    stored = read_events(path)
    return task_of(stored, reference), Journal.parse(stored)


def task_of(stored: StoredEvents, reference: Traced | None = None) -> Task:
    """The task of a saved search, without its library call.

    Args:
        stored: what `Session.save` wrote.
        reference: the torch code of the first session, as a baseline.

    Raises:
        JournalVersionError: damaged, by other versions, or without its task.
        ShapeError: the torch code computes another program.
    """
    path, plain = stored.path, stored.manifest.get("task")
    if plain is None:
        raise JournalVersionError(
            f"{path} has the events of a search but not its task: px.load can show it, but it cannot be continued"
        )
    try:
        saved = _plain_data().read(_Saved, _in_present_form(plain))
        program = parse_program(saved.program)
    except (ValueError, TypeError, AttributeError, ArithmeticError, RecursionError, PrismError) as error:
        raise JournalVersionError(f"{path}: the task in its manifest is damaged: {error}") from None
    for package, was in saved.versions:
        if package in _DECIDING and (now := version(package)) != was:
            raise JournalVersionError(
                f"{path} was searched with {package} {was}, and {now} is installed, which may search differently. "
                "px.load shows the file; a new px.Session searches again"
            )
    if reference is not None and reference.program != program:
        raise ShapeError(
            f"{path} is the search of another program than this code computes.\nsaved:\n{saved.program}\n"
            f"code:\n{show(reference.program)}"
        )
    return Task(
        program=reference.program if reference is not None else program,
        space=saved.space,
        target=saved.target,
        shapes=saved.shapes,
        seed=saved.seed,
        budget=saved.budget,
        reference=reference,
        baselines=saved.baselines,
        versions=saved.versions,
        allow_unsafe=saved.allow_unsafe,
        time_to_beat_s=saved.time_to_beat_s,
        ranges=saved.ranges,
        dominated=saved.dominated,
    )


def timed_library_calls(events: Iterable[Event]) -> frozenset[str]:
    """The library calls that were timed, as text; the text is empty for one that the caller passed."""
    return frozenset(
        e.note for e in events if isinstance(e, RivalTimed | BaselineMeasured) and e.name == LIBRARY and e.samples
    )


def check_library(path: str | Path, task: Task, library: Traced, events: Iterable[Event]) -> None:
    """Check that a library call is the one that a saved search timed, if the search timed its baselines already.

    Raises:
        ShapeError: it is another one, or the search timed none.
    """
    timed = {e.name: e.samples for e in events if isinstance(e, RivalTimed | BaselineMeasured)}
    if timed and LIBRARY not in timed:
        raise ShapeError(
            f"{path}: its baselines were timed without a library call ({', '.join(timed)}); load it without library=, "
            "or time the call in a new px.Session"
        )
    if not timed.get(LIBRARY):
        return
    if reason := why_not_equal(library, task.program, task.shapes, task.target, seed=task.seed):
        raise ShapeError(
            f"{path}: library= is not the call that was timed there, or it does not run here: {reason}. Pass the same "
            "function as to the first session"
        )


def saved_lemmas(candidate: str, events: Iterable[Event]) -> tuple[Lemma, ...]:
    """The lemmas of the last certificate of a candidate; none if it has no certificate."""
    found = [e for e in events if isinstance(e, CertificateReplayed) and e.candidate == candidate]
    return tuple(
        Lemma(*row, text) for event in found[-1:] for row, text in zip(event.lemmas, event.statements, strict=False)
    )


def prove_again(kernel: Kernel, task: Task, lemmas: Iterable[Lemma]) -> Verified:
    """Prove the kernel of a saved search again, check its certificate again, and generate its source again.

    Where the search made no certificate because its budget has no details, none is made.

    Args:
        kernel: of the search.
        task: of the search.
        lemmas: the certificate, which is checked.

    Raises:
        JournalVersionError: it is not proved, or its parameters give another source.
    """
    candidate = kernel.verified.candidate
    made = make_again(kernel, task)
    if made is None:
        raise JournalVersionError(
            f"{candidate.id}, the best candidate of the saved search, is not proved again or gives another kernel: the "
            "file was changed, or was searched by other code; a new px.Session searches again"
        )
    known = {lemma.tensor: lemma for lemma in lemmas}
    return certify(made.verified, Journal(), known=known) if known or task.budget.details else made.verified


def make_again(kernel: Kernel, task: Task) -> Kernel | None:
    """The kernel with a new proof, not yet certified, and newly generated source; None if one of them fails or differs.

    Args:
        kernel: as it was stored.
        task: of its search.
    """
    verdict = Prover(task.program).verify(kernel.verified.candidate, Journal(), task.seed)
    if not isinstance(verdict, Verified):
        return None
    made = emit(verdict, kernel.parameters, task.shapes, task.target)
    return made if isinstance(made, Kernel) and made.source == kernel.source else None


def _in_present_form(plain: Mapping[str, Any]) -> dict[str, Any]:
    """A task from a file in its present form: present names of options, and sizes as texts."""
    renamed = {_OLD_NAMES.get(name, name): _with_sizes_as_texts(value) for name, value in plain.items()}
    beat = renamed.get("time_to_beat_s")
    if isinstance(budget := renamed.get("budget"), dict):
        renamed["budget"] = {"gain": 0.0, **cast("dict[str, object]", budget)}  # any improvement counted
    return {**renamed, "time_to_beat_s": _OLD_NAMES.get(beat, beat) if isinstance(beat, str) else beat}


def _with_sizes_as_texts(data: object) -> object:
    """The same data, where a symbolic size that is written as its terms becomes its text."""
    if isinstance(data, list):
        return [_with_sizes_as_texts(value) for value in cast("list[object]", data)]
    if not isinstance(data, dict):
        return data
    items = cast("dict[str, object]", data)
    if items.keys() == {"terms", "_key", "_hash"}:
        return str(Dim(_plain_data().read(_SizeTerms, {"terms": items["terms"]}).terms))
    return {key: _with_sizes_as_texts(value) for key, value in items.items()}


@dataclass(frozen=True, slots=True)
class _SizeTerms:
    """A symbolic size as older files have it."""

    terms: tuple[tuple[Monomial, Fraction], ...]


def _read_time_to_beat(data: object) -> object:
    is_time = isinstance(data, int | float) and not isinstance(data, bool) and 0 < data < LONGEST_S
    if data is None or data == "baselines" or is_time:
        return data
    raise ValueError(f"found {data!r}, expected a time in seconds, 'baselines' or null")


def _unchanged(value: object) -> object:
    return value


@cache
def _plain_data() -> PlainData:
    return PlainData({Dim: Hook(dim, str), TimeToBeat: Hook(_read_time_to_beat, _unchanged)})
