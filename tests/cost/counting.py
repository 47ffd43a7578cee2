"""What the block interpreter really loads, stores and computes, and real candidates to run it on.

Counted twice. *As written*: everything that is done, by every block in every iteration. *At least*: what a kernel
could not leave out however clever, found by looking back from each element that it stores. Numbers made alike are
one number, what a mask hides is not there, nor is anything that it is multiplied with once it is 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import product
from typing import Any
from unittest.mock import patch

import numpy as np

from prism_explore.cost.dominance import cost_of_graph
from prism_explore.cost.roofline import time_bound_of_graph
from prism_explore.cost.work import least_scratch, work_of
from prism_explore.events.journal import Journal
from prism_explore.generate import generate
from prism_explore.instantiate import instantiate
from prism_explore.ir.dims import ZERO, Dim
from prism_explore.ir.elementwise import BINARY, COMMUTATIVE, UNARY, ElementwiseFunction
from prism_explore.ir.graph import SGraph, needed_by
from prism_explore.ir.interpreter import reference as interpreter
from prism_explore.ir.ops import (
    Accumulate,
    AccumulateRescaled,
    Band,
    Custom,
    Expand,
    Input,
    Load,
    Permute,
    Reshape,
    Result,
    RunningMax,
    Slice,
    Store,
)
from prism_explore.ir.program import ProgramBuilder, TensorProgram
from prism_explore.pipeline.search_space import default_space
from prism_explore.pipeline.stages import Candidate
from tests.generate.programs import MACHINE, attention, gate, rms_linear_small, scaled_linear, softmax
from tests.tune.toys import TOY

ELEMENT_BYTES = 4
"""Tensors are float32."""


# ---------------------------------------------------------------- numbers that count
@dataclass
class KernelTally:
    """How much one kernel did."""

    position: int
    flops: int = 0
    loaded: int = 0
    stored: int = 0
    held: list[int] = field(default_factory=list[int])
    """Bytes of everything that one block ever held, per block; of a predefined operator nothing."""
    blocks: int = 0
    least_flops: int = 0
    looked_at: dict[Any, set[int]] = field(default_factory=dict[Any, set[int]])
    """Per tensor that is no view, the elements that its results are made of."""
    written: int = 0
    """Bytes of its results."""

    @property
    def least_read(self) -> int:
        """Bytes of the elements that its results are made of."""
        return ELEMENT_BYTES * sum(map(len, self.looked_at.values()))


class Tally:
    """How much was done, and how every number came about."""

    def __init__(self) -> None:
        self.kernels: list[KernelTally] = []
        self.here = KernelTally(-1)
        self.known: dict[tuple[Any, ...], int] = {}
        self.origins: list[tuple[int, tuple[int, ...]]] = []
        """Per number, the operations that it took, and what it was made of."""
        self.leaves: dict[int, Any] = {}
        """Per number that lies in memory, the tensor."""
        self.hidden, self.nought = self.number("hidden", ()), self.number("nought", ())

    @property
    def flops(self) -> int:
        return sum(k.flops for k in self.kernels)

    @property
    def loaded(self) -> int:
        return sum(k.loaded for k in self.kernels)

    @property
    def stored(self) -> int:
        return sum(k.stored for k in self.kernels)

    @property
    def held(self) -> list[int]:
        return [h for k in self.kernels for h in k.held]

    def number(self, name: Any, made_of: tuple[int, ...], flops: int = 0) -> int:
        """One number for whatever is made alike."""
        key = (name, *(sorted(made_of) if name in COMMUTATIVE else made_of))
        if key not in self.known:
            self.known[key] = len(self.origins)
            self.origins.append((flops, made_of))
        return self.known[key]

    def placed(self, tensor: Any, values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """A tensor's elements, as they lie in memory."""
        made = np.empty(values.shape, object)
        for n, value in enumerate(values.flat):
            key = self.number(("element", tensor, n), ())
            self.leaves[key] = tensor
            made.flat[n] = Counted(_value(value), self, key)
        return made

    def opened(self, position: int) -> None:
        """A kernel begins."""
        self.here = KernelTally(position)
        self.kernels.append(self.here)

    def holding(self, value: Any) -> Any:
        """A block holds one tile more."""
        self.here.held[-1] += _bytes(value)
        return value

    def closed(self, results: Iterable[np.ndarray[Any, Any]]) -> tuple[np.ndarray[Any, Any], ...]:
        """The kernel's results, as they lie in memory behind it; note what they are made of."""
        here, results = self.here, tuple(results)
        here.written = sum(map(_bytes, results))
        todo = [v.key for r in results for v in r.flat]
        seen = set(todo)
        while todo:
            key = todo.pop()
            if key in self.leaves:
                here.looked_at.setdefault(self.leaves[key], set()).add(key)
            flops, made_of = self.origins[key]
            here.least_flops += flops
            for k in made_of:
                if k not in seen:
                    seen.add(k)
                    todo.append(k)
        return tuple(self.placed((here.position, n), r) for n, r in enumerate(results))


