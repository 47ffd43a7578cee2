// Draw a panel again and keep its open folds, scroll positions and focus.

/** A part of a panel: its data as text, and the function that draws it. */
export type Part = readonly [data: string, draw: () => HTMLElement];

/** The parts of a panel; a part whose data did not change keeps its element. */
export class Parts {
  private subject = "";
  private drawn: (readonly [data: string, element: HTMLElement])[] = [];

  constructor(private readonly body: HTMLElement) {}

  /** Draw the parts that changed; for a new subject, draw all parts and scroll to the top. */
  draw(subject: string, parts: readonly Part[]): void {
    const same = subject === this.subject;
    const left = same ? [...this.drawn] : [];
    const now = parts.map(([data, draw]) => {
      const at = left.findIndex(([known]) => known === data);
      return left.splice(at, at < 0 ? 0 : 1)[0] ?? ([data, draw()] as const);
    });
    const restore = same ? saved(this.body) : () => this.body.scrollTo(0, 0);
    this.subject = subject;
    this.drawn = now;
    const kept = new Set<Element>(now.map(([, element]) => element));
    for (const child of [...this.body.children]) if (!kept.has(child)) child.remove();
    now.forEach(([, element], n) => {
      const there = this.body.children[n];
      // An element in its place is not moved, because moving it loses its focus and scroll position.
      if (there !== element) this.body.insertBefore(element, there ?? null);
    });
    restore();
  }
}

/** Save folds, scroll positions and focus below an element; the result restores them on the current elements. */
function saved(body: HTMLElement): () => void {
  const folds = new Map([...foldsOf(body)].map(([name, fold]) => [name, fold.open]));
  const scrolled = [body, ...body.querySelectorAll<HTMLElement>("*")]
    .filter((e) => e.scrollTop > 0 || e.scrollLeft > 0)
    .map((e) => ({ where: pathOf(e, body), top: e.scrollTop, left: e.scrollLeft }));
  const focused = document.activeElement;
  const focus = focused instanceof HTMLElement && focused !== body && body.contains(focused) ? focused : null;
  const name = focus && nameOf(focus);
  return () => {
    for (const [name, fold] of foldsOf(body)) fold.open = folds.get(name) ?? fold.open;
    if (focus && !body.contains(focus)) {
      const again = [...body.querySelectorAll<HTMLElement>(focus.tagName)].find((e) => nameOf(e) === name);
      (again ?? body).focus({ preventScroll: true });
    }
    for (const { where, top, left } of scrolled) {
      const e = where.reduce<Element | undefined>((at, n) => at?.children[n], body);
      if (e && (e.scrollTop !== top || e.scrollLeft !== left)) e.scrollTo(left, top);
    }
  };
}

/** Folds by name; repeated names get a suffix. */
function foldsOf(body: Element): Map<string, HTMLDetailsElement> {
  const found = new Map<string, HTMLDetailsElement>();
  for (const fold of body.querySelectorAll("details")) {
    let name = nameOf(fold);
    while (found.has(name)) name += "'";
    found.set(name, fold);
  }
  return found;
}

/** A name that stays the same in the next drawing: the attribute data-keep, else the text. */
function nameOf(element: HTMLElement): string {
  return (
    element.getAttribute("data-keep") ??
    (element instanceof HTMLDetailsElement ? element.querySelector("summary") : element)?.textContent ??
    ""
  );
}

/** The child indices from an element down to one below it. */
function pathOf(element: Element, top: Element): readonly number[] {
  const path: number[] = [];
  for (let e: Element = element; e !== top && e.parentElement; e = e.parentElement)
    path.unshift([...e.parentElement.children].indexOf(e));
  return path;
}
