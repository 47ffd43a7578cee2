"""Random edits of sGraphs: the mistakes that a search, a map or a person can make.

A mutant is any graph that still type-checks and has the program's inputs and result dims; most are
wrong, some are right again in another way. `compare_numerically` says which, by the interpreter alone, at the
program's own extents: nothing of the refuter is used.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product

import numpy as np

from prism_explore.errors import ShapeError
from prism_explore.ir.dims import Dim, dim
from prism_explore.ir.evaluate import evaluate
from prism_explore.ir.ops import (
    Accumulate,
    Binary,
    Custom,
    Input,
    Load,
    Node,
    Reduce,
    Scalar,
    Store,
    Unary,
)
from prism_explore.ir.program import TensorProgram
from prism_explore.ir.sgraph import BlockGraph, SGraph

BINARY = ("add", "sub", "mul", "div")
UNARY = ("exp", "square", "sqrt", "rsqrt", "recip", "neg", "silu", "sigmoid", "relu", "tanh")
REDUCE = ("sum", "mean", "rms")
MAPS = (None, 0, 1, 2)

Nodes = list[Node]
Edit = Callable[[Nodes, random.Random], None]


# ---------------------------------------------------------------- edits of a list of nodes
def change_operator(nodes: Nodes, r: random.Random) -> None:
    """add for mul, mean for sum, a sum of tiles for a mean of tiles, another constant."""
    n = r.randrange(len(nodes))
    op = nodes[n].op
    match op:
        case Binary():
            op = Binary(r.choice(BINARY))
        case Unary():
            op = Unary(r.choice(UNARY))
        case Reduce(_, along):
            op = Reduce(r.choice(REDUCE), along)
        case Scalar(fn, value):
            op = r.choice((Scalar("add" if fn == "mul" else "mul", value), Scalar(fn, value * r.choice((2, -1)))))
        case Accumulate(_, along):
            op = Accumulate(r.choice(REDUCE), along) if along is not None else Accumulate("mean", r.choice((0, 1)))
        case _:
            return
    nodes[n] = replace(nodes[n], op=op)


def change_dim(nodes: Nodes, r: random.Random) -> None:
    """Another dim is reduced or accumulated."""
    n = r.randrange(len(nodes))
    match nodes[n].op:
        case Reduce(fn, _):
            nodes[n] = replace(nodes[n], op=Reduce(fn, r.choice((0, 1, 2))))
        case Accumulate("sum", _):
            nodes[n] = replace(nodes[n], op=Accumulate("sum", r.choice((None, 0, 1, 2))))
        case Accumulate(fn, _):
            nodes[n] = replace(nodes[n], op=Accumulate(fn, r.choice((0, 1, 2))))
        case _:
            pass


def swap_operands(nodes: Nodes, r: random.Random) -> None:
    n = r.randrange(len(nodes))
    nodes[n] = replace(nodes[n], args=tuple(reversed(nodes[n].args)))


def rewire(nodes: Nodes, r: random.Random) -> None:
    """An operand comes from elsewhere."""
    n = r.randrange(len(nodes))
    if nodes[n].args:
        k = r.randrange(len(nodes[n].args))
        nodes[n] = replace(nodes[n], args=(*nodes[n].args[:k], r.randrange(n), *nodes[n].args[k + 1 :]))


def bypass(nodes: Nodes, r: random.Random) -> None:
    """Whoever read a node reads its operand instead: a forgotten accumulator, a forgotten scale."""
    n = r.randrange(len(nodes))
    if nodes[n].args:
        to = r.choice(nodes[n].args)
        for m in range(n + 1, len(nodes)):
            nodes[m] = replace(nodes[m], args=tuple(to if a == n else a for a in nodes[m].args))


def move(nodes: Nodes, r: random.Random) -> None:
    """An operator and the one it reads change places: a root in front of an accumulator."""
    n = r.randrange(len(nodes))
    if len(nodes[n].args) == 1 and not isinstance(nodes[n].op, Store):
        before = nodes[n].args[0]
        if len(nodes[before].args) == 1:
            above, below = nodes[before].op, nodes[n].op
            nodes[before], nodes[n] = replace(nodes[before], op=below), replace(nodes[n], op=above)


def insert(nodes: Nodes, r: random.Random) -> None:
    """One more elementwise function on the way to the last node."""
    last = nodes[-1]
    if not last.args or isinstance(last.op, Custom):
        return
    k = r.randrange(len(last.args))
    extra = Node(
        r.choice((Unary(r.choice(UNARY)), Scalar("mul", Fraction(1, 2)), Scalar("mul", Fraction(1)))), (last.args[k],)
    )
    nodes[-1] = replace(last, args=(*last.args[:k], len(nodes) - 1, *last.args[k + 1 :]))
    nodes.insert(len(nodes) - 1, extra)


def change_map(nodes: Nodes, r: random.Random) -> None:
    """imap, fmap or omap of one load or store."""
    n = r.choice([n for n, node in enumerate(nodes) if isinstance(node.op, Load | Store)])
    match nodes[n].op:
        case Load(operand, imap, fmap) if imap is not None:
            if imap and r.random() < 0.6:
                k = r.randrange(len(imap))
                imap = (*imap[:k], r.choice(MAPS), *imap[k + 1 :])
            else:
                fmap = r.choice(MAPS)
            nodes[n] = replace(nodes[n], op=Load(operand, imap, fmap))
        case Store(omap) if omap:
            k = r.randrange(len(omap))
            nodes[n] = replace(nodes[n], op=Store((*omap[:k], r.choice(MAPS), *omap[k + 1 :])))
        case _:
            pass


ANYWHERE: tuple[Edit, ...] = (change_operator, change_dim, swap_operands, rewire, bypass, move)
IN_BLOCKS: tuple[Edit, ...] = (*ANYWHERE, insert, change_map, change_map, change_map)


# ---------------------------------------------------------------- edits of a graph
def mutate(graph: SGraph, r: random.Random) -> SGraph:
    """One edit, which may change nothing.

    Raises:
        ShapeError: the edit made no graph.
    """
    nodes, output = list(graph.nodes), graph.output
    kernels = [n for n, node in enumerate(nodes) if isinstance(node.op, Custom)]
    if kernels and r.random() < 0.85:
        n = r.choice(kernels)
        custom = nodes[n].op
        assert isinstance(custom, Custom)
        nodes[n] = replace(nodes[n], op=Custom(mutate_block(custom.block, r)))
        return SGraph(tuple(nodes), output)
    computed = [n for n, node in enumerate(nodes) if not isinstance(node.op, Input)]
    first = min(computed)
    r.choice(ANYWHERE)(nodes, r)
    if r.random() < 0.1:
        output = r.randrange(first, len(nodes))
    return SGraph(tuple(nodes), output)


def mutate_block(block: BlockGraph, r: random.Random) -> BlockGraph:
    nodes, grid, loop = list(block.nodes), block.grid, block.loop
    if r.random() < 0.06 and len(block.parallel) > 1:
        sizes = [p.size for p in block.parallel]
        grid = tuple(replace(p, size=r.choice(sizes)) for p in grid)
    elif r.random() < 0.03:
        loop = None
    else:
        r.choice(IN_BLOCKS)(nodes, r)
    return BlockGraph(grid, loop, tuple(nodes))


def mutants(base: SGraph, program: TensorProgram, r: random.Random) -> SGraph | None:
    """One to three edits of a candidate; None where the result does not type-check."""
    graph = base
    try:
        for _ in range(r.choice((1, 1, 2, 3))):
            graph = mutate(graph, r)
        if graph == base or graph.output_type.dims != program.graph.output_type.dims:
            return None
        graph.conditions()
    except ShapeError:
        return None
    return graph


# ---------------------------------------------------------------- small extents, and the numeric truth
SMALLER: dict[int, int] = {4096: 24, 1024: 24, 512: 12, 256: 12, 64: 12, 16: 6}


def smaller(graph: SGraph) -> SGraph:
    """The same graph with small extents; equal ones stay equal."""

    def shrink(d: Dim) -> Dim:
        return dim(SMALLER.get(d.constant or 0, d.constant or 0)) if d.constant not in (None, 1) else d

    nodes = [
        Node(Input(n.op.name, replace(n.op.type, dims=tuple(map(shrink, n.op.type.dims)))))
        if isinstance(n.op, Input)
        else n
        for n in graph.nodes
    ]
    return SGraph(tuple(nodes), graph.output)


@dataclass(frozen=True)
class Agreement:
    """The largest relative difference over some instances, or why there is none."""

    worst: float
    instances: int


def numbers_for(graph: SGraph, r: random.Random, wanted: int = 3) -> list[dict[str, int]]:
    """Some choices of numbers that make every tile whole; the first ones all at least 2 where possible."""
    symbols = tuple(dict.fromkeys((*graph.data_symbols, *graph.parameters)))
    conditions = graph.conditions()
    found: list[dict[str, int]] = []
    choices = list(product((2, 3, 4, 6), repeat=len(symbols))) if len(symbols) < 5 else []
    for _ in range(256):
        choices.append(tuple(r.choice((1, 2, 3, 4, 6, 12)) for _ in symbols))
    r.shuffle(choices)
    for choice in sorted(choices, key=lambda c: (1 in c, len(c) - len(set(c)), max(c, default=0))):
        sizes = dict(zip(symbols, choice, strict=True))
        if all((v := d.rational(sizes)).denominator == 1 and v >= 1 for d in conditions):
            found.append(sizes)
        if len(found) == wanted:
            break
    return found


def compare_numerically(program: TensorProgram, graph: SGraph, r: random.Random) -> Agreement:
    """Both sides on random inputs at several choices of numbers, where the program is finite."""
    worst, ran = 0.0, 0
    for n, sizes in enumerate(numbers_for(graph, r)):
        rng = np.random.default_rng(n)
        inputs = {i.name: rng.uniform(-1.0, 1.0, [d.value(sizes) for d in i.type.dims]) for i in program.graph.inputs}
        with np.errstate(all="ignore"):
            expected = evaluate(program, inputs)
            found = evaluate(graph, inputs, sizes)
            finite = np.isfinite(expected)
            if not finite.any():
                continue
            scale = max(float(np.abs(expected[finite]).max()), 1e-4)
            error = np.abs(expected - found)[finite] / scale
        worst = max(worst, float(np.nan_to_num(error, nan=np.inf, posinf=np.inf).max()))
        ran += 1
    return Agreement(worst, ran)
