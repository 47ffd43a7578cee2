"""A backtracking solver for equations between products and sums of positive integers."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from math import isqrt, lcm, prod
from typing import Literal

from prism_explore.verify.shapes.constraints import Equation

MAX_TRIES = 500
"""The largest number of assignments per problem: about 10 ms."""


class Solver:
    """Values of variables; each assignment is propagated to the variables that equations then determine."""

    def __init__(
        self,
        equations: tuple[Equation, ...],
        least: Mapping[int, int],
        distinct: frozenset[int],
        loose: Collection[int],
        largest: int,
        accepts: Callable[[Mapping[int, int]], bool],
    ) -> None:
        self.equations = equations
        self.least, self.distinct, self.loose = least, distinct, loose
        self.largest, self.accepts = largest, accepts
        self.equations_of: dict[int, list[int]] = {}
        for n, (_, left, right) in enumerate(self.equations):
            for root in {*left, *right}:
                self.equations_of.setdefault(root, []).append(n)
        self.values: dict[int, int] = {}
        self.tries = 0

    def assign_all(self, numbers: Iterable[tuple[int, int]]) -> bool:
        """Assign values and propagate; returns whether they are consistent."""
        return all(self.assign(root, number, []) for root, number in numbers)

    def assign(self, root: int, number: int, trail: list[int]) -> bool:
        """Assign a value and propagate; the trail gets all assigned variables. Returns whether this is consistent."""
        pending = [(root, number)]
        while pending:
            root, number = pending.pop()
            known = self.values.get(root)
            if known is not None:
                if known != number:
                    return False
                continue
            if number < self.least.get(root, 1):
                return False
            if root in self.distinct and any(self.values.get(r) == number for r in self.distinct):
                return False
            self.values[root] = number
            trail.append(root)
            for n in self.equations_of.get(root, ()):
                follows = self._follows(self.equations[n])
                if follows is False:
                    return False
                if follows is not None:
                    pending.append(follows)
        return True

    def _follows(self, equation: Equation) -> tuple[int, int] | Literal[False] | None:
        """The variable that an equation determines, and its value; None if there is none, False for a contradiction."""
        kind, left, right = equation
        values = self.values
        open_left, open_right = [r for r in left if r not in values], [r for r in right if r not in values]
        missing = {*open_left, *open_right}
        if len(missing) > 1 or (open_left and open_right):
            if kind == "product" and not open_left and len(missing) > 1:
                whole, done = prod(values[r] for r in left), prod(values[r] for r in right if r in values)
                return None if whole % done == 0 else False
            return None
        if kind == "sum":
            left_value, right_value = sum(values.get(r, 0) for r in left), sum(values.get(r, 0) for r in right)
            if not missing:
                return None if left_value == right_value else False
            times = len(open_left) + len(open_right)
            number, rest = divmod(right_value - left_value if open_left else left_value - right_value, times)
            return False if rest or number < 1 else (missing.pop(), number)
        left_value, right_value = prod(values.get(r, 1) for r in left), prod(values.get(r, 1) for r in right)
        if not missing:
            return None if left_value == right_value else False
        number, rest = divmod(right_value, left_value) if open_left else divmod(left_value, right_value)
        if len(open_left) + len(open_right) == 2 and not rest:
            root = isqrt(number)
            number, rest = root, number - root * root
        elif len(open_left) + len(open_right) > 2:
            return None
        return False if rest or number < 1 else (missing.pop(), number)

    def required_factor(self, root: int, above: tuple[int, ...] = ()) -> int:
        """A number of which the value of a variable must be a multiple, because of its factors."""
        found = 1
        for n in self.equations_of.get(root, ()):
            kind, left, right = self.equations[n]
            if kind == "product" and left == (root,) and root not in above:
                parts = (self.values.get(r) or self.required_factor(r, (*above, root)) for r in right)
                found = lcm(found, prod(parts))
        return found

    def largest_value(self, root: int) -> int:
        """The largest value of a variable, because of the products in which it is a factor."""
        found = self.largest
        for n in self.equations_of.get(root, ()):
            kind, left, right = self.equations[n]
            if kind == "product" and root in right and all(r in self.values for r in left):
                found = min(found, prod(self.values[r] for r in left))
        return found

    def solve(self, order: Sequence[tuple[int, Sequence[int]]]) -> bool:
        """Choose a value for each variable of `order`, in multiples of its required factor; returns whether it could.

        Variables in an equation with an assigned axis come first, so that a wrong choice fails early.
        """
        left = [entry for entry in order if entry[0] not in self.values]
        if not left:
            return self.accepts(self.values)
        root, choices = next((entry for entry in left if self._is_constrained(entry[0])), left[0])
        step, most = self.required_factor(root), self.largest_value(root)
        for number in choices:
            if step * number > most:
                continue
            self.tries += 1
            if self.tries > MAX_TRIES:
                return False
            trail: list[int] = []
            if self.assign(root, step * number, trail) and self.solve(left):
                return True
            for r in trail:
                del self.values[r]
        return False

    def _is_constrained(self, root: int) -> bool:
        return any(
            r in self.values and r not in self.loose
            for n in self.equations_of.get(root, ())
            for r in (*self.equations[n][1], *self.equations[n][2])
        )
