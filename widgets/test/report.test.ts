// @vitest-environment happy-dom
import { describe, expect, it, vi } from "vitest";
import { type Report, Told } from "../src/report.ts";
import { recorded } from "./python.ts";

const inspector = { ref: "f2", title: "f2: a family" };
const subject = { graph: recorded().graph, eclasses: recorded().eclasses, code: recorded().code };
const report: Report = {
  sections: recorded(),
  inspectors: { f2: inspector },
  subjects: { f2: subject },
  owners: { f2: "f2" },
};

interface Heard {
  readonly pieces: readonly (readonly [string, number, number, string])[];
  readonly replies: readonly { readonly ok: boolean; readonly says?: string }[];
  readonly seq: number;
  readonly after: number;
}

function told(...said: readonly Record<string, unknown>[]): Heard[] {
  vi.useFakeTimers();
  const heard: Heard[] = [];
  const model = new Told(report);
  model.on("msg:custom", (content) => heard.push(content as Heard));
  for (const one of said) model.send(one as never);
  vi.runAllTimers();
  vi.useRealTimers();
  return heard;
}

describe("a report", () => {
  it("answers hello with every section", () => {
    const [message] = told({ kind: "hello", have: 0 });

    expect(message?.pieces.map(([name]) => name).sort()).toEqual(Object.keys(recorded()).sort());
  });

  it("answers a selection with its inspector, graph, classes and code, in numbered messages", () => {
    const select = { kind: "command", event_id: "e1", name: "select", args: { id: "f2" } };
    const [, message] = told({ kind: "hello", have: 0 }, select);
    const sections = Object.fromEntries(
      (message?.pieces ?? []).map(([name, , , text]) => [name, JSON.parse(text)]),
    );

    expect(sections.inspector).toEqual(inspector);
    expect(sections.view).toEqual({ selection: "f2" });
    expect(Object.keys(sections).sort()).toEqual(["code", "eclasses", "graph", "inspector", "view"]);
    expect([message?.seq, message?.after]).toEqual([2, 1]);
  });

  it("says so where it does not hold what is selected", () => {
    const [message] = told({ kind: "command", event_id: "e1", name: "select", args: { id: "p99" } });
    const inspector = message?.pieces.find(([name]) => name === "inspector")?.[3] ?? "";

    expect(inspector).toContain("This report does not hold it");
  });

  it("refuses to steer, and says where one can", () => {
    const [message] = told({ kind: "command", event_id: "e1", name: "reject", args: { id: "f2" } });

    expect(message?.replies).toEqual([
      { event_id: "e1", ok: false, says: expect.stringContaining("in a notebook") },
    ]);
  });
});
