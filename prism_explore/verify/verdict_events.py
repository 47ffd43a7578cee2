"""Conversion of verdicts to events, and of saved events back to verified candidates."""

from __future__ import annotations

from math import isfinite
from typing import assert_never

from prism_explore.errors import JournalVersionError
from prism_explore.events.kinds import VerdictReached
from prism_explore.pipeline.stages import Candidate, EClass, Proof, Refuted, Trial, Unknown, Verdict, Verified
from prism_explore.verify.counterexample.case import show_counterexample


def verdict_event(verdict: Verdict) -> VerdictReached:
    """The event that reports a verdict."""
    match verdict:
        case Verified(candidate, proof, trials):
            return VerdictReached(
                candidate.id,
                "proved",
                proof.method,
                proof.claim,
                proof.conditions,
                proof.classes,
                tuple((_sizes_text(t.sizes), t.relative_error) for t in trials if t.error_bound is None),
                exact=tuple((_sizes_text(t.sizes), t.error_bound) for t in trials if t.error_bound is not None),
                evidence=verdict.evidence,
            )
        case Refuted(candidate, w):
            result = f"result {w.result}, " if w.result else ""
            where = f"at {_sizes_text(w.sizes)}, seed {w.seed}, {result}element [{', '.join(map(str, w.index))}]"
            by = f"off by {w.relative_error:.2g} of the largest value" if isfinite(w.relative_error) else "a race"
            detail = f"{where}: the program gives {w.expected:.6g}, the candidate {w.found:.6g} ({by})"
            return VerdictReached(candidate.id, "refuted", "counterexample", detail, witness=show_counterexample(w))
        case Unknown(candidate, limit, _, nearest, shared, unmatched, case):
            return VerdictReached(
                candidate.id,
                "unknown",
                "",
                limit,
                nearest=tuple(n for n in nearest if n),
                shared=tuple((c.term, (*c.program, *c.candidate)) for c in shared),
                apart=unmatched,
                case=case,
            )
        case _:
            assert_never(verdict)


def restore_verified(candidate: Candidate, event: VerdictReached, seed: int) -> Verified | None:
    """A verified candidate from a saved verdict, without its certificate; None where it was not proved.

    Nothing is proved again: the verdict is as trustworthy as the file.

    Raises:
        JournalVersionError: the event has a method or a trial that no verdict has.
    """
    if event.verdict != "proved":
        return None
    if event.method not in ("normal form", "cleared denominators", "e-graph"):
        raise JournalVersionError(
            f"the saved verdict on {candidate.id} was reached by {event.method!r}, which is no way"
        )
    try:
        floats = tuple(Trial(_sizes(at), seed + n, error) for n, (at, error) in enumerate(event.trials))
        exact = tuple(
            Trial(_sizes(at), seed + n, 0.0, (0.0, 0.0), "prime fields", bound)
            for n, (at, bound) in enumerate(event.exact)
        )
    except ValueError as error:
        raise JournalVersionError(f"the saved verdict on {candidate.id} names no sizes: {error}") from None
    proof = Proof(event.method, event.detail, event.conditions, tuple(EClass(*c) for c in event.classes))
    return Verified(candidate, proof, (*floats, *exact))


def _sizes_text(sizes: tuple[tuple[str, int], ...]) -> str:
    return ", ".join(f"{s}={n}" for s, n in sizes)


def _sizes(text: str) -> tuple[tuple[str, int], ...]:
    pairs = (word.partition("=") for word in text.split(", ") if word)
    return tuple((symbol, int(number)) for symbol, _, number in pairs)
