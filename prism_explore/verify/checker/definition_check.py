"""Check that the left side of a lemma is its operator's definition, applied to the values in its operands' lemmas.

Method: the definition is built here independently of the prover, with references to operands, and compared with the
lemma operator by operator. Names of axes and forms of indices may differ: both sides get the same random values for
each bound axis, and indices are compared by value. Sums are not evaluated, so the size of a dim costs nothing.
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

Coordinates: TypeAlias = Mapping[str, Numbers]
"""Values of the names p0, .., g0, .., l, and of bound axes."""
ReadPosition: TypeAlias = Callable[[Coordinates], dict[str, Numbers]]
"""The position in an operand, from the position in the result."""


@dataclass(frozen=True, slots=True)
class Operand:
    """An element of an operand: `whole`, its `finite` part, or the n-th argument of its `bottom` terms."""

    index: int
    position: ReadPosition
    part: str | int = "whole"


@dataclass(frozen=True, slots=True)
class BoundOperation:
    """An operator that binds an axis of the definition; `upto` is the name of the last index of a running maximum."""

    op: str
    name: str
    extent: Dim
    inside: tuple[Definition, ...]
    upto: str = ""


@dataclass(frozen=True, slots=True)
class Operation:
    """An operator with its label and arguments."""

    op: str
    label: str = ""
    inside: tuple[Definition, ...] = ()


@dataclass(frozen=True, slots=True)
class Indicator:
    """An indicator, by its value at a position."""

    value: Callable[[Coordinates], Numbers]


Definition: TypeAlias = Operand | BoundOperation | Operation | Indicator


@dataclass
class DefinitionCheck:
    """The definition of one operator, and its comparison with a lemma."""

    op: ops.Op
    operands: tuple[str, ...]
    shapes: tuple[tuple[Dim, ...], ...]
    dims: tuple[Dim, ...]
    block: BlockGraph | None
    evaluation: Evaluation
    inputs: Mapping[str, ops.Input]
    _bound: int = field(default=0)

    # ------------------------------------------------------------ comparison
    def compare(
        self, wanted: Definition, e: Tree, lemma: ParsedLemma, definition_at: Coordinates, lemma_at: Coordinates
    ) -> None:
        """Check that an expression of a lemma equals a definition.

        Args:
            wanted: the definition.
            e: the expression.
            lemma: the lemma.
            definition_at: the values of the definition's names.
            lemma_at: the values of the lemma's names.

        Raises:
            CertificateError: they differ.
        """
        match wanted:
            case Operand(n, position, part):
                tensor = self.operands[n]
                self._compare_operand(tensor, position(definition_at), part, e, lemma, definition_at, lemma_at)
            case Indicator(value):
                found = self.evaluation.value(e, lemma, lemma_at)
                if term_of(e).op not in ("within", "near", "num") or not self._equal(value(definition_at), found):
                    raise CertificateError(f"the left side has {show(e)}, which is not where it should be 1")
            case Operation(op, label, inside):
                term = term_of(e)
                if (term.op, term.label) != (op, label) or len(term.arguments) != len(inside):
                    raise CertificateError(
                        f"the left side has {show(e)} where its operator gives {op} {label}".rstrip()
                    )
                for part, x in zip(inside, term.arguments, strict=True):
                    self.compare(part, x, lemma, definition_at, lemma_at)
            case BoundOperation(op, name, extent, inside, upto):
                term = term_of(e)
                if term.op != op or lemma.extents[term.axis] != extent:
                    raise CertificateError(
                        f"the left side has {show(e)} where its operator gives {op} over {extent} values"
                    )
                if upto and not self._equal(
                    self.evaluation.index_value(term.indices[0], lemma, lemma_at), definition_at[upto]
                ):
                    raise CertificateError(f"the left side runs up to {show(term.indices[0])}")
                values = self.evaluation.draw_points({"": extent})[""]
                inside_at = {**lemma_at, **self._digit_values(term.axis, lemma, values)}
                for part, x in zip(inside, term.arguments, strict=True):
                    self.compare(part, x, lemma, {**definition_at, name: values}, inside_at)
            case _:
                assert_never(wanted)

    def _equal(self, a: Numbers, b: Numbers) -> bool:
        return bool(np.all(a == b))

    def _digit_values(self, axis: str, lemma: ParsedLemma, values: Numbers) -> dict[str, Numbers]:
        """The values of an axis's coordinates for a value of the axis."""
        if axis not in lemma.digits:
            return {axis: values}
        outer, inner = lemma.digits[axis]
        size = self.evaluation.extent(lemma.extents[inner])
        return {**self._digit_values(outer, lemma, values // size), **self._digit_values(inner, lemma, values % size)}

    def _compare_operand(
        self,
        tensor: str,
        place: Coordinates,
        part: str | int,
        e: Tree,
        lemma: ParsedLemma,
        definition_at: Coordinates,
        lemma_at: Coordinates,
    ) -> None:
        operand_at = {**{k: v for k, v in definition_at.items() if k == "l" or k.startswith("g")}, **place}
        if tensor in self.inputs:
            source = self.inputs[tensor]
            term = term_of(_read_of_bool(e) if source.type.dtype == "bool" else e)
            wanted = [operand_at[f"p{d}"] * (size != ONE) for d, size in enumerate(source.type.dims)]
            found = [self.evaluation.index_value(i, lemma, lemma_at) for i in term.indices]
            if (
                (term.op, term.label) != ("at", source.name)
                or len(found) != len(wanted)
                or not all(self._equal(a, b) for a, b in zip(wanted, found, strict=True))
            ):
                raise CertificateError(f"the left side has {show(e)} where it should read {source.name}")
            return
        operand_lemma = self.evaluation.lemmas.get(tensor)
        if operand_lemma is None:
            raise CertificateError(f"it builds on {tensor}, whose lemma cannot be read")
        finite, keep = split_mask(operand_lemma.value)
        x = operand_lemma.value if part == "whole" else finite if part == "finite" else keep[int(part)]
        self.compare_terms(e, lemma, lemma_at, x, operand_lemma, operand_at)

    def compare_terms(
        self, e: Tree, lemma: ParsedLemma, at: Coordinates, x: Tree, other_lemma: ParsedLemma, other_at: Coordinates
    ) -> None:
        """Check that two expressions are equal up to the names of bound axes and the forms of indices."""
        a, b = term_of(e), term_of(x)
        if {a.op, b.op} & {"within", "near"}:
            if not self._equal(self.evaluation.value(e, lemma, at), self.evaluation.value(x, other_lemma, other_at)):
                raise CertificateError(f"the left side has {show(e)} where its operand has {show(x)}")
            return
        places = (
            [self.evaluation.index_value(i, lemma, at) for i in a.indices],
            [self.evaluation.index_value(i, other_lemma, other_at) for i in b.indices],
        )
        if (a.op, a.label, len(a.indices)) != (b.op, b.label, len(b.indices)) or not all(map(self._equal, *places)):
            raise CertificateError(f"the left side has {show(e)} where its operand has {show(x)}")
        if a.axis:
            extent = lemma.extents[a.axis]
            if other_lemma.extents[b.axis] != extent:
                raise CertificateError(f"the left side has {show(e)} where its operand has {show(x)}")
            values = self.evaluation.draw_points({"": extent})[""]
            at = {**at, **self._digit_values(a.axis, lemma, values)}
            other_at = {**other_at, **self._digit_values(b.axis, other_lemma, values)}
        for y, z in zip(a.arguments, b.arguments, strict=True):
            self.compare_terms(y, lemma, at, z, other_lemma, other_at)

    # ------------------------------------------------------------ definitions
    def definition(self) -> Definition:
        """The operator's definition at position p0, p1, .. in block g0, .. and iteration l."""
        match self.op:
            case ops.Unary(fn):
                return self._unary(fn)
            case ops.Scalar(fn, value):
                return self._scalar(fn, value)
            case ops.Binary(fn):
                return self._binary(fn)
            case ops.MatMul():
                k = self._new_name()
                size = self.shapes[0][-1]
                last = len(self.dims) - 1

                def left(at: Coordinates) -> dict[str, Numbers]:
                    return self._aligned(0, [*(at[f"p{d}"] for d in range(last)), at[k]])

                def right(at: Coordinates) -> dict[str, Numbers]:
                    return self._aligned(1, [*(at[f"p{d}"] for d in range(last - 1)), at[k], at[f"p{last}"]])

                return self._bind("sum", k, size, _times(Operand(0, left), Operand(1, right)))
            case ops.Reduce(fn, along):
                return self._reduce(fn, along, None)
            case ops.Scan(fn, along):
                k = self._new_name()
                size = self.shapes[0][along]

                def reached(at: Coordinates) -> Numbers:
                    ahead = at[f"p{along}"] - at[k]
                    return (ahead >= 0 if fn == "cumsum" else ahead <= 0) * 1.0

                term = Operand(0, lambda at: {**self._own_position(at), f"p{along}": at[k]})
                return self._bind("sum", k, size, _times(Indicator(reached), term))
            case ops.Accumulate(fn, along):
                return self._reduce(fn, along, self._loop())
            case ops.RunningMax(along):
                loop = self._loop()
                if loop is None or loop == ONE:
                    return self._reduce("max", along, None)
                k = self._new_name()
                return BoundOperation("upto", k, loop, (self._reduce("max", along, None, k),), "l")
            case ops.AccumulateRescaled(along):
                loop = self._loop()
                if loop is None or loop == ONE:
                    return self._reduce("sum", along, None)
                k = self._new_name()
                scale = Operand(1, lambda at: {**self._aligned(1, self._positions(at)), "l": at[k]})
                return BoundOperation("rescaled", k, loop, (self._reduce("sum", along, None, k), scale))
            case ops.Permute(order):
                return Operand(0, lambda at: {f"p{d}": at[f"p{n}"] for n, d in enumerate(order)})
            case ops.Reshape():
                return Operand(0, self._reshape_position)
            case ops.Expand(along, _):
                return Operand(0, lambda at: {**self._own_position(at), f"p{along}": at[f"p{along}"] * 0})
            case ops.Slice(along, start, _):
                by = self.evaluation.number(start)
                return Operand(0, lambda at: {**self._own_position(at), f"p{along}": at[f"p{along}"] + by})
            case ops.Concat(along):
                border = self.evaluation.extent(self.shapes[0][along])

                def second(at: Coordinates) -> dict[str, Numbers]:
                    return {**self._own_position(at), f"p{along}": at[f"p{along}"] - border}

                indicators = (
                    Indicator(lambda at: (at[f"p{along}"] < border) * 1.0),
                    Indicator(lambda at: (at[f"p{along}"] >= border) * 1.0),
                )
                places = self._own_position, second
                keeps = [self._kept(n, place) for n, place in enumerate(places)]
                parts = [Operand(n, place, "finite") for n, place in enumerate(places)]
                finite = Operation("add", "", tuple(map(_times, indicators, parts)))
                kept = Operation("add", "", tuple(map(_times, indicators, map(_product, keeps))))
                return _with_mask(finite, (kept,) if any(keeps) else ())
            case ops.Load():
                return Operand(0, self._load_position)
            case ops.Store(omap):
                return Operand(0, lambda at: self._store_position(omap or (), at))
            case ops.Result():
                return Operand(0, self._own_position)
            case ops.Band(_, _, low, high):

                def inside(at: Coordinates) -> Numbers:
                    distance, keep = at["p1"] - at["p0"], np.ones(1)
                    keep = keep if low is None else keep * (distance >= self.evaluation.number(low))
                    return keep if high is None else keep * (distance <= self.evaluation.number(high))

                return Indicator(inside)
            case ops.Lookup():
                raise CertificateError("a lookup has no lemma; a certificate has its result as an input")
            case ops.Input() | ops.Custom():
                raise AssertionError("inputs and kernels have no lemma of their own")
            case _:
                assert_never(self.op)

    def _new_name(self) -> str:
        """An unused name for a bound axis."""
        self._bound += 1
        return f"s{self._bound}"

    def _loop(self) -> Dim | None:
        return self.block.loop.size if self.block and self.block.loop else None

    def _positions(self, at: Coordinates) -> list[Numbers]:
        return [at[f"p{d}"] for d in range(len(self.dims))]

    def _own_position(self, at: Coordinates) -> dict[str, Numbers]:
        return {f"p{d}": at[f"p{d}"] for d in range(len(self.dims))}

    def _aligned(self, n: int, place: Sequence[Numbers]) -> dict[str, Numbers]:
        """A position in an operand of lower rank, or with dims of size 1 that broadcast."""
        dims = self.shapes[n]
        last = place[len(place) - len(dims) :]
        return {f"p{d}": i if size != ONE else i * 0 for d, (i, size) in enumerate(zip(last, dims, strict=True))}

    def _operand(self, n: int, part: str | int = "whole") -> Operand:
        return Operand(n, lambda at: self._aligned(n, self._positions(at)), part)

    def _kept(self, n: int, place: ReadPosition | None = None) -> tuple[Definition, ...]:
        """The arguments of the `bottom` terms of an operand, at the result's position or at `place`."""
        operand_lemma = self.evaluation.lemmas.get(self.operands[n])
        if self.operands[n] in self.inputs or operand_lemma is None:
            return ()
        count = range(len(split_mask(operand_lemma.value)[1]))
        return tuple(self._operand(n, k) if place is None else Operand(n, place, k) for k in count)

    def _finite_part(self, n: int) -> Operand:
        return self._operand(n, "finite")

    def _bind(self, op: str, name: str, extent: Dim, body: Definition) -> Definition:
        """A sum or a maximum over an axis; over an axis of size 1, the body at index 0."""
        if extent != ONE:
            return BoundOperation(op, name, extent, (body,))
        return _with_zero(body, name)

    def _unary(self, fn: elementwise.UnaryFn) -> Definition:
        a, row = self._operand(0), elementwise.UNARY[fn]

        def operation(name: str, args: tuple[Definition, ...]) -> Definition:
            match name, args:
                case "exp", (inner,) if inner is a and (keep := self._kept(0)):
                    return reduce(_times, (*keep, Operation("exp", "", (self._finite_part(0),))))
                case "mul", (left, right):
                    return _times(left, right)
                case "max", _:
                    return Operation("greater", "", args)
                case "add" | "inv" | "sqrt" | "exp", _:
                    return Operation(name, "", args)
                case _, (inner,) if elementwise.UNARY[name].is_symbol:
                    return Operation("call", name, (inner,))
                case _:
                    raise AssertionError(f"no definition may use {name}")

        if row.lowering != "inline":
            return operation(fn, (a,))
        return formulas.evaluate(
            formulas.without_quotients(formulas.formula(row.definition)), {"x": a}, _number, operation
        )

    def _scalar(self, fn: ops.ScalarFn, value: Fraction) -> Definition:
        a = self._operand(0)
        match fn:
            case "add":
                return Operation("add", "", (a, _number(value)))
            case "mul":
                return _with_mask(_times(_number(value), self._finite_part(0)), self._kept(0))
            case "pow":
                return _power(a, value)
            case "max":
                return Operation("greater", "", (a, _number(value)))
            case "min":
                return _minimum(a, _number(value))
            case _:
                assert_never(fn)

    def _binary(self, fn: elementwise.BinaryFn) -> Definition:
        a, b = self._operand(0), self._operand(1)
        match fn:
            case "add":
                if self._kept(0) and self._kept(1):
                    finite = Operation("add", "", (self._finite_part(0), self._finite_part(1)))
                    return _with_mask(finite, (*self._kept(0), *self._kept(1)))
                return Operation("add", "", (a, b))
            case "sub":
                return Operation("add", "", (a, _times(_number(-1), b)))
            case "mul" if not self._kept(0) and self._kept(1):
                return _with_mask(_times(a, self._finite_part(1)), self._kept(1))
            case "mul":
                return _with_mask(_times(self._finite_part(0), b), self._kept(0))
            case "div":
                return _with_mask(_times(self._finite_part(0), Operation("inv", "", (b,))), self._kept(0))
            case "max":
                return Operation("greater", "", (a, b))
            case "min":
                return _minimum(a, b)
            case "mask":
                return _with_mask(self._finite_part(0), (*self._kept(0), _is_nonzero(b)))
            case "keep":
                return _times(a, _is_nonzero(b))
            case "drop":
                opposite = Operation("add", "", (_number(1), _times(_number(-1), _is_nonzero(b))))
                return _times(a, _is_nonzero(opposite))
            case _:
                assert_never(fn)

    def _reduce(self, fn: ops.ReduceFn, along: int | None, loop: Dim | None, iteration: str = "") -> Definition:
        """A reduction over a dim and over a loop, if these are given; `iteration` is the name of the loop's index."""
        k, i = self._new_name(), self._new_name()

        def place(at: Coordinates) -> dict[str, Numbers]:
            found = self._own_position(at)
            if along is not None:
                found[f"p{along}"] = at[k]
            if loop is not None:
                found["l"] = at[i]
            return {**found, "l": at[iteration]} if iteration else found

        body: Definition = Operand(0, place)
        if fn == "rms":
            body = _times(body, body)
        op, count = "most" if fn == "max" else "sum", ONE
        if along is not None:
            count = count * self.shapes[0][along]
            body = self._bind(op, k, self.shapes[0][along], body)
        if loop is not None:
            count = count * loop
            body = self._bind(op, i, loop, body)
        match fn:
            case "sum" | "max":
                return body
            case "mean" | "rms":
                mean = _times(Operation("inv", "", (_size_definition(count),)), body)
                return Operation("sqrt", "", (mean,)) if fn == "rms" else mean
            case _:
                assert_never(fn)

    def _reshape_position(self, at: Coordinates) -> dict[str, Numbers]:
        flat = np.zeros(1, dtype=np.int64)
        for d, size in enumerate(self.dims):
            flat = flat * self.evaluation.extent(size) + at[f"p{d}"]
        found: dict[str, Numbers] = {}
        for d, size in reversed(list(enumerate(self.shapes[0]))):
            length = self.evaluation.extent(size)
            found[f"p{d}"], flat = flat % length, flat // length
        return found

    def _load_position(self, at: Coordinates) -> dict[str, Numbers]:
        assert isinstance(self.op, ops.Load) and self.block is not None, "loads are in blocks"
        found = self._own_position(at)
        for d, size in enumerate(self.dims):
            length = self.evaluation.extent(size)
            if self.op.fmap == d and self.block.loop is not None:
                found[f"p{d}"] = found[f"p{d}"] + at["l"] * length
                length *= self.evaluation.extent(self.block.loop.size)
            for n, along in reversed(list(enumerate(self.op.imap or ()))):
                if along == d:
                    found[f"p{d}"] = found[f"p{d}"] + at[f"g{n}"] * length
                    length *= self.evaluation.extent(self.block.grid[n].size)
        return found

    def _store_position(self, omap: tuple[int | None, ...], at: Coordinates) -> dict[str, Numbers]:
        found = self._own_position(at)
        for n, along in enumerate(omap):
            if along is not None:
                length = self.evaluation.extent(self.shapes[0][along])
                found[f"g{n}"], found[f"p{along}"] = at[f"p{along}"] // length, at[f"p{along}"] % length
        return found


def check_result(
    evaluation: Evaluation,
    e: Tree,
    lemma: ParsedLemma,
    tensor: str,
    dims: tuple[Dim, ...],
    inputs: Mapping[str, ops.Input],
) -> None:
    """Check that an expression is the value in a tensor's lemma, or reads the input that the tensor is.

    Raises:
        CertificateError: it is not.
    """
    at = evaluation.draw_points({f"p{d}": size for d, size in enumerate(dims)})
    check = DefinitionCheck(ops.Result(0), (tensor,), (dims,), dims, None, evaluation, inputs)
    check.compare(check.definition(), e, lemma, at, at)


def check_equal_values(evaluation: Evaluation, a: ParsedLemma, b: ParsedLemma, dims: tuple[Dim, ...]) -> None:
    """Check that the right sides of two lemmas with the same name are equal.

    Raises:
        CertificateError: they are not.
    """
    at = evaluation.draw_points({f"p{d}": size for d, size in enumerate(dims)})
    check = DefinitionCheck(ops.Result(0), (), (), dims, None, evaluation, {})
    check.compare_terms(a.right, a, at, b.right, b, at)


def _read_of_bool(e: Tree) -> Tree:
    """The element b of a bool input, which is stated as b b⁻¹: 1 where it is not 0, and 0 where it is."""
    match e:
        case ("mul", a, ("inv", b)) if a == b:
            return a
        case _:
            raise CertificateError(f"the left side has {show(e)} where it should read a bool input")


def split_mask(e: Tree) -> tuple[Tree, tuple[Tree, ...]]:
    """The finite part of a sum, and the arguments of its `bottom` terms."""
    match e:
        case ("bottom", a):
            return ("num", "0"), (a,)
        case ("add", a, b):
            (x, keep_a), (y, keep_b) = split_mask(a), split_mask(b)
            if not keep_a and not keep_b:
                return e, ()
            zero: Tree = ("num", "0")
            finite: Tree = y if x == zero else x if y == zero else ("add", x, y)
            return finite, (*keep_a, *(k for k in keep_b if k not in keep_a))
        case _:
            return e, ()


def _with_mask(finite: Definition, keep: tuple[Definition, ...]) -> Definition:
    return Operation("add", "", (finite, Operation("bottom", "", (_product(keep),)))) if keep else finite


def _product(factors: Sequence[Definition]) -> Definition:
    """The product, nested to the left; 1 where there are no factors."""
    return reduce(_times, factors) if factors else _number(1)


def _times(a: Definition, b: Definition) -> Definition:
    return Operation("mul", "", (a, b))


def _is_nonzero(a: Definition) -> Definition:
    """a a⁻¹: 1 where a is not 0, else 0."""
    return _times(a, Operation("inv", "", (a,)))


def _number(value: Fraction | int) -> Definition:
    return Operation("num", str(value))


def _minimum(a: Definition, b: Definition) -> Definition:
    return _times(_number(-1), Operation("greater", "", (_times(_number(-1), a), _times(_number(-1), b))))


def _power(a: Definition, value: Fraction) -> Definition:
    """A power, by products, roots and inverses."""
    if value < 0:
        return Operation("inv", "", (_power(a, -value),))
    if value == 0:
        return _number(1)
    items: list[Definition] = []
    while value:
        whole, value = divmod(value, 1)
        items += [a] * int(whole)
        a, value = Operation("sqrt", "", (a,)), value * 2
    return reduce(_times, items)


def _size_definition(d: Dim) -> Definition:
    """A size as a number."""
    terms: list[Definition] = []
    for monomial, coefficient in d.terms:
        factors: list[Definition] = [] if coefficient == 1 and monomial else [_number(coefficient)]
        for symbol, exponent in monomial:
            one: Definition = Operation("size", symbol)
            factors += [one if exponent > 0 else Operation("inv", "", (one,))] * abs(exponent)
        terms.append(reduce(_times, factors))
    return reduce(lambda a, b: Operation("add", "", (a, b)), terms) if terms else _number(0)


def _with_zero(wanted: Definition, name: str) -> Definition:
    """A definition with a name replaced by 0."""
    zero = np.zeros(1, dtype=np.int64)
    match wanted:
        case Operand(n, position, part):
            return Operand(n, lambda at: position({**at, name: zero}), part)
        case Indicator(value):
            return Indicator(lambda at: value({**at, name: zero}))
        case Operation(op, label, inside):
            return Operation(op, label, tuple(_with_zero(x, name) for x in inside))
        case BoundOperation(op, own, extent, inside, upto):
            return BoundOperation(op, own, extent, tuple(_with_zero(x, name) for x in inside), upto)
        case _:
            assert_never(wanted)
