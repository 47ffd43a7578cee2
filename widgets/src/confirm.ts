// A small question next to a button, before a step that cannot be undone.

import { h, refill } from "./lib/dom.ts";

export class Confirm {
  readonly element = h("div", { class: "pe-confirm", role: "alertdialog", hidden: true });
  private back: HTMLElement | null = null;

  constructor() {
    this.element.addEventListener("keydown", (event) => {
      event.stopPropagation();
      if (event.key === "Escape") this.close();
    });
  }

  /** Ask; `act` runs if the answer is `yes`. The focus starts on `no`, and returns to the button. */
  ask(text: string, yes: string, no: string, back: HTMLElement, act: () => void): void {
    this.back = back;
    const button = (label: string, how: string, then: () => void): HTMLButtonElement => {
      const element = h("button", { type: "button", class: `pe-button ${how}`.trim() }, label);
      element.addEventListener("click", () => {
        this.close();
        then();
      });
      return element;
    };
    const keep = button(no, "pe-primary", () => undefined);
    refill(this.element, h("p", {}, text), h("div", { class: "pe-group" }, keep, button(yes, "", act)));
    this.element.setAttribute("aria-label", text);
    this.element.hidden = false;
    keep.focus();
  }

  close(): void {
    if (this.element.hidden) return;
    this.element.hidden = true;
    this.back?.focus();
  }
}
