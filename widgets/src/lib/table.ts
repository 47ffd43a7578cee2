// A table that is sorted by a click on a heading, and navigated with the arrow keys.
//
// A long table draws only the rows near the visible part; two rows without content take the place of the others.

import type { Cell, Row, Table } from "../sections.ts";
import { h, mark, refill } from "./dom.ts";
import { glyph } from "./glyph.ts";
import { redrawList } from "./keep.ts";
import { typeset } from "./math.ts";
import { answer, csvLines, type RowKey, type RowText } from "./reveal.ts";

/** Texts up to this many letters are not wrapped, nor are headings. */
const SHORT = 24;
const SHORT_HEADING = 10;
/** A longer table draws so many rows at a time. */
export const DRAWN_ROWS = 60;
/** Rows that are drawn above the visible part. */
const ROWS_ABOVE = 15;
/** Height of a row until rows were measured. */
const ROW_PX = 29;

/** What one row of the page shows: a row, rows that are not drawn, or that there are none. */
type Part =
  | { readonly row: Row; readonly of: string }
  | { readonly gap_px: number; readonly span: number }
  | { readonly text: string; readonly span: number };

export interface TableEvents {
  select(ref: string): void;
  hover(ref: string | null): void;
  /** Choose one more row, or all rows up to this one: Ctrl or Shift with a click or an arrow key. */
  choose?(ref: string, range: boolean): void;
  /** Buttons at the end of a row. */
  tools?(row: Row): readonly Node[];
}

export class TableView {
  readonly element: HTMLDivElement;
  private readonly table: HTMLTableElement;
  private readonly head = h("thead");
  private readonly body = h("tbody");
  private readonly note = h("p", { class: "pe-note" });
  private data: Table | null = null;
  /** All rows in the order of the table, and the first that is drawn. */
  private rows: readonly Row[] = [];
  private first = 0;
  private rowPx = ROW_PX;
  /** The widths of the columns in px, the columns and the number of rows for which they were measured. */
  private widths: readonly number[] = [];
  private keys = "";
  private held: {
    readonly rows: number;
    readonly letters: readonly number[];
    readonly padding: string;
  } | null = null;
  private text = "";
  private sorted: { readonly key: string; readonly down: boolean } | null = null;
  private selected: readonly string[] = [];
  private related: readonly string[] = [];

  constructor(
    label: string,
    private readonly events: TableEvents,
  ) {
    this.table = h("table", { class: "pe-table", "aria-label": label }, this.head, this.body);
    this.element = h("div", { class: "pe-tablebox", tabindex: -1 }, this.table, this.note);
    answer(
      this.element,
      (key) => this.reveal(key),
      () => this.rows.map(rowText),
      () => this.csv(),
    );
    this.element.addEventListener("scroll", () => this.follow(), { passive: true });
    new ResizeObserver(() => this.resized()).observe(this.element);
    const ref = (event: Event) =>
      (event.target as Element).closest("tr[data-ref]")?.getAttribute("data-ref") ?? null;
    this.body.addEventListener("click", (event) => {
      if ((event.target as Element).closest("button, input")) return;
      const chosen = ref(event);
      const pointer = event as MouseEvent;
      if (chosen && this.events.choose && (pointer.shiftKey || pointer.ctrlKey || pointer.metaKey)) {
        this.events.choose(chosen, pointer.shiftKey);
        return;
      }
      if (chosen) this.events.select(chosen);
    });
    this.body.addEventListener("pointerover", (event) => this.events.hover(ref(event)));
    this.body.addEventListener("pointerleave", () => this.events.hover(null));
    this.body.addEventListener("keydown", (event) => this.walk(event));
  }

  update(data: Table): void {
    const text = JSON.stringify(data);
    if (text === this.text) return;
    this.text = text;
    this.data = data;
    this.draw();
  }

  select(refs: readonly string[], related: readonly string[] = []): void {
    this.selected = refs;
    this.related = related;
    const rows = [...this.body.querySelectorAll<HTMLElement>("tr")];
    const own = rows.filter((row) => row.hasAttribute("data-ref"));
    // The Tab key enters a table at its selected row, else at its first one.
    const entry = own.find((row) => refs.includes(row.getAttribute("data-ref") ?? "")) ?? own[0];
    for (const row of own) mark(row, "tabindex", row === entry ? "0" : "-1");
    for (const row of rows) {
      const ref = row.getAttribute("data-ref") ?? "";
      mark(row, "aria-selected", refs.includes(ref) ? "true" : "false");
      row.classList.toggle("related", related.includes(ref));
    }
  }

