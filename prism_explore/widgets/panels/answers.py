"""Evidence and answers as cards: what stands behind a verdict, what an audit found, what would reopen.

A card is shown whole, and what can be done with it stands on it: a step leads to its tensor, a case can be
copied, a region that would reopen can be selected.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from prism_explore.diagnose.audit import Answer, Audit
from prism_explore.diagnose.audit_sample import Sample
from prism_explore.diagnose.evidence import Evidence, Part, Step
from prism_explore.diagnose.jobs import Question, Standing
from prism_explore.diagnose.what_if import WhatIf
from prism_explore.verify.prover import Replay
from prism_explore.widgets.jupyter.live import Ability
from prism_explore.widgets.panels.sections import Card, Copy, Inspector, Link, Pair, StepRow

STANDING_KIND: Mapping[Standing, str] = {
    "waiting": "frontier",
    "thinking": "frontier",
    "answered": "proved",
    "cancelled": "pruned-user",
    "failed": "refuted",
}
ANSWER_KIND: Mapping[Answer, str] = {
    "right": "proved",
    "wrong": "refuted",
    "undecided": "unknown",
    "covered": "unknown",
    "gained": "proved",
    "nothing gained": "expanded",
}
EVIDENCE = "Evidence"
"""The label of cards that speak for a verdict."""
LINKS = 24
"""Regions that a card names as links; their number is said."""


@dataclass(frozen=True, slots=True)
class Desk:
    """What was asked beside the search, and what can be asked."""

    questions: tuple[Question, ...] = ()
    can: frozenset[Ability] = frozenset()

    def about(self, subject: str) -> tuple[Question, ...]:
        """The last question of each kind about something."""
        return tuple({q.kind: q for q in self.questions if q.subject == subject}.values())


def evidence_cards(found: Evidence, owner: str) -> tuple[Card, ...]:
    """A card per piece of evidence; steps lead to the tensors of `owner`."""
    return tuple(part_card(part, owner) for part in found.parts)


def part_card(part: Part, owner: str) -> Card:
    """One piece of evidence as a card."""
    return Card(
        title=part.title,
        kind=part.kind,
        sentence=part.sentence,
        label=EVIDENCE,
        soundness_says=part.remark,
        facts=part.facts,
        steps=tuple(step_row(step, owner) for step in part.steps),
        copies=tuple(Copy(what, text) for what, text in part.copies),
    )


def step_row(step: Step, owner: str) -> StepRow:
    """A lemma with its chain."""
    ref = step.tensor if step.tensor.startswith("program.") else f"{owner}/{step.tensor}"
    ref = f"{owner}/goal@0" if step.tensor == "goal" else ref
    kind = "proved" if step.replayed else "unknown"
    lines = tuple((line.expression, ", ".join(line.axioms)) for line in step.lines)
    return StepRow(ref, step.tensor.removeprefix("program."), step.says, step.because, kind, lines)


# ---------------------------------------------------------------- answers
def question_inspector(asked: Question) -> Inspector:
    """A question, its answer, and how to ask it in Python."""
    state = {
        "waiting": "It waits for the questions before it, or until no kernel is timed.",
        "thinking": "It is being answered; the search and your cells go on.",
        "cancelled": "You took it back.",
        "failed": "It has no answer.",
        "answered": "",
    }[asked.state]
    return Inspector(
        asked.id,
        f"{asked.id}: {asked.python}",
        STANDING_KIND[asked.state],
        asked.state,
        (state,) if state else (),
        why=answer_cards(asked),
        links=_links(asked),
    )


def short_answer(asked: Question) -> str:
    """The answer in a line."""
    match asked.answer:
        case Audit() as found:
            return f"{found.answer}: {found.text}"
        case Sample() as found:
            return found.text
        case WhatIf() as found:
            return found.text
        case Replay() as found:
            return str(found).splitlines()[0]
        case Evidence() as found:
            return next((p.sentence for p in found.parts if p.title == "certificate"), "")
        case _:
            return asked.failure


def answer_cards(asked: Question) -> tuple[Card, ...]:
    """The answer as cards; one that says why there is none, where there is none."""
    match asked.answer:
        case Audit() as found:
            return (_audited(asked, found),)
        case Sample() as found:
            return (_sampled(asked, found),)
        case WhatIf() as found:
            return _reopened(asked, found)
        case Replay() as found:
            kind = "refuted" if found.differs else "unknown"
            return (Card("run again", kind, str(found), asked.id),)
        case Evidence() as found:
            return evidence_cards(found, asked.subject)
        case _:
            return (Card("no answer", "refuted", asked.failure, asked.id),) if asked.failure else ()


def _audited(asked: Question, found: Audit) -> Card:
    steps = f"{len(found.audited)} of {found.steps}: {'; '.join(found.audited[:3])}"
    told: list[Pair] = [
        ("cut by", found.rule),
        ("rules off", ", ".join(found.rules_off) or "none"),
        ("steps gone into", steps + (" …" if len(found.audited) > 3 else "")),
        ("searched", f"{found.nodes:,} nodes, {found.families:,} families"),
        (
            "candidates",
            f"{found.candidates:,}: {found.proved:,} proved, {found.refuted:,} refuted, {found.unknown:,} unknown",
        ),
    ]
    told += [("cut inside", f"{n:,} by {rule}") for rule, n in found.cuts]
    told += [("maps forbidden", f"{n:,} by {rule}") for rule, n in found.maps]
    if found.ended:
        told.append(("ended by", f"its budget of {found.ended}"))
    copies = tuple(
        Copy(f"{f.family} of the shadow run, {f.standing}{f': {f.note}' if f.note else ''}", f.sgraph)
        for f in found.found
    )
    return Card(
        f"audit of {found.subject}: {found.answer}",
        ANSWER_KIND[found.answer],
        found.text,
        asked.id,
        found.soundness,
        "The search itself was not touched.",
        facts=tuple(told),
        copies=copies,
    )


def _sampled(asked: Question, found: Sample) -> Card:
    told: list[Pair] = []
    for row in found.rows:
        words = ("right", "covered", "undecided", "wrong", "gained", "nothing gained")
        counted = ", ".join(f"{n:,} {word}" for word in words if (n := row.count(word)))
        share = f"; at most {row.most_wrong:.0%} are wrong (95 %)" if row.most_wrong else ""
        told.append((row.rule, f"{len(row.audits):,} of {row.regions:,} audited: {counted or 'none'}{share}"))
    told += [(a.subject, a.text) for a in found.wrong]
    return Card(
        "audits of a sample of each rule",
        "refuted" if found.wrong else "proved" if not found.left else "unknown",
        found.text,
        asked.id,
        soundness_says="It is said of the sample and bounds the share of wrong cuts; it proves nothing of the others.",
        facts=tuple(told),
    )


def _reopened(asked: Question, found: WhatIf) -> tuple[Card, ...]:
    told: list[Pair] = [("changed", change) for change in found.changes]
    told += [
        (
            row.rule,
            f"{len(row.reopened):,} of {row.regions:,} reopen"
            + (f", {row.covered:,} are cut by another rule" if row.covered else "")
            + (f", {row.unreached:,} not come to" if row.unreached else "")
            + (f"; stood for {row.stood_for:,.0f} programs" if row.stood_for else ""),
        )
        for row in found.rows
    ]
    told += [("steps opened", f"{found.opened_steps:,}"), ("nodes closed", f"{found.closed_nodes:,}")]
    told += [("maps", f"{len(found.opened_maps):,} open, {len(found.closed_maps):,} close")]
    told += [("not counted", says) for says in found.estimated]
    reopened = len(found.reopened)
    first = Card(
        f"what if: {reopened:,} region{'' if reopened == 1 else 's'} reopen",
        "expanded",
        found.text,
        asked.id,
        soundness_says="Counted by trying each step again in the other setting; the search itself was not touched.",
        facts=tuple(told),
    )
    ran = found.ran
    if ran is None:
        return (first,)
    copies = tuple(Copy("a proved family that the search lacks", text) for text in ran.gained)
    second = Card(
        "the search there",
        "proved" if ran.gained else "expanded",
        f"{ran.common:,} proved families in both, {len(ran.gained):,} gained, {len(ran.missing):,} missing.",
        asked.id,
        soundness_says="Its node budget ended it." if ran.by_budget else "It was searched to its end.",
        facts=(
            ("grown", f"{ran.nodes:,} nodes, {ran.families:,} families, {ran.candidates:,} candidates"),
            *(("missing", family) for family in ran.missing),
        ),
        copies=copies,
    )
    return first, second


def _links(asked: Question) -> tuple[Link, ...]:
    about = (Link(asked.subject, asked.subject),) if asked.kind != "what_if" and asked.subject else ()
    if not isinstance(asked.answer, WhatIf):
        return about
    regions = asked.answer.reopened
    more = (Link("", f"and {len(regions) - LINKS:,} more"),) if len(regions) > LINKS else ()
    return (*about, *(Link(r, r) for r in regions[:LINKS]), *more)
