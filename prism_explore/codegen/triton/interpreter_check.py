"""Generated Triton kernels against the plain meaning of their sGraph, in Triton's interpreter.

The interpreter runs a kernel block by block on the CPU: right, and slow. So a kernel for large shapes
is checked at small ones: the same sGraph, written by the same code, with the same products on
`tl.dot` (`tune.gpu` chooses the extents). The result is compared with `ir.evaluate` in float64 on the
same inputs.

What this shows: that the writer is right about this structure. What it does not: anything about the
GPU compiler, or about out-of-bounds loads, which the interpreter does not notice. bfloat16 is checked
in float16, because the interpreter's bfloat16 arithmetic is wrong.
"""

from __future__ import annotations

import base64
import io
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from prism_explore.codegen.triton.emit import TritonModule, load_triton, write_triton
from prism_explore.codegen.triton.plan import Obstacle
from prism_explore.codegen.triton.worker_process import Failure, Plain, Worker, serve
from prism_explore.ir.graph import SGraph
from prism_explore.ir.interpreter.reference import evaluate
from prism_explore.ir.ops import Band, Input, Node
from prism_explore.ir.tensors import DType, TensorType
from prism_explore.pipeline.stages import Parameters

Array: TypeAlias = npt.NDArray[Any]

NUMPY_DTYPE: dict[DType, str] = {"f64": "float64", "f32": "float32", "f16": "float16", "bf16": "float16"}
ARITHMETIC: dict[DType, str] = {"f64": "longdouble", "f32": "float32", "f16": "float32", "bf16": "float32"}
"""What a second evaluation of the reference is done in: as the kernel computes, or better for float64."""

TOLERANCE: dict[DType, float] = {"f64": 1e-12, "f32": 2e-5, "f16": 5e-3, "bf16": 5e-3}
"""Largest deviation that rounding explains, over the largest magnitude of the reference, at small sizes.

Where the reference's own evaluation in the kernel's arithmetic deviates by more than a tenth of that
(a sum that cancels, say), ten times its deviation counts instead.
"""


@dataclass(frozen=True, slots=True)
class Checked:
    """One comparison of a kernel with the reference."""

    sizes: tuple[tuple[str, int], ...]
    shapes: tuple[tuple[str, tuple[int, ...]], ...]
    """Of the inputs it ran on."""
    seed: int
    dtype: str
    error: float
    """Largest deviation, relative to the reference's largest magnitude."""
    tolerance: float

    @property
    def agrees(self) -> bool:
        """Whether rounding explains the deviation; NaN is never explained."""
        return self.error <= self.tolerance


@dataclass(frozen=True, slots=True)
class Unchecked:
    """No comparison was made, and why."""

    reason: str


