// The sGraph panel: one graph, its kernels expanded, collapsed or entered, and sizes in numbers.

import { h, rewrite } from "../lib/dom.ts";
import { index } from "../lib/forms.ts";
import { redraw } from "../lib/keep.ts";
import type { Stage } from "../lib/stage.ts";
import type { Scene } from "../scene.ts";
import type { GraphSection, KernelChoice, ShapeSizes } from "../sections.ts";
import type { Host, Panel } from "./panel.ts";
import { tool } from "./panel.ts";
import { Picture } from "./picture.ts";

/** Text style of sizes in numbers, as in views/graph.py. */
const SIZES = "sizes";

export class GraphPanel implements Panel<GraphSection> {
  readonly name = "graph";
  readonly element: HTMLElement;
  readonly stage: Stage;
  private readonly picture: Picture;
  private readonly trail = h("nav", { class: "pe-trail", "aria-label": "what is shown" });
  private readonly alternatives = h("div", {
    class: "pe-picture-chips",
    role: "group",
    "aria-label": "candidates",
  });
  /** Expand all kernels, and collapse all; absent where that would change nothing. */
  private readonly all: readonly (readonly [boolean, HTMLButtonElement])[];
  private readonly empty = h("p", { class: "pe-empty" });
  private data: GraphSection | null = null;
  private selected = "";
  /** The sizes in numbers, and of which graph. */
  private sizes: { readonly subject: string; readonly texts: ReadonlyMap<string, string> } | null = null;

  constructor(private readonly host: Host) {
    const one = "; Enter on a kernel toggles it alone";
    this.all = [
      [true, tool("expand", `expand all kernels${one}`, () => this.setAll(true))],
      [false, tool("collapse", `collapse all kernels${one}`, () => this.setAll(false))],
    ];
    const tools = this.all.map(([, button]) => button);
    this.picture = new Picture("graph", "sGraph", "listbox", host, tools, (action, ref) =>
      action === "enter" ? this.show(ref) : this.toggleKernel(ref),
    );
    this.stage = this.picture.stage;
    this.stage.glides = true;
    this.element = this.picture.frame.element;
    this.picture.frame.body.prepend(this.trail, this.alternatives);
    this.picture.frame.body.append(this.empty);
    this.element.addEventListener("keydown", (event) => this.onKey(event));
  }

  /** Expand or collapse the kernel that is or contains the selection. */
  enter(): void {
    this.toggleKernel(this.selected);
  }

  toggleTable(): void {
    this.picture.toggleTable();
  }

  update(data: GraphSection): void {
    this.data = data;
    for (const [expanded, button] of this.all)
      button.hidden = data.entered !== "" || data.kernels.every((kernel) => kernel.expanded === expanded);
    rewrite(this.picture.frame.caption, data.caption);
    this.empty.hidden = data.scene !== null;
    this.empty.textContent = data.scene === null ? data.caption : "";
    this.picture.stage.element.classList.toggle("pe-hidden", data.scene === null);
    this.draw();
    this.picture.updated();
    this.drawTrail(data);
    this.drawAlternatives(data);
  }

  /** Show the sizes of the tensors of a graph in numbers. */
  showSizes(subject: string, shapes: readonly ShapeSizes[], values: readonly number[]): void {
    const texts = shapes.map(
      ({ shape, dims }) => [shape, dims.map((d) => index(values[d] ?? Number.NaN)).join(" × ")] as const,
    );
    this.sizes = { subject, texts: new Map(texts) };
    this.draw();
  }

  select(refs: readonly string[]): void {
    this.selected = refs[0] ?? "";
    this.picture.stage.select(refs);
  }

  hover(refs: readonly string[]): void {
    this.picture.stage.hover(refs);
  }

  close(): void {
    this.picture.stage.close();
  }

  private draw(): void {
    const { data, sizes } = this;
    if (!data?.scene) return;
    const known = sizes?.subject === data.subject;
    this.picture.stage.update(known ? withSizes(data.scene, sizes.texts) : data.scene);
  }

  private kernelOf(ref: string): KernelChoice | null {
    return this.data?.kernels.find((k) => ref === k.ref || ref.startsWith(`${k.ref}.`)) ?? null;
  }

  private toggleKernel(ref: string): void {
    const kernel = this.kernelOf(ref);
    if (!kernel) return;
    this.stage.anchor = kernel.ref;
    this.host.look({ graph: { kernels: [kernel.ref], expanded: !kernel.expanded } });
  }

  private show(entered: string): void {
    this.host.look({ graph: { entered } });
    this.picture.stage.focus();
  }

  private setAll(expanded: boolean): void {
    const kernels = this.data?.kernels ?? [];
    this.host.look({ graph: { kernels: kernels.map((kernel) => kernel.ref), expanded } });
  }

  /** Shift+Enter shows only the selected kernel; Backspace goes back. */
  private onKey(event: KeyboardEvent): void {
    const kernel = this.kernelOf(this.selected);
    if (event.key === "Backspace" && this.data?.entered) this.show("");
    else if (event.key === "Enter" && event.shiftKey && kernel) this.show(kernel.ref);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  private drawTrail(data: GraphSection): void {
    this.trail.hidden = data.trail.length < 2;
    redraw(this.trail, data.trail, () => this.steps(data));
  }

  private steps(data: GraphSection): readonly HTMLElement[] {
    const steps = data.trail.map(({ label, shows }, n) => {
      const last = n === data.trail.length - 1;
      if (last || shows === "") return h("span", { "aria-current": last ? "location" : null }, label);
      const button = h("button", { type: "button", class: "pe-link" }, label);
      button.addEventListener("click", () =>
        this.host.look({ graph: shows === "program" ? { program: true } : { entered: "" } }),
      );
      return button;
    });
    return steps.flatMap((step, n) => (n === 0 ? [step] : [h("span", { "aria-hidden": "true" }, "▸"), step]));
  }

  private drawAlternatives(data: GraphSection): void {
    this.alternatives.hidden = data.alternatives.length < 2;
    redraw(this.alternatives, [data.alternatives, data.subject], () =>
      data.alternatives.map(({ ref, label }) => {
        const pressed = ref === data.subject ? "true" : "false";
        const chip = h("button", { type: "button", class: "pe-chip", "aria-pressed": pressed }, label);
        chip.addEventListener("click", () => this.host.select(ref));
        return chip;
      }),
    );
  }
}

/** The picture with other sizes in numbers. */
function withSizes(scene: Scene, sizes: ReadonlyMap<string, string>): Scene {
  const items = scene.items.map((item) => {
    const text = item.type === "shape" ? sizes.get(item.id) : undefined;
    if (text === undefined || !item.texts?.some((t) => t.kind === SIZES)) return item;
    return { ...item, texts: item.texts.map((t) => (t.kind === SIZES ? { ...t, text } : t)) };
  });
  return { ...scene, items };
}
