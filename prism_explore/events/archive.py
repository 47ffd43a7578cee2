"""Saved files: a zip of a manifest and members that are text; opening one runs nothing.

A file is read at once and whole, up to a stated size, and a damaged or foreign one is refused with the
reason. It is written beside its place first, so that nothing is lost where writing fails.
"""

from __future__ import annotations

import json
import zipfile
import zlib
from collections.abc import Mapping
from io import BytesIO
from pathlib import Path
from typing import Any, cast

from prism_explore.errors import JournalVersionError

LARGEST_BYTES = 1 << 30
"""A saved file that would unpack to more is refused: it is damaged or hostile."""

_DAMAGED = (zipfile.BadZipFile, zlib.error, EOFError, KeyError, ValueError, NotImplementedError, RuntimeError)
"""What reading a zip of anybody's making can raise; the last two are other compressions, passwords, deep nesting."""


def write_archive(
    path: str | Path, form: str, version: int, members: Mapping[str, str], manifest: Mapping[str, object] | None = None
) -> Path:
    """Write a zip at `path`, replacing what is there only when the new file is whole.

    Args:
        path: where.
        form: what kind of file it is, such as `prism-journal`.
        version: of that form.
        members: texts by their names in the zip.
        manifest: more for its head.

    Raises:
        FileNotFoundError: the path is a folder, or in none that there is.
    """
    target = Path(path)
    if target.is_dir() or not target.parent.is_dir():
        there = f"{target} is a folder" if target.is_dir() else f"there is no folder {target.parent}"
        raise FileNotFoundError(f"{there}; name a file in a folder that there is, such as run.prism")
    head = {"format": form, "version": version, **(manifest or {})}
    part = target.with_name(target.name + ".part")
    with zipfile.ZipFile(part, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("manifest.json", json.dumps(head, indent=1))
        for name, text in members.items():
            archive.writestr(name, text)
    part.replace(target)
    return target


def read_archive(
    path: str | Path, form: str, version: int, members: tuple[str, ...], what: tuple[str, str]
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The manifest and the named members of a saved file.

    Args:
        path: of the file.
        form: the format that its manifest must name.
        version: the version that its manifest must name.
        members: names of texts that it must have.
        what: what such a file is called, and how its name ends, for messages.

    Raises:
        JournalVersionError: not such a file, damaged, or of a version that this code does not read.
        OSError: there is no such file.
    """
    called, ending = what
    # Read at once: a file that is missing stays an OSError, and none comes from places that a damaged zip names.
    content = BytesIO(Path(path).read_bytes())
    try:
        with zipfile.ZipFile(content) as archive:
            if sum(i.file_size for i in archive.infolist()) > LARGEST_BYTES:
                raise JournalVersionError(f"{path} would unpack to more than {LARGEST_BYTES} bytes; refused")
            head = json.loads(archive.read("manifest.json"))
            for name in members:
                archive.getinfo(name)
    except _DAMAGED as error:
        raise JournalVersionError(f"{path} is no {called}: {error}; expected a {ending} file") from None
    found: dict[str, Any] = cast("dict[str, Any]", head if isinstance(head, dict) else {})
    if found.get("format") != form:
        raise JournalVersionError(f"{path} is no {called}: its manifest names another format")
    if found.get("version") != version:
        raise JournalVersionError(f"{path} has version {found.get('version')}, this code reads version {version}")
    try:
        with zipfile.ZipFile(content) as archive:
            texts = tuple(archive.read(name).decode() for name in members)
    except _DAMAGED as error:
        raise JournalVersionError(f"{path} is damaged: {error}") from None
    return found, texts
