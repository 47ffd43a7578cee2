// The Sizes panel: sliders, the figures that depend on them, the point on the roofline, the regions of one block.

import { h, mark, refill, rewrite, s } from "../lib/dom.ts";
import { evaluate, number, withUnit } from "../lib/forms.ts";
import { Stage } from "../lib/stage.ts";
import type { Item, Scene, Shape } from "../scene.ts";
import type { RooflinePlot, SizeFigure, SizeLimit, SizesSection, Slider } from "../sections.ts";
import { Frame, type Host, type Panel } from "./panel.ts";
import { Regions } from "./regions.ts";

const MARK_PX = 13;

export class SizesPanel implements Panel<SizesSection> {
  readonly name = "sizes";
  readonly element: HTMLElement;
  readonly stage: Stage;
  private readonly frame: Frame;
  private readonly origin = h("p", { class: "pe-muted" });
  private readonly sliders = h("div", { class: "pe-sliders", role: "group", "aria-label": "sizes" });
  private readonly legal = h("ul", { class: "pe-limits", "aria-live": "polite" });
  private readonly figures = h("dl", { class: "pe-figures" });
  private readonly point = h("p", { class: "pe-muted" });
  private readonly trials = h("p", { class: "pe-muted" }, "○ trials, measured");
  private readonly plot = h("div", { class: "pe-plot" });
  private readonly reset = h("button", { type: "button", class: "pe-button" }, "reset");
  private readonly copy = h("button", { type: "button", class: "pe-button" }, "copy as Python");
  private readonly regions: Regions;
  private readonly body = h("div", { class: "pe-sizes" });
  private data: SizesSection | null = null;
  /** The sizes that the user has chosen for this subject, by symbol. */
  private chosen: Record<string, number> = {};

  constructor(private readonly host: Host) {
    this.stage = new Stage("sizes", "listbox", {
      select: (ref) => host.select(ref),
      enter: (ref) => host.select(ref),
      hover: (ref) => host.hover(ref),
    });
    this.stage.scroll = true;
    this.regions = new Regions(host);
    this.frame = new Frame("sizes", "Sizes", host);
    this.plot.append(this.stage.element, this.point, this.trials);
    this.reset.addEventListener("click", () => this.setAll({}));
    this.copy.addEventListener("click", () => host.copy(this.python(), "the call"));
    const buttons = h("div", { class: "pe-group" }, this.reset, this.copy);
    this.body.append(
      h("div", { class: "pe-part" }, this.origin, this.sliders, this.legal, buttons),
      h("div", { class: "pe-part" }, h("h4", {}, "At these sizes"), this.figures),
      this.plot,
      this.regions.element,
    );
    this.frame.body.append(this.body);
    this.element = this.frame.element;
  }

  update(data: SizesSection): void {
    const before = this.data;
    this.data = data;
    if (before?.subject !== data.subject || before.request !== data.request)
      this.chosen = Object.fromEntries(data.chosen);
    this.frame.caption.textContent = data.caption;
    rewrite(this.origin, data.origin ? `Start: ${data.origin}.` : "");
    this.body.hidden = data.subject === "";
    if (JSON.stringify(before?.sliders) !== JSON.stringify(data.sliders)) this.drawSliders(data.sliders);
    else for (const slider of data.sliders) this.placeSlider(slider);
    this.regions.update(data.kernels);
    this.plot.hidden = data.roofline === null;
    this.compute();
  }

  select(refs: readonly string[]): void {
    this.stage.select(refs);
    this.regions.select(refs[0] ?? "");
  }

  hover(refs: readonly string[]): void {
    this.stage.hover(refs);
  }

  close(): void {
    this.stage.close();
  }

  private value(slider: Slider): number {
    return this.chosen[slider.symbol] ?? slider.value;
  }

  private setAll(chosen: Record<string, number>): void {
    this.chosen = chosen;
    for (const slider of this.data?.sliders ?? []) this.placeSlider(slider);
    this.compute();
    this.tell();
  }

  /** Tell Python where the sliders are, once they are released. */
  private tell(): void {
    this.host.look({ sizes: { subject: this.data?.subject ?? "", values: this.chosen } });
  }

  private python(): string {
    const sizes = (this.data?.sliders ?? []).map((slider) => `${slider.symbol}=${this.value(slider)}`);
    return `${this.data?.python ?? ""}${sizes.join(", ")})`;
  }

  private drawSliders(sliders: readonly Slider[]): void {
    const rows = sliders.map((slider) => {
      const input = h("input", {
        type: "range",
        min: 0,
        max: slider.values.length - 1,
        step: 1,
        "data-symbol": slider.symbol,
        "aria-label": slider.label,
        disabled: slider.values.length < 2,
      });
      input.addEventListener("input", () => {
        this.chosen = { ...this.chosen, [slider.symbol]: slider.values[Number(input.value)] ?? slider.value };
        this.placeSlider(slider);
        this.compute();
      });
      input.addEventListener("change", () => this.tell());
      const title =
        slider.values.length < 2 ? `${number(slider.value)} is the only legal value` : slider.label;
      return h("label", { class: "pe-slider", title }, h("span", {}, slider.label), input, h("output"));
    });
    refill(
      this.sliders,
      ...(rows.length > 0 ? rows : [h("p", { class: "pe-muted" }, "It has no symbolic size.")]),
    );
    for (const slider of sliders) this.placeSlider(slider);
  }

