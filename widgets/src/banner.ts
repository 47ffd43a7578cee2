// The banner below the bar: the kernel is gone, an error, an earlier state, or an interrupted search of the same
// program, with what can be done about it.

import type { App } from "./app.ts";
import { add, h, refill, rewrite } from "./lib/dom.ts";

interface BannerAction {
  readonly label: string;
  readonly act: (app: App) => void;
  readonly isPossible?: (app: App) => boolean;
}

/** What the banner can be about; of several texts, the first is shown. */
interface Known {
  /** The kernel is gone. */
  readonly gone: string;
  readonly error: string;
  /** An earlier state is shown. */
  readonly past: string;
  /** A search of the same program was interrupted. */
  readonly interrupted: string;
  /** The line of Python that continues it. */
  readonly line: string;
  /** The file of this search, if it was saved. */
  readonly savedAs: string;
}

/** The actions while an earlier state is shown, one row per button. */
const PAST_ACTIONS: readonly BannerAction[] = [
  { label: "Back to now", act: (app) => app.bar.backToNow() },
  {
    label: "Fork from here",
    act: (app) => app.lineage.fork(),
    isPossible: (app) => app.lineage.canFork,
  },
];

const RESTART = "Run the cell that shows the explorer again.";

export class Banner {
  readonly element = h("div", { class: "pe-banner", hidden: true });
  private readonly text = h("p", { class: "pe-banner-text", role: "alert" });
  private readonly actions = h("span", { class: "pe-banner-actions" });
  private known: Known = { gone: "", error: "", past: "", interrupted: "", line: "", savedAs: "" };

  constructor(private readonly app: App) {
    add(this.element, this.text, this.actions);
  }

  /** Set what is known. */
  set(changed: Partial<Known>): void {
    this.known = { ...this.known, ...changed };
    const { gone, error, past, interrupted } = this.known;
    const text = gone ? `${gone} ${this.remedy()}` : error || past || interrupted;
    this.element.hidden = text === "";
    if (this.text.textContent !== text) {
      rewrite(this.text, text);
      refill(this.actions, ...this.buttons());
    }
  }

  private remedy(): string {
    if (!this.known.savedAs) return `${RESTART} The search was not saved, so it starts anew.`;
    return `${RESTART} Or open the saved search: ${this.loadLine()}`;
  }

  private loadLine(): string {
    return `px.load(${JSON.stringify(this.known.savedAs)})`;
  }

  private buttons(): readonly HTMLElement[] {
    const { gone, error, past, line, savedAs } = this.known;
    if (gone) return savedAs ? [this.copyButton("Copy px.load(…)", this.loadLine())] : [];
    if (error) return [];
    if (!past) return [this.copyButton("Copy the line", `${line}\nsess`)];
    const possible = PAST_ACTIONS.filter(({ isPossible }) => isPossible?.(this.app) ?? true);
    return possible.map(({ label, act }) => button(label, () => act(this.app)));
  }

  private copyButton(label: string, line: string): HTMLElement {
    return button(label, () => this.app.copy(line, "the line"));
  }
}

function button(label: string, act: () => void): HTMLButtonElement {
  const element = h("button", { type: "button", class: "pe-button" }, label);
  element.addEventListener("click", act);
  return element;
}
