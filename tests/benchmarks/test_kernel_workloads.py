"""The rows of the kernel benchmark, the table of a results file, and the message without a GPU."""

from __future__ import annotations

import json
import time
from math import prod
from pathlib import Path
from typing import Any

import pytest

from benchmarks import tvm_baseline
from benchmarks.kernel_time import _measure_other_share, main, row_summary
from benchmarks.kernel_workloads import ROWS, Row, decode_row, linear_row, quantized_row, select_rows
from prism_explore.events.fastest import EAGER, LIBRARY, OURS, ROOFLINE


def test_every_row_has_a_name_of_its_own() -> None:
    assert len(ROWS) == len({row.name for row in ROWS})


def test_rows_are_selected_by_name_by_beginning_and_by_group() -> None:
    assert ["W1.8"] == [r.name for r in select_rows(["W1.8"])]
    assert ["W3.1.8192", "W3.8.2048"] == [r.name for r in select_rows(["W3"])]
    assert 19 == len(select_rows(["reported"]))
    with pytest.raises(ValueError, match="no row 'W9'"):
        select_rows(["W9"])


@pytest.mark.parametrize("row", [decode_row("W3", 2, 24), decode_row("W4", 1, 24)], ids=lambda row: row.name)
def test_the_library_call_computes_the_same_attention(row: Row) -> None:
    import torch

    inputs = [torch.randn([d.value(row.at) for d in t.dims]) for t in row.inputs.values()]
    assert row.library_call is not None

    torch.testing.assert_close(row.library_call(*inputs), row.code(*inputs))


