// A picture with its tools, and the panel of the sGraph.

import { h, mark, refill } from "../lib/dom.ts";
import { icon } from "../lib/glyph.ts";
import { Stage } from "../lib/stage.ts";
import type { GraphSection } from "../sections.ts";
import { Frame, type Host, type Panel, type PanelName, tool } from "./panel.ts";

/** A stage with its tools, and the same content as a table. */
export class Picture {
  readonly stage: Stage;
  readonly frame: Frame;
  private readonly table = h("div", { class: "pe-tablebox", hidden: true });

  constructor(
    name: PanelName,
    title: string,
    role: "listbox" | "tree",
    host: Host,
    tools: readonly Node[] = [],
  ) {
    this.stage = new Stage(name, role, {
      select: (ref) => host.select(ref),
      enter: (ref) => host.enter(ref),
      hover: (ref) => host.hover(ref),
    });
    this.frame = new Frame(name, title, host, [
      ...tools,
      tool("minus", "zoom out (Ctrl + wheel)", () => this.stage.zoom(1 / 1.25)),
      tool("plus", "zoom in (Ctrl + wheel)", () => this.stage.zoom(1.25)),
      tool("fit", "fit into the panel (0)", () => this.stage.fit()),
      tool("table", "show as a table (t)", () => this.toggleTable()),
    ]);
    this.frame.body.append(this.stage.element, this.table);
  }

  toggleTable(): void {
    this.table.hidden = !this.table.hidden;
    this.stage.element.hidden = !this.table.hidden;
    if (!this.table.hidden) refill(this.table, this.stage.table());
  }

  updated(): void {
    if (!this.table.hidden) refill(this.table, this.stage.table());
  }
}

export class GraphPanel implements Panel<GraphSection> {
  readonly name = "graph";
  readonly element: HTMLElement;
  private readonly picture: Picture;
  readonly stage: Stage;
  private readonly alternatives = h("div", { class: "pe-chips", role: "group", "aria-label": "candidates" });
  private readonly toggle: HTMLButtonElement;
  private readonly empty = h("p", { class: "pe-empty" });
  private expanded: boolean | null = null;

  constructor(private readonly host: Host) {
    this.toggle = tool("collapse", "collapse custom kernels (Enter)", () => this.enter());
    this.picture = new Picture("graph", "sGraph", "listbox", host, [this.toggle]);
    this.stage = this.picture.stage;
    this.element = this.picture.frame.element;
    this.picture.frame.body.prepend(this.alternatives);
    this.picture.frame.body.append(this.empty);
  }

  enter(): void {
    if (this.expanded !== null) this.host.look({ collapsed: this.expanded });
  }

  toggleTable(): void {
    this.picture.toggleTable();
  }

  update(data: GraphSection): void {
    this.expanded = data.expanded;
    this.toggle.hidden = data.expanded === null;
    refill(this.toggle, icon(data.expanded ? "collapse" : "expand"));
    const label = data.expanded ? "collapse custom kernels (Enter)" : "expand custom kernels (Enter)";
    mark(this.toggle, "title", label);
    mark(this.toggle, "aria-label", label);
    this.picture.frame.caption.textContent = data.caption;
    this.empty.hidden = data.scene !== null;
    this.empty.textContent =
      data.scene === null ? "No graph yet: run the search until a family is complete." : "";
    this.picture.stage.element.classList.toggle("pe-hidden", data.scene === null);
    if (data.scene) this.picture.stage.update(data.scene);
    this.picture.updated();
    this.alternatives.hidden = data.alternatives.length < 2;
    refill(
      this.alternatives,
      ...data.alternatives.map(({ ref, label: text }) => {
        const chip = h(
          "button",
          { type: "button", class: "pe-chip", "aria-pressed": ref === data.subject ? "true" : "false" },
          text,
        );
        chip.addEventListener("click", () => this.host.select(ref));
        return chip;
      }),
    );
  }

  select(refs: readonly string[]): void {
    this.picture.stage.select(refs);
  }

  hover(ref: string | null): void {
    this.picture.stage.hover(ref);
  }

  close(): void {
    this.picture.stage.close();
  }
}
