// Draw a Scene as SVG, by the same rules as drawing/svg.py. The geometry is computed in Python.
//
// An item that did not change keeps its element in the next drawing, so selection, focus and hover survive an update,
// and a step of the search changes only the elements that it must.

import {
  CORNERS,
  type Edge,
  type Item,
  PATTERN_OF,
  PATTERNS,
  type Scene,
  type Shape,
  type Text,
} from "../scene.ts";
import { fresh, mark, s } from "./dom.ts";

/** Length of an arrow head. */
const HEAD_PX = 8;
const FAR = 1e7;

interface Kept {
  readonly text: string;
  readonly element: SVGGElement;
}

/** One scene in one group; `update` draws the items that changed. */
export class Drawing {
  readonly element = s("g", { class: "drawing" });
  readonly patterns = s("defs");
  /** The shapes that can be selected, in drawing order. */
  targets: readonly Shape[] = [];
  private readonly prefix = fresh("pattern");
  private kept = new Map<string, Kept>();
  private byRef = new Map<string, SVGGElement[]>();

  constructor(private readonly role: "option" | "treeitem") {
    for (const [name, [side, path, ink]] of Object.entries(PATTERNS)) {
      this.patterns.append(
        s(
          "pattern",
          { id: `${this.prefix}-${name}`, width: side, height: side, patternUnits: "userSpaceOnUse" },
          s("path", { class: ink, d: path }),
        ),
      );
    }
  }

  update(scene: Scene): void {
    const kept = new Map<string, Kept>();
    const byRef = new Map<string, SVGGElement[]>();
    const elements: SVGGElement[] = [];
    for (const item of scene.items) {
      const text = JSON.stringify(item);
      const old = this.kept.get(item.id);
      const element = old?.text === text ? old.element : this.draw(item);
      kept.set(item.id, { text, element });
      elements.push(element);
      if (item.ref) byRef.set(item.ref, [...(byRef.get(item.ref) ?? []), element]);
    }
    const same =
      elements.length === this.element.childNodes.length &&
      elements.every((element, i) => this.element.childNodes[i] === element);
    if (!same) this.element.replaceChildren(...elements);
    this.kept = kept;
    this.byRef = byRef;
    this.targets = scene.items.filter((i): i is Shape => i.type === "shape" && Boolean(i.ref));
  }

  /** Give the items of these refs, and only those, a class. */
  highlight(name: "selected" | "related" | "hovered" | "filtered", refs: readonly string[]): void {
    const chosen = new Set(refs.flatMap((ref) => this.byRef.get(ref) ?? []));
    for (const element of this.element.querySelectorAll(`.item.${name}`)) {
      if (!chosen.has(element as SVGGElement)) element.classList.remove(name);
    }
    for (const element of chosen) element.classList.add(name);
    if (name === "selected") {
      for (const element of this.element.querySelectorAll("[aria-selected=true]")) {
        if (!chosen.has(element as SVGGElement)) element.setAttribute("aria-selected", "false");
      }
      for (const element of chosen)
        if (element.hasAttribute("aria-selected")) mark(element, "aria-selected", "true");
    }
  }

  /** Dim what does not match a search; null for no search. Gives how many match. */
  find(matches: ((item: Item) => boolean) | null, scene: Scene): number {
    let found = 0;
    for (const item of scene.items) {
      const hit = matches === null || !item.ref || matches(item);
      if (matches !== null && item.ref && hit) found += 1;
      this.kept.get(item.id)?.element.classList.toggle("dimmed", !hit);
    }
    return found;
  }

  elementOf(id: string): SVGGElement | null {
    return this.kept.get(id)?.element ?? null;
  }

  /** The element id of an item, for aria-activedescendant. */
  elementId(id: string): string | null {
    return this.elementOf(id)?.id ?? null;
  }

  private draw(item: Item): SVGGElement {
    const known = /^[\w-]+$/.test(item.kind) ? item.kind : "plain";
    const which = item.type === "shape" ? `shape role-${item.role}` : item.closed ? "edge band" : "edge";
    const group = s("g", { class: `item ${which} k-${known}`, "data-id": item.id });
    if (item.ref) {
      group.id = fresh("item");
      mark(group, "data-ref", item.ref);
      const name = nameOf(item);
      // A line without a text leads to an item that has a name of its own.
      if (name === "") mark(group, "aria-hidden", "true");
      else {
        mark(group, "role", this.role);
        mark(group, "aria-selected", "false");
        mark(group, "aria-label", name);
      }
    }
    if (item.tip) mark(group, "data-tip", item.tip);
    if (item.type === "shape" && item.action) mark(group, "data-action", item.action);
    if (item.type === "shape") this.shape(group, item);
    else this.edge(group, item);
    // The spaces separate the texts for screen readers; SVG does not draw them.
    for (const text of item.texts ?? []) group.append(drawText(text), " ");
    return group;
  }

