"""The client of a worker process, in which kernels are compiled, checked and timed.

A kernel that crashes, hangs or exhausts memory ends only its worker process. The tuner receives the reason as a
`Failure`, a new worker starts, and the search continues. The parent may be a notebook kernel: it is not forked, nothing
is printed in it, and an interrupt of the notebook does not reach the worker.

    Worker  --- one JSON object per line, through stdin --->  serve.main()
            <-- one JSON object per line, to what was stdout ---

On Linux the process is forked from the fork server, which has imported what takes long to import (`fork_server.py`).
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
import time
import weakref
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import IO, Any, cast

from prism_explore.codegen.cpu.compile import MachineCode
from prism_explore.ir.program import TensorProgram
from prism_explore.ir.text import show
from prism_explore.pipeline.stages import Kernel
from prism_explore.support.thread_env import AT_IMPORT, environment_changes
from prism_explore.targets import Target
from prism_explore.tune.runner import fork_server
from prism_explore.tune.runner.bench import Ceilings, CheckPassed, Failure, Samples
from prism_explore.tune.runner.fork_server import POLL_S
from prism_explore.tune.runner.inputs import Transposed
from prism_explore.tune.runner.wire import (
    kernel_from_plain,
    kernel_to_plain,
    machine_code_from_plain,
    target_to_plain,
)

REUSING_MALLOC = {
    "MALLOC_MMAP_MAX_": "0",
    "MALLOC_TRIM_THRESHOLD_": str(8 << 30),
    "MALLOC_TOP_PAD_": str(256 << 20),
}
"""Makes glibc reuse freed memory. Otherwise the times of baselines that allocate their result include page faults."""


_TORCH_CACHE = "TORCHINDUCTOR_CACHE_DIR"
"""The environment variable with the folder in which torch keeps compiled code; torch sets it where it is missing."""

_OF_THIS_PROCESS = frozenset({"PYTEST_CURRENT_TEST", "PRISM_EXPLORE_CACHE"})
"""Environment variables that workers do without: the phase of a test, and the folder of searches that are stored. Only
workers of one environment share fork servers, and where it changes with each test, each imports torch again."""

_TORCH_POINTERS = "_TORCHINDUCTOR_"
"""The prefix of variables in which torch's compiler keeps addresses of this process for the code that it loads."""

_ADDED_AT_IMPORT = ("setuptools", "_vendor")
"""The folder that setuptools appends to the import path, in a worker as here, when torch's compiler imports it."""


@dataclass(frozen=True, slots=True)
class WorkerLimits:
    """Limits after which a worker is ended."""

    start_s: float = 180.0
    """For starting and for computing inputs and reference results."""
    check_s: float = 60.0
    """For compiling a kernel and comparing its result."""
    time_s: float = 120.0
    """For timing some rounds."""
    memory_bytes: int = 0
    """Address space; 0 means the machine's memory plus 8 GiB that libraries reserve."""


