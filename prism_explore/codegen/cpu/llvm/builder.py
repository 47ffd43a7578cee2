# pyright: basic
# llvmlite ships no types.
"""Emission of LLVM functions over float32 vectors of explicit width.

Input: calls of `FunctionBuilder`. Output: LLVM text (`module_text`). A value is a scalar (`lanes == 0`) or a vector
of any number of lanes. A vector whose length is not a power of two is the tail of a loop: LLVM splits it into legal
vectors and accesses nothing beyond its end. All arithmetic is in float32; other dtypes are converted on load and store.
A function has the signature

    void name(int64 *arguments, int64 thread, int64 threads)

Elementwise operators (exp, erf, ...) are in `vector_math.py`, compilation is in `jit.py`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import reduce
from hashlib import blake2b

import numpy as np
from llvmlite import ir

from prism_explore.codegen.cpu.llvm.jit import default_triple
from prism_explore.ir.tensors import BYTES, DType
from prism_explore.targets.cpus import CpuModel

F32 = ir.FloatType()
I8 = ir.IntType(8)
I16 = ir.IntType(16)


class _BFloat(ir.types.Type):
    """LLVM's bfloat, which llvmlite does not define; the operand type of a product of pairs, never a type in memory."""

    def _to_string(self) -> str:
        return "bfloat"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _BFloat)

    def __hash__(self) -> int:
        return hash(_BFloat)


_BFLOAT = _BFloat()


class _Tile(ir.types.Type):
    """LLVM's x86_amx, which llvmlite does not define: the value of a tile register of AMX, never a type in memory."""

    def _to_string(self) -> str:
        return "x86_amx"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Tile)

    def __hash__(self) -> int:
        return hash(_Tile)


_TILE = _Tile()
I32 = ir.IntType(32)
I64 = ir.IntType(64)
STORED: dict[DType, ir.Type] = {
    "f32": F32,
    "f16": ir.HalfType(),
    "bf16": I16,
    "bool": I8,
    "i8": I8,
    "u8": I8,
    "w64": I64,
    "w32": I32,
    "i64": I64,
    "i32": I32,
}
"""The LLVM type of each dtype in memory; a bfloat16 is stored as the upper half of a float32."""
POINTER = ir.PointerType()
REASSOCIATE = ("reassoc",)
NO_SIGNED_ZEROS = ("nsz",)
"""The maximum of 0 and -0 may be either: ordering them doubles the time of a maximum."""


@dataclass(frozen=True, slots=True)
class Memory:
    """An address, and the dtype of the elements stored there."""

    pointer: ir.Value
    dtype: DType = "f32"


def new_module(triple: str = "") -> ir.Module:
    """An empty module for a target triple; for this process where none is named."""
    module = ir.Module("kernel")
    module.triple = triple or default_triple()
    return module


def module_text(module: ir.Module, lanes: int) -> str:
    """The module as LLVM text, with function attributes for vectors of this many lanes and for stack alignment.

    Some x86 tunings prefer narrower vectors, and llvmlite has no API for these attributes. The stack is aligned to a
    vector so that a spilled vector lies in one cache line. LLVM does not align it for spills alone: a register block
    of 8 rows x 4 columns took 6.0 or 4.95 ms, depending on the alignment of the caller's stack.
    """
    bits = 32 * lanes
    attributes = f'alignstack({bits // 8}) "prefer-vector-width"="{bits}" "min-legal-vector-width"="{bits}"'
    return str(module).replace(") nounwind\n{", f") nounwind {attributes}\n{{")


