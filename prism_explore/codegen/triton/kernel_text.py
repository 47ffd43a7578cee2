"""The text of one `@triton.jit` kernel, from its plan.

A tile keeps its tensor's name, every other value is called by its operator and its number in the
sGraph (`mul_3` is `%3 = mul(...)`), so source and picture can be read side by side. Arithmetic is in
float32 (float64 for float64 tensors); 16-bit tensors are widened when loaded and rounded when stored
or handed to `tl.dot`, whose sums are float32.

A tile extent that is no power of two is padded. Lanes of the padding are loaded as zero; the writer
keeps track of where they are still zero (`exp` makes them one) and masks them before a sum or a
product may see them. That is exact for finite data.
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from math import ceil, floor, prod
from typing import Literal, TypeAlias, assert_never

import numpy as np

from prism_explore.codegen.triton.axes import cuts
from prism_explore.codegen.triton.plan import BlockPlan, Section
from prism_explore.ir.axes import AxisNames
from prism_explore.ir.graph import consumers
from prism_explore.ir.ops import (
    Accumulate,
    AccumulateRescaled,
    Band,
    Binary,
    BinaryFn,
    Concat,
    Custom,
    Expand,
    Input,
    Load,
    MatMul,
    Permute,
    Reduce,
    ReduceFn,
    Reshape,
    Result,
    RunningMax,
    Scalar,
    ScalarFn,
    Slice,
    Store,
    Unary,
    bottom,
    op_name,
)
from prism_explore.ir.tensors import DType, TensorType

TRITON_DTYPE: dict[DType, str] = {"f64": "tl.float64", "f32": "tl.float32", "bf16": "tl.bfloat16", "f16": "tl.float16"}

ArgumentKind: TypeAlias = Literal["pointer", "stride", "constant"]


@dataclass(frozen=True, slots=True)
class UnaryText:
    """One row: how Triton spells a function, and whether it maps 0 to 0."""

    name: str
    text: str
    keeps_zero: bool


UNARY_TEXT: dict[str, UnaryText] = {
    row.name: row
    for row in (
        UnaryText("exp", "tl.exp({0})", False),
        UnaryText("square", "{0} * {0}", True),
        UnaryText("sqrt", "tl.sqrt({0})", True),
        UnaryText("rsqrt", "tl.rsqrt({0})", False),
        UnaryText("recip", "1.0 / {0}", False),
        UnaryText("neg", "-{0}", True),
        UnaryText("silu", "{0} * tl.sigmoid({0})", True),
        UnaryText("sigmoid", "tl.sigmoid({0})", False),
        UnaryText("relu", "tl.maximum({0}, 0.0)", True),
        UnaryText("tanh", "2.0 * tl.sigmoid(2.0 * {0}) - 1.0", True),
        UnaryText("abs", "tl.abs({0})", True),
        UnaryText("erf", "tl.erf({0})", True),
        UnaryText("gelu", "0.5 * {0} * (1.0 + tl.erf({0} * 0.7071067811865476))", True),
        UnaryText("gelu_tanh", "{0} * tl.sigmoid(1.5957691216057308 * ({0} + 0.044715 * {0} * {0} * {0}))", True),
    )
}

BINARY_TEXT: dict[BinaryFn, str] = {
    "add": "{0} + {1}",
    "sub": "{0} - {1}",
    "mul": "{0} * {1}",
    "div": "{0} / {1}",
    "max": "tl.maximum({0}, {1})",
    "min": "tl.minimum({0}, {1})",
    "mask": "tl.where({1}, {0}, {2})",
}
"""The third argument stands for minus infinity."""


LOWEST = -3.4028234663852886e38
"""The most negative float32: where a maximum starts, and what the padding holds while one is taken."""


LARGEST_POWER = 8
"""Powers up to here are products and square roots; others are exp(c log x), so x must be positive."""


class Names:
    """Hands out names that are legal in Python and not taken.

    >>> names = Names(["tl"])
    >>> [names.fresh(n) for n in ("x", "x", "tl", "for", "a b", "2")]
    ['x', 'x_2', 'tl_2', 'for_', 'a_b', 't2']
    """

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self._taken = set(taken)

    def fresh(self, wanted: str) -> str:
        """`wanted`, or the nearest legal name that is free."""
        name = re.sub(r"\W", "_", wanted, flags=re.ASCII)[:48] or "t"
        name = f"t{name}" if name[0].isdigit() else f"{name}_" if keyword.iskeyword(name) else name
        base, count = name, 1
        while name in self._taken:
            count += 1
            name = f"{base}_{count}"
        self._taken.add(name)
        return name


@dataclass(frozen=True, slots=True)
class Argument:
    """A parameter of a kernel."""

    name: str
    kind: ArgumentKind
    operand: int
    """Which tensor a pointer or stride belongs to: the operands in order, then the results."""
    dim: int
    """Of a stride: which dim."""
    value: int
    """Of a constant: the number; of a stride: what it is when the tensor lies as its type says."""


@dataclass(frozen=True, slots=True)
class KernelText:
    """One kernel: its source and what a launch of it needs."""

    name: str
    position: int
    grid: tuple[int, ...]
    arguments: tuple[Argument, ...]
    dtypes: tuple[DType, ...]
    """Of the operands and the results, in order."""
    source: str
    wide_index: bool
    """Whether offsets into tensors are 64-bit."""


@dataclass(frozen=True, slots=True)
class _Value:
    """A variable of the kernel."""

    name: str
    shape: AxisNames
    zero: tuple[bool, ...]
    """Per dim: whether the lanes of its padding hold zero."""
    narrow: str = ""
    """The same as loaded, not widened; empty where there is none."""


@dataclass(slots=True)
class _Writer:
    plan: BlockPlan
    names: Names
    pointers: tuple[str, ...]
    wide_index: bool
    lines: dict[Section, list[str]] = field(default_factory=lambda: {"before": [], "loop": [], "after": []})
    values: dict[int, _Value] = field(default_factory=dict[int, _Value])
    scales: dict[int, str] = field(default_factory=dict[int, str])
    """Per scale of rescaled sums: the variable that holds this iteration's factor."""
    strides: dict[tuple[int, int], str] = field(default_factory=dict[tuple[int, int], str])
    constants: dict[tuple[str, str], tuple[str, int]] = field(default_factory=dict[tuple[str, str], tuple[str, int]])
    offsets: dict[tuple[str | None, int | None, bool, int, int], str] = field(
        default_factory=dict[tuple[str | None, int | None, bool, int, int], str]
    )
    masks: dict[str, str] = field(default_factory=dict[str, str])
    masked: dict[tuple[str, int, Section], str] = field(default_factory=dict[tuple[str, int, Section], str])
    pids: dict[int, str] = field(default_factory=dict[int, str])
    counter: str = ""
    numbers: dict[float, str] = field(default_factory=dict[float, str])
    """Numbers with names of their own."""

    # ------------------------------------------------------------ numbers by name
    def constant(self, kind: str, axis: str, value: int) -> str:
        """The name of a compile-time constant."""
        if (kind, axis) not in self.constants:
            self.constants[kind, axis] = (self.names.fresh(f"{kind}_{axis.upper()}" if axis else kind), value)
        return self.constants[kind, axis][0]

    @property
    def loops(self) -> str:
        """The number of iterations, by name."""
        return self.constant("LOOP", "", self.plan.iterations)

    def extent(self, axis: str | None) -> str:
        """A tile's true extent."""
        return "1" if axis is None else self.constant("TILE", axis, self.plan.axes[axis].extent)

    def padded(self, axis: str | None) -> str:
        """A tile's extent in registers."""
        if axis is None or not self.plan.axes[axis].is_padded:
            return self.extent(axis)
        return self.constant("PADDED", axis, self.plan.axes[axis].padded)

    def shape(self, shape: AxisNames) -> str:
        inside = ", ".join(self.padded(a) for a in shape)
        return f"({inside},)" if len(shape) == 1 else f"({inside})"

    # ------------------------------------------------------------ places in memory
    def start(self, grid: int | None, looped: bool) -> str:
        """The number of the tile along one dim: which block, which iteration."""
        looped = looped and self.plan.iterations > 1
        pid = self.pid(grid) if grid is not None else ""
        if not looped:
            return pid
        return f"({pid} * {self.loops} + {self.counter})" if pid else self.counter

    def pid(self, grid: int) -> str:
        if grid not in self.pids:
            self.pids[grid] = self.names.fresh(f"pid_{self.plan.block.grid[grid].name}")
        return self.pids[grid]

    def offset(self, axis: str | None, grid: int | None, looped: bool, shift: int = 0, whole: int = 0) -> str:
        """The variable that holds a tile's indices along one dim of a tensor.

        A slice of a tile begins `shift` behind its start, and the tile's own extent is `whole`.
        """
        looped = looped and self.plan.iterations > 1
        key = (axis, grid, looped, shift, whole)
        if key not in self.offsets:
            start = self.start(grid, looped)
            lanes = f"tl.arange(0, {self.padded(axis)})" + (
                f" {'+' if shift > 0 else '-'} {abs(shift)}" if shift else ""
            )
            extent = str(whole) if whole else self.extent(axis)
            first = "" if not start else f"{start} + " if extent == "1" else f"{start} * {extent} + "
            text = f"{first}{lanes}"
            name = self.names.fresh(f"offs_{axis or 'one'}")
            text = f"({text}).to(tl.int64)" if self.wide_index else text
            self.lines["loop" if looped else "before"].append(f"{name} = {text}")
            self.offsets[key] = name
        return self.offsets[key]

    def mask(self, axis: str) -> str:
        """The variable that says which lanes of a padded axis hold data."""
        if axis not in self.masks:
            self.masks[axis] = self.names.fresh(f"mask_{axis}")
            self.lines["before"].append(f"{self.masks[axis]} = tl.arange(0, {self.padded(axis)}) < {self.extent(axis)}")
        return self.masks[axis]

    def pointer(
        self,
        which: int,
        shape: AxisNames,
        places: list[tuple[int | None, bool]],
        cut: tuple[int, int, int] | None = None,
    ) -> str:
        """Addresses of a tile: one term per dim of the tensor; leading dims may be dropped from the tile.

        `cut` is a dim that is sliced, where the slice begins, and the extent of the tile that it is a slice of.
        """
        terms = [self.pointers[which]]
        dropped = len(places) - len(shape)
        for d, (grid, looped) in enumerate(places):
            shift, whole = cut[1:] if cut is not None and cut[0] == d else (0, 0)
            if d < dropped:
                start = self.start(grid, looped)
                if whole:
                    start = f"({start} * {whole} + {shift})" if start else str(shift)
                if start:
                    start = f"tl.cast({start}, tl.int64)" if self.wide_index else start
                    terms.append(f"{start} * {self.stride(which, d)}")
            elif self.is_bare(shape, d - dropped, grid, looped, shift):
                continue
            else:
                offset = self.offset(shape[d - dropped], grid, looped, shift, whole)
                terms.append(f"{offset}{_along(d - dropped, len(shape))} * {self.stride(which, d)}")
        return " + ".join(terms)

    def is_bare(self, shape: AxisNames, d: int, grid: int | None, looped: bool, shift: int) -> bool:
        """Whether a dim of one element adds nothing to an address, and other dims give the tile its shape."""
        start = self.start(grid, looped)
        return shape[d] is None and not start and not shift and any(shape)

    def stride(self, which: int, d: int) -> str:
        if (which, d) not in self.strides:
            base = self.pointers[which].removesuffix("_ptr")
            self.strides[which, d] = self.names.fresh(f"{base}_stride_{d}")
        return self.strides[which, d]

    def inside(self, shape: AxisNames) -> str:
        """The mask of a tile, empty where nothing is padded."""
        padded = [(d, a) for d, a in enumerate(shape) if a and self.plan.axes[a].is_padded]
        return " & ".join(f"{self.mask(a)}{_along(d, len(shape))}" for d, a in padded)

    # ------------------------------------------------------------ values
    def put(self, section: Section, wanted: str, text: str) -> str:
        name = self.names.fresh(wanted)
        self.lines[section].append(f"{name} = {text}")
        return name

    def no_padding(self, shape: AxisNames) -> tuple[bool, ...]:
        """Per dim: true where there is no padding that could hold anything."""
        return tuple(a is None or not self.plan.axes[a].is_padded for a in shape)

    def zeroed(self, value: _Value, d: int, section: Section) -> _Value:
        """The value with zeros in the padding of dim `d`."""
        axis = value.shape[d]
        if value.zero[d] or axis is None:
            return value
        key = (value.name, d, section)
        if key not in self.masked:
            text = f"tl.where({self.mask(axis)}{_along(d, len(value.shape))}, {value.name}, 0.0)"
            self.masked[key] = self.put(section, f"{value.name}_masked", text)
        name = self.masked[key]
        return _Value(name, value.shape, (*value.zero[:d], True, *value.zero[d + 1 :]))

    def write(self) -> None:
        plan = self.plan
        loop = plan.block.loop
        self.counter = self.names.fresh(loop.name) if loop and plan.iterations > 1 else ""
        unwritten = plan.unwritten
        for j, node in enumerate(plan.block.nodes):
            if j in unwritten:
                continue
            section = plan.sections[j]
            args = [self.values[a] for a in node.args if a in self.values]
            match node.op:
                case Load(operand) as load:
                    self.values[j] = self.band(j, load) if operand in plan.bands else self.load(j, load, section)
                case Unary(fn):
                    row = UNARY_TEXT[fn]
                    zero = args[0].zero if row.keeps_zero else self.no_padding(args[0].shape)
                    self.values[j] = self.made(j, row.text.format(args[0].name), zero)
                case Scalar(fn, value):
                    keeps = fn == "mul" or (fn == "pow" and value > 0) or not value
                    zero = args[0].zero if keeps else self.no_padding(args[0].shape)
                    self.values[j] = self.made(j, _scalar_text(fn, args[0].name, value), zero)
                case Binary(fn):
                    right, least = args[1].name, ""
                    if fn == "mask":
                        least = self.bottom(j)
                        right = right if self.is_mask(node.args[1]) else f"{right} != 0"
                    text = BINARY_TEXT[fn].format(args[0].name, right, least)
                    self.values[j] = self.made(j, text, self.zero_of(fn, args[0], args[1]))
                case MatMul():
                    if j not in plan.fused:
                        text, zero = self.product(j, section)
                        self.values[j] = self.made(j, text, zero)
                case Reduce(fn, along):
                    self.values[j] = self.reduced(j, fn, along, section)
                case Accumulate():
                    self.values[j] = self.accumulated(j, node.op)
                case AccumulateRescaled() if plan.iterations > 1:
                    self.values[j] = self.rescaled(j, node.op)
                case AccumulateRescaled(along):
                    self.values[j] = self.accumulated(j, Accumulate("sum", along))
                case RunningMax(along):
                    self.values[j] = self.running(j, along, section)
                case Permute(order):
                    text = f"tl.permute({self.lifted(node.args[0])}, {order})"
                    self.values[j] = self.made(j, text, tuple(self.full_zero(node.args[0])[d] for d in order))
                case Expand(along, _):
                    zero = list(self.full_zero(node.args[0]))
                    zero[along] = self.no_padding(plan.shapes[j])[along]
                    text = f"tl.broadcast_to({self.lifted(node.args[0])}, {self.shape(plan.shapes[j])})"
                    self.values[j] = self.made(j, text, tuple(zero))
                case Reshape() if plan.is_whole_reshape(j):
                    text = f"tl.reshape({self.lifted(node.args[0])}, {self.shape(plan.shapes[j])})"
                    self.values[j] = self.made(j, text, self.no_padding(plan.shapes[j]))
                case Reshape():
                    self.values[j] = self.reshaped(j, section)
                case Slice(along, _, _) if plan.is_read_anew(j):
                    cut = along, self.start_of(j), plan.dims[node.args[0]][along]
                    self.values[j] = self.load(j, self.loaded(j), section, cut)
                case Slice(along, _, _):
                    self.values[j] = self.sliced(j, along)
                case Concat(along):
                    self.values[j] = self.joined(j, along, section)
                case Store(omap):
                    self.store(j, args[0], omap or (), section)
                case Input() | Band() | Custom() | Result():
                    raise AssertionError("BlockGraph refuses kernel-level operators")
                case _:
                    assert_never(node.op)

    def made(self, j: int, text: str, zero: tuple[bool, ...]) -> _Value:
        name = self.put(self.plan.sections[j], f"{op_name(self.plan.block.nodes[j].op)}_{j}", text)
        return _Value(name, self.plan.shapes[j], zero)

    def bottom(self, j: int) -> str:
        """What stands for minus infinity in the arithmetic of %j."""
        number = bottom(np.dtype(np.float64 if self.plan.types[j].dtype == "f64" else np.float32))
        return self.named("masked", number, "stands for minus infinity")

    def named(self, name: str, number: float, says: str) -> str:
        """The name of a number that is written out once, at the top of the body."""
        if number not in self.numbers:
            self.numbers[number] = self.names.fresh(name)
            self.lines["before"].insert(0, f"{self.numbers[number]}: tl.constexpr = {number!r}  # {says}")
        return self.numbers[number]

    @property
    def lowest(self) -> str:
        """The most negative float32, by name."""
        return self.named("lowest", LOWEST, "where a maximum starts")

    def lifted(self, j: int) -> str:
        """A value with all the dims of its tensor, also those that were dropped."""
        value, rank = self.values[j], len(self.plan.dims[j])
        missing = rank - len(value.shape)
        return f"{value.name}[{', '.join([*['None'] * missing, *[':'] * len(value.shape)])}]" if missing else value.name

    def full_zero(self, j: int) -> tuple[bool, ...]:
        return (*(True,) * (len(self.plan.dims[j]) - len(self.values[j].shape)), *self.values[j].zero)

    def band(self, j: int, load: Load) -> _Value:
        """A band, computed from the indices of its tile."""
        plan, shape = self.plan, self.plan.shapes[j]
        band = plan.bands[load.operand]
        (rows, columns) = (self.offset(a, *cut) for a, cut in zip(shape, cuts(load, 2), strict=True))
        ahead = f"{columns}[None, :] - {rows}[:, None]"
        tests = [f"({ahead} >= {ceil(d.rational({}))})" for d in (band.low,) if d is not None]
        tests += [f"({ahead} <= {floor(d.rational({}))})" for d in (band.high,) if d is not None]
        text = " & ".join(tests) or f"{ahead} == {ahead}"
        if not self.is_mask(j):
            text = f"({text}).to({'tl.float64' if plan.types[j].dtype == 'f64' else 'tl.float32'})"
        section: Section = "loop" if load.fmap is not None and plan.iterations > 1 else plan.sections[j]
        return _Value(self.put(section, f"band_{j}", text), shape, self.no_padding(shape))

    def is_mask(self, j: int) -> bool:
        """Whether %j is a band that only masks read, so that it may be truth values."""
        nodes = self.plan.block.nodes
        load, readers = nodes[j].op, consumers(nodes)[j]
        return (
            isinstance(load, Load)
            and load.operand in self.plan.bands
            and all(nodes[r].op == Binary("mask") and nodes[r].args[0] != j for r in readers)
        )

    def loaded(self, j: int) -> Load:
        """The load of which %j is a view."""
        load = self.plan.block.nodes[self.plan.block.nodes[j].args[0]].op
        assert isinstance(load, Load), "only views of what is loaded are loaded anew"
        return load

    def start_of(self, j: int) -> int:
        """Where a slice begins, as a number."""
        cut = self.plan.exact.nodes[j].op
        assert isinstance(cut, Slice), "a slice has numbers where the graph does"
        return cut.start.constant or 0

    def lanes(self, axis: str | None) -> str:
        """The numbers of a tile's lanes along one axis."""
        return f"tl.arange(0, {self.padded(axis)})"

    # ------------------------------------------------------------ views in registers
    def gathered(self, j: int, arg: int, d: int, shift: int) -> str:
        """Lanes of %arg along dim `d` of %j, `shift` further on; where there is none, any."""
        shape, held = self.plan.shapes[j], self.values[arg]
        missing = len(shape) - len(held.shape)
        name = f"{held.name}[{', '.join(['None'] * missing + [':'] * len(held.shape))}]" if missing else held.name
        last = self.plan.padded((*(None,) * missing, *held.shape))[d] - 1
        lanes = self.lanes(shape[d])
        if shift:
            lanes = f"{lanes} {'+' if shift > 0 else '-'} {abs(shift)}"
        if shift < 0:
            lanes = f"tl.maximum({lanes}, 0)"
        if self.plan.padded(shape)[d] - 1 + shift > last:
            lanes = f"tl.minimum({lanes}, {last})"
        section = self.plan.sections[j]
        place = f"tl.broadcast_to(({lanes}){_along(d, len(shape))}, {self.shape(shape)})"
        return f"tl.gather({name}, {self.put(section, f'place_{j}', place)}, axis={d})"

    def sliced(self, j: int, along: int) -> _Value:
        """A piece of a tile."""
        shape, (arg,) = self.plan.shapes[j], self.plan.block.nodes[j].args
        d = along - len(self.plan.dims[j]) + len(shape)
        # a dim that was dropped has one element
        text = self.gathered(j, arg, d, self.start_of(j)) if d >= 0 else self.values[arg].name
        return self.made(j, text, self.no_padding(shape))

    def joined(self, j: int, along: int, section: Section) -> _Value:
        """Two tiles side by side."""
        plan, shape = self.plan, self.plan.shapes[j]
        left, right = plan.block.nodes[j].args
        d = along - len(plan.dims[j]) + len(shape)
        ahead = plan.dims[left][along]
        first = self.put(section, f"first_{j}", f"({self.lanes(shape[d])} < {ahead}){_along(d, len(shape))}")
        parts: list[str] = []
        for arg, before, inside in ((left, 0, first), (right, ahead, f"~{first}")):
            source = plan.shifted(arg, along)
            if source is None:
                text = self.gathered(j, arg, d, -before)
            else:
                text = self.side(j, arg, along, source, before, inside, section)
            parts.append(self.put(section, f"part_{j}", text))
        return self.made(j, f"tl.where({first}, {', '.join(parts)})", self.no_padding(shape))

    def side(
        self, j: int, arg: int, along: int, source: tuple[int, int], before: int, first: str, section: Section
    ) -> str:
        """One side of a concat, loaded at the lanes where it stands, with the functions behind it."""
        plan, (loaded, start), shape = self.plan, source, self.plan.shapes[j]
        load = plan.block.nodes[loaded].op
        assert isinstance(load, Load), "what is shifted was loaded"
        cut = along, start - before, plan.dims[loaded][along]
        pointer = self.pointer(load.operand, shape, cuts(load, len(plan.dims[loaded])), cut)
        inside = " & ".join(filter(None, (first, self.inside(shape))))
        text = f"tl.load(\n    {pointer},\n    mask={inside},\n    other=0.0,\n)"
        text = text if plan.types[loaded].dtype in ("f32", "f64") else f"{text}.to(tl.float32)"
        functions: list[Unary] = []
        while isinstance(op := plan.block.nodes[arg].op, Unary):
            functions.append(op)
            (arg,) = plan.block.nodes[arg].args
        for op in reversed(functions):
            text = UNARY_TEXT[op.fn].text.format(self.put(section, f"part_{j}", text))
        return text

    def reshaped(self, j: int, section: Section) -> _Value:
        """A reshape that padding breaks: loaded anew where it is one of what is loaded, else element by element."""
        plan = self.plan
        (arg,) = plan.block.nodes[j].args
        if plan.is_read_anew(j):
            load = self.loaded(j)
            places = cuts(load, len(plan.dims[arg]))
            terms = [self.pointers[load.operand]]
            for d, (at, place) in enumerate(zip(self.coordinates(j), places, strict=True)):
                start = self.start(*place)
                at = f"{start} * {plan.dims[arg][d]} + {at}" if start else at
                at = f"({at}).to(tl.int64)" if self.wide_index else f"({at})"
                terms.append(f"{at} * {self.stride(load.operand, d)}")
            return self.fetched(j, load.operand, " + ".join(terms), section)
        shape, old = plan.shapes[j], plan.padded(plan.of[arg])
        steps = [prod(old[d + 1 :]) for d in range(len(old))]
        at = " + ".join(f"{c} * {step}" if step > 1 else c for c, step in zip(self.coordinates(j), steps, strict=True))
        at = f"tl.minimum(tl.broadcast_to({at}, {self.shape(shape)}), {prod(old) - 1})"
        place = self.put(section, f"place_{j}", at)
        flat = f"tl.reshape({self.lifted(arg)}, ({prod(old)},))"
        text = f"tl.gather({flat}, tl.reshape({place}, ({prod(plan.padded(shape))},)), axis=0)"
        return self.made(j, f"tl.reshape({text}, {self.shape(shape)})", self.no_padding(shape))

    def coordinates(self, j: int) -> list[str]:
        """Of each element of a reshape, where it was: per dim of the operand, the place in its tile."""
        plan = self.plan
        (arg,) = plan.block.nodes[j].args
        old, new = plan.changed(j)
        rank = len(plan.of[j])
        lanes = [f"{self.lanes(a)}{_along(d, rank)}" for d, a in enumerate(plan.of[j])]
        counts = [prod(plan.dims[j][e] for e in new if e > d) for d in new]
        flat = " + ".join(f"{lanes[d]} * {n}" if n > 1 else lanes[d] for d, n in zip(new, counts, strict=True))
        found: list[str] = []
        for d, axis in enumerate(plan.of[arg]):
            if d not in old:
                found.append(lanes[plan.of[j].index(axis)] if axis else "0")
                continue
            behind = prod(plan.dims[arg][e] for e in old if e > d)
            place = f"({flat})" if len(new) > 1 else flat
            place = f"{place} // {behind}" if behind > 1 else place
            found.append(f"({place}) % {plan.dims[arg][d]}" if d != old[0] else f"({place})")
        return found

    def load(self, j: int, load: Load, section: Section, cut: tuple[int, int, int] | None = None) -> _Value:
        pointer = self.pointer(load.operand, self.plan.shapes[j], cuts(load, len(self.plan.dims[j])), cut)
        return self.fetched(j, load.operand, pointer, section)

    def fetched(self, j: int, operand: int, pointer: str, section: Section) -> _Value:
        """A tile read from memory; 16-bit numbers are widened where something else than a product reads them."""
        plan = self.plan
        shape = plan.shapes[j]
        inside = self.inside(shape)
        text = f"tl.load({pointer}, mask={inside}, other=0.0)" if inside else f"tl.load({pointer})"
        if len(text) > 88:
            parts = [pointer, *([f"mask={inside}", "other=0.0"] if inside else [])]
            text = "tl.load(\n" + "".join(f"    {p},\n" for p in parts) + ")"
        wanted = self.pointers[operand].removesuffix("_ptr")
        zero = (True,) * len(shape)
        if plan.types[j].dtype in ("f32", "f64"):
            return _Value(self.put(section, wanted, text), shape, zero)
        readers = consumers(plan.block.nodes)[j]
        if not any(r in plan.dots for r in readers):
            return _Value(self.put(section, wanted, f"{text}.to(tl.float32)"), shape, zero)
        narrow = self.put(section, wanted, text)
        if all(r in plan.dots for r in readers):
            return _Value(narrow, shape, zero, narrow)
        return _Value(self.put(section, f"{wanted}_wide", f"{narrow}.to(tl.float32)"), shape, zero, narrow)

    def zero_of(self, fn: BinaryFn, a: _Value, b: _Value) -> tuple[bool, ...]:
        """Where the padding of an elementwise result is still zero."""
        rank = max(len(a.shape), len(b.shape))
        out: list[bool] = []
        for d in range(rank):
            (axis_a, zero_a), (axis_b, zero_b) = _at(a, d, rank), _at(b, d, rank)
            axis = axis_a or axis_b
            if axis is None or not self.plan.axes[axis].is_padded:
                out.append(True)
                continue
            left, right = bool(axis_a) and zero_a, bool(axis_b) and zero_b
            match fn:
                case "add" | "sub":
                    out.append(left and right)
                case "mul":
                    out.append((left and (right or not axis_b)) or (right and not axis_a))
                case "div":
                    out.append(left and not axis_b)
                case "max" | "min":
                    out.append(left and right)
                case "mask":
                    out.append(False)  # where it keeps nothing it is far from zero
        return tuple(out)

    def product(self, j: int, section: Section, total: str = "") -> tuple[str, tuple[bool, ...]]:
        """A matrix product, added to `total` where one is given; and where its padding is zero."""
        plan = self.plan
        x, y = plan.block.nodes[j].args
        a = self.zeroed(self.values[x], len(plan.shapes[x]) - 1, section)
        b = self.zeroed(self.values[y], len(plan.shapes[y]) - 2, section)
        rank = len(plan.shapes[j])
        batch = tuple(
            self.plan.shapes[j][d] is None or (_at(a, d, rank)[1] and _at(b, d, rank)[1]) for d in range(rank - 2)
        )
        zero = (*batch, a.zero[-2], b.zero[-1])
        if j not in plan.dots:
            left = f"{a.name}[{', '.join(':' * len(a.shape))}, None]"
            right = f"{b.name}[{', '.join((*':' * (len(b.shape) - 2), 'None', ':', ':'))}]"
            text = f"tl.sum({left} * {right}, axis={rank - 1})"
            return (f"{total} + {text}" if total else text), zero
        operands = [self.dot_operand(v, plan.shapes[j], plan.types[j].dtype) for v in (a, b)]
        if total:
            operands.append(total)
        if plan.types[j].dtype == "f32":
            operands.append('input_precision="ieee"')
        return f"tl.dot({', '.join(operands)})", zero

    def dot_operand(self, value: _Value, result: AxisNames, dtype: DType) -> str:
        text = value.narrow or value.name
        if dtype != "f32" and not value.narrow:
            text = f"{text}.to({TRITON_DTYPE[dtype]})"
        batch = result[:-2]
        if batch and (len(value.shape) < len(result) or value.shape[:-2] != batch):
            lifted = f"{text}[None, :, :]" if len(value.shape) == 2 else text
            return f"tl.broadcast_to({lifted}, {self.shape((*batch, *value.shape[-2:]))})"
        return text

    def reduced(self, j: int, fn: ReduceFn, along: int, section: Section) -> _Value:
        arg = self.plan.block.nodes[j].args[0]
        value = self.values[arg]
        d = along - (len(self.plan.dims[arg]) - len(value.shape))
        if d < 0:
            return self.made(j, f"tl.abs({value.name})" if fn == "rms" else value.name, value.zero)
        text, zero = self.partial(value, fn, d, section)
        return self.made(j, _finished(fn, text, self.plan.dims[arg][along]), zero)

    def partial(self, value: _Value, fn: ReduceFn, d: int, section: Section) -> tuple[str, tuple[bool, ...]]:
        """The sum over dim `d`, of squares for rms; or the maximum."""
        if fn == "max":
            value = self.lowered(value, d, section)
            return f"tl.max({value.name}, axis={d}, keep_dims=True)", (*value.zero[:d], True, *value.zero[d + 1 :])
        value = self.zeroed(value, d, section)
        inside = f"{value.name} * {value.name}" if fn == "rms" else value.name
        return f"tl.sum({inside}, axis={d}, keep_dims=True)", (*value.zero[:d], True, *value.zero[d + 1 :])

    def lowered(self, value: _Value, d: int, section: Section) -> _Value:
        """The value with the lowest number in the padding of dim `d`."""
        axis = value.shape[d]
        if axis is None or not self.plan.axes[axis].is_padded:
            return value
        text = f"tl.where({self.mask(axis)}{_along(d, len(value.shape))}, {value.name}, {self.lowest})"
        name = self.put(section, f"{value.name}_inside", text)
        return _Value(name, value.shape, (*value.zero[:d], False, *value.zero[d + 1 :]))

    def largest(self, arg: int, along: int | None, section: Section) -> tuple[str, tuple[bool, ...]]:
        """The maximum over a dim, if one is given and the tile has it."""
        value = self.values[arg]
        d = -1 if along is None else along - (len(self.plan.dims[arg]) - len(value.shape))
        return self.partial(value, "max", d, section) if d >= 0 else (value.name, value.zero)

    def running(self, j: int, along: int | None, section: Section) -> _Value:
        """A maximum that is carried from one iteration to the next."""
        arg = self.plan.block.nodes[j].args[0]
        text, zero = self.largest(arg, along, section)
        if section != "loop":
            return self.made(j, text, zero)
        name = self.names.fresh(f"running_max_{j}")
        self.start_at(j, name, LOWEST)
        self.lines["loop"].append(f"{name} = tl.maximum({name}, {text})")
        return _Value(name, self.plan.shapes[j], self.no_padding(self.plan.shapes[j]))

    def start_at(self, j: int, name: str, value: float) -> None:
        kind = "tl.float64" if self.plan.types[j].dtype == "f64" else "tl.float32"
        shape = self.shape(self.plan.shapes[j])
        first = f"tl.full({shape}, {self.lowest}, dtype={kind})" if value else f"tl.zeros({shape}, dtype={kind})"
        self.lines["before"].append(f"{name} = {first}")

    def factor(self, scale: int) -> str:
        """exp(scale before - scale now), once per iteration for all sums of one scale."""
        if scale not in self.scales:
            now = self.values[scale].name
            before, name = self.names.fresh(f"{now}_before"), self.names.fresh(f"rescale_{scale}")
            self.start_at(scale, before, LOWEST)
            self.lines["loop"] += [f"{name} = tl.exp({before} - {now})", f"{before} = {now}"]
            self.scales[scale] = name
        return self.scales[scale]

    def rescaled(self, j: int, op: AccumulateRescaled) -> _Value:
        """A sum that is brought to this iteration's scale before the iteration's part is added."""
        plan = self.plan
        arg, scale = plan.block.nodes[j].args
        factor, total = self.factor(scale), self.names.fresh(f"acc_{j}")
        self.start_at(j, total, 0.0)
        d = -1 if op.dim is None else op.dim - (len(plan.dims[arg]) - len(plan.shapes[arg]))
        if arg in plan.fused:
            text, zero = self.product(arg, "loop", f"{total} * {factor}")
        elif d >= 0:
            text, zero = self.partial(self.values[arg], "sum", d, "loop")
            text = f"{total} * {factor} + {text}"
        else:
            value = self.values[arg]
            text, zero = f"{total} * {factor} + {value.name}", value.zero
        self.lines["loop"].append(f"{total} = {text}")
        return _Value(total, plan.shapes[j], zero)

    def accumulated(self, j: int, op: Accumulate) -> _Value:
        plan = self.plan
        arg = plan.block.nodes[j].args[0]
        looping = plan.iterations > 1
        if op.fn == "max":
            return self.running(j, op.dim, "loop" if looping else "before")
        section: Section = "loop" if looping else "before"
        total = self.names.fresh(f"acc_{j}")
        d = -1 if op.dim is None else op.dim - (len(plan.dims[arg]) - len(plan.shapes[arg]))
        if arg in plan.fused:
            text, zero = self.product(arg, section, total)
            line = f"{total} = {text}"
        elif d >= 0:
            text, zero = self.partial(self.values[arg], op.fn, d, section)
            line = f"{total} += {text}" if looping else f"{total} = {text}"
        else:
            value = self.values[arg]
            inside = f"{value.name} * {value.name}" if op.fn == "rms" and op.dim is not None else value.name
            line, zero = f"{total} += {inside}" if looping else f"{total} = {inside}", value.zero
        self.lines[section].append(line)
        if looping:
            kind = "tl.float64" if plan.types[j].dtype == "f64" else "tl.float32"
            self.lines["before"].append(f"{total} = tl.zeros({self.shape(plan.shapes[j])}, dtype={kind})")
        if op.fn == "sum" or op.dim is None:
            return _Value(total, plan.shapes[j], zero)
        count = plan.iterations * plan.dims[arg][op.dim]
        name = self.put(plan.sections[j], f"{op.fn}_{j}", _finished(op.fn, total, count))
        return _Value(name, plan.shapes[j], zero)

    def store(self, j: int, value: _Value, omap: tuple[int | None, ...], section: Section) -> None:
        which = len(self.plan.operands) + self.plan.block.stores.index(j)
        places = cuts(Load(0, omap), len(self.plan.dims[j]))
        pointer = self.pointer(which, value.shape, places)
        inside = self.inside(value.shape)
        dtype = self.plan.types[j].dtype
        text = value.narrow or (f"{value.name}.to({TRITON_DTYPE[dtype]})" if dtype[-2:] == "16" else value.name)
        parts = [pointer, text, *([f"mask={inside}"] if inside else [])]
        line = f"tl.store({', '.join(parts)})"
        self.lines[section].append(
            line if len(line) <= 92 else "tl.store(\n" + "".join(f"    {p},\n" for p in parts) + ")"
        )


