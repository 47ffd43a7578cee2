"""A journal that replays a saved search, which can then continue.

Enumeration and the choice of maps are deterministic, so a search that starts again produces the same events. Each new
event is compared with the saved one; a difference is an error. Expensive stages read the next saved event
(`next_saved`) and take a verdict or a time from it instead of computing it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence

from prism_explore.errors import JournalVersionError
from prism_explore.events.journal import Entry, Journal, to_plain
from prism_explore.events.kinds import (
    Bookmarked,
    CandidateBounded,
    CertificateReplayed,
    Event,
    ExplorationFinished,
    ExplorationStarted,
    KernelGenerated,
    ParametersProposed,
    SearchForked,
    SearchRepeated,
    Steered,
)

_UNFINISHED = ParametersProposed | KernelGenerated | CandidateBounded


class ReplayedJournal(Journal):
    """A journal whose first events have to be those of a saved search.

    Bookmarks are no part of what is repeated: each follows the saved event that it followed, and the user can make
    further ones at any time.
    """

    def __init__(self, saved: Sequence[Entry]) -> None:
        super().__init__()
        searched = [entry for entry in saved if not isinstance(entry.event, Bookmarked)]
        self._saved = without_unfinished_trial(searched)
        self._bookmarks = _after_saved_events(saved, len(self._saved))
        self._replayed = 0
        """Number of saved events that were replayed."""
        self._steering: list[Steered] = []
        self.origin = next((e.event for e in reversed(self._saved) if isinstance(e.event, SearchForked)), None)
        """The last fork in the saved events; None if there is none."""
        last_s = self._saved[-1].at_s if self._saved else 0.0
        self._began = self._clock() - last_s
        self._append_bookmarks()
        self._replay_user_actions()

    @property
    def next_saved(self) -> Event | None:
        """The saved event that has to come next; None after the last one."""
        saved, place = self._saved, self._replayed  # another thread may cut them
        return saved[place].event if place < len(saved) else None

    @property
    def is_replayed(self) -> bool:
        """Whether all saved events were replayed."""
        return self._replayed >= len(self._saved)

    def next_saved_except(self, is_skipped: Callable[[Event], bool]) -> Event | None:
        """The first saved event, from the next one on, that is not skipped."""
        return next((event for event in self.remaining() if not is_skipped(event)), None)

    def remaining(self) -> Iterator[Event]:
        """The saved events that were not replayed yet; of a long search a few are read, so none is copied."""
        saved = self._saved  # another thread may cut them
        return (saved[place].event for place in range(self._replayed, len(saved)))

    def replayed_s(self) -> float:
        """The time of the last event, in seconds since the start of the saved search."""
        last = self.since(len(self) - 1) if len(self) else ()
        return last[-1].at_s if last else 0.0

    def append(self, event: Event) -> Entry:
        """Append an event; while there are saved events, it has to equal the next one.

        Raises:
            JournalVersionError: it differs from the saved event.
        """
        if self.is_replayed or isinstance(event, Bookmarked):
            return super().append(event)
        expected = self._saved[self._replayed]
        if not _is_same(expected.event, event):
            raise JournalVersionError(_difference_message(expected, event))
        appended = self._append_saved(expected)
        self._replay_user_actions()
        return appended

    def replay_next(self) -> Event:
        """Append the next saved event unchanged, for a stage that takes its outcome from it."""
        event = self.next_saved
        assert event is not None, "there is a saved event to replay"
        self.append(event)
        return event

    def take_steering(self) -> tuple[Steered, ...]:
        """The steering steps that were replayed since the last call."""
        steps, self._steering = tuple(self._steering), []
        return steps

    def _replay_user_actions(self) -> None:
        """Replay what the user did between two steps: steering, forks, and requests for a certificate."""
        while True:
            event = self.next_saved
            if event is None or not is_user_action(event):
                return
            if isinstance(event, Steered):
                self._steering.append(event)
            self._append_saved(self._saved[self._replayed])

    def _append_saved(self, entry: Entry) -> Entry:
        self._replayed += 1
        appended = self._append_entry(entry)
        self._append_bookmarks()
        return appended

    def _append_bookmarks(self) -> None:
        for entry in self._bookmarks.pop(self._replayed, ()):
            self._append_entry(entry)

    def _append_entry(self, entry: Entry) -> Entry:
        """Append an entry with its saved time; its position changes where bookmarks were added or removed before it."""
        with self._lock:
            appended = Entry(len(self._entries), entry.at_s, entry.event)
            self._entries.append(appended)
        for listener in tuple(self.listeners):
            listener(appended)
        return appended


class CachedJournal(ReplayedJournal):
    """A journal that replays a finished search out of the cache, as far as the user lets it repeat.

    What the user does makes the search continue on its own. So does an event that differs from the stored one.
    """

    def __init__(self, saved: Sequence[Entry], stored: str, differs: Callable[[str], None]) -> None:
        """Nothing is replayed yet.

        Args:
            saved: the entries of the finished search.
            stored: when it was stored.
            differs: called with the difference if the search does not repeat the stored one.
        """
        self._stored, self._differs = stored, differs
        self._cutting = threading.RLock()
        super().__init__(saved)

    def append(self, event: Event) -> Entry:
        """Append an event; the first one that the stored search does not have next ends the replay."""
        with self._cutting:
            expected = None if isinstance(event, Bookmarked) else self.next_saved
            if expected is not None and not _is_same(expected, event):
                if not is_user_action(event):
                    self._differs(_difference_message(self._saved[self._replayed], event))
                self.cut()
            elif isinstance(expected, ExplorationFinished):
                self._note()
            return super().append(event)

    def replay_rest(self) -> None:
        """Append the rest of the stored search, which is not repeated."""
        with self._cutting:
            while not self.is_replayed:
                self.replay_next()

    def cut(self) -> None:
        """Continue without the rest of the stored search."""
        with self._cutting:
            if not self.is_replayed:
                self._saved = self._saved[: self._replayed]
                self._note()

    def _note(self) -> None:
        if self._replayed:
            self._append_entry(Entry(0, self.replayed_s(), SearchRepeated(self._replayed, self._stored)))


def is_user_action(event: Event) -> bool:
    """Whether an event is no part of the search itself: steering, a bookmark, a fork, a request, a use of the cache."""
    return isinstance(event, Steered | Bookmarked | SearchForked | SearchRepeated) or (
        isinstance(event, CertificateReplayed) and event.asked
    )


def without_unfinished_trial(saved: Sequence[Entry]) -> tuple[Entry, ...]:
    """The entries without a trial at the end that has no outcome, because that trial is repeated."""
    place = end = len(saved)
    while place and isinstance(saved[place - 1].event, _UNFINISHED | Bookmarked):
        place -= 1
        end = end if isinstance(saved[place].event, Bookmarked) else place
    return tuple(saved[:end])


def _after_saved_events(saved: Sequence[Entry], count: int) -> dict[int, list[Entry]]:
    """The bookmarks by the number of saved events before them, at most `count`."""
    found: dict[int, list[Entry]] = {}
    before = 0
    for entry in saved:
        if isinstance(entry.event, Bookmarked):
            found.setdefault(min(before, count), []).append(entry)
        else:
            before += 1
    return found


def _is_same(one: Event, other: Event) -> bool:
    return one == other or _plain(one) == _plain(other)


def _plain(event: Event) -> dict[str, object]:
    return to_plain(Entry(0, 0.0, event))


def _difference_message(expected: Entry, found: Event) -> str:
    was, now = _plain(expected.event), _plain(found)
    if isinstance(expected.event, ExplorationStarted) and isinstance(found, ExplorationStarted):
        names = [name for name in was if was[name] != now[name]]
        what = "; ".join(f"{name} was {_short(was[name])}, is {_short(now[name])}" for name in names)
        return (
            f"the saved search had another input: {what}. px.load opens it to look at; a new px.Session searches again"
        )
    if was["kind"] == now["kind"]:
        names = [name for name in was if was[name] != now[name]]
        was, now = {n: was[n] for n in names}, {n: now[n] for n in names}
    return (
        f"the search does not repeat what was saved: event {expected.seq}, {type(expected.event).__name__}, was "
        f"{_short(was)}, is now {_short(now)}. Another version of the code wrote it, or the file was changed; "
        "px.load opens it to look at, a new px.Session searches again"
    )


def _short(value: object) -> str:
    text = str(value)
    return text if len(text) <= 240 else f"{text[:236]} ..."
