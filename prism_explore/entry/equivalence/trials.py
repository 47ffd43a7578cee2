"""Random trials of two sides: the first difference at small sizes, and float differences in the declared dtype."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import inf
from time import perf_counter
from typing import Literal

import numpy as np

from prism_explore.entry.equivalence.draws import DRAWS, NORMAL, WIDE, Draw, draw, least_size, sizes_to_try
from prism_explore.entry.equivalence.execution import Leaf, Raised, Ran, rounding_of, run_side
from prism_explore.entry.equivalence.outcome import FloatComparison, Witness
from prism_explore.entry.equivalence.shrink import zero_elements
from prism_explore.entry.equivalence.sides import Code, Graph, Side, Sides
from prism_explore.errors import ShapeError
from prism_explore.ir.interpreter.reference import Array
from prism_explore.ir.tensors import FLOATS, INTEGERS, NAMES, DType

CLEAR_DIFFERENCE = 1e-6
"""Relative to the largest value; in float64 rounding explains less."""
ROUNDINGS = 1e4
"""So many times the rounding error of the least precise dtype that occurs are explained by rounding."""
TIME_LIMIT_S = 3.0
"""No further trial starts after this time."""


DRAWS_OF_NUMBERS = 8
"""How often inputs are drawn from the numbers of the code, at each of the sizes."""


@dataclass(frozen=True, slots=True)
class Difference:
    """A difference of one result in one trial."""

    kind: Literal["value", "not finite"]
    witness: Witness
    sizes: Mapping[str, int]
    how: Draw
    seed: int


@dataclass(slots=True)
class TrialLog:
    """What all trials showed."""

    count: int = 0
    leaves: tuple[Leaf, ...] = ()
    """The results of the left side in the first trial."""
    works_at: list[Mapping[str, int]] = field(default_factory=list[Mapping[str, int]])
    """Sizes at which both sides ran."""
    mismatch: str = ""
    """How the results differ in structure, shape or whether there is one; a sentence."""
    differences: dict[int, Difference] = field(default_factory=dict[int, Difference])
    """The first difference per result."""
    agreeing: list[str] = field(default_factory=list[str])
    """Sizes at which no trial differed."""
    random: str = ""
    """The side whose results differ between two runs on equal inputs."""
    views: set[str] = field(default_factory=set[str])
    """Places of results that share memory with an argument, on either side."""
    notes: dict[str, None] = field(default_factory=dict[str, None])


def show_sizes(sizes: Mapping[str, int]) -> str:
    """Such as `b=2, n=3`."""
    return ", ".join(f"{s}={n}" for s, n in sizes.items()) or "the given sizes"


class Trials:
    """Runs both sides on random inputs."""

    def __init__(self, sides: Sides, seed: int = 0, masks: frozenset[str] = frozenset()) -> None:
        """`masks`: variables that are read as masks, of which about half are drawn as 0."""
        self.sides = sides
        self.log = TrialLog()
        self._seed = seed
        self._masks = masks
        self._below = 0
        """As in `Draw`; 0 until code has taken no others."""
        self._rounding = 0.0
        """Of the least precise dtype in both sides."""
        self._row_differs = False
        """Whether a trial at the current sizes showed a difference."""
        self._own: Mapping[str, DType] = {name: t.dtype for name, t in sides.variables.items()}
        self._dtypes: Mapping[str, DType] | None = None
        self._symbols = tuple(dict.fromkeys(s for t in sides.variables.values() for d in t.dims for s in d.symbols))

    @property
    def symbols(self) -> tuple[str, ...]:
        """The declared symbols."""
        return self._symbols

    def run(self) -> TrialLog:
        """All trials; a result that differs is tried again at smaller sizes.

        Raises:
            ShapeError: a side runs at none of the sizes that were tried.
        """
        start = perf_counter()
        failures: dict[str, str] = {}
        for number, sizes in enumerate(sizes_to_try(self._symbols)):
            self._row_differs = False
            for how in DRAWS:
                if self.log.works_at and perf_counter() - start > TIME_LIMIT_S:
                    break
                if not self._trial(sizes, how, self._seed + number, failures):
                    break
            else:
                if not self._row_differs:
                    self.log.agreeing.append(show_sizes(sizes))
            if self.log.random:
                return self.log
        if not self.log.works_at:
            self._explain_failures(failures)
        self._simplify_all()
        return self.log

    def run_with(self, how: Draw) -> None:
        """More trials, for results of which neither a proof nor a difference is known; they are added to the log."""
        start = perf_counter()
        tried = ((sizes, n) for n in range(DRAWS_OF_NUMBERS) for sizes in sorted(self.log.works_at, key=_total))
        for sizes, n in tried:
            if perf_counter() - start > TIME_LIMIT_S or self.log.random:
                break
            self._trial(sizes, how, self._seed + n, {})
        self._simplify_all()

    def _simplify_all(self) -> None:
        for number, found in list(self.log.differences.items()):
            self.log.differences[number] = self._simplify(number, found)

    def _trial(self, sizes: Mapping[str, int], how: Draw, seed: int, failures: dict[str, str]) -> bool:
        """One trial; False where the sides do not run at these sizes."""
        variables = self.sides.variables
        how = replace(how, below=self._below)
        inputs = draw(variables, sizes, how, seed, self._masks)
        left, right = self._run_both(inputs)
        is_out = isinstance(left, Raised) or isinstance(right, Raised)
        if is_out and not self.log.works_at and (below := self._positions_below(sizes, how, seed)):
            self._below = below
            how = replace(how, below=below)
            inputs = draw(variables, sizes, how, seed, self._masks)
            left, right = self._run_both(inputs)
        match left, right:
            case Ran(), Ran():
                if sizes not in self.log.works_at:
                    self.log.works_at.append(sizes)
                if not self.log.leaves:
                    self._first(left, right, inputs)
                if not self.log.random:
                    self.log.count += 1
                    self._compare(left, right, sizes, how, seed, inputs)
                return not self.log.random
            case _:
                self._note_failure(left, right, sizes, failures)
                return False

    def _positions_below(self, sizes: Mapping[str, int], how: Draw, seed: int) -> int:
        """The number below which integers are positions for both sides, by halves and then by bisection; 0 if none."""
        variables = self.sides.variables
        runs, fails = 0, least_size(variables, sizes) if any(t.dtype in INTEGERS for t in variables.values()) else 0
        while fails - runs > 1:
            below = (runs + fails) // 2
            inputs = draw(variables, sizes, replace(how, below=below), seed, self._masks)
            both_run = all(isinstance(ran, Ran) for ran in self._run_both(inputs))
            runs, fails = (below, fails) if both_run else (runs, below)
        return runs

    def _run_both(self, inputs: Mapping[str, Array]) -> tuple[Ran | Raised, Ran | Raised]:
        """Both sides in float64; in their own dtypes where code insists on these."""
        left, right = (run_side(s, inputs, self._dtypes) for s in (self.sides.left, self.sides.right))
        if self._dtypes is None and (isinstance(left, Raised) or isinstance(right, Raised)):
            again = tuple(run_side(s, inputs, self._own) for s in (self.sides.left, self.sides.right))
            if all(isinstance(r, Ran) for r in again):
                self._dtypes = self._own
                self.log.notes["a side does not run in float64, so the trials ran in the declared dtypes"] = None
            return again[0], again[1]  # where a side raises, it is in what was declared
        return left, right

    def _first(self, left: Ran, right: Ran, inputs: Mapping[str, Array]) -> None:
        """Compare what the first trial tells about both sides: structure, writes, randomness."""
        self.log.leaves = left.leaves
        for side, ran in ((self.sides.left, left), (self.sides.right, right)):
            self._rounding = max(self._rounding, rounding_of(side, inputs, self._dtypes))
            again = run_side(side, inputs, self._dtypes, seed=1)
            if isinstance(again, Ran) and any(
                largest_difference(a.value, b.value) is not None
                for a, b in zip(ran.leaves, again.leaves, strict=True)
                if a.value.shape == b.value.shape
            ):
                self.log.random = side.name
            self.log.views.update(ran.same_as_input)
            if ran.changed:
                self.log.notes[f"{side.name} writes into {', '.join(ran.changed)}; only results are compared"] = None
        if left.structure != right.structure and [leaf.place for leaf in left.leaves] == [
            leaf.place for leaf in right.leaves
        ]:
            self.log.notes[
                f"{self.sides.left.name} returns {left.structure}, {self.sides.right.name} {right.structure}"
            ] = None

    def _compare(
        self, left: Ran, right: Ran, sizes: Mapping[str, int], how: Draw, seed: int, inputs: Mapping[str, Array]
    ) -> None:
        names = (self.sides.left.name, self.sides.right.name)
        places = [[leaf.place for leaf in ran.leaves] for ran in (left, right)]
        if places[0] != places[1] or left.texts != right.texts:
            self.log.mismatch = self.log.mismatch or (
                f"{names[0]} returns {left.structure}, {names[1]} returns {right.structure}"
            )
            return
        for number, (a, b) in enumerate(zip(left.leaves, right.leaves, strict=True)):
            if a.value.shape != b.value.shape:
                where = f"result {a.place}" if a.place else "the result"
                self.log.mismatch = self.log.mismatch or (
                    f"at {show_sizes(sizes)} {where} of {names[0]} has shape {a.value.shape}, "
                    f"and of {names[1]} {b.value.shape}"
                )
                self._row_differs = True
            else:
                found = self._difference(number, left, right, sizes, how, seed, inputs)
                if found is not None:
                    self.log.differences.setdefault(number, found)
                    self._row_differs = True

    def _difference(
        self,
        number: int,
        left: Ran,
        right: Ran,
        sizes: Mapping[str, int],
        how: Draw,
        seed: int,
        inputs: Mapping[str, Array],
    ) -> Difference | None:
        """The difference of one result, unless rounding or overflow explains it."""
        a, b = left.leaves[number].value, right.leaves[number].value
        found = largest_difference(a, b)
        clear = max(CLEAR_DIFFERENCE, ROUNDINGS * self._rounding)
        if found is None or found[1] <= clear or (found[1] == inf and how.extreme):
            return None
        index, relative = found
        has_graph = isinstance(self.sides.left, Graph) or isinstance(self.sides.right, Graph)
        arithmetic = "float64" if self._dtypes is None else "the declared dtypes"
        witness = Witness(
            tuple(sizes.items()),
            f"{how.name}, seed {seed}",
            inputs,
            index,
            (float(a[index]), float(b[index])),
            relative,
            f"torch{' and the interpreter' if has_graph else ''} in {arithmetic}",
        )
        return Difference("not finite" if relative == inf else "value", witness, sizes, how, seed)

    def _simplify(self, number: int, found: Difference) -> Difference:
        """The same difference at the smallest sizes that have one, with as many zeros as possible."""
        for sizes in sorted(sizes_to_try(self._symbols), key=_total):
            if sum(sizes.values()) >= sum(found.sizes.values()):
                break
            inputs = draw(self.sides.variables, sizes, found.how, found.seed, self._masks)
            smaller = self._again(number, found, sizes, inputs)
            if smaller is not None:
                found = smaller
                break
        best = found

        def still_differ(inputs: Mapping[str, Array]) -> bool:
            nonlocal best
            again = self._again(number, found, found.sizes, inputs)
            best = again or best
            return again is not None

        zero_elements(found.witness.inputs, still_differ)
        if best is found:
            return found
        drawn = f"{found.witness.drawn}; then elements were set to 0 as long as the sides differed"
        return replace(best, witness=replace(best.witness, drawn=drawn))

    def _again(
        self, number: int, found: Difference, sizes: Mapping[str, int], inputs: Mapping[str, Array]
    ) -> Difference | None:
        """A difference of the same kind at other sizes or inputs."""
        left, right = self._run_both(inputs)
        if not isinstance(left, Ran) or not isinstance(right, Ran):
            return None
        shapes = [[leaf.value.shape for leaf in ran.leaves] for ran in (left, right)]
        if shapes[0] != shapes[1]:
            return None
        again = self._difference(number, left, right, sizes, found.how, found.seed, inputs)
        return again if again is not None and again.kind == found.kind else None

    # ------------------------------------------------------------ sides that do not run
    def _note_failure(
        self, left: Ran | Raised, right: Ran | Raised, sizes: Mapping[str, int], failures: dict[str, str]
    ) -> None:
        for side, ran in ((self.sides.left, left), (self.sides.right, right)):
            if isinstance(ran, Raised):
                failures.setdefault(side.name, f"at {show_sizes(sizes)} {ran.message}")
        both_code = isinstance(self.sides.left, Code) and isinstance(self.sides.right, Code)
        raised = [isinstance(r, Raised) for r in (left, right)]
        if both_code and raised.count(True) == 1 and not self.log.mismatch:
            names = (self.sides.left.name, self.sides.right.name)
            bad, good = (names[0], names[1]) if raised[0] else (names[1], names[0])
            message = left.message if isinstance(left, Raised) else right.message if isinstance(right, Raised) else ""
            ran = left if isinstance(left, Ran) else right
            kinds = ", ".join(leaf.kind for leaf in ran.leaves) if isinstance(ran, Ran) else ""
            self.log.mismatch = f"at {show_sizes(sizes)} {bad} raises {message}; {good} returns {kinds}"

    def _explain_failures(self, failures: Mapping[str, str]) -> None:
        if self.log.mismatch:
            return
        given = ", ".join(f"{name} {t}" for name, t in self.sides.variables.items())
        what = "; ".join(f"{name} raised {message}" for name, message in failures.items())
        raise ShapeError(
            f"neither side ran on {given} at any sizes that were tried: {what}. Declare shapes that the code takes"
        )

    # ------------------------------------------------------------ floats
    def measure_floats(self) -> tuple[FloatComparison, ...]:
        """How far both sides differ in the declared dtype; empty for graphs, run in float64, and for whole numbers."""
        if not isinstance(self.sides.left, Code) or not isinstance(self.sides.right, Code) or not self.log.works_at:
            return ()
        sizes = max(self.log.works_at, key=_total)
        floats = [d for d in self._own.values() if d in FLOATS]
        found = (self._measure(sizes, how) for how in ((NORMAL, WIDE) if floats else (NORMAL,)))
        return tuple(f for f in found if f is not None)

    def _measure(self, sizes: Mapping[str, int], how: Draw) -> FloatComparison | None:
        how = replace(how, below=self._below)
        inputs = draw(self.sides.variables, sizes, how, self._seed, self._masks)
        both: tuple[Side, Side] = (self.sides.left, self.sides.right)
        own = [run_side(s, inputs, self._own) for s in both]
        exact = [run_side(s, inputs, self._dtypes) for s in both]
        if not all(isinstance(r, Ran) for r in (*own, *exact)):
            return None
        dtypes = [", ".join(leaf.dtype for leaf in r.leaves) for r in own if isinstance(r, Ran)]
        if dtypes[0] != dtypes[1]:
            text = "; ".join(f"{side.name} gives {d}" for side, d in zip(both, dtypes, strict=True))
            self.log.notes[f"the dtypes of the results differ: {text}"] = None
        values = [[leaf.value for leaf in r.leaves] for r in (*own, *exact) if isinstance(r, Ran)]
        a, b, a64, b64 = values
        if [x.shape for x in a] != [x.shape for x in b]:
            return None
        lost = tuple(
            sum(int((np.isfinite(x64) & ~np.isfinite(x)).sum()) for x, x64 in zip(low, high, strict=True))
            for low, high in ((a, a64), (b, b64))
        )
        computed = [d for d in dict.fromkeys(dtypes[0].split(", ")) if "float" in d]
        if not computed:
            return None
        given = list(dict.fromkeys(NAMES[d] for d in self._own.values() if d != "bool"))
        has_floats = not FLOATS.isdisjoint(self._own.values())
        return FloatComparison(
            ", ".join(given if has_floats else computed),
            how.name if has_floats else "drawn arguments, none of which is a float",
            tuple(sizes.items()),
            _finite_difference(a, b),
            (_finite_difference(a, a64), _finite_difference(b, b64)),
            (lost[0], lost[1]),
        )


def _total(sizes: Mapping[str, int]) -> int:
    return sum(sizes.values())


def largest_difference(a: Array, b: Array) -> tuple[tuple[int, ...], float] | None:
    """The position and size of the largest difference, relative to the largest value; infinite where one is NaN.

    None where both are equal everywhere, or nothing is finite on both sides.
    """
    if not a.size:
        return None
    with np.errstate(all="ignore"):
        scale = _scale(a, b)
        error = np.abs(a - b) / scale
        same = (a == b) | (np.isnan(a) & np.isnan(b))
        error = np.where(same, 0.0, np.where(np.isfinite(a) & np.isfinite(b), error, inf))
    index = tuple(int(i) for i in np.unravel_index(int(np.argmax(error)), error.shape))
    return (index, float(error[index])) if error[index] > 0 else None


def _scale(a: Array, b: Array) -> float:
    finite = np.concatenate([np.abs(x[np.isfinite(x)]) for x in (a, b)])
    return float(finite.max(initial=0.0)) or 1.0


def _finite_difference(a: list[Array], b: list[Array]) -> float:
    worst = 0.0
    for x, y in zip(a, b, strict=True):
        both = np.isfinite(x) & np.isfinite(y)
        if x.shape == y.shape and both.any():
            worst = max(worst, float(np.abs(x[both] - y[both]).max()) / _scale(x[both], y[both]))
    return worst
