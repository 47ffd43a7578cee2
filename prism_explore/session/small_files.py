"""Small files of the cache: traces, and what a torch.compile backend stored.

Several processes can use the folder. A folder that cannot be written is no error here, because the finished search,
which is stored beside them, reports it.
"""

from __future__ import annotations

import contextlib
from pathlib import Path

from prism_explore.support.whole_files import write_whole

TRACES, CUTS, ANSWERS, RACES = SUFFIXES = (".trace", ".cut", ".answer", ".race")
"""The kinds: traces of functions; and of a torch.compile backend how it cut graphs, its answers, and its decisions."""

MOST_FILES = 512
"""Of one kind; those that were stored first are deleted."""


class SmallFiles:
    """The texts of one kind in a folder, by a digest of what determines them."""

    def __init__(self, folder: Path, suffix: str) -> None:
        """Nothing is read or created yet.

        Args:
            folder: of the files; it is created when the first text is stored.
            suffix: of the names of this kind, with its dot.
        """
        self._folder, self._suffix = folder, suffix

    def find(self, digest: str) -> str | None:
        """A stored text; None if there is none that can be read.

        Args:
            digest: of what determines it.
        """
        try:
            return self._path(digest).read_text(encoding="utf-8")
        except (OSError, ValueError):
            return None

    def store(self, digest: str, text: str) -> None:
        """Store a text, in place of an earlier one; arguments are those of `find`."""
        path = self._path(digest)
        with contextlib.suppress(OSError):
            self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            write_whole(path, text.encode())
            by_age = sorted(self._folder.glob(f"*{self._suffix}"), key=lambda p: p.stat().st_mtime)
            for old in by_age[:-MOST_FILES]:
                old.unlink(missing_ok=True)

    def _path(self, digest: str) -> Path:
        return self._folder / f"{digest}{self._suffix}"
