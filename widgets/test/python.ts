// Plays Python's part: a model that writes down what the browser says, and answers as a test tells it.

import type { Sections } from "../src/sections.ts";
import type { Model, Reply } from "../src/wire.ts";
import sections from "./recorded.json";

export interface Said {
  readonly kind: string;
  readonly [field: string]: unknown;
}

export class FakeModel {
  readonly said: Said[] = [];
  seq = 0;
  private listener: ((content: unknown) => void) | null = null;

  constructor(private readonly traits: Readonly<Record<string, unknown>> = {}) {}

  /** As anywidget's model; a fake has no more than the wire needs. */
  get model(): Model {
    return this as unknown as Model;
  }

  get(name: string): unknown {
    return this.traits[name];
  }

  on(_event: string, listener: (content: unknown) => void): void {
    this.listener = listener;
  }

  off(): void {
    this.listener = null;
  }

  send(content: Said): void {
    this.said.push(content);
  }

  /** A raw message. */
  hear(content: unknown): void {
    this.listener?.(content);
  }

  /** A message with whole sections. */
  tell(sections: Partial<Sections>, replies: readonly Reply[] = [], after = this.seq): void {
    this.seq += 1;
    const pieces = Object.entries(sections).map(([name, value]) => [name, 0, 1, JSON.stringify(value)]);
    this.hear({ kind: "sections", seq: this.seq, after, pieces, replies });
  }

  /** What was sent of a kind, oldest first. */
  of(kind: string): readonly Said[] {
    return this.said.filter((s) => s.kind === kind);
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
