// @vitest-environment happy-dom
// What did not change is neither drawn nor sent again.
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { redraw, redrawList } from "../src/lib/keep.ts";
import { SizeReports } from "../src/lib/sizes.ts";
import { TableView } from "../src/lib/table.ts";
import { LineageBar } from "../src/panels/lineage.ts";
import type { Row, SearchLink, Table } from "../src/sections.ts";

const table = (refs: readonly string[], text = "same"): Table => ({
  columns: [{ key: "id", label: "id" }],
  rows: refs.map((ref): Row => ({ ref, cells: [ref === "f2" ? text : ref] })),
  omitted: "",
  empty_text: "no rows",
});

describe("a list that is drawn again", () => {
  it("keeps the element of each item whose data did not change", () => {
    const list = document.createElement("ul");
    const draw = (text: string) => Object.assign(document.createElement("li"), { textContent: text });
    redrawList(list, ["a", "b", "b", "c"], draw);
    const [a, b, , c] = list.children;
    redrawList(list, ["c", "x", "b", "a"], draw);

    expect([...list.children].map((e) => e.textContent)).toEqual(["c", "x", "b", "a"]);
    expect([list.children[0], list.children[2], list.children[3]]).toEqual([c, b, a]);
  });

  it("does not draw the same content again", () => {
    const element = document.createElement("p");
    const draw = vi.fn(() => ["text"]);
    for (const data of [{ n: 1 }, { n: 1 }, { n: 2 }]) redraw(element, data, draw);

    expect(draw).toHaveBeenCalledTimes(2);
    expect(element.textContent).toBe("text");
  });

  it("keeps the rows of a table, and numbers them again", () => {
    const view = new TableView("families", { select: () => {}, hover: () => {} });
    const rows = () => [...view.element.querySelectorAll("tr[data-ref]")];
    view.update(table(["f1", "f2", "f3"]));
    const before = rows();
    view.update(table(["f0", "f1", "f2", "f3"], "changed"));
    const after = rows();

    expect([after[1], after[3]]).toEqual([before[0], before[2]]);
    expect(after[2]).not.toBe(before[1]);
    expect(after.map((row) => row.getAttribute("aria-rowindex"))).toEqual(["2", "3", "4", "5"]);
    view.update(table([]));
    expect(view.element.textContent).toContain("no rows");
  });

  it("keeps the button of a search while the state of another one changes", () => {
    const shown = vi.fn();
    const bar = new LineageBar(shown, () => {});
    const link = (key: string, tip: string, current = false): SearchLink => ({
      key,
      label: key,
      tip,
      current,
    });
    const update = (state: string) =>
      bar.update({
        path: [link("s1", "finished"), link("s2", state, true)],
        forks: [],
        fork_at: 0,
        status: "",
      });
    update("paused");
    const button = bar.element.querySelector("button");
    update("running");

    expect(bar.element.querySelector("button")).toBe(button);
    button?.click();
    expect(shown).toHaveBeenCalledWith({ search: "s1" });
  });
});

describe("the sizes that are reported", () => {
  const panel = { clientWidth: 1400, clientHeight: 820 };
  let width = 400;
  let reported: number[] = [];
  let reports: SizeReports;
  const settle = () => {
    reports.measureAgain();
    vi.advanceTimersByTime(200);
  };
  beforeEach(() => {
    vi.useFakeTimers();
    Object.assign(panel, { clientWidth: 1400 });
    width = 400;
    reported = [];
    reports = new SizeReports(
      () => panel as Element,
      () => [width],
      ([px = 0]) => reported.push(px),
    );
  });
  afterEach(() => {
    reports.close();
    vi.useRealTimers();
  });

  it("end, also if every new picture changes the size", () => {
    for (let n = 0; n < 20; n += 1) {
      width = n % 2 === 0 ? 400 : 385;
      settle();
    }

    expect(reported).toEqual([400, 385]);
  });

  it("follow the user and the size of the widget", () => {
    settle();
    width = 500;
    settle();
    width = 400;
    settle();
    expect(reported).toEqual([400, 500]);
    window.dispatchEvent(new Event("pointerup"));
    vi.advanceTimersByTime(200);
    expect(reported).toEqual([400, 500, 400]);
    panel.clientWidth = 1700;
    width = 500;
    settle();
    expect(reported).toEqual([400, 500, 400, 500]);
  });

  it("are sent once they no longer change, and if they changed by enough", () => {
    for (width of [410, 420, 430]) {
      reports.measureAgain();
      vi.advanceTimersByTime(50);
    }
    vi.advanceTimersByTime(200);
    width = 434;
    settle();

    expect(reported).toEqual([430]);
  });
});
