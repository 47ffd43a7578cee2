"""A worker process with baselines: torch code that is exported, loaded, compiled, and compared with the reference.

It can prepare them in the background, while the search grows and kernels are timed: `stopped` stops it for as long as
a kernel is timed. A baseline that is not ready when all others are is not waited for longer than the caller allows.
"""

from __future__ import annotations

import shutil
import tempfile
import threading
import time
import weakref
from collections.abc import Callable, Collection, Generator, Mapping
from contextlib import contextmanager
from math import inf
from pathlib import Path
from typing import Any, TypeAlias
from uuid import uuid4

from prism_explore.events.fastest import OURS
from prism_explore.frontend import Traced
from prism_explore.ir.program import TensorProgram
from prism_explore.pipeline.stages import Kernel
from prism_explore.targets import Target
from prism_explore.tune.runner import fork_server
from prism_explore.tune.runner.baseline_table import LIBRARY_CALL, Baseline, not_waited_for
from prism_explore.tune.runner.bench import CheckPassed, Failure
from prism_explore.tune.runner.fork_server import POLL_S
from prism_explore.tune.runner.torch_code import export_function
from prism_explore.tune.runner.worker import Worker

Code: TypeAlias = Callable[..., Any] | Traced
"""Torch code: a traced function, or a function of the program's inputs in their order."""


SET_UP_COMPILER = "prism_explore.tune.runner.torch_code:set_up_compiler"


