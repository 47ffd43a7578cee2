"""The e-classes of a candidate: which tensors of program and candidate the prover found equal.

Input: a verdict with classes. Output: a `Scene`. A row is a class: on the left its tensors of the program, in the
middle their common term, on the right its tensors of the candidate. A class with tensors of both has a heavier
outline. After a successful proof, the last such class has both results.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from prism_explore.events.format import verdict_text
from prism_explore.events.kinds import VerdictReached
from prism_explore.widgets.drawing.text_metrics import shorten, width_px, wrap_text
from prism_explore.widgets.refs import eclass_id, is_of_program, member_ref, short_name
from prism_explore.widgets.scene import Edge, Item, Scene, Shape, Text

MAX_NODES = 150
"""Largest number of boxes, for classes and members; shared classes come first. A sentence counts the rest."""
LINE_PX = 17.0
BOX_PX = 24.0
GAP_PX = 10.0
TERM_LINES = 4


def egraph_scene(
    verdict: VerdictReached,
    width: float = 960.0,
    labels: Mapping[str, str] | None = None,
) -> Scene:
    """Draw the e-classes of one candidate.

    Args:
        verdict: the verdict on the candidate, with its classes.
        width: width of the picture. Units: px.
        labels: per tensor name, a text to write after it, such as its operator.
    """
    candidate = verdict.candidate
    shared = [c for c in verdict.classes if _is_shared(c[2])]
    other = [c for c in verdict.classes if not _is_shared(c[2])]
    rows: list[tuple[str, str, tuple[str, ...]]] = []
    drawn = 0
    for row in (*shared, *other):
        if drawn + 1 + len(row[2]) > MAX_NODES:
            break
        rows.append(row)
        drawn += 1 + len(row[2])
    total = sum(1 + len(c[2]) for c in verdict.classes)
    omitted = (
        f"{drawn} of {total:,} boxes are drawn: {len(rows)} of {len(verdict.classes):,} classes."
        if drawn < total
        else ""
    )
    order = {c[0]: n for n, c in enumerate(verdict.classes)}
    rows.sort(key=lambda c: order[c[0]])

    labels = labels or {}
    names = [_label(m, labels) for _, _, members in rows for m in members]
    side = min(max((width_px(n, "mono") for n in names), default=60.0) + 20, width * 0.26)
    middle = width - 2 * side - 2 * 48
    items: list[Item] = [
        Shape("head", "text", "plain", 0, 0, width, 24, "none", (
            Text(0, 16, "program", "heading", "start"),
            Text(width / 2, 16, "equal terms", "heading"),
            Text(width, 16, f"candidate {candidate}", "heading", "end"),
        ))
    ]  # fmt: skip
    y = 30.0
    for ident, term, members in rows:
        left = [m for m in members if is_of_program(m)]
        right = [m for m in members if not is_of_program(m)]
        lines = wrap_text(term, int((middle - 50) // width_px("x", "mono")), TERM_LINES)
        stack = max(len(left), len(right)) * (BOX_PX + 4) - 4
        high = max(len(lines) * LINE_PX + 10, stack, BOX_PX)
        kind = "eclass-shared" if left and right else "eclass"
        x = side + 48
        texts = [Text(x + 8, y + high / 2 + 4, ident, "mono-muted", "start")]
        first = y + (high - len(lines) * LINE_PX) / 2 + 13
        texts += [Text(x + 42, first + n * LINE_PX, line, "mono", "start") for n, line in enumerate(lines)]
        tip = f"{ident}: {term}\n{', '.join(members)}"
        ref = eclass_id(candidate, ident)
        items.append(Shape(ident, "box", kind, x, y, middle, high, "rect", tuple(texts), ref, tip))
        for at, group in ((0.0, left), (width - side, right)):
            top = y + (high - len(group) * (BOX_PX + 4) + 4) / 2
            for member in group:
                items += _member(ident, member, candidate, labels, at, top, side, (x, middle, y + high / 2))
                top += BOX_PX + 4
        y += high + GAP_PX
    if not verdict.classes:
        nothing = Text(width / 2, y + 16, f"the verdict on {candidate} has no classes", "muted")
        items.append(Shape("nothing", "text", "plain", 0, y, width, 24, "none", (nothing,)))
        y += 28
    if omitted:
        text = Text(0, y + 14, omitted, "muted", "start")
        items.append(Shape("omitted", "text", "plain", 0, y, width, 20, "none", (text,)))
        y += 22
    desc = (
        f"{candidate} is {verdict_text(verdict)}. {len(verdict.classes)} classes of equal tensors, "
        f"{len(shared)} of them with tensors of both program and candidate. {omitted}"
    ).strip()
    return Scene("egraph", f"e-classes of {candidate}", desc, width, y, tuple(items), omitted)


def _member(
    ident: str,
    member: str,
    candidate: str,
    labels: Mapping[str, str],
    x: float,
    y: float,
    w: float,
    row: tuple[float, float, float],
) -> list[Item]:
    on_left = is_of_program(member)
    ref = member_ref(candidate, member)
    label = shorten(_label(member, labels), int((w - 12) // width_px("x", "mono")))
    texts = (Text(x + w / 2, y + 16, label, "mono"),)
    kind = "of-program" if on_left else "of-candidate"
    tip = _label(member, labels)
    box = Shape(f"{ident}/{member}", "box", kind, x, y, w, BOX_PX, "pill", texts, ref, tip)
    class_x, class_w, centre = row
    start = (x + w, y + BOX_PX / 2) if on_left else (x, y + BOX_PX / 2)
    end = (class_x, centre) if on_left else (class_x + class_w, centre)
    bend = (end[0] - start[0]) / 2
    points = (start, (start[0] + bend, start[1]), (end[0] - bend, end[1]), end)
    return [Edge(f"{ident}>{member}", "edge-member", points, "bezier", source=box.id, target=ident, ref=ref), box]


def _is_shared(members: Iterable[str]) -> bool:
    """Whether a class has tensors of both program and candidate."""
    return {is_of_program(m) for m in members} == {True, False}


def _label(member: str, labels: Mapping[str, str]) -> str:
    name = short_name(member)
    return f"{name} = {labels[member]}" if member in labels else name
