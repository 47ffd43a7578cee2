# pyright: basic
# Symbolic sizes are objects of torch, with expressions of sympy, which have no types.
"""Symbolic sizes of a region: which sizes of its tensors are symbols of its program, and what follows from them.

torch has each size that may vary as an expression. Each different expression among the sizes of the region's inputs
becomes a symbol. Symbols are independent of each other, so the program is at least as general as the region. A number
that the region reads is computed in its program where it is a polynomial of such sizes.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

from prism_explore.ir.dims import Dim, dim


@dataclass(frozen=True, slots=True)
class OpenSizes:
    """The symbolic sizes of a region's tensors."""

    names: Mapping[Any, str]
    """The symbol of each expression."""
    places: Mapping[str, tuple[int, int]]
    """Per symbol, a tensor that has this size, by its number, and the dim."""
    at: Mapping[str, int]
    """The values in the call at which torch compiles."""

    @classmethod
    def of(cls, shapes: Sequence[Sequence[Any]]) -> OpenSizes:
        """The symbolic ones among sizes.

        Args:
            shapes: per tensor its sizes, integers or torch's symbolic integers.
        """
        names: dict[Any, str] = {}
        places: dict[str, tuple[int, int]] = {}
        at: dict[str, int] = {}
        for number, shape in enumerate(shapes):
            for position, size in enumerate(shape):
                expression = expression_of(size)
                if not isinstance(expression, int) and expression not in names:
                    name = names[expression] = f"n{len(names)}"
                    places[name], at[name] = (number, position), size.node.hint
        return cls(names, places, at)

    def __bool__(self) -> bool:
        return bool(self.names)

    def dims(self, shape: Sequence[Any]) -> tuple[Dim, ...]:
        """The dims of a tensor in the program.

        Args:
            shape: its sizes, as they were given to `of`.
        """
        found = (expression_of(n) for n in shape)
        return tuple(dim(e if isinstance(e, int) else self.names[e]) for e in found)

    def computed(self, number: Any, size: Callable[[str], Any], apply: Callable[..., Any]) -> Any:
        """A number that the region reads, made of sizes; None where it is no polynomial of them.

        Args:
            number: a symbolic integer.
            size: what stands for the size with this symbol.
            apply: applies `operator.add` or `operator.mul` to two of those.
        """
        expression = expression_of(number)
        if isinstance(expression, int) or not self._is_polynomial(expression):
            return None
        return self._computed(expression, size, apply)

    def _is_polynomial(self, expression: Any) -> bool:
        if expression in self.names or expression.is_Integer:
            return True
        if expression.is_Pow:
            return bool(expression.exp.is_Integer and expression.exp > 0) and self._is_polynomial(expression.base)
        return bool(expression.is_Add or expression.is_Mul) and all(map(self._is_polynomial, expression.args))

    def _computed(self, expression: Any, size: Callable[[str], Any], apply: Callable[..., Any]) -> Any:
        if expression in self.names:
            return size(self.names[expression])
        if expression.is_Integer:
            return int(expression)
        function = operator.add if expression.is_Add else operator.mul
        parts = [expression.base] * int(expression.exp) if expression.is_Pow else expression.args
        return reduce(lambda a, b: apply(function, a, b), (self._computed(e, size, apply) for e in parts))

    def __str__(self) -> str:
        return ", ".join(f"{name}={n}" for name, n in self.at.items())


def expression_of(size: Any) -> Any:
    """An integer, or the expression of a symbolic one."""
    if not hasattr(size, "node"):
        return size
    expression = size.node.expr
    return int(expression) if expression.is_Integer else expression
