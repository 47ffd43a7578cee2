// What every panel has: a title, a caption, tools, and a body.

import { h } from "../lib/dom.ts";
import { type Icon, icon } from "../lib/glyph.ts";
import { csvOf } from "../lib/reveal.ts";
import type { Stage } from "../lib/stage.ts";
import type { Sections, ShapeSizes } from "../sections.ts";
import type { Args, Look } from "../wire.ts";

/** The name of a panel is that of its section. */
export type PanelName = Exclude<
  keyof Sections,
  | "commands"
  | "transport"
  | "result"
  | "view"
  | "lineage"
  | "side_by_side"
  | "find"
  | "filter"
  | "script"
  | "error"
>;

/** The requests that a panel can make to the widget. */
export interface Host {
  /** Send a command to Python. */
  command(name: string, args?: Args): void;
  /** Change what is shown; this has no influence on the search. */
  look(what: Look): void;
  select(ref: string): void;
  /** Open an id: expand a custom kernel, show the graph of a family, zoom into a node. */
  enter(ref: string): void;
  hover(ref: string | null): void;
  copy(text: string, what: string): void;
  /** Show a panel, where only one at a time is shown or it is a tab. */
  show(panel: PanelName): void;
  maximise(panel: PanelName): void;
  /** Show the sizes of a graph in numbers, in its picture. */
  showSizes(subject: string, shapes: readonly ShapeSizes[], values: readonly number[]): void;
}

/** A panel draws one section; it has no other state of the search. */
export interface Panel<T> {
  readonly name: PanelName;
  readonly element: HTMLElement;
  /** Its picture, if it has one. */
  readonly stage?: Stage;
  update(data: T): void;
  /** `related`: what the selection belongs to, and what belongs to it. */
  select(refs: readonly string[], related?: readonly string[]): void;
  hover(refs: readonly string[]): void;
  close(): void;
  /** Open what is selected in the panel; by default, the graph of a family. */
  enter?(): void;
  /** Show the picture as a table, or the table as a picture. */
  toggleTable?(): void;
  focus?(): void;
}

export function tool(name: Icon, label: string, act: () => void): HTMLButtonElement {
  const button = h(
    "button",
    { type: "button", class: "pe-tool", title: label, "aria-label": label },
    icon(name),
  );
  button.addEventListener("click", act);
  return button;
}

/** The buttons that zoom a stage out and in. */
export function zoomTools(zoom: (factor: number) => void): HTMLButtonElement[] {
  return [
    tool("minus", "zoom out (Ctrl + wheel)", () => zoom(1 / 1.25)),
    tool("plus", "zoom in (Ctrl + wheel)", () => zoom(1.25)),
  ];
}

/** Panels whose tables can be copied. */
const CSV_PANELS: ReadonlySet<PanelName> = new Set(["families", "eclasses", "tuning", "ledger", "questions"]);

export class Frame {
  readonly element: HTMLElement;
  readonly caption = h("span", { class: "pe-caption" });
  readonly tools = h("span", { class: "pe-tools" });
  readonly body = h("div", { class: "pe-body" });

  constructor(
    readonly name: PanelName,
    title: string,
    host: Host,
    tools: readonly Node[] = [],
  ) {
    const csv = CSV_PANELS.has(name)
      ? [
          tool("copy", `copy ${title.toLowerCase()} as CSV`, () =>
            host.copy(csvOf(this.element), `${title.toLowerCase()} as CSV`),
          ),
        ]
      : [];
    this.tools.append(
      ...tools,
      ...csv,
      tool("maximise", `maximise ${title.toLowerCase()} (m)`, () => host.maximise(name)),
    );
    const head = h("header", { class: "pe-head" }, h("h3", {}, title), this.caption, this.tools);
    this.element = h(
      "section",
      { class: "pe-panel", "data-panel": name, "aria-label": title },
      head,
      this.body,
    );
  }
}
