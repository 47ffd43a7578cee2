// The keyboard: one row per key, shown by the help and read by nothing else.

export interface Key {
  /** As `KeyboardEvent.key` says it, with Ctrl+ before it where that must be held. */
  readonly keys: readonly string[];
  /** As the help shows it. */
  readonly shown: string;
  readonly says: string;
  readonly act: () => void;
}

/** Whether a keystroke belongs to what is being typed or chosen rather than to the widget. */
export function isTyping(target: EventTarget | null): boolean {
  return target instanceof Element && target.closest("input, select, textarea, [contenteditable]") !== null;
}

/** Whether Space and Enter mean "press" there. */
export function isPressable(target: EventTarget | null): boolean {
  return target instanceof Element && target.closest("button, a, summary") !== null;
}

export function nameOf(event: KeyboardEvent): string {
  return (event.ctrlKey || event.metaKey ? "Ctrl+" : "") + event.key;
}

/** Whether a key is a bare letter or sign, which a reader may turn off (WCAG 2.1.4). */
export function isCharacter(name: string): boolean {
  return name.length === 1 && name !== " ";
}
