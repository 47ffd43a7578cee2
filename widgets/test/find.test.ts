// @vitest-environment happy-dom
import { describe, expect, it, vi } from "vitest";
import { DRAWN_ROWS } from "../src/lib/table.ts";
import type { FindSection, Sections } from "../src/sections.ts";
import { recorded } from "./python.ts";
import { inPages, show } from "./show.ts";

const field = (root: Element) =>
  root.querySelector<HTMLInputElement>(".pe-foot .pe-search") as HTMLInputElement;
const count = (root: Element) => root.querySelector(".pe-found")?.textContent;
const visible = (root: Element, name: string) =>
  !root.querySelector(`[data-panel="${name}"]`)?.hasAttribute("hidden");

function type(root: Element, text: string): void {
  field(root).dispatchEvent(new Event("focus"));
  field(root).value = text;
  field(root).dispatchEvent(new Event("input", { bubbles: true }));
}

function enter(root: Element, shiftKey = false): void {
  field(root).dispatchEvent(
    new KeyboardEvent("keydown", { key: "Enter", shiftKey, bubbles: true, cancelable: true }),
  );
}

function answer(text: string, position: number, panel: string, ref: string, seq = 0): { find: FindSection } {
  const item = position ? { ref, kind: "pruned subtree", panel, part: "", text: `… ${text} …`, seq } : null;
  const said = position ? `${position} of 41` : "41 found";
  const note = "";
  return {
    find: { text, total: 41, position, count: said, kinds: [["node", "41"]], item, note, request: 0 },
  };
}

inPages();

