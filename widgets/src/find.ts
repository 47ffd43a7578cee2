// The find field: Python finds in everything that the search has; a page without Python finds in what it shows.

import { h, mark } from "./lib/dom.ts";
import { collect, reveal } from "./lib/reveal.ts";
import type { ComparePanel } from "./panels/compare.ts";
import type { Host, PanelName } from "./panels/panel.ts";
import { tool } from "./panels/panel.ts";
import { PANELS, type Panels } from "./registry.ts";
import type { Item } from "./scene.ts";
import type { FindSection, FoundItem } from "./sections.ts";

/** Name of the highlight of a match in code. */
const HIGHLIGHT = "prism-found";

export interface FindHost extends Host {
  show(panel: PanelName): void;
  announce(text: string): void;
}

export class FindField {
  readonly element: HTMLElement;
  private readonly input = h("input", {
    class: "pe-search",
    type: "search",
    placeholder: "find  /",
    maxlength: 200,
    "aria-label": "find in all panels; Enter for the next match, Shift+Enter for the previous one",
  });
  private readonly count = h("span", { class: "pe-muted pe-found", role: "status" });
  private readonly steps: readonly HTMLButtonElement[];
  private section: FindSection | null = null;
  /** Number of the match that was requested; 0 if none was. */
  private position = 0;
  /** Number of the last request of Python to find a text. */
  private request = 0;
  /** Whether the requested match is still to be shown. */
  private isAwaited = false;
  private item: FoundItem | null = null;
  /** What was said because nothing was found. */
  private note = "";

