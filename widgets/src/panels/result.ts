// The result card: the best kernel, its time against the baselines and the limit, and why it won.

import { h, mark } from "../lib/dom.ts";
import { glyph } from "../lib/glyph.ts";
import { redraw } from "../lib/keep.ts";
import type { Action, Comparison, ResultCard } from "../sections.ts";
import type { Host, PanelName } from "./panel.ts";

/** Values of absent fields. */
const NOTHING = {
  title: "",
  ref: "",
  time: "",
  spread: "",
  source: "",
  sentence: "",
  warning: "",
  doubt: "",
  comparisons: [],
  links: [],
  actions: [],
} as const;

export class ResultView {
  readonly element = h("section", { class: "pe-result pe-best", "aria-label": "result" });
  private ref = "";

  constructor(private readonly host: Host) {
    // A click on the card selects the kernel, as its button does.
    this.element.addEventListener("click", (event) => {
      if (this.ref && !(event.target as Element).closest("button")) this.host.select(this.ref);
    });
  }

  update(given: ResultCard): void {
    const data = { ...NOTHING, ...given };
    this.ref = data.ref;
    mark(this.element, "data-ref", data.ref || null);
    redraw(this.element, given, () => [
      h("div", { class: "pe-answer" }, ...this.answer(data)),
      h("p", { class: "pe-why", title: data.sentence }, this.spread(data), data.sentence),
      h(
        "div",
        { class: "pe-group pe-result-links" },
        ...data.actions.map((action) => this.action(action)),
        ...data.links.map((link) => this.link(link)),
      ),
    ]);
  }

  private answer(data: Required<ResultCard>): readonly (Node | null)[] {
    return [
      glyph(data.kind),
      h("span", { class: "pe-muted" }, data.label),
      data.title ? this.title(data) : null,
      data.time ? h("strong", { title: data.source }, data.time) : null,
      data.warning
        ? h(
            "span",
            { class: "pe-warning", title: data.warning },
            `⚠ ${data.doubt}`,
            h("span", { class: "pe-hidden" }, `: ${data.warning}`),
          )
        : null,
      data.comparisons.length > 0
        ? h(
            "ul",
            {
              class: "pe-comparisons",
              title: data.comparisons.map(sentence).join("\n"),
              "aria-label": "against baselines and limit",
            },
            ...data.comparisons.map(comparison),
          )
        : null,
    ];
  }

  private spread({ spread, source }: Required<ResultCard>): HTMLElement | null {
    return spread ? h("span", { class: "pe-muted pe-spread", title: source }, `${spread}. `) : null;
  }

  private title({ title, ref }: Required<ResultCard>): HTMLElement {
    const name = ref && ref !== title ? `${title} ${ref}` : title;
    if (!ref) return h("span", { class: "pe-mono" }, name);
    const button = h("button", { type: "button", class: "pe-link pe-mono", title: `select ${ref}` }, name);
    button.addEventListener("click", () => this.host.select(ref));
    return button;
  }

  private action({ label, command, args, python, description }: Action): HTMLElement {
    const title = `${description}\n${python}`;
    const button = h(
      "button",
      { type: "button", class: "pe-button pe-chip", title, "data-command": command },
      label,
    );
    button.addEventListener("click", () => this.host.command(command, args));
    return button;
  }

  private link({ ref, panel, label, description }: Required<ResultCard>["links"][number]): HTMLElement {
    const button = h("button", { type: "button", class: "pe-button pe-chip", title: description }, label);
    button.addEventListener("click", () => {
      this.host.select(ref);
      this.host.show(panel as PanelName);
    });
    return button;
  }
}

function sentence({ ratio, label, time }: Comparison): string {
  return `${ratio} ${label}, ${time}`;
}

function comparison(row: Comparison): HTMLElement {
  const limit = row.limit ? "pe-limit" : null;
  return h(
    "li",
    { class: limit, title: row.description },
    h("b", {}, row.ratio),
    ` ${row.label}, `,
    h("span", {}, row.time),
  );
}
