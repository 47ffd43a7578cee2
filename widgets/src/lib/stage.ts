// The picture of a panel: an SVG that can be dragged, zoomed, and navigated with the keyboard.
//
// The wheel scrolls the picture if it is higher than its panel, then the notebook. With Ctrl or ⌘, or by a pinch, it
// zooms.

import type { Item, Scene, Shape } from "../scene.ts";
import { add, fresh, h, mark, s } from "./dom.ts";
import { type Direction, Drawing, neighbour } from "./draw.ts";
import { glide } from "./glide.ts";

export interface StageEvents {
  select(ref: string): void;
  /** Double click or Enter. */
  enter(ref: string): void;
  hover(ref: string | null): void;
  /** A click on a button in the picture. */
  act?: ((action: string, ref: string) => void) | undefined;
}

const LEAST_SCALE = 0.15;
const MOST_SCALE = 4;
/** Limits of fitting: texts stay at least 12 px high, and small pictures do not become huge. */
const LEAST_FIT = 1;
const MOST_FIT = 1.15;
const MARGIN = 8;

export class Stage {
  readonly element: HTMLDivElement;
  /** Elements that a panel draws over the picture, in its coordinates. */
  readonly overlay = s("g", { class: "pe-overlay" });
  private readonly svg: SVGSVGElement;
  private readonly title = s("title");
  private readonly desc = s("desc");
  private readonly drawing: Drawing;
  private readonly tip = h("div", { class: "pe-tip", role: "tooltip", hidden: true });
  private readonly resize: ResizeObserver;
  private scene: Scene | null = null;
  private pattern: ((item: Item) => boolean) | null = null;
  x = 0;
  y = 0;
  scale = 1;
  /** Whether Python draws it as wide as the panel, so that it only scrolls vertically. */
  scroll = false;
  /** Whether its items glide to new places when the same thing is drawn in another way. */
  glides = false;
  /** The item that keeps its place in the panel at the next change. */
  anchor = "";
  /** Whether the user moved it; otherwise it is fitted again when its size changes. */
  private moved = false;
  /** Whether the full picture is shown, although its texts are small. */
  private whole = false;
  private selected: readonly string[] = [];
  private related: readonly string[] = [];
  private filtered: readonly string[] = [];
  private dragged = false;

  constructor(
    name: string,
    role: "listbox" | "tree",
    private readonly events: StageEvents,
  ) {
    this.drawing = new Drawing(role === "tree" ? "treeitem" : "option");
    const [titleId, descId] = [fresh("title"), fresh("desc")];
    this.title.id = titleId;
    this.desc.id = descId;
    this.svg = s(
      "svg",
      {
        class: "prism-scene",
        role,
        tabindex: 0,
        "aria-labelledby": titleId,
        "aria-describedby": descId,
        "data-stage": name,
      },
      this.title,
      this.desc,
      this.drawing.patterns,
      this.drawing.element,
      this.overlay,
    );
    this.element = h("div", { class: "pe-stage" }, this.svg, this.tip);
    this.resize = new ResizeObserver(() => {
      if (!this.moved) this.fitTo(this.whole);
    });
    this.resize.observe(this.element);
    this.listen();
  }

  close(): void {
    this.resize.disconnect();
  }

  get shown(): Scene | null {
    return this.scene;
  }

  update(scene: Scene): void {
    const before = this.scene;
    const then = { x: this.x, y: this.y, scale: this.scale };
    const grew = before?.width !== scene.width || before.height !== scene.height;
    if (before && before.title !== scene.title) {
      this.moved = false;
      this.whole = false;
    }
    this.scene = scene;
    this.title.textContent = scene.title;
    this.desc.textContent = scene.desc;
    this.drawing.update(scene);
    this.drawing.highlight("selected", this.selected);
    this.drawing.highlight("related", this.related);
    this.drawing.highlight("filtered", this.filtered);
    if (this.pattern) this.drawing.find(this.pattern, scene);
    if (before && grew && this.anchor) this.hold(before, scene);
    else if (grew && !this.moved) this.fitTo(this.whole);
    if (before && this.glides && before !== scene) {
      const old = new Map(before.items.map((item) => [item.id, item]));
      glide(old, then, scene.items, this, (id) => this.drawing.elementOf(id));
    }
  }

