"""The explorer: what Python sends is what a journal adds up to, and the browser's tests draw the same."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from prism_explore.events.fastest import ROOFLINE
from prism_explore.events.format import seconds_text
from prism_explore.events.kinds import BaselineMeasured, Event, TrialMeasured, VerdictReached
from prism_explore.events.ledger import ledger
from prism_explore.widgets.explorer import Explorer
from prism_explore.widgets.jupyter.wire import RenderRequest
from prism_explore.widgets.panels.cards import substitute_symbols
from prism_explore.widgets.panels.context import ViewState
from prism_explore.widgets.panels.graph_choices import GraphChoices
from prism_explore.widgets.panels.sections import Cell, Sections, to_data
from prism_explore.widgets.typescript.section_types import sections_ts
from tests.widgets.fakes import FakeSession, picture, recorded
from tests.widgets.jupyter.test_wire import Browser, until
from tests.widgets.recordings import large, story

WIDGET_MIME = "application/vnd.jupyter.widget-view+json"
ROOT = Path(__file__).resolve().parent.parent.parent


class Shown(Explorer):
    """An explorer whose browser is a list."""

    def __init__(self, session: FakeSession) -> None:
        self.sent: list[dict[str, Any]] = []
        super().__init__(session)

    def send(self, content: dict[str, Any], buffers: object = None) -> None:
        self.sent.append(content)

    def browser(self) -> Browser:
        browser = Browser()
        for message in self.sent:
            browser.receive(message)
        return browser

    def receive(self, **content: Any) -> None:
        self._handle_custom_msg(content, [])


@pytest.fixture
def shown() -> Iterator[Shown]:
    widget = Shown(FakeSession(story(), "finished"))
    yield widget
    widget.close()


def command(name: str, number: int = 1, **args: Any) -> dict[str, Any]:
    return {"kind": "command", "event_id": f"e{number}", "name": name, "args": args}


# ---------------------------------------------------------------- the widget
def test_a_browser_that_says_hello_gets_every_section(shown: Shown) -> None:
    shown.receive(kind="hello", have=0)
    until(lambda: len(shown.sent) > 0)

    assert set(Sections.__dataclass_fields__) == set(shown.browser().sections)


def test_a_click_reaches_the_session_and_is_answered_with_its_python(shown: Shown) -> None:
    shown.receive(kind="hello", have=0)
    shown.receive(**command("reject", id="f2"))
    until(lambda: any(m["replies"] for m in shown.sent))

    assert [("reject", {"id": "f2", "note": ""})] == shown._session.submitted  # type: ignore[attr-defined]
    assert [{"event_id": "e1", "ok": True, "python": "sess.reject('f2')"}] == [
        r for m in shown.sent for r in m["replies"]
    ]


def test_what_was_clicked_can_be_copied_as_python(shown: Shown) -> None:
    for n, (name, args) in enumerate(
        [("step", {}), ("select", {"id": "p3"}), ("select", {"id": "f1"}), ("accept", {"id": "f1"})]
    ):
        shown.receive(**command(name, n, **args))

    assert ("sess.step()", "sess.select('f1')", "sess.accept('f1')") == shown.picture().script.lines


def test_a_selection_in_python_moves_every_panel(shown: Shown) -> None:
    shown._session.selection = "f2"  # type: ignore[misc]
    seen = shown.picture()

    assert seen.view.selection == "f2"
    assert seen.inspector is not None and seen.inspector.title == "f2: a family"
    assert seen.graph.subject == "f2"
    assert seen.eclasses.subject == "f2.c1"


def test_a_selection_that_lies_in_no_graph_keeps_the_graph(shown: Shown) -> None:
    for ref in ("f2", "p3", "n1", "c3"):
        shown._session.selection = ref  # type: ignore[misc]
        assert shown.picture().graph.subject == "f2"


def test_kernels_close_and_open_and_the_map_zooms(shown: Shown) -> None:
    (kernel,) = shown.picture().graph.kernels
    assert kernel.expanded
    shown.receive(kind="look", graph={"kernels": [kernel.ref], "expanded": False})
    shown.receive(kind="look", root="n3")
    shown.receive(kind="look", map_px=500, dock_px=100_000, dock_high_px=10)
    seen = shown.picture()

    assert not seen.graph.kernels[0].expanded
    assert "zoomed into n3" in seen.map.summary
    assert seen.map.scene.width == 500
    choices = GraphChoices(((kernel.ref, False),))
    assert shown._view == ViewState(graph=choices, root="n3", map_px=500, dock_px=2400, dock_high_px=160)


@pytest.mark.parametrize(
    "content",
    [
        None,
        3,
        "x",
        [],
        {},
        {"kind": "look"},
        {"kind": "look", "graph": {"kernels": "all"}},
        {"kind": "hello", "have": "x"},
    ],
)
def test_nonsense_from_the_browser_changes_nothing(shown: Shown, content: object) -> None:
    before = shown._view
    shown._receive(shown, content)

    assert before == shown._view
    assert shown._session.submitted == []  # type: ignore[attr-defined]


def test_facts_that_come_later_are_drawn_without_reading_the_old_ones_again() -> None:
    events = story()
    session = FakeSession(events[:20])
    widget = Shown(session)
    widget.receive(kind="hello", have=0)
    until(lambda: len(widget.sent) > 0)
    for event in events[20:]:
        session.journal.append(event)
    until(lambda: widget.browser().sections["transport"]["events"] == len(events))
    widget.close()

    assert widget._folds.events.count == len(events)
    assert all(len(json.dumps(m)) < 256 * 1024 for m in widget.sent)


def test_a_closed_widget_follows_no_more(shown: Shown) -> None:
    shown.receive(kind="hello", have=0)
    until(lambda: len(shown.sent) > 0)
    shown.close()

    assert shown._session.journal.listeners == [] and len(shown._session.listeners) == 0


# ---------------------------------------------------------------- where no widget can be shown
def test_it_shows_as_widget_svg_and_text(shown: Shown) -> None:
    data, _ = shown._repr_mimebundle_()

    assert {"text/plain", "image/svg+xml", WIDGET_MIME} <= set(data)
    assert data["text/plain"] == "<search of rmsnorm_linear: finished>"
    root = ET.fromstring(data["image/svg+xml"])
    assert "search map" in root.findtext("{http://www.w3.org/2000/svg}desc", "")


def test_the_first_picture_is_kept_with_the_notebook_before_the_browser_asks(shown: Shown) -> None:
    shown._repr_mimebundle_()

    assert shown.snapshot["seq"] == 1
    assert json.loads(shown.snapshot["texts"]["transport"])["state"] == "finished"
    assert shown.snapshot["left_out"] == []


def test_a_notebook_grows_by_little() -> None:
    widget = Shown(FakeSession(large(1000), "finished"))
    data, _ = widget._repr_mimebundle_()
    kept = sum(len(json.dumps(t)) for t in widget.snapshot["texts"].values())
    widget.close()

    assert kept < 150 * 1024
    assert len(data["image/svg+xml"]) < 300 * 1024


# ---------------------------------------------------------------- what is said
def test_counts_are_those_of_the_ledger() -> None:
    seen, book = picture(), ledger(story())
    counts = {c.label: c.value for c in seen.transport.counters}

    assert {"proved": "2", "unknown": "1", "refuted": "1", "subtrees pruned": str(book.funnel.pruned + 1)} == counts
    assert len(seen.families.rows) == len(book.families)


def test_a_modelled_number_is_called_modelled_and_a_measured_one_measured() -> None:
    seen = picture()
    heads = {c.key: c.label for c in (*seen.families.columns, *seen.tuning.trials.columns)}

    assert "modelled" in heads["floor"] and "modelled" in heads["model"]
    assert "measured" in heads["time"]
    assert "measured" in seen.result.spread
    assert [c.label for c in seen.result.comparisons if c.limit] == ["of the limit (modelled)"]


def test_a_time_below_the_modelled_limit_is_said_to_be_disturbed() -> None:
    events = tuple(
        replace(e, time_s=1e-9, p20_s=1e-9, p80_s=1e-9) if isinstance(e, TrialMeasured) else e
        for e in story()
        if not isinstance(e, BaselineMeasured)
    )
    widget = Explorer(FakeSession(events, "finished"))  # type: ignore[arg-type]
    seen = widget.picture()
    (limit,) = (c for c in seen.result.comparisons if c.limit)
    widget.close()

    assert (limit.label, limit.ratio) == ("of the limit (modelled)", "over 100%")
    assert "faster than its lower bound" in seen.result.doubt
    assert "warning" in {c.kind for row in seen.tuning.trials.rows for c in row.cells if isinstance(c, Cell)}


@pytest.mark.parametrize(
    ("share", "time_s", "shown"),
    [(0.9, 3e-4, "measured"), (1.04, 3e-4, "measured"), (1.7, 3e-4, "modelled"), (0.9, 8e-3, "modelled")],
)
def test_a_measured_limit_that_the_kernel_beats_is_replaced_by_the_modelled_one(
    share: float, time_s: float, shown: str
) -> None:
    raced = BaselineMeasured(ROOFLINE, time_s, 2e-4, 9e-3, 9, ratio=share)
    widget = Explorer(FakeSession((*story()[:-1], raced, story()[-1]), "finished"))  # type: ignore[arg-type]
    (limit,) = (c for c in widget.picture().result.comparisons if c.limit)
    widget.close()

    assert limit.label == f"of the limit ({shown})"
    assert limit.ratio != "over 100%"
    assert (f"{seconds_text(time_s)}, is none: the machine was slower" in limit.description) == (shown == "modelled")


@pytest.mark.parametrize(("factor", "is_marked"), [(1.0, False), (1.4, False), (2.0, True), (0.5, True)])
def test_a_ratio_far_from_that_of_the_medians_is_marked(factor: float, is_marked: bool) -> None:
    best = ledger(story()).best
    assert best is not None and best.kernel_time is not None
    raced = BaselineMeasured("torch eager", 3 * best.kernel_time.time_s, 1e-4, 9e-3, 9, ratio=3 * factor)
    events = [e for e in story() if not (isinstance(e, BaselineMeasured) and e.name == "torch eager")]
    widget = Explorer(FakeSession((*events[:-1], raced, events[-1]), "finished"))  # type: ignore[arg-type]
    shown = next(c for c in widget.picture().result.comparisons if c.label == "torch eager")
    widget.close()

    assert shown.time.endswith("⚠") == is_marked
    assert ("speed changed during the race" in shown.description) == is_marked


def test_unknown_is_never_shown_as_no() -> None:
    seen = picture("f2.c1")

    assert seen.inspector is not None
    assert seen.inspector.kind == "unknown"
    assert "It may still be equal." in seen.inspector.cards[0].soundness_text


def test_a_reason_says_everything_that_a_doubter_asks() -> None:
    inspector = picture("p15").inspector
    assert inspector is not None
    card = inspector.cards[0]

    assert card.formula == "4*(bm*bk + bk*bn) <= limit"
    assert card.substituted == "4*(128*256 + 256*128) <= 232448"
    assert card.soundness == "sound" and card.soundness_text.startswith("Nothing is lost: ")
    assert card.would_reopen_if == "the target had at least 262144 bytes of shared memory"
    assert ("rule", "shared memory, in generate") in card.details


def test_symbols_are_replaced_all_at_once() -> None:
    assert substitute_symbols("a*b > ab", {"a": "b", "b": "a"}) == "b*a > ab"
    assert substitute_symbols("a > b", {}) == ""


@pytest.mark.parametrize(
    ("ref", "title"),
    [
        ("n2", "n2: a partial sGraph"),
        ("p3", "p3: a pruned subtree"),
        ("f1", "f1: a family"),
        ("f1.c1", "f1.c1: a candidate"),
        ("f1.c1/k2.b3", "%3 = accum(%2)"),
        ("f1.c1/k2", "%2 = custom(%0, %1) grid[x=gx] loop[i=f]"),
        ("f1/k0", "%0 = input f32[b, 4096]"),
        ("program.%4", "%4 = matmul(%3, %1)"),
        ("u3", "u3: a trial"),
        ("u5", "u5: a trial"),
        ("f1.c1/c3", "c3: an e-class of f1.c1"),
        ("c3", "c3: an e-class of f1.c1"),
        ("f1.c1/program.%4", "%4 = matmul(%3, %1)"),
        ("mem.smem", "mem.smem"),
    ],
)
def test_the_inspector_knows_every_kind_of_id(ref: str, title: str) -> None:
    inspector = picture(ref).inspector

    assert inspector is not None and inspector.title == title


def test_before_anything_is_selected_the_inspector_says_what_may_be_claimed() -> None:
    seen = picture("").inspector

    assert seen is not None
    assert "Result" == seen.title
    assert (picture("").ledger.claim,) == seen.description


def test_where_nothing_is_proved_the_nearest_misses_come_first_with_what_stopped_each() -> None:
    unproved = [e for e in story() if not (isinstance(e, VerdictReached) and e.verdict == "proved")]
    widget = Shown(FakeSession(unproved, "finished"))
    seen = widget.picture().inspector
    widget.close()

    assert seen is not None
    (card,) = seen.cards
    misses = ledger(unproved).near_misses
    assert "near misses" == card.title
    assert [m.subject for m in misses] == [subject for subject, _ in card.details] == [link.ref for link in seen.links]
    assert misses[0].description in card.details[0][1]


@pytest.mark.parametrize("ref", ["f99", "p99", "k3", "f1.c1/k9", "f1.c1/k2.b99", "f1.c1/k0.b1", "program.%x", "☃"])
def test_the_inspector_is_silent_about_what_is_not_there(ref: str) -> None:
    assert picture(ref).inspector is None


def test_everything_that_can_be_selected_in_a_picture_can_be_inspected() -> None:
    seen = picture()
    scenes = [seen.map.scene, seen.map.reasons, seen.graph.scene, seen.eclasses.scene, seen.tuning.scene]
    for ref in {r for s in scenes if s is not None for r in s.refs}:
        assert picture(ref).inspector is not None, ref


@pytest.mark.parametrize("count", [0, 1, 2, 7, 30, len(story())])
def test_every_moment_of_a_search_can_be_drawn(count: int) -> None:
    events: tuple[Event, ...] = story()[:count]
    widget = Shown(FakeSession(events))
    text = json.dumps(to_data(widget.picture()), allow_nan=False)
    widget.close()

    assert "rmsnorm_linear" in text


def test_what_can_be_done_follows_from_the_state() -> None:
    assert picture(state="ready").transport.enabled == ("step", "start", "cancel", "undo")
    assert picture(state="running").transport.enabled == ("pause", "cancel", "undo")
    assert picture(state="paused").transport.enabled == ("step", "resume", "cancel", "undo")
    assert picture(state="finished").transport.enabled == ("undo",)


def test_a_search_that_failed_says_why(shown: Shown) -> None:
    assert shown.picture().error is None
    shown._session.failure = "ValueError: no"  # type: ignore[misc]

    assert shown.picture().error == "The search failed: ValueError: no"


# ---------------------------------------------------------------- both halves
def test_the_browsers_types_are_those_of_python() -> None:
    says = "python -m prism_explore.widgets.typescript.section_types > widgets/src/sections.ts"

    assert (ROOT / "widgets/src/sections.ts").read_text(encoding="utf-8") == sections_ts(), says


def skeleton(value: Any) -> Any:
    """Names and types; of a list, what its members have in common and where they differ."""
    if isinstance(value, dict):
        return {k: skeleton(v) for k, v in sorted(value.items())}
    if isinstance(value, list):
        return sorted({json.dumps(skeleton(v), sort_keys=True) for v in value})
    return "number" if isinstance(value, int | float) and not isinstance(value, bool) else type(value).__name__


def test_the_browsers_tests_draw_what_python_sends() -> None:
    says = "python -m tests.widgets.fakes > widgets/test/recorded.json"
    kept = json.loads((ROOT / "widgets/test/recorded.json").read_text(encoding="utf-8"))
    now = json.loads(recorded())
    for section in (kept, now):  # where boxes stand may differ between layout engines
        scenes = [section["map"]["scene"], section["map"]["reasons"]]
        for scene in (*scenes, *(section[name]["scene"] for name in ("graph", "eclasses", "tuning"))):
            scene["items"] = []

    assert skeleton(now) == skeleton(kept), says


@pytest.mark.parametrize("name", ["explorer", "report"])
def test_the_bundle_asks_for_nothing_and_evaluates_nothing(name: str) -> None:
    bundle = (ROOT / f"prism_explore/widgets/static/{name}.js").read_text(encoding="utf-8")
    addresses = set(re.findall(r"https?://[\w./-]+", bundle))

    namespaces = {"http://www.w3.org/2000/svg", "http://www.w3.org/1998/Math/MathML"}
    assert addresses == namespaces, "a namespace is a name, not an address; the bundle has no other"
    for word in ("eval(", "new Function", "innerHTML", "outerHTML", "insertAdjacentHTML", "XMLHttpRequest", "fetch("):
        assert word not in bundle


def test_a_look_back_shows_the_search_as_it_was_and_leaves_it_where_it_is(shown: Shown) -> None:
    now = shown.picture()
    first = next(n for n, e in enumerate(story(), 1) if type(e).__name__ == "FamilyCompleted")
    shown.receive(kind="look", cursor=first)
    then = shown.picture()

    assert (first, len(story())) == (then.transport.cursor, then.transport.events)
    assert 1 == len(then.families.rows) < len(now.families.rows)
    assert then.transport.past_notice.startswith(f"Earlier state, event {first} of {len(story())} (f1 is complete")
    assert () == then.transport.enabled
    shown.receive(kind="look", cursor=first - 1)
    assert 0 == len(shown.picture().families.rows)
    shown.receive(kind="look", cursor=0)
    assert now == replace(shown.picture(), script=now.script)


def test_an_end_is_shown_with_the_last_results_and_not_before() -> None:
    session = FakeSession(story()[:-2], "running")
    widget = Shown(session)
    assert "running" == widget._render(RenderRequest())["transport"]["state"]  # type: ignore[index]
    for event in story()[-2:]:
        session.journal.append(event)
    session.state = "finished"
    before, after = (widget._render(RenderRequest(extent))["transport"] for extent in ("asked", "shown"))  # type: ignore[index]
    widget.close()

    assert ("running", len(story()) - 2) == (before["state"], before["events"])
    assert ("finished", len(story())) == (after["state"], after["events"])


def test_every_moment_of_the_past_can_be_drawn(shown: Shown) -> None:
    for cursor in range(1, len(story())):
        shown.receive(kind="look", cursor=cursor)
        seen = shown.picture()
        assert cursor == seen.transport.cursor
        assert json.dumps(to_data(seen))


def test_a_request_of_an_earlier_state_is_answered_also_if_nothing_changes(shown: Shown) -> None:
    shown.receive(kind="hello", have=0)
    shown.receive(kind="look", cursor=0, event_id="a-1")
    until(lambda: any(m["replies"] for m in shown.sent))

    assert [{"event_id": "a-1", "ok": True}] == [r for m in shown.sent for r in m["replies"]]


def test_a_panel_that_no_page_shows_is_left_out_until_there_is_nothing_else_to_do(shown: Shown) -> None:
    shown.receive(kind="look", hidden=["code", "eclasses", "nonsense", 3], page="one")
    assert {"code", "eclasses"} == shown._render(RenderRequest()).keys() - shown._render(RenderRequest("shown")).keys()
    shown.receive(kind="look", hidden=["code", "tuning"], page="two")
    assert {"code"} == shown._render(RenderRequest()).keys() - shown._render(RenderRequest("shown")).keys()
    shown.receive(kind="look", hidden=[], page="one")
    assert shown._render(RenderRequest()).keys() == shown._render(RenderRequest("shown")).keys()
    for page in range(20):
        shown.receive(kind="look", hidden=["code"], page=str(page))
    assert len(shown._hidden) == 8


def test_a_moment_that_is_none_is_now(shown: Shown) -> None:
    for cursor in (-5, len(story()), 10**9):
        shown.receive(kind="look", cursor=cursor)
        assert ("", 0) == (shown.picture().transport.past_notice, shown.picture().transport.cursor)
