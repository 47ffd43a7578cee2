"""The claim of a search: sentences that state what it showed and what it did not show.

Input: the ledger of the search. "Best" refers to measured kernels only, and "proved" to proofs only. Everything that
was excluded by another rule than a sound one is counted. The claim is stored in the last event of a search, so the
sentences do not change.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from prism_explore.events.fastest import ROOFLINE
from prism_explore.events.format import count_text, seconds_text, why_tuning_ended
from prism_explore.events.kinds import (
    FAMILIES_SPENT,
    FAMILY_BUDGET,
    MISSING_OPERATORS,
    TIME_SPENT,
    Event,
    ExplorationStarted,
    Soundness,
    TuningEnded,
)
from prism_explore.events.ledger import Ledger, Stop, fastest_baseline, ledger


@dataclass(frozen=True, slots=True)
class _Words:
    """The terms of a claim: those of a stored one never change, and those for people are the explorer's."""

    parameters: str
    prunings: tuple[str, str]
    """One, and many."""
    pruned_subtree: tuple[str, str]
    """The same, before the reason."""
    subtree_was_pruned: tuple[str, str]
    """The same, without a reason."""
    pruned_by: str
    most_names: int | None = None
    """Largest number of families that are named in a list, the others being counted; None for all."""


_STORED = _Words("Numbers", ("cut", "cuts"), ("region", "regions"), ("region cut", "regions cut"), "cut by")
_SHOWN = _Words(
    "Tuning parameters",
    ("pruning", "prunings"),
    ("pruned subtree", "pruned subtrees"),
    ("subtree pruned", "subtrees pruned"),
    "pruned by",
    most_names=3,
)


def claim(events: Iterable[Event] | Ledger, stop: Stop | None = None) -> str:
    """The claim of a search as it is stored.

    Args:
        events: the events of the search, or their ledger.
        stop: why the search ended, where the events do not contain that yet.
    """
    book = events if isinstance(events, Ledger) else ledger(events)
    ended = book.finished.stop if stop is None and book.finished else stop
    return _text(book, ended, _STORED)


def shown_claim(events: Iterable[Event] | Ledger) -> str:
    """The claim for people: the sentences of `claim`, in the words of the explorer.

    Args:
        events: the events of the search, or their ledger.

    Example:
        >>> shown_claim(())
        'No family found within the stated space. Nothing was excluded.'
    """
    book = events if isinstance(events, Ledger) else ledger(events)
    text = _text(book, book.finished.stop if book.finished else None, _SHOWN)
    if book.repeated is None:
        return text
    minute = book.repeated.stored[: len("2026-01-31T12:00")].replace("T", " at ")
    return f"{text} Verdicts and times are those of a search that was stored on {minute} UTC."


def _text(book: Ledger, ended: Stop | None, words: _Words) -> str:
    sentences = (
        _best(book),
        _faster_baseline(book),
        _not_waited_for(book),
        _trials(book),
        _ranges(book),
        _missing_operators(book),
        _time_to_beat(book),
        _nothing_faster(book, ended),
        _excluded(book, words),
        _undecided(book),
        _near_misses(book, ended, words),
        _float_safety(book, words),
        _tuning(book, words),
        _end(book, ended),
    )
    return " ".join(s for s in sentences if s)


def _best(book: Ledger) -> str:
    """The best kernel; else how many families were proved or found."""
    within = _space(book.started)
    shown = [f for f in book.families if f.status == "proved"]
    proved = [f for f in shown if f.choice != "rejected"]
    best = book.best
    if best is not None and best.time_s is not None:
        timed = sum(f.best_s is not None for f in proved)
        which = "the one" if len(proved) == 1 else f"the {len(proved)}"
        some = "" if timed == len(proved) else f", of which {timed} {'was' if timed == 1 else 'were'} timed"
        families = "family" if len(proved) == 1 else "families"
        time = seconds_text(book.best_s or best.time_s)
        return f"Best of {which} proved {families}{some}, {within}: {best.candidate} at {time}."
    if proved:
        return f"{count_text(len(proved), 'family', 'families')} proved {within}; {why_untimed(book)}."
    if shown:
        which = "The only family" if len(shown) == 1 else f"All {len(shown)} families"
        return f"{which} proved {within} {'was' if len(shown) == 1 else 'were'} rejected by you."
    if book.families:
        return f"{count_text(len(book.families), 'family', 'families')} found {within}; none has been proved."
    return f"No family found {within}."


