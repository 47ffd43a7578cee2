"""Find one library call that computes the full program, by proof.

Input: a traced program, such as attention written as two products and a softmax. Output: a torch call that computes
it, or None. Method: try each call of a table (`frontend.library_calls`) on the program's inputs, in every order whose
dims fit and with the constants of the program; torch.export gives the program of the call, and the prover decides
whether they are equal for all sizes. The call is then one more baseline, so no result is slower than it.

Several calls in a row, and calls that the table lacks, are not found; pass your own code with `Session(library=...)`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import islice, permutations
from typing import TypeAlias, assert_never

from prism_explore.errors import PrismError
from prism_explore.events.journal import Journal
from prism_explore.frontend import Binding, LibraryCall, Traced, trace
from prism_explore.frontend.library_calls import CALLS, Call, Number, with_arguments
from prism_explore.ir.dims import Dim
from prism_explore.ir.graph import SGraph
from prism_explore.ir.ops import Input, Node, Op, Permute, Scalar
from prism_explore.ir.program import TensorProgram
from prism_explore.ir.tensors import TensorType
from prism_explore.pipeline.stages import Candidate, Family, Verified
from prism_explore.verify.prover import Prover

MAX_TRIED = 64
"""Largest number of calls that are verified for one program; each takes some milliseconds."""
PLACEHOLDER = 0.7310585
"""A placeholder for a call's constant, so that a call is traced once for all constants; a trace takes 0.1 s."""

Dims: TypeAlias = tuple[Dim, ...]


@dataclass(frozen=True)
class Library:
    """The library call of a search: passed, or found when a race first needs it, which takes 0.1 to 0.8 s."""

    explicit: LibraryCall | None = None
    traced: Traced | None = None
    """The code to find a call for, where none was passed."""
    saved_texts: frozenset[str] = frozenset()
    """The call of a saved race as text, because its rows are valid for that call only; empty without a saved race."""

    @cached_property
    def call(self) -> LibraryCall | None:
        """The call; None where none was passed or found."""
        if self.explicit is not None or self.traced is None:
            return self.explicit
        found = find_library_call(self.traced)
        return found if found is not None and self.saved_texts <= {found.call_text} else None


def find_library_call(traced: Traced) -> LibraryCall | None:
    """The first call of the table that is proved equal to the traced program; None where there is none.

    Its code takes the arguments that the traced code takes, in their order; a module's own tensors come from it.
    """
    sources = _sources(traced)
    if sources is None or traced.program.graph.further:
        return None
    program, out = traced.program, traced.program.graph.output_type.dims
    prover: Prover | None = None
    traced_calls: dict[tuple[Call, tuple[TensorType, ...]], Traced | None] = {}
    for call, order, number in islice(_applications(program, sources, out), MAX_TRIED):
        types = tuple(sources[s] for s in order)
        if (call, types) not in traced_calls:
            traced_calls[call, types] = _trace_call(call, types)
        if (found := traced_calls[call, types]) is None:
            continue
        try:
            graph = _as_kernel_graph(traced, found, order, number)
            candidate = Candidate("call", Family("call", program, graph), graph, (), graph.conditions())
            prover = prover or Prover(program, saturation=None)
            verdict = prover.verify(candidate, Journal())
        except PrismError:
            continue
        if isinstance(verdict, Verified):
            return LibraryCall(_call_text(call, number), with_arguments(traced, call.make(float(number)), order))
    return None


def _trace_call(call: Call, types: Sequence[TensorType]) -> Traced | None:
    """The program of a call on tensors of these types; None where torch or this package does not support the call."""
    function = call.make(PLACEHOLDER)
    names = function.__code__.co_varnames[: function.__code__.co_argcount]
    try:
        return trace(function, dict(zip(names, types, strict=True)))
    except PrismError:
        return None