  hover(refs: readonly string[]): void {
    for (const row of this.body.querySelectorAll("tr")) {
      row.classList.toggle("hovered", refs.includes(row.getAttribute("data-ref") ?? ""));
    }
  }

  /** The ids of all rows, in the order of the table. */
  get refs(): readonly string[] {
    return this.rows.map((row) => row.ref);
  }

  private csv(): string {
    if (!this.data || this.rows.length === 0) return "";
    const head = this.data.columns.map((column) => column.label);
    return csvLines([head, ...this.rows.map((row) => row.cells.map(textOf))]);
  }

  /** Scroll to a row, by its id or by the number in its first cell. */
  private reveal({ ref, seq }: RowKey): void {
    const number = String(seq);
    const numbered = this.rows.findIndex((row) => textOf(row.cells[0]) === number);
    const index = numbered >= 0 ? numbered : this.rows.findIndex((row) => ref !== "" && row.ref === ref);
    if (index < 0) return;
    if (index < this.first || index >= this.first + DRAWN_ROWS) this.drawRows(index - DRAWN_ROWS / 2);
    const row = this.body.querySelector<HTMLElement>(`tr[aria-rowindex="${index + 2}"]`);
    for (const other of this.body.querySelectorAll("tr.found")) other.classList.remove("found");
    row?.classList.add("found");
    row?.scrollIntoView?.({ block: "nearest" });
  }

  private draw(): void {
    const { data } = this;
    if (!data) return;
    this.rows = this.order(data);
    mark(this.table, "aria-rowcount", String(this.rows.length + 1));
    this.freeWidths(data);
    refill(this.head, h("tr", {}, ...data.columns.map((_, i) => this.header(data, i)), this.toolsHead()));
    this.drawRows(this.first);
    this.holdWidths(data);
    this.note.textContent = data.omitted;
    this.note.hidden = data.omitted === "";
  }

  /** Draw the rows from `first` on. */
  private drawRows(first: number): void {
    const { data, rows } = this;
    if (!data) return;
    this.first = Math.max(0, Math.min(first, rows.length - DRAWN_ROWS));
    const end = Math.min(this.first + DRAWN_ROWS, rows.length);
    const had = this.body.contains(document.activeElement);
    const focused = had ? indexOf(document.activeElement) : null;
    const focusedRef = had ? (document.activeElement?.closest("tr")?.getAttribute("data-ref") ?? null) : null;
    redrawList(this.body, this.parts(data, end), (part) =>
      "row" in part ? this.row(data, part.row) : blank(part),
    );
    const before = this.first > 0 ? 1 : 0;
    for (let n = this.first; n < end; n += 1) {
      const row = this.body.children[before + n - this.first];
      if (row) mark(row, "aria-rowindex", String(n + 2));
    }
    this.select(this.selected, this.related);
    if (focused === null || focusedRef === null) return;
    const drawn = [...this.body.querySelectorAll<HTMLElement>("tr[data-ref]")];
    const same = drawn.filter((row) => row.getAttribute("data-ref") === focusedRef);
    const row = same.find((r) => indexOf(r) === focused) ?? same[0] ?? this.element;
    row.focus({ preventScroll: true });
  }

  /** The rows from the first one that is drawn to `end`, and those that take the place of the others. */
  private parts(data: Table, end: number): readonly Part[] {
    const { rows, first } = this;
    const span = data.columns.length + (this.events.tools ? 1 : 0);
    const gap = (count: number): Part[] => (count > 0 ? [{ gap_px: count * this.rowPx, span }] : []);
    // What a row shows depends on the columns too.
    const of = data.columns.map((c) => [c.align, c.mono, c.wide]).join();
    const drawn = rows.slice(first, end).map((row) => ({ row, of }));
    const empty = rows.length === 0 ? [{ text: data.empty_text, span }] : [];
    return [...gap(first), ...drawn, ...gap(rows.length - end), ...empty];
  }

  /** Draw other rows when the visible part nears the end of those that are drawn. */
  private follow(): void {
    const { rows, element } = this;
    if (rows.length <= DRAWN_ROWS) return;
    const drawn = [...this.body.querySelectorAll<HTMLElement>("tr[aria-rowindex]")];
    const measured = drawn.reduce((sum, row) => sum + row.offsetHeight, 0) / Math.max(1, drawn.length);
    if (measured > 0) this.rowPx = measured;
    const top = Math.floor(element.scrollTop / this.rowPx);
    const bottom = top + Math.ceil(element.clientHeight / this.rowPx);
    const isAbove = top < this.first;
    const isBelow = bottom > this.first + DRAWN_ROWS && this.first + DRAWN_ROWS < rows.length;
    if (isAbove || isBelow) this.drawRows(top - ROWS_ABOVE);
  }

