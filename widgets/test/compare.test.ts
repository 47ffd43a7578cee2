// @vitest-environment happy-dom
import { describe, expect, it } from "vitest";
import type { CompareSection, Sections } from "../src/sections.ts";
import { type FakeModel, recorded } from "./python.ts";
import { inPages, type Shown, show } from "./show.ts";

const shown = (sections: Partial<Sections>, traits: Record<string, unknown> = {}): Shown =>
  show(sections, { wide: 0, traits });

function click(element: Element | null | undefined): void {
  if (!element) throw new Error("there is nothing to click");
  element.dispatchEvent(new MouseEvent("click", { bubbles: true }));
}

const byText = (root: Element, selector: string, text: string) =>
  [...root.querySelectorAll<HTMLElement>(selector)].find((e) => e.textContent?.includes(text));
const last = (python: FakeModel) => python.sent.at(-1);
const compare = (): CompareSection => recorded().compare;

inPages();

describe("the window of a comparison", () => {
  const window_ = (data: Partial<CompareSection> = {}) =>
    shown({ compare: { ...compare(), ...data } }, { layout_name: "compare" });

  it("shows both searches, and has no form and no commands", () => {
    const { root } = window_();
    const heads = [...root.querySelectorAll(".pe-compare-sides h3")].map((e) => e.textContent);

    expect(heads).toEqual(["A: rmsnorm_linear", "B: rmsnorm_linear"]);
    expect(root.querySelector(".pe-compare-form")).toBeNull();
    expect(root.querySelector(".pe-transport")).toBeNull();
    expect(root.textContent).toContain("First difference");
  });

  it("selects a step of the map, a row and an event in both searches", () => {
    const { python, root } = window_();
    const marked = compare().marked;
    expect(root.querySelector(".pe-compare-tables tr[aria-selected=true]")?.getAttribute("data-ref")).toBe(
      marked,
    );
    expect(root.querySelector(`.item.selected[data-ref="${marked}"]`)).not.toBeNull();

    click(root.querySelector(".pe-compare-tables tr[data-ref]"));
    expect(last(python)).toMatchObject({ kind: "look", compare: { select: compare().steps?.rows[0]?.ref } });
    click(root.querySelector(".item[data-ref]"));
    expect(last(python)).toMatchObject({
      kind: "look",
      compare: { select: expect.stringMatching(/^m\d+$/) },
    });
    click(root.querySelector(".pe-first button"));
    expect(last(python)).toMatchObject({ kind: "look", compare: { select: expect.stringMatching(/^a:/) } });
  });

  it("selects from the inspector of one search in both", () => {
    const { python, root } = window_();
    click(root.querySelectorAll(".pe-compare-sides .pe-panel")[1]?.querySelector("button.pe-chip"));

    expect(last(python)).toMatchObject({ kind: "look", compare: { select: expect.stringMatching(/^b:/) } });
  });

  it("folds and unfolds a kind of difference", () => {
    const { python, root } = window_();
    const chosen = compare().kinds.filter((kind) => kind.shown);
    click(byText(root, ".pe-compare-tools button", "only in A"));
    expect(last(python)).toMatchObject({
      compare: { kinds: chosen.filter((k) => k.key !== "only A").map((k) => k.key) },
    });
    click(byText(root, ".pe-compare-tools button", "in both"));
    expect(last(python)).toMatchObject({ compare: { kinds: [...chosen.map((k) => k.key), "same"] } });
  });

  it("finds in the map and in the table", () => {
    const { root } = window_();
    const find = root.querySelector<HTMLInputElement>("[aria-label='find in both searches']");
    if (!find) throw new Error("no field");
    find.value = "no such operator";
    find.dispatchEvent(new Event("input"));

    expect(root.querySelectorAll(".pe-compare-tables tr[data-ref]").length).toBe(0);
    expect(root.querySelectorAll(".item.dimmed").length).toBeGreaterThan(0);
    expect(root.textContent).toContain("0 in the map, 0 in the table");
  });

  it("says what a comparison shows, and with what one can compare, before there is one", () => {
    const none = { ...compare(), scene: null, status: "" };
    const { python, root } = shown({ ...recorded(), compare: { ...none, choices: [["s2", "other (s2)"]] } });
    const how = root.querySelector(".pe-compare-empty");
    expect(how?.hasAttribute("hidden")).toBe(false);
    expect(how?.textContent).toContain("another search of this kernel (in the list)");
    python.tell({ compare: { ...none, status: "Comparing with s2 …" } });
    expect(how?.hasAttribute("hidden")).toBe(true);
  });

  it("walks the map with the arrow keys and zooms with Enter", () => {
    const { python, root } = window_();
    const map = root.querySelector("[data-stage=merged]");
    map?.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowUp", bubbles: true, cancelable: true }));
    expect(last(python)).toMatchObject({ compare: { select: expect.stringMatching(/^m\d+$/) } });
    map?.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", bubbles: true, cancelable: true }));
    expect(last(python)).toMatchObject({ compare: { root: compare().marked } });
  });

  it("shows names as text", () => {
    const hostile = "<img src=x onerror=alert(1)>";
    const { root } = window_({
      summary: hostile,
      path: hostile,
      first: [{ label: hostile, text: hostile, ref: "a:p1" }],
      status: hostile,
    });

    expect(root.querySelector("img")).toBeNull();
    expect(root.textContent).toContain(hostile);
  });
});

