// Separators between panels: dragged, or moved with the arrow keys; a double click resets them.

import { h, mark } from "./lib/dom.ts";
import { readStored, writeStored } from "./stored.ts";

type Name = "map" | "inspector" | "dock" | "height";

interface Row {
  readonly name: Name;
  readonly label: string;
  readonly axis: "x" | "y";
  /** Percent of the space, or px for the height of the widget. */
  readonly unit: "%" | "px";
  readonly least: number;
  readonly most: number;
  readonly initial: number;
  /** Whether the part that it sizes lies after it, so that it shrinks when it moves right or down. */
  readonly after: boolean;
}

/** One row per separator. */
const ROWS = [
  {
    name: "map",
    label: "width of the search map",
    axis: "x",
    unit: "%",
    least: 12,
    most: 55,
    initial: 30,
    after: false,
  },
  {
    name: "inspector",
    label: "width of the inspector",
    axis: "x",
    unit: "%",
    least: 15,
    most: 65,
    initial: 35,
    after: true,
  },
  {
    name: "dock",
    label: "height of the dock",
    axis: "y",
    unit: "%",
    least: 12,
    most: 85,
    initial: 36,
    after: true,
  },
  {
    name: "height",
    label: "height of the explorer",
    axis: "y",
    unit: "px",
    least: 460,
    most: 2400,
    initial: 820,
    after: false,
  },
] as const satisfies readonly [Row, Row, Row, Row];

/** The graph keeps at least this share of the width. */
const LEAST_GRAPH = 12;
const STEP = { "%": 2, px: 40 } as const;

export class Splitters {
  readonly elements: Readonly<Record<Name, HTMLElement>>;
  private readonly values: Map<string, number>;
  private root: HTMLElement | null = null;

  constructor(
    private readonly main: HTMLElement,
    private readonly changed: () => void,
  ) {
    this.values = readStored(new Map(ROWS.map((row) => [row.name, [row.least, row.most] as const])));
    const [map, inspector, dock, height] = ROWS;
    this.elements = {
      map: this.separator(map),
      inspector: this.separator(inspector),
      dock: this.separator(dock),
      height: this.separator(height),
    };
    for (const row of ROWS) this.show(row);
  }

  /** Size the widget too; without a remembered height, it has that of the page. */
  follow(root: HTMLElement): void {
    this.root = root;
    for (const row of ROWS) this.show(row);
  }

  private value(row: Row): number {
    return this.values.get(row.name) ?? row.initial;
  }

  private separator(row: Row): HTMLElement {
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
    element.addEventListener("pointerdown", (event) => this.drag(row, element, event));
    element.addEventListener("keydown", (event) => this.key(row, event));
    element.addEventListener("dblclick", () => this.reset(row));
    return element;
  }

  private drag(row: Row, element: HTMLElement, down: PointerEvent): void {
    if (down.button !== 0) return;
    down.preventDefault();
    element.focus();
    element.setPointerCapture?.(down.pointerId);
    const from = row.axis === "x" ? down.clientX : down.clientY;
    const start = row.name === "height" ? (this.root?.offsetHeight ?? row.initial) : this.value(row);
    const space = row.unit === "px" ? 100 : row.axis === "x" ? this.main.clientWidth : this.main.clientHeight;
    const move = (event: PointerEvent): void => {
      const by = ((row.axis === "x" ? event.clientX : event.clientY) - from) * (100 / Math.max(1, space));
      this.set(row, row.after ? start - by : start + by);
    };
    const up = (): void => {
      element.removeEventListener("pointermove", move);
      element.removeEventListener("pointerup", up);
      element.removeEventListener("pointercancel", up);
      writeStored(this.values);
    };
    element.addEventListener("pointermove", move);
    element.addEventListener("pointerup", up);
    element.addEventListener("pointercancel", up);
  }

  private key(row: Row, event: KeyboardEvent): void {
    const [less, more] = row.axis === "x" ? ["ArrowLeft", "ArrowRight"] : ["ArrowUp", "ArrowDown"];
    const step = STEP[row.unit] * (row.after ? -1 : 1);
    const now = row.name === "height" ? (this.root?.offsetHeight ?? this.value(row)) : this.value(row);
    const to = new Map([
      [less, now - step],
      [more, now + step],
      ["Home", row.least],
      ["End", row.most],
    ]).get(event.key);
    if (event.key === "Enter") this.reset(row);
    else if (to !== undefined) this.set(row, to);
    else return;
    event.preventDefault();
    event.stopPropagation();
    writeStored(this.values);
  }

  private reset(row: Row): void {
    this.values.delete(row.name);
    this.show(row);
    writeStored(this.values);
    this.changed();
  }

  private set(row: Row, value: number): void {
    const other = ROWS.find((r) => r.axis === "x" && r.name !== row.name);
    const most =
      row.axis === "x" && other ? Math.min(row.most, 100 - LEAST_GRAPH - this.value(other)) : row.most;
    this.values.set(row.name, Math.round(Math.max(row.least, Math.min(most, value)) * 10) / 10);
    this.show(row);
    this.changed();
  }

  private show(row: Row): void {
    const value = this.value(row);
    mark(this.elements[row.name], "aria-valuenow", String(Math.round(value)));
    if (row.name === "height") {
      if (this.root) this.root.style.height = this.values.has(row.name) ? `${value}px` : "";
      return;
    }
    // Grid tracks in fr share what the separators leave.
    this.main.style.setProperty(`--${row.name}`, `${value}fr`);
    const [map, inspector, dock] = ROWS.map((r) => this.value(r));
    this.main.style.setProperty("--graph", `${100 - (map ?? 0) - (inspector ?? 0)}fr`);
    this.main.style.setProperty("--upper", `${100 - (dock ?? 0)}fr`);
  }
}
