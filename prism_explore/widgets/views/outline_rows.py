"""Rows with indentation, links and a button that collapses them: the common part of two modes of the search map."""

from __future__ import annotations

from dataclasses import dataclass, field

from prism_explore.widgets.drawing.text_metrics import shorten, width_px
from prism_explore.widgets.scene import Edge, Item, Outline, Shape, Text

ROW_PX = 24.0
TOGGLE_PX = 24.0
GLYPH_PX = 14.0


@dataclass(frozen=True, slots=True)
class OutlineRow:
    """One row: its glyph, its texts, and whether it can be collapsed."""

    id: str
    ref: str
    depth: int
    kind: str
    """Style of the glyph."""
    outline: Outline
    text: str
    note: str = ""
    tip: str = ""
    letter: str = ""
    is_open: bool | None = None
    """Whether its content is shown; None for a row without content."""
    share: float = 0.0
    """Length of its bar, from 0 to 1; 0 for none."""
    count: int = 1


@dataclass(slots=True)
class OutlineDrawing:
    """Draws rows below one another, each linked to the row that it belongs to."""

    width: float
    step: float
    """Indentation of one level. Units: px."""
    links: list[Item] = field(default_factory=list[Item])
    """Drawn first, so that buttons cover them."""
    items: list[Item] = field(default_factory=list[Item])
    rows: int = 0
    _last_at: dict[int, float] = field(default_factory=dict[int, float])
    """Per depth, the middle of the last row."""

    @property
    def drawn(self) -> tuple[Item, ...]:
        """All items in drawing order."""
        return (*self.links, *self.items)

    def add(self, row: OutlineRow) -> None:
        """Draw the next row."""
        y = self.rows * ROW_PX
        middle = y + ROW_PX / 2
        x = 2 + row.depth * self.step
        self.rows += 1
        if row.depth and (above := self._last_at.get(row.depth - 1)) is not None:
            left = x - self.step + TOGGLE_PX + GLYPH_PX / 2
            route = ((left, above + GLYPH_PX / 2), (left, middle), (max(left + 3, x + TOGGLE_PX), middle))
            self.links.append(Edge(f"{row.id}#link", "tree-link", route, source=row.id))
        self._last_at[row.depth] = middle
        self._draw(row, x, y, middle)

    def _draw(self, row: OutlineRow, x: float, y: float, middle: float) -> None:
        glyph_x = x + TOGGLE_PX
        text_x = glyph_x + GLYPH_PX + 6
        room = self.width - text_x
        if row.share:
            w = max(2.0, room * row.share)
            self.items.append(Shape(f"{row.id}#bar", "block", "bar", text_x - 3, y + 3, w, ROW_PX - 6))
        note_px = width_px(row.note, "small") + 8 if row.note else 0.0
        label = shorten(row.text, max(4, int((room - note_px) // width_px("n", "mono"))))
        texts = [Text(text_x, middle + 4, label, "mono", "start")]
        if row.note and width_px(label, "mono") + note_px <= room + 8:
            texts.append(Text(text_x + width_px(label, "mono") + 8, middle + 4, row.note, "small", "start"))
        kind = "collapsed-row" if row.is_open is False else "tree-row"
        wide = self.width - glyph_x
        body = Shape(
            row.id, "block", kind, glyph_x, y, wide, ROW_PX, "rect", tuple(texts), row.ref, row.tip, count=row.count
        )
        letter = (Text(glyph_x + GLYPH_PX / 2, middle + 4, row.letter, "letter"),) if row.letter else ()
        glyph = Shape(
            f"{row.id}#glyph",
            "mark",
            row.kind,
            glyph_x,
            middle - GLYPH_PX / 2,
            GLYPH_PX,
            GLYPH_PX,
            row.outline,
            letter,
            row.ref,
        )
        self.items += [body, glyph]
        if row.is_open is not None:
            verb, sign = ("close", "−") if row.is_open else ("open", "+")
            text = (Text(x + TOGGLE_PX / 2, middle + 4, sign, "letter"),)
            tip = f"{'collapse' if row.is_open else 'expand'} {row.id} (c)"
            box = (x, y + 1, TOGGLE_PX, ROW_PX - 2)
            self.items.append(Shape(f"{verb}#{row.id}", "chip", "toggle", *box, "rect", text, tip=tip))
