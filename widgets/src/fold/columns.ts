// The events of a search as columns; prism_explore/widgets/report_data/columns.py writes them.

import type { Member, Pool } from "./pool.ts";

/** Ids with a common prefix as differences, numbers, or members of the pool. */
type ColumnData =
  | { readonly prefix: string; readonly ids: readonly number[] }
  | { readonly numbers: readonly number[] }
  | { readonly members: readonly Member[] };

export interface ColumnsData {
  /** Names of the kinds of event. */
  readonly kinds: readonly string[];
  /** One letter per event: A is the first kind. */
  readonly kind: string;
  /** Hundredths of a second, as differences. */
  readonly at: readonly number[];
  readonly fields: Readonly<Record<string, Readonly<Record<string, ColumnData>>>>;
  /** The lines of the log of all events that are no step of the search tree. */
  readonly log: Readonly<Record<"text" | "ref" | "kind", ColumnData>>;
}

/** One field of the events of one kind, by their position among the events of that kind. */
export interface Column<T> {
  at(position: number): T;
  readonly length: number;
}

export class Columns {
  readonly count: number;
  /** Hundredths of a second. */
  readonly at: Int32Array;
  private readonly columns = new Map<string, Column<unknown>>();
  private readonly events: ReadonlyMap<string, number[]>;
  /** Per event, its position among the events of its kind. */
  private readonly positions: Int32Array;

  constructor(
    private readonly data: ColumnsData,
    private readonly pool: Pool,
  ) {
    this.count = data.kind.length;
    this.at = Int32Array.from(sums(data.at));
    this.events = new Map(data.kinds.map((kind) => [kind, []]));
    this.positions = new Int32Array(this.count);
    for (let event = 0; event < this.count; event++) {
      const events = this.events.get(this.kindOf(event));
      if (events) this.positions[event] = events.push(event) - 1;
    }
  }

  /** The kind of an event. */
  kindOf(event: number): string {
    return this.data.kinds[this.data.kind.charCodeAt(event) - 65] ?? "";
  }

  /** Numbers of the events of a kind. */
  eventsOf(kind: string): readonly number[] {
    return this.events.get(kind) ?? [];
  }

  /** Position of an event among those of its kind. */
  positionOf(event: number): number {
    return this.positions[event] ?? 0;
  }

  field<T>(kind: string, name: string): Column<T> {
    return this.column(`${kind}.${name}`, this.data.fields[kind]?.[name]);
  }

  log(name: "text" | "ref" | "kind"): Column<string> {
    return this.column(`log.${name}`, this.data.log[name]);
  }

  private column<T>(key: string, data: ColumnData | undefined): Column<T> {
    let column = this.columns.get(key);
    if (!column) {
      column = read(data ?? { numbers: [] }, this.pool);
      this.columns.set(key, column);
    }
    return column as Column<T>;
  }
}

function read(data: ColumnData, pool: Pool): Column<unknown> {
  if ("ids" in data) {
    const numbers = sums(data.ids);
    const id = (n: number | undefined) => (n === undefined || n < 0 ? "" : `${data.prefix}${n}`);
    return { at: (i) => id(numbers[i]), length: numbers.length };
  }
  if ("numbers" in data) return { at: (i) => data.numbers[i], length: data.numbers.length };
  return { at: (i) => pool.get(data.members[i] ?? -1), length: data.members.length };
}

function sums(differences: readonly number[]): number[] {
  let sum = 0;
  return differences.map((difference) => {
    sum += difference;
    return sum;
  });
}
