// A path between two terms: the steps as a list; the part of a term that changed is marked.

import { h, mark, refill } from "../lib/dom.ts";
import type { Choice, PathStep, TermPath } from "../sections.ts";
import type { Host } from "./panel.ts";

/** Time between two steps while the path is played. */
const PLAY_MS = 1400;

export class PathView {
  readonly element: HTMLElement;
  private readonly start = h("select", { class: "pe-select", "aria-label": "start of the path" });
  private readonly end = h("select", { class: "pe-select", "aria-label": "end of the path" });
  private readonly play = h("button", { type: "button", class: "pe-chip" }, "play");
  private readonly note = h("p", { class: "pe-muted" });
  private readonly list = h("ol", { class: "pe-path", start: 0 });
  private readonly ends: HTMLElement;
  private readonly choices: HTMLElement;
  private data: TermPath | null = null;
  private drawn = "";
  private timer: ReturnType<typeof setInterval> | undefined;

  constructor(private readonly host: Host) {
    this.start.addEventListener("change", () => host.look({ egraph: { start: this.start.value } }));
    this.end.addEventListener("change", () => host.look({ egraph: { end: this.end.value } }));
    this.play.addEventListener("click", () => this.toggle());
    const step = (by: number, label: string, title: string) => {
      const button = h("button", { type: "button", class: "pe-chip", title }, label);
      button.addEventListener("click", () => this.move(by));
      return button;
    };
    this.choices = h("span", {}, h("label", {}, "from ", this.start), h("label", {}, " to ", this.end));
    this.ends = h(
      "div",
      { class: "pe-choices" },
      this.choices,
      step(-1, "‹ previous", "the step before ([)"),
      step(1, "next ›", "the next step (])"),
      this.play,
    );
    this.element = h("div", { class: "pe-pathbox", hidden: true }, this.ends, this.note, this.list);
  }

  close(): void {
    this.stop();
  }

  update(data: TermPath | null): void {
    this.data = data;
    this.element.hidden = data === null;
    if (data === null) {
      this.stop();
      return;
    }
    const text = JSON.stringify([data.tensors, data.steps, data.note]);
    if (text !== this.drawn) {
      this.drawn = text;
      for (const select of [this.start, this.end]) refill(select, ...data.tensors.map(option));
      this.note.textContent = data.note;
      refill(this.list, ...data.steps.map((step, n) => this.row(step, n)));
    }
    this.ends.hidden = data.steps.length === 0;
    this.choices.hidden = data.tensors.length === 0;
    this.start.value = data.start;
    this.end.value = data.end;
    [...this.list.children].forEach((row, n) => {
      mark(row, "aria-current", n === data.step ? "step" : null);
    });
    const current = this.list.children[data.step];
    if (data.step > 0) current?.scrollIntoView?.({ block: "nearest" });
  }

  /** Show a later or an earlier step. */
  move(by: number): void {
    const { data } = this;
    const to = (data?.step ?? 0) + by;
    if (!data || to < 0 || to >= data.steps.length) {
      this.stop();
      return;
    }
    this.look(to);
  }

  private look(step: number): void {
    this.host.look({ egraph: { step } });
  }

  private toggle(): void {
    if (this.timer !== undefined) {
      this.stop();
      return;
    }
    if (this.data && this.data.step >= this.data.steps.length - 1) this.look(0);
    this.timer = setInterval(() => this.move(1), PLAY_MS);
    this.play.textContent = "stop";
  }

  private stop(): void {
    clearInterval(this.timer);
    this.timer = undefined;
    this.play.textContent = "play";
  }

  private row(step: PathStep, n: number): HTMLElement {
    const tensor = h("button", { type: "button", class: "pe-link" }, step.ref);
    tensor.addEventListener("click", () => this.host.select(step.ref));
    const term = h(
      "button",
      {
        type: "button",
        class: "pe-term",
        "aria-label": `step ${n}: ${step.before}${step.changed}${step.after}`,
      },
      step.before,
      step.changed ? h("mark", {}, step.changed) : null,
      step.after,
    );
    term.addEventListener("click", () => this.look(n));
    const was = step.replaced ? h("span", { class: "pe-muted" }, " · was ", h("s", {}, step.replaced)) : null;
    const why = h("div", { class: "pe-reasoning" }, `${step.why} · `, tensor, was);
    return h("li", {}, term, why);
  }
}

function option(choice: Choice): HTMLOptionElement {
  return h("option", { value: choice.name }, choice.label);
}