  /** Keep the anchor at its place in the panel, as far as the new picture allows. */
  private hold(before: Scene, scene: Scene): void {
    const at = (s: Scene) =>
      s.items.find((item): item is Shape => item.type === "shape" && item.ref === this.anchor);
    const [old, now] = [at(before), at(scene)];
    this.anchor = "";
    if (!old || !now) {
      this.fit();
      return;
    }
    const { clientWidth, clientHeight } = this.element;
    this.x = inside(this.x + (old.x - now.x) * this.scale, scene.width, this.scale, clientWidth);
    this.y = inside(this.y + (old.y - now.y) * this.scale, scene.height, this.scale, clientHeight);
    this.moved = true;
    this.place();
  }

  select(refs: readonly string[], related: readonly string[] = []): void {
    this.selected = refs;
    this.related = related;
    this.drawing.highlight("selected", refs);
    this.drawing.highlight("related", related);
    const shape = this.current();
    mark(this.svg, "aria-activedescendant", shape ? this.drawing.elementId(shape.id) : null);
  }

  /** Dim the items that the filter excludes. */
  filter(refs: readonly string[]): void {
    this.filtered = refs;
    this.drawing.highlight("filtered", refs);
  }

  hover(refs: readonly string[]): void {
    this.drawing.highlight("hovered", refs);
  }

  find(pattern: ((item: Item) => boolean) | null): number {
    this.pattern = pattern;
    return this.scene ? this.drawing.find(pattern, this.scene) : 0;
  }

  /** Show the full picture if its texts stay readable, else its upper left part. */
  fit(): void {
    this.fitTo(false);
  }

  /** Show the full picture, however small its texts; from there, go back to texts that are readable. */
  overview(): void {
    this.fitTo(!this.whole);
  }

  private fitTo(whole: boolean): void {
    const { clientWidth: width, clientHeight: height } = this.element;
    if (!this.scene || width === 0 || height === 0) return;
    const all = Math.min(
      (width - 2 * MARGIN) / this.scene.width,
      (height - 2 * MARGIN) / this.scene.height,
      MOST_FIT,
    );
    const readable = this.scroll ? 1 : Math.max(all, LEAST_FIT);
    this.whole = whole && all < readable;
    this.scale = this.whole ? all : readable;
    this.x = Math.max(MARGIN, (width - this.scene.width * this.scale) / 2);
    this.y = this.scroll ? MARGIN : Math.max(MARGIN, (height - this.scene.height * this.scale) / 2);
    if (!this.whole) this.skipEmptyCorner(width, height);
    this.moved = false;
    this.place();
  }

  /** Where the upper left part has a frame only, begin at its first item. */
  private skipEmptyCorner(width: number, height: number): void {
    const lefts = this.drawing.targets
      .filter((t) => t.w * this.scale < width && t.y * this.scale < height)
      .map((t) => t.x * this.scale);
    const left = Math.min(...lefts);
    if (Number.isFinite(left) && left > width - 2 * MARGIN)
      this.x = inside(2 * MARGIN - left, this.scene?.width ?? 0, this.scale, width);
  }

  zoom(factor: number, at?: { readonly x: number; readonly y: number }): void {
    const { clientWidth, clientHeight } = this.element;
    const { x, y } = at ?? { x: clientWidth / 2, y: clientHeight / 2 };
    const scale = Math.min(MOST_SCALE, Math.max(LEAST_SCALE, this.scale * factor));
    this.x = x - ((x - this.x) * scale) / this.scale;
    this.y = y - ((y - this.y) * scale) / this.scale;
    this.scale = scale;
    this.moved = true;
    this.whole = false;
    this.place();
  }