class Worker:
    """A `Bench` in another process, which starts at the first request and restarts after a failure."""

    def __init__(
        self,
        program: TensorProgram,
        shapes: Mapping[str, int],
        target: Target,
        loader: str,
        *,
        seed: int = 0,
        limits: WorkerLimits | None = None,
        stop: Callable[[], bool] = lambda: False,
        threads: Mapping[str, str] | None = None,
        imports: Sequence[str] = (),
        fill: bool = True,
        nice: int = 0,
        undisturbed: Callable[[], AbstractContextManager[None]] = contextlib.nullcontext,
        transposed: Transposed = MappingProxyType({}),
    ) -> None:
        """Describe the worker; no process starts yet.

        Args:
            program: the reference for the kernels.
            shapes: values of the program's symbols.
            target: the machine.
            loader: `module:function` that makes a kernel callable; the worker imports it.
            seed: of the inputs.
            limits: when to end the worker.
            stop: called while waiting; if it returns True, the worker is ended at once.
            threads: environment variables that set the threads of libraries; `thread_env.AT_IMPORT` if None.
            imports: modules that the worker needs and that take long to import.
            fill: whether the copies of the inputs are made at the start, or when kernels are first timed.
            nice: added to the niceness of the process.
            undisturbed: entered while kernels are timed, such as `stopped` of a worker that compiles meanwhile.
            transposed: inputs that have the values of others.
        """
        self._imports = tuple(imports)
        self._start_request = {
            "do": "start",
            "program": show(program),
            "shapes": dict(shapes),
            "target": target_to_plain(target),
            "loader": loader,
            "seed": seed,
            "fill": fill,
            "nice": nice,
            "transposed": dict(transposed),
        }
        self._undisturbed = undisturbed
        self._starting: threading.Thread | None = None
        self._may_run = threading.RLock()
        """Held while the process is stopped."""
        self._on_gpu = target.kind == "gpu"
        self._limits = limits or WorkerLimits()
        self._stop = stop
        self._is_closed = False
        self._threads = AT_IMPORT if threads is None else dict(threads)
        self._process: subprocess.Popen[bytes] | fork_server.Child | None = None
        self._answers: queue.Queue[dict[str, Any] | None] = queue.Queue()
        self._stderr: IO[bytes] | None = None
        self._kernels: dict[str, Kernel] = {}
        self._loaded: set[str] = set()
        self.slots = 0
        """Copies of the inputs in the ring."""
        self.is_cold = False
        """Whether there are enough copies for a cold cache."""

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def pid(self) -> int | None:
        """The process id while the process runs."""
        return self._process.pid if self._process else None

    # ------------------------------------------------------------ the Bench interface
    def check(self, key: str, kernel: Kernel) -> CheckPassed | Failure:
        """Compile a kernel and compare its result with the reference."""
        found = self.request({"do": "check", "key": key, "kernel": kernel_to_plain(kernel)}, self._limits.check_s)
        if isinstance(found, Failure):
            return found
        self._kernels[key] = kernel
        self._loaded.add(key)
        return CheckPassed(float(found["error"]))

    def time(self, keys: Sequence[str], rounds: int) -> Samples | Failure:
        """Time kernels, while the other workers of this process are stopped.

        A kernel that an earlier process had is first compiled and compared again.
        """
        for key in keys:
            if key not in self._loaded and key in self._kernels:
                reloaded = self.check(key, self._kernels[key])
                if isinstance(reloaded, Failure):
                    return reloaded
        with _others_stopped(self), self._undisturbed():
            found = self.request({"do": "time", "keys": list(keys), "rounds": rounds}, self._limits.time_s)
        if isinstance(found, Failure):
            return found
        times = {str(k): tuple(float(t) for t in v) for k, v in found["times_s"].items()}
        return Samples(times, tuple(float(w) for w in found["waits"]))

    def prepare_ceilings(self, read_bytes: float, flops: float, is_16_bit: bool) -> Ceilings | Failure:
        """Keep loops that read as many bytes, or do as many operations."""
        message = {"do": "ceilings", "bytes": read_bytes, "flops": flops, "is_16_bit": is_16_bit}
        found = self.request(message, self._limits.check_s)
        if isinstance(found, Failure):
            return found
        return Ceilings(tuple(map(str, found["readers"])), str(found["arithmetic"]), float(found["scale"]))

    def drop(self, key: str) -> None:
        """Release a kernel."""
        self._kernels.pop(key, None)
        if key in self._loaded:
            self._loaded.discard(key)
            self.request({"do": "drop", "key": key}, self._limits.check_s)

    def compile_at(
        self, tuned: Kernel, target: Target, most: int
    ) -> tuple[tuple[tuple[Kernel, MachineCode], ...], str] | Failure:
        """Kernels of a candidate at the worker's sizes that agree with the reference, and why there are no others.

        Args:
            tuned: a kernel of the candidate at other sizes.
            target: the machine.
            most: kernels that are compiled.

        Returns:
            The kernels with their machine code, those of the best parameters first, and the reason as text.
        """
        message = {
            "do": "compile at",
            "kernel": kernel_to_plain(tuned),
            "target": target_to_plain(target),
            "most": most,
        }
        found = self.request(message, self._limits.check_s * most)
        if isinstance(found, Failure):
            return found
        kernels = tuple(
            (
                replace(kernel_from_plain(row["kernel"]), verified=tuned.verified),
                machine_code_from_plain(row["code"]),
            )
            for row in found["kernels"]
        )
        return kernels, str(found["why"])

    def close(self) -> None:
        """End the process."""
        self._is_closed = True
        self._await_start()
        self._end()
        self._is_closed = False
        with _running_lock:
            _RUNNING.discard(self)

    def delete_at_the_end(self, folder: str) -> None:
        """Have a folder for this worker deleted when this process has ended, also where it was killed.

        Args:
            folder: with its files; where no worker is forked, it is not deleted.
        """
        if fork_server.IS_SUPPORTED and not self._on_gpu:
            fork_server.delete_at_the_end(_environment(self._threads), folder)

    def start(self) -> None:
        """Start the process in the background, so that the first request need not wait for it."""
        if self._process is None and self._starting is None:
            self._starting = threading.Thread(target=self._start, name="prism-worker", daemon=True)
            self._starting.start()

    def _await_start(self) -> None:
        starting, self._starting = self._starting, None
        if starting is not None and starting is not threading.current_thread():
            starting.join()

    @contextlib.contextmanager
    def stopped(self) -> Generator[None]:
        """Stop the process, or what it is forked from, so that it does not disturb a timing."""
        with self._may_run, fork_server.stopped(self.pid):
            yield

    # ------------------------------------------------------------ requests
    def request(self, message: Mapping[str, Any], limit_s: float) -> dict[str, Any] | Failure:
        """Send a request and wait for the answer; start the process if there is none.

        A worker that dies or does not answer in time is ended, and the answer is a `Failure`.
        """
        self._await_start()  # where it failed, another one starts below
        if self._process is None:
            started = self._start()
            if isinstance(started, Failure):
                return started
        return self._exchange(message, limit_s)

    def _exchange(self, message: Mapping[str, Any], limit_s: float) -> dict[str, Any] | Failure:
        process = self._process
        assert process is not None and process.stdin is not None, "started by the caller"
        activity = _ACTIVITIES.get(str(message["do"]), "working")
        with contextlib.suppress(OSError):  # a dead worker is noticed below
            process.stdin.write(json.dumps(message).encode() + b"\n")
            process.stdin.flush()
        deadline_s = time.monotonic() + limit_s
        while True:
            try:
                answer = self._answers.get(timeout=POLL_S)
                break
            except queue.Empty:
                pass
            except BaseException:
                self._end()  # interrupted while waiting: a late answer would be taken for that of the next request
                raise
            if self._stop() or self._is_closed:
                self._end()
                return Failure("tune.cancelled", f"stopped while {activity}")
            if time.monotonic() > deadline_s:
                self._end()
                return Failure("tune.hang", f"no answer within {limit_s:g} s while {activity}; the worker was ended")
        if answer is None:
            status = process.wait()
            last_line = self._last_stderr_line()
            self._end()
            return Failure("tune.crash", f"the worker died of {_status_text(status)} while {activity}{last_line}")
        if answer.get("lost"):
            self._end()
        if "failure" in answer:
            code, reason = answer["failure"]
            return Failure(str(code), str(reason))
        return answer

    # ------------------------------------------------------------ the process
    def _start(self) -> Failure | None:
        answers: queue.Queue[dict[str, Any] | None] = queue.Queue()
        stderr = tempfile.TemporaryFile()  # noqa: SIM115 (used as long as the worker runs; `_end` closes it)
        self._answers, self._stderr = answers, stderr
        environment = _environment(self._threads)
        with _running_lock:
            _RUNNING.add(self)
        process = self._start_process(environment, stderr)
        with self._may_run:  # while it is held, no process of this worker runs
            self._process = process
        threading.Thread(target=_read_answers, args=(process, answers), daemon=True).start()
        memory_bytes = 0 if self._on_gpu else self._limits.memory_bytes or _default_memory_bytes()
        request = {**self._start_request, "memory_bytes": memory_bytes}  # GPU drivers reserve more than any limit
        found = self._exchange(request, self._limits.start_s)
        if isinstance(found, Failure):
            self._end()
            return found
        self.slots, self.is_cold = int(found["slots"]), bool(found["is_cold"])
        return None

    def _start_process(
        self, environment: Mapping[str, str], stderr: IO[bytes]
    ) -> subprocess.Popen[bytes] | fork_server.Child:
        if fork_server.IS_SUPPORTED and not self._on_gpu:
            deadline_s = time.monotonic() + self._limits.start_s
            with contextlib.suppress(OSError):  # then start a new process below, which reacts to `stop` at once
                return fork_server.fork(
                    environment,
                    self._imports,
                    stderr,
                    lambda: self._stop() or self._is_closed or time.monotonic() > deadline_s,
                )
        return subprocess.Popen(
            [sys.executable, "-c", "from prism_explore.tune.runner.serve import main; main()"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=stderr,
            env=environment,
            start_new_session=True,
        )

    def _end(self) -> None:
        process, self._process = self._process, None
        self._loaded.clear()
        if process is not None:
            _kill(process)
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    with contextlib.suppress(OSError):
                        pipe.close()
        if self._stderr is not None:
            self._stderr.close()
            self._stderr = None

    def _last_stderr_line(self) -> str:
        if self._stderr is None:
            return ""
        self._stderr.seek(0, os.SEEK_END)
        self._stderr.seek(max(0, self._stderr.tell() - 2000))
        lines = self._stderr.read().decode(errors="replace").strip().splitlines()
        return f"; it last said: {lines[-1]}" if lines else ""


def start_fork_servers(imports: Sequence[str]) -> None:
    """Start what workers are forked from, where they are, while this process does something else.

    Args:
        imports: modules that some workers need and that take long to import.
    """
    if fork_server.IS_SUPPORTED:
        fork_server.start(_environment(AT_IMPORT), imports)


def _environment(threads: Mapping[str, str]) -> dict[str, str]:
    """The environment variables of a worker, with these for the threads of libraries.

    They are the same before and after torch was imported here and has compiled something: what it then sets, it sets in
    the worker too.
    """
    torch: Any = sys.modules.get("torch._inductor.runtime.cache_dir_utils")
    is_default = torch is not None and os.environ.get(_TORCH_CACHE) == torch.default_cache_dir()
    left_out = {*_OF_THIS_PROCESS, *((_TORCH_CACHE,) if is_default else ())}
    own = {k: v for k, v in os.environ.items() if k not in left_out and not k.startswith(_TORCH_POINTERS)}
    path = [p or str(Path.cwd()) for p in sys.path if Path(p).parts[-2:] != _ADDED_AT_IMPORT]
    return {
        **{k: v for k, v in {**own, **environment_changes(threads)}.items() if v is not None},
        **REUSING_MALLOC,
        "PYTHONPATH": os.pathsep.join(path),
        "PYTHONUNBUFFERED": "1",
        "TORCHINDUCTOR_COMPILE_THREADS": "1",
    }


_ACTIVITIES = {
    "start": "making inputs and references",
    "check": "compiling and comparing",
    "compile at": "compiling and comparing",
    "time": "timing",
}
"""What a worker does on each request; part of the reasons that the journal keeps."""

_RUNNING: weakref.WeakSet[Worker] = weakref.WeakSet()
"""The workers that have a process, or start one."""
_running_lock = threading.Lock()
_timing = threading.Lock()
"""Held while a worker of this process times kernels."""


@contextlib.contextmanager
def _others_stopped(own: Worker) -> Generator[None]:
    """Stop all other workers of this process: searches side by side time their kernels one after the other."""
    with _timing, contextlib.ExitStack() as held:
        for worker in _running() if hasattr(os, "killpg") else ():
            if worker is not own:
                held.enter_context(worker.stopped())
        yield


def _running() -> tuple[Worker, ...]:
    with _running_lock:
        return tuple(_RUNNING)


@atexit.register
def _end_all() -> None:
    for worker in _running():
        worker.close()


def _read_answers(
    process: subprocess.Popen[bytes] | fork_server.Child, answers: queue.Queue[dict[str, Any] | None]
) -> None:
    assert process.stdout is not None, "opened as a pipe"
    with contextlib.suppress(OSError, ValueError):  # closed while reading: the worker was ended
        for line in process.stdout:
            with contextlib.suppress(ValueError):  # printed before `serve.main` redirected stdout
                answers.put(cast("dict[str, Any]", json.loads(line)))
    answers.put(None)


def _kill(process: subprocess.Popen[bytes] | fork_server.Child) -> None:
    """Kill a worker and the processes it started; it leads its own process group."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except (AttributeError, ProcessLookupError, PermissionError):
        with contextlib.suppress(OSError):
            process.kill()
    process.wait()


def _status_text(status: int) -> str:
    if status < 0:
        try:
            return signal.Signals(-status).name
        except ValueError:
            return f"signal {-status}"
    return f"exit status {status}"


def _default_memory_bytes() -> int:
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") + (8 << 30)
    except (AttributeError, ValueError, OSError):
        return 0
