"""Hypothesis strategies for what the package is about: sizes, programs, sGraphs with their numbers."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from hypothesis import strategies as st

from prism_explore.ir.dims import Dim, dim
from prism_explore.ir.graph import SGraph
from prism_explore.ir.program import ProgramBuilder, TensorProgram
from prism_explore.ir.text import parse

SYMBOLS = ("b", "gx", "gy", "f")

sizes = st.fixed_dictionaries({s: st.integers(1, 12) for s in SYMBOLS})


@st.composite
def monomials(draw: st.DrawFn) -> Dim:
    d = dim(draw(st.integers(1, 30)))
    for symbol in draw(st.lists(st.sampled_from(SYMBOLS), max_size=3)):
        d = d * symbol
    for symbol in draw(st.lists(st.sampled_from(SYMBOLS), max_size=2)):
        d = d / symbol
    return d / draw(st.integers(1, 4))


@st.composite
def dims(draw: st.DrawFn) -> Dim:
    total = draw(monomials())
    for other in draw(st.lists(monomials(), max_size=2)):
        total = total + other
    return total


@st.composite
def programs(draw: st.DrawFn) -> TensorProgram:
    """Arbitrary well-typed programs over two or three inputs; most compute nothing sensible."""
    b = ProgramBuilder("arbitrary")
    pool = [b.input("x", "b", 6), b.input("w", 6, 6)]
    if draw(st.booleans()):
        pool.append(b.input("g", 6))
    for _ in range(draw(st.integers(1, 6))):
        kind = draw(st.sampled_from(("unary", "scalar", "binary", "matmul", "reduce")))
        x = draw(st.sampled_from(pool))
        if kind == "unary":
            pool.append(b.unary(draw(st.sampled_from(("square", "neg", "silu", "tanh", "relu"))), x))
        elif kind == "scalar":
            value = draw(st.fractions(-2, 2, max_denominator=5))
            pool.append(b.scalar(draw(st.sampled_from(("add", "mul"))), x, value))
        elif kind == "reduce":
            along = draw(st.integers(0, b.type_of(x).rank - 1))
            pool.append(b.reduce(draw(st.sampled_from(("sum", "mean", "rms"))), x, along))
        else:
            partners = [y for y in pool if _fits(b, kind, x, y)]
            if not partners:
                continue
            y = draw(st.sampled_from(partners))
            pool.append(
                b.matmul(x, y) if kind == "matmul" else b.binary(draw(st.sampled_from(("add", "sub", "mul"))), x, y)
            )
    out = b.unary("neg", pool[-1])
    needed = {out}
    nodes = b.nodes
    for position in range(out, -1, -1):
        if position in needed:
            needed.update(nodes[position].args)
    for unused in (i for i in range(3) if i < len(nodes) and i not in needed and not nodes[i].args):
        out = b.binary("add", out, b.reduce("sum", b.reduce("sum", unused, 0), b.type_of(unused).rank - 1))
    return b.build(out)


def _fits(b: ProgramBuilder, kind: str, x: int, y: int) -> bool:
    a, c = b.type_of(x).dims, b.type_of(y).dims
    if kind == "matmul":
        return len(a) == 2 and len(c) == 2 and a[-1] == c[-2]
    rank = min(len(a), len(c))
    pairs = zip(a[len(a) - rank :], c[len(c) - rank :], strict=True)
    return all(i == j or i.is_one or j.is_one for i, j in pairs)


R1 = """sgraph
  x = input f32[b, 24]
  g = input f32[24]
  w = input f32[24, 36]
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
  return %3"""


@dataclass(frozen=True)
class Example:
    """An sGraph, the flat program it should equal, and numbers for it."""

    sgraph: SGraph
    program: TensorProgram
    sizes: dict[str, int]


def rmsnorm_linear(d: int = 24, n: int = 36, *, eps: bool = True, weight: bool = True) -> TensorProgram:
    b = ProgramBuilder("rmsnorm_linear")
    x = b.input("x", "b", d)
    g = b.input("g", d) if weight else -1
    w = b.input("w", d, n)
    if eps:
        mean = b.reduce("mean", b.unary("square", x), 1)
        norm = b.unary("sqrt", b.scalar("add", mean, Fraction(1, 10**6)))
    else:
        norm = b.reduce("rms", x, 1)
    y = b.binary("div", x, norm)
    return b.build(b.matmul(b.binary("mul", y, g) if weight else y, w))


def r1_example() -> Example:
    return Example(parse(R1), rmsnorm_linear(), {"gx": 3, "f": 4})


def random_inputs(graph: SGraph, sizes: dict[str, int], seed: int = 0) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {i.name: rng.uniform(-0.65, 0.75, [d.value(sizes) for d in i.type.dims]) for i in graph.inputs}
