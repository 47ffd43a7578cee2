// The keyboard: the type of a key binding, and tests of key events.

import { mark } from "./dom.ts";

export interface Key {
  /** Names as in `KeyboardEvent.key`, with the prefix Ctrl+ if Ctrl is held. */
  readonly keys: readonly string[];
  /** The text in the help; empty for a binding that the help does not list. */
  readonly shown: string;
  readonly help: string;
  /** False if there is nothing to do, so that the page handles the key. */
  readonly act: () => unknown;
}

/** Whether the target of a key event takes text or choices, so that the widget ignores the key. */
export function isTyping(target: EventTarget | null): boolean {
  return target instanceof Element && target.closest("input, select, textarea, [contenteditable]") !== null;
}

/** Whether Space and Enter press the target of the event. */
export function isPressable(target: EventTarget | null): boolean {
  return target instanceof Element && target.closest("button, a, summary") !== null;
}

/** An element with it, or inside of it, takes keys that are shortcuts of JupyterLab elsewhere. */
const NO_SHORTCUTS = "data-lm-suppress-shortcuts";

/**
 * Keep the keys that are pressed inside an element from JupyterLab, whose `x` cuts a cell. It compares a shortcut with
 * the focused element first and with those around it afterwards, so the focused element has the attribute too.
 */
export function keepKeys(root: HTMLElement): void {
  mark(root, NO_SHORTCUTS, "true");
  const follow = (event: FocusEvent, value: string | null) => {
    if (event.target instanceof Element && event.target !== root) mark(event.target, NO_SHORTCUTS, value);
  };
  root.addEventListener("focusin", (event) => follow(event, "true"));
  root.addEventListener("focusout", (event) => follow(event, null));
}

/** Leave the keys to JupyterLab while Shift is held: Shift+Enter runs the cell, whatever inside an element has the focus. */
export function leaveKeysWithShift(root: HTMLElement): void {
  const keep = (value: string | null) => {
    const focused = root.ownerDocument.activeElement;
    mark(root, NO_SHORTCUTS, value);
    if (focused !== null && root.contains(focused)) mark(focused, NO_SHORTCUTS, value);
  };
  root.addEventListener("keydown", ({ key }) => key === "Shift" && keep(null));
  root.addEventListener("keyup", ({ key }) => key === "Shift" && keep("true"));
  root.addEventListener("focusout", () => mark(root, NO_SHORTCUTS, "true"));
}

export function nameOf(event: KeyboardEvent): string {
  return (event.ctrlKey || event.metaKey ? "Ctrl+" : "") + event.key;
}

/** Whether a key is a single character, whose bindings the user can turn off (WCAG 2.1.4). */
export function isCharacter(name: string): boolean {
  return name.length === 1 && name !== " ";
}
