"""Masking analysis: track which values are minus infinity because of a mask, and prove that none reaches the result.

By rule B1 a masked value contributes 0, in the limit where masked entries go to minus infinity. A maximum over a full
dim has an entry that is not masked: this is a condition of the claim. A maximum over a part of a dim (a tile or split)
may have none at some sizes. It is *low* there, and differences from it are not equal to their forms. For every tensor
of a graph with masks the analysis checks three properties:

low       a masked value, or a maximum over a part of a mask. Allowed: multiplication by positive numbers, exp, maxima,
          and subtraction from a value that is as low; any other difference would be plus infinity.
hollow    exp(x - m) with m low: a number, but not the one of the form. A factor with m, such as exp(m - M), makes it 0,
          as the form says; until then only views, sums and products are allowed.
divisors  a divisor must not be 0 because everything in it is masked. A sum of exp(x - m) is positive where m is low,
          because x is as low there; a quotient by it is hollow as well.

Any other use gives no verdict. The forms alone do not decide this: exp(x - m) is 0 * exp(-m) there, so two such values
that differ where m is low have equal forms.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import reduce

from prism_explore.ir import elementwise, ops
from prism_explore.ir.dims import Dim
from prism_explore.ir.graph import SGraph, block_types
from prism_explore.ir.ops import BlockGraph
from prism_explore.ir.tensors import TensorType
from prism_explore.verify.normal_form.algebra import Algebra, NoNormalForm
from prism_explore.verify.normal_form.forms import (
    Exp,
    NormalForm,
    Running,
    show_atom,
    single,
)
from prism_explore.verify.normal_form.index import LOOP, Index, position, var
from prism_explore.verify.normal_form.lower_graph import (
    CONTRACTED,
    KEEPS_AN_ENTRY,
    Lowered,
    align_rank,
    assumptions,
    load_indices,
    lookup_indices,
    lower_op,
    matmul_indices,
    store_indices,
)
from prism_explore.verify.normal_form.masked_maxima import (
    is_low_wherever,
    is_positive_where_kept,
    keeps_an_entry,
    low_maxima,
    may_be_minus_infinity,
    vanishes_where_masked,
)
from prism_explore.verify.normal_form.maxima import last_index

FULLY_MASKED = "minus infinity where a tile or a split is masked as a whole"


@dataclass(frozen=True, slots=True)
class Value:
    """The properties of a tensor."""

    form: NormalForm
    dims: tuple[Dim, ...]
    masked: bool = False
    """Whether it depends on a mask."""
    hollow: tuple[NormalForm, ...] = ()
    """Maxima such that the form may not be the value where one of them is low."""
    positive: bool = False
    """Whether it is greater than 0 where one of the `hollow` maxima is low, and not less than 0 elsewhere."""
    level: Fraction = Fraction(0)
    """The multiple of minus infinity where it is low: 1 for a masked value, -3 for -3 times a maximum of such."""


def check(graph: SGraph, lowered: Lowered, algebra: Algebra) -> None:
    """Check that the form of a graph's result is its value, wherever the claim's conditions hold.

    Raises:
        NoNormalForm: a maximum over a part of a mask, or a divisor, may make it different.
    """
    if KEEPS_AN_ENTRY not in assumptions(graph):
        return
    types, values = graph.types(), list[Value]()
    stored: dict[int, tuple[Value, ...]] = {}
    for n, node in enumerate(graph.nodes):
        args = [values[a] for a in node.args]
        form, dims = lowered.values[n], types[n].dims
        match node.op:
            case ops.Custom(block):
                operands = tuple(types[a] for a in node.args)
                forms = lowered.blocks[n]
                key = ("masks", block, operands, *args, *[f.key for f in forms])
                stored[n] = algebra.cached(key, _check_block, block, forms, operands, args, algebra)
                found = stored[n][0]
            case ops.Result(which):
                found = stored[node.args[0]][which]
            case ops.Input() | ops.Band():
                found = Value(form, dims)
            case ops.Lookup() as op:
                by = lookup_indices(op, args[1].form, args[0].dims, args[1].dims)
                found = _reindexed(args[0], form, dims, by, algebra)
            case ops.Load() | ops.Store() | ops.Accumulate() | ops.AccumulateRescaled() | ops.RunningMax():
                raise AssertionError("SGraph refuses block-level operators")
            case op:
                found = _check_operator(op, form, dims, args, algebra)
        if found.form != form and (found.hollow or found.level or may_be_minus_infinity(found.form)):
            raise NoNormalForm(f"a tensor behind a cut may be {FULLY_MASKED}")
        values.append(replace(found, form=form, dims=dims))
    if values[graph.output].hollow:
        raise NoNormalForm(
            f"the result depends on a difference from {_maximum_text(values[graph.output].hollow[0])}, {FULLY_MASKED}"
        )


def _check_block(
    block: BlockGraph,
    forms: tuple[NormalForm, ...],
    operands: tuple[TensorType, ...],
    operand_values: Sequence[Value],
    algebra: Algebra,
) -> tuple[Value, ...]:
    """The properties of a kernel's results."""
    shapes = tuple(t.dims for t in block_types(block, operands))
    values: list[Value] = []
    for n, node in enumerate(block.nodes):
        args = [values[a] for a in node.args]
        match node.op:
            case ops.Load(operand, _, _) as load:
                by = load_indices(block, load, shapes[n]) if operand_values[operand].hollow else {}
                found = _reindexed(operand_values[operand], forms[n], shapes[n], by, algebra)
            case ops.Store(omap):
                by = store_indices(block, omap or (), args[0].dims, shapes[n]) if args[0].hollow else {}
                found = _reindexed(args[0], forms[n], shapes[n], by, algebra)
            case ops.Accumulate(fn, along):
                found = _check_reduction(fn, (LOOP, *_positions(along)), forms[n], shapes[n], args[0])
            case ops.RunningMax(along):
                found = _check_reduction("max", (LOOP, *_positions(along)), forms[n], shapes[n], args[0])
            case ops.AccumulateRescaled(along):
                found = _check_rescaled(block, along, forms[n], shapes[n], (args[0], args[1]), algebra)
            case ops.Input() | ops.Band() | ops.Lookup() | ops.Custom() | ops.Result():
                raise AssertionError("BlockGraph refuses kernel-level operators")
            case op:
                found = _check_operator(op, forms[n], shapes[n], args, algebra)
        values.append(found)
    return tuple(values[n] for n in block.stores)


