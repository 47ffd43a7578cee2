// Requests to all tables of a panel: to show a row, and to list their rows, drawn or not.

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

/** Answer such requests for one table. */
export function answer(table: Element, show: (key: RowKey) => void, list: () => readonly RowText[]): void {
  table.addEventListener(SHOW, (event) => show((event as CustomEvent<RowKey>).detail));
  table.addEventListener(LIST, (event) => (event as CustomEvent<RowText[]>).detail.push(...list()));
}
