# pyright: basic
# Results of a trace, and tensors of torch.
"""Programs of both sides where torch operators without a row are unknown functions: *congruence*.

Two opaque calls are congruent if their operators and attributes are equal and their operands are proved equal. The
results of congruent calls become one free input of both programs, those of other calls different ones. What is proved
for all values of the free inputs holds for the values that the calls compute. A difference proves nothing: the call may
never compute such values.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

from prism_explore.diagnose.check import Checker
from prism_explore.entry.equivalence.sides import Code
from prism_explore.errors import PrismError
from prism_explore.frontend.export import Exported
from prism_explore.frontend.mixed_program import MixedProgram
from prism_explore.frontend.mixed_trace import traced_in_parts
from prism_explore.frontend.opaque import OpaqueCall, TensorRef
from prism_explore.frontend.result_form import is_compared
from prism_explore.ir.graph import SGraph, needed_by
from prism_explore.ir.ops import Input, Node, Permute
from prism_explore.ir.program import TensorProgram
from prism_explore.ir.tensors import INTEGER_NUMBERS, INTEGERS, WORDS, TensorType
from prism_explore.pipeline.stages import Verified
from prism_explore.verify.normal_form.algebra import Algebra
from prism_explore.verify.normal_form.bound_names import NoNormalForm
from prism_explore.verify.normal_form.lower_graph import lower


@dataclass(slots=True)
class _Flat:
    """One side: its tensor programs in one graph, whose inputs are variables and results of opaque calls."""

    name: str
    program: MixedProgram
    nodes: list[Node] = field(default_factory=list[Node])
    lines: list[str] = field(default_factory=list[str])
    position: dict[str, int] = field(default_factory=dict[str, int])
    """Of each tensor that the graph has, by its name in the program."""
    label: dict[str, str] = field(default_factory=dict[str, str])
    """Of each tensor that the graph does not compute: equal labels are equal tensors."""

    def add(self, op: Any, args: tuple[int, ...] = (), line: str = "") -> int:
        self.nodes.append(Node(op, args))
        self.lines.append(line)
        return len(self.nodes) - 1

    def input(self, op: Input, line: str = "") -> int:
        """The position of an input, which the graph has once."""
        known = next((n for n, node in enumerate(self.nodes) if node.op == op), None)
        return self.add(op, (), line) if known is None else known

    def as_program(self, output: int) -> TensorProgram:
        return TensorProgram(self.name, SGraph(tuple(self.nodes), output), tuple(self.lines))


class Congruence:
    """Both sides over the same variables and the same results of opaque calls.

    Args:
        sides: the torch code of both sides, each with its graph.
        variables: the type of each variable.
        seed: of the prover's trials.

    Raises:
        UnsupportedOperator: a side cannot be traced, or an operator is no function of its arguments.
        ShapeError: dims do not fit.
    """

    def __init__(self, sides: Sequence[tuple[Code, Exported]], variables: Mapping[str, TensorType], seed: int) -> None:
        self._seed = seed
        self._variables = variables
        self._inputs = {v: Input(v, TensorType(t.dims, t.dtype)) for v, t in variables.items() if _is_real(t)}
        self._name_of: dict[str, str] = {}
        self._classes: dict[Hashable, tuple[TensorProgram, str]] = {}
        """A tensor and its label, by each canonical form of tensors with this label."""
        self._algebras = (Algebra(), Algebra(expand_definitions=True), Algebra(by_order=True))
        self._conditions: dict[str, None] = {}
        self._flats = [self._flat(side, given) for side, given in sides]

    @property
    def conditions(self) -> tuple[str, ...]:
        """Conditions of the proofs that operands are equal."""
        return tuple(self._conditions)

    def operators(self, number: int) -> tuple[str, ...]:
        """The opaque operators on which a result depends, on some side.

        Args:
            number: the position among the results that are tensors or numbers.
        """
        return tuple(dict.fromkeys(name for flat in self._flats for name in _operators_for(flat.program, number)))

    def programs(self, number: int) -> tuple[TensorProgram | str, TensorProgram | str]:
        """Both sides of one result; a text says why there is none.

        Args:
            number: the position among the results that are tensors or numbers.
        """
        # A result may be a further input, and both programs have all inputs.
        left, right = [self._returned(flat, number) for flat in self._flats]
        first, second = self._flats
        return (
            left if isinstance(left, str) else self._over_inputs(first.as_program(left)),
            right if isinstance(right, str) else self._over_inputs(second.as_program(right)),
        )

    def _returned(self, flat: _Flat, number: int) -> int | str:
        """The position of a result."""
        returned = [r for r in flat.program.results if is_compared(r)][number]
        if not isinstance(returned, TensorRef):
            return f"{returned!r} is returned, which is no tensor"
        return self._position(flat, returned.name, TensorType(()))

    def _position(self, flat: _Flat, name: str, t: TensorType, bits: str = "") -> int:
        """The position of a tensor; integers, which are known by their label, get one when they are read or returned.

        Args:
            flat: the side.
            name: of the tensor.
            t: the type of the free input that stands for integers.
            bits: the integers' dtype where the free input stands for their bytes.
        """
        suffix = " as bytes" if bits in WORDS else " as a number" if t.dtype in INTEGER_NUMBERS else ""
        if name + suffix not in flat.position:
            flat.position[name + suffix] = flat.input(self._inputs[self._named(flat.label[name] + suffix, t)])
        return flat.position[name + suffix]

    # ------------------------------------------------------------ one side
    def _flat(self, side: Code, given: Exported) -> _Flat:
        program = traced_in_parts(given)
        flat = _Flat(given.name, program)
        for i in program.inputs:
            variable = side.variable_of.get(i.source)
            label = f"variable {variable}" if variable is not None else _content(program.parameters[i.source])
            if not _is_real(i.type):
                flat.label[i.name] = label
            else:
                name = variable or self._named(label, i.type)
                flat.position[i.name] = flat.input(self._inputs[name])
        for step in program.steps:
            if isinstance(step, OpaqueCall):
                self._call(flat, step)
                continue
            moved: dict[int, int] = {}
            source = {b.name: b for b in step.traced.bindings}
            inner = step.traced.program
            for n, (node, line) in enumerate(zip(inner.graph.nodes, inner.lines, strict=True)):
                if isinstance(node.op, Input):
                    binding = source[node.op.name]
                    at = self._position(flat, binding.source, node.op.type, binding.bits)
                    moved[n] = flat.add(Permute(binding.permute), (at,), line) if binding.permute else at
                else:
                    moved[n] = flat.add(node.op, tuple(moved[a] for a in node.args), line)
            form, outputs = step.traced.form, inner.graph.outputs
            for name, output in zip(step.names, outputs if form is None else form.in_order(outputs), strict=True):
                flat.position[name] = moved[output]
        return flat

    def _call(self, flat: _Flat, call: OpaqueCall) -> None:
        """The results of a call: free inputs, the same as those of a congruent call."""
        key = call.key({name: self._label(flat, name) for name in call.operands})
        for result in call.results:
            label = f"result {result.index} {result.type} of {key}"
            flat.label[result.name] = label
            if _is_real(result.type):
                flat.position[result.name] = flat.input(self._inputs[self._named(label, result.type)], call.line)

    def _named(self, label: str, t: TensorType) -> str:
        """The name of the free input with a label."""
        if label not in self._name_of:
            name = f"opaque{len(self._name_of) + 1}"
            while name in self._inputs:
                name += "_"
            self._name_of[label] = name
            self._inputs[name] = Input(name, TensorType(t.dims, t.dtype))
        return self._name_of[label]

    # ------------------------------------------------------------ equality of operands
    def _label(self, flat: _Flat, name: str) -> str:
        """A text that is the same for tensors that are proved equal.

        Equal canonical forms only tell what to prove, so each tensor is compared with one other at most.
        """
        if name in flat.label:
            return flat.label[name]
        program = self._over_inputs(flat.as_program(flat.position[name]))
        output = program.graph.nodes[program.graph.output].op
        if isinstance(output, Input):
            return f"input {output.name}"
        forms = tuple(self._canonical_forms(program.graph))
        known, label = next((self._classes[f] for f in forms if f in self._classes), (program, ""))
        if known is program or not self._are_equal(known, program):
            t = program.graph.output_type
            known, label = program, f"computed {flat.name} {name} {t.dtype}"
        for form in forms:
            self._classes.setdefault(form, (known, label))
        return label

    def _canonical_forms(self, graph: SGraph) -> Iterator[Hashable]:
        """What tells tensors that may be equal: the operators, and the normal form in each algebra."""
        t = graph.output_type
        needed = sorted(needed_by(graph.nodes, (graph.output,)))
        moved = {n: k for k, n in enumerate(needed)}
        yield tuple(Node(graph.nodes[n].op, tuple(moved[a] for a in graph.nodes[n].args)) for n in needed)
        for number, algebra in enumerate(self._algebras):
            algebra.restart()
            with suppress(NoNormalForm, RecursionError):
                yield number, t.dims, t.dtype, lower(graph, algebra).values[graph.output].key

    def _are_equal(self, known: TensorProgram, program: TensorProgram) -> bool:
        # Inputs are matched by name only if both programs have the same ones.
        a, b = self._over_inputs(known), self._over_inputs(program)
        if a.graph == b.graph:
            return True
        try:
            verdict = Checker(a).check(b.graph, self._seed)
        except PrismError:
            return False
        if isinstance(verdict, Verified):
            self._conditions |= dict.fromkeys(verdict.proof.conditions)
        return isinstance(verdict, Verified)

    def _over_inputs(self, program: TensorProgram) -> TensorProgram:
        """What a program's result depends on, over all inputs that are known so far."""
        nodes, output = program.graph.nodes, program.graph.output
        made = [Node(i) for i in self._inputs.values()]
        lines = [""] * len(made)
        at = {name: n for n, name in enumerate(self._inputs)}
        moved: dict[int, int] = {}
        for n in sorted(needed_by(nodes, (output,))):
            op = nodes[n].op
            if isinstance(op, Input):
                moved[n] = at[op.name]
                continue
            moved[n] = len(made)
            made.append(Node(op, tuple(moved[a] for a in nodes[n].args)))
            lines.append(program.lines[n])
        return TensorProgram(program.name, SGraph(tuple(made), moved[output]), tuple(lines))


def _operators_for(program: MixedProgram, number: int) -> list[str]:
    """The opaque operators on which a result depends."""
    returned = [r for r in program.results if is_compared(r)][number]
    needed = {returned.name} if isinstance(returned, TensorRef) else set[str]()
    found: list[str] = []
    for step in reversed(program.steps):
        is_call = isinstance(step, OpaqueCall)
        if needed.isdisjoint(r.name for r in step.results) if is_call else needed.isdisjoint(step.names):
            continue
        needed.update(step.operands if is_call else step.traced.arguments)
        if is_call and step.reason:
            found.append(step.operator)
    return found[::-1]


def _is_real(t: TensorType) -> bool:
    return t.dtype not in INTEGERS


def _content(tensor: Any) -> str:
    """A tensor of the code by its content."""
    import torch

    data = tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().tobytes()
    return f"constant {tensor.dtype} {tuple(tensor.shape)} {sha256(data).hexdigest()}"