  private placeSlider(slider: Slider): void {
    const input = [...this.sliders.querySelectorAll("input")].find(
      (e) => e.getAttribute("data-symbol") === slider.symbol,
    );
    if (!input) return;
    const value = this.value(slider);
    const at = String(Math.max(0, slider.values.indexOf(value)));
    if (input.value !== at) input.value = at;
    const text = `${slider.symbol} = ${number(value)}`;
    mark(input, "aria-valuetext", text);
    const output = input.parentElement?.querySelector("output");
    if (output) output.textContent = text;
  }

  /** Evaluate the closed forms, and show what depends on them. */
  private compute(): void {
    const { data } = this;
    if (!data || data.subject === "") return;
    const symbols = Object.fromEntries(data.sliders.map((slider) => [slider.symbol, this.value(slider)]));
    const values = evaluate(data.forms, symbols);
    this.drawLimits(data.limits, values);
    refill(this.figures, ...data.figures.flatMap((figure) => figureRow(figure, values)));
    if (data.roofline) this.drawPoint(data.roofline, values);
    this.regions.evaluate(values);
    this.host.showSizes(data.subject, data.shapes, values);
    this.reset.disabled = Object.keys(this.chosen).length === 0;
  }

  private drawLimits(limits: readonly SizeLimit[], values: readonly number[]): void {
    const broken = limits.map((limit) => brokenText(limit, values)).filter((text) => text !== "");
    mark(this.legal, "data-broken", broken.length > 0);
    const none =
      limits.length === 0 ? "The limits of the machine are not known here." : "These sizes are legal.";
    const lines = broken.length > 0 ? ["These sizes are illegal:", ...broken] : [none];
    if ([...this.legal.children].map((e) => e.textContent).join() !== lines.join())
      refill(this.legal, ...lines.map((line) => h("li", {}, line)));
  }

  private drawPoint(plot: RooflinePlot, values: readonly number[]): void {
    const value = (form: number | null) => (form === null ? Number.NaN : (values[form] ?? Number.NaN));
    const intensity = value(plot.flops) / value(plot.memory_bytes);
    const roof = Math.min(plot.peak, intensity * plot.bandwidth);
    const rate = plot.time_s === null ? roof : value(plot.flops) / value(plot.time_s);
    const side = intensity * plot.bandwidth < plot.peak ? "memory" : "compute";
    const performance = `${withUnit(rate, "flops")}/s`;
    const text =
      plot.time_s === null
        ? `◆ ${number(intensity)} flop/byte modelled: at most ${performance}, the ${side} roof`
        : `◆ ${number(intensity)} flop/byte, ${performance} modelled: ${Math.round((100 * rate) / roof)} % of the ${side} roof`;
    rewrite(this.point, text);
    this.trials.hidden = !plot.scene.items.some((item) => item.type === "shape" && item.kind === "trial");
    this.stage.update(withPoint(plot, intensity, rate, text));
  }
}

/** The plot with the moving point, at the border where it is outside. */
function withPoint(plot: RooflinePlot, intensity: number, rate: number, tip: string): Scene {
  const [left, top, right, bottom] = plot.area;
  if (!(intensity > 0 && rate > 0)) return plot.scene;
  const share = (value: number, [low, high]: readonly [number, number]) =>
    Math.max(0, Math.min(1, Math.log(value / low) / Math.log(high / low)));
  const x = left + (right - left) * share(intensity, plot.x);
  const y = bottom - (bottom - top) * share(rate, plot.y);
  const point: Shape = {
    type: "shape",
    id: "sizes#point",
    role: "mark",
    kind: "trial-best",
    outline: "diamond",
    x: x - MARK_PX / 2,
    y: y - MARK_PX / 2,
    w: MARK_PX,
    h: MARK_PX,
    tip,
  };
  const items: readonly Item[] = [...plot.scene.items, point];
  return { ...plot.scene, items };
}

/** How sizes break a limit; empty where they do not. */
function brokenText({ form, most, text, what }: SizeLimit, values: readonly number[]): string {
  const value = values[form] ?? Number.NaN;
  if (most === null)
    return Number.isInteger(value) && value >= 1
      ? ""
      : `${text} = ${number(value)} is not a positive whole number: ${what}`;
  return value > most ? `${text} = ${number(value)} exceeds ${number(most)}: ${what}` : "";
}

function figureRow(figure: SizeFigure, values: readonly number[]): readonly Node[] {
  const value = values[figure.form] ?? Number.NaN;
  const text = withUnit(value, figure.unit);
  const row = h("dd", {}, h("strong", {}, text), " ", h("span", { class: "pe-muted" }, figure.note));
  if (figure.limit !== null) {
    const share = value / figure.limit;
    const limit = withUnit(figure.limit, figure.unit);
    const words = share > 1 ? `exceeds the limit of ${limit}` : `${Math.round(100 * share)} % of ${limit}`;
    const width = Math.max(0, Math.min(1, share || 0)) * 100;
    const bar = s(
      "svg",
      { class: "pe-use", viewBox: "0 0 100 8", preserveAspectRatio: "none", "aria-hidden": "true" },
      s("rect", { class: "pe-all", width: 100, height: 8 }),
      s("rect", { class: "pe-used", width, height: 8 }),
    );
    row.append(bar, h("span", { class: share > 1 ? "pe-over" : null }, words));
  }
  return [h("dt", {}, figure.label), row];
}
