"""Lowers an exported ATen graph to a TensorProgram in one pass.

Every traced value becomes a tensor of the program or a compile-time constant. The rows of `aten.table.ROWS` lower the
operators; the helpers they share are here.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import reduce
from math import isfinite, prod
from typing import Any, TypeAlias, cast

from numpy import float64
from numpy.typing import NDArray

from prism_explore.errors import UnsupportedOperator
from prism_explore.frontend.aten import constants
from prism_explore.frontend.aten.constants import ConstantTensor, DiagonalBand, MaskedConstant, NonZero, Number, Ramp
from prism_explore.frontend.opaque import why_not_opaque
from prism_explore.frontend.result_form import Computed, Constant, Leaf, Returned, is_compared
from prism_explore.frontend.traced_program import Binding
from prism_explore.ir.analysis.masked_entries import masked_entries
from prism_explore.ir.analysis.value_ranges import are_whole, value_ranges
from prism_explore.ir.dims import MOST_EXPONENT, ONE, ZERO, Dim, dim
from prism_explore.ir.elementwise import BITS, CASTS, REAL, UNARY, BinaryFn, UnaryFn
from prism_explore.ir.ops import (
    Band,
    Binary,
    Concat,
    Expand,
    Input,
    MatMul,
    Node,
    Permute,
    Reduce,
    Reshape,
    Scalar,
    Scan,
    Slice,
    Unary,
    ViewOp,
)
from prism_explore.ir.program import ProgramBuilder, TensorProgram
from prism_explore.ir.tabulated import FLOAT8_FORMATS
from prism_explore.ir.tensors import (
    BYTE_INTEGERS,
    BYTES,
    DTYPE_OF_NAME,
    FLOATS,
    INTEGER_NUMBERS,
    INTEGERS,
    LARGEST_READ,
    NAMES,
    READ_AS_NUMBERS,
    WHOLE_NUMBERS,
    DType,
    TensorType,
    broadcast,
    dtype_name,
)

TORCH_DTYPES: Mapping[str, DType] = {name: dtype for name, dtype in DTYPE_OF_NAME.items() if dtype not in INTEGERS}
"""The dtypes that kernels read, by their names in torch."""
STORED = tuple(name for name in TORCH_DTYPES if name != "float64")
INTEGER_RANGES: Mapping[str, tuple[int, int]] = {
    **{NAMES[dtype]: WHOLE_NUMBERS[dtype] for dtype in sorted(BYTE_INTEGERS)},
    **{f"int{bits}": (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) for bits in (16, 32, 64)},
}
"""The smallest and the largest number of torch's integer dtypes."""
NOT_FINITE = frozenset({"exp", "expm1", "recip"})
"""Functions that have all real numbers as arguments, and are infinite for some in floats."""
VANISHING = frozenset({"relu", "sigmoid"})
"""Functions that make 0 of minus infinity, without the exponential, which stays beside the mask as kernels know it."""
LARGEST_EXACT = 2**24
"""Up to here, whole numbers are exact in float32."""
LARGEST: Mapping[DType, float] = {
    **{"f64": 1.797e308, "f32": 3.402e38, "bf16": 3.389e38, "f16": 65504.0},
    **dict.fromkeys(WHOLE_NUMBERS, 3.402e38),
}
"""Slightly below the largest finite number of each dtype; its negative is used for minus infinity in masks."""


@dataclass(frozen=True, slots=True)
class View:
    """An input with permuted dims; it becomes a program input where it is first used."""

    placeholder: str
    order: tuple[int, ...]
    is_number: bool = False
    """Whether it is an integer that is read as a number, and not as a position."""
    of_bytes: bool = False
    """Whether it is the bytes of integers, which are one more dim: the last one before the dims were permuted."""


@dataclass(frozen=True, slots=True)
class Unused:
    """A result without a counterpart in the IR, such as the indices of a maximum."""

    what: str


@dataclass(frozen=True, slots=True)
class Unwritten:
    """A tensor whose memory has no value yet, or in part; code may fill it, but not read it."""

    dims: tuple[Dim, ...]
    along: int = 0
    """The dim of which parts are written."""
    step: int = 1
    """The dim is runs of as many elements; a part has the same positions of each run."""
    parts: tuple[tuple[Dim, Dim, Value], ...] = ()
    """Start and end in a run, and what is written there; in the order of the positions."""


@dataclass(frozen=True, slots=True)
class Flipped:
    """A tensor in reverse order along some dims, in code that reverses it again before anything else reads it."""

    tensor: int
    along: frozenset[int]


@dataclass(frozen=True, slots=True)
class Integers:
    """An integer argument with its dims merged, permuted or repeated, plus a number."""

    placeholder: str
    groups: tuple[tuple[int, ...], ...]
    """Per dim, the argument's dims that it merges; none for a dim along which nothing changes."""
    dims: tuple[Dim, ...]
    offset: int = 0


@dataclass(frozen=True, slots=True)
class ComplexPair:
    """A complex tensor as its real and its imaginary parts, which broadcast."""

    real: Value
    imaginary: Value


Value: TypeAlias = (
    "int | View | Integers | ConstantTensor | Dim | Unused | Unwritten | Flipped | ComplexPair | tuple[Value, ...]"
)
"""A tensor's position in the program, an unread input, integers, a constant tensor, a size, or several results."""


@dataclass(frozen=True, eq=False)
class Operand:
    """A value in the place of a traced argument, for rows that are called by other rows."""

    value: Value
    op: str = "operand"
    meta: Mapping[str, Any] = field(default_factory=dict[str, Any])


TORCH_BACKEND = 'torch.compile(.., backend="prism")'
"""What accepts code that no traced program holds: torch cuts it around what depends on data."""
GUARDS = frozenset({"_assert_scalar", "_assert_async", "_assert_tensor_metadata", "sym_constrain_range_for_size"})
_SIZES: Mapping[str, Callable[[Dim, Dim], Dim]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "floordiv": lambda a, b: a / b,
}
"""Python's operators on symbolic sizes that give sizes; a quotient is exact by torch's guards."""
OF_SIZES = frozenset({*_SIZES, "truediv", "pow", "sym_float"})


@dataclass(frozen=True, slots=True)
class Row:
    """The lowering of one ATen operator."""

    aten: str
    torch: str
    """The public name in torch."""
    lower: Callable[..., Value]


