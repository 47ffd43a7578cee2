// A picture with its tools, and the same content as a table.

import { h, refill } from "../lib/dom.ts";
import { Stage, type StageEvents } from "../lib/stage.ts";
import { Frame, type Host, type PanelName, tool, zoomTools } from "./panel.ts";

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
    act?: StageEvents["act"],
  ) {
    this.stage = new Stage(name, role, {
      select: (ref) => host.select(ref),
      enter: (ref) => host.enter(ref),
      hover: (ref) => host.hover(ref),
      act,
    });
    this.frame = new Frame(name, title, host, [
      ...tools,
      ...zoomTools((factor) => this.stage.zoom(factor)),
      tool("fit", "fit into the panel, then back to readable texts (0)", () => this.stage.overview()),
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
