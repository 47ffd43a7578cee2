// The filter: its conditions as chips that can be removed, and a form that adds conditions.

import { add, h } from "./lib/dom.ts";
import { icon } from "./lib/glyph.ts";
import { redraw } from "./lib/keep.ts";
import type { Choice, FilterSection } from "./sections.ts";
import type { FilterLook, Look } from "./wire.ts";

export class FilterBar {
  /** The conditions in force. */
  readonly chips = h("div", {
    class: "pe-chips pe-filters",
    role: "group",
    "aria-label": "filter",
    hidden: true,
  });
  /** The button that opens the form. */
  readonly element: HTMLDetailsElement;
  private readonly form = h("form", { class: "pe-filterform", "aria-label": "filter" });
  private readonly summary = h(
    "summary",
    { class: "pe-button", title: "show only a part of the search" },
    "Filter",
  );
  private data: FilterSection | null = null;

  constructor(private readonly look: (what: Look) => void) {
    this.element = h("details", { class: "pe-filter" }, this.summary, this.form);
    this.form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.submit();
    });
  }

  /** Open the form. */
  open(): void {
    this.element.open = true;
    this.form.querySelector<HTMLElement>("select, input")?.focus();
  }

  /** Close the form; false if it is closed. */
  close(): boolean {
    if (!this.element.open) return false;
    this.element.open = false;
    this.summary.focus();
    return true;
  }

  update(data: FilterSection): void {
    this.data = data;
    this.chips.hidden = data.chips.length === 0;
    redraw(this.chips, data.chips, () => [
      h("span", { class: "pe-muted" }, "Filter:"),
      ...data.chips.map(({ name, value, label }) => {
        const chip = h(
          "button",
          {
            type: "button",
            class: "pe-chip",
            title: "remove this condition",
            "aria-label": `remove ${label}`,
          },
          label,
          icon("close"),
        );
        chip.addEventListener("click", () => this.remove(name, value));
        return chip;
      }),
      this.clearButton(),
    ]);
    // The form is drawn again only if its choices changed, so that no input is lost.
    redraw(this.form, [data.statuses, data.reasons], () => this.fields(data));
  }

  private clearButton(): HTMLElement {
    const clear = h("button", { type: "button", class: "pe-link" }, "show everything");
    clear.addEventListener("click", () =>
      this.look({ filter: { status: [], reason: [], operator: "", events: [] } }),
    );
    return clear;
  }

  private fields(data: FilterSection): readonly HTMLElement[] {
    const choice = (name: string, label: string, choices: readonly Choice[]): HTMLElement => {
      const select = h("select", { class: "pe-select", name }, h("option", { value: "" }, "any"));
      for (const { name: value, label: text, tip } of choices)
        add(select, h("option", { value, title: tip || null }, text));
      return h("label", {}, h("span", {}, label), select);
    };
    const event = (name: string, label: string): HTMLElement =>
      h("label", {}, h("span", {}, label), h("input", { class: "pe-number", type: "number", min: 0, name }));
    return [
      choice("status", "status", data.statuses),
      choice("reason", "reason", data.reasons),
      h(
        "label",
        {},
        h("span", {}, "operator"),
        h("input", { class: "pe-text", name: "operator", maxlength: 200, placeholder: "such as matmul" }),
      ),
      event("first", "from event"),
      event("last", "to event"),
      h("button", { type: "submit", class: "pe-button" }, "Add"),
    ];
  }

  /** Add the conditions of the form to those in force. */
  private submit(): void {
    const given = new FormData(this.form);
    const text = (name: string) => String(given.get(name) ?? "").trim();
    const { status = [], reason = [] } = this.data ?? {};
    const [first, last] = [text("first"), text("last")];
    const events = [Number(first || 0), Number(last || Number.MAX_SAFE_INTEGER)].sort((a, b) => a - b);
    const change: FilterLook = {
      ...(text("status") && { status: [...status, text("status")] }),
      ...(text("reason") && { reason: [...reason, text("reason")] }),
      ...(text("operator") && { operator: text("operator") }),
      ...((first || last) && { events }),
    };
    this.look({ filter: change });
    this.form.reset();
    this.close();
  }

  private remove(name: string, value: string): void {
    const { data } = this;
    if (!data) return;
    const without = (values: readonly string[]) => values.filter((v) => v !== value);
    const changes: Readonly<Record<string, FilterLook>> = {
      status: { status: without(data.status) },
      reason: { reason: without(data.reason) },
      operator: { operator: "" },
      events: { events: [] },
    };
    this.look({ filter: changes[name] ?? {} });
  }
}