  private shape(group: SVGGElement, shape: Shape): void {
    const body = outline(shape);
    if (body === null) return;
    mark(body, "class", "body");
    group.append(body);
    const pattern = PATTERN_OF[shape.kind];
    const over = pattern ? outline(shape) : null;
    if (over === null) return;
    mark(over, "class", "pattern");
    mark(over, "fill", `url(#${this.prefix}-${pattern})`);
    group.append(over);
  }

  private edge(group: SVGGElement, edge: Edge): void {
    const points = edge.points.map(([x, y]) => [number(x), number(y)] as const);
    const tip = points.at(-1);
    const before = points.at(-2);
    let head: SVGElement | null = null;
    if (edge.arrow && tip && before) {
      const length = Math.hypot(tip[0] - before[0], tip[1] - before[1]) || 1;
      const ux = (tip[0] - before[0]) / length;
      const uy = (tip[1] - before[1]) / length;
      const bx = tip[0] - ux * HEAD_PX;
      const by = tip[1] - uy * HEAD_PX;
      const side = HEAD_PX * 0.45;
      points[points.length - 1] = [tip[0] - ux * HEAD_PX * 0.6, tip[1] - uy * HEAD_PX * 0.6];
      const corners = [tip, [bx - uy * side, by + ux * side], [bx + uy * side, by - ux * side]];
      head = s("polygon", { class: "head", points: corners.map((p) => p.join(",")).join(" ") });
    }
    const [first, ...rest] = points.map((p) => p.join(","));
    if (first === undefined) return;
    const d = `M${first} ${edge.curve === "bezier" ? "C" : "L"}${rest.join(" ")}${edge.closed ? " Z" : ""}`;
    group.append(s("path", { class: "body", d }));
    if (edge.ref) group.append(s("path", { class: "reach", d }));
    if (head) group.append(head);
  }
}

/** The name for screen readers: the texts that are seen, and the tooltip. */
function nameOf(item: Item): string {
  const seen = (item.texts ?? []).map((t) => t.text).join(" ");
  if (item.type === "edge" && seen === "" && !item.tip) return "";
  const tip = item.tip && item.tip !== seen ? item.tip : "";
  return [seen, tip].filter(Boolean).join(": ") || (item.ref ?? "");
}

function drawText(text: Text): SVGTextElement {
  const kind = /^[\w-]+$/.test(text.kind ?? "label") ? (text.kind ?? "label") : "label";
  return s(
    "text",
    { class: `t-${kind}`, x: number(text.x), y: number(text.y), "text-anchor": text.anchor ?? "middle" },
    text.text,
  );
}

function outline(shape: Shape): SVGElement | null {
  const [x, y, w, h] = [number(shape.x), number(shape.y), number(shape.w), number(shape.h)];
  const form = shape.outline ?? "rect";
  switch (form) {
    case "none":
      return null;
    case "rect":
    case "pill": {
      const rx = form === "pill" ? Math.min(w, h) / 2 : shape.role === "frame" ? 10 : Math.min(4, w / 3);
      return s("rect", { x, y, width: w, height: h, rx });
    }
    case "circle":
      return s("ellipse", { cx: x + w / 2, cy: y + h / 2, rx: w / 2, ry: h / 2 });
    case "cross":
      return s("path", { d: `M${x},${y} L${x + w},${y + h} M${x + w},${y} L${x},${y + h}` });
    default: {
      const corners = CORNERS[form] ?? [];
      return s("polygon", { points: corners.map(([u, v]) => `${x + u * w},${y + v * h}`).join(" ") });
    }
  }
}

/** A number that SVG accepts. */
function number(value: number): number {
  return Number.isFinite(value) ? Math.max(-FAR, Math.min(FAR, value)) : 0;
}

export type Direction = "left" | "right" | "up" | "down";

/** The nearest shape in a direction; a distance to the side counts three times. */
export function neighbour(from: Shape, shapes: readonly Shape[], way: Direction): Shape | null {
  const sign = way === "left" || way === "up" ? -1 : 1;
  const level = way === "left" || way === "right";
  let best: Shape | null = null;
  let least = Number.POSITIVE_INFINITY;
  for (const shape of shapes) {
    if (shape.ref === from.ref) continue;
    const [near, far] = level ? [from.x, from.x + from.w] : [from.y, from.y + from.h];
    const [start, end] = level ? [shape.x, shape.x + shape.w] : [shape.y, shape.y + shape.h];
    const forward = sign > 0 ? start - far : near - end;
    if (forward < -1) continue;
    const sideways = level
      ? gap(from.y, from.y + from.h, shape.y, shape.y + shape.h)
      : gap(from.x, from.x + from.w, shape.x, shape.x + shape.w);
    const middles = level
      ? Math.abs(from.y + from.h / 2 - shape.y - shape.h / 2)
      : Math.abs(from.x + from.w / 2 - shape.x - shape.w / 2);
    const distance = forward + 3 * sideways + 0.05 * middles;
    if (distance < least) {
      least = distance;
      best = shape;
    }
  }
  return best;
}

function gap(a0: number, a1: number, b0: number, b1: number): number {
  return Math.max(0, b0 - a1, a0 - b1);
}
