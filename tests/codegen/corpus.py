"""sGraphs to compile, with the sizes they take, and how to fill their inputs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from prism_explore.ir.graph import SGraph
from prism_explore.ir.interpreter.reference import evaluate
from prism_explore.ir.program import ProgramBuilder
from prism_explore.ir.text import parse
from prism_explore.pipeline.stages import Candidate, Family, Parameters, Proof, Verified


@dataclass(frozen=True)
class Case:
    """An sGraph; `free` symbols are drawn, `derived` ones are products of them and of numbers."""

    name: str
    text: str
    free: tuple[str, ...]
    derived: tuple[tuple[str, tuple[str, ...]], ...]

    def sizes(self, drawn: dict[str, int]) -> dict[str, int]:
        sizes = dict(drawn)
        for symbol, factors in self.derived:
            sizes[symbol] = int(np.prod([sizes[f] if f in sizes else int(f) for f in factors]))
        return sizes

    @property
    def graph(self) -> SGraph:
        return parse(self.text)


RMS_EPS = """sgraph
  x = input f32[b, d]
  g = input f32[d]
  w = input f32[d, n]
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
RMS_PLAIN = """sgraph
  x = input f32[b, d]
  w = input f32[d, n]
  %2 = custom(x, w) grid[x=gx] loop[i=f]
    %0 = load(0, imap=[-], fmap=1)
    %1 = load(1, imap=[1], fmap=0)
    %2 = matmul(%0, %1)
    %3 = accum(%2)
    %4 = accum_rms(%0, dim=1)
    %5 = div(%3, %4)
    %6 = store(%5, omap=[1])
  return %2
"""
RMS_TWO_GRID = """sgraph
  x = input f32[b, d]
  w = input f32[d, n]
  %2 = custom(x, w) grid[x=gx, y=gy] loop[i=f]
    %0 = load(0, imap=[-, 0], fmap=1)
    %1 = load(1, imap=[1, -], fmap=0)
    %2 = silu(%0)
    %3 = matmul(%2, %1)
    %4 = accum(%3)
    %5 = accum_rms(%0, dim=1)
    %6 = div(%4, %5)
    %7 = store(%6, omap=[1, 0])
  return %2
"""
GATED = """sgraph
  x = input f32[b, d]
  u = input f32[d, n]
  v = input f32[d, n]
  bias = input f32[n]
  %4 = custom(x, u, v, bias) grid[x=gx] loop[i=f]
    %0 = load(0, imap=[-], fmap=1)
    %1 = load(1, imap=[1], fmap=0)
    %2 = load(2, imap=[1], fmap=0)
    %3 = load(3, imap=[0])
    %4 = matmul(%0, %1)
    %5 = matmul(%0, %2)
    %6 = accum(%4)
    %7 = accum(%5)
    %8 = add(%6, %3)
    %9 = silu(%8)
    %10 = mul(%9, %7)
    %11 = store(%10, omap=[1])
  return %4
"""
LORA = """sgraph
  x = input f32[b, d]
  w = input f32[d, n]
  a = input f32[d, r]
  c = input f32[r, n]
  %4 = custom(x, w, a, c) grid[x=gx] loop[i=f]
    %0 = load(0, imap=[-], fmap=1)
    %1 = load(1, imap=[1], fmap=0)
    %2 = load(2, imap=[-], fmap=0)
    %3 = load(3, imap=[1])
    %4 = matmul(%0, %1)
    %5 = matmul(%0, %2)
    %6 = accum(%4)
    %7 = accum(%5)
    %8 = matmul(%7, %3)
    %9 = add(%6, %8)
    %10 = store(%9, omap=[1])
  return %4
"""
LORA_INSIDE = """sgraph
  x = input f32[b, d]
  a = input f32[d, r]
  c = input f32[r, n]
  %3 = custom(x, a, c) grid[x=gx] loop[i=f]
    %0 = load(0, imap=[-], fmap=1)
    %1 = load(1, imap=[-], fmap=0)
    %2 = load(2, imap=[1])
    %3 = matmul(%0, %1)
    %4 = matmul(%3, %2)
    %5 = accum(%4)
    %6 = store(%5, omap=[1])
  return %3
"""
ELEMENTWISE = """sgraph
  x = input f32[b, n]
  y = input f32[1, n]
  %2 = custom(x, y) grid[x=gx, y=gy]
    %0 = load(0, imap=[1, 0])
    %1 = load(1, imap=[1, -])
    %2 = sigmoid(%0)
    %3 = add(%2, %1)
    %4 = tanh(%3)
    %5 = sub(%4, %0)
    %6 = mul_scalar(%5, -3/7)
    %7 = store(%6, omap=[1, 0])
  return %2
"""
SOFTMAX = """sgraph
  x = input f32[b, n]
  %1 = custom(x) grid[x=gy]
    %0 = load(0, imap=[0])
    %1 = exp(%0)
    %2 = sum(%1, dim=1)
    %3 = div(%1, %2)
    %4 = store(%3, omap=[0])
  return %1
"""
COLUMN_MEANS = """sgraph
  x = input f32[b, n]
  %1 = custom(x) grid[x=gx] loop[i=gy]
    %0 = load(0, imap=[1], fmap=0)
    %1 = accum_mean(%0, dim=0)
    %2 = accum(%0)
    %3 = rms(%2, dim=0)
    %4 = recip(%3)
    %5 = mul(%1, %4)
    %6 = neg(%5)
    %7 = store(%6, omap=[1])
  return %1
"""
CUT_TWICE = """sgraph
  x = input f32[b, n]
  y = input f32[n]
  %2 = custom(x, y) grid[x=gx] loop[i=f]
    %0 = load(0, imap=[1], fmap=1)
    %1 = load(1, imap=[0], fmap=0)
    %2 = mul(%0, %1)
    %3 = accum_sum(%2, dim=1)
    %4 = store(%3, omap=[1])
  return %2
"""
TWO_KERNELS = """sgraph
  q = input f32[b, d]
  k = input f32[n, d]
  v = input f32[n, e]
  %3 = custom(q, k, v) grid[x=gy] loop[i=gx]
    %0 = load(0, imap=[0])
    %1 = load(1, imap=[-], fmap=0)
    %2 = load(2, imap=[-], fmap=0)
    %3 = mul(%0, %0)
    %4 = sum(%3, dim=1)
    %5 = accum(%2)
    %6 = sum(%5, dim=0)
    %7 = square(%6)
    %8 = add(%4, %7)
    %9 = store(%8, omap=[0])
  %4 = rsqrt(%3)
  %5 = relu(%4)
  %6 = custom(%5, v) grid[x=ge]
    %0 = load(0, imap=[1])
    %1 = load(1, imap=[1])
    %2 = sum(%1, dim=0)
    %3 = sub(%2, %0)
    %4 = store(%3, omap=[1])
  return %6
"""
ATTENTION = """sgraph
  q = input f32[h, m, d]
  k = input f32[h, d, s] order(0, 2, 1)
  v = input f32[h, s, e]
  %3 = custom(q, k, v) grid[x=h, y=gy, z=ge] loop[i=f]
    %0 = load(0, imap=[0, 1, -])
    %1 = load(1, imap=[0, -, -], fmap=2)
    %2 = load(2, imap=[0, -, 2], fmap=1)
    %3 = mul_scalar(%0, 1/4)
    %4 = matmul(%3, %1)
    %5 = exp(%4)
    %6 = matmul(%5, %2)
    %7 = accum(%6)
    %8 = accum_sum(%5, dim=2)
    %9 = div(%7, %8)
    %10 = store(%9, omap=[0, 1, 2])
  return %3
"""
SHARED_BATCH = """sgraph
  x = input f32[h, b, d]
  w = input f32[d, n]
  %2 = custom(x, w) grid[x=gx] loop[i=h]
    %0 = load(0, imap=[-], fmap=0)
    %1 = load(1, imap=[1])
    %2 = matmul(%0, %1)
    %3 = accum_mean(%2, dim=0)
    %4 = store(%3, omap=[2])
  return %2
"""
SAME_TILE_TWICE = """sgraph
  x = input f32[d, d]
  %1 = custom(x) grid[x=gx, z=gz] loop[i=f]
    %0 = load(0, imap=[-, -], fmap=1)
    %1 = load(0, imap=[1, -], fmap=0)
    %2 = matmul(%0, %1)
    %3 = accum(%2)
    %4 = accum_sum(%0, dim=1)
    %5 = add(%3, %4)
    %6 = store(%5, omap=[1, -])
  return %1
"""
FLAT = """sgraph
  x = input f32[b, d]
  g = input f32[d]
  w = input f32[d, n]
  %3 = square(x)
  %4 = mean(%3, dim=1)
  %5 = add_scalar(%4, 1/100000)
  %6 = rsqrt(%5)
  %7 = mul(x, %6)
  %8 = mul(%7, g)
  %9 = matmul(%8, w)
  return %9
"""

