"""Which tensors are equal: the prover's classes, and how an e-graph grew.

A row is a class: on the left the program's tensors in it, in the middle the term that they share, on
the right the candidate's. A class with tensors of both sides is a step that program and candidate have
in common, drawn with a heavier outline; the last of them holds both results where the proof succeeded.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import groupby

from prism_explore.events.kinds import Event, SaturationStepped, VerdictReached
from prism_explore.widgets.charts import Chart, Series, empty
from prism_explore.widgets.scene import Edge, Item, Scene, Shape, Text
from prism_explore.widgets.type_setting import columns, shorten, width_px

MOST_NODES = 150
"""Boxes drawn at most; what is left out is said."""
LINE_PX = 17.0
BOX_PX = 24.0
GAP_PX = 10.0
TERM_LINES = 4


def egraph_scene(
    verdict: VerdictReached,
    width: float = 960.0,
    labels: Mapping[str, str] | None = None,
    most_nodes: int = MOST_NODES,
) -> Scene:
    """The e-classes of one candidate.

    Args:
        verdict: the candidate's verdict, which carries the classes.
        width: of the picture. Units: px.
        labels: what to write beside a tensor's name, such as its operator.
        most_nodes: classes and members drawn at most; classes of both sides come first.
    """
    candidate = verdict.candidate
    joined = [c for c in verdict.classes if _sides(c[2]) == {True, False}]
    alone = [c for c in verdict.classes if _sides(c[2]) != {True, False}]
    rows: list[tuple[str, str, tuple[str, ...]]] = []
    drawn = 0
    for row in (*joined, *alone):
        if drawn + 1 + len(row[2]) > most_nodes:
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

    said = labels or {}
    names = [_label(m, said) for _, _, members in rows for m in members]
    side = min(max((width_px(n, "mono") for n in names), default=60.0) + 20, width * 0.26)
    middle = width - 2 * side - 2 * 48
    items: list[Item] = [
        Shape("head", "text", "plain", 0, 0, width, 24, "none", (
            Text(side / 2, 16, "program", "heading"),
            Text(width / 2, 16, "equal terms", "heading"),
            Text(width - side / 2, 16, f"candidate {candidate}", "heading"),
        ))
    ]  # fmt: skip
    y = 30.0
    for ident, term, members in rows:
        left = [m for m in members if _of_program(m)]
        right = [m for m in members if not _of_program(m)]
        lines = _wrapped(term, int((middle - 50) // width_px("x", "mono")))
        stack = max(len(left), len(right)) * (BOX_PX + 4) - 4
        high = max(len(lines) * LINE_PX + 10, stack, BOX_PX)
        kind = "eclass-joined" if left and right else "eclass"
        x = side + 48
        texts = [Text(x + 8, y + high / 2 + 4, ident, "mono-muted", "start")]
        first = y + (high - len(lines) * LINE_PX) / 2 + 13
        texts += [Text(x + 42, first + n * LINE_PX, line, "mono", "start") for n, line in enumerate(lines)]
        tip = f"{ident}: {term}\n{', '.join(members)}"
        items.append(Shape(ident, "box", kind, x, y, middle, high, "rect", tuple(texts), ident, tip))
        for at, group in ((0.0, left), (width - side, right)):
            top = y + (high - len(group) * (BOX_PX + 4) + 4) / 2
            for member in group:
                items += _member(ident, member, candidate, said, at, top, side, (x, middle, y + high / 2))
                top += BOX_PX + 4
        y += high + GAP_PX
    if not verdict.classes:
        nothing = Text(width / 2, y + 16, f"the verdict of {candidate} came without classes", "muted")
        items.append(Shape("nothing", "text", "plain", 0, y, width, 24, "none", (nothing,)))
        y += 28
    if omitted:
        says = Text(0, y + 14, omitted, "muted", "start")
        items.append(Shape("omitted", "text", "plain", 0, y, width, 20, "none", (says,)))
        y += 22
    desc = (
        f"{candidate} is {verdict.verdict} ({verdict.method}). {len(verdict.classes)} classes of equal tensors, "
        f"{len(joined)} of them with tensors of both program and candidate. {omitted}"
    ).strip()
    return Scene("egraph", f"e-classes of {candidate}", desc, width, y, tuple(items), omitted)


def _member(
    ident: str,
    member: str,
    candidate: str,
    said: Mapping[str, str],
    x: float,
    y: float,
    w: float,
    row: tuple[float, float, float],
) -> list[Item]:
    mine = _of_program(member)
    ref = member if mine else f"{candidate}/{member}"
    label = shorten(_label(member, said), int((w - 12) // width_px("x", "mono")))
    text = (Text(x + w / 2, y + 16, label, "mono"),)
    kind = "of-program" if mine else "of-candidate"
    tip = _label(member, said)
    box = Shape(f"{ident}/{member}", "box", kind, x, y, w, BOX_PX, "pill", text, ref, tip)
    class_x, class_w, centre = row
    start = (x + w, y + BOX_PX / 2) if mine else (x, y + BOX_PX / 2)
    end = (class_x, centre) if mine else (class_x + class_w, centre)
    bend = (end[0] - start[0]) / 2
    points = (start, (start[0] + bend, start[1]), (end[0] - bend, end[1]), end)
    return [Edge(f"{ident}>{member}", "edge-member", points, "bezier", source=box.id, target=ident, ref=ref), box]


def _of_program(member: str) -> bool:
    return member.startswith("program.")


def _sides(members: Iterable[str]) -> set[bool]:
    return {_of_program(m) for m in members}


def _label(member: str, said: Mapping[str, str]) -> str:
    name = member.removeprefix("program.")
    return f"{name} = {said[member]}" if member in said else name


def _wrapped(text: str, letters: int) -> list[str]:
    """The text in lines, broken behind spaces or operators, the last cut where there are too many."""
    lines: list[str] = []
    rest = " ".join(text.split())
    while rest and len(lines) < TERM_LINES:
        if columns(rest) <= letters:
            return [*lines, rest]
        if len(lines) == TERM_LINES - 1:
            return [*lines, shorten(rest, letters)]
        end = letters
        while end > 1 and columns(rest[:end]) > letters:
            end -= 1
        cut = max((rest.rfind(c, letters // 2, end) for c in " *+/,)"), default=-1) + 1 or end
        lines.append(rest[:cut].rstrip())
        rest = rest[cut:].lstrip()
    return lines


def saturation_scene(events: Iterable[Event], width: float = 480.0, height: float = 240.0) -> Scene:
    """How an e-graph grew: nodes, classes and matches per iteration.

    Args:
        events: facts with saturation steps; of several runs the last is drawn, and the others are counted.
        width: of the picture. Units: px.
        height: likewise.
    """
    steps = [e for e in events if isinstance(e, SaturationStepped)]
    runs = [list(g) for _, g in groupby(steps, key=lambda s: s.subject)]
    if not runs:
        return empty("saturation", "no e-graph has been run yet", width)
    last = runs[-1]
    chart = Chart(width, height, "iteration", "count")
    chart.x_range(last[0].iteration, last[-1].iteration)
    series = (
        Series("e-nodes", "curve", tuple((s.iteration, s.nodes) for s in last)),
        Series("e-classes", "curve-2", tuple((s.iteration, s.classes) for s in last)),
        Series("matches", "curve-3", tuple((s.iteration, sum(s.matches.values())) for s in last)),
    )
    chart.y_range(0, max(y for s in series for _, y in s.points))
    chart.axes()
    for one in series:
        chart.line(one)
    for step in last:
        busiest = sorted(step.matches.items(), key=lambda m: (-m[1], m[0]))[:6]
        says = "\n".join(f"{n:,} × {rule}" for rule, n in busiest)
        tip = f"iteration {step.iteration}: {step.nodes:,} nodes in {step.classes:,} classes\n{says}"
        chart.mark(f"step{step.iteration}", "trial", "circle", step.iteration, step.nodes, tip=tip, size=7)
    omitted = f"{len(runs) - 1:,} earlier runs are not drawn." if len(runs) > 1 else ""
    end = f"{last[-1].nodes:,} nodes in {last[-1].classes:,} classes at the end."
    desc = f"{len(last)} iterations, {end} {omitted}".strip()
    return chart.scene("saturation", f"saturation of {last[0].subject}", desc, omitted)
