"""Formulas of elementwise functions: parsed from texts such as `x * sigmoid(x)`, and evaluated with any operators."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias, TypeVar

from prism_explore.support.caches import memoize


@dataclass(frozen=True, slots=True)
class Name:
    """The argument `x`, or a parameter."""

    name: str


@dataclass(frozen=True, slots=True)
class Number:
    """An exact rational."""

    value: Fraction


@dataclass(frozen=True, slots=True)
class Apply:
    """`add`, `sub`, `mul`, `div`, `neg`, `pow`, or a function by its name."""

    fn: str
    args: tuple[Formula, ...]


Formula: TypeAlias = Name | Number | Apply
_T = TypeVar("_T")
_OPERATORS: Mapping[type[ast.operator], str] = {
    ast.Add: "add",
    ast.Sub: "sub",
    ast.Mult: "mul",
    ast.Div: "div",
    ast.Pow: "pow",
}


@memoize(1024)
def formula(text: str) -> Formula:
    """The formula of a text such as `1/2 * x * (1 + erf(x / sqrt(2)))`; numbers are exact.

    Raises:
        ValueError: the text has more than names, numbers, arithmetic and calls.
    """
    return _formula(ast.parse(text, mode="eval").body, text)


def _formula(node: ast.expr, text: str) -> Formula:
    match node:
        case ast.Name(name):
            return Name(name)
        case ast.Constant(int() | float()):
            return Number(Fraction(ast.get_source_segment(text, node) or repr(node.value)))
        case ast.UnaryOp(ast.USub(), inner):
            a = _formula(inner, text)
            return Number(-a.value) if isinstance(a, Number) else Apply("neg", (a,))
        case ast.BinOp(left, operator, right) if type(operator) in _OPERATORS:
            a, b, fn = _formula(left, text), _formula(right, text), _OPERATORS[type(operator)]
            if fn == "div" and isinstance(a, Number) and isinstance(b, Number):
                return Number(a.value / b.value)
            return Apply(fn, (a, b))
        case ast.Call(ast.Name(fn), args, []):
            return Apply(fn, tuple(_formula(a, text) for a in args))
        case _:
            raise ValueError(f"no formula: {text}")


def evaluate(
    f: Formula,
    names: Mapping[str, _T],
    number: Callable[[Fraction], _T],
    apply: Callable[[str, tuple[_T, ...]], _T],
) -> _T:
    """The value of a formula.

    Args:
        f: the formula.
        names: values of its argument and parameters.
        number: the value of a rational.
        apply: the value of an operator or function, by its name, of the values of its operands.
    """
    match f:
        case Name(name):
            return names[name]
        case Number(value):
            return number(value)
        case Apply(fn, args):
            return apply(fn, tuple(evaluate(a, names, number, apply) for a in args))


def functions(f: Formula) -> frozenset[str]:
    """The names of all operators and functions in a formula."""
    match f:
        case Apply(fn, args):
            return frozenset((fn,)).union(*map(functions, args))
        case Name() | Number():
            return frozenset()


def without_quotients(f: Formula) -> Formula:
    """The formula with `add`, `mul` and `inv` alone for `sub`, `neg` and `div`: `1 - 2 / y` is `1 + (-2) * inv(y)`."""
    if not isinstance(f, Apply):
        return f
    args = tuple(map(without_quotients, f.args))
    match f.fn, args:
        case "neg", (a,):
            return _times(Number(Fraction(-1)), a)
        case "sub", (a, b):
            return Apply("add", (a, _times(Number(Fraction(-1)), b)))
        case "div", (a, b):
            return _times(a, Apply("inv", (b,)))
        case fn, _:
            return Apply(fn, args)


def _times(a: Formula, b: Formula) -> Formula:
    match a, b:
        case Number(x), Number(y):
            return Number(x * y)
        case Number(x), _ if x == 1:
            return b
        case Number(x), Apply("mul", (Number(y), rest)):
            return _times(Number(x * y), rest)
        case _:
            return Apply("mul", (a, b))
