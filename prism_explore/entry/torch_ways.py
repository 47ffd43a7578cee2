# pyright: basic
# Most values are objects of torch, which pyright types only in part.
"""A graph with symbolic sizes: which way runs it is decided again for other sizes than those of the first race.

Sizes are gathered in buckets, four per factor of two. No call waits, and none is computed twice:

1. The first call of a bucket runs kernels where they are, and torch elsewhere, so that missing kernels are built
   (`runtime/kernel_for_sizes.py`). While they are built, the default compiler's code runs.
2. While kernels and torch run regions in turns, calls go on to run that way.
3. The way with kernels is compared with float64, on copies of the tensors of a call and beside the calls.
4. All ways run the calls in turns, each timed (`runtime/call_race.py`), and then the fastest.

Once `FREE_BUCKETS` buckets have begun, another one first has `LEAST_CALLS` calls of the default compiler's code.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from threading import Lock
from typing import Any, TypeAlias

from prism_explore.entry.torch_errors import Errors, errors_of
from prism_explore.entry.torch_nodes import draws_random_numbers, has_side_effect, number_of, value_of
from prism_explore.entry.torch_partition import is_casting
from prism_explore.entry.torch_race import KERNELS, KERNELS_AND_COMPILED, choose
from prism_explore.entry.torch_report import WholeRace
from prism_explore.events.fastest import EAGER
from prism_explore.runtime.call_race import CallRace
from prism_explore.runtime.kernel_for_sizes import bucket_size, noting_unsettled
from prism_explore.support.after_fork import renew_after_fork
from prism_explore.support.background import Job, Start, in_the_call

MOST_BUCKETS = 64
"""Buckets whose race is remembered."""
FREE_BUCKETS = 12
LEAST_CALLS = 30
"""A race takes about as many calls."""

Way: TypeAlias = Callable[..., Any]


class WaysBySizes:
    """The ways to run a graph, as a function of its arguments."""

    def __init__(
        self,
        module: Any,
        ways: Mapping[str, Callable[[], Way]],
        first: WholeRace | None,
        default: Way,
        *,
        start: Start = in_the_call,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        """Nothing is raced yet.

        Args:
            module: torch's graph, as a module.
            ways: functions that return those that run it, by name.
            first: the race at the sizes of the call at which torch compiles; None where there was none.
            default: what runs until a race has been held.
            start: runs the comparison with float64.
            clock: seconds.
        """
        self._module, self._ways, self._default, self._start, self._clock = module, ways, default, start, clock
        placeholders = [node for node in module.graph.nodes if node.op == "placeholder"]
        self._numbers = {n: node for n, node in enumerate(placeholders) if _varies(value_of(node))}
        self._at = None if first is None else tuple(number_of(node) for node in self._numbers.values())
        self._first = default if first is None else ways[first.winner]()
        self._can_be_compared = not any(map(draws_random_numbers, module.graph.nodes))
        self._writes = any(map(has_side_effect, module.graph.nodes))
        self._buckets: OrderedDict[tuple[Any, ...], _Bucket] = OrderedDict()
        self._begun = 0
        self.after_fork()
        renew_after_fork(self)

    def after_fork(self) -> None:
        """A lock that another thread held."""
        self._lock = Lock()

    def __call__(self, *args: Any) -> Any:
        """The graph's results."""
        numbers = tuple(args[n] for n in self._numbers)
        if numbers == self._at:
            return self._first(*args)
        bucket = self._bucket(numbers)
        if bucket.winner is not None:
            return bucket.winner(*args)
        if bucket.race is not None:
            return self._turn(bucket, bucket.race, args)
        return self._settled(bucket, args)

    def _bucket(self, numbers: tuple[Any, ...]) -> _Bucket:
        key = tuple(bucket_size(n) if isinstance(n, int) and n > 0 else n for n in numbers)
        with self._lock:
            if key not in self._buckets:
                self._buckets[key] = _Bucket(self._text(numbers), 0 if self._begun < FREE_BUCKETS else LEAST_CALLS)
                self._begun += 1
                if len(self._buckets) > MOST_BUCKETS:
                    self._buckets.popitem(last=False)
            self._buckets.move_to_end(key)
            return self._buckets[key]

    def _text(self, numbers: tuple[Any, ...]) -> str:
        names = (str(value_of(node)) for node in self._numbers.values())
        return ", ".join(f"{name}={n}" for name, n in zip(names, numbers, strict=True))

    def _settled(self, bucket: _Bucket, args: tuple[Any, ...]) -> Any:
        """A call before the race of a bucket."""
        if bucket.calls_left > 0:
            bucket.calls_left -= 1
            return self._default(*args)
        if KERNELS not in self._ways:
            bucket.begin_race(tuple(self._ways))
            return self(*args)
        if bucket.stage == _BUILDING and all(is_built() for is_built in bucket.waiting):
            with noting_unsettled() as unsettled:
                results = self._ways[KERNELS]()(*args)
            bucket.waiting = tuple(unsettled.built)
            if not unsettled.built and not unsettled.timed:
                with self._lock:
                    bucket.stage = _COMPARING if bucket.stage == _BUILDING else bucket.stage
            return results
        with self._lock:
            compares = bucket.stage == _COMPARING and not bucket.is_being_compared
            bucket.is_being_compared |= compares
        if compares:
            self._start(self._comparison(bucket, args))
        return self._default(*args)

    def _comparison(self, bucket: _Bucket, args: tuple[Any, ...]) -> Job:
        """What compares the way with kernels with float64, on copies of the tensors of a call, and begins the race."""
        import torch

        modes = torch.is_grad_enabled(), torch.is_inference_mode_enabled()
        copies = tuple(map(_copy, args)) if self._can_be_compared and not is_casting() else ()

        def compare() -> None:
            errors = Errors()
            if copies:
                with torch.set_grad_enabled(modes[0]), torch.inference_mode(modes[1]):
                    compared = {name: self._ways[name]() for name in (EAGER, KERNELS)}
                    errors = errors_of(self._module, lambda: tuple(map(_copy, copies)), compared)
            bucket.errors, bucket.note = errors.of, errors.why_refused(KERNELS)
            is_exact = not bucket.note
            bucket.begin_race(tuple(n for n in self._ways if is_exact or n not in (KERNELS, KERNELS_AND_COMPILED)))

        return compare

    def _turn(self, bucket: _Bucket, race: CallRace, args: tuple[Any, ...]) -> Any:
        name = race.turn()
        start = self._clock()
        try:
            results = self._ways[name]()(*args)
        except Exception:
            if self._writes:  # another way would write again
                raise
            race.fail(name)
            results = self._default(*args)
        else:
            race.took(name, self._clock() - start)
        if race.is_over:
            times = {way: seconds for way, seconds in race.times.items() if seconds}
            decided = choose(times, bucket.note) if times else WholeRace(race.running[0], {}, bucket.note)
            bucket.decided = replace(decided, errors=bucket.errors)
            bucket.winner = self._ways[decided.winner]()
        return results

    @property
    def races(self) -> tuple[tuple[str, WholeRace | str], ...]:
        """Per bucket, the sizes of its first call, and the race, or what its calls wait for."""
        with self._lock:
            return tuple((b.sizes, b.decided or b.stage) for b in self._buckets.values())


