// The status line, and copying to the clipboard.

import { h } from "./lib/dom.ts";

/** Shortest time between two changes of the status line, which screen readers announce. */
const STATUS_MS = 1000;

export class StatusLine {
  readonly element = h("span", { class: "pe-status", role: "status", "aria-live": "polite" });
  private timer: ReturnType<typeof setTimeout> | undefined;
  private next = "";

  /** Set the text, at most once a second; the last text always appears. */
  announce(text: string): void {
    this.next = text;
    if (this.timer !== undefined) return;
    this.element.textContent = text;
    this.timer = setTimeout(() => {
      this.timer = undefined;
      if (this.element.textContent !== this.next) this.announce(this.next);
    }, STATUS_MS);
  }

  close(): void {
    clearTimeout(this.timer);
  }
}

/** Copy a text; the result says whether that was possible. */
export async function copyText(text: string): Promise<boolean> {
  if (!navigator.clipboard) return copyByCommand(text);
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copyByCommand(text);
  }
}

/** Copy on pages that are not served by HTTPS, where browsers offer no clipboard. */
function copyByCommand(text: string): boolean {
  const area = h("textarea", { style: "position:fixed;opacity:0" });
  area.value = text;
  document.body.append(area);
  area.select();
  const ok = document.execCommand("copy");
  area.remove();
  return ok;
}
