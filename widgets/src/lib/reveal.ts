// Requests to all tables of a panel: to show a row, to list their rows, drawn or not, and to write them as CSV.

/** What identifies a row: the id that it selects, or the number of an event in its first cell. */
export interface RowKey {
  readonly ref: string;
  readonly seq: number;
}

export interface RowText extends RowKey {
  readonly text: string;
}

const SHOW = "prism-show-row";
const LIST = "prism-list-rows";
const CSV = "prism-csv";

/** Scroll the tables below an element to a row. */
export function reveal(panel: Element, key: RowKey): void {
  for (const table of panel.querySelectorAll(".pe-tablebox")) {
    table.dispatchEvent(new CustomEvent<RowKey>(SHOW, { detail: key }));
  }
}

/** The rows of all tables below an element. */
export function collect(panel: Element): readonly RowText[] {
  const rows: RowText[] = [];
  for (const table of panel.querySelectorAll(".pe-tablebox")) {
    table.dispatchEvent(new CustomEvent<RowText[]>(LIST, { detail: rows }));
  }
  return rows;
}

/** All tables below an element as comma-separated values, with an empty line between two tables. */
export function csvOf(panel: Element): string {
  const tables: string[] = [];
  for (const table of panel.querySelectorAll(".pe-tablebox")) {
    table.dispatchEvent(new CustomEvent<string[]>(CSV, { detail: tables }));
  }
  return tables.filter(Boolean).join("\n");
}

/** Lines of CSV. A text that a spreadsheet would run as a formula gets an apostrophe. */
export function csvLines(rows: readonly (readonly string[])[]): string {
  const cell = (text: string) => {
    const safe = /^[=+@\t\r]|^-\D/.test(text) ? `'${text}` : text;
    return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
  };
  return rows.map((row) => `${row.map(cell).join(",")}\n`).join("");
}

/** Answer such requests for one table. */
export function answer(
  table: Element,
  show: (key: RowKey) => void,
  list: () => readonly RowText[],
  csv: () => string,
): void {
  table.addEventListener(CSV, (event) => (event as CustomEvent<string[]>).detail.push(csv()));
  table.addEventListener(SHOW, (event) => show((event as CustomEvent<RowKey>).detail));
  table.addEventListener(LIST, (event) => (event as CustomEvent<RowText[]>).detail.push(...list()));
}
