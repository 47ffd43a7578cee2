// Which region of each tensor a block touches, for one grid point and loop step: outlines, index ranges, steppers.

import { h, mark, refill, s } from "../lib/dom.ts";
import { index, number, type Values } from "../lib/forms.ts";
import type { Access, AccessDim, KernelAccesses } from "../sections.ts";
import { type Host, tool } from "./panel.ts";

/** Largest and least sides of an outline; and the most tiles whose borders are drawn. */
const WIDE = 150;
const HIGH = 96;
const LEAST = 16;
const MOST_TILES = 64;

export class Regions {
  readonly element = h("div", { class: "pe-regions" });
  private readonly kernels = h("select", { class: "pe-select", "aria-label": "kernel" });
  private readonly steppers = h("div", { class: "pe-steppers" });
  private readonly figures = h("div", { class: "pe-accesses" });
  private data: readonly KernelAccesses[] = [];
  private forms: readonly number[] = [];
  private shown = "";
  /** Per kernel and grid dim or loop, the position. */
  private readonly at = new Map<string, number>();

  constructor(private readonly host: Host) {
    this.kernels.addEventListener("change", () => {
      this.shown = this.kernels.value;
      this.draw();
    });
    this.element.append(
      h("h4", {}, "What one block reads and writes"),
      this.kernels,
      this.steppers,
      this.figures,
    );
  }

  update(data: readonly KernelAccesses[]): void {
    this.data = data;
    if (!data.some((k) => k.ref === this.shown)) this.shown = data[0]?.ref ?? "";
    refill(this.kernels, ...data.map((k) => h("option", { value: k.ref }, k.label)));
    this.kernels.value = this.shown;
    this.kernels.hidden = data.length < 2;
    this.element.hidden = data.length === 0;
  }

  /** Draw for new values of the closed forms. */
  evaluate(forms: readonly number[]): void {
    this.forms = forms;
    this.draw();
  }

  /** Show the kernel that is or contains an id, and mark its load or store. */
  select(ref: string): void {
    const kernel = this.data.find((k) => ref === k.ref || ref.startsWith(`${k.ref}.`));
    if (kernel && kernel.ref !== this.shown) {
      this.shown = kernel.ref;
      this.kernels.value = kernel.ref;
      this.draw();
    }
    for (const figure of this.figures.querySelectorAll("[data-ref]"))
      mark(figure, "aria-current", figure.getAttribute("data-ref") === ref ? "true" : null);
  }

  private kernel(): KernelAccesses | null {
    return this.data.find((k) => k.ref === this.shown) ?? null;
  }

  private value(form: number): number {
    return this.forms[form] ?? Number.NaN;
  }

  private count(kernel: KernelAccesses, name: string): number {
    const form = kernel.steppers.find((step) => step.name === name)?.form ?? -1;
    return Math.max(1, Math.floor(this.value(form)) || 1);
  }

  private position(kernel: KernelAccesses, name: string): number {
    return Math.min(this.at.get(`${kernel.ref} ${name}`) ?? 0, this.count(kernel, name) - 1);
  }

  private move(kernel: KernelAccesses, to: Values): void {
    for (const [name, position] of Object.entries(to)) {
      const most = this.count(kernel, name) - 1;
      this.at.set(`${kernel.ref} ${name}`, Math.max(0, Math.min(most, Math.round(position) || 0)));
    }
    this.draw();
  }

  private draw(): void {
    const kernel = this.kernel();
    if (!kernel || this.forms.length === 0) return;
    this.drawSteppers(kernel);
    const figures = kernel.accesses.map((access) => this.figure(kernel, access));
    const current = this.figures.querySelector("[aria-current]")?.getAttribute("data-ref");
    refill(this.figures, ...figures);
    for (const figure of figures)
      if (figure.getAttribute("data-ref") === current) mark(figure, "aria-current", "true");
  }