def _faster_baseline(book: Ledger) -> str:
    """The torch baseline that was faster than the best kernel; empty where none was."""
    faster = book.faster_baseline
    if faster is None:
        return ""
    return f"Torch was faster beside it: {faster}; where the torch code is at hand, that is called."


def _not_waited_for(book: Ledger) -> str:
    """The baselines that the final race did not wait for; empty where there are none."""
    rows = book.not_waited_for
    if not rows:
        return ""
    names = _list(row.name for row in rows)
    verb, it = ("was", "it") if len(rows) == 1 else ("were", "them")
    return (
        f"The final race did not wait for {names}, which {verb} still being compiled: the kernel was not compared with "
        f"{it}."
    )


def _trials(book: Ledger) -> str:
    """The trials that the proved candidates passed."""
    proved = [v for v in book.verdicts.values() if v.verdict == "proved" and v.evidence]
    exact = [math.prod(bound for _, bound in v.exact) for v in proved if v.exact]
    if not proved:
        return ""
    text = f"Beside {'its proof' if len(proved) == 1 else 'their proofs'}, "
    text += f"{count_text(len(proved), 'candidate', 'candidates')} survived random trials in float64"
    if not exact:
        return f"{text}; none had one in exact arithmetic."
    which = "" if len(proved) == 1 else "all of them " if len(exact) == len(proved) else f"{len(exact)} of them "
    return f"{text}, and {which}exact trials in prime fields, which err with probability {max(exact):.0e} at most."


def _time_to_beat(book: Ledger) -> str:
    """The measured time to beat; empty where none was measured."""
    if not book.initial_baselines:
        return ""
    first = fastest_baseline(book.initial_baselines)
    if first is None:
        reasons = "; ".join(f"{r.name}: {r.note}" for r in book.initial_baselines)
        return f"Nothing was held against a rival's time, because none could be timed ({reasons})."
    return f"The time to beat was that of {first.name}, {seconds_text(first.time_s)}, measured first."


def _nothing_faster(book: Ledger, stop: Stop | None) -> str:
    """After the end of the search: that nothing is below the time to beat, where that is so."""
    return "" if stop is None or book.nothing_faster is None else str(book.nothing_faster)


def why_untimed(book: Ledger) -> str:
    """That no kernel was timed, and the most frequent failure."""
    failures = Counter(t.failure.sentence for t in book.trials if t.failure is not None)
    if not failures:
        return "no kernel has been timed"
    (sentence, often), *_ = failures.most_common(1)
    which = "the one trial" if len(book.trials) == 1 else f"{often} of {len(book.trials)} trials"
    return f"no kernel has been timed, because {which} failed: {sentence.rstrip('.')}"


def _space(started: ExplorationStarted | None) -> str:
    stated = {k: v for k, v in started.space.items() if k != MISSING_OPERATORS} if started else {}
    limits = ", ".join(f"{k} {v}" for k, v in stated.items())
    if not limits:
        return "within the stated space"
    if started and len(limits) > 120:
        return f"within the stated space ({len(stated)} limits)"
    return f"within the stated space ({limits})"


def _ranges(book: Ledger) -> str:
    """The ranges of symbols for which the proofs hold; empty where no symbol has a range."""
    bounds = book.started.ranges if book.started else ()
    if not bounds or not any(f.status == "proved" for f in book.families):
        return ""
    ranges = _list(f"{s} from {low} to {high}" for s, low, high in bounds)
    return f"What is proved holds at every {ranges} at which its conditions hold."


def _missing_operators(book: Ledger) -> str:
    """The operators of the program that the space lacks; the first event stores them as one text only."""
    names = book.started.space.get(MISSING_OPERATORS, "") if book.started else ""
    if not names:
        return ""
    return f"The space lacks {_list(names.split(', '))} of the program: families that need it were not searched."


def _excluded(book: Ledger, words: _Words) -> str:
    """How much was excluded by other rules than sound ones."""
    counts: Counter[tuple[Soundness, str]] = Counter()
    for row in book.prune_counts:
        counts[row.soundness, row.what] += row.count
    by_hand = book.steering.named("rejected")
    except_for = [f"{_list(by_hand)} by you"] if by_hand else []
    if not book.steering.standing and not book.steering.undone and (n := counts["user", "region"]):
        except_for.append(f"{count_text(n, *words.pruned_subtree)} by you")
    by_rule: tuple[tuple[Soundness, str], ...] = (("budget", "by budget"), ("heuristic", "by heuristic rules"))
    for soundness, word in by_rule:
        for what, one, many in (
            ("region", *words.pruned_subtree),
            ("maps", "choice of maps", "choices of maps"),
            ("family", "proved family", "proved families"),
        ):
            if n := counts[soundness, what]:
                except_for.append(f"{count_text(n, one, many)} {word}")
    sound = counts["sound", "region"] + counts["sound", "maps"]
    text = (
        f"Nothing was excluded but by sound rules ({count_text(sound, *words.prunings)})"
        if sound
        else "Nothing was excluded"
    )
    return f"{text}, except {_list(except_for)}." if except_for else f"{text}."


