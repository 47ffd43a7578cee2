"""A function that was traced before is read from the cache, as the same program."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

import prism_explore as px
from prism_explore.frontend import trace
from prism_explore.frontend.workloads import WORKLOADS, workload
from prism_explore.session import new_task
from prism_explore.session.search_cache import FOLDER_VARIABLE, SearchCache
from prism_explore.session.small_files import TRACES
from prism_explore.session.trace_cache import TraceCache
from tests.session.test_session import machine

X = {"x": px.T("b", 8)}


def doubled(x: Any) -> Any:
    return x + x


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path))
    return tmp_path


def no_trace(*_: object) -> Any:
    pytest.fail("the function is traced again")


@pytest.mark.parametrize("name", [row.name for row in WORKLOADS][::8])
def test_a_stored_trace_is_that_of_torch(name: str, tmp_path: Path) -> None:
    row = workload(name)
    traced, cache = trace(row.code, row.inputs, row.name), TraceCache(tmp_path)
    cache.store(traced, row.code, row.inputs, row.name)

    assert traced == cache.find(row.code, row.inputs, row.name)


def test_a_second_session_does_not_trace(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = px.Session(doubled, inputs=X, target=machine())
    monkeypatch.setattr(new_task, "trace", no_trace)
    second = px.Session(doubled, inputs=X, target=machine())

    assert first.task.reference == second.task.reference
    assert 1 == len(list(folder.glob(f"*{TRACES}")))


@pytest.mark.parametrize(
    ("inputs", "name"), [({"x": px.T("b", 16)}, None), ({"x": px.T("b", 8, dtype="bf16")}, None), (X, "twice")]
)
def test_other_inputs_or_another_name_are_traced(tmp_path: Path, inputs: Any, name: str | None) -> None:
    cache = TraceCache(tmp_path)
    cache.store(trace(doubled, X, None), doubled, X, None)

    assert cache.find(doubled, X, None) is not None
    assert cache.find(doubled, inputs, name) is None


def test_a_module_is_traced_each_time(tmp_path: Path) -> None:
    module, cache = torch.nn.Linear(8, 8), TraceCache(tmp_path)
    inputs = {"input": px.T("b", 8)}
    cache.store(trace(module, inputs), module, inputs, None)

    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("damage", ["", "[1, 2]", '["program x", [], [], ""]', "[[], 1, 2, 3]"])
def test_a_damaged_file_is_written_anew(folder: Path, damage: str) -> None:
    px.Session(doubled, inputs=X, target=machine())
    (path,) = folder.glob(f"*{TRACES}")
    good = path.read_text()
    path.write_text(damage)
    px.Session(doubled, inputs=X, target=machine())

    assert good == path.read_text()


def test_without_the_cache_nothing_is_stored_and_clearing_deletes_traces(folder: Path) -> None:
    px.Session(doubled, inputs=X, target=machine(), cache=False)
    assert not list(folder.iterdir())
    px.Session(doubled, inputs=X, target=machine())
    assert 1 == SearchCache(folder).clear()
    assert not list(folder.iterdir())


def test_a_folder_that_cannot_be_written_does_no_harm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path / "file" / "folder"))

    assert px.Session(doubled, inputs=X, target=machine()).program.name == "doubled"


def test_a_stored_trace_needs_no_torch(folder: Path) -> None:
    row = workload("rmsnorm_linear")
    TraceCache(folder).store(trace(row.code, row.inputs, row.name), row.code, row.inputs, row.name)
    code = (
        "import sys, prism_explore as px; from prism_explore.frontend.workloads import workload; "
        "row = workload('rmsnorm_linear'); s = px.Session(row.code, name=row.name, inputs=row.inputs, target='h100'); "
        "sys.exit('torch' in sys.modules)"
    )
    assert 0 == subprocess.run([sys.executable, "-c", code], check=False).returncode
