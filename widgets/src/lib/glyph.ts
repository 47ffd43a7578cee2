// Small marks before a text, and icons. Each status has an outline of its own, so it can be told without colour.

import { CORNERS } from "../scene.ts";
import { s } from "./dom.ts";

const SIDE = 12;

/** The outline of a status. */
const OUTLINE: Readonly<Record<string, string>> = {
  proved: "diamond",
  family: "diamond",
  unknown: "hexagon",
  refuted: "square",
  frontier: "circle",
  expanded: "circle",
  "badge-best": "star",
};

/** Corners of the mark of a warning. */
const UPWARDS: readonly (readonly [number, number])[] = [
  [0.5, 0],
  [1, 1],
  [0, 1],
];

export function glyph(kind: string): SVGSVGElement {
  const form = OUTLINE[kind] ?? (kind.startsWith("pruned") ? "triangle" : "circle");
  const corners = kind === "warning" ? UPWARDS : CORNERS[form];
  const body = corners
    ? s("polygon", {
        class: "body",
        points: corners.map(([u, v]) => `${1 + u * SIDE},${1 + v * SIDE}`).join(" "),
      })
    : s("circle", { class: "body", cx: 7, cy: 7, r: 5 });
  const bang = kind === "warning" ? s("path", { class: "bang", d: "M7 5.2v3.4M7 10.3v.9" }) : null;
  const known = /^[\w-]+$/.test(kind) ? kind : "plain";
  return s(
    "svg",
    { class: "pe-glyph", viewBox: "0 0 14 14", width: 14, height: 14, "aria-hidden": "true" },
    s("g", { class: `item k-${known}` }, body, bang),
  );
}

const ICONS = {
  step: "M3 3v10M6 3l7 5-7 5z",
  run: "M4 2.5l9 5.5-9 5.5z",
  pause: "M4 3h3v10H4zM9 3h3v10H9z",
  cancel: "M3.5 3.5h9v9h-9z",
  undo: "M6 3L2.5 6.5 6 10M3 6.5h6a3.5 3.5 0 0 1 0 7H6",
  redo: "M10 3l3.5 3.5L10 10M13 6.5H7a3.5 3.5 0 0 0 0 7h3",
  accept: "M2.5 8.5l3.5 4 7.5-9",
  reject: "M3.5 3.5l9 9M12.5 3.5l-9 9",
  copy: "M5.5 5.5h8v8h-8zM10.5 5.5v-3h-8v8h3",
  maximise: "M2.5 6v-3.5H6M10 2.5h3.5V6M13.5 10v3.5H10M6 13.5H2.5V10",
  fit: "M2.5 5V2.5H5M11 2.5h2.5V5M13.5 11v2.5H11M5 13.5H2.5V11M5.5 5.5h5v5h-5z",
  table: "M2.5 3h11v10h-11zM2.5 6.3h11M2.5 9.6h11M6 3v10",
  up: "M3 10.5l5-5 5 5",
  down: "M3 5.5l5 5 5-5",
  bookmark: "M4 2.5h8v11l-4-3.5-4 3.5z",
  plus: "M8 3v10M3 8h10",
  minus: "M3 8h10",
  expand: "M2.5 2.5h11v11h-11zM8 5v6M5 8h6",
  collapse: "M2.5 2.5h11v11h-11zM5 8h6",
  help: "M6 6a2 2 0 1 1 2.6 1.9c-.4.2-.6.5-.6 1V10M8 12.2v.3",
  close: "M4 4l8 8M12 4l-8 8",
} as const;

export type Icon = keyof typeof ICONS;

const SOLID: ReadonlySet<Icon> = new Set(["run", "pause", "cancel"]);

export function icon(name: Icon): SVGSVGElement {
  return s(
    "svg",
    { class: "pe-icon", viewBox: "0 0 16 16", width: 16, height: 16, "aria-hidden": "true" },
    s("path", { d: ICONS[name], class: SOLID.has(name) ? "solid" : null }),
  );
}
