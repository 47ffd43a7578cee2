"""The cache of finished searches: the same question a second time is answered from a file.

A search that ran to its end without steering is stored as a saved search, in a folder of the user's cache. The name of
the file is a digest of all that determines the answer: the program, what torch runs for it, shapes, space, budget,
seed, baselines, machine, versions, and the code of this package. The file also has the answer (`stored_answer`): a
later session that runs to its end offers it, after the best kernel was proved and generated again, and reads the events
when they are asked for. Where the search is stepped or goes on, the file is replayed like one that was loaded:
enumeration and maps run again, verdicts and times are taken from the file. The event `SearchRepeated` says so.

Files are written whole and replaced atomically, so several processes can use the folder. A file that cannot be used is
set aside with a warning, and the search runs. A folder that cannot be written is reported once.
"""

from __future__ import annotations

import contextlib
import logging
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from prism_explore.errors import PrismError
from prism_explore.events.journal import Entry, Journal, StoredEvents, read_events, read_manifest
from prism_explore.events.kinds import ExplorationFinished, SearchForked, TrialMeasured
from prism_explore.events.replay_journal import CachedJournal, is_user_action
from prism_explore.frontend import Traced
from prism_explore.runtime.saved_kernel import DAMAGED
from prism_explore.search.explore import Task
from prism_explore.session.code_digest import code_digest, digest_of
from prism_explore.session.persistence import manifest_of, task_of, task_to_plain
from prism_explore.session.small_files import SUFFIXES
from prism_explore.session.stored_answer import StoredAnswer, answer_from_plain, answer_to_plain
from prism_explore.support.thread_env import AT_IMPORT
from prism_explore.support.user_folders import user_folder
from prism_explore.support.whole_files import write_whole
from prism_explore.tune.database import machine_name

FOLDER_VARIABLE = "PRISM_EXPLORE_CACHE"
"""The environment variable that names another folder; `off` for no cache."""

MOST_BYTES = 256 << 20
"""Largest size of all files; those that were not used for the longest time are deleted first."""

_STORED, _ANSWER = "stored", "answer"
"""The entries of a file's manifest with the date at which it was stored, and with the answer."""
_SUFFIX, _SET_ASIDE = ".prism", ".unusable"

log = logging.getLogger(__name__)


def cache_folder() -> Path | None:
    """The folder of stored searches: PRISM_EXPLORE_CACHE, else by the rules of the system; None if it is off."""
    if own := os.environ.get(FOLDER_VARIABLE):
        return None if own == "off" else Path(own)
    return user_folder("cache") / "searches"


@dataclass(frozen=True, slots=True)
class StoredSearch:
    """A file of the cache."""

    path: Path
    bytes: int
    used: datetime
    """When it was last written or read, in UTC."""

    @property
    def program(self) -> str:
        """The name of the program; empty if the file is damaged."""
        try:
            return str(read_manifest(self.path).get("program", ""))
        except (OSError, PrismError):
            return ""


class FoundSearch:
    """A stored search of the same question: its answer, and its events, which are parsed when they are asked for."""

    def __init__(
        self,
        task: Task,
        answer: StoredAnswer | None,
        events: StoredEvents,
        stored: str,
        set_aside: Callable[[str], None],
    ) -> None:
        """Nothing is parsed yet.

        Args:
            task: of the search.
            answer: of the search; None where its file has none that can be used.
            events: of the search.
            stored: when it was stored.
            set_aside: called with the reason if the file cannot be used.
        """
        self.task, self.answer, self.set_aside = task, answer, set_aside
        self._events, self._stored = events, stored

    @cached_property
    def _entries(self) -> tuple[Entry, ...]:
        # A search that was timed again is a fork of itself.
        entries = Journal.parse(self._events).entries
        return tuple(entry for entry in entries if not isinstance(entry.event, SearchForked))

    def open(self, differs: Callable[[str], None] | None = None) -> CachedJournal:
        """A journal that replays the search.

        Args:
            differs: called with the difference if a search does not repeat the stored one; `set_aside` if None.

        Raises:
            JournalVersionError: an event cannot be read.
        """
        return CachedJournal(self._entries, self._stored, differs or self.set_aside)


def _answer_in(manifest: Mapping[str, Any], task: Task) -> StoredAnswer | None:
    """The answer in the manifest of a file; None if there is none that can be used."""
    try:
        answer = answer_from_plain(manifest[_ANSWER])
    except (*DAMAGED, PrismError):
        return None
    return answer if answer.timed.kernel.verified.candidate.family.program == task.program else None


