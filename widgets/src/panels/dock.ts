// Panels of the dock: families, ledger.

import { h, mark, refill, rewrite } from "../lib/dom.ts";
import { icon } from "../lib/glyph.ts";
import { TableView } from "../lib/table.ts";
import type { LedgerSection, Row, Script, Table } from "../sections.ts";
import { Frame, type Host, type Panel } from "./panel.ts";

export class FamiliesPanel implements Panel<Table> {
  readonly name = "families";
  readonly element: HTMLElement;
  private readonly table: TableView;

  constructor(private readonly host: Host) {
    const frame = new Frame("families", "Families", host);
    this.table = new TableView("families", {
      select: (ref) => host.select(ref),
      hover: (ref) => host.hover(ref),
      tools: (row) => this.tools(row),
    });
    frame.body.append(this.table.element);
    this.element = frame.element;
  }

  update(data: Table): void {
    this.table.update(data);
  }

  select(refs: readonly string[]): void {
    this.table.select(refs);
  }

  hover(ref: string | null): void {
    this.table.hover(ref);
  }

  close(): void {}

  private tools(row: Row): readonly Node[] {
    const button = (command: "accept" | "reject"): HTMLButtonElement => {
      const label = `${command} ${row.ref}`;
      const element = h(
        "button",
        { type: "button", class: "pe-tool", title: label, "aria-label": label, "data-command": command },
        icon(command),
      );
      element.addEventListener("click", () => this.host.command(command, { id: row.ref }));
      return element;
    };
    return [button("accept"), button("reject")];
  }
}

export class LedgerPanel implements Panel<LedgerSection> {
  readonly name = "ledger";
  readonly element: HTMLElement;
  private readonly claim = h("p", { class: "pe-claim" });
  private readonly undo = h("button", { type: "button", class: "pe-button" });
  private readonly redo = h("button", { type: "button", class: "pe-button" });
  private readonly script = h("pre", {
    class: "pe-code",
    tabindex: 0,
    role: "region",
    "aria-label": "this session as Python",
  });
  private readonly tables: Readonly<Record<"soundness" | "reasons" | "steering" | "log", TableView>>;
  private lines: readonly string[] = [];

  constructor(host: Host) {
    const frame = new Frame("ledger", "Summary", host);
    const events = {
      select: (ref: string) => host.select(ref),
      hover: (ref: string | null) => host.hover(ref),
    };
    this.tables = {
      soundness: new TableView("pruned, by kind of rule", events),
      reasons: new TableView("pruned, by reason", events),
      steering: new TableView("steering", events),
      log: new TableView("log", events),
    };
    this.undo.addEventListener("click", () => host.command("undo"));
    this.redo.addEventListener("click", () => host.command("redo"));
    const copy = h(
      "button",
      { type: "button", class: "pe-button" },
      icon("copy"),
      h("span", {}, "copy as Python"),
    );
    copy.addEventListener("click", () => host.copy(this.lines.join("\n"), "this session as Python"));
    const column = (title: string, ...nodes: readonly Node[]) =>
      h("div", { class: "pe-column" }, h("h4", {}, title), ...nodes);
    frame.body.append(
      h(
        "div",
        { class: "pe-ledger" },
        this.claim,
        h(
          "div",
          { class: "pe-columns" },
          column(
            "Pruned, by kind of rule and by reason",
            this.tables.soundness.element,
            this.tables.reasons.element,
          ),
          column(
            "Steering",
            h("div", { class: "pe-group" }, this.undo, this.redo, copy),
            this.tables.steering.element,
            this.script,
          ),
          column("Log", this.tables.log.element),
        ),
      ),
    );
    this.element = frame.element;
  }

  update(data: LedgerSection): void {
    rewrite(this.claim, data.claim);
    this.tables.soundness.update(data.soundness);
    this.tables.reasons.update(data.reasons);
    this.tables.steering.update(data.steering);
    this.tables.log.update(data.log);
    for (const [button, action] of [
      [this.undo, data.undo],
      [this.redo, data.redo],
    ] as const) {
      refill(button, icon(action.command === "redo" ? "redo" : "undo"), h("span", {}, action.label));
      button.disabled = !action.enabled;
      mark(button, "title", `${action.description}\n${action.python}`);
    }
  }

  showScript(script: Script): void {
    this.lines = script.lines;
    rewrite(this.script, script.lines.join("\n"));
    this.script.hidden = script.lines.length === 0;
  }

  select(refs: readonly string[]): void {
    for (const table of Object.values(this.tables)) table.select(refs);
  }

  hover(ref: string | null): void {
    for (const table of Object.values(this.tables)) table.hover(ref);
  }

  close(): void {}
}
