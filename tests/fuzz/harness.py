"""Damaged files, one after another: each is read, or refused with a message, in bounded time and memory."""

from __future__ import annotations

import random
import resource
import signal
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import NoReturn

from prism_explore.errors import PrismError
from tests.fuzz.doors import Door
from tests.fuzz.mutations import mutate

CORPUS = Path(__file__).parent / "corpus"
"""Per door a folder of contents that once failed."""

MOST_S = 5.0
MOST_BYTES = 1 << 30
"""Of memory that one file may cost."""


@dataclass(frozen=True, slots=True)
class Failure:
    """A content that a door neither read nor refused properly."""

    door: str
    content: bytes
    what: str


class TookTooLong(BaseException):
    """Not an `Exception`, so that no handler of the package takes it for damage."""


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Interrupt Python code of the main thread after so many seconds of CPU time."""

    def interrupt(_number: int, _frame: FrameType | None) -> NoReturn:
        raise TookTooLong

    before = signal.signal(signal.SIGVTALRM, interrupt)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


@contextmanager
def memory_limit(more_bytes: int) -> Iterator[None]:
    """Let this process allocate so many bytes more than it has; beyond it is a MemoryError."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[5])
    before = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (pages * resource.getpagesize() + more_bytes, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, before)


def attempt(door: Door, content: bytes, folder: Path) -> Failure | None:
    """Open one content; None if it was read, or refused as the package promises."""
    path = folder / f"damaged{door.suffix}"
    path.unlink(missing_ok=True)  # ext4 waits for the disk when a file that was emptied to be written again is closed
    path.write_bytes(content)
    try:
        with memory_limit(MOST_BYTES), time_limit(MOST_S):
            door.open(path)
    except PrismError as error:
        if not str(error).strip():
            return Failure(door.name, content, f"{type(error).__name__} without a message")
        if door.names_file and path.name not in str(error):
            return Failure(door.name, content, f"the message does not name the file: {error}")
    except TookTooLong:
        return Failure(door.name, content, f"more than {MOST_S} s of CPU time\n{traceback.format_exc(limit=-6)}")
    except Exception:
        return Failure(door.name, content, traceback.format_exc(limit=-6))
    return None


def damaged_files(door: Door, numbers: range, seed: int) -> Iterator[bytes]:
    """Damaged contents by their numbers; the same ones for the same seed."""
    contents = door.contents()
    for number in numbers:
        draw = random.Random(f"{door.name} {seed} {number}")
        yield mutate(draw, draw.choice(contents), door.mutations, door.container)


def corpus(door: Door) -> tuple[Path, ...]:
    """The contents that once failed at a door."""
    return tuple(sorted((CORPUS / door.name).glob("*")))
