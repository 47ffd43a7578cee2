"""The rows of the benchmark of whole models: every model builds, and most of a language model is inside regions."""

import sys
from pathlib import Path

import pytest
import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks"))

pytest.importorskip("transformers")

import models
from model_zoo import MODELS, SMALL, call_of

import prism_explore as px
from prism_explore.entry.torch_partition import partition
from prism_explore.targets import target


def partitions_of(name, phase, dtype=torch.float32):
    call, found = call_of(name, phase, SMALL, dtype), []
    compiler = px.TorchCompiler(target="h100")

    def backend(module, _):
        found.append(partition(module.graph, target("h100"), {}, compiler._refused))
        return module.forward

    torch.compiler.reset()
    call.run(torch.compile(call.model, backend=backend, dynamic=False), call.arguments(dtype))
    return found


def share(cuts):
    return sum(len(c.covered) for c in cuts) / sum(len(c.computing) for c in cuts)


@pytest.mark.parametrize(
    ("name", "phase", "least"),
    [
        ("llama", "prefill16", 0.9),
        ("gpt2", "prefill16", 0.9),
        pytest.param("qwen3", "decode", 0.9, marks=pytest.mark.slow),
        pytest.param("bert", "prefill16", 0.85, marks=pytest.mark.slow),
        pytest.param("t5", "prefill16", 0.85, marks=pytest.mark.slow),
    ],
)
def test_most_computing_nodes_of_a_transformer_are_inside_regions(name, phase, least):
    cuts = partitions_of(name, phase)

    assert least <= share(cuts), [dict(c.left) for c in cuts]
    assert 1 < sum(len(c.regions) for c in cuts)


@pytest.mark.slow
def test_a_model_in_bfloat16_has_its_casts_inside_regions():
    cuts = partitions_of("llama", "prefill16", torch.bfloat16)

    assert 0.9 <= share(cuts), [dict(c.left) for c in cuts]


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
def test_every_model_builds_and_runs(name):
    row = MODELS[name]
    for phase in row.phases:
        call = call_of(name, phase, SMALL, torch.float32)
        found = call.run(call.model, call.arguments(torch.float32))
        assert torch.isfinite(found).all()


def test_a_row_is_a_line_of_the_table():
    row = models.Row(
        *("llama", "decode", "float32", 80, 72, 9, 5, 4, "kernels"),
        *(2e-6, 1e-6, 1e-3, 2e-3, 1.5e-3, 2.0, 1.5, 20.0, 3.0, (), ""),
    )

    line = models.table([row]).splitlines()[-1]
    assert "| llama, decode | 90% of 80 | 9 / 5 / 4 | 2.00 | 1.00 ms | 1.50x | 2.00x | kernels | 20 s, 3 s |" == line


def test_a_results_file_has_a_line_per_row_and_failure_and_is_continued(tmp_path, monkeypatch, capsys):
    row = models.Row(
        *("bert", "prefill16", "float32", 80, 72, 9, 5, 4, "kernels"),
        *(2e-6, 1e-6, 1e-3, 2e-3, 1.5e-3, 2.0, 1.5, 20.0, None, (("embedding", "int64"),), ""),
    )
    asked = []

    def measured(name, phase, options, limit_s):
        asked.append(phase)
        return row if phase == "prefill16" else "row: not ready after 1 s"

    out = tmp_path / "rows.jsonl"
    monkeypatch.setattr(models, "measure_apart", measured)
    monkeypatch.setattr(sys, "argv", ["models.py", "--models", "bert", "--out", str(out)])
    models.main()
    models.main()

    assert ["prefill16", "prefill128", "prefill128"] == asked
    assert [row] == models.read_rows(out)
    assert 4 == len(out.read_text().splitlines())
    assert "bert, prefill128 failed: row: not ready after 1 s" in capsys.readouterr().out


def test_a_row_that_takes_too_long_is_ended_and_says_so():
    assert "row: not ready after 0 s" == models.measure_apart("bert", "prefill16", ["--small"], 0.1)
