// The form for a what-if (another machine, other limits, rules off), and the table of questions.

import { add, h, mark, refill } from "../lib/dom.ts";
import { icon } from "../lib/glyph.ts";
import { TableView } from "../lib/table.ts";
import type { QuestionsSection, Row, WhatIfForm } from "../sections.ts";
import type { Args } from "../wire.ts";
import { Frame, type Host, type Panel } from "./panel.ts";

export class QuestionsPanel implements Panel<QuestionsSection> {
  readonly name = "questions";
  readonly element: HTMLElement;
  private readonly frame: Frame;
  private readonly table: TableView;
  private readonly form = h("form", { class: "pe-form", "aria-label": "what if" });
  private open: readonly string[] = [];
  private text = "";
  private rows: readonly string[] = [];
  /** Whether a what-if was asked here that is not in the table yet; it is selected then, unless something else was. */
  private asked = false;
  private selected = "";

  constructor(private readonly host: Host) {
    this.frame = new Frame("questions", "What-if", host);
    this.table = new TableView("questions", {
      select: (ref) => host.select(ref),
      hover: (ref) => host.hover(ref),
      tools: (row) => this.tools(row),
    });
    this.form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.submit();
    });
    this.frame.body.append(h("div", { class: "pe-questions" }, this.form, this.table.element));
    this.element = this.frame.element;
  }

  update(data: QuestionsSection): void {
    this.open = data.open;
    this.frame.caption.textContent = data.caption;
    this.table.update(data.table);
    const rows = data.table.rows.map((row) => row.ref);
    const added = rows.find((ref) => !this.rows.includes(ref));
    this.rows = rows;
    if (this.asked && added !== undefined) {
      this.asked = false;
      this.host.select(added);
    }
    const text = JSON.stringify(data.form);
    if (text === this.text) return;
    // The form is drawn again only if its defaults changed, so that no input of the user is lost.
    this.text = text;
    this.form.hidden = data.form === null;
    if (data.form) this.draw(data.form);
  }

  select(refs: readonly string[]): void {
    if (refs.join() !== this.selected) this.asked = false;
    this.selected = refs.join();
    this.table.select(refs);
  }

  hover(refs: readonly string[]): void {
    this.table.hover(refs);
  }

  close(): void {}

  private draw(form: WhatIfForm): void {
    const target = h("select", { class: "pe-select", name: "target" });
    const names = form.targets.includes(form.target) ? form.targets : [form.target, ...form.targets];
    for (const name of names) add(target, h("option", { value: name, selected: name === form.target }, name));
    const number = (name: string, label: string, hint: string, tip: string): HTMLElement =>
      h(
        "label",
        { title: tip },
        h("span", {}, label),
        h("input", { class: "pe-number", type: "number", min: 0, name, placeholder: hint }),
      );
    const rules = form.rules.map(([rule, description]) =>
      h(
        "label",
        { class: "pe-check", title: description },
        h("input", { type: "checkbox", name: "rules_off", value: rule }),
        h("code", {}, rule),
      ),
    );
    const run = h("input", { type: "checkbox", name: "run" });
    refill(
      this.form,
      h(
        "div",
        { class: "pe-group" },
        h(
          "button",
          { type: "submit", class: "pe-button", "data-command": "what_if" },
          icon("help"),
          "What if?",
        ),
        h(
          "label",
          {
            class: "pe-check",
            title:
              "Run the search with the changed settings too, and compare the proved families; this takes longer.",
          },
          run,
          "run the search too",
        ),
      ),
      h(
        "div",
        { class: "pe-fields" },
        h(
          "label",
          { title: "The machine for which kernels are searched." },
          h("span", {}, "machine"),
          target,
        ),
        number("shared_memory_bytes", "shared memory, B", "unchanged", "The scratch memory of one block."),
        ...form.limits.map(({ name, label, value, tip }) => number(name, label, String(value), tip)),
      ),
      h("fieldset", {}, h("legend", {}, "rules off"), h("div", { class: "pe-checks" }, ...rules)),
    );
    mark(this.form, "data-target", form.target);
  }

  /** Send the settings that differ from those of the search. */
  private submit(): void {
    const given = new FormData(this.form);
    const args: Record<string, Args[string]> = {};
    for (const [name, value] of given) {
      if (name === "rules_off" || name === "run") continue;
      if (name === "target") {
        if (value !== this.form.getAttribute("data-target")) args[name] = String(value);
      } else if (value !== "") args[name] = Number(value);
    }
    const off = given.getAll("rules_off").map(String);
    if (off.length > 0) args.rules_off = off;
    if (given.has("run")) args.run = true;
    this.asked = true;
    this.host.command("what_if", args);
  }

  private tools(row: Row): readonly Node[] {
    if (!this.open.includes(row.ref)) return [];
    const label = `cancel ${row.ref}`;
    const button = h(
      "button",
      { type: "button", class: "pe-tool", title: label, "aria-label": label, "data-command": "withdraw" },
      icon("close"),
    );
    button.addEventListener("click", () => this.host.command("withdraw", { id: row.ref }));
    return [button];
  }
}
