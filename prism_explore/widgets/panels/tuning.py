"""Tuning: the chart and table of trials, the inspector of a trial, and the source of a kernel."""

from __future__ import annotations

from prism_explore.events.format import seconds_text
from prism_explore.events.ledger import Trial
from prism_explore.widgets.panels.cards import error_cell, reason_card, seconds_cell
from prism_explore.widgets.panels.context import Context
from prism_explore.widgets.panels.sections import Cell, Code, Column, Inspector, Link, Pair, Row, Table, Tuning
from prism_explore.widgets.views.tuning import parameters_text, tuning_scene

_COLUMNS = (
    Column("trial", "trial"),
    Column("parameters", "parameters", mono=True, wide=True),
    Column("time", "time (measured)", "right"),
    Column("model", "estimate (modelled)", "right"),
    Column("spread", "p20 to p80", "right"),
    Column("error", "error", "right"),
    Column("outcome", "outcome"),
    Column("candidate", "candidate"),
)


def tuning_panel(context: Context) -> Tuning:
    """The chart and the table of all trials."""
    ledger, view = context.ledger, context.view
    best = ledger.best.trial if ledger.best else ""
    rows = tuple(_row(t, t.trial == best) for t in ledger.trials)
    table = Table(_COLUMNS, rows, "No trial has been measured yet.")
    if not rows:
        return Tuning("", None, table)
    n = ledger.funnel
    caption = f"{n.measured:,} measured, {n.failed:,} without a kernel, {n.bounded:,} not timed because of their bound"
    return Tuning(caption, tuning_scene(ledger, float(view.dock_px), float(view.dock_high_px)), table)


def _row(t: Trial, is_best: bool) -> Row:
    spread = Cell("–")
    if t.p20_s is not None and t.p80_s is not None:
        spread = Cell(f"{seconds_text(t.p20_s)} to {seconds_text(t.p80_s)}", t.p80_s - t.p20_s)
    outcome = "best so far" if is_best else "measured" if t.time_s is not None else "proposed"
    return Row(
        t.trial,
        (
            Cell(t.trial, kind="badge-best" if is_best else ""),
            parameters_text(t.parameters),
            seconds_cell(t.time_s),
            seconds_cell(t.modelled_s),
            spread,
            error_cell(t.error),
            Cell(t.failure.sentence, kind="trial-failed") if t.failure else outcome,
            t.candidate,
        ),
    )


def trial_inspector(ref: str, context: Context) -> Inspector | None:
    """A trial: one choice of parameter values for a candidate."""
    ledger = context.ledger
    trial = next((t for t in ledger.trials if t.trial == ref), None)
    if trial is None:
        return None
    details: list[Pair] = [("parameters", parameters_text(trial.parameters))]
    if trial.modelled_s is not None:
        details.append(("estimate", f"{seconds_text(trial.modelled_s)} modelled"))
    if trial.floor_s is not None:
        details.append(("roofline", f"{seconds_text(trial.floor_s)} modelled"))
    if trial.time_s is not None and trial.p20_s is not None and trial.p80_s is not None:
        spread = f"{seconds_text(trial.p20_s)} to {seconds_text(trial.p80_s)} (20th to 80th percentile)"
        details.append(("time", f"{seconds_text(trial.time_s)} measured, median of {trial.samples}"))
        details.append(("spread", spread))
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
        cards=(reason_card(trial.failure),) if trial.failure else (),
        links=(Link(trial.candidate, f"candidate {trial.candidate}"), Link(trial.family, f"family {trial.family}")),
    )


def code_panel(context: Context) -> Code:
    """The source of the selected trial, else of the fastest trial of the candidate, else of the best trial."""
    trial = _trial_with_source(context)
    if not trial:
        return Code("", "", "")
    event = context.events.sources[trial]
    known = next((t for t in context.ledger.trials if t.trial == trial), None)
    caption = f"{event.backend}, {parameters_text(known.parameters)}" if known else event.backend
    if known is not None and known.time_s is not None:
        caption += f", {seconds_text(known.time_s)} measured"
    return Code(f"{trial} of {event.candidate}", caption, event.source)


def _trial_with_source(context: Context) -> str:
    sources, ledger = context.events.sources, context.ledger
    if context.view.selection in sources:
        return context.view.selection
    generated = [t for t, e in sources.items() if e.candidate == context.candidate]
    timed = [t for t in ledger.trials if t.trial in generated and t.time_s is not None]
    if timed:
        return min(timed, key=lambda t: t.time_s or 0.0).trial
    if generated:
        return generated[-1]
    return ledger.best.trial if ledger.best is not None and ledger.best.trial in sources else ""
