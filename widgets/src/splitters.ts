// The separators between the panels, and the one at the lower edge of the widget.

import { mark } from "./lib/dom.ts";
import { type SeparatorRow, separator } from "./lib/separator.ts";
import { readStored, writeStored } from "./stored.ts";

type Name = "map" | "inspector" | "dock" | "height";

interface Row extends SeparatorRow {
  readonly name: Name;
  readonly initial: number;
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
    initial: 33,
    after: false,
  },
  {
    name: "inspector",
    label: "width of the inspector",
    axis: "x",
    unit: "%",
    least: 15,
    most: 65,
    initial: 33.5,
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
    initial: 880,
    after: false,
  },
] as const satisfies readonly [Row, Row, Row, Row];

/** The graph keeps at least this share of the width. */
const LEAST_GRAPH = 12;
const NAMES = ROWS.map((row) => row.name);

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
    return separator(row, {
      now: () => (row.name === "height" ? (this.root?.offsetHeight ?? row.initial) : this.value(row)),
      space: () =>
        row.unit === "px" ? 100 : row.axis === "x" ? this.main.clientWidth : this.main.clientHeight,
      set: (value) => this.set(row, value),
      reset: () => this.reset(row),
      done: () => writeStored(NAMES, this.values),
    });
  }

  private reset(row: Row): void {
    this.values.delete(row.name);
    this.show(row);
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
