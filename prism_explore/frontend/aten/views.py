"""ATen operators that move elements: each in terms of permute, reshape, expand, slice and concat."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any, cast

from prism_explore.frontend.lower_aten import Row, Translation, Value, infer_size
from prism_explore.ir.dims import ONE, ZERO, Dim
from prism_explore.ir.tabulated import FLOAT8_FORMATS
from prism_explore.ir.tensors import WORDS, dtype_name

END = 2**62
"""torch writes `x[a:]` as a slice up to the largest integer."""


def transpose(t: Translation, x: Any, a: Any, b: Any) -> Value:
    """Two dims exchanged."""
    order = list(range(len(t.dims(x))))
    if not order:
        return t.value(x)
    i, j = t.axis(x, a), t.axis(x, b)
    order[i], order[j] = order[j], order[i]
    return t.permuted(t.value(x), order)


def transpose_last_two(t: Translation, x: Any) -> Value:
    """A matrix, or a batch of them, transposed."""
    return transpose(t, x, -2, -1) if len(t.dims(x)) > 1 else t.value(x)


def _permute(t: Translation, x: Any, order: Any) -> Value:
    return t.permuted(t.value(x), [t.axis(x, d) for d in order])


def _reversed(t: Translation, x: Any) -> Value:
    return t.permuted(t.value(x), list(reversed(range(len(t.dims(x))))))


def _movedim(t: Translation, x: Any, source: Any, target: Any) -> Value:
    sources, targets = t.axes_in_order(x, source), t.axes_in_order(x, target)
    rest = iter([d for d in range(len(t.dims(x))) if d not in sources])
    order = [sources[targets.index(d)] if d in targets else next(rest) for d in range(len(t.dims(x)))]
    return t.permuted(t.value(x), order)


def _view(t: Translation, x: Any, sizes: Any, *_: Any) -> Value:
    if str(sizes).startswith("torch."):
        return _bits_read_as(t, x, dtype_name(sizes))
    return t.reshaped(t.value(x), infer_size([t.size(s) for s in sizes], t.dims(x)))


def _bits_read_as(t: Translation, x: Any, kind: str) -> Value:
    """The memory of a tensor read as another dtype: of bytes, whether the highest bit is a sign."""
    own = dtype_name(x.meta["val"].dtype)
    if own == kind or {own, kind} <= FLOAT8_FORMATS | {"uint8"}:
        return t.value(x)
    if own == "uint8" and kind in WORDS and (words := t.words_of_bytes(t.value(x), WORDS[kind])) is not None:
        return words
    found = t.wrapped_around(t.tensor(x), kind) if {own, kind} == {"int8", "uint8"} else None
    if found is None:
        raise t.unsupported(f"the bits of {own} read as {kind}", "int8 and uint8 can be read as each other")
    return found


def _flatten(t: Translation, x: Any, start: Any = 0, end: Any = -1) -> Value:
    dims, a, b = t.dims(x), t.axis(x, start), t.axis(x, end)
    total = ONE
    for d in dims[a : b + 1]:
        total = total * d
    return t.reshaped(t.value(x), (*dims[:a], total, *dims[b + 1 :]))


def _unflatten(t: Translation, x: Any, d: Any, sizes: Any) -> Value:
    dims, along = t.dims(x), t.axis(x, d)
    parts = infer_size([t.size(s) for s in sizes], (dims[along],))
    return t.reshaped(t.value(x), (*dims[:along], *parts, *dims[along + 1 :]))


def _unsqueeze(t: Translation, x: Any, d: Any) -> Value:
    dims, along = t.dims(x), t.axis(x, d, extra=1)
    return t.reshaped(t.value(x), (*dims[:along], ONE, *dims[along:]))


def _squeeze(t: Translation, x: Any, d: Any = None) -> Value:
    axes = [] if isinstance(d, Sequence) and not d else t.axes(x, d)
    return drop_dims(t, t.value(x), [a for a in axes if t.dims(x)[a].is_one])


def drop_dims(t: Translation, value: Value, removed: Sequence[int]) -> Value:
    """Remove some dims of size 1."""
    return t.reshaped(value, [size for a, size in enumerate(t.dims_of(value)) if a not in removed])


def _expand(t: Translation, x: Any, sizes: Any, **_: Any) -> Value:
    dims = t.dims(x)
    added = len(sizes) - len(dims)
    minus = ZERO - ONE
    wanted = [t.size(s) for s in sizes]
    kept = [dims[n - added] if s == minus else s for n, s in enumerate(wanted)]
    return t.expanded(t.value(x), kept)


def _expand_as(t: Translation, x: Any, other: Any) -> Value:
    return t.expanded(t.value(x), t.dims(other))


def repeat_dim(t: Translation, value: Value, along: int, times: Dim, each: bool) -> Value:
    """Repeat a full dim, or with `each` every element in place."""
    if times.is_one:
        return value
    dims = t.dims_of(value)
    before, size, after = dims[:along], dims[along], dims[along + 1 :]
    pair = (size, ONE) if each else (ONE, size)
    wide = (size, times) if each else (times, size)
    split = t.reshaped(value, (*before, *pair, *after))
    return t.reshaped(t.expanded(split, (*before, *wide, *after)), (*before, size * times, *after))


def _repeat(t: Translation, x: Any, times: Any) -> Value:
    out, dims = t.value(x), t.dims(x)
    out = t.reshaped(out, (ONE,) * (len(times) - len(dims)) + dims)
    for along, n in enumerate(times):
        out = repeat_dim(t, out, along, t.size(n), each=False)
    return out


def _repeat_interleave(t: Translation, x: Any, times: Any, d: Any = None, **_: Any) -> Value:
    if d is None:
        flat = t.reshaped(t.value(x), (prod(t.dims(x), start=ONE),))
        return repeat_dim(t, flat, 0, t.size(times), each=True)
    return repeat_dim(t, t.value(x), t.axis(x, d), t.size(times), each=True)


def slice_bound(t: Translation, x: Any, along: int, value: Any, default: Dim) -> Dim:
    """A slice's start or stop as a position within a dim; negative ones count from its end."""
    if value is None or (isinstance(value, int) and value > END):
        return default
    extent, size = t.dims(x)[along], t.size(value)
    negative = size.constant is not None and size.constant < 0
    size = extent + size if negative else size
    below, beyond = size.constant, (size - extent).constant
    if below is not None and below < 0:
        return ZERO
    return extent if beyond is not None and beyond > 0 else size


