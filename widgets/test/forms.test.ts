import { describe, expect, it } from "vitest";
import { evaluate, index, number, type Row, withUnit } from "../src/lib/forms.ts";
import { recorded } from "./python.ts";

describe("closed forms", () => {
  it("are evaluated as Python evaluates them", () => {
    const rows: readonly Row[] = [
      ["symbol", "x"],
      ["number", 3],
      ["divide", 0, 1],
      ["ceil", 2],
      ["less", 0, 1],
      ["where", 4, 0, 3],
      ["sqrt", 0],
      ["less_equal", 0, 1],
      ["logical_and", 7, 4],
      ["greater", 0, 1],
      ["subtract", 0, 1],
      ["multiply", 0, 1],
      ["add", 0, 1],
    ];

    expect(evaluate(rows, { x: 4 })).toEqual([4, 3, 4 / 3, 2, 0, 2, 2, 0, 0, 1, 1, 12, 7]);
    expect(evaluate(rows, { x: 3 }).slice(4, 9)).toEqual([0, 1, Math.sqrt(3), 1, 0]);
  });

  it("give the figures that the recorded search starts with", () => {
    const { forms, sliders, limits, figures } = recorded().sizes;
    const values = evaluate(forms, Object.fromEntries(sliders.map((s) => [s.symbol, s.value])));

    expect(values.every(Number.isFinite)).toBe(true);
    expect(figures.map((f) => f.label)).toContain("time");
    for (const { form, most } of limits) {
      const value = values[form] ?? Number.NaN;
      expect(most === null ? Number.isInteger(value) : value <= most).toBe(true);
    }
  });

  it("say unknown where a symbol has no value", () => {
    const [value = 0] = evaluate([["symbol", "y"]], { x: 1 });

    expect(withUnit(value, "bytes")).toBe("unknown");
  });
});

describe("values as text", () => {
  it("have three digits and a unit", () => {
    expect(withUnit(0.00184, "seconds")).toBe("1.84 ms");
    expect(withUnit(9.996e-4, "seconds")).toBe("1 ms");
    expect(withUnit(67_387_392, "bytes")).toBe("64.3 MiB");
    expect(withUnit(0, "bytes")).toBe("0 B");
    expect(withUnit(2.685e8, "flops")).toBe("269 Mflop");
    expect(withUnit(131_072, "count")).toBe("131,072");
  });

  it("have no separators in shapes and indices", () => {
    expect([index(4096), index(4096 / 3), number(4096)]).toEqual(["4096", "1,365", "4,096"]);
  });
});