def _positions(along: int | None) -> tuple[str, ...]:
    return () if along is None else (position(along),)


def _reindexed(a: Value, form: NormalForm, dims: tuple[Dim, ...], by: Mapping[str, Index], algebra: Algebra) -> Value:
    return Value(form, dims, a.masked, tuple(algebra.substitute(m, by) for m in a.hollow), a.positive, a.level)


# ---------------------------------------------------------------- operators
def _check_operator(
    op: ops.ComputeOp, form: NormalForm, dims: tuple[Dim, ...], args: Sequence[Value], algebra: Algebra
) -> Value:
    masked, a = any(x.masked for x in args), args[0]
    match op:
        case ops.Unary("exp"):
            _require_not_hollow(a, "an exponential")
            if a.level < 0:
                _require_finite(a, "is negated and goes into exp")
            subtracted = tuple(single(m) for m in low_maxima(a.form, -1)) if a.form.masked else ()
            as_low = len(subtracted) == 1 and not low_maxima(a.form)
            return Value(form, dims, masked, subtracted, positive=as_low or not may_be_minus_infinity(a.form))
        case ops.Unary("neg"):
            return _check_scaled(a, Fraction(-1), form, dims)
        case ops.Unary("square"):
            _require_finite(a, "is squared")
            return Value(form, dims, masked, a.hollow, a.positive)
        case ops.Unary("recip") if a.hollow:
            _require_finite(a, "is a divisor")
            _require_nonzero_hollow(a, algebra)
            return Value(form, dims, masked, a.hollow, a.positive)
        case ops.Unary("recip" | "rsqrt") | ops.Scalar("pow", _):
            _require_finite(a, "is raised to a power")
            if isinstance(op, ops.Unary) or op.value < 0:
                _require_nonzero(a)
            _require_not_hollow(a, "a power")
        case ops.Scalar("add", value):
            return Value(form, dims, masked, a.hollow, a.positive and value >= 0, a.level)
        case ops.Scalar("mul", value):
            return _check_scaled(a, value, form, dims)
        case ops.Scalar("min", _) if form == a.form:
            return replace(a, form=form, dims=dims)
        case ops.Scalar("max", _):
            _require_not_hollow(a, "a maximum")
            _require_no_difference(a)
        case ops.Unary() | ops.Scalar():
            _require_finite(a, f"goes into {op.fn}")
            _require_not_hollow(a, op.fn)
        case ops.Binary(fn):
            return _check_binary(fn, form, dims, _align_operands(args, len(dims), algebra), algebra)
        case ops.MatMul():
            hollow: list[NormalForm] = []
            for x, by in zip(args, matmul_indices(args[0].dims, args[1].dims), strict=True):
                _require_finite(x, "is summed")
                moved = [algebra.substitute(m, by) for m in x.hollow]
                _require_invariant(moved, (CONTRACTED,))
                hollow += moved
            return Value(form, dims, masked, tuple(hollow))
        case ops.Concat() if any(x.hollow for x in args):
            return _check_concatenation(op, form, dims, args, algebra)
        case ops.Reduce(fn, along):
            return _check_reduction(fn, _positions(along), form, dims, a)
        case ops.Scan(_, along):
            return _check_reduction("sum", _positions(along), form, dims, a)
        case ops.Concat():
            for x in args:
                if low_maxima(x.form) or low_maxima(x.form, -1):
                    _require_finite(x, "is put beside something else")
                _require_not_hollow(x, "a concatenation")
            return Value(form, dims, masked, level=reduce(_common_level, [x.level for x in args]))
        case ops.Permute() | ops.Reshape() | ops.Expand() | ops.Slice():
            hollow = [lower_op(op, [m], [a.dims], algebra) for m in a.hollow]
            return Value(form, dims, masked, tuple(hollow), a.positive, a.level)
    return Value(form, dims, masked)


