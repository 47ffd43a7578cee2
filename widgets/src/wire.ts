// The connection to Python through anywidget: numbered messages in, commands out.
//
// A message carries sections that changed, its number, and the number of the message that the receiver must have.
// If one was missed, the wire sends `hello` with the last number, and Python sends what changed since then.

import type { AnyModel } from "@anywidget/types";

/** The part of the anywidget model that is used; a report has a model of its own. */
export type Model = Pick<AnyModel, "get" | "on" | "off" | "send">;

/** Name of the section, number of the chunk, number of chunks, JSON text. */
type Chunk = readonly [section: string, index: number, of: number, text: string];

export interface Reply {
  readonly event_id: string;
  readonly ok: boolean;
  /** The line of Python that does the same, if the command was accepted. */
  readonly python?: string;
  /** Why the command was refused. */
  readonly message?: string;
}

interface Message {
  readonly kind: "sections";
  readonly seq: number;
  readonly after: number;
  readonly chunks: readonly Chunk[];
  readonly replies: readonly Reply[];
}

interface Snapshot {
  /** The last message that has sections of the snapshot; 0 while Python computes the first one. */
  readonly seq: number;
  readonly texts: Readonly<Record<string, string>>;
  readonly left_out: readonly string[];
}

export interface Listener {
  /** Sections that changed, parsed. */
  sections(changed: ReadonlyMap<string, unknown>): void;
  reply(reply: Reply): void;
  connection(connection: Connection): void;
}

/** Whether Python answers: it is silent if it is busy or gone, closed if Jupyter closed the connection. */
export type Connection = "open" | "silent" | "closed";

export type Args = Readonly<Record<string, string | number | boolean | readonly string[]>>;

/** What the search map shows: a mode, an id expanded or collapsed, marks of similar subtrees, an interval of events. */
export type MapLook =
  | { readonly mode: string }
  | { readonly open: string }
  | { readonly close: string }
  | { readonly similar: boolean }
  | { readonly interval: readonly number[] };

/** What the e-class panel shows: a mode, an axiom whose nodes are marked, more nodes, or the ends of a path. */
export type EGraphLook =
  | { readonly mode: string }
  | { readonly rule: string }
  | { readonly more: true }
  | { readonly start: string }
  | { readonly end: string }
  | { readonly step: number };

/** What the tuning panel shows: a chart, a number of trials, or an interval of an axis, or no interval. */
export type TuningLook =
  | { readonly mode: string }
  | { readonly top: number }
  | { readonly brush: readonly (string | number)[] };

/** The conditions of the filter that change. */
export interface FilterLook {
  readonly status?: readonly string[];
  readonly reason?: readonly string[];
  readonly operator?: string;
  readonly events?: readonly number[];
}

/** What to show of the sGraph: kernels as block graphs or as boxes, one kernel alone, or the program. */
export type GraphLook =
  | { readonly kernels: readonly string[]; readonly expanded: boolean }
  | { readonly entered: string }
  | { readonly program: boolean };

/** What to show of a comparison: a selection, kinds of difference, a step to zoom into, the width of the map. */
export type CompareLook =
  | { readonly select: string }
  | { readonly kinds: readonly string[] }
  | { readonly root: string }
  | { readonly map_px: number };

/**
 * What to show: parts of the sGraph, the map from a node on, an earlier state of the search, which panels are hidden,
 * the widths of pictures.
 */
export type Look =
  | { readonly graph: GraphLook }
  | { readonly code: { readonly tab: string } | { readonly other: string } }
  | { readonly root: string }
  | { readonly cursor: number }
  | { readonly map: MapLook }
  | { readonly find: { readonly text: string; readonly position: number } }
  | { readonly filter: FilterLook }
  | { readonly sizes: { readonly subject: string; readonly values: Readonly<Record<string, number>> } }
  | { readonly families: readonly string[] }
  | { readonly tab: string }
  | { readonly egraph: EGraphLook }
  | { readonly tuning: TuningLook }
  | { readonly compare: CompareLook }
  | { readonly search: string }
  | { readonly hidden: readonly string[] }
  | { readonly map_px: number; readonly dock_px: number; readonly dock_high_px: number };

/** Time without an answer to `hello` or a command after which the connection counts as lost. */
const TIMEOUT_MS = 4000;
/** Longest time for which a page waits for the first message before it requests it. */
const FIRST_MS = 1000;
/** Time without an answer to `hello`, after Jupyter reported that the connection changed, after which it counts as closed. */
const RESTART_MS = 1000;
/** Longest time for which the request of an earlier state waits for the answer to the one before. */
const LOOK_MS = 1000;

