"""Lowering of graphs to normal forms: the element of every tensor as a function of its position.

Sizes stay symbolic. A custom kernel becomes arithmetic on indices:

    load        dim d is read at (x, i, p_d): the block coordinates that tile d, then the loop's index if it
                tiles d, then the position in the tile; a coordinate that does not tile d is absent (replication)
    accumulate  Σ or a maximum over the loop's index; a value that is equal in all iterations counts f times in a sum
    store       the inverse of a load: a block's coordinate is a digit of the result's position
    views       the operand at another index; a concatenation is the sum of its operands times their intervals

If a value depends on a coordinate that the store does not map, different blocks write different values to one element:
a race, which has no normal form. Missing accumulators are refused by the IR.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import prod
from typing import assert_never

from prism_explore.ir.dims import ONE, ZERO, Dim
from prism_explore.ir.elementwise import UNARY
from prism_explore.ir.graph import SGraph, block_types, walk
from prism_explore.ir.ops import (
    Accumulate,
    AccumulateRescaled,
    Band,
    Binary,
    BlockGraph,
    ComputeOp,
    Concat,
    Custom,
    Expand,
    Input,
    Load,
    Lookup,
    MatMul,
    Node,
    Permute,
    Reduce,
    ReduceFn,
    Reshape,
    Result,
    RunningMax,
    Scalar,
    ScalarFn,
    Scan,
    ScanFn,
    Slice,
    Store,
    Unary,
    ViewOp,
    op_name,
)
from prism_explore.ir.tensors import INTEGER_NUMBERS, LARGEST_READ, TensorType, broadcast
from prism_explore.support.caches import memoize
from prism_explore.verify.normal_form.algebra import Algebra, NoNormalForm
from prism_explore.verify.normal_form.compare import is_never_greater
from prism_explore.verify.normal_form.forms import NF_ONE, NormalForm, Read
from prism_explore.verify.normal_form.functions import by_definition
from prism_explore.verify.normal_form.index import (
    LOOP,
    Index,
    Looked,
    digit,
    grid_index,
    moved,
    position,
    radix,
    substitute,
    var,
)
from prism_explore.verify.normal_form.maxima import last_index

_HALF = Fraction(1, 2)
CONTRACTED = "m"
"""The name of the inner index of a matmul or a scan until it is summed."""
KEEPS_AN_ENTRY = (
    "masked entries stand for minus infinity, and equality is meant in that limit: "
    "of the entries that a maximum over a whole dim (a running one, at its end) or a divisor depends on, "
    "at least one is not masked"
)
POSITIONS_EXIST = "each integer that a lookup reads is a position in the dim that it looks up, from 0 to its size - 1"
INTEGERS_ARE_SMALL = f"each integer that is read as a number is between -{LARGEST_READ} and {LARGEST_READ}"


@dataclass(frozen=True, slots=True)
class Lowered:
    """A graph's normal forms."""

    values: tuple[NormalForm, ...]
    """The form of each kernel-level tensor, over p0, p1, .."""
    blocks: Mapping[int, tuple[NormalForm, ...]]
    """The forms of the block nodes of each custom kernel, over p0, .., g0, .. and l; that of a store is a result."""
    assumptions: tuple[str, ...] = ()
    """Conditions on the inputs, as sentences, under which the forms are the values of the graph."""


def lower(graph: SGraph, algebra: Algebra, replace: Callable[[int, NormalForm], NormalForm] | None = None) -> Lowered:
    """The normal form of every tensor of a graph whose maps are closed.

    Args:
        graph: a program or a candidate.
        algebra: builds the forms.
        replace: maps a kernel-level tensor and its form to the form that later nodes use.

    Raises:
        NoNormalForm: a race, or the budget ended.
        ShapeError: the graph is ill-formed.
    """
    types = graph.types()
    values: list[NormalForm] = []
    blocks: dict[int, tuple[NormalForm, ...]] = {}
    for n, node in enumerate(graph.nodes):
        match node.op:
            case Custom(block):
                operands = tuple(types[a] for a in node.args)
                inside = lower_block(block, [values[a] for a in node.args], operands, algebra)
                blocks[n] = inside
                values.append(inside[block.stores[0]])
            case Result(which):
                custom = graph.nodes[node.args[0]].op
                assert isinstance(custom, Custom), "SGraph checks what a result belongs to"
                values.append(blocks[node.args[0]][custom.block.stores[which]])
            case Load() | Store() | Accumulate() | AccumulateRescaled() | RunningMax():
                raise AssertionError("SGraph refuses block-level operators")
            case Unary("sqrt" | "rsqrt" | "recip") | Binary("div") as op:
                values.append(algebra.check_depth(_lower_factors(op, node.args, graph.nodes, values, types, algebra)))
            case op:
                dims = [types[a].dims for a in node.args]
                values.append(lower_tensor(op, [values[a] for a in node.args], dims, algebra))
        if replace is not None:
            values[n] = replace(n, values[n])
    return Lowered(tuple(values), blocks, assumptions(graph))


