"""The panel of bookmarks: on what and at which moment each is, and its note."""

from __future__ import annotations

from prism_explore.events.kinds import Bookmarked
from prism_explore.widgets.panels.cards import action
from prism_explore.widgets.panels.context import Context
from prism_explore.widgets.panels.sections import BookmarkRow, BookmarksSection


def bookmarks_panel(context: Context) -> BookmarksSection:
    """The bookmarks, oldest first; an earlier state of the search has all of them too."""
    every = tuple(context.events.bookmarks.values())
    kept = tuple(_row(b) for b in every if not b.deleted)
    selection, cursor = context.view.selection, context.view.cursor
    args = {"id": selection, "at": cursor} if cursor else {"id": selection}
    place = " at this moment" if cursor else ""
    label = f"Bookmark {selection or 'this moment'}{place if selection else ''}"
    count = f"{len(kept):,} bookmark{'' if len(kept) == 1 else 's'}, saved with the search"
    return BookmarksSection(
        count if kept else "",
        kept,
        tuple(_row(b) for b in every if b.deleted),
        action(label if selection or cursor else "Bookmark", "bookmark", args, bool(selection or cursor)),
        action("Undo", "undo_bookmark", {}, bool(every)),
    )


def _row(bookmark: Bookmarked) -> BookmarkRow:
    place = f"event {bookmark.at:,}" if bookmark.at else ""
    label = ", at ".join(filter(None, (bookmark.ref, place))) if bookmark.ref else place
    return BookmarkRow(bookmark.bookmark, bookmark.ref, bookmark.at, label, bookmark.note)