def _undecided(book: Ledger) -> str:
    """How many candidates are unknown, and how many have no verdict."""
    unknown = book.funnel.unknown
    waiting = book.funnel.candidates - len(book.verdicts)
    sentences: list[str] = []
    if unknown:
        verb = "is" if unknown == 1 else "are"
        left = sum(bool(v.budget) for v in book.verdicts.values())
        spent = f"; the time for proofs was spent before {left:,} of them" if left else ""
        sentences.append(
            f"{count_text(unknown, 'candidate', 'candidates')} {verb} unknown: neither proved nor refuted{spent}."
        )
    if waiting > 0:
        verb = "has" if waiting == 1 else "have"
        sentences.append(f"{count_text(waiting, 'candidate', 'candidates')} {verb} no verdict yet.")
    return " ".join(sentences)


def _near_misses(book: Ledger, stop: Stop | None, words: _Words) -> str:
    """After the end of a search without a proof: the counts per stage, and the near misses."""
    if stop is None or not book.near_misses:
        return ""
    f = book.funnel
    rules = ", ".join(f"{row.count:,} by {row.rule}" for row in book.prune_counts if row.what == "region")
    funnel = (
        f"{count_text(f.expanded, 'partial graph', 'partial graphs')} kept, "
        f"{count_text(f.pruned, *words.subtree_was_pruned)}{f' ({rules})' if rules else ''}, "
        f"{count_text(f.families, 'family', 'families')}, "
        f"{count_text(f.maps_rejected, 'choice of maps', 'choices of maps')} forbidden, "
        f"{count_text(f.candidates, 'candidate', 'candidates')}, {f.refuted:,} refuted, {f.unknown:,} unknown, 0 proved"
    )
    nearest = "; ".join(
        f"{miss.subject}, {miss.describe(words.pruned_by)}{f' (reopens if {miss.reopens})' if miss.reopens else ''}"
        for miss in book.near_misses
    )
    return f"Funnel: {funnel}. Nearest misses: {nearest}."


_PRECISIONS: Mapping[str, str] = {"f64": "float64", "f32": "float32", "bf16": "bfloat16", "f16": "float16"}


def _float_safety(book: Ledger, words: _Words) -> str:
    """The proved families that are unsafe in floating point or were not assessed."""
    rejected = book.steering.named("rejected")
    assessed = [e for e in book.floats.values() if e.family not in rejected]
    unsafe = [e for e in assessed if e.outcome == "unsafe"]
    unassessed = [e for e in assessed if e.outcome == "unassessed"]
    sentences: list[str] = []
    if unsafe:
        verb = "is" if len(unsafe) == 1 else "are"
        first, *others = unsafe
        likewise = f"; {_list((e.family for e in others), words.most_names)} likewise" if others else ""
        sentences.append(
            f"{count_text(len(unsafe), 'family', 'families')} equal over the reals {verb} unsafe in "
            f"{_PRECISIONS.get(first.dtype, first.dtype)}: {', '.join((first.family, *first.reasons[:1]))}{likewise}."
        )
    if withheld := [family for family in book.withheld if family not in rejected]:
        verb = "is" if len(withheld) == 1 else "are"
        names = _list(withheld, words.most_names)
        sentences.append(f"{names} {verb} not offered for it; accept a family to have it all the same.")
    best = book.best
    if best is not None and best.family in {e.family for e in unsafe}:
        by = "you accepted it" if best.family in book.steering.named("accepted") else "unsafe families were allowed"
        sentences.append(f"The best is unsafe in floating point: {by}.")
    if unassessed:
        count = count_text(len(unassessed), "family was", "families were")
        sentences.append(f"{count} not assessed in floating point: {unassessed[0].family}, {unassessed[0].detail}.")
    return " ".join(sentences)


