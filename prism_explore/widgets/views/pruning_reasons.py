"""Bar chart of the pruning reasons: how many regions and maps each reason and rule pruned.

The bars have the letters and patterns of the search map.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from prism_explore.events.format import programs_text
from prism_explore.events.ledger import Ledger, PruneCount
from prism_explore.widgets.drawing.text_metrics import shorten, width_px
from prism_explore.widgets.scene import Item, Scene, Shape, Text
from prism_explore.widgets.views.marks import PRUNED_KINDS, letter_of

ROW_PX = 24.0
MIN_BLOCK_PX = 2.0
"""Width of the shortest bar."""
NARROW_PX = 560.0
"""A narrower picture has rule and soundness in the tooltips only; the pattern shows the soundness too."""


def reasons_scene(book: Ledger, width: float = 960.0) -> Scene:
    """Draw one bar per reason and rule.

    Args:
        book: the ledger of the search.
        width: width of the picture. Units: px.
    """
    items: list[Item] = []
    narrow = width < NARROW_PX
    labels = _labels(book.prune_counts, narrow)
    values = [_value(c, book.prunings(what=c.what), narrow) for c in book.prune_counts]
    texts = list(zip(labels, values, strict=True))
    left = max((width_px(a, "mono") for a, _ in texts), default=0.0) + 34
    right = max((width_px(b, "small") for _, b in texts), default=0.0) + 10
    most = max((c.count for c in book.prune_counts), default=1)
    for number, (row, (label, value)) in enumerate(zip(book.prune_counts, texts, strict=True)):
        y = number * ROW_PX
        w = max(MIN_BLOCK_PX, (width - left - right) * row.count / most)
        ident = f"{row.code}/{row.rule}/{row.soundness}/{row.what}"
        line = (
            Text(12, y + 17, letter_of(row.code, row.soundness), "letter"),
            Text(26, y + 17, label, "mono", "start"),
            Text(left + w + 8, y + 17, value, "small", "start"),
        )
        tip = (
            f"{row.code} by {row.rule} [{row.soundness}]: {row.sentence}\n"
            f"{row.count:,} of {book.prunings(what=row.what):,} {row.things}, for example "
            f"{row.example}; they represent {programs_text(row.stood_for)} programs"
        )
        items.append(Shape(f"{ident}#label", "text", "plain", 0, y, width, ROW_PX, "none", line, row.example, tip))
        items.append(
            Shape(
                ident,
                "block",
                PRUNED_KINDS[row.soundness],
                left,
                y + 3,
                w,
                ROW_PX - 6,
                ref=row.example,
                tip=tip,
                count=row.count,
            )
        )
    if not items:
        nothing = (Text(width / 2, 17, "nothing has been pruned yet", "muted"),)
        items.append(Shape("nothing", "text", "plain", 0, 0, width, ROW_PX, "none", nothing))
    desc = (
        "; ".join(f"{c.code} by {c.rule} [{c.soundness}]: {c.count:,} {c.things}" for c in book.prune_counts)
        or "nothing was pruned"
    )
    return Scene("reasons", "pruning by reason", desc, width, max(1, len(book.prune_counts)) * ROW_PX, tuple(items))


def _value(row: PruneCount, total: int, narrow: bool) -> str:
    """The count of a row, and its share of everything of its kind."""
    return f"{row.count:,} · {_percent(row.count / total)}{'' if narrow else f' · {row.soundness}'}"


def _labels(rows: Sequence[PruneCount], narrow: bool) -> list[str]:
    """A label per row; no two are the same. A rule of another name than its reason is named, the tooltip has both."""
    codes = Counter(row.code for row in rows)
    labels = [_label(row, narrow, codes[row.code] > 1) for row in rows]
    often = Counter(labels)
    return [f"{label} {row.soundness}" if often[label] > 1 else label for label, row in zip(labels, rows, strict=True)]


def _label(row: PruneCount, narrow: bool, shared: bool) -> str:
    things = "" if row.what == "region" else f" ({'maps' if row.what == 'maps' else row.things})"
    if row.rule == row.code:
        return f"{shorten(row.code, 24)}{things}"
    if narrow:
        return f"{shorten(row.rule if shared else row.code, 24)}{things}"
    return f"{shorten(row.code, 24)} · {shorten(row.rule, 24)}{things}"


def _percent(share: float) -> str:
    return "<1%" if share < 0.005 else f"{share:.0%}"
