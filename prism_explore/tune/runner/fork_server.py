"""Where workers come from: a process that has the slow imports behind it, and forks.

A worker that times rivals imports torch and torch.export, some 3 s: longer than a small program's whole race, and a
model that is compiled region by region pays it for each. So one process imports what is asked for, starts no thread,
computes nothing, and forks a child per worker: as fresh as a new process, but there in milliseconds.

    parent  --- "fork" with three files, "wait" --->  nursery: main()  --- fork --->  worker: main()
            <-- its number, its exit status -------

The nursery reaps a worker only when it is asked to, so the number of a worker that is to be killed is still its own.
It ends with its parent, at the end of their socket. Only Linux has it: elsewhere to fork is not safe behind system
libraries, and workers are started anew, as they are for a GPU, whose driver does not survive a fork.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import importlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import traceback
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO, Any, NoReturn

IS_HERE = sys.platform == "linux"

SLICE_S = 0.05
"""How often a waiting parent looks whether it should stop."""

_MOST_BYTES = 1 << 16
"""Of one message."""


# ---------------------------------------------------------------- the parent's side
class Child:
    """A forked worker, with what callers use of a `Popen`."""

    def __init__(self, nursery: Nursery, pid: int, stdin: IO[bytes], stdout: IO[bytes]) -> None:
        self.pid, self.stdin, self.stdout = pid, stdin, stdout
        self._nursery = nursery
        self._status: int | None = None

    def kill(self) -> None:
        """End it at once."""
        if self._status is None:
            os.kill(self.pid, signal.SIGKILL)

    def wait(self) -> int:
        """Its exit status, once it has ended; the negative of a signal that ended it."""
        if self._status is None:
            try:
                self._status = int(self._nursery.ask({"do": "wait", "pid": self.pid})["status"])
            except OSError:  # the nursery was ended from outside, and its children with it
                self._status = -signal.SIGKILL
        return self._status


class Nursery:
    """A process that forks workers of one environment."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        """Start it; that takes no longer than to start a worker, and its imports come when they are asked for."""
        self._lock, self._owner = threading.Lock(), os.getpid()
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._socket.settimeout(SLICE_S)
        with theirs:
            self._process = subprocess.Popen(
                [
                    sys.executable,
                    "-c",
                    f"from prism_explore.tune.runner.fork_server import main; main({theirs.fileno()})",
                ],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env=environment,
                pass_fds=(theirs.fileno(),),
                start_new_session=True,
            )

    def ask(
        self, message: Mapping[str, Any], files: Sequence[int] = (), give_up: Callable[[], bool] = lambda: False
    ) -> dict[str, Any]:
        """Send a request, with open files, and wait for its answer.

        Raises:
            OSError: it has ended, or its answer was given up; then it is of no more use.
        """
        with self._lock:
            try:
                socket.send_fds(self._socket, [json.dumps(message).encode()], list(files))
                while (answer := self._heard()) is None:
                    if give_up():
                        raise OSError("the nursery of workers was given up")
                if not answer:
                    raise OSError("the nursery of workers has ended")
            except BaseException:
                self.close()  # interrupted while waiting, the answer would be taken for the next one's
                raise
        return json.loads(answer)

    def _heard(self) -> bytes | None:
        """What it says; None for nothing yet."""
        try:
            return self._socket.recv(_MOST_BYTES)
        except TimeoutError:
            return None

    def fork(self, imports: Sequence[str], errors: IO[bytes], give_up: Callable[[], bool]) -> Child:
        """A worker that has these imports behind it.

        Raises:
            OSError: see `ask`.
        """
        to_read, stdin = os.pipe()
        stdout, to_write = os.pipe()
        pipes = os.fdopen(stdin, "wb"), os.fdopen(stdout, "rb")
        try:
            found = self.ask({"do": "fork", "imports": list(imports)}, (to_read, to_write, errors.fileno()), give_up)
        except BaseException:
            for pipe in pipes:
                pipe.close()
            raise
        finally:
            os.close(to_read)
            os.close(to_write)
        return Child(self, int(found["pid"]), *pipes)

    def close(self) -> None:
        """End it, where this process started it; workers that it forked live on."""
        self._socket.close()
        if self._owner == os.getpid():
            self._process.kill()
            self._process.wait()


_lock = threading.Lock()
_found: tuple[object, Nursery] | None = None
"""The nursery of this process, and what it was made for."""


def fork(
    environment: Mapping[str, str],
    imports: Sequence[str],
    errors: IO[bytes],
    give_up: Callable[[], bool] = lambda: False,
) -> Child:
    """A worker of this environment; the nursery is started where there is none of it.

    Args:
        environment: of the worker.
        imports: modules that it shall have imported.
        errors: its stderr.
        give_up: asked while waiting.

    Raises:
        OSError: none could be started, or it was given up.
    """
    global _found
    made_for = os.getpid(), Path.cwd(), dict(environment)  # the socket of a parent that forked is not its child's
    with _lock:
        for again in (True, False):
            if _found is None or _found[0] != made_for:
                if _found is not None:
                    _found[1].close()
                _found = made_for, Nursery(environment)
            try:
                return _found[1].fork(imports, errors, give_up)
            except OSError:  # it was ended from outside, by whatever takes processes when memory is short
                _found = None
                if not again or give_up():
                    raise
    raise AssertionError("returned or raised")


@atexit.register
def end() -> None:
    """End the nursery of this process, where there is one; the time that its workers spent is then this process's."""
    global _found
    ended, _found = _found, None
    if ended is not None:
        ended[1].close()


# ---------------------------------------------------------------- the nursery's side
def main(descriptor: int) -> None:
    """Fork and reap for the parent, until its end of the socket is closed."""
    from prism_explore.tune.runner import worker

    with socket.socket(fileno=descriptor) as parent:
        while True:
            text, files, _, _ = socket.recv_fds(parent, _MOST_BYTES, 3)
            if not text:
                return
            request = json.loads(text)
            if request["do"] == "wait":
                _, status = os.waitpid(int(request["pid"]), 0)
                answer = {"status": os.waitstatus_to_exitcode(status)}
            else:
                for name in request["imports"]:
                    with contextlib.suppress(ImportError):  # the worker will say so, if it needs it
                        importlib.import_module(name)
                gc.freeze()  # what is here is here to stay; a collection in a child would copy its memory
                pid = os.fork()
                if pid == 0:
                    parent.close()
                    _become(worker.main, files)
                for file in files:
                    os.close(file)
                answer = {"pid": pid}
            parent.send(json.dumps(answer).encode())


def _become(work: Callable[[], None], files: Sequence[int]) -> NoReturn:
    """Be a worker: stdin, stdout and stderr are its own, and so is its group of processes."""
    try:
        os.setsid()
        for standard, file in enumerate(files):
            os.dup2(file, standard)
            os.close(file)
        work()
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(1)