def write_kernel(
    plan: BlockPlan,
    name: str,
    operand_names: tuple[str, ...],
    operand_types: tuple[tuple[DType, tuple[int, ...]], ...],
    comment: tuple[str, ...],
) -> KernelText:
    """The source of one custom kernel.

    Args:
        plan: what `plan_kernels` found.
        name: of the function; legal.
        operand_names: what the kernel-level operands are called; made legal here.
        operand_types: dtype and strides of each operand, then of each result.
        comment: lines that stand at the top of the body.
    """
    names = Names(("tl", "range", name))
    results = ("out", *(f"out{n}" for n in range(1, len(plan.block.stores))))
    pointers = tuple(names.fresh(f"{n}_ptr") for n in (*operand_names, *results))
    writer = _Writer(plan, names, pointers, _needs_wide_index(plan))
    writer.write()
    body = [f"# {line}".rstrip() for line in comment]
    body += [f"{pid} = tl.program_id({grid})" for grid, pid in sorted(writer.pids.items())]
    body += writer.lines["before"]
    if writer.lines["loop"]:
        body += [f"for {writer.counter} in range({writer.loops}):", *_indented(writer.lines["loop"])]
    body += writer.lines["after"]
    arguments = [Argument(p, "pointer", o, 0, 0) for o, p in enumerate(pointers) if o not in plan.bands]
    arguments += [
        Argument(text, "stride", o, d, operand_types[o][1][d]) for (o, d), text in sorted(writer.strides.items())
    ]
    order = {(kind, a): (i, kind == "PADDED") for i, a in enumerate(plan.axes) for kind in ("TILE", "PADDED")}
    constants = sorted(writer.constants.items(), key=lambda c: order.get(c[0], (len(order), False)))
    arguments += [Argument(text, "constant", 0, 0, value) for _, (text, value) in constants]
    source = "\n".join(["@triton.jit", *_signature(name, arguments), *_indented(body)])
    dtypes: tuple[DType, ...] = tuple(t for t, _ in operand_types)
    return KernelText(name, plan.position, plan.grid, tuple(arguments), dtypes, source, writer.wide_index)