# ---------------------------------------------------------------- ways to call
def _sources(traced: Traced) -> dict[str, TensorType] | None:
    """The tensors that the user passes, by name; None where the program reads one in two layouts, or its bytes."""
    found: dict[str, TensorType] = {}
    for binding, given in zip(traced.bindings, traced.program.inputs, strict=True):
        if binding.source in found or binding.bits:
            return None
        permute = _permute(binding, given.type.rank)
        found[binding.source] = given.type.permuted([permute.index(d) for d in range(given.type.rank)])
    return found


def _permute(binding: Binding, rank: int) -> tuple[int, ...]:
    return binding.permute or tuple(range(rank))


def _applications(
    program: TensorProgram, sources: Mapping[str, TensorType], out: Dims
) -> Iterator[tuple[Call, tuple[str, ...], Fraction]]:
    """The calls of the table, each with an order of the inputs whose dims fit, and a constant of the program."""
    ops = [node.op for node in program.graph.nodes]
    for call in CALLS:
        inputs, result = call.dims.split(" -> ")
        patterns = [side.split() for side in (*inputs.split(", "), result)]
        if len(patterns) != len(sources) + 1 or not any(map(call.requires, ops)):
            continue
        for order in permutations(sources):
            found = [*(sources[s].dims for s in order), out]
            if _fits(patterns, found):
                for number in _numbers(call.number, ops, found[0]):
                    yield call, order, number


def _fits(patterns: Sequence[Sequence[str]], dims: Sequence[Dims]) -> bool:
    letters: dict[str, Dim | Dims] = {}
    for pattern, own in zip(patterns, dims, strict=True):
        named = [p for p in pattern if p != "*"]
        leading = len(own) - len(named)
        if leading < 0 or (leading > 0 and "*" not in pattern):
            return False
        here: list[tuple[str, Dim | Dims]] = [*zip(named, own[leading:], strict=True)]
        here += [("*", own[:leading])] if "*" in pattern else []
        if any(letters.setdefault(letter, d) != d for letter, d in here):
            return False
    return True


def _numbers(kind: Number, ops: Sequence[Op], first: Dims) -> list[Fraction]:
    """The possible values of the constant of a call, exactly as in the program."""
    scalars = [op for op in ops if isinstance(op, Scalar)]
    match kind:
        case "none":
            return [Fraction(0)]
        case "eps":
            return list(dict.fromkeys([*(s.value for s in scalars if s.fn == "add"), Fraction(0)]))
        case "scale":
            channels = first[-1].constant
            usual = [] if channels is None else [Fraction(repr(channels**-0.5))]
            return list(dict.fromkeys([*usual, *(s.value for s in scalars if s.fn == "mul"), Fraction(1)]))
        case _:
            assert_never(kind)


def _call_text(call: Call, number: Fraction) -> str:
    return f"{call.torch}, {call.number} {float(number):.6g}" if call.number != "none" else call.torch


# ---------------------------------------------------------------- what a call computes, on the program's inputs
def _as_kernel_graph(traced: Traced, found: Traced, order: Sequence[str], number: Fraction) -> SGraph:
    """The call as a kernel graph of the program's own inputs."""
    program = traced.program
    nodes: list[Node] = [Node(given) for given in program.inputs]
    own = dict(zip(found.arguments, order, strict=True))
    place = {b.source: n for n, b in enumerate(traced.bindings)}
    views = {b.name: b for b in found.bindings}
    at: dict[int, int] = {}
    for n, node in enumerate(found.program.graph.nodes):
        op = node.op
        if isinstance(op, Input):
            view = views[op.name]
            operand = place[own[view.source]]
            rank = op.type.rank
            has, wants = _permute(traced.bindings[operand], rank), _permute(view, rank)
            at[n] = operand
            if has != wants:
                at[n] = len(nodes)
                nodes.append(Node(Permute(tuple(has.index(d) for d in wants)), (operand,)))
            continue
        if isinstance(op, Scalar) and float(op.value) == PLACEHOLDER:
            op = replace(op, value=number)  # exactly the program's; the call is given the double nearest to it
        at[n] = len(nodes)
        nodes.append(Node(op, tuple(at[a] for a in node.args)))
    return SGraph(tuple(nodes), at[found.program.graph.output])
