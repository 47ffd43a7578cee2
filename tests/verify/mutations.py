"""Kinds of mutation, one per row: the mistakes that a search, a map, a rule set or a person can make.

A kind edits one level of a graph in place, the kernel graph or one block graph, and says whether it found
something to edit. Some always give an equal graph again (`spelling`), to see what a prover misses; the others
mostly give a wrong one, sometimes a right one in another way, and now and then none that type-checks.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Literal, TypeVar, cast

from prism_explore.errors import ShapeError
from prism_explore.ir.dims import ZERO, Dim, dim
from prism_explore.ir.elementwise import BITS, CASTS
from prism_explore.ir.elementwise import UNARY as ROWS
from prism_explore.ir.graph import block_types
from prism_explore.ir.ops import (
    Accumulate,
    AccumulateRescaled,
    Band,
    Binary,
    BlockGraph,
    Concat,
    Custom,
    Expand,
    Input,
    Load,
    Lookup,
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
)
from prism_explore.ir.tensors import INTEGERS, TensorType

Rng = random.Random
UNARY = ("exp", "square", "sqrt", "rsqrt", "recip", "neg", "abs", "silu", "sigmoid", "relu", "tanh", "erf", "gelu")
ACTIVATIONS = ("silu", "sigmoid", "relu", "tanh", "erf", "gelu", "gelu_tanh", "exp")
NONLINEAR = ("exp", "silu", "sqrt", "rsqrt", "relu", "sigmoid", "tanh", "gelu", "square")
SCANS = ("cumsum", "reverse_cumsum")
BINARY = ("add", "sub", "mul", "div", "max", "min")
MAPS = (None, 0, 1, 2)
MAP_ATTEMPTS = 60
K = TypeVar("K")


@dataclass
class Level:
    """The nodes of a kernel graph or of one block graph while they are edited."""

    nodes: list[Node]
    dims: list[tuple[Dim, ...]]
    """Per node, before the edit; those of inserted nodes are those of the node they stand for."""
    grid: tuple[ParallelDim, ...] = ()
    loop: ParallelDim | None = None
    output: int = -1
    operands: tuple[TensorType, ...] = ()
    """In a block, what its loads read."""

    def places(self, kind: type[K], *names: str) -> list[int]:
        """Where operators of a kind stand, of these functions if some are named."""
        return [
            n
            for n, node in enumerate(self.nodes)
            if isinstance(node.op, kind) and (not names or getattr(node.op, "fn", "") in names)
        ]

    def computed(self) -> list[int]:
        """Nodes with operands, stores left out."""
        return [n for n, node in enumerate(self.nodes) if node.args and not isinstance(node.op, Store)]

    def readers(self, n: int) -> list[int]:
        return [m for m, node in enumerate(self.nodes) if n in node.args]

    def set(self, n: int, op: Any, *args: int) -> bool:
        """Another operator at a place, with other operands if some are given."""
        new = Node(cast(Op, op), args or self.nodes[n].args)
        changed = new != self.nodes[n]
        self.nodes[n] = new
        return changed

    def insert(self, at: int, op: Any, *args: int) -> int:
        """A node in front of place `at`; operands count as before the insertion."""
        shape = self.dims[min(at, len(self.dims) - 1)] if not args else self.dims[args[0]]

        def moved(a: int) -> int:
            return a + (a >= at)

        self.nodes = [replace(node, args=tuple(map(moved, node.args))) for node in self.nodes]
        self.nodes.insert(at, Node(cast(Op, op), args))
        self.dims.insert(at, shape)
        if self.output >= at:
            self.output += 1
        return at

    def instead(self, n: int, to: int, *, but: int = -1) -> None:
        """Whoever read one tensor reads another."""
        for m, node in enumerate(self.nodes):
            if m != but and m != to:
                self.nodes[m] = replace(node, args=tuple(to if a == n else a for a in node.args))
        if self.output == n:
            self.output = to

    def wrap(self, n: int, op: Any, *more: int) -> int:
        """An operator behind a node, which all its readers read instead."""
        new = self.insert(n + 1, op, n, *more)
        self.instead(n, new, but=new)
        return new


Edit = Callable[[Level, Rng], bool]
Where = Literal["block", "kernel", "any"]


@dataclass(frozen=True)
class Kind:
    """One row."""

    name: str
    sentence: str
    where: Where
    edit: Edit
    spelling: bool = False
    """Whether the result is always equal to what it was."""


def _pick(found: list[int], r: Rng) -> int | None:
    return r.choice(found) if found else None


# ---------------------------------------------------------------- operands and operators
def swap_operands(*fns: str) -> Edit:
    def edit(t: Level, r: Rng) -> bool:
        n = _pick(t.places(Binary, *fns) if fns else t.places(MatMul), r)
        return n is not None and t.set(n, t.nodes[n].op, *reversed(t.nodes[n].args))

    return edit


def replaced(kind: type[Any], before: str, after: str) -> Edit:
    """One function for another of the same kind of operator."""

    def edit(t: Level, r: Rng) -> bool:
        n = _pick(t.places(kind, before), r)
        if n is None:
            return False
        op = t.nodes[n].op
        if isinstance(op, Accumulate) and op.dim is None and after not in ("sum", "max"):
            return False
        return t.set(n, replace(op, fn=after))  # type: ignore[call-arg]

    return edit


def either(*edits: Edit) -> Edit:
    """The first of some edits, in an arbitrary order, that finds something."""

    def edit(t: Level, r: Rng) -> bool:
        return any(e(t, r) for e in r.sample(edits, len(edits)))

    return edit


def one_of(kind: type[Any], names: tuple[str, ...], among: tuple[str, ...]) -> Edit:
    def edit(t: Level, r: Rng) -> bool:
        n = _pick(t.places(kind, *names), r)
        return n is not None and t.set(n, replace(t.nodes[n].op, fn=r.choice(among)))  # type: ignore[call-arg]

    return edit


def rewire(t: Level, r: Rng) -> bool:
    n = _pick([n for n, node in enumerate(t.nodes) if node.args], r)
    if n is None:
        return False
    args, k = t.nodes[n].args, r.randrange(len(t.nodes[n].args))
    alike = [m for m in range(n) if t.dims[m] == t.dims[args[k]]]
    to = r.choice(alike) if r.random() < 0.7 else r.randrange(n)
    return t.set(n, t.nodes[n].op, *args[:k], to, *args[k + 1 :])


def one_operand_twice(t: Level, r: Rng) -> bool:
    n = _pick(t.places(Binary), r)
    if n is None:
        return False
    a = r.choice(t.nodes[n].args)
    return t.set(n, t.nodes[n].op, a, a)


def bypassed(kind: type[Any], *fns: str) -> Edit:
    """Readers of a node read its first operand."""

    def edit(t: Level, r: Rng) -> bool:
        n = _pick([n for n in t.places(kind, *fns) if t.nodes[n].args and not isinstance(t.nodes[n].op, Store)], r)
        if n is None:
            return False
        t.instead(n, t.nodes[n].args[0])
        return True

    return edit


def bypass_anything(t: Level, r: Rng) -> bool:
    n = _pick(t.computed(), r)
    if n is None or isinstance(t.nodes[n].op, Custom):
        return False
    t.instead(n, r.choice(t.nodes[n].args))
    return True


def inserted(*ops: Op) -> Edit:
    """An operator behind some node."""

    def edit(t: Level, r: Rng) -> bool:
        n = r.randrange(len(t.nodes))
        if isinstance(t.nodes[n].op, Store | Custom | Input):
            return False
        t.wrap(n, r.choice(ops))
        return True

    return edit


def change_constant(t: Level, r: Rng) -> bool:
    n = _pick(t.places(Scalar), r)
    if n is None:
        return False
    op = t.nodes[n].op
    assert isinstance(op, Scalar)
    value = r.choice((op.value * 2, -op.value, op.value + 1, 1 / op.value if op.value else Fraction(1)))
    return t.set(n, Scalar(op.fn, value))


# ---------------------------------------------------------------- what moves across what
def exchange(above: Callable[[Op], bool], below: Callable[[Op], bool]) -> Edit:
    """below(above(x)) becomes above(below(x))."""

    def edit(t: Level, r: Rng) -> bool:
        found = [
            n
            for n, node in enumerate(t.nodes)
            if len(node.args) == 1
            and below(node.op)
            and len(t.nodes[node.args[0]].args) == 1
            and above(t.nodes[node.args[0]].op)
        ]
        n = _pick(found, r)
        if n is None:
            return False
        first = t.nodes[n].args[0]
        one, other = t.nodes[first], t.nodes[n]
        t.nodes[first], t.nodes[n] = Node(other.op, one.args), Node(one.op, other.args)
        return one.op != other.op

    return edit


def is_nonlinear(op: Op) -> bool:
    return isinstance(op, Unary) and op.fn in NONLINEAR


def is_sum(op: Op) -> bool:
    return isinstance(op, Accumulate | Reduce) and op.fn != "rms"


def is_scan(op: Op) -> bool:
    return isinstance(op, Scan)


def is_elementwise(op: Op) -> bool:
    return isinstance(op, Unary | Scalar)


def is_plus(op: Op) -> bool:
    return isinstance(op, Scalar) and op.fn == "add"


def is_view(op: Op) -> bool:
    return isinstance(op, Permute | Reshape | Expand | Slice)


def into_matmul(t: Level, r: Rng) -> bool:
    """f(a @ b) becomes f(a) @ b or a @ f(b)."""
    found = [n for n in t.places(Unary, *NONLINEAR) if isinstance(t.nodes[t.nodes[n].args[0]].op, MatMul)]
    n = _pick(found, r)
    if n is None:
        return False
    product, fn = t.nodes[n].args[0], t.nodes[n].op
    args = t.nodes[product].args
    k = r.randrange(2)
    early = t.insert(product, fn, args[k])
    now = [early if j == k else a for j, a in enumerate(args)]
    t.set(product + 1, MatMul(), *now)
    t.instead(n + 1, product + 1)
    return True


def divide_before_matmul(t: Level, r: Rng) -> bool:
    """(a @ b) / c becomes (a / c) @ b."""
    found = [n for n in t.places(Binary, "div") if isinstance(t.nodes[t.nodes[n].args[0]].op, MatMul)]
    n = _pick(found, r)
    if n is None:
        return False
    product, by = t.nodes[n].args
    a, b = t.nodes[product].args
    early = t.insert(n, Binary("div"), a, by)
    return t.set(n + 1, MatMul(), early, b)


def divide_after_matmul(t: Level, r: Rng) -> bool:
    """(a / c) @ b becomes (a @ b) / c, right where c is one number per row."""
    found = [n for n in t.places(MatMul) if getattr(t.nodes[t.nodes[n].args[0]].op, "fn", "") == "div"]
    n = _pick(found, r)
    if n is None:
        return False
    a, c = t.nodes[t.nodes[n].args[0]].args
    early = t.insert(n, MatMul(), a, t.nodes[n].args[1])
    return t.set(n + 1, Binary("div"), early, c)


def accumulate_first(t: Level, r: Rng) -> bool:
    """accum(a op b) becomes accum(a) op accum(b)."""
    found = [
        n
        for n in t.places(Accumulate)
        if isinstance(t.nodes[t.nodes[n].args[0]].op, Binary | MatMul) and len(t.nodes[t.nodes[n].args[0]].args) == 2
    ]
    n = _pick(found, r)
    if n is None:
        return False
    accumulate, both = t.nodes[n].op, t.nodes[t.nodes[n].args[0]]
    a = t.insert(n, accumulate, both.args[0])
    b = t.insert(n + 1, accumulate, both.args[1])
    return t.set(n + 2, both.op, a, b)


def accumulate_last(t: Level, r: Rng) -> bool:
    """accum(a) op accum(b) becomes accum(a op b); a reduction within the accumulator stays in the loop."""
    found = [
        n
        for n in (*t.places(Binary), *t.places(MatMul))
        if all(isinstance(t.nodes[a].op, Accumulate) for a in t.nodes[n].args)
    ]
    n = _pick(found, r)
    if n is None:
        return False
    op, total = t.nodes[n].op, n
    now: list[int] = []
    for a in t.nodes[n].args:
        accumulate = t.nodes[a].op
        assert isinstance(accumulate, Accumulate)
        tile = t.nodes[a].args[0]
        if accumulate.dim is not None:
            tile = t.insert(total, Reduce(accumulate.fn, accumulate.dim), tile)
            total += 1
        now.append(tile)
    joined = t.insert(total, op, *now)
    return t.set(total + 1, Accumulate("sum"), joined)


# ---------------------------------------------------------------- accumulators and loops
def drop_accumulator(t: Level, r: Rng) -> bool:
    """Only the tile counts: what was accumulated is loaded whole, or not at all cut."""
    n = _pick(t.places(Accumulate), r)
    if n is None:
        return False
    op = t.nodes[n].op
    assert isinstance(op, Accumulate)
    for m in t.places(Load):
        load = t.nodes[m].op
        assert isinstance(load, Load)
        t.nodes[m] = Node(replace(load, fmap=None))
    if op.dim is None:
        t.instead(n, t.nodes[n].args[0])
        return True
    return t.set(n, Reduce(op.fn, op.dim))


def accumulate_twice(t: Level, r: Rng) -> bool:
    n = _pick(t.places(Accumulate, "sum"), r)
    if n is None:
        return False
    new = t.insert(n + 1, Binary("add"), n, n)
    t.instead(n, new, but=new)
    return True


def accumulate_another_dim(t: Level, r: Rng) -> bool:
    n = _pick([*t.places(Accumulate), *t.places(AccumulateRescaled), *t.places(RunningMax)], r)
    if n is None:
        return False
    op = t.nodes[n].op
    needs = isinstance(op, Accumulate) and op.fn in ("mean", "rms")
    return t.set(n, replace(op, dim=r.choice((0, 1, 2) if needs else (None, 0, 1, 2))))  # type: ignore[call-arg]


def reduce_another_dim(t: Level, r: Rng) -> bool:
    return _along_another_dim(t, r, Reduce)


def scan_another_dim(t: Level, r: Rng) -> bool:
    return _along_another_dim(t, r, Scan)


def look_up_another_dim(t: Level, r: Rng) -> bool:
    n = _pick(t.places(Lookup), r)
    if n is None:
        return False
    along = r.randrange(max(1, len(t.dims[t.nodes[n].args[0]])))
    return t.set(n, Lookup(along, r.randint(0, along)))


def look_up_other_positions(t: Level, r: Rng) -> bool:
    """A lookup reads another integer input."""
    n = _pick(t.places(Lookup), r)
    if n is None:
        return False
    node = t.nodes[n]
    integers = [k for k, x in enumerate(t.nodes[:n]) if isinstance(x.op, Input) and x.op.type.dtype in INTEGERS]
    other = r.choice(integers)
    t.nodes[n] = Node(node.op, (node.args[0], other))
    return other != node.args[1]


def exchange_with_lookup(t: Level, r: Rng) -> bool:
    """f(lookup(x)) becomes lookup(f(x)), or the reverse."""
    found = [
        n
        for n, node in enumerate(t.nodes)
        if node.args
        and {isinstance(node.op, Lookup), isinstance(t.nodes[node.args[0]].op, Lookup)} == {True, False}
        and any(isinstance(t.nodes[k].op, Unary | Scalar | Reduce) for k in (n, node.args[0]))
    ]
    n = _pick(found, r)
    if n is None:
        return False
    first = t.nodes[n].args[0]
    one, other = t.nodes[first], t.nodes[n]
    t.nodes[first] = Node(other.op, (one.args[0], *other.args[1:]))
    t.nodes[n] = Node(one.op, (first, *one.args[1:]))
    return True


def _along_another_dim(t: Level, r: Rng, kind: type[Reduce | Scan]) -> bool:
    n = _pick(t.places(kind), r)
    if n is None:
        return False
    op = t.nodes[n].op
    assert isinstance(op, kind)
    return t.set(n, replace(op, dim=r.randrange(max(1, len(t.dims[n])))))


def without_own_term(t: Level, r: Rng) -> bool:
    """Readers of a scan read it less its operand."""
    n = _pick(t.places(Scan), r)
    if n is None:
        return False
    t.wrap(n, Binary("sub"), *t.nodes[n].args)
    return True


def total_for_scan(t: Level, r: Rng) -> bool:
    n = _pick(t.places(Scan), r)
    if n is None:
        return False
    op = t.nodes[n].op
    assert isinstance(op, Scan)
    return t.set(n, Reduce("sum", op.dim))


def no_loop(t: Level, r: Rng) -> bool:
    if t.loop is None:
        return False
    t.loop = None
    for m in t.places(Load):
        load = t.nodes[m].op
        assert isinstance(load, Load)
        t.nodes[m] = Node(replace(load, fmap=None))
    return True


def no_rescale(t: Level, r: Rng) -> bool:
    n = _pick(t.places(AccumulateRescaled), r)
    if n is None:
        return False
    op = t.nodes[n].op
    assert isinstance(op, AccumulateRescaled)
    return t.set(n, Accumulate("sum", op.dim), t.nodes[n].args[0])


def rescale_by_another(t: Level, r: Rng) -> bool:
    n = _pick(t.places(AccumulateRescaled), r)
    if n is None:
        return False
    v, m = t.nodes[n].args
    alike = [k for k in range(n) if t.dims[k] == t.dims[m] and k != m]
    return bool(alike) and t.set(n, t.nodes[n].op, v, r.choice(alike))


def maximum_of_the_tile(t: Level, r: Rng) -> bool:
    n = _pick(t.places(RunningMax), r)
    if n is None:
        return False
    op = t.nodes[n].op
    assert isinstance(op, RunningMax)
    if op.dim is None:
        t.instead(n, t.nodes[n].args[0])
        return True
    return t.set(n, Reduce("max", op.dim))


def maximum_not_subtracted(t: Level, r: Rng) -> bool:
    found = [n for n in t.places(Binary, "sub") if any(_is_max(t.nodes[a].op) for a in t.nodes[n].args[1:])]
    n = _pick(found, r)
    if n is None:
        return False
    t.instead(n, t.nodes[n].args[0])
    return True


def _is_max(op: Op) -> bool:
    return isinstance(op, RunningMax) or (isinstance(op, Reduce | Accumulate) and op.fn == "max")


# ---------------------------------------------------------------- maps
def _loads(t: Level) -> Iterator[tuple[int, Load]]:
    for n in t.places(Load):
        op = t.nodes[n].op
        assert isinstance(op, Load)
        yield n, op


def another_imap(t: Level, r: Rng) -> bool:
    found = [(n, op) for n, op in _loads(t) if op.imap]
    if not found:
        return False
    n, op = r.choice(found)
    assert op.imap is not None
    k = r.randrange(len(op.imap))
    return t.set(n, replace(op, imap=(*op.imap[:k], r.choice(MAPS), *op.imap[k + 1 :])))


def no_imap(t: Level, r: Rng) -> bool:
    found = [(n, op) for n, op in _loads(t) if any(d is not None for d in op.imap or ())]
    if not found:
        return False
    n, op = r.choice(found)
    return t.set(n, replace(op, imap=(None,) * len(op.imap or ())))


def imap_turned(t: Level, r: Rng) -> bool:
    found = [(n, op) for n, op in _loads(t) if len(op.imap or ()) > 1]
    if not found:
        return False
    n, op = r.choice(found)
    return t.set(n, replace(op, imap=tuple(reversed(op.imap or ()))))


def another_fmap(t: Level, r: Rng) -> bool:
    found = list(_loads(t))
    if not found:
        return False
    n, op = r.choice(found)
    equal = [d for d, size in enumerate(t.dims[n]) if d != op.fmap and op.fmap is not None]
    return t.set(n, replace(op, fmap=r.choice(equal or (0, 1, 2))))


def no_fmap(t: Level, r: Rng) -> bool:
    found = [(n, op) for n, op in _loads(t) if op.fmap is not None]
    if not found:
        return False
    n, op = r.choice(found)
    return t.set(n, replace(op, fmap=None))


def loop_moves(t: Level, r: Rng) -> bool:
    """All loads that share the loop's cut are cut elsewhere: the dim with the same extent in each."""
    found = [(n, op) for n, op in _loads(t) if op.fmap is not None]
    if not found:
        return False
    changed = False
    for n, op in found:
        others = [d for d in range(len(t.dims[n])) if d != op.fmap]
        if others and r.random() < 0.7:
            changed |= t.set(n, replace(op, fmap=r.choice(others)))
    return changed