class Translation:
    """The program under construction, and the value of each traced node."""

    may_leave = False
    """Whether torch may compute an operator, so that a row need not be read where torch is faster."""
    repeats = False
    """Whether an operator that is called twice on the same tensors is computed twice."""

    def __init__(
        self,
        name: str,
        sources: Mapping[str, tuple[str, TensorType]],
        rows: Mapping[str, Row],
        fixed: Mapping[str, Value],
        views: Sequence[View] | None = None,
        *,
        of_reals: bool = False,
        numbers: Mapping[str, NDArray[float64]] | None = None,
        unpacks: bool = True,
    ) -> None:
        """`fixed`: values of placeholders that are no inputs.

        `views`: the inputs to declare up front, in order; None declares each where it is first read.
        `of_reals`: whether no kernel is made of the program, so that a cast to float64 may stand in it, too.
        `numbers`: those of small tensors that the code or its module holds, by their placeholders.
        `unpacks`: whether integers of which code reads a few bits may be read as bytes.
        """
        self.of_reals = of_reals
        self.unpacks = unpacks and not of_reals
        self._numbers = numbers or {}
        self.tables: dict[str, NDArray[float64]] = {}
        """The tensors whose numbers the program has as constants, by the names of their sources."""
        self.build = ProgramBuilder(name, repeats=self.repeats)
        self.bindings: list[Binding] = []
        self.line = ""
        self.node: Any = None
        """The traced node that is lowered."""
        self.known_ranges: dict[int, tuple[float, float]] = {}
        """Ranges of tensors of the program that their operators do not show."""
        self.results: tuple[Leaf, ...] = ()
        """Once it has run: what the traced code returns, in order."""
        self._sources = sources
        self._rows = rows
        self._fixed = fixed
        self._values: dict[Any, Value] = {}
        self.inputs: dict[View, int] = {}
        """The inputs that are declared, with their positions."""
        for view in views or ():
            self._declare(view)

    def run(self, graph: Any) -> TensorProgram:
        """Lower every node that has a user."""
        for node in graph.nodes:
            if node.op == "output":
                return self._built(self._results(node.args[0]))
            self.visit(node)
        raise AssertionError("an exported graph ends with its output")

    def run_for_all(self, graph: Any) -> tuple[int, ...]:
        """Lower every node that has a user; the position of each tensor and number that is returned, also of inputs."""
        for node in graph.nodes:
            if node.op == "output":
                returned = [r for r in node.args[0] if is_compared(r)]
                return tuple(self._result(r) if hasattr(r, "op") else self.tensor(r) for r in returned)
            self.visit(node)
        raise AssertionError("an exported graph ends with its output")

    def _built(self, results: Sequence[int]) -> TensorProgram:
        """The program of these results, without what a row computed and nothing reads, such as parts of a split."""
        kept, moved = self.build.needed_for(results)
        self.inputs = {view: moved[at] for view, at in self.inputs.items() if at in moved}
        names = {n.op.name for n in kept.nodes if isinstance(n.op, Input)}
        self.bindings = [b for b in self.bindings if b.name in names]
        self.build = kept
        program = kept.build(*(moved[r] for r in results))
        entries = masked_entries(program.graph)
        if any(entries[output] for output in program.graph.outputs):
            raise self.unsupported(
                "a result that may be infinite where a mask covers it", "kernels have a finite number there"
            )
        return program

    def visit(self, node: Any) -> None:
        """Give a node its value, unless nothing reads it."""
        if node.op in ("placeholder", "get_attr") and node.target in self._fixed:
            self._values[node] = self._fixed[node.target]
        elif node.op == "placeholder":
            self._values[node] = View(node.name, tuple(range(self._sources[node.name][1].rank)))
        elif node.op == "call_function" and (node.users or operator_name(node.target).endswith("_")):
            self._values[node] = self._call(node)

    def _result(self, x: Any) -> int:
        """The position of the result, which has the dtype that torch computes."""
        found, value = self.tensor(x), x.meta["val"]
        computed = NAMES[self.build.type_of(found).dtype]
        wanted = dtype_name(value.dtype) if hasattr(value, "dtype") else computed  # a size has none
        if computed == wanted or (self.of_reals and wanted == "float64" and computed in map(NAMES.get, FLOATS)):
            return found
        cast = next((fn for fn, dtype in CASTS.items() if NAMES[dtype] == wanted), None)
        if cast is None or (computed == "float64" and cast != "to_bool"):
            raise self.unsupported(f"a result of dtype {wanted}", f"kernels store {', '.join(STORED)}")
        node = self.build.nodes[found]
        if cast == "to_bool" and node.op == Unary("nonzero"):
            (found,) = node.args
        return self.build.unary(cast, found, self.line)

    def views(self, last: set[str]) -> list[View]:
        """Inputs that were read: arguments in the user's order, then those with a source in `last`."""
        order = list(self._sources)
        return sorted(
            self.inputs,
            key=lambda v: (self._sources[v.placeholder][0] in last, order.index(v.placeholder), v.order),
        )

    def _results(self, returned: Sequence[Any]) -> list[int]:
        """The positions of the results that are computed; `results` says what is at each place."""
        computed: list[int] = []
        for r in returned:
            value = self._values[r] if hasattr(r, "op") else None
            unchanged = next((view for view, at in self.inputs.items() if at == value and not view.of_bytes), value)
            if isinstance(unchanged, View) and not self._is_of_dtype(r, unchanged):
                unchanged = self.at(unchanged)
            match unchanged:
                case None:
                    self.results += (Constant(r),)
                case View(placeholder, order):
                    is_moved = order != tuple(range(len(order)))
                    self.results += (Returned(self._sources[placeholder][0], order if is_moved else ()),)
                case _:
                    position = self._result(r)
                    if position not in computed:
                        computed.append(position)
                    self.results += (Computed(computed.index(position)),)
        if not computed:
            raise UnsupportedOperator(f"{self.build.name} returns nothing that it computes; there is nothing to search")
        return computed

    def _is_of_dtype(self, returned: Any, view: View) -> bool:
        """Whether a result that has the elements of an input also has its dtype."""
        return dtype_name(returned.meta["val"].dtype) == NAMES[self._sources[view.placeholder][1].dtype]

    def _declare(self, view: View) -> int:
        source, t = self._sources[view.placeholder]
        taken = {b.name for b in self.bindings}
        bare = valid_name(source)
        name = next(n for n in (bare, f"{bare}_t", *(f"{bare}_t{k}" for k in range(2, 99))) if n not in taken)
        bits = NAMES[t.dtype] if view.of_bytes else ""
        t = replace(t, dtype=READ_AS_NUMBERS[t.dtype]) if view.is_number else t
        t = t.of_bytes() if view.of_bytes else t
        seen = t.permuted(view.order)
        self.inputs[view] = self.build.input(name, *seen.dims, dtype=t.dtype, order=seen.order, strides=seen.strides)
        order = () if view.order == tuple(range(t.rank)) else view.order
        self.bindings.append(Binding(name, source, order, bits))
        return self.inputs[view]

    def _call(self, node: Any) -> Value:
        return self._in_range(node, self._lowered(node))

    def _lowered(self, node: Any) -> Value:
        self.line = user_line(node) or self.line
        self.node = node
        name = operator_name(node.target)
        if name in GUARDS:
            return Unused("a check")
        if name == "getitem":
            return cast("tuple[Value, ...]", self.value(node.args[0]))[int(node.args[1])]
        if name in OF_SIZES and not hasattr(node.target, "_schema"):
            return self.of_sizes(name, *node.args)
        if name == "sym_size":
            return self.dims(node.args[0])[int(node.args[1])]
        row = self._rows.get(name)
        if row is None:
            if name.endswith("_") and not name.startswith("_"):
                raise self.unsupported(f"operator {name}", "it writes in place; compute a new tensor instead")
            if name == "_local_scalar_dense":
                raise self.unsupported(
                    "an element of a tensor as a Python number",
                    "leave out .item(); of an index i without dims, write x.index_select(0, i.reshape(1))",
                )
            raise self.unsupported(f"operator {name}")
        if name not in OF_BITS and any(_is_float8(n) for n in node.all_input_nodes):
            raise self.unsupported(f"{name} of 8-bit floats", "views of them and casts to float32 are supported")
        try:
            inspect.signature(row.lower).bind(self, *node.args, **node.kwargs)
        except TypeError as mismatch:
            raise self.unsupported(f"operator {name} with these arguments", str(mismatch)) from None
        return row.lower(self, *node.args, **node.kwargs)

    def lowered_by(self, name: str, *args: Any, **kwargs: Any) -> Value:
        """What the row of an operator makes of traced arguments and of `Operand`s."""
        return self._rows[name].lower(self, *args, **kwargs)

    def _in_range(self, node: Any, found: Value) -> Value:
        """The numbers that torch has where integers wrap around; of 32 and 64 bits, a refusal where they may."""
        kind = dtype_name(getattr(node.meta.get("val"), "dtype", ""))
        if isinstance(found, Ramp) and kind in ("int8", "uint8"):
            (low, high), bounds = INTEGER_RANGES[kind], found.bounds
            if bounds is None or not low <= bounds[0] <= bounds[1] <= high:
                raise self.unsupported(f"positions of {kind}, which may wrap around", "take int64")
        if isinstance(found, MaskedConstant) and kind in INTEGER_RANGES:
            return replace(
                found, if_true=wrapped_number(found.if_true, kind), if_false=wrapped_number(found.if_false, kind)
            )
        if kind not in INTEGER_RANGES or not isinstance(found, int):
            return found
        (low, high), (least, most) = INTEGER_RANGES[kind], self.range_of(found)
        is_known = isfinite(least) and isfinite(most)
        if not self._is_exact(found):
            raise self.unsupported(
                f"{operator_name(node.target)} of {kind}, whose results may be beyond {LARGEST_EXACT}",
                "convert to float32 first",
            )
        if low <= least <= most <= high or (not is_known and kind in ("int32", "int64")):
            return found
        if (wrapped := self.wrapped_around(found, kind)) is not None:
            return wrapped
        shown = f"from {least:.0f} to {most:.0f}" if is_known else "of any size"
        raise self.unsupported(
            f"{operator_name(node.target)} of {kind}, whose results are {shown} and may wrap around",
            "convert to float32 first",
        )

    def wrapped_around(self, tensor: int, kind: str) -> int | None:
        """The numbers of an integer dtype that differ from whole ones by multiples of 256, or of 65,536.

        Args:
            tensor: a tensor of whole numbers.
            kind: the dtype's name in torch.

        Returns:
            The new tensor; None where float32 may not have the numbers, or those of the dtype.
        """
        (low, high), (least, most) = INTEGER_RANGES[kind], self.range_of(tensor)
        size = high - low + 1
        if not -LARGEST_EXACT <= least - low <= most - low <= LARGEST_EXACT or size > LARGEST_EXACT:
            return None
        return self.residue(tensor, Fraction(size), low)

    def residue(self, tensor: int, size: Fraction, low: int = 0) -> int:
        """The numbers from `low` to `low + size - 1` that differ from whole ones by multiples of a power of two."""
        from_low = self.build.scalar("add", tensor, Fraction(-low)) if low else tensor
        multiple = self.build.scalar("mul", self.rounded_product("floor", from_low, 1 / size), size)
        found = self.build.binary("sub", tensor, multiple, self.line)
        self.known_ranges[found] = (float(low), float(low + size - 1))
        return found

    def rounded_product(self, rounding: UnaryFn, tensor: int, factor: Fraction) -> int:
        """A product with a power of two, rounded; the high and the low bits of an integer share it."""
        return self.build.unary(rounding, self.build.scalar("mul", tensor, factor, self.line), self.line)

    def _is_exact(self, tensor: int) -> bool:
        """Whether float32 has what is computed from integers; True for what reads none of them.

        Those of 32 or 64 bits are not summed along a symbolic dim. What is computed of bytes may have no known range.
        """
        seen, left, is_sum = {tensor}, [tensor], False
        reads_integers = reads_bytes = False
        while left:
            at = left.pop()
            node, t = self.build.nodes[at], self.build.type_of(at)
            if self._is_bit(at):
                continue
            reads_integers |= t.dtype in INTEGER_NUMBERS
            reads_bytes |= t.dtype in BYTE_INTEGERS
            match node.op:
                case Reduce("sum" | "mean", along):
                    is_sum |= self.build.type_of(node.args[0]).dims[along].constant is None
                case MatMul():
                    is_sum |= self.build.type_of(node.args[0]).dims[-1].constant is None
                case _:
                    pass
            left += [a for a in node.args if a not in seen]
            seen.update(node.args)
        least, most = self.range_of(tensor)
        is_within = -LARGEST_EXACT <= least <= most <= LARGEST_EXACT
        is_known = isfinite(least) and isfinite(most)
        return (not reads_integers or (not is_sum and is_within)) and (not reads_bytes or is_within or not is_known)

    def range_of(self, tensor: int) -> tuple[float, float]:
        """The smallest and the largest number that a tensor of the program can have."""
        return value_ranges(*self._made_until(tensor), self.known_ranges)[tensor]

    def is_whole(self, tensor: int) -> bool:
        """Whether all numbers of a tensor of the program are whole ones."""
        return are_whole(*self._made_until(tensor))[tensor]

    def _made_until(self, tensor: int) -> tuple[Sequence[Node], list[TensorType]]:
        """The operators up to a tensor of the program, and their types."""
        return self.build.nodes[: tensor + 1], [self.build.type_of(n) for n in range(tensor + 1)]

    def as_integer(self, x: Any, kind: str) -> Value:
        """A cast to an integer dtype, which is an operator only where numbers are not whole.

        Args:
            x: a traced tensor.
            kind: the dtype's name in torch.

        Raises:
            UnsupportedOperator: the numbers may be beyond the dtype's range.
        """
        (low, high), tensor = INTEGER_RANGES[kind], self.tensor(x)
        least, most = self.range_of(tensor)
        if not low <= least <= most <= high:
            before = dtype_name(getattr(getattr(x, "meta", {}).get("val"), "dtype", ""))
            if before in INTEGER_RANGES and (wrapped := self.wrapped_around(tensor, kind)) is not None:
                return wrapped
            raise self.unsupported(f"a cast to torch.{kind}", f"clamp from {low} to {high} first, so that it fits")
        if self.is_whole(tensor):
            return self.value(x)
        return self.build.unary("trunc", tensor, self.line)

    @property
    def reads_words_twice(self) -> bool:
        """Whether the program reads some integers both as bytes and as numbers or positions."""
        of_bytes = {v.placeholder for v in self.inputs if v.of_bytes}
        return any(v.placeholder in of_bytes and not v.of_bytes for v in self.inputs)

    # ------------------------------------------------------------ values
    def value(self, x: Any) -> Value:
        """The value of a traced argument; a Python number is a constant."""
        if isinstance(x, Operand):
            return x.value
        if hasattr(x, "op"):
            return self._values[x]
        number = self.constant_of(x)
        return number if number is not None else Unused(repr(x))

    def tensor(self, x: Any) -> int:
        """The position of a traced value in the program."""
        return self.tensor_of(self.value(x))

    def tensor_of(self, value: Value) -> int:
        """The position of a value in the program."""
        match value:
            case int() | View() | Integers():
                return self.at(value)
            case Dim():
                return self._size_tensor(value)
            case Ramp():
                return self._ramp_tensor(value)
            case MaskedConstant(_, NonZero(), Fraction() as if_true, Fraction() as if_false):
                return self.scaled_indicator(value, if_true, if_false)
            case MaskedConstant():
                return self._constant_tensor(value)
            case Unused(what):
                raise self.unsupported(f"the use of {what}")
            case Unwritten():
                raise self.unsupported("the use of memory that was not written")
            case ComplexPair():
                raise self.unsupported("a complex tensor here", "return torch.view_as_real(x), or its absolute value")
            case _:
                raise self.unsupported("several results used as one tensor")

    def mask(self, x: Any) -> MaskedConstant | None:
        """A traced value as a mask: a constant one, or where a bool input is not 0; None for anything else."""
        return self.mask_of(self.value(x))

    def mask_of(self, value: Value) -> MaskedConstant | None:
        """A value as a mask; None for one that is not."""
        match value:
            case MaskedConstant():
                return value
            case View(placeholder) if self._sources[placeholder][1].dtype == "bool":
                return self.nonzero_mask(self.at(value))
            case int() if self.build.type_of(value).dtype == "bool":
                return self.nonzero_mask(value)
            case _:
                return None

    def nonzero_mask(self, tensor: int, if_true: bool = True) -> MaskedConstant:
        """The mask of where a tensor is not 0, or with `if_true=False` of where it is 0."""
        dims = self.build.type_of(tensor).dims
        return MaskedConstant(dims, NonZero(tensor), Fraction(if_true), Fraction(not if_true), is_boolean=True)

    def truth_of(self, x: Any) -> MaskedConstant:
        """A traced value as a mask; of numbers, where they are not 0."""
        mask = self.mask(x)
        return mask if mask is not None else self.nonzero_mask(self.tensor(x))

    def number(self, x: Any) -> Fraction | None:
        """A Python number as an exact rational, from its shortest decimal digits; None for anything else."""
        if isinstance(x, bool) or not isinstance(x, int | float) or x in (float("inf"), float("-inf")) or x != x:
            return None
        return Fraction(repr(x))

    def known_numbers(self, placeholder: str) -> NDArray[float64] | None:
        """The numbers of a small tensor that the code or its module holds, which become part of the program."""
        found = self._numbers.get(placeholder)
        if found is not None and placeholder in self._sources:
            self.tables[self._sources[placeholder][0]] = found
        return found

    def is_minus_infinity(self, x: Any, dtype: DType = "f64") -> bool:
        """Whether a Python number is used as minus infinity: -inf, or the dtype's most negative number."""
        return isinstance(x, float) and x <= -LARGEST[dtype]

    def size(self, x: Any) -> Dim:
        """A traced or plain integer as a size."""
        value = self._values[x] if hasattr(x, "op") else x
        if isinstance(value, Dim):
            return value
        if isinstance(value, int) and not isinstance(value, bool) and not hasattr(x, "op"):
            return constants.integer_dim(value)
        raise self.unsupported("a size that depends on data")

    def of_sizes(self, name: str, x: Any, y: Any = 1) -> Dim | int:
        """What Python computes from sizes and numbers: a size where it surely is one, else a tensor without dims.

        Args:
            name: of Python's operator, one of `OF_SIZES`.
            x: a size, a number, or a traced one.
            y: the second operand, if there is one.
        """
        a = self._size_or_tensor(x)
        if name == "sym_float":
            return a
        if name == "pow":
            return self._power_of_size(a, y)
        b = self._size_or_tensor(y)
        if name == "truediv":
            return self.build.binary("div", self.tensor_of(a), self.tensor_of(b), self.line)
        if isinstance(a, Dim) and isinstance(b, Dim):
            return _SIZES[name](a, b)
        functions: Mapping[str, BinaryFn] = {"add": "add", "sub": "sub", "mul": "mul"}
        if name not in functions:
            raise self.unsupported("a whole quotient of numbers that are not sizes")
        return self.build.binary(functions[name], self.tensor_of(a), self.tensor_of(b), self.line)

    def _size_or_tensor(self, x: Any) -> Dim | int:
        """A size, or a tensor without dims that is computed from sizes or is a number with a fraction."""
        if isinstance(x, Dim):
            return x
        if isinstance(x, int | float):
            if not isfinite(x):
                raise self.unsupported(f"a size and {x}")
            if x == int(x):
                return constants.integer_dim(int(x))
            return self._constant_tensor(constants.constant((), Fraction(x)))
        value = self._values[x]
        if not isinstance(value, Dim | int):
            raise self.unsupported("a size that depends on data")
        return value

    def _power_of_size(self, base: Dim | int, exponent: Any) -> Dim | int:
        if isinstance(base, Dim) and isinstance(exponent, int) and 0 <= exponent <= MOST_EXPONENT:
            return prod([base] * exponent, start=ONE)
        if exponent not in (0.5, -0.5):
            raise self.unsupported(f"the power {exponent} of a size", "0.5, -0.5 and integers from 0 on are supported")
        root = self.build.unary("sqrt", self.tensor_of(base), self.line)
        return root if exponent > 0 else self.build.binary("div", self.tensor_of(ONE), root, self.line)

    def dims(self, x: Any) -> tuple[Dim, ...]:
        """The dims of a traced value."""
        return self.dims_of(self.value(x))

    def dims_of(self, value: Value) -> tuple[Dim, ...]:
        """The dims of a value."""
        match value:
            case int():
                return self.build.type_of(value).dims
            case Flipped(tensor):
                return self.build.type_of(tensor).dims
            case View(placeholder, order):
                t = self._sources[placeholder][1]
                return tuple(t.dims[d] for d in order)
            case Ramp(dims) | MaskedConstant(dims) | Unwritten(dims) | Integers(_, _, dims):
                return dims
            case ComplexPair(real, imaginary):
                return broadcast(self.dims_of(real), self.dims_of(imaginary), self.line)
            case _:
                raise self.unsupported("the shape of a value that is not a tensor")

    def axis(self, x: Any, d: Any, extra: int = 0) -> int:
        """A dim counted from the front; `extra` for one that is about to be added."""
        rank = len(self.dims(x)) + extra
        return int(d) % rank if rank else 0

    def axes(self, x: Any, d: Any) -> list[int]:
        """Dims counted from the front; all of them where none is named."""
        rank = len(self.dims(x))
        if d is None or not rank or (isinstance(d, Sequence) and not d):
            return list(range(rank))
        listed = list(cast("Sequence[Any]", d)) if isinstance(d, Sequence) else [d]
        return sorted(int(a) % rank for a in listed) if rank else []

    def axes_in_order(self, x: Any, d: Any) -> list[int]:
        """Dims counted from the front, in the given order."""
        listed = list(cast("Sequence[Any]", d)) if isinstance(d, Sequence) else [d]
        return [self.axis(x, a) for a in listed]

    def constant_of(self, x: Any) -> MaskedConstant | None:
        """A number or a uniform constant tensor as a constant; None for anything else."""
        if not hasattr(x, "op"):
            number = self.number(x)
            return constants.constant((), number) if number is not None or self.is_minus_infinity(x) else None
        value = self.value(x)
        return value if isinstance(value, MaskedConstant) and value.is_uniform else None

    def known_constant(self, x: Any) -> Number:
        """The number that a traced argument is everywhere; None for all else, and for what is not lowered yet."""
        found = None if hasattr(x, "op") and x not in self._values else self.constant_of(x)
        return None if found is None else found.if_true

    def traced_dtype(self, x: Any) -> DType | None:
        """The dtype that a traced tensor has in torch; None for an integer tensor and anything else."""
        value = getattr(x, "meta", {}).get("val")
        return TORCH_DTYPES.get(dtype_name(getattr(value, "dtype", "")))

    def check_cast(self, x: Any, dtype: Any) -> None:
        """Check a cast, which is the identity over the reals and leaves no operator.

        Kernels compute in float32 whatever the storage, so what a cast to float32 asks for is done, and a rounding to
        16 bits in between is left out. float64 is more than kernels have. A truth value or a whole number of 8 bits
        stays the same number as a wider integer, and sums of them are exact in float32 up to 2 ** 24.
        """
        own, asked = dtype_name(getattr(getattr(x, "meta", {}).get("val"), "dtype", "")), dtype_name(dtype)
        if asked == own or (DTYPE_OF_NAME.get(own) in WHOLE_NUMBERS and asked in ("int16", "int32", "int64")):
            return
        wanted = TORCH_DTYPES.get(dtype_name(dtype))
        before = self.traced_dtype(x)
        pair = {wanted, wanted if before in WHOLE_NUMBERS else before or wanted}
        if self.of_reals and before in FLOATS and wanted in FLOATS:
            return
        value = self.value(x)
        if wanted == "f64" and isinstance(value, int) and self.build.type_of(value).dtype == "f32":
            raise self.unsupported("a cast of computed integers to torch.float64", "cast to torch.float32")
        if dtype is not None and (wanted in (None, *WHOLE_NUMBERS) or (len(pair) > 1 and "f64" in pair)):
            raise self.unsupported(f"a cast to {dtype}", "casts between float32, bfloat16 and float16 are supported")

    # ------------------------------------------------------------ views of any value
    def permuted(self, value: Value, order: Sequence[int]) -> Value:
        """Dims in another order; an input stays one, stored in another order."""
        new_order = tuple(order)
        if new_order == tuple(range(len(new_order))):
            return value
        match value:
            case View(placeholder, before):
                return View(placeholder, tuple(before[d] for d in new_order))
            case Integers(_, groups, dims):
                groups, dims = (tuple(x[d] for d in new_order) for x in (groups, dims))
                return replace(value, groups=groups, dims=dims)
            case ComplexPair():
                return self._both_seen(value, lambda part: self.permuted(part, new_order))
            case Unwritten(dims):
                return Unwritten(tuple(dims[d] for d in new_order))
            case MaskedConstant(_, NonZero()):
                return self._view_mask_tensor(value, lambda x: self.permuted(x, new_order))
            case Ramp() | MaskedConstant():
                found = constants.permuted(value, new_order)
                return self._constant_seen(value, found, lambda x: self.permuted(x, new_order))
            case _:
                return self.build.add(Permute(new_order), self.at(value), line=self.line)

    def reshaped(self, value: Value, dims: Sequence[Dim]) -> Value:
        """The same elements in row-major order under other dims."""
        if self.dims_of(value) == tuple(dims):
            return value
        integers = self.integers(value)
        if integers is not None:
            merged = self._integers_reshaped(integers, tuple(dims))
            return (
                self.build.add(Reshape(tuple(dims)), self._number(integers), line=self.line)
                if merged is None
                else merged
            )
        match value:
            case ComplexPair():
                return self._both_seen(value, lambda part: self.reshaped(part, dims))
            case Unwritten():
                return Unwritten(tuple(dims))
            case MaskedConstant(_, NonZero()):
                return self._view_mask_tensor(value, lambda x: self.reshaped(x, dims))
            case Ramp() | MaskedConstant():
                found = constants.reshaped(value, tuple(dims))
                return self._constant_seen(value, found, lambda x: self.reshaped(x, dims))
            case _:
                return self.build.add(Reshape(tuple(dims)), self.at(value), line=self.line)

    def expanded(self, value: Value, dims: Sequence[Dim]) -> Value:
        """Dims of size 1 repeated, and new ones in front."""
        match value:
            case ComplexPair(real, imaginary):
                return ComplexPair(self.expanded(real, dims), self.expanded(imaginary, dims))
            case MaskedConstant(_, NonZero()):
                return self._view_mask_tensor(value, lambda x: self.expanded(x, dims))
            case Ramp() | MaskedConstant():
                found = constants.expanded(value, tuple(dims))
                return self._constant_seen(value, found, lambda x: self.expanded(x, dims))
            case _:
                before = self.dims_of(value)
                out = self.reshaped(value, (ONE,) * (len(dims) - len(before)) + before)
                integers = self.integers(out)
                if integers is not None:
                    same = (b == d for b, d in zip(integers.dims, dims, strict=True))
                    groups = (g if is_same else () for g, is_same in zip(integers.groups, same, strict=True))
                    return replace(integers, groups=tuple(groups), dims=tuple(dims))
                for d, size in enumerate(dims):
                    if self.dims_of(out)[d] != size:
                        out = self.build.add(Expand(d, size), self.at(out), line=self.line)
                return out

    def broadcast_with(self, value: Value, dims: Sequence[Dim]) -> Value:
        """A value repeated over what its own dims and the given ones are together, such as those of another operand."""
        return self.expanded(value, broadcast(self.dims_of(value), tuple(dims), self.line))

    def sliced(self, value: Value, along: int, start: Dim, stop: Dim) -> Value:
        """Positions `start .. stop - 1` of one dim."""
        if start == ZERO and stop == self.dims_of(value)[along]:
            return value
        if start == stop:
            raise self.unsupported("an empty slice", "sizes start at 1")
        match value:
            case ComplexPair():
                return self._both_seen(value, lambda part: self.sliced(part, along, start, stop))
            case Unwritten(dims):
                return Unwritten((*dims[:along], stop - start, *dims[along + 1 :]))
            case MaskedConstant(_, NonZero()):
                return self._view_mask_tensor(value, lambda x: self.sliced(x, along, start, stop))
            case Ramp() | MaskedConstant():
                return constants.sliced(value, along, start, stop)
            case _:
                return self.build.add(Slice(along, start, stop), self.at(value), line=self.line)

    def _both_seen(self, value: ComplexPair, seen: Callable[[Value], Value]) -> ComplexPair:
        """A view of the real and of the imaginary parts."""
        dims = self.dims_of(value)
        return ComplexPair(seen(self.expanded(value.real, dims)), seen(self.expanded(value.imaginary, dims)))

    def concatenated(self, parts: Sequence[int], along: int) -> int:
        """Tensors concatenated along one dim."""
        out, *rest = parts
        for part in rest:
            out = self.build.add(Concat(along), out, part, line=self.line)
        return out

    def at(self, value: Value) -> int:
        """The position of a value in the program."""
        if isinstance(value, View | Integers):
            integers = self.integers(value)
            if integers is not None:
                return self._number(integers)
            return self._position_of(cast("View", value))
        if isinstance(value, int):
            return value
        return self.tensor_of(value)

    def integers(self, value: Value) -> Integers | None:
        """An integer argument and its views, which only lookups read; None for all else."""
        if isinstance(value, Integers):
            return value
        if not isinstance(value, View) or self._sources[value.placeholder][1].dtype not in INTEGERS:
            return None
        return Integers(value.placeholder, tuple((d,) for d in value.order), self.dims_of(value))

    def _number(self, x: Integers) -> int:
        """The position of integers as numbers."""
        if self._is_of_bytes(x):
            raise self.unsupported("bytes read as words", "read a few bits of each word, as in (word >> 8) & 15")
        whole = self._position_of(View(x.placeholder, tuple(range(self._sources[x.placeholder][1].rank)), True))
        order = [d for group in x.groups for d in group]
        rest = [d for d in range(self._sources[x.placeholder][1].rank) if d not in order]
        for d in rest:
            if not self.integer_dims(x, (d,))[0].is_one:
                raise self.unsupported("a number of integers of which some are left out")
        dims = tuple(size if group else ONE for group, size in zip(x.groups, x.dims, strict=True))
        found = self.expanded(self.reshaped(self.permuted(whole, (*order, *rest)), dims), x.dims)
        return self.build.scalar("add", self.at(found), x.offset, self.line) if x.offset else self.at(found)

    def bytes_of(self, x: Integers, place: int) -> int | None:
        """The position of the bytes of integers, as one more dim; None where they are no argument under views.

        Args:
            x: the integers; a dim along which nothing changes is 1 of the bytes.
            place: the number of the dim of bytes.
        """
        t, is_given = self._sources[x.placeholder][1], self._is_of_bytes(x)
        rank = t.rank - is_given
        groups = [*x.groups[:place], (rank,), *x.groups[place:]]
        order = [d for group in groups for d in group]
        rest = [d for d in range(rank) if d not in order]
        if x.offset or not all(t.dims[d].is_one for d in rest):
            return None
        whole = self._position_of(View(x.placeholder, (*order, *rest), of_bytes=not is_given))
        size = dim(self.bytes_per_word(x))
        dims = [n if group else ONE for group, n in zip(x.groups, x.dims, strict=True)]
        return self.at(self.reshaped(whole, (*dims[:place], size, *dims[place:])))

    def bytes_per_word(self, x: Integers) -> int:
        """The size of an integer in memory."""
        t = self._sources[x.placeholder][1]
        return (t.dims[-1].constant or 0) if self._is_of_bytes(x) else BYTES[t.dtype]

    def words_of_bytes(self, value: Value, size: int) -> Integers | None:
        """Integers whose bytes are the last dim of an argument; None for all else."""
        match value:
            case View(placeholder, order) if self.unpacks:
                t = self._sources[placeholder][1]
                if t.dtype == "u8" and order and order[-1] == t.rank - 1 and t.dims[-1] == dim(size):
                    return Integers(placeholder, (*((d,) for d in order[:-1]), ()), (*self.dims_of(value)[:-1], ONE))
            case _:
                pass
        return None

    def _is_of_bytes(self, x: Integers) -> bool:
        """Whether integers are an argument of bytes that code reads as words."""
        return self._sources[x.placeholder][1].dtype not in INTEGERS

    def integer_input(self, integers: Integers, order: Sequence[int]) -> int:
        """The position of an integer argument with its dims in another order; those that `order` lacks are last."""
        if self._is_of_bytes(integers):
            raise self.unsupported("bytes read as positions")
        rank = self._sources[integers.placeholder][1].rank
        rest = (d for d in range(rank) if d not in order)
        return self._position_of(View(integers.placeholder, (*order, *rest)))

    def integer_dims(self, integers: Integers, group: Sequence[int]) -> tuple[Dim, ...]:
        """The sizes of some dims of an integer argument."""
        return tuple(self._sources[integers.placeholder][1].dims[d] for d in group)

    def _integers_reshaped(self, x: Integers, dims: tuple[Dim, ...]) -> Integers | None:
        """Integers with dims merged; None where one is split."""
        left = [(group, size) for group, size in zip(x.groups, x.dims, strict=True) if not size.is_one]
        groups: list[tuple[int, ...]] = []
        for size in dims:
            merged, group = ONE, tuple[int, ...]()
            while merged != size and left:
                more, extent = left.pop(0)
                if not more and (extent != size or not merged.is_one):
                    break
                merged, group = merged * extent, (*group, *more)
            if merged != size:
                break
            groups.append(group)
        if left or len(groups) < len(dims):
            return None
        return replace(x, groups=tuple(groups), dims=dims)

    def _position_of(self, view: View) -> int:
        return self.inputs[view] if view in self.inputs else self._declare(view)

    def _size_tensor(self, size: Dim) -> int:
        """A size as a number: the sum of as many ones."""
        ones = self._constant_tensor(constants.constant((size,), Fraction(1)))
        return self.at(self.reshaped(self.build.reduce("sum", ones, 0, self.line), ()))

    def _constant_tensor(self, c: MaskedConstant) -> int:
        """A constant as a tensor of the program: a band that holds everywhere or in part, scaled and shifted."""
        if c.if_true is None or c.if_false is None or not isinstance(c.condition, DiagonalBand):
            raise self.unsupported("a constant tensor used here", "pass it as an argument")
        rows, columns = (ONE, ONE) if c.is_uniform else c.dims[-2:]
        dtypes: list[DType] = [t.dtype for _, t in self._sources.values() if t.dtype in FLOATS]
        band = c.condition if not c.is_uniform else DiagonalBand(None, None)
        out = self.build.add(Band(rows, columns, band.low, band.high, dtypes[0] if dtypes else "f32"), line=self.line)
        difference = c.if_true if c.is_uniform else c.if_true - c.if_false
        if difference != 1:
            out = self.build.scalar("mul", out, difference, self.line)
        if not c.is_uniform and c.if_false:
            out = self.build.scalar("add", out, c.if_false, self.line)
        flat = () if c.is_uniform else (rows, columns)
        return self.at(self.expanded(self.reshaped(out, flat), c.dims))

    def _ramp_tensor(self, ramp: Ramp) -> int:
        """Positions as numbers: a cumulative sum of ones per dim in which they change.

        They are exact in float32 up to 2 ** 24.
        """
        terms: list[int] = []
        for d, (step, size) in enumerate(zip(ramp.steps, ramp.dims, strict=True)):
            if step and not size.is_one:
                ones = self._constant_tensor(constants.constant((size,), Fraction(1)))
                places = self.build.scalar(
                    "add", self.build.add(Scan("cumsum", 0), ones, line=self.line), -1, self.line
                )
                self.known_ranges[places] = (0.0, float((size.constant or LARGEST_READ) - 1))
                places = places if step == 1 else self.build.scalar("mul", places, step, self.line)
                shape = (size, *(ONE for _ in ramp.dims[d + 1 :]))
                terms.append(self.at(self.reshaped(places, shape)))
        for product, factor in ramp.offset.terms:
            if product:
                size = self._size_tensor(Dim(((product, Fraction(1)),)))
                terms.append(size if factor == 1 else self.build.scalar("mul", size, factor, self.line))
            else:
                terms.append(self._constant_tensor(constants.constant((), factor)))
        first, *rest = terms or [self._constant_tensor(constants.constant((), Fraction(0)))]
        out = reduce(lambda a, b: self.build.binary("add", a, b, self.line), rest, first)
        return self.at(self.expanded(out, ramp.dims))

    def _view_mask_tensor(self, value: MaskedConstant, view: Callable[[int], Value]) -> MaskedConstant:
        """A mask of a tensor after a view: the mask of the viewed tensor."""
        assert isinstance(value.condition, NonZero), "selected by the callers"
        inner = self.at(view(value.condition.tensor))
        return replace(value, condition=NonZero(inner), dims=self.dims_of(inner))

    def _constant_seen(
        self, before: ConstantTensor, view: ConstantTensor | None, seen: Callable[[int], Value]
    ) -> Value:
        """A view of a constant: a constant, or the view of what it has as numbers or as a mask."""
        if view is not None:
            return view
        if isinstance(before, Ramp):
            return seen(self._ramp_tensor(before))
        held = self.truth(replace(before, if_true=Fraction(1)))
        as_tensor = replace(before, condition=NonZero(self.at(self.expanded(held, before.dims))))
        return self._view_mask_tensor(as_tensor, seen)

    # ------------------------------------------------------------ masks applied to tensors
    def _keep_band(self, x: int, mask: MaskedConstant, where: bool) -> tuple[int, bool]:
        """A band of the positions where the mask equals `where`, and whether it is inverted."""
        assert isinstance(mask.condition, DiagonalBand), "selected by the caller"
        is_same = bool(mask.if_true) == where
        wanted = replace(mask, if_true=Fraction(is_same), if_false=Fraction(not is_same))
        positive = constants.as_positive_mask(wanted)
        if positive is not None and isinstance(positive.condition, DiagonalBand):
            return self._band(x, mask, positive.condition), False
        return self._band(x, mask, mask.condition), True

    def indicator(self, x: int, mask: MaskedConstant) -> int:
        """1 where the mask's condition holds, else 0, as a tensor that x can be multiplied with."""
        if isinstance(mask.condition, NonZero):
            return self._nonzero(mask.condition.tensor)
        return self._band(x, mask, mask.condition)

    def truth(self, mask: MaskedConstant) -> int:
        """A mask as a tensor of 0 and 1."""
        holds = bool(mask.if_true)
        match mask.condition:
            case NonZero(tensor):
                return self._nonzero(tensor) if holds else self.build.unary("is_zero", tensor, self.line)
            case DiagonalBand(low, high):
                rows, columns = mask.dims[-2:]
                band = self.build.add(Band(rows, columns, low, high, "bool"), line=self.line)
                return band if holds else self.build.unary("is_zero", band, self.line)

    def scaled_indicator(self, mask: MaskedConstant, if_true: Fraction, if_false: Fraction) -> int:
        """One number where a tensor is not 0, another where it is."""
        if not if_true and if_false:
            found, scale, offset = self.truth(replace(mask, if_true=Fraction(0))), if_false, Fraction(0)
        else:
            found, scale, offset = self.truth(replace(mask, if_true=Fraction(1))), if_true - if_false, if_false
        if (scale != 1 or offset) and any(t.dtype == "f64" for _, t in self._sources.values()):
            # Numbers made of truth values have float32 otherwise, which cannot meet float64.
            found = self.build.binary("mul", found, self._constant_tensor(constants.constant((), scale)), self.line)
        elif scale != 1:
            found = self.build.scalar("mul", found, scale, self.line)
        return self.build.scalar("add", found, offset, self.line) if offset else found

    def _nonzero(self, tensor: int) -> int:
        """1 where a tensor is not 0, else 0; a tensor of 0 and 1 is that itself."""
        return tensor if self._is_bit(tensor) else self.build.unary("nonzero", tensor, self.line)

    def _is_bit(self, tensor: int) -> bool:
        node = self.build.nodes[tensor]
        match node.op:
            case Unary(fn):
                return fn in BITS
            case Binary("mul" | "max" | "min") | Permute() | Reshape() | Expand() | Slice() | Concat():
                return all(map(self._is_bit, node.args))
            case _:
                return self.build.type_of(tensor).dtype == "bool"

    def filled(self, x: int, mask: MaskedConstant, value: Number, where: bool) -> int:
        """x, but `value` where the mask is `where`."""
        if mask.is_uniform:
            if bool(mask.if_true) == where:
                raise self.unsupported("a mask that covers everything")
            return self.at(self.broadcast_with(x, mask.dims))
        x = self.at(self.broadcast_with(x, mask.dims))
        if isinstance(mask.condition, NonZero):
            return self._filled_by_tensor(x, mask, value, bool(mask.if_true) != where)
        keep, is_inverted = self._keep_band(x, mask, not where)
        if is_inverted:
            keep = self._complement(keep)
        if value is None:
            return self.build.binary("mask", x, keep, self.line)
        kept = self._kept(x, keep)
        if not value:
            return kept
        rest = self.build.scalar("mul", self._complement(keep), value, self.line)
        return self.build.binary("add", kept, rest, self.line)

    def _kept(self, x: int, keep: int) -> int:
        """x, but 0 where a tensor of 0 and 1 is 0."""
        return self.build.binary("keep" if self._may_be_infinite(x) else "mul", x, keep, self.line)

    def unary(self, fn: UnaryFn, x: int) -> int:
        """A function of a tensor. Where it makes 0 of minus infinity, a mask is applied to what it makes."""
        node = self.build.nodes[x]
        if node.op == Binary("mask") and fn in VANISHING:
            inner, keep = node.args
            return self._kept(self.build.unary(fn, inner, self.line), keep)
        return self.build.unary(fn, x, self.line)

    def _may_be_infinite(self, tensor: int) -> bool:
        """Whether elements may be infinite, or no number: 0 times such an element is not 0.

        Those of an input under views may, and what is made by a function that is not finite for all finite numbers.
        """
        if self._is_given(tensor):
            return True
        left, seen = [tensor], {tensor}
        while left:
            node = self.build.nodes[left.pop()]
            match node.op:
                case Unary(fn) if UNARY[fn].domain != REAL or fn in NOT_FINITE:
                    return True
                case Binary("div"):
                    return True
                case Scalar("pow", exponent) if exponent < 0 or exponent.denominator > 1:
                    return True
                case _:
                    left += [a for a in node.args if a not in seen]
                    seen.update(node.args)
        return False

    def _is_given(self, tensor: int) -> bool:
        """Whether a tensor is an input under views."""
        node = self.build.nodes[tensor]
        return isinstance(node.op, Input) or (isinstance(node.op, ViewOp) and any(map(self._is_given, node.args)))

    def _filled_by_tensor(self, x: int, mask: MaskedConstant, value: Number, is_kept: bool) -> int:
        """x where a tensor is not 0 (`is_kept`) or where it is 0, and a number elsewhere."""
        assert isinstance(mask.condition, NonZero), "selected by the caller"
        tensor, b = mask.condition.tensor, self.build
        if value is None:
            where = tensor if is_kept else b.unary("is_zero", tensor, self.line)
            return b.binary("mask", x, where, self.line)
        kept = b.binary("keep" if is_kept else "drop", x, tensor, self.line)
        if not value:
            return kept
        if_true, if_false = (Fraction(0), value) if is_kept else (value, Fraction(0))
        rest = self.scaled_indicator(mask, if_true, if_false)
        return b.binary("add", kept, rest, self.line)

    def with_constant(self, x: int, c: MaskedConstant, times: bool) -> int:
        """x + c, or x * c."""
        if c.is_uniform:
            if c.if_true is None:
                raise self.unsupported("minus infinity everywhere")
            return self.build.scalar("mul" if times else "add", x, c.if_true, self.line)
        x = self.at(self.broadcast_with(x, c.dims))
        if c.if_true is None or c.if_false is None:
            other = c.if_false if c.if_true is None else c.if_true
            if times or other is None:
                raise self.unsupported("a product with minus infinity")
            x = self.build.scalar("add", x, other, self.line) if other else x
            is_infinite = replace(c, if_true=Fraction(c.if_true is None), if_false=Fraction(c.if_false is None))
            return self.filled(x, is_infinite, None, where=True)
        difference, tensor = c.if_true - c.if_false, self.indicator(x, c)
        if difference != 1:
            tensor = self.build.scalar("mul", tensor, difference, self.line)
        if c.if_false:
            tensor = self.build.scalar("add", tensor, c.if_false, self.line)
        return self.build.binary("mul" if times else "add", x, tensor, self.line)

    def _band(self, x: int, mask: MaskedConstant, within: DiagonalBand) -> int:
        rows, columns = mask.dims[-2:]
        return self.build.add(Band(rows, columns, within.low, within.high, self.build.type_of(x).dtype), line=self.line)

    def _complement(self, keep: int) -> int:
        minus = self.build.unary("neg", keep, self.line)
        return self.build.scalar("add", minus, 1, self.line)

    # ------------------------------------------------------------ errors
    @property
    def _who_leaves_it(self) -> str:
        """What accepts the operator that is translated, if no row does."""
        call = self.node
        if call is not None and (
            depends_on_data(call.meta.get("val")) or why_not_opaque(call.target, call.args, call.kwargs)
        ):
            return TORCH_BACKEND
        return "px.WholeProgram(...), with the same arguments,"

    def unsupported(self, what: str, why: str = "") -> UnsupportedOperator:
        """The error for an operator that has no row, or a use of one that its row does not cover."""
        return UnsupportedOperator(
            f"{what} is not supported{f': {why}' if why else ''}; used at {self.line or 'an unknown line'}. "
            f"{self._who_leaves_it} leaves it to torch and searches the rest"
        )