def strides_of(type_: TensorType, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Strides in elements of a dense tensor that lies in its type's storage order."""
    strides = [0] * len(shape)
    step = 1
    for d in reversed(type_.storage_order):
        strides[d] = step
        step *= shape[d]
    return tuple(strides)


def _signature(name: str, arguments: list[Argument]) -> list[str]:
    lines = [f"def {name}("]
    lines += wrapped([a.name for a in arguments if a.kind == "pointer"])
    lines += wrapped([a.name for a in arguments if a.kind == "stride"])
    lines += [f"    {a.name}: tl.constexpr," for a in arguments if a.kind == "constant"]
    return [*lines, "):"]


def wrapped(words: list[str], indent: str = "    ", width: int = 96) -> list[str]:
    """Words with commas, in lines of at most `width`."""
    lines: list[str] = []
    for word in words:
        if lines and len(lines[-1]) + len(word) + 2 <= width:
            lines[-1] += f" {word},"
        else:
            lines.append(f"{indent}{word},")
    return lines


def _indented(lines: list[str]) -> list[str]:
    return [f"    {part}" if part else "" for line in lines for part in line.split("\n")]


def _along(d: int, rank: int) -> str:
    """The index that spreads a vector along dim `d` of a tile."""
    return "" if rank == 1 else f"[{', '.join(':' if e == d else 'None' for e in range(rank))}]"


def _at(value: _Value, d: int, rank: int) -> tuple[str | None, bool]:
    """Axis and zero padding of a value at dim `d` of a result of `rank` dims."""
    own = d - (rank - len(value.shape))
    return (None, True) if own < 0 else (value.shape[own], value.zero[own])


def _scalar_text(fn: ScalarFn, x: str, value: Fraction) -> str:
    match fn:
        case "add":
            return f"{x} + {float(value)!r}"
        case "mul":
            return f"{x} * {float(value)!r}"
        case "max":
            return f"tl.maximum({x}, {float(value)!r})"
        case "min":
            return f"tl.minimum({x}, {float(value)!r})"
        case "pow":
            whole, half = divmod(abs(value), 1)
            if half not in (0, Fraction(1, 2)) or whole > LARGEST_POWER:
                return f"tl.exp({float(value)!r} * tl.log({x}))"
            text = " * ".join([x] * int(whole) + ([f"tl.sqrt({x})"] if half else [])) or "1.0"
            return text if value > 0 else f"1.0 / ({text})" if value else f"{x} * 0.0 + 1.0"


def _finished(fn: ReduceFn, total: str, count: int) -> str:
    match fn:
        case "sum":
            return total
        case "mean":
            return f"{total} / {count}"
        case "rms":
            return f"tl.sqrt({total} / {count})"
        case "max":
            return total


def _needs_wide_index(plan: BlockPlan) -> bool:
    """Whether an offset into some tensor may pass 2**31."""
    sizes: list[int] = [1]
    for j, node in enumerate(plan.block.nodes):
        if isinstance(node.op, Load | Store):
            elements = 1
            for n in plan.dims[j]:
                elements *= n
            if isinstance(node.op, Load):
                for p, along in zip(plan.grid, node.op.imap or (), strict=False):
                    elements *= p if along is not None else 1
                elements *= plan.iterations if node.op.fmap is not None else 1
            sizes.append(elements)
    return max(sizes) >= 1 << 31
