// The help dialog: first steps, words, and the keys.

import { add, h, refill } from "./lib/dom.ts";
import type { Key } from "./lib/keys.ts";

type Pair = readonly [term: string, text: string];

const STEPS: readonly Pair[] = [
  ["step", "Step advances the search by the unit in the list beside it; Run goes on to the end."],
  ["why pruned", "Click a hatched block of the search map; the inspector has the rule and its numbers."],
  [
    "which won",
    "The line below the buttons: the kernel, its time, and why; Proof, Code and Runner-up lead on.",
  ],
  ["steer", "Accept or reject a family in the table; Undo takes it back."],
  ["look back", "Drag the slider at the top right; nothing in the search changes."],
];
const WORDS: readonly Pair[] = [
  ["sGraph", "a program with symbolic sizes: kernels, their blocks and loops"],
  ["family", "an sGraph whose maps are unbound: how dims are partitioned is not chosen yet"],
  ["candidate", "a family with its maps chosen: imap and omap over the grid, fmap over the loop"],
  ["proved", "equal to the program for all sizes; unknown means neither proved nor refuted"],
  ["trial", "one choice of tuning parameters of a candidate, timed"],
  ["lower bound", "the roofline: no choice of parameters is faster in the cost model"],
];

export class Help {
  readonly element = h("dialog", { class: "pe-help", "aria-label": "help" });
  private readonly close = h("button", { type: "button", class: "pe-button pe-close" }, "Close");
  private readonly letters = h("input", { type: "checkbox", checked: true });

  constructor(
    keys: readonly Key[],
    private readonly closed: () => void,
  ) {
    const list = h("dl", { class: "pe-facts" });
    for (const key of keys) {
      if (key.shown) add(list, h("dt", {}, h("kbd", {}, key.shown)), h("dd", {}, key.help));
    }
    this.close.addEventListener("click", () => this.toggle());
    refill(
      this.element,
      this.close,
      h("h3", {}, "First steps"),
      definitions(STEPS),
      h("h3", {}, "Words"),
      definitions(WORDS),
      h("h3", {}, "Keys, while the explorer has the focus"),
      list,
      h("label", {}, this.letters, " keys without Ctrl are active"),
      h(
        "p",
        { class: "pe-muted" },
        "Ctrl + wheel zooms a picture, dragging moves it, a double click fits it into its panel.",
      ),
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
    } else {
      this.element.show();
      this.close.focus(); // at the top, not on the first field
    }
  }
}

function definitions(rows: readonly Pair[]): HTMLElement {
  const list = h("dl", { class: "pe-facts" });
  for (const [term, text] of rows) add(list, h("dt", {}, term), h("dd", {}, text));
  return list;
}
