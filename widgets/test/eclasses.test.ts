// @vitest-environment happy-dom
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { EClassesPanel } from "../src/panels/eclasses.ts";
import type { Host } from "../src/panels/panel.ts";
import type { EClasses, TermPath } from "../src/sections.ts";
import { recorded } from "./python.ts";

const PATH: TermPath = {
  start: "program.%4",
  end: "k2",
  tensors: [
    { name: "program.%4", label: "%4 = matmul", tip: "" },
    { name: "k2", label: "k2 = custom", tip: "" },
  ],
  steps: [
    { ref: "f1.c1/program.%4", before: "2 x", changed: "", after: "", replaced: "", why: "%4" },
    { ref: "f1.c1/program.%4", before: "2 ", changed: "<y>", after: " z", replaced: "x", why: "by one" },
    { ref: "f1.c1/k2", before: "", changed: "w", after: "", replaced: "2 <y> z", why: "by two" },
  ],
  step: 0,
  note: "egglog replayed these steps",
};

function shown(change: Partial<EClasses> = {}) {
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
  const panel = new EClassesPanel(host as unknown as Host);
  document.body.append(panel.element);
  const give = (more: Partial<EClasses>) => panel.update({ ...recorded().eclasses, ...change, ...more });
  give({});
  return { panel, looks, selected, give };
}

const slider = { lemma: "f1.c1/k2@", focus: ".e3", number: 2, last: 4 };
const press = (element: Element, key: string) =>
  element.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
const button = (root: Element, text: string) =>
  [...root.querySelectorAll<HTMLElement>("button")].find(
    (b) => b.textContent === text && !b.closest("[hidden]"),
  );

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  document.body.replaceChildren();
  vi.useRealTimers();
});

describe("the e-graph of a lemma", () => {
  it("is stepped by buttons, a slider and the keys [ and ], and keeps the class in focus", () => {
    const { panel, selected } = shown({ slider, mode: "egraph" });
    button(panel.element, "‹ previous")?.click();
    button(panel.element, "next ›")?.click();
    press(panel.stage.element, "]");
    const range = panel.element.querySelector("input[type=range]") as HTMLInputElement;
    range.value = "4";
    range.dispatchEvent(new Event("input"));

    expect(selected).toEqual(["f1.c1/k2@1.e3", "f1.c1/k2@3.e3", "f1.c1/k2@3.e3", "f1.c1/k2@4.e3"]);
  });

  it("is that of another lemma when one is chosen", () => {
    const statements = ["goal", "k2", "program.%4"].map((n) => ({ name: `f1.c1/${n}@0`, label: n, tip: "" }));
    const { panel, selected } = shown({ slider, statements, mode: "egraph" });
    const lemma = panel.element.querySelector("[aria-label='lemma of the e-graph']") as HTMLSelectElement;
    const before = lemma.value;
    lemma.value = "f1.c1/program.%4@0";
    lemma.dispatchEvent(new Event("change"));

    expect(before).toBe("f1.c1/k2@0");
    expect(selected).toEqual(["f1.c1/program.%4@0"]);
  });

  it("does not step past its ends", () => {
    const { panel, selected } = shown({ slider: { ...slider, number: 4 }, mode: "egraph" });
    press(panel.stage.element, "]");

    expect(selected).toEqual([]);
  });

  it("marks the nodes of an axiom, and draws more nodes", () => {
    const rules = [{ name: "mul commutes", label: "mul commutes · 3", tip: "" }];
    const { panel, looks } = shown({ slider, rules, more: "draw up to 300 e-nodes", mode: "egraph" });
    button(panel.element, "mul commutes · 3")?.click();
    button(panel.element, "draw up to 300 e-nodes")?.click();

    expect(looks).toEqual([{ egraph: { rule: "mul commutes" } }, { egraph: { more: true } }]);
  });

  it("is reached from the classes, and left again", () => {
    const { panel, selected, looks, give } = shown({ subject: "f1.c1", frame_ref: "f1.c1/goal@0" });
    (panel.element.querySelector("[data-choice=egraph]") as HTMLElement).click();
    give({ slider, mode: "egraph" });
    (panel.element.querySelector("[data-choice=classes]") as HTMLElement).click();

    expect(selected).toEqual(["f1.c1/goal@0", "f1.c1"]);
    expect(looks).toEqual([{ egraph: { mode: "egraph" } }, { egraph: { mode: "classes" } }]);
  });
});

describe("a path between two terms", () => {
  it("marks what changed in each term, as text, and names the axiom and the tensor", () => {
    const { panel, selected } = shown({ path: PATH, scene: null });
    const rows = [...panel.element.querySelectorAll(".pe-path > li")];
    rows[1]?.querySelector<HTMLElement>(".pe-link")?.click();

    expect(rows).toHaveLength(3);
    expect(rows[1]?.querySelector("mark")?.textContent).toBe("<y>");
    expect(rows[1]?.querySelector(".pe-term")?.textContent).toBe("2 <y> z");
    expect(rows[1]?.textContent).toContain("by one");
    expect(rows[0]?.getAttribute("aria-current")).toBe("step");
    expect(selected).toEqual(["f1.c1/program.%4"]);
  });

  it("is played to its end, and stops there", () => {
    const { panel, looks, give } = shown({ path: PATH, scene: null });
    button(panel.element, "play")?.click();
    for (let n = 1; n < 6; n += 1) {
      vi.advanceTimersByTime(1400);
      give({ path: { ...PATH, step: Math.min(n, 2) } });
    }

    expect(looks).toEqual([{ egraph: { step: 1 } }, { egraph: { step: 2 } }]);
    expect(button(panel.element, "play")).toBeDefined();
  });

  it("has any two tensors of the class as its ends", () => {
    const { panel, looks } = shown({ path: PATH, scene: null });
    const [start] = [...panel.element.querySelectorAll<HTMLSelectElement>(".pe-pathbox select")];
    if (!start) throw new Error("no select");
    start.value = "k2";
    start.dispatchEvent(new Event("change"));
    press(panel.stage.element, "]");

    expect(looks).toEqual([{ egraph: { start: "k2" } }, { egraph: { step: 1 } }]);
  });
});