def another_omap(t: Level, r: Rng) -> bool:
    found = t.places(Store)
    n = _pick([n for n in found if getattr(t.nodes[n].op, "omap", None)], r)
    if n is None:
        return False
    op = t.nodes[n].op
    assert isinstance(op, Store) and op.omap is not None
    k = r.randrange(len(op.omap))
    return t.set(n, Store((*op.omap[:k], r.choice(MAPS), *op.omap[k + 1 :])))


def omap_turned(t: Level, r: Rng) -> bool:
    n = _pick([n for n in t.places(Store) if len(getattr(t.nodes[n].op, "omap", None) or ()) > 1], r)
    if n is None:
        return False
    op = t.nodes[n].op
    assert isinstance(op, Store) and op.omap is not None
    return t.set(n, Store(tuple(reversed(op.omap))))


def load_again(t: Level, r: Rng) -> bool:
    """One reader of a load gets a second one with another map."""
    found = [(n, op) for n, op in _loads(t) if t.readers(n)]
    if not found:
        return False
    n, op = r.choice(found)
    copy = t.insert(n + 1, op)
    reader = r.choice(t.readers(n))
    t.nodes[reader] = replace(t.nodes[reader], args=tuple(copy if a == n else a for a in t.nodes[reader].args))
    return (another_fmap if r.random() < 0.5 else another_imap)(t, r)


