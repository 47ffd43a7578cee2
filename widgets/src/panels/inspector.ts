// The inspector: the selected thing, the reasons for its status, and the commands for it.

import { add, h } from "../lib/dom.ts";
import { glyph, type Icon, icon } from "../lib/glyph.ts";
import { type Part, Parts } from "../lib/keep.ts";
import { typeset } from "../lib/math.ts";
import type { Action, Card, Copy, Definition, Inspector, StepRow } from "../sections.ts";
import { Frame, type Host, type Panel } from "./panel.ts";

/** Values of absent fields. */
const NOTHING = {
  kind: "",
  status: "",
  description: [],
  details: [],
  code: "",
  code_math: "",
  cards: [],
  actions: [],
  links: [],
} as const;
const NO_CARD = {
  soundness: "",
  soundness_text: "",
  label: "Why",
  formula: "",
  formula_math: "",
  substituted: "",
  where: [],
  details: [],
  would_reopen_if: "",
  steps: [],
  copies: [],
} as const;

/** If there are more details than this, only the first `SHOWN` are unfolded. */
const MANY = 9;
const SHOWN = 6;

type Full = Required<Inspector>;

const NO_SUBJECT: Part = [
  "",
  () =>
    h("p", { class: "pe-empty" }, "Nothing is selected: click a block of the map, an operator, or a family."),
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
    this.frame.caption.textContent = data?.ref ?? "";
    this.parts.draw(data?.ref ?? "", data ? this.drawn(data) : [NO_SUBJECT]);
  }

  /** The parts that are drawn of a thing. */
  private drawn(data: Full): Part[] {
    const { cards, actions, ...summary } = data;
    return [
      [JSON.stringify(summary), () => this.summary(data)],
      ...cards.map((card): Part => [JSON.stringify(card), () => this.card(card)]),
      ...(actions.length > 0 ? [[JSON.stringify(actions), () => this.actions(actions)] as const] : []),
    ];
  }

  select(): void {}
  hover(): void {}
  close(): void {}

  private summary(data: Full): HTMLElement {
    const details = data.details.length > 0 ? definitions(data.details) : null;
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
        data.status ? h("span", { class: "pe-word" }, data.status) : null,
      ),
      ...data.description.map((line) => h("p", {}, line)),
      data.code_math
        ? typeset(data.code_math, data.code)
        : data.code
          ? h("pre", { class: "pe-snippet" }, data.code)
          : null,
      details,
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
        card.soundness ? h("span", { class: "pe-word", title: card.soundness_text }, card.soundness) : null,
      ),
      card.sentence ? h("p", { class: "pe-sentence" }, card.sentence) : null,
      card.formula ? typeset(card.formula_math, card.formula) : null,
      card.substituted ? h("pre", { class: "pe-formula pe-numbers" }, card.substituted) : null,
      card.where.length > 0 ? this.where(card.where) : null,
      card.steps.length > 0 ? this.steps(card.steps) : null,
      card.details.length > 0 ? this.details(card.details, `${card.label} ${card.title}`) : null,
      ...card.copies.map((copy) => this.copy(copy)),
      card.soundness_text ? h("p", { class: "pe-muted" }, card.soundness_text) : null,
      card.would_reopen_if
        ? h("p", { class: "pe-reopen" }, h("b", {}, "Would reopen if "), card.would_reopen_if)
        : null,
    );
  }

  /** The meanings of the symbols of a formula. */
  private where(definitions: readonly Definition[]): HTMLElement {
    const list = h("dl", { class: "pe-facts pe-where" });
    for (const { symbol, text, math } of definitions)
      add(list, h("dt", {}, symbol), h("dd", {}, typeset(math, text)));
    return h("div", { class: "pe-part" }, h("span", { class: "pe-eyebrow" }, "where"), list);
  }

  /** The details of a card; if there are many, all but the first are folded. */
  private details(details: Full["details"], name: string): HTMLElement {
    if (details.length <= MANY) return definitions(details);
    const rest = h(
      "details",
      { "data-keep": name },
      h("summary", {}, `${details.length - SHOWN} more`),
      definitions(details.slice(SHOWN)),
    );
    return h("div", { class: "pe-part" }, definitions(details.slice(0, SHOWN)), rest);
  }

  /** The lemmas of a derivation; one with a derivation of its own can be unfolded. */
  private steps(steps: readonly StepRow[]): HTMLElement {
    const list = h("ol", { class: "pe-steps" });
    for (const step of steps) {
      const name = h("button", { type: "button", class: "pe-link pe-mono" }, step.name);
      name.addEventListener("click", () => this.host.select(step.ref));
      const head = [glyph(step.kind), name, inline(step.equation_math, step.equation)];
      const lines = step.lines ?? [];
      const justification = h("p", { class: "pe-muted" }, step.justification);
      const chain = h("div", { class: "pe-chain" });
      for (const [n, [expression, by]] of lines.entries())
        add(
          chain,
          h("span", {}, n > 0 ? "= " : null, inline(step.lines_math?.[n], expression)),
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
                justification,
                chain,
              ),
            )
          : h("li", {}, ...head, justification),
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
    const box = h("div", { class: "pe-part pe-do" }, h("span", { class: "pe-eyebrow" }, "Commands"));
    for (const action of actions) {
      const name = action.command as Icon;
      const act = h(
        "button",
        {
          type: "button",
          class: "pe-button",
          disabled: !action.enabled,
          title: action.description,
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

/** A formula within a line. */
function inline(math: string | undefined, text: string): Element {
  return math ? typeset(math, text) : h("code", {}, text);
}

function definitions(details: readonly (readonly [string, string])[]): HTMLElement {
  const list = h("dl", { class: "pe-facts" });
  for (const [label, value] of details) add(list, h("dt", {}, label), h("dd", {}, value));
  return list;
}