  /** Fix the widths of the columns, so that nothing moves when a cell changes; they grow with more rows or longer numbers. */
  private holdWidths(data: Table): void {
    const headings = [...this.head.querySelectorAll<HTMLElement>("th")];
    if (this.rows.length === 0) return;
    if (this.held !== null) {
      this.setWidths(headings, data);
      return;
    }
    // Rounded up, because a text that is cut by a part of a pixel loses its last letters to an ellipsis.
    const natural = headings.map((heading) => Math.ceil(heading.getBoundingClientRect().width));
    if (natural.some((width) => width === 0)) return;
    const before = this.widths.length === natural.length ? this.widths : [];
    this.widths = natural.map((width, i) => Math.max(width, before[i] ?? 0));
    this.held = { rows: this.rows.length, letters: this.letters(data), padding: this.padding() };
    this.setWidths(headings, data);
  }

  /** A table in a hidden tab has no widths until it is shown; a wider widget has wider cells. */
  private resized(): void {
    if (!this.data) return;
    if (this.held === null) this.holdWidths(this.data);
    else if (this.held.padding !== this.padding()) {
      this.widths = [];
      this.held = null;
      this.table.style.tableLayout = "";
      this.draw();
    }
  }

  private padding(): string {
    const heading = this.head.querySelector(".pe-sort");
    return heading ? getComputedStyle(heading).padding : "";
  }

  /** The column that takes the remaining width has none of its own. */
  private setWidths(headings: readonly HTMLElement[], data: Table): void {
    if (this.widths.length !== headings.length) return;
    let least = 0;
    headings.forEach((heading, i) => {
      const wide = data.columns[i]?.wide ?? false;
      heading.style.width = wide ? "" : `${this.widths[i]}px`;
      // A panel that is narrower than these together scrolls.
      least += wide ? Number.parseFloat(getComputedStyle(heading).minWidth) || 0 : (this.widths[i] ?? 0);
    });
    this.table.style.minWidth = `${least}px`;
    this.table.style.tableLayout = "fixed";
  }

  /** Per column of numbers, the length of its longest text; 0 for the others. */
  private letters(data: Table): readonly number[] {
    return data.columns.map(({ align }, i) =>
      align === "right" ? this.rows.reduce((most, row) => Math.max(most, textOf(row.cells[i]).length), 0) : 0,
    );
  }

  /** Measure the columns again if there are other columns, another number of rows, or longer numbers. */
  private freeWidths(data: Table): void {
    const keys = data.columns.map((column) => column.key).join(" ");
    if (keys !== this.keys) this.widths = [];
    const had = this.held;
    const longer = had !== null && this.letters(data).some((count, i) => count > (had.letters[i] ?? 0));
    if (keys === this.keys && had?.rows === this.rows.length && !longer) return;
    this.keys = keys;
    this.held = null;
    this.table.style.tableLayout = "";
  }

  private toolsHead(): HTMLElement | null {
    return this.events.tools
      ? h("th", { scope: "col", class: "pe-tools" }, h("span", { class: "pe-hidden" }, "actions"))
      : null;
  }

  private header(data: Table, index: number): HTMLElement {
    const column = data.columns[index];
    if (!column) return h("th");
    const now = this.sorted?.key === column.key ? this.sorted : null;
    const button = h(
      "button",
      {
        type: "button",
        class: column.label.length <= SHORT_HEADING ? "pe-sort pe-short" : "pe-sort",
        title: column.tip ?? `sort by “${column.label}”`,
      },
      column.label,
      h("span", { class: "pe-arrow", "aria-hidden": "true" }, now ? (now.down ? "▾" : "▴") : ""),
    );
    button.addEventListener("click", () => {
      const again = this.sorted?.key === column.key;
      this.sorted = again && this.sorted?.down ? null : { key: column.key, down: again };
      this.draw();
    });
    return h(
      "th",
      {
        scope: "col",
        class: column.align === "right" ? "pe-right" : column.wide ? "pe-wide" : null,
        style: column.width_ch ? `min-width:${column.width_ch}ch` : null,
        "aria-sort": now ? (now.down ? "descending" : "ascending") : "none",
      },
      button,
    );
  }

