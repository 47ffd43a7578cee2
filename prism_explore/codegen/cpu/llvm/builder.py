# pyright: basic
# llvmlite ships no types.
"""Explicit SIMD: a small builder of functions over float32 vectors, and their way to machine code.

A value is a scalar (`lanes == 0`) or a vector of any number of lanes; a vector that is no power of
two serves as the ragged tail of a loop, and LLVM splits it without reading beyond its end. Nothing is
left to an auto-vectoriser: what is written here is what runs. Functions are

    void name(int64 *arguments, int64 thread, int64 threads)

and know nothing of tensors. Elementwise functions are accurate to a few units in the last place of
float32, keep NaN, and overflow to infinity where the exact result does.

Source of the polynomials of exp, tanh, log and erf: Moshier, Cephes Mathematical Library, expf.c, tanhf.c,
logf.c and ndtrf.c.
"""

from __future__ import annotations

import os
import platform
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache, reduce
from math import floor, pi

import llvmlite.binding as llvm
import numpy as np
from llvmlite import ir

from prism_explore.ir.ops import bottom
from prism_explore.ir.tensors import BYTES, DType

F32 = ir.FloatType()
I16 = ir.IntType(16)


class _BFloat(ir.types.Type):
    """LLVM's bfloat, which llvmlite does not name; only for what instructions want, never in memory."""

    def _to_string(self) -> str:
        return "bfloat"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _BFloat)

    def __hash__(self) -> int:
        return hash(_BFloat)


_BFLOAT = _BFloat()
STORED: dict[DType, ir.Type] = {"f32": F32, "f16": ir.HalfType(), "bf16": I16}
"""A number of each dtype in memory; bfloat16 is the upper half of a float32."""
I32 = ir.IntType(32)
I64 = ir.IntType(64)
POINTER = ir.PointerType()
ADD_IN_ANY_ORDER = ("reassoc",)
EITHER_ZERO = ("nsz",)
"""A maximum of 0 and -0 may be either: telling them apart takes as long as all the rest of it."""

_LLVM = threading.Lock()


@dataclass(frozen=True, slots=True)
class Host:
    """The CPU of this process, as far as code generation asks."""

    cpu: str
    features: str
    lanes: int
    """Widest vectors of float32: 16, 8 or 4."""
    threads: int
    halves: bool
    """Whether it converts float16 itself; bfloat16 takes no more than shifts."""
    pairs: bool = False
    """Whether it multiplies bfloat16 in pairs and adds both products to a float32."""


@dataclass(frozen=True, slots=True)
class Memory:
    """A place in memory, and how numbers lie there; in registers all are float32."""

    pointer: ir.Value
    dtype: DType = "f32"


@lru_cache(1)
def host() -> Host:
    """What this CPU can do, and how many of its cores this process may use."""
    _initialize()
    features = llvm.get_host_cpu_features()
    lanes = 16 if features.get("avx512f") else 8 if features.get("avx2") else 4
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    halves = bool(features.get("f16c")) or platform.machine().lower() not in ("x86_64", "amd64", "i386", "i686")
    pairs = bool(features.get("avx512bf16") and features.get("avx512vl"))
    return Host(llvm.get_host_cpu_name(), features.flatten(), lanes, allowed, halves, pairs)


@lru_cache(1)
def _initialize() -> None:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()


class Machine:
    """Compiled functions; the code lives as long as this object."""

    def __init__(self, text: str, target: Host, symbols: dict[str, int] | None = None) -> None:
        _initialize()
        with _LLVM:
            for name, address in (symbols or {}).items():
                llvm.add_symbol(name, address)
            module, machine = _optimized(text, target, llvm.get_default_triple(), "jitdefault")
            self._engine = llvm.create_mcjit_compiler(module, machine)
            self._engine.finalize_object()

    def address(self, name: str) -> int:
        """Where a function starts."""
        return self._engine.get_function_address(name)


def assembly_of(text: str, target: Host, triple: str) -> str:
    """What LLVM text becomes on another machine, which need not be here; nothing of it runs."""
    _initialize_all()
    with _LLVM:
        module, machine = _optimized(text, target, triple, "default")
        return machine.emit_assembly(module)


