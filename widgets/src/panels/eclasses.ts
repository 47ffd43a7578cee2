// The e-classes of a candidate, the e-graph of a lemma frame by frame, or a path between two terms; and the lemmas.

import { h, mark } from "../lib/dom.ts";
import { redraw } from "../lib/keep.ts";
import type { EClasses, FrameSlider } from "../sections.ts";
import type { EGraphLook } from "../wire.ts";
import { Chooser } from "./chooser.ts";
import type { Host, Panel } from "./panel.ts";
import { PathView } from "./path.ts";
import { SplitPanel } from "./split.ts";

export class EClassesPanel extends SplitPanel implements Panel<EClasses> {
  readonly name = "eclasses";
  private readonly modes: Chooser;
  private readonly rules: Chooser;
  private readonly ruleRow: HTMLElement;
  private readonly range = h("input", {
    type: "range",
    min: 0,
    step: 1,
    "aria-label": "frame of the e-graph",
  });
  private readonly frames: HTMLElement;
  private readonly lemma = h("select", { class: "pe-select", "aria-label": "lemma of the e-graph" });
  private readonly number = h("span", { class: "pe-muted" });
  private readonly more = h("button", { type: "button", class: "pe-button" });
  private readonly path: PathView;
  private slider: FrameSlider | null = null;
  private data: EClasses | null = null;

  constructor(private readonly host: Host) {
    super("eclasses", "E-classes", "lemmas of the proof", host, "No candidate has a verdict yet.");
    this.modes = new Chooser("what is shown", (mode) => this.choose(mode));
    this.rules = new Chooser("axioms that changed the e-graph", (rule) => this.look({ rule }));
    this.ruleRow = h(
      "div",
      { class: "pe-choices" },
      h("span", { class: "pe-muted" }, "axioms and matches:"),
      this.rules.element,
    );
    const step = (by: number, label: string, title: string) => {
      const button = h("button", { type: "button", class: "pe-chip", title }, label);
      button.addEventListener("click", () => this.move(by));
      return button;
    };
    this.frames = h(
      "span",
      { class: "pe-chooser pe-frames" },
      step(-1, "‹ previous", "the frame before ([)"),
      this.range,
      step(1, "next ›", "the next frame (])"),
      this.number,
    );
    this.range.addEventListener("input", () => this.showFrame(Number(this.range.value)));
    this.lemma.addEventListener("change", () => host.select(this.lemma.value));
    this.more.addEventListener("click", () => this.look({ more: true }));
    this.path = new PathView(host);
    const choices = h(
      "div",
      { class: "pe-choices" },
      this.modes.element,
      this.lemma,
      this.frames,
      this.more,
      this.hint,
    );
    this.frame.body.prepend(choices, this.ruleRow);
    this.left.append(this.path.element);
    this.element.addEventListener("keydown", (event) => this.onKey(event));
  }

  update(data: EClasses): void {
    this.data = data;
    this.slider = data.slider;
    this.modes.update(data.modes, data.mode);
    this.rules.update(data.rules, data.rule);
    // One axiom is worth a button, too.
    this.rules.element.hidden = false;
    this.ruleRow.hidden = data.rules.length === 0;
    this.frames.hidden = data.slider === null || data.slider.last === 0;
    this.lemma.hidden = data.statements.length === 0;
    redraw(this.lemma, data.statements, () =>
      data.statements.map(({ name, label }) => h("option", { value: name }, label)),
    );
    if (data.slider) {
      this.lemma.value = `${data.slider.lemma}0`;
      this.range.max = String(data.slider.last);
      this.range.value = String(data.slider.number);
      this.number.textContent = `frame ${data.slider.number} of ${data.slider.last}`;
    }
    this.more.hidden = data.more === "";
    this.more.textContent = data.more;
    this.show(data.caption, data.scene, data.lemmas);
    this.path.update(data.path);
    mark(this.left, "data-path", data.path !== null);
  }

  override close(): void {
    super.close();
    this.path.close();
  }

  private look(egraph: EGraphLook): void {
    this.host.look({ egraph });
  }

  private choose(mode: string): void {
    this.look({ mode });
    if (!this.data) return;
    if (mode === "egraph" && this.data.slider === null) this.host.select(this.data.frame_ref);
    if (mode === "classes" && this.data.slider !== null) this.host.select(this.data.subject);
  }

  private move(by: number): void {
    if (this.data?.path) this.path.move(by);
    else if (this.slider) this.showFrame(this.slider.number + by);
  }

  private showFrame(number: number): void {
    const { slider } = this;
    if (!slider || number < 0 || number > slider.last || number === slider.number) return;
    this.host.select(`${slider.lemma}${number}${slider.focus}`);
  }

  /** [ and ] step through frames or a path, instead of through events, while this panel has the focus. */
  private onKey(event: KeyboardEvent): void {
    const by = { "[": -1, "]": 1 }[event.key];
    if (by === undefined || event.altKey || event.ctrlKey || event.metaKey) return;
    if (this.slider === null && !this.data?.path) return;
    this.move(by);
    event.preventDefault();
    event.stopPropagation();
  }
}
