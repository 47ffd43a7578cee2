// @vitest-environment happy-dom
import { describe, expect, it } from "vitest";
import { csvLines, csvOf } from "../src/lib/reveal.ts";
import type { Table } from "../src/sections.ts";
import { inPages, show } from "./show.ts";

function shown() {
  const { python, root } = show();
  return { python, families: root.querySelector('[data-panel="families"]') as HTMLElement };
}

const row = (families: Element, ref: string) => families.querySelector(`tr[data-ref="${ref}"]`);
const box = (families: Element, ref: string) =>
  families.querySelector<HTMLInputElement>(`input[data-choose="${ref}"]`);
const refs = (families: Element) =>
  [...families.querySelectorAll("tr[data-ref]")].map((r) => r.getAttribute("data-ref") ?? "");
const bar = (families: Element) => families.querySelector<HTMLElement>(".pe-chosen");
const click = (element: Element | null, more: MouseEventInit = {}) =>
  element?.dispatchEvent(new MouseEvent("click", { bubbles: true, ...more }));

inPages();

describe("several families", () => {
  it("are chosen with their boxes and rejected in one command", () => {
    const { python, families } = shown();
    expect(bar(families)?.hidden).toBe(true);
    const [first = "", second = ""] = refs(families);
    for (const ref of [first, second]) box(families, ref)?.click();
    expect(bar(families)?.textContent).toContain("Reject 2 families");
    click(bar(families)?.querySelector('[data-command="reject"]') ?? null);
    expect(python.commands.at(-1)).toEqual(["reject", { id: [first, second] }]);
    expect(bar(families)?.hidden).toBe(true);
    expect(box(families, first)?.checked).toBe(false);
  });

  it("are chosen with Ctrl and Shift, without a change of the selection", () => {
    const { python, families } = shown();
    const all = refs(families);
    click(row(families, all[0] ?? ""), { ctrlKey: true });
    click(row(families, all[2] ?? ""), { shiftKey: true });
    expect(all.map((ref) => box(families, ref)?.checked)).toEqual([true, true, true]);
    click(row(families, all[1] ?? ""), { ctrlKey: true });
    expect(all.map((ref) => box(families, ref)?.checked)).toEqual([true, false, true]);
    expect(python.commands).toEqual([]);
  });
});

describe("families side by side", () => {
  const column = (key: string) => ({ key, label: key, align: "left" as const, wide: false, mono: false });
  const table: Table = {
    columns: ["property", "differs", "f1", "f2"].map(column),
    rows: [{ ref: "", cells: ["kernels", "differs", "1", "2"] }],
    empty_text: "",
    omitted: "",
  };
  const compare = (families: Element) =>
    [...(bar(families)?.querySelectorAll("button") ?? [])].find((b) => b.textContent?.startsWith("Compare"));

  it("are chosen with Shift and the arrow keys, and compared", () => {
    const { python, families } = shown();
    const all = refs(families);
    (row(families, all[0] ?? "") as HTMLElement).click();
    for (const _ of [1, 2])
      families
        .querySelector("tr:focus, tr[aria-selected=true]")
        ?.dispatchEvent(
          new KeyboardEvent("keydown", { key: "ArrowDown", shiftKey: true, bubbles: true, cancelable: true }),
        );
    expect(all.map((ref) => box(families, ref)?.checked)).toEqual([true, true, true]);

    click(compare(families) ?? null);
    expect(python.of("look").at(-1)).toEqual({ kind: "look", families: all });
  });

  it("replace the list, until one goes back", () => {
    const { python, families } = shown();
    const together = () => families.querySelector<HTMLElement>(".pe-together");
    python.tell({ side_by_side: { families: ["f1", "f2"], table } });
    expect([together()?.hidden, row(families, "f1")?.closest<HTMLElement>(".pe-tablebox")?.hidden]).toEqual([
      false,
      true,
    ]);
    expect(together()?.textContent).toContain("kernelsdiffers12");

    click(together()?.querySelector("button") ?? null);
    expect(python.of("look").at(-1)).toEqual({ kind: "look", families: [] });
    python.tell({ side_by_side: { families: [], table: null } });
    expect(together()?.hidden).toBe(true);
  });

  it("are not offered on a page without Python", () => {
    const { python, families } = shown();
    python.tell({ side_by_side: null });
    for (const ref of refs(families)) box(families, ref)?.click();
    expect(compare(families)).toBeUndefined();
  });
});

describe("a table as CSV", () => {
  it("has the headings and all rows", () => {
    const { families } = shown();
    const lines = csvOf(families).trim().split("\n");
    expect(lines).toHaveLength(refs(families).length + 1);
    expect(lines[0]).toContain("family");
  });

  it("quotes, and has no text that a spreadsheet would run", () => {
    expect(csvLines([['a"b', "c,d", "e\nf", "=HYPERLINK(1)", "-5", "@x", "–"]])).toBe(
      `"a""b","c,d","e\nf",'=HYPERLINK(1),-5,'@x,–\n`,
    );
  });
});
