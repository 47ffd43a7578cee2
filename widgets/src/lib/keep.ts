// A panel that is drawn again keeps what its reader did to it: folds, scroll positions, the focus.

/** A piece of a panel: a text that changes with it, and how it is drawn. */
export type Part = readonly [data: string, draw: () => HTMLElement];

/** The parts of a panel about one thing; those whose data stay the same are the very same elements. */
export class Parts {
  private subject = "";
  private drawn: (readonly [data: string, element: HTMLElement])[] = [];

  constructor(private readonly body: HTMLElement) {}

  /** Draw what is new of a thing; of another thing than before, all of it, from its top. */
  draw(subject: string, parts: readonly Part[]): void {
    const same = subject === this.subject;
    const left = same ? [...this.drawn] : [];
    const now = parts.map(([data, draw]) => {
      const at = left.findIndex(([known]) => known === data);
      return left.splice(at, at < 0 ? 0 : 1)[0] ?? ([data, draw()] as const);
    });
    const restore = same ? remembered(this.body) : () => this.body.scrollTo(0, 0);
    this.subject = subject;
    this.drawn = now;
    const kept = new Set<Element>(now.map(([, element]) => element));
    for (const child of [...this.body.children]) if (!kept.has(child)) child.remove();
    now.forEach(([, element], n) => {
      const there = this.body.children[n];
      // What stays where it is, is not touched: moving an element takes its focus and its scroll position.
      if (there !== element) this.body.insertBefore(element, there ?? null);
    });
    restore();
  }
}

/** What a reader did to the elements below one; calling it does so to those that are there now. */
function remembered(body: HTMLElement): () => void {
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

/** Folds by name; the second of one name is another. */
function foldsOf(body: Element): Map<string, HTMLDetailsElement> {
  const found = new Map<string, HTMLDetailsElement>();
  for (const fold of body.querySelectorAll("details")) {
    let name = nameOf(fold);
    while (found.has(name)) name += "'";
    found.set(name, fold);
  }
  return found;
}

/** What stays the same when it is drawn again: the name that it was given, else its words. */
function nameOf(element: HTMLElement): string {
  return (
    element.getAttribute("data-keep") ??
    (element instanceof HTMLDetailsElement ? element.querySelector("summary") : element)?.textContent ??
    ""
  );
}

/** By which children one comes from an element to one below it. */
function pathOf(element: Element, top: Element): readonly number[] {
  const path: number[] = [];
  for (let e: Element = element; e !== top && e.parentElement; e = e.parentElement)
    path.unshift([...e.parentElement.children].indexOf(e));
  return path;
}
