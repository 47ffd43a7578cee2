// The explorer in a page, as a test needs it: with what Python sent, and taken away after the test.

import { afterEach, beforeEach, vi } from "vitest";
import explorer from "../src/explorer.ts";
import type { Sections } from "../src/sections.ts";
import { FakeModel, recorded } from "./python.ts";

export interface Shown {
  readonly python: FakeModel;
  readonly root: HTMLElement;
}

export interface Page {
  /** Width of every element; 0 where the test needs no layout. */
  readonly wide?: number;
  /** What the notebook has stored of the widget. */
  readonly traits?: Readonly<Record<string, unknown>>;
}

let taken: (() => void) | null = null;

/** Show the explorer; call `inPages` once in the file. Without sections, Python has sent nothing. */
export function show(
  sections: Partial<Sections> | null = recorded(),
  { wide = 1200, traits }: Page = {},
): Shown {
  const python = new FakeModel(traits);
  const el = document.createElement("div");
  document.body.append(el);
  if (wide > 0) vi.spyOn(HTMLElement.prototype, "clientWidth", "get").mockReturnValue(wide);
  taken = explorer.render({ model: python.model as never, el });
  if (sections) python.tell(sections);
  return { python, root: el.firstElementChild as HTMLElement };
}

/** Take the explorer away, as its page does; the end of a test does this too. */
export function takeAway(): void {
  taken?.();
  taken = null;
}

/** Every test of the file has a page of its own, and a clock that stands still. */
export function inPages(): void {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    takeAway();
    document.body.replaceChildren();
    vi.restoreAllMocks();
    vi.useRealTimers();
  });
}