  /** One row per grid dim and loop; rows with the same names keep their elements, and so the focus. */
  private drawSteppers(kernel: KernelAccesses): void {
    const names = kernel.steppers.map((step) => `${kernel.ref} ${step.name}`).join();
    if (this.steppers.getAttribute("data-of") !== names) {
      mark(this.steppers, "data-of", names);
      const rows = kernel.steppers.map((step) => this.stepper(kernel, step.name, step.loop));
      refill(
        this.steppers,
        ...(rows.length > 0 ? rows : [h("p", { class: "pe-muted" }, "One block, no loop.")]),
      );
    }
    kernel.steppers.forEach((step, n) => {
      const row = this.steppers.children[n];
      const input = row?.querySelector("input");
      const count = this.count(kernel, step.name);
      if (!row || !input) return;
      input.max = String(count - 1);
      if (input.value !== String(this.position(kernel, step.name)))
        input.value = String(this.position(kernel, step.name));
      const total = row.querySelector(".pe-of");
      if (total) total.textContent = `of ${number(this.value(step.form))}`;
    });
  }

  private stepper(kernel: KernelAccesses, name: string, loop: boolean): HTMLElement {
    const word = loop ? `loop step ${name}` : `block ${name}`;
    const input = h("input", { type: "number", min: 0, step: 1, "aria-label": word });
    input.addEventListener("input", () => this.move(kernel, { [name]: Number(input.value) }));
    const step = (by: number) => () => this.move(kernel, { [name]: this.position(kernel, name) + by });
    return h(
      "div",
      { class: "pe-stepper" },
      h("span", {}, word),
      tool("minus", `previous ${word}`, step(-1)),
      input,
      tool("plus", `next ${word}`, step(1)),
      h("span", { class: "pe-of pe-muted" }),
    );
  }

  private figure(kernel: KernelAccesses, access: Access): HTMLElement {
    const ranges = access.dims.map((dim) => this.range(kernel, dim));
    const text = ranges.map(([from, to]) => `${index(from)}:${index(to)}`).join(", ");
    const label = h(
      "button",
      { type: "button", class: "pe-link pe-mono", title: `select this ${access.kind}` },
      `${access.label}[${text}]`,
    );
    label.addEventListener("click", () => this.host.select(access.ref));
    return h(
      "figure",
      { class: "pe-access", "data-ref": access.ref, "data-kind": access.kind },
      h("figcaption", {}, h("span", { class: "pe-muted" }, access.kind), label),
      this.outline(kernel, access, ranges),
      h("p", { class: "pe-muted" }, this.sharing(kernel, access)),
    );
  }

  /** The indices of one dim that the block touches: from, to (excluded). */
  private range(kernel: KernelAccesses, dim: AccessDim): readonly [number, number] {
    let from = 0;
    for (const [name, stride] of dim.strides) from += this.value(stride) * this.position(kernel, name);
    return [from, from + this.value(dim.tile)];
  }

  /** Which other blocks and iterations touch the same region. */
  private sharing(kernel: KernelAccesses, access: Access): string {
    if (access.open) return "The map is unbound: the full tensor is shown.";
    const mapped = new Set(access.dims.flatMap((dim) => dim.strides.map(([name]) => name)));
    const others = kernel.steppers.filter((step) => !mapped.has(step.name));
    const blocks = others
      .filter((step) => !step.loop)
      .reduce((n, step) => n * this.count(kernel, step.name), 1);
    const loop = others.find((step) => step.loop && this.count(kernel, step.name) > 1);
    const verb = access.kind === "load" ? "read" : "write";
    const parts = [
      blocks > 1 ? `${number(blocks)} blocks ${verb} this region` : `only this block ${verb}s it`,
    ];
    if (access.kind === "load" && loop) parts.push(`every iteration of ${loop.name} reads it again`);
    if (access.kind === "store" && blocks > 1) parts.push("right only if all write the same values");
    return `${parts.join("; ")}.`;
  }

