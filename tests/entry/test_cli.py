"""The command line: a list, a story, JSON, and errors that name what was asked."""

import gc
import json

import pytest

from prism_explore import targets
from prism_explore.entry import cli
from prism_explore.errors import ShapeError
from prism_explore.frontend import workloads
from prism_explore.ir.tensors import tensor as T
from prism_explore.search import early_start
from prism_explore.session.search_cache import FOLDER_VARIABLE


@pytest.fixture
def tiny(monkeypatch):
    row = workloads.workload("rmsnorm_linear")
    small = workloads.Workload(
        row.name, row.description, row.code, {"x": T("b", 32), "g": T(32), "w": T(32, 48)}, {"b": 3}, row.source
    )
    monkeypatch.setattr(workloads, "WORKLOADS", (small,))
    yield
    gc.unfreeze()  # what the command keeps for the rest of its process, other tests do not


def test_the_workloads_are_listed(capsys):
    assert 0 == cli.main(["list"])

    assert "rmsnorm_linear" in capsys.readouterr().out


def test_an_unknown_workload_is_named_with_those_that_exist(capsys):
    assert 2 == cli.main(["run", "softmax_of_doom"])

    assert "no workload 'softmax_of_doom'; there are rmsnorm_linear" in capsys.readouterr().err


def test_a_number_that_is_none_is_named(capsys):
    assert 2 == cli.main(["run", "rmsnorm_linear", "--at", "b=many"])

    assert "found 'b=many'" in capsys.readouterr().err


def test_an_unknown_machine_is_named(capsys, tiny):
    assert 2 == cli.main(["run", "rmsnorm_linear", "--target", "abacus"])

    assert "abacus" in capsys.readouterr().err


def test_a_machine_is_measured_before_imports_of_workers_disturb_that(capsys, tiny, monkeypatch):
    calls = []

    def traced(*_, **__):
        calls.append("trace")
        raise ShapeError("made up")

    measured = targets.target("cpu")
    monkeypatch.setattr("prism_explore.session.options.target", lambda name: calls.append(name) or measured)
    monkeypatch.setattr(early_start, "start_fork_servers", lambda _: calls.append("imports"))
    monkeypatch.setattr("prism_explore.session.new_task.trace", traced)

    assert 2 == cli.main(["run", "rmsnorm_linear", "--no-cache"])
    assert ["cpu", "imports", "trace"] == calls


@pytest.mark.slow
def test_a_run_tells_its_story_and_again_as_json_from_the_cache(capsys, tiny, tmp_path, monkeypatch):
    started: list[object] = []
    monkeypatch.setattr(early_start, "start_fork_servers", started.append)
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path / "cache"))
    script = tmp_path / "kernel.py"
    assert 0 == cli.main(["run", "rmsnorm_linear", "--trials", "2", "--triton", "--triton-file", str(script)])
    assert "@triton.autotune" in script.read_text()

    told = capsys.readouterr().out
    for part in ("rmsnorm_linear on cpu at b=3", "pruned, by reason", "families", "fastest trials", "torch eager"):
        assert part in told
    assert "lemmas replayed in egglog" in told
    assert "for all positive integers" in told
    assert "on sm_80" in told
    assert "on sm_90" in told
    assert "@triton.jit" in told
    assert "Best of the" in told

    file = tmp_path / "run.prism"
    assert 0 == cli.main(["run", "rmsnorm_linear", "--json", "--trials", "2", "--save", str(file)])

    assert 1 == len(started)  # what workers need is imported early, but not where the answer is stored
    found = json.loads(capsys.readouterr().out)
    assert found["program"] == "rmsnorm_linear"
    assert found["funnel"]["proved"] > 0
    assert found["best"]["error"] < 1e-4
    assert found["claim"].startswith("Best of")
    assert {r["name"] for r in found["best"]["rivals"]} >= {"ours", "torch eager", "roofline"}
    assert "Verdicts and times are those of a search that was stored" in found["claim"]
    assert file.exists()