def assumptions(graph: SGraph) -> tuple[str, ...]:
    """Conditions on the inputs, as sentences, under which the forms of a graph are its values."""
    has_masks = any(type(node.op) is Binary and node.op.fn == "mask" for _, node in walk(graph))
    has_integers = any(i.type.dtype in INTEGER_NUMBERS for i in graph.inputs)
    found = (KEEPS_AN_ENTRY,) * has_masks + (POSITIONS_EXIST,) * bool(graph.index_limits)
    return found + (INTEGERS_ARE_SMALL,) * has_integers


def lower_tensor(
    op: Input | Band | Lookup | ComputeOp,
    values: Sequence[NormalForm],
    dims: Sequence[tuple[Dim, ...]],
    algebra: Algebra,
) -> NormalForm:
    """The normal form of a kernel-level tensor that no custom kernel writes."""
    match op:
        case Input(name, t):
            return algebra.cached_tensor((op,), _read, name, t, algebra)
        case Band(rows, columns, low, high, _):
            return algebra.band(low, high, var(position(0), rows), var(position(1), columns))
        case Lookup():
            table, integers = dims
            return algebra.substitute(values[0], lookup_indices(op, values[1], table, integers))
        case _:
            return algebra.check_depth(_compute(op, values, dims, algebra))


def lookup_indices(op: Lookup, integers: NormalForm, table: tuple[Dim, ...], dims: tuple[Dim, ...]) -> dict[str, Index]:
    """The indices at which a lookup reads its table.

    Args:
        op: the lookup.
        integers: the form of the integer input.
        table: the table's dims.
        dims: those of the integer input.
    """
    ((term, _),) = integers.terms
    ((read, _),) = term.factors
    assert isinstance(read, Read), "SGraph requires an input, which may be permuted"
    by: dict[str, Index] = {position(d): var(position(d), size) for d, size in enumerate(table[: op.dim])}
    if not table[op.dim].is_one:
        at = (*range(op.batch), *range(op.dim, op.dim + len(dims) - op.batch))
        places = tuple(var(position(d), size) for d, size in zip(at, dims, strict=True))
        own = {position(d): place for d, place in enumerate(places)}
        by[position(op.dim)] = Looked(read.tensor, tuple(substitute(i, own) for i in read.indices), table[op.dim])
    for d in range(op.dim + 1, len(table)):
        by[position(d)] = var(position(d - 1 + len(dims) - op.batch), table[d])
    return by


def _read(name: str, t: TensorType, algebra: Algebra) -> NormalForm:
    """An input's element; that of a bool input is x^0, because 0^0 is 0 here and 1^0 is 1."""
    element = algebra.read(name, t.dims)
    return algebra.power(element, 0) if t.dtype == "bool" else element


