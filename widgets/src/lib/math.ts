// MathML from Python as elements of the page. Only elements of the table are made, and all text is text.

const MATHML = "http://www.w3.org/1998/Math/MathML";
/** The elements that Python uses, and the attributes that each may have. */
const ELEMENTS: Readonly<Record<string, readonly string[]>> = {
  math: ["displaystyle"],
  mrow: [],
  mi: [],
  mn: [],
  mo: ["stretchy"],
  mtext: [],
  mspace: ["width"],
  mfrac: [],
  msqrt: [],
  msup: [],
  munder: [],
};

/** A formula as an element; the text itself if there is no MathML, or none that can be read. */
export function typeset(mathml: string, text: string): Element {
  const root = mathml ? new DOMParser().parseFromString(mathml, "application/xml").documentElement : null;
  const math = root?.nodeName === "math" ? copy(root) : null;
  const box = document.createElement(math ? "div" : "pre");
  box.className = "pe-formula";
  box.title = math ? text : "";
  box.append(math ?? text);
  return box;
}

function copy(from: Element): Element | null {
  const attributes = ELEMENTS[from.nodeName];
  if (!attributes) return null;
  const to = document.createElementNS(MATHML, from.nodeName);
  for (const name of attributes) {
    const value = from.getAttribute(name);
    if (value !== null) to.setAttribute(name, value);
  }
  for (const child of from.childNodes) {
    const made = child instanceof Element ? copy(child) : (child.textContent ?? "");
    if (made === null) return null;
    to.append(made);
  }
  return to;
}
