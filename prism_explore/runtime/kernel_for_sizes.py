# pyright: basic
# Tensors of torch are typed only in part.
"""One proved kernel for all sizes of its symbols: code for further sizes is made while it is used.

A proof holds for every value of a symbol; generated code is for one value. So sizes are gathered in buckets. Along a
symbol that can be padded (`ir/analysis/padding.py`), be it with a mask of its own (`runtime/kept_positions.py`), there
are four buckets per factor of two, and the kernel of a bucket computes all sizes up to it. Along other symbols each
size is a bucket. Parameters of a bucket are those of the
tuned kernel where they are legal, or those that the cost model ranks first.

The caller decides where kernels are made (`runtime/kernel_build.py`): in the call that needs them, or beside it, and
torch runs meanwhile. They are compared with the reference in float64. Then calls decide: torch and the kernels run them
in turns (`runtime/call_race.py`), and what does not win stays with torch.

The work is bounded (`support/earned_work.py`). The first buckets that serve several sizes are made when they are needed
first. For any other bucket, torch first has to spend as much time as a kernel takes to be made.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from statistics import median
from typing import Any, Literal

from prism_explore.codegen.load import Loaded
from prism_explore.errors import PositionError, ShapeError
from prism_explore.events.format import seconds_text
from prism_explore.frontend import bind_inputs, with_structure
from prism_explore.frontend.autograd import call_with_gradient
from prism_explore.ir.analysis.padding import Fill, padding_of
from prism_explore.runtime.call_race import CallRace
from prism_explore.runtime.kept_positions import with_masks
from prism_explore.runtime.kernel_build import Build, Built, build_here
from prism_explore.runtime.masked_rows import call_torch
from prism_explore.runtime.padded import Forms, PaddedKernel
from prism_explore.runtime.saved_kernel import SavedKernel
from prism_explore.support.background import Start, in_the_call
from prism_explore.support.earned_work import EarnedWork, Waiting
from prism_explore.targets import Target
from prism_explore.tune.runner.timing import quantile, ratios

MOST_BUCKETS = 32
"""Buckets whose kernels are kept."""
FREE_BUCKETS = 12
"""Buckets for several sizes that are made when they are needed first."""
FIRST_BUILD_S = 1.0
"""What a kernel for a bucket is assumed to take until one has been made."""
_TORCH = "torch"


@dataclass(frozen=True, slots=True)
class Bucket:
    """What is known of sizes that one kernel serves."""

    sizes: Mapping[str, int]
    """The largest ones."""
    stage: Literal["being built", "being timed", "decided"] = "decided"
    kernel: Loaded | None = None
    """What runs once it is decided; None where torch does."""
    speed_up: float | None = None
    """How many times as fast as torch eager the fastest kernel is; None where none was timed."""
    failure: str = ""
    """Why there is no kernel."""

    @property
    def why(self) -> str:
        """Why torch runs, or how much faster the kernel is."""
        if self.stage != "decided":
            return f"a kernel for these sizes is {self.stage}"
        return self.failure or f"the kernel is {self.speed_up:.2f}x as fast as torch eager"

    def __str__(self) -> str:
        sizes = ", ".join(f"{name}={n}" for name, n in self.sizes.items())
        return sizes if self.stage != "decided" else f"{sizes} ({self.failure or f'{self.speed_up:.2f}x'})"


class _Ways:
    """Torch and the kernels of a bucket, and the race between them."""

    def __init__(self, sizes: Mapping[str, int], kernels: Sequence[Loaded], failure: str) -> None:
        self._sizes, self._failure = sizes, failure
        self._kernels = {f"kernel {n}": kernel for n, kernel in enumerate(kernels, 1)}
        self.race = CallRace((_TORCH, *self._kernels))
        self._decided: Bucket | None = None

    @property
    def bucket(self) -> Bucket:
        if self._decided is None and self.race.is_over:
            self._decided = self._decide()
        return self._decided or Bucket(self._sizes, "being timed")

    def _decide(self) -> Bucket:
        if not self._kernels:
            return Bucket(self._sizes, failure=self._failure)
        torch_s, times = self.race.times[_TORCH], self.race.times
        best = min(self._kernels, key=lambda way: median(times[way]))
        shares = ratios(*zip(*zip(times[best], torch_s, strict=False), strict=True))
        is_faster = quantile(shares, 0.75) < 1.0
        return Bucket(self._sizes, "decided", self._kernels[best] if is_faster else None, 1 / median(shares))

    def turn(self) -> tuple[str, Loaded | None]:
        """The way that runs a call, and its kernel; None where it is torch."""
        bucket = self.bucket
        if bucket.stage == "decided":
            return "", bucket.kernel
        way = self.race.turn()
        return way, self._kernels.get(way)


@dataclass(slots=True)
class Unsettled:
    """The calls within a block for which it was not settled what runs them."""

    built: list[Callable[[], bool]] = field(default_factory=list[Callable[[], bool]])
    """Per call that waits for a kernel, whether that has been made."""
    timed: int = 0
    """Calls that were turns of a race."""


class _Notes(threading.local):
    to: Unsettled | None = None


_notes = _Notes()


@contextmanager
def noting_unsettled() -> Generator[Unsettled]:
    """Note what is not settled for the calls of this thread within the block."""
    before, _notes.to = _notes.to, Unsettled()
    try:
        yield _notes.to
    finally:
        _notes.to = before


class NoKernelError(ShapeError):
    """Torch runs a call: there is no kernel for its sizes, or it is torch's turn in a race."""

    def __init__(self, why: str, spent: Callable[[float], None]) -> None:
        super().__init__(why)
        self.spent = spent
        """Call it with the seconds that torch takes."""


