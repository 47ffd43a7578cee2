"""Evidence and answers as cards: the evidence for a verdict, the findings of an audit, the regions of a what-if.

A card has all details, and the actions of the user: select the tensor of a lemma, copy a counterexample, select a
region that would reopen.
"""

from __future__ import annotations

from collections.abc import Mapping

from prism_explore.diagnose.audit import Answer, Audit
from prism_explore.diagnose.audit_sample import Sample
from prism_explore.diagnose.compare_runs import RunComparison
from prism_explore.diagnose.evidence import Evidence, Part, Step
from prism_explore.diagnose.jobs import Question, QuestionState
from prism_explore.diagnose.what_if import WhatIf
from prism_explore.events.format import count_text, programs_text
from prism_explore.events.kinds import FamilyCompleted
from prism_explore.verify.replay import Replay
from prism_explore.widgets.formulas.mathml import to_mathml
from prism_explore.widgets.panels.cards import MAX_LINKS, action
from prism_explore.widgets.panels.sections import Action, Card, Copy, Inspector, Link, Pair, StepRow
from prism_explore.widgets.refs import member_ref, short_name

STATE_KIND: Mapping[QuestionState, str] = {
    "waiting": "frontier",
    "running": "frontier",
    "answered": "proved",
    "cancelled": "pruned-user",
    "failed": "refuted",
}
STATE_TEXT: Mapping[QuestionState, str] = {
    "waiting": "It waits for earlier questions, or until no kernel is being timed.",
    "running": "It is running; the search and your cells continue.",
    "cancelled": "It was cancelled.",
    "failed": "It has no answer.",
    "answered": "",
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
"""Label of the cards that are evidence for a verdict."""


def evidence_cards(found: Evidence, owner: str) -> tuple[Card, ...]:
    """One card per piece of evidence; the lemmas select tensors of `owner`."""
    return tuple(part_card(part, owner) for part in found.parts)


def part_card(part: Part, owner: str) -> Card:
    """One piece of evidence as a card."""
    return Card(
        title=part.title,
        kind=part.kind,
        sentence=part.sentence,
        label=EVIDENCE,
        soundness_text=part.remark,
        details=part.rows,
        steps=tuple(step_row(step, owner) for step in part.steps),
        copies=tuple(Copy(what, text) for what, text in part.copies),
    )


def step_row(step: Step, owner: str) -> StepRow:
    """One lemma, with its derivation line by line."""
    kind = "proved" if step.replayed else "unknown"
    lines = tuple((line.expression, ", ".join(line.axioms)) for line in step.lines)
    return StepRow(
        member_ref(owner, step.tensor),
        short_name(step.tensor),
        step.equation,
        step.justification,
        kind,
        lines,
        to_mathml(step.equation),
        tuple(to_mathml(expression) for expression, _ in lines),
    )


# ---------------------------------------------------------------- answers
def question_inspector(question: Question) -> Inspector:
    """A question, its state and its answer."""
    text = STATE_TEXT[question.state]
    return Inspector(
        question.id,
        f"{question.id}: {question.python}",
        STATE_KIND[question.state],
        question.state,
        (text,) if text else (),
        cards=answer_cards(question),
        actions=_adopt_actions(question),
        links=_links(question),
    )


def _adopt_actions(question: Question) -> tuple[Action, ...]:
    """The button that adopts a what-if."""
    if not _can_be_adopted(question):
        return ()
    return (action("Adopt: search with these settings", "adopt", {"id": question.id}, True),)


def _can_be_adopted(question: Question) -> bool:
    found = question.answer
    return isinstance(found, WhatIf) and found.task is not None and bool(found.changes)


def short_answer(question: Question) -> str:
    """The answer in one line."""
    match question.answer:
        case Audit() as found:
            return f"{found.answer}: {found.text}"
        case Sample() as found:
            return found.text
        case WhatIf() as found:
            return _short_what_if(found)
        case Replay() as found:
            return found.summary
        case Evidence() as found:
            return next((p.sentence for p in found.parts if p.steps), "")
        case RunComparison() as found:
            return found.text
        case None:
            return question.failure
        case found:
            return repr(found).partition("\n")[0]


def _short_what_if(found: WhatIf) -> str:
    """What a what-if gained, in one line; its cards have the rest."""
    reopen = count_text(len(found.reopened), "subtree reopens", "subtrees reopen")
    if found.ran is None:
        return f"{reopen}, {count_text(found.admitted_steps, 'step', 'steps')} admitted"
    ran = found.ran
    gained = count_text(len(ran.gained), "proved family", "proved families")
    return f"{gained} gained, {len(ran.missing):,} missing, {ran.common:,} in both; {reopen}"


def answer_cards(question: Question) -> tuple[Card, ...]:
    """The answer as cards; for a question that failed, the reason."""
    match question.answer:
        case Audit() as found:
            return (_audit_card(question, found),)
        case Sample() as found:
            return (_sample_card(question, found),)
        case WhatIf() as found:
            return _what_if_cards(question, found)
        case Replay() as found:
            kind = "refuted" if found.differs else "unknown"
            return (Card("counterexample run again", kind, str(found), question.id),)
        case Evidence() as found:
            return evidence_cards(found, question.subject)
        case RunComparison() as found:
            text = "The Compare tab shows both searches."
            return (Card("two searches compared", "expanded", found.text, question.id, soundness_text=text),)
        case _ if question.kind in ("fork", "adopt") and question.answer is not None:
            text = "The path above the panels leads to it and back."
            return (Card("another search", "expanded", short_answer(question), question.id, soundness_text=text),)
        case _:
            return (Card("no answer", "refuted", question.failure, question.id),) if question.failure else ()


def _audit_card(question: Question, found: Audit) -> Card:
    steps = f"{len(found.audited)} of {found.steps}: {'; '.join(found.audited[:3])}"
    details: list[Pair] = [
        ("pruned by", found.rule),
        ("rules off", ", ".join(found.rules_off) or "none"),
        ("steps searched", steps + (" …" if len(found.audited) > 3 else "")),
        ("searched", f"{found.nodes:,} nodes, {found.families:,} families"),
        (
            "candidates",
            f"{found.candidates:,}: {found.proved:,} proved, {found.refuted:,} refuted, {found.unknown:,} unknown",
        ),
    ]
    details += [("pruned inside", f"{n:,} by {rule}") for rule, n in found.pruned_inside]
    details += [("maps forbidden", f"{n:,} by {rule}") for rule, n in found.rejected_maps]
    if found.spent_budget:
        details.append(("ended by", f"its budget: {found.spent_budget}"))
    copies = tuple(
        Copy(f"{f.family} of the audit, {f.status}{f': {f.explanation}' if f.explanation else ''}", f.sgraph)
        for f in found.found
    )
    return Card(
        f"audit of {found.subject}: {found.answer}",
        ANSWER_KIND[found.answer],
        found.text,
        question.id,
        found.soundness,
        "The search itself is not changed.",
        details=tuple(details),
        copies=copies,
    )


def _sample_card(question: Question, found: Sample) -> Card:
    details: list[Pair] = []
    for row in found.rows:
        answers = ("right", "covered", "undecided", "wrong", "gained", "nothing gained")
        counted = ", ".join(f"{n:,} {answer}" for answer in answers if (n := row.count(answer)))
        share = f"; at most {row.wrong_share_bound:.0%} are wrong (95 % confidence)" if row.wrong_share_bound else ""
        details.append((row.rule, f"{len(row.audits):,} of {row.regions:,} audited: {counted or 'none'}{share}"))
    details += [(a.subject, a.text) for a in found.wrong]
    return Card(
        "audit of a sample of each rule",
        "refuted" if found.wrong else "proved" if not found.not_reached else "unknown",
        found.text,
        question.id,
        soundness_text="The sample bounds the share of wrongly pruned subtrees. It proves nothing about the others.",
        details=tuple(details),
    )


def _what_if_cards(question: Question, found: WhatIf) -> tuple[Card, ...]:
    details: list[Pair] = [("changed", change) for change in found.changes]
    details += [
        (
            row.rule,
            f"{len(row.reopened):,} of {row.regions:,} reopen"
            + (f", {row.covered:,} are pruned by another rule" if row.covered else "")
            + (f", {row.unreached:,} were not reached" if row.unreached else "")
            + (f"; they represent {programs_text(row.stood_for)} programs" if row.stood_for else ""),
        )
        for row in found.rows
    ]
    details += [("steps opened", f"{found.admitted_steps:,}"), ("nodes closed", f"{found.excluded_nodes:,}")]
    details += [("maps", f"{len(found.admitted_maps):,} open, {len(found.excluded_maps):,} close")]
    details += [("not counted", text) for text in found.estimated]
    reopened = len(found.reopened)
    first = Card(
        f"what if: {reopened:,} subtree{'' if reopened == 1 else 's'} reopen",
        "expanded",
        found.text,
        question.id,
        soundness_text="Counted by repeating each step with the changed settings; the search itself is not changed.",
        details=tuple(details),
    )
    adopt = (_adopt_card(question),) if _can_be_adopted(question) else ()
    ran = found.ran
    if ran is None:
        return (first, *adopt)
    ids = {e.sgraph: e.family for e in ran.journal.events if isinstance(e, FamilyCompleted)}
    copies = tuple(Copy(f"{ids[text]} of that search, proved and not found by this one", text) for text in ran.gained)
    second = Card(
        "the search with the changed settings",
        "proved" if ran.gained else "expanded",
        f"{ran.common:,} proved families in both, {len(ran.gained):,} gained, {len(ran.missing):,} missing.",
        question.id,
        soundness_text="The node budget ended it." if ran.by_budget else "It searched the full space.",
        details=(
            ("expanded", f"{ran.nodes:,} nodes, {ran.families:,} families, {ran.candidates:,} candidates"),
            *(("missing", family) for family in ran.missing),
        ),
        copies=copies,
    )
    return (first, second, *adopt)


def _adopt_card(question: Question) -> Card:
    """What adopting a what-if does, and what it costs."""
    found = question.answer
    assert isinstance(found, WhatIf), "only a what-if is adopted"
    gained = len(found.ran.gained) if found.ran is not None else 0
    prefers = (
        f" It prefers the {gained:,} {'family' if gained == 1 else 'families'} that this what-if gained, so that they "
        "are tuned first."
        if gained
        else ""
    )
    cost = (
        f"Its enumeration has {found.ran.nodes:,} nodes and {found.ran.candidates:,} candidates to prove. Tuning has "
        "the same budget as here."
        if found.ran is not None
        else "That of a whole search: enumeration, proofs and tuning. A what-if that also searches tells its size."
    )
    return Card(
        "adopt these settings",
        "frontier",
        f"Adopt starts another search with them, from the first event on, in the background.{prefers}",
        question.id,
        soundness_text="This search is not changed; the path above the panels leads back to it.",
        details=(("cost", cost), ("Python", f"sess = sess.adopt({question.id!r})")),
    )


def _links(question: Question) -> tuple[Link, ...]:
    # A question that failed may be about an id that does not exist.
    has_subject = question.subject and question.kind != "what_if" and question.state != "failed"
    about = (Link(question.subject, question.subject),) if has_subject else ()
    if not isinstance(question.answer, WhatIf):
        return about
    regions = question.answer.reopened
    more = (Link("", f"and {len(regions) - MAX_LINKS:,} more"),) if len(regions) > MAX_LINKS else ()
    return (*about, *(Link(r, r) for r in regions[:MAX_LINKS]), *more)