_BUILDING, _COMPARING, _RACING = (
    "torch runs while kernels are built and timed",
    "torch runs while kernels are compared with float64",
    "all ways are being timed",
)


@dataclass(slots=True)
class _Bucket:
    """What is known of the sizes of a bucket."""

    sizes: str
    """Those of its first call."""
    calls_left: int
    """Calls that the default compiler's code runs first."""
    stage: str = _BUILDING
    waiting: tuple[Callable[[], bool], ...] = ()
    """Whether the kernels have been built for which its last call waited."""
    is_being_compared: bool = False
    errors: Mapping[str, float] = field(default_factory=dict[str, float])
    note: str = ""
    race: CallRace | None = None
    decided: WholeRace | None = None
    winner: Way | None = None

    def begin_race(self, ways: Sequence[str]) -> None:
        """Let all of these ways run the next calls in turns."""
        self.race, self.stage = CallRace(ways), _RACING


def _varies(value: Any) -> bool:
    """Whether a value is a number that may be another one in another call."""
    return hasattr(value, "node") and not value.node.expr.is_number


def _copy(x: Any) -> Any:
    """A tensor of a call in memory of its own; parameters are not written by a graph that records no gradients."""
    import torch
    from torch._prims_common import clone_preserve_strides

    if not isinstance(x, torch.Tensor) or isinstance(x, torch.nn.Parameter):
        return x
    return clone_preserve_strides(x)
