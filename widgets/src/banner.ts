// The banner below the bar: the kernel is gone, an error, or an earlier state, with what can be done about it.

import type { App } from "./app.ts";
import { add, h, refill, rewrite } from "./lib/dom.ts";

interface BannerAction {
  readonly label: string;
  readonly act: (app: App) => void;
  readonly isPossible?: (app: App) => boolean;
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
  private error = "";
  private past = "";
  private gone = "";
  private savedAs = "";

  constructor(private readonly app: App) {
    add(this.element, this.text, this.actions);
  }

  /** Set what is known; of several texts, the first of kernel, error and earlier state is shown. */
  set(known: { error?: string; past?: string; gone?: string; savedAs?: string }): void {
    this.error = known.error ?? this.error;
    this.past = known.past ?? this.past;
    this.gone = known.gone ?? this.gone;
    this.savedAs = known.savedAs ?? this.savedAs;
    this.show();
  }

  private show(): void {
    const text = this.gone ? `${this.gone} ${this.remedy()}` : this.error || this.past;
    this.element.hidden = text === "";
    if (this.text.textContent !== text) {
      rewrite(this.text, text);
      refill(this.actions, ...this.buttons());
    }
  }

  private remedy(): string {
    if (!this.savedAs) return `${RESTART} The search was not saved, so it starts anew.`;
    return `${RESTART} Or open the saved search: ${this.loadLine()}`;
  }

  private loadLine(): string {
    return `px.load(${JSON.stringify(this.savedAs)})`;
  }

  private buttons(): readonly HTMLElement[] {
    if (this.gone && this.savedAs) {
      const line = this.loadLine();
      return [button("Copy px.load(…)", () => this.app.copy(line, "the line"))];
    }
    if (this.gone || this.error || !this.past) return [];
    const possible = PAST_ACTIONS.filter(({ isPossible }) => isPossible?.(this.app) ?? true);
    return possible.map(({ label, act }) => button(label, () => act(this.app)));
  }
}

function button(label: string, act: () => void): HTMLButtonElement {
  const element = h("button", { type: "button", class: "pe-button" }, label);
  element.addEventListener("click", act);
  return element;
}