  constructor(
    private readonly panels: Panels,
    private readonly host: FindHost,
  ) {
    this.steps = [
      tool("up", "previous match (Shift+Enter)", () => this.step(-1)),
      tool("down", "next match (Enter)", () => this.step(1)),
    ];
    this.input.addEventListener("focus", () => this.look());
    this.input.addEventListener("input", () => {
      this.position = 0;
      this.item = null;
      this.look();
      this.dim();
      this.showCount();
    });
    this.input.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || event.isComposing) return;
      event.preventDefault();
      this.step(event.shiftKey ? -1 : 1);
    });
    this.element = h(
      "span",
      { class: "pe-group pe-find", role: "search" },
      this.count,
      this.input,
      ...this.steps,
    );
    this.showCount();
  }

  focus(): void {
    this.input.focus();
    this.input.select();
  }

  /** Clear the field; false if it is empty. */
  clear(): boolean {
    if (!this.input.value) return false;
    this.input.value = "";
    this.input.dispatchEvent(new Event("input"));
    CSS.highlights?.delete(HIGHLIGHT);
    return true;
  }

  /** Take the answer of Python; null on a page without it. */
  update(data: FindSection | null): void {
    this.section = data;
    if (data && data.request > this.request) {
      // Python was told to find a text.
      this.input.value = data.text;
      this.isAwaited = data.position > 0;
      this.dim();
    }
    this.request = data?.request ?? 0;
    const note = data?.text === this.text ? data.note : "";
    if (note !== this.note) this.host.announce(note || (data?.count ?? ""));
    this.note = note;
    if (data && data.text === this.text && data.position > 0 && this.isAwaited) {
      this.position = data.position;
      this.go(data.item);
    }
    this.showCount();
  }

  /** Find again, in panels that changed. */
  refresh(): void {
    if (!this.text) return;
    this.dim();
    if (this.item) this.mark(this.item);
  }

  private get text(): string {
    return this.input.value;
  }

  private step(by: 1 | -1): void {
    if (!this.text.trim()) return;
    this.isAwaited = true;
    if (this.section === null) {
      const found = this.local();
      const wanted = this.position + by;
      this.position = wanted < 1 ? found.length : wanted > found.length ? Math.min(1, found.length) : wanted;
      this.go(found[this.position - 1] ?? null);
      this.showCount();
      return;
    }
    const next = this.position + by;
    this.position = next < 1 ? Math.max(1, this.section.total) : next;
    this.look();
  }

  private look(): void {
    this.host.look({ find: { text: this.text, position: this.position } });
  }

  /** Select the match and show it in its panel. */
  private go(item: FoundItem | null): void {
    this.isAwaited = false;
    this.item = item;
    if (!item) return;
    const panel = item.panel as PanelName;
    if (panel === "compare") (this.panels.get(panel) as ComparePanel | undefined)?.showFoundRow(item);
    else if (item.ref) this.host.select(item.ref);
    if (this.panels.has(panel)) this.host.show(panel);
    this.mark(item);
    this.host.announce(`${item.kind} ${item.ref}: ${item.text}`);
  }

  private mark(item: FoundItem): void {
    const panel = this.panels.get(item.panel as PanelName);
    if (!panel) return;
    panel.stage?.reveal(item.ref);
    reveal(panel.element, item);
    if (item.kind === "code") this.highlight(panel.element);
  }

  /** Mark the text in the source, and scroll to it. */
  private highlight(panel: HTMLElement): void {
    const code = panel.querySelector("pre code");
    const node = document.createTreeWalker(code ?? panel, NodeFilter.SHOW_TEXT);
    for (let text = node.nextNode(); text; text = node.nextNode()) {
      const at = (text.nodeValue ?? "").toLowerCase().indexOf(this.text.trim().toLowerCase());
      if (at < 0) continue;
      const range = document.createRange();
      range.setStart(text, at);
      range.setEnd(text, at + this.text.trim().length);
      if (typeof Highlight !== "undefined") CSS.highlights?.set(HIGHLIGHT, new Highlight(range));
      const box = panel.querySelector<HTMLElement>("pre");
      const [top, line] = [box?.getBoundingClientRect().top ?? 0, range.getBoundingClientRect?.().top ?? 0];
      if (box) box.scrollTop += line - top - box.clientHeight / 3;
      return;
    }
  }

  /** The matches among the rows and items that the panels hold, each object once. */
  private local(): readonly FoundItem[] {
    const text = this.text.trim().toLowerCase();
    const found = new Map<string, FoundItem>();
    if (!text) return [];
    for (const { name } of PANELS) {
      const panel = this.panels.get(name);
      if (!panel) continue;
      const all = [
        ...(panel.stage?.shown?.items ?? []).map((item) => ({
          ref: item.ref ?? "",
          text: textOf(item),
          seq: 0,
        })),
        ...collect(panel.element),
      ];
      for (const row of all)
        if (row.text.toLowerCase().includes(text) && (row.ref || row.seq))
          found.set(`${name} ${row.ref || row.seq}`, { ...row, kind: name, panel: name, part: "" });
    }
    return [...found.values()];
  }

  /** Dim what does not match in the pictures. */
  private dim(): void {
    const text = this.text.trim().toLowerCase();
    const pattern = text ? (item: Item) => textOf(item).toLowerCase().includes(text) : null;
    for (const name of ["map", "graph"] as const) {
      const stage = this.panels.get(name)?.stage;
      // A picture without a match stays as it is.
      if (stage?.find(pattern) === 0) stage.find(null);
    }
  }

  private showCount(): void {
    const { section } = this;
    const current = section?.text === this.text ? section : null;
    const total = section === null ? this.local().length : (current?.total ?? 0);
    const local = this.position ? `${this.position} of ${total}` : `${total} found`;
    this.count.textContent = !this.text.trim() ? "" : section === null ? local : (current?.count ?? "…");
    const kinds = (current?.kinds ?? []).map(([kind, n]) => `${kind}: ${n}`).join("\n");
    mark(this.count, "title", kinds || null);
    for (const button of this.steps) button.disabled = total === 0 || !this.text.trim();
  }
}

function textOf(item: Item): string {
  return [item.ref ?? "", item.tip ?? "", ...(item.texts ?? []).map((t) => t.text)].join("\n");
}
