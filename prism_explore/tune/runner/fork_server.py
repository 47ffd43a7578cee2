"""Fork server: a process that imports slow modules once and forks a worker from itself for each request.

A worker that times baselines imports torch and torch.export, which takes about 3 s: longer than measuring a small
program. The fork server imports the requested modules, lets them set up what they will need, starts no thread and runs
no kernel. A child forked from it is
in the same state as a new process, but starts within milliseconds.

    parent  --- "fork" with three file descriptors, "wait" --->  main()  --- fork --->  worker: serve.main()
            <-- process id, exit status -----------------------

The server reaps a worker only when the parent requests it, so the process id of a worker that is to be killed is not
reused. The server ends with its parent, when their socket closes, also while it imports. It is used on Linux only:
elsewhere a fork is unsafe with system libraries, and for a GPU the driver does not survive a fork; workers are then
started as new processes.

There are two: one for workers that import nothing more and are forked at once, and one for the others. The second and
its workers can be stopped for a moment (`stopped`) while a kernel is timed, and it can be held (`hold`) until the first
kernel was. If the parent dies meanwhile, the first server lets them continue, so that they notice it and end, and
deletes folders that only the parent's end deletes otherwise (`delete_at_the_end`).
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import importlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import traceback
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, NoReturn

from prism_explore.targets.cpus import cores
from prism_explore.tune.runner import serve

IS_SUPPORTED = sys.platform == "linux"

POLL_S = 0.05
"""Interval at which a waiting parent checks whether it should stop."""

_MESSAGE_BYTES = 1 << 16
"""Largest size of a message."""

_NUMPY_THREADS = "OPENBLAS_NUM_THREADS"
"""The environment variable with the threads of NumPy's matrix products, which compute references while a search runs on
another core. Threads that share a core wait for each other: products of two cores took twice the processor time."""

_NEEDED_BY_ALL = ("prism_explore.codegen.load",)
"""What every worker imports, to load kernels."""

_done: set[str] = set()
"""What this process has imported and called as a server."""


# ---------------------------------------------------------------- in the parent
class Child:
    """A forked worker, with the part of `Popen`'s interface that callers use."""

    def __init__(self, server: ForkServer, pid: int, stdin: IO[bytes], stdout: IO[bytes]) -> None:
        self.pid, self.stdin, self.stdout = pid, stdin, stdout
        self._server = server
        self._status: int | None = None

    def kill(self) -> None:
        """Kill it at once."""
        if self._status is None:
            os.kill(self.pid, signal.SIGKILL)

    def wait(self) -> int:
        """Its exit status after it has ended; negative for a signal."""
        if self._status is None:
            signal_group(self._server.pid, signal.SIGCONT)  # its own timing, in which it died, had stopped the server
            try:
                self._status = int(self._server.request({"do": "wait", "pid": self.pid})["status"])
            except OSError:  # something else ended the server, and its children with it
                self._status = -signal.SIGKILL
        return self._status


class ForkServer:
    """The connection to a process that forks workers with one environment."""

    def __init__(
        self, environment: Mapping[str, str], imports: Sequence[str] = (), to_continue: Sequence[int] = ()
    ) -> None:
        """Start the process.

        Args:
            environment: of the process and its workers.
            imports: modules that it imports at once; it imports others when they are first requested.
            to_continue: process groups that continue when this process has ended.
        """
        self._lock, self._owner = threading.Lock(), os.getpid()
        self._socket, server_end = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._socket.settimeout(POLL_S)
        own = environment.get(_NUMPY_THREADS)
        call = f"main({server_end.fileno()}, {list(imports)!r}, {list(to_continue)!r}, {own!r})"
        with server_end:
            self._process = subprocess.Popen(
                [sys.executable, "-c", f"from prism_explore.tune.runner.fork_server import main; {call}"],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env={**environment, _NUMPY_THREADS: own or str(max(1, cores() - 1))},
                pass_fds=(server_end.fileno(),),
                start_new_session=True,
            )

    def request(
        self, message: Mapping[str, Any], files: Sequence[int] = (), give_up: Callable[[], bool] = lambda: False
    ) -> dict[str, Any]:
        """Send a request with open files, and wait for the answer.

        Raises:
            OSError: the server has ended, or `give_up` returned True; the server cannot be used any more.
        """
        with self._lock:
            try:
                socket.send_fds(self._socket, [json.dumps(message).encode()], list(files))
                while (answer := self._receive()) is None:
                    if give_up():
                        raise OSError("stopped waiting for the fork server")
                if answer == b"":
                    raise OSError("the fork server has ended")
            except BaseException:
                self.close()  # a late answer would be taken for that of the next request
                raise
        return json.loads(answer)

    def _receive(self) -> bytes | None:
        """A message; None if there is none yet."""
        try:
            return self._socket.recv(_MESSAGE_BYTES)
        except TimeoutError:
            return None

    @property
    def pid(self) -> int:
        """The id of its process, which leads a process group."""
        return self._process.pid

    def fork(self, imports: Sequence[str], stderr: IO[bytes], give_up: Callable[[], bool]) -> Child:
        """Fork a worker that has imported these modules.

        Raises:
            OSError: see `request`.
        """
        to_read, stdin = os.pipe()
        stdout, to_write = os.pipe()
        pipes = os.fdopen(stdin, "wb"), os.fdopen(stdout, "rb")
        try:
            request = {"do": "fork", "imports": list(imports)}
            found = self.request(request, (to_read, to_write, stderr.fileno()), give_up)
        except BaseException:
            for pipe in pipes:
                pipe.close()
            raise
        finally:
            os.close(to_read)
            os.close(to_write)
        return Child(self, int(found["pid"]), *pipes)

    def close(self) -> None:
        """End the server if this process started it; its workers keep running."""
        self._socket.close()
        if self._owner == os.getpid():
            self._process.kill()
            self._process.wait()


