// Report the sizes of pictures to Python. A new picture can change the size of its panel, for example by a scroll bar,
// so each size is reported once between two actions of the user. Else the page and Python could exchange sizes for ever.

/** Time without a change of size after which it is reported. */
const SETTLED_MS = 150;
/** Sizes that differ by less in total are the same. */
const LEAST_CHANGE_PX = 8;

/** Ends of the actions of a user that can change sizes. */
const ACTIONS = ["pointerdown", "pointerup", "keydown"] as const;

export class SizeReports {
  private last: readonly number[] = [];
  private outer: readonly number[] = [];
  private reported: (readonly number[])[] = [];
  private timer: ReturnType<typeof setTimeout> | undefined;
  private readonly acted = (): void => {
    if (this.reported.length > 1) this.measureAgain();
    this.reported = [];
  };

  constructor(
    /** The element whose size does not depend on the pictures. */
    private readonly around: () => Element | null,
    /** The sizes now, given those that were reported last; null if there is nothing to measure. */
    private readonly measure: (last: readonly number[]) => readonly number[] | null,
    private readonly report: (sizes: readonly number[]) => void,
  ) {
    for (const type of ACTIONS) window.addEventListener(type, this.acted, { capture: true });
  }

  close(): void {
    clearTimeout(this.timer);
    for (const type of ACTIONS) window.removeEventListener(type, this.acted, { capture: true });
  }

  /** Measure once the sizes no longer change. */
  measureAgain(): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.settled(), SETTLED_MS);
  }

  private settled(): void {
    const around = this.around();
    const outer = [around?.clientWidth ?? 0, around?.clientHeight ?? 0];
    if (change(outer, this.outer) > 0) this.reported = [];
    this.outer = outer;
    const now = this.measure(this.last);
    if (now === null || change(now, this.last) < LEAST_CHANGE_PX) return;
    if (this.reported.some((known) => change(now, known) < LEAST_CHANGE_PX)) return;
    this.reported.push(now);
    this.last = now;
    this.report(now);
  }
}

function change(a: readonly number[], b: readonly number[]): number {
  return a.reduce((sum, px, n) => sum + Math.abs(px - (b[n] ?? 0)), 0);
}