  /** Move the picture so that an item is visible; false if it has no such item. */
  reveal(ref: string): boolean {
    const shape = this.drawing.targets.find((t) => t.ref === ref);
    const { clientWidth: width, clientHeight: height } = this.element;
    if (!shape || width === 0) return false;
    const left = shape.x * this.scale + this.x;
    const top = shape.y * this.scale + this.y;
    const [w, high] = [shape.w * this.scale, shape.h * this.scale];
    const [x, y] = [this.x, this.y];
    if (left + w < 20 || left > width - 20) this.x = width / 2 - (shape.x + shape.w / 2) * this.scale;
    if (top + high < 20 || top > height - 20) this.y = height / 2 - (shape.y + shape.h / 2) * this.scale;
    this.x = inside(this.x, this.scene?.width ?? 0, this.scale, width);
    this.y = inside(this.y, this.scene?.height ?? 0, this.scale, height);
    if (x !== this.x || y !== this.y) {
      this.moved = true;
      this.place();
    }
    return true;
  }

  /** Select the next item in a direction. */
  walk(way: Direction): void {
    const from = this.current();
    const to = from ? neighbour(from, this.drawing.targets, way) : (this.drawing.targets[0] ?? null);
    if (!to?.ref) return;
    this.events.select(to.ref);
    this.reveal(to.ref);
  }

  focus(): void {
    this.svg.focus({ preventScroll: true });
  }

  /** The picture as a table: per id, the text of its outermost frame, else its longest text. */
  table(): HTMLTableElement {
    const body = h("tbody");
    const rows = new Map<string, string>();
    const framed = new Set<string>();
    for (const item of this.scene?.items ?? []) {
      if (!item.ref || framed.has(item.ref)) continue;
      const text = item.tip?.split("\n").join("; ") || (item.texts ?? []).map((t) => t.text).join(" ");
      const isFrame = item.type === "shape" && item.role === "frame";
      if (isFrame) framed.add(item.ref);
      if (isFrame || text.length >= (rows.get(item.ref) ?? "").length) rows.set(item.ref, text);
    }
    for (const [ref, text] of rows) {
      const choose = h("button", { class: "pe-link", type: "button" }, ref);
      choose.addEventListener("click", () => this.events.select(ref));
      add(body, h("tr", { "data-ref": ref }, h("th", { scope: "row" }, choose), h("td", {}, text)));
    }
    const head = h(
      "thead",
      {},
      h(
        "tr",
        {},
        ...["id", "description"].map((head) =>
          h("th", { scope: "col" }, h("span", { class: "pe-sort" }, head)),
        ),
      ),
    );
    return h("table", { class: "pe-table" }, h("caption", {}, this.scene?.desc ?? ""), head, body);
  }

  private current(): Shape | null {
    const refs = new Set(this.selected);
    return this.drawing.targets.find((t) => t.ref !== undefined && refs.has(t.ref)) ?? null;
  }

  private place(): void {
    const digits = (n: number) => Math.round(n * 1000) / 1000;
    const transform = `translate(${digits(this.x)} ${digits(this.y)}) scale(${digits(this.scale)})`;
    mark(this.drawing.element, "transform", transform);
    mark(this.overlay, "transform", transform);
  }

  /** The place of a pointer in the coordinates of the picture. */
  at(event: MouseEvent): { readonly x: number; readonly y: number } {
    const box = this.element.getBoundingClientRect();
    return {
      x: (event.clientX - box.left - this.x) / this.scale,
      y: (event.clientY - box.top - this.y) / this.scale,
    };
  }

