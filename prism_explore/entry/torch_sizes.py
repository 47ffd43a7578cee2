# pyright: basic
# Symbolic sizes are objects of torch, with expressions of sympy, which have no types.
"""Symbolic sizes of a region: which sizes of its tensors are symbols of its program, and what follows from them.

torch has each size that may vary as an expression. Expressions among the sizes of the region's inputs that are linear
in one and the same term, such as `s` and `1 + s` of a growing cache, are sizes `n` and `1 + n`; any other one becomes a
symbol of its own. Symbols are independent of each other, so the program is at least as general as the region. Where
there is no such program, as for keys and values of two caches whose sizes torch does not know to be equal, sizes that
are equal in the call at which torch compiles are one symbol; a call where they differ runs torch. A number that the
region reads is computed in its program where it is a polynomial of such sizes.
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

    sizes: Mapping[Any, Dim]
    """Per expression, the size in the program."""
    terms: Mapping[Any, Dim]
    """The terms that expressions are linear in, as sizes; what is not here is no size of the region."""
    places: Mapping[str, tuple[int, int]]
    """Per symbol, a tensor that has this size, by its number, and the dim."""
    at: Mapping[str, int]
    """The values in the call at which torch compiles."""

    @classmethod
    def of(cls, shapes: Sequence[Sequence[Any]], are_merged: bool = False) -> OpenSizes:
        """The symbolic ones among sizes.

        Args:
            shapes: per tensor its sizes, integers or torch's symbolic integers.
            are_merged: whether sizes that are equal in the call at which torch compiles are one symbol.
        """
        found: dict[Any, tuple[int, tuple[int, int]]] = {}
        for number, shape in enumerate(shapes):
            for position, size in enumerate(shape):
                expression = expression_of(size)
                if not isinstance(expression, int):
                    found.setdefault(expression, (size.node.hint, (number, position)))
        sizes: dict[Any, Dim] = {}
        terms: dict[Any, Dim] = {}
        places: dict[str, tuple[int, int]] = {}
        at: dict[str, int] = {}
        by_hint: dict[int, Dim] = {}
        for expression in sorted(found, key=lambda e: _linear(e).added):  # the smallest of equal terms is the symbol
            linear = _linear(expression)
            size = linear.of(terms[linear.term]) if linear.term in terms else None
            size = by_hint.get(found[expression][0], size) if are_merged else size
            # A size has no symbol with a number taken away: at small values of the symbol it would be none.
            if size is None or any(number < 0 for _, number in size.terms):
                name = f"n{list(found).index(expression)}"
                at[name], places[name] = found[expression]
                size = dim(name)
                if linear.factor == 1:
                    terms.setdefault(linear.term, _plus(size, -linear.added))
            sizes[expression] = by_hint[found[expression][0]] = size
        return cls(sizes, terms, places, at)

    def __bool__(self) -> bool:
        return bool(self.sizes)

    def dims(self, shape: Sequence[Any]) -> tuple[Dim, ...]:
        """The dims of a tensor in the program.

        Args:
            shape: its sizes, as they were given to `of`.
        """
        found = (expression_of(n) for n in shape)
        return tuple(dim(e) if isinstance(e, int) else self.sizes[e] for e in found)

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
        if expression in self.sizes or expression in self.terms or expression.is_Integer:
            return True
        if expression.is_Pow:
            return bool(expression.exp.is_Integer and expression.exp > 0) and self._is_polynomial(expression.base)
        return bool(expression.is_Add or expression.is_Mul) and all(map(self._is_polynomial, expression.args))

    def _computed(self, expression: Any, size: Callable[[str], Any], apply: Callable[..., Any]) -> Any:
        known = self.sizes.get(expression, self.terms.get(expression))
        if known is not None:
            return _of_dim(known, size, apply)
        if expression.is_Integer:
            return int(expression)
        function = operator.add if expression.is_Add else operator.mul
        parts = [expression.base] * int(expression.exp) if expression.is_Pow else expression.args
        return reduce(lambda a, b: apply(function, a, b), (self._computed(e, size, apply) for e in parts))

    def __str__(self) -> str:
        return ", ".join(f"{name}={n}" for name, n in sorted(self.at.items()))


def expression_of(size: Any) -> Any:
    """An integer, or the expression of a symbolic one."""
    if not hasattr(size, "node"):
        return size
    expression = size.node.expr
    return int(expression) if expression.is_Integer else expression


@dataclass(frozen=True, slots=True)
class _Linear:
    """An expression as `factor * term + added`."""

    factor: int
    term: Any
    added: int

    def of(self, term: Dim) -> Dim:
        """Its size where the term has this size."""
        return _plus(self.factor * term, self.added)


def _plus(size: Dim, added: int) -> Dim:
    return size + added if added >= 0 else size - dim(-added)


def _linear(expression: Any) -> _Linear:
    added, rest = expression.as_coeff_Add()
    factor, term = rest.as_coeff_Mul()
    if not (added.is_Integer and factor.is_Integer and factor > 0):
        return _Linear(1, expression, 0)
    return _Linear(int(factor), term, int(added))


def _of_dim(size: Dim, value: Callable[[str], Any], apply: Callable[..., Any]) -> Any:
    """A size that is linear in one symbol, computed of what stands for the symbol."""
    ((symbol,), found) = size.symbols, 0
    for monomial, number in size.terms:
        part: Any = int(number)
        if monomial:
            part = value(symbol) if part == 1 else apply(operator.mul, part, value(symbol))
        found = part if isinstance(found, int) and found == 0 else apply(operator.add, found, part)
    return found
