"""ATen operators that read a tensor at positions, which integers are: rows of a table, one element per row, classes."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import wraps
from typing import Any

from prism_explore.errors import UnsupportedOperator
from prism_explore.frontend.aten import constants
from prism_explore.frontend.aten.constants import MaskedConstant, Ramp
from prism_explore.frontend.aten.rearrange import MOST_PIECES, flipped, is_at_most, stepped
from prism_explore.frontend.aten.small_tables import looked_up, numbers_of
from prism_explore.frontend.aten.views import drop_dims
from prism_explore.frontend.lower_aten import Integers, Row, Translation, Unused, Value, View
from prism_explore.ir.dims import ONE, ZERO, Dim
from prism_explore.ir.ops import Band, ReduceFn
from prism_explore.ir.tensors import DTYPE_OF_NAME, INTEGERS, broadcast, dtype_name

LOOKUPS = ("embedding", "index_select", "index", "gather", "nll_loss_forward", "nll_loss2d_forward")
"""The operators that read a tensor at positions, which integers are."""

Name = Hashable
"""A dim of tensors: dims of equal names are one dim."""


@dataclass(frozen=True, slots=True)
class _Named:
    """A tensor whose dims have names."""

    value: Value
    names: tuple[Name, ...]


def _integers(t: Translation, index: Any) -> Integers:
    found = t.integers(t.value(index))
    if found is None:
        raise _computed(t)
    return found


def _computed(t: Translation) -> UnsupportedOperator:
    return t.unsupported(
        "a lookup at positions that are computed",
        "an integer argument and evenly spaced numbers are supported, and any in a constant table of up to 256 numbers",
    )


def _looked_up(t: Translation, table: _Named, along: Name, integers: Integers, names: Sequence[Name]) -> _Named:
    """The elements of a table at the positions that integers have in one of its dims.

    Args:
        t: the translation.
        table: the table. A dim of the integers' name, too, is shared; one of both may have size 1 there.
        along: the table's dim that the positions are in.
        integers: an argument under views.
        names: the names of the integers' dims.

    Returns:
        The result, with the dims of both but for `along`; those along which nothing changes have size 1.
    """
    sizes = dict(zip(table.names, t.dims_of(table.value), strict=True))
    of_names = zip(names, integers.groups, integers.dims, strict=True)
    given = {n: (group, size) for n, group, size in of_names if group and not size.is_one}
    dropped = [n for n in table.names if sizes[n].is_one and n in given and n != along]
    value = drop_dims(t, table.value, [table.names.index(n) for n in dropped])
    left = [n for n in table.names if n not in dropped]
    shared = [n for n in left if n in given and n != along]
    rest = [n for n in left if n not in shared]
    new = [n for n in given if n not in shared]
    value = t.permuted(value, [left.index(n) for n in (*shared, *rest)])
    if integers.offset:  # the table without what is before it
        value = t.sliced(value, len(shared) + rest.index(along), ZERO + integers.offset, sizes[along])
        sizes[along] -= integers.offset
    batch = [d for n in shared for d in given[n][0]]
    others = [d for n in new for d in given[n][0]]
    value = t.reshaped(value, (*t.integer_dims(integers, batch), *(sizes[n] for n in rest)))
    place = rest.index(along)
    at = t.integer_input(integers, [*batch, *others])
    found = t.build.lookup(t.at(value), at, len(batch) + place, t.line, batch=len(batch))
    found_names = (*shared, *rest[:place], *new, *rest[place + 1 :])
    sizes |= {n: size for n, (_, size) in given.items() if n not in shared}
    constant = [n for n in names if n not in found_names]
    dims = (*(sizes[n] for n in found_names), *(ONE for _ in constant))
    return _Named(t.reshaped(found, dims), (*found_names, *constant))


def _in_order(t: Translation, x: _Named, names: Sequence[Name], dims: Sequence[Dim]) -> Value:
    """A tensor with its dims in an order, repeated to their sizes."""
    return t.expanded(t.permuted(x.value, [x.names.index(n) for n in names]), dims)


# ---------------------------------------------------------------- positions of one dim
def _at_positions(t: Translation, x: Any, along: int, index: Any) -> Value:
    """The parts of one dim at positions, which have dims of their own: evenly spaced ones, or an integer input's."""
    sizes, positions = t.dims(x), t.value(index)
    own = tuple(("i", d) for d in range(len(t.dims_of(positions))))
    names = tuple(range(len(sizes)))
    found = _part(t, _Named(t.value(x), names), along, positions, own, from_end=False)
    wanted = (*names[:along], *own, *names[along + 1 :])
    return _in_order(t, found, wanted, (*sizes[:along], *t.dims_of(positions), *sizes[along + 1 :]))


