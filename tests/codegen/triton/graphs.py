"""sGraphs of the Triton tests, in the textual form."""

from __future__ import annotations

from prism_explore.ir.graph import SGraph
from prism_explore.ir.text import parse
from prism_explore.pipeline.stages import Candidate, Family, Proof, Verified
from tests.codegen.corpus import stand_in
from tests.codegen.graph_files import read


def verified(graph: SGraph) -> Verified:
    """A verified candidate with a proof in name only."""
    family = Family("f1", stand_in(graph, "rmsnorm_linear"), graph)
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


GRAPHS = {name: case.text for name, case in read("triton").items()}
GATED_MLP, LORA, ATTENTION, BIAS = (GRAPHS[name] for name in ("gated_mlp", "lora", "attention", "bias"))
SEVERAL_HEADS, SPLIT = GRAPHS["several_heads"], GRAPHS["split"]
REDUCTIONS, EVERY_FUNCTION = GRAPHS["reductions"], GRAPHS["every_function"]

WHOLE_NUMBERS = """sgraph
  x = input f32[b, 64]
  q = input i8[64, 32]
  s = input f32[32]
  %3 = custom(x, q, s) grid[x=gx] loop[i=f]
    %0 = load(0, imap=[-], fmap=1)
    %1 = load(1, imap=[1], fmap=0)
    %2 = matmul(%0, %1)
    %3 = accum_sum(%2)
    %4 = load(2, imap=[0])
    %5 = mul(%3, %4)
    %6 = store(%5, omap=[1])
  return %3
"""
"""A product with a weight of another dtype, scaled per column."""

PARTIAL_SUMS = """sgraph
  x = input bf16[4, 512]
  %1 = custom(x) grid[x=s]
    %0 = load(0, imap=[1])
    %1 = sum(%0, dim=1)
    %2 = store(%1, omap=[1])
  %2 = custom(%1) grid[x=gb]
    %0 = load(0, imap=[0])
    %1 = sum(%0, dim=1)
    %2 = store(%1, omap=[0])
  return %2
"""
"""A sum in two kernels."""
PRODUCT_OF_A_TEMPORARY = """sgraph
  x = input bf16[16, 512]
  w = input bf16[512, 16]
  %2 = custom(x) grid[x=gb]
    %0 = load(0, imap=[0])
    %1 = square(%0)
    %2 = store(%1, omap=[0])
  %3 = custom(%2, w) grid[x=gm]
    %0 = load(0, imap=[0])
    %1 = load(1, imap=[-])
    %2 = matmul(%0, %1)
    %3 = store(%2, omap=[0])
  return %3
"""
"""A product whose operand another kernel has computed."""
