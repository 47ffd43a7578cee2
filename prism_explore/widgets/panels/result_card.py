"""The result card: the best kernel with its time, against the baselines and the limit, and why it won.

The card is always shown, above all panels. Before the first kernel it says what the search has so far; after a search
without an improvement it shows the baseline and why nothing is faster; without a proof, the nearest miss.
"""

from __future__ import annotations

from dataclasses import dataclass

from prism_explore.cost.work import work_of
from prism_explore.errors import PrismError
from prism_explore.events.claim import why_untimed
from prism_explore.events.fastest import OURS, ROOFLINE
from prism_explore.events.format import count_text, factor_text, seconds_text
from prism_explore.events.kinds import BaselineMeasured, RivalTimed
from prism_explore.events.ledger import Ledger, Trial, outcome, why_untuned
from prism_explore.events.ledger.kernel_time import BEATEN_RATIO, DOUBTFUL_RATIO
from prism_explore.events.no_improvement import NothingFaster
from prism_explore.ir.graph import SGraph
from prism_explore.ir.text import parse
from prism_explore.support.caches import memoize
from prism_explore.widgets.panels.cards import action
from prism_explore.widgets.panels.context import Context
from prism_explore.widgets.panels.sections import Action, Comparison, ResultCard, ResultLink

NOTABLE = 0.95
"""A smaller ratio of work between the kernel and the program is named as a reason."""


def result_card(context: Context) -> ResultCard:
    """The section of the card."""
    ledger = context.ledger
    finished = ledger.finished is not None
    if finished and ledger.nothing_faster is not None:
        return _baseline_card(ledger.nothing_faster)
    if (best := ledger.best) is not None:
        return _best_card(best, context)
    return _unfinished_card(context)


def _baseline_card(held: NothingFaster) -> ResultCard:
    """The card of a search that ended without an improvement over the time to beat."""
    return ResultCard(
        "baseline",
        "kept, because nothing is faster:" if held.baseline else "nothing is below the time to beat:",
        held.baseline,
        time=held.time_to_beat,
        spread="measured first" if held.baseline else "",
        sentence=f"{held.nearest} comes nearest; its lower bound is {held.bound} (modelled).",
        links=(_link(held.nearest, "inspector", "Nearest", "what comes nearest to the time to beat, and its bound"),),
    )


def _best_card(best: Trial, context: Context) -> ResultCard:
    ledger = context.ledger
    time = best.kernel_time
    assert time is not None, "the best trial was timed"
    label = "best" if ledger.finished is not None else "best so far"
    runner_up = find_runner_up(best, ledger)
    return ResultCard(
        "badge-best",
        label,
        best.candidate,
        best.trial,
        seconds_text(time.time_s),
        f"{time.spread_text}, measured",
        f"The median, and p20 to p80, of {time.samples} measurements {time.source_text}.",
        _why_best(best, runner_up, context),
        time.warning,
        time.doubt,
        _comparisons(best, ledger, time.time_s),
        _links(best, runner_up, context),
        _time_again(context) if time.warning else (),
    )


def _time_again(context: Context) -> tuple[Action, ...]:
    """The button that times everything again, where a session shows its present and ended state."""
    search = context.search
    is_possible = search.space is not None and search.state == "finished" and not context.view.cursor
    return (action("Time again", "time_again", {}, True),) if is_possible else ()


def _unfinished_card(context: Context) -> ResultCard:
    """The card without a timed kernel: the state of the search, or why it found none."""
    ledger = context.ledger
    n = ledger.funnel
    if not context.events.count:
        return ResultCard("frontier", "no result yet", sentence="Press Step (.) or Run (Space) to start the search.")
    families, candidates = (
        count_text(n.families, "family", "families"),
        count_text(n.candidates, "candidate", "candidates"),
    )
    counts = f"{families}, {candidates}, {n.proved:,} proved"
    if ledger.finished is None:
        return ResultCard("frontier", "no kernel yet", sentence=f"No kernel has been timed so far: {counts}.")
    if n.proved:
        return ResultCard("proved", "no kernel", sentence=f"{n.proved:,} proved, but {_why_no_time(ledger)}.")
    if not ledger.near_misses:
        return ResultCard("frontier", "no kernel", sentence=f"Nothing is proved: {counts}.")
    miss = ledger.near_misses[0]
    passes = f" It would pass if {miss.reopens}." if miss.reopens else ""
    return ResultCard(
        "unknown",
        "nearest miss",
        miss.subject,
        miss.subject,
        sentence=f"Nothing is proved: {miss.subject}, {miss.description}.{passes}",
        links=(_link(miss.subject, "inspector", "Why", "why it is not a result"),),
    )


