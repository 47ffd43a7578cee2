// The search field: it dims what does not match in the pictures.

import { h } from "./lib/dom.ts";
import type { Panels } from "./registry.ts";
import type { Item } from "./scene.ts";

export class FindField {
  readonly input = h("input", {
    class: "pe-search",
    type: "search",
    placeholder: "find  /",
    "aria-label": "find in the pictures",
  });
  readonly count = h("span", { class: "pe-muted pe-found" });

  constructor(private readonly panels: Panels) {
    this.input.addEventListener("input", () => this.find());
  }

  focus(): void {
    this.input.focus();
  }

  /** Clear the field; false if it is empty. */
  clear(): boolean {
    if (!this.input.value) return false;
    this.input.value = "";
    this.find();
    return true;
  }

  /** Find again, in pictures that changed. */
  refresh(): void {
    if (this.input.value) this.find();
  }

  private find(): void {
    const text = this.input.value.trim().toLowerCase();
    const matches = (item: Item) =>
      [item.ref ?? "", item.tip ?? "", ...(item.texts ?? []).map((t) => t.text)]
        .join("\n")
        .toLowerCase()
        .includes(text);
    const pattern = text ? matches : null;
    const stages = (["map", "graph"] as const).map((name) => this.panels.get(name)?.stage);
    const count = stages.reduce((sum, stage) => sum + (stage?.find(pattern) ?? 0), 0);
    this.count.textContent = text ? `${count} found` : "";
  }
}
