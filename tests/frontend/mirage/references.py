"""What the graphs of `tests/data/mirage` compute: programs over the shapes in the files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from prism_explore.ir.graph import SGraph
from prism_explore.ir.program import ProgramBuilder, TensorProgram
from prism_explore.ir.tensors import DType

DATA = Path(__file__).resolve().parents[2] / "data" / "mirage"
Shapes = tuple[tuple[object, ...], ...]


def rms_norm(b: ProgramBuilder, x: int) -> int:
    return b.binary("div", x, b.reduce("rms", x, -1))


def rmsnorm(b: ProgramBuilder, x: int, w: int) -> int:
    return b.matmul(rms_norm(b, x), w)


def gated_mlp(b: ProgramBuilder, x: int, w1: int, w2: int) -> int:
    return b.binary("mul", b.unary("silu", b.matmul(x, w1)), b.matmul(x, w2))


def lora(b: ProgramBuilder, x: int, w: int, a: int, c: int) -> int:
    return b.binary("add", b.matmul(x, w), b.matmul(b.matmul(x, a), c))


def attention(b: ProgramBuilder, q: int, k: int, v: int) -> int:
    e = b.unary("exp", b.matmul(q, k))
    return b.matmul(b.binary("div", e, b.reduce("sum", e, -1)), v)


def qknorm_attention(b: ProgramBuilder, q: int, k: int, v: int) -> int:
    return attention(b, rms_norm(b, q), k, rms_norm(b, v))


def ntrans(b: ProgramBuilder, h: int, x: int, alpha: int) -> int:
    return rms_norm(b, b.binary("add", x, b.binary("mul", alpha, b.binary("add", rms_norm(b, h), x))))


FILES: dict[str, tuple[Callable[..., int], int]] = {
    "gated_mlp_bs8": (gated_mlp, 32),
    "gqa_bs8": (attention, 10),
    "lora_bs8": (lora, 4),
    "mha_bs1": (attention, 21),
    "ntrans_bs1": (ntrans, 9),
    "qknorm_gqa_bs8_first24_wrong": (qknorm_attention, 24),
    "rmsnorm_bs1": (rmsnorm, 18),
}
"""What each file's graphs are to compute, and how many there are."""


def path(name: str) -> Path:
    return DATA / f"{name}.json.gz"


def program(build: Callable[..., int], shapes: Shapes, dtype: DType = "f16") -> TensorProgram:
    b = ProgramBuilder(build.__name__)
    return b.build(build(b, *[b.input(f"in{n}", *dims, dtype=dtype) for n, dims in enumerate(shapes)]))


def reference(build: Callable[..., int], graph: SGraph) -> TensorProgram:
    """The program at the shapes of a graph's inputs."""
    return program(build, tuple(i.type.dims for i in graph.inputs))
