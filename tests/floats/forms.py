"""Programs, and forms of them that are equal over the reals; how they fare in floats is what the tests say."""

from __future__ import annotations

from prism_explore.ir.program import ProgramBuilder, TensorProgram
from prism_explore.ir.text import parse
from prism_explore.pipeline.stages import Candidate, Family, Proof, Verified


def proved(program: TensorProgram, text: str = "", name: str = "f1.c1") -> Verified:
    """A candidate with these lines behind the inputs, as the prover would hand it over; no lines: the program."""
    inputs = "\n".join(f"  {i.name} = input {i.type}" for i in program.inputs)
    sgraph = parse(f"sgraph\n{inputs}\n{text}") if text else program.graph
    candidate = Candidate(name, Family(name.split(".")[0], program, sgraph), sgraph, (), sgraph.conditions())
    return Verified(candidate, Proof("normal form", "for all sizes", ()), ())


def softmax(with_max: bool) -> TensorProgram:
    b = ProgramBuilder("softmax")
    x = b.input("x", "b", 512)
    e = b.unary("exp", b.binary("sub", x, b.reduce("max", x, 1)) if with_max else x)
    return b.build(b.binary("div", e, b.reduce("sum", e, 1)))


PLAIN_SOFTMAX = """
  %1 = custom(x) grid[x=gx] loop[i=f]
    %0 = load(0, imap=[0], fmap=1)
    %1 = exp(%0)
    %2 = accum_sum(%1, dim=1)
    %3 = store(%2, omap=[0])
  %2 = exp(x)
  %3 = div(%2, %1)
  return %3
"""


def attention(with_max: bool) -> TensorProgram:
    b = ProgramBuilder("attention")
    q, k, v = b.input("q", "h", 64, 32), b.input("k", "h", 32, "t"), b.input("v", "h", "t", 32)
    s = b.matmul(q, k)
    e = b.unary("exp", b.binary("sub", s, b.reduce("max", s, 2)) if with_max else s)
    return b.build(b.matmul(b.binary("div", e, b.reduce("sum", e, 2)), v))


PLAIN_ATTENTION = """
  %3 = custom(q, k, v) grid[h=gh] loop[i=f]
    %0 = load(0, imap=[0])
    %1 = load(1, imap=[0], fmap=2)
    %2 = load(2, imap=[0], fmap=1)
    %3 = matmul(%0, %1)
    %4 = exp(%3)
    %5 = matmul(%4, %2)
    %6 = accum(%5)
    %7 = accum_sum(%4, dim=2)
    %8 = div(%6, %7)
    %9 = store(%8, omap=[0])
  return %3
"""
ONLINE_ATTENTION = """
  %3 = custom(q, k, v) grid[h=gh] loop[i=f]
    %0 = load(0, imap=[0])
    %1 = load(1, imap=[0], fmap=2)
    %2 = load(2, imap=[0], fmap=1)
    %3 = matmul(%0, %1)
    %4 = running_max(%3, dim=2)
    %5 = sub(%3, %4)
    %6 = exp(%5)
    %7 = matmul(%6, %2)
    %8 = accum_rescaled(%7, %4)
    %9 = accum_rescaled(%6, %4, dim=2)
    %10 = div(%8, %9)
    %11 = store(%10, omap=[0])
  return %3
"""


def layer_norm() -> TensorProgram:
    b = ProgramBuilder("layer_norm")
    x = b.input("x", "b", 512)
    centred = b.binary("sub", x, b.reduce("mean", x, 1))
    variance = b.reduce("mean", b.unary("square", centred), 1)
    return b.build(b.binary("div", centred, b.unary("sqrt", b.scalar("add", variance, "1/100000"))))


ONE_PASS_LAYER_NORM = """
  %1 = custom(x) grid[x=gx] loop[i=f]
    %0 = load(0, imap=[0], fmap=1)
    %1 = load(0, imap=[0])
    %2 = square(%0)
    %3 = accum_mean(%0, dim=1)
    %4 = accum_mean(%2, dim=1)
    %5 = square(%3)
    %6 = sub(%4, %5)
    %7 = add_scalar(%6, 1/100000)
    %8 = sqrt(%7)
    %9 = sub(%1, %3)
    %10 = div(%9, %8)
    %11 = store(%10, omap=[0])
  return %1
"""


def rms_norm_linear(dtype: str = "f32") -> TensorProgram:
    b = ProgramBuilder("rms_norm_linear")
    x = b.input("x", "b", 4096, dtype=dtype)  # type: ignore[arg-type]
    g, w = b.input("g", 4096, dtype=dtype), b.input("w", 4096, 4096, dtype=dtype)  # type: ignore[arg-type]
    mean = b.reduce("mean", b.unary("square", x), 1)
    norm = b.unary("sqrt", b.scalar("add", mean, "1/1000000"))
    return b.build(b.matmul(b.binary("mul", b.binary("div", x, norm), g), w))


R1 = """
  %3 = custom(x, g, w) grid[x=gx] loop[i=f]
    %0 = load(0, imap=[-], fmap=1)
    %1 = load(1, imap=[-], fmap=0)
    %2 = load(2, imap=[1], fmap=0)
    %3 = mul(%0, %1)
    %4 = matmul(%3, %2)
    %5 = accum(%4)
    %6 = square(%0)
    %7 = accum_mean(%6, dim=1)
    %8 = add_scalar(%7, 1/1000000)
    %9 = sqrt(%8)
    %10 = div(%5, %9)
    %11 = store(%10, omap=[1])
  return %3
"""
R1_SUM_THEN_SCALE = (
    R1.replace("accum_mean(%6, dim=1)", "accum_sum(%6, dim=1)")
    .replace("%8 = add_scalar(%7, 1/1000000)", "%8 = mul_scalar(%7, 1/4096)")
    .replace("%9 = sqrt(%8)", "%9 = add_scalar(%8, 1/1000000)")
    .replace("%10 = div(%5, %9)", "%10 = sqrt(%9)")
    .replace("%11 = store(%10, omap=[1])", "%11 = div(%5, %10)\n    %12 = store(%11, omap=[1])")
)
NORMALISED_SPLIT = """
  %2 = custom(x, v) grid[s=gs]
    %0 = load(0, imap=[1])
    %1 = load(1, imap=[0])
    %2 = exp(%0)
    %3 = sum(%2, dim=1)
    %4 = matmul(%2, %1)
    %5 = div(%4, %3)
    %6 = reshape(%3, dims=[b, 1, 1])
    %7 = reshape(%5, dims=[b, 1, 64])
    %8 = store(%6, omap=[1])
    %9 = store(%7, omap=[1])
  %3 = result(%2, index=1)
  %4 = mul(%3, %2)
  %5 = sum(%4, dim=1)
  %6 = sum(%2, dim=1)
  %7 = div(%5, %6)
  %8 = reshape(%7, dims=[b, 64])
  return %8
"""