  /** The last two dims as an outline, tile borders, and the region; a drag moves the block. */
  private outline(
    kernel: KernelAccesses,
    access: Access,
    ranges: readonly (readonly [number, number])[],
  ): Element {
    const count = access.dims.length;
    if (count === 0) return h("p", { class: "pe-muted" }, "a scalar");
    const columns = access.dims[count - 1];
    const rows = access.dims[count - 2];
    const [width, height] = [this.extent(columns), this.extent(rows)];
    const scale = Math.min(WIDE / width, HIGH / height);
    const [w, high] = [Math.max(LEAST, width * scale), Math.max(LEAST, height * scale)];
    const [c0, c1] = ranges[count - 1] ?? [0, 1];
    const [r0, r1] = ranges[count - 2] ?? [0, 1];
    const place = (from: number, to: number, extent: number, px: number): [number, number] => {
      const size = Math.min(px, Math.max(2, ((to - from) / extent) * px));
      return [Math.max(0, Math.min(px - size, (from / extent) * px)), size];
    };
    const [x, regionW] = place(c0, c1, width, w);
    const [y, regionH] = place(r0, r1, height, high);
    const tilesW = this.borders(columns, width, w);
    const tilesH = this.borders(rows, height, high);
    const svg = s(
      "svg",
      {
        class: "pe-outline",
        width: w + 2,
        height: high + 2,
        viewBox: `-1 -1 ${w + 2} ${high + 2}`,
        role: "img",
        "aria-label": `${access.label}: rows ${number(r0)} to ${number(r1)} of ${number(height)}, columns ${number(c0)} to ${number(c1)} of ${number(width)}`,
      },
      s("rect", { class: "pe-whole", x: 0, y: 0, width: w, height: high }),
      ...tilesW.map((at) => s("path", { class: "pe-border", d: `M${at},0V${high}` })),
      ...tilesH.map((at) => s("path", { class: "pe-border", d: `M0,${at}H${w}` })),
      s("rect", { class: "pe-region", x, y, width: regionW, height: regionH }),
    );
    this.draggable(svg, kernel, (u, v) => ({
      ...this.blockAt(kernel, columns, u * width),
      ...this.blockAt(kernel, rows, v * height),
    }));
    return svg;
  }

  private extent(dim: AccessDim | undefined): number {
    const value = dim ? this.value(dim.extent) : 1;
    return value > 0 ? value : 1;
  }

  /** Positions of the borders between tiles, in px; none if there are too many. */
  private borders(dim: AccessDim | undefined, extent: number, px: number): readonly number[] {
    const tiles = dim ? extent / this.value(dim.tile) : 1;
    if (!(tiles > 1) || tiles > Math.min(MOST_TILES, px / 3)) return [];
    return Array.from({ length: Math.ceil(tiles) - 1 }, (_, n) => ((n + 1) * px) / tiles);
  }

  /** The grid point and loop step whose tile has an index of a dim. */
  private blockAt(kernel: KernelAccesses, dim: AccessDim | undefined, index: number): Values {
    const found: Record<string, number> = {};
    let rest = Math.max(0, index);
    for (const [name, form] of dim?.strides ?? []) {
      const stride = this.value(form);
      const position = Math.min(this.count(kernel, name) - 1, Math.floor(rest / stride));
      found[name] = position;
      rest -= position * stride;
    }
    return found;
  }

  private draggable(svg: SVGSVGElement, kernel: KernelAccesses, at: (u: number, v: number) => Values): void {
    svg.addEventListener("pointerdown", (down) => {
      // The pictures are drawn again while the pointer moves, so the box of the first one counts.
      const box = svg.getBoundingClientRect();
      const go = (event: PointerEvent) =>
        this.move(kernel, at((event.clientX - box.left) / box.width, (event.clientY - box.top) / box.height));
      const up = () => {
        window.removeEventListener("pointermove", go);
        window.removeEventListener("pointerup", up);
        window.removeEventListener("pointercancel", up);
      };
      window.addEventListener("pointermove", go);
      window.addEventListener("pointerup", up);
      window.addEventListener("pointercancel", up);
      go(down);
      down.preventDefault();
    });
  }
}
