// Two searches side by side: their merged search tree, tables of what differs, and an inspector for each.

import { h, mark, rewrite } from "../lib/dom.ts";
import type { Direction } from "../lib/draw.ts";
import { glyph } from "../lib/glyph.ts";
import { redraw, redrawList } from "../lib/keep.ts";
import { SizeReports } from "../lib/sizes.ts";
import { Stage } from "../lib/stage.ts";
import { TableView } from "../lib/table.ts";
import type { Item } from "../scene.ts";
import type { CompareKind, CompareSection, Table } from "../sections.ts";
import type { CompareLook } from "../wire.ts";
import { InspectorPanel } from "./inspector.ts";
import { Frame, type Host, type Panel, tool, zoomTools } from "./panel.ts";

const TABLES = [
  ["steps", "Differences"],
  ["families", "Families"],
  ["settings", "Settings"],
  ["counts", "Counts"],
] as const;
type TableName = (typeof TABLES)[number][0];

const ARROWS: Readonly<Record<string, Direction>> = {
  ArrowLeft: "left",
  ArrowRight: "right",
  ArrowUp: "up",
  ArrowDown: "down",
};
const MARGIN_PX = 16;

export class ComparePanel implements Panel<CompareSection> {
  readonly name = "compare";
  readonly element: HTMLElement;
  private readonly frame: Frame;
  private readonly map: Stage;
  private readonly sides: readonly InspectorPanel[];
  private readonly status = h("p", { class: "pe-compare-status", role: "status" });
  /** What a comparison shows, while there is none. */
  private readonly empty = h("div", { class: "pe-empty pe-compare-empty" });
  private readonly summary = h("p", { class: "pe-claim" });
  private readonly first = h("div", { class: "pe-first" });
  private readonly path = h("p", { class: "pe-path pe-mono" });
  private readonly kinds = h("div", {
    class: "pe-chips",
    role: "group",
    "aria-label": "kinds of difference",
  });
  private readonly find = h("input", {
    class: "pe-input pe-compare-find",
    type: "search",
    placeholder: "find in both",
    "aria-label": "find in both searches",
  });
  private readonly found = h("span", { class: "pe-muted" });
  private readonly tabs = new Map<TableName, HTMLButtonElement>();
  private readonly tables = new Map<TableName, TableView>();
  private readonly content: HTMLElement;
  private readonly runs = h("select", { class: "pe-select", "aria-label": "a search of this process" });
  private readonly file = h("input", {
    class: "pe-input",
    type: "text",
    placeholder: "path of a saved search, such as run.prism",
    "aria-label": "path of a saved search",
  });
  private readonly withParent = h(
    "button",
    { type: "button", class: "pe-button" },
    "Compare with its parent",
  );
  private readonly resize: ResizeObserver;
  private readonly sizes = new SizeReports(
    () => this.element,
    () => (this.map.element.clientWidth > 0 ? [this.map.element.clientWidth] : null),
    ([width = 0]) => this.change({ map_px: width - MARGIN_PX }),
  );
  private tab: TableName = "steps";
  private data: CompareSection | null = null;

  /** `chooses`: whether the other search is chosen here. */
  constructor(
    private readonly host: Host,
    chooses = true,
  ) {
    this.frame = new Frame("compare", "Compare", host, [
      ...zoomTools((factor) => this.map.zoom(factor)),
      tool("fit", "fit into the panel, then back to readable texts", () => this.map.overview()),
    ]);
    this.map = new Stage("merged", "listbox", {
      select: (ref) => this.select_(ref),
      enter: (ref) => this.change({ root: ref }),
      hover: () => undefined,
    });
    this.map.scroll = true;
    this.map.element.addEventListener("keydown", (event) => this.onKey(event));
    this.sides = ["a", "b"].map((side) => new InspectorPanel(this.sideHost(side)));
    // They are parts of this panel, not panels of the explorer.
    for (const side of this.sides) mark(side.element, "data-panel", null);
    for (const [name, label] of TABLES) this.addTable(name, label);
    this.find.addEventListener("input", () => this.showFound());
    this.content = this.body();
    this.frame.body.append(...(chooses ? [this.form()] : []), this.status, this.empty, this.content);
    this.element = this.frame.element;
    this.resize = new ResizeObserver(() => this.sizes.measureAgain());
    this.resize.observe(this.map.element);
    this.showTab("steps");
  }

