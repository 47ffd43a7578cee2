// The module of a report: the explorer on a page without notebook, kernel and network. The page holds the data of
// every selection, and a model answers in place of Python.

import { App } from "./app.ts";
import type { Inspector, Sections } from "./sections.ts";
import type { Model, Reply } from "./wire.ts";

/** The sections that a selection changes besides the inspector. */
type Subject = Pick<Sections, "graph" | "eclasses" | "code">;

export interface Report {
  readonly sections: Sections;
  readonly inspectors: Readonly<Record<string, Inspector>>;
  readonly subjects: Readonly<Record<string, Subject>>;
  /** Per id, the family or candidate whose graph contains it. */
  readonly owners: Readonly<Record<string, string>>;
}

interface Sent {
  readonly kind: string;
  readonly event_id?: string;
  readonly name?: string;
  readonly args?: Readonly<Record<string, unknown>>;
}

/** Answers selections from the data of the page, and refuses every other command. */
export class ReportModel {
  private seq = 0;
  private listener: ((content: unknown) => void) | null = null;

  constructor(private readonly report: Report) {}

  get(): undefined {
    return undefined;
  }

  on(event: string, listener: (content: unknown) => void): void {
    if (event === "msg:custom") this.listener = listener;
  }

  off(event: string): void {
    if (event === "msg:custom") this.listener = null;
  }

  send(message: Sent): void {
    if (message.kind === "hello") this.emit(this.report.sections);
    if (message.kind !== "command" || !message.event_id) return;
    if (message.name === "select") this.select(String(message.args?.id ?? ""), message.event_id);
    else
      this.emit({}, [
        {
          event_id: message.event_id,
          ok: false,
          message: "A report cannot run commands. Open the saved search in a notebook.",
        },
      ]);
  }

  private select(id: string, event_id: string): void {
    const { inspectors, owners, subjects, sections } = this.report;
    const inspector = id === "" ? sections.inspector : (inspectors[id] ?? missing(id));
    const owner = owners[id];
    const subject = owner === undefined ? undefined : subjects[owner];
    this.emit({ view: { selection: id }, inspector, ...subject }, [{ event_id, ok: true }]);
  }

  private emit(changed: Partial<Sections>, replies: readonly Reply[] = []): void {
    const chunks = Object.entries(changed).map(([name, value]) => [name, 0, 1, JSON.stringify(value)]);
    const after = this.seq;
    this.seq += 1;
    const message = { kind: "sections", seq: this.seq, after, chunks, replies };
    // As with a kernel, the answer arrives after the request has returned.
    setTimeout(() => this.listener?.(message), 0);
  }
}

function missing(id: string): Inspector {
  return {
    ref: id,
    title: id,
    description: ["This report does not contain it. Open the saved search in a notebook."],
  };
}

const data = document.getElementById("prism-report");
if (data?.textContent) {
  const app = new App(new ReportModel(JSON.parse(data.textContent) as Report) as unknown as Model);
  document.getElementById("prism-here")?.append(app.element);
  app.open();
}
