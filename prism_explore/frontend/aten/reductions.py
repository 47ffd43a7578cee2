"""ATen operators that reduce dims: sums, extrema, variances, norms of vectors, and prefix sums."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any

from prism_explore.frontend.aten import constants
from prism_explore.frontend.aten.formula_rows import expressed
from prism_explore.frontend.aten.views import drop_dims
from prism_explore.frontend.lower_aten import Flipped, Row, Translation, Unused, Value
from prism_explore.ir.dims import ONE, ZERO
from prism_explore.ir.ops import ReduceFn

LONGEST_UNROLLED = 64
"""The longest dim over which a product or a prefix is unrolled to slices."""


def reduced(t: Translation, fn: ReduceFn, x: int, axes: Sequence[int], keepdim: bool) -> Value:
    """Reduce over several dims in turn; they are removed unless `keepdim`."""
    for along in axes:
        x = t.build.reduce(fn, x, along, t.line)
    return _finished(t, x, axes, keepdim)


def _finished(t: Translation, x: int, axes: Sequence[int], keepdim: bool) -> Value:
    """The result of a reduction, of which the dims that were reduced are removed unless `keepdim`."""
    return x if keepdim else drop_dims(t, x, axes)


def reduction(fn: ReduceFn) -> Callable[..., Value]:
    """The lowering of a reduction that the program has."""

    def lower(t: Translation, x: Any, dims: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Value:
        t.check_cast(x, dtype)
        return reduced(t, fn, t.tensor(x), t.axes(x, dims), keepdim)

    return lower


def least(t: Translation, x: int, axes: Sequence[int]) -> int:
    """The minimum over some dims, which are kept."""
    greatest = t.at(reduced(t, "max", t.build.unary("neg", x, t.line), axes, keepdim=True))
    return t.build.unary("neg", greatest, t.line)


def minimum(t: Translation, x: Any, dims: Any = None, keepdim: bool = False) -> Value:
    """torch.amin."""
    axes = t.axes(x, dims)
    out = least(t, t.tensor(x), axes)
    return _finished(t, out, axes, keepdim)


def variance_of(t: Translation, x: int, axes: Sequence[int], correction: float) -> int:
    """Mean of squared differences from the mean, all dims kept."""
    b = t.build
    centred = b.binary("sub", x, t.at(reduced(t, "mean", x, axes, keepdim=True)), t.line)
    square = b.unary("square", centred, t.line)
    variance = t.at(reduced(t, "mean", square, axes, keepdim=True))
    if not correction:
        return variance
    count = ONE
    for a in axes:
        count = count * b.type_of(x).dims[a]
    n, removed = count.constant, Fraction(repr(correction))
    if n is None:
        total = b.binary("mul", variance, t.tensor_of(count), t.line)
        return b.binary("div", total, t.tensor_of(t.of_sizes("sub", count, correction)), t.line)
    if n <= removed:
        raise t.unsupported(f"a variance of {n} elements with correction {correction}", "it divides by 0")
    return b.scalar("mul", variance, n / (n - removed), t.line)


def _var(root: bool) -> Callable[..., Value]:
    def lower(
        t: Translation,
        x: Any,
        dims: Any = None,
        unbiased: bool = True,
        keepdim: bool = False,
        *,
        correction: float | None = None,
    ) -> Value:
        if isinstance(dims, bool):
            dims, unbiased = None, dims
        degrees = correction if correction is not None else int(unbiased)
        axes = t.axes(x, dims)
        out = variance_of(t, t.tensor(x), axes, degrees)
        out = t.build.unary("sqrt", out, t.line) if root else out
        return _finished(t, out, axes, keepdim)

    return lower


def _var_mean(root: bool) -> Callable[..., Value]:
    def lower(
        t: Translation, x: Any, dims: Any = None, unbiased: Any = True, keepdim: bool = False, **named: Any
    ) -> Value:
        spread = _var(root)(t, x, dims, unbiased, keepdim, **named)
        # The overload of all dims has `unbiased` in the place of `dims`.
        axes = t.axes(x, None if isinstance(dims, bool) else dims)
        return spread, reduced(t, "mean", t.tensor(x), axes, keepdim)

    return lower


# ---------------------------------------------------------------- logarithms of sums
def _log_of_sum(t: Translation, x: int, axes: Sequence[int]) -> tuple[int, int, int]:
    """The maximum of x, x minus that, and the logarithm of the sum of its exponentials, all dims kept."""
    most = t.at(reduced(t, "max", x, axes, keepdim=True))
    shifted = t.build.binary("sub", x, most, t.line)
    total = t.at(reduced(t, "sum", t.build.unary("exp", shifted, t.line), axes, keepdim=True))
    return most, shifted, t.build.unary("log", total, t.line)


def _logsumexp(t: Translation, x: Any, dims: Any, keepdim: bool = False) -> Value:
    if not t.dims(x):
        return t.tensor(x)  # of one number, which may be minus infinity
    tensor, axes = t.tensor(x), t.axes(x, dims)
    most, _, log = _log_of_sum(t, tensor, axes)
    out = t.build.binary("add", log, most, t.line)
    return _finished(t, out, axes, keepdim)


def _log_softmax(t: Translation, x: Any, d: Any, dtype: Any = None) -> Value:
    if not isinstance(dtype, bool):
        t.check_cast(x, dtype)
    if not t.dims(x):
        return t.build.scalar("mul", t.tensor(x), 0, t.line)
    _, shifted, log = _log_of_sum(t, t.tensor(x), [t.axis(x, d)])
    return t.build.binary("sub", shifted, log, t.line)


# ---------------------------------------------------------------- norms of vectors
def vector_norm(t: Translation, x: int, order: float, axes: Sequence[int]) -> int:
    """The p-norm over some dims, which are kept."""
    if order == 2:
        return t.build.unary("sqrt", t.at(reduced(t, "sum", t.build.unary("square", x, t.line), axes, True)), t.line)
    sizes = t.build.unary("abs", x, t.line)
    if order == float("inf"):
        return t.at(reduced(t, "max", sizes, axes, True))
    if order == -float("inf"):
        return least(t, sizes, axes)
    if order == 0:
        sizes = t.build.unary("sign", sizes, t.line)
    elif order != 1:
        sizes = t.build.scalar("pow", sizes, Fraction(repr(order)), t.line)
    total = t.at(reduced(t, "sum", sizes, axes, True))
    return total if order in (0, 1) else t.build.scalar("pow", total, 1 / Fraction(repr(order)), t.line)


def _vector_norm(
    t: Translation, x: Any, order: Any = 2, dims: Any = None, keepdim: bool = False, *, dtype: Any = None
) -> Value:
    t.check_cast(x, dtype)
    axes = t.axes(x, dims)
    out = vector_norm(t, t.tensor(x), float(order), axes)
    return _finished(t, out, axes, keepdim)


def _cosine_similarity(t: Translation, x: Any, y: Any, d: Any = 1, eps: float = 1e-8) -> Value:
    b, floor = t.build, Fraction(repr(eps))
    left, right = t.tensor(x), t.tensor(y)
    shape = b.type_of(b.binary("mul", left, right, t.line)).dims
    left, right = (t.at(t.expanded(v, shape)) for v in (left, right))
    along = int(d) % len(shape)
    norms = [b.scalar("max", vector_norm(t, v, 2, [along]), floor, t.line) for v in (left, right)]
    unit, other = (b.binary("div", v, n, t.line) for v, n in zip((left, right), norms, strict=True))
    return reduced(t, "sum", b.binary("mul", unit, other, t.line), [along], keepdim=False)


def _distances(t: Translation, x: Any, y: Any, order: float = 2.0, *_: Any) -> Value:
    """Norms of the differences of each row of x from each row of y."""
    a, b = t.dims(x), t.dims(y)
    left = t.at(t.reshaped(t.tensor(x), (*a[:-1], ONE, a[-1])))
    right = t.at(t.reshaped(t.tensor(y), (*b[:-2], ONE, *b[-2:])))
    difference = t.build.binary("sub", left, right, t.line)
    last = len(t.dims_of(difference)) - 1
    return drop_dims(t, vector_norm(t, difference, float(order), [last]), [last])


def _pairwise_distances(t: Translation, x: Any, order: float = 2.0) -> Value:
    """Norms of the differences of each row from all later ones."""
    count = _length(t, t.tensor(x), 0, "pdist")
    if count == 1:
        raise t.unsupported("pdist of one row", "it has no element")
    rows = t.tensor(x)
    differences = [
        t.build.binary("sub", _part(t, rows, 0, n, n + 1), _part(t, rows, 0, n + 1, count), t.line)
        for n in range(count - 1)
    ]
    return drop_dims(t, vector_norm(t, t.concatenated(differences, 0), float(order), [1]), [1])


# ---------------------------------------------------------------- truth values
def _some(t: Translation, x: Any, d: Any = None, keepdim: bool = False, *, every: bool = False) -> Value:
    """Where some or all elements are not 0."""
    mask = t.truth_of(x)
    mask = constants.negated(mask) if every else mask
    axes = t.axes(x, d)
    found = t.at(_finished(t, t.at(reduced(t, "max", t.truth(mask), axes, keepdim=True)), axes, keepdim))
    return t.nonzero_mask(found, if_true=not every)


# ---------------------------------------------------------------- products and prefixes
def _length(t: Translation, x: int, along: int, what: str) -> int:
    length = t.build.type_of(x).dims[along].constant
    if length is None or length > LONGEST_UNROLLED:
        raise t.unsupported(
            f"{what} along a dim of {t.build.type_of(x).dims[along]}", f"a number up to {LONGEST_UNROLLED} is supported"
        )
    return length


def _part(t: Translation, x: int, along: int, start: int, stop: int) -> int:
    return t.at(t.sliced(x, along, ZERO + start, ZERO + stop))


def halved(t: Translation, x: int, along: int, combine: Callable[[int, int], int], what: str) -> int:
    """All elements along one dim combined, halves first; the dim is kept."""
    length, rest = _length(t, x, along, what), None
    while length > 1:
        half = length // 2
        if length % 2:
            last = _part(t, x, along, length - 1, length)
            rest = last if rest is None else combine(rest, last)
        x = combine(_part(t, x, along, 0, half), _part(t, x, along, half, 2 * half))
        length = half
    return x if rest is None else combine(x, rest)


def prefixes(t: Translation, x: int, along: int, combine: Callable[[int, int], int], what: str) -> int:
    """Along one dim, each element combined with all before it, in a logarithmic number of steps.

    Source: Hillis and Steele, Data Parallel Algorithms, 1986.
    """
    length, step = _length(t, x, along, what), 1
    while step < length:
        head = _part(t, x, along, 0, step)
        tail = combine(_part(t, x, along, 0, length - step), _part(t, x, along, step, length))
        x, step = t.concatenated([head, tail], along), 2 * step
    return x


def _combination(t: Translation, fn: Any) -> Callable[[int, int], int]:
    return lambda x, y: t.build.binary(fn, x, y, t.line)


def _product(t: Translation, x: Any, d: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Value:
    t.check_cast(x, dtype)
    axes = t.axes(x, d)
    out = t.tensor(x)
    for along in axes:
        out = halved(t, out, along, _combination(t, "mul"), "prod")
    return _finished(t, out, axes, keepdim)


def _cumulative_sum(t: Translation, x: Any, d: Any, *, dtype: Any = None) -> Value:
    t.check_cast(x, dtype)
    dims, along, value = t.dims(x), t.axis(x, d), t.value(x)
    if not dims or dims[along].is_one:
        return value
    if isinstance(value, Flipped):
        return replace(value, tensor=t.build.scan("reverse_cumsum", value.tensor, along, t.line))
    return t.build.scan("cumsum", t.tensor(x), along, t.line)


def _cumulative(what: str, combination: Callable[[Translation], Callable[[int, int], int]]) -> Callable[..., Value]:
    def lower(t: Translation, x: Any, d: Any, *, dtype: Any = None) -> Value:
        t.check_cast(x, dtype)
        if not t.dims(x):
            return t.value(x)
        return prefixes(t, t.tensor(x), t.axis(x, d), combination(t), what)

    return lower


def _cumulative_extremum(fn: Any, what: str) -> Callable[..., Value]:
    values = _cumulative(what, lambda t: _combination(t, fn))

    def lower(t: Translation, x: Any, d: Any) -> Value:
        return values(t, x, d), Unused(f"the positions of {what}")

    return lower


def _log_addition(t: Translation) -> Callable[[int, int], int]:
    return lambda x, y: expressed(t, "max(x, y) + softplus(-abs(x - y))", {"x": x, "y": y})


REDUCTION_ROWS: tuple[Row, ...] = (
    Row("sum", "sum", reduction("sum")),
    Row("mean", "mean", reduction("mean")),
    Row("amax", "amax", reduction("max")),
    Row("amin", "amin", minimum),
    Row("var", "var", _var(root=False)),
    Row("std", "std", _var(root=True)),
    Row("var_mean", "var_mean", _var_mean(root=False)),
    Row("std_mean", "std_mean", _var_mean(root=True)),
    Row("logsumexp", "logsumexp", _logsumexp),
    Row("log_softmax", "log_softmax", _log_softmax),
    Row("_log_softmax", "log_softmax", _log_softmax),
    Row("linalg_vector_norm", "linalg.vector_norm", _vector_norm),
    Row("cosine_similarity", "nn.functional.cosine_similarity", _cosine_similarity),
    Row("cdist", "cdist", _distances),
    Row("_cdist_forward", "cdist", _distances),
    Row("_pdist_forward", "nn.functional.pdist", _pairwise_distances),
    Row("any", "any", _some),
    Row("all", "all", partial(_some, every=True)),
    Row("prod", "prod", _product),
    Row("cumsum", "cumsum", _cumulative_sum),
    Row("cumprod", "cumprod", _cumulative("cumprod", lambda t: _combination(t, "mul"))),
    Row("logcumsumexp", "logcumsumexp", _cumulative("logcumsumexp", _log_addition)),
    Row("cummax", "cummax", _cumulative_extremum("max", "cummax")),
    Row("cummin", "cummin", _cumulative_extremum("min", "cummin")),
)
