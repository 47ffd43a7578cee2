"""Tuning: the charts and the table of trials, the inspector of a trial, and the source of a kernel."""

from __future__ import annotations

from collections.abc import Sequence

from prism_explore.codegen.parameter_text import describe_parameter, describe_values
from prism_explore.events.format import seconds_text
from prism_explore.events.ledger import Ledger, Steering, Trial
from prism_explore.widgets.drawing.charts import empty_scene
from prism_explore.widgets.panels.cards import (
    RACE_TIP,
    TRIAL_TIME_TIP,
    action,
    error_cell,
    race_cell,
    reason_card,
    seconds_cell,
    time_cards,
    time_details,
    trial_time_cell,
)
from prism_explore.widgets.panels.context import Context, graph_of
from prism_explore.widgets.panels.sections import (
    BrushAxis,
    Brushed,
    Card,
    Cell,
    Choice,
    Column,
    Inspector,
    Link,
    Pair,
    Row,
    Table,
    Tuning,
)
from prism_explore.widgets.scene import Scene
from prism_explore.widgets.views.importance import importance_scene, importances
from prism_explore.widgets.views.parallel import Axis, candidates_of, parallel_axes, parallel_scene
from prism_explore.widgets.views.roofline import RooflinePoint, roofline_scene, roofs_of
from prism_explore.widgets.views.tuning import parameters_text, tuning_scene
from prism_explore.widgets.views.tuning_view import CANDIDATE, MODES, TIME, TOP_CHOICES

_COLUMNS = (
    Column("trial", "trial"),
    Column("time", "trial time (measured)", "right", tip=TRIAL_TIME_TIP),
    Column("model", "predicted time (modelled)", "right", tip="by the cost model, before the kernel was timed"),
    Column("difference", "unlike the best", mono=True, tip="the parameters whose values differ from the best trial's"),
    Column("parameters", "tuning parameters", mono=True, wide=True, tip="point at a cell to read what each one does"),
    Column("spread", "p20 to p80", "right", tip="20th to 80th percentile of the times measured in its trial"),
    Column("race", "final race (measured)", "right", tip=RACE_TIP),
    Column("error", "error", "right", tip="largest deviation from the float64 reference, over its largest value"),
    Column("outcome", "outcome"),
    Column("candidate", "candidate"),
)
_MODES = tuple(Choice(name, label, tip) for name, (label, tip) in MODES.items())
_TOPS = tuple(Choice(str(n), f"fastest {n}" if n else "all trials") for n in TOP_CHOICES)


def tuning_panel(context: Context) -> Tuning:
    """The chart that the user has chosen, and the table of the trials in the brush."""
    ledger, view = context.ledger, context.view
    width, height = float(view.dock_px), float(view.dock_high_px)
    chosen, axes = view.tuning, parallel_axes(ledger.trials, view.tuning, width, height)
    candidates = candidates_of(ledger.trials)
    kept = [t for t in ledger.trials if chosen.holds(t, candidates)]
    return Tuning(
        _caption(context, kept),
        _MODES,
        chosen.mode,
        _TOPS,
        str(chosen.top),
        tuple(map(_brush_axis, axes)) if chosen.mode == "parallel" else (),
        tuple(_brushed(*interval, axes, ledger.steering) for interval in chosen.brush),
        _scene(context, axes, width, height) if ledger.trials else None,
        _table(ledger, kept, chosen.top),
    )


def _caption(context: Context, kept: Sequence[Trial]) -> str:
    ledger, view = context.ledger, context.view.tuning
    if not ledger.trials:
        return ""
    n = ledger.funnel
    text = f"{n.measured:,} measured, {n.failed:,} failed, {n.bounded:,} not timed because of their bound"
    text += f"; {len(kept):,} of {len(ledger.trials):,} trials in the brush" if view.brush else ""
    if context.followed or not context.subject:
        return text
    own = sum(context.subject in (t.family, t.candidate) for t in ledger.trials)
    return f"{text}; {own:,} trials of {context.subject}" if own else f"{text}; none of {context.subject}"


def _scene(context: Context, axes: Sequence[Axis], width: float, height: float) -> Scene:
    ledger, view = context.ledger, context.view.tuning
    match view.mode:
        case "curve":
            return tuning_scene(ledger, width, height)
        case "parallel":
            best = ledger.best.trial if ledger.best else ""
            return parallel_scene(ledger.trials, axes, view, best, width, height)
        case "roofline":
            return _roofline(context, width, height)
        case "importance":
            return importance_scene(importances(ledger.trials), ledger.funnel.measured, width)


def _brush_axis(axis: Axis) -> BrushAxis:
    return BrushAxis(axis.name, axis.x, axis.values, axis.texts, axis.ys, axis.low, axis.high)


def _brushed(name: str, low: float, high: float, axes: Sequence[Axis], steering: Steering) -> Brushed:
    """An interval of the brush as text, with the command that makes it a restriction of tuning, unless it is one."""
    axis = next((a for a in axes if a.name == name), None)
    first, last = (axis.texts[axis.low], axis.texts[axis.high]) if axis else (f"{low:g}", f"{high:g}")
    text = f"{name} = {first}" if first == last else f"{name} {first} … {last}"
    if name in (CANDIDATE, TIME):
        return Brushed(name, text, None)
    if steering.ranges.get(name) == (low, high):
        return Brushed(name, f"{text}, tuned only", None)
    arguments = {"parameter": name, "low": int(low), "high": int(high)}
    return Brushed(name, text, action(f"Tune only {text}", "restrict", arguments, True))


