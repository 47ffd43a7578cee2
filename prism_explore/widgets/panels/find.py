"""The section of the find field: how many matches a text has, and the one that is shown."""

from __future__ import annotations

from collections import Counter

from prism_explore.widgets.drawing.text_metrics import shorten
from prism_explore.widgets.panels.context import Context
from prism_explore.widgets.panels.find_index import MAX_MATCHES, PANEL_OF, Found, needle_of
from prism_explore.widgets.panels.sections import FindSection, FoundItem

EXCERPT_CHARACTERS = 90


def find_panel(context: Context) -> FindSection | None:
    """The matches of the text in the field, and the one that is shown; None while the field was not used."""
    wanted, index = context.view.find, context.memo.find
    if not wanted.is_open:
        return None
    matches = _matches(context)
    more = "+" if len(matches) >= MAX_MATCHES else ""
    counts = Counter(map(index.kind, matches))
    by_kind = tuple((kind, f"{counts[kind]:,}") for kind in PANEL_OF if counts[kind])
    item = find_item(context)
    if item is None:
        count = f"{len(matches):,}{more} found" if wanted.text.strip() else ""
        return FindSection(wanted.text, len(matches), 0, count, by_kind, None)
    place = (wanted.position - 1) % len(matches) + 1
    return FindSection(wanted.text, len(matches), place, f"{place:,} of {len(matches):,}{more}", by_kind, item)


def find_item(context: Context) -> FoundItem | None:
    """The match that is shown; None for none."""
    wanted, index, matches = context.view.find, context.memo.find, _matches(context)
    if not wanted.position or not matches:
        return None
    match = matches[(wanted.position - 1) % len(matches)]
    return _item(index[match], index.seq(match), wanted.text)


def _matches(context: Context) -> tuple[int, ...]:
    wanted, index = context.view.find, context.memo.find
    if not wanted.is_open:
        return ()
    history = context.events.entries
    index.extend(history.between(index.count, len(history)))
    return index.find(wanted.text, len(history))


def _item(found: Found, seq: int, text: str) -> FoundItem:
    where = found.text.lower().find(needle_of(text))
    start = max(0, where - EXCERPT_CHARACTERS // 3)
    excerpt = " ".join(found.text[start : start + 2 * EXCERPT_CHARACTERS].split())
    excerpt = ("…" if start else "") + shorten(excerpt, EXCERPT_CHARACTERS)
    return FoundItem(found.ref, found.kind, PANEL_OF[found.kind], excerpt, seq)