class Interpreter:
    """Triton's interpreter in a process of its own. A context manager."""

    def __init__(self) -> None:
        self._worker = Worker("prism_explore.codegen.triton.interpreter_check", {"TRITON_INTERPRET": "1"})

    def __enter__(self) -> Interpreter:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the process; asking again starts another."""
        self._worker.close()

    def run(
        self,
        module: TritonModule,
        inputs: Mapping[str, Array],
        types: Mapping[str, TensorType],
        timeout_s: float = 60.0,
    ) -> Array | Failure:
        """What a module's `launch` returns on arrays, laid out in memory as their types say.

        Args:
            module: written by `write_triton`.
            inputs: an array per input, in the order of the program's inputs.
            types: of the same inputs; only the storage order is read.
            timeout_s: after which the process is ended.
        """
        given = [{"array": _encoded(array), "order": list(types[name].storage_order)} for name, array in inputs.items()]
        answer = self._worker.ask({"source": module.source, "inputs": given}, timeout_s)
        return answer if isinstance(answer, Failure) else _decoded(answer["array"])


def check_graph(
    graph: SGraph,
    numbers: Mapping[str, int],
    parameters: Parameters,
    interpreter: Interpreter,
    seed: int = 0,
    timeout_s: float = 60.0,
    *,
    dots: Mapping[int, frozenset[int]] | None = None,
) -> Checked | Unchecked:
    """An sGraph's kernels at these very numbers against the reference; keep them small.

    Args:
        graph: whose kernels are run.
        numbers: for every symbol.
        parameters: for the schedule.
        interpreter: runs them.
        seed: of the inputs.
        timeout_s: after which the interpreter is given up.
        dots: which products go to `tl.dot`; see `plan_kernels`.

    Raises:
        ShapeError: the maps are open, or a symbol has no number.
    """
    graph = _without_bf16(graph)
    module = write_triton(graph, numbers, parameters, dots=dots)
    if isinstance(module, Obstacle):
        return Unchecked(module.reason)
    types = {i.name: i.type for i in graph.inputs}
    dtype = graph.output_type.dtype
    sizes = {s: n for s, n in numbers.items() if s in graph.parameters}
    for positive in (False, True):
        inputs = {name: _random(t, numbers, seed + k, positive) for k, (name, t) in enumerate(types.items())}
        with np.errstate(all="ignore"):
            wanted = evaluate(graph, {n: a.astype(np.float64) for n, a in inputs.items()}, sizes)
            rounded = evaluate(graph, {n: a.astype(ARITHMETIC[dtype]) for n, a in inputs.items()}, sizes)
        if np.isfinite(wanted).all():
            break
    else:
        return Unchecked("the reference is not finite on random inputs")
    found = interpreter.run(module, inputs, types, timeout_s)
    if isinstance(found, Failure):
        return Unchecked(f"{found.code} in Triton's interpreter: {found.reason}")
    if found.shape != wanted.shape:
        return Unchecked(f"the kernel returned shape {found.shape}, expected {wanted.shape}")
    return Checked(
        tuple(sorted(numbers.items())),
        tuple((name, a.shape) for name, a in inputs.items()),
        seed,
        NUMPY_DTYPE[dtype],
        _deviation(found, wanted),
        max(TOLERANCE[dtype], 10 * _deviation(rounded, wanted)),
    )


def _deviation(found: Array, wanted: Array) -> float:
    scale = float(np.abs(wanted).max()) or 1.0
    return float(np.abs(found.astype(np.float64) - wanted).max()) / scale


def _without_bf16(graph: SGraph) -> SGraph:
    nodes: list[Node] = []
    for n in graph.nodes:
        if isinstance(n.op, Input) and n.op.type.dtype == "bf16":
            nodes.append(Node(Input(n.op.name, replace(n.op.type, dtype="f16")), n.args))
        elif isinstance(n.op, Band) and n.op.dtype == "bf16":
            nodes.append(Node(replace(n.op, dtype="f16")))
        else:
            nodes.append(n)
    return SGraph(tuple(nodes), graph.output)


def _random(type_: TensorType, numbers: Mapping[str, int], seed: int, positive: bool) -> Array:
    shape = [d.value(numbers) for d in type_.dims]
    values = np.random.default_rng(seed).uniform(-0.65, 0.75, shape)
    values = np.abs(values) + 0.1 if positive else values
    return values.astype(NUMPY_DTYPE[type_.dtype])


# ---------------------------------------------------------------- the process
def _encoded(array: Array) -> str:
    raw = io.BytesIO()
    np.lib.format.write_array(raw, np.ascontiguousarray(array), allow_pickle=False)
    return base64.b64encode(raw.getvalue()).decode()


def _decoded(text: str) -> Array:
    return np.lib.format.read_array(io.BytesIO(base64.b64decode(text)), allow_pickle=False)


def _interpret(question: Plain) -> Plain:
    import torch

    tensors: list[torch.Tensor] = []
    for given in question["inputs"]:
        array, order = _decoded(given["array"]), [int(d) for d in given["order"]]
        stored = np.ascontiguousarray(array.transpose(order)) if order else array
        back = [order.index(d) for d in range(len(order))]
        tensors.append(torch.as_tensor(stored).permute(back))
    with np.errstate(all="ignore"):  # lanes of the padding may divide by zero; they are never stored
        result = load_triton(question["source"])(*tensors)
    return {"array": _encoded(result.contiguous().numpy())}


def _main() -> None:
    assert os.environ.get("TRITON_INTERPRET") == "1", "run by Interpreter, which sets TRITON_INTERPRET=1"
    serve(_interpret)


if __name__ == "__main__":
    _main()
