"""Numeric evaluation of every operator at a few points, from the values in the lemmas of its operands.

Input: an operator, and the parsed lemmas of its operands. Output: the values of its result at some positions.
Independent of the prover and of `definition_check`, which compares the same operators symbol by symbol.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from math import prod
from typing import TypeAlias, assert_never

import numpy as np

from prism_explore.ir import elementwise, ops
from prism_explore.ir.dims import ONE, Dim
from prism_explore.ir.graph import SGraph, block_types
from prism_explore.ir.ops import BlockGraph
from prism_explore.ir.text import show_node
from prism_explore.verify.checker.evaluation import MINUS_INFINITY, Evaluation, Numbers, inverse, times
from prism_explore.verify.checker.parser import CertificateError

Names: TypeAlias = Mapping[str, Numbers]
"""Values of the block's coordinates g0, g1, .. and of the loop's index l."""


@dataclass(frozen=True, slots=True)
class Computation:
    """A tensor, its operator, and the operands."""

    tensor: str
    op: ops.Op
    operation: str
    operands: tuple[str, ...]
    shapes: tuple[tuple[Dim, ...], ...]
    """The dims of the operands."""
    shape: tuple[Dim, ...]
    block: BlockGraph | None = None
    """The block graph of the operator, if it is inside a custom kernel."""


def computations(graph: SGraph, prefix: str) -> Iterator[Computation]:
    """Every tensor of a graph with its operator, in order; a custom kernel is replaced by its block tensors."""
    types = graph.types()
    results: dict[str, list[str]] = {}
    input_names = {n: node.op.name for n, node in enumerate(graph.nodes) if isinstance(node.op, ops.Input)}
    for n, node in enumerate(graph.nodes):
        names = tuple(f"{prefix}{a}" for a in node.args)
        shapes = tuple(types[a].dims for a in node.args)
        if isinstance(node.op, ops.Result):
            names = (results[names[0]][node.op.index],)
        if not isinstance(node.op, ops.Custom):
            yield Computation(f"{prefix}{n}", node.op, show_node(node, input_names), names, shapes, types[n].dims)
            continue
        block = node.op.block
        inside = block_types(block, tuple(types[a] for a in node.args))
        stored = [f"{prefix}{n}", *(f"{prefix}{n}.b{m}" for m in block.stores[1:])]
        results[f"{prefix}{n}"] = stored
        for m, inner in enumerate(block.nodes):
            if isinstance(inner.op, ops.Load):
                operands, operand_shapes = (names[inner.op.operand],), (shapes[inner.op.operand],)
            else:
                operands = tuple(f"{prefix}{n}.b{a}" for a in inner.args)
                operand_shapes = tuple(inside[a].dims for a in inner.args)
            tensor = stored[block.stores.index(m)] if m in block.stores else f"{prefix}{n}.b{m}"
            yield Computation(tensor, inner.op, show_node(inner), operands, operand_shapes, inside[m].dims, block)


@dataclass
class TensorValues:
    """The values of all tensors, as functions of a position; those of the lemmas, and of the inputs."""

    evaluation: Evaluation
    inputs: Mapping[str, ops.Input]
    """Inputs by the names of their tensors."""
    masks: bool
    """Whether something is masked, so that equality is meant in a limit."""
    shapes: Mapping[str, tuple[Dim, ...]]

    def value(self, tensor: str, position: list[Numbers], at: Names, rank: int) -> Numbers:
        """The element of a tensor at a position; `rank` is the number of axes of the arrays."""
        if tensor in self.inputs:
            return self.evaluation.element(self.inputs[tensor], position)
        lemma = self.evaluation.lemmas.get(tensor)
        if lemma is None:
            raise CertificateError(f"it builds on {tensor}, whose lemma cannot be read")
        return self.evaluation.value(lemma.value, lemma, _with_positions(at, position), rank)

    def mask_level(self, tensor: str, position: list[Numbers], at: Names) -> Numbers:
        """The sum of the `bottom` terms of an element: below 0 where it is masked, else 0."""
        total = np.zeros(1)
        lemma = self.evaluation.lemmas.get(tensor)
        if lemma is None or tensor in self.inputs:
            return total
        pending = [lemma.value]
        while pending:
            e = pending.pop()
            if e[0] == "add":
                pending += e[1:]
            elif e[0] == "bottom":
                total = total + self.evaluation.value(e, lemma, _with_positions(at, position))
        return total


def _with_positions(at: Names, position: list[Numbers]) -> Names:
    return {**at, **{f"p{d}": i for d, i in enumerate(position)}}


def evaluate_operator(computation: Computation, tensors: TensorValues, position: list[Numbers], at: Names) -> Numbers:
    """The result of an operator at a position, from the values in the lemmas of its operands."""
    return _Operator(computation, tensors, position, at).result()


@dataclass
class _Operator:
    """One operator at one position of its result."""

    computation: Computation
    tensors: TensorValues
    position: list[Numbers]
    at: Names

    def __post_init__(self) -> None:
        self.evaluation = self.tensors.evaluation
        self.shapes = self.computation.shapes

    def result(self) -> Numbers:
        """The value."""
        match self.computation.op:
            case ops.Unary() | ops.Scalar() | ops.Binary() as op:
                return self._elementwise(op)
            case ops.MatMul() | ops.Reduce() | ops.Accumulate() | ops.RunningMax() | ops.AccumulateRescaled() as op:
                return self._reduction(op)
            case ops.Scan(fn, along):
                return self._scan(fn, along)
            case ops.Permute() | ops.Reshape() | ops.Expand() | ops.Slice() | ops.Concat() as op:
                return self._view(op)
            case ops.Result():
                return self._operand(0, self.position)
            case ops.Band(_, _, low, high):
                distance, keep = self.position[1] - self.position[0], np.ones(1)
                keep = keep if low is None else keep * (distance >= self.evaluation.number(low))
                return keep if high is None else keep * (distance <= self.evaluation.number(high))
            case ops.Load(_, imap, fmap):
                return self._load(imap or (), fmap)
            case ops.Store(omap):
                return self._store(omap or ())
            case ops.Lookup():
                raise CertificateError("a lookup has no lemma; a certificate has its result as an input")
            case ops.Input() | ops.Custom():
                raise AssertionError("inputs and kernels have no lemma of their own")
            case _:
                assert_never(self.computation.op)

    def _operand(self, n: int, position: list[Numbers], rank: int = 1, new: Names | None = None) -> Numbers:
        """The element of an operand; `new` are other values of the loop's index or the block's coordinates."""
        return self.tensors.value(self.computation.operands[n], position, {**self.at, **(new or {})}, rank)

    def _aligned(self, n: int, position: list[Numbers]) -> list[Numbers]:
        """A position in an operand of lower rank, or with dims of size 1 that broadcast."""
        dims = self.shapes[n]
        return [
            i if size != ONE else i * 0 for i, size in zip(position[len(position) - len(dims) :], dims, strict=True)
        ]

    def _elementwise(self, op: ops.Unary | ops.Scalar | ops.Binary) -> Numbers:
        operands = [self._operand(n, self._aligned(n, self.position)) for n in range(len(self.shapes))]
        match op:
            case ops.Unary("rsqrt"):
                return inverse(np.sqrt(operands[0]))
            case ops.Unary("recip"):
                return inverse(operands[0])
            case ops.Unary("exp"):
                is_masked = self.tensors.mask_level(self.computation.operands[0], self.position, self.at) < 0
                return np.where(is_masked, 0.0, np.exp(operands[0]))
            case ops.Unary(fn):
                return elementwise.UNARY[fn].numpy(operands[0])
            case ops.Scalar(fn, value):
                return _scalar(fn, operands[0], float(value))
            case ops.Binary("div"):
                return times(operands[0], inverse(operands[1]))
            case ops.Binary("mul"):
                return times(*operands)
            case ops.Binary("mask"):
                return np.where(operands[1] != 0, operands[0], MINUS_INFINITY)
            case ops.Binary(fn):
                return elementwise.BINARY[fn].numpy(*operands)

    def _scan(self, fn: ops.ScanFn, along: int) -> Numbers:
        here = self.position[along]

        def term(new: list[Numbers]) -> Numbers:
            is_reached = new[0] <= here if fn == "cumsum" else new[0] >= here
            return times(is_reached * 1.0, self._operand(0, _at(self.position, along, new[0]), 2))

        return self.evaluation.sum([self.evaluation.extent(self.shapes[0][along])], 1, term)

    # ------------------------------------------------------------ reductions
    def _reduction(
        self, op: ops.MatMul | ops.Reduce | ops.Accumulate | ops.RunningMax | ops.AccumulateRescaled
    ) -> Numbers:
        evaluation, position = self.evaluation, self.position
        loop = self.computation.block.loop if self.computation.block else None
        match op:
            case ops.MatMul():

                def term(new: list[Numbers]) -> Numbers:
                    left = [*self._aligned(0, position)[:-1], new[0]]
                    right = [*self._aligned(1, position)[:-2], new[0], position[-1]]
                    return times(self._operand(0, left, 2), self._operand(1, right, 2))

                return evaluation.sum([evaluation.extent(self.shapes[0][-1])], 1, term)
            case ops.Reduce(fn, along):
                length = evaluation.extent(self.shapes[0][along])
                return _reduce(fn, [length], lambda new: self._operand(0, _at(position, along, new[0]), 2), evaluation)
            case ops.Accumulate(fn, along):
                lengths = [evaluation.extent(loop.size)] if loop else []
                lengths += [evaluation.extent(self.shapes[0][along])] if along is not None else []

                def part(new: list[Numbers]) -> Numbers:
                    source = position if along is None else _at(position, along, new[-1])
                    return self._operand(0, source, 1 + len(new), {"l": new[0]} if loop else None)

                return _reduce(fn, lengths, part, evaluation)
            case ops.RunningMax(along):
                if loop is None:
                    return self._reduce_tile("max", along, [])

                def up_to_now(new: list[Numbers]) -> Numbers:
                    return np.where(new[0] <= self.at["l"], self._reduce_tile("max", along, new[:1]), -np.inf)

                return evaluation.maximum([evaluation.extent(loop.size)], 1, up_to_now)
            case ops.AccumulateRescaled(along):
                if loop is None:
                    return self._reduce_tile("sum", along, [])
                return evaluation.rescaled_sum(
                    evaluation.extent(loop.size),
                    1,
                    lambda new: self._reduce_tile("sum", along, new),
                    lambda new: self._operand(1, self._aligned(1, position), 1 + len(new), {"l": new[0]}),
                )

    def _reduce_tile(self, fn: ops.ReduceFn, along: int | None, iteration: list[Numbers]) -> Numbers:
        """The sum or maximum of the operand's tile over one of its dims, if one is given, in an iteration."""
        rank, new = 1 + len(iteration), {"l": iteration[0]} if iteration else {}
        if along is None:
            return self._operand(0, self.position, rank, new)
        combine = self.evaluation.maximum if fn == "max" else self.evaluation.sum
        return combine(
            [self.evaluation.extent(self.shapes[0][along])],
            rank,
            lambda more: self._operand(0, _at(self.position, along, more[0]), rank + 1, new),
        )

    # ------------------------------------------------------------ views, loads and stores
    def _view(self, op: ops.ViewOp) -> Numbers:
        evaluation, position = self.evaluation, self.position
        match op:
            case ops.Permute(order):
                source = [position[0]] * len(order)
                for n, d in enumerate(order):
                    source[d] = position[n]
                return self._operand(0, source)
            case ops.Reshape():
                flat = np.zeros(1, dtype=np.int64)
                for i, size in zip(position, self.computation.shape, strict=True):
                    flat = flat * evaluation.extent(size) + i
                source = list[Numbers]()
                for size in reversed(self.shapes[0]):
                    source.append(flat % evaluation.extent(size))
                    flat = flat // evaluation.extent(size)
                return self._operand(0, source[::-1])
            case ops.Expand(along, _):
                return self._operand(0, _at(position, along, position[along] * 0))
            case ops.Slice(along, start, _):
                return self._operand(0, _at(position, along, position[along] + evaluation.number(start)))
            case ops.Concat(along):
                border = evaluation.extent(self.shapes[0][along])
                last = evaluation.extent(self.shapes[1][along]) - 1
                first = self._operand(0, _at(position, along, np.minimum(position[along], border - 1)))
                second = self._operand(1, _at(position, along, np.clip(position[along] - border, 0, last)))
                return np.where(position[along] < border, first, second)

    def _load(self, imap: tuple[int | None, ...], fmap: int | None) -> Numbers:
        block = self.computation.block
        assert block is not None, "loads are in blocks"
        source = list(self.position)
        for d, size in enumerate(self.computation.shape):
            length = self.evaluation.extent(size)
            if fmap == d and block.loop is not None:
                source[d] = source[d] + self.at["l"] * length
                length *= self.evaluation.extent(block.loop.size)
            for n, along in enumerate(imap):
                if along == d:
                    source[d] = source[d] + self.at[f"g{n}"] * length
        return self._operand(0, source)

    def _store(self, omap: tuple[int | None, ...]) -> Numbers:
        source, block = list(self.position), dict[str, Numbers]()
        for n, along in enumerate(omap):
            if along is not None:
                length = self.evaluation.extent(self.shapes[0][along])
                block[f"g{n}"], source[along] = self.position[along] // length, self.position[along] % length
        return self._operand(0, source, 1, block)


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


def _at(position: list[Numbers], along: int, i: Numbers) -> list[Numbers]:
    """A position with another index along one dim."""
    return [*position[:along], i, *position[along + 1 :]]


def _reduce(
    fn: ops.ReduceFn, lengths: list[int], part: Callable[[list[Numbers]], Numbers], evaluation: Evaluation
) -> Numbers:
    if fn == "max":
        return evaluation.maximum(lengths, 1, part)
    if fn == "sum":
        return evaluation.sum(lengths, 1, part)
    if fn == "mean":
        return evaluation.sum(lengths, 1, part) / prod(lengths)
    return np.sqrt(evaluation.sum(lengths, 1, lambda new: np.square(part(new))) / prod(lengths))
