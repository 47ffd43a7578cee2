"""Numeric evaluation of every operator at a few points, from the values in the lemmas of its operands.

Independent of the prover and of `definition_check`, which compares the same operators symbol by symbol.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from math import prod
from typing import assert_never

import numpy as np

from prism_explore.ir import elementwise, ops
from prism_explore.ir.dims import ONE, Dim
from prism_explore.ir.graph import SGraph, block_types
from prism_explore.ir.ops import BlockGraph
from prism_explore.ir.text import show_node
from prism_explore.verify.checker.evaluation import LOW, Evaluation, Numbers, inverse, times
from prism_explore.verify.checker.parser import CertificateError


@dataclass(frozen=True, slots=True)
class Step:
    """A tensor, the operator that makes it, and those it is made from."""

    tensor: str
    op: ops.Op
    operation: str
    operands: tuple[str, ...]
    shapes: tuple[tuple[Dim, ...], ...]
    shape: tuple[Dim, ...]
    block: BlockGraph | None = None


def steps(graph: SGraph, prefix: str) -> Iterator[Step]:
    """Every tensor of a graph with the operator that makes it, in order; those of kernels where the kernel stands."""
    types = graph.types()
    kernels: dict[str, list[str]] = {}
    called = {n: node.op.name for n, node in enumerate(graph.nodes) if isinstance(node.op, ops.Input)}
    for n, node in enumerate(graph.nodes):
        names = tuple(f"{prefix}{a}" for a in node.args)
        shapes = tuple(types[a].dims for a in node.args)
        if isinstance(node.op, ops.Result):
            names = (kernels[names[0]][node.op.index],)
        if not isinstance(node.op, ops.Custom):
            yield Step(f"{prefix}{n}", node.op, show_node(node, called), names, shapes, types[n].dims)
            continue
        block = node.op.block
        inside = block_types(block, tuple(types[a] for a in node.args))
        stored = [f"{prefix}{n}", *(f"{prefix}{n}.b{m}" for m in block.stores[1:])]
        kernels[f"{prefix}{n}"] = stored
        for m, inner in enumerate(block.nodes):
            if isinstance(inner.op, ops.Load):
                operands, of = (names[inner.op.operand],), (shapes[inner.op.operand],)
            else:
                operands = tuple(f"{prefix}{n}.b{a}" for a in inner.args)
                of = tuple(inside[a].dims for a in inner.args)
            tensor = stored[block.stores.index(m)] if m in block.stores else f"{prefix}{n}.b{m}"
            yield Step(tensor, inner.op, show_node(inner), operands, of, inside[m].dims, block)


@dataclass
class Tensors:
    """What the lemmas say of every tensor, as functions of a place."""

    point: Evaluation
    given: Mapping[str, ops.Input]
    """Inputs by the names of their tensors."""
    masks: bool
    """Whether something is masked, so that equality is meant in a limit."""
    shapes: Mapping[str, tuple[Dim, ...]]

    def value(self, tensor: str, place: list[Numbers], at: Mapping[str, Numbers], deep: int) -> Numbers:
        """The element of a tensor; `at` holds the block's coordinates and the loop's."""
        if tensor in self.given:
            return self.point.element(self.given[tensor], place)
        reading = self.point.readings.get(tensor)
        if reading is None:
            raise CertificateError(f"it builds on {tensor}, whose lemma cannot be read")
        here = {**at, **{f"p{d}": i for d, i in enumerate(place)}}
        return self.point.side(reading.value, reading, here, deep)

    def low(self, tensor: str, place: list[Numbers], at: Mapping[str, Numbers]) -> Numbers:
        """What makes an element of a tensor minus infinity: below 0 where it is masked, else 0."""
        total = np.zeros(1)
        reading = self.point.readings.get(tensor)
        pending = [] if reading is None or tensor in self.given else [reading.value]
        here = {**at, **{f"p{d}": i for d, i in enumerate(place)}}
        while pending and reading is not None:
            e = pending.pop()
            if e[0] == "add":
                pending += e[1:]
            elif e[0] == "bottom":
                total = total + self.point.side(e, reading, here)
        return total


def applied(step: Step, tensors: Tensors, place: list[Numbers], at: Mapping[str, Numbers]) -> Numbers:
    """The operator's result at a place, from what the lemmas say of its operands."""
    point = tensors.point

    def operand(n: int, where: list[Numbers], deep: int = 1, also: Mapping[str, Numbers] | None = None) -> Numbers:
        return tensors.value(step.operands[n], where, {**at, **(also or {})}, deep)

    def aligned(n: int, where: list[Numbers]) -> list[Numbers]:
        """A place in an operand of lower rank, or with dims of size 1 that broadcast."""
        of = step.shapes[n]
        return [i if size != ONE else i * 0 for i, size in zip(where[len(where) - len(of) :], of, strict=True)]

    def part_of(along: int | None, new: list[Numbers], also: Mapping[str, Numbers]) -> Numbers:
        """A tile's maximum over one of its dims, if one is given."""
        if along is None:
            return operand(0, place, 1 + len(new), also)
        return point.greatest(
            [point.extent(step.shapes[0][along])],
            1 + len(new),
            lambda more: operand(0, _at(place, along, more[0]), 2 + len(new), also),
        )

    def summed(along: int | None, new: list[Numbers], also: Mapping[str, Numbers]) -> Numbers:
        """A tile's sum over one of its dims, if one is given."""
        if along is None:
            return operand(0, place, 1 + len(new), also)
        return point.total(
            [point.extent(step.shapes[0][along])],
            1 + len(new),
            lambda more: operand(0, _at(place, along, more[0]), 2 + len(new), also),
        )

    match step.op:
        case ops.Unary("rsqrt"):
            return inverse(np.sqrt(operand(0, place)))
        case ops.Unary("recip"):
            return inverse(operand(0, place))
        case ops.Unary("exp"):
            found = np.exp(operand(0, place))
            return np.where(tensors.low(step.operands[0], place, at) < 0, 0.0, found)
        case ops.Unary(fn):
            return elementwise.UNARY[fn].numpy(operand(0, place))
        case ops.Scalar(fn, value):
            return _scalar(fn, operand(0, place), float(value))
        case ops.Binary("div"):
            return times(operand(0, aligned(0, place)), inverse(operand(1, aligned(1, place))))
        case ops.Binary("mul"):
            return times(operand(0, aligned(0, place)), operand(1, aligned(1, place)))
        case ops.Binary("mask"):
            return np.where(operand(1, aligned(1, place)) != 0, operand(0, aligned(0, place)), LOW)
        case ops.Binary(fn):
            return elementwise.BINARY[fn].numpy(operand(0, aligned(0, place)), operand(1, aligned(1, place)))
        case ops.MatMul():

            def term(new: list[Numbers]) -> Numbers:
                left = [*aligned(0, [*place[:-1], place[-1]])[:-1], new[0]]
                right = [*aligned(1, place)[:-2], new[0], place[-1]]
                return times(operand(0, left, 2), operand(1, right, 2))

            return point.total([point.extent(step.shapes[0][-1])], 1, term)
        case ops.Reduce(fn, along):
            length = point.extent(step.shapes[0][along])
            return _reduced(fn, [length], lambda new: operand(0, _at(place, along, new[0]), 2), point)
        case ops.Accumulate(fn, along):
            loop = step.block.loop if step.block else None
            lengths = [point.extent(loop.size)] if loop else []
            lengths += [point.extent(step.shapes[0][along])] if along is not None else []

            def part(new: list[Numbers]) -> Numbers:
                where = place if along is None else _at(place, along, new[-1])
                return operand(0, where, 1 + len(new), {"l": new[0]} if loop else None)

            return _reduced(fn, lengths, part, point)
        case ops.RunningMax(along):
            if step.block is None or step.block.loop is None:
                return part_of(along, [], {})

            def so_far(new: list[Numbers]) -> Numbers:
                return np.where(new[0] <= at["l"], part_of(along, new[:1], {"l": new[0]}), -np.inf)

            return point.greatest([point.extent(step.block.loop.size)], 1, so_far)
        case ops.AccumulateRescaled(along):
            if step.block is None or step.block.loop is None:
                return summed(along, [], {})
            length = point.extent(step.block.loop.size)
            return point.loop(
                length,
                1,
                lambda new: summed(along, new, {"l": new[0]}),
                lambda new: operand(1, aligned(1, place), 1 + len(new), {"l": new[0]}),
            )
        case ops.Permute(order):
            where = [place[0]] * len(order)
            for n, d in enumerate(order):
                where[d] = place[n]
            return operand(0, where)
        case ops.Reshape():
            flat = np.zeros(1, dtype=np.int64)
            for i, size in zip(place, step.shape, strict=True):
                flat = flat * point.extent(size) + i
            where = list[Numbers]()
            for size in reversed(step.shapes[0]):
                where.append(flat % point.extent(size))
                flat = flat // point.extent(size)
            return operand(0, where[::-1])
        case ops.Expand(along, _):
            return operand(0, _at(place, along, place[along] * 0))
        case ops.Slice(along, start, _):
            return operand(0, _at(place, along, place[along] + point.number(start)))
        case ops.Concat(along):
            cut = point.extent(step.shapes[0][along])
            last = point.extent(step.shapes[1][along]) - 1
            first = operand(0, _at(place, along, np.minimum(place[along], cut - 1)))
            second = operand(1, _at(place, along, np.clip(place[along] - cut, 0, last)))
            return np.where(place[along] < cut, first, second)
        case ops.Result():
            return operand(0, place)
        case ops.Band(_, _, low, high):
            apart, keep = place[1] - place[0], np.ones(1)
            keep = keep if low is None else keep * (apart >= point.number(low))
            return keep if high is None else keep * (apart <= point.number(high))
        case ops.Load(_, imap, fmap):
            assert step.block is not None, "loads are in blocks"
            where = list(place)
            for d, size in enumerate(step.shape):
                length = point.extent(size)
                if fmap == d and step.block.loop is not None:
                    where[d] = where[d] + at["l"] * length
                    length *= point.extent(step.block.loop.size)
                for n, along in enumerate(imap or ()):
                    if along == d:
                        where[d] = where[d] + at[f"g{n}"] * length
            return operand(0, where)
        case ops.Store(omap):
            where, block = list(place), dict[str, Numbers]()
            for n, along in enumerate(omap or ()):
                if along is not None:
                    length = point.extent(step.shapes[0][along])
                    block[f"g{n}"], where[along] = place[along] // length, place[along] % length
            return operand(0, where, 1, block)
        case ops.Input() | ops.Custom():
            raise AssertionError("inputs and kernels have no lemma of their own")
        case _:
            assert_never(step.op)


def _scalar(fn: ops.ScalarFn, a: Numbers, value: float) -> Numbers:
    match fn:
        case "add":
            return a + value
        case "mul":
            return times(a, np.full(1, value))
        case "max":
            return np.maximum(a, value)
        case "min":
            return np.minimum(a, value)
        case "pow":
            if value == 0:
                return np.ones_like(a)
            return np.power(a, value) if value > 0 else inverse(np.power(a, -value))
        case _:
            assert_never(fn)


def _at(place: list[Numbers], along: int, i: Numbers) -> list[Numbers]:
    return [*place[:along], i, *place[along + 1 :]]


def _reduced(
    fn: ops.ReduceFn, lengths: list[int], part: Callable[[list[Numbers]], Numbers], point: Evaluation
) -> Numbers:
    if fn == "max":
        return point.greatest(lengths, 1, part)
    if fn == "sum":
        return point.total(lengths, 1, part)
    if fn == "mean":
        return point.total(lengths, 1, part) / prod(lengths)
    return np.sqrt(point.total(lengths, 1, lambda new: np.square(part(new))) / prod(lengths))