class Counted:
    """A number that counts what is done to it."""

    __slots__ = ("key", "tally", "value")

    def __init__(self, value: float, tally: Tally, key: int) -> None:
        self.value, self.tally, self.key = value, tally, key

    def _made(self, name: str, value: float, *others: Any, flops: int = 1) -> Counted:
        tally = self.tally
        tally.here.flops += flops
        keys = (self.key, *(o.key if isinstance(o, Counted) else tally.number(("constant", o), ()) for o in others))
        short = _without_masked(name, keys, tally)
        return Counted(value, tally, tally.number(name, keys, flops) if short is None else short)

    def __add__(self, other: Any) -> Counted:
        return self._made("add", self.value + _value(other), other)

    def __sub__(self, other: Any) -> Counted:
        return self._made("sub", self.value - _value(other), other)

    def __mul__(self, other: Any) -> Counted:
        return self._made("mul", self.value * _value(other), other)

    def __truediv__(self, other: Any) -> Counted:
        return self._made("div", self.value / _value(other), other)

    def __pow__(self, other: Any) -> Counted:
        return self._made("pow", self.value ** _value(other), other)

    __radd__, __rmul__ = __add__, __mul__

    def maximum(self, other: Any) -> Counted:
        return self._made("max", max(self.value, _value(other)), other)

    def masked(self, keep: Any) -> Counted:
        """What the mask lets through is the same number; it takes a look at a band, which is no memory."""
        self.tally.here.flops += 1
        if isinstance(keep, Counted):
            return self if keep.value else Counted(-1e3, self.tally, self.tally.number("masked", (self.key, keep.key)))
        return self if keep else Counted(-1e3, self.tally, self.tally.hidden)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Counted) and abs(self.value - other.value) <= 1e-9 * max(1.0, abs(self.value))

    __hash__ = None  # pyright: ignore[reportAssignmentType]

    def has_own(self, row: ElementwiseFunction) -> bool:
        return True

    def elementwise(self, row: ElementwiseFunction) -> Counted:
        with np.errstate(all="ignore"):
            argument = np.float64(min(abs(self.value) if row.name == "sqrt" else self.value, 100.0))
            return self._made(row.name, float(row.numpy(argument)), flops=row.flops)

    def exp(self) -> Counted:
        return self.elementwise(UNARY["exp"])

    def sqrt(self) -> Counted:
        return self.elementwise(UNARY["sqrt"])


def _without_masked(name: str, keys: tuple[int, ...], tally: Tally) -> int | None:
    """What an operation gives where one of its numbers is masked, or was and is 0 now; None where none is."""
    first, *others = keys
    match name:
        case "exp" if first == tally.hidden:
            return tally.nought
        case "add" | "max" if first == tally.nought or (name == "max" and first == tally.hidden):
            return others[0]
        case "add" | "sub" | "max" if tally.nought in others or (name == "max" and tally.hidden in others):
            return first
        case "mul" if tally.nought in keys:
            return tally.nought
        case "div" if first == tally.nought:
            return tally.nought
        case "add" | "sub" | "mul" | "div" if tally.hidden in keys:
            return tally.hidden
        case _:
            return None


def _value(other: Any) -> float:
    return float(other.value if isinstance(other, Counted) else other)


class _NumPy:
    """NumPy, but that a maximum of counted numbers is an operation of its own, and not a choice."""

    maximum = np.frompyfunc(lambda x, y: x.maximum(y), 2, 1)

    def __getattr__(self, name: str) -> Any:
        return getattr(np, name)