class FunctionBuilder:
    """Emits one function for a CPU; `lanes` is its full vector width, `llvm` the llvmlite builder where code is added.

    An index is a Python int or an i64 value; the `index_` methods fold constants.
    """

    def __init__(self, module: ir.Module, name: str, arguments: int, cpu: CpuModel) -> None:
        self.module, self.cpu, self.lanes = module, cpu, cpu.lanes
        kind = ir.FunctionType(ir.VoidType(), [POINTER, I64, I64])
        self.function = ir.Function(module, kind, name)
        self.function.attributes.add("nounwind")
        self._debug = None
        self.llvm = ir.IRBuilder(self.function.append_basic_block("entry"))
        self.thread, self.threads = self.function.args[1], self.function.args[2]
        self.arguments = [
            self.llvm.load(self.llvm.gep(self.function.args[0], [I64(i)], source_etype=POINTER), typ=POINTER)
            for i in range(arguments)
        ]

    def locate(self, line: int) -> None:
        """Give the instructions from here on a line in debug information."""
        where = {"line": line, "column": 1, "scope": self._subprogram()}
        # llvmlite initializes the attribute with None, which the checker takes for its type.
        self.llvm.debug_metadata = self.module.add_debug_info("DILocation", where)  # pyright: ignore[reportAttributeAccessIssue]

    def _subprogram(self):
        """The function in debug information, of a file that stands for the kernel's text."""
        if self._debug is not None:
            return self._debug
        module = self.module
        file = module.add_debug_info("DIFile", {"filename": "kernel", "directory": ""})
        unit = module.add_debug_info(
            "DICompileUnit",
            {"language": ir.DIToken("DW_LANG_C"), "file": file, "producer": "prism_explore", "isOptimized": True,
             "runtimeVersion": 0, "emissionKind": 2},
            is_distinct=True,
        )  # fmt: skip
        kind = module.add_debug_info("DISubroutineType", {"types": module.add_metadata([])})
        found = module.add_debug_info(
            "DISubprogram",
            {"name": self.function.name, "file": file, "line": 1, "type": kind, "scopeLine": 1, "unit": unit,
             "isLocal": False, "isDefinition": True, "isOptimized": True},
            is_distinct=True,
        )  # fmt: skip
        self.function.set_metadata("dbg", found)
        module.add_named_metadata("llvm.dbg.cu", unit)
        if "llvm.module.flags" not in module.namedmetadata:
            module.add_named_metadata("llvm.module.flags", module.add_metadata([I32(2), "Debug Info Version", I32(3)]))
        self._debug = found
        return found

    def finish(self) -> None:
        """Emit the return."""
        self.llvm.ret_void()

    # ------------------------------------------------------------ indices and control flow
    def index(self, x):
        """The index as an i64 value."""
        return I64(x) if isinstance(x, int) else x

    def index_sum(self, *terms):
        """The sum of indices."""
        constant = sum(t for t in terms if isinstance(t, int))
        total = None
        for t in terms:
            if not isinstance(t, int):
                total = t if total is None else self.llvm.add(total, t)
        if total is None:
            return constant
        return self.llvm.add(total, I64(constant)) if constant else total

    def index_product(self, x, factor: int):
        """An index times a constant."""
        if isinstance(x, int):
            return x * factor
        return x if factor == 1 else self.llvm.mul(x, I64(factor)) if factor else 0

    def index_divmod(self, x, by: int):
        """Quotient and remainder of an index and a constant."""
        if isinstance(x, int):
            return divmod(x, by)
        quotient = self.llvm.udiv(x, I64(by))
        return quotient, self.llvm.sub(x, self.llvm.mul(quotient, I64(by)))

    def index_min(self, x, bound: int):
        """The smaller of an index and a constant."""
        if isinstance(x, int):
            return min(x, bound)
        return self.llvm.select(self.llvm.icmp_signed("<", x, I64(bound)), x, I64(bound))

    @contextmanager
    def loop(self, start, stop, step: int = 1, carried: list | None = None) -> Iterator[ir.Value]:
        """Emit a loop over `start, start + step, ... < stop`; one iteration with constant bounds needs no branch.

        The values in `carried` change from one iteration to the next: the body replaces them in the list, which has the
        last ones afterwards. Tiles can have no stack slot, so a `variable` cannot hold them.
        """
        carried = [] if carried is None else carried
        if isinstance(start, int) and isinstance(stop, int) and start + step >= stop:
            if start < stop:
                yield I64(start)
                return
            raise AssertionError(f"a loop from {start} to {stop} never runs")
        before = self.llvm.block
        head = self.llvm.append_basic_block("head")
        body = self.llvm.append_basic_block("body")
        end = self.llvm.append_basic_block("end")
        self.llvm.branch(head)
        self.llvm.position_at_end(head)
        index = self.llvm.phi(I64)
        index.add_incoming(self.index(start), before)
        values = [self.llvm.phi(value.type) for value in carried]
        for value, initial in zip(values, carried, strict=True):
            value.add_incoming(initial, before)
        carried[:] = values
        self.llvm.cbranch(self.llvm.icmp_signed("<", index, self.index(stop)), body, end)
        self.llvm.position_at_end(body)
        yield index
        index.add_incoming(self.llvm.add(index, I64(step)), self.llvm.block)
        for value, changed in zip(values, carried, strict=True):
            value.add_incoming(changed, self.llvm.block)
        carried[:] = values
        self.llvm.branch(head)
        self.llvm.position_at_end(end)

    def variable(self, initial):
        """A stack slot for a value that changes; LLVM promotes it to a register."""
        with self.llvm.goto_entry_block():
            slot = self.llvm.alloca(initial.type)
        self.llvm.store(initial, slot)
        return slot

    def get(self, slot):
        """Read a variable."""
        return self.llvm.load(slot, typ=slot.allocated_type)

    def set(self, slot, value) -> None:
        """Write a variable."""
        self.llvm.store(value, slot)

    # ------------------------------------------------------------ memory
    def line_elements(self, memory: Memory) -> int:
        """How many elements of a memory a cache line holds."""
        return self.cpu.line_elements(BYTES[memory.dtype])

    def advance(self, memory: Memory, offset) -> Memory:
        """The address `offset` elements further on."""
        address = self.llvm.gep(memory.pointer, [self.index(offset)], source_etype=STORED[memory.dtype])
        return Memory(address, memory.dtype)

    def load(self, memory: Memory, offset, lanes: int, stride: int = 1):
        """Load a scalar, or `lanes` elements `stride` apart (0 broadcasts one), as float32."""
        if lanes and stride == 0:
            return self.splat(self.load(memory, offset, 0), lanes)
        if lanes == 0 or stride == 1:
            stored, place = STORED[memory.dtype], self.advance(memory, offset).pointer
            kind = ir.VectorType(stored, lanes) if lanes else stored
            return self._extend_to_f32(self.llvm.load(place, typ=kind, align=BYTES[memory.dtype]), memory.dtype)
        value = ir.Constant(vector_type(lanes), ir.Undefined)
        for lane in range(lanes):
            one = self.load(memory, self.index_sum(offset, lane * stride), 0)
            value = self.llvm.insert_element(value, one, I32(lane))
        return value

    def load_integer(self, memory: Memory, offset):
        """Load an integer as an index."""
        place = self.advance(memory, offset).pointer
        found = self.llvm.load(place, typ=STORED[memory.dtype], align=BYTES[memory.dtype])
        return found if memory.dtype == "i64" else self.llvm.sext(found, I64)

    def load_bits(self, memory: Memory, offset, lanes: int, shift: int):
        """Load `lanes` adjacent bytes as integers of 32 bits, without their `shift` lowest bits."""
        found = self.llvm.load(self.advance(memory, offset).pointer, typ=ir.VectorType(I8, lanes), align=1)
        found = self.llvm.zext(found, ir.VectorType(I32, lanes))
        return self.llvm.lshr(found, _constant_like(found, shift)) if shift else found

    def load_words(self, memory: Memory, offset, lanes: int, shift: int = 0):
        """Load `lanes` words of 32 bits that have the byte at `offset` and those after it, without what is below it.

        Args:
            memory: of bytes, in whole words.
            offset: of a byte of the first word.
            lanes: the number of words.
            shift: how many of the byte's own bits are left out.
        """
        place = self.index(offset)
        byte = self.llvm.and_(place, I64(3))
        first = self.advance(memory, self.llvm.sub(place, byte)).pointer
        found = self.llvm.load(first, typ=ir.VectorType(I32, lanes), align=1)
        below = self.llvm.trunc(self.llvm.add(self.llvm.shl(byte, I64(3)), I64(shift)), I32)
        undefined = ir.Constant(found.type, ir.Undefined)
        one = self.llvm.insert_element(undefined, below, I32(0))
        mask = ir.Constant(ir.VectorType(I32, lanes), [0] * lanes)
        return self.llvm.lshr(found, self.llvm.shuffle_vector(one, undefined, mask))

    def load_byte_of_words(self, memory: Memory, offset, lanes: int):
        """Load `lanes` bytes, each at the same place of a 32-bit word, as float32; the memory is whole words."""
        found = self.load_words(memory, offset, lanes)
        if memory.dtype == "i8":
            found = self.llvm.ashr(self.llvm.shl(found, _constant_like(found, 24)), _constant_like(found, 24))
        else:
            found = self.llvm.and_(found, _constant_like(found, 255))
        return self.llvm.sitofp(found, vector_type(lanes))

    @property
    def has_look_up(self) -> bool:
        """Whether the CPU looks values up in a full vector."""
        return self.lanes in dict(self.cpu.table_lookups)

    def look_up(self, entries, index):
        """Per lane of `index` the entry whose number its lowest bits are; a full vector of entries."""
        kind = ir.FunctionType(entries.type, [entries.type, index.type])
        return self.llvm.call(self._declare(dict(self.cpu.table_lookups)[self.lanes], kind), [entries, index])

    def entry_nearest(self, entries: tuple[float, ...], x):
        """Per lane the entry whose position is nearest; the first one for NaN."""
        c, lanes = (lambda value: self.constant(value, lane_count(x))), lane_count(x)
        x = self.llvm.select(self.llvm.fcmp_ordered(">", x, c(0.0)), x, c(0.0))
        x = self.llvm.select(self.llvm.fcmp_ordered("<", x, c(len(entries) - 1.0)), x, c(len(entries) - 1.0))
        x = self.intrinsic("llvm.rint", x)
        return self.entry_at(entries, self.llvm.fptosi(x, ir.VectorType(I32, lanes) if lanes else I32))

    def entry_at(self, entries: tuple[float, ...], index):
        """Per lane the entry at a position, an integer of 32 bits that is in range."""
        kind = ir.ArrayType(F32, len(entries))
        with np.errstate(over="ignore"):
            values = [float(value) for value in np.array(entries).astype(np.float32)]
        name = f"table_{blake2b(np.array(entries).tobytes(), digest_size=12).hexdigest()}"
        table = self.module.globals.get(name)
        if table is None:
            table = ir.GlobalVariable(self.module, kind, name)
            table.linkage, table.global_constant = "internal", True
            table.initializer = ir.Constant(kind, values)  # pyright: ignore[reportAttributeAccessIssue]
            table.align = 64  # pyright: ignore[reportAttributeAccessIssue]
        place = self.llvm.gep(table, [I32(0), index], inbounds=True, source_etype=kind)
        if not isinstance(index.type, ir.VectorType):
            return self.llvm.load(place, typ=F32, align=4)
        lanes = index.type.count
        # llvmlite does not know that positions in vectors make a vector of addresses.
        place.type = ir.VectorType(POINTER, lanes)
        result, bits = vector_type(lanes), ir.VectorType(ir.IntType(1), lanes)
        args = [place, I32(4), ir.Constant(bits, [1] * lanes), ir.Constant(result, ir.Undefined)]
        kind = ir.FunctionType(result, [a.type for a in args])
        return self.llvm.call(self._declare(f"llvm.masked.gather.v{lanes}f32.v{lanes}p0", kind), args)

    def store(self, value, memory: Memory, offset, stride: int = 1) -> None:
        """Store a scalar or a vector, its lanes `stride` elements apart; rounded to nearest, ties to even."""
        self._store(self._round_from_f32(value, memory.dtype), memory, offset, stride)

    def store_bf16_operand(self, value, memory: Memory, offset, stride: int = 1) -> None:
        """Store bfloat16 for `add_bf16_dot` to read, which takes subnormal numbers as zero, so that they may be."""
        if (name := dict(self.cpu.bf16_rounds).get(lane_count(value))) is not None:
            kind = ir.FunctionType(ir.VectorType(_BFLOAT, lane_count(value)), [value.type])
            found = self.llvm.call(self._declare(name, kind), [value])
            self._store(self.llvm.bitcast(found, _with_element(value, I16)), memory, offset, stride)
        else:
            self.store(value, memory, offset, stride)

    def _store(self, stored, memory: Memory, offset, stride: int) -> None:
        """Store elements as they are in memory."""
        if stride == 1 or not isinstance(stored.type, ir.VectorType):
            self.llvm.store(stored, self.advance(memory, offset).pointer, align=BYTES[memory.dtype])
            return
        for lane in range(stored.type.count):
            one = self.llvm.extract_element(stored, I32(lane))
            place = self.advance(memory, self.index_sum(offset, lane * stride)).pointer
            self.llvm.store(one, place, align=BYTES[memory.dtype])

    def _extend_to_f32(self, value, dtype: DType):
        match dtype:
            case "f16":
                return self.llvm.fpext(value, _with_element(value, F32))
            case "bf16":
                bits = self.llvm.zext(value, _with_element(value, I32))
                return self.llvm.bitcast(self.llvm.shl(bits, _constant_like(bits, 16)), _with_element(value, F32))
            case "bool" | "u8":
                return self.llvm.uitofp(value, _with_element(value, F32))
            case "i8" | "w64" | "w32":
                return self.llvm.sitofp(value, _with_element(value, F32))
            case _:
                return value

    def _round_from_f32(self, value, dtype: DType):
        match dtype:
            case "f16":
                return self.llvm.fptrunc(value, _with_element(value, STORED["f16"]))
            case "bf16":
                bits = self.llvm.bitcast(value, _with_element(value, I32))
                odd = self.llvm.and_(self.llvm.lshr(bits, _constant_like(bits, 16)), _constant_like(bits, 1))
                rounded = self.llvm.add(bits, self.llvm.add(odd, _constant_like(bits, 0x7FFF)))
                # Rounding could carry a NaN's mantissa into its sign, so a NaN is made quiet instead.
                quiet = self.llvm.or_(bits, _constant_like(bits, 0x400000))
                is_nan = self.llvm.fcmp_unordered("uno", value, value)
                upper = self.llvm.lshr(self.llvm.select(is_nan, quiet, rounded), _constant_like(bits, 16))
                return self.llvm.trunc(upper, _with_element(value, I16))
            case "bool" | "u8":
                return self.llvm.fptoui(value, _with_element(value, I8))
            case "i8" | "w64" | "w32":
                return self.llvm.fptosi(value, _with_element(value, STORED[dtype]))
            case _:
                return value

    def load_bf16_pairs(self, memory: Memory, offset, count: int):
        """Load `count` adjacent bfloat16 elements, zero-padded to a full vector of pairs."""
        kind, full = ir.VectorType(I16, count), 2 * self.lanes
        found = self.llvm.load(self.advance(memory, offset).pointer, typ=kind, align=BYTES["bf16"])
        if count < full:
            lanes = [min(lane, count) for lane in range(full)]
            found = self.llvm.shuffle_vector(
                found, ir.Constant(kind, [0] * count), ir.Constant(ir.VectorType(I32, full), lanes)
            )
        return self.llvm.bitcast(found, ir.VectorType(_BFLOAT, full))

    def add_bf16_dot(self, total, a, b):
        """`total + a0 * b0 + a1 * b1` for the bfloat16 pair of each lane; subnormal operands count as zero."""
        kind = ir.FunctionType(total.type, [total.type, a.type, b.type])
        return self.llvm.call(self._declare(self.cpu.bf16_dot.format(bits=32 * self.lanes), kind), [total, a, b])

    # ------------------------------------------------------------ tiles of AMX
    # All tiles have 16 rows of 64 bytes. LLVM configures each register once per function, so with several shapes a
    # function may need more registers than there are, and LLVM then ends the process.
    def tile_zero(self):
        """A tile of zeros."""
        return self._tile_call("tilezero", _TILE)

    def tile_load(self, memory: Memory, offset, stride_bytes: int):
        """Load a tile whose rows are `stride_bytes` apart."""
        return self._tile_call("tileloadd64", _TILE, self.advance(memory, offset).pointer, I64(stride_bytes))

    def tile_store(self, memory: Memory, stride_bytes: int, tile) -> None:
        """Store a tile; its rows are `stride_bytes` apart."""
        self._tile_call("tilestored64", ir.VoidType(), memory.pointer, I64(stride_bytes), tile)

    def tile_bf16_dot(self, total, a, b):
        """`total + a @ b`: 16 rows of 16 bfloat16 pairs, and 16 rows of a pair per column; subnormals count as zero."""
        return self._tile_call("tdpbf16ps", _TILE, I16(64), total, a, b)

    def _tile_call(self, name: str, result, *args):
        args = (I16(16), I16(64), *args)
        declared = self._declare(f"llvm.x86.{name}.internal", ir.FunctionType(result, [a.type for a in args]))
        return self.llvm.call(declared, args)

    def prefetch(self, memory: Memory, offset, cache_level: int) -> None:
        """Prefetch a cache line into L1 (`cache_level` 1) or L2 (2); never faults."""
        kind = ir.FunctionType(ir.VoidType(), [POINTER, I32, I32, I32])
        fetch = self._declare("llvm.prefetch.p0", kind)
        self.llvm.call(fetch, [self.advance(memory, offset).pointer, I32(0), I32(4 - cache_level), I32(1)])

    # ------------------------------------------------------------ values
    def constant(self, value: float, lanes: int):
        """A constant, in every lane."""
        return constant_of(F32, float(value), lanes)

    def vector_of(self, values: tuple[float, ...]):
        """A constant vector."""
        return ir.Constant(vector_type(len(values)), [float(value) for value in values])

    def splat(self, scalar, lanes: int):
        """Broadcast a scalar to all lanes."""
        if lanes == 0 or isinstance(scalar.type, ir.VectorType):
            return scalar
        undefined = ir.Constant(vector_type(lanes), ir.Undefined)
        one = self.llvm.insert_element(undefined, scalar, I32(0))
        return self.llvm.shuffle_vector(one, undefined, ir.Constant(ir.VectorType(I32, lanes), [0] * lanes))

    def add(self, a, b):
        """The sum."""
        return self.llvm.fadd(a, b)

    def mul(self, a, b):
        """The product."""
        return self.llvm.fmul(a, b)

    def fma(self, a, b, c):
        """The fused multiply-add a * b + c."""
        return self.intrinsic("llvm.fma", a, b, c)

    def sqrt(self, x):
        """The correctly rounded square root."""
        return self.intrinsic("llvm.sqrt", x)

    def in_range(self, start, step: int, low: int | None, high: int | None, lanes: int):
        """1 in the lanes where `low <= start + step * lane <= high`, else 0."""
        x = self.index(start)
        if lanes:
            kind = ir.VectorType(I64, lanes)
            undefined = ir.Constant(kind, ir.Undefined)
            one = self.llvm.insert_element(undefined, x, I32(0))
            x = self.llvm.shuffle_vector(one, undefined, ir.Constant(ir.VectorType(I32, lanes), [0] * lanes))
            x = self.llvm.add(x, ir.Constant(kind, [step * lane for lane in range(lanes)]))
        value = self.constant(1.0, lanes)
        for sign, bound in ((">=", low), ("<=", high)):
            if bound is not None:
                test = self.llvm.icmp_signed(sign, x, constant_of(I64, bound, lanes))
                value = self.llvm.select(test, value, self.constant(0.0, lanes))
        return value

    def index_in_range(self, x, low: int | None, high: int | None):
        """`low <= x <= high` as an i1."""
        bounds = ((">=", low), ("<=", high))
        tests = [self.llvm.icmp_signed(sign, self.index(x), I64(n)) for sign, n in bounds if n is not None]
        return reduce(self.llvm.and_, tests, ir.Constant(ir.IntType(1), 1))

    def maximum(self, a, b):
        """The elementwise maximum; NaN if either operand is."""
        return self.intrinsic("llvm.maximum", a, b, fastmath=NO_SIGNED_ZEROS)

    def reduce_max(self, x):
        """The maximum over a vector's lanes."""
        if not isinstance(x.type, ir.VectorType):
            return x
        reduction = self._declare(f"llvm.vector.reduce.fmaximum.{_suffix(x.type)}", ir.FunctionType(F32, [x.type]))
        return self.llvm.call(reduction, [x], fastmath=NO_SIGNED_ZEROS)

    def reduce_sum(self, x):
        """The sum over a vector's lanes."""
        if not isinstance(x.type, ir.VectorType):
            return x
        kind = ir.FunctionType(F32, [F32, x.type])
        reduction = self._declare(f"llvm.vector.reduce.fadd.{_suffix(x.type)}", kind)
        return self.llvm.call(reduction, [ir.Constant(F32, -0.0), x], fastmath=REASSOCIATE)

    def prefix_sums(self, x, reverse: bool):
        """Per lane of a vector the sum of the lanes up to it, or of those from it on; a scalar is its own.

        Method: Hillis and Steele, Data Parallel Algorithms, 1986; log2(lanes) shuffles and additions.
        """
        lanes, step = lane_count(x), 1
        while step < lanes:
            sources = [lane + step if reverse else lane - step for lane in range(lanes)]
            kind = ir.VectorType(I32, lanes)
            inside = ir.Constant(kind, [s if 0 <= s < lanes else lanes for s in sources])
            x = self.llvm.fadd(x, self.llvm.shuffle_vector(x, self.constant(0.0, lanes), inside))
            step *= 2
        return x

    def reduce_sums(self, vectors: list):
        """The horizontal sums of up to `lanes` full vectors, as one vector with a lane per sum.

        Method: a transpose-and-add tree. Each level adds the halves of two vectors into one, so `lanes` sums cost
        `lanes - 1` additions instead of `lanes * log2(lanes)`. Vector v is paired with v + half of the list, which
        keeps the sums in order. A single vector is paired with itself.
        """
        width = self.lanes
        count = 1 << (len(vectors) - 1).bit_length()
        level = [*vectors, *[self.constant(0, width)] * (count - len(vectors))]
        size = width
        while size > 1:
            # A vector of this level holds `width // size` groups of partial sums, one group per result.
            half = size // 2
            low, high = [], []
            for group in range(width // size):
                for source in (0, width):
                    start = source + group * size
                    low += range(start, start + half)
                    high += range(start + half, start + size)
            kind = ir.VectorType(I32, width)
            pairs = zip(level[: len(level) // 2], level[len(level) // 2 :], strict=True)
            level = [
                self.llvm.fadd(
                    self.llvm.shuffle_vector(a, b, ir.Constant(kind, low)),
                    self.llvm.shuffle_vector(a, b, ir.Constant(kind, high)),
                )
                for a, b in (pairs if len(level) > 1 else [(level[0], level[0])])
            ]
            size = half
        return self.select_lanes(level[0], [lane * (width // count) for lane in range(len(vectors))])

    def transpose(self, vectors: list) -> list:
        """The columns of the square matrix whose rows are these vectors; their number is a power of two.

        Method: blocks of half the size change places, then those of a quarter, and so on: log2(lanes) shuffles of
        each vector.
        """
        rows, size = list(vectors), len(vectors)
        kind = ir.VectorType(I32, size)
        half = size // 2
        while half:
            upper = [lane & half for lane in range(size)]
            low = ir.Constant(kind, [size + lane - half if up else lane for lane, up in enumerate(upper)])
            high = ir.Constant(kind, [size + lane if up else lane + half for lane, up in enumerate(upper)])
            for r in range(size):
                if not r & half:
                    a, b = rows[r], rows[r + half]
                    rows[r], rows[r + half] = self.llvm.shuffle_vector(a, b, low), self.llvm.shuffle_vector(a, b, high)
            half //= 2
        return rows

    def lane(self, x, lane: int):
        """One lane of a vector."""
        return self.llvm.extract_element(x, I32(lane))

    def select_lanes(self, x, lanes: list[int]):
        """Some lanes of a vector, as a shorter vector."""
        return self.llvm.shuffle_vector(x, x, ir.Constant(ir.VectorType(I32, len(lanes)), lanes))

    def intrinsic(self, name: str, *args, fastmath: tuple[str, ...] = ()):
        """Call an LLVM intrinsic that is overloaded on its operands' type."""
        kind = ir.FunctionType(args[0].type, [a.type for a in args])
        return self.llvm.call(self._declare(f"{name}.{_suffix(args[0].type)}", kind), args, fastmath=fastmath)

    def _declare(self, name: str, kind: ir.FunctionType) -> ir.Function:
        known = self.module.globals.get(name)
        return known if known is not None else ir.Function(self.module, kind, name)


def vector_type(lanes: int):
    """float32, or a vector of it where `lanes` is positive."""
    return ir.VectorType(F32, lanes) if lanes else F32


def lane_count(x) -> int:
    """The lanes of a value; 0 for a scalar."""
    return x.type.count if isinstance(x.type, ir.VectorType) else 0


def _suffix(kind) -> str:
    element = kind.element if isinstance(kind, ir.VectorType) else kind
    name = "f64" if element == ir.DoubleType() else "f32"
    return f"v{kind.count}{name}" if isinstance(kind, ir.VectorType) else name


def constant_of(kind, value, lanes: int):
    """A constant of an element type in all lanes."""
    return ir.Constant(ir.VectorType(kind, lanes), [value] * lanes) if lanes else ir.Constant(kind, value)


def _with_element(value, element: ir.Type) -> ir.Type:
    """The type of a value with another element type."""
    return ir.VectorType(element, value.type.count) if isinstance(value.type, ir.VectorType) else element


def _constant_like(value, number: int):
    """A constant of the type of a value."""
    if isinstance(value.type, ir.VectorType):
        return ir.Constant(value.type, [number] * value.type.count)
    return ir.Constant(value.type, number)
