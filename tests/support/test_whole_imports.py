"""An interrupt does not leave an import half done."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

import prism_explore as px
from prism_explore.entry import torch_default_compiler
from prism_explore.frontend import torch_tracing, trace
from prism_explore.support.whole_imports import import_whole, interrupts_postponed

INTERRUPTED = """import os, signal
os.kill(os.getpid(), signal.SIGINT)
from interrupted_package import part
WHOLE = True
"""


@pytest.fixture(autouse=True)
def _interrupts_are_handled() -> Iterator[None]:
    """A shell starts what it runs in the background with SIGINT ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(autouse=True)
def _as_in_a_notebook(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "interrupted_package"
    package.mkdir()
    (package / "__init__.py").write_text(INTERRUPTED)
    (package / "part.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    for name in ("interrupted_package", "interrupted_package.part"):
        monkeypatch.delitem(sys.modules, name, raising=False)


def test_an_interrupt_within_an_import_is_raised_when_all_modules_are_there() -> None:
    with pytest.raises(KeyboardInterrupt):
        import_whole("interrupted_package", "colorsys")

    assert sys.modules["interrupted_package"].WHOLE
    assert "colorsys" in sys.modules
    import_whole("interrupted_package")  # is there: nothing is run again


def test_an_interrupt_within_the_imports_of_a_trace_leaves_the_next_trace_possible(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(torch_tracing, "_MODULES", ("interrupted_package", *torch_tracing._MODULES))
    with pytest.raises(KeyboardInterrupt):
        trace(abs, {"x": px.T("b", 4)})

    assert sys.modules["interrupted_package"].WHOLE
    assert trace(lambda x: x + x, {"x": px.T("b", 4)}).program.inputs


def test_an_import_that_is_not_protected_is_left_half_done() -> None:
    with pytest.raises(KeyboardInterrupt):
        __import__("interrupted_package")

    assert "interrupted_package" not in sys.modules


def test_an_import_that_fails_fails_and_interrupts_are_handled_as_before() -> None:
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(ModuleNotFoundError):
        import_whole("no_such_module_anywhere")

    assert signal.getsignal(signal.SIGINT) is before


def test_other_threads_and_processes_that_ignore_interrupts_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[str] = []

    def other() -> None:
        with interrupts_postponed():
            done.append("thread")

    thread = threading.Thread(target=other)
    thread.start()
    thread.join()
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with interrupts_postponed():
            os.kill(os.getpid(), signal.SIGINT)
            done.append("ignored")
    finally:
        signal.signal(signal.SIGINT, before)

    assert done == ["thread", "ignored"]


def test_an_interrupt_within_the_imports_of_the_default_compiler_is_raised_when_all_of_it_is_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    modules = ("interrupted_package", *torch_default_compiler._COMPILER_MODULES)
    monkeypatch.setattr(torch_default_compiler, "_COMPILER_MODULES", modules)
    with pytest.raises(KeyboardInterrupt):
        torch_default_compiler._tried(None, ())

    assert all(name in sys.modules for name in modules)
    assert sys.modules["interrupted_package"].WHOLE
