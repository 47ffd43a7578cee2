"""The stop-watch: compare first, then time; rounds, a cold cache, one estimator for all.

What fools a stop-watch on a shared machine, and the guard against each:

* The machine's speed drifts by minutes (memory bandwidth by 1.8 here). So nothing is compared with a
  figure of another minute: a trial and the incumbent are timed in the same rounds, in shuffled order,
  and the ratio of each round counts.
* A kernel reads what the one before it left in the cache. So inputs lie in a ring of copies, together
  at least four times the last cache, and *one* counter moves all kernels along it.
* A thread that slept wakes late. So an untimed call comes before every timed one.
* Other work takes the cores away. The scheduler says how long our threads waited, so the rounds that were
  disturbed least are the ones that count, for everybody in them.
* Averages follow the worst neighbour, minima favour the noisy. So it is medians, for everybody.

A kernel is timed only when its result agreed with the program's float64 meaning, on random inputs and
on unkind ones. The clock is an argument; with a fake one all of this is deterministic.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil, inf
from statistics import median
from typing import Any, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from prism_explore.ir.interpreter.reference import Array, evaluate
from prism_explore.ir.program import TensorProgram
from prism_explore.ir.tensors import TensorType, numpy_dtype
from prism_explore.pipeline.stages import Kernel
from prism_explore.targets import Target, ceilings

Run: TypeAlias = Callable[..., Any]
"""A loaded kernel, or a rival: takes the program's inputs in order, gives an array."""

Load: TypeAlias = Callable[[Kernel], Run]
"""Makes a kernel callable; whatever it raises means that the kernel does not compile."""

TOLERANCE = {"f64": 1e-12, "f32": 1e-5, "f16": 2.0**-10, "bf16": 2.0**-7}
"""Relative to the largest magnitude of a row of the result; of the short dtypes twice what storing it costs."""

PLAIN_FACTOR = 8.0
"""A kernel may err this many times as much as the program itself does in plain NumPy of the same dtype."""

COLD_FACTOR = 4
"""The ring of input copies is this many times the last cache."""

DISTURBED = 0.02
"""A round in which our threads waited longer than this share for a core was disturbed by other work."""

WAKING_S = 2e-5
"""So long may each call's threads wait together before it counts: they wake, and nobody else is to blame."""

ENOUGH = 10
"""So many undisturbed rounds are enough, however many disturbed ones there were."""

RING_BYTES = 2 << 30
"""The ring never takes more memory than this; where that is too little for a cold cache, it says so."""


# ---------------------------------------------------------------- what is said
@dataclass(frozen=True, slots=True)
class Checked:
    """A kernel whose result agreed with the reference."""

    error: float
    """On random inputs: largest deviation over the reference's largest magnitude."""


@dataclass(frozen=True, slots=True)
class Failure:
    """Why there is nothing to time."""

    code: str
    """tune.compile, tune.wrong, tune.crash, tune.hang, tune.memory, tune.cancelled."""
    reason: str


@dataclass(frozen=True, slots=True)
class Samples:
    """Times of several kernels from the same rounds, round by round."""

    times_s: Mapping[str, tuple[float, ...]]
    waits: tuple[float, ...]
    """Per round, the share of its timed span for which our threads waited for a core: other work was running."""

    @property
    def waited(self) -> float:
        """The mean of `waits`."""
        return sum(self.waits) / len(self.waits) if self.waits else 0.0


class Bench(Protocol):
    """Where kernels are compared and timed: here, or in another process."""

    def check(self, key: str, kernel: Kernel) -> Checked | Failure:
        """Compile a kernel, compare its result with the reference, keep it under `key`."""
        ...

    def time(self, keys: Sequence[str], rounds: int) -> Samples | Failure:
        """Time kept kernels against one another."""
        ...

    def drop(self, key: str) -> None:
        """Forget a kernel."""
        ...

    def close(self) -> None:
        """Give everything back."""
        ...


