"""The filter: one function decides, tables hide, the map dims, the log lists, and `sess.view` sets it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from prism_explore.errors import ShapeError
from prism_explore.events.journal import Entry, Journal
from prism_explore.events.kinds import FamilyCompleted, FloatsAssessed, NodeExpanded, RegionPruned
from prism_explore.widgets.panels.context import Folds, SearchInfo, ViewState
from prism_explore.widgets.panels.filter_view import STATUSES, Facts, Filter, passes
from prism_explore.widgets.panels.look import ARGUMENTS, MODES, TABS, changed_view, view_line
from prism_explore.widgets.panels.panels import PANELS, sections
from prism_explore.widgets.panels.sections import Sections, Table
from tests.widgets.fakes import program
from tests.widgets.made_up_search import made_up_search

EVENTS = tuple(e for e in made_up_search(2_000, seed=5, tuned_every=2) if not isinstance(e, FloatsAssessed))
FOLDS = Folds(Entry(n, n / 10, event) for n, event in enumerate(EVENTS))


def shown(**conditions: Any) -> Sections:
    return sections(SearchInfo(program()), FOLDS, ViewState(filter=Filter().changed(conditions)))


def refs(table: Table) -> set[str]:
    return {row.ref for row in table.rows}


@pytest.mark.parametrize(
    ("conditions", "facts", "expected"),
    [
        ({}, Facts(), True),
        ({"status": "proved"}, Facts(frozenset({"proved"})), True),
        ({"status": ["proved", "best"]}, Facts(frozenset({"best"})), True),
        ({"status": "proved"}, Facts(frozenset({"refuted"})), False),
        ({"reason": "mem.smem"}, Facts(reasons=frozenset({"mem.smem"})), True),
        ({"reason": "mem.smem"}, Facts(), False),
        ({"operator": "MatMul"}, Facts(operator="matmul(%0, %1)"), True),
        ({"operator": "exp"}, Facts(operator="matmul(%0, %1)"), False),
        ({"events": [3, 5]}, Facts(seq=5), True),
        ({"events": (3, 5)}, Facts(seq=6), False),
        ({"status": "proved", "operator": "exp"}, Facts(frozenset({"proved"}), operator="add"), False),
    ],
)
def test_all_conditions_have_to_hold(conditions: Mapping[str, Any], facts: Facts, expected: bool) -> None:
    assert passes(Filter().changed(conditions), facts) is expected


@pytest.mark.parametrize(
    ("conditions", "message"),
    [
        ({"status": "prooved"}, "no status 'prooved'; there are best, proved"),
        ({"colour": "red"}, "a filter has no colour; it has status, reason, operator, events"),
        ({"operator": 3}, "operator is a text"),
        ({"reason": [1]}, "reason is a text or a list"),
        ({"events": [5, 3]}, "the smaller one first"),
        ({"events": [-1, 3]}, "events is a pair"),
    ],
)
def test_a_wrong_condition_is_named_with_the_allowed_ones(conditions: Mapping[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Filter().changed(conditions)
    with pytest.raises(ShapeError, match=message):
        changed_view(ViewState(), "", None, {"filter": conditions}, Journal())


def test_the_rows_of_families_and_trials_are_hidden_and_counted() -> None:
    everything = shown()
    proved = {f.family for f in FOLDS.ledger.value().families if f.status == "proved"}
    some = shown(status="proved")
    assert refs(some.families) == proved
    hidden = len(everything.families.rows) - len(proved)
    assert f"hides {hidden:,} of {len(everything.families.rows):,} rows" in some.families.omitted

    timed = {t.trial for t in FOLDS.ledger.value().trials if t.time_s is not None}
    assert refs(shown(status="timed").tuning.trials) == timed != set()
    assert refs(shown(status="timed", operator="no such operator").tuning.trials) == set()
    assert shown().families.omitted == everything.families.omitted


def test_the_map_dims_what_has_another_reason() -> None:
    section = shown(reason="mem.smem").map
    assert shown().map.dimmed == ()
    codes = {e.region: e.reason.code for e in EVENTS if isinstance(e, RegionPruned)}
    drawn = {item.ref for item in section.scene.items if item.ref}
    assert all(codes[ref] != "mem.smem" for ref in section.dimmed if ref in codes)
    assert {r for r in drawn if codes.get(r) == "mem.smem"}.isdisjoint(section.dimmed)
    assert section.dimmed


def test_the_log_lists_the_last_events_that_the_filter_leaves() -> None:
    log = shown(reason="mem.smem").ledger.log
    codes = {e.region: e.reason.code for e in EVENTS if isinstance(e, RegionPruned)}
    assert log.rows
    assert {codes[row.ref] for row in log.rows} == {"mem.smem"}


def test_a_range_of_events_selects_what_appeared_in_it() -> None:
    section = shown(events=(100, 200)).ledger.log
    numbers = [int(str(getattr(row.cells[0], "text", row.cells[0]))) for row in section.rows]
    assert numbers == sorted(range(100, 201), reverse=True)


def test_every_condition_is_a_chip() -> None:
    chips = shown(status=["proved", "best"], reason="mem.smem", operator="exp", events=(1, 2_000)).filter.chips
    assert [c.label for c in chips] == [
        "status: proved",
        "status: best",
        "reason: mem.smem",
        "operator: exp",
        "events 1 to 2,000",
    ]


def test_the_form_offers_every_status_and_reason() -> None:
    section = shown().filter
    assert [c.name for c in section.statuses] == list(STATUSES)
    assert {c.code for c in FOLDS.ledger.value().prune_counts} <= {c.name for c in section.reasons}


# ---------------------------------------------------------------- sess.view
def journal() -> Journal:
    log = Journal()
    for event in EVENTS[:50]:
        log.append(event)
    return log


NODE = next(e.node for e in EVENTS[5:50] if isinstance(e, NodeExpanded))


FAMILY = next(e.family for e in EVENTS[:50] if isinstance(e, FamilyCompleted))


@pytest.mark.parametrize(
    ("panel", "mode", "given", "line"),
    [
        ("map", "tree", {}, "sess.view('map', mode='tree')"),
        ("", None, {"root": NODE}, f"sess.view(root={NODE!r})"),
        ("", None, {"cursor": 12}, "sess.view(cursor=12)"),
        ("", None, {"tab": "code"}, "sess.view(tab='code')"),
        ("", None, {"kernel": "f2.c1/k3"}, "sess.view(kernel='f2.c1/k3')"),
        ("", None, {"program": True}, "sess.view(program=True)"),
        ("", None, {"find": "shared memory"}, "sess.view(find='shared memory')"),
        ("", None, {"sizes": {"gx": 8}}, "sess.view(sizes={'gx': 8})"),
        ("tuning", "parallel", {}, "sess.view('tuning', mode='parallel')"),
        (
            "",
            None,
            {"brush": {"gx": (8, 64), "time": (1e-6, 2.5e-6)}},
            "sess.view(brush={'gx': (8, 64), 'time': (1e-06, 2.5e-06)})",
        ),
        ("", None, {"families": [FAMILY]}, f"sess.view(families=[{FAMILY!r}])"),
        ("", None, {"filter": {"status": "proved"}}, "sess.view(filter={'status': ['proved']})"),
    ],
)
def test_a_change_is_a_line_that_makes_the_same_change(
    panel: str, mode: str | None, given: dict[str, Any], line: str
) -> None:
    before = ViewState()
    after = changed_view(before, panel, mode, given, journal())
    assert view_line(before, after) == line
    assert view_line(after, after) == ""

    class Again:
        def view(self, panel: str = "", *, mode: str | None = None, **given: Any) -> ViewState:
            return changed_view(before, panel, mode, given, journal())

    again = eval(line, {"sess": Again()})
    assert view_line(before, again) == line


@pytest.mark.parametrize(
    ("panel", "mode", "given", "message"),
    [
        ("maps", None, {}, "no panel 'maps'; there are map, graph"),
        ("map", "bush", {}, "no mode 'bush' of map; there are icicle"),
        ("code", "tree", {}, "needs a panel with modes"),
        ("", None, {"root": "n999999"}, "id of a node"),
        ("", None, {"cursor": 51}, "up to 50"),
        ("", None, {"cursor": True}, "up to 50"),
        ("", None, {"tab": "x"}, "no panel 'x'"),
        ("", None, {"filter": 3}, "filter= is a dict"),
        ("", None, {"program": 1}, "True or False"),
        ("", None, {"kernel": "f2"}, "id of a custom kernel"),
    ],
)
def test_a_wrong_view_is_refused_with_the_allowed_values(
    panel: str, mode: str | None, given: dict[str, Any], message: str
) -> None:
    with pytest.raises(ShapeError, match=message):
        changed_view(ViewState(), panel, mode, given, journal())


def test_every_panel_and_argument_is_documented() -> None:
    from inspect import signature

    from prism_explore.session.session import Session

    registry = (Path(__file__).parents[3] / "widgets" / "src" / "registry.ts").read_text(encoding="utf-8")
    assert list(TABS) == re.findall(r'name: "(\w+)", label', registry)
    assert set(TABS) <= set(PANELS)
    assert all(f"`{name}`" in str(Session.view.__doc__) for name in (*TABS, *(m for ms in MODES.values() for m in ms)))
    assert set(ARGUMENTS) <= set(signature(Session.view).parameters)
