// @vitest-environment happy-dom
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import explorer from "../src/explorer.ts";
import { FakeModel, recorded } from "./python.ts";

let cleanUp: (() => void) | null = null;

function shown(): { python: FakeModel; root: HTMLElement } {
  const python = new FakeModel();
  const el = document.createElement("div");
  document.body.append(el);
  vi.spyOn(HTMLElement.prototype, "clientWidth", "get").mockReturnValue(1200);
  cleanUp = explorer.render({ model: python.model as never, el });
  python.tell(recorded());
  return { python, root: el.firstElementChild as HTMLElement };
}

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

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  cleanUp?.();
  cleanUp = null;
  document.body.replaceChildren();
  vi.restoreAllMocks();
  vi.useRealTimers();
});

describe("the Sizes panel", () => {
  it("has a slider per symbol with the current choice, and says where it comes from", () => {
    const { root } = shown();

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
    const { python, root } = shown();
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
    const { root } = shown();
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
    const { root } = shown();
    const load = () => panel(root).querySelector('[data-ref="f1.c1/k2.b1"] .pe-link')?.textContent;
    move(root, "gx", 4);
    move(root, "f", 8);
    expect(load()).toBe("w[0:512, 0:1024]");
    (panel(root).querySelector('[title="next block x"]') as HTMLButtonElement).click();
    (panel(root).querySelector('[title="next loop step i"]') as HTMLButtonElement).click();

    expect(load()).toBe("w[512:1024, 1024:2048]");
  });

  it("says how many blocks share a region", () => {
    const { root } = shown();
    move(root, "gx", 4);

    expect(panel(root).querySelector('[data-ref="f1.c1/k2.b0"]')?.textContent).toContain(
      "4 blocks read this region",
    );
  });
});

describe("the sGraph panel", () => {
  it("expands and enters a kernel by its buttons, and goes back by Backspace", () => {
    const { python, root } = shown();
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
    const { python, root } = shown();
    const trail = root.querySelector(".pe-trail") as HTMLElement;
    expect(trail.textContent).toBe("program rmsnorm_linear▸f1.c1");
    trail.querySelector("button")?.click();

    expect(python.of("look").at(-1)?.graph).toEqual({ program: true });
  });
});
