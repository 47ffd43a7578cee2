// A drag over a picture that selects an interval: it is drawn while the pointer moves, and reported at the end.

import { mark } from "./dom.ts";
import type { Stage } from "./stage.ts";

/** Movement from which a press is a drag; a shorter one is a click. */
const LEAST = 4;

export interface Box {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

/**
 * Follow the pointer until it is released. The picture does not move, and a press without a drag still selects what is
 * under it. `box` is the rectangle to draw for the interval, and `done` takes the interval; both in the coordinates of
 * the picture. The interval starts where the pointer was pressed, or at `fixed`.
 */
export function dragInterval(
  stage: Stage,
  preview: SVGElement,
  down: PointerEvent,
  along: "x" | "y",
  box: (low: number, high: number) => Box,
  done: (low: number, high: number) => void,
  fixed: number | null = null,
): void {
  const pressed = stage.at(down)[along];
  const start = fixed ?? pressed;
  let end = pressed;
  let moved = false;
  const move = (event: PointerEvent) => {
    end = stage.at(event)[along];
    moved ||= Math.abs(end - pressed) > LEAST;
    if (!moved) return;
    mark(preview, "visibility", "visible");
    for (const [name, value] of Object.entries(box(Math.min(start, end), Math.max(start, end))))
      mark(preview, name, String(value));
  };
  const up = (event: PointerEvent) => {
    move(event);
    for (const [name, listener] of listeners) window.removeEventListener(name, listener);
    mark(preview, "visibility", "hidden");
    if (moved && event.type === "pointerup") done(Math.min(start, end), Math.max(start, end));
  };
  const listeners = [
    ["pointermove", move],
    ["pointerup", up],
    ["pointercancel", up],
  ] as const;
  for (const [name, listener] of listeners) window.addEventListener(name, listener);
  down.stopPropagation();
}