  private order(data: Table): readonly Row[] {
    const { sorted } = this;
    const index = data.columns.findIndex((c) => c.key === sorted?.key);
    if (!sorted || index < 0) return data.rows;
    const sign = sorted.down ? -1 : 1;
    const numbered = data.rows.map((row, i) => ({ row, i }));
    numbered.sort((a, b) => sign * compare(a.row.cells[index], b.row.cells[index]) || a.i - b.i);
    return numbered.map((n) => n.row);
  }

  private row(data: Table, row: Row): HTMLTableRowElement {
    const cells = row.cells.map((cell, i) => {
      const column = data.columns[i];
      const given = typeof cell === "string" ? { text: cell } : cell;
      const classes = [
        column?.align === "right" ? "pe-right" : "",
        column?.mono ? "pe-mono" : "",
        given.text.length <= SHORT ? "pe-short" : "",
      ]
        .filter(Boolean)
        .join(" ");
      const mark_ = given.kind ? glyph(given.kind) : null;
      const content = given.math
        ? [mark_, typeset(given.math, given.text)]
        : column?.wide && given.tip
          ? [h("span", { class: "pe-clamp" }, mark_, given.text)]
          : [mark_, given.text];
      // A long text is broken into lines of the column's width, so that it does not push other columns out of view.
      const style = column?.width_ch && given.text.length > SHORT ? `max-width:${column.width_ch}ch` : null;
      return h("td", { class: classes || null, title: given.tip ?? null, style }, ...content);
    });
    const tools = this.events.tools ? h("td", { class: "pe-tools" }, ...this.events.tools(row)) : null;
    const attributes = row.ref ? { "data-ref": row.ref, tabindex: -1, "aria-selected": "false" } : {};
    return h("tr", { ...attributes, class: row.kind ? `row-${row.kind}` : null }, ...cells, tools);
  }

  private walk(event: KeyboardEvent): void {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const row = (event.target as Element).closest("tr");
    const own = row === event.target ? (row?.getAttribute("data-ref") ?? "") : "";
    if (event.key === "Enter" && own && !this.selected.includes(own)) {
      event.preventDefault();
      event.stopPropagation();
      this.events.select(own);
      return;
    }
    if (step === undefined || !row) return;
    event.preventDefault();
    event.stopPropagation();
    const index = (indexOf(row) ?? 0) + step;
    const ref = this.rows[index]?.ref;
    if (!ref) return;
    if (index < this.first || index >= this.first + DRAWN_ROWS) this.drawRows(index - DRAWN_ROWS / 2);
    this.body.querySelector<HTMLElement>(`tr[aria-rowindex="${index + 2}"]`)?.focus();
    if (event.shiftKey) this.events.choose?.(ref, true);
    this.events.select(ref);
  }
}

/** A row without content: in place of rows that are not drawn, or of a table without rows. */
function blank(part: Exclude<Part, { row: Row }>): HTMLTableRowElement {
  if ("text" in part) return h("tr", {}, h("td", { class: "pe-empty", colspan: part.span }, part.text));
  const cell = h("td", { colspan: part.span, style: `height:${part.gap_px}px` });
  return h("tr", { class: "pe-gap", "aria-hidden": "true" }, cell);
}

/** Position among all rows of the row that an element is in; null outside of the rows. */
function indexOf(element: Element | null): number | null {
  const text = element?.closest("tr")?.getAttribute("aria-rowindex");
  return text ? Number(text) - 2 : null;
}

function textOf(cell: string | Cell | undefined): string {
  return typeof cell === "string" ? cell : (cell?.text ?? "");
}

function rowText(row: Row): RowText {
  const seq = Number(textOf(row.cells[0]));
  const text = [row.ref, ...row.cells.map(textOf)].join("\n");
  return { ref: row.ref, seq: Number.isFinite(seq) ? seq : 0, text };
}

function compare(a: string | Cell | undefined, b: string | Cell | undefined): number {
  const [x, y] = [key(a), key(b)];
  if (typeof x === "number" && typeof y === "number") return x - y;
  // Cells without a number, such as times that are not measured yet, come last in ascending order.
  if (typeof x === "number") return -1;
  if (typeof y === "number") return 1;
  return x.localeCompare(y, undefined, { numeric: true });
}

function key(cell: string | Cell | undefined): number | string {
  if (cell === undefined) return "";
  if (typeof cell === "string") return cell;
  return cell.sort ?? cell.text;
}
