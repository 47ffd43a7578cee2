"""sGraphs to compile, inputs for them, and reference results."""

from __future__ import annotations

import numpy as np

from prism_explore.ir.graph import SGraph
from prism_explore.ir.interpreter.reference import evaluate
from prism_explore.ir.ops import Node
from prism_explore.ir.program import TensorProgram
from prism_explore.pipeline.stages import Candidate, Family, Parameters, Proof, Verified
from tests.codegen.graph_files import read

BASIC = read("basic")
CASES = tuple(BASIC.values())
RMS_EPS, RMS_PLAIN, TWO_KERNELS = (BASIC[name].text for name in ("rms_eps", "rms_plain", "two_kernels"))


def filled(graph: SGraph, sizes: dict[str, int], seed: int = 0) -> dict[str, np.ndarray]:
    """float32 inputs in the graph's storage orders."""
    rng = np.random.default_rng(seed)
    inputs = {}
    for given in graph.inputs:
        shape = tuple(d.value(sizes) for d in given.type.dims)
        order = given.type.storage_order
        memory = rng.standard_normal([shape[d] for d in order]).astype(np.float32)
        inputs[given.name] = memory.transpose(np.argsort(order)) if order else memory
    return inputs


def reference(graph: SGraph, inputs: dict[str, np.ndarray], sizes: dict[str, int]) -> np.ndarray:
    """The float64 truth."""
    return evaluate(graph, {name: x.astype(np.float64) for name, x in inputs.items()}, sizes)


def relative_error(expected: np.ndarray, found: np.ndarray) -> float:
    """Largest deviation over the largest magnitude, or over 1 if all are 0; infinite where one is not a number."""
    assert expected.shape == found.shape
    deviation = np.abs(expected - found)
    return float(np.max(np.where(np.isnan(deviation), np.inf, deviation)) / (np.max(np.abs(expected)) or 1.0))


def parameters(graph: SGraph, sizes: dict[str, int], **schedule: int) -> tuple[Parameters, dict[str, int]]:
    """Sizes split into the candidate's own and the shapes."""
    own = {s: sizes[s] for s in graph.parameters}
    shapes = {s: sizes[s] for s in graph.data_symbols}
    return Parameters(tuple(own.items()), tuple(schedule.items())), shapes


def stand_in(graph: SGraph, name: str = "stand_in") -> TensorProgram:
    """A program with the inputs of a graph."""
    return TensorProgram(name, SGraph(tuple(map(Node, graph.inputs)), 0))


def verified(graph: SGraph) -> Verified:
    """A verified candidate with a placeholder proof, for later stages."""
    family = Family("f1", stand_in(graph), graph)
    return Verified(Candidate("f1.c1", family, graph, (), ()), Proof("normal form", "for tests", ()), ())
