"""Loop fusion of a product with a sum over the columns of its right operand.

Input: a section of the loop IR. Output: per product, the adjacent sum that it can compute too; the section itself is
unchanged. Example: the squares of normalized keys, summed along k. The product has every vector of the tile in a
register, so the sum costs one more row of partial sums and no second pass over the tile. Legal where the sum reads the
product's right operand alone, over the same ranges, and (`can_fuse`) the product reads every vector of it exactly once.
The sum has the same terms as before.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from prism_explore.codegen.cpu.loop_ir import (
    Apply,
    Constant,
    Contract,
    Expression,
    Fold,
    Place,
    Range,
    RangeTest,
    Read,
    Statement,
)
from prism_explore.codegen.cpu.matmul_tiling import DotTiling, Tiling, is_bf16_product, matmul_shape, merged_k_ranges


@dataclass(frozen=True, slots=True)
class FusedSum:
    """A sum that a product can compute too."""

    position: int
    """In its section: directly before or after the product."""
    fold: Fold
    """The sum in the product's variables."""


def find_column_sums(section: tuple[Statement, ...]) -> Mapping[int, FusedSum]:
    """For the products of a section, by position, the adjacent sum that each can compute too."""
    found: dict[int, FusedSum] = {}
    for position, c in enumerate(section):
        for at in (position - 1, position + 1):
            s = section[at] if isinstance(c, Contract) and 0 <= at < len(section) else None
            if (
                isinstance(s, Fold)
                and isinstance(c, Contract)
                and at not in {fused.position for fused in found.values()}
            ):
                renamed = _in_variables_of(s, c)
                if renamed is not None:
                    found.setdefault(position, FusedSum(at, renamed))
    return found


def can_fuse(c: Contract, tiling: Tiling) -> bool:
    """Whether a product with this tiling reads every vector of its right operand exactly once, in float32."""
    return isinstance(tiling, DotTiling) and not tiling.is_bf16 and not tiling.k_block and tiling.rows >= c.m.extent


def _in_variables_of(s: Fold, c: Contract) -> Fold | None:
    """The sum in the product's variables, if it is one over the product's right operand."""
    shape = matmul_shape(c)
    if s.join != "sum" or not shape.is_dot or is_bf16_product(c) or len(merged_k_ranges(c)) > 1 or shape.k % 16:
        return None
    places = set(_places_of(s.value) or ())
    if len(places) != 1 or s.target.buffer.root in {p.buffer.root for p in (c.left, c.right, c.target)}:
        return None
    (place,) = places
    names = _renaming(s, place, c)
    if names is None or not _is_same_place(place.renamed(names), c.right):
        return None
    domain = tuple(Range(names.get(r.name, r.name), r.extent) for r in s.domain)
    along = tuple(names[name] for name in s.along if name in names)
    return replace(s, domain=domain, along=along, target=s.target.renamed(names), value=_with_place(c.right, s.value))


def _places_of(value: Expression) -> tuple[Place, ...] | None:
    """The places that a value reads; None where it depends on loop variables directly."""
    match value:
        case Read(place):
            return (place,)
        case Constant():
            return ()
        case RangeTest():
            return None
        case Apply(_, args):
            parts = [_places_of(a) for a in args]
            return None if None in parts else tuple(p for part in parts for p in part or ())


def _renaming(s: Fold, place: Place, c: Contract) -> dict[str, str] | None:
    """The product's variable for each of the sum's; None where they run over different ranges."""
    sum_ranges = [r for r in s.domain if r.extent > 1]
    product_ranges = {r.name: r for r in (*c.batch, c.n, *c.k) if r.extent > 1}
    ks = {r.name for r in c.k}
    names: dict[str, str] = {}
    for r in sum_ranges:
        candidates = (
            name
            for name, other in product_ranges.items()
            if name not in names.values()
            and other.extent == r.extent
            and c.right.stride(name) == place.stride(r.name) != 0
            and (name in ks) == (r.name in s.along)
        )
        if (name := next(candidates, None)) is None:
            return None
        names[r.name] = name
    return names if len(names) == len(product_ranges) else None


def _is_same_place(a: Place, b: Place) -> bool:
    """Whether two places are the same for all values of their variables."""
    variables = {*a.variables, *b.variables}
    return a.buffer == b.buffer and a.offset == b.offset and all(a.stride(v) == b.stride(v) for v in variables)


def _with_place(place: Place, value: Expression) -> Expression:
    """The value with this place instead of the only one that it reads."""
    match value:
        case Read():
            return Read(place)
        case Apply(fn, args):
            return Apply(fn, tuple(_with_place(place, a) for a in args))
        case Constant() | RangeTest():
            return value
