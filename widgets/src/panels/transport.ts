// The bar on top: what is searched, its state and counts, and the buttons that run it.

import { Confirm } from "../confirm.ts";
import { h, mark, rewrite } from "../lib/dom.ts";
import { glyph, type Icon, icon } from "../lib/glyph.ts";
import { redraw, redrawList } from "../lib/keep.ts";
import type { Sections, Transport } from "../sections.ts";
import type { Host } from "./panel.ts";

export const GRAINS = ["event", "candidate", "family", "phase"] as const;
/** The first family takes many events, so one event is not the default. */
const DEFAULT_GRAIN = "family";

interface Button {
  readonly name: string;
  readonly element: HTMLButtonElement;
}

export class TransportBar {
  readonly element: HTMLElement;
  private readonly title = h("div", { class: "pe-title" });
  private readonly phases = h("ol", { class: "pe-phases", "aria-label": "phases" });
  private readonly confirm = new Confirm();
  private readonly counters = h("ul", { class: "pe-counters", "aria-label": "counts" });
  private readonly grain = h("select", {
    class: "pe-select",
    "aria-label": "size of one step",
    title: "size of one step",
  });
  private readonly state = h("span", { class: "pe-state" });
  private readonly moment = h("input", {
    type: "range",
    class: "pe-moment",
    min: 1,
    "aria-label": "show an earlier state of the search",
    title: "show an earlier state of the search; the search itself is not changed\nkeys: [ and ]",
  });
  private readonly when = h("button", { type: "button", class: "pe-link pe-when" }, "now");
  private readonly buttons: readonly Button[];
  private data: Transport | null = null;
  /** Whether a pause was requested; the current step ends first, which can take seconds. */
  private pausing = false;

  constructor(
    private readonly host: Host,
    /** The path to the fork that is shown; beside the phases it takes no height from the panels. */
    lineage: HTMLElement,
  ) {
    for (const grain of GRAINS) this.grain.append(h("option", { value: grain }, grain));
    this.grain.value = DEFAULT_GRAIN;
    const button = (name: string, label: string, which: Icon, act: () => void, how = ""): Button => {
      const element = h(
        "button",
        { type: "button", class: `pe-button ${how}`.trim(), "data-command": name, "aria-label": label },
        icon(which),
        how === "pe-bare" ? null : h("span", {}, label),
      );
      element.addEventListener("click", act);
      return { name, element };
    };
    const step = button("step", "Step", "step", () => this.step());
    const run = button("start", "Run", "run", () => this.toggleRun(), "pe-primary");
    const cancel = button("cancel", "Cancel", "cancel", () => this.askToCancel());
    const undo = button("undo", "Undo", "undo", () => host.command("undo"), "pe-bare");
    const redo = button("redo", "Redo", "redo", () => host.command("redo"), "pe-bare");
    this.buttons = [step, run, cancel, undo, redo];
    this.moment.addEventListener("input", () => this.lookBack(Number(this.moment.value)));
    this.when.addEventListener("click", () => this.lookBack(0));
    this.element = h(
      "div",
      { class: "pe-transport" },
      h(
        "div",
        { class: "pe-bar" },
        this.title,
        this.state,
        this.phases,
        lineage,
        h("span", { class: "pe-group pe-time" }, this.moment, this.when),
      ),
      h(
        "div",
        { class: "pe-bar", role: "toolbar", "aria-label": "search" },
        h("span", { class: "pe-group" }, step.element, this.grain),
        h("span", { class: "pe-group" }, run.element, cancel.element, this.confirm.element),
        h("span", { class: "pe-group" }, undo.element, redo.element),
        this.counters,
      ),
    );
  }

  /** The number of events that are shown; 0 for all of them. */
  get cursor(): number {
    return this.data?.cursor ?? 0;
  }

  step(): void {
    if (this.can("step")) this.host.command("step", { n: 1, grain: this.grain.value });
  }

  /** Run, resume or pause, depending on the state. */
  toggleRun(): void {
    const command = this.runCommand();
    if (!this.can(command) || this.pausing) return;
    this.pausing = command === "pause";
    this.host.command(command);
    if (this.pausing && this.data) this.update(this.data);
  }

