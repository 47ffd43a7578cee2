// The table of JSON values of a report; prism_explore/widgets/report_data/pool.py describes and writes it.

type ColumnData = readonly [
  codes: string,
  refs: readonly number[],
  known: readonly number[],
  texts: readonly string[],
  /** Numbers, true, false and null as JSON, with commas between. */
  literals: string,
];

export interface PoolData {
  /** The keys of objects, or a number for lists. */
  readonly layouts: readonly (readonly string[] | number)[];
  /** Per object and list, its layout, as a character. */
  readonly values: string;
  /** The lengths of the lists. */
  readonly lengths: readonly number[];
  /** Per layout of objects a column for each key, per layout of lists one. */
  readonly columns: readonly ColumnData[];
}

/** Number of a value in the table. */
export type Member = number;

const FIRST_CHARACTER = 0x23;
const RECENT = 5;
const MOST_RECENT = 240;

/** Reads the table. Equal parts are the same objects. */
export class Pool {
  private readonly roots: readonly unknown[];

  constructor(data: PoolData) {
    this.roots = read(data);
  }

  get<T>(member: Member): T {
    if (!(member in this.roots)) throw new Error(`the report is damaged: it has no value ${member}`);
    return this.roots[member] as T;
  }
}

/** Returns the members of a list one by one. */
function each<T>(list: readonly T[]): () => T {
  let position = 0;
  return () => list[position++] as T;
}

/** Reads all values; the last one is the list of those that have numbers. */
function read(data: PoolData): readonly unknown[] {
  const values: unknown[] = [];
  /** The objects and lists that no other one contains yet. */
  const open: unknown[] = [];
  const texts: string[] = [];
  const reader = ([codes, refs, known, newTexts, json]: ColumnData): (() => unknown) => {
    const [nextRef, nextKnown, nextText] = [each(refs), each(known), each(newTexts)];
    const nextLiteral = each(JSON.parse(`[${json}]`) as unknown[]);
    const recent: unknown[] = [];
    let position = 0;
    const addText = () => {
      texts.push(nextText());
      return texts.at(-1);
    };
    return () => {
      const code = codes.charCodeAt(position++) - FIRST_CHARACTER;
      let value: unknown;
      if (code >= RECENT) [value] = recent.splice(code - RECENT, 1);
      else if (code === 0) value = open.pop();
      else if (code === 1) value = values[values.length - nextRef()];
      else if (code === 2) value = addText();
      else if (code === 3) value = texts[nextKnown()];
      else value = nextLiteral();
      recent.unshift(value);
      if (recent.length > MOST_RECENT) recent.pop();
      return value;
    };
  };
  let column = 0;
  const readers = data.layouts.map((layout) => {
    const count = typeof layout === "number" ? 1 : layout.length;
    column += count;
    return data.columns.slice(column - count, column).map(reader);
  });
  let list = 0;
  for (let i = 0; i < data.values.length; i++) {
    const number = data.values.charCodeAt(i) - FIRST_CHARACTER;
    const [layout, own] = [data.layouts[number], readers[number]];
    if (layout === undefined || !own) throw new Error("the report is damaged: a value has no layout");
    let value: unknown;
    if (typeof layout === "number") {
      const members = new Array(data.lengths[list++]);
      for (let n = members.length - 1; n >= 0; n--) members[n] = own[0]?.();
      value = members;
    } else {
      const members = own.map(() => undefined as unknown);
      for (let n = own.length - 1; n >= 0; n--) members[n] = own[n]?.();
      value = Object.fromEntries(layout.map((name, n) => [name, members[n]]));
    }
    values.push(value);
    open.push(value);
  }
  return values.at(-1) as readonly unknown[];
}