# ---------------------------------------------------------------- graphs that are run
def counted(graph: SGraph, sizes: Mapping[str, int], shapes: Mapping[str, int]) -> Tally:
    """Run a graph block by block and iteration by iteration, and count; tensors are float32.

    A band is computed in place and a view moves nothing, so neither is a kernel of its own.
    """
    tally = Tally()
    rng = np.random.default_rng(0)
    types, numbers = graph.types(), {**shapes, **sizes}
    needed = needed_by(graph.nodes, (graph.output,))
    values: list[Any] = []
    results: dict[int, tuple[Any, ...]] = {}
    with _counting(tally):
        for position, node in enumerate(graph.nodes):
            args = [values[a] for a in node.args]
            match node.op:
                case Input():
                    shape = [d.value(numbers) for d in types[position].dims]
                    values.append(tally.placed(position, rng.uniform(0.5, 1.5, shape)))
                case _ if position not in needed:
                    values.append(None)
                case Band() as band:
                    values.append(interpreter._band(band, numbers).astype(object))
                case Result(index):
                    values.append(results[node.args[0]][index])
                case Custom(block):
                    tally.opened(position)
                    made = interpreter.run_blocks(block, args, numbers, tally.holding)
                    results[position] = tally.closed(made)
                    values.append(results[position][0])
                case Permute() | Reshape() | Expand() | Slice() as op:
                    values.append(interpreter.apply(op, args, numbers))
                case Load() | Store() | Accumulate() | AccumulateRescaled() | RunningMax():
                    raise AssertionError("SGraph refuses block-level operators")
                case op:
                    tally.opened(position)
                    made = interpreter.apply(op, args, numbers)
                    tally.here.loaded = sum(_bytes(a) for a in args if not _is_band(a))
                    tally.here.stored, tally.here.blocks = _bytes(made), 1
                    values.extend(tally.closed([made]))
    return tally


@contextmanager
def _counting(tally: Tally) -> Iterator[None]:
    """Have the interpreter tell what it does."""
    tile_of, slices_of, block_of = interpreter._tile, interpreter._slices, interpreter._run_block

    def loading(*args: Any) -> Any:
        tile = tile_of(*args)
        if not _is_band(tile):
            tally.here.loaded += _bytes(tile)
            tally.here.held[-1] += _bytes(tile)
        return tile

    def storing(tile: tuple[int, ...], *args: Any) -> Any:
        tally.here.stored += ELEMENT_BYTES * int(np.prod(tile))
        return slices_of(tile, *args)

    def running(*args: Any) -> Any:
        tally.here.blocks += 1
        tally.here.held.append(0)
        return block_of(*args)

    maximum = _NumPy.maximum
    with (
        patch.object(interpreter, "_tile", loading),
        patch.object(interpreter, "_slices", storing),
        patch.object(interpreter, "_run_block", running),
        patch.object(interpreter, "np", _NumPy()),
        patch.dict(interpreter._SCALAR, {"max": maximum}),
        patch.dict(
            BINARY, {"max": replace(BINARY["max"], numpy=maximum), "mask": replace(BINARY["mask"], numpy=_MASK)}
        ),
    ):
        yield


_MASK = np.frompyfunc(lambda x, keep: x.masked(keep), 2, 1)


def _bytes(value: np.ndarray[Any, Any]) -> int:
    return ELEMENT_BYTES * value.size


def _is_band(value: np.ndarray[Any, Any]) -> bool:
    """Whether its elements are known by formula, and so lie nowhere."""
    return not isinstance(value.flat[0], Counted)


# ---------------------------------------------------------------- what is said, and what is counted
BARE = TOY.replace(caches_bytes=(1,), dram_bytes_per_s=1e9, peak_flops_per_s=1e9)
"""No cache, and arithmetic as dear as traffic."""
ROOMY = BARE.replace(caches_bytes=(1 << 40,))
"""Whatever was read or written once is at hand."""


def exact_s(tally: Tally, cached: bool) -> float:
    """The least time of what was counted, on one of the machines above."""
    total_s, at_hand = 0.0, set[int]()
    for kernel in tally.kernels:
        given = {e for tensor, elements in kernel.looked_at.items() if isinstance(tensor, int) for e in elements}
        cold = ELEMENT_BYTES * len(given - at_hand)
        at_hand |= given
        total_s += max(cold if cached else kernel.least_read + kernel.written, kernel.least_flops) / 1e9
    return total_s