class BaselineWorker:
    """Prepares baselines in one process, in which they are then timed together with a kernel."""

    def __init__(
        self,
        codes: Mapping[Baseline, Code],
        program: TensorProgram,
        shapes: Mapping[str, int],
        target: Target,
        loader: str,
        *,
        seed: int = 0,
        stop: Callable[[], bool] = lambda: False,
    ) -> None:
        """Describe the worker; nothing starts yet.

        Args:
            codes: the torch code of each baseline.
            program: what they compute.
            shapes: values of its symbols.
            target: the machine.
            loader: `module:function` that makes a kernel callable.
            seed: of the inputs.
            stop: called while waiting.
        """
        self._codes, self._program, self._shapes = dict(codes), program, shapes
        self._folder = Path(tempfile.gettempdir()) / f"prism-{uuid4().hex}"
        """For exported code; made when something is exported, after its deletion is asked for."""
        self._delete_folder = weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)
        self._paths: dict[Baseline, Path] = {}
        self._failures: dict[str, str] = {}
        """Reasons of the baselines that could not be prepared."""
        self._ready: list[str] = []
        self._compiled: set[Baseline] = set()
        """Those that were ready once."""
        self._deadline_s, self._is_closed = inf, False
        self._may_be_late = False
        """Whether the baseline that is prepared may be left out because it takes too long."""
        self._thread: threading.Thread | None = None
        self._is_started = False
        self._exporting = threading.Lock()
        self.worker = Worker(
            program,
            shapes,
            target,
            loader,
            seed=seed,
            stop=lambda: stop() or self._is_closed or (self._may_be_late and time.monotonic() > self._deadline_s),
            imports=slow_imports(codes),
            fill=not self.compiles,  # it takes cores from a compiler
            transposed={k: v for c in codes.values() if isinstance(c, Traced) for k, v in c.transposed_inputs.items()},
        )

    @property
    def compiles(self) -> bool:
        """Whether torch compiles any of the baselines."""
        return any(baseline.compiles for baseline in self._codes)

    def __enter__(self) -> BaselineWorker:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the process."""
        self._end()
        self._delete_folder()

    def rest(self) -> None:
        """End the process until `start` or `prepare`, which prepare the baselines again."""
        self._end()
        self._ready.clear()
        self._thread, self._is_started, self._is_closed = None, False, False

    def _end(self) -> None:
        self._is_closed = True
        if self._thread is not None:
            self._thread.join()
        self.worker.close()

    def start(self) -> None:
        """Prepare the baselines in the background, where the process can be stopped; a second call does nothing."""
        if fork_server.IS_SUPPORTED and self._codes and not (self._is_started or self._is_closed):
            self._is_started = True
            self._thread = threading.Thread(target=self._prepare_all, name="prism-baselines", daemon=True)
            self._thread.start()

    @contextmanager
    def stopped(self) -> Generator[None]:
        """Stop everything that prepares baselines for a moment."""
        with self._exporting, self.worker.stopped():
            yield

    def prepare(
        self, codes: Mapping[Baseline, Code], kernel: Kernel | None = None, wait_s: float = inf
    ) -> tuple[list[str], dict[str, str]]:
        """Prepare the baselines, and a kernel, in one process.

        Args:
            codes: the baselines; those that were not known before are added.
            kernel: it is compared with the reference, too.
            wait_s: seconds after which those that are not ready are left out.

        Returns:
            The names of those that are ready, the kernel's first, and the reasons of the others.
        """
        began_s = time.monotonic()
        self._await_background(began_s + wait_s)
        self._codes.update(codes)
        while True:
            self._prepare_all(began_s + wait_s)
            if kernel is None:
                return self._ready, self._failures
            checked = self.worker.check(OURS, kernel)
            if isinstance(checked, CheckPassed):
                return [OURS, *self._ready], self._failures
            if self.worker.pid is not None or not self._ready:
                self._failures[OURS] = checked.reason
                return self._ready, self._failures
            self._ready, kernel = [], None  # it ended the process, which has no baselines any more
            self._failures[OURS] = checked.reason

    def _await_background(self, deadline_s: float) -> None:
        """Wait for the thread; at the deadline, leave out what it prepares."""
        if self._thread is not None:
            self._deadline_s = deadline_s
            self._thread.join()
            self._thread, self._deadline_s = None, inf

    def _prepare_all(self, deadline_s: float = inf) -> None:
        """Prepare every baseline that is neither ready nor failed.

        If a baseline ends the process, it is left out, and the others are prepared again in a new one; torch then
        finds their compiled code in its own cache.
        """
        with self._exporting:
            self._export_all()
        while (baseline := self._next()) is not None and not self._is_closed:
            began_s, path = time.monotonic(), str(self._paths[baseline])
            request = {"do": "baseline", "key": baseline.name, "path": path, "maker": baseline.maker}
            self._may_be_late = baseline.compiles and baseline not in self._compiled
            left_s = max(POLL_S, deadline_s - began_s) if self._may_be_late else inf
            found = self.worker.request(request, min(baseline.limit_s, left_s))
            if self._is_closed:
                return
            if not isinstance(found, Failure):
                self._ready.append(baseline.name)
                self._compiled.add(baseline)
                continue
            is_late = self._may_be_late and time.monotonic() > min(deadline_s, self._deadline_s)
            self._failures[baseline.name] = not_waited_for(time.monotonic() - began_s) if is_late else found.reason
            if self.worker.pid is None:
                self._ready.clear()

    def _next(self) -> Baseline | None:
        done = {*self._ready, *self._failures}
        return next((b for b in self._codes if b.name not in done), None)

    def _export_all(self) -> None:
        """Write the exported code of each baseline to a file, or the reason why it could not be exported."""
        if self._codes:
            self.worker.delete_at_the_end(str(self._folder))
            self._folder.mkdir(mode=0o700, exist_ok=True)
        for baseline, code in self._codes.items():
            path = self._folder / ("library.pt2" if baseline is LIBRARY_CALL else "reference.pt2")
            self._paths[baseline] = path
            reason = "" if path.exists() else export_function(code, self._program, self._shapes, path)
            self._failures |= {baseline.name: reason} if reason else {}


def slow_imports(baselines: Collection[Baseline]) -> tuple[str, ...]:
    """Modules that a worker needs for these baselines and that take long to import, and how to set up the compiler.

    Args:
        baselines: rows of the table of baselines.

    Returns:
        Names of modules, and `module:function` of what is called, in the order in which this is done.
    """
    loads = ("torch.export.pt2_archive",) if baselines else ()
    return (*loads, *(("torch._inductor.compile_fx", SET_UP_COMPILER) if any(b.compiles for b in baselines) else ()))
