// The search map in one of several modes, and the bar chart of the pruning reasons below it.

import { h, mark, s } from "../lib/dom.ts";
import { dragInterval } from "../lib/drag.ts";
import { redraw } from "../lib/keep.ts";
import type { Stage } from "../lib/stage.ts";
import type { MapSection, TimeBrush } from "../sections.ts";
import type { MapLook } from "../wire.ts";
import { Chooser } from "./chooser.ts";
import type { Host, Panel } from "./panel.ts";
import { Picture } from "./picture.ts";
import { ReasonsStrip } from "./reasons_strip.ts";

export class MapPanel implements Panel<MapSection> {
  readonly name = "map";
  readonly element: HTMLElement;
  private readonly picture: Picture;
  readonly stage: Stage;
  private readonly reasons: ReasonsStrip;
  private readonly modes: Chooser;
  private readonly similar = h("button", {
    type: "button",
    class: "pe-chip",
    title: "mark everything with the same operators and reasons as the selection (s)",
  });
  private readonly choices: HTMLElement;
  private readonly interval = h("span", { class: "pe-chooser" });
  private readonly preview = s("rect", { class: "pe-brush", visibility: "hidden" });
  private selected: readonly string[] = [];
  private brush: TimeBrush | null = null;
  private marksSimilar = false;
  private isTree = false;
  /** The selection to which the tree is to be scrolled. */
  private sought = "";

  constructor(private readonly host: Host) {
    this.picture = new Picture("map", "Search map", "tree", host);
    this.stage = this.picture.stage;
    this.stage.scroll = true;
    this.modes = new Chooser("modes of the search map", (mode) => this.look({ mode }));
    this.similar.textContent = "mark similar";
    this.similar.addEventListener("click", () => this.look({ similar: !this.marksSimilar }));
    this.element = this.picture.frame.element;
    this.choices = h("div", { class: "pe-choices" }, this.modes.element, this.similar, this.interval);
    this.reasons = new ReasonsStrip(host, this.picture.frame.body);
    this.picture.frame.body.prepend(this.choices);
    this.picture.frame.body.append(this.reasons.element);
    this.stage.overlay.append(this.preview);
    this.stage.element.addEventListener("pointerdown", (event) => this.drag(event), { capture: true });
    this.stage.element.addEventListener("click", (event) => this.toggle(event), { capture: true });
    this.element.addEventListener("keydown", (event) => this.onKey(event));
  }

  toggleTable(): void {
    this.picture.toggleTable();
  }

  update(data: MapSection): void {
    this.modes.update(data.modes, data.mode);
    this.marksSimilar = data.similar;
    mark(this.similar, "aria-pressed", String(data.similar));
    this.showSimilar();
    this.choices.hidden = data.modes.length === 0;
    this.brush = data.brush;
    this.showInterval(data.brush);
    this.stage.update(data.scene);
    this.isTree = data.mode === "tree";
    this.seek();
    this.stage.filter(data.dimmed);
    this.picture.updated();
    // Below a list of reasons, a second one would say the same.
    this.reasons.element.hidden = data.mode === "reasons";
    this.reasons.update(data.reasons);
    this.picture.frame.caption.textContent = data.summary;
  }

  select(refs: readonly string[], related?: readonly string[]): void {
    if (refs[0] !== this.selected[0]) this.sought = refs[0] ?? "";
    this.selected = refs;
    this.showSimilar();
    this.stage.select(refs, related);
    this.seek();
    this.reasons.select(refs);
  }

  hover(refs: readonly string[]): void {
    this.stage.hover(refs);
    this.reasons.hover(refs);
  }

  close(): void {
    this.stage.close();
    this.reasons.close();
  }

  /** Scroll the tree to a new selection, as soon as it has a row. */
  private seek(): void {
    if (this.isTree && this.sought && this.stage.reveal(this.sought)) this.sought = "";
  }

  /** Without a selection, nothing is similar to it. The button keeps its place, so that no click moves the map. */
  private showSimilar(): void {
    this.similar.disabled = this.selected.length === 0 && !this.marksSimilar;
  }

  private look(map: MapLook): void {
    this.host.look({ map });
  }

  /** The selected interval of events, with buttons that look back to its end and that remove it. */
  private showInterval(brush: TimeBrush | null): void {
    const chip = (label: string, title: string, act: () => void) => {
      const button = h("button", { type: "button", class: "pe-chip", title }, label);
      button.addEventListener("click", act);
      return button;
    };
    redraw(this.interval, brush, () => {
      if (!brush?.interval) return [];
      const moment = "show the search as it was after the last event of the interval";
      return [
        chip(`${brush.interval} ×`, "show all events", () => this.look({ interval: [] })),
        chip("look back to its end", moment, () => this.host.look({ cursor: brush.end })),
      ];
    });
  }

  /** A click on + or − expands or collapses a row. */
  private toggle(event: Event): void {
    const id = (event.target as Element).closest(".k-toggle")?.getAttribute("data-id") ?? "";
    const [verb, ...rest] = id.split("#");
    if (verb !== "open" && verb !== "close") return;
    event.stopPropagation();
    this.expand(rest.join("#"), verb === "open");
  }

  private expand(id: string, open: boolean): void {
    this.look(open ? { open: id } : { close: id });
  }

  private onKey(event: KeyboardEvent): void {
    if (event.altKey || event.ctrlKey || event.metaKey || event.defaultPrevented) return;
    if ((event.target as Element).closest("input, select, textarea")) return;
    if (event.key === "s") this.look({ similar: !this.marksSimilar });
    else if (event.key === "c") this.toggleSelected();
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  private toggleSelected(): void {
    const shape = this.stage.shown?.items.find(
      (i) => i.type === "shape" && i.role === "block" && i.ref !== undefined && this.selected.includes(i.ref),
    );
    if (shape) this.expand(shape.id, shape.kind.startsWith("collapsed"));
  }

  /** In the mode over time, a drag selects an interval of events. */
  private drag(down: PointerEvent): void {
    const { brush } = this;
    if (!brush || down.button !== 0) return;
    const start = this.stage.at(down).x;
    if (start < brush.left || start > brush.right) return;
    const clamped = (x: number) => Math.min(brush.right, Math.max(brush.left, x));
    const number = (x: number) =>
      Math.round(
        brush.first + ((clamped(x) - brush.left) / (brush.right - brush.left)) * (brush.end - brush.first),
      );
    dragInterval(
      this.stage,
      this.preview,
      down,
      "x",
      (low, high) => ({
        x: clamped(low),
        y: 0,
        width: clamped(high) - clamped(low),
        height: this.stage.shown?.height ?? 0,
      }),
      (low, high) => {
        const [first, last] = [number(low), number(high) - 1];
        if (last > first) this.look({ interval: [first, last] });
      },
    );
  }
}
