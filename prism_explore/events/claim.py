"""What a search showed and what it did not, in sentences, made from the ledger alone."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping

from prism_explore.events.format import seconds_text
from prism_explore.events.kinds import TIME_SPENT, Event, ExplorationStarted, Soundness
from prism_explore.events.ledger import Ledger, Stop, fastest_baseline, ledger


def claim(events: Iterable[Event] | Ledger, stop: Stop | None = None) -> str:
    """What the search showed, and what it did not: sentences that may be read aloud.

    "Best" is said of measured kernels only, "proved" of proofs only; whatever was left out by anything
    else than a sound rule is counted.

    Args:
        events: the facts, or what they add up to.
        stop: how the search ended, where that is not among the facts yet.
    """
    book = events if isinstance(events, Ledger) else ledger(events)
    ended = book.finished.stop if stop is None and book.finished else stop
    says = (
        _found(book),
        _outrun(book),
        _tried(book),
        _ranges(book),
        _lacking(book),
        _to_beat(book),
        _unbeaten(book, ended),
        _excluded(book),
        _undecided(book),
        _missed(book, ended),
        _floats(book),
        _tuned(book),
        _ended(book, ended),
    )
    return " ".join(s for s in says if s)


def _found(book: Ledger) -> str:
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
        return f"{_count(len(proved), 'family', 'families')} proved {within}; {_untimed(book)}."
    if shown:
        which = "The only family" if len(shown) == 1 else f"All {len(shown)} families"
        return f"{which} proved {within} {'was' if len(shown) == 1 else 'were'} rejected by you."
    if book.families:
        return f"{_count(len(book.families), 'family', 'families')} found {within}; none has been proved."
    return f"No family found {within}."


def _outrun(book: Ledger) -> str:
    """Where torch was faster than the best kernel; nothing where it was not."""
    by = book.faster_baseline
    return "" if by is None else f"Torch was faster beside it: {by}; where the torch code is at hand, that is called."


def _tried(book: Ledger) -> str:
    """Which trials the proved candidates survived beside their proofs."""
    proved = [v for v in book.verdicts.values() if v.verdict == "proved" and v.evidence]
    exact = [math.prod(bound for _, bound in v.exact) for v in proved if v.exact]
    if not proved:
        return ""
    said = f"Beside {'its proof' if len(proved) == 1 else 'their proofs'}, "
    said += f"{_count(len(proved), 'candidate', 'candidates')} survived random trials in float64"
    if not exact:
        return f"{said}; none had one in exact arithmetic."
    which = "it" if len(proved) == 1 else "all of them" if len(exact) == len(proved) else f"{len(exact)} of them"
    return f"{said}, and {which} exact trials in prime fields, which err with probability {max(exact):.0e} at most."


def _to_beat(book: Ledger) -> str:
    """What the search had to beat, where that was measured."""
    if not book.initial_baselines:
        return ""
    first = fastest_baseline(book.initial_baselines)
    if first is None:
        said = "; ".join(f"{r.name}: {r.note}" for r in book.initial_baselines)
        return f"Nothing was held against a rival's time, because none could be timed ({said})."
    return f"The time to beat was that of {first.name}, {seconds_text(first.time_s)}, measured first."


def _unbeaten(book: Ledger, stop: Stop | None) -> str:
    """Where nothing came below the time to beat; nothing before the search ended."""
    return "" if stop is None or book.nothing_faster is None else str(book.nothing_faster)


def _untimed(book: Ledger) -> str:
    """Why there is no time: nothing was tried, or what most trials failed of."""
    failures = Counter(t.failure.sentence for t in book.trials if t.failure is not None)
    if not failures:
        return "no kernel has been timed"
    (sentence, often), *_ = failures.most_common(1)
    which = "the one trial" if len(book.trials) == 1 else f"{often} of {len(book.trials)} trials"
    return f"no kernel has been timed, because {which} failed: {sentence.rstrip('.')}"


def _space(started: ExplorationStarted | None) -> str:
    stated = {k: v for k, v in started.space.items() if k != LACKS} if started else {}
    limits = ", ".join(f"{k} {v}" for k, v in stated.items())
    if not limits:
        return "within the stated space"
    if started and len(limits) > 120:
        return f"within the stated space ({len(stated)} limits)"
    return f"within the stated space ({limits})"


LACKS = "operators of the program that it lacks"
"""The one entry of a stated space that is no limit."""


def _ranges(book: Ledger) -> str:
    """Over which values it is said; nothing where no symbol has a range."""
    bounds = book.started.ranges if book.started else ()
    if not bounds or not any(f.status == "proved" for f in book.families):
        return ""
    said = _list(f"{s} from {low} to {high}" for s, low, high in bounds)
    return f"What is proved holds at every {said} at which its conditions hold."


def _lacking(book: Ledger) -> str:
    names = book.started.space.get(LACKS, "") if book.started else ""
    if not names:
        return ""
    return f"The space lacks {_list(names.split(', '))} of the program: families that need it were not searched."


def _excluded(book: Ledger) -> str:
    counts: Counter[tuple[Soundness, str]] = Counter()
    for cut in book.prune_counts:
        counts[cut.soundness, cut.what] += cut.count
    by_hand = book.steering.named("rejected")
    except_for = [f"{_list(by_hand)} by you"] if by_hand else []
    if not book.steering.standing and not book.steering.undone and (n := counts["user", "region"]):
        except_for.append(f"{_count(n, 'region', 'regions')} by you")
    words: tuple[tuple[Soundness, str], ...] = (("budget", "by budget"), ("heuristic", "by heuristic rules"))
    for soundness, word in words:
        for what, one, many in (
            ("region", "region", "regions"),
            ("maps", "choice of maps", "choices of maps"),
            ("family", "proved family", "proved families"),
        ):
            if n := counts[soundness, what]:
                except_for.append(f"{_count(n, one, many)} {word}")
    sound = counts["sound", "region"] + counts["sound", "maps"]
    says = (
        f"Nothing was excluded but by sound rules ({_count(sound, 'cut', 'cuts')})" if sound else "Nothing was excluded"
    )
    return f"{says}, except {_list(except_for)}." if except_for else f"{says}."


def _undecided(book: Ledger) -> str:
    unknown = book.funnel.unknown
    waiting = book.funnel.candidates - len(book.verdicts)
    says: list[str] = []
    if unknown:
        verb = "is" if unknown == 1 else "are"
        left = sum(bool(v.budget) for v in book.verdicts.values())
        spent = f"; the time for proofs was spent before {left:,} of them" if left else ""
        says.append(f"{_count(unknown, 'candidate', 'candidates')} {verb} unknown: neither proved nor refuted{spent}.")
    if waiting > 0:
        verb = "has" if waiting == 1 else "have"
        says.append(f"{_count(waiting, 'candidate', 'candidates')} {verb} no verdict yet.")
    return " ".join(says)


def _missed(book: Ledger, stop: Stop | None) -> str:
    """Where a search that ended without a proof lost everything, and what came farthest."""
    if stop is None or not book.near_misses:
        return ""
    f = book.funnel
    cuts = ", ".join(f"{cut.count:,} by {cut.rule}" for cut in book.prune_counts if cut.what == "region")
    funnel = (
        f"{_count(f.expanded, 'partial graph', 'partial graphs')} kept, "
        f"{_count(f.pruned, 'region', 'regions')} cut{f' ({cuts})' if cuts else ''}, "
        f"{_count(f.families, 'family', 'families')}, "
        f"{_count(f.maps_rejected, 'choice of maps', 'choices of maps')} forbidden, "
        f"{_count(f.candidates, 'candidate', 'candidates')}, {f.refuted:,} refuted, {f.unknown:,} unknown, 0 proved"
    )
    nearest = "; ".join(
        f"{miss.subject}, {miss.description}{f' (reopens if {miss.reopens})' if miss.reopens else ''}"
        for miss in book.near_misses
    )
    return f"Funnel: {funnel}. Nearest misses: {nearest}."


_PRECISIONS: Mapping[str, str] = {"f64": "float64", "f32": "float32", "bf16": "bfloat16", "f16": "float16"}


def _floats(book: Ledger) -> str:
    """Floats are not reals: what is unsafe though it is equal, and whether the best is."""
    rejected = book.steering.named("rejected")
    assessed = [e for e in book.floats.values() if e.family not in rejected]
    unsafe = [e for e in assessed if e.outcome == "unsafe"]
    unasked = [e for e in assessed if e.outcome == "unassessed"]
    says: list[str] = []
    if unsafe:
        verb = "is" if len(unsafe) == 1 else "are"
        first, *others = unsafe
        also = f"; {_list(e.family for e in others)} likewise" if others else ""
        says.append(
            f"{_count(len(unsafe), 'family', 'families')} equal over the reals {verb} unsafe in "
            f"{_PRECISIONS.get(first.dtype, first.dtype)}: {first.family}, {first.reasons[0]}{also}."
        )
    if out := [family for family in book.withheld if family not in rejected]:
        verb = "is" if len(out) == 1 else "are"
        says.append(f"{_list(out)} {verb} not offered for it; accept a family to have it all the same.")
    best = book.best
    if best is not None and best.family in {e.family for e in unsafe}:
        by = "you accepted it" if best.family in book.steering.named("accepted") else "unsafe families were allowed"
        says.append(f"The best is unsafe in floating point: {by}.")
    if unasked:
        count = _count(len(unasked), "family was", "families were")
        says.append(f"{count} not assessed in floating point: {unasked[0].family}, {unasked[0].detail}.")
    return " ".join(says)


def _tuned(book: Ledger) -> str:
    if not book.funnel.measured:
        return ""
    says = f"Numbers were chosen by {_count(book.funnel.measured, 'timed trial', 'timed trials')}, not by trying all"
    if n := book.funnel.bounded:
        verb = "was" if n == 1 else "were"
        bound = "its modelled bound is" if n == 1 else "their modelled bounds are"
        one = _count(n, "proved candidate", "proved candidates")
        rates = any(c.what == "candidate" and c.soundness == "heuristic" for c in book.prune_counts)
        limits = ", if the machine's measured rates are its limits" if rates else ""
        says += f"; {one} {verb} not timed because {bound} no better than the best time{limits}"
    last = [f.family for f in book.families if f.dominated_by and f.status == "proved" and f.best_s is None]
    if last and not any(cut.what == "family" for cut in book.prune_counts):
        verb = "was" if len(last) == 1 else "were"
        families = _count(len(last), "proved family", "proved families")
        says += f"; {families} that cost no less than another in the model came behind it and {verb} not timed"
    return says + "."


def _ended(book: Ledger, stop: Stop | None) -> str:
    match stop:
        case None:
            return "The search has not ended: this holds for what it has seen so far." if book.started else ""
        case "exhausted":
            return ""
        case "budget":
            return f"The search stopped at its budget{_which_budget(book)}: what it had not reached was not searched."
        case "cancelled":
            return "The search was cancelled: what it had not reached was not searched."


def _which_budget(book: Ledger) -> str:
    """Which of them bound it: of nodes, of time, or both."""
    codes = {cut.code for cut in book.prune_counts if cut.soundness == "budget"} | {
        v.budget for v in book.verdicts.values()
    }
    said = [word for code, word in (("budget.nodes", "nodes"), (TIME_SPENT, "time")) if code in codes]
    return f" of {_list(said)}" if said else ""


def _count(n: int, one: str, many: str) -> str:
    return f"{n:,} {one if n == 1 else many}"


def _list(words: Iterable[str]) -> str:
    words = list(words)
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