def _part(
    t: Translation, x: _Named, along: Name, positions: Value, names: Sequence[Name], *, from_end: bool = True
) -> _Named:
    """The parts of one dim at positions; dims along which these do not change have size 1.

    With `from_end`, negative positions that are computed count from the end.
    """
    integers = t.integers(positions)
    if integers is not None:
        return _looked_up(t, x, along, integers, names)
    if isinstance(positions, int | View):
        return _tabulated(t, x, along, positions, names, from_end=from_end)
    match positions:
        case Ramp(dims, steps, offset):
            pass
        case MaskedConstant(dims, _, Fraction() as number) if positions.is_uniform:
            steps, offset = (0,) * len(dims), constants.integer_dim(int(number))
        case _:
            raise _computed(t)
    moving = [d for d, step in enumerate(steps) if step and not dims[d].is_one]
    if len(moving) > 1:
        return _in_directions(t, x, along, positions, names, min(moving, key=lambda d: dims[d].constant or MOST_PIECES))
    at, sizes = x.names.index(along), t.dims_of(x.value)
    count, step = (dims[moving[0]], steps[moving[0]]) if moving else (ONE, 1)
    last = offset + (count - 1) * constants.integer_dim(step)
    first, last = (last, offset) if step < 0 else (offset, last)
    if is_at_most(first, ZERO - 1):
        if not is_at_most(last, ZERO - 1):
            raise t.unsupported("a lookup at positions on both sides of 0", "positions from one end are supported")
        first = first + sizes[at]
    rows = stepped(t, x.value, at, first, count, abs(step))
    rows = flipped(t, rows, at) if step < 0 else rows
    if len(moving) == 1 and names[moving[0]] in x.names:
        raise t.unsupported("an index of several evenly spaced positions", "torch.diagonal is supported")
    ones = [n for d, n in enumerate(names) if d not in moving and n not in x.names]
    found = (*x.names[:at], *(names[d] for d in moving), *ones, *x.names[at + 1 :])
    shape = (*sizes[:at], *([count] if moving else []), *(ONE for _ in ones), *sizes[at + 1 :])
    return _Named(t.reshaped(rows, shape), found)


def _tabulated(
    t: Translation, x: _Named, along: Name, positions: int | View, names: Sequence[Name], *, from_end: bool
) -> _Named:
    """The numbers of a small constant table at positions that are computed."""
    numbers = numbers_of(t, x.value)
    if numbers is None or numbers.size != numbers.shape[x.names.index(along)] or set(names) & set(x.names):
        raise _computed(t)
    others = [n for n in x.names if n != along]
    found = looked_up(t, numbers.reshape(-1), positions, from_end=from_end)
    dims = (*t.dims_of(found), *(ONE for _ in others))
    return _Named(t.reshaped(found, dims), (*names, *others))


def _in_directions(t: Translation, x: _Named, along: Name, positions: Value, names: Sequence[Name], d: int) -> _Named:
    """The parts at positions that are evenly spaced along several dims, one after another along one of these."""
    assert isinstance(positions, Ramp), "the caller has positions in several directions"
    count = positions.dims[d].constant
    if count is None or count > MOST_PIECES or names[d] in x.names:
        raise t.unsupported(
            "a lookup at positions in several directions", f"up to {MOST_PIECES} positions in all but one are supported"
        )
    places = (constants.sliced(positions, d, ZERO + n, ZERO + (n + 1)) for n in range(count))
    parts = [_part(t, x, along, place, names) for place in places]
    joined = t.concatenated([t.at(part.value) for part in parts], parts[0].names.index(names[d]))
    return _Named(joined, parts[0].names)


def _embedding(t: Translation, table: Any, index: Any, *_: Any, **__: Any) -> Value:
    return _at_positions(t, table, 0, index)


def _index_select(t: Translation, x: Any, d: Any, index: Any) -> Value:
    if not t.dims(x):  # of a number, which the only position is
        return t.value(x)
    return _at_positions(t, x, t.axis(x, d), index)


def _index(t: Translation, x: Any, positions: Sequence[Any]) -> Value:
    """`x[:, i, j]`: positions along some dims, from their ends where they are negative, that broadcast."""
    given = {d: index for d, index in enumerate(positions) if index is not None}
    for index in given.values():
        kind = dtype_name(index.meta["val"].dtype)
        if DTYPE_OF_NAME.get(kind) not in INTEGERS:
            advice = (
                "write torch.where(mask, a, b), or multiply by the mask" if kind == "bool" else "one of integers is"
            )
            raise t.unsupported(f"an index of dtype {kind}", advice)
        if isinstance(t.value(index), Unused):
            raise _computed(t)
    shapes = [t.dims(index) for index in given.values()]
    dims: tuple[Dim, ...] = ()
    for shape in shapes:
        dims = broadcast(dims, shape, t.line)
    own = tuple(("i", d) for d in range(len(dims)))
    found = _Named(t.value(x), tuple(range(len(t.dims(x)))))
    # Evenly spaced positions first: they are views, whose dims a lookup then shares.
    for d in sorted(given, key=lambda d: t.integers(t.value(given[d])) is not None):
        value = t.value(given[d])
        found = _part(t, found, d, value, own[len(own) - len(t.dims_of(value)) :])
    kept = [d for d in range(len(t.dims(x))) if d not in given]
    first, last = min(given), max(given)
    before = [d for d in kept if d < first] if last - first == len(given) - 1 else []
    after = [d for d in kept if d not in before]
    sizes = t.dims(x)
    missing = [n for n in own if n not in found.names]
    if missing:
        ones = (*t.dims_of(found.value), *(ONE for _ in missing))
        found = _Named(t.reshaped(found.value, ones), (*found.names, *missing))
    wanted = (*(sizes[d] for d in before), *dims, *(sizes[d] for d in after))
    return _in_order(t, found, (*before, *own, *after), wanted)


