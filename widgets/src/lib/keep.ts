// Draw a part of the page again. What did not change keeps its element, with its folds, scroll position and focus.

import { type Child, refill } from "./dom.ts";

/** A part of a panel: its data as text, and the function that draws it. */
export type Part = readonly [data: string, draw: () => HTMLElement];

/** The data that was drawn last, and its element. */
type Kept<E extends Element> = readonly [data: string, element: E];

const contents = new WeakMap<Element, string>();
const lists = new WeakMap<Element, readonly Kept<Element>[]>();

/** Draw the content of an element again if its data changed. */
export function redraw(element: Element, data: unknown, draw: () => readonly Child[]): void {
  const text = JSON.stringify(data);
  if (contents.get(element) === text) return;
  contents.set(element, text);
  refill(element, ...draw());
}

/** Draw the content of an element as a list again; an item whose data did not change keeps its element. */
export function redrawList<T>(parent: Element, items: readonly T[], draw: (item: T) => Element): void {
  const parts = items.map((item) => [JSON.stringify(item), () => draw(item)] as const);
  const now = match(lists.get(parent) ?? [], parts);
  lists.set(parent, now);
  place(parent, now);
}

/** Per part, the element with the same data, or a new one. */
function match<E extends Element>(
  before: readonly Kept<E>[],
  parts: readonly (readonly [data: string, draw: () => E])[],
): readonly Kept<E>[] {
  const left = new Map<string, Kept<E>[]>();
  for (const kept of [...before].reverse()) left.set(kept[0], [...(left.get(kept[0]) ?? []), kept]);
  return parts.map(([data, draw]) => left.get(data)?.pop() ?? [data, draw()]);
}

/** Make these elements the children; an element in its place is not moved, because that loses its focus. */
function place(parent: Element, list: readonly Kept<Element>[]): void {
  const kept = new Set(list.map(([, element]) => element));
  for (const child of [...parent.children]) if (!kept.has(child)) child.remove();
  list.forEach(([, element], n) => {
    const there = parent.children[n];
    if (there !== element) parent.insertBefore(element, there ?? null);
  });
}

/** The parts of a panel; a part whose data did not change keeps its element. */
export class Parts {
  private subject = "";
  private drawn: readonly Kept<HTMLElement>[] = [];

  constructor(private readonly body: HTMLElement) {}

  /** Draw the parts that changed; for a new subject, draw all parts and scroll to the top. */
  draw(subject: string, parts: readonly Part[]): void {
    const same = subject === this.subject;
    const now = match(same ? this.drawn : [], parts);
    const restore = same ? saved(this.body) : () => this.body.scrollTo(0, 0);
    this.subject = subject;
    this.drawn = now;
    place(this.body, now);
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
