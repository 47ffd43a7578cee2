"""The inspector: what the selected thing is, why it is so, and what can be done about it.

One function per kind of id. A reason is shown whole (sentence, formula, the formula with numbers in it,
how sure the rule is, what would reopen it): that a reader can doubt it is the point.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from prism_explore.errors import PrismError
from prism_explore.events.kinds import FloatsAssessed, Reason, Soundness, VerdictReached
from prism_explore.events.ledger import FamilyRow, Ledger, Trial, family_of, seconds_text
from prism_explore.ir.ops import Custom, Load, Store
from prism_explore.ir.program import TensorProgram
from prism_explore.ir.sgraph import SGraph, block_types
from prism_explore.ir.text import parse, show_node
from prism_explore.widgets.egraph_frames import frame_inspector, frame_ref, growth_of
from prism_explore.widgets.facts import Facts, numbers_text
from prism_explore.widgets.live import COMMANDS, read_click
from prism_explore.widgets.sections import Action, Inspector, Link, Pair, ReasonCard

SOUNDNESS: Mapping[Soundness, str] = {
    "sound": "A sound rule: whatever it cuts cannot be equal to the program, or is found elsewhere.",
    "heuristic": "A heuristic: something good may lie behind it.",
    "budget": "A limit was reached: nobody looked behind it.",
    "user": "Cut by you; undo brings it back.",
}
VERDICT_SAYS: Mapping[str, str] = {
    "proved": "Equal to the program for every size that meets the conditions, over the real numbers.",
    "refuted": "Not equal to the program: the witness below shows it.",
    "unknown": "Neither proved nor refuted. That is not a no.",
}
STATUS_SAYS: Mapping[str, str] = {
    "open": "No candidate of it has been decided.",
    "proved": "At least one candidate is proved equal to the program.",
    "unknown": "No candidate is proved; at least one is neither proved nor refuted.",
    "refuted": "Every candidate is refuted.",
    "impossible": "The constraints admit no maps for it.",
}
STATUS_KIND: Mapping[str, str] = {
    "open": "frontier",
    "proved": "proved",
    "unknown": "unknown",
    "refuted": "refuted",
    "impossible": "pruned-sound",
}
REASONS_SHOWN = 4


def inspect(ref: str, program: TensorProgram, facts: Facts, book: Ledger) -> Inspector | None:
    """What there is to say of an id; None where there is nothing."""
    if ref in facts.nodes:
        return _node(ref, facts)
    if ref in facts.regions:
        return _region(ref, facts)
    if ref in facts.families:
        return _family(next(r for r in book.families if r.family == ref), facts)
    if ref in facts.candidates:
        return _candidate(ref, facts, book)
    if trial := next((t for t in book.trials if t.trial == ref), None):
        return _trial(trial, book)
    if ref.startswith("program.%"):
        return _tensor(ref, "", ref.removeprefix("program.%"), facts, program.graph)
    if (frame := frame_ref(ref)) is not None:
        growth = growth_of(frame, program, facts)
        return frame_inspector(frame, growth) if growth is not None else None
    owner, _, tensor = ref.rpartition("/")
    text = facts.candidates[owner].sgraph if owner in facts.candidates else ""
    text = facts.families[owner].sgraph if owner in facts.families else text
    if text:
        return _tensor(ref, owner, tensor, facts, parse(text))
    return _eclass(ref, facts) or _reason_code(ref, facts, book)


# ---------------------------------------------------------------- the search
def _node(ref: str, facts: Facts) -> Inspector:
    node = facts.nodes[ref]
    family = facts.family_at.get(ref, "")
    links = [Link(node.parent, f"grown from {node.parent}")] if node.parent else []
    links += [Link(family, f"family {family}")] if family else []
    told: tuple[Pair, ...] = (
        ("level", node.level),
        ("grew on into", f"{facts.children.get(ref, 0)} kept, {facts.cut_below.get(ref, 0)} cut"),
    )
    return Inspector(
        ref,
        f"{ref}: a partial sGraph",
        kind="family" if family else "expanded",
        word="complete" if family else "kept",
        what=("The search added one operator and kept the result.",) if node.parent else ("The search begins here.",),
        facts=told,
        code=_history(ref, facts, node.operator) + (f"\n  computes {node.expression}" if node.expression else ""),
        links=tuple(links),
    )


def _history(ref: str, facts: Facts, last: str) -> str:
    """The operators that were added, first to last."""
    added: list[str] = []
    at = ref if ref in facts.nodes else facts.regions[ref].parent
    if ref not in facts.nodes:
        added.append(f"✂ {last}")
    while at in facts.nodes:
        added.append(f"{'+' if facts.nodes[at].parent else ' '} {facts.nodes[at].operator}")
        at = facts.nodes[at].parent
    return "\n".join(reversed(added))


def _region(ref: str, facts: Facts) -> Inspector:
    region = facts.regions[ref]
    many = f"{region.stood_for:,.0f} program{'' if region.stood_for == 1 else 's'}"
    return Inspector(
        ref,
        f"{ref}: a region that was cut",
        kind=f"pruned-{region.reason.soundness}",
        word="pruned",
        what=("The search would have added one operator here; the rule below says why it did not.",),
        facts=(("level", region.level), ("stood for", f"{many} ({region.counted})")),
        code=_history(ref, facts, region.operator),
        why=(reason_card(region.reason),),
        links=(Link(region.parent, f"cut below {region.parent}"),) if region.parent else (),
    )


def reason_card(reason: Reason, title: str = "") -> ReasonCard:
    """A reason with its numbers put in."""
    return ReasonCard(
        title=title or reason.code,
        kind=f"pruned-{reason.soundness}",
        sentence=reason.sentence,
        soundness=reason.soundness,
        soundness_says=SOUNDNESS[reason.soundness],
        formula=reason.formula,
        substituted=substituted(reason.formula, reason.substitution),
        facts=(("rule", f"{reason.rule}, of {reason.layer}"), *reason.substitution.items()),
        would_reopen_if=reason.would_reopen_if,
    )


_WORD = re.compile(r"[A-Za-z_]\w*")


def substituted(formula: str, meanings: Mapping[str, str]) -> str:
    """The formula with its symbols replaced, all at once; empty where nothing changes.

    >>> substituted("2*bm > smem", {"bm": "64", "smem": "232448"})
    '2*64 > 232448'
    """
    put = _WORD.sub(lambda m: meanings.get(m.group(), m.group()), formula)
    return put if put != formula else ""


def _reason_code(ref: str, facts: Facts, book: Ledger) -> Inspector | None:
    """All cuts with one reason code."""
    cuts = [c for c in book.cuts if c.code == ref]
    if not cuts:
        return None
    shown = [r for r in facts.regions.values() if r.reason.code == ref]
    maps = [r for rows in facts.rejected.values() for r in rows if r.reason.code == ref]
    reasons = [r.reason for r in (*shown, *maps)]
    return Inspector(
        ref,
        ref,
        kind=f"pruned-{cuts[0].soundness}",
        word=f"{sum(c.count for c in cuts):,} cuts",
        what=("Everything that was cut for this reason.",),
        facts=tuple(
            (f"by {c.rule}", f"{c.count:,} {'regions' if c.what == 'region' else 'choices of maps'}") for c in cuts
        ),
        why=(reason_card(reasons[0], f"{ref}, for example"),) if reasons else (),
        links=tuple(Link(r.region, r.region) for r in shown[:24]),
    )


# ---------------------------------------------------------------- families and candidates
def _family(row: FamilyRow, facts: Facts) -> Inspector:
    ref = row.family
    told: list[Pair] = [
        ("candidates", f"{row.candidates}: {row.proved} proved, {row.unknown} unknown, {row.refuted} refuted"),
        ("maps excluded", f"{row.maps_rejected:,}"),
        ("trials", f"{row.trials}, of which {row.failed} gave no kernel"),
    ]
    if row.best_s is not None:
        told.append(("best time", f"{seconds_text(row.best_s)} measured"))
    if row.floor_s is not None:
        told.append(("roofline", f"{seconds_text(row.floor_s)} modelled"))
    cards = [verdict_card(v) for c in facts.candidates_of(ref) if (v := facts.verdicts.get(c)) is not None][
        :REASONS_SHOWN
    ]
    if (floats := facts.floats.get(ref)) is not None:
        cards.insert(0, floats_card(floats))
    first: dict[str, Reason] = {}
    for event in facts.rejected.get(ref, []):
        first.setdefault(event.reason.code, event.reason)
    cards += [reason_card(r) for r in list(first.values())[:REASONS_SHOWN]]
    return Inspector(
        ref,
        f"{ref}: a family",
        kind=STATUS_KIND[row.status],
        word=row.choice or row.status,
        what=("One sGraph with open maps and symbolic sizes; it stands for many programs.", STATUS_SAYS[row.status]),
        facts=tuple(told),
        why=tuple(cards),
        actions=steering_actions(ref, row.choice),
        links=(Link(row.node, f"completed at {row.node}"), *(Link(c, c) for c in facts.candidates_of(ref))),
    )


def _candidate(ref: str, facts: Facts, book: Ledger) -> Inspector:
    event = facts.candidates[ref]
    verdict = facts.verdicts.get(ref)
    trials = [t for t in book.trials if t.candidate == ref]
    times = [t.time_s for t in trials if t.time_s is not None]
    told: list[Pair] = [("cuts", "; ".join(event.uses) or "nothing")]
    told += [("needs", f"{c} a positive integer") for c in event.conditions]
    if times:
        told.append(("best time", f"{seconds_text(min(times))} measured, of {len(times)} trials"))
    cards = [verdict_card(verdict)] if verdict else []
    if bound := facts.bounded.get(ref):
        says = (
            f"Its modelled bound {seconds_text(bound.floor_s)} is no better than the best time "
            f"{seconds_text(bound.best_s)}, so it was not timed."
        )
        cards.append(ReasonCard("tune.bound", "", says))
    if certificate := facts.certificates.get(ref):
        done = sum(row[4] for row in certificate.lemmas)
        cards.append(
            ReasonCard(
                "certificate", "", f"egglog replayed {done} of {len(certificate.lemmas)} lemmas from axioms alone."
            )
        )
    family = next((r for r in book.families if r.family == event.family), None)
    return Inspector(
        ref,
        f"{ref}: a candidate",
        kind=verdict.verdict if verdict else "frontier",
        word=verdict.verdict if verdict else "no verdict yet",
        what=("The family with its maps chosen; sizes are still symbols.",),
        facts=tuple(told),
        why=tuple(cards),
        actions=steering_actions(event.family, family.choice if family else ""),
        links=(
            Link(event.family, f"family {event.family}"),
            Link(f"{ref}/goal@0", "the e-graph of both results, step by step"),
            *(Link(t.trial, t.trial) for t in trials[:24]),
        ),
    )


def verdict_card(verdict: VerdictReached) -> ReasonCard:
    """Why a candidate is proved, refuted or unknown."""
    told: list[Pair] = [("method", verdict.method)] if verdict.method else []
    told += [("needs", f"{c} a positive integer") for c in verdict.conditions]
    told += [(f"at {sizes}", f"relative error {error:.1e} (random test)") for sizes, error in verdict.trials]
    return ReasonCard(
        title=f"{verdict.candidate} {verdict.verdict}",
        kind=verdict.verdict,
        sentence=verdict.detail,
        soundness_says=VERDICT_SAYS[verdict.verdict],
        facts=tuple(told),
    )


def floats_card(found: FloatsAssessed) -> ReasonCard:
    """How a family fares in floating point."""
    return ReasonCard(
        title=f"{found.family} {found.outcome} in {found.dtype}",
        kind={"safe": "", "unsafe": "refuted", "unassessed": "unknown"}[found.outcome],
        sentence=found.detail,
        soundness_says=f"A test of {found.candidate} on inputs made to break it, apart from the proof.",
        facts=tuple(("evidence", e) for e in found.evidence),
    )


def steering_actions(family: str, choice: str) -> tuple[Action, ...]:
    """What can be done with a family."""
    return (
        action(f"Accept {family}", "accept", {"id": family}, choice != "accepted"),
        action(f"Reject {family}", "reject", {"id": family}, choice != "rejected"),
        action("Undo", "undo", {}, bool(choice)),
    )


def action(label: str, command: str, args: Mapping[str, str], enabled: bool) -> Action:
    """A button for a command, with the line of Python that does the same."""
    click = read_click({"event_id": "-", "name": command, "args": args})
    says = next(c.says for c in COMMANDS if c.name == command)
    return Action(label, command, args, click.python, says, enabled)


# ---------------------------------------------------------------- inside a graph
def _tensor(ref: str, owner: str, name: str, facts: Facts, graph: SGraph) -> Inspector | None:
    """A tensor of the program, of a family or of a candidate: k3, k3.b7, or a position."""
    match = re.fullmatch(r"k?(\d+)(?:\.b(\d+))?", name)
    if match is None or int(match.group(1)) >= len(graph.nodes):
        return None
    position = int(match.group(1))
    node = graph.nodes[position]
    title, kind = f"%{position} = {show_node(node)}", "op"
    shape = graph.types()[position]
    what = "A tensor in device memory."
    if match.group(2) is not None:
        if not isinstance(node.op, Custom) or int(match.group(2)) >= len(node.op.block.nodes):
            return None
        types = block_types(node.op.block, tuple(graph.types()[a] for a in node.args))
        inner = node.op.block.nodes[int(match.group(2))]
        title, shape = f"%{match.group(2)} = {show_node(inner)}", types[int(match.group(2))]
        what = f"A tile, in every block of custom kernel %{position}."
        kind = "load" if isinstance(inner.op, Load) else "store" if isinstance(inner.op, Store) else "op"
    elif isinstance(node.op, Custom):
        kind = "custom"
        what = "A custom kernel: a block graph, run for every point of its grid."
    told: list[Pair] = [("type", str(shape)), ("bytes", str(shape.bytes))]
    verdict = facts.verdicts.get(owner)
    classes = [c for c in (verdict.classes if verdict else ()) if name in c[2]]
    told += [("equal to", term) for _, term, _ in classes]
    cards: list[ReasonCard] = []
    if certificate := facts.certificates.get(owner):
        for tensor, operation, value, axioms, replayed, note in certificate.lemmas:
            if tensor == name:
                by = ", ".join(axioms) or "the definition"
                how = "egglog derived it from these axioms alone" if replayed else f"not replayed: {note}"
                cards.append(ReasonCard("lemma", "", f"{operation} = {value}", facts=(("by", by), ("check", how))))
    links = [Link(c, f"e-class {c}") for c, _, _ in classes]
    links += [Link(f"{ref}@0", "its e-graph, step by step")] if owner in facts.candidates else []
    links += [Link(owner, owner)] if owner else []
    return Inspector(ref, title, kind, "", (what,), tuple(told), why=tuple(cards), links=tuple(links))


def _eclass(ref: str, facts: Facts) -> Inspector | None:
    for candidate, verdict in reversed(facts.verdicts.items()):
        for name, term, members in verdict.classes:
            if name == ref:
                links = tuple(Link(m if m.startswith("program.") else f"{candidate}/{m}", m) for m in members)
                return Inspector(
                    ref,
                    f"{ref}: an e-class",
                    "expanded",
                    f"{len(members)} members",
                    ("Tensors that are equal for all sizes, as the prover found.",),
                    code=term,
                    links=links,
                )
    return None


# ---------------------------------------------------------------- trials
def _trial(trial: Trial, book: Ledger) -> Inspector:
    told: list[Pair] = [("numbers", numbers_text(trial.parameters))]
    if trial.modelled_s is not None:
        told.append(("likely", f"{seconds_text(trial.modelled_s)} modelled"))
    if trial.floor_s is not None:
        told.append(("roofline", f"{seconds_text(trial.floor_s)} modelled"))
    if trial.time_s is not None and trial.p20_s is not None and trial.p80_s is not None:
        told.append(("time", f"{seconds_text(trial.time_s)} measured, median of {trial.samples}"))
        told.append(("spread", f"{seconds_text(trial.p20_s)} to {seconds_text(trial.p80_s)} (20th to 80th percentile)"))
    if trial.error is not None:
        told.append(("error", f"{trial.error:.1e}, relative to the float64 reference"))
    is_best = bool(book.incumbents) and book.incumbents[-1].trial == trial.trial
    word = "best" if is_best else "failed" if trial.failure else "measured" if trial.time_s is not None else "proposed"
    links = [Link(trial.candidate, f"candidate {trial.candidate}"), Link(trial.family, f"family {trial.family}")]
    return Inspector(
        trial.trial,
        f"{trial.trial}: a trial",
        "badge-best" if is_best else "trial-failed" if trial.failure else "trial",
        word,
        ("One choice of numbers. A kernel is compared with the reference before it is timed.",),
        tuple(told),
        why=(reason_card(trial.failure),) if trial.failure else (),
        links=tuple(links),
    )


def subject_of(ref: str, facts: Facts) -> str:
    """The family or candidate whose graph shows an id; empty where it lies in none."""
    if facts.knows(ref):
        return ref
    owner = ref.split("/")[0]
    if facts.knows(owner):
        return owner
    if ref in facts.sources:
        return facts.sources[ref].candidate
    if ref in facts.family_at:
        return facts.family_at[ref]
    return ""


def graph_of(subject: str, facts: Facts) -> SGraph | None:
    """The sGraph of a family or candidate."""
    try:
        if subject in facts.candidates:
            return parse(facts.candidates[subject].sgraph)
        if subject in facts.families:
            return parse(facts.families[subject].sgraph)
    except PrismError:
        return None
    return None


def best_candidate(family: str, facts: Facts, book: Ledger) -> str:
    """The candidate of a family to look at first: the fastest, else a proved one, else any."""
    timed = [t for t in book.trials if family_of(t.candidate) == family and t.time_s is not None]
    if timed:
        return min(timed, key=lambda t: t.time_s or 0.0).candidate
    mine = facts.candidates_of(family)
    decided = [c for c in mine if c in facts.verdicts]
    proved = [c for c in decided if facts.verdicts[c].verdict == "proved"]
    return next(iter((*proved, *decided, *mine)), "")
