"""Programs that the tests of generation and instantiation share, written operator by operator."""

from dataclasses import dataclass

from prism_explore.ir.dims import DimLike
from prism_explore.ir.program import ProgramBuilder, TensorProgram


@dataclass(frozen=True)
class Machine:
    """A target, as far as generation and instantiation ask."""

    shared_memory_bytes: int = 96 * 1024


MACHINE = Machine()


def rmsnorm_linear(weight: bool = True, eps: bool = True, d: DimLike = 4096, n: DimLike = 4096) -> TensorProgram:
    b = ProgramBuilder("rmsnorm_linear")
    x = b.input("x", "b", d)
    g = b.input("g", d) if weight else None
    w = b.input("w", d, n)
    if eps:
        rms = b.unary("sqrt", b.scalar("add", b.reduce("mean", b.unary("square", x), 1), "1/1000000"))
    else:
        rms = b.reduce("rms", x, 1)
    y = b.binary("div", x, rms)
    return b.build(b.matmul(b.binary("mul", y, g) if g is not None else y, w))


def gated_mlp(up_first: bool = False) -> TensorProgram:
    b = ProgramBuilder("gated_mlp")
    x = b.input("x", "b", 64)
    names = ("up", "gate") if up_first else ("gate", "up")
    weights = {name: b.input(name, 64, 96) for name in names}
    gate = b.unary("silu", b.matmul(x, weights["gate"]))
    return b.build(b.binary("mul", gate, b.matmul(x, weights["up"])))


def lora() -> TensorProgram:
    b = ProgramBuilder("lora")
    x, w = b.input("x", "b", 64), b.input("w", 64, 96)
    down, up = b.input("down", 64, 8), b.input("up", 8, 96)
    return b.build(b.binary("add", b.matmul(x, w), b.matmul(b.matmul(x, down), up)))


def chain() -> TensorProgram:
    b = ProgramBuilder("chain")
    x, y, z = b.input("x", 4, 8), b.input("y", 8, 12), b.input("z", 12, 16)
    return b.build(b.matmul(b.matmul(x, y), z))


def scaled_prefixes() -> TensorProgram:
    b = ProgramBuilder("scaled_prefixes")
    x, w = b.input("x", "b", 4), b.input("w", "b", 1)
    return b.build(b.scan("cumsum", b.binary("mul", x, w), 1))


def shares_up_to_each() -> TensorProgram:
    b = ProgramBuilder("shares_up_to_each")
    x = b.input("x", "b", 4)
    return b.build(b.binary("div", b.scan("reverse_cumsum", x, 1), b.reduce("sum", x, 1)))


def attention() -> TensorProgram:
    b = ProgramBuilder("attention")
    q, k, v = b.input("q", "b", 4, 6), b.input("k", "b", 6, 8), b.input("v", "b", 8, 10)
    e = b.unary("exp", b.matmul(q, k))
    return b.build(b.matmul(b.binary("div", e, b.reduce("sum", e, 2)), v))


def row_dot() -> TensorProgram:
    b = ProgramBuilder("row_dot")
    x, y = b.input("x", "b", 4), b.input("y", "b", 4)
    return b.build(b.reduce("sum", b.binary("mul", x, y), 1))


def scaled_linear() -> TensorProgram:
    b = ProgramBuilder("scaled_linear")
    x, g, w = b.input("x", "b", 4), b.input("g", 4), b.input("w", 4, 8)
    return b.build(b.matmul(b.binary("mul", x, g), w))


def root_mean_square() -> TensorProgram:
    b = ProgramBuilder("root_mean_square")
    x = b.input("x", "b", 4)
    return b.build(b.unary("sqrt", b.reduce("mean", b.unary("square", x), 1)))


def softmax() -> TensorProgram:
    b = ProgramBuilder("softmax")
    x = b.input("x", "b", 4)
    e = b.unary("exp", x)
    return b.build(b.binary("div", e, b.reduce("sum", e, 1)))


def shifted_sum() -> TensorProgram:
    """The denominator of a softmax that takes off its maximum."""
    b = ProgramBuilder("shifted_sum")
    x = b.input("x", "b", 4)
    return b.build(b.reduce("sum", b.unary("exp", b.binary("sub", x, b.reduce("max", x, 1))), 1))


def safe_softmax() -> TensorProgram:
    b = ProgramBuilder("safe_softmax")
    x = b.input("x", "b", 4)
    e = b.unary("exp", b.binary("sub", x, b.reduce("max", x, 1)))
    return b.build(b.binary("div", e, b.reduce("sum", e, 1)))


def safe_attention() -> TensorProgram:
    b = ProgramBuilder("safe_attention")
    q, k, v = b.input("q", "b", 4, 6), b.input("k", "b", 6, 8), b.input("v", "b", 8, 10)
    s = b.matmul(q, k)
    e = b.unary("exp", b.binary("sub", s, b.reduce("max", s, 2)))
    return b.build(b.matmul(b.binary("div", e, b.reduce("sum", e, 2)), v))


def common_factor() -> TensorProgram:
    b = ProgramBuilder("common_factor")
    x, y = b.input("x", "b", 4), b.input("y", "b", 4)
    return b.build(b.binary("add", b.unary("square", x), b.binary("mul", x, y)))


def gate() -> TensorProgram:
    b = ProgramBuilder("gate")
    x, w = b.input("x", "b", 4), b.input("w", 4, 8)
    return b.build(b.unary("silu", b.matmul(x, w)))


def rms_linear_small() -> TensorProgram:
    b = ProgramBuilder("rms_linear_small")
    x, w = b.input("x", "b", 4), b.input("w", 4, 8)
    return b.build(b.matmul(b.binary("div", x, b.reduce("rms", x, 1)), w))