ROWS = (("d", ("f", "ks")), ("n", ("gx", "tn")))
CASES = (
    Case("rms_eps", RMS_EPS, ("b", "f", "ks", "gx", "tn"), ROWS),
    Case("rms_eps_nk", RMS_EPS.replace("[d, n]", "[d, n] order(1, 0)"), ("b", "f", "ks", "gx", "tn"), ROWS),
    Case("rms_plain", RMS_PLAIN, ("b", "f", "ks", "gx", "tn"), ROWS),
    Case("rms_plain_nk", RMS_PLAIN.replace("[d, n]", "[d, n] order(1, 0)"), ("b", "f", "ks", "gx", "tn"), ROWS),
    Case("rms_columns", RMS_EPS.replace("[b, d]", "[b, d] order(1, 0)"), ("b", "f", "ks", "gx", "tn"), ROWS),
    Case(
        "rms_two_grid",
        RMS_TWO_GRID,
        ("gy", "tb", "f", "ks", "gx", "tn"),
        (*ROWS, ("b", ("gy", "tb"))),
    ),
    Case("gated", GATED, ("b", "f", "ks", "gx", "tn"), ROWS),
    Case(
        "gated_mixed", GATED.replace("v = input f32[d, n]", "v = input f32[d, n] order(1, 0)"),
        ("b", "f", "ks", "gx", "tn"), ROWS,
    ),
    Case("lora", LORA, ("b", "f", "ks", "gx", "tn", "r"), ROWS),
    Case("lora_inside", LORA_INSIDE, ("b", "f", "ks", "gx", "tn", "r"), ROWS),
    Case("elementwise", ELEMENTWISE, ("gy", "tb", "gx", "tn"), (("b", ("gy", "tb")), ("n", ("gx", "tn")))),
    Case("softmax", SOFTMAX, ("gy", "tb", "n"), (("b", ("gy", "tb")),)),
    Case("column_means", COLUMN_MEANS, ("gy", "tb", "gx", "tn"), (("b", ("gy", "tb")), ("n", ("gx", "tn")))),
    Case(
        "two_kernels", TWO_KERNELS, ("gy", "tb", "d", "gx", "tn", "ge", "te"),
        (("b", ("gy", "tb")), ("n", ("gx", "tn")), ("e", ("ge", "te"))),
    ),
    Case(
        "attention", ATTENTION, ("h", "gy", "tb", "d", "f", "ks", "ge", "te"),
        (("m", ("gy", "tb")), ("s", ("f", "ks")), ("e", ("ge", "te"))),
    ),
    Case("cut_twice", CUT_TWICE, ("b", "gx", "f", "tn"), (("n", ("gx", "f", "tn")),)),
    Case("shared_batch", SHARED_BATCH, ("h", "b", "d", "gx", "tn"), (("n", ("gx", "tn")),)),
    Case("same_tile_twice", SAME_TILE_TWICE, ("gx", "f", "u", "gz"), (("d", ("gx", "f", "u")),)),
    Case("flat", FLAT, ("b", "d", "n"), ()),
)  # fmt: skip


def filled(graph: SGraph, sizes: dict[str, int], seed: int = 0) -> dict[str, np.ndarray]:
    """float32 inputs, laid out as the graph says."""
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
    """Largest deviation over the largest magnitude; infinite where one is not a number."""
    assert expected.shape == found.shape
    deviation = np.abs(expected - found)
    return float(np.max(np.where(np.isnan(deviation), np.inf, deviation)) / np.max(np.abs(expected)))


def parameters(graph: SGraph, sizes: dict[str, int], **schedule: int) -> tuple[Parameters, dict[str, int]]:
    """Sizes split into the candidate's own and the shapes."""
    own = {s: sizes[s] for s in graph.parameters}
    shapes = {s: sizes[s] for s in graph.data_symbols}
    return Parameters(tuple(own.items()), tuple(schedule.items())), shapes


def verified(graph: SGraph) -> Verified:
    """A product of the verifier with a proof in name only, for stages behind it."""
    b = ProgramBuilder("stand_in")
    program = b.build(b.unary("square", b.input("x", "b", 4)))
    family = Family("f1", program, graph)
    return Verified(Candidate("f1.c1", family, graph, (), ()), Proof("normal form", "for tests", ()), ())
