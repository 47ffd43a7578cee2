"""The recipe "add a target" of `targets/README.md`, followed on a copy of the package: one row, and nothing else."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
END_OF_TABLE = "\n)\n\nGPUS"

USE_IT = """
import json
from dataclasses import replace

import prism_explore as px
from prism_explore.codegen.triton.aot import AotCompiler, compile_ahead
from prism_explore.codegen.triton.emit import emit_triton
from prism_explore.codegen.triton.heuristics import choose_sizes
from prism_explore.cost.roofline import time_bound_of
from prism_explore.pipeline.search_space import Operators, default_space
from prism_explore.targets.devices import row_of
from prism_explore.targets.gpus import architecture_of
from tests.generate.programs import rms_linear_small

program = rms_linear_small()
few = Operators((), (), ("div",), True, ("rms",), ("plain", "rms"))
space = replace(default_space(program), block=few, block_ops=len(program.inputs) + 4)
gpu = px.target("l4")
sess = px.Session(program, target="l4", at={"b": 4}, space=space)
sess.run()
verified = sess._progress.proved[0]
question = sess.what_if(target="h100")
sess.close()

shapes = {"b": 4}
fitted = choose_sizes(verified.candidate.sgraph, shapes, gpu)
kernel = emit_triton(verified, fitted, shapes, gpu)
with AotCompiler() as compiler:
    reports = compile_ahead(kernel, architecture_of("l4").name, compiler)

print(json.dumps({
    "driver": row_of("NVIDIA L4"),
    "proved": len(sess._progress.proved),
    "question": question.text,
    "floor_s": time_bound_of(verified.candidate, shapes, gpu).time_s,
    "floor_h100_s": time_bound_of(verified.candidate, shapes, px.target("h100")).time_s,
    "architectures": [r.arch for r in reports],
    "registers": [r.registers for r in reports],
}))
"""


def the_row_of_the_recipe() -> str:
    text = (REPOSITORY / "prism_explore" / "targets" / "README.md").read_text(encoding="utf-8")
    (row,) = re.findall(r"```python\n(.*?)\n```", text, re.DOTALL)
    return row


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What a search for the new target gives, where its row is the only change."""
    copy = tmp_path_factory.mktemp("copy")
    shutil.copytree(REPOSITORY / "prism_explore", copy / "prism_explore", ignore=shutil.ignore_patterns("__pycache__"))
    table = copy / "prism_explore" / "targets" / "gpus.py"
    source = table.read_text(encoding="utf-8")
    assert source.count(END_OF_TABLE) == 1
    table.write_text(source.replace(END_OF_TABLE, f"\n{the_row_of_the_recipe()},{END_OF_TABLE}"), encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join((str(copy), str(REPOSITORY)))}
    ran = subprocess.run(
        [sys.executable, "-c", USE_IT], capture_output=True, text=True, env=environment, cwd=copy, check=False
    )
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout.splitlines()[-1])


pytestmark = pytest.mark.slow


def test_a_search_for_it_proves_candidates(found: dict[str, Any]) -> None:
    assert found["proved"] > 0


def test_a_what_if_question_compares_it_with_another(found: dict[str, Any]) -> None:
    assert "h100 for l4 (shared memory 101,376 B -> 232,448 B" in found["question"]


def test_its_roofline_bound_follows_from_its_own_figures(found: dict[str, Any]) -> None:
    assert found["floor_s"] > found["floor_h100_s"] > 0


def test_a_triton_kernel_with_numbers_for_it_compiles_for_its_architecture(found: dict[str, Any]) -> None:
    assert set(found["architectures"]) == {"sm_89"}
    assert min(found["registers"]) > 0


def test_the_driver_name_leads_to_it(found: dict[str, Any]) -> None:
    assert found["driver"] == "l4"
