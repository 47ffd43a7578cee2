"""The section of the find field: how many matches a text has, and the one that is shown."""

from __future__ import annotations

from collections.abc import Iterator

from prism_explore.ir.ops import Input, op_label
from prism_explore.ir.program import TensorProgram
from prism_explore.ir.text import show
from prism_explore.widgets.drawing.text_metrics import shorten
from prism_explore.widgets.panels.answers import answer_cards, short_answer
from prism_explore.widgets.panels.context import Context
from prism_explore.widgets.panels.find_index import MAX_MATCHES, PANEL_OF, Found, needle_of
from prism_explore.widgets.panels.sections import FindSection, FoundItem, Table
from prism_explore.widgets.refs import program_tensor

EXCERPT_CHARACTERS = 90


_PARTS = {"steps": "difference", "families": "compared family", "settings": "setting", "counts": "count"}
"""The tables of a comparison, and the kind of what is found in each."""
_PANELS = {**PANEL_OF, "question": "questions", **dict.fromkeys(_PARTS.values(), "compare")}


def find_panel(context: Context) -> FindSection | None:
    """The matches of the text in the field, and the one that is shown; None while the field was not used."""
    wanted = context.view.find
    if not wanted.is_open:
        return None
    matches = _matches(context)
    more = "+" if len(matches) >= MAX_MATCHES else ""
    counts = context.memo.find.kinds(m for m in matches if isinstance(m, int))
    counts.update(m.kind for m in matches if not isinstance(m, int))
    by_kind = tuple((kind, f"{counts[kind]:,}") for kind in _PANELS if counts[kind])
    item = _item(matches, context)
    place, count = 0, f"{len(matches):,}{more} found" if wanted.text.strip() else ""
    if item is not None:
        place = (wanted.position - 1) % len(matches) + 1
        count = f"{place:,} of {len(matches):,}{more}"
    note = "" if matches or not wanted.text.strip() else _nothing_found(context)
    return FindSection(wanted.text, len(matches), place, count, by_kind, item, note, wanted.requests)


def _nothing_found(context: Context) -> str:
    """What the program was traced to: the name of a torch function may have become several operators."""
    ops = (node.op for node in context.search.program.graph.nodes)
    names = dict.fromkeys(op_label(op) for op in ops if not isinstance(op, Input))
    return f"Nothing has this text. The program was traced to {', '.join(names)}."


def _item(matches: tuple[int | Found, ...], context: Context) -> FoundItem | None:
    wanted, index = context.view.find, context.memo.find
    if not wanted.position or not matches:
        return None
    match = matches[(wanted.position - 1) % len(matches)]
    found, seq = (match, 0) if isinstance(match, Found) else (index[match], index.seq(match))
    where = found.text.lower().find(needle_of(wanted.text))
    start = max(0, where - EXCERPT_CHARACTERS // 3)
    excerpt = " ".join(found.text[start : start + 2 * EXCERPT_CHARACTERS].split())
    excerpt = ("…" if start else "") + shorten(excerpt, EXCERPT_CHARACTERS)
    part = next((name for name, kind in _PARTS.items() if kind == found.kind), "")
    return FoundItem(found.ref, found.kind, _PANELS[found.kind], part, excerpt, seq)


def find_item(context: Context) -> FoundItem | None:
    """The match that is shown; None for none, as before the first step."""
    return _item(_matches(context), context) if context.view.find.position else None


def _matches(context: Context) -> tuple[int | Found, ...]:
    """The program's tensors of that name, the numbers of the records of events with the text, what else has it."""
    wanted, index = context.view.find, context.memo.find
    if not wanted.is_open:
        return ()
    history = context.events.entries
    index.extend(history.between(index.count, len(history)))  # when the field is opened, so that no key waits for it
    needle = needle_of(wanted.text)
    if not needle:
        return ()
    tensors = _program_tensors(context.search.program)
    named = [found for name, found in tensors if name.lower() == needle]
    beside = (*(found for _, found in tensors if found not in named), *_beside_events(context))
    others = (f for f in beside if needle in f"{f.ref} {f.text}".lower())
    return (*named, *index.find(wanted.text, len(history)), *others)[:MAX_MATCHES]


def _program_tensors(program: TensorProgram) -> tuple[tuple[str, Found], ...]:
    """The tensors of the program, each with its name."""
    lines = show(program).splitlines()[1:-1]
    return tuple(
        (
            node.op.name if isinstance(node.op, Input) else f"%{n}",
            Found("tensor", program_tensor(n), f"{line.strip()} {program.source(n)}"),
        )
        for n, (node, line) in enumerate(zip(program.graph.nodes, lines, strict=True))
    )


def _beside_events(context: Context) -> Iterator[Found]:
    """What else can be found although no event has it: questions with answers, and the rows of a comparison."""
    for question in context.search.questions.questions:
        cards = " ".join(f"{c.title} {c.sentence}" for c in answer_cards(question))
        text = f"{question.kind} {question.subject} {question.state} {question.python} {short_answer(question)} {cards}"
        yield Found("question", question.id, text)
    compared = context.search.compare
    for part, kind in _PARTS.items():
        table: Table | None = getattr(compared, part, None)
        for row in table.rows if table is not None else ():
            yield Found(kind, row.ref, " ".join(c if isinstance(c, str) else c.text for c in row.cells))