def wrong(graph: SGraph, sizes: Mapping[str, int], shapes: Mapping[str, int]) -> list[str]:
    """Whatever is said of a graph that is not what is counted, or bounds that are above it."""
    tally, works, types = counted(graph, sizes, shapes), work_of(graph), graph.types()
    numbers = {**shapes, **sizes}
    found: list[str] = []

    def same(what: str, said: Dim, true: int) -> None:
        if said.rational(numbers) != true:
            found.append(f"{what}: {said} is {said.rational(numbers)}, counted {true}")

    def at_most(what: str, said: Dim, true: int) -> None:
        if said.rational(numbers) > true:
            found.append(f"{what}: at least {said} is {said.rational(numbers)}, counted {true}")

    cost = cost_of_graph(graph, staged=False)
    same("traffic", cost.traffic, tally.loaded + tally.stored)
    same("arithmetic", cost.flops, tally.flops)
    if [k.position for k in tally.kernels] != [w.position for w in works] or cost.launches != len(tally.kernels):
        found.append(f"launches: {cost.launches}, counted {len(tally.kernels)}")
    for kernel, work in zip(tally.kernels, works, strict=False):
        at, node = f"%{work.position}", graph.nodes[work.position]
        same(f"arithmetic of {at}", work.executed_flops, kernel.flops)
        same(f"loads of {at}", sum((load.bytes for load in work.loads), ZERO), kernel.loaded)
        same(f"stores of {at}", work.store_bytes, kernel.stored)
        same(f"blocks of {at}", work.blocks, kernel.blocks)
        at_most(f"arithmetic of {at}", work.least_flops, kernel.least_flops)
        at_most(f"results of {at}", work.written_bytes, kernel.written)
        for load in work.loads:
            if (tensor := _lying(graph, load.tensor)) is not None:
                elements = kernel.looked_at.get(tensor, ())
                at_most(f"what {at} reads of %{load.tensor}", load.least_bytes, ELEMENT_BYTES * len(elements))
        if isinstance(node.op, Custom):
            operands = tuple(types[a] for a in node.args)
            for staged in (False, True):
                at_most(f"scratch of {at}", least_scratch(node.op.block, operands, staged), min(kernel.held))
    for target, cached in ((BARE, False), (ROOMY, True)):
        floor_s, true_s = time_bound_of_graph(graph, shapes, target).time_s, exact_s(tally, cached)
        if floor_s > true_s * (1 + 1e-12):
            found.append(f"floor: {floor_s} s, counted {true_s} s")
    return found


def _lying(graph: SGraph, position: int) -> Any:
    """Which tensor in memory this is; None of a view."""
    node = graph.nodes[position]
    match node.op:
        case Input():
            return position
        case Result(index):
            return node.args[0], index
        case Permute() | Reshape() | Expand() | Slice():
            return None
        case _:
            return position, 0


# ---------------------------------------------------------------- candidates
@dataclass(frozen=True)
class Case:
    """A candidate that a search made, right or wrong, and numbers at which to run it."""

    candidate: Candidate
    shapes: dict[str, int]
    sizes: tuple[dict[str, int], ...]


def two_products() -> TensorProgram:
    b = ProgramBuilder("two_products")
    x, v, w = b.input("x", "b", 4), b.input("v", 4, 6), b.input("w", 4, 6)
    return b.build(b.binary("mul", b.matmul(x, v), b.unary("square", b.matmul(x, w))))


PROGRAMS = (rms_linear_small(), scaled_linear(), softmax(), gate(), attention(), two_products())
BATCH = {"b": 2}


@cache
def cases() -> tuple[Case, ...]:
    """Every candidate of every family that small searches find."""
    found: list[Case] = []
    for program in PROGRAMS:
        journal = Journal(clock=lambda: 0.0)
        space = replace(default_space(program), results=0)
        for family in generate(program, space, MACHINE, journal):
            if family is not None:
                for candidate in instantiate(family, space, MACHINE, journal):
                    found.append(Case(candidate, BATCH, tuple(legal(candidate))))
    return tuple(case for case in found if case.sizes)


def legal(candidate: Candidate) -> list[dict[str, int]]:
    names = candidate.sgraph.parameters
    choices = (dict(zip(names, row, strict=True)) for row in product((1, 2, 3, 4), repeat=len(names)))
    return [s for s in choices if all(d.rational({**BATCH, **s}).denominator == 1 for d in candidate.conditions)]
