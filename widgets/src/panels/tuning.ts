// Tuning: one of several charts of the trials, the brush over their parameters, and the table of trials.

import { h, mark, refill } from "../lib/dom.ts";
import type { Brushed, Tuning } from "../sections.ts";
import { Brush } from "./brush.ts";
import { Chooser } from "./chooser.ts";
import type { Host, Panel } from "./panel.ts";
import { SplitPanel } from "./split.ts";

export class TuningPanel extends SplitPanel implements Panel<Tuning> {
  readonly name = "tuning";
  private readonly modes: Chooser;
  private readonly tops = h("select", { class: "pe-select", "aria-label": "trials in the table" });
  private readonly intervals = h("div", { class: "pe-chips", role: "group", "aria-label": "brush" });
  private readonly brush: Brush;
  private shown = "";

  constructor(private readonly host: Host) {
    super("tuning", "Tuning", "trials", host, "No trial has been measured yet.");
    this.modes = new Chooser("charts", (mode) => host.look({ tuning: { mode } }));
    this.brush = new Brush(this.stage, (brush) => host.look({ tuning: { brush } }));
    this.tops.addEventListener("change", () => host.look({ tuning: { top: Number(this.tops.value) } }));
    this.frame.body.prepend(
      h("div", { class: "pe-choices" }, this.modes.element, this.tops, this.intervals, this.hint),
    );
  }

  update(data: Tuning): void {
    this.modes.update(data.modes, data.mode);
    const tops = JSON.stringify(data.tops);
    if (tops !== this.shown) {
      this.shown = tops;
      refill(this.tops, ...data.tops.map((top) => h("option", { value: top.name }, top.label)));
    }
    this.tops.value = data.top;
    this.tops.hidden = data.tops.length === 0; // a report has one table
    refill(this.intervals, ...data.brush.flatMap((interval) => this.interval(interval)));
    this.intervals.hidden = data.brush.length === 0;
    this.show(data.caption, data.scene, data.trials);
    this.brush.update(data.axes);
  }

  /** The interval with a button that removes it, and a button that restricts tuning to it. */
  private interval({ name, text, restrict }: Brushed): HTMLElement[] {
    const clear = h(
      "button",
      { type: "button", class: "pe-chip", title: `remove the interval of ${name}` },
      `${text} ×`,
    );
    mark(clear, "aria-label", `remove the interval ${text}`);
    clear.addEventListener("click", () => this.host.look({ tuning: { brush: [name] } }));
    if (restrict === null) return [clear];
    const title = `${restrict.description}\n${restrict.python}`;
    const act = h(
      "button",
      { type: "button", class: "pe-button", title, "data-command": restrict.command },
      restrict.label,
    );
    act.addEventListener("click", () => this.host.command(restrict.command, restrict.args));
    return [clear, act];
  }
}
