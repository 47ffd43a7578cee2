// A separator between two parts: dragged, or moved with the arrow keys; a double click or Enter resets it.

import { h } from "./dom.ts";

export interface SeparatorRow {
  readonly name: string;
  readonly label: string;
  readonly axis: "x" | "y";
  /** Percent of the space, or px. */
  readonly unit: "%" | "px";
  readonly least: number;
  readonly most: number;
  /** Whether the part that it sizes lies after it, so that it shrinks when it moves right or down. */
  readonly after: boolean;
}

export interface SeparatorEvents {
  /** The size now. */
  now(): number;
  /** Px that are 100 of the unit. */
  space(): number;
  set(value: number): void;
  reset(): void;
  /** The size is final, and can be remembered. */
  done(): void;
}

/** Change of the size by one key. */
const STEP = { "%": 2, px: 40 } as const;

export function separator(row: SeparatorRow, events: SeparatorEvents): HTMLElement {
  const element = h("div", {
    class: `pe-splitter pe-splitter-${row.axis}`,
    role: "separator",
    tabindex: 0,
    title: `drag or use the arrow keys to change the ${row.label}; a double click resets it`,
    "aria-label": row.label,
    "aria-orientation": row.axis === "x" ? "vertical" : "horizontal",
    "aria-valuemin": row.least,
    "aria-valuemax": row.most,
    "data-splitter": row.name,
  });
  const reset = () => {
    events.reset();
    events.done();
  };
  element.addEventListener("pointerdown", (event) => drag(row, element, events, event));
  element.addEventListener("dblclick", reset);
  element.addEventListener("keydown", (event) => {
    const [less, more] = row.axis === "x" ? ["ArrowLeft", "ArrowRight"] : ["ArrowUp", "ArrowDown"];
    const step = STEP[row.unit] * (row.after ? -1 : 1);
    const now = events.now();
    const to = new Map([
      [less, now - step],
      [more, now + step],
      ["Home", row.least],
      ["End", row.most],
    ]).get(event.key);
    if (event.key === "Enter") reset();
    else if (to === undefined) return;
    else {
      events.set(to);
      events.done();
    }
    event.preventDefault();
    event.stopPropagation();
  });
  return element;
}

function drag(row: SeparatorRow, element: HTMLElement, events: SeparatorEvents, down: PointerEvent): void {
  if (down.button !== 0) return;
  down.preventDefault();
  element.focus();
  element.setPointerCapture?.(down.pointerId);
  const place = (event: PointerEvent) => (row.axis === "x" ? event.clientX : event.clientY);
  const [from, start, space] = [place(down), events.now(), Math.max(1, events.space())];
  const move = (event: PointerEvent): void => {
    const by = (place(event) - from) * (100 / space);
    events.set(row.after ? start - by : start + by);
  };
  const up = (): void => {
    element.removeEventListener("pointermove", move);
    element.removeEventListener("pointerup", up);
    element.removeEventListener("pointercancel", up);
    events.done();
  };
  element.addEventListener("pointermove", move);
  element.addEventListener("pointerup", up);
  element.addEventListener("pointercancel", up);
}
