"""Finds a search of the same program whose process ended before the search did, so that a new session can offer it.

A search that is saved while it runs holds a lock on its file. A file that is not locked and has no end was left by a
process that was killed or closed.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from prism_explore.errors import PrismError
from prism_explore.events.event_stream import is_being_written, is_event_stream, read_event_stream
from prism_explore.events.journal import FORMAT
from prism_explore.events.kinds import ExplorationFinished
from prism_explore.search.explore import Task
from prism_explore.session.autosave import autosaved_files
from prism_explore.session.persistence import task_to_plain

_SAME = ("program", "target", "shapes")
"""The entries of a saved task that make it a search of the same program."""


@dataclass(frozen=True, slots=True)
class InterruptedSearch:
    """A search that was saved while it ran, and did not end."""

    program: str
    """The name of the program."""
    path: Path
    events: int
    """The number of events that were saved."""

    @property
    def line(self) -> str:
        """The line of Python that continues it."""
        return "sess = sess.resume_interrupted()"

    def __str__(self) -> str:
        """What a new session says about it."""
        stopped = f"A search of {self.program} was interrupted after {self.events:,} events."
        return f"{stopped} {self.line} continues {self.path.name}."


def find_interrupted(task: Task) -> InterruptedSearch | None:
    """Find the interrupted search of a program.

    Args:
        task: the program, the machine and the sizes.

    Returns:
        Of the automatically saved searches of this program, machine and sizes, that with the most events; None if there
        is none, or if that one ended or goes on.
    """
    wanted = task_to_plain(task)
    for path in _largest_first(autosaved_files(task.program.name)):
        try:
            if not is_event_stream(path):
                continue
            content = read_event_stream(path, FORMAT)
            saved = content.manifest["task"]
            if any(saved[name] != wanted[name] for name in _SAME):
                continue
            ended = not content.lines or json.loads(content.lines[-1])["kind"] == ExplorationFinished.__name__
        except (OSError, PrismError, ValueError, KeyError, TypeError):
            continue  # damaged, or not readable by this version; a new search does not depend on it
        if ended or is_being_written(path):
            return None
        return InterruptedSearch(task.program.name, path, len(content.lines))
    return None


def _largest_first(paths: Iterable[Path]) -> list[Path]:
    found = [(path.stat().st_size, path) for path in paths if path.is_file()]
    return [path for _, path in sorted(found, reverse=True)]