describe("the Compare tab", () => {
  it("compares with a file, with another search, and with the parent", () => {
    const { python, root } = shown(recorded());
    const form = root.querySelector<HTMLFormElement>(".pe-compare-form");
    const file = root.querySelector<HTMLInputElement>("[aria-label='path of a saved search']");
    if (!form || !file) throw new Error("no form");
    form.dispatchEvent(new Event("submit", { cancelable: true }));
    expect(last(python)).toMatchObject({ kind: "command", name: "compare", args: { id: "s2" } });
    file.value = " run.prism ";
    form.dispatchEvent(new Event("submit", { cancelable: true }));
    expect(last(python)).toMatchObject({ name: "compare", args: { id: "run.prism" } });
    click(byText(form, "button", "parent"));
    expect(last(python)).toMatchObject({ name: "compare", args: { id: "s1" } });
  });

  it("says why a file could not be compared, and shows no old comparison", () => {
    const all = recorded();
    const failed = { ...all.compare, scene: null, status: "no file 'x'" };
    const { root } = shown({ ...all, compare: failed });

    expect(root.querySelector(".pe-compare-status")?.textContent).toBe("no file 'x'");
    expect(root.querySelector<HTMLElement>(".pe-compare")?.hidden).toBe(true);
  });
});

describe("forks", () => {
  it("shows the path to a fork; one click shows another search", () => {
    const { python, root } = shown(recorded());
    const bar = root.querySelector(".pe-lineage");
    expect(bar?.querySelector("[aria-current]")?.textContent).toBe("fork 1 at event 12");
    click(bar?.querySelector("[aria-current]"));
    expect(python.sent.filter((m) => "search" in m)).toEqual([]);
    click(byText(root, ".pe-lineage button", "rmsnorm_linear"));
    expect(last(python)).toMatchObject({ kind: "look", search: "s1" });
  });

  it("forks from the moment that is shown", () => {
    const all = recorded();
    const { python, root } = shown({
      ...all,
      transport: { ...all.transport, cursor: 7, past_notice: "Earlier state, event 7." },
    });
    click(byText(root, ".pe-banner button", "Fork from here"));

    expect(last(python)).toMatchObject({ kind: "command", name: "fork", args: { at: 7 } });
  });

  it("has no button where the search cannot be forked", () => {
    const all = recorded();
    const { root } = shown({
      ...all,
      lineage: { ...all.lineage, fork_at: 0 },
      transport: { ...all.transport, cursor: 7, past_notice: "Earlier state, event 7." },
    });

    expect(byText(root, ".pe-banner button", "Fork from here")).toBeUndefined();
  });
});
