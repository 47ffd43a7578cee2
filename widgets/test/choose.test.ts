// @vitest-environment happy-dom
import { afterEach, describe, expect, it, vi } from "vitest";
import explorer from "../src/explorer.ts";
import { csvLines, csvOf } from "../src/lib/reveal.ts";
import { FakeModel, recorded } from "./python.ts";

let cleanUp: (() => void) | null = null;

function shown(): { python: FakeModel; families: HTMLElement } {
  const python = new FakeModel();
  const el = document.createElement("div");
  document.body.append(el);
  vi.spyOn(HTMLElement.prototype, "clientWidth", "get").mockReturnValue(1200);
  cleanUp = explorer.render({ model: python.model as never, el });
  python.tell(recorded());
  return { python, families: el.querySelector('[data-panel="families"]') as HTMLElement };
}

const row = (families: Element, ref: string) => families.querySelector(`tr[data-ref="${ref}"]`);
const box = (families: Element, ref: string) =>
  families.querySelector<HTMLInputElement>(`input[data-choose="${ref}"]`);
const refs = (families: Element) =>
  [...families.querySelectorAll("tr[data-ref]")].map((r) => r.getAttribute("data-ref") ?? "");
const bar = (families: Element) => families.querySelector<HTMLElement>(".pe-chosen");
const click = (element: Element | null, more: MouseEventInit = {}) =>
  element?.dispatchEvent(new MouseEvent("click", { bubbles: true, ...more }));

afterEach(() => {
  cleanUp?.();
  document.body.replaceChildren();
  vi.restoreAllMocks();
});

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