def _check_scaled(a: Value, by: Fraction, form: NormalForm, dims: tuple[Dim, ...]) -> Value:
    """A multiple. The negative of a low maximum is plus infinity, which may only be added to a value that is as low."""
    if by == 0 or (by < 0 and a.level > 0 and (a.form.masked or low_maxima(a.form, -1))):
        _require_finite(a, "is multiplied by a number that is not positive")
    return Value(form, dims, a.masked, a.hollow, a.positive and by > 0, a.level * by)


def _align_operands(args: Sequence[Value], rank: int, algebra: Algebra) -> tuple[Value, Value]:
    """Both operands at the positions of the result."""
    a, b = (
        Value(
            align_rank(x.form, x.dims, rank, algebra),
            x.dims,
            x.masked,
            tuple(align_rank(m, x.dims, rank, algebra) for m in x.hollow),
            x.positive,
            x.level,
        )
        for x in args
    )
    return a, b


def _check_binary(
    fn: elementwise.BinaryFn, form: NormalForm, dims: tuple[Dim, ...], of: tuple[Value, Value], algebra: Algebra
) -> Value:
    a, b = of
    masked, both = a.masked or b.masked, (*a.hollow, *b.hollow)
    match fn:
        case "add" | "sub":
            sign = 1 if fn == "add" else -1
            for x, y, level in ((a, b, b.level * sign), (b, a, a.level)):
                if level >= 0:
                    continue
                if x is b and fn == "sub":
                    raise NoNormalForm(
                        "from what may be plus infinity, "
                        f"the opposite of what is {FULLY_MASKED}, something is subtracted"
                    )
                for m in low_maxima(y.form, -1 if y.level < 0 else 1):
                    if not is_low_wherever(x.form, m, algebra) or x.level != -level:
                        raise NoNormalForm(
                            f"{_maximum_text(single(m))}, {FULLY_MASKED}, is subtracted from what is not as low there"
                        )
                return Value(form, dims, masked, both, level=x.level)
            if a.level and b.level:
                _require_finite(b, "is added to what is low itself")
            positive = a.positive and b.positive and fn == "add"
            return Value(form, dims, masked, both, positive, a.level or b.level * sign)
        case "mul":
            for x in of:
                _require_finite(x, "is multiplied by more than a number")
            hollow = (*_remaining_hollow(a.hollow, b.form, algebra), *_remaining_hollow(b.hollow, a.form, algebra))
            return Value(form, dims, masked, tuple(dict.fromkeys(hollow)), _both_positive(a, b))
        case "div":
            _require_finite(b, "is a divisor")
            if b.hollow:
                _require_nonzero_hollow(b, algebra)
            else:
                _require_nonzero(b)
            _require_finite(a, "is divided by more than a number")
            return Value(form, dims, masked, tuple(dict.fromkeys(both)), _both_positive(a, b))
        case "max" | "min":
            for x in of:
                _require_not_hollow(x, "a maximum")
                _require_no_difference(x)
                if fn == "min" and form not in (a.form, b.form):
                    _require_finite(x, "goes into min")
            return Value(form, dims, masked, level=_common_level(a.level, b.level))
        case "keep" | "drop":
            for x in of:
                _require_finite(x, "is selected by a condition")
            _require_not_hollow(b, "a condition")
            return Value(form, dims, masked, a.hollow)
        case "mask":
            _require_not_hollow(a, "a mask")
            _require_no_difference(a)
            if b.masked:
                raise NoNormalForm("what a mask keeps depends on another mask")
            return Value(form, dims, True, level=_common_level(a.level, Fraction(1)))


