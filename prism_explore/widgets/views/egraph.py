"""Which tensors are equal: the prover's classes, and how an e-graph grew.

A row is a class: on the left the program's tensors in it, in the middle the term that they share, on
the right the candidate's. A class with tensors of both sides is a step that program and candidate have
in common, drawn with a heavier outline; the last of them holds both results where the proof succeeded.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from prism_explore.events.format import verdict_text
from prism_explore.events.kinds import Event, SaturationStepped, VerdictReached
from prism_explore.widgets.drawing.charts import Chart, Series, empty
from prism_explore.widgets.drawing.text_metrics import shorten, width_px, wrapped
from prism_explore.widgets.scene import Edge, Item, Scene, Shape, Text

MOST_NODES = 150
"""Boxes drawn at most; what is left out is said."""
LINE_PX = 17.0
BOX_PX = 24.0
GAP_PX = 10.0
TERM_LINES = 4
MOST_RUNS = 60


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
            Text(0, 16, "program", "heading", "start"),
            Text(width / 2, 16, "equal terms", "heading"),
            Text(width, 16, f"candidate {candidate}", "heading", "end"),
        ))
    ]  # fmt: skip
    y = 30.0
    for ident, term, members in rows:
        left = [m for m in members if _of_program(m)]
        right = [m for m in members if not _of_program(m)]
        lines = wrapped(term, int((middle - 50) // width_px("x", "mono")), TERM_LINES)
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
        f"{candidate} is {verdict_text(verdict)}. {len(verdict.classes)} classes of equal tensors, "
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


def saturation_scene(events: Iterable[Event], width: float = 640.0, subject: str = "") -> Scene:
    """How e-graphs grew: a row per run, or a chart of one run.

    Args:
        events: facts with saturation steps.
        width: of the picture. Units: px.
        subject: the run to draw as a chart; without it every run is a row, and a lone run a chart.
    """
    runs: dict[str, list[SaturationStepped]] = {}
    for event in events:
        if isinstance(event, SaturationStepped):
            if event.iteration <= 1:
                runs[event.subject] = []
            runs.setdefault(event.subject, []).append(event)
    if not runs or (subject and subject not in runs):
        return empty("saturation", "no e-graph has been run yet", width)
    if subject or len(runs) == 1:
        return _growth(runs[subject] if subject else next(iter(runs.values())), width)
    return _growths(list(runs.values()), width)


def _growth(run: list[SaturationStepped], width: float) -> Scene:
    """Nodes, classes and matches per iteration of one run."""
    chart = Chart(width, 240.0, "iteration", "count")
    chart.x_range(run[0].iteration, run[-1].iteration)
    series = (
        Series("e-nodes", "curve", tuple((s.iteration, s.nodes) for s in run)),
        Series("e-classes", "curve-2", tuple((s.iteration, s.classes) for s in run)),
        Series("matches", "curve-3", tuple((s.iteration, _matches(s)) for s in run)),
    )
    chart.y_range(0, max(y for s in series for _, y in s.points))
    chart.axes()
    for one in series:
        chart.line(one)
    for step in run:
        chart.mark(f"step{step.iteration}", "trial", "circle", step.iteration, step.nodes, tip=_step_text(step), size=7)
    subject = run[0].subject
    return chart.scene("saturation", f"saturation of {subject}", f"{subject}: {_run_text(run)}.")


def _growths(runs: list[list[SaturationStepped]], width: float) -> Scene:
    """A row per run: a bar as long as its e-graph was large at the end, a dot per iteration."""
    shown = runs[:MOST_RUNS]
    omitted = f"{len(shown)} of {len(runs):,} runs are drawn." if len(shown) < len(runs) else ""
    left = max(width_px(shorten(r[0].subject, 28), "mono") for r in shown) + 12
    right = max(width_px(_run_text(r), "small") for r in shown) + 16
    most = max(s.nodes for r in shown for s in r) or 1
    room = max(width - left - right, 60.0)
    items: list[Item] = []
    for number, run in enumerate(shown):
        y = number * BOX_PX
        subject = run[0].subject
        w = room * run[-1].nodes / most
        says = (
            Text(0, y + 16, shorten(subject, 28), "mono", "start"),
            Text(left + w + 10, y + 16, _run_text(run), "small", "start"),
        )
        tip = "\n".join(_step_text(s) for s in run)
        items.append(Shape(f"{subject}#says", "text", "plain", 0, y, width, BOX_PX, "none", says, subject, tip))
        items.append(Shape(subject, "block", "bar", left, y + 5, w, BOX_PX - 10, ref=subject, tip=tip))
        for step in run:
            x = left + room * step.nodes / most
            dot = f"{subject}#{step.iteration}"
            tip = _step_text(step)
            items.append(Shape(dot, "mark", "trial", x - 3.5, y + 8.5, 7, 7, "circle", ref=subject, tip=tip))
    height = len(shown) * BOX_PX
    if omitted:
        words = (Text(0, height + 14, omitted, "muted", "start"),)
        items.append(Shape("omitted", "text", "plain", 0, height, width, 20, "none", words))
        height += 20
    desc = "; ".join(f"{r[0].subject}: {_run_text(r)}" for r in shown)
    whole = left + room + right
    title = "saturation, run by run"
    return Scene("saturation", title, f"{desc}. {omitted}".strip(), whole, height, tuple(items), omitted)


def _matches(step: SaturationStepped) -> int:
    return sum(step.matches.values())


def _step_text(step: SaturationStepped) -> str:
    busiest = sorted(step.matches.items(), key=lambda m: (-m[1], m[0]))[:6]
    says = "".join(f"\n  {n:,} × {rule}" for rule, n in busiest)
    return f"iteration {step.iteration}: {step.nodes:,} nodes in {step.classes:,} classes{says}"


def _run_text(run: list[SaturationStepped]) -> str:
    n, last = len(run), run[-1]
    return (
        f"{n} {'iteration' if n == 1 else 'iterations'}, {last.nodes:,} nodes, {last.classes:,} classes, "
        f"{sum(_matches(s) for s in run):,} matches"
    )