def _why_no_time(ledger: Ledger) -> str:
    """Why no kernel of a proved candidate was timed; a family that could be tuned shows that nothing was."""
    could_be_tuned = any(outcome(row, ledger).code == "not reached" for row in ledger.families)
    return (why_untuned(ledger) if could_be_tuned else "") or why_untimed(ledger)


# ---------------------------------------------------------------- comparisons
def _comparisons(best: Trial, ledger: Ledger, best_s: float) -> tuple[Comparison, ...]:
    """The fastest baseline, the limit, then the other baselines."""
    first, *others = _baselines(ledger, best_s) or (None,)
    return tuple(c for c in (first, *_limit(best, ledger, best_s), *others) if c is not None)


def _baselines(ledger: Ledger, best_s: float) -> tuple[Comparison, ...]:
    """Every baseline against the best kernel: of the final race, else those that were timed first."""
    raced = [b for b in ledger.final_race if b.name not in (OURS, ROOFLINE)]
    if raced:
        return tuple(_raced(b, best_s) for b in sorted(raced, key=_fastest_first))
    return tuple(_timed_first(b, best_s) for b in sorted(ledger.initial_baselines, key=_fastest_first))


def _fastest_first(b: BaselineMeasured | RivalTimed) -> tuple[bool, float]:
    return not b.samples, b.time_s


def _raced(b: BaselineMeasured, best_s: float) -> Comparison:
    if not b.samples:
        return Comparison(b.name, "–", "not timed", b.note)
    if not b.ratio:
        return Comparison(
            b.name, factor_text(b.time_s / best_s), seconds_text(b.time_s), b.note or "Both times, divided."
        )
    how = (
        f"The time of {b.name} divided by that of the kernel, median over the rounds of the final race: {b.ratio:.3g} "
        f"({b.ratio_p25:.3g} to {b.ratio_p75:.3g} in half of the rounds). More than 1: the kernel is faster."
    )
    mark, why = _disagreement(b, best_s)
    return Comparison(b.name, factor_text(b.ratio), seconds_text(b.time_s) + mark, how + why)


def _disagreement(b: BaselineMeasured, best_s: float) -> tuple[str, str]:
    """A mark and its reason, where the median of the ratios is far from the ratio of the medians; else empty."""
    of_medians = b.time_s / best_s
    if max(of_medians, b.ratio) <= DOUBTFUL_RATIO * min(of_medians, b.ratio):
        return "", ""
    return " ⚠", f" The quotient of the two medians is {of_medians:.3g}: the machine's speed changed during the race."


def _timed_first(b: RivalTimed, best_s: float) -> Comparison:
    if not b.samples:
        return Comparison(b.name, "–", "not timed", b.note)
    how = f"{b.name} was timed before the enumeration, not in the same run as the kernel; the final race compares both."
    return Comparison(b.name, factor_text(b.time_s / best_s), seconds_text(b.time_s), how)


def _limit(best: Trial, ledger: Ledger, best_s: float) -> tuple[Comparison, ...]:
    """The lower bound on the time: measured in the final race if it is one, else modelled."""
    modelled = best.floor_s
    also = f" The cost model's bound is {seconds_text(modelled)}." if modelled else ""
    how = "The lower bound on the time of every choice of tuning parameters (roofline), from the cost model."
    for b in ledger.final_race:
        if b.name == ROOFLINE and b.samples and b.ratio:
            if max(b.ratio, b.time_s / best_s) > BEATEN_RATIO and modelled:
                how += f" The measured one, {seconds_text(b.time_s)}, is none: the machine was slower at that moment."
                break
            measured = "The time in which this machine moves the same bytes or computes the same arithmetic, measured."
            mark, why = _disagreement(b, best_s)
            time = seconds_text(b.time_s) + mark
            return (Comparison("of the limit (measured)", f"{b.ratio:.0%}", time, measured + also + why, True),)
    if not modelled:
        return ()
    share = f"{modelled / best_s:.0%}" if modelled >= 0.005 * best_s else "<1%"
    if modelled / best_s > BEATEN_RATIO:
        share = "over 100%"
        how += " The measured time is below it, see the warning."
    return (Comparison("of the limit (modelled)", share, seconds_text(modelled), how, True),)


# ---------------------------------------------------------------- why it won
def find_runner_up(best: Trial, ledger: Ledger) -> Trial | None:
    """The fastest trial of another family that you did not reject; None where no other family was timed."""
    others = (f.best for f in ledger.families if f.family != best.family and f.choice != "rejected")
    return min((t for t in others if t is not None), key=lambda t: t.time_s or 0.0, default=None)


