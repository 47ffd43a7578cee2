// @vitest-environment happy-dom
import { beforeEach, describe, expect, it } from "vitest";
import { type Frames, sceneOf, showFrames } from "../src/frames.ts";
import type { Item } from "../src/scene.ts";

const block = (id: string, tip: string): Item => ({
  type: "shape",
  id,
  role: "block",
  kind: "expanded",
  x: 0,
  y: 0,
  w: 90,
  h: 24,
  ref: id,
  tip,
});
const scene = (title: string, items: readonly number[]) => ({
  ...{ name: "search", title, desc: "blocks", width: 300, height: 120, omitted: "" },
  items,
});
const FRAMES: Frames = {
  sliders: [
    { name: "rule", texts: ["on", "off"], start: 1 },
    { name: "step", texts: ["0", "1"], start: 0 },
  ],
  items: [
    block("n1", "the first"),
    block("n2", "the second\nof two"),
    block("c/goal@0.e1", "a class"),
    block("c/goal@1.e1", "a larger class"),
  ],
  scenes: [scene("on, 0", [0]), scene("on, 1", [0, 1]), scene("off, 0", [1]), scene("off, 1", [1, 0])],
};

let place: HTMLElement;
const drawn = () => [...place.querySelectorAll(".item")].map((item) => item.getAttribute("data-id"));
const said = () => place.querySelector(".pe-said")?.textContent;
const inputs = () => [...place.querySelectorAll("input")];

function move(slider: number, to: number): void {
  const input = inputs()[slider] as HTMLInputElement;
  input.value = String(to);
  input.dispatchEvent(new Event("input"));
}

const press = (on: Element | null, key: string): boolean =>
  !on?.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));

describe("a picture with sliders", () => {
  beforeEach(() => {
    place = document.createElement("figure");
    place.append("what is shown without scripts");
    document.body.replaceChildren(place);
    showFrames(place, FRAMES);
  });

  it("begins at the positions that Python chose, in place of the picture without scripts", () => {
    expect(drawn()).toEqual(["n2"]);
    expect(said()).toBe("off, 0");
    expect(inputs().map((input) => input.getAttribute("aria-valuetext"))).toEqual(["off", "0"]);
    expect(place.textContent).not.toContain("without scripts");
  });

  it("shows the scene of every combination; the last slider changes fastest", () => {
    for (let at = 0; at < 4; at += 1) {
      move(0, at >> 1);
      move(1, at & 1);
      expect(drawn()).toEqual(sceneOf(FRAMES, at).items.map(({ id }) => id));
      expect(said()).toBe(FRAMES.scenes[at]?.title);
    }
    expect([...place.querySelectorAll("output")].map((output) => output.textContent)).toEqual(["off", "1"]);
  });

  it("keeps the selection from scene to scene, and says what it is", () => {
    place.querySelector("[data-ref=n2]")?.dispatchEvent(new MouseEvent("click", { bubbles: true }));
    expect(said()).toBe("the second; of two");
    move(1, 1);
    expect(place.querySelector(".item.selected")?.getAttribute("data-ref")).toBe("n2");
    move(0, 0);
    move(1, 0);
    expect(said()).toBe("on, 0");
  });

  it("keeps a class of an e-graph selected, although its ref has the number of the frame", () => {
    showFrames(place, {
      ...FRAMES,
      sliders: [{ name: "step", texts: ["0", "1"], start: 0 }],
      scenes: [scene("before", [2]), scene("after", [3, 0])],
    });
    place
      .querySelector("[data-ref='c/goal@0.e1']")
      ?.dispatchEvent(new MouseEvent("click", { bubbles: true }));
    move(0, 1);
    expect(said()).toBe("a larger class");
    expect(
      [...place.querySelectorAll(".item.selected")].map((item) => item.getAttribute("data-ref")),
    ).toEqual(["c/goal@1.e1"]);
  });

  it("has the keys of the explorer's pictures, and leaves those of a slider to it", () => {
    const svg = place.querySelector("[data-stage]");
    expect(press(svg, "ArrowRight")).toBe(true);
    expect(said()).toBe("the second; of two");
    expect(press(svg, "Escape")).toBe(true);
    expect(said()).toBe("off, 0");
    expect(press(inputs()[0] ?? null, "ArrowRight")).toBe(false);
    expect(press(svg, "x")).toBe(false);
    const kept = () => place.querySelector(".prism-frames")?.hasAttribute("data-lm-suppress-shortcuts");
    expect(kept()).toBe(true);
    press(svg, "Shift");
    expect(kept()).toBe(false);
    svg?.dispatchEvent(new KeyboardEvent("keyup", { key: "Shift", bubbles: true }));
    expect(kept()).toBe(true);
  });

  it("is a table on request, of the scene that is shown", () => {
    const rows = () => [...place.querySelectorAll("td")].map((cell) => cell.textContent);
    press(place.querySelector("[data-stage]"), "t");
    expect(rows()).toEqual(["the second; of two"]);
    move(0, 0);
    expect(rows()).toEqual(["the first"]);
  });
});
