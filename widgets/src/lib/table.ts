// A table that is sorted by a click on a heading, and navigated with the arrow keys.

import type { Cell, Row, Table } from "../sections.ts";
import { add, h, mark, refill } from "./dom.ts";
import { glyph } from "./glyph.ts";

/** Texts up to this many letters are not wrapped. */
const SHORT = 24;

export interface TableEvents {
  select(ref: string): void;
  hover(ref: string | null): void;
  /** Buttons at the end of a row. */
  tools?(row: Row): readonly Node[];
}

export class TableView {
  readonly element: HTMLDivElement;
  private readonly head = h("thead");
  private readonly body = h("tbody");
  private readonly note = h("p", { class: "pe-note" });
  private data: Table | null = null;
  private text = "";
  private sorted: { readonly key: string; readonly down: boolean } | null = null;
  private selected: readonly string[] = [];

  constructor(
    label: string,
    private readonly events: TableEvents,
  ) {
    const table = h("table", { class: "pe-table", "aria-label": label }, this.head, this.body);
    this.element = h("div", { class: "pe-tablebox" }, table, this.note);
    const ref = (event: Event) =>
      (event.target as Element).closest("tr[data-ref]")?.getAttribute("data-ref") ?? null;
    this.body.addEventListener("click", (event) => {
      if ((event.target as Element).closest("button")) return;
      const chosen = ref(event);
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

  select(refs: readonly string[]): void {
    this.selected = refs;
    for (const row of this.body.querySelectorAll("tr")) {
      mark(row, "aria-selected", refs.includes(row.getAttribute("data-ref") ?? "") ? "true" : "false");
    }
  }

  hover(ref: string | null): void {
    for (const row of this.body.querySelectorAll("tr")) {
      row.classList.toggle("hovered", ref !== null && row.getAttribute("data-ref") === ref);
    }
  }

  private draw(): void {
    const { data } = this;
    if (!data) return;
    const focused = this.body.contains(document.activeElement)
      ? (document.activeElement?.closest("tr")?.getAttribute("data-ref") ?? null)
      : null;
    refill(this.head, h("tr", {}, ...data.columns.map((_, i) => this.header(data, i)), this.toolsHead()));
    refill(this.body, ...this.order(data).map((row) => this.row(data, row)));
    if (data.rows.length === 0) {
      const span = data.columns.length + (this.events.tools ? 1 : 0);
      add(this.body, h("tr", {}, h("td", { class: "pe-empty", colspan: span }, data.empty_text)));
    }
    this.note.textContent = data.omitted;
    this.note.hidden = data.omitted === "";
    this.select(this.selected);
    if (focused !== null) {
      for (const row of this.body.querySelectorAll("tr"))
        if (row.getAttribute("data-ref") === focused) row.focus({ preventScroll: true });
    }
  }

  private toolsHead(): HTMLElement | null {
    return this.events.tools ? h("th", { scope: "col" }, h("span", { class: "pe-hidden" }, "actions")) : null;
  }

  private header(data: Table, index: number): HTMLElement {
    const column = data.columns[index];
    if (!column) return h("th");
    const now = this.sorted?.key === column.key ? this.sorted : null;
    const button = h(
      "button",
      { type: "button", class: "pe-sort", title: column.tip ?? `sort by ${column.label}` },
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
      const text = column?.wide && given.tip ? h("span", { class: "pe-clamp" }, given.text) : given.text;
      return h("td", { class: classes || null, title: given.tip ?? null }, mark_, text);
    });
    const tools = this.events.tools ? h("td", { class: "pe-tools" }, ...this.events.tools(row)) : null;
    const attributes = row.ref ? { "data-ref": row.ref, tabindex: -1, "aria-selected": "false" } : {};
    return h("tr", { ...attributes, class: row.kind ? `row-${row.kind}` : null }, ...cells, tools);
  }

  private walk(event: KeyboardEvent): void {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const row = (event.target as Element).closest("tr");
    if (step === undefined || !row) return;
    const next = (step > 0 ? row.nextElementSibling : row.previousElementSibling) as HTMLElement | null;
    const ref = next?.getAttribute("data-ref");
    event.preventDefault();
    event.stopPropagation();
    if (!next || !ref) return;
    next.focus();
    this.events.select(ref);
  }
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