def _optimized(text: str, target: Host, triple: str, model: str):
    """The module and its target's machine, with nothing vectorised or unrolled but what is written so."""
    module = llvm.parse_assembly(text)
    module.verify()
    machine = llvm.Target.from_triple(triple).create_target_machine(
        cpu=target.cpu, features=target.features, opt=3, codemodel=model
    )
    options = llvm.create_pipeline_tuning_options(speed_level=2)
    options.loop_vectorization = options.slp_vectorization = options.loop_unrolling = False
    passes = llvm.create_pass_builder(machine, options)
    passes.getModulePassManager().run(module, passes)
    return module, machine


@lru_cache(1)
def _initialize_all() -> None:
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()


def new_module(triple: str = "") -> ir.Module:
    """An empty module for a machine; for this one where none is named."""
    _initialize()
    module = ir.Module("kernel")
    module.triple = triple or llvm.get_default_triple()
    return module


def text_of(module: ir.Module, lanes: int) -> str:
    """The module as LLVM text, its functions asking for the vector width that they were written in.

    Some x86 tunings prefer narrower vectors, and llvmlite's own attributes cannot say otherwise. A stack aligned for
    whole vectors keeps a vector that finds no register in one cache line. LLVM aligns none for such vectors alone, and
    eight rows by four columns took 6.0 or 4.95 ms, as the caller's stack happened to lie.
    """
    bits = 32 * lanes
    wish = f'alignstack({bits // 8}) "prefer-vector-width"="{bits}" "min-legal-vector-width"="{bits}"'
    return str(module).replace(") nounwind\n{", f") nounwind {wish}\n{{")