_lock = threading.Lock()
_key: tuple[int, Path, dict[str, str]] | None = None
"""The process, folder and environment that the fork servers of this process were started for."""
_servers: dict[bool, ForkServer] = {}
"""The fork servers: whether they import anything."""


def fork(
    environment: Mapping[str, str],
    imports: Sequence[str],
    stderr: IO[bytes],
    give_up: Callable[[], bool] = lambda: False,
) -> Child:
    """Fork a worker with this environment; start a fork server if there is none for it.

    Args:
        environment: of the worker.
        imports: modules that are imported before the fork.
        stderr: the worker's stderr.
        give_up: called while waiting.

    Raises:
        OSError: no worker could be started, or `give_up` returned True.
    """
    for may_retry in (True, False):
        server = _server(environment, imports)
        try:
            if imports:
                _continue_at_the_end(environment, server.pid)
            child = server.fork(imports, stderr, give_up)
            if imports:
                _continue_at_the_end(environment, child.pid)
            return child
        except OSError:  # something else ended the server, such as the out-of-memory killer
            with _lock:
                if _servers.get(bool(imports)) is server:
                    del _servers[bool(imports)]
            if not may_retry or give_up():
                raise
    raise AssertionError("returned or raised")


def start(environment: Mapping[str, str], imports: Sequence[str]) -> None:
    """Start both fork servers unless there are some, and return while they import; workers are forked from them later.

    Args:
        environment: of the workers.
        imports: modules that the second server imports; there is no second one without any.
    """
    if _servers and _key is not None and _key[0] == os.getpid():
        return
    with contextlib.suppress(OSError):  # the first worker reports it
        importing = [_server(environment, imports).pid] if imports else []
        _server(environment, (), importing)


def _server(environment: Mapping[str, str], imports: Sequence[str], to_continue: Sequence[int] = ()) -> ForkServer:
    global _key
    key = os.getpid(), Path.cwd(), dict(environment)  # a forked process does not use its parent's socket
    with _lock:
        if _key != key:
            for server in _servers.values():
                server.close()
            _servers.clear()
            _key = key
        with_imports = bool(imports)
        if with_imports not in _servers:
            _servers[with_imports] = ForkServer(environment, imports, to_continue)
        return _servers[with_imports]


def _continue_at_the_end(environment: Mapping[str, str], pid: int) -> None:
    """Let the first server continue this process group when this process has ended."""
    with contextlib.suppress(OSError):  # it has ended; the group is then not stopped in the moment that this one dies
        _server(environment, ()).request({"do": "continue at the end", "pid": pid})


def delete_at_the_end(environment: Mapping[str, str], folder: str) -> None:
    """Have the first server delete a folder when this process has ended, also where it was killed.

    Args:
        environment: of the workers.
        folder: with its files.
    """
    with contextlib.suppress(OSError):  # no server can be started; the folder then stays if this process is killed
        _server(environment, ()).request({"do": "delete at the end", "folder": folder})


def hold() -> None:
    """Stop the server that imports, if there is one, until `release`, or until the end of a `stopped` block."""
    _signal_importing(signal.SIGSTOP)


def release() -> None:
    """Let the server that imports continue."""
    _signal_importing(signal.SIGCONT)


def _signal_importing(number: signal.Signals) -> None:
    with _lock:
        server = _servers.get(True)
    if server is not None:
        signal_group(server.pid, number)


@contextlib.contextmanager
def stopped(pid: int | None) -> Generator[None]:
    """Stop the server that imports, and the process group of its worker `pid` if there is one.

    They get no processor time meanwhile. Workers that import nothing are not affected.
    """
    with _lock:
        server = _servers.get(True)
    groups = [p for p in (None if server is None else server.pid, pid) if p is not None]
    try:
        for group in groups:
            signal_group(group, signal.SIGSTOP)
        yield
    finally:
        for group in groups:
            signal_group(group, signal.SIGCONT)


