"""Check that a lemma's left side is its operator's definition, applied to the values in the lemmas of its operands.

The definition is built here once more, with references to operands, and compared with the text operator by operator.
Names of axes and forms of indices may differ: wherever an axis is bound, both sides get the same random numbers for it,
and indices are compared as numbers. Sums are not evaluated, so dims of any size cost nothing. Independent of the
prover.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import reduce
from typing import TypeAlias, assert_never

import numpy as np

from prism_explore.ir import elementwise, formulas, ops
from prism_explore.ir.dims import ONE, Dim
from prism_explore.ir.ops import BlockGraph
from prism_explore.verify.checker.evaluation import Evaluation, Numbers
from prism_explore.verify.checker.parser import CertificateError, ParsedLemma, Tree, show, term_of

At: TypeAlias = Mapping[str, Numbers]
"""Numbers for the names p0, .., g0, .., l, and for those that a definition binds."""
Place: TypeAlias = Callable[[At], dict[str, Numbers]]
"""Where an operand is read, from where the result is read."""


@dataclass(frozen=True, slots=True)
class Operand:
    """An operand's element at some place: all of it, its finite part, or what keeps it from minus infinity."""

    number: int
    place: Place
    part: str | int = "whole"


@dataclass(frozen=True, slots=True)
class Bound:
    """`op` over an axis of a definition's own; where `upto` is given, up to what that name is."""

    op: str
    name: str
    extent: Dim
    inside: tuple[Wanted, ...]
    upto: str = ""


@dataclass(frozen=True, slots=True)
class Made:
    """An operator with a label, over parts."""

    op: str
    label: str = ""
    inside: tuple[Wanted, ...] = ()


@dataclass(frozen=True, slots=True)
class Bit:
    """A 0/1 value at a place."""

    value: Callable[[At], Numbers]


Wanted: TypeAlias = Operand | Bound | Made | Bit