def several_maps(t: Level, r: Rng) -> bool:
    """Two or three entries of the maps at once, so that the tiles fit again; other maps for everything."""
    before = list(t.nodes)
    for _ in range(MAP_ATTEMPTS):
        for _ in range(r.choice((2, 3, 4))):
            r.choice((another_imap, another_fmap, another_omap))(t, r)
        if t.nodes != before:
            try:
                block = BlockGraph(t.grid, t.loop, tuple(t.nodes))
                found = block_types(block, t.operands)
                if all(found[n].dims == t.dims[n] for n in block.stores):
                    return True
            except ShapeError:
                pass
        t.nodes = list(before)
    return False


def exchange_grid(t: Level, r: Rng) -> bool:
    """Two grid dims exchange their sizes, or one takes the loop's."""
    if len(t.grid) < 2:
        return False
    x, y = r.sample(range(len(t.grid)), 2)
    grid = list(t.grid)
    grid[x], grid[y] = replace(grid[x], size=grid[y].size), replace(grid[y], size=grid[x].size)
    t.grid = tuple(grid)
    return True


def tie_sizes(t: Level, r: Rng) -> bool:
    if t.loop is None or not t.grid:
        return False
    x = r.randrange(len(t.grid))
    if r.random() < 0.5:
        t.grid = (*t.grid[:x], replace(t.grid[x], size=t.loop.size), *t.grid[x + 1 :])
    else:
        t.loop = replace(t.loop, size=t.grid[x].size)
    return True


