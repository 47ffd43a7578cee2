// The explorer in a page of its own: no notebook, no kernel, no network. What Python would compute for every
// selection lies in the page, and a model plays Python's part.

import { App } from "./app.ts";
import type { Inspector, Sections } from "./sections.ts";
import type { Model, Reply } from "./wire.ts";

/** What a selection changes besides the inspector. */
type Subject = Pick<Sections, "graph" | "eclasses" | "code">;

export interface Report {
  readonly sections: Sections;
  readonly inspectors: Readonly<Record<string, Inspector>>;
  readonly subjects: Readonly<Record<string, Subject>>;
  /** Per id, the family or candidate whose graph shows it. */
  readonly owners: Readonly<Record<string, string>>;
}

interface Said {
  readonly kind: string;
  readonly event_id?: string;
  readonly name?: string;
  readonly args?: Readonly<Record<string, unknown>>;
}

/** Plays Python: selections are answered from the page, all else is refused with the way to do it. */
export class Told {
  private seq = 0;
  private listener: ((content: unknown) => void) | null = null;

  constructor(private readonly report: Report) {}

  get(): undefined {
    return undefined;
  }

  on(_event: string, listener: (content: unknown) => void): void {
    this.listener = listener;
  }

  off(): void {
    this.listener = null;
  }

  send(said: Said): void {
    if (said.kind === "hello") this.tell(this.report.sections);
    if (said.kind !== "command" || !said.event_id) return;
    if (said.name === "select") this.select(String(said.args?.id ?? ""), said.event_id);
    else
      this.tell({}, [
        {
          event_id: said.event_id,
          ok: false,
          says: "This is a report. Steer a live search, or open the saved one in a notebook.",
        },
      ]);
  }

  private select(id: string, event_id: string): void {
    const { inspectors, owners, subjects, sections } = this.report;
    const inspector = id === "" ? sections.inspector : (inspectors[id] ?? missing(id));
    const owner = owners[id];
    const subject = owner === undefined ? undefined : subjects[owner];
    this.tell({ view: { selection: id }, inspector, ...subject }, [{ event_id, ok: true }]);
  }

  private tell(changed: Partial<Sections>, replies: readonly Reply[] = []): void {
    const pieces = Object.entries(changed).map(([name, value]) => [name, 0, 1, JSON.stringify(value)]);
    const after = this.seq;
    this.seq += 1;
    const message = { kind: "sections", seq: this.seq, after, pieces, replies };
    // As over a wire: an answer never comes while the question is still being asked.
    setTimeout(() => this.listener?.(message), 0);
  }
}

function missing(id: string): Inspector {
  return {
    ref: id,
    title: id,
    what: ["This report does not hold it. The saved search does; open that in a notebook."],
  };
}

const data = document.getElementById("prism-report");
if (data?.textContent) {
  const app = new App(new Told(JSON.parse(data.textContent) as Report) as unknown as Model);
  document.getElementById("prism-here")?.append(app.element);
  app.open();
}
