"""Arbitrary sGraphs over all operators: well-typed, and most of them sensible to nobody.

`arbitrary` draws one from a `random.Random`, in a fraction of a millisecond per node, so that thousands fit a test;
`graphs` is the same as a Hypothesis strategy. Maps are drawn so that tiles mostly fit each other; they are
not drawn so that the result is right: blocks race, tiles are summed twice, rows meet columns.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache
from math import prod

import numpy as np
from hypothesis import strategies as st

from prism_explore.errors import ShapeError
from prism_explore.ir.dims import ONE, ZERO, Dim, dim
from prism_explore.ir.graph import SGraph, block_types
from prism_explore.ir.ops import (
    Accumulate,
    AccumulateRescaled,
    Band,
    Binary,
    BlockGraph,
    ComputeOp,
    Concat,
    Custom,
    Expand,
    Input,
    Load,
    MatMul,
    Node,
    Op,
    ParallelDim,
    Permute,
    Reduce,
    Reshape,
    Result,
    RunningMax,
    Scalar,
    Scan,
    Slice,
    Store,
    Unary,
    compute_dims,
    without_dim,
)
from prism_explore.ir.tensors import INTEGERS, WHOLE_NUMBERS, TensorType

Dims = tuple[Dim, ...]
Rng = random.Random

UNARY = ("exp", "square", "square", "sqrt", "rsqrt", "recip", "neg", "abs", "silu", "sigmoid", "relu", "tanh", "erf")
UNARY_RARE = ("gelu", "gelu_tanh")
BINARY = ("add", "add", "sub", "mul", "mul", "div", "max", "min")
REDUCE = ("sum", "sum", "mean", "rms", "max")
SCAN = ("cumsum", "reverse_cumsum")
CONSTANTS = tuple(Fraction(c) for c in ("1/2", "2", "-1", "3", "-3/4", "1/8", "1"))
EXPONENTS = tuple(Fraction(c) for c in ("2", "3", "-1", "1/2", "-1/2", "-2", "3/2"))

NUMBERS: tuple[dict[str, int], ...] = (
    {"n": 12, "m": 6, "k": 18, "gx": 2, "gy": 3, "f": 3, "hx": 3, "h": 2},
    {"n": 6, "m": 18, "k": 12, "gx": 3, "gy": 2, "f": 2, "hx": 2, "h": 3},
    {"n": 12, "m": 24, "k": 8, "gx": 4, "gy": 2, "f": 2, "hx": 2, "h": 4},
    {"n": 6, "m": 12, "k": 6, "gx": 6, "gy": 1, "f": 1, "hx": 1, "h": 6},
    {"n": 1, "m": 3, "k": 2, "gx": 1, "gy": 1, "f": 1, "hx": 1, "h": 1},
    {"n": 4, "m": 2, "k": 1, "gx": 1, "gy": 1, "f": 1, "hx": 1, "h": 1},
    {"n": 2, "m": 1, "k": 4, "gx": 1, "gy": 1, "f": 1, "hx": 1, "h": 1},
    {"n": 3, "m": 5, "k": 3, "gx": 1, "gy": 1, "f": 1, "hx": 1, "h": 1},
    {"n": 2, "m": 4, "k": 2, "gx": 2, "gy": 1, "f": 1, "hx": 2, "h": 2},
)
"""Numbers for the symbols; those that make some tile of a graph broken are left out for it."""
LARGEST = 4096
"""Elements of any one tensor at the first numbers."""


@dataclass
class Draft:
    """Nodes of one level and their dims; in a block, also when each exists."""

    nodes: list[Node]
    dims: list[Dims]
    when: list[str]
    keep: set[int] = field(default_factory=set)
    """Tensors that are 0 or 1 everywhere."""
    low: set[int] = field(default_factory=set)
    """Tensors that may be minus infinity: only some operators give them a meaning."""
    integers: set[int] = field(default_factory=set)
    """Positions in other tensors, which lookups alone read."""

    def put(self, op: Op, args: tuple[int, ...], dims: Dims, when: str = "kernel") -> int:
        self.nodes.append(Node(op, args))
        self.dims.append(dims)
        self.when.append(when)
        return len(self.nodes) - 1

    def compute(self, op: ComputeOp, *args: int) -> int:
        """One more node.

        Raises:
            ShapeError: the operands do not fit, or the result would be large.
        """
        dims = compute_dims(op, tuple(self.dims[a] for a in args))
        if len(dims) > 4 or elements(dims) > LARGEST:
            raise ShapeError("too large")
        met = {self.when[a] for a in args}
        return self.put(op, args, dims, next((w for w in ("loop", "after", "invariant", "kernel") if w in met), ""))

    def together(self, x: int) -> list[int]:
        """Tensors that exist when x does."""
        apart = {"loop": "after", "after": "loop"}.get(self.when[x])
        return [y for y in range(len(self.nodes)) if self.when[y] != apart and y not in self.low | self.integers]


def elements(dims: Dims) -> float:
    return prod(float(d.rational(NUMBERS[0])) for d in dims)


def _broadcasts(a: Dims, b: Dims) -> bool:
    n = min(len(a), len(b))
    return all(x == y or x.is_one or y.is_one for x, y in zip(a[len(a) - n :], b[len(b) - n :], strict=True))


def _multiplies(a: Dims, b: Dims) -> bool:
    return len(a) > 1 and len(b) > 1 and a[-1] == b[-2] and _broadcasts(a[:-2], b[:-2])


def _joins(along: int, a: Dims, b: Dims) -> bool:
    return len(a) == len(b) and all(x == y for d, (x, y) in enumerate(zip(a, b, strict=True)) if d != along)


# ---------------------------------------------------------------- one compute operator
def _unary(t: Draft, x: int, r: Rng) -> int:
    return t.compute(Unary(r.choice(UNARY if r.random() < 0.95 else UNARY_RARE)), x)  # type: ignore[arg-type]


def _scalar(t: Draft, x: int, r: Rng) -> int:
    fn = r.choice(("add", "add", "mul", "mul", "max", "min", "pow"))
    return t.compute(Scalar(fn, r.choice(EXPONENTS if fn == "pow" else CONSTANTS)), x)  # type: ignore[arg-type]


def _binary(t: Draft, x: int, r: Rng) -> int:
    y = r.choice([y for y in t.together(x) if _broadcasts(t.dims[x], t.dims[y])])
    return t.compute(Binary(r.choice(BINARY)), *r.sample((x, y), 2))  # type: ignore[arg-type]


def _matmul(t: Draft, x: int, r: Rng) -> int:
    pairs = [(x, y) for y in t.together(x) if _multiplies(t.dims[x], t.dims[y])]
    pairs += [(y, x) for y in t.together(x) if _multiplies(t.dims[y], t.dims[x])]
    if not pairs:
        raise ShapeError("nothing to multiply with")
    return t.compute(MatMul(), *r.choice(pairs))


def _reduce(t: Draft, x: int, r: Rng) -> int:
    return t.compute(Reduce(r.choice(REDUCE), _some_dim(t, x, r)), x)  # type: ignore[arg-type]


def _scan(t: Draft, x: int, r: Rng) -> int:
    return t.compute(Scan(r.choice(SCAN), _some_dim(t, x, r)), x)  # type: ignore[arg-type]


def _some_dim(t: Draft, x: int, r: Rng) -> int:
    if not t.dims[x]:
        raise ShapeError("no dims")
    long = [d for d, size in enumerate(t.dims[x]) if not size.is_one]
    return r.choice(long or range(len(t.dims[x])))


def _permute(t: Draft, x: int, r: Rng) -> int:
    order = list(range(len(t.dims[x])))
    r.shuffle(order)
    return t.compute(Permute(tuple(order)), x)


def _reshape(t: Draft, x: int, r: Rng) -> int:
    """Dims merged, split, or a 1 put in or taken out."""
    dims = list(t.dims[x])
    d = r.randrange(len(dims) + 1)
    if d == len(dims) or r.random() < 0.1:
        dims.insert(d, ONE)
    elif dims[d].is_one:
        del dims[d]
    elif d + 1 < len(dims) and r.random() < 0.6:
        dims[d : d + 2] = [dims[d] * dims[d + 1]]
    else:
        by = dim(r.choice((2, 3)))
        dims[d : d + 1] = r.sample((by, dims[d] / by), 2)
    if not dims:
        dims = [ONE]
    return t.compute(Reshape(tuple(dims)), x)


def _split(t: Draft, x: int, r: Rng) -> int:
    """A dim as two, turned, and one again: the elements in another order."""
    d = _some_dim(t, x, r)
    dims = t.dims[x]
    by = dim(r.choice((2, 3)))
    two = t.compute(Reshape((*dims[:d], by, dims[d] / by, *dims[d + 1 :])), x)
    order = list(range(len(dims) + 1))
    order[d], order[d + 1] = order[d + 1], order[d]
    turned = t.compute(Permute(tuple(order)), two)
    return t.compute(Reshape(dims), turned)


def _expand(t: Draft, x: int, r: Rng) -> int:
    ones = [d for d, size in enumerate(t.dims[x]) if size.is_one]
    if not ones:
        raise ShapeError("nothing to repeat")
    size = r.choice([size for dims in t.dims for size in dims if not size.is_one] or [dim(2)])
    return t.compute(Expand(r.choice(ones), size), x)


def _slice(t: Draft, x: int, r: Rng) -> int:
    d = _some_dim(t, x, r)
    size = t.dims[x][d]
    half, third, other = size / 2, size / 3, r.choice([s for dims in t.dims for s in dims])
    start, stop = r.choice(
        (
            (ZERO, half),
            (half, size),
            (third, third * 2),
            (third, size),
            (ONE, size),
            (ZERO, size - 1),
            (ZERO, other),
            (other, size),
            (other, other * 2),
        )
    )
    return t.compute(Slice(d, start, stop), x)


def _concat(t: Draft, x: int, r: Rng) -> int:
    d = _some_dim(t, x, r)
    y = r.choice([y for y in t.together(x) if _joins(d, t.dims[x], t.dims[y])])
    return t.compute(Concat(d), *r.sample((x, y), 2))


def _mask(t: Draft, x: int, r: Rng) -> int:
    """Something masked, and what gives it a finite meaning again."""
    keeps = [k for k in t.together(x) if k in t.keep and _broadcasts(t.dims[x], t.dims[k])]
    if not keeps:
        raise ShapeError("nothing to mask with")
    y = _lowered(t, t.compute(Binary("mask"), x, r.choice(keeps)))
    for _ in range(r.choice((0, 0, 1))):
        more = r.choice((Scalar("mul", Fraction(3, 2)), Scalar("add", Fraction(-1, 2))))
        y = _lowered(t, t.compute(more, y))
    d = _some_dim(t, y, r)
    match r.choice(("exp", "max", "softmax", "softmax", "bounded", "online")):
        case "online" if t.when[y] in ("loop", "invariant") and "loop" in t.when:
            _online(t, y, r)
            return len(t.nodes) - 1
        case "max":
            return t.compute(Reduce("max", d), y)
        case "bounded":
            return t.compute(Scalar("max", Fraction(-2)), y)
        case "softmax":
            below = _lowered(t, t.compute(Binary("sub"), y, t.compute(Reduce("max", d), y)))
            e = t.compute(Unary("exp"), below)
            return t.compute(Binary("div"), e, t.compute(Reduce("sum", d), e)) if r.random() < 0.6 else e
        case _:
            return t.compute(Unary("exp"), y)


def _lowered(t: Draft, n: int) -> int:
    t.low.add(n)
    return n


Step = Callable[[Draft, int, Rng], int]
STEPS: Mapping[str, tuple[Step, int]] = {
    "unary": (_unary, 5),
    "scalar": (_scalar, 3),
    "binary": (_binary, 6),
    "matmul": (_matmul, 6),
    "reduce": (_reduce, 4),
    "scan": (_scan, 2),
    "permute": (_permute, 2),
    "reshape": (_reshape, 3),
    "split": (_split, 1),
    "expand": (_expand, 1),
    "slice": (_slice, 2),
    "concat": (_concat, 2),
    "mask": (_mask, 6),
}
"""The compute operators, and how often each is drawn."""
_NAMES = tuple(name for name, (_, weight) in STEPS.items() for _ in range(weight))


def grow(t: Draft, steps: int, r: Rng, among: Callable[[int], bool] = lambda _: True) -> None:
    """Some more compute operators; each takes a recent tensor more likely than an old one."""
    for _ in range(steps):
        pool = [x for x in range(len(t.nodes)) if among(x) and x not in t.low]
        if not pool:
            return
        x = pool[max(r.randrange(len(pool)), r.randrange(len(pool)))]
        try:
            STEPS[r.choice(_NAMES)][0](t, x, r)
        except ShapeError:
            continue


# ---------------------------------------------------------------- one custom kernel
def _maps(dims: Dims, wanted: Sequence[Dim | None], r: Rng) -> tuple[int | None, ...]:
    """Which dim each parallel dim cuts: mostly the one it is meant for."""
    taken: set[int] = set()
    out: list[int | None] = []
    for n, size in enumerate(wanted):
        last = n == len(wanted) - 1
        free = [d for d in range(len(dims)) if (last or d not in taken) and not dims[d].is_one]
        meant = [d for d in free if dims[d] == size]
        along = r.choice(meant) if meant and r.random() < 0.93 else None
        if along is None and free and r.random() < 0.07:
            along = r.choice(free)
        if along is not None:
            taken.add(along)
        out.append(along)
    return tuple(out)


def kernel(t: Draft, r: Rng, grid: tuple[ParallelDim, ...], loop: ParallelDim | None) -> None:
    """A custom kernel over some tensors of the draft, and nodes for its further results.

    Raises:
        ShapeError: nothing came of it.
    """
    known = [n for n in range(len(t.nodes)) if n not in t.low]
    operands = tuple(r.choice(known) for _ in range(r.choice((1, 2, 2, 3))))
    operands += tuple(r.sample(sorted(t.keep), 1)) if t.keep and r.random() < 0.6 else ()
    sizes = [size for a in operands for size in t.dims[a] if not size.is_one]
    if not sizes:
        raise ShapeError("nothing to cut")
    wanted = [r.choice(sizes) if r.random() < 0.9 else None for _ in range(len(grid) + 1)]
    block = Draft([], [], [])
    for n, a in enumerate(operands):
        *imap, fmap = _maps(t.dims[a], wanted, r)
        fmap = fmap if loop else None
        cut = list(t.dims[a])
        for p, along in zip((*grid, loop), (*imap, fmap), strict=True):
            if p is not None and along is not None:
                cut[along] = cut[along] / p.size
        here = block.put(Load(n, tuple(imap), fmap), (), tuple(cut), "invariant" if fmap is None else "loop")
        if a in t.keep:
            block.keep.add(here)
    grow(block, r.choice((0, 1, 2, 3)), r, lambda x: block.when[x] != "after")
    if loop is not None:
        _accumulators(block, r)
    for _ in range(r.choice((0, 1, 2, 3))):
        grow(block, 1, r, lambda x: block.when[x] != "loop")
    _stores(block, grid, r)
    graph = BlockGraph(grid, loop, tuple(block.nodes))
    kinds = tuple(TensorType(t.dims[a], "f32") for a in operands)
    results = [block_types(graph, kinds)[n].dims for n in graph.stores]
    here = t.put(Custom(graph), operands, results[0])
    for n, dims in enumerate(results[1:], 1):
        t.put(Result(n), (here,), dims)


def _accumulators(block: Draft, r: Rng) -> None:
    for _ in range(r.choice((1, 1, 2, 3))):
        alive = [x for x in range(len(block.nodes)) if x not in block.low and block.when[x] != "after"]
        living = [x for x in alive if block.when[x] == "loop"] or alive
        x = living[max(r.randrange(len(living)), r.randrange(len(living)))]
        along = _some_dim(block, x, r) if block.dims[x] and r.random() < 0.5 else None
        kind = r.random()
        if kind < 0.2:
            _online(block, x, r)
        elif kind < 0.3:
            dims = without_dim(block.dims[x], along, "running_max")
            block.put(RunningMax(along), (x,), dims, block.when[x])
        else:
            fn = r.choice(REDUCE) if along is not None else r.choice(("sum", "sum", "max"))
            dims = without_dim(block.dims[x], along, "accumulate")
            block.put(Accumulate(fn, along), (x,), dims, "after")  # type: ignore[arg-type]


def _online(block: Draft, x: int, r: Rng) -> None:
    """A running maximum and sums that it rescales: of the right values mostly."""
    along = _some_dim(block, x, r) if block.dims[x] and r.random() < 0.8 else None
    top = block.put(RunningMax(along), (x,), without_dim(block.dims[x], along, "running_max"), block.when[x])
    scale = top if r.random() < 0.9 else r.choice([y for y in block.together(x) if block.when[y] != "after"])
    below = block.compute(Binary("sub"), x, top)
    if x in block.low:
        block.low |= {top, below}
    e = block.compute(Unary("exp"), below) if x in block.low or r.random() < 0.9 else x
    for _ in range(r.choice((1, 2))):
        v = e
        partners = [y for y in range(top) if block.when[y] != "after" and _multiplies(block.dims[e], block.dims[y])]
        reduced: int | None = along
        if partners and r.random() < 0.6:
            v, reduced = block.compute(MatMul(), e, r.choice(partners)), None
        dims = without_dim(block.dims[v], reduced, "accum_rescaled")
        fits = len(dims) == len(block.dims[scale]) and all(
            s == d or s.is_one for s, d in zip(block.dims[scale], dims, strict=True)
        )
        if fits:
            block.put(AccumulateRescaled(reduced), (v, scale), dims, "after")


def _stores(block: Draft, grid: tuple[ParallelDim, ...], r: Rng) -> None:
    known = [x for x in range(len(block.nodes)) if x not in block.low]
    done = [x for x in known if block.when[x] == "after"] or [x for x in known if block.when[x] == "invariant"]
    if not done:
        raise ShapeError("nothing to store")
    for x in r.sample(done, min(len(done), r.choice((1, 1, 1, 2)))) if r.random() < 0.3 else done[-1:]:
        omap: list[int | None] = []
        for p in grid:
            free = [d for d in range(len(block.dims[x])) if d not in omap]
            cut = [d for d in free if _is_cut(block.dims[x][d], p)]
            along = r.choice(cut) if cut and r.random() < 0.95 else None
            if along is None and free and r.random() < 0.4:
                along = r.choice(free)
            omap.append(along)
        block.put(Store(tuple(omap)), (x,), block.dims[x], "store")


def _is_cut(size: Dim, p: ParallelDim) -> bool:
    return any(dict(powers).get(str(p.size), 0) < 0 for powers, _ in size.terms)


# ---------------------------------------------------------------- one graph
GRIDS: tuple[tuple[ParallelDim, ...], ...] = (
    (ParallelDim("x", dim("gx")),),
    (ParallelDim("x", dim("gx")), ParallelDim("y", dim("gy"))),
    (ParallelDim("x", dim("hx")),),
    (),
)
LOOPS: tuple[ParallelDim | None, ...] = (
    ParallelDim("i", dim("f")),
    ParallelDim("i", dim("f")),
    ParallelDim("i", dim("h")),
    ParallelDim("i", dim("gx")),
    None,
)


def arbitrary(r: Rng) -> SGraph:
    """A graph of a few kernels, custom ones among them; some are of nothing but pieces put together and cut."""
    while True:
        try:
            graph = _pieces(r) if r.random() < PIECES else _attempt(r)
            if sizes_of(graph) and elements(graph.output_type.dims) <= LARGEST:
                return graph
        except (ShapeError, IndexError):
            continue


def _attempt(r: Rng) -> SGraph:
    named = r.random() < 0.5
    n, m, k = (dim(s) for s in "nmk") if named else (dim(r.choice((6, 12))) for _ in range(3))
    t = Draft([], [], [])
    for name, dims in (("x", (n, k)), ("w", (k, m)), ("v", (2, n, k)), ("g", (k,)))[: r.choice((1, 2, 2, 3, 4))]:
        t.put(Input(name, TensorType(tuple(map(dim, dims)), "f32")), (), tuple(map(dim, dims)))
    if r.random() < 0.3:
        low, high = r.choice(((None, ZERO), (ZERO, None), (ZERO - 1, ONE), (None, None), (ZERO - 2, ZERO)))
        t.keep.add(t.put(Band(n, k, low, high), (), (n, k)))
    grow(t, r.choice((0, 0, 1, 2)), r)
    for _ in range(r.choice((0, 1, 1, 1, 2))):
        kernel(t, r, r.choice(GRIDS), r.choice(LOOPS))
        grow(t, r.choice((0, 0, 1, 2)), r)
    grow(t, 1, r)
    known = [n for n in range(len(t.nodes)) if n not in t.low]
    return SGraph(tuple(t.nodes), known[-1])


def _pieces(r: Rng) -> SGraph:
    """Rows of unrelated lengths, joined and cut at each other's borders, and reduced."""
    t = Draft([], [], [])
    sizes = [dim(s) for s in "nmk"]
    for name, size in zip("xyz", sizes, strict=True):
        t.put(Input(name, TensorType((size,), "f32")), (), (size,))
    zero = t.compute(Scalar("mul", Fraction(0)), 1)
    for _ in range(r.randrange(1, 3)):
        row = t.compute(Concat(0), *r.sample((r.choice((0, 2)), r.choice((1, zero, len(t.nodes) - 1))), 2))
        whole = t.dims[row][0]
        borders = (ZERO, ONE, *sizes, sizes[0] + sizes[1], whole - 1, whole - sizes[2], whole)
        row = t.compute(Slice(0, *r.sample(borders, 2)), row)
        if r.random() < 0.4:
            row = t.compute(Unary(r.choice(("exp", "relu", "square", "tanh"))), row)  # type: ignore[arg-type]
        total = t.compute(Reduce(r.choice(("sum", "max", "mean", "max", "sum")), 0), row)  # type: ignore[arg-type]
    grow(t, r.choice((0, 1, 2)), r, lambda n: n >= total)
    return SGraph(tuple(t.nodes), len(t.nodes) - 1)