# ---------------------------------------------------------------- an element per row
def _gather(t: Translation, x: Any, d: Any, index: Any, **_: Any) -> Value:
    """`out[i, j] = x[index[i, j], j]` for dim 0; the index may be shorter than x in other dims."""
    along, integers = t.axis(x, d), _integers(t, index)
    table = t.value(x)
    if not integers.dims:  # of a number, and x may be one
        return t.reshaped(_at_positions(t, x, along, index), ()) if t.dims(x) else table
    if not t.dims(x):
        table = t.reshaped(t.tensor(x), (ONE,))
    elif len(integers.dims) != len(t.dims(x)):  # torch allows that where there are no positions
        raise t.unsupported("gather with positions of another rank", "as many dims as the tensor has")
    for other, size in enumerate(integers.dims):
        if other != along:
            table = t.sliced(table, other, ZERO, size)
    names = tuple(("x", n) if n == along else n for n in range(len(integers.dims)))
    own = tuple(range(len(integers.dims)))
    found = _looked_up(t, _Named(table, names), names[along], integers, own)
    return _in_order(t, found, own, integers.dims)


# ---------------------------------------------------------------- classes
def _nll_loss(
    t: Translation, x: Any, target: Any, weight: Any = None, reduction: Any = 1, ignored: Any = -100
) -> Value:
    """The negative elements at the classes, weighted, and their sum or weighted mean.

    A class that is ignored is negative, thus no position in x: calls with one are outside of what is proved. Where each
    row is of its own class, as in contrastive losses, the elements are those of the diagonal.
    """
    dims, scores = t.dims(target), t.dims(x)
    own = tuple(("n", n) for n in range(len(dims)))
    names = (*own[:1], "classes", *own[1:]) if len(scores) > len(dims) else ("classes",)
    if len(scores) != len(names):
        raise t.unsupported("classes of other dims than the scores")
    b, weights = t.build, None
    if t.value(target) == Ramp(dims, (1,), ZERO) and scores == dims * 2 and weight is None and int(ignored) < 0:
        own_class = b.add(Band(scores[0], scores[1], ZERO, ZERO, b.type_of(t.tensor(x)).dtype), line=t.line)
        picked = t.reshaped(b.reduce("sum", b.binary("mul", t.tensor(x), own_class, t.line), 1, t.line), dims)
    else:
        integers = _integers(t, target)
        if int(ignored) >= 0:
            raise t.unsupported(f"ignore_index={ignored}", "a negative number is supported")
        picked = _in_order(t, _looked_up(t, _Named(t.value(x), names), "classes", integers, own), own, dims)
        if weight is not None:
            found = _looked_up(t, _Named(t.value(weight), ("classes",)), "classes", integers, own)
            weights = t.at(_in_order(t, found, own, dims))
    loss = b.unary("neg", t.at(picked), t.line)
    if weights is not None:
        loss = b.binary("mul", loss, weights, t.line)
    if int(reduction) == 0:
        return loss, Unused("the sum of the weights")

    def total(fn: ReduceFn, value: int) -> int:
        for d in range(len(dims)):
            value = b.reduce(fn, value, d, t.line)
        return t.at(t.reshaped(value, ()))

    if int(reduction) == 1 and weights is not None:
        return b.binary("div", total("sum", loss), total("sum", weights), t.line), Unused("the sum of the weights")
    return total("mean" if int(reduction) == 1 else "sum", loss), Unused("the sum of the weights")


def _rows(lower: Callable[..., Value], torch: str, *aten: str) -> tuple[Row, ...]:
    return tuple(Row(name, torch, lower) for name in aten or (torch,))


def _of_masks_too(lower: Callable[..., Value]) -> Callable[..., Value]:
    """The row, which has a mask where it reads one."""

    @wraps(lower)
    def found(t: Translation, x: Any, *args: Any, **kwargs: Any) -> Value:
        value, is_mask = lower(t, x, *args, **kwargs), t.traced_dtype(x) == "bool"
        return t.nonzero_mask(t.at(value)) if is_mask and t.mask_of(value) is None else value

    return found


LOOKUP_ROWS: tuple[Row, ...] = (
    *_rows(_of_masks_too(_embedding), "nn.functional.embedding", "embedding"),
    *_rows(_of_masks_too(_index_select), "index_select"),
    *_rows(_of_masks_too(_index), "x[i]", "index"),
    *_rows(_of_masks_too(_gather), "gather"),
    *_rows(_nll_loss, "nn.functional.nll_loss", "nll_loss_forward", "nll_loss2d_forward"),
)
