"""Autosaved files: a zlib stream of lines of JSON, first the manifest, then the events, appended as they come.

A zip archive is complete only after its last byte, and writing it again costs more the longer the search is. Of this
stream everything can be read that was written before its process was killed; a last line that is cut off is dropped.
"""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, cast

from prism_explore.errors import JournalVersionError
from prism_explore.events.archive import FileFormat, largest_bytes, too_large
from prism_explore.support.file_lock import system_has_locks, try_lock

MAGIC = b"prism-autosave 1\n"
"""The first bytes of such a file."""
FLUSHED = b"\x00\x00\xff\xff"
"""The last bytes of everything that was appended completely."""


class EventStream:
    """A file to which lines can be appended. An existing file is never changed. It is locked until it is closed.

    Args:
        path: the file to make.
        file_format: the format that its manifest states.
        manifest: further entries of the manifest.

    Raises:
        OSError: the file exists, or cannot be written.
    """

    def __init__(self, path: Path, file_format: FileFormat, manifest: Mapping[str, object]) -> None:
        self._compressor = zlib.compressobj(6)
        self._file = path.open("xb")
        _locked(self._file)
        self._file.write(MAGIC)
        head = {"format": file_format.name, "version": file_format.version, **manifest}
        self.append([json.dumps(head)])

    def append(self, lines: Iterable[str]) -> None:
        """Write lines. They can be read once this returns, even if the process is killed."""
        text = "".join(f"{line}\n" for line in lines).encode()
        self._file.write(self._compressor.compress(text) + self._compressor.flush(zlib.Z_SYNC_FLUSH))
        self._file.flush()

    def sync(self) -> None:
        """Have what is written survive a crash of the machine, not only of the process."""
        os.fsync(self._file.fileno())

    def close(self) -> None:
        """Close the file, and release its lock."""
        self._file.close()


def is_being_written(path: Path) -> bool:
    """Whether an `EventStream` of a living process still appends to a file, as far as the system can tell.

    Raises:
        OSError: the file cannot be read.
    """
    with path.open("rb") as file:
        return not _locked(file)


def _locked(file: BinaryIO) -> bool:
    """Lock a file; False if another has locked it. Where the system or the folder has no locks, it counts as locked."""
    try:
        return not system_has_locks() or try_lock(file.fileno(), exclusive=True)
    except OSError:
        return True


@dataclass(frozen=True, slots=True)
class StreamContent:
    """What could be read of an autosaved file."""

    manifest: Mapping[str, Any]
    lines: tuple[str, ...]
    """The events."""
    is_cut: bool
    """Whether a last line was incomplete and dropped."""


def is_event_stream(path: str | Path) -> bool:
    """Whether a file begins as an autosaved one.

    Raises:
        OSError: the file cannot be read.
    """
    with Path(path).open("rb") as file:
        return file.read(len(MAGIC)) == MAGIC


def read_event_stream(path: str | Path, file_format: FileFormat) -> StreamContent:
    """Read an autosaved file, also one whose process was killed.

    Raises:
        JournalVersionError: another format or version, or damaged before its end.
        OSError: the file cannot be read.
    """
    reader, limit = zlib.decompressobj(), largest_bytes()
    try:
        with Path(path).open("rb") as file:
            packed = file.read(limit)[len(MAGIC) :]
        content = reader.decompress(packed, limit)
        *lines, rest = content.decode("utf-8", "strict" if reader.unconsumed_tail else "ignore").split("\n")
        head = json.loads(lines[0]) if lines else None
    except (zlib.error, ValueError, RecursionError, MemoryError) as error:
        raise JournalVersionError(f"{path} is damaged: {error}; expected an autosaved search") from None
    if reader.unconsumed_tail:
        raise too_large(path)
    manifest = cast("dict[str, Any]", head if isinstance(head, dict) else {})
    if manifest.get("format") != file_format.name:
        raise JournalVersionError(f"{path} is no {file_format.description}: it has no manifest that states the format")
    if (version := manifest.get("version")) != file_format.version:
        raise JournalVersionError(f"{path} has version {version}; this code reads version {file_format.version}")
    is_cut = bool(rest) or not packed.endswith(FLUSHED)
    return StreamContent(manifest, tuple(lines[1:]), is_cut)