def _roofline(context: Context, width: float, height: float) -> Scene:
    """Every trial against the limits of the machine."""
    search, ledger, events = context.search, context.ledger, context.events
    machine, points = search.machine, list[RooflinePoint]()
    if machine is None:
        return empty_roofline(search.target, width)
    best = ledger.best.trial if ledger.best else ""
    graphs = {c: graph_of(c, events) for c in candidates_of(ledger.trials)}
    models = {c: context.memo.work_model(g, search.shapes, machine) for c, g in graphs.items() if g is not None}
    for t in ledger.trials:
        model = models.get(t.candidate)
        if model is None or (t.time_s is None and t.failure is None):
            continue
        tip = f"{t.trial} of {t.candidate}: {parameters_text(t.parameters)}"
        tip += f"\n{t.trial_time}, measured" if t.trial_time is not None else ""
        tip += f"\n{t.failure.code}: {t.failure.sentence}" if t.failure else ""
        is_best = t.trial == best
        kind = "trial-best" if is_best else "trial-failed" if t.time_s is None else "trial"
        outline = "star" if is_best else "cross" if t.time_s is None else "circle"
        rate = model.flops / t.time_s if t.time_s else None
        label = f"{t.trial}, best" if is_best else ""
        intensity = model.intensity(dict(t.parameters))
        points.append(RooflinePoint(t.trial, intensity, rate, t.trial, label, tip, kind, outline))
    points.sort(key=lambda p: p.id == best)
    dtypes = [g.types()[g.output].dtype for g in graphs.values() if g is not None]
    return roofline_scene(roofs_of(machine, dtypes[0]) if dtypes else None, points, width, height)


def empty_roofline(machine: str, width: float) -> Scene:
    """The sentence where the figures of the machine are not known."""
    return empty_scene("roofline", f"The figures of {machine} are not in this file, so no roofline is drawn.", width)


def _table(ledger: Ledger, kept: Sequence[Trial], top: int) -> Table:
    """The trials in the order of their proposal, or the fastest ones."""
    best = ledger.best
    rows = list(kept)
    if top:
        rows = sorted((t for t in kept if t.time_s is not None), key=lambda t: (t != best, t.time_s or 0.0))[:top]
    omitted = f"{len(rows):,} of {len(ledger.trials):,} trials are listed." if len(rows) < len(ledger.trials) else ""
    empty = "No trial is in the brush." if ledger.trials else "No trial has been measured yet."
    return Table(_COLUMNS, tuple(_row(t, best) for t in rows), empty, omitted)


def _difference(trial: Trial, best: Trial | None) -> Cell:
    """The parameters in which a trial differs from the best one; the tooltip has the values of the best one."""
    if best is None or trial.trial == best.trial:
        return Cell("–", 0)
    other = dict(best.parameters)
    differing = [(name, value) for name, value in trial.parameters if other.get(name) != value]
    tips = [
        f"{name}={value:,}, best {other.get(name, 'has none')}: {describe_parameter(name)}" for name, value in differing
    ]
    if trial.candidate != best.candidate:
        tips.insert(0, f"candidate {trial.candidate}, best {best.candidate}")
    text = ", ".join(f"{name}={value}" for name, value in differing) or ("candidate" if tips else "nothing")
    return Cell(text, len(tips), tip="\n".join(tips))


def _row(t: Trial, best: Trial | None) -> Row:
    is_best = best is not None and t.trial == best.trial
    time = t.trial_time
    spread = Cell("–") if time is None else Cell(time.spread_text, time.p80_s - time.p20_s)
    outcome = "best so far" if is_best else "measured" if t.time_s is not None else "proposed"
    return Row(
        t.trial,
        (
            Cell(t.trial, kind="badge-best" if is_best else ""),
            trial_time_cell(t),
            seconds_cell(t.modelled_s),
            _difference(t, best),
            Cell(parameters_text(t.parameters), tip=_parameters_tip(t)),
            spread,
            race_cell(t),
            error_cell(t.error),
            Cell(t.failure.sentence, kind="trial-failed") if t.failure else outcome,
            t.candidate,
        ),
        related=(t.candidate,),
    )


def _parameters_tip(t: Trial) -> str:
    return "\n".join(f"{value}: {text}" for value, text in describe_values(t.parameters))


def trial_inspector(ref: str, context: Context) -> Inspector | None:
    """A trial: one choice of parameter values for a candidate."""
    ledger = context.ledger
    trial = next((t for t in ledger.trials if t.trial == ref), None)
    if trial is None:
        return None
    details: list[Pair] = []
    if trial.modelled_s is not None:
        details.append(("predicted time", f"{seconds_text(trial.modelled_s)} modelled"))
    if trial.floor_s is not None:
        details.append(("lower bound (roofline)", f"{seconds_text(trial.floor_s)} modelled"))
    time = trial.kernel_time
    if time is not None:
        details += time_details(time)
    if trial.error is not None:
        details.append(("error", f"{trial.error:.1e}, relative to the float64 reference"))
    is_best = bool(ledger.incumbents) and ledger.incumbents[-1].trial == ref
    measured = "measured" if trial.time_s is not None else "proposed"
    return Inspector(
        ref,
        f"{ref}: a trial",
        "badge-best" if is_best else "trial-failed" if trial.failure else "trial",
        "best" if is_best else "failed" if trial.failure else measured,
        ("One choice of parameter values. The kernel is compared with the reference before it is timed.",),
        tuple(details),
        cards=(
            *((reason_card(trial.failure),) if trial.failure else ()),
            *time_cards(time),
            Card(
                f"of {trial.candidate}",
                "",
                parameters_text(trial.parameters),
                label="Tuning parameters",
                details=describe_values(trial.parameters),
            ),
        ),
        links=(Link(trial.candidate, f"candidate {trial.candidate}"), Link(trial.family, f"family {trial.family}")),
    )
