// The dialog that lists the keys.

import { add, h, refill } from "./lib/dom.ts";
import type { Key } from "./lib/keys.ts";

export class Help {
  readonly element = h("dialog", { class: "pe-help", "aria-label": "keys" });
  private readonly letters = h("input", { type: "checkbox", checked: true });

  constructor(
    keys: readonly Key[],
    private readonly closed: () => void,
  ) {
    const list = h("dl", { class: "pe-facts" });
    for (const key of keys) {
      if (key.shown) add(list, h("dt", {}, h("kbd", {}, key.shown)), h("dd", {}, key.help));
    }
    const close = h("button", { type: "button", class: "pe-button" }, "Close");
    close.addEventListener("click", () => this.toggle());
    refill(
      this.element,
      h("h3", {}, "Keys, while the explorer has the focus"),
      list,
      h("label", {}, this.letters, " keys without Ctrl are active"),
      h(
        "p",
        { class: "pe-muted" },
        "Ctrl + wheel zooms a picture, dragging moves it, a double click fits it into its panel.",
      ),
      close,
    );
  }

  get open(): boolean {
    return this.element.open;
  }

  /** Whether keys that are single characters are active (WCAG 2.1.4). */
  get lettersActive(): boolean {
    return this.letters.checked;
  }

  toggle(): void {
    if (this.open) {
      this.element.close();
      this.closed();
    } else this.element.show();
  }
}
