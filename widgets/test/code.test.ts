// @vitest-environment happy-dom
import { describe, expect, it } from "vitest";
import type { Code } from "../src/sections.ts";
import { recorded } from "./python.ts";
import { inPages, type Shown, show, takeAway } from "./show.ts";

function shown(change: (code: Code) => Code = (code) => code): Shown {
  const all = recorded();
  return show({ ...all, code: change(all.code), view: { ...all.view, selection: "" } });
}

const panel = (root: Element) => root.querySelector('[data-panel="code"]') as HTMLElement;
const lines = (root: Element) => [...panel(root).querySelectorAll<HTMLElement>(".pe-line")];
const chip = (root: Element, name: string) =>
  panel(root).querySelector(`[data-code="${name}"]`) as HTMLButtonElement;

inPages();

describe("the Code panel", () => {
  it("shows a chosen tab at once, and tells Python", () => {
    const { python, root } = shown();
    chip(root, "program").click();

    expect(lines(root)[0]?.textContent).toBe("program rmsnorm_linear");
    expect(python.of("look").at(-1)?.code).toEqual({ tab: "program" });
    expect(chip(root, "program").getAttribute("aria-pressed")).toBe("true");
  });

  it("selects the operator of a line by a click and by the keyboard", () => {
    const { python, root } = shown();
    chip(root, "sgraph").click();
    const line = lines(root).find((e) => e.textContent?.includes("matmul"));
    line?.click();
    expect(python.commands.at(-1)).toEqual(["select", { id: "f1.c1/k2.b2" }]);
    const list = panel(root).querySelector(".pe-listing") as HTMLElement;
    for (const key of ["ArrowDown", "Enter"])
      list.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));

    expect(python.commands.at(-1)).toEqual(["select", { id: "f1.c1/k2.b3" }]);
  });

  it("marks the lines of the selected tensor", () => {
    const { python, root } = shown();
    chip(root, "sgraph").click();
    python.tell({ view: { ...recorded().view, selection: "f1.c1/k2.b2" } });
    const marked = lines(root).filter((e) => e.getAttribute("aria-selected") === "true");

    expect(marked.map((e) => e.textContent?.trim())).toEqual(["%2 = matmul(%0, %1)"]);
  });

  it("says that a text is being generated, and why there is none", () => {
    const empty = (missing: string) => (code: Code) => ({
      ...code,
      tab: "llvm",
      tabs: code.tabs.map((t) => (t.name === "llvm" ? { ...t, lines: [], missing } : t)),
    });
    expect(panel(shown(empty("")).root).textContent).toContain("LLVM: being generated.");
    takeAway();
    expect(panel(shown(empty("no compiler is here")).root).textContent).toContain(
      "LLVM: no compiler is here.",
    );
  });

  it("compares with another graph, and marks the lines of each", () => {
    const { python, root } = shown((code) => ({
      ...code,
      tab: "sgraph",
      other: "f2.c1",
      tabs: code.tabs.map((t) => ({
        ...t,
        lines: [{ text: "same" }, { text: "old", mark: "-" as const }, { text: "new", mark: "+" as const }],
      })),
    }));
    expect(lines(root).map((e) => e.getAttribute("data-mark"))).toEqual([null, "-", "+"]);
    const other = panel(root).querySelector("select") as HTMLSelectElement;
    other.value = "";
    other.dispatchEvent(new Event("change"));

    expect(python.of("look").at(-1)?.code).toEqual({ other: "" });
  });
});
