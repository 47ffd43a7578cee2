# pyright: basic
# What is changed here are private names of torch.
"""A lock for torch.export, whose state is global to the process, and what keeps other threads out of a trace.

Two visitors of one notebook server, or a search beside `torch.compile` with our backend, trace in one process. Three
things of torch are in the way:

* While torch.export or torch.compile works, flags of modules say so, which each saves and restores. Two at once leave
  wrong ones behind. So a trace holds the lock that torch itself holds while it compiles.
* torch's lock is held around our backend, too, whose searches trace in threads of their own. `open_to_other_threads`
  lets them, and those of other visitors, trace while the backend does nothing with torch's compiler.
* torch.export replaces `nn.Module.__call__` and `nn.Module.__getattr__`, also for models that run in other threads; and
  its strict way deletes everything that is compiled, also what another thread is about to run: the process crashes.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager, suppress
from functools import wraps
from threading import RLock, get_ident
from typing import Any

from prism_explore.support.whole_imports import import_whole

_OURS = RLock()
_open_backends = 0
"""Backends that hold torch's lock, and let other threads trace."""
_MODULES = ("torch", "torch._dynamo", "torch.export._trace")
"""What the first trace of a process would import: 2,400 modules."""
_RECHECK_S = 0.02
"""How often a trace that waits for torch's lock asks whether a backend lets it trace."""


def import_tracer() -> None:
    """Import torch and its compiler, which takes seconds; an interrupt meanwhile is raised afterwards."""
    import_whole(*_MODULES)


@contextmanager
def tracing(*, strict: bool) -> Generator[None]:
    """Hold the lock while torch traces or compiles; a trace within a trace on the same thread is allowed.

    Args:
        strict: whether torch reads the bytecode. Such a trace always waits for torch's lock, because it takes that lock
            itself; another one does not where a backend is open to it.
    """
    from torch._dynamo.convert_frame import compile_lock

    with ExitStack() as held:
        while True:
            # torch's lock is taken first everywhere, or two threads would wait for each other for ever.
            if compile_lock.acquire(timeout=_RECHECK_S):
                held.callback(compile_lock.release)
                held.enter_context(_OURS)
                break
            held.enter_context(_OURS)
            if _open_backends and not strict:
                break
            held.close()
        held.enter_context(_other_threads_undisturbed())
        yield


@contextmanager
def open_to_other_threads() -> Generator[None]:
    """Within a backend of torch.compile: other threads may trace, and the backend compiles within `tracing` only."""
    global _open_backends
    with _OURS:
        _open_backends += 1
    try:
        yield
    finally:
        with _OURS:
            _open_backends -= 1


@contextmanager
def _other_threads_undisturbed() -> Generator[None]:
    """What torch changes for all threads while it traces is changed for this thread only."""
    import torch._dynamo
    from torch.fx import _symbolic_trace

    tracing_thread = get_ident()
    patcher_class: Any = _symbolic_trace._Patcher

    def for_this_thread(change: Callable[..., Any], given: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(change)
        def call(*args: Any, **kwargs: Any) -> Any:
            return (change if get_ident() == tracing_thread else given)(*args, **kwargs)

        return call

    def patch_method(patcher: Any, cls: type, name: str, new: Callable[..., Any], deduplicate: bool = True) -> None:
        patch(patcher, cls, name, for_this_thread(new, getattr(cls, name)), deduplicate)

    patch, reset = patcher_class.patch_method, torch._dynamo.reset
    patcher_class.patch_method = patch_method
    torch._dynamo.reset = for_this_thread(lambda: None, reset)
    try:
        yield
    finally:
        patcher_class.patch_method, torch._dynamo.reset = patch, reset


@contextmanager
def transforms_ended() -> Generator[None]:
    """End the transforms of torch.func that a trace begins and does not end, as where it fails between.

    Without it every later tensor of the process would be one of such a transform.
    """
    import torch
    from torch._C import _exit_dual_level  # pyright: ignore[reportAttributeAccessIssue]
    from torch._C._functorch import get_dynamic_layer_stack_depth, pop_dynamic_layer_stack_and_undo_to_depth
    from torch.autograd import forward_ad

    records, depth, level = torch.is_grad_enabled(), get_dynamic_layer_stack_depth(), forward_ad._current_level
    try:
        yield
    finally:
        while forward_ad._current_level > level:
            forward_ad.exit_dual_level()
        if level < 0:
            with suppress(RuntimeError):  # there is none; a trace may leave one of which only torch's C++ part knows
                _exit_dual_level(level=0)
        pop_dynamic_layer_stack_and_undo_to_depth(depth)
        torch.set_grad_enabled(records)
