// A picture with a table next to it.

import { h, mark } from "../lib/dom.ts";
import { Stage } from "../lib/stage.ts";
import { TableView } from "../lib/table.ts";
import type { Table } from "../sections.ts";
import { Frame, type Host, tool, zoomTools } from "./panel.ts";

/** A picture with a table next to it. */
export class SplitPanel {
  readonly element: HTMLElement;
  readonly frame: Frame;
  readonly stage: Stage;
  readonly table: TableView;
  /** Why the table is empty. */
  readonly hint = h("span", { class: "pe-muted" });
  private readonly split: HTMLElement;
  /** The part with the picture. */
  readonly left: HTMLElement;
  private readonly empty = h("p", { class: "pe-empty" });

  constructor(
    name: "eclasses" | "tuning",
    title: string,
    label: string,
    host: Host,
    private readonly emptyText: string,
  ) {
    const events = {
      select: (ref: string) => host.select(ref),
      enter: (ref: string) => host.enter(ref),
      hover: (ref: string | null) => host.hover(ref),
    };
    this.stage = new Stage(name, "listbox", events);
    this.stage.scroll = true;
    this.table = new TableView(label, events);
    this.frame = new Frame(name, title, host, [
      ...zoomTools((factor) => this.stage.zoom(factor)),
      tool("fit", "fit into the panel, then back to readable texts (0)", () => this.stage.overview()),
    ]);
    this.left = h("div", { class: "pe-left" }, this.stage.element, this.empty);
    this.split = h("div", { class: "pe-split" }, this.left, this.table.element);
    this.frame.body.append(this.split);
    this.element = this.frame.element;
  }

  show(caption: string, scene: Parameters<Stage["update"]>[0] | null, table: Table): void {
    this.frame.caption.textContent = caption;
    this.stage.element.classList.toggle("pe-hidden", scene === null);
    this.empty.hidden = scene !== null;
    this.empty.textContent = scene === null ? caption || this.emptyText : "";
    if (scene) this.stage.update(scene);
    this.table.update(table);
    // Without rows, the picture has the whole width, and the reason is written above it.
    mark(this.split, "data-single", table.rows.length === 0);
    this.hint.textContent = table.rows.length === 0 ? table.empty_text : "";
  }

  select(refs: readonly string[], related?: readonly string[]): void {
    this.stage.select(refs, related);
    this.table.select(refs, related);
  }

  hover(refs: readonly string[]): void {
    this.stage.hover(refs);
    this.table.hover(refs);
  }

  close(): void {
    this.stage.close();
  }
}
