// The module of a report: the explorer on a page without notebook, kernel and network. The page has the events as
// columns and the other panels at many moments; a model answers from them in place of Python.

import { App } from "./app.ts";
import { CompareWindow } from "./compare_window.ts";
import { Compared, type ComparedData } from "./fold/compared.ts";
import { changedFilter, NO_FILTER } from "./fold/filter.ts";
import { Folded, type Look, type Report } from "./fold/folded.ts";
import { Pool, type PoolData } from "./fold/pool.ts";
import { h, refill } from "./lib/dom.ts";
import { decompress } from "./lib/lzma.ts";
import type { Inspector, Sections } from "./sections.ts";
import type { CompareLook, FilterLook, Model, Reply } from "./wire.ts";

interface Sent {
  readonly kind: string;
  readonly event_id?: string;
  readonly name?: string;
  readonly args?: Readonly<Record<string, unknown>>;
  readonly [field: string]: unknown;
}

/** The page of a comparison. */
interface Comparison {
  readonly compared: ComparedData;
  readonly pool: PoolData;
}

/** The replies to a message that is obeyed. */
function accepted({ event_id }: Sent): readonly Reply[] {
  return event_id === undefined ? [] : [{ event_id, ok: true }];
}

/** The part of a model that sends sections. */
class Answers {
  private seq = 0;
  private listener: ((content: unknown) => void) | null = null;
  protected readonly sent = new Map<string, string>();
  /** The sections of the last message, by identity. */
  private readonly given = new Map<string, unknown>();

  get(): undefined {
    return undefined;
  }

  on(event: string, listener: (content: unknown) => void): void {
    if (event === "msg:custom") this.listener = listener;
  }

  off(event: string): void {
    if (event === "msg:custom") this.listener = null;
  }

  /** Send the sections that changed. */
  protected emit(sections: Readonly<Record<string, unknown>>, replies: readonly Reply[]): void {
    const chunks: [string, number, number, string][] = [];
    for (const [name, value] of Object.entries(sections)) {
      if (this.sent.has(name) && this.given.get(name) === value) continue;
      this.given.set(name, value);
      const text = JSON.stringify(value ?? null);
      if (this.sent.get(name) === text) continue;
      this.sent.set(name, text);
      chunks.push([name, 0, 1, text]);
    }
    const after = this.seq;
    this.seq += 1;
    const message = { kind: "sections", seq: this.seq, after, chunks, replies };
    // As with a kernel, the answer arrives after the request has returned.
    setTimeout(() => this.listener?.(message), 0);
  }
}

/** Add an id of the map to one list, and remove it from the other one. */
function toggle(look: Look, to: "opened" | "closed", from: "opened" | "closed", id: string): void {
  const others = (ids: readonly string[]) => ids.filter((other) => other !== id);
  look[to] = [...others(look[to]), id];
  look[from] = others(look[from]);
}

/** Answers what the explorer sends from the data of the page. */
export class ReportModel extends Answers {
  private readonly folded: Folded;
  private readonly look: Look;
  private commands: Sections["commands"] = {};
  private inspector: Inspector | null = null;

  constructor(
    report: Report,
    /** Called with the line of Python of a command that a report cannot run. */
    private readonly refused: (python: string) => void = () => {},
  ) {
    super();
    this.folded = new Folded(report);
    this.look = {
      selection: "",
      subject: "",
      cursor: 0,
      root: "",
      map_px: 460,
      opened: [],
      closed: [],
      map_mode: "icicle",
      map_similar: false,
      interval: null,
      filter: NO_FILTER,
      collapsed: false,
      entered: "",
      program: false,
      tuning: "curve",
      path: false,
      step: 0,
    };
  }

  send(message: Sent): void {
    const { look } = this;
    if (message.kind === "hello") this.sent.clear();
    else if (message.kind === "look") this.change(message);
    else if (message.name === "select") {
      look.selection = String(message.args?.id ?? "");
      const subject = this.folded.subjectOf(look.selection, look.cursor) || look.subject;
      look.subject = look.selection ? subject : "";
    } else {
      this.refuse(message);
      return;
    }
    this.answer(accepted(message));
  }