class SearchCache:
    """The finished searches in one folder."""

    def __init__(self, folder: Path, most_bytes: int = MOST_BYTES) -> None:
        """Nothing is read or created yet.

        Args:
            folder: of the files; it is created when the first search is stored.
            most_bytes: largest size of all files.
        """
        self.folder, self._most_bytes = folder, most_bytes

    def contents(self) -> tuple[StoredSearch, ...]:
        """The stored searches, last used first; none if there is no folder."""
        found: list[StoredSearch] = []
        for path in self.folder.glob(f"*{_SUFFIX}"):
            with contextlib.suppress(OSError):  # another process deleted it
                state = path.stat()
                found.append(StoredSearch(path, state.st_size, datetime.fromtimestamp(state.st_mtime, UTC)))
        return tuple(sorted(found, key=lambda s: s.used, reverse=True))

    def clear(self) -> int:
        """Delete the stored searches, the small files, and the files that were set aside; return their number.

        Raises:
            OSError: a file cannot be deleted.
        """
        paths = [path for suffix in (_SUFFIX, *SUFFIXES, _SET_ASIDE) for path in self.folder.glob(f"*{suffix}")]
        for path in paths:
            path.unlink(missing_ok=True)
        return len(paths)

    def find(self, task: Task) -> FoundSearch | None:
        """The stored search of a task; None if there is none.

        The figures of the machine become those of the stored search: they are measured again now and then, and its
        events depend on them.
        """
        path = self._path(task)
        if path is None:
            return None
        try:
            if not path.is_file():
                return None
            stored = read_events(path)
            answer = _answer_in(stored.manifest, task)
            found = FoundSearch(
                replace(task, target=task_of(stored).target),
                answer,
                stored,
                str(stored.manifest.get(_STORED, "")),
                lambda why: self.set_aside(path, why),
            )
            if answer is None:
                found.open()  # a file that cannot be read is set aside now
            os.utime(path)
        except OSError as error:
            log.warning("the stored search %s cannot be read, so the search runs: %s", path, error)
            return None
        except PrismError as error:
            self.set_aside(path, str(error))
            return None
        return found

    def store(self, task: Task, journal: Journal, answer: StoredAnswer | None = None) -> None:
        """Store a finished search, unless it was steered or timed nothing; delete what was not used for long.

        Args:
            task: of the search.
            journal: of the search.
            answer: what it found; if None, the second time the answer is found by repeating the search.
        """
        events = journal.events
        is_whole = bool(events) and isinstance(events[-1], ExplorationFinished) and events[-1].stop != "cancelled"
        is_steered = any(is_user_action(e) and not isinstance(e, SearchForked) for e in events)
        if not is_whole or is_steered or not any(isinstance(e, TrialMeasured) for e in events):
            return
        path = self._path(task)
        if path is None:
            return
        try:
            self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            manifest = {**manifest_of(task), _STORED: datetime.now(UTC).isoformat(timespec="seconds")}
            if answer is not None:
                manifest[_ANSWER] = answer_to_plain(answer)
            write_whole(path, journal.as_archive(manifest))
            self._delete_old(path)
        except OSError as error:
            _warn_once(f"finished searches are not stored in {self.folder}: {error}")

    def set_aside(self, path: Path, why: str) -> None:
        """Rename a file that cannot be used, and say so."""
        aside = path.with_suffix(_SET_ASIDE)
        log.warning("a stored search cannot be used and is set aside as %s; the search runs: %s", aside, why)
        with contextlib.suppress(OSError):
            path.replace(aside)

    def _delete_old(self, newest: Path) -> None:
        used = 0
        for stored in self.contents():
            used += stored.bytes
            if used > self._most_bytes and stored.path != newest:
                with contextlib.suppress(OSError):  # another process deleted it
                    stored.path.unlink()

    def _path(self, task: Task) -> Path | None:
        """The file of a task; None if its torch code has no text, as where operators of it have no row."""
        is_known = all(code.operators for code in _codes(task))
        return self.folder / f"{question_digest(task)}{_SUFFIX}" if is_known else None


def _codes(task: Task) -> list[Traced]:
    """The torch code that is timed beside the kernel."""
    return [traced for traced in (task.reference, task.library.explicit and task.library.explicit.traced) if traced]


def question_digest(task: Task) -> str:
    """A digest of all that determines the events of a search without steering."""
    plain = task_to_plain(task)
    if task.target.measured:
        plain["target"] = machine_name(task.target)
    identity = {
        "task": plain,
        "torch": [
            [c.operators, c.arguments, [[b.name, b.source, b.permute, b.bits] for b in c.bindings]]
            for c in _codes(task)
        ],
        "threads": dict(AT_IMPORT),
        "code": code_digest(),
    }
    return digest_of(identity)


@cache
def _warn_once(message: str) -> None:
    log.warning("%s", message)