def store_another(t: Level, r: Rng) -> bool:
    n = _pick(t.places(Store), r)
    if n is None:
        return False
    alike = [m for m in range(n) if t.dims[m] == t.dims[t.nodes[n].args[0]] and not isinstance(t.nodes[m].op, Store)]
    return t.set(n, t.nodes[n].op, r.choice(alike))


def swap_stores(t: Level, r: Rng) -> bool:
    found = t.places(Store)
    if len(found) < 2:
        return False
    a, b = r.sample(found, 2)
    t.nodes[a], t.nodes[b] = t.nodes[b], t.nodes[a]
    return True


# ---------------------------------------------------------------- between kernels
def another_operand(t: Level, r: Rng) -> bool:
    n = _pick(t.places(Custom), r)
    if n is None:
        return False
    args = t.nodes[n].args
    if len(args) > 1 and r.random() < 0.5:
        i, j = r.sample(range(len(args)), 2)
        new = list(args)
        new[i], new[j] = new[j], new[i]
        return t.set(n, t.nodes[n].op, *new)
    k = r.randrange(len(args))
    return t.set(n, t.nodes[n].op, *args[:k], r.randrange(n), *args[k + 1 :])


def kernels_meet_wrongly(t: Level, r: Rng) -> bool:
    """A kernel reads another kernel's result by another map."""
    found = [n for n in t.places(Custom) if any(isinstance(t.nodes[a].op, Custom | Result) for a in t.nodes[n].args)]
    n = _pick(found, r)
    if n is None:
        return False
    op = t.nodes[n].op
    assert isinstance(op, Custom)
    made = {k for k, a in enumerate(t.nodes[n].args) if isinstance(t.nodes[a].op, Custom | Result)}
    inner = list(op.block.nodes)
    m = _pick([m for m, node in enumerate(inner) if isinstance(node.op, Load) and node.op.operand in made], r)
    if m is None:
        return False
    load = inner[m].op
    assert isinstance(load, Load)
    if load.imap and r.random() < 0.5:
        k = r.randrange(len(load.imap))
        load = replace(load, imap=(*load.imap[:k], r.choice(MAPS), *load.imap[k + 1 :]))
    else:
        load = replace(load, fmap=r.choice(MAPS) if op.block.loop else None)
    inner[m] = Node(load)
    return t.set(n, Custom(replace(op.block, nodes=tuple(inner))))