  /** Change what is shown; what a report cannot show changes nothing. */
  private change(message: Sent): void {
    const { look } = this;
    const { cursor, root, map_px } = message;
    if (typeof cursor === "number") look.cursor = cursor < this.folded.count ? cursor : 0;
    if (typeof root === "string") look.root = root;
    if (typeof map_px === "number") look.map_px = Math.max(240, Math.min(2400, map_px));
    const of = (name: string) => (message[name] ?? {}) as Readonly<Record<string, unknown>>;
    const { mode, open, close, similar, interval } = of("map");
    if (typeof mode === "string") {
      look.map_mode = mode;
      look.map_similar ||= mode === "similar";
    }
    if (typeof similar === "boolean") look.map_similar = similar;
    if (typeof close === "string") toggle(look, "closed", "opened", close);
    if (typeof open === "string") toggle(look, "opened", "closed", open);
    if (Array.isArray(interval)) look.interval = interval.length === 2 ? [interval[0], interval[1]] : null;
    if (message.filter) look.filter = changedFilter(look.filter, message.filter as FilterLook);
    const { expanded, entered, program } = of("graph");
    if (typeof expanded === "boolean") look.collapsed = !expanded;
    if (typeof entered === "string") Object.assign(look, { entered, program: false });
    if (typeof program === "boolean") Object.assign(look, { program, entered: "" });
    const chart = of("tuning").mode;
    if (typeof chart === "string") look.tuning = chart;
    const { mode: shown, step } = of("egraph");
    if (typeof shown === "string") Object.assign(look, { path: shown === "path", step: 0 });
    if (typeof step === "number") look.step = step;
    if (message.compare) this.folded.compared?.look(message.compare as CompareLook);
  }

  private refuse(message: Sent): void {
    const { event_id, name = "", args } = message;
    if (event_id === undefined) return;
    const same = (other: Readonly<Record<string, unknown>>) =>
      JSON.stringify(other) === JSON.stringify(args ?? {});
    const action = this.inspector?.actions?.find((a) => a.command === name && same(a.args));
    const python = action?.python ?? this.commands[name]?.python ?? `sess.${name}(…)`;
    this.refused(python);
    const refusal = `A report cannot run ${python}. Open the saved search in a notebook.`;
    this.answer([{ event_id, ok: false, message: refusal }]);
  }

  private answer(replies: readonly Reply[]): void {
    const sections = this.folded.sections(this.look);
    this.commands = (sections.commands as Sections["commands"] | undefined) ?? {};
    this.inspector = sections.inspector as Inspector | null;
    this.emit(sections, replies);
  }
}

/** Answers what the window of a comparison sends. */
export class ComparisonModel extends Answers {
  private readonly compared: Compared;

  constructor({ compared, pool }: Comparison) {
    super();
    this.compared = new Compared(compared, new Pool(pool));
  }

  send(message: Sent): void {
    if (message.kind === "look" && message.compare) this.compared.look(message.compare as CompareLook);
    this.emit({ compare: this.compared.get() }, accepted(message));
  }
}

function bytesOf(base64: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(atob(base64.trim()), (c) => c.charCodeAt(0));
}

/** The data of a page: base64 of JSON that LZMA compressed. */
export function unpack(text: string): Report | Comparison {
  return JSON.parse(new TextDecoder().decode(decompress(bytesOf(text)))) as Report | Comparison;
}

function show(data: string, place: HTMLElement): void {
  try {
    const line = h("p", { class: "prism-refused", role: "status", hidden: true });
    const report = unpack(data);
    const app =
      "moments" in report
        ? new App(new ReportModel(report, (python) => offerLine(line, python)) as unknown as Model)
        : new CompareWindow(new ComparisonModel(report) as unknown as Model);
    refill(place, line, app.element);
    app.open();
  } catch (error) {
    const text = `This report is damaged and cannot be shown: ${String(error)}. Write it again with sess.report(path).`;
    refill(place, h("p", { role: "alert" }, text));
  }
}

/** Say that a report cannot steer, and offer the line of Python. */
function offerLine(place: HTMLElement, python: string): void {
  const copy = h("button", { type: "button" }, `Copy ${python}`);
  copy.addEventListener("click", () => void navigator.clipboard?.writeText(python));
  refill(place, "This is a report. To steer the search, open the saved search in a notebook. ", copy);
  place.hidden = false;
}

/** A button that downloads the saved search in the page. */
function offerSearch(base64: string, place: HTMLElement): void {
  const button = h("button", { type: "button" }, "Download the search");
  button.addEventListener("click", () => {
    const file = URL.createObjectURL(new Blob([bytesOf(base64)]));
    h("a", { href: file, download: `${place.dataset.file}.prism` }).click();
    setTimeout(() => URL.revokeObjectURL(file), 1000);
  });
  place.append(" ", button);
}

const search = document.getElementById("prism-search")?.textContent;
if (search) offerSearch(search, document.querySelector<HTMLElement>("body > footer") ?? document.body);
const data = document.getElementById("prism-report")?.textContent;
const place = document.getElementById("prism-here");
if (data && place) show(data, place);
