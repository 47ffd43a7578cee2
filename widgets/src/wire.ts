// The only file that knows anywidget: numbered messages in, commands out.
//
// A message carries whole sections, its number, and the number that one must have before it. When
// something is missing the wire says hello with what it has, and Python sends what changed since.

import type { AnyModel } from "@anywidget/types";

/** What this file needs of anywidget's model; the offline page brings its own. */
export type Model = Pick<AnyModel, "get" | "on" | "off" | "send">;

/** A section's name, the piece's number, how many pieces there are, JSON text. */
type Piece = readonly [section: string, index: number, of: number, text: string];

export interface Reply {
  readonly event_id: string;
  readonly ok: boolean;
  /** The same in Python, when it was understood. */
  readonly python?: string;
  /** Why not, when it was not. */
  readonly says?: string;
}

interface Message {
  readonly kind: "sections";
  readonly seq: number;
  readonly after: number;
  readonly pieces: readonly Piece[];
  readonly replies: readonly Reply[];
}

interface Snapshot {
  readonly seq: number;
  readonly texts: Readonly<Record<string, string>>;
  readonly left_out: readonly string[];
}

export interface Listener {
  /** Sections that changed, already parsed. */
  sections(changed: ReadonlyMap<string, unknown>): void;
  reply(reply: Reply): void;
  /** Whether anybody answers at the other end. */
  connected(yes: boolean): void;
}

export type Args = Readonly<Record<string, string | number | boolean | readonly string[]>>;

/** What the reader wants to see: kernels closed, the map zoomed into a node, a moment of the past, pictures of a width. */
export type Look =
  | { readonly collapsed: boolean }
  | { readonly root: string }
  | { readonly cursor: number }
  | { readonly map_px: number; readonly dock_px: number; readonly dock_high_px: number };

/** How long an unanswered hello waits before the picture says that nobody is there, and asks again. */
const PATIENCE_MS = 4000;

export class Wire {
  private have = 0;
  private asked = false;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private clicks = 0;
  private readonly name = Math.random().toString(36).slice(2, 10);
  private readonly parts = new Map<string, (string | undefined)[]>();
  private readonly heard = (content: unknown): void => this.receive(content);

  constructor(
    private readonly model: Model,
    private readonly listener: Listener,
  ) {}

  /** Draw what the notebook kept, then ask for the rest. */
  open(): void {
    this.model.on("msg:custom", this.heard);
    const kept = this.model.get("snapshot") as Snapshot | undefined;
    if (kept?.texts && kept.seq > 0) {
      this.have = kept.left_out.length === 0 ? kept.seq : 0;
      this.listener.sections(new Map(Object.entries(kept.texts).map(([k, text]) => [k, JSON.parse(text)])));
    }
    this.hello();
  }

  close(): void {
    clearTimeout(this.timer);
    this.model.off("msg:custom", this.heard);
  }

  /** Send a command; gives its id, which the reply will bear. */
  command(name: string, args: Args = {}): string {
    this.clicks += 1;
    const event_id = `${this.name}-${this.clicks}`;
    this.model.send({ kind: "command", event_id, name, args });
    return event_id;
  }

  look(what: Look): void {
    this.model.send({ kind: "look", ...what });
  }

  private hello(): void {
    this.asked = true;
    this.model.send({ kind: "hello", have: this.have });
    clearTimeout(this.timer);
    this.timer = setTimeout(() => {
      this.asked = false;
      this.listener.connected(false);
    }, PATIENCE_MS);
  }

  private receive(content: unknown): void {
    const message = content as Message;
    if (message?.kind !== "sections") return;
    for (const reply of message.replies) this.listener.reply(reply);
    if (this.have < message.after) {
      if (!this.asked) this.hello();
      return;
    }
    clearTimeout(this.timer);
    this.asked = false;
    this.have = message.seq;
    const changed = new Map<string, unknown>();
    for (const [section, index, of, text] of message.pieces) {
      const whole = this.join(section, index, of, text);
      if (whole !== null) changed.set(section, JSON.parse(whole));
    }
    this.listener.connected(true);
    if (changed.size > 0) this.listener.sections(changed);
  }

  /** The whole text once its last piece is there. */
  private join(section: string, index: number, of: number, text: string): string | null {
    if (of === 1) {
      this.parts.delete(section);
      return text;
    }
    const old = this.parts.get(section);
    const parts =
      old && old.length === of && index > 0 ? old : new Array<string | undefined>(of).fill(undefined);
    parts[index] = text;
    this.parts.set(section, parts);
    if (parts.includes(undefined)) return null;
    this.parts.delete(section);
    return parts.join("");
  }
}
