"""A lock for torch.export, whose state is global to the process: two traces at once in two threads fail.

Two visitors of one notebook server, or a search beside `torch.compile` with our backend, trace in one process.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager, nullcontext
from threading import RLock

_OURS = RLock()


@contextmanager
def tracing(*, strict: bool) -> Generator[None]:
    """Hold the lock while torch.export traces; a trace within a trace on the same thread is allowed.

    torch holds a lock of its own while it compiles, also around our backend, which traces; and a strict trace waits for
    it. So a strict trace takes it first, or a trace and a compilation in two threads would wait for each other for
    ever. Another trace does not: it can be part of a search that our backend waits for.

    Args:
        strict: whether torch.export is called with `strict=True`.
    """
    from torch._dynamo import convert_frame

    with getattr(convert_frame, "compile_lock", nullcontext()) if strict else nullcontext(), _OURS:
        yield
