"""The inspector: what the selected thing is, why it is so, and what can be done about it.

One function per kind of id. A reason is shown whole (sentence, formula, the formula with numbers in it,
how sure the rule is, what would reopen it): that a reader can doubt it is the point.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from prism_explore.diagnose.evidence import evidence, in_floats, steps_of
from prism_explore.diagnose.jobs import Question
from prism_explore.errors import PrismError
from prism_explore.events.claim import claim
from prism_explore.events.format import seconds_text
from prism_explore.events.kinds import CertificateReplayed, Reason, Soundness, VerdictReached
from prism_explore.events.ledger import FamilyRow, Ledger, Trial, family_of
from prism_explore.ir.graph import SGraph, block_types
from prism_explore.ir.ops import Custom, Load, Store
from prism_explore.ir.program import TensorProgram
from prism_explore.ir.text import parse, show_node
from prism_explore.pipeline.search_space import RULE_NAMES
from prism_explore.widgets.jupyter.live import COMMANDS, Value, read_click
from prism_explore.widgets.panels.answers import (
    EVIDENCE,
    Desk,
    answer_cards,
    evidence_cards,
    part_card,
    question_inspector,
    step_row,
)
from prism_explore.widgets.panels.facts import Facts, numbers_text
from prism_explore.widgets.panels.sections import Action, Card, Inspector, Link, Pair
from prism_explore.widgets.views.egraph_frames import frame_inspector, frame_ref, growth_of

SOUNDNESS: Mapping[Soundness, str] = {
    "sound": "A sound rule: whatever it cuts cannot be equal to the program, or is found elsewhere.",
    "heuristic": "A heuristic: something good may lie behind it.",
    "budget": "A limit was reached: nobody looked behind it.",
    "user": "Cut by you; undo brings it back.",
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
NO_DESK = Desk()


def inspect(ref: str, program: TensorProgram, facts: Facts, book: Ledger, desk: Desk = NO_DESK) -> Inspector | None:
    """What there is to say of an id; None where there is nothing."""
    if not ref:
        return _overview(facts, book)
    if ref in facts.nodes:
        return _node(ref, facts)
    if ref in facts.regions:
        return _region(ref, facts, desk)
    if ref in facts.families:
        return _family(next(r for r in book.families if r.family == ref), program, facts, desk)
    if ref in facts.candidates:
        return _candidate(ref, program, facts, book, desk)
    if asked := next((q for q in desk.questions if q.id == ref), None):
        return question_inspector(asked)
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
    return _eclass(ref, facts) or _reason_code(ref, facts, book, desk)


# ---------------------------------------------------------------- the search
def _overview(facts: Facts, book: Ledger) -> Inspector | None:
    """What to say before anything is selected: how far the search came, and what came nearest where nothing did."""
    if not facts.count:
        return None
    misses = book.misses
    nearest = Card(
        "the nearest misses",
        "unknown",
        "What came farthest, nearest first, and the restriction that stopped each.",
        facts=tuple((m.subject, f"{m.says}." + (f" Passes if {m.reopens}." if m.reopens else "")) for m in misses),
    )
    n = book.funnel
    steps = (
        ("nodes grown", n.expanded), ("regions cut", n.pruned), ("families", n.families),
        ("maps forbidden", n.maps_rejected), ("candidates", n.candidates), ("proved", n.proved),
        ("unknown", n.unknown), ("refuted", n.refuted), ("kernels timed", n.measured),
    )  # fmt: skip
    return Inspector(
        "",
        "What may be claimed so far",
        "badge-best" if book.best is not None else "proved" if n.proved else "frontier",
        what=(claim(book),),
        facts=tuple((word, f"{count:,}") for word, count in steps),
        why=(nearest,) if misses else (),
        links=tuple(Link(m.subject, m.subject) for m in misses),
    )


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


def _region(ref: str, facts: Facts, desk: Desk) -> Inspector:
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
        why=(reason_card(region.reason), *_answered(ref, desk)),
        actions=_questions(ref, region.reason, desk),
        links=(Link(region.parent, f"cut below {region.parent}"),) if region.parent else (),
    )


def _answered(ref: str, desk: Desk) -> tuple[Card, ...]:
    """What came of questions about something, and that one is being answered."""
    cards: list[Card] = []
    for asked in desk.about(ref):
        cards += answer_cards(asked)
        if asked.is_open:
            cards.append(Card(asked.python, "frontier", "It is being answered; the search goes on.", asked.id))
    return tuple(cards)


def _questions(ref: str, reason: Reason, desk: Desk) -> tuple[Action, ...]:
    """What can be asked about a cut."""
    if "audit" not in desk.can:
        return ()
    is_open = any(q.is_open for q in desk.about(ref))
    actions = [action(f"Audit {ref}", "audit", {"id": ref}, not is_open)]
    if any(q.kind == "audit" and q.state == "answered" for q in desk.about(ref)):
        actions.append(action("Audit farther", "audit", {"id": ref, "nodes": 10_000}, not is_open))
    if reason.rule in RULE_NAMES:
        actions.append(action(f"What if {reason.rule} were off", "what_if", {"rules_off": (reason.rule,)}, True))
    return (*actions, *_taking_back(desk.about(ref)))


def _taking_back(questions: Iterable[Question]) -> tuple[Action, ...]:
    return tuple(action(f"Take back {q.id}", "withdraw", {"id": q.id}, True) for q in questions if q.is_open)


def reason_card(reason: Reason, title: str = "") -> Card:
    """A reason with its numbers put in."""
    return Card(
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
SAMPLE = 3
"""How many cuts of each rule a click has audited."""


def substituted(formula: str, meanings: Mapping[str, str]) -> str:
    """The formula with its symbols replaced, all at once; empty where nothing changes.

    >>> substituted("2*bm > smem", {"bm": "64", "smem": "232448"})
    '2*64 > 232448'
    """
    put = _WORD.sub(lambda m: meanings.get(m.group(), m.group()), formula)
    return put if put != formula else ""


def _reason_code(ref: str, facts: Facts, book: Ledger, desk: Desk) -> Inspector | None:
    """All cuts with one reason code."""
    cuts = [c for c in book.cuts if c.code == ref]
    if not cuts:
        return None
    shown = [r for r in facts.regions.values() if r.reason.code == ref]
    maps = [r for rows in facts.rejected.values() for r in rows if r.reason.code == ref]
    slow = [b for b in facts.bounded.values() if b.reason.code == ref]
    reasons = [r.reason for r in (*shown, *maps, *slow)]
    return Inspector(
        ref,
        ref,
        kind=f"pruned-{cuts[0].soundness}",
        word=f"{sum(c.count for c in cuts):,} cuts",
        what=("Everything that was cut for this reason.",),
        facts=tuple(
            (f"by {c.rule}", f"{c.count:,} {'choices of maps' if c.what == 'maps' else c.things}") for c in cuts
        ),
        why=(reason_card(reasons[0], f"{ref}, for example"),) if reasons else (),
        actions=(action("Audit a sample of each rule", "audit", {"sample": SAMPLE}, True),)
        if "audit" in desk.can and shown
        else (),
        links=tuple(Link(r.region, r.region) for r in shown[:24]),
    )


# ---------------------------------------------------------------- families and candidates
def _family(row: FamilyRow, program: TensorProgram, facts: Facts, desk: Desk) -> Inspector:
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
    decided = [facts.verdicts[c] for c in facts.candidates_of(ref) if c in facts.verdicts][:REASONS_SHOWN]
    first_parts = (evidence(v, program, facts.candidates[v.candidate].sgraph).parts[0] for v in decided)
    cards = [part_card(part, ref) for part in first_parts]
    if (floats := facts.floats.get(ref)) is not None:
        cards.insert(0, part_card(in_floats(floats), ref))
    cards += _answered(ref, desk)
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
        actions=(
            *steering_actions(ref, row.choice),
            *(
                [action(f"Audit {ref}", "audit", {"id": ref}, True)]
                if row.choice == "rejected" and "audit" in desk.can
                else []
            ),
            *_taking_back(desk.about(ref)),
        ),
        links=(Link(row.node, f"completed at {row.node}"), *(Link(c, c) for c in facts.candidates_of(ref))),
    )


def _candidate(ref: str, program: TensorProgram, facts: Facts, book: Ledger, desk: Desk) -> Inspector:
    event = facts.candidates[ref]
    verdict = facts.verdicts.get(ref)
    trials = [t for t in book.trials if t.candidate == ref]
    times = [t.time_s for t in trials if t.time_s is not None]
    told: list[Pair] = [("cuts", "; ".join(event.uses) or "nothing")]
    told += [("needs", f"{c} a positive integer") for c in event.conditions]
    if times:
        told.append(("best time", f"{seconds_text(min(times))} measured, of {len(times)} trials"))
    certificate, floats = facts.certificates.get(ref), facts.floats.get(event.family)
    cards = list(evidence_cards(evidence(verdict, program, event.sgraph, certificate, floats), ref)) if verdict else []
    if bound := facts.bounded.get(ref):
        says = (
            f"Its modelled bound {seconds_text(bound.floor_s)} is no better than the best time "
            f"{seconds_text(bound.best_s)}, so it was not timed."
        )
        cards.append(Card("tune.bound", "", says))
    cards += [card for card in _answered(ref, desk) if card.label != EVIDENCE]
    family = next((r for r in book.families if r.family == event.family), None)
    return Inspector(
        ref,
        f"{ref}: a candidate",
        kind=verdict.verdict if verdict else "frontier",
        word=verdict.verdict if verdict else "no verdict yet",
        what=("The family with its maps chosen; sizes are still symbols.",),
        facts=tuple(told),
        why=tuple(cards),
        actions=(
            *_tests(ref, verdict, certificate, desk),
            *steering_actions(event.family, family.choice if family else ""),
        ),
        links=(
            Link(event.family, f"family {event.family}"),
            Link(f"{ref}/goal@0", "the e-graph of both results, step by step"),
            *(Link(t.trial, t.trial) for t in trials[:24]),
        ),
    )


def _tests(
    ref: str, verdict: VerdictReached | None, certificate: CertificateReplayed | None, desk: Desk
) -> tuple[Action, ...]:
    """What can be done to doubt a verdict."""
    about = desk.about(ref)
    is_open = any(q.is_open for q in about)
    actions: list[Action] = []
    if verdict is not None and verdict.verdict == "proved" and certificate is None and "certify" in desk.can:
        actions.append(action(f"Certify {ref}", "certify", {"id": ref}, not is_open))
    if verdict is not None and (verdict.witness or verdict.case) and "replay" in desk.can:
        actions.append(action(f"Run the witness of {ref} again", "replay", {"id": ref}, not is_open))
    return (*actions, *_taking_back(about))


def steering_actions(family: str, choice: str) -> tuple[Action, ...]:
    """What can be done with a family."""
    return (
        action(f"Accept {family}", "accept", {"id": family}, choice != "accepted"),
        action(f"Reject {family}", "reject", {"id": family}, choice != "rejected"),
        action(f"Prefer {family}", "prefer", {"id": family}, not choice),
        action("Undo", "undo", {}, bool(choice)),
    )


def action(label: str, command: str, args: Mapping[str, Value], enabled: bool) -> Action:
    """A button for a command, with the line of Python that does the same."""
    given = {k: list(v) if isinstance(v, tuple) else v for k, v in args.items()}
    click = read_click({"event_id": "-", "name": command, "args": given})
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
    cards: list[Card] = []
    of_program = next(reversed(facts.certificates.values()), None)
    if certificate := facts.certificates.get(owner) if owner else of_program:
        cards += [
            Card("lemma", row.kind, row.says, EVIDENCE, facts=(("by", row.because),), steps=(row,) if row.lines else ())
            for row in (step_row(step, owner) for step in steps_of(certificate))
            if row.ref == ref
        ]
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
