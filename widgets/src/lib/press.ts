// A click is a press and a release on one element: what would draw it anew in between waits for the release.

/** What is pressed and then drawn again would swallow the click. */
const PRESSABLE = "button, summary, tr[data-ref]";
/** Nothing waits longer than this. */
const PRESS_MS = 2000;

export class Press {
  private held = false;
  private waiting = new Map<string, unknown>();
  private timer: ReturnType<typeof setTimeout> | undefined;
  private readonly down = (event: Event): void => {
    this.held = (event.target as Element).closest(PRESSABLE) !== null;
    this.later(PRESS_MS);
  };
  // The click comes behind the release, and before what is next in line.
  private readonly up = (): void => this.later(0);

  constructor(
    private readonly element: Element,
    private readonly give: (sections: ReadonlyMap<string, unknown>) => void,
  ) {
    element.addEventListener("pointerdown", this.down);
    for (const end of ["pointerup", "pointercancel"]) window.addEventListener(end, this.up);
  }

  /** Sections that changed; the last of each is given, at once or behind the press in hand. */
  take(sections: ReadonlyMap<string, unknown>): void {
    if (!this.held) this.give(sections);
    else for (const [name, data] of sections) this.waiting.set(name, data);
  }

  close(): void {
    clearTimeout(this.timer);
    this.element.removeEventListener("pointerdown", this.down);
    for (const end of ["pointerup", "pointercancel"]) window.removeEventListener(end, this.up);
  }

  private later(ms: number): void {
    clearTimeout(this.timer);
    if (this.held) this.timer = setTimeout(() => this.release(), ms);
  }

  private release(): void {
    const given = this.waiting;
    this.held = false;
    this.waiting = new Map();
    if (given.size > 0) this.give(given);
  }
}