def _lower_factors(
    op: Unary | Binary,
    args: Sequence[int],
    nodes: Sequence[Node],
    values: Sequence[NormalForm],
    types: Sequence[TensorType],
    algebra: Algebra,
) -> NormalForm:
    """The normal form of a root, an inverse or a quotient in a graph.

    For a product, it is the product over its factors (rules P2, P3), which must be taken before the factors are
    multiplied out, because they cannot be recovered afterwards.
    """
    if isinstance(op, Binary):
        value, dims = values[args[0]], types[args[0]].dims
        for f in _factors(args[1], nodes, values, types, roots=False):
            value = _compute(op, [value, values[f]], [dims, types[f].dims], algebra)
            dims = broadcast(dims, types[f].dims, op_name(op))
        return value
    first, *rest = _factors(args[0], nodes, values, types, roots=op.fn != "recip")
    value, dims = _compute(op, [values[first]], [types[first].dims], algebra), types[first].dims
    for f in rest:
        factor = _compute(op, [values[f]], [types[f].dims], algebra)
        value = _compute(Binary("mul"), [value, factor], [dims, types[f].dims], algebra)
        dims = broadcast(dims, types[f].dims, op_name(op))
    return value


def _factors(
    at: int, nodes: Sequence[Node], values: Sequence[NormalForm], types: Sequence[TensorType], *, roots: bool
) -> list[int]:
    """The sums whose product a tensor is (nonnegative ones for `roots`); else the tensor itself."""
    op, args = nodes[at].op, nodes[at].args
    if op != Binary("mul") and not (op == MatMul() and types[args[0]].dims[-1].is_one):
        return [at]
    found = [f for a in args for f in _factors(a, nodes, values, types, roots=roots)]
    fit = (len(values[f].terms) > 1 and (values[f].sign or not roots) for f in found)
    return found if all(fit) else [at]


def _compute(
    op: ComputeOp, values: Sequence[NormalForm], dims: Sequence[tuple[Dim, ...]], algebra: Algebra
) -> NormalForm:
    return algebra.cached_tensor((op, *[v.key for v in values], *dims), lower_op, op, values, dims, algebra)


def lower_block(
    block: BlockGraph, values: Sequence[NormalForm], operands: tuple[TensorType, ...], algebra: Algebra
) -> tuple[NormalForm, ...]:
    """The normal form of every block tensor; the stores are the custom kernel's results.

    Raises:
        NoNormalForm: a race, open maps, or the budget ended.
    """
    if block.is_open:
        raise NoNormalForm("the maps are still open")
    types = block_types(block, operands)
    iterations = block.loop.size if block.loop else None
    cut = (*(p.size for p in block.grid), iterations)
    out: list[NormalForm] = []
    for n, node in enumerate(block.nodes):
        args = [out[a] for a in node.args]
        dims = [types[a].dims for a in node.args]
        match node.op:
            case Load(operand, imap, fmap) as load:
                args, dims = [values[operand]], [types[n].dims]
                key = ("load", imap, fmap, args[0].key, dims[0], cut)
                out.append(algebra.cached_tensor(key, _load, block, load, args[0], dims[0], algebra))
            case Accumulate(fn, along) as op:
                key = (op, args[0].key, dims[0], iterations)
                out.append(algebra.cached_tensor(key, accumulate, fn, along, args[0], dims[0], block, algebra))
            case AccumulateRescaled(along) as op:
                key = (op, args[0].key, args[1].key, dims[0], iterations)
                out.append(
                    algebra.cached_tensor(key, accumulate_rescaled, along, args[0], args[1], dims[0], block, algebra)
                )
            case RunningMax(along) as op:
                key = (op, args[0].key, dims[0], iterations)
                out.append(algebra.cached_tensor(key, _running_max, along, args[0], dims[0], block, algebra))
            case Store(omap):
                key = ("store", omap, args[0].key, dims[0], types[n].dims, cut)
                out.append(
                    algebra.cached_tensor(key, _store, block, omap or (), args[0], dims[0], types[n].dims, algebra)
                )
            case Input() | Band() | Lookup() | Custom() | Result():
                raise AssertionError("BlockGraph refuses kernel-level operators")
            case Unary("sqrt" | "rsqrt" | "recip") | Binary("div") as op:
                out.append(_lower_factors(op, node.args, block.nodes, out, types, algebra))
            case op:
                out.append(_compute(op, args, dims, algebra))
        algebra.check_depth(out[n])
    return tuple(out)


def _load(block: BlockGraph, load: Load, value: NormalForm, tile: tuple[Dim, ...], algebra: Algebra) -> NormalForm:
    return algebra.substitute(value, load_indices(block, load, tile))


