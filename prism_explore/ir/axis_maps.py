"""imap, omap and fmap as views of one choice per axis.

For each index axis of a custom kernel, a choice says which grid dim partitions it (or none) and whether the for-loop
partitions it. The imap and fmap of every load and the omap of the store follow from that. Prism and Mirage enumerate
the maps tensor by tensor and filter them; see `instantiate/README.md`.
"""

from __future__ import annotations

from dataclasses import dataclass

from prism_explore.ir.axes import AxisNames


@dataclass(frozen=True, slots=True)
class AxisUse:
    """How one axis is partitioned: by the grid dim number `grid` (None: by none), and by the loop or not."""

    axis: str
    grid: int | None = None
    looped: bool = False

    def __str__(self) -> str:
        cuts = [*(["xyz"[self.grid]] if self.grid is not None else []), *(["i"] if self.looped else [])]
        return f"{self.axis}<->{'+'.join(cuts) or 'whole'}"


def grid_map(uses: tuple[AxisUse, ...], axes: AxisNames, grid_rank: int) -> tuple[int | None, ...]:
    """The imap of a load, or omap of a store, of a tensor with these axes: the dim that each grid dim partitions."""
    dims: list[int | None] = [None] * grid_rank
    for use in uses:
        if use.grid is not None and use.axis in axes:
            dims[use.grid] = axes.index(use.axis)
    return tuple(dims)


def loop_map(uses: tuple[AxisUse, ...], axes: AxisNames) -> int | None:
    """The fmap of a load of a tensor with these axes: the dim that the loop partitions."""
    for use in uses:
        if use.looped and use.axis in axes:
            return axes.index(use.axis)
    return None