def another_result(t: Level, r: Rng) -> bool:
    """Readers of one result of a kernel read another one."""
    found = t.places(Result)
    n = _pick(found, r)
    if n is None:
        return False
    own, further = t.nodes[n].args[0], n
    for m, node in enumerate(t.nodes):
        if m > further and not isinstance(node.op, Result):
            by = {own: further, further: own}
            t.nodes[m] = replace(node, args=tuple(by.get(a, a) for a in node.args))
    return True


def another_output(t: Level, r: Rng) -> bool:
    if t.output < 0:
        return False
    alike = [n for n in t.computed() if t.dims[n] == t.dims[t.output] and n != t.output]
    if not alike:
        return False
    t.output = r.choice(alike)
    return True


# ---------------------------------------------------------------- views and masks
def slice_off_by_one(t: Level, r: Rng) -> bool:
    n = _pick(t.places(Slice), r)
    if n is None:
        return False
    op = t.nodes[n].op
    assert isinstance(op, Slice)
    by = r.choice((1, -1))
    start, stop = op.start + by, op.stop + by
    if r.random() < 0.3:
        start, stop = r.choice(((start, op.stop), (op.start, stop)))
    return t.set(n, Slice(op.dim, start, stop))


def slice_elsewhere(t: Level, r: Rng) -> bool:
    """The other part of the same length, in front or behind."""
    n = _pick(t.places(Slice), r)
    if n is None:
        return False
    op = t.nodes[n].op
    assert isinstance(op, Slice)
    length = op.stop - op.start
    start, stop = (op.stop, op.stop + length) if op.start == ZERO else (ZERO, length)
    return t.set(n, Slice(op.dim, start, stop))


def concat_swapped(t: Level, r: Rng) -> bool:
    n = _pick(t.places(Concat), r)
    return n is not None and t.set(n, t.nodes[n].op, *reversed(t.nodes[n].args))


def concat_elsewhere(t: Level, r: Rng) -> bool:
    n = _pick(t.places(Concat), r)
    return n is not None and t.set(n, Concat(r.randrange(len(t.dims[n]))))


def another_order(t: Level, r: Rng) -> bool:
    n = _pick(t.places(Permute), r)
    if n is None:
        return False
    op = t.nodes[n].op
    assert isinstance(op, Permute)
    order = list(op.order)
    r.shuffle(order)
    return t.set(n, Permute(tuple(order)))


def merged_in_another_order(t: Level, r: Rng) -> bool:
    """Two dims change places in front of a reshape."""
    n = _pick([n for n in t.places(Reshape) if len(t.dims[t.nodes[n].args[0]]) > 1], r)
    if n is None:
        return False
    x, op = t.nodes[n].args[0], t.nodes[n].op
    order = list(range(len(t.dims[x])))
    d = r.randrange(len(order) - 1)
    order[d], order[d + 1] = order[d + 1], order[d]
    turned = t.insert(n, Permute(tuple(order)), x)
    return t.set(n + 1, op, turned)


def split_in_another_order(t: Level, r: Rng) -> bool:
    """A reshape's dims change places, and a permutation puts the extents right again."""
    n = _pick([n for n in t.places(Reshape) if len(t.dims[n]) > 1], r)
    if n is None:
        return False
    op = t.nodes[n].op
    assert isinstance(op, Reshape)
    d = r.randrange(len(op.dims) - 1)
    dims = (*op.dims[:d], op.dims[d + 1], op.dims[d], *op.dims[d + 2 :])
    order = list(range(len(dims)))
    order[d], order[d + 1] = order[d + 1], order[d]
    t.set(n, Reshape(dims))
    t.wrap(n, Permute(tuple(order)))
    return True


def expand_another_dim(t: Level, r: Rng) -> bool:
    n = _pick(t.places(Expand), r)
    if n is None:
        return False
    op = t.nodes[n].op
    assert isinstance(op, Expand)
    return t.set(n, Expand(r.randrange(len(t.dims[n])), op.size))


def _band(t: Level, r: Rng, change: Callable[[Band], Band]) -> bool:
    n = _pick(t.places(Band), r)
    if n is None:
        return False
    op = t.nodes[n].op
    assert isinstance(op, Band)
    return t.set(n, change(op))


def band_shifted(t: Level, r: Rng) -> bool:
    by = dim(r.choice((1, -1)))

    def change(b: Band) -> Band:
        return replace(b, low=b.low and b.low + by, high=b.high + by if b.high is not None else None)

    return _band(t, r, change)


def band_transposed(t: Level, r: Rng) -> bool:
    def minus(d: Dim | None) -> Dim | None:
        return None if d is None else ZERO - d

    return _band(t, r, lambda b: replace(b, low=minus(b.high), high=minus(b.low)))


def band_border_lost(t: Level, r: Rng) -> bool:
    return _band(t, r, lambda b: replace(b, high=None) if r.random() < 0.5 else replace(b, low=None))


def mask_by_another(t: Level, r: Rng) -> bool:
    n = _pick(t.places(Binary, "mask"), r)
    if n is None:
        return False
    x, keep = t.nodes[n].args
    alike = [m for m in range(n) if t.dims[m] == t.dims[keep] and m != keep]
    return bool(alike) and t.set(n, t.nodes[n].op, x, r.choice(alike))


# ---------------------------------------------------------------- the same by another spelling
def _respelled(kind: type[Any], fn: str, write: Callable[[Level, int], None]) -> Edit:
    def edit(t: Level, r: Rng) -> bool:
        n = _pick(t.places(kind, fn), r)
        if n is None:
            return False
        write(t, n)
        return True

    return edit


def _div_by_recip(t: Level, n: int) -> None:
    a, b = t.nodes[n].args
    inverse = t.insert(n, Unary("recip"), b)
    t.set(n + 1, Binary("mul"), a, inverse)


def _sub_by_neg(t: Level, n: int) -> None:
    a, b = t.nodes[n].args
    minus = t.insert(n, Unary("neg"), b)
    t.set(n + 1, Binary("add"), a, minus)


def _square_by_mul(t: Level, n: int) -> None:
    (a,) = t.nodes[n].args
    t.set(n, Binary("mul"), a, a)


def _rsqrt_by_sqrt(t: Level, n: int) -> None:
    (a,) = t.nodes[n].args
    root = t.insert(n, Unary("sqrt"), a)
    t.set(n + 1, Unary("recip"), root)


