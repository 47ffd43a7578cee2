"""Which tensors may have infinite elements because a mask covers them.

A masked element stands for minus infinity, and is a large negative number in a kernel (`elementwise.masked_value`). An
exponential or a maximum makes the same of both. All else keeps them apart, so a result must not have one: torch's
is infinite, or no number.

    low, high    an element may be minus infinity, or infinity
    unknown      an element may be what torch computes from infinities in another way, such as inf - inf

A row of which a mask keeps nothing is excluded, as in proofs: a maximum over a dim has no masked element.
"""

from __future__ import annotations

from enum import Flag
from fractions import Fraction
from math import inf, isfinite, isinf, isnan
from typing import assert_never

import numpy as np

from prism_explore.ir.elementwise import UNARY, BinaryFn, UnaryFn, masked_value
from prism_explore.ir.graph import SGraph
from prism_explore.ir.ops import (
    Accumulate,
    AccumulateRescaled,
    Band,
    Binary,
    Concat,
    Custom,
    Expand,
    Input,
    Load,
    Lookup,
    MatMul,
    Op,
    Permute,
    Reduce,
    Reshape,
    Result,
    RunningMax,
    Scalar,
    ScalarFn,
    Scan,
    Slice,
    Store,
    Unary,
)

MASKED = masked_value(np.dtype(np.float32))
"""What a masked element is in a kernel; numbers of a thousandth of it are not taken for it."""
NEAR = -MASKED / 1024


class Entries(Flag):
    """Elements that a tensor may have besides finite numbers."""

    FINITE = 0
    LOW = 1
    HIGH = 2
    UNKNOWN = 4


def masked_entries(graph: SGraph) -> tuple[Entries, ...]:
    """Per node of a graph without custom kernels, what elements it may have because of masks.

    Args:
        graph: a program.

    Returns:
        One value per node. Inputs have finite elements only.

    Example:
        >>> from prism_explore.ir.program import ProgramBuilder
        >>> build = ProgramBuilder("masked")
        >>> x, keep = build.input("x", 4, 4), build.band(4, 4, None, 0)
        >>> scores = build.binary("mask", x, keep)
        >>> [e.name for e in masked_entries(build.build(build.unary("exp", scores)).graph)]
        ['FINITE', 'FINITE', 'LOW', 'FINITE']
    """
    found: list[Entries] = []
    for node in graph.nodes:
        found.append(_entries(node.op, [found[a] for a in node.args]))
    return tuple(found)


def _entries(op: Op, args: list[Entries]) -> Entries:
    match op:
        case Input() | Band():
            return Entries.FINITE
        case Unary(fn):
            return _through(fn, args[0])
        case Scalar(fn, value):
            return _scalar(fn, value, args[0])
        case Binary(fn):
            return _binary(fn, args[0], args[1])
        case Reduce("max"):
            return args[0] & ~Entries.LOW
        case Reduce("sum" | "mean") | Scan():
            return _one_sided(args[0])
        case Concat():
            return args[0] | args[1]
        case Lookup() | Permute() | Reshape() | Expand() | Slice():
            return args[0]
        case Reduce() | MatMul() | Custom() | Result():
            return Entries.UNKNOWN if any(args) else Entries.FINITE
        case Load() | Store() | Accumulate() | AccumulateRescaled() | RunningMax():
            raise AssertionError("SGraph refuses block-level operators")
        case _:
            assert_never(op)


def _one_sided(a: Entries) -> Entries:
    """A sum of elements: infinities of both signs have none."""
    return a if a in (Entries.FINITE, Entries.LOW, Entries.HIGH) else Entries.UNKNOWN


def _negated(a: Entries) -> Entries:
    low = Entries.HIGH if a & Entries.LOW else Entries.FINITE
    high = Entries.LOW if a & Entries.HIGH else Entries.FINITE
    return low | high | (a & Entries.UNKNOWN)


def _scalar(fn: ScalarFn, value: Fraction, a: Entries) -> Entries:
    match fn:
        case _ if not a:
            return a
        case "add":
            return a
        case "mul" if value:
            return a if value > 0 else _negated(a)
        case "max" if value > -NEAR:
            return a & ~Entries.LOW
        case "min" if value < NEAR:
            return a & ~Entries.HIGH
        case _:
            return Entries.UNKNOWN


def _binary(fn: BinaryFn, a: Entries, b: Entries) -> Entries:
    match fn:
        case "mask":
            return Entries.UNKNOWN if b else a | Entries.LOW
        case "keep" | "drop":
            return Entries.UNKNOWN if b else a
        case "add":
            return _one_sided(a | b)
        case "sub":
            return _one_sided(a | _negated(b))
        case "max":
            return a & b & Entries.LOW | (a | b) & ~Entries.LOW
        case "min":
            return a & b & Entries.HIGH | (a | b) & ~Entries.HIGH
        case _:
            return Entries.UNKNOWN if a | b else Entries.FINITE


def _through(fn: UnaryFn, a: Entries) -> Entries:
    """What a function makes of infinities; unknown where a kernel's large number becomes something else."""
    found = a & Entries.UNKNOWN
    for side, sign in ((Entries.LOW, -1.0), (Entries.HIGH, 1.0)):
        if a & side:
            with np.errstate(all="ignore"):
                limit, ours = (float(UNARY[fn].numpy(np.float64(sign * x))) for x in (inf, -MASKED))
            if isnan(limit) or isnan(ours) or isfinite(limit) != (abs(ours) < NEAR):
                found |= Entries.UNKNOWN
            elif isinf(limit):
                found |= Entries.HIGH if limit > 0 else Entries.LOW
            elif abs(limit - ours) > 1e-6:
                found |= Entries.UNKNOWN
    return found
