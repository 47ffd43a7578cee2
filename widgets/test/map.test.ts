// @vitest-environment happy-dom
import { afterEach, describe, expect, it } from "vitest";
import { MapPanel } from "../src/panels/map.ts";
import type { Host } from "../src/panels/panel.ts";
import type { Scene } from "../src/scene.ts";
import type { MapSection } from "../src/sections.ts";
import { recorded } from "./python.ts";

const row = (id: string, kind: string) =>
  ({ type: "shape", id, role: "block", kind, x: 0, y: 0, w: 90, h: 24, ref: id }) as const;
const SCENE: Scene = {
  name: "search",
  title: "search tree",
  desc: "two rows",
  width: 400,
  height: 200,
  omitted: "",
  items: [
    row("n1", "tree-row"),
    row("n2", "collapsed-row"),
    { type: "shape", id: "open#n2", role: "chip", kind: "toggle", x: 0, y: 24, w: 24, h: 24 },
  ],
};

function shown(change: Partial<MapSection> = {}) {
  const looks: unknown[] = [];
  const selected: string[] = [];
  const host = {
    look: (what: unknown) => looks.push(what),
    select: (ref: string) => selected.push(ref),
    enter: () => undefined,
    hover: () => undefined,
    command: () => undefined,
    copy: () => undefined,
    maximise: () => undefined,
  };
  const panel = new MapPanel(host as unknown as Host);
  document.body.append(panel.element);
  panel.update({ ...recorded().map, mode: "tree", scene: SCENE, ...change });
  return { panel, looks, selected };
}

const press = (element: Element, key: string) =>
  element.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));

afterEach(() => {
  document.body.replaceChildren();
  localStorage.clear();
});

describe("the pruning reasons below the map", () => {
  const head = (panel: MapPanel) => panel.element.querySelector(".pe-strip-head") as HTMLElement;
  const chart = (panel: MapPanel) => panel.element.querySelector(".pe-strip > .pe-stage") as HTMLElement;
  const separator = (panel: MapPanel) => panel.element.querySelector("[data-splitter=reasons]") as Element;

  it("are one line in a low panel, and open by a click, which is remembered", () => {
    const first = shown().panel;
    expect([head(first).getAttribute("aria-expanded"), chart(first).hidden]).toEqual(["false", true]);
    expect(head(first).textContent).toContain("expr.unreachable");

    head(first).click();
    expect([head(first).getAttribute("aria-expanded"), chart(first).hidden]).toEqual(["true", false]);
    expect(shown().panel.element.querySelector(".pe-strip-head")?.getAttribute("aria-expanded")).toBe("true");
  });

  it("are selected by a click anywhere in their row", () => {
    const { panel, selected } = shown();
    head(panel).click();
    const first = recorded().map.reasons.items.find((i) => i.type === "shape" && i.ref);
    const y = first?.type === "shape" ? first.y + 8 + first.h / 2 : 0;
    chart(panel).dispatchEvent(new MouseEvent("click", { clientX: 390, clientY: y, bubbles: true }));
    expect(selected).toEqual([first?.ref]);
  });

  it("are resized with the arrow keys, and collapse when they are too low", () => {
    const { panel } = shown();
    press(separator(panel), "ArrowUp");
    expect(chart(panel).style.height).toBe("40px");
    press(separator(panel), "ArrowDown");
    expect(chart(panel).hidden).toBe(true);
    expect(separator(panel).getAttribute("aria-valuenow")).toBe("0");
  });
});

describe("the search map", () => {
  it("offers its modes, marks the one that is shown, and asks for another", () => {
    const { panel, looks } = shown();
    const modes = [...panel.element.querySelectorAll("[data-choice]")];
    (modes.find((m) => m.getAttribute("data-choice") === "time") as HTMLElement).click();

    expect(modes.map((m) => m.textContent)).toEqual(["Icicle", "Tree", "Reasons", "Time", "Similar"]);
    expect(panel.element.querySelector("[data-choice=tree]")?.getAttribute("aria-pressed")).toBe("true");
    expect(looks).toEqual([{ map: { mode: "time" } }]);
  });

  it("expands a row by its button, which selects nothing", () => {
    const { panel, looks, selected } = shown();
    panel.element
      .querySelector('[data-id="open#n2"]')
      ?.dispatchEvent(new MouseEvent("click", { bubbles: true }));

    expect(looks).toEqual([{ map: { open: "n2" } }]);
    expect(selected).toEqual([]);
  });

  it("collapses or expands the selected row with c, and marks similar ones with s", () => {
    const { panel, looks } = shown();
    panel.select(["n1"]);
    press(panel.stage.element, "c");
    panel.select(["n2"]);
    press(panel.stage.element, "c");
    press(panel.stage.element, "s");

    expect(looks).toEqual([{ map: { close: "n1" } }, { map: { open: "n2" } }, { map: { similar: true } }]);
  });

  it("keeps the place of the button that marks similar ones, so that a selection moves nothing", () => {
    const { panel } = shown();
    const button = [...panel.element.querySelectorAll("button")].find(
      (b) => b.textContent === "mark similar",
    );
    panel.select([]);
    expect([button?.hidden, button?.disabled]).toEqual([false, true]);
    panel.select(["n1"]);
    expect([button?.hidden, button?.disabled]).toEqual([false, false]);
  });

  it("selects an interval of events by a drag, looks back to its end, and removes it", () => {
    const brush = { left: 100, right: 300, first: 0, end: 200, interval: "events 20 … 99" };
    const { panel, looks } = shown({ mode: "time", brush });
    const pointer = (target: EventTarget, type: string, x: number) =>
      target.dispatchEvent(new PointerEvent(type, { clientX: x, clientY: 50, button: 0, bubbles: true }));
    pointer(panel.stage.element, "pointerdown", 120);
    pointer(window, "pointermove", 150);
    pointer(window, "pointerup", 200);
    const chips = [...panel.element.querySelectorAll<HTMLElement>(".pe-choices .pe-chip")];
    chips.find((c) => c.textContent === "look back to its end")?.click();
    chips.find((c) => c.textContent === "events 20 … 99 ×")?.click();

    expect(looks).toEqual([{ map: { interval: [20, 99] } }, { cursor: 200 }, { map: { interval: [] } }]);
  });
});
