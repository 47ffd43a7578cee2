"""The answer of a finished search: what `best` needs of it, stored beside its events in the cache.

A search of many steps takes as long to repeat as to run. So the second time its answer is offered before its events are
read, after the kernel was proved and generated again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, cast

from prism_explore.events.journal import Journal
from prism_explore.events.kinds import BaselineMeasured
from prism_explore.events.ledger import Steering, ledger
from prism_explore.ir.text import parse, show
from prism_explore.pipeline.stages import Candidate, Lemma, Timed, Verified
from prism_explore.search.explore import Progress, incumbent
from prism_explore.session.persistence import saved_lemmas
from prism_explore.support.plain_data import PlainData
from prism_explore.tune.runner.wire import kernel_from_plain, kernel_to_plain


@dataclass(frozen=True, slots=True)
class StoredAnswer:
    """The fastest kernel of a search that ended, with its evidence."""

    timed: Timed
    """The kernel and its times; its proof is the one that was stored."""
    assessed: Verified
    """The candidate by which its family was assessed in floating point."""
    lemmas: tuple[Lemma, ...]
    """Its certificate, which is not checked yet."""
    race: tuple[BaselineMeasured, ...]
    """The rows of the final race."""


@dataclass(frozen=True, slots=True)
class _Plain:
    """An answer without its kernel."""

    time_s: float
    p20_s: float
    p80_s: float
    samples: int
    error: float
    floor_s: float
    waited: float
    assessed: tuple[str, str]
    """Id and graph of a candidate."""
    lemmas: tuple[Lemma, ...]
    race: tuple[BaselineMeasured, ...]


def first_proved(family: str, progress: Progress) -> Verified | None:
    """The first proved candidate of a family, by which the search assesses it; None if it has none."""
    return next((v for v in progress.proved if v.candidate.family.id == family), None)


def answer_of(journal: Journal, progress: Progress, steering: Steering) -> StoredAnswer | None:
    """The answer of a search that has ended; None if no kernel was timed."""
    fastest = incumbent(progress, steering)
    if fastest is None:
        return None
    verified = fastest.kernel.verified
    events = journal.events
    return StoredAnswer(
        fastest,
        first_proved(verified.candidate.family.id, progress) or verified,
        saved_lemmas(verified.candidate.id, events),
        ledger(events).final_race,
    )


def answer_to_plain(answer: StoredAnswer) -> dict[str, Any]:
    """An answer as data that JSON can hold."""
    timed, assessed = answer.timed, answer.assessed.candidate
    rest = _Plain(
        timed.time_s,
        timed.p20_s,
        timed.p80_s,
        timed.samples,
        timed.error,
        timed.floor_s,
        timed.waited,
        (assessed.id, show(assessed.sgraph)),
        answer.lemmas,
        answer.race,
    )
    return {"kernel": kernel_to_plain(timed.kernel), "rest": _plain_data().write(rest)}


def answer_from_plain(plain: object) -> StoredAnswer:
    """The inverse of `answer_to_plain`.

    Raises:
        ValueError, KeyError, TypeError, IndexError, PrismError: the data are damaged.
    """
    data = cast("Mapping[str, Any]", plain)
    kernel = kernel_from_plain(data["kernel"])
    rest = _plain_data().read(_Plain, data["rest"])
    timed = Timed(kernel, rest.time_s, rest.p20_s, rest.p80_s, rest.samples, rest.error, rest.floor_s, rest.waited)
    name, text = rest.assessed
    sgraph = parse(text)
    of_kernel = kernel.verified.candidate
    assessed = Candidate(name, of_kernel.family, sgraph, (), sgraph.conditions())
    return StoredAnswer(timed, replace(kernel.verified, candidate=assessed), rest.lemmas, rest.race)


@cache
def _plain_data() -> PlainData:
    return PlainData()
