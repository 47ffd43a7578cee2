"""A backtracking solver: positive integers that satisfy equations between products and sums."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from math import isqrt, lcm, prod
from typing import Literal

from prism_explore.verify.shapes.constraints import Equation

MOST_TRIES = 500
"""Assignments tried per problem: about 10 ms."""


class Solver:
    """Values for variables, tried in order; a variable that an equation determines is assigned at once."""

    def __init__(
        self,
        equations: tuple[Equation, ...],
        least: Mapping[int, int],
        apart: frozenset[int],
        loose: Collection[int],
        largest: int,
        accepts: Callable[[Mapping[int, int]], bool],
    ) -> None:
        self.equations = equations
        self.least, self.apart, self.loose = least, apart, loose
        self.largest, self.accepts = largest, accepts
        self.touching: dict[int, list[int]] = {}
        for n, (_, left, right) in enumerate(self.equations):
            for root in {*left, *right}:
                self.touching.setdefault(root, []).append(n)
        self.values: dict[int, int] = {}
        self.tries = 0

    def put_all(self, numbers: Iterable[tuple[int, int]]) -> bool:
        """Assign values and their consequences; whether they are consistent."""
        return all(self.put(root, number, []) for root, number in numbers)

    def put(self, root: int, number: int, trail: list[int]) -> bool:
        """Assign a value and its consequences, which are added to the trail; whether they are consistent."""
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
            if root in self.apart and any(self.values.get(r) == number for r in self.apart):
                return False
            self.values[root] = number
            trail.append(root)
            for n in self.touching.get(root, ()):
                follows = self._follows(self.equations[n])
                if follows is False:
                    return False
                if follows is not None:
                    pending.append(follows)
        return True

    def _follows(self, equation: Equation) -> tuple[int, int] | Literal[False] | None:
        """The variable that an equation determines and its value; False for a contradiction; None if there is none."""
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
            ours, theirs = sum(values.get(r, 0) for r in left), sum(values.get(r, 0) for r in right)
            if not missing:
                return None if ours == theirs else False
            times = len(open_left) + len(open_right)
            number, rest = divmod(theirs - ours if open_left else ours - theirs, times)
            return False if rest or number < 1 else (missing.pop(), number)
        ours, theirs = prod(values.get(r, 1) for r in left), prod(values.get(r, 1) for r in right)
        if not missing:
            return None if ours == theirs else False
        number, rest = divmod(theirs, ours) if open_left else divmod(ours, theirs)
        if len(open_left) + len(open_right) == 2 and not rest:
            root = isqrt(number)
            number, rest = root, number - root * root
        elif len(open_left) + len(open_right) > 2:
            return None
        return False if rest or number < 1 else (missing.pop(), number)

    def step(self, root: int, above: tuple[int, ...] = ()) -> int:
        """The number that a variable's value must be a multiple of, because of its factors."""
        found = 1
        for n in self.touching.get(root, ()):
            kind, left, right = self.equations[n]
            if kind == "product" and left == (root,) and root not in above:
                parts = (self.values.get(r) or self.step(r, (*above, root)) for r in right)
                found = lcm(found, prod(parts))
        return found

    def most(self, root: int) -> int:
        """The largest value of a variable, because of the products that it is a factor of."""
        found = self.largest
        for n in self.touching.get(root, ()):
            kind, left, right = self.equations[n]
            if kind == "product" and root in right and all(r in self.values for r in left):
                found = min(found, prod(self.values[r] for r in left))
        return found

    def solve(self, order: Sequence[tuple[int, Sequence[int]]]) -> bool:
        """Choose for each variable of `order` one of its values, times its step; whether this was possible.

        Variables that share an equation with an assigned axis come first, so that a wrong choice fails early.
        """
        left = [entry for entry in order if entry[0] not in self.values]
        if not left:
            return self.accepts(self.values)
        root, choices = next((entry for entry in left if self._is_constrained(entry[0])), left[0])
        step, most = self.step(root), self.most(root)
        for number in choices:
            if step * number > most:
                continue
            self.tries += 1
            if self.tries > MOST_TRIES:
                return False
            trail: list[int] = []
            if self.put(root, step * number, trail) and self.solve(left):
                return True
            for r in trail:
                del self.values[r]
        return False

    def _is_constrained(self, root: int) -> bool:
        return any(
            r in self.values and r not in self.loose
            for n in self.touching.get(root, ())
            for r in (*self.equations[n][1], *self.equations[n][2])
        )
