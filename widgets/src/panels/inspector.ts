// What is this, why is it so, and what can be done about it.

import { add, h, refill } from "../lib/dom.ts";
import { glyph, type Icon, icon } from "../lib/glyph.ts";
import type { Action, Inspector, ReasonCard } from "../sections.ts";
import { Frame, type Host, type Panel } from "./panel.ts";

/** What an absent field is. */
const NOTHING = {
  kind: "",
  word: "",
  what: [],
  facts: [],
  code: "",
  why: [],
  actions: [],
  links: [],
} as const;
const NO_CARD = {
  soundness: "",
  soundness_says: "",
  formula: "",
  substituted: "",
  facts: [],
  would_reopen_if: "",
} as const;

type Whole = Required<Inspector>;

export class InspectorPanel implements Panel<Inspector | null> {
  readonly name = "inspector";
  readonly element: HTMLElement;
  private readonly frame: Frame;

  constructor(private readonly host: Host) {
    this.frame = new Frame("inspector", "Inspector", host);
    this.frame.body.classList.add("pe-inspector");
    this.frame.body.tabIndex = 0;
    this.element = this.frame.element;
    this.update(null);
  }

  focus(): void {
    this.frame.body.focus();
  }

  update(given: Inspector | null): void {
    const data = given && { ...NOTHING, ...given };
    if (data === null) {
      this.frame.says.textContent = "";
      refill(
        this.frame.body,
        h("p", { class: "pe-empty" }, "Select something: a block of the map, an operator, a family."),
      );
      return;
    }
    this.frame.says.textContent = data.ref;
    refill(this.frame.body, this.what(data));
    for (const card of data.why) add(this.frame.body, this.card(card));
    if (data.actions.length > 0) add(this.frame.body, this.actions(data.actions));
  }

  select(): void {}
  hover(): void {}
  close(): void {}

  private what(data: Whole): HTMLElement {
    const facts = data.facts.length > 0 ? definitions(data.facts) : null;
    const links = data.links.map(({ ref, label }) => {
      const link = h("button", { type: "button", class: "pe-chip" }, label);
      link.addEventListener("click", () => this.host.select(ref));
      return link;
    });
    return h(
      "div",
      { class: "pe-part" },
      h(
        "h4",
        {},
        data.kind ? glyph(data.kind) : null,
        h("span", {}, data.title),
        data.word ? h("span", { class: "pe-word" }, data.word) : null,
      ),
      ...data.what.map((line) => h("p", {}, line)),
      data.code ? h("pre", { class: "pe-snippet" }, data.code) : null,
      facts,
      links.length > 0 ? h("div", { class: "pe-chips" }, ...links) : null,
    );
  }

  private card(given: ReasonCard): HTMLElement {
    const card = { ...NO_CARD, ...given };
    return h(
      "article",
      { class: "pe-card" },
      h(
        "header",
        {},
        h("span", { class: "pe-eyebrow" }, "Why"),
        card.kind ? glyph(card.kind) : null,
        h("code", {}, card.title),
        card.soundness ? h("span", { class: "pe-word", title: card.soundness_says }, card.soundness) : null,
      ),
      h("p", { class: "pe-sentence" }, card.sentence),
      card.formula ? h("pre", { class: "pe-formula" }, card.formula) : null,
      card.substituted ? h("pre", { class: "pe-formula pe-numbers" }, card.substituted) : null,
      card.facts.length > 0 ? definitions(card.facts) : null,
      card.soundness_says ? h("p", { class: "pe-muted" }, card.soundness_says) : null,
      card.would_reopen_if
        ? h("p", { class: "pe-reopen" }, h("b", {}, "Would reopen if "), card.would_reopen_if)
        : null,
    );
  }

  private actions(actions: readonly Action[]): HTMLElement {
    const box = h("div", { class: "pe-part pe-do" }, h("span", { class: "pe-eyebrow" }, "Do"));
    for (const action of actions) {
      const name = action.command as Icon;
      const act = h(
        "button",
        {
          type: "button",
          class: "pe-button",
          disabled: !action.enabled,
          title: action.says,
          "data-command": action.command,
        },
        ["accept", "reject", "undo", "redo"].includes(action.command) ? icon(name) : null,
        h("span", {}, action.label),
      );
      act.addEventListener("click", () => this.host.command(action.command, action.args));
      const line = h(
        "button",
        { type: "button", class: "pe-python", title: "copy this line" },
        action.python,
      );
      line.addEventListener("click", () => this.host.copy(action.python, "the line"));
      add(box, h("div", { class: "pe-action" }, act, line));
    }
    return box;
  }
}

function definitions(facts: readonly (readonly [string, string])[]): HTMLElement {
  const list = h("dl", { class: "pe-facts" });
  for (const [label, value] of facts) add(list, h("dt", {}, label), h("dd", {}, value));
  return list;
}
