"""Questions about a search, such as audits and what-ifs: the Questions panel, and their cards and buttons elsewhere."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from prism_explore.diagnose.jobs import Question
from prism_explore.generate.pruning.rules import RULES
from prism_explore.pipeline.search_space import Space
from prism_explore.targets import GPUS
from prism_explore.widgets.panels.answers import STATE_KIND, answer_cards, question_inspector, short_answer
from prism_explore.widgets.panels.cards import action
from prism_explore.widgets.panels.context import Context, QuestionList
from prism_explore.widgets.panels.sections import (
    Action,
    Card,
    Cell,
    Column,
    Inspector,
    Limit,
    QuestionsSection,
    Row,
    Table,
    WhatIfForm,
)

_COLUMNS = (
    Column("question", "question"),
    Column("state", "state", width_ch=12),
    Column("answer", "answer", wide=True),
    Column("python", "in Python", mono=True, width_ch=18),
)
_FORM_LIMITS: Mapping[str, tuple[str, str]] = {
    "block_ops": ("block operators", "The largest number of operators in one kernel; loads count, the store does not."),
    "block_inputs": ("block inputs", "The largest number of tensors that one kernel reads."),
    "accumulators": ("accumulators", "The largest number of sums over the for-loop in one kernel."),
    "custom_kernels": ("custom kernels", "The largest number of generated kernels."),
    "predefined_kernels": ("library calls", "The largest number of kernels that are single library operators."),
    "grid_dims": ("grid dims", "The largest number of grid dims of a kernel, from 1 to 3."),
    "nodes": ("node budget", "The number of partial sGraphs that are expanded before the search stops."),
}
"""The limits of the search space in the form, with their labels and tooltips; Python accepts every limit."""


def questions_panel(context: Context) -> QuestionsSection:
    """The table of questions, newest first, and the form for a what-if."""
    search = context.search
    questions = search.questions.questions
    rows = tuple(
        Row(
            q.id,
            (
                q.id,
                Cell(q.state, kind=STATE_KIND[q.state]),
                Cell(short_answer(q), tip=short_answer(q)),
                Cell(q.python, tip=q.python),
            ),
        )
        for q in reversed(questions)
    )
    form = _form(search.space, search.target) if search.space is not None else None
    if form is not None:
        empty = "No questions yet. Select a pruned subtree to audit it."
    elif not search.questions.allowed:
        empty = "A report cannot run questions. Open the saved search in a notebook instead."
    else:
        empty = "In a saved search, select a candidate to certify its proof or to run its counterexample again."
    open_ones = tuple(q.id for q in questions if q.is_open)
    caption = f"{len(open_ones)} open" if open_ones else ""
    return QuestionsSection(caption, Table(_COLUMNS, rows, empty), form, open_ones)


def _form(space: Space, target: str) -> WhatIfForm:
    limits = tuple(Limit(name, label, getattr(space, name), tip) for name, (label, tip) in _FORM_LIMITS.items())
    rules = tuple((rule.name, rule.sentence) for rule in RULES if space.active(rule.name))
    return WhatIfForm(tuple(GPUS), target, limits, rules)


def inspect_question(ref: str, context: Context) -> Inspector | None:
    """The inspector of a question."""
    question = next((q for q in context.search.questions.questions if q.id == ref), None)
    return question_inspector(question) if question is not None else None


def question_cards(ref: str, questions: QuestionList) -> tuple[Card, ...]:
    """The answers to the questions about an id, and a card per question that is open."""
    cards: list[Card] = []
    for question in questions.about(ref):
        cards += answer_cards(question)
        if question.is_open:
            cards.append(Card(question.python, "frontier", "It is running; the search continues.", question.id))
    return tuple(cards)


def cancel_actions(questions: Iterable[Question]) -> tuple[Action, ...]:
    """A button per open question that cancels it."""
    return tuple(action(f"Cancel {q.id}", "withdraw", {"id": q.id}, True) for q in questions if q.is_open)
