// Delay updates between press and release, because a click needs both on the same element.

/** Elements whose click would be lost if they were drawn again between press and release. */
const PRESSABLE = "button, summary, tr[data-ref]";
/** Longest delay of an update. */
const PRESS_MS = 2000;

export class Press {
  private held = false;
  private waiting = new Map<string, unknown>();
  private timer: ReturnType<typeof setTimeout> | undefined;
  private readonly down = (event: Event): void => {
    this.held = (event.target as Element).closest(PRESSABLE) !== null;
    this.later(PRESS_MS);
  };
  // The click event comes after the release and before the next task.
  private readonly up = (): void => this.later(0);

  constructor(
    private readonly element: Element,
    private readonly give: (sections: ReadonlyMap<string, unknown>) => void,
  ) {
    element.addEventListener("pointerdown", this.down);
    for (const end of ["pointerup", "pointercancel"]) window.addEventListener(end, this.up);
  }

  /** Pass sections on, at once or after the release; of several updates of a section, only the last. */
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
    const sections = this.waiting;
    this.held = false;
    this.waiting = new Map();
    if (sections.size > 0) this.give(sections);
  }
}
