// @vitest-environment happy-dom
import { describe, expect, it, vi } from "vitest";
import type { Report } from "../src/fold/folded.ts";
import { commas, hundredths, percent, programsText, shorten } from "../src/fold/text.ts";
import { ReportModel, unpack } from "../src/report.ts";
import { recorded } from "./python.ts";

interface Received {
  readonly chunks: readonly (readonly [string, number, number, string])[];
  readonly replies: readonly { readonly ok: boolean; readonly message?: string }[];
  readonly seq: number;
  readonly after: number;
}

const report = (recorded() as unknown as { report: Report }).report;

/** The answers of a report to some messages. */
function answers(...messages: Parameters<ReportModel["send"]>[0][]): Received[] {
  vi.useFakeTimers();
  const received: Received[] = [];
  const model = new ReportModel(report);
  model.on("msg:custom", (content) => received.push(content as Received));
  for (const message of messages) model.send(message);
  vi.runAllTimers();
  vi.useRealTimers();
  return received;
}

function section<T>(message: Received | undefined, name: string): T | undefined {
  const text = message?.chunks.find(([chunk]) => chunk === name)?.[3];
  return text === undefined ? undefined : (JSON.parse(text) as T);
}

const select = (id: string) => ({ kind: "command", event_id: "e1", name: "select", args: { id } });

describe("the report", () => {
  it("sends every section at first, in one numbered message", () => {
    const [message] = answers({ kind: "hello" });

    expect(message?.chunks.map(([name]) => name)).toEqual(
      expect.arrayContaining(["transport", "map", "graph", "inspector", "families", "ledger", "code"]),
    );
    expect([message?.after, message?.seq]).toEqual([0, 1]);
  });

  it("answers a selection with what it changes only", () => {
    const [, message] = answers({ kind: "hello" }, select("f2"));

    expect(section<{ title: string }>(message, "inspector")?.title).toBe("f2: a family");
    expect(section<{ subject: string }>(message, "graph")?.subject).toBe("f2");
    expect(section(message, "families")).toBeUndefined();
    expect(message?.replies).toEqual([{ event_id: "e1", ok: true }]);
  });

  it("shows an earlier moment without later results, and comes back", () => {
    const [, past, now] = answers(
      { kind: "hello" },
      { kind: "look", cursor: 12 },
      { kind: "look", cursor: 0 },
    );

    expect(section<{ rows: unknown[] }>(past, "families")?.rows).toEqual([]);
    expect(section<{ past_notice: string }>(past, "transport")?.past_notice).toContain("event 12 of");
    expect(section<{ rows: unknown[] }>(now, "families")?.rows.length).toBe(3);
    expect(section<{ past_notice: string }>(now, "transport")?.past_notice).toBe("");
  });

  it("says from which event on an id is there", () => {
    const [, message] = answers({ kind: "look", cursor: 12 }, select("f2"));

    expect(section<{ description: string[] }>(message, "inspector")?.description[0]).toMatch(
      /^It is not there at event 12\. The report has it from event \d+ on\.$/,
    );
  });

  it("says so if it does not hold what is selected", () => {
    const [message] = answers(select("p999"));

    expect(section<{ description: string[] }>(message, "inspector")?.description[0]).toContain(
      "does not contain it",
    );
  });

  it("refuses to steer, and gives the line of Python that does", () => {
    const lines: string[] = [];
    const model = new ReportModel(report, (python) => lines.push(python));
    model.send(select("f2"));
    model.send({ kind: "command", event_id: "e2", name: "reject", args: { id: "f2" } });

    expect(lines).toEqual(["sess.reject('f2')"]);
  });
});

describe("the data of a page", () => {
  it("is refused if it is damaged", () => {
    expect(() => unpack("")).toThrow("has no header");
    expect(() => unpack(btoa("no data of a page"))).toThrow("ends too early");
  });
});

describe("numbers and texts as Python writes them", () => {
  it.each([
    [0, "0"],
    [1234567, "1,234,567"],
    [2.5, "2"],
    [3.5, "4"],
    [1e21, "1,000,000,000,000,000,000,000"],
    [Number.POSITIVE_INFINITY, "inf"],
  ])("%d has commas", (value, text) => expect(commas(value)).toBe(text));

  it.each([
    [12345, "12,345"],
    [999_499, "999,499"],
    [999_500, "1.00·10⁶"],
    [1_125_000, "1.12·10⁶"],
    [3.8267e21, "3.83·10²¹"],
  ])("%d programs have at most three digits", (value, text) => expect(programsText(value)).toBe(text));

  it.each([
    [0.125, 0.12],
    [0.375, 0.38],
    [2.675, 2.67],
    [-0.125, -0.12],
    [96.8, 96.8],
  ])("%d is rounded to even", (value, expected) => expect(hundredths(value)).toBe(expected));

  it("rounds shares to even, and small ones to less than one", () => {
    expect([percent(0.004), percent(0.005), percent(0.125), percent(1)]).toEqual([
      "<1%",
      "0%",
      "12%",
      "100%",
    ]);
  });

  it("counts wide characters twice, and cuts before them", () => {
    expect(shorten("行列の積 and more", 6)).toBe("行列…");
  });
});