OF_BITS = frozenset(
    {
        *("to", "prims::convert_element_type", "view", "reshape", "_unsafe_view", "permute", "t", "transpose"),
        *("numpy_T", "unsqueeze", "squeeze", "expand", "slice", "select", "clone", "contiguous", "alias", "detach"),
    }
)
"""Operators that read 8-bit floats as what they are: casts and views."""


def _is_float8(node: Any) -> bool:
    return dtype_name(getattr(node.meta.get("val"), "dtype", "")) in FLOAT8_FORMATS


def wrapped_number(number: Number, kind: str) -> Number:
    """The number of an integer dtype that torch has for a whole number."""
    low, high = INTEGER_RANGES[kind]
    return number if number is None else (number - low) % (high - low + 1) + low


def depends_on_data(results: Any) -> bool:
    """Whether a size of a tensor, or of one of a tuple, is a number of torch that depends on the data of tensors."""
    if isinstance(results, tuple | list):
        return any(map(depends_on_data, cast("Sequence[Any]", results)))
    return any(map(is_size_of_data, getattr(results, "shape", ())))


def is_size_of_data(size: Any) -> bool:
    """Whether a traced size is, or is computed of, a number of torch that depends on the data of tensors."""
    return re.search(r"\bu\d", str(size)) is not None