def _rms_by_mean(t: Level, n: int) -> None:
    (a,) = t.nodes[n].args
    op = t.nodes[n].op
    assert isinstance(op, Reduce | Accumulate)
    squares = t.insert(n, Unary("square"), a)
    t.set(n + 1, replace(op, fn="mean"), squares)
    t.wrap(n + 1, Unary("sqrt"))


def _silu_by_sigmoid(t: Level, n: int) -> None:
    (a,) = t.nodes[n].args
    gate = t.insert(n, Unary("sigmoid"), a)
    t.set(n + 1, Binary("mul"), a, gate)


def _reversed_by_total(t: Level, n: int) -> None:
    (x,), op = t.nodes[n].args, t.nodes[n].op
    assert isinstance(op, Scan)
    t.insert(n, Scan("cumsum", op.dim), x)
    t.insert(n, Reduce("sum", op.dim), x)
    t.insert(n + 2, Binary("sub"), n, n + 1)
    t.set(n + 3, Binary("add"), n + 2, x)


def _exp_in_halves(t: Level, n: int) -> None:
    (a,) = t.nodes[n].args
    half = t.insert(n, Scalar("mul", Fraction(1, 2)), a)
    t.set(n + 1, Unary("exp"), half)
    t.wrap(n + 1, Unary("square"))


def _by_one_half_twice(t: Level, r: Rng) -> bool:
    n = _pick(t.computed(), r)
    if n is None:
        return False
    t.wrap(n, Scalar("mul", Fraction(1, 2)))
    t.wrap(n + 1, Scalar("mul", Fraction(2)))
    return True


def _accumulate_by_reduce(t: Level, r: Rng) -> bool:
    """accum_sum(x, dim) is accum(sum(x, dim))."""
    found = [n for n in t.places(Accumulate, "sum", "max") if getattr(t.nodes[n].op, "dim", None) is not None]
    n = _pick(found, r)
    if n is None:
        return False
    op = t.nodes[n].op
    assert isinstance(op, Accumulate) and op.dim is not None
    part = t.insert(n, Reduce(op.fn, op.dim), *t.nodes[n].args)
    return t.set(n + 1, Accumulate(op.fn), part)


def _distributed(t: Level, r: Rng) -> bool:
    """(a + b) * c and (a + b) @ c, term by term."""
    found = [
        n
        for n in (*t.places(Binary, "mul"), *t.places(MatMul))
        if getattr(t.nodes[t.nodes[n].args[0]].op, "fn", "") in ("add", "sub")
        and isinstance(t.nodes[t.nodes[n].args[0]].op, Binary)
    ]
    n = _pick(found, r)
    if n is None:
        return False
    product, (total, c) = t.nodes[n].op, t.nodes[n].args
    plus, (a, b) = t.nodes[total].op, t.nodes[total].args
    one = t.insert(n, product, a, c)
    other = t.insert(n + 1, product, b, c)
    return t.set(n + 2, plus, one, other)


def _associated(t: Level, r: Rng) -> bool:
    """(a * b) * c is a * (b * c); the same for sums, matrix products and maxima."""
    found = [
        n
        for n in (*t.places(Binary, "add", "mul", "max", "min"), *t.places(MatMul))
        if t.nodes[t.nodes[n].args[0]].op == t.nodes[n].op
    ]
    n = _pick(found, r)
    if n is None:
        return False
    op, (first, c) = t.nodes[n].op, t.nodes[n].args
    a, b = t.nodes[first].args
    late = t.insert(n, op, b, c)
    return t.set(n + 1, op, a, late)


def _permuted_and_back(t: Level, r: Rng) -> bool:
    n = _pick([n for n in t.computed() if len(t.dims[n]) > 1], r)
    if n is None:
        return False
    order = tuple(reversed(range(len(t.dims[n]))))
    t.wrap(n, Permute(order))
    t.wrap(n + 1, Permute(order))
    return True


def _merged_and_split(t: Level, r: Rng) -> bool:
    found = [n for n in t.computed() if len(t.dims[n]) > 1 and not isinstance(t.nodes[n].op, Custom)]
    n = _pick(found, r)
    if n is None:
        return False
    dims = t.dims[n]
    t.wrap(n, Reshape((dims[0] * dims[1], *dims[2:])))
    t.wrap(n + 1, Reshape(dims))
    return True


def _cut_and_joined(t: Level, r: Rng) -> bool:
    """A tensor's two halves, one behind the other."""
    evens = {n: [d for d, s in enumerate(t.dims[n]) if s.constant and s.constant % 2 == 0] for n in t.computed()}
    n = _pick([n for n, even in evens.items() if even], r)
    if n is None:
        return False
    d = r.choice(evens[n])
    size = t.dims[n][d]
    low = t.insert(n + 1, Slice(d, ZERO, size / 2), n)
    high = t.insert(n + 2, Slice(d, size / 2, size), n)
    both = t.insert(n + 3, Concat(d), low, high)
    for m, node in enumerate(t.nodes):
        if m > both:
            t.nodes[m] = replace(node, args=tuple(both if a == n else a for a in node.args))
    if t.output == n:
        t.output = both
    return True


_ACCUMULATORS_AND_REDUCTIONS = (Accumulate, Reduce)


def _reduction(before: str, after: str) -> Edit:
    return either(*(replaced(kind, before, after) for kind in _ACCUMULATORS_AND_REDUCTIONS))


