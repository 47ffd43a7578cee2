"""The worker: compiling, comparing and timing happen in another process.

A kernel that crashes, hangs or eats all memory takes only its worker with it. The tuner learns why, a
new worker starts, and the search lives on. The parent may be a notebook's kernel: nothing is forked,
nothing is printed there, and an interrupt of the notebook does not reach the worker.

    parent  --- one JSON object per line, through stdin --->  worker: main()
            <-- one JSON object per line, what was stdout ---

The worker makes its own inputs from the seed, so no tensor ever travels. It ends when its stdin ends,
so it never outlives its parent. Where one can be forked of a process that has its imports already, it is
(nursery.py).
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
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, cast

from prism_explore.ir.program import TensorProgram
from prism_explore.ir.text import parse_program, show
from prism_explore.pipeline.stages import Kernel
from prism_explore.support.thread_env import AT_IMPORT, environment_changes
from prism_explore.targets import Target
from prism_explore.tune.runner import fork_server
from prism_explore.tune.runner.backend import named
from prism_explore.tune.runner.fork_server import SLICE_S
from prism_explore.tune.runner.measure import Checked, Failure, LocalBench, Samples
from prism_explore.tune.runner.wire import kernel_from_plain, kernel_to_plain, target_from_plain, target_to_plain

REUSING_MALLOC = {
    "MALLOC_MMAP_MAX_": "0",
    "MALLOC_TRIM_THRESHOLD_": str(8 << 30),
    "MALLOC_TOP_PAD_": str(256 << 20),
}
"""glibc keeps what was freed. Otherwise rivals that allocate their result would be charged for page faults."""


@dataclass(frozen=True, slots=True)
class WorkerLimits:
    """When a worker is given up."""

    start_s: float = 180.0
    """To start and make inputs and references."""
    check_s: float = 60.0
    """To compile a kernel and compare it."""
    time_s: float = 120.0
    """To time some rounds."""
    memory_bytes: int = 0
    """Address space of the worker; 0: the machine's memory and 8 GiB for what libraries reserve."""


