"""The known forms of the workloads as Triton, in its interpreter, against float64: R1 to R10, and one of each workload.

`benchmarks/triton_kernels.py` does the same for every family that a search finds.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from prism_explore.codegen.triton.interpreter_check import Interpreter, InterpreterCheck, NoInterpreterCheck
from prism_explore.ir.ops import MatMul
from prism_explore.pipeline.stages import Candidate, Family, Parameters
from prism_explore.tune.gpu_preview import check_small
from tests.verify.workloads import RIGHT, Entry, program_of, sgraph_of

pytest.importorskip("triton")

KNOWN = (
    "rmsnorm_linear-R1",
    "rmsnorm_linear-R1-split-k-rows",
    "rmsnorm_mlp-R2",
    "gated_mlp-R3",
    "lora-R4-concat",
    "gqa-R7",
    "attention-R7-safe",
    "qknorm-R8-split",
    "safe_grouped_attention-R10",
    "rotary_scores-concat",
    "moe_routed-expert-by-expert",
)
FIRST = tuple({e.workload: e for e in reversed(RIGHT)}.values())
"""One form of each workload."""
TOO_LARGE = "transformer_block-five-kernels"
"""A product over all heads at once: at the smallest sizes already more numbers than the threads of a block may hold."""


@pytest.fixture(scope="module")
def interpreter() -> Iterator[Interpreter]:
    with Interpreter() as running:
        yield running


def agrees(entry: Entry, interpreter: Interpreter) -> None:
    graph = sgraph_of(entry)
    candidate = Candidate("f1.c1", Family("f1", program_of(entry.workload), graph), graph, (), graph.conditions())
    products = {
        position: frozenset(j for j, node in enumerate(block.nodes) if isinstance(node.op, MatMul))
        for position, block in graph.customs
    }
    for dots in (products, dict.fromkeys(products, frozenset[int]())):
        found = check_small(candidate, Parameters(()), dots, interpreter)

        assert isinstance(found, InterpreterCheck), found
        assert found.agrees, found


@pytest.mark.parametrize("entry", [e for e in RIGHT if e.name in KNOWN], ids=lambda e: e.name)
def test_the_known_forms_are_right_on_tensor_cores_and_off_them(entry: Entry, interpreter: Interpreter) -> None:
    agrees(entry, interpreter)


def test_all_of_the_known_forms_are_there() -> None:
    assert len(KNOWN) == sum(e.name in KNOWN for e in RIGHT)


@pytest.mark.slow
@pytest.mark.parametrize("entry", [e for e in FIRST if e.name not in (*KNOWN, TOO_LARGE)], ids=lambda e: e.name)
def test_a_form_of_every_workload_is_right(entry: Entry, interpreter: Interpreter) -> None:
    agrees(entry, interpreter)


def test_a_form_whose_tile_no_block_of_threads_holds_is_told_as_unchecked(interpreter: Interpreter) -> None:
    (entry,) = (e for e in RIGHT if e.name == TOO_LARGE)
    graph = sgraph_of(entry)
    candidate = Candidate("f1.c1", Family("f1", program_of(entry.workload), graph), graph, (), graph.conditions())

    found = check_small(candidate, Parameters(()), {n: frozenset[int]() for n, _ in graph.customs}, interpreter)

    assert isinstance(found, NoInterpreterCheck)
    assert "numbers per thread" in found.reason
