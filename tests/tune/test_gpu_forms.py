"""The known forms of the workloads as Triton, in its interpreter, against float64: R1 to R10, and one of each workload.

`benchmarks/triton_kernels.py` does the same for every family that a search finds.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from prism_explore.codegen.triton.interpreter_check import Interpreter, NoInterpreterCheck
from prism_explore.ir.ops import MatMul
from prism_explore.pipeline.stages import Candidate, Family, Parameters
from prism_explore.tune.gpu_preview import check_at_small_sizes
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
"""A product over all heads at once: even at the smallest sizes too many elements for the threads of a block."""


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
        dots = {n: frozenset[int]() for n, _ in graph.customs}
    found = check_at_small_sizes(candidate, Parameters(()), dots, interpreter)

    assert isinstance(found, NoInterpreterCheck)
    assert "numbers per thread" in found.reason
