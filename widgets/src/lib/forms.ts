// Closed forms: rows of operations that Python recorded (prism_explore/tune/space/closed_forms.py), and units as text.

export type Row = readonly (string | number)[];
export type Values = Readonly<Record<string, number>>;

type Operation = (a: number, b: number, c: number) => number;

const OPERATIONS: Readonly<Record<string, Operation>> = {
  add: (a, b) => a + b,
  subtract: (a, b) => a - b,
  multiply: (a, b) => a * b,
  divide: (a, b) => a / b,
  less: (a, b) => Number(a < b),
  less_equal: (a, b) => Number(a <= b),
  greater: (a, b) => Number(a > b),
  logical_and: (a, b) => Number(a !== 0 && b !== 0),
  where: (test, yes, no) => (test ? yes : no),
  ceil: (a) => Math.ceil(a),
  sqrt: (a) => Math.sqrt(a),
};

/** The value of every row; a symbol without a value is NaN. */
export function evaluate(rows: readonly Row[], symbols: Values): number[] {
  const values: number[] = [];
  for (const [name, first, second, third] of rows) {
    const operand = (at: string | number | undefined) => values[Number(at ?? 0)] ?? Number.NaN;
    if (name === "number") values.push(Number(first));
    else if (name === "symbol") values.push(symbols[String(first)] ?? Number.NaN);
    else
      values.push(OPERATIONS[String(name)]?.(operand(first), operand(second), operand(third)) ?? Number.NaN);
  }
  return values;
}

export type Unit = "bytes" | "seconds" | "flops" | "count";

const SCALES: Readonly<Record<Unit, readonly (readonly [number, string])[]>> = {
  bytes: [
    [2 ** 30, "GiB"],
    [2 ** 20, "MiB"],
    [2 ** 10, "KiB"],
    [1, "B"],
  ],
  seconds: [
    [1, "s"],
    [1e-3, "ms"],
    [1e-6, "µs"],
    [1e-9, "ns"],
  ],
  flops: [
    [1e12, "Tflop"],
    [1e9, "Gflop"],
    [1e6, "Mflop"],
    [1e3, "kflop"],
    [1, "flop"],
  ],
  count: [[1, ""]],
};

/** A value with three digits and its unit; counts have all digits. */
export function withUnit(value: number, unit: Unit): string {
  if (!Number.isFinite(value)) return "unknown";
  if (unit === "count") return number(value);
  const scales = SCALES[unit];
  const [factor, name] = scales.find(([least]) => Math.abs(value) >= 0.9995 * least) ??
    scales.at(-1) ?? [1, ""];
  return `${digits(value / factor)} ${name}`;
}

/** A whole number without separators, for shapes and indices; another one has four digits. */
export function index(value: number): string {
  return Number.isInteger(value) ? String(value) : number(value);
}

/** A whole number with all digits, another one with four. */
export function number(value: number): string {
  if (!Number.isFinite(value)) return "?";
  return Number.isInteger(value) ? value.toLocaleString("en") : digits(value, 4);
}

function digits(value: number, count = 3): string {
  return Math.abs(value) >= 10 ** (count - 1)
    ? Math.round(value).toLocaleString("en")
    : String(Number(value.toPrecision(count)));
}
