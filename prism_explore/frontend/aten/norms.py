"""ATen operators that subtract means and divide by spreads: layer, group, batch, instance and RMS norms."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from math import prod
from typing import Any

from prism_explore.frontend.aten import constants
from prism_explore.frontend.aten.reductions import reduced
from prism_explore.frontend.lower_aten import Row, Translation, Value
from prism_explore.ir.dims import ONE, Dim
from prism_explore.ir.tensors import DType

EPSILON: dict[DType, float] = {"f64": 2.0**-52, "f32": 2.0**-23, "bf16": 2.0**-7, "f16": 2.0**-10}
"""Default eps of torch's rms_norm: the machine epsilon of the dtype."""


def _norm_axes(t: Translation, x: int, shape: Any) -> list[int]:
    rank = len(t.build.type_of(x).dims)
    return list(range(rank - len(shape), rank))


def _rms_norm(t: Translation, x: Any, shape: Any, weight: Any = None, eps: float | None = None) -> Value:
    b, tensor = t.build, t.tensor(x)
    axes = _norm_axes(t, tensor, shape)
    # Without eps, torch uses the dtype's machine epsilon.
    epsilon = Fraction(repr(eps if eps is not None else EPSILON[t.traced_dtype(x) or b.type_of(tensor).dtype]))
    if epsilon or len(axes) > 1:
        mean = t.at(reduced(t, "mean", b.unary("square", tensor, t.line), axes, keepdim=True))
        norm = b.unary("sqrt", b.scalar("add", mean, epsilon, t.line) if epsilon else mean, t.line)
    else:
        norm = b.reduce("rms", tensor, axes[0], t.line)
    out = b.binary("div", tensor, norm, t.line)
    return out if weight is None else b.binary("mul", out, t.tensor(weight), t.line)


def _normalized(t: Translation, x: int, axes: Sequence[int], eps: float) -> tuple[int, int, int]:
    """x minus its mean over its spread, the mean, and the spread; dims are kept."""
    mean = t.at(reduced(t, "mean", x, axes, keepdim=True))
    centred = t.build.binary("sub", x, mean, t.line)
    variance = t.at(reduced(t, "mean", t.build.unary("square", centred, t.line), axes, keepdim=True))
    return t.build.binary("div", centred, spread := _spread(t, variance, eps), t.line), mean, spread


def _spread(t: Translation, variance: int, eps: float) -> int:
    return t.build.unary("sqrt", t.build.scalar("add", variance, Fraction(repr(eps)), t.line), t.line)


def _affine(t: Translation, x: int, weight: Any, bias: Any, shape: Sequence[Dim] | None = None) -> int:
    """x times the weight plus the bias, where they are given; `shape` is what both are seen as."""
    for fn, factor in (("mul", weight), ("add", bias)):
        if factor is not None:
            operand = t.tensor(factor) if shape is None else t.at(t.reshaped(t.value(factor), shape))
            x = t.build.binary("mul" if fn == "mul" else "add", x, operand, t.line)
    return x


def _layer_norm(
    t: Translation, x: Any, shape: Any, weight: Any = None, bias: Any = None, eps: float = 1e-5, *_: Any
) -> Value:
    tensor = t.tensor(x)
    return _affine(t, _normalized(t, tensor, _norm_axes(t, tensor, shape), eps)[0], weight, bias)


def _native_layer_norm(t: Translation, x: Any, shape: Any, weight: Any, bias: Any, eps: float) -> Value:
    tensor = t.tensor(x)
    out, mean, spread = _normalized(t, tensor, _norm_axes(t, tensor, shape), eps)
    return _affine(t, out, weight, bias), mean, t.build.unary("recip", spread, t.line)


def _channels(t: Translation, x: Any) -> tuple[Dim, ...]:
    """The shape in which a tensor of one number per channel (dim 1) meets x."""
    dims = t.dims(x)
    return (dims[1], *(ONE for _ in dims[2:]))


def _group_norm(
    t: Translation, x: Any, groups: int, weight: Any = None, bias: Any = None, eps: float = 1e-5, *_: Any
) -> Value:
    dims = t.dims(x)
    count = constants.integer_dim(int(groups))
    rest = prod(dims[2:], start=dims[1] / count)
    out = _normalized(t, t.at(t.reshaped(t.value(x), (dims[0], count, rest))), [2], eps)[0]
    return _affine(t, t.at(t.reshaped(out, dims)), weight, bias, _channels(t, x))


def _native_group_norm(
    t: Translation, x: Any, weight: Any, bias: Any, batch: Any, channels: Any, size: Any, groups: int, eps: float
) -> Value:
    dims, sizes = t.dims(x), (t.size(batch), constants.integer_dim(int(groups)))
    rest = t.size(channels) * t.size(size) / sizes[1]
    out, mean, spread = _normalized(t, t.at(t.reshaped(t.value(x), (*sizes, rest))), [2], eps)
    out = _affine(t, t.at(t.reshaped(out, dims)), weight, bias, _channels(t, x))
    return out, t.reshaped(mean, sizes), t.reshaped(t.build.unary("recip", spread, t.line), sizes)


def _running_norm(t: Translation, x: Any, weight: Any, bias: Any, mean: Any, variance: Any, eps: float) -> Value:
    """The norm with a mean and a variance per channel that are given."""
    shape, b = _channels(t, x), t.build
    centred = b.binary("sub", t.tensor(x), t.at(t.reshaped(t.value(mean), shape)), t.line)
    spread = _spread(t, t.at(t.reshaped(t.value(variance), shape)), eps)
    return _affine(t, b.binary("div", centred, spread, t.line), weight, bias, shape)


def _norm_per_channel(what: str, first: int) -> Callable[..., Value]:
    """A norm over the dims from `first` on but that of channels, or with a mean and a variance that are passed."""

    def lower(
        t: Translation,
        x: Any,
        weight: Any,
        bias: Any,
        mean: Any,
        variance: Any,
        of_input: bool,
        _momentum: float,
        eps: float,
        *_: Any,
    ) -> Value:
        if not of_input:
            return _running_norm(t, x, weight, bias, mean, variance, eps)
        if mean is not None:
            raise t.unsupported(f"{what} that updates its running mean", "call module.eval() first")
        axes = [a for a in range(first, len(t.dims(x))) if a != 1]
        return _affine(t, _normalized(t, t.tensor(x), axes, eps)[0], weight, bias, _channels(t, x))

    return lower


NORM_ROWS: tuple[Row, ...] = (
    Row("rms_norm", "nn.functional.rms_norm", _rms_norm),
    Row("layer_norm", "nn.functional.layer_norm", _layer_norm),
    Row("native_layer_norm", "native_layer_norm", _native_layer_norm),
    Row("group_norm", "nn.functional.group_norm", _group_norm),
    Row("native_group_norm", "native_group_norm", _native_group_norm),
    Row("batch_norm", "nn.functional.batch_norm", _norm_per_channel("batch_norm", 0)),
    Row("instance_norm", "nn.functional.instance_norm", _norm_per_channel("instance_norm", 2)),
)
