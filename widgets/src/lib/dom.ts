// Create and change elements. Every text is set as a text node: data from Python is never markup.

export type Child = Node | string | null | false;
type Attributes = Record<string, string | number | boolean | null | undefined | EventListener>;

const SVG = "http://www.w3.org/2000/svg";

function fill<E extends Element>(element: E, attributes: Attributes, children: readonly Child[]): E {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function") element.addEventListener(name, value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  add(element, ...children);
  return element;
}

/** Append children; strings become text. */
export function add(parent: Element, ...children: readonly Child[]): void {
  for (const child of children) {
    if (child === null || child === false) continue;
    parent.append(typeof child === "string" ? document.createTextNode(child) : child);
  }
}

/** An HTML element; an attribute whose value is a function is a listener. */
export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: readonly Child[]
): HTMLElementTagNameMap[K] {
  return fill(document.createElement(tag), attributes, children);
}

/** An SVG element. */
export function s<K extends keyof SVGElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: readonly Child[]
): SVGElementTagNameMap[K] {
  return fill(document.createElementNS(SVG, tag) as SVGElementTagNameMap[K], attributes, children);
}

/** Replace everything inside an element. */
export function refill(element: Element, ...children: readonly Child[]): void {
  element.replaceChildren();
  add(element, ...children);
}

/** Set or remove an attribute; an attribute with the same value is not set again. */
export function mark(element: Element, name: string, value: string | boolean | null): void {
  const text = value === true ? "" : value === false ? null : value;
  if (element.getAttribute(name) === text) return;
  if (text === null) element.removeAttribute(name);
  else element.setAttribute(name, text);
}

/** Set the text of an element; the same text is not set again, because the user can be selecting in it. */
export function rewrite(element: Element, text: string): void {
  if (element.textContent !== text) element.textContent = text;
}

let last = 0;

/** An id that is unique in the page. */
export function fresh(stem: string): string {
  last += 1;
  return `prism-${stem}-${last}`;
}
