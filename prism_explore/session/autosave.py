"""Saves a search while it runs, so that a killed process loses the events of the last second at most.

A thread of its own appends new events to one file per session: about once a second while there are new ones, and at
once when the search pauses or ends. A notebook has this by default. The file is in the folder of the notebook, or in
that of the user's state where the folder cannot be written.
"""

from __future__ import annotations

import logging
import os
import re
import sys
import threading
import time
from collections.abc import Callable, Mapping
from itertools import chain, count
from pathlib import Path
from typing import Literal

from prism_explore.errors import ShapeError
from prism_explore.events.event_stream import EventStream, is_being_written, is_event_stream
from prism_explore.events.journal import FORMAT, Entry, Journal, line_of
from prism_explore.support.file_names import file_name
from prism_explore.support.user_folders import user_folder

PERIOD_S = 1.0
"""Time between two appends; a killed process loses the events of this time, and those of one append."""
IDLE_S = 5.0
"""How long the thread waits for events before it ends; the next event starts a new one."""
KEPT_FILES = 5
"""Number of files per program that are kept in a folder."""
SUFFIX = ".autosave.prism"

log = logging.getLogger(__name__)


class Autosave:
    """Appends the events of one journal to a file, from the first new event on.

    Args:
        journal: the events.
        manifest: makes the manifest of the file.
        name: of the program, for the name of the file.
        path: the file, or None to choose one; a number is added to the name of an existing file.
        known: number of events that another file has already; more than these make a new file.
    """

    def __init__(
        self, journal: Journal, manifest: Callable[[], Mapping[str, object]], name: str, path: Path | None, known: int
    ) -> None:
        self._journal, self._manifest, self._name = journal, manifest, name
        self._wanted, self._known = path, known
        self._lock = threading.RLock()
        self._new = threading.Event()
        self._thread: threading.Thread | None = None
        self._stream: EventStream | None = None
        self._written = 0
        self.path: Path | None = path
        """The file; None until there is one."""
        self.problem = ""
        """Why nothing is saved any more, such as a full disk; empty if all is well."""
        journal.listeners.append(self._on_entry)

    def _on_entry(self, _: Entry) -> None:
        if self._new.is_set():
            return
        self._new.set()
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(target=self._loop, name="prism-autosave", daemon=True)
                self._thread.start()

    def _loop(self) -> None:
        while True:
            if not self._new.wait(IDLE_S):
                with self._lock:
                    if not self._new.is_set():
                        self._thread = None
                        return
            self.flush()
            time.sleep(PERIOD_S)

    def flush(self, sync: bool = False) -> None:
        """Append the events that are not in the file yet.

        Args:
            sync: whether they also survive a crash of the machine; this waits for the disk.
        """
        with self._lock:
            self._new.clear()
            if self.problem or len(self._journal) <= max(self._known, self._written):
                return
            try:
                if self._stream is None:
                    self._stream = self._open()
                new = self._journal.since(self._written)
                self._stream.append(map(line_of, new))
                self._written += len(new)
                if sync:
                    self._stream.sync()
            except OSError as error:
                self.problem = str(error)
                log.warning("the search is not saved automatically any more: %s; sess.save(path) saves it", error)

    def stop(self) -> None:
        """Append what is new, and close the file."""
        if self._on_entry in self._journal.listeners:
            self._journal.listeners.remove(self._on_entry)
        self.flush()
        with self._lock:
            self._known = sys.maxsize  # it is called once more when the session is freed, and saves nothing then
            if self._stream is not None:
                self._stream.close()
                self._stream = None

    def _open(self) -> EventStream:
        wanted = self._wanted or default_path(self._name)
        for path in _free_names(wanted):
            try:
                stream = EventStream(path, FORMAT, self._manifest())
            except FileExistsError:
                continue
            self.path = path
            self._journal.saved_as = str(path)
            if self._wanted is None:
                delete_old_files(path)
            return stream
        raise AssertionError("there is always a free name")


def checked_path(path: object) -> Path | Literal[False] | None:
    """What `Session.autosave` was assigned.

    Raises:
        ShapeError: neither a path nor None nor False, or its folder does not exist.
    """
    if path is None or path is False:
        return path
    if not isinstance(path, str | Path):
        raise ShapeError(f"autosave takes a path, None to let one be chosen, or False to stop; found {path!r}")
    found = Path(path)
    if found.is_dir() or not found.parent.is_dir():
        problem = f"{found} is a folder" if found.is_dir() else f"there is no folder {found.parent}"
        raise ShapeError(f"autosave: {problem}; name a file in an existing folder, such as 'run.prism'")
    return found.absolute()


def is_notebook() -> bool:
    """Whether this process is the kernel of a notebook."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return shell is not None and "IPKernelApp" in shell.config


def default_path(program: str) -> Path:
    """The file of a session that has not been given one: in this folder, else in that of the user's state."""
    name = f"{file_name(program)}-{time.strftime('%Y%m%d-%H%M%S')}{SUFFIX}"
    here = Path.cwd()
    if os.access(here, os.W_OK):
        return here / name
    folder = user_folder("state")
    folder.mkdir(parents=True, exist_ok=True)
    return folder / name


def autosaved_files(program: str) -> list[Path]:
    """The files that were chosen for sessions of a program: in this folder, and in that of the user's state.

    Args:
        program: its name.
    """
    folders = dict.fromkeys((Path.cwd(), user_folder("state")))
    return [path for folder in folders if folder.is_dir() for path in _named(folder, file_name(program))]


def delete_old_files(newest: Path) -> None:
    """Delete the oldest autosaved files of a program in a folder; files that the user has saved are no such files.

    The largest of the old ones stays: it can be a long search that was interrupted.
    """
    try:
        named = sorted(set(_named(newest.parent, newest.name.removesuffix(SUFFIX).rsplit("-", 2)[0])) - {newest})
        old = [p for p in named[: 1 - KEPT_FILES] if p.is_file() and is_event_stream(p) and not is_being_written(p)]
        for path in sorted(old, key=lambda path: path.stat().st_size)[:-1]:
            path.unlink()
    except OSError:
        # Another session can have deleted the same file; a file too many does no harm.
        return


def _named(folder: Path, program: str) -> list[Path]:
    """The files in a folder that are named like those of `default_path`."""
    pattern = re.compile(rf"{re.escape(program)}-\d{{8}}-\d{{6}}(-\d+)?{re.escape(SUFFIX)}")
    return [path for path in folder.iterdir() if pattern.fullmatch(path.name)]


def _free_names(path: Path) -> chain[Path]:
    """The path, then the same with a number: run.prism, run-2.prism, ..."""
    suffix = SUFFIX if path.name.endswith(SUFFIX) else path.suffix
    stem = path.name.removesuffix(suffix)
    return chain([path], (path.with_name(f"{stem}-{n}{suffix}") for n in count(2)))