  update(data: CompareSection): void {
    this.data = data;
    rewrite(this.status, data.status);
    this.status.hidden = !data.status;
    this.updateForm(data);
    this.content.hidden = data.scene === null;
    this.empty.hidden = data.scene !== null || data.status !== "";
    if (data.scene === null) {
      redraw(this.empty, [data.parent, data.choices.length > 0], () => this.how(data));
      return;
    }
    rewrite(this.summary, data.summary);
    rewrite(this.path, data.path);
    redrawList(this.kinds, data.kinds, (kind) => this.kindButton(kind));
    redraw(this.first, data.first, () => this.moments(data));
    this.map.update(data.scene);
    this.map.select(data.marked ? [data.marked] : []);
    data.sides.forEach((side, n) => {
      const inspector = this.sides[n];
      if (!inspector) return;
      inspector.update(side.inspector ?? { ref: "", title: side.missing });
      const head = inspector.element.querySelector("h3");
      if (head) rewrite(head, `${side.label}: ${side.name}`);
      mark(inspector.element, "title", side.description);
      mark(inspector.element, "aria-label", `${side.label}: ${side.name}, ${side.description}`);
    });
    this.showFound();
  }

  select(): void {}
  hover(): void {}

  close(): void {
    this.map.close();
    this.resize.disconnect();
    this.sizes.close();
  }

  // ---- parts

