"""A saved search told again: its facts return one by one, as the stages come to them, and then it goes on.

Growing and choosing maps are deterministic, so a search that is begun anew notes what it noted before. Each
fact is compared with the saved one; what differs is an error and never silently replaced. Dear stages look
at what comes next (`upcoming`) and take a verdict or a time from there instead of working for it again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from prism_explore.errors import JournalVersionError
from prism_explore.events.journal import Entry, Journal, to_plain
from prism_explore.events.kinds import (
    CandidateBounded,
    CertificateReplayed,
    Event,
    ExplorationStarted,
    KernelGenerated,
    ParametersProposed,
    Steered,
)


class ReplayedJournal(Journal):
    """A journal whose first facts are known: those of a saved search."""

    def __init__(self, saved: Sequence[Entry]) -> None:
        super().__init__()
        self._saved = _whole(saved)
        self._steered: list[Steered] = []
        last_s = self._saved[-1].at_s if self._saved else 0.0
        self._began = self._clock() - last_s
        self._replay_user_actions()

    @property
    def next_saved(self) -> Event | None:
        """The fact that must be noted next; None where the saved search has told all that it knows."""
        at = len(self)
        return self._saved[at].event if at < len(self._saved) else None

    @property
    def is_replayed(self) -> bool:
        """Whether everything saved was told."""
        return len(self) >= len(self._saved)

    def next_saved_except(self, wanted: Callable[[Event], bool]) -> Event | None:
        """The first saved fact to come that is not passed over: those are all `wanted`."""
        for entry in self._saved[len(self) :]:
            if not wanted(entry.event):
                return entry.event
        return None

    def remaining(self) -> tuple[Event, ...]:
        """The saved facts that were not told yet."""
        return tuple(entry.event for entry in self._saved[len(self) :])

    def replayed_s(self) -> float:
        """When the last fact that was told was noted, in seconds of the saved search."""
        entries = self.entries
        return entries[-1].at_s if entries else 0.0

    def append(self, event: Event) -> Entry:
        """Append a fact, which is the saved one while there is one.

        Raises:
            JournalVersionError: the search does not come to the fact that was saved.
        """
        if self.is_replayed:
            return super().append(event)
        expected = self._saved[len(self)]
        if event != expected.event and _plain(event) != _plain(expected.event):
            raise JournalVersionError(_differs(expected, event))
        self._append_saved(expected)
        self._replay_user_actions()
        return expected

    def replay_next(self) -> Event:
        """Tell the next saved fact as it is, for a stage that need not work for it again."""
        fact = self.next_saved
        assert fact is not None, "there is a saved fact to tell"
        self.append(fact)
        return fact

    def take_steering(self) -> tuple[Steered, ...]:
        """The steering that was passed since this was asked last."""
        passed, self._steered = tuple(self._steered), []
        return passed

    def _replay_user_actions(self) -> None:
        """Tell what people did between two steps: they steered, or asked for a certificate."""
        while True:
            match self.next_saved:
                case Steered() as fact:
                    self._steered.append(fact)
                case CertificateReplayed(asked=True):
                    pass
                case _:
                    return
            self._append_saved(self._saved[len(self)])

    def _append_saved(self, entry: Entry) -> None:
        with self._lock:
            self._entries.append(entry)
        for listener in tuple(self.listeners):
            listener(entry)


def _whole(saved: Sequence[Entry]) -> tuple[Entry, ...]:
    """Without a trial at the end that has no outcome: it was never timed, and is tried anew."""
    end = len(saved)
    while end and isinstance(saved[end - 1].event, ParametersProposed | KernelGenerated | CandidateBounded):
        end -= 1
    return tuple(saved[:end])


def _plain(event: Event) -> dict[str, object]:
    return to_plain(Entry(0, 0.0, event))


def _differs(expected: Entry, found: Event) -> str:
    was, now = _plain(expected.event), _plain(found)
    if isinstance(expected.event, ExplorationStarted) and isinstance(found, ExplorationStarted):
        names = [name for name in was if was[name] != now[name]]
        what = "; ".join(f"{name} was {_short(was[name])}, is {_short(now[name])}" for name in names)
        return (
            f"the saved search was of something else: {what}. px.load shows it; to go on, search anew in a px.Session"
        )
    if was["kind"] == now["kind"]:
        names = [name for name in was if was[name] != now[name]]
        was, now = {n: was[n] for n in names}, {n: now[n] for n in names}
    return (
        f"the search does not repeat what was saved: fact {expected.seq}, {type(expected.event).__name__}, was "
        f"{_short(was)}, is now {_short(now)}. It was searched by other code, or the file was changed; px.load shows "
        "it, and a new px.Session searches again"
    )


def _short(value: object) -> str:
    text = str(value)
    return text if len(text) <= 240 else f"{text[:236]} ..."