  /** Show the state after the first `cursor` events; 0, or all of them, is the current state. */
  private lookBack(cursor: number): void {
    const total = this.data?.events ?? 0;
    this.host.look({ cursor: cursor < total ? cursor : 0 });
  }

  /** Look back by one event, or forward. */
  move(by: -1 | 1): void {
    if (!this.data) return;
    this.lookBack(Math.max(1, (this.data.cursor || this.data.events) + by));
  }

  backToNow(): void {
    this.lookBack(0);
  }

  /** Ask first, because a cancelled search cannot continue. */
  private askToCancel(): void {
    const cancel = this.buttons.find(({ name }) => name === "cancel")?.element;
    if (!cancel) return;
    const events = this.data?.events.toLocaleString("en") ?? "0";
    const text =
      `End the search for good? Kept: all ${events} events, proofs and times so far. ` +
      "Lost: the step in progress, and everything that was not searched yet. Pause keeps both.";
    this.confirm.ask(text, "End the search", "Keep searching", cancel, () => this.host.command("cancel"));
  }

  can(command: string): boolean {
    return this.data?.enabled.includes(command) ?? false;
  }

  /** Set the tooltips: the effect of a command, its line of Python, its key. */
  describe(commands: Sections["commands"]): void {
    const keys: Readonly<Record<string, string>> = { step: ".", start: "Space", undo: "u", redo: "Shift+U" };
    for (const { name, element } of this.buttons) {
      const row = commands[name];
      if (row)
        mark(
          element,
          "title",
          `${row.description}\n${row.python}${keys[name] ? `\nkey: ${keys[name]}` : ""}`,
        );
    }
  }

  update(data: Transport): void {
    this.data = data;
    this.pausing &&= data.state === "running";
    redraw(this.title, [data.program, data.target], () => [
      h("span", { class: "pe-brand" }, "Prism"),
      h("strong", { class: "pe-mono" }, data.program),
      h("span", { class: "pe-muted" }, data.target),
    ]);
    rewrite(this.state, `${data.state} · ${data.events.toLocaleString("en")} events`);
    mark(this.state, "data-state", data.state);
    mark(this.moment, "max", String(Math.max(1, data.events)));
    // While the slider is dragged, its value is newer than the data.
    if (!this.moment.matches(":active")) this.moment.value = String(data.cursor || data.events);
    rewrite(this.when, data.cursor > 0 ? `${data.cursor.toLocaleString("en")} · back to now` : "now");
    this.when.disabled = data.cursor === 0;
    redraw(this.phases, data.phases, () => [
      ...data.phases.map((phase) =>
        h("li", { "aria-current": phase.current ? "step" : null, title: phase.description }, phase.name),
      ),
      this.phaseSign(data),
    ]);
    if (!data.enabled.includes("cancel")) this.confirm.close();
    redrawList(this.counters, data.counters, ({ kind, label, value, description }) =>
      h("li", { title: description }, glyph(kind), h("strong", {}, value), h("span", {}, label)),
    );
    for (const { name, element } of this.buttons) {
      element.disabled =
        !this.can(name === "start" ? this.runCommand() : name) || (name === "start" && this.pausing);
      if (name === "start") this.labelRun(element);
    }
  }

  /** Which phase of how many, where there is no room for all; the tooltip has their names. */
  private phaseSign(data: Transport): HTMLElement {
    const current = data.phases.findIndex((phase) => phase.current);
    const names = data.phases.map((phase) => phase.name).join(", ");
    const of = `phase ${current + 1} of ${data.phases.length}: ${data.phases[current]?.name ?? ""}`;
    const text = current < 0 ? `${data.phases.length} phases` : of;
    return h("li", { class: "pe-phase-sign", title: `phases: ${names}` }, text);
  }

  private runCommand(): string {
    if (this.data?.state === "running") return "pause";
    return this.can("resume") ? "resume" : "start";
  }

  private labelRun(button: HTMLButtonElement): void {
    const command = this.runCommand();
    const label = this.pausing ? "Pausing" : ({ pause: "Pause", resume: "Resume" }[command] ?? "Run");
    redraw(button, label, () => [icon(command === "pause" ? "pause" : "run"), h("span", {}, label)]);
    mark(button, "data-command", command);
    mark(button, "aria-label", label);
  }
}
