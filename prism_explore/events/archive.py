"""Saved files: a zip archive with a JSON manifest and text members.

Reading checks the format, its version and the unpacked size, and executes nothing from the file. A damaged or foreign
file is refused with the reason. Writing replaces an existing file only after the new one is complete.
"""

from __future__ import annotations

import base64
import json
import lzma
import os
import zipfile
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from io import BytesIO
from itertools import islice
from pathlib import Path
from typing import Any, cast

from prism_explore.errors import JournalVersionError, ShapeError
from prism_explore.support.whole_files import write_whole

LARGEST_BYTES = 1 << 30
"""A file that would unpack to more bytes is refused: it is damaged or hostile, or a search of millions of events."""
LARGEST_VARIABLE = "PRISM_EXPLORE_LARGEST_BYTES"
"""The environment variable that states another number."""

LZMA_CHARACTERS = 4_000_000
"""Longer texts are not compressed by LZMA, which takes more than a second for them."""
_READ_BYTES = 1 << 12
"""Bytes that are read at once: `zipfile` decompresses all of a read, and LZMA makes up to 7,000 times as many."""

_PIECES = 1024
"""Pieces of a text that are compressed at once."""

_PAGE = b"<!doctype html>"
_ELEMENT = b'<script type="text/plain" id="prism-search">'
"""The start of a page, and of its element with an archive."""

_DAMAGED = (
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    EOFError,
    KeyError,
    ValueError,
    MemoryError,
    NotImplementedError,
    RuntimeError,
)
"""What reading a damaged zip can raise; the last two are for unknown compressions, passwords and deep nesting."""


def largest_bytes() -> int:
    """How many bytes a file may unpack to.

    Raises:
        ShapeError: the environment variable is no number from 1 on.
    """
    stated = os.environ.get(LARGEST_VARIABLE, "")
    if stated and (not stated.isdecimal() or not int(stated)):
        raise ShapeError(f"{LARGEST_VARIABLE} is a number of bytes, such as {LARGEST_BYTES}; found {stated!r}")
    return int(stated) if stated else LARGEST_BYTES


def too_large(path: str | Path) -> JournalVersionError:
    """The error for a file that would unpack to more than `largest_bytes`."""
    return JournalVersionError(
        f"{path} would unpack to more than {largest_bytes()} bytes; refused. If it is a long search of yours, set "
        f"{LARGEST_VARIABLE} to a larger number"
    )


@dataclass(frozen=True, slots=True)
class FileFormat:
    """A format of saved files: the manifest of a file states its name and version."""

    name: str
    """Such as `prism-journal`."""
    version: int
    description: str
    """What such a file is called in messages, such as `saved search`."""
    suffix: str
    """Such as `.prism`."""


def write_archive(
    path: str | Path,
    file_format: FileFormat,
    members: Mapping[str, Iterable[str]],
    manifest: Mapping[str, object] | None = None,
) -> Path:
    """Write an archive to `path`; an existing file is replaced only after the new one is complete.

    Args:
        path: the file to write.
        file_format: its format.
        members: texts by their names in the archive, in pieces that are not all in memory at once.
        manifest: further entries of the manifest.

    Raises:
        FileNotFoundError: the path is a folder, or its folder does not exist.
    """
    target = Path(path)
    if target.is_dir() or not target.parent.is_dir():
        problem = f"{target} is a folder" if target.is_dir() else f"there is no folder {target.parent}"
        raise FileNotFoundError(f"{problem}; name a file in an existing folder, such as run{file_format.suffix}")
    write_whole(target, archive_bytes(file_format, members, manifest), durable=True)
    return target


def archive_bytes(
    file_format: FileFormat,
    members: Mapping[str, Iterable[str]],
    manifest: Mapping[str, object] | None = None,
    *,
    smallest: bool = False,
) -> bytes:
    """The content of an archive; the other arguments are those of `write_archive`.

    Args:
        file_format: its format.
        members: texts by their names in the archive, in pieces.
        manifest: further entries of the manifest.
        smallest: whether texts of up to `LZMA_CHARACTERS` are compressed by LZMA, to about half the size.
    """
    compression = zipfile.ZIP_DEFLATED
    if smallest:
        whole = {name: "".join(pieces) for name, pieces in members.items()}
        is_short = sum(map(len, whole.values())) <= LZMA_CHARACTERS
        compression = zipfile.ZIP_LZMA if is_short else zipfile.ZIP_DEFLATED
        members = {name: (text,) for name, text in whole.items()}
    head = {"format": file_format.name, "version": file_format.version, **(manifest or {})}
    content = BytesIO()
    with zipfile.ZipFile(content, "w", compression) as archive:
        archive.writestr("manifest.json", json.dumps(head, indent=1))
        for name, pieces in members.items():
            with archive.open(name, "w", force_zip64=True) as member:
                rest = iter(pieces)
                while some := "".join(islice(rest, _PIECES)):
                    member.write(some.encode())
    return content.getvalue()


def page_element(content: bytes) -> str:
    """The element of an HTML page that holds an archive, so that the page can be read like the file."""
    return f"{_ELEMENT.decode()}{base64.b64encode(content).decode('ascii')}</script>"


def _archive_in(content: bytes) -> bytes:
    """The archive in an HTML page; another content as it is.

    Raises:
        ValueError: the page has none, or it is damaged.
    """
    if not content.startswith(_PAGE):
        return content
    found = content.rpartition(_ELEMENT)[2].partition(b"</script>")[0] if _ELEMENT in content else b""
    if not found:
        raise ValueError("this page has no search in it")
    return base64.b64decode(found, validate=True)


def read_archive(
    path: str | Path, file_format: FileFormat, members: tuple[str, ...]
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The manifest and the named members of an archive.

    Args:
        path: the file to read, or an HTML page with `page_element`.
        file_format: the format and version that its manifest must state.
        members: names of texts that it must contain.

    Raises:
        JournalVersionError: the file has another format or version, or is damaged.
        OSError: the file cannot be read.
    """
    # Read completely first: a missing file raises OSError, and a damaged zip cannot raise one while it is unpacked.
    stored = Path(path).read_bytes()
    description = file_format.description
    try:
        content = BytesIO(_archive_in(stored))
        with zipfile.ZipFile(content) as archive:
            if sum(i.file_size for i in archive.infolist()) > largest_bytes():
                raise too_large(path)
            head = json.loads(_member(archive, "manifest.json"))
            for name in members:
                archive.getinfo(name)
    except _DAMAGED as error:
        raise JournalVersionError(
            f"{path} is no {description}: {error}; expected a {file_format.suffix} file"
        ) from None
    manifest: dict[str, Any] = cast("dict[str, Any]", head if isinstance(head, dict) else {})
    if manifest.get("format") != file_format.name:
        raise JournalVersionError(f"{path} is no {description}: its manifest states another format")
    if (version := manifest.get("version")) != file_format.version:
        raise JournalVersionError(f"{path} has version {version}; this code reads version {file_format.version}")
    try:
        with zipfile.ZipFile(content) as archive:
            texts = tuple(_member(archive, name).decode() for name in members)
    except _DAMAGED as error:
        raise JournalVersionError(f"{path} is damaged: {error}") from None
    return manifest, texts


def _member(archive: zipfile.ZipFile, name: str) -> bytes:
    """The content of a member, of as many bytes as the archive states, or fewer."""
    with archive.open(name) as member:
        return b"".join(iter(partial(member.read, _READ_BYTES), b""))
