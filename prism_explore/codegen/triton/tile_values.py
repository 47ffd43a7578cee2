"""Tiles in registers: the names, shapes, padding and assignments of one Triton kernel while its text is written.

Triton's tiles have extents that are powers of two, so an axis of another extent is padded. `TileValue.zero` tracks
the dims whose padding still holds zero: a load fills it with zeros, `exp` turns them into ones. A reduction or a matrix
product over a dim whose padding is not neutral masks it first. For finite data the result is exact.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from prism_explore.codegen.triton.plan import BlockPlan, Section
from prism_explore.codegen.triton.python_text import Names
from prism_explore.ir.axes import AxisNames
from prism_explore.ir.elementwise import masked_value
from prism_explore.ir.ops import op_label

LOWEST = -3.4028234663852886e38
"""The most negative float32: where a maximum starts, and what the padding holds during one."""


@dataclass(frozen=True, slots=True)
class TileValue:
    """A variable of the kernel that holds a tile."""

    name: str
    shape: AxisNames
    zero: tuple[bool, ...]
    """Per dim: whether the lanes of its padding hold zero."""
    unconverted: str = ""
    """The variable with the tile as loaded, in 16 bits; empty where there is none."""


@dataclass(slots=True)
class TileValues:
    """The statements of a kernel by section, and the variables that they define."""

    plan: BlockPlan
    names: Names
    lines: dict[Section, list[str]] = field(default_factory=lambda: {"before": [], "loop": [], "after": []})
    values: dict[int, TileValue] = field(default_factory=dict[int, TileValue])
    """By block node."""
    constants: dict[tuple[str, str], tuple[str, int]] = field(default_factory=dict[tuple[str, str], tuple[str, int]])
    """Compile-time constants by kind and axis: name and value."""
    counter: str = ""
    """The loop variable; empty without a loop."""
    _masks: dict[str, str] = field(default_factory=dict[str, str])
    _masked: dict[tuple[str, int, Section], str] = field(default_factory=dict[tuple[str, int, Section], str])
    _numbers: dict[float, str] = field(default_factory=dict[float, str])

    # ------------------------------------------------------------ constants by name
    def constant(self, kind: str, axis: str, value: int) -> str:
        """The name of a compile-time constant."""
        if (kind, axis) not in self.constants:
            self.constants[kind, axis] = (self.names.fresh(f"{kind}_{axis.upper()}" if axis else kind), value)
        return self.constants[kind, axis][0]

    @property
    def iterations(self) -> str:
        """The number of iterations, by name."""
        return self.constant("LOOP", "", self.plan.iterations)

    def extent(self, axis: str | None) -> str:
        """A tile's extent without padding, by name."""
        return "1" if axis is None else self.constant("TILE", axis, self.plan.axes[axis].extent)

    def padded(self, axis: str | None) -> str:
        """A tile's extent in registers, by name."""
        if axis is None or not self.plan.axes[axis].is_padded:
            return self.extent(axis)
        return self.constant("PADDED", axis, self.plan.axes[axis].padded)

    def shape(self, shape: AxisNames) -> str:
        """The text of a tile's shape in registers."""
        inside = ", ".join(self.padded(a) for a in shape)
        return f"({inside},)" if len(shape) == 1 else f"({inside})"

    def named_number(self, name: str, number: float, comment: str) -> str:
        """The name of a number that is defined once, at the top of the body."""
        if number not in self._numbers:
            self._numbers[number] = self.names.fresh(name)
            self.lines["before"].insert(0, f"{self._numbers[number]}: tl.constexpr = {number!r}  # {comment}")
        return self._numbers[number]

    @property
    def lowest(self) -> str:
        """The most negative float32, by name."""
        return self.named_number("lowest", LOWEST, "where a maximum starts")

    def minus_infinity(self, j: int) -> str:
        """The number used as minus infinity in the arithmetic of %j, by name."""
        number = masked_value(np.dtype(np.float64 if self.plan.types[j].dtype == "f64" else np.float32))
        return self.named_number("masked", number, "stands for minus infinity")

    def dtype(self, j: int) -> str:
        """The dtype in which %j is computed."""
        return "tl.float64" if self.plan.types[j].dtype == "f64" else "tl.float32"

    # ------------------------------------------------------------ assignments
    def assign(self, section: Section, wanted: str, text: str) -> str:
        """Assign an expression to a new variable; returns its name."""
        name = self.names.fresh(wanted)
        self.lines[section].append(f"{name} = {text}")
        return name

    def define(self, j: int, text: str, zero: tuple[bool, ...]) -> TileValue:
        """Assign an expression to the variable of %j, named after its operator."""
        name = self.assign(self.plan.sections[j], f"{op_label(self.plan.block.nodes[j].op)}_{j}", text)
        return TileValue(name, self.plan.shapes[j], zero)

    def initialize(self, j: int, name: str, value: float) -> None:
        """Assign a constant tile of the shape of %j to `name` before the loop: zeros, or the lowest number."""
        shape, dtype = self.shape(self.plan.shapes[j]), self.dtype(j)
        text = f"tl.full({shape}, {self.lowest}, dtype={dtype})" if value else f"tl.zeros({shape}, dtype={dtype})"
        self.lines["before"].append(f"{name} = {text}")

    # ------------------------------------------------------------ lanes and padding
    def lanes(self, axis: str | None) -> str:
        """The lane numbers of a tile along one axis."""
        return f"tl.arange(0, {self.padded(axis)})"

    def mask(self, axis: str) -> str:
        """The variable that is true for the lanes of a padded axis that hold data."""
        if axis not in self._masks:
            self._masks[axis] = self.names.fresh(f"mask_{axis}")
            self.lines["before"].append(f"{self._masks[axis]} = {self.lanes(axis)} < {self.extent(axis)}")
        return self._masks[axis]

    def tile_mask(self, shape: AxisNames) -> str:
        """The mask of a tile, empty where nothing is padded."""
        padded = [(d, a) for d, a in enumerate(shape) if a and self.plan.axes[a].is_padded]
        return " & ".join(f"{self.mask(a)}{broadcast_index(d, len(shape))}" for d, a in padded)

    def no_padding(self, shape: AxisNames) -> tuple[bool, ...]:
        """`TileValue.zero` of a value whose padding may hold anything: true where there is no padding."""
        return tuple(a is None or not self.plan.axes[a].is_padded for a in shape)

    def with_zero_padding(self, value: TileValue, d: int, section: Section) -> TileValue:
        """The value with zeros in the padding of dim `d`."""
        axis = value.shape[d]
        if value.zero[d] or axis is None:
            return value
        key = (value.name, d, section)
        if key not in self._masked:
            text = f"tl.where({self.mask(axis)}{broadcast_index(d, len(value.shape))}, {value.name}, 0.0)"
            self._masked[key] = self.assign(section, f"{value.name}_masked", text)
        return TileValue(self._masked[key], value.shape, (*value.zero[:d], True, *value.zero[d + 1 :]))

    def with_lowest_padding(self, value: TileValue, d: int, section: Section) -> TileValue:
        """The value with the lowest number in the padding of dim `d`."""
        axis = value.shape[d]
        if axis is None or not self.plan.axes[axis].is_padded:
            return value
        text = f"tl.where({self.mask(axis)}{broadcast_index(d, len(value.shape))}, {value.name}, {self.lowest})"
        name = self.assign(section, f"{value.name}_inside", text)
        return TileValue(name, value.shape, (*value.zero[:d], False, *value.zero[d + 1 :]))

    # ------------------------------------------------------------ dims that a tile lacks
    def full_rank(self, j: int) -> str:
        """%j with all the dims of its tensor, also the leading ones that the tile lacks."""
        value, rank = self.values[j], len(self.plan.dims[j])
        return with_leading_dims(value, rank - len(value.shape))

    def full_rank_zero(self, j: int) -> tuple[bool, ...]:
        """`TileValue.zero` for all the dims of the tensor %j."""
        return (*(True,) * (len(self.plan.dims[j]) - len(self.values[j].shape)), *self.values[j].zero)


def with_leading_dims(value: TileValue, missing: int) -> str:
    """The text of a value with `missing` leading dims of size 1."""
    return f"{value.name}[{', '.join([*['None'] * missing, *[':'] * len(value.shape)])}]" if missing else value.name


def broadcast_index(d: int, rank: int) -> str:
    """The index that broadcasts a vector along dim `d` of a tile."""
    return "" if rank == 1 else f"[{', '.join(':' if e == d else 'None' for e in range(rank))}]"


def axis_and_zero(value: TileValue, d: int, rank: int) -> tuple[str | None, bool]:
    """Axis of a value at dim `d` of a result of `rank` dims, and whether its padding is zero."""
    own = d - (rank - len(value.shape))
    return (None, True) if own < 0 else (value.shape[own], value.zero[own])
