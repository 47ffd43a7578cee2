// A row of buttons of which one is pressed: the charts of a panel, the modes of the map.

import { h, mark } from "../lib/dom.ts";
import { redraw } from "../lib/keep.ts";
import type { Choice } from "../sections.ts";

export class Chooser {
  readonly element: HTMLElement;

  constructor(
    label: string,
    private readonly choose: (name: string) => void,
  ) {
    this.element = h("span", { class: "pe-chooser", role: "group", "aria-label": label });
  }

  update(choices: readonly Choice[], chosen: string): void {
    redraw(this.element, choices, () => choices.map((choice) => this.button(choice)));
    for (const button of this.element.children) {
      mark(button, "aria-pressed", String(button.getAttribute("data-choice") === chosen));
    }
    this.element.hidden = choices.length < 2;
  }

  private button(choice: Choice): HTMLButtonElement {
    const button = h(
      "button",
      { type: "button", class: "pe-chip", title: choice.tip || null, "data-choice": choice.name },
      choice.label,
    );
    button.addEventListener("click", () => this.choose(choice.name));
    return button;
  }
}
