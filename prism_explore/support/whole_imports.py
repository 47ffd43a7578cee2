"""Imports of many modules: an interrupt does not leave them half done, and the garbage collector does not slow them.

An interrupt within `import torch` removes the module that was being imported and keeps those below it. A second import
then fails with an AttributeError about a partially initialized module, in a notebook for the rest of the process.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Generator
from contextlib import contextmanager
from importlib import import_module
from types import FrameType

from prism_explore.support.gc_pause import gc_paused


def import_whole(*names: str) -> None:
    """Import modules; an interrupt meanwhile is raised when all of them are there.

    Modules are kept, and collecting garbage among them takes a third of the time of importing torch's compiler.
    """
    with interrupts_postponed(), gc_paused():
        for name in names:
            import_module(name)


@contextmanager
def interrupts_postponed() -> Generator[None]:
    """Handle an interrupt (SIGINT) after the block.

    Nothing changes outside the main thread, which is the only one that Python interrupts, or where the process ignores
    interrupts or leaves them to the system.
    """
    handler = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(handler):
        yield
        return
    frames: list[FrameType | None] = []
    signal.signal(signal.SIGINT, lambda _, frame: frames.append(frame))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
        if frames:
            handler(signal.SIGINT, frames[-1])