export class Wire {
  private have = 0;
  private waiting = false;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private commands = 0;
  /** The timer of the earlier state that is requested, and the one to request next. */
  private looking: ReturnType<typeof setTimeout> | undefined;
  private nextCursor: number | null = null;
  private readonly name = Math.random().toString(36).slice(2, 10);
  private readonly parts = new Map<string, (string | undefined)[]>();
  /** Per section, the text that was reported last. Python sends a section again if it cannot know what arrived. */
  private readonly texts = new Map<string, string>();
  private readonly onMessage = (content: unknown): void => this.receive(content);
  /** Jupyter closed or opened the connection: a restarted kernel does not answer. */
  private readonly onLive = (): void => this.hello("closed", RESTART_MS);

  constructor(
    private readonly model: Model,
    private readonly listener: Listener,
  ) {}

  /** Report the sections of the snapshot in the notebook, then request the rest, unless Python sends them anyway. */
  open(): void {
    this.model.on("msg:custom", this.onMessage);
    this.model.on("comm_live_update", this.onLive);
    const snapshot = this.model.get("snapshot") as Snapshot | undefined;
    if (snapshot?.seq === 0) {
      this.waiting = true;
      this.timer = setTimeout(() => this.hello(), FIRST_MS);
      return;
    }
    if (snapshot?.texts) {
      this.have = snapshot.left_out.length === 0 ? snapshot.seq : 0;
      this.listener.sections(this.changed(Object.entries(snapshot.texts)));
    }
    this.hello();
  }

  close(): void {
    clearTimeout(this.timer);
    clearTimeout(this.looking);
    this.model.off("msg:custom", this.onMessage);
    this.model.off("comm_live_update", this.onLive);
  }

  /** Send a command; return its id, which the reply has too. */
  command(name: string, args: Args = {}): string {
    this.commands += 1;
    const event_id = `${this.name}-${this.commands}`;
    const sent = this.post({ kind: "command", event_id, name, args });
    // Every command has a reply.
    if (sent && this.timer === undefined) this.expect("silent", TIMEOUT_MS);
    return event_id;
  }

  /**
   * Send what to show. While an earlier state is requested, only the newest other one waits, so that a slider that is
   * dragged builds up no queue. The present is requested at once.
   */
  look(what: Look): void {
    if (!("cursor" in what)) {
      this.post({ kind: "look", ...what, ...("hidden" in what && { page: this.name }) });
      return;
    }
    if (this.looking !== undefined && what.cursor > 0) {
      this.nextCursor = what.cursor;
      return;
    }
    clearTimeout(this.looking);
    this.nextCursor = null;
    this.looking = setTimeout(() => this.looked(), LOOK_MS);
    this.commands += 1;
    this.post({ kind: "look", ...what, event_id: `${this.name}-${this.commands}` });
  }

  /** The earlier state has arrived. */
  private looked(): void {
    clearTimeout(this.looking);
    this.looking = undefined;
    if (this.nextCursor !== null) this.look({ cursor: this.nextCursor });
  }

  /** Send a message; false if the connection is closed. */
  private post(message: Parameters<Model["send"]>[0]): boolean {
    try {
      this.model.send(message);
      return true;
    } catch {
      // Jupyter throws where it has closed the connection of a kernel that ended.
      this.listener.connection("closed");
      return false;
    }
  }

  private hello(connection: Connection = "silent", timeout_ms = TIMEOUT_MS): void {
    this.waiting = this.post({ kind: "hello", have: this.have });
    if (this.waiting) this.expect(connection, timeout_ms);
  }

  /** Report a connection as lost if no message arrives in time. */
  private expect(connection: Connection, timeout_ms: number): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => {
      this.timer = undefined;
      this.waiting = false;
      this.listener.connection(connection);
    }, timeout_ms);
  }

  private receive(content: unknown): void {
    const message = content as Message;
    if (message?.kind !== "sections") return;
    for (const reply of message.replies) this.listener.reply(reply);
    if (this.have < message.after) {
      if (!this.waiting) this.hello();
      return;
    }
    clearTimeout(this.timer);
    this.timer = undefined;
    this.waiting = false;
    this.have = message.seq;
    const full = message.chunks.map(([section, ...part]) => [section, this.join(section, ...part)] as const);
    const changed = this.changed(full);
    this.listener.connection("open");
    if (changed.size > 0) this.listener.sections(changed);
    this.looked();
  }

  /** The sections whose text is another one than before, parsed. */
  private changed(given: readonly (readonly [string, string | null])[]): Map<string, unknown> {
    const changed = new Map<string, unknown>();
    for (const [section, text] of given) {
      if (text === null || text === this.texts.get(section)) continue;
      this.texts.set(section, text);
      changed.set(section, JSON.parse(text));
    }
    return changed;
  }

  /** The text of a section once its last chunk has arrived. */
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