def _both_positive(a: Value, b: Value) -> bool:
    """Whether a product or quotient is greater than 0 where one of the operands is hollow."""
    if set(a.hollow) == set(b.hollow):
        return a.positive and b.positive
    return (a.positive and not b.hollow and b.form.sign == 2) or (b.positive and not a.hollow and a.form.sign == 2)


def _check_concatenation(
    op: ops.Concat, form: NormalForm, dims: tuple[Dim, ...], args: Sequence[Value], algebra: Algebra
) -> Value:
    """A concatenation of values that are hollow where one maximum is low."""
    for x in args:
        _require_finite(x, "is put beside something else")
    hollow: list[NormalForm] = []
    for parts in zip(*(x.hollow for x in args), strict=False):
        full = lower_op(op, list(parts), [x.dims for x in args], algebra)
        if len(low_maxima(full)) != 1 or len(full.terms) != 1:
            raise NoNormalForm(f"a concatenation is taken of what depends on {_maximum_text(parts[0])}, {FULLY_MASKED}")
        hollow.append(full)
    if len({len(x.hollow) for x in args}) > 1:
        raise NoNormalForm(f"a concatenation is taken of what depends on what is {FULLY_MASKED} in one piece only")
    return Value(form, dims, any(x.masked for x in args), tuple(hollow), all(x.positive for x in args))


def _common_level(a: Fraction, b: Fraction) -> Fraction:
    if a and b and a != b:
        raise NoNormalForm(f"minus infinity meets {a / b} times minus infinity")
    return a or b


def _check_reduction(
    fn: ops.ReduceFn, over: tuple[str, ...], form: NormalForm, dims: tuple[Dim, ...], a: Value
) -> Value:
    if fn == "max":
        _require_not_hollow(a, "a maximum")
        _require_no_difference(a)
        return Value(form, dims, a.masked, level=a.level if may_be_minus_infinity(form) else Fraction(0))
    _require_finite(a, "is summed")
    if fn == "rms":
        _require_not_hollow(a, "a root")
    _require_invariant(a.hollow, over)
    return Value(form, dims, a.masked, a.hollow, a.positive)


