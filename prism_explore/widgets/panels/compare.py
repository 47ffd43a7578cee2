"""The panel that compares two searches, and what it is computed from.

`ComparedSearches` holds both searches as they were when they were compared. A click on a step, a family or an event
selects it in both: `resolve` finds the id in either search, and two inspectors show them.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Literal, cast

from prism_explore.diagnose.compare_runs import FamilyPair, Line, RunComparison
from prism_explore.diagnose.merged_tree import DIFFERENCES, Difference, MergedStep
from prism_explore.events.format import factor_text
from prism_explore.events.ledger import FamilyRow
from prism_explore.widgets.jupyter.live import SessionLike
from prism_explore.widgets.panels.cards import STATUS_KIND, seconds_cell
from prism_explore.widgets.panels.context import Context, Folds, Memo, ViewState, search_info
from prism_explore.widgets.panels.event_text import log_line
from prism_explore.widgets.panels.inspector import inspect
from prism_explore.widgets.panels.sections import (
    Cell,
    Column,
    CompareKind,
    CompareMoment,
    CompareSection,
    CompareSide,
    Inspector,
    Row,
    Table,
)
from prism_explore.widgets.scene import Scene
from prism_explore.widgets.views.merged_map import KIND_OF, LABEL_OF, fate_text, merged_scene

Side = Literal[0, 1]
LETTERS = "AB"
MAX_ROWS = 500
"""Largest number of differences in the table; the text below it counts all."""


@dataclass(frozen=True, slots=True)
class CompareView:
    """What is shown of a comparison."""

    selection: str = ""
    """`m7` for a step, `a:f2` or `b:f2` for an id of one search."""
    kinds: tuple[Difference, ...] = tuple(kind for kind in DIFFERENCES if kind != "same")
    """The kinds of difference that are shown."""
    root: int = -1
    """The step that the map is zoomed into."""
    map_px: int = 560

    def changed(self, change: Mapping[str, Any]) -> CompareView:
        """The view after a message from the browser; parts that do not fit are ignored."""
        view = self
        match change:
            case {"select": str(ref)}:
                view = replace(view, selection=ref[:200])
            case {"kinds": list()}:
                names = cast("list[object]", change["kinds"])
                view = replace(view, kinds=tuple(kind for kind in DIFFERENCES if kind in names))
            case {"root": str(ref)}:
                number = step_number(ref)
                view = replace(view, root=-1 if number == view.root else number)
            case {"map_px": int(px)}:
                view = replace(view, map_px=max(240, min(2400, px)))
            case _:
                pass
        return view


def step_number(ref: str) -> int:
    """The number of a step from its id; -1 for another id."""
    return int(ref[1:]) if ref[:1] == "m" and ref[1:].isdecimal() else -1


class ComparedSearches:
    """Two searches as they were when they were compared, indexed for panels.

    Args:
        result: the comparison of two searches that an explorer can show.
    """

    def __init__(self, result: RunComparison) -> None:
        self.result = result
        self.searches = searches = cast("tuple[SessionLike, SessionLike]", result.runs)
        self.tree = result.tree
        memo = Memo()
        folds = tuple(
            Folds(search.journal.entries[:count]) for search, count in zip(searches, result.event_counts, strict=True)
        )
        self.contexts = tuple(
            Context.of(search_info(search, with_questions=False), fold, ViewState(), memo)
            for search, fold in zip(searches, folds, strict=True)
        )
        self._pairs = tuple(
            {row.family: pair for pair in result.pairs if (row := pair.rows[side]) is not None} for side in (0, 1)
        )
        self._divergences = tuple(self.tree.divergences)
        self._counts = self.tree.counts()
        self._scene = lru_cache(8)(self._draw)

    def _draw(self, kinds: tuple[Difference, ...], width_px: float, root: int) -> Scene:
        return merged_scene(self.tree, kinds, width_px, root)

    # ------------------------------------------------------------ the same thing in both
    def resolve(self, selection: str) -> tuple[str, str]:
        """The id in A and the id in B of a selection; empty where a search does not have it."""
        number = step_number(selection)
        if 0 <= number < len(self.tree.steps):
            step = self.tree.steps[number]
            return step.ref(0), step.ref(1)
        letter, colon, ref = selection.partition(":")
        if not colon or letter not in ("a", "b"):
            return "", ""
        side: Side = 0 if letter == "a" else 1
        other = self.counterpart(side, ref)
        return (ref, other) if side == 0 else (other, ref)

    def counterpart(self, side: Side, ref: str) -> str:
        """The id in the other search of the same node, region, family or candidate; empty if there is none."""
        there: Side = 1 if side == 0 else 0
        if ref in self._pairs[side]:
            row = self._pairs[side][ref].rows[there]
            return row.family if row is not None else ""
        if ref in self.tree.number_of[side]:
            return self.tree.steps[self.tree.number_of[side][ref]].ref(there)
        events = self.contexts[side].events
        candidate = events.candidates.get(ref)
        if candidate is None or not (family := self.counterpart(side, candidate.family)):
            return ""
        others = self.contexts[there].events
        same = (c for c in others.candidates_of(family) if others.candidates[c].uses == candidate.uses)
        return next(same, "")

    def step_of(self, selection: str) -> MergedStep | None:
        """The merged step of a selection; None if it is no step."""
        number = step_number(selection)
        if 0 <= number < len(self.tree.steps):
            return self.tree.steps[number]
        for side, ref in enumerate(self.resolve(selection)):
            if ref in self.tree.number_of[side]:
                return self.tree.steps[self.tree.number_of[side][ref]]
        return None

    # ------------------------------------------------------------ the section
    def section(self, view: CompareView) -> CompareSection:
        """The section of the panel."""
        return CompareSection(
            summary=self.result.text,
            **self.selected(view.selection),
            **self.picture(view),
            first=self._moments(),
            families=_families(self.result.pairs),
            settings=_lines(self.result.settings, "The searches have no settings yet."),
            counts=_lines((*self.result.counts, *self.result.prunings), "Nothing has been counted yet."),
        )

    def selected(self, selection: str) -> dict[str, Any]:
        """The fields of the section that a selection changes."""
        step = self.step_of(selection)
        return {
            "marked": f"m{step.number}" if step is not None else "",
            "path": " ▸ ".join(s.operator or "start" for s in self.tree.path(step.number)) if step is not None else "",
            "sides": tuple(self._side(n, ref, bool(selection)) for n, ref in enumerate(self.resolve(selection))),
        }

    def picture(self, view: CompareView) -> dict[str, Any]:
        """The fields of the section that the kinds of difference and the zoom change."""
        return {
            "scene": self._scene(view.kinds, float(view.map_px), view.root),
            "kinds": tuple(
                CompareKind(kind, LABEL_OF[kind], KIND_OF[kind], f"{self._counts[kind]:,}", kind in view.kinds)
                for kind in DIFFERENCES
            ),
            "steps": self._steps(view.kinds),
        }

    def _side(self, side: int, ref: str, selected: bool) -> CompareSide:
        search, context = self.searches[side], self.contexts[side]
        events, later = self.result.event_counts[side], len(search.journal) - self.result.event_counts[side]
        info = context.search
        more = f", {later:,} more since" if later > 0 else ""
        where = f"on {info.target}" + (f" at {info.sizes}" if info.sizes else "")
        return CompareSide(
            LETTERS[side],
            search_name(search),
            f"{where}, {events:,} events{more}",
            _readable(inspect(ref, context)) if ref else None,
            "" if ref else f"{LETTERS[side]} does not have it." if selected else "Select a step, an event or a family.",
        )

    def _moments(self) -> tuple[CompareMoment, ...]:
        found = self.result.divergence
        if found is None:
            return ()
        moments: list[CompareMoment] = []
        for side, (number, event) in enumerate(zip(found.numbers, found.events, strict=True)):
            letter = LETTERS[side]
            line = log_line(event) if event is not None else None
            text = line.text if line is not None else "it has no further event"
            ref = f"{letter.lower()}:{line.ref}" if line is not None and line.ref else ""
            moments.append(CompareMoment(f"{letter}, event {number:,}", text, ref))
        return tuple(moments)

    def _steps(self, kinds: Collection[Difference]) -> Table:
        chosen = [step for step in self._divergences if step.difference in kinds]
        rows = tuple(
            Row(
                f"m{step.number}",
                (
                    Cell(step.difference, kind=KIND_OF[step.difference]),
                    Cell(f"{step.size:,}", step.size),
                    Cell(f"{step.leaves[0]:,}", step.leaves[0]),
                    Cell(f"{step.leaves[1]:,}", step.leaves[1]),
                    step.operator or "start",
                    *(Cell(text, tip=text) for text in (fate_text(step, 0), fate_text(step, 1))),
                ),
            )
            for step in chosen[:MAX_ROWS]
        )
        left = len(chosen) - len(rows)
        omitted = f"{left:,} smaller differences are not listed; the map has them." if left else ""
        return Table(_STEP_COLUMNS, rows, "No step differs in these ways.", omitted)


_STEP_COLUMNS = (
    Column("kind", "difference"),
    Column("size", "by leaves", "right", tip="difference of the number of leaves below the step"),
    Column("in_a", "A", "right", tip="leaves below the step in A"),
    Column("in_b", "B", "right", tip="leaves below the step in B"),
    Column("step", "step", mono=True),
    Column("a", "in A", wide=True),
    Column("b", "in B", wide=True),
)
_FAMILY_COLUMNS = (
    Column("where", "in"),
    Column("a", "A"),
    Column("status_a", "status in A"),
    Column("time_a", "time in A", "right", tip="measured, of its fastest kernel"),
    Column("b", "B"),
    Column("status_b", "status in B"),
    Column("time_b", "time in B", "right", tip="measured, of its fastest kernel"),
    Column("ratio", "B / A", "right", tip="time in B divided by time in A; compare only on one machine"),
)
_LINE_COLUMNS = (Column("differs", ""), Column("name", "name"), Column("a", "A"), Column("b", "B"))


def _families(pairs: tuple[FamilyPair, ...]) -> Table:
    """Families side by side: winners first, then those of one search only, then by time."""

    def order(pair: FamilyPair) -> tuple[bool, bool, float]:
        rows = [row for row in pair.rows if row is not None]
        best = min((row.best_s for row in rows if row.best_s is not None), default=float("inf"))
        return not any(row.is_best for row in rows), len(rows) == 2, best

    rows: list[Row] = []
    for pair in sorted(pairs, key=order):
        a, b = pair.rows
        where, kind = ("both", "same") if a and b else ("only A", "only-a") if a else ("only B", "only-b")
        ratio = Cell("–") if pair.ratio is None else Cell(factor_text(pair.ratio), pair.ratio)
        ref = f"a:{a.family}" if a is not None else f"b:{b.family}" if b is not None else ""
        rows.append(Row(ref, (Cell(where, kind=kind), *_family_cells(a), *_family_cells(b), ratio)))
    return Table(_FAMILY_COLUMNS, tuple(rows), "Neither search has a family yet.")


def _family_cells(row: FamilyRow | None) -> tuple[str | Cell, ...]:
    if row is None:
        return "–", "–", Cell("–")
    name = Cell(f"{row.family} best", kind="badge-best") if row.is_best else Cell(row.family)
    tip = row.time.warning or str(row.time) if row.time is not None else ""
    return name, Cell(row.status, kind=STATUS_KIND[row.status]), replace(seconds_cell(row.best_s), tip=tip)


def _lines(lines: tuple[Line, ...], empty: str) -> Table:
    """Properties side by side, those that differ first."""
    rows = tuple(
        Row("", (Cell("≠ differs") if line.differs else Cell("= same"), line.name, line.first, line.second))
        for line in sorted(lines, key=lambda line: not line.differs)
    )
    return Table(_LINE_COLUMNS, rows, empty)


def _readable(inspector: Inspector | None) -> Inspector | None:
    """An inspector without its commands, since the window of a comparison does not steer."""
    return None if inspector is None else replace(inspector, actions=())


def search_name(search: object) -> str:
    """The name of a search, with the number of a fork."""
    return str(getattr(search, "name", "") or getattr(getattr(search, "program", None), "name", "search"))
