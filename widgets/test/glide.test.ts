// @vitest-environment happy-dom
import { afterEach, describe, expect, it, vi } from "vitest";
import { Stage } from "../src/lib/stage.ts";
import type { Item, Scene } from "../src/scene.ts";
import { box } from "./shapes.ts";

const scene = (height: number, ...items: readonly Item[]): Scene => ({
  name: "sgraph",
  title: "one graph",
  desc: "for tests",
  width: 900,
  height,
  items,
  omitted: "",
});

/** A stage of 800 × 600 px, and the first frame of every animation by item. */
function stage(): { readonly stage: Stage; readonly animated: Map<string | undefined, Keyframe> } {
  const animated = new Map<string | undefined, Keyframe>();
  SVGElement.prototype.animate = function (this: SVGElement, frames: unknown) {
    animated.set(this.dataset.id, (frames as Keyframe[])[0] as Keyframe);
    return {} as Animation;
  };
  const made = new Stage("graph", "listbox", { select() {}, enter() {}, hover() {} });
  Object.defineProperty(made.element, "clientWidth", { value: 800 });
  Object.defineProperty(made.element, "clientHeight", { value: 600 });
  made.glides = true;
  return { stage: made, animated };
}

describe("a picture of the same graph in another form", () => {
  afterEach(() => vi.restoreAllMocks());

  it("keeps the item of the click at its place, moves what stays, and fades in what is new", () => {
    const { stage: made, animated } = stage();
    made.update(scene(1000, box("kernel", 0, 300), box("x", 0, 0)));
    const placed = made.y + 300 * made.scale;
    made.anchor = "kernel";
    made.update(scene(1400, box("kernel", 0, 340), box("x", 30, 0), box("load", 0, 360)));

    expect(made.y + 340 * made.scale).toBe(placed);
    expect(animated.has("kernel")).toBe(false);
    expect(animated.get("x")?.transform).toBe("translate(-30px,40px)");
    expect(animated.get("load")).toEqual({ opacity: 0 });
  });

  it("is at its place at once for users who want no motion, and for another graph", () => {
    const { stage: made, animated } = stage();
    made.update(scene(1000, box("a", 0, 0)));
    made.update(scene(1000, box("b", 0, 0)));
    expect(animated.size).toBe(0);

    vi.spyOn(window, "matchMedia").mockReturnValue({ matches: true } as MediaQueryList);
    made.update(scene(1000, box("b", 50, 50)));
    expect(animated.size).toBe(0);
  });
});
