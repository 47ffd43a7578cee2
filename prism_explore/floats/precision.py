"""Working precisions, and the execution of graphs in them.

A graph runs on float32 arrays, all blocks and iterations at once (`ir.interpreter.vectorized`). Blocks and iterations
are added in the candidate's order. Within one tile NumPy chooses the order, which depends on the processor. A program
has no order, so it is run in those of `ORDERS` as well.

float32 is run as it is. bfloat16 and float16 are *emulated*: arrays stay float32, every operator's result is rounded to
the narrower type, and sums are accumulated in float32, as tensor cores do. An accumulator over a loop is rounded once,
after the loop. A fused kernel that keeps values in wider registers loses less than this.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from prism_explore.ir.graph import SGraph
from prism_explore.ir.interpreter import reference
from prism_explore.ir.interpreter.reference import Array, Rounding, exact
from prism_explore.ir.interpreter.vectorized import run_vectorized
from prism_explore.ir.ops import ComputeOp, Lookup, MatMul, Reduce
from prism_explore.ir.tensors import DType


@dataclass(frozen=True, slots=True)
class Precision:
    """One row: an arithmetic in which kernels compute."""

    name: DType
    digits: int
    """Binary digits of the significand, the leading one included."""
    largest: float
    smallest: float
    """Smallest normal number."""
    headroom: float
    """How far below the largest number a result should stay, as a factor."""
    rounded: Rounding

    @property
    def unit(self) -> float:
        """The largest relative error of one rounding: 2^-digits."""
        return 2.0**-self.digits


def _to_bf16(value: Array) -> Array:
    """Round float32 to the nearest number with eight binary digits, ties to even."""
    bits = np.asarray(value, np.float32).view(np.uint32)
    low = np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))
    kept = ((bits + low) & np.uint32(0xFFFF0000)).view(np.float32)
    return np.where(np.isfinite(value), kept, value)


def _to_f16(value: Array) -> Array:
    return np.asarray(value).astype(np.float16).astype(np.float32)


PRECISIONS: tuple[Precision, ...] = (
    Precision("f32", 24, float(np.finfo(np.float32).max), 2.0**-126, 2.0**10, exact),
    Precision("bf16", 8, 3.3895314e38, 2.0**-126, 2.0**10, _to_bf16),
    Precision("f16", 11, 65504.0, 2.0**-14, 2.0**2, _to_f16),
)


def precision(name: DType) -> Precision | None:
    """The row of that name; None for float64, for which there is no wider arithmetic to compare with."""
    return next((p for p in PRECISIONS if p.name == name), None)


Order: TypeAlias = Callable[[int], npt.NDArray[np.intp]]
"""The order in which a number of terms is added, as their positions."""


def _even_places_first(terms: int) -> npt.NDArray[np.intp]:
    return np.concatenate((np.arange(0, terms, 2), np.arange(1, terms, 2)))


def _shuffled(terms: int, number: int = 0) -> npt.NDArray[np.intp]:
    return np.random.default_rng(terms + number).permutation(terms)


ORDERS: tuple[Order | None, ...] = (None, _even_places_first, _shuffled)
"""A program's error is the worst of these orders, because an order may add cancelling neighbours first by chance."""
MORE_ORDERS: tuple[Order | None, ...] = (*ORDERS, *(partial(_shuffled, number=n) for n in range(1, 9)))
"""What a candidate is compared with before it is called unsafe: all of `ORDERS` may round alike by chance."""


def run(
    graph: SGraph,
    inputs: Mapping[str, Array],
    sizes: Mapping[str, int],
    working: Precision,
    cautious: bool = False,
    order: Order | None = None,
) -> Array:
    """The result in the working precision, as float64 numbers; infinities and NaN stay.

    Args:
        graph: closed.
        inputs: float64 arrays of numbers of the precision (see `representable`).
        sizes: a number for every symbol.
        working: the precision.
        cautious: whether results near the ends of the range count as beyond them: denormal ones become 0, and positive
            ones above `largest / headroom` infinite.
        order: of the sums in the kernel graph's own matrix products and reductions; NumPy's if None.
    """
    given = {name: x if x.dtype.kind == "i" else x.astype(np.float32) for name, x in inputs.items()}

    def restrict(value: Array) -> Array:
        value = working.rounded(value)
        value = np.where(np.abs(value) < working.smallest, np.zeros_like(value), value)
        # Only positive ones: masks put the most negative number.
        return np.where(value > working.largest / working.headroom, np.full_like(value, np.inf), value)

    with np.errstate(all="ignore"):
        rounded = restrict if cautious else working.rounded
        compute = partial(_in_order, order) if order else None
        values = reference.run(graph, given, sizes, rounded, run_vectorized, compute)
    return values[graph.output].astype(np.float64)


def _in_order(order: Order, op: ComputeOp | Lookup, args: list[Array], sizes: Mapping[str, int]) -> Array:
    """The result of an operator on operands whose summed dim is permuted."""
    match op:
        case MatMul():
            a, b = args
            places = order(a.shape[-1])
            args = [np.take(a, places, axis=-1), np.take(b, places, axis=-2)]
        case Reduce(_, along):
            args = [np.take(args[0], order(args[0].shape[along]), axis=along)]
        case _:
            pass
    return reference.apply(op, args, sizes)


def run_exactly(graph: SGraph, inputs: Mapping[str, Array], sizes: Mapping[str, int]) -> Array:
    """The result in float64, with which the working precision is compared."""
    with np.errstate(all="ignore"):
        return reference.run(graph, inputs, sizes, blocks=run_vectorized)[graph.output]


def representable(value: Array, working: Precision) -> Array:
    """The nearest numbers of the precision, as float64, clipped to its range."""
    within = np.clip(value, -working.largest, working.largest).astype(np.float32)
    return working.rounded(within).astype(np.float64)