def _running_max(
    along: int | None, value: NormalForm, dims: tuple[Dim, ...], block: BlockGraph, algebra: Algebra
) -> NormalForm:
    here = _loop_index(block)
    if along is not None:
        value = algebra.max_over(value, var(position(along), dims[along]))
    return algebra.running_max(value, here, here)


def load_indices(block: BlockGraph, load: Load, tile: tuple[Dim, ...]) -> dict[str, Index]:
    """The index in the full tensor, for each position in a tile."""
    found: dict[str, Index] = {}
    for d, size in enumerate(tile):
        parts = [
            var(grid_index(g), p.size)
            for g, (p, along) in enumerate(zip(block.grid, load.imap or (), strict=True))
            if along == d
        ]
        if load.fmap == d and block.loop is not None:
            parts.append(var(LOOP, block.loop.size))
        if parts:
            found[position(d)] = radix([*parts, var(position(d), size)])
    return found


def accumulate(
    fn: ReduceFn, along: int | None, value: NormalForm, dims: tuple[Dim, ...], block: BlockGraph, algebra: Algebra
) -> NormalForm:
    """The value of an accumulator after the loop."""
    iterations = block.loop.size if block.loop else ONE
    if fn == "max":
        within = () if along is None else (var(position(along), dims[along]),)
        return algebra.max_over(value, _loop_index(block), *within)
    if fn == "rms":
        value = algebra.power(value, 2)
    if along is not None:
        value = algebra.sum(value, var(position(along), dims[along]))
    total = algebra.sum(value, var(LOOP, iterations))
    if fn == "sum" or along is None:
        return total
    mean = algebra.mul(total, algebra.power(algebra.size(iterations * dims[along]), -1))
    return algebra.power(mean, _HALF) if fn == "rms" else mean


def accumulate_rescaled(
    along: int | None,
    value: NormalForm,
    scale: NormalForm,
    dims: tuple[Dim, ...],
    block: BlockGraph,
    algebra: Algebra,
) -> NormalForm:
    """The value of a rescaled accumulator after the loop: exp(-m last) * Σ v * exp(m) (rule L1).

    Each dim of the scale is equal to that of the sum or 1, so that both have the same positions.
    """
    if along is not None:
        value = algebra.sum(value, var(position(along), dims[along]))
    if block.loop is None:
        return value
    here = _loop_index(block)
    total = algebra.sum(algebra.mul(value, algebra.exp(scale)), here)
    final = algebra.substitute(scale, {LOOP: last_index(block.loop.size)})
    return algebra.mul(algebra.exp(algebra.scale(final, -1)), total)


def _loop_index(block: BlockGraph) -> Index:
    return var(LOOP, block.loop.size if block.loop else ONE)


def _store(
    block: BlockGraph,
    omap: tuple[int | None, ...],
    value: NormalForm,
    tile: tuple[Dim, ...],
    full_dims: tuple[Dim, ...],
    algebra: Algebra,
) -> NormalForm:
    mapped = [along for along in omap if along is not None]
    if len(set(mapped)) != len(mapped):
        raise NoNormalForm("race: two grid dims store along one dim of the result")
    for g, (p, along) in enumerate(zip(block.grid, omap, strict=True)):
        if along is None and grid_index(g) in value.free:
            raise NoNormalForm(f"race: blocks along {p.name} would write different values to one place")
    return algebra.substitute(value, store_indices(block, omap, tile, full_dims))


def store_indices(
    block: BlockGraph, omap: tuple[int | None, ...], tile: tuple[Dim, ...], full_dims: tuple[Dim, ...]
) -> dict[str, Index]:
    """The block that writes each position of the result, and the position in its tile."""
    by: dict[str, Index] = {}
    for g, (p, along) in enumerate(zip(block.grid, omap, strict=True)):
        if along is not None:
            here = var(position(along), full_dims[along])
            by[grid_index(g)] = digit(here, ONE, p.size, tile[along])
            by[position(along)] = digit(here, p.size, tile[along], ONE)
    return by


