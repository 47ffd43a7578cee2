// @vitest-environment happy-dom
import { afterEach, describe, expect, it } from "vitest";
import type { Host } from "../src/panels/panel.ts";
import { TuningPanel } from "../src/panels/tuning.ts";
import type { BrushAxis, Tuning } from "../src/sections.ts";
import { recorded } from "./python.ts";

const AXIS: BrushAxis = {
  name: "gx",
  x: 100,
  values: [2, 4, 8, 16],
  texts: ["2", "4", "8", "16"],
  ys: [200, 150, 100, 50],
  low: 0,
  high: 3,
};

function shown(change: Partial<Tuning> = {}) {
  const looks: unknown[] = [];
  const commands: unknown[] = [];
  const host = {
    look: (what: unknown) => looks.push(what),
    command: (name: string, args: unknown) => commands.push([name, args]),
    select: () => undefined,
    enter: () => undefined,
    hover: () => undefined,
    copy: () => undefined,
    maximise: () => undefined,
  };
  const panel = new TuningPanel(host as unknown as Host);
  document.body.append(panel.element);
  panel.update({ ...recorded().tuning, mode: "parallel", axes: [AXIS], ...change });
  return { panel, looks, commands };
}

function pointer(target: EventTarget, type: string, x: number, y: number): void {
  target.dispatchEvent(new PointerEvent(type, { clientX: x, clientY: y, button: 0, bubbles: true }));
}

afterEach(() => document.body.replaceChildren());

describe("the tuning panel", () => {
  it("asks for the chart and the number of trials that are chosen", () => {
    const { panel, looks } = shown();
    panel.element.querySelector<HTMLElement>('[data-choice="roofline"]')?.click();
    const tops = panel.element.querySelector("select") as HTMLSelectElement;
    tops.value = "10";
    tops.dispatchEvent(new Event("change"));

    expect(panel.element.querySelector('[aria-pressed="true"]')?.textContent).toBe("Parameters");
    expect(looks).toEqual([{ tuning: { mode: "roofline" } }, { tuning: { top: 10 } }]);
  });

  it("selects the values that a drag along an axis covers", () => {
    const { panel, looks } = shown();
    pointer(panel.stage.element, "pointerdown", 104, 160);
    pointer(window, "pointermove", 104, 120);
    pointer(window, "pointerup", 104, 96);

    expect(looks).toEqual([{ tuning: { brush: ["gx", 4, 8] } }]);
  });

  it("moves the end whose handle is dragged, to the value that is nearest", () => {
    const { panel, looks } = shown();
    const handle = panel.element.querySelector('[data-handle="gx/high"]') as Element;
    const [low = 0, middle = 0] = AXIS.ys;
    pointer(handle, "pointerdown", AXIS.x, (AXIS.ys.at(-1) ?? 0) - 8);
    pointer(window, "pointermove", AXIS.x, low - 30);
    pointer(window, "pointerup", AXIS.x, middle + 3);

    expect(looks).toEqual([{ tuning: { brush: ["gx", AXIS.values[0], AXIS.values[1]] } }]);
  });

  it("leaves a press without a drag, and a drag beside the axes, to the picture", () => {
    const { panel, looks } = shown();
    pointer(panel.stage.element, "pointerdown", 100, 160);
    pointer(window, "pointerup", 100, 160);
    pointer(panel.stage.element, "pointerdown", 300, 160);
    pointer(window, "pointermove", 300, 60);
    pointer(window, "pointerup", 300, 60);

    expect(looks).toEqual([]);
  });

  it("moves a handle by one value with an arrow key, and removes the interval with Delete", () => {
    const { panel, looks } = shown({ axes: [{ ...AXIS, low: 1 }] });
    const [low, high] = [...panel.element.querySelectorAll('[role="slider"]')];
    const press = (element: Element | undefined, key: string) =>
      element?.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
    press(low, "ArrowUp");
    press(high, "ArrowDown");
    press(low, "ArrowDown");
    press(high, "Delete");

    expect(low?.getAttribute("aria-label")).toBe("gx, least value");
    expect(low?.getAttribute("aria-valuetext")).toBe("4");
    expect(looks.map((l) => (l as { tuning: { brush: unknown } }).tuning.brush)).toEqual([
      ["gx", 8, 16],
      ["gx", 4, 8],
      ["gx"],
      ["gx"],
    ]);
  });

  it("restricts tuning to an interval with one click, and removes the interval with another", () => {
    const restrict = {
      label: "Tune only gx 4 … 8",
      command: "restrict",
      args: { parameter: "gx", low: 4, high: 8 },
      python: "sess.restrict(parameter='gx', low=4, high=8)",
      description: "",
      enabled: true,
    };
    const { panel, looks, commands } = shown({
      brush: [
        { name: "gx", text: "gx 4 … 8", restrict },
        { name: "time", text: "time 1 ms", restrict: null },
      ],
    });
    panel.element.querySelector<HTMLElement>('[data-command="restrict"]')?.click();
    panel.element.querySelector<HTMLElement>('[aria-label="remove the interval gx 4 … 8"]')?.click();

    expect(commands).toEqual([["restrict", restrict.args]]);
    expect(looks).toEqual([{ tuning: { brush: ["gx"] } }]);
    expect(panel.element.querySelectorAll('[data-command="restrict"]')).toHaveLength(1);
  });

  it("has no choice of trials where there is one table only, as in a report", () => {
    const choice = (tops: Tuning["tops"]) =>
      shown({ tops }).panel.element.querySelector<HTMLSelectElement>('[aria-label="trials in the table"]');

    expect(choice(recorded().tuning.tops)?.hidden).toBe(false);
    expect(choice([])?.hidden).toBe(true);
  });
});