def _narrow(t: Translation, x: Any, d: Any, start: Any, length: Any) -> Value:
    first = t.size(start)
    return t.sliced(t.value(x), t.axis(x, d), first, first + t.size(length))


def _select(t: Translation, x: Any, d: Any, position: Any) -> Value:
    along = t.axis(x, d)
    first = t.size(position)
    if first.constant is not None and first.constant < 0:
        first = t.dims(x)[along] + first
    return drop_dims(t, t.sliced(t.value(x), along, first, first + 1), [along])


def _slices(t: Translation, x: Any, along: int, lengths: Sequence[Dim]) -> Value:
    out: list[Value] = []
    start = ZERO
    for length in lengths:
        out.append(t.sliced(t.value(x), along, start, start + length))
        start = start + length
    return tuple(out)


def _equal_slices(t: Translation, x: Any, along: int, each: int) -> Value:
    total = t.dims(x)[along].constant
    if total is None:
        raise t.unsupported("a symbolic dim in parts", "name the sizes of the parts")
    return _slices(t, x, along, [ONE * min(each, total - s) for s in range(0, total, each)])


def _split(t: Translation, x: Any, size: Any, d: Any = 0) -> Value:
    if isinstance(size, Sequence):
        return _slices(t, x, t.axis(x, d), [t.size(s) for s in cast("Sequence[Any]", size)])
    return _equal_slices(t, x, t.axis(x, d), int(size))


def _chunk(t: Translation, x: Any, count: Any, d: Any = 0) -> Value:
    along = t.axis(x, d)
    total = t.dims(x)[along].constant
    if total is None:
        raise t.unsupported("a symbolic dim in chunks", "name the sizes of the chunks")
    return _equal_slices(t, x, along, -(-total // int(count)))


def _cat(t: Translation, parts: Any, d: Any = 0) -> Value:
    return t.concatenated([t.tensor(p) for p in parts], t.axis(parts[0], d))


def _stack(t: Translation, parts: Any, d: Any = 0) -> Value:
    along = t.axis(parts[0], d, extra=1)
    return t.concatenated([t.at(_unsqueeze(t, p, along)) for p in parts], along)


def _same(t: Translation, x: Any, *_: Any, **__: Any) -> Value:
    return t.value(x)


def _rows(lower: Callable[..., Value], torch: str, *aten: str) -> tuple[Row, ...]:
    return tuple(Row(name, torch, lower) for name in aten or (torch,))


VIEW_ROWS: tuple[Row, ...] = (
    *_rows(transpose, "transpose", "transpose", "swapaxes", "swapdims"),
    *_rows(transpose_last_two, "t", "t", "mT"),
    *_rows(_permute, "permute"),
    *_rows(_reversed, "T", "numpy_T"),
    *_rows(_movedim, "movedim"),
    *_rows(_view, "view"),
    *_rows(_view, "reshape"),
    *_rows(_flatten, "flatten"),
    *_rows(_unflatten, "unflatten"),
    *_rows(_unsqueeze, "unsqueeze"),
    *_rows(_squeeze, "squeeze"),
    *_rows(_expand, "expand"),
    *_rows(_expand_as, "expand_as"),
    *_rows(_repeat, "repeat"),
    *_rows(_repeat_interleave, "repeat_interleave"),
    *_rows(_narrow, "narrow"),
    *_rows(_select, "x[i]", "select"),
    *_rows(_split, "split", "split", "split_with_sizes"),
    *_rows(_chunk, "chunk"),
    *_rows(_cat, "cat", "cat", "concat", "concatenate"),
    *_rows(_stack, "stack"),
    *_rows(_same, "contiguous"),
    *_rows(_same, "detach"),
)
