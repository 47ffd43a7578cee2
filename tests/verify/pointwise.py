"""What a normal form means, by brute force: every sum is run, every index is a number.

Shares nothing with the rules: a second truth beside the interpreter.
"""

from __future__ import annotations

from itertools import product
from math import exp, sqrt, tanh

import numpy as np

from prism_explore.verify.index import evaluate_index
from prism_explore.verify.normal_form import (
    Atom,
    Exp,
    Group,
    NormalForm,
    Number,
    Opaque,
    Prime,
    Read,
    Size,
    Term,
)

FUNCTIONS = {
    "silu": lambda x: x / (1 + exp(-x)),
    "sigmoid": lambda x: 1 / (1 + exp(-x)),
    "relu": lambda x: max(x, 0.0),
    "tanh": tanh,
    "sqrt": lambda x: sqrt(x) if x >= 0 else float("nan"),
}


class TooLong(Exception):
    """More products than a test should wait for."""


class Meaning:
    """Values of normal forms at given sizes and inputs."""

    def __init__(self, sizes: dict[str, int], inputs: dict[str, np.ndarray], limit: int = 60_000) -> None:
        self.sizes = sizes
        self.inputs = inputs
        self.left = limit
        self._known: dict[tuple[str, tuple[tuple[str, int], ...]], float] = {}

    def form(self, n: NormalForm, at: dict[str, int]) -> float:
        return sum((float(c) * self.term(t, at) for t, c in n.terms), 0.0)

    def term(self, t: Term, at: dict[str, int]) -> float:
        total = 0.0
        for where in product(*(range(v.extent.value(self.sizes)) for v in t.bound)):
            self.left -= 1
            if self.left < 0:
                raise TooLong
            here = {**at, **{v.name: i for v, i in zip(t.bound, where, strict=True)}}
            value = 1.0
            for a, e in t.factors:
                value *= power(self.atom(a, here), e)
            total += value
        return total

    def atom(self, a: Atom, at: dict[str, int]) -> float:
        match a:
            case Read(tensor, indices):
                return float(self.inputs[tensor][tuple(evaluate_index(i, at, self.sizes) for i in indices)])
            case Size(symbol):
                return float(self.sizes[symbol])
            case Prime(value):
                return float(value)
            case _:
                pass
        memo = (a.key, tuple(sorted((v, at[v]) for v in a.free)))
        if memo not in self._known:
            match a:
                case Exp(term):
                    self._known[memo] = exp(self.term(term, at))
                case Group(inner):
                    self._known[memo] = self.form(inner, at)
                case Opaque(function, (arg,)):
                    self._known[memo] = FUNCTIONS[function](self.form(arg, at))
                case _:
                    raise AssertionError(a)
        return self._known[memo]


def power(x: float, e: Number) -> float:
    """With 1/0 = 0, and x^0 = 1 only where x is not 0."""
    if x == 0:
        return 0.0
    if x < 0 and e != int(e):
        return float("nan")
    return float(x) ** float(e)
