"""Resampling along dims: nearest, linear and cubic interpolation, as weighted sums of slices.

Each position of the new dim is a weighted sum of a few positions of the old one. Weights depend on positions only, so
they are exact constants of the program.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from math import floor
from typing import Any, TypeAlias, cast

from prism_explore.frontend.aten import constants
from prism_explore.frontend.aten.rearrange import MOST_PIECES
from prism_explore.frontend.aten.views import repeat_dim
from prism_explore.frontend.lower_aten import Row, Translation, Value
from prism_explore.ir.dims import ZERO

Taps: TypeAlias = tuple[tuple[int, Fraction], ...]
"""The old positions that a new one is made of, and their weights."""
Kernel: TypeAlias = Callable[[Fraction], tuple[tuple[int, Fraction], ...]]
"""The taps of a place between two positions, which may lie outside of the dim."""
_CUBIC = Fraction(-3, 4)
"""The free coefficient of torch's cubic convolution. Source: Keys, Cubic Convolution Interpolation, 1981."""


def _linear(place: Fraction) -> Taps:
    first = floor(place)
    return (first, first + 1 - place), (first + 1, place - first)


def _cubic(place: Fraction) -> Taps:
    first = floor(place)
    return tuple((n, _cubic_weight(abs(place - n))) for n in range(first - 1, first + 3))


def _cubic_weight(x: Fraction) -> Fraction:
    a = _CUBIC
    return (a + 2) * x**3 - (a + 3) * x**2 + 1 if x <= 1 else a * x**3 - 5 * a * x**2 + 8 * a * x - 4 * a


def _merged(taps: Taps, extent: int) -> Taps:
    """Taps within the dim: beyond its ends, the last position counts. Weights of 0 are left out."""
    weights: dict[int, Fraction] = {}
    for n, weight in taps:
        inside = min(max(n, 0), extent - 1)
        weights[inside] = weights.get(inside, Fraction(0)) + weight
    return tuple((n, w) for n, w in sorted(weights.items()) if w)


def resampled(t: Translation, value: Value, along: int, rows: Sequence[Taps]) -> Value:
    """A dim of which each new position is a weighted sum of old ones."""
    if len(rows) > MOST_PIECES:
        raise t.unsupported(f"resampling to {len(rows)} positions", f"up to {MOST_PIECES} are supported")

    def part(n: int, weight: Fraction) -> int:
        piece = t.at(t.sliced(value, along, ZERO + n, ZERO + (n + 1)))
        return piece if weight == 1 else t.build.scalar("mul", piece, weight, t.line)

    pieces: list[int] = []
    for row in rows:
        out, *rest = (part(n, weight) for n, weight in row)
        for other in rest:
            out = t.build.binary("add", out, other, t.line)
        pieces.append(out)
    return t.concatenated(pieces, along)


def _lengths(t: Translation, x: Any, sizes: Any, scales: Sequence[Any], rank: int) -> list[tuple[int, int, float]]:
    """Per resampled dim its length, the new one, and the distance of two new positions in old ones."""
    dims = t.dims(x)[-rank:]
    in_list = next((cast("Sequence[Any]", s) for s in scales if isinstance(s, Sequence)), None)
    listed: Sequence[Any] = in_list or (scales if len(scales) == rank else [None] * rank)
    found: list[tuple[int, int, float]] = []
    for d, scale, n in zip(dims, listed, range(rank), strict=True):
        size = t.size(sizes[n]).constant if sizes is not None else None
        if d.constant is None or (sizes is not None and size is None):
            raise t.unsupported(f"resampling a dim of {d}", "give the dim a number")
        new = size if size is not None else floor(d.constant * float(scale or 1))
        found.append((d.constant, new, 1 / float(scale) if scale else d.constant / new))
    return found


def _nearest(is_exact: bool, rank: int) -> Callable[..., Value]:
    def lower(t: Translation, x: Any, sizes: Any, *scales: Any) -> Value:
        value, first = t.value(x), len(t.dims(x)) - rank
        repeated = None if is_exact else _whole_factors(t, x, sizes, scales, rank)
        if repeated is not None:
            for n, factor in enumerate(repeated):
                value = repeat_dim(t, value, first + n, factor, each=True)
            return value
        for n, (extent, new, step) in enumerate(_lengths(t, x, sizes, scales, rank)):
            places = [min(floor((i + is_exact / 2) * step), extent - 1) for i in range(new)]
            value = resampled(t, value, first + n, [((p, Fraction(1)),) for p in places])
        return value

    return lower


def _whole_factors(t: Translation, x: Any, sizes: Any, scales: Sequence[Any], rank: int) -> Any:
    """How often each element is repeated; None where that is no whole number."""
    if sizes is None:
        given = cast("Sequence[float]", next(s for s in scales if s is not None))
        return [constants.integer_dim(int(s)) for s in given] if all(s == int(s) for s in given) else None
    factors = [t.size(s) / d for s, d in zip(sizes, t.dims(x)[-rank:], strict=True)]
    return factors if all(c.denominator == 1 for f in factors for _, c in f.terms) else None


def _interpolated(kernel: Kernel, clamps: bool, rank: int) -> Callable[..., Value]:
    """Interpolation with a kernel; `clamps`: places before the first position count as that."""

    def lower(t: Translation, x: Any, sizes: Any, align_corners: bool, *scales: Any) -> Value:
        value, first = t.value(x), len(t.dims(x)) - rank
        for n, (extent, new, step) in enumerate(_lengths(t, x, sizes, scales, rank)):
            rows: list[Taps] = []
            for i in range(new):
                if align_corners:
                    place = Fraction(i * (extent - 1), new - 1) if new > 1 else Fraction(0)
                else:
                    place = (i + Fraction(1, 2)) * Fraction(step).limit_denominator(1 << 20) - Fraction(1, 2)
                rows.append(_merged(kernel(max(place, Fraction(0)) if clamps else place), extent))
            value = resampled(t, value, first + n, rows)
        return value

    return lower


RESAMPLE_ROWS: tuple[Row, ...] = (
    *(Row(f"upsample_nearest{n}d", "nn.functional.interpolate", _nearest(False, n)) for n in (1, 2, 3)),
    *(Row(f"_upsample_nearest_exact{n}d", "nn.functional.interpolate", _nearest(True, n)) for n in (1, 2, 3)),
    *(
        Row(f"upsample_{name}", "nn.functional.interpolate", _interpolated(_linear, True, n))
        for n, name in enumerate(("linear1d", "bilinear2d", "trilinear3d"), start=1)
    ),
    Row("upsample_bicubic2d", "nn.functional.interpolate", _interpolated(_cubic, False, 2)),
)
