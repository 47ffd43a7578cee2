"""Dispatch over the values of one symbol: kernels are tuned at a few points, and a call takes the nearest point.

A proof holds for every value, but the sizes of a kernel are fast for some values only. Distance is a ratio: between
the points 4 and 16 the border is 8. Code is generated for each value when it first occurs, and is compared with the
reference in float64 before it is used. Where the sizes of the nearest point are not legal for a value, other legal
sizes of its candidate are used, or the next point.

Where torch was faster than the kernel at a point (`events/fastest.py`), calls near that point run torch. Only eager
code and the library call count here, because torch.compile would compile again for every value.

Outside the tuned range the torch code runs, with one warning.
"""

from __future__ import annotations

import math
import warnings
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice, pairwise
from threading import Lock
from typing import Any

import numpy as np

from prism_explore.codegen.load import Loaded, load
from prism_explore.errors import PositionError, ShapeError
from prism_explore.events.fastest import EAGER, LIBRARY, FasterBaseline, find_faster_baseline
from prism_explore.events.kinds import BaselineMeasured
from prism_explore.frontend import LibraryCall, Traced, bind_inputs, with_structure
from prism_explore.frontend.autograd import call_with_gradient
from prism_explore.ir.program import TensorProgram
from prism_explore.pipeline.stages import Timed
from prism_explore.runtime.masked_rows import MaskedRows, call_torch
from prism_explore.targets import Target
from prism_explore.tune.runner.bench import Failure
from prism_explore.tune.runner.correctness import check_results, reference_cases
from prism_explore.tune.runner.torch_code import on_program_inputs
from prism_explore.tune.space.kernels_at import kernels_at

MAX_LOADED = 64
"""Number of values whose compiled kernels are kept."""


@dataclass(frozen=True, slots=True)
class Point:
    """A value for which a kernel was tuned."""

    value: int
    timed: Timed
    up_to: float
    """The largest value for which this point is the nearest; infinite for the last point."""
    faster_baseline: FasterBaseline | None = None
    """The torch baseline that was faster here and is called instead of the kernel; None where none was."""

    def __str__(self) -> str:
        kernel = self.timed.kernel
        border = "and beyond" if math.isinf(self.up_to) else f"up to {self.up_to:.4g}"
        measured = f"{self.timed.time_s * 1e6:,.0f} us measured at {self.value}"
        instead = (
            f"{self.faster_baseline.baseline.name} runs, not the kernel: {self.faster_baseline}; "
            if self.faster_baseline is not None
            else ""
        )
        return f"{border}: {instead}{kernel.verified.candidate.id} at {kernel.parameters}, {measured}"