@dataclass
class Meaning:
    """The definition of one step, compared with a lemma."""

    op: ops.Op
    operands: tuple[str, ...]
    shapes: tuple[tuple[Dim, ...], ...]
    dims: tuple[Dim, ...]
    block: BlockGraph | None
    point: Evaluation
    given: Mapping[str, ops.Input]
    _bound: int = field(default=0)

    # ------------------------------------------------------------ comparing
    def compare(self, wanted: Wanted, e: Tree, of: ParsedLemma, mine: At, theirs: At) -> None:
        """That a lemma's expression is what is wanted.

        Args:
            wanted: the definition.
            e: the lemma's expression.
            of: the lemma.
            mine: numbers for the definition's names.
            theirs: numbers for the lemma's.

        Raises:
            CertificateError: it is something else.
        """
        match wanted:
            case Operand(number, place, part):
                self._operand(self.operands[number], place(mine), part, e, of, mine, theirs)
            case Bit(value):
                found = self.point.side(e, of, theirs)
                if term_of(e).op not in ("within", "near", "num") or not self._equal(value(mine), found):
                    raise CertificateError(f"the left side has {show(e)}, which is not where it should be 1")
            case Made(op, label, inside):
                term = term_of(e)
                if (term.op, term.label) != (op, label) or len(term.arguments) != len(inside):
                    raise CertificateError(
                        f"the left side has {show(e)} where its operator gives {op} {label}".rstrip()
                    )
                for part, x in zip(inside, term.arguments, strict=True):
                    self.compare(part, x, of, mine, theirs)
            case Bound(op, name, extent, inside, upto):
                term = term_of(e)
                if term.op != op or of.extents[term.axis] != extent:
                    raise CertificateError(
                        f"the left side has {show(e)} where its operator gives {op} over {extent} values"
                    )
                if upto and not self._equal(self.point.place(term.indices[0], of, theirs), mine[upto]):
                    raise CertificateError(f"the left side runs up to {show(term.indices[0])}")
                number = self.point.points({"": extent})[""]
                here = {**theirs, **self._decoded(term.axis, of, number)}
                for part, x in zip(inside, term.arguments, strict=True):
                    self.compare(part, x, of, {**mine, name: number}, here)
            case _:
                assert_never(wanted)

    def _equal(self, a: Numbers, b: Numbers) -> bool:
        return bool(np.all(a == b))

    def _decoded(self, axis: str, of: ParsedLemma, number: Numbers) -> dict[str, Numbers]:
        """An axis's coordinates when it is at some number."""
        if axis not in of.digits:
            return {axis: number}
        outer, inner = of.digits[axis]
        size = self.point.extent(of.extents[inner])
        return {**self._decoded(outer, of, number // size), **self._decoded(inner, of, number % size)}

    def _operand(self, tensor: str, place: At, part: str | int, e: Tree, of: ParsedLemma, mine: At, theirs: At) -> None:
        here = {**{k: v for k, v in mine.items() if k == "l" or k.startswith("g")}, **place}
        if tensor in self.given:
            term, given = term_of(e), self.given[tensor]
            where = [here[f"p{d}"] * (size != ONE) for d, size in enumerate(given.type.dims)]
            found = [self.point.place(i, of, theirs) for i in term.indices]
            if (
                (term.op, term.label) != ("at", given.name)
                or len(found) != len(where)
                or not all(self._equal(a, b) for a, b in zip(where, found, strict=True))
            ):
                raise CertificateError(f"the left side has {show(e)} where it should read {given.name}")
            return
        reading = self.point.readings.get(tensor)
        if reading is None:
            raise CertificateError(f"it builds on {tensor}, whose lemma cannot be read")
        finite, keep = masked(reading.value)
        x = reading.value if part == "whole" else finite if part == "finite" else keep[int(part)]
        self.same(e, of, theirs, x, reading, here)

    def same(self, e: Tree, of: ParsedLemma, at: At, x: Tree, its: ParsedLemma, here: At) -> None:
        """That two expressions are one but for the names of bound axes and the spelling of indices."""
        a, b = term_of(e), term_of(x)
        if {a.op, b.op} & {"within", "near"}:
            if not self._equal(self.point.side(e, of, at), self.point.side(x, its, here)):
                raise CertificateError(f"the left side has {show(e)} where its operand has {show(x)}")
            return
        places = [self.point.place(i, of, at) for i in a.indices], [self.point.place(i, its, here) for i in b.indices]
        if (a.op, a.label, len(a.indices)) != (b.op, b.label, len(b.indices)) or not all(map(self._equal, *places)):
            raise CertificateError(f"the left side has {show(e)} where its operand has {show(x)}")
        if a.axis:
            extent = of.extents[a.axis]
            if its.extents[b.axis] != extent:
                raise CertificateError(f"the left side has {show(e)} where its operand has {show(x)}")
            number = self.point.points({"": extent})[""]
            at = {**at, **self._decoded(a.axis, of, number)}
            here = {**here, **self._decoded(b.axis, its, number)}
        for y, z in zip(a.arguments, b.arguments, strict=True):
            self.same(y, of, at, z, its, here)

    # ------------------------------------------------------------ the definitions
    def wanted(self) -> Wanted:
        """The operator's definition at p0, p1, .. of block g0, .. in iteration l."""
        match self.op:
            case ops.Unary(fn):
                return self._unary(fn)
            case ops.Scalar(fn, value):
                return self._scalar(fn, value)
            case ops.Binary(fn):
                return self._binary(fn)
            case ops.MatMul():
                k = self._name()
                size = self.shapes[0][-1]
                last = len(self.dims) - 1

                def left(at: At) -> dict[str, Numbers]:
                    return self._aligned(0, [*(at[f"p{d}"] for d in range(last)), at[k]])

                def right(at: At) -> dict[str, Numbers]:
                    return self._aligned(1, [*(at[f"p{d}"] for d in range(last - 1)), at[k], at[f"p{last}"]])

                return self._over("sum", k, size, _times(Operand(0, left), Operand(1, right)))
            case ops.Reduce(fn, along):
                return self._reduced(fn, along, None)
            case ops.Accumulate(fn, along):
                return self._reduced(fn, along, self._loop())
            case ops.RunningMax(along):
                loop = self._loop()
                if loop is None or loop == ONE:
                    return self._reduced("max", along, None)
                k = self._name()
                return Bound("upto", k, loop, (self._reduced("max", along, None, k),), "l")
            case ops.AccumulateRescaled(along):
                loop = self._loop()
                if loop is None or loop == ONE:
                    return self._reduced("sum", along, None)
                k = self._name()
                scale = Operand(1, lambda at: {**self._aligned(1, self._here(at)), "l": at[k]})
                return Bound("rescaled", k, loop, (self._reduced("sum", along, None, k), scale))
            case ops.Permute(order):
                return Operand(0, lambda at: {f"p{d}": at[f"p{n}"] for n, d in enumerate(order)})
            case ops.Reshape():
                return Operand(0, self._reshaped)
            case ops.Expand(along, _):
                return Operand(0, lambda at: {**self._plain(at), f"p{along}": at[f"p{along}"] * 0})
            case ops.Slice(along, start, _):
                by = self.point.number(start)
                return Operand(0, lambda at: {**self._plain(at), f"p{along}": at[f"p{along}"] + by})
            case ops.Concat(along):
                cut = self.point.extent(self.shapes[0][along])

                def second(at: At) -> dict[str, Numbers]:
                    return {**self._plain(at), f"p{along}": at[f"p{along}"] - cut}

                bits = (
                    Bit(lambda at: (at[f"p{along}"] < cut) * 1.0),
                    Bit(lambda at: (at[f"p{along}"] >= cut) * 1.0),
                )
                places = self._plain, second
                keeps = [self._keep(n, place) for n, place in enumerate(places)]
                parts = [Operand(n, place, "finite") for n, place in enumerate(places)]
                finite = Made("add", "", tuple(map(_times, bits, parts)))
                kept = Made("add", "", tuple(map(_times, bits, map(_product, keeps))))
                return _masked(finite, (kept,) if any(keeps) else ())
            case ops.Load():
                return Operand(0, self._loaded)
            case ops.Store(omap):
                return Operand(0, lambda at: self._stored(omap or (), at))
            case ops.Result():
                return Operand(0, self._plain)
            case ops.Band(_, _, low, high):

                def inside(at: At) -> Numbers:
                    apart, keep = at["p1"] - at["p0"], np.ones(1)
                    keep = keep if low is None else keep * (apart >= self.point.number(low))
                    return keep if high is None else keep * (apart <= self.point.number(high))

                return Bit(inside)
            case ops.Input() | ops.Custom():
                raise AssertionError("inputs and kernels have no lemma of their own")
            case _:
                assert_never(self.op)

    def _name(self) -> str:
        self._bound += 1
        return f"s{self._bound}"

    def _loop(self) -> Dim | None:
        return self.block.loop.size if self.block and self.block.loop else None

    def _here(self, at: At) -> list[Numbers]:
        return [at[f"p{d}"] for d in range(len(self.dims))]

    def _plain(self, at: At) -> dict[str, Numbers]:
        return {f"p{d}": at[f"p{d}"] for d in range(len(self.dims))}

    def _aligned(self, n: int, place: Sequence[Numbers]) -> dict[str, Numbers]:
        """A place in an operand of lower rank, or with dims of size 1 that broadcast."""
        of = self.shapes[n]
        mine = place[len(place) - len(of) :]
        return {f"p{d}": i if size != ONE else i * 0 for d, (i, size) in enumerate(zip(mine, of, strict=True))}

    def _of(self, n: int, part: str | int = "whole") -> Operand:
        return Operand(n, lambda at: self._aligned(n, self._here(at)), part)

    def _keep(self, n: int, place: Place | None = None) -> tuple[Wanted, ...]:
        """What keeps an operand from minus infinity, where it is masked; read at a place of its own if one is given."""
        reading = self.point.readings.get(self.operands[n])
        if self.operands[n] in self.given or reading is None:
            return ()
        count = range(len(masked(reading.value)[1]))
        return tuple(self._of(n, k) if place is None else Operand(n, place, k) for k in count)

    def _finite(self, n: int) -> Operand:
        return self._of(n, "finite")

    def _over(self, op: str, name: str, extent: Dim, body: Wanted) -> Wanted:
        """A sum or a maximum over an axis; over one value, that value, at 0."""
        if extent != ONE:
            return Bound(op, name, extent, (body,))
        return _fixed(body, name)

    def _unary(self, fn: elementwise.UnaryFn) -> Wanted:
        a, row = self._of(0), elementwise.UNARY[fn]

        def operation(name: str, args: tuple[Wanted, ...]) -> Wanted:
            match name, args:
                case "exp", (inner,) if inner is a and (keep := self._keep(0)):
                    return reduce(_times, (*keep, Made("exp", "", (self._finite(0),))))
                case "mul", (left, right):
                    return _times(left, right)
                case "max", _:
                    return Made("greater", "", args)
                case "add" | "inv" | "sqrt" | "exp", _:
                    return Made(name, "", args)
                case _, (inner,) if elementwise.UNARY[name].is_symbol:
                    return Made("call", name, (inner,))
                case _:
                    raise AssertionError(f"no definition may use {name}")

        if row.lowering != "inline":
            return operation(fn, (a,))
        return formulas.evaluate(
            formulas.without_quotients(formulas.formula(row.definition)), {"x": a}, _number, operation
        )

    def _scalar(self, fn: ops.ScalarFn, value: Fraction) -> Wanted:
        a = self._of(0)
        match fn:
            case "add":
                return Made("add", "", (a, _number(value)))
            case "mul":
                return _masked(_times(_number(value), self._finite(0)), self._keep(0))
            case "pow":
                return _power(a, value)
            case "max":
                return Made("greater", "", (a, _number(value)))
            case "min":
                return _least(a, _number(value))
            case _:
                assert_never(fn)

    def _binary(self, fn: elementwise.BinaryFn) -> Wanted:
        a, b = self._of(0), self._of(1)
        match fn:
            case "add":
                if self._keep(0) and self._keep(1):
                    finite = Made("add", "", (self._finite(0), self._finite(1)))
                    return _masked(finite, (*self._keep(0), *self._keep(1)))
                return Made("add", "", (a, b))
            case "sub":
                return Made("add", "", (a, _times(_number(-1), b)))
            case "mul" if not self._keep(0) and self._keep(1):
                return _masked(_times(a, self._finite(1)), self._keep(1))
            case "mul":
                return _masked(_times(self._finite(0), b), self._keep(0))
            case "div":
                return _masked(_times(self._finite(0), Made("inv", "", (b,))), self._keep(0))
            case "max":
                return Made("greater", "", (a, b))
            case "min":
                return _least(a, b)
            case "mask":
                more = _times(b, Made("inv", "", (b,)))
                return _masked(self._finite(0), (*self._keep(0), more))
            case _:
                assert_never(fn)

    def _reduced(self, fn: ops.ReduceFn, along: int | None, loop: Dim | None, also: str = "") -> Wanted:
        """A reduction over one dim, and over the loop where it is given; `also` stands for the loop's index."""
        k, i = self._name(), self._name()

        def place(at: At) -> dict[str, Numbers]:
            found = self._plain(at)
            if along is not None:
                found[f"p{along}"] = at[k]
            if loop is not None:
                found["l"] = at[i]
            return {**found, "l": at[also]} if also else found

        body: Wanted = Operand(0, place)
        if fn == "rms":
            body = _times(body, body)
        op, count = "most" if fn == "max" else "sum", ONE
        if along is not None:
            count = count * self.shapes[0][along]
            body = self._over(op, k, self.shapes[0][along], body)
        if loop is not None:
            count = count * loop
            body = self._over(op, i, loop, body)
        match fn:
            case "sum" | "max":
                return body
            case "mean" | "rms":
                mean = _times(Made("inv", "", (_size(count),)), body)
                return Made("sqrt", "", (mean,)) if fn == "rms" else mean
            case _:
                assert_never(fn)

    def _reshaped(self, at: At) -> dict[str, Numbers]:
        flat = np.zeros(1, dtype=np.int64)
        for d, size in enumerate(self.dims):
            flat = flat * self.point.extent(size) + at[f"p{d}"]
        found: dict[str, Numbers] = {}
        for d, size in reversed(list(enumerate(self.shapes[0]))):
            length = self.point.extent(size)
            found[f"p{d}"], flat = flat % length, flat // length
        return found

    def _loaded(self, at: At) -> dict[str, Numbers]:
        assert isinstance(self.op, ops.Load) and self.block is not None, "loads are in blocks"
        found = self._plain(at)
        for d, size in enumerate(self.dims):
            length = self.point.extent(size)
            if self.op.fmap == d and self.block.loop is not None:
                found[f"p{d}"] = found[f"p{d}"] + at["l"] * length
                length *= self.point.extent(self.block.loop.size)
            for n, along in reversed(list(enumerate(self.op.imap or ()))):
                if along == d:
                    found[f"p{d}"] = found[f"p{d}"] + at[f"g{n}"] * length
                    length *= self.point.extent(self.block.grid[n].size)
        return found

    def _stored(self, omap: tuple[int | None, ...], at: At) -> dict[str, Numbers]:
        found = self._plain(at)
        for n, along in enumerate(omap):
            if along is not None:
                length = self.point.extent(self.shapes[0][along])
                found[f"g{n}"], found[f"p{along}"] = at[f"p{along}"] // length, at[f"p{along}"] % length
        return found


def same_result(
    point: Evaluation, e: Tree, of: ParsedLemma, tensor: str, dims: tuple[Dim, ...], given: Mapping[str, ops.Input]
) -> None:
    """That an expression is what a tensor's lemma says, or reads the input that the tensor is.

    Raises:
        CertificateError: it is something else.
    """
    at = point.points({f"p{d}": size for d, size in enumerate(dims)})
    meaning = Meaning(ops.Result(0), (tensor,), (dims,), dims, None, point, given)
    meaning.compare(meaning.wanted(), e, of, at, at)


def same_definition(point: Evaluation, a: ParsedLemma, b: ParsedLemma, dims: tuple[Dim, ...]) -> None:
    """That the right sides of two lemmas, which bear one name, are one.

    Raises:
        CertificateError: they are not.
    """
    at = point.points({f"p{d}": size for d, size in enumerate(dims)})
    meaning = Meaning(ops.Result(0), (), (), dims, None, point, {})
    meaning.same(a.right, a, at, b.right, b, at)


def masked(e: Tree) -> tuple[Tree, tuple[Tree, ...]]:
    """A sum's finite part, and the arguments of its bottoms."""
    match e:
        case ("bottom", a):
            return ("num", "0"), (a,)
        case ("add", a, b):
            (x, keep), (y, more) = masked(a), masked(b)
            if not keep and not more:
                return e, ()
            zero: Tree = ("num", "0")
            finite: Tree = y if x == zero else x if y == zero else ("add", x, y)
            return finite, (*keep, *(k for k in more if k not in keep))
        case _:
            return e, ()


def _masked(finite: Wanted, keep: tuple[Wanted, ...]) -> Wanted:
    return Made("add", "", (finite, Made("bottom", "", (_product(keep),)))) if keep else finite


def _product(factors: Sequence[Wanted]) -> Wanted:
    """The product, nested to the left; of nothing, 1."""
    return reduce(_times, factors) if factors else _number(1)


def _times(a: Wanted, b: Wanted) -> Wanted:
    return Made("mul", "", (a, b))


def _number(value: Fraction | int) -> Wanted:
    return Made("num", str(value))


def _least(a: Wanted, b: Wanted) -> Wanted:
    return _times(_number(-1), Made("greater", "", (_times(_number(-1), a), _times(_number(-1), b))))


def _power(a: Wanted, value: Fraction) -> Wanted:
    """A power, spelled with products, roots and inverses."""
    if value < 0:
        return Made("inv", "", (_power(a, -value),))
    if value == 0:
        return _number(1)
    items: list[Wanted] = []
    while value:
        whole, value = divmod(value, 1)
        items += [a] * int(whole)
        a, value = Made("sqrt", "", (a,)), value * 2
    return reduce(_times, items)


def _size(d: Dim) -> Wanted:
    """A size as a number, spelled as everywhere."""
    terms: list[Wanted] = []
    for monomial, coefficient in d.terms:
        factors: list[Wanted] = [] if coefficient == 1 and monomial else [_number(coefficient)]
        for symbol, exponent in monomial:
            one: Wanted = Made("size", symbol)
            factors += [one if exponent > 0 else Made("inv", "", (one,))] * abs(exponent)
        terms.append(reduce(_times, factors))
    return reduce(lambda a, b: Made("add", "", (a, b)), terms) if terms else _number(0)


def _fixed(wanted: Wanted, name: str) -> Wanted:
    """A definition in which a name is 0."""
    zero = np.zeros(1, dtype=np.int64)
    match wanted:
        case Operand(number, place, part):
            return Operand(number, lambda at: place({**at, name: zero}), part)
        case Bit(value):
            return Bit(lambda at: value({**at, name: zero}))
        case Made(op, label, inside):
            return Made(op, label, tuple(_fixed(x, name) for x in inside))
        case Bound(op, own, extent, inside, upto):
            return Bound(op, own, extent, tuple(_fixed(x, name) for x in inside), upto)
        case _:
            assert_never(wanted)
