// @vitest-environment happy-dom
import { describe, expect, it } from "vitest";
import { Relations } from "../src/lib/related.ts";
import type { Row } from "../src/sections.ts";

const row = (ref: string, ...related: string[]): Row => ({ ref, cells: [], related });

function relations(): Relations {
  const found = new Relations();
  found.update("families", [row("f1", "n4"), row("f2", "n4"), row("f3", "n9")]);
  found.update("tuning", [row("u1", "f1.c2"), row("u2", "f2.c1"), row("u3", "f1.c1")]);
  return found;
}

describe("what belongs together", () => {
  it("leads from a trial to its candidate, family and node", () => {
    expect(relations().above("u1")).toEqual(["f1.c2", "f1", "n4"]);
    expect(relations().above("f1.c2/k3")).toEqual(["f1.c2", "f1", "n4"]);
    expect(relations().above("n4")).toEqual([]);
  });

  it("leads back from a node to its families and their trials, and to those of no other node", () => {
    expect([...relations().below("n4")].sort()).toEqual(["f1", "f2", "u1", "u2", "u3"]);
    expect(relations().below("f2")).toEqual(["u2"]);
    expect(relations().below("f1.c2")).toEqual(["u1"]);
    expect(relations().below("n9")).toEqual(["f3"]);
  });

  it("says whether a table changed, and forgets rows that are gone", () => {
    const found = relations();
    expect(found.update("tuning", [row("u1", "f1.c2"), row("u2", "f2.c1"), row("u3", "f1.c1")])).toBe(false);
    expect(found.update("tuning", [row("u2", "f2.c1")])).toBe(true);
    expect(found.below("f1")).toEqual([]);
  });
});
