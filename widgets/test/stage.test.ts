// @vitest-environment happy-dom
import { describe, expect, it } from "vitest";
import { Stage } from "../src/lib/stage.ts";
import type { Scene, Shape } from "../src/scene.ts";

const SCENE: Scene = {
  name: "graph",
  title: "a graph larger than its panel",
  desc: "one block",
  width: 600,
  height: 800,
  omitted: "",
  items: [
    {
      type: "shape",
      id: "n1",
      role: "block",
      kind: "expanded",
      x: 0,
      y: 0,
      w: 90,
      h: 24,
      ref: "n1",
      tip: "n1: inputs\n3 leaves below",
    },
  ],
};

function shown() {
  const nothing = () => undefined;
  const stage = new Stage("graph", "listbox", { select: nothing, enter: nothing, hover: nothing });
  for (const [name, value] of [
    ["clientWidth", 316],
    ["clientHeight", 416],
  ] as const)
    Object.defineProperty(stage.element, name, { value });
  stage.update(SCENE);
  return stage;
}

const wheel = (stage: Stage, deltaX: number, deltaY: number) => {
  const event = new WheelEvent("wheel", { deltaX, deltaY, bubbles: true, cancelable: true });
  stage.element.dispatchEvent(event);
  return event.defaultPrevented;
};

describe("a picture that is larger than its panel", () => {
  it("starts with readable texts; fit shows all of it, then goes back", () => {
    const stage = shown();
    expect([stage.scale, stage.x, stage.y]).toEqual([1, 8, 8]);
    stage.overview();
    expect([stage.scale, stage.x, stage.y]).toEqual([0.5, 8, 8]);
    stage.update({ ...SCENE, height: 850 });
    expect(850 * stage.scale).toBeLessThanOrEqual(400);
    stage.overview();
    expect(stage.scale).toBe(1);
  });

  it("begins at its first item where its upper left part is empty, else at its corner", () => {
    const stage = shown();
    const [item] = SCENE.items;
    stage.update({ ...SCENE, title: "b", height: 810, items: [{ ...item, x: 400 }] as Scene["items"] });
    expect(stage.x).toBe(316 - 600 - 8);
    stage.update({ ...SCENE, title: "a" });
    expect(stage.x).toBe(8);
  });

  it("is fitted as a whole by the first fit after it was moved or zoomed", () => {
    const stage = shown();
    stage.overview();
    stage.zoom(3);
    stage.overview();
    expect(stage.scale).toBe(0.5);
  });

  it("scrolls in both directions with the wheel, up to its edges, where the page scrolls", () => {
    const stage = shown();
    expect([wheel(stage, 50, 0), stage.x, stage.y]).toEqual([true, -42, 8]);
    expect([wheel(stage, 0, 9999), stage.x, stage.y]).toEqual([true, -42, 416 - 800 - 8]);
    expect([wheel(stage, 9999, 0), stage.x]).toEqual([true, 316 - 600 - 8]);
    expect(wheel(stage, 10, 10)).toBe(false);
  });

  it("has one row per id in its table: the outermost frame, else the longest text", () => {
    const stage = shown();
    const item = SCENE.items[0] as Shape;
    const kernel = { ...item, id: "kernel", role: "frame" as const, ref: "%3", tip: "custom kernel %3" };
    const loop = { ...kernel, id: "loop", tip: "runs in every iteration of the loop" };
    const mark = { ...item, id: "mark", tip: "open" };
    stage.update({ ...SCENE, items: [kernel, loop, mark, { ...item, tip: "expanded" }] });
    const cells = [...stage.table().querySelectorAll("td")].map((cell) => cell.textContent);
    expect(cells).toEqual(["custom kernel %3", "expanded"]);
  });

  it("has the lines of a tooltip as clauses of its table", () => {
    expect(shown().table().querySelector("td")?.textContent).toBe("n1: inputs; 3 leaves below");
  });
});
