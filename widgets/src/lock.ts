// Commands that are disabled: all without a kernel, and those that would change the search while looking back.

import { mark } from "./lib/dom.ts";
import type { Sections } from "./sections.ts";

/** What needs Python besides commands: selections, forms, and fields of the bar. */
const NEEDS_PYTHON =
  ".pe-chip, .pe-link, .pe-transport input, .pe-transport select, .pe-form button, .pe-form input, .pe-form select";
const CONTROLS = `[data-command], ${NEEDS_PYTHON}`;

export class Lock {
  /** Why every command is disabled; empty with a kernel. */
  private gone = "";
  /** Why commands that change the search are disabled; empty for the current state. */
  private past = "";
  private commands: Sections["commands"] = {};
  private root: HTMLElement | null = null;
  /** Whether a control may be marked. */
  private isMarked = false;
  private readonly observer = new MutationObserver((changes) => {
    for (const node of changes.flatMap((change) => [...change.addedNodes]))
      if (node instanceof Element) this.mark([node, ...node.querySelectorAll(CONTROLS)]);
  });

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
    const isLocked = Boolean(this.gone || this.past);
    // Usually no command is disabled, and to find every control takes as long as to draw some panels.
    if (this.root && (isLocked || this.isMarked)) this.mark(this.root.querySelectorAll(CONTROLS));
    this.isMarked = isLocked;
  }

  private mark(controls: Iterable<Element>): void {
    for (const element of controls) {
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
    const control = (event.target as Element).closest(CONTROLS);
    const reason = control ? this.reasonOf(control) : event.type === "submit" ? this.gone : "";
    if (!reason) return;
    event.preventDefault();
    event.stopPropagation();
    this.announce(reason);
  }
}
