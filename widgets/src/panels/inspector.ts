// What is this, why is it so, and what can be done about it.

import { add, h } from "../lib/dom.ts";
import { glyph, type Icon, icon } from "../lib/glyph.ts";
import { type Part, Parts } from "../lib/keep.ts";
import type { Action, Card, Copy, Inspector, StepRow } from "../sections.ts";
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
  label: "Why",
  formula: "",
  substituted: "",
  facts: [],
  would_reopen_if: "",
  steps: [],
  copies: [],
} as const;

/** More facts than this are folded to the first few. */
const MANY = 9;
const SHOWN = 6;

type Whole = Required<Inspector>;

const NO_SUBJECT: Part = [
  "",
  () => h("p", { class: "pe-empty" }, "Select something: a block of the map, an operator, a family."),
];

export class InspectorPanel implements Panel<Inspector | null> {
  readonly name = "inspector";
  readonly element: HTMLElement;
  private readonly frame: Frame;
  private readonly parts: Parts;

  constructor(private readonly host: Host) {
    this.frame = new Frame("inspector", "Inspector", host);
    this.frame.body.classList.add("pe-inspector");
    this.frame.body.tabIndex = 0;
    this.parts = new Parts(this.frame.body);
    this.element = this.frame.element;
    this.update(null);
  }

  focus(): void {
    this.frame.body.focus();
  }

  update(given: Inspector | null): void {
    const data = given && { ...NOTHING, ...given };
    this.frame.says.textContent = data?.ref ?? "";
    this.parts.draw(data?.ref ?? "", data ? this.drawn(data) : [NO_SUBJECT]);
  }

  /** What is shown of a thing, part by part. */
  private drawn(data: Whole): Part[] {
    const { why, actions, ...what } = data;
    return [
      [JSON.stringify(what), () => this.what(data)],
      ...why.map((card): Part => [JSON.stringify(card), () => this.card(card)]),
      ...(actions.length > 0 ? [[JSON.stringify(actions), () => this.actions(actions)] as const] : []),
    ];
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

  private card(given: Card): HTMLElement {
    const card = { ...NO_CARD, ...given };
    return h(
      "article",
      { class: "pe-card" },
      h(
        "header",
        {},
        h("span", { class: "pe-eyebrow" }, card.label),
        card.kind ? glyph(card.kind) : null,
        h("code", {}, card.title),
        card.soundness ? h("span", { class: "pe-word", title: card.soundness_says }, card.soundness) : null,
      ),
      h("p", { class: "pe-sentence" }, card.sentence),
      card.formula ? h("pre", { class: "pe-formula" }, card.formula) : null,
      card.substituted ? h("pre", { class: "pe-formula pe-numbers" }, card.substituted) : null,
      card.steps.length > 0 ? this.steps(card.steps) : null,
      card.facts.length > 0 ? this.facts(card.facts, `${card.label} ${card.title}`) : null,
      ...card.copies.map((copy) => this.copy(copy)),
      card.soundness_says ? h("p", { class: "pe-muted" }, card.soundness_says) : null,
      card.would_reopen_if
        ? h("p", { class: "pe-reopen" }, h("b", {}, "Would reopen if "), card.would_reopen_if)
        : null,
    );
  }

  /** Facts; many of them behind a word, because a card is read from its sentence down. */
  private facts(facts: Whole["facts"], name: string): HTMLElement {
    if (facts.length <= MANY) return definitions(facts);
    const rest = h(
      "details",
      { "data-keep": name },
      h("summary", {}, `${facts.length - SHOWN} more`),
      definitions(facts.slice(SHOWN)),
    );
    return h("div", { class: "pe-part" }, definitions(facts.slice(0, SHOWN)), rest);
  }

  /** A derivation, lemma by lemma; one with a chain opens to it. */
  private steps(steps: readonly StepRow[]): HTMLElement {
    const list = h("ol", { class: "pe-steps" });
    for (const step of steps) {
      const name = h("button", { type: "button", class: "pe-link pe-mono" }, step.name);
      name.addEventListener("click", () => this.host.select(step.ref));
      const head = [glyph(step.kind), name, h("code", {}, step.says)];
      const lines = step.lines ?? [];
      const because = h("p", { class: "pe-muted" }, step.because);
      const chain = h("div", { class: "pe-chain" });
      for (const [n, [expression, by]] of lines.entries())
        add(
          chain,
          h("code", {}, n > 0 ? `= ${expression}` : expression),
          n > 0 ? h("span", { class: "pe-muted" }, `by ${by}`) : null,
        );
      const open = lines.length > 0 && steps.length === 1;
      add(
        list,
        lines.length > 0
          ? h(
              "li",
              {},
              h(
                "details",
                { open, "data-keep": `${step.ref} ${step.name}` },
                h("summary", {}, ...head),
                because,
                chain,
              ),
            )
          : h("li", {}, ...head, because),
      );
    }
    return list;
  }

  private copy({ label, text }: Copy): HTMLElement {
    const take = h(
      "button",
      { type: "button", class: "pe-button", title: "copy this text" },
      icon("copy"),
      label,
    );
    take.addEventListener("click", () => this.host.copy(text, label));
    if (!text.includes("\n")) return h("div", { class: "pe-action" }, take, h("code", {}, text));
    return h("details", {}, h("summary", {}, take), h("pre", { class: "pe-snippet" }, text));
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