def _margin(ratio: float, runner_up: str) -> str:
    """How much faster it was than the runner-up; the best is chosen in rounds that both run, not by their trials."""
    if ratio < 0.995:
        slower = factor_text(1 / ratio)
        return f"its trial took {slower} the time of the runner-up {runner_up}; it was chosen in common rounds"
    if ratio < 1.005:
        return f"no slower than the runner-up {runner_up} in their trials"
    return f"{factor_text(ratio)} as fast as the runner-up {runner_up} in their trials"


def _why_best(best: Trial, runner_up: Trial | None, context: Context) -> str:
    """One sentence: the differences in work from the program, then the margin over the runner-up."""
    ledger, event = context.ledger, context.events.candidates.get(best.candidate)
    search = context.search
    work = work_differences(search.program.graph, event.sgraph, search.shapes) if event else ()
    margin = "no other family was timed"
    if runner_up is not None and runner_up.time_s and best.time_s:
        margin = _margin(runner_up.time_s / best.time_s, runner_up.candidate)
    difference = ", ".join(work) or "the same work as the program; tile sizes and code make the difference"
    torch = ledger.faster_baseline
    prefix = f"{torch.baseline.name} was faster, so best() runs it. " if torch is not None else ""
    return f"{prefix}{difference[0].upper()}{difference[1:]}; {margin}."


@dataclass(frozen=True, slots=True)
class Work:
    """The least work of a graph: each tensor read and written once per kernel."""

    kernels: int
    bytes: float | None
    """None where a size has no value."""
    flops: float | None


@memoize(64)
def work_differences(program: SGraph, sgraph: str, shapes: tuple[tuple[str, int], ...]) -> tuple[str, ...]:
    """What a candidate does less of than the program run operator by operator, as clauses with both figures.

    Args:
        program: the graph of the program.
        sgraph: the candidate, as text.
        shapes: the value of each symbol of the program.
    """
    try:
        ours, theirs = work_of_graph(parse(sgraph), shapes), work_of_graph(program, shapes)
    except PrismError:
        return ()
    clauses: list[str] = []
    if ours.kernels < theirs.kernels:
        one = "1 kernel" if ours.kernels == 1 else f"{ours.kernels} kernels"
        clauses.append(f"{one} instead of {theirs.kernels}")
    if ours.bytes is not None and theirs.bytes and ours.bytes < NOTABLE * theirs.bytes:
        clauses.append(f"moves {amount(ours.bytes)}B instead of {amount(theirs.bytes)}B of tensors (counted)")
    if ours.flops is not None and theirs.flops and ours.flops < NOTABLE * theirs.flops:
        clauses.append(f"{amount(ours.flops)}FLOP instead of {amount(theirs.flops)}FLOP (counted)")
    return tuple(clauses)


def work_of_graph(graph: SGraph, shapes: tuple[tuple[str, int], ...]) -> Work:
    """The least work of a graph at these values of the symbols."""
    works, sizes = work_of(graph), dict(shapes)
    try:
        moved = sum(
            float(w.written_bytes.rational(sizes))
            + sum(float(b.rational(sizes)) for b in {load.tensor: load.least_bytes for load in w.loads}.values())
            for w in works
        )
        flops = sum(float(w.least_flops.rational(sizes)) for w in works)
    except PrismError:
        return Work(len(works), None, None)
    return Work(len(works), moved, flops)


def amount(count: float) -> str:
    """A count with three digits and a decimal prefix.

    >>> amount(4_200_000)
    '4.2 M'
    """
    for factor, prefix in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if count >= factor:
            return f"{count / factor:.3g} {prefix}"
    return f"{count:.3g} "


# ---------------------------------------------------------------- links
def _links(best: Trial, runner_up: Trial | None, context: Context) -> tuple[ResultLink, ...]:
    links = [_link(best.candidate, "eclasses", "Proof", f"the proof of {best.candidate}: its e-classes and lemmas")]
    if best.trial in context.events.sources:
        links.append(_link(best.trial, "code", "Code", f"the generated source of {best.trial}"))
    if runner_up is not None:
        words = f"{runner_up.candidate}, {runner_up.kernel_time}"
        links.append(_link(runner_up.candidate, "inspector", "Runner-up", words))
    return tuple(links)


def _link(ref: str, panel: str, label: str, description: str) -> ResultLink:
    return ResultLink(ref, panel, label, description)
