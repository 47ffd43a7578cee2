"""The file that tunes a kernel where a GPU is: every configuration is run in Triton's interpreter."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from prism_explore.codegen.triton.emit import emit_triton
from prism_explore.codegen.triton.tuning_file import tuning_file
from prism_explore.ir.text import parse
from prism_explore.pipeline.stages import Kernel, Parameters, Verified
from prism_explore.targets import GPUS
from tests.codegen.triton.graphs import verified
from tests.codegen.wider import SPLIT_KV
from tests.tune.toys import fused, split

pytest.importorskip("triton")


def file_of(proved: Verified, shapes: dict[str, int], **numbers: int) -> str:
    kernel = emit_triton(proved, Parameters(tuple(numbers.items())), shapes, GPUS["h100"])
    assert isinstance(kernel, Kernel)
    return tuning_file(kernel, GPUS["h100"])


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    folder = tmp_path_factory.mktemp("tuned")
    paths = {name: folder / f"{name}.py" for name in ("fused", "split", "by_tma")}
    paths["fused"].write_text(file_of(fused(64, 96), {"b": 3}, gx=2, f=2))
    paths["split"].write_text(file_of(split(), {"b": 16}, gb=2))
    paths["by_tma"].write_text(file_of(fused(32, 32), {"b": 3}, gx=2, f=2))
    command = [sys.executable, "-m", "tests.codegen.triton.on_fake_gpu", *map(str, paths.values())]
    environment = {**os.environ, "TRITON_INTERPRET": "1"}
    lines = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=environment).stdout.splitlines()
    return dict(zip(paths, map(json.loads, lines), strict=True))


@pytest.mark.parametrize("name", ["fused", "split", "by_tma"])
def test_every_configuration_computes_the_program(runs: dict[str, dict[str, Any]], name: str) -> None:
    errors = runs[name]["errors"]

    assert len(errors) >= 6
    assert max(errors) < 1e-5


def test_whether_tma_reads_tiles_is_chosen_where_it_can(runs: dict[str, dict[str, Any]]) -> None:
    assert {"0", "1"} == {*runs["by_tma"]["tma"]}
    assert {"None"} == {*runs["split"]["tma"]}, "it has no loop"


def test_configurations_whose_tiles_do_not_fit_the_gpu_are_not_timed(runs: dict[str, dict[str, Any]]) -> None:
    ((every, timed),) = runs["fused"]["pruned"].values()

    assert 0 < timed < every


def test_it_prints_the_error_the_choice_and_the_times_of_torch(runs: dict[str, dict[str, Any]]) -> None:
    said = runs["fused"]["said"]

    assert "fake GPU: largest error against float64" in said
    assert "num_warps: 4" in said
    for program in ("this kernel", "torch eager", "torch.compile ", "torch.compile max-autotune"):
        assert program in said


def test_a_size_that_two_kernels_share_keeps_its_value() -> None:
    sizes = {"b": 1, "m": 16, "d": 64, "s": 512, "e": 64}

    text = file_of(verified(parse(SPLIT_KV)), sizes, gx=4, f=2, gy=2)

    first, second = (part.split("\n]")[0] for part in text.split("_SIZES = [")[1:])
    splits = {512 // (row["TILE_S"] * row["LOOP"]) for row in map(json.loads, re.findall(r"{.*}", first))}
    assert {4} == splits, "the tensors between the kernels have 4 parts"
    assert len(re.findall("TILE_S", first)) > 1, "iterations are the first kernel's own"
    assert len(re.findall("TILE_E", second)) > 1, "blocks along e are the second kernel's own"


def test_without_a_gpu_it_says_where_to_run_it(tmp_path: Path) -> None:
    path = tmp_path / "tuned.py"
    path.write_text(file_of(fused(), {"b": 3}, gx=1, f=2))
    environment = {**os.environ, "CUDA_VISIBLE_DEVICES": ""}

    found = subprocess.run([sys.executable, path], capture_output=True, text=True, env=environment)

    assert 1 == found.returncode
    assert "torch finds no GPU here: run this file where" in found.stderr
