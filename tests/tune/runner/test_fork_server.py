"""The fork server: forked workers have its imports and behave like new processes."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from pathlib import Path

import pytest
import setuptools
from torch._inductor.runtime import cache_dir_utils

from prism_explore.session.search_cache import FOLDER_VARIABLE
from prism_explore.tune.runner import fork_server
from prism_explore.tune.runner.bench import CheckPassed, Failure
from prism_explore.tune.runner.worker import Worker, start_fork_servers
from tests.tune.runner.test_worker import GOOD, is_alive, make
from tests.tune.toys import TOY, rmsnorm_linear

pytestmark = pytest.mark.skipif(not fork_server.IS_SUPPORTED, reason="workers are forked on Linux only")


def parent_of(worker: Worker) -> int:
    assert worker.pid is not None
    return int(Path(f"/proc/{worker.pid}/stat").read_text().rpartition(")")[2].split()[1])


def test_workers_have_one_parent_which_is_not_this_process() -> None:
    with make() as first, make() as second:
        assert isinstance(first.check("u1", GOOD), CheckPassed)
        assert isinstance(second.check("u1", GOOD), CheckPassed)

        assert parent_of(first) == parent_of(second) != os.getpid()
        assert first.pid != second.pid


def test_a_worker_of_another_environment_has_another_parent(monkeypatch: pytest.MonkeyPatch) -> None:
    with make() as first, make() as second:
        first.check("u1", GOOD)
        before = parent_of(first)
        monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", "/tmp/another")
        assert isinstance(second.check("u1", GOOD), CheckPassed)

        assert before != parent_of(second)
        assert isinstance(first.check("u2", GOOD), CheckPassed)  # it outlives its parent


def test_the_phase_of_a_test_and_the_folder_of_stored_searches_are_not_of_the_environment(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    parents: set[int] = set()
    for name in ("first", "second"):
        monkeypatch.setenv("PYTEST_CURRENT_TEST", name)
        monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path / name))
        with make() as worker:
            worker.check("u1", GOOD)
            parents.add(parent_of(worker))

    assert 1 == len(parents)


def test_what_torchs_compiler_sets_in_this_process_is_not_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    with make() as worker:
        worker.check("u1", GOOD)
        before = parent_of(worker)
    monkeypatch.setenv("_TORCHINDUCTOR_PYOBJECT_TENSOR_DATA_PTR", "140544102288416")  # an address in this process
    monkeypatch.setattr(sys, "path", [*sys.path, str(Path(setuptools.__file__).parent / "_vendor")])
    with make() as worker:
        worker.check("u1", GOOD)
        assert parent_of(worker) == before


def test_where_the_parent_was_killed_there_is_another_one() -> None:
    with make() as worker:
        worker.check("u1", GOOD)
        os.kill(parent_of(worker), signal.SIGKILL)
    with make() as worker:
        assert isinstance(worker.check("u1", GOOD), CheckPassed)
        assert parent_of(worker) != os.getpid()


def test_what_a_worker_needs_is_imported_once_before_it_is_forked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = tmp_path / "said"
    text = f"import os\nwith open({str(said)!r}, 'a') as file:\n    file.write(f'{{os.getpid()}} ')\n"
    (tmp_path / "heavy_to_import.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    parents: set[int] = set()
    for _ in range(2):
        imports = ("no_such_module", "heavy_to_import")
        with Worker(rmsnorm_linear(), {"b": 4}, TOY, "tests.tune.toys:load", imports=imports) as worker:
            assert isinstance(worker.check("u1", GOOD), CheckPassed)
            parents.add(parent_of(worker))

    assert [*map(str, parents)] == said.read_text().split()


@pytest.mark.parametrize("own", [{}, {"OPENBLAS_NUM_THREADS": "3"}])
def test_numpy_leaves_a_core_to_the_search_and_other_libraries_read_what_the_user_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, own: dict[str, str]
) -> None:
    said = tmp_path / "said"
    text = f"import os\nopen({str(said)!r}, 'w').write(os.environ.get('OPENBLAS_NUM_THREADS', 'unset'))\n"
    (tmp_path / "other_library.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(fork_server, "cores", lambda: 8)
    imports = ("other_library",)
    with Worker(rmsnorm_linear(), {"b": 4}, TOY, "tests.tune.toys:load", imports=imports, threads=own) as worker:
        assert isinstance(worker.check("u1", GOOD), CheckPassed)
        at_start = Path(f"/proc/{parent_of(worker)}/environ").read_text().split("\0")

    assert f"OPENBLAS_NUM_THREADS={'3' if own else '7'}" in at_start
    assert said.read_text() == ("3" if own else "unset")


def test_servers_that_were_started_early_fork_the_workers_also_after_torch_was_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = tmp_path / "said"
    (tmp_path / "imported_early.py").write_text(f"import os\nopen({str(said)!r}, 'w').write(str(os.getpid()))\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delenv("TORCHINDUCTOR_CACHE_DIR", raising=False)
    start_fork_servers(("imported_early",))
    cache_dir_utils.cache_dir()  # importing torch's compiler calls it, which sets an environment variable
    with Worker(rmsnorm_linear(), {"b": 4}, TOY, "tests.tune.toys:load", imports=("imported_early",)) as worker:
        assert isinstance(worker.check("u1", GOOD), CheckPassed)

        assert str(parent_of(worker)) == said.read_text()


def test_stopping_does_not_wait_for_imports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "slow_to_import.py").write_text("import time\ntime.sleep(60)\n")
    monkeypatch.syspath_prepend(tmp_path)
    began = time.monotonic()
    with Worker(
        rmsnorm_linear(),
        {"b": 4},
        TOY,
        "tests.tune.toys:load",
        stop=lambda: time.monotonic() - began > 0.5,
        imports=("slow_to_import",),
    ) as worker:
        found = worker.check("u1", GOOD)

    assert isinstance(found, Failure)
    assert "tune.cancelled" == found.code
    assert time.monotonic() - began < 30


def test_a_worker_that_dies_while_the_server_is_stopped_is_reaped(tmp_path: Path) -> None:
    with make() as worker, (tmp_path / "stderr").open("wb") as stderr:
        worker.check("u1", GOOD)
        child = fork_server.fork(dict(os.environ), ("json",), stderr)
        with fork_server.stopped(child.pid):
            child.kill()
            ended = threading.Thread(target=child.wait, daemon=True)
            ended.start()
            ended.join(20)

            assert not ended.is_alive()
    fork_server.end()


def test_a_worker_ends_with_what_it_started() -> None:
    with make() as worker:
        worker.check("u1", GOOD)
        pid = worker.pid
        assert pid is not None
        assert pid == os.getpgid(pid)
        assert os.getpgid(0) != os.getpgid(pid) != os.getpgid(parent_of(worker))

    assert not is_alive(pid)


def test_a_server_that_imports_ends_with_its_parent_and_deletes_what_it_was_told_to(tmp_path: Path) -> None:
    (tmp_path / "slow_module.py").write_text(f"open({str(tmp_path / 'began')!r}, 'w')\nimport time\ntime.sleep(600)\n")
    (tmp_path / "folder").mkdir()
    path = os.pathsep.join((str(tmp_path), *filter(None, (os.environ.get("PYTHONPATH"),))))
    server = fork_server.ForkServer({**os.environ, "PYTHONPATH": path}, ["slow_module"])
    until_s = time.monotonic() + 60.0
    while not (tmp_path / "began").exists() and time.monotonic() < until_s:
        time.sleep(0.01)
    server._socket.send(json.dumps({"do": "delete at the end", "folder": str(tmp_path / "folder")}).encode())
    server._socket.close()

    assert server._process.wait(timeout=30.0) == 0
    assert not (tmp_path / "folder").exists()
