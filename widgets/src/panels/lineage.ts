// The path from a search to its fork, with a button for each, and the button that forks.

import { h, mark, rewrite } from "../lib/dom.ts";
import { redrawList } from "../lib/keep.ts";
import type { LineageSection, SearchLink } from "../sections.ts";
import type { Args, Look } from "../wire.ts";

export class LineageBar {
  readonly element: HTMLElement;
  private readonly path = h("ol", { class: "pe-lineage-path" });
  private readonly status = h("span", { role: "status" });
  private at = 0;

  constructor(
    private readonly look: (what: Look) => void,
    private readonly command: (name: string, args: Args) => void,
  ) {
    this.element = h(
      "nav",
      { class: "pe-lineage", "aria-label": "this search and its forks", hidden: true },
      this.path,
      this.status,
    );
  }

  /** Whether an earlier state is shown that can be continued in another search. */
  get canFork(): boolean {
    return this.at > 0;
  }

  /** Continue from the earlier state that is shown in another search. */
  fork(): void {
    this.command("fork", { at: this.at });
  }

  update(data: LineageSection): void {
    this.at = data.fork_at;
    const links = [
      ...data.path.map((link, n) => ({ link, sign: n > 0 ? "▸ " : "", style: null })),
      ...data.forks.map((link) => ({ link, sign: "▾ ", style: "pe-fork" })),
    ];
    redrawList(this.path, links, ({ link, sign, style }) =>
      h("li", { class: style }, sign, this.button(link)),
    );
    rewrite(this.status, data.status);
    this.element.hidden = data.path.length === 0 && !data.status;
  }

  private button(link: SearchLink): HTMLElement {
    if (!link.key) return h("span", { class: "pe-muted", title: link.tip }, link.label);
    const button = h("button", { type: "button", class: "pe-link", title: link.tip }, link.label);
    mark(button, "aria-current", link.current ? "true" : null);
    button.addEventListener("click", () => {
      if (!link.current) this.look({ search: link.key });
    });
    return button;
  }
}
