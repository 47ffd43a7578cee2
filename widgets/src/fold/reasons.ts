// The bars of the pruning reasons, as prism_explore/widgets/views/pruning_reasons.py draws them, and their tables.

import type { Item, Scene } from "../scene.ts";
import type { Cell, LedgerSection, Row } from "../sections.ts";
import { type PruneCount, type Soundness, type State, THINGS } from "./counts.ts";
import { block, type Drawing, letterOf, line, rounded, textPx } from "./map.ts";
import { commas, percent, programsText, shorten } from "./text.ts";

export function reasonsScene(state: State, drawing: Drawing, width: number): Scene {
  const rows = state.pruneCounts;
  const total = (what: string) => rows.reduce((sum, row) => sum + (row.what === what ? row.count : 0), 0);
  const narrow = width < drawing.narrow_px;
  const items: Item[] = [];
  const names = labels(rows, narrow);
  const texts = rows.map((row, i) => [names[i] ?? "", value(row, total(row.what), narrow)] as const);
  const left = Math.max(0, ...texts.map(([a]) => textPx(drawing, a, "mono"))) + 34;
  const right = Math.max(0, ...texts.map(([, b]) => textPx(drawing, b, "small"))) + 10;
  const most = Math.max(1, ...rows.map((row) => row.count));
  rows.forEach((row, number) => {
    const y = number * drawing.row_px;
    const w = Math.max(drawing.min_block_px, ((width - left - right) * row.count) / most);
    const ident = `${row.code}/${row.rule}/${row.soundness}/${row.what}`;
    const [name, figure] = texts[number] ?? ["", ""];
    const tip =
      `${row.code} by ${row.rule} [${row.soundness}]: ${row.sentence}\n` +
      `${commas(row.count)} of ${commas(total(row.what))} ${row.things}, for example ` +
      `${row.example}; they represent ${programsText(row.stood_for)} programs`;
    items.push({
      ...line(`${ident}#label`, 0, y, width, drawing.row_px),
      texts: [
        { x: 12, y: y + 17, text: letterOf(drawing, row.code, row.soundness), kind: "letter" },
        { x: 26, y: y + 17, text: name, kind: "mono", anchor: "start" },
        { x: left + w + 8, y: y + 17, text: figure, kind: "small", anchor: "start" },
      ],
      ref: row.example,
      tip,
    });
    const kind = drawing.pruned_kinds[row.soundness];
    items.push({
      ...block(ident, kind, left, y + 3, w, drawing.row_px - 6),
      ref: row.example,
      tip,
      count: row.count,
    });
  });
  if (items.length === 0) {
    const text = { x: width / 2, y: 17, text: "nothing has been pruned yet", kind: "muted" };
    items.push({ ...line("nothing", 0, 0, width, drawing.row_px), texts: [text] });
  }
  const desc =
    rows.map((c) => `${c.code} by ${c.rule} [${c.soundness}]: ${commas(c.count)} ${c.things}`).join("; ") ||
    "nothing was pruned";
  const height = Math.max(1, rows.length) * drawing.row_px;
  return rounded({ name: "reasons", title: "pruning by reason", desc, width, height, items, omitted: "" });
}

function value(row: PruneCount, total: number, narrow: boolean): string {
  return `${commas(row.count)} · ${percent(row.count / total)}${narrow ? "" : ` · ${row.soundness}`}`;
}

/** A label per row; no two are the same. A rule of another name than its reason is named, the tooltip has both. */
function labels(rows: readonly PruneCount[], narrow: boolean): string[] {
  const count = (texts: readonly string[], text: string) => texts.filter((t) => t === text).length;
  const codes = rows.map((row) => row.code);
  const plain = rows.map((row) => label(row, narrow, count(codes, row.code) > 1));
  return plain.map((text, i) => (count(plain, text) > 1 ? `${text} ${rows[i]?.soundness}` : text));
}

function label(row: PruneCount, narrow: boolean, shared: boolean): string {
  const things = row.what === "region" ? "" : ` (${row.what === "maps" ? "maps" : row.things})`;
  if (row.rule === row.code) return `${shorten(row.code, 24)}${things}`;
  if (narrow) return `${shorten(shared ? row.rule : row.code, 24)}${things}`;
  return `${shorten(row.code, 24)} · ${shorten(row.rule, 24)}${things}`;
}

/** The tables of kinds of rules and of reasons, with the counts of a moment. */
export function countTables(
  ledger: LedgerSection,
  state: State,
  drawing: Drawing,
): Pick<LedgerSection, "soundness" | "reasons"> {
  const counts = state.pruneCounts;
  const count = (soundness: string, what: string) =>
    counts.reduce((sum, row) => sum + (row.soundness === soundness && row.what === what ? row.count : 0), 0);
  const prunings = count("sound", "region") + count("sound", "maps");
  const soundness = ledger.soundness.rows.map((row) => {
    const [name, ...cells] = row.cells as readonly [Cell, ...(string | Cell)[]];
    const kind = name.text;
    if (kind === "unknown")
      return {
        ...row,
        cells: [name, ...cells.slice(0, -2), countCell(state.funnel.unknown), ...cells.slice(-1)],
      };
    // The sentence on sound rules has their number at the end.
    const meaning = String(cells.at(-1)).replace(
      / The result counts [\d,]+ prunings(.*)/,
      (_, rest: string) => (prunings ? ` The result counts ${commas(prunings)} prunings${rest}` : ""),
    );
    return {
      ...row,
      cells: [name, ...Object.keys(THINGS).map((what) => countCell(count(kind, what))), meaning],
    };
  });
  return {
    soundness: { ...ledger.soundness, rows: soundness },
    reasons: { ...ledger.reasons, rows: counts.map((row) => reasonRow(row, drawing.pruned_kinds)) },
  };
}

function countCell(count: number): Cell {
  return count ? { text: commas(count), sort: count } : { text: "–", sort: 0 };
}

function reasonRow(row: PruneCount, kinds: Readonly<Record<Soundness, string>>): Row {
  return {
    ref: row.example,
    cells: [
      { text: row.code, kind: kinds[row.soundness], tip: row.sentence },
      row.rule,
      row.soundness,
      { text: `${commas(row.count)} ${row.things}`, sort: row.count },
      { text: programsText(row.stood_for), sort: row.stood_for },
    ],
  };
}
