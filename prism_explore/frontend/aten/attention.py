"""Softmax, attention, and the masks that go with them."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from prism_explore.frontend.aten import constants
from prism_explore.frontend.aten.constants import DiagonalBand, MaskedConstant
from prism_explore.frontend.aten.views import transpose_last_two
from prism_explore.frontend.lower_aten import Row, Translation, Value
from prism_explore.ir.dims import ONE, ZERO
from prism_explore.ir.tensors import broadcast


def softmax_of(t: Translation, x: int, along: int) -> int:
    """exp(x - max x) over its sum."""
    b = t.build
    e = b.unary("exp", b.binary("sub", x, b.reduce("max", x, along, t.line), t.line), t.line)
    return b.binary("div", e, b.reduce("sum", e, along, t.line), t.line)


def _softmax(t: Translation, x: Any, d: Any, dtype: Any = None) -> Value:
    t.check_cast(x, dtype)
    if not t.dims(x):
        return t.reshaped(softmax_of(t, t.at(t.reshaped(t.tensor(x), (ONE,))), 0), ())
    return softmax_of(t, t.tensor(x), t.axis(x, d))


def _attention(
    t: Translation,
    query: Any,
    key: Any,
    value: Any,
    attn_mask: Any = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Value:
    """softmax(q kᵀ scale + mask) v; with enable_gqa each group of query heads shares one key head."""
    if dropout_p:
        raise t.unsupported("dropout inside attention", "call module.eval() first, or pass dropout_p=0.0")
    q, k, v = t.tensor(query), transpose_last_two(t, key), t.value(value)
    dims = t.dims_of(q)
    if scale is None and dims[-1].constant is not None:
        scale = dims[-1].constant ** -0.5
    b = t.build
    shared = enable_gqa and t.dims_of(k)[-3] != dims[-3]
    if shared:
        # Query heads that share a key head become rows of one matrix, except with a mask, which refers to rows.
        groups = t.dims_of(k)[-3]
        each = dims[-3] / groups
        masked = is_causal or attn_mask is not None
        heads = (groups, each, dims[-2]) if masked else (groups, each * dims[-2])
        q = t.at(t.reshaped(q, (*dims[:-3], *heads, dims[-1])))
        if masked:
            k, v = (t.reshaped(x, (*(o := t.dims_of(x))[:-2], ONE, *o[-2:])) for x in (k, v))
    scores = b.matmul(q, t.at(k), t.line)
    if scale is None:
        scores = b.binary("mul", scores, t.tensor_of(t.of_sizes("pow", dims[-1], -0.5)), t.line)
    elif scale != 1:
        scores = b.scalar("mul", scores, Fraction(repr(scale)), t.line)
    if is_causal:
        here = b.type_of(scores).dims
        causal = MaskedConstant(here[-2:], DiagonalBand(None, ZERO), Fraction(1), Fraction(0), is_boolean=True)
        scores = t.filled(scores, causal, None, where=False)
    if attn_mask is not None:
        scores = _masked(t, scores, attn_mask, dims[-3] if shared else None)
    out = b.matmul(softmax_of(t, scores, len(b.type_of(scores).dims) - 1), t.at(v), t.line)
    return t.reshaped(out, (*dims[:-1], b.type_of(out).dims[-1]))


def _masked(t: Translation, scores: int, mask: Any, heads: Any) -> int:
    mask_value = t.mask(mask) or t.value(mask)
    is_band = isinstance(mask_value, MaskedConstant) and isinstance(mask_value.condition, DiagonalBand)
    if heads is not None and not is_band:
        own = t.dims_of(mask_value)
        if len(own) > 2:
            if own[-3] == heads:
                raise t.unsupported(
                    "a mask per query head together with enable_gqa", "a mask for all heads is supported"
                )
            # One mask for all heads: the group's own dim comes before rows and columns.
            mask_value = t.reshaped(mask_value, (*own[:-2], ONE, *own[-2:]))
    if isinstance(mask_value, MaskedConstant):
        if mask_value.is_boolean:
            return t.filled(scores, mask_value, None, where=False)
        return t.with_constant(scores, mask_value, times=False)
    return t.build.binary("add", scores, t.at(mask_value), t.line)


def _masked_fill(t: Translation, x: Any, mask: Any, value: Any) -> Value:
    mask_value, tensor = t.mask(mask), t.tensor(x)
    if mask_value is None:
        raise t.unsupported("masked_fill with a mask of numbers", "compare it first")
    if t.is_minus_infinity(value, t.traced_dtype(x) or t.build.type_of(tensor).dtype):
        return t.filled(tensor, mask_value, None, where=True)
    constant = t.constant_of(value)
    if constant is None:
        return _select(t, mask_value, t.tensor(value), tensor)
    return t.filled(tensor, mask_value, constant.if_true, where=True)


def _where(t: Translation, mask: Any, x: Any, y: Any) -> Value:
    mask_value = t.mask(mask)
    if mask_value is None:
        raise t.unsupported("where with a condition of numbers", "compare it first")
    if mask_value.is_uniform:
        dims = broadcast(mask_value.dims, broadcast(t.dims(x), t.dims(y), t.line), t.line)
        return t.broadcast_with(t.value(x if mask_value.if_true else y), dims)
    left, right = t.constant_of(x), t.constant_of(y)
    if left is not None and right is not None and left.is_uniform and right.is_uniform:
        if_true, if_false = (left.if_true, right.if_true) if mask_value.if_true else (right.if_true, left.if_true)
        chosen = MaskedConstant(mask_value.dims, mask_value.condition, if_true, if_false)
        return t.broadcast_with(chosen, broadcast(left.dims, right.dims, t.line))
    for kept, other, where in ((x, right, False), (y, left, True)):
        if other is not None and other.is_uniform:
            return t.broadcast_with(t.filled(t.tensor(kept), mask_value, other.if_true, where=where), other.dims)
    return _select(t, mask_value, t.tensor(x), t.tensor(y))


def _select(t: Translation, mask: MaskedConstant, x: int, y: int) -> int:
    """x within the mask and y outside: a sum of both, each 0 where the other is."""
    if mask.is_uniform:
        return t.at(t.broadcast_with(x if mask.if_true else y, mask.dims))
    (least, most), (low, high) = t.range_of(x), t.range_of(y)
    first, second = (x, y) if mask.if_true else (y, x)
    mask = MaskedConstant(mask.dims, mask.condition, Fraction(1), Fraction(0))
    inside = t.filled(first, mask, Fraction(0), where=False)
    outside = t.filled(second, mask, Fraction(0), where=True)
    found = t.build.binary("add", inside, outside, t.line)
    t.known_ranges[found] = (min(least, low), max(most, high))
    return found


def _triangle(lower: bool) -> Any:
    def lower_operator(t: Translation, x: Any, diagonal: int = 0) -> Value:
        bound = constants.integer_dim(diagonal)
        low, high = (None, bound) if lower else (bound, None)
        value = t.value(x)
        if isinstance(value, MaskedConstant):
            masked = constants.triangle(value, low, high)
            if masked is None:
                raise t.unsupported("a triangle of a mask", "take one of torch.ones")
            return masked
        tensor = t.tensor(x)
        mask = MaskedConstant(t.dims(x)[-2:], DiagonalBand(low, high), Fraction(1), Fraction(0), is_boolean=True)
        return t.filled(tensor, mask, Fraction(0), where=False)

    return lower_operator


ATTENTION_ROWS: tuple[Row, ...] = (
    Row("softmax", "softmax", _softmax),
    Row("scaled_dot_product_attention", "nn.functional.scaled_dot_product_attention", _attention),
    Row("masked_fill", "masked_fill", _masked_fill),
    Row("where", "where", _where),
    Row("tril", "tril", _triangle(lower=True)),
    Row("triu", "triu", _triangle(lower=False)),
)
