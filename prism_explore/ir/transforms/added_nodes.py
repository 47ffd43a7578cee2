"""Operators that a transform adds to a program in place of one of them, each of them once."""

from __future__ import annotations

from prism_explore.ir.graph import replace_node
from prism_explore.ir.ops import Node
from prism_explore.ir.program import TensorProgram


class AddedNodes:
    """The operators of a program, and those that are added to replace the one at a position."""

    def __init__(self, program: TensorProgram, position: int) -> None:
        """Nothing is added yet.

        Args:
            program: the program.
            position: of the operator to replace; what is added reads none after it.
        """
        self._old, self._position = program, position
        self.nodes = list(program.graph.nodes)
        """Those of the program, and what was added."""
        self._lines = list(program.lines)
        self._at = {node: n for n, node in reversed([*enumerate(self.nodes[:position])])}

    def append(self, node: Node, origin: int) -> int:
        """Add an operator unless the same one is there.

        Args:
            node: the operator with its operands.
            origin: the position of the operator whose line of code it gets.

        Returns:
            Its position.
        """
        if node not in self._at:
            self._at[node] = len(self.nodes)
            self.nodes.append(node)
            if self._lines:
                self._lines.append(self._lines[origin])
        return self._at[node]

    def program(self, result: int) -> TensorProgram:
        """The program with the operator replaced.

        Args:
            result: the position of what replaces it.
        """
        graph = self._old.graph
        replaced, kept = replace_node(graph, self.nodes[len(graph.nodes) :], self._position, result)
        lines = tuple(self._lines[p] for p in kept) if self._lines else ()
        return TensorProgram(self._old.name, replaced, lines)
