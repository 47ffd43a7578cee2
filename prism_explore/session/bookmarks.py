"""Bookmarks with notes: on an id, on a moment of the search, or on both. They are events, so they are saved with it.

The last event of a bookmark holds. A deleted bookmark stays in the journal and can be restored, so nothing is lost.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from dataclasses import replace

from prism_explore.errors import ShapeError
from prism_explore.events.journal import Journal
from prism_explore.events.kinds import Bookmarked

MAX_NOTE_CHARACTERS = 4_000
"""Largest length of a note."""
MAX_REF_CHARACTERS = 200
"""Largest length of an id."""

_LOCK = threading.Lock()
"""Two threads do not give two bookmarks the same id."""


class Bookmarks(Mapping[str, Bookmarked]):
    """The bookmarks of a search by id, without the deleted ones; prints as a list."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal

    @property
    def all(self) -> Mapping[str, Bookmarked]:
        """The bookmarks by id, deleted ones included."""
        return {e.bookmark: e for e in self._journal.events if isinstance(e, Bookmarked)}

    def add(self, ref: str, note: str = "", at: int = 0) -> Bookmarked:
        """Make a bookmark; see `Record.bookmark`.

        Raises:
            ShapeError: neither an id nor a moment, no such moment, or a text that is too long.
        """
        if not ref and not at:
            raise ShapeError("a bookmark needs an id or a moment: sess.bookmark('f2', 'look at this'), or at=512")
        if type(at) is not int or not 0 <= at <= len(self._journal):
            raise ShapeError(f"at= is a number of events from 1 to {len(self._journal):,}, or 0; found {at!r}")
        if len(ref) > MAX_REF_CHARACTERS:
            raise ShapeError(f"an id is a text of at most {MAX_REF_CHARACTERS} characters, such as 'f2'; found {ref!r}")
        with _LOCK:
            return self._append(Bookmarked(f"b{len(self.all) + 1}", ref, _checked(note), at))

    def edit(self, bookmark: str, note: str) -> Bookmarked:
        """Change a note.

        Args:
            bookmark: its id, such as b1.
            note: the new note.

        Raises:
            ShapeError: no such bookmark, or the note is too long.
        """
        return self._append(replace(self._find(bookmark), note=_checked(note), undone=False))

    def delete(self, bookmark: str) -> Bookmarked:
        """Delete a bookmark; `restore` reverts this.

        Args:
            bookmark: its id, such as b1.

        Raises:
            ShapeError: no such bookmark.
        """
        return self._append(replace(self._find(bookmark), deleted=True, undone=False))

    def restore(self, bookmark: str) -> Bookmarked:
        """Restore a deleted bookmark.

        Args:
            bookmark: its id, such as b1.

        Raises:
            ShapeError: there never was such a bookmark.
        """
        return self._append(replace(self._find(bookmark), deleted=False, undone=False))

    def undo(self) -> Bookmarked:
        """Revert the last change of a bookmark that is not reverted yet: a new one, an edit, a deletion, a restoration.

        Returns:
            The bookmark as it is now.

        Raises:
            ShapeError: there is no such change.
        """
        changes: list[tuple[Bookmarked | None, Bookmarked]] = []
        states: dict[str, Bookmarked] = {}
        for event in (e for e in self._journal.events if isinstance(e, Bookmarked)):
            if event.undone and changes:
                changes.pop()
            else:
                changes.append((states.get(event.bookmark), event))
            states[event.bookmark] = event
        if not changes:
            raise ShapeError("no change of a bookmark is left to undo; sess.bookmark('f2') makes one")
        before, after = changes[-1]
        earlier = before if before is not None else replace(after, deleted=True)
        return self._append(replace(earlier, undone=True))

    def _find(self, bookmark: str) -> Bookmarked:
        found = self.all
        if bookmark not in found:
            raise ShapeError(f"no bookmark {bookmark!r}; there are {', '.join(found) or 'none yet'}")
        return found[bookmark]

    def _append(self, event: Bookmarked) -> Bookmarked:
        last = self.all.get(event.bookmark)
        if last is None or replace(last, undone=event.undone) != event:
            self._journal.append(event)
        return event

    def __getitem__(self, key: str) -> Bookmarked:
        event = self.all[key]
        if event.deleted:
            raise KeyError(key)
        return event

    def __iter__(self) -> Iterator[str]:
        return (key for key, event in self.all.items() if not event.deleted)

    def __len__(self) -> int:
        return sum(not event.deleted for event in self.all.values())

    def __repr__(self) -> str:
        lines = [
            f"{e.bookmark}: {e.ref}" + (f" at event {e.at:,}" if e.at else "") + (f": {e.note}" if e.note else "")
            for e in self.values()
        ]
        return "\n".join(lines) or "no bookmark"


def _checked(note: str) -> str:
    if len(note) > MAX_NOTE_CHARACTERS:
        raise ShapeError(f"a note is a text of at most {MAX_NOTE_CHARACTERS:,} characters; found {len(note):,}")
    return note
