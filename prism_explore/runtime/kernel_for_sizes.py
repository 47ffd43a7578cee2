# pyright: basic
# Tensors of torch are typed only in part.
"""One proved kernel for all sizes of its symbols: code for further sizes is made while it is used.

A proof holds for every value of a symbol; generated code is for one value. So sizes are gathered in buckets. Along a
symbol that can be padded (`ir/analysis/padding.py`) there are four buckets per factor of two, and the kernel of a
bucket computes all sizes up to it. Along other symbols each size is a bucket. Parameters of a bucket are those of the
tuned kernel where they are legal, or those that the cost model ranks first. Its kernel is compared with the reference
in float64, and then timed beside torch on the tensors of the call that needed it: what does not win stays with torch.

The work is bounded (`support/earned_work.py`). The first buckets that serve several sizes are made at their first call.
For any other bucket, torch first has to spend as much time as a kernel takes to be made.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from statistics import median
from typing import Any

from prism_explore.codegen.load import Loaded, load
from prism_explore.errors import PositionError, PrismError, ShapeError
from prism_explore.events.format import seconds_text
from prism_explore.frontend import bind_inputs, with_structure
from prism_explore.frontend.autograd import call_with_gradient
from prism_explore.ir.analysis.padding import Fill, padding_of
from prism_explore.pipeline.stages import Kernel
from prism_explore.runtime.kernels_at import kernels_at
from prism_explore.runtime.masked_rows import call_torch
from prism_explore.runtime.padded import Forms, PaddedKernel
from prism_explore.runtime.saved_kernel import SavedKernel
from prism_explore.support.earned_work import EarnedWork, Waiting
from prism_explore.targets import Target
from prism_explore.tune.runner.bench import Failure
from prism_explore.tune.runner.correctness import check_results, reference_cases
from prism_explore.tune.runner.timing import quantile, ratios

MOST_BUCKETS = 32
"""Buckets whose kernels are kept."""
FREE_BUCKETS = 12
"""Buckets for several sizes that are made at their first call."""
MOST_CANDIDATES = 2
"""Choices of parameters that are compiled for a bucket."""
RACE_S = 0.25
"""A race ends after this time if it has the least number of rounds."""
ROUNDS, LEAST_ROUNDS = 15, 5
FIRST_BUILD_S = 1.0
"""What a kernel for a bucket is assumed to take until one has been made."""


@dataclass(frozen=True, slots=True)
class Bucket:
    """Sizes that one kernel serves."""

    sizes: Mapping[str, int]
    """The largest ones."""
    kernel: Loaded | None
    """What runs; None where torch does."""
    speed_up: float | None = None
    """How many times as fast as torch eager the kernel was; None where it was not timed."""
    failure: str = ""
    """Why it was not timed."""

    @property
    def why(self) -> str:
        """Why torch runs, or how much faster the kernel is."""
        return self.failure or f"the kernel is {self.speed_up:.2f}x as fast as torch eager"

    def __str__(self) -> str:
        sizes = ", ".join(f"{name}={n}" for name, n in self.sizes.items())
        return f"{sizes} ({self.failure or f'{self.speed_up:.2f}x'})"


class NoKernelError(ShapeError):
    """There is no kernel for the sizes of a call."""

    def __init__(self, why: str, spent: Callable[[float], None]) -> None:
        super().__init__(why)
        self.spent = spent
        """Call it with the seconds that torch takes instead."""


class KernelForSizes:
    """A proved kernel, called like the torch code that it replaces, with tensors of any sizes of its symbols."""

    def __init__(
        self, tuned: SavedKernel, target: Target, clock: Callable[[], float] = time.perf_counter, seed: int = 0
    ) -> None:
        """Nothing is compiled yet.

        Args:
            tuned: the kernel at the sizes of the search, with its torch code.
            target: the machine.
            clock: seconds.
            seed: of the inputs of the comparison with float64.
        """
        self.tuned, self._target, self._clock, self._seed = tuned, target, clock, seed
        program = tuned.program
        self._home = dict(tuned.kernel.shapes)
        found = {symbol: padding_of(program.graph, symbol) for symbol in self._home}
        self.exact = {symbol: why for symbol, why in found.items() if isinstance(why, str)}
        """Symbols along which nothing is padded, and why."""
        paddings = [fills for fills in found.values() if not isinstance(fills, str)]
        self._fills: dict[str, dict[int, Fill]] = {
            i.name: {d: f for p in paddings for d, f in p.get(i.name, {}).items()} for i in program.inputs
        }
        self._forms = Forms(program, self._fills)
        self._table = EarnedWork[tuple[int, ...], Bucket](MOST_BUCKETS, FREE_BUCKETS, FIRST_BUILD_S, clock)

    def __call__(self, *args: Any) -> Any:
        """The result, by a kernel.

        Raises:
            NoKernelError: torch is faster at these sizes, or no kernel has been made.
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
                kernel = self._kernel(inputs, sizes)
                computed = call_with_gradient(kernel, tuned.reference, inputs)
            except PositionError as error:
                computed = call_torch(tuned.program.name, tuned.reference, inputs, str(error), str(error))
        return with_structure(tuned.signature, computed, args, {}, tuned.parameters)

    @property
    def buckets(self) -> tuple[Bucket, ...]:
        """Those that are kept, the one used last at the end."""
        return self._table.values

    def _kernel(self, inputs: Sequence[Any], sizes: Mapping[str, int]) -> Loaded:
        largest = {s: n if s in self.exact else bucket_size(n) for s, n in sizes.items()}
        key = tuple(largest.values())
        found = self._table.find(key, lambda: self._fastest(largest, inputs), may_be_free=not self.exact)
        if isinstance(found, Bucket) and found.kernel is not None:
            return found.kernel
        why = _why_waiting(found) if isinstance(found, Waiting) else found.why
        raise NoKernelError(why, lambda seconds: self._table.spent(key, seconds))

    def _fastest(self, largest: Mapping[str, int], inputs: Sequence[Any]) -> Bucket:
        """The kernel that is faster than torch on the tensors of a call, if there is one."""
        reference = self.tuned.reference
        if reference is None:
            return Bucket(largest, None, failure="there is no torch code to compare with")
        runs: list[Loaded] = []
        why = "no parameters are legal"
        cases = None
        for kernel in self._kernels(largest):
            cases = cases or reference_cases(self.tuned.program, largest, self._seed)
            try:
                compiled = load(kernel)
                checked = check_results(compiled, cases)
            except PrismError as error:
                why = str(error).splitlines()[0]
                continue
            if isinstance(checked, Failure):
                why = checked.reason
            else:
                runs.append(PaddedKernel(compiled, self.tuned.program, self._fills, largest))
        if not runs:
            return Bucket(largest, None, failure=why)
        torch_times, *kernel_times = self._race([reference, *runs], inputs)
        best = min(range(len(runs)), key=lambda n: median(kernel_times[n]))
        shares = ratios(kernel_times[best], torch_times)
        is_faster = quantile(shares, 0.75) < 1.0
        return Bucket(largest, runs[best] if is_faster else None, 1 / median(shares))

    def _race(self, ways: Sequence[Callable[..., Any]], inputs: Sequence[Any]) -> list[list[float]]:
        """Per way its seconds per round, in interleaved rounds."""
        times: list[list[float]] = [[] for _ in ways]
        for run in ways:
            run(*inputs)
        end = self._clock() + RACE_S
        order = list(range(len(ways)))
        for number in range(ROUNDS):
            if number >= LEAST_ROUNDS and self._clock() > end:
                break
            order.reverse()
            for n in order:
                start = self._clock()
                ways[n](*inputs)
                times[n].append(self._clock() - start)
        return times

    def _kernels(self, sizes: Mapping[str, int]) -> Iterator[Kernel]:
        tuned = self.tuned.kernel
        if dict(sizes) == self._home:
            yield tuned
        else:
            yield from islice(kernels_at(tuned.verified, tuned.parameters, sizes, self._target), MOST_CANDIDATES)


def _why_waiting(found: Waiting) -> str:
    if found.is_being_made:
        return "another thread makes a kernel"
    took, needed = seconds_text(found.spent_s), seconds_text(found.needed_s)
    return f"a kernel for these sizes takes {needed} to make, and torch has taken {took} for them so far"


def bucket_size(size: int) -> int:
    """The smallest size of a bucket from a size on: four per factor of two, and each size up to 8.

    >>> [bucket_size(n) for n in (1, 7, 9, 17, 33, 100)]
    [1, 7, 10, 20, 40, 112]
    """
    step = 1 << max(0, (size - 1).bit_length() - 3)
    return -(-size // step) * step
