// @vitest-environment happy-dom
import { describe, expect, it } from "vitest";
import { recorded } from "./python.ts";
import { inPages, show } from "./show.ts";

const panel = (root: Element) => root.querySelector('[data-panel="sizes"]') as HTMLElement;
const figures = (root: Element) => panel(root).querySelector(".pe-figures")?.textContent ?? "";
const slider = (root: Element, symbol: string) =>
  panel(root).querySelector(`[data-symbol="${symbol}"]`) as HTMLInputElement;

function move(root: Element, symbol: string, value: number): void {
  const values = recorded().sizes.sliders.find((s) => s.symbol === symbol)?.values ?? [];
  const input = slider(root, symbol);
  input.value = String(values.indexOf(value));
  input.dispatchEvent(new Event("input", { bubbles: true }));
}

inPages();

describe("the Sizes panel", () => {
  it("tells Python where a slider was released, and follows the sizes that Python chose", () => {
    const { python, root } = show();
    const [first] = recorded().sizes.sliders.filter((s) => s.values.length > 1);
    if (!first) throw new Error("no slider moves");
    const { symbol, values } = first;
    move(root, symbol, values.at(-1) ?? 0);
    slider(root, symbol).dispatchEvent(new Event("change", { bubbles: true }));
    const { subject } = recorded().sizes;
    expect(python.of("look").at(-1)).toEqual({
      kind: "look",
      sizes: { subject, values: { [symbol]: values.at(-1) } },
    });

    python.tell({ sizes: { ...recorded().sizes, chosen: [[symbol, values[0] ?? 0]], request: 1 } });
    expect(slider(root, symbol).value).toBe("0");
  });

  it("has a slider per symbol with the current choice, and says where it comes from", () => {
    const { root } = show();

    expect(
      [...panel(root).querySelectorAll("input[type=range]")].map((e) => e.getAttribute("data-symbol")),
    ).toEqual(recorded().sizes.sliders.map((s) => s.symbol));
    for (const { symbol, value } of recorded().sizes.sliders)
      expect(slider(root, symbol).getAttribute("aria-valuetext")).toBe(
        `${symbol} = ${value.toLocaleString("en")}`,
      );
    expect(panel(root).textContent).toContain(recorded().sizes.origin);
  });

  it("moves figures, the point and the tile shapes without a message to Python", () => {
    const { python, root } = show();
    const before = { figures: figures(root), sent: python.sent.length };
    const point = () => root.querySelector('[data-id="sizes#point"] .body')?.getAttribute("points");
    const tile = () => root.querySelector('[data-id="f1.c1/k2.b1"] .t-sizes')?.textContent;
    const [at, shape] = [point(), tile()];
    move(root, "gx", 1);

    expect(figures(root)).not.toBe(before.figures);
    expect(point()).not.toBe(at);
    expect(tile()).not.toBe(shape);
    expect(tile()).toBe(
      `${4096 / Number(slider(root, "f").getAttribute("aria-valuetext")?.split("= ")[1])} × 4096`,
    );
    expect(python.sent.length).toBe(before.sent);
  });

  it("names the condition that illegal sizes break, and resets", () => {
    const { root } = show();
    const text = () => panel(root).querySelector(".pe-limits")?.textContent;
    move(root, "gx", 4096);
    move(root, "f", 4096);
    expect(text()).toBe("These sizes are legal.");
    move(root, "b", 128);
    move(root, "gx", 1);
    move(root, "f", 1);

    expect(text()).toContain("exceeds");
    (panel(root).querySelector(".pe-group button") as HTMLButtonElement).click();
    expect(text()).toBe("These sizes are legal.");
  });

  it("steps through grid points and iterations; the index ranges follow", () => {
    const { root } = show();
    const load = () => panel(root).querySelector('[data-ref="f1.c1/k2.b1"] .pe-link')?.textContent;
    move(root, "gx", 4);
    move(root, "f", 8);
    expect(load()).toBe("w[0:512, 0:1024]");
    (panel(root).querySelector('[title="next block x"]') as HTMLButtonElement).click();
    (panel(root).querySelector('[title="next loop step i"]') as HTMLButtonElement).click();

    expect(load()).toBe("w[512:1024, 1024:2048]");
  });

  it("says how many blocks share a region", () => {
    const { root } = show();
    move(root, "gx", 4);

    expect(panel(root).querySelector('[data-ref="f1.c1/k2.b0"]')?.textContent).toContain(
      "4 blocks read this region",
    );
  });
});

describe("the sGraph panel", () => {
  it("expands and enters a kernel by its buttons, and goes back by Backspace", () => {
    const { python, root } = show();
    const button = (action: string) =>
      root.querySelector(`[data-stage="graph"] [data-action="${action}"]`) as SVGGElement;
    button("toggle").dispatchEvent(new MouseEvent("click", { bubbles: true }));
    expect(python.of("look").at(-1)?.graph).toEqual({ kernels: ["f1.c1/k2"], expanded: false });
    button("enter").dispatchEvent(new MouseEvent("click", { bubbles: true }));
    expect(python.of("look").at(-1)?.graph).toEqual({ entered: "f1.c1/k2" });
    const data = recorded().graph;
    python.tell({ graph: { ...data, entered: "f1.c1/k2" } });
    root
      .querySelector('[data-panel="graph"]')
      ?.dispatchEvent(new KeyboardEvent("keydown", { key: "Backspace", bubbles: true }));
    expect(python.of("look").at(-1)?.graph).toEqual({ entered: "" });
  });

  it("has a breadcrumb that leads back", () => {
    const { python, root } = show();
    const trail = root.querySelector(".pe-trail") as HTMLElement;
    expect(trail.textContent).toBe("program rmsnorm_linear▸f1.c1");
    trail.querySelector("button")?.click();

    expect(python.of("look").at(-1)?.graph).toEqual({ program: true });
  });
});