  private form(): HTMLElement {
    const compare = (id: string) => id && this.host.command("compare", { id });
    const form = h(
      "form",
      { class: "pe-compare-form", "aria-label": "compare with" },
      h("label", {}, "with ", this.runs),
      h("label", { class: "pe-grow" }, "or a file ", this.file),
      h("button", { type: "submit", class: "pe-button" }, "Compare"),
      this.withParent,
    );
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      compare(this.file.value.trim() || this.runs.value);
    });
    this.withParent.addEventListener("click", () => compare(this.data?.parent ?? ""));
    return form;
  }

  private how({ parent, choices }: CompareSection): readonly Node[] {
    const others = [
      choices.length > 0 ? "another search of this kernel (in the list)" : "",
      parent ? "the search that this one was forked from (the button)" : "",
      "a saved search: the path of a .prism file or a report",
    ].filter(Boolean);
    const texts = [
      "Two searches side by side: one map of both, where they first differ, settings that differ, " +
        "families that only one has, and both times of each family.",
      `Choose what to compare with: ${others.join("; ")}.`,
      choices.length > 0
        ? ""
        : "To have a second search here: sess.fork(at=...), or another px.Session(...).",
    ];
    return texts.filter(Boolean).map((text) => h("p", {}, text));
  }

  private updateForm(data: CompareSection): void {
    this.withParent.hidden = !data.parent;
    const chosen = this.runs.value;
    redraw(this.runs, data.choices, () =>
      data.choices.length > 0
        ? data.choices.map(([id, label]) => h("option", { value: id }, label))
        : [h("option", { value: "" }, "no other live search")],
    );
    const ids = data.choices.map(([id]) => id);
    this.runs.value = ids.includes(chosen) ? chosen : (ids[0] ?? "");
  }

  private body(): HTMLElement {
    const tabs = h("div", { class: "pe-chips", role: "group", "aria-label": "tables of the comparison" });
    tabs.append(...this.tabs.values());
    const tables = [...this.tables.values()].map((table) => table.element);
    return h(
      "div",
      { class: "pe-compare" },
      h("div", { class: "pe-compare-head" }, this.summary, this.first),
      h(
        "div",
        { class: "pe-compare-map" },
        h("div", { class: "pe-compare-tools" }, this.kinds, this.find, this.found),
        this.map.element,
        this.path,
      ),
      h("div", { class: "pe-compare-tables" }, tabs, ...tables),
      h("div", { class: "pe-compare-sides" }, ...this.sides.map((side) => side.element)),
    );
  }

  private addTable(name: TableName, label: string): void {
    const table = new TableView(label.toLowerCase(), {
      select: (ref) => this.select_(ref),
      hover: () => undefined,
    });
    const tab = h("button", { type: "button", class: "pe-chip" }, label);
    tab.addEventListener("click", () => this.showTab(name));
    this.tables.set(name, table);
    this.tabs.set(name, tab);
  }

  private showTab(name: TableName): void {
    this.tab = name;
    for (const [other, tab] of this.tabs) mark(tab, "aria-pressed", String(other === name));
    for (const [other, table] of this.tables) mark(table.element, "hidden", other !== name);
    this.showFound();
  }

  /** Show a row that the find field of the explorer found. */
  showFoundRow({ part, ref }: { readonly part: string; readonly ref: string }): void {
    const row = TABLES.find(([name]) => name === part);
    if (row) this.showTab(row[0]);
    if (ref) this.select_(ref);
  }

  private kindButton(kind: CompareKind): HTMLElement {
    const button = h(
      "button",
      {
        type: "button",
        class: "pe-chip",
        "aria-pressed": String(kind.shown),
        title: kind.shown ? "fold these" : "show these",
      },
      glyph(kind.kind),
      `${kind.label}: ${kind.count}`,
    );
    button.addEventListener("click", () => {
      const shown = (this.data?.kinds ?? []).filter((k) => k.shown !== (k.key === kind.key));
      this.change({ kinds: shown.map((k) => k.key) });
    });
    return button;
  }

  private moments(data: CompareSection): Node[] {
    if (data.first.length === 0) return [h("p", { class: "pe-muted" }, "No event differs in what matters.")];
    const rows = data.first.map((moment) => {
      const text = h("span", {}, h("b", {}, moment.label), `: ${moment.text}`);
      if (!moment.ref) return text;
      const button = h("button", { type: "button", class: "pe-link", title: "show it in both" }, text);
      button.addEventListener("click", () => this.select_(moment.ref));
      return button;
    });
    return [h("b", {}, "First difference"), ...rows];
  }

  // ---- requests

  private change(compare: CompareLook): void {
    this.host.look({ compare });
  }

  private select_(ref: string): void {
    this.change({ select: ref });
  }

  /** The requests of the inspector of one search: a selection there selects in both. */
  private sideHost(side: string): Host {
    const select = (ref: string) => this.select_(ref && `${side}:${ref}`);
    return {
      command: () => undefined,
      look: () => undefined,
      select,
      enter: select,
      hover: () => undefined,
      copy: (text, what) => this.host.copy(text, what),
      maximise: () => this.host.maximise("compare"),
      show: (panel) => this.host.show(panel),
      showSizes: () => undefined,
    };
  }

  private onKey(event: KeyboardEvent): void {
    const way = ARROWS[event.key];
    if (way) this.map.walk(way);
    else if (event.key === "Enter" && this.data?.marked) this.change({ root: this.data.marked });
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  /** Dim the steps and leave out the rows that do not have the text. */
  private showFound(): void {
    const text = this.find.value.trim().toLowerCase();
    const has = (...texts: readonly string[]) => texts.join("\n").toLowerCase().includes(text);
    const matches = (item: Item) =>
      has(item.ref ?? "", item.tip ?? "", ...(item.texts ?? []).map((t) => t.text));
    const count = this.map.find(text ? matches : null);
    for (const [name, view] of this.tables) {
      const table: Table | null = this.data?.[name] ?? null;
      if (!table || name !== this.tab) continue;
      const rows = table.rows.filter((row) =>
        has(...row.cells.map((c) => (typeof c === "string" ? c : c.text))),
      );
      view.update(text ? { ...table, rows } : table);
      view.select(this.data?.marked ? [this.data.marked] : []);
      this.found.textContent = text ? `${count} in the map, ${rows.length} in the table` : "";
    }
  }
}
