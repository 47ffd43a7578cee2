// The bar chart of the pruning reasons below the search map: collapsed to one line where the map needs the height.

import { h, mark } from "../lib/dom.ts";
import { separator } from "../lib/separator.ts";
import { Stage } from "../lib/stage.ts";
import type { Scene } from "../scene.ts";
import { readStored, writeStored } from "../stored.ts";
import type { Host } from "./panel.ts";

const ROW = {
  name: "reasons",
  label: "height of the pruning reasons",
  axis: "y",
  unit: "px",
  least: 0,
  most: 600,
  after: true,
} as const;
/** Height of the open chart until the user changes it; a lower one is collapsed. */
const OPEN_PX = 100;
const LEAST_PX = 32;
/** The chart is open at first in a panel of at least this height. */
const HIGH_PANEL_PX = 460;

export class ReasonsStrip {
  readonly element: HTMLElement;
  private readonly stage: Stage;
  private readonly summary = h("span", { class: "pe-muted" });
  private readonly head: HTMLButtonElement;
  private readonly separator: HTMLElement;
  private readonly stored = readStored(new Map([[ROW.name, [ROW.least, ROW.most]]]));
  private readonly resize: ResizeObserver;

  /** `panel`: the element whose height decides whether the chart is open at first. */
  constructor(
    host: Host,
    private readonly panel: HTMLElement,
  ) {
    this.stage = new Stage("reasons", "listbox", {
      select: (ref) => host.select(ref),
      enter: (ref) => host.enter(ref),
      hover: (ref) => host.hover(ref),
    });
    this.stage.scroll = true;
    // A row is as wide as the panel: a click between its label and its bar selects it too.
    this.stage.element.addEventListener("click", (event) => {
      if ((event.target as Element).closest("[data-ref]")) return;
      const { y } = this.stage.at(event);
      const row = this.stage.shown?.items.find(
        (i) => i.type === "shape" && i.ref && y >= i.y && y < i.y + i.h,
      );
      if (row?.ref) host.select(row.ref);
    });
    this.separator = separator(ROW, {
      now: () => this.height,
      space: () => 100,
      set: (value) => this.set(value),
      reset: () => this.set(null),
      done: () => writeStored([ROW.name], this.stored),
    });
    this.head = h(
      "button",
      { type: "button", class: "pe-strip-head", title: "show or hide the pruning reasons" },
      h("span", { class: "pe-arrow", "aria-hidden": "true" }),
      h("b", {}, "Pruned"),
      this.summary,
    );
    this.head.addEventListener("click", () => {
      this.set(this.height > 0 ? 0 : OPEN_PX);
      writeStored([ROW.name], this.stored);
    });
    this.element = h("div", { class: "pe-strip" }, this.separator, this.head, this.stage.element);
    this.resize = new ResizeObserver(() => this.draw());
    this.resize.observe(panel);
    this.draw();
  }

  update(scene: Scene): void {
    this.stage.update(scene);
    const rows = scene.items.filter((item) => item.ref && (item.texts?.length ?? 0) > 1);
    const texts = rows.map((item) => (item.texts ?? []).map((t) => t.text).join(" "));
    this.summary.textContent = texts.join(", ") || scene.desc;
    mark(this.head, "title", `show or hide the pruning reasons\n${texts.join("\n")}`);
  }

  select(refs: readonly string[]): void {
    this.stage.select(refs);
  }

  hover(refs: readonly string[]): void {
    this.stage.hover(refs);
  }

  close(): void {
    this.stage.close();
    this.resize.disconnect();
  }

  private get height(): number {
    return this.stored.get(ROW.name) ?? (this.panel.clientHeight >= HIGH_PANEL_PX ? OPEN_PX : 0);
  }

  private set(value: number | null): void {
    if (value === null) this.stored.delete(ROW.name);
    else this.stored.set(ROW.name, value < LEAST_PX ? 0 : Math.min(ROW.most, Math.round(value)));
    this.draw();
  }

  private draw(): void {
    const { height } = this;
    mark(this.head, "aria-expanded", String(height > 0));
    mark(this.separator, "aria-valuenow", String(height));
    this.stage.element.hidden = height === 0;
    this.stage.element.style.height = `${height}px`;
  }
}