describe("the find field", () => {
  it("says what can be found where nothing was", () => {
    const { python, root } = show();
    type(root, "softmax");
    const note = "Nothing has this text. The program was traced to max, sub, exp.";
    const nothing = { text: "softmax", total: 0, count: "0 found", kinds: [] as [string, string][], note };
    python.tell({ find: { ...answer("softmax", 0, "", "").find, ...nothing } });
    vi.advanceTimersByTime(2000);

    expect(root.querySelector(".pe-status")?.textContent).toBe(note);
  });

  it("follows the text that Python was told to find, once", () => {
    const { python, root } = show();
    python.tell({ find: { ...answer("smem", 1, "map", "n2").find, request: 1 } as FindSection });
    expect([field(root).value, count(root)]).toEqual(["smem", "1 of 41"]);
    expect(python.commands.at(-1)).toEqual(["select", { id: "n2" }]);

    type(root, "other");
    python.tell({ find: { ...answer("smem", 1, "map", "n2").find, request: 1 } as FindSection });
    expect(field(root).value).toBe("other");
  });

  it("shows a row of a comparison in its table, and selects it in both searches", () => {
    const { python, root } = show();
    type(root, "matmul");
    python.tell(answer("matmul", 0, "", ""));
    enter(root);
    const { find } = answer("matmul", 1, "compare", "m4");
    const item = find.item && { ...find.item, kind: "compared family", part: "families" };
    python.tell({ find: { ...find, item } });
    expect(python.of("look")).toContainEqual({ kind: "look", compare: { select: "m4" } });
    expect(visible(root, "compare")).toBe(true);
    expect(root.querySelector('.pe-compare-tables [aria-pressed="true"]')?.textContent).toBe("Families");
  });

  it("asks Python at each keystroke and shows how many were found", () => {
    const { python, root } = show();
    type(root, "smem");
    expect(python.of("look").at(-1)).toEqual({ kind: "look", find: { text: "smem", position: 0 } });
    python.tell(answer("smem", 0, "", ""));
    expect(count(root)).toBe("41 found");
    expect(root.querySelector(".pe-found")?.getAttribute("title")).toBe("node: 41");
  });

  it("selects the next match and shows its panel", () => {
    const { python, root } = show();
    type(root, "smem");
    python.tell(answer("smem", 0, "", ""));
    enter(root);
    expect(python.of("look").at(-1)).toEqual({ kind: "look", find: { text: "smem", position: 1 } });
    python.tell(answer("smem", 1, "tuning", "u2"));
    expect(count(root)).toBe("1 of 41");
    expect(python.commands.at(-1)).toEqual(["select", { id: "u2" }]);
    expect(visible(root, "tuning")).toBe(true);
    expect(document.activeElement).not.toBe(root);

    enter(root, true);
    expect(python.of("look").at(-1)).toEqual({ kind: "look", find: { text: "smem", position: 41 } });
  });

  it("does not move the selection when the search goes on", () => {
    const { python, root } = show();
    type(root, "smem");
    enter(root);
    python.tell(answer("smem", 1, "tuning", "u2"));
    const before = python.commands.length;
    python.tell({ find: { ...answer("smem", 1, "tuning", "u2").find, total: 42, count: "1 of 42" } });
    expect(python.commands).toHaveLength(before);
    expect(count(root)).toBe("1 of 42");
  });

  it("ignores an answer to an earlier text", () => {
    const { python, root } = show();
    type(root, "smem");
    python.tell(answer("smem", 0, "", ""));
    type(root, "matmul");
    enter(root);
    python.tell(answer("smem", 1, "tuning", "u2"));
    expect(python.commands).toEqual([]);
    expect(count(root)).toBe("…");
  });

  it("shows a row of a long table that is not drawn", () => {
    const all = recorded();
    const rows = Array.from({ length: 5_000 }, (_, n) => ({ ref: `u${n}`, cells: [`u${n}`] }));
    const trials = { columns: [{ key: "trial", label: "trial" }], rows, empty_text: "", omitted: "" };
    const { python, root } = show({ ...all, tuning: { ...all.tuning, trials } as Sections["tuning"] });
    type(root, "u4321");
    enter(root);
    python.tell(answer("u4321", 1, "tuning", "u4321"));
    const row = root.querySelector('[data-panel="tuning"] tr.found');
    expect(row?.getAttribute("data-ref")).toBe("u4321");
    expect(root.querySelectorAll('[data-panel="tuning"] tbody tr').length).toBeLessThan(DRAWN_ROWS + 5);
  });

  it("finds in what the page holds where there is no Python", () => {
    const { root } = show({ ...recorded(), find: null });
    type(root, "mem.smem");
    expect(count(root)).toMatch(/^[1-9]\d* found$/);
    enter(root);
    expect(count(root)).toMatch(/^1 of [1-9]/);
    enter(root, true);
    expect(count(root)).toMatch(/^(\d+) of \1$/);
    type(root, "no text has this");
    expect(count(root)).toBe("0 found");
  });

  it("leaves with Escape", () => {
    const { root } = show();
    type(root, "smem");
    const event = new KeyboardEvent("keydown", { key: "Escape", bubbles: true });
    field(root).dispatchEvent(event);
    expect(field(root).value).toBe("");
  });
});

describe("the filter", () => {
  const filtered = (): Sections => {
    const all = recorded();
    const chips = [
      { name: "status", value: "proved", label: "status: proved" },
      { name: "operator", value: "", label: "operator: matmul" },
    ];
    const filter = { ...all.filter, chips, status: ["proved"], operator: "matmul" };
    return { ...all, filter, map: { ...all.map, dimmed: ["p15"] } };
  };

  it("has a chip per condition that removes it", () => {
    const { python, root } = show(filtered());
    const chips = [...root.querySelectorAll<HTMLElement>(".pe-filters .pe-chip")];
    expect(chips.map((c) => c.textContent)).toEqual(["status: proved", "operator: matmul"]);
    chips[0]?.click();
    chips[1]?.click();
    expect(python.of("look").slice(-2)).toEqual([
      { kind: "look", filter: { status: [] } },
      { kind: "look", filter: { operator: "" } },
    ]);
  });

  it("dims what it excludes in the map, also after an update", () => {
    const { python, root } = show(filtered());
    const dimmed = () =>
      [...root.querySelectorAll('[data-panel="map"] .item.filtered')].map((e) => e.getAttribute("data-ref"));
    expect(new Set(dimmed())).toEqual(new Set(["p15"]));
    python.tell({ map: { ...filtered().map, dimmed: [] } });
    expect(dimmed()).toEqual([]);
  });

  it("closes its form with Escape and with a click beside it", () => {
    const { root } = show(filtered());
    const form = root.querySelector<HTMLDetailsElement>("details.pe-filter");
    const press = (key: string) => root.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
    press("f");
    expect(form?.open).toBe(true);
    press("Escape");
    expect(form?.open).toBe(false);

    press("f");
    form?.querySelector("input")?.dispatchEvent(new Event("pointerdown", { bubbles: true }));
    expect(form?.open).toBe(true);
    root.querySelector('[data-panel="map"]')?.dispatchEvent(new Event("pointerdown", { bubbles: true }));
    expect(form?.open).toBe(false);
  });

  it("adds the conditions of the form", () => {
    const { python, root } = show(filtered());
    const form = root.querySelector<HTMLFormElement>(".pe-filterform");
    const set = (name: string, value: string) => {
      const input = form?.querySelector<HTMLInputElement>(`[name="${name}"]`);
      if (input) input.value = value;
    };
    set("status", "refuted");
    set("first", "10");
    form?.dispatchEvent(new Event("submit", { cancelable: true }));
    expect(python.of("look").at(-1)).toEqual({
      kind: "look",
      filter: { status: ["proved", "refuted"], events: [10, Number.MAX_SAFE_INTEGER] },
    });
  });
});