def _tuning(book: Ledger, words: _Words) -> str:
    """How many trials were timed, and how many candidates and families were not timed and why."""
    if not book.funnel.measured:
        return _restricted(book)
    text = (
        f"{words.parameters} were chosen by {count_text(book.funnel.measured, 'timed trial', 'timed trials')}, "
        "not by trying all"
    )
    if n := book.funnel.bounded:
        verb = "was" if n == 1 else "were"
        bound = "its modelled bound is" if n == 1 else "their modelled bounds are"
        one = count_text(n, "proved candidate", "proved candidates")
        rates = any(row.what == "candidate" and row.soundness == "heuristic" for row in book.prune_counts)
        limits = ", if the machine's measured rates are its limits" if rates else ""
        text += f"; {one} {verb} not timed because {bound} no better than the best time{limits}"
    dominated = [f.family for f in book.families if f.dominated_by and f.status == "proved" and f.best_s is None]
    if dominated and not any(row.what == "family" for row in book.prune_counts):
        verb = "was" if len(dominated) == 1 else "were"
        families = count_text(len(dominated), "proved family", "proved families")
        text += f"; {families} that cost no less than another in the model came behind it and {verb} not timed"
    ended = f" Tuning ended, {tuning_end_text(book.tuning_ended)}." if book.tuning_ended is not None else ""
    return f"{text}.{ended} {_restricted(book)}".strip()


_REPLAYED: Mapping[int, tuple[int, float]] = {5: (93, 6.5), 6: (95, 6.5), 10: (97, 6.4), 15: (98, 6.4)}
"""Replays of `climbing` with a gain of 2 % over five exhaustive sweeps, 12 seeds each: per patience, the percentage
of the runs that were within 5 % of 64 trials, and the largest loss in percent."""


def tuning_end_text(ended: TuningEnded) -> str:
    """Why tuning ended, and what replays say about such an end.

    Args:
        ended: the event.

    Example:
        >>> tuning_end_text(TuningEnded("bound", 12, 0.03))
        'because the best was within 3 % of the lower bound'
    """
    text = f"because {why_tuning_ended(ended)}"
    share, most = _REPLAYED.get(int(ended.limit), (0, 0.0))
    if ended.why != "patience" or not share or ended.strategy != "climbing" or ended.gain != 0.02:
        return text
    return (
        f"{text}; in replays of five exhaustive sweeps, {share} % of the runs that ended so were within 5 % of "
        f"64 trials, and the others within {most:g} %"
    )


def _restricted(book: Ledger) -> str:
    """The ranges of parameters to which the user restricted tuning; empty where there are none."""
    ranges = ", ".join(
        f"{name} = {low:,}" if low == high else f"{name} from {low:,} to {high:,}"
        for name, (low, high) in book.steering.ranges.items()
    )
    return f"You restricted tuning: {ranges}." if ranges else ""


def _end(book: Ledger, stop: Stop | None) -> str:
    """Why the search ended, unless it searched its full space."""
    match stop:
        case None:
            return "The search has not ended: this holds for what it has seen so far." if book.started else ""
        case "exhausted":
            return ""
        case "budget":
            left = f"The search stopped at its budget{_which_budget(book)}: what it had not reached was not searched."
            return f"{left} {_still_to_gain(book)}".rstrip()
        case "cancelled":
            return "The search was cancelled: what it had not reached was not searched."


def _which_budget(book: Ledger) -> str:
    """The budgets that were spent: of nodes, of time, or both."""
    codes = {row.code for row in book.prune_counts if row.soundness == "budget"}
    codes |= {v.budget for v in book.verdicts.values()}
    words = (("budget.nodes", "nodes"), (FAMILIES_SPENT, "families"), (TIME_SPENT, "time"))
    spent = [word for code, word in words if code in codes]
    return f" of {_list(spent)}" if spent else ""


def _still_to_gain(book: Ledger) -> str:
    """How close a quick search came to the machine's limit; other searches were stored without this sentence."""
    is_quick = book.started is not None and FAMILY_BUDGET in book.started.space
    limit = next((r for r in book.final_race if r.name == ROOFLINE and r.samples and r.ratio), None)
    if not is_quick or limit is None:
        return ""
    needed = f"{min(1.0, limit.ratio):.0%}".replace("%", " %")
    return (
        f"The machine needs {needed} of the best's time for its bytes and arithmetic alone, by rates measured beside "
        'it. budget="thorough" searches on.'
    )


def _list(words: Iterable[str], most: int | None = None) -> str:
    """Words in a sentence; beyond `most` of them the others are counted."""
    words = list(words)
    if most is not None and len(words) > most + 1:
        words = [*words[:most], f"{len(words) - most:,} others"]
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