def valid_name(name: str) -> str:
    """A name made of ASCII letters, digits and `_` that begins with no digit: `0.weight` becomes `p0_weight`."""
    bare = re.sub(r"\W", "_", name, flags=re.ASCII)
    return f"p{bare}" if bare[:1].isdigit() else bare


def operator_name(target: Any) -> str:
    """The name of what a node calls: without `aten::` and the overload."""
    schema = getattr(target, "_schema", None)
    if schema is not None:
        return str(schema.name).removeprefix("aten::")
    return str(getattr(target, "__name__", target))


def user_line(node: Any) -> str:
    """The line of the user's code that a traced node comes from; empty where torch does not say."""
    frames = re.findall(r'File "([^"]+)", line (\d+), in (\S+)\n\s*(.*)', node.meta.get("stack_trace") or "")
    own = [f for f in frames if "/torch/" not in f[0] and "prism_explore/frontend" not in f[0]]
    if not own:
        return ""
    path, number, function, text = own[-1]
    # A line such as `self.norm(x)` does not say which operator it calls; torch does.
    call = str(node.meta.get("torch_fn", ("", ""))[1]).rpartition(".")[2]
    called = f"  # {call}" if call and call not in text else ""
    return f"{path}:{number} in {function}: {text.strip()}{called}"


def infer_size(sizes: Sequence[Dim], dims: Sequence[Dim]) -> tuple[Dim, ...]:
    """Sizes of which one may be -1, for as many elements as `dims` has.

    Raises:
        ShapeError: the other sizes have no product to divide by.
    """
    minus = ZERO - dim(1)
    if minus not in sizes:
        return tuple(sizes)
    others = prod((s for s in sizes if s != minus), start=dim(1))
    total = prod(dims, start=dim(1))
    return tuple(total / others if s == minus else s for s in sizes)
