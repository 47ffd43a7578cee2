// @vitest-environment happy-dom
import { describe, expect, it, vi } from "vitest";
import { type Report, ReportModel } from "../src/report.ts";
import { recorded } from "./python.ts";

const inspector = { ref: "f2", title: "f2: a family" };
const subject = { graph: recorded().graph, eclasses: recorded().eclasses, code: recorded().code };
const report: Report = {
  sections: recorded(),
  inspectors: { f2: inspector },
  subjects: { f2: subject },
  owners: { f2: "f2" },
};

interface Received {
  readonly chunks: readonly (readonly [string, number, number, string])[];
  readonly replies: readonly { readonly ok: boolean; readonly message?: string }[];
  readonly seq: number;
  readonly after: number;
}

function answers(...messages: readonly Record<string, unknown>[]): Received[] {
  vi.useFakeTimers();
  const received: Received[] = [];
  const model = new ReportModel(report);
  model.on("msg:custom", (content) => received.push(content as Received));
  for (const one of messages) model.send(one as never);
  vi.runAllTimers();
  vi.useRealTimers();
  return received;
}

describe("a report", () => {
  it("answers hello with every section", () => {
    const [message] = answers({ kind: "hello", have: 0 });

    expect(message?.chunks.map(([name]) => name).sort()).toEqual(Object.keys(recorded()).sort());
  });

  it("answers a selection with its inspector, graph, classes and code, in numbered messages", () => {
    const select = { kind: "command", event_id: "e1", name: "select", args: { id: "f2" } };
    const [, message] = answers({ kind: "hello", have: 0 }, select);
    const sections = Object.fromEntries(
      (message?.chunks ?? []).map(([name, , , text]) => [name, JSON.parse(text)]),
    );

    expect(sections.inspector).toEqual(inspector);
    expect(sections.view).toEqual({ selection: "f2" });
    expect(Object.keys(sections).sort()).toEqual(["code", "eclasses", "graph", "inspector", "view"]);
    expect([message?.seq, message?.after]).toEqual([2, 1]);
  });

  it("says so where it does not hold what is selected", () => {
    const [message] = answers({ kind: "command", event_id: "e1", name: "select", args: { id: "p99" } });
    const inspector = message?.chunks.find(([name]) => name === "inspector")?.[3] ?? "";

    expect(inspector).toContain("This report does not contain it");
  });

  it("refuses to steer, and says where one can", () => {
    const [message] = answers({ kind: "command", event_id: "e1", name: "reject", args: { id: "f2" } });

    expect(message?.replies).toEqual([
      { event_id: "e1", ok: false, message: expect.stringContaining("in a notebook") },
    ]);
  });
});