def lower_op(
    op: ComputeOp, values: Sequence[NormalForm], dims: Sequence[tuple[Dim, ...]], algebra: Algebra
) -> NormalForm:
    """The normal form of one compute operator's result.

    The dims are those of `ir.ops.compute_dims`. Only literal dims of size 1 broadcast, and these have no index.
    """
    match op:
        case Unary(fn):
            return _unary(fn, values[0], algebra)
        case Scalar(fn, value):
            return _scalar(fn, values[0], value, algebra)
        case Binary(fn):
            rank = max(map(len, dims))
            a, b = (align_rank(v, d, rank, algebra) for v, d in zip(values, dims, strict=True))
            match fn:
                case "add":
                    return algebra.add(a, b)
                case "sub":
                    return algebra.sub(a, b)
                case "mul":
                    return algebra.mul(a, b)
                case "div":
                    return algebra.mul(a, algebra.power(b, -1))
                case "max":
                    return algebra.maximum([((), a), ((), b)])
                case "min":
                    return _minimum(a, b, algebra)
                case "mask":
                    return algebra.mask(a, b)
                case "keep":
                    return algebra.mul(a, algebra.power(b, 0))
                case "drop":
                    return algebra.mul(a, _is_zero(b, algebra))
                case _:
                    assert_never(fn)
        case MatMul():
            return _matmul(values, dims, algebra)
        case Reduce(fn, along):
            value = algebra.power(values[0], 2) if fn == "rms" else values[0]
            size = dims[0][along]
            if fn == "max":
                return algebra.max_over(value, var(position(along), size))
            total = algebra.sum(value, var(position(along), size))
            if fn == "sum":
                return total
            mean = algebra.mul(total, algebra.power(algebra.size(size), -1))
            return algebra.power(mean, _HALF) if fn == "rms" else mean
        case Scan(fn, along):
            return _scan(fn, along, values[0], dims[0][along], algebra)
        case Permute() | Reshape() | Expand() | Slice() | Concat():
            return _view(op, values, dims, algebra)
        case _:
            assert_never(op)


def _scan(fn: ScanFn, along: int, value: NormalForm, size: Dim, algebra: Algebra) -> NormalForm:
    """Prefix sums: the product with a triangle of ones."""
    here, inner = var(position(along), size), var(CONTRACTED, size)
    low, high = scan_bounds(fn)
    summand = algebra.mul(algebra.substitute(value, {position(along): inner}), algebra.band(low, high, inner, here))
    return algebra.sum(summand, inner)


def scan_bounds(fn: ScanFn) -> tuple[Dim | None, Dim | None]:
    """The bounds on a result's position minus that of a term."""
    return (ZERO, None) if fn == "cumsum" else (None, ZERO)


def _scalar(fn: ScalarFn, value: NormalForm, constant: Fraction, algebra: Algebra) -> NormalForm:
    match fn:
        case "add":
            return algebra.add(value, algebra.constant(constant))
        case "mul":
            return algebra.mul(value, algebra.constant(constant))
        case "pow":
            return algebra.power(value, constant) if constant else NF_ONE
        case "max":
            return algebra.maximum([((), value), ((), algebra.constant(constant))])
        case "min":
            return _minimum(value, algebra.constant(constant), algebra)
        case _:
            assert_never(fn)


def _minimum(a: NormalForm, b: NormalForm, algebra: Algebra) -> NormalForm:
    """min(a, b) = -max(-a, -b), or the lesser value where it is known (rules M4, M6)."""
    for low, high in ((a, b), (b, a)):
        if is_never_greater(algebra, low, high):
            return low
    return algebra.scale(algebra.maximum([((), algebra.scale(a, -1)), ((), algebra.scale(b, -1))]), -1)


def _view(op: ViewOp, values: Sequence[NormalForm], dims: Sequence[tuple[Dim, ...]], algebra: Algebra) -> NormalForm:
    """A view: the operand at other indices."""
    full_dims = dims[0]
    by: dict[str, Index] = {}
    match op:
        case Permute(order):
            by |= {position(d): var(position(n), full_dims[d]) for n, d in enumerate(order)}
        case Reshape(wanted):
            by |= reshape_indices(full_dims, wanted, algebra.integers)
        case Expand():
            pass
        case Slice(along, start, stop):
            by[position(along)] = moved(var(position(along), stop - start), start, full_dims[along])
        case Concat(along):
            here = var(position(along), full_dims[along] + dims[1][along])
            start, pieces = ZERO, list[tuple[NormalForm, NormalForm]]()
            for value, sizes in zip(values, dims, strict=True):
                stop = start + sizes[along]
                piece = algebra.substitute(value, {position(along): moved(here, ZERO - start, sizes[along])})
                pieces.append((algebra.interval(here, start, stop), piece))
                start = stop
            return algebra.piecewise(pieces)
        case _:
            assert_never(op)
    return algebra.substitute(values[0], by)


