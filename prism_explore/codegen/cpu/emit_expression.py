# pyright: basic
# It writes llvmlite values, which have no types.
"""Code of the loop IR's expressions: addresses of places, values in scalars and vectors.

Scalar parts of an expression that do not vary within a loop are computed in front of it (`hoist_scalars`), and so are
tables of what depends on a few bits of an integer (`hoist_tables`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction

from prism_explore.codegen.cpu.llvm.builder import FunctionBuilder, Memory
from prism_explore.codegen.cpu.llvm.vector_math import apply, power
from prism_explore.codegen.cpu.loop_ir import (
    ONE,
    WORD,
    Apply,
    Buffer,
    Constant,
    Expression,
    Place,
    Range,
    RangeTest,
    Read,
    places_read,
    range_tests,
)
from prism_explore.codegen.cpu.vector_tables import Tabulated, tabulated


@dataclass(frozen=True, slots=True)
class VectorTable:
    """A vector with an entry per number that the bits of a tabulated expression can be."""

    entries: object
    of: Tabulated


def _is_power_of_two(x: Fraction) -> bool:
    return x > 0 and (x.numerator * x.denominator).bit_count() == 1


class ExpressionEmitter:
    """Emits expressions of one nest; `variables` are the loop variables in scope."""

    def __init__(self, builder: FunctionBuilder, memory: Mapping[Buffer, Memory]) -> None:
        self.builder, self.memory = builder, memory
        self.variables: dict[str, object] = {}

    def leave_loops(self, ranges: Iterable[Range]) -> None:
        """The loops over these ranges have ended."""
        for r in ranges:
            self.variables.pop(r.name, None)

    def offset(self, place: Place, also: Mapping[str, object] | None = None):
        """A place's offset in its buffer, with further variables in addition to those in scope."""
        return self._affine(place.offset, place, also)

    def band_index(self, band: RangeTest, also: Mapping[str, object] | None = None):
        """The index that a band compares with its bounds."""
        return self._affine(band.stride(ONE), band, also)

    def _affine(self, constant: int, function: Place | RangeTest, also: Mapping[str, object] | None):
        builder, variables = self.builder, {**self.variables, **(also or {})}
        names = (v for v in function.variables if v in variables)
        return builder.index_sum(constant, *(builder.index_product(variables[v], function.stride(v)) for v in names))

    def value(self, e: Expression, along: str | None, at, lanes: int, computed: Mapping[Expression, object]):
        """An expression for `lanes` values of the variable `along` from `at` on; `computed` are known parts."""
        builder = self.builder
        steps = {along: at} if along else {}
        match computed.get(e):
            case VectorTable(entries, table):
                if lanes == builder.lanes:  # else it is the tail of a loop
                    if along is not None and table.place.is_byte_of_words(along):
                        bits = builder.load_words(*self._in_words(table.place, steps), lanes, table.shift)
                    else:
                        memory, offset = self.memory[table.place.buffer], self.offset(table.place, steps)
                        bits = builder.load_bits(memory, offset, lanes, table.shift)
                    return builder.look_up(entries, bits)
            case None:
                pass
            case known:
                return builder.splat(known, lanes)
        match e:
            case Read(place):
                if along and lanes and place.is_byte_of_words(along):
                    return builder.load_byte_of_words(*self._in_words(place, steps), lanes)
                stride = place.stride(along) if along else 1
                return builder.load(self.memory[place.buffer], self.offset(place, steps), lanes, stride)
            case Constant(value):
                return builder.constant(float(value), lanes)
            case RangeTest(_, low, high):
                first = self.band_index(e, steps)
                return builder.in_range(first, e.stride(along) if along else 0, low, high, lanes)
            case Apply("sub", (x, Apply("mul", (y, Constant(factor))) as product)) if (
                product not in computed and _is_power_of_two(factor)
            ):  # the product is exact, so this rounds as the two operations do
                x, y = (builder.splat(self.value(a, along, at, lanes, computed), lanes) for a in (x, y))
                return builder.fma(y, builder.constant(float(-factor), lanes), x)
            case Apply("pow", (x, Constant(exponent))):
                return power(builder, self.value(x, along, at, lanes, computed), exponent)
            case Apply(fn, args):
                return apply(builder, fn, [self.value(a, along, at, lanes, computed) for a in args])

    def _in_words(self, place: Place, steps: Mapping[str, object]):
        """Memory that begins with a whole word, and the offset of a byte in it."""
        before, memory = place.buffer.start % WORD, self.memory[place.buffer]
        memory = self.builder.advance(memory, -before) if before else memory
        return memory, self.builder.index_sum(self.offset(place, steps), before)

    def hoist_scalars(self, e: Expression, variables: frozenset[str], computed: dict[Expression, object]) -> None:
        """Compute, once and as scalars, the parts of an expression that do not depend on `variables`."""
        if isinstance(e, Constant) or e in computed:
            return
        if not any(v in variables for p in (*places_read(e), *range_tests(e)) for v in p.variables):
            computed[e] = self.value(e, None, None, 0, computed)
        elif isinstance(e, Apply):
            for a in e.args:
                self.hoist_scalars(a, variables, computed)

    def hoist_tables(self, e: Expression, along: str, computed: dict[Expression, object]) -> None:
        """Compute, once for all vectors along a variable, tables of parts of an expression, where the CPU has them."""
        builder = self.builder
        if not builder.has_look_up:
            return
        for table in tabulated(e, along, builder.lanes):
            known: dict[Expression, object] = {part: builder.vector_of(field.values) for part, field in table.fields}
            self.hoist_scalars(table.expression, frozenset((along,)), known)
            entries = self.value(table.expression, None, None, builder.lanes, known)
            computed[table.expression] = VectorTable(entries, table)

    def hoist_fields(self, e: Expression, along: str, computed: dict[Expression, object]) -> None:
        """Compute, once for all loops, tables of parts of an expression that depend on nothing but a field of bits."""
        if self.builder.has_look_up:
            for table in tabulated(e, along, self.builder.lanes, alone=True):
                computed[table.expression] = VectorTable(self.builder.vector_of(table.fields[0][1].values), table)
