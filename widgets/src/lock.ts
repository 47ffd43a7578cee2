// Commands that are disabled: all without a kernel, and those that would change the search while looking back.

import { mark } from "./lib/dom.ts";
import type { Sections } from "./sections.ts";

/** What needs Python besides commands: selections, forms, and fields of the bar. */
const NEEDS_PYTHON =
  ".pe-chip, .pe-link, .pe-transport input, .pe-transport select, .pe-form button, .pe-form input, .pe-form select";

export class Lock {
  /** Why every command is disabled; empty with a kernel. */
  private gone = "";
  /** Why commands that change the search are disabled; empty for the current state. */
  private past = "";
  private commands: Sections["commands"] = {};
  private root: HTMLElement | null = null;
  private readonly observer = new MutationObserver(() => this.apply());

  constructor(private readonly announce: (text: string) => void) {}

  follow(root: HTMLElement): void {
    this.root = root;
    for (const type of ["click", "dblclick", "input", "change", "submit"])
      root.addEventListener(type, (event) => this.guard(event), { capture: true });
  }

  close(): void {
    this.observer.disconnect();
  }

  describe(commands: Sections["commands"]): void {
    this.commands = commands;
  }

  set(reasons: { readonly gone?: string; readonly past?: string }): void {
    this.gone = reasons.gone ?? this.gone;
    this.past = reasons.past ?? this.past;
    this.observer.disconnect();
    this.apply();
    // Panels draw buttons while it is locked.
    if (this.root && (this.gone || this.past))
      this.observer.observe(this.root, { childList: true, subtree: true });
  }

  /** Why a command is disabled; empty if it is possible. */
  reason(command: string): string {
    return this.gone || (this.commands[command]?.in_past === false ? this.past : "");
  }

  /** Why a control is disabled; empty if it is possible. */
  private reasonOf(element: Element): string {
    const command = element.getAttribute("data-command");
    if (command) return this.reason(command);
    return element.matches(NEEDS_PYTHON) ? this.gone : "";
  }

  /** Mark all controls, also after panels drew new ones. */
  apply(): void {
    if (!this.root) return;
    for (const element of this.root.querySelectorAll(`[data-command], ${NEEDS_PYTHON}`)) {
      const reason = this.reasonOf(element);
      const marked = element.hasAttribute("data-locked");
      if (reason) {
        if (element.getAttribute("title") !== reason)
          mark(element, "data-title", element.getAttribute("title"));
        mark(element, "title", reason);
        mark(element, "aria-disabled", "true");
        mark(element, "data-locked", true);
      } else if (marked) {
        mark(element, "title", element.getAttribute("data-title"));
        for (const name of ["data-title", "aria-disabled", "data-locked"]) mark(element, name, null);
      }
    }
  }

  /** Stop what a disabled control would do. */
  private guard(event: Event): void {
    const control = (event.target as Element).closest(`[data-command], ${NEEDS_PYTHON}`);
    const reason = control ? this.reasonOf(control) : event.type === "submit" ? this.gone : "";
    if (!reason) return;
    event.preventDefault();
    event.stopPropagation();
    this.announce(reason);
  }
}
