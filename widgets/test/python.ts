// A model for tests: it records the messages of the browser, and sends the messages that a test gives it.

import type { Sections } from "../src/sections.ts";
import type { Model, Reply } from "../src/wire.ts";
import sections from "./recorded.json";

export interface Sent {
  readonly kind: string;
  readonly [field: string]: unknown;
}

export class FakeModel {
  readonly sent: Sent[] = [];
  seq = 0;
  private readonly listeners = new Map<string, (content: unknown) => void>();

  constructor(private readonly traits: Readonly<Record<string, unknown>> = {}) {}

  /** As an anywidget model; this one has only what the wire needs. */
  get model(): Model {
    return this as unknown as Model;
  }

  get(name: string): unknown {
    return this.traits[name];
  }

  on(event: string, listener: (content: unknown) => void): void {
    this.listeners.set(event, listener);
  }

  off(event: string): void {
    this.listeners.delete(event);
  }

  /** Jupyter reports that the connection to the kernel was closed or opened. */
  liveChanged(): void {
    this.listeners.get("comm_live_update")?.(undefined);
  }

  send(content: Sent): void {
    this.sent.push(content);
  }

  /** Send a raw message. */
  receive(content: unknown): void {
    this.listeners.get("msg:custom")?.(content);
  }

  /** Send sections. */
  tell(sections: Partial<Sections>, replies: readonly Reply[] = [], after = this.seq): void {
    this.seq += 1;
    const chunks = Object.entries(sections).map(([name, value]) => [name, 0, 1, JSON.stringify(value)]);
    this.receive({ kind: "sections", seq: this.seq, after, chunks, replies });
  }

  /** The recorded messages of a kind, oldest first. */
  of(kind: string): readonly Sent[] {
    return this.sent.filter((s) => s.kind === kind);
  }

  /** Names and arguments of the commands that were sent. */
  get commands(): readonly (readonly [unknown, unknown])[] {
    return this.of("command").map((c) => [c.name, c.args] as const);
  }
}

/** What Python sends for the made-up search of tests/widgets/recordings.py. */
export function recorded(): Sections {
  return structuredClone(sections) as unknown as Sections;
}

/** The same data with every text replaced. */
export function withTexts<T>(value: T, change: (text: string) => string): T {
  if (typeof value === "string") return change(value) as T;
  if (Array.isArray(value)) return value.map((v) => withTexts(v, change)) as T;
  if (typeof value === "object" && value !== null) {
    return Object.fromEntries(Object.entries(value).map(([k, v]) => [k, withTexts(v, change)])) as T;
  }
  return value;
}
