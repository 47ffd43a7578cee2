// Rows with indentation, links and a button that collapses them, as prism_explore/widgets/views/outline_rows.py draws
// them: the common part of two modes of the search map.

import type { Edge, Item, Shape, Text } from "../scene.ts";
import { block, type Drawing, line, rounded, textPx } from "./map.ts";
import { shorten } from "./text.ts";

export interface OutlineRow {
  readonly id: string;
  readonly ref: string;
  readonly depth: number;
  /** Style of the glyph. */
  readonly kind: string;
  readonly outline: NonNullable<Shape["outline"]>;
  readonly text: string;
  readonly note?: string;
  readonly tip?: string;
  readonly letter?: string;
  /** Whether its content is shown; null for a row without content. */
  readonly isOpen?: boolean | null;
  /** Length of its bar, from 0 to 1; 0 for none. */
  readonly share?: number;
  readonly count?: number;
}

/** What the user has expanded and collapsed. */
export interface Toggled {
  readonly opened: readonly string[];
  readonly closed: readonly string[];
}

export function isOpen(toggled: Toggled, id: string, usually: boolean): boolean {
  return toggled.opened.includes(id) || (usually && !toggled.closed.includes(id));
}

/** Draws rows below one another, each linked to the row that it belongs to. */
export class Outline {
  /** Drawn first, so that buttons cover them. */
  private readonly links: Edge[] = [];
  readonly items: Item[] = [];
  rows = 0;
  /** Per depth, the middle of the last row. */
  private readonly lastAt = new Map<number, number>();

  constructor(
    private readonly drawing: Drawing,
    private readonly width: number,
    /** Indentation of one level. Units: px. */
    private readonly step: number,
  ) {}

  get bottom(): number {
    return this.rows * this.drawing.outline.row_px;
  }

  add(row: OutlineRow): void {
    const { row_px, toggle_px, glyph_px } = this.drawing.outline;
    const y = this.bottom;
    const middle = y + row_px / 2;
    const x = 2 + row.depth * this.step;
    this.rows += 1;
    const above = this.lastAt.get(row.depth - 1);
    if (row.depth > 0 && above !== undefined) {
      const left = x - this.step + toggle_px + glyph_px / 2;
      const points = [
        [left, above + glyph_px / 2],
        [left, middle],
        [Math.max(left + 3, x + toggle_px), middle],
      ] as const;
      this.links.push({ type: "edge", id: `${row.id}#link`, kind: "tree-link", points, source: row.id });
    }
    this.lastAt.set(row.depth, middle);
    this.draw(row, x, y, middle);
  }

  private draw(row: OutlineRow, x: number, y: number, middle: number): void {
    const { drawing } = this;
    const { row_px, toggle_px, glyph_px } = drawing.outline;
    const { id, ref, kind, outline, note = "", tip = "", letter = "", share = 0, count = 1 } = row;
    const glyphX = x + toggle_px;
    const textX = glyphX + glyph_px + 6;
    const room = this.width - textX;
    if (share > 0) {
      this.items.push(block(`${id}#bar`, "bar", textX - 3, y + 3, Math.max(2, room * share), row_px - 6));
    }
    const notePx = note ? textPx(drawing, note, "small") + 8 : 0;
    const characters = Math.floor((room - notePx) / textPx(drawing, "n", "mono"));
    const label = shorten(row.text, Math.max(4, characters));
    const labelPx = textPx(drawing, label, "mono");
    const texts: Text[] = [{ x: textX, y: middle + 4, text: label, kind: "mono", anchor: "start" }];
    if (note && labelPx + notePx <= room + 8)
      texts.push({ x: textX + labelPx + 8, y: middle + 4, text: note, kind: "small", anchor: "start" });
    const bodyKind = row.isOpen === false ? "collapsed-row" : "tree-row";
    this.items.push({
      ...block(id, bodyKind, glyphX, y, this.width - glyphX, row_px),
      ...{ texts, ref, tip, count },
    });
    this.items.push({
      ...block(`${id}#glyph`, kind, glyphX, middle - glyph_px / 2, glyph_px, glyph_px),
      role: "mark",
      outline,
      texts: letter ? [{ x: glyphX + glyph_px / 2, y: middle + 4, text: letter, kind: "letter" }] : [],
      ref,
    });
    if (row.isOpen === undefined || row.isOpen === null) return;
    const verb = row.isOpen ? "close" : "open";
    this.items.push({
      ...block(`${verb}#${id}`, "toggle", x, y + 1, toggle_px, row_px - 2),
      role: "chip",
      texts: [{ x: x + toggle_px / 2, y: middle + 4, text: row.isOpen ? "−" : "+", kind: "letter" }],
      tip: `${row.isOpen ? "collapse" : "expand"} ${id} (c)`,
    });
  }

  /** A sentence below the rows. */
  say(text: string): void {
    const shown: Text = { x: 0, y: this.bottom + 14, text, kind: "muted", anchor: "start" };
    this.items.push({ ...line("omitted", 0, this.bottom, this.width, 20), texts: [shown] });
  }

  scene(title: string, desc: string, omitted: string, height: number): ReturnType<typeof rounded> {
    const items = [...this.links, ...this.items];
    return rounded({ name: "search", title, desc, width: this.width, height, items, omitted });
  }
}