# ---------------------------------------------------------------- inputs
class Ring:
    """Copies of a program's inputs, so many that reading them in turn finds no cache warm."""

    def __init__(
        self,
        program: TensorProgram,
        shapes: Mapping[str, int],
        seed: int,
        cold_bytes: int,
        most_bytes: int = RING_BYTES,
    ) -> None:
        """Fill the ring.

        Args:
            program: whose inputs to copy.
            shapes: numbers for its symbols.
            seed: of the random numbers in them.
            cold_bytes: what all copies together should at least take.
            most_bytes: what they may take.
        """
        first = random_inputs(program, shapes, seed)
        each = sum(a.nbytes for a in first.values())
        wanted = max(3, ceil(cold_bytes / each) + 1)
        self.slots = max(1, min(wanted, most_bytes // each))
        self.is_cold = self.slots * each >= cold_bytes and self.slots > 1
        copies = {i.name: laid_out(first[i.name], i.type, self.slots) for i in program.inputs}
        self._inputs = [tuple(copies[i.name][slot] for i in program.inputs) for slot in range(self.slots)]
        self._next = 0

    def next(self) -> tuple[Array, ...]:
        """The inputs that were longest not read."""
        self._next = (self._next + 1) % self.slots
        return self._inputs[self._next]

    def move(self, to: Callable[[Array], Any]) -> None:
        """Keep what `to` makes of each copy instead: a tensor on a device."""
        self._inputs = [tuple(map(to, inputs)) for inputs in self._inputs]

    @property
    def all(self) -> Sequence[tuple[Array, ...]]:
        """Every copy."""
        return self._inputs

    @property
    def position(self) -> int:
        """Which copy was given last."""
        return self._next


def laid_out(array: Array, t: TensorType, slots: int) -> list[Array]:
    """`slots` copies in one stretch of memory, each laid out in the type's storage order and aligned."""
    order = t.storage_order
    stored_shape = tuple(array.shape[d] for d in order)
    stride = ceil(array.nbytes / 64) * 64
    stretch = np.empty(slots * stride + 64, dtype=np.uint8)
    skip = -stretch.ctypes.data % 64
    back = np.argsort(order)
    found: list[Array] = []
    for slot in range(slots):
        piece = stretch[skip + slot * stride :][: array.nbytes].view(array.dtype).reshape(stored_shape)
        piece[...] = array.transpose(order)
        found.append(piece.transpose(back))
    return found


def random_inputs(
    program: TensorProgram, shapes: Mapping[str, int], seed: int | np.random.Generator
) -> dict[str, Array]:
    """Normal random numbers for every input.

    Raises:
        ShapeError: a symbol has no number.
    """
    rng = np.random.default_rng(seed)
    found: dict[str, Array] = {}
    for i in program.inputs:
        shape = tuple(d.value(shapes) for d in i.type.dims)
        found[i.name] = rng.standard_normal(shape, dtype=np.float32).astype(numpy_dtype(i.type.dtype), copy=False)
    return found


# ---------------------------------------------------------------- comparing
@dataclass(frozen=True, slots=True)
class Case:
    """Inputs on which kernels are compared, the truth there, and what deviation is forgiven."""

    name: str
    inputs: tuple[Array, ...]
    wanted: npt.NDArray[np.float64]
    comparable: npt.NDArray[np.bool_]
    """Where the program has a finite value, in float64 and in its own dtype."""
    tolerance: float
    """Relative to the largest magnitude of a row."""


def cases_of(program: TensorProgram, shapes: Mapping[str, int], seed: int) -> tuple[Case, ...]:
    """Random inputs, rows of very different magnitude, and rows of zeros.

    Magnitudes reach from 1e-4 to 1e3, so that an eps of 1e-6 under a root decides in some rows, and a
    sum that mixes rows is caught in others.
    """
    plain = random_inputs(program, shapes, seed)
    spread = {name: _scaled(a, np.random.default_rng(seed + 1)) for name, a in plain.items()}
    zeros = {name: _with_zeros(a) for name, a in plain.items()}
    named = (("random", plain), ("rows of very different magnitude", spread), ("rows of zeros", zeros))
    return tuple(_case(name, program, inputs) for name, inputs in named)


def _scaled(array: Array, rng: np.random.Generator) -> Array:
    if array.ndim < 2:
        return array
    powers = rng.uniform(-4, 3, size=(array.shape[0],) + (1,) * (array.ndim - 1))
    return (array * 10.0**powers).astype(array.dtype)


def _with_zeros(array: Array) -> Array:
    if array.ndim < 2:
        return array
    found = array.copy()
    found[::2] = 0
    return found


def _case(name: str, program: TensorProgram, inputs: Mapping[str, Array]) -> Case:
    dtype = program.graph.output_type.dtype
    with np.errstate(all="ignore"):
        wanted = np.asarray(evaluate(program, {k: a.astype(np.float64) for k, a in inputs.items()}), dtype=np.float64)
        own = _plain(program, inputs)
        comparable = np.isfinite(wanted) & np.isfinite(own.astype(numpy_dtype(dtype)))
    laid = tuple(laid_out(inputs[i.name], i.type, 1)[0] for i in program.inputs)
    forgiven = TOLERANCE[dtype] + PLAIN_FACTOR * row_error(own, wanted, comparable)
    return Case(name, laid, wanted, comparable, forgiven)


def _plain(program: TensorProgram, inputs: Mapping[str, Array]) -> Array:
    """The program in plain NumPy, as precise as kernels are: what is stored short is computed in float32."""
    short = {i.name for i in program.inputs if i.type.dtype in ("f16", "bf16")}
    return np.asarray(evaluate(program, {k: a.astype(np.float32) if k in short else a for k, a in inputs.items()}))


def row_error(found: Array, wanted: Array, comparable: npt.NDArray[np.bool_]) -> float:
    """Largest deviation in a row over the row's largest magnitude; infinite where a number is not finite.

    A row is what the last dim runs over. A row of zeros is measured against the largest magnitude of all.
    """
    with np.errstate(all="ignore"):
        gap = np.where(comparable, np.abs(found - wanted), 0.0)
    if not np.isfinite(gap).all():
        return inf
    size = np.where(comparable, np.abs(wanted), 0.0)
    per_row = size.max(axis=-1, keepdims=True, initial=0.0)
    scale = np.where(per_row > 0, per_row, size.max(initial=0.0) or 1.0)
    return float((gap / scale).max(initial=0.0))


def compare(run: Run, cases: Sequence[Case], lenient: float = 1.0) -> Checked | Failure:
    """Run on every case; the first that deviates more than is forgiven, times `lenient`, ends it."""
    error = 0.0
    for case in cases:
        given = run(*case.inputs)
        found = np.array(given.detach().double().cpu().numpy() if hasattr(given, "double") else given, dtype=np.float64)
        if found.shape != case.wanted.shape:
            return Failure("tune.wrong", f"{case.name}: shape {found.shape}, expected {case.wanted.shape}")
        deviation = row_error(found, case.wanted, case.comparable)
        forgiven = lenient * case.tolerance
        if deviation > forgiven:
            if np.isnan(found[case.comparable]).any():
                return Failure("tune.wrong", f"{case.name}: the result holds NaN where the program has a number")
            return Failure(
                "tune.wrong",
                f"{case.name}: a row deviates by {deviation:.1e} of its magnitude, {forgiven:.1e} is forgiven",
            )
        if case is cases[0]:
            largest = float(np.abs(case.wanted[case.comparable]).max(initial=0.0)) or 1.0
            gap = np.abs(found - case.wanted)[case.comparable]
            error = float(gap.max(initial=0.0)) / largest
    return Checked(error)


# ---------------------------------------------------------------- timing
@dataclass(frozen=True, slots=True)
class InterleavedTimer:
    """How time is taken: the clock, and the pause before each turn."""

    clock: Callable[[], float] = time.perf_counter
    sleep: Callable[[float], None] = time.sleep
    gap_s: float = 0.004
    """A short sleep earns the scheduler's favour, so that the burst behind it runs undisturbed."""
    waiting: Callable[[], float] = ceilings.core_wait_s
    """How long threads of this process have waited for a core so far."""

    def interleave(self, runs: Mapping[str, Run], ring: Ring, rounds: int, rng: random.Random) -> Samples:
        """Time every run once a round, in an order that `rng` shuffles each round, on cold inputs."""
        order = list(runs)
        times: dict[str, list[float]] = {key: [] for key in runs}
        waits: list[float] = []
        for _ in range(rounds):
            waited_s = spent_s = 0.0
            rng.shuffle(order)
            for key in order:
                run = runs[key]
                self.sleep(self.gap_s)
                run(*ring.next())
                inputs = ring.next()
                queued = self.waiting()
                began = self.clock()
                run(*inputs)
                spent = self.clock() - began
                waited_s += max(0.0, self.waiting() - queued - WAKING_S)
                spent_s += spent
                times[key].append(spent)
            waits.append(waited_s / spent_s / ceilings.cores() if spent_s else 0.0)
        return Samples({key: tuple(t) for key, t in times.items()}, tuple(waits))


def calm(waits: Sequence[float]) -> list[int]:
    """The rounds that count: the undisturbed ones, where enough are, else the least disturbed.

    Enough is a third, at least 3, and never more than `ENOUGH`. A round counts or does not for everybody
    in it, so nobody is favoured. On a quiet machine all count.
    """
    wanted = min(len(waits), max(3, min(ENOUGH, ceil(len(waits) / 3))))
    quiet = [i for i, w in enumerate(waits) if w <= DISTURBED]
    if len(quiet) >= wanted:
        return quiet
    return sorted(sorted(range(len(waits)), key=lambda i: waits[i])[:wanted])


def was_disturbed(waits: Sequence[float]) -> bool:
    """Whether too few rounds were quiet, so that disturbed ones count too."""
    return any(waits[i] > DISTURBED for i in calm(waits))


def quantile(values: Sequence[float], q: float) -> float:
    """Linear interpolation between order statistics."""
    return float(np.quantile(np.asarray(values), q))


def ratios(times_s: Sequence[float], to: Sequence[float]) -> tuple[float, ...]:
    """Round by round, how many times as long as `to`."""
    return tuple(a / b for a, b in zip(times_s, to, strict=True))


def core(values: Sequence[float]) -> float:
    """The mean of the middle half: nearly as deaf to the neighbours as the median, and it hears more of the rounds."""
    out = len(values) // 4
    inner = sorted(values)[out : len(values) - out]
    return sum(inner) / len(inner)


def middle(values: Sequence[float]) -> float:
    """The median."""
    return float(median(values))


# ---------------------------------------------------------------- a bench in this process
class LocalBench:
    """Compares and times in this process: what a worker runs inside, and what tests use with a fake clock."""

    def __init__(
        self,
        program: TensorProgram,
        shapes: Mapping[str, int],
        target: Target,
        load: Load,
        *,
        seed: int = 0,
        watch: InterleavedTimer | None = None,
        most_bytes: int = RING_BYTES,
    ) -> None:
        """Prepare inputs and references; see `cases_of` and `Ring` for what they raise."""
        self._load = load
        self._watch = watch or InterleavedTimer()
        self._rng = random.Random(seed)
        self.cases = cases_of(program, shapes, seed)
        self.roundings = 1 + len(program.graph.nodes) if program.graph.output_type.dtype in ("f16", "bf16") else 1
        """How often a rival may round: torch stores every intermediate value short, a kernel its result only."""
        self.ring = Ring(program, shapes, seed, COLD_FACTOR * target.last_cache_bytes, most_bytes)
        self.last_cache_bytes = target.last_cache_bytes
        self.weights = tuple(i for i, given in enumerate(program.inputs) if not _symbols(given.type))
        """Positions of the inputs whose dims are all numbers: weights, for a rival that packs them beforehand."""
        self.device = "cpu"
        """Where inputs are, in torch's words."""
        self.lost = False
        """Whether a kernel did what no kernel after it can be timed after, in this process."""
        self._runs: dict[str, Run] = {}

    def move(self, to: Callable[[Array], Any]) -> None:
        """Give kernels what `to` makes of the inputs: tensors on a device."""
        self.ring.move(to)
        self.cases = tuple(replace(case, inputs=tuple(map(to, case.inputs))) for case in self.cases)

    def check(self, key: str, kernel: Kernel) -> Checked | Failure:
        """Compile and compare."""
        try:
            run = self._load(kernel)
        except MemoryError:
            return Failure("tune.memory", "out of memory while compiling")
        except Exception as failure:
            return Failure("tune.compile", said(failure))
        return self.adopt(key, run)

    def adopt(self, key: str, run: Run, lenient: float = 1.0) -> Checked | Failure:
        """Compare something that is callable already, and keep it if it agrees; see `compare`."""
        try:
            found = compare(run, self.cases, lenient)
        except MemoryError:
            return Failure("tune.memory", "out of memory while running")
        except Exception as failure:
            return Failure("tune.crash", said(failure))
        if isinstance(found, Checked):
            self._runs[key] = run
        return found

    def keep(self, key: str, run: Run) -> None:
        """Keep something that gives no result to compare, such as a ceilings."""
        self._runs[key] = run

    def time(self, keys: Sequence[str], rounds: int) -> Samples | Failure:
        """Time kept kernels against one another."""
        runs = self._kept(keys)
        try:
            return self._watch.interleave(runs, self.ring, rounds, self._rng)
        except MemoryError:
            return Failure("tune.memory", "out of memory while timing")
        except Exception as failure:
            return Failure("tune.crash", said(failure))

    def _kept(self, keys: Sequence[str]) -> dict[str, Run]:
        missing = [key for key in keys if key not in self._runs]
        assert not missing, f"never checked: {', '.join(missing)}; a kernel is compared before it is timed"
        return {key: self._runs[key] for key in keys}

    def drop(self, key: str) -> None:
        """Forget a kernel."""
        self._runs.pop(key, None)

    def close(self) -> None:
        """Forget all kernels and free the ring."""
        self._runs.clear()


def _symbols(t: TensorType) -> set[str]:
    return {s for d in t.dims for s in d.symbols}


def said(failure: BaseException) -> str:
    """A failure in one line."""
    lines = str(failure).strip().splitlines()
    return f"{type(failure).__name__}: {lines[0]}" if lines else type(failure).__name__