def _check_rescaled(
    block: BlockGraph,
    along: int | None,
    form: NormalForm,
    dims: tuple[Dim, ...],
    of: tuple[Value, Value],
    algebra: Algebra,
) -> Value:
    """A rescaled sum: its scale must be a running maximum; values that are hollow where it is low contribute 0."""
    value, scale = of
    masked = value.masked or scale.masked
    _require_finite(value, "is summed")
    _require_invariant(value.hollow, _positions(along))
    if block.loop is None:
        return Value(form, dims, masked, value.hollow, value.positive)
    _require_not_hollow(scale, "a scale")
    _require_no_difference(scale)
    here = var(LOOP, block.loop.size)
    for m in low_maxima(scale.form):
        if LOOP in m.free and not (isinstance(m, Running) and m.at == here and LOOP not in m.inner.free):
            raise NoNormalForm(
                f"a sum is rescaled by {_maximum_text(single(m))}, {FULLY_MASKED}, and not by a running maximum"
            )
    if scale.form.masked:
        raise NoNormalForm("a sum is rescaled by a masked value (minus infinity)")
    final = algebra.substitute(scale.form, {LOOP: last_index(block.loop.size)})
    own = [single(m) for m in low_maxima(scale.form)]
    hollow: list[NormalForm] = []
    for m in value.hollow:
        if m in own:
            hollow += [single(x) for x in low_maxima(final)]
        elif LOOP in m.free:
            raise NoNormalForm(
                f"what is hollow where {_maximum_text(m)} is {FULLY_MASKED} is rescaled by something else"
            )
        else:
            hollow.append(m)
    return Value(form, dims, masked, tuple(dict.fromkeys(hollow)), value.positive)


# ---------------------------------------------------------------- conditions
def _require_finite(a: Value, done: str) -> None:
    if a.form.masked or may_be_minus_infinity(a.form) or low_maxima(a.form, -1):
        raise NoNormalForm(f"what may be {FULLY_MASKED} {done}")


def _require_no_difference(a: Value) -> None:
    """Check that no low maximum is subtracted; such a difference is only allowed as the argument of exp."""
    if low_maxima(a.form, -1):
        raise NoNormalForm(f"a difference from what may be {FULLY_MASKED} is used outside of an exponential")


def _require_not_hollow(a: Value, operation: str) -> None:
    if a.hollow:
        raise NoNormalForm(f"{operation} is taken of what depends on {_maximum_text(a.hollow[0])}, {FULLY_MASKED}")


def _require_invariant(hollow: Sequence[NormalForm], over: Sequence[str]) -> None:
    for m in hollow:
        if not m.free.isdisjoint(over):
            raise NoNormalForm(f"sums run over {_maximum_text(m)}, {FULLY_MASKED}")


def _require_nonzero(a: Value) -> None:
    if a.masked and not keeps_an_entry(a.form):
        raise NoNormalForm("a divisor may be masked as a whole: no sum over a whole dim of the mask is below it")


def _require_nonzero_hollow(a: Value, algebra: Algebra) -> None:
    """Check that a divisor is not 0: positive where its maximum is low, and with a kept entry elsewhere."""
    for m in a.hollow:
        if not a.positive or not is_positive_where_kept(a.form, m, algebra):
            raise NoNormalForm(f"a divisor is taken of what depends on {_maximum_text(m)}, {FULLY_MASKED}")


def _remaining_hollow(hollow: Sequence[NormalForm], by: NormalForm, algebra: Algebra) -> Iterator[NormalForm]:
    """The maxima for which a product stays hollow.

    It does not for a maximum whose exponential is a factor of the other operand, nor where the other operand goes to 0
    with the maximum, because hollow values are bounded.
    """
    for m in hollow:
        if vanishes_where_masked(by, m, algebra):
            continue
        powers = [{a.term: e for a, e in t.factors if isinstance(a, Exp)} for t, _ in by.terms]
        (term, _), *_ = m.terms
        if not by.terms or not all(p.get(term, 0) > 0 for p in powers):
            yield m
            continue
        for p in powers:
            yield from (single(x) for t, e in p.items() if e < 0 for x in low_maxima(NormalForm(((t, 1),))))


def _maximum_text(m: NormalForm) -> str:
    text = show_atom(m.terms[0][0].factors[0][0])
    return text if len(text) < 100 else f"{text[:97]}..."