class KernelForSizes:
    """A proved kernel, called like the torch code that it replaces, with tensors of any sizes of its symbols."""

    def __init__(
        self,
        tuned: SavedKernel,
        target: Target,
        *,
        build: Build = build_here,
        start: Start = in_the_call,
        clock: Callable[[], float] = time.perf_counter,
        seed: int = 0,
    ) -> None:
        """Nothing is compiled yet.

        Args:
            tuned: the kernel at the sizes of the search, with its torch code.
            target: the machine.
            build: makes kernels for further sizes.
            start: runs what makes them, in the call or beside it.
            clock: seconds.
            seed: of the inputs of the comparison with float64.
        """
        self.tuned, self._target, self._build, self._clock, self._seed = tuned, target, build, clock, seed
        program = tuned.program
        self._home = dict(tuned.kernel.shapes)
        plain = [symbol for symbol in self._home if isinstance(padding_of(program.graph, symbol), str)]
        self._kernel, self._masked = with_masks(tuned.kernel, plain, seed)
        padded = self._kernel.verified.candidate.family.program
        found = {symbol: padding_of(padded.graph, symbol) for symbol in self._home}
        self.exact = {symbol: why for symbol, why in found.items() if isinstance(why, str)}
        """Symbols along which nothing is padded, and why."""
        paddings = [fills for fills in found.values() if not isinstance(fills, str)]
        self._fills: dict[str, dict[int, Fill]] = {
            i.name: {d: f for p in paddings for d, f in p.get(i.name, {}).items()} for i in program.inputs
        }
        self._forms = Forms(program, self._fills)
        self._table = EarnedWork[tuple[int, ...], _Ways](MOST_BUCKETS, FREE_BUCKETS, FIRST_BUILD_S, clock, start)

    def __call__(self, *args: Any) -> Any:
        """The result, by a kernel.

        Raises:
            NoKernelError: torch is faster at these sizes, or it is its turn, or no kernel has been made.
            ShapeError: as for a `SavedKernel`, except that sizes may be others.
        """
        tuned = self.tuned
        inputs = bind_inputs(tuned.signature, args, {}, tuned.parameters)
        sizes = self._forms.sizes(inputs)
        if sizes == self._home:
            return tuned(*args)
        if tuned.masked_rows.has_empty_row(inputs, sizes):
            computed = tuned.masked_rows.call_torch(tuned.reference, inputs)
        else:
            try:
                computed = self._computed(inputs, sizes)
            except PositionError as error:
                computed = call_torch(tuned.program.name, tuned.reference, inputs, str(error), str(error))
        return with_structure(tuned.signature, computed, args, {}, tuned.parameters)

    @property
    def buckets(self) -> tuple[Bucket, ...]:
        """Those that are kept, the one used last at the end, and those that are being built."""
        waiting = (dict(zip(self._home, key, strict=True)) for key in self._table.being_made)
        return (*(ways.bucket for ways in self._table.values), *(Bucket(sizes, "being built") for sizes in waiting))

    def _computed(self, inputs: Sequence[Any], sizes: Mapping[str, int]) -> Any:
        """What a kernel computes."""
        table, notes = self._table, _notes.to
        largest = {s: n if s in self.exact else bucket_size(n) for s, n in sizes.items()}
        key = tuple(largest.values())
        found = table.find(key, lambda: self._ways(largest), may_be_free=not self.exact)
        if isinstance(found, Waiting):
            if notes is not None and found.is_being_made:
                notes.built.append(lambda: key not in table.being_made)
            raise NoKernelError(_why_waiting(found), lambda seconds: table.spent(key, seconds))
        way, kernel = found.turn()
        if notes is not None and way:
            notes.timed += 1
        if kernel is None:
            raise NoKernelError(found.bucket.why, lambda seconds: found.race.took(way, seconds))
        start = self._clock()
        computed = call_with_gradient(kernel, self.tuned.reference, inputs)
        if way:
            found.race.took(way, self._clock() - start)
        return computed

    def _ways(self, largest: Mapping[str, int]) -> _Ways:
        """What can run in a bucket."""
        tuned = self.tuned
        if tuned.reference is None:
            return _Ways(largest, (), "there is no torch code to compare with")
        if dict(largest) == self._home and not self._masked:
            built = Built((tuned.compiled,), "")
        else:
            try:
                built = self._build(self._kernel, largest, self._target, self._seed)
            except Exception as failure:  # on another thread nobody would see it
                built = Built((), f"{type(failure).__name__}: {(str(failure).splitlines() or [''])[0]}")
        padded = [PaddedKernel(k, tuned.program, self._fills, largest, self._masked) for k in built.kernels]
        return _Ways(largest, padded, built.why)


def _why_waiting(found: Waiting) -> str:
    if found.is_being_made:
        return "a kernel for these sizes is being built"
    took, needed = seconds_text(found.spent_s), seconds_text(found.needed_s)
    return f"a kernel for these sizes takes {needed} to make, and torch has taken {took} for them so far"


def bucket_size(size: int) -> int:
    """The smallest size of a bucket from a size on: four per factor of two, and each size up to 8.

    >>> [bucket_size(n) for n in (1, 7, 9, 17, 33, 100)]
    [1, 7, 10, 20, 40, 112]
    """
    step = 1 << max(0, (size - 1).bit_length() - 3)
    return -(-size // step) * step
