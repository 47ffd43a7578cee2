// Moves between two drawings of one thing: a shape that stays glides to its new place, a new item fades in.

import type { Item } from "../scene.ts";

const GLIDE_MS = 240;
/** With more items, or for users who want no motion, everything is at its new place at once. */
const MOST_ITEMS = 400;

/** How a picture is placed in its panel. */
export interface Placement {
  readonly x: number;
  readonly y: number;
  readonly scale: number;
}

/** Animate the items from their places in the panel before a change. */
export function glide(
  before: ReadonlyMap<string, Item>,
  then: Placement,
  after: readonly Item[],
  now: Placement,
  elementOf: (id: string) => SVGGElement | null,
): void {
  if (after.length > MOST_ITEMS || !after.some((item) => before.has(item.id))) return;
  if (matchMedia("(prefers-reduced-motion: reduce)").matches) return;
  for (const item of after) {
    const old = before.get(item.id);
    const element = elementOf(item.id);
    const alone = item.type === "edge" || item.role === "button";
    if (old === undefined || (alone && JSON.stringify(old) !== JSON.stringify(item)))
      element?.animate?.([{ opacity: 0 }, { opacity: 0, offset: 0.5 }, {}], GLIDE_MS);
    else if (old.type === "shape" && item.type === "shape" && !alone) {
      const dx = (old.x * then.scale + then.x - item.x * now.scale - now.x) / now.scale;
      const dy = (old.y * then.scale + then.y - item.y * now.scale - now.y) / now.scale;
      if (Math.abs(dx) + Math.abs(dy) < 1) continue;
      element?.animate?.([{ transform: `translate(${dx}px,${dy}px)` }, {}], {
        duration: GLIDE_MS,
        easing: "ease-out",
      });
    }
  }
}
