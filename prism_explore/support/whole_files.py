"""Files that are written whole: a reader sees the former content or the new one, whatever happens meanwhile.

On Linux the new content is a file without a name until it is complete, so a process that is killed while it writes
leaves nothing. Elsewhere, and where the file system has no such files, it is written beside its place.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable
from pathlib import Path


def write_whole(path: Path, content: bytes, *, durable: bool = False) -> None:
    """Write a file, in place of an earlier one of this name. Several processes may write the same file.

    Args:
        path: the file; its folder exists.
        content: all of it.
        durable: whether it also survives a crash of the machine from now on; this waits for the disk.

    Raises:
        OSError: it cannot be written, such as on a full disk; an earlier file is unchanged, and nothing else is left.
    """
    if path.exists() and not path.is_file():  # such as /dev/stdout, which is not to be replaced
        path.write_bytes(content)
        return
    part = path.with_name(f".{path.name[:100]}.{os.getpid()}.{threading.get_ident()}.part")
    file, give_name = _open_new(path.parent, part)
    try:
        with os.fdopen(file, "wb") as new:
            new.write(content)
            new.flush()
            if durable:
                os.fsync(new.fileno())
            give_name(new.fileno())
        part.replace(path)
    except BaseException as error:
        with contextlib.suppress(OSError):
            part.unlink()
        if isinstance(error, OSError):
            raise OSError(error.errno, error.strerror, str(path)) from None  # what `write` raises names no file
        raise


def _open_new(folder: Path, part: Path) -> tuple[int, Callable[[int], None]]:
    """An open file, without a name where that is possible, and what then names it `part`."""
    if hasattr(os, "O_TMPFILE"):
        with contextlib.suppress(OSError):  # the file system has none; any other reason is met again below
            return os.open(folder, os.O_TMPFILE | os.O_WRONLY, 0o666), lambda file: _link(file, part)
    return os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666), lambda _: None


def _link(file: int, part: Path) -> None:
    # With a `src_dir_fd`, which an absolute path does not need, Python follows the link in /proc; without, it does not.
    os.link(f"/proc/self/fd/{file}", part, src_dir_fd=file)
