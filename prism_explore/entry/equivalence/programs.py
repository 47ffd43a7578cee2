"""Both sides as programs over the variables of the check.

Each side is exported once. A trace names its inputs after the arguments that are read, in the order of dims in which
they are read. Here both sides get the same inputs, with the declared dims, whether they read them or not; a read in
another order of dims is a permutation.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from prism_explore.entry.equivalence.opaque import Congruence
from prism_explore.entry.equivalence.sides import Code
from prism_explore.errors import PrismError
from prism_explore.frontend.export import Exported, TracedResults, exported, traced_results
from prism_explore.ir.graph import SGraph, fresh_name, needed_by
from prism_explore.ir.interpreter.reference import Array
from prism_explore.ir.ops import Input, Node, Permute
from prism_explore.ir.program import TensorProgram
from prism_explore.ir.tensors import INTEGERS, DType, TensorType

AS_NUMBER = "_as_number"
"""The end of the name of the second input for integers that are read as positions and as numbers."""


@dataclass(frozen=True, slots=True)
class Programs:
    """Both sides of one result as graphs with equal inputs, as far as they could be translated."""

    left: TensorProgram | SGraph | str
    right: TensorProgram | SGraph | str
    lines: tuple[Sequence[str], Sequence[str]] = ((), ())
    """For each node the line of code that it comes from."""
    opaque: tuple[str, ...] = ()
    """Operators whose results are free inputs of both graphs."""
    opaque_conditions: tuple[str, ...] = ()
    """Conditions under which the operands of these operators were proved equal."""

    def inputs_from(self, variables: Mapping[str, Array]) -> dict[str, Array] | None:
        """Both graphs' inputs from the variables; None where they have further ones, as opaque operators do."""
        graphs = [p.graph if isinstance(p, TensorProgram) else p for p in (self.left, self.right)]
        wanted = {i.name: i for graph in graphs if isinstance(graph, SGraph) for i in graph.inputs}
        source = {name: name.removesuffix(AS_NUMBER) if name not in variables else name for name in wanted}
        if any(variable not in variables for variable in source.values()):
            return None
        kept = {name for name, i in wanted.items() if i.type.dtype in INTEGERS}
        given = ((name, variables[variable]) for name, variable in source.items())
        return {name: x if name in kept else np.asarray(x, float) for name, x in given}


class TracedSide:
    """A side as one graph, or why there is none.

    Args:
        side: the torch code.
        variables: the type of each variable, in the order of the programs' inputs.
    """

    def __init__(self, side: Code, variables: Mapping[str, TensorType]) -> None:
        self.side = side
        self._variables = variables
        own = {argument: variables[variable] for argument, variable in side.arguments}
        self.exported: Exported | None = None
        """torch's graph; None where torch makes none."""
        self.results: TracedResults | None = None
        self.failure = ""
        """Why there are no results."""
        try:
            self.exported = exported(side.code, own, side.name)
            self.results = traced_results(self.exported)
        except PrismError as failure:
            self.failure = str(failure)

    @property
    def inputs(self) -> frozenset[tuple[str, DType]]:
        """The variables that are read, each with a dtype that it is read in."""
        if self.results is None:
            return frozenset()
        source = {b.name: self.side.variable_of[b.source] for b in self.results.bindings}
        ops = (n.op for n in self.results.nodes if isinstance(n.op, Input))
        return frozenset((source[op.name], op.type.dtype) for op in ops)

    def program(
        self, numbers: Iterable[int] | None = None, inputs: frozenset[tuple[str, DType]] | None = None
    ) -> TensorProgram:
        """Some results as a program over all variables, without what they do not depend on.

        Args:
            numbers: positions among the results that are tensors or numbers; by default all.
            inputs: what both sides read; by default what this one does.

        Raises:
            PrismError: the side is not translated.
        """
        found, given = self.results, self.exported
        if found is None or given is None:
            raise PrismError(self.failure)
        chosen = range(len(found.positions)) if numbers is None else numbers
        outputs = dict.fromkeys(found.positions[n] for n in chosen)
        place, nodes = self._inputs_of(self.inputs if inputs is None else inputs)
        lines = [""] * len(nodes)
        source = {b.name: (self.side.variable_of[b.source], b.permute) for b in found.bindings}
        moved: dict[int, int] = {}
        for n in sorted(needed_by(found.nodes, outputs)):
            op, args = found.nodes[n].op, tuple(moved[a] for a in found.nodes[n].args)
            if isinstance(op, Input):
                variable, order = source[op.name]
                if not order:
                    moved[n] = place[variable, op.type.dtype]
                    continue
                op, args = Permute(order), (place[variable, op.type.dtype],)
            moved[n] = len(nodes)
            nodes.append(Node(op, args))
            lines.append(found.lines[n])
        first, *further = (moved[n] for n in outputs)
        return TensorProgram(given.name, SGraph(tuple(nodes), first, tuple(further)), tuple(lines))

    def _inputs_of(self, read: frozenset[tuple[str, DType]]) -> tuple[dict[tuple[str, DType], int], list[Node]]:
        """An input per variable, and a further one for integers that are read as positions and as numbers."""
        place: dict[tuple[str, DType], int] = {}
        nodes: list[Node] = []
        taken = set(self._variables)
        for variable, t in self._variables.items():
            given: list[DType] = [dtype for name, dtype in read if name == variable]
            given.sort()
            ways = given or [t.dtype]
            for way, dtype in enumerate(ways):
                place[variable, dtype] = len(nodes)
                name = variable if not way else fresh_name(f"{variable}{AS_NUMBER}", taken)
                nodes.append(Node(Input(name, TensorType(t.dims, dtype))))
        return place, nodes


class TracedSides:
    """Both sides, and their programs one result at a time.

    Args:
        sides: the torch code of both.
        variables: the type of each variable.
        seed: of the prover's trials that tell whether operands of opaque operators are equal.
    """

    def __init__(self, sides: tuple[Code, Code], variables: Mapping[str, TensorType], seed: int) -> None:
        self.each = tuple(TracedSide(side, variables) for side in sides)
        self._variables = variables
        self._seed = seed
        self._congruence: Congruence | str | None = None

    def of_result(self, number: int) -> Programs:
        """Both sides of one result; where rows do not translate a side, operators without a row are unknown functions.

        Args:
            number: the position among the results that are tensors or numbers.
        """
        if all(side.results is not None for side in self.each):
            read = frozenset[tuple[str, DType]]().union(*(side.inputs for side in self.each))
            left, right = (side.program((number,), read) for side in self.each)
            return Programs(left, right, (left.lines, right.lines))
        if self._congruence is None:
            self._congruence = self._unknown_functions()
        if isinstance(self._congruence, str):
            why = self._congruence
            left, right = (why if side.failure else side.program((number,)) for side in self.each)
            return Programs(left, right)
        left, right = self._congruence.programs(number)
        lines = tuple(() if isinstance(p, str) else p.lines for p in (left, right))
        conditions = self._congruence.conditions
        return Programs(left, right, (lines[0], lines[1]), self._congruence.operators(number), conditions)

    def _unknown_functions(self) -> Congruence | str:
        """Both sides over unknown functions, or why not."""
        given = [(side.side, side.exported) for side in self.each if side.exported is not None]
        if len(given) < len(self.each):
            return next(side.failure for side in self.each if side.exported is None)
        try:
            return Congruence(given, self._variables, self._seed)
        except PrismError as failure:
            return str(failure)