PIECES = 0.2
"""How many of all graphs are of pieces alone."""


def sizes_of(graph: SGraph, wanted: int = 2) -> tuple[dict[str, int], ...]:
    """Choices of numbers at which every tile is whole, up to `wanted`; the first ones at least 2 and different."""
    return _sizes((*graph.data_symbols, *graph.parameters), graph.conditions(), wanted)


@lru_cache(65536)
def _sizes(symbols: tuple[str, ...], conditions: tuple[Dim, ...], wanted: int) -> tuple[dict[str, int], ...]:
    known = [n for n in NUMBERS if n.keys() >= set(symbols)][: max(wanted // 2, 1)]
    r = random.Random(0)
    drawn = [{s: r.choice((1, 2, 2, 3, 3, 4, 6, 12)) for s in symbols} for _ in range(400)]
    drawn.sort(key=lambda n: (1 in n.values(), len(n) - len(set(n.values())), sum(n.values())))
    found: list[dict[str, int]] = []
    for numbers in (*known, *drawn):
        if all((v := d.rational(numbers)).denominator == 1 and v >= 1 for d in conditions):
            found.append({s: numbers[s] for s in symbols})
        if len(found) == wanted:
            break
    return tuple(found)


def draw_inputs(graph: SGraph, sizes: Mapping[str, int], r: Rng, coarse: float = 0.4) -> dict[str, np.ndarray]:
    """Numbers from an interval, or by chance from a few values with 0 among them, where conventions show.

    Bools are 0 or 1, other whole numbers small; integers are positions in all dims that they look up.
    """
    rng = np.random.default_rng(r.randrange(1 << 30))
    coarse = r.random() < coarse
    out: dict[str, np.ndarray] = {}
    for given in graph.inputs:
        shape = [d.value(sizes) for d in given.type.dims]
        if given.name in graph.whole_inputs:
            low, high = WHOLE_NUMBERS[given.type.dtype]
            out[given.name] = rng.integers(max(low, -2), min(high, 2), shape, endpoint=True).astype(np.float64)
        elif given.type.dtype in INTEGERS:
            limits = graph.index_limits.get(given.name, (dim(1),))
            out[given.name] = rng.integers(0, min(d.value(sizes) for d in limits), shape)
        else:
            values = (-1.0, -0.5, 0.0, 0.5, 1.0, 2.0)
            out[given.name] = rng.choice(values, shape) if coarse else rng.uniform(-1, 1, shape)
    return out


def with_output(graph: SGraph, output: int) -> SGraph:
    """The same graph, cut down to what one of its tensors needs."""
    needed = {output}
    for n in range(output, -1, -1):
        if n in needed:
            needed.update(graph.nodes[n].args)
    place = {n: k for k, n in enumerate(sorted(needed))}
    nodes = tuple(replace(graph.nodes[n], args=tuple(place[a] for a in graph.nodes[n].args)) for n in sorted(needed))
    return SGraph(nodes, place[output])


@st.composite
def graphs(draw: st.DrawFn) -> SGraph:
    """Hypothesis draws the seed only, so what it finds it cannot shrink; `with_output` cuts it down."""
    return arbitrary(random.Random(draw(st.integers(0, 1 << 48))))