class Function:
    """One function being written; `lanes` is the full vector width."""

    def __init__(self, module: ir.Module, name: str, arguments: int, lanes: int) -> None:
        self.module, self.lanes = module, lanes
        kind = ir.FunctionType(ir.VoidType(), [POINTER, I64, I64])
        self.fn = ir.Function(module, kind, name)
        self.fn.attributes.add("nounwind")
        self.b = ir.IRBuilder(self.fn.append_basic_block("entry"))
        self.thread, self.threads = self.fn.args[1], self.fn.args[2]
        self.arguments = [
            self.b.load(self.b.gep(self.fn.args[0], [I64(i)], source_etype=POINTER), typ=POINTER)
            for i in range(arguments)
        ]

    def finish(self) -> None:
        """The last instruction."""
        self.b.ret_void()

    # ------------------------------------------------------------ integers and control
    def i(self, x):
        """An index: a number, or a value as it is."""
        return I64(x) if isinstance(x, int) else x

    def sum(self, *terms):
        """A sum of indices; numbers are added up at once."""
        constant = sum(t for t in terms if isinstance(t, int))
        total = None
        for t in terms:
            if not isinstance(t, int):
                total = t if total is None else self.b.add(total, t)
        if total is None:
            return constant
        return self.b.add(total, I64(constant)) if constant else total

    def times(self, x, factor: int):
        """An index times a number."""
        if isinstance(x, int):
            return x * factor
        return x if factor == 1 else self.b.mul(x, I64(factor)) if factor else 0

    def divided(self, x, by: int):
        """Quotient and remainder of an index."""
        if isinstance(x, int):
            return divmod(x, by)
        quotient = self.b.udiv(x, I64(by))
        return quotient, self.b.sub(x, self.b.mul(quotient, I64(by)))

    def least(self, x, bound: int):
        """An index, but no more than a number."""
        if isinstance(x, int):
            return min(x, bound)
        return self.b.select(self.b.icmp_signed("<", x, I64(bound)), x, I64(bound))

    @contextmanager
    def loop(self, start, stop, step: int = 1) -> Iterator[ir.Value]:
        """Iterate `start, start + step, ... < stop`; at least one iteration is assumed when numbers say so."""
        if isinstance(start, int) and isinstance(stop, int) and start + step >= stop:
            if start < stop:
                yield I64(start)
                return
            raise AssertionError(f"a loop from {start} to {stop} never runs")
        before = self.b.block
        head = self.b.append_basic_block("head")
        body = self.b.append_basic_block("body")
        end = self.b.append_basic_block("end")
        self.b.branch(head)
        self.b.position_at_end(head)
        index = self.b.phi(I64)
        index.add_incoming(self.i(start), before)
        self.b.cbranch(self.b.icmp_signed("<", index, self.i(stop)), body, end)
        self.b.position_at_end(body)
        yield index
        index.add_incoming(self.b.add(index, I64(step)), self.b.block)
        self.b.branch(head)
        self.b.position_at_end(end)

    def variable(self, initial):
        """A value that changes; a register once optimised."""
        with self.b.goto_entry_block():
            slot = self.b.alloca(initial.type)
        self.b.store(initial, slot)
        return slot

    def get(self, slot):
        """The value of a variable now."""
        return self.b.load(slot, typ=slot.allocated_type)

    def set(self, slot, value) -> None:
        """Change a variable."""
        self.b.store(value, slot)

    # ------------------------------------------------------------ memory
    def at(self, memory: Memory, offset) -> Memory:
        """A place moved by a number of elements."""
        moved = self.b.gep(memory.pointer, [self.i(offset)], source_etype=STORED[memory.dtype])
        return Memory(moved, memory.dtype)

    def load(self, memory: Memory, offset, lanes: int, stride: int = 1):
        """A scalar, or `lanes` of them `stride` elements apart (0 repeats one), as float32."""
        if lanes and stride == 0:
            return self.splat(self.load(memory, offset, 0), lanes)
        if lanes == 0 or stride == 1:
            stored, place = STORED[memory.dtype], self.at(memory, offset).pointer
            kind = ir.VectorType(stored, lanes) if lanes else stored
            return self._widened(self.b.load(place, typ=kind, align=BYTES[memory.dtype]), memory.dtype)
        value = ir.Constant(vector(lanes), ir.Undefined)
        for lane in range(lanes):
            one = self.load(memory, self.sum(offset, lane * stride), 0)
            value = self.b.insert_element(value, one, I32(lane))
        return value

    def store(self, value, memory: Memory, offset, stride: int = 1) -> None:
        """Write a scalar or a vector, its lanes `stride` elements apart; rounded to the nearest, ties to even."""
        stored = self._narrowed(value, memory.dtype)
        if stride == 1 or not isinstance(value.type, ir.VectorType):
            self.b.store(stored, self.at(memory, offset).pointer, align=BYTES[memory.dtype])
            return
        for lane in range(value.type.count):
            one = self.b.extract_element(stored, I32(lane))
            place = self.at(memory, self.sum(offset, lane * stride)).pointer
            self.b.store(one, place, align=BYTES[memory.dtype])

    def _widened(self, value, dtype: DType):
        match dtype:
            case "f16":
                return self.b.fpext(value, _like(value, F32))
            case "bf16":
                bits = self.b.zext(value, _like(value, I32))
                return self.b.bitcast(self.b.shl(bits, _same(bits, 16)), _like(value, F32))
            case _:
                return value

    def _narrowed(self, value, dtype: DType):
        match dtype:
            case "f16":
                return self.b.fptrunc(value, _like(value, STORED["f16"]))
            case "bf16":
                bits = self.b.bitcast(value, _like(value, I32))
                odd = self.b.and_(self.b.lshr(bits, _same(bits, 16)), _same(bits, 1))
                rounded = self.b.add(bits, self.b.add(odd, _same(bits, 0x7FFF)))
                # Rounding could carry a NaN's last bits into its sign; it gets a bit that stays.
                kept = self.b.or_(bits, _same(bits, 0x400000))
                is_nan = self.b.fcmp_unordered("uno", value, value)
                upper = self.b.lshr(self.b.select(is_nan, kept, rounded), _same(bits, 16))
                return self.b.trunc(upper, _like(value, I16))
            case _:
                return value

    def load_pairs(self, memory: Memory, offset, count: int):
        """`count` bfloat16 numbers as they lie, with zeros behind them to a full vector of pairs."""
        kind, full = ir.VectorType(I16, count), 2 * self.lanes
        found = self.b.load(self.at(memory, offset).pointer, typ=kind, align=BYTES["bf16"])
        if count < full:
            lanes = [min(lane, count) for lane in range(full)]
            found = self.b.shuffle_vector(
                found, ir.Constant(kind, [0] * count), ir.Constant(ir.VectorType(I32, full), lanes)
            )
        return self.b.bitcast(found, ir.VectorType(_BFLOAT, full))

    def add_pairs(self, total, a, b):
        """Each lane of `total` plus two products of bfloat16; subnormal numbers count as zero."""
        kind = ir.FunctionType(total.type, [total.type, a.type, b.type])
        return self.b.call(self._intrinsic(f"llvm.x86.avx512bf16.dpbf16ps.{32 * self.lanes}", kind), [total, a, b])

    def prefetch(self, memory: Memory, offset, level: int) -> None:
        """Ask for a cache line, into L1 (`level` 1) or L2 (2); never faults."""
        kind = ir.FunctionType(ir.VoidType(), [POINTER, I32, I32, I32])
        fetch = self._intrinsic("llvm.prefetch.p0", kind)
        self.b.call(fetch, [self.at(memory, offset).pointer, I32(0), I32(4 - level), I32(1)])

    # ------------------------------------------------------------ numbers
    def number(self, value: float, lanes: int):
        """A constant, in every lane."""
        return _constant(F32, float(value), lanes)

    def splat(self, scalar, lanes: int):
        """A scalar in every lane."""
        if lanes == 0 or isinstance(scalar.type, ir.VectorType):
            return scalar
        undefined = ir.Constant(vector(lanes), ir.Undefined)
        one = self.b.insert_element(undefined, scalar, I32(0))
        return self.b.shuffle_vector(one, undefined, ir.Constant(ir.VectorType(I32, lanes), [0] * lanes))

    def add(self, a, b):
        """a + b."""
        return self.b.fadd(a, b)

    def mul(self, a, b):
        """A * b."""
        return self.b.fmul(a, b)

    def fma(self, a, b, c):
        """A * b + c, rounded once."""
        return self._call("llvm.fma", a, b, c)

    def sqrt(self, x):
        """The correctly rounded square root."""
        return self._call("llvm.sqrt", x)

    def apply(self, fn: str, args: list):
        """A row of `ir.ops.UNARY` or `ir.ops.BINARY`."""
        return FUNCTIONS[fn](self, *args)

    def power(self, x, exponent: Fraction):
        """x to an exact power: products and roots where it is a multiple of 1/4, else exp(c log x).

        The latter's relative error grows with |c log x|, as float32 has it.
        """
        if exponent < 0:
            return _recip(self, self.power(x, -exponent))
        if exponent.denominator in (2, 4) and exponent <= LARGEST_POWER:
            whole, rest = Fraction(floor(exponent)), exponent - floor(exponent)
            roots = [self.sqrt(x)]
            roots.append(self.sqrt(roots[0]))
            part = {1: roots[1], 2: roots[0], 3: self.mul(*roots)}[int(rest * 4)]
            return self.mul(part, self.power(x, whole)) if whole else part
        if exponent.denominator == 1 and exponent <= LARGEST_POWER:
            made, square, n = None, x, int(exponent)
            while n:
                if n % 2:
                    made = square if made is None else self.mul(made, square)
                square, n = self.mul(square, square), n // 2
            return self.number(1.0, _lanes(x)) if made is None else made
        return _exp(self, self.mul(_log(self, x), self.number(float(exponent), _lanes(x))))

    def within(self, at, step: int, low: int | None, high: int | None, lanes: int):
        """1 where `low <= at + step * lane <= high`, else 0."""
        x = self.i(at)
        if lanes:
            kind = ir.VectorType(I64, lanes)
            undefined = ir.Constant(kind, ir.Undefined)
            one = self.b.insert_element(undefined, x, I32(0))
            x = self.b.shuffle_vector(one, undefined, ir.Constant(ir.VectorType(I32, lanes), [0] * lanes))
            x = self.b.add(x, ir.Constant(kind, [step * lane for lane in range(lanes)]))
        value = self.number(1.0, lanes)
        for sign, bound in ((">=", low), ("<=", high)):
            if bound is not None:
                test = self.b.icmp_signed(sign, x, _constant(I64, bound, lanes))
                value = self.b.select(test, value, self.number(0.0, lanes))
        return value

    def inside(self, at, low: int | None, high: int | None):
        """Whether an index lies within bounds, as a condition."""
        tests = [self.b.icmp_signed(s, self.i(at), I64(n)) for s, n in ((">=", low), ("<=", high)) if n is not None]
        return reduce(self.b.and_, tests, ir.Constant(ir.IntType(1), 1))

    def max(self, a, b):
        """The larger one; NaN if either is."""
        return self._call("llvm.maximum", a, b, fastmath=EITHER_ZERO)

    def largest(self, x):
        """The largest of a vector's lanes."""
        if not isinstance(x.type, ir.VectorType):
            return x
        fold = self._intrinsic(f"llvm.vector.reduce.fmaximum.{_suffix(x.type)}", ir.FunctionType(F32, [x.type]))
        return self.b.call(fold, [x], fastmath=EITHER_ZERO)

    def total(self, x):
        """The sum of a vector's lanes."""
        if not isinstance(x.type, ir.VectorType):
            return x
        kind = ir.FunctionType(F32, [F32, x.type])
        fold = self._intrinsic(f"llvm.vector.reduce.fadd.{_suffix(x.type)}", kind)
        return self.b.call(fold, [ir.Constant(F32, -0.0), x], fastmath=ADD_IN_ANY_ORDER)

    def totals(self, vectors: list):
        """The sums of up to `lanes` full vectors, as one vector of as many lanes.

        A transposing tree: each level adds halves of two vectors into one, so `lanes` sums cost
        `lanes - 1` additions instead of `lanes * log2(lanes)`. Vector v meets v + half of the list,
        which leaves the sums in order. Of fewer vectors the last one meets itself.
        """
        width = self.lanes
        count = 1 << (len(vectors) - 1).bit_length()
        level = [*vectors, *[self.number(0, width)] * (count - len(vectors))]
        size = width
        while size > 1:
            # A vector of this level holds `width // size` groups, each the parts of one sum.
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
                self.b.fadd(
                    self.b.shuffle_vector(a, b, ir.Constant(kind, low)),
                    self.b.shuffle_vector(a, b, ir.Constant(kind, high)),
                )
                for a, b in (pairs if len(level) > 1 else [(level[0], level[0])])
            ]
            size = half
        return self.lanes_of(level[0], [lane * (width // count) for lane in range(len(vectors))])

    def lanes_of(self, x, lanes: list[int]):
        """Some lanes of a vector, as a shorter one."""
        return self.b.shuffle_vector(x, x, ir.Constant(ir.VectorType(I32, len(lanes)), lanes))

    def _call(self, name: str, *args, fastmath: tuple[str, ...] = ()):
        kind = ir.FunctionType(args[0].type, [a.type for a in args])
        return self.b.call(self._intrinsic(f"{name}.{_suffix(args[0].type)}", kind), args, fastmath=fastmath)

    def _intrinsic(self, name: str, kind: ir.FunctionType) -> ir.Function:
        known = self.module.globals.get(name)
        return known if known is not None else ir.Function(self.module, kind, name)


def vector(lanes: int):
    """The type of a value: a scalar for 0 lanes."""
    return ir.VectorType(F32, lanes) if lanes else F32


def _lanes(x) -> int:
    return x.type.count if isinstance(x.type, ir.VectorType) else 0


def _suffix(kind) -> str:
    return f"v{kind.count}f32" if isinstance(kind, ir.VectorType) else "f32"


def _constant(kind, value, lanes: int):
    return ir.Constant(ir.VectorType(kind, lanes), [value] * lanes) if lanes else ir.Constant(kind, value)


# ---------------------------------------------------------------- elementwise functions
def _exp(f: Function, x):
    """2^n * p(r) with n = round(x / ln 2), |r| <= ln 2 / 2; two steps of scaling reach 0 and infinity."""
    lanes = _lanes(x)

    def c(value: float):
        return f.number(value, lanes)

    x = f.b.select(f.b.fcmp_ordered("<", x, c(-104.0)), c(-104.0), x)
    x = f.b.select(f.b.fcmp_ordered(">", x, c(89.0)), c(89.0), x)
    magic = c(12582912.0)  # 1.5 * 2^23: adding it leaves the rounded integer in the low bits
    shifted = f.fma(x, c(1.44269504088896341), magic)
    n = f.b.fsub(shifted, magic)
    r = f.fma(n, c(-0.693359375), x)
    r = f.fma(n, c(2.12194440e-4), r)
    p = c(1.9875691500e-4)
    for a in (1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1, 5.0000001201e-1):
        p = f.fma(p, r, c(a))
    p = f.fma(p, f.mul(r, r), f.add(r, c(1.0)))
    kind = ir.VectorType(I32, lanes) if lanes else I32
    whole = f.b.sub(f.b.bitcast(shifted, kind), f.b.bitcast(magic, kind))
    half = f.b.ashr(whole, _constant(I32, 1, lanes))
    for part in (half, f.b.sub(whole, half)):
        biased = f.b.shl(f.b.add(part, _constant(I32, 127, lanes)), _constant(I32, 23, lanes))
        p = f.mul(p, f.b.bitcast(biased, x.type))
    return p


def _tanh(f: Function, x):
    """An odd polynomial below 0.625, 1 - 2 / (exp(2|x|) + 1) above."""
    lanes = _lanes(x)

    def c(value: float):
        return f.number(value, lanes)

    size = f._call("llvm.fabs", x)
    far = f.b.fsub(c(1.0), f.b.fdiv(c(2.0), f.add(_exp(f, f.add(size, size)), c(1.0))))
    far = f._call("llvm.copysign", far, x)
    square = f.mul(x, x)
    p = c(-5.70498872745e-3)
    for a in (2.06390887954e-2, -5.37397155531e-2, 1.33314422036e-1, -3.33332819422e-1):
        p = f.fma(p, square, c(a))
    near = f.fma(f.mul(p, square), x, x)
    return f.b.select(f.b.fcmp_ordered("<", size, c(0.625)), near, far)


def _polynomial(f: Function, x, coefficients: tuple[float, ...]):
    lanes = _lanes(x)
    p = f.number(coefficients[0], lanes)
    for a in coefficients[1:]:
        p = f.fma(p, x, f.number(a, lanes))
    return p


def _log(f: Function, x):
    """e * ln 2 + p(m - 1) with x = m * 2^e and m between the roots of 1/2 and 2; NaN below 0."""
    lanes = _lanes(x)
    kind = ir.VectorType(I32, lanes) if lanes else I32

    def c(value: float):
        return f.number(value, lanes)

    tiny = f.b.fcmp_ordered("<", x, c(2.0**-126))
    scaled = f.b.select(tiny, f.mul(x, c(2.0**24)), x)
    bits = f.b.bitcast(scaled, kind)
    shifted = f.b.sub(bits, _constant(I32, 0x3F3504F3, lanes))
    whole = f.b.ashr(shifted, _constant(I32, 23, lanes))
    m = f.b.bitcast(f.b.sub(bits, f.b.shl(whole, _constant(I32, 23, lanes))), x.type)
    e = f.b.fsub(f.b.sitofp(whole, x.type), f.b.select(tiny, c(24.0), c(0.0)))
    r = f.b.fsub(m, c(1.0))
    square = f.mul(r, r)
    p = f.mul(_polynomial(f, r, _LOG), f.mul(r, square))
    p = f.fma(e, c(-2.12194440e-4), p)
    p = f.fma(square, c(-0.5), p)
    found = f.fma(e, c(0.693359375), f.add(r, p))
    found = f.b.select(f.b.fcmp_ordered("==", x, c(float("inf"))), x, found)
    found = f.b.select(f.b.fcmp_ordered("==", x, c(0.0)), c(float("-inf")), found)
    return f.b.select(f.b.fcmp_unordered("<", x, c(0.0)), c(float("nan")), found)


def _erf(f: Function, x):
    """An odd polynomial up to 1, 1 - exp(-x^2) p(1/x^2) / x beyond."""
    lanes = _lanes(x)

    def c(value: float):
        return f.number(value, lanes)

    near = f.mul(x, _polynomial(f, f.mul(x, x), _ERF_NEAR))
    size = f._call("llvm.fabs", x)
    inverse = _recip(f, size)
    square = f.mul(inverse, inverse)
    middle, tail = (_polynomial(f, square, p) for p in (_ERF_MIDDLE, _ERF_TAIL))
    p = f.b.select(f.b.fcmp_ordered("<", size, c(2.0)), middle, tail)
    rest = f.mul(_exp(f, f.b.fneg(f.mul(size, size))), f.mul(inverse, p))
    far = f._call("llvm.copysign", f.b.fsub(c(1.0), rest), x)
    return f.b.select(f.b.fcmp_ordered(">", size, c(1.0)), far, near)


def _gelu(f: Function, x):
    lanes = _lanes(x)
    inside = _erf(f, f.mul(x, f.number(0.5**0.5, lanes)))
    return f.mul(f.mul(f.number(0.5, lanes), x), f.add(f.number(1.0, lanes), inside))


def _gelu_tanh(f: Function, x):
    lanes = _lanes(x)
    cube = f.fma(f.mul(f.mul(x, x), f.number(0.044715, lanes)), x, x)
    inside = _tanh(f, f.mul(f.number((2 / pi) ** 0.5, lanes), cube))
    return f.mul(f.mul(f.number(0.5, lanes), x), f.add(f.number(1.0, lanes), inside))


def _mask(f: Function, x, keep):
    lanes = _lanes(x)
    low = f.number(bottom(np.dtype(np.float32)), lanes)
    return f.b.select(f.b.fcmp_unordered("!=", keep, f.number(0.0, lanes)), x, low)


_LOG = (
    7.0376836292e-2, -1.1514610310e-1, 1.1676998740e-1, -1.2420140846e-1, 1.4249322787e-1,
    -1.6668057665e-1, 2.0000714765e-1, -2.4999993993e-1, 3.3333331174e-1,
)  # fmt: skip
_ERF_NEAR = (
    7.853861353153693e-5, -8.010193625184903e-4, 5.188327685732524e-3, -2.685381193529856e-2,
    1.128358514861418e-1, -3.761262582423300e-1, 1.128379165726710e0,
)  # fmt: skip
_ERF_MIDDLE = (
    2.326819970068386e-2, -1.387039388740657e-1, 3.687424674597105e-1, -5.824733027278666e-1,
    6.210004621745983e-1, -4.944515323274145e-1, 3.404879937665872e-1, -2.741127028184656e-1,
    5.638259427386472e-1,
)  # fmt: skip
_ERF_TAIL = (
    -1.047766399936249e1, 1.297719955372516e1, -7.495518717768503e0, 2.921019019210786e0,
    -1.015265279202700e0, 4.218463358204948e-1, -2.820767439740514e-1, 5.641895067754075e-1,
)  # fmt: skip

LARGEST_POWER = 64
"""Powers up to here are products."""


def _recip(f: Function, x):
    return f.b.fdiv(f.number(1.0, _lanes(x)), x)


def _sigmoid(f: Function, x):
    return _recip(f, f.add(_exp(f, f.b.fneg(x)), f.number(1.0, _lanes(x))))


def _silu(f: Function, x):
    return f.b.fdiv(x, f.add(_exp(f, f.b.fneg(x)), f.number(1.0, _lanes(x))))


def _relu(f: Function, x):
    zero = f.number(0.0, _lanes(x))
    return f.b.select(f.b.fcmp_ordered("<", x, zero), zero, x)  # a NaN stays one


FUNCTIONS: dict[str, Callable[..., object]] = {
    "exp": _exp,
    "square": lambda f, x: f.mul(x, x),
    "sqrt": lambda f, x: f.sqrt(x),
    "rsqrt": lambda f, x: _recip(f, f.sqrt(x)),
    "recip": _recip,
    "neg": lambda f, x: f.b.fneg(x),
    "silu": _silu,
    "sigmoid": _sigmoid,
    "relu": _relu,
    "tanh": _tanh,
    "abs": lambda f, x: f._call("llvm.fabs", x),
    "erf": _erf,
    "gelu": _gelu,
    "gelu_tanh": _gelu_tanh,
    "add": lambda f, x, y: f.b.fadd(x, y),
    "sub": lambda f, x, y: f.b.fsub(x, y),
    "mul": lambda f, x, y: f.b.fmul(x, y),
    "div": lambda f, x, y: f.b.fdiv(x, y),
    "max": lambda f, x, y: f.max(x, y),
    "min": lambda f, x, y: f._call("llvm.minimum", x, y, fastmath=EITHER_ZERO),
    "mask": _mask,
}
"""The machine's meaning of every row of `ir.ops.UNARY` and `ir.ops.BINARY`."""


def _like(value, element: ir.Type) -> ir.Type:
    """The type of a value with other elements."""
    return ir.VectorType(element, value.type.count) if isinstance(value.type, ir.VectorType) else element


def _same(value, number: int):
    """A number in every lane of a value's type."""
    if isinstance(value.type, ir.VectorType):
        return ir.Constant(value.type, [number] * value.type.count)
    return ir.Constant(value.type, number)