@pytest.mark.parametrize("kind", ["Q8", "Q8g", "Q4"])
def test_a_quantized_row_is_a_linear_layer_of_whole_numbers(kind: str) -> None:
    import torch

    row, draw = quantized_row(kind, 2, 128), torch.Generator().manual_seed(0)
    at = {name: [d.value(row.at) for d in t.dims] for name, t in row.inputs.items()}
    ranges = {"i8": (-128, 128, torch.int8), "u8": (0, 256, torch.uint8)}
    inputs = {
        name: torch.randint(*ranges[t.dtype][:2], at[name], dtype=ranges[t.dtype][2], generator=draw)
        if t.dtype in ranges
        else torch.randn(at[name], generator=draw)
        for name, t in row.inputs.items()
    }
    x, w, s = inputs["x"], inputs["w"].int(), inputs["s"]
    numbers = torch.stack([w % 16, w // 16], -1).reshape(128, 128) if kind == "Q4" else w
    zeros = inputs["z"].repeat_interleave(64, 1).int() if kind == "Q4" else 0
    scales = s[:, None] if kind == "Q8" else s.repeat_interleave(64, 1)
    expected = x @ ((numbers - zeros) * scales).T

    torch.testing.assert_close(row.code(*inputs.values()), expected, rtol=1e-4, atol=1e-3)
    if row.library_call is not None:
        torch.testing.assert_close(row.library_call(*inputs.values()), expected, rtol=1e-4, atol=1e-3)


def test_rmsnorm_and_a_gated_mlp_are_computed_one_after_the_other() -> None:
    import torch

    row = linear_row("W2n", 3, 32)
    x, g, gate, up = (torch.randn([d.value(row.at) for d in t.dims]) for t in row.inputs.values())
    y = x / torch.sqrt((x * x).mean(-1, keepdim=True) + 1e-5) * g

    torch.testing.assert_close(torch.nn.functional.silu(y @ gate.T) * (y @ up.T), row.code(x, g, gate, up))


def test_the_bytes_of_a_bfloat16_row_are_half_of_those_in_float32() -> None:
    def size(row: Row) -> int:
        return sum(prod(d.value(row.at) for d in t.dims) * {"f32": 4, "bf16": 2}[t.dtype] for t in row.inputs.values())

    assert size(linear_row("W1", 8)) == 2 * size(linear_row("W1bf", 8))


def _timed(name: str, ratio: float, samples: int = 24) -> dict[str, Any]:
    return {
        "name": name,
        "ratio": ratio,
        "ratio_p25": ratio,
        "ratio_p75": ratio,
        "time_s": 1e-3 * ratio,
        "samples": samples,
    }


def test_the_best_other_is_the_fastest_baseline() -> None:
    rows = [
        _timed(OURS, 1.0),
        _timed(EAGER, 3.0),
        _timed(LIBRARY, 1.5),
        _timed("absent", 0.0, 0),
        _timed(ROOFLINE, 0.9),
    ]
    found = row_summary(rows)

    assert found is not None
    assert (LIBRARY, 1.5, 0.9) == (found["best"], found["ratio"], found["limit"])
    assert None is row_summary([_timed(OURS, 1.0), _timed(EAGER, 0.0, 0)])


def test_the_table_of_a_file_has_the_geometric_means(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "two.json"
    compared = {
        n: {"date": "then", "rows": [_timed(OURS, 1.0), _timed(EAGER, r)]} for n, r in (("W1.1", 2.0), ("W1.8", 8.0))
    }
    rows = {name: {"compare": done} for name, done in compared.items()}
    path.write_text(json.dumps({"machine": "a machine", "versions": {}, "absent": {"tvm": "not here"}, "rows": rows}))

    main(["--table", "--json", str(path)])

    output = capsys.readouterr().out
    assert "reported: geometric mean 4.00 over 2 of 19 rows, least 2.00" in output
    assert "tvm: not here" in output


def test_a_disturbed_row_is_shown_and_not_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "spread.json"
    spread = {**_timed(EAGER, 4.0), "ratio_p25": 2.0, "ratio_p75": 8.0}
    rows = {"W1.1": [_timed(OURS, 1.0), _timed(EAGER, 3.0)], "W1.8": [_timed(OURS, 1.0), spread]}
    plain = {name: {"compare": {"date": "then", "rows": found}} for name, found in rows.items()}
    path.write_text(json.dumps({"machine": "a machine", "versions": {}, "rows": plain}))

    main(["--table", "--json", str(path)])

    output = capsys.readouterr().out
    assert "geometric mean 3.00 over 1 of 19 rows" in output
    assert ["W1.8"] == [line.split()[0] for line in output.splitlines() if line.endswith("DISTURBED, not counted")]


def test_a_row_is_disturbed_if_other_processes_used_the_cores() -> None:
    rows = [_timed(OURS, 1.0), _timed(EAGER, 3.0)]
    alone, shared, unknown = (row_summary(rows, others) for others in (0.02, 0.3, None))

    assert alone is not None and shared is not None and unknown is not None
    assert [False, True, False] == [found["disturbed"] for found in (alone, shared, unknown)]


def test_the_share_of_other_processes_is_between_0_and_1() -> None:
    end = _measure_other_share()
    time.sleep(0.05)
    found = end()

    assert found is None or 0.0 <= found <= 1.0


def test_without_a_gpu_the_reason_is_printed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("benchmarks.kernel_time._no_gpu_reason", lambda: "no GPU is here")
    path = tmp_path / "none.json"

    main(["--target", "cuda", "--json", str(path)])

    assert "--target cuda: no GPU is here; nothing was measured\n" == capsys.readouterr().out
    assert not path.exists()


def test_inputs_of_tvm_are_in_storage_order() -> None:
    import torch

    class Layer(torch.nn.Module):
        def forward(self, x: Any, w: Any) -> Any:
            return x @ w

    x, w = torch.randn(3, 8), torch.randn(5, 8).t()
    exported = torch.export.export(Layer(), (x, w))
    stored, orders = tvm_baseline.to_storage_order(exported)
    given = [t.permute(order) for t, order in zip((x, w), orders, strict=True)]

    assert [(0, 1), (1, 0)] == orders
    assert all(t.is_contiguous() for t in given)
    torch.testing.assert_close(x @ w, stored.module()(*given))