KINDS: tuple[Kind, ...] = (
    # operands and operators
    Kind("div swapped", "The operands of a division change places.", "any", swap_operands("div")),
    Kind("sub swapped", "The operands of a subtraction change places.", "any", swap_operands("sub")),
    Kind("matmul swapped", "The operands of a matrix product change places.", "any", swap_operands()),
    Kind("add for sub", "A difference becomes a sum.", "any", replaced(Binary, "sub", "add")),
    Kind("sub for add", "A sum becomes a difference.", "any", replaced(Binary, "add", "sub")),
    Kind("mul for div", "A quotient becomes a product.", "any", replaced(Binary, "div", "mul")),
    Kind("div for mul", "A product becomes a quotient.", "any", replaced(Binary, "mul", "div")),
    Kind("another binary", "Any function of two tensors for any other.", "any", one_of(Binary, BINARY, BINARY)),
    Kind("another unary", "Any function of one tensor for any other.", "any", one_of(Unary, UNARY, UNARY)),
    Kind("another activation", "silu for gelu, tanh for sigmoid.", "any", one_of(Unary, ACTIVATIONS, ACTIVATIONS)),
    Kind("rsqrt for sqrt", "A root is inverted.", "any", replaced(Unary, "sqrt", "rsqrt")),
    Kind("sqrt for rsqrt", "An inverse root is not inverted.", "any", replaced(Unary, "rsqrt", "sqrt")),
    Kind("square dropped", "A square is forgotten.", "any", bypassed(Unary, "square")),
    Kind("square again", "Something is squared that was not.", "any", inserted(Unary("square"))),
    Kind("sign flipped", "A minus too much.", "any", inserted(Unary("neg"))),
    Kind(
        "max for min",
        "A bound from above becomes one from below, or the other way.",
        "any",
        either(
            replaced(Scalar, "max", "min"),
            replaced(Scalar, "min", "max"),
            replaced(Binary, "max", "min"),
            replaced(Binary, "min", "max"),
        ),
    ),
    Kind("constant changed", "Another constant: doubled, negated, inverted, one more.", "any", change_constant),
    Kind("scale lost", "A constant factor, such as 1/n, is forgotten.", "any", bypassed(Scalar, "mul")),
    Kind(
        "scalar role",
        "A constant is added that was a factor, or the other way.",
        "any",
        either(replaced(Scalar, "add", "mul"), replaced(Scalar, "mul", "add")),
    ),
    Kind("rewired", "An operand comes from elsewhere.", "any", rewire),
    Kind("operand twice", "A function of two tensors gets one of them twice.", "any", one_operand_twice),
    Kind("bypassed", "Whoever read a node reads its operand.", "any", bypass_anything),
    Kind("function inserted", "One more function on the way.", "any", inserted(*(Unary(f) for f in UNARY))),  # type: ignore[arg-type]
    # reductions
    Kind("sum for mean", "A mean becomes a sum: the 1/n is missing.", "any", _reduction("mean", "sum")),
    Kind("mean for sum", "A sum becomes a mean.", "any", _reduction("sum", "mean")),
    Kind("mean for rms", "A root mean square becomes a mean.", "any", _reduction("rms", "mean")),
    Kind("rms for mean", "A mean becomes a root mean square.", "any", _reduction("mean", "rms")),
    Kind("max for sum", "A sum becomes a maximum.", "any", _reduction("sum", "max")),
    Kind("sum for max", "A maximum becomes a sum.", "any", _reduction("max", "sum")),
    Kind("reduced elsewhere", "Another dim is reduced.", "any", reduce_another_dim),
    Kind("accumulated elsewhere", "An accumulator reduces another dim, or none.", "block", accumulate_another_dim),
    # scans
    Kind("scan reversed", "Sums up to each element become sums from it on.", "any", replaced(Scan, *SCANS)),
    Kind("scan turned", "Sums from each element on become sums up to it.", "any", replaced(Scan, *reversed(SCANS))),
    Kind("scanned elsewhere", "Prefixes along another dim.", "any", scan_another_dim),
    Kind("scan without its own", "A prefix that ends before its element.", "any", without_own_term),
    Kind("total for prefix", "All prefixes become the total.", "any", total_for_scan),
    Kind("scan lost", "Nothing is added up.", "any", bypassed(Scan)),
    Kind("function into scan", "A function moves in front of a scan.", "any", exchange(is_scan, is_elementwise)),
    Kind("function out of scan", "A function moves behind a scan.", "any", exchange(is_elementwise, is_scan)),
    # eps
    Kind("eps dropped", "A constant summand is forgotten.", "any", bypassed(Scalar, "add")),
    Kind(
        "eps outside",
        "A constant is added behind a root or reduction, not in front.",
        "any",
        exchange(is_plus, lambda op: isinstance(op, Unary | Reduce | Accumulate)),
    ),
    Kind(
        "eps inside",
        "A constant is added in front of a root or reduction, not behind.",
        "any",
        exchange(lambda op: isinstance(op, Unary | Reduce | Accumulate), is_plus),
    ),
    # what moves
    Kind(
        "function into loop",
        "A non-linear function moves in front of an accumulator.",
        "block",
        exchange(lambda op: isinstance(op, Accumulate), is_nonlinear),
    ),
    Kind(
        "function behind loop",
        "A non-linear function moves behind an accumulator.",
        "block",
        exchange(is_nonlinear, lambda op: isinstance(op, Accumulate)),
    ),
    Kind("function into sum", "A function moves in front of a reduction.", "any", exchange(is_sum, is_elementwise)),
    Kind("function out of sum", "A function moves behind a reduction.", "any", exchange(is_elementwise, is_sum)),
    Kind("function into matmul", "A non-linear function moves in front of a matrix product.", "any", into_matmul),
    Kind("functions exchanged", "Two functions change their order.", "any", exchange(is_elementwise, is_elementwise)),
    Kind(
        "view exchanged",
        "A view and what follows it change their order.",
        "any",
        either(
            exchange(is_view, lambda op: isinstance(op, Unary | Scalar | Reduce | Permute | Slice)),
            exchange(lambda op: isinstance(op, Unary | Scalar | Reduce), is_view),
        ),
    ),
    Kind("divided before matmul", "A division moves in front of a matrix product (U2).", "any", divide_before_matmul),
    Kind("divided after matmul", "A division moves behind a matrix product (U2).", "any", divide_after_matmul),
    Kind("accumulated first", "accum(a op b) becomes accum(a) op accum(b).", "block", accumulate_first),
    Kind(
        "accumulated last",
        "accum(a) op accum(b) becomes accum(a op b): normalised by the tile's own sum.",
        "block",
        accumulate_last,
    ),
    # accumulators, loops, scans
    Kind("accumulator dropped", "Nothing is accumulated, everything is loaded whole.", "block", drop_accumulator),
    Kind("accumulated twice", "What was accumulated counts twice.", "block", accumulate_twice),
    Kind("replicated sum", "A tile that the loop does not cut is accumulated (U4).", "block", no_fmap),
    Kind("loop removed", "The loop is forgotten, the accumulators stay.", "block", no_loop),
    Kind("rescaling lost", "A rescaled sum becomes a plain one.", "block", no_rescale),
    Kind("rescaled by another", "A sum is rescaled by another value.", "block", rescale_by_another),
    Kind("maximum of the tile", "A running maximum becomes the tile's own.", "block", maximum_of_the_tile),
    Kind("maximum not subtracted", "An exponential without its maximum.", "any", maximum_not_subtracted),
    # maps
    Kind("another imap", "A load is cut along another dim.", "block", another_imap),
    Kind("imap lost", "Every block loads all.", "block", no_imap),
    Kind("imap turned", "Two grid dims change places in one load.", "block", imap_turned),
    Kind("another fmap", "The loop cuts another dim of one load.", "block", another_fmap),
    Kind("loop moves", "The loop cuts other dims of several loads.", "block", loop_moves),
    Kind("another omap", "A result is stored along another dim.", "block", another_omap),
    Kind("omap turned", "Two grid dims change places in a store.", "block", omap_turned),
    Kind("several maps", "Other maps in several places, such that the tiles fit.", "block", several_maps),
    Kind("loaded again", "A second load with another map serves one reader.", "block", load_again),
    Kind("grid exchanged", "Two grid dims exchange their sizes.", "block", exchange_grid),
    Kind("sizes tied", "The loop and a grid dim share one size.", "block", tie_sizes),
    Kind("another stored", "Another tensor is stored.", "block", store_another),
    # between kernels
    Kind("stores swapped", "Two results of a kernel change places.", "block", swap_stores),
    Kind("another result", "Readers of one result read the other.", "kernel", another_result),
    Kind(
        "another operand", "A kernel's operands change places, or one comes from elsewhere.", "kernel", another_operand
    ),
    Kind(
        "kernels meet wrongly", "A kernel reads another kernel's result by another map.", "kernel", kernels_meet_wrongly
    ),
    Kind("another output", "Another tensor is returned.", "kernel", another_output),
    # views and masks
    Kind("slice off by one", "A slice begins or ends one too far.", "any", slice_off_by_one),
    Kind("slice elsewhere", "The other half.", "any", slice_elsewhere),
    Kind("concat swapped", "The two parts change places.", "any", concat_swapped),
    Kind("concat elsewhere", "Two tensors are joined along another dim.", "any", concat_elsewhere),
    Kind("another order", "Dims are permuted otherwise.", "any", another_order),
    Kind("permute lost", "Dims are not permuted.", "any", bypassed(Permute)),
    Kind("merged otherwise", "Dims are merged in another order.", "any", merged_in_another_order),
    Kind("split otherwise", "A dim is split in another order.", "any", split_in_another_order),
    Kind("expanded elsewhere", "Another dim is repeated.", "any", expand_another_dim),
    Kind("mask lost", "Nothing is masked.", "any", bypassed(Binary, "mask")),
    Kind("masked by another", "Another tensor says what is kept.", "any", mask_by_another),
    Kind("band shifted", "The borders of a band move by one.", "kernel", band_shifted),
    Kind("band transposed", "Rows and columns of a band change places.", "kernel", band_transposed),
    Kind("band unbounded", "A border of a band is lost.", "kernel", band_border_lost),
    # right ones, spelled otherwise
    Kind("commuted", "a + b is b + a.", "any", swap_operands("add", "mul", "max", "min"), True),
    Kind("associated", "(a * b) * c is a * (b * c).", "any", _associated, True),
    Kind("distributed", "(a + b) * c is a * c + b * c.", "any", _distributed, True),
    Kind("div by recip", "a / b is a * (1 / b).", "any", _respelled(Binary, "div", _div_by_recip), True),
    Kind("sub by neg", "a - b is a + -b.", "any", _respelled(Binary, "sub", _sub_by_neg), True),
    Kind("square by mul", "a squared is a * a.", "any", _respelled(Unary, "square", _square_by_mul), True),
    Kind("rsqrt by sqrt", "rsqrt(a) is 1 / sqrt(a).", "any", _respelled(Unary, "rsqrt", _rsqrt_by_sqrt), True),
    Kind(
        "rms by mean",
        "rms(a) is sqrt(mean(a squared)).",
        "any",
        either(_respelled(Reduce, "rms", _rms_by_mean), _respelled(Accumulate, "rms", _rms_by_mean)),
        True,
    ),
    Kind("silu by sigmoid", "silu(a) is a * sigmoid(a).", "any", _respelled(Unary, "silu", _silu_by_sigmoid), True),
    Kind(
        "reversed by the total",
        "Sums from each element on are the total, less those up to it, plus itself.",
        "any",
        _respelled(Scan, "reverse_cumsum", _reversed_by_total),
        True,
    ),
    Kind("exp in halves", "exp(a) is exp(a / 2) squared.", "any", _respelled(Unary, "exp", _exp_in_halves), True),
    Kind("halved and doubled", "a is (a / 2) * 2.", "any", _by_one_half_twice, True),
    Kind("accumulated in two steps", "accum_sum(a, d) is accum(sum(a, d)).", "block", _accumulate_by_reduce, True),
    Kind("permuted and back", "Dims are reversed twice.", "any", _permuted_and_back, True),
    Kind("merged and split", "Two dims are merged and split again.", "any", _merged_and_split, True),
    Kind("cut and joined", "A tensor's halves are put together again.", "any", _cut_and_joined, True),
)
"""The rows. Names are unique."""