class Dispatch:
    """A callable for a range of values of one symbol; `Session.dispatch` returns it."""

    def __init__(
        self,
        program: TensorProgram,
        symbol: str,
        shapes: Mapping[str, int],
        timed: Sequence[tuple[int, Timed]],
        target: Target,
        traced: Traced | None,
        race_rows: Mapping[int, Sequence[BaselineMeasured]] | None = None,
        library_call: LibraryCall | None = None,
    ) -> None:
        """Nothing is compiled yet.

        Args:
            program: the program.
            symbol: the symbol to dispatch on.
            shapes: the values of the other symbols.
            timed: values in ascending order, each with its fastest kernel.
            target: the machine.
            traced: the torch code, if there is any.
            race_rows: per value, the rows of its race, if there was one.
            library_call: the library call among the baselines.
        """
        self.program, self.symbol = program, symbol
        borders = [math.sqrt(a * b) for (a, _), (b, _) in pairwise(timed)]
        self._torch_functions = {} if traced is None else {EAGER: traced.reference}
        if traced is not None and library_call is not None:
            self._torch_functions[LIBRARY] = library_call.in_place_of(traced)
        self.points = tuple(
            Point(n, t, upto, find_faster_baseline((race_rows or {}).get(n, ()), available=self._torch_functions))
            for (n, t), upto in zip(timed, (*borders, math.inf), strict=True)
        )
        self._shapes, self._target = dict(shapes), target
        self._signature = None if traced is None else traced.signature
        self._parameters: Mapping[str, Any] = {} if traced is None else traced.parameters
        self._reference = None if traced is None else on_program_inputs(traced)
        self._masked_rows = MaskedRows(program)
        self._symbol_dim = _find_dim(program, symbol)
        self._loaded: OrderedDict[int, Loaded | str] = OrderedDict()
        self._lock = Lock()
        self._warned = False

    @property
    def range(self) -> tuple[int, int]:
        """The smallest and the largest value for which there are kernels."""
        return self.points[0].value, self.points[-1].value

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The result, computed by the kernel for the symbol's value, or by torch where that was faster.

        Torch also runs outside the range and where no kernel is legal. NumPy arrays are computed by the kernel where
        there is one.

        Raises:
            ShapeError: an argument is missing, a dim, dtype or stride does not fit, or there is no torch code to
                fall back to.
        """
        inputs = bind_inputs(self._signature, args, kwargs, self._parameters)
        value = self._value(inputs)
        kernel = self.kernel(value)
        faster = None if isinstance(kernel, str) else self.at(value).faster_baseline
        if isinstance(kernel, str):
            found = self._call_torch(inputs, kernel)
        elif faster is None or self._signature is None or any(isinstance(x, np.ndarray) for x in inputs):
            found = self._call_kernel(kernel, inputs, value)
        else:
            with suppress(PositionError):  # torch takes negative positions, and names others
                kernel.check(*inputs)
            return self._torch_functions[faster.baseline.name](*self._signature.in_order(args, kwargs))
        return with_structure(self._signature, found, args, kwargs, self._parameters)

    def _call_kernel(self, kernel: Loaded, inputs: Sequence[Any], value: int) -> Any:
        """The kernel's result, or torch's for a call that the proof excludes."""
        try:
            if self._masked_rows.are_excluded(kernel, inputs, {**self._shapes, self.symbol: value}):
                return self._masked_rows.call_torch(self._reference, inputs)
            return call_with_gradient(kernel, self._reference, inputs)
        except PositionError as error:
            return call_torch(self.program.name, self._reference, inputs, str(error), str(error))

    def at(self, value: int) -> Point:
        """The point whose kernel is used for a value.

        Args:
            value: a value of the symbol.

        Returns:
            The nearest point, by ratio.
        """
        return next(point for point in self.points if value <= point.up_to)

    def kernel(self, value: int) -> Loaded | str:
        """The kernel for a value of the symbol, compiled when it is first needed; or the reason why there is none.

        Args:
            value: a value of the symbol.

        Returns:
            The compiled kernel, or the reason as text.
        """
        low, high = self.range
        if not low <= value <= high:
            return f"{self.symbol}={value} is outside of {low} to {high}, for which kernels were tuned"
        with self._lock:
            if value not in self._loaded:
                self._loaded[value] = self._compile(value)
                if len(self._loaded) > MAX_LOADED:
                    self._loaded.popitem(last=False)
            self._loaded.move_to_end(value)
            return self._loaded[value]

    def _compile(self, value: int) -> Loaded | str:
        shapes = {**self._shapes, self.symbol: value}
        cases = None
        reason = "no sizes are legal there"
        for point in sorted(self.points, key=lambda p: abs(math.log(value / p.value))):
            tuned = point.timed.kernel
            for kernel in islice(kernels_at(tuned.verified, tuned.parameters, shapes, self._target), 1):
                cases = cases or reference_cases(self.program, shapes, 0)
                run = load(kernel)
                checked = check_results(run, cases)
                if not isinstance(checked, Failure):
                    return run
                reason = checked.reason
        return f"{self.symbol}={value}: {reason}"

    def _call_torch(self, inputs: Sequence[Any], reason: str) -> Any:
        if self._reference is None:
            raise ShapeError(f"{reason}, and there is no torch code to fall back to")
        with self._lock:
            warned, self._warned = self._warned, True
        if not warned:
            warnings.warn(f"{self.program.name} runs in torch: {reason}", stacklevel=3)
        return self._reference(*inputs)

    def _value(self, inputs: Sequence[Any]) -> int:
        names = [i.name for i in self.program.inputs]
        if len(inputs) != len(names):
            raise ShapeError(f"{self.program.name} takes {len(names)} inputs ({', '.join(names)}), found {len(inputs)}")
        number, position = self._symbol_dim
        shape = tuple(getattr(inputs[number], "shape", ()))
        if len(shape) <= position:
            raise ShapeError(f"{names[number]!r} must have {self.symbol} as dim {position}, found the shape {shape}")
        return int(shape[position])

    def __repr__(self) -> str:
        low, high = self.range
        head = f"{self.program.name} for {self.symbol} from {low} to {high}; elsewhere torch"
        return "\n".join([head, *(f"  {point}" for point in self.points)])


def _find_dim(program: TensorProgram, symbol: str) -> tuple[int, int]:
    """The position of an input, and of a dim of it that is just the symbol."""
    for number, tensor in enumerate(program.inputs):
        for position, size in enumerate(tensor.type.dims):
            if str(size) == symbol:
                return number, position
    raise ShapeError(f"no input of {program.name} has a dim that is {symbol!r} alone")