# ---------------------------------------------------------------- the parent's side
class Worker:
    """A `Bench` in another process; started when first used, restarted after a failure."""

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
    ) -> None:
        """Describe the worker; nothing starts yet.

        Args:
            program: what the kernels must equal.
            shapes: numbers for the program's symbols.
            target: the machine.
            loader: `module:function` that makes a kernel callable; imported by the worker.
            seed: of the inputs.
            limits: when to give a worker up.
            stop: asked while waiting; when it says so, the worker is ended at once.
            threads: environment variables that set the threads of libraries; `thread_env.AT_IMPORT` if None.
            imports: modules that it will need and that take long to import.
        """
        self._imports = tuple(imports)
        self._hello = {
            "do": "start",
            "program": show(program),
            "shapes": dict(shapes),
            "target": target_to_plain(target),
            "loader": loader,
            "seed": seed,
        }
        self._on_device = target.kind == "gpu"
        self._limits = limits or WorkerLimits()
        self._stop = stop
        self._threads = AT_IMPORT if threads is None else dict(threads)
        self._process: subprocess.Popen[bytes] | fork_server.Child | None = None
        self._answers: queue.Queue[dict[str, Any] | None] = queue.Queue()
        self._errors: IO[bytes] | None = None
        self._kernels: dict[str, Kernel] = {}
        self._loaded: set[str] = set()
        self.slots = 0
        """Copies of the inputs in the ring."""
        self.is_cold = False
        """Whether they are enough for a cold cache."""

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def pid(self) -> int | None:
        """The process, while there is one."""
        return self._process.pid if self._process else None

    # ------------------------------------------------------------ what a Bench does
    def check(self, key: str, kernel: Kernel) -> Checked | Failure:
        """Compile a kernel and compare its result with the reference."""
        found = self.ask({"do": "check", "key": key, "kernel": kernel_to_plain(kernel)}, self._limits.check_s)
        if isinstance(found, Failure):
            return found
        self._kernels[key] = kernel
        self._loaded.add(key)
        return Checked(float(found["error"]))

    def time(self, keys: Sequence[str], rounds: int) -> Samples | Failure:
        """Time kernels; one that was lost with an earlier worker is compiled and compared again first."""
        for key in keys:
            if key not in self._loaded and key in self._kernels:
                again = self.check(key, self._kernels[key])
                if isinstance(again, Failure):
                    return again
        found = self.ask({"do": "time", "keys": list(keys), "rounds": rounds}, self._limits.time_s)
        if isinstance(found, Failure):
            return found
        times = {str(k): tuple(float(t) for t in v) for k, v in found["times_s"].items()}
        return Samples(times, tuple(float(w) for w in found["waits"]))

    def drop(self, key: str) -> None:
        """Forget a kernel."""
        self._kernels.pop(key, None)
        if key in self._loaded:
            self._loaded.discard(key)
            self.ask({"do": "drop", "key": key}, self._limits.check_s)

    def close(self) -> None:
        """End the worker."""
        self._end()
        _LIVING.discard(self)

    # ------------------------------------------------------------ talking
    def ask(self, message: Mapping[str, Any], limit_s: float) -> dict[str, Any] | Failure:
        """Send a request and wait for its answer; the worker is started if there is none.

        A worker that dies, or does not answer in time, is ended; the answer is then a `Failure`.
        """
        if self._process is None:
            begun = self._begin()
            if isinstance(begun, Failure):
                return begun
        return self._exchange(message, limit_s)

    def _exchange(self, message: Mapping[str, Any], limit_s: float) -> dict[str, Any] | Failure:
        process = self._process
        assert process is not None and process.stdin is not None, "started by the caller"
        doing = _DOING.get(str(message["do"]), "working")
        with contextlib.suppress(OSError):  # a dead worker is noticed below
            process.stdin.write(json.dumps(message).encode() + b"\n")
            process.stdin.flush()
        until = time.monotonic() + limit_s
        while True:
            try:
                answer = self._answers.get(timeout=SLICE_S)
                break
            except queue.Empty:
                pass
            except BaseException:
                self._end()  # interrupted while waiting: the answer would be taken for the next one's
                raise
            if self._stop():
                self._end()
                return Failure("tune.cancelled", f"stopped while {doing}")
            if time.monotonic() > until:
                self._end()
                return Failure("tune.hang", f"no answer within {limit_s:g} s while {doing}; the worker was ended")
        if answer is None:
            status = process.wait()
            said = self._last_words()
            self._end()
            return Failure("tune.crash", f"the worker died of {_death(status)} while {doing}{said}")
        if answer.get("lost"):
            self._end()
        if "failure" in answer:
            code, reason = answer["failure"]
            return Failure(str(code), str(reason))
        return answer

    def _begin(self) -> Failure | None:
        answers: queue.Queue[dict[str, Any] | None] = queue.Queue()
        errors = tempfile.TemporaryFile()  # noqa: SIM115 (it lives as long as the worker; `_end` closes it)
        self._answers, self._errors = answers, errors
        environment = {
            **{k: v for k, v in {**os.environ, **environment_changes(self._threads)}.items() if v is not None},
            **REUSING_MALLOC,
            "PYTHONPATH": os.pathsep.join(p or str(Path.cwd()) for p in sys.path),
            "PYTHONUNBUFFERED": "1",
            "TORCHINDUCTOR_COMPILE_THREADS": "1",
        }
        self._process = process = self._started(environment, errors)
        _LIVING.add(self)
        threading.Thread(target=_listen, args=(process, answers), daemon=True).start()
        memory = 0 if self._on_device else self._limits.memory_bytes or _enough_memory()
        hello = {**self._hello, "memory_bytes": memory}  # drivers of GPUs reserve more addresses than any limit
        found = self._exchange(hello, self._limits.start_s)
        if isinstance(found, Failure):
            self._end()
            return found
        self.slots, self.is_cold = int(found["slots"]), bool(found["is_cold"])
        return None

    def _started(
        self, environment: Mapping[str, str], errors: IO[bytes]
    ) -> subprocess.Popen[bytes] | fork_server.Child:
        if fork_server.IS_HERE and not self._on_device:
            until = time.monotonic() + self._limits.start_s
            with contextlib.suppress(OSError):  # then one is started, which hears at once if it should stop
                return fork_server.fork(
                    environment, self._imports, errors, lambda: self._stop() or time.monotonic() > until
                )
        return subprocess.Popen(
            [sys.executable, "-c", "from prism_explore.tune.runner.worker import main; main()"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
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
        if self._errors is not None:
            self._errors.close()
            self._errors = None

    def _last_words(self) -> str:
        if self._errors is None:
            return ""
        self._errors.seek(0, os.SEEK_END)
        self._errors.seek(max(0, self._errors.tell() - 2000))
        lines = self._errors.read().decode(errors="replace").strip().splitlines()
        return f"; it last said: {lines[-1]}" if lines else ""


_DOING = {"start": "making inputs and references", "check": "compiling and comparing", "time": "timing"}

_LIVING: weakref.WeakSet[Worker] = weakref.WeakSet()


@atexit.register
def _end_all() -> None:
    for worker in tuple(_LIVING):
        worker.close()


def _listen(process: subprocess.Popen[bytes] | fork_server.Child, answers: queue.Queue[dict[str, Any] | None]) -> None:
    assert process.stdout is not None, "opened as a pipe"
    with contextlib.suppress(OSError, ValueError):  # closed while reading: the worker was ended
        for line in process.stdout:
            with contextlib.suppress(ValueError):  # something else was printed before main took over
                answers.put(cast("dict[str, Any]", json.loads(line)))
    answers.put(None)


def _kill(process: subprocess.Popen[bytes] | fork_server.Child) -> None:
    """End a worker and what it started; it leads a process group of its own."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except (AttributeError, ProcessLookupError, PermissionError):
        with contextlib.suppress(OSError):
            process.kill()
    process.wait()


def _death(status: int) -> str:
    if status < 0:
        try:
            return signal.Signals(-status).name
        except ValueError:
            return f"signal {-status}"
    return f"exit status {status}"


def _enough_memory() -> int:
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") + (8 << 30)
    except (AttributeError, ValueError, OSError):
        return 0


# ---------------------------------------------------------------- the worker's side
def serve(requests: queue.Queue[dict[str, Any] | None], answer: Callable[[Mapping[str, Any]], None]) -> None:
    """Answer requests, one by one, until there are no more."""
    bench: LocalBench | None = None
    while (request := requests.get()) is not None:
        try:
            if request["do"] == "start":
                bench = _start(request)
                answer({"slots": bench.ring.slots, "is_cold": bench.ring.is_cold})
                continue
            assert bench is not None, "a worker is started before it is asked"
            found = _done(bench, request)
            answer({**found, "lost": True} if bench.lost else found)
        except MemoryError:
            answer({"failure": ["tune.memory", "out of memory"]})
        except Exception as failure:
            answer({"failure": ["tune.crash", f"{type(failure).__name__}: {failure}"]})


def _start(request: Mapping[str, Any]) -> LocalBench:
    _limit_memory(int(request["memory_bytes"]))
    load = named(request["loader"])
    shapes = {str(k): int(v) for k, v in request["shapes"].items()}
    program = parse_program(request["program"])
    target, seed = target_from_plain(request["target"]), int(request["seed"])
    if target.kind == "gpu":
        from prism_explore.tune.runner.gpu_bench import DeviceBench

        return DeviceBench(program, shapes, target, load, seed=seed)
    return LocalBench(program, shapes, target, load, seed=seed)


def _done(bench: LocalBench, request: Mapping[str, Any]) -> Mapping[str, Any]:
    found: Checked | Samples | Failure
    match request["do"]:
        case "check":
            found = bench.check(request["key"], kernel_from_plain(request["kernel"]))
        case "time":
            found = bench.time(request["keys"], int(request["rounds"]))
        case "drop":
            bench.drop(request["key"])
            return {}
        case other:
            # Rivals and canaries: only a run against baselines asks for them, and only then is torch loaded.
            from prism_explore.tune.runner import baselines

            return baselines.serve(str(other), bench, request)
    match found:
        case Checked(error):
            return {"error": error}
        case Samples(times_s, waits):
            return {"times_s": {k: list(t) for k, t in times_s.items()}, "waits": list(waits)}
        case Failure(code, reason):
            return {"failure": [code, reason]}


def _limit_memory(most_bytes: int) -> None:
    if not most_bytes:
        return
    try:
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (most_bytes, most_bytes))
    except (ImportError, ValueError, OSError):
        return  # not every system can


def main() -> None:
    """Serve the parent: requests on stdin, answers on what was stdout, everything printed on stderr."""
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    requests: queue.Queue[dict[str, Any] | None] = queue.Queue()

    def listen() -> None:
        for line in sys.stdin.buffer:
            requests.put(cast("dict[str, Any]", json.loads(line)))
        os._exit(0)  # the parent is gone, whatever a kernel may still be doing

    def answer(reply: Mapping[str, Any]) -> None:
        out.write(json.dumps(reply).encode() + b"\n")
        out.flush()

    threading.Thread(target=listen, daemon=True).start()
    serve(requests, answer)
