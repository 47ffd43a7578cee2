"""Random programs over every operator, kernels for them, and inputs at which conventions and rounding show.

`OPERATORS` has one row per operator of the tables, and each program is drawn around one of them. A function of
`ir.elementwise` has its row by itself; a new class of operators needs one in `OPERATORS`, and a case in each of the
judges. `test_soundness.py` fails until it has them.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from prism_explore.errors import ShapeError
from prism_explore.events.journal import Journal
from prism_explore.instantiate import instantiate
from prism_explore.ir.dims import ONE, ZERO, dim
from prism_explore.ir.elementwise import BINARY, CASTS, REAL, UNARY
from prism_explore.ir.graph import SGraph
from prism_explore.ir.interpreter.whole_numbers import draw_for_trial
from prism_explore.ir.ops import (
    REDUCE_FNS,
    SCALAR_FNS,
    SCAN_FNS,
    Accumulate,
    Band,
    Binary,
    BlockGraph,
    Custom,
    Input,
    Load,
    Lookup,
    MatMul,
    Node,
    Op,
    Reduce,
    Scalar,
    Scan,
    Store,
    Unary,
    lookup_dims,
    op_name,
)
from prism_explore.ir.program import TensorProgram
from prism_explore.ir.tensors import WHOLE_NUMBERS, DType, TensorType
from prism_explore.pipeline.search_space import default_space
from prism_explore.pipeline.stages import Family
from tests.generate.programs import MACHINE
from tests.verify.mutate import tidy
from tests.verify.programs import CONSTANTS, EXPONENTS, LARGEST, STEPS, Draft, elements, sizes_of

Rng = random.Random
Step = Callable[[Draft, int, Rng], int]
LARGEST_TRIAL = 1_500
"""Elements of any tensor of a program at the sizes that it is tried at."""


# ---------------------------------------------------------------- one operator
def _in_domain(t: Draft, fn: str, x: int, r: Rng) -> int:
    """Mostly numbers of which a function is defined: a square and a little, or what is between -1 and 1."""
    domain = UNARY[fn].domain
    if domain == REAL or r.random() < 0.2:
        return x
    if domain.high < float("inf"):
        return t.compute(Scalar("mul", Fraction(7, 8)), t.compute(Unary("tanh"), x))
    return t.compute(Scalar("add", Fraction(1, 8)), t.compute(Unary("square"), x))


def _unary(fn: str) -> Step:
    return lambda t, x, r: t.compute(Unary(fn), _in_domain(t, fn, x, r))


def _to_whole(fn: str) -> Step:
    """A cast to integers, of whole numbers that fit."""
    low, high = WHOLE_NUMBERS[CASTS[fn]]

    def step(t: Draft, x: int, r: Rng) -> int:
        within = t.compute(Scalar("min", Fraction(high)), t.compute(Scalar("max", Fraction(low)), x))
        return t.compute(Unary(fn), t.compute(Unary("round"), within))

    return step


def _scalar(fn: Any) -> Step:
    def step(t: Draft, x: int, r: Rng) -> int:
        if fn != "pow":
            return t.compute(Scalar(fn, r.choice((*CONSTANTS, Fraction(0)))), x)
        exponent = r.choice(EXPONENTS)
        return t.compute(Scalar(fn, exponent), _in_domain(t, "sqrt", x, r) if exponent.denominator > 1 else x)

    return step


def _binary(fn: Any) -> Step:
    def step(t: Draft, x: int, r: Rng) -> int:
        others = t.keep if fn in ("keep", "drop") and t.keep and r.random() < 0.7 else set(t.together(x))
        fitting = [y for y in sorted(others) if _broadcast(t, x, y)]
        if not fitting:
            raise ShapeError("nothing to combine with")
        return t.compute(Binary(fn), x, r.choice(fitting))

    return step


def _broadcast(t: Draft, x: int, y: int) -> bool:
    pairs = list(zip(reversed(t.dims[x]), reversed(t.dims[y]), strict=False))
    return all(a == b or a.is_one or b.is_one for a, b in pairs)


def _lookup(t: Draft, x: int, r: Rng) -> int:
    """Elements of x at positions that are an integer input, which may be one of an earlier lookup."""
    if not t.dims[x]:
        raise ShapeError("no dims")
    along = r.randrange(len(t.dims[x]))
    batch = r.randint(0, along)
    if t.integers and r.random() < 0.5:
        positions = r.choice(sorted(t.integers))
        fitting = [n for n in range(along + 1) if t.dims[positions][:n] == t.dims[x][:n]]
        batch = r.choice(fitting)
    else:
        dims = (*t.dims[x][:batch], *(r.choice(t.dims[x]) for _ in range(r.choice((0, 1, 1, 1, 2)))))
        dtype: DType = r.choice(("i64", "i32"))
        positions = t.put(Input(f"i{len(t.integers)}", TensorType(dims, dtype)), (), dims)
        t.integers.add(positions)
    op = Lookup(along, batch)
    dims = lookup_dims(op, t.dims[x], t.dims[positions])
    if len(dims) > 4 or elements(dims) > LARGEST:
        raise ShapeError("too large")
    return t.put(op, (x, positions), dims)


def _along(make: Callable[[int], Any]) -> Step:
    def step(t: Draft, x: int, r: Rng) -> int:
        if not t.dims[x]:
            raise ShapeError("no dims")
        long = [d for d, size in enumerate(t.dims[x]) if not size.is_one]
        return t.compute(make(r.choice(long or range(len(t.dims[x])))), x)

    return step


OPERATORS: Mapping[str, Step] = {
    **{fn: _to_whole(fn) if fn in ("to_i8", "to_u8") else _unary(fn) for fn in UNARY},
    **{f"{fn}_scalar": _scalar(fn) for fn in SCALAR_FNS},
    **{fn: _binary(fn) for fn in BINARY if fn != "mask"},
    **{f"reduce {fn}": _along(lambda d, fn=fn: Reduce(fn, d)) for fn in REDUCE_FNS},  # type: ignore[misc]
    **{fn: _along(lambda d, fn=fn: Scan(fn, d)) for fn in SCAN_FNS},  # type: ignore[misc]
    **{name: STEPS[name][0] for name in ("matmul", "mask", "permute", "reshape", "expand", "slice", "concat")},
    "lookup": _lookup,
}
"""Every operator of a program that computes or moves elements, by its name; `band` is an input of `mask`, and integers
are inputs of `lookup`."""
NAMES = tuple(OPERATORS)


def operator_name(op: Op) -> str:
    """The row of an operator in the account: its name, and `reduce max` for what is not `max` of two."""
    return f"reduce {op.fn}" if isinstance(op, Reduce) else op_name(op)


# ---------------------------------------------------------------- one program
def drawn_program(number: int, seed: int) -> TensorProgram:
    """The program of this number, around the operator whose turn it is.

    Args:
        number: from 0 on.
        seed: of all programs.
    """
    r = Rng(f"program {seed} {number}")
    wanted = NAMES[number % len(NAMES)]
    while True:
        try:
            graph = _attempt(wanted, r)
        except (ShapeError, IndexError):
            continue
        numbers = sizes_of(graph, 1)
        is_closed = graph.inputs and not graph.parameters  # no size of an input that was left out
        if is_closed and numbers and _largest(graph, numbers[0]) <= LARGEST_TRIAL:
            return TensorProgram(f"p{number}", graph)


def _attempt(wanted: str, r: Rng) -> SGraph:
    n, m, k = (dim(s) for s in "nmk") if r.random() < 0.7 else (dim(r.choice((4, 6, 12))) for _ in range(3))
    t = Draft([], [], [])
    dtype: DType = r.choice(("f32", "f32", "f32", "bf16", "f16"))
    given = (("x", (n, k)), ("w", (k, m)), ("y", (n, k)), ("v", (2, n, k)), ("g", (k,)))
    for name, dims in (given[0], *r.sample(given[1:], r.choice((0, 1, 2, 2, 3)))):
        t.put(Input(name, TensorType(tuple(map(dim, dims)), dtype)), (), tuple(map(dim, dims)))
    if wanted == "mask" or r.random() < 0.25:
        low, high = r.choice(((None, ZERO), (ZERO, None), (ZERO - 1, ONE), (ZERO - 2, ZERO)))
        t.keep.add(t.put(Band(n, k, low, high), (), (n, k)))
    if r.random() < 0.25:
        whole: DType = r.choice(("bool", "bool", "i8", "u8"))
        t.keep.add(t.put(Input("c", TensorType((n, k), whole)), (), (n, k)))
    steps = [r.choice(NAMES) for _ in range(r.choice((1, 2, 3, 4, 5)))]
    steps.insert(r.randrange(len(steps) + 1), wanted)
    last = 0
    for step in steps:
        pool = [x for x in range(len(t.nodes)) if x not in t.low | t.integers]
        x = pool[max(r.randrange(len(pool)), r.randrange(len(pool)))]
        try:
            last = OPERATORS[step](t, x, r)
        except (ShapeError, IndexError):
            if step == wanted:
                raise
    if last in t.low or not t.nodes[last].args:
        raise ShapeError("no result")
    graph = _without_unused_inputs(t.nodes, last)
    if wanted not in {operator_name(node.op) for node in graph.nodes}:
        raise ShapeError("it became no part of the result")
    return graph


def _without_unused_inputs(nodes: list[Node], output: int) -> SGraph:
    wanted = {output}
    for n in range(output, -1, -1):
        if n in wanted:
            wanted.update(nodes[n].args)
    place = {n: k for k, n in enumerate(sorted(wanted))}
    kept = tuple(replace(nodes[n], args=tuple(place[a] for a in nodes[n].args)) for n in sorted(wanted))
    return SGraph(kept, place[output])


def _largest(graph: SGraph, sizes: Mapping[str, int]) -> float:
    largest = 1.0
    for t in graph.types():
        elements = 1.0
        for d in t.dims:
            elements *= float(d.rational(sizes))
        largest = max(largest, elements)
    return largest


# ---------------------------------------------------------------- kernels for a program
def fused(program: TensorProgram, r: Rng) -> SGraph | None:
    """The program as one custom kernel with maps that `instantiate` admits; None where it admits none.

    Some sums become accumulators of a for-loop, also where that is wrong: the prover has to say.
    """
    graph = program.graph
    before, loaded = _before_the_kernel(graph)
    block: list[Node] = [Node(Load(k)) for k in range(len(loaded))]
    place = {n: k for k, n in enumerate(loaded)}
    accumulates = r.random() < 0.6
    for n, node in enumerate(graph.nodes):
        if n in before:
            continue
        args = tuple(place[a] for a in node.args)
        match node.op:
            case Reduce(fn, along) if accumulates and r.random() < 0.7:
                block.append(Node(Accumulate(fn, along), args))
            case MatMul() if accumulates and r.random() < 0.7:
                block.append(Node(node.op, args))
                block.append(Node(Accumulate("sum"), (len(block) - 1,)))
            case op:
                block.append(Node(op, args))  # type: ignore[arg-type]
        place[n] = len(block) - 1
    block.append(Node(Store(), (place[graph.output],)))
    open_graph = _with_kernel(graph, before, loaded, block)
    try:
        open_graph.types()
        space = default_space(program)
        found = list(instantiate(Family("f1", program, open_graph), space, MACHINE, Journal(clock=lambda: 0.0)))
    except ShapeError:
        return None
    return r.choice(found).sgraph if found else None


def in_one_block(program: TensorProgram) -> SGraph:
    """The program as one custom kernel of one block, which is right for every program."""
    graph = program.graph
    before, loaded = _before_the_kernel(graph)
    block = [Node(Load(k, ()), ()) for k in range(len(loaded))]
    place = {n: k for k, n in enumerate(loaded)}
    for n, node in enumerate(graph.nodes):
        if n not in before:
            block.append(Node(node.op, tuple(place[a] for a in node.args)))  # type: ignore[arg-type]
            place[n] = len(block) - 1
    block.append(Node(Store(()), (place[graph.output],)))
    return tidy(_with_kernel(graph, before, loaded, block))


def _before_the_kernel(graph: SGraph) -> tuple[list[int], list[int]]:
    """Positions of inputs, bands, lookups and what these read; and those among them that a kernel of the rest reads."""
    before: set[int] = set()
    for n in reversed(range(len(graph.nodes))):
        if n in before or isinstance(graph.nodes[n].op, Input | Band | Lookup):
            before |= {n, *graph.nodes[n].args}
    read = {a for n, node in enumerate(graph.nodes) if n not in before for a in node.args} | {graph.output}
    return sorted(before), sorted(before & read)


def _with_kernel(graph: SGraph, before: Sequence[int], loaded: Sequence[int], block: Sequence[Node]) -> SGraph:
    """Some nodes of a graph, and a custom kernel that reads some of them."""
    place = {n: k for k, n in enumerate(before)}
    kept = (graph.nodes[n] for n in before)
    nodes = [replace(node, args=tuple(place[a] for a in node.args)) for node in kept]
    nodes.append(Node(Custom(BlockGraph((), None, tuple(block))), tuple(place[n] for n in loaded)))
    return SGraph(tuple(nodes), len(nodes) - 1)


# ---------------------------------------------------------------- inputs
@dataclass(frozen=True)
class Drawing:
    """A way to draw the inputs of a program."""

    name: str
    number: Callable[[np.random.Generator, tuple[int, ...]], np.ndarray]


def _with(values: tuple[float, ...], share: float) -> Callable[[np.random.Generator, tuple[int, ...]], np.ndarray]:
    """Numbers of ordinary size, some of which are replaced by these."""

    def draw(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
        return np.where(rng.random(shape) < share, rng.choice(values, shape), rng.uniform(-2, 2, shape))

    return draw


def _scaled_rows(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    rows = (*shape[:1], *(1 for _ in shape[1:]))
    return rng.uniform(-2, 2, shape) * 10.0 ** rng.uniform(-4, 3, rows)


DRAWINGS = (
    Drawing("ordinary", lambda rng, shape: rng.uniform(-2, 2, shape)),
    Drawing("ties and zeros", _with((-1.0, 0.0, 1.0), 0.9)),
    Drawing("zero divisors", _with((0.0, -0.0), 0.5)),
    Drawing("infinities", _with((np.inf, -np.inf), 0.06)),
    Drawing("denormals", _with((1e-40, -3e-42, 1.2e-38, 0.0), 0.5)),
    Drawing("rows of very different magnitude", _scaled_rows),
)
"""In turn; masks are 0 in half of their elements, and in whole rows, by chance."""


def position_limits(graphs: Sequence[SGraph], sizes: Mapping[str, int]) -> dict[str, int]:
    """Per integer input, the size of the smallest dim that some of the graphs look up in."""
    found: dict[str, int] = {}
    for graph in graphs:
        for name, dims in graph.index_limits.items():
            found[name] = min(found.get(name, LARGEST), *(d.value(sizes) for d in dims))
    return found


def drawn_inputs(
    program: TensorProgram, sizes: Mapping[str, int], limits: Mapping[str, int], drawing: Drawing, seed: int
) -> dict[str, np.ndarray]:
    """float64 arrays of numbers that the inputs' dtypes have, and int64 arrays of positions.

    Args:
        program: the program.
        sizes: values of its symbols.
        limits: what the positions of each integer input are below.
        drawing: how.
        seed: of the numbers.
    """
    import torch

    rng = np.random.default_rng(seed)
    found: dict[str, np.ndarray] = {}
    for given in program.inputs:
        shape = tuple(d.value(sizes) for d in given.type.dims)
        if given.type.dtype == "bool":
            kept = rng.random(shape) < 0.5
            found[given.name] = np.where(rng.random((*shape[:-1], 1)) < 0.2, False, kept).astype(np.float64)
            continue
        if given.type.dtype in WHOLE_NUMBERS:
            found[given.name] = draw_for_trial(rng, shape, given.type.dtype)
            continue
        if given.name in limits:
            found[given.name] = rng.integers(0, limits[given.name], shape)
            continue
        stored = getattr(torch, {"f32": "float32", "bf16": "bfloat16", "f16": "float16"}[given.type.dtype])
        found[given.name] = torch.tensor(drawing.number(rng, shape)).to(stored).double().numpy()
    return found