SELECTIONS = ("keep", "drop", "mul", "mask")
COMPARISONS = tuple(sorted(BITS))
FUNCTIONS = tuple(name for name in ROWS if name not in CASTS and name != "is_nan")
BY_SCALAR = ("max", "min", "add", "mul")
CASE_KINDS = (
    Kind("another selection", "The other half.", "any", one_of(Binary, SELECTIONS, SELECTIONS)),
    Kind("another comparison", "Any with 0 for any other.", "any", one_of(Unary, COMPARISONS, COMPARISONS)),
    Kind("another row", "Any function of the table for any other.", "any", one_of(Unary, FUNCTIONS, FUNCTIONS)),
    Kind("another bound", "Any function of a tensor and a number.", "any", one_of(Scalar, BY_SCALAR, BY_SCALAR)),
    Kind("row inserted", "One more function of the table.", "any", inserted(*(Unary(f) for f in FUNCTIONS))),
)
"""Kinds for graphs that compute by cases: selections, comparisons, clamps, and all functions of the table."""
LOOKUP_KINDS = (
    Kind(
        "looked up elsewhere", "Along another dim of the table, with other shared dims.", "kernel", look_up_another_dim
    ),
    Kind("other positions", "By another integer input.", "kernel", look_up_other_positions),
    Kind("function past lookup", "A function or a sum changes places with a lookup.", "kernel", exchange_with_lookup),
)
"""Kinds for graphs with lookups."""
