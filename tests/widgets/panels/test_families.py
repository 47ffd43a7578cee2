"""The order of families that were not timed."""

from __future__ import annotations

from dataclasses import replace

from prism_explore.cost.roofline import time_bound_of_graph
from prism_explore.events.journal import Entry
from prism_explore.events.kinds import CandidateBounded, Event, ParametersProposed, TrialFailed, TrialMeasured
from prism_explore.ir.text import parse
from prism_explore.targets import GPUS
from prism_explore.widgets.panels.context import Context, Folds, Memo, SearchInfo, ViewState
from prism_explore.widgets.panels.families import families_panel, with_modelled_bounds
from tests.widgets.fakes import program
from tests.widgets.recordings import story

SEARCH = SearchInfo(program(), "h100", "b=8", "finished", machine=GPUS["h100"], shapes=(("b", 8),))
TUNING: tuple[type[Event], ...] = (ParametersProposed, TrialMeasured, TrialFailed, CandidateBounded)


def untuned(search: SearchInfo) -> Context:
    """A search for a machine that is not here: everything but tuning."""
    events = [event for event in story() if not isinstance(event, TUNING)]
    entries = tuple(Entry(seq, 0.0, event) for seq, event in enumerate(events))
    return Context.of(search, Folds(entries), ViewState(), Memo())


def test_families_that_were_not_timed_are_in_the_order_of_their_modelled_bounds() -> None:
    context = untuned(SEARCH)
    rows = {f.family: f.floor_s for f in with_modelled_bounds(context).families}
    proved = [c for c, found in context.events.verdicts.items() if found.verdict == "proved"]
    bounds: dict[str, list[float]] = {}
    for candidate in proved:
        event = context.events.candidates[candidate]
        bounds.setdefault(event.family, []).append(
            time_bound_of_graph(parse(event.sgraph), {"b": 8}, GPUS["h100"]).time_s
        )
    assert {f: s for f, s in rows.items() if s is not None} == {f: min(all_s) for f, all_s in bounds.items()} != {}

    order = [row.ref for row in families_panel(context).rows if rows[row.ref] is not None]
    assert order == sorted(order, key=lambda f: rows[f] or 0.0)


def test_without_the_figures_of_the_machine_or_while_it_runs_nothing_is_modelled() -> None:
    for search in (replace(SEARCH, machine=None), replace(SEARCH, state="running")):
        assert all(f.floor_s is None for f in with_modelled_bounds(untuned(search)).families)
