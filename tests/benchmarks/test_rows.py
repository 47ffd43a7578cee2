"""The rows that kernels are judged by: what is in them, how a file of them is read, and what happens without a GPU."""

from __future__ import annotations

import json
import time
from math import prod
from pathlib import Path
from typing import Any

import pytest

from benchmarks import tvm_rival
from benchmarks.kernel_time import _share_of_others, main, standing
from benchmarks.rows import ROWS, Row, chosen, decode, linear
from prism_explore.events.fastest import EAGER, LIBRARY, OURS
from prism_explore.tune.runner.baseline_table import ROOFLINE


def test_every_row_has_a_name_of_its_own() -> None:
    assert len(ROWS) == len({row.name for row in ROWS})


def test_rows_are_chosen_by_name_by_beginning_and_by_group() -> None:
    assert ["W1.8"] == [r.name for r in chosen(["W1.8"])]
    assert ["W3.1.8192", "W3.8.2048"] == [r.name for r in chosen(["W3"])]
    assert 19 == len(chosen(["reported"]))
    with pytest.raises(ValueError, match="no row 'W9'"):
        chosen(["W9"])


@pytest.mark.parametrize("row", [decode("W3", 2, 24), decode("W4", 1, 24)], ids=lambda row: row.name)
def test_attention_spelled_out_is_what_the_library_computes(row: Row) -> None:
    import torch

    inputs = [torch.randn([d.value(row.at) for d in t.dims]) for t in row.inputs.values()]
    assert row.rival is not None

    torch.testing.assert_close(row.rival(*inputs), row.code(*inputs))


def test_a_gated_mlp_behind_a_norm_is_the_gated_mlp_of_the_normalised() -> None:
    import torch

    row = linear("W2n", 3, 32)
    x, g, gate, up = (torch.randn([d.value(row.at) for d in t.dims]) for t in row.inputs.values())
    y = x / torch.sqrt((x * x).mean(-1, keepdim=True) + 1e-5) * g

    torch.testing.assert_close(torch.nn.functional.silu(y @ gate.T) * (y @ up.T), row.code(x, g, gate, up))


def test_the_bytes_of_a_bfloat16_row_are_half_of_those_in_float32() -> None:
    def size(row: Row) -> int:
        return sum(prod(d.value(row.at) for d in t.dims) * {"f32": 4, "bf16": 2}[t.dtype] for t in row.inputs.values())

    assert size(linear("W1", 8)) == 2 * size(linear("W1bf", 8))


def _timed(name: str, ratio: float, samples: int = 24) -> dict[str, Any]:
    return {
        "name": name,
        "ratio": ratio,
        "ratio_p25": ratio,
        "ratio_p75": ratio,
        "time_s": 1e-3 * ratio,
        "samples": samples,
    }


def test_a_row_stands_by_the_fastest_of_the_others() -> None:
    rows = [
        _timed(OURS, 1.0),
        _timed(EAGER, 3.0),
        _timed(LIBRARY, 1.5),
        _timed("absent", 0.0, 0),
        _timed(ROOFLINE, 0.9),
    ]
    found = standing(rows)

    assert found is not None
    assert (LIBRARY, 1.5, 0.9) == (found["best"], found["ratio"], found["limit"])
    assert None is standing([_timed(OURS, 1.0), _timed(EAGER, 0.0, 0)])


def test_the_table_of_a_file_has_its_means(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "two.json"
    compared = {
        n: {"date": "then", "rows": [_timed(OURS, 1.0), _timed(EAGER, r)]} for n, r in (("W1.1", 2.0), ("W1.8", 8.0))
    }
    rows = {name: {"compare": done} for name, done in compared.items()}
    path.write_text(json.dumps({"machine": "a machine", "versions": {}, "absent": {"tvm": "not here"}, "rows": rows}))

    main(["--table", "--json", str(path)])

    said = capsys.readouterr().out
    assert "reported: geometric mean 4.00 over 2 of 19 rows, least 2.00" in said
    assert "tvm: not here" in said


def test_a_row_that_other_work_disturbed_is_shown_and_not_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "loud.json"
    loud = {**_timed(EAGER, 4.0), "ratio_p25": 2.0, "ratio_p75": 8.0}
    rows = {"W1.1": [_timed(OURS, 1.0), _timed(EAGER, 3.0)], "W1.8": [_timed(OURS, 1.0), loud]}
    plain = {name: {"compare": {"date": "then", "rows": found}} for name, found in rows.items()}
    path.write_text(json.dumps({"machine": "a machine", "versions": {}, "rows": plain}))

    main(["--table", "--json", str(path)])

    said = capsys.readouterr().out
    assert "geometric mean 3.00 over 1 of 19 rows" in said
    assert ["W1.8"] == [line.split()[0] for line in said.splitlines() if line.endswith("DISTURBED, not counted")]


def test_a_row_is_disturbed_where_others_had_a_share_of_the_cores() -> None:
    rows = [_timed(OURS, 1.0), _timed(EAGER, 3.0)]
    alone, shared, unknown = (standing(rows, others) for others in (0.02, 0.3, None))

    assert alone is not None and shared is not None and unknown is not None
    assert [False, True, False] == [found["disturbed"] for found in (alone, shared, unknown)]


def test_the_share_of_others_is_what_the_machine_did_and_this_process_did_not() -> None:
    share = _share_of_others()
    time.sleep(0.05)
    found = share()

    assert found is None or 0.0 <= found <= 1.0


def test_without_a_gpu_it_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("benchmarks.kernel_time._no_device", lambda: "no GPU is here")
    path = tmp_path / "none.json"

    main(["--target", "cuda", "--json", str(path)])

    assert "--target cuda: no GPU is here; nothing was measured\n" == capsys.readouterr().out
    assert not path.exists()


def test_another_compiler_is_given_tensors_as_they_are_stored() -> None:
    import torch

    class Layer(torch.nn.Module):
        def forward(self, x: Any, w: Any) -> Any:
            return x @ w

    x, w = torch.randn(3, 8), torch.randn(5, 8).t()
    exported = torch.export.export(Layer(), (x, w))
    stored, orders = tvm_rival.as_stored(exported)
    given = [t.permute(order) for t, order in zip((x, w), orders, strict=True)]

    assert [(0, 1), (1, 0)] == orders
    assert all(t.is_contiguous() for t in given)
    torch.testing.assert_close(x @ w, stored.module()(*given))
