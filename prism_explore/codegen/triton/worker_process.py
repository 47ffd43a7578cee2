"""A long-lived child process that answers one JSON line with one JSON line.

Triton decides at its import whether it interprets or compiles, and a compiler can crash or hang. So
both happen in a process of their own, which costs its start once; a crash or a time-out ends the
process, is told as a value, and the next question starts a fresh one.
"""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import signal
import subprocess
import sys
import tempfile
import threading
import time
import weakref
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Literal, TypeAlias, cast

Plain: TypeAlias = dict[str, Any]
"""What JSON can say."""

START_S = 120.0
"""How long a child may take to import torch and Triton."""


@dataclass(frozen=True, slots=True)
class Failure:
    """No answer, and why: the child died, was silent for too long, or said that it could not."""

    code: Literal["crash", "hang", "error"]
    reason: str


class Worker:
    """Runs `python -m MODULE` when first asked, and again after it died. A context manager."""

    def __init__(self, module: str, environment: Mapping[str, str | None]) -> None:
        """`environment` is put on top of this process's; None removes a variable."""
        self._module = module
        self._environment = dict(environment)
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._errors: IO[bytes] | None = None
        self._end: weakref.finalize[..., Worker] | None = None
        self._unread = b""

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def ask(self, question: Plain, timeout_s: float) -> Plain | Failure:
        """The child's answer. Starting the child is not counted in `timeout_s`."""
        with self._lock:
            if self._process is None or self._process.poll() is not None:
                failure = self._start()
                if failure:
                    return failure
            answer = self._exchange(json.dumps(question).encode() + b"\n", timeout_s)
        if isinstance(answer, Failure) or "error" not in answer:
            return answer
        return Failure("error", str(answer["error"]))

    def close(self) -> None:
        """End the child; asking again starts another."""
        if self._end is not None:
            self._end()
        self._process, self._unread = None, b""

    def _start(self) -> Failure | None:
        self.close()
        root = str(Path(__file__).resolve().parents[3])
        environment = {**os.environ, **{k: v for k, v in self._environment.items() if v is not None}}
        for name in (k for k, v in self._environment.items() if v is None):
            environment.pop(name, None)
        environment["PYTHONPATH"] = os.pathsep.join(filter(None, (environment.get("PYTHONPATH"), root)))
        self._errors = cast("IO[bytes]", tempfile.TemporaryFile())  # noqa: SIM115
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", self._module],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            env=environment,
            start_new_session=True,
        )
        self._end = weakref.finalize(self, _end, self._process, self._errors)
        ready = self._exchange(b"", START_S)
        return ready if isinstance(ready, Failure) else None

    def _exchange(self, data: bytes, timeout_s: float) -> Plain | Failure:
        """Write all of `data` and read one line, never waiting beyond the deadline."""
        process = self._process
        assert process and process.stdin and process.stdout, "a worker is started before it is asked"
        deadline = time.monotonic() + timeout_s
        os.set_blocking(process.stdin.fileno(), False)
        with selectors.DefaultSelector() as ready:
            ready.register(process.stdout, selectors.EVENT_READ)
            if data:
                ready.register(process.stdin, selectors.EVENT_WRITE)
            while b"\n" not in self._unread:
                events = ready.select(max(0.0, deadline - time.monotonic()))
                if not events:
                    self.close()
                    return Failure("hang", f"no answer within {timeout_s:g} s; the process was ended")
                for key, _ in events:
                    if key.fileobj is process.stdout:
                        piece = os.read(process.stdout.fileno(), 1 << 16)
                        if not piece:
                            return self._crashed(process)
                        self._unread += piece
                        continue
                    try:
                        data = data[os.write(process.stdin.fileno(), data[: 1 << 16]) :]
                    except BrokenPipeError:
                        return self._crashed(process)
                    if not data:
                        ready.unregister(process.stdin)
        line, _, self._unread = self._unread.partition(b"\n")
        return json.loads(line)

    def _crashed(self, process: subprocess.Popen[bytes]) -> Failure:
        status = process.wait()
        said = b""
        if self._errors:
            self._errors.seek(0)
            said = self._errors.read()[-800:]
        self.close()
        how = signal.Signals(-status).name if status < 0 else f"exit status {status}"
        last = said.decode(errors="replace").strip().splitlines()[-3:]
        return Failure("crash", f"the process ended with {how}" + (f": {' / '.join(last)}" if last else ""))


def _end(process: subprocess.Popen[bytes], errors: IO[bytes]) -> None:
    """End the child and what it started (its own session, so nobody else is hit)."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    for stream in (process.stdin, process.stdout, errors):
        if stream:
            with contextlib.suppress(OSError):
                stream.close()


def serve(handle: Callable[[Plain], Plain]) -> None:
    """The child's side: answer questions until the parent closes its end.

    What libraries print goes to standard error, so that it cannot be taken for an answer.
    """
    with os.fdopen(os.dup(1), "w") as answers:
        os.dup2(2, 1)

        def say(answer: Plain) -> None:
            answers.write(json.dumps(answer) + "\n")
            answers.flush()

        say({"ready": True})
        for line in sys.stdin:
            try:
                answer = handle(json.loads(line))
            except Exception as failure:  # whatever a compiler or a kernel raises is the answer
                answer = {"error": f"{type(failure).__name__}: {failure}"}
            say(answer)