  private listen(): void {
    const item = (event: Event) => (event.target as Element).closest<SVGGElement>(".item");
    const ref = (event: Event) =>
      (event.target as Element).closest<SVGGElement>("[data-ref]")?.getAttribute("data-ref") ?? null;

    this.svg.addEventListener("click", (event) => {
      const chosen = ref(event);
      const action = item(event)?.getAttribute("data-action");
      if (chosen === null || this.dragged) return;
      if (action) this.events.act?.(action, chosen);
      else this.events.select(chosen);
    });
    this.svg.addEventListener("dblclick", (event) => {
      const chosen = ref(event);
      if (item(event)?.hasAttribute("data-action")) return;
      if (chosen !== null) this.events.enter(chosen);
      else this.fit();
      event.preventDefault();
    });
    this.svg.addEventListener("pointerover", (event) => {
      this.events.hover(ref(event));
      this.showTip(item(event)?.getAttribute("data-tip") ?? null, event);
    });
    this.svg.addEventListener("pointerleave", () => {
      this.events.hover(null);
      this.showTip(null);
    });
    this.svg.addEventListener("pointerdown", (event) => this.drag(event));
    this.element.addEventListener(
      "wheel",
      (event) => {
        if (!event.ctrlKey && !event.metaKey) {
          if (this.scrollBy(event.deltaX, event.deltaY)) event.preventDefault();
          return;
        }
        event.preventDefault();
        const box = this.element.getBoundingClientRect();
        this.zoom(Math.exp(-event.deltaY * 0.0022), {
          x: event.clientX - box.left,
          y: event.clientY - box.top,
        });
      },
      { passive: false },
    );
  }

  /** Scroll a picture that is larger than its panel; whether it moved. */
  private scrollBy(dx: number, dy: number): boolean {
    const { clientWidth, clientHeight } = this.element;
    const x = scrolled(this.x, dx, (this.scene?.width ?? 0) * this.scale, clientWidth);
    const y = scrolled(this.y, dy, (this.scene?.height ?? 0) * this.scale, clientHeight);
    if (x === this.x && y === this.y) return false;
    this.x = x;
    this.y = y;
    this.moved = true;
    this.place();
    return true;
  }

  private drag(down: PointerEvent): void {
    if (down.button !== 0) return;
    const [x, y] = [this.x, this.y];
    this.dragged = false;
    const move = (event: PointerEvent) => {
      const [dx, dy] = [event.clientX - down.clientX, event.clientY - down.clientY];
      if (!this.dragged && Math.hypot(dx, dy) < 4) return;
      if (!this.dragged) this.svg.setPointerCapture?.(down.pointerId);
      this.dragged = true;
      this.moved = true;
      mark(this.element, "data-dragging", true);
      this.showTip(null);
      this.x = x + dx;
      this.y = y + dy;
      this.place();
    };
    const up = () => {
      mark(this.element, "data-dragging", null);
      this.svg.removeEventListener("pointermove", move);
      this.svg.removeEventListener("pointerup", up);
      this.svg.removeEventListener("pointercancel", up);
    };
    this.svg.addEventListener("pointermove", move);
    this.svg.addEventListener("pointerup", up);
    this.svg.addEventListener("pointercancel", up);
  }

  private showTip(text: string | null, at?: MouseEvent): void {
    this.tip.hidden = !text;
    if (!text || !at) return;
    this.tip.textContent = text;
    const box = this.element.getBoundingClientRect();
    const x = Math.max(0, Math.min(at.clientX - box.left + 14, box.width - 280));
    const y = at.clientY - box.top;
    this.tip.style.left = `${x}px`;
    const below = y < box.height / 2;
    this.tip.style.top = below ? `${y + 18}px` : "";
    this.tip.style.bottom = below ? "" : `${box.height - y + 10}px`;
  }
}

/** A position at which a picture does not leave more of its panel empty than it has to. */
function inside(at: number, length: number, scale: number, space: number): number {
  const slack = space - MARGIN - length * scale;
  return slack >= MARGIN ? Math.max(MARGIN, Math.min(slack, at)) : Math.min(MARGIN, Math.max(slack, at));
}

/** A position after scrolling: a picture that fits stays, a larger one shows no more of its margin than at its edges. */
function scrolled(at: number, by: number, length: number, space: number): number {
  if (by === 0 || length + 2 * MARGIN <= space) return at;
  return Math.max(space - length - MARGIN, Math.min(MARGIN, at - by));
}
