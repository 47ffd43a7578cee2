import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { type Reply, Wire } from "../src/wire.ts";
import { FakeModel } from "./python.ts";

interface Received {
  readonly changed: Record<string, unknown>[];
  readonly replies: Reply[];
  readonly connected: string[];
}

function opened(traits: Record<string, unknown> = {}): { python: FakeModel; wire: Wire; received: Received } {
  const python = new FakeModel(traits);
  const received: Received = { changed: [], replies: [], connected: [] };
  const wire = new Wire(python.model, {
    sections: (changed) => received.changed.push(Object.fromEntries(changed)),
    reply: (reply) => received.replies.push(reply),
    connection: (connection) => received.connected.push(connection),
  });
  wire.open();
  return { python, wire, received };
}

const part = (seq: number, after: number, chunks: readonly unknown[]) => ({
  kind: "sections",
  seq,
  after,
  chunks,
  replies: [],
});

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

describe("the wire", () => {
  it("says hello with nothing, and takes what comes", () => {
    const { python, received } = opened();
    python.receive(part(1, 0, [["error", 0, 1, '"none"']]));

    expect(python.sent).toEqual([{ kind: "hello", have: 0 }]);
    expect(received.changed).toEqual([{ error: "none" }]);
  });

  it("asks once for what it missed, and passes over what it cannot use", () => {
    const { python, received } = opened();
    python.receive(part(1, 0, [["a", 0, 1, "1"]]));
    python.receive(part(3, 2, [["a", 0, 1, "3"]]));
    python.receive(part(4, 3, [["a", 0, 1, "4"]]));

    expect(received.changed).toEqual([{ a: 1 }]);
    expect(python.sent.slice(1)).toEqual([{ kind: "hello", have: 1 }]);
  });

  it("goes on from the answer", () => {
    const { python, received } = opened();
    python.receive(part(1, 0, [["a", 0, 1, "1"]]));
    python.receive(part(3, 2, [["a", 0, 1, "3"]]));
    python.receive(part(4, 1, [["a", 0, 1, "4"]]));
    python.receive(part(5, 4, [["a", 0, 1, "5"]]));

    expect(received.changed).toEqual([{ a: 1 }, { a: 4 }, { a: 5 }]);
  });

  it("uses what another page asked for", () => {
    const { python, received } = opened();
    python.receive(part(1, 0, []));
    python.receive(part(2, 0, [["a", 0, 1, "2"]]));

    expect(received.changed).toEqual([{ a: 2 }]);
    expect(python.of("hello")).toHaveLength(1);
  });

  it("reports a section that comes again only if its text changed", () => {
    const { python, received } = opened({ snapshot: { seq: 7, texts: { a: "1", b: "1" }, left_out: [] } });
    python.receive(
      part(8, 7, [
        ["a", 0, 1, "1"],
        ["b", 0, 1, "2"],
      ]),
    );
    python.receive(
      part(9, 7, [
        ["a", 0, 1, "1"],
        ["b", 0, 1, "2"],
      ]),
    );
    python.receive(part(10, 9, [["b", 0, 1, "1"]]));

    expect(received.changed).toEqual([{ a: 1, b: 1 }, { b: 2 }, { b: 1 }]);
  });

  it("joins a section that came in parts", () => {
    const { python, received } = opened();
    python.receive(part(1, 0, [["a", 0, 3, '"lo']]));
    python.receive(part(2, 1, [["a", 1, 3, "ng"]]));
    python.receive(part(3, 2, [["a", 2, 3, '"']]));

    expect(received.changed).toEqual([{ a: "long" }]);
  });

  it("does not join parts of two texts", () => {
    const { python, received } = opened();
    python.receive(part(1, 0, [["a", 0, 2, '"old']]));
    python.receive(part(2, 1, [["a", 0, 2, '"new']]));
    python.receive(part(3, 2, [["a", 1, 2, '"']]));

    expect(received.changed).toEqual([{ a: "new" }]);
  });

  it("gives replies even with a message that it cannot use", () => {
    const { python, received } = opened();
    python.receive({ ...part(9, 8, []), replies: [{ event_id: "x", ok: true, python: "sess.step()" }] });

    expect(received.replies).toEqual([{ event_id: "x", ok: true, python: "sess.step()" }]);
  });

  it("draws the kept picture first, and asks only for what came after", () => {
    const { python, received } = opened({ snapshot: { seq: 7, texts: { a: "1" }, left_out: [] } });

    expect(received.changed).toEqual([{ a: 1 }]);
    expect(python.sent).toEqual([{ kind: "hello", have: 7 }]);
  });

  it("asks for everything when the kept picture was not whole", () => {
    const { python } = opened({ snapshot: { seq: 7, texts: { a: "1" }, left_out: ["b"] } });

    expect(python.sent).toEqual([{ kind: "hello", have: 0 }]);
  });

  it("waits for the first picture while Python computes it, and asks for it only if it does not come", () => {
    const { python, received } = opened({ snapshot: { seq: 0 } });
    const late = opened({ snapshot: { seq: 0 } });
    vi.advanceTimersByTime(500);
    python.receive(part(1, 0, [["a", 0, 1, "1"]]));
    python.receive(part(2, 1, [["b", 0, 1, "1"]]));
    vi.advanceTimersByTime(5000);

    expect(python.sent).toEqual([]);
    expect(received.changed).toEqual([{ a: 1 }, { b: 1 }]);
    expect(late.python.sent).toEqual([{ kind: "hello", have: 0 }]);
  });

  it("says when nobody answers, and when somebody does again", () => {
    const { python, received } = opened();
    vi.advanceTimersByTime(60_000);
    python.receive(part(1, 0, []));

    expect(received.connected).toEqual(["silent", "open"]);
  });

  it("gives every click an id of its own", () => {
    const { python, wire } = opened();
    const ids = [wire.command("undo"), wire.command("undo")];

    expect(new Set(ids).size).toBe(2);
    expect(python.of("command").map((c) => c.event_id)).toEqual(ids);
  });

  it("requests one earlier state at a time, and then only the newest", () => {
    const { python, wire } = opened();
    const cursors = () => python.of("look").map((l) => l.cursor);
    for (const cursor of [9, 8, 7, 6]) wire.look({ cursor });
    expect(cursors()).toEqual([9]);
    python.receive(part(1, 0, []));
    expect(cursors()).toEqual([9, 6]);
    python.receive(part(2, 1, []));

    expect(cursors()).toEqual([9, 6]);
  });

  it("requests the present at once, and drops an earlier state that waits", () => {
    const { python, wire } = opened();
    for (const cursor of [9, 8, 0]) wire.look({ cursor });
    python.receive(part(1, 0, []));

    expect(python.of("look").map((l) => l.cursor)).toEqual([9, 0]);
  });

  it("does not wait for ever for the answer to a request", () => {
    const { python, wire } = opened();
    wire.look({ cursor: 9 });
    wire.look({ cursor: 8 });
    vi.advanceTimersByTime(2_000);

    expect(python.of("look").map((l) => l.cursor)).toEqual([9, 8]);
  });

  it("sends everything else to show at once", () => {
    const { python, wire } = opened();
    wire.look({ cursor: 9 });
    wire.look({ root: "n1" });
    wire.look({ hidden: ["code"] });

    expect(python.of("look").slice(1)).toEqual([
      { kind: "look", root: "n1" },
      { kind: "look", hidden: ["code"], page: expect.any(String) },
    ]);
  });

  it("hears nothing after it was closed", () => {
    const { python, wire, received } = opened();
    wire.close();
    python.receive(part(1, 0, [["a", 0, 1, "1"]]));

    expect(received.changed).toEqual([]);
  });
});
