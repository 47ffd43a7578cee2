"""A long-lived child process that replies to each request, one JSON line each way.

Triton decides at import whether it interprets or compiles, and a compiler can crash or hang, so each runs in a child
process that is started once. A crash or a timeout ends the process and is returned as a `Failure`; the next request
starts a new process.
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

JsonObject: TypeAlias = dict[str, Any]
"""A JSON object."""

START_S = 120.0
"""How long a child may take to import torch and Triton."""


@dataclass(frozen=True, slots=True)
class Failure:
    """Why there is no reply: the child crashed, timed out, or reported an error."""

    code: Literal["crash", "hang", "error"]
    reason: str


class Worker:
    """Runs `python -m MODULE` at the first request, and again after it ended. A context manager."""

    def __init__(self, module: str, environment: Mapping[str, str | None]) -> None:
        """`environment` updates the variables of this process; None removes one."""
        self._module = module
        self._environment = dict(environment)
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._errors: IO[bytes] | None = None
        self._end: weakref.finalize[..., Worker] | None = None
        self._unread = b""
        self._is_ready = False

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def start(self) -> None:
        """Start the child, which imports torch and Triton for some seconds, without waiting for it."""
        with self._lock:
            self._launch()

    def request(self, request: JsonObject, timeout_s: float) -> JsonObject | Failure:
        """The child's reply. `timeout_s` does not include the start of the child."""
        with self._lock:
            self._launch()
            if not self._is_ready:
                ready = self._exchange(b"", START_S)
                if isinstance(ready, Failure):
                    return ready
                self._is_ready = True
            reply = self._exchange(json.dumps(request).encode() + b"\n", timeout_s)
        if isinstance(reply, Failure) or "error" not in reply:
            return reply
        return Failure("error", str(reply["error"]))

    def close(self) -> None:
        """End the child; the next request starts another."""
        if self._end is not None:
            self._end()
        self._process, self._unread, self._is_ready = None, b"", False

    def _launch(self) -> None:
        """Start a child where none runs."""
        if self._process is not None and self._process.poll() is None:
            return
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

    def _exchange(self, data: bytes, timeout_s: float) -> JsonObject | Failure:
        """Write all of `data` and read one line, never waiting beyond the deadline."""
        process = self._process
        assert process and process.stdin and process.stdout, "a worker is started before its first request"
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
        log = b""
        if self._errors:
            self._errors.seek(0)
            log = self._errors.read()[-800:]
        self.close()
        how = signal.Signals(-status).name if status < 0 else f"exit status {status}"
        last = log.decode(errors="replace").strip().splitlines()[-3:]
        return Failure("crash", f"the process ended with {how}" + (f": {' / '.join(last)}" if last else ""))


def _end(process: subprocess.Popen[bytes], errors: IO[bytes]) -> None:
    """End the child and its descendants: the process group of its own session."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    for stream in (process.stdin, process.stdout, errors):
        if stream:
            with contextlib.suppress(OSError):
                stream.close()


def serve(handle: Callable[[JsonObject], JsonObject]) -> None:
    """The child's side: reply to requests until the parent closes the pipe.

    Output of libraries is redirected to standard error, so that it is not taken for a reply.
    """
    with os.fdopen(os.dup(1), "w") as replies:
        os.dup2(2, 1)

        def send(reply: JsonObject) -> None:
            replies.write(json.dumps(reply) + "\n")
            replies.flush()

        send({"ready": True})
        for line in sys.stdin:
            try:
                reply = handle(json.loads(line))
            except Exception as failure:  # any exception of a compiler or a kernel is a reply
                reply = {"error": f"{type(failure).__name__}: {failure}"}
            send(reply)
