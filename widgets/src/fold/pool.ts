// The table of JSON values of a report; prism_explore/widgets/report_data/pool.py describes and writes it.

/** The index of a value in the table; a number as text; or true, false, null. */
export type Member = number | string | boolean | null;

export interface PoolData {
  readonly layouts: readonly (readonly string[])[];
  readonly values: readonly (string | readonly Member[])[];
}

/** Reads the table. A value is built when it is first needed, and is shared after that. */
export class Pool {
  private readonly built: unknown[];

  constructor(private readonly data: PoolData) {
    this.built = new Array(data.values.length);
  }

  get<T>(member: Member): T {
    if (typeof member === "string") return Number(member) as T;
    if (typeof member !== "number") return member as T;
    let value = this.built[member];
    if (value === undefined) {
      value = this.build(member);
      this.built[member] = value;
    }
    return value as T;
  }

  private build(index: number): unknown {
    const stored = this.data.values[index];
    if (stored === undefined) throw new Error(`the report is damaged: it has no value ${index}`);
    if (typeof stored === "string") return stored;
    const [layout, ...members] = stored;
    if (layout === 0) return members.map((m) => this.get(m));
    const names = this.data.layouts[(layout as number) - 1] ?? [];
    return Object.fromEntries(names.map((name, i) => [name, this.get(members[i] ?? null)]));
  }
}