def signal_group(pid: int, number: signal.Signals) -> None:
    """Send a signal to a process group, if it still exists."""
    with contextlib.suppress(OSError):  # it has ended
        os.killpg(pid, number)


@atexit.register
def end() -> None:
    """End the fork servers; the time of their workers then counts as that of this process's children."""
    with _lock:
        ended = tuple(_servers.values())
        _servers.clear()
    for server in ended:
        server.close()


# ---------------------------------------------------------------- in the fork server
def main(
    descriptor: int, imports: Sequence[str] = (), at_the_end: Sequence[int] = (), blas_threads: str | None = None
) -> None:
    """Import these modules, then fork and reap for the parent until it closes the socket.

    Args:
        descriptor: of the socket.
        imports: names of modules, and `module:function` of what is called without arguments.
        at_the_end: process groups that continue then.
        blas_threads: the value of OPENBLAS_NUM_THREADS that libraries other than NumPy read, such as torch's; NumPy has
            read another one when it was imported with this module.
    """
    os.environ.pop(_NUMPY_THREADS, None)
    if blas_threads is not None:
        os.environ[_NUMPY_THREADS] = blas_threads
    gc.disable()  # modules are kept, and collecting among them takes a third of the time of importing torch
    duties = _Duties(set(at_the_end), set())
    with socket.socket(fileno=descriptor) as parent:
        _import((*_NEEDED_BY_ALL, *imports), parent, duties)
        while True:
            text, files, _, _ = socket.recv_fds(parent, _MESSAGE_BYTES, 3)
            if not text:
                duties.fulfil()
                return
            request = json.loads(text)
            if request["do"] == "wait":
                _, status = os.waitpid(int(request["pid"]), 0)
                answer = {"status": os.waitstatus_to_exitcode(status)}
            elif request["do"] == "fork":
                _import(request["imports"], parent, duties)
                gc.freeze()  # a collection in a child would copy memory pages that it shares with this process
                pid = os.fork()
                if pid == 0:
                    parent.close()
                    _run_worker(serve.main, files)
                for file in files:
                    os.close(file)
                answer = {"pid": pid}
            else:
                duties.add(request)
                answer = {}
            with contextlib.suppress(OSError):  # it was killed meanwhile: the next message is the end
                parent.send(json.dumps(answer).encode())


@dataclass(frozen=True, slots=True)
class _Duties:
    """What a server does when its parent has ended."""

    to_continue: set[int]
    """Process groups."""
    to_delete: set[str]
    """Folders."""

    def add(self, request: Mapping[str, Any]) -> None:
        if request["do"] == "continue at the end":
            self.to_continue.add(int(request["pid"]))
        elif request["do"] == "delete at the end":
            self.to_delete.add(str(request["folder"]))

    def fulfil(self) -> None:
        for pid in self.to_continue:
            signal_group(pid, signal.SIGCONT)
        for folder in self.to_delete:
            shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def _ended_with_parent(parent: socket.socket, duties: _Duties) -> Generator[None]:
    """End at once if the parent ends inside the block: to import torch can take half a minute on a busy machine."""
    import fcntl
    import select

    poll = select.poll()
    poll.register(parent, select.POLLRDHUP)

    def look(*_: object) -> None:
        if poll.poll(0):
            while text := parent.recv(_MESSAGE_BYTES):
                duties.add(json.loads(text))
            duties.fulfil()
            os._exit(0)

    flags, before = fcntl.fcntl(parent, fcntl.F_GETFL), signal.signal(signal.SIGIO, look)
    signal.siginterrupt(signal.SIGIO, False)  # libraries do not expect that their system calls end early
    fcntl.fcntl(parent, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(parent, fcntl.F_SETFL, flags | os.O_ASYNC)
    look()
    try:
        yield
    finally:
        fcntl.fcntl(parent, fcntl.F_SETFL, flags)
        signal.signal(signal.SIGIO, before)


def _import(names: Sequence[str], parent: socket.socket, duties: _Duties) -> None:
    with _ended_with_parent(parent, duties):
        for name in names:
            if name in _done:
                continue
            _done.add(name)
            module, _, function = name.partition(":")
            with contextlib.suppress(Exception):  # the worker reports it, if it needs the module
                found = importlib.import_module(module)
                if function:
                    getattr(found, function)()


def _run_worker(work: Callable[[], None], files: Sequence[int]) -> NoReturn:
    """Run as a worker, with its own stdin, stdout, stderr and process group."""
    try:
        gc.enable()
        os.setsid()
        for standard, file in enumerate(files):
            os.dup2(file, standard)
            os.close(file)
        work()
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(1)
