# pyright: basic
# sympy is only partly typed, so this module is checked in basic mode.
"""Ranges of symbols as a user writes them, such as "b <= 64" or "8 <= b < 65", solved by sympy.

Input is text; output is the least and the largest value per symbol, as in `ranges={"b": (8, 64)}`. Each constraint is
about one symbol, so the ranges of several symbols are independent.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import Any

from prism_explore.errors import ShapeError

_EXAMPLE = "such as ranges='b <= 64' or ranges=['8 <= b <= 64', '2*c == 8']"
_ARITHMETIC = (ast.Add, ast.Sub, ast.Mult, ast.Div)


def ranges_from_text(constraints: str | Iterable[str]) -> dict[str, tuple[int, int]]:
    """The least and the largest value of each symbol.

    Args:
        constraints: one text or several; commas separate constraints within a text.

    Returns:
        Per symbol a range, as `Session(ranges=...)` takes it.

    Raises:
        ShapeError: a text is not a constraint on one symbol, or a symbol has no value or no upper bound.

    Example:
        >>> ranges_from_text("8 <= b < 65, 2*c <= 9")
        {'b': (8, 64), 'c': (1, 4)}
    """
    texts = [constraints] if isinstance(constraints, str) else list(constraints)
    by_symbol: dict[str, list[Any]] = {}
    if wrong := [each for each in texts if not isinstance(each, str)]:
        raise ShapeError(
            f"ranges= takes two numbers per symbol, such as ranges={{'b': (1, 64)}}; found {wrong[0]!r}. It also "
            f"takes constraints, {_EXAMPLE}"
        )
    for text in (part.strip() for each in texts for part in each.split(",")):
        for symbol, relation in _relations(text):
            by_symbol.setdefault(symbol, []).append(relation)
    return {symbol: _bounds(symbol, relations) for symbol, relations in by_symbol.items()}


def _relations(text: str) -> Iterator[tuple[str, Any]]:
    try:
        parsed = ast.parse(text, mode="eval").body
    except SyntaxError:
        raise ShapeError(f"{text!r} is not a constraint, {_EXAMPLE}") from None
    if not isinstance(parsed, ast.Compare):
        raise ShapeError(f"{text!r} is not a comparison, {_EXAMPLE}")
    import sympy

    sides = [_expression(side, text) for side in (parsed.left, *parsed.comparators)]
    for left, operator, right in zip(sides, parsed.ops, sides[1:], strict=False):
        symbols = sorted({str(s) for s in (left - right).free_symbols})
        if len(symbols) != 1:
            raise ShapeError(f"{text!r} has {', '.join(symbols) or 'no symbol'}; a constraint has one symbol")
        match operator:
            case ast.LtE():
                relation = sympy.Le(left, right)
            case ast.Lt():
                relation = sympy.Lt(left, right)
            case ast.GtE():
                relation = sympy.Ge(left, right)
            case ast.Gt():
                relation = sympy.Gt(left, right)
            case ast.Eq():
                relation = sympy.Eq(left, right)
            case _:
                raise ShapeError(f"{text!r}: a constraint uses <=, <, >=, > or ==, {_EXAMPLE}")
        yield symbols[0], relation


def _expression(node: ast.expr, text: str) -> Any:
    import sympy

    match node:
        case ast.Name(id=name):
            return sympy.Symbol(name, real=True)
        case ast.Constant(value=int(value)):
            return sympy.Integer(value)
        case ast.BinOp(left=left, op=op, right=right) if isinstance(op, _ARITHMETIC):
            one, other = _expression(left, text), _expression(right, text)
            match op:
                case ast.Add():
                    return one + other
                case ast.Sub():
                    return one - other
                case ast.Mult():
                    return one * other
                case _:
                    return one / other
        case _:
            raise ShapeError(f"{text!r}: a size has only symbols, whole numbers and + - * /, {_EXAMPLE}")


def _bounds(symbol: str, relations: list[Any]) -> tuple[int, int]:
    import sympy

    text = " and ".join(map(str, relations))
    values: Any = sympy.Interval(1, sympy.oo)
    for relation in relations:
        values = values.intersect(sympy.solve_univariate_inequality(relation, sympy.Symbol(symbol, real=True), False))
    if not isinstance(values, sympy.Interval | sympy.FiniteSet | sympy.sets.sets.EmptySet):
        raise ShapeError(f"{text}: its solutions for {symbol} are not one range")
    integers: Any = values.intersect(sympy.S.Integers)
    if integers.is_empty:
        raise ShapeError(f"{text}: no whole number from 1 on satisfies it")
    if not values.sup.is_finite:
        raise ShapeError(f"{text}: {symbol} has no largest value; add one, such as '{symbol} <= 1024'")
    return int(sympy.ceiling(integers.inf)), int(sympy.floor(integers.sup))