describe("bookmarks", () => {
  const marked = (): Sections => {
    const all = recorded();
    const hostile = "<img src=x onerror=alert(1)>";
    const row = { bookmark: "b1", ref: "f2", at: 12, label: "f2, at event 12", note: hostile };
    return {
      ...all,
      bookmarks: { ...all.bookmarks, bookmarks: [row], deleted: [{ ...row, bookmark: "b2" }] },
    };
  };
  const row = (root: Element) => root.querySelector<HTMLElement>('[data-bookmark="b1"]');

  it("are made with b, of what is selected now", () => {
    const { python, root } = show();
    const row = root.querySelectorAll<HTMLElement>('[data-panel="families"] tr[data-ref]')[1];
    row?.click();
    root.dispatchEvent(new KeyboardEvent("keydown", { key: "b", bubbles: true }));
    expect(visible(root, "bookmarks")).toBe(true);
    expect(python.commands.at(-1)).toEqual(["bookmark", { id: row?.dataset.ref }]);
  });

  it("lead back to the moment and the id", () => {
    const { python, root } = show(marked());
    row(root)?.querySelector<HTMLElement>(".pe-link")?.click();
    expect(python.of("look").at(-1)).toMatchObject({ kind: "look", cursor: 12 });
    expect(python.commands.at(-1)).toEqual(["select", { id: "f2" }]);
  });

  it("have notes that are text, and are sent when typing pauses", () => {
    const { python, root } = show(marked());
    const note = row(root)?.querySelector("textarea");
    expect(note?.value).toBe("<img src=x onerror=alert(1)>");
    expect(root.querySelector("img")).toBeNull();
    if (note) note.value = "because of p15";
    note?.dispatchEvent(new Event("input"));
    expect(python.commands).toEqual([]);
    vi.advanceTimersByTime(1000);
    expect(python.commands).toEqual([["edit_bookmark", { id: "b1", note: "because of p15" }]]);
  });

  it("can be deleted and restored", () => {
    const { python, root } = show(marked());
    row(root)?.querySelector<HTMLElement>(".pe-tool")?.click();
    root.querySelector<HTMLElement>(".pe-deleted button")?.click();
    expect(python.commands).toEqual([
      ["delete_bookmark", { id: "b1" }],
      ["restore_bookmark", { id: "b2" }],
    ]);
  });
});

describe("a request of Python to show a panel", () => {
  it("is followed once", () => {
    const { python, root } = show();
    python.tell({ view: { selection: "", tab: "ledger", request: 1 } });
    expect(visible(root, "ledger")).toBe(true);
    root.querySelector<HTMLElement>('[data-tab-of="code"]')?.click();
    expect(python.of("look").at(-1)).toEqual({ kind: "look", tab: "code" });
    python.tell({ view: { selection: "", tab: "ledger", request: 1 } });
    expect(visible(root, "code")).toBe(true);
  });
});