@memoize(1024)
def reshape_indices(
    full_dims: tuple[Dim, ...], wanted: tuple[Dim, ...], integers: tuple[Dim, ...]
) -> Mapping[str, Index]:
    """The index along each dim of a tensor, for an element of the reshaped tensor."""
    flat = radix([var(position(n), size) for n, size in enumerate(wanted)])
    before = [prod(full_dims[:d], start=ONE) for d in range(len(full_dims))]
    after = [prod(full_dims[d + 1 :], start=ONE) for d in range(len(full_dims))]
    return {position(d): digit(flat, before[d], size, after[d], integers) for d, size in enumerate(full_dims)}


def _unary(fn: str, value: NormalForm, algebra: Algebra) -> NormalForm:
    match fn:
        case "exp":
            return algebra.exp(value)
        case "square":
            return algebra.power(value, 2)
        case "sqrt":
            return algebra.power(value, _HALF)
        case "rsqrt":
            return algebra.power(value, -_HALF)
        case "recip":
            return algebra.power(value, -1)
        case "neg":
            return algebra.scale(value, -1)
        case "nonzero":
            return algebra.power(value, 0)
        case "is_zero":
            return _is_zero(value, algebra)
        case "positive":
            return _is_positive(value, algebra)
        case "nonnegative" if algebra.by_order:
            return algebra.sub(NF_ONE, _is_positive(algebra.scale(value, -1), algebra))
        case "nonnegative":
            return _is_zero(algebra.apply("relu", algebra.scale(value, -1)), algebra)
        case _ if UNARY[fn].lowering == "inline":
            return by_definition(algebra, UNARY[fn], value)
        case _:
            return algebra.apply(fn, value)


def _is_positive(value: NormalForm, algebra: Algebra) -> NormalForm:
    """1 where a value is greater than 0, else 0."""
    if algebra.by_order:
        return algebra.apply("positive", value)
    return algebra.power(algebra.apply("relu", value), 0)


def _is_zero(value: NormalForm, algebra: Algebra) -> NormalForm:
    """1 where a value is 0, else 0; without steps as one term, (1 - x^0)^0, so that its sign is known."""
    if algebra.by_order:
        return algebra.apply("is_zero", value)
    return algebra.power(algebra.sub(NF_ONE, algebra.power(value, 0)), 0)


def align_rank(value: NormalForm, dims: tuple[Dim, ...], rank: int, algebra: Algebra) -> NormalForm:
    """The same tensor with leading dims of size 1, up to `rank` dims."""
    by = rank - len(dims)
    if not by:
        return value
    return algebra.substitute(value, {position(d): var(position(d + by), size) for d, size in enumerate(dims)})


def _matmul(values: Sequence[NormalForm], dims: Sequence[tuple[Dim, ...]], algebra: Algebra) -> NormalForm:
    left, right = matmul_indices(*dims)
    product = algebra.mul(algebra.substitute(values[0], left), algebra.substitute(values[1], right))
    return algebra.sum(product, var(CONTRACTED, dims[0][-1]))


def matmul_indices(a: tuple[Dim, ...], b: tuple[Dim, ...]) -> tuple[dict[str, Index], dict[str, Index]]:
    """The indices at which a matmul reads its operands: the result's positions and the summed index."""
    rank, inner = max(len(a), len(b)), var(CONTRACTED, a[-1])
    left: dict[str, Index] = {position(d): var(position(d + rank - len(a)), size) for d, size in enumerate(a[:-1])}
    right: dict[str, Index] = {position(d): var(position(d + rank - len(b)), size) for d, size in enumerate(b)}
    left[position(len(a) - 1)] = inner
    right[position(len(b) - 2)] = inner
    return left, right
