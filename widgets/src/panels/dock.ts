// Panels of the dock: families, ledger.

import { h, mark, rewrite } from "../lib/dom.ts";
import { icon } from "../lib/glyph.ts";
import { redraw } from "../lib/keep.ts";
import { TableView } from "../lib/table.ts";
import type { LedgerSection, Row, Script, SideBySide, Table } from "../sections.ts";
import { Frame, type Host, type Panel } from "./panel.ts";

/** Largest number of families side by side, as in Python. */
const MOST_COMPARED = 6;

export class FamiliesPanel implements Panel<Table> {
  readonly name = "families";
  readonly element: HTMLElement;
  private readonly table: TableView;
  private readonly bar = h("div", { class: "pe-group pe-chosen", role: "group", hidden: true });
  /** The families that are chosen together, and the one from which a range starts. */
  private readonly chosen = new Set<string>();
  private anchor = "";
  private readonly together = new TableView("families side by side", {
    select: () => undefined,
    hover: () => undefined,
  });
  private readonly comparison = h("div", { class: "pe-together", hidden: true });
  /** Whether Python can compare families. */
  private compares = false;

  constructor(private readonly host: Host) {
    const close = h("button", { type: "button", class: "pe-button" }, "Back to all families");
    close.addEventListener("click", () => host.look({ families: [] }));
    this.comparison.append(close, this.together.element);
    const frame = new Frame("families", "Families", host);
    this.table = new TableView("families", {
      select: (ref) => host.select(ref),
      hover: (ref) => host.hover(ref),
      choose: (ref, range) => this.choose(ref, range),
      tools: (row) => this.tools(row),
    });
    frame.body.append(this.bar, this.comparison, this.table.element);
    this.element = frame.element;
  }

  update(data: Table): void {
    this.table.update(data);
    const refs = new Set(this.table.refs);
    for (const ref of this.chosen) if (!refs.has(ref)) this.chosen.delete(ref);
    this.showChosen();
  }

  select(refs: readonly string[], related?: readonly string[]): void {
    this.table.select(refs, related);
    if (refs[0]) this.anchor = refs[0];
  }

  hover(refs: readonly string[]): void {
    this.table.hover(refs);
  }

  close(): void {}

  /** Show the families that are compared in place of the list, or the list. */
  compare(data: SideBySide | null): void {
    const table = data?.table ?? null;
    this.compares = data !== null;
    if (table) this.together.update(table);
    this.comparison.hidden = table === null;
    this.table.element.hidden = table !== null;
    this.showChosen();
  }

  /** Choose one more family, or all from the anchor to it. */
  private choose(ref: string, range: boolean): void {
    const { refs } = this.table;
    const from = refs.indexOf(this.anchor);
    const to = refs.indexOf(ref);
    if (range && from >= 0) {
      for (const each of refs.slice(Math.min(from, to), Math.max(from, to) + 1)) this.chosen.add(each);
    } else {
      if (!this.chosen.delete(ref)) this.chosen.add(ref);
      this.anchor = ref;
    }
    this.showChosen();
  }

  private showChosen(): void {
    for (const box of this.element.querySelectorAll<HTMLInputElement>("input[data-choose]"))
      box.checked = this.chosen.has(box.getAttribute("data-choose") ?? "");
    const ids = this.table.refs.filter((ref) => this.chosen.has(ref));
    this.bar.hidden = ids.length === 0;
    const act = (label: string, command: "accept" | "reject") => {
      const button = h(
        "button",
        { type: "button", class: "pe-button", "data-command": command },
        icon(command),
        h("span", {}, label),
      );
      button.addEventListener("click", () => {
        this.host.command(command, { id: ids });
        this.clear();
      });
      return button;
    };
    const clear = h("button", { type: "button", class: "pe-link" }, "clear");
    clear.addEventListener("click", () => this.clear());
    const many = `${ids.length} ${ids.length === 1 ? "family" : "families"}`;
    mark(this.bar, "aria-label", `${many} chosen`);
    const compare = h("button", { type: "button", class: "pe-button" }, `Compare ${many}`);
    compare.addEventListener("click", () => this.host.look({ families: ids }));
    const offers = this.compares && ids.length > 1 && ids.length <= MOST_COMPARED;
    this.bar.hidden ||= !this.comparison.hidden;
    redraw(this.bar, [ids, offers], () => [
      act(`Accept ${many}`, "accept"),
      act(`Reject ${many}`, "reject"),
      ...(offers ? [compare] : []),
      clear,
    ]);
  }

  private clear(): void {
    this.chosen.clear();
    this.showChosen();
  }

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
    const box = h("input", {
      type: "checkbox",
      "data-choose": row.ref,
      "aria-label": `choose ${row.ref}`,
      title: "choose several families; also Ctrl or Shift with a click",
    });
    box.checked = this.chosen.has(row.ref);
    box.addEventListener("change", () => this.choose(row.ref, false));
    return [box, button("accept"), button("reject")];
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
      const which = action.command === "redo" ? "redo" : "undo";
      redraw(button, [which, action.label], () => [icon(which), h("span", {}, action.label)]);
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

  hover(refs: readonly string[]): void {
    for (const table of Object.values(this.tables)) table.hover(refs);
  }

  close(): void {}
}
