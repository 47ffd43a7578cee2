"""Trials of a row's soundness, generated from the row: both sides are evaluated for random functions.

`holds` bends random functions until the row's side conditions are true of them, and compares both sides as numbers.
`follows` does so for a row of `CONDITIONS`. A trial that fails refutes the row; that many pass is evidence, no proof.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np

from prism_explore.ir.elementwise import UNARY
from prism_explore.verify.axioms import Axiom, Condition
from prism_explore.verify.checker.evaluation import inverse
from prism_explore.verify.checker.parser import Tree, parse

SHAPE = {"j": 2, "outer": 2, "inner": 3, "i": 6}
"""Functions of four coordinates, as arrays; k is the pair of the second and the third, and as long as i."""
WHERE = {"j": (0,), "outer": (1,), "inner": (2,), "k": (1, 2), "i": (3,)}


class World:
    """Random functions for the variables of a row, bent until its conditions hold."""

    def __init__(self, seed: int) -> None:
        self.random = np.random.default_rng(seed)
        self.values: dict[str, np.ndarray] = {}
        self.numbers: dict[str, Fraction] = {}

    def value(self, name: str) -> np.ndarray:
        if name not in self.values:
            made = self.random.uniform(-2, 2, tuple(SHAPE.values()))
            made[self.random.random(made.shape) < 0.2] = 0.0
            self.values[name] = made
        return self.values[name]

    def number(self, name: str) -> Fraction:
        return self.numbers.setdefault(
            name, Fraction(int(self.random.integers(-6, 7)), int(self.random.integers(1, 5)))
        )

    def bend(self, fact: str) -> None:
        match parse(fact):
            case ("independent", str(a), str(k)):
                self.values[a] = np.broadcast_to(self.value(a).mean(axis=WHERE[k], keepdims=True), self.value(a).shape)
            case ("bit", str(a)):
                self.values[a] = (self.value(a) > 0) * 1.0
            case ("nonnegative", str(a)):
                everywhere = self.random.random((2, 1, 1, 6)) < 0.7  # elsewhere it is 0 for all k
                self.values[a] = np.abs(self.value(a)) * everywhere
            case ("positive", str(a)):
                self.values[a] = np.abs(self.value(a)) + 0.1
            case ("nonzero", str(a)):
                self.values[a] = np.where(self.value(a) == 0, 0.7, self.value(a))
            case ("extent", str(k), str(n)):
                self.values[n] = np.full(
                    tuple(SHAPE.values()), float(np.prod([self.value("j").shape[d] for d in WHERE[k]]))
                )
            case ("=", str(r), ("sqrt", str(p))):
                self.numbers[r] = abs(self.number(r))
                self.numbers[p] = self.numbers[r] ** 2
            case ("!=", str(p), _):
                self.numbers[p] = self.number(p) or Fraction(1)
            case (">=", str(p), str(q)):
                self.numbers[p] = self.number(q) + abs(self.number(p))
            case ("<=", str(p), _):
                self.numbers[p] = -abs(self.number(p))
            case (">" | ">=", str(p), _):
                self.numbers[p] = abs(self.number(p)) + 1
            case ("digits" | "elsewhere", *_) | ("axis" | "inhabited", _):
                pass
            case other:
                raise AssertionError(f"no random instance for {other}")

    def rational(self, e: Tree) -> Fraction:
        match e:
            case str():
                return self.number(e)
            case ("bigrat", ("from-string", str(a)), ("from-string", str(b))):
                return Fraction(int(a.strip('"')), int(b.strip('"')))
            case ("+", a, b):
                return self.rational(a) + self.rational(b)
            case ("*", a, b):
                return self.rational(a) * self.rational(b)
            case ("/", a, b):
                return self.rational(a) / self.rational(b)
            case other:
                raise AssertionError(other)

    def of(self, e: Tree) -> np.ndarray:
        match e:
            case str():
                return self.value(e)
            case ("Num", p):
                return np.full(tuple(SHAPE.values()), float(self.rational(p)))
            case ("Size", _):
                return np.full(tuple(SHAPE.values()), 3.0)
            case ("Add", a, b):
                return self.of(a) + self.of(b)
            case ("Mul", a, b):
                return self.of(a) * self.of(b)
            case ("Inv", a):
                return inverse(self.of(a))
            case ("Sqrt", a):
                value = self.of(a)  # where it is negative, some number with √(a b) = √a √b for a > 0
                return np.where(value >= 0, 1.0, 1.7) * np.sqrt(np.abs(value))
            case ("Exp", a):
                return np.exp(self.of(a))
            case ("Call", '"sigmoid"', a):
                return 1 / (1 + np.exp(-self.of(a)))
            case ("Call", '"silu"', a):
                return self.of(a) / (1 + np.exp(-self.of(a)))
            case ("Call", '"relu"', a):
                return np.maximum(self.of(a), 0)
            case ("Call", str(fn), a) if fn.strip('"') in UNARY:
                return UNARY[fn.strip('"')].numpy(self.of(a))
            case ("Call", _, a):  # any function
                return np.cos(self.of(a)) + 2
            case ("Within" | "Near", str(i)):
                return (self.value(i) > 0) * 1.0
            case ("Bottom", a):
                return np.where(self.of(a) != 0, 0.0, -1e9)
            case ("Greater", a, b):
                return np.maximum(self.of(a), self.of(b))
            case ("Most", str(k), a):
                value = self.of(a)
                return np.broadcast_to(value.max(axis=WHERE[k], keepdims=True), value.shape)
            case ("Upto", "k", "i", a):
                place = np.arange(6).reshape(1, 2, 3, 1)
                value = np.where(place <= np.arange(6).reshape(1, 1, 1, 6), self.of(a), -np.inf)
                return np.broadcast_to(value.max(axis=(1, 2), keepdims=True), value.shape)
            case ("Upto", "j", "i", a):
                value = np.where(np.arange(2).reshape(2, 1, 1, 1) <= np.arange(6), self.of(a), -np.inf)
                return np.broadcast_to(value.max(axis=0, keepdims=True), value.shape)
            case ("Rescaled", str(k), a, b):
                weight, scale = (np.moveaxis(self.of(x), WHERE[k], tuple(range(len(WHERE[k])))) for x in (a, b))
                rest = weight.shape[len(WHERE[k]) :]
                weight, scale = weight.reshape(-1, *rest), scale.reshape(-1, *rest)
                total = weight[0]
                for n in range(1, len(weight)):
                    total = total * np.exp(scale[n - 1] - scale[n]) + weight[n]
                return np.broadcast_to(np.expand_dims(total, WHERE[k]), tuple(SHAPE.values()))
            case ("Sum", str(k), a):
                value = self.of(a)
                return np.broadcast_to(value.sum(axis=WHERE[k], keepdims=True), value.shape)
            case other:
                raise AssertionError(other)


def holds(row: Axiom, seed: int) -> bool:
    world = World(seed)
    for fact in row.conditions:
        world.bend(fact)
    return np.allclose(world.of(parse(row.left)), world.of(parse(row.right)), rtol=1e-9, atol=1e-12)


FACTS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "positive": lambda x: x > 0,
    "nonnegative": lambda x: x >= 0,
    "nonzero": lambda x: x != 0,
    "bit": lambda x: (x == 0) | np.isclose(x, 1, rtol=1e-12),
}


def follows(row: Condition, seed: int) -> bool:
    world = World(seed)
    definition = next((g for g in row.premises if g.startswith("(= e ")), None)
    for fact in row.premises:
        if fact != definition:
            world.bend(fact)
    if definition is not None:
        match parse(definition):
            case ("=", "e", made):
                world.values["e"] = world.of(made)
            case other:
                raise AssertionError(other)
    match parse(row.conclusion):
        case ("independent", str(e), str(k)):
            value = world.value(e)
            return np.allclose(value, value.mean(axis=WHERE[k], keepdims=True), rtol=1e-9, atol=1e-12, equal_nan=True)
        case (str(fact), str(e)):
            return bool(np.all(FACTS[fact](world.value(e))))
        case other:
            raise AssertionError(other)
