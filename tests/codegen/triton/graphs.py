"""sGraphs in the textual form, as the Triton tests use them."""

from __future__ import annotations

from prism_explore.ir.graph import SGraph
from prism_explore.ir.text import parse
from prism_explore.pipeline.stages import Candidate, Family, Proof, Verified
from tests import strategies


def verified(graph: SGraph) -> Verified:
    """What a prover would hand over, made by hand."""
    family = Family("f1", strategies.rmsnorm_linear(), graph)
    candidate = Candidate("f1.c1", family, graph, (), graph.conditions())
    return Verified(candidate, Proof("normal form", "made by hand for a test", ()), ())


def rmsnorm_linear(
    *, weight: bool = True, eps: bool = True, transposed: bool = False, rows: bool = False, d: int = 24, n: int = 36
) -> SGraph:
    """R1: `(x / sqrt(mean(x^2) + eps) * g) @ w` in one kernel; `rows` cuts b by a second grid dim."""
    order = " order(1, 0)" if transposed else ""
    lines = ["sgraph", f"  x = input f32[b, {d}]"]
    lines += [f"  g = input f32[{d}]"] if weight else []
    lines += [f"  w = input f32[{d}, {n}]{order}"]
    grid = "x=gx, y=gy" if rows else "x=gx"
    given = "x, g, w" if weight else "x, w"
    at = 3 if weight else 2
    lines += [f"  %{at} = custom({given}) grid[{grid}] loop[i=f]"]
    none, row, column = ("-, -", "-, 0", "1, -") if rows else ("-", "-", "1")
    block: list[str] = []

    def put(text: str) -> str:
        block.append(f"    %{len(block)} = {text}")
        return f"%{len(block) - 1}"

    x = put(f"load(0, imap=[{row}], fmap=1)")
    g = put(f"load(1, imap=[{none}], fmap=0)") if weight else ""
    w = put(f"load({at - 1}, imap=[{column}], fmap=0)")
    scaled = put(f"mul({x}, {g})") if weight else x
    product = put(f"matmul({scaled}, {w})")
    total = put(f"accum({product})")
    if eps:
        square = put(f"square({x})")
        mean = put(f"accum_mean({square}, dim=1)")
        shifted = put(f"add_scalar({mean}, 1/1000000)")
        norm = put(f"sqrt({shifted})")
    else:
        norm = put(f"accum_rms({x}, dim=1)")
    out = put(f"div({total}, {norm})")
    put(f"store({out}, omap=[{'1, 0' if rows else '1'}])")
    return parse("\n".join([*lines, *block, f"  return %{at}"]))


GATED_MLP = """sgraph
  x = input f32[b, 24]
  v = input f32[24, 36]
  w = input f32[24, 36]
  %3 = custom(x, v, w) grid[x=gx] loop[i=f]
    %0 = load(0, imap=[-], fmap=1)
    %1 = load(1, imap=[1], fmap=0)
    %2 = load(2, imap=[1], fmap=0)
    %3 = matmul(%0, %1)
    %4 = matmul(%0, %2)
    %5 = accum(%3)
    %6 = accum(%4)
    %7 = silu(%5)
    %8 = mul(%7, %6)
    %9 = store(%8, omap=[1])
  return %3"""

LORA = """sgraph
  x = input f32[b, 24]
  w = input f32[24, 36]
  A = input f32[24, 4]
  B = input f32[4, 36]
  %4 = custom(x, w, A, B) grid[x=gx] loop[i=f]
    %0 = load(0, imap=[-], fmap=1)
    %1 = load(1, imap=[1], fmap=0)
    %2 = load(2, imap=[-], fmap=0)
    %3 = load(3, imap=[1])
    %4 = matmul(%0, %1)
    %5 = matmul(%0, %2)
    %6 = matmul(%5, %3)
    %7 = add(%4, %6)
    %8 = accum(%7)
    %9 = store(%8, omap=[1])
  return %4"""

ATTENTION = """sgraph
  Q = input f32[h, q, 16]
  K = input f32[h, 16, 40]
  V = input f32[h, 40, 24]
  %3 = custom(Q, K, V) grid[x=h, y=gy] loop[i=f]
    %0 = load(0, imap=[0, 1])
    %1 = load(1, imap=[0, -], fmap=2)
    %2 = load(2, imap=[0, -], fmap=1)
    %3 = matmul(%0, %1)
    %4 = exp(%3)
    %5 = matmul(%4, %2)
    %6 = accum(%5)
    %7 = accum_sum(%4, dim=2)
    %8 = div(%6, %7)
    %9 = store(%8, omap=[0, 1])
  return %3"""

SEVERAL_HEADS = ATTENTION.replace("x=h", "x=gx")
"""Attention where a block holds several heads, so that its products are batched."""

BIAS = """sgraph
  x = input f32[b, 24]
  w = input f32[24, 36]
  c = input f32[36]
  %3 = custom(x, w, c) grid[x=gx] loop[i=f]
    %0 = load(0, imap=[-], fmap=1)
    %1 = load(1, imap=[1], fmap=0)
    %2 = load(2, imap=[0])
    %3 = matmul(%0, %1)
    %4 = accum(%3)
    %5 = add(%4, %2)
    %6 = relu(%5)
    %7 = store(%6, omap=[1])
  return %3"""

SPLIT = """sgraph
  x = input f32[b, 24]
  w = input f32[24, 10]
  %2 = square(x)
  %3 = custom(x, w) grid[x=gx, y=gy]
    %0 = load(0, imap=[0, -])
    %1 = load(1, imap=[-, 1])
    %2 = matmul(%0, %1)
    %3 = store(%2, omap=[0, 1])
  %4 = mean(%2, dim=1)
  %5 = custom(%3, %4) grid[x=gx]
    %0 = load(0, imap=[0])
    %1 = load(1, imap=[0])
    %2 = div(%0, %1)
    %3 = sum(%2, dim=0)
    %4 = tanh(%0)
    %5 = mul(%4, %3)
    %6 = store(%5, omap=[0])
  %6 = add_scalar(%5, 1/2)
  return %6"""
"""Two kernels with torch's operators before, between and behind them."""

REDUCTIONS = """sgraph
  x = input f32[b, 6, 10]
  %1 = custom(x) grid[x=gx]
    %0 = load(0, imap=[0])
    %1 = FN(%0, dim=DIM)
    %2 = exp(%0)
    %3 = mul(%1, %2)
    %4 = FN(%3, dim=DIM)
    %5 = store(%4, omap=[0])
  return %1"""

EVERY_FUNCTION = """sgraph
  x = input f32[b, 6]
  %1 = custom(x) grid[x=gx] loop[i=f]
    %0 = load(0, imap=[0], fmap=1)
    %1 = square(%0)
    %2 = add_scalar(%1, 1/10)
    %3 = FN(%2)
    %4 = mul_scalar(%0, -7/3)
    %5 = OP(%4, %3)
    %6 = accum_sum(%5, dim=1)
    %7 = store(%6, omap=[0])
  return %1"""
