"""A lock for torch.export, whose state is global to the process: two traces at once in two threads fail.

Two visitors of one notebook server, or a search beside `torch.compile` with our backend, trace in one process.
"""

from __future__ import annotations

from threading import RLock

TRACING = RLock()
"""Held while torch.export traces; a trace within a trace on the same thread is allowed."""
