// What every panel has: a heading, a line about what it shows, tools, and a body.

import { h } from "../lib/dom.ts";
import { type Icon, icon } from "../lib/glyph.ts";
import type { Args, Look } from "../wire.ts";

export type PanelName =
  | "map"
  | "graph"
  | "inspector"
  | "families"
  | "eclasses"
  | "tuning"
  | "ledger"
  | "questions"
  | "code";

/** What a panel may ask of the widget around it. */
export interface Host {
  /** Send a command to Python. */
  command(name: string, args?: Args): void;
  /** Say what to show, which changes no search. */
  look(what: Look): void;
  select(ref: string): void;
  /** Open it: a custom kernel is expanded, a family's graph comes into view. */
  enter(ref: string): void;
  hover(ref: string | null): void;
  copy(text: string, what: string): void;
  maximise(panel: PanelName): void;
}

/** A panel that shows one section; it draws what it is given and keeps nothing else. */
export interface Panel<T> {
  readonly name: PanelName;
  readonly element: HTMLElement;
  update(data: T): void;
  select(refs: readonly string[]): void;
  hover(ref: string | null): void;
  close(): void;
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

export class Frame {
  readonly element: HTMLElement;
  readonly says = h("span", { class: "pe-says" });
  readonly tools = h("span", { class: "pe-tools" });
  readonly body = h("div", { class: "pe-body" });

  constructor(
    readonly name: PanelName,
    title: string,
    host: Host,
    tools: readonly Node[] = [],
  ) {
    this.tools.append(
      ...tools,
      tool("maximise", `maximise ${title.toLowerCase()} (m)`, () => host.maximise(name)),
    );
    const head = h("header", { class: "pe-head" }, h("h3", {}, title), this.says, this.tools);
    this.element = h(
      "section",
      { class: "pe-panel", "data-panel": name, "aria-label": title },
      head,
      this.body,
    );
  }
}
