"""Two searches side by side in a report: the comparison for every selection, kinds of difference and zoom that it has.

A selection changes the two inspectors; the kinds of difference and the step that is zoomed into change the map. Both
are recorded apart, and `widgets/src/fold/compared.ts` puts them together.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

from prism_explore.diagnose.merged_tree import DIFFERENCES
from prism_explore.widgets.panels.compare import ComparedSearches, CompareView
from prism_explore.widgets.panels.sections import CompareSection, CompareSide, Inspector
from prism_explore.widgets.report_data.pool import Pool

MAX_SELECTED = 1_500
"""Largest number of ids whose inspectors are in the page."""
MAX_ZOOMS = 60
"""Largest number of steps that can be zoomed into, the largest differences first."""

NOT_THERE = "This page does not contain it. Compare the saved searches in a notebook."


@dataclass(frozen=True, slots=True)
class ComparedData:
    """A comparison as data, and what it leaves out."""

    data: dict[str, Any]
    selected: int
    """Number of the ids with inspectors."""
    is_complete: bool
    """Whether every id that the page shows has one."""


def compared_data(searches: ComparedSearches, pool: Pool, map_px: int) -> ComparedData:
    """Record a comparison.

    Args:
        searches: the two searches, indexed.
        pool: stores the sections.
        map_px: width of the map. Units: px.
    """
    start = CompareView(map_px=map_px)
    base = searches.section(start)
    pictures = {_picture_key(view): pool.add(searches.picture(view)) for view in _pictures(searches, start)}
    selections: dict[str, int] = {}
    waiting = list(_shown(base))
    for ref in waiting:
        if len(selections) == MAX_SELECTED:
            break
        if ref in selections:
            continue
        found = searches.selected(ref)
        selections[ref] = pool.add(found)
        waiting += [r for r in _shown_by_sides(found["sides"]) if r not in selections]
    data = {
        "base": pool.add(base),
        "all_kinds": list(DIFFERENCES),
        "kinds": list(start.kinds),
        "pictures": pictures,
        "selections": selections,
        "missing": pool.add({"marked": "", "path": "", "sides": [replace(s, missing=NOT_THERE) for s in base.sides]}),
    }
    return ComparedData(data, len(selections), len(selections) >= len(set(waiting)))


def _pictures(searches: ComparedSearches, start: CompareView) -> Iterator[CompareView]:
    """The views that differ in the map: all choices of kinds, and the steps to zoom into."""
    for count in range(len(DIFFERENCES) + 1):
        for kinds in combinations(DIFFERENCES, count):
            yield replace(start, kinds=kinds)
    inner = sorted((s for s in searches.tree.steps if s.children), key=lambda s: (-s.size, s.number))
    for step in inner[:MAX_ZOOMS]:
        yield replace(start, root=step.number)


def _picture_key(view: CompareView) -> str:
    """The kinds by their positions, and the step."""
    return "".join(str(DIFFERENCES.index(kind)) for kind in view.kinds) + (f"@m{view.root}" if view.root >= 0 else "")


def _shown(section: CompareSection) -> Iterator[str]:
    """The ids in the parts of a comparison that a selection does not change."""
    yield from (moment.ref for moment in section.first if moment.ref)
    for table in (section.families, section.steps):
        yield from (row.ref for row in (table.rows if table else ()) if row.ref)
    yield from sorted(section.scene.refs if section.scene else ())


def _shown_by_sides(sides: Sequence[CompareSide]) -> Iterator[str]:
    """The ids in the two inspectors."""
    for letter, side in zip("ab", sides, strict=True):
        yield from (f"{letter}:{ref}" for ref in _refs(side.inspector))


def _refs(inspector: Inspector | None) -> Iterator[str]:
    if inspector is not None:
        yield from (link.ref for link in inspector.links)
